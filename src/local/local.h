/* local.h: what a worker does with its shard between two exchanges.
 *
 * It starts from the shared table v, makes H steps, and offers an update: (shrink, weight, change), meaning that its
 * own copy became shrink v + change. What it changed of its private state (dual variables) stays pending until it is
 * told the step gamma that was accepted; gamma = 0 drops it. */
#ifndef PL_LOCAL_H
#define PL_LOCAL_H

#include "model/problem.h"
#include "shard/saved_state.h"

/* What a local solver is like, as far as combines, exchanges and the loop have to know. */
enum {
    PL_GIVES_CHANGES = 1,       /* its updates are changes of v */
    PL_GIVES_GRADIENTS = 2,     /* its updates are gradients */
    PL_KNOWS_SIGMA = 4,         /* its changes are made by sub-problems that know sigma */
    PL_KNOWS_MOMENTUM = 8,      /* it starts ahead by the round's momentum */
    PL_ESTIMATES_GAP = 16,      /* it fills in PL_SUM_RESIDUAL */
    PL_ONLY_READS_V = 32,       /* and in order, so that several ranks may share one v */
    PL_STEPS_IN_V = 64,         /* it can work with setup->in_place */
    PL_OWNS_COLUMNS = 128,      /* its workers own columns, as setup->columns partitions them */
    PL_EVALUATES_GRADIENT = 256 /* `evaluate` leaves the gradient of all rows in `update` */
};

/* Sums over a worker's rows that travel with its update or answer a probe. */
typedef enum pl_scalar {
    PL_SUM_LOSS,     /* sum q loss(z) at the step probed */
    PL_SUM_SLOPE,    /* its derivative by the step */
    PL_SUM_RESIDUAL, /* estimate of the worker's share of the duality gap, from when its rows were visited */
    PL_SUM_SPREAD,   /* |change - momentum x last change|^2, in the metric of the sub-problem */
    PL_SUM_CHANGE,   /* |change|^2 */
    PL_SUM_TURN,     /* change . last change */
    PL_SCALARS
} pl_scalar;

typedef struct pl_update {
    double shrink, weight;
    uint64_t count;        /* entries that may not be 0 */
    const uint32_t *index; /* rows of v that they belong to, rising; NULL: all of them */
    bool wide;             /* value has a place for every entry of v; else for those alone */
    uint64_t row;          /* entries in a row of v, which is a table laid out by rows; 0 means 1 */
    double *value;
    double scalars[PL_SCALARS];
    double seconds; /* of computing, */
    double fixed;   /* of which fixed overhead per round, independent of H; 0: not known */
    double passes;  /* over the worker's shard that this took */
} pl_update;

/* A round, as the local solvers see it. */
typedef struct pl_round {
    uint64_t number; /* from 1 */
    double epochs;   /* H: passes of each worker over its shard */
    uint64_t steps;  /* H in steps instead; 0: by epochs */
    /* What the combine asks for. */
    double sigma;    /* how much the workers' changes may add up: sigma' of CoCoA+ */
    double momentum; /* how much of the last round's change to start ahead by */
    bool curved;     /* the curvature is wanted, from solvers whose updates have it */
    double softness; /* gradients and probes are of the loss made smooth by this; 0: as it is */
} pl_round;

/* H of a worker that owns `items` rows or columns, in steps. */
static inline double pl_round_steps(const pl_round *round, double items) {
    return round->steps ? (double)round->steps : round->epochs * items;
}

/* What a solver is given to open. */
typedef struct pl_setup {
    const pl_problem *problem;
    pl_team *team;    /* the workers and their rows */
    pl_team *columns; /* the same workers and their columns, rows of `by_column`; NULL unless the solver owns columns */
    const pl_matrix *by_column;
    const parley_settings *settings;
    uint64_t entries;    /* of v */
    uint64_t begin, end; /* of v, owned by this rank */
    uint64_t width;      /* of an update: columns of as many entries as v has */
    const double *first; /* the model where the run begins */
    double target;       /* the gap that ends the run */
    bool searches;       /* the combine will have directions followed and probed, */
    bool slopes_only;    /* for the slopes alone; */
    bool asks;           /* and products with the curvature made */
    bool diagonal;       /* the second column is the diagonal of the curvature */
    bool alone;       /* one worker, whose change is taken whole: it may step in v, and give v for its update's value */
    bool accelerates; /* momentum is asked for */
    bool in_place;    /* v is the workers' common memory: they step in it and offer empty updates */
} pl_setup;

typedef struct pl_local pl_local;

/* Solvers whose steps are searched for along a direction. */
typedef struct pl_local_search {
    /* Prepares probes along `direction`. */
    void (*follow)(pl_local *local, const double *v, const double *direction);
    /* Leaves every hosted worker's sums at v + gamma direction in its update. */
    void (*probe)(pl_local *local, double gamma, pl_update *update);
    /* Leaves every hosted worker's part of (sum q loss'' x x') p, the curvature where it last worked, in its update. */
    void (*product)(pl_local *local, const double *p, pl_update *update);
} pl_local_search;

/* Solvers that can begin elsewhere than at the first model. */
typedef struct pl_local_restart {
    /* Puts v, and what is private, where the model w is, or near it. */
    parley_status (*start)(pl_local *local, const double *w, double *v, parley_error *error);
    /* The problem's penalty is another one now; v stays where it is as far as it can. NULL: the solver is closed and
     * opened again. */
    parley_status (*renew)(pl_local *local, double *v, parley_error *error);
} pl_local_restart;

/* Solvers whose workers can work by themselves, each from its own copy of v, while others are at work: what an
 * asynchronous clock needs. */
typedef struct pl_local_alone {
    /* One round's steps of one hosted worker. */
    parley_status (*work)(pl_local *local, unsigned worker, const pl_round *round, double *v, pl_update *update,
                          parley_error *error);
    /* The entries of v that the worker reads, rising; returns NULL where it reads all of them. */
    const uint32_t *(*reads)(const pl_local *local, unsigned worker, uint64_t *count);
} pl_local_alone;

/* Solvers that certify. */
typedef struct pl_local_certificate {
    /* Does `work` evaluate v itself? Then its update is the gradient at v. NULL: it never does. */
    bool (*certifies)(const pl_local *local);
    /* The latest evaluation again, at the dual point scale x t, for L1 penalties. NULL: no such point is needed. */
    parley_status (*rescale)(pl_local *local, double scale, pl_evaluation *evaluation, parley_error *error);
} pl_local_certificate;

typedef struct pl_local_type {
    const char *name, *help;
    const pl_problem_type *problem; /* that it is for */
    unsigned needs;                 /* PL_FACT_* of the problem */
    unsigned traits;                /* PL_GIVES_* and so on */
    const char *const *settings;    /* optional settings that it reads; ends with NULL */
    const pl_local_search *search;  /* NULL: directions cannot be followed */
    const pl_local_restart *restart;
    const pl_local_certificate *certificate;
    const pl_local_alone *alone; /* NULL: all hosted workers work together */
    /* Refuses settings that do not go together; `in_place` as in pl_setup. NULL: all do. */
    parley_status (*check)(const parley_settings *settings, bool in_place, parley_error *error);
    uint64_t (*entries)(const pl_problem *problem); /* of v; NULL: the model's, problem->size */
    uint64_t (*bytes)(const pl_setup *setup);       /* that open will allocate */
    parley_status (*open)(const pl_setup *setup, pl_local **out, parley_error *error);
    /* One round's steps of all hosted workers from v; updates stay valid until the next call. A solver that certifies
     * fills in `evaluation`. May first solve the free intercept in v, alike on all ranks. */
    parley_status (*work)(pl_local *local, const pl_round *round, double *v, pl_update *update,
                          pl_evaluation *evaluation, parley_error *error);
    /* Evaluates v, and leaves the model that it stands for in w. Where there are dual variables u is v; else see
     * PL_EVALUATES_GRADIENT. */
    parley_status (*evaluate)(pl_local *local, const double *v, double *w, pl_update *update, pl_evaluation *evaluation,
                              parley_error *error);
    double (*evaluate_passes)(const pl_local *local); /* what that costs, in passes over the data */
    /* The hosted worker's change was taken with step gamma. */
    void (*commit)(pl_local *local, unsigned worker, double gamma);
    /* The model that v stands for. May ask other ranks for their parts of it. */
    parley_status (*primal)(const pl_local *local, const double *v, double *w, parley_error *error);
    /* By entry of v, the weight of a squared change in the workers' sub-problems; NULL: the problem's own. */
    const double *(*metric)(const pl_local *local);
    /* The rounds stopped helping; true: something was changed that may help. NULL: nothing ever is. */
    bool (*stalled)(pl_local *local);
    /* Lists what the solver holds between two rounds and cannot make again, to be saved or restored. */
    void (*state)(pl_local *local, pl_state *state);
    void (*close)(pl_local *local);
} pl_local_type;

struct pl_local {
    const pl_local_type *type;
};

/* Does `work` evaluate v as it goes? */
static inline bool pl_local_certifies(const pl_local *local) {
    const pl_local_certificate *certificate = local->type->certificate;
    return certificate && certificate->certifies && certificate->certifies(local);
}

extern const pl_local_type pl_local_sdca, pl_local_scd, pl_local_gradient, pl_local_sgd;
extern const pl_local_type *const pl_locals[];
extern const unsigned pl_locals_count;

#endif
