/* lines.h: reads a log, one JSON object per line. */
#ifndef PL_LINES_H
#define PL_LINES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/status.h"

#define PL_LONGEST_LOG_LINE (64u << 20)     /* bytes: a round of some 150,000 workers and ranks */
#define PL_MOST_LINE_VALUES ((uint64_t)2e6) /* values in a line */

typedef struct pl_lines {
    FILE *file;
    const char *name; /* begins the sentences of failures */
    uint64_t number;  /* of the latest line */
    char *text;       /* the latest line */
    uint64_t bytes, room;
    char why[160]; /* why the latest line could not be used */
} pl_lines;

/* Returns the next line, or NULL at the end, after which `status` tells whether it failed. Blank lines are skipped, and
 * a last line that was cut short counts as the end. */
json_t *pl_lines_next(pl_lines *lines, parley_status *status, parley_error *error);
void pl_lines_close(pl_lines *lines);                          /* leaves the file open */
const char *pl_line_text(const json_t *line, const char *key); /* "" if there is none */
double pl_line_number(const json_t *line, const char *key);    /* NaN if there is none */

#endif
