/* test_common.c: exchanges by memory that ranks share: tables that fill it many times over, updates that are sparse,
 * and the same bits and the same counts of bytes as by messages. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "engine/common.h"
#include "support.h"

#define WORKERS 6
#define MOST_SIZE 400000

static double *tables[WORKERS];
static uint32_t *index_of[WORKERS];
static double *value_of[WORKERS];
static uint64_t filled[WORKERS];

typedef struct trip {
    uint64_t size, bounds[MOST_RANKS + 1];
    bool sparse;
    double *table[MOST_RANKS];
    uint64_t sent[MOST_RANKS], received[MOST_RANKS];
} trip;

/* Workers 0 to 2 change everything; the others one entry in twenty. */
static int make_tables(void **state) {
    (void)state;
    pl_stream stream = pl_stream_make(71, 0, 0);
    for (unsigned k = 0; k < WORKERS; k++) {
        tables[k] = calloc(MOST_SIZE, sizeof *tables[k]);
        index_of[k] = calloc(MOST_SIZE, sizeof *index_of[k]);
        value_of[k] = calloc(MOST_SIZE, sizeof *value_of[k]);
        for (uint64_t j = 0; j < MOST_SIZE; j++) {
            if (k >= 3 && pl_random_unit(&stream) > 0.05)
                continue;
            tables[k][j] = pl_random_normal(&stream);
            index_of[k][filled[k]] = (uint32_t)j;
            value_of[k][filled[k]++] = tables[k][j];
        }
    }
    return 0;
}

static int drop_tables(void **state) {
    (void)state;
    for (unsigned k = 0; k < WORKERS; k++) {
        free(tables[k]);
        free(index_of[k]);
        free(value_of[k]);
    }
    return 0;
}

static uint64_t filled_below(unsigned k, uint64_t size) {
    uint64_t count = 0;
    while (count < filled[k] && index_of[k][count] < size)
        count++;
    return count;
}

/* Each rank hosts whole workers, as leaves of the tree; reduced, then gathered. */
static parley_status trip_body(pl_engine *engine, void *context, parley_error *error) {
    trip *trip = context;
    pl_node nodes[PL_TREE_NODES];
    pl_addend addends[PL_TREE_NODES];
    unsigned first = pl_host_begin(WORKERS, engine->ranks, engine->rank);
    unsigned end = pl_host_begin(WORKERS, engine->ranks, engine->rank + 1);
    unsigned count = pl_tree_nodes(WORKERS, first, end, nodes);
    double *made = malloc((count * trip->size + 1) * sizeof *made);
    for (unsigned n = 0; n < count; n++) {
        unsigned k = nodes[n].begin;
        double *out = made + n * trip->size;
        addends[n] = (pl_addend){.values = out};
        memcpy(out, tables[k], trip->size * sizeof *out);
        if (nodes[n].end - k == 1 && k >= 3 && trip->sparse)
            addends[n] = (pl_addend){
                .index = index_of[k], .value = value_of[k], .count = filled_below(k, trip->size), .share = 1.0};
        double leaves[WORKERS];
        for (uint64_t j = 0; j < trip->size && nodes[n].end - k > 1; j++) {
            for (unsigned i = k; i < nodes[n].end; i++)
                leaves[i - k] = tables[i][j];
            pl_tree_add(leaves, nodes[n].end - k, 1, 1);
            out[j] = leaves[0];
        }
    }
    double *table = trip->table[engine->rank];
    parley_status status = pl_reduce_scatter(engine, WORKERS, addends, trip->size, 1, trip->bounds, table, error);
    if (status == PARLEY_OK)
        status = pl_all_gather(engine, table, trip->bounds, error);
    trip->sent[engine->rank] = engine->bytes_sent;
    trip->received[engine->rank] = engine->bytes_received;
    free(made);
    return status;
}

static void travel(trip *trip, unsigned ranks, bool share) {
    parley_status status[MOST_RANKS];
    parley_error error[MOST_RANKS];
    ranks_share_memory = share;
    for (unsigned r = 0; r < ranks; r++)
        trip->table[r] = calloc(trip->size + 1, sizeof *trip->table[r]);
    run_ranks(ranks, 1, DEADLINE, trip_body, trip, status, error);
    for (unsigned r = 0; r < ranks; r++)
        assert_done(status[r], &error[r]);
}

static void land(trip *trip, unsigned ranks) {
    for (unsigned r = 0; r < ranks; r++)
        free(trip->table[r]);
}

static void tables_of_any_size_have_the_bits_that_messages_give_them(void **state) {
    (void)state;
    static const uint64_t sizes[] = {1, 5, 4096, 32768 * 3 + 1, MOST_SIZE};
    for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (unsigned ranks = 2; ranks <= MOST_RANKS; ranks++)
            for (unsigned form = 0; form < 4; form++) {
                trip commons = {.size = sizes[s], .sparse = form % 2}, messages;
                for (unsigned r = 0; r <= ranks; r++)
                    commons.bounds[r] = form < 2 ? sizes[s] * r / ranks : r ? sizes[s] : 0;
                messages = commons;
                travel(&commons, ranks, true);
                travel(&messages, ranks, false);
                for (unsigned r = 0; r < ranks; r++)
                    assert_memory_equal(commons.table[r], messages.table[r], sizes[s] * sizeof(double));
                land(&commons, ranks);
                land(&messages, ranks);
            }
}

static void as_many_bytes_are_counted_as_by_messages(void **state) {
    (void)state;
    for (unsigned ranks = 2; ranks <= MOST_RANKS; ranks++) {
        trip commons = {.size = 3 * PL_CHUNK, .sparse = false}, messages;
        uint64_t sent[2] = {0}, received[2] = {0};
        for (unsigned r = 0; r <= ranks; r++)
            commons.bounds[r] = commons.size * r / ranks;
        messages = commons;
        travel(&commons, ranks, true);
        travel(&messages, ranks, false);
        for (unsigned r = 0; r < ranks; r++) {
            sent[0] += commons.sent[r];
            sent[1] += messages.sent[r];
            received[0] += commons.received[r];
            received[1] += messages.received[r];
        }
        assert_true(sent[0] == received[0] && sent[1] == received[1]);
        assert_true(sent[0] > 0 && sent[0] <= sent[1] + sent[1] / 10 && sent[1] <= sent[0] + sent[0] / 10);
        land(&commons, ranks);
        land(&messages, ranks);
    }
}

static void sharing_memory_that_is_not_there_is_told(void **state) {
    (void)state;
    parley_status status = PARLEY_NO_MEMORY;
    for (int64_t n = 0; status != PARLEY_OK && n < 20; n++) {
        pl_engine *engines[3] = {0};
        parley_error error = {0};
        assert_done(pl_threads_open(engines, 3, 1, DEADLINE, &error), &error);
        pl_memory_fail_after(n);
        status = pl_threads_share(engines, &error);
        pl_memory_fail_after(-1);
        assert_true(status == PARLEY_OK || (status == PARLEY_NO_MEMORY && *error.sentence));
        for (unsigned r = 0; r < 3; r++)
            pl_engine_close(engines[r]);
    }
    assert_int_equal(status, PARLEY_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_of_any_size_have_the_bits_that_messages_give_them),
        cmocka_unit_test(as_many_bytes_are_counted_as_by_messages),
        cmocka_unit_test(sharing_memory_that_is_not_there_is_told),
    };
    return cmocka_run_group_tests_name("common", tests, make_tables, drop_tables);
}
