/* search.c: finds a step that satisfies the strong Wolfe conditions
 *
 *     phi(gamma) <= phi(0) + PL_DECREASE gamma phi'(0)         otherwise it is too long
 *     |phi'(gamma)| <= PL_FLATTEN |phi'(0)|                    otherwise too long or too short, by the sign of phi'
 *
 * phi is convex: if a step is too long, so are all longer ones, and if it is too short, so are all shorter ones. A
 * bracket is therefore enough, and the next trial is where the chord of phi' crosses 0. */
#include "linear/newton/search.h"

#include <math.h>

#define TRIALS 40
#define FURTHEST 10.0  /* most growth of the trial step while none was too long */
#define CREEPING 6     /* trials from which on every third halves the bracket, since chords may converge slowly */
#define MARGIN 0.1     /* part of a bracket to stay away from its ends */
#define ROUNDING 1e-13 /* relative to phi: smaller differences are noise, and only slopes decide */

pl_search pl_search_begin(double value, double slope) {
    return (pl_search){.value = value, .slope = slope, .low_slope = slope, .high = INFINITY};
}

bool pl_search_below(double f, double bound, double size) { return f <= bound + ROUNDING * fabs(size); }

static double clip(double x, double low, double high) {
    return !(x > low) ? low : x > high ? high : x; /* NaN becomes low */
}

static double next_trial(const pl_search *search, double last, double last_slope, double gamma, double slope) {
    if (isinf(search->high)) {
        double crossing = gamma - slope * (gamma - last) / (slope - last_slope);
        return clip(crossing > gamma ? crossing : INFINITY, 1.5 * gamma, FURTHEST * gamma);
    }
    double width = search->high - search->low;
    bool chord = search->high_slope > 0 && (search->trials < CREEPING || search->trials % 3 != 0);
    double crossing = chord ? search->low - search->low_slope * width / (search->high_slope - search->low_slope)
                            : search->low + 0.5 * width;
    return clip(crossing, search->low + MARGIN * width, search->high - MARGIN * width);
}

/* Narrows the bracket by the trial step. Returns true if there is no further step to try. */
static bool narrow(pl_search *search, bool shorter, double slope, double *gamma) {
    double last = search->low, last_slope = search->low_slope;
    if (shorter) {
        search->low = *gamma;
        search->low_slope = slope;
    } else {
        search->high = *gamma;
        search->high_slope = slope;
    }
    if (++search->trials >= TRIALS) {
        search->failed = true;
        *gamma = search->low;
        return true;
    }
    *gamma = next_trial(search, last, last_slope, *gamma, slope);
    return false;
}

bool pl_search_judge(pl_search *search, double value, double slope, double *gamma) {
    bool lower = pl_search_below(value, search->value + PL_DECREASE * *gamma * search->slope, search->value);
    if (lower && fabs(slope) <= PL_FLATTEN * fabs(search->slope))
        return true;
    return narrow(search, lower && slope < 0, slope, gamma);
}

bool pl_search_flat(pl_search *search, double flat, double slope, double *gamma) {
    return fabs(slope) <= flat * fabs(search->slope) || narrow(search, slope < 0, slope, gamma);
}

void pl_search_measure(const pl_problem *problem, const pl_slice *slice, double gamma, double *scalars) {
    uint64_t end = slice->end < problem->penalised ? slice->end : problem->penalised;
    for (uint64_t j = slice->begin; j < end; j++) {
        double d = slice->direction[j], x = slice->v[j] + gamma * d;
        double l2 = pl_l2_at(problem, j);
        scalars[PL_OWN_PENALTY] += 0.5 * l2 * x * x;
        scalars[PL_OWN_SLOPE] += l2 * x * d;
    }
}

typedef struct measurement {
    pl_combine *combine;
    const pl_combine_trial *trial;
    const pl_slice *slice;
    double gamma;
} measurement;

static void measure_entries(void *context, uint64_t begin, uint64_t end, double *sums) {
    const measurement *measurement = context;
    pl_slice slice = *measurement->slice;
    slice.begin = begin;
    slice.end = end;
    measurement->trial->measure(measurement->combine, &slice, measurement->gamma, sums);
}

parley_status pl_search_next(pl_combine *combine, const pl_combine_trial *trial, const pl_slice *slice,
                             const double *workers, pl_question *question, parley_error *error) {
    measurement measurement = {combine, trial, slice, question->gamma};
    double owners[PL_OWN_SCALARS];
    parley_status status = pl_slice_sum(slice, measure_entries, &measurement, owners, error);
    if (status == PARLEY_OK)
        question->accepted = trial->judge(combine, workers, owners, &question->gamma);
    return status;
}
