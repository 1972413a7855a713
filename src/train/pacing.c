/* pacing.c: how long to work between two exchanges.
 *
 * A round of H epochs costs a H + b seconds, where a and b are fitted to the latest rounds. It reduces the logarithm of
 * the gap by about G (1 - exp(-H / h)): local work beyond the reach h gains little, because the others' changes undo
 * it. The H that gains most per second solves e^x = 1 + x + b / (a h), x = H / h. It ranges from a single step, if
 * communication is free, to several epochs, if it is expensive.
 *
 * h starts at a common value and is learnt. From time to time a block of rounds runs at twice or half of H. If its
 * decrease of the gap per second beats the blocks before and after it, H moves there, and h becomes the reach for which
 * that H is optimal. Trials that change nothing become rarer. Gains are counted in rounds, and seconds come from the
 * fit, so that a noisy clock does not decide. */
#include "train/pacing.h"

#include <math.h>
#include <stdlib.h>

#include "base/sort_numbers.h"

#define FIRST_REACH 0.8 /* measured 0.25 to 1.1 on text and census data with two kinds of models */
#define SETTLE 5        /* rounds before blocks begin, in which costs are learnt; the first is on cold memory */
#define CAUTIOUS 0.25   /* least H until then, so that one outlier cannot decide too much */
#define SLOPE_ROUNDS 3  /* rounds of one H before it is compared with others */
#define BLOCK_POINTS 12 /* least points of a block */
#define BLOCK_ROUNDS 48 /* most rounds of a block, unless too few were evaluated */
#define BLOCK_EPOCHS 8  /* epochs of a block if that is longer, since estimates of the gap from few rows are noisy */
#define TRANSIENT 2     /* first rounds of a block, which are not counted */
#define FEWEST_POINTS 3 /* least points for a slope */
#define BLOCK_FALL 0.7  /* decrease of the logarithm of the gap that ends a block */
#define MARGIN 1.1      /* factor by which a trial must be better */
#define STAY 0.5        /* H does not move by less than this part of a factor of two */
#define WORTH 1.05      /* factor by which a change of H must be predicted to be better */
#define EARLY_WORTH 1.2 /* the same in the first rounds, which are little evidence */
#define SURE 1.5        /* standard errors by which a trial must be better */
#define WINS 2          /* successive trials that must be better, since the gain per round varies during training */
#define FIRST_WAIT 3    /* blocks before the first trial, since short runs would not benefit */

double pl_pacing_best(double epoch_seconds, double round_seconds, double reach) {
    double ratio = round_seconds / (epoch_seconds * reach), low = 0, high = 64;
    for (unsigned i = 0; i < 60; i++) {
        double x = 0.5 * (low + high);
        if (exp(x) < 1.0 + x + ratio)
            low = x;
        else
            high = x;
    }
    return reach * low;
}

/* The reach for which H would be optimal. */
static double reach_of(const pl_pacing *pacing, double epochs) {
    double low = PL_PACING_FEWEST, high = 1.0 / PL_PACING_FEWEST;
    for (unsigned i = 0; i < 60; i++) {
        double reach = sqrt(low * high);
        if (pl_pacing_best(pacing->epoch_seconds, pacing->round_seconds, reach) < epochs)
            low = reach;
        else
            high = reach;
    }
    return sqrt(low * high);
}

static double quantile(double *values, unsigned count, double share) {
    pl_sort_numbers(values, count);
    return values[(unsigned)(share * (count - 1))];
}

/* Seconds of local work of a round of H: the lower quartile of the recent rounds, because other programs can only slow
 * them down. NaN if there are too few. */
static double usual_local(const pl_pacing *pacing, unsigned count, double epochs) {
    double values[PL_PACING_ROUNDS];
    unsigned same = 0;
    for (unsigned i = 0; i < count; i++)
        if (pacing->work[i] == epochs)
            values[same++] = pacing->local[i];
    return same < (pacing->rounds <= SETTLE ? 1 : SLOPE_ROUNDS) ? NAN : quantile(values, same, 0.25);
}

/* The median slope of local work between rounds of different H (Theil and Sen), per epoch; NaN if all H are equal. */
static double local_slope(const pl_pacing *pacing, unsigned count) {
    double slopes[PL_PACING_ROUNDS * (PL_PACING_ROUNDS - 1) / 2], usual[PL_PACING_ROUNDS];
    const double *work = pacing->work;
    unsigned pairs = 0;
    for (unsigned i = 0; i < count; i++) {
        usual[i] = usual_local(pacing, count, work[i]);
        for (unsigned j = 0; j < i; j++)
            if (work[i] != work[j] && !isnan(usual[i]) && !isnan(usual[j]))
                slopes[pairs++] = (usual[i] - usual[j]) / (work[i] - work[j]);
    }
    return pairs ? quantile(slopes, pairs, 0.5) : NAN;
}

/* Seconds of local work per epoch, without the fixed part per round. */
static double per_epoch(const pl_pacing *pacing, unsigned count, double fixed) {
    double values[PL_PACING_ROUNDS];
    for (unsigned i = 0; i < count; i++)
        values[i] = (pacing->local[i] - fixed) / pacing->work[i];
    return quantile(values, count, 0.25);
}

/* Fits the costs of an epoch and of a round. Part of the local work is fixed per round (such as copies of v). It shows
 * in rounds of different H, and is remembered while all H are equal. */
static void fit_costs(pl_pacing *pacing) {
    double values[PL_PACING_ROUNDS];
    uint64_t noted = pacing->rounds - 1;
    unsigned count = noted < PL_PACING_ROUNDS ? (unsigned)noted : PL_PACING_ROUNDS;
    double whole = per_epoch(pacing, count, 0), slope = local_slope(pacing, count), measured = slope;
    if (isnan(slope))
        slope = per_epoch(pacing, count, isnan(pacing->fixed_seconds) ? 0.0 : pacing->fixed_seconds);
    pacing->epoch_seconds = fmax(1e-9, fmin(whole, fmax(slope, 0.1 * whole)));
    for (unsigned i = 0; i < count; i++)
        values[i] = fmax(0.0, pacing->local[i] - pacing->epoch_seconds * pacing->work[i]);
    if (!isnan(measured))
        pacing->fixed_seconds = quantile(values, count, 0.25);
    for (unsigned i = 0; i < count; i++)
        values[i] = fmax(0.0, pacing->local[i] - pacing->epoch_seconds * pacing->work[i]) + pacing->rest[i];
    pacing->round_seconds = fmax(quantile(values, count, 0.25), 1e-6 * pacing->epoch_seconds);
}

static double bounded(const pl_pacing *pacing, double epochs) {
    return fmin(PL_PACING_MOST, fmax(pacing->least, epochs));
}

static void begin_block(pl_pacing *pacing, double epochs, const char *why) {
    pacing->epochs = epochs;
    pacing->why = why;
    pacing->block = (pl_pacing_block){0};
}

/* While little is known: at least CAUTIOUS, and above 1 only if the measured cost per round justifies it. */
static double settling(const pl_pacing *pacing, double best) {
    double rest[PL_PACING_ROUNDS];
    unsigned count = (unsigned)pacing->rounds - 1;
    for (unsigned i = 0; i < count; i++)
        rest[i] = pacing->rest[i];
    double alone = pl_pacing_best(pacing->epoch_seconds, quantile(rest, count, 0.25), pacing->reach);
    return fmax(CAUTIOUS, fmin(best, fmax(1.0, alone)));
}

static double gain(const pl_pacing *pacing, double epochs) { return -expm1(-epochs / pacing->reach); }

/* A plan's reach belongs to its seconds of an epoch. Epochs that become shorter because rows rest gain less, too. */
static double epoch_seconds(const pl_pacing *pacing) {
    return pacing->planned > 0 ? fmax(pacing->planned, pacing->epoch_seconds) : pacing->epoch_seconds;
}

static double seconds_of(const pl_pacing *pacing, double epochs) {
    return epochs * epoch_seconds(pacing) + pacing->round_seconds;
}

/* Whether the change is predicted to gain enough per second. */
static bool is_worth(const pl_pacing *pacing, double from, double to) {
    double more = pacing->rounds <= SETTLE ? EARLY_WORTH : WORTH;
    return gain(pacing, to) * seconds_of(pacing, from) > more * gain(pacing, from) * seconds_of(pacing, to);
}

/* Moves H with the costs, in steps of sqrt 2, if the change is worth it. Returns whether it moved. */
static bool follow_costs(pl_pacing *pacing) {
    double best = pl_pacing_best(epoch_seconds(pacing), pacing->round_seconds, pacing->reach);
    if (pacing->rounds <= SETTLE && !(pacing->planned > 0))
        best = settling(pacing, best);
    double target = bounded(pacing, exp2(0.5 * round(2.0 * log2(best))));
    if (fabs(log2(best / pacing->base)) <= STAY || target == pacing->base || !is_worth(pacing, pacing->base, target))
        return false;
    pacing->base = target;
    pacing->wins = 0;
    begin_block(pacing, target, "costs");
    return true;
}

/* The first rounds of a block are left out, because they still show the effect of the previous H. */
static void note_gap(pl_pacing_block *block, double gap) {
    double x = (double)block->rounds++, y = log(gap);
    if (x < TRANSIENT || !isfinite(y))
        return;
    block->points++;
    block->x += x;
    block->y += y;
    block->xx += x * x;
    block->xy += x * y;
    block->yy += y * y;
}

/* The decrease of the logarithm of the gap per round, by least squares, and its variance; NaN if there are too few
 * points. */
static pl_fall fall_of(const pl_pacing_block *block) {
    double n = (double)block->points;
    if (block->points < FEWEST_POINTS)
        return (pl_fall){NAN, NAN};
    double xx = block->xx - block->x * block->x / n, xy = block->xy - block->x * block->y / n;
    double left = block->yy - block->y * block->y / n - xy * xy / xx;
    return (pl_fall){-xy / xx, fmax(0.0, left) / ((n - 2.0) * xx)};
}

static void try_another(pl_pacing *pacing) {
    double other = bounded(pacing, pacing->direction > 0 ? 2.0 * pacing->base : 0.5 * pacing->base);
    if (other == pacing->base) {
        pacing->direction = -pacing->direction;
        begin_block(pacing, pacing->base, "bound");
        return;
    }
    pacing->on_trial = true;
    pacing->trial = other;
    begin_block(pacing, other, pacing->direction > 0 ? "try longer" : "try shorter");
}

/* Called after a block at `base` that follows a trial. Returns whether H moves. */
static bool judge_trial(pl_pacing *pacing, pl_fall after) {
    pl_fall held = after.mean > pacing->before.mean ? after : pacing->before, tried = pacing->tried;
    double longer =
        seconds_of(pacing, pacing->trial) / seconds_of(pacing, pacing->base); /* both from the same fit of the costs */
    double doubt = sqrt(tried.variance + longer * longer * held.variance);
    bool better = tried.mean > 0 && tried.mean - MARGIN * longer * held.mean > SURE * doubt;
    pacing->tried.mean = NAN;
    pacing->wins = better ? pacing->wins + 1 : 0;
    if (better && pacing->wins < WINS) {
        pacing->wait = 0;
        return false;
    }
    if (better) {
        pacing->wins = 0;
        pacing->base = pacing->trial;
        pacing->reach = reach_of(pacing, pacing->trial);
        pacing->failures = pacing->wait = 0;
        begin_block(pacing, pacing->base, pacing->direction > 0 ? "longer pays" : "shorter pays");
        return true;
    }
    pacing->direction = -pacing->direction;
    unsigned level = ++pacing->failures / 2; /* try both directions, then less often */
    pacing->wait = level > 4 ? PL_PACING_WAIT : 1u << level;
    return false;
}

static void end_block(pl_pacing *pacing, pl_fall fall) {
    fit_costs(pacing);
    if (pacing->on_trial) {
        pacing->on_trial = false;
        pacing->tried = fall;
        begin_block(pacing, pacing->base, "compare");
        return;
    }
    pacing->most_fall = fall.mean / gain(pacing, pacing->base);
    if ((isfinite(pacing->tried.mean) && judge_trial(pacing, fall)) || follow_costs(pacing))
        return;
    pacing->before = fall;
    if (pacing->wait == 0) {
        try_another(pacing);
        return;
    }
    pacing->wait--;
    begin_block(pacing, pacing->base, "hold");
}

void pl_pacing_open(pl_pacing *pacing, unsigned workers, double least) {
    *pacing = (pl_pacing){.epochs = 1.0,
                          .why = workers > 1 ? "first" : "alone",
                          .fall = NAN,
                          .epoch_seconds = NAN,
                          .round_seconds = NAN,
                          .fixed_seconds = NAN,
                          .reach = FIRST_REACH,
                          .most_fall = NAN,
                          .least = fmin(1.0, least),
                          .base = 1.0,
                          .before = {NAN, NAN},
                          .tried = {NAN, NAN},
                          .direction = 1,
                          .wait = FIRST_WAIT,
                          .alone = workers == 1};
}

void pl_pacing_begin(pl_pacing *pacing, double epochs, double epoch, double round) {
    pl_pacing planned = *pacing;
    pacing->epochs = pacing->base = bounded(pacing, epochs);
    pacing->why = "plan";
    pacing->wait = PL_PACING_WAIT; /* the plan has tried others */
    if (!(epoch > 0 && round > 0))
        return;
    planned.epoch_seconds = pacing->planned = epoch;
    planned.round_seconds = round;
    pacing->reach = reach_of(&planned, pacing->epochs);
}

void pl_pacing_note(pl_pacing *pacing, double local, double rest, double gap) {
    if (pacing->rounds++ == 0 || pacing->alone)
        return; /* memory was cold */
    unsigned at = (unsigned)((pacing->rounds - 2) % PL_PACING_ROUNDS);
    pacing->work[at] = pacing->epochs;
    pacing->local[at] = local;
    pacing->rest[at] = rest;
    note_gap(&pacing->block, gap);
    pl_fall fall = fall_of(&pacing->block);
    double rounds = (double)pacing->block.rounds, most = fmax(BLOCK_ROUNDS, BLOCK_EPOCHS / pacing->epochs);
    bool enough = pacing->block.points >= BLOCK_POINTS && fall.mean * rounds >= BLOCK_FALL;
    if (pacing->rounds <= SETTLE) {
        fit_costs(pacing);
        follow_costs(pacing);
    } else if (isfinite(fall.mean) && (enough || rounds >= most))
        end_block(pacing, fall);
    pacing->fall = pacing->most_fall * gain(pacing, pacing->epochs);
}
