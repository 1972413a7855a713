/* trial.c: runs a configuration for a while, through the same door as every run. */
#include "advise/trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "advise/goal.h"
#include "base/clock.h"
#include "base/sort_numbers.h"
#include "base/stop.h"
#include "shard/distributed.h"

#define ENTRY_SHARE 0.5 /* cost of an entry of v, relative to a non-zero, in modelled costs */
#define LEAST_POINTS 3  /* gaps that an experiment shows at least, ... */
#define LEAST_ROUNDS 8  /* unless it takes so many rounds, ... */
#define TIMED_ROUNDS 2  /* or so many if only its times are asked for */
#define SPREAD_ROUNDS 256
#define LEAST_SPREAD 3 /* rounds whose spread means something */

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
    const pl_laboratory *laboratory;
    const parley_settings *settings;
    const pl_trial_end *end;
    pl_trial *trial;
    double began, cpu_began;
    double first, last;         /* seconds at the end of the first and of the last round */
    double seen;                /* the last gap that was evaluated */
    double took[SPREAD_ROUNDS]; /* seconds of the first rounds without evaluation, but not of the first one */
    unsigned timed;
    parley_summary summary;
} running;

/* Every second point goes if there are too many, and so do later ones. */
static void keep_point(pl_trial *trial, const pl_point_of_run *point) {
    if (trial->count == PL_TRIAL_POINTS) {
        for (unsigned i = 0; 2 * i + 1 < trial->count; i++)
            trial->points[i] = trial->points[2 * i + 1];
        trial->count /= 2;
    }
    trial->points[trial->count++] = *point;
}

static double cost_of(const running *self, const parley_progress *progress) {
    const pl_laboratory *laboratory = self->laboratory;
    if (!(laboratory->modelled > 0))
        return pl_now() - self->began;
    double columns = (double)laboratory->data->x.columns * self->trial->of.workers;
    return laboratory->modelled *
           (progress->epochs * (double)laboratory->data->x.nonzeros + ENTRY_SHARE * columns * (double)progress->round);
}

/* The point of a round that was evaluated, with all that a goal may ask for. */
static pl_point_of_run evaluated(const parley_progress *progress) {
    double scale = progress->gap / progress->relative_gap;
    return (pl_point_of_run){.round = (double)progress->round,
                             .gap = progress->relative_gap,
                             .objective = progress->objective / scale,
                             .metric = progress->metric ? progress->validation : NAN};
}

static int watch(void *user, const parley_progress *progress, const char *message) {
    running *self = user;
    pl_trial *trial = self->trial;
    if (message || progress->round == 0)
        return pl_stop_asked();
    trial->rounds = (double)progress->round;
    if (progress->round > 1 && progress->relative_gap == self->seen && self->timed < SPREAD_ROUNDS)
        self->took[self->timed++] = progress->seconds - self->last;
    self->last = progress->seconds;
    if (progress->round == 1)
        self->first = progress->seconds;
    pl_point_of_run point = evaluated(progress);
    if (progress->relative_gap != self->seen && progress->relative_gap > 0)
        keep_point(trial, &point);
    else if (progress->estimate > 0)
        keep_point(trial, &(pl_point_of_run){trial->rounds, progress->estimate, true, NAN, NAN});
    self->seen = progress->relative_gap;
    trial->cost = cost_of(self, progress);
    uint64_t enough = self->end->rounds ? TIMED_ROUNDS : LEAST_ROUNDS;
    bool tells = trial->count >= LEAST_POINTS || progress->round >= enough;
    bool there = self->end->goal->kind != PL_GOAL_GAP && !isnan(pl_goal_rounds(self->end->goal, trial));
    return there || (tells && trial->cost >= self->end->most) || pl_stop_asked();
}

/* Which rows each rank holds: those that it read, or else parts of equal length. */
static parley_status open_spread(const pl_engine *engine, const parley_data *data, pl_spread **out,
                                 parley_error *error) {
    const pl_spread *read = data->spread;
    uint64_t ranks = engine->ranks, rows = data->x.rows, count = read ? read->count : ranks;
    parley_status status = pl_take(out, 1, sizeof **out, "parts of the rows", error);
    if (status != PARLEY_OK)
        return status;
    (*out)->count = count;
    (*out)->rank = engine->rank;
    status = pl_take(&(*out)->pieces, count, sizeof *(*out)->pieces, "parts of the rows", error);
    for (uint64_t r = 0; r < count && status == PARLEY_OK; r++)
        (*out)->pieces[r] =
            read ? read->pieces[r]
                 : (pl_piece){.begin = rows * r / ranks, .end = rows * (r + 1) / ranks, .rank = (unsigned)r};
    return status;
}

/* Copies the rows that a rank of a cluster has read, since training gives them away. */
static parley_status hold_part(pl_engine *engine, const parley_data *data, parley_data **out, parley_error *error) {
    uint64_t rows = data->x.rows, *mine = NULL;
    uint64_t first = data->spread ? 0 : rows * engine->rank / engine->ranks;
    uint64_t after = data->spread ? rows : rows * (engine->rank + 1) / engine->ranks;
    pl_spread *spread = NULL;
    *out = NULL;
    parley_status status = open_spread(engine, data, &spread, error);
    if (status == PARLEY_OK)
        status = pl_take(&mine, after - first + 1, sizeof *mine, "parts of the rows", error);
    for (uint64_t i = first; i < after && status == PARLEY_OK; i++)
        mine[i - first] = i;
    if (status == PARLEY_OK)
        status = pl_data_subset(data, mine, after - first, out, error);
    pl_free(mine);
    if (status != PARLEY_OK) {
        pl_spread_free(spread);
        return status;
    }
    (*out)->spread = spread;
    return pl_spread_measure(engine, *out, error);
}

static parley_status train(pl_engine *engine, void *context, parley_error *error) {
    running *self = context;
    parley_data *part = NULL;
    parley_model *model = NULL;
    const parley_data *data = self->laboratory->data;
    bool first = engine->here == 0;
    parley_status status = engine->ranks > 1 ? hold_part(engine, data, &part, error) : PARLEY_OK;
    if (status == PARLEY_OK)
        status = pl_train_rank(engine, part ? part : data, self->settings, first && engine->rank == 0 ? watch : NULL,
                               self, &model, first ? &self->summary : NULL, error);
    parley_model_free(model);
    parley_data_free(part);
    return status;
}

/* How much longer than usual rounds sometimes take, or than they would take if the process had not waited for a
 * processor: other programs that took its time may end, and others may begin. */
static double spread_of(running *self) {
    double waited = log((pl_now() - self->began) / fmax(1e-9, pl_cpu_now() - self->cpu_began)), spread = NAN;
    if (self->timed >= LEAST_SPREAD) {
        pl_sort_numbers(self->took, self->timed);
        spread = log(self->took[(9 * self->timed) / 10] / self->took[self->timed / 2]);
    }
    return waited > 0 && !(self->laboratory->modelled > 0) ? fmax(spread, waited) : spread;
}

static void conclude(running *self) {
    pl_trial *trial = self->trial;
    trial->spread = spread_of(self);
    const parley_summary *summary = &self->summary;
    double rounds = trial->rounds;
    trial->reached = summary->stop == PARLEY_CONVERGED || summary->stop == PARLEY_VALIDATED;
    trial->of.lanes = (unsigned)summary->lanes;
    trial->round_seconds = rounds > 1 ? (self->last - self->first) / (rounds - 1) : self->last - summary->setup_seconds;
    trial->setup = fmax(0.0, self->first - trial->round_seconds);
    trial->exchange = rounds > 0 ? (summary->exchange_seconds + summary->wait_seconds) / rounds : 0;
    trial->bytes = rounds > 0 ? (double)summary->bytes_sent / rounds / (double)summary->workers : 0;
    if (trial->reached && summary->relative_gap > 0 &&
        (trial->count == 0 || trial->points[trial->count - 1].round < rounds))
        keep_point(trial, &(pl_point_of_run){rounds, summary->relative_gap, false,
                                             summary->objective * summary->relative_gap / summary->gap,
                                             summary->metric ? summary->validation : NAN});
}

static parley_status configure_trial(parley_settings *settings, const pl_configuration *of, double gap, uint64_t rounds,
                                     parley_error *error) {
    char number[40];
    parley_status status = pl_configure(settings, of, error);
    pl_number_text(gap, number, sizeof number);
    settings->rounds = rounds ? rounds : settings->rounds;
    settings->patience = UINT64_MAX; /* a plan asks for a value, and not for the best one */
    if (status == PARLEY_OK)
        status = pl_setting_set(settings, 0, "gap", number, error);
    return status == PARLEY_OK ? pl_train_check(settings, error) : status;
}

/* What the first rank tells the others about the next experiment. */
typedef struct order {
    pl_configuration of;
    double gap, sample;
    uint64_t rounds;
    bool ends;
} order;

/* Runs an experiment on the ranks that are there, or on an engine of its own. */
static parley_status run_it(running *self, parley_error *error) {
    pl_engine *engine = self->laboratory->engine;
    return engine ? train(engine, self, error) : pl_launch(self->settings, (pl_job){train, NULL, self}, error);
}

parley_status pl_trials_join(const pl_laboratory *all, const pl_laboratory *sample, parley_error *error) {
    parley_settings *copy = NULL;
    parley_status status = pl_settings_copy(all->settings, &copy, error);
    for (order next = {0}; status == PARLEY_OK;) {
        status = pl_broadcast(all->engine, 0, &next, sizeof next, error);
        if (status != PARLEY_OK || next.ends)
            break;
        const pl_laboratory *mine = next.sample < 1 && sample ? sample : all;
        running self = {.laboratory = mine, .settings = copy};
        status = pl_settings_assign(copy, mine->settings, error);
        if (status == PARLEY_OK)
            status = configure_trial(copy, &next.of, next.gap, next.rounds, error);
        if (status == PARLEY_OK)
            status = train(all->engine, &self, error);
        if (status == PARLEY_BAD_USAGE || status == PARLEY_NO_MEMORY)
            status = PARLEY_OK; /* the first rank fails alike, and decides */
    }
    parley_settings_free(copy);
    return status;
}

parley_status pl_trials_dismiss(pl_engine *engine, parley_error *error) {
    order end = {.ends = true};
    return engine && engine->ranks > 1 ? pl_broadcast(engine, 0, &end, sizeof end, error) : PARLEY_OK;
}

parley_status pl_trial_run(const pl_laboratory *laboratory, const pl_configuration *of, const pl_trial_end *end,
                           pl_trial *out, parley_error *error) {
    parley_settings *copy = NULL;
    double gap = pl_goal_gap(end->goal);
    *out = (pl_trial){.of = *of, .target = gap, .sample = laboratory->sample};
    order next = {.of = *of, .gap = gap, .sample = laboratory->sample, .rounds = end->rounds};
    running self = {
        .laboratory = laboratory, .trial = out, .end = end, .began = pl_now(), .cpu_began = pl_cpu_now(), .seen = NAN};
    parley_status status = pl_settings_copy(laboratory->settings, &copy, error);
    if (status == PARLEY_OK)
        status = pl_take(&out->points, PL_TRIAL_POINTS, sizeof *out->points, "an experiment", error);
    if (status == PARLEY_OK) {
        self.settings = copy;
        status = configure_trial(copy, of, gap, end->rounds, error);
    }
    if (status == PARLEY_OK && laboratory->engine && laboratory->engine->ranks > 1)
        status = pl_broadcast(laboratory->engine, 0, &next, sizeof next, error);
    if (status == PARLEY_OK)
        status = run_it(&self, error);
    if (!(laboratory->modelled > 0))
        out->cost = pl_now() - self.began; /* with setting up and the last evaluation */
    if (status == PARLEY_OK)
        conclude(&self);
    else {
        pl_free(out->points);
        out->points = NULL;
    }
    parley_settings_free(copy);
    return status;
}
