/* mlp.h: back-propagation on mini-batches. A worker gives the gradient of its share of a batch to a combine that makes
 * the steps; or it makes steps of its own, with its own optimiser, on its copy of the network, for combines that
 * average copies, and if there is no other worker. */
#ifndef PL_MLP_H
#define PL_MLP_H

#include <stdatomic.h>

#include "method/local.h"
#include "network/net.h"
#include "network/optimiser.h"

#define PL_MLP_SAMPLE 512 /* rows of a lane that tell what v is worth */

typedef struct pl_mlp_lane {
    pl_net_room room;
    float *gradient;      /* padded layout */
    uint64_t *order;      /* the lane's rows, shuffled for each epoch */
    uint64_t rows, epoch; /* epoch: of the order, from 1 */
    uint64_t begin, end;  /* the batch in `order` */
    uint32_t *kind;       /* targets of the batch */
    float *real, *weight;
    double loss, seen; /* sums over the batch: weighted loss, and weights */
    double norm2;      /* of the part of the gradient that this lane merges */
} pl_mlp_lane;

typedef struct pl_mlp_worker {
    float *w;              /* padded: its own copy, or the one that all workers of the rank read */
    float *first, *second; /* state of its optimiser; NULL: none */
    uint64_t step;         /* steps that it has made by itself */
    double *value;         /* of its update */
    float factor;          /* of the rows' derivatives in this batch */
} pl_mlp_worker;

typedef struct pl_mlp {
    pl_local base;
    const pl_net *net;
    pl_team *team;
    pl_optimiser optimiser;
    bool gradients;   /* the combine makes the steps */
    bool owns_v;      /* the only worker, which steps in v */
    uint64_t batches; /* of a pass */
    uint64_t before;  /* steps of the run that made the model at which this one starts */
    pl_mlp_worker *worker;
    pl_mlp_lane *lane;
    float *shared;    /* what workers that give gradients read; NULL: each has a copy */
    double *sums;     /* by worker: loss and weight of the rows since the last evaluation */
    double latest;    /* the objective of the last pass; NaN: not known */
    atomic_bool lost; /* memory ran out */
} pl_mlp;

/* mlp_setup.c */
parley_status pl_mlp_open(const pl_setup *setup, pl_local **out, parley_error *error);
uint64_t pl_mlp_bytes(const pl_setup *setup);
void pl_mlp_close(pl_local *local);
extern const pl_addition pl_mlp_addition;

/* mlp_batch.c: the gradient of one batch by the lanes of a worker. */
/* Chooses the rows of batch `step` of all lanes of worker k; returns the weight of its rows. */
double pl_mlp_choose(pl_mlp *mlp, unsigned k, uint64_t step);
/* Computes the gradient of one lane with parameters w. */
void pl_mlp_visit(pl_mlp *mlp, unsigned task, uint64_t step);
/* The mean loss at v on some rows of every lane. */
parley_status pl_mlp_sample(pl_mlp *mlp, const double *v, double *loss, parley_error *error);

#endif
