/* test_vw.c: Vowpal Wabbit's text. Columns and values are those of vowpalwabbit 9.11.9 for Python: Workspace("--quiet
 * --noconstant"), parse(line), feature(namespace, i) & (2^18 - 1), feature_weight(namespace, i), equal columns added.
 */
#define _POSIX_C_SOURCE 200809L /* mkdtemp, strdup */
#include "data/hash.h"
#include "format_helpers.h"

static const pl_reading vw = {.format = &pl_format_vw};

static void columns_are_those_of_vowpal_wabbit(void **state) {
    (void)state;
    static const struct {
        const char *text, *rows;
    } cases[] = {
        {"1 2.5 'tag|a:2 x:3 y 12 :4 :5 foo:bar |12 5 q\n",
         "1(2.5)|17:1 42847:2 55432:6 92594:8 92595:10 92606:2 178348:1 237333:1\n"},
        {"-1 |a x |a y :2 |b x\n", "-1|42847:1 55432:1 92594:2 143313:1\n"},
        {"1 | caf\xc3\xa9 +1 -3 0012 1.5\n", "1|12:1 3848:1 171281:1 190767:1 191219:1\n"},
        {"-1 1 tag| a a:2\n", "-1|92594:3\n"},
        {"-1 |ns:0.5 a b:2\n", "-1|50664:1 180474:0.5\n"},
        {"1 |f abcdefghijklmnop abcdefghijklmno abcdefghijklm abcdefghijklmn\n",
         "1|30788:1 60853:1 67182:1 105143:1\n"},
        {"1 | 99999999999999999999999 262145\n", "1|1:1 262143:1\n"},
        {"1 |a b:0 c\n", "1|120964:1\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_rows(cases[i].text, &vw, cases[i].rows);
}

static void every_accepted_form_is_read_right(void **state) {
    (void)state;
    static const struct {
        const char *text, *rows;
    } cases[] = {
        {"1 | 5\n\n  \r\n0.5\t|\t5:2\r\n", "1|5:1\n0.5|5:2\n"},
        {"1 |\n-1 |a\n1 |a|b\n", "1|\n-1|\n1|\n"},
        {"1 0 | 3:1e-3 2:.5", "1(0)|2:0.5 3:0.00100000005\n"},
        {"1 1 | 3\n2 2.5 | 4\n", "1(1)|3:1\n2(2.5)|4:1\n"},
        {"1 | 3:1 3:-1\n", "1|3:0\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_rows(cases[i].text, &vw, cases[i].rows);
}

static void bits_make_the_columns(void **state) {
    (void)state;
    const pl_reading few = {.format = &pl_format_vw, .hash_bits = 4}, model = {.model_bits = 3, .hash_bits = 9};
    parley_data *data = parse_as("1 | 17 a\n", 9, &few);
    assert_int_equal(data->x.columns, 16);
    assert_int_equal(data->hash_bits, 4);
    assert_string_equal(rows_of(data), "1|1:1 2:1\n");
    parley_data_free(data);
    data = parse_as("1 | 17 a\n", 9, &model);
    assert_int_equal(data->x.columns, 8);
    parley_data_free(data);
}

static void the_first_name_of_a_column_is_kept(void **state) {
    (void)state;
    const pl_reading kept = {.format = &pl_format_vw, .hash_bits = 2, .keep_names = true};
    const char *text = "1 |s 0 |t 1:2\n-1 | zz:z 3 :4\n1 | 7 11\n";
    parley_data *data = parse_as(text, strlen(text), &kept);
    const char *all = names_of(&data->names);
    assert_int_equal(data->names.count, 4);
    assert_non_null(strstr(all, "s^0|"));
    assert_non_null(strstr(all, "3|"));
    assert_null(strstr(all, "11|"));
    parley_data_free(data);
}

static void every_fault_has_its_sentence(void **state) {
    (void)state;
    static const fault faults[] = {
        {"1 a b\n", "t:1: no | in the line; rows are written label |namespace feature:value ..."},
        {"1 | a\n| a\n", "t:2: label missing before the |; rows are written label |namespace feature:value ..."},
        {"1|f a\n", "t:1: \"1|f\" touches the |, which makes it a tag; put a blank between the label and the |"},
        {"x |f a\n", "t:1: label \"x\" is not a finite number; rows start with one number"},
        {"1e999 |f a\n", "t:1: label \"1e999\" is not a finite number; rows start with one number"},
        {"1 -2 |f a\n", "t:1: importance weight \"-2\" is not a finite, non-negative number"},
        {"1 1 0.5 |f a\n", "t:1: \"0.5\" before the | is one number too many; only label and weight are read, base "
                           "offsets are not supported"},
        {"1 |f:x a\n", "t:1: scale \"x\" of a namespace is not a finite number; it is written |name:scale"},
        {"1 |f:3e39 a\n", "t:1: scale \"3e39\" of a namespace is not a finite number; it is written |name:scale"},
        {"1 |f a:-x\n", "t:1: value \"-x\" of a feature is not a number that fits a 64-bit float"},
        {"1 |f a:+x\n", "t:1: value \"+x\" of a feature is not a number that fits a 64-bit float"},
        {"1 |f a:.x\n", "t:1: value \".x\" of a feature is not a number that fits a 64-bit float"},
        {"1 |f a:inf\n", "t:1: value \"inf\" of a feature is not a number that fits a 64-bit float"},
        {"1 |f a:\n", "t:1: feature \"a:\" has no value after its colon; leave the colon out or write feature:value"},
        {"'x |f a\n", "t:1: label missing before the |; rows are written label |namespace feature:value ..."},
        {"1 |f:1:2 a\n", "t:1: scale \"1:2\" of a namespace is not a finite number; it is written |name:scale"},
        {"1 |f a:\n", "t:1: feature \"a:\" has no value after its colon; leave the colon out or write feature:value"},
        {"1 |f : b\n", "t:1: feature \":\" has no value after its colon; leave the colon out or write feature:value"},
        {"1 |f a:1e\n", "t:1: value \"1e\" of a feature is not a number that fits a 64-bit float"},
        {"1 |f a:0x10\n", "t:1: value \"0x10\" of a feature is not a number that fits a 64-bit float"},
        {"1 |f a:1:2\n", "t:1: value \"1:2\" of a feature is not a number that fits a 64-bit float"},
        {"1 |f a:nan\n", "t:1: value \"nan\" of a feature is not a number that fits a 64-bit float"},
        {"1 |f a:1e309\n", "t:1: value \"1e309\" of a feature is not a number that fits a 64-bit float"},
        {"1 |f a:b|c d\n", "t:1: \"b|c\" has a | in its value; put a blank before the |"},
        {"1 | 3:1.7e308 3:1.7e308\n",
         "t:1: the features of a row that share column 4 add up to more than a float holds; scale them"},
        {"\n\n", "t: no rows; each line is a row such as \"1 |words good film:2\""},
    };
    assert_faults(faults, sizeof faults / sizeof *faults, &vw);
    assert_fault("1 |f a:b\0b\n", 11, &vw, "t:1: NUL byte; this is not VW text");
    assert_fault("1 |f a\0b\n", 9, &vw, "t:1: NUL byte; this is not VW text");
}

static void predictions_need_no_labels(void **state) {
    (void)state;
    assert_rows("| 5\n1 | 6\n'tag| 7\n", &(pl_reading){.format = &pl_format_vw, .unlabelled = true},
                "0|5:1\n1|6:1\n0|7:1\n");
}

static void what_is_written_reads_back_the_same(void **state) {
    (void)state;
    const char text[] = "1 2 |ns good:0.25 film 3 |t x:word :2\n-1 0.5 | a:-3 b |ns good\n";
    for (int names = 0; names < 2; names++) {
        const pl_reading reading = {.format = &pl_format_vw, .keep_names = names};
        parley_data *data = parse_as(text, strlen(text), &reading), *again;
        parley_error error;
        assert_int_equal(pl_data_write_vw(data, in_folder("out.vw.zst"), NULL, &error), PARLEY_OK);
        assert_int_equal(pl_data_read(path_text, one, NULL, NULL, &again, &error), PARLEY_OK);
        assert_ptr_equal(again->format, &pl_format_vw);
        assert_same_data(data, again);
        parley_data_free(data);
        parley_data_free(again);
    }
}

static void every_failed_allocation_is_survived(void **state) {
    (void)state;
    char text[16384], *p = text;
    for (int i = 0; i < 60; i++) {
        p += sprintf(p, "1 2 |n%d", i % 3);
        for (int k = 0; k < 30; k++)
            p += sprintf(p, " f%d", (i * 7 + k * 13) % 40);
        p += sprintf(p, "\n");
    }
    write_bytes(in_folder("a.vw"), text, (size_t)(p - text));
    char path[256];
    snprintf(path, sizeof path, "%s", path_text);
    assert_survives(path, &vw);
    assert_survives(path, &(pl_reading){.keep_names = true, .hash_bits = 6});
}

static void interactions_are_products_of_namespaces(void **state) {
    (void)state;
    const char *text = "1 |a 1:2 2:3 |b 5:4\n-1 |a 3 |c 4\n";
    pl_reading reading = {.format = &pl_format_vw, .hash_bits = 10, .interactions = "a:b"};
    parley_data *data = parse_as(text, strlen(text), &reading);
    uint64_t a = pl_hash_name("a", 1, 0), b = pl_hash_name("b", 1, 0);
    float found[2] = {0};
    for (uint64_t e = 0; e < data->x.start[1]; e++)
        for (uint32_t i = 0; i < 2; i++)
            if (data->x.index[e] == ((16777619u * (uint32_t)(a + 1 + i)) ^ (uint32_t)(b + 5)) % 1024)
                found[i] = data->x.values.narrow[e];
    assert_true(found[0] == 8 && found[1] == 12);
    assert_int_equal(data->x.start[1], 5);
    assert_int_equal(data->x.start[2], 7); /* no namespace b in the second row */
    assert_true(strstr(data->table, "a:b") != NULL);
    parley_data_free(data);
    reading.interactions = "a:a";
    data = parse_as(text, strlen(text), &reading);
    assert_int_equal(data->x.start[1], 6); /* two squares and a product */
    parley_data_free(data);
    reading.interactions = "ab";
    assert_fault(text, strlen(text), &reading, "--interactions ab: write a pair as a:b");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interactions_are_products_of_namespaces),
        cmocka_unit_test(columns_are_those_of_vowpal_wabbit),
        cmocka_unit_test(every_accepted_form_is_read_right),
        cmocka_unit_test(bits_make_the_columns),
        cmocka_unit_test(the_first_name_of_a_column_is_kept),
        cmocka_unit_test(every_fault_has_its_sentence),
        cmocka_unit_test(predictions_need_no_labels),
        cmocka_unit_test(what_is_written_reads_back_the_same),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests_name("vw", tests, open_pools, close_pools);
}
