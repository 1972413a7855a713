/* checksummed.c: containers with a checksum that covers names, types, sizes, tensors and metadata. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "shard/saved_state.h"

#define CHECKSUM "checksum"

static uint64_t stir(uint64_t sum, uint64_t word) {
    sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return sum ^ sum >> 29;
}

static uint64_t stir_bytes(uint64_t sum, const void *bytes, uint64_t count) {
    const unsigned char *p = bytes;
    uint64_t word = 0;
    sum = stir(sum, count);
    for (; count >= sizeof word; p += sizeof word, count -= sizeof word) {
        memcpy(&word, p, sizeof word);
        sum = stir(sum, word);
    }
    word = 0;
    for (uint64_t i = 0; i < count; i++)
        word |= (uint64_t)p[i] << 8 * i;
    return stir(sum, word);
}

/* The sums of tensors and metadata are added, so that their order in the file does not matter. */
static uint64_t checksum(const pl_tensor *tensors, unsigned count, const pl_pair *metas, unsigned meta_count) {
    static const unsigned bytes[] = {[PL_F64] = 8, [PL_U64] = 8, [PL_F32] = 4, [PL_U32] = 4, [PL_U8] = 1};
    uint64_t sum = 0;
    for (unsigned i = 0; i < count; i++) {
        uint64_t one = stir_bytes(tensors[i].type, tensors[i].name, strlen(tensors[i].name));
        sum += stir_bytes(one, tensors[i].data, tensors[i].shape[0] * bytes[tensors[i].type]);
    }
    for (unsigned i = 0; i < meta_count; i++)
        if (strcmp(metas[i].key, CHECKSUM) != 0)
            sum +=
                stir_bytes(stir_bytes(1, metas[i].key, strlen(metas[i].key)), metas[i].value, strlen(metas[i].value));
    return sum;
}

parley_status pl_checked_write(const char *path, const pl_tensor *tensors, unsigned count, const pl_pair *metas,
                               unsigned meta_count, parley_error *error) {
    char text[20];
    pl_pair *all;
    parley_status status = pl_take(&all, (uint64_t)meta_count + 1, sizeof *all, "a checkpoint", error);
    if (status != PARLEY_OK)
        return status;
    memcpy(all, metas, meta_count * sizeof *all);
    snprintf(text, sizeof text, "%016" PRIx64, checksum(tensors, count, metas, meta_count));
    all[meta_count] = (pl_pair){CHECKSUM, text};
    status = pl_container_write(path, tensors, count, all, meta_count + 1, error);
    pl_free(all);
    return status;
}

parley_status pl_checked_open(const char *path, pl_container **out, parley_error *error) {
    const pl_tensor *tensors;
    const pl_pair *metas;
    char text[20];
    pl_container *container;
    *out = NULL;
    parley_status status = pl_container_open(path, &container, error);
    if (status != PARLEY_OK)
        return status;
    status = pl_container_keep(container, path, error);
    if (status != PARLEY_OK) {
        pl_container_close(container);
        return status;
    }
    unsigned count = pl_container_tensors(container, &tensors), meta_count = pl_container_metas(container, &metas);
    for (unsigned i = 0; i < count; i++)
        if (tensors[i].dims != 1) {
            status = pl_fail(error, PARLEY_BAD_INPUT, "%s: tensor %.60s has %u dimensions; not a checkpoint", path,
                             tensors[i].name, tensors[i].dims);
            pl_container_close(container);
            return status;
        }
    const char *theirs = pl_container_meta(container, CHECKSUM);
    snprintf(text, sizeof text, "%016" PRIx64, checksum(tensors, count, metas, meta_count));
    if (!theirs || strcmp(theirs, text) != 0) {
        pl_container_close(container);
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: the checksum does not match the content: the file is damaged",
                       path);
    }
    *out = container;
    return status;
}
