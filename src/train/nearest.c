/* nearest.c: the ways out of a refusal. Every one is tried before it is named: a change of the problem that keeps the
 * method, and a change of the method that keeps the problem. */
#include "train/nearest.h"

#include <stdio.h>
#include <string.h>

#include "train/presets.h"

#define SMALL_LAMBDA "1e-6"

typedef struct way {
    const char *text;
    pl_pair changes[2];
} way;

/* Nearest first. */
static const way problems[] = {{"a small --lambda", {{"lambda", SMALL_LAMBDA}}},
                               {"--l1-ratio 0.99", {{"l1_ratio", "0.99"}}},
                               {"--l1-ratio 0", {{"l1_ratio", "0"}}},
                               {"--loss squared-hinge", {{"loss", "squared-hinge"}}},
                               {"--loss huber", {{"loss", "huber"}}}};
static const way methods[] = {{"--local scd", {{"local", "scd"}}},
                              {"--local sdca", {{"local", "sdca"}}},
                              {"--preset newton", {{"preset", "newton"}}},
                              {"--preset cocoa+", {{"preset", "cocoa+"}}},
                              {"--preset lbfgs", {{"preset", "lbfgs"}}},
                              {"--preset gd", {{"preset", "gd"}}},
                              {"--batch-fraction 1", {{"batch_fraction", "1"}}},
                              {"--local gradient", {{"local", "gradient"}}},
                              {"--local sgd", {{"local", "sgd"}}},
                              {"--combine add", {{"combine", "add"}}},
                              {"--combine step", {{"combine", "step"}}},
                              {"--exchange allreduce", {{"exchange", "allreduce"}}}};
static const way last_ways[] = {{"--local sdca with --l1-ratio 0.99", {{"local", "sdca"}, {"l1_ratio", "0.99"}}},
                                {"--preset gd with --local auto", {{"preset", "gd"}, {"local", "auto"}}}};
#define LENGTH(ways) (sizeof(ways) / sizeof *(ways))

/* Does a change of loss keep the kind of labels, and a change of penalty change anything? */
static bool is_a_change(const parley_settings *asked, const pl_pair *change) {
    if (strcmp(change->key, "loss") == 0) {
        const pl_loss *from = pl_loss_find(asked->loss), *to = pl_loss_find(change->value);
        return from && from != to && from->labels == to->labels;
    }
    if (strcmp(change->key, "lambda") == 0)
        return asked->lambda == 0;
    return strcmp(change->key, "l1_ratio") != 0 || asked->l1_ratio > 0;
}

/* Labels that are not read yet may turn out to be several classes. */
static bool may_have_classes(const parley_settings *settings, const pl_glm *glm) {
    const pl_loss *loss = pl_loss_find(settings->loss);
    return !glm && (!loss || loss->labels != PL_LABELS_REAL);
}

/* Would it be accepted? `safe`: whatever the number of classes. `settings` is room for a copy. */
static bool is_open(const parley_settings *asked, const pl_glm *glm, const way *way, bool safe,
                    parley_settings *settings) {
    pl_glm changed;
    pl_method method;
    *settings = *asked;
    for (unsigned i = 0; i < 2 && way->changes[i].key; i++)
        if (!is_a_change(asked, &way->changes[i]) ||
            pl_setting_set(settings, 0, way->changes[i].key, way->changes[i].value, NULL) != PARLEY_OK)
            return false;
    if (glm) {
        changed = *glm;
        changed.loss = pl_loss_find(settings->loss) ? pl_loss_find(settings->loss) : glm->loss;
        changed.lambda = asked->lambda == 0 ? settings->lambda : glm->lambda;
        changed.l1_ratio = settings->l1_ratio;
    }
    if (pl_method_resolve(settings, glm ? &changed : NULL, &method, NULL) != PARLEY_OK)
        return false;
    bool chosen = method.local && method.combine; /* or auto will, of all that there is */
    if (!chosen)
        return strcmp(settings->local, "auto") == 0 && strcmp(settings->combine, "auto") == 0;
    bool named = strcmp(method.local->name, asked->local) == 0; /* who named a solver of two classes has two */
    return !safe || named || method.local->classes || !may_have_classes(settings, glm);
}

/* The first of the ways that are open, up to `most`. */
static unsigned find_open(const parley_settings *asked, const pl_glm *glm, bool safe, const way *ways, size_t count,
                          unsigned most, parley_settings *room, const char **texts) {
    unsigned found = 0;
    for (size_t i = 0; i < count && found < most; i++)
        if (is_open(asked, glm, &ways[i], safe, room))
            texts[found++] = ways[i].text;
    return found;
}

static unsigned find_ways(const parley_settings *asked, const pl_glm *glm, parley_settings *room,
                          const char *texts[2]) {
    unsigned problem = find_open(asked, glm, true, problems, LENGTH(problems), 1, room, texts);
    unsigned method = find_open(asked, glm, true, methods, LENGTH(methods), 2 - problem, room, texts + problem);
    if (method == 0)
        method = find_open(asked, glm, false, methods, LENGTH(methods), 2 - problem, room, texts + problem);
    if (problem + method > 0)
        return problem + method;
    return find_open(asked, glm, false, last_ways, LENGTH(last_ways), 2, room, texts);
}

void pl_name_nearest(const parley_settings *asked, const pl_glm *glm, parley_error *error) {
    parley_settings *room;
    const char *ways[2];
    if (pl_take(&room, 1, sizeof *room, "settings", NULL) != PARLEY_OK)
        return; /* the refusal itself is told */
    unsigned found = find_ways(asked, glm, room, ways);
    pl_free(room);
    size_t length = strlen(error->sentence);
    if (found > 0)
        snprintf(error->sentence + length, sizeof error->sentence - length, "; use %s%s%s", ways[0],
                 found > 1 ? ", or " : "", found > 1 ? ways[1] : "");
}
