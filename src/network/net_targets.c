/* net_targets.c: what a network learns to predict: classes of labels, or real numbers, of which further ones may be
 * columns of the data. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/label_sets.h"
#include "network/net.h"
#include "shard/label_kinds.h"

/* Finds a column by its name or its number from 1. */
static bool find_column(const parley_data *data, const char *word, size_t length, uint32_t *column) {
    char text[32], *end;
    for (uint64_t j = 0; j < data->names.count; j++) {
        pl_name name = pl_names_at(&data->names, j);
        if (name.bytes == length && memcmp(name.text, word, length) == 0) {
            *column = (uint32_t)j;
            return true;
        }
    }
    if (length == 0 || length >= sizeof text)
        return false;
    memcpy(text, word, length);
    text[length] = '\0';
    unsigned long long number = strtoull(text, &end, 10);
    *column = (uint32_t)(number - 1);
    return !*end && number >= 1 && number <= data->x.columns;
}

static int by_number(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

/* Reads the columns of --targets. */
static parley_status read_targets(pl_net *net, const char *words, parley_error *error) {
    const parley_data *data = net->base.data;
    parley_status status = pl_take(&net->target, strlen(words) / 2 + 1, sizeof *net->target, "targets", error);
    for (const char *at = words; *at && status == PARLEY_OK; at += *at == ',') {
        size_t length = strcspn(at, ",");
        if (!find_column(data, at, length, &net->target[net->targets]))
            return pl_fail(error, PARLEY_BAD_USAGE, "--targets: %.*s is neither the name of a column nor its number",
                           (int)(length < 60 ? length : 60), at);
        net->targets++;
        at += length;
    }
    if (status != PARLEY_OK)
        return status;
    qsort(net->target, net->targets, sizeof *net->target, by_number);
    for (uint64_t t = 1; t < net->targets; t++)
        if (net->target[t] == net->target[t - 1])
            return pl_fail(error, PARLEY_BAD_USAGE, "--targets: column %u is listed twice", net->target[t] + 1);
    return PARLEY_OK;
}

parley_status pl_net_map_inputs(uint64_t columns, const uint32_t *target, uint64_t targets, uint32_t **out,
                                parley_error *error) {
    uint32_t next = 0;
    uint64_t t = 0;
    parley_status status = pl_take(out, columns + 1, sizeof **out, "inputs", error);
    for (uint64_t j = 0; j < columns && status == PARLEY_OK; j++) {
        bool is_target = t < targets && target[t] == j;
        (*out)[j] = is_target ? UINT32_MAX : next++;
        t += is_target;
    }
    return status;
}

static bool all_whole(const double *kinds, unsigned count) {
    for (unsigned k = 0; k < count; k++)
        if (kinds[k] != floor(kinds[k]))
            return false;
    return true;
}

/* Labels are classes if there are few and they are whole numbers, as for linear models. */
static parley_status choose_loss(pl_net *net, const parley_settings *settings, const double *kinds, unsigned count,
                                 parley_error *error) {
    const parley_data *data = net->base.data;
    if (pl_has_label_sets(data))
        return pl_fail_label_sets(data, error);
    bool few = count <= PL_LABEL_KINDS, named = data->classes.count > 0;
    if (pl_net_settings_of(settings)->network_loss)
        net->shape.loss = (pl_net_loss)(pl_net_settings_of(settings)->network_loss - 1);
    else
        net->shape.loss = few && !net->targets &&
                                  (named || pl_net_settings_of(settings)->classes ||
                                   (all_whole(kinds, count) && count * 2 <= pl_all_rows(data)))
                              ? PL_NET_SOFTMAX
                              : PL_NET_SQUARED;
    if (net->shape.loss == PL_NET_SQUARED && named)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "%s: labels are words, which --loss squared cannot predict; use --loss "
                       "softmax",
                       data->path);
    if (net->shape.loss == PL_NET_SQUARED)
        return PARLEY_OK;
    if (net->targets)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--targets has no effect with --loss softmax, which predicts one label; "
                       "use --loss squared");
    if (!few)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: more than %d different labels; use --loss squared", data->path,
                       PL_LABEL_KINDS);
    if (count < 2)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: all rows have the same label, so there is nothing to learn",
                       data->path);
    return PARLEY_OK;
}

/* The labels are 0 to classes - 1, of which the data may have some. */
static parley_status take_classes(const pl_net *net, unsigned classes, double *kinds, unsigned *count,
                                  parley_error *error) {
    for (unsigned k = 0; k < *count && k < PL_LABEL_KINDS; k++)
        if (*count > PL_LABEL_KINDS || kinds[k] != floor(kinds[k]) || kinds[k] < 0 || kinds[k] >= classes)
            return pl_fail(error, PARLEY_BAD_INPUT, "%s: label %g is not one of the classes 0 to %u",
                           net->base.data->path, kinds[k], classes - 1);
    for (unsigned k = 0; k < classes; k++)
        kinds[k] = k;
    *count = classes;
    return PARLEY_OK;
}

parley_status pl_net_open_targets(pl_net *net, pl_engine *engine, const parley_settings *settings,
                                  parley_error *error) {
    double kinds[PL_LABEL_KINDS + 1];
    unsigned count;
    parley_status status = read_targets(net, pl_net_settings_of(settings)->targets, error);
    if (status == PARLEY_OK)
        status = pl_label_kinds(engine, net->base.data, PL_LABEL_KINDS, kinds, &count, error);
    if (status == PARLEY_OK && pl_net_settings_of(settings)->classes)
        status = take_classes(net, (unsigned)pl_net_settings_of(settings)->classes, kinds, &count, error);
    if (status == PARLEY_OK)
        status = choose_loss(net, settings, kinds, count, error);
    if (status != PARLEY_OK)
        return status;
    if (net->shape.loss == PL_NET_SQUARED) {
        net->shape.width[1] = 1 + net->targets;
        return PARLEY_OK;
    }
    net->shape.width[1] = count;
    status = pl_take(&net->labels, count, sizeof *net->labels, "the classes", error);
    if (status == PARLEY_OK)
        memcpy(net->labels, kinds, count * sizeof *kinds);
    return status;
}

static uint32_t class_of(const pl_net *net, double label) {
    uint32_t low = 0, high = (uint32_t)net->shape.width[net->shape.layers] - 1;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (net->labels[middle] < label)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The targets of a row: its label, then the columns that are targets. */
static void targets_of(const pl_net *net, uint64_t i, float *to) {
    const pl_matrix *x = &net->base.data->x;
    uint64_t t = 0;
    to[0] = (float)net->base.data->label[i];
    memset(to + 1, 0, net->targets * sizeof *to);
    for (uint64_t e = x->start[i]; e < x->start[i + 1] && t < net->targets; e++) {
        while (t < net->targets && net->target[t] < x->index[e])
            t++;
        if (t < net->targets && net->target[t] == x->index[e])
            to[1 + t] = (float)pl_value_at(x->values, e);
    }
}

parley_status pl_net_number_rows(pl_net *net, parley_error *error) {
    const parley_data *data = net->base.data;
    uint64_t rows = data->x.rows, outputs = 1 + net->targets;
    pl_free(net->kind);
    pl_free(net->real);
    net->kind = NULL;
    net->real = NULL;
    parley_status status = net->shape.loss == PL_NET_SOFTMAX
                               ? pl_take(&net->kind, rows, sizeof *net->kind, "the rows' classes", error)
                               : pl_take(&net->real, rows * outputs, sizeof *net->real, "the rows' targets", error);
    for (uint64_t i = 0; i < rows && status == PARLEY_OK; i++) {
        if (net->kind)
            net->kind[i] = class_of(net, data->label[i]);
        else
            targets_of(net, i, net->real + i * outputs);
    }
    return status;
}

static double weight_of(const parley_data *data, uint64_t i) { return data->weight ? data->weight[i] : 1.0; }

/* Weights of classes; or sums of targets and, once means are known, of squared distances from them. */
static void sum_targets(const void *context, const pl_part *part, double *sums) {
    const pl_net *net = context;
    const parley_data *data = net->base.data;
    uint64_t outputs = 1 + net->targets;
    for (pl_walk rows = {0}; pl_walk_on(part, &rows);)
        for (uint64_t i = rows.begin; i < rows.end; i++) {
            double s = weight_of(data, i);
            if (net->kind)
                sums[net->kind[i]] += s;
            for (uint64_t o = 0; o < outputs && net->real; o++) {
                double y = (double)net->real[i * outputs + o], off = y - net->mean[o];
                sums[o] += s * y;
                sums[outputs + o] += s * off * off;
            }
        }
}

/* The entropy of the classes. */
static parley_status measure_classes(pl_net *net, const pl_team *team, parley_error *error) {
    double sums[PL_LABEL_KINDS];
    uint64_t classes = net->shape.width[net->shape.layers];
    parley_status status = pl_sum_tables(team, classes, sum_targets, net, sums, error);
    net->prior = 0;
    for (uint64_t c = 0; c < classes && status == PARLEY_OK; c++) {
        double share = sums[c] / net->base.total;
        net->prior -= share > 0 ? share * log(share) : 0.0;
    }
    return status;
}

/* Half the variance of the targets, which are standardised if that is asked for. */
static parley_status measure_reals(pl_net *net, const pl_team *team, parley_error *error) {
    uint64_t outputs = 1 + net->targets;
    double *sums = NULL;
    pl_free(net->mean);
    net->mean = NULL;
    parley_status status = pl_take(&net->mean, 2 * outputs, sizeof *net->mean, "the targets' means", error);
    if (status == PARLEY_OK)
        status = pl_take(&sums, 2 * outputs, sizeof *sums, "the targets' means", error);
    if (status == PARLEY_OK) {
        net->deviation = net->mean + outputs;
        status = pl_sum_tables(team, 2 * outputs, sum_targets, net, sums, error);
    }
    for (uint64_t o = 0; o < outputs && status == PARLEY_OK; o++)
        net->mean[o] = sums[o] / net->base.total;
    if (status == PARLEY_OK)
        status = pl_sum_tables(team, 2 * outputs, sum_targets, net, sums, error);
    net->prior = 0;
    for (uint64_t o = 0; o < outputs && status == PARLEY_OK; o++) {
        double variance = sums[outputs + o] / net->base.total;
        bool scaled = net->standardise && variance > 0;
        net->deviation[o] = scaled ? sqrt(variance) : 1.0;
        net->prior += 0.5 * (scaled ? 1.0 : variance);
        net->mean[o] = scaled ? net->mean[o] : 0.0;
    }
    pl_free(sums);
    return status;
}

parley_status pl_net_measure_targets(pl_net *net, const pl_team *team, parley_error *error) {
    if (net->kind)
        return measure_classes(net, team, error);
    parley_status status = measure_reals(net, team, error);
    uint64_t outputs = 1 + net->targets;
    for (uint64_t i = 0; i < net->base.data->x.rows * outputs && status == PARLEY_OK; i++)
        net->real[i] = (float)(((double)net->real[i] - net->mean[i % outputs]) / net->deviation[i % outputs]);
    return status;
}
