/* svi_setup.c: memory and constants of stochastic variational inference. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "topics/svi.h"

#define USUAL_BATCHES 64 /* of an epoch */
#define LEAST_BATCH 64   /* documents */
#define MOST_BATCH 4096
#define COLLAPSED_TAU0 1.0
#define VARIATIONAL_TAU0 10.0 /* with 1, the first steps forget so much that held-out words are predicted 8 % worse */
#define SLICES 8              /* of a batch of all documents, and as many for each lane */
#define LEAST_SLICE 64        /* documents */
#define BLOCK_ENTRIES ((uint64_t)1 << 20)
#define WORDS_PER_DOCUMENT 64 /* new ones, for the estimate of memory */

/* Steps of an epoch: by all workers together in joint rounds, otherwise by each on its own documents. */
static uint64_t count_batches(const pl_setup *setup, double documents) {
    const char *batch = setup->settings->batch;
    if (strcmp(batch, "all") == 0)
        return 1;
    double size = strcmp(batch, "auto") == 0 ? fmin(fmax(documents / USUAL_BATCHES, LEAST_BATCH), MOST_BATCH)
                                             : strtod(batch, NULL);
    double batches = ceil(documents / size);
    return batches < 1 ? 1 : (uint64_t)batches;
}

/* Joint rounds offer the rows of a whole batch. */
static uint64_t count_slices(const pl_setup *setup, double documents) {
    bool all = strcmp(setup->settings->batch, "all") == 0 && (setup->owns_v || !setup->adds);
    double slices = fmin(SLICES * (1.0 + setup->team->lanes), documents / LEAST_SLICE);
    return !all || slices < 1 ? 1 : (uint64_t)slices;
}

uint64_t pl_svi_bytes(const pl_setup *setup) {
    const pl_lda *lda = pl_lda_of(setup->problem);
    uint64_t hosted = setup->team->hosted, lanes = setup->team->lanes, stride = pl_topic_stride(lda->topics);
    double own = lda->documents / setup->team->workers;
    double documents = lda->documents / (double)count_batches(setup, own) / (double)count_slices(setup, own);
    uint64_t words = (uint64_t)fmin((double)lda->words, WORDS_PER_DOCUMENT * documents);
    uint64_t each = (1 + lanes) * words * stride * sizeof(float) + lda->words * sizeof(uint32_t);
    uint64_t tables = (setup->owns_v ? 0 : 1) + (count_slices(setup, own) > 1 ? 1 : 0);
    return hosted * (each + tables * lda->base.size * sizeof(double));
}

void pl_svi_close(pl_local *local) {
    pl_svi *self = (pl_svi *)local;
    for (unsigned k = 0; self->worker && k < self->team->hosted; k++) {
        pl_svi_worker *worker = &self->worker[k];
        pl_span *spans[] = {&worker->copy,   &worker->words, &worker->entries, &worker->expected,
                            &worker->change, &worker->rows,  &worker->next};
        for (unsigned i = 0; i < sizeof spans / sizeof *spans; i++)
            pl_span_free(spans[i]);
        pl_free(worker->number);
        pl_free(worker->factor);
    }
    for (unsigned i = 0; self->lane && i < self->team->hosted * self->team->lanes; i++) {
        pl_svi_lane *lane = &self->lane[i];
        pl_topic_room_close(&lane->room);
        pl_span_free(&lane->stats);
        pl_free(lane->order);
        pl_free(lane->block);
        pl_free(lane->block_order);
        pl_free(lane->totals);
    }
    pl_free(self->worker);
    pl_free(self->lane);
    pl_free(self->score.sums);
    pl_free(self);
}

static parley_status open_blocks(pl_svi *self, unsigned task, parley_error *error) {
    pl_svi_lane *lane = &self->lane[task];
    const pl_part *part = &self->team->parts[task];
    uint64_t most = pl_row_blocks_most(part, BLOCK_ENTRIES);
    parley_status status = pl_take(&lane->block, most, sizeof *lane->block, "the order of documents", error);
    if (status == PARLEY_OK)
        status = pl_take(&lane->block_order, most, sizeof *lane->block_order, "the order of documents", error);
    if (status == PARLEY_OK)
        lane->blocks = pl_row_blocks_cut(&self->lda->base.data->x, part, BLOCK_ENTRIES, lane->block);
    return status;
}

static parley_status open_lane(pl_svi *self, unsigned task, parley_error *error) {
    pl_svi_lane *lane = &self->lane[task];
    const pl_part *part = &self->team->parts[task];
    const pl_matrix *x = &self->lda->base.data->x;
    uint64_t topics = self->lda->topics, most = 1;
    for (uint64_t r = 0; r < part->count; r++)
        for (uint64_t i = part->ranges[r].begin; i < part->ranges[r].end; i++)
            most = x->start[i + 1] - x->start[i] > most ? x->start[i + 1] - x->start[i] : most;
    lane->rows = part->rows;
    parley_status status = pl_take(&lane->order, part->rows, sizeof *lane->order, "the order of documents", error);
    if (status == PARLEY_OK)
        status = pl_take(&lane->totals, (self->lda->learns_alpha ? 2 : 1) * topics, sizeof *lane->totals,
                         "sums of topics", error);
    if (status == PARLEY_OK && self->lda->learns_alpha)
        lane->log_theta = lane->totals + topics;
    if (status == PARLEY_OK)
        status = open_blocks(self, task, error);
    return status == PARLEY_OK ? pl_topic_room_open(&lane->room, topics, most, error) : status;
}

static parley_status open_worker(pl_svi *self, unsigned k, parley_error *error) {
    pl_svi_worker *worker = &self->worker[k];
    parley_status status =
        pl_take(&worker->number, self->lda->words, sizeof *worker->number, "numbers of words", error);
    if (status == PARLEY_OK)
        status = pl_take(&worker->factor, 2 * self->rule.stride, sizeof *worker->factor, "sums of topics", error);
    if (status == PARLEY_OK)
        worker->alpha = worker->factor + self->rule.stride;
    return status;
}

static parley_status open_all(pl_svi *self, parley_error *error) {
    unsigned hosted = self->team->hosted, tasks = hosted * self->team->lanes;
    parley_status status = pl_take(&self->worker, hosted, sizeof *self->worker, "svi", error);
    if (status == PARLEY_OK)
        status = pl_take(&self->lane, tasks, sizeof *self->lane, "svi", error);
    if (status == PARLEY_OK)
        status = pl_take(&self->score.sums, 2 * (uint64_t)hosted, sizeof *self->score.sums, "svi", error);
    for (unsigned k = 0; k < hosted && status == PARLEY_OK; k++)
        status = open_worker(self, k, error);
    for (unsigned task = 0; task < tasks && status == PARLEY_OK; task++)
        status = open_lane(self, task, error);
    return status;
}

parley_status pl_svi_open(const pl_setup *setup, pl_local **out, parley_error *error) {
    const parley_settings *settings = setup->settings;
    const pl_lda *lda = pl_lda_of(setup->problem);
    pl_svi *self;
    parley_status status = pl_take(&self, 1, sizeof *self, "svi", error);
    if (status != PARLEY_OK)
        return status;
    double own = setup->adds ? lda->documents : lda->documents / setup->team->workers;
    *self = (pl_svi){.base = {&pl_local_svi},
                     .lda = lda,
                     .team = setup->team,
                     .rule = {.topics = lda->topics,
                              .stride = pl_topic_stride(lda->topics),
                              .psi = lda->variational,
                              .steps = (unsigned)pl_topic_settings_of(settings)->inner_steps,
                              .tolerance = (float)pl_topic_settings_of(settings)->inner_tolerance},
                     .kappa = pl_topic_settings_of(settings)->kappa,
                     .all = strcmp(settings->batch, "all") == 0,
                     .owns_v = setup->owns_v,
                     .batches = count_batches(setup, own),
                     .slices = count_slices(setup, own),
                     .score.latest = lda->entropy};
    self->tau0 = !isnan(pl_topic_settings_of(settings)->tau0) ? pl_topic_settings_of(settings)->tau0
                 : lda->variational                           ? VARIATIONAL_TAU0
                                                              : COLLAPSED_TAU0;
    status = open_all(self, error);
    if (status != PARLEY_OK)
        pl_svi_close(&self->base);
    else
        *out = &self->base;
    return status;
}
