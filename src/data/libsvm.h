/* libsvm.h: LIBSVM text, block by block. A row is `label [qid:n] column:value ... [# comment]`; columns start at 1 and
 * rise. Blank lines and lines with only a comment are no rows. */
#ifndef PL_LIBSVM_H
#define PL_LIBSVM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#define PL_LARGEST_COLUMN 2147483647u
#define PL_TEXT_MARGIN 64 /* bytes after a text that can be read; NUL after the last line of a file */

/* What is wrong with a line, and where. */
typedef struct pl_fault {
    const char *format;      /* of the sentence; NULL: nothing is wrong */
    const char *word, *stop; /* the word that is wrong */
    uint32_t column;         /* for the sentence: the column at fault, or the one before */
} pl_fault;

/* A block of whole lines, where its rows go, and what was found in it. */
typedef struct pl_block {
    const char *text, *end;
    uint64_t *row_end; /* of its first row: the number of entries up to the end of that row */
    double *label;
    uint32_t *index;
    float *value;
    uint64_t first; /* entries before the block */
    uint64_t rows, entries, lines;
    uint32_t columns;
    bool ones; /* every value is 1 */
    pl_fault fault;
} pl_block;

/* Sets `rows` and `entries` to upper bounds, which are exact where there are no comments, blank lines or qids. */
void pl_libsvm_count(pl_block *block);
/* Bounds from the size alone. */
void pl_libsvm_bound(pl_block *block);
/* Parses up to the end or the first fault, which is then in line `lines` of the block, counted from 1. */
void pl_libsvm_parse(pl_block *block);
/* The sentence for a fault in line `line` of `path`. */
parley_status pl_libsvm_fail(const pl_fault *fault, const char *path, uint64_t line, parley_error *error);

#endif
