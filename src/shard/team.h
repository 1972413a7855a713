/* team.h: the workers of a run and the rows each of them owns.
 *
 * Rows are dealt to the K workers in blocks, in an order that depends on (data, K, seed) only, and cut at equal
 * non-zeros. A worker's shard is cut again into L parts, one for each of its lanes. Rank r hosts workers [rK/R,
 * (r+1)K/R). */
#ifndef PL_TEAM_H
#define PL_TEAM_H

#include "data/data.h"
#include "engine/engine.h"

#define PL_ROW_SUMS 9

typedef struct pl_team {
    pl_engine *engine;
    unsigned workers, first, hosted, lanes;
    uint64_t seed;
    pl_part *parts;                  /* hosted x lanes */
    pl_range *ranges;                /* what the parts point into; NULL: the data's own deal */
    uint64_t *rows;                  /* of each hosted worker */
    uint64_t *nonzeros;              /* likewise */
    double *weight;                  /* likewise: sum of its rows' weights */
    uint64_t all_rows, all_nonzeros; /* of all workers */
    double *lane_sums;               /* scratch of sums over rows: hosted x lanes x PL_ROW_SUMS */
    double *worker_sums;             /* hosted x PL_ROW_SUMS */
} pl_team;

parley_status pl_team_open(pl_team *team, pl_engine *engine, const parley_data *data, unsigned workers, unsigned lanes,
                           uint64_t seed, parley_error *error);
/* Deals the rows of any matrix, each of weight 1: with a matrix by columns, deals columns. */
parley_status pl_team_deal(pl_team *team, pl_engine *engine, const pl_matrix *x, unsigned workers, unsigned lanes,
                           uint64_t seed, parley_error *error);
void pl_team_close(pl_team *team);

/* Runs `task` for every lane of every hosted worker: task number = worker * lanes + lane. */
void pl_team_run(const pl_team *team, pl_task task, void *context);
/* Adds `count` scalars of each hosted worker over all workers of all ranks, in tree order; the same on every rank. */
parley_status pl_team_sum(const pl_team *team, const double *scalars, unsigned count, double *sums,
                          parley_error *error);

/* Sums of tables of `entries` numbers over all rows: each lane adds up its rows' in a table of its own, then lanes and
 * workers are added in tree order. The same in `out` on every rank. */
typedef void (*pl_table_sum)(const void *context, const pl_part *part, double *sums);
parley_status pl_sum_tables(const pl_team *team, uint64_t entries, pl_table_sum f, const void *context, double *out,
                            parley_error *error);

#endif
