/* spans.h: measures where the time of a run goes. Each phase of a round is a span that its rank begins and ends, and
 * workers add measurements of their own work. The log, the summary, pacing and the report use them. The caller supplies
 * the clock, which may be virtual. */
#ifndef PL_SPANS_H
#define PL_SPANS_H

#include <stdbool.h>

#include "base/status.h"
#include "trace/process.h"

typedef enum pl_phase {
    PL_IN_WORK,       /* local steps */
    PL_IN_OFFER,      /* laying out updates, before the barrier */
    PL_IN_BARRIER,    /* waiting for the slowest worker of all ranks */
    PL_IN_EXCHANGE,   /* reducing, proposing, distributing, deciding */
    PL_IN_MASTER,     /* adding up updates and moving v, the computing part of the exchange */
    PL_IN_PROBE,      /* workers follow directions and answer probes, synchronously */
    PL_IN_EVALUATION, /* passes over the data to evaluate the model */
    PL_PHASES
} pl_phase;

/* The work of one worker in a round, in seconds and bytes. */
typedef struct pl_worker_trace {
    double compute, exchange, wait, evaluate;
    uint64_t sent, received;
    /* With an asynchronous exchange: clocks made so far; messages; by how many clocks the slowest worker was behind
     * what this one read, on average and at most. */
    uint64_t clock, messages, most_behind;
    double mean_behind;
    double finished; /* seconds from the beginning of the round to its last clock */
} pl_worker_trace;

/* The work of one rank in a round. Bytes are those of tables that it sent and received. */
typedef struct pl_rank_trace {
    double local, cpu; /* local work: wall-clock and processor seconds */
    double wait, exchange, evaluate;
    double master_cpu, evaluate_cpu; /* processor seconds of adding up updates and moving v, and of evaluation */
    uint64_t sent, received;
    unsigned pinned;    /* 1 + the core to which the rank is pinned; 0 if it is not */
    pl_process process; /* as last read, about once a second; resident 0: it was not */
} pl_rank_trace;

/* The seconds of a round on this rank. */
typedef struct pl_round_times {
    double compute;  /* of the slowest worker of all ranks, including probes */
    double wait;     /* for that worker */
    double exchange; /* the rest, without evaluation */
    double evaluate;
    /* For pacing: local work that grows with H, and everything else except evaluation. */
    double local, rest;
} pl_round_times;

/* A clock: seconds, and processor seconds of this rank. */
typedef struct pl_span_clock {
    double (*now)(void *of), (*cpu)(void *of);
    void *of;
} pl_span_clock;

typedef struct pl_open_span {
    pl_phase phase;
    double began, cpu_began;  /* or when it was last resumed */
    double counted_elsewhere; /* value of *elsewhere when it began */
} pl_open_span;

#define PL_MOST_OPEN 8
typedef struct pl_spans {
    pl_span_clock clock;
    const double *elsewhere; /* processor seconds of the master's part, counted by the engine */
    pl_open_span open[PL_MOST_OPEN];
    unsigned depth;
    double seconds[PL_PHASES], cpu[PL_PHASES]; /* of this round; inner spans do not count for outer ones */
    double ended;                              /* when the last round ended; NaN if there was none */
    double between;                            /* seconds between the last round and this one */
    double computed, fixed;                    /* by this rank's workers; fixed overhead, independent of H */
    double slowest;                            /* the slowest of them */
    pl_worker_trace *worker;                   /* one per hosted worker */
    unsigned hosted;
    pl_rank_trace rank;
} pl_spans;

parley_status pl_spans_open(pl_spans *spans, pl_span_clock clock, const double *elsewhere, unsigned hosted,
                            parley_error *error);
void pl_spans_close(pl_spans *spans);

void pl_spans_begin_round(pl_spans *spans);
/* The time until the next round belongs to no round, because members are opened or the problem changes. */
void pl_spans_interrupt(pl_spans *spans);
void pl_phase_begin(pl_spans *spans, pl_phase phase); /* may be inside another one, which it interrupts */
void pl_phase_end(pl_spans *spans);
/* Worker k computed for `seconds` of the work just ended, of which `fixed` are independent of H. */
void pl_spans_worked(pl_spans *spans, unsigned k, double seconds, double fixed);
/* Counts the processor time of the work just ended that no worker computed for the master: servers had it. */
void pl_spans_served(pl_spans *spans);
/* Fills in the traces of workers and rank. `slowest` is that of all ranks, in seconds. */
pl_round_times pl_spans_end_round(pl_spans *spans, double slowest);

#endif
