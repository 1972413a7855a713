/* system_model.c: see system_model.h. */
#include "advise/system_model.h"

#include <math.h>
#include <string.h>

#include "math/cholesky.h"
#include "math/non_negative.h"

#define F PL_SYSTEM_FEATURES

const char *const pl_system_name[F] = {"1", "H size/m", "size/m", "log2 m", "ceil log2 m", "m", "bytes/bandwidth"};

/* Interpolates a measured value in log m between neighbours, over points of one H first and then of all. */
static double between(const pl_system_model *self, double workers, double without, double epochs,
                      double (*value)(const pl_system_model *self, const pl_system_point *point), double none) {
    const pl_system_point *below = NULL, *above = NULL;
    for (unsigned i = 0; i < self->count; i++) {
        const pl_system_point *point = &self->point[i];
        if (point->workers == without || (epochs >= 0 && point->epochs != epochs))
            continue;
        if (point->workers <= workers && (!below || point->workers > below->workers))
            below = point;
        if (point->workers >= workers && (!above || point->workers < above->workers))
            above = point;
    }
    if (!below || !above)
        return below ? value(self, below) : above ? value(self, above) : none;
    double part = above == below || above->workers == below->workers
                      ? 0
                      : log(workers / below->workers) / log(above->workers / below->workers);
    return (1 - part) * value(self, below) + part * value(self, above);
}

static double bytes_of(const pl_system_model *self, const pl_system_point *point) {
    (void)self;
    return point->bytes;
}

static double setup_of(const pl_system_model *self, const pl_system_point *point) {
    (void)self;
    return point->setup;
}

static double exchange_of(const pl_system_model *self, const pl_system_point *point) {
    (void)self;
    return point->exchange;
}

double pl_system_exchange(const pl_system_model *self, double workers, double epochs) {
    return between(self, workers, 0, isnan(epochs) ? 0 : epochs, exchange_of, 0);
}

double pl_system_bytes(const pl_system_model *self, double workers, double without) {
    return workers > 1 ? between(self, workers, without, -1, bytes_of, 0) : 0;
}

double pl_system_setup(const pl_system_model *self, double workers, double without) {
    return between(self, workers, without, -1, setup_of, 0);
}

static void features(const pl_system_model *self, double workers, double epochs, double without, double *x) {
    double bytes = self->bandwidth > 0 ? pl_system_bytes(self, workers, without) / self->bandwidth : 0;
    double all[F] = {
        1, epochs * self->size / workers, self->size / workers, log2(workers), ceil(log2(workers)), workers, bytes};
    memcpy(x, all, sizeof all);
}

static bool fit_without(const pl_system_model *self, double without, double *theta) {
    double x[PL_SYSTEM_MOST * F], y[PL_SYSTEM_MOST], weight[PL_SYSTEM_MOST];
    unsigned rows = 0;
    for (unsigned i = 0; i < self->count; i++) {
        const pl_system_point *point = &self->point[i];
        if (point->workers == without || !(point->seconds > 0))
            continue;
        features(self, point->workers, point->epochs, without, x + rows * F);
        y[rows] = point->seconds;
        weight[rows++] = 1.0 / (point->seconds * point->seconds);
    }
    return rows && pl_non_negative(x, y, weight, rows, F, theta);
}

static double plain(const pl_system_model *self, const double *theta, double workers, double epochs, double without) {
    double x[F], sum = 0;
    features(self, workers, epochs, without, x);
    for (unsigned j = 0; j < F; j++)
        sum += theta[j] * x[j];
    return sum;
}

static double left_over(const pl_system_model *self, const pl_system_point *point) {
    double fitted = plain(self, self->theta, point->workers, point->epochs, 0);
    return fitted > 0 && point->seconds > 0 ? log(point->seconds / fitted) : 0;
}

static double predict(const pl_system_model *self, double workers, double epochs, double without, bool corrected) {
    pl_system_model part;
    if (without > 0) {
        part = *self;
        if (!fit_without(self, without, part.theta))
            return NAN;
        self = &part;
    }
    double seconds = plain(self, self->theta, workers, epochs, without);
    if (corrected)
        seconds *= exp(between(self, workers, without, epochs, left_over, 0));
    return seconds;
}

/* The smallest and the largest number of workers cannot be judged: leaving them out asks for an extrapolation. */
static bool is_inside(const pl_system_model *self, double workers) {
    bool below = false, above = false;
    for (unsigned i = 0; i < self->count; i++) {
        below = below || self->point[i].workers < workers;
        above = above || self->point[i].workers > workers;
    }
    return below && above;
}

static double error_of(const pl_system_model *self, bool corrected) {
    double sum = 0, count = 0;
    for (unsigned i = 0; i < self->count; i++) {
        const pl_system_point *point = &self->point[i];
        if (!is_inside(self, point->workers) || !(point->seconds > 0))
            continue;
        double miss = log(predict(self, point->workers, point->epochs, point->workers, corrected) / point->seconds);
        sum += miss * miss;
        count++;
    }
    return count ? sqrt(sum / count) : NAN;
}

void pl_system_fit(pl_system_model *self) {
    memset(self->theta, 0, sizeof self->theta);
    fit_without(self, 0, self->theta);
    double with = error_of(self, true), alone = error_of(self, false);
    self->corrected = !(alone < with);
    self->error = self->corrected ? with : alone;
}

/* The mean of what was measured; NaN if it was not. */
static double measured(const pl_system_model *self, double workers, double epochs) {
    double sum = 0, count = 0;
    for (unsigned i = 0; i < self->count; i++)
        if (self->point[i].workers == workers && self->point[i].epochs == epochs) {
            sum += self->point[i].seconds;
            count++;
        }
    return count ? sum / count : NAN;
}

double pl_system_seconds(const pl_system_model *self, double workers, double epochs, double without) {
    double known = measured(self, workers, isnan(epochs) ? 0 : epochs);
    if (without != workers && known > 0)
        return known;
    return predict(self, workers, isnan(epochs) ? 0 : epochs, without, self->corrected);
}

/* Adds the row of a number of workers to the information, which is by columns. */
static void add_row(double *a, double workers) {
    double x[4] = {1, 1.0 / workers, log2(workers), workers / 64.0};
    for (unsigned j = 0; j < 4; j++)
        for (unsigned k = 0; k < 4; k++)
            a[j * 4 + k] += x[j] * x[k];
}

/* Mean variance of predictions over the candidates. */
static double mean_variance(const double *a, const double *workers, unsigned count) {
    double l[16], sum = 0;
    memcpy(l, a, sizeof l);
    if (!pl_cholesky(l, 4))
        return INFINITY;
    for (unsigned i = 0; i < count; i++) {
        double x[4] = {1, 1.0 / workers[i], log2(workers[i]), workers[i] / 64.0}, b[4];
        memcpy(b, x, sizeof b);
        pl_cholesky_solve(l, 4, b);
        for (unsigned j = 0; j < 4; j++)
            sum += x[j] * b[j];
    }
    return sum / count;
}

unsigned pl_system_next(const double *workers, const double *cost, unsigned count, const bool *done) {
    double a[16] = {0}, best_gain = -INFINITY;
    unsigned best = count;
    if (count && (!done[0] || !done[count - 1]))
        return done[0] ? count - 1 : 0;
    for (unsigned j = 0; j < 4; j++)
        a[j * 4 + j] = 1e-6;
    for (unsigned i = 0; i < count; i++)
        if (done[i])
            add_row(a, workers[i]);
    double before = mean_variance(a, workers, count);
    for (unsigned i = 0; i < count; i++) {
        double with[16];
        if (done[i])
            continue;
        memcpy(with, a, sizeof with);
        add_row(with, workers[i]);
        double gain = (before - mean_variance(with, workers, count)) / cost[i];
        if (gain > best_gain) {
            best_gain = gain;
            best = i;
        }
    }
    return best;
}
