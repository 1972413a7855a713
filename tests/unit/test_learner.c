/* test_learner.c: learning batch by batch gives the same as a stream, and continues where the last batch ended. */
#include <math.h>
#include <string.h>

#include "support.h"

#define COLUMNS 20

static parley_learner *learner_of(const char *words, const double *labels) {
    parley_settings settings = settings_of(words);
    parley_learner *learner;
    parley_error error = {0};
    assert_done(parley_learner_new(&settings, labels, &learner, &error), &error);
    return learner;
}

static parley_model *model_of(const parley_learner *learner) {
    parley_model *model;
    parley_error error = {0};
    assert_done(parley_learner_model(learner, &model, &error), &error);
    return model;
}

/* Rows [begin, end) of the data. */
static parley_data *part_of(const parley_data *data, uint64_t begin, uint64_t end) {
    parley_data *part;
    parley_error error;
    uint64_t rows[512];
    for (uint64_t i = begin; i < end; i++)
        rows[i - begin] = i;
    assert_done(pl_data_subset(data, rows, end - begin, &part, &error), &error);
    return part;
}

static void learn(parley_learner *learner, const parley_data *data, uint64_t begin, uint64_t end) {
    parley_data *part = part_of(data, begin, end);
    parley_error error = {0};
    assert_done(parley_learner_learn(learner, part, &error), &error);
    parley_data_free(part);
}

static void assert_same_model(parley_model *a, parley_model *b) {
    void *bytes, *others;
    uint64_t count, other_count;
    assert_int_equal(parley_model_to_bytes(a, &bytes, &count, NULL), PARLEY_OK);
    assert_int_equal(parley_model_to_bytes(b, &others, &other_count, NULL), PARLEY_OK);
    assert_int_equal(count, other_count);
    assert_memory_equal(bytes, others, count);
    parley_bytes_free(bytes);
    parley_bytes_free(others);
    parley_model_free(a);
    parley_model_free(b);
}

static const char *const ways[] = {
    "loss=logistic",
    "loss=hinge lambda=0.01",
    "loss=squared-hinge lambda=0.01 l1_ratio=0.5",
    "loss=squared schedule=adagrad",
    "loss=huber lambda=0.001 l1_ratio=1",
    "loss=epsilon-insensitive intercept=none",
};

static void batches_learn_what_a_stream_of_their_rows_does(void **state) {
    (void)state;
    for (unsigned w = 0; w < COUNT(ways); w++) {
        char online[160];
        parley_data *data = random_data((sample_plan){w, 300, COLUMNS, 0.3, .real = w >= 3});
        parley_learner *learner = learner_of(ways[w], NULL);
        learn(learner, data, 0, 1);
        learn(learner, data, 1, 130);
        parley_model_free(model_of(learner)); /* making a model changes nothing */
        learn(learner, data, 130, 300);
        snprintf(online, sizeof online, "preset=online %s", ways[w]);
        outcome whole = train_once(data, online);
        assert_same_model(model_of(learner), whole.model[0]);
        parley_learner_free(learner);
        parley_data_free(data);
    }
}

static void labels_told_beforehand_may_come_one_at_a_time(void **state) {
    (void)state;
    const double labels[] = {3, 8};
    parley_learner *learner = learner_of("loss=logistic", labels);
    parley_data *upper = data_of("8 1:1\n8 1:1 2:0.5\n"), *lower = data_of("3 2:1\n3 1:-1 2:1\n");
    parley_error error;
    double two[2], decisions[2];
    for (unsigned round = 0; round < 5; round++) {
        assert_done(parley_learner_learn(learner, upper, &error), &error);
        assert_done(parley_learner_learn(learner, lower, &error), &error);
    }
    parley_model *model = model_of(learner);
    assert_true(parley_model_two_labels(model, two));
    assert_true(two[0] == 3 && two[1] == 8);
    assert_done(parley_decide(model, upper, decisions, &error), &error);
    assert_true(decisions[0] > 0 && decisions[1] > 0);
    assert_done(parley_decide(model, lower, decisions, &error), &error);
    assert_true(decisions[0] < 0 && decisions[1] < 0);
    parley_model_free(model);
    parley_data_free(upper);
    parley_data_free(lower);
    parley_learner_free(learner);
}

static void a_batch_that_is_refused_leaves_no_trace(void **state) {
    (void)state;
    const double labels[] = {-1, 1};
    struct {
        const char *text, *sentence;
        const double *labels;
    } wrong[] = {{"1 1:1\n7 2:1\n", "which is neither -1 nor 1", labels},
                 {"1 1:1\n0 2:1\n", "has label 0 after rows with label -1", NULL},
                 {"1 1:1\n-1 3:1\n", "the batch has 3 columns, but the first one had 2", NULL}};
    for (unsigned i = 0; i < COUNT(wrong); i++) {
        parley_learner *learner = learner_of("loss=logistic", wrong[i].labels);
        parley_learner *other = learner_of("loss=logistic", wrong[i].labels);
        parley_data *good = data_of("1 1:1\n-1 2:1\n"), *bad = data_of(wrong[i].text);
        parley_error error = {0};
        for (unsigned round = 0; round < 2; round++) {
            assert_done(parley_learner_learn(learner, good, &error), &error);
            assert_done(parley_learner_learn(other, good, &error), &error);
            assert_int_equal(parley_learner_learn(learner, bad, &error), PARLEY_BAD_INPUT);
            assert_non_null(strstr(error.sentence, wrong[i].sentence));
        }
        assert_same_model(model_of(learner), model_of(other));
        parley_data_free(good);
        parley_data_free(bad);
        parley_learner_free(learner);
        parley_learner_free(other);
    }
}

static void bytes_of_a_learner_go_on_as_it_would(void **state) {
    (void)state;
    for (unsigned w = 0; w < COUNT(ways); w++) {
        char moved[1 << 14];
        parley_data *data = random_data((sample_plan){w, 200, COLUMNS, 0.3, .real = w >= 3});
        parley_learner *learner = learner_of(ways[w], NULL), *other;
        parley_error error = {0};
        void *bytes;
        uint64_t count;
        learn(learner, data, 0, 100);
        assert_done(parley_learner_to_bytes(learner, &bytes, &count, &error), &error);
        assert_true(count + 1 < sizeof moved);
        memcpy(moved + 1, bytes, count); /* the bytes need not be aligned */
        parley_bytes_free(bytes);
        assert_done(parley_learner_from_bytes(moved + 1, count, &other, &error), &error);
        learn(learner, data, 100, 200);
        learn(other, data, 100, 200);
        assert_same_model(model_of(learner), model_of(other));
        parley_learner_free(learner);
        parley_learner_free(other);
        assert_int_equal(parley_learner_from_bytes(moved + 1, count - 1, &other, &error), PARLEY_BAD_INPUT);
        assert_null(other);
        parley_data_free(data);
    }
}

static void wrong_bytes_are_refused_or_do_no_harm(void **state) {
    (void)state;
    parley_data *data = random_data((sample_plan){1, 20, COLUMNS, 0.3, .real = false});
    parley_learner *learner = learner_of("lambda=0.01 hash_bits=3", NULL);
    void *bytes;
    uint64_t count;
    unsigned refused = 0;
    learn(learner, data, 0, 20);
    assert_int_equal(parley_learner_to_bytes(learner, &bytes, &count, NULL), PARLEY_OK);
    parley_learner_free(learner);
    for (uint64_t at = 0; at < 8 * count; at += 5) {
        unsigned char *byte = (unsigned char *)bytes + at / 8;
        parley_learner *other;
        parley_model *model = NULL;
        *byte ^= (unsigned char)(1 << at % 8);
        if (parley_learner_from_bytes(bytes, count, &other, NULL) == PARLEY_OK) {
            parley_learner_learn(other, data, NULL);
            parley_learner_model(other, &model, NULL);
        } else
            refused++;
        parley_model_free(model);
        parley_learner_free(other);
        *byte ^= (unsigned char)(1 << at % 8);
    }
    assert_true(refused > 100);
    parley_bytes_free(bytes);
    parley_data_free(data);
}

static void a_learner_that_saw_nothing_has_no_model_but_has_bytes(void **state) {
    (void)state;
    parley_learner *learner = learner_of("loss=hinge", NULL), *other;
    parley_model *model = (parley_model *)&learner;
    parley_error error = {0};
    void *bytes;
    uint64_t count;
    assert_int_equal(parley_learner_model(learner, &model, &error), PARLEY_BAD_USAGE);
    assert_null(model);
    assert_done(parley_learner_to_bytes(learner, &bytes, &count, &error), &error);
    assert_done(parley_learner_from_bytes(bytes, count, &other, &error), &error);
    parley_bytes_free(bytes);
    parley_learner_free(other);
    parley_learner_free(learner);
    parley_learner_free(NULL);
}

static void settings_without_effect_are_refused(void **state) {
    (void)state;
    const double labels[] = {-1, 1}, falling[] = {1, -1};
    struct {
        const char *words, *sentence;
        const double *labels;
    } wrong[] = {
        {"preset=newton", "a learner always uses preset online; leave out preset newton", NULL},
        {"passes=3", "a learner always makes one pass over each batch; leave out passes", NULL},
        {"alpha=0.1", "--alpha has no effect with --preset online; leave it out", NULL},
        {"C=2", "--C has no effect with --preset online; leave it out", NULL},
        {"class_weights=balanced", "--class-weights has no effect with --preset online; leave it out", NULL},
        {"validation_fraction=0.1", "--validation-fraction has no effect with --preset online; leave it out", NULL},
        {"loss=squared", "two labels need a loss of two classes, but loss is squared", labels},
        {"loss=hinge", "the labels 1 and -1 must be in increasing order", falling},
    };
    for (unsigned i = 0; i < COUNT(wrong); i++) {
        parley_settings settings = settings_of(wrong[i].words);
        parley_learner *learner = (parley_learner *)&settings;
        parley_error error = {0};
        assert_int_equal(parley_learner_new(&settings, wrong[i].labels, &learner, &error), PARLEY_BAD_USAGE);
        assert_null(learner);
        assert_string_equal(error.sentence, wrong[i].sentence);
    }
}

/* The whole life of a learner. Returns whether nothing failed. */
static bool live(const parley_settings *settings, const parley_data *data, parley_error *error) {
    parley_learner *learner, *other = NULL;
    parley_model *model = NULL;
    void *bytes = NULL;
    uint64_t count;
    parley_status status = parley_learner_new(settings, NULL, &learner, error);
    if (status == PARLEY_OK)
        status = parley_learner_learn(learner, data, error);
    if (status == PARLEY_OK)
        status = parley_learner_model(learner, &model, error);
    if (status == PARLEY_OK)
        status = parley_learner_to_bytes(learner, &bytes, &count, error);
    if (status == PARLEY_OK)
        status = parley_learner_from_bytes(bytes, count, &other, error);
    parley_bytes_free(bytes);
    parley_model_free(model);
    parley_learner_free(learner);
    parley_learner_free(other);
    return status == PARLEY_OK;
}

static void failed_allocations_end_with_a_sentence(void **state) {
    (void)state;
    parley_data *data = random_data((sample_plan){1, 30, COLUMNS, 0.3, .real = false});
    parley_settings settings = settings_of("loss=logistic lambda=0.1");
    parley_error error = {0};
    bool done = false;
    unsigned failures = 0;
    for (int64_t after = 0; !done; after++, failures += !done) {
        error = (parley_error){0};
        pl_memory_fail_after(after);
        done = live(&settings, data, &error);
        pl_memory_fail_after(-1);
        assert_true(done || (error.status == PARLEY_NO_MEMORY && *error.sentence));
    }
    assert_true(failures > 20);
    parley_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_learn_what_a_stream_of_their_rows_does),
        cmocka_unit_test(labels_told_beforehand_may_come_one_at_a_time),
        cmocka_unit_test(a_batch_that_is_refused_leaves_no_trace),
        cmocka_unit_test(bytes_of_a_learner_go_on_as_it_would),
        cmocka_unit_test(wrong_bytes_are_refused_or_do_no_harm),
        cmocka_unit_test(a_learner_that_saw_nothing_has_no_model_but_has_bytes),
        cmocka_unit_test(settings_without_effect_are_refused),
        cmocka_unit_test(failed_allocations_end_with_a_sentence),
    };
    return cmocka_run_group_tests_name("learner", tests, NULL, NULL);
}
