/* net_accuracy.c: the share of the training rows whose class a network predicts, weighted by the rows' weights. */
#include <math.h>

#include "network/net.h"
#include "shard/team.h"

typedef struct counting {
    const pl_net *net;
    const pl_team *team;
    const parley_model *model;
    double *sums; /* by lane: the weight of rows that are right, and of all rows */
    double *values;
} counting;

static bool is_right(const counting *all, const double *z, uint32_t kind) {
    bool right = true;
    for (uint64_t o = 0; o < all->model->outputs; o++)
        right &= o == kind || z[o] < z[kind];
    return right;
}

static void count_task(void *context, unsigned task) {
    const counting *all = context;
    const parley_data *data = all->net->base.data;
    double *z = all->values + (uint64_t)task * PL_ROW_CHUNK * all->model->outputs;
    pl_walk walk = pl_walk_entries(data);
    while (pl_walk_on(&all->team->parts[task], &walk)) {
        all->model->type->apply(all->model, &data->x, walk.begin, walk.end, z);
        for (uint64_t i = walk.begin; i < walk.end; i++) {
            double weight = data->weight ? data->weight[i] : 1.0;
            if (is_right(all, z + (i - walk.begin) * all->model->outputs, all->net->kind[i]))
                all->sums[2 * task] += weight;
            all->sums[2 * task + 1] += weight;
        }
    }
}

parley_status pl_net_accuracy(const pl_net *net, const pl_team *team, const parley_model *model, double *accuracy,
                              parley_error *error) {
    unsigned lanes = team->lanes, hosted = team->hosted;
    counting all = {net, team, model, NULL, NULL};
    double sums[2] = {0, 0};
    parley_status status = pl_take(&all.sums, 2 * (uint64_t)hosted * lanes, sizeof *all.sums, "the accuracy", error);
    if (status == PARLEY_OK)
        status = pl_take(&all.values, (uint64_t)hosted * lanes * PL_ROW_CHUNK * model->outputs, sizeof *all.values,
                         "the accuracy", error);
    if (status == PARLEY_OK) {
        pl_team_run(team, count_task, &all);
        for (unsigned k = 0; k < hosted; k++)
            for (unsigned l = 0; l < lanes; l++)
                for (unsigned s = 0; s < 2; s++)
                    team->worker_sums[2 * k + s] =
                        (l ? team->worker_sums[2 * k + s] : 0) + all.sums[2 * (k * lanes + l) + s];
        status = pl_team_sum(team, team->worker_sums, 2, sums, error);
    }
    pl_free(all.sums);
    pl_free(all.values);
    *accuracy = status == PARLEY_OK && sums[1] > 0 ? sums[0] / sums[1] : NAN;
    return status == PARLEY_STOPPED ? PARLEY_OK : status;
}
