/* test_block_order.c: blocks of rows, and the order in which solvers visit them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linear/rows/block_order.h"
#include "support.h"

#define SEED 5

static parley_data *data;

static int make_data(void **state) {
    if (make_test_folder(state) != 0)
        return 1;
    data = random_data((sample_plan){.seed = 3, .rows = 3000, .columns = 60, .density = 0.15});
    return 0;
}

static int free_data(void **state) {
    parley_data_free(data);
    return remove_test_folder(state);
}

/* Blocks of 20 kB have about 2500 entries of the 27,000. */
static void open_turns(pl_block_order *turns, const pl_team *team, unsigned worker, double epochs) {
    parley_error error;
    assert_int_equal(pl_block_order_open(turns, team, worker, data, 0.02, epochs, &error), PARLEY_OK);
}

typedef void (*team_check)(const pl_team *team);
typedef struct checked {
    unsigned workers, lanes;
    team_check check;
} checked;

static parley_status check_body(pl_engine *engine, void *context, parley_error *error) {
    const checked *checked = context;
    pl_team team;
    parley_status status = pl_team_open(&team, engine, data, checked->workers, checked->lanes, SEED, error);
    if (status == PARLEY_OK)
        checked->check(&team);
    pl_team_close(&team);
    return status;
}

static void with_team(unsigned workers, unsigned lanes, team_check check) {
    checked checked = {workers, lanes, check};
    parley_status status[1];
    parley_error error[1];
    run_ranks(1, 1, 30, check_body, &checked, status, error);
    assert_int_equal(status[0], PARLEY_OK);
}

/* Marks the rows of buckets, each of which must not be marked yet. */
static void mark(const uint64_t *buckets, pl_range range, uint8_t *seen) {
    for (uint64_t n = range.begin; n < range.end; n++)
        for (uint64_t i = pl_bucket_row(buckets[n]); i < pl_bucket_end(buckets[n]); i++)
            assert_int_equal(seen[i]++, 0);
}

static void check_epochs(const pl_team *team) {
    uint8_t *seen = calloc(data->x.rows, 1);
    for (unsigned k = 0; k < team->hosted; k++) {
        pl_block_order turns;
        open_turns(&turns, team, k, 1);
        uint64_t count = pl_block_order_buckets(&turns), *buckets = malloc(count * sizeof *buckets);
        assert_true(turns.blocks > 2);
        pl_block_order_fill(&turns, buckets);
        for (uint64_t epoch = 0; epoch < 3; epoch++) {
            uint64_t visited = 0;
            for (uint64_t b = 0; b < turns.blocks; b++) {
                pl_range range = pl_block_order_begin(&turns, SEED, team->first + k, epoch * turns.blocks + b, buckets);
                visited += range.end - range.begin;
                mark(buckets, range, seen);
            }
            assert_int_equal(visited, count);
            for (unsigned p = k * team->lanes; p < (k + 1) * team->lanes; p++)
                for (uint64_t r = 0; r < team->parts[p].count; r++)
                    for (uint64_t i = team->parts[p].ranges[r].begin; i < team->parts[p].ranges[r].end; i++)
                        assert_int_equal(seen[i]--, 1);
        }
        free(buckets);
        pl_block_order_close(&turns);
    }
    free(seen);
}

static void an_epoch_visits_every_row_of_the_worker_once(void **state) {
    (void)state;
    with_team(1, 1, check_epochs);
    with_team(1, 3, check_epochs);
    with_team(2, 2, check_epochs);
}

static void check_passes(const pl_team *team) {
    pl_block_order turns;
    open_turns(&turns, team, 0, 3);
    uint64_t count = pl_block_order_buckets(&turns), *buckets = malloc(count * sizeof *buckets);
    for (uint64_t turn = 0; turn < 6 * turns.blocks; turn += 3) {
        uint8_t *seen = calloc(data->x.rows, 1);
        pl_range first = pl_block_order_begin(&turns, SEED, 0, turn, buckets);
        uint64_t before = buckets[first.begin];
        bool moved = false;
        assert_true(pl_block_order_first(&turns, turn));
        for (uint64_t pass = 1; pass < 3; pass++) {
            pl_range again = pl_block_order_begin(&turns, SEED, 0, turn + pass, buckets);
            assert_false(pl_block_order_first(&turns, turn + pass));
            assert_memory_equal(&again, &first, sizeof first);
            moved = moved || buckets[first.begin] != before;
        }
        mark(buckets, first, seen);
        assert_true(moved || first.end - first.begin < 3);
        free(seen);
    }
    free(buckets);
    pl_block_order_close(&turns);
}

static void passes_of_a_round_stay_in_a_block_and_shuffle_it(void **state) {
    (void)state;
    with_team(1, 1, check_passes);
}

/* Rows that are next to each other in the file come from several places of it. */
static void check_mixture(const pl_team *team) {
    pl_block_order turns;
    open_turns(&turns, team, 0, 1);
    uint64_t *buckets = malloc(pl_block_order_buckets(&turns) * sizeof *buckets), low = UINT64_MAX, high = 0;
    pl_range range = pl_block_order_begin(&turns, SEED, 0, 0, buckets);
    for (uint64_t n = range.begin; n < range.end; n++) {
        low = pl_bucket_row(buckets[n]) < low ? pl_bucket_row(buckets[n]) : low;
        high = pl_bucket_end(buckets[n]) > high ? pl_bucket_end(buckets[n]) : high;
    }
    assert_true(range.end - range.begin < data->x.rows / 5);
    assert_true(high - low > data->x.rows / 2);
    free(buckets);
    pl_block_order_close(&turns);
}

static void a_block_has_rows_from_all_over_the_shard(void **state) {
    (void)state;
    with_team(1, 1, check_mixture);
}

static void check_order(const pl_team *team) {
    pl_block_order turns[2];
    uint64_t *buckets[2];
    for (unsigned t = 0; t < 2; t++) {
        open_turns(&turns[t], team, 0, 2);
        buckets[t] = malloc(pl_block_order_buckets(&turns[t]) * sizeof **buckets);
    }
    for (uint64_t turn = 0; turn < 5 * turns[0].blocks; turn++)
        for (unsigned t = 0; t < 2; t++) {
            if (t == 1 && turn % 7 == 3) /* as a process that goes on from a checkpoint */
                turns[1].epoch = turns[1].held = 0;
            pl_block_order_begin(&turns[t], SEED, 0, turn, buckets[t]);
        }
    assert_memory_equal(buckets[0], buckets[1], pl_block_order_buckets(&turns[0]) * sizeof **buckets);
    for (unsigned t = 0; t < 2; t++) {
        free(buckets[t]);
        pl_block_order_close(&turns[t]);
    }
}

static void the_order_follows_from_the_number_of_the_turn(void **state) {
    (void)state;
    with_team(1, 2, check_order);
}

static void check_blocks(const pl_team *team) {
    for (unsigned p = 0; p < team->hosted * team->lanes; p++) {
        const pl_part *part = &team->parts[p];
        pl_row_block *blocks = malloc(pl_row_blocks_most(part, 500) * sizeof *blocks);
        uint64_t count = pl_row_blocks_cut(&data->x, part, 500, blocks), range = 0, next = part->ranges[0].begin;
        for (uint64_t b = 0; b < count; b++) {
            pl_range rows;
            for (uint64_t number = 0; pl_row_block_next(&blocks[b], &number, &rows);) {
                if (next == part->ranges[range].end)
                    next = part->ranges[++range].begin;
                assert_int_equal(rows.begin, next);
                next = rows.end;
            }
        }
        assert_int_equal(range, part->count - 1);
        assert_int_equal(next, part->ranges[range].end);
        free(blocks);
    }
}

static void blocks_cover_a_part_in_its_order(void **state) {
    (void)state;
    with_team(1, 1, check_blocks);
    with_team(3, 2, check_blocks);
}

static void same_model(const parley_model *a, const parley_model *b) {
    assert_int_equal(a->columns, b->columns);
    assert_memory_equal(parley_model_coef(a), parley_model_coef(b), a->columns * sizeof(double));
    assert_memory_equal(parley_model_intercept(a), parley_model_intercept(b), sizeof(double));
}

/* Solvers, workers, lanes, passes over a block, and rounds that end within one. */
static const char *const methods[] = {
    "loss=logistic lambda=0.01 local=sdca block=0.02 local_epochs=2 workers=2 lanes=2 gap=0",
    "loss=hinge lambda=0.01 local=sdca block=0.02 workers=3 lanes=1 local_epochs=1 gap=0",
    "loss=logistic lambda=0.01 local=sdca block=0.02 workers=2 lanes=1 local_steps=170 gap=0",
    "loss=logistic lambda=0.01 preset=ma-sgd block=0.02 workers=2 lanes=1 gap=0",
    "loss=hinge lambda=0.01 preset=ma-sgd block=0.02 workers=2 lanes=1 gap=0 local_epochs=0.3 average_iterates=true",
};

static void blocks_give_the_same_model_on_any_ranks_and_threads(void **state) {
    (void)state;
    for (unsigned m = 0; m < sizeof methods / sizeof *methods; m++) {
        parley_settings settings = settings_of(methods[m]);
        settings.rounds = 4;
        assert_same_on_ranks(data, &settings, 2, same_model);
    }
}

static void blocks_resume_within_an_epoch(void **state) {
    (void)state;
    for (unsigned m = 0; m < sizeof methods / sizeof *methods; m++) {
        char folder[256];
        snprintf(folder, sizeof folder, "%s/state", test_folder);
        assert_resumes(data, methods[m], folder, same_model);
        remove_checkpoint(folder);
    }
}

/* The gap of both runs bounds the distance of their objectives. */
static void blocks_reach_the_optimum_of_runs_without_them(void **state) {
    (void)state;
    const char *const problems[] = {"loss=logistic lambda=0.001 local=sdca gap=1e-6",
                                    "loss=hinge lambda=0.01 local=sdca gap=1e-4",
                                    "loss=logistic lambda=0.001 l1_ratio=0.5 local=sdca gap=1e-6 workers=3"};
    for (unsigned p = 0; p < sizeof problems / sizeof *problems; p++) {
        char words[160];
        snprintf(words, sizeof words, "%s block=0.02", problems[p]);
        outcome plain = train_once(data, problems[p]), blocks = train_once(data, words);
        double gap = fmax(plain.summary[0].gap, blocks.summary[0].gap);
        assert_true(fabs(plain.summary[0].objective - blocks.summary[0].objective) <= gap);
        assert_true(blocks.summary[0].relative_gap <= 1e-4);
        assert_memory_not_equal(parley_model_coef(plain.model[0]), parley_model_coef(blocks.model[0]),
                                data->x.columns * sizeof(double));
        free_models(&plain);
        free_models(&blocks);
    }
}

static void lost_memory_is_reported_with_blocks(void **state) {
    (void)state;
    assert_survives_lost_memory(data, "loss=logistic lambda=0.01 local=sdca block=0.05 rounds=1 workers=2");
    assert_survives_lost_memory(data, "loss=logistic lambda=0.01 preset=ma-sgd block=0.05 rounds=1 workers=2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_epoch_visits_every_row_of_the_worker_once),
        cmocka_unit_test(passes_of_a_round_stay_in_a_block_and_shuffle_it),
        cmocka_unit_test(a_block_has_rows_from_all_over_the_shard),
        cmocka_unit_test(the_order_follows_from_the_number_of_the_turn),
        cmocka_unit_test(blocks_cover_a_part_in_its_order),
        cmocka_unit_test(blocks_give_the_same_model_on_any_ranks_and_threads),
        cmocka_unit_test(blocks_resume_within_an_epoch),
        cmocka_unit_test(blocks_reach_the_optimum_of_runs_without_them),
        cmocka_unit_test(lost_memory_is_reported_with_blocks),
    };
    return cmocka_run_group_tests_name("turns", tests, make_data, free_data);
}
