/* problem.h: what is to be solved, as far as the loop has to know: how large a model is, what the rows weigh, where to
 * begin. A generalised linear model is one (glm.h). */
#ifndef PL_PROBLEM_H
#define PL_PROBLEM_H

#include "model/model.h"
#include "shard/team.h"

typedef struct pl_problem pl_problem;

typedef struct pl_problem_type {
    const char *name;
    /* The model without features, in w (zeros so far), and the objective there: the scale of relative gaps. */
    parley_status (*null)(const pl_problem *problem, const pl_team *team, double *w, double *objective,
                          parley_error *error);
    /* The model w, as it is kept. */
    parley_status (*model)(const pl_problem *problem, const double *w, parley_model **out, parley_error *error);
} pl_problem_type;

struct pl_problem {
    const pl_problem_type *type;
    const void *of; /* the problem itself: a pl_glm */
    uint64_t size;  /* entries of a model */
    double total;   /* sum of the rows' weights */
    double l1, l2;  /* penalty of the first `penalised` entries of a model; the others have none */
    uint64_t penalised;
    bool dual; /* it has a dual problem, so that there are gaps; else evaluations say P alone */
};

#endif
