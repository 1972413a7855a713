/* test_distributed_rows.c: ranks that hold only the rows of their own workers, as when each reads a part of the input,
 * give the same models as ranks that hold all rows. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shard/distributed.h"
#include "support.h"
#include "train/presets.h"

#define PIECES 7

/* Which rows each rank has read: pieces of uneven length, assigned in turn. */
static uint64_t piece_begin(uint64_t rows, unsigned p) { return p == PIECES ? rows : rows * p * p / (PIECES * PIECES); }

/* This rank's part of the rows, as if it had read it. */
static parley_status hold(pl_engine *engine, const parley_data *all, parley_data **out, parley_error *error) {
    uint64_t rows = all->x.rows, *mine = calloc(rows, sizeof *mine), here = 0, held[MOST_RANKS] = {0};
    pl_spread *spread;
    *out = NULL;
    parley_status status = pl_take(&spread, 1, sizeof *spread, "a test", error);
    if (status == PARLEY_OK)
        status = pl_take(&spread->pieces, PIECES, sizeof *spread->pieces, "a test", error);
    for (unsigned p = 0; p < PIECES && status == PARLEY_OK; p++) {
        uint64_t begin = piece_begin(rows, p), end = piece_begin(rows, p + 1);
        unsigned rank = (p * 3 + 1) % engine->ranks;
        spread->pieces[p] = (pl_piece){begin, end, held[rank], 0, rank};
        held[rank] += end - begin;
        for (uint64_t i = begin; i < end && rank == engine->rank; i++)
            mine[here++] = i;
    }
    if (status == PARLEY_OK) {
        spread->count = PIECES;
        status = pl_data_subset(all, mine, here, out, error);
    }
    free(mine);
    if (status != PARLEY_OK) {
        pl_spread_free(spread);
        return status;
    }
    (*out)->spread = spread;
    return pl_spread_measure(engine, *out, error);
}

static parley_status body(pl_engine *engine, void *context, parley_error *error) {
    outcome *outcome = context;
    parley_data *held;
    parley_status status = hold(engine, outcome->data, &held, error);
    if (status != PARLEY_OK)
        (engine->type->fail)(engine, error);
    else
        status = pl_train_rank(engine, held, outcome->settings, NULL, NULL, &outcome->model[engine->rank],
                               &outcome->summary[engine->rank], error);
    parley_data_free(held);
    return status;
}

static void assert_dealt_rows_change_nothing(const parley_data *data, const char *words) {
    static parley_settings settings;
    settings = settings_of(words);
    outcome all = {.data = data, .settings = &settings}, dealt = all;
    train(&all, 1, 1);
    assert_done(all.status[0], &all.error[0]);
    for (unsigned ranks = 1; ranks <= 4; ranks++) {
        ranks_share_memory = ranks % 2 == 0;
        run_ranks(ranks, 2, DEADLINE, body, &dealt, dealt.status, dealt.error);
        for (unsigned r = 0; r < ranks; r++) {
            assert_done(dealt.status[r], &dealt.error[r]);
            uint64_t outputs = all.model[0]->outputs;
            assert_memory_equal(parley_model_coef(dealt.model[r]), parley_model_coef(all.model[0]),
                                outputs * data->x.columns * sizeof(double));
            assert_memory_equal(parley_model_intercept(dealt.model[r]), parley_model_intercept(all.model[0]),
                                outputs * sizeof(double));
            assert_true(dealt.summary[r].objective == all.summary[0].objective);
        }
        free_models(&dealt);
    }
    free_models(&all);
}

static parley_data *weighted_data(void) {
    parley_data *data = random_data(small);
    double *weight = calloc(data->x.rows, sizeof *weight);
    for (uint64_t i = 0; i < data->x.rows; i++)
        weight[i] = 1.0 + (double)(i % 3);
    set_weights(data, weight);
    free(weight);
    return data;
}

/* Every preset whose exchange is repeatable, by rows and by columns. */
static void every_preset_trains_on_rows_that_only_their_rank_holds(void **state) {
    (void)state;
    parley_data *data = weighted_data();
    for (unsigned p = 0; p < linear_presets(); p++) {
        char words[128];
        if (pl_presets[p].stream || (pl_presets[p].exchange && !pl_presets[p].exchange->repeats))
            continue;
        snprintf(words, sizeof words, "workers=5 gap=0 rounds=6 seed=3 lanes=%u preset=%s%s", 1 + p % 2,
                 pl_presets[p].name, loss_of_preset(&pl_presets[p]));
        assert_dealt_rows_change_nothing(data, words);
    }
    parley_data_free(data);
}

/* Two numbers of every row that tell which one it is. */
static double *table_of(const parley_data *data) {
    double *table = pl_alloc(2 * data->x.rows + 1, sizeof *table);
    for (uint64_t i = 0; table && i < data->x.rows; i++) {
        uint64_t begin = data->x.start[i];
        table[2 * i] = data->label[i];
        table[2 * i + 1] =
            data->x.start[i + 1] > begin ? data->x.index[begin] + (double)data->x.values.narrow[begin] : -1;
    }
    return table;
}

static void assert_same_rows(const parley_data *a, const parley_data *b) {
    assert_int_equal(a->x.rows, b->x.rows);
    assert_int_equal(a->deal->rows, b->deal->rows);
    assert_int_equal(a->deal->nonzeros, b->deal->nonzeros);
    assert_memory_equal(a->x.start, b->x.start, (a->x.rows + 1) * sizeof *a->x.start);
    assert_memory_equal(a->x.index, b->x.index, a->x.nonzeros * sizeof *a->x.index);
    assert_memory_equal(a->x.values.narrow, b->x.values.narrow, a->x.nonzeros * sizeof *a->x.values.narrow);
    assert_memory_equal(a->label, b->label, a->x.rows * sizeof *a->label);
    assert_memory_equal(a->weight, b->weight, a->x.rows * sizeof *a->weight);
}

static parley_status deal_again_body(pl_engine *engine, void *context, parley_error *error) {
    const unsigned workers[] = {5, 3, 1, 8};
    const parley_data *all = context;
    parley_data *held, *dealt;
    parley_status status = hold(engine, all, &held, error);
    if (status == PARLEY_OK)
        status = pl_deal_rows(engine, held, workers[0], 2, 7, &dealt, error);
    parley_data_free(held);
    for (unsigned w = 1; w < COUNT(workers) && status == PARLEY_OK; w++) {
        parley_data *next = NULL, *fresh = NULL;
        pl_row_table table = {table_of(dealt), 2};
        status = pl_deal_again(engine, dealt, workers[w], 1, 7, &table, &next, error);
        parley_data_free(dealt);
        if (status == PARLEY_OK)
            status = hold(engine, all, &held, error);
        if (status == PARLEY_OK) {
            status = pl_deal_rows(engine, held, workers[w], 1, 7, &fresh, error);
            parley_data_free(held);
        }
        if (status == PARLEY_OK) {
            double *expected = table_of(fresh);
            assert_same_rows(next, fresh);
            assert_memory_equal(table.values, expected, 2 * fresh->x.rows * sizeof *expected);
            pl_free(expected);
        }
        parley_data_free(fresh);
        pl_free(table.values);
        dealt = next;
    }
    parley_data_free(dealt);
    return status;
}

static void rows_that_are_dealt_again_are_where_they_would_have_been(void **state) {
    (void)state;
    parley_data *data = weighted_data();
    parley_status statuses[MOST_RANKS];
    parley_error errors[MOST_RANKS];
    for (unsigned ranks = 1; ranks <= 4; ranks++) {
        run_ranks(ranks, 1, DEADLINE, deal_again_body, data, statuses, errors);
        for (unsigned r = 0; r < ranks; r++)
            assert_done(statuses[r], &errors[r]);
    }
    parley_data_free(data);
}

static void columns_are_made_from_rows_of_all_ranks(void **state) {
    (void)state;
    const char *const runs[] = {
        "workers=5 gap=1e-9 rounds=20 seed=3 preset=cocoa+ l1_ratio=1 lambda=0.01",
        "workers=4 gap=1e-9 rounds=20 seed=1 preset=cocoa l1_ratio=0.9 lambda=0.02 intercept=penalised",
        "workers=4 gap=1e-9 rounds=20 local=scd preset=cocoa+ l1_ratio=1 lambda=0.01 standardise=true lanes=2",
        "workers=6 gap=1e-9 rounds=20 seed=2 preset=minibatch-cd local=scd l1_ratio=0.5 lambda=0.01 intercept=none",
    };
    parley_data *sets[] = {random_data(small), random_data(wide), random_data(real)};
    for (unsigned d = 0; d < COUNT(sets); d++) {
        for (unsigned r = 0; r < COUNT(runs); r++)
            assert_dealt_rows_change_nothing(sets[d], runs[r]);
        parley_data_free(sets[d]);
    }
}

static void what_is_around_the_fit_sees_all_rows(void **state) {
    (void)state;
    parley_data *data = random_data(small), *classes = class_data(small, true);
    assert_dealt_rows_change_nothing(data, "workers=4 rounds=5 gap=0 preset=cocoa+ standardise=true");
    assert_dealt_rows_change_nothing(data, "workers=4 rounds=5 gap=0 preset=cocoa+ class_weights=balanced");
    assert_dealt_rows_change_nothing(data, "workers=4 rounds=5 gap=0 preset=cocoa+ validation_fraction=0.3");
    assert_dealt_rows_change_nothing(data, "workers=4 rounds=5 gap=0 preset=cocoa+ l1_ratio=1 lambda=0.01 "
                                           "validation_fraction=0.2");
    assert_dealt_rows_change_nothing(classes, "workers=4 rounds=5 gap=0 preset=cocoa+ loss=hinge");
    assert_dealt_rows_change_nothing(classes, "workers=4 rounds=5 gap=0 preset=lbfgs class_weights=balanced");
    parley_data_free(data);
    parley_data_free(classes);
}

/* Each label occurs on one rank only, as in a file sorted by label. */
static void ranks_agree_on_labels_that_some_of_them_never_saw(void **state) {
    (void)state;
    parley_data *data = data_of("7 1:1\n7 1:2\n7 2:1\n3 1:3\n3 2:2\n3 1:1 2:1\n");
    double weight[] = {1, 1, 1, 1, 1, 1};
    set_weights(data, weight);
    assert_dealt_rows_change_nothing(data, "workers=2 lanes=1 preset=cocoa+ rounds=5 gap=0");
    assert_dealt_rows_change_nothing(data, "workers=6 lanes=1 preset=newton rounds=5 gap=0");
    parley_data_free(data);
}

/* Runs one half on whole data and the other half on ranks that number their own rows, and the other way round. */
static void assert_goes_on(const parley_data *data, const char *words, bool dealt_first, unsigned ranks) {
    char folder[] = "/tmp/parley_dealt_XXXXXX", remove[64];
    static parley_settings settings;
    assert_non_null(mkdtemp(folder));
    settings = settings_of(words);
    outcome all = {.data = data, .settings = &settings}, half = all;
    settings.rounds = 12;
    train(&all, 1, 1);
    assert_done(all.status[0], &all.error[0]);
    for (unsigned i = 0; i < 2; i++) {
        settings.rounds = i == 0 ? 7 : 12;
        settings.checkpoint = folder;
        settings.resume = i == 0 ? "" : folder;
        settings.given[pl_setting_number(pl_setting_find("rounds"))] = true;
        bool dealt = dealt_first == (i == 0);
        ranks_share_memory = dealt_first;
        memset(half.model, 0, sizeof half.model);
        if (dealt)
            run_ranks(ranks, 2, DEADLINE, body, &half, half.status, half.error);
        else
            train(&half, 1, 2);
        for (unsigned r = 0; r < (dealt ? ranks : 1); r++) {
            assert_done(half.status[r], &half.error[r]);
            if (i == 1)
                assert_memory_equal(parley_model_coef(half.model[r]), parley_model_coef(all.model[0]),
                                    data->x.columns * sizeof(double));
        }
        free_models(&half);
    }
    free_models(&all);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    assert_int_equal(system(remove), 0);
}

static void checkpoints_do_not_depend_on_who_holds_the_rows(void **state) {
    (void)state;
    parley_data *data = weighted_data();
    const char *const forms[] = {"workers=5 lanes=2 preset=cocoa+ gap=0 loss=hinge",
                                 "workers=4 lanes=1 preset=ma-sgd gap=0 loss=hinge",
                                 "workers=5 lanes=2 preset=lbfgs gap=0"};
    for (unsigned f = 0; f < COUNT(forms); f++)
        for (unsigned ranks = 1; ranks <= 3; ranks++) {
            assert_goes_on(data, forms[f], false, ranks);
            assert_goes_on(data, forms[f], true, ranks);
        }
    parley_data_free(data);
}

/* If any rank runs out of memory, all end, and nothing is leaked. */
static void lost_memory_ends_all_ranks(void **state) {
    (void)state;
    const char *const runs[] = {"workers=4 rounds=1 gap=0 preset=cocoa+ validation_fraction=0.2",
                                "workers=4 rounds=1 gap=0 preset=cocoa+ l1_ratio=1 lambda=0.01"};
    parley_data *data = random_data(small);
    for (unsigned w = 0; w < COUNT(runs); w++) {
        static parley_settings settings;
        bool lost = true;
        settings = settings_of(runs[w]);
        for (int64_t n = 40; lost && n < 8000; n += 5) { /* skips the allocations of opening the engines */
            outcome dealt = {.data = data, .settings = &settings};
            ranks_share_memory = n % 2;
            pl_memory_fail_after(n);
            run_ranks(3, 1, DEADLINE, body, &dealt, dealt.status, dealt.error);
            pl_memory_fail_after(-1);
            lost = false;
            for (unsigned r = 0; r < 3; r++) {
                if (dealt.status[r] != PARLEY_OK)
                    assert_int_equal(dealt.status[r], PARLEY_NO_MEMORY);
                lost |= dealt.status[r] != PARLEY_OK;
            }
            free_models(&dealt);
        }
        assert_false(lost);
    }
    parley_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_preset_trains_on_rows_that_only_their_rank_holds),
        cmocka_unit_test(rows_that_are_dealt_again_are_where_they_would_have_been),
        cmocka_unit_test(columns_are_made_from_rows_of_all_ranks),
        cmocka_unit_test(what_is_around_the_fit_sees_all_rows),
        cmocka_unit_test(ranks_agree_on_labels_that_some_of_them_never_saw),
        cmocka_unit_test(lost_memory_ends_all_ranks),
        cmocka_unit_test(checkpoints_do_not_depend_on_who_holds_the_rows),
    };
    return cmocka_run_group_tests_name("dealt", tests, NULL, NULL);
}
