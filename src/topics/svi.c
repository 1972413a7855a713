/* svi.c: the steps of stochastic variational inference. */
#include "topics/svi.h"

#include <math.h>
#include <string.h>

#include "base/random.h"

#define LEAST_SCALE 1e-4 /* of a table; below this it is multiplied out */
#define ORDER_STREAM 0x73766900u
#define BLOCK_WORDS 128
#define SCAN 16 /* entries of a batch that are worth a scan of all words, which puts its rows in order */

/* Phase 1: numbers the words of a worker's slice of the batch: in increasing order if it is joint or a good part of all
 * words, and otherwise as documents have them. */

static void number_words(pl_svi *self, unsigned k) {
    pl_svi_worker *worker = &self->worker[k];
    const pl_matrix *x = &self->lda->base.data->x;
    uint64_t entries = 0, most;
    for (unsigned l = 0; l < self->team->lanes; l++) {
        pl_svi_lane *lane = &self->lane[k * self->team->lanes + l];
        lane->entries = entries;
        for (uint64_t i = lane->begin; i < lane->end; i++)
            entries += x->start[lane->order[i] + 1] - x->start[lane->order[i]];
    }
    most = entries < self->lda->words ? entries : self->lda->words;
    worker->count = 0;
    if (!pl_span_reserve(&worker->entries, (entries + 1) * sizeof(uint32_t)) ||
        !pl_span_reserve(&worker->words, (most + 1) * sizeof(uint32_t)) ||
        !pl_span_reserve(&worker->expected, (most + 1) * self->rule.stride * sizeof(float))) {
        atomic_store(&self->lost, true);
        return;
    }
    uint32_t *number = worker->number, *to = worker->entries.data, *words = worker->words.data, count = 0;
    bool sorted = self->joint || self->lda->words < SCAN * entries;
    for (unsigned pass = sorted ? 0 : 1; pass < 2; pass++) {
        for (unsigned l = 0; l < self->team->lanes; l++) {
            const pl_svi_lane *lane = &self->lane[k * self->team->lanes + l];
            for (uint64_t i = lane->begin; i < lane->end; i++)
                for (uint64_t e = x->start[lane->order[i]]; e < x->start[lane->order[i] + 1]; e++) {
                    uint32_t word = x->index[e];
                    if (pass == 0)
                        number[word] = 1;
                    else if (!number[word]) {
                        words[count++] = word;
                        number[word] = count;
                    }
                    if (pass == 1)
                        *to++ = number[word] - 1;
                }
        }
        for (uint64_t word = 0; word < self->lda->words && pass == 0; word++)
            if (number[word]) {
                words[count++] = (uint32_t)word;
                number[word] = count;
            }
    }
    for (uint32_t i = 0; i < count; i++)
        number[words[i]] = 0;
    worker->count = count;
}

/* Column sums, alpha and eta of the worker's table as floats. */
static void make_factors(pl_svi *self, unsigned k) {
    const pl_lda *lda = self->lda;
    pl_svi_worker *worker = &self->worker[k];
    const double *totals = pl_lda_row(lda, worker->table, PL_LDA_TOTALS);
    const double *alpha = pl_lda_row(lda, worker->table, PL_LDA_ALPHA);
    double eta = pl_lda_row(lda, worker->table, PL_LDA_ETA)[0];
    for (uint64_t t = 0; t < lda->topics; t++) {
        double total = totals[t] + (double)lda->words * eta;
        worker->factor[t] = (float)(self->rule.psi ? exp(-pl_psi(total)) : 1.0 / total);
        worker->alpha[t] = (float)alpha[t];
    }
}

static void prepare_task(void *context, unsigned k) {
    number_words(context, k);
    make_factors(context, k);
}

/* The part of a worker's words that a lane computes or merges. */
static void share_of(const pl_svi *self, unsigned task, uint64_t *begin, uint64_t *end) {
    uint64_t lanes = self->team->lanes, count = self->worker[task / lanes].count;
    *begin = count * (task % lanes) / lanes;
    *end = count * (task % lanes + 1) / lanes;
}

/* Phase 2: rows of E. */
static void expect_task(void *context, unsigned task) {
    const pl_svi *self = context;
    const pl_svi_worker *worker = &self->worker[task / self->team->lanes];
    const uint32_t *words = worker->words.data;
    uint64_t begin, end, topics = self->lda->topics;
    double eta = pl_lda_row(self->lda, worker->table, PL_LDA_ETA)[0];
    share_of(self, task, &begin, &end);
    for (uint64_t i = begin; i < end; i++)
        pl_topic_row(worker->table + words[i] * topics, topics, worker->scale, eta, self->rule.psi, worker->factor,
                     (float *)worker->expected.data + i * self->rule.stride);
}

/* Phase 3: documents. */

/* Adds what the document tells about alpha and about the objective. */
static void note_document(const pl_svi *self, pl_svi_lane *lane, const double *alpha, double alpha_sum) {
    const pl_topic_room *room = &lane->room;
    double sum = alpha_sum, log_sum = room->log_sum;
    for (uint64_t a = 0; a < room->active; a++)
        sum += (double)room->gamma[a] - alpha[room->topic[a]];
    if (self->rule.psi) {
        double psi_sum = pl_psi(sum);
        log_sum += lgamma(alpha_sum) - lgamma(sum) - room->tokens * psi_sum;
        for (uint64_t a = 0; a < room->active; a++) {
            double gamma = (double)room->gamma[a], prior = alpha[room->topic[a]];
            log_sum += (prior - gamma) * (pl_psi(gamma) - psi_sum) + lgamma(gamma) - lgamma(prior);
        }
    } else
        log_sum -= room->tokens * log(sum);
    lane->log_sum += log_sum;
    lane->tokens += room->tokens;
    lane->documents++;
    if (!lane->log_theta)
        return;
    lane->psi_sum += pl_psi(sum);
    for (uint64_t a = 0; a < room->active; a++)
        lane->log_theta[room->topic[a]] += pl_psi((double)room->gamma[a]) - pl_psi(alpha[room->topic[a]]);
}

static void visit_documents(const pl_svi *self, unsigned task) {
    pl_svi_lane *lane = &self->lane[task];
    const pl_svi_worker *worker = &self->worker[task / self->team->lanes];
    const parley_data *data = self->lda->base.data;
    const double *alpha = pl_lda_row(self->lda, worker->table, PL_LDA_ALPHA);
    const uint32_t *entries = (const uint32_t *)worker->entries.data + lane->entries;
    pl_topic_rule rule = self->rule;
    double alpha_sum = 0;
    rule.alpha = worker->alpha;
    for (uint64_t t = 0; t < rule.topics; t++)
        alpha_sum += alpha[t];
    for (uint64_t i = lane->begin; i < lane->end && !pl_stop_due(); i++) {
        uint64_t row = lane->order[i], first = data->x.start[row], words = data->x.start[row + 1] - first;
        double weight = data->weight ? data->weight[row] : 1.0;
        pl_topic_document document = {entries, pl_values_from(data->x.values, first).narrow, (float)weight, words};
        entries += words;
        if (words == 0 || weight == 0)
            continue;
        pl_topic_infer(&rule, worker->expected.data, &document, &lane->room);
        note_document(self, lane, alpha, alpha_sum);
        pl_topic_scatter(&rule, &document, &lane->room, lane->stats.data);
    }
}

/* Begins to read a block of the epoch, if there is one. */
static void ask_block(const pl_svi *self, const pl_svi_lane *lane, uint64_t number) {
    if (number < lane->blocks)
        pl_row_block_ahead(self->lda->base.data, &lane->block[lane->block_order[number]]);
}

/* Gives back the memory of blocks that all have been visited, if the corpus is larger than memory, and reads ahead. */
static void leave_blocks(const pl_svi *self, unsigned task) {
    pl_svi_lane *lane = &self->lane[task];
    while (lane->block_now < lane->blocks && lane->end >= lane->block_end) {
        pl_row_block_leave(self->lda->base.data, &lane->block[lane->block_order[lane->block_now++]]);
        ask_block(self, lane, lane->block_now + 1);
        if (lane->block_now < lane->blocks)
            lane->block_end += lane->block[lane->block_order[lane->block_now]].rows;
    }
}

static void visit_task(void *context, unsigned task) {
    pl_svi *self = context;
    pl_svi_lane *lane = &self->lane[task];
    uint64_t bytes = self->worker[task / self->team->lanes].count * self->rule.stride * sizeof(float);
    if (!pl_span_reserve(&lane->stats, bytes + sizeof(float))) {
        atomic_store(&self->lost, true);
        return;
    }
    memset(lane->stats.data, 0, bytes);
    visit_documents(self, task);
    leave_blocks(self, task);
}

/* Phase 4: statistics go to the table, in joint rounds to the rows of the update, and if there are several slices to
 * the next table. */
static void merge_task(void *context, unsigned task) {
    pl_svi *self = context;
    unsigned lanes = self->team->lanes;
    pl_svi_worker *worker = &self->worker[task / lanes];
    pl_svi_lane *lane = &self->lane[task], *all = &self->lane[task / lanes * lanes];
    const uint32_t *words = worker->words.data;
    uint64_t begin, end, topics = self->lda->topics, stride = self->rule.stride;
    double factor = self->joint || self->slices > 1 ? worker->gain : worker->gain / worker->scale;
    double *table = self->slices > 1 ? worker->next.data : worker->table;
    share_of(self, task, &begin, &end);
    for (uint64_t i = begin; i < end; i++) {
        double *to = self->joint ? (double *)worker->change.data + i * topics : table + words[i] * topics;
        float *sum = (float *)all[0].stats.data + i * stride;
        for (unsigned l = 1; l < lanes; l++)
            pl_topic_add((const float *)all[l].stats.data + i * stride, topics, sum);
        pl_topic_merge(sum, topics, factor, self->joint, to, lane->totals);
    }
}

/* alpha, by a step of Newton's method for the likelihood of the batch's proportions (Hoffman et al. 2010), whose mean
 * logarithms are `mean`. Its matrix is diagonal plus a constant, so that the step costs no more than the gradient. */
static void learn_alpha(const pl_lda *lda, const double *mean, double rate, double *alpha) {
    double sum = 0, top = 0, bottom = 0, least = 1.0;
    for (uint64_t t = 0; t < lda->topics; t++)
        sum += alpha[t];
    double psi_sum = pl_psi(sum), slope_sum = pl_psi_slope(sum);
    for (uint64_t t = 0; t < lda->topics; t++) {
        double q = -pl_psi_slope(alpha[t]), g = psi_sum - pl_psi(alpha[t]) + mean[t];
        top += g / q;
        bottom += 1.0 / q;
    }
    double b = top / (1.0 / slope_sum + bottom);
    for (uint64_t t = 0; t < lda->topics; t++) {
        double q = -pl_psi_slope(alpha[t]), g = psi_sum - pl_psi(alpha[t]) + mean[t], step = -(g - b) / q;
        if (alpha[t] + rate * step < 0.1 * alpha[t]) /* stays positive */
            least = fmin(least, 0.9 * alpha[t] / -(rate * step));
    }
    for (uint64_t t = 0; t < lda->topics; t++) {
        double q = -pl_psi_slope(alpha[t]), g = psi_sum - pl_psi(alpha[t]) + mean[t];
        alpha[t] = fmax(1e-6, alpha[t] - least * rate * (g - b) / q);
    }
}

/* The mean logarithms of proportions in a worker's batch. Returns false if it had no documents. */
static bool mean_logarithms(const pl_svi *self, unsigned k, const double *alpha, double *mean) {
    unsigned lanes = self->team->lanes;
    double documents = 0, psi_sum = 0;
    memset(mean, 0, self->lda->topics * sizeof *mean);
    for (unsigned l = 0; l < lanes; l++) {
        const pl_svi_lane *lane = &self->lane[k * lanes + l];
        documents += lane->documents;
        psi_sum += lane->psi_sum;
        for (uint64_t t = 0; t < self->lda->topics; t++)
            mean[t] += lane->log_theta[t];
    }
    for (uint64_t t = 0; t < self->lda->topics && documents > 0; t++)
        mean[t] = (mean[t] - psi_sum) / documents + pl_psi(alpha[t]);
    return documents > 0;
}

/* Ends a step of a worker: its column sums, alpha and number of steps. In joint rounds they are shares of the change;
 * what does not decay is offered with what the decay takes away. */
static void end_step(pl_svi *self, unsigned k) {
    pl_svi_worker *worker = &self->worker[k];
    const pl_lda *lda = self->lda;
    uint64_t topics = lda->topics;
    unsigned lanes = self->team->lanes;
    double *own = pl_lda_row(lda, worker->table, PL_LDA_TOTALS), *alpha = own + topics * PL_LDA_ALPHA;
    double *rest = self->joint ? (double *)worker->change.data + worker->count * topics : own;
    double share = self->team->weight[k] / lda->base.total, shrink = 1.0 - self->rho;
    for (unsigned l = 0; l < lanes; l++) {
        self->score.sums[2 * k] += self->lane[k * lanes + l].log_sum;
        self->score.sums[2 * k + 1] += self->lane[k * lanes + l].tokens;
    }
    for (uint64_t t = 0; t < topics; t++) {
        double sum = 0;
        for (unsigned l = 0; l < lanes; l++)
            sum += self->lane[k * lanes + l].totals[t];
        rest[t] = (self->joint ? 0.0 : shrink * own[t]) + worker->gain * sum;
    }
    double *mean = self->lane[k * lanes].totals, *next = rest + topics * PL_LDA_ALPHA; /* totals are used up */
    if (self->joint)
        memcpy(next, alpha, (PL_LDA_ROWS - PL_LDA_ALPHA) * topics * sizeof *next);
    if (lda->learns_alpha && mean_logarithms(self, k, alpha, mean))
        learn_alpha(lda, mean, self->rho, next);
    rest[topics * PL_LDA_STEPS] += 1.0;
    for (uint64_t j = 0; j < (PL_LDA_ROWS - PL_LDA_ALPHA) * topics && self->joint; j++)
        next[j] = share * (next[j] - shrink * alpha[j]);
}

/* The whole step */

static void shuffle_task(void *context, unsigned task) {
    pl_svi *self = context;
    pl_svi_lane *lane = &self->lane[task];
    uint64_t count = 0, number = (uint64_t)self->team->first * self->team->lanes + task;
    pl_stream stream = pl_stream_make(self->lda->seed, ORDER_STREAM + self->epoch, number);
    for (uint64_t b = 0; b < lane->blocks; b++)
        lane->block_order[b] = b;
    if (lane->blocks > 1)
        pl_shuffle(&stream, lane->block_order, lane->blocks);
    for (uint64_t b = 0; b < lane->blocks; b++) {
        const pl_row_block *block = &lane->block[lane->block_order[b]];
        uint64_t first = count;
        pl_range rows;
        for (uint64_t range = 0; pl_row_block_next(block, &range, &rows);)
            for (uint64_t i = rows.begin; i < rows.end; i++)
                lane->order[count++] = i;
        pl_shuffle(&stream, lane->order + first, count - first);
    }
    lane->block_now = 0;
    lane->block_end = lane->blocks > 0 ? lane->block[lane->block_order[0]].rows : 0;
    ask_block(self, lane, 0);
    ask_block(self, lane, 1);
}

/* Brings the documents of the epoch in order, if it is a new one. */
static void begin_epoch(pl_svi *self) {
    uint64_t epoch = self->step / self->batches + 1;
    pl_engine *engine = self->team->engine;
    if (epoch == self->epoch)
        return;
    self->epoch = epoch;
    engine->type->run(engine, shuffle_task, self, self->team->hosted * self->team->lanes);
}

/* Chooses the documents of a slice of the batch. */
static void choose_documents(pl_svi *self, uint64_t slice) {
    uint64_t all = self->batches * self->slices, number = self->step % self->batches * self->slices + slice;
    for (unsigned task = 0; task < self->team->hosted * self->team->lanes; task++) {
        pl_svi_lane *lane = &self->lane[task];
        lane->begin = lane->rows * number / all;
        lane->end = lane->rows * (number + 1) / all;
    }
}

typedef struct multiplication {
    const pl_svi *self;
    unsigned worker;
    double factor;
} multiplication;

static void multiply_task(void *context, unsigned block) {
    const multiplication *all = context;
    const pl_lda *lda = all->self->lda;
    uint64_t begin = (uint64_t)block * BLOCK_WORDS * lda->topics, end = begin + BLOCK_WORDS * lda->topics;
    uint64_t size = lda->words * lda->topics;
    double *table = all->self->worker[all->worker].table;
    for (uint64_t j = begin; j < end && j < size; j++)
        table[j] = all->factor == 0 ? 0.0 : table[j] * all->factor;
}

/* Multiplies a table out. */
static void fold(pl_svi *self, unsigned k, double factor) {
    pl_engine *engine = self->team->engine;
    self->worker[k].scale = 1.0;
    if (factor != 1.0)
        engine->type->run(engine, multiply_task, &(multiplication){self, k, factor},
                          (unsigned)((self->lda->words + BLOCK_WORDS - 1) / BLOCK_WORDS));
}

/* Tables decay before the statistics are added. */
static void decay(pl_svi *self) {
    for (unsigned k = 0; k < self->team->hosted && !self->joint; k++) {
        pl_svi_worker *worker = &self->worker[k];
        worker->scale *= 1.0 - self->rho;
        if (worker->scale < LEAST_SCALE)
            fold(self, k, worker->scale);
    }
}

static bool reserve_rows(pl_svi *self) {
    for (unsigned k = 0; k < self->team->hosted && self->joint; k++) {
        pl_svi_worker *worker = &self->worker[k];
        uint64_t rows = worker->count + PL_LDA_ROWS;
        if (!pl_span_reserve(&worker->change, rows * self->lda->topics * sizeof(double)) ||
            !pl_span_reserve(&worker->rows, rows * sizeof(uint32_t)))
            return false;
    }
    return true;
}

/* Begins a step: its rate, and sums over the batch. */
static void begin_step(pl_svi *self) {
    self->rho = self->all ? 1.0 : pow(self->tau0 + (double)self->step + 1.0, -self->kappa);
    for (unsigned task = 0; task < self->team->hosted * self->team->lanes; task++) {
        pl_svi_lane *lane = &self->lane[task];
        lane->documents = lane->psi_sum = lane->log_sum = lane->tokens = 0;
        memset(lane->totals, 0, (lane->log_theta ? 2 : 1) * self->lda->topics * sizeof *lane->totals);
    }
    for (unsigned k = 0; k < self->team->hosted; k++) /* a worker of its own takes its documents for the corpus */
        self->worker[k].gain = self->rho * self->lda->growth * (double)self->batches *
                               (self->joint ? 1.0 : self->lda->base.total / self->team->weight[k]);
}

/* Makes room for statistics, and lets the tables decay, which only happens once: with several slices the rate is 1. */
static bool make_room(pl_svi *self) {
    uint64_t bytes = self->lda->words * self->lda->topics * sizeof(double);
    if (self->slices == 1)
        decay(self);
    for (unsigned k = 0; k < self->team->hosted && self->slices > 1; k++)
        if (!pl_span_reserve(&self->worker[k].next, bytes))
            return false;
    return reserve_rows(self);
}

/* The four phases for the chosen documents. */
static bool run_phases(pl_svi *self) {
    pl_engine *engine = self->team->engine;
    unsigned hosted = self->team->hosted, tasks = hosted * self->team->lanes;
    engine->type->run(engine, prepare_task, self, hosted);
    if (!self->lost)
        engine->type->run(engine, expect_task, self, tasks);
    if (!self->lost)
        engine->type->run(engine, visit_task, self, tasks);
    if (self->lost || !make_room(self))
        return false;
    engine->type->run(engine, merge_task, self, tasks);
    return true;
}

/* The next table takes the place of T. */
static void replace_task(void *context, unsigned block) {
    const multiplication *all = context;
    const pl_lda *lda = all->self->lda;
    uint64_t size = lda->words * lda->topics, begin = (uint64_t)block * BLOCK_WORDS * lda->topics;
    uint64_t end = begin + BLOCK_WORDS * lda->topics < size ? begin + BLOCK_WORDS * lda->topics : size;
    pl_svi_worker *worker = &all->self->worker[all->worker];
    const double *next = worker->next.data;
    memcpy(worker->table + begin, next + begin, (end - begin) * sizeof *next);
}

static void replace_tables(pl_svi *self) {
    pl_engine *engine = self->team->engine;
    for (unsigned k = 0; k < self->team->hosted && self->slices > 1; k++) {
        self->worker[k].scale = 1.0;
        engine->type->run(engine, replace_task, &(multiplication){self, k, 1.0},
                          (unsigned)((self->lda->words + BLOCK_WORDS - 1) / BLOCK_WORDS));
        pl_span_free(&self->worker[k].next); /* validation needs room too, and the next step zeros */
    }
}

static parley_status make_step(pl_svi *self, parley_error *error) {
    begin_epoch(self);
    begin_step(self);
    for (uint64_t slice = 0; slice < self->slices; slice++) {
        choose_documents(self, slice);
        if (!run_phases(self))
            return pl_fail_memory(error, "a batch of documents", 0);
    }
    replace_tables(self);
    for (unsigned k = 0; k < self->team->hosted; k++)
        end_step(self, k);
    self->step++;
    return PARLEY_OK;
}

/* Rounds */

static double *steps_in(const pl_svi *self, double *v) { return pl_lda_row(self->lda, v, PL_LDA_STEPS); }

/* Gives each worker its table: v, if it only reads it or is alone, or a copy. */
static parley_status take_tables(pl_svi *self, double *v, parley_error *error) {
    uint64_t bytes = self->lda->base.size * sizeof *v;
    for (unsigned k = 0; k < self->team->hosted; k++) {
        pl_svi_worker *worker = &self->worker[k];
        worker->scale = 1.0;
        worker->table = v;
        if (self->owns_v || self->joint)
            continue;
        if (!pl_span_reserve(&worker->copy, bytes))
            return pl_fail_memory(error, "a copy of the topics", bytes);
        worker->table = worker->copy.data;
        memcpy(worker->table, v, bytes);
    }
    return PARLEY_OK;
}

/* The share of one step, as rows. */
static void offer_rows(pl_svi *self, unsigned k, pl_update *update) {
    pl_svi_worker *worker = &self->worker[k];
    uint64_t rows = worker->count + PL_LDA_ROWS;
    uint32_t *number = worker->rows.data;
    memcpy(number, worker->words.data, worker->count * sizeof *number);
    for (unsigned i = 0; i < PL_LDA_ROWS; i++)
        number[worker->count + i] = (uint32_t)self->lda->words + i;
    update->shrink = 1.0 - self->rho * update->weight / self->lda->base.total;
    update->count = rows * self->lda->topics;
    update->row = self->lda->topics;
    update->index = number;
    update->value = worker->change.data;
}

static parley_status work(pl_local *local, const pl_round *round, double *v, pl_update *update,
                          pl_evaluation *evaluation, parley_error *error) {
    pl_svi *self = (pl_svi *)local;
    pl_team *team = self->team;
    double began = pl_engine_now(team->engine);
    (void)evaluation;
    self->joint = round->joint && !self->owns_v;
    self->step = (uint64_t)(steps_in(self, v)[0] + 0.5);
    parley_status status = PARLEY_OK;
    if (self->step % self->batches == 0)
        status = pl_lda_renew(self->lda, team->engine, v, self->step > 0, error);
    if (status == PARLEY_OK)
        status = take_tables(self, v, error);
    double wanted = round->steps ? (double)round->steps : floor(round->epochs * (double)self->batches + 0.5);
    uint64_t steps = round->joint ? 1 : wanted < 1 ? 1 : (uint64_t)wanted;
    for (uint64_t i = 0; i < steps && status == PARLEY_OK && !pl_stop_due(); i++)
        status = make_step(self, error);
    for (unsigned k = 0; k < team->hosted && status == PARLEY_OK; k++) {
        update[k] = (pl_update){.weight = team->weight[k], .passes = (double)steps / (double)self->batches};
        if (self->joint)
            offer_rows(self, k, &update[k]);
        else {
            fold(self, k, self->worker[k].scale);
            update[k].count = self->lda->base.size;
            update[k].value = self->worker[k].table;
        }
    }
    for (unsigned k = 0; k < team->hosted; k++)
        update[k].seconds = pl_engine_now(team->engine) - began;
    return status;
}

static parley_status evaluate(pl_local *local, const double *v, double *w, pl_update *update, pl_evaluation *evaluation,
                              parley_error *error) {
    pl_svi *self = (pl_svi *)local;
    (void)update;
    pl_topic_copy(self->lda, v, w);
    return pl_topic_evaluate(&self->score, self->team, evaluation, error);
}

static parley_status primal(const pl_local *local, const double *v, double *w, parley_error *error) {
    (void)error;
    pl_topic_copy(((const pl_svi *)local)->lda, v, w);
    return PARLEY_OK;
}

static parley_status start(pl_local *local, const double *w, const double *rows, double *v, parley_error *error) {
    (void)rows;
    return primal(local, w, v, error);
}

static void state(pl_local *local, pl_state *state) {
    pl_svi *self = (pl_svi *)local;
    PL_STATE_VALUES(state, "svi", PL_VALUE(self->score.latest));
    for (unsigned k = 0; k < self->team->hosted; k++) {
        pl_state_of(state, "local", k);
        pl_state_array(state, "svi_sums", self->score.sums + 2 * (uint64_t)k, PL_F64, 2);
    }
}

static const char *const reads[] = {
    "batch",     "tau0",         "kappa", "topic_inference", "inner_steps", "inner_tolerance",
    "documents", "local_epochs", "lanes", "local_steps",     NULL};
static const pl_local_restart restart = {.start = start};

const pl_local_type pl_local_svi = {
    .name = "svi",
    .help = "stochastic variational inference on batches of documents",
    .problem = &pl_problem_lda,
    .traits = PL_GIVES_CHANGES | PL_MAY_BE_ADDED | PL_STEPS_IN_V,
    .settings = reads,
    .usual_passes = 10,
    .restart = &restart,
    .bytes = pl_svi_bytes,
    .open = pl_svi_open,
    .work = work,
    .evaluate = evaluate,
    .evaluate_passes = pl_topic_passes,
    .commit = pl_topic_commit,
    .primal = primal,
    .stalled = pl_topic_stalled,
    .state = state,
    .close = pl_svi_close,
};
