/* test_sgd.c: lazy and adaptive steps against plain ones, where runs converge, and certificates. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "math/sparse.h"
#include "support.h"

#define COLUMNS 12
#define ROWS 160

/* The state of a plain run, in which every step touches every entry. */
typedef struct plain {
    double w[COLUMNS + 1], sum[COLUMNS + 1]; /* the model, intercept last; the sum of iterates */
    double l1, l2, rate, ease;               /* ease: factor of a free intercept's steps */
    pl_intercept intercept;
    uint64_t steps;
} plain;

static void plain_step(plain *plain, const parley_data *data, const pl_loss *loss, uint64_t i) {
    bool any = plain->intercept != PL_NO_INTERCEPT;
    double z = any ? plain->w[COLUMNS] : 0.0, slope, curvature, eta = plain->rate, x[COLUMNS + 1] = {0};
    for (uint64_t e = data->x.start[i]; e < data->x.start[i + 1]; e++) {
        x[data->x.index[e]] = pl_value_at(data->x.values, e);
        z += x[data->x.index[e]] * plain->w[data->x.index[e]];
    }
    x[COLUMNS] = any ? 1.0 : 0.0;
    double y = loss->labels == PL_LABELS_REAL ? data->label[i] : data->label[i] > 0 ? 1.0 : -1.0;
    loss->expand(loss, z, y, &slope, &curvature);
    for (unsigned j = 0; j <= COLUMNS; j++) {
        bool penalised = j < COLUMNS || plain->intercept == PL_PENALISED;
        double w = plain->w[j] - eta * slope * x[j] * (penalised ? 1.0 : plain->ease);
        plain->w[j] = penalised ? pl_soft(w, eta * plain->l1) / (1.0 + eta * plain->l2) : w;
        plain->sum[j] += plain->w[j];
    }
    plain->steps++;
}

/* The same rows in the same order: one worker, buckets of one row, shuffled by (seed, worker, epoch). */
static void plain_epoch(plain *plain, const parley_data *data, const pl_loss *loss, uint64_t seed, uint64_t epoch,
                        uint64_t *order) {
    pl_stream stream = pl_stream_make(seed, 0, epoch);
    pl_shuffle(&stream, order, data->x.rows);
    for (uint64_t n = 0; n < data->x.rows; n++)
        plain_step(plain, data, loss, order[n]);
}

static parley_data *scattered(void) { return random_data(small); }

static parley_data *aligned(void) {
    parley_data *data = random_data((sample_plan){.seed = 9, .rows = ROWS, .columns = COLUMNS, .density = 0.5});
    float *value = (float *)data->x.values.narrow;
    for (uint64_t i = 0; i < ROWS; i++)
        for (uint64_t e = data->x.start[i]; e < data->x.start[i + 1]; e++)
            value[e] = (float)copysign((double)value[e], data->label[i]);
    return data;
}

/* sum m_j^2 / sum m_j, where m_j is the mean square of column j. */
static double ease_of(const parley_data *data) {
    double square[COLUMNS] = {0}, sum = 0, sum2 = 0;
    for (uint64_t e = 0; e < data->x.nonzeros; e++)
        square[data->x.index[e]] +=
            data->x.values.narrow ? (double)data->x.values.narrow[e] * (double)data->x.values.narrow[e] : 1.0;
    for (unsigned j = 0; j < COLUMNS; j++) {
        sum += square[j] / ROWS;
        sum2 += square[j] / ROWS * square[j] / ROWS;
    }
    return sum2 / sum;
}

static void check_plain(parley_data *(*make)(void), const char *words, double lambda, double l1_ratio,
                        pl_intercept intercept, bool average, double rate, double tolerance) {
    static const char *const intercepts[] = {"free", "penalised", "none"};
    parley_data *data = make();
    char all[256];
    snprintf(all, sizeof all,
             "preset=ma-sgd loss=logistic schedule=constant gap=0 rounds=2 seed=4 rate=%g lambda=%g l1_ratio=%g "
             "intercept=%s average_iterates=%s %s",
             rate, lambda, l1_ratio, intercepts[intercept], average ? "true" : "false", words);
    outcome outcome = train_once(data, all);
    plain plain = {.l1 = lambda * l1_ratio, .l2 = lambda * (1 - l1_ratio), .rate = rate, .intercept = intercept};
    uint64_t order[ROWS], positive = 0;
    for (uint64_t i = 0; i < ROWS; i++) {
        order[i] = i;
        positive += data->label[i] > 0;
    }
    plain.ease = ease_of(data);
    if (intercept == PL_FREE)
        plain.w[COLUMNS] = log((double)positive / (double)(ROWS - positive));
    for (uint64_t epoch = 0; epoch < 2; epoch++) {
        memset(plain.sum, 0, sizeof plain.sum);
        plain_epoch(&plain, data, &pl_loss_logistic, 4, epoch, order);
        for (unsigned j = 0; j <= COLUMNS && average; j++)
            plain.w[j] = plain.sum[j] / ROWS;
    }
    for (unsigned j = 0; j < COLUMNS; j++)
        assert_close(parley_model_coef(outcome.model[0])[j], plain.w[j], tolerance);
    if (intercept == PL_PENALISED) /* a free one is solved when the model is evaluated */
        assert_close(parley_model_intercept(outcome.model[0])[0], plain.w[COLUMNS], tolerance);
    free_models(&outcome);
    parley_data_free(data);
}

static void lazy_steps_are_the_plain_ones(void **state) {
    (void)state;
    for (unsigned intercept = 0; intercept < 3; intercept++) {
        check_plain(scattered, "", 0.0, 0.0, (pl_intercept)intercept, false, 0.05, 1e-12);
        check_plain(scattered, "", 0.01, 0.0, (pl_intercept)intercept, false, 0.05, 1e-12);
        check_plain(scattered, "", 0.01, 0.5, (pl_intercept)intercept, false, 0.05, 1e-12);
        check_plain(scattered, "", 0.02, 1.0, (pl_intercept)intercept, false, 0.05, 1e-12);
    }
}

static void averaged_iterates_are_the_plain_ones(void **state) {
    (void)state;
    for (unsigned intercept = 0; intercept < 3; intercept++) {
        check_plain(scattered, "", 0.0, 0.0, (pl_intercept)intercept, true, 0.05, 1e-12);
        check_plain(scattered, "", 0.01, 0.0, (pl_intercept)intercept, true, 0.05, 1e-12);
    }
}

static void scales_that_would_underflow_are_folded(void **state) {
    (void)state;
    /* 160 steps of 1 / (1 + 0.54) each give 1e-30; rows point one way, so that even the last step is progress. */
    for (unsigned average = 0; average < 2; average++) {
        check_plain(aligned, "", 54, 0.0, PL_NO_INTERCEPT, average, 0.01, 1e-12);
        check_plain(aligned, "", 54, 0.0, PL_PENALISED, average, 0.01, 1e-12);
    }
    check_plain(aligned, "", 60, 0.001, PL_NO_INTERCEPT, false, 0.01, 1e-12);
}

typedef struct sgd_case {
    const char *words;
    double tolerance; /* of P, relative to P at w = 0 */
} sgd_case;

/* Compares with newton or cocoa+, which have closed the gap to 1e-9. */
static void check_optimum(const parley_data *data, const char *problem, const char *method, double tolerance) {
    char words[256];
    bool smooth = !strstr(problem, "hinge") || strstr(problem, "squared-hinge");
    bool l1 = strstr(problem, "l1_ratio") != NULL;
    snprintf(words, sizeof words, "%s %s gap=1e-9", problem, smooth && !l1 ? "preset=newton" : "preset=cocoa+");
    outcome best = train_once(data, words);
    snprintf(words, sizeof words, "%s %s gap=1e-7 rounds=400", problem, method);
    outcome found = train_once(data, words);
    double scale = best.summary[0].gap / fmax(best.summary[0].relative_gap, 1e-300);
    scale = scale > 0 ? scale : 1.0;
    if (!(found.summary[0].objective - best.summary[0].objective <= tolerance * scale))
        print_error("%s: %g above the optimum\n", words, found.summary[0].objective - best.summary[0].objective);
    assert_at_most(found.summary[0].objective, best.summary[0].objective + tolerance * scale);
    assert_at_most(best.summary[0].objective, found.summary[0].objective + 1e-7 * scale);
    assert_at_most(found.summary[0].dual, best.summary[0].objective * (1 + 1e-9) + 1e-9);
    free_models(&best);
    free_models(&found);
}

static void every_form_comes_near_the_optimum(void **state) {
    (void)state;
    const char *const problems[] = {"loss=logistic lambda=0.02",
                                    "loss=squared-hinge lambda=0.02",
                                    "loss=hinge lambda=0.05",
                                    "loss=logistic lambda=0.02 l1_ratio=0.5",
                                    "loss=logistic lambda=0.02 intercept=penalised",
                                    "loss=squared lambda=0.02 intercept=none"};
    const sgd_case methods[] = {{"preset=ma-sgd", 2e-4},           {"preset=ma-sgd schedule=normalised", 2e-2},
                                {"preset=ma-sgd workers=4", 1e-2}, {"preset=mllib-ma workers=4 schedule=inverse", 3e-2},
                                {"preset=splash workers=4", 3e-2}, {"preset=hogwild workers=4", 2e-2}};
    parley_data *data = random_data(small);
    for (unsigned p = 0; p < COUNT(problems); p++)
        for (unsigned m = 0; m < COUNT(methods); m++)
            check_optimum(data, problems[p], methods[m].words, methods[m].tolerance);
    parley_data_free(data);
}

static void running_means_close_the_gap_of_hinge(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    outcome outcome = train_once(data, "preset=ma-sgd loss=hinge lambda=0.05 gap=0 rounds=300");
    assert_at_most(outcome.summary[0].relative_gap, 0.02);
    free_models(&outcome);
    parley_data_free(data);
}

static void rates_too_large_are_taken_back(void **state) {
    (void)state;
    parley_data *data = random_data(real);
    outcome outcome = train_once(data, "preset=ma-sgd schedule=constant loss=squared rate=1000 gap=0 rounds=200");
    assert_at_most(outcome.summary[0].relative_gap, 0.2);
    free_models(&outcome);
    parley_data_free(data);
}

static void the_unit_of_a_column_does_not_matter_to_normalised_rates(void **state) {
    (void)state;
    parley_data *a = data_of("1 1:1 2:0.5\n2 1:0.5 2:0.25\n-1 1:-1\n0.5 2:1\n"),
                *b = data_of("1 1:1024 2:0.5\n2 1:512 2:0.25\n-1 1:-1024\n0.5 2:1\n");
    const char *words = "preset=ma-sgd schedule=normalised rate=0.5 loss=squared lambda=0 gap=0 rounds=3";
    outcome one = train_once(a, words), other = train_once(b, words);
    assert_close(parley_model_coef(one.model[0])[0], 1024 * parley_model_coef(other.model[0])[0], 1e-6);
    assert_close(parley_model_coef(one.model[0])[1], parley_model_coef(other.model[0])[1], 1e-6);
    free_models(&one);
    free_models(&other);
    parley_data_free(a);
    parley_data_free(b);
}

/* A quarter of a column's entries are present, as many of either sign: with values of +-c its deviation is exactly c /
 * 2. Column j has c = 2 x base^(j - 5). */
static parley_data *quartered(double base) {
    static char text[1 << 15];
    size_t used = 0;
    for (unsigned i = 0; i < ROWS; i++) {
        used += (size_t)sprintf(text + used, "%d", (i * 2654435761U) >> 31 || i % 8 == 1 ? 1 : -1);
        for (unsigned j = 0; j < COLUMNS; j++)
            if ((i + j) % 4 == 0)
                used += (size_t)sprintf(text + used, " %u:%.17g", j + 1,
                                        (i / 4 >> j % 3) % 2 ? 2 * pow(base, j - 5.0) : -2 * pow(base, j - 5.0));
        used += (size_t)sprintf(text + used, "\n");
    }
    return data_of(text);
}

static void standardised_steps_are_those_on_scaled_data(void **state) {
    (void)state;
    const char *const forms[] = {"preset=ma-sgd",
                                 "preset=ma-sgd workers=3 l1_ratio=0.5",
                                 "preset=ma-sgd workers=2 average_iterates=true rate=0.1 intercept=penalised",
                                 "preset=ma-sgd workers=2 loss=hinge schedule=inverse",
                                 "preset=ma-sgd workers=3 schedule=adagrad",
                                 "preset=ma-sgd schedule=normalised l1_ratio=0.5",
                                 "preset=splash workers=3 intercept=none",
                                 "preset=hogwild loss=hinge",
                                 "preset=hogwild l1_ratio=0.5 schedule=inverse-sqrt"};
    parley_data *data = quartered(4.0), *scaled = quartered(1.0);
    for (unsigned f = 0; f < COUNT(forms); f++) {
        char words[160];
        snprintf(words, sizeof words, "%s lambda=0.01 gap=0 rounds=6 standardise=true", forms[f]);
        outcome one = train_once(data, words);
        words[strlen(words) - strlen("standardise=true")] = '\0';
        outcome other = train_once(scaled, words);
        assert_close(one.summary[0].objective, other.summary[0].objective, 1e-12);
        assert_close(one.summary[0].dual, other.summary[0].dual, 1e-12);
        for (unsigned j = 0; j < COLUMNS; j++)
            assert_close(parley_model_coef(one.model[0])[j] * pow(4.0, j - 5.0), parley_model_coef(other.model[0])[j],
                         1e-12);
        free_models(&one);
        free_models(&other);
    }
    parley_data_free(data);
    parley_data_free(scaled);
}

/* The work of a worker alone, from its own v, is its part of a round of all. */
static void a_worker_alone_makes_the_steps_of_its_round(void **state) {
    (void)state;
    static const char *const forms[] = {"schedule=constant", "schedule=adagrad", "schedule=constant l1_ratio=0.5",
                                        "schedule=inverse loss=hinge intercept=none"};
    for (unsigned f = 0; f < COUNT(forms); f++) {
        char words[160];
        snprintf(words, sizeof words, "loss=logistic lambda=0.01 rate=0.1 %s", forms[f]);
        parley_settings settings = settings_of(words);
        team_problem problem = open_problem_on(random_data(small), &settings);
        double null[COLUMNS + 1] = {0}, v[COLUMNS + 1] = {0}, own[COLUMNS + 1], objective;
        parley_error error = {0};
        pl_local *together, *alone;
        pl_update updates[3], update;
        assert_done(pl_problem_linear.first(&problem.glm.base, &problem.team, null, &objective, &error), &error);
        pl_setup setup = {.problem = &problem.glm.base,
                          .team = &problem.team,
                          .settings = &settings,
                          .entries = problem.glm.base.size,
                          .width = 1,
                          .first = null};
        assert_done(pl_local_sgd.open(&setup, &together, &error), &error);
        assert_done(pl_local_sgd.open(&setup, &alone, &error), &error);
        pl_round round = {.number = 1, .sigma = 1, .epochs = 1};
        assert_done(pl_local_sgd.work(together, &round, v, updates, NULL, &error), &error);
        for (unsigned k = 3; k-- > 0;) { /* in any order */
            memcpy(own, v, sizeof own);
            assert_done(pl_local_sgd.async->work(alone, k, &round, own, &update, &error), &error);
            assert_memory_equal(own, v, sizeof own);
            assert_true(update.shrink == updates[k].shrink && update.weight == updates[k].weight);
            assert_true(update.passes == updates[k].passes && update.passes > 0.9);
            assert_int_equal(update.count, updates[k].count);
            assert_int_equal(update.index != NULL, updates[k].index != NULL);
            assert_memory_equal(update.value, updates[k].value, update.count * sizeof *update.value);
        }
        pl_local_sgd.close(together);
        pl_local_sgd.close(alone);
        close_problem(&problem);
    }
}

static void a_worker_says_which_entries_of_v_it_reads(void **state) {
    (void)state;
    parley_settings settings = settings_of("loss=logistic lambda=0.01 rate=0.1");
    sample_plan plan = {.seed = 5, .rows = 30, .columns = 400, .density = 0.01};
    team_problem problem = open_problem_on(random_data(plan), &settings);
    const pl_team *team = &problem.team;
    double first[401] = {0}, objective;
    parley_error error = {0};
    pl_local *local;
    assert_done(pl_problem_linear.first(&problem.glm.base, team, first, &objective, &error), &error);
    pl_setup setup = {.problem = &problem.glm.base,
                      .team = &problem.team,
                      .settings = &settings,
                      .entries = problem.glm.base.size,
                      .width = 1,
                      .first = first};
    assert_done(pl_local_sgd.open(&setup, &local, &error), &error);
    for (unsigned k = 0; k < team->hosted; k++) {
        bool touched[401] = {0};
        uint64_t count, expected = 1;
        const pl_matrix *x = &problem.data->x;
        touched[x->columns] = true; /* the intercept */
        for (unsigned p = k * team->lanes; p < (k + 1) * team->lanes; p++)
            for (uint64_t r = 0; r < team->parts[p].count; r++)
                for (uint64_t e = x->start[team->parts[p].ranges[r].begin]; e < x->start[team->parts[p].ranges[r].end];
                     e++) {
                    expected += !touched[x->index[e]];
                    touched[x->index[e]] = true;
                }
        const uint32_t *entries = pl_local_sgd.async->reads(local, k, &count);
        assert_non_null(entries);
        assert_int_equal(count, expected);
        for (uint64_t i = 0; i < count; i++)
            assert_true(touched[entries[i]] && (i == 0 || entries[i - 1] < entries[i]));
    }
    pl_local_sgd.close(local);
    close_problem(&problem);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lazy_steps_are_the_plain_ones),
        cmocka_unit_test(averaged_iterates_are_the_plain_ones),
        cmocka_unit_test(scales_that_would_underflow_are_folded),
        cmocka_unit_test(every_form_comes_near_the_optimum),
        cmocka_unit_test(running_means_close_the_gap_of_hinge),
        cmocka_unit_test(rates_too_large_are_taken_back),
        cmocka_unit_test(a_worker_alone_makes_the_steps_of_its_round),
        cmocka_unit_test(a_worker_says_which_entries_of_v_it_reads),
        cmocka_unit_test(the_unit_of_a_column_does_not_matter_to_normalised_rates),
        cmocka_unit_test(standardised_steps_are_those_on_scaled_data),
    };
    return cmocka_run_group_tests_name("sgd", tests, NULL, NULL);
}
