/* test_step.c: the combine `step`: how a rate that was not given follows the objective. */
#include <math.h>

#include "method/combine.h"
#include "support.h"

/* The rate of round `round`, from the step along a gradient of 1. */
static double rate_of(pl_combine *combine, uint64_t round) {
    double v[1] = {0}, change[1] = {1}, direction[1];
    pl_slice slice = {.begin = 0, .end = 1, .v = v, .change = change, .direction = direction};
    parley_error error;
    assert_done(combine->type->propose(combine, &slice, round, &error), &error);
    return -direction[0];
}

static pl_combine *open_with(team_problem *problem, const parley_settings *settings) {
    pl_setup setup = {.problem = &problem->glm.base,
                      .team = &problem->team,
                      .settings = settings,
                      .entries = problem->data->x.columns,
                      .end = problem->data->x.columns};
    pl_combine *combine = NULL;
    parley_error error;
    assert_done(pl_combine_step.open(&setup, &combine, &error), &error);
    return combine;
}

static void noise_does_not_end_progress(void **state) {
    (void)state;
    static const char *const schedules[] = {"constant", "inverse", "inverse-sqrt"};
    for (unsigned i = 0; i < COUNT(schedules); i++) {
        char words[200];
        snprintf(words, sizeof words, "loss=logistic lambda=0.01 batch_fraction=0.1 schedule=%s", schedules[i]);
        parley_settings settings = settings_of(words);
        team_problem problem = open_problem_on(random_data(small), &settings);
        pl_combine *combine = open_with(&problem, &settings);
        double rate = rate_of(combine, 1);
        combine->type->adjust(combine, 0.0, 1.0);
        assert_true(rate_of(combine, 1) == 2 * rate); /* a fall */
        rate *= 2;
        combine->type->adjust(combine, 0.0, 1.0001);
        rate *= i == 0 ? 0.5 : 1.0; /* a rise that noise explains */
        assert_true(rate_of(combine, 1) == rate);
        combine->type->adjust(combine, 0.0, 1.002);
        rate *= 0.5; /* and one that means that the rate is too large */
        assert_true(rate_of(combine, 1) == rate);
        combine->type->adjust(combine, 0.0, 1.0016);
        rate *= i == 0 ? 1.2 : 1.0; /* noise falls as often as it rises */
        assert_close(rate_of(combine, 1), rate, 1e-12);
        combine->type->adjust(combine, 0.0, 0.99);
        assert_close(rate_of(combine, 1), 1.2 * rate, 1e-12);
        combine->type->close(combine);
        close_problem(&problem);
    }
}

/* A rate that was given follows its schedule, whatever the objective does. */
static void given_rates_follow_the_schedule(void **state) {
    (void)state;
    parley_settings settings = settings_of("loss=logistic lambda=0.01 schedule=inverse-sqrt rate=0.5");
    team_problem problem = open_problem_on(random_data(small), &settings);
    pl_combine *combine = open_with(&problem, &settings);
    combine->type->adjust(combine, 0.0, 1.0);
    combine->type->adjust(combine, 0.0, 2.0);
    for (uint64_t round = 1; round < 100; round++)
        assert_close(rate_of(combine, round), 0.5 / sqrt((double)round), 1e-12);
    combine->type->close(combine);
    close_problem(&problem);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise_does_not_end_progress),
        cmocka_unit_test(given_rates_follow_the_schedule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
