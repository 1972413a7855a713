/* linear_stream.h: runs over rows that pass: no rounds, no certificate, but the loss of predictions made before rows
 * were learnt. */
#ifndef PL_LINEAR_STREAM_H
#define PL_LINEAR_STREAM_H

#include "local/online.h"
#include "train/train.h"

/* Where batches come from. */
typedef struct pl_stream_source {
    void *of;
    parley_status (*rewind)(void *of, parley_error *error); /* before each pass, the first too */
    parley_status (*next)(void *of, const parley_data **batch, parley_error *error); /* NULL at the end */
} pl_stream_source;

extern const pl_stream_type pl_stream_online;
/* Do these settings name a method that streams? */
bool pl_streams(const parley_settings *settings);
/* Settings and method as resolved. */
parley_status pl_stream_run(const pl_stream_source *source, const parley_settings *settings, unsigned threads,
                            parley_callback callback, void *user, parley_model **out, parley_summary *summary,
                            parley_error *error);
/* The same over data in memory, which is one batch. */
parley_status pl_stream_data(const parley_data *data, const parley_settings *settings, unsigned threads,
                             parley_callback callback, void *user, parley_model **out, parley_summary *summary,
                             parley_error *error);

/* The mean loss of predictions made before rows were learnt; NaN: there was no row. */
double pl_stream_loss(const pl_online *online);
/* Puts what was resolved where the settings said auto; then, writes it into the model. */
void pl_stream_record(parley_settings *settings, const pl_method *method, const pl_online *online);
parley_status pl_stream_describe(const parley_settings *settings, const pl_online *online, parley_model *model,
                                 parley_error *error);

#endif
