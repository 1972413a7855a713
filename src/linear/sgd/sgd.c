/* sgd.c: stochastic gradient steps on a worker's own copy of v = w, row by row in shuffled order (sgd_step.c).
 *
 * Rates: rate, rate / (1 + passes), rate / sqrt(1 + passes), or each entry's own (adaptive.h). Averaged copies settle
 * at a distance from the optimum that grows with the rate: when the objective that the workers meet as they go has not
 * fallen for some rounds, the rate is halved; when it has risen far, the run goes back to where it was least. Without a
 * penalty a rate that was not given doubles as long as the objective falls fast, until it has been halved once.
 *
 * The certificate is the gradient solver's, t = -loss'(z). Where the loss is not smooth that never closes the gap:
 * there t is a running mean of the slopes that the steps met, which is as feasible as they are. */
#include "linear/sgd/sgd.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "base/stop.h"
#include "linear/newton/gradient.h"

#define PATIENCE 2.0   /* rounds without a new least objective, at the first rate */
#define SLOWER 1.5     /* and so many times more after each, when one has helped: smaller steps take longer */
#define FAR 2.0        /* times the least objective: diverging */
#define BACK_OFF 0.125 /* of the rate, then */
#define HALVINGS 40
#define STEADY                                                                                                         \
    0.03           /* of the objective, in a round: without a penalty the optimum may be infinitely far, and larger    \
                    */
#define FASTER 2.0 /* rates are tried while it falls by so much, until one has had to be halved */
#define CHUNK_SAMPLE 32               /* of the rows at the beginning of a chunk, one in so many is in the sample */
#define SAMPLE_STREAM 0x7761746368ULL /* apart from the streams that order rows */

static double rate_at(const pl_sgd *sgd, const pl_sgd_worker *worker, double passes) {
    switch (sgd->schedule) {
    case PL_INVERSE: return worker->rate / (1.0 + passes);
    case PL_INVERSE_SQRT: return worker->rate / sqrt(1.0 + passes);
    default: return worker->rate;
    }
}

static void begin_epoch(pl_sgd *sgd, pl_sgd_worker *worker, unsigned number) {
    pl_range range = {0, worker->count};
    if (worker->turns)
        range = pl_block_order_begin(worker->turns, sgd->team->seed, number, worker->epoch++, worker->buckets);
    else {
        pl_stream stream = pl_stream_make(sgd->team->seed, number, worker->epoch++);
        pl_shuffle(&stream, worker->buckets, worker->count);
    }
    worker->base = range.begin;
    worker->length = range.end - range.begin;
    worker->cursor = 0;
}

/* The next bucket; shuffles them when an epoch begins. */
static uint64_t next_bucket(pl_sgd *sgd, pl_sgd_worker *worker, unsigned number) {
    if (worker->cursor == worker->length || worker->epoch == 0)
        begin_epoch(sgd, worker, number);
    return worker->buckets[worker->base + worker->cursor++];
}

/* Passes over its rows, before the current bucket. */
static double passes_of(const pl_sgd_worker *worker) {
    double turns = (double)(worker->epoch - 1) + (double)(worker->cursor - 1) / (double)worker->length;
    return worker->turns ? turns / (double)worker->turns->blocks : turns;
}

static void make_steps(pl_sgd *sgd, unsigned k, const double *v) {
    pl_sgd_worker *worker = &sgd->workers[k];
    worker->v = v;
    double began = pl_engine_now(sgd->team->engine);
    pl_sgd_begin(sgd, worker);
    for (; worker->left > 0 && !pl_stop_due(); worker->left--) {
        uint64_t bucket = next_bucket(sgd, worker, sgd->team->first + k);
        pl_sgd_visit(sgd, worker, bucket, rate_at(sgd, worker, passes_of(worker)));
    }
    worker->shrink = sgd->in_place ? 1.0 : pl_sgd_end(sgd, worker);
    worker->seconds += pl_engine_now(sgd->team->engine) - began;
}

static void work_task(void *context, unsigned k) {
    pl_sgd *sgd = context;
    make_steps(sgd, k, sgd->v);
}

static void set_steps(pl_sgd *sgd, unsigned k, const pl_round *round) {
    pl_sgd_worker *worker = &sgd->workers[k];
    double rows = (double)sgd->team->rows[k];
    double buckets = rows > 0 ? ceil(pl_round_steps(round, rows) / rows * (double)worker->count - 1e-9) : 0;
    worker->left = buckets < 1 && rows > 0 ? 1 : (uint64_t)buckets;
}

static void report(const pl_sgd *sgd, unsigned k, pl_update *update) {
    const pl_team *team = sgd->team;
    const pl_sgd_worker *worker = &sgd->workers[k];
    *update = (pl_update){.shrink = worker->shrink,
                          .weight = team->weight[k],
                          .count = sgd->in_place ? 0 : worker->supported,
                          .index = worker->support,
                          .value = worker->change,
                          .seconds = worker->seconds,
                          .passes = team->nonzeros[k] ? worker->touched / (double)team->nonzeros[k]
                                    : team->rows[k]   ? (double)worker->steps / (double)team->rows[k]
                                                      : 0.0};
}

/* q loss of a row at v. */
static double row_loss(const pl_sgd *sgd, uint64_t i) {
    const pl_glm *glm = sgd->glm;
    double slope, curvature, b = glm->intercept == PL_NO_INTERCEPT ? 0.0 : sgd->v[glm->base.data->x.columns];
    return pl_share(glm, i) * glm->loss->expand(glm->loss, pl_row_dot(glm, i, sgd->v) + b + pl_offset(glm, i),
                                                pl_target(glm, i), &slope, &curvature);
}

/* Loss of a worker's part of the sample. Rows at random distances: labels in files may take turns. */
static double sample_rows(const pl_sgd *sgd, unsigned k) {
    pl_stream stream = pl_stream_make(sgd->team->seed ^ SAMPLE_STREAM, sgd->team->first + k, 0);
    double sum = 0;
    for (unsigned p = k * sgd->team->lanes; p < (k + 1) * sgd->team->lanes; p++)
        for (uint64_t r = 0; r < sgd->team->parts[p].count; r++) {
            pl_range range = sgd->team->parts[p].ranges[r];
            uint64_t i = range.begin + pl_random_below(&stream, sgd->stride);
            for (; i < range.end && !pl_stop_due(); i += 1 + pl_random_below(&stream, 2 * sgd->stride - 1))
                sum += row_loss(sgd, i);
        }
    return sum * (double)sgd->stride;
}

/* The same on the first rows of every chunk, because reading single rows takes as long as reading all. */
static double sample_chunks(const pl_sgd *sgd, const pl_block_order *turns) {
    double sum = 0, rows = 0, sampled = 0;
    for (uint64_t c = 0; c < turns->count && !pl_stop_due(); c++) {
        uint64_t number = 0, first = turns->chunks[c].first;
        pl_range range;
        pl_row_block_next(&turns->chunks[c], &number, &range);
        uint64_t end = first + (range.end - first + CHUNK_SAMPLE - 1) / CHUNK_SAMPLE;
        pl_data_ahead(sgd->glm->base.data, first, end);
        for (uint64_t i = first; i < end; i++)
            sum += row_loss(sgd, i);
        pl_row_block_leave(sgd->glm->base.data, &turns->chunks[c]);
        rows += (double)turns->chunks[c].rows;
        sampled += (double)(end - first);
    }
    return sampled > 0 ? sum * rows / sampled : 0.0;
}

/* Loss of a worker's part of the sample at v. */
static void sample_task(void *context, unsigned k) {
    pl_sgd *sgd = context;
    double began = pl_engine_now(sgd->team->engine);
    sgd->team->worker_sums[k] = sgd->turns ? sample_chunks(sgd, &sgd->turns[k]) : sample_rows(sgd, k);
    sgd->workers[k].seconds = pl_engine_now(sgd->team->engine) - began;
}

static bool halve(pl_sgd *sgd, double factor) {
    if (sgd->halved == HALVINGS)
        return false;
    sgd->halved++;
    sgd->rate *= factor;
    sgd->rose = false;
    sgd->since = 0;
    sgd->patience *= sgd->helped ? SLOWER : 1.0;
    sgd->age = (sgd->age + 1) / 2; /* old dual variables are further off than new ones */
    return true;
}

parley_status pl_sgd_look(pl_sgd *sgd, double *v, double *objective, parley_error *error) {
    sgd->v = v;
    sgd->team->engine->type->run(sgd->team->engine, sample_task, sgd, sgd->team->hosted);
    parley_status status = pl_team_sum(sgd->team, sgd->team->worker_sums, 1, objective, error);
    *objective += pl_penalty(sgd->glm, v, 0, sgd->glm->base.size);
    return status;
}

/* A new least objective. Does it still fall fast? Then a larger rate may be better. */
static void note_least(pl_sgd *sgd, const double *v, double found) {
    bool first = !isfinite(sgd->least), decays = sgd->schedule == PL_INVERSE || sgd->schedule == PL_INVERSE_SQRT;
    sgd->steady = !first && sgd->least - found <= STEADY * fabs(sgd->least);
    sgd->rose = !first && !sgd->steady && sgd->may_rise && sgd->halved == 0 && !pl_sgd_adapts(sgd) && !decays;
    sgd->rate *= sgd->rose ? FASTER : 1.0;
    sgd->since = 0;
    sgd->helped = sgd->helped || !first;
    sgd->least = found;
    memcpy(sgd->v_least, v, sgd->glm->base.size * sizeof *v);
}

/* How good v is, on a sample: decides on the rate, and whether to go back. */
static parley_status watch(pl_sgd *sgd, double *v, parley_error *error) {
    const pl_glm *glm = sgd->glm;
    bool decays = sgd->schedule == PL_INVERSE || sgd->schedule == PL_INVERSE_SQRT;
    double found;
    parley_status status = pl_sgd_look(sgd, v, &found, error);
    if (status != PARLEY_OK)
        return status;
    bool far = !(found <= FAR * sgd->least);
    bool none = !sgd->helped && glm->base.l1 == 0; /* L1 penalises the noise of the last few rows, at any rate */
    if (found < sgd->least)
        note_least(sgd, v, found);
    else if (far || sgd->rose || none) {
        memcpy(v, sgd->v_least, glm->base.size * sizeof *v);
        halve(sgd, far ? BACK_OFF : 0.5);
    } else
        sgd->since++;
    bool idle = sgd->boost > 1.0 && sgd->steady; /* what was good for the first steps has done its work */
    sgd->boost *= idle ? 0.5 : 1.0;
    sgd->rate *= idle ? 0.5 : 1.0;
    if (sgd->since >= sgd->patience && !decays)
        halve(sgd, 0.5);
    return status;
}

static void begin_run(pl_sgd *sgd, double *v) {
    sgd->v = v;
    if (!sgd->started)
        memcpy(v, sgd->v_least, sgd->glm->base.size * sizeof *v);
    sgd->started = true;
    sgd->patience = fmax(sgd->patience, PATIENCE);
}

static parley_status work(pl_local *local, const pl_round *round, double *v, pl_update *update,
                          pl_evaluation *evaluation, parley_error *error) {
    pl_sgd *sgd = (pl_sgd *)local;
    pl_engine *engine = sgd->team->engine;
    (void)evaluation;
    begin_run(sgd, v);
    double rows = (double)sgd->team->all_rows / sgd->team->workers;
    parley_status status = PARLEY_OK;
    for (unsigned k = 0; k < sgd->team->hosted; k++) {
        sgd->workers[k].seconds = 0;
        set_steps(sgd, k, round);
    }
    if (sgd->worked == 0) {
        sgd->age++;
        status = watch(sgd, v, error);
    }
    sgd->worked += pl_round_steps(round, rows) / rows;
    if (sgd->worked > 1.0 - 1e-9) /* shorter rounds are watched once an epoch, because that costs a part of one */
        sgd->worked = 0;
    if (status != PARLEY_OK)
        return status;
    for (unsigned k = 0; k < sgd->team->hosted; k++) {
        sgd->workers[k].rate = sgd->rate;
        sgd->workers[k].age = sgd->age;
    }
    engine->type->run(engine, work_task, sgd, sgd->team->hosted);
    for (unsigned k = 0; k < sgd->team->hosted; k++)
        report(sgd, k, &update[k]);
    return status;
}

/* The same watch as over rounds. */
static parley_status prepare_async(pl_local *local, double *v, parley_error *error) {
    pl_sgd *sgd = (pl_sgd *)local;
    begin_run(sgd, v);
    sgd->age++;
    return watch(sgd, v, error);
}

/* Nothing is watched here: the worker's own passes and the schedule decide the steps. */
static parley_status work_async(pl_local *local, unsigned k, const pl_round *round, double *v, pl_update *update,
                                parley_error *error) {
    pl_sgd *sgd = (pl_sgd *)local;
    (void)error;
    pl_sgd_worker *worker = &sgd->workers[k];
    worker->seconds = 0;
    worker->rate = sgd->rate;
    worker->age = (worker->turns && worker->turns->blocks ? worker->epoch / worker->turns->blocks : worker->epoch) + 1;
    set_steps(sgd, k, round);
    make_steps(sgd, k, v);
    report(sgd, k, update);
    return PARLEY_OK;
}

static void add_sides(const void *context, uint64_t i, double *sums) {
    const pl_sgd *sgd = context;
    sums[sgd->t[i] > 0] += pl_share(sgd->glm, i) * fabs(sgd->t[i]);
}

/* A free intercept wants sum q t = 0: the heavier side of the means is scaled down. */
static parley_status even_out(pl_sgd *sgd, parley_error *error) {
    double sums[2] = {0}, scale[2] = {1.0, 1.0};
    parley_status status = pl_total_rows(sgd->team, add_sides, sgd, 2, sums, error);
    if (sgd->glm->intercept == PL_FREE && sums[0] != sums[1])
        scale[sums[1] > sums[0]] = fmin(sums[0], sums[1]) / fmax(sums[0], sums[1]);
    for (uint64_t i = 0; i < sgd->glm->base.data->x.rows; i++)
        sgd->t_even[i] = sgd->t[i] * scale[sgd->t[i] > 0];
    return status;
}

static parley_status evaluate(pl_local *local, const double *v, double *w, pl_update *update, pl_evaluation *evaluation,
                              parley_error *error) {
    pl_sgd *sgd = (pl_sgd *)local;
    parley_status status = sgd->t ? even_out(sgd, error) : PARLEY_OK;
    return status == PARLEY_OK ? pl_local_gradient.evaluate(sgd->gradient, v, w, update, evaluation, error) : status;
}

/* Two passes that only read, in order, cost four fifths of one that steps. */
static double evaluate_passes(const pl_local *local) {
    (void)local;
    return 0.8;
}

static void commit(pl_local *local, unsigned worker, double gamma) { (void)local, (void)worker, (void)gamma; }

static parley_status primal(const pl_local *local, const double *v, double *w, parley_error *error) {
    (void)error;
    memcpy(w, v, ((const pl_sgd *)local)->glm->base.size * sizeof *w);
    return PARLEY_OK;
}

static parley_status start(pl_local *local, const double *w, const double *rows, double *v, parley_error *error) {
    (void)rows;
    pl_sgd *sgd = (pl_sgd *)local;
    (void)error;
    memcpy(v, w, sgd->glm->base.size * sizeof *v);
    memcpy(sgd->v_least, w, sgd->glm->base.size * sizeof *v);
    sgd->least = INFINITY;
    sgd->started = true;
    return PARLEY_OK;
}

static bool stalled(pl_local *local) { return halve((pl_sgd *)local, 0.5); }

static void state(pl_local *local, pl_state *state) {
    pl_sgd *sgd = (pl_sgd *)local;
    unsigned schedule = sgd->schedule, first = sgd->asked, last = sgd->asked;
    if (sgd->asked == PL_ANY) {
        first = PL_CONSTANT;
        last = sgd->may_adapt ? PL_NORMALISED : PL_CONSTANT;
    }
    PL_STATE_VALUES(state, "rates", PL_WITHIN(sgd->rate, 0, DBL_MAX), PL_WITHIN(schedule, first, last),
                    PL_WITHIN(sgd->worked, 0, PL_MOST_WHOLE), PL_VALUE(sgd->age), PL_UNSURE(sgd->least),
                    PL_WITHIN(sgd->since, 0, PL_MOST_WHOLE), PL_WITHIN(sgd->patience, 0, DBL_MAX),
                    PL_VALUE(sgd->helped), PL_WITHIN(sgd->halved, 0, HALVINGS), PL_VALUE(sgd->started),
                    PL_WITHIN(sgd->boost, 0, DBL_MAX), PL_VALUE(sgd->rose), PL_VALUE(sgd->steady));
    if (schedule != (unsigned)sgd->schedule)
        pl_sgd_place(sgd, (pl_schedule)schedule);
    pl_state_array(state, "v_least", sgd->v_least, PL_F64, sgd->glm->base.size);
    for (unsigned k = 0; k < sgd->team->hosted; k++) {
        pl_sgd_worker *worker = &sgd->workers[k];
        pl_state_of(state, "local", k);
        PL_STATE_VALUES(state, "worker", PL_WITHIN(worker->cursor, 0, worker->count), PL_VALUE(worker->epoch),
                        PL_WITHIN(worker->rows_seen, 0, DBL_MAX), PL_WITHIN(worker->norms, 0, DBL_MAX));
        pl_bucket_state(state, sgd->team, k, worker->buckets, worker->count);
        if (worker->turns && state->restoring && worker->epoch > 0)
            pl_block_order_restore(worker->turns, state, sgd->team, k, worker->epoch - 1, worker->cursor, &worker->base,
                                   &worker->length);
        if (sgd->t)
            pl_state_rows(state, sgd->team, "t", sgd->t, PL_F64, 1);
        if (!worker->cells)
            continue;
        pl_state_items(state, "sums", &worker->cells->sum, PL_F32, 1, sizeof *worker->cells, worker->support,
                       worker->supported);
        pl_state_items(state, "scales", &worker->cells->scale, PL_F32, 1, sizeof *worker->cells, worker->support,
                       worker->supported);
    }
}

static parley_status check(const parley_settings *settings, bool in_place, parley_error *error) {
    bool adapts = settings->schedule >= PL_ADAGRAD;
    if (pl_linear_settings_of(settings)->average_iterates &&
        (adapts || in_place || pl_linear_settings_of(settings)->l1_ratio > 0))
        return pl_fail(error, PARLEY_BAD_USAGE, "--average-iterates takes %s; leave one of them out",
                       adapts     ? "no adaptive schedule"
                       : in_place ? "no exchange shared, which has no iterates of one worker"
                                  : "no L1 penalty");
    if (pl_linear_settings_of(settings)->reweight && (adapts || in_place))
        return pl_fail(error, PARLEY_BAD_USAGE, "--reweight takes %s; leave one of them out",
                       adapts ? "no adaptive schedule" : "no exchange shared, whose workers have no shards to weigh");
    if (in_place && adapts)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "exchange shared takes no adaptive schedule; use --schedule constant, or --preset ma-sgd");
    return PARLEY_OK;
}

static const char *const reads[] = {"local_epochs", "local_steps", "rate",  "schedule", "average_iterates",
                                    "reweight",     "lanes",       "block", NULL};

static const uint32_t *entries_read(const pl_local *local, unsigned worker, uint64_t *count) {
    const pl_sgd_worker *of = &((const pl_sgd *)local)->workers[worker];
    *count = of->support ? of->supported : ((const pl_sgd *)local)->glm->base.size;
    return of->support;
}

static const pl_local_restart restart = {.start = start};
static const pl_local_async async = {prepare_async, work_async, entries_read};

const pl_local_type pl_local_sgd = {
    .name = "sgd",
    .help = "stochastic gradient steps on the worker's own copy of the model",
    .problem = &pl_problem_linear,
    .needs = PL_FACT_ONE_OUTPUT | PL_FACT_EVEN | PL_FACT_SIGNED,
    .traits = PL_GIVES_CHANGES | PL_EVALUATES_GRADIENT | PL_STEPS_IN_V | PL_MAY_BE_ADDED,
    .settings = reads,
    .restart = &restart,
    .async = &async,
    .check = check,
    .bytes = pl_sgd_bytes,
    .open = pl_sgd_open,
    .work = work,
    .evaluate = evaluate,
    .evaluate_passes = evaluate_passes,
    .commit = commit,
    .primal = primal,
    .stalled = stalled,
    .state = state,
    .close = pl_sgd_close,
};
