/* sdca.h: shared by the files of the sdca solver: its workers, their lanes, and the order of their rows. */
#ifndef PL_SDCA_H
#define PL_SDCA_H

#include "linear/rows/block_order.h"

#define PL_SDCA_PATIENCE 16  /* epochs at the beginning; see pl_sdca_activity */
#define PL_SDCA_LEFT 255     /* the rest of a row that left the active set */
#define PL_SDCA_SYNCS 2      /* most synchronisations of lanes per epoch */
#define PL_SDCA_CENTRED 1e-6 /* remaining slope of intercepts when P is evaluated */

/* Decides which rows of a worker rest (sdca_active.c). */
typedef struct pl_sdca_activity {
    double residual, worst; /* sums of this epoch so far: the share of the gap, and the largest violation */
    double bound;           /* rows whose depth is above it leave; from the last epoch */
    double reference;       /* residual of the last epoch that visited all rows */
    uint64_t since;         /* epochs since then */
    uint64_t patience;      /* most of these */
    bool whole, wake;       /* this epoch visits all rows; the next one must */
    bool stay;              /* no row may leave: the run began with a version without this */
} pl_sdca_activity;

typedef struct pl_sdca_worker {
    uint64_t *buckets, count; /* in the order of this epoch, those that are visited first */
    pl_block_order *turns;    /* the order by blocks, in which an epoch is a turn; NULL: all rows are shuffled */
    uint64_t base, active;    /* the first bucket of this epoch, and their number */
    uint64_t cursor, epoch;   /* next bucket of this epoch, and epochs begun */
    bool one_lane;            /* the first lane visits all rows */
    bool repeats;             /* a turn that is not the first one over its block */
    double fresh;             /* buckets visited in this round without those turns */
    uint64_t left;            /* buckets to visit in this round */
    double share;             /* epochs in this round */
    pl_sdca_activity activity;
    uint64_t piece; /* buckets of the current piece */
    uint64_t syncs; /* synchronisations per epoch */
    double lane_sigma, lane_gamma;
    double *current;    /* u as this worker sees it: v + sigma D */
    uint32_t *support;  /* rows of v, a table by rows, that its rows touch; NULL: all */
    uint64_t supported; /* number of these rows */
    bool wide;          /* whether `change` and `previous` have room for all of v */
    double *change;     /* the update points to it; until the end of the round, the initial u */
    double *previous;   /* its change in the last round, as it was taken; NULL with one worker, which needs no momentum
                           and has its change in `current` */
    double spread, squared, turn; /* see PL_SUM_SPREAD, PL_SUM_CHANGE, PL_SUM_TURN */
} pl_sdca_worker;

typedef struct pl_sdca_lane {
    double *u; /* its copy; with one lane, the worker's `current` */
    double residual, spread, sum_spread;
    double piece_residual, worst; /* of the current piece */
    double seconds, fixed;        /* computing time, and the part of it for copies of u */
    double step_spread;           /* sum of |change|^2 over its steps */
    uint64_t stepped;             /* non-zeros of the rows that did not rest */
} pl_sdca_lane;

typedef struct pl_sdca {
    pl_local base;
    const pl_glm *glm;
    const pl_team *team;
    /* Dual variables, one entry per class: now, at the start of the round, and at the start of the piece (with several
     * lanes). */
    double *t, *t_round, *t_piece;
    uint8_t *rest; /* level << 4 | epochs left, or PL_SDCA_LEFT; NULL if t is never at a bound */
    double *z;     /* margins at the last evaluation, one entry per class */
    uint64_t *buckets;
    pl_block_order *turns; /* by hosted worker; NULL: all rows are shuffled */
    pl_span copies;        /* memory of `u` and `current`, on huge pages because access is random */
    pl_sdca_worker *workers;
    pl_sdca_lane *lanes;
    double *b0;              /* one per class */
    double *b;               /* the intercepts at the last evaluation */
    pl_linear_evaluation at; /* the last evaluation */
    double sigma, momentum;
    bool in_step;  /* in place, and the lanes' copies are equal to v */
    bool in_place; /* the u of a single worker is v itself */
    bool delayed;  /* steps see only v, and count as if each were made by its own worker */
    double batch;  /* steps of a worker in this round if delayed; otherwise 1 */
    bool plain;    /* models are not moved to better multiples: the run began with a version without this */
    double target; /* the gap that ends the run */
    const double *v;
    double *v_previous; /* v at the start of the last round; NULL as above */
} pl_sdca;

/* Entries of a worker's `change` and `previous`. */
static inline uint64_t pl_sdca_places(const pl_sdca *self, const pl_sdca_worker *worker) {
    return worker->wide ? self->glm->base.size : worker->supported * self->glm->classes;
}

/* The first bucket of lane `l` in the worker's current piece. */
static inline uint64_t pl_lane_begin(const pl_sdca_worker *worker, unsigned l, unsigned lanes) {
    uint64_t before = worker->one_lane ? (l > 0 ? worker->piece : 0) : worker->piece * l / lanes;
    return worker->base + worker->cursor + before;
}

/* The steps of one lane. */
typedef struct pl_stepper {
    const pl_glm *glm;
    const pl_loss *loss;
    double *u, sigma;
    const double *seen;               /* where steps start: u, or v */
    double inverse, intercept_metric; /* 1 / l2, and the intercept's part of h */
    double residual, spread;
    double bound, worst; /* see pl_sdca_activity */
    uint64_t stepped;    /* non-zeros */
} pl_stepper;

/* The intercept of class c in u. */
double pl_sdca_intercept(const pl_sdca *sdca, const double *u, uint64_t c);
/* Lets a row rest if its t did not move: for a while, or until all rows return if it is far from moving. */
static inline void pl_sdca_rest(pl_sdca *sdca, pl_stepper *stepper, uint64_t row, double depth, bool moved) {
    unsigned level = sdca->rest[row] >> 4;
    level += level < PL_MOST_REST;
    stepper->worst = depth < -stepper->worst ? -depth : stepper->worst;
    sdca->rest[row] = moved ? 0 : depth > stepper->bound ? PL_SDCA_LEFT : (uint8_t)(level << 4 | ((1u << level) - 1));
}

/* sdca_active.c: chooses the rows of a worker's next epoch and their order. */
void pl_sdca_begin_epoch(pl_sdca *sdca, unsigned worker);
/* Adds what the lanes found in their piece to the sums of the epoch. */
void pl_sdca_note_piece(pl_sdca *sdca, unsigned worker);
/* Makes the next epoch of every worker visit all its rows. Returns whether any rest. */
bool pl_sdca_wake(pl_sdca *sdca);

/* sdca_classes.c: makes a step on one row of several classes. */
void pl_sdca_step_classes(pl_sdca *sdca, pl_stepper *stepper, uint64_t row);
/* Evaluates several classes, whose margins at w are in sdca->z, and writes the best intercepts to w. */
parley_status pl_sdca_evaluate_classes(pl_sdca *sdca, double *w, parley_error *error);

/* sdca_lanes.c: adds the changes that the lanes made in a piece, as far as it is safe. */
void pl_lanes_sync(pl_sdca *sdca);
/* How often lanes should synchronise in an epoch, given the non-zeros of a worker's rows that do not rest. */
uint64_t pl_lane_syncs(const pl_sdca *sdca, double nonzeros);

/* sdca_start.c */
parley_status pl_sdca_start(pl_local *local, const double *w, const double *rows, double *v, parley_error *error);
parley_status pl_sdca_renew(pl_local *local, double *v, parley_error *error);
const double *pl_sdca_by_row(const pl_local *local, uint64_t *width);

/* sdca_state.c */
void pl_sdca_state(pl_local *local, pl_state *state);

/* sdca_setup.c */
uint64_t pl_sdca_bytes(const pl_setup *setup);
parley_status pl_sdca_open(const pl_setup *setup, pl_local **out, parley_error *error);
void pl_sdca_close(pl_local *local);

#endif
