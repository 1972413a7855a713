/* loss.h: what a loss is. z is the margin x.w + b, y the target, t a dual variable; at the optimum t = -slope(z).
 * Formulas: docs/mathematics.md. */
#ifndef PL_LOSS_H
#define PL_LOSS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/settings.h"

typedef enum pl_labels { PL_LABELS_BINARY, PL_LABELS_REAL, PL_LABELS_CLASSES } pl_labels;

/* A loss of all classes' margins together; y is the number of the row's class, and t has an entry for each. */
typedef struct pl_class_loss {
    double (*expand)(const double *z, uint64_t classes, uint64_t y, double *slope); /* value; and slopes */
    double (*conjugate)(const double *t, uint64_t classes, uint64_t y);
    /* Moves t as dual_step below does; returns the residual. */
    double (*dual_step)(const double *z, uint64_t classes, uint64_t y, double h, double *t);
} pl_class_loss;

/* Beyond its domain by rounding only: scaled steps may end there. */
#define PL_ROUNDED (1.0 + 1e-14)

/* What the rest of the code knows of a loss. It decides by these facts, and never by which loss it is. */
typedef struct pl_loss pl_loss;
struct pl_loss {
    const char *name, *help;
    pl_labels labels; /* binary: targets are -1 and +1; classes: see `together` */
    /* Labels are 0 or more, exp(z) is the prediction, and the best constant predicts the mean label, which is also the
     * mean curvature there. Twice the mean loss is the deviance. */
    bool counts;
    bool smooth;            /* has a slope everywhere, and a curvature almost everywhere */
    bool quadratic;         /* is (z - y)^2 / 2: its curvature is 1 everywhere, and its best constant the mean label */
    double curvature_bound; /* of loss''; infinite where there is none */
    const char *parameter;  /* the setting that gives `parameter_value`; NULL: there is none */
    const char *parameter_noun; /* what messages call it */
    double parameter_value;     /* set in copies of the table's row only */
    /* Value, slope and curvature at z: together, because they share what is costly. */
    double (*expand)(const pl_loss *loss, double z, double y, double *slope, double *curvature);
    /* See pl_expand_rows; NULL: one by one. */
    void (*expand_rows)(const double *z, const double *y, uint64_t count, double *value, double *slope,
                        double *curvature);
    double (*conjugate)(const pl_loss *loss, double t, double y); /* loss*(-t); infinite outside its domain */
    /* The t that minimises conjugate(t) + (t - t0) z + h (t - t0)^2 / 2; h > 0. May be inexact, never infeasible. */
    double (*dual_step)(const pl_loss *loss, double z, double y, double t0, double h);
    /* Where z is after `h` of dz/dh = -slope(z): what many small steps come to. NULL: z + h dual_step(z, y, 0, h). */
    double (*flow)(double z, double y, double h);
    /* loss(z) + loss*(-t0) + t0 z >= 0, this row's share of the duality gap before the step from t0 to t; may be
     * approximate. */
    double (*residual)(const pl_loss *loss, double z, double y, double t0, double t, double h);
    /* Slope and curvature of the least of loss(s) + (z - s)^2 / (2 mu) over s, the loss made smooth by mu > 0: minus
     * the slope is inside the conjugate's domain. For real labels and losses of bounded slope; NULL: Newton's method
     * takes the loss as it is, if it is smooth. */
    void (*soften)(const pl_loss *loss, double z, double y, double mu, double *slope, double *curvature);
    bool rests;                      /* dual_step often leaves t where it is, at a bound of its domain */
    double (*probability)(double z); /* of the upper label, NULL where the loss gives none */
    const pl_class_loss *together;   /* in place of the functions above, where margins cannot be taken one by one */
};

/* Of each kind of labels the first is what `auto` takes; those of all classes together are last. */
extern const pl_loss *const pl_losses[];
extern const unsigned pl_losses_count;
extern const pl_loss pl_loss_logistic, pl_loss_hinge; /* metrics of models of other losses, too */

const pl_loss *pl_loss_find(const char *name);    /* or NULL */
const pl_loss *pl_loss_for(pl_labels labels);     /* what `auto` takes */
const pl_loss *pl_loss_of(const char *parameter); /* the first loss that reads this setting, or NULL */
bool pl_loss_reads(const pl_loss *loss, const char *parameter);
/* May the setting decide a model of this loss? All may but the parameters of other losses. */
bool pl_loss_concerned(const pl_loss *loss, const char *setting);
/* The loss with its parameter as the settings have it: in `copy`, because the table is for all runs. */
const pl_loss *pl_loss_tuned(const pl_loss *loss, const parley_settings *settings, pl_loss *copy);

bool pl_loss_takes(const pl_loss *loss, double label); /* Is the label in its range? For real labels. */
bool pl_loss_bounded(const pl_loss *loss);             /* smooth, and with a bound of its curvature */
/* Does it have a curvature, or can be given one? `dual`: there is a dual, which tells when softening is over. */
bool pl_loss_curves(const pl_loss *loss, bool dual);
bool pl_loss_gives_probabilities(const pl_loss *loss);
double pl_loss_step_curvature(const pl_loss *loss); /* that steps of a safe rate expect: the bound, or 1 without one */
double pl_loss_steepest(const pl_loss *loss);       /* real labels: the largest absolute slope, far from the label */

/* Value, slope and curvature of `count` rows; `value` NULL: not asked for. */
void pl_expand_rows(const pl_loss *loss, const double *z, const double *y, uint64_t count, double *value, double *slope,
                    double *curvature);

/* The target of a row of this label; `high` is the upper of two labels. */
static inline double pl_loss_target(const pl_loss *loss, double label, double high) {
    return loss->labels == PL_LABELS_REAL ? label : label == high ? 1.0 : -1.0;
}

/* loss*(-t) at t = -slope, where z has this value and slope. A smooth loss needs no logarithm; one with kinks would
 * lose digits, and its conjugate is cheap. */
static inline double pl_loss_conjugate_at(const pl_loss *loss, double z, double y, double value, double slope) {
    return loss->smooth ? slope * z - value : loss->conjugate(loss, -slope, y);
}

#endif
