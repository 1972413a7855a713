/* columns.c: transposing, by counting. Each task counts the entries of its rows by column, so that it knows where they
 * go in every column; then all scatter at once. The result does not depend on how many tasks there are. */
#include "shard/columns.h"

#include <string.h>

#define MOST_TASKS 8 /* each keeps a counter for every column */

typedef struct transposing {
    const pl_matrix *x;
    uint64_t *next; /* tasks x columns: how many entries, then where the next one goes */
    unsigned tasks;
    uint32_t *index;
    float *value;
} transposing;

static uint64_t first_row(const transposing *of, unsigned task) { return of->x->rows * task / of->tasks; }

static void count_task(void *context, unsigned task) {
    const transposing *of = context;
    const pl_matrix *x = of->x;
    uint64_t *count = of->next + task * x->columns;
    for (uint64_t e = x->start[first_row(of, task)]; e < x->start[first_row(of, task + 1)]; e++)
        count[x->index[e]]++;
}

static void scatter_task(void *context, unsigned task) {
    const transposing *of = context;
    const pl_matrix *x = of->x;
    uint64_t *next = of->next + task * x->columns;
    for (uint64_t i = first_row(of, task); i < first_row(of, task + 1); i++)
        for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            uint64_t to = next[x->index[e]]++;
            of->index[to] = (uint32_t)i;
            if (x->value)
                of->value[to] = x->value[e];
        }
}

/* Turns counts into positions; the columns' starts are a by-product. */
static void place(transposing *of, uint64_t *start) {
    uint64_t sum = 0;
    for (uint64_t j = 0; j < of->x->columns; j++) {
        start[j] = sum;
        for (unsigned task = 0; task < of->tasks; task++) {
            uint64_t *next = &of->next[task * of->x->columns + j], count = *next;
            *next = sum;
            sum += count;
        }
    }
    start[of->x->columns] = sum;
}

uint64_t pl_columns_bytes(const pl_matrix *x) {
    return (x->columns + 1) * sizeof(uint64_t) + x->nonzeros * (x->value ? 8 : 4);
}

parley_status pl_columns_check(uint64_t rows, parley_error *error) {
    if (rows <= UINT32_MAX)
        return PARLEY_OK;
    return pl_fail(error, PARLEY_BAD_INPUT,
                   "%llu rows are too many to work by columns; use a preset that works by rows",
                   (unsigned long long)rows);
}

parley_status pl_columns_open(pl_columns *columns, pl_engine *engine, const pl_matrix *x, parley_error *error) {
    transposing of = {.x = x, .tasks = engine->threads < MOST_TASKS ? engine->threads : MOST_TASKS};
    *columns = (pl_columns){0};
    parley_status status = pl_columns_check(x->rows, error);
    if (status != PARLEY_OK)
        return status;
    status = pl_take(&of.next, of.tasks * x->columns, sizeof *of.next, "the matrix by columns", error);
    if (status != PARLEY_OK)
        return status;
    if (!pl_span_reserve(&columns->start, (x->columns + 1) * sizeof(uint64_t)) ||
        !pl_span_reserve(&columns->index, (x->nonzeros + 1) * sizeof *of.index) ||
        (x->value && !pl_span_reserve(&columns->value, (x->nonzeros + 1) * sizeof *of.value))) {
        pl_free(of.next);
        pl_columns_close(columns);
        return pl_fail_memory(error, "the matrix by columns", pl_columns_bytes(x));
    }
    of.index = columns->index.data;
    of.value = x->value ? columns->value.data : NULL;
    engine->type->run(engine, count_task, &of, of.tasks);
    place(&of, columns->start.data);
    engine->type->run(engine, scatter_task, &of, of.tasks);
    columns->x = (pl_matrix){x->columns, x->rows, x->nonzeros, columns->start.data, of.index, of.value};
    columns->shape = columns->x;
    pl_free(of.next);
    return PARLEY_OK;
}

void pl_columns_close(pl_columns *columns) {
    pl_span_free(&columns->start);
    pl_span_free(&columns->index);
    pl_span_free(&columns->value);
    pl_span_free(&columns->starts);
    *columns = (pl_columns){0};
}
