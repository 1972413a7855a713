/* topic_sampler.h: draws the topics of tokens from their exact conditional distribution (Griffiths and Steyvers 2004)
 *
 *     p(z = k) ~ (n_dk + alpha_k) q_k        q_k = (n_wk + eta) / (n_k + W eta)
 *
 * word by word, so that the word's row of counts and q stay in the first-level cache. Documents' counts n_dk are a
 * table with a row per document (dense), which is best for few topics, or lists of the topics that a document has
 * (sparse).
 */
#ifndef PL_TOPIC_SAMPLER_H
#define PL_TOPIC_SAMPLER_H

#include "base/random.h"
#include "math/topic_kernel.h"

typedef struct pl_topic_sampler {
    uint64_t topics, stride;
    double eta, words_eta; /* eta, and W eta */
    float *alpha;          /* stride, zeros after the last topic */
    double *total;         /* by topic: n_k, as this lane sees it */
    float *row;            /* stride: n_wk of the current word */
    float *q;              /* stride, zeros after the last topic */
    float *running;        /* stride: sums of weights */
    double alpha_part;     /* sparse: sum alpha_k q_k */
    /* dense */
    uint16_t *counts; /* documents x stride */
    /* sparse: the topics that document d has are entries [first[d], first[d] + length[d]) */
    uint64_t *first;
    uint32_t *length;
    uint32_t *topic, *count;
    /* the logarithm of the probability of each token that was drawn, given all others */
    float *norm;    /* by document: 1 / (its tokens - 1 + sum of alpha) */
    double log_sum; /* of those in earlier products */
    double product; /* of the latest `factors` probabilities */
    unsigned factors;
    pl_stream stream;
} pl_topic_sampler;

/* Begins a word, whose row of counts is given. */
void pl_topic_begin_word(pl_topic_sampler *sampler, const double *row);
/* Draws the topics of the word's tokens, which are in these documents. `first`: they have none yet, and the counts of
 * words stay as they are. */
void pl_topic_draw(pl_topic_sampler *sampler, const uint32_t *document, uint32_t *topic, uint64_t tokens, bool first);
/* Adds a token to the counts of a document. */
void pl_topic_count(pl_topic_sampler *sampler, uint32_t document, uint32_t topic);

#endif
