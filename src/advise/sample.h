/* sample.h: a random part of the rows, on which a plan measures convergence where all of them would take too long. */
#ifndef PL_SAMPLE_H
#define PL_SAMPLE_H

#include "advise/trial.h"

typedef struct pl_sample {
    parley_data *data;
    parley_settings *settings; /* with the penalty that all rows have */
} pl_sample;

/* Draws a share of the rows by the seed. `engine` has the ranks that hold them; NULL: they are all here. */
parley_status pl_sample_open(pl_sample *sample, pl_engine *engine, const parley_data *data,
                             const parley_settings *settings, double share, parley_error *error);
void pl_sample_close(pl_sample *sample);

#endif
