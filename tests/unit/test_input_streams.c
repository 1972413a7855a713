/* test_input_streams.c: inputs through pipes and decompressors and in pieces, written text, weights, and failed
 * allocations.
 */
#define _POSIX_C_SOURCE 200809L
#include "format_helpers.h"

#include <fcntl.h>
#include <zlib.h>
#include <zstd.h>

#include "data/source.h"

static size_t gzip(const char *text, size_t bytes, char *out, size_t room) {
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = (unsigned char *)text;
    stream.avail_in = (unsigned)bytes;
    stream.next_out = (unsigned char *)out;
    stream.avail_out = (unsigned)room;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    size_t made = room - stream.avail_out;
    deflateEnd(&stream);
    return made;
}

static size_t zstd(const char *text, size_t bytes, char *out, size_t room) {
    size_t made = ZSTD_compress(out, room, text, bytes, 3);
    assert_false(ZSTD_isError(made));
    return made;
}

typedef size_t (*compressor)(const char *, size_t, char *, size_t);

/* Writes `text` as several members or frames, cut at arbitrary positions; returns the bytes. */
static size_t write_compressed(const char *path, compressor compress, const char *text, unsigned parts) {
    size_t bytes = strlen(text), room = bytes * 2 + 4096, used = 0;
    char *out = malloc(room);
    if (compress == zstd && parts > 1) { /* a frame to be skipped comes first */
        memcpy(out, "\x52\x2a\x4d\x18\x03\0\0\0abc", 11);
        used = 11;
    }
    for (unsigned i = 0; i < parts; i++) {
        size_t from = bytes / parts * i, to = i + 1 < parts ? bytes / parts * (i + 1) : bytes;
        used += compress(text + from, to - from, out + used, room - used);
    }
    write_bytes(path, out, used);
    free(out);
    return used;
}

static void compressed_files_read_as_their_text(void **state) {
    (void)state;
    static const compressor kinds[] = {gzip, zstd};
    char *text = random_text(5, 500, false);
    parley_data *expected = parse_text(text);
    for (int kind = 0; kind < 2; kind++)
        for (unsigned parts = 1; parts < 8; parts += 3)
            for (int threads = 0; threads < 2; threads++) {
                const char *path = in_folder("any-name");
                size_t bytes = write_compressed(path, kinds[kind], text, parts);
                parley_data *data;
                parley_error error = {0};
                if (pl_data_read_blocks(path, threads ? three : one, threads ? 100 : 0, NULL, NULL, &data, &error) !=
                    PARLEY_OK)
                    fail_msg("%s", error.sentence);
                assert_same_data(expected, data);
                assert_int_equal(data->file_bytes, bytes);
                parley_data_free(data);
            }
    parley_data_free(expected);
    free(text);
}

static void cut_and_damaged_compressed_files_are_refused(void **state) {
    (void)state;
    static const compressor kinds[] = {gzip, zstd};
    char *text = random_text(6, 300, false), expected[400];
    const char *path = in_folder("damaged");
    for (int kind = 0; kind < 2; kind++) {
        write_compressed(path, kinds[kind], text, 1);
        size_t count;
        char *bytes = read_bytes(path, &count);
        snprintf(expected, sizeof expected, "%s: corrupt %s data: it is cut off", path, kind ? "zstd" : "gzip");
        for (size_t cut = 10; cut < count; cut += 97) {
            write_bytes(path, bytes, cut);
            parley_data *data;
            parley_error error = {0};
            assert_int_equal(pl_data_read(path, three, NULL, NULL, &data, &error), PARLEY_BAD_INPUT);
            assert_string_equal(error.sentence, expected);
        }
        for (size_t flip = 4; flip < count; flip += 61) {
            bytes[flip] ^= 0x55;
            write_bytes(path, bytes, count);
            bytes[flip] ^= 0x55;
            parley_data *data;
            parley_error error = {0};
            if (pl_data_read(path, three, NULL, NULL, &data, &error) == PARLEY_OK)
                parley_data_free(data); /* parts of the header do not matter */
            else
                assert_non_null(strstr(error.sentence, path));
        }
        free(bytes);
    }
    free(text);
}

/* Runs `pl_data_read` of "-" with `file` as standard input. */
static parley_status read_standard(int file, uint64_t block, parley_data **data, parley_error *error) {
    int kept = dup(STDIN_FILENO);
    dup2(file, STDIN_FILENO);
    parley_status status = pl_data_read_blocks("-", three, block, NULL, NULL, data, error);
    dup2(kept, STDIN_FILENO);
    close(kept);
    return status;
}

static void standard_input_may_be_a_pipe_or_a_file(void **state) {
    (void)state;
    char *text = random_text(7, 100, false), packed[65536];
    parley_data *expected = parse_text(text), *data;
    parley_error error = {0};
    int ends[2];
    for (int kind = 0; kind < 3; kind++) {
        size_t bytes = kind == 0   ? strlen(text)
                       : kind == 1 ? gzip(text, strlen(text), packed, sizeof packed)
                                   : zstd(text, strlen(text), packed, sizeof packed);
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], kind ? packed : text, bytes), bytes);
        close(ends[1]);
        assert_int_equal(read_standard(ends[0], 64, &data, &error), PARLEY_OK);
        close(ends[0]);
        assert_same_data(expected, data);
        parley_data_free(data);
    }
    write_bytes(in_folder("input"), text, strlen(text));
    int file = open(path_text, O_RDONLY);
    assert_int_equal(read_standard(file, 64, &data, &error), PARLEY_OK);
    assert_same_data(expected, data);
    assert_string_equal(data->path, "standard input");
    parley_data_free(data);
    close(file);
    parley_data_free(expected);
    free(text);
}

static void a_fault_in_a_pipe_does_not_wait_for_its_end(void **state) {
    (void)state;
    char text[4096];
    int ends[2];
    parley_data *data;
    parley_error error = {0};
    memset(text, '\n', sizeof text);
    memcpy(text, "1 1:x\n", 6);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], text, sizeof text), sizeof text);
    assert_int_equal(read_standard(ends[0], 16, &data, &error), PARLEY_BAD_INPUT);
    assert_string_equal(error.sentence, "standard input:1: value \"x\" of column 1 is not a number");
    close(ends[0]);
    close(ends[1]);
}

static void text_written_reads_back_the_same(void **state) {
    (void)state;
    static const char *const names[] = {"out.svm", "out.svm.gz", "out.svm.zst"};
    pl_stream stream = pl_stream_make(8, 0, 0);
    enum { ROWS = 2000 };
    char *text = malloc(ROWS * 500), *p = text;
    for (int i = 0; i < ROWS; i++) { /* all kinds of floats and labels */
        char numeral[400];
        random_numeral(&stream, numeral, sizeof numeral);
        p += sprintf(p, "%.*g", 1 + i % 17, pl_random_normal(&stream) * pow(10, i % 40 - 20));
        p += sprintf(p, " %d:%s %d:%.9g\n", i + 1, numeral, i + 2, pl_random_normal(&stream));
    }
    parley_data *data = parse_text(text), *again;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        parley_error error = {0};
        const char *path = in_folder(names[i]);
        assert_int_equal(pl_data_write_libsvm(data, path, NULL, &error), PARLEY_OK);
        if (pl_data_read(path, three, NULL, NULL, &again, &error) != PARLEY_OK)
            fail_msg("%s", error.sentence);
        assert_same_data(data, again);
        parley_data_free(again);
    }
    parley_data_free(data);
    free(text);
}

static void text_is_written_in_the_shortest_form(void **state) {
    (void)state;
    parley_data *data =
        parse_text("+1 1:0.100 2:1e5 3:1e-7 4:-2.50 5:3e30 6:0 7:16777216 8:1e10\n1000 1:1\n-2.5\n1e300\n");
    parley_error error = {0};
    size_t count;
    assert_int_equal(pl_data_write_libsvm(data, in_folder("short.svm"), NULL, &error), PARLEY_OK);
    char *bytes = read_bytes(path_text, &count);
    assert_string_equal(bytes, "1 1:0.1 2:100000 3:1e-7 4:-2.5 5:3e30 6:0 7:16777216 8:1e10\n1000 1:1\n-2.5\n1e300\n");
    free(bytes);
    parley_data_free(data);
}

static void writing_fails_with_a_sentence_and_leaves_nothing(void **state) {
    (void)state;
    parley_data *data = parse_text("1 1:1\n");
    parley_error error = {0};
    assert_int_equal(pl_data_write_libsvm(data, "/nonexistent/folder/x.svm", NULL, &error), PARLEY_NO_FILE);
    assert_string_equal(error.sentence, "/nonexistent/folder/x.svm: cannot write: No such file or directory");
    assert_int_equal(pl_data_write_libsvm(data, "/dev/null", NULL, &error), PARLEY_OK);
    assert_int_equal(pl_data_write_libsvm(data, "/dev/full", NULL, &error), PARLEY_NO_FILE);
    assert_string_equal(error.sentence, "/dev/full: cannot write: No space left on device");
    parley_data_free(data);
}

static void told(void *user, const char *sentence) {
    char **text = user;
    free(*text);
    *text = strdup(*text ? "told twice" : sentence);
}

static void memory_needed_is_told_once(void **state) {
    (void)state;
    char *text = malloc(300000), *p = text, *sentence = NULL, expected[400];
    for (int i = 0; i < 10000; i++)
        p += sprintf(p, "1 3:0.5 9:0.123456\n");
    parley_data *data;
    parley_error error;
    write_bytes(in_folder("tell.svm"), text, (size_t)(p - text));
    assert_int_equal(pl_data_read_blocks(path_text, three, 2000, told, &sentence, &data, &error), PARLEY_OK);
    snprintf(expected, sizeof expected, "reading %s: 0.2 MB of text; needs about 0.3 MB of memory", path_text);
    assert_string_equal(sentence, expected);
    free(sentence);
    sentence = NULL;
    parley_data_free(data);
    write_compressed(path_text, gzip, text, 1);
    assert_int_equal(pl_data_read(path_text, three, told, &sentence, &data, &error), PARLEY_OK);
    assert_non_null(strstr(sentence, "MB of compressed text; needs about 0.3 MB of memory"));
    free(sentence);
    parley_data_free(data);
    free(text);
}

static void a_reader_gives_all_rows_in_pieces(void **state) {
    (void)state;
    char *text = random_text(9, 400, false);
    parley_data *expected = parse_text(text);
    const parley_data *batch;
    parley_error error = {0};
    const char *path = in_folder("pieces.svm");
    write_bytes(path, text, strlen(text));
    pl_reader *reader;
    assert_int_equal(pl_reader_open_blocks(path, three, 100, &reader, &error), PARLEY_OK);
    uint64_t row = 0, batches = 0;
    for (;; batches++) {
        assert_int_equal(pl_reader_next(reader, &batch, &error), PARLEY_OK);
        if (!batch)
            break;
        assert_true(batch->x.columns <= expected->x.columns);
        for (uint64_t i = 0; i < batch->x.rows; i++, row++) {
            uint64_t from = batch->x.start[i], count = batch->x.start[i + 1] - from, at = expected->x.start[row];
            assert_true(batch->label[i] == expected->label[row]);
            assert_int_equal(count, expected->x.start[row + 1] - at);
            for (uint64_t k = 0; k < count; k++) {
                assert_int_equal(batch->x.index[from + k], expected->x.index[at + k]);
                assert_true((float)pl_value_at(batch->x.values, from + k) == expected->x.values.narrow[at + k]);
            }
        }
    }
    assert_int_equal(row, expected->x.rows);
    assert_true(batches > 5);
    pl_reader_close(reader);
    parley_data_free(expected);
    free(text);
}

static void a_reader_names_the_line_of_a_fault(void **state) {
    (void)state;
    char text[4000], *p = text;
    for (int i = 0; i < 200; i++)
        p += sprintf(p, i == 150 ? "1 1\n" : "1 1:2\n");
    pl_reader *reader;
    const parley_data *batch;
    parley_error error = {0};
    parley_status status = PARLEY_OK;
    write_bytes(in_folder("pieces.svm"), text, (size_t)(p - text));
    assert_int_equal(pl_reader_open_blocks(path_text, three, 16, &reader, &error), PARLEY_OK);
    do
        status = pl_reader_next(reader, &batch, &error);
    while (status == PARLEY_OK && batch);
    assert_int_equal(status, PARLEY_BAD_INPUT);
    assert_non_null(strstr(error.sentence, "pieces.svm:151: \"1\" has no colon"));
    pl_reader_close(reader);
    write_bytes(in_folder("pieces.svm"), "# none\n", 7);
    assert_int_equal(pl_reader_open(path_text, three, &reader, &error), PARLEY_OK);
    assert_int_equal(pl_reader_next(reader, &batch, &error), PARLEY_BAD_INPUT);
    assert_non_null(strstr(error.sentence, "no rows"));
    pl_reader_close(reader);
}

static void weights_are_one_per_row(void **state) {
    (void)state;
    static const struct {
        const char *text, *sentence; /* after the path */
    } cases[] = {
        {"1\n2.5\n0\n", NULL},
        {" 1 \r\n\n2.5\n# c\n0", NULL},
        {"1\n2\n", ": 2 weights for the 3 rows of t.svm"},
        {"1\n2\n3\n4\n", ": 4 weights for the 3 rows of t.svm"},
        {"1\nx\n3\n", ":2: not a number; each line must be one weight"},
        {"1\n2 3\n3\n", ":2: text after the number; each line must be one weight"},
        {"1\n2\n-3\n", ":3: a weight must be finite and not negative"},
        {"1\n2\n1e999\n", ":3: a weight must be finite and not negative"},
        {"1\nnan\n3\n", ":2: not a number; each line must be one weight"},
        {"0\n0\n0\n", ": every weight is 0; at least one must be positive"},
    };
    parley_data *data = parse_text("1 1:1\n2 1:1\n3 1:1\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        parley_error error = {0};
        char expected[400];
        write_bytes(in_folder("weights"), cases[i].text, strlen(cases[i].text));
        parley_status status = pl_data_read_weights(data, path_text, &error);
        assert_int_equal(status, cases[i].sentence ? PARLEY_BAD_INPUT : PARLEY_OK);
        snprintf(expected, sizeof expected, "%s%s", path_text, cases[i].sentence ? cases[i].sentence : "");
        if (cases[i].sentence)
            assert_string_equal(error.sentence, expected);
        assert_true(data->weight[0] == 1 && data->weight[1] == 2.5 && data->weight[2] == 0);
    }
    assert_int_equal(pl_data_bytes(data), 4 * 8 + 3 * 8 + 3 * 8 + 3 * 4);
    parley_error error;
    assert_int_equal(pl_data_write_libsvm(data, in_folder("weighted.svm"), NULL, &error), PARLEY_BAD_USAGE);
    parley_data_free(data);
}

static void every_failed_allocation_is_survived(void **state) {
    (void)state;
    char *text = random_text(10, 200, false);
    write_bytes(in_folder("plain.svm"), text, strlen(text));
    write_compressed(in_folder("packed.svm"), gzip, text, 2);
    parley_data *whole = parse_text(text);
    static const char *const names[] = {"plain.svm", "packed.svm"};
    for (int kind = 0; kind < 2; kind++)
        assert_survives(in_folder(names[kind]), &(pl_reading){0});
    parley_status status = PARLEY_NO_MEMORY;
    for (int64_t n = 0; status != PARLEY_OK && n < 200; n++) {
        parley_error error = {0};
        pl_memory_fail_after(n);
        status = pl_data_write_libsvm(whole, in_folder("out.svm.gz"), NULL, &error);
        pl_memory_fail_after(-1);
        assert_true(status == PARLEY_OK || status == PARLEY_NO_MEMORY);
    }
    assert_int_equal(status, PARLEY_OK);
    parley_data_free(whole);
    free(text);
}

/* Compresses `lines`, then `bytes` blanks without a newline. */
static void write_long_line(const char *path, const char *lines, uint64_t bytes) {
    enum { PIECE = 1 << 20 };
    static char piece[PIECE], out[PIECE];
    FILE *file = fopen(path, "w");
    ZSTD_CStream *stream = ZSTD_createCStream();
    assert_true(file && stream);
    memset(piece, ' ', PIECE);
    for (uint64_t done = 0; done <= bytes; done += PIECE) {
        bool first = done == 0, last = done + PIECE > bytes;
        ZSTD_inBuffer from = {first ? lines : piece, first ? strlen(lines) : PIECE, 0};
        for (size_t left = 1; left > 0 && (last || from.pos < from.size);) {
            ZSTD_outBuffer to = {out, PIECE, 0};
            left = ZSTD_compressStream2(stream, &to, &from, last ? ZSTD_e_end : ZSTD_e_continue);
            assert_false(ZSTD_isError(left));
            assert_int_equal(fwrite(out, 1, to.pos, file), to.pos);
        }
    }
    ZSTD_freeCStream(stream);
    assert_int_equal(fclose(file), 0);
}

static void assert_too_long(const char *path, const char *why) {
    parley_data *data;
    parley_error error = {0};
    char expected[512];
    snprintf(expected, sizeof expected, "%s%s", path, why);
    assert_int_equal(pl_data_read_blocks(path, one, 0, NULL, NULL, &data, &error), PARLEY_BAD_INPUT);
    assert_string_equal(error.sentence, expected);
}

/* A few kilobytes may decompress to a line of terabytes. */
static void a_line_without_end_is_refused(void **state) {
    (void)state;
    const char *path = in_folder("long"), *lines = "1 1:1\n-1 2:1\n";
    const uint64_t bytes = PL_LONGEST_LINE + ((uint64_t)24 << 20);
    write_long_line(path, lines, bytes);
    assert_too_long(path, ":3: the line is longer than 268435456 bytes, the most that can be read");
    write_long_line(path, "a,b,\"c", bytes);
    assert_too_long(path, ":1: the line is longer than 268435456 bytes, the most that can be read");
    FILE *file = fopen(path, "w"); /* the same in a plain file with a hole */
    assert_non_null(file);
    fputs(lines, file);
    assert_int_equal(fflush(file), 0);
    assert_int_equal(ftruncate(fileno(file), (off_t)bytes), 0);
    assert_int_equal(fclose(file), 0);
    assert_too_long(path, ":3: the line is longer than 268435456 bytes, the most that can be read");
}

static void a_window_of_gigabytes_is_refused(void **state) {
    (void)state;
    static const char *const why =
        ": decompressing it needs a window of more than 128 MiB; compress it with zstd --long=27 or less";
    const char *path = in_folder("window"); /* a frame of one raw block, whose window is 2^31 bytes */
    write_bytes(path,
                "\x28\xb5\x2f\xfd\x00\xa8\x31\x00\x00"
                "1 1:1\n",
                15);
    assert_too_long(path, why);
    write_bytes(path,
                "\x28\xb5\x2f\xfd\x00\x88\x31\x00\x00"
                "1 1:1\n",
                15); /* 2^27 */
    parley_data *data;
    parley_error error = {0};
    assert_int_equal(pl_data_read_blocks(path, one, 0, NULL, NULL, &data, &error), PARLEY_OK);
    parley_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compressed_files_read_as_their_text),
        cmocka_unit_test(cut_and_damaged_compressed_files_are_refused),
        cmocka_unit_test(standard_input_may_be_a_pipe_or_a_file),
        cmocka_unit_test(a_fault_in_a_pipe_does_not_wait_for_its_end),
        cmocka_unit_test(text_written_reads_back_the_same),
        cmocka_unit_test(text_is_written_in_the_shortest_form),
        cmocka_unit_test(writing_fails_with_a_sentence_and_leaves_nothing),
        cmocka_unit_test(memory_needed_is_told_once),
        cmocka_unit_test(a_reader_gives_all_rows_in_pieces),
        cmocka_unit_test(a_reader_names_the_line_of_a_fault),
        cmocka_unit_test(weights_are_one_per_row),
        cmocka_unit_test(every_failed_allocation_is_survived),
        cmocka_unit_test(a_line_without_end_is_refused),
        cmocka_unit_test(a_window_of_gigabytes_is_refused),
    };
    return cmocka_run_group_tests_name("streams", tests, open_pools, close_pools);
}
