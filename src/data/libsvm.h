/* libsvm.h: parts of the reader of LIBSVM text for formats that differ in their labels. */
#ifndef PL_LIBSVM_H
#define PL_LIBSVM_H

#include "data/format.h"

/* Reads the rest of a row, after its label, which is already in the block. Returns the end of the line, or NULL on a
 * fault. */
const char *pl_libsvm_row(pl_block *block, const char *p);
void pl_libsvm_count(pl_block *block);
void pl_libsvm_bound(pl_block *block);

#endif
