/* explain.c: what `auto` decided in a run, for --explain. */
#include <stdio.h>
#include <string.h>

#include "train/run.h"

/* Whether the user left the setting to auto, and the run has a member that follows the decision. */
static bool is_followed(const pl_run *run, const pl_decision *decision) {
    char given[PL_TEXT] = "auto";
    bool followed = !decision->asked_by[0];
    if (decision->setting)
        pl_setting_text(run->settings, pl_setting_find(decision->setting), given, sizeof given);
    for (unsigned i = 0; i < PL_CHOICE_ASKED_BY && decision->asked_by[i]; i++)
        followed = followed || strcmp(decision->asked_by[i], run->method.local->name) == 0 ||
                   strcmp(decision->asked_by[i], run->method.combine->name) == 0;
    return followed && strcmp(given, "auto") == 0;
}

void pl_explain(pl_run *run, const pl_decision *decision, const double *shape) {
    parley_summary *summary = &run->summary;
    char conditions[PL_CONDITIONS_TEXT];
    if (!run->settings->explain || summary->choices == PARLEY_CHOICES || !is_followed(run, decision))
        return;
    const pl_choice *choice = pl_decide(decision, shape);
    parley_choice *kept = &summary->choice[summary->choices++];
    pl_conditions_text(decision, choice, shape, conditions, sizeof conditions);
    kept->decision = decision->name;
    snprintf(kept->choice, sizeof kept->choice, "%s", choice->take);
    snprintf(kept->reason, sizeof kept->reason, *conditions ? "%s (%s)" : "%s", choice->reason, conditions);
}

void pl_explain_problem(pl_run *run, bool placed) {
    const pl_problem_rules *rules = run->type->rules;
    double shape[PL_SHAPE] = {0};
    if (!run->settings->explain)
        return;
    if (rules->shape)
        rules->shape(run->problem, run->settings, shape);
    for (const pl_decision *decision = rules->decisions; decision->name; decision++)
        if (decision->placed == placed)
            pl_explain(run, decision, shape);
}

void pl_tell_choices(pl_run *run) {
    const parley_summary *summary = &run->summary;
    for (; run->told.choices < summary->choices; run->told.choices++) {
        const parley_choice *choice = &summary->choice[run->told.choices];
        pl_say(run, "auto: %s %s, because %s", choice->decision, choice->choice, choice->reason);
    }
}
