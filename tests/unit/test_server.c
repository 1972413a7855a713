/* test_server.c: the exchanges `server` and `peer`: no read is older than the bound, updates are neither lost nor taken
 * twice, staleness 0 gives the bits of synchronous rounds, backups drop late updates, and failures and stops end all
 * waits. */
#define _DEFAULT_SOURCE /* mkdtemp */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/stop.h"
#include "engine/collective.h"
#include "method/exchange.h"
#include "support.h"

#undef fail /* cmocka's macro: engines have a member of this name */

#define WORKERS 8
#define SIZE 13000 /* four blocks, so that up to four ranks own a slice */
#define BLOCKS 4
#define CLOCKS (700 / SANITIZED)
#define FEWER (SOME > 1 ? 2 : 1) /* steps through numbers of ranks and cases that take long under the sanitizer */
#define STRETCHES 2

/* Worker k adds 1 to its own entry of every block in every clock, so that v says how many clocks a reader sees. */
static uint64_t own_entry(unsigned worker, unsigned block) { return (uint64_t)block * PL_BLOCK + 17 * (worker + 1); }

typedef struct bench {
    const pl_exchange_type *type;
    const char *words;
    unsigned slow;
    uint64_t staleness;
    atomic_uint reads, too_old, wrong; /* counts that readers found */
    atomic_uint worked[WORKERS];       /* clocks of each worker */
    double v[SIZE];
} bench;

static uint32_t list[WORKERS * BLOCKS];
static bool reads_list;

static const uint32_t *reads(const pl_local *local, unsigned worker, uint64_t *count) {
    (void)local, (void)worker;
    *count = reads_list ? COUNT(list) : SIZE;
    return reads_list ? list : NULL;
}

static const pl_local_async async = {.reads = reads};
static const pl_local_type counting = {.async = &async};

typedef struct rank_tasks {
    bench *bench;
    pl_team *team;
    pl_exchange *exchange;
    pl_async_round stretch;
    parley_status status[WORKERS + 1];
    parley_error error[WORKERS + 1];
} rank_tasks;

/* What a reader that has made `clock` clocks must find. */
static void check_read(bench *bench, unsigned self, uint64_t clock, const double *v) {
    for (unsigned k = 0; k < WORKERS; k++)
        for (unsigned b = 0; b < BLOCKS; b++) {
            double found = v[own_entry(k, b)];
            bool bounded = bench->staleness != PL_UNBOUNDED;
            if (bounded && found + (double)bench->staleness < (double)clock)
                atomic_fetch_add(&bench->too_old, 1);
            if ((k == self && found != (double)clock) || (bench->staleness == 0 && found != (double)clock))
                atomic_fetch_add(&bench->wrong, 1);
        }
    atomic_fetch_add(&bench->reads, WORKERS * BLOCKS);
}

static parley_status run_worker(rank_tasks *tasks, unsigned k, parley_error *error) {
    const pl_exchange_async *async = tasks->exchange->type->async;
    unsigned self = tasks->team->first + k;
    uint32_t index[BLOCKS];
    double value[BLOCKS];
    pl_update update = {.shrink = 1.0, .weight = 1.0, .count = BLOCKS, .index = index, .value = value};
    pl_turn turn = {.clock = tasks->stretch.from, .share = 1.0, .fraction = 1.0 / WORKERS};
    pl_stream stream = pl_stream_make(3, self, turn.clock);
    for (unsigned b = 0; b < BLOCKS; b++) {
        index[b] = (uint32_t)own_entry(self, b);
        value[b] = 1.0;
    }
    for (;;) {
        parley_status status = async->swap(tasks->exchange, k, &turn, error);
        if (status != PARLEY_OK)
            return status;
        if (turn.clock >= tasks->stretch.until)
            return async->leave(tasks->exchange, k, error);
        check_read(tasks->bench, self, turn.clock, turn.v);
        if (pl_random_below(&stream, 50) == 0)
            pl_sleep(1e-4);
        turn.update = &update;
        turn.last = turn.clock + 1 >= tasks->stretch.until;
    }
}

static void run_task(void *context, unsigned task) {
    rank_tasks *tasks = context;
    pl_engine *engine = tasks->team->engine;
    parley_error *error = &tasks->error[task];
    tasks->status[task] = task == tasks->team->hosted ? tasks->exchange->type->async->serve(tasks->exchange, error)
                                                      : run_worker(tasks, task, error);
    if (tasks->status[task] != PARLEY_OK)
        engine->type->fail(engine, error);
}

/* Runs stretches on this rank, with a combine that adds. */
static parley_status run_stretches(rank_tasks *tasks, pl_setup *setup, void (*task)(void *, unsigned), double *tables,
                                   parley_error *error) {
    pl_combine combine = {.type = &pl_combine_sum};
    pl_local local = {&counting};
    pl_engine *engine = tasks->team->engine;
    parley_status status = tasks->bench->type->open(setup, false, &tasks->exchange, error);
    for (unsigned s = 0; s < STRETCHES && status == PARLEY_OK; s++) {
        tasks->stretch = (pl_async_round){&local, &combine, {0}, s * CLOCKS, (s + 1) * CLOCKS};
        tasks->stretch.slice = (pl_slice){.begin = setup->begin,
                                          .end = setup->end,
                                          .v = tables,
                                          .change = tables + SIZE,
                                          .direction = tables + 2 * SIZE};
        const pl_exchange_async *async = tasks->exchange->type->async;
        status = async->begin(tasks->exchange, &tasks->stretch, error);
        if (status == PARLEY_OK)
            status = engine->type->run_blocking(engine, task, tasks, tasks->team->hosted + 1, error);
        for (unsigned t = 0; t <= tasks->team->hosted && status == PARLEY_OK; t++)
            if (tasks->status[t] != PARLEY_OK)
                status = pl_fail(error, tasks->error[t].status, "%s", tasks->error[t].sentence);
        if (status == PARLEY_OK)
            status = async->park(tasks->exchange, tables, error);
    }
    if (tasks->exchange)
        tasks->bench->type->close(tasks->exchange);
    return status;
}

static parley_status with_tasks(pl_engine *engine, bench *bench, void (*task)(void *, unsigned), parley_error *error) {
    parley_settings settings = settings_of(bench->words);
    engine->servers = (unsigned)settings.servers;
    unsigned hosts = pl_engine_hosts(engine), first = pl_host_begin(WORKERS, hosts, engine->rank);
    pl_team team = {.engine = engine,
                    .workers = WORKERS,
                    .first = first,
                    .hosted = pl_host_begin(WORKERS, hosts, engine->rank + 1) - first,
                    .lanes = 1};
    pl_setup setup = {.team = &team, .settings = &settings, .entries = SIZE, .width = 1};
    pl_owners_of_v owners = pl_exchange_owners(bench->type, false, engine);
    pl_exchange_slice(&owners, SIZE, engine->rank, &setup.begin, &setup.end);
    rank_tasks *tasks = calloc(1, sizeof *tasks);
    double *tables = calloc(3 * SIZE, sizeof *tables);
    *tasks = (rank_tasks){.bench = bench, .team = &team};
    parley_status status = run_stretches(tasks, &setup, task, tables, error);
    if (engine->rank == 0)
        memcpy(bench->v, tables, sizeof bench->v);
    free(tables);
    free(tasks);
    return status;
}

static parley_status count_body(pl_engine *engine, void *context, parley_error *error) {
    return with_tasks(engine, context, run_task, error);
}

/* Returns the number of reads that were checked. */
static uint64_t count_reads(const pl_exchange_type *type, const char *words, uint64_t bound, unsigned ranks,
                            bool sparse) {
    static bench bench;
    parley_status status[MOST_RANKS];
    parley_error error[MOST_RANKS];
    for (unsigned i = 0; i < WORKERS * BLOCKS; i++)
        list[i] = (uint32_t)own_entry(i % WORKERS, i / WORKERS);
    memset(&bench, 0, sizeof bench);
    bench.type = type;
    bench.words = words;
    bench.staleness = bound;
    reads_list = sparse;
    run_ranks(ranks, 2, DEADLINE, count_body, &bench, status, error);
    for (unsigned r = 0; r < ranks; r++)
        assert_done(status[r], &error[r]);
    assert_int_equal(bench.too_old, 0);
    assert_int_equal(bench.wrong, 0);
    for (unsigned k = 0; k < WORKERS; k++)
        for (unsigned b = 0; b < BLOCKS; b++)
            assert_true(bench.v[own_entry(k, b)] == STRETCHES * CLOCKS);
    return bench.reads;
}

static void no_read_is_older_than_the_bound(void **state) {
    (void)state;
    static const char *const words[] = {"staleness=0 clocks=9", "staleness=1", "staleness=3", "staleness=async"};
    static const uint64_t bounds[] = {0, 1, 3, PL_UNBOUNDED};
    uint64_t checked = 0;
    for (unsigned w = 0; w < COUNT(words); w++)
        for (unsigned ranks = 1; ranks <= 3; ranks += FEWER)
            checked += count_reads(&pl_exchange_server, words[w], bounds[w], ranks, (w + ranks) % 2);
    assert_true(checked >= 1000000 / SANITIZED);
}

static void servers_of_their_own_keep_the_bound(void **state) {
    (void)state;
    for (unsigned servers = 1; servers <= 2; servers++)
        for (unsigned ranks = servers + 1; ranks <= servers + 2; ranks++) {
            char words[60];
            snprintf(words, sizeof words, "staleness=1 servers=%u", servers);
            assert_true(count_reads(&pl_exchange_server, words, 1, ranks, ranks % 2) > 0);
        }
}

/* Every worker has its own updates at once, and at a park those of all others. */
static void peers_lose_no_update(void **state) {
    (void)state;
    for (unsigned ranks = 1; ranks <= 3; ranks++)
        assert_true(count_reads(&pl_exchange_peer, "", PL_UNBOUNDED, ranks, ranks % 2) > 0);
}

/* The slow worker takes as long as ten clocks of another one, or until that has ended. */
static void wait_for_others(bench *bench) {
    unsigned until = atomic_load(&bench->worked[0]) + 10;
    for (unsigned i = 0; i < 2000 && atomic_load(&bench->worked[0]) < until; i++)
        pl_sleep(1e-4);
}

/* With one update less than all, the others stand for it: every clock adds the whole sum to the first entry. */
static parley_status late_worker(rank_tasks *tasks, unsigned k, parley_error *error) {
    const pl_exchange_async *async = tasks->exchange->type->async;
    unsigned self = tasks->team->first + k;
    uint32_t index[1] = {5};
    double value[1] = {1.0};
    pl_update update = {.shrink = 1.0, .weight = 1.0, .count = 1, .index = index, .value = value};
    pl_turn turn = {.clock = tasks->stretch.from, .share = 1.0, .fraction = 1.0 / WORKERS};
    for (;;) {
        parley_status status = async->swap(tasks->exchange, k, &turn, error);
        if (status != PARLEY_OK)
            return status;
        if (turn.clock >= tasks->stretch.until)
            return async->leave(tasks->exchange, k, error);
        /* Others may have gone on since its request was answered. The late worker goes to the furthest clock of all
         * owners, of which some may be behind. */
        double clocks = turn.v[5] / WORKERS;
        bool behind = self != tasks->bench->slow && clocks < (double)turn.clock - 1e-6;
        if (fabs(clocks - round(clocks)) > 1e-6 || behind)
            atomic_fetch_add(&tasks->bench->wrong, 1);
        if (self == tasks->bench->slow)
            wait_for_others(tasks->bench);
        atomic_fetch_add(&tasks->bench->worked[self], 1);
        turn.update = &update;
        turn.last = turn.clock + 1 >= tasks->stretch.until;
    }
}

static void late_task(void *context, unsigned task) {
    rank_tasks *tasks = context;
    pl_engine *engine = tasks->team->engine;
    parley_error *error = &tasks->error[task];
    tasks->status[task] = task == tasks->team->hosted ? tasks->exchange->type->async->serve(tasks->exchange, error)
                                                      : late_worker(tasks, task, error);
    if (tasks->status[task] != PARLEY_OK)
        engine->type->fail(engine, error);
}

static parley_status late_body(pl_engine *engine, void *context, parley_error *error) {
    return with_tasks(engine, context, late_task, error);
}

static void backups_do_without_the_slowest_worker(void **state) {
    (void)state;
    reads_list = false;
    for (unsigned ranks = 1; ranks <= 3; ranks++) {
        static bench bench;
        parley_status status[MOST_RANKS];
        parley_error error[MOST_RANKS];
        memset(&bench, 0, sizeof bench);
        bench.type = &pl_exchange_server;
        bench.words = "staleness=0 backups=1";
        bench.slow = 3;
        run_ranks(ranks, 2, DEADLINE, late_body, &bench, status, error);
        for (unsigned r = 0; r < ranks; r++)
            assert_done(status[r], &error[r]);
        assert_int_equal(bench.wrong, 0);
        assert_close(bench.v[5], WORKERS * STRETCHES * CLOCKS, 1e-9);
        assert_true(bench.worked[3] < STRETCHES * CLOCKS / 2);
    }
}

/* Trains on several ranks; the model's weights. */
static void weights_of(const parley_data *data, const char *words, unsigned ranks, double *w, uint64_t size) {
    parley_settings settings = settings_of(words);
    outcome outcome = {.data = data, .settings = &settings};
    train(&outcome, ranks, 2);
    for (unsigned r = 0; r < ranks; r++)
        assert_done(outcome.status[r], &outcome.error[r]);
    memcpy(w, pl_linear(outcome.model[0])->coef, size * sizeof *w);
    free_models(&outcome);
}

static void staleness_0_gives_the_bits_of_rounds(void **state) {
    (void)state;
    static const char *const rounds[] = {"preset=minibatch-sgd rounds=30 evaluate_every=30",
                                         "preset=ma-sgd local_epochs=0.5 rounds=8 evaluate_every=8",
                                         "preset=minibatch-sgd rounds=30 evaluate_every=30 l1_ratio=0.5 lambda=0.01"};
    static const char *const clocks[] = {
        "preset=ps-sync clocks=10 rounds=3 evaluate_every=3",
        "preset=ma-sgd exchange=server local_epochs=0.5 clocks=2 rounds=4 evaluate_every=4",
        "preset=ps-sync clocks=10 rounds=3 evaluate_every=3 l1_ratio=0.5 lambda=0.01"};
    static const char *const servers[] = {"", "servers=1", "servers=2"};
    parley_data *data = random_data(wide);
    uint64_t size = data->x.columns;
    double *a = malloc(size * sizeof *a), *b = malloc(size * sizeof *b);
    for (unsigned i = 0; i < COUNT(rounds); i += FEWER)
        for (unsigned ranks = 1; ranks <= 3; ranks += FEWER) {
            char words[200];
            snprintf(words, sizeof words, "loss=logistic workers=5 gap=0 %s", rounds[i]);
            weights_of(data, words, 1, a, size);
            snprintf(words, sizeof words, "loss=logistic workers=5 gap=0 %s %s", clocks[i], servers[ranks - 1]);
            weights_of(data, words, ranks, b, size);
            assert_memory_equal(a, b, size * sizeof *a);
        }
    free(a);
    free(b);
    parley_data_free(data);
}

/* Rounds of several clocks with staleness 0 are asynchronous and repeat, so that a resumed run must have the same bits.
 */
static void a_run_resumes_from_a_park(void **state) {
    (void)state;
    static const char *const methods[] = {"preset=ps-sync clocks=5",
                                          "preset=ma-sgd exchange=server local_epochs=0.5 clocks=2"};
    parley_data *data = random_data(wide);
    uint64_t size = data->x.columns;
    double *a = malloc(size * sizeof *a), *b = malloc(size * sizeof *b);
    for (unsigned i = 0; i < COUNT(methods); i += FEWER) {
        char folder[] = "/tmp/parley-server-XXXXXX", words[300];
        assert_non_null(mkdtemp(folder));
        snprintf(words, sizeof words, "loss=logistic workers=5 gap=0 evaluate_every=3 rounds=6 %s", methods[i]);
        weights_of(data, words, 2, a, size);
        snprintf(
            words, sizeof words,
            "loss=logistic workers=5 gap=0 evaluate_every=3 rounds=3 checkpoint=%s checkpoint_every=1r servers=1 %s",
            folder, methods[i]);
        weights_of(data, words, 2, b, size);
        snprintf(words, sizeof words, "rounds=6 resume=%s servers=2", folder);
        weights_of(data, words, 3, b, size);
        assert_memory_equal(a, b, size * sizeof *a);
        snprintf(words, sizeof words, "rm -r %s", folder);
        assert_int_equal(system(words), 0);
    }
    free(a);
    free(b);
    parley_data_free(data);
}

/* With the rates that they choose. */
static void presets_reach_the_optimum(void **state) {
    (void)state;
    static const char *const presets[] = {"petuum",   "petuum*",   "angel",       "ps-sync",
                                          "ps-async", "ps-backup", "hogwild-peer"};
    parley_data *data = random_data((sample_plan){.seed = 9, .rows = 2000, .columns = 30, .density = 0.3});
    outcome best = train_once(data, "loss=logistic lambda=0.01 gap=1e-9");
    for (unsigned i = 0; i < COUNT(presets); i += SOME * FEWER) {
        char words[200];
        snprintf(words, sizeof words, "loss=logistic lambda=0.01 preset=%s workers=4 gap=0 rounds=300", presets[i]);
        parley_settings settings = settings_of(words);
        outcome outcome = {.data = data, .settings = &settings};
        train(&outcome, 1, 2);
        assert_done(outcome.status[0], &outcome.error[0]);
        assert_at_most(outcome.summary[0].objective, 1.01 * best.summary[0].objective);
        free_models(&outcome);
    }
    free_models(&best);
    parley_data_free(data);
}

/* Counts the lines of a log about looks between parks, whose clocks grow by at least `every`. */
static unsigned count_looks(const char *path, unsigned every, double *least) {
    static char line[1 << 16];
    unsigned looks = 0;
    unsigned long long clock, last = 0;
    double value;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    *least = INFINITY;
    while (fgets(line, sizeof line, file)) {
        const char *at = strstr(line, "\"clock\":");
        if (strncmp(line, "{\"event\":\"view\"", 15) != 0)
            continue;
        assert_int_equal(sscanf(at, "\"clock\":%llu,\"validation\":%lf", &clock, &value), 2);
        assert_true(clock >= last + every);
        last = clock;
        *least = fmin(*least, value);
        looks++;
    }
    fclose(file);
    return looks;
}

/* Parks are 100,000 clocks apart. The coordinator sees the validation loss fall and rise long before one. */
static void the_coordinator_validates_between_parks(void **state) {
    (void)state;
    parley_data *data = random_data((sample_plan){.seed = 9, .rows = 400, .columns = 300, .density = 0.1});
    for (unsigned ranks = 1; ranks <= 3; ranks += FEWER) {
        char folder[] = "/tmp/parley-server-XXXXXX", words[400];
        assert_non_null(mkdtemp(folder));
        snprintf(words, sizeof words,
                 "loss=logistic lambda=1e-9 preset=hogwild-peer workers=4 clocks=100000 rounds=3 view_every=2 gap=0 "
                 "schedule=constant rate=0.05 validation_fraction=0.2 metric=loss patience=15 log=%s/log",
                 folder);
        parley_settings settings = settings_of(words);
        outcome outcome = {.data = data, .settings = &settings};
        train(&outcome, ranks, 2);
        double least;
        snprintf(words, sizeof words, "%s/log", folder);
        unsigned looks = count_looks(words, 2, &least);
        for (unsigned r = 0; r < ranks; r++) {
            const parley_summary *summary = &outcome.summary[r];
            assert_done(outcome.status[r], &outcome.error[r]);
            assert_int_equal(summary->stop, PARLEY_PATIENCE);
            assert_true(summary->epochs < 10000 && isfinite(summary->objective)); /* less than one stretch */
            assert_at_most(summary->validation, least);
            assert_memory_equal(pl_linear(outcome.model[r])->coef, pl_linear(outcome.model[0])->coef,
                                data->x.columns * sizeof(double));
        }
        assert_true(looks > 15);
        free_models(&outcome);
        snprintf(words, sizeof words, "rm -r %s", folder);
        assert_int_equal(system(words), 0);
    }
    parley_data_free(data);
}

/* The rate falls no further than its schedule says, because it was given. */
static void a_rate_that_diverges_ends_the_run(void **state) {
    (void)state;
    static const char *const presets[] = {"minibatch-sgd", "ps-async"};
    parley_data *data = random_data((sample_plan){.seed = 9, .rows = 2000, .columns = 30, .density = 0.3});
    for (unsigned i = 0; i < COUNT(presets); i++) {
        char words[200];
        snprintf(words, sizeof words,
                 "loss=logistic lambda=0.01 preset=%s workers=4 rate=1000 schedule=inverse-sqrt evaluate_every=2",
                 presets[i]);
        outcome outcome = train_once(data, words);
        assert_int_equal(outcome.summary[0].stop, PARLEY_STALLED);
        assert_string_equal(outcome.summary[0].suggestion, "a smaller --rate");
        free_models(&outcome);
    }
    parley_data_free(data);
}

static void *ask_to_stop(void *unused) {
    pl_sleep(0.3);
    pl_stop_ask();
    return unused;
}

/* One worker would take hours for its clock; the others wait for it, or at the park. */
static void a_stop_ends_all_waits_within_two_seconds(void **state) {
    (void)state;
    static const char *const methods[] = {"preset=petuum*", "preset=ps-async", "preset=ps-backup",
                                          "preset=hogwild-peer", "preset=ps-sync clocks=10"};
    parley_data *data = random_data((sample_plan){.seed = 2, .rows = 4000, .columns = 200, .density = 0.2});
    for (unsigned i = 0; i < COUNT(methods); i += SOME)
        for (unsigned ranks = 1; ranks <= 2; ranks++) {
            char words[200];
            pthread_t thread;
            snprintf(words, sizeof words, "loss=logistic workers=4 gap=0 straggler=@3:1000000 %s", methods[i]);
            parley_settings settings = settings_of(words);
            outcome outcome = {.data = data, .settings = &settings};
            pl_stop_enter();
            double began = pl_now();
            assert_int_equal(pthread_create(&thread, NULL, ask_to_stop, NULL), 0);
            train(&outcome, ranks, 2);
            pthread_join(thread, NULL);
            pl_stop_leave(PARLEY_OK);
            assert_at_most(pl_now() - began, 0.3 + 2.0 + (SOME > 1 ? 10.0 : 1.0));
            for (unsigned r = 0; r < ranks; r++)
                assert_true(outcome.status[r] == PARLEY_STOPPED ||
                            (outcome.status[r] == PARLEY_OK && outcome.summary[r].stop == PARLEY_INTERRUPTED));
            free_models(&outcome);
        }
    parley_data_free(data);
}

static parley_status short_body(pl_engine *engine, void *context, parley_error *error) {
    outcome *outcome = context;
    unsigned r = engine->rank;
    return pl_train_rank(engine, outcome->data, outcome->settings, NULL, NULL, &outcome->model[r], &outcome->summary[r],
                         error);
}

static void a_worker_that_is_stuck_is_named(void **state) {
    (void)state;
    parley_data *data = random_data((sample_plan){.seed = 2, .rows = 4000, .columns = 200, .density = 0.2});
    parley_settings settings =
        settings_of("loss=logistic workers=4 gap=0 straggler=@3:1000000 preset=petuum* rounds=5 deadline=1");
    outcome outcome = {.data = data, .settings = &settings};
    run_ranks(2, 2, 1.0, short_body, &outcome, outcome.status, outcome.error);
    for (unsigned r = 0; r < 2; r++) {
        assert_int_equal(outcome.status[r], PARLEY_NO_PEER);
        assert_string_equal(outcome.error[r].sentence, "worker 3 on rank 1 has not made clock 1 for 1 seconds");
    }
    free_models(&outcome);
    parley_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_read_is_older_than_the_bound),
        cmocka_unit_test(servers_of_their_own_keep_the_bound),
        cmocka_unit_test(peers_lose_no_update),
        cmocka_unit_test(backups_do_without_the_slowest_worker),
        cmocka_unit_test(staleness_0_gives_the_bits_of_rounds),
        cmocka_unit_test(a_run_resumes_from_a_park),
        cmocka_unit_test(presets_reach_the_optimum),
        cmocka_unit_test(the_coordinator_validates_between_parks),
        cmocka_unit_test(a_rate_that_diverges_ends_the_run),
        cmocka_unit_test(a_stop_ends_all_waits_within_two_seconds),
        cmocka_unit_test(a_worker_that_is_stuck_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
