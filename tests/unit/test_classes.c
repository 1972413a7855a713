/* test_classes.c: several classes: kernels against plain loops, softmax against its definition, and dual points that
 * bound the objective. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "linear/rows/classes.h"
#include "linear/rows/classes_curvature.h"
#include "math/dense_table.h"
#include "math/float_table.h"
#include "math/outer_products.h"
#include "support.h"

#define COLUMNS 30
#define MOST 70
#define DRAWS 200

static const unsigned widths[] = {2, 3, 4, 5, 7, 8, 10, 13, 15, 16, 20, 33, 64, 70};

/* Kernels on tables */

typedef struct row {
    uint32_t index[COLUMNS];
    float narrow[COLUMNS];
    double wide[COLUMNS];
    unsigned count;
} row;

static row random_row(pl_stream *stream) {
    row row = {.count = 0};
    for (uint32_t j = 0; j < COLUMNS; j++)
        if (pl_random_unit(stream) < 0.5) {
            row.index[row.count] = j;
            row.wide[row.count] = pl_random_normal(stream);
            row.narrow[row.count] = (float)row.wide[row.count];
            row.count++;
        }
    return row;
}

static void tables_are_multiplied_and_added_to_class_by_class(void **state) {
    (void)state;
    static double table[COLUMNS * MOST], after[COLUMNS * MOST];
    pl_stream stream = pl_stream_make(1, 0, 0);
    for (unsigned k = 0; k < COUNT(widths); k++)
        for (unsigned n = 0; n < 20; n++) {
            unsigned width = widths[k];
            double out[MOST], softened[MOST], a[MOST];
            row row = random_row(&stream);
            const pl_values types[] = {{0}, {.narrow = row.narrow}, {.wide = row.wide}}, value = types[n % 3];
            double scales[COLUMNS], *scale = n % 4 ? NULL : scales;
            for (unsigned j = 0; j < COLUMNS; j++)
                scales[j] = pl_random_normal(&stream);
            for (unsigned j = 0; j < COLUMNS * width; j++)
                after[j] = table[j] = pl_random_normal(&stream);
            for (unsigned c = 0; c < width; c++)
                a[c] = pl_random_normal(&stream);
            pl_table_dot(row.index, value, row.count, scale, table, width, out);
            pl_table_dot_soft(row.index, value, row.count, scale, table, width, 0.4, softened);
            pl_table_add(row.index, value, row.count, scale, a, width, after);
            for (unsigned c = 0; c < width; c++) {
                double sum[2] = {0}, soft = 0;
                for (unsigned e = 0; e < row.count; e++) {
                    double x = pl_value_at(value, e) * (scale ? scale[row.index[e]] : 1.0);
                    sum[e % 2] += x * table[row.index[e] * width + c];
                    soft += x * pl_soft(table[row.index[e] * width + c], 0.4);
                    table[row.index[e] * width + c] += a[c] * x;
                }
                assert_true(out[c] == sum[0] + sum[1]); /* the documented order */
                assert_true(softened[c] == soft);
            }
            assert_memory_equal(after, table, COLUMNS * width * sizeof *table);
        }
}

/* In the order that table.h documents: for dot products even columns, then odd ones; for additions rows in order. */
static void check_full_rows(pl_stream *stream, unsigned rows, unsigned columns, unsigned width, bool wide) {
    unsigned values = rows * columns, entries = columns * width, outs = rows * width;
    void *memory = malloc(values * pl_value_size(wide));
    pl_value_room room = pl_value_room_in(memory, wide);
    pl_values value = pl_values_of(room);
    double *table = malloc(2 * entries * sizeof *table), *after = table + entries;
    double *a = malloc(2 * outs * sizeof *a), *out = a + outs;
    for (unsigned e = 0; e < values; e++)
        pl_value_put(room, e, pl_random_normal(stream));
    for (unsigned e = 0; e < entries; e++)
        after[e] = table[e] = pl_random_normal(stream);
    for (unsigned e = 0; e < outs; e++)
        a[e] = pl_random_normal(stream);
    pl_dense_table_dot(value, rows, columns, table, width, out);
    pl_dense_table_add(value, rows, columns, a, width, after);
    for (unsigned r = 0; r < rows; r++)
        for (unsigned c = 0; c < width; c++) {
            double sum[2] = {0};
            for (unsigned j = 0; j < columns; j++)
                sum[j % 2] += pl_value_at(value, r * columns + j) * table[j * width + c];
            assert_true(out[r * width + c] == sum[0] + sum[1]);
        }
    for (unsigned r = 0; r < rows; r++)
        for (unsigned e = 0; e < entries; e++)
            table[e] += a[r * width + e % width] * pl_value_at(value, r * columns + e / width);
    assert_memory_equal(after, table, entries * sizeof *table);
    free(memory);
    free(table);
    free(a);
}

static void full_rows_give_the_same_bits_several_at_a_time(void **state) {
    (void)state;
    static const unsigned counts[] = {1, 3, 4, 31, 64, 70}, lengths[] = {1, 2, 5, 16, 37, 300};
    pl_stream stream = pl_stream_make(3, 0, 0);
    for (unsigned k = 0; k < COUNT(widths); k++)
        for (unsigned r = 0; r < COUNT(counts) && widths[k] >= PL_FULL_WIDTH; r++)
            for (unsigned l = 0; l < COUNT(lengths); l++)
                check_full_rows(&stream, counts[r], lengths[l], widths[k], (r + l) % 2);
}

static void float_tables_give_the_same_in_single_precision(void **state) {
    (void)state;
    static float table[COLUMNS * (MOST + 4)], after[COLUMNS * (MOST + 4)];
    static double doubles[COLUMNS * MOST], back[COLUMNS * MOST], squares[COLUMNS * MOST], sums[COLUMNS * MOST];
    pl_stream stream = pl_stream_make(2, 0, 0);
    for (unsigned k = 0; k < COUNT(widths); k++)
        for (unsigned n = 0; n < 20; n++) {
            unsigned width = widths[k], stride = (unsigned)pl_float_stride(width);
            float out[MOST + 4], a[MOST + 4] = {0};
            double b[MOST];
            row row = random_row(&stream);
            const pl_values types[] = {{0}, {.narrow = row.narrow}, {.wide = row.wide}}, value = types[n % 3];
            for (unsigned j = 0; j < COLUMNS * width; j++)
                squares[j] = sums[j] = doubles[j] = (double)(float)pl_random_normal(&stream);
            for (unsigned c = 0; c < width; c++)
                b[c] = (double)(a[c] = (float)pl_random_normal(&stream));
            pl_float_table_take(doubles, COLUMNS, width, table);
            pl_float_table_give(table, COLUMNS, width, back);
            assert_memory_equal(back, doubles, COLUMNS * width * sizeof *back);
            memcpy(after, table, sizeof after);
            pl_float_table_dot(row.index, value, row.count, table, stride, out);
            pl_float_table_add(row.index, value, row.count, a, stride, after);
            pl_table_add_squares(row.index, value, row.count, b, width, squares);
            for (unsigned c = 0; c < width; c++) {
                float sum[2] = {0};
                for (unsigned e = 0; e < row.count; e++) {
                    float x = (float)pl_value_at(value, e);
                    unsigned at = row.index[e] * stride + c;
                    sum[e % 2] += x * table[at];
                    table[at] += x * a[c];
                    sums[row.index[e] * width + c] += b[c] * (pl_value_at(value, e) * pl_value_at(value, e));
                }
                assert_true(out[c] == sum[0] + sum[1]); /* the documented order */
            }
            assert_memory_equal(after, table, COLUMNS * stride * sizeof *table);
            assert_memory_equal(squares, sums, COLUMNS * width * sizeof *sums);
        }
}

static void curvature_blocks_are_outer_products(void **state) {
    (void)state;
    enum { CLASSES = 3, SIZE = COLUMNS + 1 };
    static double sum[SIZE * CLASSES * SIZE * CLASSES], x[SIZE];
    double curvature[CLASSES * CLASSES] = {0}; /* rows sum to 0 */
    pl_stream stream = pl_stream_make(2, 0, 0);
    pl_outer_products outer;
    pl_arrow shape = {SIZE * CLASSES, 0, CLASSES};
    assert_int_equal(pl_outer_open(&outer, &shape, NULL, true, 1, NULL), PARLEY_OK);
    row row = random_row(&stream);
    for (unsigned c = 0; c < CLASSES; c++)
        for (unsigned d = 0; d < c; d++) {
            double x = curvature[c * CLASSES + d] = curvature[d * CLASSES + c] = pl_random_normal(&stream);
            curvature[c * (CLASSES + 1)] -= x;
            curvature[d * (CLASSES + 1)] -= x;
        }
    for (unsigned e = 0; e < row.count; e++)
        x[row.index[e]] = (double)row.narrow[e];
    x[COLUMNS] = 1.0;
    pl_outer_blocks(&outer, row.index, (pl_values){.narrow = row.narrow}, row.count, 0.7, curvature, sum);
    pl_outer_flush(&outer, sum);
    for (unsigned j = 0; j < SIZE; j++)
        for (unsigned i = j; i < SIZE; i++)
            for (unsigned c = 0; c < CLASSES; c++)
                for (unsigned d = 0; d < CLASSES; d++)
                    assert_close(sum[(j * CLASSES + c) * SIZE * CLASSES + i * CLASSES + d],
                                 0.7 * x[i] * x[j] * curvature[c * CLASSES + d], 1e-14);
    pl_outer_close(&outer);
}

/* Softmax */

static double random_size(pl_stream *stream, double low, double high) {
    return exp(log(low) + pl_random_unit(stream) * log(high / low));
}

static void random_margins(pl_stream *stream, unsigned classes, double size, double *z) {
    for (unsigned c = 0; c < classes; c++)
        z[c] = size * pl_random_normal(stream);
}

/* A point of the simplex, sometimes a corner of it. */
static void random_point(pl_stream *stream, unsigned classes, double *p) {
    double sum = 0, power = 1.0 + 8.0 * pl_random_unit(stream);
    bool corner = pl_random_below(stream, 4) == 0;
    for (unsigned c = 0; c < classes; c++)
        sum += p[c] = corner ? 0.0 : pow(pl_random_unit(stream), power);
    for (unsigned c = 0; c < classes; c++)
        p[c] = corner ? (double)(c == 1) : p[c] / sum;
}

static void probabilities_are_exponentials_over_their_sum(void **state) {
    (void)state;
    pl_stream stream = pl_stream_make(3, 0, 0);
    for (unsigned n = 0; n < DRAWS; n++) {
        unsigned classes = widths[n % COUNT(widths)];
        double z[MOST], p[MOST], most, sum = 0, size = random_size(&stream, 0.01, 300.0);
        random_margins(&stream, classes, size, z);
        most = z[0];
        for (unsigned c = 1; c < classes; c++)
            most = fmax(most, z[c]);
        for (unsigned c = 0; c < classes; c++)
            sum += exp(z[c] - most);
        assert_close(pl_softmax(z, classes, p), most + log(sum), 1e-14);
        for (unsigned c = 0; c < classes; c++)
            if (z[c] - most > -600.0)
                assert_close(p[c] / (exp(z[c] - most) / sum), 1.0, 1e-13);
            else
                assert_at_most(p[c], 1e-200);
    }
}

static void rows_get_the_same_bits_alone_and_together(void **state) {
    (void)state;
    pl_stream stream = pl_stream_make(9, 0, 0);
    for (unsigned n = 0; n < DRAWS; n++) {
        unsigned classes = widths[n % COUNT(widths)];
        double z[PL_SOFTMAX_ROWS * MOST], p[PL_SOFTMAX_ROWS * MOST], sums[PL_SOFTMAX_ROWS], one[MOST], sum;
        double size = random_size(&stream, 0.01, 300.0);
        for (unsigned r = 0; r < PL_SOFTMAX_ROWS; r++)
            random_margins(&stream, classes, size, z + r * classes);
        pl_softmax_rows(z, PL_SOFTMAX_ROWS, classes, p, sums);
        for (unsigned r = 0; r < PL_SOFTMAX_ROWS; r++) {
            pl_softmax_rows(z + r * classes, 1, classes, one, &sum);
            assert_true(sum == sums[r]);
            assert_memory_equal(one, p + r * classes, classes * sizeof *one);
            assert_close(pl_softmax(z + r * classes, classes, one), sum, 1e-14);
            for (unsigned c = 0; c < classes; c++)
                assert_close(one[c], p[r * classes + c], 1e-14);
        }
    }
}

static void softmax_slopes_are_derivatives_and_fenchel_and_young_hold(void **state) {
    (void)state;
    const pl_class_loss *loss = pl_loss_find("softmax")->together;
    pl_stream stream = pl_stream_make(4, 0, 0);
    for (unsigned n = 0; n < DRAWS; n++) {
        unsigned classes = widths[n % COUNT(widths)], y = (unsigned)pl_random_below(&stream, classes);
        double z[MOST], p[MOST], slope[MOST], other[MOST], t[MOST], back[MOST];
        double product = 0, own = 0, e = 1e-5;
        random_margins(&stream, classes, 3.0, z);
        random_point(&stream, classes, p);
        double value = loss->expand(z, classes, y, slope);
        assert_true(value >= 0.0);
        for (unsigned c = 0; c < classes; c++) {
            double at = z[c];
            z[c] = at + e;
            double above = loss->expand(z, classes, y, other);
            z[c] = at - e;
            assert_close(slope[c], (above - loss->expand(z, classes, y, other)) / (2 * e), 1e-8);
            z[c] = at;
            t[c] = (double)(c == y) - p[c];
            product += t[c] * z[c];
            own += slope[c] * z[c];
            back[c] = -slope[c];
        }
        assert_at_most(-1e-12, value + loss->conjugate(t, classes, y) + product);
        assert_close(value + loss->conjugate(back, classes, y), own, 1e-12); /* equality at t = -slope */
    }
    double outside[3] = {0.1, -0.2, 0.1}, zero[3] = {0};
    assert_true(loss->conjugate(zero, 3, 1) == 0.0);
    assert_true(isinf(loss->conjugate(outside, 3, 1)));
    outside[2] = 0.2;
    assert_true(isinf(loss->conjugate(outside, 3, 2)));
}

/* The function that a step minimises. */
static double step_value(unsigned classes, const double *p, const double *z, const double *p0, double h) {
    double sum = 0;
    for (unsigned c = 0; c < classes; c++)
        sum += (p[c] > 0 ? p[c] * log(p[c]) : 0.0) - p[c] * z[c] + 0.5 * h * (p[c] - p0[c]) * (p[c] - p0[c]);
    return sum;
}

/* The minimum, by bisection in the multiplier and, inside, in each ln p. */
static void exact_step(unsigned classes, const double *z, const double *p0, double h, double *p) {
    double low = -5000, high = 5000;
    for (int i = 0; i < 100; i++) {
        double nu = 0.5 * (low + high), sum = 0;
        for (unsigned c = 0; c < classes; c++) {
            double s = z[c] + h * p0[c] + nu, a = -800, b = fmax(s, -799);
            for (int k = 0; k < 80; k++)
                *(0.5 * (a + b) + h * exp(0.5 * (a + b)) > s ? &b : &a) = 0.5 * (a + b);
            sum += p[c] = exp(0.5 * (a + b));
        }
        *(sum > 1 ? &high : &low) = nu;
    }
}

static void softmax_steps_stay_in_the_simplex_and_never_make_it_worse(void **state) {
    (void)state;
    pl_stream stream = pl_stream_make(5, 0, 0);
    double left = 0, steps = 0;
    for (unsigned n = 0; n < 4 * DRAWS; n++) {
        unsigned classes = widths[n % 10];
        double z[MOST], p0[MOST], p[MOST], best[MOST], sum = 0;
        double h = random_size(&stream, 1e-3, 1e4);
        random_margins(&stream, classes, random_size(&stream, 0.01, 50.0), z);
        random_point(&stream, classes, p0);
        memcpy(p, p0, sizeof p);
        assert_true(pl_softmax_step(z, classes, h, p) >= 0.0);
        exact_step(classes, z, p0, h, best);
        for (unsigned c = 0; c < classes; c++) {
            assert_true(p[c] >= 0.0);
            sum += p[c];
        }
        assert_close(sum, 1.0, 1e-13);
        double before = step_value(classes, p0, z, p0, h), after = step_value(classes, p, z, p0, h),
               least = step_value(classes, best, z, p0, h);
        assert_at_most(after, before + 1e-12 * (1.0 + fabs(before)));
        if (before - least < 1e-9)
            continue;
        assert_at_most(after - least, 0.95 * (before - least));
        left += (after - least) / (before - least);
        steps++;
    }
    assert_at_most(left / steps, 0.02); /* on average they come close to the minimum */
}

/* Dual points and the objective */

#define ROWS 120
#define FEATURES 9
#define CLASSES CLASS_LABELS

static const sample_plan plan = {.seed = 9, .rows = ROWS, .columns = FEATURES, .density = 0.4};

static team_problem open_problem(const char *words) {
    parley_settings settings = settings_of(words);
    return open_problem_on(class_data(plan, true), &settings);
}

static const char *const forms[] = {
    "loss=softmax lambda=0.1 intercept=free",       "loss=softmax lambda=0.05 intercept=free l1_ratio=0.4",
    "loss=softmax lambda=0.05 intercept=penalised", "loss=softmax lambda=0.05 intercept=none l1_ratio=0.3",
    "loss=logistic lambda=0.05 intercept=free",     "loss=hinge lambda=0.2 intercept=free l1_ratio=0.1",
    "loss=squared-hinge lambda=0.1 intercept=free", "loss=squared-hinge lambda=0.1 intercept=penalised l1_ratio=0.2",
};

static double loss_at(const team_problem *problem, const double *z, const double *b) {
    double sum = 0;
    for (uint64_t i = 0; i < ROWS; i++) {
        double at[CLASSES];
        for (unsigned c = 0; c < CLASSES; c++)
            at[c] = z[i * CLASSES + c] + b[c];
        sum += pl_share(&problem->glm, i) * loss_of_classes(problem->glm.loss, at, problem->glm.class_of[i]);
    }
    return sum;
}

static void classes_are_numbered_by_their_labels(void **state) {
    (void)state;
    team_problem problem = open_problem(forms[0]);
    const pl_glm *glm = &problem.glm;
    double sum = 0;
    assert_int_equal(glm->classes, CLASSES);
    assert_int_equal(glm->base.size, CLASSES * (FEATURES + 1));
    assert_memory_equal(glm->labels, class_labels, sizeof class_labels);
    for (uint64_t i = 0; i < ROWS; i++)
        assert_true(class_labels[glm->class_of[i]] == problem.data->label[i]);
    for (unsigned c = 0; c < CLASSES; c++) {
        double own = 0;
        for (uint64_t i = 0; i < ROWS; i++)
            own += glm->class_of[i] == c ? pl_share(glm, i) : 0.0;
        assert_close(glm->frequency[c], own, 1e-14);
        sum += own;
    }
    assert_close(sum, 1.0, 1e-14);
    close_problem(&problem);
}

/* Products with the second derivatives of rows, against differences of slopes. */
static void bends_multiply_as_differences_of_slopes_do(void **state) {
    (void)state;
    const double none[CLASSES] = {0}, small = 1e-5;
    pl_stream stream = pl_stream_make(5, 0, 0);
    for (unsigned f = 0; f < COUNT(forms); f++) {
        team_problem problem = open_problem(forms[f]);
        const pl_glm *glm = &problem.glm;
        for (uint64_t i = 0; i < ROWS && glm->loss->smooth; i++) {
            double z[CLASSES], u[CLASSES], unit[CLASSES], low[CLASSES], high[CLASSES], slope[2][CLASSES], bend[CLASSES],
                diagonal[CLASSES];
            for (unsigned c = 0; c < CLASSES; c++) {
                z[c] = 2.0 * pl_random_normal(&stream);
                u[c] = pl_random_normal(&stream);
                low[c] = z[c] - small * u[c];
                high[c] = z[c] + small * u[c];
            }
            pl_classes_visit(glm, i, z, none, NULL, slope[0], NULL);
            pl_classes_row_curvature(glm, i, z, none, slope[0], bend);
            pl_classes_diagonal(glm, bend, 0.5, diagonal);
            for (unsigned c = 0; c < CLASSES; c++) {
                memset(unit, 0, sizeof unit);
                unit[c] = 1.0;
                pl_classes_multiply(glm, bend, 0.5, unit);
                assert_close(diagonal[c], unit[c], 1e-15);
            }
            pl_classes_multiply(glm, bend, 0.5, u);
            pl_classes_visit(glm, i, low, none, NULL, slope[0], NULL);
            pl_classes_visit(glm, i, high, none, NULL, slope[1], NULL);
            for (unsigned c = 0; c < CLASSES; c++)
                assert_close(u[c], 0.5 * (slope[1][c] - slope[0][c]) / (2.0 * small), 1e-6);
        }
        close_problem(&problem);
    }
}

/* The curvature ahead accounts for the change of slopes along the whole step, for each class of its own. */
static void bends_ahead_are_mean_second_derivatives(void **state) {
    (void)state;
    const double none[CLASSES] = {0};
    team_problem problem = open_problem("loss=squared-hinge lambda=0.1 intercept=none");
    const pl_glm *glm = &problem.glm;
    pl_stream stream = pl_stream_make(6, 0, 0);
    for (uint64_t i = 0; i < ROWS; i++) {
        double z[CLASSES], dz[CLASSES], there[CLASSES], slope[2][CLASSES], bend[CLASSES];
        for (unsigned c = 0; c < CLASSES; c++) {
            z[c] = 2.0 * pl_random_normal(&stream);
            dz[c] = 3.0 * pl_random_normal(&stream);
            there[c] = z[c] + dz[c];
        }
        pl_classes_visit(glm, i, z, none, NULL, slope[0], NULL);
        pl_classes_visit(glm, i, there, none, NULL, slope[1], NULL);
        pl_classes_mean_curvature(glm, i, z, dz, none, slope[1], bend);
        for (unsigned c = 0; c < CLASSES; c++)
            assert_close(bend[c] * dz[c], slope[1][c] - slope[0][c], 1e-12);
    }
    close_problem(&problem);
}

static void null_objectives_are_those_of_the_best_constants(void **state) {
    (void)state;
    const double zero[ROWS * CLASSES] = {0};
    for (unsigned f = 0; f < COUNT(forms); f++) {
        team_problem problem = open_problem(forms[f]);
        double b[CLASSES] = {0};
        bool free = problem.glm.intercept == PL_FREE;
        double objective = pl_classes_null(&problem.glm, free ? b : NULL);
        assert_close(objective, loss_at(&problem, zero, b), 1e-12);
        for (unsigned c = 0; c < CLASSES && free; c++)
            for (double step = -1.0; step <= 1.0; step += 0.125) {
                double other[CLASSES];
                memcpy(other, b, sizeof b);
                other[c] += step;
                assert_at_most(objective, loss_at(&problem, zero, other) + 1e-12);
            }
        close_problem(&problem);
    }
}

static void centring_finds_the_best_intercepts(void **state) {
    (void)state;
    pl_stream stream = pl_stream_make(6, 0, 0);
    for (unsigned f = 0; f < COUNT(forms); f++) {
        team_problem problem = open_problem(forms[f]);
        for (double start = 0.0; start < 50.0 && problem.glm.loss->smooth; start += 24.0) {
            static double z[ROWS * CLASSES];
            double b[CLASSES] = {start, -start};
            parley_error error = {0};
            random_margins(&stream, ROWS * CLASSES, 3.0, z);
            assert_done(pl_classes_centre(&problem.glm, &problem.team, z, NULL, 1e-14, b, &error), &error);
            double least = loss_at(&problem, z, b);
            for (unsigned n = 0; n < 20; n++) {
                double other[CLASSES], size = random_size(&stream, 1e-4, 10.0);
                for (unsigned c = 0; c < CLASSES; c++)
                    other[c] = b[c] + size * pl_random_normal(&stream);
                assert_at_most(least, loss_at(&problem, z, other) + 1e-12);
            }
        }
        close_problem(&problem);
    }
}

static void random_duals(const team_problem *problem, pl_stream *stream, double *t) {
    const pl_loss *loss = problem->glm.loss;
    for (uint64_t i = 0; i < ROWS; i++) {
        double p[CLASSES];
        random_point(stream, CLASSES, p);
        for (unsigned c = 0; c < CLASSES; c++) {
            double own = c == problem->glm.class_of[i] ? 1.0 : 0.0;
            t[i * CLASSES + c] = loss->together ? own - p[c] : (2.0 * own - 1.0) * pl_random_unit(stream);
        }
    }
}

/* t, repaired as in an evaluation. */
static void repair(const team_problem *problem, const double *t, double *fixed) {
    const pl_repair *how = problem->glm.repair;
    for (uint64_t i = 0; i < ROWS; i++)
        for (unsigned c = 0; c < CLASSES; c++) {
            double old = t[i * CLASSES + c], own = c == problem->glm.class_of[i] ? 1.0 : 0.0;
            double p = (1.0 - how->tilt) * (own - old) + how->tilt * how->blend[c];
            fixed[i * CLASSES + c] = problem->glm.loss->together ? own - p : old * how->side[2 * c + (old > 0)];
        }
}

static double conjugate_at(const team_problem *problem, uint64_t i, const double *t) {
    const pl_loss *loss = problem->glm.loss;
    uint64_t y = problem->glm.class_of[i];
    double sum = 0;
    if (loss->together)
        return loss->together->conjugate(t, CLASSES, y);
    for (unsigned c = 0; c < CLASSES; c++)
        sum += loss->conjugate(loss, t[c], c == y ? 1.0 : -1.0);
    return sum;
}

static void repaired_dual_points_are_feasible_and_bound_the_objective(void **state) {
    (void)state;
    pl_stream stream = pl_stream_make(7, 0, 0);
    static double t[ROWS * CLASSES], fixed[ROWS * CLASSES], z[ROWS * CLASSES];
    for (unsigned f = 0; f < COUNT(forms); f++) {
        team_problem problem = open_problem(forms[f]);
        const pl_glm *glm = &problem.glm;
        for (unsigned n = 0; n < 20; n++) {
            double w[CLASSES * (FEATURES + 1)], u[CLASSES * (FEATURES + 1)] = {0}, none[CLASSES] = {0};
            double *b = glm->intercept == PL_NO_INTERCEPT ? none : w + CLASSES * FEATURES, conjugate = 0;
            pl_linear_evaluation at;
            parley_error error = {0};
            random_margins(&stream, CLASSES * (FEATURES + 1), 0.5, w);
            random_duals(&problem, &stream, t);
            pl_margins(glm, &problem.team, w, z);
            assert_done(pl_classes_evaluate(glm, &problem.team, z, b, t, &at, &error), &error);
            assert_close(at.value, loss_at(&problem, z, b), 1e-12);
            repair(&problem, t, fixed);
            for (uint64_t i = 0; i < ROWS; i++) {
                double a[CLASSES];
                conjugate += pl_share(glm, i) * conjugate_at(&problem, i, fixed + i * CLASSES);
                for (unsigned c = 0; c < CLASSES; c++) {
                    a[c] = pl_share(glm, i) * fixed[i * CLASSES + c];
                    u[CLASSES * FEATURES + c] += a[c];
                }
                pl_plain_adds(glm, i, a, u);
            }
            assert_close(at.conjugate, conjugate, 1e-11);
            for (unsigned c = 0; c < CLASSES && glm->intercept == PL_FREE; c++)
                assert_close(u[CLASSES * FEATURES + c], 0.0, 1e-14);
            double dual = -conjugate - pl_penalty_conjugate(glm, u, 1.0, 0, glm->base.size);
            assert_at_most(dual, at.value + pl_penalty(glm, w, 0, glm->base.size) + 1e-12);
        }
        close_problem(&problem);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_multiplied_and_added_to_class_by_class),
        cmocka_unit_test(full_rows_give_the_same_bits_several_at_a_time),
        cmocka_unit_test(float_tables_give_the_same_in_single_precision),
        cmocka_unit_test(curvature_blocks_are_outer_products),
        cmocka_unit_test(probabilities_are_exponentials_over_their_sum),
        cmocka_unit_test(rows_get_the_same_bits_alone_and_together),
        cmocka_unit_test(softmax_slopes_are_derivatives_and_fenchel_and_young_hold),
        cmocka_unit_test(softmax_steps_stay_in_the_simplex_and_never_make_it_worse),
        cmocka_unit_test(classes_are_numbered_by_their_labels),
        cmocka_unit_test(bends_multiply_as_differences_of_slopes_do),
        cmocka_unit_test(bends_ahead_are_mean_second_derivatives),
        cmocka_unit_test(null_objectives_are_those_of_the_best_constants),
        cmocka_unit_test(centring_finds_the_best_intercepts),
        cmocka_unit_test(repaired_dual_points_are_feasible_and_bound_the_objective),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
