/* page.h: one self-contained HTML page about runs. The page itself is made by report/build.mjs from the sources in
 * report/ and is part of the program; here it gets its data. docs/log.md describes the data. */
#ifndef PL_PAGE_H
#define PL_PAGE_H

#include <stddef.h>
#include <stdio.h>

#include "trace/run_table.h"

/* The page without data, or "" if the program was built without Node.js. A generated file defines it. */
extern const unsigned char pl_page_bundle[];
extern const size_t pl_page_bundle_bytes;

/* Fails with a remedy if the program has no page. */
parley_status pl_page_check(parley_error *error);
/* Writes the page of finished tables. `reload` > 0: the page loads itself again after so many seconds. `path` is for
 * messages. */
parley_status pl_page_write(FILE *file, const char *path, const pl_run_table *tables, unsigned count, double reload,
                            parley_error *error);

#endif
