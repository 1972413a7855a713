/* oracle.h: what second-order combines ask the gradient solver. For a model v and a direction p it computes
 *
 *   the gradient g at v, and in further columns the curvature H of the mean loss, or its diagonal     (a round)
 *   the product H p                                                     (a question with a table as its answer)
 *   value and slope of the mean loss at v + gamma p                     (a question with scalars as its answer)
 *   M^-1 (g + l2 v) and M^-1 (H p + l2 p), as the second column         (if there is a preconditioner M)
 *
 * H is that of the last round. The loss may be smoothed: pl_round.own is then the combine's pl_smoothing. */
#ifndef PL_ORACLE_H
#define PL_ORACLE_H

#include "linear/newton/smoothing_schedule.h"
#include "linear/newton/softmax_preconditioner.h"

/* Scalars that answer a trial step. */
enum {
    PL_SUM_LOSS, /* sum q loss(z) there */
    PL_SUM_SLOPE /* its derivative by the step */
};

/* What the solver must be prepared for besides gradients and trial steps (pl_setup.wants). */
typedef struct pl_oracle {
    bool slopes_only; /* trial steps are judged by slopes, not by values */
    bool products;    /* there are products, so that the second column is the diagonal or preconditioned */
} pl_oracle;

static inline bool pl_oracle_multiplies(const pl_setup *setup) {
    const pl_oracle *oracle = setup->wants;
    return oracle && oracle->products;
}

/* Whether the further columns of an update are the whole curvature. */
static inline bool pl_oracle_curves(const pl_setup *setup) { return setup->width > 1 && !pl_oracle_multiplies(setup); }

/* Whether gradients and products are preconditioned. */
static inline bool pl_oracle_preconditions(const pl_setup *setup) {
    return pl_oracle_multiplies(setup) && pl_softmax_preconditioner_fit(setup->problem, setup->team);
}

#endif
