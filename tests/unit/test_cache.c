/* test_cache.c: data caches: they open as they were written, and every number is checked before use. */
#define _POSIX_C_SOURCE 200809L
#include "data_helpers.h"

#include <math.h>

#include "data/cache.h"
#include "data/container.h"
#include "data/format.h"

static pl_pool *pool;

static int open_all(void **state) {
    pool = open_pool(2);
    return make_folder(state);
}

static int close_all(void **state) {
    pl_pool_close(pool);
    return remove_folder(state);
}

static parley_data *parse(const char *text) {
    parley_data *data;
    parley_error error = {0};
    if (pl_data_parse(text, strlen(text), "t.svm", pool, 0, &data, &error) != PARLEY_OK)
        fail_msg("%s", error.sentence);
    return data;
}

static void a_cache_reads_as_the_data_it_was_made_from(void **state) {
    (void)state;
    static const char *const texts[] = {"1 1:0.5 3:2\n-1\n2.5 2:1 9:-1e-3\n", "1 1:1 3:1\n-1 2:1\n", "1\n2\n"};
    for (size_t i = 0; i < 6; i++) {
        parley_data *data = parse(texts[i / 2]), *again;
        parley_error error = {0};
        if (i % 2) {
            char weights[64] = "1\n0\n0.25\n";
            write_bytes(in_folder("weights"), weights, data->x.rows == 3 ? 9 : 4);
            assert_int_equal(pl_data_read_weights(data, path_text, &error), PARLEY_OK);
        }
        const char *path = in_folder("a.cache");
        assert_int_equal(pl_data_write_cache(data, path, &error), PARLEY_OK);
        if (pl_data_read(path, pool, NULL, NULL, &again, &error) != PARLEY_OK)
            fail_msg("%s", error.sentence);
        assert_true(again->from_cache && again->container);
        assert_same_data(data, again);
        assert_true(again->file_bytes >= pl_data_bytes(again));
        parley_data_free(again);
        parley_data_free(data);
    }
}

static void a_cache_states_its_format_and_shape(void **state) {
    (void)state;
    parley_data *data = parse("1 1:0.5 3:2\n-1\n2.5 2:1 9:-1e-3\n");
    parley_error error = {0};
    pl_container *container;
    const pl_tensor *first;
    assert_int_equal(pl_data_write_cache(data, in_folder("b.cache"), &error), PARLEY_OK);
    assert_int_equal(pl_container_open(path_text, &container, &error), PARLEY_OK);
    assert_string_equal(pl_container_meta(container, "format"), "parley-data-1");
    assert_string_equal(pl_container_meta(container, "rows"), "3");
    assert_string_equal(pl_container_meta(container, "columns"), "9");
    assert_string_equal(pl_container_meta(container, "nonzeros"), "4");
    assert_int_equal(pl_container_tensors(container, &first), 4);
    pl_container_close(container);
    parley_data_free(data);
}

static void a_cache_can_be_read_in_pieces(void **state) {
    (void)state;
    enum { ROWS = 300000 };
    char *text = malloc(ROWS * 40), *p = text;
    for (int i = 0; i < ROWS; i++)
        p += sprintf(p, "%d 1:1 2:2 3:3 4:4 5:5 6:%d\n", i, i % 1000);
    parley_data *data = parse(text);
    parley_error error = {0};
    pl_reader *reader;
    const parley_data *batch;
    uint64_t row = 0, batches = 0;
    assert_int_equal(pl_data_write_cache(data, in_folder("c.cache"), &error), PARLEY_OK);
    assert_int_equal(pl_reader_open(path_text, pool, &reader, &error), PARLEY_OK);
    while (pl_reader_next(reader, &batch, &error) == PARLEY_OK && batch) {
        batches++;
        for (uint64_t i = 0; i < batch->x.rows; i++, row++) {
            assert_true(batch->label[i] == (double)row);
            uint64_t last = batch->x.start[i + 1] - 1;
            if (batch->x.index[last] != 5 || batch->x.values.narrow[last] != (float)(row % 1000))
                fail();
        }
    }
    assert_int_equal(row, ROWS);
    assert_true(batches > 1);
    pl_reader_close(reader);
    parley_data_free(data);
    free(text);
}

/* Three rows with four entries over ten columns. Tests corrupt one number and open the result. */
typedef struct spoiled {
    uint64_t start[4];
    double label[3], weight[3];
    uint32_t index[4];
    float value[4];
    const char *rows, *columns, *nonzeros, *format;
    unsigned tensors;
} spoiled;

static const spoiled sound = {{0, 2, 2, 4}, {1, -1, 2}, {1, 0, 2}, {0, 2, 1, 9},    {0.5F, 2, 1, 3},
                              "3",          "10",       "4",       "parley-data-1", 5};

static parley_status open_spoiled(const spoiled *s, parley_error *error) {
    const pl_tensor tensors[] = {{"start", PL_U64, 1, {4}, s->start},
                                 {"label", PL_F64, 1, {3}, s->label},
                                 {"weight", PL_F64, 1, {3}, s->weight},
                                 {"index", PL_U32, 1, {4}, s->index},
                                 {"value", PL_F32, 1, {4}, s->value}};
    const pl_pair metas[] = {
        {"format", s->format}, {"rows", s->rows}, {"columns", s->columns}, {"nonzeros", s->nonzeros}};
    parley_data *data;
    assert_int_equal(pl_container_write(in_folder("spoiled"), tensors, s->tensors, metas, 4, error), PARLEY_OK);
    parley_status status = pl_data_read(path_text, pool, NULL, NULL, &data, error);
    assert_int_equal(status == PARLEY_OK, data != NULL);
    parley_data_free(data);
    return status;
}

static void assert_refused(const spoiled *s, const char *what) {
    parley_error error = {0};
    char expected[400];
    assert_int_equal(open_spoiled(s, &error), PARLEY_BAD_INPUT);
    snprintf(expected, sizeof expected, "%s: %s", path_text, what);
    assert_string_equal(error.sentence, expected);
}

#define WRONG "not a valid data cache: "
#define ASSERT_SPOILED(change, sentence)                                                                               \
    do {                                                                                                               \
        spoiled s = sound;                                                                                             \
        change;                                                                                                        \
        assert_refused(&s, sentence);                                                                                  \
    } while (0)

static void every_wrong_number_is_found(void **state) {
    (void)state;
    parley_error error = {0};
    assert_int_equal(open_spoiled(&sound, &error), PARLEY_OK);
    ASSERT_SPOILED(s.start[0] = 1, WRONG "its offsets do not run from 0 to the number of nonzeros");
    ASSERT_SPOILED(s.start[3] = 5, WRONG "its offsets do not run from 0 to the number of nonzeros");
    ASSERT_SPOILED(s.start[1] = 5, WRONG "row 1: its offsets do not increase");
    ASSERT_SPOILED(s.start[2] = UINT64_MAX, WRONG "row 2: its offsets do not increase");
    ASSERT_SPOILED(s.start[2] = 1, WRONG "row 2: its offsets do not increase");
    ASSERT_SPOILED(s.index[3] = 10, WRONG "row 3: a column index is too large");
    ASSERT_SPOILED(s.index[1] = 0, WRONG "row 1: its column indices do not increase");
    ASSERT_SPOILED(s.index[2] = 9, WRONG "row 3: its column indices do not increase");
    ASSERT_SPOILED(s.value[2] = NAN, WRONG "row 3: a value is not finite");
    ASSERT_SPOILED(s.value[0] = -INFINITY, WRONG "row 1: a value is not finite");
    ASSERT_SPOILED(s.label[1] = NAN, WRONG "row 2: its label is not finite");
    ASSERT_SPOILED(s.label[1] = INFINITY, WRONG "row 2: its label is not finite");
    ASSERT_SPOILED(s.weight[2] = -1, WRONG "row 3: its weight is negative or not finite");
    ASSERT_SPOILED(s.weight[2] = NAN, WRONG "row 3: its weight is negative or not finite");
}

/* Rows with sets of labels index tables by their labels, as do rows whose labels are words. */
static void a_label_is_the_number_of_a_class(void **state) {
    (void)state;
    static const double labels[] = {0, 1, 2, 60000, -7, 1e15, 1e300, 0.5, -1e-9};
    parley_data *data, *again;
    parley_error error = {0};
    const pl_reading sets = {.format = &pl_format_multilabel};
    const char *text = "1,3 1:1\n2 2:1\n";
    assert_int_equal(pl_data_parse_as(text, strlen(text), "t", &sets, pool, 0, &data, &error), PARLEY_OK);
    assert_int_equal(data->classes.count, 2);
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        char expected[400];
        ((double *)data->label)[1] = labels[i];
        assert_int_equal(pl_data_write_cache(data, in_folder("g.cache"), &error), PARLEY_OK);
        parley_status status = pl_data_read(path_text, pool, NULL, NULL, &again, &error);
        assert_int_equal(status, i < 2 ? PARLEY_OK : PARLEY_BAD_INPUT);
        snprintf(expected, sizeof expected, "%s: " WRONG "row 2: its label is not the number of a class", path_text);
        if (i >= 2)
            assert_string_equal(error.sentence, expected);
        parley_data_free(again);
    }
    parley_data_free(data);
}

static void wrong_metadata_and_tensors_are_refused(void **state) {
    (void)state;
    static const char numbers[] = WRONG "its metadata lack valid rows, columns and nonzeros";
    static const char shapes[] =
        WRONG "its tensors are not start, label, weight, index, value and names of the right shape";
    ASSERT_SPOILED(s.format = "other", "a safetensors file, but not a data cache; its format is not parley-data-1");
    ASSERT_SPOILED(s.rows = "x", numbers);
    ASSERT_SPOILED(s.rows = "", numbers);
    ASSERT_SPOILED(s.rows = "18446744073709551616", numbers);
    ASSERT_SPOILED(s.columns = "2147483648", numbers);
    ASSERT_SPOILED(s.nonzeros = "-4", numbers);
    ASSERT_SPOILED(s.rows = "0", WRONG "it has no rows");
    ASSERT_SPOILED(s.rows = "4", shapes);
    ASSERT_SPOILED(s.nonzeros = "3", shapes);
    ASSERT_SPOILED(s.tensors = 3, shapes);
    ASSERT_SPOILED(s.columns = "9", WRONG "row 3: a column index is too large");
}

static void damage_anywhere_never_crashes(void **state) {
    (void)state;
    parley_data *data = parse("1 1:0.5 3:2\n-1\n2.5 2:1 9:-1e-3\n"), *again;
    parley_error error = {0};
    size_t count;
    assert_int_equal(pl_data_write_cache(data, in_folder("d.cache"), &error), PARLEY_OK);
    parley_data_free(data);
    char *bytes = read_bytes(path_text, &count), *copy = malloc(count);
    for (size_t i = 0; i < count; i++) {
        memcpy(copy, bytes, count);
        for (int bit = 0; bit < 8; bit++) {
            copy[i] = (char)(bytes[i] ^ 1 << bit);
            if (pl_cache_parse(copy, count, "x", pool, &again, &error) == PARLEY_OK)
                parley_data_free(again);
        }
        assert_int_not_equal(pl_cache_parse(bytes, i, "x", pool, &again, &error), PARLEY_OK);
        if (i % 7 == 0) { /* also as a file, whose format is recognised first */
            write_bytes(path_text, bytes, i);
            assert_int_not_equal(pl_data_read(path_text, pool, NULL, NULL, &again, &error), PARLEY_OK);
        }
    }
    free(bytes);
    free(copy);
}

static void a_cache_on_standard_input_is_refused(void **state) {
    (void)state;
    parley_data *data = parse("1 1:0.5\n"), *again;
    parley_error error = {0};
    assert_int_equal(pl_data_write_cache(data, in_folder("e.cache"), &error), PARLEY_OK);
    parley_data_free(data);
    size_t count;
    char *bytes = read_bytes(path_text, &count);
    int ends[2], kept = dup(STDIN_FILENO);
    pl_reader *reader;
    for (int kind = 0; kind < 2; kind++) {
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], bytes, count), count);
        close(ends[1]);
        dup2(ends[0], STDIN_FILENO);
        parley_status status =
            kind ? pl_reader_open("-", pool, &reader, &error) : pl_data_read("-", pool, NULL, NULL, &again, &error);
        dup2(kept, STDIN_FILENO);
        close(ends[0]);
        assert_int_equal(status, PARLEY_BAD_INPUT);
        assert_string_equal(error.sentence,
                            "standard input: a cache must be a file, because it is mapped; give its name");
    }
    close(kept);
    free(bytes);
}

static void every_failed_allocation_is_survived(void **state) {
    (void)state;
    parley_data *data = parse("1 1:0.5 3:2\n-1\n2.5 2:1 9:-1e-3\n"), *again;
    parley_error error = {0};
    parley_status status = PARLEY_NO_MEMORY;
    const char *path = in_folder("f.cache");
    for (int64_t n = 0; status != PARLEY_OK && n < 2000; n++) {
        pl_memory_fail_after(n);
        status = pl_data_write_cache(data, path, &error);
        pl_memory_fail_after(-1);
        assert_true(status == PARLEY_OK || status == PARLEY_NO_MEMORY);
    }
    assert_int_equal(status, PARLEY_OK);
    status = PARLEY_NO_MEMORY;
    for (int64_t n = 0; status != PARLEY_OK && n < 2000; n++) {
        pl_memory_fail_after(n);
        status = pl_data_read(path, pool, NULL, NULL, &again, &error);
        pl_memory_fail_after(-1);
        assert_true(status == PARLEY_OK || (status == PARLEY_NO_MEMORY && !again));
    }
    assert_int_equal(status, PARLEY_OK);
    assert_same_data(data, again);
    parley_data_free(again);
    parley_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cache_reads_as_the_data_it_was_made_from),
        cmocka_unit_test(a_cache_states_its_format_and_shape),
        cmocka_unit_test(a_cache_can_be_read_in_pieces),
        cmocka_unit_test(every_wrong_number_is_found),
        cmocka_unit_test(a_label_is_the_number_of_a_class),
        cmocka_unit_test(wrong_metadata_and_tensors_are_refused),
        cmocka_unit_test(damage_anywhere_never_crashes),
        cmocka_unit_test(a_cache_on_standard_input_is_refused),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests_name("cache", tests, open_all, close_all);
}
