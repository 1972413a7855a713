/* straggler.c: see straggler.h. The words are SHARE:FACTOR or @WORKER:FACTOR. */
#include "train/straggler.h"

#include <math.h>
#include <stdio.h>

#include "base/random.h"
#include "base/stop.h"

#define SLOW_STREAM 0x736c6f77ULL
#define NAP 0.5 /* seconds of a pause, after which a request to stop is noticed */

parley_status pl_straggler_parse(const parley_settings *settings, unsigned hosted, pl_straggler *out,
                                 parley_error *error) {
    const char *words = settings->straggler;
    char rest;
    *out = (pl_straggler){.factor = 1.0, .seed = settings->seed, .hosted = hosted};
    if (!*words)
        return PARLEY_OK;
    out->one = *words == '@';
    bool read = out->one ? sscanf(words, "@%u:%lf%c", &out->worker, &out->factor, &rest) == 2
                         : sscanf(words, "%lf:%lf%c", &out->share, &out->factor, &rest) == 2;
    if (!read || !(out->factor >= 1.0 && out->factor <= 1e6) || !(out->share >= 0 && out->share <= 1))
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--straggler %.80s: give SHARE:FACTOR, as in 0.05:4, or @WORKER:FACTOR, as in @0:4", words);
    return PARLEY_OK;
}

double pl_straggler_factor(const pl_straggler *straggler, unsigned worker, uint64_t clock) {
    if (straggler->one)
        return worker == straggler->worker ? straggler->factor : 1.0;
    if (straggler->share == 0)
        return 1.0;
    pl_stream stream = pl_stream_make(straggler->seed ^ SLOW_STREAM, worker, clock);
    return pl_random_unit(&stream) < straggler->share ? straggler->factor : 1.0;
}

void pl_straggle(const pl_straggler *straggler, pl_engine *engine, unsigned worker, uint64_t clock, pl_update *update,
                 const atomic_bool *failed) {
    double crowd = fmax(1.0, (double)straggler->hosted / engine->threads);
    double more = (pl_straggler_factor(straggler, worker, clock) - 1.0) * update->seconds * crowd;
    update->seconds += more;
    for (; more > 0 && !pl_stop_due() && !(failed && atomic_load(failed)); more -= NAP)
        pl_engine_spend(engine, fmin(more, NAP));
}
