/* engine.c: every engine there is. */
#include "engine/engine.h"

#include <string.h>

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

void pl_wall_sleep(pl_engine *engine, double seconds) {
    (void)engine;
    pl_sleep(seconds);
}

parley_status pl_engine_open(const parley_settings *settings, pl_engine **out, parley_error *error) {
    const pl_engine_type *type = pl_engine_find(settings->engine);
    if (!type)
        type = pl_launched_module() ? &pl_engine_mpi : &pl_engine_threads;
    return type->open(settings, out, error);
}

parley_status pl_fail_length(unsigned from, uint64_t got, uint64_t due, parley_error *error) {
    return pl_fail(error, PARLEY_BROKEN, "rank %u sent %llu bytes where %llu were due", from, (unsigned long long)got,
                   (unsigned long long)due);
}

void pl_engine_close(pl_engine *engine) {
    if (engine)
        engine->type->close(engine);
}
