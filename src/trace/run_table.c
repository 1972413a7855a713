/* run_table.c: see run_table.h. Columns are opened when their first value comes, because most logs lack some. */
#include "trace/run_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

#define FIRST_ROOM 64
#define MOST_MEMBERS (1u << 20)

static const char *const ROUND_KEYS[] = {
    "round",        "seconds",   "epochs",       "sigma",       "gamma",      "objective", "dual", "gap",
    "relative_gap", "evaluated", "local_epochs", "local_steps", "validation", "estimate",  "sent", "received"};
static const char *const WORKER_KEYS[] = {"compute",   "exchange",          "wait",     "evaluate", "bytes_sent",
                                          "staleness", "largest_staleness", "finished", "clock"};
static const char *const RANK_KEYS[] = {"local",
                                        "cpu",
                                        "wait",
                                        "exchange",
                                        "evaluate",
                                        "master_cpu",
                                        "evaluate_cpu",
                                        "bytes_sent",
                                        "bytes_received",
                                        "cpu_seconds",
                                        "resident_bytes",
                                        "wire_bytes_sent",
                                        "wire_bytes_received"};
#define COUNT(list) (unsigned)(sizeof(list) / sizeof *(list))
enum { OBJECTIVE = 5, RELATIVE_GAP = 8, EVALUATED = 9, SENT = 14, RECEIVED = 15 };

void pl_run_table_open(pl_run_table *table, const char *name) {
    *table = (pl_run_table){.name = name,
                            .round = {ROUND_KEYS, COUNT(ROUND_KEYS), 0, NULL, 0},
                            .worker = {WORKER_KEYS, COUNT(WORKER_KEYS), 0, NULL, 0},
                            .rank = {RANK_KEYS, COUNT(RANK_KEYS), 0, NULL, 0}};
}

static void free_columns(pl_columns *columns) {
    for (unsigned i = 0; i < columns->allotted * columns->key_count; i++)
        pl_free(columns->value[i]);
    pl_free(columns->value);
}

void pl_run_table_close(pl_run_table *table) {
    free_columns(&table->round);
    free_columns(&table->worker);
    free_columns(&table->rank);
    for (unsigned i = 0; i < table->parts; i++) {
        json_decref(table->part[i].start);
        json_decref(table->part[i].stop);
        json_decref(table->part[i].model);
    }
    pl_free(table->part);
    pl_report_free(&table->sums);
    *table = (pl_run_table){0};
}

static void skip(pl_run_table *table, uint64_t line, const char *why) {
    if (table->skipped_count < PL_SKIPPED_SHOWN) {
        pl_skipped *skipped = &table->skipped[table->skipped_count];
        skipped->line = line;
        snprintf(skipped->why, sizeof skipped->why, "%.150s", why);
    }
    table->skipped_count++;
}

static parley_status allot_members(pl_columns *columns, unsigned members, parley_error *error) {
    if (members > columns->allotted) {
        uint64_t old = (uint64_t)columns->allotted * columns->key_count, now = (uint64_t)members * columns->key_count;
        double **value = pl_realloc(columns->value, now, sizeof *value);
        if (!value)
            return pl_fail_memory(error, "the columns of the log", now * sizeof *value);
        for (uint64_t i = old; i < now; i++)
            value[i] = NULL;
        columns->value = value;
        columns->allotted = members;
    }
    columns->members = members > columns->members ? members : columns->members;
    return PARLEY_OK;
}

static parley_status put(pl_run_table *table, pl_columns *columns, unsigned member, unsigned key, double value,
                         parley_error *error) {
    double **column = &columns->value[(uint64_t)member * columns->key_count + key];
    if (!*column && isnan(value))
        return PARLEY_OK;
    if (!*column) {
        *column = pl_alloc(table->room, sizeof **column);
        if (!*column)
            return pl_fail_memory(error, "the columns of the log", table->room * sizeof **column);
        for (uint64_t i = 0; i < table->room; i++)
            (*column)[i] = NAN;
    }
    (*column)[table->rounds] = value;
    return PARLEY_OK;
}

static parley_status widen(pl_columns *columns, uint64_t old, uint64_t room, parley_error *error) {
    for (uint64_t c = 0; c < (uint64_t)columns->allotted * columns->key_count; c++) {
        if (!columns->value[c])
            continue;
        double *value = pl_realloc(columns->value[c], room, sizeof *value);
        if (!value)
            return pl_fail_memory(error, "the columns of the log", room * sizeof *value);
        for (uint64_t i = old; i < room; i++)
            value[i] = NAN;
        columns->value[c] = value;
    }
    return PARLEY_OK;
}

static parley_status make_room(pl_run_table *table, parley_error *error) {
    uint64_t room = table->room ? 2 * table->room : FIRST_ROOM;
    if (table->rounds < table->room)
        return PARLEY_OK;
    parley_status status = widen(&table->round, table->room, room, error);
    if (status == PARLEY_OK)
        status = widen(&table->worker, table->room, room, error);
    if (status == PARLEY_OK)
        status = widen(&table->rank, table->room, room, error);
    if (status == PARLEY_OK)
        table->room = room;
    return status;
}

static parley_status add_members(pl_run_table *table, pl_columns *columns, const json_t *list, parley_error *error) {
    unsigned members = json_array_size(list) < MOST_MEMBERS ? (unsigned)json_array_size(list) : MOST_MEMBERS;
    parley_status status = allot_members(columns, members, error);
    for (unsigned m = 0; m < members && status == PARLEY_OK; m++)
        for (unsigned key = 0; key < columns->key_count && status == PARLEY_OK; key++)
            status = put(table, columns, m, key, pl_line_number(json_array_get(list, m), columns->keys[key]), error);
    return status;
}

/* A sum over workers; NaN if none has it. */
static double sum_of(const json_t *list, const char *key) {
    double sum = NAN;
    for (size_t i = 0; i < json_array_size(list); i++) {
        double value = pl_line_number(json_array_get(list, i), key);
        if (!isnan(value))
            sum = isnan(sum) ? value : sum + value;
    }
    return sum;
}

/* Version 0.1.0 repeated the latest values in rounds that were not evaluated. */
static double number_of(const json_t *line, unsigned key) {
    const json_t *evaluated = json_object_get(line, ROUND_KEYS[EVALUATED]);
    if (key == EVALUATED)
        return json_is_true(evaluated);
    return key >= OBJECTIVE && key <= RELATIVE_GAP && json_is_false(evaluated) ? NAN
                                                                               : pl_line_number(line, ROUND_KEYS[key]);
}

static parley_status add_round(pl_run_table *table, const json_t *line, parley_error *error) {
    const json_t *workers = json_object_get(line, "workers");
    parley_status status = make_room(table, error);
    if (status == PARLEY_OK)
        status = allot_members(&table->round, 1, error);
    for (unsigned key = 0; key < SENT && status == PARLEY_OK; key++)
        status = put(table, &table->round, 0, key, number_of(line, key), error);
    if (status == PARLEY_OK)
        status = put(table, &table->round, 0, SENT, sum_of(workers, "bytes_sent"), error);
    if (status == PARLEY_OK)
        status = put(table, &table->round, 0, RECEIVED, sum_of(workers, "bytes_received"), error);
    if (status == PARLEY_OK)
        status = add_members(table, &table->worker, workers, error);
    if (status == PARLEY_OK)
        status = add_members(table, &table->rank, json_object_get(line, "ranks"), error);
    if (status == PARLEY_OK)
        table->rounds++;
    return status;
}

static parley_status add_start(pl_run_table *table, json_t *line, parley_error *error) {
    if (table->parts == table->parts_room) {
        unsigned room = table->parts_room ? 2 * table->parts_room : 1;
        pl_run_part *part = pl_realloc(table->part, room, sizeof *part);
        if (!part)
            return pl_fail_memory(error, "the parts of the log", room * sizeof *part);
        table->part = part;
        table->parts_room = room;
    }
    table->part[table->parts++] = (pl_run_part){table->rounds, json_incref(line), NULL, NULL};
    return PARLEY_OK;
}

static void keep(json_t **place, json_t *line) {
    json_decref(*place);
    *place = json_incref(line);
}

static parley_status add_line(pl_run_table *table, json_t *line, uint64_t number, parley_error *error) {
    const char *event = pl_line_text(line, "event");
    parley_error why = {0};
    bool round = strcmp(event, "round") == 0, start = strcmp(event, "start") == 0, stop = strcmp(event, "stop") == 0;
    if (!start && table->parts == 0) {
        skip(table, number, "it comes before the start line");
        return PARLEY_OK;
    }
    if (round && isnan(pl_line_number(line, "seconds"))) {
        skip(table, number, "it is a round without seconds");
        return PARLEY_OK;
    }
    if ((round || start || stop) && pl_report_line(&table->sums, line, "the log", number, &why) != PARLEY_OK) {
        if (why.status == PARLEY_NO_MEMORY)
            return pl_fail(error, why.status, "%s", why.sentence);
        skip(table, number, why.sentence);
        return PARLEY_OK;
    }
    if (stop)
        keep(&table->part[table->parts - 1].stop, line);
    if (strcmp(event, "model") == 0)
        keep(&table->part[table->parts - 1].model, line);
    return start ? add_start(table, line, error) : round ? add_round(table, line, error) : PARLEY_OK;
}

/* At the end of the file: the beginning of a line that is being written is read again by the next call. */
static parley_status step_back(pl_lines *lines, parley_error *error) {
    clearerr(lines->file);
    lines->number--;
    if (lines->bytes > 0 && fseek(lines->file, -(long)lines->bytes, SEEK_CUR) != 0)
        return pl_fail_file(error, lines->name, "read");
    return PARLEY_OK;
}

parley_status pl_run_table_read(pl_run_table *table, pl_lines *lines, parley_error *error) {
    for (;;) {
        parley_error why = {0};
        parley_status status;
        json_t *line = pl_lines_next(lines, &status, &why);
        if (line) {
            status = add_line(table, line, lines->number, error);
            json_decref(line);
            if (status != PARLEY_OK)
                return status;
        } else if (status == PARLEY_OK)
            return step_back(lines, error);
        else if (status == PARLEY_BAD_INPUT && lines->bytes > 0 && lines->text[lines->bytes - 1] == '\n')
            skip(table, lines->number, lines->why);
        else
            return pl_fail(error, status, "%s", why.sentence);
    }
}

parley_status pl_run_table_finish(pl_run_table *table, parley_error *error) {
    if (table->parts == 0)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: not a Parley log: it has no start line", table->name);
    table->report = table->sums;
    pl_report_finish(&table->report);
    return PARLEY_OK;
}

parley_status pl_run_table_load(pl_run_table *table, const char *path, parley_error *error) {
    pl_lines lines = {.file = fopen(path, "r"), .name = path};
    pl_run_table_open(table, path);
    if (!lines.file)
        return pl_fail_file(error, path, "open the log");
    parley_status status = pl_run_table_read(table, &lines, error);
    fclose(lines.file);
    pl_lines_close(&lines);
    return status == PARLEY_OK ? pl_run_table_finish(table, error) : status;
}

double pl_run_table_member(const pl_columns *columns, unsigned member, const char *key, uint64_t round) {
    for (unsigned i = 0; i < columns->key_count && member < columns->members; i++)
        if (strcmp(columns->keys[i], key) == 0) {
            const double *value = columns->value[(uint64_t)member * columns->key_count + i];
            return value ? value[round] : NAN;
        }
    return NAN;
}

double pl_run_table_round(const pl_run_table *table, const char *key, uint64_t round) {
    return pl_run_table_member(&table->round, 0, key, round);
}

double pl_run_table_latest(const pl_run_table *table, const char *key) {
    double value = NAN;
    for (uint64_t round = table->rounds; round > 0 && isnan(value); round--)
        value = pl_run_table_round(table, key, round - 1);
    return value;
}

const json_t *pl_run_table_start(const pl_run_table *table) {
    return table->parts ? table->part[table->parts - 1].start : NULL;
}

const json_t *pl_run_table_stop(const pl_run_table *table) {
    return table->parts ? table->part[table->parts - 1].stop : NULL;
}
