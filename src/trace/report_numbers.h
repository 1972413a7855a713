/* report_numbers.h: where the time of a run went, from its log. */
#ifndef PL_REPORT_NUMBERS_H
#define PL_REPORT_NUMBERS_H

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
    double core; /* that it keeps to; NaN: to none */
    double local, cpu, wait, exchange, evaluate;
    double master_cpu, evaluate_cpu;
    uint64_t sent, received; /* bytes, really */
} pl_report_rank;

/* The split: total = setup + rounds, rounds = compute + evaluate + master + overhead, overhead = exchange + wait. */
typedef struct pl_report {
    char preset[PL_REPORT_NAME], local[PL_REPORT_NAME], combine[PL_REPORT_NAME], exchange_name[PL_REPORT_NAME],
        engine[PL_REPORT_NAME], status[PL_REPORT_NAME]; /* status "": the run was killed, or goes on */
    uint64_t rounds;
    unsigned workers, ranks, threads, cores;
    double total, setup, rounds_seconds;
    /* Of each round, the slowest worker's; but where ranks share cores, at least what they need of them: the processor
     * seconds of those that keep to a core; of others, spread evenly over the cores of their host. */
    double compute;
    double slowest;  /* worker of each round alone, by the clock */
    double evaluate; /* as rank 0 saw it, or what all need likewise */
    double master;   /* adding up updates and moving v: what all need likewise */
    double overhead; /* what is left of the rounds */
    double exchange; /* of it, what rank 0 saw, but for the master's part and what others computed meanwhile */
    double wait;     /* all else */
    pl_report_worker *worker;
    pl_report_rank *rank;
} pl_report;

parley_status pl_report_read(const char *path, pl_report *out, parley_error *error);
void pl_report_free(pl_report *report);

#endif
