/* test_spans.c: phases by a clock that the test sets: they add up to the round, and no second is counted twice. */
#include <math.h>

#include "support.h"
#include "trace/spans.h"

typedef struct hands {
    double now, cpu, adding;
} hands;

static double now(void *of) { return ((hands *)of)->now; }
static double cpu(void *of) { return ((hands *)of)->cpu; }

/* So much time passes, and a processor computes for all of it. */
static void pass(hands *hands, double seconds) {
    hands->now += seconds;
    hands->cpu += seconds;
}

static pl_spans spans_of(hands *hands, unsigned workers) {
    pl_spans spans;
    parley_error error;
    *hands = (struct hands){.now = 100, .cpu = 50};
    assert_done(pl_spans_open(&spans, (pl_span_clock){now, cpu, hands}, &hands->adding, workers, &error), &error);
    return spans;
}

static void spend(pl_spans *spans, hands *hands, pl_phase phase, double seconds) {
    pl_phase_begin(spans, phase);
    pass(hands, seconds);
    pl_phase_end(spans);
}

static void phases_add_up_to_the_round(void **state) {
    (void)state;
    hands hands;
    pl_spans spans = spans_of(&hands, 2);
    pl_spans_begin_round(&spans);
    spend(&spans, &hands, PL_IN_WORK, 7);
    pl_spans_worked(&spans, 0, 3, 0.7);
    pl_spans_worked(&spans, 1, 4, 0);
    spend(&spans, &hands, PL_IN_OFFER, 0.5);
    spend(&spans, &hands, PL_IN_BARRIER, 2);
    pl_phase_begin(&spans, PL_IN_EXCHANGE);
    pass(&hands, 0.25);
    spend(&spans, &hands, PL_IN_MASTER, 0.125);
    spend(&spans, &hands, PL_IN_PROBE, 16);
    pass(&hands, 0.0625);
    pl_phase_end(&spans);
    spend(&spans, &hands, PL_IN_EVALUATION, 32);
    pl_round_times times = pl_spans_end_round(&spans, 6);
    assert_true(times.compute == 6 + 16 && times.wait == 9 - 6 && times.evaluate == 32);
    assert_true(times.exchange == 0.5 + 0.25 + 0.125 + 0.0625);
    assert_true(times.compute + times.wait + times.exchange + times.evaluate == hands.now - 100);
    assert_close(times.local, 9 * 0.9, 1e-12);
    assert_close(times.local + times.rest + times.evaluate, hands.now - 100, 1e-12);
    assert_true(spans.worker[0].compute == 3 + 16 && spans.worker[0].wait == 6 && spans.worker[1].wait == 5);
    assert_true(spans.rank.local == 7 + 16 && spans.rank.cpu == 7 + 16 && spans.rank.wait == 5);
    assert_true(spans.rank.master_cpu == 0.125 && spans.rank.evaluate_cpu == 32);
    pl_spans_close(&spans);
}

/* The engine counts additions itself, in whatever phase they happen. */
static void additions_are_counted_once(void **state) {
    (void)state;
    hands hands;
    pl_spans spans = spans_of(&hands, 1);
    const pl_phase phases[] = {PL_IN_EXCHANGE, PL_IN_MASTER, PL_IN_EVALUATION};
    pl_spans_begin_round(&spans);
    for (unsigned i = 0; i < 3; i++) {
        pl_phase_begin(&spans, phases[i]);
        pass(&hands, 3);
        hands.adding += 1;
        pl_phase_end(&spans);
    }
    pl_spans_end_round(&spans, 0);
    assert_true(spans.rank.master_cpu == 1 + 3); /* of the exchange only the additions, of the master all */
    assert_true(spans.rank.evaluate_cpu == 3);
    pl_spans_close(&spans);
}

/* Two workers and a server: 8 seconds of a processor, of which the workers computed 5. */
static void servers_do_not_compute(void **state) {
    (void)state;
    hands hands;
    pl_spans spans = spans_of(&hands, 2);
    pl_spans_begin_round(&spans);
    spend(&spans, &hands, PL_IN_WORK, 8);
    pl_spans_worked(&spans, 0, 3, 0);
    pl_spans_worked(&spans, 1, 2, 0);
    pl_spans_served(&spans);
    pl_spans_end_round(&spans, 3);
    assert_true(spans.rank.cpu == 5 && spans.rank.master_cpu == 3 && spans.rank.local == 8);
    pl_spans_close(&spans);
}

static void time_between_rounds_counts_unless_members_change(void **state) {
    (void)state;
    hands hands;
    pl_spans spans = spans_of(&hands, 1);
    const double between[] = {0, 2, 0};
    for (unsigned i = 0; i < 3; i++) {
        pass(&hands, 2);
        if (i == 2)
            pl_spans_interrupt(&spans);
        pl_spans_begin_round(&spans);
        spend(&spans, &hands, PL_IN_EXCHANGE, 1);
        assert_true(pl_spans_end_round(&spans, 0).rest == 1 + between[i]);
    }
    pl_spans_close(&spans);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases_add_up_to_the_round),
        cmocka_unit_test(additions_are_counted_once),
        cmocka_unit_test(servers_do_not_compute),
        cmocka_unit_test(time_between_rounds_counts_unless_members_change),
    };
    return cmocka_run_group_tests_name("spans", tests, NULL, NULL);
}
