/* run_table.h: the log of a run (docs/log.md) as columns with one entry per round, for the page and the plots of
 * `parley report`. It is made for logs that are still written, cut short or damaged: a line that cannot be used is
 * remembered and skipped. */
#ifndef PL_RUN_TABLE_H
#define PL_RUN_TABLE_H

#include <jansson.h>

#include "trace/lines.h"
#include "trace/report_numbers.h"

/* The keys of the log that become columns. Others are skipped. */
typedef struct pl_columns {
    const char *const *keys;
    unsigned key_count;
    unsigned members;  /* workers, ranks, or 1 for the rounds themselves */
    double **value;    /* [member * key_count + key]: an entry per round; NULL: it never had a value */
    unsigned allotted; /* members for which `value` has room */
} pl_columns;

#define PL_SKIPPED_SHOWN 20
typedef struct pl_skipped {
    uint64_t line;
    char why[160];
} pl_skipped;

/* A run from its start line to its stop line. A path has one for each problem. */
typedef struct pl_run_part {
    uint64_t first;               /* its first round in the columns */
    json_t *start, *stop, *model; /* NULL: not there */
} pl_run_part;

typedef struct pl_run_table {
    const char *name;
    uint64_t rounds, room;
    pl_columns round, worker, rank;
    pl_run_part *part;
    unsigned parts, parts_room;
    pl_skipped skipped[PL_SKIPPED_SHOWN];
    uint64_t skipped_count;
    pl_report sums;   /* of the lines so far; owns what `report` points to */
    pl_report report; /* finished by pl_run_table_finish */
} pl_run_table;

void pl_run_table_open(pl_run_table *table, const char *name);
void pl_run_table_close(pl_run_table *table);
/* Adds the lines that the file has by now. A last line that is not complete is left for the next call. Fails only if
 * memory runs out or the file cannot be read. `lines` is kept between calls. */
parley_status pl_run_table_read(pl_run_table *table, pl_lines *lines, parley_error *error);
/* Reads a whole file and finishes it. Close the table also after a failure. */
parley_status pl_run_table_load(pl_run_table *table, const char *path, parley_error *error);
/* Finishes the numbers of the report; later calls of pl_run_table_read may add more rounds. Fails if the log has no
 * start line. */
parley_status pl_run_table_finish(pl_run_table *table, parley_error *error);

/* A number of the log; NaN if there is none. The second is the latest that there is. */
double pl_run_table_round(const pl_run_table *table, const char *key, uint64_t round);
double pl_run_table_latest(const pl_run_table *table, const char *key);
double pl_run_table_member(const pl_columns *columns, unsigned member, const char *key, uint64_t round);
const json_t *pl_run_table_start(const pl_run_table *table); /* the last start line and stop line, or NULL */
const json_t *pl_run_table_stop(const pl_run_table *table);

#endif
