/* vocabulary.c: reads files with one word per line: the names of columns, and words to leave out. */
#include "data/vocabulary.h"

#include <string.h>

#include "data/source.h"

#define WINDOW_BYTES ((uint64_t)1 << 20)

static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* Adds the lines of a window. Blank lines count as words only if they are in a list of columns, where they are errors.
 */
static parley_status add_lines(const char *text, uint64_t bytes, const char *path, bool columns, pl_dictionary *words,
                               uint64_t *line, parley_error *error) {
    const char *end = text + bytes;
    for (const char *p = text; p < end;) {
        const char *newline = memchr(p, '\n', (size_t)(end - p)), *stop = newline ? newline : end, *next = stop + 1;
        uint32_t number;
        ++*line;
        while (p < stop && blank(*p))
            p++;
        while (stop > p && blank(stop[-1]))
            stop--;
        if (p == stop && columns)
            return pl_fail(error, PARLEY_BAD_INPUT, "%s:%llu: an empty line; each line must be a word", path,
                           (unsigned long long)*line);
        uint64_t before = words->count;
        if (p < stop && !pl_dictionary_add(words, 0, p, (uint64_t)(stop - p), &number))
            return pl_fail_memory(error, "words", (uint64_t)(stop - p));
        if (p < stop && columns && words->count == before)
            return pl_fail(error, PARLEY_BAD_INPUT, "%s:%llu: \"%.*s\" is in line %u too; each word has one column",
                           path, (unsigned long long)*line, (int)(stop - p < 60 ? stop - p : 60), p, number + 1);
        p = next;
    }
    return PARLEY_OK;
}

parley_status pl_words_read(const char *path, bool columns, pl_dictionary *words, parley_error *error) {
    pl_source *source;
    const char *text;
    uint64_t bytes = 1, line = 0;
    parley_status status = pl_source_open(path, WINDOW_BYTES, &source, error);
    if (status != PARLEY_OK)
        return status;
    if (pl_source_content(source) == PL_CACHE)
        status = pl_fail(error, PARLEY_BAD_INPUT, "%s: not a list of words: it is a cache", path);
    while (status == PARLEY_OK && bytes > 0) {
        status = pl_source_next(source, &text, &bytes, error);
        if (status == PARLEY_OK)
            status = add_lines(text, bytes, path, columns, words, &line, error);
    }
    pl_source_close(source);
    return status;
}

parley_status pl_names_of_words(const pl_dictionary *words, pl_names *out, parley_error *error) {
    parley_status status = pl_names_make(words->count, words->text_bytes, out, error);
    if (status != PARLEY_OK)
        return status;
    uint64_t *start = (uint64_t *)out->start;
    char *text = (char *)out->text;
    for (uint64_t i = 0; i < words->count; i++) {
        pl_name word = pl_dictionary_word(words, (uint32_t)i);
        memcpy(text + start[i], word.text, word.bytes);
        start[i + 1] = start[i] + word.bytes;
    }
    return status;
}

parley_status pl_data_read_vocabulary(parley_data *data, const char *path, parley_error *error) {
    pl_dictionary words = {0};
    if (data->names.count > 0)
        return pl_fail(error, PARLEY_BAD_USAGE, "--vocabulary has no effect: %s has words of its own", data->path);
    parley_status status = pl_words_read(path, true, &words, error);
    bool fixed = data->format == &pl_format_docword || data->format == &pl_format_mm;
    if (status == PARLEY_OK && (fixed ? words.count != data->x.columns : words.count < data->x.columns))
        status = pl_fail(error, PARLEY_BAD_INPUT, "%s has %llu words, but %s has %llu; give a line for each", path,
                         (unsigned long long)words.count, data->path, (unsigned long long)data->x.columns);
    if (status == PARLEY_OK)
        status = pl_names_of_words(&words, &data->names, error);
    if (status == PARLEY_OK)
        data->x.columns = words.count;
    pl_dictionary_free(&words);
    return status;
}
