/* combine.h: how the workers' updates become the next v. Runs at whoever owns a slice of v and keeps the owner's state
 * there.
 *
 * A round at the owner: the reduced update arrives as (shrink, change) -> propose a direction -> trial steps are
 * measured by scalars and judged -> the accepted step is applied. */
#ifndef PL_COMBINE_H
#define PL_COMBINE_H

#include "local/local.h"

/* A slice of v, [begin, end), and what was reduced for it. Arrays are addressed by entry of v. */
typedef struct pl_slice {
    uint64_t begin, end;
    double *v;            /* whole table; this rank owns the slice */
    double *change;       /* sum of share x change; columns of `size` entries */
    double *direction;    /* to be filled for the slice */
    double shrink;        /* v + change becomes shrink v + change */
    double value;         /* of the objective without its penalty at v, where the solver certifies */
    const double *metric; /* of the local solver, by entry; NULL: the problem's own */
    pl_entry_sums sums;   /* over all of v, at all owners alike: the dot products of a propose */
} pl_slice;

static inline parley_status pl_slice_sum(const pl_slice *slice, pl_entry_sum f, void *context, double *sums,
                                         parley_error *error) {
    return slice->sums.sum(slice->sums.exchange, f, context, sums, error);
}

typedef enum pl_measure { PL_OWN_NORM, PL_OWN_PENALTY, PL_OWN_SLOPE } pl_measure;

typedef struct pl_combine pl_combine;

/* Combines that look at a step before they take it. */
typedef struct pl_combine_trial {
    /* This owner's scalars at step gamma. */
    void (*measure)(pl_combine *combine, const pl_slice *slice, double gamma, double *scalars);
    /* Looks at the sums over workers and owners for step *gamma: true accepts it, else *gamma is the next to try.
     * Without a search it is asked once, of step 1, and leaves the step to take. */
    bool (*judge)(pl_combine *combine, const double *workers, const double *owners, double *gamma);
} pl_combine_trial;

/* Combines that search: the workers follow the direction and are probed along it. */
typedef struct pl_combine_search {
    bool slopes_only; /* trial steps are judged by slopes, not by values */
    /* Are steps not on a line? Then `bend` makes the direction anew for a trial step gamma; it is spread and followed
     * again, and probed at 1. NULL: steps are gamma x direction. */
    bool (*bends)(const pl_combine *combine);
    parley_status (*bend)(pl_combine *combine, const pl_slice *slice, double gamma, parley_error *error);
} pl_combine_search;

/* Combines that use the curvature of the objective. */
typedef struct pl_combine_curvature {
    uint64_t (*width)(const pl_problem *problem); /* columns of an update: the gradient, and what follows it */
    bool diagonal;                                /* the second column is the diagonal of the curvature */
    /* Does `direction` hold a vector whose product with the curvature is asked for? Then the workers make it, its sum
     * is put in the place of `change`, and `next` either asks again or leaves the direction. NULL: never. */
    bool (*asks)(const pl_combine *combine);
    parley_status (*next)(pl_combine *combine, const pl_slice *slice, parley_error *error);
} pl_combine_curvature;

typedef struct pl_combine_type {
    const char *name, *help;
    const pl_problem_type *problem; /* that it is for; NULL: any */
    unsigned needs;                 /* PL_FACT_* of the problem */
    unsigned takes;                 /* PL_GIVES_* and PL_KNOWS_*: traits that it needs of the local solver */
    bool all_rows;                  /* an update must be of every row of the worker */
    bool softens;                   /* takes PL_FACT_SOFTENS in place of PL_FACT_SMOOTH */
    bool whole;                     /* one owner must see all of v */
    const char *const *settings;
    const pl_combine_trial *trial; /* NULL: a step of 1 is always taken */
    const pl_combine_search *search;
    const pl_combine_curvature *curvature;
    /* The member of the same name for a problem of this shape; NULL: this one for all. */
    const struct pl_combine_type *(*variant)(const pl_problem *problem);
    /* Refuses settings, or a problem once that is known (else NULL). NULL: takes all. */
    parley_status (*check)(const parley_settings *settings, const pl_problem *problem, parley_error *error);
    uint64_t (*bytes)(const pl_setup *setup); /* that open will allocate; NULL: next to none */
    parley_status (*open)(const pl_setup *setup, pl_combine **out, parley_error *error);
    /* Says in `round` what it asks of the solvers in the next round: sigma, momentum, curved, softness. NULL: nothing.
     */
    void (*ask)(const pl_combine *combine, pl_round *round);
    /* The part that a worker's update counts for, given its weight and the sum of all; NULL: 1. */
    double (*share)(const pl_combine *combine, double weight, double total);
    /* Fills in the direction; NULL: it is the reduced update, so that v becomes shrink v + change. */
    parley_status (*propose)(pl_combine *combine, const pl_slice *slice, uint64_t round, parley_error *error);
    /* Told now and then how fast the gap falls: its mean logarithmic decrease per round. NULL: does not care. */
    void (*adjust)(pl_combine *combine, double rate);
    bool (*stalled)(pl_combine *combine); /* as in local.h */
    void (*state)(pl_combine *combine, pl_state *state);
    void (*close)(pl_combine *combine);
} pl_combine_type;

struct pl_combine {
    const pl_combine_type *type;
};

extern const pl_combine_type pl_combine_add, pl_combine_average, pl_combine_step, pl_combine_newton,
    pl_combine_truncated, pl_combine_lbfgs;
extern const pl_combine_type *const pl_combines[];
extern const unsigned pl_combines_count;

#endif
