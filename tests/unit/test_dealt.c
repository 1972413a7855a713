/* test_dealt.c: ranks that hold the rows of their own workers only, as when each read a part of the input: the same
 * models as when every rank holds all rows. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"
#include "train/presets.h"

/* A rank's own copy of the rows that were dealt to it. */
typedef struct holding {
    parley_data data;
    pl_deal deal;
    pl_range *ranges;
    uint64_t *start;
    uint32_t *index;
    float *value;
    double *label, *weight;
} holding;

static void copy_row(holding *held, const parley_data *all, uint64_t i) {
    uint64_t row = held->data.x.rows++, begin = all->x.start[i], count = all->x.start[i + 1] - begin;
    memcpy(held->index + held->start[row], all->x.index + begin, count * sizeof *held->index);
    memcpy(held->value + held->start[row], all->x.value + begin, count * sizeof *held->value);
    held->start[row + 1] = held->start[row] + count;
    held->label[row] = all->label[i];
    held->weight[row] = all->weight[i];
}

/* Copies the rows of the team's parts, one after the other; the parts' ranges become numbers of own rows. */
static void hold(holding *held, const parley_data *all, const pl_team *team) {
    unsigned parts = team->hosted * team->lanes;
    uint64_t ranges = 0;
    *held = (holding){.start = calloc(all->x.rows + 1, sizeof *held->start),
                      .index = calloc(all->x.nonzeros + 1, sizeof *held->index),
                      .value = calloc(all->x.nonzeros + 1, sizeof *held->value),
                      .label = calloc(all->x.rows, sizeof *held->label),
                      .weight = calloc(all->x.rows, sizeof *held->weight)};
    for (unsigned p = 0; p < parts; p++)
        ranges += team->parts[p].count;
    held->ranges = calloc(ranges + 1, sizeof *held->ranges);
    held->deal = (pl_deal){all->x.rows, all->x.nonzeros, team->workers, team->lanes,
                           calloc(parts + 1, sizeof *held->deal.parts)};
    pl_range *next = held->ranges;
    for (unsigned p = 0; p < parts; p++) {
        held->deal.parts[p] = team->parts[p];
        held->deal.parts[p].ranges = next;
        for (uint64_t r = 0; r < team->parts[p].count; r++, next++) {
            next->begin = held->data.x.rows;
            for (uint64_t i = team->parts[p].ranges[r].begin; i < team->parts[p].ranges[r].end; i++)
                copy_row(held, all, i);
            next->end = held->data.x.rows;
        }
    }
    held->data = (parley_data){
        .x = {held->data.x.rows, all->x.columns, held->start[held->data.x.rows], held->start, held->index, held->value},
        .label = held->label,
        .weight = held->weight,
        .deal = &held->deal,
        .path = all->path};
}

static void let_go(holding *held) {
    void *owned[] = {held->start, held->index, held->value, held->label, held->weight, held->ranges, held->deal.parts};
    for (unsigned i = 0; i < COUNT(owned); i++)
        free(owned[i]);
}

static parley_status body(pl_engine *engine, void *context, parley_error *error) {
    outcome *outcome = context;
    const parley_settings *settings = outcome->settings;
    pl_team team;
    holding held;
    parley_status status = pl_team_open(&team, engine, outcome->data, (unsigned)settings->workers,
                                        (unsigned)settings->lanes, settings->seed, error);
    if (status != PARLEY_OK)
        return status;
    hold(&held, outcome->data, &team);
    pl_team_close(&team);
    status = pl_train_rank(engine, &held.data, settings, NULL, NULL, &outcome->model[engine->rank],
                           &outcome->summary[engine->rank], error);
    let_go(&held);
    return status;
}

static void assert_dealt_rows_change_nothing(const parley_data *data, const char *words) {
    static parley_settings settings;
    settings = settings_of(words);
    outcome all = {.data = data, .settings = &settings}, dealt = all;
    train(&all, 1, 1);
    assert_done(all.status[0], &all.error[0]);
    for (unsigned ranks = 1; ranks <= 4; ranks++) {
        run_ranks(ranks, 2, DEADLINE, body, &dealt, dealt.status, dealt.error);
        for (unsigned r = 0; r < ranks; r++) {
            assert_done(dealt.status[r], &dealt.error[r]);
            assert_memory_equal(dealt.model[r]->coef, all.model[0]->coef, data->x.columns * sizeof(double));
            assert_memory_equal(dealt.model[r]->intercept, all.model[0]->intercept, sizeof(double));
            assert_true(dealt.summary[r].objective == all.summary[0].objective);
        }
        free_models(&dealt);
    }
    free_models(&all);
}

static void every_preset_by_rows_trains_on_rows_that_only_their_rank_holds(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    double *weight = calloc(data->x.rows, sizeof *weight);
    for (uint64_t i = 0; i < data->x.rows; i++)
        weight[i] = 1.0 + (double)(i % 3);
    set_weights(data, weight);
    free(weight);
    const char *const presets[] = {"cocoa+ lanes=2", "cocoa lanes=1",     "gd lanes=1",
                                   "newton lanes=2", "mllib-sgd lanes=2", "auto lanes=1"};
    for (unsigned p = 0; p < COUNT(presets); p++) {
        char words[128];
        snprintf(words, sizeof words, "workers=5 gap=0 rounds=6 seed=3 preset=%s", presets[p]);
        assert_dealt_rows_change_nothing(data, words);
    }
    parley_data_free(data);
}

/* Each label is seen by one rank only, as in a file sorted by label. */
static void ranks_agree_on_labels_that_some_of_them_never_saw(void **state) {
    (void)state;
    parley_data *data = data_of("7 1:1\n7 1:2\n7 2:1\n3 1:3\n3 2:2\n3 1:1 2:1\n");
    double weight[] = {1, 1, 1, 1, 1, 1};
    set_weights(data, weight);
    assert_dealt_rows_change_nothing(data, "workers=2 lanes=1 preset=cocoa+ rounds=5 gap=0");
    assert_dealt_rows_change_nothing(data, "workers=6 lanes=1 preset=newton rounds=5 gap=0");
    parley_data_free(data);
}

/* Half of a run on whole data, the other half on ranks that number their own rows; and the other way round. */
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
        snprintf(settings.checkpoint, sizeof settings.checkpoint, "%s", folder);
        snprintf(settings.resume, sizeof settings.resume, "%s", i == 0 ? "" : folder);
        settings.given[pl_setting_find("rounds") - pl_settings] = true;
        bool dealt = dealt_first == (i == 0);
        memset(half.model, 0, sizeof half.model);
        if (dealt)
            run_ranks(ranks, 2, DEADLINE, body, &half, half.status, half.error);
        else
            train(&half, 1, 2);
        for (unsigned r = 0; r < (dealt ? ranks : 1); r++) {
            assert_done(half.status[r], &half.error[r]);
            if (i == 1)
                assert_memory_equal(half.model[r]->coef, all.model[0]->coef, data->x.columns * sizeof(double));
        }
        free_models(&half);
    }
    free_models(&all);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    assert_int_equal(system(remove), 0);
}

static void checkpoints_do_not_depend_on_who_holds_the_rows(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    double *weight = calloc(data->x.rows, sizeof *weight);
    for (uint64_t i = 0; i < data->x.rows; i++)
        weight[i] = 1.0 + (double)(i % 3);
    set_weights(data, weight);
    free(weight);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_preset_by_rows_trains_on_rows_that_only_their_rank_holds),
        cmocka_unit_test(ranks_agree_on_labels_that_some_of_them_never_saw),
        cmocka_unit_test(checkpoints_do_not_depend_on_who_holds_the_rows),
    };
    return cmocka_run_group_tests_name("dealt", tests, NULL, NULL);
}
