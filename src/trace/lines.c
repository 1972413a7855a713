/* lines.c: see lines.h. */
#include "trace/lines.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/bounded_json.h"
#include "base/memory.h"

#define FIRST_ROOM 4096

static parley_status make_room(pl_lines *lines, parley_error *error) {
    uint64_t room = lines->room ? 2 * lines->room : FIRST_ROOM;
    if (lines->room >= PL_LONGEST_LOG_LINE)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: not a Parley log: line %llu is longer than %u bytes", lines->name,
                       (unsigned long long)lines->number, PL_LONGEST_LOG_LINE);
    char *text = pl_realloc(lines->text, room, 1);
    if (!text)
        return pl_fail_memory(error, "a line of the log", room);
    lines->text = text;
    lines->room = room;
    return PARLEY_OK;
}

/* Reads up to the next newline, which is part of the line. */
static parley_status read_line(pl_lines *lines, parley_error *error) {
    parley_status status = PARLEY_OK;
    lines->bytes = 0;
    lines->number++;
    for (int c = 0; c != '\n' && (c = getc(lines->file)) != EOF;) {
        if (lines->bytes == lines->room && (status = make_room(lines, error)) != PARLEY_OK)
            return status;
        lines->text[lines->bytes++] = (char)c;
    }
    return ferror(lines->file) ? pl_fail_file(error, lines->name, "read") : status;
}

static bool is_blank(const pl_lines *lines) {
    for (uint64_t i = 0; i < lines->bytes; i++)
        if (!isspace((unsigned char)lines->text[i]))
            return false;
    return true;
}

json_t *pl_lines_next(pl_lines *lines, parley_status *status, parley_error *error) {
    json_t *line = NULL;
    parley_error why = {0};
    do
        *status = read_line(lines, error);
    while (*status == PARLEY_OK && lines->bytes > 0 && is_blank(lines));
    if (*status != PARLEY_OK || lines->bytes == 0)
        return NULL;
    bool whole = lines->text[lines->bytes - 1] == '\n';
    parley_status parsed = pl_json_parse(lines->text, lines->bytes, PL_MOST_LINE_VALUES, 0, &line, &why);
    if (parsed == PARLEY_OK && json_is_object(line))
        return line;
    if (parsed == PARLEY_NO_MEMORY)
        *status = pl_fail(error, parsed, "%s", why.sentence);
    else if (whole || line) {
        snprintf(lines->why, sizeof lines->why, "%.150s", line ? "it is not a JSON object" : why.sentence);
        *status =
            lines->number == 1
                ? pl_fail(error, PARLEY_BAD_INPUT,
                          "%s: not a Parley log: its first line is not a JSON object; give a file that --log wrote",
                          lines->name)
                : pl_fail(error, PARLEY_BAD_INPUT, "%s: line %llu of the log is damaged: %s", lines->name,
                          (unsigned long long)lines->number, lines->why);
    }
    json_decref(line);
    return NULL;
}

void pl_lines_close(pl_lines *lines) {
    pl_free(lines->text);
    *lines = (pl_lines){0};
}

const char *pl_line_text(const json_t *line, const char *key) {
    const char *text = json_string_value(json_object_get(line, key));
    return text ? text : "";
}

double pl_line_number(const json_t *line, const char *key) {
    const json_t *value = json_object_get(line, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}
