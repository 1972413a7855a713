/* lines.h: reading a log, one JSON object after another. */
#ifndef PL_LINES_H
#define PL_LINES_H

#include <jansson.h>
#include <stdio.h>

#include "base/status.h"

/* The next line: NULL at the end, where the last line was cut short, or where `status` says that it is not a log;
 * `name` begins that sentence. */
json_t *pl_next_line(FILE *file, const char *name, parley_status *status, parley_error *error);
const char *pl_line_text(const json_t *line, const char *key); /* "": there is none */
double pl_line_number(const json_t *line, const char *key);    /* NaN: there is none */

#endif
