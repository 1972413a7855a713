/* test_libsvm.c: LIBSVM text in and out: what is accepted, what is refused and with which sentence, in parallel and
 * through streams. */
#define _POSIX_C_SOURCE 200809L
#include "data_helpers.h"

#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <zlib.h>
#include <zstd.h>

#include "base/random.h"
#include "data/numeral.h"

static pl_pool *one, *three;

static int open_pools(void **state) {
    one = open_pool(1);
    three = open_pool(3);
    return make_folder(state);
}

static int close_pools(void **state) {
    pl_pool_close(one);
    pl_pool_close(three);
    return remove_folder(state);
}

static parley_data *parse(const char *text) {
    parley_data *data;
    parley_error error = {0};
    if (pl_data_parse(text, strlen(text), "t.svm", one, 0, &data, &error) != PARLEY_OK)
        fail_msg("%s", error.sentence);
    return data;
}

/* Rows as "label|column:value ..." with 9 digits, one per line. */
static const char *shown(const parley_data *data) {
    static char text[4096];
    size_t used = 0;
    for (uint64_t i = 0; i < data->x.rows; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%.17g|", data->label[i]);
        for (uint64_t k = data->x.start[i]; k < data->x.start[i + 1]; k++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%u:%.9g ", data->x.index[k] + 1,
                                     data->x.value ? (double)data->x.value[k] : 1.0);
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
        parley_data *data = parse(cases[i].text);
        assert_string_equal(shown(data), cases[i].rows);
        parley_data_free(data);
    }
}

static void tiny_and_huge_values_are_rounded_not_refused(void **state) {
    (void)state;
    parley_data *data = parse("1 1:1e-50 2:1e-40 3:3.4028235e38 4:-1e-999999999999\n");
    assert_true(data->x.value[0] == 0 && data->x.value[1] == 1e-40F && data->x.value[2] == 3.4028235e38F);
    assert_true(data->x.value[3] == 0 && signbit(data->x.value[3]));
    parley_data_free(data);
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
    {"1 1:1e39\n", "t.svm:1: value \"1e39\" of column 1 is too large for a 32-bit float; scale the column"},
    {"1 1:3.4028236e38\n",
     "t.svm:1: value \"3.4028236e38\" of column 1 is too large for a 32-bit float; scale the column"},
    {"1 1:1e99999999999\n",
     "t.svm:1: value \"1e99999999999\" of column 1 is too large for a 32-bit float; scale the column"},
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
    {"1,3 1:1\n", "t.svm:1: label \"1,3\" is not a number; each row starts with one number"},
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

/* Random rows with all that makes the counts of blocks inexact. */
static char *random_text(uint64_t seed, unsigned rows, bool ones) {
    pl_stream stream = pl_stream_make(seed, 0, 0);
    char *text = malloc((size_t)rows * 400 + 1), *p = text;
    assert_non_null(text);
    *p = '\0';
    for (unsigned i = 0; i < rows; i++) {
        unsigned kind = (unsigned)pl_random_below(&stream, 12), column = 0;
        if (kind == 0)
            p += sprintf(p, "# a: comment: %u\n", i);
        if (kind == 1)
            p += sprintf(p, " \t\n");
        p += sprintf(p, "%s%u", pl_random_below(&stream, 2) ? "-" : "", (unsigned)pl_random_below(&stream, 5));
        if (kind == 2)
            p += sprintf(p, " qid:%u", i);
        for (uint64_t k = pl_random_below(&stream, 12); k > 0; k--) {
            column += 1 + (unsigned)pl_random_below(&stream, 2000);
            p += sprintf(p, "%s%u:", kind == 3 ? "\t  " : " ", column);
            if (ones)
                p += sprintf(p, "1");
            else
                p += sprintf(p, "%.*g", 1 + (int)pl_random_below(&stream, 9), pl_random_normal(&stream));
        }
        p += sprintf(p, "%s%s\n", kind == 4 ? " # tail: 1:2" : "", kind == 5 ? "\r" : "");
    }
    return text;
}

static void blocks_and_threads_do_not_change_what_is_read(void **state) {
    (void)state;
    static const uint64_t sizes[] = {1, 16, 64, 1000, 5000, 0};
    for (uint64_t seed = 0; seed < 8; seed++) {
        char *text = random_text(seed, 300, seed % 4 == 3);
        parley_data *expected = parse(text);
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

/* A numeral of a random kind: short, long, with exponent, exactly between two floats, or next to that. */
static void random_numeral(pl_stream *stream, char *text, size_t size) {
    uint32_t bits = (uint32_t)pl_random(stream) & 0x7fffffff;
    bits = bits >= 0x7f000000 ? bits - 0x10000000 : bits;
    float low, high;
    memcpy(&low, &bits, sizeof low);
    bits++;
    memcpy(&high, &bits, sizeof high);
    double middle = ((double)low + (double)high) / 2;
    switch (pl_random_below(stream, 7)) {
    case 0: snprintf(text, size, "%.*f", (int)pl_random_below(stream, 9), pl_random_normal(stream) * 100); break;
    case 1: snprintf(text, size, "0.%06u", (unsigned)pl_random_below(stream, 1000000)); break;
    case 2: snprintf(text, size, "%.*e", (int)pl_random_below(stream, 30), (double)low); break;
    case 3: snprintf(text, size, "%.160e", middle); break;
    case 4: snprintf(text, size, "%.16e", middle); break;
    case 5:
        snprintf(text, size, "%llu.%llu", (unsigned long long)pl_random_below(stream, 1 << 25),
                 (unsigned long long)pl_random(stream));
        break;
    default:
        middle = ldexp(16777217.0 + 2 * (double)pl_random_below(stream, 1 << 22), -(int)pl_random_below(stream, 24));
        snprintf(text, size, "%.30f%s", middle, pl_random_below(stream, 2) ? "0000000000000001" : "");
    }
}

static void values_and_labels_are_as_strtof_and_strtod_give(void **state) {
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
        parley_data *data = parse(text);
        assert_int_equal(data->x.nonzeros, BATCH);
        for (int i = 0; i < BATCH; i++) {
            float value = strtof(numerals + 400 * i, NULL);
            double label = strtod(numerals + 400 * i, NULL);
            if (memcmp(&value, &data->x.value[i], sizeof value) != 0 ||
                memcmp(&label, &data->label[i], sizeof label) != 0)
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
    parley_data *data = parse(text);
    assert_true(data->x.value[0] == 2.5F);
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
    parley_data *data = parse("1.25 1:0.1234567890123456789\n");
    parley_error error;
    const char *path = in_folder("locale.svm");
    parley_status status = pl_data_write_libsvm(data, path, &error);
    setlocale(LC_ALL, "C");
    assert_true(data->label[0] == 1.25 && data->x.value[0] == 0.1234567890123456789F);
    assert_int_equal(status, PARLEY_OK);
    size_t count;
    char *bytes = read_bytes(path, &count);
    assert_string_equal(bytes, "1.25 1:0.12345679\n");
    free(bytes);
    parley_data_free(data);
}

static void data_of_ones_store_no_values(void **state) {
    (void)state;
    parley_data *data = parse("1 1:1 2:1.0 3:+1\n-1 7:1e0\n");
    assert_null(data->x.value);
    assert_int_equal(data->x.nonzeros, 4);
    parley_data_free(data);
    data = parse("1\n2\n");
    assert_null(data->x.value);
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
            assert_true(data->x.value[i] == (i + 1 < 2 * ROWS ? 1.0F : 0.5F));
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
            assert_true(data->x.value[0] == 0);
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
    snprintf(expected, sizeof expected, "%s: no rows; each line is a row such as \"+1 3:0.5 7:1\"", path_text);
    assert_string_equal(error.sentence, expected);
    assert_int_equal(pl_data_read(in_folder("none.svm"), one, NULL, NULL, &data, &error), PARLEY_NO_FILE);
    snprintf(expected, sizeof expected, "%s: cannot open: No such file or directory", path_text);
    assert_string_equal(error.sentence, expected);
    assert_int_equal(pl_data_read(folder, one, NULL, NULL, &data, &error), PARLEY_NO_FILE);
    snprintf(expected, sizeof expected, "%s: cannot read: Is a directory", folder);
    assert_string_equal(error.sentence, expected);
}

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

/* Writes `text` as several members or frames that are cut anywhere; returns the bytes. */
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
    parley_data *expected = parse(text);
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
    parley_data *expected = parse(text), *data;
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
    char *text = malloc(ROWS * 200), *p = text;
    for (int i = 0; i < ROWS; i++) { /* all kinds of floats and labels */
        char numeral[400];
        random_numeral(&stream, numeral, 40);
        p += sprintf(p, "%.*g", 1 + i % 17, pl_random_normal(&stream) * pow(10, i % 40 - 20));
        p += sprintf(p, " %d:%s %d:%.9g\n", i + 1, numeral, i + 2, pl_random_normal(&stream));
    }
    parley_data *data = parse(text), *again;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        parley_error error = {0};
        const char *path = in_folder(names[i]);
        assert_int_equal(pl_data_write_libsvm(data, path, &error), PARLEY_OK);
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
    parley_data *data = parse("+1 1:0.100 2:1e5 3:1e-7 4:-2.50 5:3e30 6:0 7:16777216 8:1e10\n1000 1:1\n-2.5\n1e300\n");
    parley_error error = {0};
    size_t count;
    assert_int_equal(pl_data_write_libsvm(data, in_folder("short.svm"), &error), PARLEY_OK);
    char *bytes = read_bytes(path_text, &count);
    assert_string_equal(bytes, "1 1:0.1 2:100000 3:1e-7 4:-2.5 5:3e30 6:0 7:16777216 8:1e10\n1000 1:1\n-2.5\n1e300\n");
    free(bytes);
    parley_data_free(data);
}

static void writing_fails_with_a_sentence_and_leaves_nothing(void **state) {
    (void)state;
    parley_data *data = parse("1 1:1\n");
    parley_error error = {0};
    assert_int_equal(pl_data_write_libsvm(data, "/nonexistent/folder/x.svm", &error), PARLEY_NO_FILE);
    assert_string_equal(error.sentence, "/nonexistent/folder/x.svm: cannot write: No such file or directory");
    assert_int_equal(pl_data_write_libsvm(data, "/dev/null", &error), PARLEY_OK);
    assert_int_equal(pl_data_write_libsvm(data, "/dev/full", &error), PARLEY_NO_FILE);
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
    parley_data *expected = parse(text);
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
                assert_true((batch->x.value ? batch->x.value[from + k] : 1.0F) == expected->x.value[at + k]);
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
        {"1\nx\n3\n", ":2: not a number; each line holds one weight"},
        {"1\n2 3\n3\n", ":2: more than a number; each line holds one weight"},
        {"1\n2\n-3\n", ":3: a weight must be finite and not negative"},
        {"1\n2\n1e999\n", ":3: a weight must be finite and not negative"},
        {"1\nnan\n3\n", ":2: not a number; each line holds one weight"},
        {"0\n0\n0\n", ": every weight is 0"},
    };
    parley_data *data = parse("1 1:1\n2 1:1\n3 1:1\n");
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
    assert_int_equal(pl_data_write_libsvm(data, in_folder("weighted.svm"), &error), PARLEY_BAD_USAGE);
    parley_data_free(data);
}

static void every_failed_allocation_is_survived(void **state) {
    (void)state;
    char *text = random_text(10, 200, false);
    write_bytes(in_folder("plain.svm"), text, strlen(text));
    write_compressed(in_folder("packed.svm"), gzip, text, 2);
    parley_data *whole = parse(text);
    static const char *const names[] = {"plain.svm", "packed.svm"};
    for (int kind = 0; kind < 2; kind++) {
        parley_status status = PARLEY_NO_MEMORY;
        for (int64_t n = 0; status != PARLEY_OK && n < 200; n++) {
            parley_data *data;
            parley_error error = {0};
            pl_memory_fail_after(n);
            status = pl_data_read_blocks(in_folder(names[kind]), three, 100, NULL, NULL, &data, &error);
            pl_memory_fail_after(-1);
            if (status == PARLEY_OK) {
                assert_same_data(whole, data);
                parley_data_free(data);
            } else {
                assert_int_equal(status, PARLEY_NO_MEMORY);
                assert_null(data);
                assert_non_null(strstr(error.sentence, "out of memory"));
            }
        }
        assert_int_equal(status, PARLEY_OK);
        status = PARLEY_NO_MEMORY;
        for (int64_t n = 0; status != PARLEY_OK && n < 200; n++) {
            pl_reader *reader;
            const parley_data *batch;
            parley_error error = {0};
            pl_memory_fail_after(n);
            status = pl_reader_open_blocks(in_folder(names[kind]), three, 100, &reader, &error);
            do
                status = status == PARLEY_OK ? pl_reader_next(reader, &batch, &error) : status;
            while (status == PARLEY_OK && batch);
            pl_memory_fail_after(-1);
            assert_true(status == PARLEY_OK || status == PARLEY_NO_MEMORY);
            pl_reader_close(reader);
        }
        assert_int_equal(status, PARLEY_OK);
    }
    parley_status status = PARLEY_NO_MEMORY;
    for (int64_t n = 0; status != PARLEY_OK && n < 200; n++) {
        parley_error error = {0};
        pl_memory_fail_after(n);
        status = pl_data_write_libsvm(whole, in_folder("out.svm.gz"), &error);
        pl_memory_fail_after(-1);
        assert_true(status == PARLEY_OK || status == PARLEY_NO_MEMORY);
    }
    assert_int_equal(status, PARLEY_OK);
    parley_data_free(whole);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_accepted_form_is_read_right),
        cmocka_unit_test(tiny_and_huge_values_are_rounded_not_refused),
        cmocka_unit_test(every_fault_has_its_sentence),
        cmocka_unit_test(nul_bytes_are_refused),
        cmocka_unit_test(blocks_and_threads_do_not_change_what_is_read),
        cmocka_unit_test(the_first_bad_line_is_reported_whatever_the_threads),
        cmocka_unit_test(values_and_labels_are_as_strtof_and_strtod_give),
        cmocka_unit_test(the_longest_numerals_are_read),
        cmocka_unit_test(the_locale_does_not_matter),
        cmocka_unit_test(data_of_ones_store_no_values),
        cmocka_unit_test(a_late_value_other_than_one_brings_all_values),
        cmocka_unit_test(files_that_end_with_a_page_are_read),
        cmocka_unit_test(empty_and_missing_files_are_told),
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
    };
    return cmocka_run_group_tests_name("libsvm", tests, open_pools, close_pools);
}
