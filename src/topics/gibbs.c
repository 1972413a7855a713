/* gibbs.c: passes of collapsed sampling. */
#include "topics/gibbs.h"

#include <math.h>
#include <string.h>

#define DRAW_STREAM 0x67696200u
#define AVERAGE_BLOCK ((uint64_t)1 << 16) /* entries of a task */
#define MOST_PIECES 1000                  /* of a pass */
#define LEARN_AFTER 20                    /* passes, before which the counts say little about alpha and eta */

/* Words of one lane in one part of a piece. */
static void draw_task(void *context, unsigned task) {
    pl_gibbs *self = context;
    const pl_lda *lda = self->lda;
    unsigned lanes = self->team->lanes;
    pl_gibbs_lane *lane = &self->lane[task];
    pl_gibbs_worker *worker = &self->worker[task / lanes];
    pl_topic_sampler *sampler = &lane->sampler;
    uint64_t range = worker->piece % self->pieces * lanes + (task % lanes + worker->part) % lanes;
    uint64_t begin = worker->bounds[range], end = worker->bounds[range + 1];
    if (!self->begun) { /* all words, in as many parts as there are lanes */
        begin = worker->bounds[self->pieces * ((task + worker->part) % lanes)];
        end = worker->bounds[self->pieces * ((task + worker->part) % lanes + 1)];
    }
    uint64_t number = worker->piece + (self->begun ? self->pieces : 0);
    sampler->stream = pl_stream_make(lda->seed, DRAW_STREAM + number * lanes + worker->part,
                                     (uint64_t)self->team->first * lanes + task);
    pl_topic_begin(sampler, worker->before);
    for (uint64_t w = begin; w < end && !pl_stop_due(); w++) {
        uint64_t first = lane->first[w], tokens = lane->first[w + 1] - first;
        double *row = (self->begun ? worker->table : self->v) + w * lda->topics;
        if (tokens > 0)
            pl_topic_draw(sampler, row, lane->document + first, lane->topic + first, tokens, !self->begun);
    }
}

/* Prepares the lanes of a worker: alpha, and what documents weigh. */
static void prepare_lanes(pl_gibbs *self, unsigned k) {
    const pl_lda *lda = self->lda;
    const double *alpha = pl_lda_row(lda, self->worker[k].table, PL_LDA_ALPHA);
    double sum = 0;
    for (uint64_t t = 0; t < lda->topics; t++)
        sum += alpha[t];
    for (unsigned l = 0; l < self->team->lanes; l++) {
        pl_gibbs_lane *lane = &self->lane[k * self->team->lanes + l];
        pl_topic_sampler *sampler = &lane->sampler;
        double eta = pl_lda_row(lda, self->worker[k].table, PL_LDA_ETA)[0];
        sampler->eta = (float)eta;
        sampler->words_eta = eta * (double)lda->words;
        sampler->log_sum = 0;
        sampler->product = 1;
        sampler->factors = 0;
        for (uint64_t t = 0; t < lda->topics; t++)
            sampler->alpha[t] = (float)alpha[t];
        for (uint64_t d = 0; d < lane->documents; d++)
            sampler->norm[d] = (float)(1.0 / ((double)lane->length[d] - 1.0 + sum));
    }
}

/* Adds the lanes' changes of the sums over words. */
static void add_totals(pl_gibbs *self, unsigned k) {
    pl_gibbs_worker *worker = &self->worker[k];
    double *totals = pl_lda_row(self->lda, worker->table, PL_LDA_TOTALS);
    for (uint64_t t = 0; t < self->lda->topics; t++) {
        double sum = worker->before[t];
        for (unsigned l = 0; l < self->team->lanes; l++)
            sum += self->lane[k * self->team->lanes + l].sampler.total[t] - worker->before[t];
        totals[t] = sum;
    }
}

static void begin_part(pl_gibbs *self, unsigned k, unsigned part) {
    pl_gibbs_worker *worker = &self->worker[k];
    worker->part = part;
    memcpy(worker->before, pl_lda_row(self->lda, worker->table, PL_LDA_TOTALS),
           self->lda->topics * sizeof *worker->before);
}

/* Adds the likelihood of the tokens that a worker has drawn. */
static void note_piece(pl_gibbs *self, unsigned k) {
    const pl_gibbs_worker *worker = &self->worker[k];
    unsigned lanes = self->team->lanes;
    uint64_t range = worker->piece % self->pieces * lanes, begin = worker->bounds[range],
             end = worker->bounds[range + lanes];
    for (unsigned l = 0; l < lanes; l++) {
        const pl_gibbs_lane *lane = &self->lane[k * lanes + l];
        self->score.sums[2 * k] += lane->sampler.log_sum + log(lane->sampler.product);
        self->score.sums[2 * k + 1] += (double)(lane->first[end] - lane->first[begin]);
    }
}

/* A piece of all hosted workers. */
static void draw_all(pl_gibbs *self) {
    pl_engine *engine = self->team->engine;
    unsigned lanes = self->team->lanes, hosted = self->team->hosted;
    for (unsigned k = 0; k < hosted; k++)
        prepare_lanes(self, k);
    for (unsigned part = 0; part < lanes; part++) {
        for (unsigned k = 0; k < hosted; k++)
            begin_part(self, k, part);
        engine->type->run(engine, draw_task, self, hosted * lanes);
        for (unsigned k = 0; k < hosted && self->begun; k++)
            add_totals(self, k);
    }
    for (unsigned k = 0; k < hosted && self->begun; k++)
        note_piece(self, k);
}

/* Adds the tokens of a lane to the counts of words and to their sums. */
static void count_lane(const pl_gibbs *self, unsigned task, double *table) {
    const pl_lda *lda = self->lda;
    const pl_gibbs_lane *lane = &self->lane[task];
    double *totals = pl_lda_row(lda, table, PL_LDA_TOTALS);
    for (uint64_t w = 0; w < lda->words; w++)
        for (uint64_t t = lane->first[w]; t < lane->first[w + 1]; t++) {
            table[w * lda->topics + lane->topic[t]]++;
            totals[lane->topic[t]]++;
        }
}

/* The counts of a worker's own tokens, in its table. */
static void count_words(pl_gibbs *self, unsigned k) {
    const pl_lda *lda = self->lda;
    double *table = self->worker[k].table;
    memset(table, 0, (lda->words + 1) * lda->topics * sizeof *table);
    for (unsigned l = 0; l < self->team->lanes; l++)
        count_lane(self, k * self->team->lanes + l, table);
}

/* alpha by Minka's fixed point for the counts of the worker's documents. */
static void learn_alpha(pl_gibbs *self, unsigned k, double *alpha) {
    const pl_lda *lda = self->lda;
    double sum = 0, bottom = 0, *top = self->worker[k].before;
    for (uint64_t t = 0; t < lda->topics; t++) {
        sum += alpha[t];
        top[t] = 0;
    }
    for (unsigned l = 0; l < self->team->lanes; l++) {
        const pl_gibbs_lane *lane = &self->lane[k * self->team->lanes + l];
        const pl_topic_sampler *sampler = &lane->sampler;
        for (uint64_t d = 0; d < lane->documents; d++) {
            if (lane->length[d] > 0)
                bottom += pl_psi(lane->length[d] + sum) - pl_psi(sum);
            for (uint64_t t = 0; t < lda->topics && self->dense; t++)
                if (sampler->counts[d * sampler->stride + t])
                    top[t] += pl_psi(sampler->counts[d * sampler->stride + t] + alpha[t]) - pl_psi(alpha[t]);
            for (uint64_t i = 0; !self->dense && i < sampler->length[d]; i++) {
                const uint32_t *at = sampler->list + sampler->first[d] + pl_topic_at(i);
                top[*at] += pl_psi(at[PL_TOPIC_BLOCK] + alpha[*at]) - pl_psi(alpha[*at]);
            }
        }
    }
    for (uint64_t t = 0; t < lda->topics && bottom > 0; t++)
        alpha[t] = fmax(1e-5, alpha[t] * top[t] / bottom);
}

/* The first update of a worker: its counts, which replace v, and its share of what all workers keep. */
static void offer_counts(pl_gibbs *self, unsigned k, pl_update *update) {
    const pl_lda *lda = self->lda;
    double *table = self->worker[k].table, share = self->owns_v ? 1.0 : self->team->weight[k] / lda->base.total;
    *update = (pl_update){.shrink = self->owns_v ? 1.0 : 1.0 - share,
                          .weight = self->team->weight[k],
                          .count = lda->base.size,
                          .value = table};
    for (uint64_t j = (lda->words + PL_LDA_ALPHA) * lda->topics; j < lda->base.size; j++)
        table[j] *= share;
}

static bool learns(const pl_gibbs *self, uint64_t piece) { return piece / self->pieces + 1 > LEARN_AFTER; }

/* Begins the update of a worker: minus the rows of its words in the pieces of a round. */
static bool begin_change(pl_gibbs *self, unsigned k) {
    const pl_lda *lda = self->lda;
    pl_gibbs_worker *worker = &self->worker[k];
    uint64_t range = worker->piece % self->pieces * self->team->lanes, begin = worker->bounds[range],
             end = worker->bounds[range + self->team->lanes], topics = lda->topics, rows = 0, count = 0;
    for (uint64_t w = begin; w < end; w++)
        rows += pl_gibbs_has(self, k, w);
    rows += PL_LDA_ROWS;
    if (!pl_span_reserve(&worker->change, rows * topics * sizeof(double)) ||
        !pl_span_reserve(&worker->rows, rows * sizeof(uint32_t)))
        return false;
    uint32_t *row = worker->rows.data;
    double *change = worker->change.data;
    for (uint64_t w = begin; w < end; w++)
        if (pl_gibbs_has(self, k, w))
            row[count++] = (uint32_t)w;
    for (unsigned i = 0; i < PL_LDA_ROWS; i++)
        row[count++] = (uint32_t)lda->words + i;
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t t = 0; t < topics; t++)
            change[i * topics + t] = -worker->table[row[i] * topics + t];
    worker->changed = rows;
    return true;
}

/* Ends a round of a worker. Its update is the changes of counts, and shares of what all workers change alike. */
static void end_change(pl_gibbs *self, unsigned k, pl_update *update) {
    const pl_lda *lda = self->lda;
    pl_gibbs_worker *worker = &self->worker[k];
    uint64_t topics = lda->topics;
    bool whole = (worker->piece + 1) % self->pieces == 0;
    if (lda->learns_alpha && whole && learns(self, worker->piece))
        learn_alpha(self, k, pl_lda_row(lda, worker->table, PL_LDA_ALPHA));
    pl_lda_row(lda, worker->table, PL_LDA_STEPS)[0] += (double)self->passes / (double)self->pieces;
    *update = (pl_update){.shrink = 1.0,
                          .weight = self->team->weight[k],
                          .count = lda->base.size,
                          .value = worker->table,
                          .passes = (double)self->passes / (double)self->pieces};
    if (self->owns_v)
        return;
    const uint32_t *row = worker->rows.data;
    double *change = worker->change.data, share = self->team->weight[k] / lda->base.total;
    for (uint64_t i = 0; i < worker->changed; i++)
        for (uint64_t t = 0; t < topics; t++) {
            double *at = &change[i * topics + t];
            *at = (*at + worker->table[row[i] * topics + t]) * (row[i] < lda->words + PL_LDA_ALPHA ? 1.0 : share);
        }
    update->count = worker->changed * topics;
    update->row = topics;
    update->index = row;
    update->value = change;
}

static parley_status take_tables(pl_gibbs *self, double *v, parley_error *error) {
    uint64_t bytes = self->lda->base.size * sizeof *v;
    for (unsigned k = 0; k < self->team->hosted; k++) {
        pl_gibbs_worker *worker = &self->worker[k];
        worker->table = v;
        if (self->owns_v)
            continue;
        if (!pl_span_reserve(&worker->copy, bytes))
            return pl_fail_memory(error, "a copy of the topics", bytes);
        worker->table = worker->copy.data;
        memcpy(worker->table, v, bytes);
    }
    return PARLEY_OK;
}

static parley_status fail_change(const pl_gibbs *self, parley_error *error) {
    return pl_fail_memory(error, "changes of the topics", self->lda->base.size * sizeof(double));
}

/* The order of a document's list decides what is drawn, and must not depend on when a run was resumed. */
static void sort_task(void *context, unsigned task) {
    pl_gibbs_lane *lane = &((pl_gibbs *)context)->lane[task];
    for (uint64_t d = 0; d < lane->documents; d++)
        pl_topic_sort(&lane->sampler, (uint32_t)d);
}

static void sort_lists(pl_gibbs *self) {
    pl_engine *engine = self->team->engine;
    if (!self->dense)
        engine->type->run(engine, sort_task, self, self->team->hosted * self->team->lanes);
}

/* The first topics of all tokens. */
static void begin_tokens(pl_gibbs *self, pl_update *update) {
    draw_all(self);
    self->begun = true;
    for (unsigned k = 0; k < self->team->hosted; k++) {
        count_words(self, k);
        offer_counts(self, k, &update[k]);
    }
}

static parley_status draw_round(pl_gibbs *self, pl_update *update, parley_error *error) {
    unsigned hosted = self->team->hosted;
    for (unsigned k = 0; k < hosted && !self->owns_v; k++)
        if (!begin_change(self, k))
            return fail_change(self, error);
    for (uint64_t pass = 0; pass < self->passes && !pl_stop_due(); pass++) {
        sort_lists(self);
        draw_all(self);
        for (unsigned k = 0; k < hosted && pass + 1 < self->passes; k++)
            self->worker[k].piece++;
    }
    for (unsigned k = 0; k < hosted; k++)
        end_change(self, k, &update[k]);
    return PARLEY_OK;
}

/* Pieces that were made before, by the passes that v counts. */
static uint64_t pieces_of(const pl_gibbs *self, double *v) {
    return (uint64_t)(pl_lda_row(self->lda, v, PL_LDA_STEPS)[0] * (double)self->pieces + 0.5);
}

/* The sums over words are whole numbers and stay exact, so that only eta is left to renew. */
static parley_status renew(const pl_gibbs *self, double *v, uint64_t piece, parley_error *error) {
    bool due = self->begun && self->lda->learns_eta && piece % self->pieces == 0 && learns(self, piece);
    return due ? pl_lda_renew(self->lda, self->team->engine, v, true, error) : PARLEY_OK;
}

static parley_status work(pl_local *local, const pl_round *round, double *v, pl_update *update,
                          pl_evaluation *evaluation, parley_error *error) {
    pl_gibbs *self = (pl_gibbs *)local;
    double began = pl_engine_now(self->team->engine);
    uint64_t piece = pieces_of(self, v);
    (void)evaluation, (void)round;
    self->v = v;
    for (unsigned k = 0; k < self->team->hosted; k++)
        self->worker[k].piece = piece;
    parley_status status = renew(self, v, piece, error);
    if (status == PARLEY_OK)
        status = take_tables(self, v, error);
    if (status == PARLEY_OK && self->begun)
        status = draw_round(self, update, error);
    else if (status == PARLEY_OK)
        begin_tokens(self, update);
    for (unsigned k = 0; k < self->team->hosted && status == PARLEY_OK; k++)
        update[k].seconds = pl_engine_now(self->team->engine) - began;
    return status;
}

/* Workers at their own pace: each draws the tokens of its words from its own copy of v. */

static void add_words(const void *context, const pl_part *part, double *sums) {
    const pl_gibbs *self = context;
    count_lane(self, (unsigned)(part - self->team->parts), sums);
}

static parley_status prepare_async(pl_local *local, double *v, parley_error *error) {
    pl_gibbs *self = (pl_gibbs *)local;
    const pl_lda *lda = self->lda;
    parley_status status = PARLEY_OK;
    self->v = v;
    for (unsigned k = 0; k < self->team->hosted && status == PARLEY_OK; k++) {
        self->worker[k].table = v;
        self->worker[k].piece = pieces_of(self, v);
        status = self->listed ? PARLEY_OK : pl_gibbs_list(self, k, error);
    }
    self->listed = true;
    if (status == PARLEY_OK && !self->begun) {
        draw_all(self);
        status = pl_sum_tables(self->team, (lda->words + 1) * lda->topics, add_words, self, v, error);
    }
    self->begun = true;
    sort_lists(self);
    return status == PARLEY_OK ? renew(self, v, pieces_of(self, v), error) : status;
}

static parley_status work_async(pl_local *local, unsigned k, const pl_round *round, double *v, pl_update *update,
                                parley_error *error) {
    pl_gibbs *self = (pl_gibbs *)local;
    pl_gibbs_worker *worker = &self->worker[k];
    unsigned lanes = self->team->lanes;
    double began = pl_engine_now(self->team->engine);
    worker->table = v;
    worker->piece = (round->number - 1) * self->passes;
    if (!begin_change(self, k))
        return fail_change(self, error);
    for (uint64_t pass = 0; pass < self->passes && !pl_stop_due(); pass++, worker->piece++) {
        prepare_lanes(self, k);
        for (unsigned part = 0; part < lanes; part++) {
            begin_part(self, k, part);
            for (unsigned l = 0; l < lanes; l++)
                draw_task(self, k * lanes + l);
            add_totals(self, k);
        }
        note_piece(self, k);
    }
    worker->piece--;
    end_change(self, k, update);
    update->seconds = pl_engine_now(self->team->engine) - began;
    return PARLEY_OK;
}

static const uint32_t *entries_read(const pl_local *local, unsigned k, uint64_t *count) {
    const pl_gibbs_worker *worker = &((const pl_gibbs *)local)->worker[k];
    *count = worker->count;
    return worker->reads;
}

/* Adds a block of words to the sum. */
static void average_task(void *context, unsigned block) {
    const pl_gibbs *self = context;
    uint64_t size = self->lda->words * self->lda->topics, begin = (uint64_t)block * AVERAGE_BLOCK;
    uint64_t end = begin + AVERAGE_BLOCK < size ? begin + AVERAGE_BLOCK : size;
    for (uint64_t j = begin; j < end; j++)
        self->sum[j] += (float)self->sample[j];
}

/* Adds v to the samples after the burn-in, once for each pass. */
static void take_sample(pl_gibbs *self, const double *v) {
    const pl_lda *lda = self->lda;
    pl_engine *engine = self->team->engine;
    uint64_t pass = (uint64_t)(v[(lda->words + PL_LDA_STEPS) * lda->topics] + 1e-6); /* those that are complete */
    if (!((double)pass > self->burn_in) || pass == self->averaged || !self->begun)
        return;
    self->averaged = pass;
    self->sample = v;
    self->samples++;
    engine->type->run(engine, average_task, self,
                      (unsigned)((lda->words * lda->topics + AVERAGE_BLOCK - 1) / AVERAGE_BLOCK));
}

static parley_status evaluate(pl_local *local, const double *v, double *w, pl_update *update, pl_evaluation *evaluation,
                              parley_error *error) {
    pl_gibbs *self = (pl_gibbs *)local;
    (void)update;
    pl_topic_copy(self->lda, v, w);
    take_sample(self, v);
    return pl_topic_evaluate(&self->score, self->team, evaluation, error);
}

/* A model has the mean of the samples instead of the last one. */
static parley_status add_samples(const void *member, parley_model *base, parley_error *error) {
    const pl_gibbs *self = member;
    pl_lda_model *model = pl_lda_model_of(base);
    uint64_t words = model->words, topics = model->topics;
    (void)error;
    if (self->samples == 0)
        return PARLEY_OK;
    for (uint64_t w = 0; w < words; w += PL_LDA_TILE)
        for (uint64_t k = 0; k < topics; k++)
            for (uint64_t i = w; i < w + PL_LDA_TILE && i < words; i++)
                model->lambda[k * words + i] = (float)(model->eta + (double)self->sum[i * topics + k] / self->samples);
    pl_lda_model_sum(model);
    return PARLEY_OK;
}

static parley_status primal(const pl_local *local, const double *v, double *w, parley_error *error) {
    (void)error;
    pl_topic_copy(((const pl_gibbs *)local)->lda, v, w);
    return PARLEY_OK;
}

static parley_status start(pl_local *local, const double *w, const double *rows, double *v, parley_error *error) {
    (void)rows;
    return primal(local, w, v, error);
}

static void state(pl_local *local, pl_state *state) {
    pl_gibbs *self = (pl_gibbs *)local;
    PL_STATE_VALUES(state, "gibbs", PL_VALUE(self->score.latest), PL_VALUE(self->begun), PL_VALUE(self->averaged),
                    PL_WITHIN(self->samples, 0, PL_MOST_WHOLE));
    if (self->sum)
        pl_state_array(state, "gibbs_samples", self->sum, PL_F32, self->lda->words * self->lda->topics);
    for (unsigned k = 0; k < self->team->hosted; k++) {
        pl_gibbs_worker *worker = &self->worker[k];
        pl_state_of(state, "local", k);
        pl_state_array(state, "gibbs_sums", self->score.sums + 2 * (uint64_t)k, PL_F64, 2);
        pl_state_array(state, "gibbs_topics", worker->topics.data, PL_U32, worker->tokens);
        bool valid = true;
        for (uint64_t t = 0; t < worker->tokens && state->restoring; t++)
            valid = valid && ((uint32_t *)worker->topics.data)[t] < self->lda->topics;
        if (!valid) {
            pl_state_refuse(state, "gibbs_topics", "has topics that do not exist");
            return;
        }
    }
    for (unsigned task = 0; task < self->team->hosted * self->team->lanes; task++)
        if (state->restoring && state->status == PARLEY_OK && self->begun)
            pl_gibbs_count(self, task);
}

static parley_status check(const parley_settings *settings, bool in_place, parley_error *error) {
    (void)in_place;
    if (settings->backups)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--backups drops updates, and local solver gibbs must lose no token; use --staleness");
    if (isnan(settings->local_epochs) || settings->local_epochs < 1.0 / MOST_PIECES)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--local-epochs: local solver gibbs takes a number of passes from %g on", 1.0 / MOST_PIECES);
    return PARLEY_OK;
}

static const char *const reads[] = {"lanes", "burn_in", "sampler", "local_epochs", NULL};
static const pl_local_restart restart = {.start = start};
static const pl_local_async async = {prepare_async, work_async, entries_read};
static const pl_addition addition = {.add = add_samples};

const pl_local_type pl_local_gibbs = {
    .name = "gibbs",
    .help = "collapsed sampling of the topic of each token",
    .problem = &pl_problem_lda,
    .traits = PL_MAY_BE_ADDED | PL_STEPS_IN_V,
    .settings = reads,
    .usual_passes = 100,
    .restart = &restart,
    .async = &async,
    .addition = &addition,
    .check = check,
    .bytes = pl_gibbs_bytes,
    .open = pl_gibbs_open,
    .work = work,
    .evaluate = evaluate,
    .evaluate_passes = pl_topic_passes,
    .commit = pl_topic_commit,
    .primal = primal,
    .stalled = pl_topic_stalled,
    .state = state,
    .close = pl_gibbs_close,
};
