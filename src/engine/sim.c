/* sim.c: the engine `sim`: logical hosts under a virtual clock, with a model of the network between them. Each host is
 * a rank that runs the same code as on a real cluster. Processor time is measured on this machine, or modelled by what
 * the work costs; messages take the time of network.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "engine/sim_world.h"

#define MOST_HOSTS 65536
#define FEW_HOSTS 16
#define ROUND_CORES 0.15 /* of a core, by which measured cores may exceed a whole number */

typedef struct sim_engine {
    pl_engine base;
    pl_world *world;
} sim_engine;

static pl_world *world_of(pl_engine *engine) { return ((sim_engine *)engine)->world; }

static parley_status post(pl_engine *engine, unsigned to, unsigned channel, const void *data, uint64_t bytes,
                          parley_error *error) {
    atomic_fetch_add(&engine->bytes_sent, bytes);
    return pl_strand_post(world_of(engine), to, channel, data, bytes, error);
}

static parley_status receive(pl_engine *engine, unsigned from, unsigned channel, pl_mail **out, parley_error *error) {
    pl_world *world = world_of(engine);
    *out = pl_strand_take(world, from, channel, engine->deadline);
    if (*out) {
        atomic_fetch_add(&engine->bytes_received, (*out)->bytes);
        return PARLEY_OK;
    }
    if (world->failed)
        return pl_fail(error, world->failure.status, "%s", world->failure.sentence);
    if (from == PL_ANY_RANK)
        return pl_fail_silence(engine, error);
    return pl_fail(error, PARLEY_NO_PEER, "rank %u sent nothing for %g seconds", from, engine->deadline);
}

static parley_status take(pl_engine *engine, unsigned from, unsigned channel, void *data, uint64_t bytes,
                          parley_error *error) {
    pl_mail *mail;
    parley_status status = receive(engine, from, channel, &mail, error);
    if (status == PARLEY_OK && mail->bytes != bytes)
        status = pl_fail_length(from, mail->bytes, bytes, error);
    else if (status == PARLEY_OK && bytes)
        memcpy(data, mail->data, bytes);
    pl_free(mail);
    return status;
}

static parley_status take_any(pl_engine *engine, unsigned channel, unsigned *from, pl_span *data, uint64_t *bytes,
                              parley_error *error) {
    pl_mail *mail;
    parley_status status = receive(engine, PL_ANY_RANK, channel, &mail, error);
    if (status == PARLEY_OK && !pl_span_reserve(data, mail->bytes + 1))
        status = pl_fail_memory(error, "a message", mail->bytes);
    if (status == PARLEY_OK) {
        *from = mail->from;
        *bytes = mail->bytes;
        memcpy(data->data, mail->data, mail->bytes);
    }
    pl_free(mail);
    return status;
}

static parley_status wait_sent(pl_engine *engine, parley_error *error) {
    (void)error;
    pl_strand_sent(world_of(engine));
    return PARLEY_OK;
}

static void cancel_sent(pl_engine *engine) { (void)engine; /* every message is a copy */ }

static parley_status expect(pl_engine *engine, pl_request *request, parley_error *error) {
    (void)engine, (void)request, (void)error; /* messages stay in the mailbox until they are awaited */
    return PARLEY_OK;
}

static parley_status await(pl_engine *engine, pl_request *request, uint64_t *bytes, parley_error *error) {
    pl_mail *mail;
    parley_status status = receive(engine, request->from, request->channel, &mail, error);
    *bytes = status == PARLEY_OK ? mail->bytes : 0;
    if (*bytes > request->most)
        status = pl_fail_length(request->from, *bytes, request->most, error);
    else if (*bytes)
        memcpy(request->data, mail->data, *bytes);
    pl_free(mail);
    return status;
}

static parley_status barrier(pl_engine *engine, parley_error *error) {
    (void)engine;
    return pl_fail(error, PARLEY_BROKEN, "hosts of a simulation share no memory");
}

static void run(pl_engine *engine, pl_task task, void *context, unsigned tasks) {
    pl_strand_tasks(world_of(engine), task, context, tasks);
}

static parley_status run_blocking(pl_engine *engine, pl_task task, void *context, unsigned tasks, parley_error *error) {
    return pl_world_run(world_of(engine), task, context, tasks, NULL, error);
}

static double now(pl_engine *engine) { return pl_strand_now(world_of(engine)); }

static double cpu(pl_engine *engine) { return world_of(engine)->host[engine->rank].cpu; }

static void spend(pl_engine *engine, double seconds) { pl_strand_pause(world_of(engine), seconds); }

static void compute(pl_engine *engine, double seconds) { pl_strand_compute(world_of(engine), seconds); }

static void fail(pl_engine *engine, parley_error *error) { pl_world_fail(world_of(engine), error); }

/* The simulation as a whole. */
typedef struct simulation {
    pl_world world;
    sim_engine *engines;
    const pl_job *job;
    parley_status *status;
    parley_error *error;
} simulation;

static void drive(void *context, unsigned rank) {
    simulation *self = context;
    self->status[rank] = pl_job_run(&self->engines[rank].base, PARLEY_OK, self->job, &self->error[rank]);
}

static unsigned host_of(void *context, unsigned rank) {
    (void)context;
    return rank;
}

static parley_status parse_hosts(const parley_settings *settings, unsigned *out, parley_error *error) {
    char *end;
    double hosts = strtod(settings->hosts, &end);
    if (!*settings->hosts || *end || !(hosts >= 1 && hosts <= MOST_HOSTS) || hosts != floor(hosts))
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--engine sim needs --hosts N, the number of hosts to simulate, at most %u", MOST_HOSTS);
    *out = (unsigned)hosts;
    return PARLEY_OK;
}

/* Speeds separated by commas, which the hosts take in turns. */
static parley_status parse_speeds(const char *words, pl_world *world, parley_error *error) {
    const char *at = words;
    for (unsigned h = 0; h < world->hosts; h++) {
        char *end;
        double speed = strtod(at, &end);
        if (end == at || (*end && *end != ',') || !(speed > 0 && speed <= 1e6))
            return pl_fail(error, PARLEY_BAD_USAGE,
                           "--host-speed %.80s: give a number above 0, or several separated by commas", words);
        world->host[h].speed = speed;
        at = *end ? end + 1 : words;
    }
    return PARLEY_OK;
}

/* TIME:FACTOR, as in 10s:5. */
static parley_status parse_change(const char *words, pl_world *world, parley_error *error) {
    char time[64], *end;
    const char *colon = strchr(words, ':');
    if (!*words)
        return PARLEY_OK;
    snprintf(time, sizeof time, "%.*s", colon ? (int)(colon - words) : 0, words);
    double seconds = pl_duration_of(time), factor = colon ? strtod(colon + 1, &end) : NAN;
    if (!(seconds >= 0) || !(factor > 0 && factor <= 1e6) || end == colon + 1 || *end)
        return pl_fail(
            error, PARLEY_BAD_USAGE,
            "--network-change %.80s: give TIME:FACTOR, as in 10s:5, from when on messages take how many times "
            "as long",
            words);
    pl_world_change(world, seconds, factor);
    return PARLEY_OK;
}

static parley_status open_engines(simulation *self, const parley_settings *settings, unsigned hosts, unsigned threads,
                                  parley_error *error) {
    parley_status status = pl_take(&self->engines, hosts, sizeof *self->engines, "hosts", error);
    if (status == PARLEY_OK)
        status = pl_take(&self->status, hosts, sizeof *self->status, "hosts", error);
    if (status == PARLEY_OK)
        status = pl_take(&self->error, hosts, sizeof *self->error, "hosts", error);
    for (unsigned r = 0; r < hosts && status == PARLEY_OK; r++) {
        pl_engine *engine = &self->engines[r].base;
        self->engines[r].world = &self->world;
        *engine = (pl_engine){.type = &pl_engine_sim,
                              .rank = r,
                              .here = r,
                              .ranks = hosts,
                              .threads = threads,
                              .cores = threads,
                              .scattered = hosts > 1,
                              .is_virtual = true,
                              .deadline = settings->deadline};
        if (!self->world.measured) {
            engine->nonzero_seconds = self->world.network.nonzero;
            engine->entry_seconds = self->world.network.entry;
        }
        status = pl_pool_open(&engine->pool, 1, error);
    }
    return status;
}

static void close_simulation(simulation *self, unsigned hosts) {
    for (unsigned r = 0; self->engines && r < hosts; r++) {
        if (self->engines[r].base.pool)
            pl_pool_close(self->engines[r].base.pool);
        pl_span_free(&self->engines[r].base.room);
    }
    pl_free(self->engines);
    pl_free(self->status);
    pl_free(self->error);
    pl_world_close(&self->world);
}

/* Threads of a host: as many as it has workers, so that none waits for a core, unless they are given. */
static unsigned threads_of(const parley_settings *settings, unsigned hosts) {
    uint64_t workers = settings->workers ? (settings->workers + hosts - 1) / hosts : 1;
    return (unsigned)(settings->threads ? settings->threads : workers);
}

/* Cores that all hosts share, as given or as measured on the same number of hosts: work took `together` times as long
 * when all worked, so that they had hosts / together cores, less what cores lose to each other. */
static parley_status share_cores(simulation *self, const parley_settings *settings, const pl_network *network,
                                 parley_error *error) {
    unsigned hosts = self->world.hosts, cores = (unsigned)settings->shared_cores;
    double found = hosts / network->together, crowded = 1.0;
    if (network->ranks == hosts && (!cores || cores > found)) {
        unsigned rounded = (unsigned)ceil(found - ROUND_CORES);
        cores = cores ? cores : rounded > 1 ? rounded : 1;
        crowded = fmax(1.0, (cores < hosts ? cores : hosts) / found);
    }
    return cores && (settings->shared_cores || cores < hosts || crowded > 1.0)
               ? pl_world_share_cores(&self->world, cores, crowded, error)
               : PARLEY_OK;
}

static parley_status launch(const parley_settings *settings, const pl_job *job, parley_error *error) {
    simulation self = {.job = job};
    pl_network network;
    unsigned hosts = 0;
    parley_status status = parse_hosts(settings, &hosts, error);
    if (status == PARLEY_OK)
        status = pl_network_parse(settings, &network, error);
    if (status != PARLEY_OK)
        return status;
    unsigned threads = threads_of(settings, hosts);
    pl_memory_for_many(hosts > FEW_HOSTS);
    status = pl_world_open(&self.world, hosts, threads, &network, settings->compute == PL_MEASURED, error);
    if (status == PARLEY_OK)
        status = share_cores(&self, settings, &network, error);
    if (status == PARLEY_OK)
        status = parse_speeds(settings->host_speed, &self.world, error);
    if (status == PARLEY_OK)
        status = parse_change(settings->network_change, &self.world, error);
    if (status == PARLEY_OK)
        status = open_engines(&self, settings, hosts, threads, error);
    if (status == PARLEY_OK)
        status = pl_world_run(&self.world, drive, &self, hosts, host_of, error);
    for (unsigned r = 0; r < hosts && status == PARLEY_OK; r++)
        if (self.status[r] != PARLEY_OK) {
            status = self.status[r];
            *error = self.error[r];
        }
    close_simulation(&self, hosts);
    pl_memory_for_many(false);
    return status;
}

const pl_engine_type pl_engine_sim = {
    .name = "sim",
    .help = "a simulated cluster: logical hosts under a virtual clock, with a model of the network",
    .launch = launch,
    .post = post,
    .take = take,
    .take_any = take_any,
    .post_zero_copy = post,
    .wait_sent = wait_sent,
    .cancel_sent = cancel_sent,
    .expect = expect,
    .await = await,
    .barrier = barrier,
    .run = run,
    .run_blocking = run_blocking,
    .now = now,
    .cpu = cpu,
    .spend = spend,
    .compute = compute,
    .fail = fail,
};
