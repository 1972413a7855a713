/* l1_quadratic.c: coordinate descent on the variables that are not at rest at 0, which finds the signs of the solution.
 * If that converges slowly, because columns of A are nearly collinear, it alternates with Newton steps: with the signs
 * s of the support S = {x_j != 0},
 *
 *     A_SS d = -(slope_S + l1 s)          x <- x + gamma d, where entries that would change their sign become 0
 *
 * which is the solution once the support is right (the feature-sign steps of Lee et al. 2006). */
#include "math/l1_quadratic.h"

#include <math.h>
#include <string.h>

#include "math/cholesky.h"
#include "math/wide.h"

#define SWEEPS 8        /* of coordinate descent before a Newton step */
#define CYCLES 60       /* most alternations */
#define REMOVALS 30     /* of variables from the support between sweeps */
#define BEYOND 1e-12    /* relative, so that the sign does change */
#define FUTILE 3        /* alternations without progress that end the search */
#define PROGRESS 0.5    /* part of the smallest violation that an alternation must reach */
#define RIDGE 1e-13     /* relative addition to the diagonal of A_SS, */
#define MOST_RIDGE 1e-6 /* increased up to here until it is positive definite */

uint64_t pl_l1_bytes(uint64_t size) { return size * ((size + 2) * sizeof(double) + 2 * sizeof(uint32_t)); }

void pl_l1_close(pl_l1_room *room) {
    pl_free(room->factor);
    pl_free(room->change);
    pl_free(room->active);
    pl_free(room->support);
}

parley_status pl_l1_open(pl_l1_room *room, uint64_t size, parley_error *error) {
    *room = (pl_l1_room){.factor = pl_alloc(size, size * sizeof *room->factor),
                         .change = pl_alloc(size, 2 * sizeof *room->change),
                         .active = pl_alloc(size, sizeof *room->active),
                         .support = pl_alloc(size, sizeof *room->support)};
    if (room->factor && room->change && room->active && room->support)
        return PARLEY_OK;
    pl_l1_close(room);
    *room = (pl_l1_room){0};
    return pl_fail_memory(error, "the matrix of a sub-problem", pl_l1_bytes(size));
}

static double diagonal(const pl_l1_quadratic *problem, uint64_t j) { return problem->a[j * problem->stride + j]; }

static double violation_at(const pl_l1_quadratic *problem, uint64_t j) {
    double least = pl_l1_least_slope(problem->x[j], problem->slope[j], problem->l1[j]), a = diagonal(problem, j);
    return a > 0 ? least * least / a : 0.0;
}

double pl_l1_violation(const pl_l1_quadratic *problem) {
    double sum = 0;
    for (uint64_t j = 0; j < problem->size; j++)
        sum += violation_at(problem, j);
    return sum;
}

PL_INLINE void add_column(const double *restrict column, double step, uint64_t size, double *restrict slope) {
    for (uint64_t i = 0; i < size; i++)
        slope[i] += step * column[i];
}

PL_AVX2 static void add_column_avx2(const double *column, double step, uint64_t size, double *slope) {
    add_column(column, step, size, slope);
}
static void add_column_any(const double *column, double step, uint64_t size, double *slope) {
    add_column(column, step, size, slope);
}

/* slope += step x column j of A */
static void follow(const pl_l1_quadratic *problem, uint64_t j, double step, double *slope) {
    (PL_HAS_AVX2 ? add_column_avx2 : add_column_any)(problem->a + j * problem->stride, step, problem->size, slope);
}

/* Minimises over x_j alone. A variable without curvature has only its penalty. */
static void visit(const pl_l1_quadratic *problem, uint64_t j) {
    double a = diagonal(problem, j), x = problem->x[j], l1 = problem->l1[j], next = x;
    if (a > 0) {
        double u = a * x - problem->slope[j];
        next = u > l1 ? (u - l1) / a : u < -l1 ? (u + l1) / a : 0.0;
    } else if (l1 > 0)
        next = 0.0;
    if (next == x)
        return;
    problem->x[j] = next;
    follow(problem, j, next - x, problem->slope);
}

/* Lists the variables that are not at rest at 0. */
static uint64_t list_active(const pl_l1_quadratic *problem, uint32_t *active) {
    uint64_t count = 0;
    for (uint64_t j = 0; j < problem->size; j++)
        if (problem->x[j] != 0 || violation_at(problem, j) > 0)
            active[count++] = (uint32_t)j;
    return count;
}

/* Returns the sum of the violations met. */
static double sweep(const pl_l1_quadratic *problem, const uint32_t *active, uint64_t count) {
    double met = 0;
    for (uint64_t k = 0; k < count; k++) {
        met += violation_at(problem, active[k]);
        visit(problem, active[k]);
    }
    return met;
}

/* The slope by delta where all entries of a group from `first` on move by delta, from below. */
static double shift_slope(const pl_l1_quadratic *problem, uint64_t first, double slope, double bend, double delta) {
    double sum = slope + bend * delta;
    for (uint64_t j = first; j < first + problem->group; j++)
        sum += problem->x[j] + delta > 0 ? problem->l1[j] : -problem->l1[j];
    return sum;
}

/* The minimum, which is at `low`, the last place with a slope of at most 0 where an entry becomes 0, or between that
 * and the next, `high`. */
static double place_shift(const pl_l1_quadratic *problem, uint64_t first, double slope, double bend, double low,
                          double high) {
    double penalty = 0;
    for (uint64_t j = first; j < first + problem->group; j++)
        penalty += problem->l1[j];
    double beyond = isinf(high) ? slope + bend * low + penalty : shift_slope(problem, first, slope, bend, high);
    double zero = bend > 0 ? (isinf(high) ? low : high) - beyond / bend : -INFINITY;
    zero = fmax(low, zero);
    return isinf(zero) ? 0.0 : zero;
}

/* Moves all entries of a group alike, to the minimum. */
static void shift_group(const pl_l1_quadratic *problem, uint64_t first) {
    double slope = 0, bend = 0, low = -INFINITY, high = INFINITY;
    for (uint64_t j = first; j < first + problem->group; j++) {
        slope += problem->slope[j];
        for (uint64_t i = first; i < first + problem->group; i++)
            bend += problem->a[j * problem->stride + i];
    }
    bend = fmax(bend, 0.0);
    for (uint64_t j = first; j < first + problem->group; j++) {
        double at = -problem->x[j];
        if (shift_slope(problem, first, slope, bend, at) <= 0)
            low = fmax(low, at);
        else
            high = fmin(high, at);
    }
    double delta = place_shift(problem, first, slope, bend, low, high);
    if (delta == 0)
        return;
    for (uint64_t j = first; j < first + problem->group; j++) {
        problem->x[j] += delta;
        follow(problem, j, delta, problem->slope);
    }
}

static void shift_groups(const pl_l1_quadratic *problem) {
    for (uint64_t first = 0; first + problem->group <= problem->size && problem->group > 1; first += problem->group)
        if (diagonal(problem, first) > 0)
            shift_group(problem, first);
}

/* Factors A_SS. */
static bool factor(const pl_l1_quadratic *problem, const uint32_t *support, uint64_t count, double ridge,
                   double *matrix) {
    for (uint64_t k = 0; k < count; k++) {
        const double *column = problem->a + support[k] * problem->stride;
        for (uint64_t i = k; i < count; i++)
            matrix[k * count + i] = column[support[i]];
        matrix[k * count + k] *= 1.0 + ridge;
    }
    return pl_cholesky(matrix, count);
}

/* The step of entry j by gamma d, up to the point where its sign changes. */
static double step_within(const pl_l1_quadratic *problem, uint64_t j, double d, double gamma) {
    double x = problem->x[j], step = gamma * d;
    return problem->l1[j] > 0 && x * (x + step) < 0 ? -x : step;
}

/* Takes the step gamma d if the function decreases. */
static bool take(const pl_l1_quadratic *problem, const uint32_t *support, uint64_t count, const double *d, double gamma,
                 double *bend) {
    double change = 0;
    memset(bend, 0, problem->size * sizeof *bend);
    for (uint64_t k = 0; k < count; k++)
        follow(problem, support[k], step_within(problem, support[k], d[k], gamma), bend);
    for (uint64_t k = 0; k < count; k++) {
        uint64_t j = support[k];
        double step = step_within(problem, j, d[k], gamma), x = problem->x[j];
        change += step * (problem->slope[j] + 0.5 * bend[j]) + problem->l1[j] * (fabs(x + step) - fabs(x));
    }
    if (!(change < 0))
        return false;
    for (uint64_t k = 0; k < count; k++)
        problem->x[support[k]] += step_within(problem, support[k], d[k], gamma);
    for (uint64_t j = 0; j < problem->size; j++)
        problem->slope[j] += bend[j];
    return true;
}

/* Fills in the support and d = -(A_SS)^-1 (slope_S + l1 s). Returns the size of the support, 0 if there is no step. */
static uint64_t aim(const pl_l1_quadratic *problem, const pl_l1_room *room, double *d) {
    uint64_t count = 0;
    for (uint64_t j = 0; j < problem->size; j++)
        if (diagonal(problem, j) > 0 && (problem->x[j] != 0 || !(problem->l1[j] > 0))) {
            d[count] = -pl_l1_least_slope(problem->x[j], problem->slope[j], problem->l1[j]);
            room->support[count++] = (uint32_t)j;
        }
    bool factored = false;
    for (double ridge = RIDGE; ridge < MOST_RIDGE && count > 0 && !factored; ridge *= 100)
        factored = factor(problem, room->support, count, ridge, room->factor);
    if (!factored)
        return 0;
    pl_cholesky_solve(room->factor, count, d);
    return count;
}

/* The step to the first change of a sign, and a little further. */
static double first_crossing(const pl_l1_quadratic *problem, const uint32_t *support, uint64_t count, const double *d) {
    double gamma = 1.0;
    for (uint64_t k = 0; k < count; k++) {
        double x = problem->x[support[k]];
        if (problem->l1[support[k]] > 0 && x * d[k] < 0)
            gamma = fmin(gamma, -x / d[k] * (1.0 + BEYOND));
    }
    return gamma;
}

/* The whole step is tried first. If it fails, A_SS is nearly singular or signs are wrong, and the step to the first
 * change of a sign removes a variable from the support. */
static void step_on_support(const pl_l1_quadratic *problem, const pl_l1_room *room) {
    double *d = room->change, *bend = room->change + problem->size;
    for (unsigned i = 0; i < REMOVALS; i++) {
        uint64_t count = aim(problem, room, d);
        if (count == 0 || take(problem, room->support, count, d, 1.0, bend) ||
            !take(problem, room->support, count, d, first_crossing(problem, room->support, count, d), bend))
            return;
    }
}

void pl_l1_solve(const pl_l1_quadratic *problem, const pl_l1_room *room, double target) {
    double least = INFINITY;
    unsigned futile = 0;
    for (unsigned cycle = 0; cycle < CYCLES && futile < FUTILE; cycle++) {
        uint64_t count = list_active(problem, room->active);
        for (unsigned s = 0; s < SWEEPS && sweep(problem, room->active, count) > target; s++)
            ;
        shift_groups(problem);
        if (pl_l1_violation(problem) <= target)
            return;
        step_on_support(problem, room);
        double violation = pl_l1_violation(problem);
        if (violation <= target)
            return;
        futile = violation < PROGRESS * least ? 0 : futile + 1;
        least = fmin(least, violation);
    }
}
