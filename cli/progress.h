/* progress.h: shows the progress of a run, or of reading and writing, on standard error. */
#ifndef PARLEY_PROGRESS_H
#define PARLEY_PROGRESS_H

#include "base/settings.h"
#include "data/data.h"

#define PROGRESS_POINTS 16
/* A variable by which `parley launch` tells ranks on other machines that their standard error ends at a terminal. With
 * the value "now", reading and writing are shown at once. */
#define PROGRESS_TERMINAL "PARLEY_TERMINAL"

typedef struct progress_view {
    bool quiet, terminal, unicode, line_open; /* line_open: the terminal shows a line that can be rewritten */
    uint64_t most_rounds, next_round, shown_round;
    double most_seconds, shown_at;
    parley_progress last;
    /* the latest evaluations, to estimate the time left */
    double seconds[PROGRESS_POINTS], log_gap[PROGRESS_POINTS];
    unsigned points;
    /* reading or writing */
    const char *part;
    double began;
} progress_view;

void progress_open(progress_view *view, const parley_settings *settings);
void progress_message(progress_view *view, const char *message);
void progress_round(progress_view *view, const parley_progress *progress);
void progress_close(progress_view *view); /* shows the last round if it was not shown yet */
void progress_clear(progress_view *view); /* instead: removes the line from the terminal */
/* A pl_tell whose user is a view: removes the line and prints the sentence. */
void tell_below_progress(void *view, const char *sentence);
/* Begins a part of the work, such as "reading", whose progress is that of bytes or rows. */
pl_watching progress_part(progress_view *view, const char *part);

#endif
