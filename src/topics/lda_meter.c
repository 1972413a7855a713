/* lda_meter.c: how good topics are on documents:
 *
 *   completion  exp(-sum ln p(word) / words), of the words in one half of each document, whose proportions of topics
 * are found from the other half; for documents of at least PL_COMPLETION_TOKENS words bound       the variational bound
 * per word, of documents and topics, as in gensim's log_perplexity npmi        mean normalised pointwise mutual
 * information of pairs of a topic's top words, by documents umass       mean ln((documents with both + 1) / documents
 * with the more probable word) of such pairs */
#include <math.h>
#include <string.h>

#include "topics/lda.h"

#define FOLD_IN 1e-4 /* tolerance of proportions, as a share of the words */
#define BOUND 1e-6
#define TOP 10 /* words of a topic whose coherence is measured */
#define PAIRS (TOP * (TOP - 1) / 2)

enum { HELD_LOG, HELD_TOKENS, BOUND_LOG, BOUND_TOKENS, WIDTH };

typedef struct lda_meter {
    pl_meter base;
    const pl_model_metric *only;
    double sums[WIDTH];
    bool lost; /* memory ran out */
    /* coherence: the top words of each topic, and where each word is among them */
    uint32_t *top;   /* topics x TOP */
    uint32_t *first; /* by word: where its list of places begins; words + 1 */
    uint32_t *place; /* topic x TOP + rank */
    uint16_t *seen;  /* by topic: which of its top words the document has */
    uint32_t *touched;
    double *with; /* topics x TOP: documents with the word */
    double *both; /* topics x PAIRS */
} lda_meter;

static bool needs(const lda_meter *meter, const char *name) {
    return !meter->only || strcmp(meter->only->name, name) == 0;
}

static bool is_coherence(const lda_meter *meter) { return needs(meter, "npmi") || needs(meter, "umass"); }

static void close_meter(pl_meter *base) {
    lda_meter *meter = (lda_meter *)base;
    if (!meter)
        return;
    void *owned[] = {meter->top, meter->first, meter->place, meter->seen, meter->touched, meter->with, meter->both};
    for (unsigned i = 0; i < sizeof owned / sizeof *owned; i++)
        pl_free(owned[i]);
    pl_free(meter);
}

/* The words with the largest parameters, best first. */
static void find_top(const pl_lda_model *model, uint64_t topic, uint32_t *top) {
    const float *lambda = model->lambda + topic * model->words;
    unsigned found = 0;
    for (uint64_t w = 0; w < model->words; w++) {
        if (found == TOP && lambda[w] <= lambda[top[TOP - 1]])
            continue;
        unsigned at = found < TOP ? found++ : TOP - 1;
        for (; at > 0 && lambda[top[at - 1]] < lambda[w]; at--)
            top[at] = top[at - 1];
        top[at] = (uint32_t)w;
    }
    for (; found < TOP; found++)
        top[found] = UINT32_MAX; /* there are fewer words */
}

static parley_status open_coherence(lda_meter *meter, const pl_lda_model *model, parley_error *error) {
    uint64_t topics = model->topics, places = topics * TOP;
    parley_status status = pl_take(&meter->top, places, sizeof *meter->top, "coherence", error);
    if (status == PARLEY_OK)
        status = pl_take(&meter->first, model->words + 2, sizeof *meter->first, "coherence", error);
    if (status == PARLEY_OK)
        status = pl_take(&meter->place, places, sizeof *meter->place, "coherence", error);
    if (status == PARLEY_OK)
        status = pl_take(&meter->seen, topics, sizeof *meter->seen, "coherence", error);
    if (status == PARLEY_OK)
        status = pl_take(&meter->touched, topics, sizeof *meter->touched, "coherence", error);
    if (status == PARLEY_OK)
        status = pl_take(&meter->with, places, sizeof *meter->with, "coherence", error);
    if (status == PARLEY_OK)
        status = pl_take(&meter->both, topics * PAIRS, sizeof *meter->both, "coherence", error);
    if (status != PARLEY_OK)
        return status;
    for (uint64_t k = 0; k < topics; k++)
        find_top(model, k, meter->top + k * TOP);
    for (uint64_t p = 0; p < places; p++)
        if (meter->top[p] != UINT32_MAX)
            meter->first[meter->top[p] + 2]++;
    for (uint64_t w = 2; w < model->words + 2; w++)
        meter->first[w] += meter->first[w - 1];
    for (uint64_t p = 0; p < places; p++)
        if (meter->top[p] != UINT32_MAX)
            meter->place[meter->first[meter->top[p] + 1]++] = (uint32_t)p;
    return status;
}

static parley_status open_meter(const parley_model *model, const pl_model_metric *only, pl_meter **out,
                                parley_error *error) {
    lda_meter *meter;
    *out = NULL;
    parley_status status = pl_take(&meter, 1, sizeof *meter, "the metrics", error);
    if (status != PARLEY_OK)
        return status;
    meter->base.model = model;
    meter->only = only;
    if (is_coherence(meter))
        status = open_coherence(meter, pl_lda_model_of(model), error);
    if (status != PARLEY_OK)
        close_meter(&meter->base);
    else
        *out = &meter->base;
    return status;
}

/* The words of a document's second half, given its first half. */
static void complete(pl_lda_model *model, const pl_matrix *x, uint64_t row, pl_lda_room *room, double *values) {
    pl_lda_document halves[2];
    pl_lda_split(x, row, model->words, room, halves);
    if (halves[0].tokens + halves[1].tokens < PL_COMPLETION_TOKENS)
        return;
    pl_lda_infer(model, &halves[0], false, FOLD_IN, room);
    values[HELD_LOG] = pl_lda_predict(model, &halves[1], room);
    values[HELD_TOKENS] = halves[1].tokens;
}

static void bind(pl_lda_model *model, const pl_matrix *x, uint64_t row, pl_lda_room *room, double *values) {
    pl_lda_document document = pl_lda_whole(x, row, model->words, room);
    double log_sum = pl_lda_infer(model, &document, true, BOUND, room);
    values[BOUND_LOG] = pl_lda_document_bound(model, log_sum, room);
    values[BOUND_TOKENS] = document.tokens;
}

static void apply(const pl_meter *base, const pl_matrix *x, uint64_t begin, uint64_t end, double *values) {
    const lda_meter *meter = (const lda_meter *)base;
    pl_lda_model *model = pl_lda_model_of(base->model);
    bool completes = needs(meter, "completion"), binds = needs(meter, "bound");
    uint64_t most = 0;
    for (uint64_t i = begin; i < end; i++)
        most = x->start[i + 1] - x->start[i] > most ? x->start[i + 1] - x->start[i] : most;
    pl_lda_room room;
    bool ready = (!completes || pl_lda_model_ready(model, false)) && (!binds || pl_lda_model_ready(model, true)) &&
                 pl_lda_room_open(&room, model, most);
    for (uint64_t row = begin; row < end; row++, values += WIDTH) {
        memset(values, 0, WIDTH * sizeof *values);
        if (!ready)
            values[0] = NAN; /* out of memory */
        if (ready && completes)
            complete(model, x, row, &room, values);
        if (ready && binds)
            bind(model, x, row, &room, values);
    }
    if (ready)
        pl_lda_room_close(&room);
}

/* Counts the documents that have the top words of topics, and pairs of them. */
static void count_words(lda_meter *meter, const pl_matrix *x, uint64_t row, uint64_t words) {
    uint64_t topics = 0;
    for (uint64_t e = x->start[row]; e < x->start[row + 1] && x->index[e] < words; e++)
        for (uint32_t p = meter->first[x->index[e]]; p < meter->first[x->index[e] + 1]; p++) {
            uint32_t topic = meter->place[p] / TOP;
            if (!meter->seen[topic])
                meter->touched[topics++] = topic;
            meter->seen[topic] = (uint16_t)(meter->seen[topic] | 1u << meter->place[p] % TOP);
        }
    for (uint64_t t = 0; t < topics; t++) {
        uint32_t topic = meter->touched[t];
        double *both = meter->both + (uint64_t)topic * PAIRS;
        for (unsigned i = 0; i < TOP; i++) {
            bool there = meter->seen[topic] >> i & 1;
            meter->with[topic * TOP + i] += there;
            for (unsigned j = 0; j < i; j++)
                *both++ += there && (meter->seen[topic] >> j & 1);
        }
        meter->seen[topic] = 0;
    }
}

static parley_status add(pl_meter *base, const parley_data *batch, const double *values, parley_error *error) {
    lda_meter *meter = (lda_meter *)base;
    for (uint64_t i = 0; i < batch->x.rows; i++, base->rows++) {
        if (isnan(values[i * WIDTH]))
            return pl_fail_memory(error, "the topics of documents", 0);
        for (unsigned j = 0; j < WIDTH; j++)
            meter->sums[j] += values[i * WIDTH + j];
        if (meter->top)
            count_words(meter, &batch->x, i, base->model->columns);
    }
    return PARLEY_OK;
}

static double completion(pl_meter *base) {
    const double *sums = ((lda_meter *)base)->sums;
    return sums[HELD_TOKENS] > 0 ? exp(-sums[HELD_LOG] / sums[HELD_TOKENS]) : NAN;
}

static double bound(pl_meter *base) {
    const double *sums = ((lda_meter *)base)->sums;
    return sums[BOUND_TOKENS] > 0
               ? (sums[BOUND_LOG] + pl_lda_topics_bound(pl_lda_model_of(base->model))) / sums[BOUND_TOKENS]
               : NAN;
}

static double npmi_of(double documents, double a, double b, double both) {
    if (both == 0)
        return -1;
    return both == documents ? 1 : log(both * documents / (a * b)) / -log(both / documents);
}

/* The mean over pairs of words that documents have, then over topics. */
static double coherence(const pl_meter *base, bool npmi) {
    const lda_meter *meter = (const lda_meter *)base;
    double all = 0, topics = 0, documents = (double)base->rows;
    for (uint64_t k = 0; k < base->model->outputs && meter->top; k++) {
        const double *with = meter->with + k * TOP, *both = meter->both + k * PAIRS;
        double sum = 0, pairs = 0;
        for (unsigned i = 0; i < TOP; i++)
            for (unsigned j = 0; j < i; j++, both++) {
                if (with[i] == 0 || with[j] == 0)
                    continue;
                sum += npmi ? npmi_of(documents, with[i], with[j], *both) : log((*both + 1) / with[j]);
                pairs++;
            }
        if (pairs > 0) {
            all += sum / pairs;
            topics++;
        }
    }
    return topics > 0 ? all / topics : NAN;
}

static double npmi(pl_meter *meter) { return coherence(meter, true); }
static double umass(pl_meter *meter) { return coherence(meter, false); }

static void show(pl_meter *base, pl_viewer *viewer) {
    viewer->count(viewer, "documents", base->rows);
    viewer->count(viewer, "tokens", (uint64_t)((lda_meter *)base)->sums[BOUND_TOKENS]);
    viewer->count(viewer, "completion_tokens", (uint64_t)((lda_meter *)base)->sums[HELD_TOKENS]);
    pl_meter_show(base, viewer);
}

static bool always(const parley_model *model) {
    (void)model;
    return true;
}

const pl_model_metric pl_metrics_lda[] = {
    {"completion", NULL, false, always, completion, "topics: perplexity of one half of each document, given the other"},
    {"bound", NULL, true, always, bound, "topics: variational bound per word, as gensim's log_perplexity"},
    {"npmi", NULL, true, always, npmi, "topics: mean normalised mutual information of top words, by documents"},
    {"umass", NULL, true, always, umass, "topics: mean log share of documents with one top word that have another"},
    {0}};

const pl_meter_type pl_meter_lda = {
    .open = open_meter, .apply = apply, .width = WIDTH, .add = add, .show = show, .close = close_meter};
