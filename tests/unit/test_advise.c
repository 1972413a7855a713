/* test_advise.c: the advisor's models on made data whose truth is known. */
#define _POSIX_C_SOURCE 200809L /* mkstemp */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "advise/plan_json.h"
#include "advise/trial_file.h"
#include "base/random.h"
#include "math/non_negative.h"
#include "support.h"
#include "train/adapt.h"
#include "train/forecast.h"

#define ROWS 40
#define COLUMNS 5

static void non_negative_least_squares_finds_known_coefficients(void **state) {
    (void)state;
    const double truth[COLUMNS] = {1.5, 0, 0.25, 0, 3};
    double x[ROWS * COLUMNS], y[ROWS] = {0}, theta[COLUMNS];
    pl_stream random = pl_stream_make(1, 2, 3);
    for (unsigned i = 0; i < ROWS; i++)
        for (unsigned j = 0; j < COLUMNS; j++) {
            x[i * COLUMNS + j] = pl_random_unit(&random);
            y[i] += truth[j] * x[i * COLUMNS + j];
        }
    assert_true(pl_non_negative(x, y, NULL, ROWS, COLUMNS, theta));
    for (unsigned j = 0; j < COLUMNS; j++)
        assert_close(theta[j], truth[j], 1e-6);
}

/* The conditions of optimality: a gradient of 0 where theta > 0, and none below 0 elsewhere. */
static void non_negative_least_squares_is_optimal(void **state) {
    (void)state;
    for (unsigned seed = 0; seed < 200; seed++) {
        double x[ROWS * COLUMNS], y[ROWS], weight[ROWS], theta[COLUMNS];
        pl_stream random = pl_stream_make(seed, 2, 3);
        for (unsigned i = 0; i < ROWS; i++) {
            y[i] = pl_random_unit(&random) - 0.5;
            weight[i] = 0.1 + pl_random_unit(&random);
            for (unsigned j = 0; j < COLUMNS; j++)
                x[i * COLUMNS + j] = pl_random_unit(&random) - 0.5;
        }
        assert_true(pl_non_negative(x, y, weight, ROWS, COLUMNS, theta));
        for (unsigned j = 0; j < COLUMNS; j++) {
            double gradient = 0;
            for (unsigned i = 0; i < ROWS; i++) {
                double miss = -y[i];
                for (unsigned k = 0; k < COLUMNS; k++)
                    miss += x[i * COLUMNS + k] * theta[k];
                gradient += weight[i] * x[i * COLUMNS + j] * miss;
            }
            assert_true(theta[j] >= 0);
            assert_true(theta[j] > 0 ? fabs(gradient) < 1e-6 : gradient > -1e-6);
        }
    }
}

static double true_seconds(double m, double h) { return 1e-3 + 2e-8 * h * 1e6 / m + 4e-4 * log2(m) + 1e-5 * m; }

static void the_system_model_predicts_numbers_of_workers_that_were_left_out(void **state) {
    (void)state;
    static pl_system_model model;
    model = (pl_system_model){.size = 1e6};
    for (double m = 1; m <= 64; m *= 2)
        for (double h = 0.25; h <= 4; h *= 4)
            model.point[model.count++] = (pl_system_point){.workers = m, .epochs = h, .seconds = true_seconds(m, h)};
    pl_system_fit(&model);
    assert_true(model.error < 0.02);
    for (double m = 3; m < 64; m += 7)
        assert_close(pl_system_seconds(&model, m, 1, 0) / true_seconds(m, 1), 1.0, 0.01);
}

static void the_design_soon_has_both_ends_and_repeats_nothing(void **state) {
    (void)state;
    const double workers[] = {1, 2, 4, 8, 16, 32, 64}, cost[] = {1, 1, 1, 1, 1, 1, 1};
    bool done[7] = {false};
    unsigned first[4];
    for (unsigned i = 0; i < 7; i++) {
        unsigned next = pl_system_next(workers, cost, 7, done);
        assert_true(next < 7 && !done[next]);
        done[next] = true;
        if (i < 4)
            first[i] = next;
    }
    assert_int_equal(pl_system_next(workers, cost, 7, done), 7);
    bool has_one = false, has_last = false;
    for (unsigned i = 0; i < 4; i++) {
        has_one = has_one || first[i] == 0;
        has_last = has_last || first[i] == 6;
    }
    assert_true(has_one && has_last);
}

/* A run whose gap falls by a rate per round, until the target or for some rounds. */
static pl_trial made_trial(double m, double rate, double target, unsigned most) {
    pl_trial trial = {.of = {"cocoa+", (unsigned)m, 1, 1.0}, .target = target, .system = "made"};
    trial.points = pl_alloc(PL_TRIAL_POINTS, sizeof *trial.points);
    for (unsigned i = 1; i <= most && !trial.reached && i < PL_TRIAL_POINTS; i++) {
        double gap = exp(-rate * i);
        trial.points[trial.count++] = (pl_point_of_run){i, gap, false, NAN, NAN};
        trial.rounds = i;
        trial.reached = gap <= target;
    }
    trial.round_seconds = true_seconds(m, 1);
    return trial;
}

static double rate_of(double m) { return 0.9 * pow(m, -0.7); }

static void rounds_are_predicted_for_workers_that_were_not_measured(void **state) {
    (void)state;
    pl_convergence model = {0};
    pl_goal goal = pl_goal_of_gap(1e-4);
    pl_trial trials[7];
    double level = log(1e-4);
    for (unsigned c = 0; c < 7; c++) {
        trials[c] = made_trial(1u << c, rate_of(1u << c), 1e-4, 500);
        assert_int_equal(pl_curve_open(&model.curve[model.count++], &goal, &trials[c], NULL), PARLEY_OK);
    }
    pl_convergence_choose(&model, level);
    for (double m = 3; m < 64; m *= 2) {
        double truth = ceil(-level / rate_of(m));
        assert_close(pl_convergence_rounds(&model, m, level, PL_MOST_CURVES) / truth, 1.0, 0.04);
        double last = INFINITY;
        for (double i = 1; i < 2000; i *= 1.1) { /* it never rises */
            double now = pl_convergence_level(&model, m, i);
            assert_true(now <= last + 1e-9);
            last = now;
        }
    }
    pl_convergence_close(&model);
    for (unsigned c = 0; c < 7; c++)
        pl_free(trials[c].points);
}

static void a_curve_that_ended_early_goes_on_in_its_own_shape(void **state) {
    (void)state;
    for (unsigned shape = 0; shape < 2; shape++) {
        pl_curve curve;
        pl_goal goal = pl_goal_of_gap(1e-9);
        pl_trial trial = made_trial(4, 0.05, 1e-9, 80);
        for (unsigned i = 0; i < trial.count && shape == 1; i++)
            trial.points[i].gap = exp(-0.8 * sqrt(i + 1.0));
        assert_int_equal(pl_curve_open(&curve, &goal, &trial, NULL), PARLEY_OK);
        double truth = shape == 0 ? 9.0 / 0.05 : (9.0 / 0.8) * (9.0 / 0.8);
        assert_close(pl_curve_rounds(&curve, -9.0) / truth, 1.0, 0.02);
        assert_close(pl_curve_level(&curve, truth), -9.0, 0.05);
        pl_curve_close(&curve);
        pl_free(trial.points);
    }
}

/* Estimates that rise show nothing about the end of a run. Falling ones do, and a low one between them is not kept. */
static void a_curve_that_does_not_fall_is_not_continued(void **state) {
    (void)state;
    static const double gaps[][5] = {{1.0, 0.004, 0.005, 0.006, 0.007}, {1.0, 0.001, 0.03, 0.01, 0.004}};
    for (unsigned c = 0; c < COUNT(gaps); c++) {
        pl_curve curve;
        pl_goal goal = pl_goal_of_gap(1e-6);
        pl_trial trial = made_trial(1, 0.05, 1e-6, 5);
        for (unsigned i = 0; i < trial.count; i++)
            trial.points[i] = (pl_point_of_run){i + 1, gaps[c][i], i > 0, NAN, NAN};
        assert_int_equal(pl_curve_open(&curve, &goal, &trial, NULL), PARLEY_OK);
        double rounds = pl_curve_rounds(&curve, log(1e-6));
        assert_true(c == 0 ? isinf(rounds) : rounds > 6 && rounds < 40);
        assert_true(c == 0 || pl_curve_rounds(&curve, log(0.01)) > 3);
        pl_curve_close(&curve);
        pl_free(trial.points);
    }
}

static void the_lasso_finds_a_rate_that_depends_on_the_workers(void **state) {
    (void)state;
    pl_trial trials[6];
    const pl_trial *list[6];
    unsigned workers[6];
    pl_lasso lasso, without[6];
    for (unsigned c = 0; c < 6; c++) {
        trials[c] = made_trial(1u << c, 1.0 / (1u << c), 1e-4, 400);
        list[c] = &trials[c];
        workers[c] = 1u << c;
    }
    assert_true(pl_lasso_fit(&(pl_goal){.kind = PL_GOAL_GAP, .target = 1e-4}, list, 6, workers, 6, &lasso, without));
    assert_true(lasso.error < 0.6);
    assert_close(pl_lasso_rounds(&lasso, 6, 1, log(1e-3)) / (6 * -log(1e-3)), 1.0, 0.15);
    assert_close(pl_lasso_rounds(&without[3], 8, 1, log(1e-3)) / (8 * -log(1e-3)), 1.0, 0.2);
    for (unsigned c = 0; c < 6; c++)
        pl_free(trials[c].points);
}

/* A plan of cocoa+ with these numbers of workers, for one gap and real clocks, without trials. */
static pl_plan *made_plan(unsigned workers) {
    pl_plan *plan = calloc(1, sizeof *plan);
    plan->task = (pl_plan_task){.goal = pl_goal_of_gap(1e-4), .hosts = 1, .sample = 0.1};
    for (unsigned m = 1; m <= workers; m *= 2)
        plan->task.worker[plan->task.workers++] = m;
    snprintf(plan->system, sizeof plan->system, "made");
    pl_plan_add_group(plan, "cocoa+", 1.0, 0);
    return plan;
}

static void add_trial(pl_plan *plan, double m, double sample, double round_seconds, double spread) {
    pl_trial trial = made_trial(m, 0.5, 1e-4, 500);
    trial.sample = sample;
    trial.round_seconds = round_seconds;
    trial.exchange = 0.1;
    trial.spread = spread;
    assert_int_equal(pl_trials_add(&plan->trials, &trial, NULL), PARLEY_OK);
}

static double predicted_round(pl_plan *plan, double workers) {
    pl_plan_row row;
    assert_int_equal(pl_plan_fit(plan, 1e6, NULL), PARLEY_OK);
    pl_plan_predict(plan, &plan->group[0], workers, &row);
    return row.round_seconds;
}

static void times_on_a_sample_tell_those_on_all_rows(void **state) {
    (void)state;
    pl_plan *plan = made_plan(2);
    add_trial(plan, 1, 0.1, 0.3, NAN); /* 0.2 seconds of computing on a tenth of the rows, and 0.1 of exchanging */
    assert_close(predicted_round(plan, 1), 2.1, 1e-6);
    assert_true(plan->scaled && !plan->compared);
    add_trial(plan, 2, 0.1, 0.2, NAN);
    add_trial(plan, 1, 1.0, 4.2, NAN); /* twice as long as the sample says: it was in a cache */
    assert_close(predicted_round(plan, 1), 4.2, 1e-6);
    assert_close(predicted_round(plan, 2), 2.2, 1e-6);
    assert_true(!plan->scaled && plan->compared);
    pl_plan_close(plan);
}

static double width_of(double spread, unsigned workers) {
    pl_plan *plan = made_plan(8);
    pl_plan_row row;
    add_trial(plan, 1, 1.0, 0.3, spread);
    assert_int_equal(pl_plan_fit(plan, 1e6, NULL), PARLEY_OK);
    pl_plan_predict(plan, &plan->group[0], workers, &row);
    pl_plan_close(plan);
    return 0.5 * log(row.high / row.low);
}

static void bands_grow_with_what_rounds_differ_by(void **state) {
    (void)state;
    double quiet = width_of(0.01, 1), busy = width_of(0.8, 1);
    assert_true(quiet > 0.24 && quiet < 0.3);
    assert_true(busy > 0.79 && busy < 0.85);
    assert_true(width_of(0.01, 8) > log(8.0)); /* one number of workers tells little about another one */
}

static void goals_are_distances_that_fall(void **state) {
    (void)state;
    pl_point_of_run point = {7, 0.02, false, 0.31, 0.9};
    pl_goal accuracy = {.kind = PL_GOAL_METRIC, .name = "accuracy", .larger = true, .target = 0.95};
    pl_goal loss = {.kind = PL_GOAL_METRIC, .name = "loss", .target = 0.3};
    pl_goal below = {.kind = PL_GOAL_SUBOPTIMALITY, .target = 0.015, .optimum = NAN, .doubt = NAN};
    assert_close(pl_goal_distance(&accuracy, &point), 0.1, 1e-12);
    assert_close(pl_goal_value(&accuracy, 0.1), 0.9, 1e-12);
    assert_close(exp(pl_goal_level(&accuracy)), 0.05, 1e-12);
    assert_close(pl_goal_distance(&loss, &point), 0.9, 1e-12);
    assert_true(isnan(pl_goal_distance(&below, &point)));
    pl_point_of_run points[] = {{1, 0.5, false, 0.6, NAN}, {7, 0.02, false, 0.31, 0.9}, {9, 0.002, false, 0.301, 0.96}};
    pl_trial trial = {.points = points, .count = 3, .sample = 1, .rounds = 9};
    pl_trials trials = {.list = &trial, .count = 1};
    pl_goal_learn(&below, &trials); /* the optimum is between 0.299 and 0.301 */
    assert_close(below.optimum, 0.3, 1e-12);
    assert_close(below.doubt, 0.001, 1e-12);
    assert_true(pl_goal_rounds(&below, &trial) == 7);
    assert_true(pl_goal_rounds(&accuracy, &trial) == 9);
    assert_true(isnan(pl_goal_rounds(&loss, &trial)));
    assert_int_equal(pl_goal_check(&loss, &trials, NULL), PARLEY_OK); /* it may still get there */
    trial.reached = true;
    assert_int_equal(pl_goal_check(&loss, &trials, NULL), PARLEY_BAD_USAGE);
}

static void experiments_survive_in_a_file(void **state) {
    (void)state;
    char path[] = "/tmp/parley-experiments-XXXXXX";
    pl_trials some = {0}, back = {0};
    pl_trial trial = made_trial(4, 0.3, 1e-4, 100);
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    trial.of.epochs = NAN;
    assert_int_equal(pl_trials_add(&some, &trial, NULL), PARLEY_OK);
    assert_int_equal(pl_trials_save(&some, path, "key", NULL), PARLEY_OK);
    assert_int_equal(pl_trials_load(&back, path, "other", NULL), PARLEY_OK);
    assert_int_equal(back.count, 0);
    assert_int_equal(pl_trials_load(&back, path, "key", NULL), PARLEY_OK);
    assert_int_equal(back.count, 1);
    assert_true(pl_same_configuration(&back.list[0].of, &trial.of));
    assert_int_equal(back.list[0].count, trial.count);
    assert_true(back.list[0].points[5].gap == trial.points[5].gap && back.list[0].reached);
    pl_trials_close(&back);
    FILE *damaged = fopen(path, "w");
    fputs("{\"format\":\"parley-experiments\",\"problems\":{\"key\":{\"trials\":[{},7,{\"points\":[1,[0,0]]}]}}}",
          damaged);
    fclose(damaged);
    assert_int_equal(pl_trials_load(&back, path, "key", NULL), PARLEY_OK);
    for (unsigned i = 0; i < back.count; i++)
        assert_int_equal(back.list[i].count, 0);
    pl_trials_close(&back);
    pl_trials_close(&some);
    remove(path);
}

static void a_forecast_sets_what_was_chosen(void **state) {
    (void)state;
    static parley_settings settings;
    pl_forecast forecast;
    parley_error error;
    json_t *plan = json_pack("{s:{s:s, s:i, s:f, s:f, s:f, s:f, s:f, s:[[f,f,f],[f,f,f]]}}", "choice", "preset",
                             "cocoa+", "workers", 4, "local_epochs", 0.25, "seconds", 2.0, "low", 1.0, "high", 3.0,
                             "rounds", 10.0, "curve", 1.0, 0.2, 0.1, 10.0, 2.0, 0.001);
    pl_settings_defaults(&settings);
    assert_int_equal(pl_forecast_take(&forecast, plan, "p.json", &settings, &error), PARLEY_OK);
    assert_string_equal(settings.preset, "cocoa+");
    assert_true(settings.workers == 4 && settings.local_epochs == 0.25);
    assert_close(pl_forecast_seconds(&forecast, 5.5), 1.1, 1e-12);
    assert_close(pl_forecast_gap(&forecast, 5.5), 0.01, 1e-12);
    pl_forecast_close(&forecast);
    pl_settings_clear(&settings);
    pl_settings_defaults(&settings);
    assert_int_equal(pl_setting_set(&settings, 0, "workers", "2", NULL), PARLEY_OK);
    assert_int_equal(pl_forecast_take(&forecast, plan, "p.json", &settings, &error), PARLEY_BAD_USAGE);
    pl_forecast_close(&forecast);
    pl_settings_clear(&settings);
    json_decref(plan);
}

/* Two methods: the first needs 100 short rounds, the second 10 rounds with as much to exchange and more to compute. */
static double slow_curve[] = {1, 1, 0.1, 100, 100, 1e-6}, quick_curve[] = {1, 1, 0.1, 10, 10, 1e-6};
static pl_forecast two_methods(void) {
    return (pl_forecast){.alternatives = 2,
                         .alternative = {{"cocoa", 1.0, 0, 0.001, 0.001, 2, slow_curve, 4, 1},
                                         {"lbfgs", NAN, 0.01, 0.1, 0.001, 2, quick_curve, 4, 1}}};
}

/* Twelve rounds of the first method, whose exchanges take `exchange` seconds. */
static pl_change judged(const pl_forecast *forecast, double exchange) {
    pl_adapt adapt;
    pl_adapt_open(&adapt, pl_forecast_find(forecast, "cocoa", 4));
    double gap = 0.1;
    for (unsigned i = 1; i <= 12; i++) {
        gap = 0.1 * exp(-0.1163 * (i - 1));
        pl_adapt_note(&adapt, 1.0, 0.001, exchange, i, gap);
    }
    return pl_adapt_judge(&adapt, forecast, gap, 1e-6);
}

static void a_preset_changes_only_if_that_saves_more_than_it_costs(void **state) {
    (void)state;
    pl_forecast forecast = two_methods();
    assert_null(judged(&forecast, 0.001).to);  /* as planned: 0.18 seconds are left, and the other takes 0.9 */
    pl_change change = judged(&forecast, 0.1); /* a network a hundred times as slow */
    assert_non_null(change.to);
    assert_string_equal(change.to->preset, "lbfgs");
    assert_true(change.left > change.predicted + change.cost);
    pl_adapt early;
    pl_adapt_open(&early, &forecast.alternative[0]);
    pl_adapt_note(&early, 1.0, 0.001, 0.1, 1, 0.1);
    assert_null(pl_adapt_judge(&early, &forecast, 0.1, 1e-6).to); /* one round is no evidence */
}

/* Eight workers need 100 rounds and two of them 30, which compute four times as long. */
static pl_forecast two_teams(void) {
    static double many_curve[] = {1, 1, 0.1, 100, 100, 1e-6}, few_curve[] = {1, 1, 0.1, 30, 30, 1e-6};
    return (pl_forecast){.alternatives = 2,
                         .workers = 8,
                         .alternative = {{"cocoa", 1.0, 0, 0.001, 0.001, 2, many_curve, 8, 1},
                                         {"cocoa", 1.0, 0.002, 0.004, 0.001, 2, few_curve, 2, 1}}};
}

/* Twelve rounds of eight workers, whose gap falls as `rounds` rounds to 1e-6 would have it. */
static pl_change judged_team(const pl_forecast *forecast, double exchange, double rounds, bool divided) {
    pl_adapt adapt;
    pl_adapt_open(&adapt, pl_forecast_find(forecast, "cocoa", 8));
    adapt.divided = divided;
    double gap = 0.1;
    for (unsigned i = 1; i <= 12; i++) {
        gap = 0.1 * exp(-log(1e5) / (rounds - 1) * (i - 1));
        pl_adapt_note(&adapt, 1.0, 0.001, exchange, i, gap);
    }
    return pl_adapt_judge(&adapt, forecast, gap, 1e-6);
}

static void workers_change_only_if_that_saves_more_than_it_costs(void **state) {
    (void)state;
    pl_forecast forecast = two_teams();
    assert_null(judged_team(&forecast, 0.001, 100, false).to); /* 0.176 seconds are left, and two would take 0.15 */
    pl_change change = judged_team(&forecast, 0.005, 100, false);
    assert_ptr_equal(change.to, &forecast.alternative[1]);
    assert_close(change.cost, 5 * 0.002 + 0.001 + 3 * 0.009, 1e-9); /* rows are sent over the slow network */
    assert_true(change.left > change.predicted + change.cost);
    assert_null(judged_team(&forecast, 0.005, 40, false).to);                   /* the run is quicker than its plan */
    assert_true(judged_team(&forecast, 0.005, 1000, false).left < 100 * 0.006); /* a lull does not count */
    assert_null(judged_team(&forecast, 0.005, 100, true).to);                   /* columns cannot be divided again */
    assert_null(pl_forecast_find(&forecast, "cocoa", 4));
    snprintf(forecast.alternative[1].preset, sizeof forecast.alternative[1].preset, "cocoa+");
    assert_non_null(judged_team(&forecast, 0.005, 100, false).to);
    assert_true(judged_team(&forecast, 0.005, 1000, false).left < 100 * 0.006); /* nor with another preset */
}

/* H = 1 needs 100 rounds and H = 4 needs 40, which compute eight times as long. */
static void a_slower_network_makes_rounds_longer(void **state) {
    (void)state;
    static double short_curve[] = {1, 1, 0.1, 100, 100, 1e-6}, long_curve[] = {1, 1, 0.1, 40, 40, 1e-6};
    pl_forecast forecast = {.alternatives = 2,
                            .alternative = {{"cocoa", 1.0, 0, 0.001, 0.001, 2, short_curve, 4, 1},
                                            {"cocoa", 4.0, 0, 0.008, 0.001, 2, long_curve, 4, 1}}};
    assert_true(pl_forecast_paces(&forecast, "cocoa", 4) && !pl_forecast_paces(&forecast, "lbfgs", 4));
    pl_adapt adapt;
    pl_adapt_open(&adapt, pl_forecast_find(&forecast, "cocoa", 4));
    for (unsigned i = 1; i <= 6; i++)
        pl_adapt_note(&adapt, 1.0, 0.001, 0.001, i, NAN);
    assert_null(pl_adapt_pace(&adapt, &forecast, 1e-2, 1e-6)); /* as planned */
    for (unsigned i = 7; i <= 9; i++)
        pl_adapt_note(&adapt, 1.0, 0.001, 0.005, i, NAN);
    assert_ptr_equal(pl_adapt_pace(&adapt, &forecast, 1e-2, 1e-6), &forecast.alternative[1]);
    assert_null(pl_adapt_pace(&adapt, &forecast, 1e-7, 1e-6)); /* it is there */
    pl_adapt_paced(&adapt, &forecast.alternative[1]);
    pl_adapt_note(&adapt, 4.0, 0.008, 0.001, 10, NAN);
    assert_null(pl_adapt_pace(&adapt, &forecast, 1e-2, 1e-6)); /* one round is no evidence */
    for (unsigned i = 11; i <= 14; i++)
        pl_adapt_note(&adapt, 4.0, 0.008, 0.001, i, NAN);
    assert_ptr_equal(pl_adapt_pace(&adapt, &forecast, 1e-2, 1e-6), &forecast.alternative[0]);
}

static void rounds_of_a_method_follow_its_curve(void **state) {
    (void)state;
    pl_forecast forecast = two_methods();
    assert_close(pl_alternative_rounds(&forecast.alternative[1], 1e-6), 10, 1e-6);
    assert_true(pl_alternative_rounds(&forecast.alternative[1], 0.5) == 0);
    assert_true(isinf(pl_alternative_rounds(&forecast.alternative[1], 1e-9)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(non_negative_least_squares_finds_known_coefficients),
        cmocka_unit_test(non_negative_least_squares_is_optimal),
        cmocka_unit_test(the_system_model_predicts_numbers_of_workers_that_were_left_out),
        cmocka_unit_test(the_design_soon_has_both_ends_and_repeats_nothing),
        cmocka_unit_test(rounds_are_predicted_for_workers_that_were_not_measured),
        cmocka_unit_test(a_curve_that_ended_early_goes_on_in_its_own_shape),
        cmocka_unit_test(a_curve_that_does_not_fall_is_not_continued),
        cmocka_unit_test(the_lasso_finds_a_rate_that_depends_on_the_workers),
        cmocka_unit_test(times_on_a_sample_tell_those_on_all_rows),
        cmocka_unit_test(bands_grow_with_what_rounds_differ_by),
        cmocka_unit_test(goals_are_distances_that_fall),
        cmocka_unit_test(experiments_survive_in_a_file),
        cmocka_unit_test(a_forecast_sets_what_was_chosen),
        cmocka_unit_test(a_preset_changes_only_if_that_saves_more_than_it_costs),
        cmocka_unit_test(workers_change_only_if_that_saves_more_than_it_costs),
        cmocka_unit_test(a_slower_network_makes_rounds_longer),
        cmocka_unit_test(rounds_of_a_method_follow_its_curve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
