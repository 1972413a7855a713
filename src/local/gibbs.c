/* gibbs.c: passes of collapsed sampling. */
#include "local/gibbs.h"

#include <math.h>
#include <string.h>

#define DRAW_STREAM 0x67696200u
#define LEARN_AFTER 20 /* passes, before which the counts say little about alpha and eta */

/* Words of one lane in one part of a pass. */
static void draw_task(void *context, unsigned task) {
    pl_gibbs *this = context;
    const pl_lda *lda = this->lda;
    unsigned lanes = this->team->lanes, range = (task % lanes + this->part) % lanes;
    pl_gibbs_lane *lane = &this->lane[task];
    pl_gibbs_worker *worker = &this->worker[task / lanes];
    pl_topic_sampler *sampler = &lane->sampler;
    sampler->stream = pl_stream_make(lda->seed, DRAW_STREAM + this->pass * lanes + this->part,
                                     (uint64_t)this->team->first * lanes + task);
    memcpy(sampler->total, worker->before, lda->topics * sizeof *sampler->total);
    if (this->part == 0 && this->begun && !this->dense) /* the order of a document's list decides what is drawn */
        pl_gibbs_count(this, task);
    for (uint64_t w = worker->bounds[range]; w < worker->bounds[range + 1] && !pl_stop_due(); w++) {
        uint64_t first = lane->first[w], tokens = lane->first[w + 1] - first;
        double *row = worker->table + w * lda->topics;
        if (tokens == 0)
            continue;
        pl_topic_begin_word(sampler, this->begun ? row : this->v + w * lda->topics);
        pl_topic_draw(sampler, lane->document + first, lane->topic + first, tokens, !this->begun);
        for (uint64_t k = 0; k < lda->topics && this->begun; k++)
            row[k] = (double)sampler->row[k];
    }
}

/* Prepares the lanes of a worker: alpha, and what documents weigh. */
static void prepare(pl_gibbs *this, unsigned k) {
    const pl_lda *lda = this->lda;
    const double *alpha = pl_lda_row(lda, this->worker[k].table, PL_LDA_ALPHA);
    double sum = 0;
    for (uint64_t t = 0; t < lda->topics; t++)
        sum += alpha[t];
    for (unsigned l = 0; l < this->team->lanes; l++) {
        pl_gibbs_lane *lane = &this->lane[k * this->team->lanes + l];
        pl_topic_sampler *sampler = &lane->sampler;
        sampler->eta = pl_lda_row(lda, this->worker[k].table, PL_LDA_ETA)[0];
        sampler->words_eta = sampler->eta * (double)lda->words;
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
static void add_totals(pl_gibbs *this, unsigned k) {
    pl_gibbs_worker *worker = &this->worker[k];
    double *totals = pl_lda_row(this->lda, worker->table, PL_LDA_TOTALS);
    for (uint64_t t = 0; t < this->lda->topics; t++) {
        double sum = worker->before[t];
        for (unsigned l = 0; l < this->team->lanes; l++)
            sum += this->lane[k * this->team->lanes + l].sampler.total[t] - worker->before[t];
        totals[t] = sum;
    }
}

static void draw_all(pl_gibbs *this) {
    pl_engine *engine = this->team->engine;
    unsigned lanes = this->team->lanes;
    for (unsigned k = 0; k < this->team->hosted; k++)
        prepare(this, k);
    for (this->part = 0; this->part < lanes; this->part++) {
        for (unsigned k = 0; k < this->team->hosted; k++)
            memcpy(this->worker[k].before, pl_lda_row(this->lda, this->worker[k].table, PL_LDA_TOTALS),
                   this->lda->topics * sizeof(double));
        engine->type->run(engine, draw_task, this, this->team->hosted * lanes);
        for (unsigned k = 0; k < this->team->hosted && this->begun; k++)
            add_totals(this, k);
    }
    for (unsigned k = 0; k < this->team->hosted; k++)
        for (unsigned l = 0; l < lanes && this->begun; l++) {
            const pl_gibbs_lane *lane = &this->lane[k * lanes + l];
            this->worker[k].sums[0] += lane->sampler.log_sum + log(lane->sampler.product);
            this->worker[k].sums[1] += (double)lane->tokens;
        }
}

/* The counts of a worker's own tokens, in its table. */
static void count_words(pl_gibbs *this, unsigned k) {
    const pl_lda *lda = this->lda;
    double *table = this->worker[k].table, *totals = pl_lda_row(lda, table, PL_LDA_TOTALS);
    memset(table, 0, (lda->words + 1) * lda->topics * sizeof *table);
    for (unsigned l = 0; l < this->team->lanes; l++) {
        const pl_gibbs_lane *lane = &this->lane[k * this->team->lanes + l];
        for (uint64_t w = 0; w < lda->words; w++)
            for (uint64_t t = lane->first[w]; t < lane->first[w + 1]; t++) {
                table[w * lda->topics + lane->topic[t]]++;
                totals[lane->topic[t]]++;
            }
    }
}

/* alpha by Minka's fixed point for the counts of the worker's documents. */
static void learn_alpha(pl_gibbs *this, unsigned k, double *alpha) {
    const pl_lda *lda = this->lda;
    double sum = 0, bottom = 0, *top = this->worker[k].before;
    for (uint64_t t = 0; t < lda->topics; t++) {
        sum += alpha[t];
        top[t] = 0;
    }
    for (unsigned l = 0; l < this->team->lanes; l++) {
        const pl_gibbs_lane *lane = &this->lane[k * this->team->lanes + l];
        const pl_topic_sampler *sampler = &lane->sampler;
        for (uint64_t d = 0; d < lane->documents; d++) {
            if (lane->length[d] > 0)
                bottom += pl_psi(lane->length[d] + sum) - pl_psi(sum);
            for (uint64_t t = 0; t < lda->topics && this->dense; t++)
                if (sampler->counts[d * sampler->stride + t])
                    top[t] += pl_psi(sampler->counts[d * sampler->stride + t] + alpha[t]) - pl_psi(alpha[t]);
            for (uint64_t i = 0; !this->dense && i < sampler->length[d]; i++) {
                uint32_t t = sampler->topic[sampler->first[d] + i];
                top[t] += pl_psi(sampler->count[sampler->first[d] + i] + alpha[t]) - pl_psi(alpha[t]);
            }
        }
    }
    for (uint64_t t = 0; t < lda->topics && bottom > 0; t++)
        alpha[t] = fmax(1e-5, alpha[t] * top[t] / bottom);
}

/* Makes the update of a worker: changes of counts, and shares of what all workers change alike. */
static void offer(pl_gibbs *this, unsigned k, bool first, pl_update *update) {
    const pl_lda *lda = this->lda;
    pl_gibbs_worker *worker = &this->worker[k];
    uint64_t own = (lda->words + PL_LDA_ALPHA) * lda->topics;
    double share = this->alone ? 1.0 : this->team->weight[k] / lda->base.total;
    if (lda->learns_alpha && this->pass > LEARN_AFTER)
        learn_alpha(this, k, pl_lda_row(lda, worker->table, PL_LDA_ALPHA));
    pl_lda_row(lda, worker->table, PL_LDA_STEPS)[0] += first ? 0.0 : 1.0;
    *update = (pl_update){.shrink = 1.0,
                          .weight = this->team->weight[k],
                          .count = lda->base.size,
                          .value = worker->table,
                          .passes = first ? 0.0 : 1.0};
    if (this->alone)
        return;
    update->shrink = first ? 1.0 - share : 1.0; /* the first counts replace v */
    for (uint64_t j = 0; j < lda->base.size; j++) {
        double before = first ? 0.0 : this->v[j];
        worker->table[j] = j < own ? worker->table[j] - before : share * (worker->table[j] - before);
    }
}

static parley_status take_tables(pl_gibbs *this, double *v, parley_error *error) {
    uint64_t bytes = this->lda->base.size * sizeof *v;
    for (unsigned k = 0; k < this->team->hosted; k++) {
        pl_gibbs_worker *worker = &this->worker[k];
        worker->table = v;
        if (this->alone)
            continue;
        if (!pl_span_reserve(&worker->copy, bytes))
            return pl_fail_memory(error, "a copy of the topics", bytes);
        worker->table = worker->copy.data;
        memcpy(worker->table, v, bytes);
    }
    return PARLEY_OK;
}

static parley_status work(pl_local *local, const pl_round *round, double *v, pl_update *update,
                          pl_evaluation *evaluation, parley_error *error) {
    pl_gibbs *this = (pl_gibbs *)local;
    double began = pl_engine_now(this->team->engine);
    bool first = !this->begun;
    (void)evaluation, (void)round;
    this->v = v;
    this->pass = (uint64_t)(pl_lda_row(this->lda, v, PL_LDA_STEPS)[0] + 1.5);
    parley_status status =
        first ? PARLEY_OK : pl_lda_renew(this->lda, this->team->engine, v, this->pass > LEARN_AFTER, error);
    if (status == PARLEY_OK)
        status = take_tables(this, v, error);
    if (status != PARLEY_OK)
        return status;
    draw_all(this);
    this->begun = true;
    for (unsigned k = 0; k < this->team->hosted; k++) {
        if (first)
            count_words(this, k);
        offer(this, k, first, &update[k]);
        update[k].seconds = pl_engine_now(this->team->engine) - began;
    }
    return PARLEY_OK;
}

/* Adds v to the average after the burn-in, once for each pass. */
static void average(pl_gibbs *this, const double *v) {
    const pl_lda *lda = this->lda;
    uint64_t pass = (uint64_t)(v[(lda->words + PL_LDA_STEPS) * lda->topics] + 0.5);
    if (!((double)pass > this->burn_in) || pass == this->averaged || !this->begun)
        return;
    this->averaged = pass;
    lda->average->samples++;
    for (uint64_t j = 0; j < lda->words * lda->topics; j++)
        lda->average->sum[j] += (float)v[j];
}

static parley_status evaluate(pl_local *local, const double *v, double *w, pl_update *update, pl_evaluation *evaluation,
                              parley_error *error) {
    pl_gibbs *this = (pl_gibbs *)local;
    double sums[2];
    (void)update;
    *evaluation = (pl_evaluation){0};
    if (w != v)
        memcpy(w, v, this->lda->base.size * sizeof *w);
    average(this, v);
    for (unsigned k = 0; k < this->team->hosted; k++) {
        memcpy(this->sums_room + 2 * (uint64_t)k, this->worker[k].sums, sizeof this->worker[k].sums);
        memset(this->worker[k].sums, 0, sizeof this->worker[k].sums);
    }
    parley_status status = pl_team_sum(this->team, this->sums_room, 2, sums, error);
    if (status == PARLEY_OK && sums[1] > 0)
        this->latest = -sums[0] / sums[1];
    evaluation->value = this->latest;
    return status;
}

static double evaluate_passes(const pl_local *local) {
    (void)local;
    return 0.25 * (1.0 - 1e-9); /* once a pass, by the rule of certificate.c */
}

static void commit(pl_local *local, unsigned worker, double gamma) { (void)local, (void)worker, (void)gamma; }

static parley_status primal(const pl_local *local, const double *v, double *w, parley_error *error) {
    (void)error;
    if (w != v)
        memcpy(w, v, ((const pl_gibbs *)local)->lda->base.size * sizeof *w);
    return PARLEY_OK;
}

static parley_status start(pl_local *local, const double *w, double *v, parley_error *error) {
    return primal(local, w, v, error);
}

static bool stalled(pl_local *local) {
    (void)local;
    return true;
}

static void state(pl_local *local, pl_state *state) {
    pl_gibbs *this = (pl_gibbs *)local;
    pl_lda_average *average = this->lda->average;
    PL_STATE_VALUES(state, "gibbs", PL_VALUE(this->latest), PL_VALUE(this->begun), PL_VALUE(this->averaged),
                    PL_WITHIN(average->samples, 0, PL_MOST_WHOLE));
    if (average->sum)
        pl_state_array(state, "gibbs_samples", average->sum, PL_F32, this->lda->words * this->lda->topics);
    for (unsigned k = 0; k < this->team->hosted; k++) {
        pl_gibbs_worker *worker = &this->worker[k];
        pl_state_of(state, "local", k);
        pl_state_array(state, "gibbs_sums", worker->sums, PL_F64, 2);
        pl_state_array(state, "gibbs_topics", worker->topics.data, PL_U32, worker->tokens);
        bool valid = true;
        for (uint64_t t = 0; t < worker->tokens && state->restoring; t++)
            valid = valid && ((uint32_t *)worker->topics.data)[t] < this->lda->topics;
        if (!valid) {
            pl_state_refuse(state, "gibbs_topics", "has topics that do not exist");
            return;
        }
    }
    for (unsigned task = 0; task < this->team->hosted * this->team->lanes; task++)
        if (state->restoring && state->status == PARLEY_OK && this->begun)
            pl_gibbs_count(this, task);
}

static const char *const reads[] = {"lanes", "burn_in", "sampler", NULL};
static const pl_local_restart restart = {.start = start};

const pl_local_type pl_local_gibbs = {
    .name = "gibbs",
    .help = "collapsed sampling of the topic of each token",
    .problem = &pl_problem_lda,
    .traits = PL_MAY_BE_ADDED | PL_STEPS_IN_V,
    .settings = reads,
    .restart = &restart,
    .bytes = pl_gibbs_bytes,
    .open = pl_gibbs_open,
    .work = work,
    .evaluate = evaluate,
    .evaluate_passes = evaluate_passes,
    .commit = commit,
    .primal = primal,
    .stalled = stalled,
    .state = state,
    .close = pl_gibbs_close,
};
