/* span_file.c: see span_file.h. Events are those of the documented JSON array format: "M" names processes and threads,
 * "X" is a span with its beginning `ts` and its length `dur` in microseconds, "C" is a counter. A round ends at its
 * seconds, and the spans of a worker follow each other up to there. */
#include "trace/span_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

#define MICRO 1e6
#define OWN_THREAD 0 /* of a rank: its rounds; worker k is thread 1 + k */

struct pl_span_file {
    FILE *file;
    char path[PL_TEXT];
    unsigned workers, ranks;
    unsigned *rank;                /* of each worker */
    double *worker_end, *rank_end; /* when the last span ended, in seconds; spans of a thread may not overlap */
    bool begun;                    /* has an event */
};

static void begin_event(pl_span_file *file, const char *name, char phase, unsigned rank, unsigned thread) {
    fprintf(file->file, "%s{\"name\":\"%s\",\"ph\":\"%c\",\"pid\":%u,\"tid\":%u", file->begun ? ",\n" : "[\n", name,
            phase, rank, thread);
    file->begun = true;
}

static void put_name(pl_span_file *file, const char *what, const char *kind, unsigned number, unsigned rank,
                     unsigned thread) {
    begin_event(file, what, 'M', rank, thread);
    fprintf(file->file, ",\"args\":{\"name\":\"%s %u\"}}", kind, number);
}

static void put_names(pl_span_file *file) {
    for (unsigned r = 0; r < file->ranks; r++) {
        put_name(file, "process_name", "rank", r, r, OWN_THREAD);
        put_name(file, "thread_name", "rounds of rank", r, r, OWN_THREAD);
    }
}

static void put_span(pl_span_file *file, const char *name, unsigned rank, unsigned thread, double begin, double length,
                     uint64_t round) {
    begin_event(file, name, 'X', rank, thread);
    fprintf(file->file, ",\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"round\":%" PRIu64 "}}", MICRO * begin, MICRO * length,
            round);
}

static void put_counter(pl_span_file *file, const char *name, double at, double value) {
    if (!isfinite(value))
        return;
    begin_event(file, name, 'C', 0, OWN_THREAD);
    fprintf(file->file, ",\"ts\":%.3f,\"args\":{\"%s\":%.17g}}", MICRO * at, name, value);
}

static double put_worker(pl_span_file *file, unsigned k, const pl_worker_trace *worker, const pl_round_trace *round) {
    const char *const names[] = {"compute", "wait", "exchange", "evaluate"};
    const double length[] = {worker->compute, worker->wait, worker->exchange, worker->evaluate};
    double begin = fmax(file->worker_end[k], round->seconds - length[0] - length[1] - length[2] - length[3]),
           at = begin;
    for (unsigned i = 0; i < 4; i++)
        if (length[i] > 0) {
            put_span(file, names[i], file->rank[k], 1 + k, at, length[i], round->round);
            at += length[i];
        }
    file->worker_end[k] = at;
    return begin;
}

static void put_rank(pl_span_file *file, unsigned r, double begin, const pl_round_trace *round) {
    char name[40];
    begin = fmin(fmax(begin, file->rank_end[r]), round->seconds);
    snprintf(name, sizeof name, "round %" PRIu64, round->round);
    put_span(file, name, r, OWN_THREAD, begin, round->seconds - begin, round->round);
    file->rank_end[r] = round->seconds;
}

parley_status pl_span_file_round(pl_span_file *file, const pl_round_trace *round, parley_error *error) {
    if (!file)
        return PARLEY_OK;
    double begin = round->seconds;
    for (unsigned k = 0; k < round->workers && k < file->workers; k++) {
        begin = fmin(begin, put_worker(file, k, &round->worker[k], round));
        if (k + 1 == round->workers || file->rank[k + 1] != file->rank[k]) {
            put_rank(file, file->rank[k], begin, round);
            begin = round->seconds;
        }
    }
    if (round->evaluated) {
        put_counter(file, "objective", round->seconds, round->objective);
        put_counter(file, "relative gap", round->seconds, round->relative_gap);
    }
    return fflush(file->file) == 0 && !ferror(file->file) ? PARLEY_OK
                                                          : pl_fail_file(error, file->path, "write the trace");
}

parley_status pl_span_file_divide(pl_span_file *file, unsigned workers,
                                  unsigned (*first)(unsigned workers, unsigned ranks, unsigned rank),
                                  parley_error *error) {
    unsigned *rank = pl_realloc(file->rank, workers, sizeof *rank);
    file->rank = rank ? rank : file->rank;
    double *end = rank ? pl_realloc(file->worker_end, workers, sizeof *end) : NULL;
    if (!end)
        return pl_fail_memory(error, "the trace", workers * sizeof *end);
    file->worker_end = end;
    file->workers = workers;
    for (unsigned r = 0; r < file->ranks; r++)
        for (unsigned k = first(workers, file->ranks, r); k < first(workers, file->ranks, r + 1); k++) {
            rank[k] = r;
            end[k] = 0;
            put_name(file, "thread_name", "worker", k, r, 1 + k);
        }
    return PARLEY_OK;
}

parley_status pl_span_file_open(const char *path, unsigned workers, unsigned ranks,
                                unsigned (*first)(unsigned workers, unsigned ranks, unsigned rank), pl_span_file **out,
                                parley_error *error) {
    pl_span_file *file;
    *out = NULL;
    if (!*path)
        return PARLEY_OK;
    parley_status status = pl_take(&file, 1, sizeof *file, "the trace", error);
    if (status != PARLEY_OK)
        return status;
    snprintf(file->path, sizeof file->path, "%s", path);
    file->ranks = ranks;
    status = pl_take(&file->rank_end, ranks, sizeof *file->rank_end, "the trace", error);
    if (status == PARLEY_OK && !(file->file = fopen(path, "w")))
        status = pl_fail_file(error, path, "write the trace");
    if (status != PARLEY_OK) {
        pl_span_file_close(file);
        return status;
    }
    put_names(file);
    status = pl_span_file_divide(file, workers, first, error);
    if (status == PARLEY_OK)
        *out = file;
    else
        pl_span_file_close(file);
    return status;
}

void pl_span_file_close(pl_span_file *file) {
    if (!file)
        return;
    if (file->file) {
        fputs("\n]\n", file->file);
        fclose(file->file);
    }
    pl_free(file->rank);
    pl_free(file->worker_end);
    pl_free(file->rank_end);
    pl_free(file);
}
