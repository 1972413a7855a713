/* test_inputs.c: several inputs read as one: the rows of all of them, in their order. */
#define _DEFAULT_SOURCE /* mkdtemp, strtok_r */
#include "base/pool.h"
#include "data_helpers.h"

static const char first[] = "1 1:1 3:2\n-1 2:0.5\n", second[] = "\n-1 1:3\n1 4:1\n# end\n", third[] = "1 2:2";

static pl_pool *pool;

static int open_all(void **state) {
    parley_error error;
    return make_folder(state) || pl_pool_open(&pool, 2, &error) != PARLEY_OK;
}

static int close_all(void **state) {
    pl_pool_close(pool);
    return remove_folder(state);
}

static void write_text(const char *name, const char *text) { write_bytes(in_folder(name), text, strlen(text)); }

/* Reads files in the folder, whose names are separated by blanks. */
static parley_status read_words(const char *names, const pl_reading *reading, parley_data **out, parley_error *error) {
    char words[8][300], copy[200];
    const char *list[8];
    unsigned count = 0;
    pl_inputs inputs;
    snprintf(copy, sizeof copy, "%s", names);
    for (char *rest = copy, *word; (word = strtok_r(rest, " ", &rest)); count++) {
        snprintf(words[count], sizeof words[count], "%s/%s", folder, word);
        list[count] = words[count];
    }
    *out = NULL;
    parley_status status = pl_inputs_open(&inputs, list, count, error);
    if (status == PARLEY_OK)
        status = pl_data_read_all(&inputs, reading, pool, out, error);
    pl_inputs_close(&inputs);
    return status;
}

static void assert_reads_as(const char *names, const char *whole, const pl_reading *reading) {
    parley_data *many, *one;
    parley_error error = {0};
    write_text("whole", whole);
    assert_int_equal(read_words("whole", reading, &one, &error), PARLEY_OK);
    parley_status status = read_words(names, reading, &many, &error);
    if (status != PARLEY_OK)
        fail_msg("%s: %s", names, error.sentence);
    assert_int_equal(many->x.rows, one->x.rows);
    assert_int_equal(many->x.columns, one->x.columns);
    assert_int_equal(many->x.nonzeros, one->x.nonzeros);
    assert_memory_equal(many->x.start, one->x.start, (one->x.rows + 1) * sizeof *one->x.start);
    assert_memory_equal(many->label, one->label, one->x.rows * sizeof *one->label);
    assert_memory_equal(many->x.index, one->x.index, one->x.nonzeros * sizeof *one->x.index);
    for (uint64_t e = 0; e < one->x.nonzeros; e++)
        assert_true((many->x.values.narrow ? many->x.values.narrow[e] : 1) ==
                    (one->x.values.narrow ? one->x.values.narrow[e] : 1));
    assert_int_equal(many->names.count, one->names.count);
    parley_data_free(many);
    parley_data_free(one);
}

static void assert_refused(const char *names, const pl_reading *reading, const char *sentence) {
    parley_data *data;
    parley_error error = {0};
    assert_int_not_equal(read_words(names, reading, &data, &error), PARLEY_OK);
    assert_null(data);
    if (!strstr(error.sentence, sentence))
        fail_msg("%s: %s", names, error.sentence);
}

static void rows_come_in_the_order_of_the_files(void **state) {
    (void)state;
    write_text("a.svm", first);
    write_text("b.svm", second);
    write_text("c.svm", third);
    write_text("empty.svm", "");
    assert_reads_as("a.svm b.svm c.svm", "1 1:1 3:2\n-1 2:0.5\n-1 1:3\n1 4:1\n1 2:2\n", &(pl_reading){0});
    assert_reads_as("c.svm a.svm", "1 2:2\n1 1:1 3:2\n-1 2:0.5\n", &(pl_reading){0});
    assert_reads_as("a.svm empty.svm c.svm", "1 1:1 3:2\n-1 2:0.5\n1 2:2\n", &(pl_reading){0});
}

static void a_pattern_stands_for_its_files_sorted(void **state) {
    (void)state;
    write_text("part-2.svm", second);
    write_text("part-1.svm", first);
    write_text("odd[1].svm", third);
    assert_reads_as("part-*.svm", "1 1:1 3:2\n-1 2:0.5\n-1 1:3\n1 4:1\n", &(pl_reading){0});
    assert_reads_as("odd[1].svm part-?.svm", "1 2:2\n1 1:1 3:2\n-1 2:0.5\n-1 1:3\n1 4:1\n", &(pl_reading){0});
    assert_refused("none-*.svm", &(pl_reading){0}, "none-*.svm: no file matches this pattern");
}

static void a_heading_may_be_in_every_file_or_in_the_first(void **state) {
    (void)state;
    const char *whole = "label,size,colour\n1,2,red\n0,3,blue\n1,4,green\n";
    write_text("a.csv", "label,size,colour\n1,2,red\n");
    write_text("b.csv", "label,size,colour\n0,3,blue\n1,4,green\n");
    write_text("c.csv", "0,3,blue\n1,4,green\n");
    assert_reads_as("a.csv b.csv", whole, &(pl_reading){0});
    assert_reads_as("a.csv c.csv", whole, &(pl_reading){.format = pl_format_find("csv")});
}

static void faults_name_the_file_and_its_line(void **state) {
    (void)state;
    write_text("a.svm", first);
    write_text("bad.svm", "1 1:1\n1 0:2\n");
    write_text("bad.csv", "label,size,colour\n0,3\n");
    assert_refused("a.svm bad.svm", &(pl_reading){0}, "bad.svm:2: ");
    assert_refused("a.csv bad.csv", &(pl_reading){0}, "bad.csv:2: ");
    assert_refused("a.svm missing.svm", &(pl_reading){0}, "missing.svm: cannot open");
    assert_refused("a.svm a.csv", &(pl_reading){0},
                   "a.csv is CSV text; inputs that are read together must have the same format");
}

static void caches_are_joined_where_their_columns_are_the_same(void **state) {
    (void)state;
    parley_error error = {0};
    const char *const names[] = {"a.svm", "c.svm", "a.csv"};
    const char *const caches[] = {"a.parley", "c.parley", "csv.parley"};
    for (unsigned i = 0; i < 3; i++) {
        parley_data *data;
        assert_int_equal(read_words(names[i], &(pl_reading){0}, &data, &error), PARLEY_OK);
        assert_int_equal(pl_data_write_cache(data, in_folder(caches[i]), &error), PARLEY_OK);
        parley_data_free(data);
    }
    assert_reads_as("a.parley c.parley", "1 1:1 3:2\n-1 2:0.5\n1 2:2\n", &(pl_reading){0});
    assert_refused("a.parley csv.parley", &(pl_reading){0}, "different column or class names");
    assert_refused("a.parley c.svm", &(pl_reading){0}, "is a cache and");
}

static void make_cache(const char *text_name, const char *text, const double *weight, const char *cache) {
    parley_data *data;
    parley_error error = {0};
    write_text(text_name, text);
    assert_int_equal(read_words(text_name, &(pl_reading){0}, &data, &error), PARLEY_OK);
    const double *own = data->weight;
    data->weight = weight;
    assert_int_equal(pl_data_write_cache(data, in_folder(cache), &error), PARLEY_OK);
    data->weight = own;
    parley_data_free(data);
}

/* Entries without values are ones, and rows without weights weigh 1. */
static void joined_caches_keep_values_weights_and_names(void **state) {
    (void)state;
    const double weight[] = {2, 0.5}, joined[] = {2, 0.5, 1};
    parley_data *data;
    parley_error error = {0};
    make_cache("w.svm", "1 1:1 3:1\n-1 2:1\n", weight, "w.parley");
    make_cache("o.svm", "1 2:1\n", NULL, "o.parley");
    make_cache("v.svm", "1 2:7\n", NULL, "v.parley");
    assert_reads_as("w.parley o.parley", "1 1:1 3:1\n-1 2:1\n1 2:1\n", &(pl_reading){0});
    assert_reads_as("o.parley v.parley", "1 2:1\n1 2:7\n", &(pl_reading){0});
    assert_int_equal(read_words("w.parley o.parley", &(pl_reading){0}, &data, &error), PARLEY_OK);
    assert_null(data->x.values.narrow);
    assert_memory_equal(data->weight, joined, sizeof joined);
    parley_data_free(data);
    const char *const texts[] = {"size,kind,y\n1,a,no\n2,b,yes\n", "size,kind,y\n3,a,si\n4,b,no\n",
                                 "size,sort,y\n3,a,no\n4,b,yes\n"};
    const char *const names[] = {"n0.csv", "n2.csv", "n3.csv"};
    const char *const caches[] = {"n0.parley", "n2.parley", "n3.parley"};
    for (unsigned i = 0; i < 3; i++)
        make_cache(names[i], texts[i], NULL, caches[i]);
    assert_refused("n0.parley n2.parley", &(pl_reading){0}, "different column or class names");
    assert_refused("n0.parley n3.parley", &(pl_reading){0}, "different column or class names");
    assert_int_equal(read_words("n0.parley n0.parley", &(pl_reading){0}, &data, &error), PARLEY_OK);
    assert_true(data->x.rows == 4 && data->names.count == data->x.columns && data->classes.count == 2);
    parley_data_free(data);
}

static void lost_memory_is_told_and_nothing_is_leaked(void **state) {
    (void)state;
    const char *const words[] = {"a.svm b.svm c.svm", "a.csv b.csv", "a.parley c.parley", "w.parley v.parley",
                                 "n0.parley n0.parley"};
    for (unsigned w = 0; w < 5; w++) {
        parley_status status = PARLEY_NO_MEMORY;
        int64_t n = 0;
        for (; status != PARLEY_OK && n < 500; n++) {
            parley_data *data;
            parley_error error = {0};
            pl_memory_fail_after(n);
            status = read_words(words[w], &(pl_reading){0}, &data, &error);
            pl_memory_fail_after(-1);
            if (status != PARLEY_OK) {
                assert_int_equal(status, PARLEY_NO_MEMORY);
                assert_null(data);
            }
            parley_data_free(data);
        }
        assert_int_equal(status, PARLEY_OK);
        assert_true(n > 10);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_in_the_order_of_the_files),
        cmocka_unit_test(a_pattern_stands_for_its_files_sorted),
        cmocka_unit_test(a_heading_may_be_in_every_file_or_in_the_first),
        cmocka_unit_test(faults_name_the_file_and_its_line),
        cmocka_unit_test(caches_are_joined_where_their_columns_are_the_same),
        cmocka_unit_test(joined_caches_keep_values_weights_and_names),
        cmocka_unit_test(lost_memory_is_told_and_nothing_is_leaked),
    };
    return cmocka_run_group_tests_name("inputs", tests, open_all, close_all);
}
