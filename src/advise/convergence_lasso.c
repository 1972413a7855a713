/* convergence_lasso.c: see convergence_lasso.h. */
#include "advise/convergence_lasso.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/settings.h"

#define BASES 4
#define FACTORS 8
#define POINTS_PER_RUN 40
#define LAMBDAS 40
#define FARTHEST 1e6
#define STEP 1.02
#define LEAST_POINTS 12

const char *const pl_lasso_name[PL_LASSO_FEATURES] = {"i",        "sqrt i",        "log i",        "1/i",
                                                      "i/m",      "sqrt i/m",      "log i/m",      "1/(i m)",
                                                      "i/sqrt m", "sqrt i/sqrt m", "log i/sqrt m", "1/(i sqrt m)",
                                                      "i/log m",  "sqrt i/log m",  "log i/log m",  "1/(i log m)",
                                                      "i H",      "sqrt i H",      "log i H",      "H/i",
                                                      "i H/m",    "sqrt i H/m",    "log i H/m",    "H/(i m)",
                                                      "m",        "sqrt m",        "log m",        "1/m",
                                                      "H",        "log H",         "H/m",          "m/i"};

static void features(double i, double m, double h, double *out) {
    double bases[BASES] = {i, sqrt(i), log(i), 1.0 / i}, late = log(m + 1.0);
    double factors[FACTORS - 2] = {1.0, 1.0 / m, 1.0 / sqrt(m), 1.0 / late, h, h / m};
    for (unsigned f = 0; f < FACTORS - 2; f++)
        for (unsigned b = 0; b < BASES; b++)
            out[f * BASES + b] = bases[b] * factors[f];
    double rest[] = {m, sqrt(m), log(m), 1.0 / m, h, log(h), h / m, m / i};
    memcpy(out + (FACTORS - 2) * BASES, rest, sizeof rest);
}

/* A table of points for the path. */
typedef struct table {
    double *x, *y;
    double *m; /* workers of each row */
    uint64_t rows;
} table;

static bool open_table(table *self, const pl_goal *goal, const pl_trial *const *trials, unsigned count) {
    uint64_t most = (uint64_t)count * POINTS_PER_RUN;
    *self = (table){.x = pl_alloc(most, PL_LASSO_FEATURES * sizeof *self->x), .y = pl_alloc(2 * most, sizeof *self->y)};
    if (!self->x || !self->y)
        return false;
    self->m = self->y + most;
    for (unsigned t = 0; t < count; t++) {
        const pl_trial *trial = trials[t];
        unsigned step = trial->count / POINTS_PER_RUN + 1;
        double h = isnan(trial->of.epochs) ? 1.0 : trial->of.epochs;
        for (unsigned p = step - 1; p < trial->count; p += step) {
            double level = log(pl_goal_distance(goal, &trial->points[p]));
            if (isnan(level))
                continue;
            features(trial->points[p].round, trial->of.workers, h, self->x + self->rows * PL_LASSO_FEATURES);
            self->y[self->rows] = level;
            self->m[self->rows++] = trial->of.workers;
        }
    }
    return self->rows >= LEAST_POINTS;
}

static void close_table(table *self) {
    pl_free(self->x);
    pl_free(self->y);
}

/* The rows of all workers but some, in front. */
static uint64_t select_rows(const table *self, unsigned without, table *out) {
    uint64_t kept = 0;
    for (uint64_t i = 0; i < self->rows; i++)
        if (self->m[i] != without) {
            memcpy(out->x + kept * PL_LASSO_FEATURES, self->x + i * PL_LASSO_FEATURES,
                   PL_LASSO_FEATURES * sizeof *self->x);
            out->y[kept++] = self->y[i];
        }
    return kept;
}

/* Sets up paths of one thread. `lambdas` NULL: a path has its own. */
static parley_settings *set_up(const double *lambdas, uint64_t count) {
    char list[LAMBDAS * 32] = "";
    for (uint64_t k = 0; lambdas && k < count; k++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%.17g", k ? "," : "", lambdas[k]);
    const char *const words[][2] = {{"loss", "squared"},
                                    {"l1_ratio", "1"},
                                    {"standardise", "true"},
                                    {"gap", "1e-5"},
                                    {"rounds", "500"},
                                    {"threads", "1"},
                                    {"engine", "threads"},
                                    {lambdas ? "lambda_list" : "lambdas", lambdas ? list : "40"},
                                    {"full_path", lambdas ? "true" : "false"}};
    parley_settings *settings;
    if (parley_settings_new(&settings, NULL) != PARLEY_OK)
        return NULL;
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (parley_settings_set(settings, words[i][0], words[i][1], NULL) != PARLEY_OK) {
            parley_settings_free(settings);
            return NULL;
        }
    return settings;
}

/* A path on the rows of all workers but some; NULL if it fails. */
static parley_path_result *path_without(const table *self, unsigned without, table *room,
                                        const parley_settings *settings) {
    uint64_t rows = select_rows(self, without, room);
    parley_data *data = NULL;
    parley_path_result *path = NULL;
    if (rows < LEAST_POINTS || parley_data_from_dense(rows, PL_LASSO_FEATURES, room->x, PARLEY_FLOAT64,
                                                      PL_LASSO_FEATURES, 1, room->y, NULL, 1, &data, NULL) != PARLEY_OK)
        return NULL;
    parley_path(data, settings, NULL, NULL, &path, NULL, NULL);
    parley_data_free(data);
    return path;
}

static bool take_point(const parley_path_result *path, uint64_t at, pl_lasso *out) {
    uint64_t count;
    const parley_point *points = parley_path_points(path, &count);
    parley_model *model;
    at = at < count ? at : count - 1;
    if (parley_path_model(path, at, &model, NULL) != PARLEY_OK)
        return false;
    memcpy(out->weight, parley_model_coef(model), sizeof out->weight);
    out->intercept = *parley_model_intercept(model);
    out->lambda = points[at].lambda;
    parley_model_free(model);
    return true;
}

static double predict(const pl_lasso *lasso, double round, double workers, double h) {
    double x[PL_LASSO_FEATURES], sum = lasso->intercept;
    features(round, workers, h, x);
    for (unsigned j = 0; j < PL_LASSO_FEATURES; j++)
        sum += lasso->weight[j] * x[j];
    return sum;
}

/* Adds the mean squared error at each strength on the rows of the workers that were left out. */
static bool add_errors(const table *self, const parley_path_result *path, unsigned workers, double *errors,
                       uint64_t count) {
    pl_lasso lasso;
    for (uint64_t k = 0; k < count; k++) {
        double sum = 0, rows = 0;
        if (!take_point(path, k, &lasso))
            return false;
        for (uint64_t i = 0; i < self->rows; i++)
            if (self->m[i] == workers) {
                double miss = lasso.intercept - self->y[i];
                for (unsigned j = 0; j < PL_LASSO_FEATURES; j++)
                    miss += lasso.weight[j] * self->x[i * PL_LASSO_FEATURES + j];
                sum += miss * miss;
                rows++;
            }
        errors[k] += rows ? sum / rows : 0;
    }
    return true;
}

/* Cross-validates the strength over the numbers of workers, with the paths without each of them. */
static bool cross_validate(const table *self, const parley_path_result *full, uint64_t lambdas,
                           parley_path_result **paths, const unsigned *workers, unsigned count, pl_lasso *out,
                           pl_lasso *without) {
    double errors[LAMBDAS] = {0};
    uint64_t best = 0;
    for (unsigned w = 0; w < count; w++)
        if (!paths[w] || !add_errors(self, paths[w], workers[w], errors, lambdas))
            return false;
    for (uint64_t k = 1; k < lambdas; k++)
        best = errors[k] < errors[best] ? k : best;
    bool taken = take_point(full, best, out);
    out->error = sqrt(errors[best] / count);
    for (unsigned w = 0; w < count && taken; w++) {
        taken = take_point(paths[w], best, &without[w]);
        without[w].error = out->error;
    }
    return taken;
}

/* The path on all rows, then those without the rows of each number of workers at the same strengths. */
static bool fit_tables(const table *all, table *room, const unsigned *workers, unsigned count,
                       parley_path_result **paths, pl_lasso *out, pl_lasso *without) {
    double lambdas[LAMBDAS];
    uint64_t points = 0;
    parley_settings *own = set_up(NULL, 0), *same = NULL;
    parley_path_result *full = own ? path_without(all, 0, room, own) : NULL;
    const parley_point *point = full ? parley_path_points(full, &points) : NULL;
    points = points < LAMBDAS ? points : LAMBDAS;
    for (uint64_t k = 0; k < points; k++)
        lambdas[k] = point[k].lambda;
    same = points ? set_up(lambdas, points) : NULL;
    for (unsigned w = 0; same && w < count; w++)
        paths[w] = path_without(all, workers[w], room, same);
    bool fits = same && cross_validate(all, full, points, paths, workers, count, out, without);
    parley_path_free(full);
    parley_settings_free(own);
    parley_settings_free(same);
    return fits;
}

bool pl_lasso_fit(const pl_goal *goal, const pl_trial *const *trials, unsigned trial_count, const unsigned *workers,
                  unsigned count, pl_lasso *out, pl_lasso *without) {
    table all = {0}, room = {0};
    parley_path_result **paths = pl_alloc(count + 1, sizeof *paths);
    bool fits = count >= 3 && paths && open_table(&all, goal, trials, trial_count) &&
                open_table(&room, goal, trials, trial_count) &&
                fit_tables(&all, &room, workers, count, paths, out, without);
    for (unsigned w = 0; paths && w < count; w++)
        parley_path_free(paths[w]);
    close_table(&all);
    close_table(&room);
    pl_free(paths);
    return fits;
}

double pl_lasso_level(const pl_lasso *lasso, double workers, double epochs, double round) {
    double h = isnan(epochs) ? 1.0 : epochs, least = predict(lasso, round, workers, h);
    for (double i = 1; i < round; i *= STEP)
        least = fmin(least, predict(lasso, i, workers, h));
    return least;
}

double pl_lasso_rounds(const pl_lasso *lasso, double workers, double epochs, double level) {
    double h = isnan(epochs) ? 1.0 : epochs, before = 1, last = INFINITY;
    for (double i = 1; i <= FARTHEST; i *= STEP) {
        double now = predict(lasso, i, workers, h);
        if (now <= level)
            return isfinite(last) && last > now ? before + (i - before) * (last - level) / (last - now) : i;
        before = i;
        last = now;
    }
    return INFINITY;
}
