/* csv_columns.c: finds out what the columns of a CSV input are from its head, the whole lines in its first 256 kB, or
 * more if they are long. The separator is the one that splits the first lines into equally many fields. A column with a
 * word in the head is categorical. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/settings.h"
#include "data/csv/csv.h"

#define HEAD_BYTES ((uint64_t)256 << 10)
#define LONGEST_MARKS 12 /* bytes above the names: a byte order mark and a line such as "sep=;" */
#define LOOKED_AT 50     /* lines that decide the separator */
#define TEXT_WORDS 5     /* words of a field that is a text */

/* The end of the record at `p`. The last record may have no newline. */
static const char *record_end(const pl_csv_head *head, const char *p) {
    const char *next = pl_cut_after(head->cut, p, p, head->end);
    return next ? next : head->end;
}

static bool is_blank(const char *p, const char *end) {
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'))
        p++;
    return p == end;
}

/* Is the line no row? */
static bool is_left_out(const pl_csv_head *head, const char *p, const char *end) {
    return (head->cut.comment && p < end && *p == head->cut.comment) || is_blank(p, end);
}

/* Counts the lines with a row, and sets the end of the head after the last whole line. */
static unsigned count_rows(pl_csv_head *head, const char *end) {
    unsigned rows = 0;
    head->end = end;
    for (const char *p = head->text, *next;; p = next) {
        next = pl_cut_after(head->cut, p, p, end);
        if (!next) {
            head->end = p;
            return rows;
        }
        rows += !is_left_out(head, p, next);
    }
}

/* Fails if lines end in CR alone, so that the whole table is one line. */
static parley_status check_lines(const char *text, uint64_t bytes, const char *path, parley_error *error) {
    bool inside = false, found = false;
    for (uint64_t i = 0; i + 1 < bytes && !found; i++) {
        inside ^= text[i] == '"';
        found = text[i] == '\r' && !inside;
    }
    if (!found || memchr(text, '\n', bytes))
        return PARLEY_OK;
    return pl_fail(
        error, PARLEY_BAD_INPUT,
        "%s: its lines end in CR alone; save it with the line ends of Unix or Windows, or convert it with tr "
        "'\\r' '\\n'",
        path);
}

/* Reads at least two whole lines of the table. */
static parley_status read_head(pl_csv *csv, pl_source *source, pl_csv_head *head, parley_error *error) {
    const char *text;
    uint64_t bytes, lines;
    bool whole;
    *head = (pl_csv_head){.path = pl_source_name(source), .cut = {.quotes = true, .comment = csv->comment}};
    for (uint64_t wanted = HEAD_BYTES;; wanted *= 4) {
        parley_status status = pl_source_head(source, wanted, &text, &bytes, &whole, error);
        if (status != PARLEY_OK)
            return status;
        status = check_lines(text, bytes, head->path, error);
        if (status != PARLEY_OK)
            return status;
        const char *first = pl_past_preamble(&csv->look, text, text + bytes, whole, &lines);
        head->text = head->body = first ? pl_past_separator(first, text + bytes, &csv->separator) : NULL;
        lines += head->text > first;
        unsigned rows = head->text ? count_rows(head, text + bytes) : 0;
        if (whole)
            head->end = text + bytes;
        if (whole || rows >= 2)
            break;
        if (wanted >= PL_LONGEST_LINE)
            return pl_source_too_long(source, lines + rows, error);
    }
    head->line = lines;
    return PARLEY_OK;
}

static unsigned count_fields(const char *p, const char *end, char separator) {
    unsigned count = 1;
    for (bool inside = false; p < end; p++) {
        inside ^= *p == '"';
        count += *p == separator && !inside;
    }
    return count;
}

/* Are all fields of the first line numbers, as in 1,5;2,5;3,5? */
static bool holds_numbers(const pl_csv_head *head, char separator) {
    const char *end = record_end(head, head->text), *p = head->text;
    while (end > p && is_blank(end - 1, end))
        end--;
    for (const char *stop;; p = stop + 1) {
        stop = memchr(p, separator, (size_t)(end - p));
        const pl_field field = {p, (uint64_t)((stop ? stop : end) - p), true};
        if (!pl_csv_any_numeral(&field))
            return false;
        if (!stop)
            return true;
    }
}

/* Returns the separator that splits the first lines into equally many fields, and the most; else the one that splits
 * the first line into the most fields. `usual` is that of a model's training table, or 0; it is used if it occurs. */
static char find_separator(const pl_csv_head *head, char usual) {
    static const char candidates[] = {',', '\t', ';'};
    unsigned best = 1, frequent = 1;
    if (usual && count_fields(head->text, record_end(head, head->text), usual) > 1)
        return usual;
    char chosen = '\0', fallback = ',';
    for (unsigned i = 0; i < sizeof candidates; i++) {
        unsigned first = count_fields(head->text, record_end(head, head->text), candidates[i]), lines = 0;
        bool equal = true;
        const char *next;
        for (const char *p = head->text; p < head->end && lines < LOOKED_AT; p = next, lines++) {
            next = record_end(head, p);
            equal &= is_left_out(head, p, next) || count_fields(p, next, candidates[i]) == first;
        }
        if (equal && (first > best || (candidates[i] == ';' && first > 1 && holds_numbers(head, ';')))) {
            best = first;
            chosen = candidates[i];
        }
        if (first > frequent) {
            frequent = first;
            fallback = candidates[i];
        }
    }
    return chosen ? chosen : fallback;
}

const char *pl_csv_record(pl_csv *csv, const pl_csv_head *head, const char *p, uint64_t line, pl_csv_take take,
                          void *user, parley_error *error) {
    pl_block block = {.text = p, .end = record_end(head, p), .state = csv};
    for (unsigned j = 0; p <= block.end; j++, p++) {
        pl_field field;
        p = pl_csv_field(&block, p, &field);
        if (!p) {
            pl_fault_fail(&block.fault, head->path, line + block.lines + 1, error);
            return NULL;
        }
        if (take(csv, j, &field, user, error) != PARLEY_OK)
            return NULL;
        if (p == block.end || *p == '\n')
            break;
    }
    return block.end;
}

static uint64_t lines_in(const char *p, const char *end) {
    uint64_t lines = 0;
    for (; p < end; p++)
        lines += *p == '\n';
    return lines;
}

static parley_status survey_field(pl_csv *csv, unsigned column, const pl_field *field, void *user,
                                  parley_error *error) {
    (void)user;
    if (column < csv->count && !pl_csv_survey_field(csv, column, field))
        return pl_fail_memory(error, "the head of the input", field->bytes);
    return PARLEY_OK;
}

static parley_status count_decimals(pl_csv *csv, unsigned column, const pl_field *field, void *user,
                                    parley_error *error) {
    (void)user;
    if (column < csv->count && !pl_csv_count_decimals(csv, column, field))
        return pl_fail_memory(error, "the head of the input", field->bytes);
    return PARLEY_OK;
}

/* Is it a row that will be left out? Only known once there are columns. */
static bool is_skipped(pl_csv *csv, const char *p, const char *end) {
    pl_block block = {.text = p, .end = end, .state = csv};
    const char *ignored;
    return csv->columns && (csv->skips_bad || csv->skips_unlabelled) &&
           pl_csv_judge(&block, p, &ignored) != PL_ROW_KEPT;
}

parley_status pl_csv_walk(pl_csv *csv, const pl_csv_head *head, pl_csv_take take, void *user, parley_error *error) {
    parley_error why = {0};
    for (const char *p = head->body; p && p < head->end;) {
        const char *end = record_end(head, p);
        p = is_left_out(head, p, end) || is_skipped(csv, p, end) ? end
                                                                 : pl_csv_record(csv, head, p, 0, take, user, &why);
    }
    return why.status == PARLEY_NO_MEMORY ? pl_fail(error, PARLEY_NO_MEMORY, "%s", why.sentence) : PARLEY_OK;
}

/* Looks at the values of the head: first at how numbers are written, then at what the columns hold. */
static parley_status survey(pl_csv *csv, const pl_csv_head *head, bool modelled, parley_error *error) {
    parley_status status = pl_take(&csv->survey, csv->count, sizeof *csv->survey, "columns", error);
    if (status == PARLEY_OK)
        status = pl_csv_walk(csv, head, count_decimals, NULL, error);
    if (status != PARLEY_OK)
        return status;
    pl_csv_choose_decimals(csv, modelled);
    status = pl_csv_walk(csv, head, survey_field, NULL, error);
    pl_dictionary_free(&csv->surveyed);
    return status;
}

unsigned pl_csv_find(const pl_csv *csv, const char *word, size_t length) {
    for (unsigned j = 0; j < csv->count; j++)
        if (strlen(csv->columns[j].name) == length && memcmp(csv->columns[j].name, word, length) == 0)
            return j;
    char digits[12], *end;
    if (length == 0 || length >= sizeof digits || word[0] < '0' || word[0] > '9')
        return csv->count;
    memcpy(digits, word, length);
    digits[length] = '\0';
    unsigned long number = strtoul(digits, &end, 10);
    return *end || number < 1 || number > csv->count ? csv->count : (unsigned)number - 1;
}

/* Finds the column that was meant, which is one of the same letters in any case, or the one that differs least. NULL:
 * none. */
static const char *find_near(const pl_csv *csv, const char *word) {
    const char **names = csv->header && *word ? pl_alloc(csv->count, sizeof *names) : NULL;
    const char *near = NULL;
    for (unsigned j = 0; j < csv->count && names; j++) {
        names[j] = csv->columns[j].name;
        if (strcasecmp(names[j], word) == 0)
            near = names[j];
    }
    if (!near && names && strlen(word) > 2)
        near = pl_nearest(word, names, csv->count);
    pl_free(names);
    return near;
}

parley_status pl_csv_no_column(const pl_csv *csv, const char *path, const char *flag, const char *word, size_t length,
                               parley_error *error) {
    enum { SHOWN = 8 };
    char names[SHOWN * 44] = "", asked[64], hint[96] = "";
    for (unsigned j = 0; j < csv->count && j < SHOWN; j++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%.40s", j ? ", " : "", csv->columns[j].name);
    snprintf(asked, sizeof asked, "%.*s", (int)(length < 60 ? length : 60), word);
    const char *near = find_near(csv, asked);
    if (near)
        snprintf(hint, sizeof hint, "; did you mean %.60s?", near);
    else if (length > 0 && csv->count == 1)
        snprintf(hint, sizeof hint, "; fields are separated by commas, tabs or semicolons, or as --separator says");
    else if (length > 0 && !csv->header)
        snprintf(hint, sizeof hint, "; its first line holds values, not names");
    return pl_fail(error, PARLEY_BAD_USAGE, "%s %s: %s has no such column; its %u column%s %s%s%s", flag, asked, path,
                   csv->count, csv->count == 1 ? " is" : "s are", names, csv->count > SHOWN ? ", ..." : "", hint);
}

/* Finds a column with a common name for labels. */
static unsigned find_label(const pl_csv *csv) {
    for (unsigned i = 0; i < PL_CSV_LABEL_NAMES; i++)
        for (unsigned j = 0; j < csv->count; j++)
            if (pl_csv_names_label(csv->columns[j].name, strlen(csv->columns[j].name), i))
                return j;
    return csv->count;
}

typedef enum mark { CATEGORICAL, CHOSEN, DROPPED, TEXT } mark;

/* Marks the columns of a list of names or numbers. */
static parley_status mark_columns(pl_csv *csv, const char *path, const char *flag, const char *list, mark mark,
                                  parley_error *error) {
    for (; list && *list; list += strspn(list, ",")) {
        size_t length = strcspn(list, ",");
        unsigned column = pl_csv_find(csv, list, length);
        if (column == csv->count)
            return pl_csv_no_column(csv, path, flag, list, length, error);
        csv->columns[column].categorical |= mark == CATEGORICAL;
        csv->columns[column].chosen |= mark == CHOSEN;
        csv->columns[column].dropped |= mark == DROPPED;
        csv->columns[column].text |= mark == TEXT;
        list += length;
    }
    return PARLEY_OK;
}

/* Marks the column whose text is kept. Its name may have commas. */
static parley_status mark_id(pl_csv *csv, const char *path, const char *id, parley_error *error) {
    if (!id || !*id)
        return PARLEY_OK;
    unsigned column = pl_csv_find(csv, id, strlen(id));
    if (column == csv->count)
        return pl_csv_no_column(csv, path, "--id", id, strlen(id), error);
    csv->columns[column].identifies = true;
    return PARLEY_OK;
}

/* Marks the column of offsets, which is a number that every row has. */
static parley_status mark_offset(pl_csv *csv, const char *path, const pl_reading *reading, parley_error *error) {
    const char *offset = reading->offset_column;
    bool by_place = reading->model_columns && !(reading->names && reading->names->count > 0);
    if (!offset || !*offset || by_place)
        return PARLEY_OK;
    unsigned column = pl_csv_find(csv, offset, strlen(offset));
    if (column == csv->count && reading->model_columns)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s has no column %.60s, which holds the offsets that the model needs",
                       path, offset);
    if (column == csv->count)
        return pl_csv_no_column(csv, path, "--offset-column", offset, strlen(offset), error);
    if (column == csv->label || column == csv->weight)
        return pl_fail(error, PARLEY_BAD_USAGE, "--offset-column %s: this is the %s column of %s; name another column",
                       offset, column == csv->label ? "label" : "weight", path);
    if (strcmp(csv->columns[column].name, offset) != 0)
        return pl_fail(error, PARLEY_BAD_USAGE, "--offset-column %s: give the name of the column, %.60s", offset,
                       csv->columns[column].name);
    csv->columns[column].offset = csv->columns[column].chosen = true;
    csv->columns[column].dropped = csv->columns[column].categorical = false;
    return PARLEY_OK;
}

/* Is one of the fields of the first line a text rather than a name? */
static bool holds_text(const pl_csv *csv) {
    for (unsigned j = 0; j < csv->count; j++) {
        unsigned words = 1;
        for (const char *p = csv->columns[j].name; *p; p++)
            words += *p == ' ';
        if (words >= TEXT_WORDS)
            return true;
    }
    return false;
}

static parley_status ask_for_label(const pl_csv *csv, const char *path, const pl_reading *reading,
                                   parley_error *error) {
    parley_error names;
    pl_csv_no_column(csv, path, "", "", 0, &names);
    const char *list = strstr(names.sentence, "; its ");
    if (reading->needs_labels && holds_text(csv))
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "%s: its first line looks like text; --format text reads lines of a label, a tab and a text, "
                       "and --label-column names the label of a table",
                       path);
    return pl_fail(error, PARLEY_BAD_USAGE, "%s: name the label column with --label-column%s", path, list ? list : "");
}

/* Finds the columns of labels and weights. A file without names has its label in the last column. */
static parley_status choose_label(pl_csv *csv, const char *path, const pl_reading *reading, parley_error *error) {
    const char *label = reading->label_column, *weight = reading->weight_column;
    csv->weight = csv->count;
    csv->label = label && *label ? pl_csv_find(csv, label, strlen(label)) : find_label(csv);
    if (label && *label && csv->label == csv->count)
        return pl_csv_no_column(csv, path, "--label-column", label, strlen(label), error);
    if (weight && *weight && (csv->weight = pl_csv_find(csv, weight, strlen(weight))) == csv->count)
        return pl_csv_no_column(csv, path, "--weight-column", weight, strlen(weight), error);
    bool documents = reading->documents && reading->text_column && *reading->text_column;
    bool needed = csv->label == csv->count && !reading->model_columns && !reading->unlabelled && !documents;
    if (needed && csv->header)
        return ask_for_label(csv, path, reading, error);
    if (needed)
        csv->label = csv->count - 1 - (csv->weight == csv->count - 1 && csv->count > 1);
    if (csv->label == csv->weight && csv->label < csv->count)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--weight-column %s: this is the label column of %s; name another column", weight, path);
    return PARLEY_OK;
}

static parley_status choose_columns(pl_csv *csv, const char *path, const pl_reading *reading, parley_error *error) {
    parley_status status = choose_label(csv, path, reading, error);
    if (status == PARLEY_OK)
        status = mark_columns(csv, path, "--categorical", reading->categorical, CATEGORICAL, error);
    if (status == PARLEY_OK)
        status = mark_columns(csv, path, "--columns", reading->columns, CHOSEN, error);
    if (status == PARLEY_OK)
        status = mark_columns(csv, path, "--ignore", reading->ignore, DROPPED, error);
    if (status == PARLEY_OK)
        status = mark_columns(csv, path, "--text-column", reading->text_column, TEXT, error);
    for (unsigned j = 0; j < csv->count && reading->documents && reading->text_column && *reading->text_column; j++)
        csv->columns[j].dropped = true; /* a document is its text alone */
    if (status == PARLEY_OK)
        status = mark_id(csv, path, reading->id, error);
    for (unsigned j = 0; j < csv->count && status == PARLEY_OK && reading->columns && *reading->columns; j++)
        csv->columns[j].dropped |= !csv->columns[j].chosen;
    return status == PARLEY_OK ? mark_offset(csv, path, reading, error) : status;
}

static bool has_categories(const pl_csv *csv) {
    for (unsigned j = 0; j < csv->count; j++)
        if (csv->columns[j].role == PL_CATEGORIES || csv->columns[j].role == PL_TEXTS ||
            (csv->indicated && csv->columns[j].role != PL_IGNORED))
            return true;
    return false;
}

static void name_separator(char separator, char *text, size_t size) {
    const char *name = separator == ','    ? "commas"
                       : separator == '\t' ? "tabs"
                       : separator == ';'  ? "semicolons"
                                           : NULL;
    if (name)
        snprintf(text, size, "%s", name);
    else
        snprintf(text, size, separator == ' ' ? "spaces" : "separator %c", separator);
}

static void tell_columns(const pl_csv *csv, const pl_reading *reading, const char *path) {
    char sentence[600], weight[96] = "", text[32] = "", separator[24];
    unsigned categories = 0, ignored = 0;
    if (!reading->tell || reading->unlabelled || csv->label == csv->count)
        return;
    for (unsigned j = 0; j < csv->count; j++) {
        categories += csv->columns[j].role == PL_CATEGORIES;
        ignored += csv->columns[j].role == PL_IGNORED;
    }
    if (csv->texts.count > 0)
        snprintf(text, sizeof text, ", %u of text", csv->texts.count);
    if (csv->weight < csv->count)
        snprintf(weight, sizeof weight, ", weights %.60s", csv->columns[csv->weight].name);
    name_separator(csv->separator, separator, sizeof separator);
    snprintf(sentence, sizeof sentence,
             "reading %s: %s, %s names in its first line; label %.60s%s%s, %u column%s of "
             "numbers, %u of %scategories%s%s",
             path, separator, csv->header ? "with" : "no", csv->columns[csv->label].name,
             csv->named_labels ? " (words)" : "", weight, csv->numbers, csv->numbers == 1 ? "" : "s", categories,
             csv->hashed ? "hashed " : "", text,
             csv->numbers + categories + csv->texts.count == 0
                 ? "; with no column to predict from, the model is a constant"
             : ignored ? ", others not used"
                       : "");
    reading->tell(reading->user, sentence);
}

static parley_status set_hashes(pl_csv *csv, const pl_reading *reading, const char *path, parley_error *error) {
    unsigned bits = reading->model_bits  ? reading->model_bits
                    : reading->hash_bits ? reading->hash_bits
                                         : PL_USUAL_HASH_BITS;
    bool given = reading->settings && (pl_setting_given(reading->settings, "hash_bits") || reading->keep_names);
    if (!csv->hashed && given)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--%s has no effect: the categories of %s are not hashed; add "
                       "--categories hash",
                       reading->keep_names ? "keep-names" : "hash-bits", path);
    if (csv->hashed && reading->min_count > 0 && !reading->model_columns)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--min-count has no effect: the categories of %s are hashed; leave out --categories hash", path);
    csv->mask = (uint32_t)(((uint64_t)1 << bits) - 1);
    csv->hash_names.bits = bits;
    return PARLEY_OK;
}

static parley_status keep_heading(pl_csv *csv, const char *text, uint64_t bytes, parley_error *error) {
    parley_status status = pl_take(&csv->heading, bytes, 1, "column names", error);
    if (status != PARLEY_OK)
        return status;
    memcpy(csv->heading, text, (size_t)bytes);
    csv->heading_bytes = bytes;
    return status;
}

parley_status pl_csv_next(pl_parser *parser, parley_error *error) {
    const pl_csv *csv = parser->state;
    const char *text, *first;
    uint64_t bytes, lines;
    bool whole, found;
    char separator;
    for (uint64_t wanted = csv->heading_bytes + LONGEST_MARKS;; wanted *= 4) {
        parley_status status = pl_source_head(parser->source, wanted, &text, &bytes, &whole, error);
        if (status != PARLEY_OK)
            return status;
        const char *top = pl_past_preamble(&csv->look, text, text + bytes, whole, &lines);
        first = top ? pl_past_separator(top, text + bytes, &separator) : NULL;
        lines += first > top;
        found = first && (uint64_t)(text + bytes - first) >= csv->heading_bytes;
        if (found || whole)
            break;
        if (wanted >= PL_LONGEST_LINE)
            return pl_source_too_long(parser->source, lines, error);
    }
    bool again = csv->heading && found && memcmp(first, csv->heading, (size_t)csv->heading_bytes) == 0;
    parser->cut.skip = (uint64_t)(first - text) + (again ? csv->heading_bytes : 0);
    parser->lines = lines + (again ? lines_in(csv->heading, csv->heading + csv->heading_bytes) : 0);
    return PARLEY_OK;
}

/* Takes words for missing values from the settings, else from the model. */
static parley_status keep_words(pl_csv *csv, const pl_reading *reading, parley_error *error) {
    const char *words =
        reading->missing_words && *reading->missing_words ? reading->missing_words : csv->table.missing_words;
    csv->missing_words = words ? pl_strdup(words) : NULL;
    return !words || csv->missing_words ? PARLEY_OK : pl_fail_memory(error, "words", strlen(words));
}

/* A first line of one field above rows of several is a title. So are several that begin with the same character, which
 * is none of words and numbers. */
static parley_status check_first_line(const pl_csv *csv, const pl_csv_head *head, parley_error *error) {
    static const char candidates[] = {',', '\t', ';'};
    const char *end = record_end(head, head->text), *next = end, *row = end;
    unsigned most = 0;
    bool remark = head->text < end && strchr("#%!;/*", *head->text) != NULL;
    while (row < head->end && ((next = record_end(head, row)) != NULL) &&
           (is_left_out(head, row, next) || (remark && *row == *head->text)))
        row = next;
    for (unsigned i = 0; i < sizeof candidates; i++) {
        unsigned fields = count_fields(row, next, candidates[i]);
        most = fields > most ? fields : most;
    }
    if (row >= head->end || most == 1 || count_fields(head->text, end, csv->separator) > 1 ||
        (count_fields(row, next, csv->separator) == 1 && !remark))
        return PARLEY_OK;
    return pl_fail(error, PARLEY_BAD_INPUT,
                   "%s:%llu: the first line is a single field, but the next one has more; --skip-lines N leaves out "
                   "lines above the header, and --comment C those that begin with a character",
                   head->path, (unsigned long long)head->line + 1);
}

/* Finds out what the columns are. Sets `head->body` to the first row. */
static parley_status inspect(pl_csv *csv, pl_csv_head *head, const pl_reading *reading, parley_error *error) {
    csv->unlabelled = reading->unlabelled;
    csv->min_count = reading->min_count;
    csv->refuse_missing = reading->missing == PL_MISSING_REFUSED;
    csv->tell = reading->tell;
    csv->warn = reading->warn;
    csv->user = reading->user;
    parley_status status = pl_table_read(reading->table, "the model", &csv->table, error);
    if (status == PARLEY_OK)
        status = keep_words(csv, reading, error);
    if (status != PARLEY_OK)
        return status;
    if (reading->separator || !csv->separator)
        csv->separator = reading->separator ? reading->separator : find_separator(head, csv->table.separator);
    status = check_first_line(csv, head, error);
    if (status == PARLEY_OK)
        status = pl_csv_names(csv, head, reading, error);
    if (status == PARLEY_OK)
        status = choose_columns(csv, head->path, reading, error);
    if (status == PARLEY_OK)
        status = survey(csv, head, reading->model_columns > 0, error);
    if (status == PARLEY_OK)
        status = reading->model_columns ? pl_csv_match(csv, head->path, reading, error)
                                        : pl_csv_roles(csv, reading, head->path, error);
    if (status == PARLEY_OK)
        status = reading->model_columns ? pl_csv_texts_match(csv, reading, head->path, error)
                                        : pl_csv_texts_open(csv, reading, head->path, error);
    return status;
}

/* Takes what is to be left out. */
static void take_rows(pl_csv *csv, const pl_reading *reading) {
    csv->look = (pl_reading){.skip_lines = reading->skip_lines, .comment = reading->comment};
    csv->comment = reading->comment;
    csv->latin1 = reading->encoding == PL_LATIN1;
    csv->skips_bad = reading->bad_rows == PL_SKIPPED;
    csv->skips_unlabelled = reading->missing_label == PL_SKIPPED;
}

/* Predictions are in the order of the rows, so a row that is left out must be known by its name. */
static parley_status check_rows(const pl_csv *csv, const pl_reading *reading, const char *path, parley_error *error) {
    if (!csv->skips_bad || !reading->unlabelled || !reading->model_columns || (reading->id && *reading->id))
        return PARLEY_OK;
    return pl_fail(
        error, PARLEY_BAD_USAGE,
        "--bad-rows skip: predictions would not be in step with the rows of %s; add --id COLUMN, which names "
        "the row of each prediction",
        path);
}

parley_status pl_csv_columns(pl_csv *csv, pl_parser *parser, const pl_reading *reading, parley_error *error) {
    const char *path = pl_source_name(parser->source);
    parley_error own;
    error = error ? error : &own;
    pl_csv_head head;
    take_rows(csv, reading);
    parley_status status = check_rows(csv, reading, path, error);
    if (status == PARLEY_OK)
        status = read_head(csv, parser->source, &head, error);
    if (status == PARLEY_OK && head.text == head.end)
        status = pl_fail(error, PARLEY_BAD_INPUT, "%s: no rows; %s", path,
                         reading->skip_lines ? "--skip-lines leaves none" : "the input is empty");
    if (status == PARLEY_OK)
        status = inspect(csv, &head, reading, error);
    if (status == PARLEY_OK)
        status = set_hashes(csv, reading, path, error);
    if (status == PARLEY_OK && !reading->model_columns)
        tell_columns(csv, reading, path);
    uint64_t skip = status == PARLEY_OK ? (uint64_t)(head.body - head.text) : 0;
    if (status == PARLEY_OK && csv->header)
        status = keep_heading(csv, head.text, skip, error);
    const char *text;
    bool whole;
    uint64_t bytes;
    if (status == PARLEY_OK)
        status = pl_source_head(parser->source, 0, &text, &bytes, &whole, error);
    if (status != PARLEY_OK)
        return status;
    parser->cut = (pl_cut){.skip = skip + (uint64_t)(head.text - text), .quotes = true, .comment = csv->comment};
    parser->lines = head.line;
    parser->columns = reading->model_columns ? reading->model_columns
                      : csv->hashed          ? csv->numbers + (uint64_t)csv->mask + 1
                                             : csv->numbers;
    for (unsigned j = 0; j < csv->count; j++) {
        pl_csv_column *column = &csv->columns[j];
        column->fast = column->role == PL_NUMBERS && column->decimals == PL_DECIMAL_POINT && !column->strict &&
                       !column->crossed && !column->identifies;
    }
    parser->needs_all = !csv->matched && (csv->named_labels || (!csv->hashed && has_categories(csv)));
    for (unsigned j = 0; j < csv->count && parser->needs_all; j++)
        if (csv->columns[j].fill == PL_FILL_KNOWN)
            csv->columns[j].fill = reading->missing == PL_MISSING_MEDIAN ? PL_FILL_MEDIAN : PL_FILL_MEAN;
    return PARLEY_OK;
}
