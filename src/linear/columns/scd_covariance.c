/* scd_covariance.c: steps by inner products of columns, for a single worker (the covariance updates of Friedman et al.
 * 2010). The table holds sum_i q_i loss''_i c_ij c_ik for the columns that have been in working sets. A step on j then
 * updates all slopes g_k by one contiguous row of the table, instead of visiting the non-zeros of the column twice.
 *
 * Columns enter when the steps so far have cost as much as their rows of the table will, so that the work is at most
 * doubled. If curvatures have changed since, the table is still a model of the loss, although a worse one, and slopes
 * are computed from the data for every model. For the same reason floats are accurate enough for the entries. */
#include <math.h>
#include <string.h>

#include "engine/collective.h"
#include "linear/columns/scd.h"
#include "math/dense_row.h"

#define MOST_DRIFT 0.3  /* mean change of the curvatures after which the table is recomputed */
#define LEAST_BEND 0.1  /* relative to the table: a smaller change is noise */
#define SCANNING 0.4    /* cost of an entry with a slot, relative to a visit in a step */
#define MULTIPLYING 0.2 /* the same if every column is full */
#define CHUNK 512       /* rows of full columns at a time */
#define EXPECTED 5      /* least number of epochs to come */
#define WORTH 6.0       /* entries of a row of the table that cost as much as a non-zero of a column */
#define AHEAD 2         /* rows to prefetch ahead */
#define MORE_ROOM 8     /* spare room in a list for later slots */
#define LINE 16         /* floats in a cache line */
#define FLAT 1e-4 /* part of a column's curvature that must remain after eliminating b for floats to represent it */
#define TASKS PL_SCD_GRAM_TASKS

typedef struct table_pass {
    pl_scd *scd;
    const pl_scd_worker *worker;
    const double *curvature;
    uint64_t begin; /* the first new slot */
} table_pass;

/* The change of the intercept and of its slope, measured and by the table. */
typedef struct secant {
    pl_scd_covariance *gram;
    double moved, a, b, y, g;
} secant;

/* Counts how long the lists of a part of the rows will be. */
static void count_task(void *context, unsigned task) {
    const table_pass *pass = context;
    pl_scd_covariance *gram = &pass->scd->gram;
    const pl_matrix *x = pass->scd->x;
    uint64_t first = x->columns * task / TASKS, last = x->columns * (task + 1) / TASKS;
    memcpy(gram->listing + first, gram->listed + first, (last - first) * sizeof *gram->listing);
    for (uint64_t s = pass->begin; s < gram->slots; s++) {
        uint64_t j = gram->column[s], end = pl_scd_entry_from(x, j, last);
        for (uint64_t e = pl_scd_entry_from(x, j, first); e < end; e++)
            gram->listing[x->index[e]]++;
    }
}

/* Adds the entries of new slots to these lists. */
static void list_task(void *context, unsigned task) {
    const table_pass *pass = context;
    pl_scd_covariance *gram = &pass->scd->gram;
    const pl_matrix *x = pass->scd->x;
    uint64_t first = x->columns * task / TASKS, last = x->columns * (task + 1) / TASKS;
    for (uint64_t s = pass->begin; s < gram->slots; s++) {
        uint64_t j = gram->column[s], end = pl_scd_entry_from(x, j, last);
        for (uint64_t e = pl_scd_entry_from(x, j, first); e < end; e++) {
            uint32_t i = x->index[e];
            float value = (float)pl_value_at(x->values, e);
            gram->list[gram->begin[i] + gram->listed[i]++] = (pl_scd_entry){(uint32_t)s, value};
        }
    }
}

/* Adds the products of `count` slots from `first` on, at most PL_FULL_VECTORS, with all slots up to themselves, over
 * some rows, to `sums`, and their masses there to `mass`. */
static void add_products(const table_pass *pass, uint64_t first, uint64_t count, uint64_t row, uint64_t rows,
                         double *sums, double *mass) {
    const pl_matrix *x = pass->scd->x;
    const pl_scd_covariance *gram = &pass->scd->gram;
    double a[PL_FULL_VECTORS][CHUNK], some[PL_FULL_VECTORS * PL_FULL_ROWS], part[PL_FULL_VECTORS] = {0};
    const double *vectors[PL_FULL_VECTORS];
    uint64_t last = first + count - 1;
    for (uint64_t v = 0; v < PL_FULL_VECTORS; v++) {
        uint64_t from = x->start[gram->column[v < count ? first + v : last]] + row;
        vectors[v] = a[v];
        for (uint64_t i = 0; i < rows; i++) {
            a[v][i] = pass->curvature[row + i] * pl_value_at(x->values, from + i);
            part[v] += a[v][i];
        }
    }
    for (uint64_t r = 0; r <= last; r += PL_FULL_ROWS) {
        pl_values values[PL_FULL_ROWS];
        for (unsigned k = 0; k < PL_FULL_ROWS; k++)
            values[k] = pl_values_from(x->values, x->start[gram->column[r + k <= last ? r + k : last]] + row);
        pl_full_dots(values, rows, vectors, some);
        for (uint64_t v = 0; v < count; v++)
            for (unsigned k = 0; k < PL_FULL_ROWS && r + k <= first + v; k++)
                sums[v * gram->capacity + r + k] += some[v * PL_FULL_ROWS + k];
    }
    for (uint64_t v = 0; v < count; v++)
        mass[v] += part[v];
}

/* The same over all rows, if every column is full. */
static void add_full(const table_pass *pass, uint64_t first, uint64_t count, double *sums, double *mass) {
    uint64_t rows = pass->scd->x->columns;
    for (uint64_t row = 0; row < rows; row += CHUNK)
        add_products(pass, first, count, row, rows - row < CHUNK ? rows - row : CHUNK, sums, mass);
}

/* The same of one slot by the lists. */
static void add_listed(const table_pass *pass, uint64_t slot, double *sums, double *mass) {
    const pl_scd_covariance *gram = &pass->scd->gram;
    const pl_matrix *x = pass->scd->x;
    uint64_t j = gram->column[slot];
    for (uint64_t e = x->start[j]; e < x->start[j + 1]; e++) {
        uint32_t i = x->index[e], count = gram->listed[i];
        const pl_scd_entry *list = gram->list + gram->begin[i];
        double a = pass->curvature[i] * pl_value_at(x->values, e);
        *mass += a;
        if (e + AHEAD < x->start[j + 1])
            pl_prefetch(gram->list + gram->begin[x->index[e + AHEAD]]);
        for (uint32_t f = 0; f < count && list[f].slot <= slot; f++) /* in order; the table is symmetric */
            sums[list[f].slot] += a * (double)list[f].value;
    }
}

/* Stores the row of a slot in the table. */
static void put_row(const table_pass *pass, uint64_t slot, const double *sums, double mass) {
    pl_scd_covariance *gram = &pass->scd->gram;
    const pl_glm *glm = pass->scd->glm;
    double scale = pl_column_scale(glm, gram->column[slot]);
    gram->mass[slot] = scale * mass;
    gram->norm2[slot] = scale * scale * sums[slot];
    for (uint64_t r = 0; r <= slot; r++)
        gram->table[slot * gram->stride + r] = (float)(scale * pl_column_scale(glm, gram->column[r]) * sums[r]);
}

/* Computes the rows of the table for the new slots, PL_FULL_VECTORS at a time. */
static void fill_task(void *context, unsigned task) {
    const table_pass *pass = context;
    const pl_scd_covariance *gram = &pass->scd->gram;
    bool full = pl_scd_is_full(pass->scd->x);
    double *sums = gram->sums + (uint64_t)task * PL_FULL_VECTORS * gram->capacity;
    for (uint64_t s = pass->begin + task * PL_FULL_VECTORS; s < gram->slots && !pl_stop_due();
         s += TASKS * PL_FULL_VECTORS) {
        uint64_t count = gram->slots - s < PL_FULL_VECTORS ? gram->slots - s : PL_FULL_VECTORS;
        double mass[PL_FULL_VECTORS] = {0};
        for (uint64_t v = 0; v < count; v++)
            memset(sums + v * gram->capacity, 0, (s + v + 1) * sizeof *sums);
        if (full)
            add_full(pass, s, count, sums, mass);
        for (uint64_t v = 0; v < count; v++) {
            if (!full)
                add_listed(pass, s + v, sums + v * gram->capacity, &mass[v]);
            put_row(pass, s + v, sums + v * gram->capacity, mass[v]);
        }
    }
}

/* Copies them to the columns. */
static void mirror_task(void *context, unsigned task) {
    const table_pass *pass = context;
    pl_scd_covariance *gram = &pass->scd->gram;
    for (uint64_t r = task; r < gram->slots; r += TASKS)
        for (uint64_t s = r < pass->begin ? pass->begin : r + 1; s < gram->slots; s++)
            gram->table[r * gram->stride + s] = gram->table[s * gram->stride + r];
}

static void slope_task(void *context, unsigned task) {
    const table_pass *pass = context;
    const pl_scd *self = pass->scd;
    const pl_matrix *x = self->x;
    for (uint64_t s = task; s < self->gram.slots && !pl_stop_due(); s += TASKS) {
        uint64_t j = self->gram.column[s], begin = x->start[j];
        self->gram.slope[s] =
            pl_column_scale(self->glm, j) * pl_sparse_dot(x->index + begin, pl_values_from(x->values, begin),
                                                          x->start[j + 1] - begin, pass->worker->slope);
    }
}

/* ahead = table x the change of w since the last model; stores that change in `then`. */
static void product_task(void *context, unsigned task) {
    const secant *secant = context;
    pl_scd_covariance *gram = secant->gram;
    uint64_t first = gram->slots * task / TASKS, last = gram->slots * (task + 1) / TASKS;
    for (uint64_t s = first; s < last; s++)
        gram->ahead[s] = gram->mass[s] * secant->moved;
    for (uint64_t s = 0; s < gram->slots; s++) {
        const float *restrict row = gram->table + s * gram->stride;
        double d = gram->then[s];
        for (uint64_t r = first; r < last && d != 0; r++)
            gram->ahead[r] += d * (double)row[r];
    }
}

/* Adds a y y' to the table and subtracts b g g'. */
static void secant_task(void *context, unsigned task) {
    const secant *secant = context;
    pl_scd_covariance *gram = secant->gram;
    const double *restrict y = gram->change, *restrict g = gram->ahead;
    for (uint64_t s = task; s < gram->slots; s += TASKS) {
        float *restrict row = gram->table + s * gram->stride;
        double a = y[s] * secant->a, b = g[s] * secant->b;
        for (uint64_t r = 0; r < gram->slots; r++)
            row[r] += (float)(a * y[r] - b * g[r]);
        gram->norm2[s] += a * y[s] - b * g[s];
        gram->mass[s] += a * secant->y - b * secant->g;
    }
}

static void run(const pl_scd *self, pl_task task, void *pass) {
    pl_engine *engine = self->team->engine;
    engine->type->run(engine, task, pass, TASKS);
}

static uint64_t room_of(const pl_scd_covariance *gram, uint64_t row) { return gram->begin[row + 1] - gram->begin[row]; }

static bool overflow(const pl_scd *self) {
    const pl_scd_covariance *gram = &self->gram;
    bool any = false;
    for (uint64_t i = 0; i < self->x->columns; i++)
        any = any || gram->listing[i] > room_of(gram, i);
    return any;
}

/* The room to add to a list, so that it can hold twice its new length and some more. A list is never longer than its
 * row. */
static uint64_t room_to_add(const pl_scd *self, uint64_t row) {
    const uint64_t *start = self->glm->base.data->x.start;
    uint64_t room = room_of(&self->gram, row), length = start[row + 1] - start[row],
             wanted = 2 * self->gram.listing[row] + MORE_ROOM;
    wanted = wanted < length ? wanted : length;
    return room < wanted ? wanted - room : 0;
}

/* Moves lists to their new places, the last one first. */
static void lengthen_lists(pl_scd *self) {
    pl_scd_covariance *gram = &self->gram;
    uint64_t added = 0;
    for (uint64_t i = 0; i < self->x->columns; i++)
        added += room_to_add(self, i);
    for (uint64_t i = self->x->columns; i-- > 0 && added > 0;) {
        uint64_t here = room_to_add(self, i);
        gram->begin[i + 1] += added;
        added -= here;
        memmove(gram->list + gram->begin[i] + added, gram->list + gram->begin[i], gram->listed[i] * sizeof *gram->list);
    }
}

static void list_rows(pl_scd *self, table_pass *pass) {
    if (pl_scd_is_full(self->x))
        return;
    run(self, count_task, pass);
    if (overflow(self))
        lengthen_lists(self);
    run(self, list_task, pass);
}

void pl_scd_covariance_widen(pl_scd_covariance *gram, uint64_t slots) {
    uint64_t stride = gram->stride;
    while (stride < slots) /* an odd number of cache lines, so that a column does not map to one cache set */
        stride = stride ? 2 * stride + LINE : 9 * LINE;
    stride = stride < gram->capacity ? stride : gram->capacity;
    for (uint64_t s = gram->slots; s-- > 1 && stride > gram->stride;)
        memmove(gram->table + s * stride, gram->table + s * gram->stride, gram->slots * sizeof *gram->table);
    gram->stride = stride;
}

void pl_scd_covariance_empty(pl_scd *self, pl_scd_worker *worker) {
    pl_scd_covariance *gram = &self->gram;
    for (uint64_t s = 0; s < gram->slots; s++)
        gram->slot[gram->column[s]] = PL_SCD_NO_SLOT;
    memset(gram->listed, 0, self->x->columns * sizeof *gram->listed);
    gram->slots = gram->nonzeros = worker->known = 0;
}

static bool drifted(const pl_scd *self, const double *curvature) {
    double moved = 0, sum = 0;
    if (self->quadratic)
        return false;
    for (uint64_t i = 0; i < self->x->columns; i++) {
        moved += fabs(curvature[i] - self->gram.curvature[i]);
        sum += curvature[i];
    }
    return moved > MOST_DRIFT * sum;
}

/* Whether a column, such as one of years, has a mean so large that floats lose its deviations. */
static bool is_coarse(const pl_scd *self, uint64_t begin) {
    const pl_scd_covariance *gram = &self->gram;
    bool coarse = false;
    for (uint64_t s = begin; s < gram->slots && self->glm->intercept == PL_FREE; s++)
        coarse = coarse || gram->norm2[s] - gram->mass[s] * gram->mass[s] / gram->total < FLAT * gram->norm2[s];
    return coarse;
}

static void enter(pl_scd *self, const pl_scd_worker *worker) {
    pl_scd_covariance *gram = &self->gram;
    table_pass pass = {self, worker, worker->curvature, gram->slots};
    if (gram->slots == 0) {
        memcpy(gram->curvature, worker->curvature, self->x->columns * sizeof *gram->curvature);
        gram->total = 0;
        for (uint64_t i = 0; i < self->x->columns; i++)
            gram->total += gram->curvature[i];
    }
    for (uint64_t m = 0; m < worker->members; m++) {
        uint64_t j = worker->set[m];
        if (gram->slot[j] != PL_SCD_NO_SLOT)
            continue;
        gram->slot[j] = (uint32_t)gram->slots;
        gram->column[gram->slots++] = j;
        gram->nonzeros += self->x->start[j + 1] - self->x->start[j];
    }
    if (gram->slots > pass.begin) {
        list_rows(self, &pass);
        run(self, fill_task, &pass);
        run(self, mirror_task, &pass);
        gram->coarse = gram->coarse || is_coarse(self, pass.begin);
    }
}

bool pl_scd_covariance_restore(pl_scd *self, const pl_scd_worker *worker) {
    pl_scd_covariance *gram = &self->gram;
    table_pass pass = {self, worker, NULL, 0};
    for (uint64_t s = 0; s < gram->slots; s++) {
        if (gram->column[s] >= self->x->rows || gram->slot[gram->column[s]] != PL_SCD_NO_SLOT)
            return false;
        gram->slot[gram->column[s]] = (uint32_t)s;
    }
    list_rows(self, &pass);
    return true;
}

/* What the table would have for the worker's set. */
typedef struct table_plan {
    bool anew;      /* it would begin with this set */
    uint64_t slots; /* with those of the set */
    double cost;    /* of filling it, in visits to non-zeros */
} table_plan;

static bool pays(const pl_scd *self, const pl_scd_worker *worker, const double *curvature, table_plan *plan) {
    const pl_scd_covariance *gram = &self->gram;
    uint64_t members = worker->members, fresh = 0, nonzeros = 0;
    if (members == 0 || members > gram->capacity || gram->coarse)
        return false;
    for (uint64_t m = 0; m < members; m++)
        if (gram->slot[worker->set[m]] == PL_SCD_NO_SLOT) {
            fresh++;
            nonzeros += pl_scd_entries(self, worker->set[m]);
        }
    plan->slots = gram->slots + fresh;
    plan->anew = plan->slots > gram->capacity || plan->slots > 2 * members + TASKS || drifted(self, curvature);
    if (plan->anew) {
        plan->slots = members;
        nonzeros = worker->nonzeros;
    }
    double row = ((plan->anew ? 0.0 : (double)gram->nonzeros) + 0.5 * (double)nonzeros) / (double)self->x->columns;
    plan->cost = (pl_scd_is_full(self->x) ? MULTIPLYING : SCANNING) * row * (double)nonzeros;
    return (double)members * (double)plan->slots <= WORTH * (double)worker->nonzeros &&
           plan->cost <= worker->credit + EXPECTED * (double)worker->nonzeros;
}

bool pl_scd_covariance_pays(const pl_scd *self, const pl_scd_worker *worker) {
    table_plan plan;
    return pays(self, worker, self->metric, &plan);
}

bool pl_scd_covariance_prepare(pl_scd *self, pl_scd_worker *worker) {
    pl_scd_covariance *gram = &self->gram;
    table_plan plan;
    if (!pays(self, worker, worker->curvature, &plan))
        return false;
    worker->credit -= plan.cost;
    if (plan.anew)
        pl_scd_covariance_empty(self, worker);
    pl_scd_covariance_widen(gram, plan.slots);
    enter(self, worker);
    if (gram->coarse) {
        pl_scd_covariance_empty(self, worker);
        return false;
    }
    table_pass pass = {self, worker, NULL, 0};
    run(self, slope_task, &pass);
    return true;
}

void pl_scd_covariance_move(const pl_scd_covariance *gram, uint64_t slot, double a, double *slope) {
    pl_full_add_narrow(gram->table + slot * gram->stride, gram->slots, a, slope);
}

/* Corrects the table by how the slopes changed since the last model (BFGS), so that it follows the curvature along the
 * path and is recomputed less often. */
static void learn(pl_scd *self, double sum, double moved) {
    pl_scd_covariance *gram = &self->gram;
    secant secant = {.gram = gram, .moved = moved, .y = sum - gram->sum_then, .g = gram->total * moved};
    double along = secant.y * moved, expected;
    for (uint64_t s = 0; s < gram->slots; s++) {
        double d = gram->then[s] = self->w[gram->column[s]] - gram->then[s];
        gram->change[s] = gram->slope[s] - gram->change[s];
        along += d * gram->change[s];
        secant.g += d * gram->mass[s];
    }
    run(self, product_task, &secant);
    expected = secant.g * moved;
    for (uint64_t s = 0; s < gram->slots; s++)
        expected += gram->then[s] * gram->ahead[s];
    if (!(along > LEAST_BEND * expected) || !(expected > 0))
        return;
    secant.a = 1.0 / along;
    secant.b = 1.0 / expected;
    run(self, secant_task, &secant);
    gram->total += secant.a * secant.y * secant.y - secant.b * secant.g * secant.g;
}

void pl_scd_covariance_follow(pl_scd *self, pl_scd_worker *worker, double sum) {
    pl_scd_covariance *gram = &self->gram;
    if (worker->known == gram->slots)
        learn(self, sum, worker->moved);
    for (uint64_t s = 0; s < gram->slots; s++) {
        gram->change[s] = gram->slope[s];
        gram->then[s] = self->w[gram->column[s]];
    }
    gram->sum_then = sum;
    worker->known = gram->slots;
}
