/* linear_cv.c: cross-validation. The lambdas are those of a path on all rows, and more where the best one is at an end.
 * Each fold is then one task, which copies the rows of the other folds, follows the path on them with one thread, and
 * measures every model on its own rows. The copies take memory for as many folds as there are threads, but training
 * pays nothing for rows left out, and no result depends on the number of threads. Several ranks follow the path of each
 * fold together: its rows stay on the ranks that hold them, and every rank gets all rows to measure on. */
#include "linear/path/linear_cv.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/callback.h"
#include "base/stop.h"
#include "linear/model/linear_model.h"
#include "shard/distributed.h"
#include "train/validation.h"

#define MOST_EXTENSIONS 3 /* times that lambdas are added at an end */
#define EXTENSION 1e-2    /* ratio of the last to the first that are added at once */
#define LEVEL 0.01        /* change of the metric, in standard errors, that does not matter */
#define EQUAL 1e-12       /* relative difference of means that is rounding */
#define CONSTANT 0.01     /* share of the most that any lambda explains, below which a model counts as constant */

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

void pl_cv_settle_ties(pl_cv *cv) {
    double most = 0, mean = cv->mean[cv->best];
    uint64_t simplest = cv->count;
    cv->ties = 0;
    for (uint64_t k = 0; k < cv->count; k++)
        most = fmax(most, cv->explained[k]);
    for (uint64_t k = 0; k < cv->count; k++) {
        bool tied = fabs(cv->mean[k] - mean) <= EQUAL * fabs(mean);
        cv->ties += tied && k != cv->best;
        if (tied && simplest == cv->count && cv->explained[k] > CONSTANT * most)
            simplest = k;
    }
    if (cv->ties > 0 && simplest < cv->count)
        cv->best = simplest;
}

typedef struct crossing {
    pl_engine *engine; /* NULL: each path runs on one of its own */
    const parley_data *data;
    const parley_settings *settings; /* of the path on all rows */
    parley_settings *machine;        /* of a fold and its engine */
    const uint32_t *fold;
    pl_cv *cv;
    uint64_t first, count; /* the lambdas to cross-validate now */
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

static bool is_shared(const crossing *crossing) { return crossing->engine && crossing->engine->ranks > 1; }

typedef enum part { OWN, OTHERS, ALL } part;

/* Copies the rows of fold f, all others, or all. Where ranks hold parts of the rows, every rank gets those of the fold.
 */
static parley_status copy_rows(const crossing *crossing, unsigned f, part part, parley_data **out,
                               parley_error *error) {
    const parley_data *data = crossing->data;
    uint64_t *rows, count = 0, all = pl_all_rows(data);
    parley_data *spread = NULL;
    parley_status status = pl_take(&rows, all, sizeof *rows, "a fold", error);
    if (status != PARLEY_OK)
        return status;
    for (uint64_t i = 0; i < all; i++)
        if (part == ALL || (crossing->fold[i] == f) == (part == OWN))
            rows[count++] = i;
    if (!data->spread)
        status = pl_data_subset(data, rows, count, out, error);
    else if (part != OWN)
        status = pl_spread_subset(crossing->engine, data, rows, count, out, error);
    else {
        status = pl_spread_subset(crossing->engine, data, rows, count, &spread, error);
        if (status == PARLEY_OK)
            status = pl_spread_to_all(crossing->engine, spread, out, error);
        parley_data_free(spread);
    }
    pl_free(rows);
    return status;
}

static parley_status refuse_part(const crossing *crossing, unsigned f, uint64_t count, bool stopped,
                                 parley_error *error) {
    if (stopped)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "stopped before all folds were complete, so no lambda was chosen and there is no model");
    return pl_fail(error, PARLEY_BAD_USAGE,
                   "--seconds: fold %u completed only %llu of %llu lambdas in that time; allow more time", f + 1,
                   (unsigned long long)count, (unsigned long long)crossing->count);
}

/* Says that the rows at fault are not all rows. */
static parley_status blame_others(unsigned f, parley_status status, parley_error *error) {
    if (status != PARLEY_BAD_INPUT || !error)
        return status;
    parley_error inner = *error;
    return pl_fail(error, status, "without the rows of fold %u: %.900s", f + 1, inner.sentence);
}

static parley_status cross(crossing *crossing, unsigned f, parley_error *error) {
    pl_cv *cv = crossing->cv;
    parley_data *others = NULL, *own = NULL;
    pl_path *path = NULL;
    parley_status status = copy_rows(crossing, f, OTHERS, &others, error);
    if (status == PARLEY_OK)
        status = copy_rows(crossing, f, OWN, &own, error);
    if (status == PARLEY_OK) {
        pl_path_plan plan = {.lambdas = cv->lambdas + crossing->first,
                             .count = crossing->count,
                             .all = true,
                             .points_only = true,
                             .score = own};
        status = is_shared(crossing)
                     ? pl_path_rank(crossing->engine, others, crossing->machine, &plan, ask, crossing, &path, error)
                     : pl_path_run(crossing->machine, others, crossing->machine, &plan, ask, crossing, &path, error);
        status = blame_others(f, status, error);
    }
    bool stopped = status == PARLEY_OK && (is_shared(crossing) ? path->interrupted : is_stopped(crossing));
    if (status == PARLEY_OK && (path->count < crossing->count || stopped))
        status = refuse_part(crossing, f, path->count, stopped, error);
    for (uint64_t k = 0; k < crossing->count && status == PARLEY_OK; k++)
        cv->value[f * cv->count + crossing->first + k] = path->points[k].metric;
    parley_path_free(path);
    parley_data_free(own);
    parley_data_free(others);
    return status;
}

static void cross_task(void *context, unsigned f) {
    crossing *crossing = context;
    parley_error *error = &crossing->errors[f];
    crossing->status[f] = is_stopped(crossing) ? refuse_part(crossing, f, 0, true, error) : cross(crossing, f, error);
}

/* Runs all folds and reports the first failure by number. */
static parley_status cross_all(crossing *crossing, parley_error *error) {
    unsigned folds = crossing->cv->folds;
    pl_pool *pool = NULL;
    parley_status status = PARLEY_OK;
    if (is_shared(crossing)) {
        for (unsigned f = 0; f < folds && status == PARLEY_OK; f++)
            status = cross(crossing, f, error);
        return status;
    }
    status = pl_take(&crossing->status, folds, sizeof *crossing->status, "folds", error);
    if (status == PARLEY_OK)
        status = pl_take(&crossing->errors, folds, sizeof *crossing->errors, "folds", error);
    if (status == PARLEY_OK)
        status = pl_pool_open(&pool, (unsigned)crossing->settings->threads, error);
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
    crossing->status = NULL;
    crossing->errors = NULL;
    return status;
}

/* Makes room for `added` lambdas at the beginning or the end. */
static parley_status make_room(pl_cv *cv, uint64_t added, bool before, parley_error *error) {
    uint64_t count = cv->count + added, first = before ? added : 0;
    double *lambdas = pl_alloc(count, sizeof *lambdas), *value = pl_alloc(cv->folds * count, sizeof *value);
    double *mean = pl_alloc(count, sizeof *mean), *spread = pl_alloc(count, sizeof *spread);
    double *explained = pl_alloc(count, sizeof *explained);
    bool room = lambdas && value && mean && spread && explained;
    if (room) {
        for (uint64_t k = 0; k < cv->count; k++) {
            lambdas[first + k] = cv->lambdas[k];
            explained[first + k] = cv->explained[k];
        }
        for (uint64_t i = 0; i < cv->folds * cv->count; i++)
            value[i / cv->count * count + first + i % cv->count] = cv->value[i];
    }
    double *unused[] = {room ? cv->lambdas : lambdas, room ? cv->value : value, room ? cv->mean : mean,
                        room ? cv->error : spread, room ? cv->explained : explained};
    if (room) {
        cv->lambdas = lambdas;
        cv->value = value;
        cv->mean = mean;
        cv->error = spread;
        cv->explained = explained;
        cv->count = count;
    }
    for (unsigned i = 0; i < sizeof unused / sizeof *unused; i++)
        pl_free(unused[i]);
    return room ? PARLEY_OK : pl_fail_memory(error, "cross-validation", cv->folds * count * sizeof *value);
}

/* Counts the lambdas of a path, without the last ones if those did not reach the gap. */
static parley_status count_reached(const pl_path *path, uint64_t *count, parley_error *error) {
    *count = path->count;
    while (path->stuck && *count > 0 && path->points[*count - 1].stop != PARLEY_CONVERGED)
        --*count;
    return *count > 0 ? PARLEY_OK
                      : pl_fail(error, PARLEY_BAD_USAGE,
                                "no lambda reached its gap on all rows, so there is nothing to cross-validate; try %s",
                                path->summary.suggestion ? path->summary.suggestion : "a larger --gap");
}

/* Follows the path on all rows. Rows that ranks share are copied, because training moves them. */
static parley_status follow_all(crossing *crossing, parley_callback callback, void *user, pl_path **path,
                                parley_error *error) {
    const parley_settings *settings = crossing->settings;
    pl_path_plan plan = {.all = pl_linear_settings_of(settings)->full_path, .points_only = true};
    parley_data *copy = NULL;
    parley_status status = PARLEY_OK;
    *path = NULL;
    if (!crossing->engine)
        return pl_path_run(settings, crossing->data, settings, &plan, callback, user, path, error);
    if (crossing->data->spread)
        status = copy_rows(crossing, 0, ALL, &copy, error);
    if (status == PARLEY_OK)
        status =
            pl_path_rank(crossing->engine, copy ? copy : crossing->data, settings, &plan, callback, user, path, error);
    parley_data_free(copy);
    return status;
}

/* Finds the lambdas that a path on all rows reaches. */
static parley_status walk_all(crossing *crossing, parley_callback callback, void *user, bool *uneven,
                              parley_error *error) {
    pl_path *path;
    uint64_t count;
    parley_status status = follow_all(crossing, callback, user, &path, error);
    if (status == PARLEY_OK && path->interrupted)
        status = pl_fail(error, PARLEY_BAD_USAGE,
                         "stopped on the path of all rows, so no lambda was chosen and there is no model");
    if (status == PARLEY_OK)
        status = count_reached(path, &count, error);
    if (status == PARLEY_OK)
        status = make_room(crossing->cv, count, false, error);
    for (uint64_t k = 0; status == PARLEY_OK && k < count; k++) {
        crossing->cv->lambdas[k] = path->points[k].lambda;
        crossing->cv->explained[k] = path->points[k].explained;
    }
    if (status == PARLEY_OK) {
        *uneven = path->uneven;
        crossing->cv->suggestion = path->stuck ? path->summary.suggestion : NULL;
    }
    parley_path_free(path);
    return status;
}

/* Whether the metric hardly changed over the decade of lambdas at the end where the best one is. */
static bool is_level(const pl_cv *cv) {
    uint64_t k = cv->best;
    bool up = k == 0;
    while ((up ? k + 1 < cv->count : k > 0) && fabs(log10(cv->lambdas[k] / cv->lambdas[cv->best])) < 1.0 - 1e-9)
        k = up ? k + 1 : k - 1;
    return fabs(log10(cv->lambdas[k] / cv->lambdas[cv->best])) >= 1.0 - 1e-9 &&
           fabs(cv->mean[k] - cv->mean[cv->best]) <= LEVEL * cv->error[cv->best];
}

/* On columns of very different scale the metric may be level until the small ones matter, so that says nothing. */
static parley_cv_place place_of(const pl_cv *cv, double l1_ratio, bool uneven) {
    if (cv->count == 1)
        return PARLEY_CV_SINGLE;
    if (cv->best == 0 && l1_ratio > 0)
        return PARLEY_CV_EMPTY;
    if (cv->best == 0)
        return is_level(cv) ? PARLEY_CV_LEVEL : PARLEY_CV_LARGEST;
    if (cv->best + 1 < cv->count)
        return PARLEY_CV_INSIDE;
    return !uneven && is_level(cv) ? PARLEY_CV_LEVEL : PARLEY_CV_SMALLEST;
}

/* Cross-validates the lambdas `first` to `first + count`, and finds the best of all. */
static parley_status cross_some(crossing *crossing, uint64_t first, uint64_t count, bool uneven, parley_error *error) {
    const parley_settings *settings = crossing->settings;
    pl_cv *cv = crossing->cv;
    crossing->first = first;
    crossing->count = count;
    parley_status status = cross_all(crossing, error);
    if (status != PARLEY_OK)
        return status;
    pl_cv_judge(cv, pl_metric_find(&pl_model_linear, settings->metric)->larger);
    pl_cv_settle_ties(cv);
    cv->chosen = pl_linear_settings_of(settings)->choose == PL_CHOOSE_1SE ? cv->one_se : cv->best;
    cv->place = place_of(cv, pl_linear_settings_of(settings)->l1_ratio, uneven);
    return status;
}

/* Adds lambdas of the same ratio, up to two decades, at the end where the best one is. */
static parley_status extend(crossing *crossing, bool uneven, parley_error *error) {
    pl_cv *cv = crossing->cv;
    bool up = cv->place == PARLEY_CV_LARGEST;
    double ratio = cv->lambdas[1] / cv->lambdas[0], edge = cv->lambdas[up ? 0 : cv->count - 1];
    uint64_t added = (uint64_t)fmax(1.0, floor(log(EXTENSION) / log(ratio) + 1e-9)), first = up ? 0 : cv->count;
    char text[160];
    snprintf(text, sizeof text, "cv: the best lambda is %s; %llu %s ones follow",
             up                          ? "the largest"
             : cv->best + 1 == cv->count ? "the smallest"
                                         : "the largest, but columns differ much in scale",
             (unsigned long long)added, up ? "larger" : "smaller");
    bool tells = crossing->callback && (!crossing->engine || crossing->engine->rank == 0);
    if (tells && pl_call_back(crossing->callback, crossing->user, &(parley_progress){0}, text) != 0)
        crossing->stopped = true; /* several ranks agree on that in the next round */
    parley_status status = make_room(cv, added, up, error);
    if (status != PARLEY_OK)
        return status;
    double known = cv->explained[up ? added : first - 1]; /* beyond lambda_max, coefficients are about 1 / lambda */
    for (uint64_t k = 0; k < added; k++) {                /* decreasing */
        cv->lambdas[first + k] = edge * pow(ratio, up ? -(double)(added - k) : (double)(k + 1));
        cv->explained[first + k] = up ? known * edge / cv->lambdas[first + k] : known;
    }
    cv->extensions++;
    return cross_some(crossing, first, added, uneven, error);
}

/* Cross-validates one l1_ratio, which is that of the settings. */
static parley_status cross_ratio(crossing *crossing, parley_callback callback, void *user, parley_error *error) {
    const parley_settings *settings = crossing->settings;
    pl_cv *cv = crossing->cv;
    bool fixed = *pl_linear_settings_of(settings)->lambda_list || pl_setting_given(settings, "lambda_ratio"),
         uneven = false;
    bool open[] = {
        [PARLEY_CV_SMALLEST] = true, [PARLEY_CV_LARGEST] = true, [PARLEY_CV_EMPTY] = false, [PARLEY_CV_SINGLE] = false};
    parley_status status = walk_all(crossing, callback, user, &uneven, error);
    if (status == PARLEY_OK)
        status = cross_some(crossing, 0, cv->count, uneven, error);
    open[PARLEY_CV_EMPTY] = uneven; /* the smaller columns may not have been reached yet */
    while (status == PARLEY_OK && !fixed && !cv->suggestion && cv->extensions < MOST_EXTENSIONS && open[cv->place])
        status = extend(crossing, uneven, error);
    return status;
}

/* Passes on what a callback answers, but no messages. */
typedef struct muted {
    parley_callback callback;
    void *user;
} muted;

static int call_muted(void *context, const parley_progress *progress, const char *message) {
    const muted *muted = context;
    return message || !muted->callback ? 0 : pl_call_back(muted->callback, muted->user, progress, NULL);
}

static void swap_if_better(pl_cv **best, pl_cv **next, uint64_t ratio, bool larger) {
    double now = (*next)->mean[(*next)->best], before = *best ? (*best)->mean[(*best)->best] : NAN;
    if (*best && !(larger ? now > before : now < before))
        return;
    pl_cv *other = *best;
    *best = *next;
    *next = other;
    (*best)->best_ratio = ratio;
}

/* Cross-validates every l1_ratio, and keeps the results of the best one. */
static parley_status cross_ratios(crossing *crossing, parley_settings *settings, unsigned folds, const double *ratio,
                                  uint64_t ratios, pl_cv **out, parley_error *error) {
    const pl_model_metric *metric = pl_metric_find(&pl_model_linear, settings->metric);
    muted silent = {crossing->callback, crossing->user};
    parley_cv_ratio *by_ratio = NULL;
    parley_status status = pl_take(&by_ratio, ratios, sizeof *by_ratio, "cross-validation", error);
    for (uint64_t r = 0; r < ratios && status == PARLEY_OK; r++) {
        pl_cv *cv;
        status = pl_take(&cv, 1, sizeof *cv, "cross-validation", error);
        if (status != PARLEY_OK)
            break;
        pl_linear_settings_in(settings)->l1_ratio = pl_linear_settings_in(crossing->machine)->l1_ratio = ratio[r];
        cv->folds = folds;
        cv->metric = metric->name;
        crossing->cv = cv;
        status =
            cross_ratio(crossing, r > 0 ? call_muted : crossing->callback, r > 0 ? &silent : crossing->user, error);
        if (status == PARLEY_OK) {
            by_ratio[r] = (parley_cv_ratio){ratio[r], cv->lambdas[cv->best], cv->mean[cv->best], cv->error[cv->best]};
            swap_if_better(out, &cv, r, metric->larger);
        }
        parley_cv_free(cv);
    }
    if (*out) {
        (*out)->ratios = ratios;
        (*out)->by_ratio = by_ratio;
    } else
        pl_free(by_ratio);
    return status;
}

parley_status pl_cv_check(const parley_settings *settings, parley_error *error) {
    double *ratio = NULL;
    uint64_t ratios;
    parley_settings *copy;
    parley_status status = pl_settings_copy(settings, &copy, error);
    if (status != PARLEY_OK)
        return status;
    pl_setting_forget(copy, "metric"); /* here it needs no validation rows */
    if (*pl_linear_settings_of(copy)->l1_ratios && pl_setting_given(copy, "l1_ratio"))
        status = pl_fail(error, PARLEY_BAD_USAGE, "--l1-ratios already sets every l1-ratio; leave out --l1-ratio");
    if (status == PARLEY_OK)
        status = pl_path_numbers("l1-ratios", pl_linear_settings_of(copy)->l1_ratios, 0.0, 1.0, &ratio, &ratios, error);
    for (uint64_t r = 0; status == PARLEY_OK && r < (ratio ? ratios : 1); r++) {
        pl_linear_settings_in(copy)->l1_ratio = ratio ? ratio[r] : pl_linear_settings_of(copy)->l1_ratio;
        status = pl_path_check(copy, error);
    }
    pl_free(ratio);
    parley_settings_free(copy);
    return status;
}

/* Cross-validates with settings that are checked. */
static parley_status run_crossing(pl_engine *engine, const parley_data *data, parley_settings *settings,
                                  parley_callback callback, void *user, pl_cv **out, parley_error *error) {
    uint32_t *fold = NULL;
    unsigned folds;
    double *ratio = NULL, single = pl_linear_settings_of(settings)->l1_ratio;
    uint64_t ratios = 1;
    parley_settings *machine = NULL;
    parley_status status = pl_take(&fold, pl_all_rows(data), sizeof *fold, "folds", error);
    if (status == PARLEY_OK)
        status = pl_cv_folds(engine, data, settings, fold, &folds, error);
    if (status == PARLEY_OK)
        status =
            pl_path_numbers("l1-ratios", pl_linear_settings_of(settings)->l1_ratios, 0.0, 1.0, &ratio, &ratios, error);
    if (status == PARLEY_OK)
        status = pl_settings_copy(settings, &machine, error);
    if (status == PARLEY_OK) {
        machine->threads = 1; /* folds run in parallel, each with its own engine of one thread */
        if (machine->lanes == 0 && engine && engine->ranks > 1)
            machine->lanes = 1; /* as on one thread */
        crossing crossing = {.engine = engine,
                             .data = data,
                             .settings = settings,
                             .machine = machine,
                             .fold = fold,
                             .callback = callback,
                             .user = user,
                             .mutex = PTHREAD_MUTEX_INITIALIZER};
        status = cross_ratios(&crossing, settings, folds, ratio ? ratio : &single, ratio ? ratios : 1, out, error);
        pthread_mutex_destroy(&crossing.mutex);
    }
    parley_settings_free(machine);
    pl_free(ratio);
    pl_free(fold);
    return status;
}

/* pl_cv_run, as one rank of `engine`, or with engines of its own if that is NULL. */
static parley_status run_rank(pl_engine *engine, const parley_data *data, const parley_settings *settings,
                              parley_callback callback, void *user, pl_cv **out, parley_error *error) {
    parley_settings *copy = NULL;
    *out = NULL;
    parley_status status = pl_cv_check(settings, error);
    if (status == PARLEY_OK)
        status = pl_data_teaches(data, true, error);
    if (status == PARLEY_OK)
        status = pl_settings_copy(settings, &copy, error);
    if (status == PARLEY_OK) {
        copy->log = "";
        pl_setting_forget(copy, "metric");     /* cross-validation uses the metric itself */
        copy->engine = pl_engine_threads.name; /* of engines in this process */
        status = run_crossing(engine, data, copy, callback, user, out, error);
    }
    parley_settings_free(copy);
    if (status != PARLEY_OK) {
        parley_cv_free(*out);
        *out = NULL;
    }
    return status;
}

parley_status pl_cv_run(const parley_data *data, const parley_settings *settings, parley_callback callback, void *user,
                        pl_cv **out, parley_error *error) {
    return run_rank(NULL, data, settings, callback, user, out, error);
}

/* Trains the model on all rows, without messages, which would repeat those of the path. */
static parley_status fit(pl_engine *engine, const parley_data *data, const parley_settings *settings, const pl_cv *cv,
                         crossing *asking, parley_model **model, parley_summary *summary, parley_error *error) {
    parley_settings *copy;
    parley_status status = pl_settings_copy(settings, &copy, error);
    if (status != PARLEY_OK)
        return status;
    pl_setting_forget(copy, "metric");
    pl_linear_settings_in(copy)->lambda = cv->lambdas[cv->chosen];
    pl_linear_settings_in(copy)->l1_ratio = cv->by_ratio[cv->best_ratio].l1_ratio;
    status = engine ? pl_train_rank(engine, data, copy, ask, asking, model, summary, error)
                    : parley_train(data, copy, ask, asking, model, summary, error);
    parley_settings_free(copy);
    return status;
}

parley_status pl_cv_rank(pl_engine *engine, const parley_data *data, const parley_settings *settings,
                         parley_callback callback, void *user, pl_cv **out, parley_model **model,
                         parley_summary *summary, parley_error *error) {
    crossing asking = {.callback = callback, .user = user, .mutex = PTHREAD_MUTEX_INITIALIZER};
    *model = NULL;
    parley_status status = run_rank(engine, data, settings, callback, user, out, error);
    if (status == PARLEY_OK)
        status = fit(engine, data, settings, *out, &asking, model, summary, error);
    pthread_mutex_destroy(&asking.mutex);
    if (status != PARLEY_OK) {
        parley_cv_free(*out);
        *out = NULL;
    }
    return status;
}

parley_status parley_cv(const parley_data *data, const parley_settings *settings, parley_callback callback, void *user,
                        parley_cv_result **out, parley_model **model, parley_summary *summary, parley_error *error) {
    pl_stop_enter();
    return pl_stop_leave(pl_cv_rank(NULL, data, settings, callback, user, out, model, summary, error));
}

void parley_cv_free(parley_cv_result *cv) {
    if (!cv)
        return;
    pl_free(cv->lambdas);
    pl_free(cv->value);
    pl_free(cv->mean);
    pl_free(cv->error);
    pl_free(cv->explained);
    pl_free(cv->by_ratio);
    pl_free(cv);
}
