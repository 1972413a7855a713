/* test_networks.c: networks in the core: gradients, optimisers against a reference in double precision, bits, resumed
 * and warm runs, diverging runs, and memory. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "math/blas.h"
#include "network/net.h"
#include "support.h"

#define COLUMNS 11
#define CLASSES 3
#define ROWS 90

static char folder[] = "/tmp/parley-networks-XXXXXX", path[64];

/* Rows of three classes, which differ in their columns; `density` of the columns are not 0. Labels are real numbers if
 * `real` says so. */
static parley_data *rows_of(uint64_t seed, uint64_t rows, double density, bool real) {
    static uint64_t starts[2][1001];
    static uint32_t indices[2][1000 * COLUMNS];
    static float values[2][1000 * COLUMNS];
    static double all_labels[2][1000];
    static unsigned calls; /* the arrays of the last two calls are in use */
    uint64_t *start = starts[++calls % 2];
    uint32_t *index = indices[calls % 2];
    float *value = values[calls % 2];
    double *label = all_labels[calls % 2];
    parley_data *data;
    parley_error error;
    pl_stream stream = pl_stream_make(seed, 0, 0);
    uint64_t entries = 0;
    for (uint64_t i = 0; i < rows; i++) {
        uint64_t kind = pl_random_below(&stream, CLASSES);
        double sum = 0;
        start[i] = entries;
        for (uint32_t j = 0; j < COLUMNS; j++) {
            if (pl_random_unit(&stream) >= density)
                continue;
            index[entries] = j;
            value[entries] = (float)(0.4 * pl_random_normal(&stream) + (j % CLASSES == kind ? 1.0 : 0.0));
            sum += (double)value[entries++] * (j % 2 ? 1.0 : -0.5);
        }
        label[i] = real ? sum + 0.1 * pl_random_normal(&stream) : (double)kind;
    }
    start[rows] = entries;
    assert_done(parley_data_from_csr(rows, COLUMNS, start, PARLEY_INT64, index, PARLEY_INT32, value, PARLEY_FLOAT32,
                                     label, NULL, 1, &data, &error),
                &error);
    return data;
}

/* Kernels */

static double reference_activation(pl_activation f, double z) {
    return f == PL_RELU ? fmax(0.0, z) : f == PL_TANH ? tanh(z) : f == PL_LOGISTIC ? 1.0 / (1.0 + exp(-z)) : z;
}

static void activations_are_right(void **state) {
    (void)state;
    float z[64], d[64], bias[64] = {0};
    for (unsigned f = 0; f < 4; f++)
        for (int round = -200; round < 200; round++) {
            for (int i = 0; i < 64; i++) {
                z[i] = (float)(round * 0.1 + i * 0.001);
                d[i] = 1.0F;
                bias[i] = 0.25F;
            }
            pl_net_activate((pl_activation)f, bias, 2, 32, z);
            pl_net_slope((pl_activation)f, z, 64, d);
            for (int i = 0; i < 64; i++) {
                double at = (double)((float)(round * 0.1 + i * 0.001)) + 0.25, h = 1e-5;
                double slope =
                    (reference_activation((pl_activation)f, at + h) - reference_activation((pl_activation)f, at - h)) /
                    (2 * h);
                assert_close((double)z[i], reference_activation((pl_activation)f, at), 3e-6);
                if (f != PL_RELU || fabs(at) > 0.01)
                    assert_close((double)d[i], slope, 1e-5);
            }
        }
}

static void sparse_products_are_right(void **state) {
    (void)state;
    enum { R = 5, C = 40 };
    static float w[C * 208], z[R * 208], g[C * 208], d[R * 208];
    pl_stream stream = pl_stream_make(3, 0, 0);
    for (uint64_t stride = 16; stride <= 208; stride += 48) {
        uint32_t start[R + 1], index[R * C], entries = 0;
        float value[R * C];
        for (uint64_t i = 0; i < C * stride; i++) {
            w[i] = (float)pl_random_normal(&stream);
            g[i] = 0.5F;
        }
        for (uint64_t i = 0; i < R * stride; i++)
            d[i] = (float)pl_random_normal(&stream);
        for (uint32_t r = 0; r < R; r++) {
            start[r] = entries;
            for (uint32_t j = 0; j < C && r != 2; j += 1 + (uint32_t)pl_random_below(&stream, 6)) {
                index[entries] = j;
                value[entries++] = (float)pl_random_normal(&stream);
            }
        }
        start[R] = entries;
        pl_net_rows x = {R, start, index, value};
        pl_net_sparse_forward(&x, w, stride, z);
        pl_net_sparse_backward(&x, d, stride, g);
        for (uint32_t r = 0; r < R; r++)
            for (uint64_t o = 0; o < stride; o++) {
                double sum = 0;
                for (uint32_t e = start[r]; e < start[r + 1]; e++)
                    sum += (double)value[e] * (double)w[index[e] * stride + o];
                assert_close((double)z[r * stride + o], sum, 1e-5);
            }
        for (uint32_t j = 0; j < C; j++)
            for (uint64_t o = 0; o < stride; o++) {
                double sum = 0.5;
                for (uint32_t r = 0; r < R; r++)
                    for (uint32_t e = start[r]; e < start[r + 1]; e++)
                        sum += index[e] == j ? (double)value[e] * (double)d[r * stride + o] : 0.0;
                assert_close((double)g[j * stride + o], sum, 1e-5);
            }
    }
}

/* A network in double precision: parameters as in v. */

typedef struct reference {
    pl_net_shape shape;
    const parley_data *data;
    double l2;
} reference;

static double input(const parley_data *data, uint64_t row, uint64_t column) {
    for (uint64_t e = data->x.start[row]; e < data->x.start[row + 1]; e++)
        if (data->x.index[e] == column)
            return (double)data->x.values.narrow[e];
    return 0;
}

/* The mean loss of the rows, and its gradient if there is room for it. */
static double reference_loss(const reference *net, const double *v, const uint64_t *rows, uint64_t count, double *g) {
    const pl_net_shape *shape = &net->shape;
    double sum = 0, a[5][64], d[5][64];
    for (uint64_t j = 0; g && j < shape->size; j++)
        g[j] = j < shape->penalised ? net->l2 * v[j] : 0.0;
    for (uint64_t r = 0; r < count; r++) {
        for (uint64_t j = 0; j < shape->width[0]; j++)
            a[0][j] = input(net->data, rows[r], j);
        for (unsigned l = 0; l < shape->layers; l++)
            for (uint64_t o = 0; o < shape->width[l + 1]; o++) {
                double z = v[shape->bias_at[l] + o];
                for (uint64_t i = 0; i < shape->width[l]; i++)
                    z += a[l][i] * v[shape->weight_at[l] + i * shape->width[l + 1] + o];
                a[l + 1][o] = l + 1 < shape->layers ? reference_activation(shape->activation, z) : z;
            }
        uint64_t outputs = shape->width[shape->layers];
        double label = net->data->label[rows[r]], top = 0, *z = a[shape->layers], *out = d[shape->layers];
        if (shape->loss == PL_NET_SOFTMAX) {
            for (uint64_t o = 0; o < outputs; o++)
                top += exp(z[o]);
            for (uint64_t o = 0; o < outputs; o++)
                out[o] = (exp(z[o]) / top - (o == (uint64_t)label)) / (double)count;
            sum += (log(top) - z[(uint64_t)label]) / (double)count;
        } else {
            out[0] = (z[0] - label) / (double)count;
            sum += 0.5 * (z[0] - label) * (z[0] - label) / (double)count;
        }
        for (unsigned l = shape->layers; g && l-- > 0;)
            for (uint64_t i = 0; i < shape->width[l]; i++) {
                double back = 0, x = a[l][i], f = 1.0;
                for (uint64_t o = 0; o < shape->width[l + 1]; o++) {
                    back += d[l + 1][o] * v[shape->weight_at[l] + i * shape->width[l + 1] + o];
                    g[shape->weight_at[l] + i * shape->width[l + 1] + o] += x * d[l + 1][o];
                    g[shape->bias_at[l] + o] += i == 0 ? d[l + 1][o] : 0.0;
                }
                f = shape->activation == PL_RELU       ? (x > 0 ? 1.0 : 0.0)
                    : shape->activation == PL_TANH     ? 1 - x * x
                    : shape->activation == PL_LOGISTIC ? x * (1 - x)
                                                       : 1.0;
                d[l][i] = back * f;
            }
    }
    return sum;
}

static const char *const hiddens[] = {"0", "7", "20,9"};

/* Gradients of the product against finite differences of the losses that it computes itself, summed in double
 * precision, and against the reference. */
static void gradients_are_finite_differences(void **state) {
    (void)state;
    parley_error error;
    assert_done(pl_blas_open(&error), &error);
    for (unsigned form = 0; form < 24; form++) {
        bool real = form % 2, sparse = form / 2 % 2;
        parley_data *data = rows_of(form, ROWS, sparse ? 0.2 : 0.9, real);
        pl_activation f = (pl_activation)(form % 4);
        reference net = {.data = data};
        assert_done(pl_net_shape_make(&net.shape, COLUMNS, hiddens[form / 4 % 3], real ? 1 : CLASSES, f,
                                      real ? PL_NET_SQUARED : PL_NET_SOFTMAX, &error),
                    &error);
        uint64_t size = net.shape.size, rows[20];
        double v[1000], g[1000], got[1000];
        float w[4000] = {0}, gradient[4000] = {0}, labels[20];
        uint32_t kinds[20];
        pl_stream stream = pl_stream_make(form, 1, 0);
        for (uint64_t j = 0; j < size; j++)
            v[j] = (double)(float)(0.5 * pl_random_normal(&stream));
        for (unsigned r = 0; r < 20; r++) {
            rows[r] = 4 * r;
            kinds[r] = (uint32_t)fmax(0, data->label[rows[r]]);
            labels[r] = (float)data->label[rows[r]];
        }
        pl_net_inputs inputs = {.columns = COLUMNS, .factor = 1.0F, .sparse = sparse};
        pl_net_room room;
        assert_done(pl_net_room_open(&room, &net.shape, &inputs, 20, true, &error), &error);
        pl_net_targets targets = {kinds, labels, NULL};
        pl_net_pad(&net.shape, v, 0, size, w);
        assert_true(pl_net_gather(&room, &data->x, rows, 0, 20));
        pl_net_forward(&room, w, 0, NULL);
        double loss = pl_net_losses(&room, &targets, 1.0F / 20);
        pl_net_backward(&room, w, false, gradient);
        pl_net_unpad(&net.shape, gradient, 0, size, got);
        assert_close(loss / 20, reference_loss(&net, v, rows, 20, g), 1e-5);
        for (uint64_t j = 0; j < size; j++) {
            double h = 1e-6, at = v[j], high, low;
            assert_close(got[j], g[j], 1e-5);
            v[j] = at + h;
            high = reference_loss(&net, v, rows, 20, NULL);
            v[j] = at - h;
            low = reference_loss(&net, v, rows, 20, NULL);
            v[j] = at;
            assert_close(got[j], (high - low) / (2 * h), 1e-5);
        }
        pl_net_backward(&room, w, true, gradient); /* twice: the sum of two */
        pl_net_unpad(&net.shape, gradient, 0, size, got);
        for (uint64_t j = 0; j < size && f == PL_IDENTITY; j++)
            assert_close(got[j], 2 * g[j], 1e-5);
        pl_net_room_close(&room);
        parley_data_free(data);
    }
}

/* One step of each optimiser, as its authors give it. */
static void reference_step(unsigned kind, uint64_t t, double rate, uint64_t size, const double *g, double *m, double *s,
                           double *v) {
    for (uint64_t j = 0; j < size; j++)
        switch (kind) {
        case PL_MOMENTUM:
        case PL_NESTEROV:
            m[j] = 0.9 * m[j] + g[j];
            v[j] -= rate * (kind == PL_MOMENTUM ? m[j] : g[j] + 0.9 * m[j]);
            break;
        case PL_ADAM:
            m[j] = 0.9 * m[j] + 0.1 * g[j];
            s[j] = 0.999 * s[j] + 0.001 * g[j] * g[j];
            v[j] -= rate * sqrt(1 - pow(0.999, (double)t)) / (1 - pow(0.9, (double)t)) * m[j] / (sqrt(s[j]) + 1e-8);
            break;
        case PL_ADAGRAD_STEP:
            s[j] += g[j] * g[j];
            v[j] -= rate * g[j] / (sqrt(s[j]) + 1e-8);
            break;
        default: v[j] -= rate * g[j];
        }
}

static double reference_rate(unsigned schedule, double rate, uint64_t t, double total) {
    double pass = (double)(t - 1);
    return schedule == 1   ? rate * pow(0.5, floor(pass / 20))
           : schedule == 2 ? rate * 0.5 * (1 + cos(acos(-1) * pass / total))
                           : rate;
}

static void take_model(const pl_net_shape *shape, const parley_model *base, double *v) {
    const pl_net_model *model = pl_net_model_of(base);
    for (unsigned l = 0; l < shape->layers; l++)
        for (uint64_t o = 0; o < shape->width[l + 1]; o++) {
            for (uint64_t i = 0; i < shape->width[l]; i++)
                v[shape->weight_at[l] + i * shape->width[l + 1] + o] =
                    (double)model->weight[l][o * shape->width[l] + i];
            v[shape->bias_at[l] + o] = (double)model->bias[l][o];
        }
}

/* Fifty steps on all rows of each optimiser and schedule, by a lone worker, by workers with an owner, and on servers,
 * against the reference. */
static void optimisers_follow_their_reference(void **state) {
    (void)state;
    static const char *const kinds[] = {"sgd", "momentum", "nesterov", "adam", "adagrad"};
    static const char *const schedules[] = {"constant", "step", "cosine"};
    static const char *const presets[] = {"minibatch-sgd workers=1", "minibatch-sgd workers=3", "ps-sync workers=2",
                                          "mllib-sgd workers=2", "ma-sgd workers=1"};
    parley_data *data = rows_of(5, ROWS, 0.9, false);
    parley_error error;
    uint64_t rows[ROWS];
    reference net = {.data = data, .l2 = 0.01};
    assert_done(pl_net_shape_make(&net.shape, COLUMNS, "7", CLASSES, PL_TANH, PL_NET_SOFTMAX, &error), &error);
    for (uint64_t r = 0; r < ROWS; r++)
        rows[r] = r;
    for (unsigned form = 0; form < 15; form++) {
        unsigned kind = form % 5, schedule = form / 5;
        double rate = kind == PL_ADAM ? 0.01 : 0.1, v[200], g[200], m[200] = {0}, s[200] = {0}, got[200];
        char words[400], start[400];
        snprintf(start, sizeof start,
                 "problem=network hidden=7 activation=tanh batch=all seed=%u rate=1e-300 "
                 "optimiser=sgd rounds=1 workers=1",
                 form);
        outcome begin = train_once(data, start);
        take_model(&net.shape, begin.model[0], v);
        free_models(&begin);
        for (uint64_t t = 1; t <= 50; t++) {
            reference_loss(&net, v, rows, ROWS, g);
            double norm = 0;
            for (uint64_t j = 0; j < net.shape.size; j++)
                norm += g[j] * g[j];
            norm = sqrt(norm);
            for (uint64_t j = 0; j < net.shape.size && form % 2 && norm > 0.3; j++)
                g[j] *= 0.3 / norm;
            reference_step(kind, t, reference_rate(schedule, rate, t, 50), net.shape.size, g, m, s, v);
        }
        for (unsigned p = 0; p < COUNT(presets); p++) {
            snprintf(words, sizeof words,
                     "problem=network hidden=7 activation=tanh batch=all seed=%u network_lambda=0.01 preset=%s rate=%g "
                     "optimiser=%s schedule=%s %s passes=50 clip=%s",
                     form, presets[p], rate, kinds[kind], schedules[schedule],
                     schedule == 1 ? "decay_every=20 decay=0.5" : "", form % 2 ? "0.3" : "0");
            outcome outcome = train_once(data, words);
            take_model(&net.shape, outcome.model[0], got);
            for (uint64_t j = 0; j < net.shape.size; j++)
                assert_close(got[j], v[j], 1e-4);
            free_models(&outcome);
        }
    }
    parley_data_free(data);
}

static void assert_same_network(const parley_model *a, const parley_model *b) {
    const pl_net_model *x = pl_net_model_of(a), *y = pl_net_model_of(b);
    assert_memory_equal(x->memory, y->memory, x->shape.size * sizeof *x->memory);
}

static const char *const methods[] = {
    "preset=minibatch-sgd batch=20",
    "preset=minibatch-sgd batch=30 dropout=0.3 optimiser=momentum clip=0.5 network_lambda=0.01",
    "preset=mllib-sgd optimiser=adagrad activation=tanh standardise=true",
    "preset=ma-sgd batch=10 optimiser=nesterov local_epochs=0.5",
    "preset=ma-sgd batch=10 dropout=0.2 schedule=cosine passes=10",
    "preset=ps-sync batch=20 optimiser=sgd activation=logistic",
};

static void bits_do_not_depend_on_ranks_and_threads(void **state) {
    (void)state;
    for (unsigned m = 0; m < COUNT(methods); m += SOME)
        for (unsigned lanes = 1; lanes < 3; lanes++) {
            static parley_settings settings;
            parley_data *data = rows_of(m, ROWS, m % 2 ? 0.2 : 0.9, m == 3);
            char words[256];
            snprintf(words, sizeof words, "problem=network hidden=20,9 %s workers=4 lanes=%u rounds=7 seed=%u",
                     methods[m], lanes, m + 1);
            settings = settings_of(words);
            outcome one = {.data = data, .settings = &settings};
            train(&one, 1, 1);
            assert_done(one.status[0], &one.error[0]);
            for (unsigned form = 0; form < 4; form++) {
                ranks_share_memory = form % 2;
                outcome many = {.data = data, .settings = &settings};
                train(&many, 1 + form, 1 + form % 2);
                for (unsigned r = 0; r < 1 + form; r++) {
                    assert_done(many.status[r], &many.error[r]);
                    assert_same_network(many.model[r], one.model[0]);
                    assert_true(many.summary[r].objective == one.summary[0].objective);
                }
                free_models(&many);
            }
            ranks_share_memory = false;
            free_models(&one);
            parley_data_free(data);
        }
}

static void a_resumed_run_ends_at_the_same_bits(void **state) {
    (void)state;
    for (unsigned m = 0; m < 2 * COUNT(methods); m++) {
        parley_data *data = rows_of(m, ROWS, 0.9, false);
        char words[512], command[160];
        unsigned workers = m < COUNT(methods) ? 3 : 1;
        const char *method = methods[m % COUNT(methods)];
        snprintf(words, sizeof words, "problem=network hidden=9 %s workers=%u rounds=9", method, workers);
        outcome whole = train_once(data, words);
        snprintf(words, sizeof words, "problem=network hidden=9 %s workers=%u rounds=4 checkpoint=%s/%u", method,
                 workers, folder, m);
        outcome part = train_once(data, words);
        snprintf(words, sizeof words, "problem=network rounds=9 resume=%s/%u", folder, m);
        outcome rest = train_once(data, words);
        assert_same_network(rest.model[0], whole.model[0]);
        assert_true(rest.summary[0].objective == whole.summary[0].objective);
        snprintf(command, sizeof command, "rm -r %s/%u", folder, m);
        assert_int_equal(system(command), 0);
        free_models(&whole);
        free_models(&part);
        free_models(&rest);
        parley_data_free(data);
    }
}

/* Every preset learns what there is to learn. */
static void every_preset_learns(void **state) {
    (void)state;
    static const char *const presets[] = {"minibatch-sgd", "mllib-sgd", "ma-sgd", "ps-sync", "ps-async", "ps-backup"};
    for (unsigned form = 0; form < 4 * COUNT(presets); form++) {
        bool real = form / COUNT(presets) % 2;
        parley_data *data = rows_of(7, 600, form % 3 ? 0.9 : 0.2, real),
                    *test = rows_of(8, 300, form % 3 ? 0.9 : 0.2, real);
        char words[256];
        double score;
        parley_error error;
        snprintf(words, sizeof words,
                 "problem=network hidden=16 preset=%s workers=3 batch=%s passes=%s rate=0.02 engine=%s",
                 presets[form % COUNT(presets)], form % COUNT(presets) == 1 ? "all" : "20",
                 form % COUNT(presets) == 1 ? "150" : "25", form < 2 * COUNT(presets) ? "threads" : "sim hosts=2");
        outcome outcome = train_once(data, words);
        assert_done(parley_score(outcome.model[0], test, real ? "r2" : "accuracy", 1, &score, &error), &error);
        if (form % 3)
            assert_at_most(real ? 0.8 : 0.85, score);
        else /* few columns are there */
            assert_at_most(real ? 0.8 : 0.5, score);
        free_models(&outcome);
        parley_data_free(data);
        parley_data_free(test);
    }
}

static void a_warm_start_goes_on_where_its_model_is(void **state) {
    (void)state;
    parley_data *data = rows_of(4, ROWS, 0.9, true);
    parley_error error;
    char words[256];
    outcome first = train_once(data, "problem=network hidden=9 passes=60 rate=0.01 standardise=true batch=10");
    assert_done(parley_model_save(first.model[0], path, &error), &error);
    snprintf(words, sizeof words, "problem=network hidden=9 passes=1 rate=1e-30 standardise=true start=%s", path);
    outcome rest = train_once(data, words);
    const pl_net_model *a = pl_net_model_of(first.model[0]), *b = pl_net_model_of(rest.model[0]);
    for (uint64_t j = 0; j < a->shape.size; j++)
        assert_close((double)b->memory[j], (double)a->memory[j], 1e-5);
    snprintf(words, sizeof words, "problem=network hidden=8 start=%s", path);
    outcome other = {.data = data};
    parley_settings settings = settings_of(words);
    other.settings = &settings;
    train(&other, 1, 1);
    assert_int_equal(other.status[0], PARLEY_BAD_INPUT);
    assert_non_null(strstr(other.error[0].sentence, "other layers"));
    free_models(&first);
    free_models(&rest);
    parley_data_free(data);
}

/* A run that diverges gives the best model before, or a sentence if there is none. */
static void a_diverging_run_gives_no_bad_model(void **state) {
    (void)state;
    parley_data *data = rows_of(4, ROWS, 0.9, true);
    static parley_settings settings;
    settings = settings_of("problem=network hidden=9 optimiser=sgd rate=1000 batch=10 passes=30");
    outcome bad = {.data = data, .settings = &settings};
    train(&bad, 1, 1);
    assert_int_equal(bad.status[0], PARLEY_BAD_INPUT);
    assert_non_null(strstr(bad.error[0].sentence, "--rate"));
    assert_null(bad.model[0]);
    outcome late = train_once(data, "problem=network hidden=9 optimiser=sgd rate=1e-9 warm_up=1e-6 schedule=step "
                                    "decay=1 batch=10 passes=3");
    double good = late.summary[0].objective;
    assert_true(isfinite(good));
    free_models(&late);
    parley_data_free(data);
}

static void several_targets_are_predicted(void **state) {
    (void)state;
    parley_data *data = rows_of(4, 600, 0.9, true);
    parley_error error;
    double score;
    outcome outcome = train_once(data, "problem=network hidden=16 targets=3,7 passes=40 rate=0.01 standardise=true");
    const pl_net_model *model = pl_net_model_of(outcome.model[0]);
    assert_int_equal(model->shape.width[0], COLUMNS - 2);
    assert_int_equal(outcome.model[0]->outputs, 3);
    assert_int_equal(outcome.model[0]->columns, COLUMNS);
    assert_done(parley_model_save(outcome.model[0], path, &error), &error);
    parley_model *loaded;
    assert_done(parley_model_load(path, &loaded, &error), &error);
    assert_same_network(loaded, outcome.model[0]);
    assert_done(parley_score(loaded, data, "r2", 1, &score, &error), &error);
    assert_at_most(0.5, score);
    parley_model_free(loaded);
    free_models(&outcome);
    parley_data_free(data);
}

/* Readers refuse such a value, but a program may change its arrays after it gave them. */
static void a_value_that_is_not_finite_is_named(void **state) {
    (void)state;
    parley_data *data = rows_of(9, 30, 1.0, false);
    parley_error error;
    double score;
    outcome outcome = train_once(data, "problem=network hidden=5 activation=identity passes=1");
    ((float *)data->x.values.narrow)[data->x.start[6] + 2] = NAN;
    assert_int_equal(parley_score(outcome.model[0], data, "accuracy", 1, &score, &error), PARLEY_BAD_INPUT);
    assert_string_equal(error.sentence, "data: row 7 has a value that is not a finite number");
    free_models(&outcome);
    parley_data_free(data);
}

static void every_failed_allocation_has_its_sentence(void **state) {
    (void)state;
    parley_data *data = rows_of(9, 30, 0.9, false);
    assert_survives_lost_memory(data, "problem=network hidden=5 workers=2 rounds=2 validation_fraction=0.2");
    assert_survives_lost_memory(data, "problem=network hidden=5 preset=ma-sgd workers=2 rounds=2 standardise=true");
    parley_data_free(data);
}

static int make_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(path);
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(activations_are_right),
        cmocka_unit_test(sparse_products_are_right),
        cmocka_unit_test(gradients_are_finite_differences),
        cmocka_unit_test(optimisers_follow_their_reference),
        cmocka_unit_test(bits_do_not_depend_on_ranks_and_threads),
        cmocka_unit_test(a_resumed_run_ends_at_the_same_bits),
        cmocka_unit_test(every_preset_learns),
        cmocka_unit_test(a_warm_start_goes_on_where_its_model_is),
        cmocka_unit_test(a_diverging_run_gives_no_bad_model),
        cmocka_unit_test(several_targets_are_predicted),
        cmocka_unit_test(a_value_that_is_not_finite_is_named),
        cmocka_unit_test(every_failed_allocation_has_its_sentence),
    };
    return cmocka_run_group_tests_name("networks", tests, make_folder, remove_folder);
}
