/* engine.c: every engine there is. */
#include "engine/engine.h"

#include <string.h>

const pl_engine_type *const pl_engines[] = {&pl_engine_threads};
const unsigned pl_engines_count = sizeof pl_engines / sizeof *pl_engines;

const pl_engine_type *pl_engine_find(const char *name) {
    for (unsigned i = 0; i < pl_engines_count; i++)
        if (strcmp(pl_engines[i]->name, name) == 0)
            return pl_engines[i];
    return NULL;
}

void pl_engine_close(pl_engine *engine) {
    if (engine)
        engine->type->close(engine);
}
