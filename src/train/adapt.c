/* adapt.c: see adapt.h. */
#include "train/adapt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort_numbers.h"

#define LEAST_ROUNDS 6      /* of a method before it is judged */
#define LEAST_EVALUATIONS 3 /* the same */
#define UNDER_WAY 3.0       /* rounds of the new method that a change costs */
#define SAVES 1.2           /* factor by which the rest must be longer than with the change */

void pl_adapt_open(pl_adapt *adapt, const pl_alternative *now) { *adapt = (pl_adapt){.now = now}; }

void pl_adapt_note(pl_adapt *adapt, double epochs, double local, double rest, double round, double gap) {
    unsigned at = adapt->rounds++ % PL_ADAPT_ROUNDS;
    adapt->local[at] = local;
    adapt->rest[at] = rest;
    adapt->epochs[at] = epochs;
    if (gap > 0) {
        at = adapt->seen++ % PL_ADAPT_ROUNDS;
        adapt->round[at] = round;
        adapt->level[at] = log(gap);
    }
}

static double median(const double *values, unsigned count) {
    double copy[PL_ADAPT_ROUNDS];
    memcpy(copy, values, count * sizeof *copy);
    pl_sort_numbers(copy, count);
    return 0.5 * (copy[count / 2] + copy[(count - 1) / 2]);
}

/* The decrease of the logarithm of the gap per round over the latest evaluations. */
static double fall_per_round(const pl_adapt *adapt) {
    unsigned count = adapt->seen < PL_ADAPT_ROUNDS ? adapt->seen : PL_ADAPT_ROUNDS;
    double n = count, x = 0, y = 0, xx = 0, xy = 0;
    for (unsigned i = 0; i < count; i++) {
        x += adapt->round[i], y += adapt->level[i];
        xx += adapt->round[i] * adapt->round[i], xy += adapt->round[i] * adapt->level[i];
    }
    return -(xy - x * y / n) / (xx - x * x / n);
}

/* How many times as long as planned the run computes; H may differ from the plan's. */
static double slower(const pl_adapt *adapt, unsigned count) {
    double ratios[PL_ADAPT_ROUNDS], planned = adapt->now->epochs;
    for (unsigned i = 0; i < count; i++) {
        double h = planned > 0 && adapt->epochs[i] > 0 ? adapt->epochs[i] / planned : 1.0;
        ratios[i] = adapt->local[i] / (h * adapt->now->compute);
    }
    return median(ratios, count);
}

pl_change pl_adapt_judge(const pl_adapt *adapt, const pl_forecast *forecast, double gap, double target) {
    unsigned count = adapt->rounds < PL_ADAPT_ROUNDS ? adapt->rounds : PL_ADAPT_ROUNDS;
    pl_change best = {.predicted = INFINITY};
    if (!adapt->now || adapt->rounds < LEAST_ROUNDS || adapt->seen < LEAST_EVALUATIONS || !(gap > target))
        return best;
    double local = median(adapt->local, count), rest = median(adapt->rest, count), fall = fall_per_round(adapt);
    double compute = slower(adapt, count), exchange = rest / adapt->now->exchange;
    best.left = fall > 0 ? log(gap / target) / fall * (local + rest) : INFINITY;
    for (unsigned a = 0; a < forecast->alternatives; a++) {
        const pl_alternative *other = &forecast->alternative[a];
        double rounds = pl_alternative_rounds(other, target) - pl_alternative_rounds(other, gap);
        double seconds = other->compute * compute + other->exchange * exchange;
        double cost = other->setup + local + UNDER_WAY * seconds, predicted = fmax(1.0, rounds) * seconds;
        if (other == adapt->now || !isfinite(predicted + cost) || predicted + cost >= best.predicted + best.cost)
            continue;
        best.to = other;
        best.predicted = predicted;
        best.cost = cost;
    }
    if (best.to && !(best.left > SAVES * (best.predicted + best.cost)))
        best.to = NULL;
    return best;
}
