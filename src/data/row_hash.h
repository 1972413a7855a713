/* row_hash.h: hashes of rows. They do not depend on where a row is, nor on how its values are stored. */
#ifndef PL_ROW_HASH_H
#define PL_ROW_HASH_H

#include "data/data.h"

/* Adds a word to a hash. */
uint64_t pl_stir(uint64_t hash, uint64_t word);
/* The hash of a row's label, weight, columns and values. */
uint64_t pl_row_hash(const parley_data *data, uint64_t row);

#endif
