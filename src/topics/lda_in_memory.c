/* lda_in_memory.c: topic models for programs that use the library. */
#include <math.h>
#include <string.h>

#include "topics/lda.h"

int parley_model_topics(const parley_model *base, parley_topics *out) {
    const pl_lda_model *model = pl_lda_model_of(base);
    *out = (parley_topics){0};
    if (model)
        *out = (parley_topics){.topics = model->topics,
                               .words = model->words,
                               .lambda = model->lambda,
                               .alpha = model->alpha,
                               .eta = model->eta,
                               .steps = (uint64_t)model->steps,
                               .variational = model->variational};
    return model != NULL;
}

parley_status parley_topics_new(const parley_topics *given, parley_model **out, parley_error *error) {
    uint64_t topics = given->topics, words = given->words;
    pl_lda_model *model;
    *out = NULL;
    if (topics == 0 || words == 0)
        return pl_fail(error, PARLEY_BAD_USAGE, "a topic model needs topics and words");
    bool valid = given->eta > 0 && isfinite(given->eta);
    for (uint64_t i = 0; i < topics * words; i++)
        valid = valid && given->lambda[i] > 0 && isfinite(given->lambda[i]);
    for (uint64_t k = 0; k < topics; k++)
        valid = valid && given->alpha[k] > 0 && isfinite(given->alpha[k]);
    if (!valid)
        return pl_fail(error, PARLEY_BAD_USAGE, "the parameters of topics must be positive and finite");
    parley_status status = pl_lda_model_new(topics, words, &model, error);
    if (status != PARLEY_OK)
        return status;
    memcpy(model->lambda, given->lambda, topics * words * sizeof *given->lambda);
    memcpy(model->alpha, given->alpha, topics * sizeof *given->alpha);
    model->eta = given->eta;
    model->steps = (double)given->steps;
    model->variational = given->variational;
    pl_lda_model_sum(model);
    *out = &model->base;
    return status;
}
