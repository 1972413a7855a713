/* fuzz_model.c: any bytes as a model: either refused with a sentence, or a model that decides. */
#include <stdlib.h>
#include <string.h>

#include "method/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static const uint64_t start[] = {0, 3};
    static const uint32_t index[] = {0, 7, 4000000000u};
    static const float value[] = {1.0f, -2.0f, 3.0f};
    const pl_matrix x = {1, 4000000001u, 3, start, index, {.narrow = value}};
    uint64_t *aligned = malloc(size + sizeof *aligned); /* as a mapped file is */
    parley_model *model;
    parley_error error = {0};
    if (!aligned)
        return 0;
    memcpy(aligned, bytes, size);
    parley_status status = pl_model_parse(aligned, size, "fuzz", &model, &error);
    if ((status == PARLEY_OK) != (model != NULL) || (status != PARLEY_OK && !*error.sentence))
        abort();
    if (model) {
        double *decisions = malloc(model->outputs * sizeof *decisions);
        if (decisions) {
            model->type->apply(model, &x, 0, 1, decisions);
            (void)model->type->predict(model, decisions);
            (void)model->type->finish(model, PL_PROBABILITY, decisions, NULL);
        }
        free(decisions);
    }
    parley_model_free(model);
    free(aligned);
    return 0;
}
