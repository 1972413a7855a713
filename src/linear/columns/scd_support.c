/* scd_support.c: a Newton step of the quadratic model on the columns whose w is not 0, by the table of inner products.
 * With their signs s it solves
 *
 *     (sigma A_SS + l2 I) d = -(g_S + l1 s + l2 w_S)
 *
 * A is the table, minus what the elimination of a free intercept takes away. Coordinate descent needs many epochs where
 * nearly as many columns as rows are not 0; this takes one factorisation for a support (Lee et al. 2006). */
#include <math.h>

#include "linear/columns/scd.h"
#include "math/cholesky.h"

#define RIDGE 1e-6 /* relative addition to the diagonal: the entries of the table are floats */

static uint64_t list_support(const pl_scd *self, const pl_scd_worker *worker, uint32_t *support) {
    uint64_t count = 0;
    for (uint64_t m = 0; m < worker->members; m++)
        if (self->w[worker->set[m]] != 0)
            support[count++] = (uint32_t)m;
    return count;
}

/* Column a of the system, and its right-hand side. */
static void set_up(const pl_scd_solver *solver, uint64_t count, uint64_t a, double *column, double *right) {
    const pl_scd *self = solver->scd;
    const pl_scd_covariance *gram = &self->gram;
    const uint64_t *set = solver->worker->set;
    uint64_t j = set[gram->support[a]], slot = gram->slot[j];
    double w = self->w[j], factor = pl_factor(self->glm, j), mass = solver->free ? gram->mass[slot] : 0.0;
    const float *row = gram->table + slot * gram->stride;
    for (uint64_t b = a; b < count; b++) {
        uint64_t other = gram->slot[set[gram->support[b]]];
        double less = solver->free ? mass * gram->mass[other] / solver->mass : 0.0;
        column[b] = solver->sigma * ((double)row[other] - less);
    }
    column[a] += RIDGE * solver->sigma * gram->norm2[slot] + factor * solver->l2;
    *right = -(gram->slope[slot] + solver->shift * mass + factor * (copysign(solver->l1, w) + solver->l2 * w));
}

bool pl_scd_support_step(const pl_scd_solver *solver, double *ahead) {
    const pl_scd *self = solver->scd;
    const pl_scd_covariance *gram = &self->gram;
    const pl_scd_worker *worker = solver->worker;
    uint64_t count = list_support(self, worker, gram->support);
    if (count == 0 || count > self->x->columns) /* more columns than rows are not independent */
        return false;
    for (uint64_t a = 0; a < count; a++)
        set_up(solver, count, a, gram->factor + a * count, &gram->sums[a]);
    if (!pl_cholesky(gram->factor, count))
        return false;
    pl_cholesky_solve(gram->factor, count, gram->sums);
    for (uint64_t m = 0; m < worker->members; m++)
        ahead[m] = self->w[worker->set[m]];
    for (uint64_t a = 0; a < count; a++)
        ahead[gram->support[a]] += gram->sums[a];
    return true;
}
