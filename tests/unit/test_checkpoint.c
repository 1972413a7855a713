/* test_checkpoint.c: a run that is stopped and resumed gives the same bytes as one that was not, for any ranks and
 * threads of either half. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp, dirent */
#include "train/checkpoint.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "linear/path/linear_path.h"
#include "support.h"
#include "train/presets.h"

/* In memory if possible, since every file is synced. */
static char folder[64] = "/dev/shm/parley_checkpoint_XXXXXX";

static int make_folder(void **state) {
    (void)state;
    if (mkdtemp(folder))
        return 0;
    snprintf(folder, sizeof folder, "/tmp/parley_checkpoint_XXXXXX");
    return mkdtemp(folder) == NULL;
}

static void empty_folder(void) {
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    assert_non_null(directory);
    while ((entry = readdir(directory)))
        if (entry->d_name[0] != '.')
            assert_int_equal(unlinkat(dirfd(directory), entry->d_name, 0), 0);
    closedir(directory);
}

static int remove_folder(void **state) {
    (void)state;
    empty_folder();
    return rmdir(folder);
}

static unsigned files_in_folder(void) {
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    unsigned count = 0;
    while ((entry = readdir(directory)))
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

static void assert_same_model(const parley_model *a, const parley_model *b, const char *words) {
    if (memcmp(parley_model_coef(a), parley_model_coef(b), a->outputs * a->columns * sizeof(double)) != 0 ||
        memcmp(parley_model_intercept(a), parley_model_intercept(b), a->outputs * sizeof(double)) != 0)
        print_error("%s\n", words);
    assert_int_equal(a->columns, b->columns);
    assert_memory_equal(parley_model_coef(a), parley_model_coef(b), a->outputs * a->columns * sizeof(double));
    assert_memory_equal(parley_model_intercept(a), parley_model_intercept(b), a->outputs * sizeof(double));
    assert_int_equal(a->metas, b->metas);
    for (unsigned i = 0; i < a->metas; i++)
        assert_string_equal(a->meta[i].value, b->meta[i].value);
}

typedef struct shape {
    unsigned ranks, threads;
} shape;

/* Trains with checkpoints in the folder and, with `resume`, continues from there; stops after `rounds`. */
static const char *every = "5r";

static outcome train_part(const parley_data *data, const char *words, unsigned rounds, bool resume, shape shape) {
    static parley_settings settings;
    char text[32];
    settings = settings_of(resume ? "" : words);
    snprintf(text, sizeof text, "%u", rounds);
    set_setting(&settings, "rounds", text);
    set_setting(&settings, "checkpoint", folder);
    set_setting(&settings, "checkpoint_every", every);
    if (resume)
        set_setting(&settings, "resume", folder);
    outcome part = {.data = data, .settings = &settings};
    ranks_share_memory = shape.threads == 2;
    train(&part, shape.ranks, shape.threads);
    for (unsigned r = 0; r < shape.ranks; r++) {
        if (part.status[r] != PARLEY_OK)
            print_error("%s, %u ranks:\n", words, shape.ranks);
        assert_done(part.status[r], &part.error[r]);
    }
    return part;
}

#define ROUNDS 30

/* Stops and resumes twice. */
static void assert_goes_on(const parley_data *data, const char *words, const outcome *whole, unsigned first,
                           unsigned second, const shape *shapes) {
    empty_folder();
    const unsigned stops[] = {first, second, ROUNDS};
    for (unsigned i = 0; i < COUNT(stops); i++) {
        outcome part = train_part(data, words, stops[i], i > 0, shapes[i]);
        if (stops[i] == ROUNDS) {
            for (unsigned r = 0; r < shapes[i].ranks; r++)
                assert_same_model(part.model[r], whole->model[0], words);
            assert_int_equal(part.summary[0].rounds, whole->summary[0].rounds);
            assert_true(part.summary[0].epochs == whole->summary[0].epochs);
            assert_int_equal(part.summary[0].stop, whole->summary[0].stop);
        }
        free_models(&part);
    }
}

static void assert_every_way_goes_on(const parley_data *data, const char *words) {
    static const shape shapes[][3] = {{{1, 1}, {1, 1}, {1, 1}}, {{1, 2}, {2, 1}, {3, 2}}, {{3, 1}, {1, 2}, {2, 2}}};
    char all[512];
    snprintf(all, sizeof all, "%s rounds=%u", words, ROUNDS);
    outcome whole = train_once(data, all);
    assert_goes_on(data, words, &whole, 1, 2, shapes[0]);
    assert_goes_on(data, words, &whole, 7, 22, shapes[1]);
    assert_goes_on(data, words, &whole, 18, 25, shapes[2]);
    free_models(&whole);
}

static void every_repeatable_preset_goes_on_bit_for_bit(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    for (unsigned p = 0; p < linear_presets(); p += SOME) {
        const pl_preset *preset = &pl_presets[p];
        char words[256];
        if (preset->stream || (preset->exchange && !preset->exchange->repeats))
            continue;
        snprintf(words, sizeof words, "preset=%s workers=4 seed=3 lanes=%u gap=%s%s", preset->name, 1 + p % 2,
                 preset->sequel.then ? "1e-15" : "0", loss_of_preset(preset));
        assert_every_way_goes_on(data, words);
    }
    parley_data_free(data);
}

static void every_form_of_a_method_goes_on_bit_for_bit(void **state) {
    (void)state;
    static const char *const forms[] = {
        "preset=cocoa+ workers=4 loss=hinge gap=0",
        "preset=cocoa+ workers=1 lanes=3 loss=squared-hinge intercept=penalised gap=0",
        "preset=cocoa+ workers=3 local_epochs=0.3 gap=0 standardise=true",
        "preset=cocoa+ workers=3 l1_ratio=0.5 local=sdca gap=0",
        "preset=cocoa+ workers=4 l1_ratio=1 lambda=0.01 gap=0",
        "preset=cocoa+ workers=4 l1_ratio=0.9 lambda=0.01 gap=0 local_epochs=0.4 intercept=penalised",
        "preset=cocoa workers=3 l1_ratio=1 lambda=0.003 loss=squared gap=0",
        "preset=cocoa+ workers=3 l1_ratio=1 lambda=0.003 gap=0 local_epochs=4 evaluate_every=5",
        "preset=cocoa+ workers=1 l1_ratio=1 lambda=0.003 gap=1e-15 local_epochs=0.01 evaluate_every=5",
        "preset=cocoa+ workers=1 l1_ratio=1 lambda=0.003 gap=1e-14 local_epochs=0.02",
        "preset=cocoa+ workers=1 l1_ratio=1 lambda=0.003 loss=squared gap=1e-15 local_epochs=0.01",
        "preset=minibatch-cd workers=3 l1_ratio=0.9 lambda=0.01 gap=0 local_epochs=0.5",
        "preset=lbfgs workers=3 l1_ratio=0.7 lambda=0.003 gap=0 history=4",
        "preset=newton workers=3 combine=truncated gap=0",
        "preset=newton workers=3 combine=truncated loss=squared-hinge gap=0 lambda=1e-6",
        "preset=newton workers=3 loss=squared gap=0",
        "preset=newton workers=3 loss=hinge gap=0",
        "preset=newton workers=3 l1_ratio=1 lambda=0.003 gap=0",
        "preset=newton workers=3 loss=hinge l1_ratio=0.5 lambda=0.01 gap=0",
        "preset=gd workers=2 lambda=0 gap=0",
        "preset=ma-sgd workers=3 schedule=adagrad gap=0",
        "preset=ma-sgd workers=3 schedule=normalised gap=0 local_epochs=0.4 standardise=true",
        "preset=ma-sgd workers=3 schedule=inverse average_iterates=true gap=0",
        "preset=ma-sgd workers=3 loss=hinge l1_ratio=0.5 gap=0",
        "preset=ma-sgd workers=3 lambda=0 gap=0",
        "preset=cocoa+ workers=3 validation_fraction=0.2 metric=auc patience=1000 gap=0",
        "preset=lbfgs workers=3 validation_fraction=0.2 patience=1000 evaluate_every=1 gap=0",
        "preset=cocoa+ workers=2 class_weights=balanced gap=0 evaluate_every=4",
    };
    parley_data *data = random_data(small);
    for (unsigned f = 0; f < COUNT(forms); f += SOME)
        assert_every_way_goes_on(data, forms[f]);
    parley_data_free(data);
    static const char *const wide_forms[] = {
        "preset=cocoa+ workers=3 gap=0",
        "preset=newton workers=4 gap=0 loss=squared lambda=1e-7",
        "preset=ma-sgd workers=4 schedule=adagrad gap=0",
        "preset=cocoa+ workers=1 l1_ratio=1 lambda=0.001 gap=1e-15 local_epochs=0.01",
    };
    data = random_data(wide);
    for (unsigned f = 0; f < COUNT(wide_forms); f += SOME)
        assert_every_way_goes_on(data, wide_forms[f]);
    parley_data_free(data);
    data = table_data(2);
    assert_every_way_goes_on(data, "preset=newton workers=3 loss=hinge gap=0");
    assert_every_way_goes_on(data, "preset=newton workers=3 l1_ratio=0.5 lambda=0.003 gap=0");
    parley_data_free(data);
    data = random_data(real);
    assert_every_way_goes_on(data, "preset=newton workers=3 loss=epsilon-insensitive gap=0");
    assert_every_way_goes_on(data, "preset=cocoa workers=3 loss=huber lanes=2 gap=0");
    parley_data_free(data);
    data = random_data(counts);
    assert_every_way_goes_on(data, "preset=lbfgs workers=1 loss=poisson gap=0");
    parley_data_free(data);
}

static void problems_of_several_classes_go_on_bit_for_bit(void **state) {
    (void)state;
    static const char *const forms[] = {
        "preset=cocoa+ workers=3 loss=softmax gap=0",
        "preset=cocoa+ workers=3 lanes=2 loss=hinge gap=0",
        "preset=newton workers=3 loss=softmax gap=0",
        "preset=lbfgs workers=3 loss=logistic gap=0",
        "preset=minibatch-sgd workers=3 loss=softmax gap=0",
        "preset=newton workers=3 loss=softmax l1_ratio=0.8 gap=0",
        "preset=newton workers=3 loss=logistic gap=0",
        "preset=newton workers=3 loss=logistic l1_ratio=0.5 gap=0",
        "combine=truncated workers=3 loss=softmax gap=0 lambda=1e-6",
        "combine=truncated workers=3 lanes=2 loss=squared-hinge gap=0 lambda=1e-6",
    };
    parley_data *data = class_data(small, true);
    for (unsigned f = 0; f < COUNT(forms); f += SOME)
        assert_every_way_goes_on(data, forms[f]);
    parley_data_free(data);
}

static void lock_free_runs_and_paced_ones_go_on(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    const char *const forms[] = {"preset=hogwild workers=3 gap=0", "preset=cocoa+ workers=3 local_steps=auto gap=0"};
    for (unsigned f = 0; f < COUNT(forms); f++) {
        empty_folder();
        for (unsigned i = 0; i < 3; i++) {
            outcome part = train_part(data, forms[f], 9 * (i + 1), i > 0, (shape){1, 2});
            assert_int_equal(part.summary[0].rounds, 9 * (i + 1));
            free_models(&part);
        }
    }
    parley_data_free(data);
}

/* A callback that stops the run. */
static int stop_at_seven(void *user, const parley_progress *progress, const char *message) {
    (void)user, (void)message;
    return progress->round == 7;
}

static void an_interrupted_run_goes_on_where_it_was(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    static parley_settings settings;
    settings = settings_of("preset=cocoa+ workers=4 gap=0 rounds=30 checkpoint_every=1000s");
    settings.checkpoint = folder;
    outcome whole = train_once(data, "preset=cocoa+ workers=4 gap=0 rounds=30");
    empty_folder();
    outcome part = {.data = data, .settings = &settings, .callback = stop_at_seven};
    train(&part, 2, 1);
    assert_int_equal(part.summary[0].stop, PARLEY_INTERRUPTED);
    free_models(&part);
    assert_int_equal(files_in_folder(), 3); /* two parts and a manifest */
    part = train_part(data, "", 30, true, (shape){1, 1});
    assert_same_model(part.model[0], whole.model[0], "interrupted");
    free_models(&part);
    free_models(&whole);
    parley_data_free(data);
}

static void the_last_two_checkpoints_are_kept(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    uint64_t rounds[PL_RECENT];
    empty_folder();
    for (unsigned i = 1; i <= 4; i++) {
        outcome part = train_part(data, "preset=cocoa+ workers=4 gap=0", 3 * i, i > 1, (shape){i, 1});
        free_models(&part);
        unsigned count = pl_checkpoint_list(folder, rounds);
        assert_int_equal(count, i == 1 ? 1 : 2);
        assert_int_equal(rounds[0], 3 * i);
    }
    parley_data_free(data);
}

typedef struct saying {
    char text[8192];
} saying;

static int listen(void *user, const parley_progress *progress, const char *message) {
    saying *saying = user;
    (void)progress;
    if (message) {
        size_t used = strlen(saying->text);
        snprintf(saying->text + used, sizeof saying->text - used, "%s\n", message);
    }
    return 0;
}

/* Resumes up to `rounds` on one rank, and returns the messages or the error. */
static parley_status resume(const parley_data *data, const char *words, parley_model **model, saying *saying,
                            parley_error *error) {
    static parley_settings settings;
    settings = settings_of(words);
    settings.resume = folder;
    saying->text[0] = '\0';
    return parley_train(data, &settings, listen, saying, model, NULL, error);
}

static void assert_refused(const parley_data *data, const char *words, const char *why) {
    static saying saying;
    parley_model *model;
    parley_error error = {0};
    assert_int_not_equal(resume(data, words, &model, &saying, &error), PARLEY_OK);
    if (!strstr(error.sentence, why))
        print_error("%s\n", error.sentence);
    assert_non_null(strstr(error.sentence, why));
}

static void leave_two_checkpoints(const parley_data *data) {
    empty_folder();
    every = "1000r";
    for (unsigned i = 1; i <= 2; i++) {
        outcome part = train_part(data, "preset=cocoa+ workers=4 gap=0 lambda=0.01", 4 * i, i > 1, (shape){2, 1});
        free_models(&part);
    }
    every = "5r";
}

static void checkpoints_of_other_data_or_settings_are_refused(void **state) {
    (void)state;
    sample_plan plan = small;
    parley_data *data = random_data(small);
    leave_two_checkpoints(data);
    assert_refused(data, "lambda=0.02", "--lambda is 0.02, but it was 0.01 in that run");
    assert_refused(data, "C=7", "--lambda is ");
    assert_refused(data, "seed=9", "--seed is 9, but it was 1 in that run");
    assert_refused(data, "loss=hinge", "--loss is hinge, but it was logistic in that run");
    assert_refused(data, "replay=x", "--resume continues a run and --replay repeats one");
    assert_refused(data, "preset=online", "no rounds");
    plan.rows = 150;
    parley_data *other = random_data(plan);
    assert_refused(other, "", "the data of that run had 160 rows, but these have 150");
    parley_data_free(other);
    static parley_settings settings;
    settings = settings_of("preset=cocoa+ workers=2 gap=0 rounds=3");
    settings.checkpoint = folder;
    parley_data *rows = data_of("1 1:1\n-1 2:1\n1 1:2 2:1\n-1 1:1 2:3\n"),
                *turned = data_of("-1 1:1 2:3\n1 1:2 2:1\n-1 2:1\n1 1:1\n");
    outcome part = {.data = rows, .settings = &settings};
    empty_folder();
    train(&part, 1, 1);
    assert_done(part.status[0], &part.error[0]);
    free_models(&part);
    assert_refused(turned, "", "the rows of that run in another order");
    parley_data_free(rows);
    parley_data_free(turned);
    leave_two_checkpoints(data);
    ((double *)data->label)[3] *= -1;
    assert_refused(data, "", "other labels, weights or values");
    parley_data_free(data);
}

static void paths_take_no_checkpoints(void **state) {
    (void)state;
    static parley_settings settings;
    parley_error error = {0};
    settings = settings_of("checkpoint=x");
    assert_int_equal(pl_path_check(&settings, &error), PARLEY_BAD_USAGE);
    assert_non_null(strstr(error.sentence, "a path cannot be saved in checkpoints"));
}

static void other_workers_or_methods_begin_at_the_model(void **state) {
    (void)state;
    static saying saying;
    parley_data *data = random_data(small);
    const char *const forms[] = {"workers=3", "preset=newton", "preset=cocoa", "local=scd", "lanes=2", "preset=ma-sgd"};
    leave_two_checkpoints(data);
    for (unsigned f = 0; f < COUNT(forms); f += SOME) {
        parley_model *model;
        parley_error error = {0};
        char words[128];
        snprintf(words, sizeof words, "%s rounds=40 gap=1e-6", forms[f]);
        assert_done(resume(data, words, &model, &saying, &error), &error);
        assert_non_null(
            strstr(saying.text, "starting from the best model evaluated by round 8, without the rest of its state"));
        parley_model_free(model);
    }
    parley_data_free(data);
}

/* Changes a byte of a file of the newest checkpoint, at this part of its length. */
static void flip(const char *name, double where) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    long at = (long)(where * (double)(ftell(file) - 1));
    fseek(file, at, SEEK_SET);
    int byte = fgetc(file);
    fseek(file, at, SEEK_SET);
    fputc(byte ^ 1, file);
    assert_int_equal(fclose(file), 0);
}

static void a_damaged_checkpoint_is_told_of_and_the_one_before_is_used(void **state) {
    (void)state;
    static saying saying;
    parley_model *model;
    parley_error error = {0};
    parley_data *data = random_data(small);
    outcome whole = train_once(data, "preset=cocoa+ workers=4 gap=0 lambda=0.01 rounds=20");
    const char *const names[] = {"round-8.safetensors", "round-8.rank-0.safetensors", "round-8.rank-1.safetensors"};
    for (unsigned n = 0; n < COUNT(names); n++)
        for (double where = 0; where <= 1.0; where += 1.0 / 16) {
            leave_two_checkpoints(data);
            flip(names[n], where);
            assert_done(resume(data, "rounds=20", &model, &saying, &error), &error);
            assert_non_null(strstr(saying.text, "trying the checkpoint of round 4"));
            assert_same_model(model, whole.model[0], "damaged");
            parley_model_free(model);
        }
    leave_two_checkpoints(data);
    for (unsigned n = 0; n < COUNT(names); n++)
        flip(names[n], 0.5);
    flip("round-4.rank-1.safetensors", 1.0);
    assert_refused(data, "rounds=20", "all checkpoints in this folder are damaged");
    empty_folder();
    assert_refused(data, "rounds=20", "there is no checkpoint in this folder");
    free_models(&whole);
    parley_data_free(data);
}

static void a_new_run_does_not_write_over_the_checkpoints_of_another(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    parley_model *model;
    parley_error error = {0};
    static parley_settings settings;
    leave_two_checkpoints(data);
    settings = settings_of("preset=cocoa+");
    settings.checkpoint = folder;
    assert_int_equal(parley_train(data, &settings, NULL, NULL, &model, NULL, &error), PARLEY_BAD_USAGE);
    assert_non_null(strstr(error.sentence, "already has a checkpoint of round 8"));
    parley_data_free(data);
}

static void a_first_run_may_be_told_to_resume_from_its_own_folder(void **state) {
    (void)state;
    static saying saying;
    parley_data *data = random_data(small);
    parley_model *model;
    parley_error error = {0};
    char words[128];
    empty_folder();
    snprintf(words, sizeof words, "preset=cocoa+ checkpoint=%s rounds=5 gap=0", folder);
    assert_done(resume(data, words, &model, &saying, &error), &error);
    assert_non_null(strstr(saying.text, "there is no checkpoint in "));
    parley_model_free(model);
    assert_done(resume(data, words, &model, &saying, &error), &error);
    assert_non_null(strstr(saying.text, "after round 5"));
    parley_model_free(model);
    parley_data_free(data);
}

static void a_folder_that_takes_no_files_any_more_ends_no_run(void **state) {
    (void)state;
    static saying saying;
    parley_data *data = random_data(small);
    parley_model *model;
    parley_error error = {0};
    char words[160], path[256];
    leave_two_checkpoints(data);
    outcome whole = train_once(data, "preset=cocoa+ workers=4 gap=0 lambda=0.01 rounds=20");
    for (unsigned r = 9; r <= 20; r++) { /* a folder of the same name prevents writing the file */
        snprintf(path, sizeof path, "%s/round-%u.rank-0.safetensors", folder, r);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    snprintf(words, sizeof words, "rounds=20 checkpoint=%s checkpoint_every=1r", folder);
    assert_done(resume(data, words, &model, &saying, &error), &error);
    assert_same_model(model, whole.model[0], "no room");
    parley_model_free(model);
    const char *first = strstr(saying.text, "warning: cannot write the checkpoint of round 9");
    assert_non_null(first);
    assert_non_null(strstr(first, "the one of round 8 is kept"));
    assert_null(strstr(first + 1, "warning"));
    for (unsigned r = 9; r <= 20; r++) {
        snprintf(path, sizeof path, "%s/round-%u.rank-0.safetensors", folder, r);
        assert_int_equal(rmdir(path), 0);
    }
    assert_done(resume(data, "rounds=20", &model, &saying, &error), &error);
    assert_non_null(strstr(saying.text, "after round 8"));
    parley_model_free(model);
    free_models(&whole);
    parley_data_free(data);
}

static void every_failed_allocation_ends_with_a_sentence_or_a_warning(void **state) {
    (void)state;
    static saying saying;
    static parley_settings settings;
    parley_data *data = random_data(small);
    const char *const forms[] = {"preset=cocoa+ workers=3 gap=0 rounds=6", "preset=hybrid workers=3 gap=0 rounds=6",
                                 "preset=cocoa+ workers=1 l1_ratio=1 lambda=0.003 gap=1e-14 rounds=6"};
    for (unsigned f = 0; f < COUNT(forms); f++) {
        outcome whole = train_once(data, forms[f]);
        settings = settings_of(forms[f]);
        settings.checkpoint_every = "2r";
        for (unsigned half = 0; half < 2; half++) {
            bool failed = true;
            parley_error error = {0};
            parley_model *model;
            settings.rounds = 6;
            settings.checkpoint = half == 0 ? folder : "";
            settings.resume = half == 0 ? "" : folder;
            for (int64_t n = 0; failed && n < 100000; n += 1 + SOME * n / 50) {
                if (half == 0)
                    empty_folder();
                saying.text[0] = '\0';
                pl_memory_fail_after(n);
                parley_status status = parley_train(data, &settings, listen, &saying, &model, NULL, &error);
                failed = pl_memory_fail_after(-1) > n;
                if (status == PARLEY_OK)
                    assert_same_model(model, whole.model[0], forms[f]);
                else
                    assert_int_equal(strncmp(error.sentence, "out of memory: ", 15), 0);
                parley_model_free(model);
            }
            assert_false(failed);
            if (half == 1)
                continue;
            empty_folder(); /* then again from round 3 on, in a read-only folder */
            settings.rounds = 3;
            assert_done(parley_train(data, &settings, NULL, NULL, &model, NULL, &error), &error);
            parley_model_free(model);
        }
        free_models(&whole);
    }
    parley_data_free(data);
}

static void how_often_is_a_number_of_rounds_or_seconds(void **state) {
    (void)state;
    const char *const wrong[] = {"", "50", "r", "0r", "1.5r", "-1s", "5m", "nans", "0x5r", " 5r", "5r "};
    uint64_t rounds;
    double seconds;
    assert_done(pl_checkpoint_every("50r", &rounds, &seconds, NULL), NULL);
    assert_int_equal(rounds, 50);
    assert_done(pl_checkpoint_every("0.5s", &rounds, &seconds, NULL), NULL);
    assert_int_equal(rounds, 0);
    assert_true(seconds == 0.5);
    for (unsigned i = 0; i < COUNT(wrong); i++)
        assert_int_equal(pl_checkpoint_every(wrong[i], &rounds, &seconds, NULL), PARLEY_BAD_USAGE);
}

static void every_member_lists_its_state(void **state) {
    (void)state;
    for (unsigned i = 0; i < pl_locals_count; i++)
        assert_non_null(pl_locals[i]->state);
    for (unsigned i = 0; i < pl_combines_count; i++)
        assert_non_null(pl_combines[i]->state);
}

/* A tensor of 2^40 x 0 entries has no bytes, and its first dimension must not be taken for a length. */
static void a_tensor_of_two_dimensions_is_refused(void **state) {
    (void)state;
    const pl_tensor tensor = {"v", PL_F64, 2, {UINT64_C(1) << 40, 0}, ""};
    const pl_pair meta = {"format", "parley-checkpoint-1"};
    char path[128];
    pl_container *container;
    parley_error error = {0};
    snprintf(path, sizeof path, "%s/round-1.safetensors", folder);
    assert_done(pl_container_write(path, &tensor, 1, &meta, 1, &error), &error);
    assert_int_equal(pl_checked_open(path, &container, &error), PARLEY_BAD_INPUT);
    assert_non_null(strstr(error.sentence, "tensor v has 2 dimensions; not a checkpoint"));
    assert_null(container);
    empty_folder();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_member_lists_its_state),
        cmocka_unit_test(how_often_is_a_number_of_rounds_or_seconds),
        cmocka_unit_test(every_repeatable_preset_goes_on_bit_for_bit),
        cmocka_unit_test(every_form_of_a_method_goes_on_bit_for_bit),
        cmocka_unit_test(problems_of_several_classes_go_on_bit_for_bit),
        cmocka_unit_test(lock_free_runs_and_paced_ones_go_on),
        cmocka_unit_test(an_interrupted_run_goes_on_where_it_was),
        cmocka_unit_test(the_last_two_checkpoints_are_kept),
        cmocka_unit_test(checkpoints_of_other_data_or_settings_are_refused),
        cmocka_unit_test(paths_take_no_checkpoints),
        cmocka_unit_test(other_workers_or_methods_begin_at_the_model),
        cmocka_unit_test(a_damaged_checkpoint_is_told_of_and_the_one_before_is_used),
        cmocka_unit_test(a_tensor_of_two_dimensions_is_refused),
        cmocka_unit_test(a_new_run_does_not_write_over_the_checkpoints_of_another),
        cmocka_unit_test(a_first_run_may_be_told_to_resume_from_its_own_folder),
        cmocka_unit_test(a_folder_that_takes_no_files_any_more_ends_no_run),
        cmocka_unit_test(every_failed_allocation_ends_with_a_sentence_or_a_warning),
    };
    return cmocka_run_group_tests_name("checkpoint", tests, make_folder, remove_folder);
}
