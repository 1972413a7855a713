/* log.c: JSON lines. Every line is flushed, so that a log can be followed and survives its run. */
#define _POSIX_C_SOURCE 200809L /* ftruncate */
#include "trace/log.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

struct pl_log {
    FILE *file;
    char path[PL_TEXT];
};

static json_t *real(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t *whole(uint64_t value) { return json_integer((json_int_t)value); }

static parley_status write_line(pl_log *log, json_t *line, parley_error *error) {
    if (!line)
        return pl_fail_memory(error, "a line of the log", 1024);
    bool written =
        json_dumpf(line, log->file, JSON_COMPACT) == 0 && fputc('\n', log->file) != EOF && fflush(log->file) == 0;
    json_decref(line);
    return written ? PARLEY_OK : pl_fail_file(error, log->path, "write the log");
}

/* Where the line of a round ends; 0: there is none. */
static long find_round(FILE *file, uint64_t round) {
    for (json_t *line; (line = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL)); json_decref(line)) {
        const char *event = json_string_value(json_object_get(line, "event"));
        json_int_t number = json_integer_value(json_object_get(line, "round"));
        if (!event || strcmp(event, "round") != 0 || number != (json_int_t)round)
            continue;
        json_decref(line);
        return fgetc(file) == '\n' ? ftell(file) : 0;
    }
    return 0;
}

/* Opens a log that goes on after `round`; NULL: there is no such log. */
static FILE *open_after(const char *path, uint64_t round) {
    FILE *file = fopen(path, "r+");
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

parley_status pl_log_start(pl_log *log, const parley_settings *settings, const parley_summary *summary,
                           uint64_t fingerprint, unsigned cores, const unsigned *host, parley_error *error) {
    if (!log)
        return PARLEY_OK;
    json_t *values = json_object(), *hosts = json_array();
    for (unsigned r = 0; r < summary->ranks; r++)
        json_array_append_new(hosts, whole(host ? host[r] : 0));
    char hash[20];
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)fingerprint);
    for (unsigned i = 0; i < pl_settings_count; i++) {
        char text[PL_TEXT];
        pl_setting_text(settings, &pl_settings[i], text, sizeof text);
        if (pl_settings[i].commands & (PL_FOR_TRAIN | PL_FOR_ONE))
            json_object_set_new(values, pl_settings[i].name, json_string(text));
    }
    return write_line(
        log,
        json_pack(
            "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o}",
            "event", "start", "version", parley_version(), "preset", summary->preset, "local", summary->local,
            "combine", summary->combine, "exchange", summary->exchange, "engine", summary->engine, "loss",
            summary->loss, "lambda", real(summary->lambda), "rows", whole(summary->rows), "columns",
            whole(summary->columns), "nonzeros", whole(summary->nonzeros), "fingerprint", hash, "workers",
            whole(summary->workers), "lanes", whole(summary->lanes), "threads", whole(summary->threads), "ranks",
            whole(summary->ranks), "hosts", hosts, "cores", whole(cores), "repeatable", summary->repeatable, "settings",
            values),
        error);
}

static json_t *worker_line(unsigned number, const pl_worker_trace *worker) {
    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "worker", (int)number, "compute", real(worker->compute),
                     "exchange", real(worker->exchange), "wait", real(worker->wait), "evaluate", real(worker->evaluate),
                     "bytes_sent", whole(worker->sent), "bytes_received", whole(worker->received));
}

static json_t *rank_line(unsigned number, const pl_rank_trace *rank) {
    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "rank", (int)number, "local",
                     real(rank->local), "cpu", real(rank->cpu), "wait", real(rank->wait), "exchange",
                     real(rank->exchange), "master_cpu", real(rank->master_cpu), "evaluate", real(rank->evaluate),
                     "evaluate_cpu", real(rank->evaluate_cpu), "bytes_sent", whole(rank->sent), "bytes_received",
                     whole(rank->received));
}

static json_t *pace_line(const pl_pace_trace *pace) {
    if (!pace)
        return json_null();
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "why", pace->why, "epoch_seconds",
                     real(pace->epoch_seconds), "round_seconds", real(pace->round_seconds), "predicted_seconds",
                     real(pace->predicted_seconds), "seconds", real(pace->seconds), "predicted_fall",
                     real(pace->predicted_fall), "fall", real(pace->fall));
}

parley_status pl_log_round(pl_log *log, const pl_round_trace *round, parley_error *error) {
    if (!log)
        return PARLEY_OK;
    json_t *workers = json_array(), *ranks = json_array();
    for (unsigned r = 0; r < round->ranks; r++)
        json_array_append_new(ranks, rank_line(r, &round->rank[r]));
    for (unsigned k = 0; k < round->workers; k++)
        json_array_append_new(workers, worker_line(round->first + k, &round->worker[k]));
    json_t *line = json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o}", "event", "round", "round",
        whole(round->round), "seconds", real(round->seconds), "epochs", real(round->epochs), "sigma",
        real(round->sigma), "gamma", real(round->gamma), "local_epochs", real(round->local_epochs), "local_steps",
        round->local_steps ? whole(round->local_steps) : json_null(), "pace", pace_line(round->pace), "evaluated",
        round->evaluated, "objective", real(round->objective), "dual", real(round->dual), "gap", real(round->gap),
        "relative_gap", real(round->relative_gap), "workers", workers, "ranks", ranks);
    if (line && !isnan(round->validation))
        json_object_set_new(line, "validation", real(round->validation));
    return write_line(log, line, error);
}

parley_status pl_log_stop(pl_log *log, const parley_summary *summary, double seconds, parley_error *error) {
    if (!log)
        return PARLEY_OK;
    json_t *line = json_pack(
        "{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "event", "stop", "status",
        parley_stop_text(summary->stop), "rounds", whole(summary->rounds), "epochs", real(summary->epochs), "objective",
        real(summary->objective), "dual", real(summary->dual), "gap", real(summary->gap), "relative_gap",
        real(summary->relative_gap), "setup", real(summary->setup_seconds), "compute", real(summary->compute_seconds),
        "exchange", real(summary->exchange_seconds), "wait", real(summary->wait_seconds), "evaluate",
        real(summary->evaluate_seconds), "bytes_sent", whole(summary->bytes_sent), "rank_bytes_sent",
        whole(summary->rank_bytes_sent), "seconds", real(seconds));
    if (line && summary->metric)
        json_object_set_new(line, "validation",
                            json_pack("{s:s, s:o, s:o}", "metric", summary->metric, "value", real(summary->validation),
                                      "round", whole(summary->validation_round)));
    return write_line(log, line, error);
}

void pl_log_close(pl_log *log) {
    if (log && log->file != stdout)
        fclose(log->file);
    pl_free(log);
}
