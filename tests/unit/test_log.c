/* test_log.c: lines of the log are JSON for any numbers, and give their values. */
#define _POSIX_C_SOURCE 200809L /* mkstemp */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"
#include "trace/lines.h"
#include "trace/log.h"

/* Seconds are written to the nanosecond up to a billion. Larger values, infinities and NaN are written as reals. */
static const double seconds[] = {
    0,    1e-10, 4.9e-10,   5.1e-10, 0.1,   0.9999999996, 1.9999999999, 59.999999999, -2e-7,    -1e-12,
    -3.5, 1e6,   999999999, 1e9,     1e300, DBL_MIN,      NAN,          INFINITY,     -INFINITY};
static const double reals[] = {0, 1, -1, 0.1, 1e-300, 1.7976931348623157e308, 1.2345678901234567e17, NAN, INFINITY};

enum { SECONDS = sizeof seconds / sizeof *seconds, REALS = sizeof reals / sizeof *reals };

static void assert_told(const json_t *line, const char *key, double value, double off) {
    double told = pl_line_number(line, key);
    if (isfinite(value))
        assert_true(fabs(told - value) <= off);
    else
        assert_true(json_is_null(json_object_get(line, key)) && isnan(told));
}

static void numbers_are_told_as_they_are(void **state) {
    (void)state;
    char path[] = "/tmp/parley-log-XXXXXX";
    parley_error error;
    parley_status status = PARLEY_OK;
    pl_log *log;
    bool goes_on;
    assert_true(close(mkstemp(path)) == 0);
    assert_done(pl_log_open(path, 0, &log, &goes_on, &error), &error);
    for (unsigned i = 0; i < SECONDS; i++) {
        double real = reals[i % REALS];
        pl_worker_trace workers[2] = {{.compute = seconds[i], .sent = UINT64_MAX / 2}, {.wait = seconds[i]}};
        pl_rank_trace ranks[2] = {{.cpu = seconds[i]}, {.pinned = 4, .master_cpu = seconds[i], .received = 7}};
        pl_pace_trace pace = {.why = "first", .seconds = seconds[i], .fall = real};
        pl_round_trace round = {.round = i + 1,
                                .seconds = seconds[i],
                                .objective = real,
                                .estimate = real,
                                .pace = i % 2 ? &pace : NULL,
                                .local_steps = i % 3,
                                .validation = real,
                                .workers = 2,
                                .worker = workers,
                                .ranks = 2,
                                .rank = ranks};
        assert_done(pl_log_round(log, &round, &error), &error);
    }
    pl_log_close(log);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    pl_lines lines = {.file = file, .name = path};
    for (unsigned i = 0; i < SECONDS; i++) {
        json_t *line = pl_lines_next(&lines, &status, &error);
        assert_non_null(line);
        const json_t *workers = json_object_get(line, "workers"), *ranks = json_object_get(line, "ranks");
        const json_t *pace = json_object_get(line, "pace");
        double real = reals[i % REALS], off = fabs(seconds[i]) < 1e9 ? 0.51e-9 + 1e-16 * fabs(seconds[i]) : 0;
        assert_int_equal(json_integer_value(json_object_get(line, "round")), i + 1);
        assert_told(line, "seconds", seconds[i], off);
        assert_told(json_array_get(workers, 0), "compute", seconds[i], off);
        assert_told(json_array_get(workers, 1), "wait", seconds[i], off);
        assert_told(json_array_get(ranks, 0), "cpu", seconds[i], off);
        assert_told(json_array_get(ranks, 1), "master_cpu", seconds[i], off);
        assert_told(line, "objective", real, 0);
        if (isnan(real))
            assert_null(json_object_get(line, "estimate"));
        else
            assert_told(line, "estimate", real, 0);
        assert_told(line, "local_steps", i % 3 ? i % 3 : NAN, 0);
        assert_int_equal(json_integer_value(json_object_get(json_array_get(workers, 0), "bytes_sent")), UINT64_MAX / 2);
        assert_int_equal(json_integer_value(json_object_get(json_array_get(ranks, 1), "core")), 3);
        assert_null(json_object_get(json_array_get(ranks, 0), "core"));
        assert_true(i % 2 ? json_is_object(pace) : json_is_null(pace));
        if (i % 2) {
            assert_told(pace, "seconds", seconds[i], off);
            assert_told(pace, "fall", real, 0);
        }
        if (isnan(real))
            assert_null(json_object_get(line, "validation"));
        else
            assert_told(line, "validation", real, 0);
        json_decref(line);
    }
    assert_null(pl_lines_next(&lines, &status, &error));
    assert_done(status, &error);
    pl_lines_close(&lines);
    fclose(file);
    unlink(path);
}

static void a_full_disk_is_told(void **state) {
    (void)state;
    parley_error error = {0};
    pl_log *log;
    bool goes_on;
    if (access("/dev/full", W_OK) != 0)
        skip();
    assert_done(pl_log_open("/dev/full", 0, &log, &goes_on, &error), &error);
    assert_int_equal(pl_log_round(log, &(pl_round_trace){.round = 1}, &error), PARLEY_NO_FILE);
    assert_non_null(strstr(error.sentence, "/dev/full"));
    pl_log_close(log);
}

/* A run that is resumed looks for the lines of its log before the checkpoint, but not in a pipe. */
static void a_pipe_is_not_read(void **state) {
    (void)state;
    parley_error error = {0};
    int ends[2];
    char path[32], line[1024] = "";
    pl_log *log;
    bool goes_on;
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
    alarm(20); /* ends this program if it waits for the pipe */
    assert_done(pl_log_open(path, 5, &log, &goes_on, &error), &error);
    alarm(0);
    assert_false(goes_on);
    assert_done(pl_log_round(log, &(pl_round_trace){.round = 6}, &error), &error);
    pl_log_close(log);
    assert_true(read(ends[0], line, sizeof line - 1) > 0);
    assert_non_null(strstr(line, "\"round\":6"));
    close(ends[0]);
    close(ends[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_told_as_they_are),
        cmocka_unit_test(a_full_disk_is_told),
        cmocka_unit_test(a_pipe_is_not_read),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
