/* topic_sampler.c: both samplers. Weights are added in sixteen running sums, by topic modulo sixteen; a draw chooses
 * one of the sums by a tree, then a place in it. */
#include "topics/topic_sampler.h"

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
#define AHEAD 8    /* tokens whose documents are fetched ahead */
#define LINE 64    /* bytes */
#define FETCHED 8  /* lines of a document's list that are fetched ahead */
#define NARROW 8   /* lanes of vectors for processors without AVX-512 */

typedef uint16_t shorts16 __attribute__((vector_size(32), aligned(2), may_alias));
typedef int32_t ints16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef float floats16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef double doubles16 __attribute__((vector_size(128), aligned(8), may_alias));
typedef uint16_t shorts8 __attribute__((vector_size(16), aligned(2), may_alias));
typedef int32_t ints8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef float floats8 __attribute__((vector_size(32), aligned(4), may_alias));

/* Sums of sixteen lanes, by pairs. */
typedef struct lanes {
    float last[16], by8[8], by4[4], by2[2], total;
} lanes;

PL_INLINE void add_lanes(lanes *sums) {
    for (unsigned j = 0; j < 8; j++)
        sums->by8[j] = sums->last[j] + sums->last[j + 8];
    for (unsigned j = 0; j < 4; j++)
        sums->by4[j] = sums->by8[j] + sums->by8[j + 4];
    for (unsigned j = 0; j < 2; j++)
        sums->by2[j] = sums->by4[j] + sums->by4[j + 2];
    sums->total = sums->by2[0] + sums->by2[1];
}

/* x if it is taken, otherwise 0, without a branch, which would be mispredicted half of the time. */
PL_INLINE float taken(float x, bool take) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= 0U - (uint32_t)take;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Finds the place of a point in running sums of 16 lanes, `steps` of them, and what is left of the point there. There
 * is no weight from `limit` on, but rounding may lead there. */
PL_INLINE uint64_t find(const float *running, uint64_t steps, uint64_t limit, const lanes *sums, float *point) {
    uint64_t lane = 0, at = 0;
    const float *const levels[] = {sums->by2, sums->by4, sums->by8, sums->last};
    for (unsigned level = 0; level < 4; level++) {
        float below = levels[level][lane];
        bool high = *point >= below;
        *point -= taken(below, high);
        lane += (uint64_t)high << level;
    }
    for (uint64_t i = 0; i + 1 < steps; i++)
        at += running[i * 16 + lane] <= *point;
    *point -= at > 0 ? running[(at - 1) * 16 + lane] : 0.0F;
    uint64_t k = at * 16 + lane;
    while (k >= limit)
        k -= k >= 16 ? 16 : 1;
    return k;
}

/* Begins a word, whose row of counts is given. */
PL_INLINE void begin_word(pl_topic_sampler *self, const double *row, bool sparse) {
    uint64_t whole = self->topics / 16 * 16;
    double sum = 0;
    for (uint64_t k = 0; k < whole; k += 16) {
        floats16 count = __builtin_convertvector(*(const doubles16 *)(row + k), floats16);
        *(floats16 *)(self->q + k) = (count + self->eta) * *(const floats16 *)(self->inverse + k);
    }
    for (uint64_t k = whole; k < self->topics; k++)
        self->q[k] = ((float)row[k] + self->eta) * self->inverse[k];
    for (uint64_t b = 0; b < self->stride / 16 && sparse; b++) {
        lanes sums;
        floats16 weights = *(const floats16 *)(self->alpha + b * 16) * *(const floats16 *)(self->q + b * 16);
        memcpy(sums.last, &weights, sizeof weights);
        add_lanes(&sums);
        self->part[b] = sums.total;
        sum += (double)sums.total;
    }
    self->alpha_part = sum;
}

/* Moves a token out of or into a topic of the current word. */
PL_INLINE void change(pl_topic_sampler *self, double *row, uint32_t k, double by, bool sparse) {
    double count = row[k] + by, total = self->total[k] + by;
    row[k] = count;
    self->total[k] = total;
    self->inverse[k] = 1.0F / (float)(total + self->words_eta);
    float q = ((float)count + self->eta) * self->inverse[k];
    if (sparse) {
        float more = self->alpha[k] * (q - self->q[k]);
        self->part[k / 16] += more;
        self->alpha_part += (double)more;
    }
    self->q[k] = q;
}

PL_INLINE double unit(pl_topic_sampler *self) { return (double)(pl_random_inline(&self->stream) >> 11) * 0x1p-53; }

/* Takes the probability of a token into account. Products save logarithms. */
PL_INLINE void note(pl_topic_sampler *self, uint32_t document, float total) {
    self->product *= (double)(total * self->norm[document]);
    if (++self->factors < PRODUCTS)
        return;
    self->log_sum += log(self->product);
    self->product = 1.0;
    self->factors = 0;
}

/* The running sums of (n + alpha) q. */
PL_INLINE void run_wide(pl_topic_sampler *self, const uint16_t *counts, float *last) {
    floats16 sum = {0};
    for (uint64_t k = 0; k < self->stride; k += 16) {
        floats16 n = *(const floats16 *)(self->alpha + k);
        n += __builtin_convertvector(*(const shorts16 *)(counts + k), floats16);
        sum += n * *(const floats16 *)(self->q + k);
        *(floats16 *)(self->running + k) = sum;
    }
    memcpy(last, &sum, sizeof sum);
}

PL_INLINE void run_narrow(pl_topic_sampler *self, const uint16_t *counts, float *last) {
    floats8 sum[2] = {{0}, {0}};
    for (uint64_t k = 0; k < self->stride; k += 16)
        for (unsigned h = 0; h < 2; h++) {
            uint64_t at = k + h * NARROW;
            floats8 n = *(const floats8 *)(self->alpha + at);
            n += __builtin_convertvector(*(const shorts8 *)(counts + at), floats8);
            sum[h] += n * *(const floats8 *)(self->q + at);
            *(floats8 *)(self->running + at) = sum[h];
        }
    memcpy(last, sum, sizeof sum);
}

PL_INLINE void dense_body(pl_topic_sampler *self, double *row, const uint32_t *document, uint32_t *topic,
                          uint64_t tokens, bool first, bool wide) {
    lanes sums;
    for (uint64_t t = 0; t < tokens; t++) {
        uint16_t *counts = self->counts + (uint64_t)document[t] * self->stride;
        uint32_t old = topic[t];
        if (t + AHEAD < tokens) {
            const char *next = (const char *)(self->counts + (uint64_t)document[t + AHEAD] * self->stride);
            for (uint64_t b = 0; b < self->stride * sizeof *counts; b += LINE)
                __builtin_prefetch(next + b, 1);
        }
        if (!first) {
            counts[old]--;
            change(self, row, old, -1.0, false);
        }
        if (wide)
            run_wide(self, counts, sums.last);
        else
            run_narrow(self, counts, sums.last);
        add_lanes(&sums);
        float point = (float)unit(self) * sums.total;
        uint32_t k = (uint32_t)find(self->running, self->stride / 16, self->topics, &sums, &point);
        note(self, document[t], sums.total);
        topic[t] = k;
        counts[k]++;
        if (!first)
            change(self, row, k, 1.0, false);
    }
}

/* Where a topic is in a list; its length if it is not there. */
PL_INLINE uint64_t seek(const uint32_t *list, uint64_t length, uint32_t k) {
    for (uint64_t i = 0; i < length; i += PL_TOPIC_BLOCK, list += 2 * PL_TOPIC_BLOCK)
        for (unsigned j = 0; j < PL_TOPIC_BLOCK; j++)
            if (list[j] == k)
                return i + j;
    return length;
}

/* Takes a token out of a document's list. The last topic takes the place of one that is gone. */
PL_INLINE void take_out(pl_topic_sampler *self, uint32_t document, uint32_t k) {
    uint32_t *list = self->list + self->first[document];
    uint64_t at = pl_topic_at(seek(list, self->length[document], k));
    if (--list[at + PL_TOPIC_BLOCK] > 0)
        return;
    uint64_t last = pl_topic_at(--self->length[document]);
    list[at] = list[last];
    list[at + PL_TOPIC_BLOCK] = list[last + PL_TOPIC_BLOCK];
    list[last] = (uint32_t)self->stride;
    list[last + PL_TOPIC_BLOCK] = 0;
}

PL_INLINE void put_in(pl_topic_sampler *self, uint32_t document, uint32_t k) {
    uint32_t *list = self->list + self->first[document];
    uint64_t length = self->length[document], i = seek(list, length, k), at = pl_topic_at(i);
    if (i == length) {
        if (length % PL_TOPIC_BLOCK == 0) /* a new block */
            for (unsigned j = 0; j < PL_TOPIC_BLOCK; j++) {
                list[at + j] = (uint32_t)self->stride;
                list[at + PL_TOPIC_BLOCK + j] = 0;
            }
        list[at] = k;
        self->length[document]++;
    }
    list[at + PL_TOPIC_BLOCK]++;
}

/* The running sums of n q over a list. */
PL_INLINE void run_list(pl_topic_sampler *self, const uint32_t *list, uint64_t blocks, float *last, bool wide) {
    floats16 sum = {0};
    floats8 sums[2] = {{0}, {0}};
    for (uint64_t b = 0; b < blocks; b++, list += 2 * PL_TOPIC_BLOCK) {
        float q[PL_TOPIC_BLOCK], *running = self->running + b * PL_TOPIC_BLOCK;
        for (unsigned j = 0; j < PL_TOPIC_BLOCK; j++)
            q[j] = self->q[list[j]];
        if (wide) {
            sum += __builtin_convertvector(*(const ints16 *)(list + PL_TOPIC_BLOCK), floats16) * *(floats16 *)q;
            *(floats16 *)running = sum;
        }
        for (unsigned h = 0; h < 2 && !wide; h++) {
            const uint32_t *counts = list + PL_TOPIC_BLOCK + h * NARROW;
            sums[h] += __builtin_convertvector(*(const ints8 *)counts, floats8) * *(floats8 *)(q + h * NARROW);
            *(floats8 *)(running + h * NARROW) = sums[h];
        }
    }
    if (wide)
        memcpy(last, &sum, sizeof sum);
    else
        memcpy(last, sums, sizeof sums);
}

/* A topic by alpha q: first sixteen of them, then one. */
PL_INLINE uint32_t draw_by_alpha(pl_topic_sampler *self, double share) {
    lanes sums = {0};
    uint64_t blocks = self->stride / 16, steps = (blocks + 15) / 16;
    for (uint64_t i = 0; i < steps; i++)
        for (unsigned j = 0; j < 16; j++)
            self->running[i * 16 + j] = sums.last[j] += self->part[i * 16 + j];
    add_lanes(&sums);
    float point = (float)share * sums.total;
    uint64_t block = find(self->running, steps, blocks, &sums, &point);
    for (unsigned j = 0; j < 16; j++)
        self->running[j] = sums.last[j] = self->alpha[block * 16 + j] * self->q[block * 16 + j];
    add_lanes(&sums);
    point = point < sums.total ? point : 0.9999F * sums.total;
    return (uint32_t)(block * 16 + find(self->running, 1, self->topics - block * 16, &sums, &point));
}

/* A topic by the document's own counts, or else by alpha. */
PL_INLINE uint32_t draw_sparse(pl_topic_sampler *self, uint32_t document, bool wide) {
    uint32_t *list = self->list + self->first[document];
    uint64_t length = self->length[document], blocks = (length + PL_TOPIC_BLOCK - 1) / PL_TOPIC_BLOCK;
    lanes sums;
    run_list(self, list, blocks, sums.last, wide);
    add_lanes(&sums);
    double all = (double)sums.total + self->alpha_part, point = unit(self) * all;
    note(self, document, (float)all);
    if (point < (double)sums.total) {
        float left = (float)point;
        uint64_t at = pl_topic_at(find(self->running, blocks, length, &sums, &left));
        list[at + PL_TOPIC_BLOCK]++;
        return list[at];
    }
    uint32_t k = draw_by_alpha(self, (point - (double)sums.total) / self->alpha_part);
    put_in(self, document, k);
    return k;
}

PL_INLINE void fetch_list(const pl_topic_sampler *self, uint32_t document) {
    const char *list = (const char *)(self->list + self->first[document]);
    uint64_t bytes = pl_topic_list_size(self->length[document]) * sizeof *self->list;
    for (uint64_t b = 0; b < bytes && b < FETCHED * LINE; b += LINE)
        __builtin_prefetch(list + b, 1);
}

PL_INLINE void sparse_body(pl_topic_sampler *self, double *row, const uint32_t *document, uint32_t *topic,
                           uint64_t tokens, bool first, bool wide) {
    for (uint64_t t = 0; t < tokens; t++) {
        if (t + AHEAD < tokens)
            fetch_list(self, document[t + AHEAD]);
        if (!first) {
            take_out(self, document[t], topic[t]);
            change(self, row, topic[t], -1.0, true);
        }
        topic[t] = draw_sparse(self, document[t], wide);
        if (!first)
            change(self, row, topic[t], 1.0, true);
    }
}

#define VERSION(target, name, wide)                                                                                    \
    target static void name(pl_topic_sampler *sampler, double *row, const uint32_t *document, uint32_t *topic,         \
                            uint64_t tokens, bool first) {                                                             \
        pl_topic_sampler self = *sampler; /* a copy, which no store through a pointer changes */                       \
        begin_word(&self, row, !self.counts);                                                                          \
        if (self.counts && !first)                                                                                     \
            dense_body(&self, row, document, topic, tokens, false, wide);                                              \
        else if (self.counts)                                                                                          \
            dense_body(&self, row, document, topic, tokens, true, wide);                                               \
        else                                                                                                           \
            sparse_body(&self, row, document, topic, tokens, first, wide);                                             \
        *sampler = self;                                                                                               \
    }

VERSION(PL_AVX512, draw_avx512, true)
VERSION(PL_AVX2, draw_avx2, false)
VERSION(, draw_plain, false)

void pl_topic_begin(pl_topic_sampler *self, const double *total) {
    for (uint64_t k = 0; k < self->topics; k++) {
        self->total[k] = total[k];
        self->inverse[k] = 1.0F / (float)(total[k] + self->words_eta);
    }
}

void pl_topic_draw(pl_topic_sampler *self, double *row, const uint32_t *document, uint32_t *topic, uint64_t tokens,
                   bool first) {
    if (PL_HAS_AVX512)
        draw_avx512(self, row, document, topic, tokens, first);
    else if (PL_HAS_AVX2)
        draw_avx2(self, row, document, topic, tokens, first);
    else
        draw_plain(self, row, document, topic, tokens, first);
}

void pl_topic_count(pl_topic_sampler *self, uint32_t document, uint32_t topic) {
    if (self->counts)
        self->counts[(uint64_t)document * self->stride + topic]++;
    else
        put_in(self, document, topic);
}

void pl_topic_clear(pl_topic_sampler *self, uint32_t document) { self->length[document] = 0; }

/* Shell's sort: lists are short. */
void pl_topic_sort(pl_topic_sampler *self, uint32_t document) {
    uint32_t *list = self->list + self->first[document];
    uint64_t length = self->length[document], gap = 1;
    while (gap < length / 3)
        gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3)
        for (uint64_t i = gap; i < length; i++) {
            uint64_t from = pl_topic_at(i), to = i;
            uint32_t topic = list[from], count = list[from + PL_TOPIC_BLOCK];
            for (; to >= gap && list[pl_topic_at(to - gap)] > topic; to -= gap) {
                list[pl_topic_at(to)] = list[pl_topic_at(to - gap)];
                list[pl_topic_at(to) + PL_TOPIC_BLOCK] = list[pl_topic_at(to - gap) + PL_TOPIC_BLOCK];
            }
            list[pl_topic_at(to)] = topic;
            list[pl_topic_at(to) + PL_TOPIC_BLOCK] = count;
        }
}
