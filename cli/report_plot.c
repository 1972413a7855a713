/* report_plot.c: the small plots at the end of `parley report`: the gap over time, and a Gantt chart of the workers. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cli.h"
#include "trace/run_table.h"

enum { WIDTH = 72, HEIGHT = 10, MOST_ROWS = 16, PHASES = 4 };

static const char *const PHASE[PHASES] = {"compute", "wait", "exchange", "evaluate"};
static const char ESTIMATE[] = "estimate"; /* of the relative gap, by the workers */
static const char MARK[PHASES + 1] = "#.=+";

/* What to plot: the relative gap on a logarithmic axis, with its estimates, or, if there is none, the objective. */
typedef struct curve {
    const char *key, *name;
    bool logarithmic;
    double low, high;    /* of the axis */
    double begin, start; /* when the first round began, and the value there; NaN if it is unknown */
} curve;

static double height_at(const curve *curve, double value) {
    return curve->logarithmic ? (value > 0 ? log10(value) : NAN) : value;
}

/* NaN if the round has no value to plot. */
static double height_of(const curve *curve, const char *key, const pl_run_table *table, uint64_t round) {
    return height_at(curve, pl_run_table_round(table, key, round));
}

static void widen(curve *curve, double height) {
    curve->low = height < curve->low ? height : curve->low;
    curve->high = height > curve->high ? height : curve->high;
}

static void include(curve *curve, const char *key, const pl_run_table *table) {
    for (uint64_t i = 0; i < table->rounds; i++)
        widen(curve, height_of(curve, key, table, i));
}

static const char *text_of(const pl_run_table *table, const char *setting) {
    return pl_line_text(json_object_get(pl_run_table_start(table), "settings"), setting);
}

/* Problems without a dual have in the place of the gap what is compared with the target. */
static const char *name_of(const pl_run_table *table) {
    bool linear = strcmp(pl_line_text(pl_run_table_start(table), "problem"), "linear") == 0;
    return !isnan(pl_run_table_latest(table, "gap")) || !isnan(pl_run_table_latest(table, ESTIMATE)) ? "relative gap"
           : linear ? "relative norm of the gradient"
                    : "relative change";
}

/* A linear model begins at w = 0, where the relative gap is 1, unless it continues another one. */
static bool begins_at_zero(const pl_run_table *table) {
    return strcmp(pl_line_text(table->part[0].start, "problem"), "linear") == 0 && !*text_of(table, "start") &&
           !*text_of(table, "resume") && pl_run_table_round(table, "round", 0) == 1;
}

static curve choose_curve(const pl_run_table *table) {
    curve curve = {"relative_gap", name_of(table), true, INFINITY, -INFINITY, table->report.setup, NAN};
    include(&curve, curve.key, table);
    include(&curve, ESTIMATE, table);
    if (curve.low <= curve.high) {
        curve.start = begins_at_zero(table) ? 1 : NAN;
        widen(&curve, height_at(&curve, curve.start));
        return curve;
    }
    curve.key = curve.name = "objective";
    curve.logarithmic = false;
    include(&curve, curve.key, table);
    return curve;
}

static unsigned cell(double value, double low, double high, unsigned cells) {
    double share = high > low ? (value - low) / (high - low) : 0;
    return (unsigned)fmin(cells - 1, fmax(0, floor(share * cells)));
}

static double end_of(const pl_run_table *table) { return pl_run_table_round(table, "seconds", table->rounds - 1); }

static void print_axis(double end) {
    char line[WIDTH + 1] = {0};
    memset(line, '-', WIDTH);
    printf("%10s +%s\n%10s  0%*.3g s\n", "", line, "", WIDTH - 3, end);
}

static void put(char grid[HEIGHT][WIDTH + 1], const curve *curve, double height, double seconds, double end,
                char sign) {
    grid[HEIGHT - 1 - cell(height, curve->low, curve->high, HEIGHT)][cell(seconds, 0, end, WIDTH)] = sign;
}

/* Returns whether there was anything to mark. */
static bool mark(char grid[HEIGHT][WIDTH + 1], const curve *curve, const char *key, const pl_run_table *table,
                 char sign) {
    bool any = false;
    for (uint64_t i = 0; i < table->rounds; i++) {
        double height = height_of(curve, key, table, i);
        if (isnan(height))
            continue;
        any = true;
        put(grid, curve, height, pl_run_table_round(table, "seconds", i), end_of(table), sign);
    }
    return any;
}

static void print_curve(const pl_run_table *table) {
    char grid[HEIGHT][WIDTH + 1];
    curve curve = choose_curve(table);
    if (!(curve.low <= curve.high))
        return;
    memset(grid, ' ', sizeof grid);
    bool estimated = curve.logarithmic && mark(grid, &curve, ESTIMATE, table, '.');
    mark(grid, &curve, curve.key, table, '*');
    if (!isnan(curve.start))
        put(grid, &curve, height_at(&curve, curve.start), curve.begin, end_of(table), '*');
    printf("\n%s by seconds%s\n", curve.name, estimated ? " (* evaluated, . estimated by the workers)" : "");
    for (unsigned y = 0; y < HEIGHT; y++) {
        int used = WIDTH;
        while (used > 0 && grid[y][used - 1] == ' ')
            used--;
        double at = y == 0 ? curve.high : curve.low;
        if ((y == 0 && curve.high > curve.low) || y == HEIGHT - 1)
            printf("%10.3g |%.*s\n", curve.logarithmic ? pow(10, at) : at, used, grid[y]);
        else
            printf("%10s |%.*s\n", "", used, grid[y]);
    }
    print_axis(end_of(table));
}

/* Adds the spans of a worker to the cells that they cover, in seconds. */
static void add_spans(const pl_run_table *table, unsigned worker, double cells[WIDTH][PHASES]) {
    double wide = end_of(table) / WIDTH;
    for (uint64_t i = 0; i < table->rounds; i++) {
        double length[PHASES], at = pl_run_table_round(table, "seconds", i);
        for (unsigned p = 0; p < PHASES; p++) {
            length[p] = fmax(0, pl_run_table_member(&table->worker, worker, PHASE[p], i)); /* fmax drops NaN */
            at -= length[p];
        }
        at = fmax(at, 0);
        for (unsigned p = 0; p < PHASES; at += length[p++])
            for (unsigned x = cell(at, 0, end_of(table), WIDTH); x < WIDTH && x * wide < at + length[p]; x++)
                cells[x][p] += fmax(0, fmin(at + length[p], (x + 1) * wide) - fmax(at, x * wide));
    }
}

static void print_worker(const pl_run_table *table, unsigned worker) {
    double cells[WIDTH][PHASES] = {{0}};
    char line[WIDTH + 1] = {0};
    add_spans(table, worker, cells);
    for (unsigned x = 0; x < WIDTH; x++) {
        unsigned most = 0;
        double sum = 0;
        for (unsigned p = 0; p < PHASES; p++) {
            sum += cells[x][p];
            most = cells[x][p] > cells[x][most] ? p : most;
        }
        line[x] = sum > end_of(table) / WIDTH / 4 ? MARK[most] : ' ';
    }
    int used = WIDTH;
    while (used > 0 && line[used - 1] == ' ')
        used--;
    printf("%10u |%.*s\n", worker, used, line);
}

static void print_gantt(const pl_run_table *table) {
    unsigned workers = table->worker.members;
    printf("\nworkers by seconds: what each did most (%c compute, %c wait, %c exchange, %c evaluate)\n", MARK[0],
           MARK[1], MARK[2], MARK[3]);
    for (unsigned k = 0; k < workers && k < MOST_ROWS; k++)
        print_worker(table, k);
    if (workers > MOST_ROWS)
        printf("%10s |and %u more workers; --html draws all of them\n", "", workers - MOST_ROWS);
    print_axis(end_of(table));
}

void report_plots(const char *path) {
    pl_run_table table;
    parley_error error;
    if (pl_run_table_load(&table, path, &error) == PARLEY_OK && table.rounds > 0 && end_of(&table) > 0) {
        print_curve(&table);
        print_gantt(&table);
    }
    pl_run_table_close(&table);
}
