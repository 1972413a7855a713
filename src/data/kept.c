/* kept.c: blocks of a wave collect names of hashes that are not known yet; in the order of the blocks the first of each
 * is taken. So the steady state costs a bit test. */
#include "data/kept.h"

#include <string.h>

parley_status pl_kept_open(pl_kept *kept, unsigned bits, unsigned blocks, parley_error *error) {
    kept->bits = bits;
    kept->blocks = blocks;
    parley_status status = pl_take(&kept->fresh, blocks, sizeof *kept->fresh, "names of columns", error);
    if (status == PARLEY_OK)
        status = pl_take(&kept->known, ((uint64_t)1 << bits) / 64 + 1, sizeof *kept->known, "names of columns", error);
    return status;
}

bool pl_kept_note(pl_kept *kept, unsigned block, uint32_t hash, const char *name, uint64_t bytes) {
    uint32_t number;
    return pl_dictionary_add(&kept->fresh[block], hash, name, bytes, &number);
}

bool pl_kept_take(pl_kept *kept, uint32_t hash, pl_name name) {
    uint32_t number;
    if (!pl_kept_wants(kept, hash))
        return true;
    if (!pl_dictionary_add(&kept->names, hash, name.text, name.bytes, &number))
        return false;
    kept->known[hash / 64] |= (uint64_t)1 << hash % 64;
    return true;
}

parley_status pl_kept_settle(pl_kept *kept, unsigned block, parley_error *error) {
    pl_dictionary *fresh = &kept->fresh[block];
    for (uint32_t i = 0; i < fresh->count; i++)
        if (!pl_kept_take(kept, fresh->words[i].kind, pl_dictionary_word(fresh, i)))
            return pl_fail_memory(error, "names of columns", kept->names.text_bytes);
    if (fresh->count > 0)
        pl_dictionary_clear(fresh);
    return PARLEY_OK;
}

parley_status pl_kept_names(const pl_kept *kept, const pl_names *before, pl_names *out, parley_error *error) {
    uint64_t hashes = (uint64_t)1 << kept->bits, count = before->count + hashes;
    uint64_t bytes = kept->names.text_bytes + (before->count ? before->start[before->count] : 0), at = 0;
    uint32_t *number = NULL; /* of the word of each hash, plus 1 */
    parley_status status = pl_names_make(count, bytes, out, error);
    if (status == PARLEY_OK)
        status = pl_take(&number, hashes, sizeof *number, "names of columns", error);
    for (uint32_t i = 0; status == PARLEY_OK && i < kept->names.count; i++)
        number[kept->names.words[i].kind] = i + 1;
    uint64_t *start = (uint64_t *)out->start;
    for (uint64_t i = 0; status == PARLEY_OK && i < count; i++) {
        pl_name name = pl_names_at(before, i);
        if (i >= before->count && number[i - before->count])
            name = pl_dictionary_word(&kept->names, number[i - before->count] - 1);
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

void pl_kept_close(pl_kept *kept) {
    for (unsigned i = 0; i < kept->blocks && kept->fresh; i++)
        pl_dictionary_free(&kept->fresh[i]);
    pl_dictionary_free(&kept->names);
    pl_free(kept->fresh);
    pl_free(kept->known);
    *kept = (pl_kept){0};
}
