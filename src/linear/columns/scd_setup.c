/* scd_setup.c: allocates the scd solver. */
#include <math.h>
#include <string.h>

#include "linear/columns/scd.h"

#define CHUNKS 64   /* least number of chunks of all workers' columns, which are tasks of a pass */
#define BY_ROW 5    /* number of a worker's arrays by row */
#define BY_COLUMN 7 /* number of arrays of all columns */
#define ALL_ROWS 5  /* number of arrays of all rows */
#define SUMS 4      /* sums of a chunk */
#define GRAM 3000   /* most columns of the table */

void pl_scd_close(pl_local *local) {
    pl_scd *self = (pl_scd *)local;
    if (!self)
        return;
    void *owned[] = {self->workers,    self->wide,        self->lists,        self->values,
                     self->rests,      self->w,           self->last,         self->u,
                     self->norm2,      self->mass,        self->loss,         self->slope,
                     self->metric,     self->qt,          self->sums,         self->reach,
                     self->anchor_u,   self->anchor_qt,   self->gram.slot,    self->gram.list,
                     self->gram.begin, self->gram.listed, self->gram.listing, self->gram.column,
                     self->gram.table, self->gram.norm2,  self->gram.mass,    self->gram.slope,
                     self->gram.ahead, self->gram.then,   self->gram.change,  self->gram.curvature,
                     self->gram.sums,  self->gram.factor, self->gram.support, self};
    for (unsigned i = 0; i < sizeof owned / sizeof *owned; i++)
        pl_free(owned[i]);
}

static uint64_t owned_columns(const pl_team *columns) {
    uint64_t count = columns->first == 0 && columns->hosted ? 1 : 0; /* room for an intercept */
    for (unsigned k = 0; k < columns->hosted; k++)
        count += columns->rows[k];
    return count;
}

/* The size of the table of products, on the rank of the worker that has one. */
static uint64_t gram_capacity(const pl_setup *setup) {
    uint64_t columns = setup->by_column->rows;
    if (setup->team->hosted != 1 || !pl_linear_takes(PL_AUTO_COVARIANCE, "table", setup->problem, setup->settings))
        return 0;
    return columns < GRAM ? columns : GRAM;
}

static uint64_t gram_bytes(uint64_t capacity, const pl_matrix *x) {
    if (capacity == 0)
        return 0;
    return capacity * capacity * (sizeof(float) + sizeof(double)) + capacity * sizeof(uint32_t) +
           x->nonzeros * sizeof(pl_scd_entry) + (x->rows + 2 * x->columns) * sizeof(uint32_t) +
           (2 * x->columns + 1 + (8 + PL_SCD_GRAM_TASKS * PL_FULL_VECTORS) * capacity) * sizeof(double);
}

uint64_t pl_scd_bytes(const pl_setup *setup) {
    uint64_t rows = setup->by_column->columns, columns = setup->by_column->rows + 1;
    return (rows * (ALL_ROWS + (uint64_t)setup->team->hosted * BY_ROW) + columns * BY_COLUMN) * sizeof(double) +
           owned_columns(setup->columns) * ((5 + PL_SCD_PAST) * sizeof(double) + 1) +
           gram_bytes(gram_capacity(setup), setup->by_column);
}

static bool take_gram(pl_scd *self, uint64_t capacity) {
    pl_scd_covariance *gram = &self->gram;
    if (capacity == 0)
        return true;
    gram->slot = pl_alloc(self->x->rows, sizeof *gram->slot);
    gram->column = pl_alloc(capacity, sizeof *gram->column);
    gram->table = pl_alloc(capacity * capacity, sizeof *gram->table);
    gram->norm2 = pl_alloc(capacity, sizeof *gram->norm2);
    gram->mass = pl_alloc(capacity, sizeof *gram->mass);
    gram->slope = pl_alloc(capacity, sizeof *gram->slope);
    gram->ahead = pl_alloc(capacity, sizeof *gram->ahead);
    gram->then = pl_alloc(capacity, sizeof *gram->then);
    gram->change = pl_alloc(capacity, sizeof *gram->change);
    gram->curvature = pl_alloc(self->x->columns, sizeof *gram->curvature);
    gram->list = pl_alloc(self->x->nonzeros, sizeof *gram->list);
    gram->begin = pl_alloc(self->x->columns + 1, sizeof *gram->begin);
    gram->listed = pl_alloc(self->x->columns, sizeof *gram->listed);
    gram->listing = pl_alloc(self->x->columns, sizeof *gram->listing);
    gram->sums = pl_alloc(PL_SCD_GRAM_TASKS * PL_FULL_VECTORS * capacity, sizeof *gram->sums);
    gram->factor = pl_alloc(capacity * capacity, sizeof *gram->factor);
    gram->support = pl_alloc(capacity, sizeof *gram->support);
    gram->capacity = capacity;
    for (uint64_t j = 0; gram->slot && j < self->x->rows; j++)
        gram->slot[j] = PL_SCD_NO_SLOT;
    return gram->slot && gram->list && gram->begin && gram->listed && gram->listing && gram->column && gram->table &&
           gram->norm2 && gram->mass && gram->slope && gram->ahead && gram->then && gram->change && gram->curvature &&
           gram->sums && gram->factor && gram->support;
}

static void place_rows(pl_scd *self) {
    uint64_t rows = self->x->columns;
    for (unsigned k = 0; k < self->team->hosted; k++) {
        double *next = self->wide + k * BY_ROW * rows,
               **arrays[BY_ROW] = {&self->workers[k].z, &self->workers[k].slope, &self->workers[k].curvature,
                                   &self->workers[k].step, &self->workers[k].change};
        for (unsigned a = 0; a < BY_ROW; a++)
            *arrays[a] = next + a * rows;
    }
}

/* Lists a worker's columns in the order of its parts. A penalised intercept is the last column of the first worker. */
static void place_columns(pl_scd *self) {
    const pl_team *team = self->columns;
    uint64_t all = owned_columns(team), begin = 0;
    for (unsigned k = 0; k < team->hosted; k++) {
        pl_scd_worker *worker = &self->workers[k];
        worker->column = self->lists + begin;
        worker->set = self->lists + all + begin;
        worker->order = self->lists + 2 * all + begin;
        worker->begun = self->values + begin;
        worker->base = self->values + all + begin;
        worker->past = self->values + 2 * all + PL_SCD_PAST * begin;
        worker->rest = self->rests + begin;
        for (unsigned p = k * team->lanes; p < (k + 1) * team->lanes; p++)
            for (uint64_t r = 0; r < team->parts[p].count; r++)
                for (uint64_t j = team->parts[p].ranges[r].begin; j < team->parts[p].ranges[r].end; j++)
                    worker->column[worker->count++] = j;
        if (team->first + k == 0 && self->glm->intercept == PL_PENALISED)
            worker->column[worker->count++] = self->x->rows;
        begin += worker->count;
    }
}

static bool take_arrays(pl_scd *self) {
    uint64_t rows = self->x->columns, columns = self->x->rows + 1, all = owned_columns(self->columns);
    unsigned hosted = self->team->hosted;
    self->workers = pl_alloc(hosted, sizeof *self->workers);
    self->wide = pl_alloc(hosted * BY_ROW * rows, sizeof *self->wide);
    self->lists = pl_alloc(3 * all, sizeof *self->lists);
    self->values = pl_alloc((2 + PL_SCD_PAST) * all, sizeof *self->values);
    self->rests = pl_alloc(all, 1);
    self->sums = pl_alloc((uint64_t)hosted * self->chunks * SUMS, sizeof *self->sums);
    double **arrays[BY_COLUMN + ALL_ROWS] = {&self->w,     &self->last,   &self->u,        &self->norm2,
                                             &self->mass,  &self->reach,  &self->anchor_u, &self->loss,
                                             &self->slope, &self->metric, &self->qt,       &self->anchor_qt};
    bool all_there = self->workers && self->wide && self->lists && self->values && self->rests && self->sums;
    for (unsigned a = 0; a < sizeof arrays / sizeof *arrays && all_there; a++) {
        *arrays[a] = pl_alloc(a < BY_COLUMN ? columns : rows, sizeof(double));
        all_there = *arrays[a] != NULL;
    }
    return all_there;
}

parley_status pl_scd_open(const pl_setup *setup, pl_local **out, parley_error *error) {
    const pl_glm *glm = pl_glm_of(setup->problem);
    pl_scd *self;
    double scale, b;
    parley_status status = pl_take(&self, 1, sizeof *self, "scd", error);
    if (status != PARLEY_OK)
        return status;
    *self = (pl_scd){.base = {&pl_local_scd},
                     .glm = glm,
                     .team = setup->team,
                     .columns = setup->columns,
                     .x = setup->by_column,
                     .delayed = setup->settings->updates == PL_DELAYED,
                     .quadratic = glm->loss->quadratic,
                     .objective = INFINITY,
                     .drift = -1,
                     .caution = 1};
    self->even = self->quadratic && !glm->base.data->weight ? 1.0 / glm->base.total : 0.0;
    self->chunks = setup->team->workers < CHUNKS ? CHUNKS / setup->team->workers : 1;
    if (!take_arrays(self) || !take_gram(self, gram_capacity(setup)))
        status = pl_fail_memory(error, "scd", pl_scd_bytes(setup));
    if (status == PARLEY_OK)
        status = pl_null_objective(glm, setup->team, &scale, &b, error);
    if (status != PARLEY_OK) {
        pl_scd_close(&self->base);
        return status;
    }
    self->b = glm->intercept == PL_FREE ? b : 0.0;
    self->target = setup->settings->gap * scale;
    place_rows(self);
    place_columns(self);
    for (uint64_t j = 0; j <= self->x->rows; j++)
        self->norm2[j] = self->reach[j] = -1;
    *out = &self->base;
    return PARLEY_OK;
}
