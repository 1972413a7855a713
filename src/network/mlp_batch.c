/* mlp_batch.c: the gradient of one batch. */
#include <string.h>

#include "network/mlp.h"

#define ORDER_STREAM 0x6d6c7000u
#define DROP_STREAM 0x64726f70u

static uint64_t number_of(const pl_mlp *self, unsigned task) {
    return (uint64_t)self->team->first * self->team->lanes + task;
}

static void shuffle(pl_mlp *self, unsigned task, uint64_t epoch) {
    pl_mlp_lane *lane = &self->lane[task];
    const pl_part *part = &self->team->parts[task];
    uint64_t count = 0;
    if (lane->epoch == epoch)
        return;
    for (uint64_t r = 0; r < part->count; r++)
        for (uint64_t i = part->ranges[r].begin; i < part->ranges[r].end; i++)
            lane->order[count++] = i;
    uint64_t seed = self->net->seed ^ self->before; /* a run that continues shuffles in other ways */
    pl_stream stream = pl_stream_make(seed, ORDER_STREAM + epoch, number_of(self, task));
    pl_shuffle(&stream, lane->order, count);
    lane->epoch = epoch;
}

double pl_mlp_choose(pl_mlp *self, unsigned k, uint64_t step) {
    const parley_data *data = self->net->base.data;
    uint64_t batch = step % self->batches;
    double weight = 0;
    for (unsigned l = 0; l < self->team->lanes; l++) {
        unsigned task = k * self->team->lanes + l;
        pl_mlp_lane *lane = &self->lane[task];
        shuffle(self, task, step / self->batches + 1);
        lane->begin = lane->rows * batch / self->batches;
        lane->end = lane->rows * (batch + 1) / self->batches;
        for (uint64_t i = lane->begin; i < lane->end && data->weight; i++)
            weight += data->weight[lane->order[i]];
        weight += data->weight ? 0.0 : (double)(lane->end - lane->begin);
    }
    return weight;
}

/* Copies the targets and weights of `count` rows. */
static pl_net_targets take_targets(const pl_mlp *self, pl_mlp_lane *lane, const uint64_t *rows, uint64_t count) {
    const pl_net *net = self->net;
    const double *weight = net->base.data->weight;
    uint64_t outputs = net->shape.width[net->shape.layers];
    for (uint64_t r = 0; r < count; r++) {
        if (net->kind)
            lane->kind[r] = net->kind[rows[r]];
        else
            memcpy(lane->real + r * outputs, net->real + rows[r] * outputs, outputs * sizeof *lane->real);
        if (weight)
            lane->weight[r] = (float)weight[rows[r]];
    }
    return (pl_net_targets){lane->kind, lane->real, weight ? lane->weight : NULL};
}

static double weight_of(const pl_net_targets *targets, uint64_t count) {
    double sum = 0;
    for (uint64_t r = 0; r < count && targets->weight; r++)
        sum += (double)targets->weight[r];
    return targets->weight ? sum : (double)count;
}

/* Sums the losses of `count` rows, and leaves their derivatives in the room. */
static void look_at(pl_mlp *self, unsigned task, const float *w, const uint64_t *rows, uint64_t count, float factor,
                    uint64_t step) {
    pl_mlp_lane *lane = &self->lane[task];
    pl_stream stream = pl_stream_make(self->net->seed ^ DROP_STREAM, number_of(self, task), step);
    if (!pl_net_gather(&lane->room, &self->net->base.data->x, rows, 0, count)) {
        atomic_store(&self->lost, true);
        return;
    }
    pl_net_targets targets = take_targets(self, lane, rows, count);
    pl_net_forward(&lane->room, w, (float)self->net->dropout, &stream);
    lane->loss += pl_net_losses(&lane->room, &targets, factor);
    lane->seen += weight_of(&targets, count);
}

void pl_mlp_visit(pl_mlp *self, unsigned task, uint64_t step) {
    pl_mlp_lane *lane = &self->lane[task];
    const pl_mlp_worker *worker = &self->worker[task / self->team->lanes];
    uint64_t most = lane->room.most;
    bool more = false;
    lane->loss = lane->seen = 0;
    if (lane->begin == lane->end)
        memset(lane->gradient, 0, self->net->shape.room * sizeof *lane->gradient);
    for (uint64_t i = lane->begin; i < lane->end && !pl_stop_due(); i += most, more = true) {
        uint64_t count = lane->end - i < most ? lane->end - i : most;
        look_at(self, task, worker->w, lane->order + i, count, worker->factor, step * lane->rows + i);
        if (!self->lost)
            pl_net_backward(&lane->room, worker->w, more, lane->gradient);
    }
}

typedef struct sampling {
    pl_mlp *mlp;
    const float *w;
} sampling;

/* Rows at equal distances in the lane's part. */
static uint64_t choose_sample(const pl_part *part, uint64_t *rows) {
    uint64_t most = part->rows < PL_MLP_SAMPLE ? part->rows : PL_MLP_SAMPLE, count = 0, seen = 0;
    for (uint64_t r = 0; r < part->count; r++) {
        uint64_t begin = part->ranges[r].begin, length = part->ranges[r].end - begin;
        for (; count < most && count * part->rows / most < seen + length; count++)
            rows[count] = begin + count * part->rows / most - seen;
        seen += length;
    }
    return count;
}

static void sample_task(void *context, unsigned task) {
    const sampling *all = context;
    pl_mlp_lane *lane = &all->mlp->lane[task];
    uint64_t rows[PL_MLP_SAMPLE], count = choose_sample(&all->mlp->team->parts[task], rows), most = lane->room.most;
    lane->loss = lane->seen = 0;
    for (uint64_t i = 0; i < count; i += most)
        look_at(all->mlp, task, all->w, rows + i, count - i < most ? count - i : most, 1.0F, i);
}

parley_status pl_mlp_sample(pl_mlp *self, const double *v, double *loss, parley_error *error) {
    const pl_net_shape *shape = &self->net->shape;
    pl_engine *engine = self->team->engine;
    unsigned hosted = self->team->hosted, lanes = self->team->lanes;
    double *sums = self->team->worker_sums, all[2];
    float *w;
    parley_status status = pl_take(&w, shape->room + PL_NET_PAD, sizeof *w, "the network", error);
    if (status != PARLEY_OK)
        return status;
    pl_net_pad(shape, v, 0, shape->size, w);
    engine->type->run(engine, sample_task, &(sampling){self, w}, hosted * lanes);
    memset(sums, 0, 2 * (uint64_t)hosted * sizeof *sums);
    for (unsigned task = 0; task < hosted * lanes; task++) {
        sums[2 * (task / lanes)] += self->lane[task].loss;
        sums[2 * (task / lanes) + 1] += self->lane[task].seen;
    }
    pl_free(w);
    status = pl_team_sum(self->team, sums, 2, all, error);
    *loss = all[0] / all[1];
    return status;
}
