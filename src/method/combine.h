/* combine.h: how the workers' updates become the next v. A combine runs on the owners of slices of v, which keep its
 * state.
 *
 * A round at the owner: the reduced update arrives as (shrink, change) -> propose a direction -> ask the workers about
 * it -> the accepted step is applied. */
#ifndef PL_COMBINE_H
#define PL_COMBINE_H

#include "method/local.h"

/* A slice [begin, end) of v, and its reduced update. Arrays are indexed by entry of v. */
typedef struct pl_slice {
    uint64_t begin, end;
    double *v;          /* the whole table, of which this rank owns the slice */
    double *change;     /* sum of share x change, in columns of `size` entries */
    double *direction;  /* to be filled in for the slice */
    double shrink;      /* v + change becomes shrink v + change */
    double value;       /* of the objective without its penalty at v, if the solver certifies, */
    double gap;         /* and the distance of the bounds of the optimum that v gives */
    pl_entry_sums sums; /* sums over all of v, the same on all owners, for dot products in `propose` */
} pl_slice;

static inline parley_status pl_slice_sum(const pl_slice *slice, pl_entry_sum f, void *context, double *sums,
                                         parley_error *error) {
    return slice->sums.sum(slice->sums.exchange, f, context, sums, error);
}

typedef struct pl_combine pl_combine;

/* For combines that check the whole step while it is taken. */
typedef struct pl_combine_trial {
    /* Computes this owner's scalars at step gamma. */
    void (*measure)(pl_combine *combine, const pl_slice *slice, double gamma, double *scalars);
    /* Judges the sums over workers and owners for step *gamma. Returns true to accept it; otherwise *gamma is the next
     * step to try, or, if there is no other trial, the step to take. */
    bool (*judge)(pl_combine *combine, const double *workers, const double *owners, double *gamma);
} pl_combine_trial;

/* For combines that ask the workers more about their direction within a round: line searches, products. */
typedef struct pl_combine_dialogue {
    /* Reads the answer to its last question: the sums of the workers' scalars, or the reduced table in `change`. Then
     * asks the next question, for which it may change the direction, or accepts a step. Before the first question,
     * `scalars` is NULL, and `question` tries the whole direction. */
    parley_status (*next)(pl_combine *combine, const pl_slice *slice, const double *scalars, pl_question *question,
                          parley_error *error);
    const void *wants; /* what the solvers of its problem must be prepared for, in a struct of theirs */
} pl_combine_dialogue;

/* The update of one worker that the owner of a slice takes by itself. */
typedef struct pl_single {
    const pl_slice *slice; /* v of the slice is *scale times slice->v */
    double *scale;         /* 1 unless `single` itself made it something else */
    const uint32_t *index; /* entries of v */
    const double *value;
    uint64_t count;
    double fraction; /* of the weight of all rows, which the worker has */
    uint64_t clock;  /* from 1 */
} pl_single;

typedef struct pl_combine_type {
    const char *name, *help;
    const pl_problem_type *problem; /* the problem that it is for; NULL: any */
    unsigned needs;                 /* PL_FACT_* of the problem */
    unsigned takes;                 /* PL_GIVES_* and PL_KNOWS_*: traits that the local solver must have */
    bool all_rows;                  /* an update must cover all rows of the worker */
    bool softens;                   /* accepts PL_FACT_SOFTENS instead of PL_FACT_SMOOTH */
    bool whole;                     /* one owner must have all of v */
    bool averages;                  /* updates are weighted by the rows of their workers, not added whole */
    const char *const *settings;
    /* What takes its place if there is one worker only, which then makes the steps itself. NULL: nothing does. */
    const struct pl_combine_type *for_one_worker;
    const pl_combine_trial *trial; /* NULL: the step is always 1 */
    const pl_combine_dialogue *dialogue;
    const pl_addition *addition; /* to models; NULL: there is none */
    /* Returns the member of the same name for a problem of this shape. NULL: always this one. */
    const struct pl_combine_type *(*variant)(const pl_problem *problem);
    /* Rejects settings, or a problem if it is known (otherwise NULL). NULL: accepts all. */
    parley_status (*check)(const parley_settings *settings, const pl_problem *problem, parley_error *error);
    uint64_t (*bytes)(const pl_setup *setup); /* memory that `open` will allocate; NULL: almost none */
    parley_status (*open)(const pl_setup *setup, pl_combine **out, parley_error *error);
    /* Adapts to a changed penalty. NULL: the combine is closed and opened again. */
    void (*renew)(pl_combine *combine);
    uint64_t (*width)(const pl_problem *problem); /* columns of an update; NULL: 1 */
    /* Writes its requests to the solvers in the next round to `round`: sigma, momentum, columns. NULL: none. */
    void (*ask)(const pl_combine *combine, pl_round *round);
    /* Fills in the direction. NULL: it is the reduced update, so that v becomes shrink v + change. */
    parley_status (*propose)(pl_combine *combine, const pl_slice *slice, uint64_t round, parley_error *error);
    /* Takes the update of one worker, for asynchronous exchanges. Returns the first entry of the slice from which all
     * have changed; others have only if they are in the index. NULL: v becomes v + share ((shrink - 1) v + change) or,
     * if there is `propose`, no single update can be taken. */
    uint64_t (*single)(pl_combine *combine, const pl_single *update);
    /* Receives, from time to time, the mean logarithmic decrease of the gap per round, and the objective. NULL: not
     * needed. */
    void (*adjust)(pl_combine *combine, double rate, double objective);
    bool (*stalled)(pl_combine *combine); /* as in local.h */
    /* Simplifies the model w of a run that has reached its target, by changes that cost at most `gap` each. Returns
     * whether there were any. NULL: `reserve` is 0. */
    bool (*polish)(const pl_combine *combine, double gap, double *w);
    void (*state)(pl_combine *combine, pl_state *state);
    void (*close)(pl_combine *combine);
} pl_combine_type;

struct pl_combine {
    const pl_combine_type *type;
    double reserve; /* part of the target that the run leaves for `polish` */
};

/* The share of a worker's update, given its weight and the sum of all weights. Rounding must not move a dual variable
 * out of its domain. */
static inline double pl_combine_share(const pl_combine_type *combine, double weight, double total) {
    return combine->averages && weight < total ? weight / total : 1.0;
}

extern const pl_combine_type pl_combine_add, pl_combine_average, pl_combine_step, pl_combine_newton,
    pl_combine_truncated, pl_combine_proximal, pl_combine_lbfgs, pl_combine_exact, pl_combine_sum,
    pl_combine_step_optimiser, pl_combine_own_steps;
extern const pl_combine_type *const pl_combines[];
extern const unsigned pl_combines_count;

#endif
