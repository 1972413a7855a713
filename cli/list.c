/* list.c: `parley list` prints the members of every table. */
#include <string.h>

#include "cli.h"
#include "train/train.h"

#define MOST_KINDS 32
#define NAME_COLUMN 16

static int widest(int width, const char *name) { return (int)strlen(name) > width ? (int)strlen(name) : width; }

static void list_settings(void) {
    int width = NAME_COLUMN;
    for (unsigned i = 0; i < pl_settings_count(); i++)
        width = command_reads(pl_setting_at(i)) ? widest(width, pl_setting_at(i)->name) : width;
    for (unsigned i = 0; i < pl_settings_count(); i++) {
        const pl_setting *row = pl_setting_at(i);
        if (!command_reads(row))
            continue;
        printf("  %-*s %s%s%s%s\n", width, row->name, row->help, *row->initial ? " [" : "", row->initial,
               *row->initial ? "]" : "");
    }
}

static bool list_kind(const char *kind) {
    pl_entry entries[PL_ENTRIES];
    if (strcmp(kind, "settings") == 0) {
        list_settings();
        return true;
    }
    unsigned count = pl_list(kind, entries);
    int width = NAME_COLUMN;
    for (unsigned i = 0; i < count; i++)
        width = widest(width, entries[i].name);
    for (unsigned i = 0; i < count; i++)
        printf("  %-*s %s\n", width, entries[i].name, entries[i].help);
    return count > 0;
}

static int list_run(const arguments *arguments) {
    const char *kinds[MOST_KINDS];
    unsigned count = 0;
    for (; pl_list_kinds[count] && count + 1 < MOST_KINDS; count++)
        kinds[count] = pl_list_kinds[count];
    kinds[count++] = "settings";
    if (arguments->count == 0) {
        for (unsigned i = 0; i < count; i++) {
            printf("%s%s:\n", i ? "\n" : "", kinds[i]);
            list_kind(kinds[i]);
        }
        return EXIT_DONE;
    }
    if (list_kind(arguments->operands[0]))
        return EXIT_DONE;
    parley_error error;
    fail_unknown("kind", arguments->operands[0], kinds, count, &error);
    return fail(arguments->command, &error);
}

const command list_command = {
    .name = "list",
    .operands = "[KIND]",
    .least = 0,
    .most = 1,
    .options = NO_OPTIONS,
    .summary = "list problems, solvers, presets, settings and so on",
    .details = "Prints every member of a KIND with a one-line description, or those of all kinds if none is given.",
    .run = list_run,
};
