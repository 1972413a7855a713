/* test_container.c: safetensors files: files open as they were written, and invalid ones are rejected. */
#define _POSIX_C_SOURCE 200809L
#include "data_helpers.h"

#include <dirent.h>

#include "data/container.h"

static const double reals[] = {1.5, -2, 0};
static const uint64_t counts[] = {7, UINT64_MAX};
static const float floats[] = {1, 2, 3, 4, 5, 6};
static const uint32_t ids[] = {9};

static const pl_tensor tensors[] = {
    {"reals", PL_F64, 1, {3}, reals},      {"counts", PL_U64, 2, {1, 2}, counts}, {"none", PL_F64, 2, {0, 5}, reals},
    {"floats", PL_F32, 2, {2, 3}, floats}, {"ids", PL_U32, 1, {1}, ids},
};
static const pl_pair metas[] = {{"format", "test"}, {"quote \" \xc3\xa9", "line\nbreak"}, {"empty", ""}};

static void assert_written(const pl_container *container) {
    const pl_tensor *first;
    const pl_pair *pairs;
    assert_int_equal(pl_container_tensors(container, &first), 5);
    assert_int_equal(pl_container_metas(container, &pairs), 3);
    for (unsigned i = 0; i < 5; i++) {
        const pl_tensor *tensor = pl_container_tensor(container, tensors[i].name);
        assert_non_null(tensor);
        assert_int_equal(tensor->type, tensors[i].type);
        assert_int_equal(tensor->dims, tensors[i].dims);
        assert_int_equal(tensor->shape[0], tensors[i].shape[0]);
        uint64_t items = tensors[i].shape[0] * (tensors[i].dims == 2 ? tensors[i].shape[1] : 1);
        uint64_t width = tensors[i].type == PL_F64 || tensors[i].type == PL_U64 ? 8 : 4;
        assert_int_equal((uintptr_t)tensor->data % width, 0);
        if (items > 0)
            assert_memory_equal(tensor->data, tensors[i].data, items * width);
    }
    for (unsigned i = 0; i < 3; i++)
        assert_string_equal(pl_container_meta(container, metas[i].key), metas[i].value);
    assert_null(pl_container_tensor(container, "other"));
    assert_null(pl_container_meta(container, "other"));
}

static void what_is_written_opens_the_same(void **state) {
    (void)state;
    parley_error error = {0};
    pl_container *container;
    const char *path = in_folder("a.safetensors");
    assert_int_equal(pl_container_write(path, tensors, 5, metas, 3, &error), PARLEY_OK);
    assert_int_equal(pl_container_open(path, &container, &error), PARLEY_OK);
    assert_written(container);
    pl_container_close(container);
    size_t count;
    char *bytes = read_bytes(path, &count);
    uint64_t header;
    memcpy(&header, bytes, sizeof header);
    assert_int_equal((header + 8) % 64, 0);
    assert_int_equal(count, 8 + header + 24 + 16 + 24 + 4);
    assert_int_equal(pl_container_parse(bytes, count, "memory", &container, &error), PARLEY_OK);
    assert_written(container);
    pl_container_close(container);
    free(bytes);
}

static void the_bytes_written_depend_on_the_arguments_only(void **state) {
    (void)state;
    parley_error error = {0};
    size_t counts_written[2];
    char *bytes[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pl_container_write(in_folder(i ? "b" : "c"), tensors, 5, metas, 3, &error), PARLEY_OK);
        bytes[i] = read_bytes(path_text, &counts_written[i]);
    }
    assert_int_equal(counts_written[0], counts_written[1]);
    assert_memory_equal(bytes[0], bytes[1], counts_written[0]);
    free(bytes[0]);
    free(bytes[1]);
}

/* Parses bytes in memory: a file with this header and `data` bytes of zeros. */
static parley_status parse(const char *header, size_t data, parley_error *error) {
    uint64_t length = strlen(header);
    while ((8 + length) % 8)
        length++;
    uint64_t *bytes = calloc((8 + length + data) / 8 + 1, 8);
    assert_non_null(bytes);
    memset(bytes + 1, ' ', length);
    memcpy(bytes + 1, header, strlen(header));
    bytes[0] = length;
    pl_container *container;
    parley_status status = pl_container_parse(bytes, 8 + length + data, "x", &container, error);
    assert_int_equal(status == PARLEY_OK, container != NULL);
    pl_container_close(container);
    free(bytes);
    return status;
}

#define WRONG "x: not a valid safetensors file: "
#define TENSOR(name, type, shape, begin, end)                                                                          \
    "\"" name "\":{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":[" #begin "," #end "]}"

static const struct {
    const char *header;
    size_t data;
    const char *sentence;
} cases[] = {
    {"{}", 0, NULL},
    {"{" TENSOR("a", "F64", "[2]", 0, 16) "}", 16, NULL},
    {"{" TENSOR("b", "F64", "[1]", 8, 16) "," TENSOR("a", "F64", "[1]", 0, 8) "}", 16, NULL},
    {"{" TENSOR("a", "F32", "[2]", 0, 8) "," TENSOR("e", "F32", "[0]", 8, 8) "}", 8, NULL},
    {"[]", 0, WRONG "its header is not a JSON object"},
    {"{\"a\":1}", 0, WRONG "tensor \"a\" must have dtype, shape and data_offsets"},
    {"{\"a\":{\"dtype\":\"F64\",\"shape\":[0]}}", 0, WRONG "tensor \"a\" must have dtype, shape and data_offsets"},
    {"{\"__metadata__\":[]}", 0, WRONG "its metadata are not an object"},
    {"{\"__metadata__\":{\"a\":1}}", 0, WRONG "its metadata are not all strings"},
    {"{" TENSOR("a", "F16", "[2]", 0, 4) "}", 4, WRONG "tensor \"a\" has a type other than F64, U64, F32, U32 and U8"},
    {"{" TENSOR("a", "F64", "[]", 0, 8) "}", 8, WRONG "tensor \"a\" has a shape other than [n] and [n, m]"},
    {"{" TENSOR("a", "F64", "[1,1,1]", 0, 8) "}", 8, WRONG "tensor \"a\" has a shape other than [n] and [n, m]"},
    {"{" TENSOR("a", "F64", "[-1]", 0, 8) "}", 8, WRONG "tensor \"a\" has a shape other than [n] and [n, m]"},
    {"{" TENSOR("a", "F64", "[1.0]", 0, 8) "}", 8, WRONG "tensor \"a\" has a shape other than [n] and [n, m]"},
    {"{" TENSOR("a", "F64", "[2]", 0, 16) "}", 8, WRONG "tensor \"a\" lies outside the file"},
    {"{" TENSOR("a", "F64", "[1]", 16, 8) "}", 8, WRONG "tensor \"a\" lies outside the file"},
    {"{" TENSOR("a", "F64", "[1]", -8, 0) "}", 8, WRONG "tensor \"a\" lies outside the file"},
    {"{" TENSOR("a", "F64", "[2]", 0, 8) "}", 8, WRONG "tensor \"a\" has a shape that does not fit its size"},
    {"{" TENSOR("a", "F64", "[2305843009213693953]", 0, 8) "}", 8,
     WRONG "tensor \"a\" has a shape that does not fit its size"},
    {"{" TENSOR("a", "F64", "[4294967296,4294967296]", 0, 0) "}", 0,
     WRONG "tensor \"a\" has a shape that does not fit its size"},
    {"{" TENSOR("b", "F32", "[1]", 0, 4) "," TENSOR("a", "F64", "[1]", 4, 12) "}", 12,
     WRONG "tensor \"a\" is not aligned to its type"},
    {"{" TENSOR("a", "F64", "[2]", 0, 16) "," TENSOR("b", "F64", "[1]", 8, 16) "}", 16,
     WRONG "tensor \"b\" overlaps another tensor or follows a gap"},
    {"{" TENSOR("a", "F64", "[1]", 0, 8) "," TENSOR("b", "F64", "[1]", 0, 8) "}", 8, NULL /* either name; see below */},
    {"{" TENSOR("a", "F64", "[1]", 8, 16) "}", 16, WRONG "tensor \"a\" overlaps another tensor or follows a gap"},
    {"{" TENSOR("a", "F64", "[1]", 0, 8) "}", 16, WRONG "there are bytes after its last tensor"},
};

static void every_invalid_header_is_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        parley_error error = {0};
        parley_status status = parse(cases[i].header, cases[i].data, &error);
        if (strstr(cases[i].header, TENSOR("b", "F64", "[1]", 0, 8))) {
            assert_int_equal(status, PARLEY_BAD_INPUT);
            assert_non_null(strstr(error.sentence, "overlaps another tensor or follows a gap"));
        } else if (cases[i].sentence) {
            assert_int_equal(status, PARLEY_BAD_INPUT);
            assert_string_equal(error.sentence, cases[i].sentence);
        } else
            assert_int_equal(status, PARLEY_OK);
    }
}

static void headers_that_are_no_json_are_refused(void **state) {
    (void)state;
    static const char *const headers[] = {
        "",
        "{",
        "{} x",
        "{\"a\":{},\"a\":{}}",
        "{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}",
        "nonsense",
        "{\"a\":{\"dtype\":\"F64\",\"shape\":[99999999999999999999],\"data_offsets\":[0,0]}}",
        "{\"\xff\":1}"};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        parley_error error = {0};
        assert_int_equal(parse(headers[i], 0, &error), PARLEY_BAD_INPUT);
        assert_non_null(strstr(error.sentence, WRONG "its header is not JSON: "));
    }
}

static void sizes_that_lie_are_refused(void **state) {
    (void)state;
    static const uint64_t lengths[] = {3, 1000, 100000001, (uint64_t)1 << 63, UINT64_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        uint64_t bytes[2] = {lengths[i]};
        memcpy(bytes + 1, "{}", 2);
        pl_container *container;
        parley_error error = {0};
        assert_int_equal(pl_container_parse(bytes, 10, "x", &container, &error), PARLEY_BAD_INPUT);
        assert_null(container);
        assert_string_equal(error.sentence, WRONG "its header is longer than the file");
        assert_int_equal(pl_container_parse(bytes, 7, "x", &container, &error), PARLEY_BAD_INPUT);
        assert_string_equal(error.sentence, WRONG "it is too short");
    }
}

static void text_is_a_file_of_another_kind(void **state) {
    (void)state;
    static const char text[] = "+1 3:0.5 7:1\n";
    pl_container *container;
    parley_error error = {0};
    assert_int_equal(pl_container_parse(text, sizeof text - 1, "x", &container, &error), PARLEY_BAD_INPUT);
    assert_string_equal(error.sentence, WRONG "it is a file of another kind");
}

static void files_that_cannot_be_opened_are_told(void **state) {
    (void)state;
    pl_container *container;
    parley_error error = {0};
    char expected[400];
    assert_int_equal(pl_container_open(in_folder("missing"), &container, &error), PARLEY_NO_FILE);
    snprintf(expected, sizeof expected, "%s: cannot open: No such file or directory", path_text);
    assert_string_equal(error.sentence, expected);
    assert_int_equal(pl_container_open(folder, &container, &error), PARLEY_NO_FILE);
    write_bytes(in_folder("empty"), "", 0);
    assert_int_equal(pl_container_open(path_text, &container, &error), PARLEY_BAD_INPUT);
    snprintf(expected, sizeof expected, "%s: not a valid safetensors file: it is empty", path_text);
    assert_string_equal(error.sentence, expected);
}

static void damage_anywhere_never_crashes(void **state) {
    (void)state;
    parley_error error = {0};
    size_t count;
    assert_int_equal(pl_container_write(in_folder("damage"), tensors, 5, metas, 3, &error), PARLEY_OK);
    char *bytes = read_bytes(path_text, &count), *copy = malloc(count);
    pl_container *container;
    for (size_t i = 0; i < count; i++) {
        memcpy(copy, bytes, count);
        for (int bit = 0; bit < 8; bit++) {
            copy[i] = (char)(bytes[i] ^ 1 << bit);
            if (pl_container_parse(copy, count, "x", &container, &error) == PARLEY_OK)
                pl_container_close(container);
        }
        assert_int_not_equal(pl_container_parse(bytes, i, "x", &container, &error), PARLEY_OK);
    }
    free(bytes);
    free(copy);
}

static unsigned files_in_folder(void) {
    unsigned count = 0;
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    while (readdir(listing))
        count++;
    closedir(listing);
    return count;
}

static void a_failed_write_leaves_the_old_file_and_nothing_else(void **state) {
    (void)state;
    parley_error error = {0};
    const pl_pair bad[] = {{"key", "\xff\xfe"}};
    size_t count;
    write_bytes(in_folder("kept"), "old", 3);
    unsigned before = files_in_folder();
    assert_int_equal(pl_container_write(path_text, tensors, 5, bad, 1, &error), PARLEY_BAD_INPUT);
    for (int64_t n = 0; n < 3; n++) {
        pl_memory_fail_after(n);
        assert_int_equal(pl_container_write(path_text, tensors, 5, metas, 3, &error), PARLEY_NO_MEMORY);
        pl_memory_fail_after(-1);
    }
    char *bytes = read_bytes(path_text, &count);
    assert_string_equal(bytes, "old");
    free(bytes);
    assert_int_equal(files_in_folder(), before);
    assert_int_equal(pl_container_write(path_text, tensors, 5, metas, 3, &error), PARLEY_OK);
    assert_int_equal(files_in_folder(), before);
    assert_int_equal(pl_container_write("/dev/full", tensors, 5, metas, 3, &error), PARLEY_NO_FILE);
    assert_string_equal(error.sentence, "/dev/full: cannot write: No space left on device");
    assert_int_equal(pl_container_write("/dev/null", tensors, 5, metas, 3, &error), PARLEY_OK);
}

static void every_failed_allocation_is_survived(void **state) {
    (void)state;
    parley_error error = {0};
    parley_status status = PARLEY_NO_MEMORY;
    assert_int_equal(pl_container_write(in_folder("memory"), tensors, 5, metas, 3, &error), PARLEY_OK);
    for (int64_t n = 0; status != PARLEY_OK && n < 2000; n++) {
        pl_container *container;
        pl_memory_fail_after(n);
        status = pl_container_open(path_text, &container, &error);
        pl_memory_fail_after(-1);
        assert_true(status == PARLEY_OK || (status == PARLEY_NO_MEMORY && !container));
        pl_container_close(container);
    }
    assert_int_equal(status, PARLEY_OK);
}

/* Twenty megabytes of small JSON values would take gigabytes. */
static void headers_that_would_take_gigabytes_are_refused(void **state) {
    (void)state;
    const uint64_t lengths[] = {(uint64_t)20 << 20, (uint64_t)6 << 20};
    static const char *const why[] = {"its header has 20971520 bytes, but Parley reads headers of at most 8388608",
                                      "its header is not JSON: it has more than 65536 values"};
    for (unsigned i = 0; i < 2; i++) {
        char *bytes = malloc(lengths[i] + 8);
        pl_container *container;
        parley_error error = {0};
        assert_non_null(bytes);
        memcpy(bytes, &lengths[i], 8);
        memcpy(bytes + 8, "{\"a\":[", 6);
        for (uint64_t at = 14; at < lengths[i] + 8; at += 3)
            memcpy(bytes + at, "{},", lengths[i] + 8 - at < 3 ? lengths[i] + 8 - at : 3);
        assert_int_equal(pl_container_parse(bytes, lengths[i] + 8, "x", &container, &error), PARLEY_BAD_INPUT);
        assert_non_null(strstr(error.sentence, why[i]));
        assert_null(container);
        free(bytes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_opens_the_same),
        cmocka_unit_test(the_bytes_written_depend_on_the_arguments_only),
        cmocka_unit_test(every_invalid_header_is_refused),
        cmocka_unit_test(headers_that_are_no_json_are_refused),
        cmocka_unit_test(sizes_that_lie_are_refused),
        cmocka_unit_test(headers_that_would_take_gigabytes_are_refused),
        cmocka_unit_test(text_is_a_file_of_another_kind),
        cmocka_unit_test(files_that_cannot_be_opened_are_told),
        cmocka_unit_test(damage_anywhere_never_crashes),
        cmocka_unit_test(a_failed_write_leaves_the_old_file_and_nothing_else),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests_name("container", tests, make_folder, remove_folder);
}
