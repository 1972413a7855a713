/* optimiser.c: see optimiser.h. The rate of step t is the rate x min(1, t / warm-up) x the schedule:
 *
 *   constant  1
 *   inverse   1 / (1 + (t - 1) / batches of a pass); inverse-sqrt: the root of that
 *   step      decay^floor((t - 1) / decay_every)
 *   cosine    (1 + cos(pi (t - 1) / total)) / 2 */
#include "network/optimiser.h"

#include <math.h>

/* Chosen on rows of MNIST that were held out (docs/networks.md). */
static const double usual_rates[] = {
    [PL_SGD] = 0.4, [PL_MOMENTUM] = 0.1, [PL_NESTEROV] = 0.1, [PL_ADAM] = 0.004, [PL_ADAGRAD_STEP] = 0.05};

pl_optimiser pl_optimiser_make(const parley_settings *settings, double batches) {
    pl_optimiser_kind kind = (pl_optimiser_kind)pl_net_settings_of(settings)->optimiser;
    return (pl_optimiser){.step = {.kind = kind,
                                   .momentum = (float)pl_net_settings_of(settings)->momentum,
                                   .beta1 = (float)pl_net_settings_of(settings)->beta1,
                                   .beta2 = (float)pl_net_settings_of(settings)->beta2,
                                   .epsilon = (float)pl_net_settings_of(settings)->optimiser_epsilon,
                                   .factor = 1.0F},
                          .rate = isnan(settings->rate) ? usual_rates[kind] : settings->rate,
                          .clip = pl_net_settings_of(settings)->clip,
                          .schedule = settings->schedule == PL_ANY ? PL_COSINE : (pl_schedule)settings->schedule,
                          .batches = batches,
                          .total = (double)settings->passes * batches,
                          .warm = pl_net_settings_of(settings)->warm_up * batches,
                          .decay_every = pl_net_settings_of(settings)->decay_every * batches,
                          .decay = pl_net_settings_of(settings)->decay};
}

static double scheduled(const pl_optimiser *optimiser, double t) {
    double rate = optimiser->rate;
    if (t < optimiser->warm)
        rate *= t / optimiser->warm;
    double pass = 1.0 + (t - 1.0) / optimiser->batches;
    if (optimiser->schedule == PL_INVERSE)
        rate /= pass;
    else if (optimiser->schedule == PL_INVERSE_SQRT)
        rate /= sqrt(pass);
    else if (optimiser->schedule == PL_STEPWISE)
        rate *= pow(optimiser->decay, floor((t - 1.0) / optimiser->decay_every));
    else if (optimiser->schedule == PL_COSINE && optimiser->total > 0)
        rate *= 0.5 * (1.0 + cos(acos(-1.0) * fmin(1.0, (t - 1.0) / optimiser->total)));
    return rate;
}

pl_net_step pl_optimiser_at(const pl_optimiser *optimiser, uint64_t t, uint64_t n, double norm) {
    pl_net_step step = optimiser->step;
    double rate = scheduled(optimiser, (double)t);
    if (step.kind == PL_ADAM)
        rate *= sqrt(1.0 - pow((double)step.beta2, (double)n)) / (1.0 - pow((double)step.beta1, (double)n));
    step.rate = (float)rate;
    if (optimiser->clip > 0 && norm > optimiser->clip)
        step.factor = (float)(optimiser->clip / norm);
    return step;
}

bool pl_optimiser_has_first(const pl_optimiser *optimiser) {
    pl_optimiser_kind kind = optimiser->step.kind;
    return kind == PL_MOMENTUM || kind == PL_NESTEROV || kind == PL_ADAM;
}

bool pl_optimiser_has_second(const pl_optimiser *optimiser) {
    return optimiser->step.kind == PL_ADAM || optimiser->step.kind == PL_ADAGRAD_STEP;
}
