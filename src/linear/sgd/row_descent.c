/* row_descent.c: stochastic gradient descent on rows in memory, one row at a time and in doubles, for callers who bring
 * their own rates. Its rates, averages and ends are those of scikit-learn's SGDClassifier and SGDRegressor.
 *
 * The model is w = scale * v, so that the decay of an L2 penalty is one product (Bottou 2012, "Stochastic gradient
 * descent tricks"). The mean of the models after each step is (mean + a v) / b, which changes only where v changes. An
 * L1 penalty is paid by the entries of the rows that are visited, and never moves one across 0 (Tsuruoka, Tsujii and
 * Ananiadou 2009, "Stochastic gradient descent training for L1-regularized log-linear models"). */
#include <math.h>
#include <string.h>

#include "base/callback.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/stop.h"
#include "linear/loss/loss.h"

#define LEAST_SCALE 1e-9   /* below it, v is multiplied out */
#define MOST_SLOPE 1e12    /* steeper slopes are cut */
#define LEAST_ADAPTED 1e-6 /* of the rate `adaptive` */

typedef enum pace { CONSTANT, OPTIMAL, INVSCALING, ADAPTIVE, PA1, PA2 } pace;
static const char *const PACES[] = {"constant", "optimal", "invscaling", "adaptive", "pa1", "pa2"};

/* Row i: `count` values, of the columns `column`, or of all of them if that is NULL. */
typedef struct visited {
    const double *x;
    const int32_t *column;
    uint64_t count;
} visited;

typedef struct run {
    parley_descent *own;
    const pl_loss *loss;
    pl_loss tuned;
    pace pace;
    uint64_t *order, learnt; /* the rows in the order of visits, and how many of them are learnt */
    double *row;             /* room for a row of floats */
    double *paid;            /* the L1 penalty that each entry has paid; NULL without that penalty */
    double owed;             /* by an entry that has been in all rows */
    double scale, a, b;      /* see above */
    double squares, sizes;   /* |v|^2 and |v|_1 */
    double eta, first;       /* the rate, and the number of steps before the first one of `optimal` */
    double sum, best, seen;  /* of the objectives of a pass; the best pass; the latest pass */
    uint64_t worse;          /* passes without improvement */
} run;

static double expand_perceptron(const pl_loss *loss, double z, double y, double *slope, double *curvature) {
    (void)loss;
    *slope = y * z <= 0 ? -y : 0.0;
    *curvature = 0.0;
    return y * z <= 0 ? -y * z : 0.0;
}

/* A quadratically smoothed hinge loss with a linear tail (Zhang 2004). */
static double expand_modified_huber(const pl_loss *loss, double z, double y, double *slope, double *curvature) {
    (void)loss;
    double m = y * z, slack = m < 1 ? 1.0 - m : 0.0;
    *curvature = 0.0;
    *slope = m < -1 ? -4.0 * y : -2.0 * y * slack;
    return m < -1 ? -4.0 * m : slack * slack;
}

/* Losses without a conjugate, which only these steps can use. */
static const pl_loss OWN_LOSSES[] = {
    {.name = "perceptron", .labels = PL_LABELS_BINARY, .expand = expand_perceptron},
    {.name = "modified-huber", .labels = PL_LABELS_BINARY, .expand = expand_modified_huber},
};

static const pl_loss *find_loss(const char *name) {
    for (unsigned i = 0; i < sizeof OWN_LOSSES / sizeof *OWN_LOSSES; i++)
        if (strcmp(OWN_LOSSES[i].name, name) == 0)
            return &OWN_LOSSES[i];
    const pl_loss *loss = pl_loss_find(name);
    return loss && loss->labels != PL_LABELS_CLASSES && !loss->log_link ? loss : NULL;
}

static visited visit(const run *run, uint64_t i) {
    const parley_descent *own = run->own;
    uint64_t begin = own->start ? (uint64_t)own->start[i] : i * own->columns;
    uint64_t count = own->start ? (uint64_t)own->start[i + 1] - begin : own->columns;
    visited row = {.column = own->start ? own->index + begin : NULL, .count = count, .x = run->row};
    if (own->type == PARLEY_FLOAT64)
        row.x = (const double *)own->value + begin;
    else
        for (uint64_t e = 0; e < count; e++)
            run->row[e] = ((const float *)own->value)[begin + e];
    return row;
}

static uint64_t column_of(const visited *row, uint64_t e) { return row->column ? (uint64_t)row->column[e] : e; }

static double margin(const run *run, const visited *row) {
    const double *v = run->own->coef;
    double sum = 0.0;
    if (row->column)
        for (uint64_t e = 0; e < row->count; e++)
            sum += v[row->column[e]] * row->x[e];
    else
        for (uint64_t e = 0; e < row->count; e++)
            sum += v[e] * row->x[e];
    return sum * run->scale + run->own->bias;
}

static void measure(run *run) {
    run->squares = run->sizes = 0.0;
    for (uint64_t j = 0; j < run->own->columns; j++) {
        run->squares += run->own->coef[j] * run->own->coef[j];
        run->sizes += fabs(run->own->coef[j]);
    }
}

/* Sets the scale to 1. */
static void multiply_out(run *run) {
    double *v = run->own->coef, *mean = run->own->mean;
    for (uint64_t j = 0; j < run->own->columns; j++) {
        if (mean)
            mean[j] = (mean[j] + run->a * v[j]) / run->b;
        v[j] *= run->scale;
    }
    run->squares *= run->scale * run->scale;
    run->sizes *= run->scale;
    run->scale = run->b = 1.0;
    run->a = 0.0;
}

static void decay(run *run, double factor) {
    run->scale *= factor;
    if (run->scale < LEAST_SCALE)
        multiply_out(run);
}

/* Replaces entry j of v, and keeps the mean and the norms. */
static void replace(run *run, uint64_t j, double value) {
    double old = run->own->coef[j];
    run->own->coef[j] = value;
    run->squares += (value - old) * (value + old);
    run->sizes += fabs(value) - fabs(old);
    if (run->own->mean)
        run->own->mean[j] -= run->a * (value - old);
}

static void add(run *run, const visited *row, double step) {
    step /= run->scale;
    for (uint64_t e = 0; e < row->count; e++) {
        uint64_t j = column_of(row, e);
        replace(run, j, run->own->coef[j] + step * row->x[e]);
    }
}

/* Lets the entries of a row pay what they owe. */
static void shrink(run *run, const visited *row) {
    for (uint64_t e = 0; e < row->count; e++) {
        uint64_t j = column_of(row, e);
        double old = run->own->coef[j], value = old;
        if (old > 0)
            value = fmax(0.0, old - (run->owed + run->paid[j]) / run->scale);
        else if (old < 0)
            value = fmin(0.0, old + (run->owed - run->paid[j]) / run->scale);
        replace(run, j, value);
        run->paid[j] += run->scale * (value - old);
    }
}

static void average(run *run) {
    parley_descent *own = run->own;
    double count = own->steps - (double)own->average + 1.0;
    if (count > 1)
        run->b /= 1.0 - 1.0 / count;
    run->a += run->b * run->scale / count;
    own->mean_bias += (own->bias - own->mean_bias) / count;
}

static double rate_now(const run *run) {
    const parley_descent *own = run->own;
    if (run->pace == OPTIMAL)
        return 1.0 / (own->alpha * (run->first + own->steps - 1.0));
    return run->pace == INVSCALING ? own->eta0 / pow(own->steps, own->power) : run->eta;
}

/* The step of a passive-aggressive rate (Crammer et al. 2006); NaN: the row is passed over. */
static double aggressive(const run *run, const visited *row, double value, double slope) {
    double norm = 0.0, eta0 = run->own->eta0;
    for (uint64_t e = 0; e < row->count; e++)
        norm += row->x[e] * row->x[e];
    if (run->pace == PA1 && norm == 0)
        return NAN;
    double size = run->pace == PA1 ? fmin(eta0, value / norm) : value / (norm + 0.5 / eta0);
    return slope > 0 ? -size : size;
}

static double penalty_of(const run *run) {
    double ratio = run->own->l1_ratio;
    return (1.0 - ratio) / 2 * run->scale * run->scale * run->squares + ratio * run->scale * run->sizes;
}

static void learn(run *run, uint64_t i) {
    parley_descent *own = run->own;
    visited row = visit(run, i);
    double y = own->target[i], slope, curvature, step;
    double z = margin(run, &row), value = run->loss->expand(run->loss, z, y, &slope, &curvature);
    bool passive = run->pace >= PA1;
    run->eta = rate_now(run);
    run->sum += value;
    if (!passive)
        run->sum += own->penalty * penalty_of(run);
    step = passive ? aggressive(run, &row, value, slope) : -run->eta * fmin(MOST_SLOPE, fmax(-MOST_SLOPE, slope));
    if (isnan(step) && passive)
        return;
    step *= (y > 0 ? own->positive : own->negative) * (own->weight ? own->weight[i] : 1.0);
    if (own->l1_ratio < 1)
        decay(run, fmax(0.0, 1.0 - (1.0 - own->l1_ratio) * run->eta * own->penalty));
    if (step != 0) {
        add(run, &row, step);
        if (own->intercept)
            own->bias += step * own->bias_rate;
    }
    if (own->average && (double)own->average <= own->steps)
        average(run);
    if (run->paid) {
        run->owed += own->l1_ratio * run->eta * own->penalty;
        shrink(run, &row);
    }
    own->steps += 1.0;
}

/* A generator and a shuffle with which the rows come in the order of scikit-learn, for the same seed. */
static uint32_t draw(uint32_t *seed) {
    uint32_t x = *seed ? *seed : 1;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    *seed = x;
    return x & 0x7fffffff;
}

static void shuffle(run *run) {
    uint32_t seed = run->own->seed;
    for (uint64_t i = 0; i + 1 < run->own->rows; i++) {
        uint64_t j = i + draw(&seed) % (run->own->rows - i), kept = run->order[i];
        run->order[i] = run->order[j];
        run->order[j] = kept;
    }
}

/* The accuracy of the rows that are held out, or R2 of numbers. */
static double score(const run *run) {
    const parley_descent *own = run->own;
    double all = 0.0, right = 0.0, sum = 0.0, off = 0.0, squares = 0.0;
    for (uint64_t i = 0; i < own->rows; i++) {
        if (!own->held_out[i])
            continue;
        visited row = visit(run, i);
        double weight = own->weight ? own->weight[i] : 1.0, y = own->target[i], z = margin(run, &row);
        all += weight;
        right += (z > 0) == (y > 0) ? weight : 0.0;
        sum += weight * y;
        squares += weight * y * y;
        off += weight * (z - y) * (z - y);
    }
    if (own->classes)
        return right / all;
    double spread = squares - sum * sum / all;
    return spread > 0 ? 1.0 - off / spread : off > 0 ? 0.0 : 1.0;
}

static bool finite(const run *run) {
    bool good = isfinite(run->own->bias);
    for (uint64_t j = 0; j < run->own->columns && good; j++)
        good = isfinite(run->own->coef[j]);
    return good;
}

/* Whether the descent ends after this pass. */
static bool ends(run *run) {
    const parley_descent *own = run->own;
    double now = own->held_out ? -score(run) : run->seen;
    bool better = !(now > run->best - own->tolerance);
    run->worse = better || own->tolerance == -INFINITY ? 0 : run->worse + 1;
    run->best = fmin(run->best, now);
    if (run->worse < own->patience)
        return false;
    if (run->pace != ADAPTIVE || run->eta <= LEAST_ADAPTED)
        return true;
    run->eta /= 5.0;
    run->worse = 0;
    return false;
}

static parley_status make_pass(run *run, parley_error *error) {
    parley_descent *own = run->own;
    run->sum = 0.0;
    measure(run);
    if (own->shuffle)
        shuffle(run);
    own->passes++;
    for (uint64_t k = 0; k < own->rows; k++) {
        if (pl_stop_asked())
            return pl_fail_unfinished(error);
        if (!own->held_out || !own->held_out[run->order[k]])
            learn(run, run->order[k]);
    }
    run->seen = own->objective = run->sum / (double)run->learnt;
    if (!finite(run))
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "Floating-point under-/overflow occurred at epoch #%llu. Scaling input data with "
                       "StandardScaler or MinMaxScaler might help.",
                       (unsigned long long)own->passes);
    return PARLEY_OK;
}

static bool told_to_stop(const run *run, double begun, parley_callback callback, void *user) {
    parley_progress at = {.round = run->own->passes, .epochs = (double)run->own->passes, .objective = run->seen};
    at.seconds = pl_now() - begun;
    at.dual = at.gap = at.relative_gap = at.estimate = at.validation = NAN;
    return callback && pl_call_back(callback, user, &at, NULL) != 0;
}

static parley_status descend(run *run, parley_callback callback, void *user, parley_error *error) {
    parley_descent *own = run->own;
    double begun = pl_now();
    parley_status status = PARLEY_OK;
    own->converged = 0;
    own->passes = 0;
    while (status == PARLEY_OK && !own->converged && own->passes < own->most_passes) {
        status = make_pass(run, error);
        if (status != PARLEY_OK || told_to_stop(run, begun, callback, user))
            break;
        own->converged = ends(run);
    }
    multiply_out(run);
    return status;
}

static parley_status prepare(run *run, parley_error *error) {
    parley_descent *own = run->own;
    uint64_t widest = own->start ? 0 : own->columns;
    for (uint64_t i = 0; own->start && i < own->rows; i++) {
        uint64_t count = (uint64_t)(own->start[i + 1] - own->start[i]);
        widest = count > widest ? count : widest;
    }
    parley_status status = pl_take(&run->order, own->rows, sizeof *run->order, "the order of rows", error);
    if (status == PARLEY_OK && own->type == PARLEY_FLOAT32)
        status = pl_take(&run->row, widest, sizeof *run->row, "a row", error);
    if (status == PARLEY_OK && own->penalty > 0 && own->l1_ratio > 0)
        status = pl_take(&run->paid, own->columns, sizeof *run->paid, "an L1 penalty", error);
    if (status != PARLEY_OK)
        return status;
    for (uint64_t i = 0; i < own->rows; i++) {
        run->order[i] = i;
        run->learnt += !own->held_out || !own->held_out[i];
    }
    run->first = 1.0 / (sqrt(1.0 / sqrt(own->alpha)) * own->alpha);
    run->scale = run->b = 1.0;
    run->eta = own->eta0;
    run->best = INFINITY;
    return PARLEY_OK;
}

static parley_status check(run *run, parley_error *error) {
    const parley_descent *own = run->own;
    const pl_loss *loss = find_loss(own->loss);
    unsigned rate = 0, rates = sizeof PACES / sizeof *PACES;
    while (rate < rates && strcmp(PACES[rate], own->rate) != 0)
        rate++;
    if (!loss)
        return pl_fail(error, PARLEY_BAD_USAGE, "there is no loss %s for descent by rows", own->loss);
    if (rate == rates)
        return pl_fail(error, PARLEY_BAD_USAGE, "there is no learning rate %s; use optimal or invscaling", own->rate);
    if (own->type != PARLEY_FLOAT32 && own->type != PARLEY_FLOAT64)
        return pl_fail(error, PARLEY_BAD_USAGE, "the values must be float32 or float64");
    if ((own->average > 0) != (own->mean != NULL))
        return pl_fail(error, PARLEY_BAD_USAGE, "an average needs an array for the mean, and only an average does");
    for (uint64_t i = 0; own->start && i < own->rows; i++)
        for (int64_t e = own->start[i]; e < own->start[i + 1]; e++)
            if (own->index[e] < 0 || (uint64_t)own->index[e] >= own->columns)
                return pl_fail(error, PARLEY_BAD_INPUT, "row %llu: column index %d is not below %llu",
                               (unsigned long long)i, own->index[e], (unsigned long long)own->columns);
    run->pace = (pace)rate;
    run->tuned = *loss;
    run->tuned.parameter_value = own->epsilon;
    run->loss = &run->tuned;
    return PARLEY_OK;
}

parley_status parley_descend(parley_descent *descent, parley_callback callback, void *user, parley_error *error) {
    run run = {.own = descent};
    parley_status status = check(&run, error);
    if (status == PARLEY_OK)
        status = prepare(&run, error);
    if (status == PARLEY_OK) {
        pl_stop_enter();
        status = pl_stop_leave(descend(&run, callback, user, error));
    }
    pl_free(run.order);
    pl_free(run.row);
    pl_free(run.paid);
    return status;
}
