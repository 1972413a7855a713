/* test_sim.c: the engine `sim`: the network's formulas, the order of messages, deadlines on the virtual clock, the bits
 * of real engines, and runs that repeat exactly, asynchronous ones included. */
#define _DEFAULT_SOURCE /* mkstemp */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "engine/collective.h"
#include "engine/network.h"
#include "support.h"

#undef fail /* cmocka's macro: engines have a member of this name */

static void messages_take_latency_and_bandwidth(void **state) {
    (void)state;
    pl_network network = {.latency = 0.5, .bandwidth = 100.0, .duplex = {0.5, 0.5, 0.5, 0.5, 0.5}};
    pl_link a = {0}, b = {0}, c = {0};
    assert_close(pl_network_send(&network, &a, &b, 200.0, 1.0), 1.0 + 0.5 + 2.0, 1e-15);
    assert_close(pl_network_send(&network, &a, &b, 100.0, 1.0), 3.0 + 0.5 + 1.0, 1e-15); /* after the first */
    assert_close(pl_network_send(&network, &c, &b, 100.0, 1.0), 4.5 + 1.0, 1e-15);       /* waits at the receiver */
    assert_close(pl_network_send(&network, &b, &a, 100.0, 1.0), 1.0 + 0.5 + 2.0, 1e-15); /* it receives as well */
}

static void rates_and_durations_have_units(void **state) {
    (void)state;
    assert_close(pl_rate_of("1Gbit"), 125e6, 1e-15);
    assert_close(pl_rate_of("2.5Mbit"), 312500.0, 1e-15);
    assert_close(pl_duration_of("50us"), 50e-6, 1e-15);
    assert_close(pl_duration_of("0.2ms"), 2e-4, 1e-15);
    static const char *const wrong[] = {"", "1", "Gbit", "-1Gbit", "1Gbit ", "1GB", "nanMbit", "infMbit"};
    for (unsigned i = 0; i < COUNT(wrong); i++)
        assert_true(isnan(pl_rate_of(wrong[i])));
    assert_true(isnan(pl_duration_of("5")) && isnan(pl_duration_of("us")) && isnan(pl_duration_of("1h")));
}

/* What a link lets pass at once is missing until it has been idle again. */
static void a_burst_passes_at_once(void **state) {
    (void)state;
    pl_network network = {.latency = 0.5, .bandwidth = 100, .burst = 50, .duplex = {1, 1, 1, 1, 1}};
    pl_link a = {0}, b = {0};
    assert_close(pl_network_send(&network, &a, &b, 30, 10), 10.5, 1e-12);
    assert_close(pl_network_send(&network, &a, &b, 120, 10), 11.5, 1e-12);
    assert_close(pl_network_send(&network, &a, &b, 100, 11), 12.5, 1e-12);
    assert_close(pl_network_send(&network, &a, &b, 150, 20), 21.5, 1e-12);
}

/* A wait spins, then sleeps in naps that grow, each of which ends late. */
static void a_nap_delays_what_arrives_in_it(void **state) {
    (void)state;
    pl_network network = {.wake = 6e-5};
    double naps = PL_EAGER_SECONDS, nap = PL_LEAST_NAP;
    assert_true(pl_network_noticed(&network, 1e-4) == 1e-4);
    for (unsigned i = 0; i < 100; i++) {
        double next = naps + nap + network.wake;
        assert_close(pl_network_noticed(&network, naps + 1e-6), next, 1e-12);
        assert_close(pl_network_noticed(&network, next - 1e-6), next, 1e-12);
        naps = next;
        nap = fmin(PL_MOST_NAP, nap * PL_NAP_GROWTH);
    }
    assert_true(pl_network_noticed(&(pl_network){0}, 1.0) == 1.0);
}

/* Runs a body on simulated hosts; the status is that of the launch. */
static parley_status simulate(const char *words, pl_body body, void *context, parley_error *error) {
    char all[500];
    snprintf(all, sizeof all, "engine=sim compute=modelled %s", words);
    parley_settings settings = settings_of(all);
    return pl_launch(&settings, (pl_job){body, NULL, context}, error);
}

/* Host 0 takes what the others send at times of their own. */
typedef struct letters {
    unsigned from[8];
    double came[8], sent[8];
} letters;

static parley_status letter_body(pl_engine *engine, void *context, parley_error *error) {
    letters *letters = context;
    pl_span room = {0};
    uint64_t bytes;
    parley_status status = PARLEY_OK;
    if (engine->rank > 0) {
        pl_engine_spend(engine, 0.1 * (double)(engine->ranks - engine->rank)); /* the last one is first */
        letters->sent[engine->rank] = pl_engine_now(engine);
        return engine->type->post(engine, 0, 77, "12345678", 8, error);
    }
    for (unsigned i = 1; i < engine->ranks && status == PARLEY_OK; i++) {
        status = engine->type->take_any(engine, 77, &letters->from[i], &room, &bytes, error);
        letters->came[i] = pl_engine_now(engine);
    }
    pl_span_free(&room);
    return status;
}

static void messages_come_in_the_order_of_the_virtual_clock(void **state) {
    (void)state;
    letters letters;
    parley_error error = {0};
    double real = pl_now();
    assert_done(simulate("hosts=8 latency=10ms network=100Mbit", letter_body, &letters, &error), &error);
    for (unsigned i = 1; i < 8; i++) {
        assert_int_equal(letters.from[i], 8 - i);
        assert_true(letters.came[i] > letters.sent[8 - i] + 0.01 && letters.came[i] < letters.sent[8 - i] + 0.0101);
    }
    assert_true(pl_now() - real < 30); /* the clock is not the machine's */
}

static parley_status silent_body(pl_engine *engine, void *context, parley_error *error) {
    char letter;
    (void)context;
    return engine->rank == 0 ? engine->type->take(engine, 1, 77, &letter, 1, error) : PARLEY_OK;
}

static void nobody_waits_for_ever(void **state) {
    (void)state;
    parley_error error = {0};
    double began = pl_now();
    assert_int_equal(simulate("hosts=3 deadline=1000", silent_body, NULL, &error), PARLEY_NO_PEER);
    assert_string_equal(error.sentence, "rank 1 sent nothing for 1000 seconds");
    assert_true(pl_now() - began < 100);
}

static parley_status failing_body(pl_engine *engine, void *context, parley_error *error) {
    (void)context;
    if (engine->rank == 2)
        return pl_fail(error, PARLEY_BAD_INPUT, "host 2 has failed");
    return pl_barrier(engine, error);
}

static void a_failure_ends_all_hosts(void **state) {
    (void)state;
    parley_error error = {0};
    assert_int_equal(simulate("hosts=5", failing_body, NULL, &error), PARLEY_BAD_INPUT);
    assert_string_equal(error.sentence, "host 2 has failed");
}

/* A run on simulated hosts. */
typedef struct sim_run {
    const parley_data *data;
    const parley_settings *settings;
    parley_model *model;
    parley_summary summary;
    double seconds;
} sim_run;

static parley_status train_body(pl_engine *engine, void *context, parley_error *error) {
    sim_run *run = context;
    parley_model *model;
    parley_summary summary;
    parley_status status = pl_train_rank(engine, run->data, run->settings, NULL, NULL, &model, &summary, error);
    if (engine->rank > 0 || status != PARLEY_OK) {
        if (status == PARLEY_OK)
            parley_model_free(model);
        return status;
    }
    run->model = model;
    run->summary = summary;
    run->seconds = pl_engine_now(engine);
    return status;
}

static sim_run train_simulated(const parley_data *data, const char *words) {
    char all[500];
    snprintf(all, sizeof all, "engine=sim loss=logistic gap=0 %s", words);
    parley_settings settings = settings_of(all);
    sim_run run = {.data = data, .settings = &settings};
    parley_error error = {0};
    assert_done(pl_launch(&settings, (pl_job){train_body, NULL, &run}, &error), &error);
    run.settings = NULL;
    return run;
}

static void synchronous_methods_have_the_bits_of_real_engines(void **state) {
    (void)state;
    static const char *const presets[] = {"cocoa+", "ma-sgd", "mllib-sgd", "lbfgs", "ps-sync"};
    parley_data *data = random_data(wide);
    for (unsigned i = 0; i < COUNT(presets); i++)
        for (unsigned modelled = 0; modelled < 2; modelled++) {
            char words[200];
            snprintf(words, sizeof words, "loss=logistic gap=0 preset=%s workers=6 rounds=4", presets[i]);
            outcome real = train_once(data, words);
            snprintf(words, sizeof words, "preset=%s workers=6 rounds=4 hosts=4 compute=%s", presets[i],
                     modelled ? "modelled" : "measured");
            sim_run run = train_simulated(data, words);
            assert_memory_equal(pl_linear(run.model)->coef, pl_linear(real.model[0])->coef,
                                data->x.columns * sizeof(double));
            assert_true(run.summary.is_virtual && run.seconds > 0);
            parley_model_free(run.model);
            free_models(&real);
        }
    parley_data_free(data);
}

static void modelled_runs_repeat_exactly(void **state) {
    (void)state;
    static const char *const presets[] = {"petuum", "petuum*", "ps-async", "ps-backup", "hogwild-peer", "cocoa+"};
    parley_data *data = random_data(wide);
    for (unsigned i = 0; i < COUNT(presets); i += SOME) {
        char words[200];
        snprintf(words, sizeof words,
                 "preset=%s workers=8 rounds=3 hosts=4 compute=modelled straggler=0.1:5 host_speed=1,2,0.5%s",
                 presets[i], presets[i][0] == 'p' ? " servers=1" : "");
        sim_run a = train_simulated(data, words), b = train_simulated(data, words);
        assert_memory_equal(pl_linear(a.model)->coef, pl_linear(b.model)->coef, data->x.columns * sizeof(double));
        assert_true(a.seconds == b.seconds && a.summary.wait_seconds == b.summary.wait_seconds);
        assert_true(a.summary.repeatable);
        parley_model_free(a.model);
        parley_model_free(b.model);
    }
    parley_data_free(data);
}

/* Looks take virtual time and happen at virtual times, so that they repeat, and end the run in the same clock. */
static void looks_of_a_coordinator_repeat(void **state) {
    (void)state;
    parley_data *data = random_data((sample_plan){.seed = 9, .rows = 400, .columns = 300, .density = 0.1});
    for (unsigned every = 0; every < 2; every++) {
        char words[300];
        snprintf(words, sizeof words,
                 "loss=logistic lambda=1e-9 preset=hogwild-peer workers=8 hosts=4 compute=modelled clocks=1000 "
                 "rounds=2 schedule=constant rate=0.05 validation_fraction=0.2 metric=loss patience=15%s",
                 every ? " view_every=3" : "");
        sim_run a = train_simulated(data, words), b = train_simulated(data, words);
        assert_int_equal(a.summary.stop, PARLEY_PATIENCE);
        assert_int_equal(a.summary.rounds, 1);
        assert_true(a.seconds == b.seconds && a.summary.epochs == b.summary.epochs);
        assert_true(a.summary.validation == b.summary.validation && a.summary.epochs < 100);
        parley_model_free(a.model);
        parley_model_free(b.model);
    }
    parley_data_free(data);
}

static parley_status compute_body(pl_engine *engine, void *context, parley_error *error) {
    double *ended = context;
    (void)error;
    pl_engine_compute(engine, 1.0);
    ended[engine->rank] = pl_engine_now(engine);
    return PARLEY_OK;
}

/* Four hosts that compute for a second, with a core each and on two cores. */
static void hosts_share_cores(void **state) {
    (void)state;
    parley_error error = {0};
    for (unsigned shared = 0; shared < 2; shared++) {
        double ended[4], last = 0, sum = 0;
        assert_done(simulate(shared ? "hosts=4 shared_cores=2" : "hosts=4", compute_body, ended, &error), &error);
        for (unsigned r = 0; r < 4; r++) {
            last = fmax(last, ended[r]);
            sum += ended[r];
        }
        assert_close(last, shared ? 2.0 : 1.0, 1e-12);
        assert_close(sum, shared ? 6.0 : 4.0, 1e-12);
    }
}

/* The same as parley probe would measure it: four hosts on two cores, and two whose cores slow each other down. A
 * cluster of another size has cores of its own. */
static void hosts_share_what_was_measured(void **state) {
    (void)state;
    static const struct {
        unsigned ranks, hosts;
        double together, last;
    } cases[] = {{4, 4, 2.0, 2.0}, {4, 4, 2.2, 2.2}, {2, 2, 1.25, 1.25}, {4, 4, 1.0, 1.0}, {4, 3, 2.0, 1.0}};
    parley_error error = {0};
    for (unsigned i = 0; i < COUNT(cases); i++) {
        char path[] = "/tmp/parley-network-XXXXXX", words[200];
        double ended[4], last = 0;
        FILE *file = fdopen(mkstemp(path), "w");
        assert_non_null(file);
        fprintf(file,
                "{\"latency\":1e-5,\"bandwidth\":1e8,\"message\":0,\"duplex\":[1,1,1,1,1],\"nonzero\":1e-9,"
                "\"entry\":1e-9,\"together\":%g,\"ranks\":%u}",
                cases[i].together, cases[i].ranks);
        fclose(file);
        snprintf(words, sizeof words, "hosts=%u network=%s", cases[i].hosts, path);
        assert_done(simulate(words, compute_body, ended, &error), &error);
        for (unsigned r = 0; r < cases[i].hosts; r++)
            last = fmax(last, ended[r]);
        assert_true(last >= 0.9 * cases[i].last && last <= cases[i].last * (1 + 1e-9));
        assert_int_equal(remove(path), 0);
    }
}

/* A slower network makes rounds longer by what its formulas say, and nothing else changes. */
static void bandwidth_counts(void **state) {
    (void)state;
    parley_data *data = random_data((sample_plan){.seed = 3, .rows = 200, .columns = 40000, .density = 0.01});
    double seconds[2];
    for (unsigned slow = 0; slow < 2; slow++) {
        char words[200];
        snprintf(words, sizeof words,
                 "preset=mllib-sgd workers=2 hosts=2 rounds=20 compute=modelled latency=1us network=%s",
                 slow ? "10Mbit" : "1Gbit");
        sim_run run = train_simulated(data, words);
        seconds[slow] = run.summary.exchange_seconds + run.summary.wait_seconds;
        parley_model_free(run.model);
    }
    assert_true(seconds[1] > 20 * seconds[0]);
    parley_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_take_latency_and_bandwidth),
        cmocka_unit_test(a_burst_passes_at_once),
        cmocka_unit_test(a_nap_delays_what_arrives_in_it),
        cmocka_unit_test(rates_and_durations_have_units),
        cmocka_unit_test(messages_come_in_the_order_of_the_virtual_clock),
        cmocka_unit_test(nobody_waits_for_ever),
        cmocka_unit_test(a_failure_ends_all_hosts),
        cmocka_unit_test(synchronous_methods_have_the_bits_of_real_engines),
        cmocka_unit_test(modelled_runs_repeat_exactly),
        cmocka_unit_test(looks_of_a_coordinator_repeat),
        cmocka_unit_test(hosts_share_cores),
        cmocka_unit_test(hosts_share_what_was_measured),
        cmocka_unit_test(bandwidth_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
