/* report.h: where the time of a run went, from its log. */
#ifndef PL_REPORT_H
#define PL_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#define PL_REPORT_NAME 64

typedef struct pl_report_worker {
    double compute, wait, exchange, evaluate; /* seconds */
    uint64_t slowest;                         /* rounds in which it was the slowest */
    uint64_t sent, received;                  /* bytes, were it on a machine of its own */
} pl_report_worker;

typedef struct pl_report_rank {
    unsigned host;
    double local, cpu, wait, exchange, evaluate;
    uint64_t sent, received; /* bytes, really */
} pl_report_rank;

/* The split: total = setup + compute + wait + exchange + evaluate + rest. */
typedef struct pl_report {
    char preset[PL_REPORT_NAME], local[PL_REPORT_NAME], combine[PL_REPORT_NAME], exchange_name[PL_REPORT_NAME],
        engine[PL_REPORT_NAME], status[PL_REPORT_NAME]; /* status "": the run was killed, or goes on */
    uint64_t rounds;
    unsigned workers, ranks, threads, cores;
    double total, setup, wait, exchange, evaluate, rest;
    double compute;  /* of the slowest worker, added up over rounds */
    double overhead; /* total - compute */
    /* What computing must take where ranks share cores: in each round, on each host, the time that the ranks' processor
     * seconds need, spread evenly over its cores, and at least that of the rank that has most to do. NaN: the log does
     * not say. */
    double needed;
    pl_report_worker *worker;
    pl_report_rank *rank;
} pl_report;

parley_status pl_report_read(const char *path, pl_report *out, parley_error *error);
void pl_report_free(pl_report *report);

#endif
