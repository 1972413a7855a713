/* csv_decimals.c: how a column of a CSV input writes its numbers: 1234.5, 1234,5 or 1.234,5 with a decimal comma, or
 * 1,234.5 with commas between thousands. The head of the input decides: a column is read in the way that fits most of
 * its values, and with a decimal point if several ways fit all of them. Numbers may also be amounts, such as 12.8 kg,
 * if they have one unit. A model remembers the ways and units of its training table. */
#include <stdio.h>
#include <string.h>

#include "data/csv/csv.h"

#define MOST_UNITS 64 /* of a column, that are counted */
#define SHOWN_UNITS 4 /* in a message */
#define FEW_LABELS 20 /* different amounts that may be the names of classes */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Copies the whole part of a number, in which `mark` may stand between groups of three digits, without the marks.
 * Returns its end, or NULL if the groups are not right. */
static const char *copy_whole(const char *p, const char *end, char mark, char **to) {
    const char *first = p;
    unsigned digits = 0, groups = 0;
    for (; p < end && (is_digit(*p) || *p == mark); p++) {
        if (is_digit(*p)) {
            *(*to)++ = *p;
            digits++;
            continue;
        }
        if (digits == 0 || digits > 3 || (groups > 0 && digits != 3) || *first == '0')
            return NULL;
        digits = 0;
        groups++;
    }
    return groups > 0 && digits != 3 ? NULL : p;
}

bool pl_csv_numeral_in(pl_decimals decimals, const pl_field *field, char *copy, pl_numeral *numeral) {
    if (decimals == PL_DECIMAL_POINT)
        return pl_csv_numeral(field, copy, numeral);
    if (field->bytes == 0 || field->bytes >= PL_QUOTED_NUMERAL)
        return false;
    bool comma = decimals == PL_DECIMAL_COMMA;
    const char *p = field->text, *end = p + field->bytes;
    char *to = copy;
    if (*p == '+' || *p == '-')
        *to++ = *p++;
    p = copy_whole(p, end, comma ? '.' : ',', &to);
    if (!p)
        return false;
    if (p < end && *p == (comma ? ',' : '.')) {
        *to++ = '.';
        p++;
    }
    if (memchr(p, comma ? '.' : ',', (size_t)(end - p)))
        return false;
    memcpy(to, p, (size_t)(end - p));
    to += end - p;
    *to = '\0';
    return pl_numeral_scan(copy, numeral) && numeral->end == to;
}

bool pl_csv_any_numeral(const pl_field *field) {
    char copy[PL_QUOTED_NUMERAL];
    pl_numeral numeral;
    bool number = false;
    for (unsigned d = 0; d < PL_DECIMALS_COUNT; d++)
        number |= pl_csv_numeral_in((pl_decimals)d, field, copy, &numeral);
    return number;
}

bool pl_csv_number(const pl_csv_column *column, const pl_field *field, pl_amount *amount, pl_numeral *numeral) {
    if (pl_csv_numeral_in(column->decimals, field, amount->copy, numeral))
        return !column->strict || numeral->digits == 0;
    if (!column->amounts || !pl_amount_read(field->text, field->bytes, column->decimals, amount))
        return false;
    *numeral = amount->numeral;
    if (amount->bound && !column->bounded)
        return false;
    return amount->unit[0] ? strcmp(amount->unit, column->unit) == 0 : !column->strict || numeral->digits == 0;
}

/* Counts an amount by its unit. */
static bool count_amount(pl_csv *csv, unsigned column, const pl_field *field, const pl_amount *amount) {
    pl_csv_survey *survey = &csv->survey[column];
    uint64_t before = csv->units.count;
    uint32_t number;
    if (survey->amounts++ == 0)
        pl_csv_show(field->text, field->bytes, survey->example, sizeof survey->example);
    survey->bounds += amount->bound;
    if (!amount->unit[0]) {
        survey->bare++;
        return true;
    }
    bool known = pl_dictionary_find(&csv->units, column, amount->unit, strlen(amount->unit)) != PL_NOT_FOUND;
    if (!known && survey->units >= MOST_UNITS)
        return true;
    if (!pl_dictionary_add(&csv->units, column, amount->unit, strlen(amount->unit), &number) ||
        !pl_span_reserve(&csv->unit_counts, (number + 1) * 2 * sizeof(uint64_t)))
        return false;
    uint64_t *counts = csv->unit_counts.data;
    if (csv->units.count > before) {
        counts[number] = 0;
        survey->units++;
    }
    counts[number]++;
    return true;
}

/* Counts the different amounts in the column of labels, of which few may be the names of classes. */
static bool count_label(pl_csv *csv, const pl_field *field) {
    uint32_t number;
    uint64_t before = csv->surveyed.count;
    if (csv->surveyed.count > FEW_LABELS)
        return true;
    bool room = pl_dictionary_add(&csv->surveyed, 0, field->text, field->bytes, &number);
    csv->survey[csv->label].distinct += csv->surveyed.count > before;
    return room;
}

bool pl_csv_count_decimals(pl_csv *csv, unsigned column, const pl_field *field) {
    pl_csv_survey *survey = &csv->survey[column];
    bool bare = false, counted = false;
    pl_amount amount;
    pl_numeral numeral;
    for (unsigned d = 0; d < PL_DECIMALS_COUNT; d++) {
        bool fits = pl_csv_numeral_in((pl_decimals)d, field, amount.copy, &numeral);
        survey->fits[d] += fits;
        bare |= fits;
    }
    survey->bare += bare;
    survey->marks.values += bare || !pl_csv_missing(csv, field);
    if (bare)
        pl_csv_count_marks(&survey->marks, field);
    if (bare || !pl_csv_has_digit(field) || pl_csv_missing(csv, field))
        return true;
    bool marked = memchr(field->text, ',', field->bytes) || memchr(field->text, '.', field->bytes);
    for (unsigned d = 0; d < PL_DECIMALS_COUNT; d++) {
        if (!marked && d > 0 && !counted) /* without marks it is the same in every way */
            break;
        if (!pl_amount_read(field->text, field->bytes, (pl_decimals)d, &amount))
            continue;
        survey->fits[d]++;
        if (!counted && !count_amount(csv, column, field, &amount))
            return false;
        if (!counted)
            pl_csv_count_marks(&survey->marks, field);
        counted = true;
    }
    return !counted || column != csv->label || count_label(csv, field);
}

/* Which way is taken for 1,234, which both ways with commas fit? In a file with semicolons the comma is decimal. */
static pl_decimals choose(const uint64_t *fits, char separator, pl_decimals usual) {
    const pl_decimals order[] = {usual, PL_DECIMAL_POINT, separator == ';' ? PL_DECIMAL_COMMA : PL_GROUPED,
                                 separator == ';' ? PL_GROUPED : PL_DECIMAL_COMMA};
    pl_decimals best = order[0];
    for (unsigned i = 1; i < sizeof order / sizeof *order; i++)
        if (fits[order[i]] > fits[best])
            best = order[i];
    return best;
}

/* Finds the most frequent unit of a column, and how often it occurs. The first one wins a tie. */
static uint64_t find_unit(const pl_csv *csv, unsigned column, pl_name *unit) {
    const uint64_t *counts = csv->unit_counts.data;
    uint64_t most = 0;
    *unit = (pl_name){"", 0};
    for (uint32_t i = 0; i < csv->units.count && csv->survey[column].units > 0; i++)
        if (csv->units.words[i].kind == column && counts[i] > most) {
            most = counts[i];
            *unit = pl_dictionary_word(&csv->units, i);
        }
    return most;
}

static void set_unit(pl_csv_column *column, const char *unit, uint64_t bytes) {
    memcpy(column->unit, unit, bytes);
    column->unit[bytes] = '\0';
    column->amounts = true;
    column->strict = pl_amount_strict(column->unit);
}

/* Takes a unit that most values have, or that is well known, and bounds if most values are none. */
static void choose_unit(pl_csv *csv, unsigned j) {
    const pl_csv_survey *survey = &csv->survey[j];
    pl_csv_column *column = &csv->columns[j];
    pl_name unit;
    if (survey->amounts == 0 || (j == csv->label && survey->distinct <= FEW_LABELS))
        return;
    uint64_t with_unit = find_unit(csv, j, &unit);
    set_unit(column, unit.text, unit.bytes);
    if (with_unit < survey->bare && (column->strict || !pl_amount_known(column->unit)))
        set_unit(column, "", 0);
    column->bounded = j != csv->label && 2 * survey->bounds <= survey->bare + with_unit;
}

void pl_csv_choose_decimals(pl_csv *csv, bool modelled) {
    for (unsigned j = 0; j < csv->count; j++) {
        const pl_treatment *treatment = pl_table_find(&csv->table, csv->columns[j].name);
        pl_csv_column *column = &csv->columns[j];
        column->decimals =
            choose(csv->survey[j].fits, csv->separator, treatment ? treatment->decimals : PL_DECIMAL_POINT);
        if (!modelled)
            choose_unit(csv, j);
        else if (treatment && treatment->unit)
            set_unit(column, treatment->unit, strlen(treatment->unit));
        else if (!treatment || treatment->role != PL_LABELS) /* thousands may be marked, but no unit is known */
            set_unit(column, "", 0);
        column->bounded |= modelled && treatment && treatment->bounded;
    }
    if (!modelled)
        pl_csv_decide_marks(csv);
    pl_dictionary_clear(&csv->surveyed);
}

bool pl_csv_mixes_units(const pl_csv *csv, unsigned column, char *text, size_t size) {
    const pl_csv_survey *survey = &csv->survey[column];
    const uint64_t *counts = csv->unit_counts.data;
    uint64_t values = survey->numbers + survey->words, all = survey->bare;
    unsigned listed = 0;
    *text = '\0';
    for (uint32_t i = 0; i < csv->units.count && survey->units > 0; i++) {
        if (csv->units.words[i].kind != column)
            continue;
        pl_name unit = pl_dictionary_word(&csv->units, i);
        size_t used = strlen(text);
        all += counts[i];
        if (listed < SHOWN_UNITS)
            snprintf(text + used, size - used, "%s%.*s", listed > 0 ? ", " : "", (int)unit.bytes, unit.text);
        listed++;
    }
    size_t used = strlen(text);
    if (survey->bare > 0 && listed <= SHOWN_UNITS)
        snprintf(text + used, size - used, "%snone", listed > 0 ? ", " : "");
    return survey->units + (survey->bare > 0) > 1 && survey->units <= SHOWN_UNITS && 10 * all >= 9 * values;
}
