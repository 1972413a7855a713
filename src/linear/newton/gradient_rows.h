/* gradient_rows.h: the gradient solver's passes over its rows. Tasks have a pl_gradient as their context. */
#ifndef PL_GRADIENT_ROWS_H
#define PL_GRADIENT_ROWS_H

#include "linear/rows/classes.h"
#include "math/outer_products.h"
#include "method/local.h"

typedef struct pl_gradient {
    pl_local base;
    const pl_glm *glm;
    pl_team *team;
    double fraction;
    double *centre; /* of the smoothing, by row; NULL: it has none */
    pl_softening soft;
    uint64_t round, width;
    bool curved;      /* the curvature is needed */
    bool slopes_only; /* probes need only slopes */
    double *z, *dz;   /* margins without intercept, at v and along the direction; one entry per class */
    double *bend;     /* of each row, for products: q loss''(z), or classes_curvature.h for several classes */
    double *ahead;    /* several classes: the same at the whole step, which may have been too long */
    float *turned;    /* several classes: what is multiplied by the curvature, in single precision */
    struct pl_softmax_preconditioner *long_rows; /* the preconditioner of products; NULL: it has none */
    double memory;                               /* the share of the last bend in the next one */
    bool fell_short;                             /* the last step was much shorter than the whole one */
    bool followed, stepped;                      /* dz is along the latest direction; v moved only by `step` along it */
    double step;
    unsigned carried; /* rounds since z was computed from v */
    bool diagonal;
    bool by_class; /* the curvature is a block for each class */
    double *sums;  /* hosted x lanes x width columns of `size` entries */
    double *sides; /* of each lane: `sides_each` sums of the evaluation */
    uint64_t sides_each;
    pl_linear_evaluation at;  /* the latest evaluation */
    double *seconds;          /* of each lane */
    pl_outer_products *outer; /* of each lane: collects rows for the curvature */
    double *slopes;           /* several classes: of a chunk of rows, per lane */
    double *curvature;        /* several classes: of one row, per lane */
    double *b, *db;           /* intercepts at v and along the direction */
    const double *w;          /* where a sample is taken, or what is multiplied by the curvature */
    const double *t;          /* the owner's dual point, instead of the slopes; or NULL */
    uint32_t **support;       /* of each worker that works alone: the columns of its rows; NULL: all */
    uint64_t *supported;      /* how many */
} pl_gradient;

/* The sums of a lane: columns of the size of v. */
double *pl_gradient_sum(const pl_gradient *self, unsigned task);
/* The number of columns of the update in this round. */
uint64_t pl_gradient_columns(const pl_gradient *self);
/* How the loss is smoothed; NULL: it is not. */
const pl_softening *pl_gradient_softening(const pl_gradient *self);
/* Copies the intercepts of v, if there are any, to b. */
void pl_gradient_intercepts(const pl_gradient *self, const double *v, double *b);

/* Sums over all rows at their margins: the gradient, its curvature, and the sides of the certificate. */
void pl_gradient_full_task(void *context, unsigned task);
/* Visits each row with probability `fraction`, by drawing the gaps between visits. */
void pl_gradient_sample_task(void *context, unsigned task);
/* Moves the centres of the smoothing to the dual points. */
void pl_gradient_recentre_task(void *context, unsigned task);
/* Decides, after a step, how much of the last curvature the next one keeps. */
void pl_gradient_remember(pl_gradient *self);
/* Moves the margins along the step that was followed. */
void pl_gradient_carry_task(void *context, unsigned task);
/* Multiplies `w` by the curvature. */
void pl_gradient_product_task(void *context, unsigned task);
/* Loss and slope at v + gamma x the direction, two sums for each hosted worker. */
void pl_gradient_probe(const pl_gradient *self, double gamma, double *sums);

#endif
