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
static void name_value(pl_checkpoint *this, const char *key, const char *value) {
    if (this->meta_count < PL_MANIFEST_METAS)
        this->metas[this->meta_count++] = (pl_pair){key, value};
}

/* Adds "settings.NAME" with the value of every setting of a training run. */
static parley_status name_settings(pl_checkpoint *this, const parley_settings *settings, unsigned commands,
                                   parley_error *error) {
    char value[PL_TEXT];
    uint64_t bytes = 0;
    for (unsigned i = 0; i < pl_settings_count; i++) {
        pl_setting_text(settings, &pl_settings[i], value, sizeof value);
        bytes += strlen("settings.") + strlen(pl_settings[i].name) + strlen(value) + 2;
    }
    parley_status status = pl_take(&this->texts, bytes, 1, "checkpoints", error);
    char *next = this->texts;
    for (unsigned i = 0; i < pl_settings_count && status == PARLEY_OK; i++) {
        if (!(pl_settings[i].commands & commands))
            continue;
        char *key = next, *end = this->texts + bytes;
        next += snprintf(key, (size_t)(end - next), "settings.%s", pl_settings[i].name) + 1;
        pl_setting_text(settings, &pl_settings[i], next, (size_t)(end - next));
        name_value(this, key, next);
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

static void name_number(pl_checkpoint *this, unsigned number, const char *key, uint64_t value) {
    snprintf(this->numbers[number], sizeof *this->numbers, "%" PRIu64, value);
    name_value(this, key, this->numbers[number]);
}

static void name_run(pl_run *run) {
    pl_checkpoint *this = &run->checkpoint;
    const char *const shape[] = {"rows", "columns", "nonzeros"};
    const uint64_t counts[] = {pl_all_rows(run->rows.given), run->rows.given->x.columns,
                               pl_all_nonzeros(run->rows.given)};
    snprintf(this->numbers[NUMBER_RUN], sizeof *this->numbers, "%016" PRIx64, this->id);
    name_value(this, "format", "parley-checkpoint-1");
    name_value(this, "run", this->numbers[NUMBER_RUN]);
    name_value(this, "version", parley_version());
    name_number(this, NUMBER_RANKS, "ranks", run->engine->ranks);
    name_number(this, NUMBER_SERVERS, "servers", run->engine->servers);
    for (unsigned i = 0; i < 3; i++)
        name_number(this, NUMBER_DATA + i, shape[i], counts[i]);
    snprintf(this->numbers[NUMBER_DATA + 3], sizeof *this->numbers, PL_FINGERPRINT,
             (unsigned long long)run->fingerprint);
    name_value(this, "fingerprint", this->numbers[NUMBER_DATA + 3]);
}

parley_status pl_checkpoint_open(pl_run *run, parley_error *error) {
    pl_checkpoint *this = &run->checkpoint;
    const parley_settings *settings = run->recorded;
    if (!*settings->checkpoint)
        return PARLEY_OK;
    parley_status status = pl_checkpoint_every(settings->checkpoint_every, &this->rounds, &this->seconds, error);
    if (status == PARLEY_OK && run->engine->rank == 0)
        status = pl_checkpoint_look(settings->checkpoint, run->resume.folder, error);
    if (status == PARLEY_OK)
        status = agree_on_id(run, error);
    if (status == PARLEY_OK)
        status = pl_state_open(&this->state, error);
    if (status == PARLEY_OK)
        status = name_settings(this, settings, PL_FOR_TRAIN | PL_FOR_ONE | run->type->commands, error);
    if (status != PARLEY_OK)
        return status;
    name_run(run);
    this->fixed = this->meta_count;
    this->rank = run->engine->rank;
    this->ranks = run->engine->ranks;
    this->began = pl_engine_now(run->engine);
    this->folder = settings->checkpoint;
    return PARLEY_OK;
}

/* The writing thread. It writes this rank's part, or the manifest, after which older checkpoints can be removed. */
static void *write_files(void *context) {
    pl_checkpoint *this = context;
    char path[PL_TEXT + 64];
    if (this->phase == PL_WRITES_PARTS) {
        pl_part_path(path, sizeof path, this->folder, this->round, this->rank);
        this->status = pl_state_write(&this->state, path, this->metas, this->meta_count, &this->error);
    } else {
        pl_manifest_path(path, sizeof path, this->folder, this->round);
        this->status = pl_checked_write(path, NULL, 0, this->metas, this->meta_count, &this->error);
        if (this->status == PARLEY_OK)
            pl_checkpoint_prune(this->folder, this->round, this->kept);
    }
    atomic_store(&this->finished, true);
    return NULL;
}

static void start_writing(pl_checkpoint *this) {
    atomic_store(&this->finished, false);
    this->running = pthread_create(&this->thread, NULL, write_files, this) == 0;
    if (!this->running)
        write_files(this);
}

static void join(pl_checkpoint *this) {
    if (this->running)
        pthread_join(this->thread, NULL);
    this->running = false;
}

/* Copies the state and starts writing it. */
static void take(pl_run *run) {
    pl_checkpoint *this = &run->checkpoint;
    this->due = false;
    this->round = run->round;
    this->began = pl_engine_now(run->engine);
    this->phase = PL_WRITES_PARTS;
    this->meta_count = this->fixed;
    name_number(this, NUMBER_ROUND, "round", run->round);
    pl_number_text(run->best.objective, this->numbers[NUMBER_OBJECTIVE], sizeof *this->numbers);
    name_value(this, "objective", this->numbers[NUMBER_OBJECTIVE]);
    if (run->best.exists) {
        pl_number_text(pl_gap(&run->best), this->numbers[NUMBER_GAP], sizeof *this->numbers);
        name_value(this, "gap", this->numbers[NUMBER_GAP]);
    }
    name_value(this, "problem", run->type->name);
    name_value(this, "local", run->method.local->name);
    name_value(this, "combine", run->method.combine->name);
    name_value(this, "preset", run->method.preset);
    name_number(this, NUMBER_WORKERS, "workers", run->rows.team.workers);
    name_number(this, NUMBER_LANES, "lanes", run->rows.team.lanes);
    pl_state_begin(&this->state, &run->rows.team, pl_exchange_begin(run->exchange), pl_exchange_end(run->exchange));
    pl_run_state(run, &this->state);
    if (this->state.status == PARLEY_OK) {
        start_writing(this);
        return;
    }
    this->status = this->state.status;
    this->error = this->state.error;
    atomic_store(&this->finished, true);
}

void pl_checkpoint_round(pl_run *run) {
    pl_checkpoint *this = &run->checkpoint;
    if (!this->folder)
        return;
    this->due = this->due || (this->rounds && run->round % this->rounds == 0);
    if (this->due && this->phase == PL_IDLE && this->round != run->round)
        take(run);
}

void pl_checkpoint_report(pl_run *run, double *flags) {
    pl_checkpoint *this = &run->checkpoint;
    if (!this->folder)
        return;
    bool mine = this->phase == PL_WRITES_PARTS || (this->phase == PL_WRITES_MANIFEST && this->rank == 0);
    bool done = mine && atomic_load(&this->finished);
    if (done)
        join(this);
    flags[PL_SAVE] = this->rank == 0 && !this->rounds && pl_engine_now(run->engine) - this->began >= this->seconds;
    flags[PL_SAVED] = done && this->status == PARLEY_OK;
    flags[PL_NOT_SAVED] = done && this->status != PARLEY_OK;
}

/* Called when some rank could not write. */
static void give_up(pl_run *run) {
    pl_checkpoint *this = &run->checkpoint;
    char path[PL_TEXT + 64], kept[64] = "there is none yet";
    const char *why = this->status != PARLEY_OK ? this->error.sentence : "another process could not write its part";
    if (this->kept)
        snprintf(kept, sizeof kept, "the one of round %" PRIu64 " is kept", this->kept);
    if (!this->warned)
        pl_say(run, "warning: cannot write the checkpoint of round %" PRIu64 ": %s; training continues, and %s",
               this->round, why, kept);
    this->warned = true;
    this->phase = PL_IDLE;
    pl_part_path(path, sizeof path, this->folder, this->round, this->rank);
    unlink(path);
}

void pl_checkpoint_agreed(pl_run *run, const double *flags) {
    pl_checkpoint *this = &run->checkpoint;
    if (!this->folder)
        return;
    this->due = this->due || flags[PL_SAVE] > 0;
    double expected = this->phase == PL_WRITES_PARTS ? this->ranks : 1;
    if (this->phase == PL_IDLE || flags[PL_SAVED] + flags[PL_NOT_SAVED] < expected)
        return;
    if (flags[PL_NOT_SAVED] > 0)
        give_up(run);
    else if (this->phase == PL_WRITES_PARTS) {
        this->phase = PL_WRITES_MANIFEST;
        if (this->rank == 0)
            start_writing(this);
    } else {
        this->phase = PL_IDLE;
        this->kept = this->round;
    }
}

parley_status pl_checkpoint_settle(pl_run *run, parley_error *error) {
    pl_checkpoint *this = &run->checkpoint;
    parley_status status = PARLEY_OK;
    while (this->phase != PL_IDLE && status == PARLEY_OK) {
        double flags[PL_DECISIONS] = {0};
        join(this);
        pl_checkpoint_report(run, flags);
        status = pl_sum_flags(run, flags, PL_DECISIONS, error);
        if (status == PARLEY_OK)
            pl_checkpoint_agreed(run, flags);
    }
    return status;
}

parley_status pl_checkpoint_last(pl_run *run, parley_error *error) {
    pl_checkpoint *this = &run->checkpoint;
    if (!this->folder || run->round == 0 || this->round == run->round || this->kept == run->round)
        return PARLEY_OK;
    parley_status status = pl_checkpoint_settle(run, error);
    if (status == PARLEY_OK)
        take(run);
    return status;
}

void pl_checkpoint_close(pl_checkpoint *this) {
    join(this);
    pl_state_close(&this->state);
    pl_free(this->texts);
    *this = (pl_checkpoint){0};
}
