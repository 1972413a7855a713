/* split_rows.h: divides the rows of a text among two files. */
#ifndef PL_SPLIT_H
#define PL_SPLIT_H

#include "data/data.h"

typedef struct pl_split {
    double share;    /* of the rows, for the second file */
    bool stratified; /* every label has the same share */
    uint64_t seed;
    pl_watching watching;
    uint64_t rows[2], labels; /* found: rows of the two files, and different labels */
} pl_split;

/* Writes each row of `path` to one of two files, byte by byte and in order; both get what is above the first row. Which
 * row goes where depends on nothing but the seed, the number of rows and, if stratified, their labels. */
parley_status pl_split_rows(const char *path, const pl_reading *reading, const char *const out[2], pl_split *split,
                            parley_error *error);

#endif
