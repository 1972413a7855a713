/* agree.c: see agree.h. Ranks first exchange keys; sentences are sent only after a failure. */
#define _GNU_SOURCE /* gethostname */
#include "engine/agree.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/collective.h"

#define HOST_NAME 64

/* A failure in the form of numbers, which an all-gather can send. */
typedef union letter {
    parley_error error;
    double numbers[(sizeof(parley_error) + sizeof(double) - 1) / sizeof(double)];
} letter;

/* What ranks know about each other's failures. */
typedef struct failures {
    double least;
    unsigned first, count; /* the lowest rank with that key, and how many have it */
} failures;

static parley_status gather_keys(pl_engine *engine, double mine, failures *out, parley_error *error) {
    unsigned ranks = engine->ranks;
    double *keys = pl_alloc(ranks, sizeof *keys);
    uint64_t *bounds = pl_alloc((uint64_t)ranks + 1, sizeof *bounds);
    parley_status status =
        keys && bounds ? PARLEY_OK : pl_fail_memory(error, "lists of ranks", (uint64_t)ranks * sizeof *keys);
    for (unsigned r = 0; r <= ranks && status == PARLEY_OK; r++)
        bounds[r] = r;
    if (status == PARLEY_OK) {
        keys[engine->rank] = mine;
        status = pl_all_gather(engine, keys, bounds, error);
    }
    *out = (failures){.least = INFINITY};
    for (unsigned r = 0; r < ranks && status == PARLEY_OK; r++) {
        out->first = keys[r] < out->least ? r : out->first;
        out->count = keys[r] < out->least ? 1 : out->count + (keys[r] == out->least);
        out->least = fmin(keys[r], out->least);
    }
    pl_free(keys);
    pl_free(bounds);
    return status;
}

/* Sends one rank's failure to all. */
static parley_status spread(pl_engine *engine, unsigned from, letter *letter, parley_error *error) {
    uint64_t *bounds;
    parley_status status = pl_take(&bounds, (uint64_t)engine->ranks + 1, sizeof *bounds, "lists of ranks", error);
    if (status != PARLEY_OK)
        return status;
    for (unsigned r = from + 1; r <= engine->ranks; r++)
        bounds[r] = sizeof letter->numbers / sizeof *letter->numbers;
    status = pl_all_gather(engine, letter->numbers, bounds, error);
    pl_free(bounds);
    return status;
}

static void name_rank(const pl_engine *engine, const char *remedy, parley_error *failure) {
    char host[HOST_NAME] = "", sentence[sizeof failure->sentence];
    gethostname(host, sizeof host - 1);
    snprintf(sentence, sizeof sentence, "%.*s, on rank %u (%s) only; %s",
             (int)(sizeof sentence - HOST_NAME - 40 - strlen(remedy)), failure->sentence, engine->rank, host, remedy);
    memcpy(failure->sentence, sentence, sizeof sentence);
}

parley_status pl_agree_status(pl_engine *engine, parley_status status, double key, const char *remedy,
                              parley_error *error) {
    letter failure = {0};
    parley_error lost;
    failures all;
    if (engine->ranks == 1)
        return status;
    if (status != PARLEY_OK)
        failure.error = *error;
    if (gather_keys(engine, status == PARLEY_OK ? INFINITY : key, &all, &lost) != PARLEY_OK) {
        *error = status == PARLEY_OK ? lost : failure.error; /* a failure of its own is closer to the cause */
        return error->status;
    }
    if (isinf(all.least))
        return PARLEY_OK;
    if (remedy && all.count < engine->ranks && all.first == engine->rank)
        name_rank(engine, remedy, &failure.error);
    *error = spread(engine, all.first, &failure, &lost) == PARLEY_OK ? failure.error : lost;
    return error->status;
}
