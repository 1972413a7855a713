/* test_split_rows.c: a split keeps every row, byte by byte and in order, gives the second file its share of rows and of
 * each label, and draws all rows with equal probability. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp, strdup */
#include "data/split_rows.h"
#include "format_helpers.h"

static char in[300], out[2][300];
static const char *const outs[] = {out[0], out[1]};

static void name_files(const char *ending) {
    snprintf(in, sizeof in, "%s/data%s", folder, ending);
    snprintf(out[0], sizeof *out, "%s/train%s", folder, ending);
    snprintf(out[1], sizeof *out, "%s/test%s", folder, ending);
}

/* Removes the row `row` at `*p` from the beginning of the text. */
static bool follows(const char **p, const char *row, size_t bytes) {
    if (strncmp(*p, row, bytes) != 0)
        return false;
    *p += bytes;
    return true;
}

/* Splits `head` and these rows, and checks that both files have the head, and each row is the next one of one of them.
 * `ignored` rows are in neither. `counts` (may be NULL): rows of the second file, by label. */
static void assert_split(const char *ending, pl_reading reading, pl_split split, const char *head,
                         const char *const *rows, const unsigned *label, unsigned count, unsigned *counts) {
    static char text[1 << 20];
    char *end = text + sprintf(text, "%s", head);
    uint64_t found[2] = {0, 0};
    parley_error error = {0};
    for (unsigned i = 0; i < count; i++)
        end += sprintf(end, "%s", rows[i]);
    name_files(ending);
    write_bytes(in, text, (size_t)(end - text));
    if (pl_split_rows(in, &reading, outs, &split, &error) != PARLEY_OK)
        fail_msg("%s", error.sentence);
    size_t bytes[2];
    char *part[2] = {read_bytes(out[0], &bytes[0]), read_bytes(out[1], &bytes[1])};
    const char *at[2] = {part[0], part[1]};
    for (unsigned k = 0; k < 2; k++)
        assert_true(follows(&at[k], head, strlen(head)));
    for (unsigned i = 0; i < count; i++) {
        if (label && label[i] == UINT32_MAX)
            continue;
        bool second = follows(&at[1], rows[i], strlen(rows[i]));
        assert_true(second || follows(&at[0], rows[i], strlen(rows[i])));
        found[second]++;
        if (counts)
            counts[label[i]] += second;
    }
    for (unsigned k = 0; k < 2; k++) {
        assert_true(at[k] == part[k] + bytes[k]);
        assert_int_equal(found[k], split.rows[k]);
        free(part[k]);
    }
}

#define ROWS 700

static void rows_of_tables_are_kept_as_they_are(void **state) {
    (void)state;
    static char text[ROWS][64];
    const char *rows[ROWS];
    unsigned label[ROWS], all[4] = {0};
    static const char *const words[] = {"often", "\"mid\"", "rare", ""};
    for (unsigned i = 0; i < ROWS; i++) {
        label[i] = i % 50 == 7 ? 2 : i % 90 == 1 ? 3 : i % 3 == 0;
        sprintf(text[i], "%u,\"q\n\"\"%u\",%s%s", i, i, words[label[i]], i + 1 == ROWS ? "" : i % 2 ? "\n" : "\r\n");
        if (i % 40 == 11) {
            sprintf(text[i], "%s", i % 80 == 11 ? "# 5\" wide\n" : " \n");
            label[i] = UINT32_MAX;
        } else
            all[label[i]]++;
        rows[i] = text[i];
    }
    const pl_reading reading = {.skip_lines = 1, .comment = '#', .label_column = "y"};
    const char *head = "\xef\xbb\xbfsheet \"1\n\na,\"the\nname\",y\n";
    uint64_t sum = all[0] + all[1] + all[2] + all[3];
    for (unsigned stratified = 0; stratified < 2; stratified++)
        for (double share = 0.05; share < 1; share += 0.15) {
            unsigned counts[4] = {0};
            pl_split split = {.share = share, .stratified = stratified, .seed = 3};
            assert_split(".csv", reading, split, head, rows, label, ROWS, counts);
            assert_int_equal(counts[0] + counts[1] + counts[2] + counts[3], (unsigned)(share * (double)sum + 0.5));
            for (unsigned k = 0; k < 4 && stratified; k++)
                assert_true(fabs(counts[k] - share * all[k]) < 1);
        }
}

static void other_text_is_split_by_lines(void **state) {
    (void)state;
    const pl_split half = {.share = 0.5, .stratified = true, .seed = 1};
    unsigned counts[3] = {0};
    const char *const svm[] = {"1 1:1\n", "+1 1:2\n", "# c\n", "\n", " -1 3:1 # 1\n", "-1.0 2:1\n", "1\n", "1.00 5:1"};
    assert_split(".svm", (pl_reading){0}, half, "", svm, (const unsigned[]){0, 0, UINT32_MAX, UINT32_MAX, 1, 1, 0, 0},
                 8, counts);
    assert_int_equal(counts[0], 2);
    assert_int_equal(counts[1], 1);
    memset(counts, 0, sizeof counts);
    const char *const vw[] = {"1 |a b\n", "2 1.5 'x|a\n", "|a z\n", "'y|c d\n", "\n", "1.0 'z|a \"\n", "2 |\n"};
    assert_split(".vw", (pl_reading){0}, half, "", vw, (const unsigned[]){0, 1, 2, 2, UINT32_MAX, 0, 1}, 7, counts);
    assert_int_equal(counts[0], 1);
    assert_int_equal(counts[1], 1);
    assert_int_equal(counts[2], 1);
    memset(counts, 0, sizeof counts);
    const char *const texts[] = {"pets\tthe \"cat\n", "work\tthe plan\n", "\n", "work\ta day\n", "pets\ta dog"};
    assert_split(".txt", (pl_reading){.format = &pl_format_text}, half, "", texts,
                 (const unsigned[]){0, 1, UINT32_MAX, 1, 0}, 5, counts);
    assert_int_equal(counts[0], 1);
    assert_int_equal(counts[1], 1);
    const char *const sets[] = {"1,3 1:1\n", "# c\n", "2 1:2\n", " \n", " 2:1\n", "3,1 3:1 # 1\n", "4,5"};
    assert_split(".svm", (pl_reading){0}, (pl_split){.share = 0.4, .seed = 2}, "", sets,
                 (const unsigned[]){0, UINT32_MAX, 0, UINT32_MAX, 0, 0, 0}, 7, NULL);
    const char *const plain[] = {"the \"cat\n", "the plan, as it was\n", "\n", "5\" wide"}; /* empty documents count */
    assert_split(".txt", (pl_reading){0}, (pl_split){.share = 0.5, .seed = 2}, "", plain, NULL, 4, NULL);
}

static void every_row_is_as_likely_as_any_other(void **state) {
    (void)state;
    enum { COUNT = 8, DRAWS = 2000 };
    const char *const rows[COUNT] = {"1 1:1\n", "2 1:1\n", "3 1:1\n", "4 1:1\n",
                                     "5 1:1\n", "6 1:1\n", "7 1:1\n", "8 1:1\n"};
    const unsigned label[COUNT] = {0, 1, 2, 3, 4, 5, 6, 7};
    unsigned counts[COUNT] = {0};
    for (unsigned seed = 0; seed < DRAWS; seed++)
        assert_split(".svm", (pl_reading){0}, (pl_split){.share = 0.375, .seed = seed}, "", rows, label, COUNT, counts);
    for (unsigned i = 0; i < COUNT; i++) /* 3 of 8; the standard deviation of the count is 22 */
        assert_in_range(counts[i], 750 - 88, 750 + 88);
}

static void compressed_files_give_compressed_files(void **state) {
    (void)state;
    name_files(".svm.gz");
    parley_error error = {0};
    parley_data *data, *part;
    uint64_t rows = 0;
    char text[20000], *p = text;
    for (int i = 0; i < 900; i++)
        p += sprintf(p, "%d %d:1 %d:2.5\n", i % 2, 1 + i % 7, 9 + i % 5);
    assert_int_equal(pl_data_parse_as(text, (size_t)(p - text), "t", &(pl_reading){0}, one, 0, &data, &error),
                     PARLEY_OK);
    assert_int_equal(pl_data_write_libsvm(data, in, NULL, &error), PARLEY_OK);
    pl_split split = {.share = 0.25, .seed = 1};
    assert_int_equal(pl_split_rows(in, &(pl_reading){0}, outs, &split, &error), PARLEY_OK);
    for (unsigned k = 0; k < 2; k++) {
        assert_int_equal(pl_data_read_as(out[k], &(pl_reading){0}, one, &part, &error), PARLEY_OK);
        assert_int_equal(part->x.rows, k ? 225 : 675);
        rows += part->x.rows;
        parley_data_free(part);
    }
    assert_int_equal(rows, data->x.rows);
    parley_data_free(data);
}

static void what_cannot_be_split_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *ending, *text, *sentence;
        pl_split split;
    } cases[] = {
        {".svm", "1 1:1\n", "--test 0.2: of the 1 row of %s, that leaves none in one of the parts", {.share = 0.2}},
        {".svm", "1 1:1\n2 1:1\n", "--test 1: of the 2 rows of %s, that leaves none in one of the parts", {.share = 1}},
        {".csv", "", "%s: no rows; the input is empty", {.share = 0.5}},
        {".csv", "a,y\n", "%s: no rows", {.share = 0.5}},
        {".csv",
         "a,b\n1,2\n",
         "%s: name the label column with --label-column; its 2 columns are a, b",
         {.share = 0.5, .stratified = true}},
        {".mm",
         "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n",
         "%s is Matrix Market text; only CSV, LIBSVM, VW and plain text can be split, because their rows are lines",
         {.share = 0.5}},
    };
    char sentence[700];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        parley_error error = {0};
        pl_split split = cases[i].split;
        name_files(cases[i].ending);
        remove(out[0]);
        remove(out[1]);
        write_bytes(in, cases[i].text, strlen(cases[i].text));
        assert_true(pl_split_rows(in, &(pl_reading){0}, outs, &split, &error) != PARLEY_OK);
        const char *mark = strstr(cases[i].sentence, "%s");
        snprintf(sentence, sizeof sentence, "%.*s%s%s", (int)(mark - cases[i].sentence), cases[i].sentence, in,
                 mark + 2);
        assert_string_equal(error.sentence, sentence);
        assert_int_equal(access(out[0], F_OK), -1);
        assert_int_equal(access(out[1], F_OK), -1);
    }
    char text[30000], *p = text;
    for (int i = 0; i < 1025; i++)
        p += sprintf(p, "%d.5 1:1\n", i);
    name_files(".svm");
    write_bytes(in, text, (size_t)(p - text));
    parley_error error = {0};
    pl_split split = {.share = 0.5, .stratified = true};
    assert_int_equal(pl_split_rows(in, &(pl_reading){0}, outs, &split, &error), PARLEY_BAD_INPUT);
    assert_non_null(strstr(error.sentence, "more than 1024 different labels"));
}

static void every_failed_allocation_is_survived(void **state) {
    (void)state;
    name_files(".csv");
    const char *text = "a,\"b\"\"\",y\n1,\"\"\"\",u\n2,x,v\n3,y,u\n4,z,v\n";
    write_bytes(in, text, strlen(text));
    parley_status status = PARLEY_NO_MEMORY;
    for (int64_t n = 0; status != PARLEY_OK && n < 1000; n++) {
        parley_error error = {0};
        pl_split split = {.share = 0.5, .stratified = true};
        remove(out[0]);
        remove(out[1]);
        pl_memory_fail_after(n);
        status = pl_split_rows(in, &(pl_reading){0}, outs, &split, &error);
        pl_memory_fail_after(-1);
        assert_true(status == PARLEY_OK || status == PARLEY_NO_MEMORY);
        assert_int_equal(access(out[0], F_OK), status == PARLEY_OK ? 0 : -1);
        assert_int_equal(access(out[1], F_OK), status == PARLEY_OK ? 0 : -1);
    }
    assert_int_equal(status, PARLEY_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_tables_are_kept_as_they_are), cmocka_unit_test(other_text_is_split_by_lines),
        cmocka_unit_test(every_row_is_as_likely_as_any_other), cmocka_unit_test(compressed_files_give_compressed_files),
        cmocka_unit_test(what_cannot_be_split_is_refused),     cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests_name("split_rows", tests, open_pools, close_pools);
}
