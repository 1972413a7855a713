/* print.c: prints messages, aligned lines and JSON. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_memory.h"
#include "cli.h"
#include "engine/launched.h"

int fail_code(const parley_error *error) {
    switch (error->status) {
    case PARLEY_BAD_USAGE: return EXIT_USAGE;
    case PARLEY_NO_PEER: return EXIT_LOST;
    case PARLEY_STOPPED: return EXIT_INTERRUPTED;
    default: return EXIT_FAILED;
    }
}

int fail(const command *command, const parley_error *error) {
    return pl_launched_rank() > 0 ? fail_code(error) : fail_aloud(command, error);
}

int fail_aloud(const command *command, const parley_error *error) {
    fflush(stdout);
    fputs("parley: ", stderr);
    print_text(stderr, error->sentence);
    if (error->status == PARLEY_BAD_USAGE)
        fprintf(stderr, " (see parley %s%s--help)", command ? command->name : "", command ? " " : "");
    fputc('\n', stderr);
    return fail_code(error);
}

parley_status fail_unknown(const char *what, const char *name, const char *const *names, unsigned count,
                           parley_error *error) {
    const char *near = pl_nearest(name, names, count);
    char all[256] = "";
    if (near)
        return pl_fail(error, PARLEY_BAD_USAGE, "there is no %s %s; did you mean %s?", what, name, near);
    for (unsigned i = 0; i < count; i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s",
                 i == 0          ? ""
                 : i + 1 < count ? ", "
                                 : " or ",
                 names[i]);
    return pl_fail(error, PARLEY_BAD_USAGE, "there is no %s %s; use %s", what, name, all);
}

void print_field(FILE *file, const char *name, const char *format, ...) {
    char value[8192];
    va_list values;
    va_start(values, format);
    vsnprintf(value, sizeof value, format, values);
    va_end(values);
    fprintf(file, "%-*s ", FIELD_WIDTH, name);
    print_text(file, value);
    fputc('\n', file);
}

void print_text(FILE *file, const char *text) {
    for (; *text; text++)
        fputc(iscntrl((unsigned char)*text) ? '?' : *text, file);
}

void print_suggestion(FILE *file, const parley_summary *summary) {
    if (summary->suggestion)
        print_field(file, "suggestion", summary->suggestion_tried ? "%s reaches the gap" : "try %s",
                    summary->suggestion);
}

const char *ending_text(const char *status) {
    static const char *const limits[][2] = {{"rounds", "stopped by --rounds"},
                                            {"seconds", "stopped by --seconds"},
                                            {"patience", "stopped by --patience"},
                                            {"passed", "stopped by --passes"},
                                            {"validated", "converged"}};
    for (unsigned i = 0; i < sizeof limits / sizeof *limits; i++)
        if (strcmp(limits[i][0], status) == 0)
            return limits[i][1];
    return *status ? status : "no end in the log: killed or still running,";
}

void print_count(uint64_t count, char *text, size_t size) {
    char digits[24];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, count), used = 0;
    for (size_t i = 0; i < length && used + 2 < size; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            text[used++] = ',';
        text[used++] = digits[i];
    }
    text[used] = '\0';
}

json_t *json_count(uint64_t count) { return json_integer((json_int_t)count); }

void json_put(json_t **object, const char *key, json_t *value) {
    if (json_object_set_new(*object, key, value) == 0)
        return;
    json_decref(*object);
    *object = NULL;
}

void json_append(json_t **list, json_t *value) {
    if (json_array_append_new(*list, value) == 0)
        return;
    json_decref(*list);
    *list = NULL;
}

void json_problem(json_t **object, const parley_summary *summary) {
    for (unsigned i = 0; i < summary->facts; i++) {
        const parley_fact *fact = &summary->fact[i];
        json_put(object, fact->name,
                 *fact->text   ? json_string(fact->text)
                 : fact->whole ? json_count((uint64_t)fact->number)
                               : pl_json_real(fact->number));
    }
    json_put(object, "rows", json_count(summary->rows));
    json_put(object, "columns", json_count(summary->columns));
    json_put(object, "nonzeros", json_count(summary->nonzeros));
}

void json_certificate(json_t **object, const parley_summary *summary) {
    json_put(object, "objective", pl_json_real(summary->objective));
    json_put(object, "dual", pl_json_real(summary->dual));
    json_put(object, "gap", pl_json_real(summary->gap));
    json_put(object, "relative_gap", pl_json_real(summary->relative_gap));
}

json_t *json_choices(const parley_summary *summary) {
    json_t *list = json_array();
    for (unsigned i = 0; i < summary->choices; i++) {
        json_t *object = json_object();
        json_put(&object, "decision", json_string(summary->choice[i].decision));
        json_put(&object, "choice", json_string(summary->choice[i].choice));
        json_put(&object, "reason", json_string(summary->choice[i].reason));
        json_append(&list, object);
    }
    return list;
}

json_t *json_suggestion(const parley_summary *summary) {
    json_t *object = json_object();
    json_put(&object, "change", json_string(summary->suggestion));
    json_put(&object, "tried", json_boolean(summary->suggestion_tried));
    return object;
}

json_t *json_seconds(const parley_summary *summary, double read, double total) {
    json_t *seconds = json_object();
    json_put(&seconds, "read", pl_json_real(read));
    json_put(&seconds, "setup", pl_json_real(summary->setup_seconds));
    json_put(&seconds, "compute", pl_json_real(summary->compute_seconds));
    json_put(&seconds, "exchange", pl_json_real(summary->exchange_seconds));
    json_put(&seconds, "wait", pl_json_real(summary->wait_seconds));
    json_put(&seconds, "evaluate", pl_json_real(summary->evaluate_seconds));
    json_put(&seconds, "total", pl_json_real(total));
    return seconds;
}

int json_print(const command *command, json_t *object) {
    char *text = object ? json_dumps(object, JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(object);
    if (!text || pl_json_lost()) {
        parley_error error;
        pl_json_free(text);
        pl_fail(&error, PARLEY_NO_MEMORY, "out of memory for the JSON result");
        return fail(command, &error);
    }
    puts(text);
    pl_json_free(text);
    return EXIT_DONE;
}
