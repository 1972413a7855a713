/* hash_names.c: the blocks of a window collect the names of hashes that have none yet. Afterwards the first name of
 * each hash is taken, in the order of the blocks. Once all hashes have names, this costs one bit test per feature. */
#include "data/hash_names.h"

#include <string.h>

parley_status pl_hash_names_open(pl_hash_names *self, unsigned bits, unsigned blocks, parley_error *error) {
    self->bits = bits;
    self->blocks = blocks;
    parley_status status = pl_take(&self->fresh, blocks, sizeof *self->fresh, "column names", error);
    if (status == PARLEY_OK)
        status = pl_take(&self->known, ((uint64_t)1 << bits) / 64 + 1, sizeof *self->known, "column names", error);
    return status;
}

bool pl_hash_names_note(pl_hash_names *self, unsigned block, uint32_t hash, const char *name, uint64_t bytes) {
    uint32_t number;
    return pl_dictionary_add(&self->fresh[block], hash, name, bytes, &number);
}

bool pl_hash_names_add(pl_hash_names *self, uint32_t hash, pl_name name) {
    uint32_t number;
    if (!pl_hash_names_lacks(self, hash))
        return true;
    if (!pl_dictionary_add(&self->names, hash, name.text, name.bytes, &number))
        return false;
    self->known[hash / 64] |= (uint64_t)1 << hash % 64;
    return true;
}

parley_status pl_hash_names_merge(pl_hash_names *self, unsigned block, parley_error *error) {
    pl_dictionary *fresh = &self->fresh[block];
    for (uint32_t i = 0; i < fresh->count; i++)
        if (!pl_hash_names_add(self, fresh->words[i].kind, pl_dictionary_word(fresh, i)))
            return pl_fail_memory(error, "column names", self->names.text_bytes);
    if (fresh->count > 0)
        pl_dictionary_clear(fresh);
    return PARLEY_OK;
}

parley_status pl_hash_names_list(const pl_hash_names *self, const pl_names *before, pl_names *out,
                                 parley_error *error) {
    uint64_t hashes = (uint64_t)1 << self->bits, count = before->count + hashes;
    uint64_t bytes = self->names.text_bytes + (before->count ? before->start[before->count] : 0), at = 0;
    uint32_t *number = NULL; /* by hash: the number of its name, plus 1 */
    parley_status status = pl_names_make(count, bytes, out, error);
    if (status == PARLEY_OK)
        status = pl_take(&number, hashes, sizeof *number, "column names", error);
    for (uint32_t i = 0; status == PARLEY_OK && i < self->names.count; i++)
        number[self->names.words[i].kind] = i + 1;
    uint64_t *start = (uint64_t *)out->start;
    for (uint64_t i = 0; status == PARLEY_OK && i < count; i++) {
        pl_name name = pl_names_at(before, i);
        if (i >= before->count && number[i - before->count])
            name = pl_dictionary_word(&self->names, number[i - before->count] - 1);
        if (name.bytes > 0)
            memcpy((char *)out->text + at, name.text, name.bytes);
        start[i] = at;
        at += name.bytes;
        start[i + 1] = at;
    }
    pl_free(number);
    if (status != PARLEY_OK)
        pl_names_free(out);
    return status;
}

void pl_hash_names_close(pl_hash_names *self) {
    for (unsigned i = 0; i < self->blocks && self->fresh; i++)
        pl_dictionary_free(&self->fresh[i]);
    pl_dictionary_free(&self->names);
    pl_free(self->fresh);
    pl_free(self->known);
    *self = (pl_hash_names){0};
}
