/* scd.h: shared by the files of the scd solver: its workers, their columns and working sets, and the state of v. */
#ifndef PL_SCD_H
#define PL_SCD_H

#include "linear/glm.h"
#include "method/local.h"

#define PL_SCD_LEAST_CURVATURE 1e-6 /* relative to its bound, to bound steps on flat parts of a loss */

#define PL_SCD_PAST 6 /* epochs from which to extrapolate, plus one */

/* A worker of K. Columns are numbered as in the data. A penalised intercept is one more column, of ones, which the
 * first worker owns. Arrays of length `rows` have one entry per row of the data. */
typedef struct pl_scd_worker {
    uint64_t *column, count;    /* columns that it owns */
    uint64_t *set, *order;      /* its working set, and the order in which an epoch visits it */
    double *begun, *base;       /* w of each member at the start of the round, and of the latest model */
    double *past;               /* w of each member after each of the last PL_SCD_PAST epochs */
    uint8_t *rest;              /* of each member: level << 4 | epochs left */
    uint64_t members, nonzeros; /* of the working set */
    uint64_t supported;         /* columns with w != 0 */
    uint64_t beyond;            /* columns with w = 0 and |u| > l1, when the set was chosen; 0: unknown */
    uint64_t epoch;             /* epochs begun in the whole run */
    double *z;                  /* rows: margins as the worker sees them */
    double *slope, *curvature;  /* rows: q loss'(z), updated by the model; q loss''(z) */
    double *step;               /* rows: A x the change of w in the latest model */
    double *change;             /* rows: A x the change of w in this round, which is its update */
    double offset;              /* constant that its updates subtracted from all entries of v; free intercepts only */
    double pending;             /* the part of the latest update */
    double estimate;            /* of its share of the gap, over its working set */
    double spread;              /* |change|^2 in the metric */
    double visited, seconds;    /* in non-zeros */
    bool solved;                /* the set is solved to the requested accuracy */
    double credit;              /* visits to non-zeros so far, minus those spent on filling the table */
    double moved;               /* change of the intercept since the last model began */
    uint64_t known;             /* slots of the table that the last model had */
} pl_scd_worker;

#define PL_SCD_NO_SLOT UINT32_MAX

typedef struct pl_scd_entry {
    uint32_t slot;
    float value;
} pl_scd_entry;

/* Inner products of columns in working sets. Arrays are by slot, the order in which columns entered. */
typedef struct pl_scd_covariance {
    uint64_t capacity, slots;
    uint32_t *slot;     /* slot of a column, or none */
    pl_scd_entry *list; /* by row: its entries that have slots, with room for more */
    uint64_t *begin;    /* where a row's list begins; the last entry ends the last list's room */
    uint32_t *listed;   /* length of a row's list now, */
    uint32_t *listing;  /* and after the new slots are added */
    uint64_t nonzeros;  /* of all rows */
    uint64_t *column;   /* column of a slot */
    float *table;       /* slots x slots, in rows of `stride`; kept compact to use few pages */
    uint64_t stride;
    double *norm2, *mass;  /* as those of columns below */
    double *slope, *ahead; /* of the model, by w_j; scratch */
    double *then, *change; /* w and slopes when the last model began, and how the slopes changed */
    double sum_then;       /* sum of all rows' slopes then */
    double *curvature;     /* rows: the q loss'' that the table was computed with */
    double *sums;          /* scratch of the tasks that fill it */
    double *factor;        /* scratch of steps on the columns whose w is not 0: their part of the table, factored, */
    uint32_t *support;     /* and their places in the set */
    double total;          /* sum q loss'' */
    bool coarse;           /* columns are too far from 0 for floats, so the table is not used */
} pl_scd_covariance;

typedef struct pl_scd {
    pl_local base;
    const pl_glm *glm;
    const pl_team *team;    /* rows, for sums over them */
    const pl_team *columns; /* the partition of columns */
    const pl_matrix *x;     /* by columns */
    double target;          /* the gap at which the run stops; 0: never */
    bool delayed;           /* steps see only v, and count as if each were made by its own worker */
    double batch;           /* steps of a worker in this round if delayed; otherwise 1 */
    bool quadratic;         /* the loss is quadratic: one model is exact, and the curvature is constant */
    double even;            /* the q loss'' of all rows, if it is the same; otherwise 0 */
    pl_scd_worker *workers;
    double *wide;    /* memory of the workers' arrays by row, */
    uint64_t *lists; /* of those of column numbers, */
    double *values;  /* and of those of their values */
    uint8_t *rests;
    unsigned chunks;                 /* of each worker's columns, for passes over all of them */
    double *w;                       /* columns, and the intercept */
    double *last;                    /* the same at the end of the penalty before the last one */
    double pace;                     /* change of l1, relative to its last change; 0 if unknown */
    bool predicting;                 /* the penalty has changed, and no step was made since */
    double *u;                       /* also by column: -(gradient of the mean loss), at the last look */
    double *norm2;                   /* of a column: sum q loss'' c^2; negative if unknown */
    double *mass;                    /* sum q loss'' c */
    double *loss;                    /* rows: loss(v + b) */
    double *slope;                   /* rows: loss'(v + b) */
    double *metric;                  /* rows: q loss''(v + b), at least a little */
    double *qt;                      /* rows: q t, where t is the dual point of the last look */
    double *anchor_u, *anchor_qt;    /* the same at the last look at all columns */
    double *reach;                   /* of a column: how far u moves at most if t moves by 1; negative if unknown */
    double drift;                    /* distance of t from then; negative if there was no look */
    bool all;                        /* this look is at all columns */
    double *sums;                    /* scratch of the passes over columns */
    pl_scd_covariance gram;          /* for a single worker; without capacity if there is none */
    double b;                        /* the intercept added to v */
    bool rows_known;                 /* loss, slope and metric are those of v */
    bool columns_known;              /* u is that of v */
    bool again;                      /* or was, for columns that were not far below l1_looked */
    double l1_looked;                /* l1 at the last look */
    bool renewed;                    /* the penalty has changed since */
    bool choosing;                   /* working sets are chosen in this round */
    bool penalty_known;              /* the next three are for the current penalty */
    double objective, gap;           /* at v */
    double largest;                  /* |u_j| */
    pl_linear_evaluation found;      /* over the rows, with t not repaired */
    pl_linear_evaluation evaluation; /* the same as the loop needs it */
    double l1_before;                /* l1 before it was reduced; 0 if it was not */
    double l1_last;                  /* l1 of `last`; 0 if there is none */
    double l1_then;                  /* l1 when the working sets were last chosen; 0: never */
    double curvature_squares;        /* sum q t^2 / loss'' */
    double sigma;                    /* of this round */
    double caution;                  /* factor by which sigma is raised because P rose; at most K */
    double tolerance;                /* to which working sets are solved, as a part of the gap */
    double strict;                   /* factor by which the tolerance is reduced because estimates were wrong */
    double share;                    /* of the non-zeros in working sets, over all workers */
    bool solved;                     /* all working sets are solved */
    const pl_round *round;
    const double *v;
} pl_scd;

/* What an epoch measured of the gap, when it visited each member. */
typedef struct pl_scd_gap {
    double largest, penalty, pull, excess; /* max |u| / f; sum f (l1 |w| + l2/2 w^2); sum u w; sum (|u| - f l1)+^2 / f,
                                              where f is the penalty factor */
} pl_scd_gap;

/* The state of a worker's round. */
typedef struct pl_scd_solver {
    pl_scd *scd;
    pl_scd_worker *worker;
    const pl_matrix *x;
    double l1, l2, sigma;
    bool free;       /* the intercept is eliminated */
    bool gram;       /* steps use inner products of columns */
    double mass;     /* sum q loss'' */
    double shift;    /* of the intercept in the model */
    double loss;     /* sum q loss(z) */
    double spread;   /* sum of |change|^2 over the steps */
    double decrease; /* of the model, at least */
    double left;     /* steps left in this round */
    pl_scd_gap gap;
} pl_scd_solver;

/* The number of entries of column j, or of the column of ones. */
static inline uint64_t pl_scd_entries(const pl_scd *scd, uint64_t j) {
    return j == scd->x->rows ? scd->x->columns : scd->x->start[j + 1] - scd->x->start[j];
}

/* The first entry of column j in row i or below. */
static inline uint64_t pl_scd_entry_from(const pl_matrix *x, uint64_t j, uint64_t i) {
    return pl_sparse_first(x->index, x->start[j], x->start[j + 1], i);
}

/* Whether every column has an entry in every row, so that the table needs no lists. */
static inline bool pl_scd_is_full(const pl_matrix *x) {
    return !pl_are_ones(x->values) && x->nonzeros == x->rows * x->columns;
}

/* scd_certificate.c: computes P, D and u at v, unless they are known. Passes over rows and columns run on all threads,
 * alike on all ranks. */
parley_status pl_scd_certify_rows(pl_scd *scd, const double *v, parley_error *error);
parley_status pl_scd_certify(pl_scd *scd, const double *v, parley_error *error);

/* scd_set.c: chooses the worker's next working set by u and w. */
void pl_scd_choose(pl_scd *scd, pl_scd_worker *worker);

/* scd_support.c: where a Newton step on the members whose w is not 0 leads, by the table. Returns false if there is
 * none. */
bool pl_scd_support_step(const pl_scd_solver *solver, double *ahead);
/* scd_covariance.c: whether steps from v on the worker's set would use the table. */
#define PL_SCD_GRAM_TASKS 16
bool pl_scd_covariance_pays(const pl_scd *scd, const pl_scd_worker *worker);
/* Prepares the table for the worker's set, and the slopes of the model. Returns false if it does not pay. */
bool pl_scd_covariance_prepare(pl_scd *scd, pl_scd_worker *worker);
void pl_scd_covariance_empty(pl_scd *scd, pl_scd_worker *worker);
/* Corrects the table by how slopes changed since the last model, to which `moved` belongs. `sum` is that of all rows.
 */
void pl_scd_covariance_follow(pl_scd *scd, pl_scd_worker *worker, double sum);
/* slope += a x row of the table. */
void pl_scd_covariance_move(const pl_scd_covariance *gram, uint64_t slot, double a, double *slope);
/* Makes room in the table for this many slots. */
void pl_scd_covariance_widen(pl_scd_covariance *gram, uint64_t slots);
/* Rebuilds the lists by row from the columns of the slots. Returns false if there are no such columns. */
bool pl_scd_covariance_restore(pl_scd *scd, const pl_scd_worker *worker);

/* scd_anderson.c: computes the best affine combination of past iterates in `ahead` (members entries). Returns false if
 * there is none. */
bool pl_scd_extrapolate(const double *past, uint64_t members, double *ahead);

/* scd_rows.c: passes over rows in a worker's round. Computes slopes and curvatures at z + gamma (sigma step + shift),
 * and returns the loss there. */
double pl_scd_expand(pl_scd_solver *solver, double gamma, double shift);
bool pl_scd_add_up(pl_scd_solver *solver); /* step = A x change of the model; false if it is 0 */
/* Moves w, z and the change by gamma times the change of the model. */
void pl_scd_take(pl_scd_solver *solver, double gamma, double shift);
void pl_scd_begin(pl_scd_solver *solver);
void pl_scd_finish(pl_scd_solver *solver);

/* scd_solve.c: a worker's round, with steps on its working set until it is solved to the tolerance or H is used up. */
void pl_scd_solve(pl_scd *scd, pl_scd_worker *worker, unsigned number);

/* scd_state.c */
void pl_scd_state(pl_local *local, pl_state *state);

/* scd_setup.c */
uint64_t pl_scd_bytes(const pl_setup *setup);
parley_status pl_scd_open(const pl_setup *setup, pl_local **out, parley_error *error);
void pl_scd_close(pl_local *local);

/* scd.c: by entry of v, the weight of a squared change in the workers' sub-problems; NULL for other solvers. */
const double *pl_scd_metric(const pl_local *local);

#endif
