/* exchange_bench.c: compares all-reduces in processes started by MPI: Parley's exchanges and MPI_Allreduce.
 *
 *   mpiexec -n 4 bench_exchange REPETITIONS SUPPORT BYTES ...
 *
 * Every rank has an update of BYTES / 8 values of which SUPPORT percent are not 0 (sparse if below 100), and in the end
 * all ranks have the sum. Rank 0 prints a line of JSON for each size and method: the seconds of the slowest rank in
 * each repetition. The methods take turns. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "engine/collective.h"
#include "method/exchange.h"

typedef struct contest {
    pl_engine *engine;
    pl_exchange *exchange[2]; /* allreduce, driver */
    uint64_t size;
    pl_update update;
    double *values, *sum;
} contest;

typedef struct way {
    const char *name;
    void (*run)(contest *contest);
} way;

static void check(parley_status status, const parley_error *error) {
    if (status == PARLEY_OK)
        return;
    fprintf(stderr, "bench_exchange: %s\n", error->sentence);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void exchange_by(contest *contest, pl_exchange *exchange) {
    parley_error error;
    double share = 1.0;
    check(pl_exchange_reduce(exchange, &contest->update, &share, contest->sum, &error), &error);
    check(pl_exchange_spread(exchange, contest->sum, &error), &error);
}

static void by_allreduce(contest *contest) { exchange_by(contest, contest->exchange[0]); }
static void by_driver(contest *contest) { exchange_by(contest, contest->exchange[1]); }

static void by_mpi(contest *contest) {
    MPI_Allreduce(contest->values, contest->sum, (int)contest->size, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* The same call, yielding the core while it waits, as Parley does. Four ranks on two cores need this. */
static void by_polite_mpi(contest *contest) {
    MPI_Request request;
    int done = 0;
    MPI_Iallreduce(contest->values, contest->sum, (int)contest->size, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    for (MPI_Test(&request, &done, MPI_STATUS_IGNORE); !done; MPI_Test(&request, &done, MPI_STATUS_IGNORE))
        sched_yield();
}

static const way ways[] = {
    {"allreduce", by_allreduce}, {"driver", by_driver}, {"mpi", by_mpi}, {"mpi, polite", by_polite_mpi}};
enum { WAYS = sizeof ways / sizeof *ways };

/* The seconds of the slowest rank, on rank 0. */
static double slowest(pl_engine *engine, double seconds) {
    parley_error error;
    double all = seconds;
    for (unsigned r = 1; r < engine->ranks && engine->rank == 0; r++) {
        double theirs;
        check(engine->type->take(engine, r, 1000, &theirs, sizeof theirs, &error), &error);
        all = theirs > all ? theirs : all;
    }
    if (engine->rank != 0)
        check(engine->type->post(engine, 0, 1000, &seconds, sizeof seconds, &error), &error);
    return all;
}

static void make_update(contest *contest, double support) {
    pl_stream stream = pl_stream_make(1, contest->engine->rank, 0);
    uint32_t *index = calloc(contest->size + 1, sizeof *index);
    double *value = calloc(contest->size + 1, sizeof *value);
    uint64_t count = 0;
    for (uint64_t j = 0; j < contest->size; j++)
        if (pl_random_unit(&stream) * 100.0 < support) {
            index[count] = (uint32_t)j;
            value[count++] = contest->values[j] = 1.0 + pl_random_unit(&stream);
        }
    contest->update = support < 100.0 ? (pl_update){.count = count, .index = index, .value = value}
                                      : (pl_update){.count = contest->size, .value = contest->values};
}

static void verify(const contest *contest, const double *expected, const char *name) {
    for (uint64_t j = 0; j < contest->size; j++)
        if (!(contest->sum[j] - expected[j] < 1e-9 && expected[j] - contest->sum[j] < 1e-9)) {
            fprintf(stderr, "bench_exchange: %s: entry %llu is wrong\n", name, (unsigned long long)j);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
}

static void run(contest *contest, unsigned repetitions, double support) {
    pl_engine *engine = contest->engine;
    double *seconds = calloc((uint64_t)WAYS * repetitions, sizeof *seconds),
           *expected = calloc(contest->size, sizeof *expected);
    parley_error error;
    for (unsigned i = 0; i <= repetitions; i++)
        for (unsigned w = 0; w < WAYS; w++) {
            check(pl_barrier(engine, &error), &error);
            double began = pl_now();
            ways[w].run(contest);
            double took = slowest(engine, pl_now() - began);
            if (i > 0) /* the first repetition warms up and compares the results */
                seconds[w * repetitions + i - 1] = took;
            else if (w == 0)
                memcpy(expected, contest->sum, contest->size * sizeof *expected);
            else
                verify(contest, expected, ways[w].name);
        }
    for (unsigned w = 0; w < WAYS && engine->rank == 0; w++) {
        printf("{\"way\": \"%s\", \"bytes\": %llu, \"ranks\": %u, \"support\": %g, \"seconds\": [", ways[w].name,
               (unsigned long long)(contest->size * sizeof(double)), engine->ranks, support);
        for (unsigned i = 0; i < repetitions; i++)
            printf("%s%.9f", i ? ", " : "", seconds[w * repetitions + i]);
        printf("]}\n");
    }
    free(seconds);
    free(expected);
}

static void compete(pl_engine *engine, uint64_t bytes, unsigned repetitions, double support) {
    contest contest = {.engine = engine, .size = bytes / sizeof(double)};
    pl_team team = {.engine = engine, .workers = engine->ranks, .first = engine->rank, .hosted = 1, .lanes = 1};
    const pl_exchange_type *types[] = {&pl_exchange_allreduce, &pl_exchange_driver};
    parley_error error;
    contest.values = calloc(contest.size, sizeof *contest.values);
    contest.sum = calloc(contest.size, sizeof *contest.sum);
    for (unsigned i = 0; i < 2; i++)
        check(types[i]->open(&(pl_setup){.team = &team, .entries = contest.size, .width = 1}, false,
                             &contest.exchange[i], &error),
              &error);
    make_update(&contest, support);
    run(&contest, repetitions, support);
    for (unsigned i = 0; i < 2; i++)
        pl_tables_close(contest.exchange[i]);
    free((void *)contest.update.index);
    free(contest.values);
    free(contest.sum);
}

static parley_status compete_all(pl_engine *engine, void *context, parley_error *error) {
    char **arguments = context;
    (void)error;
    for (unsigned i = 3; arguments[i]; i++)
        compete(engine, strtoull(arguments[i], NULL, 10), (unsigned)atoi(arguments[1]), atof(arguments[2]));
    return PARLEY_OK;
}

int main(int count, char **arguments) {
    parley_settings settings;
    parley_error error = {0};
    if (count < 4) {
        fprintf(stderr, "usage: mpiexec -n 4 %s REPETITIONS SUPPORT BYTES ...\n", arguments[0]);
        return 2;
    }
    pl_settings_defaults(&settings);
    if (pl_launch(&settings, (pl_job){compete_all, NULL, arguments}, &error) != PARLEY_OK) {
        fprintf(stderr, "bench_exchange: %s\n", error.sentence);
        return 1;
    }
    return 0;
}
