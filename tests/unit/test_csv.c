/* test_csv.c: comma-separated values: types of columns, every form of a field, every fault, and names in models. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp, strdup */
#include "format_helpers.h"

static const pl_reading csv = {.format = &pl_format_csv};

static void every_accepted_form_is_read_right(void **state) {
    (void)state;
    static const struct {
        const char *text, *rows;
    } cases[] = {
        {"a,b,y\n1,2,3\n-0.5,0,1e2\n", "3|0:1 1:2\n100|0:-0.5\n"},
        {"1,2,3\n4,5,6\n", "3|0:1 1:2\n6|0:4 1:5\n"},
        {"a\tb\ty\n1\t2\t3\n", "3|0:1 1:2\n"},
        {"a;b;y\r\n 1 ; 2;3\r\n", "3|0:1 1:2\n"},
        {"y,a\n1,?\n2,\n3,NA\n4,nan\n5,N/A\n6,null\n7,7\n", "1|\n2|\n3|\n4|\n5|\n6|\n7|0:7\n"},
        {"y,a\n\n1,5\n   \n2,6", "1|0:5\n2|0:6\n"},
        {"sep=;\na;b;y\n1,5;2;3\n", "3|0:1.5 1:2\n"},
        {"\xef\xbb\xbf\"SEP=|\"\r\na|b|y\r\n1|2|3\r\n", "3|0:1 1:2\n"},
        {"target,a,Label\n1,2,3\n", "3|0:1 1:2\n"},
        {"y,w\n1,red\n2,blue\n3,red\n4,\n", "1|1:1\n2|0:1\n3|1:1\n4|\n"},
        {"y,w\n1,\"a,b\"\n2,\"c\"\"d\"\n3,\"e\nf\"\n4,\"c\"\"d\"\n", "1|0:1\n2|1:1\n3|2:1\n4|1:1\n"},
        {"y,n,w,m\n1,2,b,3\n2,0,a,4\n", "1|0:2 2:1 3:3\n2|1:1 3:4\n"},
        {"n,y\n1,yes\n2,no\n3,yes\n", "1|0:1\n0|0:2\n1|0:3\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_rows(cases[i].text, &csv, cases[i].rows);
    assert_rows("\xef\xbb\xbf\n\"a\",\"b\",\"y\"\n\"1\",\"2.5\",\"3\"\n", &csv, "3|0:1 1:2.5\n");
}

static void times_and_factors_are_not_bare_numbers(void **state) {
    (void)state;
    /* Values repeat, so that the column is not left out as an identifier. */
    assert_rows("v,y\n9 PM,1\n12 PM,2\n1 pm,3\n9 PM,4\n", &csv, "1|0:21\n2|0:12\n3|0:13\n4|0:21\n");
    assert_rows("v,y\n9am,1\n10:30am,2\n9am,3\n", &csv, "1|0:9\n2|0:10.5\n3|0:9\n");
    assert_rows("v,y\n2.7 k\xe2\x82\xac,1\n2.7 k\xe2\x82\xac,2\n114,3\n114,4\n", &csv, "1|1:1\n2|1:1\n3|0:1\n4|0:1\n");
    assert_rows("v,y\n2.5 Mio. \xe2\x82\xac,1\n2.5 Mio. \xe2\x82\xac,2\n114,3\n", &csv, "1|1:1\n2|1:1\n3|0:1\n");
    assert_rows("v,y\n2.5 million USD,1\n2.5 million USD,2\n114,3\n", &csv, "1|1:1\n2|1:1\n3|0:1\n");
    assert_rows("v,y\n2.5 k$,1\n2.5 k$,2\n3 k$,3\n", &csv, "1|0:2.5\n2|0:2.5\n3|0:3\n");
}

static void other_columns_show_what_thousands_are(void **state) {
    (void)state;
    assert_rows("u;q;y\n999;0,5;0\n1.125;0,75;1\n12.500;1,25;1\n", &csv,
                "0|0:999 1:0.5\n1|0:1125 1:0.75\n1|0:12500 1:1.25\n");
    assert_rows("u;q;y\n999 \xe2\x82\xac;0,5;2.000\n1.125 \xe2\x82\xac;0,75;1\n12.500 \xe2\x82\xac;1,25;1\n", &csv,
                "2000|0:999 1:0.5\n1|0:1125 1:0.75\n1|0:12500 1:1.25\n");
    assert_rows("u;q;y\n$999;0.5;0\n$1,125;0.75;1\n$12,500;1.25;1\n", &csv,
                "0|0:999 1:0.5\n1|0:1125 1:0.75\n1|0:12500 1:1.25\n");
    assert_rows("u,q,y\n\"1,125\",\"0,5\",0\n\"2,5\",\"0,75\",1\n", &csv, "0|0:1.125 1:0.5\n1|0:2.5 1:0.75\n");
    /* With both kinds of marks, or an exponent, it is as without the other columns. */
    assert_rows("u;q;p;y\n1.125;0,5;0.5;0\n12.500;1,25;1.5;1\n", &csv,
                "0|0:1.125 1:0.5 2:0.5\n1|0:12.5 1:1.25 2:1.5\n");
    assert_rows("u;q;y\n1.125e2;0,5;0\n12.500;1,25;1\n", &csv, "0|0:112.5 1:0.5\n1|0:12.5 1:1.25\n");
    assert_rows("u;y\n1.125;0\n12.500;1\n", &csv, "0|0:1.125\n1|0:12.5\n");
}

static void settings_choose_the_columns(void **state) {
    (void)state;
    const char *text = "a,b,c\n1,2,3\n4,5,6\n";
    assert_rows(text, &(pl_reading){.label_column = "a"}, "1|0:2 1:3\n4|0:5 1:6\n");
    assert_rows(text, &(pl_reading){.label_column = "2"}, "2|0:1 1:3\n5|0:4 1:6\n");
    assert_rows(text, &(pl_reading){.weight_column = "b", .label_column = "c"}, "3(2)|0:1\n6(5)|0:4\n");
    assert_rows(text, &(pl_reading){.weight_column = "c", .label_column = "b"}, "2(3)|0:1\n5(6)|0:4\n");
    assert_rows(text, &(pl_reading){.categorical = "a,2", .label_column = "c"}, "3|0:1 2:1\n6|1:1 3:1\n");
    assert_rows("1,2\n3,4\n", &(pl_reading){.header = PL_HEADER_THERE, .label_column = "2"}, "4|0:3\n");
    assert_rows(text, &(pl_reading){.label_column = "a", .columns = "c"}, "1|0:3\n4|0:6\n");
    assert_rows(text, &(pl_reading){.label_column = "a", .ignore = "c"}, "1|0:2\n4|0:5\n");
    assert_fault(text, strlen(text), &csv, "t: name the label column with --label-column; its 3 columns are a, b, c");
    assert_rows("r,s\nt,s\n", &(pl_reading){.header = PL_NO_HEADER}, "0|0:1\n0|1:1\n");
    assert_rows("a,b;c\n1;2\n", &(pl_reading){.separator = ';', .format = &pl_format_csv, .label_column = "2"},
                "2|0:1\n");
}

static void names_are_those_of_columns_and_categories(void **state) {
    (void)state;
    const char *text = "n,\"a b\",m,y\n1,red,2,no\n1,blue,2,yes\n1,red,2,no\n";
    parley_data *data = parse_as(text, strlen(text), &csv);
    assert_string_equal(names_of(&data->names), "n|a b=blue|a b=red|m|");
    assert_string_equal(names_of(&data->classes), "no|yes|");
    assert_int_equal(data->x.columns, 4);
    parley_data_free(data);
    data = parse_as("1,x,2\n3,y,4\n", 12, &csv);
    assert_string_equal(names_of(&data->names), "c1|c2=x|c2=y|");
    parley_data_free(data);
}

static void many_categories_keep_their_numbers(void **state) {
    (void)state;
    enum { ROWS = 700 };
    char *text = malloc(ROWS * 40), *p = text + sprintf(text, "y,u,v\n");
    for (unsigned i = 0; i < ROWS; i++)
        p += sprintf(p, "%u,k%u,\"m\n%u\"\n", i % 2, i * 37 % 211, i * 11 % 50);
    parley_data *data = parse_as(text, (size_t)(p - text), &csv);
    assert_int_equal(data->x.columns, 211 + 50);
    assert_null(data->x.values.narrow);
    for (uint64_t i = 0; i < ROWS; i++) {
        char name[24];
        snprintf(name, sizeof name, "u=k%u", (unsigned)(i * 37 % 211));
        pl_name found = pl_names_at(&data->names, data->x.index[2 * i]);
        assert_int_equal(found.bytes, strlen(name));
        assert_memory_equal(found.text, name, found.bytes);
    }
    parley_data_free(data);
    free(text);
}

static void hashed_categories_follow_the_numbers(void **state) {
    (void)state;
    const pl_reading hashed = {.format = &pl_format_csv, .hashed = true, .hash_bits = 4, .keep_names = true};
    const char *text = "w,n,y\nred,5,1\nblue,6,0\nred,0,1\n";
    parley_data *data = parse_as(text, strlen(text), &hashed);
    assert_int_equal(data->x.columns, 17);
    assert_int_equal(data->hash_bits, 4);
    assert_int_equal(data->x.nonzeros, 5);
    assert_int_equal(data->x.index[0], 0);
    assert_int_equal(data->x.index[1], data->x.index[4]);
    pl_name name = pl_names_at(&data->names, data->x.index[1]);
    assert_int_equal(name.bytes, 5);
    assert_memory_equal(name.text, "w=red", 5);
    parley_data_free(data);
}

static void every_fault_has_its_sentence(void **state) {
    (void)state;
    static const fault faults[] = {
        {"a,y\n1,2\n3\n", "t:3: fewer fields than the 2 of the first line; --bad-rows skip leaves such rows out"},
        {"a,y\n1,2\n3,4,5\n",
         "t:3: more fields than the 2 of the first line; put fields with separators in quotes, name every column in "
         "the "
         "first line (--skip-lines leaves out lines above it), or leave such rows out with --bad-rows skip"},
        {"a,y\n1,2\n\"3\n,4\n", "t:3: a quote that is never closed, at \"3\""},
        {"a,y\n1,2\n3\"5,4\n",
         "t:3: a quote inside the field \"3\"5\"; put the whole field in quotes and double the quotes in it"},
        {"a,y\n\"1\"2,2\n", "t:2: text after the closing quote: \"2\"; double the quotes that belong to a field"},
        {"a,y\n1,2\n1,\n", "t:3: the label, column y, is missing; --missing-label skip leaves such rows out"},
        {"a,y\n1,1e999\n", "t:2: label \"1e999\" in column y is not a finite number, unlike those above it"},
        {"a,y\n1e309,1\n", "t:2: value \"1e309\" of column a is too large for a 64-bit float; scale the column"},
        {"My table\na,y\n1,1\n",
         "t:1: the first line is a single field, but the next one has more; --skip-lines N leaves out lines above the "
         "header, and --comment C those that begin with a character"},
        {"# My table\n# of 2024\na;b;y\n1;1;0\n2;1;1\n",
         "t:1: the first line is a single field, but the next one has more; --skip-lines N leaves out lines above the "
         "header, and --comment C those that begin with a character"},
        {"a,y\r1,2\r3,4\r",
         "t: its lines end in CR alone; save it with the line ends of Unix or Windows, or convert it with tr '\\r' "
         "'\\n'"},
        {"a,y\ncaf\xe9,1\n", "t:2: \"caf?\" is not UTF-8 text; --encoding latin-1 reads it as Latin-1"},
        {"a,y\n\"caf\xc3\",1\n", "t:2: \"caf?\" is not UTF-8 text; --encoding latin-1 reads it as Latin-1"},
        {"a,\xe9,y\n1,2,1\n", "t:1: \"?\" is not UTF-8 text; --encoding latin-1 reads it as Latin-1"},
        {"a,y\n\xed\xa0\x80,1\n", "t:2: \"???\" is not UTF-8 text; --encoding latin-1 reads it as Latin-1"},
        {"a,y\n", "t: no rows; each line is a row such as \"1,0.5,red\", the first may hold names"},
        {"", "t: no rows; the input is empty"},
    };
    assert_faults(faults, sizeof faults / sizeof *faults, &csv);
    assert_fault("a,y\n1,1\n,0\n", 11, &(pl_reading){.format = &pl_format_csv, .missing = PL_MISSING_REFUSED},
                 "t:3: value of column a is missing; --missing mean, median or zero replaces missing values");
    assert_fault("a,y\n1,1\n", 8, &(pl_reading){.format = &pl_format_csv, .label_column = "z"},
                 "--label-column z: t has no such column; its 2 columns are a, y");
    assert_fault("a,w,y\n1,-1,1\n", 13, &(pl_reading){.format = &pl_format_csv, .weight_column = "w"},
                 "t:2: weight \"-1\" in column w is not a finite, non-negative number");
}

static char told[4096];

static void hear(void *user, const char *sentence) {
    (void)user;
    snprintf(told, sizeof told, "%s", sentence);
}

/* Makes `rows` rows of two columns, "a" by `make` and the label y. */
static char *make_rows(unsigned rows, void (*make)(char *field, unsigned row)) {
    char *text = malloc(64 + rows * 40), *p = text + sprintf(text, "a,b,y\n"), field[32];
    for (unsigned i = 0; i < rows; i++) {
        make(field, i);
        p += sprintf(p, "%s,%u,%u\n", field, i % 7 * (i % 3), i % 2);
    }
    return text;
}

static void mostly_numbers(char *field, unsigned row) {
    *field = '\0'; /* every tenth is missing */
    if (row == 50001)
        strcpy(field, "red");
    else if (row % 10)
        sprintf(field, "%u", row % 100);
}
static void numbered(char *field, unsigned row) { sprintf(field, "%u", row + 1); }
static void named(char *field, unsigned row) { sprintf(field, "u%05u", row); }
static void dated(char *field, unsigned row) { sprintf(field, "%u.%u.2000", row % 28 + 1, row % 12 + 1); }

static void words_among_numbers_are_missing(void **state) {
    (void)state;
    char *text = make_rows(60000, mostly_numbers);
    pl_reading reading = {.format = &pl_format_csv, .warn = hear};
    *told = '\0';
    parley_data *data = parse_as(text, strlen(text), &reading);
    assert_string_equal(told, "reading t: words in columns of numbers, which count as missing: a 1 (such as red)");
    assert_string_equal(names_of(&data->names), "a|b|");
    double sum = 0, count = 0;
    for (unsigned i = 0; i < 60000; i++)
        if (i % 10 && i != 50001) {
            sum += i % 100;
            count++;
        }
    float mean = (float)(sum / count);
    for (unsigned row = 0; row <= 50001; row += 50001) { /* row 0 is missing, row 50001 is a word */
        assert_int_equal(data->x.index[data->x.start[row]], 0);
        assert_true(data->x.values.narrow[data->x.start[row]] == mean);
    }
    parley_data_free(data);
    reading.missing = PL_MISSING_REFUSED;
    assert_fault(text, strlen(text), &reading,
                 "t:2: value of column a is missing; --missing mean, median or zero replaces missing values");
    free(text);
}

static void identifiers_are_left_out_and_dates_are_numbers(void **state) {
    (void)state;
    pl_reading reading = {.format = &pl_format_csv, .tell = hear};
    void (*const makers[])(char *, unsigned) = {numbered, named};
    for (unsigned i = 0; i < 2; i++) {
        char *text = make_rows(100, makers[i]);
        parley_data *data = parse_as(text, strlen(text), &reading);
        assert_string_equal(names_of(&data->names), "b|");
        parley_data_free(data);
        data = parse_as(text, strlen(text), &(pl_reading){.format = &pl_format_csv, .columns = "a,b"});
        assert_int_equal(data->names.count, i == 0 ? 2 : 101);
        parley_data_free(data);
        free(text);
    }
    char *text = make_rows(100, dated);
    parley_data *data = parse_as(text, strlen(text), &reading);
    assert_string_equal(names_of(&data->names), "a|b|");
    assert_true(data->x.values.narrow[data->x.start[1]] == (float)(32 / 365.2425)); /* 2 February */
    assert_true(strstr(data->table, "\"dates\":{\"a\":\"day first\"}") != NULL);
    parley_data_free(data);
    free(text);
}

static void hear_all(void *user, const char *sentence) {
    (void)user;
    size_t used = strlen(told);
    snprintf(told + used, sizeof told - used, "%s\n", sentence);
}

static parley_data *parse_string(const char *text, const pl_reading *reading) {
    return parse_as(text, strlen(text), reading);
}

static void a_first_column_without_a_name_may_number_the_rows(void **state) {
    (void)state;
    pl_reading reading = {.format = &pl_format_csv, .tell = hear_all, .label_column = "y"};
    parley_data *data = parse_string(",a,y\n3,5,1\n7,6,0\n4,6,1\n", &reading);
    assert_string_equal(names_of(&data->names), "a|");
    assert_non_null(strstr(data->table, "\"ignored\":[\"Unnamed: 0\"]"));
    parley_data_free(data);
    *told = '\0';
    parley_data_free(parse_string(",a,y\n3,5,1\n7,6,0\n4,6,1\n", &reading));
    assert_non_null(strstr(told, "Unnamed: 0 left out"));
    data = parse_string(",a,y\n3,5,1\n7,6,0\n3,6,1\n", &reading); /* values repeat */
    assert_string_equal(names_of(&data->names), "Unnamed: 0|a|");
    parley_data_free(data);
    reading.label_column = NULL;
    assert_rows(",1,0\n5,6,1\n", &reading, "0|0:5 1:1\n1|0:5 1:6\n"); /* a row with a missing value */
}

static void numbers_may_have_commas(void **state) {
    (void)state;
    const pl_reading reading = {.format = &pl_format_csv, .tell = hear_all, .missing = PL_MISSING_ZERO};
    assert_rows("a;b;y\n1,5;2;0,5\n-1.234,25;3;2,0\n1.000;4;1\n", &reading,
                "0.5|0:1.5 1:2\n2|0:-1234.25 1:3\n1|0:1000 1:4\n");
    assert_rows("a\tb\ty\n0,125\t1\t1\n0,250\t2\t0\n", &reading, "1|0:0.125 1:1\n0|0:0.25 1:2\n");
    assert_rows("1,5;2,5;1\n3,5;4,5;0\n", &reading, "1|0:1.5 1:2.5\n0|0:3.5 1:4.5\n");
    assert_rows("a,y\n\"1,234\",1\n\"2,345,678.5\",0\n99,1\n", &reading, "1|0:1234\n0|0:2345678.5\n1|0:99\n");
    *told = '\0';
    parley_data *data = parse_string("a;y\n1,5;2,5\n2,5;1\n", &reading);
    assert_non_null(strstr(told, "a, y read with decimal commas"));
    assert_non_null(strstr(data->table, "\"decimal_comma\":[\"a\",\"y\"]"));
    /* A model remembers what the numbers of another input do not tell. */
    const pl_reading again = {
        .format = &pl_format_csv, .model_columns = 1, .names = &data->names, .table = data->table};
    assert_rows("a;y\n1.234;1\n", &again, "1|0:1234\n");
    assert_rows("a;y\n1.5;1\n", &again, "1|0:1.5\n");
    parley_data_free(data);
    /* Words with commas stay words. */
    data = parse_string("a;y\n1,2,3;1\nx,y;0\n0,123,456;1\n", &reading);
    assert_int_equal(data->names.count, 3);
    parley_data_free(data);
}

/* Parses `rows` rows of a first column, a number and a label; cell number i % count is the i-th value. */
static parley_data *parse_cells(const char *const *cells, unsigned count, unsigned rows, const pl_reading *reading) {
    char *text = malloc(64 + rows * 80), *p = text + sprintf(text, "a,b,y\n");
    for (unsigned i = 0; i < rows; i++)
        p += sprintf(p, "\"%s\",%u,%u\n", cells[i % count], i % 7 * (i % 3), i % 2);
    *told = '\0';
    parley_data *data = parse_as(text, strlen(text), reading);
    free(text);
    return data;
}

static void assert_column(const char *const *cells, unsigned count, const char *names, const char *sentence,
                          const char *remembered) {
    const pl_reading reading = {.format = &pl_format_csv, .tell = hear_all};
    parley_data *data = parse_cells(cells, count, 60, &reading);
    assert_string_equal(names_of(&data->names), names);
    if (!strstr(told, sentence) || !strstr(data->table, remembered))
        fail_msg("%s%s", told, data->table);
    parley_data_free(data);
}

static void amounts_of_one_unit_are_numbers(void **state) {
    (void)state;
    static const char *const weights[] = {"12.8 kg", "7kg", "9", "1.5 KG"};
    assert_column(weights, 4, "a|b|", "a (such as 12.8 kg) read as numbers, without units and marks",
                  "\"units\":{\"a\":\"kg\"}");
    static const char *const prices[] = {"$1,443.75", "($20)", "$0.99", "7"};
    assert_column(prices, 4, "a|b|", "a read with commas between thousands; a (such as $1,443.75) read", "\"a\":\"$\"");
    static const char *const signs[] = {"(1765)", "12", "1 764"};
    assert_column(signs, 3, "a|b|", "a (such as (1765)) read", "\"units\":{\"a\":\"\"}");
    static const char *const limits[] = {"<5", "7", "9", "11"};
    assert_column(limits, 4, "a|b|", "a has bounds, which are read as if they were values", "\"bounded\":[\"a\"]");
    static const char *const times[] = {"16:25", "16:25:30", "9:00"};
    assert_column(times, 3, "a|b|", "a read as times, in hours", "\"dates\":{\"a\":\"clock\"}");
    static const char *const days[] = {"1 Mar 2023", "Mar 2, 2023", "-"};
    assert_column(days, 3, "a|b|", "a read as a date", "\"dates\":{\"a\":\"year first\"}");
    static const char *const either[] = {"01/03/2023", "02/04/2023"};
    assert_column(either, 2, "a|b|", "a read as dates with the month first, although no value shows it", "month first");
    static const char *const shown[] = {"01/03/2023", "25/04/2023"};
    assert_column(shown, 2, "a|b|", "a read as a date", "day first");
}

static void units_that_differ_stay_words(void **state) {
    (void)state;
    static const char *const mixed[] = {"2 kg", "500 g"};
    assert_column(mixed, 2, "a=2 kg|a=500 g|b|",
                  "a (kg, g) not read as numbers, because the units differ; use one unit", "{");
    static const char *const factors[] = {"5%", "0.05"}; /* numbers without a factor are other numbers */
    assert_column(factors, 2, "a=0.05|a=5%|b|", "", "{");
    static const char *const bounds[] = {"<=50K", ">50K"};
    assert_column(bounds, 2, "a=<=50K|a=>50K|b|", "", "{");
    static const char *const houses[] = {"12", "12", "12", "12A"};
    assert_column(houses, 4, "a=12|a=12A|b|", "", "{");
    static const char *const ranges[] = {"18-24", "25-34", "<18", "65+"};
    assert_column(ranges, 4, "a=18-24|a=25-34|a=65+|a=<18|b|", "", "{");
}

static void words_for_missing_values_are_found_in_columns_of_numbers(void **state) {
    (void)state;
    static const char *const blanks[] = {"1", "2", "-", "missing", "5"};
    assert_column(blanks, 5, "a|b|", "missing values: a 24 (mean 2.66667)", "\"fill\":{\"a\":2.6666");
    static const char *const few[] = {"1 kg", "2 kg", "3 kg", "4 kg", "5 kg", "6 kg", "7 kg", "8 kg", "9 kg", "heavy"};
    assert_column(few, 10, "a|b|", "words in columns of numbers, which count as missing: a 6 (such as heavy)",
                  "\"kg\"");
    static const char *const others[] = {"1 kg", "2 kg", "3 kg", "4 kg", "heavy"};
    assert_column(others, 5, "a=1 kg|a=2 kg|a=3 kg|a=4 kg|a=heavy|b|", "", "{");
    static const char *const marks[] = {"-", "+"};
    assert_column(marks, 2, "a=+|a=-|b|", "", "{");
    static const char *const checks[] = {"1", "1", "-"}; /* numbers that do not vary tell nothing */
    assert_column(checks, 3, "a=-|a=1|b|", "", "{");
}

static void a_model_reads_amounts_as_in_training(void **state) {
    (void)state;
    static const char *const weights[] = {"12 kg", "7 kg", "<9 kg", "40 kg"};
    pl_reading reading = {.format = &pl_format_csv};
    parley_data *data = parse_cells(weights, 4, 40, &reading);
    const pl_reading again = {.format = &pl_format_csv,
                              .missing = PL_MISSING_ZERO,
                              .model_columns = 2,
                              .names = &data->names,
                              .table = data->table};
    assert_rows("b,a,y\n1,5 kg,1\n1,6,0\n1,7 g,1\n1,<8 kg,1\n1,-,1\n", &again,
                "1|0:5 1:1\n0|0:6 1:1\n1|1:1\n1|0:8 1:1\n1|1:1\n");
    assert_rows("b,a,y\n1,7 g,1\n", &again, "1|1:1\n"); /* this file alone would tell grams */
    parley_data_free(data);
    data = parse_string("y,a\n1,5\n0,7\n", &reading);
    const pl_reading plain = {.format = &pl_format_csv,
                              .missing = PL_MISSING_ZERO,
                              .model_columns = 1,
                              .names = &data->names,
                              .table = data->table};
    assert_rows("y,a\n1,5 kg\n0,\"1,007\"\n1,1 008\n", &plain, "1|\n0|0:1007\n1|0:1008\n");
    parley_data_free(data);
}

static void labels_may_be_amounts_but_few_are_classes(void **state) {
    (void)state;
    char text[4096], *p = text + sprintf(text, "a,y\n");
    for (unsigned i = 0; i < 40; i++)
        p += sprintf(p, "%u,\"$%u,%03u.50\"\n", i % 7, i + 1, i);
    *p = '\0';
    parley_data *data = parse_string(text, &csv);
    assert_int_equal(data->classes.count, 0);
    assert_true(data->label[3] == 4003.5);
    parley_data_free(data);
    data = parse_string("a,y\n1,<=50K\n2,>50K\n3,>50K\n", &csv);
    assert_string_equal(names_of(&data->classes), "<=50K|>50K|");
    parley_data_free(data);
}

static void rare_categories_are_put_together(void **state) {
    (void)state;
    char text[8192], *p = text + sprintf(text, "name,w,y\n");
    for (unsigned i = 0; i < 90; i++) /* n00 has 10 rows, other names have one or two */
        p += sprintf(p, "n%02u,w%u,%u\n", i % 9 == 0 ? 0 : i < 80 ? i + 1 : i - 60, i % 3, i % 2);
    *told = '\0';
    pl_reading reading = {.format = &pl_format_csv, .tell = hear_all};
    parley_data *data = parse_string(text, &reading);
    assert_string_equal(names_of(&data->names), "name=(rare)|name=n00|w=w0|w=w1|w=w2|");
    assert_non_null(strstr(told, "reading t: categories: name 2 (such as n00), w 3 (such as w0)\n"));
    assert_non_null(strstr(told,
                           "reading t: put together as one, (rare): 72 categories of name with fewer than 5 rows; "
                           "--min-count 1 keeps all\n"));
    assert_non_null(strstr(data->table, "\"rare\":[\"name\"]"));
    for (unsigned i = 0; i < 90; i++) {
        assert_int_equal(data->x.index[2 * i], i % 9 == 0);
        assert_int_equal(data->x.index[2 * i + 1], 2 + i % 3);
    }
    /* A name that the model does not know is as rare as those that it put together. */
    const pl_reading again = {
        .format = &pl_format_csv, .model_columns = 5, .names = &data->names, .table = data->table};
    assert_rows("y,w,name\n1,w1,n00\n0,w2,n05\n0,w7,new\n1,w1,\n", &again, "1|1:1 3:1\n0|0:1 4:1\n0|0:1\n1|3:1\n");
    parley_data_free(data);
    reading.min_count = 1;
    data = parse_string(text, &reading);
    assert_int_equal(data->names.count, 73 + 3);
    parley_data_free(data);
    reading.min_count = 31;
    data = parse_string(text, &reading);
    assert_string_equal(names_of(&data->names), "name=(rare)|w=(rare)|");
    parley_data_free(data);
    reading = (pl_reading){.format = &pl_format_csv, .categorical = "name"}; /* the user wants all of it */
    data = parse_string(text, &reading);
    assert_int_equal(data->names.count, 73 + 3);
    parley_data_free(data);
    reading = (pl_reading){.format = &pl_format_csv, .interactions = "name:w", .min_count = 4};
    data = parse_string(text, &reading);
    assert_string_equal(names_of(&data->names), "name=(rare)|name=n00|w=w0|w=w1|w=w2|name:w=(rare)|name:w=n00:w0|");
    parley_data_free(data);
}

static void rows_show_whether_the_first_line_holds_names(void **state) {
    (void)state;
    static const struct {
        const char *text;
        unsigned rows;
    } cases[] = {
        {"2019,2020,label\n1,2,yes\n3,4,no\n5,6,yes\n", 3},
        {"2019,2020,y\n1,2,1\n3,4,0\n5,6,1\n", 3},
        {"2019,2020,out\n1,2,a\n3,4,b\n5,6,a\n8,9,b\n3,4,a\n", 5},
        {"2019,2020,2021\na,2,1\nb,4,0\nc,6,1\n", 3},
        {"size,1stFlr,y\n1,2,3\n4,5,6\n5,6,1\n", 3},
        {"a,2020-01-02,y\n1,2,0\n3,4,1\n", 2},
        {"$5,12 kg,red\n$6,14 kg,blue\n$7,12 kg,red\n", 3},
        {"2020-01-01,red,x\n2020-01-02,red,y\n2020-01-04,red,x\n", 3},
        {"5.1,3.5,setosa\n4.1,3.2,setosa\n7,3.2,virg\n", 3},
        {"39,Gov,<=50K\n50,Self,<=50K\n39,Priv,>50K\n", 3},
        {"3,rain,5\n4,sun,6\n3,sun,7\n", 3},
        {"1,2,label\n3,4,label\n5,6,other\n", 3},
        {"1,red,?\n2,3,5\n2,4,6\n", 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bool last = i == 2 || i == 3;
        parley_data *data =
            parse_string(cases[i].text, &(pl_reading){.label_column = last ? "3" : NULL, .unlabelled = i == 12});
        if (data->x.rows != cases[i].rows)
            fail_msg("%llu rows in %s", (unsigned long long)data->x.rows, cases[i].text);
        parley_data_free(data);
    }
    parley_data *data = parse_string("2019,2020,out\n1,2,a\n3,4,b\n5,6,a\n", &(pl_reading){.label_column = "out"});
    assert_int_equal(data->x.rows, 3);
    parley_data_free(data);
}

static void missing_values_are_filled(void **state) {
    (void)state;
    const char *text = "a,w,y\n1,red,1\n,blue,0\n5,,1\n9,red,0\n";
    pl_reading reading = {.format = &pl_format_csv, .missing = PL_MISSING_ZERO};
    assert_rows(text, &reading, "1|0:1 2:1\n0|1:1\n1|0:5\n0|0:9 2:1\n");
    reading.missing = PL_MISSING_AUTO;
    assert_rows(text, &reading, "1|0:1 2:1\n0|0:5 1:1\n1|0:5\n0|0:9 2:1\n");
    reading.missing = PL_MISSING_INDICATOR;
    assert_rows(text, &reading, "1|0:1 4:1\n0|0:5 1:1 2:1\n1|0:5 3:1\n0|0:9 4:1\n");
    reading.missing = PL_MISSING_MEDIAN;
    assert_rows("a,y\n1,1\n0,1\n-,1\n7,0\n2,0\n", &(pl_reading){.missing = PL_MISSING_MEDIAN, .missing_words = "x,-"},
                "1|0:1\n1|\n1|0:1.5\n0|0:7\n0|0:2\n");
}

static void interactions_are_products(void **state) {
    (void)state;
    const char *text = "a,b,w,v,y\n2,3,red,x,1\n,5,blue,x,0\n4,0,,z,1\n";
    pl_reading reading = {.format = &pl_format_csv, .interactions = "a:b,a:w,w:v", .missing = PL_MISSING_ZERO};
    parley_data *data = parse_as(text, strlen(text), &reading);
    assert_string_equal(names_of(&data->names), "a|b|w=blue|w=red|v=x|v=z|a:b|a:w=red|w:v=blue:x|w:v=red:x|");
    parley_data_free(data);
    assert_rows(text, &reading, "1|0:2 1:3 3:1 4:1 6:6 7:2 9:1\n0|1:5 2:1 4:1 8:1\n1|0:4 5:1\n");
    reading.interactions = "a:c";
    assert_fault(text, strlen(text), &reading,
                 "--interactions c: t has no such column; its 5 columns are a, b, w, v, y");
    reading.interactions = "a";
    assert_fault(text, strlen(text), &reading, "--interactions a: write a pair as a:b");
}

static void columns_are_matched_by_name(void **state) {
    (void)state;
    pl_names names = make_names("n|w=blue|w=red|m|"), classes = make_names("no|yes|");
    pl_reading reading = {
        .format = &pl_format_csv, .model_columns = 4, .names = &names, .classes = &classes, .warn = hear};
    *told = '\0';
    assert_rows("y,m,w,n\nyes,3,red,1\nno,4,green,2\n", &reading, "1|0:1 2:1 3:3\n0|0:2 3:4\n");
    assert_string_equal(
        told, "reading t: values that the model has never seen, which count as no category: w 1 (such as green)");
    assert_rows("y,z,w\nyes,3,blue\n", &reading, "1|1:1\n");
    assert_string_equal(told,
                        "reading t: 2 columns of the model are missing and count as 0 (n, ...); 1 column is unknown "
                        "to the model and not used (z)");
    assert_fault("y,n\nperhaps,1\n", 14, &reading, "t:2: label \"perhaps\" in column y is not a class of the model");
    assert_fault("u,v\n1,1\n", 8, &reading, "t: it has none of the model's columns, of which the first is n");
    assert_fault("m,n\n1,1\n", 8, &reading, "t: no label column; name it with --label-column");
    reading.unlabelled = true;
    assert_rows("m,w,n\n3,red,1\n", &reading, "0|0:1 2:1 3:3\n");
    assert_rows("w,n\nred,1\n", &reading, "0|0:1 2:1\n");
    assert_string_equal(told, "reading t: 1 column of the model is missing and counts as 0 (m)");
    pl_names_free(&names);
    pl_names_free(&classes);
}

static void a_model_without_names_takes_numbers_in_order(void **state) {
    (void)state;
    const pl_reading reading = {.format = &pl_format_csv, .model_columns = 2};
    assert_rows("a,b,y\n1,2,3\n", &reading, "3|0:1 1:2\n");
    assert_fault("a,b,y\nx,2,3\n", 12, &reading,
                 "t: column a holds categories, but the model has no names to match them with; train it on CSV");
}

static void what_is_written_reads_back_the_same(void **state) {
    (void)state;
    const char *text = "n,\"a, \"\"b\",y\n1.5,red,no\n-2,\"x\ny\",yes\n";
    parley_data *data = parse_as(text, strlen(text), &csv), *again;
    parley_error error;
    assert_int_equal(pl_data_write_csv(data, in_folder("out.csv.gz"), NULL, &error), PARLEY_OK);
    assert_int_equal(pl_data_read(path_text, three, NULL, NULL, &again, &error), PARLEY_OK);
    assert_same_data(data, again);
    char *names = strdup(names_of(&data->names));
    assert_string_equal(names, names_of(&again->names));
    assert_string_equal(names_of(&again->classes), "no|yes|");
    free(names);
    parley_data_free(again);
    assert_int_equal(pl_data_write_cache(data, in_folder("out.parley"), &error), PARLEY_OK);
    assert_int_equal(pl_data_read(path_text, three, NULL, NULL, &again, &error), PARLEY_OK);
    assert_same_data(data, again);
    assert_string_equal(names_of(&again->names), "n|a, \"b=red|a, \"b=x\ny|");
    assert_string_equal(names_of(&again->classes), "no|yes|");
    parley_data_free(again);
    data->x.columns = 100000;
    assert_int_equal(pl_data_write_csv(data, in_folder("wide.csv"), NULL, &error), PARLEY_BAD_USAGE);
    parley_data_free(data);
}

static void every_failed_allocation_is_survived(void **state) {
    (void)state;
    char text[8192], *p = text + sprintf(text, "y,\"a\"\"b\",n,w\n"), path[256];
    for (int i = 0; i < 90; i++)
        p += sprintf(p, "%s,\"q\"\"%d\",%d.5,k%d\n", i % 3 ? "no" : "yes", i % 40, i, i * 7 % 30);
    snprintf(path, sizeof path, "%s", in_folder("a.csv"));
    write_bytes(path, text, (size_t)(p - text));
    assert_survives(path, &csv);
    assert_survives(path, &(pl_reading){.hashed = true, .keep_names = true, .hash_bits = 8});
    pl_names names = make_names("n|w=k3|w=k4|a\"b=q\"1|"), classes = make_names("no|yes|");
    assert_survives(path, &(pl_reading){.model_columns = 4, .names = &names, .classes = &classes});
    pl_names_free(&names);
    pl_names_free(&classes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_accepted_form_is_read_right),
        cmocka_unit_test(times_and_factors_are_not_bare_numbers),
        cmocka_unit_test(other_columns_show_what_thousands_are),
        cmocka_unit_test(settings_choose_the_columns),
        cmocka_unit_test(names_are_those_of_columns_and_categories),
        cmocka_unit_test(many_categories_keep_their_numbers),
        cmocka_unit_test(hashed_categories_follow_the_numbers),
        cmocka_unit_test(every_fault_has_its_sentence),
        cmocka_unit_test(words_among_numbers_are_missing),
        cmocka_unit_test(identifiers_are_left_out_and_dates_are_numbers),
        cmocka_unit_test(a_first_column_without_a_name_may_number_the_rows),
        cmocka_unit_test(numbers_may_have_commas),
        cmocka_unit_test(amounts_of_one_unit_are_numbers),
        cmocka_unit_test(units_that_differ_stay_words),
        cmocka_unit_test(words_for_missing_values_are_found_in_columns_of_numbers),
        cmocka_unit_test(a_model_reads_amounts_as_in_training),
        cmocka_unit_test(labels_may_be_amounts_but_few_are_classes),
        cmocka_unit_test(rare_categories_are_put_together),
        cmocka_unit_test(rows_show_whether_the_first_line_holds_names),
        cmocka_unit_test(missing_values_are_filled),
        cmocka_unit_test(interactions_are_products),
        cmocka_unit_test(columns_are_matched_by_name),
        cmocka_unit_test(a_model_without_names_takes_numbers_in_order),
        cmocka_unit_test(what_is_written_reads_back_the_same),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests_name("csv", tests, open_pools, close_pools);
}
