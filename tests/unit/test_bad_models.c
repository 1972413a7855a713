/* test_bad_models.c: files that are not models, or contradict themselves, are refused with a sentence. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */
#include "data_helpers.h"
/* after data_helpers.h, which includes what cmocka needs */
#include "data/container.h"
#include "linear/model/linear_model.h"

static char path[256];

static int make_path(void **state) {
    int made = make_folder(state);
    snprintf(path, sizeof path, "%s", in_folder("m.safetensors"));
    return made;
}

/* Writes a container that differs from a valid model in one point, and expects `sentence` in the error. */
static void expect_refusal(const pl_tensor *tensors, unsigned count, const pl_pair *metas, unsigned meta_count,
                           const char *sentence) {
    parley_model *model = (parley_model *)folder;
    parley_error error = {0};
    assert_int_equal(pl_container_write(path, tensors, count, metas, meta_count, NULL), PARLEY_OK);
    assert_int_equal(parley_model_load(path, &model, &error), PARLEY_BAD_INPUT);
    assert_null(model);
    assert_memory_equal(error.sentence, path, strlen(path));
    if (!strstr(error.sentence, sentence))
        fail_msg("`%s` is not in: %s", sentence, error.sentence);
}

static void refuses_bad_metadata(void **state) {
    (void)state;
    const double numbers[2] = {1.0, 2.0};
    const pl_tensor tensors[] = {{"coef", PL_F64, 2, {1, 2}, numbers}, {"intercept", PL_F64, 1, {1, 0}, numbers}};
    const char *const labels[] = {"", "1", "1 1", "a b", "-1 1 2", "-1  1", "nan 1", "0 inf", "-1 1 ", "1e999 2"};
    pl_pair metas[] = {{"format", "parley-model-1"}, {"labels", "-1 1"}, {"loss", "logistic"}};
    parley_model *model;
    assert_int_equal(pl_container_write(path, tensors, 2, metas, 3, NULL), PARLEY_OK);
    assert_int_equal(parley_model_load(path, &model, NULL), PARLEY_OK);
    parley_model_free(model);
    for (unsigned i = 0; i < sizeof labels / sizeof *labels; i++) {
        metas[1].value = labels[i];
        expect_refusal(tensors, 2, metas, 3, "two different numbers");
    }
    metas[1].value = "-1 1";
    metas[2].value = "squared";
    expect_refusal(tensors, 2, metas, 3, "loss squared has no labels");
    metas[2].value = "cubic";
    expect_refusal(tensors, 2, metas, 3, "unknown loss `cubic`");
    expect_refusal(tensors, 2, metas, 2, "unknown loss ``");
    metas[0].value = "parley-model-2";
    expect_refusal(tensors, 2, metas, 3, "not `parley-model-1`");
    expect_refusal(tensors, 2, metas + 1, 2, "not a Parley model");
}

static void refuses_bad_tensors(void **state) {
    (void)state;
    const double good[4] = {1.0, 2.0, 3.0, 4.0}, infinite[2] = {1.0, INFINITY}, nan[1] = {NAN};
    const float narrow[2] = {1.0f, 2.0f};
    const pl_pair metas[] = {{"format", "parley-model-1"}, {"labels", "-1 1"}, {"loss", "logistic"}};
    pl_tensor coef = {"coef", PL_F64, 2, {1, 2}, good}, intercept = {"intercept", PL_F64, 1, {1, 0}, good};
    const pl_tensor cases[][2] = {
        {{"coef", PL_F64, 1, {2, 0}, good}, intercept},     {{"coefs", PL_F64, 2, {1, 2}, good}, intercept},
        {{"coef", PL_F64, 2, {2, 2}, good}, intercept},     {coef, {"intercept", PL_F64, 2, {1, 1}, good}},
        {{"coef", PL_F64, 2, {1, 2}, infinite}, intercept}, {coef, {"intercept", PL_F64, 1, {1, 0}, nan}},
    };
    const char *const sentences[] = {
        "`coef`", "`coef`", "must be equal", "`intercept`", "coefficient 2 is not a finite", "intercept 1 is not"};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_refusal(cases[i], 2, metas, 3, sentences[i]);
    const pl_tensor floats[] = {intercept, {"coef", PL_F32, 2, {1, 2}, narrow}};
    expect_refusal(floats, 2, metas, 3, "`coef`");
    expect_refusal(&coef, 1, metas, 3, "`intercept`");
    const pl_tensor two[] = {{"coef", PL_F64, 2, {2, 2}, good}, {"intercept", PL_F64, 1, {2, 0}, good}};
    expect_refusal(two, 2, metas, 3, "2 outputs");
}

static void refuses_bad_classes(void **state) {
    (void)state;
    const double good[6] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, falls[2] = {2.0, 1.0}, infinite[2] = {1.0, INFINITY};
    const float narrow[2] = {1.0f, 2.0f};
    pl_pair metas[] = {{"format", "parley-model-1"}, {"loss", "softmax"}, {"labels", "1 2"}};
    pl_tensor tensors[] = {
        {"coef", PL_F64, 2, {2, 2}, good}, {"intercept", PL_F64, 1, {2, 0}, good}, {"labels", PL_F64, 1, {2, 0}, good}};
    const pl_tensor wrong[] = {{"labels", PL_F64, 1, {3, 0}, good},
                               {"labels", PL_F64, 2, {2, 1}, good},
                               {"labels", PL_F64, 1, {2, 0}, falls},
                               {"labels", PL_F64, 1, {2, 0}, infinite}};
    const char *const sentences[] = {"with one label for each of 2 outputs", "with one label for each of 2 outputs",
                                     "label 2 of `labels` is not above", "label 2 of `labels` is not above"};
    parley_model *model;
    assert_int_equal(pl_container_write(path, tensors, 3, metas, 2, NULL), PARLEY_OK);
    assert_int_equal(parley_model_load(path, &model, NULL), PARLEY_OK);
    parley_model_free(model);
    expect_refusal(tensors, 3, metas, 3, "labels `1 2`, but a model of loss softmax has no labels");
    expect_refusal(tensors, 2, metas, 2, "no float64 tensor `labels`");
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tensors[2] = wrong[i];
        expect_refusal(tensors, 3, metas, 2, sentences[i]);
    }
    const pl_tensor narrower[] = {tensors[0], tensors[1], {"labels", PL_F32, 1, {2, 0}, narrow}};
    expect_refusal(narrower, 3, metas, 2, "no float64 tensor `labels`");
    const pl_tensor one[] = {{"coef", PL_F64, 2, {1, 2}, good}, {"intercept", PL_F64, 1, {1, 0}, good}};
    expect_refusal(one, 2, metas, 2, "1 outputs, but a model of loss softmax has one for each class");
    metas[1].value = "squared";
    expect_refusal(tensors, 2, metas, 2, "2 outputs, but a model of loss squared has one");
    const pl_tensor half[] = {tensors[0], {"intercept", PL_F32, 1, {2, 0}, narrow}};
    expect_refusal(half, 2, metas, 2, "`intercept`");
}

/* fold_bits and the parameter of a loss are numbers in their range, and nothing follows them. */
static void refuses_bad_numbers_in_metadata(void **state) {
    (void)state;
    const double numbers[2] = {1.0, 2.0};
    const pl_tensor tensors[] = {{"coef", PL_F64, 2, {1, 2}, numbers}, {"intercept", PL_F64, 1, {1, 0}, numbers}};
    const char *const bits[] = {"x", "1 ", "0", "32", "2"}, *const widths[] = {"x", "1 ", "-1", "1e999"};
    pl_pair fold[] = {{"format", "parley-model-1"}, {"loss", "squared"}, {"fold_bits", "1"}};
    pl_pair huber[] = {{"format", "parley-model-1"}, {"loss", "huber"}, {"huber_width", "1.5"}};
    parley_model *model;
    pl_pair *const kinds[] = {fold, huber};
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(pl_container_write(path, tensors, 2, kinds[i], 3, NULL), PARLEY_OK);
        assert_int_equal(parley_model_load(path, &model, NULL), PARLEY_OK);
        parley_model_free(model);
    }
    for (unsigned i = 0; i < sizeof bits / sizeof *bits; i++) {
        fold[2].value = bits[i];
        expect_refusal(tensors, 2, fold, 3, "not 2 to the power of fold_bits");
    }
    for (unsigned i = 0; i < sizeof widths / sizeof *widths; i++) {
        huber[2].value = widths[i];
        expect_refusal(tensors, 2, huber, 3, "huber_width is missing or not a number");
    }
    expect_refusal(tensors, 2, huber, 2, "huber_width is missing or not a number");
}

/* Names are a text and where each name begins in it. */
static void refuses_bad_names(void **state) {
    (void)state;
    const double numbers[3] = {1.0, 2.0, 3.0};
    const uint64_t good[3] = {0, 1, 3}, falls[3] = {0, 2, 1}, late[3] = {1, 2, 3}, beyond[3] = {0, 1, 4};
    const char text[] = "abc";
    const pl_pair metas[] = {{"format", "parley-model-1"}, {"loss", "squared"}};
    const pl_tensor right[] = {{"name_start", PL_U64, 1, {3, 0}, good}, {"name", PL_U8, 1, {3, 0}, text}};
    const pl_tensor wrong[][2] = {
        {{"name_start", PL_F64, 1, {3, 0}, numbers}, right[1]}, {{"name_start", PL_U64, 2, {3, 1}, good}, right[1]},
        {{"name_start", PL_U64, 1, {1, 0}, good}, right[1]},    {{"name_start", PL_U64, 1, {3, 0}, falls}, right[1]},
        {{"name_start", PL_U64, 1, {3, 0}, late}, right[1]},    {{"name_start", PL_U64, 1, {3, 0}, beyond}, right[1]},
        {right[0], {"name", PL_U8, 2, {3, 1}, text}},           {right[0], {"names", PL_U8, 1, {3, 0}, text}},
        {{"starts", PL_U64, 1, {3, 0}, good}, right[1]},        {right[0], {"name", PL_U64, 1, {1, 0}, good}},
    };
    for (unsigned i = 0; i <= sizeof wrong / sizeof *wrong; i++) {
        const pl_tensor *names = i ? wrong[i - 1] : right;
        pl_tensor tensors[4] = {{"coef", PL_F64, 2, {1, 2}, numbers}, {"intercept", PL_F64, 1, {1, 0}, numbers}};
        tensors[2] = names[0];
        tensors[3] = names[1];
        if (i) {
            expect_refusal(tensors, 4, metas, 2, "name");
            continue;
        }
        parley_model *model;
        assert_int_equal(pl_container_write(path, tensors, 4, metas, 2, NULL), PARLEY_OK);
        assert_int_equal(parley_model_load(path, &model, NULL), PARLEY_OK);
        parley_model_free(model);
    }
    const pl_tensor one_column[] = {
        {"coef", PL_F64, 2, {1, 1}, numbers}, {"intercept", PL_F64, 1, {1, 0}, numbers}, right[0], right[1]};
    expect_refusal(one_column, 4, metas, 2, "name"); /* there are more names than columns */
}

static void refuses_shapes_out_of_range(void **state) {
    (void)state;
    const uint64_t shapes[][2] = {{0, 1}, {(uint64_t)1 << 40, 1}, {1, (uint64_t)1 << 60}};
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        pl_linear_model *model = (pl_linear_model *)folder;
        parley_error error = {0};
        assert_int_equal(pl_linear_new(shapes[i][0], shapes[i][1], &pl_loss_hinge, &model, &error), PARLEY_BAD_INPUT);
        assert_non_null(strstr(error.sentence, "is too large"));
        assert_null(model);
    }
}

static void names_a_file_that_is_not_there(void **state) {
    (void)state;
    parley_model *model;
    parley_error error;
    assert_int_equal(parley_model_load("/nowhere/m", &model, &error), PARLEY_NO_FILE);
    assert_null(model);
    assert_non_null(strstr(error.sentence, "/nowhere/m: "));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_bad_metadata),
        cmocka_unit_test(refuses_bad_tensors),
        cmocka_unit_test(refuses_bad_classes),
        cmocka_unit_test(refuses_bad_numbers_in_metadata),
        cmocka_unit_test(refuses_bad_names),
        cmocka_unit_test(refuses_shapes_out_of_range),
        cmocka_unit_test(names_a_file_that_is_not_there),
    };
    return cmocka_run_group_tests_name("bad models", tests, make_path, remove_folder);
}
