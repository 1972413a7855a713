/* view.c: shows models and meters as lines or as JSON. Lines are written as the items arrive, however many there are.
 */
#include "view.h"

#include <math.h>
#include <string.h>

#define CELL_WIDTH 10
#define WIDEST_MATRIX 20 /* labels */

/* The characters of UTF-8 text. */
static uint64_t width_of(pl_name name) {
    uint64_t width = 0;
    for (uint64_t i = 0; i < name.bytes; i++)
        width += ((unsigned char)name.text[i] & 0xc0) != 0x80;
    return width;
}

static void print_name(pl_name name, uint64_t width) {
    for (uint64_t i = 0; i < name.bytes; i++) /* control characters would break the line */
        putchar((unsigned char)name.text[i] < ' ' || name.text[i] == 0x7f ? '?' : name.text[i]);
    for (uint64_t i = width_of(name); i < width; i++)
        putchar(' ');
}

/* Fields and tables */

static void print_key(const pl_viewer *viewer, const char *key) {
    const view *view = (const struct view *)viewer;
    printf("%s%-*s", view->grouped ? "  " : "", view->width, key);
}

static void field_text(pl_viewer *viewer, const char *key, const char *value) {
    print_key(viewer, key);
    putchar(' ');
    print_text(stdout, value);
    putchar('\n');
}

static void field_count(pl_viewer *viewer, const char *key, uint64_t count) {
    print_key(viewer, key);
    printf(" %llu\n", (unsigned long long)count);
}

static void field_number(pl_viewer *viewer, const char *key, double value) {
    print_key(viewer, key);
    if (isnan(value))
        puts(" not defined on these rows");
    else
        printf(" %.*g\n", ((const view *)viewer)->digits, value);
}

static void field_numbers(pl_viewer *viewer, const char *key, const double *values, uint64_t count) {
    print_key(viewer, key);
    for (uint64_t i = 0; i < count; i++)
        printf(" %.*g", ((const view *)viewer)->digits, values[i]);
    putchar('\n');
}

static pl_name label_name(const parley_model *model, uint64_t number, double *label, char *text, size_t size) {
    model->type->label(model, number, label);
    return pl_model_label(model, *label, text, size);
}

static void field_labels(pl_viewer *viewer, const char *key, const parley_model *model) {
    char text[32];
    double label;
    print_key(viewer, key);
    for (uint64_t i = 0; i < pl_model_labels(model); i++) {
        putchar(' ');
        print_name(label_name(model, i, &label, text, sizeof text), 0);
    }
    putchar('\n');
}

/* Rows are the labels of the data, columns those that were predicted. */
static void field_matrix(pl_viewer *viewer, const char *key, const parley_model *model, const double *values) {
    uint64_t labels = pl_model_labels(model);
    char text[32];
    double label;
    putchar('\n');
    if (labels > WIDEST_MATRIX) {
        field_text(viewer, key, "too wide to print; use --json");
        return;
    }
    printf("%s: rows are labels, columns are predictions\n", key);
    print_key(viewer, "");
    for (uint64_t i = 0; i < labels; i++) {
        pl_name name = label_name(model, i, &label, text, sizeof text);
        printf(" %*s", width_of(name) < CELL_WIDTH ? (int)(CELL_WIDTH - width_of(name)) : 0, "");
        print_name(name, 0);
    }
    putchar('\n');
    for (uint64_t i = 0; i < labels; i++) {
        print_name(label_name(model, i, &label, text, sizeof text), (uint64_t)((const view *)viewer)->width);
        for (uint64_t k = 0; k < labels; k++) {
            pl_name name = label_name(model, k, &label, text, sizeof text);
            printf(" %*.6g", width_of(name) > CELL_WIDTH ? (int)width_of(name) : CELL_WIDTH, values[i * labels + k]);
        }
        putchar('\n');
    }
}

static void field_open(pl_viewer *viewer, const char *key, const char *name_key, const char *number_key) {
    view *view = (struct view *)viewer;
    view->name_key = name_key;
    view->number_key = number_key;
    view->grouped = !name_key;
    view->headed = false;
    puts("");
    if (view->grouped)
        puts(key);
}

static void table_head(const view *view, const pl_view_cell *cells, unsigned count) {
    printf("%-*s", view->width, view->name_key);
    for (unsigned i = 0; i < count; i++) {
        if (cells[i].json_only)
            continue;
        printf(" %*s", CELL_WIDTH, cells[i].key);
        for (uint64_t k = 1; k < cells[i].count; k++)
            printf(" %*s", CELL_WIDTH, "");
    }
    putchar('\n');
}

static void table_row(pl_viewer *viewer, pl_name name, uint64_t number, const pl_view_cell *cells, unsigned count) {
    view *view = (struct view *)viewer;
    (void)number; /* the name stands for it if there is no other */
    if (!view->headed)
        table_head(view, cells, count);
    view->headed = true;
    print_name(name, (uint64_t)view->width);
    for (unsigned i = 0; i < count; i++)
        for (uint64_t k = 0; k < cells[i].count && !cells[i].json_only; k++)
            printf(cells[i].share ? " %*.4f" : " %*.6g", CELL_WIDTH, cells[i].numbers[k * cells[i].stride]);
    putchar('\n');
}

static void field_close(pl_viewer *viewer) { ((view *)viewer)->grouped = false; }

static const pl_viewer fields = {.text = field_text,
                                 .count = field_count,
                                 .number = field_number,
                                 .numbers = field_numbers,
                                 .labels = field_labels,
                                 .matrix = field_matrix,
                                 .open = field_open,
                                 .row = table_row,
                                 .close = field_close};

/* Tabs: items have their keys in brackets, to tell them from the rows of lists */

static void tab_numbers(const double *values, uint64_t count, uint64_t stride) {
    for (uint64_t i = 0; i < count; i++) {
        char text[40];
        pl_number_text(values[i * stride], text, sizeof text);
        printf("\t%s", text);
    }
}

static void tab_text(pl_viewer *viewer, const char *key, const char *value) {
    (void)viewer;
    printf("(%s)\t", key);
    print_text(stdout, value);
    putchar('\n');
}

static void tab_count(pl_viewer *viewer, const char *key, uint64_t count) {
    (void)viewer;
    printf("(%s)\t%llu\n", key, (unsigned long long)count);
}

static void tab_several(pl_viewer *viewer, const char *key, const double *values, uint64_t count) {
    (void)viewer;
    printf("(%s)", key);
    tab_numbers(values, count, 1);
    putchar('\n');
}

static void tab_labels(pl_viewer *viewer, const char *key, const parley_model *model) {
    char text[32];
    double label;
    (void)viewer;
    printf("(%s)", key);
    for (uint64_t i = 0; i < pl_model_labels(model); i++) {
        putchar('\t');
        print_name(label_name(model, i, &label, text, sizeof text), 0);
    }
    putchar('\n');
}

static void tab_matrix(pl_viewer *viewer, const char *key, const parley_model *model, const double *values) {
    uint64_t labels = pl_model_labels(model);
    for (uint64_t i = 0; i < labels; i++)
        tab_several(viewer, key, values + i * labels, labels);
}

static void tab_number(pl_viewer *viewer, const char *key, double value) { tab_several(viewer, key, &value, 1); }

static void tab_open(pl_viewer *viewer, const char *key, const char *name_key, const char *number_key) {
    (void)viewer, (void)key, (void)name_key, (void)number_key; /* the rows need no heading */
}

static void tab_names(const pl_name *names, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        putchar('\t');
        print_name(names[i], 0);
    }
}

static void tab_row(pl_viewer *viewer, pl_name name, uint64_t number, const pl_view_cell *cells, unsigned count) {
    (void)viewer, (void)number;
    print_name(name, 0);
    for (unsigned i = 0; i < count; i++)
        if (cells[i].names)
            tab_names(cells[i].names, cells[i].count);
        else if (!cells[i].json_only)
            tab_numbers(cells[i].numbers, cells[i].count, cells[i].stride);
    putchar('\n');
}

static void tab_close(pl_viewer *viewer) { (void)viewer; }

static const pl_viewer tabs = {.text = tab_text,
                               .count = tab_count,
                               .number = tab_number,
                               .numbers = tab_several,
                               .labels = tab_labels,
                               .matrix = tab_matrix,
                               .open = tab_open,
                               .row = tab_row,
                               .close = tab_close};

/* JSON */

/* The object for new items: the open group, or the outer object. */
static json_t **target(pl_viewer *viewer) {
    view *view = (struct view *)viewer;
    return view->key ? &view->inner : &view->object;
}

static json_t *numbers_json(const double *values, uint64_t count, uint64_t stride) {
    json_t *list = json_array();
    for (uint64_t i = 0; i < count; i++)
        json_append(&list, json_number(values[i * stride]));
    return list;
}

static json_t *names_json(const pl_name *names, uint64_t count) {
    json_t *list = json_array();
    for (uint64_t i = 0; i < count; i++) {
        json_t *text = json_stringn(names[i].text, (size_t)names[i].bytes);
        json_append(&list, text ? text : json_string("?")); /* not valid UTF-8 */
    }
    return list;
}

static void json_text(pl_viewer *viewer, const char *key, const char *value) {
    json_put(target(viewer), key, json_string(value));
}

static void json_whole(pl_viewer *viewer, const char *key, uint64_t count) {
    json_put(target(viewer), key, json_count(count));
}

static void json_one(pl_viewer *viewer, const char *key, double value) {
    json_put(target(viewer), key, json_number(value));
}

static void json_several(pl_viewer *viewer, const char *key, const double *values, uint64_t count) {
    json_put(target(viewer), key, numbers_json(values, count, 1));
}

/* Labels that are words are strings, and others are numbers. */
static json_t *label_json(const parley_model *model, uint64_t number) {
    char text[32];
    double label;
    pl_name name = label_name(model, number, &label, text, sizeof text);
    json_t *word = name.text != text ? json_stringn(name.text, (size_t)name.bytes) : NULL;
    return name.text == text ? json_number(label) : word ? word : json_string("?"); /* not valid UTF-8 */
}

static void json_labels(pl_viewer *viewer, const char *key, const parley_model *model) {
    json_t *list = json_array();
    for (uint64_t i = 0; i < pl_model_labels(model); i++)
        json_append(&list, label_json(model, i));
    json_put(target(viewer), key, list);
}

/* Counts are whole numbers, unlike sums of weights. */
static json_t *amount_json(double value) {
    return value == floor(value) && fabs(value) < 9e15 ? json_integer((json_int_t)value) : json_number(value);
}

static void json_matrix(pl_viewer *viewer, const char *key, const parley_model *model, const double *values) {
    uint64_t labels = pl_model_labels(model);
    json_t *list = json_array();
    for (uint64_t i = 0; i < labels; i++) {
        json_t *row = json_array();
        for (uint64_t k = 0; k < labels; k++)
            json_append(&row, amount_json(values[i * labels + k]));
        json_append(&list, row);
    }
    json_put(target(viewer), key, list);
}

static void json_begin(pl_viewer *viewer, const char *key, const char *name_key, const char *number_key) {
    view *view = (struct view *)viewer;
    view->key = key;
    view->name_key = name_key;
    view->number_key = number_key;
    view->inner = name_key ? json_array() : json_object();
}

static void json_row(pl_viewer *viewer, pl_name name, uint64_t number, const pl_view_cell *cells, unsigned count) {
    view *view = (struct view *)viewer;
    json_t *row = json_object(), *text = json_stringn(name.text, (size_t)name.bytes);
    json_put(&row, view->name_key, text ? text : json_string("?")); /* not valid UTF-8 */
    if (view->number_key)
        json_put(&row, view->number_key, json_count(number));
    for (unsigned i = 0; i < count; i++)
        json_put(&row, cells[i].key,
                 cells[i].names        ? names_json(cells[i].names, cells[i].count)
                 : cells[i].whole      ? amount_json(*cells[i].numbers)
                 : cells[i].count == 1 ? json_number(*cells[i].numbers)
                                       : numbers_json(cells[i].numbers, cells[i].count, cells[i].stride));
    json_append(&view->inner, row);
}

static void json_end(pl_viewer *viewer) {
    view *view = (struct view *)viewer;
    json_put(&view->object, view->key, view->inner);
    view->key = NULL;
}

static const pl_viewer tree = {.text = json_text,
                               .count = json_whole,
                               .number = json_one,
                               .numbers = json_several,
                               .labels = json_labels,
                               .matrix = json_matrix,
                               .open = json_begin,
                               .row = json_row,
                               .close = json_end};

pl_viewer *view_open(view *view, const arguments *arguments, view_style style, int digits) {
    bool json = arguments->settings.json;
    *view = (struct view){.base = json                 ? tree
                                  : style == VIEW_TABS ? tabs
                                                       : fields,
                          .digits = digits,
                          .width = FIELD_WIDTH};
    view->object = json ? json_object() : NULL;
    return &view->base;
}

int view_close(view *view, const arguments *arguments, parley_status status, const parley_error *error) {
    if (status == PARLEY_OK)
        return arguments->settings.json ? json_print(arguments->command, view->object) : EXIT_DONE;
    json_decref(view->object);
    return fail(arguments->command, error);
}
