/* lines.c: see lines.h. */
#include "trace/lines.h"

#include <ctype.h>
#include <math.h>

#include "base/json_memory.h"

json_t *pl_next_line(FILE *file, const char *name, parley_status *status, parley_error *error) {
    json_error_t fault;
    int c;
    while ((c = fgetc(file)) != EOF && isspace(c))
        continue;
    if (c == EOF)
        return NULL;
    ungetc(c, file);
    pl_json_watch();
    json_t *line = json_loadf(file, JSON_DISABLE_EOF_CHECK, &fault);
    if (pl_json_lost()) {
        json_decref(line);
        line = NULL;
        *status = pl_fail_memory(error, name, 0);
    } else if (!line && !feof(file))
        *status = pl_fail(error, PARLEY_BAD_INPUT, "%s: not a Parley log: %s", name, fault.text);
    return line;
}

const char *pl_line_text(const json_t *line, const char *key) {
    const char *text = json_string_value(json_object_get(line, key));
    return text ? text : "";
}

double pl_line_number(const json_t *line, const char *key) {
    const json_t *value = json_object_get(line, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}
