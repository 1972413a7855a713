/* problem.h: the interface of a problem, which knows its settings, its objective and its models. Local solvers,
 * combines, exchanges and the loop know a problem only through this interface. Linear models are one problem (glm.h).
 *
 * A model under training is a table w of `size` entries in rows of `row` entries. For linear models it has a row per
 * column of the data, with an entry per class. */
#ifndef PL_PROBLEM_H
#define PL_PROBLEM_H

#include "method/choice.h"
#include "method/model.h"
#include "shard/team.h"

typedef struct pl_problem pl_problem;

/* Facts about a problem that members of a method may require. */
enum {
    PL_FACT_L2 = 1,           /* there is an L2 penalty */
    PL_FACT_NO_L1 = 2,        /* there is no L1 penalty */
    PL_FACT_PENALTY = 4,      /* there is a penalty of either kind */
    PL_FACT_SMOOTH = 8,       /* the objective without its penalty has a second derivative */
    PL_FACT_SOFTENS = 16,     /* its kinks can be smoothed, and a gap tells when to stop smoothing */
    PL_FACT_BOUNDED = 32,     /* the curvature is bounded */
    PL_FACT_ONE_OUTPUT = 64,  /* a row of the model has one entry */
    PL_FACT_DUAL = 128,       /* there is a dual problem, so evaluations bound the distance to the optimum */
    PL_FACT_EVEN = 256,       /* all columns have the same penalty */
    PL_FACT_SIGNED = 512,     /* coefficients may be negative */
    PL_FACT_QUADRATIC = 1024, /* the objective without its penalty is quadratic */
    PL_FACTS = 11,
    PL_FACT_BY_COLUMNS = 1 << PL_FACTS, /* methods with a form by columns are faster in it; none needs that */
    PL_FACT_UNSURE = 16 /* a fact that may become false when data are read is also given shifted by this */
};
const char *pl_fact_name(unsigned number); /* the name of fact 1 << number in a sentence about what is missing */

/* The result of evaluating v over the rows of all ranks. */
typedef struct pl_evaluation {
    double value;    /* the objective without its penalty */
    const void *own; /* a struct of the solver with what the problem's `bound` needs besides; NULL: nothing */
} pl_evaluation;

/* Computes up to PL_OWN_SCALARS sums over entries [begin, end) of v. */
#define PL_OWN_SCALARS 3
typedef void (*pl_entry_sum)(void *context, uint64_t begin, uint64_t end, double *sums);

/* Sums over the entries of v. Each owner computes those of its slice; the result is the same on all ranks. */
typedef struct pl_entry_sums {
    void *exchange;
    parley_status (*sum)(void *exchange, pl_entry_sum f, void *context, double *sums, parley_error *error);
    /* Computes the maximum over blocks of entries of the value that f leaves in sums[0]. */
    parley_status (*largest)(void *exchange, pl_entry_sum f, void *context, double *largest, parley_error *error);
} pl_entry_sums;

/* A point at which the objective was evaluated. */
typedef struct pl_point_seen {
    const pl_evaluation *at;
    const double *w; /* the model at this point */
    const double *u; /* v, or the reduced gradient if `gradient` says so */
    bool gradient;
    pl_entry_sums sums;
} pl_point_seen;

/* What a point tells about the optimum. */
typedef struct pl_bound {
    double objective;
    double dual;     /* a lower bound of the optimum; -infinity if there is none */
    double gradient; /* norm of the gradient, if it measures the distance to the optimum; otherwise NaN */
    bool softened;   /* the gradient is that of a smoothed objective, which only tells the scale of later ones */
} pl_bound;

/* A change of settings that may help. */
typedef struct pl_way {
    const char *text; /* as a sentence names it: "a small --lambda" */
    pl_pair changes[2];
    enum { PL_AVOIDS, PL_AVOIDS_LAST, PL_HASTENS } use; /* it avoids an error, if need be, or helps a run that stalls */
    /* Whether it has an effect and keeps the meaning of the data. `problem` may be NULL. NULL: always. */
    bool (*fits)(const pl_problem *problem, const parley_settings *settings);
} pl_way;

/* A setting whose value follows from the data if it was given in another form. */
typedef struct pl_resolved {
    const char *name, *forms[2];
} pl_resolved;

/* The description of a problem for the terminal, the log, summaries and JSON. */
#define PL_DESCRIPTION_LINES 4
typedef struct pl_description {
    bool many; /* input: the run solves a path, that is, many problems of different strength */
    parley_fact facts[PARLEY_FACTS];
    unsigned count;
    unsigned timings; /* a bit for each fact that depends on the clock, so that it is not in the metadata of models */
    char line[PL_DESCRIPTION_LINES][256]; /* "problem: loss logistic, lambda 0.1, ..." */
    unsigned lines;
} pl_description;

void pl_describe_text(pl_description *description, const char *name, const char *text);
void pl_describe_number(pl_description *description, const char *name, double number);
void pl_describe_timing(pl_description *description, const char *name, double number);
void pl_describe_count(pl_description *description, const char *name, double count);
void pl_describe_line(pl_description *description, const char *format, ...);

/* What a run has found. */
typedef struct pl_result {
    const parley_settings *settings;
    const parley_summary *summary;
    const pl_team *team;
    const double *w;
    parley_model *model; /* of w */
} pl_result;

/* Rules that apply before data are read. `problem` is NULL until then, and unknown facts count as favourable. */
typedef struct pl_problem_rules {
    /* Rejects contradictory settings of the problem, and adds implied values to `settings`. NULL: there are none. */
    parley_status (*check)(parley_settings *settings, parley_error *error);
    /* What `auto` decides: first the preset, then in the order in which they are explained; ends with name NULL. */
    const pl_decision *decisions;
    /* Computes the numbers that their conditions compare, PL_SHAPE at most. NULL: there are no conditions. */
    void (*shape)(const pl_problem *problem, const parley_settings *settings, double *shape);
    unsigned (*facts)(const pl_problem *problem, const parley_settings *settings);
    /* Explains why the problem lacks a fact: "which loss hinge is not". */
    void (*why)(const pl_problem *problem, const parley_settings *settings, unsigned fact, char *text, size_t size);
    const pl_way *ways; /* changes of the problem, the best of each use first; ends with text NULL, or is NULL */
    /* Changes the settings for a sample of the rows, whose weight is `part` of `total`, so that the problem stays
     * that of all rows. NULL: nothing depends on their number. */
    void (*sample)(parley_settings *settings, double total, double part);
} pl_problem_rules;

typedef struct pl_problem_type {
    const char *name, *help;
    const char *command, *summary, *details; /* of the command that trains it */
    unsigned commands;                       /* PL_FOR_*: its own settings, besides those of every problem */
    bool (*reads)(const char *setting);      /* whether it uses an optional setting itself, rather than a member of the
                                                method; NULL: none */
    const pl_resolved *resolved;             /* settings that `record` fills in; ends with name NULL, or is NULL */
    bool labels;                             /* rows must have labels */
    bool tables;                             /* `open` takes data that are a table (parley_data.cells) */
    bool by_change;    /* runs stop when the objective changes by at most --tolerance in a pass; otherwise by --gap */
    bool keeps_latest; /* v is the model and large: the latest model is the result and no other is kept */
    bool short_rounds; /* rounds may be short, so that models are measured by passes */
    double noise; /* relative error of the objective, which is only estimated: a later model within it of the best takes
                     its place, and a run whose objective is lost ends. 0: objectives are exact */
    const pl_model_type *model_type;
    const pl_problem_rules *rules;
    /* Inspects the data, alike on all ranks. `problem->data` is what to train on, which may have other weights. */
    parley_status (*open)(pl_engine *engine, const parley_data *data, const parley_settings *settings, pl_problem **out,
                          parley_error *error);
    /* Replaces the rows by the same rows in another order. */
    parley_status (*move)(pl_problem *problem, const parley_data *data, parley_error *error);
    /* Fills in what needs a pass over the rows, after workers have received theirs. */
    parley_status (*measure)(pl_problem *problem, const pl_team *team, parley_error *error);
    /* For solvers by columns: gives every rank all rows without their entries. NULL if no solver works by columns. */
    parley_status (*collect)(pl_problem *problem, pl_engine *engine, const parley_data *dealt, parley_data **out,
                             parley_error *error);
    /* Computes the starting point w (initially zeros) and the objective there, which is the scale of relative gaps. */
    parley_status (*first)(const pl_problem *problem, const pl_team *team, double *w, double *objective,
                           parley_error *error);
    parley_status (*bound)(const pl_problem *problem, const pl_point_seen *point, pl_bound *out, parley_error *error);
    /* Makes a model from w, and w from a model of this type. The latter fails if the model does not fit; the error
     * calls it `name`. */
    parley_status (*model)(const pl_problem *problem, const double *w, parley_model **out, parley_error *error);
    parley_status (*accept)(const pl_problem *problem, const parley_model *model, const char *name, double *w,
                            parley_error *error);
    /* Adds what is known at the end of a run to its model, and to its description, whose numbers become metadata of the
     * model. NULL: there is nothing. */
    parley_status (*conclude)(const pl_problem *problem, const pl_result *result, pl_description *out,
                              parley_error *error);
    /* Replaces `auto` in the settings by the values that were found. NULL: the problem has no such settings. */
    void (*record)(const pl_problem *problem, parley_settings *settings);
    /* Whether a setting in the metadata of models applies to this problem; NULL: all do. */
    bool (*applies)(const pl_problem *problem, const char *setting);
    void (*describe)(const pl_problem *problem, const parley_settings *settings, pl_description *out);
    void (*close)(pl_problem *problem);
} pl_problem_type;

/* Every problem begins with this struct. */
struct pl_problem {
    const pl_problem_type *type;
    const parley_data *data;
    uint64_t size, row; /* entries of a model, and of one of its rows */
    double total;       /* sum of the weights of the rows */
    double l1, l2;      /* penalty on the first `penalised` entries of a model; the others have none */
    uint64_t penalised;
    double *factor;         /* of l1 and l2, by entry; NULL: all are 1 */
    uint64_t non_negative;  /* the number of entries, from the first on, that must not be negative */
    unsigned facts;         /* PL_FACT_* */
    bool begins_at_zero;    /* a run begins at v = 0 */
    uint64_t most_lanes;    /* of a worker that pay off; 0: by its non-zeros */
    unsigned step_nonzeros; /* a dual step on a row takes as long as visits to this many non-zeros */
    double row_cost; /* of a visit to a row beside its non-zeros, in visits to non-zeros, for engines that model it */
    bool many;       /* the run solves a path, that is, many problems of decreasing strength */
};

/* The penalty of entry j. */
static inline double pl_l1_at(const pl_problem *problem, uint64_t j) {
    return j >= problem->penalised ? 0.0 : problem->factor ? problem->l1 * problem->factor[j] : problem->l1;
}
static inline double pl_l2_at(const pl_problem *problem, uint64_t j) {
    return j >= problem->penalised ? 0.0 : problem->factor ? problem->l2 * problem->factor[j] : problem->l2;
}

extern const pl_problem_type pl_problem_linear;
extern const pl_problem_type *const pl_problems[];
extern const unsigned pl_problems_count;
const pl_problem_type *pl_problem_find(const char *name); /* or NULL */

#endif
