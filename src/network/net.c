/* net.c: networks as a problem: what is trained, where it begins, and how v becomes a model. */
#include "network/net.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "data/format.h"
#include "math/blas.h"
#include "shard/column_moments.h"
#include "shard/row_sums.h"

#define FIRST_STREAM 0x6e657477u /* apart from the streams of workers */
#define USUAL_BATCH 100
#define SPARSE 0.25 /* density of the inputs below which the first layer works on sparse rows */
#define MOST_LANES 1024
#define LANE_ROWS 16       /* least rows of a step for each lane */
#define PARAMETER_COST 0.1 /* of a parameter, forwards and backwards, relative to a visit to a non-zero */
#define LEAST_PENALTY 1e-300
#define FARTHEST 8192.0 /* most deviations from 0 at which floats still tell the rows of a column apart */
#define LARGEST_VALUE 1e30
#define NOISE 0.5 /* of the objective of a pass, relative */

const pl_net *pl_net_of(const pl_problem *problem) { return (const pl_net *)problem; }

/* Rows of a step; infinite: all rows. */
static double batch_of(const parley_settings *settings) {
    const char *batch = settings->batch;
    return strcmp(batch, "all") == 0 ? INFINITY : strcmp(batch, "auto") == 0 ? USUAL_BATCH : strtod(batch, NULL);
}

uint64_t pl_net_batches(const parley_settings *settings, double rows) {
    double batches = ceil(rows / batch_of(settings));
    return batches < 1 ? 1 : (uint64_t)batches;
}

/* Rules */

static parley_status check_batch(const char *batch, parley_error *error) {
    char *end;
    if (strcmp(batch, "auto") == 0 || strcmp(batch, "all") == 0)
        return PARLEY_OK;
    unsigned long long rows = *batch >= '0' && *batch <= '9' ? strtoull(batch, &end, 10) : 0;
    if (rows == 0 || *end)
        return pl_fail(error, PARLEY_BAD_USAGE, "--batch %.40s: give a number of rows, all or auto", batch);
    return PARLEY_OK;
}

/* Rejects options of other optimisers and schedules than the chosen ones. */
static parley_status check_optimiser(const parley_settings *settings, parley_error *error) {
    static const struct {
        const char *name, *remedy;
        unsigned kinds; /* of optimisers that read it; 0: it is for a schedule */
    } options[] = {{"momentum", "--optimiser momentum or nesterov", 1u << PL_MOMENTUM | 1u << PL_NESTEROV},
                   {"beta1", "--optimiser adam", 1u << PL_ADAM},
                   {"beta2", "--optimiser adam", 1u << PL_ADAM},
                   {"optimiser_epsilon", "--optimiser adam or adagrad", 1u << PL_ADAM | 1u << PL_ADAGRAD_STEP},
                   {"decay", "--schedule step", 0},
                   {"decay_every", "--schedule step", 0}};
    if (settings->schedule == PL_ADAGRAD || settings->schedule == PL_NORMALISED)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--schedule %s is for linear models; use --optimiser adagrad or adam, and --schedule constant, "
                       "inverse, inverse-sqrt, step or cosine",
                       settings->schedule == PL_ADAGRAD ? "adagrad" : "normalised");
    for (unsigned i = 0; i < sizeof options / sizeof *options; i++) {
        bool read = options[i].kinds ? options[i].kinds >> pl_net_settings_of(settings)->optimiser & 1
                                     : settings->schedule == PL_STEPWISE;
        if (pl_setting_given(settings, options[i].name) && !read) {
            char flag[48];
            pl_setting_flag(pl_setting_find(options[i].name), flag, sizeof flag);
            return pl_fail(error, PARLEY_BAD_USAGE, "%s has no effect without %s", flag, options[i].remedy);
        }
    }
    return PARLEY_OK;
}

static parley_status check(parley_settings *settings, parley_error *error) {
    pl_net_shape shape;
    bool *passes = &settings->given[pl_setting_number(pl_setting_find("passes"))];
    if (pl_net_settings_of(settings)->epochs && *passes && settings->passes != pl_net_settings_of(settings)->epochs)
        return pl_fail(error, PARLEY_BAD_USAGE, "--epochs and --passes are one option; give only one of them");
    if (pl_net_settings_of(settings)->epochs) {
        settings->passes = pl_net_settings_of(settings)->epochs;
        *passes = true;
    }
    if (!pl_setting_given(settings, "tolerance"))
        settings->tolerance = 0; /* the objective of a pass is noisy */
    parley_status status = check_batch(settings->batch, error);
    if (status == PARLEY_OK)
        status = check_optimiser(settings, error);
    return status == PARLEY_OK
               ? pl_net_shape_make(&shape, 1, pl_net_settings_of(settings)->hidden, 1, PL_RELU, PL_NET_SQUARED, error)
               : status;
}

static const pl_choice preset_choices[] = {
    {"usual", "minibatch-sgd", {{0}}, "steps on batches make the same model with any number of workers"},
};
static const pl_decision decisions[] = {
    {"preset", "which preset `auto` stands for", .setting = "preset", .choices = preset_choices},
    {0},
};

static unsigned facts(const pl_problem *problem, const parley_settings *settings) {
    (void)problem;
    return PL_FACT_NO_L1 | PL_FACT_SMOOTH |
           (pl_net_settings_of(settings)->network_lambda > 0 ? PL_FACT_L2 | PL_FACT_PENALTY : 0u);
}

static void why(const pl_problem *problem, const parley_settings *settings, unsigned fact, char *text, size_t size) {
    (void)problem, (void)settings;
    snprintf(text, size, fact == PL_FACT_DUAL ? "networks have none" : "a network is not");
}

static const pl_problem_rules rules = {.check = check, .decisions = decisions, .facts = facts, .why = why};

/* The data */

static void close_net(pl_problem *problem) {
    pl_net *net = (pl_net *)problem;
    void *owned[] = {net->labels, net->kind, net->real, net->target, net->input, net->scale, net->shift, net->mean};
    for (unsigned i = 0; i < sizeof owned / sizeof *owned; i++)
        pl_free(owned[i]);
    pl_free(net);
}

static parley_status check_values(const parley_data *data, parley_error *error) {
    const pl_matrix *x = &data->x;
    for (uint64_t i = 0; i < x->rows; i++) {
        bool bad = !isfinite(data->label[i]);
        for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
            bad = bad || !isfinite(pl_value_at(x->values, e));
        if (bad)
            return pl_fail(error, PARLEY_BAD_INPUT, "%s: row %llu has a value that is not a finite number", data->path,
                           (unsigned long long)pl_whole_row(data, i) + 1);
    }
    return PARLEY_OK;
}

static parley_status make_shape(pl_net *net, const parley_settings *settings, parley_error *error) {
    uint64_t inputs = net->base.data->x.columns - net->targets, outputs = net->shape.width[1];
    if (inputs == 0)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: there is no column to predict from", net->base.data->path);
    parley_status status =
        pl_net_shape_make(&net->shape, inputs, pl_net_settings_of(settings)->hidden, outputs,
                          (pl_activation)pl_net_settings_of(settings)->activation, net->shape.loss, error);
    if (status == PARLEY_OK && net->targets)
        status = pl_net_map_inputs(net->base.data->x.columns, net->target, net->targets, &net->input, error);
    net->base.size = net->shape.size;
    net->base.penalised = net->shape.penalised;
    net->base.row_cost = PARAMETER_COST * (double)net->shape.size;
    net->inputs.input = net->input;
    net->inputs.columns = net->base.data->x.columns;
    return status;
}

static void choose_inputs(pl_net *net, const parley_settings *settings) {
    const parley_data *data = net->base.data;
    double cells = (double)pl_all_rows(data) * (double)data->x.columns;
    double scale = pl_net_settings_of(settings)->input_scale;
    if (isnan(scale))
        scale = data->format == &pl_format_idx ? 1.0 / 255 : 1.0;
    net->inputs.factor = (float)scale;
    net->inputs.sparse = (double)pl_all_nonzeros(data) < SPARSE * cells;
}

static parley_status open_net(pl_engine *engine, const parley_data *data, const parley_settings *settings,
                              pl_problem **out, parley_error *error) {
    pl_net *net;
    *out = NULL;
    parley_status status = pl_blas_open(error);
    if (status == PARLEY_OK)
        status = check_values(data, error);
    if (status == PARLEY_OK)
        status = pl_take(&net, 1, sizeof *net, "the problem", error);
    if (status != PARLEY_OK)
        return status;
    *net = (pl_net){.base = {.type = &pl_problem_network,
                             .data = data,
                             .row = 1,
                             .l2 = pl_net_settings_of(settings)->network_lambda,
                             .facts = facts(NULL, settings)},
                    .seed = settings->seed,
                    .dropout = pl_net_settings_of(settings)->dropout,
                    .standardise = settings->standardise};
    double lanes = batch_of(settings) / LANE_ROWS;
    net->base.most_lanes = lanes < 1 ? 1 : lanes < MOST_LANES ? (uint64_t)lanes : MOST_LANES;
    status = pl_net_open_targets(net, engine, settings, error);
    if (status == PARLEY_OK)
        status = make_shape(net, settings, error);
    if (status == PARLEY_OK)
        choose_inputs(net, settings);
    if (status == PARLEY_OK)
        *out = &net->base;
    else
        close_net(&net->base);
    return status;
}

static parley_status move(pl_problem *problem, const parley_data *data, parley_error *error) {
    (void)error;
    problem->data = data;
    return PARLEY_OK;
}

static void weigh_row(const void *context, uint64_t i, double *sums) {
    const parley_data *data = context;
    sums[0] += data->weight ? data->weight[i] : 1.0;
}

/* Fails if a column is so far from 0, compared with its deviation, that floats lose what distinguishes its rows. */
static parley_status check_far(const pl_net *net, const double *mean, const double *scale, parley_error *error) {
    const parley_data *data = net->base.data;
    for (uint64_t j = 0; j < data->x.columns; j++) {
        char number[24];
        pl_name name = pl_names_at(&data->names, j);
        if (name.bytes == 0)
            name = (pl_name){number, (uint64_t)snprintf(number, sizeof number, "%llu", (unsigned long long)j + 1)};
        double deviation = scale[j] > 0 ? 1 / scale[j] : 0, size = fabs(mean[j]);
        if (size * scale[j] <= FARTHEST && size < LARGEST_VALUE && deviation < LARGEST_VALUE)
            continue;
        return pl_fail(
            error, PARLEY_BAD_INPUT,
            "%s: column %.*s has values of about %g that differ by about %.1g, and networks compute with 32-bit "
            "floats; subtract a number near them, or scale them",
            data->path, (int)(name.bytes < 40 ? name.bytes : 40), name.text, mean[j], deviation);
    }
    return PARLEY_OK;
}

/* Checks the columns, and finds the scales of the inputs if they are standardised; dense ones are also shifted. */
static parley_status look_at_columns(pl_net *net, const pl_team *team, parley_error *error) {
    uint64_t columns = net->base.data->x.columns;
    double *mean = NULL, *scale = NULL;
    parley_status status = pl_take(&mean, 2 * columns, sizeof *mean, "the columns' means", error);
    if (status == PARLEY_OK)
        status = pl_take(&scale, columns, sizeof *scale, "the columns' scales", error);
    if (status == PARLEY_OK && net->standardise)
        status = pl_take(&net->scale, columns, sizeof *net->scale, "the columns' scales", error);
    if (status == PARLEY_OK && net->standardise && !net->inputs.sparse)
        status = pl_take(&net->shift, columns, sizeof *net->shift, "the columns' means", error);
    if (status == PARLEY_OK)
        status = pl_column_moments(net->base.data, team, mean, scale, error);
    if (status == PARLEY_OK)
        status = check_far(net, mean, scale, error);
    for (uint64_t j = 0; j < columns && status == PARLEY_OK && net->standardise; j++) {
        net->scale[j] = (float)scale[j];
        if (net->shift)
            net->shift[j] = (float)mean[j];
    }
    if (net->standardise) {
        net->inputs.scale = net->scale;
        net->inputs.shift = net->shift;
    }
    pl_free(mean);
    pl_free(scale);
    return status;
}

static parley_status measure(pl_problem *problem, const pl_team *team, parley_error *error) {
    pl_net *net = (pl_net *)problem;
    parley_status status = pl_total_rows(team, weigh_row, problem->data, 1, &problem->total, error);
    if (status == PARLEY_OK && !(problem->total > 0))
        status = pl_fail(error, PARLEY_BAD_INPUT, "%s: no row has a positive weight", problem->data->path);
    if (status == PARLEY_OK)
        status = pl_net_number_rows(net, error);
    if (status == PARLEY_OK)
        status = pl_net_measure_targets(net, team, error);
    bool looked = net->standardise || pl_is_wide(problem->data);
    return status == PARLEY_OK && looked ? look_at_columns(net, team, error) : status;
}

/* Weights by He for relu, otherwise by Glorot; biases of 0. */
static parley_status first(const pl_problem *problem, const pl_team *team, double *w, double *objective,
                           parley_error *error) {
    const pl_net_shape *shape = &pl_net_of(problem)->shape;
    (void)team, (void)error;
    for (unsigned l = 0; l < shape->layers; l++) {
        pl_stream stream = pl_stream_make(pl_net_of(problem)->seed, FIRST_STREAM, l);
        double in = (double)shape->width[l], out = (double)shape->width[l + 1];
        bool he = shape->activation == PL_RELU && l + 1 < shape->layers;
        double scale = he ? sqrt(2.0 / in) : sqrt(6.0 / (in + out));
        for (uint64_t j = 0; j < shape->width[l] * shape->width[l + 1]; j++)
            w[shape->weight_at[l] + j] =
                (double)(float)(scale * (he ? pl_random_normal(&stream) : 2.0 * pl_random_unit(&stream) - 1.0));
    }
    *objective = DBL_MAX; /* unknown until it is evaluated */
    return PARLEY_OK;
}

static void square_weights(void *context, uint64_t begin, uint64_t end, double *sums) {
    const double *w = context;
    for (uint64_t j = begin; j < end; j++)
        sums[0] += w[j] * w[j];
}

typedef struct penalised {
    const double *w;
    uint64_t end;
} penalised;

static void square_penalised(void *context, uint64_t begin, uint64_t end, double *sums) {
    const penalised *all = context;
    square_weights((double *)all->w, begin, end < all->end ? end : all->end, sums);
}

static parley_status bound(const pl_problem *problem, const pl_point_seen *point, pl_bound *out, parley_error *error) {
    double sums[PL_OWN_SCALARS] = {0};
    penalised all = {point->w, problem->penalised};
    parley_status status = PARLEY_OK;
    if (problem->l2 > LEAST_PENALTY)
        status = point->sums.sum(point->sums.exchange, square_penalised, &all, sums, error);
    *out = (pl_bound){.objective = point->at->value + 0.5 * problem->l2 * sums[0], .dual = -INFINITY, .gradient = NAN};
    return status;
}

/* Models: inputs are scaled and shifted in the first layer, targets in the last. */

static double scale_of(const pl_net *net, uint64_t column) {
    return net->scale ? (double)net->scale[column] : (double)net->inputs.factor;
}

static double shift_of(const pl_net *net, uint64_t column) { return net->shift ? (double)net->shift[column] : 0.0; }

/* W = scale w and b = b - sum W shift, or the inverse. */
static void fold_inputs(const pl_net *net, bool inverse, double *w) {
    const pl_net_shape *shape = &net->shape;
    uint64_t units = shape->width[1];
    for (uint64_t j = 0; j < net->base.data->x.columns; j++) {
        uint64_t input = net->input ? net->input[j] : j;
        double scale = scale_of(net, j), shift = shift_of(net, j);
        for (uint64_t o = 0; o < units && input < shape->width[0]; o++) {
            double *weight = w + shape->weight_at[0] + input * units + o, *bias = w + shape->bias_at[0] + o;
            if (inverse) {
                *bias += *weight * shift;
                *weight = scale > 0 ? *weight / scale : 0.0;
            } else {
                *weight *= scale;
                *bias -= *weight * shift;
            }
        }
    }
}

static void fold_targets(const pl_net *net, bool inverse, double *w) {
    const pl_net_shape *shape = &net->shape;
    unsigned last = shape->layers - 1;
    uint64_t outputs = shape->width[shape->layers];
    for (uint64_t o = 0; o < outputs && net->mean; o++) {
        double factor = inverse ? 1.0 / net->deviation[o] : net->deviation[o];
        double *bias = w + shape->bias_at[last] + o;
        *bias = inverse ? (*bias - net->mean[o]) * factor : *bias * factor + net->mean[o];
        for (uint64_t i = 0; i < shape->width[last]; i++)
            w[shape->weight_at[last] + i * outputs + o] *= factor;
    }
}

static parley_status keep_model(const pl_problem *problem, const double *v, parley_model **out, parley_error *error) {
    const pl_net *net = pl_net_of(problem);
    const pl_net_shape *shape = &net->shape;
    pl_net_model *model = NULL;
    double *w;
    *out = NULL;
    parley_status status = pl_take(&w, shape->size, sizeof *w, "the network", error);
    if (status != PARLEY_OK)
        return status;
    memcpy(w, v, shape->size * sizeof *w);
    fold_inputs(net, false, w);
    fold_targets(net, false, w);
    status = pl_net_model_new(shape, problem->data->x.columns, net->labels, net->target, net->targets, &model, error);
    for (unsigned l = 0; l < shape->layers && status == PARLEY_OK; l++) {
        uint64_t in = shape->width[l], units = shape->width[l + 1];
        for (uint64_t i = 0; i < in; i++)
            for (uint64_t o = 0; o < units; o++)
                model->weight[l][o * in + i] = (float)w[shape->weight_at[l] + i * units + o];
        for (uint64_t o = 0; o < units; o++)
            model->bias[l][o] = (float)w[shape->bias_at[l] + o];
    }
    if (status == PARLEY_OK) {
        pl_net_model_pad(model);
        *out = &model->base;
    }
    pl_free(w);
    return status;
}

static bool is_alike(const pl_net *net, const pl_net_model *model) {
    const pl_net_shape *a = &net->shape, *b = &model->shape;
    bool alike = a->layers == b->layers && a->activation == b->activation && a->loss == b->loss &&
                 net->targets == model->targets;
    for (unsigned l = 0; l <= a->layers && alike; l++)
        alike = a->width[l] == b->width[l];
    for (uint64_t c = 0; alike && net->labels && c < a->width[a->layers]; c++)
        alike = net->labels[c] == model->labels[c];
    return alike;
}

static parley_status accept(const pl_problem *problem, const parley_model *base, const char *name, double *v,
                            parley_error *error) {
    const pl_net *net = pl_net_of(problem);
    const pl_net_shape *shape = &net->shape;
    const pl_net_model *model = pl_net_model_of(base);
    if (!is_alike(net, model))
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "%s has other layers, labels or targets than this run; give the same --hidden, --activation and "
                       "--loss, and data with the same columns and labels",
                       name);
    for (unsigned l = 0; l < shape->layers; l++) {
        uint64_t in = shape->width[l], units = shape->width[l + 1];
        for (uint64_t i = 0; i < in; i++)
            for (uint64_t o = 0; o < units; o++)
                v[shape->weight_at[l] + i * units + o] = (double)model->weight[l][o * in + i];
        for (uint64_t o = 0; o < units; o++)
            v[shape->bias_at[l] + o] = (double)model->bias[l][o];
    }
    fold_inputs(net, true, v);
    fold_targets(net, true, v);
    return PARLEY_OK;
}

static bool reads(const char *setting) { return strcmp(setting, "passes") == 0; }

/* Settings of other problems' solvers. */
static bool applies(const pl_problem *problem, const char *setting) {
    (void)problem;
    return strcmp(setting, "batch_fraction") != 0;
}

static void widths_text(const pl_net_shape *shape, char *text, size_t size) {
    *text = '\0';
    for (unsigned l = 0; l <= shape->layers; l++)
        snprintf(text + strlen(text), size - strlen(text), "%s%llu", l ? "-" : "", (unsigned long long)shape->width[l]);
}

static void describe(const pl_problem *problem, const parley_settings *settings, pl_description *out) {
    const pl_net *net = pl_net_of(problem);
    char widths[128], batch[32] = "all rows";
    widths_text(&net->shape, widths, sizeof widths);
    if (isfinite(batch_of(settings)))
        snprintf(batch, sizeof batch, "%.0f rows", batch_of(settings));
    pl_describe_text(out, "layers", widths);
    pl_describe_text(out, "activation", pl_activation_name(net->shape.activation));
    pl_describe_text(out, "loss", pl_net_loss_name(net->shape.loss));
    pl_describe_number(out, "lambda", problem->l2);
    pl_describe_count(out, "parameters", (double)net->shape.size);
    pl_describe_line(out, "problem: network %s, %s, loss %s, lambda %g, dropout %g, batches of %s, seed %llu", widths,
                     pl_activation_name(net->shape.activation), pl_net_loss_name(net->shape.loss), problem->l2,
                     net->dropout, batch, (unsigned long long)settings->seed);
    if (net->standardise)
        pl_describe_line(out, net->inputs.sparse ? "inputs: sparse, scaled to variance 1"
                                                 : "inputs: shifted and scaled to mean 0 and variance 1");
    else if (net->inputs.factor != 1.0F)
        pl_describe_line(out, "inputs: %sscaled by %.6g%s", net->inputs.sparse ? "sparse, " : "",
                         (double)net->inputs.factor,
                         isnan(pl_net_settings_of(settings)->input_scale)
                             ? ", because bytes of IDX become 0 to 1; the model applies to the "
                               "bytes themselves"
                             : "");
}

static parley_status conclude(const pl_problem *problem, const pl_result *result, pl_description *out,
                              parley_error *error) {
    const parley_summary *summary = result->summary;
    const pl_net *net = pl_net_of(problem);
    parley_status status = PARLEY_OK;
    double accuracy = NAN, seconds = summary->compute_seconds + summary->wait_seconds + summary->exchange_seconds;
    double rows = (double)pl_all_rows(problem->data) * summary->epochs;
    pl_describe_number(out, "passes", summary->epochs);
    pl_describe_number(out, "constant_objective", net->prior);
    if (net->shape.loss == PL_NET_SOFTMAX)
        status = pl_net_accuracy(net, result->team, result->model, &accuracy, error);
    if (!isnan(accuracy))
        pl_describe_number(out, "accuracy", accuracy);
    pl_describe_timing(out, "rows_per_second", seconds > 0 ? rows / seconds : NAN);
    return status;
}

const pl_problem_type pl_problem_network = {
    .name = "network",
    .help = "networks of dense layers",
    .command = "network",
    .summary = "train a small network",
    .details = "Trains a network of dense layers on the rows of DATA, to predict their labels: classes by softmax, or "
               "numbers by squared loss.",
    .commands = PL_FOR_CHANGE | PL_FOR_NETWORK,
    .labels = true,
    .by_change = true,
    .short_rounds = true,
    .noise = NOISE,
    .reads = reads,
    .model_type = &pl_model_net,
    .rules = &rules,
    .open = open_net,
    .move = move,
    .measure = measure,
    .first = first,
    .bound = bound,
    .model = keep_model,
    .accept = accept,
    .applies = applies,
    .conclude = conclude,
    .describe = describe,
    .close = close_net,
};
