/* test_exchange.c: updates are reduced to the owners and distributed: the same bits for sparse and dense updates and
 * for any number of ranks, and the traffic that each exchange counts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "engine/collective.h"
#include "method/exchange.h"
#include "support.h"

#undef fail /* cmocka's macro: engines have a member of this name */

#define MOST_WORKERS 12
#define SIZE 9000        /* more than two blocks */
#define LONG_SIZE 150000 /* more than two chunks for each of two owners */
#define WIDTH 2

static double dense[MOST_WORKERS][WIDTH * SIZE], packed[MOST_WORKERS][SIZE], share[MOST_WORKERS];
static uint32_t support[MOST_WORKERS][SIZE];
static uint64_t supported[MOST_WORKERS];

/* Worker k's change touches about every (k + 2)-th entry of the first column; the second is full. */
static int make_updates(void **state) {
    (void)state;
    pl_stream stream = pl_stream_make(41, 0, 0);
    for (unsigned k = 0; k < MOST_WORKERS; k++) {
        share[k] = k % 3 == 0 ? 1.0 : 0.1 + pl_random_unit(&stream);
        for (uint32_t j = 0; j < SIZE; j++) {
            dense[k][SIZE + j] = pl_random_normal(&stream);
            if (pl_random_below(&stream, k + 2) != 0)
                continue;
            dense[k][j] = pl_random_normal(&stream) * pow(10.0, 6.0 * pl_random_unit(&stream));
            support[k][supported[k]] = j;
            packed[k][supported[k]++] = dense[k][j];
        }
    }
    return 0;
}

/* Assignments of ranks to hosts that matter. */
static unsigned hosts[][MOST_RANKS] = {{0, 0, 1},    {0, 1, 1},       {0, 0, 1, 1},    {0, 1, 1, 1},
                                       {0, 0, 1, 2}, {0, 0, 1, 1, 2}, {0, 0, 0, 1, 1}, {0, 1, 1, 2, 2}};
static const unsigned host_ranks[] = {3, 3, 4, 4, 4, 5, 5, 5};

typedef struct trial {
    const pl_exchange_type *type;
    unsigned *host;
    unsigned workers;
    uint64_t width;
    bool sparse, wide, whole, full; /* wide: sparse, but with room for all entries; full: only the second column */
    double change[MOST_RANKS][WIDTH * SIZE];
    double spread[MOST_RANKS][SIZE];
    double sums[MOST_RANKS][PL_OWN_SCALARS], largest[MOST_RANKS];
    uint64_t begin[MOST_RANKS], end[MOST_RANKS];
    uint64_t sent[MOST_RANKS], received[MOST_RANKS];
} trial;

static void add_entries(void *context, uint64_t begin, uint64_t end, double *sums) {
    const double *values = context;
    for (uint64_t j = begin; j < end; j++) {
        sums[0] += values[j];
        sums[1] += values[j] * values[j];
    }
}

static void largest_entry(void *context, uint64_t begin, uint64_t end, double *sums) {
    const double *values = context;
    for (uint64_t j = begin; j < end; j++)
        sums[0] = fmax(sums[0], fabs(values[j]));
}

/* A team that only knows which rank hosts which worker, which is all that an exchange needs. */
static pl_team make_team(pl_engine *engine, unsigned workers) {
    unsigned first = pl_host_begin(workers, engine->ranks, engine->rank);
    unsigned hosted = pl_host_begin(workers, engine->ranks, engine->rank + 1) - first;
    return (pl_team){.engine = engine, .workers = workers, .first = first, .hosted = hosted, .lanes = 1};
}

static parley_status open_exchange(const pl_exchange_type *type, pl_team *team, uint64_t entries, uint64_t width,
                                   bool whole, pl_exchange **out, parley_error *error) {
    parley_settings settings = settings_of("");
    pl_setup setup = {.team = team, .settings = &settings, .entries = entries, .width = width};
    pl_owners_of_v owners = pl_exchange_owners(type, whole, team->engine);
    pl_exchange_slice(&owners, entries, team->engine->rank, &setup.begin, &setup.end);
    return type->open(&setup, whole, out, error);
}

static parley_status exchange_body(pl_engine *engine, void *context, parley_error *error) {
    trial *trial = context;
    pl_team team = make_team(engine, trial->workers);
    pl_update updates[MOST_WORKERS];
    pl_exchange *exchange;
    unsigned r = engine->rank;
    engine->host = trial->host;
    parley_status status = open_exchange(trial->type, &team, SIZE, trial->width, trial->whole, &exchange, error);
    if (status != PARLEY_OK)
        return status;
    for (unsigned k = 0; k < team.hosted; k++) {
        unsigned worker = team.first + k;
        updates[k] = trial->wide ? (pl_update){.count = supported[worker],
                                               .index = support[worker],
                                               .value = dense[worker],
                                               .wide = true}
                     : trial->sparse
                         ? (pl_update){.count = supported[worker], .index = support[worker], .value = packed[worker]}
                         : (pl_update){.count = trial->width * SIZE, .value = dense[worker] + (trial->full ? SIZE : 0)};
    }
    trial->begin[r] = pl_exchange_begin(exchange);
    trial->end[r] = pl_exchange_end(exchange);
    status = pl_exchange_reduce(exchange, exchange->width, updates, share + team.first, trial->change[r], error);
    memcpy(trial->spread[r] + trial->begin[r], trial->change[r] + trial->begin[r],
           (trial->end[r] - trial->begin[r]) * sizeof *trial->spread[r]);
    if (status == PARLEY_OK)
        status = pl_exchange_sum(exchange, add_entries, trial->change[r], trial->sums[r], error);
    if (status == PARLEY_OK)
        status = pl_exchange_largest(exchange, largest_entry, trial->change[r], &trial->largest[r], error);
    if (status == PARLEY_OK)
        status = pl_exchange_spread(exchange, trial->spread[r], error);
    trial->sent[r] = exchange->sent;
    trial->received[r] = exchange->received;
    trial->type->close(exchange);
    return status;
}

static void run_trial(trial *trial, unsigned ranks, unsigned threads) {
    parley_status status[MOST_RANKS];
    parley_error error[MOST_RANKS];
    memset(trial->change, 0, sizeof trial->change);
    memset(trial->spread, 0, sizeof trial->spread);
    run_ranks(ranks, threads, DEADLINE, exchange_body, trial, status, error);
    for (unsigned r = 0; r < ranks; r++)
        assert_done(status[r], &error[r]);
}

static double plain_sum(unsigned begin, unsigned end, uint64_t i) {
    if (end - begin == 1)
        return share[begin] * dense[begin][i];
    unsigned split = pl_tree_split(begin, end);
    return plain_sum(begin, split, i) + plain_sum(split, end, i);
}

static trial now;

static void assert_reduced(unsigned ranks) {
    for (unsigned r = 0; r < ranks; r++) {
        assert_int_equal(now.begin[r], r == 0 ? 0 : now.end[r - 1]);
        for (uint64_t c = 0; c < now.width; c++)
            for (uint64_t j = now.begin[r]; j < now.end[r]; j++) {
                double expected = plain_sum(0, now.workers, c * SIZE + j);
                assert_memory_equal(&now.change[r][c * SIZE + j], &expected, sizeof expected);
            }
        assert_memory_equal(now.spread[r], now.spread[0], sizeof now.spread[0]);
    }
    assert_int_equal(now.end[ranks - 1], SIZE);
}

static void sparse_and_dense_updates_reduce_to_the_same_bits_on_any_ranks(void **state) {
    (void)state;
    for (unsigned form = 0; form < 6; form++)
        for (now.workers = 1; now.workers <= MOST_WORKERS; now.workers += now.workers == 4 ? 3 : 1)
            for (unsigned ranks = 1; ranks <= MOST_RANKS; ranks++) {
                now.sparse = form % 3 == 1;
                now.wide = form % 3 == 2;
                now.type = pl_exchanges[form / 3];
                now.width = 1;
                run_trial(&now, ranks, 1 + ranks % 2);
                assert_reduced(ranks);
            }
}

/* Bytes of the sums over some workers, in a rank's slice. */
static uint64_t bytes_of_slice(pl_node workers, const uint64_t *bounds, unsigned rank) {
    pl_cursor cursor = {.region = pl_region_of(SIZE, 1, bounds, rank)};
    uint64_t begin, count, bytes = 0;
    while (pl_cursor_next(&cursor, &begin, &count)) {
        uint64_t filled = 0;
        for (uint64_t j = begin; j < begin + count; j++)
            filled += plain_sum(workers.begin, workers.end, j) != 0;
        bytes += filled * 4 <= count ? filled * 10 : count * 8;
    }
    return bytes;
}

/* The formulas of docs/exchange.md. */
static uint64_t bytes_by_formula(unsigned ranks, unsigned rank, const uint64_t *bounds) {
    pl_node nodes[PL_TREE_NODES], all = {0, now.workers};
    unsigned last = rank + 1, children = 0;
    uint64_t bytes = 0;
    for (unsigned bit = 1; now.type->one_owner && rank + bit < ranks && !(rank & bit); bit *= 2, children++)
        last = rank + 2 * bit < ranks ? rank + 2 * bit : ranks;
    unsigned count = pl_tree_nodes(now.workers, pl_host_begin(now.workers, ranks, rank),
                                   pl_host_begin(now.workers, ranks, last), nodes);
    for (unsigned s = 0; s < ranks; s++)
        for (unsigned n = 0; n < count && s != rank; n++)
            bytes += bytes_of_slice(nodes[n], bounds, s);
    return bytes +
           (now.type->one_owner ? children : ranks - 1) * bytes_of_slice(all, bounds, now.type->one_owner ? 0 : rank);
}

static void ranks_send_what_the_formulas_say(void **state) {
    (void)state;
    now = (trial){.width = 1};
    for (unsigned form = 0; form < 6; form++)
        for (now.workers = 4; now.workers <= MOST_WORKERS; now.workers += now.workers == 4 ? 3 : 5)
            for (unsigned ranks = 2; ranks <= 4; ranks++) {
                uint64_t bounds[MOST_RANKS + 1] = {0}, sent = 0, received = 0, all = 0;
                now.sparse = form % 3 == 1;
                now.wide = form % 3 == 2;
                now.type = pl_exchanges[form / 3];
                run_trial(&now, ranks, 1);
                for (unsigned r = 0; r < ranks; r++)
                    bounds[r + 1] = now.end[r];
                for (unsigned r = 0; r < ranks; r++) {
                    assert_int_equal(now.sent[r], bytes_by_formula(ranks, r, bounds));
                    sent += now.sent[r];
                    received += now.received[r];
                    all += dense_bytes(now.type, now.workers, ranks, r, SIZE);
                }
                assert_int_equal(sent, received);
                assert_true(sent <= all);
            }
}

/* Entries of the slices for which a rank of host h is the deputy, on other hosts or its own. */
static uint64_t entries_for(const unsigned *host, unsigned ranks, unsigned rank, bool elsewhere) {
    unsigned first = rank, here = 0;
    while (first > 0 && host[first - 1] == host[rank])
        first--;
    for (unsigned r = 0; r < ranks; r++)
        here += host[r] == host[rank];
    uint64_t entries = 0;
    for (unsigned owner = 0, number = 0; owner < ranks; owner++) {
        number = owner > 0 && host[owner] == host[owner - 1] ? number + 1 : 0;
        if (number % here == rank - first && (host[owner] != host[rank]) == elsewhere)
            entries += now.end[owner] - now.begin[owner];
    }
    return entries;
}

static void what_leaves_a_host_is_one_sum(void **state) {
    (void)state;
    now = (trial){.type = &pl_exchange_allreduce, .width = 1, .full = true};
    for (unsigned h = 0; h < sizeof hosts / sizeof *hosts; h++) {
        unsigned ranks = host_ranks[h], last = hosts[h][ranks - 1];
        now.workers = ranks;
        now.host = hosts[h];
        run_trial(&now, ranks, 1);
        for (unsigned r = 0, begin = 0, end; r < ranks; r++) {
            pl_node nodes[PL_TREE_NODES];
            begin = r > 0 && hosts[h][r] == hosts[h][r - 1] ? begin : r;
            for (end = r + 1; end < ranks && hosts[h][end] == hosts[h][r];)
                end++;
            uint64_t others = end - begin - 1, mine = now.end[r] - now.begin[r], near = 0;
            uint64_t sums = pl_tree_nodes(ranks, begin, end, nodes), far = entries_for(hosts[h], ranks, r, true);
            for (unsigned s = begin; s < end; s++)
                near += s == r ? 0 : entries_for(hosts[h], ranks, s, true) + entries_for(hosts[h], ranks, s, false);
            assert_int_equal(now.sent[r], 8 * (near + sums * far + mine * (others + last) + others * far));
        }
    }
    now = (trial){0};
}

static void ranks_that_add_up_by_hosts_get_the_same_bits(void **state) {
    (void)state;
    for (unsigned h = 0; h < sizeof hosts / sizeof *hosts; h++)
        for (unsigned form = 0; form < 4; form++)
            for (now.workers = 4; now.workers <= MOST_WORKERS; now.workers += now.workers == 4 ? 3 : 5) {
                now.sparse = form & 1;
                now.wide = false;
                now.type = pl_exchanges[form / 2];
                now.width = now.sparse ? 1 : WIDTH;
                now.host = hosts[h];
                run_trial(&now, host_ranks[h], 1);
                assert_reduced(host_ranks[h]);
            }
    now.host = NULL;
}

/* Tables of several chunks with any support, which are sent as sparse or as dense packets. */
typedef struct long_trial {
    const pl_exchange_type *type;
    unsigned workers;
    unsigned *host;
    const uint32_t *index[MOST_WORKERS];
    double *value[MOST_WORKERS];
    uint64_t count[MOST_WORKERS];
    double *sum[MOST_RANKS];
} long_trial;

static parley_status long_body(pl_engine *engine, void *context, parley_error *error) {
    long_trial *trial = context;
    pl_team team = make_team(engine, trial->workers);
    pl_update updates[MOST_WORKERS];
    pl_exchange *exchange = NULL;
    engine->host = trial->host;
    for (unsigned k = 0; k < team.hosted; k++)
        updates[k] = (pl_update){.count = trial->count[team.first + k],
                                 .index = trial->index[team.first + k],
                                 .value = trial->value[team.first + k]};
    parley_status status = open_exchange(trial->type, &team, LONG_SIZE, 1, false, &exchange, error);
    if (status == PARLEY_OK)
        status =
            pl_exchange_reduce(exchange, exchange->width, updates, share + team.first, trial->sum[engine->rank], error);
    if (status == PARLEY_OK)
        status = pl_exchange_spread(exchange, trial->sum[engine->rank], error);
    trial->type->close(exchange);
    return status;
}

/* Worker k's update with this percentage of entries; above 30 it is dense. */
static void make_long_update(long_trial *trial, unsigned k, double percent) {
    pl_stream stream = pl_stream_make(77, k, (uint64_t)percent);
    uint32_t *index = (uint32_t *)trial->index[k];
    if (!trial->value[k])
        trial->value[k] = malloc(LONG_SIZE * sizeof(double));
    if (!index)
        trial->index[k] = index = malloc(LONG_SIZE * sizeof *index);
    trial->count[k] = 0;
    for (uint32_t j = 0; j < LONG_SIZE; j++)
        if (pl_random_unit(&stream) * 100.0 < percent) {
            index[trial->count[k]] = j;
            trial->value[k][trial->count[k]++] = pl_random_normal(&stream);
        }
}

static void free_long(long_trial *trial) {
    for (unsigned k = 0; k < MOST_WORKERS; k++) {
        free((void *)trial->index[k]);
        free(trial->value[k]);
    }
    for (unsigned r = 0; r < MOST_RANKS; r++)
        free(trial->sum[r]);
}

static long_trial open_long(void) {
    long_trial trial = {0};
    for (unsigned r = 0; r < MOST_RANKS; r++)
        trial.sum[r] = calloc(LONG_SIZE, sizeof(double));
    return trial;
}

static void tables_of_many_chunks_have_the_same_bits_whatever_their_support(void **state) {
    (void)state;
    static const double percents[] = {0.01, 3, 24, 60, 100};
    long_trial trial = open_long();
    double *alone = malloc(LONG_SIZE * sizeof *alone);
    parley_status status[MOST_RANKS];
    parley_error error[MOST_RANKS];
    for (unsigned p = 0; p < sizeof percents / sizeof *percents; p++)
        for (unsigned ranks = 1; ranks <= MOST_RANKS; ranks++) {
            trial.workers = p % 2 ? 7 : 4;
            trial.host = ranks == 4 ? hosts[2] : ranks == 5 ? hosts[7] : NULL;
            trial.type = (p + ranks) % 3 == 0 ? &pl_exchange_driver : &pl_exchange_allreduce;
            for (unsigned k = 0; k < trial.workers; k++)
                make_long_update(&trial, k, k == 2 ? 100.0 : percents[p]);
            run_ranks(ranks, 1, DEADLINE, long_body, &trial, status, error);
            for (unsigned r = 0; r < ranks; r++) {
                assert_done(status[r], &error[r]);
                if (ranks == 1)
                    memcpy(alone, trial.sum[0], LONG_SIZE * sizeof *alone);
                assert_memory_equal(trial.sum[r], alone, LONG_SIZE * sizeof *alone);
            }
        }
    free(alone);
    free_long(&trial);
}

static parley_status losing_body(pl_engine *engine, void *context, parley_error *error) {
    long_trial *trial = context;
    parley_status status = pl_barrier(engine, error); /* all ranks are there; then memory runs out somewhere */
    return status == PARLEY_OK ? long_body(engine, trial, error) : status;
}

static void memory_that_runs_out_on_one_rank_ends_the_exchange_on_all(void **state) {
    (void)state;
    long_trial trial = open_long();
    bool done = false;
    trial.workers = 7;
    for (unsigned k = 0; k < trial.workers; k++)
        make_long_update(&trial, k, k % 2 ? 3.0 : 100.0);
    for (int64_t n = 0; !done && n < 2000; n += 1 + n / 8) {
        parley_status status[4];
        parley_error error[4];
        unsigned failed = 0;
        trial.type = n % 2 ? &pl_exchange_driver : &pl_exchange_allreduce;
        trial.host = n % 3 == 0 ? hosts[2] : NULL;
        pl_memory_fail_after(30 + n); /* opening four engines makes fewer allocations */
        run_ranks(4, 1, DEADLINE, losing_body, &trial, status, error);
        pl_memory_fail_after(-1);
        for (unsigned r = 0; r < 4; r++) {
            failed += status[r] != PARLEY_OK;
            if (status[r] != PARLEY_OK)
                assert_true(status[r] == PARLEY_NO_MEMORY && *error[r].sentence);
        }
        done = failed == 0;
    }
    assert_true(done);
    free_long(&trial);
}

static void updates_of_several_columns_reduce_alike(void **state) {
    (void)state;
    now.sparse = now.wide = false;
    now.width = WIDTH;
    for (unsigned form = 0; form < 2; form++)
        for (unsigned ranks = 1; ranks <= 4; ranks++) {
            now.type = &pl_exchange_allreduce;
            now.whole = form;
            now.workers = 5;
            run_trial(&now, ranks, 2);
            assert_reduced(ranks);
        }
    now.whole = false;
}

static void sums_over_entries_have_the_same_bits_on_any_ranks(void **state) {
    (void)state;
    double sums[PL_OWN_SCALARS], largest = 0;
    now = (trial){.type = &pl_exchange_allreduce, .workers = 4, .width = 1};
    run_trial(&now, 1, 2);
    memcpy(sums, now.sums[0], sizeof sums);
    for (uint64_t j = 0; j < SIZE; j++)
        largest = fmax(largest, fabs(now.change[0][j]));
    for (unsigned ranks = 1; ranks <= 4; ranks++)
        for (unsigned e = 0; e < pl_exchanges_count; e++) {
            now.type = pl_exchanges[e];
            run_trial(&now, ranks, 1);
            for (unsigned r = 0; r < ranks; r++) {
                assert_memory_equal(now.sums[r], sums, sizeof sums);
                assert_true(now.largest[r] == largest);
            }
        }
}

static void one_owner_has_all_entries(void **state) {
    (void)state;
    for (unsigned form = 0; form < 2; form++) {
        now = (trial){
            .type = form ? &pl_exchange_allreduce : &pl_exchange_driver, .workers = 4, .width = 1, .whole = form};
        run_trial(&now, 3, 1);
        assert_true(now.begin[0] == 0 && now.end[0] == SIZE);
        assert_true(now.begin[1] == now.end[1] && now.begin[2] == now.end[2]);
    }
    now = (trial){.type = &pl_exchange_allreduce, .workers = 4, .width = 1};
    run_trial(&now, 3, 1);
    for (unsigned r = 0; r < 3; r++) {
        assert_true(now.end[r] > now.begin[r]);
        assert_int_equal(now.begin[r] % PL_BLOCK, 0);
    }
}

static void what_is_sent_is_received(void **state) {
    (void)state;
    for (unsigned e = 0; e < pl_exchanges_count; e++)
        for (unsigned workers = 1; workers <= 40; workers++) {
            uint64_t sent = 0, received = 0, update = 840 * 360, table = 840 * 720;
            for (unsigned k = 0; k < workers; k++) {
                uint64_t out = 1, in = 1;
                pl_exchanges[e]->traffic(workers, k, update, table, &out, &in);
                sent += out;
                received += in;
            }
            assert_int_equal(sent, received);
            if (workers == 1)
                assert_int_equal(sent, 0);
            if (pl_exchanges[e] == &pl_exchange_driver) /* each worker except 0 sends one update and gets one table */
                assert_int_equal(sent, (workers - 1) * (update + table));
        }
}

static void traffic_is_as_the_formulas_say(void **state) {
    (void)state;
    uint64_t sent, received;
    pl_exchange_allreduce.traffic(8, 3, 8000, 16000, &sent, &received); /* (K-1)/K of update and of table */
    assert_int_equal(sent, 7000 + 14000);
    assert_int_equal(received, 7000 + 14000);
    pl_exchange_driver.traffic(8, 0, 8000, 16000, &sent, &received); /* children 1, 2, 4 */
    assert_int_equal(sent, 3 * 16000);
    assert_int_equal(received, 3 * 8000);
    pl_exchange_driver.traffic(8, 4, 8000, 16000, &sent, &received); /* children 5, 6 */
    assert_int_equal(sent, 8000 + 2 * 16000);
    assert_int_equal(received, 2 * 8000 + 16000);
    pl_exchange_driver.traffic(8, 7, 8000, 16000, &sent, &received);
    assert_int_equal(sent, 8000);
    assert_int_equal(received, 16000);
}

static void failed_allocations_are_told(void **state) {
    (void)state;
    pl_engine *engines[2];
    assert_int_equal(pl_threads_open(engines, 2, 1, DEADLINE, NULL), PARLEY_OK);
    pl_team team = make_team(engines[0], 4);
    parley_status status = PARLEY_NO_MEMORY;
    for (int64_t n = 0; status != PARLEY_OK && n < 100; n++) {
        pl_exchange *exchange = NULL;
        parley_error error = {0};
        pl_memory_fail_after(n);
        status = open_exchange(&pl_exchange_allreduce, &team, SIZE, 1, false, &exchange, &error);
        pl_memory_fail_after(-1);
        assert_true(status == PARLEY_OK || (status == PARLEY_NO_MEMORY && *error.sentence));
        pl_tables_close(exchange);
    }
    assert_int_equal(status, PARLEY_OK);
    pl_tables_close(NULL);
    pl_engine_close(engines[0]);
    pl_engine_close(engines[1]);
}

/* Rows of three entries, which blocks and strips cut anywhere. */
static void rows_of_a_table_reduce_like_their_entries(void **state) {
    (void)state;
    static uint32_t rows[SIZE / 3];
    static double values[SIZE], full[SIZE], sparse_sum[SIZE], full_sum[SIZE];
    pl_engine *engine;
    pl_exchange *exchange;
    parley_error error;
    uint64_t named = 0;
    for (uint32_t row = 0; row < SIZE / 3; row += 1 + row % 4, named++) {
        rows[named] = row;
        for (unsigned c = 0; c < 3; c++)
            full[3 * row + c] = values[3 * named + c] = dense[0][SIZE + 3 * row + c];
    }
    assert_int_equal(pl_threads_open(&engine, 1, 1, 5.0, &error), PARLEY_OK);
    pl_team team = make_team(engine, 2);
    assert_int_equal(open_exchange(&pl_exchange_allreduce, &team, SIZE, 1, false, &exchange, &error), PARLEY_OK);
    pl_update by_rows = {.count = 3 * named, .index = rows, .row = 3, .value = values},
              whole = {.count = SIZE, .value = full};
    assert_int_equal(
        pl_exchange_reduce(exchange, exchange->width, (pl_update[]){by_rows, by_rows}, share, sparse_sum, &error),
        PARLEY_OK);
    assert_int_equal(
        pl_exchange_reduce(exchange, exchange->width, (pl_update[]){whole, whole}, share, full_sum, &error), PARLEY_OK);
    assert_memory_equal(sparse_sum, full_sum, sizeof full_sum);
    pl_tables_close(exchange);
    pl_engine_close(engine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_a_table_reduce_like_their_entries),
        cmocka_unit_test(sparse_and_dense_updates_reduce_to_the_same_bits_on_any_ranks),
        cmocka_unit_test(ranks_send_what_the_formulas_say),
        cmocka_unit_test(what_leaves_a_host_is_one_sum),
        cmocka_unit_test(ranks_that_add_up_by_hosts_get_the_same_bits),
        cmocka_unit_test(tables_of_many_chunks_have_the_same_bits_whatever_their_support),
        cmocka_unit_test(memory_that_runs_out_on_one_rank_ends_the_exchange_on_all),
        cmocka_unit_test(updates_of_several_columns_reduce_alike),
        cmocka_unit_test(sums_over_entries_have_the_same_bits_on_any_ranks),
        cmocka_unit_test(one_owner_has_all_entries),
        cmocka_unit_test(what_is_sent_is_received),
        cmocka_unit_test(traffic_is_as_the_formulas_say),
        cmocka_unit_test(failed_allocations_are_told),
    };
    return cmocka_run_group_tests_name("exchange", tests, make_updates, NULL);
}
