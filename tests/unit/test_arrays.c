/* test_arrays.c: data from the caller's arrays, which are used as they are, converted, sorted or rejected. */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "math/scan.h"
#include "support.h"

#define ROWS 4
#define COLUMNS 5
#define ENTRIES 6

/* Rows: {0: 1.5, 3: -2}, {}, {1: 4, 2: 0.25, 4: 8}, {4: -1}. */
static const int64_t start64[ROWS + 1] = {0, 2, 2, 5, 6};
static const int32_t start32[ROWS + 1] = {0, 2, 2, 5, 6};
static const int64_t index64[ENTRIES] = {0, 3, 1, 2, 4, 4};
static const int32_t index32[ENTRIES] = {0, 3, 1, 2, 4, 4};
static const double value64[ENTRIES] = {1.5, -2, 4, 0.25, 8, -1};
static const float value32[ENTRIES] = {1.5F, -2, 4, 0.25F, 8, -1};
static const double label[ROWS] = {1, -1, 1, -1}, weight[ROWS] = {1, 2, 0, 0.5};
static const double table64[ROWS * COLUMNS] = {1.5, 0, 0, -2, 0, 0, 0, 0, 0, 0, 0, 4, 0.25, 0, 8, 0, 0, 0, 0, -1};

static parley_arrays arrays_of(const parley_data *data) {
    parley_arrays arrays;
    parley_data_arrays(data, &arrays);
    return arrays;
}

/* Checks that these are the rows above. */
static void assert_rows(const parley_data *data) {
    uint64_t rows, columns, nonzeros;
    parley_arrays arrays = arrays_of(data);
    parley_data_shape(data, &rows, &columns, &nonzeros);
    assert_true(rows == ROWS && columns == COLUMNS && nonzeros == ENTRIES);
    for (unsigned i = 0; i <= ROWS; i++)
        assert_int_equal(arrays.start[i], start64[i]);
    for (unsigned e = 0; e < ENTRIES; e++) {
        assert_int_equal(arrays.index[e], index64[e]);
        assert_true(arrays.value[e] == value32[e]);
    }
}

static void every_type_gives_the_same_rows(void **state) {
    (void)state;
    for (unsigned kind = 0; kind < 8; kind++) {
        parley_data *data;
        parley_error error;
        assert_done(
            parley_data_from_csr(ROWS, COLUMNS, kind & 1 ? (const void *)start32 : start64,
                                 kind & 1 ? PARLEY_INT32 : PARLEY_INT64, kind & 2 ? (const void *)index32 : index64,
                                 kind & 2 ? PARLEY_INT32 : PARLEY_INT64, kind & 4 ? (const void *)value32 : value64,
                                 kind & 4 ? PARLEY_FLOAT32 : PARLEY_FLOAT64, label, weight, 1, &data, &error),
            &error);
        assert_rows(data);
        parley_data_free(data);
    }
}

static void what_has_the_form_of_the_core_is_not_copied(void **state) {
    (void)state;
    parley_data *data;
    parley_error error;
    assert_done(parley_data_from_csr(ROWS, COLUMNS, start64, PARLEY_INT64, index32, PARLEY_INT32, value32,
                                     PARLEY_FLOAT32, label, weight, 0, &data, &error),
                &error);
    parley_arrays arrays = arrays_of(data);
    assert_ptr_equal(arrays.start, start64);
    assert_ptr_equal(arrays.index, index32);
    assert_ptr_equal(arrays.value, value32);
    assert_ptr_equal(arrays.label, label);
    assert_ptr_equal(arrays.weight, weight);
    parley_data_free(data);
    const float full[] = {1, 2, 3, 4, 5, 6};
    assert_done(parley_data_from_dense(2, 3, full, PARLEY_FLOAT32, 3, 1, label, NULL, 1, &data, &error), &error);
    arrays = arrays_of(data);
    assert_ptr_equal(arrays.value, full);
    assert_ptr_equal(arrays.label, label);
    parley_data_free(data);
}

static void a_table_by_rows_or_columns_is_its_entries(void **state) {
    (void)state;
    float narrow[ROWS * COLUMNS], turned[ROWS * COLUMNS];
    double reversed[ROWS * COLUMNS];
    for (unsigned i = 0; i < ROWS; i++)
        for (unsigned j = 0; j < COLUMNS; j++) {
            narrow[i * COLUMNS + j] = turned[j * ROWS + i] = (float)table64[i * COLUMNS + j];
            reversed[(ROWS - 1 - i) * COLUMNS + j] = table64[i * COLUMNS + j];
        }
    struct {
        const void *value;
        parley_type type;
        int64_t row_stride, column_stride;
    } tables[] = {{table64, PARLEY_FLOAT64, COLUMNS, 1},
                  {narrow, PARLEY_FLOAT32, COLUMNS, 1},
                  {turned, PARLEY_FLOAT32, 1, ROWS},
                  {reversed + (ptrdiff_t)(ROWS - 1) * COLUMNS, PARLEY_FLOAT64, -COLUMNS, 1}};
    for (unsigned t = 0; t < COUNT(tables); t++) {
        parley_data *data;
        parley_error error;
        assert_done(parley_data_from_dense(ROWS, COLUMNS, tables[t].value, tables[t].type, tables[t].row_stride,
                                           tables[t].column_stride, label, NULL, 1, &data, &error),
                    &error);
        assert_rows(data);
        parley_data_free(data);
    }
}

/* A table that looks full until its last rows are read. */
static void a_late_zero_is_left_out(void **state) {
    (void)state;
    enum { TALL = 700, WIDE = 33 };
    static float narrow[TALL * WIDE];
    static double wide[TALL * WIDE];
    const unsigned gap = (TALL - 2) * WIDE + 7;
    for (unsigned e = 0; e < TALL * WIDE; e++)
        wide[e] = narrow[e] = e == gap ? 0.0F : (float)(e + 1);
    for (unsigned t = 0; t < 2; t++) {
        parley_data *data;
        parley_error error;
        assert_done(parley_data_from_dense(TALL, WIDE, t ? (const void *)narrow : wide,
                                           t ? PARLEY_FLOAT32 : PARLEY_FLOAT64, WIDE, 1, NULL, NULL, 1, &data, &error),
                    &error);
        parley_arrays arrays = arrays_of(data);
        assert_int_equal(arrays.start[TALL - 2], (TALL - 2) * WIDE);
        assert_int_equal(arrays.start[TALL], TALL * WIDE - 1);
        for (unsigned e = 0; e < TALL * WIDE - 1; e++) {
            unsigned cell = e < gap ? e : e + 1;
            assert_int_equal(arrays.index[e], cell % WIDE);
            assert_true(arrays.value[e] == narrow[cell]);
        }
        parley_data_free(data);
    }
}

static void entries_out_of_order_are_sorted_and_added_up(void **state) {
    (void)state;
    const int32_t start[] = {0, 4, 4, 6}, index[] = {3, 0, 3, 1, 1, 0}, wanted[] = {0, 1, 3, 0, 1};
    const float value[] = {1, 2, 4, 8, 16, 32}, sums[] = {2, 8, 5, 32, 16}, ones[] = {1, 1, 2, 1, 1};
    for (unsigned valued = 0; valued < 2; valued++) {
        parley_data *data;
        parley_error error;
        assert_done(parley_data_from_csr(3, 4, start, PARLEY_INT32, index, PARLEY_INT32, valued ? value : NULL,
                                         PARLEY_FLOAT32, NULL, NULL, 1, &data, &error),
                    &error);
        parley_arrays arrays = arrays_of(data);
        assert_true(arrays.start[1] == 3 && arrays.start[2] == 3 && arrays.start[3] == 5);
        for (unsigned e = 0; e < COUNT(wanted); e++) {
            assert_int_equal(arrays.index[e], wanted[e]);
            assert_true(arrays.value[e] == (valued ? sums[e] : ones[e]));
        }
        assert_int_equal(index[0], 3); /* the caller's array is unchanged */
        parley_data_free(data);
    }
}

static void refused(parley_status wanted, parley_status status, parley_data *const *data, const parley_error *error,
                    const char *sentence) {
    assert_int_equal(status, wanted);
    assert_null(*data);
    assert_string_equal(error->sentence, sentence);
}

typedef struct wrong_csr {
    int64_t start[ROWS + 1], index[ENTRIES];
    double value[ENTRIES], label[ROWS], weight[ROWS];
    uint64_t columns;
} wrong_csr;

static wrong_csr right_csr(void) {
    wrong_csr csr = {.columns = COLUMNS};
    memcpy(csr.start, start64, sizeof csr.start);
    memcpy(csr.index, index64, sizeof csr.index);
    memcpy(csr.value, value64, sizeof csr.value);
    memcpy(csr.label, label, sizeof csr.label);
    memcpy(csr.weight, weight, sizeof csr.weight);
    return csr;
}

static void refuse(const wrong_csr *csr, const char *sentence) {
    parley_data *data;
    parley_error error = {0};
    parley_status status = parley_data_from_csr(ROWS, csr->columns, csr->start, PARLEY_INT64, csr->index, PARLEY_INT64,
                                                csr->value, PARLEY_FLOAT64, csr->label, csr->weight, 1, &data, &error);
    refused(PARLEY_BAD_INPUT, status, &data, &error, sentence);
}

static void the_row_that_is_wrong_is_named(void **state) {
    (void)state;
    wrong_csr csr = right_csr();
    csr.index[3] = 5;
    refuse(&csr, "data: row 2: column index 5; there are 5 columns, counted from 0");
    csr.index[3] = -1;
    refuse(&csr, "data: row 2: column index -1; there are 5 columns, counted from 0");
    csr.index[3] = (int64_t)1 << 32;
    refuse(&csr, "data: row 2: column index 4294967296; there are 5 columns, counted from 0");
    csr = right_csr();
    csr.value[5] = NAN;
    refuse(&csr, "data: row 3: the value in column 4 is not a finite number");
    csr = right_csr();
    csr.start[2] = 1;
    refuse(&csr, "data: row 1 ends at entry 1 but begins at 2; row offsets must not decrease");
    csr = right_csr();
    csr.start[0] = 1;
    refuse(&csr, "data: the row offsets begin with 1; they must begin with 0");
    csr = right_csr();
    csr.label[1] = INFINITY;
    refuse(&csr, "data: row 1: the label is not a finite number");
    csr = right_csr();
    csr.weight[2] = INFINITY;
    refuse(&csr, "data: row 2: the weight is inf; a weight must be finite and not negative");
    csr.weight[2] = -1;
    refuse(&csr, "data: row 2: the weight is -1; a weight must be finite and not negative");
    csr = right_csr();
    csr.columns = (uint64_t)1 << 32;
    refuse(&csr, "data: 4294967296 columns; at most 4294967295 are supported");
    csr = right_csr();
    csr.index[4] = 2;
    csr.value[3] = csr.value[4] = 1.7e308;
    refuse(&csr, "data: entries of one column add up to more than a float holds");
}

static void a_wrong_table_or_type_is_refused(void **state) {
    (void)state;
    parley_data *data;
    parley_error error = {0};
    double table[ROWS * COLUMNS];
    memcpy(table, table64, sizeof table);
    table[COLUMNS + 2] = -INFINITY;
    for (unsigned turned = 0; turned < 2; turned++)
        refused(PARLEY_BAD_INPUT,
                parley_data_from_dense(turned ? COLUMNS : ROWS, turned ? ROWS : COLUMNS, table, PARLEY_FLOAT64,
                                       turned ? 1 : COLUMNS, turned ? COLUMNS : 1, NULL, NULL, 1, &data, &error),
                &data, &error,
                turned ? "data: row 2: the value in column 1 is not a finite number"
                       : "data: row 1: the value in column 2 is not a finite number");
    refused(PARLEY_BAD_USAGE,
            parley_data_from_dense(ROWS, COLUMNS, table, PARLEY_INT32, COLUMNS, 1, NULL, NULL, 1, &data, &error), &data,
            &error, "the values of a table must be float32 or float64");
    refused(PARLEY_BAD_USAGE,
            parley_data_from_csr(ROWS, COLUMNS, start64, PARLEY_FLOAT64, index32, PARLEY_INT32, value32, PARLEY_FLOAT32,
                                 NULL, NULL, 1, &data, &error),
            &data, &error, "offsets and indices must be int32 or int64, values float32 or float64");
    refused(PARLEY_BAD_USAGE,
            parley_data_from_csr(ROWS, COLUMNS, start64, PARLEY_INT64, index32, PARLEY_FLOAT32, value32, PARLEY_FLOAT32,
                                 NULL, NULL, 1, &data, &error),
            &data, &error, "offsets and indices must be int32 or int64, values float32 or float64");
    refused(PARLEY_BAD_USAGE,
            parley_data_from_csr(ROWS, COLUMNS, start64, PARLEY_INT64, index32, PARLEY_INT32, value32, PARLEY_INT32,
                                 NULL, NULL, 1, &data, &error),
            &data, &error, "offsets and indices must be int32 or int64, values float32 or float64");
    refused(PARLEY_BAD_USAGE,
            parley_data_from_csr(ROWS, COLUMNS, NULL, PARLEY_INT64, index32, PARLEY_INT32, value32, PARLEY_FLOAT32,
                                 NULL, NULL, 1, &data, &error),
            &data, &error, "data: the row offsets are missing");
    refused(PARLEY_BAD_USAGE,
            parley_data_from_dense(ROWS, COLUMNS, NULL, PARLEY_FLOAT32, COLUMNS, 1, NULL, NULL, 1, &data, &error),
            &data, &error, "data: the values are missing");
    refused(PARLEY_BAD_USAGE,
            parley_data_from_csr(ROWS, COLUMNS, start64, PARLEY_INT64, NULL, PARLEY_INT32, NULL, PARLEY_FLOAT32, NULL,
                                 NULL, 1, &data, &error),
            &data, &error, "data: the column indices are missing");
}

static void nothing_at_all_is_data_too(void **state) {
    (void)state;
    const int32_t none[3] = {0};
    const double two[2] = {1, 2};
    double decisions[2] = {9, 9};
    parley_data *data;
    parley_model *model;
    parley_error error;
    for (uint64_t rows = 0; rows <= 2; rows += 2)
        for (uint64_t columns = 0; columns <= 2; columns += 2) {
            const double coef[2] = {3, 4}, b = 5;
            assert_done(parley_data_from_csr(rows, columns, none, PARLEY_INT32, NULL, PARLEY_INT32, NULL,
                                             PARLEY_FLOAT32, rows ? two : NULL, NULL, 0, &data, &error),
                        &error);
            assert_done(parley_model_new("squared", 1, columns, coef, &b, NULL, &model, &error), &error);
            assert_done(parley_decide(model, data, decisions, &error), &error);
            assert_true(decisions[0] == (rows ? 5 : 9));
            parley_model_free(model);
            parley_data_free(data);
        }
    assert_done(parley_data_from_dense(0, 3, NULL, PARLEY_FLOAT32, 3, 1, NULL, NULL, 0, &data, &error), &error);
    parley_data_free(data);
}

/* Rows of random lengths, over many blocks; on request some are out of order. */
static parley_data *large(uint64_t rows, uint64_t columns, bool falls, unsigned threads, int32_t **index,
                          int64_t **start) {
    pl_stream random = pl_stream_make(7, 0, 0);
    *start = test_malloc((rows + 1) * sizeof **start);
    *index = test_malloc(rows * 40 * sizeof **index);
    int64_t at = 0;
    for (uint64_t i = 0; i < rows; i++) {
        uint64_t count = pl_random_below(&random, 40), step = columns / 40;
        (*start)[i] = at;
        for (uint64_t e = 0; e < count; e++)
            (*index)[at++] = (int32_t)(e * step + pl_random_below(&random, step));
        if (falls && count > 1 && i % 1000 == 999) {
            int32_t last = (*index)[at - 1];
            (*index)[at - 1] = (*index)[at - 2];
            (*index)[at - 2] = last;
        }
    }
    (*start)[rows] = at;
    parley_data *data;
    parley_error error;
    assert_done(parley_data_from_csr(rows, columns, *start, PARLEY_INT64, *index, PARLEY_INT32, NULL, PARLEY_FLOAT32,
                                     NULL, NULL, threads, &data, &error),
                &error);
    return data;
}

static void blocks_of_rows_find_every_fall(void **state) {
    (void)state;
    for (unsigned falls = 0; falls < 2; falls++) {
        int32_t *index;
        int64_t *start;
        parley_data *data = large(60000, 400, falls, 3, &index, &start);
        parley_arrays arrays = arrays_of(data);
        assert_true((arrays.index == (const uint32_t *)index) == !falls);
        for (uint64_t i = 0; i < 60000; i++)
            for (uint64_t e = arrays.start[i] + 1; e < arrays.start[i + 1]; e++)
                assert_true(arrays.index[e - 1] < arrays.index[e]);
        parley_data_free(data);
        test_free(index);
        test_free(start);
    }
}

static void scans_agree_with_their_definition(void **state) {
    (void)state;
    pl_stream random = pl_stream_make(3, 0, 0);
    for (unsigned round = 0; round < 50; round++) {
        uint32_t id[9000], count = (uint32_t)pl_random_below(&random, 9000);
        float value[9000];
        uint32_t largest = 0, wrong = (uint32_t)pl_random_below(&random, 18000);
        uint64_t falls = 0;
        for (uint32_t e = 0; e < count; e++) {
            id[e] = (uint32_t)pl_random_below(&random, UINT32_MAX);
            value[e] = e == wrong ? (round % 2 ? NAN : -INFINITY) : (float)id[e] * 1e25F;
            largest = id[e] > largest ? id[e] : largest;
            falls += e > 0 && id[e - 1] >= id[e];
        }
        pl_ids ids = pl_scan_ids(id, count);
        assert_true(ids.largest == largest && ids.falls == falls);
        assert_int_equal(pl_scan_finite(value, count), wrong >= count);
    }
}

typedef parley_status (*taking)(parley_data **out, parley_error *error);

static parley_status take_sorted(parley_data **out, parley_error *error) {
    static const int32_t start[] = {0, 40}, index[40] = {39, 1, 1, 4};
    return parley_data_from_csr(1, 40, start, PARLEY_INT32, index, PARLEY_INT32, NULL, PARLEY_FLOAT32, label, NULL, 1,
                                out, error);
}

static parley_status take_converted(parley_data **out, parley_error *error) {
    return parley_data_from_csr(ROWS, COLUMNS, start32, PARLEY_INT32, index64, PARLEY_INT64, value64, PARLEY_FLOAT64,
                                label, weight, 1, out, error);
}

static parley_status take_table(parley_data **out, parley_error *error) {
    return parley_data_from_dense(ROWS, COLUMNS, table64, PARLEY_FLOAT64, COLUMNS, 1, label, NULL, 1, out, error);
}

static void failed_allocations_end_with_a_sentence(void **state) {
    (void)state;
    const taking all[] = {take_sorted, take_converted, take_table};
    for (unsigned t = 0; t < COUNT(all); t++) {
        parley_status status = PARLEY_NO_MEMORY;
        unsigned failures = 0;
        for (int64_t after = 0; status != PARLEY_OK; after++) {
            parley_data *data;
            parley_error error = {0};
            pl_memory_fail_after(after);
            status = all[t](&data, &error);
            pl_memory_fail_after(-1);
            if (status == PARLEY_OK) {
                parley_data_free(data);
                break;
            }
            assert_int_equal(status, PARLEY_NO_MEMORY);
            assert_null(data);
            assert_true(*error.sentence);
            failures++;
        }
        assert_true(failures >= 5);
    }
}

static void names_of_columns_and_classes_can_be_asked_for(void **state) {
    (void)state;
    parley_data *data = data_of("1 1:1\n-1 2:1\n");
    uint64_t bytes = 7;
    parley_data_column_name(data, 0, &bytes);
    assert_int_equal(bytes, 0);
    assert_done(pl_names_make(2, 5, &data->names, NULL), NULL);
    uint64_t *begin = (uint64_t *)data->names.start;
    begin[0] = 0, begin[1] = 2, begin[2] = 5;
    memcpy((char *)data->names.text, "abcde", 5);
    assert_memory_equal(parley_data_column_name(data, 1, &bytes), "cde", 3);
    assert_int_equal(bytes, 3);
    parley_data_class_name(data, 0, &bytes);
    assert_int_equal(bytes, 0);
    parley_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_gives_the_same_rows),
        cmocka_unit_test(what_has_the_form_of_the_core_is_not_copied),
        cmocka_unit_test(a_table_by_rows_or_columns_is_its_entries),
        cmocka_unit_test(a_late_zero_is_left_out),
        cmocka_unit_test(entries_out_of_order_are_sorted_and_added_up),
        cmocka_unit_test(the_row_that_is_wrong_is_named),
        cmocka_unit_test(a_wrong_table_or_type_is_refused),
        cmocka_unit_test(nothing_at_all_is_data_too),
        cmocka_unit_test(blocks_of_rows_find_every_fall),
        cmocka_unit_test(scans_agree_with_their_definition),
        cmocka_unit_test(failed_allocations_end_with_a_sentence),
        cmocka_unit_test(names_of_columns_and_classes_can_be_asked_for),
    };
    return cmocka_run_group_tests_name("arrays", tests, NULL, NULL);
}
