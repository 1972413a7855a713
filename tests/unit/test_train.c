/* test_train.c: whole runs: the same bits for any ranks and threads, ways to stop, and failed allocations. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "support.h"
#include "train/presets.h"
#include "train/train.h"

static void assert_same_model(const parley_model *a, const parley_model *b) {
    assert_int_equal(a->columns, b->columns);
    assert_memory_equal(parley_model_coef(a), parley_model_coef(b), a->columns * sizeof(double));
    assert_memory_equal(parley_model_intercept(a), parley_model_intercept(b), sizeof(double));
    assert_int_equal(a->metas, b->metas);
    for (unsigned i = 0; i < a->metas; i++) {
        assert_string_equal(a->meta[i].key, b->meta[i].key);
        assert_string_equal(a->meta[i].value, b->meta[i].value);
    }
}

static void assert_same_for_any_ranks_and_threads(const parley_data *data, const char *words) {
    static parley_settings settings;
    settings = settings_of(words);
    outcome first = {.data = data, .settings = &settings}, other = first;
    train(&first, 1, 1);
    if (first.status[0] != PARLEY_OK)
        print_error("%s:\n", words);
    assert_done(first.status[0], &first.error[0]);
    for (unsigned ranks = 1; ranks <= 4; ranks++)
        for (unsigned threads = 1; threads <= 2; threads++) {
            train(&other, ranks, threads);
            for (unsigned r = 0; r < ranks; r++) {
                if (other.status[r] != PARLEY_OK)
                    print_error("%s, %u ranks:\n", words, ranks);
                assert_done(other.status[r], &other.error[r]);
                assert_same_model(other.model[r], first.model[0]);
                assert_true(other.summary[r].objective == first.summary[0].objective);
                assert_int_equal(other.summary[r].rounds, first.summary[0].rounds);
            }
            free_models(&other);
        }
    free_models(&first);
}

/* Exchanges in place run in one process, and are not repeatable. */
static bool repeatable(const pl_preset *preset) { return !preset->exchange || preset->exchange->repeats; }

/* Streams have no rounds, workers or certificates; see test_online.c. */
static bool streams(const pl_preset *preset) { return preset->stream != NULL; }

static void every_preset_gives_the_same_bits_for_any_ranks_and_threads(void **state) {
    (void)state;
    const unsigned workers[] = {4, 7, 17};
    parley_data *data = random_data(small);
    for (unsigned p = 0; p < linear_presets(); p += SOME)
        for (unsigned w = 0; w < COUNT(workers) && repeatable(&pl_presets[p]) && !streams(&pl_presets[p]); w++) {
            char words[256];
            snprintf(words, sizeof words, "preset=%s workers=%u lanes=1 gap=0 rounds=6 seed=3%s", pl_presets[p].name,
                     workers[w], loss_of_preset(&pl_presets[p]));
            assert_same_for_any_ranks_and_threads(data, words);
        }
    assert_same_for_any_ranks_and_threads(data,
                                          "preset=newton workers=5 lanes=2 gap=0 rounds=6 l1_ratio=1 lambda=0.002");
    assert_same_for_any_ranks_and_threads(data, "preset=newton workers=4 gap=0 rounds=6 l1_ratio=0.5 loss=hinge");
    assert_same_for_any_ranks_and_threads(data, "preset=cocoa-lbfgs workers=4 lanes=2 gap=1e-9 rounds=24 lambda=1e-7");
    parley_data_free(data);
}

static void wide_data_give_the_same_bits_for_any_ranks_and_threads(void **state) {
    (void)state;
    const char *const forms[] = {
        "preset=cocoa+ workers=7 gap=0 rounds=6",
        "preset=cocoa+ workers=4 lanes=3 gap=0 rounds=6 l1_ratio=0.3 lambda=0.01",
        "preset=cocoa workers=12 gap=0 rounds=6 loss=hinge",
        "preset=gd workers=7 lanes=2 gap=0 rounds=6 l1_ratio=0.5 lambda=0.01",
        "preset=mllib-sgd workers=7 gap=0 rounds=6 loss=squared-hinge intercept=none",
        "preset=cocoa+ workers=5 exchange=driver gap=0 rounds=6 intercept=penalised local_epochs=0.3",
        "preset=cocoa+ local=scd workers=7 gap=0 rounds=6 l1_ratio=1 lambda=0.002",
        "preset=cocoa local=scd workers=5 lanes=2 gap=0 rounds=6 l1_ratio=0.5 lambda=0.001 intercept=penalised",
        "preset=cocoa+ local=scd workers=1 lanes=2 gap=0 rounds=6 l1_ratio=1 lambda=0.002 loss=squared",
        "preset=cocoa+ local=scd workers=4 gap=0 rounds=6 loss=squared-hinge exchange=driver local_steps=700",
        "preset=cocoa+ workers=5 lanes=2 gap=0 rounds=6 standardise=true class_weights=balanced",
        "preset=newton workers=7 lanes=2 gap=0 rounds=3",
        "preset=newton workers=4 gap=1e-6 rounds=6 loss=squared intercept=none",
        "preset=lbfgs workers=7 lanes=2 gap=0 rounds=8 history=3",
        "preset=lbfgs workers=4 gap=0 rounds=8 l1_ratio=0.6 lambda=0.001 history=2",
        "preset=hybrid workers=5 local_epochs=0.3 gap=0 rounds=8 rate=1",
        "preset=spark-ml workers=5 gap=0 rounds=8 loss=squared-hinge intercept=penalised",
    };
    parley_data *data = random_data(wide);
    for (unsigned f = 0; f < COUNT(forms); f += SOME)
        assert_same_for_any_ranks_and_threads(data, forms[f]);
    parley_data_free(data);
}

/* So many entries that lanes are added, and v is moved, by several tasks. */
static void tables_of_many_entries_give_the_same_bits_for_any_ranks_and_threads(void **state) {
    (void)state;
    parley_data *data = random_data((sample_plan){.seed = 4, .rows = 60, .columns = 70000, .density = 0.001});
    assert_same_for_any_ranks_and_threads(data, "preset=lbfgs workers=3 lanes=3 gap=0 rounds=4");
    parley_data_free(data);
}

static void fewer_workers_than_ranks_are_possible(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    assert_same_for_any_ranks_and_threads(data, "preset=cocoa+ workers=2 lanes=1 gap=0 rounds=4");
    assert_same_for_any_ranks_and_threads(data, "preset=newton workers=1 lanes=2 gap=0 rounds=4");
    parley_data_free(data);
}

static void training_twice_in_one_process_gives_the_same_model(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    for (unsigned p = 0; p < linear_presets(); p++) {
        char words[128];
        if (!repeatable(&pl_presets[p]) || streams(&pl_presets[p]))
            continue;
        snprintf(words, sizeof words, "preset=%s workers=3 rounds=20%s", pl_presets[p].name,
                 loss_of_preset(&pl_presets[p]));
        outcome first = train_once(data, words), second = train_once(data, words);
        assert_same_model(first.model[0], second.model[0]);
        free_models(&first);
        free_models(&second);
    }
    parley_data_free(data);
}

static void the_seed_matters_to_the_path_and_not_to_the_optimum(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    outcome a = train_once(data, "preset=cocoa+ workers=3 gap=1e-9 seed=1");
    outcome b = train_once(data, "preset=cocoa+ workers=3 gap=1e-9 seed=2");
    assert_memory_not_equal(parley_model_coef(a.model[0]), parley_model_coef(b.model[0]),
                            small.columns * sizeof(double));
    assert_close(a.summary[0].objective, b.summary[0].objective, 1e-8);
    free_models(&a);
    free_models(&b);
    parley_data_free(data);
}

typedef struct stopper {
    uint64_t at, calls;
    unsigned messages;
} stopper;

static int stop_at(void *user, const parley_progress *progress, const char *message) {
    stopper *stopper = user;
    if (message) {
        stopper->messages++;
        return 0;
    }
    stopper->calls++;
    return progress->round >= stopper->at;
}

static void a_callback_can_stop_the_run_and_the_model_is_usable(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    for (unsigned p = 0; p < linear_presets(); p += SOME)
        for (uint64_t at = 0; at <= 3 && !streams(&pl_presets[p]); at += 3)
            for (unsigned ranks = 1; ranks <= (repeatable(&pl_presets[p]) ? 2 : 1); ranks++) {
                char words[128];
                snprintf(words, sizeof words, "preset=%s workers=3 gap=0 rounds=1000%s", pl_presets[p].name,
                         loss_of_preset(&pl_presets[p]));
                parley_settings settings = settings_of(words);
                stopper stopper = {.at = at};
                outcome outcome = {.data = data, .settings = &settings, .callback = stop_at, .user = &stopper};
                train(&outcome, ranks, 1);
                for (unsigned r = 0; r < ranks; r++) {
                    const parley_summary *summary = &outcome.summary[r];
                    assert_done(outcome.status[r], &outcome.error[r]);
                    assert_int_equal(summary->stop, PARLEY_INTERRUPTED);
                    assert_int_equal(summary->rounds, at);
                    assert_close(summary->objective,
                                 objective_of(data, outcome.model[r], pl_linear(outcome.model[r])->loss, summary),
                                 1e-12);
                    assert_true(summary->gap >= 0.0 && isfinite(summary->gap));
                }
                assert_int_equal(stopper.calls, at + 1);
                assert_true(ranks == 2 || stopper.messages >= 3); /* rank 0 reports */
                free_models(&outcome);
            }
    parley_data_free(data);
}

/* 1 / (bound of loss'' x mean |x|^2 + l2): safe for any data, but far from optimal for sparse ones. */
static double safest_rate(const parley_data *data, double lambda) {
    double norm2 = 0;
    for (uint64_t e = 0; e < data->x.start[data->x.rows]; e++)
        norm2 += data->x.values.narrow ? (double)data->x.values.narrow[e] * (double)data->x.values.narrow[e] : 1.0;
    return 1.0 / (0.25 * (norm2 / (double)data->x.rows + 1.0) + lambda);
}

static void steps_without_a_rate_are_as_long_as_the_data_allow(void **state) {
    (void)state;
    const char *const presets[] = {"gd", "minibatch-sgd"};
    parley_data *data = random_data(wide);
    for (unsigned p = 0; p < COUNT(presets); p++) {
        char words[160];
        snprintf(words, sizeof words, "preset=%s loss=logistic lambda=0.001 gap=0 rounds=30", presets[p]);
        outcome found = train_once(data, words);
        snprintf(words + strlen(words), sizeof words - strlen(words), " rate=%.17g", safest_rate(data, 0.001));
        outcome safest = train_once(data, words);
        assert_true(found.summary[0].objective < safest.summary[0].objective);
        free_models(&found);
        free_models(&safest);
    }
    parley_data_free(data);
}

static void limits_stop_the_run_and_are_told_apart(void **state) {
    (void)state;
    const struct {
        const char *words;
        parley_stop stop;
    } cases[] = {
        {"preset=cocoa+ gap=0 rounds=5", PARLEY_ROUNDS},
        {"preset=cocoa+ gap=0 seconds=0", PARLEY_SECONDS},
        {"preset=newton gap=0 rounds=3", PARLEY_ROUNDS},
        {"preset=minibatch-sgd gap=0 seconds=0.01", PARLEY_SECONDS},
        {"preset=cocoa+ gap=1e-4 rounds=5000", PARLEY_CONVERGED},
        {"preset=gd gap=1e-3 rounds=5000", PARLEY_CONVERGED},
        {"preset=gd rate=1e-9 schedule=inverse gap=1e-6 rounds=5000", PARLEY_STALLED},
    };
    parley_data *data = random_data(small);
    for (unsigned i = 0; i < COUNT(cases); i++) {
        outcome outcome = train_once(data, cases[i].words);
        if (outcome.summary[0].stop != cases[i].stop)
            print_error("%s: %s\n", cases[i].words, parley_stop_text(outcome.summary[0].stop));
        assert_int_equal(outcome.summary[0].stop, cases[i].stop);
        assert_close(outcome.summary[0].objective,
                     objective_of(data, outcome.model[0], &pl_loss_logistic, &outcome.summary[0]), 1e-12);
        free_models(&outcome);
    }
    parley_data_free(data);
}

typedef struct listener {
    double objective[8]; /* after each round */
    unsigned switched;   /* messages that another method continues */
} listener;

static int listen(void *user, const parley_progress *progress, const char *message) {
    listener *listener = user;
    if (message)
        listener->switched += strncmp(message, "method: hybrid continues as gradient x lbfgs", 43) == 0;
    else if (progress->round < COUNT(listener->objective))
        listener->objective[progress->round] = progress->objective;
    return 0;
}

static void a_preset_of_two_methods_goes_on_where_the_first_one_stopped(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    static parley_settings settings;
    settings = settings_of("preset=hybrid local_epochs=0.5 lambda=0.01 gap=1e-8 workers=3 rate=0.1 history=4 "
                           "evaluate_every=1");
    listener listener = {0};
    outcome both = {.data = data, .settings = &settings, .callback = listen, .user = &listener};
    outcome first = train_once(data, "preset=ma-sgd local_epochs=0.5 lambda=0.01 gap=0 workers=3 rate=0.1 rounds=2");
    train(&both, 1, 1);
    assert_done(both.status[0], &both.error[0]);
    assert_int_equal(listener.switched, 1); /* half an epoch, twice */
    assert_int_equal(both.summary[0].stop, PARLEY_CONVERGED);
    assert_true(first.summary[0].objective < listener.objective[0]);
    assert_true(listener.objective[2] == first.summary[0].objective);
    assert_true(listener.objective[3] == listener.objective[2]); /* lbfgs reports the start of its rounds */
    assert_true(listener.objective[4] < listener.objective[3]);
    assert_string_equal(both.summary[0].preset, "hybrid");
    assert_string_equal(both.summary[0].combine, "lbfgs");
    assert_string_equal(pl_model_meta(both.model[0], "preset"), "hybrid");
    assert_string_equal(pl_model_meta(both.model[0], "local_epochs"), "0.5");
    free_models(&both);
    free_models(&first);
    parley_data_free(data);
}

static void ranks_count_the_bytes_that_they_send(void **state) {
    (void)state;
    parley_data *data = random_data(real); /* dense sums: full gradients */
    const char *const exchanges[] = {"allreduce", "driver"};
    for (unsigned e = 0; e < 2; e++)
        for (unsigned ranks = 2; ranks <= 4; ranks++) {
            char words[128];
            snprintf(words, sizeof words, "preset=gd workers=4 gap=0 rounds=5 loss=squared exchange=%s", exchanges[e]);
            parley_settings settings = settings_of(words);
            outcome outcome = {.data = data, .settings = &settings};
            uint64_t bytes = 0, size = real.columns + 1;
            train(&outcome, ranks, 1);
            for (unsigned r = 0; r < ranks; r++)
                bytes += 5 * dense_bytes(e ? &pl_exchange_driver : &pl_exchange_allreduce, 4, ranks, r, size);
            for (unsigned r = 0; r < ranks; r++) {
                assert_done(outcome.status[r], &outcome.error[r]);
                assert_int_equal(outcome.summary[r].rank_bytes_sent, bytes);
                assert_int_equal(outcome.summary[r].bytes_sent, 5 * 4 * (2 * size * 8 * 3 / 4));
            }
            free_models(&outcome);
        }
    parley_data_free(data);
}

static void the_summary_says_what_was_done(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    outcome outcome =
        train_once(data, "preset=cocoa+ local=sdca workers=4 lambda=0.25 l1_ratio=0.5 gap=0 rounds=7 seed=11");
    const parley_summary *summary = &outcome.summary[0];
    assert_string_equal(summary->preset, "cocoa+");
    assert_string_equal(summary->local, "sdca");
    assert_string_equal(summary->combine, "add");
    assert_string_equal(summary->exchange, "allreduce");
    assert_string_equal(summary->engine, "threads");
    assert_string_equal(parley_summary_fact(summary, "loss")->text, "logistic");
    assert_string_equal(parley_summary_fact(summary, "intercept")->text, "free");
    assert_true(parley_summary_fact(summary, "lambda")->number == 0.25 &&
                parley_summary_fact(summary, "l1_ratio")->number == 0.5);
    assert_int_equal(summary->rows, small.rows);
    assert_int_equal(summary->columns, small.columns);
    assert_int_equal(summary->nonzeros, data->x.nonzeros);
    assert_true(summary->workers == 4 && summary->lanes == 1 && summary->threads == 1 && summary->ranks == 1);
    assert_true(summary->seed == 11 && summary->rounds == 7);
    assert_close(summary->epochs, 7.0, 1e-6);
    assert_close(summary->gap, summary->objective - summary->dual, 1e-12);
    assert_int_equal(summary->bytes_sent, 7 * 4 * (2 * (small.columns + 1) * 8 * 3 / 4));
    free_models(&outcome);
    outcome = train_once(data, "preset=cocoa+ rounds=2 gap=0");
    assert_int_equal(outcome.summary[0].bytes_sent, 0); /* a single worker does not communicate */
    free_models(&outcome);
    parley_data_free(data);
}

static void every_failed_allocation_ends_the_run_with_a_sentence(void **state) {
    (void)state;
    const char *const extras[] = {"",           "lanes=2",           "exchange=driver",
                                  "loss=huber", "combine=truncated", "class_weights=balanced standardise=true"};
    const char *const alone[] = {NULL, NULL, NULL, NULL, "newton", NULL}; /* extra settings of one preset */
    parley_data *data = random_data(small), *sparse = random_data(wide);
    char words[160];
    for (unsigned p = 0; p < linear_presets(); p += SOME)
        for (unsigned e = 0; e < COUNT(extras) && !streams(&pl_presets[p]); e++) {
            const char *loss = loss_of_preset(&pl_presets[p]);
            if ((alone[e] && strcmp(pl_presets[p].name, alone[e]) != 0) ||
                (*loss && (strstr(extras[e], "loss=") || strstr(extras[e], "class_weights="))))
                continue;
            if (SANITIZED > 1 && e > 0 && !alone[e] && (p / SOME + e) % 3 != 0) /* each with a third */
                continue;
            snprintf(words, sizeof words, "preset=%s workers=3 threads=1 rounds=2 gap=0 %s%s", pl_presets[p].name,
                     extras[e], loss);
            bool use_sparse = pl_presets[p].local == &pl_local_sdca;
            assert_survives_lost_memory(use_sparse ? sparse : data, words);
        }
    assert_survives_lost_memory(sparse,
                                "preset=cocoa+ local=scd l1_ratio=1 lambda=0.002 workers=3 threads=1 rounds=2 gap=0");
    assert_survives_lost_memory(data, "preset=ma-sgd workers=16 threads=1 rounds=2 gap=0");
    assert_survives_lost_memory(data, "preset=newton l1_ratio=0.5 lambda=0.01 workers=2 threads=1 rounds=2 gap=0");
    parley_data_free(data);
    parley_data_free(sparse);
}

static void assert_ranks_end_together(const parley_data *data, const char *words) {
    parley_settings settings = settings_of(words);
    bool all_done = false;
    for (int64_t n = 20; !all_done && n < 2000; n += 7) { /* opening the engines makes the first allocations */
        outcome outcome = {.data = data, .settings = &settings};
        pl_engine *unused;
        assert_int_equal(pl_threads_open(&unused, 1, 1, DEADLINE, NULL), PARLEY_OK);
        pl_engine_close(unused);
        pl_memory_fail_after(n);
        train(&outcome, 3, 1);
        pl_memory_fail_after(-1);
        all_done = true;
        for (unsigned r = 0; r < 3; r++) {
            bool done = outcome.status[r] == PARLEY_OK;
            assert_true(done || outcome.status[r] == PARLEY_NO_MEMORY);
            assert_int_equal(done, outcome.model[r] != NULL);
            assert_true(done || *outcome.error[r].sentence);
            all_done = all_done && done;
        }
        free_models(&outcome);
    }
    assert_true(all_done);
}

static void a_failed_allocation_on_one_rank_ends_all(void **state) {
    (void)state;
    const char *const forms[] = {"preset=cocoa+ workers=4 rounds=2 gap=0",
                                 "preset=cocoa+ local=scd l1_ratio=1 lambda=0.01 workers=4 rounds=2 gap=0"};
    parley_data *data = random_data(small);
    for (unsigned f = 0; f < COUNT(forms); f += SOME)
        assert_ranks_end_together(data, forms[f]);
    parley_data_free(data);
}

static void a_log_that_cannot_be_written_ends_the_run(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    parley_settings settings = settings_of("preset=newton log=/nonexistent/run.jsonl");
    parley_error error = {0};
    parley_model *model;
    assert_int_equal(parley_train(data, &settings, NULL, NULL, &model, NULL, &error), PARLEY_NO_FILE);
    assert_string_equal(error.sentence, "/nonexistent/run.jsonl: cannot write the log: No such file or directory");
    assert_null(model);
    parley_data_free(data);
}

/* Dual ascent is slow if lambda is small and columns are few, so the run should switch to Newton's method. */
static void slow_dual_ascent_goes_on_as_newton_and_fast_does_not(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    outcome slow = train_once(data, "preset=cocoa-newton lambda=1e-7 gap=1e-7"),
            fast = train_once(data, "preset=cocoa-newton lambda=0.1 gap=1e-5"),
            dual = train_once(data, "preset=cocoa+ lambda=1e-7 gap=1e-7 rounds=200");
    assert_int_equal(slow.summary[0].stop, PARLEY_CONVERGED);
    assert_string_equal(slow.summary[0].combine, "newton");
    assert_int_equal(fast.summary[0].stop, PARLEY_CONVERGED);
    assert_string_equal(fast.summary[0].combine, "add");
    assert_int_equal(dual.summary[0].stop, PARLEY_ROUNDS); /* otherwise this test tests nothing */
    assert_true(slow.summary[0].rounds < 60);
    free_models(&slow);
    free_models(&fast);
    free_models(&dual);
    parley_data_free(data);
}

/* The same for several classes, and after the first measurement if that is bad enough. */
static void slow_dual_ascent_on_classes_goes_on_as_lbfgs_at_once(void **state) {
    (void)state;
    parley_data *data = class_data((sample_plan){.seed = 2, .rows = 300, .columns = 12, .density = 0.5}, false);
    outcome slow = train_once(data, "preset=cocoa-lbfgs loss=softmax lambda=1e-9 gap=1e-6 rounds=400"),
            fast = train_once(data, "preset=cocoa-lbfgs loss=softmax lambda=0.1 gap=1e-5"),
            early = train_once(data, "preset=cocoa-lbfgs loss=softmax lambda=1e-9 gap=1e-6 rounds=20");
    assert_int_equal(slow.summary[0].stop, PARLEY_CONVERGED);
    assert_string_equal(slow.summary[0].combine, "lbfgs");
    assert_int_equal(fast.summary[0].stop, PARLEY_CONVERGED);
    assert_string_equal(fast.summary[0].combine, "add");
    assert_string_equal(early.summary[0].combine, "lbfgs");
    free_models(&slow);
    free_models(&fast);
    free_models(&early);
    parley_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_preset_gives_the_same_bits_for_any_ranks_and_threads),
        cmocka_unit_test(wide_data_give_the_same_bits_for_any_ranks_and_threads),
        cmocka_unit_test(tables_of_many_entries_give_the_same_bits_for_any_ranks_and_threads),
        cmocka_unit_test(fewer_workers_than_ranks_are_possible),
        cmocka_unit_test(slow_dual_ascent_goes_on_as_newton_and_fast_does_not),
        cmocka_unit_test(slow_dual_ascent_on_classes_goes_on_as_lbfgs_at_once),
        cmocka_unit_test(training_twice_in_one_process_gives_the_same_model),
        cmocka_unit_test(the_seed_matters_to_the_path_and_not_to_the_optimum),
        cmocka_unit_test(a_callback_can_stop_the_run_and_the_model_is_usable),
        cmocka_unit_test(steps_without_a_rate_are_as_long_as_the_data_allow),
        cmocka_unit_test(limits_stop_the_run_and_are_told_apart),
        cmocka_unit_test(a_preset_of_two_methods_goes_on_where_the_first_one_stopped),
        cmocka_unit_test(ranks_count_the_bytes_that_they_send),
        cmocka_unit_test(the_summary_says_what_was_done),
        cmocka_unit_test(every_failed_allocation_ends_the_run_with_a_sentence),
        cmocka_unit_test(a_failed_allocation_on_one_rank_ends_all),
        cmocka_unit_test(a_log_that_cannot_be_written_ends_the_run),
    };
    return cmocka_run_group_tests_name("train", tests, NULL, NULL);
}
