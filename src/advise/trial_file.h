/* trial_file.h: experiments kept beside the data, as JSON, so that the next plan starts from them.
 *
 * {"format": "parley-experiments", "problems": {KEY: {"trials": [...], "choice": {...}}}} */
#ifndef PL_TRIAL_FILE_H
#define PL_TRIAL_FILE_H

#include <jansson.h>

#include "advise/trial.h"

#define PL_PROBLEM_KEY 40

/* The key of a problem: the data's fingerprint, and a hash of all settings that decide the course of a run, except
 * those that a plan chooses. `engine` has the ranks that hold the rows; NULL: they are all here. */
parley_status pl_problem_key(pl_engine *engine, const parley_data *data, const parley_settings *settings,
                             char key[PL_PROBLEM_KEY], parley_error *error);
/* The file beside the data; "" if the data come from standard input. */
void pl_trials_path(const char *data, char *path, size_t size);
/* Adds the experiments of the file. No file, and one that cannot be read, has none. */
parley_status pl_trials_load(pl_trials *trials, const char *path, const char *key, parley_error *error);
/* Replaces the experiments of the problem in the file. */
parley_status pl_trials_save(const pl_trials *trials, const char *path, const char *key, parley_error *error);
/* Keeps what was chosen for the problem, and returns it (a new reference), or NULL if there is none. */
parley_status pl_choice_save(const char *path, const char *key, json_t *choice, parley_error *error);
json_t *pl_choice_load(const char *path, const char *key);

#endif
