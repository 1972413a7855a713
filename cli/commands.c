/* commands.c: the list of commands: one for each problem, which trains it, then those that apply to all. */
#include <limits.h>
#include <string.h>

#include "cli.h"
#include "method/problem.h"

static const command *const fixed[] = {&path_command,     &cv_command,   &plan_command,    &launch_command,
                                       &predict_command,  &eval_command, &convert_command, &split_command,
                                       &generate_command, &info_command, &dump_command,    &report_command,
                                       &probe_command,    &list_command, &help_command,    &document_command};

#define FIXED (sizeof fixed / sizeof *fixed)
#define MOST_PROBLEMS 8

command commands[MOST_PROBLEMS + FIXED];
unsigned commands_count;

void commands_open(void) {
    for (unsigned i = 0; i < pl_problems_count && i < MOST_PROBLEMS; i++) {
        const pl_problem_type *type = pl_problems[i];
        commands[commands_count++] = (command){.name = type->command,
                                               .operands = "DATA...",
                                               .least = 1,
                                               .most = UINT_MAX,
                                               .options = PL_FOR_TRAIN | PL_FOR_ONE | PL_FOR_COMMAND | type->commands,
                                               .summary = type->summary,
                                               .details = type->details,
                                               .problem = type->name,
                                               .run = train_run};
    }
    for (unsigned i = 0; i < FIXED; i++)
        commands[commands_count++] = *fixed[i];
}

const command *command_find(const char *name) {
    for (unsigned i = 0; i < commands_count; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

bool command_reads(const pl_setting *row) {
    for (unsigned i = 0; i < commands_count; i++)
        if (commands[i].options != NO_OPTIONS && (row->commands & commands[i].options))
            return true;
    return false;
}

int command_unknown(const char *name) {
    const char *words[MOST_PROBLEMS + FIXED], *near;
    parley_error error;
    for (unsigned i = 0; i < commands_count; i++)
        words[i] = commands[i].name;
    if (*name == '-')
        pl_fail(&error, PARLEY_BAD_USAGE, "there is no option %s before a command; options follow the command", name);
    else if ((near = pl_nearest(name, words, commands_count)))
        pl_fail(&error, PARLEY_BAD_USAGE, "there is no command %s; did you mean %s?", name, near);
    else
        pl_fail(&error, PARLEY_BAD_USAGE, "there is no command %s", name);
    return fail(NULL, &error);
}
