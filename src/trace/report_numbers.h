/* report_numbers.h: where the time of a run went, computed from its log. */
#ifndef PL_REPORT_NUMBERS_H
#define PL_REPORT_NUMBERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

#define PL_REPORT_NAME 64

typedef struct pl_report_worker {
    double compute, wait, exchange, evaluate; /* seconds */
    uint64_t slowest;                         /* rounds in which it was the slowest */
    uint64_t sent, received;                  /* bytes if it ran on its own machine */
} pl_report_worker;

typedef struct pl_report_rank {
    unsigned host;
    double core; /* to which it is pinned; NaN if it is not */
    double local, cpu, wait, exchange, evaluate;
    double master_cpu, evaluate_cpu;
    uint64_t sent, received; /* bytes that it sent and received */
} pl_report_rank;

/* total = setup + rounds, rounds = compute + evaluate + master + overhead, overhead = exchange + wait. */
typedef struct pl_report {
    char preset[PL_REPORT_NAME], local[PL_REPORT_NAME], combine[PL_REPORT_NAME], exchange_name[PL_REPORT_NAME],
        engine[PL_REPORT_NAME], status[PL_REPORT_NAME]; /* status is "" if the run was killed or is still running */
    uint64_t rounds;
    unsigned workers, ranks, threads, cores; /* workers: the most that there were */
    bool adapts;                             /* the workers may change */
    double total, setup, rounds_seconds;
    /* The slowest worker's seconds of each round. If ranks share cores, at least the processor seconds that the most
     * loaded core needs: ranks pinned to a core add up there, and others spread evenly over the cores of their host. */
    double compute;
    double slowest;  /* wall-clock seconds of the slowest worker of each round */
    double evaluate; /* as seen by rank 0, or as needed by the most loaded core */
    double master;   /* adding up updates and moving v, as needed by the most loaded core */
    double overhead; /* the rest of the rounds */
    double exchange; /* part of overhead: exchange on rank 0, without the master's part and the computing of others */
    double wait;     /* the rest of overhead */
    pl_report_worker *worker;
    pl_report_rank *rank;
    /* While the log is read: whether it has begun, the hosts of the ranks, the name of a number that is out of range,
     * and the sums of a host's cores. */
    bool started;
    json_t *hosts;
    const char *strange;
    double *core_sum;
    unsigned known_cores;
} pl_report;

parley_status pl_report_read(const char *path, pl_report *out, parley_error *error);
/* The same from an open file; `path` is for messages. */
parley_status pl_report_of(FILE *file, const char *path, pl_report *out, parley_error *error);
/* The same line by line: after all lines, `finish` makes the parts add up. */
parley_status pl_report_line(pl_report *report, const json_t *line, const char *path, uint64_t number,
                             parley_error *error);
void pl_report_finish(pl_report *report);
void pl_report_free(pl_report *report);

#endif
