/* test_table.c: dates as numbers, and the description of a table that models keep. */
#include <math.h>

#include "data/csv/csv_table.h"
#include "math/exact_sum.h"
#include "support.h"

static double years(const char *text, pl_date_order order) {
    double value;
    return pl_date_read(text, strlen(text), order, &value) ? value : NAN;
}

static void dates_are_years_since_2000(void **state) {
    (void)state;
    assert_true(years("2000-01-01", PL_YEAR_FIRST) == 0);
    assert_true(years("2001-01-01", PL_YEAR_FIRST) == 366 / 365.2425);
    assert_true(years("1999-12-31", PL_YEAR_FIRST) == -1 / 365.2425);
    assert_true(years("1900-03-01", PL_YEAR_FIRST) == -36465 / 365.2425);
    assert_true(years("2024/02/29", PL_YEAR_FIRST) == years("29.2.2024", PL_DAY_FIRST));
    assert_true(years("02/29/2024", PL_MONTH_FIRST) == years("29/02/2024", PL_DAY_FIRST));
    assert_true(years("2000-01-01 12:00", PL_YEAR_FIRST) == 0.5 / 365.2425);
    assert_true(years("2000-01-01T01:30:00+01:30", PL_YEAR_FIRST) == 0);
    assert_true(fabs(years("1999-12-31T23:00:00.000-0100", PL_YEAR_FIRST)) < 1e-15);
    assert_true(years("2000-01-01T00:00:00Z", PL_YEAR_FIRST) == 0);
    const char *const wrong[] = {"",           "2000",        "2000-13-01",       "2023-02-29", "2000-01-01x",
                                 "2000-01/01", "2000-01-01 ", "2000-01-01T25:00", "0000-01-01", "2000-1",
                                 "20000-01-01"};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_true(isnan(years(wrong[i], PL_YEAR_FIRST)));
    assert_true(isnan(years("13/01/2024", PL_MONTH_FIRST)));
    assert_true(isnan(years("1/1/24", PL_MONTH_FIRST)));
}

static void a_table_is_written_and_read_back(void **state) {
    (void)state;
    pl_treatment columns[] = {{"\xc3\xa4ge", PL_NUMBERS, PL_YEAR_FIRST, true, 1.0 / 3, PL_DECIMAL_COMMA},
                              {"y", PL_LABELS, PL_YEAR_FIRST, false, 0, PL_GROUPED},
                              {"a \"b\"", PL_IGNORED, PL_YEAR_FIRST, false, 0, PL_DECIMAL_POINT},
                              {"when", PL_DATES, PL_DAY_FIRST, true, -7, PL_DECIMAL_POINT},
                              {"w", PL_WEIGHTS, PL_YEAR_FIRST, false, 0, PL_DECIMAL_POINT},
                              {"x", PL_NUMBERS, PL_YEAR_FIRST, false, 0, PL_DECIMAL_COMMA}};
    pl_table table = {columns, 6, ';', true, "-,x", "a:b"}, again;
    parley_error error;
    char *text;
    assert_int_equal(pl_table_write(&table, &text, &error), PARLEY_OK);
    assert_int_equal(pl_table_read(text, "m", &again, &error), PARLEY_OK);
    assert_int_equal(again.count, 6);
    for (unsigned i = 0; i < 6; i++) {
        const pl_treatment *found = pl_table_find(&again, columns[i].name);
        assert_non_null(found);
        assert_int_equal(found->role, columns[i].role);
        assert_int_equal(found->order, columns[i].order);
        assert_int_equal(found->decimals, columns[i].decimals);
        assert_true(found->filled == columns[i].filled && found->fill == columns[i].fill);
    }
    assert_string_equal(pl_table_role(&again, PL_LABELS)->name, "y");
    assert_null(pl_table_find(&again, "other"));
    assert_true(again.separator == ';' && again.indicated);
    assert_string_equal(again.missing_words, "-,x");
    assert_string_equal(again.interactions, "a:b");
    pl_table_free(&again);
    pl_free(text);
    assert_int_equal(pl_table_read(NULL, "m", &again, &error), PARLEY_OK);
    assert_int_equal(again.count, 0);
    assert_null(pl_table_role(&again, PL_LABELS));
}

static void wrong_tables_are_refused(void **state) {
    (void)state;
    const char *const wrong[] = {"",
                                 "[]",
                                 "{",
                                 "{\"fill\":{\"a\":1e300}}",
                                 "{\"ignored\":[\"a\",\"a\"]}",
                                 "{\"label\":\"a\",\"dates\":{\"a\":\"year first\"}}",
                                 "{\"decimal_comma\":[\"a\",\"a\"]}",
                                 "3"};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        pl_table table;
        parley_error error;
        assert_int_equal(pl_table_read(wrong[i], "m.st", &table, &error), PARLEY_BAD_INPUT);
        assert_string_equal(error.sentence, "m.st: its description of the training table is not valid");
    }
    pl_table table;
    const char *const odd[] = {"{\"label\":3,\"ignored\":{},\"dates\":[1],\"fill\":7}", "{\"fill\":{\"a\":\"b\"}}",
                               "{\"dates\":{\"a\":\"never\"},\"ignored\":[1,2]}",
                               "{\"label\":\"a\",\"fill\":{\"a\":\"b\",\"c\":true}}"};
    for (unsigned i = 0; i < sizeof odd / sizeof *odd; i++) { /* what is not understood has no effect */
        assert_int_equal(pl_table_read(odd[i], "m.st", &table, NULL), PARLEY_OK);
        pl_table_free(&table);
    }
}

static void sums_do_not_depend_on_the_order(void **state) {
    (void)state;
    const float terms[] = {1e30F, 1e-30F, -1e30F, 3.5F, 1e-45F, -0.1F, 3e38F, -3e38F, 7};
    enum { COUNT = sizeof terms / sizeof *terms };
    double first = 0;
    for (unsigned turn = 0; turn < COUNT; turn++) {
        pl_exact_sum one = {0}, two = {0};
        for (unsigned i = 0; i < COUNT; i++)
            pl_exact_add(i % 2 ? &one : &two, terms[(i + turn) % COUNT]);
        pl_exact_carry(&one);
        pl_exact_carry(&two);
        pl_exact_join(&one, &two);
        first = turn ? first : pl_exact_value(one);
        assert_true(pl_exact_value(one) == first);
    }
    assert_true(first == 3.5 + 7 + (double)-0.1F);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dates_are_years_since_2000),
        cmocka_unit_test(a_table_is_written_and_read_back),
        cmocka_unit_test(wrong_tables_are_refused),
        cmocka_unit_test(sums_do_not_depend_on_the_order),
    };
    return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
