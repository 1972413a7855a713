/* lines.h: reads a log, one JSON object per line. */
#ifndef PL_LINES_H
#define PL_LINES_H

#include <jansson.h>
#include <stdio.h>

#include "base/status.h"

/* Returns the next line, or NULL at the end, after which `status` tells whether it failed. A last line that was cut
 * short counts as the end. `name` begins the error sentence. */
json_t *pl_next_line(FILE *file, const char *name, parley_status *status, parley_error *error);
const char *pl_line_text(const json_t *line, const char *key); /* "" if there is none */
double pl_line_number(const json_t *line, const char *key);    /* NaN if there is none */

#endif
