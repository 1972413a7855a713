/* fuzz_report.c: any bytes as a log to report: refused with a sentence that names the log, or finite sums. */
#define _POSIX_C_SOURCE 200809L /* fmemopen */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "fuzz_check.h"
#include "trace/report_numbers.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

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
    fclose(file);
    return 0;
}
