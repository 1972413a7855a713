/* fuzz_replayed_log.c: any bytes as a log to replay: refused with a sentence, or rounds whose numbers are in range. */
#define _POSIX_C_SOURCE 200809L /* fmemopen */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "data/read.h"
#include "fuzz_check.h"
#include "train/replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

/* The data of which the seeds of the corpus are logs. */
static const parley_data *data_of_log(void) {
    static parley_data *data;
    pl_pool *pool;
    parley_error error = {0};
    if (data)
        return data;
    check(pl_pool_open(&pool, 1, &error) == PARLEY_OK);
    check(pl_data_parse("1 1:1\n-1 2:1\n", 13, "rows", pool, 0, &data, &error) == PARLEY_OK);
    pl_pool_close(pool);
    return data;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    static parley_settings defaults, settings;
    pl_replay replay = {0};
    parley_error error = {0};
    if (!defaults.problem)
        pl_settings_defaults(&defaults);
    settings = defaults;
    settings.replay = "fuzz";
    FILE *file = count ? fmemopen((void *)(uintptr_t)bytes, count, "r") : NULL;
    if (!file)
        return 0;
    parley_status status = pl_replay_read(&replay, file, &settings, data_of_log(), 0x0123456789abcdef, &error);
    check(status == PARLEY_OK || *error.sentence);
    for (uint64_t i = 0; i < replay.rounds && status == PARLEY_OK; i++)
        check(isnan(replay.epochs[i]) || (replay.epochs[i] > 0 && replay.epochs[i] <= 1e18));
    pl_replay_close(&replay);
    fclose(file);
    pl_settings_clear(&settings);
    return 0;
}
