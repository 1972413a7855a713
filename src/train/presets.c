/* presets.c: looks up presets, and chooses the one that `auto` stands for. */
#include "train/presets.h"

#include <string.h>

const pl_preset *pl_preset_find(const char *name, const pl_problem_type *problem) {
    const pl_preset *found = NULL;
    for (unsigned i = 0; i < pl_presets_count; i++)
        if (strcmp(pl_presets[i].name, name) == 0 && (!found || pl_fits(pl_presets[i].problem, problem)))
            found = &pl_presets[i];
    return found;
}

const pl_stream_type *pl_stream_of(const parley_settings *settings) {
    const pl_preset *preset = pl_preset_find(settings->preset, pl_settings_problem(settings));
    return preset ? preset->stream : NULL;
}

const pl_local_type *pl_preset_local(const pl_preset *preset, const parley_settings *settings,
                                     const pl_problem *problem) {
    bool columns =
        preset->by_columns && (pl_settings_problem(settings)->rules->facts(problem, settings) & PL_FACT_BY_COLUMNS);
    return columns ? preset->by_columns : preset->local;
}

static bool is(const char *setting, const char *name) {
    return strcmp(setting, "auto") == 0 || strcmp(setting, name) == 0;
}

/* Whether the preset has the members that the settings name. */
static bool fits(const pl_preset *preset, const parley_settings *settings) {
    return preset->local &&
           (is(settings->local, preset->local->name) ||
            (preset->by_columns && is(settings->local, preset->by_columns->name))) &&
           is(settings->combine, preset->combine->name) && pl_fits(preset->problem, pl_settings_problem(settings));
}

/* The preset with the same members, but without a second method. */
static const pl_preset *without_sequel(const pl_preset *preset) {
    for (unsigned i = 0; i < pl_presets_count; i++)
        if (pl_presets[i].local == preset->local && pl_presets[i].combine == preset->combine &&
            pl_presets[i].exchange == preset->exchange && !pl_presets[i].sequel.then)
            return &pl_presets[i];
    return preset;
}

/* The name of the preset that the problem takes: "auto" while that depends on data that are not known, or NULL with an
 * error if there is none. */
static const char *chosen_name(const parley_settings *settings, const pl_problem *problem, parley_error *error) {
    const pl_problem_rules *rules = pl_settings_problem(settings)->rules;
    double shape[PL_SHAPE] = {0};
    if (!problem && rules->shape)
        return "auto";
    if (rules->shape)
        rules->shape(problem, settings, shape);
    const pl_choice *choice = pl_decide(&rules->decisions[0], shape);
    if (!choice->take)
        pl_fail(error, PARLEY_BAD_USAGE, "%s", choice->reason);
    return choice->take;
}

const pl_preset *pl_preset_choose(const parley_settings *settings, const pl_problem *problem, parley_error *error) {
    const char *name = chosen_name(settings, problem, error);
    const pl_preset *chosen = name ? pl_preset_find(name, pl_settings_problem(settings)) : NULL;
    bool named = strcmp(settings->local, "auto") != 0 || strcmp(settings->combine, "auto") != 0;
    if (!chosen || !chosen->local)
        return chosen;
    if (named && chosen->sequel.then) /* one name cannot apply to two methods */
        chosen = without_sequel(chosen);
    for (unsigned i = 0; i < pl_presets_count && !fits(chosen, settings); i++)
        if (fits(&pl_presets[i], settings) && !pl_presets[i].sequel.then)
            return &pl_presets[i];
    return chosen;
}
