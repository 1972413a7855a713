/* test_report.c: where the time of a run went, from its log: the parts add up, and each belongs to the right worker and
 * rank. */
#define _POSIX_C_SOURCE 200809L /* mkstemp */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "support.h"
#include "trace/lines.h"
#include "trace/report_numbers.h"

static void the_parts_of_a_run_add_up(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    char path[] = "/tmp/parley-report-XXXXXX", words[256];
    assert_true(close(mkstemp(path)) == 0);
    for (unsigned ranks = 1; ranks <= 3; ranks++) {
        snprintf(words, sizeof words, "preset=cocoa+ local=sdca workers=5 gap=0 rounds=6 log=%s", path);
        parley_settings settings = settings_of(words);
        outcome outcome = {.data = data, .settings = &settings};
        pl_report report;
        parley_error error;
        double compute = 0;
        uint64_t slowest = 0, sent = 0, logical = 0;
        train(&outcome, ranks, 1);
        assert_done(outcome.status[0], &outcome.error[0]);
        assert_done(pl_report_read(path, &report, &error), &error);
        assert_true(report.rounds == 6 && report.workers == 5 && report.ranks == ranks);
        assert_close(report.total, report.setup + report.rounds_seconds, 1e-12);
        assert_true(report.overhead >= 0 && report.exchange >= 0 && report.wait >= 0);
        assert_close(report.overhead, report.exchange + report.wait, 1e-12);
        assert_true(report.master > 0);
        assert_true(report.compute + report.evaluate + report.master + report.overhead >=
                    report.rounds_seconds - 1e-12);
        assert_close(report.slowest, outcome.summary[0].compute_seconds, 1e-9);
        for (unsigned k = 0; k < report.workers; k++) {
            compute = fmax(compute, report.worker[k].compute);
            slowest += report.worker[k].slowest;
            logical += report.worker[k].sent;
            assert_true(report.worker[k].compute > 0);
        }
        for (unsigned r = 0; r < ranks; r++)
            sent += report.rank[r].sent;
        assert_true(compute <= report.slowest && report.slowest <= report.compute);
        assert_int_equal(slowest, report.rounds);
        assert_int_equal(sent, outcome.summary[0].rank_bytes_sent);
        assert_int_equal(logical, outcome.summary[0].bytes_sent);
        assert_true(ranks == 1 ? sent == 0 : sent > 0);
        pl_report_free(&report);
        free_models(&outcome);
    }
    unlink(path);
    parley_data_free(data);
}

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* The report of a log with these lines. */
static pl_report report_of(const char *text) {
    char path[] = "/tmp/parley-report-XXXXXX";
    pl_report report;
    parley_error error;
    assert_true(close(mkstemp(path)) == 0);
    write_file(path, text);
    assert_done(pl_report_read(path, &report, &error), &error);
    unlink(path);
    return report;
}

static const char shared_cores[] =
    "{\"event\":\"start\",\"workers\":3,\"ranks\":3,\"hosts\":[0,0,1],\"cores\":1,\"threads\":1}\n"
    "{\"event\":\"round\",\"round\":1,\"seconds\":9,\"workers\":[{\"compute\":2,\"exchange\":2},{\"compute\":"
    "2.5},{\"compute\":1}],\"ranks\":[{\"cpu\":1.5},{\"cpu\":1.5},{\"cpu\":2}]}\n"
    "{\"event\":\"round\",\"round\":2,\"seconds\":10,\"workers\":[{\"compute\":1},{\"compute\":1},{\"compute\":4}],"
    "\"ranks\":[{\"cpu\":0.5},{\"cpu\":0.5},{\"cpu\":3}]}\n";

static void what_computing_needs_is_shared_out_over_the_cores_of_a_host(void **state) {
    (void)state;
    pl_report report = report_of(shared_cores);
    assert_close(report.slowest, 2.5 + 4.0, 1e-12);
    assert_close(report.compute, 3.0 + 4.0, 1e-12); /* in the first round host 0 needs more for two ranks on its core */
    assert_close(report.exchange, 2.0, 1e-12);
    assert_close(report.wait, 1.0, 1e-12);
    assert_close(report.total, 10.0, 1e-12); /* no stop line: up to the last round */
    assert_true(report.worker[1].slowest == 1 && report.worker[2].slowest == 1);
    pl_report_free(&report);
}

static const char kept_cores[] =
    "{\"event\":\"start\",\"workers\":4,\"ranks\":4,\"hosts\":[0,0,0,0],\"cores\":2,\"threads\":1}\n"
    "{\"event\":\"round\",\"round\":1,\"seconds\":9,\"workers\":[{\"compute\":2},{\"compute\":2},{\"compute\":2},"
    "{\"compute\":2}],\"ranks\":[{\"core\":0,\"cpu\":2,\"master_cpu\":0.5},{\"core\":1,\"cpu\":1,\"master_cpu\":0.25},"
    "{\"core\":0,\"cpu\":3,\"master_cpu\":0.5},{\"core\":1,\"cpu\":1,\"master_cpu\":0.25}]}\n";

static void ranks_that_keep_to_a_core_need_what_they_need_together(void **state) {
    (void)state;
    pl_report report = report_of(kept_cores);
    assert_close(report.compute, 2.0 + 3.0, 1e-12);
    assert_close(report.master, 0.5 + 0.5, 1e-12);
    assert_close(report.overhead, 9.0 - 5.0 - 1.0, 1e-12);
    pl_report_free(&report);
}

/* More processor time than two threads can use in 2 s of local work and 1 s of evaluation, as counting it in ticks may
 * give. The run has no end, so that its setup is what the first round leaves. */
static const char ticks[] = "{\"event\":\"start\",\"workers\":1,\"ranks\":1,\"hosts\":[0],\"cores\":2,\"threads\":2}\n"
                            "{\"event\":\"round\",\"round\":1,\"seconds\":9,\"workers\":[{\"compute\":1,\"wait\":1,"
                            "\"exchange\":0,\"evaluate\":1}"
                            "],\"ranks\":[{\"local\":2,\"cpu\":100,\"evaluate\":1,\"evaluate_cpu\":100}]}\n";

static void processor_time_is_at_most_what_threads_can_use(void **state) {
    (void)state;
    pl_report report = report_of(ticks);
    assert_close(report.setup, 6.0, 1e-12);
    assert_close(report.compute, 2.0, 1e-12);
    assert_close(report.evaluate, 1.0, 1e-12);
    assert_close(report.compute + report.evaluate + report.master + report.overhead, report.rounds_seconds, 1e-12);
    pl_report_free(&report);
}

static void failed_allocations_are_told(void **state) {
    (void)state;
    char path[] = "/tmp/parley-report-XXXXXX";
    parley_status status = PARLEY_NO_MEMORY;
    assert_true(close(mkstemp(path)) == 0);
    write_file(path, shared_cores);
    for (int64_t n = 0; status != PARLEY_OK && n < 5000; n++) {
        pl_report report;
        parley_error error = {0};
        pl_memory_fail_after(n);
        status = pl_report_read(path, &report, &error);
        pl_memory_fail_after(-1);
        assert_true(status == PARLEY_OK || (status == PARLEY_NO_MEMORY && *error.sentence));
        pl_report_free(&report);
    }
    assert_int_equal(status, PARLEY_OK);
    unlink(path);
}

/* A round of 20,000 pinned ranks of one host took minutes when every rank was compared with every other. The alarm ends
 * the program if that returns; the sums say that no rank was left out. */
#define MANY_RANKS 20000
#define MANY_ROUNDS 16
static void a_report_of_many_ranks_ends(void **state) {
    (void)state;
    char path[] = "/tmp/parley-report-XXXXXX";
    pl_report report;
    parley_error error = {0};
    assert_true(close(mkstemp(path)) == 0);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "{\"event\":\"start\",\"workers\":1,\"ranks\":%d,\"hosts\":[0],\"cores\":4}\n", MANY_RANKS);
    for (unsigned i = 1; i <= MANY_ROUNDS; i++) {
        fprintf(file, "{\"event\":\"round\",\"round\":%u,\"seconds\":1e6,\"workers\":[{\"compute\":1}],\"ranks\":[", i);
        for (unsigned r = 0; r < MANY_RANKS; r++)
            fprintf(file, "%s{\"core\":%u,\"cpu\":0.5,\"master_cpu\":0.25}", r ? "," : "", 3u);
        fprintf(file, "]}\n");
    }
    assert_int_equal(fclose(file), 0);
    alarm(60);
    assert_done(pl_report_read(path, &report, &error), &error);
    alarm(0);
    assert_close(report.compute, MANY_ROUNDS * 0.5 * MANY_RANKS, 1e-12);
    assert_close(report.master, MANY_ROUNDS * 0.25 * MANY_RANKS, 1e-12);
    pl_report_free(&report);
    unlink(path);
}

#define START "{\"event\":\"start\",\"workers\":1,\"ranks\":2,\"hosts\":[0,0]}\n"

static void numbers_that_no_run_can_have_are_refused(void **state) {
    (void)state;
    static const char *const logs[][2] = {
        {START "{\"event\":\"round\",\"round\":1,\"workers\":[{\"bytes_sent\":1e300}]}\n",
         "log: line 2 has a number in bytes_sent that no run can have"},
        {START "{\"event\":\"round\",\"round\":1,\"workers\":[{}],\"ranks\":[{\"core\":1e9},{}]}\n",
         "log: line 2 has a number in core that no run can have"},
        {"{\"event\":\"start\",\"ranks\":1,\"hosts\":[-1]}\n{\"event\":\"round\",\"round\":1,\"workers\":[{}]}\n",
         "log: line 2 has a number in hosts"},
        {START "{\"event\":\"round\",\"round\":1,\"workers\":[{}],\"ranks\":[{}]}\n",
         "log: round 1 has 1 ranks, but the run has 2"},
        {START "[1,2]\n", "log: line 2 of the log is damaged: it is not a JSON object"},
        {START "{\"event\"\n" START, "log: line 2 of the log is damaged: "},
    };
    for (unsigned i = 0; i < COUNT(logs); i++) {
        pl_report report;
        parley_error error = {0};
        FILE *file = fmemopen((char *)(uintptr_t)logs[i][0], strlen(logs[i][0]), "r");
        assert_non_null(file);
        assert_int_equal(pl_report_of(file, "log", &report, &error), PARLEY_BAD_INPUT);
        if (!strstr(error.sentence, logs[i][1]))
            print_error("%s\n", error.sentence);
        assert_non_null(strstr(error.sentence, logs[i][1]));
        fclose(file);
    }
}

/* Writes a line of `repeats` times `text` and returns the sentence that refuses it. */
static const char *refusal(const char *text, uint64_t repeats) {
    static parley_error error;
    char path[] = "/tmp/parley-report-XXXXXX";
    pl_report report;
    assert_true(close(mkstemp(path)) == 0);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(START "{\"event\":[", file);
    for (uint64_t i = 0; i < repeats; i++)
        fputs(text, file);
    fputs("\n", file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(pl_report_read(path, &report, &error), PARLEY_BAD_INPUT);
    unlink(path);
    return strchr(error.sentence, ':');
}

static void a_line_that_would_take_gigabytes_is_refused(void **state) {
    (void)state;
    assert_string_equal(refusal("                ", (PL_LONGEST_LOG_LINE >> 4) + 1),
                        ": not a Parley log: line 2 is longer than 67108864 bytes");
    assert_string_equal(refusal("{},", PL_MOST_LINE_VALUES + 1),
                        ": line 2 of the log is damaged: it has more than 2000000 values");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_parts_of_a_run_add_up),
        cmocka_unit_test(what_computing_needs_is_shared_out_over_the_cores_of_a_host),
        cmocka_unit_test(ranks_that_keep_to_a_core_need_what_they_need_together),
        cmocka_unit_test(processor_time_is_at_most_what_threads_can_use),
        cmocka_unit_test(failed_allocations_are_told),
        cmocka_unit_test(a_report_of_many_ranks_ends),
        cmocka_unit_test(numbers_that_no_run_can_have_are_refused),
        cmocka_unit_test(a_line_that_would_take_gigabytes_is_refused),
    };
    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
