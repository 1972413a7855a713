/* status.h: how a failure travels: a status, and one sentence written where the cause is known. */
#ifndef PL_STATUS_H
#define PL_STATUS_H

#include "parley.h"

/* Records a failure in `error` (which may be NULL) and returns `status`. */
parley_status pl_fail(parley_error *error, parley_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The sentence for a failed allocation of `bytes` for `what`. */
parley_status pl_fail_memory(parley_error *error, const char *what, uint64_t bytes);

/* The sentence for a failed call on a file, with errno's text: "a.svm: cannot open: No such file". */
parley_status pl_fail_file(parley_error *error, const char *path, const char *action);

#endif
