/* loss.h: the interface of a loss. z is the margin x.w + b, y the target and t a dual variable; at the optimum t =
 * -slope(z). Formulas are in docs/mathematics.md. */
#ifndef PL_LOSS_H
#define PL_LOSS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/entry.h"
#include "base/settings.h"

typedef enum pl_labels { PL_LABELS_BINARY, PL_LABELS_REAL, PL_LABELS_CLASSES } pl_labels;

#define PL_CLASS_ROWS 4

/* A loss of the margins of all classes together. y is the number of the row's class, and t has one entry per class. */
typedef struct pl_class_loss {
    /* Returns the value and writes the slopes. */
    double (*expand)(const double *z, uint64_t classes, uint64_t y, double *slope);
    /* The same for several rows, at most PL_CLASS_ROWS. */
    void (*expand_rows)(const double *z, uint64_t rows, uint64_t classes, const uint16_t *y, double *slope,
                        double *value);
    double (*conjugate)(const double *t, uint64_t classes, uint64_t y);
    /* Moves t as dual_step below does, and returns the residual. */
    double (*dual_step)(const double *z, uint64_t classes, uint64_t y, double h, double *t);
} pl_class_loss;

/* Tolerance for rounding beyond the domain, where scaled steps may end. */
#define PL_ROUNDED (1.0 + 1e-14)

/* All that the rest of the code knows about a loss. It decides by these facts, and never by name. */
typedef struct pl_loss pl_loss;
struct pl_loss {
    const char *name, *help;
    pl_labels labels; /* binary: targets are -1 and +1; classes: see `together` */
    /* exp(z) is the prediction, and the loss is half the deviance of a Tweedie family: the variance is proportional to
     * the `power`-th power of the mean. The best constant predicts the mean label, m, where the mean curvature is
     * m^(2 - power). Labels are 0 or more, and for power 2 above 0. */
    bool log_link;
    double power;               /* 0: it is the parameter */
    bool smooth;                /* has a slope everywhere, and a second derivative almost everywhere */
    bool quadratic;             /* is (z - y)^2 / 2: its curvature is 1, and its best constant is the mean label */
    double curvature_bound;     /* of loss''; infinite if there is none */
    unsigned step_nonzeros;     /* a dual step takes as long as visits to this many non-zeros; 0: it is a formula */
    const char *parameter;      /* the setting of `parameter_value`; NULL if there is none */
    const char *parameter_noun; /* its name in messages */
    double parameter_value;     /* set only in copies of the row */
    /* Value, slope and curvature at z, computed together because they share expensive parts. */
    double (*expand)(const pl_loss *loss, double z, double y, double *slope, double *curvature);
    /* See pl_expand_rows; NULL: row by row. */
    void (*expand_rows)(const double *z, const double *y, uint64_t count, double *value, double *slope,
                        double *curvature);
    double (*conjugate)(const pl_loss *loss, double t, double y); /* loss*(-t); infinite outside its domain */
    /* See pl_loss_conjugates; NULL: row by row. */
    void (*conjugate_rows)(const double *t, const double *y, uint64_t count, double *value);
    /* The t that minimises conjugate(t) + (t - t0) z + h (t - t0)^2 / 2; h > 0. May be inexact, but never infeasible.
     */
    double (*dual_step)(const pl_loss *loss, double z, double y, double t0, double h);
    /* z after following dz/dh = -slope(z) for `h`, which is the limit of many small steps. NULL: z + h dual_step(z, y,
     * 0, h). */
    double (*flow)(double z, double y, double h);
    /* loss(z) + loss*(-t0) + t0 z >= 0, this row's share of the duality gap before the step from t0 to t. May be
     * approximate. */
    double (*residual)(const pl_loss *loss, double z, double y, double t0, double t, double h);
    /* Slopes and curvatures of the minimum over s of loss(s) + (z - s)^2 / (2 mu), the loss smoothed by mu > 0, of
     * `count` rows. Minus the slope is inside the conjugate's domain. For losses of bounded slope. NULL: Newton's
     * method uses the loss itself, if it is smooth. */
    void (*soften)(const pl_loss *loss, double mu, const double *z, const double *y, uint64_t count,
                   double *restrict slope, double *restrict curvature);
    /* How far z can move before t leaves a bound of its domain, or at other t, minus the distance from z to where
     * dual_step would leave t unchanged. NULL: t is never at a bound. */
    double (*depth)(const pl_loss *loss, double z, double y, double t);
    double (*probability)(double z); /* of the upper label; NULL if the loss gives none */
    const pl_class_loss *together;   /* replaces the functions above if the loss depends on all margins of a row */
};

/* `auto` takes the first loss of each kind of labels. Losses of all classes together come last. */
extern const pl_loss *const pl_losses[];
extern const unsigned pl_losses_count;
bool pl_loss_at(unsigned number, pl_entry *entry);    /* for `parley list losses` */
extern const pl_loss pl_loss_logistic, pl_loss_hinge; /* also metrics of models of other losses */

const pl_loss *pl_loss_find(const char *name);    /* or NULL */
const pl_loss *pl_loss_for(pl_labels labels);     /* the loss that `auto` takes */
const pl_loss *pl_loss_of(const char *parameter); /* the first loss that reads this setting, or NULL */
bool pl_loss_reads(const pl_loss *loss, const char *parameter);
/* Whether the setting may influence a model of this loss. Only parameters of other losses do not. */
bool pl_loss_concerned(const pl_loss *loss, const char *setting);
/* The loss with its parameter from the settings. It is a copy in `copy`, because all runs share the table. */
const pl_loss *pl_loss_tuned(const pl_loss *loss, const parley_settings *settings, pl_loss *copy);

bool pl_loss_takes(const pl_loss *loss, double label); /* whether a real label is in its range */
const char *pl_loss_range(const pl_loss *loss);        /* that range in words, for losses with a log link */
/* With a log link: the mean curvature at the best constant, given the mean label. */
double pl_loss_mean_curvature(const pl_loss *loss, double mean);
/* With a log link: the part of the loss that depends on the label only, apart from a multiple of the label. */
double pl_loss_of_label(const pl_loss *loss, double label);
/* The change of b that makes the sum of slopes 0, given the ratio of that sum and the sum of curvatures: exact with a
 * log link, where the sum is A exp((2 - power) b) - B exp((1 - power) b), otherwise Newton's step. */
double pl_loss_centring_step(const pl_loss *loss, double ratio);
bool pl_loss_of_difference(const pl_loss *loss); /* whether it depends on z - y only */
bool pl_loss_bounded(const pl_loss *loss);       /* smooth, and with bounded curvature */
bool pl_loss_gives_probabilities(const pl_loss *loss);
double pl_loss_step_curvature(const pl_loss *loss); /* for steps of a safe rate: the bound, or 1 without one */
double pl_loss_steepest(const pl_loss *loss);       /* the largest absolute slope, far from the label */

/* Value, slope and curvature of `count` rows; `value` may be NULL. */
void pl_expand_rows(const pl_loss *loss, const double *z, const double *y, uint64_t count, double *value, double *slope,
                    double *curvature);
/* loss*(-t) of `count` rows. */
void pl_loss_conjugates(const pl_loss *loss, const double *t, const double *y, uint64_t count, double *value);

/* The target of a row with this label; `high` is the upper of two labels. */
static inline double pl_loss_target(const pl_loss *loss, double label, double high) {
    return loss->labels == PL_LABELS_REAL ? label : label == high ? 1.0 : -1.0;
}

/* loss*(-t) at t = -slope, given value and slope at z. A smooth loss needs no logarithm. With kinks this would lose
 * digits, and the conjugate is cheap. */
static inline double pl_loss_conjugate_at(const pl_loss *loss, double z, double y, double value, double slope) {
    return loss->smooth ? slope * z - value : loss->conjugate(loss, -slope, y);
}

#endif
