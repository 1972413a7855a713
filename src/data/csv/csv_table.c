/* csv_table.c: a table's description as JSON, with the names of columns grouped by what they are. */
#include "data/csv/csv_table.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/bounded_json.h"
#include "base/json_memory.h"

#define MOST_COLUMNS ((size_t)1 << 24)

static const char *const orders[PL_DATE_ORDERS] = {[PL_YEAR_FIRST] = "year first",
                                                   [PL_MONTH_FIRST] = "month first",
                                                   [PL_DAY_FIRST] = "day first",
                                                   [PL_CLOCK] = "clock"};

static const char *const decimals[PL_DECIMALS_COUNT] = {
    [PL_DECIMAL_COMMA] = "decimal_comma", [PL_GROUPED] = "commas_between_thousands"};

static int by_name(const void *left, const void *right) {
    return strcmp(((const pl_treatment *)left)->name, ((const pl_treatment *)right)->name);
}

const pl_treatment *pl_table_find(const pl_table *table, const char *name) {
    const pl_treatment wanted = {.name = (char *)name};
    return table->count ? bsearch(&wanted, table->columns, table->count, sizeof wanted, by_name) : NULL;
}

const pl_treatment *pl_table_role(const pl_table *table, pl_role role) {
    for (unsigned i = 0; i < table->count; i++)
        if (table->columns[i].role == role)
            return &table->columns[i];
    return NULL;
}

/* Lists the columns whose numbers have commas. Returns 0, or -1 if memory runs out. */
static int describe_decimals(const pl_table *table, json_t *all) {
    int failed = 0;
    for (unsigned d = PL_DECIMAL_POINT + 1; d < PL_DECIMALS_COUNT; d++) {
        json_t *names = json_array();
        for (unsigned i = 0; i < table->count; i++)
            if (table->columns[i].decimals == (pl_decimals)d)
                failed |= json_array_append_new(names, json_string(table->columns[i].name));
        if (json_array_size(names) > 0)
            failed |= json_object_set(all, decimals[d], names);
        json_decref(names);
    }
    return failed;
}

/* Lists units of amounts by column, columns with bounds, and those with a category for rare words. */
static int describe_amounts(const pl_table *table, json_t *all) {
    json_t *units = json_object(), *bounded = json_array(), *rare = json_array();
    int failed = 0;
    for (unsigned i = 0; i < table->count; i++) {
        const pl_treatment *column = &table->columns[i];
        if (column->unit)
            failed |= json_object_set_new(units, column->name, json_string(column->unit));
        if (column->bounded)
            failed |= json_array_append_new(bounded, json_string(column->name));
        if (column->rare)
            failed |= json_array_append_new(rare, json_string(column->name));
    }
    if (json_object_size(units) > 0)
        failed |= json_object_set(all, "units", units);
    if (json_array_size(bounded) > 0)
        failed |= json_object_set(all, "bounded", bounded);
    if (json_array_size(rare) > 0)
        failed |= json_object_set(all, "rare", rare);
    json_decref(units);
    json_decref(bounded);
    json_decref(rare);
    return failed;
}

static json_t *describe(const pl_table *table) {
    const char separator[2] = {table->separator, '\0'};
    json_t *all = json_object(), *ignored = json_array(), *dates = json_object(), *fill = json_object();
    int failed = 0;
    for (unsigned i = 0; i < table->count; i++) {
        const pl_treatment *column = &table->columns[i];
        if (column->role == PL_LABELS || column->role == PL_WEIGHTS)
            failed |=
                json_object_set_new(all, column->role == PL_LABELS ? "label" : "weight", json_string(column->name));
        if (column->role == PL_IGNORED)
            failed |= json_array_append_new(ignored, json_string(column->name));
        if (column->role == PL_DATES)
            failed |= json_object_set_new(dates, column->name, json_string(orders[column->order]));
        if (column->filled)
            failed |= json_object_set_new(fill, column->name, json_real(column->fill));
    }
    if (table->separator)
        failed |= json_object_set_new(all, "separator", json_string(separator));
    if (table->indicated)
        failed |= json_object_set_new(all, "indicated", json_true());
    if (table->missing_words)
        failed |= json_object_set_new(all, "missing_words", json_string(table->missing_words));
    if (table->interactions)
        failed |= json_object_set_new(all, "interactions", json_string(table->interactions));
    failed |= json_object_set_new(all, "ignored", ignored) | json_object_set_new(all, "dates", dates) |
              json_object_set_new(all, "fill", fill) | describe_decimals(table, all) | describe_amounts(table, all);
    if (!failed)
        return all;
    json_decref(all);
    return NULL;
}

parley_status pl_table_write(const pl_table *table, char **text, parley_error *error) {
    pl_json_watch();
    json_t *all = describe(table);
    size_t bytes = all ? json_dumpb(all, NULL, 0, JSON_COMPACT | JSON_REAL_PRECISION(17)) : 0;
    *text = bytes ? pl_alloc(bytes + 1, 1) : NULL;
    if (*text)
        json_dumpb(all, *text, bytes, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(all);
    return *text ? PARLEY_OK : pl_fail_memory(error, "the description of the table", bytes + 1);
}

/* Adds a column, or finds the one of this name. Names are still in the order of the text. */
static pl_treatment *add(pl_table *table, const char *name, pl_role role) {
    pl_treatment *column = &table->columns[table->count];
    column->name = pl_strdup(name);
    if (!column->name)
        return NULL;
    table->count++;
    column->role = role;
    return column;
}

static pl_treatment *find_date(pl_table *table, const char *name) {
    for (unsigned i = 0; i < table->count; i++)
        if (table->columns[i].role == PL_DATES && strcmp(table->columns[i].name, name) == 0)
            return &table->columns[i];
    return NULL;
}

static bool copy_text(const json_t *all, const char *key, char **to) {
    const char *text = json_string_value(json_object_get(all, key));
    *to = text ? pl_strdup(text) : NULL;
    return !text || *to;
}

/* Reads everything but the columns' numbers, which `take_fills` adds. Returns false if memory runs out. */
static bool take_names(const json_t *all, pl_table *table) {
    static const struct {
        const char *key;
        pl_role role;
    } single[] = {{"label", PL_LABELS}, {"weight", PL_WEIGHTS}};
    bool room =
        copy_text(all, "missing_words", &table->missing_words) && copy_text(all, "interactions", &table->interactions);
    for (unsigned i = 0; i < 2 && room; i++) {
        const char *name = json_string_value(json_object_get(all, single[i].key));
        room = !name || add(table, name, single[i].role);
    }
    size_t i;
    const char *key;
    json_t *value;
    json_array_foreach(json_object_get(all, "ignored"), i, value) {
        const char *name = json_string_value(value);
        room = room && (!name || add(table, name, PL_IGNORED));
    }
    json_object_foreach(json_object_get(all, "dates"), key, value) {
        pl_treatment *column = room ? add(table, key, PL_DATES) : NULL;
        room = column != NULL;
        for (unsigned o = 0; room && o < PL_DATE_ORDERS && json_is_string(value); o++)
            if (strcmp(json_string_value(value), orders[o]) == 0)
                column->order = (pl_date_order)o;
    }
    return room;
}

static bool take_fills(json_t *fills, pl_table *table) {
    const char *key;
    json_t *value;
    bool room = true;
    json_object_foreach(fills, key, value) {
        if (!room || !json_is_number(value))
            continue;
        pl_treatment *column = find_date(table, key);
        if (!column && !(column = add(table, key, PL_NUMBERS))) {
            room = false;
            continue;
        }
        column->filled = true;
        column->fill = json_number_value(value);
    }
    return room;
}

static void sort(pl_table *table) { qsort(table->columns, table->count, sizeof *table->columns, by_name); }

/* Finds a column among the `known` ones, which are sorted, or adds it behind them. NULL: out of memory. */
static pl_treatment *find_or_add(pl_table *table, const pl_table *known, const char *name, pl_role role) {
    pl_treatment *column = (pl_treatment *)pl_table_find(known, name);
    return column ? column : add(table, name, role);
}

static bool take_units(const json_t *all, pl_table *table) {
    const pl_table known = *table;
    const char *key;
    json_t *value;
    bool room = true;
    json_object_foreach(json_object_get(all, "units"), key, value) {
        const char *unit = json_string_value(value);
        pl_treatment *column = room && unit ? find_or_add(table, &known, key, PL_NUMBERS) : NULL;
        room = room && (!unit || (column && (column->unit = pl_strdup(unit)) != NULL));
    }
    sort(table);
    return room;
}

/* Marks the columns of a list. */
static bool take_marks(json_t *names, pl_role role, size_t mark, pl_table *table) {
    const pl_table known = *table;
    json_t *value;
    size_t i;
    bool room = true;
    json_array_foreach(names, i, value) {
        const char *name = json_string_value(value);
        pl_treatment *column = room && name ? find_or_add(table, &known, name, role) : NULL;
        room = room && (!name || column);
        if (column)
            *(bool *)((char *)column + mark) = true;
    }
    sort(table);
    return room;
}

/* The columns are sorted before, and after. */
static bool take_decimals(const json_t *all, pl_table *table) {
    const pl_table known = *table;
    size_t i;
    json_t *value;
    bool room = true;
    for (unsigned d = PL_DECIMAL_POINT + 1; d < PL_DECIMALS_COUNT; d++)
        json_array_foreach(json_object_get(all, decimals[d]), i, value) {
            const char *name = json_string_value(value);
            pl_treatment *column = name && room ? find_or_add(table, &known, name, PL_NUMBERS) : NULL;
            room = room && (!name || column);
            if (column)
                column->decimals = (pl_decimals)d;
        }
    sort(table);
    return room;
}

/* Finds what the rest of the program relies on. */
static bool is_sound(const pl_table *table) {
    for (unsigned i = 0; i < table->count; i++) {
        const pl_treatment *column = &table->columns[i];
        if (column->filled && !isfinite(column->fill))
            return false;
        if (column->unit && strlen(column->unit) >= PL_UNIT_BYTES)
            return false;
        if (i > 0 && strcmp(column->name, column[-1].name) == 0)
            return false;
    }
    return true;
}

parley_status pl_table_read(const char *text, const char *path, pl_table *out, parley_error *error) {
    *out = (pl_table){0};
    json_t *all;
    if (!text)
        return PARLEY_OK;
    parley_status status = pl_json_parse(text, strlen(text), 2 * MOST_COLUMNS, JSON_REJECT_DUPLICATES, &all, NULL);
    if (status == PARLEY_NO_MEMORY)
        return pl_fail_memory(error, "the description of the table", strlen(text));
    const char *separator = json_string_value(json_object_get(all, "separator"));
    json_t *fills = json_object_get(all, "fill");
    size_t room = 2 + json_array_size(json_object_get(all, "ignored")) +
                  json_object_size(json_object_get(all, "dates")) + json_object_size(fills);
    for (unsigned d = PL_DECIMAL_POINT + 1; d < PL_DECIMALS_COUNT; d++)
        room += json_array_size(json_object_get(all, decimals[d]));
    room += json_object_size(json_object_get(all, "units")) + json_array_size(json_object_get(all, "bounded")) +
            json_array_size(json_object_get(all, "rare"));
    if (json_is_object(all) && room <= MOST_COLUMNS)
        status = pl_take(&out->columns, room, sizeof *out->columns, "the description of the table", error);
    else
        status = pl_fail(error, PARLEY_BAD_INPUT, "%s: its description of the training table is not valid", path);
    out->separator = separator ? *separator : '\0';
    out->indicated = json_is_true(json_object_get(all, "indicated"));
    if (status == PARLEY_OK && !(take_names(all, out) && take_fills(fills, out)))
        status = pl_fail_memory(error, "the description of the table", strlen(text));
    if (status == PARLEY_OK) {
        sort(out);
        if (!(take_decimals(all, out) && take_units(all, out) &&
              take_marks(json_object_get(all, "bounded"), PL_NUMBERS, offsetof(pl_treatment, bounded), out) &&
              take_marks(json_object_get(all, "rare"), PL_CATEGORIES, offsetof(pl_treatment, rare), out)))
            status = pl_fail_memory(error, "the description of the table", strlen(text));
        else if (!is_sound(out))
            status = pl_fail(error, PARLEY_BAD_INPUT, "%s: its description of the training table is not valid", path);
    }
    json_decref(all);
    if (status != PARLEY_OK)
        pl_table_free(out);
    return status;
}

void pl_table_free(pl_table *table) {
    for (unsigned i = 0; i < table->count; i++) {
        pl_free(table->columns[i].name);
        pl_free(table->columns[i].unit);
    }
    pl_free(table->columns);
    pl_free(table->missing_words);
    pl_free(table->interactions);
    *table = (pl_table){0};
}
