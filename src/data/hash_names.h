/* hash_names.h: the name of each hashed column. If several names have the same hash, the first in the input is used,
 * independent of the number of threads. */
#ifndef PL_HASH_NAMES_H
#define PL_HASH_NAMES_H

#include "data/names.h"

typedef struct pl_hash_names {
    unsigned bits, blocks;
    uint64_t *known;      /* one bit per hash that has a name; NULL: names are not kept */
    pl_dictionary names;  /* their kind is the hash */
    pl_dictionary *fresh; /* by block: names of hashes that had none before this window */
} pl_hash_names;

parley_status pl_hash_names_open(pl_hash_names *self, unsigned bits, unsigned blocks, parley_error *error);
/* Records a name seen in a block. Returns false if memory runs out. */
bool pl_hash_names_note(pl_hash_names *self, unsigned block, uint32_t hash, const char *name, uint64_t bytes);
static inline bool pl_hash_names_lacks(const pl_hash_names *self, uint32_t hash) {
    return self->known && !(self->known[hash / 64] >> hash % 64 & 1);
}
/* Called after a window for each block in order. */
parley_status pl_hash_names_merge(pl_hash_names *self, unsigned block, parley_error *error);
/* Adds the name if the hash has none yet. Returns false if memory runs out. */
bool pl_hash_names_add(pl_hash_names *self, uint32_t hash, pl_name name);
/* Makes the names of all columns: those of `before`, then those of the hashes. */
parley_status pl_hash_names_list(const pl_hash_names *self, const pl_names *before, pl_names *out, parley_error *error);
void pl_hash_names_close(pl_hash_names *self);

#endif
