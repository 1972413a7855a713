/* dump.c: `parley dump`: prints what a model has learnt, the most important first. */
#include "view.h"

int dump_run(const arguments *arguments) {
    parley_model *model;
    view view;
    parley_error error;
    parley_status status = parley_model_load(arguments->operands[0], &model, &error);
    if (status != PARLEY_OK)
        return fail(arguments->command, &error);
    pl_viewer *viewer = view_open(&view, arguments, VIEW_TABS, 0);
    status = model->type->dump(model, arguments->settings.top, viewer, &error);
    int code = view_close(&view, arguments, status, &error);
    parley_model_free(model);
    return code;
}
