/* columns.c: transposes a matrix by a counting sort. Each task counts the entries of its rows by column, which gives
 * the position of every entry; then all tasks scatter their entries in parallel. The result does not depend on the
 * number of tasks. */
#include "shard/columns.h"

#include <string.h>

#include "base/stop.h"

#define MOST_TASKS 8 /* each task needs a counter for every column */

typedef struct transposition {
    const pl_matrix *x;
    uint64_t *next; /* tasks x columns: first the number of entries, then the position of the next one */
    unsigned tasks;
    uint32_t *index;
    pl_value_room values;
} transposition;

static uint64_t first_row(const transposition *t, unsigned task) { return t->x->rows * task / t->tasks; }

static void count_task(void *context, unsigned task) {
    const transposition *t = context;
    const pl_matrix *x = t->x;
    uint64_t *count = t->next + task * x->columns;
    for (uint64_t i = first_row(t, task); i < first_row(t, task + 1) && !pl_stop_due(); i++)
        for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
            count[x->index[e]]++;
}

/* If counting was stopped, counts are too small, and this stops before its first row. */
static void scatter_task(void *context, unsigned task) {
    const transposition *t = context;
    const pl_matrix *x = t->x;
    uint64_t *next = t->next + task * x->columns;
    for (uint64_t i = first_row(t, task); i < first_row(t, task + 1) && !pl_stop_due(); i++)
        for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            uint64_t to = next[x->index[e]]++;
            t->index[to] = (uint32_t)i;
            pl_value_put(t->values, to, pl_value_at(x->values, e));
        }
}

/* Turns counts into positions, and fills in the starts of the columns. */
static void place(transposition *t, uint64_t *start) {
    uint64_t sum = 0;
    for (uint64_t j = 0; j < t->x->columns; j++) {
        start[j] = sum;
        for (unsigned task = 0; task < t->tasks; task++) {
            uint64_t *next = &t->next[task * t->x->columns + j], count = *next;
            *next = sum;
            sum += count;
        }
    }
    start[t->x->columns] = sum;
}

uint64_t pl_columns_bytes(const pl_matrix *x) {
    return (x->columns + 1) * sizeof(uint64_t) + x->nonzeros * (4 + pl_value_bytes(x->values));
}

parley_status pl_columns_check(uint64_t rows, parley_error *error) {
    if (rows <= UINT32_MAX)
        return PARLEY_OK;
    return pl_fail(error, PARLEY_BAD_INPUT,
                   "%llu rows are too many for a solver that works by columns; use a preset that works by rows",
                   (unsigned long long)rows);
}

parley_status pl_columns_open(pl_columns *columns, pl_engine *engine, const pl_matrix *x, parley_error *error) {
    transposition t = {.x = x, .tasks = engine->threads < MOST_TASKS ? engine->threads : MOST_TASKS};
    *columns = (pl_columns){0};
    parley_status status = pl_columns_check(x->rows, error);
    if (status != PARLEY_OK)
        return status;
    status = pl_take(&t.next, t.tasks * x->columns, sizeof *t.next, "the transposed matrix", error);
    if (status != PARLEY_OK)
        return status;
    if (!pl_span_reserve(&columns->start, (x->columns + 1) * sizeof(uint64_t)) ||
        !pl_span_reserve(&columns->index, (x->nonzeros + 1) * sizeof *t.index) ||
        (!pl_are_ones(x->values) && !pl_span_reserve(&columns->value, (x->nonzeros + 1) * pl_value_bytes(x->values)))) {
        pl_free(t.next);
        pl_columns_close(columns);
        return pl_fail_memory(error, "the transposed matrix", pl_columns_bytes(x));
    }
    t.index = columns->index.data;
    t.values = pl_value_room_in(pl_are_ones(x->values) ? NULL : columns->value.data, x->values.wide != NULL);
    engine->type->run(engine, count_task, &t, t.tasks);
    place(&t, columns->start.data);
    engine->type->run(engine, scatter_task, &t, t.tasks);
    columns->x = (pl_matrix){x->columns, x->rows, x->nonzeros, columns->start.data, t.index, pl_values_of(t.values)};
    columns->shape = columns->x;
    pl_free(t.next);
    status = pl_stop_check(error);
    if (status != PARLEY_OK)
        pl_columns_close(columns);
    return status;
}

void pl_columns_close(pl_columns *columns) {
    pl_span_free(&columns->start);
    pl_span_free(&columns->index);
    pl_span_free(&columns->value);
    pl_span_free(&columns->starts);
    *columns = (pl_columns){0};
}
