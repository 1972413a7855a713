/* test_active.c: the active set of dual ascent. Rows that rest are not visited, and the result does not depend on it.
 */
#include <math.h>

#include "support.h"

static const sample_plan plan = {.seed = 11, .rows = 2000, .columns = 30, .density = 0.4};
static const sample_plan real_plan = {.seed = 12, .rows = 2000, .columns = 30, .density = 0.4, .real = true};

static parley_summary run(const parley_data *data, const char *words) {
    outcome found = train_once(data, words);
    parley_summary summary = found.summary[0];
    free_models(&found);
    return summary;
}

/* Few rows of so many are at the margin, so that most epochs visit few. */
static void most_epochs_visit_few_rows(void **state) {
    (void)state;
    parley_data *data = random_data(plan);
    parley_summary one = run(data, "preset=cocoa+ loss=hinge lambda=1e-4 gap=1e-6 rounds=20000 intercept=none");
    assert_int_equal(one.stop, PARLEY_CONVERGED);
    assert_true(one.rounds > 100);
    assert_at_most(one.epochs, 0.05 * (double)one.rounds); /* rests of at most 15 epochs would give 1/16 */
    parley_data_free(data);
}

/* Lanes would hinder each other on the few rows that stay active. */
static void one_lane_works_alone_on_few_rows(void **state) {
    (void)state;
    parley_data *data = random_data(plan);
    parley_summary one = run(data, "preset=cocoa+ loss=hinge lambda=1e-3 gap=1e-3 rounds=20000 intercept=none");
    parley_summary two = run(data, "preset=cocoa+ loss=hinge lambda=1e-3 gap=1e-3 rounds=20000 intercept=none lanes=2");
    assert_int_equal(one.rounds, two.rounds);
    assert_close(one.objective, two.objective, 1e-9);
    parley_data_free(data);
}

/* Newton's method has no active set. */
static void the_optimum_is_that_of_other_methods(void **state) {
    (void)state;
    static const char *const losses[] = {"loss=hinge", "loss=squared-hinge"};
    static const char *const real[] = {"loss=epsilon-insensitive epsilon=0.3", "loss=quantile quantile=0.3",
                                       "loss=huber huber_width=0.5"};
    static const char *const ways[] = {"",
                                       "workers=3",
                                       "workers=3 lanes=2",
                                       "intercept=free workers=2",
                                       "local_epochs=0.3",
                                       "local_epochs=3 workers=2"};
    for (unsigned l = 0; l < COUNT(losses) + COUNT(real); l++) {
        bool labels = l < COUNT(losses);
        parley_data *data = random_data(labels ? plan : real_plan);
        const char *loss = labels ? losses[l] : real[l - COUNT(losses)];
        for (unsigned w = 0; w < COUNT(ways); w += SOME) {
            char words[200];
            bool free = w == 3;
            snprintf(words, sizeof words, "preset=cocoa+ %s lambda=1e-2 gap=1e-7 rounds=20000 %s %s", loss, ways[w],
                     free ? "" : "intercept=none");
            parley_summary dual = run(data, words);
            snprintf(words, sizeof words, "preset=newton %s lambda=1e-2 gap=1e-9 %s", loss,
                     free ? "" : "intercept=none");
            parley_summary newton = run(data, words);
            assert_int_equal(dual.stop, PARLEY_CONVERGED);
            assert_close(dual.objective, newton.objective, 3e-7);
        }
        parley_data_free(data);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(most_epochs_visit_few_rows),
        cmocka_unit_test(one_lane_works_alone_on_few_rows),
        cmocka_unit_test(the_optimum_is_that_of_other_methods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
