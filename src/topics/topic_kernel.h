/* topic_kernel.h: the topics of one document, and the rows of a topic table that it needs.
 *
 * With E a table of `stride` floats per word, c the counts of the document's words and f the identity (collapsed
 * updates) or exp psi (variational ones), e = f(gamma), the iteration is
 *
 *     S_w = sum_k e_k E_wk        gamma_k = alpha_k + e_k sum_w c_w E_wk / S_w
 *
 * After a few steps on all topics the document keeps those with more than a trace of its words, for which E is packed
 * topic by topic. A topic that was dropped has gamma_k = alpha_k. */
#ifndef PL_TOPIC_KERNEL_H
#define PL_TOPIC_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"

#define PL_TOPIC_LANES 16 /* rows of tables are multiples of this many floats */

static inline uint64_t pl_topic_stride(uint64_t topics) {
    return (topics + PL_TOPIC_LANES - 1) / PL_TOPIC_LANES * PL_TOPIC_LANES;
}

typedef struct pl_topic_rule {
    uint64_t topics, stride;
    const float *alpha; /* stride, zeros after the last topic */
    bool psi;           /* variational: e = exp psi(gamma) */
    unsigned steps;     /* most iterations */
    float tolerance;    /* of sum |change of gamma|, as a share of the document's words */
} pl_topic_rule;

/* A document: the numbers of its words in the table E, and their counts. */
typedef struct pl_topic_document {
    const uint32_t *word;
    const float *count; /* NULL: all are 1 */
    float weight;       /* of each word, beside its count */
    uint64_t words;
} pl_topic_document;

/* Room for one document, and what was found about it: `active` topics with their gamma; r_w = c_w / S_w and
 * packed[a x padded + w] = E of the a-th active topic, both with the e of the last iteration; and sum c_w ln S_w. */
typedef struct pl_topic_room {
    float *gamma, *e, *sums; /* stride: by topic until topics are dropped, then by active topic */
    uint32_t *topic;         /* by active topic */
    uint64_t active, padded;
    float *r, *c, *s;
    float *packed;
    double log_sum, tokens;
    pl_span span;
} pl_topic_room;

parley_status pl_topic_room_open(pl_topic_room *room, uint64_t topics, uint64_t most_words, parley_error *error);
void pl_topic_room_close(pl_topic_room *room);

/* Writes E of one word: f(eta + scale x row_k) x factor_k, and zeros up to the stride. */
void pl_topic_row(const double *row, uint64_t topics, double scale, double eta, bool psi, const float *factor,
                  float *out);
/* Finds the topics of a document. */
void pl_topic_infer(const pl_topic_rule *rule, const float *table, const pl_topic_document *document,
                    pl_topic_room *room);
/* Adds the expected counts of the document's words by topic, which `pl_topic_infer` found, to the rows of `stats`. */
void pl_topic_scatter(const pl_topic_rule *rule, const pl_topic_document *document, pl_topic_room *room, float *stats);
/* Adds factor x stat to `count` numbers, or stores it there, and stat to `totals`. */
void pl_topic_merge(const float *stat, uint64_t count, double factor, bool store, double *to, double *totals);
/* Adds `count` floats. */
void pl_topic_add(const float *more, uint64_t count, float *sum);
/* One pass over a document in double precision: sums_k = sum_w c_w E_wk / S_w. `rows` has `stride` numbers per word, a
 * multiple of 8. Returns sum c_w ln S_w if `log` asks for it, otherwise 0. */
double pl_topic_pass(const double *rows, const double *count, uint64_t words, uint64_t stride, const double *e,
                     bool log, double *sums);
double pl_psi(double x);       /* digamma, x > 0; relative error about 1e-13 */
double pl_psi_slope(double x); /* trigamma, x > 0 */

#endif
