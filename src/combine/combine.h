/* combine.h: how the workers' updates become the next v. Runs at whoever owns a slice of v and keeps the owner's state
 * there.
 *
 * A round at the owner: the reduced update arrives as (shrink, change) -> propose a direction -> where it searches,
 * trial steps are measured by scalars and judged -> the accepted step is applied. */
#ifndef PL_COMBINE_H
#define PL_COMBINE_H

#include "local/local.h"

/* A slice of v, [begin, end), and what was reduced for it. Arrays are addressed by entry of v. */
typedef struct pl_slice pl_slice;

/* Adds up to PL_OWN_SCALARS sums over entries [begin, end) of v. */
typedef void (*pl_entry_sum)(void *context, uint64_t begin, uint64_t end, double *sums);

struct pl_slice {
    uint64_t begin, end;
    double *v;            /* whole table; this rank owns the slice */
    double *change;       /* sum of share x change; columns of `size` entries */
    double *direction;    /* to be filled for the slice */
    double shrink;        /* v + change becomes shrink v + change */
    double loss;          /* sum q loss at v, where the solver certifies */
    const double *metric; /* of the local solver, by entry; NULL: pl_metric */
    /* Sums of f over all of v, at all owners alike: the dot products of a propose. */
    parley_status (*sum)(const pl_slice *slice, pl_entry_sum f, void *context, double *sums, parley_error *error);
    void *exchange; /* for `sum` */
};

typedef enum pl_measure { PL_OWN_NORM, PL_OWN_PENALTY, PL_OWN_SLOPE, PL_OWN_SCALARS } pl_measure;

typedef struct pl_combine pl_combine;

typedef struct pl_combine_type {
    const char *name, *help;
    unsigned needs;
    const char *const *settings;
    uint64_t most_entries;                /* of v that it takes for several classes; 0: any number */
    bool whole;                           /* one owner must see all of v */
    bool searches;                        /* the workers follow the direction and are probed */
    bool slopes_only;                     /* and trial steps are judged by slopes, not by values */
    bool diagonal;                        /* the update's second column is the diagonal of the curvature */
    uint64_t (*width)(const pl_glm *glm); /* columns of an update; NULL: 1 */
    /* The member of the same name for a problem of this shape; NULL: this one for all. */
    const struct pl_combine_type *(*variant)(const pl_glm *glm);
    uint64_t (*bytes)(const pl_setup *setup); /* that open will allocate; NULL: next to none */
    parley_status (*open)(const pl_setup *setup, pl_combine **out, parley_error *error);
    double (*sigma)(const pl_combine *combine);    /* asked of the solvers in the next round; NULL: 1 */
    double (*momentum)(const pl_combine *combine); /* likewise; NULL: 0 */
    bool (*curved)(const pl_combine *combine);     /* likewise, is the curvature wanted? NULL: yes */
    double (*softness)(const pl_combine *combine); /* likewise, of losses that soften; NULL: 0 */
    /* The part that a worker's update counts for, given its weight and the sum of all; NULL: 1. */
    double (*share)(const pl_combine *combine, double weight, double total);
    parley_status (*propose)(pl_combine *combine, const pl_slice *slice, uint64_t round, parley_error *error);
    /* Does `direction` hold a vector whose product with the curvature is asked for? Then the workers make it, its sum
     * is put in the place of `change`, and `next` either asks again or leaves the direction. NULL: never. */
    bool (*asks)(const pl_combine *combine);
    parley_status (*next)(pl_combine *combine, const pl_slice *slice, parley_error *error);
    /* Are steps not on a line? Then `bend` makes the direction anew for a trial step gamma; it is spread and followed
     * again, and probed at 1. NULL: steps are gamma x direction. */
    bool (*bends)(const pl_combine *combine);
    parley_status (*bend)(pl_combine *combine, const pl_slice *slice, double gamma, parley_error *error);
    /* This owner's scalars at step gamma; NULL: none. */
    void (*measure)(pl_combine *combine, const pl_slice *slice, double gamma, double *scalars);
    /* Looks at the sums over workers and owners for step *gamma: true accepts it, else *gamma is the next to try.
     * Without a search it is asked once, of step 1, and leaves the step to take. NULL: a step of 1 is always accepted.
     */
    bool (*judge)(pl_combine *combine, const double *workers, const double *owners, double *gamma);
    /* Told now and then how fast the gap falls: its mean logarithmic decrease per round. NULL: does not care. */
    void (*adjust)(pl_combine *combine, double rate);
    bool (*stalled)(pl_combine *combine);
    void (*state)(pl_combine *combine, pl_state *state); /* as in local.h */
    void (*close)(pl_combine *combine);
} pl_combine_type;

struct pl_combine {
    const pl_combine_type *type;
};

/* The propose of combines that take the reduced update as it is: v becomes shrink v + change. */
parley_status pl_propose_change(pl_combine *combine, const pl_slice *slice, uint64_t round, parley_error *error);

/* Are there so few columns that their square is a small matrix? Then `newton` goes by Cholesky. */
bool pl_few_columns(const pl_glm *glm);
bool pl_is_filled(const pl_glm *glm); /* a good part of the matrix: a tenth */

extern const pl_combine_type pl_combine_add, pl_combine_average, pl_combine_step, pl_combine_newton,
    pl_combine_truncated, pl_combine_lbfgs;
extern const pl_combine_type *const pl_combines[];
extern const unsigned pl_combines_count;

#endif
