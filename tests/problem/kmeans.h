/* kmeans.h: k-means as a second problem, for tests: it has no labels, no penalty, no dual and no linear model. Whatever
 * the loop, checkpoints, logs, validation, saving and the command line do with linear models they have to do with it.
 *
 *   P(c) = (1/S) sum_i s_i min_k |x_i - c_k|^2 / 2          S = sum_i s_i
 *
 * A model is a table with a row per column of the data and an entry per centre. Two local solvers: `lloyd` moves a
 * worker's copy of the centres to the means of its rows H times, for `average`; `means` gives the gradient, for `step`.
 */
#ifndef KMEANS_H
#define KMEANS_H

#include "method/combine.h"

#define KMEANS_CENTRES 3

/* |x_i - c_k|^2 for every centre k, given |c_k|^2; c has an entry per centre in each row. */
void kmeans_distances(const pl_matrix *x, uint64_t row, uint64_t columns, const double *c, const double *norm2,
                      double *distance);
void kmeans_norms(uint64_t columns, const double *c, double *norm2); /* |c_k|^2 */
unsigned kmeans_nearest(const double *distance);

/* The model of a table of centres. */
parley_status kmeans_model_new(uint64_t columns, const double *c, parley_model **out, parley_error *error);
const double *kmeans_centres(const parley_model *model); /* as such a table; NULL: it is of another type */

extern const pl_model_type kmeans_model;
extern const pl_problem_type kmeans_problem;
extern const pl_local_type kmeans_lloyd, kmeans_means;
extern const pl_combine_type kmeans_step;

#endif
