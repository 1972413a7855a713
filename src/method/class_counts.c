/* class_counts.c: see class_counts.h. */
#include "method/class_counts.h"

parley_status pl_class_counts_open(pl_class_counts *counts, uint64_t classes, bool confusion, parley_error *error) {
    *counts = (pl_class_counts){.classes = classes};
    if (classes == 0)
        return PARLEY_OK;
    parley_status status = pl_take(&counts->count, classes, sizeof *counts->count, "the metrics", error);
    if (status == PARLEY_OK && confusion)
        status = pl_take(&counts->confusion, classes * classes, sizeof(double), "the confusion matrix", error);
    return status;
}

void pl_class_counts_close(pl_class_counts *counts) {
    pl_free(counts->count);
    pl_free(counts->confusion);
}

void pl_class_counts_add(pl_class_counts *counts, uint64_t label, uint64_t guess, double weight) {
    counts->count[label].rows += weight;
    counts->count[label].support++;
    counts->count[guess].predicted += weight;
    counts->count[label].right += guess == label ? weight : 0.0;
    if (counts->confusion)
        counts->confusion[label * counts->classes + guess] += weight;
}

static double ratio(double part, double whole) { return whole > 0 ? part / whole : 0.0; }

double pl_class_f1(const pl_class_count *count) { return ratio(2.0 * count->right, count->rows + count->predicted); }

double pl_macro_f1(const pl_class_counts *counts) {
    double sum = 0;
    for (uint64_t c = 0; c < counts->classes; c++)
        sum += pl_class_f1(&counts->count[c]);
    return sum / (double)counts->classes;
}

static void show_class(const pl_class_counts *counts, const parley_model *model, uint64_t number, pl_viewer *viewer) {
    const pl_class_count *count = &counts->count[number];
    char text[32];
    double label = 0;
    model->type->label(model, number, &label);
    const double precision = ratio(count->right, count->predicted), recall = ratio(count->right, count->rows);
    const double f1 = pl_class_f1(count);
    const pl_view_cell cells[] = {{"weight", &count->rows, 1, 1, .json_only = !counts->weighted},
                                  {"precision", &precision, 1, 1, .share = true},
                                  {"recall", &recall, 1, 1, .share = true},
                                  {"f1", &f1, 1, 1, .share = true},
                                  {"support", &count->support, 1, 1, .whole = true}};
    viewer->row(viewer, pl_model_label(model, label, text, sizeof text), 0, cells, sizeof cells / sizeof *cells);
}

void pl_class_counts_show(const pl_class_counts *counts, const parley_model *model, pl_viewer *viewer) {
    if (!counts->count)
        return;
    viewer->open(viewer, "classes", "label", NULL);
    for (uint64_t c = 0; c < counts->classes; c++)
        show_class(counts, model, c, viewer);
    viewer->close(viewer);
    if (counts->confusion)
        viewer->matrix(viewer, "confusion", model, counts->confusion);
}
