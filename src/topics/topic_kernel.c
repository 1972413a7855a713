/* topic_kernel.c: kernels in single precision for sixteen topics or words at a time. Sums have sixteen parts, which are
 * added in the same order on every processor. */
#include "topics/topic_kernel.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "math/wide_floats.h"

#define AT_ONCE 4       /* vectors of words or topics */
#define DENSE_STEPS 4   /* iterations on all topics */
#define TRACE 0.1F      /* words of a document that a topic must have to be kept */
#define SMALLEST 1e-35F /* of S, against division by zero */

typedef pl_floats floats;
typedef pl_floats_bits bits;
typedef float half __attribute__((vector_size(32)));
typedef float quarter __attribute__((vector_size(16)));
typedef double doubles __attribute__((vector_size(128), aligned(8), may_alias));

#define ALL(x) PL_ALL_FLOATS(x)
#define LARGER(a, b) PL_LARGER_FLOATS(a, b)

PL_INLINE float total(const floats *sum) {
    floats x = *sum;
    half h = __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7) +
             __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
    quarter q = __builtin_shufflevector(h, h, 0, 1, 2, 3) + __builtin_shufflevector(h, h, 4, 5, 6, 7);
    return (q[0] + q[2]) + (q[1] + q[3]);
}

/* ln x for positive, normal x. */
PL_INLINE void logarithm(floats *value) {
    bits raw = (bits)*value, shifted = raw - 0x3f3504f3, power = shifted >> 23;
    floats m = (floats)(raw - (power << 23)), f = (m - 1.0F) / (m + 1.0F), f2 = f * f;
    floats series = 2.0F * f * (1.0F + f2 * (0.33333333F + f2 * (0.2F + f2 * (0.14285714F + f2 * 0.11111111F))));
    *value = __builtin_convertvector(power, floats) * 0.69314718F + series;
}

/* exp psi(x) = F(x + 4) exp(-(1/x + 1/(x+1) + 1/(x+2) + 1/(x+3))), where F is a series in x + 7/2. */
PL_INLINE void exp_psi(floats *value) {
    floats x = *value, y = x + 3.5F, inverse = 1.0F / y;
    floats power = -(((4.0F * x + 18.0F) * x + 22.0F) * x + 6.0F) / (x * (x + 1.0F) * (x + 2.0F) * (x + 3.0F));
    floats series = y + inverse * (4.16666667e-2F - inverse * inverse * 6.42361111e-3F);
    pl_exponential_floats(&power);
    *value = series * power;
}

/* Rows */

PL_INLINE void row_body(const double *row, uint64_t topics, double scale, double eta, bool psi, const float *factor,
                        float *out) {
    uint64_t whole = topics / 16 * 16;
    for (uint64_t k = 0; k < whole; k += 16) {
        doubles wide = *(const doubles *)(row + k) * scale + eta;
        floats x = __builtin_convertvector(wide, floats);
        if (psi)
            exp_psi(&x);
        *(floats *)(out + k) = x * *(const floats *)(factor + k);
    }
    if (whole == topics)
        return;
    floats x = ALL(1.0F), limit = {0};
    for (uint64_t k = whole; k < topics; k++) {
        ((float *)&x)[k - whole] = (float)(row[k] * scale + eta);
        ((float *)&limit)[k - whole] = factor[k];
    }
    if (psi)
        exp_psi(&x);
    *(floats *)(out + whole) = x * limit;
}

/* Documents */

PL_INLINE float count_of(const pl_topic_document *document, uint64_t w) {
    return document->count ? document->count[w] * document->weight : document->weight;
}

/* Adds sum_w c_w E_wk / S_w of four words to the sums. */
PL_INLINE void four_words(const float *const rows[4], const float *c, const float *e, uint64_t stride, float *sums) {
    floats dot[4] = {{0}, {0}, {0}, {0}}, r[4];
    for (uint64_t k = 0; k < stride; k += 16) {
        floats weight = *(const floats *)(e + k);
        for (unsigned i = 0; i < 4; i++)
            dot[i] += weight * *(const floats *)(rows[i] + k);
    }
    for (unsigned i = 0; i < 4; i++) {
        float s = total(&dot[i]);
        r[i] = ALL(c[i] / (s > SMALLEST ? s : SMALLEST));
    }
    for (uint64_t k = 0; k < stride; k += 16) {
        floats sum = *(floats *)(sums + k);
        for (unsigned i = 0; i < 4; i++)
            sum += r[i] * *(const floats *)(rows[i] + k);
        *(floats *)(sums + k) = sum;
    }
}

/* Moves gamma by one iteration, given the sums, for `count` topics. Returns sum |change|. */
PL_INLINE float move(const pl_topic_rule *rule, const float *alpha, uint64_t count, pl_topic_room *room) {
    floats change = {0};
    for (uint64_t k = 0; k < count; k += 16) {
        floats last = *(floats *)(room->gamma + k);
        floats next = *(const floats *)(alpha + k) + *(floats *)(room->e + k) * *(floats *)(room->sums + k);
        floats difference = next - last;
        change += LARGER(difference, -difference);
        *(floats *)(room->gamma + k) = next;
    }
    (void)rule;
    return total(&change);
}

PL_INLINE void expect(const pl_topic_rule *rule, uint64_t count, uint64_t stride, pl_topic_room *room) {
    for (uint64_t k = 0; k < stride; k += 16) {
        floats x = *(floats *)(room->gamma + k);
        if (rule->psi) {
            x = LARGER(x, ALL(1e-6F));
            exp_psi(&x);
        }
        *(floats *)(room->e + k) = x;
    }
    for (uint64_t k = count; k < stride; k++)
        room->e[k] = 0;
}

PL_INLINE float dense_step(const pl_topic_rule *rule, const float *table, const pl_topic_document *document,
                           pl_topic_room *room) {
    uint64_t stride = rule->stride, words = document->words;
    memset(room->sums, 0, stride * sizeof *room->sums);
    for (uint64_t w = 0; w < words; w += 4) {
        const float *rows[4];
        float c[4];
        for (uint64_t i = 0; i < 4; i++) {
            rows[i] = table + (uint64_t)document->word[w + i < words ? w + i : w] * stride;
            c[i] = w + i < words ? count_of(document, w + i) : 0.0F;
        }
        four_words(rows, c, room->e, stride, room->sums);
    }
    float change = move(rule, rule->alpha, stride, room);
    expect(rule, rule->topics, stride, room);
    return change;
}

/* Keeps the topics with more than a trace of the words, and packs their part of E topic by topic. */
PL_INLINE void pack(const pl_topic_rule *rule, const float *table, const pl_topic_document *document,
                    pl_topic_room *room) {
    float even = 0.5F * (float)room->tokens / (float)rule->topics, trace = even < TRACE ? even : TRACE;
    uint64_t words = document->words, padded = (words + 15) / 16 * 16, active = 0;
    for (uint64_t k = 0; k < rule->topics; k++)
        if (room->gamma[k] - rule->alpha[k] > trace) {
            room->topic[active] = (uint32_t)k;
            room->gamma[active] = room->gamma[k];
            room->e[active++] = room->e[k];
        }
    room->active = active;
    room->padded = padded;
    for (uint64_t w = 0; w < words; w++) {
        const float *row = table + (uint64_t)document->word[w] * rule->stride;
        for (uint64_t a = 0; a < active; a++)
            room->packed[a * padded + w] = row[room->topic[a]];
    }
    for (uint64_t a = 0; a < active; a++)
        for (uint64_t w = words; w < padded; w++)
            room->packed[a * padded + w] = 0;
    for (uint64_t w = 0; w < padded; w++)
        room->c[w] = w < words ? count_of(document, w) : 0.0F;
}

/* r = c / S for `blocks` times sixteen words from w on. Several blocks at a time hide the latency of additions. */
PL_INLINE void divide_words(pl_topic_room *room, uint64_t w, unsigned blocks) {
    uint64_t padded = room->padded, active = room->active;
    floats s[AT_ONCE] = {{0}, {0}, {0}, {0}};
    for (uint64_t a = 0; a < active; a++) {
        const float *row = room->packed + a * padded + w;
        for (unsigned i = 0; i < blocks; i++)
            s[i] += room->e[a] * *(const floats *)(row + 16 * i);
    }
    for (unsigned i = 0; i < blocks; i++) {
        uint64_t at = w + 16 * i;
        s[i] = LARGER(s[i], ALL(SMALLEST));
        *(floats *)(room->s + at) = s[i];
        *(floats *)(room->r + at) = *(floats *)(room->c + at) / s[i];
    }
}

PL_INLINE void divide(pl_topic_room *room) {
    uint64_t w = 0;
    for (; w + 16 * AT_ONCE <= room->padded; w += 16 * AT_ONCE)
        divide_words(room, w, AT_ONCE);
    for (; w < room->padded; w += 16)
        divide_words(room, w, 1);
}

/* sum_w r_w E_wa for `count` active topics from a on. */
PL_INLINE void add_words(pl_topic_room *room, uint64_t a, unsigned count) {
    uint64_t padded = room->padded;
    floats sum[AT_ONCE] = {{0}, {0}, {0}, {0}};
    for (uint64_t w = 0; w < padded; w += 16)
        for (unsigned i = 0; i < count; i++)
            sum[i] += *(floats *)(room->r + w) * *(floats *)(room->packed + (a + i) * padded + w);
    for (unsigned i = 0; i < count; i++)
        room->sums[a + i] = total(&sum[i]);
}

PL_INLINE void add_topics(pl_topic_room *room) {
    uint64_t a = 0;
    for (; a + AT_ONCE <= room->active; a += AT_ONCE)
        add_words(room, a, AT_ONCE);
    for (; a < room->active; a++)
        add_words(room, a, 1);
}

/* sum c ln S of the last iteration. */
PL_INLINE double sum_logarithms(const pl_topic_room *room) {
    floats sum = {0};
    for (uint64_t w = 0; w < room->padded; w += 16) {
        floats s = *(floats *)(room->s + w);
        logarithm(&s);
        sum += *(floats *)(room->c + w) * s;
    }
    return (double)total(&sum);
}

PL_INLINE void infer_body(const pl_topic_rule *rule, const float *table, const pl_topic_document *document,
                          pl_topic_room *room) {
    float tokens = 0, alpha[16], limit;
    for (uint64_t w = 0; w < document->words; w++)
        tokens += count_of(document, w);
    room->tokens = (double)tokens;
    limit = rule->tolerance * tokens;
    for (uint64_t k = 0; k < rule->stride; k++)
        room->gamma[k] = k < rule->topics ? rule->alpha[k] + tokens / (float)rule->topics : 0.0F;
    expect(rule, rule->topics, rule->stride, room);
    unsigned step = 0;
    for (bool moves = true; step < DENSE_STEPS && step < rule->steps && moves; step++)
        moves = dense_step(rule, table, document, room) > limit;
    pack(rule, table, document, room);
    uint64_t stride = pl_topic_stride(room->active);
    for (uint64_t a = room->active; a < stride; a++)
        room->gamma[a] = room->e[a] = room->sums[a] = 0;
    for (bool last = room->active == 0; !last; step++) {
        divide(room);
        add_topics(room);
        float change = 0;
        for (uint64_t a = 0; a < stride; a += 16) {
            for (unsigned i = 0; i < 16; i++)
                alpha[i] = a + i < room->active ? rule->alpha[room->topic[a + i]] : 0.0F;
            floats now = *(floats *)(room->gamma + a);
            floats next = *(floats *)alpha + *(floats *)(room->e + a) * *(floats *)(room->sums + a);
            floats difference = next - now;
            difference = LARGER(difference, -difference);
            change += total(&difference);
            *(floats *)(room->gamma + a) = next;
        }
        last = change <= limit || step + 1 >= rule->steps;
        if (!last)
            expect(rule, room->active, stride, room);
    }
    room->log_sum = room->active > 0 ? sum_logarithms(room) : 0.0;
}

PL_INLINE void scatter_body(const pl_topic_rule *rule, const pl_topic_document *document, pl_topic_room *room,
                            float *stats) {
    uint64_t padded = room->padded, active = room->active;
    for (uint64_t a = 0; a < active; a++)
        for (uint64_t w = 0; w < padded; w += 16) {
            floats *at = (floats *)(room->packed + a * padded + w);
            *at = *at * room->e[a] * *(floats *)(room->r + w);
        }
    for (uint64_t w = 0; w < document->words; w++) {
        float *row = stats + (uint64_t)document->word[w] * rule->stride;
        for (uint64_t a = 0; a < active; a++)
            row[room->topic[a]] += room->packed[a * padded + w];
    }
}

/* Double precision */

typedef double eight __attribute__((vector_size(64), aligned(8), may_alias));

PL_INLINE double pass_body(const double *rows, const double *count, uint64_t words, uint64_t stride, const double *e,
                           bool take_log, double *sums) {
    double logs = 0;
    memset(sums, 0, stride * sizeof *sums);
    for (uint64_t w = 0; w < words; w++, rows += stride) {
        eight dot = {0};
        for (uint64_t k = 0; k < stride; k += 8)
            dot += *(const eight *)(e + k) * *(const eight *)(rows + k);
        double s = ((dot[0] + dot[4]) + (dot[1] + dot[5])) + ((dot[2] + dot[6]) + (dot[3] + dot[7]));
        s = s > DBL_MIN ? s : DBL_MIN;
        double r = count[w] / s;
        for (uint64_t k = 0; k < stride; k += 8)
            *(eight *)(sums + k) += r * *(const eight *)(rows + k);
        logs += take_log ? count[w] * log(s) : 0.0;
    }
    return logs;
}

PL_AVX512 static double pass_avx512(const double *rows, const double *count, uint64_t words, uint64_t stride,
                                    const double *e, bool log, double *sums) {
    return pass_body(rows, count, words, stride, e, log, sums);
}

PL_AVX2 static double pass_avx2(const double *rows, const double *count, uint64_t words, uint64_t stride,
                                const double *e, bool log, double *sums) {
    return pass_body(rows, count, words, stride, e, log, sums);
}

double pl_topic_pass(const double *rows, const double *count, uint64_t words, uint64_t stride, const double *e,
                     bool log, double *sums) {
    if (PL_HAS_AVX512)
        return pass_avx512(rows, count, words, stride, e, log, sums);
    return PL_HAS_AVX2 ? pass_avx2(rows, count, words, stride, e, log, sums)
                       : pass_body(rows, count, words, stride, e, log, sums);
}

PL_INLINE void merge_body(const float *stat, uint64_t count, double factor, bool store, double *to, double *totals) {
    uint64_t k = 0;
    for (; k + 16 <= count; k += 16) {
        doubles x = __builtin_convertvector(*(const floats *)(stat + k), doubles);
        doubles *at = (doubles *)(to + k);
        *(doubles *)(totals + k) += x;
        *at = store ? x * factor : *at + x * factor;
    }
    for (; k < count; k++) {
        totals[k] += (double)stat[k];
        to[k] = (store ? 0.0 : to[k]) + (double)stat[k] * factor;
    }
}

PL_INLINE void add_body(const float *more, uint64_t count, float *sum) {
    for (uint64_t k = 0; k < count; k++)
        sum[k] += more[k];
}

PL_VERSIONS(pl_topic_row, row_body,
            (const double *row, uint64_t topics, double scale, double eta, bool psi, const float *factor, float *out),
            (row, topics, scale, eta, psi, factor, out))
PL_VERSIONS(pl_topic_infer, infer_body,
            (const pl_topic_rule *rule, const float *table, const pl_topic_document *document, pl_topic_room *room),
            (rule, table, document, room))
PL_VERSIONS(pl_topic_scatter, scatter_body,
            (const pl_topic_rule *rule, const pl_topic_document *document, pl_topic_room *room, float *stats),
            (rule, document, room, stats))

PL_VERSIONS(pl_topic_merge, merge_body,
            (const float *stat, uint64_t count, double factor, bool store, double *to, double *totals),
            (stat, count, factor, store, to, totals))
PL_VERSIONS(pl_topic_add, add_body, (const float *more, uint64_t count, float *sum), (more, count, sum))

parley_status pl_topic_room_open(pl_topic_room *room, uint64_t topics, uint64_t most_words, parley_error *error) {
    uint64_t stride = pl_topic_stride(topics), padded = (most_words + 15) / 16 * 16;
    *room = (pl_topic_room){0};
    parley_status status = pl_take(&room->gamma, 3 * stride, sizeof *room->gamma, "the topics of a document", error);
    if (status == PARLEY_OK)
        status = pl_take(&room->topic, stride, sizeof *room->topic, "the topics of a document", error);
    if (status == PARLEY_OK)
        status = pl_take(&room->r, 3 * padded, sizeof *room->r, "the topics of a document", error);
    if (status != PARLEY_OK)
        return status;
    room->e = room->gamma + stride;
    room->sums = room->e + stride;
    room->c = room->r + padded;
    room->s = room->c + padded;
    if (!pl_span_reserve(&room->span, (stride * padded + 16) * sizeof(float)))
        return pl_fail_memory(error, "the topics of a document", stride * padded * sizeof(float));
    room->packed = room->span.data;
    return PARLEY_OK;
}

void pl_topic_room_close(pl_topic_room *room) {
    pl_free(room->gamma);
    pl_free(room->topic);
    pl_free(room->r);
    pl_span_free(&room->span);
    *room = (pl_topic_room){0};
}

/* Special functions in double precision: recurrence up to 10, then asymptotic series. */

#define FAR 10.0

double pl_psi(double x) {
    double below = 0;
    for (; x < FAR; x++)
        below += 1.0 / x;
    double y = 1.0 / (x * x);
    return log(x) - 0.5 / x - y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y * (1.0 / 132))))) -
           below;
}

double pl_psi_slope(double x) {
    double below = 0;
    for (; x < FAR; x++)
        below += 1.0 / (x * x);
    double y = 1.0 / (x * x);
    return below + 1.0 / x + 0.5 * y +
           y / x * (1.0 / 6 - y * (1.0 / 30 - y * (1.0 / 42 - y * (1.0 / 30 - y * 5.0 / 66))));
}
