/* test_metrics.c: metrics of linear models against their definitions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka needs these first */
#include <cmocka.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "linear/model/linear_model.h"

#define ROWS 500

/* A model of one column; only its loss and labels matter here. */
static pl_linear_model *make_model(const pl_loss *loss) {
    pl_linear_model *model;
    assert_int_equal(pl_linear_new(1, 1, loss, &model, NULL), PARLEY_OK);
    return model;
}

/* Computes a metric, in batches of `step` rows. */
static double measure(const pl_linear_model *model, const parley_data *data, const double *decisions, uint64_t step,
                      const char *name) {
    pl_meter *meter;
    const pl_model_metric *metric = pl_metric_find(&pl_model_linear, name);
    assert_int_equal(pl_linear_meter.open(&model->base, metric, &meter, NULL), PARLEY_OK);
    for (uint64_t i = 0; i < data->x.rows; i += step) {
        parley_data batch = *data;
        batch.x.rows = i + step < data->x.rows ? step : data->x.rows - i;
        batch.label += i;
        batch.weight = data->weight ? data->weight + i : NULL;
        assert_int_equal(pl_linear_meter.add(meter, &batch, decisions + i, NULL), PARLEY_OK);
    }
    assert_int_equal(meter->rows, data->x.rows);
    double value = metric->value(meter);
    pl_linear_meter.close(meter);
    return value;
}

/* Over all pairs, as in the definition. */
static double plain_auc(const parley_data *data, const double *z, double high) {
    double right = 0.0, all = 0.0;
    for (uint64_t i = 0; i < data->x.rows; i++)
        for (uint64_t j = 0; j < data->x.rows; j++)
            if (data->label[i] == high && data->label[j] != high) {
                double pair = data->weight ? data->weight[i] * data->weight[j] : 1.0;
                right += pair * (z[i] > z[j] ? 1.0 : z[i] == z[j] ? 0.5 : 0.0);
                all += pair;
            }
    return right / all;
}

static void binary_metrics_follow_their_definitions(void **state) {
    (void)state;
    double z[ROWS], label[ROWS], weights[ROWS];
    parley_data plain = {.x.rows = ROWS, .label = label, .path = "plain.svm"}, *data = &plain;
    pl_linear_model *model = make_model(&pl_loss_logistic);
    pl_stream stream = pl_stream_make(5, 9, 2);
    model->low = -3.0;
    model->high = 2.0;
    for (uint64_t i = 0; i < ROWS; i++) {
        z[i] = round(4.0 * pl_random_normal(&stream)) / 2.0; /* so that there are ties */
        label[i] = pl_random_below(&stream, 3) == 0 ? 2.0 : -3.0;
        weights[i] = (double)pl_random_below(&stream, 5) / 2.0;
    }
    for (int weighted = 0; weighted < 2; weighted++) {
        double right = 0.0, log_loss = 0.0, hinge = 0.0, total = 0.0;
        data->weight = weighted ? weights : NULL;
        for (uint64_t i = 0; i < ROWS; i++) {
            double s = weighted ? weights[i] : 1.0, y = data->label[i] == 2.0 ? 1.0 : -1.0;
            right += s * ((z[i] > 0.0) == (y > 0.0));
            log_loss += s * log(1.0 + exp(-y * z[i]));
            hinge += s * fmax(0.0, 1.0 - y * z[i]);
            total += s;
        }
        const double expected[] = {right / total, log_loss / total, hinge / total, plain_auc(data, z, 2.0),
                                   log_loss / total};
        const char *const names[] = {"accuracy", "log_loss", "hinge", "auc", "loss"};
        for (unsigned m = 0; m < sizeof names / sizeof *names; m++) {
            double whole = measure(model, data, z, ROWS, names[m]);
            assert_float_equal(whole, expected[m], 1e-12);
            assert_true(measure(model, data, z, 37, names[m]) == whole);
        }
        assert_true(isnan(measure(model, data, z, ROWS, "rmse")) && isnan(measure(model, data, z, ROWS, "r2")));
    }
    parley_model_free(&model->base);
}

/* Expected values: scikit-learn 1.9.1, average_precision_score(y, z, sample_weight=w), f1_score(y, z > 0,
 * sample_weight=w) and f1_score(several, [0, 2, 1, 1, 0, 2], average="macro"). */
static void precision_metrics_are_those_of_scikit_learn(void **state) {
    (void)state;
    const double z[] = {0.1, 0.4, -0.35, 0.8, 0.4, -1.0}, y[] = {-1, -1, 1, 1, 1, -1}, w[] = {1, 2, 0.5, 1, 3, 0};
    const double several[] = {0, 1, 2, 1, 0, 2};
    const double outputs[] = {2, 0, 0, 0, 0, 1, 0, 3, 1, 0, 4, 0, 5, 1, 0, 0, 0, 1};
    parley_data data = {.x.rows = 6, .label = y};
    pl_linear_model *model = make_model(&pl_loss_logistic);
    assert_float_equal(measure(model, &data, z, 2, "average_precision"), 0.75555555555555554, 1e-12);
    assert_float_equal(measure(model, &data, z, 6, "f1"), 0.57142857142857140, 1e-12);
    data.weight = w;
    assert_float_equal(measure(model, &data, z, 6, "average_precision"), 0.73333333333333328, 1e-12);
    assert_float_equal(measure(model, &data, z, 4, "f1"), 0.69565217391304346, 1e-12);
    data.weight = NULL;
    data.label = (const double[]){-1, -1, -1, -1, -1, -1};
    assert_true(isnan(measure(model, &data, z, 6, "average_precision")) && measure(model, &data, z, 6, "f1") == 0);
    parley_model_free(&model->base);
    assert_int_equal(pl_linear_new(3, 1, pl_loss_find("softmax"), &model, NULL), PARLEY_OK);
    for (unsigned c = 0; c < 3; c++)
        model->labels[c] = c;
    data.label = several;
    pl_meter *meter;
    assert_int_equal(pl_linear_meter.open(&model->base, pl_metric_find(&pl_model_linear, "f1"), &meter, NULL),
                     PARLEY_OK);
    assert_int_equal(pl_linear_meter.add(meter, &data, outputs, NULL), PARLEY_OK);
    assert_float_equal(pl_metric_find(&pl_model_linear, "f1")->value(meter), 0.66666666666666663, 1e-12);
    assert_true(isnan(pl_metric_find(&pl_model_linear, "average_precision")->value(meter)));
    pl_linear_meter.close(meter);
    parley_model_free(&model->base);
}

static void metrics_are_found_by_name_and_auto_is_the_loss(void **state) {
    (void)state;
    pl_linear_model *model = make_model(pl_loss_find("poisson"));
    char names[256];
    for (const pl_model_metric *metric = pl_linear_metrics; metric->name; metric++)
        assert_ptr_equal(pl_metric_find(&pl_model_linear, metric->name), metric);
    assert_string_equal(pl_metric_find(&pl_model_linear, "auto")->name, "loss");
    assert_null(pl_metric_find(&pl_model_linear, "mean_loss")); /* its key in eval, next to the name of the loss */
    pl_metric_names(&pl_model_linear, &model->base, names, sizeof names);
    assert_string_equal(names, "rmse, r2, mae, loss, deviance, d2");
    parley_model_free(&model->base);
}

static void auc_of_known_cases(void **state) {
    (void)state;
    const double label[] = {-1, -1, 1, 1}, one_label[] = {1, 1, 1, 1};
    const double perfect[] = {0.1, 0.2, 0.3, 0.4}, turned[] = {4, 3, 2, 1}, flat[] = {1, 1, 1, 1};
    const double zero_weights[] = {1, 0, 1, 0};
    parley_data data = {.x.rows = 4, .label = label};
    pl_linear_model *model = make_model(&pl_loss_hinge);
    assert_true(measure(model, &data, perfect, 4, "auc") == 1.0);
    assert_true(measure(model, &data, turned, 4, "auc") == 0.0);
    assert_true(measure(model, &data, flat, 4, "auc") == 0.5);
    assert_true(isnan(measure(model, &data, flat, 4, "log_loss"))); /* hinge gives no probabilities */
    data.weight = zero_weights;
    assert_true(measure(model, &data, perfect, 4, "auc") == 1.0);
    data.label = one_label;
    assert_true(isnan(measure(model, &data, perfect, 4, "auc")));
    data.x.rows = 0;
    assert_true(isnan(measure(model, &data, perfect, 4, "accuracy")));
    parley_model_free(&model->base);
}

static void log_loss_does_not_overflow(void **state) {
    (void)state;
    const double label[] = {-1, 1}, z[] = {1e5, -1e5};
    parley_data data = {.x.rows = 2, .label = label};
    pl_linear_model *model = make_model(&pl_loss_logistic);
    assert_true(measure(model, &data, z, 2, "log_loss") == 1e5);
    parley_model_free(&model->base);
}

static void real_metrics_follow_their_definitions(void **state) {
    (void)state;
    /* Labels far from 0, where sums of squares would lose all digits. */
    const double label[] = {1e9 + 1, 1e9 + 2, 1e9 + 4}, z[] = {1e9 + 1, 1e9 + 3, 1e9 + 4}, weight[] = {1, 0, 3};
    const double same[] = {5, 5, 5};
    parley_data data = {.x.rows = 3, .label = label};
    pl_linear_model *model = make_model(pl_loss_find("squared"));
    assert_float_equal(measure(model, &data, z, 2, "rmse"), sqrt(1.0 / 3.0), 1e-12);
    assert_float_equal(measure(model, &data, z, 2, "r2"), 1.0 - 1.0 / (14.0 / 3.0), 1e-6);
    assert_float_equal(measure(model, &data, z, 2, "mae"), 1.0 / 3.0, 1e-12);
    assert_float_equal(measure(model, &data, z, 2, "loss"), 1.0 / 6.0, 1e-12);
    assert_true(isnan(measure(model, &data, z, 2, "auc")) && isnan(measure(model, &data, z, 2, "accuracy")));
    data.weight = weight;
    assert_true(measure(model, &data, z, 3, "r2") == 1.0);
    data.label = same;
    assert_true(isnan(measure(model, &data, z, 3, "r2")));
    parley_model_free(&model->base);
}

/* Three classes, each against the rest: rows 1 and 2 are right, row 3 is not, and no row has the last class. */
static void metrics_of_classes_follow_their_definitions(void **state) {
    (void)state;
    const double label[] = {1, 2, 2}, z[] = {0.5, -1, -2, -1, 3, 0, 2, 1, 0};
    parley_data data = {.x.rows = 3, .label = label, .path = "x.svm"};
    const char *const names[] = {"loss", "hinge", "accuracy", "macro_f1", "auc", "rmse", "deviance", "d2"};
    const double expected[] = {
        (0.5 + 1 + 3 + 1) / 3, (0.5 + 1 + 3 + 1) / 3, 2.0 / 3, (2.0 / 3 + 2.0 / 3 + 0) / 3, NAN, NAN, NAN, NAN};
    pl_linear_model *model;
    assert_int_equal(pl_linear_new(3, 1, &pl_loss_hinge, &model, NULL), PARLEY_OK);
    memcpy(model->labels, (const double[]){1, 2, 7}, 3 * sizeof(double));
    for (unsigned m = 0; m < sizeof names / sizeof *names; m++) {
        pl_meter *meter;
        const pl_model_metric *metric = pl_metric_find(&pl_model_linear, names[m]);
        assert_int_equal(pl_linear_meter.open(&model->base, metric, &meter, NULL), PARLEY_OK);
        assert_int_equal(pl_linear_meter.add(meter, &data, z, NULL), PARLEY_OK);
        double found = metric->value(meter);
        assert_true(isnan(found) == isnan(expected[m]));
        if (!isnan(found))
            assert_float_equal(found, expected[m], 1e-12);
        pl_linear_meter.close(meter);
    }
    parley_model_free(&model->base);
}

/* The unit deviance of counts is 2 (y ln(y / p) - y + p), with p the mean of the labels for the null model. */
static void counts_have_a_deviance(void **state) {
    (void)state;
    const double label[] = {0, 1, 5}, z[] = {log(0.5), log(2.0), log(4.0)}, negative[] = {0, -1, 2}, none[] = {0, 0, 0};
    parley_data data = {.x.rows = 3, .label = label, .path = "x.svm"};
    pl_linear_model *model = make_model(pl_loss_find("poisson"));
    double given = 0, null = 0;
    for (unsigned i = 0; i < 3; i++) {
        double own = label[i] > 0 ? label[i] * log(label[i]) : 0.0;
        given += 2 * (own - label[i] * z[i] - label[i] + exp(z[i])) / 3;
        null += 2 * (own - label[i] * log(2.0)) / 3;
    }
    assert_float_equal(measure(model, &data, z, 2, "d2"), 1 - given / null, 1e-9);
    assert_true(isnan(measure(model, &data, z, 2, "macro_f1")));
    data.label = none;
    assert_true(isnan(measure(model, &data, z, 2, "d2")));
    pl_meter *meter;
    parley_error error;
    data.label = negative;
    assert_int_equal(pl_linear_meter.open(&model->base, NULL, &meter, NULL), PARLEY_OK);
    assert_int_equal(pl_linear_meter.add(meter, &data, z, &error), PARLEY_BAD_INPUT);
    assert_string_equal(error.sentence, "x.svm: row 2 has label -1; a model of loss poisson needs labels of 0 or more");
    pl_linear_meter.close(meter);
    parley_model_free(&model->base);
}

/* Rows whose decision is not a number are ranked below all others, in any order of rows. */
static void auc_ranks_nan_lowest(void **state) {
    (void)state;
    const double label[] = {1, -1, -1, 1}, z[] = {NAN, 0.5, NAN, 1}, again[] = {1, 0.5, NAN, NAN};
    parley_data data = {.x.rows = 4, .label = label};
    pl_linear_model *model = make_model(&pl_loss_hinge);
    assert_true(measure(model, &data, z, 4, "auc") == (0.5 + 2) / 4);
    assert_true(measure(model, &data, again, 4, "auc") == (0.5 + 2) / 4);
    data.x.rows = 0;
    assert_true(isnan(measure(model, &data, z, 4, "auc")));
    parley_model_free(&model->base);
}

static void refuses_a_label_the_model_does_not_know(void **state) {
    (void)state;
    const double label[] = {-1, 0.5}, z[] = {1, 1};
    parley_data data = {.x.rows = 2, .label = label, .path = "x.svm"};
    pl_linear_model *model = make_model(&pl_loss_hinge);
    pl_meter *meter;
    parley_error error;
    assert_int_equal(pl_linear_meter.open(&model->base, NULL, &meter, NULL), PARLEY_OK);
    assert_int_equal(pl_linear_meter.add(meter, &data, z, &error), PARLEY_BAD_INPUT);
    assert_string_equal(error.sentence, "x.svm: row 2 has label 0.5; the model knows only -1 and 1");
    pl_linear_meter.close(meter);
    parley_model_free(&model->base);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binary_metrics_follow_their_definitions),
        cmocka_unit_test(precision_metrics_are_those_of_scikit_learn),
        cmocka_unit_test(metrics_are_found_by_name_and_auto_is_the_loss),
        cmocka_unit_test(auc_of_known_cases),
        cmocka_unit_test(log_loss_does_not_overflow),
        cmocka_unit_test(real_metrics_follow_their_definitions),
        cmocka_unit_test(metrics_of_classes_follow_their_definitions),
        cmocka_unit_test(counts_have_a_deviance),
        cmocka_unit_test(auc_ranks_nan_lowest),
        cmocka_unit_test(refuses_a_label_the_model_does_not_know),
    };
    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
