/* linear_path.c: a path of lambdas, as in glmnet (Friedman, Hastie and Tibshirani 2010).
 *
 * The largest lambda is the smallest at which w = 0 is optimal, max_j |sum_i q_i loss'(b) x_ij| / l1_ratio. Without L1
 * there is none, and a ratio of 0.001 is used instead. The others decrease evenly on a log scale. Data, shards and
 * solver are set up once, and each lambda starts from the solution of the one before. */
#include "linear/path/linear_path.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stop.h"
#include "linear/model/linear_model.h"
#include "linear/rows/classes.h"
#include "shard/distributed.h"
#include "shard/fingerprint.h"
#include "train/run.h"

#define LEAST_RATIO 1e-3 /* least l1_ratio in the formula of the largest lambda */
#define LEAST_POINTS 5   /* a path does not end before this many lambdas */
#define GROWTH 1e-5      /* relative growth of the share explained below which a path ends */
#define ENOUGH 0.999     /* share explained at which a path ends */
#define PATH_GAP 1e-6    /* default of --gap: neighbours on a path differ by less than train's default */
#define MOST_STALLED 3   /* lambdas in a row that stall end a path */
#define PATH_ROUNDS 2000 /* default of --rounds: a lambda that needs more is out of reach */
#define MOST_LIST 10000

static int falling(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left < right) - (left > right);
}

parley_status pl_path_numbers(const char *option, const char *words, double least, double most, double **numbers,
                              uint64_t *count, parley_error *error) {
    *numbers = NULL;
    *count = 0;
    if (!*words)
        return PARLEY_OK;
    parley_status status = pl_take(numbers, MOST_LIST, sizeof **numbers, "a list of numbers", error);
    for (const char *word = words; status == PARLEY_OK && *word;) {
        char *end;
        double number = strtod(word, &end);
        if (end == word || (*end && *end != ',') || !(number >= least && number <= most) || *count == MOST_LIST)
            status = pl_fail(error, PARLEY_BAD_USAGE, "--%s: %.40s: must be a list of at most %d %s, such as 0.1,0.01",
                             option, word, MOST_LIST, least > 0 ? "positive numbers" : "numbers from 0 to 1");
        else
            (*numbers)[(*count)++] = number;
        word = *end ? end + 1 : end;
    }
    if (status != PARLEY_OK) {
        pl_free(*numbers);
        *numbers = NULL;
    }
    return status;
}

parley_status pl_path_list(const parley_settings *settings, double **lambdas, uint64_t *count, parley_error *error) {
    parley_status status = pl_path_numbers("lambda-list", pl_linear_settings_of(settings)->lambda_list, DBL_TRUE_MIN,
                                           DBL_MAX, lambdas, count, error);
    if (status == PARLEY_OK && *lambdas)
        qsort(*lambdas, *count, sizeof **lambdas, falling);
    return status;
}

parley_status pl_path_check(const parley_settings *settings, parley_error *error) {
    double *lambdas;
    uint64_t count;
    if (*pl_linear_settings_of(settings)->lambda_list &&
        (pl_setting_given(settings, "lambdas") || pl_setting_given(settings, "lambda_ratio")))
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--lambda-list already sets every lambda; leave out --lambdas and "
                       "--lambda-ratio");
    if (pl_stream_of(settings))
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "preset %s reads a stream and cannot compute a path; use --preset auto, or parley train",
                       settings->preset);
    if (*settings->checkpoint || *settings->resume)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "a path cannot be saved in checkpoints by --checkpoint and --resume; train at the lambda you "
                       "want, or shorten the path with --lambda-list");
    parley_status status = pl_path_list(settings, &lambdas, &count, error);
    pl_free(lambdas);
    return status == PARLEY_OK ? pl_train_check(settings, error) : status;
}

typedef struct slopes {
    const pl_glm *glm;
    double *b, *z, *a; /* intercepts; margins without them, which are 0; q slope by row */
} slopes;

static void slope_row(const void *context, uint64_t i, double *sums) {
    const slopes *slopes = context;
    const pl_glm *glm = slopes->glm;
    double curvature, *a = slopes->a + i * glm->classes;
    (void)sums;
    if (glm->classes > 1)
        pl_classes_visit(glm, i, slopes->z, slopes->b, NULL, a, NULL);
    else
        glm->loss->expand(glm->loss, *slopes->b + pl_offset(glm, i), pl_target(glm, i), a, &curvature);
    for (uint64_t c = 0; c < glm->classes; c++)
        a[c] *= pl_share(glm, i);
}

/* Computes the largest |gradient| over penalised columns, by rows. */
static parley_status largest_by_rows(const pl_run *run, slopes *slopes, double *largest, parley_error *error) {
    const pl_glm *glm = pl_glm_of(run->problem);
    double *gradient, none;
    parley_status status = pl_take(&gradient, glm->base.size, sizeof *gradient, "the path", error);
    if (status == PARLEY_OK)
        status = pl_total_rows(&run->rows.team, slope_row, slopes, 1, &none, error);
    if (status == PARLEY_OK)
        status = pl_weighted_rows(glm, &run->rows.team, slopes->a, gradient, error);
    if (status == PARLEY_OK)
        *largest = pl_largest(glm, gradient, -1.0, 0, glm->base.size);
    pl_free(gradient);
    return status;
}

/* The same by columns, of which each rank has its own. */
static parley_status largest_by_columns(const pl_run *run, slopes *slopes, double *largest, parley_error *error) {
    const pl_glm *glm = pl_glm_of(run->problem);
    const pl_matrix *x = &run->rows.by_column.x;
    double sum = 0, *all;
    uint64_t *bounds;
    for (uint64_t i = 0; i < glm->base.data->x.rows; i++) {
        slope_row(slopes, i, NULL);
        sum += slopes->a[i];
    }
    *largest = glm->intercept == PL_PENALISED ? fabs(sum) : 0.0;
    for (uint64_t j = 0; j < x->rows; j++) {
        uint64_t begin = x->start[j];
        double dot =
            pl_sparse_dot(x->index + begin, pl_values_from(x->values, begin), x->start[j + 1] - begin, slopes->a);
        *largest = fmax(*largest, fabs(dot) * pl_column_scale(glm, j));
    }
    if (run->engine->ranks == 1)
        return PARLEY_OK;
    parley_status status = pl_take(&bounds, (uint64_t)run->engine->ranks + 1, sizeof *bounds, "the path", error);
    if (status != PARLEY_OK)
        return status;
    status = pl_gather_lists(run->engine, largest, 1, &all, bounds, error);
    for (unsigned r = 0; r < run->engine->ranks && status == PARLEY_OK; r++)
        *largest = fmax(*largest, all[r]);
    pl_free(all);
    pl_free(bounds);
    return status;
}

/* Finds the smallest lambda at which w = 0 is optimal. */
static parley_status largest_lambda(const pl_run *run, double *lambda, parley_error *error) {
    const pl_glm *glm = pl_glm_of(run->problem);
    uint64_t classes = glm->classes;
    slopes slopes = {.glm = glm};
    parley_status status = pl_take(&slopes.a, glm->base.data->x.rows * classes, sizeof(double), "the path", error);
    if (status == PARLEY_OK)
        status = pl_take(&slopes.z, 2 * classes, sizeof(double), "the path", error);
    slopes.b = slopes.z ? slopes.z + classes : NULL;
    if (status == PARLEY_OK && glm->intercept == PL_FREE)
        memcpy(slopes.b, run->best.w + glm->base.data->x.columns * classes, classes * sizeof *slopes.b);
    if (status == PARLEY_OK)
        status = run->setup.by_column ? largest_by_columns(run, &slopes, lambda, error)
                                      : largest_by_rows(run, &slopes, lambda, error);
    if (status == PARLEY_OK) {
        *lambda /= fmax(glm->l1_ratio, LEAST_RATIO);
        if (!(*lambda > 0))
            status =
                pl_fail(error, PARLEY_BAD_INPUT,
                        "%s: all columns are uncorrelated with the labels, so there is no path", run->rows.data->path);
    }
    pl_free(slopes.a);
    pl_free(slopes.z);
    return status;
}

static parley_status make_lambdas(pl_run *run, double **lambdas, uint64_t *count, parley_error *error) {
    const parley_settings *settings = run->settings;
    double first, ratio = pl_linear_settings_of(settings)->lambda_ratio;
    parley_status status = pl_path_list(settings, lambdas, count, error);
    if (status != PARLEY_OK || *count > 0)
        return status;
    status = largest_lambda(run, &first, error);
    if (status == PARLEY_OK)
        status = pl_take(lambdas, pl_linear_settings_of(settings)->lambdas, sizeof **lambdas, "lambdas", error);
    if (status != PARLEY_OK)
        return status;
    if (isnan(ratio))
        ratio = pl_all_rows(run->rows.data) < run->rows.data->x.columns ? 1e-2 : 1e-4;
    *count = pl_linear_settings_of(settings)->lambdas;
    for (uint64_t k = 0; k < *count; k++)
        (*lambdas)[k] = first * pow(ratio, *count > 1 ? (double)k / (double)(*count - 1) : 0.0);
    return PARLEY_OK;
}

static parley_status open_path(const pl_run *run, const pl_path_plan *plan, uint64_t count, pl_path **out,
                               parley_error *error) {
    const pl_glm *glm = pl_glm_of(run->problem);
    pl_path *path;
    parley_status status = pl_take(&path, 1, sizeof *path, "the path", error);
    if (status != PARLEY_OK)
        return status;
    path->outputs = glm->classes;
    path->uneven = pl_is_uneven(glm);
    path->columns = glm->base.data->x.columns;
    status = pl_take(&path->points, count, sizeof *path->points, "the path", error);
    if (status == PARLEY_OK && !plan->points_only)
        status = pl_take(&path->coef, count, sizeof *path->coef, "the path's models", error);
    if (status == PARLEY_OK && !plan->points_only)
        status = pl_take(&path->intercept, count * path->outputs, sizeof *path->intercept, "the path's models", error);
    if (status != PARLEY_OK) {
        parley_path_free(path);
        return status;
    }
    *out = path;
    return PARLEY_OK;
}

/* Keeps the model that the run found, and its results. */
static parley_status keep_point(pl_run *run, const parley_data *rows, pl_path *path, parley_error *error) {
    const parley_summary *summary = &run->summary;
    pl_point *point = &path->points[path->count];
    parley_model *model;
    *point = (pl_point){.lambda = pl_glm_of(run->problem)->lambda,
                        .objective = summary->objective,
                        .dual = summary->dual,
                        .gap = summary->gap,
                        .relative_gap = summary->relative_gap,
                        .explained = run->best.scale > 0 ? 1.0 - run->best.value / run->best.scale : 0.0,
                        .metric = NAN,
                        .rounds = summary->rounds,
                        .stop = summary->stop};
    parley_status status = run->type->model(run->problem, run->best.w, &model, error);
    if (status != PARLEY_OK)
        return status;
    const pl_linear_model *linear = pl_linear(model);
    uint64_t size = path->outputs * path->columns;
    for (uint64_t j = 0; j < size; j++)
        point->nonzeros += linear->coef[j] != 0;
    if (path->coef) {
        status = pl_kept_open(&path->coef[path->count], linear->coef, size, error);
        memcpy(path->intercept + path->count * path->outputs, linear->intercept, path->outputs * sizeof(double));
    }
    if (rows && status == PARLEY_OK)
        status = pl_score_model(run->validation.score, run->engine, model, rows, &point->metric, error);
    parley_model_free(model);
    path->count++;
    path->summary = *summary;
    return status;
}

/* Whether the share explained no longer grows. Nothing is concluded from a lambda at which the last model was already
 * good enough, nor from columns of very different scale, of which the smaller ones may matter only further on. */
static bool grown(const pl_path *path) {
    if (path->count < LEAST_POINTS || path->uneven || path->points[path->count - 1].rounds == 0)
        return false;
    double now = path->points[path->count - 1].explained, before = path->points[path->count - 2].explained;
    return now > ENOUGH || now - before < GROWTH * now;
}

/* Whether the latest lambdas all stalled, or took more rounds than is reasonable. The next ones, which are harder,
 * would too. */
static bool is_stuck(const pl_run *run, const pl_path *path) {
    bool limited = !pl_setting_given(run->settings, "rounds");
    uint64_t count = 0;
    for (; count < path->count && count < MOST_STALLED; count++) {
        parley_stop stop = path->points[path->count - 1 - count].stop;
        if (stop != PARLEY_STALLED && !(limited && stop == PARLEY_ROUNDS))
            break;
    }
    return count == MOST_STALLED;
}

/* Changes lambda. */
static parley_status penalise(pl_run *run, double lambda, parley_error *error) {
    return pl_glm_penalise(pl_glm_of(run->problem), lambda, error);
}

static parley_status walk(pl_run *run, const pl_path_plan *plan, const double *lambdas, uint64_t count,
                          const parley_data *rows, pl_path *path, parley_error *error) {
    parley_status status = PARLEY_OK;
    for (uint64_t k = 0; k < count && status == PARLEY_OK && !path->ended && !path->interrupted; k++) {
        double began = pl_engine_now(run->engine);
        run->told.part = k + 1;
        run->told.parts = count;
        status = penalise(run, lambdas[k], error);
        if (status == PARLEY_OK)
            status = pl_run_renew(run, error);
        run->summary.evaluate_seconds += pl_engine_now(run->engine) - began;
        if (status == PARLEY_OK)
            status = pl_run_loop(run, error);
        began = pl_engine_now(run->engine);
        if (status == PARLEY_OK)
            status = keep_point(run, rows, path, error);
        path->summary.evaluate_seconds = run->summary.evaluate_seconds += pl_engine_now(run->engine) - began;
        if (status == PARLEY_STOPPED && path->count > 0) { /* the points so far are kept */
            status = PARLEY_OK;
            path->summary.stop = run->summary.stop = PARLEY_INTERRUPTED;
        }
        path->interrupted = run->summary.stop == PARLEY_INTERRUPTED || run->summary.stop == PARLEY_SECONDS;
        path->stuck = !plan->all && k + 1 < count && is_stuck(run, path);
        path->ended = path->stuck || (!plan->all && k + 1 < count && grown(path));
    }
    return status == PARLEY_OK && !plan->points_only ? pl_run_model(run, &path->model, error) : status;
}

/* Chooses the rows to measure on. The loop itself does not use these rows. */
static const parley_data *take_rows(pl_run *run, const pl_path_plan *plan) {
    const parley_data *rows = plan->score ? plan->score : run->validation.rows;
    run->validation.rows = NULL;
    return rows;
}

static parley_status run_path(pl_run *run, const parley_data *data, const parley_settings *settings,
                              const pl_path_plan *plan, pl_path **out, parley_error *error) {
    double *lambdas = NULL;
    uint64_t count = plan->count;
    const parley_data *rows = NULL;
    bool goes_on;
    parley_settings *copy;
    parley_status status = pl_settings_copy(settings, &copy, error);
    if (status != PARLEY_OK)
        return status;
    copy->log = ""; /* the log is opened at the first lambda */
    if (!pl_setting_given(settings, "gap"))
        copy->gap = PATH_GAP;
    if (!pl_setting_given(settings, "rounds"))
        copy->rounds = PATH_ROUNDS;
    run->told.wanted = *settings->log;
    if (*settings->log) /* before rows move to other ranks */
        status = pl_fingerprint(run->engine, data, &run->fingerprint, error);
    if (status == PARLEY_OK)
        status = pl_run_open(run, data, copy, error);
    parley_settings_free(copy);
    if (status == PARLEY_OK && !plan->lambdas)
        status = make_lambdas(run, &lambdas, &count, error);
    if (status == PARLEY_OK)
        rows = take_rows(run, plan);
    if (status == PARLEY_OK && !pl_setting_given(settings, "evaluate_every"))
        run->settings->evaluate_every = 0;
    if (status == PARLEY_OK)
        status = pl_run_lock(run, settings->log, &run->locks[0], error);
    if (status == PARLEY_OK && run->engine->rank == 0)
        status = pl_log_open(settings->log, 0, &run->log, &goes_on, error);
    if (status == PARLEY_OK)
        status = open_path(run, plan, count, out, error);
    if (status == PARLEY_OK)
        status = walk(run, plan, plan->lambdas ? plan->lambdas : lambdas, count, rows, *out, error);
    if (status == PARLEY_OK && rows)
        (*out)->metric = run->validation.score->name;
    pl_free(lambdas);
    return status;
}

/* What may help the first lambda that ended before its target. */
static void suggest(pl_run *run, const parley_settings *settings, pl_path *path) {
    uint64_t k = 0;
    parley_settings *copy;
    while (k < path->count && path->points[k].stop == PARLEY_CONVERGED)
        k++;
    if (k == path->count || pl_settings_copy(settings, &copy, NULL) != PARLEY_OK)
        return;
    pl_linear_settings_in(copy)->lambda = path->points[k].lambda;
    copy->gap = run->target;
    parley_stop last = path->summary.stop;
    path->summary.stop = path->points[k].stop;
    pl_remedies(run, copy, &path->summary);
    path->summary.stop = last;
    parley_settings_free(copy);
}

parley_status pl_path_rank(pl_engine *engine, const parley_data *data, const parley_settings *settings,
                           const pl_path_plan *plan, parley_callback callback, void *user, pl_path **out,
                           parley_error *error) {
    pl_run run = {.engine = engine, .callback = callback, .user = user, .many = true};
    *out = NULL;
    parley_status status = run_path(&run, data, settings, plan, out, error);
    if (status == PARLEY_OK && (!plan->points_only || (*out)->stuck))
        suggest(&run, settings, *out);
    if (status != PARLEY_OK) {
        parley_path_free(*out);
        *out = NULL;
    }
    pl_run_close(&run);
    return status;
}

/* A call of pl_path_run. The path is that of the first rank of this process. */
typedef struct call {
    const parley_data *data;
    const parley_settings *settings;
    const pl_path_plan *plan;
    parley_callback callback;
    void *user;
    pl_path **out;
} call;

static parley_status path_body(pl_engine *engine, void *context, parley_error *error) {
    const call *call = context;
    if (engine->here == 0)
        return pl_path_rank(engine, call->data, call->settings, call->plan, call->callback, call->user, call->out,
                            error);
    pl_path *path;
    parley_status status = pl_path_rank(engine, call->data, call->settings, call->plan, NULL, NULL, &path, error);
    parley_path_free(path);
    return status;
}

parley_status pl_path_run(const parley_settings *machine, const parley_data *data, const parley_settings *settings,
                          const pl_path_plan *plan, parley_callback callback, void *user, pl_path **out,
                          parley_error *error) {
    call call = {data, settings, plan, callback, user, out};
    *out = NULL;
    parley_status status = pl_launch(machine, (pl_job){path_body, NULL, &call}, error);
    if (status != PARLEY_OK) {
        parley_path_free(*out);
        *out = NULL;
    }
    return status;
}

parley_status parley_path(const parley_data *data, const parley_settings *settings, parley_callback callback,
                          void *user, parley_path_result **out, parley_summary *summary, parley_error *error) {
    pl_path_plan plan = {.all = pl_linear_settings_of(settings)->full_path};
    *out = NULL;
    pl_stop_enter();
    parley_status status = pl_path_check(settings, error);
    if (status == PARLEY_OK)
        status = pl_data_teaches(data, true, error);
    if (status == PARLEY_OK)
        status = pl_path_run(settings, data, settings, &plan, callback, user, out, error);
    if (status == PARLEY_OK && summary)
        *summary = (*out)->summary;
    return pl_stop_leave(status);
}

const parley_point *parley_path_points(const parley_path_result *path, uint64_t *count) {
    *count = path->count;
    return path->points;
}

static parley_status describe_point(const pl_point *point, parley_model *model, parley_error *error) {
    const struct {
        const char *key;
        double value;
    } figures[] = {
        {"lambda", point->lambda}, {"objective", point->objective}, {"dual", point->dual}, {"gap", point->gap}};
    parley_status status = PARLEY_OK;
    for (unsigned i = 0; i < sizeof figures / sizeof *figures && status == PARLEY_OK; i++) {
        char text[40] = "none";
        if (isfinite(figures[i].value))
            pl_number_text(figures[i].value, text, sizeof text);
        status = pl_model_set_meta(model, figures[i].key, text, error);
    }
    return status;
}

parley_status parley_path_model(const parley_path_result *path, uint64_t point, parley_model **out,
                                parley_error *error) {
    const pl_linear_model *last = pl_linear(path->model);
    uint64_t outputs = path->outputs, size = outputs * path->columns;
    pl_linear_model *model;
    *out = NULL;
    if (point >= path->count)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "point %llu does not exist in a path of %llu points; points are counted from 0",
                       (unsigned long long)point, (unsigned long long)path->count);
    parley_status status = pl_linear_new(outputs, path->columns, last->loss, &model, error);
    if (status != PARLEY_OK)
        return status;
    pl_kept_copy(&path->coef[point], 0, size, model->coef);
    memcpy(model->intercept, path->intercept + point * outputs, outputs * sizeof *model->intercept);
    if (outputs > 1)
        memcpy(model->labels, last->labels, outputs * sizeof *model->labels);
    model->low = last->low;
    model->high = last->high;
    model->base.label_sets = last->base.label_sets;
    model->fold_bits = last->fold_bits;
    status = pl_names_copy(&last->base.names, &model->base.names, error);
    if (status == PARLEY_OK)
        status = pl_names_copy(&last->base.classes, &model->base.classes, error);
    for (unsigned i = 0; i < last->base.metas && status == PARLEY_OK; i++)
        status = pl_model_set_meta(&model->base, last->base.meta[i].key, last->base.meta[i].value, error);
    if (status == PARLEY_OK)
        status = describe_point(&path->points[point], &model->base, error);
    if (status == PARLEY_OK)
        *out = &model->base;
    else
        parley_model_free(&model->base);
    return status;
}

void parley_path_free(parley_path_result *path) {
    if (!path)
        return;
    for (uint64_t k = 0; k < path->count && path->coef; k++)
        pl_kept_close(&path->coef[k]);
    pl_free(path->points);
    pl_free(path->coef);
    pl_free(path->intercept);
    parley_model_free(path->model);
    pl_free(path);
}
