/* test_lost_messages.c: on one rank the n-th call of the engine fails, for one n after another, while ranks read and
 * train. The failure must reach every rank that has not finished, with its own sentence, and no rank may hang or lose
 * memory. */
#define _DEFAULT_SOURCE /* mkdtemp */
#include "shard/parallel_read.h"
#include "support.h"
/* after support.h, which declares what cmocka needs */
#include "data/file.h"
#include "data/format.h"
#include "data_helpers.h"
#include "linear/path/linear_path.h"

#define RANKS 3
#define ROWS 120
#define TRIES 24 /* calls that are made to fail, of most runs */
#define ALL 10000

static const char sentence[] = "this call was made to fail";
static unsigned failing_rank;
static int64_t failing_call; /* -1: none */
static _Atomic int64_t calls[MOST_RANKS];

static parley_status next_call(const pl_engine *engine, parley_error *error) {
    int64_t call = atomic_fetch_add(&calls[engine->rank], 1);
    return engine->rank == failing_rank && call == failing_call ? pl_fail(error, PARLEY_BROKEN, sentence) : PARLEY_OK;
}

/* The engine of threads, whose calls may fail. */
#define CALL(name, parameters, arguments)                                                                              \
    static parley_status name parameters {                                                                             \
        parley_status status = next_call(engine, error);                                                               \
        return status == PARLEY_OK ? pl_engine_threads.name arguments : status;                                        \
    }
CALL(post, (pl_engine * engine, unsigned to, unsigned channel, const void *data, uint64_t bytes, parley_error *error),
     (engine, to, channel, data, bytes, error))
CALL(take, (pl_engine * engine, unsigned from, unsigned channel, void *data, uint64_t bytes, parley_error *error),
     (engine, from, channel, data, bytes, error))
CALL(take_any,
     (pl_engine * engine, unsigned channel, unsigned *from, pl_span *data, uint64_t *bytes, parley_error *error),
     (engine, channel, from, data, bytes, error))
CALL(post_zero_copy,
     (pl_engine * engine, unsigned to, unsigned channel, const void *data, uint64_t bytes, parley_error *error),
     (engine, to, channel, data, bytes, error))
CALL(wait_sent, (pl_engine * engine, parley_error *error), (engine, error))
CALL(expect, (pl_engine * engine, pl_request *request, parley_error *error), (engine, request, error))
CALL(await, (pl_engine * engine, pl_request *request, uint64_t *bytes, parley_error *error),
     (engine, request, bytes, error))
CALL(barrier, (pl_engine * engine, parley_error *error), (engine, error))
CALL(run_blocking, (pl_engine * engine, pl_task task, void *context, unsigned tasks, parley_error *error),
     (engine, task, context, tasks, error))

static pl_engine_type faulty;

typedef struct work {
    const char *file; /* or a pattern of files, in the folder of the test */
    bool path;        /* of models, instead of one */
    pl_reading reading;
    parley_settings settings;
    parley_status status[MOST_RANKS];
    parley_error error[MOST_RANKS];
} work;

static parley_status fit(pl_engine *engine, const parley_data *data, const work *work, parley_error *error) {
    if (work->path) {
        const pl_path_plan plan = {0};
        pl_path *path = NULL;
        parley_status status = pl_path_rank(engine, data, &work->settings, &plan, NULL, NULL, &path, error);
        parley_path_free(path);
        return status;
    }
    parley_model *model = NULL;
    parley_summary summary;
    parley_status status = pl_train_rank(engine, data, &work->settings, NULL, NULL, &model, &summary, error);
    parley_model_free(model);
    return status;
}

static parley_status body(pl_engine *engine, void *context, parley_error *error) {
    const work *work = context;
    char path[300];
    const char *words[] = {path};
    parley_data *data = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, work->file);
    engine->type = &faulty;
    parley_status status = pl_ranks_read(engine, words, 1, &work->reading, engine->pool, &data, error);
    if (status == PARLEY_OK)
        status = fit(engine, data, work, error);
    if (status != PARLEY_OK)
        (engine->type->fail)(engine, error);
    parley_data_free(data);
    engine->type = &pl_engine_threads;
    return status;
}

static void run(work *work, int64_t call) {
    failing_call = call;
    for (unsigned r = 0; r < MOST_RANKS; r++)
        calls[r] = 0;
    run_ranks(RANKS, 1, DEADLINE, body, work, work->status, work->error);
}

static void assert_failures_reach_all(const char *file, const char *words, bool path, int64_t tries) {
    static work work;
    parley_error error = {0};
    work.file = file;
    work.path = path;
    work.settings = settings_of(words);
    assert_done(pl_reading_of(&work.settings, &work.reading, &error), &error);
    for (unsigned way = 0; way < 2; way++) {
        ranks_share_memory = way;
        run(&work, -1);
        for (unsigned r = 0; r < RANKS; r++)
            assert_done(work.status[r], &work.error[r]);
        int64_t all = calls[1], step = SOME * (1 + all / tries);
        assert_true(all > 10);
        for (int64_t n = 0; n < all; n += n < 12 / SOME ? 1 : step) {
            failing_rank = (unsigned)(n % RANKS);
            run(&work, n);
            if (calls[failing_rank] <= n) /* it has fewer calls than rank 1 */
                continue;
            assert_int_equal(work.status[failing_rank], PARLEY_BROKEN);
            for (unsigned r = 0; r < RANKS; r++)
                if (work.status[r] != PARLEY_OK)
                    assert_string_equal(work.error[r].sentence, sentence);
        }
    }
}

static void a_lost_message_ends_training_on_all_ranks(void **state) {
    (void)state;
    const char *const runs[] = {
        "preset=cocoa+ workers=4 rounds=2 gap=0 standardise=true",
        "preset=cocoa+ workers=4 rounds=2 gap=0 validation_fraction=0.2 class_weights=balanced",
        "preset=cocoa workers=4 rounds=2 gap=0 l1_ratio=1 lambda=0.01 lanes=2",
        "preset=newton workers=4 rounds=2 gap=0",
        "local=gradient combine=truncated workers=4 rounds=2 gap=0",
        "preset=lbfgs workers=4 rounds=3 gap=0",
        "preset=lbfgs workers=4 rounds=3 gap=0 l1_ratio=0.5 lambda=0.01",
        "preset=spark-ml workers=4 rounds=2 gap=0",
        "preset=gd workers=4 rounds=2 gap=0",
        "preset=ma-sgd workers=4 rounds=2 gap=0",
        "preset=ma-sgd workers=16 rounds=1 gap=0",
        "preset=mllib-sgd workers=4 rounds=2 gap=0",
        "preset=hybrid workers=4 rounds=3 gap=0",
        "preset=cocoa-newton workers=4 rounds=3 gap=0",
    };
    for (unsigned i = 0; i < COUNT(runs); i += SOME)
        assert_failures_reach_all("data.svm", runs[i], false, TRIES);
    assert_failures_reach_all("data.svm", "preset=cocoa workers=4 rounds=1 gap=0 l1_ratio=1 lambda=0.01", false, ALL);
}

static void a_lost_message_ends_training_on_classes(void **state) {
    (void)state;
    const char *const runs[] = {"preset=cocoa+ workers=4 rounds=2 gap=0 loss=softmax",
                                "preset=lbfgs workers=4 rounds=2 gap=0 loss=softmax",
                                "preset=cocoa+ workers=4 rounds=2 gap=0 loss=hinge"};
    for (unsigned i = 0; i < COUNT(runs); i += SOME)
        assert_failures_reach_all("classes.csv", runs[i], false, TRIES);
}

static void a_lost_message_ends_reading_on_all_ranks(void **state) {
    (void)state;
    const char *const files[] = {"data.svm.gz", "data.parley", "classes.csv.gz", "named-*.parley", "some-*.svm.gz"};
    for (unsigned i = 0; i < COUNT(files); i += SOME)
        assert_failures_reach_all(files[i], "preset=gd workers=4 rounds=1 gap=0", false, ALL);
}

static void a_lost_message_ends_a_path_on_all_ranks(void **state) {
    (void)state;
    assert_failures_reach_all("data.svm", "preset=cocoa+ workers=4 rounds=3 lambdas=3 l1_ratio=1", true, TRIES);
    assert_failures_reach_all("data.svm", "preset=lbfgs workers=4 rounds=3 lambdas=3", true, TRIES);
}

#define WORDS "preset=cocoa workers=4 rounds=1 gap=0 l1_ratio=1 lambda=0.01 hash_bits=6 "

/* Rows with weights, whose entries are all 1, and names that only rank 0 can collect. */
static void a_lost_message_ends_training_on_words(void **state) {
    (void)state;
    assert_failures_reach_all("words.vw", WORDS, false, ALL);
    assert_failures_reach_all("words.vw.gz", WORDS "keep_names=true", false, ALL);
}

/* If an allocation fails on any rank, at any time after the engines have been opened, all ranks end with that cause. */
static void lost_memory_ends_reading_and_training_on_all_ranks(void **state) {
    (void)state;
    const char *const files[] = {"words.vw", "words.vw.gz", "named-*.parley"};
    const char *const words[] = {WORDS, WORDS "keep_names=true", "preset=gd workers=4 rounds=1 gap=0"};
    for (unsigned i = 0; i < COUNT(files); i++) {
        static work work;
        bool lost = true;
        parley_error error = {0};
        work = (struct work){.file = files[i], .settings = settings_of(words[i])};
        assert_done(pl_reading_of(&work.settings, &work.reading, &error), &error);
        for (int64_t n = 40; lost && n < 8000; n += 3 * SOME) {
            ranks_share_memory = n % 2;
            pl_memory_fail_after(n);
            run(&work, -1);
            pl_memory_fail_after(-1);
            lost = false;
            for (unsigned r = 0; r < RANKS; r++) {
                if (work.status[r] != PARLEY_OK)
                    assert_int_equal(work.status[r], PARLEY_NO_MEMORY);
                lost |= work.status[r] != PARLEY_OK;
            }
        }
        assert_false(lost);
    }
}

/* Checkpoints and their resumption: the folder of the first run stays as it is, because the second one writes none. */
static void a_lost_message_ends_resumption_on_all_ranks(void **state) {
    (void)state;
    const char *const runs[] = {"preset=cocoa+", "preset=lbfgs", "preset=ma-sgd",
                                "preset=cocoa+ l1_ratio=1 lambda=0.01"};
    for (unsigned i = 0; i < COUNT(runs); i++) {
        char words[500];
        static work work;
        parley_error error = {0};
        snprintf(words, sizeof words, "%s workers=4 gap=0 rounds=3 checkpoint=%s/state-%u checkpoint_every=1r", runs[i],
                 folder, i);
        work = (struct work){.file = "data.svm", .settings = settings_of(words)};
        assert_done(pl_reading_of(&work.settings, &work.reading, &error), &error);
        ranks_share_memory = i % 2;
        run(&work, -1);
        for (unsigned r = 0; r < RANKS; r++)
            assert_done(work.status[r], &work.error[r]);
        snprintf(words, sizeof words, "%s workers=4 gap=0 rounds=5 resume=%s/state-%u", runs[i], folder, i);
        assert_failures_reach_all("data.svm", words, false, TRIES);
    }
}

static void put(const char *name, pl_compression compression, const char *text) {
    pl_file *file;
    parley_error error = {0};
    assert_done(pl_file_open(in_folder(name), compression, &file, &error), &error);
    assert_done(pl_file_close(file, pl_file_write(file, text, strlen(text), &error), &error), &error);
}

static int make_files(void **state) {
    char svm[ROWS * 64] = "", csv[ROWS * 32] = "label,size,colour\n", vw[ROWS * 48] = "";
    const char *const words[] = {"no", "may", "yes"}, *const colours[] = {"red", "blue", "green"};
    for (int i = 0; i < ROWS; i++) {
        size_t used = strlen(svm), held = strlen(csv), told = strlen(vw);
        snprintf(vw + told, sizeof vw - told, "%d %d |f a%d b%d c\n", i * 7 % 5 > 1 ? 1 : -1, 1 + i % 3, i % 7, i % 9);
        snprintf(svm + used, sizeof svm - used, "%d %d:%d.5 %d:1 %d:0.25\n", i * 7 % 5 > 1 ? 1 : -1, 1 + i % 4, i % 9,
                 6 + i % 5, 12 + i % 7);
        snprintf(csv + held, sizeof csv - held, "%s,%d,%s\n", words[i % 7 % 3], i % 11, colours[i % 5 % 3]);
    }
    assert_int_equal(make_folder(state), 0);
    put("data.svm", PL_NOT_COMPRESSED, svm);
    put("data.svm.gz", PL_TO_GZIP, svm);
    put("some-0.svm.gz", PL_TO_GZIP, svm);
    put("some-1.svm.gz", PL_TO_GZIP, svm);
    put("words.vw", PL_NOT_COMPRESSED, vw);
    put("words.vw.gz", PL_TO_GZIP, vw);
    put("classes.csv", PL_NOT_COMPRESSED, csv);
    put("classes.csv.gz", PL_TO_GZIP, csv);
    parley_error error = {0};
    parley_data *data = data_of(svm);
    assert_done(pl_data_write_cache(data, in_folder("data.parley"), &error), &error);
    parley_data_free(data);
    assert_done(parley_data_read(in_folder("classes.csv"), 1, &data, &error), &error);
    assert_done(pl_data_write_cache(data, in_folder("named-0.parley"), &error), &error);
    assert_done(pl_data_write_cache(data, in_folder("named-1.parley"), &error), &error);
    parley_data_free(data);
    faulty = pl_engine_threads;
    faulty.post = post, faulty.take = take, faulty.take_any = take_any, faulty.post_zero_copy = post_zero_copy;
    faulty.wait_sent = wait_sent, faulty.expect = expect, faulty.await = await, faulty.barrier = barrier;
    faulty.run_blocking = run_blocking;
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_message_ends_training_on_all_ranks),
        cmocka_unit_test(a_lost_message_ends_training_on_classes),
        cmocka_unit_test(a_lost_message_ends_reading_on_all_ranks),
        cmocka_unit_test(a_lost_message_ends_a_path_on_all_ranks),
        cmocka_unit_test(a_lost_message_ends_training_on_words),
        cmocka_unit_test(lost_memory_ends_reading_and_training_on_all_ranks),
        cmocka_unit_test(a_lost_message_ends_resumption_on_all_ranks),
    };
    return cmocka_run_group_tests_name("lost messages", tests, make_files, remove_folder);
}
