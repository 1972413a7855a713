/* json_viewer.c: see json_viewer.h. An object that cannot be completed for lack of memory is freed and NULL. */
#include "method/json_viewer.h"

#include <math.h>

#include "base/json_values.h"

static json_t *whole(uint64_t count) { return json_integer((json_int_t)count); }

static void put(json_t **object, const char *key, json_t *value) {
    if (json_object_set_new(*object, key, value) == 0)
        return;
    json_decref(*object);
    *object = NULL;
}

static void append(json_t **list, json_t *value) {
    if (json_array_append_new(*list, value) == 0)
        return;
    json_decref(*list);
    *list = NULL;
}

/* The object for new items: the open group, or the outer object. */
static json_t **target(pl_viewer *viewer) {
    pl_json_viewer *view = (pl_json_viewer *)viewer;
    return view->key ? &view->inner : &view->object;
}

static json_t *numbers_json(const double *values, uint64_t count, uint64_t stride) {
    json_t *list = json_array();
    for (uint64_t i = 0; i < count; i++)
        append(&list, pl_json_real(values[i * stride]));
    return list;
}

static json_t *names_json(const pl_name *names, uint64_t count) {
    json_t *list = json_array();
    for (uint64_t i = 0; i < count; i++) {
        json_t *text = json_stringn(names[i].text, (size_t)names[i].bytes);
        append(&list, text ? text : json_string("?")); /* not valid UTF-8 */
    }
    return list;
}

static void json_text(pl_viewer *viewer, const char *key, const char *value) {
    put(target(viewer), key, json_string(value));
}

static void json_whole(pl_viewer *viewer, const char *key, uint64_t count) { put(target(viewer), key, whole(count)); }

static void json_one(pl_viewer *viewer, const char *key, double value) {
    put(target(viewer), key, pl_json_real(value));
}

static void json_several(pl_viewer *viewer, const char *key, const double *values, uint64_t count) {
    put(target(viewer), key, numbers_json(values, count, 1));
}

/* Labels that are words are strings, and others are numbers. */
static json_t *label_json(const parley_model *model, uint64_t number) {
    char text[32];
    double label;
    model->type->label(model, number, &label);
    pl_name name = pl_model_label(model, label, text, sizeof text);
    json_t *word = name.text != text ? json_stringn(name.text, (size_t)name.bytes) : NULL;
    return name.text == text ? pl_json_real(label) : word ? word : json_string("?"); /* not valid UTF-8 */
}

static void json_labels(pl_viewer *viewer, const char *key, const parley_model *model) {
    json_t *list = json_array();
    for (uint64_t i = 0; i < pl_model_labels(model); i++)
        append(&list, label_json(model, i));
    put(target(viewer), key, list);
}

/* Counts are whole numbers, unlike sums of weights. */
static json_t *amount_json(double value) {
    return value == floor(value) && fabs(value) < 9e15 ? json_integer((json_int_t)value) : pl_json_real(value);
}

static void json_matrix(pl_viewer *viewer, const char *key, const parley_model *model, const double *values) {
    uint64_t labels = pl_model_labels(model);
    json_t *list = json_array();
    for (uint64_t i = 0; i < labels; i++) {
        json_t *row = json_array();
        for (uint64_t k = 0; k < labels; k++)
            append(&row, amount_json(values[i * labels + k]));
        append(&list, row);
    }
    put(target(viewer), key, list);
}

static void json_begin(pl_viewer *viewer, const char *key, const char *name_key, const char *number_key) {
    pl_json_viewer *view = (pl_json_viewer *)viewer;
    view->key = key;
    view->name_key = name_key;
    view->number_key = number_key;
    view->inner = name_key ? json_array() : json_object();
}

static void json_row(pl_viewer *viewer, pl_name name, uint64_t number, const pl_view_cell *cells, unsigned count) {
    pl_json_viewer *view = (pl_json_viewer *)viewer;
    json_t *row = json_object(), *text = json_stringn(name.text, (size_t)name.bytes);
    put(&row, view->name_key, text ? text : json_string("?")); /* not valid UTF-8 */
    if (view->number_key)
        put(&row, view->number_key, whole(number));
    for (unsigned i = 0; i < count; i++)
        put(&row, cells[i].key,
            cells[i].names        ? names_json(cells[i].names, cells[i].count)
            : cells[i].whole      ? amount_json(*cells[i].numbers)
            : cells[i].count == 1 ? pl_json_real(*cells[i].numbers)
                                  : numbers_json(cells[i].numbers, cells[i].count, cells[i].stride));
    append(&view->inner, row);
}

static void json_end(pl_viewer *viewer) {
    pl_json_viewer *view = (pl_json_viewer *)viewer;
    put(&view->object, view->key, view->inner);
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

void pl_json_viewer_open(pl_json_viewer *viewer) { *viewer = (pl_json_viewer){.base = tree, .object = json_object()}; }

json_t *pl_json_viewer_close(pl_json_viewer *viewer) {
    json_t *object = viewer->object;
    if (viewer->key) /* a failure inside a list */
        json_decref(viewer->inner);
    *viewer = (pl_json_viewer){.base = tree};
    return object;
}
