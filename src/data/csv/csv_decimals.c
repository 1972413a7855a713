/* csv_decimals.c: how a column of a CSV input writes its numbers: 1234.5, 1234,5 or 1.234,5 with a decimal comma, or
 * 1,234.5 with commas between thousands. The head of the input decides: a column is read in the way that fits most of
 * its values, and with a decimal point if several ways fit all of them. A model remembers the ways of its training
 * table for inputs whose head does not tell. */
#include <string.h>

#include "data/csv/csv.h"

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

void pl_csv_count_decimals(pl_csv *csv, unsigned column, const pl_field *field) {
    char copy[PL_QUOTED_NUMERAL];
    pl_numeral numeral;
    for (unsigned d = 0; d < PL_DECIMALS_COUNT; d++)
        csv->survey[column].fits[d] += pl_csv_numeral_in((pl_decimals)d, field, copy, &numeral);
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

void pl_csv_choose_decimals(pl_csv *csv) {
    for (unsigned j = 0; j < csv->count; j++) {
        const pl_treatment *treatment = pl_table_find(&csv->table, csv->columns[j].name);
        csv->columns[j].decimals =
            choose(csv->survey[j].fits, csv->separator, treatment ? treatment->decimals : PL_DECIMAL_POINT);
    }
}
