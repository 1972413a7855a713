/* lda_infer.c: the topics of documents in double precision, their bound, and the split for document completion. */
#include <math.h>
#include <string.h>

#include "topics/lda.h"
#include "topics/topic_kernel.h"

#define MOST_STEPS 1000
#define LEAST_GAMMA 1e-12

bool pl_lda_room_open(pl_lda_room *room, const pl_lda_model *model, uint64_t words) {
    uint64_t stride = (model->topics + 7) / 8 * 8;
    *room = (pl_lda_room){.stride = stride, .words = words};
    room->gamma = pl_alloc(3 * stride, sizeof *room->gamma);
    room->rows = pl_alloc(words * stride + 8, sizeof *room->rows);
    room->count[0] = pl_alloc(2 * words + 2, sizeof **room->count);
    room->word[0] = pl_alloc(2 * words + 2, sizeof **room->word);
    if (!room->gamma || !room->rows || !room->count[0] || !room->word[0]) {
        pl_lda_room_close(room);
        return false;
    }
    room->e = room->gamma + stride;
    room->sums = room->e + stride;
    room->count[1] = room->count[0] + words;
    room->word[1] = room->word[0] + words;
    return true;
}

void pl_lda_room_close(pl_lda_room *room) {
    pl_free(room->gamma);
    pl_free(room->rows);
    pl_free(room->count[0]);
    pl_free(room->word[0]);
    *room = (pl_lda_room){0};
}

pl_lda_document pl_lda_whole(const pl_matrix *x, uint64_t row, uint64_t words, pl_lda_room *room) {
    pl_lda_document document = {room->word[0], room->count[0], 0, 0};
    for (uint64_t e = x->start[row]; e < x->start[row + 1] && x->index[e] < words; e++) {
        room->word[0][document.words] = x->index[e];
        room->count[0][document.words++] = pl_value_at(x->values, e);
        document.tokens += pl_value_at(x->values, e);
    }
    return document;
}

static uint64_t mix(uint64_t x) { /* splitmix64 */
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

void pl_lda_split(const pl_matrix *x, uint64_t row, uint64_t words, pl_lda_room *room, pl_lda_document halves[2]) {
    uint64_t begin = x->start[row], end = x->start[row + 1], key = end - begin;
    for (unsigned h = 0; h < 2; h++)
        halves[h] = (pl_lda_document){room->word[h], room->count[h], 0, 0};
    for (uint64_t e = begin; e < end && x->index[e] < words; e++)
        key = mix(key ^ x->index[e]);
    for (uint64_t e = begin; e < end && x->index[e] < words; e++) {
        uint64_t count = (uint64_t)pl_value_at(x->values, e);
        double part[2] = {0};
        for (uint64_t i = 0; i < count; i++)
            part[mix(key ^ mix((uint64_t)x->index[e] << 32 | i)) >> 63]++;
        for (unsigned h = 0; h < 2; h++)
            if (part[h] > 0) {
                room->word[h][halves[h].words] = x->index[e];
                room->count[h][halves[h].words++] = part[h];
                halves[h].tokens += part[h];
            }
    }
}

/* Copies the rows of the document's words. */
static void take_rows(const pl_lda_model *model, const pl_lda_document *document, bool variational, pl_lda_room *room) {
    uint64_t topics = model->topics, stride = room->stride;
    const float *beta = atomic_load(&model->beta);
    const double *expected = atomic_load(&model->expected);
    for (uint64_t w = 0; w < document->words; w++) {
        double *to = room->rows + w * stride;
        uint64_t from = document->word[w] * topics;
        for (uint64_t k = 0; k < topics; k++)
            to[k] = variational ? expected[from + k] : (double)beta[from + k];
        for (uint64_t k = topics; k < stride; k++)
            to[k] = 0;
    }
}

static void expect(const pl_lda_model *model, bool variational, pl_lda_room *room) {
    for (uint64_t k = 0; k < model->topics; k++)
        room->e[k] = variational ? exp(pl_psi(fmax(room->gamma[k], LEAST_GAMMA))) : room->gamma[k];
}

double pl_lda_infer(const pl_lda_model *model, const pl_lda_document *document, bool variational, double tolerance,
                    pl_lda_room *room) {
    uint64_t topics = model->topics;
    double change = INFINITY, limit = tolerance * document->tokens;
    memset(room->gamma, 0, 3 * room->stride * sizeof *room->gamma);
    for (uint64_t k = 0; k < topics; k++)
        room->gamma[k] = model->alpha[k] + document->tokens / (double)topics;
    take_rows(model, document, variational, room);
    expect(model, variational, room);
    for (unsigned step = 0; step < MOST_STEPS && change > limit; step++) {
        pl_topic_pass(room->rows, document->count, document->words, room->stride, room->e, false, room->sums);
        change = 0;
        for (uint64_t k = 0; k < topics; k++) {
            double next = model->alpha[k] + room->e[k] * room->sums[k];
            change += fabs(next - room->gamma[k]);
            room->gamma[k] = next;
        }
        expect(model, variational, room);
    }
    return pl_topic_pass(room->rows, document->count, document->words, room->stride, room->e, true, room->sums);
}

double pl_lda_document_bound(const pl_lda_model *model, double log_sum, const pl_lda_room *room) {
    double sum = 0, bound = log_sum;
    for (uint64_t k = 0; k < model->topics; k++)
        sum += room->gamma[k];
    double psi_sum = pl_psi(sum), tokens = sum - model->alpha_sum;
    for (uint64_t k = 0; k < model->topics; k++) {
        double gamma = room->gamma[k], alpha = model->alpha[k];
        if (gamma != alpha)
            bound += (alpha - gamma) * (pl_psi(gamma) - psi_sum) + lgamma(gamma) - lgamma(alpha);
    }
    return bound - tokens * psi_sum + lgamma(model->alpha_sum) - lgamma(sum);
}

double pl_lda_predict(const pl_lda_model *model, const pl_lda_document *document, const pl_lda_room *room) {
    const float *beta = atomic_load(&model->beta);
    double sum = 0, logs = 0;
    for (uint64_t k = 0; k < model->topics; k++)
        sum += room->gamma[k];
    for (uint64_t w = 0; w < document->words; w++) {
        double p = 0;
        for (uint64_t k = 0; k < model->topics; k++)
            p += room->gamma[k] * (double)beta[document->word[w] * model->topics + k];
        logs += document->count[w] * log(p / sum);
    }
    return logs;
}

double pl_lda_topics_bound(const pl_lda_model *model) {
    double eta = model->eta, bound = 0, words = (double)model->words;
    for (uint64_t k = 0; k < model->topics; k++) {
        double sum = 0, psi_total = pl_psi(model->total[k]);
        for (uint64_t w = 0; w < model->words; w++) {
            double x = (double)model->lambda[k * model->words + w];
            if (fabs(x - eta) > 1e-7 * eta)
                sum += (eta - x) * (pl_psi(x) - psi_total) + lgamma(x) - lgamma(eta);
        }
        bound += sum + lgamma(words * eta) - lgamma(model->total[k]);
    }
    return bound;
}
