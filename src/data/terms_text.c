/* terms_text.c: the terms of texts as a part of the JSON that describes a table, for models and caches:
 *   "terms": [{"column": "review", "ngrams": 2, "values": "tf-idf", "first": 3, "rows": 100, "documents": "7 5x2 1x90",
 *              "stop_words": "and or"}]
 * `documents` lists, for columns `first`, `first` + 1, ..., how many texts have the term; 5x2 stands for 5 5. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bounded_json.h"
#include "base/json_memory.h"
#include "data/terms.h"

#define MOST_VALUES ((uint64_t)1 << 24)
#define MOST_BYTES ((size_t)7 << 20) /* of the list of documents, because the header of a file has at most 8 MiB */
#define ALONE "{\"terms\":"

static const char *const kinds[] = {[PL_TERMS_AUTO] = "",
                                    [PL_COUNTS] = "counts",
                                    [PL_PRESENCE] = "presence",
                                    [PL_TF_IDF] = "tf-idf",
                                    [PL_LOG_TF_IDF] = "log-tf-idf"};

/* The number of texts by term, with equal neighbours together. Fails if there are too many terms. */
static parley_status list_documents(const pl_terms *terms, const char *path, char **out, parley_error *error) {
    size_t used = 0, room = 64;
    *out = pl_alloc(room, 1);
    for (uint64_t i = 0, next; *out && terms->idf && i < terms->count; i = next) {
        for (next = i + 1; next < terms->count && terms->documents[next] == terms->documents[i]; next++)
            ;
        if (used + 48 > room) {
            char *grown = pl_realloc(*out, room *= 2, 1);
            if (!grown)
                return pl_fail_memory(error, "the weights of words", room);
            *out = grown;
        }
        used += (size_t)snprintf(*out + used, room - used, "%s%.0f", i > 0 ? " " : "", terms->documents[i]);
        if (next > i + 1)
            used += (size_t)snprintf(*out + used, room - used, "x%" PRIu64, next - i);
        if (used > MOST_BYTES)
            return pl_fail(error, PARLEY_BAD_INPUT,
                           "%s: its %llu words are more than a model can hold; keep fewer with --words or "
                           "--min-documents 2",
                           path, (unsigned long long)terms->count);
    }
    return *out ? PARLEY_OK : pl_fail_memory(error, "the weights of words", room);
}

/* The words of the stop list, separated by blanks. */
static char *list_stop_words(const pl_dictionary *stop) {
    char *text = pl_alloc(stop->text_bytes + stop->count + 1, 1), *to = text;
    for (uint64_t i = 0; text && i < stop->count; i++) {
        pl_name word = pl_dictionary_word(stop, (uint32_t)i);
        if (i > 0)
            *to++ = ' ';
        memcpy(to, word.text, word.bytes);
        to += word.bytes;
    }
    return text;
}

static parley_status describe(const pl_terms *terms, const char *path, json_t *all, parley_error *error) {
    char *documents = NULL, *stop = list_stop_words(&terms->stop);
    parley_status status =
        stop ? list_documents(terms, path, &documents, error) : pl_fail_memory(error, "stop words", terms->stop.count);
    json_t *one = json_object();
    int failed = 1;
    if (status == PARLEY_OK)
        failed = json_object_set_new(one, "column", json_string(terms->column)) |
                 json_object_set_new(one, "ngrams", json_integer(terms->ngrams)) |
                 json_object_set_new(one, "values", json_string(kinds[terms->values])) |
                 json_object_set_new(one, "first", json_integer((json_int_t)terms->first)) |
                 json_object_set_new(one, "count", json_integer((json_int_t)terms->count)) |
                 json_object_set_new(one, "rows", json_real(terms->rows)) |
                 json_object_set_new(one, "documents", json_string(documents));
    if (!failed && terms->labelled)
        failed = json_object_set_new(one, "labelled", json_true());
    if (!failed && *stop)
        failed = json_object_set_new(one, "stop_words", json_string(stop));
    failed = failed || json_array_append(all, one);
    json_decref(one);
    pl_free(documents);
    pl_free(stop);
    return status == PARLEY_OK && failed ? pl_fail_memory(error, "the description of the words", terms->count) : status;
}

parley_status pl_terms_write(const pl_terms *terms, unsigned count, const char *path, char **text,
                             parley_error *error) {
    pl_json_watch();
    json_t *all = json_array();
    size_t before = *text ? strlen(*text) - 1 : 0; /* without the last brace */
    parley_status status = all ? PARLEY_OK : pl_fail_memory(error, "the description of the words", 1);
    for (unsigned i = 0; i < count && status == PARLEY_OK; i++)
        status = describe(&terms[i], path, all, error);
    size_t bytes = status == PARLEY_OK ? json_dumpb(all, NULL, 0, JSON_COMPACT) : 0, room = before + bytes + 32;
    char *whole = bytes ? pl_alloc(room, 1) : NULL;
    if (status == PARLEY_OK && !whole)
        status = pl_fail_memory(error, "the description of the words", room);
    if (status == PARLEY_OK) {
        size_t at = (size_t)snprintf(whole, room, "%.*s%s", (int)before, *text ? *text : "",
                                     before > 1 ? ",\"terms\":" : &ALONE[before == 1]);
        json_dumpb(all, whole + at, bytes, JSON_COMPACT);
        memcpy(whole + at + bytes, "}", 2);
        pl_free(*text);
        *text = whole;
    }
    json_decref(all);
    return status;
}

/* Reads the list of documents. Returns false if it is not one. */
static bool read_documents(pl_terms *terms, const char *text) {
    uint64_t i = 0;
    while (*text) {
        char *end;
        double documents = strtod(text, &end);
        unsigned long long times = 1;
        if (end == text || !(documents >= 0 && documents <= 1e18))
            return false;
        if (*end == 'x')
            times = strtoull(text = end + 1, &end, 10);
        if (end == text || times == 0 || times > terms->count - i)
            return false;
        while (times-- > 0)
            terms->documents[i++] = documents;
        text = end + strspn(end, " ");
    }
    return i == terms->count;
}

static bool read_stop_words(pl_dictionary *stop, const char *text) {
    uint32_t number;
    bool room = true;
    for (; text && *text && room; text += strspn(text, " ")) {
        size_t bytes = strcspn(text, " ");
        room = pl_dictionary_add(stop, 0, text, bytes, &number);
        text += bytes;
    }
    return room;
}

static json_int_t whole(const json_t *one, const char *key) { return json_integer_value(json_object_get(one, key)); }

static parley_status take(const json_t *one, const char *path, pl_terms *terms, parley_error *error) {
    const char *column = json_string_value(json_object_get(one, "column"));
    const char *values = json_string_value(json_object_get(one, "values"));
    const char *documents = json_string_value(json_object_get(one, "documents"));
    json_int_t ngrams = whole(one, "ngrams"), first = whole(one, "first"), count = whole(one, "count");
    bool valid = column && values && documents && ngrams >= 1 && ngrams <= PL_MOST_NGRAMS && first >= 0 && count >= 0 &&
                 first + count <= (json_int_t)UINT32_MAX;
    for (unsigned k = PL_COUNTS; valid && k <= PL_LOG_TF_IDF; k++)
        if (strcmp(values, kinds[k]) == 0)
            terms->values = (pl_term_values)k;
    if (!valid || terms->values == PL_TERMS_AUTO)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: its description of the training text is not valid", path);
    terms->column = pl_strdup(column);
    terms->labelled = json_is_true(json_object_get(one, "labelled"));
    terms->ngrams = (unsigned)ngrams;
    terms->first = (uint64_t)first;
    terms->count = (uint64_t)count;
    terms->rows = json_number_value(json_object_get(one, "rows"));
    if (!terms->column || !read_stop_words(&terms->stop, json_string_value(json_object_get(one, "stop_words"))))
        return pl_fail_memory(error, "the description of the words", terms->count);
    if (terms->values < PL_TF_IDF)
        return PARLEY_OK;
    parley_status status =
        pl_take(&terms->documents, terms->count + 1, sizeof *terms->documents, "the weights of words", error);
    if (status == PARLEY_OK && !read_documents(terms, documents))
        status = pl_fail(error, PARLEY_BAD_INPUT, "%s: its description of the training text is not valid", path);
    return status == PARLEY_OK ? pl_terms_weights(terms, error) : status;
}

parley_status pl_terms_read(const char *text, const char *path, pl_terms **out, unsigned *count, parley_error *error) {
    json_t *all = NULL;
    *out = NULL;
    *count = 0;
    if (!text || !strstr(text, "\"terms\":"))
        return PARLEY_OK;
    parley_status status = pl_json_parse(text, strlen(text), MOST_VALUES, JSON_REJECT_DUPLICATES, &all, NULL);
    if (status == PARLEY_NO_MEMORY)
        return pl_fail_memory(error, "the description of the words", strlen(text));
    const json_t *list = json_object_get(all, "terms");
    size_t size = json_array_size(list);
    status = status == PARLEY_OK
                 ? pl_take(out, size + 1, sizeof **out, "the description of the words", error)
                 : pl_fail(error, status, "%s: its description of the training text is not valid", path);
    for (; status == PARLEY_OK && *count < size; ++*count)
        status = take(json_array_get(list, *count), path, &(*out)[*count], error);
    json_decref(all);
    return status;
}

bool pl_terms_alone(const char *text) { return text && strncmp(text, ALONE, strlen(ALONE)) == 0; }
