/* verdict.c: see verdict.h. Every sentence has the numbers behind it. Advice follows from shares of the time in rounds:
 * what takes a large share and can be had for less is named, the largest first. */
#include "trace/verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGE 0.25 /* share of the time in rounds that is worth a sentence */
#define MOST 0.6   /* share above which nothing else matters */
#define UNEVEN 1.5 /* slowest worker over the mean of the others above which it is slow */
#define LITTLE 0.1 /* share of the time in rounds that a slow worker must cost to be named */
#define RECENT 0.5 /* part of the evaluations from which the pace is taken */
#define FEW_POINTS 3

/* Where the next sentence goes; the last place is written again if there are too many. */
static char *next(pl_verdict *verdict, pl_sentence_kind kind) {
    verdict->count += verdict->count < PL_MOST_SENTENCES;
    verdict->sentence[verdict->count - 1].kind = kind;
    return verdict->sentence[verdict->count - 1].text;
}

#define say(verdict, kind, ...) snprintf(next(verdict, kind), sizeof(verdict)->sentence->text, __VA_ARGS__)

const char *pl_verdict_kind(pl_sentence_kind kind) {
    return (const char *const[]){"good", "poor", "time", "advice"}[kind];
}

/* A setting of the run as a number; NaN if it is not one. */
static double setting(const pl_run_table *table, const char *name) {
    const char *text = pl_line_text(json_object_get(pl_run_table_start(table), "settings"), name);
    char *end;
    double value = strtod(text, &end);
    return *text && !*end ? value : NAN;
}

static bool is_set(const pl_run_table *table, const char *name, const char *value) {
    return strcmp(pl_line_text(json_object_get(pl_run_table_start(table), "settings"), name), value) == 0;
}

static void seconds_text(double seconds, char *text, size_t size) {
    if (seconds < 1)
        snprintf(text, size, "%.3g ms", 1e3 * seconds);
    else if (seconds < 120)
        snprintf(text, size, "%.3g s", seconds);
    else if (seconds < 7200)
        snprintf(text, size, "%.1f minutes", seconds / 60);
    else
        snprintf(text, size, "%.1f hours", seconds / 3600);
}

/* Fall of log10 of the relative gap per second over the recent evaluations, by least squares; NaN if unknown. */
static double decades_per_second(const pl_run_table *table) {
    uint64_t begin = table->part[table->parts - 1].first;
    begin += (uint64_t)(RECENT * (double)(table->rounds - begin));
    double n = 0, x = 0, y = 0, xx = 0, xy = 0, last = NAN;
    for (uint64_t i = begin; i < table->rounds; i++) {
        double gap = pl_run_table_round(table, "relative_gap", i), at = pl_run_table_round(table, "seconds", i);
        if (!(gap > 0) || gap == last)
            continue;
        last = gap;
        gap = log10(gap);
        n++;
        x += at;
        y += gap;
        xx += at * at;
        xy += at * gap;
    }
    double slope = (n * xy - x * y) / (n * xx - x * x);
    return n >= FEW_POINTS && slope < 0 ? -slope : NAN;
}

static void say_pace(const pl_run_table *table, pl_verdict *verdict) {
    double target = setting(table, "gap"), gap = pl_run_table_latest(table, "relative_gap"),
           pace = decades_per_second(table), left = log10(gap / target) / pace;
    char decade[32], away[32];
    if (!(target > 0 && left > 0 && left < 1e9))
        return;
    seconds_text(1 / pace, decade, sizeof decade);
    seconds_text(left, away, sizeof away);
    say(verdict, PL_TIME, "At its recent pace, ten times closer every %s, the target is another %s away.", decade,
        away);
}

static void describe_end(const pl_run_table *table, const json_t *stop, char *text, size_t size) {
    uint64_t last = table->rounds - 1;
    double gap = stop ? pl_line_number(stop, "relative_gap") : pl_run_table_latest(table, "relative_gap"),
           target = setting(table, "gap"), estimate = pl_run_table_latest(table, "estimate"),
           objective = stop ? pl_line_number(stop, "objective") : pl_run_table_latest(table, "objective");
    char seconds[32];
    seconds_text(table->report.total, seconds, sizeof seconds);
    int used = !isnan(gap)         ? snprintf(text, size, "the relative gap is %.2g", gap)
               : !isnan(objective) ? snprintf(text, size, "the objective is %.6g", objective)
               : !isnan(estimate)
                   ? snprintf(text, size, "no round was evaluated, the workers' estimate is %.2g", estimate)
                   : snprintf(text, size, "no round was evaluated");
    gap = isnan(gap) && isnan(objective) ? estimate : gap;
    if (!isnan(gap) && target > 0)
        used += snprintf(text + used, size - (size_t)used, " (target %.2g)", target);
    double epochs = pl_run_table_round(table, "epochs", last);
    snprintf(text + used, size - (size_t)used, " after %llu round%s, %.4g epoch%s and %s",
             (unsigned long long)table->rounds, table->rounds == 1 ? "" : "s", epochs, epochs == 1 ? "" : "s", seconds);
}

typedef struct ending {
    const char *status, *words;
    pl_sentence_kind kind;
} ending;

static void say_end(const pl_run_table *table, pl_verdict *verdict) {
    static const ending endings[] = {
        {"converged", "Converged", PL_GOOD},
        {"validated", "Converged, and an earlier model is better on the validation rows", PL_GOOD},
        {"passed", "Done: all passes were made", PL_GOOD},
        {"patience", "Stopped because the validation metric no longer improved", PL_GOOD},
        {"rounds", "Not converged: it reached its limit of rounds", PL_POOR},
        {"seconds", "Not converged: it reached its limit of seconds", PL_POOR},
        {"stalled", "Not converged: it stopped making progress", PL_POOR},
        {"interrupted", "Not converged: it was interrupted", PL_POOR},
        {"diverged", "Not converged: it diverged", PL_POOR},
    };
    const json_t *stop = pl_run_table_stop(table);
    const char *status = pl_line_text(stop, "status");
    ending found = {status, stop ? "It ended" : "No end in the log: the run was killed or is still running", PL_POOR};
    char end[256];
    for (unsigned i = 0; i < sizeof endings / sizeof *endings; i++)
        if (strcmp(endings[i].status, status) == 0)
            found = endings[i];
    if (table->rounds == 0) {
        say(verdict, PL_POOR, "%s; it has no round yet.", found.words);
        return;
    }
    describe_end(table, stop, end, sizeof end);
    say(verdict, found.kind, "%s; %s.", found.words, end);
    if (found.kind == PL_POOR)
        say_pace(table, verdict);
}

static void say_time(const pl_report *report, pl_verdict *verdict) {
    double all = report->rounds_seconds, percent = 100 / all;
    char rounds[32], setup[32];
    seconds_text(all, rounds, sizeof rounds);
    seconds_text(report->setup, setup, sizeof setup);
    say(verdict, PL_TIME,
        "Of %s in rounds, %.0f %% was computing, %.0f %% evaluating, %.0f %% combining updates, %.0f %% exchanging and "
        "%.0f %% waiting. Setup took %s.",
        rounds, percent * report->compute, percent * report->evaluate, percent * report->master,
        percent * report->exchange, percent * report->wait, setup);
}

/* Presets to name in advice: one whose workers need not wait for each other, one that goes on without the slowest, and
 * those with several steps between exchanges. NULL: the problem has none. */
typedef struct alternatives {
    const char *problem, *stale, *backup, *local;
    bool steps; /* all solvers with local work read --local-steps */
} alternatives;

static alternatives alternatives_of(const pl_run_table *table) {
    static const alternatives known[] = {
        {"linear", "petuum", "ps-backup", "cocoa+ or ma-sgd", true},
        {"network", "ps-async", "ps-backup", "ma-sgd", true},
        {"lda", "angel-lda", NULL, "ma-lda", false},
    };
    const char *problem = pl_line_text(pl_run_table_start(table), "problem");
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].problem, problem) == 0)
            return known[i];
    return (alternatives){0};
}

static void advise_local_work(const pl_run_table *table, const char *exchange, const char *compute, double share,
                              pl_verdict *verdict) {
    bool paced = is_set(table, "local_steps", "auto") && is_set(table, "local_epochs", "auto");
    double epochs = setting(table, "local_epochs") * fmin(share, 100);
    alternatives others = alternatives_of(table);
    if (table->rounds < FEW_POINTS) /* as in methods that end in a round or two */
        return;
    if (isnan(pl_run_table_latest(table, "local_epochs")))
        say(verdict, PL_ADVICE,
            "An exchange takes %s for %s of computing, and this method has one after each step: fewer workers would "
            "help%s%s.",
            exchange, compute, others.local ? ", or a preset with more steps between exchanges, such as " : "",
            others.local ? others.local : "");
    else if (!paced && share > 1 && !isnan(epochs))
        say(verdict, PL_ADVICE,
            "More local work would help: an exchange takes %s for %s of computing. --local-epochs %.*g makes them "
            "about equal%s.",
            exchange, compute, epochs < 10 ? 2 : 6, epochs < 10 ? epochs : round(epochs),
            others.steps ? "; --local-steps auto finds the best" : "");
    else if (!paced)
        say(verdict, PL_ADVICE,
            "More local work between exchanges may help: a round has %s of exchange for %s of computing. Try %s.",
            exchange, compute, others.steps ? "--local-steps auto" : "a larger --local-epochs");
}

/* Exchanges take long against computing: work longer between them, or use another exchange. */
static void advise_exchange(const pl_run_table *table, pl_verdict *verdict) {
    const pl_report *report = &table->report;
    double each = (report->exchange + report->master) / (double)report->rounds,
           work = report->compute / (double)report->rounds;
    char exchange[32], compute[32];
    seconds_text(each, exchange, sizeof exchange);
    seconds_text(work, compute, sizeof compute);
    advise_local_work(table, exchange, compute, each / work, verdict);
    if (strcmp(report->exchange_name, "driver") == 0)
        say(verdict, PL_ADVICE,
            "Another exchange would help: driver moves all updates through one rank, %s in each of %llu rounds. Try "
            "--exchange allreduce.",
            exchange, (unsigned long long)report->rounds);
}

/* The worker that computed longest, with the mean of the others. */
typedef struct slow_worker {
    unsigned worker;
    uint64_t rounds; /* in which it took much longer than the others */
    double own, others, cost;
} slow_worker;

static void add_slow_round(const pl_run_table *table, uint64_t round, slow_worker *slow) {
    double own = fmax(0, pl_run_table_member(&table->worker, slow->worker, "compute", round)), sum = -own;
    for (unsigned k = 0; k < table->worker.members; k++)
        sum += fmax(0, pl_run_table_member(&table->worker, k, "compute", round)); /* fmax drops NaN */
    double others = sum / (table->worker.members - 1);
    slow->rounds += own > UNEVEN * others;
    slow->own += own;
    slow->others += others;
    slow->cost += fmax(0, own - others);
}

/* Returns whether a worker is slow and did not just have a bad moment: it took much longer in most rounds. */
static bool find_slow_worker(const pl_run_table *table, slow_worker *slow) {
    const pl_report *report = &table->report;
    *slow = (slow_worker){0};
    if (report->workers < 2 || table->worker.members < 2 || report->adapts) /* they may not be there all the time */
        return false;
    for (unsigned k = 0; k < report->workers; k++)
        slow->worker = report->worker[k].compute > report->worker[slow->worker].compute ? k : slow->worker;
    for (uint64_t i = 0; i < table->rounds; i++)
        add_slow_round(table, i, slow);
    return 2 * slow->rounds > table->rounds && slow->cost > LITTLE * report->rounds_seconds;
}

/* Rank r has the workers [rK/R, (r+1)K/R). */
static unsigned rank_of(const pl_report *report, unsigned worker) {
    unsigned rank = 0;
    while (rank + 1 < report->ranks && (uint64_t)(rank + 1) * report->workers / report->ranks <= worker)
        rank++;
    return rank;
}

static void advise_without_waiting(const pl_run_table *table, pl_verdict *verdict) {
    const pl_report *report = &table->report;
    alternatives others = alternatives_of(table);
    bool several = report->rank[report->ranks - 1].host > 0;
    if (strcmp(report->exchange_name, "server") == 0 && !is_set(table, "staleness", "0"))
        say(verdict, PL_ADVICE,
            "Workers meet at the end of each round: longer rounds (--clocks), with a --staleness that allows it, let "
            "the others go on meanwhile.");
    else if (others.stale)
        say(verdict, PL_ADVICE,
            "A preset with a server and --staleness, such as %s, lets the others go on meanwhile%s%s.", others.stale,
            others.backup ? "; one with --backups drops updates that come late, such as " : "",
            others.backup ? others.backup : "");
    if (several)
        say(verdict, PL_ADVICE, "A host with fewer workers has fewer rows: a slow one should have the fewest.");
}

/* One worker is slower than the others. Returns whether there is one. */
static bool advise_slow_worker(const pl_run_table *table, pl_verdict *verdict) {
    const pl_report *report = &table->report;
    char own[32], usual[32], cost[32];
    slow_worker slow;
    if (!find_slow_worker(table, &slow))
        return false;
    unsigned rank = rank_of(report, slow.worker);
    seconds_text(slow.own, own, sizeof own);
    seconds_text(slow.others, usual, sizeof usual);
    seconds_text(slow.cost, cost, sizeof cost);
    say(verdict, PL_ADVICE,
        "Worker %u (rank %u on host %u) is slow: it computed for %s, the others for %s on average, and it was the "
        "slowest in %llu of %llu rounds. Waiting for it cost up to %s.",
        slow.worker, rank, report->rank[rank].host, own, usual, (unsigned long long)report->worker[slow.worker].slowest,
        (unsigned long long)report->rounds, cost);
    advise_without_waiting(table, verdict);
    return true;
}

/* Workers wait: they share cores, or their work is uneven. */
static void advise_wait(const pl_run_table *table, pl_verdict *verdict) {
    const pl_report *report = &table->report;
    unsigned places = report->threads * report->ranks;
    if (report->workers > places || report->ranks * report->threads > report->cores)
        say(verdict, PL_ADVICE,
            "Fewer workers would help: %u worker%s in %u rank%s of %u thread%s share %u core%s, and %.0f %% of the "
            "rounds is waiting.",
            report->workers, report->workers == 1 ? "" : "s", report->ranks, report->ranks == 1 ? "" : "s",
            report->threads, report->threads == 1 ? "" : "s", report->cores, report->cores == 1 ? "" : "s",
            100 * report->wait / report->rounds_seconds);
    else {
        alternatives others = alternatives_of(table);
        bool server = strcmp(report->exchange_name, "server") == 0;
        say(verdict, PL_ADVICE,
            "Waiting takes %.0f %% of the rounds although no worker is always the slowest: fewer rounds with more work "
            "in each would help%s%s.",
            100 * report->wait / report->rounds_seconds,
            others.stale && !server ? ", or a preset whose workers need not wait for each other, such as " : "",
            others.stale && !server ? others.stale : "");
    }
}

static void advise(const pl_run_table *table, pl_verdict *verdict) {
    const pl_report *report = &table->report;
    double all = report->rounds_seconds, exchange = (report->exchange + report->master) / all;
    if (report->evaluate / all > LARGE)
        say(verdict, PL_ADVICE,
            "Evaluating takes %.0f %% of the rounds: evaluate less often with a larger --evaluate-every.",
            100 * report->evaluate / all);
    if (report->workers > 1 && exchange > LARGE && exchange >= report->wait / all)
        advise_exchange(table, verdict);
    bool slow = advise_slow_worker(table, verdict);
    if (!slow && report->workers > 1 && report->wait / all > LARGE)
        advise_wait(table, verdict);
    if (report->setup > report->total / 2 && report->setup > 1)
        say(verdict, PL_ADVICE,
            "Setup takes %.0f %% of the whole: a file converted once with `parley convert` is read faster.",
            100 * report->setup / report->total);
    if (!slow && report->compute / all > MOST && report->workers * report->threads > 1)
        say(verdict, PL_ADVICE,
            "Computing takes most of the time, so exchanges are not the limit: more cores would help, and other "
            "settings "
            "of the exchange would not.");
}

void pl_verdict_of(const pl_run_table *table, pl_verdict *out) {
    *out = (pl_verdict){0};
    if (table->parts == 0)
        return;
    say_end(table, out);
    if (table->rounds == 0 || !(table->report.rounds_seconds > 0))
        return;
    say_time(&table->report, out);
    advise(table, out);
}
