/* scd_rows.c: passes over all rows in a worker's round: its start, the sum of a model's steps, the line search, and the
 * final change. A single worker uses all threads of its rank. Results do not depend on which thread computes which
 * part. */
#include <math.h>
#include <string.h>

#include "linear/columns/scd.h"

#define ROW_PARTS 16 /* parts of passes over rows, and */
#define ADD_PARTS 4  /* over the rows of columns */

/* A pass over all rows, in parts. */
typedef struct row_pass {
    pl_scd_solver *solver;
    double gamma, shift;
    unsigned parts;
    double sums[ROW_PARTS][2]; /* by part */
} row_pass;

static void add_sums(const row_pass *pass, double *first, double *second) {
    *first = *second = 0;
    for (unsigned part = 0; part < pass->parts; part++) {
        *first += pass->sums[part][0];
        *second += pass->sums[part][1];
    }
}

static void run_parts(row_pass *pass, pl_task task, unsigned parts) {
    pl_engine *engine = pass->solver->scd->team->engine;
    pass->parts = parts;
    if (pass->solver->scd->team->hosted == 1)
        engine->type->run(engine, task, pass, parts);
    else
        for (unsigned part = 0; part < parts; part++)
            task(pass, part);
}

static void expand_part(void *context, unsigned part) {
    row_pass *pass = context;
    const pl_scd_solver *solver = pass->solver;
    const pl_glm *glm = solver->scd->glm;
    pl_scd_worker *worker = solver->worker;
    uint64_t rows = solver->x->columns, end = rows * (part + 1) / pass->parts, count;
    double sum = 0, mass = 0, least = PL_SCD_LEAST_CURVATURE * glm->loss->curvature_bound;
    double z[PL_ROW_CHUNK], y[PL_ROW_CHUNK], loss[PL_ROW_CHUNK];
    for (uint64_t begin = rows * part / pass->parts; begin < end; begin += count) {
        double *slope = worker->slope + begin, *curvature = worker->curvature + begin;
        count = end - begin < PL_ROW_CHUNK ? end - begin : PL_ROW_CHUNK;
        for (uint64_t i = 0; i < count; i++) {
            z[i] = worker->z[begin + i] + pass->gamma * (solver->sigma * worker->step[begin + i] + pass->shift);
            y[i] = pl_target(glm, begin + i);
        }
        pl_expand_rows(glm->loss, z, y, count, loss, slope, curvature);
        for (uint64_t i = 0; i < count; i++) {
            double q = pl_share(glm, begin + i);
            sum += q * loss[i];
            slope[i] *= q;
            curvature[i] = q * fmax(curvature[i], least);
            mass += curvature[i];
        }
    }
    pass->sums[part][0] = sum;
    pass->sums[part][1] = mass;
}

double pl_scd_expand(pl_scd_solver *solver, double gamma, double shift) {
    row_pass pass = {.solver = solver, .gamma = gamma, .shift = shift};
    double sum;
    run_parts(&pass, expand_part, ROW_PARTS);
    add_sums(&pass, &sum, &solver->mass);
    return sum;
}

static void add_part(void *context, unsigned part) {
    const row_pass *pass = context;
    const pl_scd_solver *solver = pass->solver;
    const pl_matrix *x = solver->x;
    pl_scd_worker *worker = solver->worker;
    uint64_t first = x->columns * part / pass->parts, last = x->columns * (part + 1) / pass->parts;
    memset(worker->step + first, 0, (last - first) * sizeof *worker->step);
    for (uint64_t m = 0; m < worker->members && !pl_stop_due(); m++) {
        uint64_t j = worker->set[m];
        double change = solver->scd->w[j] - worker->base[m];
        if (change == 0)
            continue;
        if (j < x->rows) {
            uint64_t begin = pl_scd_entry_from(x, j, first);
            pl_sparse_add(x->index + begin, pl_values_from(x->values, begin), pl_scd_entry_from(x, j, last) - begin,
                          change * pl_column_scale(solver->scd->glm, j), worker->step);
        } else {
            for (uint64_t i = first; i < last; i++)
                worker->step[i] += change;
        }
    }
}

bool pl_scd_add_up(pl_scd_solver *solver) {
    const pl_scd_worker *worker = solver->worker;
    row_pass pass = {.solver = solver};
    run_parts(&pass, add_part, solver->scd->team->hosted == 1 ? ADD_PARTS : 1);
    for (uint64_t m = 0; m < worker->members; m++)
        if (solver->scd->w[worker->set[m]] != worker->base[m])
            return true;
    return false;
}

static void take_part(void *context, unsigned part) {
    const row_pass *pass = context;
    pl_scd_worker *worker = pass->solver->worker;
    uint64_t rows = pass->solver->x->columns, end = rows * (part + 1) / pass->parts;
    for (uint64_t i = rows * part / pass->parts; i < end; i++) {
        worker->z[i] += pass->gamma * (pass->solver->sigma * worker->step[i] + pass->shift);
        worker->change[i] += pass->gamma * worker->step[i];
    }
}

void pl_scd_take(pl_scd_solver *solver, double gamma, double shift) {
    pl_scd_worker *worker = solver->worker;
    for (uint64_t m = 0; m < worker->members; m++) {
        double *w = &solver->scd->w[worker->set[m]];
        if (gamma != 1.0)
            *w = gamma == 0 ? worker->base[m] : worker->base[m] + gamma * (*w - worker->base[m]);
        worker->base[m] = *w;
    }
    row_pass pass = {.solver = solver, .gamma = gamma, .shift = shift};
    run_parts(&pass, take_part, ROW_PARTS);
}

static void begin_part(void *context, unsigned part) {
    row_pass *pass = context;
    const pl_scd *self = pass->solver->scd;
    pl_scd_worker *worker = pass->solver->worker;
    uint64_t rows = self->x->columns, end = rows * (part + 1) / pass->parts;
    double loss = 0, mass = 0;
    for (uint64_t i = rows * part / pass->parts; i < end; i++) {
        double q = pl_share(self->glm, i);
        worker->z[i] = self->v[i] + self->b + pl_offset(self->glm, i);
        worker->slope[i] = q * self->slope[i];
        worker->curvature[i] = self->metric[i];
        worker->change[i] = 0;
        loss += q * self->loss[i];
        mass += self->metric[i];
    }
    pass->sums[part][0] = loss;
    pass->sums[part][1] = mass;
}

void pl_scd_begin(pl_scd_solver *solver) {
    const pl_scd *self = solver->scd;
    pl_scd_worker *worker = solver->worker;
    row_pass pass = {.solver = solver};
    run_parts(&pass, begin_part, ROW_PARTS);
    add_sums(&pass, &solver->loss, &solver->mass);
    for (uint64_t m = 0; m < worker->members; m++)
        worker->begun[m] = worker->base[m] = self->w[worker->set[m]];
}

static void mean_part(void *context, unsigned part) {
    row_pass *pass = context;
    const pl_scd *self = pass->solver->scd;
    const double *change = pass->solver->worker->change;
    uint64_t rows = self->x->columns, end = rows * (part + 1) / pass->parts;
    double mean = 0, mass = 0;
    for (uint64_t i = rows * part / pass->parts; i < end; i++) {
        mean += self->metric[i] * change[i];
        mass += self->metric[i];
    }
    pass->sums[part][0] = mean;
    pass->sums[part][1] = mass;
}

static void spread_part(void *context, unsigned part) {
    row_pass *pass = context;
    const pl_scd *self = pass->solver->scd;
    double *change = pass->solver->worker->change, spread = 0;
    uint64_t rows = self->x->columns, end = rows * (part + 1) / pass->parts;
    for (uint64_t i = rows * part / pass->parts; i < end; i++) {
        change[i] -= pass->shift;
        spread += self->metric[i] * change[i] * change[i];
    }
    pass->sums[part][0] = spread;
}

/* If b is free, v is defined only up to a constant, so the change is sent without its mean. */
void pl_scd_finish(pl_scd_solver *solver) {
    pl_scd_worker *worker = solver->worker;
    row_pass pass = {.solver = solver};
    double sum, mass;
    if (solver->free) {
        run_parts(&pass, mean_part, ROW_PARTS);
        add_sums(&pass, &sum, &mass);
        pass.shift = sum / mass;
    }
    worker->pending = pass.shift;
    run_parts(&pass, spread_part, ROW_PARTS);
    add_sums(&pass, &worker->spread, &mass);
}
