/* engine.c: every engine there is. */
#include "engine/engine.h"

const pl_engine_type *const pl_engines[] = {&pl_engine_threads};
const unsigned pl_engines_count = sizeof pl_engines / sizeof *pl_engines;

void pl_engine_close(pl_engine *engine) {
    if (engine)
        engine->type->close(engine);
}
