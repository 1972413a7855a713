/* cached_plan.h: lets `auto` follow a plan that was made for the same data and settings on this machine. */
#ifndef PL_CACHED_PLAN_H
#define PL_CACHED_PLAN_H

#include "advise/trial_file.h"

#define PL_MACHINE 192

/* If the file of experiments beside the data has a choice for this problem, machine and target, sets it and writes what
 * was chosen to `said`; otherwise `said` is empty. Looks at nothing but the file's existence where there is none, and
 * where the user chose anything that a plan chooses. */
parley_status pl_follow_cached_plan(const parley_data *data, const char *path, const char *machine,
                                    parley_settings *settings, char *said, size_t size, parley_error *error);
/* Describes this machine, as the experiments do. Threads of an engine may be pinned and see fewer cores, so it is to be
 * called before one is opened. */
void pl_this_machine(const parley_settings *settings, char *text, size_t size);

#endif
