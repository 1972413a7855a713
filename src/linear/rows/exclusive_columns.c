/* exclusive_columns.c: finds a large set of columns that are apart. Rare columns go first: in each round, an undecided
 * column that is the rarest in all its rows is apart, and those that it meets are core. */
#include "linear/rows/exclusive_columns.h"

#include <string.h>

#include "shard/distributed.h"

#define ROUNDS 8
#define LEAST_PART 0.3 /* of all columns must be apart */

typedef enum state { UNDECIDED, APART, CORE } state;

typedef struct finding {
    const pl_matrix *x;
    uint8_t *state;              /* of each column */
    double *rows, *lost, *meets; /* of each column: rows that have it, that have a rarer one, and that have one apart */
} finding;

static bool is_rarer(const finding *self, uint32_t j, uint32_t other) {
    return self->rows[j] < self->rows[other] || (self->rows[j] == self->rows[other] && j < other);
}

static void judge_row(finding *self, const uint32_t *index, uint64_t count) {
    const uint32_t *rarest = NULL;
    bool taken = false;
    for (uint64_t e = 0; e < count; e++) {
        taken |= self->state[index[e]] == APART;
        if (self->state[index[e]] == UNDECIDED && (!rarest || is_rarer(self, index[e], *rarest)))
            rarest = &index[e];
    }
    for (uint64_t e = 0; e < count && rarest; e++)
        if (self->state[index[e]] == UNDECIDED) {
            self->lost[index[e]] += index[e] != *rarest;
            self->meets[index[e]] += taken;
        }
}

/* Returns the number of columns that remain undecided. */
static uint64_t decide(finding *self) {
    uint64_t left = 0;
    for (uint64_t j = 0; j < self->x->columns; j++) {
        if (self->state[j] == UNDECIDED)
            self->state[j] = self->meets[j] > 0 ? CORE : self->lost[j] > 0 ? UNDECIDED : APART;
        left += self->state[j] == UNDECIDED;
    }
    return left;
}

static parley_status find(finding *self, pl_engine *engine, parley_error *error) {
    const pl_matrix *x = self->x;
    for (uint64_t e = x->start[0]; e < x->start[x->rows]; e++)
        self->rows[x->index[e]]++;
    parley_status status = pl_sum_ranks(engine, self->rows, x->columns, error);
    uint64_t left = x->columns;
    for (unsigned round = 0; round < ROUNDS && left > 0 && status == PARLEY_OK; round++) {
        memset(self->lost, 0, 2 * x->columns * sizeof *self->lost);
        for (uint64_t i = 0; i < x->rows; i++)
            judge_row(self, x->index + x->start[i], x->start[i + 1] - x->start[i]);
        status = pl_sum_ranks(engine, self->lost, 2 * x->columns, error);
        left = decide(self);
    }
    return status;
}

/* Places the core first, then the intercept, which meets all, then the columns that are apart. */
static void place(pl_exclusive *apart, const finding *found, bool intercept) {
    uint64_t columns = found->x->columns, last = 0;
    for (uint64_t j = 0; j < columns; j++)
        if (found->state[j] != APART)
            apart->column[last++] = (uint32_t)j;
    if (intercept)
        apart->column[last++] = (uint32_t)columns;
    apart->count = columns + intercept - last;
    for (uint64_t j = 0; j < columns; j++)
        if (found->state[j] == APART)
            apart->column[last++] = (uint32_t)j;
    for (uint64_t p = 0; p < last; p++)
        apart->place[apart->column[p]] = (uint32_t)p;
}

parley_status pl_exclusive_open(pl_exclusive *apart, pl_engine *engine, const pl_matrix *x, bool intercept,
                                parley_error *error) {
    uint64_t columns = x->columns, rows = columns + intercept, alone = 0;
    finding found = {.x = x};
    *apart = (pl_exclusive){0};
    parley_status status = pl_take(&found.rows, 3 * columns, sizeof *found.rows, "columns' rows", error);
    if (status == PARLEY_OK)
        status = pl_take(&found.state, columns, 1, "columns' rows", error);
    if (status == PARLEY_OK) {
        found.lost = found.rows + columns;
        found.meets = found.lost + columns;
        status = find(&found, engine, error);
    }
    for (uint64_t j = 0; j < columns && status == PARLEY_OK; j++)
        alone += found.state[j] == APART;
    if (status == PARLEY_OK && (double)alone >= LEAST_PART * (double)columns) {
        status = pl_take(&apart->place, rows, sizeof *apart->place, "columns' places", error);
        if (status == PARLEY_OK)
            status = pl_take(&apart->column, rows, sizeof *apart->column, "columns' places", error);
        if (status == PARLEY_OK)
            place(apart, &found, intercept);
    }
    pl_free(found.rows);
    pl_free(found.state);
    return status;
}

void pl_exclusive_close(pl_exclusive *apart) {
    pl_free(apart->place);
    pl_free(apart->column);
    *apart = (pl_exclusive){0};
}
