/* net.h: networks of dense layers as a problem. The table v holds the parameters (net_shape.h), for inputs that are
 * scaled and targets that are standardised; a model has the scales folded into its first and last layers, so that it
 * applies to the data as they are. The objective is the mean loss, as it was seen while batches were visited, plus
 * lambda / 2 |W|^2. */
#ifndef PL_NET_H
#define PL_NET_H

#include "method/problem.h"
#include "network/net_pass.h"
#include "network/net_settings.h"

/* What an optimiser remembers of the steps before, by parameter in the layout of v. */
typedef struct pl_net_memory {
    uint64_t steps; /* 0: nothing */
    unsigned kind;  /* of the optimiser */
    double *first, *second;
} pl_net_memory;

typedef struct pl_net {
    pl_problem base;
    pl_net_shape shape;
    pl_net_inputs inputs;
    uint64_t seed;
    double dropout;
    bool standardise;
    double *labels; /* softmax: the label of each class, increasing */
    uint32_t *kind; /* softmax: by row of the data, its class */
    float *real;    /* squared: by row, its targets, standardised */
    /* further targets of squared loss, which are columns of the data */
    uint32_t *target; /* columns, increasing */
    uint64_t targets;
    uint32_t *input;          /* by column: its input, or UINT32_MAX; NULL: all columns are inputs */
    float *scale, *shift;     /* by column, or NULL */
    double *mean, *deviation; /* squared: by output, of the targets */
    double prior;             /* the mean loss of the best constant outputs */
} pl_net;

const pl_net *pl_net_of(const pl_problem *problem);
/* Batches of a pass over `rows` rows. */
uint64_t pl_net_batches(const parley_settings *settings, double rows);

/* net_targets.c: finds the classes or the targets; then, when rows have been dealt, their means and scales. */
parley_status pl_net_open_targets(pl_net *net, pl_engine *engine, const parley_settings *settings, parley_error *error);
parley_status pl_net_number_rows(pl_net *net, parley_error *error);
parley_status pl_net_measure_targets(pl_net *net, const pl_team *team, parley_error *error);
/* net_accuracy.c: the share of the rows of all ranks whose class `model` predicts; NaN if the run must stop. */
parley_status pl_net_accuracy(const pl_net *net, const pl_team *team, const parley_model *model, double *accuracy,
                              parley_error *error);

/* A model. `weight` has the tensors of the file, outputs x inputs; `padded` is what rows are computed with. */
typedef struct pl_net_model {
    parley_model base;
    pl_net_shape shape;
    pl_net_inputs inputs;
    double *labels;
    float *weight[PL_NET_LAYERS], *bias[PL_NET_LAYERS];
    float *memory, *padded;
    uint32_t *target, *input; /* as in pl_net */
    uint64_t targets;
    char *labels_text, *targets_text; /* for the metadata */
    pl_net_memory remembered;         /* not in the file */
} pl_net_model;

/* Makes a model of this shape without parameters; `columns` are those of the data. */
parley_status pl_net_model_new(const pl_net_shape *shape, uint64_t columns, const double *labels,
                               const uint32_t *target, uint64_t targets, pl_net_model **out, parley_error *error);
/* Makes room for the memory of an optimiser of this kind after so many steps; 0: it is not known. */
parley_status pl_net_model_remember(pl_net_model *model, unsigned kind, uint64_t steps, parley_error *error);
/* The memory of an optimiser of this kind; NULL: the model has none. */
const pl_net_memory *pl_net_model_memory(const parley_model *model, unsigned kind);
/* Fills in `padded` after weights and biases were filled in. */
void pl_net_model_pad(pl_net_model *model);
pl_net_model *pl_net_model_of(const parley_model *model);
/* Computes the map from columns to inputs where some columns are targets. */
parley_status pl_net_map_inputs(uint64_t columns, const uint32_t *target, uint64_t targets, uint32_t **out,
                                parley_error *error);

extern const pl_model_type pl_model_net;
extern const pl_problem_type pl_problem_network;
extern const pl_meter_type pl_meter_net;
extern const pl_model_metric pl_metrics_net[];

#endif
