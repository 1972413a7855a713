/* sdca.h: what the files of the sdca solver share: its workers, their lanes, and the order of their rows. */
#ifndef PL_SDCA_H
#define PL_SDCA_H

#include "local/order.h"

#define PL_SDCA_CENTRED 1e-6 /* slope left in intercepts when P is evaluated: its effect there is of second order */

typedef struct pl_sdca_worker {
    uint64_t *buckets, count; /* in the order of this epoch */
    uint64_t cursor, epoch;   /* next bucket; epochs begun */
    uint64_t left;            /* buckets to visit in this round */
    double share;             /* of its buckets that is */
    uint64_t piece;           /* buckets of the current piece */
    uint64_t syncs;           /* per epoch */
    double lane_sigma, lane_gamma;
    double *current;    /* u as this worker sees it: v + sigma D */
    uint32_t *support;  /* rows of v, which is a table by rows, that its rows touch; NULL: take all */
    uint64_t supported; /* how many */
    bool wide;          /* do `change` and `previous` have places for all of v? */
    double *change;     /* what the update points at; before the round ends, u as it began */
    double *previous; /* its change of the last round, as it was taken; NULL: one worker needs no momentum, and has its
                         change where `current` is */
    double spread, squared, turn; /* see PL_SUM_SPREAD, PL_SUM_CHANGE, PL_SUM_TURN */
} pl_sdca_worker;

typedef struct pl_sdca_lane {
    double *u; /* its copy; where there is one lane, the worker's `current` */
    double residual, spread, sum_spread;
    double seconds, fixed; /* of computing; of them, copies of u */
    double step_spread;    /* sum of |change|^2 over its steps */
    uint64_t stepped;      /* non-zeros of the rows that did not rest */
} pl_sdca_lane;

typedef struct pl_sdca {
    pl_local base;
    const pl_glm *glm;
    const pl_team *team;
    /* Dual variables, an entry for each class: now; when the round began; when the piece began (more lanes than one).
     */
    double *t, *t_round, *t_piece;
    uint8_t *rest; /* level << 4 | epochs left */
    double *z;     /* margins, when evaluated; likewise */
    uint64_t *buckets;
    pl_span copies; /* what workers and lanes call u, current: on huge pages, because access is random */
    pl_sdca_worker *workers;
    pl_sdca_lane *lanes;
    double *b0; /* of each class */
    double *b;  /* the intercepts when they were last evaluated */
    double sigma, momentum;
    bool in_step;  /* in place, and the lanes' copies are v */
    bool in_place; /* a lone worker's u is v itself */
    bool delayed;  /* steps see v only, and count as if each were made by a worker of its own */
    double batch;  /* steps of a worker in this round, then; else 1 */
    const double *v;
    double *v_previous; /* v when the last round began; NULL as above */
} pl_sdca;

/* Entries of a worker's `change` and `previous`. */
static inline uint64_t pl_sdca_places(const pl_sdca *this, const pl_sdca_worker *worker) {
    return worker->wide ? this->glm->size : worker->supported * this->glm->classes;
}

/* The buckets of lane `l` in the worker's current piece. */
static inline uint64_t pl_lane_begin(const pl_sdca_worker *worker, unsigned l, unsigned lanes) {
    return worker->cursor + worker->piece * l / lanes;
}

/* One lane's steps. */
typedef struct pl_stepper {
    const pl_glm *glm;
    const pl_loss *loss;
    double *u, sigma;
    const double *seen;               /* what steps start from: u, or v */
    double inverse, intercept_metric; /* 1 / l2; h's part for the intercept */
    double residual, spread;
    uint64_t stepped; /* non-zeros */
} pl_stepper;

/* The intercept of class c, as u has it. */
double pl_sdca_intercept(const pl_sdca *sdca, const double *u, uint64_t c);
/* A row's t stayed where it was: it rests a while; it moved: it does not. */
void pl_sdca_rest(pl_sdca *sdca, uint64_t row, bool moved);

/* sdca_classes.c: a step on one row of several classes. */
void pl_sdca_step_classes(pl_sdca *sdca, pl_stepper *stepper, uint64_t row);
/* Evaluates several classes, whose margins at w are in sdca->z; puts the best intercepts in w. */
parley_status pl_sdca_evaluate_classes(pl_sdca *sdca, double *w, pl_evaluation *evaluation, parley_error *error);

/* sdca_lanes.c: adds the changes that the lanes made in a piece, as far as is safe. */
void pl_lanes_meet(pl_sdca *sdca);
/* How often they should meet in an epoch in which a worker's rows that do not rest have so many non-zeros. */
uint64_t pl_lane_syncs(const pl_sdca *sdca, double nonzeros);

/* sdca_start.c */
parley_status pl_sdca_start(pl_local *local, const double *w, double *v, parley_error *error);
parley_status pl_sdca_renew(pl_local *local, double *v, parley_error *error);

/* sdca_state.c */
void pl_sdca_state(pl_local *local, pl_state *state);

/* sdca_setup.c */
uint64_t pl_sdca_bytes(const pl_setup *setup);
parley_status pl_sdca_open(const pl_setup *setup, pl_local **out, parley_error *error);
void pl_sdca_close(pl_local *local);

#endif
