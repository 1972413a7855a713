/* test_shared_memory.c: exchanges through shared memory: tables that fill it many times, sparse updates, and the same
 * bits and the same counts of bytes as by messages. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "engine/shared_memory.h"
#include "support.h"

#define WORKERS 6
#define MOST_SIZE 400000
#define TURNS 20

static double *tables[WORKERS];
static uint32_t *index_of[WORKERS];
static double *value_of[WORKERS];
static uint64_t filled[WORKERS];

typedef struct trip {
    uint64_t size, bounds[MOST_RANKS + 1];
    bool sparse;
    bool kept, offered; /* in an arena; offered before another exchange */
    unsigned written;   /* how often the table was offered before another barrier */
    double *table[MOST_RANKS];
    uint64_t sent[MOST_RANKS], received[MOST_RANKS];
} trip;

/* Workers 0 to 2 change everything; the others change one entry in twenty. */
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

/* A copy where other ranks can read it. */
static void *keep(pl_engine *engine, const void *from, uint64_t count, uint64_t size) {
    void *copy = pl_shared_alloc(engine, count, size);
    return memcpy(copy, from, count * size);
}

/* Reduces and then gathers a table that all ranks share, or each rank's own. */
static parley_status reduce_and_gather(pl_engine *engine, trip *trip, const pl_addend *addends, parley_error *error) {
    double *table = trip->table[engine->rank];
    void *shared = NULL;
    parley_status status = trip->kept ? pl_shared_table(engine, trip->size * sizeof *table, &shared, error) : PARLEY_OK;
    if (status == PARLEY_OK && trip->offered) {
        pl_reduce_offer(engine, WORKERS, addends, trip->size, 1, trip->bounds);
        status = pl_barrier(engine, error);
    }
    double *out = shared ? shared : table;
    if (status == PARLEY_OK)
        status = pl_reduce_scatter(engine, WORKERS, addends, trip->size, 1, trip->bounds, out, error);
    if (status == PARLEY_OK && trip->written > 0) {
        pl_gather_offer(engine, out);
        status = pl_barrier(engine, error);
    }
    if (trip->written > 1)
        pl_gather_offer(engine, out);
    uint32_t met = shared ? engine->shared->barriers : 0;
    if (status == PARLEY_OK)
        status = pl_all_gather(engine, out, trip->bounds, error);
    if (shared && (met == engine->shared->barriers) != (trip->written == 1)) /* there was exactly one barrier */
        return pl_fail(error, PARLEY_BAD_INPUT, "%u barriers for a table that was written %u times",
                       engine->shared->barriers - met, trip->written);
    if (shared)
        memcpy(table, shared, trip->size * sizeof *table);
    pl_shared_free(engine, shared);
    return status;
}

/* Each rank hosts whole workers, as leaves of the tree. */
static parley_status trip_body(pl_engine *engine, void *context, parley_error *error) {
    trip *trip = context;
    pl_node nodes[PL_TREE_NODES];
    pl_addend addends[PL_TREE_NODES];
    unsigned first = pl_host_begin(WORKERS, engine->ranks, engine->rank);
    unsigned end = pl_host_begin(WORKERS, engine->ranks, engine->rank + 1);
    unsigned count = pl_tree_nodes(WORKERS, first, end, nodes);
    double *made = trip->kept ? pl_shared_alloc(engine, count * trip->size + 1, sizeof *made)
                              : calloc(count * trip->size + 1, sizeof *made);
    void *copies[2 * PL_TREE_NODES] = {0};
    for (unsigned n = 0; n < count; n++) {
        unsigned k = nodes[n].begin;
        double *out = made + n * trip->size;
        addends[n] = (pl_addend){.values = out};
        memcpy(out, tables[k], trip->size * sizeof *out);
        if (nodes[n].end - k == 1 && k >= 3 && trip->sparse)
            addends[n] = (pl_addend){
                .index = index_of[k], .value = value_of[k], .count = filled_below(k, trip->size), .share = 1.0};
        if (addends[n].index && trip->kept) {
            addends[n].index = copies[2 * n] = keep(engine, index_of[k], addends[n].count, sizeof(uint32_t));
            addends[n].value = copies[2 * n + 1] = keep(engine, value_of[k], addends[n].count, sizeof(double));
        }
        double leaves[WORKERS];
        for (uint64_t j = 0; j < trip->size && nodes[n].end - k > 1; j++) {
            for (unsigned i = k; i < nodes[n].end; i++)
                leaves[i - k] = tables[i][j];
            pl_tree_add(leaves, nodes[n].end - k, 1, 1);
            out[j] = leaves[0];
        }
    }
    parley_status status = reduce_and_gather(engine, trip, addends, error);
    trip->sent[engine->rank] = engine->bytes_sent;
    trip->received[engine->rank] = engine->bytes_received;
    for (unsigned n = 0; n < 2 * count; n++)
        pl_shared_free(engine, copies[n]);
    pl_shared_free(engine, made);
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
        for (unsigned ranks = 2; ranks <= MOST_RANKS; ranks += sizes[s] == MOST_SIZE ? MOST_RANKS - 2 : 1)
            for (unsigned form = 0; form < 16; form++) {
                trip by_memory = {.size = sizes[s],
                                  .sparse = form & 1,
                                  .kept = form & 4,
                                  .offered = form & 8,
                                  .written = (form + s + ranks) % 3},
                     messages;
                for (unsigned r = 0; r <= ranks; r++)
                    by_memory.bounds[r] = form & 2 ? (r ? sizes[s] : 0) : sizes[s] * r / ranks;
                messages = by_memory;
                messages.kept = messages.offered = false;
                messages.written = 0;
                travel(&by_memory, ranks, true);
                travel(&messages, ranks, false);
                for (unsigned r = 0; r < ranks; r++)
                    assert_memory_equal(by_memory.table[r], messages.table[r], sizes[s] * sizeof(double));
                land(&by_memory, ranks);
                land(&messages, ranks);
            }
}

static void as_many_bytes_are_counted_as_by_messages(void **state) {
    (void)state;
    for (unsigned ranks = 2; ranks <= MOST_RANKS; ranks++) {
        trip by_memory = {.size = 3 * PL_CHUNK, .sparse = false}, messages;
        uint64_t sent[2] = {0}, received[2] = {0};
        for (unsigned r = 0; r <= ranks; r++)
            by_memory.bounds[r] = by_memory.size * r / ranks;
        messages = by_memory;
        travel(&by_memory, ranks, true);
        travel(&messages, ranks, false);
        for (unsigned r = 0; r < ranks; r++) {
            sent[0] += by_memory.sent[r];
            sent[1] += messages.sent[r];
            received[0] += by_memory.received[r];
            received[1] += messages.received[r];
        }
        assert_true(sent[0] == received[0] && sent[1] == received[1]);
        assert_true(sent[0] > 0 && sent[0] <= sent[1] + sent[1] / 10 && sent[1] <= sent[0] + sent[0] / 10);
        land(&by_memory, ranks);
        land(&messages, ranks);
    }
}

/* Whether an allocation after a free comes from the arena, before and after the next barrier, and its contents. */
typedef struct arena {
    bool before[MOST_RANKS], after[MOST_RANKS], clean[MOST_RANKS], huge[MOST_RANKS];
    double heard[MOST_RANKS];
} arena;

static parley_status arena_body(pl_engine *engine, void *context, parley_error *error) {
    arena *arena = context;
    unsigned rank = engine->rank, other = (rank + 1) % engine->ranks;
    double *first = pl_shared_alloc(engine, 1000, sizeof *first);
    for (unsigned i = 0; i < 1000; i++)
        first[i] = rank + 1.0;
    memcpy(pl_shared_slot(engine, rank, sizeof *first), first, sizeof *first);
    pl_shared_free(engine, first);
    double *second = pl_shared_alloc(engine, 1000, sizeof *second);
    parley_status status = pl_barrier(engine, error);
    double *third = pl_shared_alloc(engine, 1000, sizeof *third);
    void *huge = pl_shared_alloc(engine, 1u << 20, sizeof *third);
    memcpy(&arena->heard[rank], pl_shared_slot(engine, other, sizeof *first), sizeof *first);
    arena->before[rank] = pl_shared_contains(engine, second);
    arena->after[rank] = pl_shared_contains(engine, third);
    arena->huge[rank] = pl_shared_contains(engine, huge);
    arena->clean[rank] = third[0] == 0 && third[999] == 0;
    pl_shared_free(engine, second);
    pl_shared_free(engine, third);
    pl_shared_free(engine, huge);
    return status == PARLEY_OK ? pl_barrier(engine, error) : status;
}

static void freed_arena_memory_is_reused_after_a_barrier(void **state) {
    (void)state;
    arena arena = {0};
    parley_status status[3];
    parley_error error[3];
    ranks_share_memory = true;
    run_ranks(3, 1, DEADLINE, arena_body, &arena, status, error);
    for (unsigned r = 0; r < 3; r++) {
        assert_done(status[r], &error[r]);
        assert_false(arena.before[r]);
        assert_true(arena.after[r] && arena.clean[r]);
        assert_false(arena.huge[r]);
        assert_true(arena.heard[r] == (r + 1) % 3 + 1.0);
    }
}

/* Allocates and frees beside a block that stays, far more often than there is room for. */
static parley_status turnover_body(pl_engine *engine, void *context, parley_error *error) {
    unsigned *kept = context;
    parley_status status = PARLEY_OK;
    void *below = pl_shared_alloc(engine, 1000, 1), *stays = pl_shared_alloc(engine, 1000, 1);
    pl_shared_free(engine, below);
    for (unsigned i = 0; i < TURNS && status == PARLEY_OK; i++) {
        void *first = pl_shared_alloc(engine, 1u << 20, 1), *second = pl_shared_alloc(engine, 1u << 20, 1);
        kept[engine->rank] += pl_shared_contains(engine, first) && pl_shared_contains(engine, second);
        pl_shared_free(engine, i % 2 ? first : second);
        pl_shared_free(engine, i % 2 ? second : first);
        status = pl_barrier(engine, error);
    }
    pl_shared_free(engine, stays);
    return status;
}

static void freed_blocks_are_reused_while_others_stay(void **state) {
    (void)state;
    unsigned kept[3] = {0};
    parley_status status[3];
    parley_error error[3];
    ranks_share_memory = true;
    run_ranks(3, 1, DEADLINE, turnover_body, kept, status, error);
    for (unsigned r = 0; r < 3; r++) {
        assert_done(status[r], &error[r]);
        assert_int_equal(kept[r], TURNS);
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
        cmocka_unit_test(freed_arena_memory_is_reused_after_a_barrier),
        cmocka_unit_test(freed_blocks_are_reused_while_others_stay),
        cmocka_unit_test(sharing_memory_that_is_not_there_is_told),
    };
    return cmocka_run_group_tests_name("shared memory", tests, make_tables, drop_tables);
}
