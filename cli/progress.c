/* progress.c: rewrites one line on a terminal, with a bar and a small curve of the gap; elsewhere prints lines at
 * rounds 1, 2, 5, 10, 20, 50 and so on, and after a while without a line. The time left is estimated from the gap,
 * whose logarithm decreases about linearly in time. Reading and writing have the bar and the time left only. */
#define _POSIX_C_SOURCE 200809L /* isatty */
#include "progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli.h"

#define TERMINAL_SECONDS 0.1 /* between two updates of the line */
#define PLAIN_SECONDS 10.0   /* at most without a line */
#define PART_SECONDS 0.5     /* of reading or writing before they are shown */
#define BAR 12               /* cells of the bar, and of the curve of the gap */
#define LINE 79              /* columns that are used */

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

/* How much of the work is done, from 0 to 1: by the gap, whose logarithm falls about linearly, or by the nearest limit.
 */
static double share_done(const progress_view *view) {
    const parley_progress *last = &view->last;
    double gap = log(isnan(last->estimate) ? last->relative_gap : last->estimate), share = 0;
    if (last->target > 0 && last->target < 1 && isfinite(gap))
        share = gap / log(last->target);
    share = fmax(share, (double)last->round / (double)view->most_rounds);
    share = fmin(1, fmax(share, last->seconds / view->most_seconds)); /* limits may be infinite */
    share = isnan(share) ? 0 : fmax(0, share);
    return last->parts > 1 ? ((double)last->part - 1 + share) / (double)last->parts : share;
}

static void draw_bar(double share, char *bar, size_t size) {
    int full = (int)(share * BAR);
    snprintf(bar, size, "[%.*s%.*s] %3d %%  ", full, "############", BAR - full, "............", (int)(100 * share));
}

/* The latest gaps as blocks of different heights, the lowest gap lowest; empty if the terminal may not show them. */
static void draw_curve(const progress_view *view, char *curve) {
    static const char *const blocks[] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                         "\u2585", "\u2586", "\u2587", "\u2588"};
    double low = INFINITY, high = -INFINITY;
    unsigned first = view->points > BAR ? view->points - BAR : 0;
    *curve = 0;
    for (unsigned i = first; i < view->points; i++) {
        low = fmin(low, view->log_gap[i]);
        high = fmax(high, view->log_gap[i]);
    }
    for (unsigned i = first; view->unicode && view->last.parts < 2 && high > low && i < view->points; i++)
        strcat(curve, blocks[(unsigned)(7.999 * (view->log_gap[i] - low) / (high - low))]);
}

static void describe_left(double left, char *text, size_t size) {
    if (left < 100)
        snprintf(text, size, "  %.0f s left", left);
    else if (left < 6000)
        snprintf(text, size, "  %.0f min left", left / 60);
    else if (left >= 6000)
        snprintf(text, size, "  %.0f h left", left / 3600);
}

/* Short, for one line beside the bar. */
static void describe_short(const progress_view *view, char *text, size_t size) {
    const parley_progress *last = &view->last;
    double gap = isnan(last->estimate) ? last->relative_gap : last->estimate, left = seconds_left(view);
    bool path = last->parts > 1;
    int used = path ? snprintf(text, size, "%" PRIu64 " of %" PRIu64, last->part, last->parts)
                    : snprintf(text, size, "round %" PRIu64, last->round);
    if (!path && isfinite(gap) && last->target > 0)
        used += snprintf(text + used, size - (size_t)used, "  gap %s%.1e", isnan(last->estimate) ? "" : "about ", gap);
    else if (!path)
        used += snprintf(text + used, size - (size_t)used, "  objective %.6g", last->objective);
    if (last->metric && !isnan(last->validation))
        used += snprintf(text + used, size - (size_t)used, "  %s %.5g", last->metric, last->validation);
    if (path && share_done(view) > 0)
        left = last->seconds * (1 / share_done(view) - 1);
    describe_left(left, text + used, size - (size_t)used);
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
    snprintf(text + used, size - (size_t)used, "  %.2f s", last->seconds);
}

static void show(progress_view *view) {
    char text[160], bar[64], curve[4 * BAR + 1];
    (view->terminal ? describe_short : describe)(view, text, sizeof text);
    draw_bar(share_done(view), bar, sizeof bar);
    draw_curve(view, curve);
    if (view->terminal)
        fprintf(stderr, "\r\033[K%s%.*s  %s", bar, (int)(LINE - strlen(bar) - BAR - 2), text, curve);
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

/* Whether the terminal shows UTF-8, by the variables that say so, the first of which that is set decides. */
static bool is_unicode(void) {
    const char *names[] = {"LC_ALL", "LC_CTYPE", "LANG"}, *value = NULL;
    for (unsigned i = 0; i < 3 && (!value || !*value); i++)
        value = getenv(names[i]);
    return value && (strstr(value, "UTF-8") || strstr(value, "utf8") || strstr(value, "UTF8"));
}

static bool is_terminal(void) {
    const char *told = getenv(PROGRESS_TERMINAL);
    return isatty(STDERR_FILENO) || (told && *told);
}

/* Seconds before reading or writing is shown: none if the environment says "now". */
static double part_delay(void) {
    const char *told = getenv(PROGRESS_TERMINAL);
    return told && strcmp(told, "now") == 0 ? 0.0 : PART_SECONDS;
}

void progress_open(progress_view *view, const parley_settings *settings) {
    *view = (progress_view){.quiet = settings->quiet,
                            .terminal = is_terminal(),
                            .unicode = is_unicode(),
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

void progress_clear(progress_view *view) {
    if (view->line_open)
        fputs("\r\033[K", stderr);
    view->line_open = false;
}

static void see_part(void *user, uint64_t done, uint64_t all) {
    progress_view *view = user;
    double share = all > 0 ? fmin(1.0, (double)done / (double)all) : 0, seconds = pl_now() - view->began;
    char text[160], bar[64];
    bool early = seconds < (view->line_open ? view->shown_at + TERMINAL_SECONDS : part_delay());
    if (view->quiet || !view->terminal || share <= 0 || early)
        return;
    draw_bar(share, bar, sizeof bar);
    int used = snprintf(text, sizeof text, "%.40s", view->part);
    describe_left(seconds * (1 / share - 1), text + used, sizeof text - (size_t)used);
    fprintf(stderr, "\r\033[K%s%s", bar, text);
    view->line_open = true;
    view->shown_at = seconds;
}

void tell_below_progress(void *view, const char *sentence) {
    progress_clear(view);
    tell_error_output(NULL, sentence);
}

pl_watching progress_part(progress_view *view, const char *part) {
    progress_clear(view);
    view->part = part;
    view->began = pl_now();
    view->shown_at = 0;
    return (pl_watching){see_part, view};
}
