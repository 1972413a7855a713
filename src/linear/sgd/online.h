/* online.h: learns from a stream of rows, one at a time and in their order. */
#ifndef PL_ONLINE_H
#define PL_ONLINE_H

#include "linear/glm.h"
#include "method/local.h"

typedef struct pl_online pl_online;

/* The state after a row. Losses are those of predictions made before the row was learnt. */
typedef struct pl_online_state {
    uint64_t rows, nonzeros, columns; /* so far; `columns` is the largest number seen */
    double weight, loss;              /* sums; a row's loss counts with its weight */
    double label, prediction;         /* of the latest row */
    uint64_t features;                /* of that row, including the intercept */
    unsigned hash_bits;               /* the last 2^hash_bits columns are hashes; 0 if none are */
    const pl_loss *learns;            /* the loss, once it is known */
    double low, high;                 /* binary losses: the labels of -1 and +1 */
} pl_online_state;

/* Optional settings that it reads; ends with NULL. */
extern const char *const pl_online_settings[];
/* Rejects settings without meaning for a stream, and contradictory ones. */
parley_status pl_online_check(const parley_settings *settings, parley_error *error);
parley_status pl_online_open(const parley_settings *settings, pl_online **out, parley_error *error);
/* Sets the labels of a loss of two classes in advance. */
void pl_online_tell(pl_online *online, double low, double high);
/* Learns rows [begin, end) of a batch. */
parley_status pl_online_learn(pl_online *online, const parley_data *batch, uint64_t begin, uint64_t end,
                              parley_error *error);
/* Checks whether all rows of a batch can be learnt, so that learning them cannot fail. */
parley_status pl_online_admit(pl_online *online, const parley_data *batch, parley_error *error);
const pl_online_state *pl_online_look(const pl_online *online);
parley_status pl_online_model(const pl_online *online, parley_model **out, parley_error *error);
/* Serialises the learner with the caller's metadata, to be released with pl_free; and restores it into one opened with
 * the same settings. */
parley_status pl_online_pack(const pl_online *online, const pl_pair *metas, unsigned meta_count, void **bytes,
                             uint64_t *count, parley_error *error);
parley_status pl_online_unpack(pl_online *online, const pl_container *container, const char *learns,
                               parley_error *error);
void pl_online_close(pl_online *online);

#endif
