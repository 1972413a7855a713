/* kept.h: the first name of each hashed column, in the order of the input whatever the threads. */
#ifndef PL_KEPT_H
#define PL_KEPT_H

#include "data/names.h"

typedef struct pl_kept {
    unsigned bits, blocks;
    uint64_t *known;      /* a bit per hash: it has its name; NULL: names are not kept */
    pl_dictionary names;  /* of kind hash */
    pl_dictionary *fresh; /* by block: names of hashes that had none before this wave */
} pl_kept;

parley_status pl_kept_open(pl_kept *kept, unsigned bits, unsigned blocks, parley_error *error);
/* Notes `name` of `hash`, as seen in a block; false: no memory. */
bool pl_kept_note(pl_kept *kept, unsigned block, uint32_t hash, const char *name, uint64_t bytes);
static inline bool pl_kept_wants(const pl_kept *kept, uint32_t hash) {
    return kept->known && !(kept->known[hash / 64] >> hash % 64 & 1);
}
/* After a wave, for each block in order. */
parley_status pl_kept_settle(pl_kept *kept, unsigned block, parley_error *error);
/* Takes the name unless the hash has one; false: no memory. */
bool pl_kept_take(pl_kept *kept, uint32_t hash, pl_name name);
/* Names of `before` columns, then of the hashes. */
parley_status pl_kept_names(const pl_kept *kept, const pl_names *before, pl_names *out, parley_error *error);
void pl_kept_close(pl_kept *kept);

#endif
