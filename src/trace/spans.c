/* spans.c: a stack of open phases. A phase inside another one stops the clock of the outer one, so that the phases of a
 * round add up to the round. */
#include "trace/spans.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

parley_status pl_spans_open(pl_spans *spans, pl_span_clock clock, const double *elsewhere, unsigned hosted,
                            parley_error *error) {
    *spans = (pl_spans){.clock = clock, .elsewhere = elsewhere, .hosted = hosted, .ended = NAN};
    return pl_take(&spans->worker, hosted, sizeof *spans->worker, "the times of workers", error);
}

void pl_spans_close(pl_spans *spans) {
    pl_free(spans->worker);
    *spans = (pl_spans){0};
}

void pl_spans_interrupt(pl_spans *spans) { spans->ended = NAN; }

void pl_spans_begin_round(pl_spans *spans) {
    spans->between = isnan(spans->ended) ? 0.0 : spans->clock.now(spans->clock.of) - spans->ended;
    memset(spans->seconds, 0, sizeof spans->seconds);
    memset(spans->cpu, 0, sizeof spans->cpu);
    memset(spans->worker, 0, spans->hosted * sizeof *spans->worker);
    spans->computed = spans->fixed = spans->slowest = 0;
    spans->rank = (pl_rank_trace){.pinned = spans->rank.pinned};
}

/* Reading processor time is a system call, so it is done only for phases that report it. */
static bool counts_cpu(pl_phase phase) {
    return phase == PL_IN_WORK || phase == PL_IN_MASTER || phase == PL_IN_EVALUATION;
}

static void resume(pl_spans *spans, pl_open_span *span, double now) {
    span->began = now;
    if (counts_cpu(span->phase))
        span->cpu_began = spans->clock.cpu(spans->clock.of);
    span->counted_elsewhere = *spans->elsewhere;
}

/* What the engine counts for the master inside such a phase is in the phase's own time already. */
static void pause(pl_spans *spans, const pl_open_span *span, double now) {
    double counted = *spans->elsewhere - span->counted_elsewhere;
    spans->seconds[span->phase] += now - span->began;
    if (!counts_cpu(span->phase))
        return;
    spans->cpu[span->phase] += spans->clock.cpu(spans->clock.of) - span->cpu_began;
    if (span->phase == PL_IN_MASTER || span->phase == PL_IN_EVALUATION)
        spans->cpu[PL_IN_MASTER] -= counted;
}

void pl_phase_begin(pl_spans *spans, pl_phase phase) {
    double now = spans->clock.now(spans->clock.of);
    if (spans->depth > 0)
        pause(spans, &spans->open[spans->depth - 1], now);
    pl_open_span *span = &spans->open[spans->depth++];
    span->phase = phase;
    resume(spans, span, now);
}

void pl_phase_end(pl_spans *spans) {
    double now = spans->clock.now(spans->clock.of);
    pause(spans, &spans->open[--spans->depth], now);
    if (spans->depth > 0)
        resume(spans, &spans->open[spans->depth - 1], now);
}

void pl_spans_worked(pl_spans *spans, unsigned k, double seconds, double fixed) {
    double compute = fmin(seconds, spans->seconds[PL_IN_WORK]);
    spans->worker[k].compute = compute;
    spans->slowest = fmax(spans->slowest, compute);
    spans->computed += compute;
    spans->fixed += fmin(fixed, compute);
}

void pl_spans_served(pl_spans *spans) {
    double served = fmax(0.0, spans->cpu[PL_IN_WORK] - spans->computed);
    spans->cpu[PL_IN_WORK] -= served;
    spans->cpu[PL_IN_MASTER] += served;
}

pl_round_times pl_spans_end_round(pl_spans *spans, double slowest) {
    const double *seconds = spans->seconds;
    double until = seconds[PL_IN_WORK] + seconds[PL_IN_BARRIER]; /* when all workers were done */
    double probe = seconds[PL_IN_PROBE], evaluate = seconds[PL_IN_EVALUATION];
    double exchange = seconds[PL_IN_OFFER] + seconds[PL_IN_EXCHANGE] + seconds[PL_IN_MASTER];
    double fixed = spans->computed > 0 ? spans->fixed / spans->computed * until : 0.0;
    for (unsigned k = 0; k < spans->hosted; k++) {
        pl_worker_trace *worker = &spans->worker[k];
        worker->wait = until - worker->compute;
        worker->compute += probe;
        worker->exchange = exchange;
        worker->evaluate = evaluate;
    }
    pl_rank_trace *rank = &spans->rank;
    rank->local = seconds[PL_IN_WORK] + probe;
    rank->cpu = spans->cpu[PL_IN_WORK] + probe;
    rank->wait = until - spans->slowest;
    rank->exchange = exchange;
    rank->evaluate = evaluate;
    rank->evaluate_cpu = spans->cpu[PL_IN_EVALUATION];
    rank->master_cpu = fmax(0.0, spans->cpu[PL_IN_MASTER] + *spans->elsewhere);
    spans->ended = spans->clock.now(spans->clock.of);
    return (pl_round_times){.compute = slowest + probe,
                            .wait = fmax(0.0, until - slowest),
                            .exchange = exchange,
                            .evaluate = evaluate,
                            .local = until - fixed,
                            .rest = exchange + probe + spans->between + fixed};
}
