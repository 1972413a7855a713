/* sample.c: see sample.h. */
#include "advise/sample.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "shard/distributed.h"

#define SAMPLE_STREAM 0x73616d70u /* random stream of the sample, distinct from those of workers */

static parley_status draw(pl_sample *sample, pl_engine *engine, const parley_data *data, uint64_t seed, double share,
                          parley_error *error) {
    uint64_t rows = pl_all_rows(data), count = (uint64_t)fmax(1.0, share * (double)rows), *order;
    parley_status status = pl_take(&order, rows, sizeof *order, "a sample of the rows", error);
    if (status != PARLEY_OK)
        return status;
    pl_stream stream = pl_stream_make(seed, SAMPLE_STREAM, 0);
    pl_draw(&stream, order, rows, count);
    status = data->spread ? pl_spread_subset(engine, data, order, count, &sample->data, error)
                          : pl_data_subset(data, order, count, &sample->data, error);
    pl_free(order);
    return status;
}

static parley_status total_weight(pl_engine *engine, const parley_data *data, double *total, parley_error *error) {
    *total = data->weight ? 0 : (double)data->x.rows;
    for (uint64_t i = 0; i < data->x.rows && data->weight; i++)
        *total += data->weight[i];
    return data->spread ? pl_sum_ranks(engine, total, 1, error) : PARLEY_OK;
}

/* Lets the problem keep what depends on the number of rows as it is for all rows. */
static parley_status keep_problem(pl_sample *sample, pl_engine *engine, const parley_data *data, parley_error *error) {
    parley_settings *settings = sample->settings;
    double total, part;
    parley_status status = total_weight(engine, data, &total, error);
    if (status == PARLEY_OK)
        status = total_weight(engine, sample->data, &part, error);
    if (status == PARLEY_OK && pl_settings_problem(settings)->rules->sample)
        pl_settings_problem(settings)->rules->sample(settings, total, part);
    return status;
}

parley_status pl_sample_open(pl_sample *sample, pl_engine *engine, const parley_data *data,
                             const parley_settings *settings, double share, parley_error *error) {
    *sample = (pl_sample){0};
    parley_status status = pl_settings_copy(settings, &sample->settings, error);
    if (status == PARLEY_OK)
        status = draw(sample, engine, data, settings->seed, share, error);
    if (status == PARLEY_OK)
        status = keep_problem(sample, engine, data, error);
    if (status != PARLEY_OK)
        pl_sample_close(sample);
    return status;
}

void pl_sample_close(pl_sample *sample) {
    parley_data_free(sample->data);
    parley_settings_free(sample->settings);
    *sample = (pl_sample){0};
}
