/* progress.c: rewrites one line on a terminal; elsewhere prints lines at rounds 1, 2, 5, 10, 20, 50 and so on, and
 * after a while without a line. The time left is estimated from the gap, whose logarithm decreases about linearly in
 * time. */
#define _POSIX_C_SOURCE 200809L /* isatty */
#include "progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TERMINAL_SECONDS 0.1 /* between two updates of the line */
#define PLAIN_SECONDS 10.0   /* at most without a line */

static void note_gap(progress_view *view, const parley_progress *progress) {
    double gap = log(isnan(progress->estimate) ? progress->relative_gap : progress->estimate);
    unsigned points = view->points;
    if (!isfinite(gap) || (points > 0 && view->log_gap[points - 1] == gap))
        return;
    if (points == PROGRESS_POINTS) {
        memmove(view->seconds, view->seconds + 1, (points - 1) * sizeof *view->seconds);
        memmove(view->log_gap, view->log_gap + 1, (points - 1) * sizeof *view->log_gap);
        points--;
    }
    view->seconds[points] = progress->seconds;
    view->log_gap[points] = gap;
    view->points = points + 1;
}

/* Estimates the seconds to the target by a least-squares line through the latest points. NaN if the gap does not
 * decrease. */
static double gap_seconds(const progress_view *view) {
    double time = 0, gap = 0, product = 0, square = 0;
    for (unsigned i = 0; i < view->points; i++) {
        time += view->seconds[i] / view->points;
        gap += view->log_gap[i] / view->points;
    }
    for (unsigned i = 0; i < view->points; i++) {
        product += (view->seconds[i] - time) * (view->log_gap[i] - gap);
        square += (view->seconds[i] - time) * (view->seconds[i] - time);
    }
    double slope = product / square;
    return view->points < 3 || !(slope < 0)
               ? NAN
               : fmax(0, (log(view->last.target) - view->log_gap[view->points - 1]) / slope);
}

/* NaN: unknown. */
static double seconds_left(const progress_view *view) {
    const parley_progress *last = &view->last;
    double left = last->target > 0 ? gap_seconds(view) : INFINITY;
    if (isnan(left) || last->round == 0)
        return NAN;
    left = fmin(left, ((double)view->most_rounds - (double)last->round) * (last->seconds / (double)last->round));
    left = fmin(left, view->most_seconds - last->seconds);
    return isfinite(left) ? fmax(0, left) : NAN;
}

static void describe(const progress_view *view, char *text, size_t size) {
    const parley_progress *last = &view->last;
    int used = snprintf(text, size, "round %" PRIu64, last->round);
    if (isnan(last->estimate))
        used += snprintf(text + used, size - (size_t)used, "  objective %.8g", last->objective);
    else
        used += snprintf(text + used, size - (size_t)used, "  relative gap about %.1e", last->estimate);
    if (isnan(last->estimate) && isfinite(last->gap))
        used += snprintf(text + used, size - (size_t)used, "  gap %.1e  relative %.1e", last->gap, last->relative_gap);
    if (last->metric && !isnan(last->validation))
        used += snprintf(text + used, size - (size_t)used, "  %s %.5g", last->metric, last->validation);
    double left = view->terminal ? seconds_left(view) : NAN;
    if (!view->terminal)
        snprintf(text + used, size - (size_t)used, "  %.2f s", last->seconds);
    else if (left < 100)
        snprintf(text + used, size - (size_t)used, "  %.0f s left", left);
    else if (left < 6000)
        snprintf(text + used, size - (size_t)used, "  %.0f min left", left / 60);
    else if (left >= 6000)
        snprintf(text + used, size - (size_t)used, "  %.0f h left", left / 3600);
}

static void show(progress_view *view) {
    char text[128];
    describe(view, text, sizeof text);
    if (view->terminal)
        fprintf(stderr, "\r\033[K%.79s", text);
    else
        fprintf(stderr, "%s\n", text);
    view->line_open = view->terminal;
    view->shown_round = view->last.round;
    view->shown_at = view->last.seconds;
}

/* The first of 1, 2, 5, 10, 20, 50, ... above `round`. */
static uint64_t next_shown(uint64_t round) {
    for (uint64_t power = 1; power < UINT64_MAX / 100; power *= 10)
        for (unsigned i = 0; i < 3; i++)
            if (power * (const unsigned[]){1, 2, 5}[i] > round)
                return power * (const unsigned[]){1, 2, 5}[i];
    return UINT64_MAX;
}

static void end_line(progress_view *view) {
    if (view->line_open)
        fputc('\n', stderr);
    view->line_open = false;
}

void progress_open(progress_view *view, const parley_settings *settings) {
    *view = (progress_view){.quiet = settings->quiet,
                            .terminal = isatty(STDERR_FILENO) != 0,
                            .most_rounds = settings->rounds,
                            .most_seconds = settings->seconds,
                            .next_round = 1};
}

void progress_message(progress_view *view, const char *message) {
    if (view->quiet)
        return;
    end_line(view);
    fprintf(stderr, "%s\n", message);
}

void progress_round(progress_view *view, const parley_progress *progress) {
    view->last = *progress;
    note_gap(view, progress);
    if (view->quiet || progress->round == 0)
        return;
    bool due = view->terminal
                   ? progress->seconds >= view->shown_at + TERMINAL_SECONDS
                   : progress->round >= view->next_round || progress->seconds >= view->shown_at + PLAIN_SECONDS;
    if (!due)
        return;
    show(view);
    view->next_round = next_shown(progress->round);
}

void progress_close(progress_view *view) {
    if (!view->quiet && view->last.round != view->shown_round)
        show(view);
    end_line(view);
}
