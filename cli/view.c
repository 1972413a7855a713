/* view.c: shows models and meters as lines or as JSON. Lines are written as the items arrive, however many there are.
 */
#include "view.h"

#include <math.h>
#include <string.h>

#define CELL_WIDTH 10
#define TAB_DIGITS 6     /* JSON has all of them */
#define MOST_WHOLE 1e15  /* whole numbers below it are exact */
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

/* A number as text. Whole numbers, which may be counts, have all of their digits. */
#define NUMBER_TEXT 40
static const char *number_text(double value, int digits, char text[NUMBER_TEXT]) {
    bool whole = value == floor(value) && fabs(value) < MOST_WHOLE;
    snprintf(text, NUMBER_TEXT, whole ? "%.*f" : "%.*g", whole ? 0 : digits, value);
    return text;
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
    char text[NUMBER_TEXT];
    print_key(viewer, key);
    if (isnan(value))
        puts(" not defined on these rows");
    else
        printf(" %s\n", number_text(value, ((const view *)viewer)->digits, text));
}

static void field_numbers(pl_viewer *viewer, const char *key, const double *values, uint64_t count) {
    char text[NUMBER_TEXT];
    print_key(viewer, key);
    for (uint64_t i = 0; i < count; i++)
        printf(" %s", number_text(values[i], ((const view *)viewer)->digits, text));
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
    char text[32], number[NUMBER_TEXT];
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
            printf(" %*s", width_of(name) > CELL_WIDTH ? (int)width_of(name) : CELL_WIDTH,
                   number_text(values[i * labels + k], 6, number));
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
    char text[NUMBER_TEXT];
    (void)number; /* the name stands for it if there is no other */
    if (!view->headed)
        table_head(view, cells, count);
    view->headed = true;
    print_name(name, (uint64_t)view->width);
    for (unsigned i = 0; i < count; i++)
        for (uint64_t k = 0; k < cells[i].count && !cells[i].json_only; k++) {
            double value = cells[i].numbers[k * cells[i].stride];
            if (cells[i].share)
                printf(" %*.4f", CELL_WIDTH, value);
            else
                printf(" %*s", CELL_WIDTH, number_text(value, 6, text));
        }
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
    char text[NUMBER_TEXT];
    for (uint64_t i = 0; i < count; i++)
        printf("\t%s", number_text(values[i * stride], TAB_DIGITS, text));
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

pl_viewer *view_open(view *view, const arguments *arguments, view_style style, int digits) {
    *view = (struct view){.base = style == VIEW_TABS ? tabs : fields, .digits = digits, .width = FIELD_WIDTH};
    pl_json_viewer_open(&view->json);
    return arguments->settings.json ? &view->json.base : &view->base;
}

int view_close(view *view, const arguments *arguments, parley_status status, const parley_error *error) {
    json_t *object = pl_json_viewer_close(&view->json);
    if (status == PARLEY_OK && arguments->settings.json)
        return json_print(arguments->command, object);
    json_decref(object);
    return status == PARLEY_OK ? EXIT_DONE : fail(arguments->command, error);
}
