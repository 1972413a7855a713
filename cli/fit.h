/* fit.h: what the commands that train share. */
#ifndef PARLEY_FIT_H
#define PARLEY_FIT_H

#include "base/lock.h"
#include "cli.h"

/* A command that trains, in parts; each gets `run`. */
typedef struct fit {
    const command *command;
    const parley_settings *settings;
    parley_status (*check)(const void *run, parley_error *error); /* everything to check before ranks start */
    pl_body work;                                                 /* the part of every rank */
    int (*report)(const void *run);                               /* rank 0 prints; returns the exit code */
    int (*code)(const void *run);                                 /* the same code, without printing */
    void *run;
} fit;

/* Checks, runs on the engine that the settings name, reports on the speaker, and returns the exit code. */
int fit_run(const fit *fit);

/* Checks that the output files can be written, and that they are not among the input files. */
parley_status fit_check(const parley_settings *settings, const operands *data, parley_error *error);
/* keep.c: writes a result to a file. */
typedef parley_status (*saver)(const void *result, const char *path, parley_error *error);
/* Saves a model. If that fails, tries to keep it in another folder. The message then names that file. */
parley_status save_or_keep(saver save, const void *result, const char *path, parley_error *error);
parley_status save_model(const void *model, const char *path, parley_error *error); /* a saver */
/* Saves on the first rank. The others wait for it, and fail if it fails. */
parley_status fit_save(pl_engine *engine, saver save, const void *result, const char *path, parley_error *error);
/* Begins to train: from now on signals ask the run to stop after the current round, and no other run may write the
 * model until the lock is freed. */
parley_status fit_begin(const parley_settings *settings, bool writes, pl_lock **lock, parley_error *error);
bool fit_interrupted(void);
/* Makes the object that --json prints. */
json_t *json_summary(const parley_summary *summary, const parley_settings *settings, double read, double total);
/* linear_stream_command.c: `parley train` with a preset that learns a stream. */
int stream_run(const arguments *arguments);
/* A callback for runs of many fits, with a progress_view or NULL. It shows messages, and stops after a signal. */
int fit_tell(void *view, const parley_progress *progress, const char *message);

#endif
