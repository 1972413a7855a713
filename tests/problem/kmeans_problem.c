/* kmeans_problem.c: the problem: where centres begin, what the objective is, and which facts it has. */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "kmeans.h"
#include "shard/row_sums.h"

#define CENTRE_STREAM 0x63656e74u /* apart from the streams of workers */

typedef struct kmeans {
    pl_problem base;
    uint64_t seed;
} kmeans;

static const pl_choice preset_choices[] = {{"usual", "kmeans-average", {{0}}, "it is the usual method"}};
static const pl_decision decisions[] = {
    {"preset", "which preset `auto` stands for", .setting = "preset", .choices = preset_choices},
    {0},
};

static unsigned facts(const pl_problem *problem, const parley_settings *settings) {
    (void)problem, (void)settings;
    return PL_FACT_NO_L1;
}

static void why(const pl_problem *problem, const parley_settings *settings, unsigned fact, char *text, size_t size) {
    (void)problem, (void)settings, (void)fact;
    snprintf(text, size, "clusters have none");
}

static const pl_problem_rules rules = {.decisions = decisions, .facts = facts, .why = why};

static parley_status open_kmeans(pl_engine *engine, const parley_data *data, const parley_settings *settings,
                                 pl_problem **out, parley_error *error) {
    kmeans *self;
    (void)engine;
    *out = NULL;
    parley_status status = pl_take(&self, 1, sizeof *self, "the problem", error);
    if (status != PARLEY_OK)
        return status;
    *self = (kmeans){.base = {.type = &kmeans_problem,
                              .data = data,
                              .size = data->x.columns * KMEANS_CENTRES,
                              .row = KMEANS_CENTRES,
                              .facts = PL_FACT_NO_L1},
                     .seed = settings->seed};
    *out = &self->base;
    return status;
}

static parley_status move(pl_problem *problem, const parley_data *data, parley_error *error) {
    (void)error;
    problem->data = data;
    return PARLEY_OK;
}

static double weight_of(const parley_data *data, uint64_t i) { return data->weight ? data->weight[i] : 1.0; }

static void weigh_row(const void *context, uint64_t i, double *sums) { sums[0] += weight_of(context, i); }

static parley_status measure(pl_problem *problem, const pl_team *team, parley_error *error) {
    parley_status status = pl_total_rows(team, weigh_row, problem->data, 1, &problem->total, error);
    if (status == PARLEY_OK && !(problem->total > 0))
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: all weights are 0; at least one row needs a positive weight",
                       problem->data->path);
    return status;
}

/* The row with this number among those of a hosted worker, whose lanes follow each other. */
static uint64_t row_of(const pl_team *team, unsigned worker, uint64_t number) {
    for (unsigned lane = 0; lane < team->lanes; lane++) {
        const pl_part *part = &team->parts[worker * team->lanes + lane];
        for (uint64_t r = 0; r < part->count; r++) {
            uint64_t rows = part->ranges[r].end - part->ranges[r].begin;
            if (number < rows)
                return part->ranges[r].begin + number;
            number -= rows;
        }
    }
    return 0;
}

/* Centre k is a random row of worker k mod K: the rank that hosts it fills it in, and the sum brings it to all. */
typedef struct choice {
    const kmeans *of;
    const pl_team *team;
} choice;

static void choose_rows(const void *context, const pl_part *part, double *sums) {
    const choice *choice = context;
    const pl_team *team = choice->team;
    const pl_matrix *x = &choice->of->base.data->x;
    uint64_t place = (uint64_t)(part - team->parts);
    unsigned hosted = (unsigned)(place / team->lanes);
    for (unsigned k = 0; k < KMEANS_CENTRES && place % team->lanes == 0; k++) {
        if (k % team->workers != team->first + hosted || team->rows[hosted] == 0)
            continue;
        pl_stream stream = pl_stream_make(choice->of->seed, CENTRE_STREAM, k);
        double unit = pl_random_unit(&stream);
        uint64_t row = row_of(team, hosted, (uint64_t)(unit * (double)team->rows[hosted]));
        for (uint64_t e = x->start[row]; e < x->start[row + 1]; e++)
            sums[(uint64_t)x->index[e] * KMEANS_CENTRES + k] = pl_value_at(x->values, e);
    }
}

typedef struct look {
    const pl_problem *problem;
    const double *c, *norm2;
} look;

static void look_at_row(const void *context, uint64_t i, double *sums) {
    const look *look = context;
    const parley_data *data = look->problem->data;
    double distance[KMEANS_CENTRES];
    kmeans_distances(&data->x, i, data->x.columns, look->c, look->norm2, distance);
    sums[0] += 0.5 * weight_of(data, i) / look->problem->total * distance[kmeans_nearest(distance)];
}

static parley_status first(const pl_problem *problem, const pl_team *team, double *w, double *objective,
                           parley_error *error) {
    double norm2[KMEANS_CENTRES];
    choice choice = {(const kmeans *)problem, team};
    parley_status status = pl_sum_tables(team, problem->size, choose_rows, &choice, w, error);
    if (status != PARLEY_OK)
        return status;
    kmeans_norms(problem->data->x.columns, w, norm2);
    return pl_total_rows(team, look_at_row, &(look){problem, w, norm2}, 1, objective, error);
}

static parley_status bound(const pl_problem *problem, const pl_point_seen *point, pl_bound *out, parley_error *error) {
    (void)problem, (void)error;
    *out = (pl_bound){.objective = point->at->value, .dual = -INFINITY, .gradient = NAN};
    return PARLEY_OK;
}

static parley_status keep_model(const pl_problem *problem, const double *w, parley_model **out, parley_error *error) {
    return kmeans_model_new(problem->data->x.columns, w, out, error);
}

static parley_status accept(const pl_problem *problem, const parley_model *model, const char *name, double *w,
                            parley_error *error) {
    if (model->columns != problem->data->x.columns)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s has %llu columns and the data have %llu", name,
                       (unsigned long long)model->columns, (unsigned long long)problem->data->x.columns);
    memcpy(w, kmeans_centres(model), problem->size * sizeof *w);
    return PARLEY_OK;
}

static bool reads(const char *setting) { return strcmp(setting, "passes") == 0; }

static void describe(const pl_problem *problem, const parley_settings *settings, pl_description *out) {
    (void)problem;
    pl_describe_number(out, "centres", KMEANS_CENTRES);
    pl_describe_line(out, "problem: %d centres, seed %llu", KMEANS_CENTRES, (unsigned long long)settings->seed);
}

static void close_kmeans(pl_problem *problem) { pl_free(problem); }

const pl_problem_type kmeans_problem = {
    .name = "kmeans",
    .help = "centres of clusters, for tests",
    .command = "cluster",
    .summary = "find centres of clusters",
    .details = "Finds centres of clusters of the rows of DATA; labels are not used.",
    .commands = PL_FOR_CHANGE,
    .by_change = true,
    .reads = reads,
    .model_type = &kmeans_model,
    .rules = &rules,
    .open = open_kmeans,
    .move = move,
    .measure = measure,
    .first = first,
    .bound = bound,
    .model = keep_model,
    .accept = accept,
    .describe = describe,
    .close = close_kmeans,
};
