/* linear_cv.c: cross-validation. The lambdas are those of a path on all rows. Each fold is then one task, which copies
 * the rows of the other folds, follows the path on them with one thread, and measures every model on its own rows. The
 * copies take memory for as many folds as there are threads, but training pays nothing for rows left out, and no result
 * depends on the number of threads. */
#include "train/linear_cv.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/callback.h"
#include "base/stop.h"
#include "model/linear_model.h"
#include "train/validation.h"

void pl_cv_judge(pl_cv *cv, bool larger) {
    double sign = larger ? -1.0 : 1.0; /* sign x metric is to be minimised */
    cv->best = cv->one_se = 0;
    for (uint64_t k = 0; k < cv->count; k++) {
        double sum = 0, squares = 0, folds = cv->folds;
        for (unsigned f = 0; f < cv->folds; f++)
            sum += cv->value[f * cv->count + k];
        cv->mean[k] = sum / folds;
        for (unsigned f = 0; f < cv->folds; f++)
            squares += pow(cv->value[f * cv->count + k] - cv->mean[k], 2.0);
        cv->error[k] = sqrt(squares / (folds - 1.0) / folds);
        if (sign * cv->mean[k] < sign * cv->mean[cv->best])
            cv->best = k;
    }
    while (sign * cv->mean[cv->one_se] > sign * cv->mean[cv->best] + cv->error[cv->best])
        cv->one_se++;
}

typedef struct crossing {
    const parley_data *data;
    const parley_settings *settings; /* of a fold */
    const parley_settings *machine;  /* of its engine */
    const uint32_t *fold;
    pl_cv *cv;
    parley_status *status;
    parley_error *errors;
    parley_callback callback; /* may be NULL */
    void *user;
    pthread_mutex_t mutex; /* guards the following fields; folds call back one at a time */
    bool stopped;          /* by the callback; ends all folds */
} crossing;

/* Called after every round of every fold. Messages are dropped, because they repeat those of the path on all rows. */
static int ask(void *context, const parley_progress *progress, const char *message) {
    crossing *crossing = context;
    if (message || !crossing->callback)
        return 0;
    pthread_mutex_lock(&crossing->mutex);
    if (!crossing->stopped)
        crossing->stopped = pl_call_back(crossing->callback, crossing->user, progress, NULL) != 0;
    int stopped = crossing->stopped;
    pthread_mutex_unlock(&crossing->mutex);
    return stopped;
}

static bool is_stopped(crossing *crossing) {
    pthread_mutex_lock(&crossing->mutex);
    bool stopped = crossing->stopped;
    pthread_mutex_unlock(&crossing->mutex);
    return stopped;
}

/* Copies the rows of fold f, or all others. */
static parley_status copy_rows(const crossing *crossing, unsigned f, bool own, parley_data **out, parley_error *error) {
    uint64_t *rows, count = 0;
    parley_status status = pl_take(&rows, crossing->data->x.rows, sizeof *rows, "a fold", error);
    if (status != PARLEY_OK)
        return status;
    for (uint64_t i = 0; i < crossing->data->x.rows; i++)
        if ((crossing->fold[i] == f) == own)
            rows[count++] = i;
    status = pl_data_subset(crossing->data, rows, count, out, error);
    pl_free(rows);
    return status;
}

static parley_status refuse_part(crossing *crossing, unsigned f, uint64_t count, parley_error *error) {
    if (is_stopped(crossing))
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "stopped before all folds were complete, so no lambda was chosen and there is no model");
    return pl_fail(error, PARLEY_BAD_USAGE,
                   "--seconds: fold %u completed only %llu of %llu lambdas in that time; allow more time", f + 1,
                   (unsigned long long)count, (unsigned long long)crossing->cv->count);
}

static parley_status cross(crossing *crossing, unsigned f, parley_error *error) {
    pl_cv *cv = crossing->cv;
    parley_data *others = NULL, *own = NULL;
    pl_path *path = NULL;
    parley_status status = copy_rows(crossing, f, false, &others, error);
    if (status == PARLEY_OK)
        status = copy_rows(crossing, f, true, &own, error);
    if (status == PARLEY_OK) {
        pl_path_plan plan = {
            .lambdas = cv->lambdas, .count = cv->count, .all = true, .points_only = true, .score = own};
        status = pl_path_run(crossing->machine, others, crossing->settings, &plan, ask, crossing, &path, error);
    }
    if (status == PARLEY_OK && (path->count < cv->count || is_stopped(crossing)))
        status = refuse_part(crossing, f, path->count, error);
    for (uint64_t k = 0; k < cv->count && status == PARLEY_OK; k++)
        cv->value[f * cv->count + k] = path->points[k].metric;
    parley_path_free(path);
    parley_data_free(own);
    parley_data_free(others);
    return status;
}

static void cross_task(void *context, unsigned f) {
    crossing *crossing = context;
    parley_error *error = &crossing->errors[f];
    crossing->status[f] = is_stopped(crossing) ? refuse_part(crossing, f, 0, error) : cross(crossing, f, error);
}

/* Runs all folds and reports the first failure by number. */
static parley_status cross_all(crossing *crossing, unsigned threads, parley_error *error) {
    unsigned folds = crossing->cv->folds;
    pl_pool *pool = NULL;
    parley_status status = pl_take(&crossing->status, folds, sizeof *crossing->status, "folds", error);
    if (status == PARLEY_OK)
        status = pl_take(&crossing->errors, folds, sizeof *crossing->errors, "folds", error);
    if (status == PARLEY_OK)
        status = pl_pool_open(&pool, threads, error);
    if (status == PARLEY_OK) {
        pl_pool_run(pool, cross_task, crossing, folds);
        pl_pool_close(pool);
    }
    for (unsigned f = 0; f < folds && status == PARLEY_OK; f++)
        if (crossing->status[f] != PARLEY_OK) {
            status = crossing->status[f];
            if (error)
                *error = crossing->errors[f];
        }
    pl_free(crossing->status);
    pl_free(crossing->errors);
    return status;
}

/* Finds the lambdas that a path on all rows reaches. */
static parley_status walk_all(const parley_data *data, const parley_settings *settings, parley_callback callback,
                              void *user, pl_cv *cv, parley_error *error) {
    pl_path *path = NULL;
    pl_path_plan plan = {.all = settings->full_path, .points_only = true};
    parley_status status = pl_path_run(settings, data, settings, &plan, callback, user, &path, error);
    if (status == PARLEY_OK && path->interrupted)
        status = pl_fail(error, PARLEY_BAD_USAGE,
                         "stopped on the path of all rows, so no lambda was chosen and there is no model");
    if (status == PARLEY_OK)
        status = pl_take(&cv->lambdas, path->count, sizeof *cv->lambdas, "lambdas", error);
    if (status == PARLEY_OK) {
        cv->count = path->count;
        for (uint64_t k = 0; k < cv->count; k++)
            cv->lambdas[k] = path->points[k].lambda;
    }
    parley_path_free(path);
    return status;
}

static parley_status run_folds(const parley_data *data, parley_settings *settings, parley_callback callback, void *user,
                               pl_cv *cv, uint32_t *fold, parley_error *error) {
    parley_status status = pl_take(&cv->value, cv->folds * cv->count, sizeof *cv->value, "cross-validation", error);
    if (status == PARLEY_OK)
        status = pl_take(&cv->mean, cv->count, sizeof *cv->mean, "cross-validation", error);
    if (status == PARLEY_OK)
        status = pl_take(&cv->error, cv->count, sizeof *cv->error, "cross-validation", error);
    if (status != PARLEY_OK)
        return status;
    parley_settings *machine;
    status = pl_take(&machine, 1, sizeof *machine, "settings", error);
    if (status != PARLEY_OK)
        return status;
    *machine = *settings;
    machine->threads = 1; /* folds run in parallel, each with its own engine of one thread */
    crossing crossing = {.data = data,
                         .settings = settings,
                         .machine = machine,
                         .fold = fold,
                         .cv = cv,
                         .callback = callback,
                         .user = user,
                         .mutex = PTHREAD_MUTEX_INITIALIZER};
    status = cross_all(&crossing, (unsigned)settings->threads, error);
    pthread_mutex_destroy(&crossing.mutex);
    pl_free(machine);
    if (status == PARLEY_OK) {
        pl_cv_judge(cv, pl_metric_find(&pl_model_linear, settings->metric)->larger);
        cv->chosen = settings->choose == PL_CHOOSE_1SE ? cv->one_se : cv->best;
    }
    return status;
}

parley_status pl_cv_run(const parley_data *data, const parley_settings *settings, parley_callback callback, void *user,
                        pl_cv **out, parley_error *error) {
    pl_cv *cv = NULL;
    parley_settings *copy = NULL;
    uint32_t *fold = NULL;
    *out = NULL;
    parley_status status = pl_take(&cv, 1, sizeof *cv, "cross-validation", error);
    if (status == PARLEY_OK)
        status = pl_take(&copy, 1, sizeof *copy, "settings", error);
    if (status == PARLEY_OK)
        status = pl_take(&fold, data->x.rows, sizeof *fold, "folds", error);
    if (status == PARLEY_OK) {
        *copy = *settings;
        *copy->log = '\0';
        copy->given[pl_setting_find("metric") - pl_settings] = false; /* cross-validation uses the metric itself */
        status = pl_path_check(copy, error);
    }
    if (status == PARLEY_OK)
        cv->metric = pl_metric_find(&pl_model_linear, settings->metric)->name;
    if (status == PARLEY_OK)
        status = pl_data_teaches(data, true, error);
    if (status == PARLEY_OK)
        status = pl_cv_folds(data, settings, fold, &cv->folds, error);
    if (status == PARLEY_OK) {
        snprintf(copy->engine, sizeof copy->engine, "%s", pl_engine_threads.name); /* folds run in this process */
        status = walk_all(data, copy, callback, user, cv, error);
    }
    if (status == PARLEY_OK)
        status = run_folds(data, copy, callback, user, cv, fold, error);
    pl_free(fold);
    pl_free(copy);
    if (status == PARLEY_OK)
        *out = cv;
    else
        parley_cv_free(cv);
    return status;
}

/* Trains the model on all rows, without messages, which would repeat those of the path. */
static parley_status fit(const parley_data *data, const parley_settings *settings, const pl_cv *cv, crossing *asking,
                         parley_model **model, parley_summary *summary, parley_error *error) {
    parley_settings *copy;
    parley_status status = pl_take(&copy, 1, sizeof *copy, "settings", error);
    if (status != PARLEY_OK)
        return status;
    *copy = *settings;
    copy->given[pl_setting_find("metric") - pl_settings] = false;
    copy->lambda = cv->lambdas[cv->chosen];
    status = parley_train(data, copy, ask, asking, model, summary, error);
    pl_free(copy);
    return status;
}

parley_status parley_cv(const parley_data *data, const parley_settings *settings, parley_callback callback, void *user,
                        parley_cv_result **out, parley_model **model, parley_summary *summary, parley_error *error) {
    crossing asking = {.callback = callback, .user = user, .mutex = PTHREAD_MUTEX_INITIALIZER};
    *model = NULL;
    pl_stop_enter();
    parley_status status = pl_cv_run(data, settings, callback, user, out, error);
    if (status == PARLEY_OK)
        status = fit(data, settings, *out, &asking, model, summary, error);
    pthread_mutex_destroy(&asking.mutex);
    if (status != PARLEY_OK) {
        parley_cv_free(*out);
        *out = NULL;
    }
    return pl_stop_leave(status);
}

void parley_cv_free(parley_cv_result *cv) {
    if (!cv)
        return;
    pl_free(cv->lambdas);
    pl_free(cv->value);
    pl_free(cv->mean);
    pl_free(cv->error);
    pl_free(cv);
}
