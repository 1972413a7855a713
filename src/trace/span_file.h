/* span_file.h: the spans of a run as a file in the Chrome trace format, which Perfetto and chrome://tracing open. Each
 * rank is a process and each of its workers a thread. docs/log.md has the details. */
#ifndef PL_SPAN_FILE_H
#define PL_SPAN_FILE_H

#include "trace/log.h"

typedef struct pl_span_file pl_span_file; /* NULL if none is kept, which every call accepts */

/* "" gives NULL. `first` returns the first worker of a rank, as pl_host_begin does. */
parley_status pl_span_file_open(const char *path, unsigned workers, unsigned ranks,
                                unsigned (*first)(unsigned workers, unsigned ranks, unsigned rank), pl_span_file **out,
                                parley_error *error);
/* From here on there are so many workers. */
parley_status pl_span_file_divide(pl_span_file *file, unsigned workers,
                                  unsigned (*first)(unsigned workers, unsigned ranks, unsigned rank),
                                  parley_error *error);
parley_status pl_span_file_round(pl_span_file *file, const pl_round_trace *round, parley_error *error);
/* A run that is killed leaves a file without its last bracket, which viewers do not need. */
void pl_span_file_close(pl_span_file *file);

#endif
