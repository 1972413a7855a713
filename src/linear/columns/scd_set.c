/* scd_set.c: working sets. Steps on columns that stay at w = 0 are wasted, and with an L1 penalty most columns do. A
 * round therefore steps on the columns with w != 0 and on as many others, those with the largest |u_j| (Johnson and
 * Guestrin 2015; Massias et al. 2018). Just after the penalty was reduced, only columns that pass the strong rule are
 * added (Tibshirani et al. 2012): |u_j| >= 2 l1 - the last l1. The next look finds columns that were missed.
 *
 * Sets that double take many rounds to a large support. How many columns will be needed shows in how far the number of
 * columns with |u_j| > l1 fell since the last look: if columns are correlated, a few members explain most of the
 * others, and if they are not, all of the others are needed, up to one per row. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "linear/columns/scd.h"

#define FIRST_SET 16  /* members: the columns most correlated with the labels tell little about the rest */
#define LEAST_SET 128 /* least size of the next sets */
#define GROWTH 2      /* members per column with w != 0 */
#define FALL 16       /* power of the fall of the number of columns beyond l1 that guesses how many are needed */
#define BINS 2048     /* bins of |u| / l1, to find the threshold */

/* Increases with |u|, from 0 to BINS. */
static double ratio_of(const pl_scd *self, uint64_t j, double inverse) {
    return pl_pull(self->glm, j, self->u[j]) / pl_factor(self->glm, j) * inverse;
}

static unsigned bin_of(double ratio) { return ratio < DBL_MAX ? (unsigned)(BINS * (ratio / (1.0 + ratio))) : BINS; }

/* The bin of |u| / l1 from which on at most `wanted` columns are left. */
static unsigned cut(const pl_scd *self, const pl_scd_worker *worker, double inverse, uint64_t wanted) {
    uint64_t count[BINS + 1] = {0}, taken = 0;
    unsigned bin = BINS;
    for (uint64_t n = 0; n < worker->count; n++) {
        uint64_t j = worker->column[n];
        if (self->w[j] == 0)
            count[bin_of(ratio_of(self, j, inverse))]++;
    }
    for (; bin > 0 && taken + count[bin - 1] <= wanted; bin--)
        taken += count[bin - 1];
    while (taken == 0 && bin > 0)
        taken += count[--bin];
    return bin;
}

static uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* How many columns the worker probably needs, by the columns beyond l1 now and at the last look at this penalty. */
static uint64_t needed(const pl_scd *self, pl_scd_worker *worker, double inverse) {
    uint64_t before = self->l1_then == self->glm->base.l1 ? worker->beyond : 0, beyond = 0;
    for (uint64_t n = 0; n < worker->count; n++) {
        uint64_t j = worker->column[n];
        beyond += self->w[j] == 0 && ratio_of(self, j, inverse) > 1.0;
    }
    worker->beyond = beyond;
    double fall = before ? fmin(1.0, (double)beyond / (double)before) : 0.0;
    return smaller(self->x->columns, (uint64_t)((double)beyond * pow(fall, FALL)));
}

void pl_scd_choose(pl_scd *self, pl_scd_worker *worker) {
    double l1 = self->glm->base.l1, inverse = 1.0 / l1;
    uint64_t wanted = GROWTH * worker->supported, few = self->l1_then > 0 ? LEAST_SET : FIRST_SET;
    unsigned least = 0;
    if (self->delayed)
        l1 = 0; /* all columns may be chosen */
    if (l1 > 0) {
        wanted = larger(larger(wanted, few) - worker->supported, needed(self, worker, inverse));
        least = cut(self, worker, inverse, wanted);
        if (self->l1_before > l1) {
            unsigned strong = bin_of(fmax(0.0, 2.0 * l1 - self->l1_before) * inverse);
            least = strong > least ? strong : least;
        }
    }
    worker->members = worker->nonzeros = 0;
    for (uint64_t n = 0; n < worker->count; n++) {
        uint64_t j = worker->column[n];
        if (l1 > 0 && self->w[j] == 0 && bin_of(ratio_of(self, j, inverse)) < least)
            continue;
        worker->order[worker->members] = worker->members;
        worker->set[worker->members++] = j;
        worker->nonzeros += pl_scd_entries(self, j);
    }
    memset(worker->rest, 0, worker->members);
}
