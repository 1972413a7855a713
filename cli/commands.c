/* commands.c: the list of commands: one for each problem, which trains it, then those that apply to all. */
#include <limits.h>
#include <string.h>

#include "cli.h"
#include "model/problem.h"

static const command fixed[] = {
    {"path", "DATA...", 1, UINT_MAX, PL_FOR_TRAIN | PL_FOR_LINEAR | PL_FOR_PATH,
     "train models for a decreasing sequence of lambdas",
     "Trains a model for each of many lambdas, downwards from the smallest at which all coefficients are 0. Each "
     "starts "
     "from the solution before it. Writes all models to one file. --gap is 1e-6 here unless it is given. Prints a line "
     "for each model: lambda, number of nonzero coefficients, objective, gap, share of the deviance explained, rounds, "
     "and the metric if there are validation rows.",
     .run = path_run},
    {"cv", "DATA...", 1, UINT_MAX, PL_FOR_TRAIN | PL_FOR_LINEAR | PL_FOR_CV,
     "choose lambda by cross-validation, then train",
     "For each fold, trains the path of `parley path` on all other rows and measures --metric on the fold. Then trains "
     "a model on all rows with the lambda that was chosen. Folds run in parallel, each on one thread with a copy of "
     "its "
     "rows. Prints the mean and standard error of the metric for each lambda.",
     .run = cv_run},
    {"launch", "-- COMMAND ...", 1, 1, PL_FOR_LAUNCH, "run a command on many processes or machines",
     "Starts the ranks of a run on this machine, or by ssh on the machines given with --hosts, and waits for them: "
     "parley "
     "launch -n 8 -- train DATA. This is like mpiexec -n 8 parley train DATA, but needs no MPI launcher. If a rank is "
     "lost, it restarts the run up to --restarts times, from the last checkpoint if the command has --checkpoint.",
     .run = launch_run},
    {"predict", "MODEL DATA", 2, 2, PL_FOR_PREDICT, "print one prediction per row",
     "Prints one prediction per row of DATA on standard output. DATA may be larger than memory; - is standard input.",
     .run = predict_run},
    {"eval", "MODEL DATA", 2, 2, PL_FOR_EVAL, "evaluate a model on labelled data",
     "Prints accuracy, AUC, log-loss (logistic) and hinge loss, or for real labels RMSE, R2, MAE and metrics of the "
     "loss (Poisson: deviance, D2). DATA may be larger than memory; - is standard input.",
     .run = eval_run},
    {"convert", "IN... OUT", 2, UINT_MAX, PL_FOR_CONVERT, "convert data to another format or to a cache",
     "Reads IN and writes OUT. The name of OUT selects the format: .svm, .libsvm, .txt or - (standard output) for "
     "LIBSVM text, .csv or .tsv for CSV, .vw for VW text (each may be followed by .gz or .zst), .parley or "
     ".safetensors for a cache, which loads at once.",
     .run = convert_run},
    {"generate", "KIND OUT", 2, 2, PL_FOR_GENERATE, "generate example data",
     "Generates data and writes them to OUT, as `parley convert` does. The same settings give the same data on every "
     "machine.",
     .run = generate_run},
    {"info", "FILE", 1, 1, PL_FOR_INFO, "describe data, a model or a checkpoint",
     "Prints shape, labels and size of data (text or cache), shape, certificate and settings of a model, or the run "
     "that "
     "a checkpoint belongs to, given its folder or one of its files.",
     .run = info_run},
    {"dump", "MODEL", 1, 1, PL_FOR_DUMP, "print the weights of a model, with names",
     "Prints the name, a tab and the weight of each column whose weight is not 0, largest first, after a line for the "
     "intercept. With several classes, prints one weight per class. A column without a name is given by its number, "
     "from 1.",
     .run = dump_run},
    {"report", "LOG", 1, 1, PL_FOR_REPORT, "show where the time of a run went",
     "Reads the log that --log wrote and splits the time of the run into computing by the slowest worker, evaluating, "
     "combining updates, and overhead, which is the rest: exchanging and waiting. Then it does the same for each "
     "worker "
     "and each process. --text prints tables, --json one object.",
     .run = report_run},
    {"list", "[KIND]", 0, 1, NO_OPTIONS, "list the losses, solvers, presets and settings",
     "Prints every member of a KIND with a one-line description, or those of all kinds if none is given.",
     .run = list_run},
    {"help", "[COMMAND]", 0, 1, NO_OPTIONS, "explain parley or one command",
     "Prints what `parley --help` or `parley COMMAND --help` prints.", .run = help_run},
    {"document", "FORM", 1, 1, NO_OPTIONS, "print documentation generated from the settings",
     "Prints the man page (man), the list of settings (settings) or completions for a shell (bash, zsh).",
     .hidden = true, .run = document_run},
};

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
                                               .options = PL_FOR_TRAIN | PL_FOR_ONE | type->commands,
                                               .summary = type->summary,
                                               .details = type->details,
                                               .problem = type->name,
                                               .run = train_run};
    }
    for (unsigned i = 0; i < FIXED; i++)
        commands[commands_count++] = fixed[i];
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
