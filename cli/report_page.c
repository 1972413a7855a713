/* report_page.c: `parley report --html`. With --follow the log is read on while its run writes it, and the page is
 * written again whenever there is something new. Standard input is copied to a temporary file first, because a line
 * that is not complete yet must be read again. */
#define _POSIX_C_SOURCE 200809L /* poll, sigaction */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/stop.h"
#include "cli.h"
#include "data/file.h"
#include "trace/page.h"

#define FOLLOW_SECONDS 1.0 /* between two looks at the log; the page loads itself again as often */
#define END_SECONDS 3.0    /* a log with a stop line that is this old has ended; a path goes on sooner */

typedef struct reading {
    const char *path;
    FILE *file;
    bool copied, closed; /* standard input: the file is a copy, and the input has ended */
    pl_lines lines;
} reading;

/* The page goes to a temporary file first, so that a reader never sees half of it. */
static parley_status write_page(const char *path, const pl_run_table *tables, unsigned count, double reload,
                                parley_error *error) {
    char chunk[1 << 16];
    pl_file *out = NULL;
    FILE *page = tmpfile();
    if (!page)
        return pl_fail_file(error, path, "make a temporary file for");
    parley_status status = pl_page_write(page, path, tables, count, reload, error);
    if (status == PARLEY_OK)
        status = pl_file_open(path, PL_NOT_COMPRESSED, &out, error);
    rewind(page);
    for (size_t bytes; status == PARLEY_OK && (bytes = fread(chunk, 1, sizeof chunk, page)) > 0;)
        status = pl_file_write(out, chunk, bytes, error);
    fclose(page);
    return pl_file_close(out, status, error);
}

static parley_status open_log(reading *reading, const char *path, parley_error *error) {
    *reading = (struct reading){.path = path, .lines = {.name = path}};
    reading->copied = strcmp(path, "-") == 0;
    reading->file = reading->copied ? tmpfile() : fopen(path, "r");
    reading->lines.file = reading->file;
    return reading->file ? PARLEY_OK : pl_fail_file(error, path, "open the log");
}

static void close_log(reading *reading) {
    pl_lines_close(&reading->lines);
    if (reading->file)
        fclose(reading->file);
    reading->file = NULL;
}

/* Copies what standard input has, for at most `seconds`. */
static parley_status copy_input(reading *reading, double seconds, parley_error *error) {
    double until = pl_now() + seconds;
    char chunk[1 << 16];
    long place = ftell(reading->file);
    fseek(reading->file, 0, SEEK_END);
    for (double left = seconds; left > 0 && !reading->closed && !pl_stop_asked(); left = until - pl_now()) {
        struct pollfd input = {STDIN_FILENO, POLLIN, 0};
        if (poll(&input, 1, (int)(1e3 * left) + 1) <= 0)
            continue;
        ssize_t bytes = read(STDIN_FILENO, chunk, sizeof chunk);
        reading->closed = bytes <= 0;
        if (bytes > 0)
            fwrite(chunk, 1, (size_t)bytes, reading->file);
    }
    if (fflush(reading->file) != 0 || ferror(reading->file))
        return pl_fail_file(error, "standard input", "copy");
    return fseek(reading->file, place, SEEK_SET) == 0 ? PARLEY_OK : pl_fail_file(error, "standard input", "read");
}

/* A resumed run cuts its log: then it is read from the beginning. */
static bool was_cut(const reading *reading) {
    return !reading->copied && file_bytes(reading->path) < (uint64_t)ftell(reading->file);
}

static parley_status read_on(reading *reading, pl_run_table *table, parley_error *error) {
    parley_status status = PARLEY_OK;
    if (was_cut(reading)) {
        const char *path = reading->path;
        pl_run_table_close(table);
        pl_run_table_open(table, path);
        close_log(reading);
        status = open_log(reading, path, error);
    }
    return status == PARLEY_OK ? pl_run_table_read(table, &reading->lines, error) : status;
}

static void on_signal(int number) {
    (void)number;
    pl_stop_ask();
}

static void catch_signals(void) {
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* Waits for the log, which the run may not have opened yet. */
static parley_status await_log(reading *reading, const char *path, parley_error *error) {
    parley_status status = open_log(reading, path, error);
    if (status != PARLEY_OK && !pl_stop_asked())
        fprintf(stderr, "waiting for %s\n", path);
    for (; status != PARLEY_OK && !pl_stop_asked(); status = open_log(reading, path, error))
        pl_sleep(FOLLOW_SECONDS / 4);
    return status;
}

/* Has the run ended? A log without a new line for a while after its stop line has. */
static bool has_ended(const reading *reading, const pl_run_table *table, double changed) {
    return pl_stop_asked() || reading->closed || (pl_run_table_stop(table) && pl_now() - changed > END_SECONDS);
}

static parley_status follow(const char *path, const char *page, parley_error *error) {
    reading reading;
    pl_run_table table;
    uint64_t shown = 0;
    double changed = pl_now();
    bool ended = false;
    parley_status status = await_log(&reading, path, error);
    pl_run_table_open(&table, path);
    while (status == PARLEY_OK && !ended) {
        if (reading.copied)
            status = copy_input(&reading, FOLLOW_SECONDS, error);
        if (status == PARLEY_OK)
            status = read_on(&reading, &table, error);
        bool news = reading.lines.number != shown;
        changed = news ? pl_now() : changed;
        ended = has_ended(&reading, &table, changed);
        if (status == PARLEY_OK && (table.parts > 0 || ended) && (news || ended))
            status = pl_run_table_finish(&table, error);
        if (status == PARLEY_OK && table.parts > 0 && (news || ended))
            status = write_page(page, &table, 1, ended ? 0 : FOLLOW_SECONDS, error);
        shown = reading.lines.number;
        if (status == PARLEY_OK && !ended && !reading.copied)
            pl_sleep(FOLLOW_SECONDS);
    }
    pl_run_table_close(&table);
    close_log(&reading);
    return status;
}

/* Standard input is read to its end first. */
static parley_status read_input(pl_run_table *table, parley_error *error) {
    reading reading;
    parley_status status = open_log(&reading, "-", error);
    pl_run_table_open(table, "-");
    while (status == PARLEY_OK && !reading.closed && !pl_stop_asked())
        status = copy_input(&reading, FOLLOW_SECONDS, error);
    if (status == PARLEY_OK)
        status = pl_run_table_read(table, &reading.lines, error);
    if (status == PARLEY_OK)
        status = pl_run_table_finish(table, error);
    close_log(&reading);
    return status;
}

static parley_status read_log(const char *path, pl_run_table *table, parley_error *error) {
    return strcmp(path, "-") == 0 ? read_input(table, error) : pl_run_table_load(table, path, error);
}

static parley_status compare(const arguments *arguments, parley_error *error) {
    pl_run_table *tables;
    unsigned opened = 0;
    parley_status status = pl_take(&tables, arguments->count, sizeof *tables, "the report", error);
    if (status != PARLEY_OK)
        return status;
    for (; opened < arguments->count && status == PARLEY_OK; opened++)
        status = read_log(arguments->operands[opened], &tables[opened], error);
    if (status == PARLEY_OK)
        status = write_page(arguments->settings.html, tables, opened, 0, error);
    for (unsigned i = 0; i < opened; i++) {
        if (status == PARLEY_OK && tables[i].skipped_count > 0)
            fprintf(stderr, "%s: %llu line%s could not be used, the first is line %llu: %s\n", tables[i].name,
                    (unsigned long long)tables[i].skipped_count, tables[i].skipped_count == 1 ? "" : "s",
                    (unsigned long long)tables[i].skipped[0].line, tables[i].skipped[0].why);
        pl_run_table_close(&tables[i]);
    }
    pl_free(tables);
    return status;
}

int report_page(const arguments *arguments) {
    const parley_settings *settings = &arguments->settings;
    parley_error error;
    parley_status status = pl_page_check(&error);
    if (status == PARLEY_OK && strcmp(settings->html, "-") != 0)
        status = check_writable(settings->html, &error);
    for (unsigned i = 0; i < arguments->count && status == PARLEY_OK; i++)
        status = check_different(arguments->operands[i], settings->html, &error);
    if (status == PARLEY_OK && settings->follow && arguments->count > 1)
        status = pl_fail(&error, PARLEY_BAD_USAGE, "--follow takes one log");
    if (status == PARLEY_OK && settings->follow && strcmp(settings->html, "-") == 0)
        status = pl_fail(&error, PARLEY_BAD_USAGE, "--follow writes the page again and again; give a file to --html");
    if (status == PARLEY_OK && settings->follow)
        catch_signals();
    if (status == PARLEY_OK)
        status = settings->follow ? follow(arguments->operands[0], settings->html, &error) : compare(arguments, &error);
    return status == PARLEY_OK ? EXIT_DONE : fail(arguments->command, &error);
}
