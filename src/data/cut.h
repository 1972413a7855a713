/* cut.h: where text may be split into lines or records. */
#ifndef PL_CUT_H
#define PL_CUT_H

#include <stdbool.h>
#include <stdint.h>

/* Where an input may be split, after its first `skip` bytes. */
typedef struct pl_cut {
    uint64_t skip;
    uint64_t record; /* bytes of a record; 0: split at lines */
    bool quotes;     /* newlines between quotes do not end a line */
    bool keyed;      /* lines that begin with the same word stay together */
    char comment;    /* with `quotes`: quotes mean nothing in lines that begin with this character; 0: in all lines */
} pl_cut;

/* What a position in text with quotes is. */
typedef enum pl_spot { PL_AT_LINE, PL_IN_LINE, PL_IN_QUOTES, PL_IN_COMMENT, PL_SPOTS } pl_spot;

/* What `end` is if `p` is `spot`. */
pl_spot pl_cut_walk(pl_cut cut, pl_spot spot, const char *p, const char *end);
/* The end of the first line that ends after `p`, or NULL. */
const char *pl_cut_line(pl_cut cut, pl_spot spot, const char *p, const char *end);
/* Returns the end of the first line or record that ends at or after `from`, or NULL. `text` must be the beginning of
 * one. */
const char *pl_cut_after(pl_cut cut, const char *text, const char *from, const char *end);
/* Bytes up to the end of the last whole line or record that ends after `from`; 0: there is none. `*spot` says what
 * `from` is, and on return what `bytes` is. */
uint64_t pl_cut_whole(pl_cut cut, const char *text, uint64_t from, uint64_t bytes, pl_spot *spot);
/* Whether the lines that end and begin at `p` have different first words. False if the text ends before that is known,
 * or if one of them is blank. */
bool pl_cut_turns(const char *text, const char *p, const char *end);

#endif
