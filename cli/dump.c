/* dump.c: `parley dump`: the weights of a model, the largest first, with the names of their columns. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "model/model.h"

typedef struct ranked {
    double size; /* the largest absolute weight of a column */
    uint64_t column;
} ranked;

static int by_size(const void *left, const void *right) {
    const ranked *a = left, *b = right;
    if (a->size != b->size)
        return a->size > b->size ? -1 : 1;
    return (a->column > b->column) - (a->column < b->column);
}

/* The columns with a weight other than 0, ranked; `*count` of them. */
static parley_status rank(const parley_model *model, ranked **out, uint64_t *count, parley_error *error) {
    *count = 0;
    parley_status status = pl_take(out, model->columns, sizeof **out, "ranking the weights", error);
    for (uint64_t i = 0; i < model->columns && status == PARLEY_OK; i++) {
        double size = 0;
        for (uint64_t k = 0; k < model->outputs; k++)
            size = fmax(size, fabs(parley_model_coef(model)[k * model->columns + i]));
        if (size > 0)
            (*out)[(*count)++] = (ranked){size, i};
    }
    if (*count > 0)
        qsort(*out, *count, sizeof **out, by_size);
    return status;
}

static void print_weight(double weight) {
    char text[40];
    pl_number_text(weight, text, sizeof text);
    printf("\t%s", text);
}

/* Control characters would break the line. */
static void print_name(pl_name name) {
    for (uint64_t i = 0; i < name.bytes; i++)
        putchar((unsigned char)name.text[i] < ' ' || name.text[i] == 0x7f ? '?' : name.text[i]);
}

static int print_lines(const parley_model *model, const ranked *ranked, uint64_t count) {
    fputs("(intercept)", stdout);
    for (uint64_t k = 0; k < model->outputs; k++)
        print_weight(parley_model_intercept(model)[k]);
    putchar('\n');
    for (uint64_t i = 0; i < count; i++) {
        char number[24];
        print_name(pl_model_column(model, ranked[i].column, number, sizeof number));
        for (uint64_t k = 0; k < model->outputs; k++)
            print_weight(parley_model_coef(model)[k * model->columns + ranked[i].column]);
        putchar('\n');
    }
    return EXIT_DONE;
}

/* One number, or a list where there are several outputs. */
static json_t *weights_json(const double *weight, uint64_t outputs, uint64_t stride) {
    json_t *list = json_array();
    if (outputs == 1) {
        json_decref(list);
        return json_number(*weight);
    }
    for (uint64_t k = 0; k < outputs; k++)
        json_append(&list, json_number(weight[k * stride]));
    return list;
}

static int print_json(const arguments *arguments, const parley_model *model, const ranked *ranked, uint64_t count) {
    json_t *object = json_object(), *list = json_array();
    for (uint64_t i = 0; i < count; i++) {
        char number[24];
        pl_name name = pl_model_column(model, ranked[i].column, number, sizeof number);
        json_t *one = json_object(), *text = json_stringn(name.text, (size_t)name.bytes);
        json_put(&one, "name", text ? text : json_string("?")); /* not UTF-8 */
        json_put(&one, "column", json_count(ranked[i].column + 1));
        json_put(&one, "weight",
                 weights_json(parley_model_coef(model) + ranked[i].column, model->outputs, model->columns));
        json_append(&list, one);
    }
    json_put(&object, "intercept", weights_json(parley_model_intercept(model), model->outputs, 1));
    json_put(&object, "weights", list);
    return json_print(arguments->command, object);
}

int dump_run(const arguments *arguments) {
    const parley_settings *settings = &arguments->settings;
    parley_model *model = NULL;
    ranked *ranked = NULL;
    uint64_t count;
    parley_error error;
    parley_status status = parley_model_load(arguments->operands[0], &model, &error);
    if (status == PARLEY_OK)
        status = rank(model, &ranked, &count, &error);
    int code = EXIT_DONE;
    if (status != PARLEY_OK)
        code = fail(arguments->command, &error);
    else {
        count = settings->top && settings->top < count ? settings->top : count;
        code = settings->json ? print_json(arguments, model, ranked, count) : print_lines(model, ranked, count);
    }
    pl_free(ranked);
    parley_model_free(model);
    return code;
}
