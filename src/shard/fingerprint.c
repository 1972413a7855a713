/* fingerprint.c: hashes of rows, by which a log or a checkpoint knows its data again. */
#include "shard/fingerprint.h"

#include <string.h>

#include "data/row_hash.h"
#include "engine/collective.h"

#define CHUNKS 64 /* of rows that are hashed at a time */

typedef struct hashing {
    const parley_data *data;
    uint64_t sums[CHUNKS];
} hashing;

static void hash_task(void *context, unsigned chunk) {
    hashing *hashing = context;
    uint64_t all = hashing->data->x.rows, sum = 0;
    pl_range range = {all * chunk / CHUNKS, all * (chunk + 1) / CHUNKS};
    pl_part part = {.ranges = &range, .count = 1};
    for (pl_walk rows = pl_walk_entries(hashing->data); pl_walk_on(&part, &rows);)
        for (uint64_t i = rows.begin; i < rows.end; i++)
            sum += pl_row_hash(hashing->data, i);
    hashing->sums[chunk] = sum;
}

parley_status pl_fingerprint(pl_engine *engine, const parley_data *data, uint64_t *out, parley_error *error) {
    hashing hashing = {.data = data};
    uint64_t sum = 0;
    engine->type->run(engine, hash_task, &hashing, CHUNKS);
    for (unsigned c = 0; c < CHUNKS; c++)
        sum += hashing.sums[c];
    *out = sum;
    if (!pl_is_parted(data)) /* every rank sees all rows */
        return pl_stop_check(error);
    double parts[4], sums[4] = {0}; /* 16 bits each, which doubles add exactly */
    for (unsigned p = 0; p < 4; p++)
        parts[p] = (double)(sum >> 16 * p & 0xffff);
    parley_status status = pl_sum_passes(engine, PL_EACH_RANK, parts, 4, sums, error);
    *out = 0;
    for (unsigned p = 0; p < 4; p++)
        *out += (uint64_t)sums[p] << 16 * p;
    return status;
}

typedef struct order_pass {
    const pl_team *team;
    const parley_data *data;
    uint64_t *parts; /* hosted x lanes */
} order_pass;

static void order_task(void *context, unsigned task) {
    const order_pass *pass = context;
    const pl_part *part = &pass->team->parts[task];
    uint64_t hash = part->rows;
    for (pl_walk rows = pl_walk_entries(pass->data); pl_walk_on(part, &rows);)
        for (uint64_t i = rows.begin; i < rows.end; i++)
            hash = pl_stir(hash, pl_row_hash(pass->data, i));
    pass->parts[task] = hash;
}

parley_status pl_order_hash(const pl_team *team, const parley_data *data, uint64_t **out, parley_error *error) {
    order_pass pass = {team, data, NULL};
    parley_status status =
        pl_take(&pass.parts, (uint64_t)team->hosted * team->lanes, sizeof *pass.parts, "hashes of rows", error);
    if (status != PARLEY_OK)
        return status;
    pl_team_run(team, order_task, &pass);
    for (unsigned k = 0; k < team->hosted; k++) {
        uint64_t hash = 0;
        for (unsigned l = 0; l < team->lanes; l++)
            hash = pl_stir(hash, pass.parts[k * team->lanes + l]);
        pass.parts[k] = hash;
    }
    *out = pass.parts;
    return pl_stop_check(error);
}
