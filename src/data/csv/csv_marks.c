/* csv_marks.c: whether 1.234 and 1,234 are 1234, where no value of a column tells. Other columns of the table do: one
 * with 0,5 or 1.234.567 has decimal commas, and so points between thousands; one with 0.5 has decimal points. */
#include "data/csv/csv.h"

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_letter(char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }

static bool is_mark(char c) { return c == ',' || c == '.'; }

/* Finds the digits and marks of a number, without what a unit begins or ends with. Returns their end. */
static const char *find_digits(const pl_field *field, const char **first) {
    const char *p = field->text, *end = p + field->bytes;
    while (p < end && !is_digit(*p))
        p++;
    *first = p;
    if (p == end)
        return p;
    bool abbreviated = p - field->text >= 2 && p[-1] == '.' && is_letter(p[-2]);
    if (p > field->text && is_mark(p[-1]) && !abbreviated)
        --*first;
    while (p < end && (is_digit(*p) || (is_mark(*p) && p + 1 < end && is_digit(p[1]))))
        p++;
    return p;
}

void pl_csv_count_marks(pl_csv_marks *marks, const pl_field *field) {
    const char *first, *end = find_digits(field, &first), *last = NULL, *other = NULL;
    unsigned count = 0;
    for (const char *p = first; p < end; p++)
        if (is_mark(*p)) {
            if (last && *last != *p)
                other = last;
            last = p;
            count++;
        }
    if (!last)
        return;
    bool exponent = field->text + field->bytes - end >= 2 && (*end | 0x20) == 'e' && !is_letter(end[1]);
    bool comma = *last == ',',
         thousand = !exponent && end - last == 4 && last > first && last - first <= 3 && *first != '0';
    if (count == 1 && thousand)
        marks->unclear[comma]++;
    else if (count > 1 && !other)
        marks
            ->decimal[!comma]++; /* several marks of one kind are between thousands, so that the other one is decimal */
    else
        marks->decimal[comma]++;
}

/* Does some value tell nothing, and none more? */
static bool is_unclear(const pl_csv_marks *marks) {
    return marks->unclear[0] + marks->unclear[1] > 0 && marks->decimal[0] + marks->decimal[1] == 0;
}

void pl_csv_decide_marks(pl_csv *csv) {
    bool shown[2] = {false, false}; /* decimal points, and decimal commas */
    for (unsigned j = 0; j < csv->count; j++) {
        const pl_csv_survey *survey = &csv->survey[j];
        const pl_csv_marks *marks = &survey->marks;
        bool numbers = 2 * (survey->bare + survey->amounts) >= marks->values;
        for (unsigned comma = 0; comma < 2; comma++)
            shown[comma] |= numbers && marks->decimal[comma] > 0;
    }
    if (shown[0] == shown[1])
        return;
    for (unsigned j = 0; j < csv->count; j++) {
        const pl_csv_marks *marks = &csv->survey[j].marks;
        pl_csv_column *column = &csv->columns[j];
        if (!is_unclear(marks))
            continue;
        column->decimals = shown[1] ? PL_DECIMAL_COMMA : marks->unclear[1] > 0 ? PL_GROUPED : PL_DECIMAL_POINT;
        column->inferred = true;
    }
}
