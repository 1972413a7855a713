/* local.h: what a worker does with its shard between two exchanges.
 *
 * It starts from the shared table v, makes H steps, and offers an update (shrink, weight, change), which means that its
 * own copy became shrink v + change. Changes of its private state (dual variables) are pending until it learns the
 * accepted step gamma; gamma = 0 drops them. */
#ifndef PL_LOCAL_H
#define PL_LOCAL_H

#include <string.h>

#include "method/problem.h"
#include "shard/saved_state.h"

/* Least non-zeros of a lane if most rows soon rest: lanes that share few active rows hinder each other. */
#define PL_RESTING_NONZEROS 1000000

/* Traits of a local solver that combines, exchanges and the loop need to know. */
enum {
    PL_GIVES_CHANGES = 1,        /* its updates are changes of v */
    PL_GIVES_GRADIENTS = 2,      /* its updates are gradients */
    PL_KNOWS_SIGMA = 4,          /* its changes come from sub-problems that depend on sigma */
    PL_KNOWS_MOMENTUM = 8,       /* it starts ahead by the round's momentum */
    PL_ESTIMATES_GAP = 16,       /* its updates have a residual */
    PL_ONLY_READS_V = 32,        /* it only reads v, and in order, so that several ranks may share one v */
    PL_STEPS_IN_V = 64,          /* it can work with setup->in_place */
    PL_OWNS_COLUMNS = 128,       /* its workers own columns (setup->columns), and v has an entry for each row */
    PL_EVALUATES_GRADIENT = 256, /* `evaluate` leaves the gradient over all rows in `update` */
    PL_GIVES_PRODUCTS = 1024,    /* its updates are gradients and products of columns */
    PL_MAY_BE_ADDED = 512        /* its changes may be added whole: they are shares of one step or counts, or
                                    its rate depends on setup->adds */
};

/* Room for scalars of an update, whose meaning is between a combine and the solvers of its problem. */
#define PL_SCALARS 6

typedef struct pl_update {
    double shrink, weight;
    uint64_t count;        /* entries that may be non-zero */
    const uint32_t *index; /* rows of v that they belong to, increasing; NULL: all rows */
    bool wide;             /* value has room for every entry of v, otherwise only for these */
    uint64_t row;          /* entries in a row of v, which is a table laid out by rows; 0 means 1 */
    double *value;
    double scalars[PL_SCALARS]; /* are summed over workers */
    double residual;            /* estimate of the worker's share of the duality gap, from its visits to its rows */
    double seconds;             /* computing time */
    double fixed;               /* fixed overhead per round, independent of H, included in `seconds`; 0 if unknown */
    double passes;              /* passes over the worker's shard */
} pl_update;

/* A round, as local solvers see it. */
typedef struct pl_round {
    uint64_t number; /* from 1 */
    double epochs;   /* H: passes of each worker over its shard */
    uint64_t steps;  /* H in steps instead; 0: use epochs */
    /* What the combine asks for. */
    double sigma;     /* how much the workers' changes may add up: sigma' of CoCoA+ */
    double momentum;  /* share of the last round's change by which to start ahead */
    bool joint;       /* workers make one step together, and their updates are added */
    uint64_t columns; /* of an update that are needed in this round, and reduced */
    const void *own;  /* a struct by which combines and solvers of one problem agree on more; NULL: nothing */
} pl_round;

/* What a combine asks the workers about its direction within a round, or the step that it takes along it. */
typedef struct pl_question {
    bool accepted;    /* it asks nothing more, and takes this step */
    bool moved;       /* the direction has changed since the last question */
    uint64_t columns; /* of the table that answers; 0: the answer is scalars of the updates at the trial point */
    double gamma;     /* the step */
    bool projected;   /* the direction is made for this step, so that it ends at v + direction */
} pl_question;

/* The step ends at v + this multiple of the direction. */
static inline double pl_question_length(const pl_question *question) {
    return question->projected ? 1.0 : question->gamma;
}

/* H in steps of a worker that owns `items` rows or columns. */
static inline double pl_round_steps(const pl_round *round, double items) {
    return round->steps ? (double)round->steps : round->epochs * items;
}

/* The inputs of a solver. */
typedef struct pl_local pl_local;

typedef struct pl_setup {
    const pl_problem *problem;
    const pl_local *local; /* for combines: the solver, which is open */
    pl_team *team;         /* the workers and their rows */
    pl_team *columns; /* the same workers and their columns, which are rows of `by_column`; NULL unless the solver owns
                         columns */
    const pl_matrix *by_column;
    const parley_settings *settings;
    uint64_t entries;    /* entries of v */
    uint64_t begin, end; /* entries of v that this rank owns */
    uint64_t width;      /* of an update, in columns of as many entries as v has */
    const double *first; /* the model at the start of the run */
    double target;       /* the gap that ends the run */
    const void *wants;   /* what the combine's questions need (combine.h); NULL: it asks none */
    bool owns_v;         /* there is one worker, whose change is taken whole; it may step in v and offer v itself as its
                            update's value */
    bool accelerates;    /* momentum is used */
    bool in_place;       /* v is shared by the workers, which step in it and offer empty updates */
    bool gradients;      /* the combine takes gradients, for solvers that also give changes */
    bool asynchronous;   /* workers work alone, each from its own v */
    bool adds;           /* the combine adds changes whole, so that rounds may be joint steps */
    double late;         /* rounds by which updates may be late; 0 if workers wait for each other */
} pl_setup;

/* For solvers that can start from any model, as those of a problem that does not begin at zero must. */
typedef struct pl_local_restart {
    /* Moves v and the private state to the model w, or near it. `rows` is what `by_row` of the solver of before had for
     * each row of this rank, or NULL. */
    parley_status (*start)(pl_local *local, const double *w, const double *rows, double *v, parley_error *error);
    /* Adapts to a changed penalty and keeps v as far as possible. NULL: the solver is closed and opened again. */
    parley_status (*renew)(pl_local *local, double *v, parley_error *error);
    /* The private state of the rows of this rank, `*width` numbers each, with which the rows can go to other workers.
     * NULL: the model is all that a solver needs. */
    const double *(*by_row)(const pl_local *local, uint64_t *width);
} pl_local_restart;

/* For solvers whose workers can work alone, each from its own copy of v, while others work. Asynchronous clocks need
 * it. */
typedef struct pl_local_async {
    /* Prepares for an asynchronous round from v. All workers are parked, and all ranks have v. It may adapt rates to
     * how good v is, and change v, alike on all ranks. */
    parley_status (*prepare)(pl_local *local, double *v, parley_error *error);
    /* Makes one round's steps of one hosted worker. Only the entries that the worker reads change. */
    parley_status (*work)(pl_local *local, unsigned worker, const pl_round *round, double *v, pl_update *update,
                          parley_error *error);
    /* Returns the entries of v that the worker reads, increasing, or NULL if it reads all of them. */
    const uint32_t *(*reads)(const pl_local *local, unsigned worker, uint64_t *count);
} pl_local_async;

/* What a member adds to the models of its run, if it knows more than v says. `member` is the local solver or the
 * combine. */
typedef struct pl_addition {
    parley_status (*add)(const void *member, parley_model *model, parley_error *error);
    /* Goes on from what the run that made this model had added. NULL: a run that starts from a model begins without. */
    void (*take)(void *member, const parley_model *model);
    bool for_runs; /* it does not change what the model computes, so that models that are only measured go without */
} pl_addition;

typedef struct pl_local_type {
    const char *name, *help;
    const pl_problem_type *problem; /* the problem that it is for */
    unsigned needs;                 /* PL_FACT_* of the problem */
    unsigned traits;                /* PL_GIVES_* and so on */
    const char *const *settings;    /* optional settings that it reads; ends with NULL */
    uint64_t usual_passes;          /* of a run that has no other limit; 0: it needs none */
    const pl_local_restart *restart;
    const pl_local_async *async; /* NULL: all hosted workers work together */
    const pl_addition *addition; /* to models; NULL: there is none */
    /* Rejects contradictory settings. `in_place` is as in pl_setup. NULL: there are none. */
    parley_status (*check)(const parley_settings *settings, bool in_place, parley_error *error);
    uint64_t (*bytes)(const pl_setup *setup); /* memory that `open` will allocate */
    parley_status (*open)(const pl_setup *setup, pl_local **out, parley_error *error);
    /* Makes one round's steps of all hosted workers from v. Updates stay valid until the next call. A solver that
     * certifies fills in `evaluation`. It may first solve the free intercept in v, alike on all ranks. */
    parley_status (*work)(pl_local *local, const pl_round *round, double *v, pl_update *update,
                          pl_evaluation *evaluation, parley_error *error);
    /* Evaluates v, and writes the model behind it to w. With dual variables u is v; otherwise see
     * PL_EVALUATES_GRADIENT. */
    parley_status (*evaluate)(pl_local *local, const double *v, double *w, pl_update *update, pl_evaluation *evaluation,
                              parley_error *error);
    /* Answers a question about the direction, by the tables or the scalars of the updates. NULL: the solver answers no
     * questions. */
    void (*answer)(pl_local *local, const pl_question *question, const double *direction, pl_update *update);
    /* Whether `work` evaluates v itself. Then its update is the gradient at v. NULL: it never does. */
    bool (*certifies)(const pl_local *local);
    double (*evaluate_passes)(const pl_local *local); /* cost of an evaluation in passes over the data */
    /* Passes of a worker over its rows in one round of H = `epochs`, which is NaN if the solver has no H. NULL: H. */
    double (*round_passes)(const pl_local *local, double epochs);
    /* Tells a hosted worker that its change was taken with step gamma. */
    void (*commit)(pl_local *local, unsigned worker, double gamma);
    /* Computes the model behind v. May ask other ranks for their parts of it. */
    parley_status (*primal)(const pl_local *local, const double *v, double *w, parley_error *error);
    /* Called when rounds no longer help. Returns whether it changed something that may help. NULL: it never does. */
    bool (*stalled)(pl_local *local);
    /* Lists the state between two rounds that cannot be recomputed, to be saved or restored. */
    void (*state)(pl_local *local, pl_state *state);
    void (*close)(pl_local *local);
} pl_local_type;

struct pl_local {
    const pl_local_type *type;
};

/* Whether `work` evaluates v. */
static inline bool pl_local_certifies(const pl_local *local) {
    return local->type->certifies && local->type->certifies(local);
}

/* Whether the solver reads an optional setting. */
static inline bool pl_local_reads(const pl_local_type *local, const char *setting) {
    for (const char *const *name = local->settings; name && *name; name++)
        if (strcmp(*name, setting) == 0)
            return true;
    return false;
}

extern const pl_local_type pl_local_sdca, pl_local_scd, pl_local_gradient, pl_local_products, pl_local_sgd,
    pl_local_svi, pl_local_gibbs, pl_local_mlp;
extern const pl_local_type *const pl_locals[];
extern const unsigned pl_locals_count;

#endif
