/* csv_tell.c: reports how the columns of a CSV input are read. Each sentence names the first few columns. */
#include <stdio.h>
#include <string.h>

#include "data/csv/csv.h"

#define PROSE_BLANKS 4 /* in the beginning of a value that is a text */
#define SHOWN 6        /* columns named in a message */

typedef struct list {
    char text[SHOWN * (PL_EXAMPLE_BYTES + 64) + 8];
    unsigned count;
} list;

void pl_csv_show(const char *word, uint64_t bytes, char *text, size_t size) {
    size_t kept = bytes < size - 1 ? (size_t)bytes : size - 1;
    for (size_t i = 0; i < kept; i++)
        text[i] = (unsigned char)word[i] < ' ' || word[i] == 0x7f ? '?' : word[i];
    while (bytes >= PL_EXAMPLE_BYTES && kept > 0 && (unsigned char)text[kept - 1] >= 0x80)
        kept--;
    text[kept] = '\0';
}

/* Appends a column, perhaps with a note in brackets. */
static void list_column(list *list, const char *name, const char *before, const char *note) {
    size_t used = strlen(list->text);
    if (list->count++ < SHOWN)
        snprintf(list->text + used, sizeof list->text - used, *note ? "%s%.40s (%s%s)" : "%s%.40s", used ? ", " : "",
                 name, before, note);
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

typedef struct lists {
    list texts, different, nearly, mixed, dates, ambiguous, clocks, commas, groups, inferred[PL_DECIMALS_COUNT],
        amounts, bounds, hashed;
} lists;

static void list_date(const pl_csv_column *column, const pl_csv_survey *survey, lists *lists) {
    bool clock = column->order == PL_CLOCK;
    bool ambiguous = column->order == PL_MONTH_FIRST && survey->dates[PL_DAY_FIRST] == survey->dates[PL_MONTH_FIRST];
    list_column(clock ? &lists->clocks : ambiguous ? &lists->ambiguous : &lists->dates, column->name, "", "");
}

/* Does the beginning of a value have so many words that the value is a text? */
static bool is_prose(const char *example) {
    unsigned blanks = 0;
    for (; *example; example++)
        blanks += *example == ' ';
    return blanks >= PROSE_BLANKS;
}

static void list_role(const pl_csv *csv, unsigned j, lists *lists) {
    const pl_csv_column *column = &csv->columns[j];
    const pl_csv_survey *survey = &csv->survey[j];
    char units[64];
    if (column->role == PL_IGNORED && !column->dropped && is_prose(survey->example))
        list_column(&lists->texts, column->name, "", "");
    else if (column->role == PL_IGNORED && !column->dropped)
        list_column(survey->repeats ? &lists->nearly : &lists->different, column->name, "such as ", survey->example);
    if ((column->role == PL_IGNORED && !column->dropped) || (column->role == PL_CATEGORIES && !column->categorical))
        if (pl_csv_mixes_units(csv, j, units, sizeof units))
            list_column(&lists->mixed, column->name, "", units);
    if (column->role == PL_CATEGORIES && csv->hashed)
        list_column(&lists->hashed, column->name, "such as ", survey->example);
    if (column->role == PL_DATES)
        list_date(column, survey, lists);
    if (!is_read_as_number(csv, j))
        return;
    if (column->inferred)
        list_column(&lists->inferred[column->decimals], column->name, "", "");
    else if (column->decimals != PL_DECIMAL_POINT)
        list_column(column->decimals == PL_DECIMAL_COMMA ? &lists->commas : &lists->groups, column->name, "", "");
    if (column->amounts && survey->amounts > 0)
        list_column(&lists->amounts, column->name, "such as ", survey->example);
    if (column->bounded && survey->bounds > 0)
        list_column(&lists->bounds, column->name, "", "");
}

void pl_csv_tell_roles(const pl_csv *csv, const pl_reading *reading, const char *path) {
    lists lists = {0};
    char sentence[4096], keeps[96];
    for (unsigned j = 0; j < csv->count && reading->tell; j++)
        list_role(csv, j, &lists);
    snprintf(sentence, sizeof sentence, "reading %.200s: ", path);
    size_t prefix = strlen(sentence), size = sizeof sentence;
    tell_list(sentence, size, prefix, &lists.texts,
              "left out, because all values are texts that differ (--text-column reads their words)");
    snprintf(keeps, sizeof keeps, "left out, because all values differ (--columns or --categorical keeps %s)",
             lists.different.count == 1 ? "it" : "them");
    tell_list(sentence, size, prefix, &lists.different, keeps);
    snprintf(keeps, sizeof keeps,
             "left out, because nearly all values differ (--categorical or --min-count 1 keeps %s)",
             lists.nearly.count == 1 ? "it" : "them");
    tell_list(sentence, size, prefix, &lists.nearly, keeps);
    tell_list(sentence, size, prefix, &lists.mixed, "not read as numbers, because the units differ; use one unit");
    tell_list(sentence, size, prefix, &lists.hashed, "hashed as categories");
    tell_list(sentence, size, prefix, &lists.dates,
              lists.dates.count == 1 ? "read as a date, in years since 2000" : "read as dates, in years since 2000");
    tell_list(sentence, size, prefix, &lists.ambiguous,
              "read as dates with the month first, although no value shows it, in years since 2000");
    tell_list(sentence, size, prefix, &lists.clocks, "read as times, in hours");
    tell_list(sentence, size, prefix, &lists.commas, "read with decimal commas");
    tell_list(sentence, size, prefix, &lists.groups, "read with commas between thousands");
    tell_list(sentence, size, prefix, &lists.inferred[PL_DECIMAL_COMMA],
              "read with decimal commas and points between thousands, as other columns show");
    tell_list(sentence, size, prefix, &lists.inferred[PL_GROUPED],
              "read with commas between thousands, as other columns show decimal points");
    tell_list(sentence, size, prefix, &lists.amounts, "read as numbers, without units and marks");
    tell_list(sentence, size, prefix, &lists.bounds, "has bounds, which are read as if they were values");
    if (reading->tell && strlen(sentence) > prefix)
        reading->tell(reading->user, sentence);
}
