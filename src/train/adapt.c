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
#define LEAST_PACED 3       /* and least rounds with an H before it changes again, and that are left to gain from it */
#define PACE_SAVES 1.05     /* the same factor for another H, */
#define PACE_ROUNDS_LOST 1  /* whose rounds are whole, so that the run may make one in vain */

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

/* Rounds from a gap to the target with a method of the plan. */
static double rounds_with(const pl_alternative *other, double gap, double target) {
    return fmax(1.0, pl_alternative_rounds(other, target) - pl_alternative_rounds(other, gap));
}

/* The same in seconds, as things cost now. */
static double rest_with(const pl_alternative *other, double gap, double target, double compute, double exchange) {
    return rounds_with(other, gap, target) * (other->compute * compute + other->exchange * exchange);
}

/* Whether a whole run with another method would be shorter, as things cost now. Two methods that reach the same gap are
 * not in the same state, so that the rest alone would have a run go to and fro between methods that are as good. */
static bool is_better(const pl_alternative *other, const pl_alternative *now, double target, double compute,
                      double exchange) {
    return PACE_SAVES * rest_with(other, INFINITY, target, compute, exchange) <
           rest_with(now, INFINITY, target, compute, exchange);
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
    if (rounds_with(now, gap, target) < LEAST_PACED)
        return NULL;
    for (unsigned a = 0; a < forecast->alternatives; a++) {
        const pl_alternative *other = &forecast->alternative[a];
        double rest = rest_with(other, gap, target, compute, exchange);
        rest += PACE_ROUNDS_LOST * (other->compute * compute + other->exchange * exchange);
        if (pl_same_method(other, now) && other->epochs > 0 && rest < least &&
            is_better(other, now, target, compute, exchange)) {
            least = rest;
            best = other;
        }
    }
    return best;
}

/* A change to a method, with its reason. `left` is the rest of the run as it measured itself. */
static pl_change change_to(const pl_adapt *adapt, const pl_alternative *to, double gap, double target, double left) {
    double compute = lately(adapt, adapt->compute), exchange = lately(adapt, adapt->exchange);
    bool moves = to->workers != adapt->now->workers;
    double seconds = to->compute * compute + to->exchange * exchange;
    double setup = to->setup * (moves ? fmax(1.0, exchange) : 1.0);
    if (moves)
        left = is_better(to, adapt->now, target, compute, exchange)
                   ? fmin(left, rest_with(adapt->now, gap, target, compute, exchange))
                   : 0;
    return (pl_change){.to = to,
                       .left = left,
                       .predicted = rest_with(to, gap, target, compute, exchange),
                       .cost = setup + lately(adapt, adapt->local) + UNDER_WAY * seconds};
}

pl_change pl_adapt_judge(const pl_adapt *adapt, const pl_forecast *forecast, double gap, double target) {
    pl_change best = {.predicted = INFINITY};
    if (!adapt->now || adapt->rounds < LEAST_ROUNDS || adapt->seen < LEAST_EVALUATIONS || !(gap > target))
        return best;
    double round = lately(adapt, adapt->local) + lately(adapt, adapt->rest), fall = fall_per_round(adapt);
    double left = fall > 0 ? log(gap / target) / fall * round : INFINITY;
    for (unsigned a = 0; a < forecast->alternatives; a++) {
        const pl_alternative *other = &forecast->alternative[a];
        bool moves = other->workers != adapt->now->workers;
        if (pl_same_method(other, adapt->now) || (moves && adapt->divided)) /* pl_adapt_pace chooses H */
            continue;
        pl_change change = change_to(adapt, other, gap, target, left);
        double all = change.predicted + change.cost;
        if (isfinite(all) && change.left > SAVES * all && all < best.predicted + best.cost)
            best = change;
    }
    return best;
}
