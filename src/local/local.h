/* local.h: what a worker does with its shard between two exchanges.
 *
 * It starts from the shared table v, makes H steps, and offers an update: (shrink, weight, change), meaning that its
 * own copy became shrink v + change. What it changed of its private state (dual variables) stays pending until it is
 * told the step gamma that was accepted; gamma = 0 drops it. */
#ifndef PL_LOCAL_H
#define PL_LOCAL_H

#include "model/glm.h"
#include "shard/saved_state.h"

/* What a member cannot do without. Checked before data are read. */
enum {
    PL_NEEDS_L2 = 1,        /* lambda > 0 and l1_ratio < 1 */
    PL_NEEDS_NO_L1 = 2,     /* l1_ratio = 0 */
    PL_NEEDS_SMOOTH = 4,    /* a loss with a curvature */
    PL_NEEDS_CHANGES = 8,   /* updates that are changes of v */
    PL_NEEDS_SIGMA = 16,    /* of those, ones made by sub-problems that know sigma */
    PL_NEEDS_GRADIENT = 32, /* updates that are gradients */
    PL_NEEDS_FULL = 64,     /* every row in every round: batch_fraction = 1 */
    PL_NEEDS_PENALTY = 128, /* lambda > 0 */
    PL_NEEDS_BOUNDED = 256, /* a smooth loss whose curvature is bounded */
};

/* Sums over a worker's rows that travel with its update or answer a probe. */
typedef enum pl_scalar {
    PL_SUM_LOSS,     /* sum q loss(z) at the step probed */
    PL_SUM_SLOPE,    /* its derivative by the step */
    PL_SUM_RESIDUAL, /* estimate of the worker's share of the duality gap, from when its rows were visited */
    PL_SUM_SPREAD,   /* |change - momentum x last change|^2, in the metric of the sub-problem (pl_metric) */
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
    double fixed;   /* and of them those that are by the round, however long it is; 0: not known */
    double passes;  /* over the worker's shard that this took */
} pl_update;

/* A round, as the local solvers see it. */
typedef struct pl_round {
    uint64_t number; /* from 1 */
    double sigma;    /* how much the workers' changes may add up: sigma' of CoCoA+ */
    double momentum; /* how much of the last round's change to start ahead by */
    double epochs;   /* H: passes of each worker over its shard */
    uint64_t steps;  /* H in steps instead; 0: by epochs */
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
    const pl_glm *glm; /* the problem, where it is a generalised linear model; else NULL */
    pl_team *team;     /* the workers and their rows */
    pl_team *columns;  /* the same workers and their columns, rows of `by_column`; NULL unless the solver asks */
    const pl_matrix *by_column;
    const parley_settings *settings;
    uint64_t entries;    /* of v */
    uint64_t begin, end; /* of v, owned by this rank */
    uint64_t width;      /* of an update: columns of as many entries as v has */
    const double *null;  /* the model without features: zeros, and the best intercept where it is free */
    double target;       /* the gap that ends the run */
    bool searches;       /* the combine will have directions followed and probed */
    bool slopes_only;    /* for the slopes alone */
    bool alone;       /* one worker, whose change is taken whole: it may step in v, and give v for its update's value */
    bool asks;        /* and products with the curvature made */
    bool diagonal;    /* the second column is the diagonal of the curvature */
    bool accelerates; /* the solver heeds momentum */
    bool in_place;    /* v is the workers' common memory: they step in it and offer empty updates */
} pl_setup;

typedef struct pl_local pl_local;

typedef struct pl_local_type {
    const char *name, *help;
    unsigned needs, gives;       /* PL_NEEDS_*; `gives` names what combines may need */
    bool estimates;              /* fills in PL_SUM_RESIDUAL */
    bool reads_v;                /* and no more, in order: v may lie where several ranks have one */
    bool accelerates;            /* heeds the round's momentum */
    const char *const *settings; /* optional settings that it reads; ends with NULL */
    bool classes;                /* takes problems of several classes */
    bool by_columns;             /* workers own columns, of which setup->columns is the deal */
    bool streams;                /* learns rows as they pass (online.h): has no rounds */
    bool steps_in_place;         /* can work with setup->in_place */
    /* Refuses settings that do not go together; `in_place` as in pl_setup. NULL: all do. */
    parley_status (*check)(const parley_settings *settings, bool in_place, parley_error *error);
    uint64_t (*entries)(const pl_problem *problem); /* of v; NULL: the model's, problem->size */
    uint64_t (*bytes)(const pl_setup *setup);       /* that open will allocate */
    parley_status (*open)(const pl_setup *setup, pl_local **out, parley_error *error);
    /* One round's steps of all hosted workers from v; updates stay valid until the next call. Where `certifies` says
     * so, the update is the gradient at v and `evaluation` is filled. May first solve the free intercept in v, alike on
     * all ranks. */
    parley_status (*work)(pl_local *local, const pl_round *round, double *v, pl_update *update,
                          pl_evaluation *evaluation, parley_error *error);
    /* The same for one hosted worker, from a v of its own, while others are at work: for asynchronous exchanges. NULL:
     * rounds of all only. */
    parley_status (*work_alone)(pl_local *local, unsigned worker, const pl_round *round, double *v, pl_update *update,
                                parley_error *error);
    bool (*certifies)(const pl_local *local); /* NULL: never */
    bool evaluates_gradient;                  /* `evaluate` leaves the gradient of all rows in `update` */
    /* Evaluates v, and leaves the model that it stands for in w. Where there are dual
     * variables u is v; else see `evaluates_gradient`. */
    parley_status (*evaluate)(pl_local *local, const double *v, double *w, pl_update *update, pl_evaluation *evaluation,
                              parley_error *error);
    double (*evaluate_passes)(
        const pl_local *local); /* what that costs, in passes over the data; work's are in its updates */
    /* The latest evaluation again, at the dual point scale x t; NULL where no L1 penalty asks for it. */
    parley_status (*rescale)(pl_local *local, double scale, pl_evaluation *evaluation, parley_error *error);
    /* Prepares probes along `direction`; NULL where there are none. */
    void (*follow)(pl_local *local, const double *v, const double *direction);
    /* Leaves every hosted worker's sums at v + gamma direction in its update. */
    void (*probe)(pl_local *local, double gamma, pl_update *update);
    /* Leaves every hosted worker's part of (sum q loss'' x x') p, the curvature where it last worked, in its update. */
    void (*product)(pl_local *local, const double *p, pl_update *update);
    void (*commit)(pl_local *local, unsigned worker,
                   double gamma); /* hosted worker's change was taken with step gamma */
    /* The model that v stands for. May ask other ranks for their parts of it. */
    parley_status (*primal)(const pl_local *local, const double *v, double *w, parley_error *error);
    /* Puts v, and what is private, where the model w is, or near it. NULL: runs begin at w = 0 only. */
    parley_status (*start)(pl_local *local, const double *w, double *v, parley_error *error);
    /* The problem's penalty is another one now; v stays where it is as far as it can. NULL: the solver is closed and
     * opened again. */
    parley_status (*renew)(pl_local *local, double *v, parley_error *error);
    /* The next rounds are on these rows: a stream's next batch. NULL: data must not change. */
    parley_status (*attach)(pl_local *local, const parley_data *batch, parley_error *error);
    /* By entry of v, the weight of a squared change in the workers' sub-problems; NULL: pl_metric of the GLM. */
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

extern const pl_local_type pl_local_sdca, pl_local_scd, pl_local_gradient, pl_local_sgd, pl_local_online;
extern const pl_local_type *const pl_locals[];
extern const unsigned pl_locals_count;

#endif
