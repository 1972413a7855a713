/* help.c: prints help generated from the command and settings tables. */
#include <ctype.h>
#include <string.h>

#include "cli.h"
#include "train/train.h"

#define OPTION_COLUMN 26
#define COMMAND_COLUMN 24
#define MANY_OPTIONS 10 /* this many options or more are printed under headings */
#define UNBOUNDED 1e18

/* Prints words up to the page width, starting at `column`. Further lines start at column `indent`. */
static void wrap(FILE *file, const char *text, unsigned indent, unsigned column) {
    while (*text) {
        unsigned length = (unsigned)strcspn(text, " ");
        if (column > indent && column + 1 + length > PAGE_WIDTH) {
            fprintf(file, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', file);
            column++;
        }
        fprintf(file, "%.*s", (int)length, text);
        column += length;
        text += length;
        text += strspn(text, " ");
    }
    fputc('\n', file);
}

/* Prints "  name" and then `text` from `column` on. */
static void entry(FILE *file, const char *name, unsigned column, const char *text) {
    fprintf(file, "  %-*s", (int)column - 2, name);
    if (strlen(name) + 2 >= column)
        fprintf(file, "\n%*s", (int)column, "");
    wrap(file, text, column, column);
}

static void append(char *text, size_t size, const char *more) {
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s", more);
}

static void append_number(char *text, size_t size, double number) {
    char digits[32];
    pl_number_text(number, digits, sizeof digits);
    append(text, size, digits);
}

static void append_bounds(const pl_setting *row, char *notes, size_t size) {
    bool open_below = row->min > 0 && row->min < 1 / UNBOUNDED, any = row->min <= -UNBOUNDED && row->max >= UNBOUNDED;
    append(notes, size, any ? "a number" : row->max < UNBOUNDED ? "" : open_below ? "above " : "at least ");
    if (!any)
        append_number(notes, size, open_below ? 0.0 : row->min);
    if (row->max < UNBOUNDED) {
        append(notes, size, " to ");
        append_number(notes, size, row->max);
    }
    append(notes, size, row->may_be_auto ? " or auto" : "");
}

void help_values(const pl_setting *row, const command *command, const char *separator, char *values, size_t size) {
    const pl_problem_type *problem = command && command->problem ? pl_problem_find(command->problem) : NULL;
    pl_entry entries[PL_ENTRIES];
    bool has_auto = false;
    *values = '\0';
    if (row->choices)
        for (const char *choice = row->choices; *choice; choice += strspn(choice, "|")) {
            size_t length = strcspn(choice, "|"), used = strlen(values);
            snprintf(values + used, size - used, "%s%.*s", used ? separator : "", (int)length, choice);
            choice += length;
        }
    unsigned count = row->list ? pl_list_for(problem, row->list, entries) : 0;
    for (unsigned i = 0; i < count; i++) {
        append(values, size, *values ? separator : "");
        append(values, size, entries[i].name);
        has_auto = has_auto || strcmp(entries[i].name, "auto") == 0;
    }
    if (row->may_be_auto && !has_auto && row->kind == PL_WORD) {
        append(values, size, *values ? separator : "");
        append(values, size, "auto");
    }
}

void help_notes(const pl_setting *row, const command *command, char *notes, size_t size) {
    *notes = '\0';
    if (row->kind == PL_FLAG)
        return;
    if (row->kind == PL_WHOLE || row->kind == PL_REAL)
        append_bounds(row, notes, size);
    else
        help_values(row, command, ", ", notes, size);
    if (*row->initial) {
        append(notes, size, *notes ? "; default " : "default ");
        append(notes, size, row->initial);
    }
}

void help_flag(const pl_setting *row, char *text, size_t size) {
    char flag[64], letter[8] = "";
    pl_setting_flag(row, flag, sizeof flag);
    if (row->letter)
        snprintf(letter, sizeof letter, "-%c, ", row->letter);
    snprintf(text, size, "%s%s", letter, flag);
}

static void print_option(FILE *file, const command *command, const pl_setting *row) {
    char flag[72], name[128], notes[NOTES], text[NOTES + 512];
    help_flag(row, flag, sizeof flag);
    help_notes(row, command, notes, sizeof notes);
    snprintf(name, sizeof name, "%s %s", flag, row->value_name ? row->value_name : "");
    snprintf(text, sizeof text, *notes ? "%s [%s]" : "%s%s", row->help, notes);
    entry(file, name, OPTION_COLUMN, text);
}

static void print_options(FILE *file, const command *command) {
    unsigned count = 0;
    for (unsigned i = 0; i < pl_settings_count(); i++)
        count += (pl_setting_at(i)->commands & command->options) != 0;
    const char *heading = count < MANY_OPTIONS ? NULL : "", *printed = NULL;
    fputs(heading ? "" : "\nOptions:\n", file);
    for (unsigned i = 0; i < pl_settings_count(); i++) {
        if (heading && pl_setting_at(i)->heading)
            heading = pl_setting_at(i)->heading;
        if (!(pl_setting_at(i)->commands & command->options))
            continue;
        if (heading != printed)
            fprintf(file, "\n%s:\n", heading);
        printed = heading;
        print_option(file, command, pl_setting_at(i));
    }
    entry(file, "--help", OPTION_COLUMN, "print this help");
}

static void print_commands(FILE *file) {
    for (unsigned i = 0; i < commands_count; i++) {
        char usage[64];
        snprintf(usage, sizeof usage, "%s %s", commands[i].name, commands[i].operands);
        if (!commands[i].hidden)
            entry(file, usage, COMMAND_COLUMN, commands[i].summary);
    }
}

static void print_kinds(FILE *file, const command *command) {
    if (command->run == generate_command.run) {
        fputs("\nKinds:\n", file);
        for (unsigned i = 0; i < pl_generators_count; i++)
            entry(file, pl_generators[i].name, OPTION_COLUMN, pl_generators[i].help);
    }
    if (command->run == list_command.run) {
        fputs("\nKinds:", file);
        for (unsigned i = 0; pl_list_kinds[i]; i++)
            fprintf(file, " %s", pl_list_kinds[i]);
        fputs(" settings\n", file);
    }
}

void help_print_short(FILE *file) {
    fputs("Usage: parley COMMAND ...\n\nCommands:\n", file);
    print_commands(file);
    fputs("\nTo begin: parley train DATA. More help: parley --help, parley COMMAND --help.\n", file);
}

void help_print(FILE *file) {
    fputs("Parley trains linear models, fast, and certifies how far from the optimum they are.\n\n"
          "Usage: parley COMMAND ...\n       parley --help | --version\n\nCommands:\n",
          file);
    print_commands(file);
    fputs("\nExamples:\n"
          "  parley train data.svm\n"
          "  parley train data.svm.zst --preset cocoa+ --gap 1e-6 --model m.safetensors\n"
          "  parley predict m.safetensors new.svm\n"
          "  parley eval m.safetensors test.svm --json\n\n",
          file);
    wrap(file,
         "Exit codes: 0 success, 1 failure, 2 bad usage, 3 stopped before the target (model written), 4 a rank was "
         "lost, 130 interrupted (model written). `parley COMMAND --help` lists a command's options.",
         0, 0);
}

void help_print_command(FILE *file, const command *command) {
    bool takes_options = command->options != NO_OPTIONS;
    bool options_first =
        (command->options & PL_FOR_LAUNCH) && takes_options; /* those after its operands are not its own */
    fprintf(file, "Usage: parley %s %s%s%s\n\n", command->name, options_first ? "[options] " : "", command->operands,
            takes_options && !options_first ? " [options]" : "");
    wrap(file, command->details, 0, 0);
    print_kinds(file, command);
    if (takes_options)
        print_options(file, command);
}

static int help_run(const arguments *arguments) {
    if (arguments->count == 0) {
        help_print(stdout);
        return EXIT_DONE;
    }
    const command *command = command_find(arguments->operands[0]);
    if (!command)
        return command_unknown(arguments->operands[0]);
    help_print_command(stdout, command);
    return EXIT_DONE;
}

const command help_command = {
    .name = "help",
    .operands = "[COMMAND]",
    .least = 0,
    .most = 1,
    .options = NO_OPTIONS,
    .summary = "explain parley or one command",
    .details = "Prints what `parley --help` or `parley COMMAND --help` prints.",
    .run = help_run,
};
