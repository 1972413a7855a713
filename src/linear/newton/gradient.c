/* gradient.c: the gradient of the mean loss at v = w, over all rows or over a sample of them.
 *
 *     g = sum_i q_i loss'(x_i.w + b) x_i
 *
 * In a sample each row has probability `batch_fraction`, and the gradient is scaled up by its inverse.
 *
 * For second-order combines the update has one more column for each entry, the curvature sum_i q_i loss''(z_i) x_i
 * x_i', or one column for its diagonal. Then products with the curvature are computed on request. Over all rows the
 * free intercept is solved first, and the same passes give the certificate: t = -loss'(z), u = -g. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "engine/collective.h"
#include "engine/shared_memory.h"
#include "linear/newton/gradient.h"
#include "linear/newton/gradient_rows.h"
#include "linear/newton/oracle.h"
#include "linear/rows/classes.h"
#include "linear/rows/order.h"
#include "math/float_table.h"

#define MANY_ENTRIES (1u << 14) /* from which on adding lanes takes longer than waking a thread */
#define CARRIES 16 /* rounds for which margins are updated along followed steps before they are recomputed */

/* Adds the lanes' sums of their workers, of which task l of a worker has the l-th part of the entries. */
typedef struct adding {
    const pl_gradient *of;
    uint64_t size; /* entries of a lane's sums */
} adding;

static void add_lanes_task(void *context, unsigned task) {
    const adding *adding = context;
    const pl_gradient *self = adding->of;
    unsigned lanes = self->team->lanes, l = task % lanes;
    uint64_t begin = adding->size * l / lanes, end = adding->size * (l + 1) / lanes;
    pl_tree_add(pl_gradient_sum(self, task - l) + begin, lanes, self->width * self->glm->base.size, end - begin);
}

/* Reports the first `columns` columns of the sums of worker k's lanes, which have been added. */
static void report_one(const pl_gradient *self, unsigned k, uint64_t columns, double passes, double waited,
                       pl_update *update) {
    const pl_team *team = self->team;
    double seconds = 0;
    for (unsigned l = 0; l < team->lanes; l++)
        seconds = fmax(seconds, self->seconds[k * team->lanes + l]);
    *update = (pl_update){.shrink = 1.0,
                          .weight = team->weight[k],
                          .count = columns * self->glm->base.size,
                          .value = pl_gradient_sum(self, k * team->lanes),
                          .seconds = seconds + waited,
                          .passes = passes};
}

static void report(const pl_gradient *self, uint64_t columns, double passes, double waited, pl_update *update) {
    const pl_team *team = self->team;
    adding adding = {self, columns * self->glm->base.size};
    if (team->lanes > 1 && adding.size >= MANY_ENTRIES)
        pl_team_run(team, add_lanes_task, &adding);
    for (unsigned k = 0; k < team->hosted; k++) {
        if (adding.size < MANY_ENTRIES)
            pl_tree_add(pl_gradient_sum(self, k * team->lanes), team->lanes, self->width * self->glm->base.size,
                        adding.size);
        report_one(self, k, columns, passes, waited, &update[k]);
    }
}

/* Copies solved intercepts into v. */
static void put_intercepts(const pl_gradient *self, double *v) {
    const pl_glm *glm = self->glm;
    if (glm->intercept == PL_FREE)
        memcpy(v + glm->base.data->x.columns * glm->classes, self->b, glm->classes * sizeof *v);
}

/* Replaces the second column, where the diagonal or nothing is, by that of a preconditioned vector. */
static void precondition(pl_gradient *self, const double *v, pl_update *update) {
    double *y = pl_gradient_sum(self, 0);
    pl_softmax_preconditioner_apply(self->long_rows, self->team, y, v, y + self->glm->base.size);
    update->count = 2 * self->glm->base.size;
}

static parley_status rescale(void *solver, double scale, pl_linear_evaluation *at, parley_error *error) {
    pl_gradient *self = solver;
    if (self->glm->classes > 1)
        return pl_classes_conjugate(self->glm, self->team, self->z, self->b, NULL, pl_gradient_softening(self), scale,
                                    at, error);
    return pl_conjugate_rows(self->glm, self->team, self->z, self->t, &self->soft, scale, at, error);
}

/* Makes the evaluation from the sums of all workers. */
static parley_status sum_sides(pl_gradient *self, pl_evaluation *evaluation, parley_error *error) {
    const pl_team *team = self->team;
    uint64_t each = self->sides_each;
    double *workers = self->sides + (uint64_t)team->hosted * team->lanes * each, *sums = workers + team->hosted * each;
    for (unsigned k = 0; k < team->hosted; k++) {
        double *lanes = self->sides + k * team->lanes * each;
        pl_tree_add(lanes, team->lanes, each, each);
        memcpy(workers + k * each, lanes, each * sizeof *lanes);
    }
    parley_status status = pl_team_sum(team, workers, (unsigned)each, sums, error);
    if (status != PARLEY_OK)
        return status;
    if (self->glm->classes > 1)
        pl_classes_fill(self->glm, sums, &self->at);
    else
        pl_evaluation_fill(self->glm, sums, self->b[0], &self->at);
    self->at.softened = self->soft.mu > 0;
    self->at.rescale = rescale;
    self->at.solver = self;
    *evaluation = pl_evaluation_of(&self->at);
    return status;
}

static bool is_zero(const double *v, uint64_t size) {
    uint64_t j = 0;
    while (j < size && v[j] == 0)
        j++;
    return j == size;
}

/* Computes z at v. If the step to v was followed, or v is 0, this needs no pass over the data. Returns the passes made.
 */
static double find_margins(pl_gradient *self, const double *v) {
    const pl_glm *glm = self->glm;
    bool carry = self->stepped && self->carried < CARRIES, zero = !carry && is_zero(v, glm->base.size);
    self->followed = self->stepped = false;
    self->carried = carry ? self->carried + 1 : 0;
    if (carry)
        pl_team_run(self->team, pl_gradient_carry_task, self);
    else if (zero)
        memset(self->z, 0, glm->base.data->x.rows * glm->classes * sizeof *self->z);
    else
        pl_margins(glm, self->team, v, self->z);
    return carry || zero ? 0.0 : 1.0;
}

/* Takes the smoothing that the round asks for. The centres move to the dual points of the last one. */
static void soften(pl_gradient *self, const double *v, const pl_smoothing *how) {
    if (self->centre && how && how->recentre) {
        pl_gradient_intercepts(self, v, self->b);
        pl_team_run(self->team, pl_gradient_recentre_task, self);
    }
    self->soft.mu = how ? how->softness : 0.0;
}

/* Computes gradient and evaluation at v, where the margins are known, over all rows. */
static parley_status visit_all(pl_gradient *self, const double *v, double passes, pl_update *update,
                               pl_evaluation *evaluation, parley_error *error) {
    const pl_glm *glm = self->glm;
    parley_status status = PARLEY_OK;
    double began = pl_engine_now(self->team->engine);
    memset(self->seconds, 0, (uint64_t)self->team->hosted * self->team->lanes * sizeof *self->seconds);
    pl_gradient_intercepts(self, v, self->b);
    if (pl_centres(glm) || (glm->intercept == PL_FREE && self->soft.mu > 0))
        status = glm->classes > 1
                     ? pl_classes_centre(glm, self->team, self->z, pl_gradient_softening(self), 1e-14, self->b, error)
                     : pl_centre_soft(glm, self->team, self->z, &self->soft, 1e-14, self->b, error);
    double centred = pl_engine_now(self->team->engine) - began;
    if (status == PARLEY_OK) {
        pl_team_run(self->team, pl_gradient_full_task, self);
        report(self, pl_gradient_columns(self), 1.0 + passes, centred, update);
        if (self->long_rows && self->team->hosted > 0) {
            pl_softmax_preconditioner_factor(self->long_rows, self->bend, pl_gradient_sum(self, 0) + glm->base.size);
            precondition(self, v, update);
        }
        status = sum_sides(self, evaluation, error);
    }
    return status;
}

static parley_status primal(const pl_local *local, const double *v, double *w, parley_error *error) {
    (void)error;
    memcpy(w, v, ((const pl_gradient *)local)->glm->base.size * sizeof *w);
    return PARLEY_OK;
}

static parley_status evaluate(pl_local *local, const double *v, double *w, pl_update *update, pl_evaluation *evaluation,
                              parley_error *error) {
    pl_gradient *self = (pl_gradient *)local;
    parley_status status = primal(local, v, w, error);
    self->stepped = false;
    if (status == PARLEY_OK)
        status = visit_all(self, v, find_margins(self, v), update, evaluation, error);
    put_intercepts(self, w);
    return status;
}

/* Nothing to do: the combine handles the penalty. */
static parley_status renew(pl_local *local, double *v, parley_error *error) {
    (void)v, (void)error;
    ((pl_gradient *)local)->stepped = false;
    return PARLEY_OK;
}

static bool certifies(const pl_local *local) { return ((const pl_gradient *)local)->fraction >= 1.0; }

static parley_status work(pl_local *local, const pl_round *round, double *v, pl_update *update,
                          pl_evaluation *evaluation, parley_error *error) {
    pl_gradient *self = (pl_gradient *)local;
    self->round = round->number;
    self->curved = round->columns > 1;
    if (certifies(local)) {
        pl_gradient_remember(self);
        double passes = find_margins(self, v);
        soften(self, v, round->own);
        parley_status status = visit_all(self, v, passes, update, evaluation, error);
        if (status == PARLEY_OK)
            put_intercepts(self, v);
        return status;
    }
    memset(self->seconds, 0, (uint64_t)self->team->hosted * self->team->lanes * sizeof *self->seconds);
    self->w = v;
    pl_gradient_intercepts(self, v, self->b);
    pl_team_run(self->team, pl_gradient_sample_task, self);
    report(self, self->width, 2.0 * self->fraction, 0.0, update);
    return PARLEY_OK;
}

/* Finds the columns of each worker's rows, once. */
static parley_status prepare_async(pl_local *local, double *v, parley_error *error) {
    pl_gradient *self = (pl_gradient *)local;
    unsigned hosted = self->team->hosted;
    uint8_t *touched = NULL;
    (void)v;
    self->soft.mu = 0;
    self->curved = self->stepped = false;
    if (self->support || self->glm->classes > 1)
        return PARLEY_OK;
    parley_status status = pl_take(&self->support, hosted, sizeof *self->support, "sparse updates", error);
    if (status == PARLEY_OK)
        status = pl_take(&self->supported, hosted, sizeof *self->supported, "sparse updates", error);
    if (status == PARLEY_OK)
        status = pl_take(&touched, self->glm->base.size, 1, "sparse updates", error);
    for (unsigned k = 0; k < hosted && status == PARLEY_OK; k++)
        status = pl_support_take(self->glm, self->team, k, touched, &self->support[k], &self->supported[k], error);
    pl_free(touched);
    return status;
}

/* The worker's lanes one after another, with fields of its own where those of all workers would be shared. */
static parley_status work_async(pl_local *local, unsigned k, const pl_round *round, double *v, pl_update *update,
                                parley_error *error) {
    pl_gradient own = *(pl_gradient *)local;
    double b[PL_MOST_CLASSES] = {0};
    (void)error;
    own.round = round->number;
    own.w = v;
    own.b = b;
    pl_gradient_intercepts(&own, v, b);
    for (unsigned task = k * own.team->lanes; task < (k + 1) * own.team->lanes; task++) {
        own.seconds[task] = 0;
        pl_gradient_sample_task(&own, task);
    }
    pl_tree_add(pl_gradient_sum(&own, k * own.team->lanes), own.team->lanes, own.width * own.glm->base.size,
                own.glm->base.size);
    report_one(&own, k, 1, 2.0 * own.fraction, 0.0, update);
    return PARLEY_OK;
}

static const uint32_t *entries_read(const pl_local *local, unsigned worker, uint64_t *count) {
    const pl_gradient *self = (const pl_gradient *)local;
    bool sparse = self->support && self->support[worker];
    *count = sparse ? self->supported[worker] : self->glm->base.size;
    return sparse ? self->support[worker] : NULL;
}

static double evaluate_passes(const pl_local *local) {
    (void)local;
    return 2.0;
}

/* Computes margins along the direction. */
static void follow(pl_gradient *self, const double *direction) {
    pl_margins(self->glm, self->team, direction, self->dz);
    pl_gradient_intercepts(self, direction, self->db);
    self->followed = true;
}

/* Multiplies p by the curvature. */
static void product(pl_gradient *self, const double *p, pl_update *update) {
    self->w = pl_scaled(self->glm, p);
    if (self->turned)
        pl_float_table_take(self->w, self->glm->base.data->x.columns, self->glm->classes, self->turned);
    pl_team_run(self->team, pl_gradient_product_task, self);
    report(self, 1, 1.0, 0.0, update);
    if (self->long_rows && self->team->hosted > 0)
        precondition(self, p, update);
}

/* Sums loss and slope at v + gamma x the direction. */
static void probe(const pl_gradient *self, double gamma, pl_update *update) {
    double *sums = self->team->worker_sums;
    pl_gradient_probe(self, gamma, sums);
    for (unsigned k = 0; k < self->team->hosted; k++) {
        update[k].scalars[PL_SUM_LOSS] = sums[2 * k];
        update[k].scalars[PL_SUM_SLOPE] = sums[2 * k + 1];
    }
}

static void answer(pl_local *local, const pl_question *question, const double *direction, pl_update *update) {
    pl_gradient *self = (pl_gradient *)local;
    if (question->columns > 0) {
        product(self, direction, update);
        return;
    }
    if (question->moved)
        follow(self, direction);
    probe(self, pl_question_length(question), update);
}

static parley_status start(pl_local *local, const double *w, const double *rows, double *v, parley_error *error) {
    (void)rows;
    ((pl_gradient *)local)->stepped = false;
    return primal(local, w, v, error); /* v is the model */
}

static void commit(pl_local *local, unsigned worker, double gamma) {
    pl_gradient *self = (pl_gradient *)local;
    (void)worker;
    if (!self->followed) /* workers alone commit at the same time, and never follow */
        return;
    self->stepped = true;
    self->step = gamma;
}

/* Updated margins depend on the steps taken. Every worker saves the values that are common to all, because a rank may
 * have no worker. */
static void state(pl_local *local, pl_state *state) {
    pl_gradient *self = (pl_gradient *)local;
    for (unsigned k = 0; k < self->team->hosted; k++) {
        pl_state_of(state, "local", k);
        PL_STATE_VALUES(state, "margins", PL_WITHIN(self->stepped, 0, self->dz != NULL), PL_VALUE(self->step),
                        PL_WITHIN(self->carried, 0, CARRIES));
        if (self->centre) {
            PL_STATE_VALUES(state, "softness", PL_WITHIN(self->soft.mu, 0, DBL_MAX));
            pl_state_rows(state, self->team, "centre", self->centre, PL_F64, self->glm->classes);
        }
        if (self->ahead)
            PL_STATE_VALUES(state, "memory", PL_WITHIN(self->memory, 0, 1));
        if (self->ahead && self->stepped) {
            pl_state_rows(state, self->team, "bend", self->bend, PL_F64, self->glm->classes);
            pl_state_rows(state, self->team, "ahead", self->ahead, PL_F64, self->glm->classes);
        }
        if (!self->stepped || self->carried >= CARRIES)
            continue;
        pl_state_rows(state, self->team, "z", self->z, PL_F64, self->glm->classes);
        pl_state_rows(state, self->team, "dz", self->dz, PL_F64, self->glm->classes);
    }
}

/* Losses with kinks are smoothed for combines that use the curvature. */
static bool has_centres(const pl_setup *setup) {
    const pl_loss *loss = pl_glm_of(setup->problem)->loss;
    return loss->soften && !loss->smooth && setup->width > 1;
}

/* For products of several classes the curvature at whole steps is kept too. */
static bool remembers(const pl_setup *setup) {
    return pl_oracle_multiplies(setup) && pl_glm_of(setup->problem)->classes > 1;
}

/* Slopes of several classes, by lane. */
static uint64_t slopes(const pl_setup *setup) {
    uint64_t classes = pl_glm_of(setup->problem)->classes;
    return classes > 1 ? (uint64_t)setup->team->hosted * setup->team->lanes * PL_ROW_CHUNK * classes : 0;
}

/* Sums of pairs of classes, from which a lane computes the curvature of softmax. */
static uint64_t pairs(const pl_setup *setup) {
    const pl_glm *glm = pl_glm_of(setup->problem);
    pl_arrow shape = pl_curvature_shape(glm);
    uint64_t size = shape.core / shape.group;
    return pl_oracle_curves(setup) ? shape.group * (shape.group - 1) / 2 * size * size : 0;
}

/* Entries of a vector to be multiplied, in single precision. */
static uint64_t turned(const pl_setup *setup) {
    const pl_glm *glm = pl_glm_of(setup->problem);
    return remembers(setup) ? glm->base.data->x.columns * pl_float_stride(glm->classes) : 0;
}

static uint64_t bytes(const pl_setup *setup) {
    uint64_t lanes = (uint64_t)setup->team->hosted * setup->team->lanes;
    return (setup->problem->data->x.rows * pl_glm_of(setup->problem)->classes *
                (1u + (setup->wants != NULL) + pl_oracle_multiplies(setup) + remembers(setup) + has_centres(setup)) +
            lanes * (setup->width * setup->problem->size + pairs(setup)) + slopes(setup)) *
               sizeof(double) +
           turned(setup) * sizeof(float) +
           (pl_oracle_preconditions(setup) ? pl_softmax_preconditioner_bytes(pl_glm_of(setup->problem)) : 0);
}

static void close_gradient(pl_local *local) {
    pl_gradient *self = (pl_gradient *)local;
    if (!self)
        return;
    for (unsigned i = 0; self->outer && i < self->team->hosted * self->team->lanes; i++)
        pl_outer_close(&self->outer[i]);
    pl_free(self->dz);
    pl_free(self->centre);
    pl_free(self->bend);
    pl_free(self->ahead);
    pl_free(self->turned);
    pl_softmax_preconditioner_close(self->long_rows);
    pl_free(self->b);
    pl_free(self->db);
    pl_free(self->curvature);
    pl_free(self->slopes);
    pl_free(self->outer);
    pl_free(self->z);
    pl_free(self->sums);
    pl_free(self->sides);
    pl_free(self->seconds);
    for (unsigned k = 0; self->support && k < self->team->hosted; k++)
        pl_shared_free(self->team->engine, self->support[k]);
    pl_free(self->support);
    pl_free(self->supported);
    pl_free(self);
}

static parley_status open_outer(pl_gradient *self, parley_error *error) {
    unsigned lanes = self->team->hosted * self->team->lanes;
    uint64_t classes = self->glm->classes;
    pl_arrow shape = pl_curvature_shape(self->glm);
    parley_status status = pl_take(&self->outer, lanes, sizeof *self->outer, "curvature", error);
    if (status == PARLEY_OK && classes > 1)
        status = pl_take(&self->curvature, lanes * classes * classes, sizeof *self->curvature, "curvature", error);
    for (unsigned i = 0; i < lanes && status == PARLEY_OK; i++)
        status = pl_outer_open(&self->outer[i], &shape, self->glm->apart.place, self->glm->intercept != PL_NO_INTERCEPT,
                               pl_curvature_blocks(self->glm), error);
    return status;
}

/* What products of several classes need. */
static parley_status open_memory(pl_gradient *self, const pl_setup *setup, parley_error *error) {
    self->ahead = pl_alloc(self->glm->base.data->x.rows * self->glm->classes, sizeof *self->ahead);
    self->turned = pl_alloc(turned(setup), sizeof *self->turned);
    return self->ahead && self->turned ? PARLEY_OK : pl_fail_memory(error, "gradients", bytes(setup));
}

static parley_status open_gradient(const pl_setup *setup, pl_local **out, parley_error *error) {
    uint64_t classes = pl_glm_of(setup->problem)->classes, rows = setup->problem->data->x.rows * classes,
             lanes = (uint64_t)setup->team->hosted * setup->team->lanes;
    const pl_oracle *oracle = setup->wants;
    bool multiplies = pl_oracle_multiplies(setup);
    pl_gradient *self;
    parley_status status = pl_take(&self, 1, sizeof *self, "gradients", error);
    if (status != PARLEY_OK)
        return status;
    self->base.type = &pl_local_gradient;
    self->glm = pl_glm_of(setup->problem);
    self->team = setup->team;
    self->fraction = setup->settings->batch_fraction;
    self->width = setup->width;
    self->by_class = classes > 1 && !self->glm->loss->together && pl_oracle_curves(setup);
    self->z = pl_alloc(rows, sizeof *self->z);
    self->diagonal = multiplies;
    self->slopes_only = oracle && oracle->slopes_only;
    self->bend = multiplies ? pl_alloc(rows, sizeof *self->bend) : NULL;
    self->dz = oracle ? pl_alloc(rows, sizeof *self->dz) : NULL;
    self->centre = has_centres(setup) ? pl_alloc(rows, sizeof *self->centre) : NULL;
    self->soft.centre = self->centre;
    self->sums = pl_alloc(lanes * setup->width * setup->problem->size, sizeof *self->sums);
    self->slopes = slopes(setup) ? pl_alloc(slopes(setup), sizeof *self->slopes) : NULL;
    self->seconds = pl_alloc(lanes, sizeof *self->seconds);
    self->sides_each = classes > 1 ? pl_classes_sums(pl_glm_of(setup->problem)) : PL_ROW_SUMS;
    self->sides = pl_alloc((lanes + setup->team->hosted + 1) * self->sides_each, sizeof *self->sides);
    self->b = pl_alloc(classes, sizeof *self->b);
    self->db = pl_alloc(classes, sizeof *self->db);
    if (!self->b || !self->db || !self->sides || !self->z || (oracle && !self->dz) ||
        (has_centres(setup) && !self->centre) || (multiplies && !self->bend) || !self->sums || !self->seconds ||
        (slopes(setup) && !self->slopes))
        status = pl_fail_memory(error, "gradients", bytes(setup));
    if (status == PARLEY_OK && remembers(setup))
        status = open_memory(self, setup, error);
    if (status == PARLEY_OK && pl_oracle_preconditions(setup))
        status = pl_softmax_preconditioner_open(self->glm, &self->long_rows, error);
    if (status == PARLEY_OK && pl_oracle_curves(setup))
        status = open_outer(self, error);
    if (status != PARLEY_OK) {
        close_gradient(&self->base);
        return status;
    }
    *out = &self->base;
    return PARLEY_OK;
}

static double round_passes(const pl_local *local, double epochs) {
    (void)epochs;
    return ((const pl_gradient *)local)->fraction;
}

void pl_gradient_at(pl_local *local, const double *t) { ((pl_gradient *)local)->t = t; }

static const char *const reads[] = {"batch_fraction", "lanes", NULL};

static const pl_local_restart restart = {.start = start, .renew = renew};
static const pl_local_async async = {prepare_async, work_async, entries_read};

const pl_local_type pl_local_gradient = {
    .name = "gradient",
    .help = "gradient over all rows or a sample of them",
    .problem = &pl_problem_linear,
    .traits = PL_GIVES_GRADIENTS | PL_EVALUATES_GRADIENT,
    .settings = reads,
    .restart = &restart,
    .async = &async,
    .bytes = bytes,
    .open = open_gradient,
    .work = work,
    .evaluate = evaluate,
    .answer = answer,
    .certifies = certifies,
    .evaluate_passes = evaluate_passes,
    .round_passes = round_passes,
    .commit = commit,
    .primal = primal,
    .state = state,
    .close = close_gradient,
};
