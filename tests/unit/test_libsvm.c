/* test_libsvm.c: LIBSVM text: what is accepted, what is rejected and with which sentence, also in parallel. */
#define _POSIX_C_SOURCE 200809L
#include "data_helpers.h"

#include <locale.h>
#include <math.h>

/* Rows as "label|column:value ..." with 9 digits, one per line. */
static const char *shown(const parley_data *data) {
    static char text[4096];
    size_t used = 0;
    for (uint64_t i = 0; i < data->x.rows; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%.17g|", data->label[i]);
        for (uint64_t k = data->x.start[i]; k < data->x.start[i + 1]; k++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%u:%.9g ", data->x.index[k] + 1,
                                     pl_value_at(data->x.values, k));
        used += (size_t)snprintf(text + used, sizeof text - used, "\n");
    }
    return text;
}

static void every_accepted_form_is_read_right(void **state) {
    (void)state;
    static const struct {
        const char *text, *rows;
    } cases[] = {
        {"+1 1:0.5 3:2\n-1 2:1\n", "1|1:0.5 3:2 \n-1|2:1 \n"},
        {"1 1:0.5", "1|1:0.5 \n"},
        {"1.5 1:1\n1e3 1:2\n-2.5E-2 1:3\n.5 1:4\n5. 1:5\n",
         "1.5|1:1 \n1000|1:2 \n-0.025000000000000001|1:3 \n0.5|1:4 \n5|1:5 \n"},
        {"1 1:2\r\n-1 2:3\r\n", "1|1:2 \n-1|2:3 \n"},
        {"1\t1:2\t\t2:3\n", "1|1:2 2:3 \n"},
        {"  1   1:2    2:3   \n", "1|1:2 2:3 \n"},
        {"1 1:2 \r", "1|1:2 \n"},
        {"# head\n1 1:2 # tail 3:4\n\n   \n-1 2:5#tight\n#end", "1|1:2 \n-1|2:5 \n"},
        {"1 qid:7 1:2\n2 qid:7\n3  qid:12 # c\n", "1|1:2 \n2|\n3|\n"},
        {"1\n2 \n3 #\n", "1|\n2|\n3|\n"},
        {"1 1:0 2:-0.0 3:+1 4:1e-3 5:1E+3 6:-7\n", "1|1:0 2:-0 3:1 4:0.00100000005 5:1000 6:-7 \n"},
        {"1 1:1.0000001 2:0.1234567 3:0.12345678 4:123456.789\n",
         "1|1:1.00000012 2:0.123456702 3:0.123456784 4:123456.789 \n"},
        {"1 1:16777216 2:16777217 3:99999999 4:0000000000012\n", "1|1:16777216 2:16777216 3:100000000 4:12 \n"},
        {"1 0001:2 2147483647:3\n", "1|1:2 2147483647:3 \n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        parley_data *data = parse_text(cases[i].text);
        assert_string_equal(shown(data), cases[i].rows);
        parley_data_free(data);
    }
}

static void values_beyond_floats_are_doubles(void **state) {
    (void)state;
    parley_data *data = parse_text("1 1:3.4028235e38 2:-1e-999999999999\n");
    assert_true(data->x.values.narrow[0] == 3.4028235e38F);
    assert_true(data->x.values.narrow[1] == 0 && signbit(data->x.values.narrow[1]));
    parley_data_free(data);
    static const double far[] = {1e-50, 1e-40, -3.5e38, 1e39, 1e300};
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        char text[80];
        snprintf(text, sizeof text, "1 1:0.1 2:%g\n-1 1:3\n", far[i]);
        data = parse_text(text);
        assert_true(data->x.values.wide[0] == 0.1 && data->x.values.wide[1] == far[i] && data->x.values.wide[2] == 3);
        parley_data_free(data);
    }
}

static const struct {
    const char *text, *sentence;
} faults[] = {
    {"1 0:1\n", "t.svm:1: column index 0; LIBSVM indices start at 1"},
    {"1 1:1\n1 000:1\n", "t.svm:2: column index 000; LIBSVM indices start at 1"},
    {"1 -3:1\n", "t.svm:1: column index -3; LIBSVM indices start at 1"},
    {"1 2147483648:1\n", "t.svm:1: column index 2147483648 is too large; the largest is 2147483647"},
    {"1 99999999999999999999999:1\n",
     "t.svm:1: column index 99999999999999999999999 is too large; the largest is 2147483647"},
    {"1 2:1 2:1\n", "t.svm:1: column index 2 twice in a row; each column may appear once"},
    {"1 5:1 3:1\n", "t.svm:1: column index 3 after 5; sort the indices of each row"},
    {"1 5:1  3:1\n", "t.svm:1: column index 3 after 5; sort the indices of each row"},
    {"1 1:nan\n", "t.svm:1: value \"nan\" of column 1 is not finite; values must be finite"},
    {"1 1:-Infinity\n", "t.svm:1: value \"-Infinity\" of column 1 is not finite; values must be finite"},
    {"1 1:1e309\n", "t.svm:1: value \"1e309\" of column 1 is too large for a 64-bit float; scale the column"},
    {"1 1:1.7976931348623159e308\n",
     "t.svm:1: value \"1.7976931348623159e308\" of column 1 is too large for a 64-bit float; scale the column"},
    {"1 1:1e99999999999\n",
     "t.svm:1: value \"1e99999999999\" of column 1 is too large for a 64-bit float; scale the column"},
    {"1 1:abc\n", "t.svm:1: value \"abc\" of column 1 is not a number"},
    {"1 1:1x 2:1\n", "t.svm:1: value \"1x\" of column 1 is not a number"},
    {"1 1:1e\n", "t.svm:1: value \"1e\" of column 1 is not a number"},
    {"1 1:0x10\n", "t.svm:1: value \"0x10\" of column 1 is not a number"},
    {"1 1:1,5\n", "t.svm:1: value \"1,5\" of column 1 is not a number"},
    {"1 1:1:2\n", "t.svm:1: value \"1:2\" of column 1 is not a number"},
    {"1 1:.\n", "t.svm:1: value \".\" of column 1 is not a number"},
    {"1 1:1.2.3\n", "t.svm:1: value \"1.2.3\" of column 1 is not a number"},
    {"1 1:--1\n", "t.svm:1: value \"--1\" of column 1 is not a number"},
    {"1 1:\n", "t.svm:1: column 1 has no value; entries are written column:value"},
    {"1 1: 2\n", "t.svm:1: column 1 has no value; entries are written column:value"},
    {"1 1:", "t.svm:1: column 1 has no value; entries are written column:value"},
    {"1 7\n", "t.svm:1: \"7\" has no colon; entries are written column:value"},
    {"1 1:2\r2 1:2\n", "t.svm:1: \"2\" has no colon; entries are written column:value"},
    {"1 a:1\n", "t.svm:1: column index \"a\" is not a whole number; entries are written column:value"},
    {"1 :1\n", "t.svm:1: column index \"\" is not a whole number; entries are written column:value"},
    {"1 1.5:1\n", "t.svm:1: column index \"1.5\" is not a whole number; entries are written column:value"},
    {"1 1:2 qid:3\n", "t.svm:1: column index \"qid\" is not a whole number; entries are written column:value"},
    {"1 hello\n", "t.svm:1: column index \"hello\" is not a whole number; entries are written column:value"},
    {"1:1 2:1\n", "t.svm:1: label missing before \"1:1\"; each row starts with its label"},
    {"abc 1:1\n", "t.svm:1: label \"abc\" is not a number; each row starts with one number"},
    {"1,3 1:1\n", "t.svm:1: \"1,3\" is several labels; --format multilabel reads rows with several"},
    {"nan 1:1\n", "t.svm:1: label \"nan\" is not finite; labels must be finite"},
    {"+inf 1:1\n", "t.svm:1: label \"+inf\" is not finite; labels must be finite"},
    {"1e400 1:1\n", "t.svm:1: label \"1e400\" is too large for a 64-bit float"},
    {"1 qid:x 1:1\n", "t.svm:1: query id \"qid:x\" is not a whole number; it is written qid:number"},
    {"\xef\xbb\xbf"
     "1 1:1\n",
     "t.svm:1: label \"???1\" is not a number; each row starts with one number"},
    {"1 1:aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeee\n",
     "t.svm:1: value \"aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd...\" of column 1 is not a number"},
    {"", "t.svm: no rows; each line is a row such as \"+1 3:0.5 7:1\""},
    {"# nothing\n\n  \n", "t.svm: no rows; each line is a row such as \"+1 3:0.5 7:1\""},
};

static void every_fault_has_its_sentence(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        for (int parallel = 0; parallel < 2; parallel++) {
            parley_data *data;
            parley_error error = {0};
            parley_status status = pl_data_parse(faults[i].text, strlen(faults[i].text), "t.svm",
                                                 parallel ? three : one, parallel ? 2 : 0, &data, &error);
            assert_int_equal(status, PARLEY_BAD_INPUT);
            assert_null(data);
            assert_string_equal(error.sentence, faults[i].sentence);
        }
}

static void nul_bytes_are_refused(void **state) {
    (void)state;
    static const char *const places[] = {"@ 1:1\n",  "1@ 1:1\n", "1 @1:1\n", "1 1@:1\n",
                                         "1 1:@1\n", "1 1:1@\n", "1 1:1 @\n"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char text[32];
        size_t length = strlen(places[i]);
        memcpy(text, places[i], length + 1);
        *strchr(text, '@') = '\0';
        parley_data *data;
        parley_error error = {0};
        assert_int_equal(pl_data_parse(text, length, "t.svm", one, 0, &data, &error), PARLEY_BAD_INPUT);
        assert_string_equal(error.sentence, "t.svm:1: NUL byte; this is not LIBSVM text");
    }
}

static void blocks_and_threads_do_not_change_what_is_read(void **state) {
    (void)state;
    static const uint64_t sizes[] = {1, 16, 64, 1000, 5000, 0};
    for (uint64_t seed = 0; seed < 8; seed++) {
        char *text = random_text(seed, 300, seed % 4 == 3);
        parley_data *expected = parse_text(text);
        parley_error error;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (int threads = 0; threads < 2; threads++) {
                parley_data *data;
                assert_int_equal(pl_data_parse(text, strlen(text), "t", threads ? three : one, sizes[i], &data, &error),
                                 PARLEY_OK);
                assert_same_data(expected, data);
                parley_data_free(data);
            }
        parley_data_free(expected);
        free(text);
    }
}

static void the_first_bad_line_is_reported_whatever_the_threads(void **state) {
    (void)state;
    pl_stream stream = pl_stream_make(1, 0, 0);
    for (int round = 0; round < 60; round++) {
        char text[8192], *p = text, expected[64];
        unsigned bad = (unsigned)pl_random_below(&stream, 200), also = bad + (unsigned)pl_random_below(&stream, 20);
        for (unsigned line = 0; line < 220; line++) {
            if (line == bad || line == also)
                p += sprintf(p, "1 0:1\n");
            else
                p += sprintf(p, line % 7 == 0 ? "\n" : line % 11 == 0 ? "# c: x\n" : "1 %u:0.5\n", line + 1);
        }
        const char *path = in_folder("bad.svm");
        write_bytes(path, text, (size_t)(p - text));
        snprintf(expected, sizeof expected, ":%u: column index 0", bad + 1);
        for (int kind = 0; kind < 3; kind++) {
            parley_data *data;
            parley_error error = {0};
            assert_int_equal(
                pl_data_read_blocks(path, kind ? three : one, kind == 2 ? 7 : 64, NULL, NULL, &data, &error),
                PARLEY_BAD_INPUT);
            assert_non_null(strstr(error.sentence, expected));
        }
    }
}

static void values_and_labels_are_as_strtod_gives(void **state) {
    (void)state;
    pl_stream stream = pl_stream_make(2, 0, 0);
    enum { BATCH = 500 };
    char *numerals = malloc((size_t)BATCH * 400), *text = malloc((size_t)BATCH * 900);
    for (int round = 0; round < 200; round++) {
        char *p = text;
        for (int i = 0; i < BATCH; i++) {
            random_numeral(&stream, numerals + 400 * i, 400);
            p += sprintf(p, "%s 1:%s\n", numerals + 400 * i, numerals + 400 * i);
        }
        parley_data *data = parse_text(text);
        assert_int_equal(data->x.nonzeros, BATCH);
        for (int i = 0; i < BATCH; i++) {
            double label = strtod(numerals + 400 * i, NULL), value = pl_value_at(data->x.values, (uint64_t)i);
            double expected = data->x.values.wide ? label : (double)strtof(numerals + 400 * i, NULL);
            if (memcmp(&value, &expected, sizeof value) != 0 || memcmp(&label, &data->label[i], sizeof label) != 0)
                fail_msg("%s", numerals + 400 * i);
        }
        parley_data_free(data);
    }
    free(numerals);
    free(text);
}

static void the_longest_numerals_are_read(void **state) {
    (void)state;
    enum { DIGITS = 100000 };
    char *text = malloc(DIGITS + 100);
    strcpy(text, "1 1:0.");
    memset(text + 6, '0', DIGITS);
    strcpy(text + 6 + DIGITS, "25e100001\n");
    parley_data *data = parse_text(text);
    assert_true(data->x.values.narrow[0] == 2.5F);
    parley_data_free(data);
    free(text);
}

static void the_locale_does_not_matter(void **state) {
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8", "de_DE"};
    const char *found = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++)
        found = setlocale(LC_ALL, names[i]);
    if (!found)
        skip();
    parley_data *data = parse_text("1.25 1:0.1234567890123456789\n");
    parley_error error;
    const char *path = in_folder("locale.svm");
    parley_status status = pl_data_write_libsvm(data, path, NULL, &error);
    setlocale(LC_ALL, "C");
    assert_true(data->label[0] == 1.25 && data->x.values.narrow[0] == 0.1234567890123456789F);
    assert_int_equal(status, PARLEY_OK);
    size_t count;
    char *bytes = read_bytes(path, &count);
    assert_string_equal(bytes, "1.25 1:0.12345679\n");
    free(bytes);
    parley_data_free(data);
}

static void data_of_ones_store_no_values(void **state) {
    (void)state;
    parley_data *data = parse_text("1 1:1 2:1.0 3:+1\n-1 7:1e0\n");
    assert_null(data->x.values.narrow);
    assert_int_equal(data->x.nonzeros, 4);
    parley_data_free(data);
    data = parse_text("1\n2\n");
    assert_null(data->x.values.narrow);
    assert_int_equal(data->x.columns, 0);
    parley_data_free(data);
}

static void a_late_value_other_than_one_brings_all_values(void **state) {
    (void)state;
    enum { ROWS = 4000 };
    char *text = malloc(ROWS * 32), *p = text;
    for (int i = 0; i < ROWS; i++)
        p += sprintf(p, i + 1 < ROWS ? "1 3:1 9:1\n" : "1 3:1 9:0.5\n");
    for (int threads = 0; threads < 2; threads++) {
        parley_data *data;
        parley_error error;
        assert_int_equal(pl_data_parse(text, strlen(text), "t", threads ? three : one, 512, &data, &error), PARLEY_OK);
        assert_int_equal(data->x.nonzeros, 2 * ROWS);
        for (int i = 0; i < 2 * ROWS; i++)
            assert_true(data->x.values.narrow[i] == (i + 1 < 2 * ROWS ? 1.0F : 0.5F));
        parley_data_free(data);
    }
    free(text);
}

static void files_that_end_with_a_page_are_read(void **state) {
    (void)state;
    for (size_t size = 4090; size <= 4098; size++)
        for (int newline = 0; newline < 2; newline++) {
            char text[4100];
            memset(text, '0', sizeof text);
            memcpy(text, "1 1:0.", 6);
            text[size - 1] = '5';
            if (newline)
                text[size - 1] = '\n';
            const char *path = in_folder("page.svm");
            write_bytes(path, text, size);
            parley_data *data;
            parley_error error;
            assert_int_equal(pl_data_read(path, three, NULL, NULL, &data, &error), PARLEY_OK);
            assert_int_equal(data->x.nonzeros, 1);
            assert_true(data->x.values.narrow[0] == 0);
            assert_int_equal(data->file_bytes, size);
            parley_data_free(data);
        }
}

static void empty_and_missing_files_are_told(void **state) {
    (void)state;
    parley_data *data;
    parley_error error = {0};
    char expected[400];
    write_bytes(in_folder("empty.svm"), "", 0);
    assert_int_equal(pl_data_read(path_text, one, NULL, NULL, &data, &error), PARLEY_BAD_INPUT);
    snprintf(expected, sizeof expected, "%s: no rows; the input is empty", path_text);
    assert_string_equal(error.sentence, expected);
    assert_int_equal(pl_data_read(in_folder("none.svm"), one, NULL, NULL, &data, &error), PARLEY_NO_FILE);
    snprintf(expected, sizeof expected, "%s: cannot open: No such file or directory", path_text);
    assert_string_equal(error.sentence, expected);
    assert_int_equal(pl_data_read(folder, one, NULL, NULL, &data, &error), PARLEY_NO_FILE);
    snprintf(expected, sizeof expected, "%s: cannot read: Is a directory", folder);
    assert_string_equal(error.sentence, expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_accepted_form_is_read_right),
        cmocka_unit_test(values_beyond_floats_are_doubles),
        cmocka_unit_test(every_fault_has_its_sentence),
        cmocka_unit_test(nul_bytes_are_refused),
        cmocka_unit_test(blocks_and_threads_do_not_change_what_is_read),
        cmocka_unit_test(the_first_bad_line_is_reported_whatever_the_threads),
        cmocka_unit_test(values_and_labels_are_as_strtod_gives),
        cmocka_unit_test(the_longest_numerals_are_read),
        cmocka_unit_test(the_locale_does_not_matter),
        cmocka_unit_test(data_of_ones_store_no_values),
        cmocka_unit_test(a_late_value_other_than_one_brings_all_values),
        cmocka_unit_test(files_that_end_with_a_page_are_read),
        cmocka_unit_test(empty_and_missing_files_are_told),
    };
    return cmocka_run_group_tests_name("libsvm", tests, open_pools, close_pools);
}
