/* report_numbers.c: reads a log (docs/log.md) and adds up where the time went. Exchange and evaluation are those of
 * rank 0; the slowest worker is that of all ranks. */
#include "trace/report_numbers.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "trace/lines.h"

#define MOST_MEMBERS (1u << 20)
#define MOST_NUMBER 9007199254740992.0 /* 2^53: seconds and bytes */

/* A sum of rounds. A number that no run can have is refused when the line has been read. */
static double number_of(pl_report *report, const json_t *object, const char *key) {
    double value = pl_line_number(object, key);
    if (value > MOST_NUMBER || value < -MOST_NUMBER)
        report->strange = key;
    return value >= 0 && value <= MOST_NUMBER ? value : 0.0;
}

static void copy_name(char to[PL_REPORT_NAME], const json_t *line, const char *key) {
    snprintf(to, PL_REPORT_NAME, "%s", pl_line_text(line, key));
}

/* The number of workers or ranks; 1 if the log does not have it. */
static unsigned count_of(const json_t *line, const char *key) {
    double count = pl_line_number(line, key);
    return count >= 1 && count <= MOST_MEMBERS ? (unsigned)count : 1;
}

static void start(pl_report *report, const json_t *line) {
    if (report->started) /* a path continues with the next problem */
        return;
    report->started = true;
    copy_name(report->preset, line, "preset");
    copy_name(report->local, line, "local");
    copy_name(report->combine, line, "combine");
    copy_name(report->exchange_name, line, "exchange");
    copy_name(report->engine, line, "engine");
    report->workers = count_of(line, "workers");
    report->ranks = count_of(line, "ranks");
    report->threads = count_of(line, "threads");
    report->cores = count_of(line, "cores");
    report->hosts = json_incref(json_object_get(line, "hosts"));
    report->adapts = strcmp(pl_line_text(json_object_get(line, "settings"), "adapt"), "true") == 0;
}

/* Makes room for workers and ranks when a round has shown that there are so many. */
static parley_status open_members(pl_report *report, parley_error *error) {
    parley_status status = pl_take(&report->worker, report->workers, sizeof *report->worker, "the report", error);
    if (status == PARLEY_OK)
        status = pl_take(&report->rank, report->ranks, sizeof *report->rank, "the report", error);
    for (unsigned r = 0; r < report->ranks && status == PARLEY_OK; r++) {
        json_int_t host = json_integer_value(json_array_get(report->hosts, r));
        if (host < 0 || host >= MOST_MEMBERS)
            report->strange = "hosts";
        report->rank[r].host = (unsigned)host;
    }
    return status;
}

/* When the first round began, from its end and the longest time of a worker: the setup of a run that has no end yet.
 * 0 if no worker has all phases. */
static double begin_of(const json_t *workers, double end) {
    static const char *const phases[] = {"compute", "wait", "exchange", "evaluate"};
    double longest = 0;
    for (size_t k = 0; k < json_array_size(workers); k++) {
        double sum = 0;
        for (unsigned p = 0; p < sizeof phases / sizeof *phases; p++)
            sum += pl_line_number(json_array_get(workers, k), phases[p]);
        longest = fmax(longest, sum); /* fmax drops NaN */
    }
    return longest > 0 ? fmax(0.0, end - longest) : 0.0;
}

/* Adds a round of the workers; returns the seconds of the slowest one. */
static double add_workers(pl_report *report, const json_t *workers) {
    double most = 0;
    unsigned slowest = 0;
    unsigned count = (unsigned)json_array_size(workers);
    for (unsigned k = 0; k < count && k < report->workers; k++) {
        const json_t *line = json_array_get(workers, k);
        pl_report_worker *worker = &report->worker[k];
        double compute = number_of(report, line, "compute");
        worker->compute += compute;
        worker->wait += number_of(report, line, "wait");
        worker->exchange += number_of(report, line, "exchange");
        worker->evaluate += number_of(report, line, "evaluate");
        worker->sent += (uint64_t)number_of(report, line, "bytes_sent");
        worker->received += (uint64_t)number_of(report, line, "bytes_received");
        slowest = compute > most ? k : slowest;
        most = fmax(most, compute);
    }
    report->worker[slowest].slowest++;
    return most;
}

/* Makes room for the sums of cores up to this one. */
static parley_status know_core(pl_report *report, unsigned core, parley_error *error) {
    if (core < report->known_cores)
        return PARLEY_OK;
    uint64_t room = 2 * (uint64_t)core + 64;
    double *sums = pl_realloc(report->core_sum, room, sizeof *sums);
    if (!sums)
        return pl_fail_memory(error, "the report", room * sizeof *sums);
    for (uint64_t c = report->known_cores; c < room; c++)
        sums[c] = 0;
    report->core_sum = sums;
    report->known_cores = (unsigned)room;
    return PARLEY_OK;
}

/* Clears the sums of the cores of ranks [begin, end), which are those of one host. */
static void clear_cores(const pl_report *report, unsigned begin, unsigned end) {
    for (unsigned r = begin; r < end; r++)
        if (!isnan(report->rank[r].core))
            report->core_sum[(unsigned)report->rank[r].core] = 0;
}

/* Processor seconds of the ranks in a round, as needed by the most loaded core: ranks pinned to a core add up there,
 * and others spread evenly over the cores of their host. NaN if the log does not have them. `phase`, unless
 * NULL, has the wall-clock seconds: where processor time is counted in ticks, it may be more than threads can use. */
static double needed_for(pl_report *report, const json_t *ranks, const char *key, const char *phase) {
    double needed = 0, spread = 0;
    unsigned first = 0;
    for (unsigned r = 0; r < report->ranks; r++) {
        const json_t *line = json_array_get(ranks, r);
        double cpu = pl_line_number(line, key), core = report->rank[r].core;
        double most = phase ? report->threads * pl_line_number(line, phase) : NAN;
        cpu = cpu > most ? most : cpu;
        if (report->rank[r].host != report->rank[first].host) { /* ranks of one host are consecutive */
            clear_cores(report, first, r);
            first = r;
            spread = 0;
        }
        spread += isnan(core) ? cpu / report->cores : 0.0;
        double *kept = isnan(core) ? NULL : &report->core_sum[(unsigned)core];
        if (kept)
            *kept += cpu;
        if (isnan(cpu))
            needed = NAN;
        else if (!isnan(needed))
            needed = fmax(needed, kept ? *kept : fmax(cpu / report->threads, spread));
    }
    clear_cores(report, first, report->ranks);
    return needed;
}

static parley_status add_ranks(pl_report *report, const json_t *ranks, parley_error *error) {
    parley_status status = PARLEY_OK;
    for (unsigned r = 0; r < report->ranks && status == PARLEY_OK; r++) {
        const json_t *line = json_array_get(ranks, r);
        pl_report_rank *rank = &report->rank[r];
        rank->core = pl_line_number(line, "core");
        if (!isnan(rank->core) && !(rank->core >= 0 && rank->core < MOST_MEMBERS)) {
            report->strange = "core";
            rank->core = NAN;
        }
        if (!isnan(rank->core))
            status = know_core(report, (unsigned)rank->core, error);
        rank->local += number_of(report, line, "local");
        rank->cpu += number_of(report, line, "cpu");
        rank->wait += number_of(report, line, "wait");
        rank->exchange += number_of(report, line, "exchange");
        rank->evaluate += number_of(report, line, "evaluate");
        rank->master_cpu += number_of(report, line, "master_cpu");
        rank->evaluate_cpu += number_of(report, line, "evaluate_cpu");
        rank->sent += (uint64_t)number_of(report, line, "bytes_sent");
        rank->received += (uint64_t)number_of(report, line, "bytes_received");
    }
    return status;
}

/* Makes room for more workers, to which --adapt may change. */
static parley_status add_members(pl_report *report, size_t workers, parley_error *error) {
    if (workers <= report->workers || workers > MOST_MEMBERS)
        return PARLEY_OK;
    pl_report_worker *more = pl_realloc(report->worker, workers, sizeof *more);
    if (!more)
        return pl_fail_memory(error, "the report", workers * sizeof *more);
    memset(more + report->workers, 0, (workers - report->workers) * sizeof *more);
    report->worker = more;
    report->workers = (unsigned)workers;
    return PARLEY_OK;
}

static parley_status add_round(pl_report *report, const json_t *line, const char *path, parley_error *error) {
    const json_t *workers = json_object_get(line, "workers"), *first = json_array_get(workers, 0);
    if (json_array_size(workers) != report->workers && !(report->adapts && json_array_size(workers) > 0))
        return pl_fail(
            error, PARLEY_BAD_INPUT,
            "%s: round %.0f has %zu workers, but the run has %u; the log was written by another version of Parley",
            path, pl_line_number(line, "round"), json_array_size(workers), report->workers);
    const json_t *ranks = json_object_get(line, "ranks");
    if (ranks && json_array_size(ranks) != report->ranks)
        return pl_fail(
            error, PARLEY_BAD_INPUT,
            "%s: round %.0f has %zu ranks, but the run has %u; the log was written by another version of Parley", path,
            pl_line_number(line, "round"), json_array_size(ranks), report->ranks);
    parley_status status = report->rank ? PARLEY_OK : open_members(report, error);
    if (status == PARLEY_OK)
        status = add_members(report, json_array_size(workers), error);
    if (status == PARLEY_OK && ranks)
        status = add_ranks(report, ranks, error);
    if (status != PARLEY_OK)
        return status;
    double slowest = add_workers(report, workers);
    report->rounds++;
    report->slowest += slowest;
    report->compute += fmax(slowest, ranks ? needed_for(report, ranks, "cpu", "local") : NAN);
    report->exchange += number_of(report, first, "exchange");
    report->master += fmax(0.0, ranks ? needed_for(report, ranks, "master_cpu", NULL) : NAN);
    report->evaluate +=
        fmax(number_of(report, first, "evaluate"), ranks ? needed_for(report, ranks, "evaluate_cpu", "evaluate") : NAN);
    report->total = number_of(report, line, "seconds");
    if (report->rounds == 1)
        report->setup = begin_of(workers, report->total);
    return PARLEY_OK;
}

/* Adds evaluation after the last round, and the setup. */
static void stop(pl_report *report, const json_t *line) {
    double seconds = pl_line_number(line, "seconds");
    copy_name(report->status, line, "status");
    report->setup = number_of(report, line, "setup");
    report->evaluate = fmax(report->evaluate, number_of(report, line, "evaluate"));
    report->total = isnan(seconds) ? report->total : seconds;
}

static parley_status fail_strange(const char *path, parley_error *error) {
    return pl_fail(error, PARLEY_BAD_INPUT, "%s: not a Parley log: its first line is not a start line", path);
}

parley_status pl_report_line(pl_report *report, const json_t *line, const char *path, uint64_t number,
                             parley_error *error) {
    const char *event = pl_line_text(line, "event");
    parley_status status = PARLEY_OK;
    report->strange = NULL;
    if (strcmp(event, "start") == 0)
        start(report, line);
    else if (!report->started)
        status = fail_strange(path, error);
    else if (strcmp(event, "round") == 0)
        status = add_round(report, line, path, error);
    else if (strcmp(event, "stop") == 0)
        stop(report, line);
    if (status == PARLEY_OK && report->strange)
        status = pl_fail(error, PARLEY_BAD_INPUT,
                         "%s: line %llu has a number in %s that no run can have: the log is damaged", path,
                         (unsigned long long)number, report->strange);
    return status;
}

static parley_status read_lines(FILE *file, const char *path, pl_report *report, parley_error *error) {
    parley_status status = PARLEY_OK;
    pl_lines lines = {.file = file, .name = path};
    for (json_t *line; status == PARLEY_OK && (line = pl_lines_next(&lines, &status, error)); json_decref(line))
        status = pl_report_line(report, line, path, lines.number, error);
    pl_lines_close(&lines);
    if (status == PARLEY_OK && !report->started)
        status = pl_fail(error, PARLEY_BAD_INPUT, "%s: the log is empty", path);
    if (status == PARLEY_OK && report->rounds == 0)
        status = pl_fail(error, PARLEY_BAD_INPUT, "%s: the log has no round to report", path);
    return status;
}

void pl_report_free(pl_report *report) {
    pl_free(report->worker);
    pl_free(report->rank);
    pl_free(report->core_sum);
    json_decref(report->hosts);
    *report = (pl_report){0};
}

void pl_report_finish(pl_report *report) {
    report->rounds_seconds = report->total - report->setup;
    report->evaluate = fmin(report->evaluate, report->rounds_seconds);
    report->compute = fmin(report->compute, report->rounds_seconds - report->evaluate);
    double rest = fmax(0.0, report->rounds_seconds - report->compute - report->evaluate);
    report->master = fmin(report->master, rest);
    report->overhead = rest - report->master;
    report->exchange = fmin(fmax(0.0, report->exchange - report->master), report->overhead);
    report->wait = report->overhead - report->exchange;
}

parley_status pl_report_of(FILE *file, const char *path, pl_report *out, parley_error *error) {
    *out = (pl_report){0};
    parley_status status = read_lines(file, path, out, error);
    pl_report_finish(out);
    if (status != PARLEY_OK)
        pl_report_free(out);
    return status;
}

parley_status pl_report_read(const char *path, pl_report *out, parley_error *error) {
    *out = (pl_report){0};
    FILE *file = fopen(path, "r");
    if (!file)
        return pl_fail_file(error, path, "open the log");
    parley_status status = pl_report_of(file, path, out, error);
    fclose(file);
    return status;
}
