/* search.h: steps along a line. phi(gamma) = P(v + gamma d) is convex, and known by its value and slope at trial steps,
 * which cost O(rows) each on cached margins. */
#ifndef PL_SEARCH_H
#define PL_SEARCH_H

#include "combine/combine.h"

#define PL_DECREASE 1e-4 /* of what the slope promises, at least */
#define PL_FLATTEN 0.5   /* of the first slope, at most, is left */

typedef struct pl_search {
    double value, slope;     /* phi(0) and phi'(0) < 0 */
    double low, low_slope;   /* the largest step known to be too short, and phi' there */
    double high, high_slope; /* the least known to be too long; infinite: none */
    unsigned trials;
    bool failed; /* no step would do: it is below rounding */
} pl_search;

pl_search pl_search_begin(double value, double slope);
/* The trial step *gamma has this value and slope: true accepts it, else *gamma is the next to try. Accepted steps
 * satisfy the strong Wolfe conditions. */
bool pl_search_judge(pl_search *search, double value, double slope, double *gamma);
/* The same on slopes alone, which will do where phi is convex: accepts a step at which |phi'| is at most `flat` x
 * |phi'(0)|. */
bool pl_search_flat(pl_search *search, double flat, double slope, double *gamma);

/* Adds, over the slice, the L2 penalty at v + gamma direction and its derivative by gamma. */
void pl_search_measure(const pl_problem *problem, const pl_slice *slice, double gamma, double *scalars);

/* f <= bound, as far as sums of rounded terms can tell where f is about `size`. */
bool pl_search_below(double f, double bound, double size);

#endif
