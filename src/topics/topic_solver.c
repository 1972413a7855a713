/* topic_solver.c: what the solvers of topic models share. */
#include "topics/topic_solver.h"

#include <string.h>

void pl_topic_copy(const pl_lda *lda, const double *v, double *w) {
    if (w != v)
        memcpy(w, v, lda->base.size * sizeof *w);
}

parley_status pl_topic_evaluate(pl_topic_score *score, const pl_team *team, pl_evaluation *evaluation,
                                parley_error *error) {
    double sums[2];
    parley_status status = pl_team_sum(team, score->sums, 2, sums, error);
    memset(score->sums, 0, 2 * (uint64_t)team->hosted * sizeof *score->sums);
    if (status == PARLEY_OK && sums[1] > 0)
        score->latest = -sums[0] / sums[1];
    *evaluation = (pl_evaluation){.value = score->latest};
    return status;
}

double pl_topic_passes(const pl_local *local) {
    (void)local;
    return 0.25;
}

/* Steps are taken whole. */
void pl_topic_commit(pl_local *local, unsigned worker, double gamma) { (void)local, (void)worker, (void)gamma; }

/* The objective is noisy, so that rounds without progress say nothing. */
bool pl_topic_stalled(pl_local *local) {
    (void)local;
    return true;
}
