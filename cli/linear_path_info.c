/* linear_path_info.c: `parley info` for a path: how many models, of which lambdas, and the settings. */
#include "view.h"

#define KEY_WIDTH 15

static void show_metas(const pl_container *container, pl_viewer *viewer) {
    const pl_pair *metas;
    unsigned count = pl_container_metas(container, &metas);
    viewer->open(viewer, "metadata", NULL, NULL);
    for (unsigned i = 0; i < count; i++)
        viewer->text(viewer, metas[i].key, metas[i].value);
    viewer->close(viewer);
}

static int show(const arguments *arguments, const pl_container *container, const pl_tensor *lambda,
                const pl_tensor *coef) {
    view view;
    pl_viewer *viewer = view_open(&view, arguments, VIEW_FIELDS, 10);
    view.width = KEY_WIDTH;
    const pl_tensor *labels = pl_container_tensor(container, "labels");
    const double *lambdas = lambda->data;
    uint64_t models = lambda->shape[0], outputs = labels && labels->shape[0] > 0 ? labels->shape[0] : 1;
    viewer->text(viewer, "kind", "path");
    viewer->count(viewer, "models", models);
    viewer->count(viewer, "outputs", outputs);
    viewer->count(viewer, "columns", coef->shape[0] * coef->shape[1] / models / outputs);
    viewer->number(viewer, "largest_lambda", lambdas[0]);
    viewer->number(viewer, "smallest_lambda", lambdas[models - 1]);
    viewer->count(viewer, "bytes", file_bytes(arguments->operands[0]));
    show_metas(container, viewer);
    return view_close(&view, arguments, PARLEY_OK, NULL);
}

int print_path_file(const arguments *arguments) {
    const char *path = arguments->operands[0];
    parley_error error;
    pl_container *container;
    int code;
    if (pl_container_open(path, &container, &error) != PARLEY_OK)
        return fail(arguments->command, &error);
    const pl_tensor *lambda = pl_container_tensor(container, "lambda"), *coef = pl_container_tensor(container, "coef");
    if (lambda && coef && lambda->type == PL_F64 && lambda->dims == 1 && lambda->shape[0] > 0 && coef->dims == 2)
        code = show(arguments, container, lambda, coef);
    else {
        pl_fail(&error, PARLEY_BAD_INPUT, "%s: not a valid path: it has no lambda or no coef", path);
        code = fail(arguments->command, &error);
    }
    pl_container_close(container);
    return code;
}
