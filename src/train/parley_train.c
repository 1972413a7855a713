/* parley_train.c: the public parley_train, which runs on the engine that the settings name. */
#include "base/stop.h"
#include "train/run.h"

static parley_status check_start(const parley_settings *settings, parley_error *error) {
    const char *other = *settings->start ? "start" : *settings->resume ? "resume" : *settings->replay ? "replay" : NULL;
    if (other)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "both a model to start from and the setting %s are given; leave one of them out", other);
    return pl_stream_of(settings) ? pl_fail(error, PARLEY_BAD_USAGE,
                                            "preset %s cannot start from a model; use a learner, or another "
                                            "preset",
                                            settings->preset)
                                  : PARLEY_OK;
}

/* A call of parley_train_from. Results are those of the first rank of this process. */
typedef struct call {
    const parley_data *data;
    const parley_settings *settings;
    const parley_model *start;
    parley_callback callback;
    void *user;
    parley_model **out;
    parley_summary *summary;
} call;

static parley_status train_body(pl_engine *engine, void *context, parley_error *error) {
    const call *call = context;
    if (engine->here == 0)
        return pl_train_rank_from(engine, call->data, call->settings, call->start, call->callback, call->user,
                                  call->out, call->summary, error);
    parley_model *model;
    parley_status status =
        pl_train_rank_from(engine, call->data, call->settings, call->start, NULL, NULL, &model, NULL, error);
    parley_model_free(model);
    return status;
}

parley_status parley_train_from(const parley_data *data, const parley_settings *settings, const parley_model *start,
                                parley_callback callback, void *user, parley_model **out, parley_summary *summary,
                                parley_error *error) {
    call call = {data, settings, start, callback, user, out, summary};
    *out = NULL;
    pl_stop_enter();
    bool reads = *settings->replay || *settings->resume || *settings->plan;
    parley_status status = reads ? pl_train_check(settings, error) : PARLEY_OK; /* before a file that may be missing */
    if (status == PARLEY_OK && start)
        status = check_start(settings, error);
    if (status == PARLEY_OK)
        status = pl_data_teaches(data, pl_settings_problem(settings)->labels, error);
    if (status == PARLEY_OK)
        status = pl_launch(settings, (pl_job){train_body, NULL, &call}, error);
    if (status != PARLEY_OK) {
        parley_model_free(*out);
        *out = NULL;
    }
    return pl_stop_leave(status);
}

parley_status parley_train(const parley_data *data, const parley_settings *settings, parley_callback callback,
                           void *user, parley_model **out, parley_summary *summary, parley_error *error) {
    return parley_train_from(data, settings, NULL, callback, user, out, summary, error);
}
