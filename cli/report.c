/* report.c: `parley report` shows where the time of a run went, split as in the papers. */
#include "trace/report_numbers.h"

#include <stdio.h>

#include "cli.h"

typedef struct part {
    const char *name, *note;
    double seconds;
} part;

enum { PARTS = 9 };

static void parts_of(const pl_report *report, part parts[PARTS]) {
    const part all[PARTS] = {
        {"total", "from data in memory to the model", report->total},
        {"setup", "before the first round", report->setup},
        {"rounds", "the loop", report->rounds_seconds},
        {"compute", "the slowest worker of each round", report->compute},
        {"evaluate", "objective and gap", report->evaluate},
        {"master", "combining updates and updating v", report->master},
        {"overhead", "the rest of the rounds", report->overhead},
        {"exchange", "of the overhead: from local work to the new v, without master", report->exchange},
        {"wait", "of the overhead: for the slowest worker, a free core, or the log", report->wait}};
    for (unsigned i = 0; i < PARTS; i++)
        parts[i] = all[i];
    if (report->compute > report->slowest)
        parts[3].note = "the slowest worker of each round, or all compute time divided by the shared cores";
}

static double percent(const pl_report *report, double seconds) {
    return report->rounds_seconds > 0 ? 100.0 * seconds / report->rounds_seconds : 0.0;
}

static void print_split(const pl_report *report) {
    part parts[PARTS];
    parts_of(report, parts);
    printf("\n%-12s %10s %8s\n", "", "seconds", "percent");
    for (unsigned i = 0; i < PARTS; i++)
        if (i < 2)
            printf("%-12s %10.4f %8s   %s\n", parts[i].name, parts[i].seconds, "", parts[i].note);
        else
            printf("%-12s %10.4f %8.1f   %s\n", parts[i].name, parts[i].seconds, percent(report, parts[i].seconds),
                   parts[i].note);
}

static void print_workers(const pl_report *report) {
    printf("\n%6s %10s %10s %10s %10s %8s %14s %14s\n", "worker", "compute", "wait", "exchange", "evaluate", "slowest",
           "bytes sent", "received");
    for (unsigned k = 0; k < report->workers; k++) {
        const pl_report_worker *worker = &report->worker[k];
        char sent[32], received[32];
        print_count(worker->sent, sent, sizeof sent);
        print_count(worker->received, received, sizeof received);
        printf("%6u %10.4f %10.4f %10.4f %10.4f %8llu %14s %14s\n", k, worker->compute, worker->wait, worker->exchange,
               worker->evaluate, (unsigned long long)worker->slowest, sent, received);
    }
}

static void print_ranks(const pl_report *report) {
    printf("\n%6s %5s %10s %10s %10s %10s %10s %14s %14s\n", "rank", "host", "local", "cpu", "wait", "exchange",
           "evaluate", "bytes sent", "received");
    for (unsigned r = 0; r < report->ranks; r++) {
        const pl_report_rank *rank = &report->rank[r];
        char sent[32], received[32];
        print_count(rank->sent, sent, sizeof sent);
        print_count(rank->received, received, sizeof received);
        printf("%6u %5u %10.4f %10.4f %10.4f %10.4f %10.4f %14s %14s\n", r, rank->host, rank->local, rank->cpu,
               rank->wait, rank->exchange, rank->evaluate, sent, received);
    }
}

static int print_report(const pl_report *report) {
    printf("%s = %s x %s x %s on %s: %u worker%s, %u rank%s of %u thread%s, %u core%s per host\n", report->preset,
           report->local, report->combine, report->exchange_name, report->engine, report->workers,
           report->workers == 1 ? "" : "s", report->ranks, report->ranks == 1 ? "" : "s", report->threads,
           report->threads == 1 ? "" : "s", report->cores, report->cores == 1 ? "" : "s");
    printf("%s after %llu round%s\n", ending_text(report->status), (unsigned long long)report->rounds,
           report->rounds == 1 ? "" : "s");
    print_split(report);
    print_workers(report);
    print_ranks(report);
    return EXIT_DONE;
}

static json_t *worker_json(unsigned k, const pl_report_worker *worker) {
    json_t *one = json_object();
    json_put(&one, "worker", json_count(k));
    json_put(&one, "compute", pl_json_real(worker->compute));
    json_put(&one, "wait", pl_json_real(worker->wait));
    json_put(&one, "exchange", pl_json_real(worker->exchange));
    json_put(&one, "evaluate", pl_json_real(worker->evaluate));
    json_put(&one, "slowest", json_count(worker->slowest));
    json_put(&one, "bytes_sent", json_count(worker->sent));
    json_put(&one, "bytes_received", json_count(worker->received));
    return one;
}

static json_t *rank_json(unsigned r, const pl_report_rank *rank) {
    json_t *one = json_object();
    json_put(&one, "rank", json_count(r));
    json_put(&one, "host", json_count(rank->host));
    json_put(&one, "local", pl_json_real(rank->local));
    json_put(&one, "cpu", pl_json_real(rank->cpu));
    json_put(&one, "wait", pl_json_real(rank->wait));
    json_put(&one, "exchange", pl_json_real(rank->exchange));
    json_put(&one, "evaluate", pl_json_real(rank->evaluate));
    json_put(&one, "bytes_sent", json_count(rank->sent));
    json_put(&one, "bytes_received", json_count(rank->received));
    return one;
}

static int print_json(const command *command, const pl_report *report) {
    json_t *object = json_object(), *seconds = json_object(), *percents = json_object(), *workers = json_array(),
           *ranks = json_array();
    part parts[PARTS];
    parts_of(report, parts);
    for (unsigned i = 0; i < PARTS; i++) {
        json_put(&seconds, parts[i].name, pl_json_real(parts[i].seconds));
        json_put(&percents, parts[i].name, pl_json_real(percent(report, parts[i].seconds)));
    }
    json_put(&seconds, "slowest", pl_json_real(report->slowest));
    for (unsigned k = 0; k < report->workers; k++)
        json_append(&workers, worker_json(k, &report->worker[k]));
    for (unsigned r = 0; r < report->ranks; r++)
        json_append(&ranks, rank_json(r, &report->rank[r]));
    json_put(&object, "preset", json_string(report->preset));
    json_put(&object, "engine", json_string(report->engine));
    json_put(&object, "status", *report->status ? json_string(report->status) : json_null());
    json_put(&object, "rounds", json_count(report->rounds));
    json_put(&object, "cores", json_count(report->cores));
    json_put(&object, "seconds", seconds);
    json_put(&object, "percent", percents);
    json_put(&object, "workers", workers);
    json_put(&object, "ranks", ranks);
    return json_print(command, object);
}

static int report_run(const arguments *arguments) {
    const parley_settings *settings = &arguments->settings;
    pl_report report;
    parley_error error;
    if (settings->text && settings->json)
        pl_fail(&error, PARLEY_BAD_USAGE, "--text and --json are two forms of the report; give one of them");
    else if (*settings->html && (settings->text || settings->json))
        pl_fail(&error, PARLEY_BAD_USAGE, "--html writes a page instead of printing; leave out --%s",
                settings->text ? "text" : "json");
    else if (*settings->html)
        return report_page(arguments);
    else if (settings->follow)
        pl_fail(&error, PARLEY_BAD_USAGE, "--follow rewrites a page while the run goes on; name it with --html FILE");
    else if (arguments->count > 1)
        pl_fail(&error, PARLEY_BAD_USAGE, "several logs are compared on a page; name it with --html FILE");
    else if (pl_report_read(arguments->operands[0], &report, &error) == PARLEY_OK) {
        int code = settings->json ? print_json(arguments->command, &report) : print_report(&report);
        pl_report_free(&report);
        if (!settings->json)
            report_plots(arguments->operands[0]);
        return code;
    }
    return fail(arguments->command, &error);
}

const command report_command = {
    .name = "report",
    .operands = "LOG...",
    .least = 1,
    .most = REPORT_MOST_LOGS,
    .options = PL_FOR_REPORT,
    .summary = "show where the time of a run went",
    .details =
        "Reads the log that --log wrote and splits the time of the run into computing by the slowest worker, "
        "evaluating, combining updates, and overhead, which is the rest: exchanging and waiting. Then it does the same "
        "for each worker and each process. It prints tables, and with --json one object. With --html it writes a page "
        "with a verdict and charts, which needs no network; several logs are compared on it.",
    .run = report_run,
};
