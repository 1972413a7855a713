/* fuzz_check.h: what a fuzzer finds to be wrong ends the process, with the condition and its line. */
#ifndef PL_FUZZ_CHECK_H
#define PL_FUZZ_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define check(good) ((good) ? (void)0 : fail_check(__FILE__, __LINE__, #good))

static inline void fail_check(const char *file, int line, const char *condition) {
    fprintf(stderr, "%s:%d: not true: %s\n", file, line, condition);
    abort();
}

#endif
