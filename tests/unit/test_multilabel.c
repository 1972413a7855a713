/* test_multilabel.c: LIBSVM text whose rows have any number of labels. */
#define _DEFAULT_SOURCE /* mkdtemp */
#include "data/label_sets.h"
#include "format_helpers.h"

static const pl_reading sets_of_labels = {.format = &pl_format_multilabel};

static const char *const rows = "3,1 2:0.5\n1:2\n10 1:1 # comment\n\n1,3,1 2:1\n-1.5,1\n";

static void sets_are_classes(void **state) {
    (void)state;
    parley_data *data = parse_as(rows, strlen(rows), &sets_of_labels);
    assert_string_equal(names_of(&data->classes), "{-1.5,1}|{1,3}|{10}|{}|");
    assert_string_equal(rows_of(data), "1|1:0.5\n3|0:2\n2|0:1\n1|1:1\n0|\n");
    assert_true(pl_has_label_sets(data));
    pl_label_sets sets;
    assert_int_equal(pl_label_sets_read(&data->classes, &sets, NULL), PARLEY_OK);
    static const double labels[] = {-1.5, 1, 3, 10};
    static const uint64_t start[] = {0, 2, 4, 5, 5};
    static const uint32_t member[] = {0, 1, 1, 2, 3};
    assert_int_equal(sets.labels, 4);
    assert_memory_equal(sets.label, labels, sizeof labels);
    assert_memory_equal(sets.start, start, sizeof start);
    assert_memory_equal(sets.member, member, sizeof member);
    pl_label_sets_free(&sets);
    parley_data_free(data);
}

static void labels_of_no_row_are_removed(void **state) {
    (void)state;
    parley_data *data = parse_as(rows, strlen(rows), &sets_of_labels);
    pl_label_sets sets;
    assert_int_equal(pl_label_sets_read(&data->classes, &sets, NULL), PARLEY_OK);
    static const double counts[] = {0, 2, 0, 1}, labels[] = {1, 3};
    static const uint64_t start[] = {0, 1, 3, 3, 3};
    static const uint32_t member[] = {0, 0, 1};
    assert_int_equal(pl_label_sets_keep(&sets, counts, NULL), PARLEY_OK);
    assert_int_equal(sets.labels, 2);
    assert_int_equal(sets.sets, 4);
    assert_memory_equal(sets.label, labels, sizeof labels);
    assert_memory_equal(sets.start, start, sizeof start);
    assert_memory_equal(sets.member, member, sizeof member);
    pl_label_sets_free(&sets);
    parley_data_free(data);
}

static void several_labels_in_the_first_row_are_recognised(void **state) {
    (void)state;
    static const struct {
        const char *text, *format;
    } inputs[] = {
        {"1,3 5:1\n", "multilabel"},
        {"1 5:1\n", "libsvm"},
        {"1,3\n2,4\n", "csv"},
        {"1,3 a:1\n", "csv"},
        {"1,2:3\n", "csv"},
        {"3,1.5,2024-01-01 10:30:00\n", "csv"},
        {"3,5 10:30:00\n", "csv"},
        {"3,1.5.2 10:30\n", "csv"},
        {"3,5 10:30\n", "multilabel"},
        {"3,, 10:30\n", "csv"},
        {"-1.5,+3\t10:3e-1# c\n", "multilabel"},
        {"1,3 10:\n", "csv"},
        {"1,3 :1\n", "csv"},
    };
    for (unsigned i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        pl_source *source;
        const pl_format *format;
        parley_error error = {0};
        assert_int_equal(pl_source_memory(inputs[i].text, strlen(inputs[i].text), "t", 4096, &source, &error),
                         PARLEY_OK);
        assert_int_equal(pl_format_choose(&(pl_reading){0}, source, &format, &error), PARLEY_OK);
        assert_string_equal(format->name, inputs[i].format);
        pl_source_close(source);
    }
}

static void every_fault_has_its_sentence(void **state) {
    (void)state;
    static const fault faults[] = {
        {"1,3 1:1\n1,x 1:1\n", "t:2: labels \"1,x\" are not numbers separated by commas, as in 1,3"},
        {"1, 1:1\n", "t:1: labels \"1,\" are not numbers separated by commas, as in 1,3"},
        {"1,1e999 1:1\n", "t:1: labels \"1,1e999\" are not numbers separated by commas, as in 1,3"},
        {"1,2 1:1 1:2\n", "t:1: column index 1 twice in a row; each column may appear once"},
    };
    assert_faults(faults, sizeof faults / sizeof *faults, &sets_of_labels);
    assert_fault("1 1:1\n1,3 1:1\n", 14, &(pl_reading){.format = &pl_format_libsvm},
                 "t:2: \"1,3\" is several labels; --format multilabel reads rows with several");
}

static void names_of_other_classes_are_no_sets(void **state) {
    (void)state;
    static const char *const names[] = {"{1,3}", "{3,1}", "{1,}", "{a}", "1", "{", "{1}x"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        const uint64_t start[] = {0, strlen(names[i])};
        const parley_data data = {.classes = {.count = 1, .start = start, .text = names[i]}};
        assert_int_equal(pl_has_label_sets(&data), i == 0);
    }
}

static void every_failed_allocation_is_survived(void **state) {
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s", in_folder("sets.svm"));
    write_bytes(path, rows, strlen(rows));
    assert_survives(path, &sets_of_labels);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_are_classes),
        cmocka_unit_test(labels_of_no_row_are_removed),
        cmocka_unit_test(several_labels_in_the_first_row_are_recognised),
        cmocka_unit_test(every_fault_has_its_sentence),
        cmocka_unit_test(names_of_other_classes_are_no_sets),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests_name("multilabel", tests, open_pools, close_pools);
}
