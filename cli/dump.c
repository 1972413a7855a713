/* dump.c: `parley dump`: prints what a model has learnt, the most important first. */
#include "view.h"

static int dump_run(const arguments *arguments) {
    parley_model *model;
    view view;
    parley_error error;
    parley_status status = load_model(arguments, &model, &error);
    if (status != PARLEY_OK)
        return fail(arguments->command, &error);
    pl_viewer *viewer = view_open(&view, arguments, VIEW_TABS, 0);
    status = model->type->dump(model, arguments->settings.top, viewer, &error);
    int code = view_close(&view, arguments, status, &error);
    parley_model_free(model);
    return code;
}

const command dump_command = {
    .name = "dump",
    .operands = "MODEL",
    .least = 1,
    .most = 1,
    .options = PL_FOR_DUMP,
    .summary = "print the contents of a model, with names",
    .details =
        "Prints what the model has learnt by column, with the names of columns: of a linear model, after a line for "
        "its constant, the name, a tab and the weight of each column whose weight is not 0, largest first, and one "
        "weight per class where there are several. The first line then names the classes. Weights of two classes are "
        "for the second. A column without a name is given by its number, from 1.",
    .run = dump_run,
};
