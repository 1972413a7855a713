/* sgd.h: what the files of the sgd solver share. The formulas are at the heads of sgd_step.c and adaptive.h. */
#ifndef PL_SGD_H
#define PL_SGD_H

#include "linear/rows/block_order.h"
#include "linear/sgd/adaptive.h"

typedef struct pl_sgd_worker {
    uint64_t *buckets, count; /* its rows, in the order of this epoch */
    pl_block_order *turns;    /* the order by blocks, in which an epoch is a turn; NULL: all rows are shuffled */
    uint64_t base, length;    /* the buckets of this epoch: all of them, or those of a block */
    uint64_t cursor, epoch;   /* next bucket of this epoch; epochs begun */
    uint64_t left;            /* buckets to visit in this round */
    double rate;              /* of its steps, before the schedule */
    uint64_t age;             /* epochs that its running means of dual variables look back on */
    const double *v;          /* that it begins the round with */
    uint32_t *support;        /* entries of v that its rows touch; NULL: all */
    uint64_t supported;       /* how many */
    double *change;           /* what its update points at, an entry for each of them */
    double row_weight;        /* of a row of weight 1, so that the rows' mean is 1 */
    double *u;                /* lazy form: w = s u */
    double *clock;            /* lazy L1: what `elapsed` was when an entry was last caught up; NULL: no L1 */
    double *mean;             /* averaged iterates: sum of iterates = tau u + mean; NULL: the last iterate */
    double s, elapsed, tau;
    double folded;           /* product of the scales that were folded into u */
    double shrunk;           /* sum over steps of what is left of v: folded x s */
    double b, b_sum;         /* the free intercept, which does not shrink; its sum over steps */
    pl_cell *cells;          /* adaptive form, in place of u */
    double rows_seen, norms; /* normalised rates: rows, and their squared norms in units of the scales */
    float *row_rates;        /* room for the rates of the longest row */
    float *scaled;           /* the same for its values, where columns are scaled */
    uint64_t steps;          /* in this round */
    double shrink;           /* of v, in the update */
    double loss;             /* sum of the losses met in this round, before each step */
    double touched;          /* non-zeros of the rows visited */
    double seconds;
} pl_sgd_worker;

typedef struct pl_sgd {
    pl_local base;
    const pl_glm *glm;
    const pl_team *team;
    pl_local *gradient; /* evaluates */
    pl_sgd_worker *workers;
    uint64_t *buckets;
    pl_block_order *turns;       /* by hosted worker; NULL: all rows are shuffled */
    pl_span copies;              /* u, clock, mean or cells of all workers: on huge pages, because access is random */
    pl_schedule schedule, asked; /* in use; the setting */
    bool may_adapt;              /* there is memory for adaptive schedules */
    double rate;
    double boost;      /* times the rate that suits one worker: what averaging allows at first */
    double importance; /* times that each row counts */
    bool may_rise;     /* the rate: no penalty, and none was given */
    bool rose, steady; /* it was raised after the latest look; the objective fell little by then */
    bool uneven;       /* columns' values are of very different sizes */
    double ease;       /* of an intercept's steps: what its rate is multiplied by; sgd_step.c */
    bool average;      /* iterates */
    bool started;      /* v is where the run begins */
    uint64_t copied;   /* doubles of `copies` for each worker and entry */
    bool in_place;     /* steps in v, which all workers share */
    float *rare;       /* by entry: rows for each one that holds it; NULL: the penalty is lazy */
    double *v;
    double worked;      /* passes since rounds were last watched */
    const double *null; /* the model that runs begin at */
    double *t, *t_even; /* losses that are not smooth: running means of dual variables, for the certificate */
    uint64_t age;       /* epochs that the means look back on */
    uint64_t stride;    /* of the rows that rounds are watched by */
    double least;       /* objective on the sample, so far */
    double *v_least;    /* where that was */
    double *v_began;    /* in place: where this one did */
    double since;       /* rounds since then, or since the rate was changed */
    double patience;    /* how many of them are too many */
    bool helped;        /* some rate found a new least */
    unsigned halved;
} pl_sgd;

static inline bool pl_sgd_adapts(const pl_sgd *sgd) { return sgd->schedule >= PL_ADAGRAD; }

/* sgd_step.c */
void pl_sgd_begin(pl_sgd *sgd, pl_sgd_worker *worker);
void pl_sgd_visit(pl_sgd *sgd, pl_sgd_worker *worker, uint64_t bucket, double rate); /* steps on its rows */
double pl_sgd_entry(const pl_sgd *sgd, const pl_sgd_worker *worker, uint64_t j);     /* w_j of the worker's copy */
double pl_sgd_margin(const pl_sgd *sgd, pl_sgd_worker *worker, uint64_t row);
/* Leaves the change of the round in worker->change; returns the shrink. */
double pl_sgd_end(pl_sgd *sgd, pl_sgd_worker *worker);

/* sgd_setup.c */
/* Puts the buckets of a hosted worker into the order of rows, or shuffles them for a trial; with blocks, the first
 * ones are of one block. */
void pl_sgd_fill(pl_sgd *sgd, unsigned k);
void pl_sgd_mix(pl_sgd *sgd, unsigned k, uint64_t seed, uint64_t trial);
bool pl_sgd_may_adapt(const pl_setup *setup);
void pl_sgd_place(pl_sgd *sgd, pl_schedule schedule); /* gives the workers their copies for this schedule */
uint64_t pl_sgd_bytes(const pl_setup *setup);
parley_status pl_sgd_open(const pl_setup *setup, pl_local **out, parley_error *error);
void pl_sgd_close(pl_local *local);

/* sgd.c: the objective at v, on the sample that rounds are watched by. */
parley_status pl_sgd_look(pl_sgd *sgd, double *v, double *objective, parley_error *error);

/* sgd_rate.c: settles schedule and rate, where the settings leave them to it. */
parley_status pl_sgd_settle(pl_sgd *sgd, const pl_setup *setup, parley_error *error);

#endif
