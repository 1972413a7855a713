/* method.c: from names to members, and every refusal. A combination that cannot work is named together with the nearest
 * that can. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/checkpoint.h"
#include "train/nearest.h"
#include "train/presets.h"

static parley_status unknown(const char *kind, const char *what, const char *name, parley_error *error) {
    pl_entry entries[PL_ENTRIES];
    const char *words[PL_ENTRIES];
    char all[512] = "";
    unsigned count = pl_list(kind, entries);
    for (unsigned i = 0; i < count; i++) {
        words[i] = entries[i].name;
        size_t length = strlen(all);
        snprintf(all + length, sizeof all - length, "%s%s", i ? ", " : "", words[i]);
    }
    const char *near = pl_nearest(name, words, count);
    if (near)
        return pl_fail(error, PARLEY_BAD_USAGE, "--%s %s: there is none of that name; did you mean %s? (%s)", what,
                       name, near, all);
    return pl_fail(error, PARLEY_BAD_USAGE, "--%s %s: there is none of that name; it is one of %s", what, name, all);
}

/* Where `name` stands in the table of its kind: -1 for "auto". */
static parley_status find(const char *kind, const char *what, const char *name, int *at, parley_error *error) {
    pl_entry entries[PL_ENTRIES];
    unsigned count = pl_list(kind, entries);
    *at = -1;
    if (strcmp(name, "auto") == 0)
        return PARLEY_OK;
    for (unsigned i = 0; i < count; i++)
        if (strcmp(entries[i].name, name) == 0)
            *at = (int)i;
    return *at < 0 ? unknown(kind, what, name, error) : PARLEY_OK;
}

static parley_status find_members(const parley_settings *settings, const pl_preset *preset, const pl_glm *glm,
                                  pl_method *method, parley_error *error) {
    int loss, metric, local = -1, combine = -1, exchange = -1, engine = -1;
    parley_status status = find("losses", "loss", settings->loss, &loss, error);
    if (status == PARLEY_OK)
        status = find("metrics", "metric", settings->metric, &metric, error);
    if (status == PARLEY_OK)
        status = find("solvers", "local", settings->local, &local, error);
    if (status == PARLEY_OK)
        status = find("combines", "combine", settings->combine, &combine, error);
    if (status == PARLEY_OK)
        status = find("exchanges", "exchange", settings->exchange, &exchange, error);
    if (status == PARLEY_OK)
        status = find("engines", "engine", settings->engine, &engine, error);
    const pl_combine_type *named = combine < 0 ? preset->combine : pl_combines[combine];
    *method = (pl_method){preset->name,
                          local < 0 ? pl_preset_local(preset, settings, glm) : pl_locals[local],
                          named && named->variant && glm ? named->variant(glm) : named,
                          exchange < 0 ? preset->exchange : pl_exchanges[exchange],
                          pl_engines[engine < 0 ? 0 : engine],
                          pl_sequel_find(preset->name)};
    return status;
}

/* Does the loss that was asked for have a curvature, or can be given one? Unknown counts as yes. */
static bool may_be_smooth(const pl_method *method, const parley_settings *settings, const pl_glm *glm) {
    const pl_loss *loss = glm ? glm->loss : pl_loss_find(settings->loss);
    bool dual = (glm ? glm->lambda : settings->lambda) != 0; /* without it nothing tells when softening is over */
    return !loss || loss->smooth || (loss->soften && dual && method->combine->softness);
}

/* More classes than two? Known from the loss, or when the labels have been read. */
static bool several_classes(const parley_settings *settings, const pl_glm *glm) {
    return glm ? glm->classes > 1 : strcmp(settings->loss, pl_loss_softmax.name) == 0;
}

static bool may_be_bounded(const parley_settings *settings, const pl_glm *glm) {
    const pl_loss *loss = glm ? glm->loss : pl_loss_find(settings->loss);
    return !loss || (loss->smooth && isfinite(loss->curvature_bound));
}

static parley_status check_columns(const pl_method *method, const parley_settings *settings, const pl_glm *glm,
                                   parley_error *error) {
    unsigned needs = method->local->needs;
    const pl_loss *loss = glm ? glm->loss : pl_loss_find(settings->loss);
    if ((needs & PL_NEEDS_PENALTY) && settings->lambda == 0)
        return pl_fail(error, PARLEY_BAD_USAGE, "--lambda 0 leaves no penalty, which local solver %s needs",
                       method->local->name);
    if ((needs & PL_NEEDS_BOUNDED) && !may_be_bounded(settings, glm))
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "local solver %s needs a smooth loss of bounded curvature, which %s is not", method->local->name,
                       loss->name);
    return PARLEY_OK;
}

static parley_status check_pair(const pl_method *method, parley_error *error) {
    unsigned wanted = method->combine->needs & (PL_NEEDS_CHANGES | PL_NEEDS_SIGMA | PL_NEEDS_GRADIENT);
    bool gradient = wanted & PL_NEEDS_GRADIENT;
    if (method->exchange->in_place && !method->local->steps_in_place)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "exchange %s has workers step in one model, which local solver %s does not",
                       method->exchange->name, method->local->name);
    if ((wanted & method->local->gives) == wanted)
        return PARLEY_OK;
    return pl_fail(error, PARLEY_BAD_USAGE, "combine %s takes %s, which local solver %s does not give",
                   method->combine->name, gradient ? "gradients" : "changes by coordinate steps", method->local->name);
}

static parley_status refuse_kinks(const pl_method *method, const pl_loss *loss, parley_error *error) {
    if (loss->soften && method->combine->softness)
        return pl_fail(error, PARLEY_BAD_USAGE, "combine %s needs a smooth loss, or a penalty to soften %s by",
                       method->combine->name, loss->name);
    return pl_fail(error, PARLEY_BAD_USAGE, "combine %s needs a smooth loss, which %s is not", method->combine->name,
                   loss->name);
}

static parley_status check_classes(const pl_method *method, const parley_settings *settings, const pl_glm *glm,
                                   parley_error *error) {
    if (!method->local->classes && several_classes(settings, glm))
        return pl_fail(error, PARLEY_BAD_USAGE, "local solver %s takes two classes only", method->local->name);
    if (glm && glm->classes > 1 && method->combine->most_entries && glm->size > method->combine->most_entries)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "combine %s would need a matrix of %llu x %llu for all classes, and takes %llu at most",
                       method->combine->name, (unsigned long long)glm->size, (unsigned long long)glm->size,
                       (unsigned long long)method->combine->most_entries);
    return PARLEY_OK;
}

static parley_status check_needs(const pl_method *method, const parley_settings *settings, const pl_glm *glm,
                                 parley_error *error) {
    unsigned needs = method->local->needs | method->combine->needs;
    if ((needs & PL_NEEDS_L2) && settings->l1_ratio >= 1)
        return pl_fail(error, PARLEY_BAD_USAGE, "--l1-ratio 1 leaves no L2 penalty, which local solver %s needs",
                       method->local->name);
    if ((needs & PL_NEEDS_L2) && settings->lambda == 0)
        return pl_fail(error, PARLEY_BAD_USAGE, "--lambda 0 leaves no L2 penalty, which local solver %s needs",
                       method->local->name);
    if ((needs & PL_NEEDS_NO_L1) && settings->l1_ratio > 0)
        return pl_fail(error, PARLEY_BAD_USAGE, "combine %s takes no L1 penalty", method->combine->name);
    if ((needs & PL_NEEDS_SMOOTH) && !may_be_smooth(method, settings, glm))
        return refuse_kinks(method, glm ? glm->loss : pl_loss_find(settings->loss), error);
    if ((needs & PL_NEEDS_FULL) && settings->batch_fraction < 1)
        return pl_fail(error, PARLEY_BAD_USAGE, "combine %s needs all rows in every round", method->combine->name);
    return PARLEY_OK;
}

static bool reads(const char *const *names, const char *name) {
    for (; names && *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

/* Who would read an optional setting: for the sentence that refuses it. */
static void readers(const char *name, char *text, size_t size) {
    *text = '\0';
    for (unsigned i = 0; i < pl_locals_count; i++)
        if (reads(pl_locals[i]->settings, name))
            snprintf(text + strlen(text), size - strlen(text), "%s--%s %s", *text ? " or " : "",
                     pl_locals[i]->streams ? "preset" : "local", pl_locals[i]->name);
    for (unsigned i = 0; i < pl_combines_count; i++)
        if (reads(pl_combines[i]->settings, name))
            snprintf(text + strlen(text), size - strlen(text), "%s--combine %s", *text ? " or " : "",
                     pl_combines[i]->name);
}

/* A loss's parameter, given with another loss. auto chooses none that has one. */
static parley_status check_parameters(const parley_settings *settings, parley_error *error) {
    const pl_loss *loss = pl_loss_find(settings->loss);
    for (unsigned i = 0; i < pl_settings_count; i++) {
        const pl_loss *reader = pl_loss_of(pl_settings[i].name);
        char flag[48];
        if (!reader || !settings->given[i] || (loss && pl_loss_reads(loss, pl_settings[i].name)))
            continue;
        pl_setting_flag(&pl_settings[i], flag, sizeof flag);
        return pl_fail(error, PARLEY_BAD_USAGE, "%s has no effect with --loss %s; --loss %s reads it", flag,
                       settings->loss, reader->name);
    }
    return PARLEY_OK;
}

/* Does one of the method's members read it? */
static bool has_effect(const pl_method *method, const char *name) {
    return reads(method->local->settings, name) || reads(method->combine->settings, name);
}

/* Or one of the method that follows? */
static bool has_late_effect(const pl_method *method, const char *name) {
    const pl_preset *then = method->sequel ? pl_preset_find(method->sequel->then) : NULL;
    return then && (reads(then->local->settings, name) || reads(then->combine->settings, name));
}

static parley_status check_effect(const pl_method *method, const parley_settings *settings, parley_error *error) {
    for (unsigned i = 0; i < pl_settings_count; i++) {
        const pl_setting *row = &pl_settings[i];
        if (!row->optional || !settings->given[i] || has_effect(method, row->name) ||
            has_late_effect(method, row->name) || pl_loss_of(row->name))
            continue;
        char flag[48], who[256];
        pl_setting_flag(row, flag, sizeof flag);
        readers(row->name, who, sizeof who);
        return pl_fail(error, PARLEY_BAD_USAGE, "%s has no effect with %s x %s%s; %s reads it", flag,
                       method->local->name, method->combine->name,
                       strcmp(settings->preset, "auto") == 0 ? " (chosen by auto)" : "", who);
    }
    if (settings->evaluate_every > 1 && method->local->certifies && settings->batch_fraction >= 1)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--evaluate-every has no effect with %s x %s, which evaluates every round as it works",
                       method->local->name, method->combine->name);
    if (*settings->start && !method->local->start)
        return pl_fail(error, PARLEY_BAD_USAGE, "--start: local solver %s begins at w = 0 only; use another --local",
                       method->local->name);
    bool validates = *settings->validation || settings->validation_fraction > 0;
    if (*settings->validation && settings->validation_fraction > 0)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--validation and --validation-fraction both name rows to validate on; give one of them");
    if (!validates && (pl_setting_given(settings, "metric") || pl_setting_given(settings, "patience")))
        return pl_fail(error, PARLEY_BAD_USAGE, "--%s has no effect without --validation or --validation-fraction",
                       pl_setting_given(settings, "metric") ? "metric" : "patience");
    if (reads(method->combine->settings, "schedule") && settings->schedule >= PL_ADAGRAD)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "combine %s has one rate for all columns; use --schedule constant, inverse or inverse-sqrt, or "
                       "--local sgd",
                       method->combine->name);
    if (pl_setting_given(settings, "workers") && pl_setting_given(settings, "worker_per"))
        return pl_fail(error, PARLEY_BAD_USAGE, "--worker-per has no effect with --workers; leave one of them out");
    if (pl_setting_given(settings, "local_steps") && pl_setting_given(settings, "local_epochs"))
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--local-steps and --local-epochs say the same thing; give one of them");
    return PARLEY_OK;
}

/* The preset's own defaults, where the user said nothing. */
static parley_status apply_defaults(parley_settings *settings, const pl_preset *preset, parley_error *error) {
    parley_status status = PARLEY_OK;
    if (*settings->replay || *settings->resume)
        return status; /* the log or the checkpoint has them */
    for (const pl_pair *pair = preset->defaults; pair->key && status == PARLEY_OK; pair++)
        if (!pl_setting_given(settings, pair->key)) {
            status = pl_setting_set(settings, PL_FOR_TRAIN, pair->key, pair->value, error);
            settings->given[pl_setting_find(pair->key) - pl_settings] = false;
        }
    return status;
}

static bool fits(const pl_preset *preset, const parley_settings *settings) {
    return preset->local &&
           (strcmp(settings->local, "auto") == 0 || strcmp(settings->local, preset->local->name) == 0 ||
            (preset->local == &pl_local_sdca && strcmp(settings->local, pl_local_scd.name) == 0)) &&
           (strcmp(settings->combine, "auto") == 0 || strcmp(settings->combine, preset->combine->name) == 0);
}

/* What auto chooses, unless the user named members that it does not have: then the first preset that has them. */
static const pl_preset *choose_fitting(const parley_settings *settings, const pl_glm *glm) {
    const pl_preset *chosen = pl_preset_choose(glm);
    if (pl_sequel_find(chosen->name) &&
        (strcmp(settings->local, "auto") != 0 || strcmp(settings->combine, "auto") != 0))
        chosen = pl_preset_find("cocoa+"); /* one name cannot stand for two methods */
    for (unsigned i = 0; i < pl_presets_count && !fits(chosen, settings); i++)
        if (fits(&pl_presets[i], settings))
            return &pl_presets[i];
    return chosen;
}

/* One way to say how strong the penalty is; an alpha of 0 is a lambda of 0 whatever the rows weigh. */
static parley_status check_penalty(parley_settings *settings, parley_error *error) {
    static const char *const names[] = {"lambda", "C", "alpha"};
    const double values[] = {settings->lambda, settings->c, settings->alpha};
    const char *first = NULL;
    for (unsigned i = 0; i < 3; i++) {
        if (isnan(values[i]))
            continue;
        if (first)
            return pl_fail(error, PARLEY_BAD_USAGE, "--%s and --%s say the same thing; give one of them", first,
                           names[i]);
        first = names[i];
    }
    if (settings->alpha == 0) {
        settings->lambda = 0;
        settings->alpha = NAN;
    }
    return PARLEY_OK;
}

/* Losses with kinks want an L2 penalty, or auto knows no method that comes to their optimum. */
static parley_status check_kinks(const parley_settings *settings, parley_error *error) {
    const pl_loss *loss = pl_loss_find(settings->loss);
    bool named = strcmp(settings->local, "auto") != 0 || strcmp(settings->combine, "auto") != 0;
    if (!loss || loss->smooth || named || (settings->lambda != 0 && settings->l1_ratio < 1))
        return PARLEY_OK;
    return pl_fail(error, PARLEY_BAD_USAGE,
                   "auto knows no method that ends at the optimum of %s loss without L2 penalty", loss->name);
}

/* Do the members go together, and with the problem? */
static parley_status check_members(const pl_method *method, const parley_settings *settings, const pl_glm *glm,
                                   parley_error *error) {
    parley_status status = check_pair(method, error);
    if (status == PARLEY_OK)
        status = check_needs(method, settings, glm, error);
    if (status == PARLEY_OK)
        status = check_columns(method, settings, glm, error);
    return status == PARLEY_OK ? check_classes(method, settings, glm, error) : status;
}

static void forget(parley_settings *settings, const pl_setting *row) {
    pl_setting_set(settings, 0, row->name, row->initial, NULL);
    settings->given[row - pl_settings] = false;
}

static parley_status resolve(parley_settings *settings, const pl_glm *glm, pl_method *method, bool *unfit,
                             parley_error *error);

static parley_status resolve_next(const parley_settings *asked, const pl_glm *glm, const pl_method *first,
                                  parley_settings *settings, pl_method *method, bool *unfit, parley_error *error) {
    *settings = *asked;
    snprintf(settings->preset, sizeof settings->preset, "%s", first->sequel->then);
    for (unsigned i = 0; i < pl_settings_count; i++)
        if (pl_settings[i].optional && has_effect(first, pl_settings[i].name))
            forget(settings, &pl_settings[i]);
    parley_status status = resolve(settings, glm, method, unfit, error);
    method->preset = first->preset;
    return status;
}

/* Would the method that follows be refused? */
static parley_status check_next(const parley_settings *settings, const pl_glm *glm, const pl_method *method,
                                bool *unfit, parley_error *error) {
    parley_settings *copy;
    pl_method next;
    if (strcmp(settings->local, "auto") != 0 || strcmp(settings->combine, "auto") != 0)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "preset %s is two methods, for which one --local or --combine cannot stand; leave them out",
                       method->preset);
    parley_status status = pl_take(&copy, 1, sizeof *copy, "settings", error);
    if (status != PARLEY_OK)
        return status;
    status = resolve_next(settings, glm, method, copy, &next, unfit, error);
    pl_free(copy);
    return status;
}

/* Checkpoints are of rounds. */
static parley_status check_checkpoint(const parley_settings *settings, const pl_preset *preset, parley_error *error) {
    const char *word = *settings->checkpoint ? "checkpoint" : *settings->resume ? "resume" : NULL;
    uint64_t rounds;
    double seconds;
    if (word && preset->local && preset->local->streams)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--%s has no effect with --preset %s, which has no rounds; its model can be gone on from with "
                       "--start",
                       word, preset->name);
    if (*settings->resume && *settings->replay)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--resume goes on with a run and --replay repeats one; leave one of them out");
    if (!*settings->checkpoint && pl_setting_given(settings, "checkpoint_every"))
        return pl_fail(error, PARLEY_BAD_USAGE, "--checkpoint-every has no effect without --checkpoint");
    return pl_checkpoint_every(settings->checkpoint_every, &rounds, &seconds, error);
}

/* `unfit`: refused because what was asked for does not go together. */
static parley_status resolve(parley_settings *settings, const pl_glm *glm, pl_method *method, bool *unfit,
                             parley_error *error) {
    const pl_preset *preset = pl_preset_find(settings->preset);
    if (!preset)
        return unknown("presets", "preset", settings->preset, error);
    parley_status status = check_penalty(settings, error);
    if (status == PARLEY_OK)
        status = check_checkpoint(settings, preset, error);
    if (status != PARLEY_OK)
        return status;
    if (settings->lambda == 0 && settings->l1_ratio > 0)
        return pl_fail(error, PARLEY_BAD_USAGE, "--l1-ratio has no effect with --lambda 0; leave one of them out");
    if (!preset->local && check_kinks(settings, error) != PARLEY_OK) {
        *unfit = true;
        return PARLEY_BAD_USAGE;
    }
    if (!preset->local && glm)
        preset = choose_fitting(settings, glm);
    status = find_members(settings, preset, glm, method, error);
    if (status == PARLEY_OK)
        status = check_parameters(settings, error);
    bool streams = preset->local && preset->local->streams;
    if (status == PARLEY_OK && method->local && method->local->streams != streams)
        return pl_fail(error, PARLEY_BAD_USAGE, "--local online goes with --preset online alone");
    if (status != PARLEY_OK || !method->local || !method->combine)
        return status; /* auto, before the data are known */
    status = apply_defaults(settings, preset, error);
    if (pl_setting_given(settings, "local_steps"))
        settings->local_epochs = NAN; /* follows the steps; both auto: moved while training */
    if (status == PARLEY_OK) {
        status = check_members(method, settings, glm, error);
        *unfit = status != PARLEY_OK;
    }
    if (status == PARLEY_OK)
        status = check_effect(method, settings, error);
    if (status == PARLEY_OK && method->local->check)
        status = method->local->check(settings, method->exchange->in_place, error);
    return status == PARLEY_OK && method->sequel ? check_next(settings, glm, method, unfit, error) : status;
}

parley_status pl_method_resolve(parley_settings *settings, const pl_glm *glm, pl_method *method, parley_error *error) {
    bool unfit = false;
    parley_status status = resolve(settings, glm, method, &unfit, error);
    if (!unfit || !error)
        return status;
    const pl_preset *preset = pl_preset_find(settings->preset);
    for (const pl_pair *pair = preset->defaults; pair->key; pair++)
        if (!pl_setting_given(settings, pair->key))
            forget(settings, pl_setting_find(pair->key)); /* which another preset would not have */
    pl_name_nearest(settings, glm, error);
    return status;
}

parley_status pl_method_next(const parley_settings *asked, const pl_glm *glm, const pl_method *first,
                             parley_settings *settings, pl_method *method, parley_error *error) {
    bool unfit = false;
    return resolve_next(asked, glm, first, settings, method, &unfit, error);
}

parley_status pl_train_check(const parley_settings *settings, parley_error *error) {
    parley_settings *copy;
    pl_method method;
    parley_status status = pl_take(&copy, 1, sizeof *copy, "settings", error);
    if (status != PARLEY_OK)
        return status;
    *copy = *settings;
    status = pl_method_resolve(copy, NULL, &method, error);
    pl_free(copy);
    return status;
}
