/* glm.h: the generalised linear model as an optimisation problem: its objective, its dual, and the passes over rows
 * that all methods need.
 *
 *   P(w,b) = sum_i q_i loss(x_i.w + b, y_i) + l1 |w|_1 + l2/2 |w|_2^2          q_i = s_i / sum s
 *   D(t)   = - sum_i q_i loss*(-t_i) - r*(u),  u = sum_i q_i t_i x_i,  r*(u) = sum_j (|u_j| - l1)+^2 / (2 l2)
 *            and sum_i q_i t_i = 0 if the intercept is free
 *
 * A model is a table of `size` entries, stored by rows. It has one row per column of the data and, unless there is no
 * intercept, a last row for the intercept. Each row has one entry per class (one entry unless there are several
 * classes). */
#ifndef PL_GLM_H
#define PL_GLM_H

#include <math.h>

#include "data/data.h"
#include "linear/linear_settings.h"
#include "linear/loss/loss.h"
#include "linear/rows/centred.h"
#include "linear/rows/exclusive_columns.h"
#include "linear/rows/whole_table.h"
#include "math/arrow_matrix.h"
#include "math/sparse.h"
#include "math/table.h"
#include "method/problem.h"
#include "shard/column_moments.h"
#include "shard/label_kinds.h"
#include "shard/row_sums.h"

typedef struct pl_glm {
    pl_problem base; /* the problem as the loop sees it: rows, sizes, penalty */
    const pl_loss *loss;
    pl_loss *own_loss; /* a copy of the loss with its parameter; NULL if it has none */
    double lambda, l1_ratio;
    double c, alpha; /* other forms of lambda; NaN if not given */
    pl_intercept intercept;
    bool standardise;                   /* columns are penalised as if their variance were 1 */
    bool scale_indicators;              /* those of values 0 and 1 too */
    bool non_negative;                  /* the coefficients of columns must not be negative */
    double least_factor, most_factor;   /* over penalised entries */
    uint64_t classes;                   /* entries per row of the model */
    double mean_norm2;                  /* sum_i q_i |x_i|^2 */
    unsigned workers;                   /* number of workers that share the rows */
    double mu;                          /* penalty of the free intercept's sub-problem; docs/mathematics.md */
    double upper;                       /* binary losses: share of the upper label */
    double mean_label, label_deviation; /* weighted */
    double low, high;                   /* binary losses: the labels of -1 and +1 */
    double *norm2;                      /* |x_i|^2, of the scaled row */
    double *scale;                      /* by column, the factor 1 / sd of its values; NULL if nothing is scaled */
    double *scaled;                     /* with `scale`, a buffer for a scaled model */
    /* The following are for several classes; see classes.h. */
    double *labels;     /* labels of the classes, increasing */
    uint16_t *class_of; /* by row */
    /* Rows with any number of labels: class_of is the row's set, and member[set * classes + c] says whether it has c.
     * NULL: each row has one class. */
    uint8_t *member;
    double *frequency;        /* share of the weights of each class */
    struct pl_repair *repair; /* of the dual point of the latest evaluation */
    parley_data own;          /* the data, if they have class weights or centred columns */
    double *class_weight;     /* the weights of its rows */
    pl_centred centred;
    pl_whole_table table;   /* data that are a table */
    pl_exclusive apart;     /* columns that no row has two of */
    uint64_t offset_column; /* the column whose coefficient is known to be 1; PL_NO_OFFSET: none */
    double *offset;         /* its values by row, which are added to margins where the loss sees them; NULL: none */
    double *rest;           /* labels less the offsets, for losses of which that is all that they need; NULL: none */
} pl_glm;

/* labels.c: determines the loss, the classes and their labels, alike on all ranks. */
parley_status pl_glm_read_labels(pl_glm *glm, pl_engine *engine, const parley_settings *settings, parley_error *error);
/* The label that --positive names: a class name if the data have names, otherwise a number. */
parley_status pl_positive_label(const parley_data *data, const char *word, double *label, parley_error *error);

/* Replaces the rows by the same rows in another order. */
parley_status pl_glm_move(pl_glm *glm, const parley_data *data, parley_error *error);

/* Fills in everything that follows from the labels, alike on all ranks. */
parley_status pl_glm_open(pl_glm *glm, pl_engine *engine, const parley_data *data, const parley_settings *settings,
                          parley_error *error);
/* Fills in everything that needs a pass over the distributed rows: norms, weights, and lambda if it is auto. */
parley_status pl_glm_measure(pl_glm *glm, const pl_team *team, parley_error *error);
/* Changes the strength of the penalty. */
parley_status pl_glm_penalise(pl_glm *glm, double lambda, parley_error *error);
void pl_glm_close(pl_glm *glm);

/* class_weights.c: computes the weight of every row, which is its own weight times that of its label. `words` is
 * "balanced" or "LABEL=W,LABEL=W". Labels that are not listed have weight 1. */
parley_status pl_class_weights(pl_engine *engine, const parley_data *data, const char *words, double **out,
                               parley_error *error);

/* penalty_factors.c: finds a column by its name, or by its number as messages have it. */
bool pl_find_column(const parley_data *data, const char *word, uint64_t bytes, uint64_t *column);
/* Reads `factor` from the words of --penalty-factors. */
parley_status pl_penalty_factors(pl_glm *glm, const char *words, parley_error *error);

static inline double pl_factor(const pl_glm *glm, uint64_t j) { return glm->base.factor ? glm->base.factor[j] : 1.0; }

/* How far u_j pulls w_j away from 0. */
static inline double pl_pull(const pl_glm *glm, uint64_t j, double u) {
    return glm->non_negative && j < glm->base.data->x.columns * glm->classes ? (u > 0 ? u : 0.0) : fabs(u);
}

/* A factor between the scales of columns that makes dual ascent and L-BFGS slow. */
#define PL_UNEVEN 300.0

static inline double pl_target(const pl_glm *glm, uint64_t row) {
    return pl_loss_target(glm->loss, glm->base.data->label[row], glm->high);
}

/* What is added to the margin of a row before the loss sees it (offset.c). */
static inline double pl_offset(const pl_glm *glm, uint64_t row) { return glm->offset ? glm->offset[row] : 0.0; }

static inline double pl_share(const pl_glm *glm, uint64_t row) {
    return (glm->base.data->weight ? glm->base.data->weight[row] : 1.0) / glm->base.total;
}

/* How far from 0, or from the best constant if there is a free intercept, good margins are. */
static inline double pl_label_spread(const pl_glm *glm) {
    return glm->loss->labels == PL_LABELS_BINARY
               ? 2.0 /* so that rows at margin 0 are inside the smoothed part of a hinge */
               : glm->label_deviation + fabs(glm->intercept == PL_FREE ? 0.0 : glm->mean_label);
}

/* The number of blocks of entries between which the loss has no curvature: the classes of one against the rest. Entry j
 * is in block j mod blocks. */
static inline uint64_t pl_curvature_blocks(const pl_glm *glm) { return glm->loss->together ? 1 : glm->classes; }

/* The shape of a block of the curvature. Its groups are the rows of the model's table at their places
 * (exclusive_columns.h). */
static inline pl_arrow pl_curvature_shape(const pl_glm *glm) {
    uint64_t rows = glm->base.size / glm->classes, group = glm->loss->together ? glm->classes : 1;
    return (pl_arrow){(rows - glm->apart.count) * group, glm->apart.count, group};
}

/* The columns of an update that has the gradient and the curvature, whose blocks lie one behind the other. */
static inline uint64_t pl_curvature_width(const pl_glm *glm) {
    pl_arrow shape = pl_curvature_shape(glm);
    uint64_t size = glm->base.size > 0 ? glm->base.size : 1;
    return 1 + (pl_curvature_blocks(glm) * pl_arrow_values(&shape) + size - 1) / size;
}

/* The entry of the model's table that is at a place of a block. */
static inline uint64_t pl_curvature_entry(const pl_glm *glm, uint64_t block, uint64_t place) {
    uint64_t group = glm->loss->together ? glm->classes : 1, blocks = pl_curvature_blocks(glm);
    return (pl_exclusive_column(&glm->apart, place / group) * group + place % group) * blocks + block;
}

/* Whether entry j is penalised. Only free intercepts are not. */
static inline bool pl_penalised(const pl_glm *glm, uint64_t j) {
    return j < glm->base.data->x.columns * glm->classes || glm->intercept == PL_PENALISED;
}

/* Whether an evaluation moves the free intercept to its optimum. For losses with kinks this would take many passes; see
 * pl_centre. */
static inline bool pl_centres(const pl_glm *glm) { return glm->intercept == PL_FREE && glm->loss->smooth; }

/* x_i . w without the intercept, and w += a x_i, on unscaled columns. Passes that scale w before, or the sum
 * afterwards, use these. */
static inline double pl_plain_dot(const pl_glm *glm, uint64_t row, const double *w) {
    const pl_matrix *x = &glm->base.data->x;
    uint64_t begin = x->start[row];
    return pl_sparse_dot(x->index + begin, pl_values_from(x->values, begin), x->start[row + 1] - begin, w);
}

static inline void pl_plain_add(const pl_glm *glm, uint64_t row, double a, double *w) {
    const pl_matrix *x = &glm->base.data->x;
    uint64_t begin = x->start[row];
    pl_sparse_add(x->index + begin, pl_values_from(x->values, begin), x->start[row + 1] - begin, a, w);
}

/* w += a x_i^2, entry by entry, on unscaled columns. */
static inline void pl_plain_add_squares(const pl_glm *glm, uint64_t row, double a, double *w) {
    const pl_matrix *x = &glm->base.data->x;
    uint64_t begin = x->start[row];
    pl_sparse_add_squares(x->index + begin, pl_values_from(x->values, begin), x->start[row + 1] - begin, a, w);
}

/* The same on scaled columns, if there is a scale. Steps on single rows use these. */
static inline double pl_row_dot(const pl_glm *glm, uint64_t row, const double *w) {
    const pl_matrix *x = &glm->base.data->x;
    uint64_t begin = x->start[row];
    if (!glm->scale)
        return pl_plain_dot(glm, row, w);
    return pl_sparse_dot_scaled(x->index + begin, pl_values_from(x->values, begin), x->start[row + 1] - begin, w,
                                glm->scale, 0.0);
}

static inline void pl_row_add(const pl_glm *glm, uint64_t row, double a, double *w) {
    const pl_matrix *x = &glm->base.data->x;
    uint64_t begin = x->start[row];
    if (!glm->scale)
        pl_plain_add(glm, row, a, w);
    else
        pl_sparse_add_scaled(x->index + begin, pl_values_from(x->values, begin), x->start[row + 1] - begin, a, w,
                             glm->scale);
}

/* What was subtracted from the values of column j. */
static inline double pl_column_shift(const pl_glm *glm, uint64_t j) {
    return (glm->centred.shift ? glm->centred.shift[j] : 0.0) + (glm->table.shift ? glm->table.shift[j] : 0.0);
}

/* The factor of column j, which is 1 for an intercept. Solvers by columns use it. */
static inline double pl_column_scale(const pl_glm *glm, uint64_t j) {
    return glm->scale && j < glm->base.data->x.columns ? glm->scale[j] : 1.0;
}

/* Multiplies the rows of a model or a gradient by the columns' scales, if there are any. */
void pl_scale_columns(const pl_glm *glm, double *w);
/* w, or a scaled copy of it if there is a scale, for passes over unscaled columns: scaling each column once is cheaper
 * than scaling each entry. The copy is overwritten by the next call. */
const double *pl_scaled(const pl_glm *glm, const double *w);
/* The same for both sides of the lower triangle of a curvature, or of one for each class. */
void pl_scale_curvature(const pl_glm *glm, double *curvature);
/* The inverse: turns a model on the original columns into one on scaled columns. */
void pl_unscale_columns(const pl_glm *glm, double *w);
/* standardise.c: fills in `scale`. */
parley_status pl_standardise(pl_glm *glm, const pl_team *team, parley_error *error);
/* The mean square of every column, by weight of rows, on unscaled columns. */
parley_status pl_column_squares(const pl_glm *glm, const pl_team *team, double *squares, parley_error *error);
/* out = sum_i a_i x_i over the rows of all ranks, on scaled columns, and sum_i a_i for an intercept. */
parley_status pl_weighted_rows(const pl_glm *glm, const pl_team *team, const double *a, double *out,
                               parley_error *error);

/* The same for several classes: z_c = x_i . w_c, and w_c += a_c x_i, on unscaled and on scaled columns. */
static inline void pl_plain_dots(const pl_glm *glm, uint64_t row, const double *w, double *z) {
    const pl_matrix *x = &glm->base.data->x;
    uint64_t begin = x->start[row];
    pl_table_dot(x->index + begin, pl_values_from(x->values, begin), x->start[row + 1] - begin, NULL, w, glm->classes,
                 z);
}

static inline void pl_plain_adds(const pl_glm *glm, uint64_t row, const double *a, double *w) {
    const pl_matrix *x = &glm->base.data->x;
    uint64_t begin = x->start[row];
    pl_table_add(x->index + begin, pl_values_from(x->values, begin), x->start[row + 1] - begin, NULL, a, glm->classes,
                 w);
}

/* The same for rows [begin, end), one entry per class and row in z and a. */
void pl_plain_dots_of(const pl_glm *glm, uint64_t begin, uint64_t end, const double *w, double *z);
void pl_plain_adds_of(const pl_glm *glm, uint64_t begin, uint64_t end, const double *a, double *w);

/* w_c += a_c x_i^2, entry by entry, on unscaled columns. */
static inline void pl_plain_adds_squares(const pl_glm *glm, uint64_t row, const double *a, double *w) {
    const pl_matrix *x = &glm->base.data->x;
    uint64_t begin = x->start[row];
    pl_table_add_squares(x->index + begin, pl_values_from(x->values, begin), x->start[row + 1] - begin, a, glm->classes,
                         w);
}

static inline void pl_row_dots(const pl_glm *glm, uint64_t row, const double *w, double *z) {
    const pl_matrix *x = &glm->base.data->x;
    uint64_t begin = x->start[row];
    pl_table_dot(x->index + begin, pl_values_from(x->values, begin), x->start[row + 1] - begin, glm->scale, w,
                 glm->classes, z);
}

/* l1 |w|_1 + l2/2 |w|^2, and r*(scale u), over entries [begin, end). */
double pl_penalty(const pl_glm *glm, const double *w, uint64_t begin, uint64_t end);
double pl_penalty_conjugate(const pl_glm *glm, const double *u, double scale, uint64_t begin, uint64_t end);
/* max pull / factor of scale u over penalised j */
double pl_largest(const pl_glm *glm, const double *u, double scale, uint64_t begin, uint64_t end);

/* Scalars of updates for the combine `add`. */
enum {
    PL_SUM_SPREAD, /* |change - momentum x last change|^2, in the metric of the sub-problem */
    PL_SUM_CHANGE, /* |change|^2 */
    PL_SUM_TURN    /* change . last change */
};

/* The metric of sub-problems by entry: 1 / l2. For an intercept it includes the proximal term mu. */
static inline double pl_metric(const pl_glm *glm, uint64_t j) {
    return 1.0 / (j < glm->base.data->x.columns * glm->classes ? glm->base.l2
                  : glm->intercept == PL_PENALISED             ? glm->base.l2 + glm->mu
                                                               : glm->mu);
}

/* Computes P at w = 0 with the best intercept, which is the scale of relative gaps. */
parley_status pl_null_objective(const pl_glm *glm, const pl_team *team, double *objective, double *b,
                                parley_error *error);
/* Returns a rate for gradient steps that is stable on most data. If the curvature has no bound, it uses the curvature
 * at the best constant. */
double pl_safe_rate(const pl_glm *glm);
/* Returns the b that minimises share x loss(b, 1) + (1 - share) x loss(b, -1). */
double pl_best_constant(const pl_loss *loss, double share);
/* Returns the linear model behind a problem, or NULL if it is a problem of another type. */
static inline pl_glm *pl_glm_of(const pl_problem *problem) {
    return problem->type == &pl_problem_linear ? (pl_glm *)problem : NULL;
}

/* offset.c: finds the column that --offset-column names. */
#define PL_NO_OFFSET UINT64_MAX
parley_status pl_offset_open(pl_glm *glm, const char *word, parley_error *error);
/* Hides the column from the solvers, and makes room for the offsets of the rows, which pl_offset_take fills in. */
parley_status pl_offset_measure(pl_glm *glm, parley_error *error);
void pl_offset_take(const pl_glm *glm, uint64_t row);
void pl_offset_close(pl_glm *glm);

/* linear.c: the facts in summaries of a linear model. */
void pl_linear_facts(const char *loss, double lambda, double l1_ratio, pl_intercept intercept, pl_description *out);

/* inference.c: checks whether standard errors are known for this problem, and adds them to a model of it. */
parley_status pl_linear_can_infer(const pl_problem *problem, parley_error *error);
/* Fails because there are no standard errors with such an option. */
parley_status pl_linear_refuse_inference(const char *option, parley_error *error);
parley_status pl_linear_infer(const pl_problem *problem, const pl_team *team, const double *w, parley_model *model,
                              parley_error *error);

/* linear_rules.c: rules that follow from the settings and the shape of the data. */
extern const pl_problem_rules pl_linear_rules;
/* PL_FACT_*. A loss that is not known yet (NULL) counts as favourable, and a lambda of NaN is auto, which is positive.
 */
unsigned pl_glm_facts(const pl_loss *loss, double lambda, double l1_ratio, bool several);
/* Likewise, with what the problem says about its columns. */
unsigned pl_glm_all_facts(const pl_glm *glm);

/* auto.c: what `auto` decides about a linear model. */
enum {
    PL_AUTO_PRESET,
    PL_AUTO_MATRIX,
    PL_AUTO_COMBINE,
    PL_AUTO_LOCAL,
    PL_AUTO_COVARIANCE,
    PL_AUTO_PRECONDITIONER,
};
extern const pl_decision pl_linear_decisions[];
/* Describes the problem as the settings ask for it. Either may be NULL: the problem until data are known, and the
 * settings where the problem is taken as it is. */
void pl_linear_shape(const pl_problem *problem, const parley_settings *settings, double *shape);
/* Whether a decision, PL_AUTO_*, takes what `take` names. */
bool pl_linear_takes(unsigned decision, const char *take, const pl_problem *problem, const parley_settings *settings);
/* Whether the method reads a table as it is. */
bool pl_takes_table(const pl_glm *glm, const parley_settings *settings);
bool pl_is_uneven(const pl_glm *glm); /* whether columns differ by more than PL_UNEVEN and are not standardised */
bool pl_is_filled(const pl_glm *glm); /* whether at least a tenth of the matrix is not 0 */

/* linear_bound.c: computes P at a model, and D at a dual point. */
parley_status pl_linear_bound(const pl_problem *problem, const pl_point_seen *point, pl_bound *out,
                              parley_error *error);

/* Computes z_i = x_i.w without the intercept, one entry per class. This and the following are passes over the rows of
 * the team, with one task per lane of each worker. */
void pl_margins(const pl_glm *glm, const pl_team *team, const double *w, double *z);
/* Moves b to the minimum of sum_i q_i loss(z_i + b) over all ranks, until the slope is at most `tolerance` times the
 * sum of the rows' absolute slopes. `z` NULL means that all margins are 0. For a loss without curvature it bisects,
 * which takes many more passes. */
parley_status pl_centre(const pl_glm *glm, const pl_team *team, const double *z, double tolerance, double *b,
                        parley_error *error);

/* How a loss is smoothed: with (mu / 2) (t - centre)^2 added to its conjugate. */
typedef struct pl_softening {
    double mu;            /* 0: the loss itself */
    const double *centre; /* by row; NULL: 0 */
} pl_softening;

/* Slopes and curvatures of the smoothed loss of rows from `begin` on, at most PL_ROW_CHUNK. */
void pl_soften(const pl_loss *loss, const pl_softening *how, uint64_t begin, uint64_t count, const double *z,
               const double *y, double *slope, double *curvature);

/* The same for the smoothed loss. */
parley_status pl_centre_soft(const pl_glm *glm, const pl_team *team, const double *z, const pl_softening *how,
                             double tolerance, double *b, parley_error *error);

/* An evaluation of a linear model, for its dual bound. The dual point is t. If the intercept is free, the heavier of
 * its two sides is shrunk by `tilt` so that sum q t = 0. */
typedef struct pl_linear_evaluation {
    double value;     /* sum q loss */
    double b;         /* the intercept */
    double conjugate; /* sum q loss*(-t) with t repaired, or an upper bound of it */
    unsigned heavy;   /* the heavier side: 0 for t < 0, 1 for t > 0 */
    double tilt;      /* in [0, 1]; 0 means no repair */
    double pull;      /* sum q t z over the heavier side */
    double reach;     /* sum q |t| |x| over the heavier side, which bounds the norm of its u */
    bool softened;    /* t and the gradient are those of the smoothed loss */
    bool penalised;   /* the next two are filled in, by solvers whose model has another layout than v */
    double penalty, penalty_conjugate;
    /* Of solvers that give gradients: repeats the evaluation at the dual point scale x t, for L1 penalties. */
    parley_status (*rescale)(void *solver, double scale, struct pl_linear_evaluation *at, parley_error *error);
    void *solver;
} pl_linear_evaluation;

/* The evaluation as the loop sees it, as long as `at` lives. */
static inline pl_evaluation pl_evaluation_of(const pl_linear_evaluation *at) {
    return (pl_evaluation){.value = at->value, .own = at};
}

/* The raw sums of an evaluation: for each side of t, q |t|, q t z, q |t| |x| and q loss*(-t); last q loss. */
#define PL_SIDE_SUMS 4
void pl_add_sides(const pl_glm *glm, uint64_t row, double t, double z, double loss, double conjugate, double *sums);
void pl_evaluation_fill(const pl_glm *glm, const double *sums, double b, pl_linear_evaluation *out);
/* Evaluates the dual point t at margins z + b. */
parley_status pl_evaluate_rows(const pl_glm *glm, const pl_team *team, const double *z, double b, const double *t,
                               pl_linear_evaluation *out, parley_error *error);
/* rescale_hinge.c: moves w, whose margins z were evaluated in `out`, to a better multiple of it, for losses of two
 * labels that have a kink. The dual point stays. */
parley_status pl_rescale_hinge(const pl_glm *glm, const pl_team *team, const double *z, double *w,
                               pl_linear_evaluation *out, parley_error *error);
/* Computes sum q loss*(-scale t), repaired as in `at`, into at->conjugate. `t` NULL means minus the slopes at z +
 * at->b, of the smoothed loss. */
parley_status pl_conjugate_rows(const pl_glm *glm, const pl_team *team, const double *z, const double *t,
                                const pl_softening *soft, double scale, pl_linear_evaluation *at, parley_error *error);

#endif
