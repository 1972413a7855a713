/* topic_solver.h: what the solvers of topic models share. v is the model itself, and a pass over the documents gives
 * its objective: minus the log likelihood per token, which workers add up as they go. */
#ifndef PL_TOPIC_SOLVER_H
#define PL_TOPIC_SOLVER_H

#include "method/local.h"
#include "topics/lda.h"

typedef struct pl_topic_score {
    double *sums;  /* by hosted worker: log likelihood and tokens since the last evaluation */
    double latest; /* the objective of the last pass */
} pl_topic_score;

/* Copies v to w, unless they are the same table. */
void pl_topic_copy(const pl_lda *lda, const double *v, double *w);
/* The objective of the documents that were visited since the last evaluation, which costs nothing more. */
parley_status pl_topic_evaluate(pl_topic_score *score, const pl_team *team, pl_evaluation *evaluation,
                                parley_error *error);
/* Functions of pl_local_type. */
double pl_topic_passes(const pl_local *local);
void pl_topic_commit(pl_local *local, unsigned worker, double gamma);
bool pl_topic_stalled(pl_local *local);

#endif
