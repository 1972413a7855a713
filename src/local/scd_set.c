/* scd_set.c: working sets. Steps on columns that stay at w = 0 are wasted, and with an L1 penalty most do: a round
 * steps on the columns with w != 0 and on those whose |u_j| is largest, as many again (Johnson and Guestrin 2015;
 * Massias et al. 2018). When the penalty has just become smaller, only those that the strong rule suspects are taken
 * (Tibshirani et al. 2012): |u_j| >= 2 l1 - the last l1. What a choice misses the next look finds. */
#include <math.h>
#include <string.h>

#include "local/scd.h"

#define FIRST_SET 16  /* members: what is most like the mean label tells little of the rest */
#define LEAST_SET 128 /* of the next sets */
#define GROWTH 2      /* members for each column with w != 0 */
#define BINS 2048     /* of |u| / l1, to find how large it must be */

/* Rises with |u|, from 0 to below BINS. */
static unsigned bin_of(double ratio) { return (unsigned)(BINS * (ratio / (1.0 + ratio))); }

/* The |u| / l1, as a bin, from which on at most `wanted` columns are left. */
static unsigned cut(const pl_scd *this, const pl_scd_worker *worker, double inverse, uint64_t wanted) {
    uint64_t count[BINS + 1] = {0}, taken = 0;
    unsigned bin = BINS;
    for (uint64_t n = 0; n < worker->count; n++) {
        uint64_t j = worker->column[n];
        if (this->w[j] == 0)
            count[bin_of(fabs(this->u[j]) * inverse)]++;
    }
    for (; bin > 0 && taken + count[bin - 1] <= wanted; bin--)
        taken += count[bin - 1];
    while (taken == 0 && bin > 0)
        taken += count[--bin];
    return bin;
}

void pl_scd_choose(pl_scd *this, pl_scd_worker *worker) {
    double l1 = this->glm->l1, inverse = 1.0 / l1;
    uint64_t wanted = GROWTH * worker->supported, few = this->l1_then > 0 ? LEAST_SET : FIRST_SET;
    unsigned least = 0;
    if (this->delayed)
        l1 = 0; /* steps on any column */
    if (l1 > 0) {
        wanted = (wanted < few ? few : wanted) - worker->supported;
        least = cut(this, worker, inverse, wanted);
        if (this->l1_before > l1) {
            unsigned strong = bin_of(fmax(0.0, 2.0 * l1 - this->l1_before) * inverse);
            least = strong > least ? strong : least;
        }
    }
    worker->members = worker->nonzeros = 0;
    for (uint64_t n = 0; n < worker->count; n++) {
        uint64_t j = worker->column[n];
        if (l1 > 0 && this->w[j] == 0 && bin_of(fabs(this->u[j]) * inverse) < least)
            continue;
        worker->order[worker->members] = worker->members;
        worker->set[worker->members++] = j;
        worker->nonzeros += pl_scd_entries(this, j);
    }
    memset(worker->rest, 0, worker->members);
}
