/* scd.h: what the files of the scd solver share: its workers, their columns and working sets, and what is known of v.
 */
#ifndef PL_SCD_H
#define PL_SCD_H

#include "local/local.h"
#include "model/glm.h"

#define PL_SCD_LEAST_CURVATURE 1e-6 /* of its bound: flat parts of a loss must not make a step endless */

#define PL_SCD_PAST 6 /* epochs from which is extrapolated, and one */

/* A worker of K. Columns are numbered as in the data; a penalised intercept is one more, of ones, and the first
 * worker's. Arrays of length `rows` have an entry for each row of the data. */
typedef struct pl_scd_worker {
    uint64_t *column, count;    /* that it owns */
    uint64_t *set, *order;      /* its working set, and in which order the epoch visits it */
    double *begun, *base;       /* w of each member when the round began, and when the latest model was made */
    double *past;               /* w of each member after each of the last PL_SCD_PAST epochs */
    uint8_t *rest;              /* of each member: level << 4 | epochs left */
    uint64_t members, nonzeros; /* of the working set */
    uint64_t supported;         /* columns with w != 0 */
    uint64_t epoch;             /* epochs begun, ever */
    double *z;                  /* rows: margins as the worker sees them */
    double *slope, *curvature;  /* rows: q loss'(z), moved on by the model; q loss''(z) */
    double *step;               /* rows: A x the change of w under the latest model */
    double *change;             /* rows: A x the change of w so far this round: its update */
    double offset;              /* what was taken from all entries of v by its updates; free intercepts only */
    double pending;             /* and by the latest */
    double estimate;            /* of its share of the gap, over its working set */
    double spread;              /* |change|^2 in the metric */
    double visited, seconds;    /* non-zeros */
    bool solved;                /* the set is solved as well as was asked for */
    double credit;              /* visits of non-zeros that were made, less those that filling the table cost */
    double moved;               /* the intercept's way since the last model began */
    uint64_t known;             /* slots of the table that the last model had */
} pl_scd_worker;

#define PL_SCD_NO_SLOT UINT32_MAX

typedef struct pl_scd_entry {
    uint32_t slot;
    float value;
} pl_scd_entry;

/* Inner products of columns in working sets; arrays are by slot, the columns' order of coming. */
typedef struct pl_scd_gram {
    uint64_t capacity, slots;
    uint32_t *slot;     /* of a column, or none */
    pl_scd_entry *list; /* by row: its entries that have slots, and room for more */
    uint64_t *begin;    /* of a row's list, and behind the last one's room */
    uint32_t *listed;   /* of a row: how many these are, */
    uint32_t *listing;  /* and will be */
    uint64_t nonzeros;  /* of all rows */
    uint64_t *column;   /* of a slot */
    float *table;       /* slots x slots, in rows of `stride`: it lies close, so that it takes few pages */
    uint64_t stride;
    double *norm2, *mass;  /* as of columns below */
    double *slope, *ahead; /* of the model, by w_j; scratch */
    double *then, *change; /* w when the last model began; slopes then, and how they changed */
    double sum_then;       /* sum of all rows' slopes then */
    double *curvature;     /* rows: q loss'' of which the table is */
    double *sums;          /* scratch of the tasks that fill it */
    double total;          /* sum q loss'' */
    bool coarse;           /* columns are too far from 0 for floats: the table is not used */
} pl_scd_gram;

typedef struct pl_scd {
    pl_local base;
    const pl_glm *glm;
    const pl_team *team;    /* rows, for sums over them */
    const pl_team *columns; /* the deal of columns */
    const pl_matrix *x;     /* by columns */
    double target;          /* the gap at which the run will stop; 0: never */
    bool delayed;           /* steps see v only, and count as if each were made by a worker of its own */
    double batch;           /* steps of a worker in this round, then; else 1 */
    bool quadratic;         /* the loss is: one model is exact, and its curvature never changes */
    double even;            /* all rows have this q loss''; 0: they have not */
    pl_scd_worker *workers;
    double *wide;    /* what the workers' arrays by row point into */
    uint64_t *lists; /* and those of column numbers */
    double *values;  /* and those of their values */
    uint8_t *rests;
    unsigned chunks;              /* of each worker's columns, for passes over all of them */
    double *w;                    /* columns, and the intercept */
    double *last;                 /* the same at the end of the penalty before the last */
    double pace;                  /* of l1, against its last change; 0: not known */
    bool predicting;              /* the penalty has changed, and no step was made since */
    double *u;                    /* likewise: -(gradient of the mean loss), at the last look */
    double *norm2;                /* of a column: sum q loss'' c^2; negative: not known yet */
    double *mass;                 /* sum q loss'' c */
    double *loss;                 /* rows: loss(v + b) */
    double *slope;                /* rows: loss'(v + b) */
    double *metric;               /* rows: q loss''(v + b), at least a little */
    double *qt;                   /* rows: q t, t the dual point of the last look */
    double *anchor_u, *anchor_qt; /* the same when all columns were last looked at */
    double *reach;                /* of a column: how far u moves at most for a t at distance 1; negative: not known */
    double drift;                 /* distance of t from then; negative: never looked */
    bool all;                     /* this look is at all columns */
    double *sums;                 /* scratch of the passes over columns */
    pl_scd_gram gram;             /* of a worker that is alone; of no capacity: there is none */
    double b;                     /* the intercept on top of v */
    bool rows_known;              /* loss, slope and metric are those of v */
    bool columns_known;           /* u is that of v */
    bool again;                   /* or was, for columns that were not far below l1_looked */
    double l1_looked;             /* l1 at the last look */
    bool renewed;                 /* the penalty became another one since */
    bool choosing;                /* working sets, in this round */
    bool penalty_known;           /* and the next three are those of the penalty as well */
    double objective, gap;        /* at v */
    double largest;               /* |u_j| */
    pl_evaluation found, evaluation; /* over the rows, t not repaired; the same as the loop wants it */
    double l1_before;                /* l1 before it was made smaller; 0: it was not */
    double l1_last;                  /* l1 of `last`; 0: none */
    double l1_then;                  /* l1 when the working sets were last chosen; 0: never */
    double curvature_squares;        /* sum q t^2 / loss'' */
    double sigma;                    /* of this round */
    double caution;                  /* by which sigma is raised, because P rose; up to K */
    double tolerance;                /* to which working sets are solved: their part of the gap */
    double strict;                   /* by which that is less than it might be: estimates proved wrong */
    double share;                    /* of the non-zeros in working sets, over all workers */
    bool solved;                     /* all working sets are */
    const pl_round *round;
    const double *v;
} pl_scd;

/* What an epoch saw of the gap, from when it visited each member. */
typedef struct pl_scd_gap {
    double largest, penalty, pull, excess; /* max |u|; sum l1 |w| + l2/2 w^2; sum u w; sum (|u| - l1)+^2 */
} pl_scd_gap;

/* A worker's round. */
typedef struct pl_scd_solver {
    pl_scd *scd;
    pl_scd_worker *worker;
    const pl_matrix *x;
    double l1, l2, sigma;
    bool free;       /* the intercept is eliminated */
    bool gram;       /* steps are by inner products of columns */
    double mass;     /* sum q loss'' */
    double shift;    /* of the intercept under the model */
    double loss;     /* sum q loss(z) */
    double spread;   /* sum of |change|^2 over the steps */
    double decrease; /* of the model, at least */
    double left;     /* steps of this round */
    pl_scd_gap gap;
} pl_scd_solver;

/* The entries of column j, or of the column of ones. */
static inline uint64_t pl_scd_entries(const pl_scd *scd, uint64_t j) {
    return j == scd->x->rows ? scd->x->columns : scd->x->start[j + 1] - scd->x->start[j];
}

/* The first entry of column j that is in row i or below. */
static inline uint64_t pl_scd_entry_from(const pl_matrix *x, uint64_t j, uint64_t i) {
    return pl_sparse_first(x->index, x->start[j], x->start[j + 1], i);
}

/* scd_look.c: P, D and u at v, as far as they are not known already. Passes over rows and columns are shared out to
 * threads; on all ranks alike. */
parley_status pl_scd_look_rows(pl_scd *scd, const double *v, parley_error *error);
parley_status pl_scd_look(pl_scd *scd, const double *v, parley_error *error);

/* scd_set.c: chooses the worker's next working set by u and w. */
void pl_scd_choose(pl_scd *scd, pl_scd_worker *worker);

/* scd_gram.c: has the table ready for the worker's set, and slopes of the model at hand; false: it does not pay. */
#define PL_SCD_GRAM_TASKS 16
bool pl_scd_gram_prepare(pl_scd *scd, pl_scd_worker *worker);
void pl_scd_gram_empty(pl_scd *scd, pl_scd_worker *worker);
/* Learns from how slopes changed since the last model, to which `moved` belongs; `sum` is that over the rows. */
void pl_scd_gram_follow(pl_scd *scd, pl_scd_worker *worker, double sum);
/* slope += a x row of the table. */
void pl_scd_gram_move(const pl_scd_gram *gram, uint64_t slot, double a, double *slope);
/* Makes room in the table for so many slots. */
void pl_scd_gram_widen(pl_scd_gram *gram, uint64_t slots);
/* Lists the columns of the slots by row again; false: there are no such columns. */
bool pl_scd_gram_restore(pl_scd *scd, const pl_scd_worker *worker);

/* scd_ahead.c: the best affine combination of the past, in `ahead` (members entries); false: there is none. */
bool pl_scd_extrapolate(const double *past, uint64_t members, double *ahead);

/* scd_rows.c: passes over rows in a worker's round. Slopes and curvatures at z + gamma (sigma step + shift); returns
 * the loss there. */
double pl_scd_expand(pl_scd_solver *solver, double gamma, double shift);
bool pl_scd_add_up(pl_scd_solver *solver); /* step = A x what the model changed; false: nothing */
/* Takes w, z and the change to gamma of what the model did. */
void pl_scd_take(pl_scd_solver *solver, double gamma, double shift);
void pl_scd_begin(pl_scd_solver *solver);
void pl_scd_finish(pl_scd_solver *solver);

/* scd_solve.c: the worker's round: steps on its working set until that is solved well enough or H is used up. */
void pl_scd_solve(pl_scd *scd, pl_scd_worker *worker, unsigned number);

/* scd_state.c */
void pl_scd_state(pl_local *local, pl_state *state);

/* scd_setup.c */
uint64_t pl_scd_bytes(const pl_setup *setup);
parley_status pl_scd_open(const pl_setup *setup, pl_local **out, parley_error *error);
void pl_scd_close(pl_local *local);

#endif
