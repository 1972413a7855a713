/* cached_plan.c: see cached_plan.h. */
#define _POSIX_C_SOURCE 200809L /* access, gethostname */
#include "advise/cached_plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/pool.h"
#include "train/forecast.h"

void pl_this_machine(const parley_settings *settings, char *text, size_t size) {
    char host[48] = "";
    gethostname(host, sizeof host - 1);
    snprintf(text, size, "threads %u %s", settings->threads ? (unsigned)settings->threads : pl_cores(), host);
}

static bool is_open(const parley_settings *settings) {
    static const char *const names[] = {"workers", "worker_per", "lanes",      "local_epochs", "local_steps",
                                        "local",   "combine",    "exchange",   "replay",       "resume",
                                        "plan",    "adapt",      "validation", "start"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (pl_setting_given(settings, names[i]))
            return false;
    return strcmp(settings->preset, "auto") == 0 && strcmp(settings->engine, "sim") != 0;
}

/* Whether the choice was made for this machine and target. */
static bool is_for(const json_t *choice, const parley_settings *settings, const char *machine) {
    const char *theirs = json_string_value(json_object_get(choice, "system"));
    double gap = json_number_value(json_object_get(choice, "gap"));
    return theirs && strcmp(theirs, machine) == 0 && fabs(gap / settings->gap - 1) < 1e-9;
}

parley_status pl_follow_cached_plan(const parley_data *data, const char *path, const char *machine,
                                    parley_settings *settings, char *said, size_t size, parley_error *error) {
    char file[PL_TEXT], key[PL_PROBLEM_KEY];
    pl_forecast forecast = {0};
    *said = '\0';
    pl_trials_path(path, file, sizeof file);
    if (!*file || !is_open(settings) || access(file, R_OK) != 0)
        return PARLEY_OK;
    parley_status status = pl_problem_key(NULL, data, settings, key, error);
    if (status != PARLEY_OK)
        return status;
    parley_settings *before;
    status = pl_settings_copy(settings, &before, error);
    if (status != PARLEY_OK)
        return status;
    json_t *choice = pl_choice_load(file, key);
    if (choice && is_for(choice, settings, machine)) {
        if (pl_forecast_take(&forecast, choice, file, settings, NULL) == PARLEY_OK)
            snprintf(said, size, "method: auto follows the plan in %.300s, which expects %.4g seconds", file,
                     forecast.seconds);
        else
            status = pl_settings_assign(settings, before, error); /* the file is damaged */
        pl_forecast_close(&forecast);
    }
    parley_settings_free(before);
    json_decref(choice);
    return status;
}
