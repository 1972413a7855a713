/* nearest.c: remedies for rejected combinations. Each one is tried before it is named: a change of the problem that
 * keeps the method, and a change of the method that keeps the problem. */
#include "train/nearest.h"

#include <stdio.h>
#include <string.h>

#include "train/presets.h"

static bool asks_for_server(const pl_problem *problem, const parley_settings *settings) {
    (void)problem;
    return strcmp(settings->exchange, "server") == 0;
}

/* What a user may mean who asks for a server. It comes before all others, whatever the data turn out to be. */
static const pl_way servers[] = {
    {.text = "--preset petuum", .changes = {{"preset", "petuum"}}, .fits = asks_for_server}, {0}};

/* Changes of the method, nearest first. */
static const pl_way methods[] = {
    {.text = "--local scd", .changes = {{"local", "scd"}}},
    {.text = "--local sdca", .changes = {{"local", "sdca"}}},
    {.text = "--preset newton", .changes = {{"preset", "newton"}}},
    {.text = "--preset cocoa+", .changes = {{"preset", "cocoa+"}}},
    {.text = "--preset lbfgs", .changes = {{"preset", "lbfgs"}}},
    {.text = "--preset gd", .changes = {{"preset", "gd"}}},
    {.text = "--batch-fraction 1", .changes = {{"batch_fraction", "1"}}},
    {.text = "--local gradient", .changes = {{"local", "gradient"}}},
    {.text = "--local sgd", .changes = {{"local", "sgd"}}},
    {.text = "--combine add", .changes = {{"combine", "add"}}},
    {.text = "--combine average", .changes = {{"combine", "average"}}},
    {.text = "--combine step", .changes = {{"combine", "step"}}},
    {.text = "--exchange allreduce", .changes = {{"exchange", "allreduce"}}},
    {.text = "--preset gd with --local auto", .changes = {{"preset", "gd"}, {"local", "auto"}}, .use = PL_AVOIDS_LAST},
    {.text = "--preset auto", .changes = {{"preset", "auto"}, {"local", "auto"}}, .use = PL_AVOIDS_LAST},
    {0}};

typedef struct refusal {
    const parley_settings *asked;
    const pl_problem *problem;
    const pl_problem_rules *rules;
    parley_settings *room; /* room for a copy */
} refusal;

/* Whether the changed settings would be accepted. With `safe`, whatever the data turn out to be. */
static bool is_open(const refusal *refusal, const pl_way *way, bool safe) {
    const parley_settings *asked = refusal->asked;
    parley_settings *settings = refusal->room;
    pl_method method;
    if (way->fits && !way->fits(refusal->problem, asked))
        return false;
    if (pl_settings_assign(settings, asked, NULL) != PARLEY_OK)
        return false;
    for (unsigned i = 0; i < 2 && way->changes[i].key; i++)
        if (pl_setting_set(settings, 0, way->changes[i].key, way->changes[i].value, NULL) != PARLEY_OK)
            return false;
    if (pl_method_resolve(settings, refusal->problem, &method, NULL) != PARLEY_OK)
        return false;
    bool chosen = method.local && method.combine; /* otherwise auto will choose */
    if (!chosen)
        return strcmp(settings->local, "auto") == 0 && strcmp(settings->combine, "auto") == 0;
    bool named = strcmp(method.local->name, asked->local) == 0; /* a user who names a solver knows the data */
    unsigned needs = method.local->needs | (method.combine->softens ? PL_FACT_SOFTENS : 0);
    unsigned facts = refusal->rules->facts(refusal->problem, settings);
    bool certain = !(needs & facts >> PL_FACT_UNSURE), goes_on = !method.sequel || (facts & PL_FACT_SMOOTH);
    return !safe || named || (certain && goes_on);
}

/* Finds up to `most` of the first ways of this use that are accepted. `ways` may be NULL. */
static unsigned find_open(const refusal *refusal, const pl_way *ways, unsigned use, bool safe, unsigned most,
                          const char **texts) {
    unsigned found = 0;
    for (; ways && ways->text && found < most; ways++)
        if (ways->use == use && is_open(refusal, ways, safe))
            texts[found++] = ways->text;
    return found;
}

static unsigned find_ways(const refusal *refusal, const char *texts[2]) {
    const pl_way *ways = refusal->rules->ways;
    if (find_open(refusal, servers, PL_AVOIDS, false, 1, texts) > 0)
        return 1;
    unsigned problem = find_open(refusal, ways, PL_AVOIDS, true, 1, texts);
    unsigned method = find_open(refusal, methods, PL_AVOIDS, true, 2 - problem, texts + problem);
    if (method == 0)
        method = find_open(refusal, methods, PL_AVOIDS, false, 2 - problem, texts + problem);
    if (problem + method > 0)
        return problem + method;
    unsigned last = find_open(refusal, ways, PL_AVOIDS_LAST, false, 2, texts);
    return last + find_open(refusal, methods, PL_AVOIDS_LAST, false, 2 - last, texts + last);
}

void pl_name_nearest(const parley_settings *asked, const pl_problem *problem, parley_error *error) {
    refusal refusal = {asked, problem, pl_settings_problem(asked)->rules, NULL};
    const char *ways[2];
    if (pl_take(&refusal.room, 1, sizeof *refusal.room, "settings", NULL) != PARLEY_OK)
        return; /* the error is reported without remedies */
    unsigned found = find_ways(&refusal, ways);
    parley_settings_free(refusal.room);
    size_t length = strlen(error->sentence);
    if (found > 0)
        snprintf(error->sentence + length, sizeof error->sentence - length, "; use %s%s%s", ways[0],
                 found > 1 ? ", or " : "", found > 1 ? ways[1] : "");
}
