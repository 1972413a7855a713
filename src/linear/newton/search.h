/* search.h: line search. phi(gamma) = P(v + gamma d) is convex, and its value and slope at trial steps cost O(rows)
 * each on stored margins. */
#ifndef PL_SEARCH_H
#define PL_SEARCH_H

#include "method/combine.h"

#define PL_DECREASE 1e-4 /* least part of the decrease that the slope predicts */
#define PL_FLATTEN 0.5   /* most of the first slope that may remain */

typedef struct pl_search {
    double value, slope;     /* phi(0) and phi'(0) < 0 */
    double low, low_slope;   /* the largest step known to be too short, and phi' there */
    double high, high_slope; /* the smallest step known to be too long; infinite if there is none */
    unsigned trials;
    bool failed; /* no step is possible, since differences are below rounding */
} pl_search;

pl_search pl_search_begin(double value, double slope);
/* Judges the value and slope at the trial step *gamma. Returns true to accept it; otherwise *gamma is the next step to
 * try. Accepted steps satisfy the strong Wolfe conditions. */
bool pl_search_judge(pl_search *search, double value, double slope, double *gamma);
/* The same by slopes only, which is enough if phi is convex. Accepts a step at which |phi'| is at most `flat` x
 * |phi'(0)|. */
bool pl_search_flat(pl_search *search, double flat, double slope, double *gamma);

/* What owners sum at a trial step. */
typedef enum pl_measure { PL_OWN_NORM, PL_OWN_PENALTY, PL_OWN_SLOPE } pl_measure;

/* Reads the workers' sums at the trial step that `question` asked for, and accepts it or asks for another one. */
parley_status pl_search_next(pl_combine *combine, const pl_combine_trial *trial, const pl_slice *slice,
                             const double *workers, pl_question *question, parley_error *error);

/* Adds, over the slice, the L2 penalty at v + gamma direction and its derivative by gamma. */
void pl_search_measure(const pl_problem *problem, const pl_slice *slice, double gamma, double *scalars);

/* Whether f <= bound, up to the rounding of sums, where f is about `size`. */
bool pl_search_below(double f, double bound, double size);

#endif
