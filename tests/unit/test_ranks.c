/* test_ranks.c: reading on several ranks: together they hold what one process would read, and give the same errors. */
#define _DEFAULT_SOURCE /* mkdtemp, strtok_r */
#include "shard/parallel_read.h"
#include "support.h"
/* after support.h, which declares what cmocka needs */
#include "base/random.h"
#include "data/file.h"
#include "data/format.h"
#include "data_helpers.h"

#define TEXT_BYTES 200000

/* What all ranks read: files of the folder; rank `odd` gets other ones. */
typedef struct task {
    const char *names, *odd_names;
    unsigned odd;
    pl_reading reading;
    parley_data *whole[MOST_RANKS]; /* all rows, on each rank */
    uint64_t held[MOST_RANKS];
    parley_status status[MOST_RANKS];
    parley_error error[MOST_RANKS];
} task;

static parley_status body(pl_engine *engine, void *context, parley_error *error) {
    task *task = context;
    unsigned rank = engine->rank, count = 0;
    char words[8][300], copy[200];
    const char *list[8];
    pl_pool *pool;
    parley_data *data = NULL;
    snprintf(copy, sizeof copy, "%s", task->odd_names && rank == task->odd ? task->odd_names : task->names);
    for (char *rest = copy, *word; (word = strtok_r(rest, " ", &rest)); count++) {
        snprintf(words[count], sizeof words[count], "%s/%s", folder, word);
        list[count] = words[count];
    }
    parley_status status = pl_pool_open(&pool, 1 + rank % 2, error);
    if (status != PARLEY_OK) {
        (engine->type->fail)(engine, error);
        return status;
    }
    task->whole[rank] = NULL;
    status = pl_ranks_read(engine, list, count, &task->reading, pool, &data, error);
    task->held[rank] = data ? data->x.rows : 0;
    if (status == PARLEY_OK && engine->ranks > 1)
        status = pl_spread_to_all(engine, data, &task->whole[rank], error);
    if (status != PARLEY_OK)
        (engine->type->fail)(engine, error);
    if (engine->ranks == 1)
        task->whole[0] = data;
    else if (task->whole[rank]) { /* names stay on the ranks that read them */
        task->whole[rank]->names = data->names;
        task->whole[rank]->classes = data->classes;
        data->names = data->classes = (pl_names){0};
    }
    if (engine->ranks > 1)
        parley_data_free(data);
    pl_pool_close(pool);
    return status;
}

static void free_all(task *task, unsigned ranks) {
    for (unsigned r = 0; r < ranks; r++)
        parley_data_free(task->whole[r]);
}

static void assert_same_names(const pl_names *a, const pl_names *b) {
    for (uint64_t i = 0; i < b->count; i++) {
        pl_name left = pl_names_at(a, i), right = pl_names_at(b, i);
        assert_int_equal(left.bytes, right.bytes);
        assert_memory_equal(left.text, right.text, right.bytes);
    }
}

static void assert_alike(const parley_data *a, const parley_data *b) {
    assert_int_equal(a->x.rows, b->x.rows);
    assert_int_equal(a->x.columns, b->x.columns);
    assert_int_equal(a->x.nonzeros, b->x.nonzeros);
    assert_memory_equal(a->x.start, b->x.start, (b->x.rows + 1) * sizeof *b->x.start);
    assert_memory_equal(a->x.index, b->x.index, b->x.nonzeros * sizeof *b->x.index);
    assert_int_equal(pl_value_bytes(a->x.values), pl_value_bytes(b->x.values));
    if (!pl_are_ones(b->x.values))
        assert_memory_equal(pl_value_memory(a->x.values), pl_value_memory(b->x.values),
                            b->x.nonzeros * pl_value_bytes(b->x.values));
    assert_memory_equal(a->label, b->label, b->x.rows * sizeof *b->label);
    assert_int_equal(a->weight != NULL, b->weight != NULL);
    if (b->weight)
        assert_memory_equal(a->weight, b->weight, b->x.rows * sizeof *b->weight);
    assert_int_equal(a->names.count, b->names.count);
    assert_int_equal(a->classes.count, b->classes.count);
    assert_int_equal(a->hash_bits, b->hash_bits);
    assert_same_names(&a->names, &b->names);
    assert_same_names(&a->classes, &b->classes);
}

/* `balanced` means that no rank holds much more than its share. */
static void assert_ranks_read(const char *names, pl_reading reading, bool balanced) {
    task one = {.names = names, .reading = reading};
    run_ranks(1, 2, DEADLINE, body, &one, one.status, one.error);
    assert_done(one.status[0], &one.error[0]);
    for (unsigned ranks = 2; ranks <= MOST_RANKS; ranks++) {
        task many = {.names = names, .reading = reading};
        run_ranks(ranks, 2, DEADLINE, body, &many, many.status, many.error);
        for (unsigned r = 0; r < ranks; r++) {
            assert_done(many.status[r], &many.error[r]);
            assert_alike(many.whole[r], one.whole[0]);
            if (balanced)
                assert_true(many.held[r] * ranks < 2 * one.whole[0]->x.rows + 2 * ranks);
        }
        free_all(&many, ranks);
    }
    free_all(&one, 1);
}

/* All ranks give the error that one process gives. */
static void assert_ranks_refuse(const char *names, pl_reading reading) {
    task one = {.names = names, .reading = reading};
    run_ranks(1, 2, DEADLINE, body, &one, one.status, one.error);
    if (one.status[0] == PARLEY_OK)
        print_error("%s is read\n", names);
    assert_int_not_equal(one.status[0], PARLEY_OK);
    for (unsigned ranks = 2; ranks <= MOST_RANKS; ranks++) {
        task many = {.names = names, .reading = reading};
        run_ranks(ranks, 2, DEADLINE, body, &many, many.status, many.error);
        for (unsigned r = 0; r < ranks; r++) {
            assert_int_equal(many.status[r], one.status[0]);
            assert_string_equal(many.error[r].sentence, one.error[0].sentence);
        }
        free_all(&many, ranks);
    }
    free_all(&one, 1);
}

/* Lines that make several blocks, on request with an invalid one near the end. */
static bool write_long(const char *name, bool bad) {
    static char line[64 << 10];
    pl_file *file;
    parley_error error;
    parley_status status = pl_file_open(in_folder(name), PL_TO_GZIP, &file, &error);
    size_t bytes = (size_t)snprintf(line, sizeof line, "1");
    for (unsigned j = 1; j <= 6000; j++)
        bytes += (size_t)snprintf(line + bytes, sizeof line - bytes, " %u:1", j);
    line[bytes++] = '\n';
    for (unsigned i = 0; i < 300 && status == PARLEY_OK; i++) {
        line[0] = (char)('1' + i % 7);
        line[1] = bad && i == 277 ? 'x' : ' ';
        status = pl_file_write(file, line, bytes, &error);
    }
    return pl_file_close(file, status, &error) == PARLEY_OK;
}

/* Rows of words and numbers, some of them in quotes with newlines, separators and quotes in them. Line `bad` (from 0)
 * holds `wrong`. Each part of the text has other words, and few words are in all parts. */
static void write_words(const char *name, bool header, unsigned rows, unsigned bad, const char *wrong) {
    static char text[TEXT_BYTES];
    static const char *const classes[] = {"yes", "no", "\"may\nbe\""};
    size_t bytes = header ? (size_t)snprintf(text, sizeof text, "y,size,\"the\ncolour\",place\n") : 0;
    for (unsigned i = 0; i < rows; i++) {
        unsigned tone = (i * 7919) % 31 + i / 40;
        if (i == bad)
            bytes += (size_t)snprintf(text + bytes, sizeof text - bytes, "%s\n", wrong);
        bytes += (size_t)snprintf(text + bytes, sizeof text - bytes,
                                  i % 3 ? "%s,%u,tone %u,%s\n" : "%s,%u,\"tone,\n%u \"\"x\"\"\",%s\n",
                                  classes[(i / 5 + i / 90) % 3], i % 13, tone,
                                  i % 4   ? "here"
                                  : i % 8 ? "\"\n\""
                                          : "");
    }
    write_bytes(in_folder(name), text, bytes);
}

/* Rows of seven values of a type, of which `there` bytes are written. Labels count up to nine. */
static void write_records(const char *images, const char *labels, unsigned type, unsigned rows, size_t there) {
    static unsigned char bytes[TEXT_BYTES];
    unsigned width = type == 0x0D ? 4 : 1;
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes,
           (const unsigned char[]){0, 0, (unsigned char)type, 2, 0, 0, (unsigned char)(rows >> 8), (unsigned char)rows,
                                   0, 0, 0, 7},
           12);
    for (unsigned i = 0; i < 7 * rows * width; i++)
        bytes[12 + i] = width == 4 && i % 4 == 0 ? 0x40 : (unsigned char)(i * 37 % 11 < 6 ? 0 : i % 61);
    if (width == 4)
        memcpy(bytes + 12 + 4 * 1000, (const unsigned char[]){0x7f, 0x80, 0, 0}, 4); /* infinity */
    write_bytes(in_folder(images), bytes, there);
    memcpy(bytes, (const unsigned char[]){0, 0, 8, 1, 0, 0, (unsigned char)(rows >> 8), (unsigned char)rows}, 8);
    for (unsigned i = 0; i < rows; i++)
        bytes[8 + i] = (unsigned char)(i % 10);
    write_bytes(in_folder(labels), bytes, 8 + rows);
}

static bool compress(const char *from, const char *to) {
    static char text[TEXT_BYTES];
    pl_file *file;
    parley_error error;
    FILE *source = fopen(in_folder(from), "rb");
    size_t bytes = source ? fread(text, 1, sizeof text, source) : 0;
    if (source)
        fclose(source);
    parley_status status = pl_file_open(in_folder(to), PL_TO_GZIP, &file, &error);
    if (status == PARLEY_OK)
        status = pl_file_write(file, text, bytes, &error);
    return pl_file_close(file, status, &error) == PARLEY_OK;
}

/* Copies a table, with a title of two lines that has a quote, and comments with quotes below it. */
static void write_titled(const char *name, const char *from) {
    size_t bytes, used;
    char *text = read_bytes(in_folder(from), &bytes), *all = malloc(2 * bytes + 64);
    used = (size_t)sprintf(all, "The \"title\n\n%% 5\" wide\n");
    bool inside = false;
    for (size_t i = 0; i < bytes; i++) {
        all[used++] = text[i];
        inside ^= text[i] == '"';
        if (text[i] == '\n' && !inside && i % 3 == 0)
            used += (size_t)sprintf(all + used, "%% \"\n");
    }
    write_bytes(in_folder(name), all, used);
    free(text);
    free(all);
}

/* Times since 1970 that span `range` seconds, as NAME.csv and NAME.svm. */
static void write_times(const char *name, double range) {
    char path[80], csv[40000] = "y,t,x\n", svm[40000];
    size_t bytes = strlen(csv), used = 0;
    for (unsigned i = 0; i < 500; i++) {
        double time = 1.7e9 + range * (i * 37 % 500) / 500;
        bytes += (size_t)snprintf(csv + bytes, sizeof csv - bytes, "%u,%.3f,%u\n", i % 2, time, i % 3 + 1);
        used += (size_t)snprintf(svm + used, sizeof svm - used, "%u 1:%.3f 2:%u\n", i % 2, time, i % 3 + 1);
    }
    snprintf(path, sizeof path, "%s.csv", name);
    write_bytes(in_folder(path), csv, bytes);
    snprintf(path, sizeof path, "%s.svm", name);
    write_bytes(in_folder(path), svm, used);
}

static int prepare(void **state) {
    static char text[TEXT_BYTES];
    parley_error error;
    parley_data *data = random_data((sample_plan){.seed = 9, .rows = 900, .columns = 40, .density = 0.2});
    parley_data *ones = random_data((sample_plan){.seed = 2, .rows = 300, .columns = 50, .density = 0.2, .ones = true});
    if (make_folder(state) != 0)
        return -1;
    bool written = write_long("long.gz", false) && write_long("bad.gz", true) &&
                   pl_data_write_libsvm(data, in_folder("all.svm"), NULL, &error) == PARLEY_OK &&
                   pl_data_write_libsvm(data, in_folder("all.svm.gz"), NULL, &error) == PARLEY_OK &&
                   pl_data_write_libsvm(data, in_folder("all.svm.zst"), NULL, &error) == PARLEY_OK &&
                   pl_data_write_libsvm(ones, in_folder("ones.svm"), NULL, &error) == PARLEY_OK &&
                   pl_data_write_csv(data, in_folder("all.csv"), NULL, &error) == PARLEY_OK &&
                   pl_data_write_vw(data, in_folder("all.vw"), NULL, &error) == PARLEY_OK &&
                   pl_data_write_cache(data, in_folder("all.parley"), &error) == PARLEY_OK &&
                   pl_data_write_cache(ones, in_folder("ones.parley"), &error) == PARLEY_OK;
    parley_data_free(data);
    parley_data_free(ones);
    size_t bytes = 0;
    for (unsigned i = 0; i < 500; i++)
        bytes += (size_t)snprintf(text + bytes, sizeof text - bytes,
                                  i == 333   ? "1 3:x\n"
                                  : i == 400 ? "1 0:1\n"
                                             : "1 %u:2\n",
                                  1 + i % 7);
    write_bytes(in_folder("bad.svm"), text, bytes);
    write_bytes(in_folder("words.csv"), "y,a,b\nyes,1,red\nno,2,blue\nyes,3,red\n", 36);
    write_times("seconds", 600.25);
    write_times("years", 1e8);
    write_bytes(in_folder("tiny.svm"), "1 1:0.5 2:1e-40\n-1 1:0.1\n1 1:3\n-1 1:2\n", 38);
    write_words("many.csv", true, 700, 1000, "");
    write_words("more.csv", true, 90, 1000, "");
    write_words("rest.csv", false, 200, 1000, "");
    write_words("few.csv", true, 700, 555, "yes,1,red");
    write_words("value.csv", true, 700, 99, "yes,1e999,red,here");
    write_words("stray.csv", true, 700, 410, "yes,1,5\" red,here");
    write_words("open.csv", true, 700, 300, "yes,1,\"red,here");
    write_words("last.csv", true, 700, 699, "yes,1,\"red\"x,here");
    write_bytes(in_folder("head.csv"), "y,size,\"the\ncolour\",place\n", 26);
    write_titled("title.csv", "more.csv");
    write_bytes(in_folder("twice.csv"), "y,a,a\n1,2,3\n", 12);
    write_records("images", "labels", 8, 500, 12 + 7 * 500);
    write_records("cut-images", "cut-labels", 8, 500, 12 + 7 * 499);
    write_records("torn-images", "torn-labels", 8, 500, 12 + 7 * 444 + 3);
    write_records("long-images", "long-labels", 8, 500, 12 + 7 * 520);
    write_records("no-images", "no-labels", 8, 500, 12);
    write_records("bad-images", "bad-labels", 0x0D, 500, 12 + 28 * 500);
    written = written && compress("images", "images.gz") && compress("many.csv", "many.csv.gz") &&
              compress("value.csv", "value.csv.gz");
    bytes = 0;
    for (unsigned i = 0; i < 800; i++)
        bytes += (size_t)snprintf(text + bytes, sizeof text - bytes, "%u |a word%u same:2 |b%u %u:3 of=%u\n", i % 2,
                                  i * 31 % 97 + i / 50, i % 5, i % 70, i);
    write_bytes(in_folder("names.vw"), text, bytes);
    write_bytes(in_folder("short.svm"), "1 2:1", 5);
    write_bytes(in_folder("empty.svm"), "", 0);
    write_bytes(in_folder("blank.svm"), "# nothing\n\n", 11);
    return written ? 0 : -1;
}

static void text_is_cut_at_lines(void **state) {
    (void)state;
    assert_ranks_read("all.svm", (pl_reading){0}, true);
    assert_ranks_read("all.svm ones.svm all.svm", (pl_reading){0}, true);
    assert_ranks_read("ones.svm", (pl_reading){0}, true);
    assert_ranks_read("short.svm", (pl_reading){0}, false); /* one line, many ranks */
    assert_ranks_read("short.svm all.svm empty.svm short.svm", (pl_reading){0}, true);
    assert_ranks_read("all.vw", (pl_reading){0}, true);
}

static void compressed_text_is_read_by_one_and_dealt(void **state) {
    (void)state;
    assert_ranks_read("all.svm.zst", (pl_reading){0}, false);
    assert_ranks_read("long.gz", (pl_reading){0}, false);
    assert_ranks_refuse("all.svm bad.gz", (pl_reading){0});
    assert_ranks_read("all.svm.gz all.svm ones.svm", (pl_reading){0}, false);
    assert_ranks_read("all.svm.gz all.svm.zst all.svm.gz all.svm.zst all.svm.gz all.svm.zst", (pl_reading){0}, false);
}

static void csv_is_cut_at_newlines_that_are_not_in_quotes(void **state) {
    (void)state;
    assert_ranks_read("all.csv", (pl_reading){0}, true);
    assert_ranks_read("words.csv", (pl_reading){0}, false); /* the header is larger than some rank's share */
    assert_ranks_read("many.csv", (pl_reading){0}, true);
    assert_ranks_read("many.csv more.csv", (pl_reading){0}, true);
    assert_ranks_read("more.csv rest.csv empty.svm many.csv head.csv", (pl_reading){0}, true);
    assert_ranks_read("rest.csv", (pl_reading){.header = PL_NO_HEADER, .categorical = "2", .label_column = "1"}, true);
    assert_ranks_read("twice.csv", (pl_reading){0}, false);
    assert_ranks_read("title.csv", (pl_reading){.skip_lines = 2, .comment = '%'}, true);
    assert_ranks_read("title.csv more.csv title.csv", (pl_reading){.skip_lines = 2, .comment = '%'}, true);
    assert_ranks_read("many.csv", (pl_reading){.weight_column = "size"}, true);
    assert_ranks_read("many.csv", (pl_reading){.hashed = true, .hash_bits = 6}, true);
    assert_ranks_read("more.csv many.csv", (pl_reading){.hashed = true, .hash_bits = 6, .keep_names = true}, true);
}

static void records_are_numbered_by_their_place(void **state) {
    (void)state;
    assert_ranks_read("images", (pl_reading){0}, true);
    assert_ranks_read("images.gz", (pl_reading){.labels = in_folder("labels")}, false);
    const char *const wrong[] = {"cut-images", "torn-images", "long-images",  "no-images",
                                 "bad-images", "labels",      "images images"};
    for (unsigned i = 0; i < COUNT(wrong); i++)
        assert_ranks_refuse(wrong[i], (pl_reading){0});
    assert_ranks_refuse("images", (pl_reading){.labels = in_folder("images")});
}

static void names_are_those_that_come_first_in_the_text(void **state) {
    (void)state;
    assert_ranks_read("all.vw", (pl_reading){.keep_names = true}, true);
    assert_ranks_read("names.vw", (pl_reading){.keep_names = true, .hash_bits = 5}, true);
    assert_ranks_read("names.vw all.vw names.vw", (pl_reading){.keep_names = true, .hash_bits = 8}, true);
}

static void compressed_csv_is_dealt_or_read_by_the_first_rank(void **state) {
    (void)state;
    assert_ranks_read("many.csv.gz", (pl_reading){0}, false);
    assert_ranks_read("many.csv.gz more.csv rest.csv many.csv.gz", (pl_reading){0}, false);
    assert_ranks_read("more.csv many.csv.gz many.csv.gz many.csv.gz many.csv.gz", (pl_reading){0}, false);
    assert_ranks_read("many.csv.gz rest.csv", (pl_reading){.hashed = true, .hash_bits = 6, .keep_names = true}, false);
}

/* Ranks and one process agree on the type of values, whatever part of the rows tells. */
static void ranks_keep_the_same_digits(void **state) {
    (void)state;
    const char *const names[] = {"seconds.csv", "years.csv", "seconds.svm",
                                 "years.svm",   "tiny.svm",  "years.svm seconds.svm"};
    for (unsigned i = 0; i < COUNT(names); i++)
        assert_ranks_read(names[i], (pl_reading){0}, false);
}

/* Columns and classes of a model: words that it does not know are left out. */
static void columns_of_a_model_are_found_on_every_rank(void **state) {
    (void)state;
    parley_error error = {0};
    parley_data *known;
    pl_pool *pool;
    assert_done(pl_pool_open(&pool, 1, &error), &error);
    assert_done(pl_data_read_as(in_folder("more.csv"), &(pl_reading){0}, pool, &known, &error), &error);
    pl_reading reading = {.model_columns = known->x.columns, .names = &known->names, .classes = &known->classes};
    assert_ranks_read("many.csv", reading, true);
    assert_ranks_read("more.csv many.csv.gz", reading, false);
    parley_data_free(known);
    pl_pool_close(pool);
}

static void words_are_weighed_over_all_ranks(void **state) {
    (void)state;
    parley_settings settings;
    char *text = malloc(TEXT_BYTES), *p = text;
    pl_stream random = pl_stream_make(8, 0, 0);
    assert_non_null(text);
    for (unsigned i = 0; i < 900; i++) {
        p += sprintf(p, "%s\t", i % 3 ? "yes" : "no");
        for (unsigned k = 0; k < 8; k++)
            p += sprintf(p, "w%u ", (unsigned)pl_random_below(&random, 7 + i % 40));
        p += sprintf(p, "\n");
    }
    write_bytes(in_folder("words.txt"), text, (size_t)(p - text));
    free(text);
    pl_settings_defaults(&settings);
    assert_int_equal(pl_setting_set(&settings, 0, "ngrams", "2", NULL), PARLEY_OK);
    const pl_reading reading = {.settings = &settings, .format = &pl_format_text, .needs_labels = true};
    assert_ranks_read("words.txt", reading, true);
    pl_setting_set(&settings, 0, "term_values", "counts", NULL);
    assert_ranks_read("words.txt", reading, true);
    pl_setting_set(&settings, 0, "term_values", "auto", NULL);
    pl_setting_set(&settings, 0, "min_documents", "0.01", NULL);
    const pl_reading table = {.settings = &settings, .format = &pl_format_csv, .label_column = "1", .text_column = "2"};
    assert_ranks_read("words.txt", table, true);
}

static void sets_of_labels_are_those_of_all_ranks(void **state) {
    (void)state;
    char *text = malloc(TEXT_BYTES), *p = text;
    assert_non_null(text);
    for (unsigned i = 0; i < 2000; i++)
        p += sprintf(p, "%u,%u %u:1\n", i % 7, i * i % 11, 1 + i % 5);
    write_bytes(in_folder("sets.svm"), text, (size_t)(p - text));
    free(text);
    assert_ranks_read("sets.svm", (pl_reading){0}, true);
}

static void caches_are_shared_out_by_rows(void **state) {
    (void)state;
    assert_ranks_read("all.parley", (pl_reading){0}, true);
    assert_ranks_read("ones.parley all.parley ones.parley", (pl_reading){0}, true);
}

static void ranks_say_what_one_process_says(void **state) {
    (void)state;
    const char *const names[] = {"bad.svm",           "all.svm bad.svm",     "bad.svm bad.svm",
                                 "missing.svm",       "all.svm missing.svm", "none-*",
                                 "all.svm all.csv",   "bad.svm all.csv",     "empty.svm",
                                 "blank.svm",         "all.parley all.svm",  "all.svm all.parley",
                                 "bad.svm all.svm.gz"};
    for (unsigned i = 0; i < COUNT(names); i++)
        assert_ranks_refuse(names[i], (pl_reading){0});
    assert_ranks_refuse("all.csv", (pl_reading){.label_column = "nobody"});
    const char *const tables[] = {"few.csv",           "value.csv",        "stray.csv",    "open.csv",
                                  "last.csv",          "head.csv",         "few.csv",      "all.csv many.csv",
                                  "many.csv open.csv", "open.csv few.csv", "value.csv.gz", "stray.csv value.csv.gz"};
    for (unsigned i = 0; i < COUNT(tables); i++)
        assert_ranks_refuse(tables[i], (pl_reading){0});
    assert_ranks_refuse("many.csv", (pl_reading){.missing = PL_MISSING_REFUSED});
}

/* Ranks give the same rows, or the same sentence, as one process. */
static void assert_ranks_agree(const char *names, pl_reading reading) {
    task one = {.names = names, .reading = reading};
    run_ranks(1, 2, DEADLINE, body, &one, one.status, one.error);
    free_all(&one, 1);
    if (one.status[0] == PARLEY_OK)
        assert_ranks_read(names, reading, false);
    else
        assert_ranks_refuse(names, reading);
}

/* Rows of CSV in which some bytes were changed. */
static void damaged_csv_is_the_same_to_all(void **state) {
    (void)state;
    static const char *const rows[] = {"yes,1,red,\"at\"\n", "no,2,\"a\nb\",c\n", "no,,\"\"\"x,\",y\n", "\n",
                                       " yes , 3,?,\"\"\n",  "#\"one\n",          ",4,\"\n#\",z\n",     "no,5\n"};
    static const char odd[] = "\"\"\"\"\n,, 7x#";
    pl_stream stream = pl_stream_make(4, 0, 0);
    for (unsigned n = 0; n < 120; n++) {
        char text[2][2000];
        unsigned kinds = n < 60 ? 5 : COUNT(rows); /* later ones have comments and bad rows */
        for (unsigned f = 0; f < 2; f++) {
            size_t bytes = (size_t)snprintf(text[f], sizeof text[f], "y,n,\"t\nu\",w\n");
            for (uint64_t r = pl_random_below(&stream, 40); r > 0; r--)
                bytes += (size_t)snprintf(text[f] + bytes, sizeof text[f] - bytes, "%s",
                                          rows[pl_random_below(&stream, kinds)]);
            for (uint64_t k = pl_random_below(&stream, 3); k > 0 && n % 4; k--)
                text[f][pl_random_below(&stream, bytes)] = odd[pl_random_below(&stream, sizeof odd - 1)];
            write_bytes(in_folder(f ? "b.csv" : "a.csv"), text[f], bytes);
        }
        pl_reading reading = {.format = n % 3 ? &pl_format_csv : NULL};
        if (n >= 60) {
            reading.comment = n % 8 ? '#' : '\0';
            reading.bad_rows = n % 7 ? PL_SKIPPED : PL_REFUSED;
            reading.missing_label = n % 5 ? PL_SKIPPED : PL_REFUSED;
        }
        assert_ranks_agree(n % 2 ? "a.csv" : "a.csv b.csv", reading);
    }
}

static void a_file_that_one_rank_misses_is_named_with_the_rank(void **state) {
    (void)state;
    task many = {.names = "all.svm ones.svm", .odd_names = "all.svm gone.svm", .odd = 2};
    run_ranks(4, 1, DEADLINE, body, &many, many.status, many.error);
    for (unsigned r = 0; r < 4; r++) {
        assert_int_equal(many.status[r], PARLEY_NO_FILE);
        assert_non_null(
            strstr(many.error[r].sentence, "gone.svm: cannot open: No such file or directory, on rank 2 ("));
    }
    many = (task){.names = "all.svm", .odd_names = "ones.svm", .odd = 1};
    run_ranks(3, 1, DEADLINE, body, &many, many.status, many.error);
    for (unsigned r = 0; r < 3; r++) {
        assert_int_equal(many.status[r], PARLEY_BAD_INPUT);
        assert_non_null(strstr(many.error[r].sentence, ", on rank 1 ("));
    }
}

static void weights_go_to_the_rows_of_their_rank(void **state) {
    (void)state;
    parley_error error = {0};
    double weight[6];
    pl_piece pieces[] = {{0, 2, 0, 0, 0}, {2, 3, 0, 2, 1}, {3, 6, 2, 3, 0}};
    pl_spread spread = {.rank = 0, .rows = 6, .count = 3, .pieces = pieces};
    parley_data data = {.x = {.rows = 5}, .spread = &spread, .path = (char *)"x"};
    write_bytes(in_folder("weights"), "1\n2\n3\n4\n5\n6\n", 12);
    assert_done(pl_data_read_weights(&data, in_folder("weights"), &error), &error);
    memcpy(weight, data.weight, 5 * sizeof *weight);
    const double expected[] = {1, 2, 4, 5, 6};
    assert_memory_equal(weight, expected, sizeof expected);
    assert_true(spread.weighted);
    pl_span_free(&data.spans[2]);
    write_bytes(in_folder("weights"), "1\n2\n3\n", 6);
    assert_int_equal(pl_data_read_weights(&data, in_folder("weights"), &error), PARLEY_BAD_INPUT);
    assert_non_null(strstr(error.sentence, "3 weights for the 6 rows of x"));
}

/* Some rank fails, whichever it is, and all end. */
static void lost_memory_ends_all_ranks(void **state) {
    (void)state;
    const char *const names[] = {"all.svm ones.svm",      "all.svm.gz", "words.csv",
                                 "more.csv rest.csv",     "names.vw",   "images",
                                 "all.parley ones.parley"};
    for (unsigned w = 0; w < COUNT(names); w++) {
        bool lost = true;
        int64_t n = 0;
        for (; lost && n < 3000; n += 7) {
            task many = {.names = names[w], .reading = {.keep_names = w == 4}};
            pl_memory_fail_after(60 + n); /* skips the allocations of opening the engines */
            run_ranks(3, 1, DEADLINE, body, &many, many.status, many.error);
            pl_memory_fail_after(-1);
            lost = false;
            for (unsigned r = 0; r < 3; r++) {
                if (many.status[r] != PARLEY_OK)
                    assert_int_equal(many.status[r], PARLEY_NO_MEMORY);
                lost |= many.status[r] != PARLEY_OK;
            }
            free_all(&many, 3);
        }
        assert_false(lost);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_cut_at_lines),
        cmocka_unit_test(compressed_text_is_read_by_one_and_dealt),
        cmocka_unit_test(csv_is_cut_at_newlines_that_are_not_in_quotes),
        cmocka_unit_test(records_are_numbered_by_their_place),
        cmocka_unit_test(names_are_those_that_come_first_in_the_text),
        cmocka_unit_test(compressed_csv_is_dealt_or_read_by_the_first_rank),
        cmocka_unit_test(columns_of_a_model_are_found_on_every_rank),
        cmocka_unit_test(words_are_weighed_over_all_ranks),
        cmocka_unit_test(ranks_keep_the_same_digits),
        cmocka_unit_test(sets_of_labels_are_those_of_all_ranks),
        cmocka_unit_test(caches_are_shared_out_by_rows),
        cmocka_unit_test(ranks_say_what_one_process_says),
        cmocka_unit_test(damaged_csv_is_the_same_to_all),
        cmocka_unit_test(a_file_that_one_rank_misses_is_named_with_the_rank),
        cmocka_unit_test(weights_go_to_the_rows_of_their_rank),
        cmocka_unit_test(lost_memory_ends_all_ranks),
    };
    return cmocka_run_group_tests_name("ranks", tests, prepare, remove_folder);
}
