/* test_amounts.c: numbers as people write them, and words for missing values. */
#include <math.h>

#include "data/csv/amounts.h"
#include "support.h"

typedef struct expected {
    const char *text;
    double value;
    const char *unit;
    bool bound;
} expected;

static void assert_amounts(const expected *amounts, size_t count, pl_decimals decimals) {
    for (size_t i = 0; i < count; i++) {
        pl_amount amount;
        if (!pl_amount_read(amounts[i].text, strlen(amounts[i].text), decimals, &amount))
            fail_msg("%s is not read", amounts[i].text);
        double value = pl_numeral_double(&amount.numeral);
        if (value != amounts[i].value || strcmp(amount.unit, amounts[i].unit) != 0 || amount.bound != amounts[i].bound)
            fail_msg("%s is read as %g '%s'", amounts[i].text, value, amount.unit);
    }
}

static void amounts_are_numbers_with_units(void **state) {
    (void)state;
    static const expected points[] = {
        {"12.8 kg", 12.8, "kg", false},
        {"12kg", 12, "kg", false},
        {"12 KG", 12, "kg", false},
        {"$5", 5, "$", false},
        {"-$5.5", -5.5, "$", false},
        {"$-5", -5, "$", false},
        {"($5)", -5, "$", false},
        {"$(5)", -5, "$", false},
        {"US$ 12", 12, "$", false},
        {"12 USD", 12, "$", false},
        {"R$ 12", 12, "R$", false},
        {"269 \xe2\x82\xac", 269, "\xe2\x82\xac", false},
        {"\xe2\x82\xac"
         "269",
         269, "\xe2\x82\xac", false},
        {"EUR 12", 12, "\xe2\x82\xac", false},
        {"\xc2\xa3"
         "9.99",
         9.99, "\xc2\xa3", false},
        {"\xe2\x82\xb9 500", 500, "\xe2\x82\xb9", false},
        {"Rs. 500", 500, "Rs", false},
        {"94%", 94, "%", false},
        {"94.5 %", 94.5, "%", false},
        {"(1765)", -1765, "", false},
        {"(3%)", -3, "%", false},
        {"1765-", -1765, "", false},
        {"1 764", 1764, "", false},
        {"1'764", 1764, "", false},
        {"1\xe2\x80\x99"
         "764",
         1764, "", false},
        {"1\xc2\xa0"
         "764\xc2\xa0"
         "201.5",
         1764201.5, "", false},
        {"12\xe2\x80\xaf"
         "764 km",
         12764, "km", false},
        {"\xe2\x88\x92"
         "7",
         -7, "", false},
        {"<5", 5, "", true},
        {"> 10 mg/l", 10, "mg/l", true},
        {"<=5", 5, "", true},
        {"10+", 10, "", true},
        {"10+ years", 10, "year", true},
        {"1 year", 1, "year", false},
        {"36 months", 36, "month", false},
        {"20 m\xc2\xb2", 20, "m\xc2\xb2", false},
        {"20 m2", 20, "m2", false},
        {"1200 sq. ft.", 1200, "sq. ft", false},
        {"21.5 \xc2\xb0"
         "C",
         21.5,
         "\xc2\xb0"
         "C",
         false},
        {"1.5e3 m", 1500, "m", false},
        {"5e", 5, "e", false},
        {"$5 million", 5, "$ million", false},
        {"6\"", 6, "\"", false},
        {".5 kg", 0.5, "kg", false},
    };
    assert_amounts(points, sizeof points / sizeof *points, PL_DECIMAL_POINT);
    static const expected commas[] = {{"1.764,5 \xe2\x82\xac", 1764.5, "\xe2\x82\xac", false},
                                      {"1 764,50 EUR", 1764.5, "\xe2\x82\xac", false},
                                      {"(1,5)", -1.5, "", false}};
    assert_amounts(commas, sizeof commas / sizeof *commas, PL_DECIMAL_COMMA);
    static const expected groups[] = {{"$1,443.75", 1443.75, "$", false}, {"12,345,678 kg", 12345678, "kg", false}};
    assert_amounts(groups, sizeof groups / sizeof *groups, PL_GROUPED);
}

static void other_text_is_no_amount(void **state) {
    (void)state;
    static const char *const wrong[] = {
        "",           "kg",     "-",        "$",          "Q1",         "Room 12",
        "A320",       "10-20",  "12-15 kg", "1/2",        "0x12",       "5'11",
        "1.2.3",      "1,443",  "1 76",     "1 7644",     "0 764",      "1 764'201",
        "(5",         "5)",     "(-5)",     "--5",        "- -5",       "<10+",
        "5 ft 11 in", "3-door", "1:30",     "2024-01-01", "12 a b c d", "12 kg kg kg kg kg kg kg kg kg kg",
        "1e5e5x9",    "#5",     "=5",       "5 + 5",      "5++",        "$ $5",
        "12345-6789", "9am",    "9 PM",     "12 p.m.",    "10 Am"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        pl_amount amount;
        if (pl_amount_read(wrong[i], strlen(wrong[i]), PL_DECIMAL_POINT, &amount))
            fail_msg("%s is read as %s '%s'", wrong[i], amount.copy, amount.unit);
    }
    char many[200];
    pl_amount amount;
    memset(many, '7', sizeof many);
    assert_false(pl_amount_read(many, sizeof many, PL_DECIMAL_POINT, &amount));
}

static void some_units_are_known_and_some_are_factors(void **state) {
    (void)state;
    assert_true(pl_amount_known("$") && pl_amount_known("\xe2\x82\xac") && pl_amount_known("kg"));
    assert_true(pl_amount_known("year") && pl_amount_known("chf") && pl_amount_known("km/h"));
    assert_false(pl_amount_known("a") || pl_amount_known("") || pl_amount_known("rd") || pl_amount_known("kg m"));
    assert_true(pl_amount_strict("%") && pl_amount_strict("$ million") && pl_amount_strict("K"));
    static const char *const factors[] = {
        "k\xe2\x82\xac", "Mio. \xe2\x82\xac", "million $", "k eur", "K \xe2\x82\xac", "k$",  "$k",
        "$ mio",         "\xe2\x82\xacM",     "keur",      "TEUR",  "t\xe2\x82\xac",  "MM$", "Tsd. \xe2\x82\xac"};
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
        if (!pl_amount_strict(factors[i]))
            fail_msg("%s is no factor", factors[i]);
    static const char *const others[] = {"",    "$",    "kg",   "mm",           "t",   "R$",
                                         "US$", "euro", "km/h", "\xe2\x82\xac", "eur", "$/m2"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (pl_amount_strict(others[i]))
            fail_msg("%s is a factor", others[i]);
}

static void words_for_missing_values_are_known(void **state) {
    (void)state;
    static const char *const words[] = {"",   "-", "--", ".", "Missing", "MISSING", "n.a.", "#N/A", "not available",
                                        "TBD"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        assert_true(pl_looks_missing(words[i], strlen(words[i])));
    static const char *const others[] = {"-1", "red", "missing it", "0", "x", "+"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(pl_looks_missing(others[i], strlen(others[i])));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(amounts_are_numbers_with_units),
        cmocka_unit_test(other_text_is_no_amount),
        cmocka_unit_test(some_units_are_known_and_some_are_factors),
        cmocka_unit_test(words_for_missing_values_are_known),
    };
    return cmocka_run_group_tests_name("amounts", tests, NULL, NULL);
}
