/* validation.h: validation rows, and the quality of models on them. */
#ifndef PL_VALIDATION_H
#define PL_VALIDATION_H

#include "method/model.h"
#include "method/problem.h"

typedef struct pl_validation {
    const parley_data *rows; /* NULL: no validation */
    parley_data *own;        /* the same, if it must be freed */
    parley_data *kept;       /* the rows to train on after a split; otherwise NULL */
    const pl_model_metric *score;
    double latest, best;        /* the metric; NaN if there is none yet */
    uint64_t latest_round;      /* the round after which the model of `latest` was measured */
    uint64_t best_round, worse; /* the same of the best, and evaluations since */
    double objective;           /* P of the best; NaN if it was measured between parks */
    double *w;                  /* the best model */
} pl_validation;

bool pl_score_better(const pl_model_metric *score, double value, double than); /* true if `than` is NaN */
/* Computes the metric of a model on rows, on the engine's threads. */
parley_status pl_score_model(const pl_model_metric *score, pl_engine *engine, const parley_model *model,
                             const parley_data *rows, double *value, parley_error *error);

/* The same on the calling thread only. NaN if it is undefined, or if the run must stop. */
parley_status pl_score_alone(const pl_model_metric *score, const parley_model *model, const parley_data *rows,
                             double *value, parley_error *error);

/* Shows everything that eval would report for these rows. Only this rank computes. */
parley_status pl_score_show(pl_engine *engine, const parley_model *model, const parley_data *rows, pl_viewer *viewer,
                            parley_error *error);

/* Reads or splits off validation rows, if the settings ask for some. `type` is that of the models to measure. */
parley_status pl_validation_open(pl_validation *validation, pl_engine *engine, const parley_data *data,
                                 const pl_model_type *type, const parley_settings *settings, parley_error *error);
/* Allocates the best model, of `size` entries. */
parley_status pl_validation_begin(pl_validation *validation, uint64_t size, parley_error *error);
/* Measures the model of w, whose objective is known, and keeps w if it is the best. */
parley_status pl_validation_look(pl_validation *validation, pl_engine *engine, const parley_model *model,
                                 const double *w, uint64_t size, double objective, uint64_t round, parley_error *error);
/* Takes the metric of the model w into account, and keeps the model if it is the best. */
void pl_validation_note(pl_validation *validation, double value, const double *w, uint64_t size, double objective,
                        uint64_t round);
void pl_validation_close(pl_validation *validation);

#endif
