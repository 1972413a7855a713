/* csv_alike.c: whether the numbers of two tables mean the same. Their text is gone in a cache, so that one of kg and
 * one of g, or dates that were read with the day and with the month first, cannot be told apart by their values. */
#include <stdio.h>
#include <string.h>

#include "data/csv/csv_table.h"

#define PLAIN_NUMBERS ((pl_treatment){.role = PL_NUMBERS})

static const char *unit_of(const pl_treatment *column) { return column->unit ? column->unit : ""; }

/* May `other` join numbers in this unit? Numbers without a unit may, as in text, unless the unit is a factor. */
static bool takes(const char *unit, const char *other) {
    return strcmp(unit, other) == 0 || (!*other && !pl_amount_strict(unit));
}

/* Can the role have a unit or an order of dates? */
static bool is_number(pl_role role) {
    return role == PL_NUMBERS || role == PL_DATES || role == PL_LABELS || role == PL_WEIGHTS;
}

static bool are_alike(const pl_treatment *ours, const pl_treatment *theirs, bool either) {
    if (!is_number(ours->role) || !is_number(theirs->role))
        return true;
    if (ours->role == PL_DATES || theirs->role == PL_DATES)
        return ours->role == theirs->role && ours->order == theirs->order;
    return takes(unit_of(ours), unit_of(theirs)) || (either && takes(unit_of(theirs), unit_of(ours)));
}

/* Finds the column in the other table, which does not list plain numbers. NULL: it need not have the column. */
static const pl_treatment *find_other(const pl_treatment *column, const pl_table *other, const pl_treatment *plain) {
    const pl_treatment *found = pl_table_find(other, column->name);
    bool listed = column->role == PL_LABELS || column->role == PL_WEIGHTS;
    return found || listed ? found : plain;
}

static void describe(const pl_treatment *column, char *text, size_t size) {
    static const char *const orders[PL_DATE_ORDERS] = {[PL_YEAR_FIRST] = "dates with the year first",
                                                       [PL_MONTH_FIRST] = "dates with the month first",
                                                       [PL_DAY_FIRST] = "dates with the day first",
                                                       [PL_CLOCK] = "times"};
    if (column->role == PL_DATES)
        snprintf(text, size, "%s", orders[column->order]);
    else if (column->unit && *column->unit)
        snprintf(text, size, "numbers in %s", column->unit);
    else
        snprintf(text, size, "numbers without a unit");
}

static bool find_difference(const pl_table *ours, const pl_table *theirs, bool either, pl_table_difference *out) {
    const pl_treatment plain = PLAIN_NUMBERS, *a = NULL, *b = NULL;
    for (unsigned i = 0; i < ours->count + theirs->count; i++) {
        bool first = i < ours->count;
        const pl_treatment *column = first ? &ours->columns[i] : &theirs->columns[i - ours->count];
        const pl_treatment *other = find_other(column, first ? theirs : ours, &plain);
        a = first ? column : other;
        b = first ? other : column;
        if (!other || are_alike(a, b, either))
            continue;
        snprintf(out->column, sizeof out->column, "%.60s", column->name);
        describe(a, out->ours, sizeof out->ours);
        describe(b, out->theirs, sizeof out->theirs);
        return true;
    }
    return false;
}

parley_status pl_table_compare(const char *ours, const char *theirs, bool either, const char *path, bool *differ,
                               pl_table_difference *out, parley_error *error) {
    pl_table a, b = {0};
    *differ = false;
    if (!ours || !theirs || strcmp(ours, theirs) == 0)
        return PARLEY_OK;
    parley_status status = pl_table_read(ours, "the model", &a, error);
    if (status == PARLEY_OK)
        status = pl_table_read(theirs, path, &b, error);
    if (status == PARLEY_OK)
        *differ = find_difference(&a, &b, either, out);
    pl_table_free(&a);
    pl_table_free(&b);
    return status;
}
