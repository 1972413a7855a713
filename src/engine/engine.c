/* engine.c: finds the engine of a run, and runs jobs on its ranks. */
#include "engine/engine.h"

#include <string.h>

#include "base/available_memory.h"
#include "base/clock.h"
#include "engine/launched.h"

const pl_engine_type *pl_engine_find(const char *name) {
    for (unsigned i = 0; i < pl_engines_count; i++)
        if (strcmp(pl_engines[i]->name, name) == 0)
            return pl_engines[i];
    return NULL;
}

void pl_run_on_pool(pl_engine *engine, pl_task task, void *context, unsigned tasks) {
    pl_pool_run(engine->pool, task, context, tasks);
}

double pl_wall_clock(pl_engine *engine) {
    (void)engine;
    return pl_now();
}

void pl_wall_compute(pl_engine *engine, double seconds) { (void)engine, (void)seconds; }

void pl_wall_sleep(pl_engine *engine, double seconds) {
    (void)engine;
    pl_sleep(seconds);
}

parley_status pl_job_run(pl_engine *engine, parley_status opened, const pl_job *job, parley_error *error) {
    parley_status status = opened == PARLEY_OK ? job->body(engine, job->context, error) : opened;
    if (status != PARLEY_OK) {
        engine->type->fail(engine, error);
        status = error->status;
    }
    if (job->report)
        job->report(engine, job->context, status == PARLEY_OK ? NULL : error);
    return status;
}

parley_status pl_launch(const parley_settings *settings, pl_job job, parley_error *error) {
    const pl_engine_type *type = pl_engine_find(settings->engine);
    parley_error failure = {0};
    pl_memory_limit(settings->memory * 1000000);
    if (!type)
        type = pl_launched_module() ? &pl_engine_mpi : &pl_engine_threads;
    parley_status status = type->launch(settings, &job, &failure);
    if (status != PARLEY_OK && error)
        *error = failure;
    return status;
}

#define SILENCE "no rank sent anything for "

parley_status pl_fail_silence(const pl_engine *engine, parley_error *error) {
    return pl_fail(error, PARLEY_NO_PEER, SILENCE "%g seconds", engine->deadline);
}

bool pl_is_silence(const parley_error *error) {
    return error && error->status == PARLEY_NO_PEER && strncmp(error->sentence, SILENCE, strlen(SILENCE)) == 0;
}

parley_status pl_fail_length(unsigned from, uint64_t got, uint64_t due, parley_error *error) {
    return pl_fail(error, PARLEY_BROKEN, "rank %u sent %llu bytes instead of %llu", from, (unsigned long long)got,
                   (unsigned long long)due);
}
