/* classes.c: losses of rows of several classes, and the evaluation of dual points; formulas in docs/mathematics.md.
 *
 * The sums of an evaluation. For softmax: q loss, q loss*, q p.z, q |x| |p|, q |x|, then for each class q z_c and q
 * p_c. For one against the rest: q loss, then for each class the side sums of glm.h. */
#include "linear/rows/classes.h"

#include <math.h>
#include <string.h>

#include "engine/collective.h"

#define ALL_ROWS 1e-12 /* rounding of the sum of the shares of all rows */

enum { SUM_LOSS, SUM_CONJUGATE, SUM_PULL, SUM_REACH, SUM_NORM, SUM_CLASSES };

uint64_t pl_classes_sums(const pl_glm *glm) {
    return glm->loss->together ? SUM_CLASSES + 2 * glm->classes : 1 + 2 * PL_SIDE_SUMS * glm->classes;
}

/* Adds the sums from which fill_softmax repairs the dual point; p = e_y - t. */
static void add_softmax(const pl_glm *glm, uint64_t i, const double *z, const double *t, double *sums) {
    uint64_t classes = glm->classes, y = glm->class_of[i];
    double q = pl_share(glm, i), norm = sqrt(glm->norm2[i]), product = 0, squared = 0;
    double *margins = sums + SUM_CLASSES, *means = margins + classes;
    for (uint64_t c = 0; c < classes; c++) {
        double p = (c == y ? 1.0 : 0.0) - t[c];
        product += p * z[c];
        squared += p * p;
        margins[c] += q * z[c];
        means[c] += q * p;
    }
    sums[SUM_PULL] += q * product;
    sums[SUM_REACH] += q * norm * sqrt(squared);
    sums[SUM_NORM] += q * norm;
}

static void add_side(const pl_glm *glm, uint64_t i, uint64_t c, double t, double z, double conjugate, double *sums) {
    double q = pl_share(glm, i), *side = sums + 1 + PL_SIDE_SUMS * (2 * c + (t > 0 ? 1 : 0));
    side[0] += q * fabs(t);
    side[1] += q * t * z;
    side[2] += q * fabs(t) * sqrt(glm->norm2[i]);
    side[3] += q * conjugate;
}

/* Adds the sums of an evaluation, given the loss and slopes at margins z + b = at. */
static void add_visited(const pl_glm *glm, uint64_t i, const double *z, const double *at, const double *slope,
                        double loss, double *sums) {
    double t[PL_MOST_CLASSES], product = 0;
    for (uint64_t c = 0; c < glm->classes; c++) {
        t[c] = -slope[c];
        product += slope[c] * at[c];
    }
    sums[SUM_LOSS] += pl_share(glm, i) * loss;
    sums[SUM_CONJUGATE] += pl_share(glm, i) * (product - loss); /* because t = -slope */
    add_softmax(glm, i, z, t, sums);
}

static double visit_softmax(const pl_glm *glm, uint64_t i, const double *z, const double *b, double *slope,
                            double *sums) {
    double at[PL_MOST_CLASSES];
    pl_classes_ahead(glm, z, 1.0, b, at);
    double loss = glm->loss->together->expand(at, glm->classes, glm->class_of[i], slope);
    if (sums)
        add_visited(glm, i, z, at, slope, loss, sums);
    return loss;
}

/* Returns the loss of row i for class c, and the derivatives of it or, with `soft`, of the smoothed loss. */
static double expand_side(const pl_glm *glm, uint64_t i, uint64_t c, double z, const pl_softening *soft, double *slope,
                          double *curvature) {
    double y = pl_classes_side(glm, i, c), value = glm->loss->expand(glm->loss, z, y, slope, curvature);
    if (soft)
        pl_soften(glm->loss, soft, i * glm->classes + c, 1, &z, &y, slope, curvature);
    return value;
}

double pl_classes_visit(const pl_glm *glm, uint64_t i, const double *z, const double *b, const pl_softening *soft,
                        double *slope, double *sums) {
    const pl_loss *loss = glm->loss;
    double total = 0;
    if (loss->together)
        return visit_softmax(glm, i, z, b, slope, sums);
    for (uint64_t c = 0; c < glm->classes; c++) {
        double at = z[c] + b[c], y = pl_classes_side(glm, i, c), curvature,
               value = expand_side(glm, i, c, at, soft, &slope[c], &curvature);
        total += value;
        if (sums)
            add_side(glm, i, c, -slope[c], z[c],
                     soft ? loss->conjugate(loss, -slope[c], y) : pl_loss_conjugate_at(loss, at, y, value, slope[c]),
                     sums);
    }
    if (sums)
        sums[SUM_LOSS] += pl_share(glm, i) * total;
    return total;
}

void pl_classes_visit_rows(const pl_glm *glm, uint64_t first, uint64_t rows, const double *z, const double *b,
                           const pl_softening *soft, double *slope, double *loss, double *sums) {
    uint64_t classes = glm->classes, row = 0;
    double at[PL_CLASS_ROWS * PL_MOST_CLASSES];
    for (uint64_t r = 0; r < rows && !glm->loss->together; r++)
        loss[r] = pl_classes_visit(glm, first + r, z + r * classes, b, soft, slope + r * classes, sums);
    if (!glm->loss->together)
        return;
    do
        pl_classes_ahead(glm, z + row * classes, 1.0, b, at + row * classes);
    while (++row < rows);
    glm->loss->together->expand_rows(at, rows, classes, glm->class_of + first, slope, loss);
    for (uint64_t r = 0; r < rows && sums; r++)
        add_visited(glm, first + r, z + r * classes, at + r * classes, slope + r * classes, loss[r], sums);
}

void pl_classes_curve(const pl_glm *glm, uint64_t i, const double *z, const double *b, const pl_softening *soft,
                      const double *slope, double *curvature) {
    uint64_t classes = glm->classes;
    double p[PL_MOST_CLASSES], unused;
    memset(curvature, 0, classes * classes * sizeof *curvature);
    for (uint64_t c = 0; c < classes && glm->loss->together; c++)
        p[c] = fmax(0.0, slope[c] + (c == glm->class_of[i] ? 1.0 : 0.0));
    for (uint64_t c = 0; c < classes; c++)
        if (!glm->loss->together)
            expand_side(glm, i, c, z[c] + b[c], soft, &unused, &curvature[c * classes + c]);
        else
            for (uint64_t d = 0; d < classes; d++)
                curvature[c * classes + d] = p[c] * ((c == d ? 1.0 : 0.0) - p[d]);
}

double pl_classes_step(const pl_glm *glm, uint64_t i, const double *z, double h, double *t) {
    const pl_loss *loss = glm->loss;
    double residual = 0;
    if (loss->together)
        return loss->together->dual_step(z, glm->classes, glm->class_of[i], h, t);
    for (uint64_t c = 0; c < glm->classes; c++) {
        double y = pl_classes_side(glm, i, c), t0 = t[c];
        t[c] = loss->dual_step(loss, z[c], y, t0, h);
        residual += loss->residual(loss, z[c], y, t0, t[c], h);
    }
    return residual;
}

double pl_classes_depth(const pl_glm *glm, uint64_t i, const double *z, const double *t) {
    double depth = INFINITY;
    for (uint64_t c = 0; c < glm->classes; c++)
        depth = fmin(depth, glm->loss->depth(glm->loss, z[c], pl_classes_side(glm, i, c), t[c]));
    return depth;
}

typedef struct pass {
    const pl_glm *glm;
    const pl_team *team;
    pl_row_sum f;
    const void *context;
    uint64_t count;
} pass;

static void total_task(void *context, unsigned task) {
    const pass *pass = context;
    const pl_part *part = &pass->team->parts[task];
    double *sums = pass->glm->repair->lane_sums + task * pass->count;
    memset(sums, 0, pass->count * sizeof *sums);
    for (pl_walk rows = {0}; pl_walk_on(part, &rows);)
        for (uint64_t i = rows.begin; i < rows.end; i++)
            pass->f(pass->context, i, sums);
}

parley_status pl_classes_total(const pl_glm *glm, const pl_team *team, pl_row_sum f, const void *context,
                               uint64_t count, double *sums, parley_error *error) {
    pass pass = {glm, team, f, context, count};
    const pl_repair *room = glm->repair;
    pl_team_run(team, total_task, &pass);
    for (unsigned k = 0; k < team->hosted; k++) {
        double *lanes = room->lane_sums + k * team->lanes * count;
        pl_tree_add(lanes, team->lanes, count, count);
        memcpy(room->worker_sums + k * count, lanes, count * sizeof *lanes);
    }
    return pl_team_sum(team, room->worker_sums, (unsigned)count, sums, error);
}

static double entropy(const double *p, uint64_t count) {
    double sum = 0;
    for (uint64_t c = 0; c < count; c++)
        sum += p[c] > 0.0 ? p[c] * log(p[c]) : 0.0;
    return sum;
}

/* Replacing p by (1 - tilt) p + tilt blend makes its mean equal to the class frequencies. */
static void fill_softmax(const pl_glm *glm, const double *sums, pl_linear_evaluation *out) {
    pl_repair *repair = glm->repair;
    const double *margins = sums + SUM_CLASSES, *means = margins + glm->classes;
    double tilt = 0, pull = -sums[SUM_PULL], squared = 0;
    for (uint64_t c = 0; c < glm->classes; c++)
        tilt = fmax(tilt, 1.0 - glm->frequency[c] / means[c]);
    for (uint64_t c = 0; c < glm->classes; c++) {
        double lack = fmax(0.0, glm->frequency[c] - (1.0 - tilt) * means[c]);
        repair->blend[c] = tilt > 0 ? lack / tilt : glm->frequency[c];
        pull += repair->blend[c] * margins[c];
        squared += repair->blend[c] * repair->blend[c];
    }
    repair->tilt = out->tilt = tilt;
    out->pull = pull;
    out->reach = sums[SUM_REACH] + sqrt(squared) * sums[SUM_NORM];
    out->conjugate =
        (1.0 - tilt) * out->conjugate + tilt * entropy(repair->blend, glm->classes); /* upper bound, by convexity */
}

/* Each class has its own heavier side. Together they move u by the root of the sum of squares over classes. */
static void fill_sides(const pl_glm *glm, const double *sums, pl_linear_evaluation *out) {
    double conjugate = 0, pull = 0, squared = 0, most = 0;
    for (uint64_t c = 0; c < glm->classes; c++) {
        const double *low = sums + 1 + 2 * PL_SIDE_SUMS * c;
        unsigned heavy = low[PL_SIDE_SUMS] > low[0];
        const double *side = low + PL_SIDE_SUMS * heavy, *other = low + PL_SIDE_SUMS * !heavy;
        double tilt = glm->intercept == PL_FREE && side[0] > 0 ? (side[0] - other[0]) / side[0] : 0.0;
        conjugate += other[3] + (1.0 - tilt) * side[3];
        pull += tilt * side[1];
        squared += tilt * tilt * side[2] * side[2];
        most = fmax(most, tilt);
        glm->repair->side[2 * c + heavy] = 1.0 - tilt;
        glm->repair->side[2 * c + !heavy] = 1.0;
    }
    out->conjugate = conjugate;
    out->tilt = most;
    out->pull = most > 0 ? pull / most : 0.0;
    out->reach = most > 0 ? sqrt(squared) / most : 0.0;
}

void pl_classes_fill(const pl_glm *glm, const double *sums, pl_linear_evaluation *out) {
    *out = (pl_linear_evaluation){.value = sums[SUM_LOSS]};
    glm->repair->tilt = 0;
    if (!glm->loss->together) {
        fill_sides(glm, sums, out);
        return;
    }
    out->conjugate = sums[SUM_CONJUGATE];
    if (glm->intercept == PL_FREE)
        fill_softmax(glm, sums, out);
}

typedef struct rows {
    const pl_glm *glm;
    const double *z, *b, *t;
    const pl_softening *soft;
    double scale;
} rows;

/* Adds the sums of an evaluation at given t, except the conjugates. */
static void evaluate_row(const void *context, uint64_t i, double *sums) {
    const rows *rows = context;
    const pl_glm *glm = rows->glm;
    const double *z = rows->z + i * glm->classes, *t = rows->t + i * glm->classes;
    double slope[PL_MOST_CLASSES];
    sums[SUM_LOSS] += pl_share(glm, i) * pl_classes_visit(glm, i, z, rows->b, NULL, slope, NULL);
    if (glm->loss->together)
        add_softmax(glm, i, z, t, sums);
    else
        for (uint64_t c = 0; c < glm->classes; c++)
            add_side(glm, i, c, t[c], z[c], 0.0, sums);
}

void pl_classes_slopes(const pl_glm *glm, uint64_t i, const double *z, const double *b, double *t) {
    t += i * glm->classes;
    pl_classes_visit(glm, i, z + i * glm->classes, b, NULL, t, NULL);
    for (uint64_t c = 0; c < glm->classes; c++)
        t[c] = -t[c];
}

void pl_classes_repair(const pl_glm *glm, uint64_t i, double *t) {
    const pl_repair *repair = glm->repair;
    for (uint64_t c = 0; c < glm->classes; c++)
        if (!glm->loss->together)
            t[c] *= repair->side[2 * c + (t[c] > 0)];
        else if (repair->tilt > 0)
            t[c] += repair->tilt * ((c == glm->class_of[i] ? 1.0 : 0.0) - t[c] - repair->blend[c]);
}

static void conjugate_row(const void *context, uint64_t i, double *sums) {
    const rows *rows = context;
    const pl_glm *glm = rows->glm;
    uint64_t classes = glm->classes;
    double t[PL_MOST_CLASSES], sum = 0;
    if (rows->t)
        memcpy(t, rows->t + i * classes, classes * sizeof *t);
    else {
        pl_classes_visit(glm, i, rows->z + i * classes, rows->b, rows->soft, t, NULL);
        for (uint64_t c = 0; c < classes; c++)
            t[c] = -t[c];
    }
    pl_classes_repair(glm, i, t);
    for (uint64_t c = 0; c < classes; c++) {
        t[c] *= rows->scale;
        sum += glm->loss->together ? 0.0 : glm->loss->conjugate(glm->loss, t[c], pl_classes_side(glm, i, c));
    }
    if (glm->loss->together)
        sum = glm->loss->together->conjugate(t, classes, glm->class_of[i]);
    sums[0] += pl_share(glm, i) * sum;
}

parley_status pl_classes_conjugate(const pl_glm *glm, const pl_team *team, const double *z, const double *b,
                                   const double *t, const pl_softening *soft, double scale, pl_linear_evaluation *at,
                                   parley_error *error) {
    rows rows = {glm, z, b, t, soft, scale};
    return pl_classes_total(glm, team, conjugate_row, &rows, 1, &at->conjugate, error);
}

parley_status pl_classes_evaluate(const pl_glm *glm, const pl_team *team, const double *z, const double *b,
                                  const double *t, pl_linear_evaluation *out, parley_error *error) {
    rows rows = {glm, z, b, t, NULL, 1.0};
    double *sums = glm->repair->sums;
    parley_status status = pl_classes_total(glm, team, evaluate_row, &rows, pl_classes_sums(glm), sums, error);
    if (status != PARLEY_OK)
        return status;
    pl_classes_fill(glm, sums, out);
    return pl_classes_conjugate(glm, team, z, b, t, NULL, 1.0, out, error);
}

static double constant_loss(const pl_loss *loss, double share, double b, double *curvature) {
    double slope, upper, lower;
    double sum =
        share * loss->expand(loss, b, 1, &slope, &upper) + (1.0 - share) * loss->expand(loss, b, -1, &slope, &lower);
    *curvature = share * upper + (1.0 - share) * lower;
    return sum;
}

void pl_classes_level(uint64_t classes, double *b) {
    double mean = 0;
    for (uint64_t c = 0; c < classes; c++)
        mean += b[c] / (double)classes;
    for (uint64_t c = 0; c < classes; c++)
        b[c] -= mean;
}

double pl_classes_null(const pl_glm *glm, double *b) {
    uint64_t classes = glm->classes;
    double sum = 0, curvature;
    for (uint64_t c = 0; c < classes; c++) {
        double share = glm->frequency[c], best = 0.0;
        if (glm->loss->together) {
            best = log(share);
            sum += b ? -share * log(share) : share * log((double)classes);
        } else {
            best = b ? pl_best_constant(glm->loss, share) : 0.0;
            sum += constant_loss(glm->loss, share, best, &curvature);
        }
        if (b)
            b[c] = best;
    }
    if (b && glm->loss->together)
        pl_classes_level(classes, b);
    return sum;
}

double pl_classes_curvature(const pl_glm *glm) {
    double sum = 0, curvature;
    for (uint64_t c = 0; c < glm->classes; c++) {
        double share = glm->frequency[c];
        if (glm->loss->together)
            curvature = share * (1.0 - share) * (double)glm->classes / (double)(glm->classes - 1);
        else if (glm->loss->smooth)
            constant_loss(glm->loss, share, pl_best_constant(glm->loss, share), &curvature);
        else
            curvature = 0.25;
        sum += curvature / (double)glm->classes;
    }
    return sum;
}

static void frequency_row(const void *context, uint64_t i, double *sums) {
    const pl_glm *glm = context;
    for (uint64_t c = 0; c < glm->classes && glm->member; c++)
        sums[c] += pl_classes_side(glm, i, c) > 0 ? pl_share(glm, i) : 0.0;
    if (!glm->member)
        sums[glm->class_of[i]] += pl_share(glm, i);
}

static parley_status open_repair(pl_glm *glm, const pl_team *team, parley_error *error) {
    uint64_t classes = glm->classes, lanes = (uint64_t)team->hosted * team->lanes;
    parley_status status = pl_take(&glm->repair, 1, sizeof *glm->repair, "the classes", error);
    if (status != PARLEY_OK)
        return status;
    pl_repair *self = glm->repair;
    uint64_t curvature = classes <= PL_CENTRE_CLASSES ? classes * (classes + 1) / 2 : 0;
    self->most = 1 + 2 * PL_SIDE_SUMS * classes + curvature;
    self->side = pl_alloc(2 * classes, sizeof *self->side);
    self->blend = pl_alloc(classes, sizeof *self->blend);
    self->sums = pl_alloc(self->most, sizeof *self->sums);
    self->lane_sums = pl_alloc(lanes * self->most, sizeof *self->lane_sums);
    self->worker_sums = pl_alloc(team->hosted * self->most, sizeof *self->worker_sums);
    if (!self->side || !self->blend || !self->sums || !self->lane_sums || !self->worker_sums)
        return pl_fail_memory(error, "sums over classes", (lanes + team->hosted) * self->most * sizeof(double));
    return PARLEY_OK;
}

static void close_repair(pl_glm *glm) {
    if (glm->repair) {
        void *owned[] = {glm->repair->side, glm->repair->blend, glm->repair->sums, glm->repair->lane_sums,
                         glm->repair->worker_sums};
        for (unsigned i = 0; i < sizeof owned / sizeof *owned; i++)
            pl_free(owned[i]);
    }
    pl_free(glm->repair);
    pl_free(glm->frequency);
    glm->repair = NULL;
    glm->frequency = NULL;
}

parley_status pl_classes_measure(pl_glm *glm, const pl_team *team, parley_error *error) {
    close_repair(glm); /* the workers may have changed */
    parley_status status = open_repair(glm, team, error);
    if (status == PARLEY_OK)
        status = pl_take(&glm->frequency, glm->classes, sizeof *glm->frequency, "class frequencies", error);
    if (status == PARLEY_OK)
        status = pl_classes_total(glm, team, frequency_row, glm, glm->classes, glm->frequency, error);
    for (uint64_t c = 0; c < glm->classes && status == PARLEY_OK; c++)
        if (glm->member && glm->frequency[c] >= 1.0 - ALL_ROWS)
            status = pl_fail(error, PARLEY_BAD_INPUT,
                             "%s: every row has label %.17g, so that there is nothing to learn about it; leave it out",
                             glm->base.data->path, glm->labels[c]);
        else if (!(glm->frequency[c] > 0))
            status = pl_fail(error, PARLEY_BAD_INPUT, "%s: all rows of label %.17g have weight 0; leave these rows out",
                             glm->base.data->path, glm->labels[c]);
    return status;
}

void pl_classes_close(pl_glm *glm) {
    close_repair(glm);
    pl_free(glm->labels);
    pl_free(glm->class_of);
    pl_free(glm->member);
    glm->labels = NULL;
    glm->class_of = NULL;
    glm->member = NULL;
}
