/* test_generate.c: generated data are valid, have the requested shape, can be learnt, and never change. */
#define _POSIX_C_SOURCE 200809L
#include "data_helpers.h"

#include <math.h>

static parley_data *make_topics(const char *kind, const char *rows, const char *columns, const char *nonzeros,
                                const char *seed, const char *topics) {
    parley_settings *settings;
    parley_data *data = NULL;
    parley_error error = {0};
    assert_int_equal(parley_settings_new(&settings, &error), PARLEY_OK);
    assert_int_equal(parley_settings_set(settings, "rows", rows, &error), PARLEY_OK);
    assert_int_equal(parley_settings_set(settings, "columns", columns, &error), PARLEY_OK);
    assert_int_equal(parley_settings_set(settings, "nonzeros", nonzeros, &error), PARLEY_OK);
    assert_int_equal(parley_settings_set(settings, "seed", seed, &error), PARLEY_OK);
    assert_int_equal(parley_settings_set(settings, "text_topics", topics, &error), PARLEY_OK);
    for (unsigned i = 0; i < pl_generators_count; i++)
        if (strcmp(pl_generators[i].name, kind) == 0 && pl_generators[i].make(settings, &data, &error) != PARLEY_OK)
            fail_msg("%s", error.sentence);
    assert_non_null(data);
    parley_settings_free(settings);
    return data;
}

static parley_data *make(const char *kind, const char *rows, const char *columns, const char *nonzeros,
                         const char *seed) {
    return make_topics(kind, rows, columns, nonzeros, seed, "0");
}

static void assert_valid(const parley_data *data, uint64_t rows, uint64_t columns) {
    const pl_matrix *x = &data->x;
    assert_int_equal(x->rows, rows);
    assert_int_equal(x->columns, columns);
    assert_int_equal(x->start[0], 0);
    assert_int_equal(x->start[rows], x->nonzeros);
    for (uint64_t i = 0; i < rows; i++) {
        assert_true(x->start[i] <= x->start[i + 1] && isfinite(data->label[i]));
        for (uint64_t k = x->start[i]; k < x->start[i + 1]; k++) {
            assert_true(x->index[k] < columns && isfinite(x->values.narrow[k]));
            assert_true(k == x->start[i] || x->index[k] > x->index[k - 1]);
        }
    }
}

static void text_rows_have_the_shape_asked_for(void **state) {
    (void)state;
    static const char *const shapes[][3] = {{"2000", "1000", "50"}, {"500", "100000", "75"},    {"300", "20", "19.5"},
                                            {"300", "20", "20"},    {"300", "7", "0"},          {"300", "1", "1"},
                                            {"300", "5000", "1.5"}, {"200", "2147483647", "10"}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        static const char *const topics[] = {"0", "1", "20", "1000000"};
        for (size_t t = 0; t < 4; t++) {
            parley_data *data = make_topics("text", shapes[i][0], shapes[i][1], shapes[i][2], "1", topics[t]);
            double rows = strtod(shapes[i][0], NULL), mean = strtod(shapes[i][2], NULL);
            assert_valid(data, (uint64_t)rows, strtoull(shapes[i][1], NULL, 10));
            assert_true(fabs((double)data->x.nonzeros / rows - mean) <= 0.1 * mean);
            parley_data_free(data);
        }
    }
}

static void text_rows_have_length_one_and_two_labels(void **state) {
    (void)state;
    parley_data *data = make("text", "2000", "3000", "40", "3");
    uint64_t positive = 0;
    for (uint64_t i = 0; i < data->x.rows; i++) {
        double squares = 0;
        for (uint64_t k = data->x.start[i]; k < data->x.start[i + 1]; k++) {
            assert_true(data->x.values.narrow[k] > 0);
            squares += (double)data->x.values.narrow[k] * (double)data->x.values.narrow[k];
        }
        assert_true(fabs(squares - 1) < 1e-4);
        assert_true(fabs(data->label[i]) == 1);
        positive += data->label[i] > 0;
    }
    assert_true(positive > 800 && positive < 1200);
    parley_data_free(data);
}

static void popular_columns_come_first(void **state) {
    (void)state;
    parley_data *data = make("text", "2000", "3000", "40", "3");
    uint64_t counts[3] = {0};
    for (uint64_t k = 0; k < data->x.nonzeros; k++)
        counts[data->x.index[k] < 50 ? 0 : data->x.index[k] < 500 ? 1 : 2]++;
    assert_true((double)counts[0] / 50 > 4 * (double)counts[1] / 450);
    assert_true((double)counts[1] / 450 > 4 * (double)counts[2] / 2500);
    parley_data_free(data);
}

/* How many columns from `first` on two rows have in common. */
static unsigned common(const pl_matrix *x, uint64_t row, uint64_t other, uint32_t first, uint32_t end) {
    unsigned count = 0;
    uint64_t k = x->start[row], l = x->start[other];
    while (k < x->start[row + 1] && l < x->start[other + 1]) {
        uint32_t a = x->index[k], b = x->index[l];
        count += a == b && a >= first && a < end;
        k += a <= b;
        l += b <= a;
    }
    return count;
}

/* The mean number of usual words in common, of pairs with a rare word in common and of all pairs. */
static double affinity(const parley_data *data) {
    double sums[2] = {0}, pairs[2] = {0};
    for (uint64_t row = 0; row < data->x.rows; row++)
        for (uint64_t other = 0; other < row; other++) {
            double usual = common(&data->x, row, other, 48, 1008);
            bool related = common(&data->x, row, other, 1008, UINT32_MAX) > 0;
            sums[0] += usual;
            pairs[0] += 1;
            sums[1] += related * usual;
            pairs[1] += related;
        }
    return sums[1] / pairs[1] / (sums[0] / pairs[0]);
}

static void rows_of_a_topic_share_words(void **state) {
    (void)state;
    parley_data *usual = make("text", "1000", "5000", "60", "1");
    parley_data *topical = make_topics("text", "1000", "5000", "60", "1", "50");
    assert_true(affinity(topical) > affinity(usual) + 0.3);
    parley_data_free(usual);
    parley_data_free(topical);
}

/* In IMDB's reviews, 80 % of the columns occur in at most 10 of 25,000 rows, and the longest row has five times the
 * mean number of words. */
static void text_with_topics_has_rare_columns_and_long_rows(void **state) {
    (void)state;
    enum { ROWS = 5000, COLUMNS = 30000 };
    static uint32_t rows_of[COLUMNS];
    parley_data *data = make_topics("text", "5000", "30000", "100", "1", "100");
    unsigned rare = 0, lengthy = 0;
    for (uint64_t k = 0; k < data->x.nonzeros; k++)
        rows_of[data->x.index[k]]++;
    for (int j = 0; j < COLUMNS; j++)
        rare += rows_of[j] <= 10;
    for (uint64_t row = 0; row < ROWS; row++)
        lengthy += data->x.start[row + 1] - data->x.start[row] > 200;
    assert_in_range(rare, 0.7 * COLUMNS, 0.9 * COLUMNS);
    assert_in_range(lengthy, 0.05 * ROWS, 0.15 * ROWS);
    parley_data_free(data);
}

/* The averaged perceptron is enough to see that labels can be learnt. */
static void text_labels_can_be_learnt(void **state) {
    (void)state;
    enum { ROWS = 20000, TRAINED = 15000, COLUMNS = 1000, EPOCHS = 5 };
    parley_data *data = make("text", "20000", "1000", "50", "1");
    const pl_matrix *x = &data->x;
    double w[COLUMNS] = {0}, sum[COLUMNS] = {0};
    unsigned right = 0;
    for (int step = 0; step < EPOCHS * TRAINED; step++) {
        int i = step % TRAINED;
        double margin = 0;
        for (uint64_t k = x->start[i]; k < x->start[i + 1]; k++)
            margin += w[x->index[k]] * (double)x->values.narrow[k];
        double left = (double)(EPOCHS * TRAINED - step);
        if (margin * data->label[i] <= 0)
            for (uint64_t k = x->start[i]; k < x->start[i + 1]; k++) {
                w[x->index[k]] += data->label[i] * (double)x->values.narrow[k];
                sum[x->index[k]] += data->label[i] * (double)x->values.narrow[k] * left;
            }
    }
    for (int i = TRAINED; i < ROWS; i++) {
        double margin = 0;
        for (uint64_t k = x->start[i]; k < x->start[i + 1]; k++)
            margin += sum[x->index[k]] * (double)x->values.narrow[k];
        right += margin * data->label[i] > 0;
    }
    double accuracy = (double)right / (ROWS - TRAINED);
    assert_true(accuracy > 0.8 && accuracy < 0.95);
    parley_data_free(data);
}

static void dense_columns_differ_in_scale_and_are_filled(void **state) {
    (void)state;
    enum { COLUMNS = 12 };
    parley_data *data = make("dense", "1000", "12", "50", "1");
    double squares[COLUMNS] = {0}, least = INFINITY, most = 0;
    assert_valid(data, 1000, COLUMNS);
    assert_int_equal(data->x.nonzeros, 1000 * COLUMNS);
    for (uint64_t k = 0; k < data->x.nonzeros; k++)
        squares[k % COLUMNS] += (double)data->x.values.narrow[k] * (double)data->x.values.narrow[k];
    for (int j = 0; j < COLUMNS; j++) {
        least = fmin(least, sqrt(squares[j] / 1000));
        most = fmax(most, sqrt(squares[j] / 1000));
    }
    assert_true(most / least > 1000);
    double whole = 0;
    for (uint64_t i = 0; i < data->x.rows; i++)
        whole += data->label[i] == floor(data->label[i]);
    assert_true(whole < 10);
    parley_data_free(data);
}

#define TEXT_DIGEST 0x72be7dd5a4da24f4
#define TOPICS_DIGEST 0x5daad198ecb7c0ef
#define DENSE_DIGEST 0x948f812cca670805

/* FNV-1a over all arrays. */
static uint64_t digest(const parley_data *data) {
    const struct {
        const void *bytes;
        uint64_t count;
    } parts[] = {{data->x.start, (data->x.rows + 1) * 8},
                 {data->label, data->x.rows * 8},
                 {data->x.index, data->x.nonzeros * 4},
                 {data->x.values.narrow, data->x.nonzeros * 4}};
    uint64_t hash = 0xcbf29ce484222325;
    for (int i = 0; i < 4; i++)
        for (uint64_t k = 0; k < parts[i].count; k++)
            hash = (hash ^ ((const unsigned char *)parts[i].bytes)[k]) * 0x100000001b3;
    return hash;
}

static void made_data_never_change(void **state) {
    (void)state;
    parley_data *text = make("text", "1000", "5000", "30", "7"), *same = make("text", "1000", "5000", "30", "7");
    parley_data *other = make("text", "1000", "5000", "30", "8"), *dense = make("dense", "500", "9", "1", "7");
    parley_data *topics = make_topics("text", "1000", "5000", "30", "7", "10");
    assert_int_equal(digest(text), digest(same));
    assert_int_not_equal(digest(text), digest(other));
    assert_int_equal(digest(text), TEXT_DIGEST);
    assert_int_equal(digest(topics), TOPICS_DIGEST);
    assert_int_equal(digest(dense), DENSE_DIGEST);
    parley_data_free(text);
    parley_data_free(same);
    parley_data_free(other);
    parley_data_free(topics);
    parley_data_free(dense);
}

static void impossible_requests_are_told(void **state) {
    (void)state;
    parley_settings *settings;
    parley_data *data;
    parley_error error = {0};
    assert_int_equal(parley_settings_new(&settings, &error), PARLEY_OK);
    assert_int_equal(parley_settings_set(settings, "columns", "10", &error), PARLEY_OK);
    assert_int_equal(parley_settings_set(settings, "nonzeros", "11", &error), PARLEY_OK);
    assert_int_equal(pl_generators[0].make(settings, &data, &error), PARLEY_BAD_USAGE);
    assert_null(data);
    assert_string_equal(error.sentence,
                        "11 nonzeros do not fit in a row of 10 columns; use fewer nonzeros or more columns");
    assert_int_equal(parley_settings_set(settings, "columns", "2147483647", &error), PARLEY_OK);
    assert_int_equal(parley_settings_set(settings, "rows", "4294967295", &error), PARLEY_OK);
    assert_int_equal(pl_generators[1].make(settings, &data, &error), PARLEY_NO_MEMORY);
    assert_null(data);
    parley_settings_free(settings);
}

static void every_failed_allocation_is_survived(void **state) {
    (void)state;
    parley_settings *settings;
    parley_error error = {0};
    assert_int_equal(parley_settings_new(&settings, &error), PARLEY_OK);
    assert_int_equal(parley_settings_set(settings, "rows", "20", &error), PARLEY_OK);
    for (unsigned kind = 0; kind < pl_generators_count; kind++) {
        parley_status status = PARLEY_NO_MEMORY;
        for (int64_t n = 0; status != PARLEY_OK && n < 20; n++) {
            parley_data *data;
            pl_memory_fail_after(n);
            status = pl_generators[kind].make(settings, &data, &error);
            pl_memory_fail_after(-1);
            assert_true(status == PARLEY_OK || (status == PARLEY_NO_MEMORY && !data));
            parley_data_free(data);
        }
        assert_int_equal(status, PARLEY_OK);
    }
    parley_settings_free(settings);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_rows_have_the_shape_asked_for),
        cmocka_unit_test(text_rows_have_length_one_and_two_labels),
        cmocka_unit_test(popular_columns_come_first),
        cmocka_unit_test(rows_of_a_topic_share_words),
        cmocka_unit_test(text_with_topics_has_rare_columns_and_long_rows),
        cmocka_unit_test(text_labels_can_be_learnt),
        cmocka_unit_test(dense_columns_differ_in_scale_and_are_filled),
        cmocka_unit_test(made_data_never_change),
        cmocka_unit_test(impossible_requests_are_told),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests_name("generate", tests, NULL, NULL);
}
