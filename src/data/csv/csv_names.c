/* csv_names.c: the names of the columns of a CSV input. The first line may be a header (csv_header.c). Columns at the
 * end that are empty in the first line and in the whole head, as spreadsheets write them, are left out. The second of
 * two columns named a is called a.1, as in pandas. */
#include <stdio.h>
#include <string.h>

#include "data/csv/csv.h"
#include "data/hash.h"

#define SHOWN 5 /* columns named in a message */

/* Names a column after its field in the header, if there is one. */
static parley_status name_column(pl_csv *csv, unsigned column, const pl_field *field, void *user, parley_error *error) {
    char number[24];
    (void)user;
    if (column >= csv->count)
        return PARLEY_OK;
    csv->columns[column].unnamed = csv->header && column == 0 && field->bytes == 0;
    bool named = field->bytes > 0 && !memchr(field->text, '\0', field->bytes);
    snprintf(number, sizeof number, "c%u", column + 1);
    const char *other = csv->columns[column].unnamed ? "Unnamed: 0" : number; /* as pandas calls it */
    const char *text = named ? field->text : other;
    uint64_t bytes = named ? field->bytes : strlen(other);
    char *name = csv->columns[column].name = pl_alloc(bytes + 1, 1);
    if (!name)
        return pl_fail_memory(error, "column names", bytes);
    memcpy(name, text, bytes);
    return PARLEY_OK;
}

/* Returns a name that no column has yet: name.1, name.2 and so on. NULL: memory runs out. */
static char *number_name(const pl_dictionary *names, const char *name) {
    size_t room = strlen(name) + 24;
    char *text = pl_alloc(room, 1);
    for (unsigned i = 1; text; i++) {
        snprintf(text, room, "%s.%u", name, i);
        if (pl_dictionary_find(names, 0, text, strlen(text)) == PL_NOT_FOUND)
            break;
    }
    return text;
}

static void tell_renamed(const pl_csv *csv, const char *path, unsigned first, unsigned count, const char *before) {
    char sentence[512], more[32] = "";
    if (!csv->tell || count == 0)
        return;
    if (count > 1)
        snprintf(more, sizeof more, ", and %u more like it", count - 1);
    snprintf(sentence, sizeof sentence,
             "reading %.200s: column %u is called %.60s, because another one is named %.60s%s", path, first + 1,
             csv->columns[first].name, before, more);
    csv->tell(csv->user, sentence);
}

/* Numbers names that occur several times. A name that some column has in the file is never given to another. */
static parley_status rename_twins(pl_csv *csv, const char *path, parley_error *error) {
    pl_dictionary names = {0};
    bool room = true;
    unsigned first = 0, count = 0;
    char before[64] = "";
    uint32_t number;
    for (unsigned j = 0; j < csv->count && room; j++)
        room = pl_dictionary_add(&names, 0, csv->columns[j].name, strlen(csv->columns[j].name), &number);
    pl_dictionary used = {0};
    for (unsigned j = 0; j < csv->count && room; j++) {
        char *name = csv->columns[j].name;
        uint64_t known = used.count;
        room = pl_dictionary_add(&used, 0, name, strlen(name), &number);
        if (!room || used.count > known)
            continue;
        char *other = number_name(&names, name);
        room = other && pl_dictionary_add(&names, 0, other, strlen(other), &number) &&
               pl_dictionary_add(&used, 0, other, strlen(other), &number);
        if (other) {
            if (count++ == 0) {
                first = j;
                snprintf(before, sizeof before, "%.60s", name);
            }
            pl_free(name);
            csv->columns[j].name = other;
        }
    }
    pl_dictionary_free(&names);
    pl_dictionary_free(&used);
    if (!room)
        return pl_fail_memory(error, "column names", csv->count);
    tell_renamed(csv, path, first, count, before);
    return PARLEY_OK;
}

/* What the first line looks like. */
typedef struct first_line {
    unsigned fields, tail; /* tail: how many of the fields at its end are empty */
    unsigned plain;        /* fields before the first number or empty field; the first field may be empty */
    bool named;            /* some of these has text */
} first_line;

static parley_status look_at_first(pl_csv *csv, unsigned column, const pl_field *field, void *user,
                                   parley_error *error) {
    first_line *first = user;
    (void)error;
    first->fields = column + 1;
    first->tail = field->bytes > 0 ? 0 : first->tail + 1;
    bool unnamed = column == 0 && field->bytes == 0; /* tools leave the heading of row numbers empty */
    if (first->plain == column && (unnamed || !(pl_csv_missing(csv, field) || pl_csv_any_numeral(field)))) {
        first->plain++;
        first->named |= !unnamed;
    }
    return PARLEY_OK;
}

/* Which of the columns at the end, which are empty in the first line, have values in other rows. */
typedef struct tail {
    unsigned from, fields; /* of the first line */
    unsigned empty;        /* columns at the end that are empty in all rows */
    uint64_t rows, strays; /* strays: rows with a value in these columns */
    bool stray;            /* this row is one */
} tail;

static parley_status look_at_tail(pl_csv *csv, unsigned column, const pl_field *field, void *user,
                                  parley_error *error) {
    tail *tail = user;
    (void)csv, (void)error;
    if (column == 0) {
        tail->rows++;
        tail->stray = false;
    }
    if (column < tail->from || column >= tail->fields || field->bytes == 0)
        return PARLEY_OK;
    unsigned after = tail->fields - column - 1;
    tail->empty = after < tail->empty ? after : tail->empty;
    tail->strays += !tail->stray;
    tail->stray = true;
    return PARLEY_OK;
}

/* Finds how many columns at the end are left out. Below names, a few rows with a value there are bad rows. */
static parley_status find_tail(pl_csv *csv, const pl_csv_head *head, const first_line *first, parley_error *error) {
    tail tail = {.from = first->fields - first->tail, .fields = first->fields, .empty = first->tail};
    if (first->tail == 0 || first->tail == first->fields)
        return PARLEY_OK;
    parley_status status = pl_csv_walk(csv, head, look_at_tail, &tail, error);
    bool named = first->plain >= tail.from && first->named;
    csv->tail = named && 2 * tail.strays < tail.rows ? first->tail : tail.empty;
    return status;
}

static void tell_tail(const pl_csv *csv, const char *path) {
    char sentence[320], columns[40];
    if (!csv->tell || csv->tail == 0)
        return;
    snprintf(columns, sizeof columns, csv->tail == 1 ? "column %u is" : "columns %u to %u are", csv->count + 1,
             csv->count + csv->tail);
    snprintf(sentence, sizeof sentence, "reading %.200s: %s empty and left out", path, columns);
    csv->tell(csv->user, sentence);
}

static parley_status look_at_field(pl_csv *csv, unsigned column, const pl_field *field, void *user,
                                   parley_error *error) {
    const pl_csv_first *first = user;
    if (column == 0 && first->rows == PL_CSV_FIRST_LINES)
        return PARLEY_BAD_INPUT; /* ends the walk */
    return pl_csv_first_field(csv, user, column, field) ? PARLEY_OK
                                                        : pl_fail_memory(error, "the first lines", field->bytes);
}

/* Decides whether the first line holds names. */
static parley_status find_header(pl_csv *csv, const pl_csv_head *head, const pl_reading *reading, parley_error *error) {
    pl_csv_first first;
    csv->header = reading->header == PL_HEADER_THERE;
    if (reading->header != PL_HEADER_AUTO)
        return PARLEY_OK;
    parley_status status = pl_csv_first_open(csv->count, reading->label_column, &first, error);
    if (status == PARLEY_OK)
        status = pl_csv_walk(csv, head, look_at_field, &first, error);
    if (status == PARLEY_OK)
        csv->header = pl_csv_first_is_header(&first);
    pl_csv_first_close(&first);
    return status;
}

parley_status pl_csv_names(pl_csv *csv, pl_csv_head *head, const pl_reading *reading, parley_error *error) {
    first_line first = {0};
    const char *end = pl_csv_record(csv, head, head->text, head->line, look_at_first, &first, error);
    if (!end)
        return error->status;
    parley_status status = find_tail(csv, head, &first, error);
    csv->count = first.fields - csv->tail;
    if (status == PARLEY_OK)
        status = find_header(csv, head, reading, error);
    if (status == PARLEY_OK)
        status = pl_take(&csv->columns, csv->count, sizeof *csv->columns, "columns", error);
    if (status != PARLEY_OK)
        return status;
    if (csv->header) {
        if (!pl_csv_record(csv, head, head->text, head->line, name_column, NULL, error))
            return error->status;
        for (const char *p = head->text; p < end; p++)
            head->line += *p == '\n';
        head->body = end;
    }
    const pl_field none = {"", 0, false};
    for (unsigned j = 0; j < csv->count && !csv->header && status == PARLEY_OK; j++)
        status = name_column(csv, j, &none, NULL, error);
    if (status == PARLEY_OK)
        status = rename_twins(csv, head->path, error);
    for (unsigned j = 0; j < csv->count && status == PARLEY_OK; j++)
        csv->columns[j].seed = pl_murmur(csv->columns[j].name, strlen(csv->columns[j].name), 0);
    if (status == PARLEY_OK)
        tell_tail(csv, head->path);
    return status;
}
