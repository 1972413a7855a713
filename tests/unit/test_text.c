/* test_text.c: plain text with labels, sequences of words, and the weights of words. Values are those of scikit-learn
 * 1.9: TfidfVectorizer(token_pattern=r"[^\W_]+", ngram_range=(1, n), sublinear_tf=...).fit_transform(texts). */
#define _DEFAULT_SOURCE /* mkdtemp */
#include "data/terms.h"
#include "format_helpers.h"

static parley_settings settings;

static pl_reading text_reading(const char *const *options) {
    pl_settings_clear(&settings);
    pl_settings_defaults(&settings);
    for (; options && *options; options += 2) {
        parley_error error = {0};
        if (pl_setting_set(&settings, 0, options[0], options[1], &error) != PARLEY_OK)
            fail_msg("%s", error.sentence);
    }
    return (pl_reading){.settings = &settings, .format = &pl_format_text, .needs_labels = true};
}

#define OPTIONS(...) text_reading((const char *const[]){__VA_ARGS__, NULL})

static const char *const two = "pos\tthe cat sat\nneg\tThe dog, the dog\npos\tcat";

static void labels_and_words_are_numbered(void **state) {
    (void)state;
    pl_reading reading = OPTIONS("term_values", "counts");
    parley_data *data = parse_as(two, strlen(two), &reading);
    assert_string_equal(rows_of(data), "1|0:1 1:1 3:1\n0|0:2 2:2\n1|1:1\n");
    assert_string_equal(names_of(&data->names), "the|cat|dog|sat|");
    assert_string_equal(names_of(&data->classes), "neg|pos|");
    parley_data_free(data);
    assert_rows("3\ta b\n-1.5\tb\n", &reading, "3|0:1 1:1\n-1.5|0:1\n");
    assert_rows(" 1 \ta\n\n \r\n1.0\ta\r\n", &reading, "1|0:1\n1|0:1\n");
}

static void values_are_those_of_the_vectorizer(void **state) {
    (void)state;
    pl_reading reading = text_reading(NULL);
    /* the 0.517856116, cat 0.517856116, sat 0.680918560; dog 0.795960542, the 0.605348509; cat 1; order of columns:
       the, cat, dog, sat */
    assert_rows(two, &reading, "1|0:0.517856121 1:0.517856121 3:0.680918574\n0|0:0.605348527 2:0.795960546\n1|1:1\n");
    reading = OPTIONS("term_values", "presence");
    assert_rows(two, &reading, "1|0:1 1:1 3:1\n0|0:1 2:1\n1|1:1\n");
}

static void sequences_skip_stop_words(void **state) {
    (void)state;
    char stop[256];
    snprintf(stop, sizeof stop, "%s", in_folder("stop.txt"));
    write_bytes(stop, "the\nof\n", 7);
    pl_reading reading = OPTIONS("stop_words", stop, "ngrams", "3", "term_values", "counts");
    const char *text = "1\tKing of the hill king\n2\thill\n";
    parley_data *data = parse_as(text, strlen(text), &reading);
    assert_string_equal(names_of(&data->names), "hill|king|hill king|king hill|king hill king|");
    assert_string_equal(rows_of(data), "1|0:1 1:2 2:1 3:1 4:1\n2|0:1\n");
    parley_data_free(data);
}

static void rare_and_frequent_words_are_left_out(void **state) {
    (void)state;
    pl_reading reading = OPTIONS("min_documents", "2", "term_values", "counts");
    assert_rows(two, &reading, "1|0:1 1:1\n0|0:2\n1|1:1\n");
    reading = OPTIONS("max_documents", "0.5", "term_values", "counts");
    assert_rows(two, &reading, "1|1:1\n0|0:2\n1|\n");
    reading = OPTIONS("words", "1", "term_values", "counts");
    assert_rows(two, &reading, "1|0:1\n0|0:2\n1|\n");
}

/* Reads text for a model that was trained on `two`. */
static parley_data *again(const parley_data *trained, const char *text, bool unlabelled) {
    pl_reading reading = {.format = &pl_format_text,
                          .unlabelled = unlabelled,
                          .model_columns = trained->x.columns,
                          .names = &trained->names,
                          .classes = &trained->classes,
                          .table = trained->table};
    return parse_as(text, strlen(text), &reading);
}

static void a_model_reads_text_as_its_training_text(void **state) {
    (void)state;
    pl_reading reading = OPTIONS("ngrams", "2", "term_values", "log-tf-idf");
    parley_data *data = parse_as(two, strlen(two), &reading), *same = again(data, two, false);
    assert_same_data(data, same);
    parley_data_free(same);
    same = again(data, "the cat sat\nThe dog, the dog\ncat, unknown", true);
    assert_memory_equal(same->x.index, data->x.index, data->x.nonzeros * sizeof *data->x.index);
    assert_memory_equal(same->x.values.narrow, data->x.values.narrow, data->x.nonzeros * sizeof(float));
    parley_data_free(same);
    same = again(data, two, true); /* known labels are not read as words */
    assert_int_equal(same->x.nonzeros, data->x.nonzeros);
    parley_data_free(same);
    same = again(data, "dog\tcat\n", true); /* no class of the model, so that it is a word */
    assert_int_equal(same->x.nonzeros, 2);
    parley_data_free(same);
    parley_data_free(data);
}

static void bad_lines_are_refused(void **state) {
    (void)state;
    static const fault faults[] = {
        {"a\tx\nx y\n", "t:2: no tab; each line must be a label, a tab and the text"},
        {"a\tx\n\ty\n", "t:2: the label is missing; each line must be a label, a tab and the text"},
        {"a\tx\n\xff\ty\n", "t:2: label \"?\" is not UTF-8 text; convert it, for example with iconv"},
        {"a\tx\nb\ty\xff\n", "t:2: this is not UTF-8 text at byte 4 of the line; convert it, for example with iconv"},
        {"a\t.\n", "t: no word is left"},
    };
    pl_reading reading = text_reading(NULL);
    assert_faults(faults, sizeof faults / sizeof *faults, &reading);
    parley_data *data = parse_as(two, strlen(two), &reading);
    pl_reading model = {.format = &pl_format_text,
                        .model_columns = data->x.columns,
                        .names = &data->names,
                        .classes = &data->classes,
                        .table = data->table};
    assert_fault("pos\tcat\nodd\tdog\n", 16, &model, "t:2: label \"odd\" is not a class of the model");
    parley_data_free(data);
}

static pl_reading table_reading(const char *const *options) {
    pl_reading reading = text_reading(options);
    reading.format = &pl_format_csv;
    reading.text_column = "says";
    reading.label_column = "y";
    return reading;
}

static const char *const table = "says,n,y\nthe cat sat,2,pos\n\"The dog, the dog\",,neg\ncat,3,pos\n";

static void a_column_of_text_has_a_column_for_each_word(void **state) {
    (void)state;
    pl_reading reading = table_reading(NULL);
    reading.missing = PL_MISSING_ZERO;
    parley_data *data = parse_as(table, strlen(table), &reading);
    assert_string_equal(names_of(&data->names), "says=cat|says=dog|says=sat|says=the|n|");
    assert_string_equal(rows_of(data), "1|0:0.517856121 2:0.680918574 3:0.517856121 4:2\n0|1:0.795960546 "
                                       "3:0.605348527\n1|0:1 4:3\n");
    pl_reading model = {.format = &pl_format_csv,
                        .model_columns = data->x.columns,
                        .names = &data->names,
                        .classes = &data->classes,
                        .table = data->table};
    parley_data *same = parse_as(table, strlen(table), &model);
    assert_same_data(data, same);
    parley_data_free(same);
    model.unlabelled = true;
    static const char *const other = "n,says\n2,The unknown cat sat\n0,?\n";
    same = parse_as(other, strlen(other), &model);
    assert_string_equal(rows_of(same), "0|0:0.517856121 2:0.680918574 3:0.517856121 4:2\n0|\n");
    parley_data_free(same);
    parley_data_free(data);
}

static void words_of_a_column_of_text_are_chosen(void **state) {
    (void)state;
    pl_reading reading = table_reading((const char *const[]){"term_values", "counts", "words", "2", NULL});
    reading.ignore = "n";
    assert_rows(table, &reading, "1|0:1 1:1\n0|1:2\n1|0:1\n");
    reading = table_reading((const char *const[]){"term_values", "presence", NULL});
    reading.ignore = "n";
    assert_rows(table, &reading, "1|0:1 2:1 3:1\n0|1:1 3:1\n1|0:1\n");
    reading = table_reading(NULL); /* topics count words, and take no other columns */
    reading.text_column = "n,says";
    reading.documents = true;
    reading.needs_labels = false;
    reading.label_column = NULL;
    parley_data *data = parse_as(table, strlen(table), &reading);
    assert_string_equal(names_of(&data->names), "says=cat|says=dog|says=sat|says=the|n=2|n=3|");
    assert_string_equal(rows_of(data), "1|0:1 2:1 3:1 4:1\n0|1:2 3:2\n1|0:1 5:1\n");
    parley_data_free(data);
}

static void columns_that_are_no_text_are_refused(void **state) {
    (void)state;
    pl_reading reading = table_reading((const char *const[]){"min_documents", "3", NULL});
    assert_fault(table, strlen(table), &reading,
                 "t: no word is left in column says; change --min-documents, --max-documents or --stop-words, or leave "
                 "the column out");
    reading.text_column = NULL;
    assert_fault(table, strlen(table), &reading,
                 "--min-documents has no effect: t is a table, and --text-column names no column of text in it");
    reading = table_reading(NULL);
    reading.label_column = "says";
    assert_fault(table, strlen(table), &reading,
                 "--text-column says: this is the label column of t; name another column");
    reading = table_reading(NULL);
    reading.hashed = true;
    assert_fault(table, strlen(table), &reading,
                 "--text-column does not work with --categories hash, because words have names; leave one out");
    reading.hashed = false;
    static const char *const odd = "says,y\na \xff,1\nb,2\n";
    assert_fault(odd, strlen(odd), &reading, "t:2: \"a ?\" is not UTF-8 text; --encoding latin-1 reads it as Latin-1");
}

static void text_is_recognised_where_rows_are_documents(void **state) {
    (void)state;
    static const struct {
        const char *text, *format;
    } inputs[] = {
        {"Cats purr, as a rule.\nStocks rise\n", "text"},
        {"one line of text\n", "text"},
        {"a,b\n1,2\n3,4\n", "csv"},
        {"a b\tc\n1 2\t3\n", "csv"},
        {"1 2:3\n", "libsvm"},
        {"a\tone of them\nb\tand one more\n", "text"},
        {"word\nword\n", "csv"},
    };
    for (unsigned i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        pl_source *source;
        const pl_format *format;
        parley_error error = {0};
        const pl_reading reading = {.documents = true};
        assert_int_equal(pl_source_memory(inputs[i].text, strlen(inputs[i].text), "t", 4096, &source, &error),
                         PARLEY_OK);
        assert_int_equal(pl_format_choose(&reading, source, &format, &error), PARLEY_OK);
        assert_string_equal(format->name, inputs[i].format);
        pl_source_close(source);
    }
}

static void lost_memory_is_reported(void **state) {
    (void)state;
    char path[256];
    pl_reading reading = OPTIONS("ngrams", "2");
    snprintf(path, sizeof path, "%s", in_folder("text.txt"));
    write_bytes(path, two, strlen(two));
    assert_survives(path, &reading);
    snprintf(path, sizeof path, "%s", in_folder("text.csv"));
    write_bytes(path, table, strlen(table));
    reading = table_reading(NULL);
    assert_survives(path, &reading);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_and_words_are_numbered),
        cmocka_unit_test(values_are_those_of_the_vectorizer),
        cmocka_unit_test(sequences_skip_stop_words),
        cmocka_unit_test(rare_and_frequent_words_are_left_out),
        cmocka_unit_test(a_model_reads_text_as_its_training_text),
        cmocka_unit_test(bad_lines_are_refused),
        cmocka_unit_test(a_column_of_text_has_a_column_for_each_word),
        cmocka_unit_test(words_of_a_column_of_text_are_chosen),
        cmocka_unit_test(columns_that_are_no_text_are_refused),
        cmocka_unit_test(text_is_recognised_where_rows_are_documents),
        cmocka_unit_test(lost_memory_is_reported),
    };
    int failed = cmocka_run_group_tests_name("text", tests, open_pools, close_pools);
    pl_settings_clear(&settings);
    return failed;
}
