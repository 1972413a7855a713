/* test_csv_rows.c: tables as people have them: titles and comments above the header, rows without a label, rows of too
 * few or too many fields, empty last columns, columns of the same name, any separator, and Latin-1. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp, strdup */
#include "data/cut.h"
#include "format_helpers.h"

static char first[640], last[640];

static void hear(void *user, const char *sentence) {
    (void)user;
    if (!*first)
        snprintf(first, sizeof first, "%s", sentence);
    snprintf(last, sizeof last, "%s", sentence);
}

/* Checks that the text gives these names and rows, read whole and in batches, for any size of blocks. */
static void assert_table(const char *text, pl_reading reading, const char *names, const char *rows) {
    reading.format = &pl_format_csv;
    parley_data *data = parse_as(text, strlen(text), &reading);
    assert_string_equal(names_of(&data->names), names);
    assert_string_equal(rows_of(data), rows);
    parley_data_free(data);
    char path[256];
    snprintf(path, sizeof path, "%s", in_folder("batches.csv"));
    write_bytes(path, text, strlen(text));
    pl_reader *reader;
    const parley_data *batch;
    parley_error error = {0};
    static char all[65536];
    char *p = all;
    if (pl_reader_open_blocks_as(path, &reading, three, 5, &reader, &error) != PARLEY_OK)
        fail_msg("%s", error.sentence);
    do {
        if (pl_reader_next(reader, &batch, &error) != PARLEY_OK)
            fail_msg("%s", error.sentence);
        p += batch ? sprintf(p, "%s", rows_of(batch)) : 0;
    } while (batch);
    pl_reader_close(reader);
    assert_string_equal(all, rows);
}

static void an_empty_end_is_left_out(void **state) {
    (void)state;
    const pl_reading usual = {0};
    assert_table("a,b,y,\n1,2,3,\n4,5,6,\n", usual, "a|b|", "3|0:1 1:2\n6|0:4 1:5\n");
    assert_table("a,b,y, ,\r\n1,2,3,,\r\n4,5,6\r\n7,8,9, \r\n", usual, "a|b|", "3|0:1 1:2\n6|0:4 1:5\n9|0:7 1:8\n");
    assert_table("1,2,3,\n4,5,6,\n", usual, "c1|c2|", "3|0:1 1:2\n6|0:4 1:5\n");
    assert_table("1,2,3,\n4,5,6,7\n", (pl_reading){.label_column = "1"}, "c2|c3|c4|", "1|0:2 1:3 2:7\n4|0:5 1:6 2:7\n");
    assert_table("a,y,\"\"\n1,2,\"\"\n3,4\n", usual, "a|", "2|0:1\n4|0:3\n");
    *first = '\0';
    assert_table("a,y,,\n1,2,,\n", (pl_reading){.tell = hear}, "a|", "2|0:1\n");
    assert_string_equal(first, "reading t: columns 3 to 4 are empty and left out");
    const pl_reading as_csv = {.format = &pl_format_csv};
    const char *sentence =
        "t:70003: more fields than the 2 of the first line; put fields with separators in quotes, name every column in "
        "the first line (--skip-lines leaves out lines above it), or leave such rows out with --bad-rows skip";
    char *text = malloc(70003 * 8), *p = text + sprintf(text, "a,y,\n");
    for (int i = 0; i < 70001; i++) /* the value is below the part that decides what the columns are */
        p += sprintf(p, "%d,%d,\n", i % 9, i % 2);
    p += sprintf(p, "1,1,5\n");
    parley_error error = {0};
    parley_data *data;
    assert_int_equal(pl_data_parse_as(text, (size_t)(p - text), "t", &as_csv, three, 4096, &data, &error),
                     PARLEY_BAD_INPUT);
    assert_string_equal(error.sentence, sentence);
    free(text);
}

static void columns_of_one_name_are_numbered_as_pandas_does(void **state) {
    (void)state;
    assert_table("a,a,y,a\n1,2,3,4\n", (pl_reading){0}, "a|a.1|a.2|", "3|0:1 1:2 2:4\n");
    /* python3 -c 'import pandas, io; print(list(pandas.read_csv(io.StringIO("a,a,a.1,y\n1,2,3,4"))))', pandas 2.2 */
    assert_table("a,a,a.1,y\n1,2,3,4\n", (pl_reading){0}, "a|a.2|a.1|", "4|0:1 1:2 2:3\n");
    *first = '\0';
    assert_table("a,a,y,a\n1,2,3,4\n", (pl_reading){.tell = hear}, "a|a.1|a.2|", "3|0:1 1:2 2:4\n");
    assert_string_equal(first, "reading t: column 2 is called a.1, because another one is named a, and 1 more like it");
}

static const pl_reading skipping = {.missing_label = PL_SKIPPED, .bad_rows = PL_SKIPPED};

static void rows_are_left_out_where_that_is_asked(void **state) {
    (void)state;
    const pl_reading labels = {.missing_label = PL_SKIPPED}, bad = {.bad_rows = PL_SKIPPED};
    assert_table("a,w,y\n1,u,5\n2,lost,\n3,v,6\n", labels, "a|w=u|w=v|", "5|0:1 1:1\n6|0:3 2:1\n");
    assert_table("a,w,y\n1,u,5\n2\n3,v,6\n4,x,7,8\n9,\"\n\",1,2\nTotal,,\n,,\n", bad, "a|w=u|w=v|",
                 "5|0:1 1:1\n6|0:3 2:1\n");
    assert_table("a,w,y\n1,u,5\n2\n3,v,NA\n4,x,7,8\n", skipping, "a|w=u|", "5|0:1 1:1\n");
    assert_table("a,w,y,\n1,u,5,\n2,v,6\n3,v,7,8\n3,v,7,,8\n4,x,\n", skipping, "a|w=u|w=v|", "5|0:1 1:1\n6|0:2 2:1\n");
    assert_table("w,y\nu,1\nv,\n", labels, "w=u|", "1|0:1\n"); /* the values are all 1 */
    const pl_reading as_csv = {.format = &pl_format_csv, .bad_rows = PL_SKIPPED};
    assert_fault("a,b,y\n1,2,3\n4,5,\n", 18, &as_csv,
                 "t:3: the label, column y, is missing; --missing-label skip leaves such rows out");
    assert_fault("a,b,y\n1,2,3\n4\"5,5,1\n", 20, &as_csv,
                 "t:3: a quote inside the field \"4\"5\"; put the whole field in quotes and double the quotes in it");
}

static void rows_that_are_left_out_are_counted(void **state) {
    (void)state;
    pl_reading reading = skipping;
    parley_data *data;
    parley_error error = {0};
    reading.format = &pl_format_csv;
    reading.tell = hear;
    const char *text = "a,b,y\n1,2,3\n4\n5,6\n7,8,9,9\nTotal,,\n1,1,\n1,2,?\n1,3,\n";
    for (uint64_t bytes = 1; bytes < 100; bytes *= 3) {
        assert_int_equal(pl_data_parse_as(text, strlen(text), "t", &reading, three, bytes, &data, &error), PARLEY_OK);
        assert_string_equal(last,
                            "reading t: 7 rows left out: 2 with too few fields, 1 with too many fields, 1 with at most "
                            "one value, 3 without a label");
        parley_data_free(data);
    }
    const char *none = "a,b,y\n1,2,\n4\n";
    assert_fault(none, strlen(none), &reading,
                 "t: no rows; each line is a row such as \"1,0.5,red\", the first may hold names");
}

static void predictions_skip_only_rows_with_a_name(void **state) {
    (void)state;
    pl_names names = make_names("a|b|");
    pl_reading reading = {.format = &pl_format_csv, .bad_rows = PL_SKIPPED, .unlabelled = true, .model_columns = 2};
    reading.names = &names;
    assert_fault(
        "n,a,b\nx,1,2\ny,3\n", 17, &reading,
        "--bad-rows skip: predictions would not be in step with the rows of t; add --id COLUMN, which names the "
        "row of each prediction");
    reading.id = "n";
    assert_rows("n,a,b\nx,1,2\ny,3\nz,,\n", &reading, "0|0:1 1:2\n0|\n"); /* nothing is a sum where no label is read */
    pl_names_free(&names);
}

static void lines_above_the_header_and_comments_are_left_out(void **state) {
    (void)state;
    assert_table("My \"title\n1:2 3:4\na,y\n1,2\n", (pl_reading){.skip_lines = 2}, "a|", "2|0:1\n");
    assert_table("\xef\xbb\xbf\n\na,y\n1,2\n", (pl_reading){.skip_lines = 1}, "a|", "2|0:1\n");
    const pl_reading comments = {.comment = '#'};
    assert_table("# a 5\" title\na,y\n#1,2\n1,2\n# \"\n3,\"4\"\n#\"", comments, "a|", "2|0:1\n4|0:3\n");
    assert_table("a,w,y\n1,\"u\n#v\",2\n2, #x,3\n", comments, "a|w=#x|w=u\n#v|", "2|0:1 2:1\n3|0:2 1:1\n");
    parley_data *data;
    parley_error error = {0};
    pl_reading found = {.skip_lines = 1};
    assert_int_equal(pl_data_parse_as("1:1 2:2\na,y\n1,2\n", 16, "t", &found, one, 0, &data, &error), PARLEY_OK);
    assert_string_equal(rows_of(data), "2|0:1\n"); /* the format is that of the table */
    parley_data_free(data);
    assert_fault("a,y\n", 4, &(pl_reading){.format = &pl_format_csv, .skip_lines = 3},
                 "t: no rows; --skip-lines leaves none");
}

static void any_character_may_separate_fields(void **state) {
    (void)state;
    for (const char *separator = "|:~^! ,;\t"; *separator; separator++) {
        char text[] = "a.w.y\n1.u v.2\n3.x.4\n";
        for (char *p = text; *p; p++) {
            *p = *p == '.' ? *separator : *p;
            *p = *p == ' ' && *separator != ' ' ? '_' : *p;
        }
        bool blank = *separator == ' ';
        if (blank)
            text[9] = '_';
        assert_table(text, (pl_reading){.separator = *separator}, "a|w=u_v|w=x|", "2|0:1 1:1\n4|0:3 2:1\n");
    }
    parley_data *data; /* bars and colons do not make it another format */
    parley_error error = {0};
    assert_int_equal(
        pl_data_parse_as("1|2|0\n3|4|1\n", 12, "t", &(pl_reading){.separator = '|'}, one, 0, &data, &error), PARLEY_OK);
    assert_string_equal(rows_of(data), "0|0:1 1:2\n1|0:3 1:4\n");
    parley_data_free(data);
}

static void separators_are_named_or_given(void **state) {
    (void)state;
    static const struct {
        const char *text;
        char character; /* 'x': it is refused */
    } cases[] = {{"auto", '\0'}, {"comma", ','}, {"tab", '\t'},     {"semicolon", ';'}, {"space", ' '},
                 {"|", '|'},     {":", ':'},     {"\t", '\t'},      {"\\t", '\t'},      {"||", 'x'},
                 {"", 'x'},      {"\"", 'x'},    {"a", 'x'},        {"1", 'x'},         {".", 'x'},
                 {"-", 'x'},     {"\n", 'x'},    {"\xc2\xa7", 'x'}, {"pipes", 'x'}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        parley_settings *settings;
        pl_reading reading;
        parley_error error = {0};
        assert_int_equal(parley_settings_new(&settings, &error), PARLEY_OK);
        assert_int_equal(pl_setting_set(settings, 0, "separator", cases[i].text, &error), PARLEY_OK);
        parley_status status = pl_reading_of(settings, &reading, &error);
        assert_int_equal(status, cases[i].character == 'x' ? PARLEY_BAD_USAGE : PARLEY_OK);
        if (status == PARLEY_OK)
            assert_int_equal(reading.separator, cases[i].character);
        parley_settings_free(settings);
    }
}

static void latin_1_becomes_utf_8(void **state) {
    (void)state;
    const pl_reading latin = {.encoding = PL_LATIN1};
    assert_table("gr\xf6\xdf"
                 "e,w,y\n1,K\xf6ln,2\n3,\"a \"\"\xe4\"\"\",4\n",
                 latin, "größe|w=Köln|w=a \"ä\"|", "2|0:1 1:1\n4|0:3 2:1\n");
    assert_table("größe,y\n1,2\n", (pl_reading){0}, "größe|", "2|0:1\n");
}

/* What a byte is, one byte at a time: the reference for pl_cut_walk. */
static pl_spot step(char comment, pl_spot spot, char c) {
    if (spot == PL_AT_LINE && comment && c == comment)
        return PL_IN_COMMENT;
    if (spot == PL_IN_COMMENT)
        return c == '\n' ? PL_AT_LINE : PL_IN_COMMENT;
    if (spot == PL_IN_QUOTES)
        return c == '"' ? PL_IN_LINE : PL_IN_QUOTES;
    return c == '"' ? PL_IN_QUOTES : c == '\n' ? PL_AT_LINE : PL_IN_LINE;
}

static void text_is_cut_where_rows_end(void **state) {
    (void)state;
    enum { LENGTH = 40 };
    pl_stream random = pl_stream_make(7, 0, 0);
    for (int turn = 0; turn < 20000; turn++) {
        char text[LENGTH];
        for (int i = 0; i < LENGTH; i++)
            text[i] = "ab,\n\n\"#"[pl_random_below(&random, 7)];
        const pl_cut cut = {.quotes = true, .comment = turn % 2 ? '#' : '\0'};
        unsigned from = (unsigned)pl_random_below(&random, LENGTH), end = LENGTH, whole = 0, after = 0;
        pl_spot begin = (pl_spot)pl_random_below(&random, cut.comment ? PL_SPOTS : PL_IN_COMMENT);
        pl_spot spot = begin, line = PL_AT_LINE;
        for (unsigned i = from; i < end; i++) {
            spot = step(cut.comment, spot, text[i]);
            whole = spot == PL_AT_LINE && text[i] == '\n' ? i + 1 : whole;
        }
        for (unsigned i = 0; i < end; i++) {
            line = step(cut.comment, line, text[i]);
            after = after == 0 && i >= from && line == PL_AT_LINE ? i + 1 : after;
        }
        assert_int_equal(pl_cut_walk(cut, begin, text + from, text + end), spot);
        const char *found = pl_cut_after(cut, text, text + from, text + end);
        assert_int_equal(found ? found - text : 0, after);
        pl_spot walked = begin;
        assert_int_equal(pl_cut_whole(cut, text, from, end, &walked), whole);
        assert_int_equal(walked, spot);
    }
}

static void every_failed_allocation_is_survived(void **state) {
    (void)state;
    char text[8192], *p = text + sprintf(text, "title\ny,a,a,w,\n"), path[256];
    for (int i = 0; i < 60; i++)
        p += sprintf(p, "%s,%d,\"%d\",\"k%d \"\"\xf6\"\"\",\n%s",
                     i % 9 == 0 ? ""
                     : i % 2    ? "no"
                                : "yes",
                     i % 7, i, i * 7 % 30, i % 5 ? "" : "# 5\"\n1,2\n");
    snprintf(path, sizeof path, "%s", in_folder("a.csv"));
    write_bytes(path, text, (size_t)(p - text));
    pl_reading reading = skipping;
    reading.skip_lines = 1;
    reading.comment = '#';
    reading.encoding = PL_LATIN1;
    reading.format = &pl_format_csv;
    assert_survives(path, &reading);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_end_is_left_out),
        cmocka_unit_test(columns_of_one_name_are_numbered_as_pandas_does),
        cmocka_unit_test(rows_are_left_out_where_that_is_asked),
        cmocka_unit_test(rows_that_are_left_out_are_counted),
        cmocka_unit_test(predictions_skip_only_rows_with_a_name),
        cmocka_unit_test(lines_above_the_header_and_comments_are_left_out),
        cmocka_unit_test(any_character_may_separate_fields),
        cmocka_unit_test(separators_are_named_or_given),
        cmocka_unit_test(latin_1_becomes_utf_8),
        cmocka_unit_test(text_is_cut_where_rows_end),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests_name("csv_rows", tests, open_pools, close_pools);
}
