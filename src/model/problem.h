/* problem.h: what is to be solved. A problem knows its settings, its objective and its models; local solvers, combines,
 * exchanges and the loop know a problem only by what is declared here. Linear models are one (glm.h).
 *
 * A model under training is a table w of `size` entries in rows of `row` entries: a row per column of the data, say,
 * with an entry per class. */
#ifndef PL_PROBLEM_H
#define PL_PROBLEM_H

#include "model/model.h"
#include "shard/team.h"

typedef struct pl_problem pl_problem;

/* Facts that members of a method may need of a problem. */
enum {
    PL_FACT_L2 = 1,          /* there is an L2 penalty */
    PL_FACT_NO_L1 = 2,       /* there is no L1 penalty */
    PL_FACT_PENALTY = 4,     /* there is a penalty of either kind */
    PL_FACT_SMOOTH = 8,      /* the objective has a curvature but for its penalty */
    PL_FACT_SOFTENS = 16,    /* its kinks can be smoothed, and a gap tells when to stop smoothing */
    PL_FACT_BOUNDED = 32,    /* the curvature is bounded */
    PL_FACT_ONE_OUTPUT = 64, /* a row of the model has one entry */
    PL_FACT_DUAL = 128,      /* there is a dual problem: evaluations bound the distance to the optimum */
    PL_FACTS = 8
};
const char *pl_fact_name(unsigned number); /* of fact 1 << number, as a sentence calls what is missing */

/* What an evaluation of v found over the rows of all ranks. */
typedef struct pl_evaluation {
    double value;   /* the objective without its penalty */
    double seconds; /* that this took beyond what the solver computes anyway */
    /* The rest is for the dual bound of linear models (glm.h). The dual point is t, or, where the intercept is free, t
     * with the heavier of its two sides shrunk by `tilt` so that sum q t = 0. */
    double b;         /* the intercept */
    double conjugate; /* sum q loss*(-t), t repaired; or an upper bound of it */
    unsigned heavy;   /* side: 0 t < 0, 1 t > 0 */
    double tilt;      /* in [0, 1]; 0: no repair */
    double pull;      /* sum q t z over the heavier side */
    double reach;     /* sum q |t| |x| over the heavier side: bounds the norm of its u */
    bool softened;    /* t and the gradient are of the softened loss */
    bool penalised;   /* the next two are filled in, by solvers whose model is not laid out as v is */
    double penalty, penalty_conjugate;
} pl_evaluation;

/* Adds up to PL_OWN_SCALARS sums over entries [begin, end) of v. */
#define PL_OWN_SCALARS 3
typedef void (*pl_entry_sum)(void *context, uint64_t begin, uint64_t end, double *sums);

/* Sums over the entries of v, which each owner makes of its slice, alike on all ranks. */
typedef struct pl_entry_sums {
    void *exchange;
    parley_status (*sum)(void *exchange, pl_entry_sum f, void *context, double *sums, parley_error *error);
    /* The largest of what f leaves in sums[0] for each block of entries. */
    parley_status (*largest)(void *exchange, pl_entry_sum f, void *context, double *largest, parley_error *error);
} pl_entry_sums;

/* A point at which the objective was evaluated. */
typedef struct pl_point_seen {
    const pl_evaluation *at;
    const double *w; /* the model there */
    const double *u; /* v; or the reduced gradient, where `gradient` says so */
    bool gradient;
    pl_entry_sums sums;
    /* The same evaluation at the dual point scale x t. */
    parley_status (*rescale)(void *local, double scale, pl_evaluation *at, parley_error *error);
    void *local;
} pl_point_seen;

/* What a point says about the optimum. */
typedef struct pl_bound {
    double objective;
    double dual;     /* a lower bound of the optimum; -infinity: none */
    double gradient; /* norm of the gradient, where that tells how near the optimum is; NaN: it is not known */
} pl_bound;

/* A change of the settings that leads out of a refusal. */
typedef struct pl_way {
    const char *text; /* as the sentence names it: "a small --lambda" */
    pl_pair changes[2];
} pl_way;

/* What a problem says about itself: for the terminal, the log, summaries and JSON. */
#define PL_DESCRIPTION_LINES 4
typedef struct pl_description {
    bool many; /* given: the run solves a row of problems that differ in strength, a path */
    parley_fact facts[PARLEY_FACTS];
    unsigned count;
    char line[PL_DESCRIPTION_LINES][256]; /* "problem: loss logistic, lambda 0.1, ..." */
    unsigned lines;
} pl_description;

void pl_describe_text(pl_description *description, const char *name, const char *text);
void pl_describe_number(pl_description *description, const char *name, double number);
void pl_describe_line(pl_description *description, const char *format, ...);

/* What can be said before data are read. `problem` is NULL until they are; whatever is unknown then counts as
 * favourable. */
typedef struct pl_problem_rules {
    /* Refuses settings of the problem that contradict each other, and puts what they imply into `settings`. */
    parley_status (*check)(parley_settings *settings, parley_error *error);
    /* The preset that `auto` stands for; "auto" while that is open; NULL: none, and the sentence says why. */
    const char *(*choose)(const pl_problem *problem, const parley_settings *settings, parley_error *error);
    /* Of a preset that has a form by rows and one by columns, is it the one by columns? */
    bool (*by_columns)(const pl_problem *problem, const parley_settings *settings);
    unsigned (*facts)(const pl_problem *problem, const parley_settings *settings);
    unsigned (*uncertain)(const parley_settings *settings); /* facts that the data may take away */
    /* Why the problem lacks a fact: "which loss hinge is not". */
    void (*why)(const pl_problem *problem, const parley_settings *settings, unsigned fact, char *text, size_t size);
    /* Changes of the problem that may lead out of a refusal, nearest first, and whether one is a change at all that
     * keeps the meaning of the data; ends with text NULL. `last` are those that change the method too. */
    const pl_way *ways, *last_ways;
    bool (*is_a_change)(const parley_settings *settings, const pl_pair *change);
    /* Is the setting given in other words, so that it cannot be compared before the data are known? NULL: never. */
    bool (*is_restated)(const parley_settings *settings, const char *name);
} pl_problem_rules;

typedef struct pl_problem_type {
    const char *name, *help;
    const char *command, *summary, *details; /* of the command line that trains it */
    unsigned commands;                       /* PL_FOR_*: its own settings, beside those of every problem */
    bool (*reads)(const char *setting);      /* an optional setting itself, not a member of the method; NULL: none */
    const char *const *resolved;             /* settings that `record` fills in from data; ends with NULL */
    bool by_change; /* runs end when the objective changes by at most --tolerance; else by --gap */
    const pl_model_type *model_type;
    const pl_problem_rules *rules;
    /* Looks at the data, alike on all ranks. `problem->data` is what to train on: it may weigh the rows anew. */
    parley_status (*open)(pl_engine *engine, const parley_data *data, const parley_settings *settings, pl_problem **out,
                          parley_error *error);
    /* The rows are these now, in another order. */
    parley_status (*move)(pl_problem *problem, const parley_data *data, parley_error *error);
    /* Fills in what needs a pass over the rows, when workers have theirs. */
    parley_status (*measure)(pl_problem *problem, const pl_team *team, parley_error *error);
    /* For solvers by columns: every rank gets `*out`, all rows but for their entries. NULL: there are no such solvers.
     */
    parley_status (*collect)(pl_problem *problem, pl_engine *engine, const parley_data *dealt, parley_data **out,
                             parley_error *error);
    /* Where a run begins, in w (zeros so far), and the objective there, which is the scale of relative gaps. */
    parley_status (*first)(const pl_problem *problem, const pl_team *team, double *w, double *objective,
                           parley_error *error);
    parley_status (*bound)(const pl_problem *problem, const pl_point_seen *point, pl_bound *out, parley_error *error);
    /* The model w, as it is kept; and the other way, refusing a model of this type that does not fit; `name` is its
     * name in the message. */
    parley_status (*model)(const pl_problem *problem, const double *w, parley_model **out, parley_error *error);
    parley_status (*accept)(const pl_problem *problem, const parley_model *model, const char *name, double *w,
                            parley_error *error);
    /* Puts what was resolved where the settings said auto. */
    void (*record)(const pl_problem *problem, parley_settings *settings);
    /* Does a setting that goes into the metadata of models say something about this one? */
    bool (*applies)(const pl_problem *problem, const char *setting);
    void (*describe)(const pl_problem *problem, const parley_settings *settings, pl_description *out);
    void (*close)(pl_problem *problem);
} pl_problem_type;

/* Every problem embeds this first. */
struct pl_problem {
    const pl_problem_type *type;
    const parley_data *data;
    uint64_t size, row; /* entries of a model, and in one of its rows */
    double total;       /* sum of the rows' weights */
    double l1, l2;      /* penalty of the first `penalised` entries of a model; the others have none */
    uint64_t penalised;
    unsigned facts;      /* PL_FACT_* */
    bool begins_at_zero; /* v = 0 stands for where a run begins */
};

extern const pl_problem_type pl_problem_linear;
extern const pl_problem_type *const pl_problems[];
extern const unsigned pl_problems_count;
const pl_problem_type *pl_problem_find(const char *name); /* or NULL */

#endif
