/* names.h: names of columns and classes, and dictionaries that give them numbers. */
#ifndef PL_NAMES_H
#define PL_NAMES_H

#include "base/memory.h"

/* Name i is text[start[i]] up to text[start[i + 1]]; empty: it has none. There may be fewer names than columns. */
typedef struct pl_names {
    uint64_t count;
    const uint64_t *start; /* count + 1 */
    const char *text;
    void *owned; /* what both lie in; NULL: somebody else's */
} pl_names;

typedef struct pl_name {
    const char *text;
    uint64_t bytes;
} pl_name;

/* An empty one from the last on. */
pl_name pl_names_at(const pl_names *names, uint64_t number);
/* Room for `count` names of `bytes` in all, to be filled in. */
parley_status pl_names_make(uint64_t count, uint64_t bytes, pl_names *out, parley_error *error);
parley_status pl_names_copy(const pl_names *names, pl_names *out, parley_error *error);
void pl_names_free(pl_names *names);
/* Do offsets rise from 0 to `bytes`? What a file says must be asked. */
bool pl_names_valid(const uint64_t *start, uint64_t count, uint64_t bytes);

/* Different words, numbered in the order in which they came. A word is of some `kind`, such as the column that it
 * stands in; the same word of another kind is another word. Zero-initialised it is empty. */
#define PL_NOT_FOUND UINT32_MAX
typedef struct pl_word {
    uint64_t begin, bytes; /* in the text */
    uint32_t kind, hash;
} pl_word;
typedef struct pl_dictionary {
    pl_word *words;
    char *text;
    uint32_t *slots; /* number + 1; 0: free */
    uint64_t count, room, text_bytes, text_room, slot_count;
} pl_dictionary;

uint32_t pl_dictionary_find(const pl_dictionary *dictionary, uint32_t kind, const char *text, uint64_t bytes);
/* Finds or adds; false: no memory, or 2^31 words. */
bool pl_dictionary_add(pl_dictionary *dictionary, uint32_t kind, const char *text, uint64_t bytes, uint32_t *number);
pl_name pl_dictionary_word(const pl_dictionary *dictionary, uint32_t number);
void pl_dictionary_clear(pl_dictionary *dictionary); /* keeps its memory */
void pl_dictionary_free(pl_dictionary *dictionary);

#endif
