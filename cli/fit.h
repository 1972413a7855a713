/* fit.h: what the commands that train share. */
#ifndef PARLEY_FIT_H
#define PARLEY_FIT_H

#include "cli.h"

/* A command that trains, in parts; each is given `run`. */
typedef struct fit {
    const command *command;
    const parley_settings *settings;
    parley_status (*check)(const void *run, parley_error *error); /* all that can be checked before ranks start */
    pl_body work;                                                 /* every rank's part */
    int (*report)(const void *run);                               /* rank 0 prints; returns the exit code */
    int (*code)(const void *run);                                 /* the same code, without printing */
    void *run;
} fit;

/* Checks, works on the engine that the settings name, reports on the rank that speaks, and returns the exit code. */
int fit_run(const fit *fit);

/* Can the files that are to be written be written, and are they others than those that are read? */
parley_status fit_check(const parley_settings *settings, const operands *data, parley_error *error);
/* What the first rank writes; the others wait for it, and fail if it fails. */
parley_status fit_save(pl_engine *engine, parley_status (*save)(const void *run, parley_error *error), const void *run,
                       parley_error *error);
void fit_catch_signals(void); /* from here on signals ask the run to stop at its round */
bool fit_interrupted(void);
/* What --json prints of a run. */
json_t *json_summary(const parley_summary *summary, const parley_settings *settings, double read, double started);
/* linear_stream_command.c: `parley train` with a preset that learns rows as they pass. */
int stream_run(const arguments *arguments);
/* A callback for runs of many fits, with a progress_view or NULL: shows messages, and stops when a signal came. */
int fit_tell(void *view, const parley_progress *progress, const char *message);

#endif
