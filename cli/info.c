/* info.c: `parley info`: describes a file by its content: a model, a path, a checkpoint, a cache or text. */
#include <math.h>
#include <string.h>

#include "data/format.h"
#include "view.h"

#define MOST_LABELS 16 /* more different labels are not counted one by one */

typedef struct label_count {
    double label;
    uint64_t rows;
} label_count;

typedef struct census {
    uint64_t rows, columns, nonzeros, bytes, names, classes;
    unsigned hash_bits;
    const pl_format *format;         /* NULL for a cache */
    bool from_cache, weighted, many; /* many: there are more than MOST_LABELS labels */
    unsigned labels;
    label_count label[MOST_LABELS]; /* in increasing order */
    pl_names words;                 /* that labels 0, 1, ... stand for, or empty */
    double least, largest;
} census;

static void count_label(census *census, double label) {
    unsigned at = 0;
    while (at < census->labels && census->label[at].label < label)
        at++;
    if (at == census->labels || census->label[at].label != label) {
        if (census->labels == MOST_LABELS) {
            census->many = true;
            return;
        }
        memmove(&census->label[at + 1], &census->label[at], (census->labels - at) * sizeof *census->label);
        census->label[at] = (label_count){label, 0};
        census->labels++;
    }
    census->label[at].rows++;
}

static parley_status count_batch(census *census, const parley_data *batch, parley_error *error) {
    for (uint64_t i = 0; i < batch->x.rows; i++) {
        double label = batch->label[i];
        census->least = fmin(census->least, label);
        census->largest = fmax(census->largest, label);
        if (!census->many)
            count_label(census, label);
    }
    census->rows += batch->x.rows;
    census->columns = batch->x.columns;
    census->nonzeros += batch->x.nonzeros;
    census->from_cache = batch->from_cache;
    census->format = batch->format;
    census->names = batch->names.count;
    census->hash_bits = batch->hash_bits;
    census->classes = batch->classes.count;
    census->weighted = census->weighted || batch->weight;
    return census->words.count > 0 ? PARLEY_OK : pl_names_copy(&batch->classes, &census->words, error);
}

/* The word that a label stands for; empty if it is a number. */
static pl_name word_of(const census *census, double label) {
    return label >= 0 ? pl_names_at(&census->words, (uint64_t)label) : (pl_name){"", 0};
}

static parley_status take_census(const char *path, const parley_settings *settings, census *census,
                                 parley_error *error) {
    pl_pool *pool = NULL;
    pl_reader *reader = NULL;
    const parley_data *batch;
    *census = (struct census){.least = INFINITY, .largest = -INFINITY, .bytes = file_bytes(path)};
    pl_reading reading;
    parley_status status = pl_reading_of(settings, &reading, error);
    reading.tell = settings->json ? NULL : tell_error_output;
    if (status == PARLEY_OK)
        status = pl_pool_open(&pool, 0, error);
    if (status == PARLEY_OK)
        status = pl_reader_open_as(path, &reading, pool, &reader, error);
    while (status == PARLEY_OK && (status = pl_reader_next(reader, &batch, error)) == PARLEY_OK && batch)
        status = count_batch(census, batch, error);
    pl_reader_close(reader);
    pl_pool_close(pool);
    return status;
}

static json_t *labels_json(const census *census) {
    json_t *list = json_array();
    for (unsigned i = 0; i < census->labels && !census->many; i++) {
        json_t *one = json_object();
        pl_name word = word_of(census, census->label[i].label);
        json_t *text = word.bytes > 0 ? json_stringn(word.text, (size_t)word.bytes) : NULL;
        json_put(&one, "label", text ? text : pl_json_real(census->label[i].label));
        json_put(&one, "rows", json_count(census->label[i].rows));
        json_append(&list, one);
    }
    return list;
}

static int print_data_json(const arguments *arguments, const census *census, double density) {
    json_t *object = json_object();
    json_put(&object, "kind", json_string(census->from_cache ? "cache" : "text"));
    if (census->format)
        json_put(&object, "format", json_string(census->format->name));
    json_put(&object, "rows", json_count(census->rows));
    json_put(&object, "columns", json_count(census->columns));
    json_put(&object, "nonzeros", json_count(census->nonzeros));
    json_put(&object, "density", pl_json_real(density));
    json_put(&object, "labels", labels_json(census));
    json_put(&object, "least_label", pl_json_real(census->least));
    json_put(&object, "largest_label", pl_json_real(census->largest));
    json_put(&object, "weights", json_boolean(census->weighted));
    json_put(&object, "bytes", json_count(census->bytes));
    return json_print(arguments->command, object);
}

static int print_data(const arguments *arguments, const census *census) {
    double cells = (double)census->rows * (double)census->columns;
    double density = cells > 0 ? (double)census->nonzeros / cells : 0.0;
    if (arguments->settings.json)
        return print_data_json(arguments, census, density);
    print_field(stdout, "kind", "%s", census->from_cache ? "cache" : census->format->title);
    print_field(stdout, "rows", "%llu", (unsigned long long)census->rows);
    print_field(stdout, "columns", "%llu", (unsigned long long)census->columns);
    print_field(stdout, "nonzeros", "%llu", (unsigned long long)census->nonzeros);
    print_field(stdout, "density", "%.3g", density);
    if (census->many)
        print_field(stdout, "labels", "more than %d, from %.10g to %.10g", MOST_LABELS, census->least, census->largest);
    for (unsigned i = 0; i < census->labels && !census->many; i++) {
        pl_name word = word_of(census, census->label[i].label);
        char number[32];
        snprintf(number, sizeof number, "%.10g", census->label[i].label);
        print_field(stdout, i == 0 ? "labels" : "", "%.*s in %llu rows", word.bytes > 0 ? (int)word.bytes : 32,
                    word.bytes > 0 ? word.text : number, (unsigned long long)census->label[i].rows);
    }
    if (census->names > 0)
        print_field(stdout, "names", "of %llu columns", (unsigned long long)census->names);
    if (census->hash_bits > 0)
        print_field(stdout, "hashed", "the last 2^%u columns", census->hash_bits);
    if (census->classes > 0)
        print_field(stdout, "classes", "%llu, with names", (unsigned long long)census->classes);
    if (census->weighted)
        print_field(stdout, "weights", "one per row");
    if (census->bytes > 0)
        print_field(stdout, "bytes", "%llu", (unsigned long long)census->bytes);
    return EXIT_DONE;
}

static void show_metas(const parley_model *model, pl_viewer *viewer) {
    viewer->open(viewer, "metadata", NULL, NULL);
    for (unsigned i = 0; i < model->metas; i++)
        viewer->text(viewer, model->meta[i].key, model->meta[i].value);
    viewer->close(viewer);
}

/* How certain the model is, instead of its description. */
static int print_inference(const arguments *arguments, const parley_model *model) {
    view view;
    parley_error error;
    pl_viewer *viewer = view_open(&view, arguments, VIEW_FIELDS, 10);
    parley_status status = model->type->inference
                               ? model->type->inference(model, 0, viewer, &error)
                               : pl_fail(&error, PARLEY_BAD_INPUT, "--inference: such models have no standard errors");
    return view_close(&view, arguments, status, &error);
}

static int print_model(const arguments *arguments, const parley_model *model) {
    view view;
    pl_viewer *viewer = view_open(&view, arguments, VIEW_FIELDS, 10);
    uint64_t bytes = file_bytes(arguments->operands[0]);
    viewer->text(viewer, "kind", "model");
    viewer->count(viewer, "outputs", model->outputs);
    viewer->count(viewer, "columns", model->columns);
    model->type->show(model, viewer);
    if (arguments->settings.json)
        show_metas(model, viewer);
    viewer->count(viewer, "bytes", bytes);
    if (!arguments->settings.json) /* comes last because it has many lines */
        show_metas(model, viewer);
    return view_close(&view, arguments, PARLEY_OK, NULL);
}

/* Whether the file is a model or a path of models. Files that cannot be opened as one are data; only a lack of memory
 * is a failure. */
static parley_status look(const char *path, bool *of_model, bool *of_path, parley_error *error) {
    pl_container *container;
    *of_model = *of_path = false;
    parley_status status = strcmp(path, "-") == 0 ? PARLEY_NO_FILE : pl_container_open(path, &container, error);
    if (status != PARLEY_OK)
        return status == PARLEY_NO_MEMORY ? status : PARLEY_OK;
    const char *format = pl_container_meta(container, "format");
    *of_model = pl_model_claimed(container);
    *of_path = format && strcmp(format, PL_PATH_FORMAT) == 0;
    pl_container_close(container);
    return status;
}

static int info_run(const arguments *arguments) {
    const char *path = arguments->operands[0];
    parley_model *model = NULL;
    census census = {0};
    parley_error error;
    if (is_checkpoint(path))
        return print_checkpoint(arguments);
    bool of_model, of_path;
    parley_status status = look(path, &of_model, &of_path, &error);
    if (status == PARLEY_OK && of_path && !*arguments->settings.at)
        return print_path_file(arguments);
    if (status == PARLEY_OK && !of_model && arguments->settings.inference)
        status = pl_fail(&error, PARLEY_BAD_USAGE, "--inference describes a model, and %s is none", path);
    if (status == PARLEY_OK)
        status = of_model || *arguments->settings.at ? load_model(arguments, &model, &error)
                                                     : take_census(path, &arguments->settings, &census, &error);
    if (status != PARLEY_OK) {
        pl_names_free(&census.words);
        return fail(arguments->command, &error);
    }
    int code = !model                          ? print_data(arguments, &census)
               : arguments->settings.inference ? print_inference(arguments, model)
                                               : print_model(arguments, model);
    parley_model_free(model);
    pl_names_free(&census.words);
    return code;
}

const command info_command = {
    .name = "info",
    .operands = "FILE",
    .least = 1,
    .most = 1,
    .options = PL_FOR_INFO,
    .summary = "describe data, a model, a path or a checkpoint",
    .details = "Prints shape, labels and size of data (text or cache), shape, certificate and settings of a model or a "
               "path (with --at: of one of its models), or the run that a checkpoint belongs to, given its folder or "
               "one of its files.",
    .run = info_run,
};
