/* convergence.h: how many rounds a method needs to a gap, by its number of workers m.
 *
 * Each experiment is a curve: the logarithm of the distance from the goal after i rounds, made to never rise. Beyond
 * its last point it goes on as a straight line in i, sqrt i or log i, whichever predicts the last part of the curve
 * best from the part before. Between values of m, the logarithm of the number of rounds to a gap is a function of log
 * m. Its form is the one with the smallest error when each value of m is left out in turn: straight lines between
 * neighbours, a power of m, a parabola, or the sparse regression of convergence_lasso.h. */
#ifndef PL_CONVERGENCE_H
#define PL_CONVERGENCE_H

#include "advise/convergence_lasso.h"

#define PL_MOST_CURVES 24

typedef struct pl_curve {
    double workers;
    const pl_trial *trial;
    unsigned count;
    double *round, *level;  /* increasing and decreasing; level is the logarithm of the distance from the goal */
    double target, reached; /* the goal's level, and the rounds after which the run reached it; NaN: it did not */
    unsigned basis;         /* of the tail: level = a + b basis(round) */
    double a, b;
} pl_curve;

typedef enum pl_form { PL_FORM_LINES, PL_FORM_POWER, PL_FORM_PARABOLA, PL_FORM_LASSO, PL_FORMS } pl_form;
extern const char *const pl_form_name[PL_FORMS];

/* The curves of one preset and one H, by increasing number of workers. */
typedef struct pl_convergence {
    pl_curve curve[PL_MOST_CURVES];
    unsigned count;
    pl_form form;
    double error[PL_FORMS];   /* when leaving out m: root mean square of the logarithm of rounds; NaN if unknown */
    const pl_lasso *lasso;    /* of the preset; NULL: there is none */
    const pl_lasso **without; /* the same without the workers of each curve; NULL: there are none */
} pl_convergence;

/* Makes a curve of a trial, which must outlive it. A trial without two points makes one without points. */
parley_status pl_curve_open(pl_curve *curve, const pl_goal *goal, const pl_trial *trial, parley_error *error);
void pl_curve_close(pl_curve *curve);
/* Rounds to a level on a curve, and beyond its end on the tail; infinite if the tail does not fall. */
double pl_curve_rounds(const pl_curve *curve, double level);
/* The level after so many rounds. */
double pl_curve_level(const pl_curve *curve, double round);
/* Fits the tail to points before `end`. */
void pl_curve_fit_tail(pl_curve *curve, unsigned end);

/* Chooses the form by the error at the level. */
void pl_convergence_choose(pl_convergence *self, double level);
/* Rounds to a level with so many workers; `without` (or PL_MOST_CURVES) is a curve to leave out. */
double pl_convergence_rounds(const pl_convergence *self, double workers, double level, unsigned without);
/* The level after so many rounds; it never rises with them. */
double pl_convergence_level(const pl_convergence *self, double workers, double rounds);
void pl_convergence_close(pl_convergence *self);

#endif
