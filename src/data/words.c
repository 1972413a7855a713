/* words.c: packs two dictionaries one after the other. Each is the number of its words, then the kind, length and text
 * of each word. */
#include "data/words.h"

#include <string.h>

#define WORD_HEAD (sizeof(uint32_t) + sizeof(uint64_t))

static uint64_t packed_bytes(const pl_dictionary *dictionary) {
    return sizeof(uint64_t) + dictionary->count * WORD_HEAD + dictionary->text_bytes;
}

static char *pack(const pl_dictionary *dictionary, char *to) {
    memcpy(to, &dictionary->count, sizeof dictionary->count);
    to += sizeof dictionary->count;
    for (uint64_t i = 0; i < dictionary->count; i++) {
        pl_name word = pl_dictionary_word(dictionary, (uint32_t)i);
        memcpy(to, &dictionary->words[i].kind, sizeof(uint32_t));
        memcpy(to + sizeof(uint32_t), &word.bytes, sizeof word.bytes);
        memcpy(to + WORD_HEAD, word.text, word.bytes);
        to += WORD_HEAD + word.bytes;
    }
    return to;
}

static const char *unpack(const char *from, uint32_t *kind, pl_name *word) {
    memcpy(kind, from, sizeof *kind);
    memcpy(&word->bytes, from + sizeof *kind, sizeof word->bytes);
    word->text = from + WORD_HEAD;
    return word->text + word->bytes;
}

parley_status pl_words_pack(const pl_dictionary *words, pl_hash_names *hash_names, pl_span *out, uint64_t *bytes,
                            parley_error *error) {
    *bytes = packed_bytes(words) + packed_bytes(&hash_names->names);
    if (!pl_span_reserve(out, *bytes))
        return pl_fail_memory(error, "column names", *bytes);
    pack(&hash_names->names, pack(words, out->data));
    pl_dictionary_clear(&hash_names->names);
    if (hash_names->known)
        memset(hash_names->known, 0, (((uint64_t)1 << hash_names->bits) / 64 + 1) * sizeof *hash_names->known);
    return PARLEY_OK;
}

parley_status pl_words_unpack(pl_dictionary *words, pl_hash_names *hash_names, const char *packed, uint64_t bytes,
                              parley_error *error) {
    uint64_t count;
    uint32_t kind, number;
    pl_name word;
    bool room = true;
    memcpy(&count, packed, sizeof count);
    packed += sizeof count;
    for (uint64_t i = 0; i < count && room; i++) {
        packed = unpack(packed, &kind, &word);
        room = pl_dictionary_add(words, kind, word.text, word.bytes, &number);
    }
    if (room) {
        memcpy(&count, packed, sizeof count);
        packed += sizeof count;
    }
    for (uint64_t i = 0; i < count && room; i++) {
        packed = unpack(packed, &kind, &word);
        room = pl_hash_names_add(hash_names, kind, word);
    }
    return room ? PARLEY_OK : pl_fail_memory(error, "column names", bytes);
}
