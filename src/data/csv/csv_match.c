/* csv_match.c: matches the columns of a CSV input by name with those of a model. A column whose name is in the model is
 * numeric; a column for which the model has name=word columns is categorical. The model's description of its training
 * table tells the rest: label and weight, dates, columns that were left out, and how missing values are filled. */
#include <string.h>

#include "data/csv/csv.h"

typedef struct matching {
    const pl_reading *reading;
    pl_dictionary names;     /* of the model */
    bool *found;             /* by column of the model */
    unsigned unknown, first; /* columns of the file that are not in the model, and the first of them */
    unsigned matched;
} matching;

/* Adds a word of column j that stands for column (or class) `to` of the model. */
static bool add_word(pl_csv *csv, unsigned j, pl_name word, uint32_t to) {
    uint32_t number;
    if (!pl_dictionary_add(&csv->words, j, word.text, word.bytes, &number))
        return false;
    csv->map[number] = to;
    return true;
}

/* Is this the category of the column, whose name has `length` bytes, that stands for rare words? */
static bool is_rare(const pl_treatment *treatment, pl_name name, uint64_t length) {
    static const char rare[] = PL_TABLE_RARE;
    return treatment && treatment->rare && name.bytes == length + sizeof rare &&
           memcmp(name.text + length + 1, rare, sizeof rare - 1) == 0;
}

/* Takes the categories of column j from the names of the model. Returns false if memory runs out. */
static bool match_categories(pl_csv *csv, matching *match, unsigned j) {
    const pl_names *names = match->reading->names;
    pl_csv_column *column = &csv->columns[j];
    const pl_treatment *treatment = pl_table_find(&csv->table, column->name);
    uint64_t length = strlen(column->name);
    for (uint64_t i = 0; i < names->count; i++) {
        pl_name name = pl_names_at(names, i);
        if (name.bytes <= length || name.text[length] != '=' || memcmp(name.text, column->name, length) != 0)
            continue;
        column->role = column->role == PL_IGNORED ? PL_CATEGORIES : column->role;
        match->found[i] = true;
        if (is_rare(treatment, name, length) && column->role == PL_CATEGORIES) {
            column->rare = true;
            column->id = (uint32_t)i;
        }
        if (!add_word(csv, j, (pl_name){name.text + length + 1, name.bytes - length - 1}, (uint32_t)i))
            return false;
    }
    return true;
}

/* A numeric column: whether it holds dates, and how missing values are filled. */
static void match_number(pl_csv *csv, matching *match, unsigned j, uint32_t number) {
    const pl_treatment *treatment = pl_table_find(&csv->table, csv->columns[j].name);
    pl_csv_column *column = &csv->columns[j];
    column->role = PL_NUMBERS;
    column->id = number;
    match->found[number] = true;
    if (treatment && treatment->role == PL_DATES) {
        column->role = PL_DATES;
        column->order = treatment->order;
    }
    if (treatment && treatment->filled && match->reading->missing != PL_MISSING_ZERO) {
        column->fill = PL_FILL_KNOWN;
        column->filler = pl_csv_rounded(csv, treatment->fill);
    }
}

static bool was_left_out(const pl_csv *csv, unsigned j) {
    const pl_treatment *treatment = pl_table_find(&csv->table, csv->columns[j].name);
    return treatment &&
           (treatment->role == PL_IGNORED || treatment->role == PL_LABELS || treatment->role == PL_WEIGHTS);
}

static bool match_column(pl_csv *csv, matching *match, unsigned j) {
    pl_csv_column *column = &csv->columns[j];
    uint32_t number = pl_dictionary_find(&match->names, 0, column->name, strlen(column->name));
    bool left_out = (j == csv->label && j < csv->count) || was_left_out(csv, j); /* the columns of the file are first */
    if (left_out && number == PL_NOT_FOUND)
        return true;
    if (number != PL_NOT_FOUND)
        match_number(csv, match, j, number);
    if (csv->hashed)
        column->role = number == PL_NOT_FOUND ? PL_CATEGORIES : column->role;
    else if ((number == PL_NOT_FOUND || csv->indicated) && !match_categories(csv, match, j))
        return false;
    if (column->role == PL_IGNORED && !column->identifies && match->unknown++ == 0)
        match->first = j;
    match->matched += column->role != PL_IGNORED;
    return true;
}

/* Finds a column of the training table that has this role. Returns `count` if the file does not have it. */
static unsigned find_role(const pl_csv *csv, const pl_treatment *treatment) {
    unsigned j = 0;
    while (j < csv->count && (!treatment || strcmp(csv->columns[j].name, treatment->name) != 0))
        j++;
    return j;
}

/* If no label column is given, it is the one that the model was trained with. If that is not known, it is one with a
 * common name, or the last one unless it is in the model. */
static void find_label(pl_csv *csv, const matching *match) {
    bool given = match->reading->label_column && *match->reading->label_column;
    const pl_treatment *label = pl_table_role(&csv->table, PL_LABELS);
    if (label && !given) {
        csv->label = find_role(csv, label);
        return;
    }
    for (int turn = 0; turn < 2 && !given; turn++) {
        if (csv->label < csv->count) {
            const char *name = csv->columns[csv->label].name;
            if (pl_dictionary_find(&match->names, 0, name, strlen(name)) == PL_NOT_FOUND)
                return;
        }
        csv->label = turn == 0 ? csv->count - 1 : csv->count;
    }
}

static parley_status set_label(pl_csv *csv, const char *path, const matching *match, parley_error *error) {
    const pl_names *classes = match->reading->classes;
    if (match->reading->unlabelled)
        return PARLEY_OK;
    const pl_treatment *label = pl_table_role(&csv->table, PL_LABELS);
    if (csv->label == csv->count && label)
        return pl_fail(error, PARLEY_BAD_INPUT,
                       "%s has no column %.60s, which was the label in training; name the label with --label-column",
                       path, label->name);
    if (csv->label == csv->count)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: no label column; name it with --label-column", path);
    csv->columns[csv->label].role = PL_LABELS;
    csv->named_labels = classes && classes->count > 0;
    for (uint64_t i = 0; csv->named_labels && i < classes->count; i++)
        if (!add_word(csv, csv->label, pl_names_at(classes, i), (uint32_t)i))
            return pl_fail_memory(error, "classes", classes->count);
    return PARLEY_OK;
}

/* Columns of the model that the file lacks have the value that replaces missing ones in every row, if there is one. */
static parley_status fill_absent(pl_csv *csv, const matching *match, parley_error *error) {
    const pl_table *table = &csv->table;
    if (match->reading->missing == PL_MISSING_ZERO)
        return PARLEY_OK;
    parley_status status = pl_take(&csv->absent, table->count, sizeof *csv->absent, "missing columns", error);
    for (unsigned i = 0; i < table->count && status == PARLEY_OK; i++) {
        const pl_treatment *column = &table->columns[i];
        uint32_t number = pl_dictionary_find(&match->names, 0, column->name, strlen(column->name));
        if (column->filled && column->fill != 0 && number != PL_NOT_FOUND && !match->found[number])
            csv->absent[csv->absent_count++] = (pl_csv_absent){number, pl_csv_rounded(csv, column->fill)};
    }
    return status;
}

/* Reports which columns are missing from the file and which are unknown to the model, in one message. */
static void tell_differences(const pl_csv *csv, const char *path, const matching *match) {
    const pl_reading *reading = match->reading;
    char sentence[720], missing[240] = "", unknown[200] = "";
    uint64_t absent = 0;
    pl_name first = {"", 0};
    for (uint64_t i = 0; i < reading->names->count; i++) {
        pl_name name = pl_names_at(reading->names, i);
        if (!match->found[i] && name.bytes > 0 && (!csv->hashed || i < csv->numbers) && absent++ == 0)
            first = name;
    }
    if (absent > 0)
        snprintf(missing, sizeof missing, "%llu column%s of the model %s %s (%.*s%s)", (unsigned long long)absent,
                 absent == 1 ? "" : "s", absent == 1 ? "is missing and counts as" : "are missing and count as",
                 csv->absent_count ? absent == csv->absent_count ? "the mean" : "the mean or 0" : "0",
                 (int)(first.bytes < 60 ? first.bytes : 60), first.text, absent > 1 ? ", ..." : "");
    if (match->unknown > 0)
        snprintf(unknown, sizeof unknown, "%s%u column%s unknown to the model and not used (%.60s%s)",
                 absent ? "; " : "", match->unknown, match->unknown == 1 ? " is" : "s are",
                 csv->columns[match->first].name, match->unknown > 1 ? ", ..." : "");
    if (!reading->warn || (absent == 0 && match->unknown == 0))
        return;
    snprintf(sentence, sizeof sentence, "reading %.200s: %s%s", path, missing, unknown);
    reading->warn(reading->user, sentence);
}

static parley_status match_crosses(pl_csv *csv, const char *path, matching *match, parley_error *error) {
    if (!csv->table.interactions)
        return PARLEY_OK;
    parley_status status = pl_csv_cross_open(csv, csv->table.interactions, path, error);
    for (unsigned i = 0; i < csv->cross_count && status == PARLEY_OK; i++)
        if (!match_column(csv, match, csv->crosses[i].column))
            status = pl_fail_memory(error, "categories", match->reading->names->count);
    return status;
}

static parley_status match_names(pl_csv *csv, const char *path, matching *match, parley_error *error) {
    const pl_names *names = match->reading->names;
    uint64_t classes = match->reading->classes ? match->reading->classes->count : 0, count = names->count;
    csv->hashed = match->reading->model_bits > 0;
    if (csv->hashed) {
        csv->numbers = (uint32_t)(match->reading->model_columns - ((uint64_t)1 << match->reading->model_bits));
        count = csv->numbers < count ? csv->numbers : count;
    }
    csv->matched = true;
    csv->indicated = csv->table.indicated;
    if (!(csv->map = pl_alloc(names->count + classes + 1, sizeof *csv->map)) ||
        !(match->found = pl_alloc(names->count + 1, sizeof *match->found)))
        return pl_fail_memory(error, "column names", names->count * 5);
    for (uint64_t i = 0; i < count; i++) {
        pl_name name = pl_names_at(names, i);
        uint32_t number;
        if (!pl_dictionary_add(&match->names, (uint32_t)(name.bytes ? 0 : i + 1), name.text, name.bytes, &number))
            return pl_fail_memory(error, "column names", names->count);
        if (number != i)
            return pl_fail(error, PARLEY_BAD_INPUT, "two columns of the model are named %.*s",
                           (int)(name.bytes < 60 ? name.bytes : 60), name.text);
    }
    find_label(csv, match);
    if (csv->weight == csv->count)
        csv->weight = find_role(csv, pl_table_role(&csv->table, PL_WEIGHTS));
    for (unsigned j = 0; j < csv->count; j++) {
        if (j == csv->weight)
            csv->columns[j].role = match->reading->unlabelled ? PL_IGNORED : PL_WEIGHTS;
        else if (!match_column(csv, match, j))
            return pl_fail_memory(error, "categories", names->count);
    }
    parley_status status = match_crosses(csv, path, match, error);
    if (status != PARLEY_OK)
        return status;
    if (match->matched == 0)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: it has none of the model's columns, of which the first is %.*s",
                       path, (int)(pl_names_at(names, 0).bytes < 60 ? pl_names_at(names, 0).bytes : 60),
                       pl_names_at(names, 0).text);
    status = fill_absent(csv, match, error);
    if (status != PARLEY_OK)
        return status;
    tell_differences(csv, path, match);
    return set_label(csv, path, match, error);
}

/* For a model without names, takes numeric columns in their order. The column that identifies rows is one of them only
 * if the model has room for it. */
static parley_status match_numbers(pl_csv *csv, const char *path, const pl_reading *reading, parley_error *error) {
    bool labelled = !reading->unlabelled || csv->label < csv->count;
    if (labelled && csv->label == csv->count)
        csv->label = csv->count - 1;
    unsigned others = (csv->label < csv->count) + (csv->weight < csv->count);
    bool room = csv->count - others <= reading->model_columns;
    for (unsigned j = 0; j < csv->count; j++) {
        pl_csv_column *column = &csv->columns[j];
        if (column->identifies && (!room || csv->survey[j].words > 0))
            continue;
        if (j == csv->label || j == csv->weight) {
            column->role = reading->unlabelled ? PL_IGNORED : j == csv->label ? PL_LABELS : PL_WEIGHTS;
            continue;
        }
        if (csv->survey[j].words > 0)
            return pl_fail(
                error, PARLEY_BAD_INPUT,
                "%s: column %.60s holds categories, but the model has no names to match them with; train it on CSV",
                path, column->name);
        column->role = PL_NUMBERS;
        column->id = csv->numbers++;
    }
    csv->matched = true;
    csv->map = pl_alloc(1, sizeof *csv->map);
    return csv->map ? PARLEY_OK : pl_fail_memory(error, "columns", csv->count);
}

parley_status pl_csv_match(pl_csv *csv, const char *path, const pl_reading *reading, parley_error *error) {
    matching match = {.reading = reading};
    bool named = (reading->names && reading->names->count > 0) || reading->model_bits > 0;
    const pl_names none = {0};
    pl_reading with = *reading;
    with.names = reading->names ? reading->names : &none;
    match.reading = &with;
    parley_status status = named ? match_names(csv, path, &match, error) : match_numbers(csv, path, reading, error);
    pl_dictionary_free(&match.names);
    pl_free(match.found);
    return status;
}
