/* log.c: writes JSON lines. Every line is flushed, so that a log can be followed and survives its run. */
#define _POSIX_C_SOURCE 200809L /* ftruncate */
#include "trace/log.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json_memory.h"
#include "base/json_values.h"
#include "base/memory.h"
#include "trace/lines.h"

#define MOST_SECONDS 1e9
#define BILLION 1000000000

struct pl_log {
    FILE *file;
    char path[PL_TEXT];
};

static json_t *whole(uint64_t value) { return json_integer((json_int_t)value); }

static parley_status end_line(pl_log *log, parley_error *error) {
    bool written = fputs("\n", log->file) != EOF && fflush(log->file) == 0 && !ferror(log->file);
    return written ? PARLEY_OK : pl_fail_file(error, log->path, "write the log");
}

static parley_status write_line(pl_log *log, json_t *line, parley_error *error) {
    bool complete = line && !pl_json_lost(), dumped = complete && json_dumpf(line, log->file, JSON_COMPACT) == 0;
    json_decref(line);
    if (!complete || pl_json_lost()) {
        pl_json_watch();
        return pl_fail_memory(error, "a line of the log", 1024);
    }
    return dumped ? end_line(log, error) : pl_fail_file(error, log->path, "write the log");
}

/* The position after the line of a round; 0 if there is none. */
static long find_round(FILE *file, uint64_t round) {
    pl_lines lines = {.file = file, .name = "the log"};
    parley_status status;
    long end = 0;
    for (json_t *line; end == 0 && (line = pl_lines_next(&lines, &status, NULL)); json_decref(line)) {
        json_int_t number = json_integer_value(json_object_get(line, "round"));
        bool whole = lines.text[lines.bytes - 1] == '\n';
        if (strcmp(pl_line_text(line, "event"), "round") == 0 && number == (json_int_t)round && whole)
            end = ftell(file);
    }
    pl_lines_close(&lines);
    return end;
}

/* Only a file has lines of an earlier run. To read from a pipe would be to wait for ourselves. */
static bool is_file(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode);
}

/* Opens a log to continue it after `round`; NULL if there is no such log. */
static FILE *open_after(const char *path, uint64_t round) {
    FILE *file = is_file(path) ? fopen(path, "r+") : NULL;
    long end = file ? find_round(file, round) : 0;
    if (end > 0 && fseek(file, end, SEEK_SET) == 0 && ftruncate(fileno(file), (off_t)end) == 0)
        return file;
    if (file)
        fclose(file);
    return NULL;
}

parley_status pl_log_open(const char *path, uint64_t round, pl_log **out, bool *goes_on, parley_error *error) {
    *out = NULL;
    *goes_on = false;
    if (!*path)
        return PARLEY_OK;
    pl_log *log;
    parley_status status = pl_take(&log, 1, sizeof *log, "the log", error);
    if (status != PARLEY_OK)
        return status;
    snprintf(log->path, sizeof log->path, "%s", path);
    if (strcmp(path, "-") == 0)
        log->file = stdout;
    else if (round > 0)
        *goes_on = (log->file = open_after(path, round)) != NULL;
    if (!log->file)
        log->file = fopen(path, "w");
    if (!log->file) {
        pl_free(log);
        return pl_fail_file(error, path, "write the log");
    }
    *out = log;
    return PARLEY_OK;
}

static void put_fact(json_t *line, const parley_fact *fact) {
    json_object_set_new(line, fact->name,
                        *fact->text   ? json_string(fact->text)
                        : fact->whole ? whole((uint64_t)fact->number)
                                      : pl_json_real(fact->number));
}

parley_status pl_log_start(pl_log *log, const parley_settings *settings, unsigned commands,
                           const parley_summary *summary, uint64_t fingerprint, unsigned cores, const unsigned *host,
                           bool scattered, parley_error *error) {
    if (!log)
        return PARLEY_OK;
    json_t *values = json_object(), *hosts = json_array();
    for (unsigned r = 0; r < summary->ranks; r++)
        json_array_append_new(hosts, whole(host ? host[r] : scattered ? r : 0));
    char hash[20];
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)fingerprint);
    for (unsigned i = 0; i < pl_settings_count(); i++) {
        char text[PL_TEXT];
        pl_setting_text(settings, pl_setting_at(i), text, sizeof text);
        if (pl_setting_at(i)->commands & commands)
            json_object_set_new(values, pl_setting_at(i)->name, json_string(text));
    }
    json_t *line = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o}", "event",
        "start", "version", parley_version(), "problem", summary->problem, "preset", summary->preset, "local",
        summary->local, "combine", summary->combine, "exchange", summary->exchange, "engine", summary->engine, "rows",
        whole(summary->rows), "columns", whole(summary->columns), "nonzeros", whole(summary->nonzeros), "fingerprint",
        hash, "workers", whole(summary->workers), "lanes", whole(summary->lanes), "threads", whole(summary->threads),
        "ranks", whole(summary->ranks), "hosts", hosts, "cores", whole(cores), "repeatable", summary->repeatable,
        "settings", values);
    for (unsigned i = 0; i < summary->facts && line; i++)
        put_fact(line, &summary->fact[i]);
    return write_line(log, line, error);
}

/* Lines of rounds are frequent, so they are written directly, without a tree of values. */
static void put_whole(FILE *file, const char *name, uint64_t value) { fprintf(file, ",\"%s\":%" PRIu64, name, value); }

/* With all digits, because a replayed run compares them. */
static void put_real(FILE *file, const char *name, double value) {
    json_t *number = pl_json_real(value);
    fprintf(file, ",\"%s\":", name);
    if (!number || json_dumpf(number, file, JSON_COMPACT | JSON_ENCODE_ANY) != 0)
        fputs("null", file);
    json_decref(number);
}

/* To the nanosecond: clocks are not more precise, and this takes a fifth of the time. */
static void put_seconds(FILE *file, const char *name, double seconds) {
    double units;
    if (!(fabs(seconds) < MOST_SECONDS)) {
        put_real(file, name, seconds);
        return;
    }
    uint64_t nano = (uint64_t)(1e9 * modf(fabs(seconds), &units) + 0.5);
    uint64_t first = (uint64_t)units + nano / BILLION;
    fprintf(file, ",\"%s\":%s%" PRIu64 ".%09" PRIu64, name, seconds < 0 ? "-" : "", first, nano % BILLION);
}

static void put_worker(FILE *file, unsigned number, const pl_worker_trace *worker) {
    fprintf(file, "{\"worker\":%u", number);
    put_seconds(file, "compute", worker->compute);
    put_seconds(file, "exchange", worker->exchange);
    put_seconds(file, "wait", worker->wait);
    put_seconds(file, "evaluate", worker->evaluate);
    put_whole(file, "bytes_sent", worker->sent);
    put_whole(file, "bytes_received", worker->received);
    if (worker->clock) {
        put_whole(file, "clock", worker->clock);
        put_real(file, "staleness", worker->mean_behind);
        put_whole(file, "largest_staleness", worker->most_behind);
        put_whole(file, "messages", worker->messages);
        put_seconds(file, "finished", worker->finished);
    }
    fputs("}", file);
}

static void put_rank(FILE *file, unsigned number, const pl_rank_trace *rank) {
    fprintf(file, "{\"rank\":%u", number);
    if (rank->pinned)
        put_whole(file, "core", rank->pinned - 1);
    put_seconds(file, "local", rank->local);
    put_seconds(file, "cpu", rank->cpu);
    put_seconds(file, "wait", rank->wait);
    put_seconds(file, "exchange", rank->exchange);
    put_seconds(file, "master_cpu", rank->master_cpu);
    put_seconds(file, "evaluate", rank->evaluate);
    put_seconds(file, "evaluate_cpu", rank->evaluate_cpu);
    put_whole(file, "bytes_sent", rank->sent);
    put_whole(file, "bytes_received", rank->received);
    if (rank->process.resident) {
        put_seconds(file, "cpu_seconds", rank->process.cpu);
        put_whole(file, "resident_bytes", rank->process.resident);
        put_whole(file, "wire_bytes_sent", rank->process.wire_sent);
        put_whole(file, "wire_bytes_received", rank->process.wire_received);
    }
    fputs("}", file);
}

static void put_pace(FILE *file, const pl_pace_trace *pace) {
    if (!pace) {
        fputs(",\"pace\":null", file);
        return;
    }
    fprintf(file, ",\"pace\":{\"why\":\"%s\"", pace->why);
    put_seconds(file, "epoch_seconds", pace->epoch_seconds);
    put_seconds(file, "round_seconds", pace->round_seconds);
    put_seconds(file, "predicted_seconds", pace->predicted_seconds);
    put_seconds(file, "seconds", pace->seconds);
    put_real(file, "predicted_fall", pace->predicted_fall);
    put_real(file, "fall", pace->fall);
    fputs("}", file);
}

static void put_plan(FILE *file, const pl_plan_trace *plan, uint64_t round) {
    if (!plan)
        return;
    fprintf(file, ",\"plan\":{\"round\":%" PRIu64, round);
    put_seconds(file, "seconds", plan->seconds);
    put_real(file, "relative_gap", plan->gap);
    fputs("}", file);
}

static void put_adapt(FILE *file, const pl_adapt_trace *adapt) {
    if (!adapt)
        return;
    fprintf(file, ",\"adapt\":{\"preset\":\"%s\",\"why\":\"saves more than it costs\"", adapt->preset);
    put_whole(file, "workers", adapt->workers);
    put_whole(file, "lanes", adapt->lanes);
    put_seconds(file, "left", adapt->left);
    put_seconds(file, "predicted", adapt->predicted);
    put_seconds(file, "cost", adapt->cost);
    fputs("}", file);
}

parley_status pl_log_round(pl_log *log, const pl_round_trace *round, parley_error *error) {
    if (!log)
        return PARLEY_OK;
    FILE *file = log->file;
    fputs("{\"event\":\"round\"", file);
    put_whole(file, "round", round->round);
    put_seconds(file, "seconds", round->seconds);
    put_real(file, "epochs", round->epochs);
    put_real(file, "sigma", round->sigma);
    put_real(file, "gamma", round->gamma);
    put_real(file, "local_epochs", round->local_epochs);
    if (round->local_steps)
        put_whole(file, "local_steps", round->local_steps);
    else
        put_real(file, "local_steps", NAN);
    put_pace(file, round->pace);
    fprintf(file, ",\"evaluated\":%s", round->evaluated ? "true" : "false");
    put_real(file, "objective", round->objective);
    put_real(file, "dual", round->dual);
    put_real(file, "gap", round->gap);
    put_real(file, "relative_gap", round->relative_gap);
    if (!isnan(round->estimate))
        put_real(file, "estimate", round->estimate);
    fputs(",\"workers\":[", file);
    for (unsigned k = 0; k < round->workers; k++) {
        fputs(k ? "," : "", file);
        put_worker(file, k, &round->worker[k]);
    }
    fputs("],\"ranks\":[", file);
    for (unsigned r = 0; r < round->ranks; r++) {
        fputs(r ? "," : "", file);
        put_rank(file, r, &round->rank[r]);
    }
    fputs("]", file);
    if (!isnan(round->validation))
        put_real(file, "validation", round->validation);
    put_plan(file, round->plan, round->round);
    put_adapt(file, round->adapt);
    fputs("}", file);
    return end_line(log, error);
}

parley_status pl_log_view(pl_log *log, const pl_view_trace *view, parley_error *error) {
    FILE *file = log->file;
    fputs("{\"event\":\"view\"", file);
    put_whole(file, "round", view->round);
    put_seconds(file, "seconds", view->seconds);
    put_whole(file, "clock", view->clock);
    put_real(file, "validation", view->validation);
    fputs("}", file);
    return end_line(log, error);
}

parley_status pl_log_stop(pl_log *log, const parley_summary *summary, double seconds, json_t *plan,
                          parley_error *error) {
    if (!log) {
        json_decref(plan);
        return PARLEY_OK;
    }
    json_t *line = json_pack(
        "{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "event", "stop", "status",
        parley_stop_text(summary->stop), "rounds", whole(summary->rounds), "epochs", pl_json_real(summary->epochs),
        "objective", pl_json_real(summary->objective), "dual", pl_json_real(summary->dual), "gap",
        pl_json_real(summary->gap), "relative_gap", pl_json_real(summary->relative_gap), "setup",
        pl_json_real(summary->setup_seconds), "compute", pl_json_real(summary->compute_seconds), "exchange",
        pl_json_real(summary->exchange_seconds), "wait", pl_json_real(summary->wait_seconds), "evaluate",
        pl_json_real(summary->evaluate_seconds), "bytes_sent", whole(summary->bytes_sent), "rank_bytes_sent",
        whole(summary->rank_bytes_sent), "seconds", pl_json_real(seconds));
    if (line && summary->metric)
        json_object_set_new(line, "validation",
                            json_pack("{s:s, s:o, s:o}", "metric", summary->metric, "value",
                                      pl_json_real(summary->validation), "round", whole(summary->validation_round)));
    if (line && plan)
        json_object_set(line, "plan", plan);
    json_decref(plan);
    return write_line(log, line, error);
}

parley_status pl_log_model(pl_log *log, json_t *shown, parley_error *error) {
    json_t *line = shown ? json_pack("{s:s}", "event", "model") : NULL;
    if (line)
        json_object_update(line, shown);
    json_decref(shown);
    return write_line(log, line, error);
}

void pl_log_close(pl_log *log) {
    if (log && log->file != stdout)
        fclose(log->file);
    pl_free(log);
}
