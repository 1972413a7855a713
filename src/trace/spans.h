/* spans.h: where the time of a run goes. Each phase of a round is a span that its rank begins and ends; what a worker
 * measured of its own work stands beside it. The log, the summary, pacing and the report are made from these. Time
 * comes from a clock that the caller gives, which may be a virtual one. */
#ifndef PL_SPANS_H
#define PL_SPANS_H

#include <stdbool.h>

#include "base/status.h"

typedef enum pl_phase {
    PL_IN_WORK,       /* local steps */
    PL_IN_OFFER,      /* laying updates out, before the barrier */
    PL_IN_BARRIER,    /* waiting for the slowest worker of all ranks */
    PL_IN_EXCHANGE,   /* reducing, proposing, spreading, deciding */
    PL_IN_MASTER,     /* adding up updates and moving v: the part of the exchange that is computing */
    PL_IN_PROBE,      /* workers follow directions and answer probes, in step with each other */
    PL_IN_EVALUATION, /* passes over the data that say how good the model is */
    PL_PHASES
} pl_phase;

/* What one worker did in a round; seconds and bytes. */
typedef struct pl_worker_trace {
    double compute, exchange, wait, evaluate;
    uint64_t sent, received;
} pl_worker_trace;

/* What one rank did in a round; bytes are those of tables that it really sent and received. */
typedef struct pl_rank_trace {
    double local, cpu; /* local work: seconds, and those of processors */
    double wait, exchange, evaluate;
    double master_cpu, evaluate_cpu; /* processor seconds of adding up updates and moving v, and of evaluating */
    uint64_t sent, received;
    unsigned pinned; /* 1 + the core that the rank is pinned to; 0: it is not */
} pl_rank_trace;

/* The seconds of a round, for its rank. */
typedef struct pl_round_times {
    double compute;  /* of the slowest worker of all ranks, probes included */
    double wait;     /* for that worker */
    double exchange; /* the rest but for evaluation */
    double evaluate;
    /* For pacing: local work that grows with H, and everything else but evaluation. */
    double local, rest;
} pl_round_times;

/* A clock: seconds, and processor seconds of this rank. */
typedef struct pl_span_clock {
    double (*now)(void *of), (*cpu)(void *of);
    void *of;
} pl_span_clock;

typedef struct pl_open_span {
    pl_phase phase;
    double began, cpu_began;  /* or when it was last gone on with */
    double counted_elsewhere; /* what *elsewhere was when it began */
} pl_open_span;

#define PL_MOST_OPEN 8
typedef struct pl_spans {
    pl_span_clock clock;
    const double *elsewhere; /* processor seconds of the master's part that the engine counts itself */
    pl_open_span open[PL_MOST_OPEN];
    unsigned depth;
    double seconds[PL_PHASES], cpu[PL_PHASES]; /* of this round; a span inside another one is not the other one's */
    double ended;                              /* when the last round did; NaN: there was none */
    double between;                            /* seconds between the last round and this one */
    double computed, fixed;                    /* by this rank's workers; of that, overhead independent of H */
    double slowest;                            /* of them */
    pl_worker_trace *worker;                   /* of each hosted worker */
    unsigned hosted;
    pl_rank_trace rank;
} pl_spans;

parley_status pl_spans_open(pl_spans *spans, pl_span_clock clock, const double *elsewhere, unsigned hosted,
                            parley_error *error);
void pl_spans_close(pl_spans *spans);

void pl_spans_begin_round(pl_spans *spans);
void pl_phase_begin(pl_spans *spans, pl_phase phase); /* may be inside another one, which it interrupts */
void pl_phase_end(pl_spans *spans);
/* So many seconds of the work just ended were evaluation. */
void pl_spans_evaluated(pl_spans *spans, double seconds);
/* Worker k says that it computed for so many seconds of the work just ended, of which `fixed` are independent of H. */
void pl_spans_worked(pl_spans *spans, unsigned k, double seconds, double fixed);
/* Fills in the traces of workers and rank. `slowest`: seconds of the slowest worker of all ranks. */
pl_round_times pl_spans_end_round(pl_spans *spans, double slowest);

#endif
