/* settings_text.c: finds settings by their names, reads their values from text and writes them as text. */
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/settings.h"

/* Texts of settings, in a list. */
struct pl_texts {
    pl_texts *next;
    char text[];
};

static size_t in_doubles(size_t bytes) { return (bytes + sizeof(double) - 1) / sizeof(double); }

void *pl_settings_room(parley_settings *settings, const pl_settings_wing *wing) {
    double *room = settings->wings;
    for (const pl_settings_wing *const *other = pl_settings_wings; *other != wing; other++)
        room += in_doubles((*other)->size);
    return room;
}

/* What follows from the tables is made once: a list of all rows, their defaults, and the defaults of numbers as text.
 * Reading and writing these takes as long as a small fit. */
static struct {
    pthread_once_t once;
    const pl_setting *row[PL_MOST_SETTINGS];
    unsigned count;
    parley_settings defaults;
    char text[PL_MOST_SETTINGS][32];
} made = {.once = PTHREAD_ONCE_INIT};

static void make_all(void);

unsigned pl_settings_count(void) {
    pthread_once(&made.once, make_all);
    return made.count;
}

const pl_setting *pl_setting_at(unsigned number) { return number < pl_settings_count() ? made.row[number] : NULL; }

/* The table that holds the row. `*before`: how many rows the tables before it have. */
static const pl_settings_table *table_of(const pl_setting *row, unsigned *before) {
    const pl_settings_table *const *table = pl_settings_tables;
    for (*before = 0; row < (*table)->rows || row >= (*table)->rows + (*table)->count; table++)
        *before += (*table)->count;
    return *table;
}

unsigned pl_setting_number(const pl_setting *row) {
    unsigned before;
    const pl_settings_table *table = table_of(row, &before);
    return before + (unsigned)(row - table->rows);
}

static void *field_of(parley_settings *settings, const pl_settings_table *table, const pl_setting *row) {
    return (char *)(table->wing ? pl_settings_room(settings, table->wing) : (void *)settings) + row->offset;
}

static void *field(const parley_settings *settings, const pl_setting *row) {
    unsigned before;
    return field_of((parley_settings *)settings, table_of(row, &before), row);
}

static bool is_spelt(const char *a, const char *b) {
    while (*a && (*a == *b || (*a == '_' && *b == '-')))
        a++, b++;
    return !*a && !*b;
}

const pl_setting *pl_setting_find(const char *name) {
    for (const pl_settings_table *const *table = pl_settings_tables; *table; table++)
        for (unsigned i = 0; i < (*table)->count; i++)
            if (is_spelt((*table)->rows[i].name, name))
                return &(*table)->rows[i];
    return NULL;
}

const pl_setting *pl_setting_option(unsigned commands, const char *name) {
    for (unsigned i = 0; i < pl_settings_count(); i++) {
        const pl_setting *row = pl_setting_at(i);
        if ((row->commands & commands) && is_spelt(row->option ? row->option : row->name, name))
            return row;
    }
    return pl_setting_find(name);
}

void pl_setting_flag(const pl_setting *row, char *flag, size_t size) {
    snprintf(flag, size, "--%s", row->option ? row->option : row->name);
    for (char *c = flag; *c; c++)
        *c = *c == '_' ? '-' : *c;
}

/* A flag for a message. */
typedef struct flag {
    char text[48];
} flag;

static flag flag_of(const pl_setting *row) {
    flag flag;
    pl_setting_flag(row, flag.text, sizeof flag.text);
    return flag;
}

void pl_number_text(double value, char *text, size_t size) {
    /* %g drops zeros at the end, so that of a normal number 15 digits are as short as fewer */
    for (int digits = fabs(value) < DBL_MIN ? 1 : DBL_DIG; digits <= 17; digits++) {
        snprintf(text, size, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            return;
    }
}

static parley_status unknown(unsigned command, const char *name, parley_error *error) {
    char flags[PL_MOST_SETTINGS][40], given[64];
    const char *words[PL_MOST_SETTINGS];
    unsigned count = 0;
    for (unsigned i = 0; i < pl_settings_count(); i++)
        if (!command || (pl_setting_at(i)->commands & command)) {
            pl_setting_flag(pl_setting_at(i), flags[count], sizeof *flags);
            words[count] = flags[count];
            count++;
        }
    snprintf(given, sizeof given, "--%s", name);
    const char *near = pl_nearest(given, words, count);
    return pl_fail(error, PARLEY_BAD_USAGE,
                   near ? "there is no option --%s; did you mean %s?" : "there is no option --%s%.0s", name,
                   near ? near : "");
}

static parley_status set_choice(parley_settings *settings, const pl_setting *row, const char *value,
                                parley_error *error) {
    const char *choice = row->choices;
    for (uint64_t i = 0;; i++) {
        size_t length = strcspn(choice, "|");
        if (strlen(value) == length && memcmp(choice, value, length) == 0) {
            *(uint64_t *)field(settings, row) = i;
            return PARLEY_OK;
        }
        if (!choice[length])
            return pl_fail(error, PARLEY_BAD_USAGE, "%s %s: must be one of %s", flag_of(row).text, value, row->choices);
        choice += length + 1;
    }
}

static parley_status set_number(parley_settings *settings, const pl_setting *row, const char *value,
                                parley_error *error) {
    char *end;
    if (row->may_be_auto && strcmp(value, "auto") == 0) {
        if (row->kind == PL_REAL)
            *(double *)field(settings, row) = NAN;
        else
            *(uint64_t *)field(settings, row) = 0;
        return PARLEY_OK;
    }
    double number = strtod(value, &end);
    if (end == value || *end || number != number || strpbrk(value, "xXpP \t"))
        return pl_fail(error, PARLEY_BAD_USAGE, "%s %s: not a number", flag_of(row).text, value);
    if (row->kind == PL_WHOLE && number != floor(number))
        return pl_fail(error, PARLEY_BAD_USAGE, "%s %s: not a whole number", flag_of(row).text, value);
    if (number < row->min || number > row->max)
        return pl_fail(error, PARLEY_BAD_USAGE, "%s %s: must be between %.10g and %.10g", flag_of(row).text, value,
                       row->min, row->max);
    if (row->kind == PL_REAL)
        *(double *)field(settings, row) = number;
    else
        *(uint64_t *)field(settings, row) = strpbrk(value, ".eE") ? (uint64_t)number : strtoull(value, NULL, 10);
    return PARLEY_OK;
}

/* Adds room for texts. */
static char *add_texts(parley_settings *settings, size_t bytes, parley_error *error) {
    pl_texts *texts = pl_realloc(NULL, 1, sizeof *texts + bytes); /* not cleared */
    if (!texts) {
        pl_fail_memory(error, "settings", sizeof *texts + bytes);
        return NULL;
    }
    texts->next = settings->texts;
    settings->texts = texts;
    return texts->text;
}

static parley_status set_word(parley_settings *settings, const pl_setting *row, const char *value,
                              parley_error *error) {
    const char **word = field(settings, row);
    size_t bytes = strlen(value) + 1;
    if (bytes > PL_TEXT)
        return pl_fail(error, PARLEY_BAD_USAGE, "%s: the value is too long", flag_of(row).text);
    if (strcmp(value, row->initial) == 0) {
        *word = row->initial;
        return PARLEY_OK;
    }
    char *text = add_texts(settings, bytes, error);
    if (!text)
        return PARLEY_NO_MEMORY;
    *word = memcpy(text, value, bytes);
    return PARLEY_OK;
}

static parley_status set_value(parley_settings *settings, const pl_setting *row, const char *value,
                               parley_error *error) {
    switch (row->kind) {
    case PL_FLAG:
        if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
            return pl_fail(error, PARLEY_BAD_USAGE, "%s takes no value", flag_of(row).text);
        *(bool *)field(settings, row) = *value == 't';
        return PARLEY_OK;
    case PL_CHOICE: return set_choice(settings, row, value, error);
    case PL_WORD: return set_word(settings, row, value, error);
    default: return set_number(settings, row, value, error);
    }
}

static void make_all(void) {
    for (const pl_settings_table *const *table = pl_settings_tables; *table; table++)
        for (unsigned i = 0; i < (*table)->count; i++) {
            const pl_setting *row = made.row[made.count] = &(*table)->rows[i];
            set_value(&made.defaults, row, row->initial, NULL);
            if (row->kind == PL_REAL)
                pl_number_text(*(double *)field(&made.defaults, row), made.text[made.count], sizeof *made.text);
            made.count++;
        }
}

void pl_settings_defaults(parley_settings *settings) {
    pthread_once(&made.once, make_all);
    *settings = made.defaults;
}

void pl_settings_clear(parley_settings *settings) {
    for (pl_texts *next; settings->texts; settings->texts = next) {
        next = settings->texts->next;
        pl_free(settings->texts);
    }
}

/* The text of a row that is not its default; NULL: there is none. */
static const char **own_text(parley_settings *settings, const pl_settings_table *table, const pl_setting *row) {
    const char **word = row->kind == PL_WORD ? field_of(settings, table, row) : NULL;
    return word && *word != row->initial ? word : NULL;
}

/* Gives `to`, which has the values of other settings, texts of its own. */
static parley_status own_texts(parley_settings *to, parley_error *error) {
    const char **words[PL_MOST_SETTINGS];
    unsigned count = 0;
    size_t bytes = 0;
    to->texts = NULL;
    for (const pl_settings_table *const *table = pl_settings_tables; *table; table++)
        for (unsigned i = 0; i < (*table)->count; i++)
            if ((words[count] = own_text(to, *table, &(*table)->rows[i])))
                bytes += strlen(*words[count++]) + 1;
    char *next = count ? add_texts(to, bytes, error) : NULL;
    if (count && !next)
        return PARLEY_NO_MEMORY;
    for (unsigned i = 0; i < count; i++) {
        size_t length = strlen(*words[i]) + 1;
        *words[i] = memcpy(next, *words[i], length);
        next += length;
    }
    return PARLEY_OK;
}

parley_status pl_settings_assign(parley_settings *to, const parley_settings *from, parley_error *error) {
    if (to == from)
        return PARLEY_OK;
    pl_settings_clear(to);
    *to = *from;
    return own_texts(to, error);
}

parley_status pl_settings_copy(const parley_settings *from, parley_settings **out, parley_error *error) {
    *out = pl_realloc(NULL, 1, sizeof **out); /* not cleared */
    if (!*out)
        return pl_fail_memory(error, "settings", sizeof **out);
    **out = *from;
    parley_status status = own_texts(*out, error);
    if (status != PARLEY_OK) {
        pl_free(*out);
        *out = NULL;
    }
    return status;
}

parley_status pl_setting_set(parley_settings *settings, unsigned command, const char *name, const char *value,
                             parley_error *error) {
    const pl_setting *row = pl_setting_option(command, name);
    if (!row || (command && !(row->commands & command)))
        return unknown(command, name, error);
    parley_status status = set_value(settings, row, value, error);
    if (status == PARLEY_OK)
        settings->given[pl_setting_number(row)] = true;
    return status;
}

bool pl_setting_given(const parley_settings *settings, const char *name) {
    const pl_setting *row = pl_setting_find(name);
    return row && settings->given[pl_setting_number(row)];
}

void pl_setting_forget(parley_settings *settings, const char *name) {
    settings->given[pl_setting_number(pl_setting_find(name))] = false;
}

double pl_setting_real(const parley_settings *settings, const char *name) {
    return *(const double *)field(settings, pl_setting_find(name));
}

static void choice_text(const pl_setting *row, uint64_t chosen, char *text, size_t size) {
    const char *choice = row->choices;
    for (; chosen > 0; chosen--)
        choice += strcspn(choice, "|") + 1;
    snprintf(text, size, "%.*s", (int)strcspn(choice, "|"), choice);
}

void pl_setting_text(const parley_settings *settings, const pl_setting *row, char *text, size_t size) {
    const void *value = field(settings, row);
    switch (row->kind) {
    case PL_FLAG: snprintf(text, size, "%s", *(const bool *)value ? "true" : "false"); break;
    case PL_CHOICE: choice_text(row, *(const uint64_t *)value, text, size); break;
    case PL_WORD: snprintf(text, size, "%s", *(const char *const *)value); break;
    case PL_REAL:
        if (isnan(*(const double *)value))
            snprintf(text, size, "auto");
        else if (*(const double *)value == *(const double *)field(&made.defaults, row))
            snprintf(text, size, "%s", made.text[pl_setting_number(row)]);
        else
            pl_number_text(*(const double *)value, text, size);
        break;
    case PL_WHOLE:
        if (row->may_be_auto && *(const uint64_t *)value == 0)
            snprintf(text, size, "auto");
        else
            snprintf(text, size, "%llu", (unsigned long long)*(const uint64_t *)value);
        break;
    }
}

parley_status parley_settings_new(parley_settings **out, parley_error *error) {
    *out = pl_realloc(NULL, 1, sizeof **out); /* not cleared */
    if (!*out)
        return pl_fail_memory(error, "settings", sizeof **out);
    pl_settings_defaults(*out);
    return PARLEY_OK;
}

parley_status parley_settings_set(parley_settings *settings, const char *name, const char *value, parley_error *error) {
    return pl_setting_set(settings, 0, name, value, error);
}

void parley_settings_free(parley_settings *settings) {
    if (settings)
        pl_settings_clear(settings);
    pl_free(settings);
}

int parley_setting_at(unsigned number, parley_setting *out) {
    static const char *const kinds[] = {"flag", "whole", "real", "word", "choice"};
    const pl_setting *row = pl_setting_at(number), *head = row;
    *out = (parley_setting){0};
    if (!row)
        return 0;
    while (!head->heading)
        head = pl_setting_at(--number); /* the first row has one */
    *out = (parley_setting){.name = row->name,
                            .kind = kinds[row->kind],
                            .initial = row->initial,
                            .choices = row->choices,
                            .list = row->list,
                            .group = head->heading,
                            .help = row->help,
                            .min = row->min,
                            .max = row->max,
                            .may_be_auto = row->may_be_auto,
                            .trains =
                                (row->commands & (PL_FOR_TRAIN | PL_FOR_ONE | PL_FOR_LINEAR | PL_FOR_LINEAR_ONE)) != 0,
                            .paths = (row->commands & (PL_FOR_TRAIN | PL_FOR_LINEAR | PL_FOR_PATH)) != 0,
                            .cvs = (row->commands & (PL_FOR_TRAIN | PL_FOR_LINEAR | PL_FOR_CV)) != 0,
                            .reads = strcmp(head->heading, "Reading") == 0 && (row->commands & PL_FOR_READING) != 0};
    return 1;
}
