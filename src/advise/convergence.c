/* convergence.c: see convergence.h. */
#include "advise/convergence.h"

#include <math.h>
#include <string.h>

#define BASES 3
#define LEAST_TAIL 3     /* points of a tail */
#define TAIL_SHARE 0.5   /* of the fall of a curve that its tail is fitted to */
#define STALLED_POINTS 4 /* least of a curve that can be seen to stall */
#define ENOUGH_SEEN 5    /* evaluations from which estimates are not needed */
#define SIMPLER 1.1      /* factor by which a form with more freedom must be better */
#define LEAST_ERROR 0.02 /* of a form, for its weight */
#define MOST_ROUNDS 1e9
#define LEVEL_STEPS 60

const char *const pl_form_name[PL_FORMS] = {"lines", "power", "parabola", "lasso"};

static double basis_of(unsigned basis, double round) {
    return basis == 0 ? round : basis == 1 ? sqrt(round) : log(round);
}

static double basis_inverse(unsigned basis, double value) {
    return basis == 0 ? value : basis == 1 ? value * fabs(value) : exp(fmin(700.0, value));
}

/* Weighted straight line through points [begin, end) of the curve; the slope is NaN if there is none. */
static void fit_line(const pl_curve *curve, unsigned begin, unsigned end, unsigned basis, double *a, double *b) {
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (unsigned i = begin; i < end; i++) {
        double at = basis_of(basis, curve->round[i]);
        n++, x += at, y += curve->level[i], xx += at * at, xy += at * curve->level[i];
    }
    double spread = xx - x * x / n;
    *b = spread > 0 ? (xy - x * y / n) / spread : NAN;
    *a = (y - *b * x) / n;
}

/* The first point of a tail that ends at `end`: the last half of the fall, and enough points. */
static unsigned tail_begin(const pl_curve *curve, unsigned end) {
    double last = curve->level[end - 1], from = last + TAIL_SHARE * (curve->level[0] - last);
    unsigned begin = 0;
    while (begin + LEAST_TAIL < end && curve->level[begin] > from)
        begin++;
    return begin;
}

/* How badly a line in the basis, fitted before the last third, predicts the last third. */
static double miss_ahead(const pl_curve *curve, unsigned end, unsigned basis) {
    unsigned cut = end - end / 3;
    double a, b, sum = 0;
    if (cut < LEAST_TAIL || cut == end)
        return basis; /* too few points: prefer a straight line in rounds */
    fit_line(curve, tail_begin(curve, cut), cut, basis, &a, &b);
    for (unsigned i = cut; i < end; i++)
        sum += fabs(a + b * basis_of(basis, curve->round[i]) - curve->level[i]);
    return isnan(sum) ? INFINITY : sum;
}

void pl_curve_fit_tail(pl_curve *curve, unsigned end) {
    double least = INFINITY;
    curve->basis = 0;
    curve->b = NAN;
    if (end < 2)
        return;
    for (unsigned basis = 0; basis < BASES; basis++) {
        double miss = miss_ahead(curve, end, basis);
        if (miss < least) {
            least = miss;
            curve->basis = basis;
        }
    }
    fit_line(curve, tail_begin(curve, end), end, curve->basis, &curve->a, &curve->b);
    curve->a = curve->level[end - 1] - curve->b * basis_of(curve->basis, curve->round[end - 1]);
}

/* How far estimates are above evaluations, on average: each evaluation is compared with the estimate before it. */
static double estimate_bias(const pl_trial *trial) {
    double sum = 0, pairs = 0;
    for (unsigned i = 1; i < trial->count; i++)
        if (!trial->points[i].estimated && trial->points[i - 1].estimated) {
            sum += log(trial->points[i - 1].gap / trial->points[i].gap);
            pairs++;
        }
    return pairs ? sum / pairs : 0;
}

/* The logarithm of the distance from the goal; NaN if the point is of no use. Estimates are of the gap. */
static double level_at(const pl_goal *goal, const pl_trial *trial, unsigned i, bool estimates, double bias) {
    const pl_point_of_run *point = &trial->points[i];
    if (point->estimated && (!estimates || goal->kind != PL_GOAL_GAP))
        return NAN;
    return log(pl_goal_distance(goal, point)) - (point->estimated ? bias : 0.0);
}

/* Whether the level did not fall in the second half of the points. Then nothing can be said about later ones. */
static bool is_stalled(const pl_goal *goal, const pl_trial *trial, double bias) {
    if (trial->count < STALLED_POINTS || !isnan(pl_goal_rounds(goal, trial)))
        return false;
    double last = level_at(goal, trial, trial->count - 1, true, bias), before = -INFINITY;
    for (unsigned i = trial->count / 2 - 1; i + 1 < trial->count; i++)
        before = fmax(before, level_at(goal, trial, i, true, bias));
    return last >= before;
}

parley_status pl_curve_open(pl_curve *curve, const pl_goal *goal, const pl_trial *trial, parley_error *error) {
    unsigned seen = 0;
    *curve = (pl_curve){.workers = trial->of.workers,
                        .trial = trial,
                        .b = NAN,
                        .target = pl_goal_level(goal),
                        .reached = pl_goal_rounds(goal, trial)};
    parley_status status =
        pl_take(&curve->round, 2 * (uint64_t)trial->count + 1, sizeof *curve->round, "a curve", error);
    if (status != PARLEY_OK)
        return status;
    curve->level = curve->round + trial->count;
    for (unsigned i = 0; i < trial->count; i++)
        seen += !trial->points[i].estimated;
    double bias = estimate_bias(trial);
    for (unsigned i = 0; i < trial->count; i++) {
        double level = level_at(goal, trial, i, seen < ENOUGH_SEEN, bias);
        while (trial->points[i].estimated && curve->count && level >= curve->level[curve->count - 1])
            curve->count--; /* an estimate that later ones contradict was too low */
        if (isnan(level) || (curve->count && !(level < curve->level[curve->count - 1])))
            continue;
        curve->round[curve->count] = trial->points[i].round;
        curve->level[curve->count++] = level;
    }
    if (!is_stalled(goal, trial, bias))
        pl_curve_fit_tail(curve, curve->count);
    return PARLEY_OK;
}

void pl_curve_close(pl_curve *curve) {
    pl_free(curve->round);
    *curve = (pl_curve){0};
}

static double tail_rounds(const pl_curve *curve, double level) {
    if (!(curve->b < 0))
        return INFINITY;
    return fmax(curve->count ? curve->round[curve->count - 1] : 1.0,
                basis_inverse(curve->basis, (level - curve->a) / curve->b));
}

double pl_curve_rounds(const pl_curve *curve, double level) {
    unsigned n = curve->count;
    if (!isnan(curve->reached) && fabs(level - curve->target) < 1e-9)
        return curve->reached; /* the run ended there, by its own evaluations */
    if (n == 0)
        return INFINITY;
    if (level < curve->level[n - 1])
        return tail_rounds(curve, level);
    if (level >= curve->level[0])
        return fmax(1.0, curve->round[0]);
    unsigned i = 1;
    while (level < curve->level[i])
        i++;
    double part = (curve->level[i - 1] - level) / (curve->level[i - 1] - curve->level[i]);
    return curve->round[i - 1] + part * (curve->round[i] - curve->round[i - 1]);
}

/* Inverts rounds to a level, which never falls as the level falls. */
static double level_of(double (*rounds)(const void *of, double workers, double level), const void *of, double workers,
                       double round) {
    double low = -46.0, high = 2.0;
    for (unsigned i = 0; i < LEVEL_STEPS; i++) {
        double middle = 0.5 * (low + high);
        if (rounds(of, workers, middle) <= round)
            high = middle;
        else
            low = middle;
    }
    return high;
}

static double curve_rounds(const void *of, double workers, double level) {
    (void)workers;
    return pl_curve_rounds(of, level);
}

double pl_curve_level(const pl_curve *curve, double round) { return level_of(curve_rounds, curve, 0, round); }

/* Least squares of log rounds by log m with `terms` terms (1, log m, log^2 m) over the curves but one. */
static double polynomial(const pl_convergence *self, double workers, double level, unsigned without, unsigned terms) {
    double a[3][4] = {{0}}, at[3] = {1.0, log(workers), log(workers) * log(workers)};
    unsigned used = 0;
    for (unsigned c = 0; c < self->count; c++) {
        double m = log(self->curve[c].workers), x[3] = {1.0, m, m * m};
        double y = log(pl_curve_rounds(&self->curve[c], level));
        if (c == without || !isfinite(y))
            continue;
        used++;
        for (unsigned i = 0; i < terms; i++) {
            for (unsigned j = 0; j < terms; j++)
                a[i][j] += x[i] * x[j];
            a[i][3] += x[i] * y;
        }
    }
    if (used < terms + (terms == 3))
        return NAN;
    for (unsigned i = 0; i < terms; i++) /* the matrix is positive definite, since values of m differ */
        for (unsigned k = i + 1; k < terms; k++) {
            double factor = a[k][i] / a[i][i];
            for (unsigned j = i; j < 4; j++)
                a[k][j] -= factor * a[i][j];
        }
    double y = 0, x[3] = {0};
    for (unsigned i = terms; i-- > 0;) {
        x[i] = a[i][3];
        for (unsigned j = i + 1; j < terms; j++)
            x[i] -= a[i][j] * x[j];
        x[i] /= a[i][i];
        y += x[i] * at[i];
    }
    return y;
}

/* Straight lines between neighbours, and on beyond the ends. */
static double lines(const pl_convergence *self, double workers, double level, unsigned without) {
    unsigned left = PL_MOST_CURVES, right = PL_MOST_CURVES;
    for (unsigned c = 0; c < self->count; c++) { /* the last two at or below, else the first two */
        if (c == without || !isfinite(pl_curve_rounds(&self->curve[c], level)))
            continue;
        if (right == PL_MOST_CURVES || self->curve[right].workers < workers || left == PL_MOST_CURVES) {
            left = right;
            right = c;
        }
    }
    if (right == PL_MOST_CURVES)
        return NAN;
    double y = log(pl_curve_rounds(&self->curve[right], level));
    if (left == PL_MOST_CURVES)
        return self->curve[right].workers == workers ? y : NAN;
    double y0 = log(pl_curve_rounds(&self->curve[left], level));
    double x0 = log(self->curve[left].workers), x1 = log(self->curve[right].workers);
    return y0 + (y - y0) * (log(workers) - x0) / (x1 - x0);
}

static double by_lasso(const pl_convergence *self, double workers, double level, unsigned without) {
    const pl_lasso *lasso = without < PL_MOST_CURVES ? (self->without ? self->without[without] : NULL) : self->lasso;
    double epochs = self->count ? self->curve[0].trial->of.epochs : NAN;
    return lasso ? log(pl_lasso_rounds(lasso, workers, epochs, level)) : NAN;
}

static double log_rounds(const pl_convergence *self, pl_form form, double workers, double level, unsigned without) {
    switch (form) {
    case PL_FORM_LINES: return lines(self, workers, level, without);
    case PL_FORM_POWER: return polynomial(self, workers, level, without, 2);
    case PL_FORM_PARABOLA: return polynomial(self, workers, level, without, 3);
    default: return by_lasso(self, workers, level, without);
    }
}

/* A curve that left out can be judged by must lie between others. */
static bool is_inside(const pl_convergence *self, unsigned c) { return c > 0 && c + 1 < self->count; }

static double error_of(const pl_convergence *self, pl_form form, double level) {
    double sum = 0, count = 0;
    for (unsigned c = 0; c < self->count; c++) {
        double is = log(pl_curve_rounds(&self->curve[c], level));
        if (!is_inside(self, c) || !isfinite(is))
            continue;
        double miss = log_rounds(self, form, self->curve[c].workers, level, c) - is;
        sum += miss * miss;
        count++;
    }
    return count ? sqrt(sum / count) : NAN;
}

void pl_convergence_choose(pl_convergence *self, double level) {
    double least = INFINITY;
    self->form = PL_FORM_LINES;
    for (unsigned f = 0; f < PL_FORMS; f++) {
        self->error[f] = error_of(self, f, level);
        if (self->error[f] * (f == PL_FORM_LINES ? 1.0 : SIMPLER) < least) {
            least = self->error[f];
            self->form = f;
        }
    }
}

/* The mean of all forms, weighted by 1 / error^2: their errors differ, and rounds are not smooth in m. */
static double mean_of_forms(const pl_convergence *self, double workers, double level, unsigned without) {
    double sum = 0, weights = 0;
    for (unsigned f = 0; f < PL_FORMS; f++) {
        double y = f == self->form || isfinite(self->error[f]) ? log_rounds(self, f, workers, level, without) : NAN;
        double error = fmax(LEAST_ERROR, isfinite(self->error[f]) ? self->error[f] : 1.0);
        if (!isfinite(y))
            continue;
        sum += y / (error * error);
        weights += 1.0 / (error * error);
    }
    return weights > 0 ? sum / weights : NAN;
}

double pl_convergence_rounds(const pl_convergence *self, double workers, double level, unsigned without) {
    for (unsigned c = 0; c < self->count; c++)
        if (c != without && self->curve[c].workers == workers) {
            double measured = pl_curve_rounds(&self->curve[c], level);
            if (isfinite(measured))
                return fmin(MOST_ROUNDS, fmax(1.0, measured));
        }
    double y = mean_of_forms(self, workers, level, without);
    if (isnan(y))
        y = lines(self, workers, level, without);
    if (isnan(y))
        y = polynomial(self, workers, level, without, 1);
    return isnan(y) ? INFINITY : fmin(MOST_ROUNDS, fmax(1.0, exp(y)));
}

static double model_rounds(const void *of, double workers, double level) {
    return pl_convergence_rounds(of, workers, level, PL_MOST_CURVES);
}

double pl_convergence_level(const pl_convergence *self, double workers, double rounds) {
    return level_of(model_rounds, self, workers, rounds);
}

void pl_convergence_close(pl_convergence *self) {
    for (unsigned c = 0; c < self->count; c++)
        pl_curve_close(&self->curve[c]);
    self->count = 0;
}
