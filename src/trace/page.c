/* page.c: see page.h. Everything from a log is written as JSON in which < is \u003c, so that no text of a log can end
 * the script element which holds it; the page shows it as text only. */
#include "trace/page.h"

#include <math.h>
#include <string.h>

#include "base/json_memory.h"
#include "base/json_values.h"
#include "base/memory.h"
#include "trace/packed.h"
#include "trace/verdict.h"

#define MOST_LOGS 64u

static const char MARK[] = "@@PARLEY_DATA@@"; /* where data go; report/page.html has it once */

parley_status pl_page_check(parley_error *error) {
    if (pl_page_bundle_bytes == 0)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--html: this program was built without its page; install Node.js and what the page is made of "
                       "with `make deps`, and build again");
    return PARLEY_OK;
}

static int write_safely(const char *text, size_t bytes, void *to) {
    FILE *file = to;
    for (size_t begin = 0; begin < bytes;) {
        const char *less = memchr(text + begin, '<', bytes - begin);
        size_t end = less ? (size_t)(less - text) : bytes;
        fwrite(text + begin, 1, end - begin, file);
        if (less)
            fputs("\\u003c", file);
        begin = end + (less ? 1 : 0);
    }
    return ferror(file) ? -1 : 0;
}

/* Writes and frees a value. */
static parley_status put_json(FILE *file, const char *key, json_t *value, parley_error *error) {
    bool complete = value && !pl_json_lost();
    fprintf(file, "\"%s\":", key);
    if (complete)
        json_dump_callback(value, write_safely, file, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    json_decref(value);
    if (complete && !pl_json_lost())
        return PARLEY_OK;
    pl_json_watch();
    return pl_fail_memory(error, "the page", 1024);
}

/* Names of files need not be UTF-8. */
static json_t *text_of(const char *text) {
    json_t *value = json_string(text);
    char plain[256];
    size_t i = 0;
    if (value)
        return value;
    for (; text[i] && i + 1 < sizeof plain; i++)
        plain[i] = (char)((unsigned char)text[i] < 128 ? text[i] : '?');
    plain[i] = 0;
    return json_string(plain);
}

static json_t *or_null(json_t *value) { return value ? json_incref(value) : json_null(); }

static json_t *parts_json(const pl_run_table *table) {
    json_t *list = json_array();
    for (unsigned i = 0; i < table->parts; i++) {
        const pl_run_part *part = &table->part[i];
        json_array_append_new(list, json_pack("{s:I, s:O, s:o, s:o}", "first", (json_int_t)part->first, "start",
                                              part->start, "stop", or_null(part->stop), "model", or_null(part->model)));
    }
    return list;
}

static json_t *skipped_json(const pl_run_table *table) {
    json_t *list = json_array();
    for (unsigned i = 0; i < table->skipped_count && i < PL_SKIPPED_SHOWN; i++)
        json_array_append_new(list, json_pack("{s:I, s:o}", "line", (json_int_t)table->skipped[i].line, "why",
                                              text_of(table->skipped[i].why)));
    return json_pack("{s:I, s:o}", "count", (json_int_t)table->skipped_count, "lines", list);
}

static json_t *split_json(const pl_report *report) {
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "total", pl_json_real(report->total), "setup",
                     pl_json_real(report->setup), "rounds", pl_json_real(report->rounds_seconds), "compute",
                     pl_json_real(report->compute), "evaluate", pl_json_real(report->evaluate), "master",
                     pl_json_real(report->master), "overhead", pl_json_real(report->overhead), "exchange",
                     pl_json_real(report->exchange), "wait", pl_json_real(report->wait));
}

static json_t *verdict_json(const pl_run_table *table) {
    pl_verdict verdict;
    json_t *list = json_array();
    pl_verdict_of(table, &verdict);
    for (unsigned i = 0; i < verdict.count; i++)
        json_array_append_new(list, json_pack("{s:s, s:o}", "kind", pl_verdict_kind(verdict.sentence[i].kind), "text",
                                              text_of(verdict.sentence[i].text)));
    return list;
}

static parley_status put_columns(FILE *file, const char *name, const pl_columns *columns, uint64_t rounds,
                                 parley_error *error) {
    parley_status status = PARLEY_OK;
    bool first = true;
    fprintf(file, ",\"%s\":{\"members\":%u,\"columns\":{", name, columns->members);
    for (unsigned key = 0; key < columns->key_count && status == PARLEY_OK; key++) {
        bool has = false;
        for (unsigned m = 0; m < columns->members && !has; m++)
            has = columns->value[(uint64_t)m * columns->key_count + key] != NULL;
        if (!has)
            continue;
        fprintf(file, "%s\"%s\":", first ? "" : ",", columns->keys[key]);
        first = false;
        status = pl_pack(file, (const double *const *)columns->value + key, columns->members, columns->key_count,
                         rounds, error);
    }
    fputs("}}", file);
    return status;
}

static parley_status put_run(FILE *file, const pl_run_table *table, parley_error *error) {
    parley_status status = put_json(file, "name", text_of(table->name), error);
    fputs(",", file);
    if (status == PARLEY_OK)
        status = put_json(file, "parts", parts_json(table), error);
    fputs(",", file);
    if (status == PARLEY_OK)
        status = put_json(file, "skipped", skipped_json(table), error);
    fputs(",", file);
    if (status == PARLEY_OK)
        status = put_json(file, "split", split_json(&table->report), error);
    fputs(",", file);
    if (status == PARLEY_OK)
        status = put_json(file, "verdict", verdict_json(table), error);
    fprintf(file, ",\"count\":%llu", (unsigned long long)table->rounds);
    if (status == PARLEY_OK)
        status = put_columns(file, "rounds", &table->round, table->rounds, error);
    if (status == PARLEY_OK)
        status = put_columns(file, "workers", &table->worker, table->rounds, error);
    if (status == PARLEY_OK)
        status = put_columns(file, "ranks", &table->rank, table->rounds, error);
    return status;
}

static parley_status put_data(FILE *file, const pl_run_table *tables, unsigned count, double reload,
                              parley_error *error) {
    pl_json_watch();
    fprintf(file, "{\"version\":\"%s\",\"reload\":%g,\"runs\":[", parley_version(), reload);
    parley_status status = PARLEY_OK;
    for (unsigned i = 0; i < count && status == PARLEY_OK; i++) {
        fputs(i ? ",{" : "{", file);
        status = put_run(file, &tables[i], error);
        fputs("}", file);
    }
    fputs("]}", file);
    return status;
}

/* The place of the mark in the page. The page has no other bytes that begin like it. */
static size_t find_mark(void) {
    const size_t length = sizeof MARK - 1;
    for (size_t i = 0; i + length <= pl_page_bundle_bytes; i++)
        if (memcmp(pl_page_bundle + i, MARK, length) == 0)
            return i;
    return pl_page_bundle_bytes;
}

parley_status pl_page_write(FILE *file, const char *path, const pl_run_table *tables, unsigned count, double reload,
                            parley_error *error) {
    parley_status status = pl_page_check(error);
    if (status != PARLEY_OK)
        return status;
    size_t mark = find_mark(), after = mark + sizeof MARK - 1;
    fwrite(pl_page_bundle, 1, mark, file);
    status = put_data(file, tables, count, reload, error);
    if (status == PARLEY_OK && after < pl_page_bundle_bytes)
        fwrite(pl_page_bundle + after, 1, pl_page_bundle_bytes - after, file);
    if (status == PARLEY_OK && (fflush(file) != 0 || ferror(file)))
        status = pl_fail_file(error, path, "write the page");
    return status;
}

static parley_status write_file(const char *path, const pl_run_table *tables, unsigned count, parley_error *error) {
    FILE *file = fopen(path, "w");
    if (!file)
        return pl_fail_file(error, path, "write the page");
    parley_status status = pl_page_write(file, path, tables, count, 0, error);
    if (fclose(file) != 0 && status == PARLEY_OK)
        status = pl_fail_file(error, path, "write the page");
    return status;
}

parley_status parley_report_page(const char *const *logs, uint64_t count, const char *page, parley_error *error) {
    pl_run_table *tables;
    uint64_t opened = 0;
    parley_status status = pl_page_check(error);
    if (status == PARLEY_OK && (count == 0 || count > MOST_LOGS))
        status = pl_fail(error, PARLEY_BAD_USAGE, "a page is about 1 to %u logs, not %llu", MOST_LOGS,
                         (unsigned long long)count);
    if (status == PARLEY_OK)
        status = pl_take(&tables, count, sizeof *tables, "the report", error);
    if (status != PARLEY_OK)
        return status;
    for (; opened < count && status == PARLEY_OK; opened++)
        status = pl_run_table_load(&tables[opened], logs[opened], error);
    if (status == PARLEY_OK)
        status = write_file(page, tables, (unsigned)count, error);
    for (uint64_t i = 0; i < opened; i++)
        pl_run_table_close(&tables[i]);
    pl_free(tables);
    return status;
}
