/* csv_header.c: decides whether the first line of a CSV input holds names. It does if none of its fields is a number or
 * empty, unless rows below have amounts or dates in the same places. A first line with numbers, such as years, holds
 * names if the rows below show it: a word above numbers, a number above words, a usual name of labels above other
 * words, or whole numbers that count up beside words that no row repeats. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "data/csv/csv.h"

#define LEAST_ROWS 2   /* to find names beside numbers */
#define LEAST_COUNTS 5 /* to find them by numbers that count up */

typedef enum kind { BLANK, NUMBER, AMOUNT, DATE, WORD, KINDS } kind;

typedef struct pl_csv_first_column {
    kind first;
    double number;         /* in the first line */
    uint64_t below[KINDS]; /* fields of the rows below */
    uint64_t words;        /* different words below */
    bool again;            /* the first field is also below */
    bool named;            /* it is a usual name of labels, or that of the label column */
} pl_csv_first_column;

static kind kind_of(const pl_csv *csv, const pl_field *field, double *number) {
    pl_amount amount;
    if (pl_csv_missing(csv, field))
        return BLANK;
    if (!pl_csv_has_digit(field))
        return WORD;
    for (unsigned d = 0; d < PL_DECIMALS_COUNT; d++)
        if (pl_csv_numeral_in((pl_decimals)d, field, amount.copy, &amount.numeral)) {
            *number = pl_numeral_double(&amount.numeral);
            return NUMBER;
        }
    for (unsigned d = 0; d < PL_DECIMALS_COUNT; d++)
        if (pl_amount_read(field->text, field->bytes, (pl_decimals)d, &amount))
            return AMOUNT;
    for (unsigned order = 0; order < PL_DATE_ORDERS; order++)
        if (pl_date_read(field->text, field->bytes, (pl_date_order)order, number))
            return DATE;
    return WORD;
}

bool pl_csv_names_label(const char *name, uint64_t bytes, unsigned which) {
    static const char *const names[PL_CSV_LABEL_NAMES] = {"label", "target", "y", "class"};
    return strlen(names[which]) == bytes && strncasecmp(name, names[which], (size_t)bytes) == 0;
}

static bool is_label(const pl_field *field, const char *label) {
    bool named = label && strlen(label) == field->bytes && memcmp(label, field->text, field->bytes) == 0;
    for (unsigned i = 0; i < PL_CSV_LABEL_NAMES; i++)
        named |= pl_csv_names_label(field->text, field->bytes, i);
    return named;
}

parley_status pl_csv_first_open(unsigned fields, const char *label, pl_csv_first *first, parley_error *error) {
    *first = (pl_csv_first){.count = fields, .label = label};
    return pl_take(&first->columns, fields, sizeof *first->columns, "columns", error);
}

void pl_csv_first_close(pl_csv_first *first) {
    pl_free(first->columns);
    pl_dictionary_free(&first->words);
}

bool pl_csv_first_field(const pl_csv *csv, pl_csv_first *first, unsigned column, const pl_field *field) {
    first->rows += column == 0;
    if (column >= first->count)
        return true;
    pl_csv_first_column *seen = &first->columns[column];
    double number = 0;
    kind kind = kind_of(csv, field, &number);
    uint32_t word;
    if (first->rows == 1) {
        first->empty |= column == 0 && field->bytes == 0;
        seen->first = kind;
        seen->number = number;
        seen->named = kind == WORD && is_label(field, first->label);
        bool room = kind != WORD || pl_dictionary_add(&first->words, column, field->text, field->bytes, &word);
        first->first_words = first->words.count;
        return room;
    }
    if (pl_looks_missing(field->text, field->bytes))
        kind = BLANK;
    seen->below[kind]++;
    if (kind != WORD)
        return true;
    uint64_t before = first->words.count;
    if (!pl_dictionary_add(&first->words, column, field->text, field->bytes, &word))
        return false;
    seen->words += first->words.count > before;
    seen->again |= word < first->first_words;
    return true;
}

/* Do all numbers of the first line count up by one, beside words that no row repeats, although rows repeat theirs? */
static bool counts_up(const pl_csv_first *first) {
    unsigned numbers = 0, words = 0;
    double last = 0;
    for (unsigned j = 0; j < first->count; j++) {
        const pl_csv_first_column *seen = &first->columns[j];
        if (seen->first == NUMBER) {
            if (seen->number != floor(seen->number) || (numbers > 0 && seen->number != last + 1))
                return false;
            last = seen->number;
            numbers++;
        } else if (seen->first == WORD && !seen->again && 2 * seen->words <= first->rows)
            words++;
        else
            return false;
    }
    return numbers > 1 && words > 0 && first->rows > LEAST_COUNTS;
}

bool pl_csv_first_is_header(const pl_csv_first *first) {
    bool names = true, named = false, shown = false, typed = false, again = false;
    for (unsigned j = 0; j < first->count; j++) {
        const pl_csv_first_column *seen = &first->columns[j];
        const uint64_t *below = seen->below;
        uint64_t numbers = below[NUMBER] + below[AMOUNT] + below[DATE];
        bool unnamed = j == 0 && seen->first == BLANK && first->empty; /* tools leave the name of row numbers empty */
        names &= unnamed || (seen->first != BLANK && seen->first != NUMBER);
        named |= !unnamed;
        shown |= seen->first == WORD && ((numbers > 0 && below[WORD] == 0) || (seen->named && !seen->again));
        shown |= seen->first == NUMBER && below[NUMBER] + below[AMOUNT] == 0 && below[WORD] + below[DATE] > 0;
        typed |= (seen->first == AMOUNT || seen->first == DATE) && below[seen->first] > 0 && below[WORD] == 0;
        again |= seen->again || (seen->first == BLANK && !unnamed);
    }
    if (names)
        return named && (shown || !typed);
    return first->rows > LEAST_ROWS && !again && !typed && (shown || counts_up(first));
}
