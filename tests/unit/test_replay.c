/* test_replay.c: logs are read back: runs that the clock steered repeat bit for bit on any ranks and threads. */
#define _POSIX_C_SOURCE 200809L /* mkstemp */
#include "shard/fingerprint.h"
#include "train/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "support.h"

static char path[] = "/tmp/parley_replay_XXXXXX";

static int make_path(void **state) {
    (void)state;
    int file = mkstemp(path);
    return file < 0 || close(file) != 0;
}

static int remove_path(void **state) {
    (void)state;
    return unlink(path);
}

static void assert_same_model(const parley_model *a, const parley_model *b) {
    assert_int_equal(a->columns, b->columns);
    assert_memory_equal(parley_model_coef(a), parley_model_coef(b), a->columns * sizeof(double));
    assert_int_equal(a->metas, b->metas);
    for (unsigned i = 0; i < a->metas; i++)
        assert_string_equal(a->meta[i].value, b->meta[i].value);
}

static parley_settings replaying(const char *words) {
    parley_settings settings = settings_of(words);
    set_setting(&settings, "replay", path);
    return settings;
}

/* Runs with a log. The caller owns the models of the outcome. */
static outcome logged(const parley_data *data, const char *words, unsigned ranks, parley_callback callback) {
    static parley_settings settings;
    settings = settings_of(words);
    settings.log = path;
    outcome first = {.data = data, .settings = &settings, .callback = callback};
    train(&first, ranks, 2);
    for (unsigned r = 0; r < ranks; r++)
        assert_done(first.status[r], &first.error[r]);
    return first;
}

static void assert_replayed(const outcome *first, unsigned first_ranks) {
    static parley_settings settings;
    settings = replaying("");
    for (unsigned r = 1; r < first_ranks; r++)
        assert_same_model(first->model[r], first->model[0]);
    for (unsigned ranks = 1; ranks <= 3; ranks++)
        for (unsigned threads = 1; threads <= 2; threads++) {
            outcome again = {.data = first->data, .settings = &settings};
            train(&again, ranks, threads);
            for (unsigned r = 0; r < ranks; r++) {
                assert_done(again.status[r], &again.error[r]);
                assert_same_model(again.model[r], first->model[0]);
                assert_int_equal(again.summary[r].rounds, first->summary[0].rounds);
                assert_int_equal(again.summary[r].stop, first->summary[0].stop);
            }
            free_models(&again);
        }
}

static void a_paced_run_is_the_same_on_all_ranks_and_replays_on_any_number(void **state) {
    (void)state;
    const char *const forms[] = {
        "preset=cocoa+ workers=4 lanes=1 local_steps=auto gap=0 rounds=60",
        "preset=cocoa workers=5 lanes=2 local_epochs=auto gap=1e-3 rounds=500 loss=hinge",
        "preset=cocoa+ workers=4 lanes=1 local_steps=auto gap=0 seconds=0.05 exchange_delay=0.001",
        "preset=cocoa+ workers=4 lanes=1 gap=0 seconds=0",
        "preset=gd workers=4 gap=0 rounds=5",
    };
    parley_data *data = random_data(small);
    for (unsigned f = 0; f < COUNT(forms); f++)
        for (unsigned ranks = 1; ranks <= 3; ranks += 2) {
            outcome first = logged(data, forms[f], ranks, NULL);
            assert_replayed(&first, ranks);
            free_models(&first);
        }
    parley_data_free(data);
}

static int stop_at_seven(void *user, const parley_progress *progress, const char *message) {
    (void)user, (void)message;
    return progress->round >= 7;
}

static void an_interrupted_run_replays_to_the_round_where_it_was(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    outcome first = logged(data, "preset=cocoa+ workers=4 lanes=1 gap=0", 2, stop_at_seven);
    assert_int_equal(first.summary[0].stop, PARLEY_INTERRUPTED);
    assert_int_equal(first.summary[0].rounds, 7);
    assert_replayed(&first, 2);
    free_models(&first);
    parley_data_free(data);
}

static void every_failed_allocation_in_a_replay_ends_it_with_a_sentence(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    outcome first = logged(data, "preset=cocoa+ workers=4 lanes=1 local_steps=auto gap=0 rounds=5", 1, NULL);
    static parley_settings settings;
    settings = replaying("");
    parley_status status = PARLEY_NO_MEMORY;
    for (int64_t n = 0; status != PARLEY_OK && n < 2000; n++) {
        parley_model *model;
        parley_error error = {0};
        pl_memory_fail_after(n);
        status = parley_train(data, &settings, NULL, NULL, &model, NULL, &error);
        pl_memory_fail_after(-1);
        if (status == PARLEY_OK)
            assert_same_model(model, first.model[0]);
        else
            assert_int_equal(strncmp(error.sentence, "out of memory: ", 15), 0);
        parley_model_free(model);
    }
    assert_int_equal(status, PARLEY_OK);
    free_models(&first);
    parley_data_free(data);
}

static uint64_t fingerprint_of(const char *text, unsigned threads) {
    pl_engine *engine;
    uint64_t hash;
    parley_data *data = data_of(text);
    assert_done(pl_threads_open(&engine, 1, threads, DEADLINE, NULL), NULL);
    assert_done(pl_fingerprint(engine, data, &hash, NULL), NULL);
    pl_engine_close(engine);
    parley_data_free(data);
    return hash;
}

static void a_fingerprint_knows_every_number_of_the_data(void **state) {
    (void)state;
    const char *const others[] = {"1 1:2 3:4\n-1 2:5\n",  "-1 1:2 3:4\n1 2:1\n", "1 1:2 3:4\n-1 3:1\n",
                                  "1 1:2 2:4\n-1 2:1\n",  "1 1:2\n-1 2:1 3:4\n", "1 1:2 3:4\n-1 2:1\n-1 2:1\n",
                                  "1 1:2 3:4\n-1.5 2:1\n"};
    uint64_t hash = fingerprint_of("1 1:2 3:4\n-1 2:1\n", 1);
    assert_true(hash == fingerprint_of("1 1:2 3:4\n-1 2:1\n", 3));
    assert_true(hash == fingerprint_of("-1 2:1\n1 1:2 3:4\n", 2)); /* in any order */
    for (unsigned i = 0; i < COUNT(others); i++)
        assert_true(hash != fingerprint_of(others[i], 1));
}

/* Replaces the first `from` of the log by `to`, from round 2 on, and returns the sentence that refuses it. */
static const char *refusal(const parley_data *data, const char *text, const char *from, const char *to) {
    static parley_settings settings;
    static parley_error error;
    parley_model *model = NULL;
    const char *round = strstr(text, "\"round\":2"), *at = round ? strstr(round, from) : NULL;
    assert_non_null(at);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    assert_int_equal(fclose(file), 0);
    settings = replaying("");
    if (parley_train(data, &settings, NULL, NULL, &model, NULL, &error) == PARLEY_OK)
        snprintf(error.sentence, sizeof error.sentence, "accepted");
    parley_model_free(model);
    return error.sentence;
}

static void values_that_no_run_can_have_are_refused(void **state) {
    (void)state;
    static const char *const changes[][2] = {
        {"\"local_epochs\":1e12,\"was\":",
         "local_epochs of round 2 is 1e+12, but H was chosen by the run and is never above 128"},
        {"\"local_epochs\":1e300,\"was\":", "local_epochs of round 2 is not a number above 0 and up to 1e+18"},
        {"\"local_epochs\":-1,\"was\":", "local_epochs of round 2 is not a number above 0"},
        {"\"local_epochs\":0,\"was\":", "local_epochs of round 2 is not a number above 0"},
        {"\"local_epochs\":[],\"was\":", "local_epochs of round 2 is not a number above 0"},
        {"\"local_epochs\":null,\"was\":", "local_epochs of round 2 is nan, but H was chosen by the run"},
    };
    parley_data *data = random_data(small);
    outcome first = logged(data, "preset=cocoa+ workers=4 lanes=1 local_steps=auto gap=0 rounds=4", 1, NULL);
    free_models(&first);
    static char text[1 << 16];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    for (unsigned i = 0; i < COUNT(changes); i++) {
        const char *sentence = refusal(data, text, "\"local_epochs\":", changes[i][0]);
        if (!strstr(sentence, changes[i][1]) || !strstr(sentence, path))
            print_error("%s\n%s\n", changes[i][0], sentence);
        assert_non_null(strstr(sentence, changes[i][1]));
        assert_non_null(strstr(sentence, path));
    }
    assert_non_null(strstr(refusal(data, text, "\"round\":2", "\"round\":1e300"), "is not the next round's"));
    parley_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_paced_run_is_the_same_on_all_ranks_and_replays_on_any_number),
        cmocka_unit_test(an_interrupted_run_replays_to_the_round_where_it_was),
        cmocka_unit_test(every_failed_allocation_in_a_replay_ends_it_with_a_sentence),
        cmocka_unit_test(a_fingerprint_knows_every_number_of_the_data),
        cmocka_unit_test(values_that_no_run_can_have_are_refused),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
