/* test_loss.c: every loss against its definition: slopes against differences, conjugates against a numerical supremum,
 * dual steps against a fine search. (Softmax is in test_classes.c.) */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "linear/loss/loss.h"
#include "support.h"

#define DRAWS 400
#define MOST 24 /* losses, with those that occur twice */

/* Every loss of the table; those with a parameter have two values of it. */
static unsigned all_losses(pl_loss *all) {
    unsigned count = 0;
    for (unsigned l = 0; l < pl_losses_count && pl_losses[l]->expand; l++) {
        all[count++] = *pl_losses[l];
        if (!pl_losses[l]->parameter)
            continue;
        const pl_setting *setting = pl_setting_find(pl_losses[l]->parameter);
        all[count - 1].parameter_value = fmax(0.5, 1.2 * setting->min);
        all[count] = *pl_losses[l];
        all[count++].parameter_value = fmin(3.0, setting->min + 0.75 * (setting->max - setting->min));
    }
    return count;
}

static bool is_logistic(const pl_loss *loss) { return loss->name == pl_loss_logistic.name; }

static double value(const pl_loss *loss, double z, double y) {
    double slope, curvature;
    return loss->expand(loss, z, y, &slope, &curvature);
}

static double slope_at(const pl_loss *loss, double z, double y) {
    double slope, curvature;
    loss->expand(loss, z, y, &slope, &curvature);
    return slope;
}

static double random_target(const pl_loss *loss, pl_stream *stream) {
    if (loss->log_link) {
        double count = floor(exp(8.0 * pl_random_unit(stream) - 2.0)), share = pl_random_unit(stream) + 1e-9;
        return pl_random_below(stream, 4) && pl_loss_takes(loss, count) ? count : share;
    }
    return loss->labels == PL_LABELS_REAL ? 3.0 * pl_random_normal(stream) : pl_random_below(stream, 2) ? 1.0 : -1.0;
}

/* A target for each of two signs. */
static double target(const pl_loss *loss, double sign) {
    return !loss->log_link ? sign : sign > 0 ? 7.0 : pl_loss_takes(loss, 0.0) ? 0.0 : 0.25;
}

/* The domain of the conjugate is minus the range of the slope; 1000 means no bound. */
static void domain(const pl_loss *loss, double y, double *low, double *high) {
    *low = fmax(-1e3, -slope_at(loss, 1e9, y));
    *high = fmin(1e3, -slope_at(loss, -1e9, y));
}

/* A dual variable inside the domain of the conjugate, sometimes at its bound. */
static double random_dual(const pl_loss *loss, double y, pl_stream *stream) {
    uint64_t kind = pl_random_below(stream, 10);
    double low, high;
    domain(loss, y, &low, &high);
    low = fmax(low, -4.0), high = fmin(high, fmax(4.0, y));
    return kind == 0 ? 0.0 : kind == 1 ? low : kind == 2 ? high : low + (high - low) * pl_random_unit(stream);
}

/* Whether the slope or the curvature jumps within 1e-3. */
static bool near_kink(const pl_loss *loss, double z, double y) {
    double e = 1e-3, up, down, up_curvature, down_curvature;
    loss->expand(loss, z + e, y, &up, &up_curvature);
    loss->expand(loss, z - e, y, &down, &down_curvature);
    double jump = fmax(fabs(up - down), fabs(up_curvature - down_curvature));
    return jump > 0.05 * (1.0 + up_curvature);
}

static void slopes_and_curvatures_are_derivatives(void **state) {
    (void)state;
    pl_loss all[MOST];
    unsigned count = all_losses(all);
    pl_stream stream = pl_stream_make(1, 0, 0);
    for (unsigned l = 0; l < count; l++)
        for (unsigned i = 0; i < DRAWS; i++) {
            const pl_loss *loss = &all[l];
            double y = random_target(loss, &stream), z = 4.0 * pl_random_normal(&stream), e = 1e-5, slope, curvature;
            if (near_kink(loss, z, y))
                continue;
            assert_true(loss->expand(loss, z, y, &slope, &curvature) >= 0.0);
            assert_close(slope, (value(loss, z + e, y) - value(loss, z - e, y)) / (2 * e), 1e-8);
            assert_close(curvature, (slope_at(loss, z + e, y) - slope_at(loss, z - e, y)) / (2 * e), 1e-8);
            assert_true(curvature >= 0.0 && curvature <= loss->curvature_bound);
        }
}

static void large_margins_neither_overflow_nor_vanish(void **state) {
    (void)state;
    pl_loss all[MOST];
    unsigned count = all_losses(all);
    const double margins[] = {-1e6, -800.0, -40.0, 0.0, 40.0, 800.0, 1e6};
    for (unsigned l = 0; l < count; l++)
        for (unsigned i = 0; i < COUNT(margins); i++)
            for (double sign = -1.0; sign <= 1.0; sign += 2.0) {
                double slope, curvature, y = target(&all[l], sign);
                double v = all[l].expand(&all[l], margins[i], y, &slope, &curvature);
                assert_true(v >= 0.0 && !isnan(slope) && curvature >= 0.0);
                assert_true(isfinite(v) && isfinite(slope) && isfinite(curvature));
            }
    assert_close(value(pl_loss_find("poisson"), log(1e5) + 1e-4, 1e5), 1e5 * (0.5e-8 + 1e-12 / 6.0), 1e-12);
    assert_close(value(&pl_loss_logistic, -1e6, 1.0), 1e6, 1e-15);
    assert_close(value(&pl_loss_logistic, 40.0, 1.0) / exp(-40.0), 1.0, 1e-15);
}

/* The minimum of a unimodal function on [low, high], by golden section. */
static double least_at(double (*f)(const void *context, double x), const void *context, double low, double high) {
    const double ratio = 0.6180339887498949;
    for (int i = 0; i < 200; i++) {
        double a = high - ratio * (high - low), b = low + ratio * (high - low);
        if (f(context, a) > f(context, b))
            low = a;
        else
            high = b;
    }
    return 0.5 * (low + high);
}

/* A row's part of the problem: what dual_step minimises over t, and what the conjugate is the supremum of over z. */
typedef struct problem {
    const pl_loss *loss;
    double z, y, t0, h;
} problem;

static double minus_support(const void *context, double z) {
    const problem *p = context;
    return p->t0 * z + value(p->loss, z, p->y);
}

static double supremum(const pl_loss *loss, double t, double y) {
    problem p = {.loss = loss, .y = y, .t0 = t};
    return -minus_support(&p, least_at(minus_support, &p, -200.0, 200.0));
}

static void conjugates_are_suprema(void **state) {
    (void)state;
    pl_loss all[MOST];
    unsigned count = all_losses(all);
    pl_stream stream = pl_stream_make(2, 0, 0);
    for (unsigned l = 0; l < count; l++)
        for (unsigned i = 0; i < DRAWS; i++) {
            double y = random_target(&all[l], &stream), t = random_dual(&all[l], y, &stream);
            assert_close(all[l].conjugate(&all[l], t, y), supremum(&all[l], t, y), 1e-9);
        }
}

static void conjugates_are_infinite_outside_their_domain_and_zero_at_zero(void **state) {
    (void)state;
    pl_loss all[MOST];
    unsigned count = all_losses(all);
    for (unsigned l = 0; l < count; l++)
        for (double sign = -1.0; sign <= 1.0; sign += 2.0) {
            const pl_loss *loss = &all[l];
            double y = target(loss, sign), low, high;
            domain(loss, y, &low, &high);
            assert_true(loss->conjugate(loss, 0.0, y) == 0.0);
            assert_true(low == -1e3 || isinf(loss->conjugate(loss, low - 1e-9 * (1.0 + fabs(low)), y)));
            assert_true(high == 1e3 || isinf(loss->conjugate(loss, high + 1e-9 * (1.0 + fabs(high)), y)));
        }
    const pl_loss *poisson = pl_loss_find("poisson");
    assert_true(isinf(poisson->conjugate(poisson, 1e-300, 0.0)));
    assert_close(poisson->conjugate(poisson, 2.0, 2.0), 2.0 - 2.0 * log(2.0), 1e-15);
}

/* With a log link, the sums over labels are those at their mean, and one step finds the best constant. */
static void log_links_have_the_facts_of_their_power(void **state) {
    (void)state;
    pl_loss all[MOST];
    unsigned count = all_losses(all);
    const double labels[] = {0.5, 3.0, 0.25, 11.0, 2.0, 1.0};
    for (unsigned l = 0; l < count; l++) {
        const pl_loss *loss = &all[l];
        double mean = 0, sums[3] = {0}, label_losses = 0, slope, curvature;
        if (!loss->log_link)
            continue;
        for (unsigned i = 0; i < COUNT(labels); i++)
            mean += labels[i] / COUNT(labels);
        for (unsigned i = 0; i < COUNT(labels); i++) {
            loss->expand(loss, 0.3, labels[i], &slope, &curvature);
            sums[0] += slope, sums[1] += curvature;
            label_losses += pl_loss_of_label(loss, labels[i]) / COUNT(labels);
        }
        double b = 0.3 + pl_loss_centring_step(loss, sums[0] / sums[1]), null = 0, bend = 0;
        assert_close(b, log(mean), 1e-13);
        for (unsigned i = 0; i < COUNT(labels); i++) {
            null += loss->expand(loss, b, labels[i], &slope, &curvature) / COUNT(labels);
            bend += curvature / COUNT(labels);
        }
        assert_close(null, label_losses - pl_loss_of_label(loss, mean), 1e-12);
        assert_close(bend, pl_loss_mean_curvature(loss, mean), 1e-12);
    }
}

/* Facts on which other code relies. */
static void facts_hold(void **state) {
    (void)state;
    pl_loss all[MOST];
    unsigned count = all_losses(all);
    pl_stream stream = pl_stream_make(9, 0, 0);
    for (unsigned l = 0; l < count; l++)
        for (unsigned i = 0; i < DRAWS; i++) {
            const pl_loss *loss = &all[l];
            double y = random_target(loss, &stream), z = 3.0 * pl_random_normal(&stream), slope, curvature;
            double v = loss->expand(loss, z, y, &slope, &curvature);
            assert_true(!loss->quadratic || (v == 0.5 * (z - y) * (z - y) && curvature == 1.0));
            assert_true(!loss->log_link || (loss->labels == PL_LABELS_REAL && loss->smooth));
            assert_true(loss->smooth || isinf(loss->curvature_bound));
            assert_true(pl_loss_takes(loss, y));
            assert_close(pl_loss_conjugate_at(loss, z, y, v, slope), loss->conjugate(loss, -slope, y),
                         1e-12 * (1.0 + fabs(slope * z)));
            if (loss->soften)
                assert_at_most(fabs(slope), pl_loss_steepest(loss));
        }
}

static void auto_takes_the_first_loss_of_each_kind_of_labels(void **state) {
    (void)state;
    assert_string_equal(pl_loss_for(PL_LABELS_REAL)->name, "squared");
    assert_string_equal(pl_loss_for(PL_LABELS_BINARY)->name, "logistic");
    assert_string_equal(pl_loss_for(PL_LABELS_CLASSES)->name, "softmax");
}

static void fenchel_and_young_hold(void **state) {
    (void)state;
    pl_loss all[MOST];
    unsigned count = all_losses(all);
    pl_stream stream = pl_stream_make(3, 0, 0);
    for (unsigned l = 0; l < count; l++)
        for (unsigned i = 0; i < DRAWS; i++) {
            const pl_loss *loss = &all[l];
            double y = random_target(loss, &stream), z = 3.0 * pl_random_normal(&stream), slope, curvature;
            double t = random_dual(loss, y, &stream), v = loss->expand(loss, z, y, &slope, &curvature);
            double scale = 1.0 + fabs(t * z) + fabs(slope * z);
            assert_at_most(-1e-13 * scale, v + loss->conjugate(loss, t, y) + t * z);
            assert_close(v + loss->conjugate(loss, -slope, y) - slope * z, 0.0, 1e-13 * scale);
        }
}

static double cost(const problem *p, double t) {
    double move = t - p->t0;
    return p->loss->conjugate(p->loss, t, p->y) + move * p->z + 0.5 * p->h * move * move;
}

static double cost_at(const void *context, double t) { return cost(context, t); }

static double least_cost(const problem *p) {
    double low, high;
    domain(p->loss, p->y, &low, &high);
    return fmin(cost(p, least_at(cost_at, p, low, high)), fmin(cost(p, low), cost(p, high)));
}

static problem random_problem(const pl_loss *loss, pl_stream *stream) {
    double y = random_target(loss, stream);
    return (problem){loss, 3.0 * pl_random_normal(stream), y, random_dual(loss, y, stream),
                     pow(10.0, 6.0 * pl_random_unit(stream) - 3.0)};
}

static void dual_steps_minimise_their_problem(void **state) {
    (void)state;
    pl_loss all[MOST];
    unsigned count = all_losses(all);
    pl_stream stream = pl_stream_make(4, 0, 0);
    for (unsigned l = 0; l < count; l++)
        for (unsigned i = 0; i < DRAWS; i++) {
            problem p = random_problem(&all[l], &stream);
            if (is_logistic(p.loss))
                continue;
            double t = p.loss->dual_step(p.loss, p.z, p.y, p.t0, p.h);
            assert_close(cost(&p, t), least_cost(&p), 1e-9);
        }
}

/* The logistic step is inexact: it goes most of the way, and repeated visits to the row converge to the minimum. */
static void logistic_steps_go_most_of_the_way_and_repeated_all_of_it(void **state) {
    (void)state;
    pl_stream stream = pl_stream_make(5, 0, 0);
    for (unsigned i = 0; i < 10 * DRAWS; i++) {
        problem p = random_problem(&pl_loss_logistic, &stream), next = p;
        double least = least_cost(&p), t = p.loss->dual_step(p.loss, p.z, p.y, p.t0, p.h);
        assert_at_most(cost(&p, t) - least, 0.25 * (cost(&p, p.t0) - least) + 1e-10);
        for (unsigned visit = 0; visit < 12; visit++) {
            t = p.loss->dual_step(p.loss, next.z, p.y, next.t0, p.h);
            next.z += p.h * (t - next.t0);
            next.t0 = t;
        }
        assert_close(cost(&p, t), least, 1e-9);
    }
}

static void dual_steps_stay_in_the_domain_for_extreme_inputs(void **state) {
    (void)state;
    pl_loss all[MOST];
    unsigned count = all_losses(all);
    const double sizes[] = {0.0, 1e-12, 1e-6, 1.0, 30.0, 700.0, 1e4, 1e6};
    const double duals[] = {0.0, 1e-320, 1e-300, 1e-20, 0.3, 0.5, 1.0 - 1e-15, 1.0};
    for (unsigned l = 0; l < count; l++)
        for (double exponent = -12.0; exponent <= 12.0; exponent += 1.0)
            for (unsigned s = 0; s < 2 * COUNT(sizes); s++)
                for (unsigned d = 0; d < 2 * COUNT(duals); d++) {
                    double y = target(&all[l], d % 2 ? 1.0 : -1.0);
                    problem p = {&all[l], (s % 2 ? 1.0 : -1.0) * sizes[s / 2], y, y * duals[d / 2],
                                 pow(10.0, exponent)};
                    double t = p.loss->dual_step(p.loss, p.z, p.y, p.t0, p.h);
                    double move = t - p.t0, scale = 1.0 + fabs(p.z * move) + p.h * move * move;
                    assert_true(isfinite(t));
                    assert_true(isfinite(p.loss->conjugate(p.loss, t, p.y)));
                    assert_at_most(cost(&p, t), cost(&p, p.t0) + 1e-9 * scale);
                }
}

/* An empty row, or one of weight 0, has h = 0: losses whose step divides by h must survive it. */
static void dual_steps_survive_rows_without_curvature(void **state) {
    (void)state;
    pl_loss all[MOST];
    unsigned count = all_losses(all);
    const double margins[] = {-2.0, 0.0, 1.0, 2.0};
    for (unsigned l = 0; l < count; l++)
        for (unsigned i = 0; i < COUNT(margins); i++)
            for (double sign = -1.0; sign <= 1.0; sign += 2.0) {
                const pl_loss *loss = &all[l];
                double y = target(loss, sign), t = loss->dual_step(loss, margins[i], y, 0.0, 0.0);
                assert_true(isfinite(t) && isfinite(loss->conjugate(loss, t, y)));
                assert_close(value(loss, margins[i], y) + loss->conjugate(loss, t, y) + t * margins[i], 0.0, 1e-12);
            }
}

/* A row at a bound stays there while z moves by less than its depth, and moves beyond. Other rows move. */
static void depths_say_how_far_a_row_is_from_moving(void **state) {
    (void)state;
    pl_loss all[MOST];
    pl_stream stream = pl_stream_make(3, 0, 0);
    unsigned count = all_losses(all), resting = 0, moving = 0;
    for (unsigned l = 0; l < count; l++)
        for (unsigned n = 0; n < DRAWS && all[l].depth; n++) {
            const pl_loss *loss = &all[l];
            double y = random_target(loss, &stream), z = y + 2.0 * pl_random_normal(&stream), h = 0.3;
            double t = loss->dual_step(loss, y + 2.0 * pl_random_normal(&stream), y, 0.0, h);
            double depth = loss->depth(loss, z, y, t), side = pl_random_below(&stream, 2) ? 1.0 : -1.0;
            if (fabs(depth) < 1e-6)
                continue;
            assert_true((loss->dual_step(loss, z, y, t, h) == t) == (depth > 0));
            resting += depth > 0;
            moving += depth < 0;
            if (depth < 0)
                continue;
            assert_true(loss->dual_step(loss, z + 0.999 * side * depth, y, t, h) == t);
            assert_true(loss->dual_step(loss, z + 1.001 * depth, y, t, h) != t ||
                        loss->dual_step(loss, z - 1.001 * depth, y, t, h) != t);
        }
    assert_true(resting > DRAWS && moving > DRAWS);
}

static void residuals_are_the_rows_share_of_the_gap(void **state) {
    (void)state;
    pl_loss all[MOST];
    unsigned count = all_losses(all);
    pl_stream stream = pl_stream_make(6, 0, 0);
    for (unsigned l = 0; l < count; l++)
        for (unsigned i = 0; i < DRAWS; i++) {
            problem p = random_problem(&all[l], &stream);
            double t = p.loss->dual_step(p.loss, p.z, p.y, p.t0, p.h);
            double residual = p.loss->residual(p.loss, p.z, p.y, p.t0, t, p.h);
            double exact = value(p.loss, p.z, p.y) + p.loss->conjugate(p.loss, p.t0, p.y) + p.t0 * p.z;
            double scale = 1.0 + fabs(p.t0 * p.z) + fabs(p.t0 * p.y);
            assert_at_most(-1e-13, residual);
            if (!is_logistic(p.loss))
                assert_close(residual, exact, 1e-12 * scale);
        }
}

static void logistic_residuals_are_right_near_the_optimum(void **state) {
    (void)state;
    pl_stream stream = pl_stream_make(7, 0, 0);
    for (unsigned i = 0; i < DRAWS; i++) {
        const pl_loss *loss = &pl_loss_logistic;
        double y = random_target(loss, &stream), z = 2.0 * pl_random_normal(&stream), h = pl_random_unit(&stream);
        double t0 = -slope_at(loss, z + 0.02, y), t = loss->dual_step(loss, z, y, t0, h);
        double exact = value(loss, z, y) + loss->conjugate(loss, t0, y) + t0 * z;
        double ratio = loss->residual(loss, z, y, t0, t, h) / exact;
        assert_true(ratio > 0.6 && ratio < 1.6);
    }
}

/* The function of s whose minimum is the smoothed loss. */
static double envelope(const void *context, double s) {
    const problem *p = context; /* h is mu */
    return value(p->loss, s, p->y) + (p->z - s) * (p->z - s) / (2.0 * p->h);
}

static void softened_slopes_are_those_of_the_envelope(void **state) {
    (void)state;
    pl_loss all[MOST];
    unsigned count = all_losses(all);
    pl_stream stream = pl_stream_make(8, 0, 0);
    for (unsigned l = 0; l < count; l++)
        for (unsigned i = 0; i < DRAWS && all[l].soften; i++) {
            double y = random_target(&all[l], &stream), z = 6.0 * pl_random_normal(&stream), slopes[3], curvatures[3];
            double mu = pow(10.0, 4.0 * pl_random_unit(&stream) - 3.0), e = 1e-6 * mu;
            problem p = {&all[l], z, y, 0.0, mu};
            all[l].soften(&all[l], mu, (double[]){z, z + e, z - e}, (double[]){y, y, y}, 3, slopes, curvatures);
            double slope = slopes[0], curvature = curvatures[0], up = slopes[1], down = slopes[2];
            assert_close(slope, (z - least_at(envelope, &p, z - 50.0 * mu, z + 50.0 * mu)) / mu, 1e-5);
            assert_true(isfinite(all[l].conjugate(&all[l], -slope, y)));
            assert_true(curvature >= 0.0 && curvature * mu <= 1.0 + 1e-12);
            if (fabs((up - slope) - (slope - down)) < 1e-9) /* no kink of the slope nearby */
                assert_close(curvature * mu, (up - down) / (2.0 * e) * mu, 1e-4);
        }
}

static void probabilities_are_those_of_the_upper_label(void **state) {
    (void)state;
    assert_close(pl_loss_logistic.probability(0.0), 0.5, 1e-15);
    assert_close(pl_loss_logistic.probability(2.0), 1.0 / (1.0 + exp(-2.0)), 1e-15);
    assert_close(pl_loss_logistic.probability(1e6), 1.0, 1e-15);
    assert_close(pl_loss_logistic.probability(-1e6), 0.0, 1e-15);
    assert_null(pl_loss_hinge.probability);
}

static void rows_together_are_as_one_by_one(void **state) {
    (void)state;
    enum { ROWS = 67 };
    double z[ROWS], y[ROWS], value[ROWS], slope[ROWS], curvature[ROWS], same[ROWS];
    pl_loss all[MOST];
    pl_stream stream = pl_stream_make(31, 0, 0);
    unsigned count = all_losses(all);
    for (unsigned l = 0; l < count; l++)
        for (unsigned rows = 1; rows <= ROWS; rows++) {
            for (unsigned i = 0; i < rows; i++) {
                z[i] = exp(3.0 * pl_random_normal(&stream)) * (pl_random_below(&stream, 2) ? 1.0 : -1.0);
                y[i] = random_target(&all[l], &stream);
            }
            pl_expand_rows(&all[l], z, y, rows, value, slope, curvature);
            pl_expand_rows(&all[l], z, y, rows, NULL, same, curvature);
            for (unsigned i = 0; i < rows; i++) {
                double s, c, v = all[l].expand(&all[l], z[i], y[i], &s, &c);
                assert_true(value[i] == v || fabs(value[i] - v) <= 2e-15 * fabs(v) + 1e-300);
                assert_true(slope[i] == s || fabs(slope[i] - s) <= 2e-15 * fabs(s) + 1e-300);
                assert_true(curvature[i] == c || fabs(curvature[i] - c) <= 2e-15 * fabs(c) + 1e-300);
                assert_true(slope[i] == same[i]);
            }
        }
}

static void conjugates_together_are_as_one_by_one(void **state) {
    (void)state;
    enum { ROWS = 67 };
    double t[ROWS], y[ROWS], value[ROWS];
    pl_loss all[MOST];
    pl_stream stream = pl_stream_make(32, 0, 0);
    unsigned count = all_losses(all);
    for (unsigned l = 0; l < count; l++)
        for (unsigned rows = 5; rows <= ROWS; rows++) {
            for (unsigned i = 0; i < rows; i++) {
                y[i] = random_target(&all[l], &stream);
                t[i] = y[i] * (i % 3 ? pl_random_unit(&stream) : exp(-30.0 * pl_random_unit(&stream)));
            }
            t[0] = 0;
            t[1] = y[1];
            t[2] = -y[2];
            t[3] = y[3] * 5e-324;
            t[4] = y[4] * (1.0 - 0x1p-53);
            pl_loss_conjugates(&all[l], t, y, rows, value);
            for (unsigned i = 0; i < rows; i++) {
                double one = all[l].conjugate(&all[l], t[i], y[i]);
                assert_true(value[i] == one || fabs(value[i] - one) <= 2e-15 * fabs(one) + 1e-300);
            }
        }
}

static void margins_that_are_lost_are_not_hidden(void **state) {
    (void)state;
    double z[] = {NAN, INFINITY, -INFINITY}, y[] = {1, 1, 1}, value[3], slope[3], curvature[3];
    pl_expand_rows(&pl_loss_logistic, z, y, 3, value, slope, curvature);
    assert_true(isnan(value[0]));
    assert_true(value[1] < 1e-300 && fabs(slope[1]) < 1e-300);
    assert_true(isinf(value[2]) && slope[2] == -1.0);
}

static void losses_are_found_by_name(void **state) {
    (void)state;
    for (unsigned l = 0; l < pl_losses_count; l++) {
        assert_ptr_equal(pl_loss_find(pl_losses[l]->name), pl_losses[l]);
        if (pl_losses[l]->parameter) {
            assert_true(pl_loss_reads(pl_loss_of(pl_losses[l]->parameter), pl_losses[l]->parameter));
            assert_true(pl_loss_reads(pl_losses[l], pl_losses[l]->parameter));
        }
    }
    assert_null(pl_loss_find("logit"));
    assert_null(pl_loss_find(""));
    assert_null(pl_loss_of("lambda"));
    assert_true(pl_loss_concerned(pl_loss_find("huber"), "huber_width"));
    assert_true(pl_loss_concerned(pl_loss_find("huber"), "lambda"));
    assert_false(pl_loss_concerned(pl_loss_find("huber"), "epsilon"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes_and_curvatures_are_derivatives),
        cmocka_unit_test(large_margins_neither_overflow_nor_vanish),
        cmocka_unit_test(conjugates_are_suprema),
        cmocka_unit_test(conjugates_are_infinite_outside_their_domain_and_zero_at_zero),
        cmocka_unit_test(facts_hold),
        cmocka_unit_test(log_links_have_the_facts_of_their_power),
        cmocka_unit_test(auto_takes_the_first_loss_of_each_kind_of_labels),
        cmocka_unit_test(fenchel_and_young_hold),
        cmocka_unit_test(dual_steps_minimise_their_problem),
        cmocka_unit_test(logistic_steps_go_most_of_the_way_and_repeated_all_of_it),
        cmocka_unit_test(dual_steps_stay_in_the_domain_for_extreme_inputs),
        cmocka_unit_test(dual_steps_survive_rows_without_curvature),
        cmocka_unit_test(depths_say_how_far_a_row_is_from_moving),
        cmocka_unit_test(residuals_are_the_rows_share_of_the_gap),
        cmocka_unit_test(logistic_residuals_are_right_near_the_optimum),
        cmocka_unit_test(softened_slopes_are_those_of_the_envelope),
        cmocka_unit_test(probabilities_are_those_of_the_upper_label),
        cmocka_unit_test(rows_together_are_as_one_by_one),
        cmocka_unit_test(conjugates_together_are_as_one_by_one),
        cmocka_unit_test(margins_that_are_lost_are_not_hidden),
        cmocka_unit_test(losses_are_found_by_name),
    };
    return cmocka_run_group_tests_name("loss", tests, NULL, NULL);
}
