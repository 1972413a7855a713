/* main.c: the main program: finds the command and runs it. */
#define _XOPEN_SOURCE 700 /* SIGXFSZ */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/available_memory.h"
#include "base/json_memory.h"
#include "base/stop.h"
#include "cli.h"
#include "engine/launched.h"

static int run_command(const command *command, char **words, int count) {
    static arguments arguments;
    parley_error error;
    int code = EXIT_DONE;
    if (arguments_parse(&arguments, command, words, count, &error) != PARLEY_OK)
        code = fail(command, &error);
    else if (!arguments.help) {
        pl_memory_limit(arguments.settings.memory * 1000000);
        code = command->run(&arguments);
    } else
        help_print_command(stdout, command);
    arguments_close(&arguments);
    return code;
}

/* Can several processes run it together? */
static bool spreads(const command *command) {
    return command->run == train_run || command->run == path_command.run || command->run == cv_command.run ||
           command->run == probe_command.run || command->run == plan_command.run;
}

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
    bool launched = pl_launched_ranks() > 1 || pl_launched_from();
    if (command && launched && command->options != NO_OPTIONS && !spreads(command)) {
        parley_error error;
        pl_fail(&error, PARLEY_BAD_USAGE,
                "%s runs in one process, not in %d; start it without mpiexec or parley launch", command->name,
                pl_launched_ranks());
        if (pl_launched_ranks() == 1)
            pl_fail(&error, PARLEY_BAD_USAGE, "%s cannot be started on another machine by parley launch",
                    command->name);
        return fail(NULL, &error);
    }
    return command ? run_command(command, words + 2, count - 2) : command_unknown(words[1]);
}

/* A file that is opened must not take the number of a closed standard stream, or messages would go into the file.
 * Streams that were closed still fail: standard input cannot be read, nor the others written. */
static void open_standard_streams(void) {
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream)
            _exit(EXIT_FAILED);
}

#ifndef PL_MAIN /* a test calls it by another name */
#define PL_MAIN main
#endif

int PL_MAIN(int count, char **words);

int PL_MAIN(int count, char **words) {
    open_standard_streams();
    commands_open();
    signal(SIGXFSZ, SIG_IGN); /* a write beyond `ulimit -f` fails with a message instead of ending the process */
    pl_json_watch();
    pl_stop_enter();          /* a request to stop holds until the end */
    signal(SIGPIPE, SIG_DFL); /* the parent may ignore it; if a reader of our output goes away, end quietly */
    int code = dispatch(count, words);
    if ((fflush(stdout) != 0 || ferror(stdout)) && code != EXIT_FAILED) {
        parley_error error;
        pl_fail_file(&error, "standard output", "write");
        return fail(NULL, &error);
    }
    return code;
}
