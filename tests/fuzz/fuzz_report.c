/* fuzz_report.c: any bytes as a log to report: refused with a sentence that names the log, or finite sums. For the page
 * bad lines are skipped, and what is left is written. */
#define _POSIX_C_SOURCE 200809L /* fmemopen */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "fuzz_check.h"
#include "trace/page.h"
#include "trace/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

/* Makes a page of the log. */
static void read_table(FILE *file) {
    static FILE *nowhere;
    pl_run_table table;
    pl_verdict verdict;
    pl_lines lines = {.file = file, .name = "fuzz"};
    parley_error error = {0};
    nowhere = nowhere ? nowhere : fopen("/dev/null", "w");
    pl_run_table_open(&table, "fuzz");
    parley_status status = pl_run_table_read(&table, &lines, &error);
    if (status == PARLEY_OK)
        status = pl_run_table_finish(&table, &error);
    if (status == PARLEY_OK) {
        pl_verdict_of(&table, &verdict);
        check(verdict.count > 0 && *verdict.sentence[0].text);
        if (pl_page_check(&error) == PARLEY_OK)
            check(pl_page_write(nowhere, "fuzz", &table, 1, 0, &error) == PARLEY_OK);
    } else
        check(strncmp(error.sentence, "fuzz: ", 6) == 0);
    pl_run_table_close(&table);
    pl_lines_close(&lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    pl_report report;
    parley_error error = {0};
    FILE *file = count ? fmemopen((void *)(uintptr_t)bytes, count, "r") : NULL;
    if (!file)
        return 0;
    if (pl_report_of(file, "fuzz", &report, &error) == PARLEY_OK) {
        check(report.rounds > 0 && report.workers > 0 && report.ranks > 0);
        check(isfinite(report.total) && isfinite(report.compute) && isfinite(report.wait));
        for (unsigned k = 0; k < report.workers; k++)
            check(report.worker[k].compute >= 0);
        pl_report_free(&report);
    } else
        check(strncmp(error.sentence, "fuzz: ", 6) == 0 && !report.worker && !report.rank);
    rewind(file);
    read_table(file);
    fclose(file);
    return 0;
}
