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
#include "topics/topic_kernel.h"

#define PL_TOPIC_BLOCK 16 /* topics of a list that are neighbours in memory; their counts follow */

typedef struct pl_topic_sampler {
    uint64_t topics, stride;
    float eta;
    double words_eta; /* W eta */
    float *alpha;     /* stride, zeros after the last topic */
    double *total;    /* by topic: n_k, as this lane sees it */
    float *inverse;   /* stride: 1 / (n_k + W eta) */
    float *q;         /* stride, zeros after the last topic, and one more zero */
    float *running;   /* sums of weights */
    /* dense */
    uint16_t *counts; /* documents x stride */
    /* sparse: the topics that document d has are blocks of `list` from first[d] on, each of PL_TOPIC_BLOCK topics and
     * their counts. The last block is filled up with the topic `stride`, whose q is 0. */
    uint64_t *first;
    uint32_t *length;
    uint32_t *list;
    float *part;       /* by 16 topics: sum alpha_k q_k; zeros up to a multiple of 16 */
    double alpha_part; /* sum alpha_k q_k */
    /* the logarithm of the probability of each token that was drawn, given all others */
    float *norm;    /* by document: 1 / (its tokens - 1 + sum of alpha) */
    double log_sum; /* of those in earlier products */
    double product; /* of the latest `factors` probabilities */
    unsigned factors;
    pl_stream stream;
} pl_topic_sampler;

/* Numbers in `list` of a document that may have so many topics. */
static inline uint64_t pl_topic_list_size(uint64_t topics) {
    return (topics + PL_TOPIC_BLOCK - 1) / PL_TOPIC_BLOCK * 2 * PL_TOPIC_BLOCK;
}
/* Where topic i of a list is; its count is PL_TOPIC_BLOCK further. */
static inline uint64_t pl_topic_at(uint64_t i) { return i / PL_TOPIC_BLOCK * 2 * PL_TOPIC_BLOCK + i % PL_TOPIC_BLOCK; }

/* Begins with the sums n_k that are given. */
void pl_topic_begin(pl_topic_sampler *sampler, const double *total);
/* Draws the topics of a word's tokens, which are in these documents. `row` has the word's counts by topic. `first`: the
 * tokens have no topics yet, and the counts of words stay as they are. */
void pl_topic_draw(pl_topic_sampler *sampler, double *row, const uint32_t *document, uint32_t *topic, uint64_t tokens,
                   bool first);
/* Adds a token to the counts of a document. */
void pl_topic_count(pl_topic_sampler *sampler, uint32_t document, uint32_t topic);
/* Sorts the list of a document by topic, so that it does not depend on the order in which they came. */
void pl_topic_sort(pl_topic_sampler *sampler, uint32_t document);
/* Empties the list of a document. */
void pl_topic_clear(pl_topic_sampler *sampler, uint32_t document);

#endif
