/* method.c: turns names into members, and rejects combinations that cannot work. The error names the nearest
 * combination that can. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/checkpoint.h"
#include "train/nearest.h"
#include "train/presets.h"
#include "train/straggler.h"

static parley_status unknown(const pl_problem_type *type, const char *kind, const char *what, const char *name,
                             parley_error *error) {
    pl_entry entries[PL_ENTRIES];
    const char *words[PL_ENTRIES];
    char all[512] = "";
    unsigned count = pl_list_for(type, kind, entries);
    for (unsigned i = 0; i < count; i++) {
        words[i] = entries[i].name;
        size_t length = strlen(all);
        snprintf(all + length, sizeof all - length, "%s%s", i ? ", " : "", words[i]);
    }
    const char *near = pl_nearest(name, words, count);
    if (near)
        return pl_fail(error, PARLEY_BAD_USAGE, "--%s %s: unknown name; did you mean %s? (choose one of %s)", what,
                       name, near, all);
    return pl_fail(error, PARLEY_BAD_USAGE, "--%s %s: unknown name; choose one of %s", what, name, all);
}

static bool is_known(const char *kind, const char *name) {
    pl_entry entries[PL_ENTRIES];
    bool known = strcmp(name, "auto") == 0;
    unsigned count = known ? 0 : pl_list(kind, entries);
    for (unsigned i = 0; i < count && !known; i++)
        known = strcmp(entries[i].name, name) == 0;
    return known;
}

/* Checks that all names exist. */
static parley_status check_names(const parley_settings *settings, const pl_problem_type *type, parley_error *error) {
    parley_status status = PARLEY_OK;
    for (unsigned i = 0; i < pl_settings_count() && status == PARLEY_OK; i++) {
        const pl_setting *row = pl_setting_at(i);
        char name[PL_TEXT];
        if (!row->list || !(row->commands & (PL_FOR_TRAIN | type->commands)) || strcmp(row->list, "formats") == 0)
            continue;
        pl_setting_text(settings, row, name, sizeof name);
        if (!is_known(row->list, name))
            status = unknown(type, row->list, row->name, name, error);
    }
    return status;
}

/* Each of these returns the member of this name for the problem or, if there is none, one for another problem, which is
 * rejected later; NULL for "auto". */
static const pl_local_type *find_local(const char *name, const pl_problem_type *type) {
    const pl_local_type *found = NULL;
    for (unsigned i = 0; i < pl_locals_count; i++)
        if (strcmp(pl_locals[i]->name, name) == 0 && (!found || pl_fits(pl_locals[i]->problem, type)))
            found = pl_locals[i];
    return found;
}

static const pl_combine_type *find_combine(const char *name, const pl_problem_type *type) {
    const pl_combine_type *found = NULL;
    for (unsigned i = 0; i < pl_combines_count; i++)
        if (strcmp(pl_combines[i]->name, name) == 0 && (!found || pl_fits(pl_combines[i]->problem, type)))
            found = pl_combines[i];
    return found;
}

static const pl_exchange_type *find_exchange(const char *name) {
    for (unsigned i = 0; i < pl_exchanges_count; i++)
        if (strcmp(pl_exchanges[i]->name, name) == 0)
            return pl_exchanges[i];
    return NULL;
}

/* Finds the members. Their names have been checked. */
static void find_members(const parley_settings *settings, const pl_preset *preset, const pl_problem *problem,
                         pl_method *method) {
    const pl_problem_type *type = pl_settings_problem(settings);
    const pl_local_type *local = find_local(settings->local, type);
    const pl_combine_type *combine = find_combine(settings->combine, type);
    const pl_exchange_type *exchange = find_exchange(settings->exchange);
    combine = combine ? combine : preset->combine;
    *method = (pl_method){.preset = preset->name,
                          .local = local ? local : pl_preset_local(preset, settings, problem),
                          .combine = combine && combine->variant && problem ? combine->variant(problem) : combine,
                          .exchange = exchange ? exchange : preset->exchange,
                          .stream = preset->stream,
                          .sequel = preset->sequel.then ? &preset->sequel : NULL};
}

static parley_status check_problem(const char *kind, const char *name, const pl_problem_type *of,
                                   const pl_problem_type *type, parley_error *error) {
    if (pl_fits(of, type))
        return PARLEY_OK;
    return pl_fail(error, PARLEY_BAD_USAGE, "%s %s is for problem %s, but this problem is %s", kind, name, of->name,
                   type->name);
}

static parley_status check_preset(const pl_preset *preset, const pl_problem_type *type, parley_error *error) {
    parley_status status = check_problem("preset", preset->name, preset->problem, type, error);
    if (status != PARLEY_OK && error) {
        size_t length = strlen(error->sentence);
        snprintf(error->sentence + length, sizeof error->sentence - length, "; use parley %s",
                 preset->problem->command);
    }
    return status;
}

static parley_status check_problems(const pl_method *method, const pl_problem_type *type, parley_error *error) {
    parley_status status = check_problem("local solver", method->local->name, method->local->problem, type, error);
    return status == PARLEY_OK ? check_problem("combine", method->combine->name, method->combine->problem, type, error)
                               : status;
}

static parley_status check_pair(const pl_method *method, parley_error *error) {
    const pl_local_type *local = method->local;
    const pl_combine_type *combine = method->combine;
    const pl_exchange_type *exchange = method->exchange;
    if (exchange->needs & ~local->traits)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "exchange %s needs workers that step in %s, which local solver %s cannot do", exchange->name,
                       exchange->needs & PL_STEPS_IN_V ? "one shared model" : "their own copies of the model",
                       local->name);
    if (combine->takes & ~local->traits)
        return pl_fail(error, PARLEY_BAD_USAGE, "combine %s needs %s, which local solver %s does not compute",
                       combine->name,
                       combine->takes & PL_GIVES_GRADIENTS  ? "gradients"
                       : combine->takes & PL_GIVES_PRODUCTS ? "products of columns"
                       : combine->takes & PL_MAY_BE_ADDED   ? "changes that may be added whole"
                                                            : "changes by coordinate steps",
                       local->name);
    if (combine->dialogue && !local->answer)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "combine %s needs a line search, which local solver %s does not support", combine->name,
                       local->name);
    if (exchange->async && !local->async)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "exchange %s lets each worker go on at its own pace, which local solver %s does not support",
                       exchange->name, local->name);
    if (exchange->async && (combine->trial || (combine->propose && !combine->single)))
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "exchange %s takes the update of one worker at a time, and combine %s needs those of all",
                       exchange->name, combine->name);
    if (combine->dialogue && !(exchange->carries & PL_CARRIES_DIRECTIONS))
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "combine %s asks workers for more within a round, which exchange %s does not support",
                       combine->name, exchange->name);
    return PARLEY_OK;
}

/* Fails for the first fact that a member needs and the problem lacks. */
static parley_status check_facts(const char *kind, const char *name, unsigned needs, const parley_settings *settings,
                                 const pl_problem *problem, parley_error *error) {
    const pl_problem_rules *rules = pl_settings_problem(settings)->rules;
    unsigned missing = needs & ~rules->facts(problem, settings);
    for (unsigned f = 0; f < PL_FACTS; f++)
        if (missing & 1u << f) {
            char why[160];
            rules->why(problem, settings, 1u << f, why, sizeof why);
            return pl_fail(error, PARLEY_BAD_USAGE, "%s %s needs %s, and %s", kind, name, pl_fact_name(f), why);
        }
    return PARLEY_OK;
}

static parley_status check_needs(const pl_method *method, const parley_settings *settings, const pl_problem *problem,
                                 parley_error *error) {
    const pl_combine_type *combine = method->combine;
    unsigned facts = pl_settings_problem(settings)->rules->facts(problem, settings), needs = combine->needs;
    if (combine->softens && (facts & PL_FACT_SOFTENS))
        needs &= ~(unsigned)PL_FACT_SMOOTH;
    parley_status status =
        check_facts("local solver", method->local->name, method->local->needs, settings, problem, error);
    if (status == PARLEY_OK)
        status = check_facts("combine", combine->name, needs, settings, problem, error);
    if (status == PARLEY_OK && combine->all_rows && settings->batch_fraction < 1)
        return pl_fail(error, PARLEY_BAD_USAGE, "combine %s needs all rows in every round; leave out --batch-fraction",
                       combine->name);
    return status;
}

static bool reads(const char *const *names, const char *name) {
    for (; names && *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

static void add_reader(char *text, size_t size, const char *option, const char *name) {
    snprintf(text + strlen(text), size - strlen(text), "%s--%s %s", *text ? " or " : "only ", option, name);
}

/* Lists the members for this problem that read an optional setting, as the end of the sentence that refuses it. */
static void readers(const pl_problem_type *type, const char *name, char *text, size_t size) {
    *text = '\0';
    for (unsigned i = 0; i < pl_locals_count; i++)
        if (pl_fits(pl_locals[i]->problem, type) && reads(pl_locals[i]->settings, name))
            add_reader(text, size, "local", pl_locals[i]->name);
    for (unsigned i = 0; i < pl_combines_count; i++)
        if (pl_fits(pl_combines[i]->problem, type) && reads(pl_combines[i]->settings, name))
            add_reader(text, size, "combine", pl_combines[i]->name);
    for (unsigned i = 0; i < pl_exchanges_count; i++)
        if (reads(pl_exchanges[i]->settings, name))
            add_reader(text, size, "exchange", pl_exchanges[i]->name);
    for (unsigned i = 0; i < pl_presets_count; i++)
        if (pl_presets[i].stream && pl_fits(pl_presets[i].problem, type) && reads(pl_presets[i].stream->settings, name))
            add_reader(text, size, "preset", pl_presets[i].name);
    snprintf(text + strlen(text), size - strlen(text), "%s", *text ? " reads it" : "leave it out");
}

/* Whether a member of the method reads the setting. */
static bool has_effect(const pl_method *method, const char *name) {
    return method->stream ? reads(method->stream->settings, name)
                          : reads(method->local->settings, name) || reads(method->combine->settings, name) ||
                                reads(method->exchange->settings, name);
}

/* Whether a member of the second method reads it. */
static bool has_late_effect(const pl_method *method, const pl_problem_type *type, const char *name) {
    const pl_preset *then = method->sequel ? pl_preset_find(method->sequel->then, type) : NULL;
    return then && (reads(then->local->settings, name) || reads(then->combine->settings, name));
}

static parley_status refuse_option(const pl_method *method, const parley_settings *settings, const pl_setting *row,
                                   parley_error *error) {
    char flag[48], who[256];
    pl_setting_flag(row, flag, sizeof flag);
    readers(pl_settings_problem(settings), row->name, who, sizeof who);
    if (method->stream)
        return pl_fail(error, PARLEY_BAD_USAGE, "%s has no effect with --preset %s; %s", flag, method->preset, who);
    return pl_fail(error, PARLEY_BAD_USAGE, "%s has no effect with %s x %s%s; %s", flag, method->local->name,
                   method->combine->name, strcmp(settings->preset, "auto") == 0 ? " (chosen by auto)" : "", who);
}

/* Rejects optional settings that no member reads. */
static parley_status check_optional(const pl_method *method, const parley_settings *settings, parley_error *error) {
    const pl_problem_type *type = pl_settings_problem(settings);
    for (unsigned i = 0; i < pl_settings_count(); i++) {
        const pl_setting *row = pl_setting_at(i);
        if (row->optional && settings->given[i] && !has_effect(method, row->name) &&
            !has_late_effect(method, type, row->name) && !(type->reads && type->reads(row->name)))
            return refuse_option(method, settings, row, error);
    }
    return PARLEY_OK;
}

/* Rejects options of the simulator on other engines. */
static parley_status check_simulation(const parley_settings *settings, parley_error *error) {
    static const char *const names[] = {"hosts",        "network", "latency",       "host_speed",
                                        "shared_cores", "compute", "network_change"};
    for (unsigned i = 0; i < sizeof names / sizeof *names && strcmp(settings->engine, "sim") != 0; i++)
        if (pl_setting_given(settings, names[i])) {
            char flag[48];
            pl_setting_flag(pl_setting_find(names[i]), flag, sizeof flag);
            return pl_fail(error, PARLEY_BAD_USAGE, "%s has no effect without --engine sim", flag);
        }
    return PARLEY_OK;
}

/* Rejects options that set the same thing twice, or have no effect without another one. */
static parley_status check_together(const parley_settings *settings, parley_error *error) {
    bool validates = *settings->validation || settings->validation_fraction > 0;
    if (*settings->validation && settings->validation_fraction > 0)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--validation and --validation-fraction both choose the validation rows; give only one of them");
    if (!validates && (pl_setting_given(settings, "metric") || pl_setting_given(settings, "patience")))
        return pl_fail(error, PARLEY_BAD_USAGE, "--%s has no effect without --validation or --validation-fraction",
                       pl_setting_given(settings, "metric") ? "metric" : "patience");
    pl_straggler ignored;
    parley_status status = pl_straggler_parse(settings, 1, &ignored, error);
    if (status == PARLEY_OK)
        status = check_simulation(settings, error);
    if (status != PARLEY_OK)
        return status;
    if (pl_setting_given(settings, "workers") && pl_setting_given(settings, "worker_per"))
        return pl_fail(error, PARLEY_BAD_USAGE, "--worker-per has no effect with --workers; leave one of them out");
    if (pl_setting_given(settings, "local_steps") && pl_setting_given(settings, "local_epochs"))
        return pl_fail(error, PARLEY_BAD_USAGE, "--local-steps and --local-epochs both set H; give only one of them");
    return PARLEY_OK;
}

static parley_status check_effect(const pl_method *method, const parley_settings *settings, parley_error *error) {
    const pl_local_type *local = method->local;
    parley_status status = check_optional(method, settings, error);
    if (status == PARLEY_OK && method->combine->check)
        status = method->combine->check(settings, NULL, error);
    if (status != PARLEY_OK)
        return status;
    bool measures = *settings->validation || settings->validation_fraction > 0;
    if (settings->evaluate_every > 1 && local->certifies && settings->batch_fraction >= 1 && !measures &&
        !method->exchange->async)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--evaluate-every has no effect with %s x %s, which evaluates every round anyway", local->name,
                       method->combine->name);
    if (*settings->start && !local->restart)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--start: local solver %s cannot start from a model; use another --local", local->name);
    return check_together(settings, error);
}

/* Applies the defaults of the preset to settings that were not given. */
static parley_status apply_defaults(parley_settings *settings, const pl_preset *preset, parley_error *error) {
    parley_status status = PARLEY_OK;
    if (*settings->replay || *settings->resume)
        return status; /* they come from the log or the checkpoint */
    for (const pl_pair *pair = preset->defaults; pair->key && status == PARLEY_OK; pair++)
        if (!pl_setting_given(settings, pair->key)) {
            status = pl_setting_set(settings, 0, pair->key, pair->value, error);
            pl_setting_forget(settings, pair->key);
        }
    return status;
}

/* Limits a run that has no other limit. */
static void limit_passes(parley_settings *settings, const pl_local_type *local) {
    if (!settings->passes && !pl_setting_given(settings, "rounds") && !pl_setting_given(settings, "seconds") &&
        !pl_setting_given(settings, "tolerance"))
        settings->passes = local->usual_passes;
}

/* Checks that the members fit each other and the problem. */
static parley_status check_members(const pl_method *method, const parley_settings *settings, const pl_problem *problem,
                                   parley_error *error) {
    const pl_combine_type *combine = method->combine;
    parley_status status = check_problems(method, pl_settings_problem(settings), error);
    if (status == PARLEY_OK)
        status = check_pair(method, error);
    if (status == PARLEY_OK)
        status = check_needs(method, settings, problem, error);
    return status == PARLEY_OK && problem && combine->check ? combine->check(settings, problem, error) : status;
}

static void forget(parley_settings *settings, const pl_setting *row) {
    pl_setting_set(settings, 0, row->name, row->initial, NULL);
    settings->given[pl_setting_number(row)] = false;
}

static parley_status choose(parley_settings *settings, const pl_problem *problem, pl_method *method, bool *unfit,
                            parley_error *error);

static parley_status resolve_next(const parley_settings *asked, const pl_problem *problem, const pl_method *first,
                                  parley_settings *settings, pl_method *method, bool *unfit, parley_error *error) {
    parley_status status = pl_settings_assign(settings, asked, error);
    if (status != PARLEY_OK)
        return status;
    settings->preset = first->sequel->then;
    for (unsigned i = 0; i < pl_settings_count(); i++)
        if (pl_setting_at(i)->optional && has_effect(first, pl_setting_at(i)->name))
            forget(settings, pl_setting_at(i));
    status = choose(settings, problem, method, unfit, error);
    method->preset = first->preset;
    return status;
}

/* Checks the second method of the preset. */
static parley_status check_next(const parley_settings *settings, const pl_problem *problem, const pl_method *method,
                                bool *unfit, parley_error *error) {
    parley_settings *copy;
    pl_method next;
    if (strcmp(settings->local, "auto") != 0 || strcmp(settings->combine, "auto") != 0)
        return pl_fail(
            error, PARLEY_BAD_USAGE,
            "preset %s consists of two methods, so that one --local or --combine cannot apply to both; leave them out",
            method->preset);
    parley_status status = pl_settings_copy(settings, &copy, error);
    if (status != PARLEY_OK)
        return status;
    status = resolve_next(settings, problem, method, copy, &next, unfit, error);
    parley_settings_free(copy);
    return status;
}

/* Checkpoints need rounds. */
static parley_status check_checkpoint(const parley_settings *settings, const pl_preset *preset, parley_error *error) {
    const char *word = *settings->checkpoint ? "checkpoint" : *settings->resume ? "resume" : NULL;
    uint64_t rounds;
    double seconds;
    if (word && preset->stream)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--%s has no effect with --preset %s, which has no rounds; its model can be continued with "
                       "--start",
                       word, preset->name);
    if (*settings->resume && *settings->replay)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--resume continues a run and --replay repeats one; leave one of them out");
    if (!*settings->checkpoint && pl_setting_given(settings, "checkpoint_every"))
        return pl_fail(error, PARLEY_BAD_USAGE, "--checkpoint-every has no effect without --checkpoint");
    return pl_checkpoint_every(settings->checkpoint_every, &rounds, &seconds, error);
}

/* Checks a method for streams, which reads few options. */
static parley_status resolve_stream(parley_settings *settings, const pl_preset *preset, const pl_method *method,
                                    parley_error *error) {
    if (strcmp(settings->local, "auto") != 0)
        return pl_fail(error, PARLEY_BAD_USAGE, "--local has no effect with --preset %s; leave it out", preset->name);
    if (settings->explain)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--explain has no effect with --preset %s, which leaves nothing to auto; leave one of them out",
                       preset->name);
    parley_status status = apply_defaults(settings, preset, error);
    if (status == PARLEY_OK)
        status = check_optional(method, settings, error);
    return status == PARLEY_OK ? method->stream->check(settings, error) : status;
}

/* Checks a method with rounds, whose members are known. */
static parley_status resolve_rounds(parley_settings *settings, const pl_preset *preset, const pl_problem *problem,
                                    pl_method *method, bool *unfit, parley_error *error) {
    parley_status status = apply_defaults(settings, preset, error);
    limit_passes(settings, method->local);
    if (status == PARLEY_OK && method->exchange->check)
        status = method->exchange->check(settings, error);
    if (status == PARLEY_OK && method->exchange->in_step && pl_waits(settings))
        method->exchange = method->exchange->in_step;
    if (pl_setting_given(settings, "local_steps"))
        settings->local_epochs = NAN; /* local_steps decides; if both are auto, H adapts during training */
    if (status == PARLEY_OK) {
        status = check_members(method, settings, problem, error);
        *unfit = status != PARLEY_OK;
    }
    if (status == PARLEY_OK)
        status = check_effect(method, settings, error);
    if (status == PARLEY_OK && method->local->check)
        status = method->local->check(settings, pl_method_in_place(method), error);
    return status == PARLEY_OK && method->sequel ? check_next(settings, problem, method, unfit, error) : status;
}

/* `unfit` means that it failed because the given settings do not fit each other. */
static parley_status choose(parley_settings *settings, const pl_problem *problem, pl_method *method, bool *unfit,
                            parley_error *error) {
    const pl_preset *preset = pl_preset_find(settings->preset, pl_settings_problem(settings));
    if (!preset->local && !preset->stream)
        preset = pl_preset_choose(settings, problem, error);
    if (!preset) {
        *unfit = true;
        return PARLEY_BAD_USAGE;
    }
    find_members(settings, preset, problem, method);
    if (method->stream)
        return resolve_stream(settings, preset, method, error);
    if (!method->local || !method->combine || !method->exchange)
        return PARLEY_OK; /* `auto`, before the data are known */
    return resolve_rounds(settings, preset, problem, method, unfit, error);
}

parley_status pl_method_choose(parley_settings *settings, const pl_problem *problem, pl_method *method,
                               parley_error *error) {
    bool unfit = false;
    parley_status status = choose(settings, problem, method, &unfit, error);
    if (!unfit || !error)
        return status;
    const pl_preset *preset = pl_preset_find(settings->preset, pl_settings_problem(settings));
    for (const pl_pair *pair = preset->defaults; pair->key; pair++)
        if (!pl_setting_given(settings, pair->key))
            forget(settings, pl_setting_find(pair->key)); /* which another preset would not have */
    pl_name_nearest(settings, problem, error);
    return status;
}

static parley_status check_adapt(const parley_settings *settings, parley_error *error) {
    if (settings->adapt && (pl_setting_given(settings, "local_epochs") || pl_setting_given(settings, "local_steps")))
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--adapt chooses H during training; leave out --local-epochs and --local-steps");
    if (settings->adapt && *settings->replay)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--adapt cannot be combined with --replay; the log of an adapted run is replayed without it");
    return PARLEY_OK;
}

parley_status pl_settings_check(parley_settings *settings, parley_error *error) {
    const pl_problem_type *type = pl_settings_problem(settings);
    parley_status status = check_names(settings, type, error);
    const pl_preset *preset = status == PARLEY_OK ? pl_preset_find(settings->preset, type) : NULL;
    if (status == PARLEY_OK)
        status = check_preset(preset, type, error);
    if (status == PARLEY_OK && type->rules->check)
        status = type->rules->check(settings, error);
    return status == PARLEY_OK ? check_checkpoint(settings, preset, error) : status;
}

parley_status pl_method_resolve(parley_settings *settings, const pl_problem *problem, pl_method *method,
                                parley_error *error) {
    parley_status status = pl_settings_check(settings, error);
    return status == PARLEY_OK ? pl_method_choose(settings, problem, method, error) : status;
}

parley_status pl_method_next(const parley_settings *asked, const pl_problem *problem, const pl_method *first,
                             parley_settings *settings, pl_method *method, parley_error *error) {
    bool unfit = false;
    return resolve_next(asked, problem, first, settings, method, &unfit, error);
}

parley_status pl_train_check(const parley_settings *settings, parley_error *error) {
    parley_settings *copy;
    pl_method method;
    parley_status status = check_adapt(settings, error);
    if (status == PARLEY_OK)
        status = pl_settings_copy(settings, &copy, error);
    if (status != PARLEY_OK)
        return status;
    status = pl_method_resolve(copy, NULL, &method, error);
    parley_settings_free(copy);
    return status;
}
