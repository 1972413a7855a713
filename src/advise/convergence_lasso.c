/* convergence_lasso.c: see convergence_lasso.h. */
#include "advise/convergence_lasso.h"

#include <math.h>
#include <string.h>

#include "linear/path/linear_path.h"

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

static bool open_table(table *this, const pl_goal *goal, const pl_trial *const *trials, unsigned count) {
    uint64_t most = (uint64_t)count * POINTS_PER_RUN;
    *this = (table){.x = pl_alloc(most, PL_LASSO_FEATURES * sizeof *this->x), .y = pl_alloc(2 * most, sizeof *this->y)};
    if (!this->x || !this->y)
        return false;
    this->m = this->y + most;
    for (unsigned t = 0; t < count; t++) {
        const pl_trial *trial = trials[t];
        unsigned step = trial->count / POINTS_PER_RUN + 1;
        double h = isnan(trial->of.epochs) ? 1.0 : trial->of.epochs;
        for (unsigned p = step - 1; p < trial->count; p += step) {
            double level = log(pl_goal_distance(goal, &trial->points[p]));
            if (isnan(level))
                continue;
            features(trial->points[p].round, trial->of.workers, h, this->x + this->rows * PL_LASSO_FEATURES);
            this->y[this->rows] = level;
            this->m[this->rows++] = trial->of.workers;
        }
    }
    return this->rows >= LEAST_POINTS;
}

static void close_table(table *this) {
    pl_free(this->x);
    pl_free(this->y);
}

/* The rows of all workers but some, in front. */
static uint64_t select_rows(const table *this, unsigned without, table *out) {
    uint64_t kept = 0;
    for (uint64_t i = 0; i < this->rows; i++)
        if (this->m[i] != without) {
            memcpy(out->x + kept * PL_LASSO_FEATURES, this->x + i * PL_LASSO_FEATURES,
                   PL_LASSO_FEATURES * sizeof *this->x);
            out->y[kept++] = this->y[i];
        }
    return kept;
}

static bool set_up(parley_settings *settings) {
    static const char *const words[][2] = {{"loss", "squared"}, {"l1_ratio", "1"}, {"standardise", "true"},
                                           {"gap", "1e-5"},     {"threads", "1"},  {"rounds", "500"}};
    pl_settings_defaults(settings);
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (pl_setting_set(settings, 0, words[i][0], words[i][1], NULL) != PARLEY_OK)
            return false;
    snprintf(settings->engine, sizeof settings->engine, "threads");
    return true;
}

/* A path on the rows of all workers but some; NULL if it fails. `lambdas` NULL: its own. */
static pl_path *path_without(const table *this, unsigned without, const double *lambdas, uint64_t count, table *room,
                             parley_settings *settings) {
    uint64_t rows = select_rows(this, without, room);
    parley_data *data = NULL;
    pl_path *path = NULL;
    pl_path_plan plan = {.lambdas = lambdas, .count = count, .all = lambdas != NULL};
    if (rows < LEAST_POINTS || parley_data_from_dense(rows, PL_LASSO_FEATURES, room->x, PARLEY_FLOAT64,
                                                      PL_LASSO_FEATURES, 1, room->y, NULL, 1, &data, NULL) != PARLEY_OK)
        return NULL;
    if (pl_path_run(settings, data, settings, &plan, NULL, NULL, &path, NULL) != PARLEY_OK)
        path = NULL;
    parley_data_free(data);
    return path;
}

static void take_point(const pl_path *path, uint64_t at, pl_lasso *out) {
    at = at < path->count ? at : path->count - 1;
    pl_kept_copy(&path->coef[at], 0, PL_LASSO_FEATURES, out->weight);
    out->intercept = path->intercept[at];
    out->lambda = path->points[at].lambda;
}

static double predict(const pl_lasso *lasso, double round, double workers, double h) {
    double x[PL_LASSO_FEATURES], sum = lasso->intercept;
    features(round, workers, h, x);
    for (unsigned j = 0; j < PL_LASSO_FEATURES; j++)
        sum += lasso->weight[j] * x[j];
    return sum;
}

/* Mean squared error at each strength on the rows of the workers that were left out. */
static void add_errors(const table *this, const pl_path *path, unsigned workers, double *errors, uint64_t count) {
    pl_lasso lasso;
    for (uint64_t k = 0; k < count; k++) {
        double sum = 0, rows = 0;
        take_point(path, k, &lasso);
        for (uint64_t i = 0; i < this->rows; i++)
            if (this->m[i] == workers) {
                double miss = lasso.intercept - this->y[i];
                for (unsigned j = 0; j < PL_LASSO_FEATURES; j++)
                    miss += lasso.weight[j] * this->x[i * PL_LASSO_FEATURES + j];
                sum += miss * miss;
                rows++;
            }
        errors[k] += rows ? sum / rows : 0;
    }
}

/* Cross-validates the strength over the numbers of workers, with the paths without each of them. */
static bool cross_validate(const table *this, pl_path *full, pl_path **paths, const unsigned *workers, unsigned count,
                           pl_lasso *out, pl_lasso *without) {
    double errors[LAMBDAS] = {0};
    uint64_t best = 0, lambdas = full->count < LAMBDAS ? full->count : LAMBDAS;
    for (unsigned w = 0; w < count; w++) {
        if (!paths[w] || !paths[w]->count)
            return false;
        add_errors(this, paths[w], workers[w], errors, lambdas);
    }
    for (uint64_t k = 1; k < lambdas; k++)
        best = errors[k] < errors[best] ? k : best;
    take_point(full, best, out);
    out->error = sqrt(errors[best] / count);
    for (unsigned w = 0; w < count; w++) {
        take_point(paths[w], best, &without[w]);
        without[w].error = out->error;
    }
    return true;
}

bool pl_lasso_fit(const pl_goal *goal, const pl_trial *const *trials, unsigned trial_count, const unsigned *workers,
                  unsigned count, pl_lasso *out, pl_lasso *without) {
    table all = {0}, room = {0};
    pl_path *full = NULL, **paths = pl_alloc(count + 1, sizeof *paths);
    double lambdas[LAMBDAS];
    parley_settings *settings = pl_alloc(1, sizeof *settings);
    bool fits = count >= 3 && paths && settings && set_up(settings) &&
                pl_setting_set(settings, 0, "lambdas", "40", NULL) == PARLEY_OK &&
                open_table(&all, goal, trials, trial_count) && open_table(&room, goal, trials, trial_count);
    if (fits)
        full = path_without(&all, 0, NULL, 0, &room, settings);
    fits = fits && full && full->count;
    for (uint64_t k = 0; fits && k < full->count && k < LAMBDAS; k++)
        lambdas[k] = full->points[k].lambda;
    for (unsigned w = 0; fits && w < count; w++)
        paths[w] =
            path_without(&all, workers[w], lambdas, full->count < LAMBDAS ? full->count : LAMBDAS, &room, settings);
    fits = fits && cross_validate(&all, full, paths, workers, count, out, without);
    for (unsigned w = 0; paths && w < count; w++)
        parley_path_free(paths[w]);
    parley_path_free(full);
    close_table(&all);
    close_table(&room);
    pl_free(paths);
    pl_free(settings);
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
