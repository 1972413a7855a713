/* test_collective.c: collectives: the same bits for any number of ranks, and failures that reach all ranks. */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "engine/collective.h"
#include "support.h"

#undef fail /* cmocka's macro: engines have a member of this name */

#define MOST_WORKERS 20
#define SIZE 37
#define WIDTH 3

static double leaves[MOST_WORKERS][WIDTH * SIZE];

static int fill_leaves(void **state) {
    (void)state;
    ranks_share_memory = false;
    pl_stream stream = pl_stream_make(31, 0, 0);
    for (unsigned k = 0; k < MOST_WORKERS; k++)
        for (unsigned i = 0; i < WIDTH * SIZE; i++)
            leaves[k][i] = pl_random_normal(&stream) * pow(10.0, 8.0 * pl_random_unit(&stream));
    return 0;
}

static int share_memory(void **state) {
    (void)state;
    ranks_share_memory = true;
    return 0;
}

/* The sum of the tree as documented: split at the largest power of two below the number of workers. */
static double plain_sum(unsigned begin, unsigned end, unsigned i) {
    if (end - begin == 1)
        return leaves[begin][i];
    unsigned half = 1;
    while (2 * half < end - begin)
        half *= 2;
    return plain_sum(begin, begin + half, i) + plain_sum(begin + half, end, i);
}

static bool is_node(pl_node node, unsigned begin, unsigned end) {
    if (node.begin == begin && node.end == end)
        return true;
    if (end - begin == 1)
        return false;
    unsigned split = pl_tree_split(begin, end);
    return node.end <= split ? is_node(node, begin, split) : node.begin >= split && is_node(node, split, end);
}

static void nodes_cover_a_block_with_the_fewest_parts(void **state) {
    (void)state;
    pl_node nodes[PL_TREE_NODES];
    for (unsigned workers = 1; workers <= 70; workers++)
        for (unsigned ranks = 1; ranks <= 9; ranks++)
            for (unsigned r = 0; r < ranks; r++) {
                unsigned at = pl_host_begin(workers, ranks, r), end = pl_host_begin(workers, ranks, r + 1);
                unsigned count = pl_tree_nodes(workers, at, end, nodes);
                for (unsigned n = 0; n < count; n++) {
                    assert_int_equal(nodes[n].begin, at);
                    assert_true(is_node(nodes[n], 0, workers));
                    at = nodes[n].end;
                    if (n > 0) /* two neighbours that form a node would have been one node */
                        assert_false(is_node((pl_node){nodes[n - 1].begin, nodes[n].end}, 0, workers));
                }
                assert_int_equal(at, end);
            }
    assert_int_equal(pl_tree_nodes(36, 6, 12, nodes), 2);
    assert_int_equal(pl_tree_nodes(128, 42, 85, nodes), 6);
    assert_int_equal(pl_tree_nodes(65536, 1, 65535, nodes), 30);
    assert_int_equal(pl_tree_nodes(16, 8, 8, nodes), 0);
}

static void ranks_host_every_worker_once(void **state) {
    (void)state;
    for (unsigned workers = 1; workers < 100; workers++)
        for (unsigned ranks = 1; ranks < 12; ranks++) {
            assert_int_equal(pl_host_begin(workers, ranks, 0), 0);
            assert_int_equal(pl_host_begin(workers, ranks, ranks), workers);
            for (unsigned r = 0; r < ranks; r++) {
                unsigned hosted = pl_host_begin(workers, ranks, r + 1) - pl_host_begin(workers, ranks, r);
                assert_true(hosted == workers / ranks || hosted == (workers + ranks - 1) / ranks);
            }
        }
    assert_int_equal(pl_host_begin(65536, 65536, 65535), 65535); /* the product has more than 32 bits */
}

static void tree_sums_have_the_documented_order(void **state) {
    (void)state;
    for (unsigned count = 1; count <= MOST_WORKERS; count++) {
        double values[MOST_WORKERS * 5];
        for (unsigned k = 0; k < count; k++)
            for (unsigned c = 0; c < 5; c++)
                values[5 * k + c] = leaves[k][c];
        pl_tree_add(values, count, 5, 4); /* the fifth value must not change */
        for (unsigned c = 0; c < 5; c++) {
            double expected = c < 4 ? plain_sum(0, count, c) : leaves[0][c];
            assert_memory_equal(&values[c], &expected, sizeof expected);
        }
    }
}

/* What every rank of a run does, and its results. */
typedef struct meeting {
    unsigned workers;
    double sums[MOST_RANKS][WIDTH];
    double change[MOST_RANKS][WIDTH * SIZE];
    double table[MOST_RANKS][SIZE];
    uint64_t bounds[MOST_RANKS + 1];
} meeting;

static parley_status sum_body(pl_engine *engine, void *context, parley_error *error) {
    meeting *meeting = context;
    double values[MOST_WORKERS * WIDTH] = {0};
    unsigned first = pl_host_begin(meeting->workers, engine->ranks, engine->rank);
    unsigned end = pl_host_begin(meeting->workers, engine->ranks, engine->rank + 1);
    for (unsigned k = first; k < end; k++)
        for (unsigned c = 0; c < WIDTH; c++)
            values[(k - first) * WIDTH + c] = leaves[k][c];
    return pl_sum_workers(engine, meeting->workers, values, WIDTH, meeting->sums[engine->rank], error);
}

static parley_status reduce_body(pl_engine *engine, void *context, parley_error *error) {
    meeting *meeting = context;
    pl_node nodes[PL_TREE_NODES];
    unsigned workers = meeting->workers, rank = engine->rank;
    unsigned count = pl_tree_nodes(workers, pl_host_begin(workers, engine->ranks, rank),
                                   pl_host_begin(workers, engine->ranks, rank + 1), nodes);
    double *sums = malloc((count + 1) * WIDTH * SIZE * sizeof *sums);
    for (unsigned n = 0; n < count; n++)
        for (unsigned i = 0; i < WIDTH * SIZE; i++)
            sums[n * WIDTH * SIZE + i] = plain_sum(nodes[n].begin, nodes[n].end, i);
    pl_addend addends[PL_TREE_NODES];
    for (unsigned n = 0; n < count; n++)
        addends[n] = (pl_addend){.values = sums + n * WIDTH * SIZE};
    parley_status status =
        pl_reduce_scatter(engine, workers, addends, SIZE, WIDTH, meeting->bounds, meeting->change[rank], error);
    free(sums);
    for (uint64_t j = meeting->bounds[rank]; j < meeting->bounds[rank + 1]; j++)
        meeting->table[rank][j] = meeting->change[rank][j];
    return status == PARLEY_OK ? pl_all_gather(engine, meeting->table[rank], meeting->bounds, error) : status;
}

static void meet(unsigned ranks, meeting *meeting, pl_body body) {
    parley_status status[MOST_RANKS];
    parley_error error[MOST_RANKS];
    run_ranks(ranks, 1, DEADLINE, body, meeting, status, error);
    for (unsigned r = 0; r < ranks; r++)
        assert_done(status[r], &error[r]);
}

static void sums_over_workers_have_the_same_bits_on_any_ranks(void **state) {
    (void)state;
    static meeting meeting;
    for (meeting.workers = 1; meeting.workers <= MOST_WORKERS; meeting.workers++)
        for (unsigned ranks = 1; ranks <= MOST_RANKS; ranks++) {
            meet(ranks, &meeting, sum_body);
            for (unsigned r = 0; r < ranks; r++)
                for (unsigned c = 0; c < WIDTH; c++) {
                    double expected = plain_sum(0, meeting.workers, c);
                    assert_memory_equal(&meeting.sums[r][c], &expected, sizeof expected);
                }
        }
}

/* Equal slices, one owner, or slices of which some are empty. */
static void cut(meeting *meeting, unsigned ranks, unsigned form) {
    for (unsigned r = 0; r <= ranks; r++)
        meeting->bounds[r] = form == 0   ? (uint64_t)SIZE * r / ranks
                             : form == 1 ? (r ? SIZE : 0)
                                         : (r < ranks ? r / 2 : SIZE);
}

static void reduced_and_gathered_tables_have_the_same_bits_on_any_ranks(void **state) {
    (void)state;
    static meeting meeting;
    for (meeting.workers = 1; meeting.workers <= MOST_WORKERS; meeting.workers++)
        for (unsigned ranks = 1; ranks <= MOST_RANKS; ranks++) {
            memset(meeting.change, 0, sizeof meeting.change);
            memset(meeting.table, 0, sizeof meeting.table);
            cut(&meeting, ranks, (meeting.workers + ranks) % 3);
            meet(ranks, &meeting, reduce_body);
            for (unsigned r = 0; r < ranks; r++)
                for (unsigned i = 0; i < WIDTH * SIZE; i++) {
                    bool mine = i % SIZE >= meeting.bounds[r] && i % SIZE < meeting.bounds[r + 1];
                    double expected = plain_sum(0, meeting.workers, i), slice = mine ? expected : 0.0;
                    assert_memory_equal(&meeting.change[r][i], &slice, sizeof slice);
                    if (i < SIZE)
                        assert_memory_equal(&meeting.table[r][i], &expected, sizeof expected);
                }
        }
}

static parley_status talk_body(pl_engine *engine, void *context, parley_error *error) {
    parley_status status = PARLEY_OK;
    unsigned peer = engine->rank ^ 1;
    (void)context;
    for (unsigned i = 0; i < 500 && status == PARLEY_OK; i++) {
        uint64_t sent[2] = {i, i * 2}, got[2] = {0};
        status = engine->type->post(engine, peer, 7, &sent[0], sizeof sent[0], error);
        if (status == PARLEY_OK)
            status = engine->type->post(engine, peer, 8, &sent[1], sizeof sent[1], error);
        if (status == PARLEY_OK) /* channels do not mix, in any order of taking */
            status = engine->type->take(engine, peer, 8, &got[1], sizeof got[1], error);
        if (status == PARLEY_OK)
            status = engine->type->take(engine, peer, 7, &got[0], sizeof got[0], error);
        if (status == PARLEY_OK && memcmp(sent, got, sizeof got) != 0)
            status = pl_fail(error, PARLEY_BROKEN, "message %u was mixed up", i);
    }
    return status;
}

static void messages_keep_their_order_and_channel(void **state) {
    (void)state;
    static meeting meeting;
    meet(2, &meeting, talk_body);
}

static parley_status barrier_body(pl_engine *engine, void *context, parley_error *error) {
    double *arrived = context;
    if (engine->rank == 2)
        nanosleep(&(struct timespec){0, 50000000}, NULL);
    arrived[engine->rank] = pl_now();
    parley_status status = pl_barrier(engine, error);
    arrived[MOST_RANKS + engine->rank] = pl_now();
    return status;
}

static void nobody_leaves_a_barrier_before_the_last_arrives(void **state) {
    (void)state;
    double times[2 * MOST_RANKS];
    parley_status status[MOST_RANKS];
    parley_error error[MOST_RANKS];
    run_ranks(MOST_RANKS, 1, DEADLINE, barrier_body, times, status, error);
    for (unsigned r = 0; r < MOST_RANKS; r++) {
        assert_done(status[r], &error[r]);
        assert_at_most(times[2], times[MOST_RANKS + r]);
    }
}

static parley_status failing_body(pl_engine *engine, void *context, parley_error *error) {
    (void)context;
    if (engine->rank == 1)
        return pl_fail(error, PARLEY_BAD_INPUT, "part.svm:17: column index 0");
    return pl_barrier(engine, error);
}

static void a_rank_that_fails_ends_the_others_with_its_sentence(void **state) {
    (void)state;
    for (unsigned ranks = 2; ranks <= MOST_RANKS; ranks++) {
        parley_status status[MOST_RANKS];
        parley_error error[MOST_RANKS];
        double began = pl_now();
        run_ranks(ranks, 1, DEADLINE, failing_body, NULL, status, error);
        assert_at_most(pl_now() - began, DEADLINE / 2);
        for (unsigned r = 0; r < ranks; r++) {
            assert_int_equal(status[r], PARLEY_BAD_INPUT);
            assert_int_equal(error[r].status, PARLEY_BAD_INPUT);
            assert_string_equal(error[r].sentence, "part.svm:17: column index 0");
        }
    }
}

static parley_status both_failing_body(pl_engine *engine, void *context, parley_error *error) {
    parley_error mine;
    (void)context;
    pl_fail(&mine, PARLEY_BROKEN, "rank %u is broken", engine->rank);
    if (engine->rank < 2)
        engine->type->fail(engine, &mine);
    return pl_barrier(engine, error);
}

static void the_first_failure_is_the_one_that_is_told(void **state) {
    (void)state;
    parley_status status[3];
    parley_error error[3];
    run_ranks(3, 1, DEADLINE, both_failing_body, NULL, status, error);
    for (unsigned r = 0; r < 3; r++)
        assert_string_equal(error[r].sentence, error[0].sentence);
}

static parley_status silent_body(pl_engine *engine, void *context, parley_error *error) {
    (void)context;
    return engine->rank == 1 ? PARLEY_OK : pl_barrier(engine, error);
}

static void a_rank_that_never_posts_is_named_at_the_deadline(void **state) {
    (void)state;
    parley_status status[3];
    parley_error error[3];
    run_ranks(3, 1, 0.2, silent_body, NULL, status, error);
    assert_int_equal(status[1], PARLEY_OK);
    for (unsigned r = 0; r < 3; r += 2) {
        assert_int_equal(status[r], PARLEY_NO_PEER);
        assert_string_equal(error[r].sentence, "rank 1 sent nothing for 0.2 seconds");
    }
}

static parley_status mismatched_body(pl_engine *engine, void *context, parley_error *error) {
    double values[2] = {0}, sums[2];
    (void)context;
    return pl_sum_workers(engine, 2, values, 1 + engine->rank, sums, error);
}

static void a_message_of_the_wrong_size_is_told(void **state) {
    (void)state;
    parley_status status[2];
    parley_error error[2];
    run_ranks(2, 1, DEADLINE, mismatched_body, NULL, status, error);
    assert_int_equal(status[0], PARLEY_BROKEN);
    assert_string_equal(error[0].sentence, error[1].sentence);
    assert_true(strcmp(error[0].sentence, "rank 1 sent 24 bytes instead of 16") == 0 ||
                strcmp(error[0].sentence, "rank 0 sent 16 bytes instead of 24") == 0);
}

static void failed_allocations_of_engines_are_told(void **state) {
    (void)state;
    parley_status status = PARLEY_NO_MEMORY;
    for (int64_t n = 0; status != PARLEY_OK && n < 100; n++) {
        pl_engine *engines[3] = {0};
        parley_error error = {0};
        pl_memory_fail_after(n);
        status = pl_threads_open(engines, 3, 2, DEADLINE, &error);
        pl_memory_fail_after(-1);
        assert_true(status == PARLEY_OK || (status == PARLEY_NO_MEMORY && *error.sentence));
        for (unsigned r = 0; r < 3 && status == PARLEY_OK; r++)
            pl_engine_close(engines[r]);
    }
    assert_int_equal(status, PARLEY_OK);
    pl_engine_close(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_cover_a_block_with_the_fewest_parts),
        cmocka_unit_test(ranks_host_every_worker_once),
        cmocka_unit_test(tree_sums_have_the_documented_order),
        cmocka_unit_test(sums_over_workers_have_the_same_bits_on_any_ranks),
        cmocka_unit_test(reduced_and_gathered_tables_have_the_same_bits_on_any_ranks),
        cmocka_unit_test(messages_keep_their_order_and_channel),
        cmocka_unit_test(nobody_leaves_a_barrier_before_the_last_arrives),
        cmocka_unit_test(a_rank_that_fails_ends_the_others_with_its_sentence),
        cmocka_unit_test(the_first_failure_is_the_one_that_is_told),
        cmocka_unit_test(a_rank_that_never_posts_is_named_at_the_deadline),
        cmocka_unit_test(a_message_of_the_wrong_size_is_told),
        cmocka_unit_test(failed_allocations_of_engines_are_told),
    };
    int failed = cmocka_run_group_tests_name("collective, by messages", tests, fill_leaves, NULL);
    return failed + cmocka_run_group_tests_name("collective, by shared memory", tests, share_memory, NULL);
}
