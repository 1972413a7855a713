/* Tests of spans, on a clock that only moves when it is told to. */
#include "trace/spans.h"

#include <math.h>

#include "support.h"

typedef struct virtual_clock {
    double now, cpu;
} virtual_clock;

static double now_of(void *clock) { return ((virtual_clock *)clock)->now; }
static double cpu_of(void *clock) { return ((virtual_clock *)clock)->cpu; }

/* Both clocks advance; `busy` is the part in which a processor works. */
static void pass(virtual_clock *clock, double seconds, double busy) {
    clock->now += seconds;
    clock->cpu += busy;
}

static void phase(pl_spans *spans, virtual_clock *clock, pl_phase phase, double seconds, double busy) {
    pl_phase_begin(spans, phase);
    pass(clock, seconds, busy);
    pl_phase_end(spans);
}

static pl_spans open_spans(virtual_clock *clock, const double *elsewhere, unsigned hosted) {
    pl_spans spans;
    parley_error error = {0};
    assert_done(pl_spans_open(&spans, (pl_span_clock){now_of, cpu_of, clock}, elsewhere, hosted, &error), &error);
    return spans;
}

static void a_phase_inside_another_one_interrupts_it(void **state) {
    (void)state;
    virtual_clock clock = {100, 7};
    double elsewhere = 0;
    pl_spans spans = open_spans(&clock, &elsewhere, 1);
    pl_spans_begin_round(&spans);
    pl_phase_begin(&spans, PL_IN_EXCHANGE);
    pass(&clock, 1, 1);
    pl_phase_begin(&spans, PL_IN_MASTER);
    pass(&clock, 2, 1.5);
    phase(&spans, &clock, PL_IN_PROBE, 4, 4);
    pass(&clock, 8, 0.5);
    pl_phase_end(&spans);
    pass(&clock, 16, 16);
    pl_phase_end(&spans);
    assert_true(spans.seconds[PL_IN_EXCHANGE] == 17 && spans.seconds[PL_IN_MASTER] == 10 &&
                spans.seconds[PL_IN_PROBE] == 4);
    assert_true(spans.cpu[PL_IN_MASTER] == 2 && spans.depth == 0);
    pl_spans_close(&spans);
}

static void the_parts_of_a_round_add_up_to_it(void **state) {
    (void)state;
    virtual_clock clock = {0, 0};
    double elsewhere = 0;
    pl_spans spans = open_spans(&clock, &elsewhere, 2);
    pl_spans_begin_round(&spans);
    phase(&spans, &clock, PL_IN_WORK, 10, 14);
    pl_spans_evaluated(&spans, 2);      /* of the work: an evaluation */
    pl_spans_worked(&spans, 0, 6, 1.5); /* of which 1.5 whatever H is */
    pl_spans_worked(&spans, 1, 99, 0);  /* cannot be longer than the phase */
    phase(&spans, &clock, PL_IN_OFFER, 0.5, 0.5);
    phase(&spans, &clock, PL_IN_BARRIER, 3, 0);
    phase(&spans, &clock, PL_IN_EXCHANGE, 4, 1);
    phase(&spans, &clock, PL_IN_PROBE, 1, 1);
    phase(&spans, &clock, PL_IN_EVALUATION, 5, 9);
    pl_round_times times = pl_spans_end_round(&spans, 9.0); /* another rank's worker took 9 seconds */
    assert_close(times.compute + times.wait + times.exchange + times.evaluate, clock.now, 1e-12);
    assert_true(times.compute == 10 && times.wait == 2 && times.exchange == 4.5 && times.evaluate == 7);
    assert_true(spans.slowest == 8);
    for (unsigned k = 0; k < 2; k++) {
        const pl_worker_trace *worker = &spans.worker[k];
        assert_close(worker->compute + worker->wait + worker->exchange + worker->evaluate, clock.now, 1e-12);
        assert_true(worker->compute == (k ? 9 : 7));
    }
    const pl_rank_trace *rank = &spans.rank;
    assert_true(rank->local == 9 && rank->cpu == 13 && rank->wait == 3 && rank->evaluate_cpu == 11);
    /* For pacing: of 14 computed seconds 1.5 are fixed, and so is this part of the 11 until all were done. */
    assert_close(times.local, 11 - 11 * 1.5 / 14, 1e-12);
    assert_close(times.local + times.rest + times.evaluate, clock.now, 1e-12);
    pl_spans_close(&spans);
}

static void time_between_rounds_counts_for_pacing_alone(void **state) {
    (void)state;
    virtual_clock clock = {50, 0};
    double elsewhere = 0;
    pl_spans spans = open_spans(&clock, &elsewhere, 1);
    for (unsigned round = 1; round <= 2; round++) {
        pass(&clock, 3, 0); /* before the first round it is setting up */
        pl_spans_begin_round(&spans);
        phase(&spans, &clock, PL_IN_WORK, 1, 1);
        pl_spans_worked(&spans, 0, 1, 0);
        pl_round_times times = pl_spans_end_round(&spans, spans.slowest);
        assert_true(times.exchange == 0 && times.rest == (round == 1 ? 0 : 3));
    }
    pl_spans_close(&spans);
}

static void processor_time_that_the_engine_counts_is_counted_once(void **state) {
    (void)state;
    virtual_clock clock = {0, 0};
    double elsewhere = 0;
    pl_spans spans = open_spans(&clock, &elsewhere, 1);
    pl_spans_begin_round(&spans);
    pl_phase_begin(&spans, PL_IN_MASTER);
    pass(&clock, 5, 5);
    elsewhere += 2; /* of the five, in a collective */
    pl_phase_end(&spans);
    pl_spans_end_round(&spans, 0);
    assert_true(spans.rank.master_cpu == 5);
    pl_spans_close(&spans);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_phase_inside_another_one_interrupts_it),
        cmocka_unit_test(the_parts_of_a_round_add_up_to_it),
        cmocka_unit_test(time_between_rounds_counts_for_pacing_alone),
        cmocka_unit_test(processor_time_that_the_engine_counts_is_counted_once),
    };
    return cmocka_run_group_tests_name("spans", tests, NULL, NULL);
}
