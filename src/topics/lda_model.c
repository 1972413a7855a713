/* lda_model.c: topics as a model. A row's outputs are its proportions of topics. The file has a float32 tensor `topics`
 * (topics x words: the parameters of the topics) and a float64 tensor `alpha`. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "topics/lda.h"
#include "topics/topic_kernel.h"

#define PROPORTIONS 1e-7 /* tolerance of predictions */
#define TILE 64          /* of a transposition */

pl_lda_model *pl_lda_model_of(const parley_model *model) {
    return model->type == &pl_model_lda ? (pl_lda_model *)model : NULL;
}

parley_status pl_lda_model_new(uint64_t topics, uint64_t words, pl_lda_model **out, parley_error *error) {
    pl_lda_model *model;
    *out = NULL;
    parley_status status = pl_take(&model, 1, sizeof *model, "the topics", error);
    if (status != PARLEY_OK)
        return status;
    model->base = (parley_model){.type = &pl_model_lda, .outputs = topics, .columns = words};
    model->topics = topics;
    model->words = words;
    pthread_mutex_init(&model->mutex, NULL);
    status = pl_take(&model->lambda, topics * words, sizeof *model->lambda, "the topics", error);
    if (status == PARLEY_OK)
        status = pl_take(&model->alpha, 2 * topics, sizeof *model->alpha, "the topics", error);
    if (status != PARLEY_OK) {
        parley_model_free(&model->base);
        return status;
    }
    model->total = model->alpha + topics;
    *out = model;
    return status;
}

void pl_lda_model_sum(pl_lda_model *model) {
    model->alpha_sum = 0;
    for (uint64_t k = 0; k < model->topics; k++) {
        const float *lambda = model->lambda + k * model->words;
        model->total[k] = 0;
        for (uint64_t w = 0; w < model->words; w++)
            model->total[k] += (double)lambda[w];
        model->alpha_sum += model->alpha[k];
    }
}

/* Fills a table by word: the means, or exp E ln beta. */
static void fill(const pl_lda_model *model, float *beta, double *expected) {
    uint64_t topics = model->topics, words = model->words;
    for (uint64_t w = 0; w < words; w += TILE)
        for (uint64_t k = 0; k < topics; k++) {
            double inverse = 1.0 / model->total[k], shift = expected ? pl_psi(model->total[k]) : 0.0;
            for (uint64_t i = w; i < w + TILE && i < words; i++) {
                double lambda = (double)model->lambda[k * words + i];
                if (beta)
                    beta[i * topics + k] = (float)(lambda * inverse);
                else
                    expected[i * topics + k] = exp(pl_psi(lambda) - shift);
            }
        }
}

bool pl_lda_model_ready(pl_lda_model *model, bool variational) {
    uint64_t size = model->topics * model->words;
    pthread_mutex_lock(&model->mutex);
    if (variational && !atomic_load(&model->expected)) {
        double *expected = pl_alloc(size, sizeof *expected);
        if (expected)
            fill(model, NULL, expected);
        atomic_store(&model->expected, expected);
    }
    if (!variational && !atomic_load(&model->beta)) {
        float *beta = pl_alloc(size, sizeof *beta);
        if (beta)
            fill(model, beta, NULL);
        atomic_store(&model->beta, beta);
    }
    pthread_mutex_unlock(&model->mutex);
    return variational ? atomic_load(&model->expected) != NULL : atomic_load(&model->beta) != NULL;
}

static const char *const keys[] = {"eta", "inference", "steps", NULL};

static parley_status load(const pl_container *container, const char *path, parley_model **out, parley_error *error) {
    const pl_tensor *topics = pl_container_tensor(container, "topics"),
                    *alpha = pl_container_tensor(container, "alpha");
    const char *eta = pl_container_meta(container, "eta"), *inference = pl_container_meta(container, "inference");
    pl_lda_model *model;
    if (!topics || topics->dims != 2 || (topics->type != PL_F32 && topics->type != PL_F64) || topics->shape[0] == 0 ||
        topics->shape[1] == 0)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: no tensor `topics` of topics x words in float32 or float64", path);
    if (!alpha || alpha->dims != 1 || alpha->type != PL_F64 || alpha->shape[0] != topics->shape[0])
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: no float64 tensor `alpha` with a number for each topic", path);
    parley_status status = pl_lda_model_new(topics->shape[0], topics->shape[1], &model, error);
    if (status != PARLEY_OK)
        return status;
    uint64_t size = model->topics * model->words;
    bool valid = true;
    for (uint64_t i = 0; i < size; i++) {
        double value =
            topics->type == PL_F64 ? ((const double *)topics->data)[i] : (double)((const float *)topics->data)[i];
        model->lambda[i] = (float)value;
        valid = valid && model->lambda[i] > 0 && isfinite(model->lambda[i]);
    }
    for (uint64_t k = 0; k < model->topics; k++) {
        model->alpha[k] = ((const double *)alpha->data)[k];
        valid = valid && model->alpha[k] > 0 && isfinite(model->alpha[k]);
    }
    const char *steps = pl_container_meta(container, "steps");
    model->steps = steps ? fmax(0.0, strtod(steps, NULL)) : 0;
    model->eta = eta ? strtod(eta, NULL) : 0;
    model->variational = inference && strcmp(inference, "variational") == 0;
    if (!valid || !(model->eta > 0 && isfinite(model->eta)) || !(model->steps < 1e15)) {
        parley_model_free(&model->base);
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: topics, alpha and eta must be positive and finite", path);
    }
    pl_lda_model_sum(model);
    *out = &model->base;
    return status;
}

static void parts(const parley_model *base, pl_model_parts *parts) {
    const pl_lda_model *model = (const pl_lda_model *)base;
    parts->tensors[parts->tensor_count++] = (pl_tensor){"alpha", PL_F64, 1, {model->topics}, model->alpha};
    parts->tensors[parts->tensor_count++] =
        (pl_tensor){"topics", PL_F32, 2, {model->topics, model->words}, model->lambda};
    char *steps = parts->text + sizeof parts->text / 2;
    pl_number_text(model->eta, parts->text, sizeof parts->text / 2);
    snprintf(steps, sizeof parts->text / 2, "%.0f", model->steps);
    parts->pairs[parts->pair_count++] = (pl_pair){"eta", parts->text};
    parts->pairs[parts->pair_count++] = (pl_pair){"steps", steps};
    parts->pairs[parts->pair_count++] = (pl_pair){"inference", model->variational ? "variational" : "collapsed"};
}

static void free_parts(parley_model *base) {
    pl_lda_model *model = (pl_lda_model *)base;
    pthread_mutex_destroy(&model->mutex);
    pl_free(model->lambda);
    pl_free(model->alpha);
    pl_free(atomic_load(&model->beta));
    pl_free(atomic_load(&model->expected));
}

static uint64_t longest(const pl_matrix *x, uint64_t begin, uint64_t end) {
    uint64_t most = 0;
    for (uint64_t i = begin; i < end; i++)
        most = x->start[i + 1] - x->start[i] > most ? x->start[i + 1] - x->start[i] : most;
    return most;
}

static void apply(const parley_model *base, const pl_matrix *x, uint64_t begin, uint64_t end, double *values) {
    pl_lda_model *model = (pl_lda_model *)base;
    pl_lda_room room;
    bool ready =
        pl_lda_model_ready(model, model->variational) && pl_lda_room_open(&room, model, longest(x, begin, end));
    for (uint64_t row = begin; row < end; row++, values += model->topics) {
        double sum = 0;
        if (ready) {
            pl_lda_document document = pl_lda_whole(x, row, model->words, &room);
            pl_lda_infer(model, &document, model->variational, PROPORTIONS, &room);
        }
        for (uint64_t k = 0; k < model->topics; k++)
            sum += values[k] = ready ? room.gamma[k] : NAN; /* NaN: out of memory */
        for (uint64_t k = 0; k < model->topics; k++)
            values[k] /= sum;
    }
    if (ready)
        pl_lda_room_close(&room);
}

/* Proportions are probabilities of topics. */
static parley_status explain(const parley_model *model, const parley_data *data, uint64_t i, uint64_t number,
                             parley_error *error) {
    (void)model, (void)data, (void)i, (void)number;
    return pl_fail_memory(error, "the topics of documents", 0);
}

static parley_status finish(const parley_model *model, pl_output kind, double *values, parley_error *error) {
    (void)model, (void)kind, (void)values, (void)error;
    return PARLEY_OK;
}

static double predict(const parley_model *model, const double *values) {
    uint64_t largest = 0;
    for (uint64_t k = 1; k < model->outputs; k++)
        largest = values[k] > values[largest] ? k : largest;
    return (double)largest;
}

static bool label(const parley_model *model, uint64_t number, double *label) {
    *label = (double)number;
    return number < model->outputs;
}

static void show(const parley_model *base, pl_viewer *viewer) {
    const pl_lda_model *model = (const pl_lda_model *)base;
    viewer->count(viewer, "topics", model->topics);
    viewer->count(viewer, "words", model->words);
    viewer->text(viewer, "inference", model->variational ? "variational" : "collapsed");
    viewer->number(viewer, "eta", model->eta);
    viewer->number(viewer, "alpha_sum", model->alpha_sum);
}

/* Finds the `top` most probable words of a topic, best first. */
static void find_top(const pl_lda_model *model, uint64_t topic, uint64_t top, uint64_t *words) {
    const float *lambda = model->lambda + topic * model->words;
    uint64_t found = 0;
    for (uint64_t w = 0; w < model->words; w++) {
        if (found == top && lambda[w] <= lambda[words[found - 1]])
            continue;
        uint64_t at = found < top ? found++ : top - 1;
        for (; at > 0 && lambda[words[at - 1]] < lambda[w]; at--)
            words[at] = words[at - 1];
        words[at] = w;
    }
}

static parley_status dump(const parley_model *base, uint64_t top, pl_viewer *viewer, parley_error *error) {
    const pl_lda_model *model = (const pl_lda_model *)base;
    double all = 0, share, *p = NULL;
    char number[24], (*numbers)[24] = NULL;
    pl_name *names = NULL;
    uint64_t *words, count = top && top < model->words ? top : model->words;
    parley_status status = pl_take(&words, count, sizeof *words, "the words of a topic", error);
    if (status == PARLEY_OK)
        status = pl_take(&p, count, sizeof *p, "the words of a topic", error);
    if (status == PARLEY_OK)
        status = pl_take(&names, count, sizeof *names, "the words of a topic", error);
    if (status == PARLEY_OK)
        status = pl_take(&numbers, count, sizeof *numbers, "the words of a topic", error);
    for (uint64_t k = 0; k < model->topics; k++)
        all += model->total[k];
    if (status == PARLEY_OK)
        viewer->open(viewer, "topics", "topic", NULL);
    for (uint64_t k = 0; k < model->topics && status == PARLEY_OK; k++) {
        find_top(model, k, count, words);
        for (uint64_t i = 0; i < count; i++) {
            names[i] = pl_model_column(base, words[i], numbers[i], sizeof *numbers);
            p[i] = (double)model->lambda[k * model->words + words[i]] / model->total[k];
        }
        share = model->total[k] / all;
        const pl_view_cell cells[] = {
            {.key = "share", .numbers = &share, .count = 1, .stride = 1},
            {.key = "words", .names = names, .count = count},
            {.key = "probabilities", .numbers = p, .count = count, .stride = 1, .json_only = true}};
        snprintf(number, sizeof number, "%llu", (unsigned long long)k);
        viewer->row(viewer, (pl_name){number, strlen(number)}, k, cells, 3);
    }
    if (status == PARLEY_OK)
        viewer->close(viewer);
    pl_free(words);
    pl_free(p);
    pl_free(names);
    pl_free(numbers);
    return status;
}

const pl_model_type pl_model_lda = {
    .name = "lda",
    .format = "parley-lda-1",
    .keys = keys,
    .load = load,
    .parts = parts,
    .free = free_parts,
    .apply = apply,
    .explain = explain,
    .finish = finish,
    .predict = predict,
    .output = PL_PROBABILITY,
    .label = label,
    .metrics = pl_metrics_lda,
    .metric = "completion",
    .meter = &pl_meter_lda,
    .show = show,
    .dump = dump,
};
