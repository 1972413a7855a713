/* format.c: the table of formats and the choice of one. The content decides: IDX is recognised by its magic number, VW
 * by its bar, LIBSVM by column:value, and all other text is CSV, or plain text where
 * rows are documents. */
#include "data/format.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SHOWN 40 /* bytes of a word shown in a message */
#define HEAD_BYTES ((uint64_t)1 << 10)
#define TABLE_LINES 50
#define FOREIGN_BYTES 64
#define TEXT_BLANKS 2
#define SNIFF_BYTES ((uint64_t)64 << 10)

/* The formats in the order in which they are tried. The last accepts all text. */
static const pl_format *const asked[] = {&pl_format_idx, &pl_format_mm,         &pl_format_docword, &pl_format_ldac,
                                         &pl_format_vw,  &pl_format_multilabel, &pl_format_libsvm,  &pl_format_csv};

static const char *const reading_settings[] = {
    "header",       "separator",     "label_column",  "weight_column", "categorical", "categories",  "hash_bits",
    "missing",      "keep_names",    "labels",        "columns",       "ignore",      "id",          "missing_words",
    "interactions", "encoding",      "skip_lines",    "comment",       "bad_rows",    "words",       "missing_label",
    "stop_words",   "min_documents", "max_documents", "ngrams",        "term_values", "text_column", "min_count"};

const pl_format *pl_format_find(const char *name) {
    for (unsigned i = 0; i < pl_formats_count; i++)
        if (strcmp(pl_formats[i]->name, name) == 0)
            return pl_formats[i];
    return NULL;
}

uint64_t pl_first_line(const char *text, uint64_t bytes, const char **line) {
    const char *p = text, *end = text + bytes;
    if (bytes >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        p += 3;
    while (p < end) {
        const char *newline = memchr(p, '\n', (size_t)(end - p)), *stop = newline ? newline : end;
        while (p < stop && (*p == ' ' || *p == '\t' || *p == '\r'))
            p++;
        if (p < stop && *p != '#') {
            *line = p;
            return (uint64_t)(stop - p);
        }
        p = stop + 1;
    }
    return 0;
}

static bool reads(const pl_format *format, const char *setting) {
    for (unsigned i = 0; format && format->settings && format->settings[i]; i++)
        if (strcmp(format->settings[i], setting) == 0)
            return true;
    return false;
}

parley_status pl_format_check(const pl_reading *reading, const pl_format *format, const char *path,
                              parley_error *error) {
    for (unsigned i = 0; i < sizeof reading_settings / sizeof *reading_settings && reading->settings; i++) {
        char flag[48];
        if (!pl_setting_given(reading->settings, reading_settings[i]) || reads(format, reading_settings[i]))
            continue;
        pl_setting_flag(pl_setting_find(reading_settings[i]), flag, sizeof flag);
        bool named = format && format != &pl_format_csv && pl_format_ends(&pl_format_csv, path);
        return pl_fail(
            error, PARLEY_BAD_USAGE, "%s has no effect: %s is %s%s", flag, path, format ? format->title : "a cache",
            named ? "; fields of a table are separated by commas, tabs or semicolons, or as --separator says" : "");
    }
    return PARLEY_OK;
}

const char *pl_past_preamble(const pl_reading *reading, const char *p, const char *end, bool whole, uint64_t *lines) {
    const char *newline;
    if (end - p >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        p += 3;
    for (*lines = 0; p < end; p = newline + 1, ++*lines) {
        newline = memchr(p, '\n', (size_t)(end - p));
        const char *stop = newline ? newline : end, *q = p;
        while (q < stop && (*q == ' ' || *q == '\t' || *q == '\r'))
            q++;
        if (*lines >= reading->skip_lines && q < stop && (!reading->comment || *p != reading->comment))
            return p;
        if (!newline)
            return whole ? end : NULL;
    }
    return whole ? end : NULL;
}

const char *pl_past_separator(const char *p, const char *end, char *separator) {
    const char *q = p, *newline = memchr(p, '\n', (size_t)(end - p));
    const char *stop = newline && newline > p && newline[-1] == '\r' ? newline - 1 : newline;
    if (!newline || (stop - p != 5 && stop - p != 7))
        return p;
    bool quoted = stop - p == 7;
    if (quoted && (*q++ != '"' || stop[-1] != '"'))
        return p;
    if (strncasecmp(q, "sep=", 4) != 0)
        return p;
    *separator = q[4];
    return newline + 1;
}

/* Moves to the first line of the data, if some lines above it are left out. Returns false if it is not in the text. */
static bool pass_preamble(const pl_reading *reading, const char **text, uint64_t *bytes, bool whole) {
    uint64_t lines;
    if (reading->skip_lines == 0 && !reading->comment)
        return true;
    const char *end = *text + *bytes, *first = pl_past_preamble(reading, *text, end, whole, &lines);
    *text = first ? first : end;
    *bytes = (uint64_t)(end - *text);
    return first;
}

/* Reads up to the end of the first line that is not empty, so that a slow pipe does not delay the choice much. */
static parley_status read_first_line(const pl_reading *reading, pl_source *source, const char **text, uint64_t *bytes,
                                     parley_error *error) {
    bool whole = false, passed = false;
    parley_status status = PARLEY_OK;
    for (uint64_t wanted = 4; status == PARLEY_OK && wanted <= (passed ? SNIFF_BYTES : PL_LONGEST_LINE); wanted *= 2) {
        const char *line;
        status = pl_source_head(source, wanted, text, bytes, &whole, error);
        bool last = whole || *bytes < wanted;
        if (status == PARLEY_OK)
            passed = pass_preamble(reading, text, bytes, last);
        if (status != PARLEY_OK || last)
            return status; /* it ends here, or fails, which is reported later */
        uint64_t length = pl_first_line(*text, *bytes, &line);
        if (length > 0 && line + length < *text + *bytes)
            return PARLEY_OK;
    }
    return status;
}

bool pl_source_is_empty(pl_source *source) {
    const char *text, *line;
    uint64_t bytes;
    bool whole = false;
    return pl_source_head(source, SNIFF_BYTES, &text, &bytes, &whole, NULL) == PARLEY_OK && whole &&
           pl_first_line(text, bytes, &line) == 0;
}

/* Fails on files of tables that other programs read, with what to do about them. */
static parley_status check_foreign(const char *text, uint64_t bytes, const char *path, parley_error *error) {
    static const struct {
        const char *magic, *what, *remedy;
    } known[] = {
        {"PAR1", "a Parquet file", "in Python give its name to parley.train"},
        {"ARROW1", "an Arrow file", "in Python give its name to parley.train"},
        {"FEA1", "a Feather file", "in Python give the frame of pandas.read_feather to parley.train"},
        {"ORC", "an ORC file", "in Python give the frame of pandas.read_orc to parley.train"},
        {"PK\3\4", "an Excel or zip file", "in Python give the frame of pandas.read_excel to parley.train"},
        {"\xd0\xcf\x11\xe0", "an Excel file", "in Python give the frame of pandas.read_excel to parley.train"},
        {"\x89HDF", "an HDF5 file", "in Python give the frame of pandas.read_hdf to parley.train"},
    };
    bool binary = false; /* a name in the first line of a table may be ORC */
    for (uint64_t i = 0; i < bytes && i < FOREIGN_BYTES; i++)
        binary |= (unsigned char)text[i] < '\t';
    for (unsigned i = 0; i < sizeof known / sizeof *known && binary; i++) {
        size_t length = strlen(known[i].magic);
        if (bytes >= length && memcmp(text, known[i].magic, length) == 0)
            return pl_fail(error, PARLEY_BAD_INPUT,
                           "%s is %s, which the command line does not read; save it as CSV, or %s", path, known[i].what,
                           known[i].remedy);
    }
    return PARLEY_OK;
}

/* CSV accepts what no other format does, but it must be text. */
static parley_status check_text(const char *text, uint64_t bytes, const char *path, parley_error *error) {
    if (bytes >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0))
        return pl_fail(error, PARLEY_BAD_INPUT, "%s is UTF-16 text; save it as UTF-8", path);
    for (uint64_t i = 0; i < bytes; i++)
        if ((unsigned char)text[i] < ' ' && !strchr("\t\n\v\f\r", text[i] ? text[i] : 'x'))
            return pl_fail(
                error, PARLEY_BAD_INPUT,
                "%s: byte 0x%02x in the first line; this is neither text nor another format that Parley reads", path,
                (unsigned char)text[i]);
    return PARLEY_OK;
}

/* Is the first line one number, or is there none? It may then be LIBSVM text or a CSV file with one column. */
static bool has_no_entries(const char *text, uint64_t bytes) {
    const char *line;
    uint64_t length = pl_first_line(text, bytes, &line);
    return length == 0 || !memchr(line, ':', length);
}

/* Do the first lines of the text have equally many fields, and more than one? Two fields are a label and a text if the
 * second has several words in most lines. */
static bool is_table(const char *text, const char *end, char separator) {
    uint64_t first = 0, lines = 0, texts = 0;
    for (const char *p = text, *newline; p < end && lines < TABLE_LINES; p = newline + 1) {
        newline = memchr(p, '\n', (size_t)(end - p));
        if (!newline && lines > 1)
            break; /* the rest of the line may not be there */
        newline = newline ? newline : end;
        uint64_t fields = 1, blanks = 0;
        for (const char *q = p; q < newline; q++) {
            fields += *q == separator;
            blanks += fields == 2 && *q == ' ';
        }
        if (newline == p)
            continue;
        if (fields < 2 || (lines++ > 0 && fields != first))
            return false;
        first = fields;
        texts += blanks >= TEXT_BLANKS;
    }
    return lines > 1 && (separator != '\t' || first > 2 || 2 * texts < lines);
}

/* Was an option given that only tables have? */
static bool names_columns(const parley_settings *settings) {
    static const char *const names[] = {"label_column", "weight_column", "categorical",  "columns",
                                        "ignore",       "separator",     "header",       "text_column",
                                        "skip_lines",   "comment",       "encoding",     "bad_rows",
                                        "missing",      "missing_words", "missing_label"};
    for (unsigned i = 0; i < sizeof names / sizeof *names && settings; i++)
        if (pl_setting_given(settings, names[i]))
            return true;
    return false;
}

/* Is it plain text and no table, where either may be meant? */
static bool is_plain_text(const char *text, uint64_t bytes) {
    for (const char *separator = ",\t;"; *separator; separator++)
        if (is_table(text, text + bytes, *separator))
            return false;
    return bytes > 0 && memchr(text, ' ', bytes);
}

parley_status pl_format_choose(const pl_reading *reading, pl_source *source, const pl_format **out,
                               parley_error *error) {
    const char *text;
    uint64_t bytes;
    *out = reading->format;
    if (!*out && reading->separator && !strchr(",\t;", reading->separator))
        *out = &pl_format_csv; /* no other format has separators, and | or : would make it look like one */
    if (!*out) {
        parley_status status = read_first_line(reading, source, &text, &bytes, error);
        if (status != PARLEY_OK)
            return status;
        status = check_foreign(text, bytes, pl_source_name(source), error);
        if (status != PARLEY_OK)
            return status;
        const char *line;
        uint64_t length = pl_first_line(text, bytes, &line), digits = 0;
        while (digits < length && line[digits] >= '0' && line[digits] <= '9')
            digits++;
        if (length > 0 && digits + 1 >= length) { /* a single number, which may be the head of a corpus */
            bool whole;
            status = pl_source_head(source, HEAD_BYTES, &text, &bytes, &whole, error);
            pass_preamble(reading, &text, &bytes, true);
        }
        if (status != PARLEY_OK)
            return status;
        char declared;
        if (pl_past_separator(text, text + bytes, &declared) > text)
            *out = &pl_format_csv;
        for (unsigned i = 0; !*out; i++)
            if (asked[i] != &pl_format_multilabel || !names_columns(reading->settings))
                *out = asked[i]->sniff(text, bytes) ? asked[i] : NULL;
        if (*out == &pl_format_libsvm && reading->label_sets)
            *out = &pl_format_multilabel;
        if (*out == &pl_format_libsvm && has_no_entries(text, bytes) &&
            pl_format_ends(&pl_format_csv, pl_source_name(source)))
            *out = &pl_format_csv;
        if (*out == &pl_format_csv)
            status = check_text(text, bytes, pl_source_name(source), error);
        if (status == PARLEY_OK && *out == &pl_format_csv && reading->documents) {
            bool whole;
            status = pl_source_head(source, SNIFF_BYTES, &text, &bytes, &whole, error);
            if (status == PARLEY_OK && is_plain_text(text, bytes) && !names_columns(reading->settings))
                *out = &pl_format_text;
        }
        if (status != PARLEY_OK || (length == 0 && pl_source_is_empty(source)))
            return status; /* that there are no rows is a better message than one about settings */
    }
    return pl_format_check(reading, *out, pl_source_name(source), error);
}

parley_status pl_fault_fail(const pl_fault *fault, const char *path, uint64_t line, parley_error *error) {
    char word[SHOWN + 8], name[SHOWN + 8], sentence[384];
    if (fault->memory)
        return pl_fail(error, PARLEY_NO_MEMORY, "%s:%llu: out of memory", path, (unsigned long long)line);
    size_t length = (size_t)(fault->stop - fault->word), shown = length < SHOWN ? length : SHOWN;
    for (size_t i = 0; i < shown; i++) {
        unsigned char c = (unsigned char)fault->word[i];
        word[i] = c >= ' ' && c < 0x7f ? (char)c : '?';
    }
    snprintf(word + shown, sizeof word - shown, "%s", length > shown ? "..." : "");
    if (fault->name) {
        snprintf(name, sizeof name, "%.*s%s", SHOWN, fault->name, strlen(fault->name) > SHOWN ? "..." : "");
        snprintf(sentence, sizeof sentence, fault->format, word, name, fault->column);
    } else
        snprintf(sentence, sizeof sentence, fault->format, word, fault->column);
    return pl_fail(error, PARLEY_BAD_INPUT, "%s:%llu: %s", path, (unsigned long long)line, sentence);
}

static bool ends_in(const char *path, size_t length, const char *ending, size_t size) {
    return length > size && memcmp(path + length - size, ending, size) == 0;
}

bool pl_format_ends(const pl_format *format, const char *path) {
    size_t length = strlen(path);
    if (ends_in(path, length, ".gz", 3))
        length -= 3;
    else if (ends_in(path, length, ".zst", 4))
        length -= 4;
    for (const char *ending = format->endings; *ending; ending += strspn(ending, " ")) {
        size_t size = strcspn(ending, " ");
        if (ends_in(path, length, ending, size))
            return true;
        ending += size;
    }
    return false;
}

/* Takes a character that may separate fields or begin a comment, or its name. Returns false if it cannot be one. */
static bool read_character(const char *text, char *out) {
    static const struct {
        const char *name;
        char character;
    } named[] = {{"comma", ','}, {"tab", '\t'}, {"\\t", '\t'}, {"semicolon", ';'}, {"space", ' '}};
    for (unsigned i = 0; i < sizeof named / sizeof *named; i++)
        if (strcmp(text, named[i].name) == 0) {
            *out = named[i].character;
            return true;
        }
    *out = *text;
    bool graphic = *text > ' ' && *text < 0x7f, letter = (*text | 0x20) >= 'a' && (*text | 0x20) <= 'z';
    return *text && !text[1] &&
           (*text == ' ' || *text == '\t' || (graphic && !letter && !strchr("0123456789\"+-.", *text)));
}

static parley_status read_characters(const parley_settings *settings, pl_reading *out, parley_error *error) {
    if (strcmp(settings->separator, "auto") != 0 && !read_character(settings->separator, &out->separator))
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--separator %.20s: it must be comma, tab, semicolon, space or another character that is not "
                       "part of words and numbers",
                       settings->separator);
    if (*settings->comment && !read_character(settings->comment, &out->comment))
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--comment %.20s: it must be one character that is not part of words and numbers, such as #",
                       settings->comment);
    if (out->comment && out->comment == out->separator)
        return pl_fail(error, PARLEY_BAD_USAGE, "--comment %.20s: this is the separator", settings->comment);
    return PARLEY_OK;
}

parley_status pl_reading_of(const parley_settings *settings, pl_reading *out, parley_error *error) {
    const pl_format *format = pl_format_find(settings->format);
    if (!format && strcmp(settings->format, "auto") != 0)
        return pl_fail(
            error, PARLEY_BAD_USAGE,
            "--format %.60s: unknown format; use libsvm, csv, vw, idx, docword, ldac, mm, text, multilabel or auto",
            settings->format);
    *out = (pl_reading){
        .settings = settings,
        .format = format,
        .header = (pl_header)settings->header,
        .skip_lines = settings->skip_lines,
        .encoding = (pl_encoding)settings->encoding,
        .missing_label = (pl_refusal)settings->missing_label,
        .bad_rows = (pl_refusal)settings->bad_rows,
        .label_column = settings->label_column,
        .weight_column = settings->weight_column,
        .offset_column = settings->offset_column,
        .wide = *settings->offset_column != '\0',
        .unjudged = *settings->offset_column != '\0', /* nothing absorbs what an offset loses */
        .categorical = settings->categorical,
        .labels = settings->labels,
        .hashed = settings->categories == PL_HASHED,
        .hash_bits = (unsigned)settings->hash_bits,
        .columns = settings->columns,
        .ignore = settings->ignore,
        .missing_words = settings->missing_words,
        .interactions = settings->interactions,
        .text_column = settings->text_column,
        .missing = (pl_missing)settings->missing,
        .min_count = settings->min_count,
        .keep_names = settings->keep_names,
        .id = settings->id,
    };
    return read_characters(settings, out, error);
}
