/* test_pacing.c: H for known costs and gains: it finds the optimum, and noise does not make it oscillate. */
#include "train/pacing.h"

#include <math.h>

#include "base/random.h"
#include "support.h"

/* Rounds that cost a H + b seconds and reduce the logarithm of the gap by most (1 - exp(-H / reach)). */
typedef struct world {
    double epoch, round, most, reach;
    double noise; /* relative, of gap and seconds */
    double log_gap, spent;
    pl_stream random;
} world;

static double fall(const world *world, double epochs) { return world->most * (1 - exp(-epochs / world->reach)); }

static double rate(const world *world, double epochs) {
    return fall(world, epochs) / (world->epoch * epochs + world->round);
}

static double best_rate(const world *world) {
    double best = 0;
    for (double epochs = 1e-3; epochs < 128; epochs *= 1.01)
        best = fmax(best, rate(world, epochs));
    return best;
}

/* One round; returns H. */
static double play(world *world, pl_pacing *pacing) {
    double epochs = pacing->epochs;
    double hiccup = pl_random_unit(&world->random) < 0.1 ? 1 + 10 * world->noise : 1; /* another program ran */
    double slower = hiccup * (1 + world->noise * pl_random_unit(&world->random));
    world->log_gap -= fall(world, epochs);
    world->spent += world->epoch * epochs + world->round;
    double seen = world->log_gap + world->noise * (pl_random_unit(&world->random) - 0.5);
    pl_pacing_note(pacing, slower * (world->epoch * epochs + 0.2 * world->round), 0.8 * slower * world->round,
                   exp(seen));
    return epochs;
}

static world world_of(double round, double reach, double noise) {
    world world = {.epoch = 1, .round = round, .most = 0.1, .reach = reach, .noise = noise};
    world.random = pl_stream_make(1, 2, 3);
    return world;
}

static void the_model_s_best_is_the_best(void **state) {
    (void)state;
    for (double round = 1e-3; round < 1e3; round *= 3)
        for (double reach = 0.1; reach < 10; reach *= 3) {
            world world = world_of(round, reach, 0);
            assert_at_most(best_rate(&world), 1.001 * rate(&world, pl_pacing_best(1, round, reach)));
        }
}

static void it_comes_near_the_best_for_any_costs_and_gains(void **state) {
    (void)state;
    for (double round = 0.01; round < 200; round *= 10)
        for (double reach = 0.2; reach < 4; reach *= 2) {
            world world = world_of(round, reach, 0.05);
            pl_pacing pacing;
            pl_pacing_open(&pacing, 8, 1e-4);
            for (unsigned r = 0; r < 1000; r++)
                play(&world, &pacing);
            assert_at_most(0.85 * best_rate(&world), -world.log_gap / world.spent); /* including learning */
            assert_at_most(0.85 * best_rate(&world), rate(&world, pacing.base));
        }
}

static void it_follows_costs_that_change(void **state) {
    (void)state;
    world world = world_of(0.02, 0.8, 0.02);
    pl_pacing pacing;
    pl_pacing_open(&pacing, 8, 1e-4);
    for (unsigned r = 0; r < 400; r++)
        play(&world, &pacing);
    double cheap = pacing.base;
    world.round = 20;
    for (unsigned r = 0; r < 400; r++)
        play(&world, &pacing);
    assert_at_most(5 * cheap, pacing.base);
    assert_at_most(0.85 * best_rate(&world), rate(&world, pacing.base));
}

static void noise_does_not_make_it_flap(void **state) {
    (void)state;
    world world = world_of(0.5, 0.8, 0.3);
    pl_pacing pacing;
    pl_pacing_open(&pacing, 8, 1e-4);
    unsigned moves = 0;
    double base = pacing.base;
    for (unsigned r = 0; r < 2000; r++) {
        play(&world, &pacing);
        moves += r >= 100 && pacing.base != base;
        base = pacing.base;
    }
    assert_at_most(moves, 10);
    assert_at_most(0.8 * best_rate(&world), -world.log_gap / world.spent);
}

static void predictions_come_true(void **state) {
    (void)state;
    world world = world_of(1, 0.8, 0);
    pl_pacing pacing;
    pl_pacing_open(&pacing, 8, 1e-4);
    for (unsigned r = 0; r < 200; r++)
        play(&world, &pacing);
    assert_close(pacing.epoch_seconds, 1, 1e-6);
    assert_close(pacing.round_seconds, 1, 1e-6);
    assert_at_most(fabs(log(pacing.fall / fall(&world, pacing.epochs))), 0.3);
}

static void h_stays_in_its_bounds(void **state) {
    (void)state;
    const double rounds[] = {1e-9, 1e9};
    for (unsigned i = 0; i < 2; i++) {
        world world = world_of(rounds[i], 0.8, 0);
        pl_pacing pacing;
        pl_pacing_open(&pacing, 8, 0.25);
        for (unsigned r = 0; r < 500; r++) {
            double epochs = play(&world, &pacing);
            assert_true(epochs >= 0.25 && epochs <= 128);
        }
    }
}

static void gaps_that_are_seldom_known_or_never_are_no_trouble(void **state) {
    (void)state;
    for (unsigned every = 10; every < 2000; every += 1000) {
        pl_pacing pacing;
        pl_pacing_open(&pacing, 8, 1e-4);
        for (unsigned r = 1; r < 1000; r++) {
            pl_pacing_note(&pacing, pacing.epochs, 1, r % every ? NAN : exp(-0.1 * r));
            assert_true(pacing.epochs > 0 && pacing.epochs <= 128);
        }
    }
}

static void one_worker_keeps_h_at_one(void **state) {
    (void)state;
    world world = world_of(10, 0.8, 0);
    pl_pacing pacing;
    pl_pacing_open(&pacing, 1, 1e-4);
    for (unsigned r = 0; r < 100; r++)
        assert_true(play(&world, &pacing) == 1.0);
    assert_string_equal(pacing.why, "alone");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_model_s_best_is_the_best),
        cmocka_unit_test(it_comes_near_the_best_for_any_costs_and_gains),
        cmocka_unit_test(it_follows_costs_that_change),
        cmocka_unit_test(noise_does_not_make_it_flap),
        cmocka_unit_test(predictions_come_true),
        cmocka_unit_test(h_stays_in_its_bounds),
        cmocka_unit_test(gaps_that_are_seldom_known_or_never_are_no_trouble),
        cmocka_unit_test(one_worker_keeps_h_at_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
