/* test_restored_state.c: values in a checkpoint whose checksum is right are still checked when they are restored. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp, dirent */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "support.h"
#include "train/checkpoint.h"

#define MOST_TENSORS 256
#define ROUND "6"

static char folder[64] = "/dev/shm/parley_restored_XXXXXX"; /* in memory if possible, since every file is synced */
static char part[128];
static const sample_plan few = {.seed = 5, .rows = 48, .columns = 24, .density = 0.4};

static int make_folder(void **state) {
    (void)state;
    bool made = mkdtemp(folder);
    if (!made) {
        snprintf(folder, sizeof folder, "/tmp/parley_restored_XXXXXX");
        made = mkdtemp(folder);
    }
    snprintf(part, sizeof part, "%s/round-" ROUND ".rank-0.safetensors", folder);
    return !made;
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

static parley_status train_on(const parley_data *data, const char *words, const char *option, const char *rounds,
                              parley_error *error) {
    static parley_settings settings;
    parley_model *model = NULL;
    settings = settings_of(words);
    set_setting(&settings, option, folder);
    set_setting(&settings, "rounds", rounds);
    parley_status status = parley_train(data, &settings, NULL, NULL, &model, NULL, error);
    assert_true((status == PARLEY_OK) == (model != NULL));
    parley_model_free(model);
    return status;
}

/* Leaves a checkpoint of round 6 alone in the folder. */
static void leave_checkpoint(const parley_data *data, const char *words) {
    parley_error error = {0};
    empty_folder();
    assert_done(train_on(data, words, "checkpoint", ROUND, &error), &error);
}

/* Writes the part with entry `at` of the tensor replaced, and its checksum. The old file stays mapped. */
static void write_changed(const pl_container *old, const char *name, uint64_t at, const void *value, unsigned bytes) {
    const pl_tensor *tensors;
    const pl_pair *metas;
    pl_tensor changed[MOST_TENSORS];
    pl_pair kept[PL_MANIFEST_METAS];
    parley_error error = {0};
    char *copy = NULL;
    unsigned count = pl_container_tensors(old, &tensors), pairs = pl_container_metas(old, &metas), left = 0;
    assert_true(count <= MOST_TENSORS && pairs <= PL_MANIFEST_METAS);
    for (unsigned i = 0; i < pairs; i++)
        if (strcmp(metas[i].key, "checksum") != 0)
            kept[left++] = metas[i];
    for (unsigned i = 0; i < count; i++) {
        changed[i] = tensors[i];
        if (strcmp(tensors[i].name, name) != 0)
            continue;
        assert_true(at < tensors[i].shape[0]);
        copy = malloc(tensors[i].shape[0] * bytes);
        assert_non_null(copy);
        memcpy(copy, tensors[i].data, tensors[i].shape[0] * bytes);
        memcpy(copy + at * bytes, value, bytes);
        changed[i].data = copy;
    }
    assert_non_null(copy);
    assert_done(pl_checked_write(part, changed, count, kept, left, &error), &error);
    free(copy);
}

typedef struct damage {
    const char *words, *name;
    uint64_t at;
    double value;
    const char *why;
} damage;

#define SDCA "preset=cocoa+ workers=3 lanes=2 loss=hinge gap=0"
#define SGD "preset=ma-sgd workers=3 gap=0"
#define SCD "preset=cocoa+ workers=1 l1_ratio=1 lambda=0.003 gap=1e-15 local_epochs=0.01 evaluate_every=5"
#define LBFGS "preset=lbfgs workers=3 gap=0 history=4"
#define NEWTON "preset=newton workers=3 gap=0"
#define PACED "preset=cocoa+ workers=3 local_steps=auto gap=0"

static const damage damages[] = {
    {SDCA, "local.worker", 0, 1e6, "local.worker has cursor 1000000, but it must be an integer from 0 to "},
    {SDCA, "local.worker", 0, -1, "local.worker has cursor -1"},
    {SDCA, "local.worker", 0, 0.5, "local.worker has cursor 0.5"},
    {SDCA, "local.worker", 2, 0, "local.worker has syncs 0, but it must be an integer from 1 to 2"},
    {SDCA, "local.worker", 3, NAN, "local.worker has lane_sigma nan"},
    {SDCA, "local.order", 1, 1e9, "local.order does not have each row of the worker once"},
    {SDCA, "local.order", 1, 0, "local.order does not have each row of the worker once"},
    {SDCA, "local.rest", 3, 254, "local.rest has a rest that is none of the levels"},
    {SDCA, "local.t", 3, NAN, "local.t has a value that is not a finite number"},
    {SDCA, "combine.add", 4, 4000, "combine.add has level 4000"},
    {SDCA, "combine.add", 0, INFINITY, "combine.add has sigma inf"},
    {SDCA, "combine.last", 0, INFINITY, "combine.last does not have the size of its slice"},
    {SDCA, "run.v", 2, INFINITY, "run.v has a value that is not a finite number"},
    {SDCA, "run.best_w", 0, NAN, "run.best_w has a value that is not a finite number"},
    {SDCA, "run.progress", 0, 1e12, "run.progress has round 1000000000000, but it must be an integer from 6 to 6"},
    {SDCA, "run.progress", 1, -1e300, "run.progress has seconds -1"},
    {SDCA, "run.progress", 10, 1e12, "run.progress has epochs 1000000000000"},
    {SDCA, "run.progress", 14, 7, "run.progress has noted 7"},
    {SDCA, "run.pace", 10, 1e15, "run.pace has window 1"},
    {SDCA, "run.pace", 14, 1e15, "run.pace has told 1"},
    {PACED, "run.pacing", 0, 1e12, "run.pacing has epochs 1000000000000"},
    {PACED, "run.pacing", 7, NAN, "run.pacing has base nan"},
    {PACED, "run.pacing", 18, 1e9, "run.pacing has rounds 1000000000"},
    {PACED, "run.pacing_work", 0, NAN, "run.pacing_work has a value that is not a finite number"},
    {PACED, "run.progress", 10, 1e12, "run.progress has epochs 1000000000000"},
    {SGD, "local.worker", 0, 1e6, "local.worker has cursor 1000000"},
    {SGD, "local.order", 0, 7, "local.order does not have each row of the worker once"},
    {SGD, "local.rates", 0, NAN, "local.rates has rate nan"},
    {SGD, "local.rates", 1, 5e3, "local.rates has schedule 5000"},
    {SGD " schedule=inverse", "local.rates", 1, 5, "local.rates has schedule 5, but it must be an integer from 2 to 2"},
    {SGD, "local.rates", 8, 1e3, "local.rates has halved 1000"},
    {SCD, "local.members", 0, 1e3, "local.members has entries 1000"},
    {SCD, "local.set", 0, 24, "local.set has other columns than those of its worker"},
    {SCD, "local.order", 0, 1e9, "local.order is not an order"},
    {SCD, "local.order", 0, 1, "local.order is not an order"},
    {SCD, "local.rest", 0, 99, "local.rest has a rest"},
    {SCD, "local.found", 3, 1e9, "local.found has heavy 1000000000"},
    {SCD, "local.u", 0, INFINITY, "local.u has a value that is not a finite number"},
    {SCD, "local.worker", 1, 1e9, "local.worker has supported 1000000000"},
    {LBFGS, "combine.lbfgs", 0, 5, "combine.lbfgs has pairs 5, but it must be an integer from 0 to 4"},
    {LBFGS, "combine.lbfgs", 1, 4, "combine.lbfgs has newest 4, but it must be an integer from 0 to 3"},
    {LBFGS, "local.margins", 2, 1e3, "local.margins has carried 1000"},
    {"preset=gd workers=2 gap=0", "local.margins", 0, 1, "local.margins has stepped 1"},
    {"preset=gd workers=2 gap=0", "combine.step", 0, NAN, "combine.step has rate nan"},
    {NEWTON, "combine.pairs", 0, 12, "combine.pairs has entries 12"},
    {NEWTON, "combine.newton", 0, 1, "combine.newton has softness 1, but it must be a number from 0 to 0"},
    {NEWTON, "combine.newton", 4, 13, "combine.newton has age 13"},
    {NEWTON, "combine.matrix", 0, NAN, "combine.matrix does not have the size of its slice of v, or has a value"},
};

static void every_restored_value_has_a_range(void **state) {
    (void)state;
    parley_data *data = random_data(few);
    for (unsigned i = 0; i < COUNT(damages); i++) {
        const damage *one = &damages[i];
        pl_container *whole;
        parley_error error = {0};
        leave_checkpoint(data, one->words);
        assert_done(pl_container_open(part, &whole, &error), &error);
        const pl_tensor *tensor = pl_container_tensor(whole, one->name);
        if (!tensor)
            print_error("%s: no tensor %s\n", one->words, one->name);
        assert_non_null(tensor);
        uint64_t number = one->value > 0 && isfinite(one->value) ? (uint64_t)one->value : 0;
        uint8_t byte = (uint8_t)number;
        if (tensor->type == PL_F64)
            write_changed(whole, one->name, one->at, &one->value, 8);
        else if (tensor->type == PL_U64)
            write_changed(whole, one->name, one->at, &number, 8);
        else
            write_changed(whole, one->name, one->at, &byte, 1);
        pl_container_close(whole);
        parley_status status = train_on(data, "", "resume", "9", &error);
        if (status != PARLEY_BAD_INPUT || !strstr(error.sentence, one->why) || !strstr(error.sentence, part))
            print_error("%s, %s[%u] = %g: %s\n", one->words, one->name, (unsigned)one->at, one->value,
                        status == PARLEY_OK ? "accepted" : error.sentence);
        assert_int_equal(status, PARLEY_BAD_INPUT);
        assert_non_null(strstr(error.sentence, one->why));
        assert_int_equal(strncmp(error.sentence, part, strlen(part)), 0);
    }
    parley_data_free(data);
}

/* Any value anywhere is either refused or harmless; sanitizers see the harm. */
static void no_restored_value_does_harm(void **state) {
    (void)state;
    static const char *const forms[] = {SDCA, SGD, SCD, LBFGS, NEWTON, PACED};
    static const double poison[] = {NAN, INFINITY, -1, 0, 1e300};
    static const uint64_t whole_poison[] = {0, 255, UINT64_MAX};
    parley_data *data = random_data(few);
    for (unsigned f = 0; f < COUNT(forms); f += SOME) {
        pl_container *whole;
        const pl_tensor *tensors;
        parley_error error = {0};
        leave_checkpoint(data, forms[f]);
        assert_done(pl_container_open(part, &whole, &error), &error);
        unsigned count = pl_container_tensors(whole, &tensors);
        for (unsigned t = 0; t < count; t++) {
            bool real = tensors[t].type == PL_F64;
            unsigned bytes = tensors[t].type == PL_U8 ? 1 : tensors[t].type == PL_F32 ? 4 : 8;
            unsigned values = real ? COUNT(poison) : COUNT(whole_poison);
            for (unsigned p = 0; p < values && tensors[t].shape[0] > 0; p++) {
                uint64_t at = (t + p) % tensors[t].shape[0];
                const void *value = real ? (const void *)&poison[p] : (const void *)&whole_poison[p];
                write_changed(whole, tensors[t].name, at, value, bytes);
                parley_status status = train_on(data, "", "resume", "8", &error);
                assert_true(status == PARLEY_OK || *error.sentence);
            }
        }
        pl_container_close(whole);
    }
    parley_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_restored_value_has_a_range),
        cmocka_unit_test(no_restored_value_does_harm),
    };
    return cmocka_run_group_tests_name("restored_state", tests, make_folder, remove_folder);
}
