/* checkpoint.c: saves checkpoints. Nothing here may end a run: if a checkpoint cannot be written, the user is warned
 * once, and the last good one stays. */
#include "train/checkpoint.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/collective.h"
#include "shard/fingerprint.h"
#include "train/run.h"

parley_status pl_checkpoint_every(const char *word, uint64_t *rounds, double *seconds, parley_error *error) {
    char *end;
    double number = strtod(word, &end);
    bool by_rounds = strcmp(end, "r") == 0;
    *rounds = 0;
    *seconds = 0;
    if (end == word || strpbrk(word, "xXpP \t") || (!by_rounds && strcmp(end, "s") != 0) || !(number >= 0) ||
        number > 1e15 || (by_rounds && (number < 1 || number != floor(number))))
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--checkpoint-every %.40s: must be a number of rounds or seconds, such as 50r or 60s", word);
    if (by_rounds)
        *rounds = (uint64_t)number;
    else
        *seconds = number;
    return PARLEY_OK;
}

/* Adds a pair to the manifest. `value` must outlive it. */
static void name_value(pl_checkpoint *self, const char *key, const char *value) {
    if (self->meta_count < PL_MANIFEST_METAS)
        self->metas[self->meta_count++] = (pl_pair){key, value};
}

/* Adds "settings.NAME" with the value of every setting of a training run. */
static parley_status name_settings(pl_checkpoint *self, const parley_settings *settings, unsigned commands,
                                   parley_error *error) {
    char value[PL_TEXT];
    uint64_t bytes = 0;
    for (unsigned i = 0; i < pl_settings_count(); i++) {
        pl_setting_text(settings, pl_setting_at(i), value, sizeof value);
        bytes += strlen("settings.") + strlen(pl_setting_at(i)->name) + strlen(value) + 2;
    }
    parley_status status = pl_take(&self->texts, bytes, 1, "checkpoints", error);
    char *next = self->texts;
    for (unsigned i = 0; i < pl_settings_count() && status == PARLEY_OK; i++) {
        if (!(pl_setting_at(i)->commands & commands))
            continue;
        char *key = next, *end = self->texts + bytes;
        next += snprintf(key, (size_t)(end - next), "settings.%s", pl_setting_at(i)->name) + 1;
        pl_setting_text(settings, pl_setting_at(i), next, (size_t)(end - next));
        name_value(self, key, next);
        next += strlen(next) + 1;
    }
    return status;
}

/* Draws an id that is unique to the run and the same on all ranks. */
static parley_status agree_on_id(pl_run *run, parley_error *error) {
    double parts[4] = {0}, sums[4] = {0}, now = pl_now();
    uint64_t bits;
    memcpy(&bits, &now, sizeof bits);
    bits = (bits ^ (uint64_t)getpid() << 32 ^ run->fingerprint) * UINT64_C(0x9e3779b97f4a7c15);
    for (unsigned p = 0; p < 4 && run->engine->rank == 0; p++)
        parts[p] = (double)(bits >> 16 * p & 0xffff);
    parley_status status = pl_sum_workers(run->engine, PL_EACH_RANK, parts, 4, sums, error);
    for (unsigned p = 0; p < 4; p++)
        run->checkpoint.id |= (uint64_t)sums[p] << 16 * p;
    return status;
}

enum {
    NUMBER_RUN,
    NUMBER_RANKS,
    NUMBER_SERVERS,
    NUMBER_DATA,
    NUMBER_ROUND = NUMBER_DATA + 4,
    NUMBER_OBJECTIVE,
    NUMBER_GAP,
    NUMBER_WORKERS,
    NUMBER_LANES,
    NUMBERS
};

static void name_number(pl_checkpoint *self, unsigned number, const char *key, uint64_t value) {
    snprintf(self->numbers[number], sizeof *self->numbers, "%" PRIu64, value);
    name_value(self, key, self->numbers[number]);
}

static void name_run(pl_run *run) {
    pl_checkpoint *self = &run->checkpoint;
    const char *const shape[] = {"rows", "columns", "nonzeros"};
    const uint64_t counts[] = {pl_all_rows(run->rows.given), run->rows.given->x.columns,
                               pl_all_nonzeros(run->rows.given)};
    snprintf(self->numbers[NUMBER_RUN], sizeof *self->numbers, "%016" PRIx64, self->id);
    name_value(self, "format", "parley-checkpoint-1");
    name_value(self, "run", self->numbers[NUMBER_RUN]);
    name_value(self, "version", parley_version());
    name_number(self, NUMBER_RANKS, "ranks", run->engine->ranks);
    name_number(self, NUMBER_SERVERS, "servers", run->engine->servers);
    for (unsigned i = 0; i < 3; i++)
        name_number(self, NUMBER_DATA + i, shape[i], counts[i]);
    snprintf(self->numbers[NUMBER_DATA + 3], sizeof *self->numbers, PL_FINGERPRINT,
             (unsigned long long)run->fingerprint);
    name_value(self, "fingerprint", self->numbers[NUMBER_DATA + 3]);
}

parley_status pl_checkpoint_open(pl_run *run, parley_error *error) {
    pl_checkpoint *self = &run->checkpoint;
    const parley_settings *settings = run->recorded;
    if (!*settings->checkpoint)
        return PARLEY_OK;
    parley_status status = pl_checkpoint_every(settings->checkpoint_every, &self->rounds, &self->seconds, error);
    if (status == PARLEY_OK && run->engine->rank == 0)
        status = pl_checkpoint_look(settings->checkpoint, run->resume.folder, error);
    if (status == PARLEY_OK)
        status = agree_on_id(run, error);
    if (status == PARLEY_OK)
        status = pl_state_open(&self->state, error);
    if (status == PARLEY_OK)
        status = name_settings(self, settings, PL_FOR_TRAIN | PL_FOR_ONE | run->type->commands, error);
    if (status != PARLEY_OK)
        return status;
    name_run(run);
    self->fixed = self->meta_count;
    self->rank = run->engine->rank;
    self->ranks = run->engine->ranks;
    self->began = pl_engine_now(run->engine);
    self->folder = settings->checkpoint;
    return PARLEY_OK;
}

/* The writing thread. It writes this rank's part, or the manifest, after which older checkpoints can be removed. */
static void *write_files(void *context) {
    pl_checkpoint *self = context;
    char path[PL_TEXT + 64];
    if (self->phase == PL_WRITES_PARTS) {
        pl_part_path(path, sizeof path, self->folder, self->round, self->rank);
        self->status = pl_state_write(&self->state, path, self->metas, self->meta_count, &self->error);
    } else {
        pl_manifest_path(path, sizeof path, self->folder, self->round);
        self->status = pl_checked_write(path, NULL, 0, self->metas, self->meta_count, &self->error);
        if (self->status == PARLEY_OK)
            pl_checkpoint_prune(self->folder, self->round, self->kept);
    }
    atomic_store(&self->finished, true);
    return NULL;
}

static void start_writing(pl_checkpoint *self) {
    atomic_store(&self->finished, false);
    self->running = pthread_create(&self->thread, NULL, write_files, self) == 0;
    if (!self->running)
        write_files(self);
}

static void join(pl_checkpoint *self) {
    if (self->running)
        pthread_join(self->thread, NULL);
    self->running = false;
}

/* Copies the state and starts writing it. */
static void take(pl_run *run) {
    pl_checkpoint *self = &run->checkpoint;
    self->due = false;
    self->round = run->round;
    self->began = pl_engine_now(run->engine);
    self->phase = PL_WRITES_PARTS;
    self->meta_count = self->fixed;
    name_number(self, NUMBER_ROUND, "round", run->round);
    pl_number_text(run->best.objective, self->numbers[NUMBER_OBJECTIVE], sizeof *self->numbers);
    name_value(self, "objective", self->numbers[NUMBER_OBJECTIVE]);
    if (run->best.exists) {
        pl_number_text(pl_gap(&run->best), self->numbers[NUMBER_GAP], sizeof *self->numbers);
        name_value(self, "gap", self->numbers[NUMBER_GAP]);
    }
    name_value(self, "problem", run->type->name);
    name_value(self, "local", run->method.local->name);
    name_value(self, "combine", run->method.combine->name);
    name_value(self, "preset", run->method.preset);
    name_number(self, NUMBER_WORKERS, "workers", run->rows.team.workers);
    name_number(self, NUMBER_LANES, "lanes", run->rows.team.lanes);
    pl_state_begin(&self->state, &run->rows.team, pl_exchange_begin(run->exchange), pl_exchange_end(run->exchange));
    pl_run_state(run, &self->state);
    if (self->state.status == PARLEY_OK) {
        start_writing(self);
        return;
    }
    self->status = self->state.status;
    self->error = self->state.error;
    atomic_store(&self->finished, true);
}

void pl_checkpoint_round(pl_run *run) {
    pl_checkpoint *self = &run->checkpoint;
    if (!self->folder)
        return;
    self->due = self->due || (self->rounds && run->round % self->rounds == 0);
    if (self->due && self->phase == PL_IDLE && self->round != run->round)
        take(run);
}

void pl_checkpoint_report(pl_run *run, double *flags) {
    pl_checkpoint *self = &run->checkpoint;
    if (!self->folder)
        return;
    bool mine = self->phase == PL_WRITES_PARTS || (self->phase == PL_WRITES_MANIFEST && self->rank == 0);
    bool done = mine && atomic_load(&self->finished);
    if (done)
        join(self);
    flags[PL_SAVE] = self->rank == 0 && !self->rounds && pl_engine_now(run->engine) - self->began >= self->seconds;
    flags[PL_SAVED] = done && self->status == PARLEY_OK;
    flags[PL_NOT_SAVED] = done && self->status != PARLEY_OK;
}

/* Called when some rank could not write. */
static void give_up(pl_run *run) {
    pl_checkpoint *self = &run->checkpoint;
    char path[PL_TEXT + 64], kept[64] = "there is none yet";
    const char *why = self->status != PARLEY_OK ? self->error.sentence : "another process could not write its part";
    if (self->kept)
        snprintf(kept, sizeof kept, "the one of round %" PRIu64 " is kept", self->kept);
    if (!self->warned)
        pl_say(run, "warning: cannot write the checkpoint of round %" PRIu64 ": %s; training continues, and %s",
               self->round, why, kept);
    self->warned = true;
    self->phase = PL_IDLE;
    pl_part_path(path, sizeof path, self->folder, self->round, self->rank);
    unlink(path);
}

void pl_checkpoint_agreed(pl_run *run, const double *flags) {
    pl_checkpoint *self = &run->checkpoint;
    if (!self->folder)
        return;
    self->due = self->due || flags[PL_SAVE] > 0;
    double expected = self->phase == PL_WRITES_PARTS ? self->ranks : 1;
    if (self->phase == PL_IDLE || flags[PL_SAVED] + flags[PL_NOT_SAVED] < expected)
        return;
    if (flags[PL_NOT_SAVED] > 0)
        give_up(run);
    else if (self->phase == PL_WRITES_PARTS) {
        self->phase = PL_WRITES_MANIFEST;
        if (self->rank == 0)
            start_writing(self);
    } else {
        self->phase = PL_IDLE;
        self->kept = self->round;
    }
}

parley_status pl_checkpoint_settle(pl_run *run, parley_error *error) {
    pl_checkpoint *self = &run->checkpoint;
    parley_status status = PARLEY_OK;
    while (self->phase != PL_IDLE && status == PARLEY_OK) {
        double flags[PL_DECISIONS] = {0};
        join(self);
        pl_checkpoint_report(run, flags);
        status = pl_sum_flags(run, flags, PL_DECISIONS, error);
        if (status == PARLEY_OK)
            pl_checkpoint_agreed(run, flags);
    }
    return status;
}

parley_status pl_checkpoint_last(pl_run *run, parley_error *error) {
    pl_checkpoint *self = &run->checkpoint;
    if (!self->folder || run->round == 0 || self->round == run->round || self->kept == run->round)
        return PARLEY_OK;
    parley_status status = pl_checkpoint_settle(run, error);
    if (status == PARLEY_OK)
        take(run);
    return status;
}

void pl_checkpoint_close(pl_checkpoint *self) {
    join(self);
    pl_state_close(&self->state);
    pl_free(self->texts);
    *self = (pl_checkpoint){0};
}
