/* step_rate.c: a rate for gradient steps without tuning: 1 / (bound of loss'' x L + l2).
 *
 * L is the largest eigenvalue of the mean of x x', found by power iteration on a sample of the first worker's rows. The
 * bound mean |x|^2 is stable on any data, but up to hundreds of times as large. The curvature of a gradient of m
 * sampled rows is at most L + (1 - m / n) / m x the squared norm of a row (Gower et al. 2019, expected smoothness).
 *
 * The column of ones of a free intercept would be the stiffest one. It is treated as a column of sqrt L, so that its
 * steps are multiplied by L. */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "engine/collective.h"
#include "linear/newton/step.h"

#define RELEASE_ROWS 16 /* between two releases of memory, if the data are larger than that */
#define SAMPLE_ROWS 2000
#define ITERATIONS 12
#define SPARE 1.1 /* power iteration converges from below */
#define START_STREAM 0x65696765ULL

typedef struct sample {
    const pl_glm *glm;
    uint64_t rows[SAMPLE_ROWS], count;
    double weight; /* sum of the shares of its rows */
    double *from, *to;
} sample;

static void take_rows(sample *sample, const pl_team *team) {
    uint64_t stride = team->rows[0] / SAMPLE_ROWS + 1, next = 0, seen = 0;
    for (unsigned lane = 0; lane < team->lanes; lane++)
        for (uint64_t r = 0; r < team->parts[lane].count; r++)
            for (uint64_t i = team->parts[lane].ranges[r].begin; i < team->parts[lane].ranges[r].end; i++, seen++)
                if (seen == next && sample->count < SAMPLE_ROWS) {
                    next += stride;
                    sample->rows[sample->count++] = i;
                    sample->weight += pl_share(sample->glm, i);
                }
}

/* to = mean of (x, a)(x, a)' from, where a is the value of an intercept; returns |to|, for |from| = 1. */
static double iterate(sample *sample, double a) {
    const pl_glm *glm = sample->glm;
    uint64_t columns = glm->base.data->x.columns;
    double norm2 = 0, *from = sample->from, *to = sample->to;
    memset(to, 0, (columns + 1) * sizeof *to);
    for (uint64_t n = 0; n < sample->count; n++) {
        uint64_t i = sample->rows[n];
        double z = (pl_row_dot(glm, i, from) + a * from[columns]) * pl_share(glm, i) / sample->weight;
        pl_row_add(glm, i, z, to);
        to[columns] += a * z;
        if (n % RELEASE_ROWS == 0) /* rows all over the file, with what the kernel maps around them */
            pl_data_release(glm->base.data, 0, glm->base.data->x.rows);
    }
    for (uint64_t j = 0; j <= columns; j++)
        norm2 += to[j] * to[j];
    double inverse = norm2 > 0 ? 1.0 / sqrt(norm2) : 0.0;
    for (uint64_t j = 0; j <= columns; j++)
        from[j] = to[j] * inverse;
    return sqrt(norm2);
}

static double largest(sample *sample, double a) {
    double found = 0;
    for (unsigned i = 0; i < ITERATIONS; i++)
        found = iterate(sample, a);
    return found;
}

static void begin_anywhere(sample *sample, uint64_t seed) {
    uint64_t columns = sample->glm->base.data->x.columns;
    pl_stream stream = pl_stream_make(seed ^ START_STREAM, 0, 0);
    double scale = 1.0 / sqrt((double)(columns + 1));
    for (uint64_t j = 0; j <= columns; j++)
        sample->from[j] = scale * (0.5 + pl_random_unit(&stream));
}

/* The mean squared norm of a row, weighted by its part in the sum. */
static double usual_norm2(const sample *sample) {
    double sum = 0, sum2 = 0;
    for (uint64_t n = 0; n < sample->count; n++) {
        double norm2 = sample->glm->norm2[sample->rows[n]], q = pl_share(sample->glm, sample->rows[n]);
        sum += q * norm2;
        sum2 += q * norm2 * norm2;
    }
    return sum > 0 ? sum2 / sum : 1.0;
}

static parley_status measure(const pl_setup *setup, double *found, parley_error *error) {
    sample *sample;
    uint64_t size = setup->problem->data->x.columns + 1;
    parley_status status = pl_take(&sample, 1, sizeof *sample, "a sample of rows", error);
    if (status != PARLEY_OK)
        return status;
    sample->glm = pl_glm_of(setup->problem);
    take_rows(sample, setup->team);
    sample->from = pl_alloc(size, sizeof(double));
    sample->to = pl_alloc(size, sizeof(double));
    if (!sample->from || !sample->to)
        status = pl_fail_memory(error, "a rate", 2 * size * sizeof(double));
    else {
        begin_anywhere(sample, setup->team->seed);
        double alone = largest(sample, 0.0);
        bool intercept = pl_glm_of(setup->problem)->intercept != PL_NO_INTERCEPT;
        sample->from[size - 1] = 1.0;
        found[0] = SPARE * (intercept ? largest(sample, sqrt(alone)) : alone);
        found[1] = intercept ? alone : 0.0;
        found[2] = usual_norm2(sample) + found[1];
    }
    pl_free(sample->from);
    pl_free(sample->to);
    pl_free(sample);
    return status;
}

parley_status pl_step_rate(const pl_setup *setup, double *rate, double *ease, parley_error *error) {
    const pl_glm *glm = pl_glm_of(setup->problem);
    const pl_team *team = setup->team;
    double *sums = team->worker_sums, found[3], fraction = setup->settings->batch_fraction;
    parley_status status = PARLEY_OK;
    *ease = 1.0;
    *rate = pl_safe_rate(glm);
    if (glm->loss->log_link) /* no eigenvalue bounds exp(z) */
        return status;
    memset(sums, 0, 3 * team->hosted * sizeof *sums);
    if (team->hosted > 0 && team->first == 0)
        status = measure(setup, sums, error);
    if (status == PARLEY_OK)
        status = pl_team_sum(team, sums, 3, found, error);
    if (status != PARLEY_OK)
        return status;
    double rows = fmax(1.0, fraction * (double)team->all_rows);
    double curvature = pl_loss_step_curvature(glm->loss);
    double whole = fmin(found[0], glm->mean_norm2 + found[1]); /* the sum of all eigenvalues */
    double most = whole + (1.0 - fraction) / rows * found[2];
    *rate = most > 0 || glm->base.l2 > 0 ? 1.0 / (curvature * most + glm->base.l2) : 1.0;
    *ease = found[1] > 0 ? found[1] : 1.0;
    return status;
}
