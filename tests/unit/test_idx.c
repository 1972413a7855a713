/* test_idx.c: IDX files: every type, labels beside images, and files that contradict their header. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp, strdup */
#include "format_helpers.h"

static const pl_reading bare = {.unlabelled = true};

static void every_type_is_read_right(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t count;
        const char *rows;
    } cases[] = {
        {"\0\0\x08\x03\0\0\0\2\0\0\0\1\0\0\0\3\0\xff\1\2\0\0", 22, "0|1:255 2:1\n0|0:2\n"},
        {"\0\0\x09\x02\0\0\0\1\0\0\0\2\xff\x7f", 14, "0|0:-1 1:127\n"},
        {"\0\0\x0b\x02\0\0\0\1\0\0\0\2\xff\xfe\1\0", 16, "0|0:-2 1:256\n"},
        {"\0\0\x0c\x02\0\0\0\1\0\0\0\2\xff\xff\xff\xff\0\1\0\0", 20, "0|0:-1 1:65536\n"},
        {"\0\0\x0d\x02\0\0\0\1\0\0\0\1\xbf\0\0\0", 16, "0|0:-0.5\n"},
        {"\0\0\x0e\x02\0\0\0\1\0\0\0\1\x3f\xf8\0\0\0\0\0\0", 20, "0|0:1.5\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        parley_data *data = parse_as(cases[i].bytes, cases[i].count, &bare);
        assert_ptr_equal(data->format, &pl_format_idx);
        assert_string_equal(rows_of(data), cases[i].rows);
        parley_data_free(data);
    }
}

static void columns_are_those_of_the_header(void **state) {
    (void)state;
    parley_data *data = parse_as("\0\0\x08\x03\0\0\0\1\0\0\0\2\0\0\0\2\7\0\0\0", 20, &bare);
    assert_int_equal(data->x.columns, 4);
    assert_int_equal(data->x.nonzeros, 1);
    parley_data_free(data);
}

static void every_fault_has_its_sentence(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t count;
        const char *sentence;
    } faults[] = {
        {"\0\0\x08\x01\0\0\0\1\7", 9,
         "t: this IDX file has one dimension, so it holds labels; give the file of images"},
        {"\0\0\x08\x03\0\0\0\1\0\0", 10, "t: not valid IDX: its header is cut off"},
        {"\0\0\x08\x02\0\0\0\1\0\0\0\0", 12, "t: not valid IDX: its rows are empty or larger than 2147483648 bytes"},
        {"\0\0\x08\x03\0\0\0\1\xff\xff\xff\xff\xff\xff\xff\xff", 16,
         "t: not valid IDX: its rows are empty or larger than 2147483648 bytes"},
        {"\0\0\x08\x02\0\0\0\3\0\0\0\2\1\1\2\2", 16, "t: 2 rows, but its header says 3; the file is cut off"},
        {"\0\0\x08\x02\0\0\0\3\0\0\0\2\1\1\2\2\3", 17,
         "t:3: a row that is cut off; the file is shorter than its header says"},
        {"\0\0\x08\x02\0\0\0\1\0\0\0\2\1\1\2\2", 16, "t:2: more rows than the header says"},
        {"\0\0\x0d\x02\0\0\0\1\0\0\0\1\x7f\x80\0\0", 16, "t:1: the value of column 1 is not a finite 32-bit float"},
        {"\0\0\x08\x02\0\0\0\0\0\0\0\2", 12, "t: no rows; its header says 0 rows"},
    };
    static const char *const others[] = {"\0\0", "\1\0\x08\2", "\0\1\x08\2", "\0\0\x07\2", "\0\0\x08\0"};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        assert_fault(faults[i].bytes, faults[i].count, &bare, faults[i].sentence);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_fault(others[i], i == 0 ? 2 : 4, &(pl_reading){.format = &pl_format_idx},
                     "t: not IDX: it does not begin with 0 0 type dimensions");
    assert_fault("1,2\n", 4, &(pl_reading){.format = &pl_format_idx},
                 "t: not IDX: it does not begin with 0 0 type dimensions");
}

static void labels_are_found_beside_images(void **state) {
    (void)state;
    parley_data *data;
    parley_error error = {0};
    char images[256], labels[256], expected[700];
    snprintf(labels, sizeof labels, "%s", in_folder("x-labels-idx1-ubyte"));
    snprintf(images, sizeof images, "%s", in_folder("x-images-idx3-ubyte"));
    write_bytes(images, "\0\0\x08\x03\0\0\0\2\0\0\0\1\0\0\0\2\5\0\0\6", 20);
    assert_int_equal(pl_data_read(images, three, NULL, NULL, &data, &error), PARLEY_BAD_INPUT);
    snprintf(expected, sizeof expected, "%s: no labels: there is no file %s; name their file with --labels", images,
             labels);
    assert_string_equal(error.sentence, expected);
    write_bytes(labels, "\0\0\x08\x01\0\0\0\2\3\x9", 10);
    for (int kind = 0; kind < 2; kind++) {
        const pl_reading reading = {.labels = kind ? labels : ""};
        assert_int_equal(pl_data_read_as(images, &reading, three, &data, &error), PARLEY_OK);
        assert_string_equal(rows_of(data), "3|0:5\n9|1:6\n");
        parley_data_free(data);
    }
    assert_survives(images, &(pl_reading){0});
    write_bytes(labels, "\0\0\x08\x01\0\0\0\1\3", 9);
    assert_int_equal(pl_data_read(images, three, NULL, NULL, &data, &error), PARLEY_BAD_INPUT);
    snprintf(expected, sizeof expected, "%s: 1 rows of 1 labels for 2 rows; each row needs one label", labels);
    assert_string_equal(error.sentence, expected);
    write_bytes(labels, "\0\0\x08\x01\0\0\0\2\3", 9);
    assert_int_equal(pl_data_read(images, three, NULL, NULL, &data, &error), PARLEY_BAD_INPUT);
    snprintf(expected, sizeof expected, "%s: not valid IDX: its size does not match its header", labels);
    assert_string_equal(error.sentence, expected);
    write_bytes(labels, "\0\0\x0d\x01\0\0\0\2\0\0\0\0\x7f\x80\0\0", 16);
    assert_int_equal(pl_data_read(images, three, NULL, NULL, &data, &error), PARLEY_BAD_INPUT);
    snprintf(expected, sizeof expected, "%s:2: the label is not finite", labels);
    assert_string_equal(error.sentence, expected);
    write_bytes(labels, "no labels", 9);
    assert_int_equal(pl_data_read(images, three, NULL, NULL, &data, &error), PARLEY_BAD_INPUT);
    snprintf(expected, sizeof expected, "%s: not IDX: it does not begin with 0 0 type dimensions", labels);
    assert_string_equal(error.sentence, expected);
    data = parse_as("\0\0\x08\x03\0\0\0\2\0\0\0\1\0\0\0\2\5\0\0\6", 20, &bare);
    assert_int_equal(pl_data_write_cache(data, in_folder("cache"), &error), PARLEY_OK);
    parley_data_free(data);
    const pl_reading cached = {.labels = in_folder("cache")};
    assert_int_equal(pl_data_read_as(images, &cached, three, &data, &error), PARLEY_BAD_INPUT);
    assert_non_null(strstr(error.sentence, "/cache: not IDX: it is a cache"));
    write_bytes(in_folder("pictures"), "\0\0\x08\x03\0\0\0\1\0\0\0\1\0\0\0\1\5", 17);
    assert_int_equal(pl_data_read(path_text, three, NULL, NULL, &data, &error), PARLEY_BAD_INPUT);
    assert_non_null(strstr(error.sentence, "/pictures: no labels: its name has no `images` to replace by `labels`; "));
}

static void streams_in_pieces_give_the_same(void **state) {
    (void)state;
    enum { ROWS = 300, WIDTH = 9 };
    unsigned char bytes[12 + ROWS * WIDTH] = {0, 0, 8, 2, 0, 0, ROWS >> 8, ROWS & 255, 0, 0, 0, WIDTH};
    pl_stream stream = pl_stream_make(3, 0, 0);
    for (unsigned i = 0; i < ROWS * WIDTH; i++)
        bytes[12 + i] = (unsigned char)(pl_random_below(&stream, 3) ? 0 : pl_random_below(&stream, 256));
    parley_data *data = parse_as((const char *)bytes, sizeof bytes, &bare);
    pl_reader *reader;
    const parley_data *batch;
    parley_error error;
    uint64_t rows = 0, nonzeros = 0;
    write_bytes(in_folder("some.idx"), bytes, sizeof bytes);
    assert_int_equal(pl_reader_open_blocks_as(path_text, &bare, three, 10, &reader, &error), PARLEY_OK);
    while (pl_reader_next(reader, &batch, &error) == PARLEY_OK && batch) {
        rows += batch->x.rows;
        nonzeros += batch->x.nonzeros;
    }
    assert_int_equal(rows, ROWS);
    assert_int_equal(nonzeros, data->x.nonzeros);
    pl_reader_close(reader);
    parley_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_read_right),        cmocka_unit_test(columns_are_those_of_the_header),
        cmocka_unit_test(every_fault_has_its_sentence),    cmocka_unit_test(labels_are_found_beside_images),
        cmocka_unit_test(streams_in_pieces_give_the_same),
    };
    return cmocka_run_group_tests_name("idx", tests, open_pools, close_pools);
}
