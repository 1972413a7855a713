/* test_format.c: recognition of formats, and what formats share: hashes, dictionaries and sorted rows. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp, strdup */
#include "data/hash.h"
#include "data/row.h"
#include "format_helpers.h"

static void content_decides_the_format(void **state) {
    (void)state;
    static const struct {
        const char *text, *format;
    } cases[] = {
        {"1 3:0.5\n", "libsvm"},
        {"# c, d\n\n-1 qid:3 2:1\n", "libsvm"},
        {"1\t3:0.5\t4:1\n", "libsvm"},
        {"1\n2\n", "libsvm"},
        {"a b\n", "csv"},
        {"y\n1\n", "csv"},
        {"a 3:1\n", "libsvm"},
        {"", "libsvm"},
        {"1 2:1 # a,b | c\n", "libsvm"},
        {"1 | a\n", "vw"},
        {"| a\n", "vw"},
        {"\n1 2 'tag|x a:1,2\n", "vw"},
        {"tag| a\n", "vw"},
        {"1,2\n", "csv"},
        {"a,b|c\n", "csv"},
        {"a|b,c\n", "vw"},
        {"\"a|b\",c\n", "csv"},
        {"y\ta\n1\t2\n", "csv"},
        {"1;2\n", "csv"},
        {"1,3 1:1\n", "csv"},
        {"1\t12:30\tx\n", "csv"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static const char *const asked[] = {"idx", "vw", "libsvm", "csv"};
        const char *found = NULL;
        for (unsigned k = 0; k < 4 && !found; k++)
            found = pl_format_find(asked[k])->sniff(cases[i].text, strlen(cases[i].text)) ? asked[k] : NULL;
        if (strcmp(found, cases[i].format) != 0)
            fail_msg("\"%s\" was taken for %s", cases[i].text, found);
    }
}

static void settings_without_effect_are_refused(void **state) {
    (void)state;
    parley_settings *settings;
    pl_reading reading;
    parley_error error = {0};
    assert_int_equal(parley_settings_new(&settings, &error), PARLEY_OK);
    assert_int_equal(parley_settings_set(settings, "label_column", "y", &error), PARLEY_OK);
    assert_int_equal(pl_reading_of(settings, &reading, &error), PARLEY_OK);
    assert_fault("1 2:1\n", 6, &reading, "--label-column has no effect: t is LIBSVM text");
    assert_int_equal(parley_settings_set(settings, "hash_bits", "9", &error), PARLEY_OK);
    assert_fault("a,y\nb,1\n", 8, &reading,
                 "--hash-bits has no effect: the categories of t are not hashed; add --categories hash");
    assert_int_equal(parley_settings_set(settings, "format", "xml", &error), PARLEY_OK);
    assert_int_equal(pl_reading_of(settings, &reading, &error), PARLEY_BAD_USAGE);
    assert_string_equal(
        error.sentence,
        "--format xml: unknown format; use libsvm, csv, vw, idx, docword, ldac, mm, text, multilabel or auto");
    parley_settings_free(settings);
}

/* The published values of MurmurHash3_x86_32. */
static void murmur_hash_has_the_published_values(void **state) {
    (void)state;
    assert_int_equal(pl_murmur("", 0, 0), 0);
    assert_int_equal(pl_murmur("", 0, 1), 0x514e28b7);
    assert_int_equal(pl_murmur("\xff\xff\xff\xff", 4, 0), 0x76293b50);
    assert_int_equal(pl_murmur("!Ce\x87", 4, 0x5082edee), 0x2362f9de);
    assert_int_equal(pl_murmur("!Ce", 3, 0), 0x7e4a8634);
    assert_int_equal(pl_murmur("aaaa", 4, 0x9747b28c), 0x5a97808a);
    assert_int_equal(pl_murmur("Hello, world!", 13, 0x9747b28c), 0x24884cba);
}

static void digits_hash_to_their_number(void **state) {
    (void)state;
    assert_int_equal(pl_hash_name("0042", 4, 7), 49);
    assert_int_equal(pl_hash_name("4x", 2, 7), pl_murmur("4x", 2, 7));
}

static void dictionaries_number_words_as_they_come(void **state) {
    (void)state;
    pl_dictionary words = {0};
    uint32_t number;
    for (int turn = 0; turn < 2; turn++) {
        for (uint32_t i = 0; i < 3000; i++) {
            char text[16];
            snprintf(text, sizeof text, "w%u", i / 3);
            assert_true(pl_dictionary_add(&words, i % 3, text, strlen(text), &number));
            assert_int_equal(number, i);
            assert_true(pl_dictionary_add(&words, i % 3, text, strlen(text), &number));
            assert_int_equal(number, i);
            assert_int_equal(pl_dictionary_find(&words, 3, text, strlen(text)), PL_NOT_FOUND);
        }
        assert_int_equal(words.count, 3000);
        assert_memory_equal(pl_dictionary_word(&words, 7).text, "w2", 2);
        pl_dictionary_clear(&words);
        assert_int_equal(pl_dictionary_find(&words, 0, "w0", 2), PL_NOT_FOUND);
    }
    pl_dictionary_free(&words);
}

/* The same by the definition: a stable sort by swapping, then sums from left to right. */
static uint64_t sort_slowly(uint32_t *index, float *value, uint64_t count) {
    for (uint64_t i = 1; i < count; i++)
        for (uint64_t k = i; k > 0 && index[k - 1] > index[k]; k--) {
            uint32_t column = index[k];
            float moved = value[k];
            index[k] = index[k - 1], value[k] = value[k - 1];
            index[k - 1] = column, value[k - 1] = moved;
        }
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; i++)
        if (kept > 0 && index[kept - 1] == index[i])
            value[kept - 1] += value[i];
        else
            index[kept] = index[i], value[kept++] = value[i];
    return kept;
}

static void files_of_other_programs_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t count;
        const char *sentence;
    } files[] = {
        {"PAR1\x15\4\x15\x80", 8,
         "t is a Parquet file, which the command line does not read; save it as CSV, or in Python give its name to "
         "parley.train"},
        {"ARROW1\0\0\xff\xff", 10,
         "t is an Arrow file, which the command line does not read; save it as CSV, or in Python give its name to "
         "parley.train"},
        {"PK\3\4\x14\0\6", 7,
         "t is an Excel or zip file, which the command line does not read; save it as CSV, or in Python give the frame "
         "of pandas.read_excel to parley.train"},
    };
    for (unsigned i = 0; i < sizeof files / sizeof *files; i++)
        assert_fault(files[i].bytes, files[i].count, &(pl_reading){0}, files[i].sentence);
    assert_rows("ORC,y\n1,2\n3,5\n", &(pl_reading){0}, "2|0:1\n5|0:3\n"); /* a name of a column */
}

static void rows_of_any_length_are_sorted(void **state) {
    (void)state;
    enum { MOST = 3000 };
    static uint32_t index[MOST], expected_index[MOST];
    static float value[MOST], expected_value[MOST];
    static const uint32_t below[] = {2, 40, 1000, 1 << 18, 0x7fffffff};
    pl_stream stream = pl_stream_make(5, 0, 0);
    pl_sorter sorter = {0};
    for (int round = 0; round < 400; round++) {
        uint64_t count = pl_random_below(&stream, round % 10 ? 200 : MOST);
        for (uint64_t i = 0; i < count; i++) {
            index[i] = expected_index[i] = (uint32_t)pl_random_below(&stream, below[round % 5]);
            value[i] = expected_value[i] = (float)pl_random_normal(&stream);
        }
        uint64_t kept = pl_row_sort(&sorter, index, (pl_value_room){.narrow = value}, count);
        assert_int_equal(kept, sort_slowly(expected_index, expected_value, count));
        if (kept > 0) {
            assert_memory_equal(index, expected_index, kept * sizeof *index);
            assert_memory_equal(value, expected_value, kept * sizeof *value);
        }
    }
    pl_sorter_free(&sorter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_decides_the_format),
        cmocka_unit_test(settings_without_effect_are_refused),
        cmocka_unit_test(murmur_hash_has_the_published_values),
        cmocka_unit_test(digits_hash_to_their_number),
        cmocka_unit_test(dictionaries_number_words_as_they_come),
        cmocka_unit_test(files_of_other_programs_are_refused),
        cmocka_unit_test(rows_of_any_length_are_sorted),
    };
    return cmocka_run_group_tests_name("format", tests, open_pools, close_pools);
}
