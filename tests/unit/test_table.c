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
    assert_true(years("2/1/24", PL_MONTH_FIRST) == years("2024-02-01", PL_YEAR_FIRST));
    assert_true(years("02/01/69", PL_DAY_FIRST) == years("1969-01-02", PL_YEAR_FIRST));
    assert_true(isnan(years("1.2.10", PL_DAY_FIRST)));
    assert_true(isnan(years("01.02.2010", PL_MONTH_FIRST)));
}

static void dates_may_have_names(void **state) {
    (void)state;
    static const char *const same[] = {"1 Mar 2023",
                                       "Mar 1, 2023",
                                       "March 1 2023",
                                       "01-MAR-23",
                                       "1st March 2023",
                                       "Mar 2023",
                                       "Wed, 01 Mar 2023",
                                       "2023 Mar 1",
                                       "Wednesday 1 March 2023",
                                       "2023-03",
                                       "01MAR2023",
                                       "1. March 2023",
                                       "Mar 1, 2023 00:00",
                                       "2023/03",
                                       "1 Mar 2023 12:00 AM",
                                       "Mar 1, 2023 00:00 UTC"};
    for (unsigned i = 0; i < sizeof same / sizeof *same; i++)
        assert_true(years(same[i], PL_YEAR_FIRST) == years("2023-03-01", PL_YEAR_FIRST));
    assert_true(years("1 Mar 2023", PL_DAY_FIRST) == years("Mar 1, 2023", PL_MONTH_FIRST));
    assert_true(years("Q2 2023", PL_YEAR_FIRST) == years("2023-04-01", PL_YEAR_FIRST));
    assert_true(years("2023Q4", PL_YEAR_FIRST) == years("2023-10-01", PL_YEAR_FIRST));
    assert_true(years("3/1/2023 4:25 PM", PL_MONTH_FIRST) == years("2023-03-01T16:25", PL_YEAR_FIRST));
    static const char *const wrong[] = {
        "Mar", "1 Mar", "32 Mar 2023",         "Mar 1",       "Marc 1 20233", "1 M 2023", "may", "Mar 202", "Q5 2023",
        "Q1",  "2023Q", "1 Mar 2023 13:00 PM", "29 Feb 2023", "12 2023",      "room 7"};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_true(isnan(years(wrong[i], PL_YEAR_FIRST)));
}

static void clocks_are_hours(void **state) {
    (void)state;
    assert_true(years("16:30", PL_CLOCK) == 16.5);
    assert_true(years("16:30:36", PL_CLOCK) == 16.51);
    assert_true(years("4:30 PM", PL_CLOCK) == 16.5);
    assert_true(years("12:15am", PL_CLOCK) == 0.25);
    assert_true(years("4 pm", PL_CLOCK) == 16);
    assert_true(years("4 p.m.", PL_CLOCK) == 16);
    assert_true(years("12 AM", PL_CLOCK) == 0);
    assert_true(years("125:15", PL_CLOCK) == 125.25);
    assert_true(years("-0:30", PL_CLOCK) == -0.5);
    assert_true(years("2 days 01:30:00", PL_CLOCK) == 49.5);
    assert_true(years("1 day, 1:30:00", PL_CLOCK) == 25.5);
    assert_true(fabs(years("0:00:01.5", PL_CLOCK) - 1.5 / 3600) < 1e-18);
    static const char *const wrong[] = {"",      "16",   "4:3",    "16:60",  "16:30:61",
                                        "13 pm", "0 am", "16:30x", "16:30:", ":30"};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_true(isnan(years(wrong[i], PL_CLOCK)));
}

static void a_table_is_written_and_read_back(void **state) {
    (void)state;
    pl_treatment columns[] = {
        {.name = "\xc3\xa4ge", .role = PL_NUMBERS, .filled = true, .fill = 1.0 / 3, .decimals = PL_DECIMAL_COMMA},
        {.name = "y", .role = PL_LABELS, .decimals = PL_GROUPED, .unit = "$"},
        {.name = "a \"b\"", .role = PL_IGNORED},
        {.name = "when", .role = PL_DATES, .order = PL_DAY_FIRST, .filled = true, .fill = -7},
        {.name = "w", .role = PL_WEIGHTS, .unit = ""},
        {.name = "x", .role = PL_NUMBERS, .decimals = PL_DECIMAL_COMMA, .unit = "kg", .bounded = true},
        {.name = "at", .role = PL_DATES, .order = PL_CLOCK},
        {.name = "who", .role = PL_CATEGORIES, .rare = true}};
    pl_table table = {columns, 8, ';', true, "-,x", "a:b"}, again;
    parley_error error;
    char *text;
    assert_int_equal(pl_table_write(&table, &text, &error), PARLEY_OK);
    assert_int_equal(pl_table_read(text, "m", &again, &error), PARLEY_OK);
    assert_int_equal(again.count, 8);
    for (unsigned i = 0; i < 8; i++) {
        const pl_treatment *found = pl_table_find(&again, columns[i].name);
        assert_non_null(found);
        assert_int_equal(found->role, columns[i].role);
        assert_int_equal(found->order, columns[i].order);
        assert_int_equal(found->decimals, columns[i].decimals);
        assert_true(found->bounded == columns[i].bounded && found->rare == columns[i].rare);
        assert_int_equal(found->unit != NULL, columns[i].unit != NULL);
        if (found->unit)
            assert_string_equal(found->unit, columns[i].unit);
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
                                 "{\"fill\":{\"a\":1e999}}",
                                 "{\"ignored\":[\"a\",\"a\"]}",
                                 "{\"label\":\"a\",\"dates\":{\"a\":\"year first\"}}",
                                 "{\"decimal_comma\":[\"a\",\"a\"]}",
                                 "{\"units\":{\"a\":\"a unit that is much too long\"}}",
                                 "{\"rare\":[\"a\",\"a\"]}",
                                 "3"};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        pl_table table;
        parley_error error;
        assert_int_equal(pl_table_read(wrong[i], "m.st", &table, &error), PARLEY_BAD_INPUT);
        assert_string_equal(error.sentence, "m.st: its description of the training table is not valid");
    }
    pl_table table;
    const char *const odd[] = {"{\"label\":3,\"ignored\":{},\"dates\":[1],\"fill\":7}", "{\"fill\":{\"a\":\"b\"}}",
                               "{\"units\":{\"a\":7},\"bounded\":{},\"rare\":[1]}",
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
        cmocka_unit_test(dates_are_years_since_2000), cmocka_unit_test(dates_may_have_names),
        cmocka_unit_test(clocks_are_hours),           cmocka_unit_test(a_table_is_written_and_read_back),
        cmocka_unit_test(wrong_tables_are_refused),   cmocka_unit_test(sums_do_not_depend_on_the_order),
    };
    return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
