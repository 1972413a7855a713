/* view.c: shows models and meters as lines or as JSON. Lines are written as the items arrive, however many there are.
 */
#include "view.h"

#include <math.h>
#include <string.h>

#define CELL_WIDTH 10

static void print_name(pl_name name, uint64_t width) {
    for (uint64_t i = 0; i < name.bytes; i++) /* control characters would break the line */
        putchar((unsigned char)name.text[i] < ' ' || name.text[i] == 0x7f ? '?' : name.text[i]);
    for (uint64_t i = name.bytes; i < width; i++)
        putchar(' ');
}

/* Fields and tables */

static void indent(const pl_viewer *viewer) {
    if (((const view *)viewer)->grouped)
        fputs("  ", stdout);
}

static void field_text(pl_viewer *viewer, const char *key, const char *value) {
    indent(viewer);
    print_field(stdout, key, "%s", value);
}

static void field_count(pl_viewer *viewer, const char *key, uint64_t count) {
    indent(viewer);
    print_field(stdout, key, "%llu", (unsigned long long)count);
}

static void field_number(pl_viewer *viewer, const char *key, double value) {
    indent(viewer);
    if (isnan(value))
        print_field(stdout, key, "not defined on these rows");
    else
        print_field(stdout, key, "%.*g", ((const view *)viewer)->digits, value);
}

static void field_numbers(pl_viewer *viewer, const char *key, const double *values, uint64_t count) {
    indent(viewer);
    printf("%-*s", FIELD_WIDTH, key);
    for (uint64_t i = 0; i < count; i++)
        printf(" %.*g", ((const view *)viewer)->digits, values[i]);
    putchar('\n');
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
    printf("%-*s", FIELD_WIDTH, view->name_key);
    for (unsigned i = 0; i < count; i++) {
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
    print_name(name, FIELD_WIDTH);
    for (unsigned i = 0; i < count; i++)
        for (uint64_t k = 0; k < cells[i].count; k++)
            printf(cells[i].share ? " %*.4f" : " %*.6g", CELL_WIDTH, cells[i].numbers[k * cells[i].stride]);
    putchar('\n');
}

static void field_close(pl_viewer *viewer) { ((view *)viewer)->grouped = false; }

static const pl_viewer fields = {.text = field_text,
                                 .count = field_count,
                                 .number = field_number,
                                 .numbers = field_numbers,
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

static void tab_number(pl_viewer *viewer, const char *key, double value) { tab_several(viewer, key, &value, 1); }

static void tab_open(pl_viewer *viewer, const char *key, const char *name_key, const char *number_key) {
    (void)viewer, (void)key, (void)name_key, (void)number_key; /* the rows need no heading */
}

static void tab_row(pl_viewer *viewer, pl_name name, uint64_t number, const pl_view_cell *cells, unsigned count) {
    (void)viewer, (void)number;
    print_name(name, 0);
    for (unsigned i = 0; i < count; i++)
        tab_numbers(cells[i].numbers, cells[i].count, cells[i].stride);
    putchar('\n');
}

static void tab_close(pl_viewer *viewer) { (void)viewer; }

static const pl_viewer tabs = {.text = tab_text,
                               .count = tab_count,
                               .number = tab_number,
                               .numbers = tab_several,
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
        if (!cells[i].derived)
            json_put(&row, cells[i].key,
                     cells[i].count == 1 ? json_number(*cells[i].numbers)
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
                               .open = json_begin,
                               .row = json_row,
                               .close = json_end};

pl_viewer *view_open(view *view, const arguments *arguments, view_style style, int digits) {
    bool json = arguments->settings.json;
    *view = (struct view){.base = json ? tree : style == VIEW_TABS ? tabs : fields, .digits = digits};
    view->object = json ? json_object() : NULL;
    return &view->base;
}

int view_close(view *view, const arguments *arguments, parley_status status, const parley_error *error) {
    if (status == PARLEY_OK)
        return arguments->settings.json ? json_print(arguments->command, view->object) : EXIT_DONE;
    json_decref(view->object);
    return fail(arguments->command, error);
}
