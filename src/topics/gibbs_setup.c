/* gibbs_setup.c: memory of the sampler: the tokens of each lane in the order of words, and the counts of documents. */
#include <math.h>
#include <string.h>

#include "topics/gibbs.h"

#define MOST_DENSE 256 /* topics */
#define MOST_COUNT 65535

uint64_t pl_gibbs_bytes(const pl_setup *setup) {
    const pl_lda *lda = pl_lda_of(setup->problem);
    double tokens = lda->tokens * setup->team->hosted / setup->team->workers;
    uint64_t hosted = setup->team->hosted, lanes = setup->team->lanes;
    double documents = lda->topics <= MOST_DENSE ? lda->documents * (double)pl_topic_stride(lda->topics) * 2
                                                 : tokens * 8 + lda->documents * PL_TOPIC_BLOCK * 8;
    return (uint64_t)(tokens * 8 + documents) + hosted * lanes * lda->words * 8 +
           (setup->owns_v ? 0 : 2 * hosted * lda->base.size * sizeof(double)) +
           lda->words * lda->topics * sizeof(float);
}

void pl_gibbs_close(pl_local *local) {
    pl_gibbs *self = (pl_gibbs *)local;
    for (unsigned k = 0; self->worker && k < self->team->hosted; k++) {
        pl_span_free(&self->worker[k].copy);
        pl_span_free(&self->worker[k].topics);
        pl_span_free(&self->worker[k].change);
        pl_span_free(&self->worker[k].rows);
        pl_free(self->worker[k].bounds);
        pl_free(self->worker[k].before);
        pl_free(self->worker[k].reads);
    }
    for (unsigned i = 0; self->lane && i < self->team->hosted * self->team->lanes; i++) {
        pl_gibbs_lane *lane = &self->lane[i];
        void *owned[] = {lane->first,         lane->document,       lane->length,
                         lane->sampler.alpha, lane->sampler.total,  lane->sampler.counts,
                         lane->sampler.first, lane->sampler.length, lane->sampler.norm};
        pl_span_free(&lane->lists);
        for (unsigned j = 0; j < sizeof owned / sizeof *owned; j++)
            pl_free(owned[j]);
    }
    pl_free(self->worker);
    pl_free(self->lane);
    pl_free(self->sum);
    pl_free(self->score.sums);
    pl_free(self);
}

static uint64_t count_at(const pl_matrix *x, uint64_t e) { return (uint64_t)pl_value_at(x->values, e); }

/* Puts the tokens of a lane in the order of words. */
static parley_status take_tokens(pl_gibbs *self, unsigned task, parley_error *error) {
    pl_gibbs_lane *lane = &self->lane[task];
    const pl_part *part = &self->team->parts[task];
    const pl_matrix *x = &self->lda->base.data->x;
    uint64_t words = self->lda->words, document = 0;
    lane->documents = part->rows;
    parley_status status = pl_take(&lane->first, words + 2, sizeof *lane->first, "tokens", error);
    if (status == PARLEY_OK)
        status = pl_take(&lane->length, part->rows, sizeof *lane->length, "tokens", error);
    if (status != PARLEY_OK)
        return status;
    for (uint64_t r = 0; r < part->count; r++)
        for (uint64_t i = part->ranges[r].begin; i < part->ranges[r].end; i++, document++)
            for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++) {
                lane->first[x->index[e] + 2] += count_at(x, e);
                lane->length[document] += (uint32_t)count_at(x, e);
            }
    for (uint64_t w = 2; w < words + 2; w++)
        lane->first[w] += lane->first[w - 1];
    lane->tokens = lane->first[words + 1];
    status = pl_take(&lane->document, lane->tokens, sizeof *lane->document, "tokens", error);
    document = 0;
    for (uint64_t r = 0; r < part->count && status == PARLEY_OK; r++)
        for (uint64_t i = part->ranges[r].begin; i < part->ranges[r].end; i++, document++)
            for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
                for (uint64_t n = count_at(x, e); n > 0; n--)
                    lane->document[lane->first[x->index[e] + 1]++] = (uint32_t)document;
    return status; /* now first[w] is the first token of word w */
}

static bool is_dense(const pl_gibbs *self, const parley_settings *settings) {
    bool fits = true;
    for (unsigned task = 0; task < self->team->hosted * self->team->lanes; task++)
        for (uint64_t d = 0; d < self->lane[task].documents; d++)
            fits = fits && self->lane[task].length[d] <= MOST_COUNT;
    return fits && pl_topic_settings_of(settings)->sampler != PL_SPARSE &&
           (pl_topic_settings_of(settings)->sampler == PL_DENSE || self->lda->topics <= MOST_DENSE);
}

/* Lists of the topics that documents have. */
static parley_status open_lists(pl_gibbs *self, pl_gibbs_lane *lane, parley_error *error) {
    pl_topic_sampler *sampler = &lane->sampler;
    uint64_t topics = self->lda->topics, room = 0;
    const char *what = "the topics of documents";
    parley_status status = pl_take(&sampler->first, lane->documents + 1, sizeof *sampler->first, what, error);
    if (status == PARLEY_OK)
        status = pl_take(&sampler->length, lane->documents, sizeof *sampler->length, what, error);
    if (status != PARLEY_OK)
        return status;
    for (uint64_t d = 0; d < lane->documents; d++) {
        sampler->first[d] = room;
        room += pl_topic_list_size(lane->length[d] < topics ? lane->length[d] : topics);
    }
    if (!pl_span_reserve(&lane->lists, (room + 1) * sizeof *sampler->list)) /* a span: blocks are whole cache lines */
        return pl_fail_memory(error, what, room * sizeof *sampler->list);
    sampler->list = lane->lists.data;
    return status;
}

static parley_status open_sampler(pl_gibbs *self, pl_gibbs_lane *lane, parley_error *error) {
    pl_topic_sampler *sampler = &lane->sampler;
    uint64_t topics = self->lda->topics, stride = pl_topic_stride(topics);
    uint64_t parts = (stride / 16 + 15) / 16 * 16, running = stride + 16 > parts ? stride + 16 : parts;
    const char *what = "the topics of documents";
    sampler->topics = topics;
    sampler->stride = stride;
    parley_status status =
        pl_take(&sampler->alpha, 3 * stride + 16 + parts + running, sizeof *sampler->alpha, what, error);
    if (status == PARLEY_OK)
        status = pl_take(&sampler->total, topics, sizeof *sampler->total, what, error);
    if (status == PARLEY_OK)
        status = pl_take(&sampler->norm, lane->documents, sizeof *sampler->norm, what, error);
    if (status != PARLEY_OK)
        return status;
    sampler->inverse = sampler->alpha + stride;
    sampler->q = sampler->inverse + stride;
    sampler->part = sampler->q + stride + 16;
    sampler->running = sampler->part + parts;
    return self->dense
               ? pl_take(&sampler->counts, lane->documents * stride + stride, sizeof *sampler->counts, what, error)
               : open_lists(self, lane, error);
}

/* Divides the words of a worker into ranges of about equally many tokens. */
static parley_status open_worker(pl_gibbs *self, unsigned k, parley_error *error) {
    pl_gibbs_worker *worker = &self->worker[k];
    unsigned lanes = self->team->lanes;
    pl_gibbs_lane *lane = &self->lane[k * lanes];
    uint64_t ranges = self->pieces * lanes, seen = 0, range = 1;
    parley_status status = pl_take(&worker->bounds, ranges + 1, sizeof *worker->bounds, "tokens", error);
    if (status == PARLEY_OK)
        status = pl_take(&worker->before, self->lda->topics, sizeof *worker->before, "tokens", error);
    if (status != PARLEY_OK)
        return status;
    for (unsigned l = 0; l < lanes; l++)
        worker->tokens += lane[l].tokens;
    for (uint64_t w = 0; w < self->lda->words; w++) {
        for (unsigned l = 0; l < lanes; l++)
            seen += lane[l].first[w + 1] - lane[l].first[w];
        while (range < ranges && seen * ranges >= worker->tokens * range)
            worker->bounds[range++] = w + 1;
    }
    for (; range <= ranges; range++)
        worker->bounds[range] = self->lda->words;
    if (!pl_span_reserve(&worker->topics, (worker->tokens + 1) * sizeof(uint32_t)))
        return pl_fail_memory(error, "tokens", worker->tokens * sizeof(uint32_t));
    uint32_t *topic = worker->topics.data;
    for (unsigned l = 0; l < lanes; topic += lane[l++].tokens)
        lane[l].topic = topic;
    return status;
}

static parley_status open_all(pl_gibbs *self, const parley_settings *settings, parley_error *error) {
    unsigned hosted = self->team->hosted, tasks = hosted * self->team->lanes;
    parley_status status = pl_take(&self->worker, hosted, sizeof *self->worker, "gibbs", error);
    if (status == PARLEY_OK)
        status = pl_take(&self->lane, tasks, sizeof *self->lane, "gibbs", error);
    if (status == PARLEY_OK)
        status = pl_take(&self->score.sums, 2 * (uint64_t)hosted, sizeof *self->score.sums, "gibbs", error);
    for (unsigned task = 0; task < tasks && status == PARLEY_OK; task++)
        status = take_tokens(self, task, error);
    for (unsigned k = 0; k < hosted && status == PARLEY_OK; k++)
        status = open_worker(self, k, error);
    if (status == PARLEY_OK)
        self->dense = is_dense(self, settings);
    for (unsigned task = 0; task < tasks && status == PARLEY_OK; task++)
        status = open_sampler(self, &self->lane[task], error);
    if (status == PARLEY_OK && isfinite(self->burn_in))
        status = pl_take(&self->sum, self->lda->words * self->lda->topics, sizeof *self->sum, "samples", error);
    return status;
}

void pl_gibbs_count(pl_gibbs *self, unsigned task) {
    pl_gibbs_lane *lane = &self->lane[task];
    if (self->dense)
        memset(lane->sampler.counts, 0, lane->documents * lane->sampler.stride * sizeof *lane->sampler.counts);
    for (uint64_t d = 0; d < lane->documents && !self->dense; d++)
        pl_topic_clear(&lane->sampler, (uint32_t)d);
    for (uint64_t t = 0; t < lane->tokens; t++)
        pl_topic_count(&lane->sampler, lane->document[t], lane->topic[t]);
}

bool pl_gibbs_has(const pl_gibbs *self, unsigned worker, uint64_t word) {
    const pl_gibbs_lane *lane = &self->lane[worker * self->team->lanes];
    for (unsigned l = 0; l < self->team->lanes; l++)
        if (lane[l].first[word + 1] > lane[l].first[word])
            return true;
    return false;
}

parley_status pl_gibbs_list(pl_gibbs *self, unsigned k, parley_error *error) {
    const pl_lda *lda = self->lda;
    pl_gibbs_worker *worker = &self->worker[k];
    uint64_t rows = 0;
    for (uint64_t w = 0; w < lda->words; w++)
        rows += pl_gibbs_has(self, k, w);
    worker->count = lda->base.size;
    if (worker->reads || 2 * rows > lda->words)
        return PARLEY_OK;
    parley_status status = pl_take(&worker->reads, (rows + PL_LDA_ROWS) * lda->topics, sizeof *worker->reads,
                                   "a list of the words of a worker", error);
    if (status != PARLEY_OK)
        return status;
    worker->count = 0;
    for (uint64_t w = 0; w < lda->words + PL_LDA_ROWS; w++)
        for (uint64_t t = 0; t < lda->topics && (w >= lda->words || pl_gibbs_has(self, k, w)); t++)
            worker->reads[worker->count++] = (uint32_t)(w * lda->topics + t);
    return status;
}

parley_status pl_gibbs_open(const pl_setup *setup, pl_local **out, parley_error *error) {
    const parley_settings *settings = setup->settings;
    const pl_lda *lda = pl_lda_of(setup->problem);
    double epochs = settings->local_epochs;
    pl_gibbs *self;
    if (lda->base.data->weight)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "local solver gibbs draws whole tokens, so documents cannot have weights");
    for (uint64_t e = 0; e < lda->base.data->x.nonzeros && !pl_are_ones(lda->base.data->x.values); e++)
        if (pl_value_at(lda->base.data->x.values, e) != floor(pl_value_at(lda->base.data->x.values, e)))
            return pl_fail(error, PARLEY_BAD_INPUT, "local solver gibbs draws whole tokens, so counts must be whole");
    parley_status status = pl_take(&self, 1, sizeof *self, "gibbs", error);
    if (status != PARLEY_OK)
        return status;
    *self =
        (pl_gibbs){.base = {&pl_local_gibbs},
                   .lda = lda,
                   .team = setup->team,
                   .owns_v = setup->owns_v,
                   .burn_in = pl_topic_settings_of(settings)->burn_in ? (double)pl_topic_settings_of(settings)->burn_in
                              : settings->passes                      ? floor((double)settings->passes / 2)
                                                                      : INFINITY,
                   .pieces = epochs < 1 ? (uint64_t)(1.0 / epochs + 0.5) : 1,
                   .passes = epochs < 1 ? 1 : (uint64_t)(epochs + 0.5),
                   .score.latest = lda->entropy};
    status = open_all(self, settings, error);
    if (status != PARLEY_OK)
        pl_gibbs_close(&self->base);
    else
        *out = &self->base;
    return status;
}
