/* team.h: the workers of a run and the rows that each of them owns.
 *
 * Blocks of rows are assigned to the K workers in an order that depends only on (data, K, seed), and divided at equal
 * numbers of non-zeros. The shard of a worker is divided again into L parts, one for each of its lanes. Rank r hosts
 * workers [rK/R, (r+1)K/R). */
#ifndef PL_TEAM_H
#define PL_TEAM_H

#include "base/stop.h"
#include "data/data.h"
#include "engine/engine.h"

#define PL_ROW_SUMS 9

typedef struct pl_team {
    pl_engine *engine;
    unsigned workers, first, hosted, lanes;
    uint64_t seed;
    pl_part *parts;                  /* hosted x lanes */
    pl_range *ranges;                /* the ranges of the parts; NULL: they belong to data->deal */
    uint64_t *rows;                  /* by hosted worker */
    uint64_t *nonzeros;              /* by hosted worker */
    double *weight;                  /* by hosted worker: the sum of its rows' weights */
    uint64_t all_rows, all_nonzeros; /* over all workers of all ranks */
    double *lane_sums;               /* scratch memory for sums over rows: hosted x lanes x PL_ROW_SUMS */
    double *worker_sums;             /* hosted x PL_ROW_SUMS */
} pl_team;

parley_status pl_team_open(pl_team *team, pl_engine *engine, const parley_data *data, unsigned workers, unsigned lanes,
                           uint64_t seed, parley_error *error);
/* Assigns the rows of any matrix to workers, each row with weight 1. For a transposed matrix, this assigns columns. */
parley_status pl_team_deal(pl_team *team, pl_engine *engine, const pl_matrix *x, unsigned workers, unsigned lanes,
                           uint64_t seed, parley_error *error);
void pl_team_close(pl_team *team);

/* A walk over the rows of a part, by chunks of rows [begin, end). Begin with {0}, or with pl_walk_entries(data) if
 * the entries of the rows are read, which may be larger than memory. */
#define PL_ROW_CHUNK 64
typedef struct pl_walk {
    uint64_t begin, end, range; /* `range` is the number of the next one */
    const parley_data *large;   /* its entries are read ahead and given back; NULL: it fits into memory */
    pl_range held;              /* rows that were walked and not given back, and */
    uint64_t walked;            /* the entries of all rows walked */
    uint64_t asked;             /* entries that were read ahead, up to row */
    uint64_t asked_row, asked_range;
} pl_walk;
static inline pl_walk pl_walk_entries(const parley_data *data) { return (pl_walk){.large = data->large ? data : NULL}; }
/* Reads ahead of the current rows and gives back what lies behind it, or at the end of the walk all of it. */
void pl_walk_read(const pl_part *part, pl_walk *walk);
void pl_walk_leave(pl_walk *walk);
/* Goes to the next chunk, of at most PL_ROW_CHUNK rows of one range. Returns false after the last one, and also if
 * the run must stop; pl_team_sum then tells all ranks. */
static inline bool pl_walk_on(const pl_part *part, pl_walk *walk) {
    while (walk->range <= part->count && !pl_stop_due()) {
        uint64_t last = walk->range ? part->ranges[walk->range - 1].end : 0;
        walk->begin = walk->end;
        if (walk->begin < last) {
            walk->end = walk->begin + PL_ROW_CHUNK < last ? walk->begin + PL_ROW_CHUNK : last;
            if (walk->large)
                pl_walk_read(part, walk);
            return true;
        }
        if (walk->range++ < part->count)
            walk->end = part->ranges[walk->range - 1].begin;
    }
    if (walk->large)
        pl_walk_leave(walk);
    return false;
}

/* Runs `task` for every lane of every hosted worker. The task number is worker * lanes + lane. */
void pl_team_run(const pl_team *team, pl_task task, void *context);
/* Sums `count` scalars over the workers of all ranks, in tree order. Every rank gets the same bits. If any rank must
 * stop, and so may have left a pass over its rows, all ranks fail with PARLEY_STOPPED. */
parley_status pl_team_sum(const pl_team *team, const double *scalars, unsigned count, double *sums,
                          parley_error *error);

/* Sums a table of `entries` numbers over all rows. Each lane sums its rows in its own table, then lanes and workers are
 * added in tree order. Every rank gets the same bits in `out`. */
typedef void (*pl_table_sum)(const void *context, const pl_part *part, double *sums);
parley_status pl_sum_tables(const pl_team *team, uint64_t entries, pl_table_sum f, const void *context, double *out,
                            parley_error *error);

#endif
