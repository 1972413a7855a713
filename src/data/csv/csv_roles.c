/* csv_roles.c: decides from the head of a CSV input what each column holds.
 *
 * A column of words is categorical. A column of numbers or dates among which a few words stand is numeric, and the
 * words count as missing. Identifiers are left out: words that are all or nearly all different, numbers that count the
 * rows, numbers that are all different in a column named like an identifier, and a first column without a name whose
 * values are all different. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "data/csv/csv.h"
#include "data/hash.h"

#define FEW_WORDS 0.1      /* share of words up to which a column is numeric */
#define LEAST_NUMBERS 10   /* to ignore a word among them */
#define LEAST_DIFFERENT 20 /* values that show an identifier if all differ */
#define ENOUGH_WORDS 200   /* that show whether they repeat */
#define LEAST_NEARLY 50    /* and if nearly all differ */

static void survey_number(pl_csv_survey *survey, double number) {
    bool first = survey->numbers == 0;
    survey->fraction |= number != floor(number);
    survey->unsteady |= first ? number != 0 && number != 1 : number != survey->last + 1;
    survey->last = number;
    survey->least = first ? number : fmin(survey->least, number);
    survey->most = first ? number : fmax(survey->most, number);
    survey->numbers++;
    if (isfinite(number))
        pl_exact_add(&survey->sum, number);
}

static void survey_word(pl_csv_survey *survey, const pl_field *field) {
    double number;
    survey->words++;
    if (pl_looks_missing(field->text, field->bytes)) {
        survey->blanks++;
        return;
    }
    for (unsigned order = 0; order < PL_DATE_ORDERS && pl_csv_has_digit(field); order++)
        if (pl_date_read(field->text, field->bytes, (pl_date_order)order, &number)) {
            survey->dates[order]++;
            survey->date_sums[order] += number;
        }
    if (!survey->example[0])
        pl_csv_show(field->text, field->bytes, survey->example, sizeof survey->example);
}

bool pl_csv_survey_field(pl_csv *csv, unsigned column, const pl_field *field) {
    pl_csv_survey *survey = &csv->survey[column];
    pl_amount amount;
    pl_numeral numeral;
    uint32_t number;
    if (pl_csv_missing(csv, field)) {
        survey->missing++;
        return true;
    }
    bool word = !pl_csv_number(&csv->columns[column], field, &amount, &numeral);
    if (word)
        survey_word(survey, field);
    else
        survey_number(survey, pl_numeral_double(&numeral));
    uint64_t words = survey->words - survey->blanks;
    bool many = words > ENOUGH_WORDS && 2 * survey->distinct < words; /* the words do not nearly all differ */
    if (survey->repeats && (!word || many))
        return true;
    uint64_t before = csv->surveyed.count;
    if (!pl_dictionary_add(&csv->surveyed, column, field->text, field->bytes, &number))
        return false;
    survey->repeats |= csv->surveyed.count == before;
    survey->distinct += word && csv->surveyed.count > before;
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

static bool is_identifier(const pl_csv *csv, const pl_csv_column *column, const pl_csv_survey *survey) {
    uint64_t values = survey->numbers + survey->words;
    if (column->categorical || column->chosen)
        return false;
    if (survey->repeats) /* words that nearly all differ show nothing about other rows either */
        return !csv->hashed && csv->min_count == 0 && values >= LEAST_NEARLY && survey->numbers == 0 &&
               10 * survey->distinct >= 9 * values;
    if (column->unnamed)
        return values > 1;
    if (values < LEAST_DIFFERENT)
        return false;
    if (survey->words == values)
        return true;
    return survey->words == 0 && survey->amounts == 0 && !survey->fraction &&
           (!survey->unsteady || named_like_identifier(column->name));
}

/* May a column be of the kind of the `known` values, although it has `others` and words for missing values? */
static bool fits_most(uint64_t known, uint64_t others, uint64_t blanks) {
    if (known == 0 || others + blanks == 0)
        return known > 0;
    if (others == 0)
        return known >= LEAST_NUMBERS || known > blanks;
    return known >= LEAST_NUMBERS && (double)others <= fmax(1, FEW_WORDS * (double)(known + others));
}

/* Returns the order in which most words are dates, the first one of several, or PL_DATE_ORDERS if it is no date. */
static pl_date_order date_order(const pl_csv_survey *survey) {
    unsigned best = 0;
    for (unsigned order = 1; order < PL_DATE_ORDERS; order++)
        if (survey->dates[order] > survey->dates[best])
            best = order;
    uint64_t known = survey->dates[best], values = survey->numbers + survey->words - survey->blanks;
    return fits_most(known, values - known, survey->blanks) ? (pl_date_order)best : PL_DATE_ORDERS;
}

/* Is a column numeric? If all its numbers are the same, only the words tell rows apart. */
static bool is_numeric_column(const pl_csv_survey *survey) {
    return survey->words == 0 ||
           (fits_most(survey->numbers, survey->words - survey->blanks, survey->blanks) && survey->least < survey->most);
}

static pl_role role_of(const pl_csv *csv, unsigned j, pl_date_order *order) {
    const pl_csv_column *column = &csv->columns[j];
    const pl_csv_survey *survey = &csv->survey[j];
    if (j == csv->label || j == csv->weight)
        return j == csv->label ? PL_LABELS : PL_WEIGHTS;
    if (column->text)
        return PL_TEXTS;
    if (column->dropped)
        return PL_IGNORED;
    *order = date_order(survey);
    if (*order < PL_DATE_ORDERS && !column->categorical)
        return PL_DATES;
    if (is_identifier(csv, column, survey))
        return PL_IGNORED;
    return column->categorical || !is_numeric_column(survey) ? PL_CATEGORIES : PL_NUMBERS;
}

/* How missing values of a numeric column are filled. The mean of the head is used while other rows are unknown, and for
 * columns in which no value is missing. */
static void choose_fill(const pl_csv *csv, pl_csv_column *column, pl_csv_survey *survey, const pl_reading *reading) {
    uint64_t all = survey->numbers + survey->words + survey->missing;
    bool dates = column->role == PL_DATES;
    uint64_t known = dates ? survey->dates[column->order] : survey->numbers;
    bool mostly = all - known > known;
    if (column->offset || reading->missing == PL_MISSING_ZERO || reading->missing == PL_MISSING_REFUSED ||
        (reading->missing == PL_MISSING_AUTO && mostly))
        return;
    double mean = 0;
    if (known > 0)
        mean = dates ? survey->date_sums[column->order] / (double)known : pl_exact_mean(survey->sum, known);
    column->filler = pl_csv_rounded(csv, mean);
    column->fill = reading->in_batches                     ? PL_FILL_KNOWN
                   : reading->missing == PL_MISSING_MEDIAN ? PL_FILL_MEDIAN
                                                           : PL_FILL_MEAN;
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
        pl_csv_tell_roles(csv, reading, path);
    return status;
}
