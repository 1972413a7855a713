/* linear_stream.h: runs over streams of rows. They have no rounds and no certificate, but the mean loss of predictions
 * made before each row was learnt. */
#ifndef PL_LINEAR_STREAM_H
#define PL_LINEAR_STREAM_H

#include "linear/sgd/online.h"
#include "train/train.h"

/* A source of batches. */
typedef struct pl_stream_source {
    void *of;
    parley_status (*rewind)(void *of, parley_error *error); /* called before each pass, including the first */
    parley_status (*next)(void *of, const parley_data **batch, parley_error *error); /* gives NULL at the end */
} pl_stream_source;

extern const pl_stream_type pl_stream_online;
/* Learns a stream. Settings and method must be resolved. */
parley_status pl_stream_run(const pl_stream_source *source, const parley_settings *settings, unsigned threads,
                            parley_callback callback, void *user, parley_model **out, parley_summary *summary,
                            parley_error *error);

/* The mean loss of predictions made before learning each row; NaN if there was no row. */
double pl_stream_loss(const pl_online *online);
/* The first replaces `auto` in the settings by the values that were found; the second writes them into the model. */
void pl_stream_record(parley_settings *settings, const pl_method *method, const pl_online *online);
parley_status pl_stream_describe(const parley_settings *settings, const pl_online *online, parley_model *model,
                                 parley_error *error);

#endif
