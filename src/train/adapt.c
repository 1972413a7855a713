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
#define PACE_ROUNDS 5       /* latest rounds by which costs are judged, */
#define LEAST_PACED 3       /* and least rounds with an H before it changes again */
#define PACE_SAVES 1.05     /* the same factor for another H */

void pl_adapt_open(pl_adapt *adapt, const pl_alternative *now) { *adapt = (pl_adapt){.now = now}; }

void pl_adapt_note(pl_adapt *adapt, double epochs, double local, double rest, double round, double gap) {
    unsigned at = adapt->rounds++ % PL_ADAPT_ROUNDS;
    adapt->local[at] = local;
    adapt->rest[at] = rest;
    adapt->paced++;
    if (adapt->now) {
        double planned = adapt->now->epochs, h = planned > 0 && epochs > 0 ? epochs / planned : 1.0;
        adapt->compute[at] = local / (h * adapt->now->compute);
        adapt->exchange[at] = rest / adapt->now->exchange;
    }
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

/* The median of the latest rounds. */
static double lately(const pl_adapt *adapt, const double *values) {
    double last[PACE_ROUNDS];
    unsigned count = adapt->rounds < PACE_ROUNDS ? adapt->rounds : PACE_ROUNDS;
    for (unsigned i = 0; i < count; i++)
        last[i] = values[(adapt->rounds - 1 - i) % PL_ADAPT_ROUNDS];
    return median(last, count);
}

/* The seconds from a gap to the target with a method of the plan, as things cost now. */
static double rest_with(const pl_alternative *other, double gap, double target, double compute, double exchange) {
    double rounds = pl_alternative_rounds(other, target) - pl_alternative_rounds(other, gap);
    return fmax(1.0, rounds) * (other->compute * compute + other->exchange * exchange);
}

void pl_adapt_paced(pl_adapt *adapt, const pl_alternative *now) {
    adapt->now = now;
    adapt->paced = 0;
}

const pl_alternative *pl_adapt_pace(const pl_adapt *adapt, const pl_forecast *forecast, double gap, double target) {
    const pl_alternative *now = adapt->now, *best = NULL;
    if (!now || adapt->paced < LEAST_PACED || !(gap > target) || !(now->epochs > 0))
        return NULL;
    double compute = lately(adapt, adapt->compute), exchange = lately(adapt, adapt->exchange);
    double least = rest_with(now, gap, target, compute, exchange) / PACE_SAVES;
    for (unsigned a = 0; a < forecast->alternatives; a++) {
        const pl_alternative *other = &forecast->alternative[a];
        double rest = rest_with(other, gap, target, compute, exchange);
        if (strcmp(other->preset, now->preset) == 0 && other->epochs > 0 && rest < least) {
            least = rest;
            best = other;
        }
    }
    return best;
}

pl_change pl_adapt_judge(const pl_adapt *adapt, const pl_forecast *forecast, double gap, double target) {
    unsigned count = adapt->rounds < PL_ADAPT_ROUNDS ? adapt->rounds : PL_ADAPT_ROUNDS;
    pl_change best = {.predicted = INFINITY};
    if (!adapt->now || adapt->rounds < LEAST_ROUNDS || adapt->seen < LEAST_EVALUATIONS || !(gap > target))
        return best;
    double local = median(adapt->local, count), rest = median(adapt->rest, count), fall = fall_per_round(adapt);
    double compute = lately(adapt, adapt->compute), exchange = lately(adapt, adapt->exchange);
    best.left = fall > 0 ? log(gap / target) / fall * (local + rest) : INFINITY;
    for (unsigned a = 0; a < forecast->alternatives; a++) {
        const pl_alternative *other = &forecast->alternative[a];
        double seconds = other->compute * compute + other->exchange * exchange;
        double cost = other->setup + local + UNDER_WAY * seconds;
        double predicted = rest_with(other, gap, target, compute, exchange);
        bool same = strcmp(other->preset, adapt->now->preset) == 0; /* pl_adapt_pace chooses its H */
        if (same || !isfinite(predicted + cost) || predicted + cost >= best.predicted + best.cost)
            continue;
        best.to = other;
        best.predicted = predicted;
        best.cost = cost;
    }
    if (best.to && !(best.left > SAVES * (best.predicted + best.cost)))
        best.to = NULL;
    return best;
}
