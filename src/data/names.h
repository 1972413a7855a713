/* names.h: names of columns and classes, and dictionaries that number words. */
#ifndef PL_NAMES_H
#define PL_NAMES_H

#include "base/memory.h"

/* Name i is text[start[i]] to text[start[i + 1] - 1]; a column without a name has an empty one. There may be fewer
 * names than columns. */
typedef struct pl_names {
    uint64_t count;
    const uint64_t *start; /* count + 1 */
    const char *text;
    void *owned; /* memory that holds both; NULL: it belongs to another object */
} pl_names;

typedef struct pl_name {
    const char *text;
    uint64_t bytes;
} pl_name;

/* Returns an empty name if `number` is not below the count. */
pl_name pl_names_at(const pl_names *names, uint64_t number);
/* Allocates `count` names with `bytes` bytes of text, which the caller fills in. */
parley_status pl_names_make(uint64_t count, uint64_t bytes, pl_names *out, parley_error *error);
parley_status pl_names_copy(const pl_names *names, pl_names *out, parley_error *error);
void pl_names_free(pl_names *names);
/* Do the offsets increase from 0 to `bytes`? Offsets from a file must be checked. */
bool pl_names_valid(const uint64_t *start, uint64_t count, uint64_t bytes);

/* A set of words, numbered in the order in which they were added. Each word has a `kind`, such as its column; equal
 * words of different kinds are different. A zero-initialised dictionary is empty. */
#define PL_NOT_FOUND UINT32_MAX
typedef struct pl_word {
    uint64_t begin, bytes; /* position in `text` */
    uint32_t kind, hash;
} pl_word;
typedef struct pl_dictionary {
    pl_word *words;
    char *text;
    uint32_t *slots; /* word number + 1; 0: free */
    uint64_t count, room, text_bytes, text_room, slot_count;
} pl_dictionary;

uint32_t pl_dictionary_find(const pl_dictionary *dictionary, uint32_t kind, const char *text, uint64_t bytes);
/* Finds or adds a word. Returns false if memory runs out or there are 2^31 words. */
bool pl_dictionary_add(pl_dictionary *dictionary, uint32_t kind, const char *text, uint64_t bytes, uint32_t *number);
pl_name pl_dictionary_word(const pl_dictionary *dictionary, uint32_t number);
void pl_dictionary_clear(pl_dictionary *dictionary); /* keeps its memory */
void pl_dictionary_free(pl_dictionary *dictionary);

#endif
