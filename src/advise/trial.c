/* trial.c: runs a configuration for a while, through the same door as every run. */
#include "advise/trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/stop.h"
#include "shard/distributed.h"

#define ENTRY_SHARE 0.5 /* cost of an entry of v, relative to a non-zero, in modelled costs */

bool pl_same_configuration(const pl_configuration *a, const pl_configuration *b) {
    bool same_h = a->epochs == b->epochs || (isnan(a->epochs) && isnan(b->epochs));
    bool same_lanes = a->lanes == b->lanes || a->lanes == 0 || b->lanes == 0;
    return strcmp(a->preset, b->preset) == 0 && a->workers == b->workers && same_lanes && same_h;
}

parley_status pl_trials_add(pl_trials *trials, const pl_trial *trial, parley_error *error) {
    if (trials->count == trials->room) {
        unsigned room = trials->room ? 2 * trials->room : 32;
        pl_trial *grown = pl_realloc(trials->list, room, sizeof *grown);
        if (!grown)
            return pl_fail_memory(error, "experiments", room * sizeof *grown);
        trials->list = grown;
        trials->room = room;
    }
    trials->list[trials->count++] = *trial;
    return PARLEY_OK;
}

void pl_trials_close(pl_trials *trials) {
    for (unsigned i = 0; i < trials->count; i++)
        pl_free(trials->list[i].points);
    pl_free(trials->list);
    *trials = (pl_trials){0};
}

parley_status pl_configure(parley_settings *settings, const pl_configuration *of, parley_error *error) {
    char number[40];
    parley_status status = pl_setting_set(settings, 0, "preset", of->preset, error);
    snprintf(number, sizeof number, "%u", of->workers);
    if (status == PARLEY_OK)
        status = pl_setting_set(settings, 0, "workers", number, error);
    if (status == PARLEY_OK && strcmp(settings->engine, "sim") == 0)
        status = pl_setting_set(settings, 0, "hosts", number, error);
    if (status == PARLEY_OK && of->lanes) {
        snprintf(number, sizeof number, "%u", of->lanes);
        status = pl_setting_set(settings, 0, "lanes", number, error);
    }
    if (status == PARLEY_OK && !isnan(of->epochs)) {
        pl_number_text(of->epochs, number, sizeof number);
        status = pl_setting_set(settings, 0, "local_epochs", number, error);
    }
    return status;
}

/* A running trial. */
typedef struct running {
    const parley_data *data;
    const parley_settings *settings;
    pl_trial *trial;
    double most, modelled, began;
    double first, last; /* seconds at the end of the first and of the last round */
    double seen;        /* the last gap that was evaluated */
    parley_summary summary;
} running;

/* Every second point goes if there are too many, and so do later ones. */
static void keep_point(pl_trial *trial, double round, double gap, bool estimated) {
    if (trial->count == PL_TRIAL_POINTS) {
        for (unsigned i = 0; 2 * i + 1 < trial->count; i++)
            trial->points[i] = trial->points[2 * i + 1];
        trial->count /= 2;
    }
    trial->points[trial->count++] = (pl_point_of_run){round, gap, estimated};
}

static double cost_of(const running *this, const parley_progress *progress) {
    if (!(this->modelled > 0))
        return pl_now() - this->began;
    double columns = (double)this->data->x.columns * this->trial->of.workers;
    return this->modelled *
           (progress->epochs * (double)this->data->x.nonzeros + ENTRY_SHARE * columns * (double)progress->round);
}

static int watch(void *user, const parley_progress *progress, const char *message) {
    running *this = user;
    pl_trial *trial = this->trial;
    if (message || progress->round == 0)
        return pl_stop_asked();
    trial->rounds = (double)progress->round;
    this->last = progress->seconds;
    if (progress->round == 1)
        this->first = progress->seconds;
    if (progress->relative_gap != this->seen && progress->relative_gap > 0)
        keep_point(trial, trial->rounds, progress->relative_gap, false);
    else if (progress->estimate > 0)
        keep_point(trial, trial->rounds, progress->estimate, true);
    this->seen = progress->relative_gap;
    trial->cost = cost_of(this, progress);
    return trial->cost >= this->most || pl_stop_asked();
}

/* Which rows each rank holds: parts of equal length. */
static parley_status open_spread(const pl_engine *engine, uint64_t rows, pl_spread **out, parley_error *error) {
    uint64_t ranks = engine->ranks;
    parley_status status = pl_take(out, 1, sizeof **out, "parts of the rows", error);
    if (status != PARLEY_OK)
        return status;
    (*out)->count = ranks;
    (*out)->rank = engine->rank;
    status = pl_take(&(*out)->pieces, ranks, sizeof *(*out)->pieces, "parts of the rows", error);
    for (uint64_t r = 0; r < ranks && status == PARLEY_OK; r++)
        (*out)->pieces[r] = (pl_piece){.begin = rows * r / ranks, .end = rows * (r + 1) / ranks, .rank = (unsigned)r};
    return status;
}

/* The rows that a rank of a cluster would have read. */
static parley_status hold_part(pl_engine *engine, const parley_data *all, parley_data **out, parley_error *error) {
    uint64_t rows = all->x.rows, *mine = NULL;
    uint64_t first = rows * engine->rank / engine->ranks, after = rows * (engine->rank + 1) / engine->ranks;
    pl_spread *spread = NULL;
    *out = NULL;
    parley_status status = open_spread(engine, rows, &spread, error);
    if (status == PARLEY_OK)
        status = pl_take(&mine, after - first + 1, sizeof *mine, "parts of the rows", error);
    for (uint64_t i = first; i < after && status == PARLEY_OK; i++)
        mine[i - first] = i;
    if (status == PARLEY_OK)
        status = pl_data_subset(all, mine, after - first, out, error);
    pl_free(mine);
    if (status != PARLEY_OK) {
        pl_spread_free(spread);
        return status;
    }
    (*out)->spread = spread;
    return pl_spread_measure(engine, *out, error);
}

static parley_status train(pl_engine *engine, void *context, parley_error *error) {
    running *this = context;
    parley_data *part = NULL;
    parley_model *model = NULL;
    bool first = engine->here == 0;
    parley_status status = engine->ranks > 1 ? hold_part(engine, this->data, &part, error) : PARLEY_OK;
    if (status == PARLEY_OK)
        status = pl_train_rank(engine, part ? part : this->data, this->settings, first ? watch : NULL, this, &model,
                               first ? &this->summary : NULL, error);
    parley_model_free(model);
    parley_data_free(part);
    return status;
}

static void conclude(running *this) {
    pl_trial *trial = this->trial;
    const parley_summary *summary = &this->summary;
    double rounds = trial->rounds;
    trial->reached = summary->stop == PARLEY_CONVERGED;
    trial->of.lanes = (unsigned)summary->lanes;
    trial->round_seconds = rounds > 1 ? (this->last - this->first) / (rounds - 1) : this->last - summary->setup_seconds;
    trial->setup = fmax(0.0, this->first - trial->round_seconds);
    trial->exchange = rounds > 0 ? (summary->exchange_seconds + summary->wait_seconds) / rounds : 0;
    trial->bytes = rounds > 0 ? (double)summary->bytes_sent / rounds / (double)summary->workers : 0;
    if (trial->reached && summary->relative_gap > 0 &&
        (trial->count == 0 || trial->points[trial->count - 1].round < rounds))
        keep_point(trial, rounds, summary->relative_gap, false);
}

static parley_status configure_trial(parley_settings *settings, const pl_configuration *of, double target,
                                     parley_error *error) {
    char number[40];
    parley_status status = pl_configure(settings, of, error);
    pl_number_text(target, number, sizeof number);
    return status == PARLEY_OK ? pl_setting_set(settings, 0, "gap", number, error) : status;
}

parley_status pl_trial_run(const parley_data *data, const parley_settings *settings, const pl_configuration *of,
                           double target, double most, double modelled, uint64_t rounds, pl_trial *out,
                           parley_error *error) {
    parley_settings *copy = NULL;
    *out = (pl_trial){.of = *of, .target = target};
    running this = {.data = data, .trial = out, .most = most, .modelled = modelled, .began = pl_now(), .seen = NAN};
    parley_status status = pl_take(&copy, 1, sizeof *copy, "settings", error);
    if (status == PARLEY_OK)
        status = pl_take(&out->points, PL_TRIAL_POINTS, sizeof *out->points, "an experiment", error);
    if (status == PARLEY_OK) {
        *copy = *settings;
        this.settings = copy;
        copy->rounds = rounds ? rounds : copy->rounds;
        status = configure_trial(copy, of, target, error);
    }
    if (status == PARLEY_OK)
        status = pl_train_check(copy, error);
    if (status == PARLEY_OK)
        status = pl_launch(copy, (pl_job){train, NULL, &this}, error);
    if (status == PARLEY_OK)
        conclude(&this);
    else {
        pl_free(out->points);
        out->points = NULL;
    }
    pl_free(copy);
    return status;
}
