/* names.c: names in one block of memory, and dictionaries as hash tables with open addressing that are at most half
 * full. */
#include "data/names.h"

#include <string.h>

#include "data/hash.h"

#define FIRST_WORDS 32
#define MOST_WORDS ((uint64_t)1 << 31)

pl_name pl_names_at(const pl_names *names, uint64_t number) {
    if (number >= names->count)
        return (pl_name){"", 0};
    return (pl_name){names->text + names->start[number], names->start[number + 1] - names->start[number]};
}

parley_status pl_names_make(uint64_t count, uint64_t bytes, pl_names *out, parley_error *error) {
    *out = (pl_names){0};
    uint64_t offsets = (count + 1) * sizeof(uint64_t);
    uint64_t *owned = pl_alloc(offsets + bytes + 1, 1);
    if (!owned)
        return pl_fail_memory(error, "column names", offsets + bytes);
    *out = (pl_names){count, owned, (char *)owned + offsets, owned};
    return PARLEY_OK;
}

parley_status pl_names_copy(const pl_names *names, pl_names *out, parley_error *error) {
    uint64_t bytes = names->count ? names->start[names->count] : 0;
    *out = (pl_names){0};
    if (names->count == 0)
        return PARLEY_OK;
    parley_status status = pl_names_make(names->count, bytes, out, error);
    if (status != PARLEY_OK)
        return status;
    memcpy((uint64_t *)out->start, names->start, (names->count + 1) * sizeof *names->start);
    memcpy((char *)out->text, names->text, bytes);
    return PARLEY_OK;
}

void pl_names_free(pl_names *names) {
    pl_free(names->owned);
    *names = (pl_names){0};
}

bool pl_names_valid(const uint64_t *start, uint64_t count, uint64_t bytes) {
    bool valid = start[0] == 0 && start[count] == bytes;
    for (uint64_t i = 0; i < count; i++)
        valid &= start[i] <= start[i + 1];
    return valid;
}

static uint32_t hash_of(uint32_t kind, const char *text, uint64_t bytes) {
    return pl_murmur(text, bytes, kind * 0x9e3779b9u + 1);
}

/* Returns the slot of a word, or the free slot where it would be added. */
static uint64_t slot_of(const pl_dictionary *dictionary, uint32_t hash, uint32_t kind, const char *text,
                        uint64_t bytes) {
    uint64_t mask = dictionary->slot_count - 1, slot = hash & mask;
    for (; dictionary->slots[slot]; slot = (slot + 1) & mask) {
        const pl_word *word = &dictionary->words[dictionary->slots[slot] - 1];
        if (word->hash == hash && word->kind == kind && word->bytes == bytes &&
            (bytes == 0 || memcmp(dictionary->text + word->begin, text, bytes) == 0))
            break;
    }
    return slot;
}

uint32_t pl_dictionary_find(const pl_dictionary *dictionary, uint32_t kind, const char *text, uint64_t bytes) {
    if (dictionary->count == 0)
        return PL_NOT_FOUND;
    uint32_t number = dictionary->slots[slot_of(dictionary, hash_of(kind, text, bytes), kind, text, bytes)];
    return number ? number - 1 : PL_NOT_FOUND;
}

static bool grow_words(pl_dictionary *dictionary) {
    uint64_t room = dictionary->room ? dictionary->room * 2 : FIRST_WORDS;
    pl_word *words = pl_realloc(dictionary->words, room, sizeof *words);
    if (!words)
        return false;
    dictionary->words = words;
    uint32_t *slots = pl_alloc(room * 2, sizeof *slots);
    if (!slots)
        return false;
    pl_free(dictionary->slots);
    dictionary->slots = slots;
    dictionary->slot_count = room * 2;
    dictionary->room = room;
    for (uint64_t i = 0; i < dictionary->count; i++) {
        uint64_t slot = words[i].hash & (room * 2 - 1);
        while (slots[slot])
            slot = (slot + 1) & (room * 2 - 1);
        slots[slot] = (uint32_t)i + 1;
    }
    return true;
}

static bool grow_text(pl_dictionary *dictionary, uint64_t bytes) {
    uint64_t room = (dictionary->text_bytes + bytes) * 2 + 256;
    char *text = pl_realloc(dictionary->text, room, 1);
    if (!text)
        return false;
    dictionary->text = text;
    dictionary->text_room = room;
    return true;
}

bool pl_dictionary_add(pl_dictionary *dictionary, uint32_t kind, const char *text, uint64_t bytes, uint32_t *number) {
    *number = pl_dictionary_find(dictionary, kind, text, bytes);
    if (*number != PL_NOT_FOUND)
        return true;
    if (dictionary->count == MOST_WORDS || (dictionary->count == dictionary->room && !grow_words(dictionary)))
        return false;
    if (dictionary->text_bytes + bytes > dictionary->text_room && !grow_text(dictionary, bytes))
        return false;
    uint32_t hash = hash_of(kind, text, bytes);
    uint64_t slot = slot_of(dictionary, hash, kind, text, bytes);
    *number = (uint32_t)dictionary->count++;
    dictionary->slots[slot] = *number + 1;
    dictionary->words[*number] = (pl_word){dictionary->text_bytes, bytes, kind, hash};
    if (bytes > 0)
        memcpy(dictionary->text + dictionary->text_bytes, text, bytes);
    dictionary->text_bytes += bytes;
    return true;
}

pl_name pl_dictionary_word(const pl_dictionary *dictionary, uint32_t number) {
    const pl_word *word = &dictionary->words[number];
    return (pl_name){word->bytes ? dictionary->text + word->begin : "", word->bytes};
}

void pl_dictionary_clear(pl_dictionary *dictionary) {
    if (dictionary->slots)
        memset(dictionary->slots, 0, dictionary->slot_count * sizeof *dictionary->slots);
    dictionary->count = dictionary->text_bytes = 0;
}

void pl_dictionary_free(pl_dictionary *dictionary) {
    pl_free(dictionary->words);
    pl_free(dictionary->text);
    pl_free(dictionary->slots);
    *dictionary = (pl_dictionary){0};
}
