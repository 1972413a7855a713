/* fuzz_checkpoint.c: any values in a checkpoint whose container is well-formed, as if the checksum were right: they are
 * refused with a sentence that names the file, or two more rounds do no harm.
 *
 * The first byte of an input chooses a method. Each following group of 11 bytes is an edit of the tensors that a run of
 * that method saved: tensor, entry (2 bytes), value (8 bytes). A run is opened for every input, because restoring
 * begins at a new one; everything happens in memory except for the first checkpoint of each method. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "data/read.h"
#include "train/run.h"
#include "train/train.h"

#define EDIT 11
#define MOST_EDITS 8
#define ROUND 4

static const char *const methods[] = {
    "preset=cocoa+ workers=3 lanes=2 loss=hinge gap=0",
    "preset=cocoa+ workers=2 local_steps=auto gap=0",
    "preset=cocoa+ workers=2 l1_ratio=0.9 lambda=0.01 gap=0 intercept=penalised",
    "preset=cocoa+ workers=1 l1_ratio=1 lambda=0.003 gap=1e-15 local_epochs=0.01 evaluate_every=5",
    "preset=lbfgs workers=2 gap=0 history=3",
    "preset=newton workers=2 gap=0",
    "preset=newton workers=2 combine=truncated gap=0",
    "preset=gd workers=2 gap=0",
    "preset=ma-sgd workers=2 gap=0",
    "preset=ma-sgd workers=2 schedule=adagrad loss=hinge gap=0",
    "preset=cocoa+ workers=2 validation_fraction=0.25 patience=1000 gap=0",
};
enum { METHODS = sizeof methods / sizeof *methods };

static const char rows[] = "1 1:1 3:2\n-1 2:1\n1 1:2 4:1\n-1 2:3 3:1\n1 4:1\n-1 1:-1 2:1\n1 3:1 4:2\n-1 3:-1\n"
                           "1 1:1 2:-1\n-1 4:-2\n1 1:1\n-1 2:2 4:-1\n";

typedef struct saved {
    parley_settings settings;
    char *bytes, *kept; /* the part of rank 0, and a copy */
    uint64_t size;
    pl_container *part; /* opened on `bytes` */
} saved;

static pl_engine *engine;
static parley_data *data;
static saved all[METHODS];

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void check(int good, const char *what) {
    if (!good) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

static void read_part(saved *saved, const char *folder) {
    char path[256];
    parley_error error = {0};
    pl_part_path(path, sizeof path, folder, ROUND, 0);
    FILE *file = fopen(path, "rb");
    check(file && fseek(file, 0, SEEK_END) == 0, path);
    saved->size = (uint64_t)ftell(file);
    rewind(file);
    saved->bytes = malloc(saved->size); /* as aligned as a mapped file */
    saved->kept = malloc(saved->size);
    check(saved->bytes && saved->kept && fread(saved->bytes, 1, saved->size, file) == saved->size, path);
    fclose(file);
    memcpy(saved->kept, saved->bytes, saved->size);
    check(pl_container_parse(saved->bytes, saved->size, "fuzz", &saved->part, &error) == PARLEY_OK, error.sentence);
    unlink(path);
    pl_manifest_path(path, sizeof path, folder, ROUND);
    unlink(path);
}

/* Trains each method for a few rounds and keeps its checkpoint. */
static void set_up(void) {
    pl_pool *pool;
    parley_error error = {0};
    char folder[] = "/tmp/parley_fuzz_XXXXXX";
    check(mkdtemp(folder) != NULL, folder);
    check(pl_threads_open(&engine, 1, 1, 60, &error) == PARLEY_OK, error.sentence);
    check(pl_pool_open(&pool, 1, &error) == PARLEY_OK, error.sentence);
    check(pl_data_parse(rows, sizeof rows - 1, "rows", pool, 0, &data, &error) == PARLEY_OK, error.sentence);
    pl_pool_close(pool);
    for (unsigned m = 0; m < METHODS; m++) {
        parley_settings *settings = &all[m].settings;
        char words[256];
        parley_model *model;
        pl_settings_defaults(settings);
        snprintf(words, sizeof words, "%s checkpoint=%s rounds=%d", methods[m], folder, ROUND);
        for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
            char *value = strchr(word, '=');
            *value++ = '\0';
            check(pl_setting_set(settings, 0, word, value, &error) == PARLEY_OK, error.sentence);
        }
        check(pl_train_rank(engine, data, settings, NULL, NULL, &model, NULL, &error) == PARLEY_OK, error.sentence);
        parley_model_free(model);
        settings->checkpoint = "";
        settings->rounds = ROUND + 2;
        read_part(&all[m], folder);
    }
    rmdir(folder);
}

/* Changes entries of the tensors, which lie in the bytes of the part. */
static void edit(saved *saved, const uint8_t *edits, size_t count) {
    static const unsigned bytes[] = {[PL_F64] = 8, [PL_U64] = 8, [PL_F32] = 4, [PL_U32] = 4, [PL_U8] = 1};
    const pl_tensor *tensors;
    unsigned tensor_count = pl_container_tensors(saved->part, &tensors);
    for (size_t i = 0; i + EDIT <= count && i < MOST_EDITS * EDIT; i += EDIT) {
        const pl_tensor *tensor = &tensors[edits[i] % tensor_count];
        uint64_t at = edits[i + 1] + 256u * edits[i + 2], width = bytes[tensor->type];
        if (tensor->shape[0] > 0)
            memcpy((char *)(uintptr_t)tensor->data + at % tensor->shape[0] * width, edits + i + 3, width);
    }
}

/* Restores the run from the part and makes two rounds. */
static void resume(const saved *saved) {
    parley_error error = {0};
    pl_run run = {.engine = engine, .resume.exact = true};
    uint64_t bounds[2] = {0};
    pl_container *parts_of[1] = {saved->part};
    pl_parts parts = {.folder = "fuzz", .round = ROUND, .ranks = 1, .bounds = bounds, .part = parts_of};
    check(pl_run_open(&run, data, &saved->settings, &error) == PARLEY_OK, error.sentence);
    bounds[1] = run.tables.entries;
    pl_state state = {.restoring = true,
                      .team = &run.rows.team,
                      .parts = &parts,
                      .begin = pl_exchange_begin(run.exchange),
                      .end = pl_exchange_end(run.exchange)};
    pl_run_state(&run, &state);
    if (state.status == PARLEY_OK && pl_take_next_v(&run, &error) == PARLEY_OK) {
        if (pl_loop(&run, &error) != PARLEY_OK)
            check(*error.sentence != '\0', "a failure without a sentence");
    } else
        check(strncmp(state.error.sentence, "fuzz/round-4.rank-0.safetensors: ", 33) == 0 ||
                  strstr(state.error.sentence, "these data have the rows of that run in another order") ||
                  strstr(state.error.sentence, "another version of Parley wrote it"),
              state.error.sentence);
    pl_run_close(&run);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    if (!engine)
        set_up();
    if (count == 0)
        return 0;
    saved *saved = &all[bytes[0] % METHODS];
    edit(saved, bytes + 1, count - 1);
    resume(saved);
    memcpy(saved->bytes, saved->kept, saved->size);
    return 0;
}
