/* csv_roles.c: decides from the head of a CSV input what each column holds.
 *
 * A column of words is categorical. A column of numbers among which a few words stand is numeric, and the words count
 * as missing. A column of dates becomes numbers. Identifiers are left out: words that are all different, numbers that
 * count the rows, numbers that are all different in a column named like an identifier, and a first column without a
 * name whose values are all different. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "data/csv/csv.h"
#include "data/hash.h"

#define FEW_WORDS 0.05     /* share of words up to which a column is numeric */
#define LEAST_NUMBERS 10   /* to ignore a word among them */
#define LEAST_DIFFERENT 20 /* values that show an identifier if all differ */
#define SHOWN 6            /* columns named in a message */

static void survey_number(pl_csv_survey *survey, double number) {
    bool first = survey->numbers == 0;
    survey->fraction |= number != floor(number);
    survey->unsteady |= first ? number != 0 && number != 1 : number != survey->last + 1;
    survey->last = number;
    survey->numbers++;
    if (isfinite(number))
        pl_exact_add(&survey->sum, number);
}

bool pl_csv_survey_field(pl_csv *csv, unsigned column, const pl_field *field) {
    pl_csv_survey *survey = &csv->survey[column];
    char copy[PL_QUOTED_NUMERAL];
    pl_numeral numeral;
    uint32_t number;
    double years;
    if (pl_csv_missing(csv, field)) {
        survey->missing++;
        return true;
    }
    if (pl_csv_numeral_in(csv->columns[column].decimals, field, copy, &numeral))
        survey_number(survey, pl_numeral_double(&numeral));
    else {
        survey->words++;
        bool date = false;
        for (unsigned order = 0; order < PL_DATE_ORDERS; order++) {
            bool fits = pl_date_read(field->text, field->bytes, (pl_date_order)order, &years);
            survey->dates[order] += fits;
            if (fits && !date)
                pl_exact_add(&survey->sum, years);
            date |= fits;
        }
    }
    if (survey->repeats)
        return true;
    uint64_t before = csv->surveyed.count;
    if (!pl_dictionary_add(&csv->surveyed, column, field->text, field->bytes, &number))
        return false;
    survey->repeats = csv->surveyed.count == before;
    return true;
}

/* Whether the name is "id" or "index", ends in "id" as a word of its own, or is one that tools give to row numbers. */
static bool named_like_identifier(const char *name) {
    static const char *const names[] = {"id", "index", "rownames", "row", "uuid", "guid", "Unnamed: 0"};
    size_t length = strlen(name);
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        size_t at = 0;
        while (at <= length && tolower((unsigned char)name[at]) == tolower((unsigned char)names[i][at]) && name[at])
            at++;
        if (!name[at] && !names[i][at])
            return true;
    }
    if (length < 3 || tolower((unsigned char)name[length - 1]) != 'd')
        return false;
    const char *end = name + length - 2;
    return (end[0] == 'I' && islower((unsigned char)end[-1])) ||
           ((end[0] == 'i' || end[0] == 'I') && (end[-1] == '_' || end[-1] == '-' || end[-1] == ' ' || end[-1] == '.'));
}

static bool is_identifier(const pl_csv_column *column, const pl_csv_survey *survey) {
    uint64_t values = survey->numbers + survey->words;
    if (column->categorical || column->chosen || survey->repeats)
        return false;
    if (column->unnamed)
        return values > 1;
    if (values < LEAST_DIFFERENT)
        return false;
    if (survey->words == values)
        return true;
    return survey->words == 0 && !survey->fraction && (!survey->unsteady || named_like_identifier(column->name));
}

/* Returns the first order in which all words are dates, or PL_DATE_ORDERS. */
static pl_date_order date_order(const pl_csv_survey *survey) {
    unsigned order = 0;
    while (order < PL_DATE_ORDERS &&
           (survey->words == 0 || survey->numbers > 0 || survey->dates[order] < survey->words))
        order++;
    return (pl_date_order)order;
}

static pl_role role_of(const pl_csv *csv, unsigned j, pl_date_order *order) {
    const pl_csv_column *column = &csv->columns[j];
    const pl_csv_survey *survey = &csv->survey[j];
    double values = (double)(survey->numbers + survey->words);
    if (j == csv->label || j == csv->weight)
        return j == csv->label ? PL_LABELS : PL_WEIGHTS;
    if (column->dropped)
        return PL_IGNORED;
    *order = date_order(survey);
    if (*order < PL_DATE_ORDERS && !column->categorical)
        return PL_DATES;
    if (is_identifier(column, survey))
        return PL_IGNORED;
    bool few = survey->numbers >= LEAST_NUMBERS && (double)survey->words <= fmax(1, FEW_WORDS * values);
    return column->categorical || (survey->words > 0 && !few) ? PL_CATEGORIES : PL_NUMBERS;
}

/* How missing values of a numeric column are filled. The mean of the head is used while other rows are unknown, and for
 * columns in which no value is missing. */
static void choose_fill(const pl_csv *csv, pl_csv_column *column, pl_csv_survey *survey, const pl_reading *reading) {
    uint64_t values = survey->numbers + survey->words;
    bool mostly = survey->missing > values;
    if (column->offset || reading->missing == PL_MISSING_ZERO || reading->missing == PL_MISSING_REFUSED ||
        (reading->missing == PL_MISSING_AUTO && mostly))
        return;
    uint64_t known = column->role == PL_DATES ? survey->words : survey->numbers;
    column->filler = known ? pl_csv_rounded(csv, pl_exact_mean(survey->sum, known)) : 0;
    column->fill = reading->in_batches                     ? PL_FILL_KNOWN
                   : reading->missing == PL_MISSING_MEDIAN ? PL_FILL_MEDIAN
                                                           : PL_FILL_MEAN;
}

typedef struct list {
    char text[SHOWN * 44 + 8];
    unsigned count;
} list;

static void list_name(list *list, const char *name) {
    size_t used = strlen(list->text);
    if (list->count++ < SHOWN)
        snprintf(list->text + used, sizeof list->text - used, "%s%.40s", used ? ", " : "", name);
    else if (list->count == SHOWN + 1)
        snprintf(list->text + used, sizeof list->text - used, ", ...");
}

/* Is the column read as numbers, perhaps as a label or weight? */
static bool is_read_as_number(const pl_csv *csv, unsigned j) {
    pl_role role = csv->columns[j].role;
    return role == PL_NUMBERS || role == PL_WEIGHTS || (role == PL_LABELS && !csv->named_labels);
}

/* Adds a part about some columns to a sentence, whose first part begins at `prefix`. */
static void tell_list(char *sentence, size_t size, size_t prefix, const list *list, const char *what) {
    size_t used = strlen(sentence);
    if (list->count > 0)
        snprintf(sentence + used, size - used, "%s%s %s", used > prefix ? "; " : "", list->text, what);
}

/* Reports what the user may not expect of a column. */
static void tell_roles(const pl_csv *csv, const pl_reading *reading, const char *path) {
    list identifiers = {0}, dates = {0}, commas = {0}, groups = {0};
    char sentence[2048];
    for (unsigned j = 0; j < csv->count; j++) {
        const pl_csv_column *column = &csv->columns[j];
        if (column->role == PL_IGNORED && !column->dropped)
            list_name(&identifiers, column->name);
        if (column->role == PL_DATES)
            list_name(&dates, column->name);
        if (column->decimals != PL_DECIMAL_POINT && is_read_as_number(csv, j))
            list_name(column->decimals == PL_DECIMAL_COMMA ? &commas : &groups, column->name);
    }
    if (!reading->tell || identifiers.count + dates.count + commas.count + groups.count == 0)
        return;
    snprintf(sentence, sizeof sentence, "reading %.200s: ", path);
    size_t prefix = strlen(sentence), size = sizeof sentence;
    if (identifiers.count > 0)
        snprintf(sentence + prefix, size - prefix,
                 "%s left out, because all values differ (--columns or --categorical keeps %s)", identifiers.text,
                 identifiers.count == 1 ? "it" : "them");
    tell_list(sentence, size, prefix, &dates,
              dates.count == 1 ? "read as a date, in years since 2000" : "read as dates, in years since 2000");
    tell_list(sentence, size, prefix, &commas, "read with decimal commas");
    tell_list(sentence, size, prefix, &groups, "read with commas between thousands");
    reading->tell(reading->user, sentence);
}

static parley_status add_number(pl_csv *csv, unsigned j, parley_error *error) {
    if (!pl_dictionary_add(&csv->words, j, "", 0, &csv->columns[j].id))
        return pl_fail_memory(error, "columns", csv->count);
    csv->numbers++;
    return PARLEY_OK;
}

static bool is_numeric(pl_role role) { return role == PL_NUMBERS || role == PL_DATES; }

parley_status pl_csv_roles(pl_csv *csv, const pl_reading *reading, const char *path, parley_error *error) {
    parley_status status = PARLEY_OK;
    csv->hashed = reading->hashed;
    csv->indicated = reading->missing == PL_MISSING_INDICATOR;
    csv->named_labels = csv->label < csv->count && csv->survey[csv->label].words > 0;
    for (unsigned j = 0; j < csv->count && status == PARLEY_OK; j++) {
        pl_csv_column *column = &csv->columns[j];
        if (column->offset && csv->survey[j].words > 0)
            return pl_fail(error, PARLEY_BAD_INPUT, "--offset-column %.60s: this column of %s has words, not numbers",
                           column->name, path);
        column->role = role_of(csv, j, &column->order);
        if (!is_numeric(column->role))
            continue;
        choose_fill(csv, column, &csv->survey[j], reading);
        status = add_number(csv, j, error);
    }
    if (status == PARLEY_OK && reading->interactions && *reading->interactions)
        status = pl_csv_cross_open(csv, reading->interactions, path, error);
    for (unsigned i = 0; i < csv->cross_count && status == PARLEY_OK; i++) {
        pl_csv_column *column = &csv->columns[csv->crosses[i].column];
        bool numbers =
            is_numeric(csv->columns[csv->crosses[i].left].role) && is_numeric(csv->columns[csv->crosses[i].right].role);
        column->role = numbers ? PL_NUMBERS : PL_CATEGORIES;
        if (numbers)
            status = add_number(csv, csv->crosses[i].column, error);
    }
    if (status == PARLEY_OK)
        tell_roles(csv, reading, path);
    return status;
}
