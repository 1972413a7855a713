/* remedies.c: what may help a run that ended before its target. A change is named only if the rules accept it for this
 * problem. After a stall on small data it is tried first, and passed over if it does not reach the target either. If
 * time ends the trials, the first change that was still on its way is named as one to try. */
#include <string.h>

#include "base/stop.h"
#include "train/run.h"

#define SMALL 1e6          /* entries, up to which a change is tried */
#define FEW_ROUNDS 100     /* up to here, a run that a limit ended may only need more */
#define TRIAL_SECONDS 1.0  /* limit of a trial */
#define TRIAL_ROUNDS 10000 /* the same */

/* Changes of the method, the most likely to help first. */
static const pl_way methods[] = {{.text = "--preset auto", .changes = {{"preset", "auto"}}},
                                 {.text = "--preset newton", .changes = {{"preset", "newton"}}},
                                 {.text = "--preset cocoa-newton", .changes = {{"preset", "cocoa-newton"}}},
                                 {.text = "--preset cocoa+", .changes = {{"preset", "cocoa+"}}},
                                 {.text = "--preset lbfgs", .changes = {{"preset", "lbfgs"}}},
                                 {0}};

typedef struct suggesting {
    const pl_run *run;
    const parley_settings *asked;
    parley_settings *room; /* the settings with a change */
    bool stalled;
    const pl_way *late; /* the first change whose trial took too long; NULL: none */
} suggesting;

/* Whether the rules accept the change, and it gives another method or another problem. */
static bool is_open(const suggesting *self, const pl_way *way, bool of_method) {
    const pl_run *run = self->run;
    parley_settings *settings = self->room;
    pl_method method;
    if (pl_settings_assign(settings, self->asked, NULL) != PARLEY_OK)
        return false;
    if (of_method) /* members that the user named belong to the old preset */
        for (const char *const *name = (const char *const[]){"local", "combine", NULL}; *name; name++)
            pl_setting_set(settings, 0, *name, "auto", NULL);
    for (unsigned i = 0; i < 2 && way->changes[i].key; i++)
        if (pl_setting_set(settings, 0, way->changes[i].key, way->changes[i].value, NULL) != PARLEY_OK)
            return false;
    parley_settings *resolved;
    if (pl_settings_copy(settings, &resolved, NULL) != PARLEY_OK)
        return false;
    bool accepted = pl_method_resolve(resolved, run->problem, &method, NULL) == PARLEY_OK;
    bool another = !of_method || (accepted && strcmp(method.preset, run->method.preset) != 0);
    parley_settings_free(resolved);
    return accepted && another;
}

/* Trains with the changed settings. */
static bool reaches(suggesting *self, const pl_way *way) {
    pl_run trial = {.engine = self->run->engine};
    parley_settings *settings = self->room;
    parley_error error;
    settings->seconds = TRIAL_SECONDS;
    settings->rounds = TRIAL_ROUNDS;
    settings->log = settings->trace = settings->checkpoint = settings->resume = settings->replay = "";
    bool done = pl_run_open(&trial, self->run->rows.given, settings, &error) == PARLEY_OK &&
                pl_run_loop(&trial, &error) == PARLEY_OK;
    bool reached = done && (trial.summary.stop == PARLEY_CONVERGED || trial.summary.stop == PARLEY_VALIDATED);
    if (done && trial.summary.stop == PARLEY_SECONDS && !self->late)
        self->late = way;
    pl_run_close(&trial);
    return reached;
}

/* Takes the change if it may help. Returns whether it does. */
static bool consider(suggesting *self, const pl_way *way, bool of_method, parley_summary *summary) {
    const pl_run *run = self->run;
    bool cheap = run->engine->ranks == 1 && (double)pl_all_nonzeros(run->rows.given) <= SMALL && !pl_stop_asked();
    if (!is_open(self, way, of_method))
        return false;
    bool tried = self->stalled && cheap;
    if (tried && !reaches(self, way))
        return false;
    summary->suggestion = way->text;
    summary->suggestion_tried = tried;
    return true;
}

static bool find(suggesting *self, parley_summary *summary) {
    const pl_problem_rules *rules = self->run->type->rules;
    bool named = strcmp(self->asked->preset, "auto") != 0, slow = self->stalled || summary->rounds > FEW_ROUNDS;
    for (const pl_way *way = rules->ways; slow && way && way->text; way++)
        if (way->use == PL_HASTENS && way->fits(self->run->problem, self->asked) && consider(self, way, false, summary))
            return true;
    for (const pl_way *way = methods; way->text; way++)
        if ((self->stalled || (named && way == methods)) && consider(self, way, true, summary))
            return true;
    if (self->late)
        summary->suggestion = self->late->text;
    return self->late;
}

void pl_remedies(pl_run *run, const parley_settings *asked, parley_summary *summary) {
    bool limited = summary->stop == PARLEY_ROUNDS || summary->stop == PARLEY_SECONDS;
    suggesting self = {.run = run, .asked = asked, .stalled = summary->stop == PARLEY_STALLED};
    if (!(run->target > 0) || (!limited && !self.stalled) ||
        pl_take(&self.room, 1, sizeof *self.room, "settings", NULL) != PARLEY_OK)
        return;
    if (run->pace.hopeless)
        summary->suggestion = "a smaller --rate";
    else if (!find(&self, summary))
        summary->suggestion = summary->stop == PARLEY_ROUNDS    ? "more --rounds"
                              : summary->stop == PARLEY_SECONDS ? "more --seconds"
                              : run->type->by_change            ? "a larger --tolerance"
                                                                : "a larger --gap";
    parley_settings_free(self.room);
}
