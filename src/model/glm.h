/* glm.h: the generalised linear model as an optimisation problem: its objective, its dual, and the passes over rows
 * that every method needs.
 *
 *   P(w,b) = sum_i q_i loss(x_i.w + b, y_i) + l1 |w|_1 + l2/2 |w|_2^2          q_i = s_i / sum s
 *   D(t)   = - sum_i q_i loss*(-t_i) - r*(u),  u = sum_i q_i t_i x_i,  r*(u) = sum_j (|u_j| - l1)+^2 / (2 l2)
 *            and sum_i q_i t_i = 0 if the intercept is free
 *
 * A model is a table by rows, of `size` entries: a row per column, then, unless there is no intercept, one for the
 * intercept; in each row an entry per class (one, but for several classes). */
#ifndef PL_GLM_H
#define PL_GLM_H

#include "data/data.h"
#include "loss/loss.h"
#include "math/sparse.h"
#include "math/table.h"
#include "model/problem.h"
#include "shard/row_sums.h"

typedef struct pl_glm {
    pl_problem base; /* the problem as the loop sees it; pl_glm_publish fills it in */
    const parley_data *data;
    const pl_loss *loss;
    pl_loss *own_loss; /* the copy that has its parameter; NULL where it has none */
    double lambda, l1_ratio, l1, l2;
    double c, alpha; /* other ways to say lambda; NaN: not given */
    pl_intercept intercept;
    bool standardise;                   /* columns count as if their variance were 1 */
    uint64_t classes;                   /* entries in a row of the model */
    uint64_t size;                      /* of a model: rows x classes */
    double total;                       /* sum of weights */
    double mean_norm2;                  /* sum_i q_i |x_i|^2 */
    unsigned workers;                   /* that share the rows */
    double mu;                          /* penalty of the free intercept's sub-problem; docs/mathematics.md */
    double upper;                       /* binary losses: share of the upper label */
    double mean_label, label_deviation; /* weighted */
    double low, high;                   /* binary losses: the labels of -1 and +1 */
    double *norm2;                      /* |x_i|^2, of the scaled row */
    double *scale;  /* by column: what its values are multiplied by, 1 / sd; NULL: nothing is scaled */
    double *scaled; /* with `scale`, room for a model that is */
    /* More classes than one; see classes.h. */
    double *labels;           /* of the classes, rising */
    uint16_t *class_of;       /* by row */
    double *frequency;        /* of each class: its share of the weights */
    struct pl_repair *repair; /* of the latest evaluation's dual point */
    parley_data weighted;     /* the data with class weights, where there are any, */
    double *class_weight;     /* and the weights of the rows then */
} pl_glm;

/* Fills in what the labels decide: loss, classes and their labels, alike on all ranks (labels.c). */
parley_status pl_glm_read_labels(pl_glm *glm, pl_engine *engine, const char *loss, parley_error *error);

/* The rows are these now, in another order; the problem stays. */
parley_status pl_glm_move(pl_glm *glm, const parley_data *data, parley_error *error);

/* Fills in what the labels decide, alike on all ranks. */
parley_status pl_glm_open(pl_glm *glm, pl_engine *engine, const parley_data *data, const parley_settings *settings,
                          parley_error *error);
/* Fills in what the rows decide, when they have been dealt: norms, weights, and lambda where it was left to `auto`. */
parley_status pl_glm_measure(pl_glm *glm, const pl_team *team, parley_error *error);
/* Another strength of the penalty. */
parley_status pl_glm_penalise(pl_glm *glm, double lambda, parley_error *error);
void pl_glm_close(pl_glm *glm);

/* The distinct labels of all ranks, rising, and how many they are; PL_LABEL_KINDS + 1: more than that. */
#define PL_LABEL_KINDS 64
parley_status pl_label_kinds(pl_engine *engine, const parley_data *data, double *kinds, unsigned *count,
                             parley_error *error);
/* class_weights.c: what every row weighs: its own weight times that of its label. `words` is "balanced" or
 * "LABEL=W,LABEL=W"; labels that are not named weigh 1. */
parley_status pl_class_weights(pl_engine *engine, const parley_data *data, const char *words, double **out,
                               parley_error *error);

static inline double pl_target(const pl_glm *glm, uint64_t row) {
    return pl_loss_target(glm->loss, glm->data->label[row], glm->high);
}

static inline double pl_share(const pl_glm *glm, uint64_t row) {
    return (glm->data->weight ? glm->data->weight[row] : 1.0) / glm->total;
}

/* Is entry j penalised? All are but a free intercept. */
static inline bool pl_penalised(const pl_glm *glm, uint64_t j) {
    return j < glm->data->x.columns * glm->classes || glm->intercept == PL_PENALISED;
}

/* Does an evaluation move the free intercept to its best value? With kinks it would take many passes: pl_centre. */
static inline bool pl_centres(const pl_glm *glm) { return glm->intercept == PL_FREE && glm->loss->smooth; }

/* x_i . w, intercept left out, and w += a x_i, with columns as they are. Passes that scale w before, or the sum
 * afterwards, use these. */
static inline double pl_plain_dot(const pl_glm *glm, uint64_t row, const double *w) {
    const pl_matrix *x = &glm->data->x;
    uint64_t begin = x->start[row];
    return pl_sparse_dot(x->index + begin, x->value ? x->value + begin : NULL, x->start[row + 1] - begin, w);
}

static inline void pl_plain_add(const pl_glm *glm, uint64_t row, double a, double *w) {
    const pl_matrix *x = &glm->data->x;
    uint64_t begin = x->start[row];
    pl_sparse_add(x->index + begin, x->value ? x->value + begin : NULL, x->start[row + 1] - begin, a, w);
}

/* w += a x_i^2, entry by entry, with columns as they are. */
static inline void pl_plain_add_squares(const pl_glm *glm, uint64_t row, double a, double *w) {
    const pl_matrix *x = &glm->data->x;
    for (uint64_t e = x->start[row]; e < x->start[row + 1]; e++) {
        double value = x->value ? (double)x->value[e] : 1.0;
        w[x->index[e]] += a * value * value;
    }
}

/* The same with columns scaled, where they are: what steps on single rows use. */
static inline double pl_row_dot(const pl_glm *glm, uint64_t row, const double *w) {
    const pl_matrix *x = &glm->data->x;
    uint64_t begin = x->start[row];
    if (!glm->scale)
        return pl_plain_dot(glm, row, w);
    return pl_sparse_dot_scaled(x->index + begin, x->value ? x->value + begin : NULL, x->start[row + 1] - begin, w,
                                glm->scale, 0.0);
}

static inline void pl_row_add(const pl_glm *glm, uint64_t row, double a, double *w) {
    const pl_matrix *x = &glm->data->x;
    uint64_t begin = x->start[row];
    if (!glm->scale)
        pl_plain_add(glm, row, a, w);
    else
        pl_sparse_add_scaled(x->index + begin, x->value ? x->value + begin : NULL, x->start[row + 1] - begin, a, w,
                             glm->scale);
}

/* The factor of column j; an intercept has 1. For solvers that walk columns. */
static inline double pl_column_scale(const pl_glm *glm, uint64_t j) {
    return glm->scale && j < glm->data->x.columns ? glm->scale[j] : 1.0;
}

/* Multiplies the rows of a model, or of a gradient, by the columns' scales, where there are any. */
void pl_scale_columns(const pl_glm *glm, double *w);
/* The other way: a model on the columns as they are, as one on scaled ones. */
void pl_unscale_columns(const pl_glm *glm, double *w);
/* standardise.c: fills in scale. */
parley_status pl_standardise(pl_glm *glm, const pl_team *team, parley_error *error);
/* out = sum_i a_i x_i over the rows of all ranks, scaled, and sum_i a_i for an intercept. */
parley_status pl_weighted_rows(const pl_glm *glm, const pl_team *team, const double *a, double *out,
                               parley_error *error);

/* The same for all classes: z_c = x_i . w_c, and w_c += a_c x_i; plain, and with columns scaled. */
static inline void pl_plain_dots(const pl_glm *glm, uint64_t row, const double *w, double *z) {
    const pl_matrix *x = &glm->data->x;
    uint64_t begin = x->start[row];
    pl_table_dot(x->index + begin, x->value ? x->value + begin : NULL, x->start[row + 1] - begin, NULL, w, glm->classes,
                 z);
}

static inline void pl_plain_adds(const pl_glm *glm, uint64_t row, const double *a, double *w) {
    const pl_matrix *x = &glm->data->x;
    uint64_t begin = x->start[row];
    pl_table_add(x->index + begin, x->value ? x->value + begin : NULL, x->start[row + 1] - begin, NULL, a, glm->classes,
                 w);
}

static inline void pl_row_dots(const pl_glm *glm, uint64_t row, const double *w, double *z) {
    const pl_matrix *x = &glm->data->x;
    uint64_t begin = x->start[row];
    pl_table_dot(x->index + begin, x->value ? x->value + begin : NULL, x->start[row + 1] - begin, glm->scale, w,
                 glm->classes, z);
}

/* l1 |w|_1 + l2/2 |w|^2, and r*(scale u), over entries [begin, end). */
double pl_penalty(const pl_glm *glm, const double *w, uint64_t begin, uint64_t end);
double pl_penalty_conjugate(const pl_glm *glm, const double *u, double scale, uint64_t begin, uint64_t end);
double pl_largest(const pl_glm *glm, const double *u, uint64_t begin, uint64_t end); /* max |u_j| over penalised j */

/* The metric of sub-problems, by entry: 1 / l2; for an intercept its proximal term mu counts too. */
static inline double pl_metric(const pl_glm *glm, uint64_t j) {
    return 1.0 / (j < glm->data->x.columns * glm->classes ? glm->l2
                  : glm->intercept == PL_PENALISED        ? glm->l2 + glm->mu
                                                          : glm->mu);
}

/* P at w = 0 and the best intercept: the scale of a relative gap. */
parley_status pl_null_objective(const pl_glm *glm, const pl_team *team, double *objective, double *b,
                                parley_error *error);
/* A rate of gradient steps that is stable on most data: of a curvature without a bound, that of the best constant
 * counts. */
double pl_safe_rate(const pl_glm *glm);
/* The b at which share x loss(b, 1) + (1 - share) x loss(b, -1) is least. */
double pl_best_constant(const pl_loss *loss, double share);
/* Puts what members of a method may know into `base`: to be called when the problem has changed. */
void pl_glm_publish(pl_glm *glm);
/* The linear model that a problem is; NULL: it is another kind of problem. */
static inline pl_glm *pl_glm_of(const pl_problem *problem) {
    return problem->type == &pl_problem_linear ? (pl_glm *)problem : NULL;
}

/* linear.c: what summaries of a linear model say about it. */
void pl_linear_facts(const char *loss, double lambda, double l1_ratio, pl_intercept intercept, pl_description *out);

/* linear_rules.c: what can be said of the problem by its settings and the shape of its data. */
extern const pl_problem_rules pl_linear_rules;
bool pl_few_columns(const pl_glm *glm); /* so few that their square is a small matrix: `newton` goes by Cholesky */
bool pl_is_filled(const pl_glm *glm);   /* a good part of the matrix is not 0: a tenth */
/* linear_bound.c: P at a model, and D at a dual point. */
parley_status pl_linear_bound(const pl_problem *problem, const pl_point_seen *point, pl_bound *out,
                              parley_error *error);

/* Passes over the rows of the team, one task for each lane of each worker. */
void pl_margins(const pl_glm *glm, const pl_team *team, const double *w,
                double *z); /* z_i = x_i.w, intercept left out; an entry for each class */
/* Moves b to where sum_i q_i loss(z_i + b) is least, over all ranks: until its slope there is `tolerance` of the sum of
 * the rows' absolute slopes. `z` NULL: all are 0. Without a curvature it bisects, which takes many more passes. */
parley_status pl_centre(const pl_glm *glm, const pl_team *team, const double *z, double tolerance, double *b,
                        parley_error *error);

/* The same for the loss made smooth by `softness`; 0: the loss itself. */
parley_status pl_centre_soft(const pl_glm *glm, const pl_team *team, const double *z, double softness, double tolerance,
                             double *b, parley_error *error);

/* Its raw sums, by rows: for each side of t, q |t|, q t z, q |t| |x| and q loss*(-t); last q loss. */
#define PL_SIDE_SUMS 4
void pl_add_sides(const pl_glm *glm, uint64_t row, double t, double z, double loss, double conjugate, double *sums);
void pl_evaluation_fill(const pl_glm *glm, const double *sums, double b, pl_evaluation *out);
/* Evaluates the dual point t at margins z + b. */
parley_status pl_evaluate_rows(const pl_glm *glm, const pl_team *team, const double *z, double b, const double *t,
                               pl_evaluation *out, parley_error *error);
/* Puts sum q loss*(-scale t), repaired as `at` says, in at->conjugate. `t` NULL: minus the slopes at z + at->b. */
parley_status pl_conjugate_rows(const pl_glm *glm, const pl_team *team, const double *z, const double *t, double scale,
                                pl_evaluation *at, parley_error *error);

#endif
