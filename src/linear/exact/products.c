/* products.c: least squares from the products of columns. A worker sums, once,
 *
 *     S = sum_i s_i z_i z_i',   z = (x, y - level, 1)              level: products.h
 *
 * in double precision. The residuals of a model are r = a.z with a = (w, -1, b - level), so that
 *
 *     sum s r^2 = a' S a,   sum s r z = S a
 *
 * give its loss, its gradient and the certificate t = -r without a further pass over the rows. The free intercept is
 * solved first, which makes sum s r = 0. */
#include <math.h>
#include <string.h>

#include "engine/collective.h"
#include "linear/exact/products.h"
#include "math/dense_gram.h"

typedef struct products {
    pl_local base;
    const pl_glm *glm;
    const pl_team *team;
    uint64_t side, slot;   /* of S; numbers of a lane's update */
    double *updates;       /* by lane of each hosted worker: the gradient, then S */
    pl_dense_gram *panels; /* the same */
    double *seconds;       /* the same */
    double *a, *image;     /* a, and S a */
    bool summed;           /* S is known, */
    bool counted;          /* or was before a restart, so that the pass is not counted again */
    double squares, level; /* of the latest evaluation: sum s r^2 and sum s r y */
    pl_linear_evaluation at;
} products;

enum { SUM_SQUARES, SUM_LABEL, SUM_ONE, SUM_LABELS, SUMS };

static double *update_of(const products *self, unsigned task) { return self->updates + task * self->slot; }

static double *sums_of(const products *self, unsigned task) { return update_of(self, task) + self->glm->base.size; }

/* Puts the values of rows [begin, end) into the panels. */
static void load_rows(const pl_matrix *x, const pl_dense_gram *panels, uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; i++) {
        uint64_t first = x->start[i], count = x->start[i + 1] - first;
        if (count == x->columns && !pl_are_ones(x->values)) {
            pl_dense_gram_put(panels, i - begin, pl_values_from(x->values, first), count);
            continue;
        }
        for (uint64_t j = 0; j < x->columns; j++)
            *pl_dense_gram_cell(panels, i - begin, j) = 0;
        for (uint64_t e = first; e < first + count; e++)
            *pl_dense_gram_cell(panels, i - begin, x->index[e]) = pl_value_at(x->values, e);
    }
}

static void sum_task(void *context, unsigned task) {
    const products *self = context;
    const pl_glm *glm = self->glm;
    const parley_data *data = glm->base.data;
    const pl_dense_gram *panels = &self->panels[task];
    uint64_t columns = data->x.columns;
    double level = pl_products_level(glm), *sums = sums_of(self, task), began = pl_engine_now(self->team->engine);
    memset(sums, 0, self->side * self->side * sizeof *sums);
    for (uint64_t r = 0; r < PL_PANEL_ROWS; r++)
        *pl_dense_gram_cell(panels, r, columns + 1) = 1.0;
    for (pl_walk rows = pl_walk_entries(data); pl_walk_on(&self->team->parts[task], &rows);) {
        if (data->cells)
            pl_dense_gram_load(panels, data->cells, rows.begin, rows.end - rows.begin, glm->table.shift);
        else
            load_rows(&data->x, panels, rows.begin, rows.end);
        for (uint64_t i = rows.begin; i < rows.end; i++)
            *pl_dense_gram_cell(panels, i - rows.begin, columns) = data->label[i] - level;
        pl_dense_gram_add(panels, rows.end - rows.begin, data->weight ? data->weight + rows.begin : NULL, sums);
    }
    self->seconds[task] = pl_engine_now(self->team->engine) - began;
}

/* Adds the lanes of each worker, and scales columns. */
static void sum_rows(products *self) {
    const pl_team *team = self->team;
    uint64_t side = self->side, columns = self->glm->base.data->x.columns;
    pl_team_run(team, sum_task, self);
    for (unsigned k = 0; k < team->hosted; k++) {
        double *sums = sums_of(self, k * team->lanes);
        pl_tree_add(sums, team->lanes, self->slot, side * side);
        for (uint64_t j = 0; self->glm->scale && j < side; j++)
            for (uint64_t i = j; i < side; i++)
                sums[j * side + i] *=
                    (j < columns ? self->glm->scale[j] : 1.0) * (i < columns ? self->glm->scale[i] : 1.0);
    }
    self->summed = true;
}

/* image = S a, from the lower triangle. */
static void multiply(const double *sums, uint64_t side, const double *a, double *image) {
    memset(image, 0, side * sizeof *image);
    for (uint64_t j = 0; j < side; j++) {
        const double *column = sums + j * side;
        double sum = column[j] * a[j];
        for (uint64_t i = j + 1; i < side; i++) {
            image[i] += column[i] * a[j];
            sum += column[i] * a[i];
        }
        image[j] += sum;
    }
}

/* Computes the sums of a worker's rows at a, and their gradient. */
static void expand(const products *self, unsigned k, double *out) {
    const pl_glm *glm = self->glm;
    uint64_t side = self->side, columns = glm->base.data->x.columns;
    double *gradient = update_of(self, k * self->team->lanes), *sums = gradient + glm->base.size;
    multiply(sums, side, self->a, self->image);
    out[SUM_SQUARES] = 0;
    for (uint64_t j = 0; j < side; j++)
        out[SUM_SQUARES] += self->a[j] * self->image[j];
    out[SUM_LABEL] = self->image[columns];
    out[SUM_ONE] = self->image[columns + 1];
    out[SUM_LABELS] = sums[columns * side + columns + 1];
    for (uint64_t j = 0; j < glm->base.size; j++)
        gradient[j] = self->image[j < columns ? j : columns + 1] / glm->base.total;
}

/* Moves the residuals of a worker's rows by `step`. */
static void move_intercept(const products *self, unsigned k, double step) {
    const pl_glm *glm = self->glm;
    uint64_t side = self->side, columns = glm->base.data->x.columns;
    double *gradient = update_of(self, k * self->team->lanes);
    const double *sums = gradient + glm->base.size, *ones = sums + columns + 1;
    for (uint64_t j = 0; j < columns; j++)
        gradient[j] += step * ones[j * side] / glm->base.total;
    gradient[columns] += step * ones[(columns + 1) * side] / glm->base.total;
}

static double conjugate_at(const products *self, double scale) {
    return scale * (0.5 * scale * self->squares + self->level) / self->glm->base.total;
}

static parley_status rescale(void *solver, double scale, pl_linear_evaluation *at, parley_error *error) {
    (void)error;
    at->conjugate = conjugate_at(solver, scale);
    return PARLEY_OK;
}

/* Fails if a worker's sums are not finite, which happens only to a table that was not checked before. */
static parley_status check_sums(const double *sums, parley_error *error) {
    if (isfinite(sums[SUM_SQUARES]) && isfinite(sums[SUM_LABELS]))
        return PARLEY_OK;
    return pl_fail(error, PARLEY_BAD_INPUT, "data: a value, label or weight is not finite, or too large to square");
}

/* Computes gradient and evaluation at v, in updates of `count` numbers. `*b` receives the solved intercept, if that
 * is free. */
static parley_status visit(products *self, const double *v, uint64_t count, double *b, pl_update *update,
                           pl_evaluation *evaluation, parley_error *error) {
    const pl_glm *glm = self->glm;
    const pl_team *team = self->team;
    uint64_t columns = glm->base.data->x.columns;
    double sums[SUMS], level = pl_products_level(glm), passes = self->counted ? 0.0 : 1.0;
    memset(self->seconds, 0, (uint64_t)team->hosted * team->lanes * sizeof *self->seconds);
    if (!self->summed)
        sum_rows(self);
    self->counted = true;
    *b = glm->intercept == PL_NO_INTERCEPT ? 0.0 : v[columns];
    memcpy(self->a, v, columns * sizeof *v);
    self->a[columns] = -1.0;
    self->a[columns + 1] = *b - level;
    for (unsigned k = 0; k < team->hosted; k++)
        expand(self, k, team->worker_sums + k * SUMS);
    parley_status status = pl_team_sum(team, team->worker_sums, SUMS, sums, error);
    if (status == PARLEY_OK)
        status = check_sums(sums, error);
    double step = glm->intercept == PL_FREE ? -sums[SUM_ONE] / glm->base.total : 0.0;
    for (unsigned k = 0; k < team->hosted && status == PARLEY_OK; k++) {
        double seconds = 0;
        if (step != 0)
            move_intercept(self, k, step);
        for (unsigned l = 0; l < team->lanes; l++)
            seconds = fmax(seconds, self->seconds[k * team->lanes + l]);
        update[k] = (pl_update){.shrink = 1.0,
                                .weight = team->weight[k],
                                .count = count,
                                .value = update_of(self, k * team->lanes),
                                .seconds = seconds,
                                .passes = passes};
    }
    *b += step;
    self->squares = fmax(0.0, sums[SUM_SQUARES] + step * sums[SUM_ONE]);
    self->level = sums[SUM_LABEL] + step * sums[SUM_LABELS] + level * (sums[SUM_ONE] + step * glm->base.total);
    self->at = (pl_linear_evaluation){.value = 0.5 * self->squares / glm->base.total,
                                      .b = *b,
                                      .conjugate = conjugate_at(self, 1.0),
                                      .rescale = rescale,
                                      .solver = self};
    *evaluation = pl_evaluation_of(&self->at);
    return status;
}

static parley_status work(pl_local *local, const pl_round *round, double *v, pl_update *update,
                          pl_evaluation *evaluation, parley_error *error) {
    products *self = (products *)local;
    double b;
    parley_status status = visit(self, v, round->columns * self->glm->base.size, &b, update, evaluation, error);
    if (status == PARLEY_OK && self->glm->intercept == PL_FREE)
        v[self->glm->base.data->x.columns] = b;
    return status;
}

static parley_status primal(const pl_local *local, const double *v, double *w, parley_error *error) {
    (void)error;
    memcpy(w, v, ((const products *)local)->glm->base.size * sizeof *w);
    return PARLEY_OK;
}

static parley_status evaluate(pl_local *local, const double *v, double *w, pl_update *update, pl_evaluation *evaluation,
                              parley_error *error) {
    products *self = (products *)local;
    double b;
    parley_status status = visit(self, v, self->slot, &b, update, evaluation, error);
    primal(local, v, w, error);
    if (status == PARLEY_OK && self->glm->intercept == PL_FREE)
        w[self->glm->base.data->x.columns] = b;
    return status;
}

static bool certifies(const pl_local *local) {
    (void)local;
    return true;
}

static double evaluate_passes(const pl_local *local) { return ((const products *)local)->summed ? 0.0 : 1.0; }

static parley_status start(pl_local *local, const double *w, const double *rows, double *v, parley_error *error) {
    (void)rows;
    return primal(local, w, v, error); /* v is the model */
}

/* Products do not depend on the penalty. */
static parley_status renew(pl_local *local, double *v, parley_error *error) {
    (void)local, (void)v, (void)error;
    return PARLEY_OK;
}

static void commit(pl_local *local, unsigned worker, double gamma) { (void)local, (void)worker, (void)gamma; }

/* S is computed again after a restart. Every worker saves the same value, because a rank may have no worker. */
static void state(pl_local *local, pl_state *state) {
    products *self = (products *)local;
    for (unsigned k = 0; k < self->team->hosted; k++) {
        pl_state_of(state, "local", k);
        PL_STATE_VALUES(state, "products", PL_WITHIN(self->counted, 0, 1));
    }
}

static uint64_t bytes(const pl_setup *setup) {
    uint64_t side = pl_products_side(pl_glm_of(setup->problem)), panels = side / PL_PANEL_COLUMNS + 1;
    return (uint64_t)setup->team->hosted * setup->team->lanes *
           (setup->width * setup->problem->size + panels * PL_PANEL_CELLS) * sizeof(double);
}

static void close_products(pl_local *local) {
    products *self = (products *)local;
    if (!self)
        return;
    for (unsigned i = 0; self->panels && i < self->team->hosted * self->team->lanes; i++)
        pl_dense_gram_close(&self->panels[i]);
    pl_free(self->panels);
    pl_free(self->updates);
    pl_free(self->seconds);
    pl_free(self->a);
    pl_free(self);
}

static parley_status open_products(const pl_setup *setup, pl_local **out, parley_error *error) {
    uint64_t lanes = (uint64_t)setup->team->hosted * setup->team->lanes;
    products *self;
    parley_status status = pl_take(&self, 1, sizeof *self, "products", error);
    if (status != PARLEY_OK)
        return status;
    self->base.type = &pl_local_products;
    self->glm = pl_glm_of(setup->problem);
    self->team = setup->team;
    self->side = pl_products_side(self->glm);
    self->slot = setup->width * setup->problem->size;
    status = pl_take(&self->updates, lanes, self->slot * sizeof *self->updates, "products", error);
    if (status == PARLEY_OK)
        status = pl_take(&self->seconds, lanes, sizeof *self->seconds, "products", error);
    if (status == PARLEY_OK)
        status = pl_take(&self->a, 2 * self->side, sizeof *self->a, "products", error);
    if (status == PARLEY_OK)
        status = pl_take(&self->panels, lanes, sizeof *self->panels, "products", error);
    for (uint64_t i = 0; i < lanes && status == PARLEY_OK; i++)
        status = pl_dense_gram_open(&self->panels[i], self->side, error);
    if (status != PARLEY_OK) {
        close_products(&self->base);
        return status;
    }
    self->image = self->a + self->side;
    *out = &self->base;
    return status;
}

static const char *const reads[] = {"lanes", NULL};

static const pl_local_restart restart = {.start = start, .renew = renew};

const pl_local_type pl_local_products = {
    .name = "products",
    .help = "products of columns, which give squared loss and its gradient anywhere",
    .problem = &pl_problem_linear,
    .needs = PL_FACT_QUADRATIC,
    .traits = PL_GIVES_PRODUCTS | PL_EVALUATES_GRADIENT,
    .settings = reads,
    .restart = &restart,
    .bytes = bytes,
    .open = open_products,
    .work = work,
    .evaluate = evaluate,
    .certifies = certifies,
    .evaluate_passes = evaluate_passes,
    .commit = commit,
    .primal = primal,
    .state = state,
    .close = close_products,
};
