/* progress.h: shows the progress of a training run on standard error. */
#ifndef PARLEY_PROGRESS_H
#define PARLEY_PROGRESS_H

#include "base/settings.h"

#define PROGRESS_POINTS 16

typedef struct progress_view {
    bool quiet, terminal, unicode, line_open; /* line_open: the terminal shows a line that can be rewritten */
    uint64_t most_rounds, next_round, shown_round;
    double most_seconds, shown_at;
    parley_progress last;
    /* the latest evaluations, to estimate the time left */
    double seconds[PROGRESS_POINTS], log_gap[PROGRESS_POINTS];
    unsigned points;
} progress_view;

void progress_open(progress_view *view, const parley_settings *settings);
void progress_message(progress_view *view, const char *message);
void progress_round(progress_view *view, const parley_progress *progress);
void progress_close(progress_view *view); /* shows the last round if it was not shown yet */
void progress_clear(progress_view *view); /* instead: removes the line from the terminal */

#endif
