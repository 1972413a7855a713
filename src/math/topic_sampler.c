/* topic_sampler.c: both samplers. Weights are added in sixteen running sums, by topic modulo sixteen; a draw chooses
 * one of the sums by a tree, then a place in it. */
#include "math/topic_sampler.h"

#include <math.h>
#include <string.h>

#include "math/wide.h"

#if defined(__x86_64__) && !defined(PARLEY_COVERAGE)
#define PL_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw")))
#define PL_HAS_AVX512 (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
#else
#define PL_AVX512
#define PL_HAS_AVX512 0
#endif

#define PRODUCTS 8 /* of probabilities, which a double holds */
#define NARROW 8   /* lanes of vectors for processors without AVX-512 */

typedef uint16_t shorts16 __attribute__((vector_size(32), aligned(2), may_alias));
typedef float floats16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint16_t shorts8 __attribute__((vector_size(16), aligned(2), may_alias));
typedef float floats8 __attribute__((vector_size(32), aligned(4), may_alias));

void pl_topic_begin_word(pl_topic_sampler *this, const double *row) {
    double part = 0;
    for (uint64_t k = 0; k < this->topics; k++) {
        this->row[k] = (float)row[k];
        this->q[k] = (float)((row[k] + this->eta) / (this->total[k] + this->words_eta));
        part += (double)this->alpha[k] * (double)this->q[k];
    }
    this->alpha_part = part;
}

/* Moves a token out of or into a topic of the current word. */
PL_INLINE void change(pl_topic_sampler *this, uint32_t k, float by) {
    this->row[k] += by;
    this->total[k] += (double)by;
    float q = (float)(((double)this->row[k] + this->eta) / (this->total[k] + this->words_eta));
    this->alpha_part += (double)this->alpha[k] * ((double)q - (double)this->q[k]);
    this->q[k] = q;
}

PL_INLINE double unit(pl_topic_sampler *this) { return pl_random_unit(&this->stream); }

/* Takes the probability of a token into account. Products save logarithms. */
PL_INLINE void note(pl_topic_sampler *this, uint32_t document, float total) {
    this->product *= (double)(total * this->norm[document]);
    if (++this->factors < PRODUCTS)
        return;
    this->log_sum += log(this->product);
    this->product = 1.0;
    this->factors = 0;
}

/* Finds the place of a random point in running sums of 16 lanes (or twice 8), of which `last` has the totals. Topics
 * beyond the last one have no weight, but rounding may lead there. */
PL_INLINE uint32_t place(pl_topic_sampler *this, const float *last, float point, float *total) {
    float by8[8], by4[4], by2[2];
    uint64_t lane = 0, steps = this->stride / 16, at = 0;
    for (unsigned j = 0; j < 8; j++)
        by8[j] = last[j] + last[j + 8];
    for (unsigned j = 0; j < 4; j++)
        by4[j] = by8[j] + by8[j + 4];
    for (unsigned j = 0; j < 2; j++)
        by2[j] = by4[j] + by4[j + 2];
    *total = by2[0] + by2[1];
    point *= *total;
    bool high = point >= by2[0];
    point -= high ? by2[0] : 0.0F;
    lane += high;
    high = point >= by4[lane];
    point -= high ? by4[lane] : 0.0F;
    lane += high ? 2 : 0;
    high = point >= by8[lane];
    point -= high ? by8[lane] : 0.0F;
    lane += high ? 4 : 0;
    high = point >= last[lane];
    point -= high ? last[lane] : 0.0F;
    lane += high ? 8 : 0;
    for (uint64_t i = 0; i + 1 < steps; i++)
        at += this->running[i * 16 + lane] <= point;
    uint64_t k = at * 16 + lane;
    while (k >= this->topics)
        k -= k >= 16 ? 16 : 1;
    return (uint32_t)k;
}

/* The running sums of (n + alpha) q, or of alpha q if there are no counts. */
PL_INLINE void run_wide(pl_topic_sampler *this, const uint16_t *counts, float *last) {
    floats16 sum = {0};
    for (uint64_t k = 0; k < this->stride; k += 16) {
        floats16 n = *(const floats16 *)(this->alpha + k);
        if (counts)
            n += __builtin_convertvector(*(const shorts16 *)(counts + k), floats16);
        sum += n * *(const floats16 *)(this->q + k);
        *(floats16 *)(this->running + k) = sum;
    }
    memcpy(last, &sum, sizeof sum);
}

PL_INLINE void run_narrow(pl_topic_sampler *this, const uint16_t *counts, float *last) {
    floats8 sum[2] = {{0}, {0}};
    for (uint64_t k = 0; k < this->stride; k += 16)
        for (unsigned h = 0; h < 2; h++) {
            uint64_t at = k + h * NARROW;
            floats8 n = *(const floats8 *)(this->alpha + at);
            if (counts)
                n += __builtin_convertvector(*(const shorts8 *)(counts + at), floats8);
            sum[h] += n * *(const floats8 *)(this->q + at);
            *(floats8 *)(this->running + at) = sum[h];
        }
    memcpy(last, sum, sizeof sum);
}

PL_INLINE void run(pl_topic_sampler *this, const uint16_t *counts, float *last, bool wide) {
    if (wide)
        run_wide(this, counts, last);
    else
        run_narrow(this, counts, last);
}

PL_INLINE void dense_body(pl_topic_sampler *this, const uint32_t *document, uint32_t *topic, uint64_t tokens,
                          bool first, bool wide) {
    float last[16], total;
    for (uint64_t t = 0; t < tokens; t++) {
        uint16_t *counts = this->counts + (uint64_t)document[t] * this->stride;
        uint32_t old = topic[t];
        if (!first) {
            counts[old]--;
            change(this, old, -1.0F);
        }
        run(this, counts, last, wide);
        uint32_t k = place(this, last, (float)unit(this), &total);
        note(this, document[t], total);
        topic[t] = k;
        counts[k]++;
        if (!first)
            change(this, k, 1.0F);
    }
}

/* Takes a token out of a document's list. */
PL_INLINE void take_out(pl_topic_sampler *this, uint32_t document, uint32_t k) {
    uint64_t first = this->first[document], last = first + this->length[document] - 1, at = first;
    while (this->topic[at] != k)
        at++;
    if (--this->count[at] > 0)
        return;
    this->topic[at] = this->topic[last];
    this->count[at] = this->count[last];
    this->length[document]--;
}

PL_INLINE void put_in(pl_topic_sampler *this, uint32_t document, uint32_t k) {
    uint64_t first = this->first[document], end = first + this->length[document], at = first;
    while (at < end && this->topic[at] != k)
        at++;
    if (at == end) {
        this->topic[at] = k;
        this->count[at] = 0;
        this->length[document]++;
    }
    this->count[at]++;
}

/* A topic by the document's own counts, or else by alpha. */
PL_INLINE uint32_t draw_sparse(pl_topic_sampler *this, uint32_t document, bool wide) {
    uint64_t first = this->first[document], length = this->length[document];
    const uint32_t *topic = this->topic + first, *count = this->count + first;
    float own = 0, last[16], total;
    for (uint64_t i = 0; i < length; i++) {
        own += (float)count[i] * this->q[topic[i]];
        this->running[i] = own;
    }
    double point = unit(this) * ((double)own + this->alpha_part);
    note(this, document, own + (float)this->alpha_part);
    if (point < (double)own) {
        uint64_t i = 0;
        while (i + 1 < length && (double)this->running[i] <= point)
            i++;
        return topic[i];
    }
    run(this, NULL, last, wide);
    float share = (float)((point - (double)own) / this->alpha_part);
    return place(this, last, share < 1.0F ? share : 0.99999994F, &total);
}

PL_INLINE void sparse_body(pl_topic_sampler *this, const uint32_t *document, uint32_t *topic, uint64_t tokens,
                           bool first, bool wide) {
    for (uint64_t t = 0; t < tokens; t++) {
        if (!first) {
            take_out(this, document[t], topic[t]);
            change(this, topic[t], -1.0F);
        }
        topic[t] = draw_sparse(this, document[t], wide);
        put_in(this, document[t], topic[t]);
        if (!first)
            change(this, topic[t], 1.0F);
    }
}

#define VERSION(target, name, wide)                                                                                    \
    target static void name(pl_topic_sampler *this, const uint32_t *document, uint32_t *topic, uint64_t tokens,        \
                            bool first) {                                                                              \
        if (this->counts)                                                                                              \
            dense_body(this, document, topic, tokens, first, wide);                                                    \
        else                                                                                                           \
            sparse_body(this, document, topic, tokens, first, wide);                                                   \
    }

VERSION(PL_AVX512, draw_avx512, true)
VERSION(PL_AVX2, draw_avx2, false)
VERSION(, draw_plain, false)

void pl_topic_draw(pl_topic_sampler *this, const uint32_t *document, uint32_t *topic, uint64_t tokens, bool first) {
    if (PL_HAS_AVX512)
        draw_avx512(this, document, topic, tokens, first);
    else if (PL_HAS_AVX2)
        draw_avx2(this, document, topic, tokens, first);
    else
        draw_plain(this, document, topic, tokens, first);
}

void pl_topic_count(pl_topic_sampler *this, uint32_t document, uint32_t topic) {
    if (this->counts)
        this->counts[(uint64_t)document * this->stride + topic]++;
    else
        put_in(this, document, topic);
}
