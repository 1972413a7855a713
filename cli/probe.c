/* probe.c: `parley probe`: measures a real set of hosts and writes the file that --network takes. */
#include "engine/measure_network.h"

#include <string.h>

#include "fit.h"

typedef struct run {
    const command *command;
    const char *path;
    const parley_settings *settings;
    pl_probe probe;
    unsigned ranks;
} run;

static parley_status check(const void *user, parley_error *error) {
    const run *run = user;
    return check_writable(run->path, error);
}

static json_t *json_probe(const run *run) {
    const pl_network *network = &run->probe.network;
    json_t *object = json_object(), *sums = json_array(), *duplex = json_array();
    for (unsigned i = 0; i < PL_DUPLEX_SIZES; i++)
        json_array_append_new(duplex, pl_json_real(network->duplex[i]));
    for (unsigned i = 0; i < PL_PROBE_SIZES; i++) {
        json_t *sum = json_object();
        json_put(&sum, "entries", json_count(run->probe.entries[i]));
        json_put(&sum, "seconds", pl_json_real(run->probe.seconds[i]));
        json_array_append_new(sums, sum);
    }
    json_put(&object, "ranks", json_count(run->ranks));
    json_put(&object, "latency", pl_json_real(network->latency));
    json_put(&object, "bandwidth", pl_json_real(network->bandwidth));
    json_put(&object, "burst", pl_json_real(network->burst));
    json_put(&object, "message", pl_json_real(network->message));
    json_put(&object, "duplex", duplex);
    json_put(&object, "nonzero", pl_json_real(network->nonzero));
    json_put(&object, "entry", pl_json_real(network->entry));
    json_put(&object, "together", pl_json_real(network->together));
    json_put(&object, "wake", pl_json_real(network->wake));
    json_put(&object, "allreduce", sums);
    return object;
}

static parley_status save(const run *run, parley_error *error) {
    json_t *object = json_probe(run);
    bool written = object && json_dump_file(object, run->path, JSON_INDENT(2)) == 0;
    json_decref(object);
    return written ? PARLEY_OK : pl_fail(error, PARLEY_NO_FILE, "%s: cannot write", run->path);
}

static parley_status work(pl_engine *engine, void *user, parley_error *error) {
    run *run = user;
    pl_probe probe;
    parley_status status = pl_probe_run(engine, &probe, error);
    if (status != PARLEY_OK || engine->rank != 0)
        return status;
    run->probe = probe;
    run->ranks = engine->ranks;
    return save(run, error);
}

static int done(const void *user) {
    (void)user;
    return EXIT_DONE;
}

static int report(const void *user) {
    const run *run = user;
    const pl_network *network = &run->probe.network;
    if (run->settings->json)
        return json_print(run->command, json_probe(run));
    print_field(stdout, "latency", "%.1f us", 1e6 * network->latency);
    print_field(stdout, "bandwidth", "%.4g Mbit/s", 8e-6 * network->bandwidth);
    print_field(stdout, "burst", "%.0f kB pass at once", 1e-3 * network->burst);
    for (unsigned i = 0; i < PL_DUPLEX_SIZES; i++)
        print_field(stdout, i ? "" : "all ways", "%.0f %% of the bandwidth in each direction, with messages of %u kB",
                    100 * network->duplex[i], (unsigned)(PL_DUPLEX_LEAST >> 10) << 2 * i);
    print_field(stdout, "message", "%.2f us at either end", 1e6 * network->message);
    print_field(stdout, "non-zero", "%.2f ns", 1e9 * network->nonzero);
    print_field(stdout, "entry", "%.2f ns", 1e9 * network->entry);
    print_field(stdout, "together", "work takes %.2f times as long when all hosts work", network->together);
    print_field(stdout, "wake", "%.0f us after the end of a sleep", 1e6 * network->wake);
    for (unsigned i = 0; i < PL_PROBE_SIZES; i++)
        print_field(stdout, "allreduce", "%llu entries in %.3f ms", (unsigned long long)run->probe.entries[i],
                    1e3 * run->probe.seconds[i]);
    print_field(stdout, "file", "%s", run->path);
    return EXIT_DONE;
}

static int probe_run(const arguments *arguments) {
    run run = {.command = arguments->command, .path = arguments->operands[0], .settings = &arguments->settings};
    return fit_run(&(fit){run.command, run.settings, check, work, report, done, &run});
}

const command probe_command = {
    .name = "probe",
    .operands = "OUT",
    .least = 1,
    .most = 1,
    .options = PL_FOR_PROBE,
    .summary = "measure a network, for the engine sim",
    .details =
        "Measures the hosts on which it runs: latency and bandwidth between two of them, the cost of a message, of a "
        "non-zero and of an entry, and all-reduces by size. It writes them to OUT, which --network takes. Start it "
        "on all hosts: parley launch --hosts FILE -- probe OUT.",
    .run = probe_run,
};
