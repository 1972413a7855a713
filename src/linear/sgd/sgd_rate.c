/* sgd_rate.c: a first rate, and a schedule, without tuning. From the model without features, one pass over a small
 * sample of rows is made at rates that are factors of two apart, and each outcome is judged on other rows (Bottou's
 * calibration). The first worker's rank does it and tells the others.
 *
 * Schedule auto is constant, unless columns are of very different sizes and normalised rates gain nearly as much.
 *
 * The mean of K copies is less noisy than one of them, and each has made a K-th of the steps, so that a larger rate may
 * be better for it: K / 8 times as large and less are tried by an epoch of all workers, averaged. The run begins
 * at the best of these means. */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "engine/collective.h"
#include "linear/sgd/sgd.h"

#define SAMPLE 1000 /* rows to step on, and as many to judge by */
#define TRIALS 24   /* either way */
#define FAILURES 3  /* in a row, because small samples are noisy */
#define LITTLE 1e-2 /* of the objective, to be gained on a sample that tells anything */
#define MOST 0.7    /* of what plain rates gain on the sample: normalised ones gain more later */
#define TRIAL_STREAM 0x747269616cULL
#define BOOST 8        /* workers for each time that the mean's rate is larger, at most */
#define MOST_ROWS 8000 /* of a worker, in such a trial */
#define FIRST_RATE 0.5 /* of adaptive schedules, as in Vowpal Wabbit */

static void forget(const pl_sgd *sgd, pl_sgd_worker *worker) {
    for (uint64_t j = 0; worker->cells && j < sgd->glm->base.size; j++)
        worker->cells[j].sum = worker->cells[j].scale = 0;
    worker->rows_seen = worker->norms = 0;
    if (sgd->in_place)
        memcpy(sgd->v, sgd->null, sgd->glm->base.size * sizeof *sgd->v);
}

/* Objective on the sample after a pass over the other half of it. */
static double outcome(pl_sgd *sgd, pl_sgd_worker *worker, uint64_t count, double rate) {
    const pl_glm *glm = sgd->glm;
    double loss = 0, weight = 0, slope, curvature, penalty = 0;
    forget(sgd, worker);
    worker->v = sgd->v;
    pl_sgd_begin(sgd, worker);
    for (uint64_t n = 0; n < count; n += 2)
        pl_sgd_visit(sgd, worker, worker->buckets[n], rate);
    for (uint64_t n = 1; n < count; n += 2) {
        uint64_t bucket = worker->buckets[n];
        for (uint64_t i = pl_bucket_row(bucket); i < pl_bucket_end(bucket); i++) {
            double z = pl_sgd_margin(sgd, worker, i), q = pl_share(glm, i);
            loss += q * glm->loss->expand(glm->loss, z, pl_target(glm, i), &slope, &curvature);
            weight += q;
        }
    }
    for (uint64_t e = 0; e < worker->supported; e++) {
        uint64_t j = worker->support ? worker->support[e] : e;
        double w = pl_sgd_entry(sgd, worker, j);
        penalty += pl_penalised(glm, j) ? glm->base.l1 * fabs(w) + 0.5 * glm->base.l2 * w * w : 0.0;
    }
    return weight > 0 ? loss / weight + penalty : INFINITY;
}

/* Goes on by `factor` until that has not helped for some trials; returns whether it ever did. */
static bool go_on(pl_sgd *sgd, pl_sgd_worker *worker, uint64_t count, double factor, double *best) {
    bool helped = false;
    double rate = sgd->rate;
    for (unsigned i = 0, failed = 0; i < TRIALS && failed < FAILURES; i++) {
        rate *= factor;
        double found = outcome(sgd, worker, count, rate);
        bool better = found < *best || !isfinite(*best);
        failed = better ? 0 : failed + 1;
        if (!better)
            continue;
        sgd->rate = rate;
        *best = found;
        helped = true;
    }
    return helped;
}

static double safe_rate(const pl_sgd *sgd) {
    const pl_glm *glm = sgd->glm;
    double norm2 = glm->mean_norm2 + sgd->ease;
    return pl_sgd_adapts(sgd) ? FIRST_RATE : 1.0 / (pl_loss_step_curvature(glm->loss) * norm2 + glm->base.l2);
}

/* Leaves the best rate for the schedule in sgd->rate; returns what it came to. A rate that was given stays. */
static double try_rates(pl_sgd *sgd, pl_schedule schedule, double given, double *null) {
    pl_sgd_worker *worker = &sgd->workers[0];
    uint64_t count = 2 * SAMPLE / pl_bucket_rows(sgd->glm->base.data);
    count = count < worker->count ? count : worker->count;
    pl_sgd_place(sgd, schedule);
    sgd->rate = isnan(given) ? safe_rate(sgd) : given;
    *null = 0;
    if (count < 2)
        return INFINITY;
    *null = outcome(sgd, worker, count, 0.0);
    double best = outcome(sgd, worker, count, sgd->rate);
    if (isnan(given) && (!isfinite(best) || !go_on(sgd, worker, count, 2.0, &best)))
        go_on(sgd, worker, count, 0.5, &best);
    if (isnan(given) && !(best < *null - LITTLE * fabs(*null)))
        sgd->rate = safe_rate(sgd);
    return best;
}

/* On the first worker's rank. */
static void settle(pl_sgd *sgd, pl_schedule asked, bool may_adapt, double given) {
    double null;
    double plain = try_rates(sgd, asked == PL_ANY ? PL_CONSTANT : asked, given, &null);
    if (asked != PL_ANY || !may_adapt || !sgd->uneven)
        return;
    double rate = sgd->rate, normalised = try_rates(sgd, PL_NORMALISED, given, &null);
    if (null - normalised > fmax(LITTLE * fabs(null), MOST * (null - plain)))
        return;
    sgd->schedule = PL_CONSTANT;
    sgd->rate = rate;
}

/* The sample is the first of the shuffled rows, because labels in files are sorted, or take turns. */
static void settle_on_sample(pl_sgd *sgd, pl_schedule asked, bool may_adapt, double given) {
    pl_sgd_mix(sgd, 0, sgd->team->seed ^ TRIAL_STREAM, 0);
    settle(sgd, asked, may_adapt, given);
    pl_sgd_fill(sgd, 0);
}

/* The mean of the workers' copies. */
static void add_copy(const void *context, const pl_part *part, double *sums) {
    const pl_sgd *sgd = context;
    const pl_team *team = sgd->team;
    unsigned task = (unsigned)(part - team->parts);
    if (task % team->lanes)
        return;
    const pl_sgd_worker *worker = &sgd->workers[task / team->lanes];
    double share = team->weight[task / team->lanes] / sgd->glm->base.total;
    for (uint64_t j = 0; j < sgd->glm->base.size; j++)
        sums[j] = share * worker->shrink * sgd->null[j];
    for (uint64_t e = 0; e < worker->supported; e++)
        sums[worker->support ? worker->support[e] : e] += share * worker->change[e];
}

static void pass_task(void *context, unsigned k) {
    pl_sgd *sgd = context;
    pl_sgd_worker *worker = &sgd->workers[k];
    uint64_t most = 1 + MOST_ROWS / pl_bucket_rows(sgd->glm->base.data);
    worker->v = sgd->null;
    pl_sgd_begin(sgd, worker);
    for (uint64_t n = 0; n < worker->count && n < most; n++)
        pl_sgd_visit(sgd, worker, worker->buckets[n], sgd->boost * sgd->rate);
    worker->shrink = pl_sgd_end(sgd, worker);
}

/* Leaves the best multiple of the rate in sgd->boost, and where it came to in v_least. */
static parley_status try_means(pl_sgd *sgd, double *mean, parley_error *error) {
    const pl_team *team = sgd->team;
    double least, found = INFINITY, last = INFINITY, best = 1.0;
    parley_status status = pl_sgd_look(sgd, sgd->v_least, &least, error);
    for (sgd->boost = team->workers / BOOST; status == PARLEY_OK && sgd->boost >= 1.0; sgd->boost *= 0.5) {
        team->engine->type->run(team->engine, pass_task, sgd, team->hosted);
        status = pl_sum_tables(team, sgd->glm->base.size, add_copy, sgd, mean, error);
        if (status == PARLEY_OK)
            status = pl_sgd_look(sgd, mean, &found, error);
        if (status != PARLEY_OK || !(found < last || !isfinite(last)))
            break;
        last = found;
        if (!(found < least))
            continue;
        least = found;
        best = sgd->boost;
        memcpy(sgd->v_least, mean, sgd->glm->base.size * sizeof *mean);
    }
    sgd->boost = best;
    sgd->rate *= best;
    return status;
}

static parley_status settle_on_means(pl_sgd *sgd, parley_error *error) {
    const pl_team *team = sgd->team;
    double *mean;
    parley_status status = pl_take(&mean, sgd->glm->base.size, sizeof *mean, "a mean of models", error);
    if (status != PARLEY_OK)
        return status;
    for (unsigned k = 0; k < team->hosted; k++)
        pl_sgd_mix(sgd, k, team->seed ^ TRIAL_STREAM, 1);
    status = try_means(sgd, mean, error);
    for (unsigned k = 0; k < team->hosted; k++)
        pl_sgd_fill(sgd, k);
    pl_free(mean);
    return status;
}

/* Longer rounds, and rows that count for more, have rates of their own. */
static bool may_boost(const pl_sgd *sgd, const pl_setup *setup) {
    const parley_settings *settings = setup->settings;
    return isnan(settings->rate) && sgd->team->workers >= 2 * BOOST && !sgd->in_place && !pl_sgd_adapts(sgd) &&
           !pl_linear_settings_of(settings)->reweight && !(settings->local_epochs > 1.0) && !setup->adds;
}

parley_status pl_sgd_settle(pl_sgd *sgd, const pl_setup *setup, parley_error *error) {
    const pl_team *team = sgd->team;
    pl_schedule asked = (pl_schedule)setup->settings->schedule;
    double given = setup->settings->rate, *t = sgd->t, *sums = team->worker_sums, settled[2];
    sgd->null = setup->first;
    sgd->boost = 1.0;
    sgd->may_rise = isnan(given) && sgd->glm->lambda == 0;
    memcpy(sgd->v_least, setup->first, sgd->glm->base.size * sizeof *sgd->v_least);
    sgd->v = sgd->v_least;
    sgd->t = NULL; /* what a trial meets is no dual point */
    memset(sums, 0, 2 * team->hosted * sizeof *sums);
    if (team->hosted > 0 && team->first == 0) {
        if (asked != PL_ANY && !isnan(given)) {
            sgd->schedule = asked;
            sgd->rate = given;
        } else
            settle_on_sample(sgd, asked, pl_sgd_may_adapt(setup), given);
        sums[0] = sgd->rate;
        sums[1] = (double)sgd->schedule;
    }
    parley_status status = pl_team_sum(team, sums, 2, settled, error);
    memcpy(sgd->v_least, setup->first, sgd->glm->base.size * sizeof *sgd->v_least);
    sgd->rate = isnan(given) && setup->adds ? settled[0] / team->workers : settled[0];
    pl_sgd_place(sgd, (pl_schedule)settled[1]);
    if (status == PARLEY_OK && may_boost(sgd, setup))
        status = settle_on_means(sgd, error);
    sgd->t = t;
    for (unsigned k = 0; k < team->hosted; k++)
        sgd->workers[k].rows_seen = sgd->workers[k].norms = 0;
    return status;
}
