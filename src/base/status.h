/* status.h: a failure is a status and one sentence, which is written where the cause is known. */
#ifndef PL_STATUS_H
#define PL_STATUS_H

#include "parley.h"

/* Records a failure in `error` (which may be NULL) and returns `status`. */
parley_status pl_fail(parley_error *error, parley_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Reports a failed allocation of `bytes` for `what`. */
parley_status pl_fail_memory(parley_error *error, const char *what, uint64_t bytes);

/* Reports a failed call on a file with the text of errno, such as "a.svm: cannot open: No such file or directory". */
parley_status pl_fail_file(parley_error *error, const char *path, const char *action);

/* Reports that another process changed a file before it was read to the end. */
parley_status pl_fail_changed(parley_error *error, const char *path);

#endif
