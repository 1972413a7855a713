/* main.c: the commands, and what is done before and after one. */
#define _POSIX_C_SOURCE 200809L /* signals */
#include <limits.h>
#include <signal.h>
#include <string.h>

#include "cli.h"
#include "engine/launched.h"

const command commands[] = {
    {"train", "DATA...", 1, UINT_MAX, PL_FOR_TRAIN | PL_FOR_ONE | PL_FOR_LINEAR | PL_FOR_LINEAR_ONE,
     "train a model and certify it",
     "Trains a linear model on DATA and writes it with a certificate: the duality gap bounds how far its objective is "
     "from the optimum. DATA is text of one of the formats that `parley list formats` names (plain, .gz or .zst; - is "
     "standard input) or a cache that `parley convert` wrote; several of one form, and patterns such as 'part-*.svm', "
     "are read one after the other. Ctrl-C stops at the round and writes the best model so far.",
     false, train_run},
    {"path", "DATA...", 1, UINT_MAX, PL_FOR_TRAIN | PL_FOR_LINEAR | PL_FOR_PATH,
     "train models for a falling row of lambdas",
     "Trains a model for each of many lambdas, from the least at which all coefficients are 0 downwards, each begun at "
     "the last one's solution, and writes them all to one file. --gap is 1e-6 here unless it is given. Prints a line "
     "for each: lambda, coefficients that are not 0, objective, gap, share of the deviance explained, rounds, and the "
     "metric where rows to validate on are given.",
     false, path_run},
    {"cv", "DATA...", 1, UINT_MAX, PL_FOR_TRAIN | PL_FOR_LINEAR | PL_FOR_CV,
     "choose lambda by cross-validation, then train",
     "Walks the path of `parley path` on all rows but a fold, for each fold in turn, and measures --metric on that "
     "fold; then trains a model on all rows with the lambda that is chosen. Folds run in parallel, each on one thread "
     "and a copy of its rows. Prints the metric's mean and standard error for each lambda.",
     false, cv_run},
    {"launch", "-- COMMAND ...", 1, 1, PL_FOR_LAUNCH, "run a command on many processes or machines",
     "Starts the ranks of a run, on this machine or on those that --hosts names, by ssh, and waits for them: parley "
     "launch -n 8 -- train DATA. The same as mpiexec -n 8 parley train DATA, but needs no MPI starter, and starts "
     "again "
     "up to --restarts times when a rank was lost, from the last checkpoint where the command has --checkpoint.",
     false, launch_run},
    {"predict", "MODEL DATA", 2, 2, PL_FOR_PREDICT, "print one prediction per row",
     "Prints one prediction per row of DATA on standard output. DATA may be larger than memory; - is standard input.",
     false, predict_run},
    {"eval", "MODEL DATA", 2, 2, PL_FOR_EVAL, "measure a model on labelled data",
     "Prints accuracy, AUC, log-loss (logistic) and hinge loss, or for real labels RMSE, R2, MAE and what the loss "
     "adds (Poisson: deviance, D2). DATA may be larger "
     "than "
     "memory; - is standard input.",
     false, eval_run},
    {"convert", "IN... OUT", 2, UINT_MAX, PL_FOR_CONVERT, "turn data of one format into another, or a cache",
     "Reads IN and writes OUT: LIBSVM text when its name ends in .svm, .libsvm or .txt or is - for standard output, "
     "CSV "
     "for .csv or .tsv, VW text for .vw (then perhaps .gz or .zst); a cache, which loads at once, when it ends in "
     ".parley "
     "or .safetensors.",
     false, convert_run},
    {"generate", "KIND OUT", 2, 2, PL_FOR_GENERATE, "make data to try things on",
     "Makes data and writes them to OUT, as `parley convert` does. The same settings make the same data everywhere.",
     false, generate_run},
    {"info", "FILE", 1, 1, PL_FOR_INFO, "say what is in data, a model or a checkpoint",
     "Prints shape, labels and size of data (text or cache), shape, certificate and settings of a model, or what a "
     "checkpoint is of, given its folder or one of its files.",
     false, info_run},
    {"dump", "MODEL", 1, 1, PL_FOR_DUMP, "print the weights of a model, with names",
     "Prints name, tab and weight for each column whose weight is not 0, the largest first, after a line for the "
     "intercept; one weight per class where there are several. A column without a name has its number, from 1.",
     false, dump_run},
    {"report", "LOG", 1, 1, PL_FOR_REPORT, "say where the time of a run went",
     "Reads the log that --log wrote and splits the run's time: the slowest worker's computing, evaluating, the "
     "master's adding up, and the overhead, which is all else: exchanging and waiting; then the same for each worker "
     "and each process. With --text as tables, with --json as one object.",
     false, report_run},
    {"list", "[KIND]", 0, 1, NO_OPTIONS, "name the losses, solvers, presets and settings there are",
     "Prints every member of a KIND with one line about it; of all kinds when none is given.", false, list_run},
    {"help", "[COMMAND]", 0, 1, NO_OPTIONS, "explain parley or one command",
     "Prints what `parley --help` or `parley COMMAND --help` prints.", false, help_run},
    {"document", "FORM", 1, 1, NO_OPTIONS, "print documentation made from the settings",
     "Prints the man page (man), the list of settings (settings) or completions for a shell (bash, zsh).", true,
     document_run},
};

const unsigned commands_count = sizeof commands / sizeof *commands;

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
    const char *words[sizeof commands / sizeof *commands], *near;
    parley_error error;
    for (unsigned i = 0; i < commands_count; i++)
        words[i] = commands[i].name;
    if (*name == '-')
        pl_fail(&error, PARLEY_BAD_USAGE, "there is no option %s before a command", name);
    else if ((near = pl_nearest(name, words, commands_count)))
        pl_fail(&error, PARLEY_BAD_USAGE, "there is no command %s; did you mean %s?", name, near);
    else
        pl_fail(&error, PARLEY_BAD_USAGE, "there is no command %s", name);
    return fail(NULL, &error);
}

static int run_command(const command *command, char **words, int count) {
    static arguments arguments;
    parley_error error;
    int code = EXIT_DONE;
    if (arguments_parse(&arguments, command, words, count, &error) != PARLEY_OK)
        code = fail(command, &error);
    else if (!arguments.help)
        code = command->run(&arguments);
    else
        help_print_command(stdout, command);
    arguments_close(&arguments);
    return code;
}

/* May it be given to many processes at once? */
static bool spreads(const command *command) { return command->run == train_run || command->run == path_run; }

static int dispatch(int count, char **words) {
    if (count < 2) {
        help_print_short(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(words[1], "--help") == 0 || strcmp(words[1], "-h") == 0) {
        help_print(stdout);
        return EXIT_DONE;
    }
    if (strcmp(words[1], "--version") == 0) {
        printf("parley %s\n", parley_version());
        return EXIT_DONE;
    }
    const command *command = command_find(words[1]);
    if (command && pl_launched_ranks() > 1 && command->options != NO_OPTIONS && !spreads(command)) {
        parley_error error;
        pl_fail(&error, PARLEY_BAD_USAGE, "%s runs in one process, and there are %d; start it by itself", command->name,
                pl_launched_ranks());
        return fail(NULL, &error);
    }
    return command ? run_command(command, words + 2, count - 2) : command_unknown(words[1]);
}

int main(int count, char **words) {
    signal(SIGPIPE, SIG_DFL); /* whoever started us may ignore it; a reader that goes away should end us quietly */
    int code = dispatch(count, words);
    if ((fflush(stdout) != 0 || ferror(stdout)) && code != EXIT_FAILED) {
        parley_error error;
        pl_fail_file(&error, "standard output", "write");
        return fail(NULL, &error);
    }
    return code;
}
