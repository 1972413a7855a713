/* test_precision.c: which values are kept as doubles. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp, strdup */
#include "format_helpers.h"

#define ROWS 64

/* Reads ROWS rows of `columns` columns as CSV or LIBSVM text. An empty cell is a zero. */
static parley_data *read_table(bool csv, unsigned columns, void (*cell)(char *to, unsigned row, unsigned column)) {
    static char text[ROWS * 200];
    char word[64], *p = text;
    for (unsigned j = 0; j < columns && csv; j++)
        p += sprintf(p, "c%u,", j);
    p += csv ? sprintf(p, "y\n") : 0;
    for (unsigned i = 0; i < ROWS; i++) {
        p += csv ? 0 : sprintf(p, "%d", i % 2 ? 1 : -1);
        for (unsigned j = 0; j < columns; j++) {
            cell(word, i, j);
            p += csv ? sprintf(p, "%s,", *word ? word : "0") : *word ? sprintf(p, " %u:%s", j + 1, word) : 0;
        }
        p += csv ? sprintf(p, "%d\n", i % 2 ? 1 : -1) : sprintf(p, "\n");
    }
    return parse_as(text, (size_t)(p - text), &(pl_reading){.format = csv ? &pl_format_csv : &pl_format_libsvm});
}

static void expect(void (*cell)(char *to, unsigned row, unsigned column), const char *columns) {
    for (unsigned csv = 0; csv < 2; csv++) {
        parley_data *data = read_table(csv, 2, cell);
        assert_int_equal(data->x.values.wide != NULL, *columns != '\0');
        assert_string_equal(csv && *columns ? data->wide_columns : "", csv ? columns : "");
        for (uint64_t i = 0; i < ROWS && *columns; i++) {
            char word[64];
            cell(word, (unsigned)i, 0);
            assert_true(pl_value_at(data->x.values, data->x.start[i]) == atof(word));
        }
        parley_data_free(data);
    }
}

static void seconds(char *to, unsigned row, unsigned column) {
    sprintf(to, "%.9f", column == 0 ? 1.7e9 + row * 9.375 : (row * 37 % 64) / 7.0 - 4);
}
static void milliseconds(char *to, unsigned row, unsigned column) {
    sprintf(to, "%.0f", column == 0 ? 1.7e12 + row / 2 * 9375.0 : 1.0 + row % 3);
}
static void identifiers(char *to, unsigned row, unsigned column) {
    sprintf(to, "%.0f", column == 0 ? 1e15 + row / 2 : 1.0 + row % 5);
}
static void prices(char *to, unsigned row, unsigned column) {
    sprintf(to, "%.2f", column == 0 ? 100000 + row * 0.01 : 1.5 * (row % 4));
}
static void early_rows_that_are_alike(char *to, unsigned row, unsigned column) {
    sprintf(to, "%.2f", column == 0 ? 123456789.25 + (row < 50 ? 0 : row) : row / 4.0 + 1);
}

static void columns_far_from_0_keep_their_digits(void **state) {
    (void)state;
    expect(seconds, "c0");
    expect(milliseconds, "c0");
    expect(identifiers, "c0");
    expect(prices, "c0");
    expect(early_rows_that_are_alike, "c0");
}

static void long_fractions(char *to, unsigned row, unsigned column) {
    sprintf(to, "%.12f", (row * 37 % 64 + column) / 7.0 - 3);
}
static void constants(char *to, unsigned row, unsigned column) {
    sprintf(to, "%s", column == 0 ? "0.258198889747161" : row % 2 ? "0.5" : "0.25");
}
static void years(char *to, unsigned row, unsigned column) {
    if (column == 0)
        sprintf(to, "%u", 2000 + row % 3);
    else
        sprintf(to, "%.12f", row / 7.0 - 4);
}
static void rare(char *to, unsigned row, unsigned column) {
    *to = '\0';
    if (column == 1 || row == 5)
        sprintf(to, "%.10f", column == 0 ? 1.7e5 + row * 1e-4 : row / 7.0 + 0.1);
}

static void other_values_are_floats(void **state) {
    (void)state;
    expect(long_fractions, "");
    expect(constants, "");
    expect(years, "");
    expect(rare, "");
}

static void values_that_are_alike_as_floats(char *to, unsigned row, unsigned column) {
    sprintf(to, "%.9f", column == 0 ? 1000000 + row * 1e-5 : row / 7.0 + 0.1);
}
static void one_unknown_time(char *to, unsigned row, unsigned column) {
    sprintf(to, "%.3f", column == 1 ? row / 4.0 + 0.1 : row == 7 ? -1 : 1.7e9 + row * 1.1);
}

static void blurred_columns_are_found_behind_round_numbers_and_odd_ones(void **state) {
    (void)state;
    expect(values_that_are_alike_as_floats, "c0");
    expect(one_unknown_time, "c0");
}

static void rows_that_are_kept_for_others_keep_a_constant(void **state) {
    (void)state;
    const char *text = "1 1:1700000000.125 2:1\n0 1:1700000000.125 2:0.5\n";
    for (unsigned kept = 0; kept < 2; kept++) {
        parley_data *data = parse_as(text, strlen(text), &(pl_reading){.kept = kept});
        assert_int_equal(data->x.values.wide != NULL, kept);
        parley_data_free(data);
    }
}

static void a_model_reads_every_digit_of_one_row(void **state) {
    (void)state;
    const char *text = "1 1:1700000000.125\n";
    parley_data *data = parse_as(text, strlen(text), &(pl_reading){.wide = true, .unjudged = true});
    assert_true(data->x.values.wide[0] == 1700000000.125);
    parley_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_far_from_0_keep_their_digits),
        cmocka_unit_test(other_values_are_floats),
        cmocka_unit_test(blurred_columns_are_found_behind_round_numbers_and_odd_ones),
        cmocka_unit_test(rows_that_are_kept_for_others_keep_a_constant),
        cmocka_unit_test(a_model_reads_every_digit_of_one_row),
    };
    return cmocka_run_group_tests(tests, open_pools, close_pools);
}
