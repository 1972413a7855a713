/* l1_quadratic.h: minimises a quadratic function with an L1 penalty in few variables,
 *
 *     g.(x - x0) + 1/2 (x - x0)' A (x - x0) + sum_j l1_j |x_j|          A = H - U'U
 *
 * where A is symmetric and positive semi-definite, and H has the shape of an arrow (arrow_matrix.h). U'U is what
 * remains of variables without a penalty that have been eliminated; with them it would be
 *
 *     H  U'
 *     U  I */
#ifndef PL_L1_QUADRATIC_H
#define PL_L1_QUADRATIC_H

#include "base/memory.h"

/* How many there are of each kind of variable. */
typedef struct pl_l1_shape {
    uint64_t size, core; /* variables; those that meet all others, which are the first */
    uint64_t group;      /* entries in a group, whose quadratic function hardly changes if all of them move alike */
    uint64_t loose;      /* eliminated variables */
} pl_l1_shape;

typedef struct pl_l1_quadratic {
    pl_l1_shape shape;
    const double *core;     /* columns of H in the core, with all their entries */
    const double *apart;    /* of the other variables, the column of their group's square, and their part of the core */
    const double *u;        /* of each variable, its column of U */
    const double *diagonal; /* of A */
    const double *l1;
    double *x;     /* the point; the start of the search and its result */
    double *slope; /* of the function of H at x; g at the start */
    double *moved; /* U (x - x0); 0 at the start */
} pl_l1_quadratic;

/* Room for problems of a shape. */
typedef struct pl_l1_room {
    double *factor, *change, *moved;
    uint32_t *active, *support;
} pl_l1_room;

uint64_t pl_l1_bytes(const pl_l1_shape *shape);
parley_status pl_l1_open(pl_l1_room *room, const pl_l1_shape *shape, parley_error *error);
void pl_l1_close(pl_l1_room *room);

/* The slope of the function with its penalty that is closest to 0, where f' is `slope`. */
static inline double pl_l1_least_slope(double x, double slope, double l1) {
    return x > 0 ? slope + l1 : x < 0 ? slope - l1 : slope > l1 ? slope - l1 : slope < -l1 ? slope + l1 : 0.0;
}

/* Sum of the squared least slopes, each divided by its diagonal entry of A: about twice the distance to the minimum. */
double pl_l1_violation(const pl_l1_quadratic *problem);

/* Moves x until the violation is at most `target`, or as small as rounding allows. */
void pl_l1_solve(const pl_l1_quadratic *problem, const pl_l1_room *room, double target);

#endif
