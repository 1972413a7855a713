/* score.c: one metric of a model on data in memory, for programs that use the library. */
#include <math.h>
#include <string.h>

#include "base/stop.h"
#include "method/model.h"

parley_status parley_score(const parley_model *model, const parley_data *data, const char *metric, unsigned threads,
                           double *value, parley_error *error) {
    const pl_meter_type *type = model->type->meter;
    const pl_model_metric *score = pl_metric_find(model->type, metric);
    char names[256];
    pl_meter *meter = NULL;
    pl_pool *pool;
    double *outputs;
    *value = NAN;
    pl_metric_names(model->type, model, names, sizeof names);
    if (!score)
        return pl_fail(error, PARLEY_BAD_USAGE, "there is no metric %.60s for %s models; choose one of %s", metric,
                       model->type->name, names);
    parley_status status =
        pl_take(&outputs, pl_meter_width(model) * data->x.rows, sizeof *outputs, "the model's outputs", error);
    if (status != PARLEY_OK)
        return status;
    status = pl_pool_open(&pool, threads, error);
    if (status == PARLEY_OK) {
        pl_stop_enter();
        status = type->open(model, score, &meter, error);
        if (status == PARLEY_OK)
            pl_pool_run(pool, pl_apply_task, &(pl_applying){model, &data->x, outputs, meter}, pl_apply_tasks(&data->x));
        if (status == PARLEY_OK)
            status = pl_stop_check(error);
        if (status == PARLEY_OK)
            status = type->add(meter, data, outputs, error);
        if (status == PARLEY_OK)
            *value = score->value(meter);
        type->close(meter);
        pl_pool_close(pool);
        status = pl_stop_leave(status);
    }
    pl_free(outputs);
    return status;
}
