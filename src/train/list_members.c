/* list_members.c: the names of all members, as `parley list` shows them. */
#include <string.h>

#include "data/format.h"
#include "train/presets.h"

static void add(pl_entry *entries, unsigned *count, const char *name, const char *help) {
    for (unsigned i = 0; i < *count; i++)
        if (strcmp(entries[i].name, name) == 0)
            return; /* members for different problems may share a name */
    if (*count < PL_ENTRIES)
        entries[(*count)++] = (pl_entry){name, help};
}

/* Lists the members of a table of pointers: all, or those for the problem. */
#define ADD_ALL(table)                                                                                                 \
    do {                                                                                                               \
        for (unsigned i = 0; i < table##_count; i++)                                                                   \
            add(entries, &count, table[i]->name, table[i]->help);                                                      \
    } while (0)
#define ADD_FITTING(table)                                                                                             \
    do {                                                                                                               \
        for (unsigned i = 0; i < table##_count; i++)                                                                   \
            if (pl_fits(table[i]->problem, problem))                                                                   \
                add(entries, &count, table[i]->name, table[i]->help);                                                  \
    } while (0)

unsigned pl_list_for(const pl_problem_type *problem, const char *kind, pl_entry *entries) {
    unsigned count = 0;
    if (strcmp(kind, "problems") == 0)
        ADD_ALL(pl_problems);
    else if (strcmp(kind, "solvers") == 0)
        ADD_FITTING(pl_locals);
    else if (strcmp(kind, "combines") == 0)
        ADD_FITTING(pl_combines);
    else if (strcmp(kind, "exchanges") == 0)
        ADD_ALL(pl_exchanges);
    else if (strcmp(kind, "engines") == 0)
        ADD_ALL(pl_engines);
    else if (strcmp(kind, "formats") == 0)
        ADD_ALL(pl_formats);
    else if (strcmp(kind, "presets") == 0)
        for (unsigned i = 0; i < pl_presets_count; i++) {
            if (pl_fits(pl_presets[i].problem, problem))
                add(entries, &count, pl_presets[i].name, pl_presets[i].help);
        }
    else if (strcmp(kind, "metrics") == 0)
        for (unsigned i = 0; i < pl_problems_count; i++)
            for (const pl_model_metric *metric = pl_problems[i]->model_type->metrics;
                 metric->name && pl_fits(pl_problems[i], problem); metric++)
                add(entries, &count, metric->name, metric->help);
    for (const pl_own_list *own = pl_own_lists; own->kind; own++) {
        pl_entry entry;
        for (unsigned i = 0; strcmp(kind, own->kind) == 0 && own->at(i, &entry); i++)
            add(entries, &count, entry.name, entry.help);
    }
    return count;
}

unsigned pl_list(const char *kind, pl_entry *entries) { return pl_list_for(NULL, kind, entries); }

const char *parley_list_at(const char *kind, unsigned number, const char **help) {
    pl_entry entries[PL_ENTRIES];
    bool is_one = number < pl_list(kind, entries);
    if (help)
        *help = is_one ? entries[number].help : NULL;
    return is_one ? entries[number].name : NULL;
}
