/* test_standardise.c: the scales, and that all solvers see the same scaled problem. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support.h"

/* Variance of a column by the definition, over all rows with their weights. */
static double variance_of(const parley_data *data, uint64_t column) {
    double total = 0, mean = 0, sum = 0;
    for (int pass = 0; pass < 2; pass++)
        for (uint64_t i = 0; i < data->x.rows; i++) {
            double s = data->weight ? data->weight[i] : 1.0, value = 0;
            for (uint64_t e = data->x.start[i]; e < data->x.start[i + 1]; e++)
                if (data->x.index[e] == column)
                    value = pl_value_at(data->x.values, e);
            if (pass == 0)
                mean = total + s > 0 ? (mean * total + s * value) / (total + s) : 0, total += s;
            else
                sum += s * (value - mean) * (value - mean);
        }
    return sum / total;
}

static pl_glm glm_of(pl_engine *engine, pl_team *team, const parley_data *data, const char *words) {
    static parley_settings settings;
    parley_error error;
    pl_glm glm;
    settings = settings_of(words);
    assert_done(pl_team_open(team, engine, data, 3, 2, 1, &error), &error);
    assert_done(pl_glm_open(&glm, engine, data, &settings, &error), &error);
    assert_done(pl_glm_measure(&glm, team, &error), &error);
    return glm;
}

static void scales_are_inverse_deviations(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    double weight[160];
    pl_engine *engine;
    pl_team team;
    for (unsigned i = 0; i < 160; i++)
        weight[i] = (double)(i % 5);
    set_weights(data, weight);
    assert_int_equal(pl_threads_open(&engine, 1, 2, DEADLINE, NULL), PARLEY_OK);
    pl_glm glm = glm_of(engine, &team, data, "standardise=true");
    for (uint64_t j = 0; j < data->x.columns; j++)
        assert_close(glm.scale[j], 1.0 / sqrt(variance_of(data, j)), 1e-12);
    pl_glm_close(&glm);
    pl_team_close(&team);
    pl_engine_close(engine);
    parley_data_free(data);
}

static void columns_without_variance_have_scale_0(void **state) {
    (void)state;
    char text[4096] = "";
    for (int i = 0; i < 40; i++) /* column 1 is constant and large, 2 varies little, 3 is empty */
        sprintf(text + strlen(text), "%d 1:123456.7 2:%d 4:%d\n", i % 3 ? 1 : -1, 100000 + i % 2, i % 7);
    parley_data *data = data_of(text);
    pl_engine *engine;
    pl_team team;
    assert_int_equal(pl_threads_open(&engine, 1, 1, DEADLINE, NULL), PARLEY_OK);
    pl_glm glm = glm_of(engine, &team, data, "standardise=true");
    assert_true(glm.scale[0] == 0.0);
    assert_close(glm.scale[1], 2.0, 1e-9);
    assert_true(glm.scale[2] == 0.0);
    pl_glm_close(&glm);
    pl_team_close(&team);
    pl_engine_close(engine);
    outcome done = train_once(data, "standardise=true preset=newton");
    assert_true(parley_model_coef(done.model[0])[0] == 0.0 && parley_model_coef(done.model[0])[2] == 0.0);
    free_models(&done);
    parley_data_free(data);
}

/* Columns 1 and 2 are indicators, of which 2 is so common that it is shifted, 3 is a number, and 4 nearly always 1. */
static void indicators_keep_their_scale(void **state) {
    (void)state;
    char text[8192] = "";
    for (int i = 0; i < 200; i++) {
        sprintf(text + strlen(text), "%d%s%s 3:%d", i % 3 ? 1 : -1, i % 7 ? "" : " 1:1", i % 10 ? " 2:1" : "", i % 9);
        sprintf(text + strlen(text), " 4:%s\n", i == 150 ? "2" : "1");
    }
    parley_data *data = data_of(text);
    const double one[] = {1, 1, 0, 0};
    for (unsigned all = 0; all < 2; all++) {
        pl_engine *engine;
        pl_team team;
        assert_int_equal(pl_threads_open(&engine, 1, 2, DEADLINE, NULL), PARLEY_OK);
        pl_glm glm = glm_of(engine, &team, data, all ? "standardise=true scale_indicators=true" : "standardise=true");
        for (uint64_t j = 0; j < 4; j++)
            assert_close(glm.scale[j], one[j] > 0 && !all ? 1.0 : 1.0 / sqrt(variance_of(data, j)), 1e-9);
        pl_glm_close(&glm);
        pl_team_close(&team);
        pl_engine_close(engine);
    }
    parley_data_free(data);
}

/* An indicator that the intercept shifts is one still: the model is that of the other column, with its sign. */
static void shifted_indicators_keep_their_scale(void **state) {
    (void)state;
    char text[16384] = "", other[16384] = "";
    for (int i = 0; i < 300; i++) {
        int rare = i % 20 == 3;
        sprintf(text + strlen(text), "%d%s 2:%d\n", (i * 7 + 40 * rare) % 11 > 5 ? 1 : -1, rare ? "" : " 1:1",
                i % 9 + 50);
        sprintf(other + strlen(other), "%d%s 2:%d\n", (i * 7 + 40 * rare) % 11 > 5 ? 1 : -1, rare ? " 1:1" : "",
                i % 9 + 50);
    }
    parley_data *data[] = {data_of(text), data_of(other)};
    outcome done[2];
    for (unsigned k = 0; k < 2; k++)
        done[k] = train_once(data[k], "standardise=true preset=newton lambda=0.05 gap=1e-12");
    const double *a = parley_model_coef(done[0].model[0]), *b = parley_model_coef(done[1].model[0]);
    assert_close(a[0], -b[0], 1e-6);
    assert_close(a[1], b[1], 1e-6);
    assert_close(done[0].summary[0].objective, done[1].summary[0].objective, 1e-10);
    for (unsigned k = 0; k < 2; k++) {
        free_models(&done[k]);
        parley_data_free(data[k]);
    }
}

/* The same data with their columns divided by their deviations. */
static parley_data *divided(const parley_data *data, const double *deviation) {
    static char text[1 << 16];
    size_t used = 0;
    for (uint64_t i = 0; i < data->x.rows; i++) {
        used += (size_t)sprintf(text + used, "%.17g", data->label[i]);
        for (uint64_t e = data->x.start[i]; e < data->x.start[i + 1]; e++) {
            double value = pl_value_at(data->x.values, e);
            used += (size_t)sprintf(text + used, " %u:%.9g", data->x.index[e] + 1, value / deviation[data->x.index[e]]);
        }
        used += (size_t)sprintf(text + used, "\n");
    }
    return data_of(text);
}

static void every_solver_finds_the_model_of_the_scaled_data(void **state) {
    (void)state;
    const char *const forms[] = {"preset=newton",
                                 "preset=cocoa+ workers=3 lanes=2",
                                 "preset=cocoa workers=2 loss=hinge",
                                 "preset=cocoa+ l1_ratio=0.4",
                                 "preset=cocoa+ local=sdca l1_ratio=0.4",
                                 "preset=gd intercept=none rounds=20000",
                                 "preset=lbfgs",
                                 "preset=newton combine=truncated",
                                 "preset=lbfgs l1_ratio=0.3",
                                 "preset=cocoa+ intercept=penalised"};
    const sample_plan plans[] = {small, {.seed = 5, .rows = 160, .columns = 12, .density = 0.3, .ones = true}};
    for (unsigned p = 0; p < COUNT(plans); p++) {
        parley_data *data = random_data(plans[p]);
        double deviation[12];
        for (uint64_t j = 0; j < 12; j++)
            deviation[j] = plans[p].ones ? 1.0 : sqrt(variance_of(data, j)); /* indicators keep their scale */
        parley_data *scaled = divided(data, deviation);
        for (unsigned f = 0; f < COUNT(forms); f++) {
            char words[160];
            snprintf(words, sizeof words, "%s lambda=0.05 gap=1e-9 standardise=true", forms[f]);
            outcome one = train_once(data, words);
            words[strlen(words) - strlen("standardise=true")] = '\0';
            outcome other = train_once(scaled, words);
            assert_close(one.summary[0].objective, other.summary[0].objective, 1e-7);
            for (uint64_t j = 0; j < 12; j++)
                assert_close(parley_model_coef(one.model[0])[j] * deviation[j], parley_model_coef(other.model[0])[j],
                             2e-3);
            free_models(&one);
            free_models(&other);
        }
        parley_data_free(data);
        parley_data_free(scaled);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scales_are_inverse_deviations),
        cmocka_unit_test(columns_without_variance_have_scale_0),
        cmocka_unit_test(indicators_keep_their_scale),
        cmocka_unit_test(shifted_indicators_keep_their_scale),
        cmocka_unit_test(every_solver_finds_the_model_of_the_scaled_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
