/* test_scd.c: coordinate descent on columns: extrapolation, tight gaps, warm starts, changed penalties, and steps that
 * do not see each other. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "linear/columns/scd.h"
#include "shard/columns.h"
#include "support.h"

static void a_linear_map_is_extrapolated_to_its_limit(void **state) {
    (void)state;
    enum { SIZE = 3 }; /* rates of decay, fewer than iterates */
    const double limit[SIZE] = {1.5, -2.0, 0.25}, rate[SIZE] = {0.9, 0.5, -0.3};
    double past[PL_SCD_PAST * SIZE], ahead[SIZE];
    for (unsigned k = 0; k < PL_SCD_PAST; k++)
        for (unsigned m = 0; m < SIZE; m++)
            past[k * SIZE + m] = limit[m] + pow(rate[m], k);
    assert_true(pl_scd_extrapolate(past, SIZE, ahead));
    for (unsigned m = 0; m < SIZE; m++)
        assert_close(ahead[m], limit[m], 1e-3);
}

static void iterates_at_rest_are_not_extrapolated(void **state) {
    (void)state;
    double past[PL_SCD_PAST * 2], ahead[2];
    for (unsigned i = 0; i < PL_SCD_PAST * 2; i++)
        past[i] = 1.0;
    assert_false(pl_scd_extrapolate(past, 2, ahead));
}

static void every_smooth_loss_reaches_a_tight_gap(void **state) {
    (void)state;
    const char *const losses[] = {"squared", "logistic", "squared-hinge", "huber"};
    const char *const penalties[] = {"l1_ratio=1 lambda=0.01", "l1_ratio=0.5 lambda=0.01", "lambda=0.01"};
    const unsigned workers[] = {1, 4, 7};
    parley_data *labels = random_data(small), *numbers = random_data(real);
    for (unsigned l = 0; l < COUNT(losses); l++)
        for (unsigned p = 0; p < COUNT(penalties); p++)
            for (unsigned k = (l + p) % SOME; k < COUNT(workers); k += SOME) {
                char words[256];
                bool binary = pl_loss_find(losses[l])->labels == PL_LABELS_BINARY;
                parley_data *data = binary ? labels : numbers;
                snprintf(words, sizeof words, "preset=cocoa+ local=scd loss=%s %s workers=%u gap=1e-9", losses[l],
                         penalties[p], workers[k]);
                outcome outcome = train_once(data, words);
                const parley_summary *summary = &outcome.summary[0];
                if (summary->stop != PARLEY_CONVERGED)
                    print_error("%s: relative gap %g\n", words, summary->relative_gap);
                assert_int_equal(summary->stop, PARLEY_CONVERGED);
                assert_close(summary->objective,
                             objective_of(data, outcome.model[0], pl_linear(outcome.model[0])->loss, summary), 1e-12);
                free_models(&outcome);
            }
    parley_data_free(labels);
    parley_data_free(numbers);
}

static void rows_and_columns_come_to_the_same_optimum(void **state) {
    (void)state;
    parley_data *data = random_data(wide);
    outcome rows = train_once(data, "preset=cocoa+ local=sdca l1_ratio=0.5 lambda=0.01 gap=1e-8 workers=3");
    outcome columns = train_once(data, "preset=cocoa+ local=scd l1_ratio=0.5 lambda=0.01 gap=1e-8 workers=3");
    assert_close(rows.summary[0].objective, columns.summary[0].objective, 1e-7);
    free_models(&rows);
    free_models(&columns);
    parley_data_free(data);
}

static void columns_far_from_0_are_told_apart(void **state) {
    (void)state;
    enum { ROWS = 200, COLUMNS = 6 };
    static float values[ROWS * COLUMNS], near[ROWS * COLUMNS];
    static double labels[ROWS];
    pl_stream stream = pl_stream_make(23, 0, 0);
    for (unsigned i = 0; i < ROWS; i++)
        for (unsigned j = 0; j < COLUMNS; j++) {
            values[i * COLUMNS + j] = (float)(4000.0 + pl_random_normal(&stream)); /* such as years */
            near[i * COLUMNS + j] = values[i * COLUMNS + j] - 4000.0f;
            labels[i] += (j + 1.0) * (double)near[i * COLUMNS + j];
        }
    const float *tables[] = {values, near};
    double objective[2];
    for (unsigned t = 0; t < 2; t++) {
        parley_data *data;
        parley_error error;
        assert_done(parley_data_from_dense(ROWS, COLUMNS, tables[t], PARLEY_FLOAT32, COLUMNS, 1, labels, NULL, 1, &data,
                                           &error),
                    &error);
        outcome outcome = train_once(data, "preset=cocoa+ local=scd loss=squared l1_ratio=1 lambda=0.001 gap=1e-6");
        assert_int_equal(outcome.summary[0].stop, PARLEY_CONVERGED);
        objective[t] = outcome.summary[0].objective;
        free_models(&outcome);
        parley_data_free(data);
    }
    assert_close(objective[0], objective[1], 1e-4);
}

static void many_coefficients_do_not_break_it_down(void **state) {
    (void)state;
    parley_data *data =
        random_data((sample_plan){.seed = 9, .rows = 120, .columns = 300 / SOME, .density = 0.4, .real = true});
    outcome outcome = train_once(data, "preset=cocoa+ local=scd l1_ratio=1 lambda=0.0005 gap=1e-7");
    assert_int_equal(outcome.summary[0].stop, PARLEY_CONVERGED);
    free_models(&outcome);
    parley_data_free(data);
}

/* One worker's solver, driven by hand. */
typedef struct bench {
    parley_data *data;
    parley_settings settings;
    pl_engine *engine;
    pl_glm glm;
    pl_team team, columns;
    pl_columns by_column;
    pl_local *local;
    double *v, *w, null;
} bench;

static void open_bench(bench *bench, sample_plan plan, const char *words) {
    parley_error error = {0};
    *bench = (struct bench){.data = random_data(plan), .settings = settings_of(words)};
    assert_done(pl_threads_open(&bench->engine, 1, 1, DEADLINE, &error), &error);
    assert_done(pl_glm_open(&bench->glm, bench->engine, bench->data, &bench->settings, &error), &error);
    assert_done(pl_team_open(&bench->team, bench->engine, bench->data, 1, 1, 1, &error), &error);
    assert_done(pl_columns_open(&bench->by_column, bench->engine, &bench->data->x, &error), &error);
    assert_done(pl_team_deal(&bench->columns, bench->engine, &bench->by_column.x, 1, 1, 1, &error), &error);
    assert_done(pl_glm_measure(&bench->glm, &bench->team, &error), &error);
    bench->v = calloc(plan.rows, sizeof *bench->v);
    bench->w = calloc(bench->glm.base.size, sizeof *bench->w);
    assert_done(pl_problem_linear.first(&bench->glm.base, &bench->team, bench->w, &bench->null, &error), &error);
    pl_setup setup = {.problem = &bench->glm.base,
                      .team = &bench->team,
                      .columns = &bench->columns,
                      .by_column = &bench->by_column.x,
                      .settings = &bench->settings,
                      .entries = plan.rows,
                      .width = 1,
                      .first = bench->w};
    assert_done(pl_local_scd.open(&setup, &bench->local, &error), &error);
}

static void close_bench(bench *bench) {
    pl_local_scd.close(bench->local);
    pl_columns_close(&bench->by_column);
    pl_team_close(&bench->columns);
    pl_team_close(&bench->team);
    pl_glm_close(&bench->glm);
    pl_engine_close(bench->engine);
    parley_data_free(bench->data);
    free(bench->v);
    free(bench->w);
}

/* Runs rounds until the gap is reached; returns their number and the objective. */
static unsigned solve(bench *bench, double *objective) {
    parley_error error = {0};
    for (unsigned round = 1; round <= 500; round++) {
        pl_update update;
        pl_evaluation at = {0};
        pl_round pace = {.number = round, .sigma = 1, .epochs = 1};
        assert_done(pl_local_scd.work(bench->local, &pace, bench->v, &update, &at, &error), &error);
        for (uint64_t i = 0; i < update.count; i++)
            bench->v[i] += update.value[i];
        pl_local_scd.commit(bench->local, 0, 1.0);
        assert_done(pl_local_scd.evaluate(bench->local, bench->v, bench->w, &update, &at, &error), &error);
        const pl_linear_evaluation *seen = at.own;
        *objective = seen->value + seen->penalty;
        if (*objective + seen->conjugate + seen->penalty_conjugate <= bench->settings.gap * bench->null)
            return round;
    }
    fail();
    return 0;
}

static void set_penalty(bench *bench, double lambda) {
    bench->glm.lambda = lambda;
    bench->glm.base.l1 = lambda * bench->glm.l1_ratio;
    bench->glm.base.l2 = lambda * (1.0 - bench->glm.l1_ratio);
}

static void a_changed_penalty_goes_on_from_where_it_was(void **state) {
    (void)state;
    const char *const forms[] = {"loss=squared l1_ratio=1 lambda=0.5 gap=1e-7",
                                 "loss=squared l1_ratio=0.7 lambda=0.5 gap=1e-7 intercept=penalised",
                                 "loss=huber huber_width=1 l1_ratio=1 lambda=0.3 gap=1e-7 intercept=none"};
    const sample_plan plan = {.seed = 8, .rows = 200, .columns = 500, .density = 0.05, .real = true};
    for (unsigned f = 0; f < COUNT(forms); f++) {
        bench path, fresh;
        parley_error error = {0};
        open_bench(&path, plan, forms[f]);
        double lambda = path.glm.lambda, there, cold;
        for (unsigned step = 0; step < 12; step++, lambda *= 0.7) {
            set_penalty(&path, lambda);
            if (step)
                assert_done(pl_local_scd.restart->renew(path.local, path.v, &error), &error);
            solve(&path, &there);
        }
        set_penalty(&path, lambda / 0.7 / 0.7 / 0.7); /* and back */
        assert_done(pl_local_scd.restart->renew(path.local, path.v, &error), &error);
        solve(&path, &there);
        open_bench(&fresh, plan, forms[f]);
        set_penalty(&fresh, lambda / 0.7 / 0.7 / 0.7);
        solve(&fresh, &cold);
        assert_close(there, cold, 1e-6);
        close_bench(&path);
        close_bench(&fresh);
    }
}

static double inner_product(const pl_scd *scd, uint64_t j, uint64_t k) {
    const pl_matrix *x = scd->x;
    double sum = 0;
    for (uint64_t e = x->start[j], f = x->start[k]; e < x->start[j + 1]; e++) {
        while (f < x->start[k + 1] && x->index[f] < x->index[e])
            f++;
        if (f < x->start[k + 1] && x->index[f] == x->index[e])
            sum += scd->gram.curvature[x->index[e]] * (double)x->values.narrow[e] * (double)x->values.narrow[f];
    }
    return sum;
}

static const sample_plan tall = {.seed = 9, .rows = 3000, .columns = 80, .density = 0.3, .real = true};

static void the_table_holds_inner_products(void **state) {
    (void)state;
    const sample_plan plan = {.seed = 9, .rows = 900, .columns = 400, .density = 0.3, .real = true};
    bench path;
    parley_error error = {0};
    double objective;
    open_bench(&path, plan, "loss=squared l1_ratio=1 lambda=0.5 gap=1e-9 intercept=none");
    for (double lambda = 0.5; lambda > 0.01; lambda *= SOME > 1 ? 0.4 : 0.8) {
        set_penalty(&path, lambda);
        assert_done(pl_local_scd.restart->renew(path.local, path.v, &error), &error);
        solve(&path, &objective);
    }
    const pl_scd *scd = (const pl_scd *)path.local;
    const pl_scd_covariance *gram = &scd->gram;
    assert_true(gram->slots > 150); /* it was widened, and the lists of rows were lengthened */
    for (uint64_t s = 0; s < gram->slots; s++)
        for (uint64_t r = 0; r < gram->slots; r++)
            assert_close(gram->table[s * gram->stride + r], inner_product(scd, gram->column[s], gram->column[r]), 1e-6);
    close_bench(&path);
}

static void steps_by_the_table_come_to_the_same_optimum(void **state) {
    (void)state;
    const char *const forms[] = {"loss=squared l1_ratio=1 lambda=0.5 gap=1e-10",
                                 "loss=huber huber_width=1 l1_ratio=0.9 lambda=0.3 gap=1e-10",
                                 "loss=logistic l1_ratio=1 lambda=0.1 gap=1e-10",
                                 "loss=logistic l1_ratio=1 lambda=0.1 gap=1e-10 intercept=none"};
    for (unsigned f = 0; f < COUNT(forms); f++) {
        bench with, without;
        parley_error error = {0};
        sample_plan plan = tall;
        plan.real = f < 2;
        open_bench(&with, plan, forms[f]);
        open_bench(&without, plan, forms[f]);
        ((pl_scd *)without.local)->gram.capacity = 0;
        double lambda = with.glm.lambda, by_table, plainly;
        for (unsigned step = 0; step < 20; step++, lambda *= 0.8) {
            set_penalty(&with, lambda);
            set_penalty(&without, lambda);
            assert_done(pl_local_scd.restart->renew(with.local, with.v, &error), &error);
            assert_done(pl_local_scd.restart->renew(without.local, without.v, &error), &error);
            solve(&with, &by_table);
            solve(&without, &plainly);
            assert_close(by_table, plainly, 1e-9);
        }
        assert_true(((pl_scd *)with.local)->gram.slots > 0);
        assert_true(((pl_scd *)without.local)->gram.slots == 0);
        close_bench(&with);
        close_bench(&without);
    }
}

static void a_start_at_the_optimum_is_at_the_optimum(void **state) {
    (void)state;
    const char *const intercepts[] = {"free", "penalised", "none"};
    const sample_plan plan = {.seed = 8, .rows = 200, .columns = 500, .density = 0.05, .real = false};
    for (unsigned i = 0; i < COUNT(intercepts); i++) {
        bench first, second;
        parley_error error = {0};
        char words[128];
        double there, again;
        snprintf(words, sizeof words, "loss=logistic l1_ratio=1 lambda=0.005 gap=1e-8 intercept=%s", intercepts[i]);
        open_bench(&first, plan, words);
        solve(&first, &there);
        open_bench(&second, plan, words);
        assert_done(pl_local_scd.restart->start(second.local, first.w, NULL, second.v, &error), &error);
        assert_int_equal(solve(&second, &again), 1);
        assert_close(again, there, 1e-12);
        close_bench(&first);
        close_bench(&second);
    }
}

static void unseen_steps_descend(void **state) {
    (void)state;
    const char *const forms[] = {"local=scd l1_ratio=1 lambda=0.01", "local=scd loss=squared-hinge l1_ratio=0.5",
                                 "local=sdca lambda=0.01", "local=sdca lanes=2 l1_ratio=0.3 lambda=0.01"};
    parley_data *data = random_data(small);
    for (unsigned f = 0; f < COUNT(forms); f++)
        for (unsigned workers = 1; workers <= 4; workers += 3) {
            char words[160];
            snprintf(words, sizeof words, "preset=minibatch-cd %s workers=%u rounds=4000 gap=1e-3 local_steps=2",
                     forms[f], workers);
            outcome outcome = train_once(data, words);
            if (outcome.summary[0].stop != PARLEY_CONVERGED)
                print_error("%s: relative gap %g\n", words, outcome.summary[0].relative_gap);
            assert_int_equal(outcome.summary[0].stop, PARLEY_CONVERGED);
            free_models(&outcome);
        }
    parley_data_free(data);
}

/* Almost as many columns as rows are not 0, which takes coordinate descent alone more rounds. */
static void a_dense_lasso_near_saturation_takes_few_rounds(void **state) {
    (void)state;
    const char *const words = "preset=cocoa+ local=scd loss=squared l1_ratio=1 lambda=0.05 gap=1e-6";
    parley_data *data = random_data((sample_plan){.seed = 8, .rows = 100, .columns = 400, .density = 1, .real = true});
    outcome found = train_once(data, words);
    assert_done(found.status[0], &found.error[0]);
    assert_int_equal(found.summary[0].stop, PARLEY_CONVERGED);
    assert_true(found.summary[0].rounds <= 8); /* 10 without Newton steps on the support */
    free_models(&found);
    assert_survives_lost_memory(data, words);
    parley_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dense_lasso_near_saturation_takes_few_rounds),
        cmocka_unit_test(a_linear_map_is_extrapolated_to_its_limit),
        cmocka_unit_test(iterates_at_rest_are_not_extrapolated),
        cmocka_unit_test(every_smooth_loss_reaches_a_tight_gap),
        cmocka_unit_test(rows_and_columns_come_to_the_same_optimum),
        cmocka_unit_test(columns_far_from_0_are_told_apart),
        cmocka_unit_test(many_coefficients_do_not_break_it_down),
        cmocka_unit_test(a_changed_penalty_goes_on_from_where_it_was),
        cmocka_unit_test(the_table_holds_inner_products),
        cmocka_unit_test(steps_by_the_table_come_to_the_same_optimum),
        cmocka_unit_test(a_start_at_the_optimum_is_at_the_optimum),
        cmocka_unit_test(unseen_steps_descend),
    };
    return cmocka_run_group_tests_name("scd", tests, NULL, NULL);
}
