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

#include "math/arrow_matrix.h"
#include "math/softmax_kernel.h"
#include "math/wide.h"

#define SWEEPS 8        /* of coordinate descent before a Newton step */
#define CYCLES 60       /* most alternations */
#define REMOVALS 30     /* of variables from the support between sweeps */
#define SHORTER 0.25    /* factor of a step that is tried next */
#define BEYOND 1e-12    /* relative, so that the sign does change */
#define FUTILE 3        /* alternations without progress that end the search */
#define PROGRESS 0.5    /* part of the smallest violation that an alternation must reach */
#define RIDGE 1e-13     /* relative addition to the diagonal of A_SS, */
#define MOST_RIDGE 1e-6 /* increased up to here until it is positive definite */

/* The system of a Newton step if all variables are in the support. Eliminated variables belong to the core. */
static pl_arrow largest(const pl_l1_shape *shape) {
    return (pl_arrow){shape->core + shape->loose, (shape->size - shape->core) / shape->group, shape->group};
}

uint64_t pl_l1_bytes(const pl_l1_shape *shape) {
    pl_arrow system = largest(shape);
    return (pl_arrow_values(&system) + 3 * shape->size + 3 * shape->loose) * sizeof(double) +
           2 * shape->size * sizeof(uint32_t);
}

void pl_l1_close(pl_l1_room *room) {
    pl_free(room->factor);
    pl_free(room->change);
    pl_free(room->moved);
    pl_free(room->active);
    pl_free(room->support);
}

parley_status pl_l1_open(pl_l1_room *room, const pl_l1_shape *shape, parley_error *error) {
    pl_arrow system = largest(shape);
    *room = (pl_l1_room){.factor = pl_alloc(pl_arrow_values(&system), sizeof *room->factor),
                         .change = pl_alloc(pl_arrow_rows(&system) + 2 * shape->size, sizeof *room->change),
                         .moved = pl_alloc(shape->loose, sizeof *room->moved),
                         .active = pl_alloc(shape->size, sizeof *room->active),
                         .support = pl_alloc(shape->size, sizeof *room->support)};
    if (room->factor && room->change && room->moved && room->active && room->support)
        return PARLEY_OK;
    pl_l1_close(room);
    *room = (pl_l1_room){0};
    return pl_fail_memory(error, "the matrix of a sub-problem", pl_l1_bytes(shape));
}

/* What the function of A has at entry j, where that of H has `whole`. */
static double reduced(const pl_l1_quadratic *problem, uint64_t j, double whole, const double *moved) {
    const double *u = problem->u + j * problem->shape.loose;
    for (uint64_t c = 0; c < problem->shape.loose; c++)
        whole -= u[c] * moved[c];
    return whole;
}

static double slope_at(const pl_l1_quadratic *problem, uint64_t j) {
    return reduced(problem, j, problem->slope[j], problem->moved);
}

static double violation_at(const pl_l1_quadratic *problem, uint64_t j) {
    double least = pl_l1_least_slope(problem->x[j], slope_at(problem, j), problem->l1[j]), a = problem->diagonal[j];
    return a > 0 ? least * least / a : 0.0;
}

double pl_l1_violation(const pl_l1_quadratic *problem) {
    double sum = 0;
    for (uint64_t j = 0; j < problem->shape.size; j++)
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

/* The column of j's group's square, for a variable that is apart. Its part of the core follows. */
static const double *own_square(const pl_l1_quadratic *problem, uint64_t j) {
    return problem->apart + (j - problem->shape.core) * (problem->shape.group + problem->shape.core);
}

/* slope += step x column j of H, moved += step x column j of U */
static void follow(const pl_l1_quadratic *problem, uint64_t j, double step, double *slope, double *moved) {
    const pl_l1_shape *shape = &problem->shape;
    uint64_t first = j - j % shape->group;
    for (uint64_t c = 0; c < shape->loose; c++)
        moved[c] += step * problem->u[j * shape->loose + c];
    if (j < shape->core) {
        (PL_HAS_AVX2 ? add_column_avx2 : add_column_any)(problem->core + j * shape->size, step, shape->size, slope);
        return;
    }
    const double *own = own_square(problem, j);
    for (uint64_t c = 0; c < shape->group; c++)
        slope[first + c] += step * own[c];
    (PL_HAS_AVX2 ? add_column_avx2 : add_column_any)(own + shape->group, step, shape->core, slope);
}

/* Minimises over x_j alone. A variable without curvature has only its penalty. */
static void visit(const pl_l1_quadratic *problem, uint64_t j) {
    double a = problem->diagonal[j], x = problem->x[j], l1 = problem->l1[j], next = x;
    if (a > 0) {
        double u = a * x - slope_at(problem, j);
        next = u > l1 ? (u - l1) / a : u < -l1 ? (u + l1) / a : 0.0;
    } else if (l1 > 0)
        next = 0.0;
    if (next == x)
        return;
    problem->x[j] = next;
    follow(problem, j, next - x, problem->slope, problem->moved);
}

/* Lists the variables that are not at rest at 0. */
static uint64_t list_active(const pl_l1_quadratic *problem, uint32_t *active) {
    uint64_t count = 0;
    for (uint64_t j = 0; j < problem->shape.size; j++)
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
    for (uint64_t j = first; j < first + problem->shape.group; j++)
        sum += problem->x[j] + delta > 0 ? problem->l1[j] : -problem->l1[j];
    return sum;
}

/* The minimum, which is at `low`, the last place with a slope of at most 0 where an entry becomes 0, or between that
 * and the next, `high`. */
static double place_shift(const pl_l1_quadratic *problem, uint64_t first, double slope, double bend, double low,
                          double high) {
    double penalty = 0;
    for (uint64_t j = first; j < first + problem->shape.group; j++)
        penalty += problem->l1[j];
    double beyond = isinf(high) ? slope + bend * low + penalty : shift_slope(problem, first, slope, bend, high);
    double zero = bend > 0 ? (isinf(high) ? low : high) - beyond / bend : -INFINITY;
    zero = fmax(low, zero);
    return isinf(zero) ? 0.0 : zero;
}

/* Moves all entries of a group alike, to the minimum. */
static void shift_group(const pl_l1_quadratic *problem, uint64_t first) {
    double slope = 0, bend = 0, low = -INFINITY, high = INFINITY;
    for (uint64_t j = first; j < first + problem->shape.group; j++) {
        slope += slope_at(problem, j);
        for (uint64_t c = 0; c < problem->shape.group; c++)
            bend += j < problem->shape.core ? problem->core[j * problem->shape.size + first + c]
                                            : own_square(problem, j)[c];
    }
    for (uint64_t c = 0; c < problem->shape.loose; c++) {
        double sum = 0;
        for (uint64_t j = first; j < first + problem->shape.group; j++)
            sum += problem->u[j * problem->shape.loose + c];
        bend -= sum * sum;
    }
    bend = fmax(bend, 0.0);
    for (uint64_t j = first; j < first + problem->shape.group; j++) {
        double at = -problem->x[j];
        if (shift_slope(problem, first, slope, bend, at) <= 0)
            low = fmax(low, at);
        else
            high = fmin(high, at);
    }
    double delta = place_shift(problem, first, slope, bend, low, high);
    if (delta == 0)
        return;
    for (uint64_t j = first; j < first + problem->shape.group; j++) {
        problem->x[j] += delta;
        follow(problem, j, delta, problem->slope, problem->moved);
    }
}

static void shift_groups(const pl_l1_quadratic *problem) {
    uint64_t group = problem->shape.group;
    for (uint64_t first = 0; first + group <= problem->shape.size && group > 1; first += group)
        if (problem->diagonal[first] > 0)
            shift_group(problem, first);
}

/* The system of the support: those of its variables that are in the core, the eliminated ones, and the groups that have
 * others. Variables of these groups that are not in the support have a 1 in the diagonal only. */
typedef struct newton_system {
    pl_arrow shape;
    uint64_t inside; /* variables of the support in the core, which are its first */
    uint64_t count;  /* of the support */
} newton_system;

/* The place of the k-th variable of the support in the system, if `groups` groups have begun before or with it. */
static uint64_t place(const newton_system *system, uint64_t j, uint64_t groups) {
    return system->shape.core + (groups - 1) * system->shape.group + j % system->shape.group;
}

/* Whether variable k of the support is the first of its group. */
static bool begins(const pl_l1_quadratic *problem, const uint32_t *support, const newton_system *system, uint64_t k) {
    uint64_t group = problem->shape.group;
    return k == system->inside || support[k] / group != support[k - 1] / group;
}

static newton_system describe(const pl_l1_quadratic *problem, const uint32_t *support, uint64_t count) {
    newton_system system = {.count = count};
    while (system.inside < count && support[system.inside] < problem->shape.core)
        system.inside++;
    system.shape = (pl_arrow){system.inside + problem->shape.loose, 0, problem->shape.group};
    for (uint64_t k = system.inside; k < count; k++)
        system.shape.apart += begins(problem, support, &system, k);
    return system;
}

/* Fills in the core's square. */
static void fill_core(const pl_l1_quadratic *problem, const uint32_t *support, const newton_system *system,
                      double ridge, double *matrix) {
    uint64_t size = system->shape.core, loose = problem->shape.loose;
    for (uint64_t k = 0; k < system->inside; k++) {
        const double *column = problem->core + support[k] * problem->shape.size;
        for (uint64_t i = k; i < system->inside; i++)
            matrix[k * size + i] = column[support[i]];
        matrix[k * (size + 1)] += ridge * problem->diagonal[support[k]];
        memcpy(matrix + k * size + system->inside, problem->u + support[k] * loose, loose * sizeof *matrix);
    }
    for (uint64_t k = system->inside; k < size; k++) {
        memset(matrix + k * size + k, 0, (size - k) * sizeof *matrix);
        matrix[k * (size + 1)] = 1.0 + ridge;
    }
}

/* Fills in variable j, which is apart. */
static void fill_exclusive(const pl_l1_quadratic *problem, const uint32_t *support, const newton_system *system,
                           uint64_t j, double ridge, double *entry) {
    const pl_l1_shape *shape = &problem->shape;
    double *cross = entry + shape->group;
    const double *own = own_square(problem, j);
    memcpy(entry, own, shape->group * sizeof *entry);
    entry[j % shape->group] += ridge * problem->diagonal[j];
    for (uint64_t i = 0; i < system->inside; i++)
        cross[i] = own[shape->group + support[i]];
    memcpy(cross + system->inside, problem->u + j * shape->loose, shape->loose * sizeof *cross);
}

/* Removes the products of variables of a group that is not wholly in the support. */
static void clear_absent(const newton_system *system, const bool *there, double *group) {
    uint64_t stride = pl_arrow_stride(&system->shape);
    for (uint64_t c = 0; c < system->shape.group; c++)
        for (uint64_t d = 0; d < system->shape.group; d++)
            if (!there[c] || !there[d])
                group[c * stride + d] = c == d;
}

/* Factors the system. */
static bool factor(const pl_l1_quadratic *problem, const uint32_t *support, const newton_system *system, double ridge,
                   double *matrix) {
    uint64_t group = system->shape.group, groups = 0, begin = pl_arrow_begin(&system->shape, system->shape.core);
    fill_core(problem, support, system, ridge, matrix);
    memset(matrix + begin, 0, (pl_arrow_values(&system->shape) - begin) * sizeof *matrix);
    for (uint64_t k = system->inside; k < system->count;) {
        bool there[PL_MOST_CLASSES] = {0};
        groups++;
        do {
            there[support[k] % group] = true;
            fill_exclusive(problem, support, system, support[k], ridge,
                           matrix + pl_arrow_begin(&system->shape, place(system, support[k], groups)));
            k++;
        } while (k < system->count && !begins(problem, support, system, k));
        clear_absent(system, there, matrix + pl_arrow_begin(&system->shape, place(system, 0, groups)));
    }
    return pl_arrow_factor(&system->shape, matrix);
}

/* d <- the solution, for the variables of the support, `room` being that of the whole system */
static void solve(const pl_l1_quadratic *problem, const uint32_t *support, const newton_system *system,
                  const double *matrix, double *room, double *d) {
    uint64_t groups = 0;
    memset(room, 0, pl_arrow_rows(&system->shape) * sizeof *room);
    memcpy(room, d, system->inside * sizeof *room);
    for (uint64_t k = system->inside; k < system->count; k++) {
        groups += begins(problem, support, system, k);
        room[place(system, support[k], groups)] = d[k];
    }
    pl_arrow_solve(&system->shape, matrix, room);
    memcpy(d, room, system->inside * sizeof *room);
    groups = 0;
    for (uint64_t k = system->inside; k < system->count; k++) {
        groups += begins(problem, support, system, k);
        d[k] = room[place(system, support[k], groups)];
    }
}

/* The step of entry j by gamma d, up to the point where its sign changes. */
static double step_within(const pl_l1_quadratic *problem, uint64_t j, double d, double gamma) {
    double x = problem->x[j], step = gamma * d;
    return problem->l1[j] > 0 && x * (x + step) < 0 ? -x : step;
}

/* Takes the step gamma d if the function decreases. */
static bool take(const pl_l1_quadratic *problem, const pl_l1_room *room, uint64_t count, const double *d, double gamma,
                 double *bend) {
    const uint32_t *support = room->support;
    double change = 0;
    memset(bend, 0, problem->shape.size * sizeof *bend);
    memset(room->moved, 0, problem->shape.loose * sizeof *room->moved);
    for (uint64_t k = 0; k < count; k++)
        follow(problem, support[k], step_within(problem, support[k], d[k], gamma), bend, room->moved);
    for (uint64_t k = 0; k < count; k++) {
        uint64_t j = support[k];
        double step = step_within(problem, j, d[k], gamma), x = problem->x[j];
        change += step * (slope_at(problem, j) + 0.5 * reduced(problem, j, bend[j], room->moved)) +
                  problem->l1[j] * (fabs(x + step) - fabs(x));
    }
    if (!(change < 0))
        return false;
    for (uint64_t k = 0; k < count; k++)
        problem->x[support[k]] += step_within(problem, support[k], d[k], gamma);
    for (uint64_t j = 0; j < problem->shape.size; j++)
        problem->slope[j] += bend[j];
    for (uint64_t c = 0; c < problem->shape.loose; c++)
        problem->moved[c] += room->moved[c];
    return true;
}

/* Fills in the support and d = -(A_SS)^-1 (slope_S + l1 s). Returns the size of the support, 0 if there is no step. */
static uint64_t aim(const pl_l1_quadratic *problem, const pl_l1_room *room, double *d) {
    uint64_t count = 0;
    for (uint64_t j = 0; j < problem->shape.size; j++)
        if (problem->diagonal[j] > 0 && (problem->x[j] != 0 || !(problem->l1[j] > 0))) {
            d[count] = -pl_l1_least_slope(problem->x[j], slope_at(problem, j), problem->l1[j]);
            room->support[count++] = (uint32_t)j;
        }
    bool factored = false;
    newton_system system = describe(problem, room->support, count);
    for (double ridge = RIDGE; ridge < MOST_RIDGE && count > 0 && !factored; ridge *= 100)
        factored = factor(problem, room->support, &system, ridge, room->factor);
    if (!factored)
        return 0;
    solve(problem, room->support, &system, room->factor, room->change + 2 * problem->shape.size, d);
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

/* The whole step is tried first. If it fails, A_SS is nearly singular or signs are wrong. Shorter steps then remove
 * several variables from the support, and that to the first change of a sign at least one. */
static void step_on_support(const pl_l1_quadratic *problem, const pl_l1_room *room) {
    double *d = room->change, *bend = room->change + problem->shape.size;
    for (unsigned i = 0; i < REMOVALS; i++) {
        uint64_t count = aim(problem, room, d);
        double least = first_crossing(problem, room->support, count, d), gamma = 1.0;
        while (count > 0 && gamma > least && !take(problem, room, count, d, gamma, bend))
            gamma *= SHORTER;
        if (count == 0 || (gamma <= least && !take(problem, room, count, d, least, bend)) || least == 1.0)
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
