/* resume.c: continues from a checkpoint. It chooses the checkpoint, compares it with the data and settings, and
 * restores the run. Settings that are not given are taken from the checkpoint. Limits and the machine may differ. A
 * different number of workers or another method cannot use the private state, so such a run starts from the
 * checkpoint's model. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/agree.h"
#include "engine/collective.h"
#include "shard/fingerprint.h"
#include "train/run.h"

static bool is_one_of(const pl_setting *row, const char *const *names) {
    for (; *names; names++)
        if (strcmp(row->name, *names) == 0)
            return true;
    return false;
}

static const char *const limits[] = {"gap",     "tolerance", "passes",         "rounds",
                                     "seconds", "patience",  "evaluate_every", NULL};
static const char *const members[] = {"preset", "local", "combine", "exchange", NULL};
static const char *const shares[] = {"workers", "lanes", NULL};
static const char *const files[] = {"validation", "start", NULL};

/* Whether the setting influences a run. */
static bool decides(const pl_run *run, const pl_setting *row) {
    return (row->commands & (PL_FOR_TRAIN | PL_FOR_ONE | run->type->commands)) &&
           (row->in_model || is_one_of(row, limits) || is_one_of(row, files));
}

static const char *theirs(const pl_run *run, const pl_setting *row) {
    char key[64];
    snprintf(key, sizeof key, "settings.%s", row->name);
    const char *text = pl_container_meta(run->resume.manifest, key);
    return text ? text : row->initial; /* the checkpoint is older than the setting */
}

static bool is_same(const pl_run *run, const pl_setting *row) {
    char ours[PL_TEXT];
    pl_setting_text(run->settings, row, ours, sizeof ours);
    return strcmp(ours, theirs(run, row)) == 0;
}

/* Whether the setting was given and differs from the checkpoint. */
static bool differs(const pl_run *run, const pl_setting *row) {
    char ours[PL_TEXT];
    pl_setting_text(run->settings, row, ours, sizeof ours);
    return run->settings->given[pl_setting_number(row)] && strcmp(ours, "auto") != 0 && !is_same(run, row);
}

static parley_status refuse(const pl_run *run, const pl_setting *row, parley_error *error) {
    char ours[PL_TEXT], flag[48];
    const char *was = theirs(run, row);
    pl_setting_text(run->settings, row, ours, sizeof ours);
    pl_setting_flag(row, flag, sizeof flag);
    return pl_fail(
        error, PARLEY_BAD_USAGE,
        "--resume %s: %s is %.200s, but it was %.200s in that run; leave it out, or start a new run with --start",
        run->resume.folder, flag, *ours ? ours : "empty", *was ? was : "empty");
}

/* Whether the setting was given in another form, so that it is compared when the data are known. */
static bool is_restated(const pl_run *run, const pl_setting *row) {
    for (const pl_resolved *one = run->type->resolved; one && one->name; one++)
        for (unsigned i = 0; i < 2 && one->forms[i]; i++)
            if (strcmp(row->name, one->name) == 0 && pl_setting_given(run->settings, one->forms[i]))
                return true;
    return false;
}

static bool any_differs(const pl_run *run, const char *const *names) {
    for (; *names; names++)
        if (differs(run, pl_setting_find(*names)))
            return true;
    return false;
}

/* Decides how to continue: with the whole state, or only from the model. Then takes settings that were not given from
 * the checkpoint, as far as they apply. */
static parley_status take_settings(pl_run *run, parley_error *error) {
    parley_settings *settings = run->settings;
    bool other_method = any_differs(run, members);
    run->resume.exact = !other_method && !any_differs(run, shares);
    parley_status status = PARLEY_OK;
    for (unsigned i = 0; i < pl_settings_count() && status == PARLEY_OK; i++) {
        const pl_setting *row = pl_setting_at(i);
        bool of_method = is_one_of(row, members) || row->optional;
        if (!decides(run, row) || is_restated(run, row) ||
            (other_method && of_method && strcmp(row->name, "preset") != 0) ||
            (!run->resume.exact && strcmp(row->name, "lanes") == 0))
            continue;
        if (!differs(run, row)) {
            bool same = is_same(run, row), given = settings->given[i];
            status = pl_setting_set(settings, 0, row->name, theirs(run, row), error);
            settings->given[i] = same && given;
        } else if (!is_one_of(row, limits) && !is_one_of(row, members) && !is_one_of(row, shares))
            status = refuse(run, row, error);
    }
    if (other_method)
        settings->resume = ""; /* presets have their own defaults again */
    return status;
}

static parley_status check_data(const pl_run *run, parley_error *error) {
    const char *problem = pl_container_meta(run->resume.manifest, "problem");
    if (problem && strcmp(problem, run->type->name) != 0)
        return pl_fail(error, PARLEY_BAD_INPUT, "--resume %s: that run solved problem %s, but this one solves %s",
                       run->resume.folder, problem, run->type->name);
    const char *const names[] = {"rows", "columns", "nonzeros"};
    const uint64_t ours[] = {pl_all_rows(run->rows.data), run->rows.data->x.columns, pl_all_nonzeros(run->rows.data)};
    const char *hash = pl_container_meta(run->resume.manifest, "fingerprint");
    char text[20];
    for (unsigned i = 0; i < 3; i++) {
        uint64_t was = pl_manifest_number(run->resume.manifest, names[i]);
        if (was != ours[i])
            return pl_fail(error, PARLEY_BAD_INPUT,
                           "--resume %s: the data of that run had %" PRIu64 " %s, but these have %" PRIu64
                           "; give the same data",
                           run->resume.folder, was, i == 2 ? "non-zeros" : names[i], ours[i]);
    }
    snprintf(text, sizeof text, PL_FINGERPRINT, (unsigned long long)run->fingerprint);
    if (!hash || strcmp(text, hash) != 0)
        return pl_fail(
            error, PARLEY_BAD_INPUT,
            "--resume %s: the data of that run had the same shape but other labels, weights or values (%s, but "
            "these %s); give the same data",
            run->resume.folder, hash ? hash : "none", text);
    return PARLEY_OK;
}

/* Rank 0 lists the folder, so that all ranks see the same. */
static parley_status list_rounds(pl_run *run, uint64_t *rounds, unsigned *count, parley_error *error) {
    double mine[PL_RECENT] = {0}, all[PL_RECENT] = {0};
    if (run->engine->rank == 0) {
        unsigned found = pl_checkpoint_list(run->resume.folder, rounds);
        for (unsigned i = 0; i < found; i++)
            mine[i] = (double)rounds[i];
    }
    parley_status status = pl_sum_workers(run->engine, PL_EACH_RANK, mine, PL_RECENT, all, error);
    for (*count = 0; *count < PL_RECENT && all[*count] > 0; ++*count)
        rounds[*count] = (uint64_t)all[*count];
    return status;
}

/* Chooses the newest checkpoint without damaged files. Each rank checks some of the files. */
static parley_status choose(pl_run *run, const uint64_t *rounds, unsigned count, parley_error *error) {
    pl_resume *resume = &run->resume;
    const pl_engine *engine = run->engine;
    char before[1024] = "";
    for (unsigned i = 0; i < count; i++) {
        parley_error damage = {0};
        double bad = pl_checkpoint_verify(resume->folder, rounds[i], engine->rank, engine->ranks, &resume->manifest,
                                          &damage) != PARLEY_OK,
               sum = 0;
        parley_status status = PARLEY_OK;
        if (damage.status == PARLEY_NO_MEMORY) /* not a fault of the file */
            status = pl_fail(error, PARLEY_NO_MEMORY, "%s", damage.sentence);
        status = pl_agree_status(run->engine, status, 0, NULL, error);
        if (status == PARLEY_OK)
            status = pl_sum_workers(run->engine, PL_EACH_RANK, &bad, 1, &sum, error);
        if (status != PARLEY_OK)
            return status;
        if (*before)
            pl_say(run, "warning: %s; trying the checkpoint of round %" PRIu64, before, rounds[i]);
        if (sum == 0) {
            resume->round = rounds[i];
            return PARLEY_OK;
        }
        pl_container_close(resume->manifest);
        resume->manifest = NULL;
        snprintf(before, sizeof before, "%s",
                 bad > 0 ? damage.sentence : "a process found its part of the newest checkpoint damaged");
    }
    return pl_fail(error, PARLEY_BAD_INPUT, "--resume %s: all checkpoints in this folder are damaged: %.700s",
                   resume->folder, before);
}

parley_status pl_resume_open(pl_run *run, parley_error *error) {
    pl_resume *resume = &run->resume;
    uint64_t rounds[PL_RECENT];
    unsigned count;
    const parley_settings *settings = run->settings;
    if (!*settings->resume)
        return PARLEY_OK;
    snprintf(resume->folder, sizeof resume->folder, "%s", settings->resume);
    parley_status status = list_rounds(run, rounds, &count, error);
    if (status != PARLEY_OK)
        return status;
    if (count == 0 && pl_same_folder(settings->checkpoint, settings->resume)) {
        pl_say(run, "resume: there is no checkpoint in %s yet; training starts from the beginning", resume->folder);
        run->settings->resume = "";
        return PARLEY_OK;
    }
    if (count == 0)
        return pl_fail(error, PARLEY_NO_FILE, "--resume %s: there is no checkpoint in this folder", resume->folder);
    status = choose(run, rounds, count, error);
    if (status == PARLEY_OK)
        status = check_data(run, error);
    if (status == PARLEY_OK)
        status = take_settings(run, error);
    return status;
}

static parley_status check_resolved(const pl_run *run, const char *name, parley_settings *ours, parley_error *error) {
    const pl_setting *row = pl_setting_find(name);
    char text[PL_TEXT], flag[48];
    pl_setting_text(ours, row, text, sizeof text);
    pl_setting_flag(row, flag, sizeof flag);
    if (strcmp(text, theirs(run, row)) == 0)
        return PARLEY_OK;
    return pl_fail(error, PARLEY_BAD_USAGE,
                   "--resume %s: %s is %s, but it was %s in that run; leave it out, or start a new run with --start",
                   run->resume.folder, flag, text, theirs(run, row));
}

parley_status pl_resume_check(const pl_run *run, parley_error *error) {
    parley_settings *ours;
    if (!run->resume.manifest || !run->type->resolved)
        return PARLEY_OK;
    parley_status status = pl_settings_copy(run->settings, &ours, error);
    if (status != PARLEY_OK)
        return status;
    run->type->record(run->problem, ours);
    for (const pl_resolved *one = run->type->resolved; one->name && status == PARLEY_OK; one++)
        status = check_resolved(run, one->name, ours, error);
    parley_settings_free(ours);
    return status;
}

static parley_status open_parts(pl_run *run, parley_error *error) {
    pl_resume *resume = &run->resume;
    pl_owners_of_v owners = pl_exchange_owners(run->method.exchange, run->method.combine->whole, run->engine);
    owners.ranks = (unsigned)pl_manifest_number(resume->manifest, "ranks");
    owners.servers = (unsigned)pl_manifest_number(resume->manifest, "servers");
    parley_status status =
        owners.servers < owners.ranks
            ? pl_parts_open(&resume->parts, resume->folder, resume->round, owners.ranks, error)
            : pl_fail(error, PARLEY_BAD_INPUT, "--resume %s: the manifest has no ranks for workers", resume->folder);
    resume->parts.hosts = owners.ranks - owners.servers;
    for (unsigned r = 0; r < owners.ranks && status == PARLEY_OK; r++)
        pl_exchange_slice(&owners, run->tables.entries, r, &resume->parts.bounds[r], &resume->parts.bounds[r + 1]);
    return status;
}

/* The preset of the plan to which --adapt had changed, by its members. */
static const pl_alternative *adapted(const pl_run *run, const char *local, const char *combine) {
    for (unsigned a = 0; a < run->forecast.alternatives && run->settings->adapt; a++) {
        const pl_preset *preset = pl_preset_find(run->forecast.alternative[a].preset, run->type);
        if (preset && preset->local && preset->combine && strcmp(preset->local->name, local) == 0 &&
            strcmp(preset->combine->name, combine) == 0)
            return &run->forecast.alternative[a];
    }
    return NULL;
}

/* Goes on with the workers that --adapt had changed to, and with the preset of that time. */
static parley_status catch_up_workers(pl_run *run, uint64_t workers, uint64_t lanes, parley_error *error) {
    const char *preset = pl_container_meta(run->resume.manifest, "preset");
    if (!preset || !run->settings->adapt || lanes < 1 || workers > pl_all_rows(run->rows.data) || lanes > UINT16_MAX ||
        !pl_can_place_again(run))
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "--resume %s: the checkpoint is of %llu workers, to which --adapt had changed; resume with "
                       "--adapt and the same --plan",
                       run->resume.folder, (unsigned long long)workers);
    run->round = run->resume.round;
    return pl_change_method(run, preset, (unsigned)workers, (unsigned)lanes, false, error);
}

/* The run may have switched to the second method of its preset, or to another method of its plan. */
static parley_status catch_up(pl_run *run, parley_error *error) {
    const char *local = pl_container_meta(run->resume.manifest, "local");
    const char *combine = pl_container_meta(run->resume.manifest, "combine");
    uint64_t workers = pl_manifest_number(run->resume.manifest, "workers");
    uint64_t lanes = pl_manifest_number(run->resume.manifest, "lanes");
    if (workers && (workers != run->rows.team.workers || lanes != run->rows.team.lanes))
        return catch_up_workers(run, workers, lanes, error);
    bool first = local && combine && strcmp(local, run->method.local->name) == 0 &&
                 strcmp(combine, run->method.combine->name) == 0;
    if (first)
        return PARLEY_OK;
    const pl_alternative *to = local && combine && !run->method.sequel ? adapted(run, local, combine) : NULL;
    if (to) {
        run->round = run->resume.round;
        return pl_change_method(run, to->preset, 0, 0, false, error);
    }
    if (!run->method.sequel)
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "--resume %s: the checkpoint is of %s x %s, but this run uses another method",
                       run->resume.folder, local ? local : "none", combine ? combine : "none");
    run->round = run->resume.round;
    return pl_open_next(run, error);
}

/* Restores the whole state. */
static parley_status restore(pl_run *run, parley_error *error) {
    pl_state state = {.restoring = true, .team = &run->rows.team, .parts = &run->resume.parts};
    parley_status status = catch_up(run, error);
    if (status == PARLEY_OK)
        status = open_parts(run, error);
    if (status != PARLEY_OK)
        return status;
    state.begin = pl_exchange_begin(run->exchange);
    state.end = pl_exchange_end(run->exchange);
    pl_run_state(run, &state);
    if (state.status != PARLEY_OK && error)
        *error = state.error;
    if (pl_same_folder(run->resume.folder, run->recorded->checkpoint))
        run->checkpoint.kept = run->resume.round;
    return state.status == PARLEY_OK ? pl_take_next_v(run, error) : state.status;
}

/* Starts from the model, as --start does. */
static parley_status begin_at_model(pl_run *run, parley_error *error) {
    pl_state state = {.restoring = true, .team = &run->rows.team, .parts = &run->resume.parts};
    double *w = NULL;
    if (!run->method.local->restart)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--resume: local solver %s can start only from w = 0; use another --local",
                       run->method.local->name);
    parley_status status = open_parts(run, error);
    if (status == PARLEY_OK)
        status = pl_take(&w, run->problem->size, sizeof *w, "the model to begin at", error);
    if (status == PARLEY_OK) {
        pl_state_of(&state, "run", PL_STATE_ALL);
        pl_state_array(&state, run->type->keeps_latest ? "v" : "best_w", w, PL_F64, run->problem->size);
        status = state.status;
        if (status != PARLEY_OK && error)
            *error = state.error;
    }
    if (status == PARLEY_OK)
        status = pl_start_at(run, w, error);
    pl_free(w);
    return status;
}

parley_status pl_resume_run(pl_run *run, parley_error *error) {
    pl_resume *resume = &run->resume;
    if (!resume->manifest)
        return PARLEY_OK;
    const char *preset = theirs(run, pl_setting_find("preset")), *workers = theirs(run, pl_setting_find("workers"));
    parley_status status = resume->exact ? restore(run, error) : begin_at_model(run, error);
    if (status == PARLEY_OK && resume->exact)
        pl_say(run, "resume: continuing %s after round %" PRIu64, resume->folder, resume->round);
    else if (status == PARLEY_OK)
        pl_say(run,
               "resume: %s is of %s with %s worker%s, which differs from this run; starting from the best model "
               "evaluated by round %" PRIu64 ", without the rest of its state",
               resume->folder, preset, workers, strcmp(workers, "1") == 0 ? "" : "s", resume->round);
    pl_parts_close(&resume->parts);
    return status;
}

void pl_resume_close(pl_resume *resume) {
    pl_parts_close(&resume->parts);
    pl_container_close(resume->manifest);
    resume->manifest = NULL;
}
