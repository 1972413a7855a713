/* format_helpers.h: shared by the tests of the formats: parsing with settings, rows as text, faults, failed
 * allocations. */
#ifndef PL_FORMAT_HELPERS_H
#define PL_FORMAT_HELPERS_H

#include "data/format.h"
#include "data_helpers.h"

/* Rows as "label(weight)|column:value ..." with columns from 0, one line each, always in the same buffer. */
static inline const char *rows_of(const parley_data *data) {
    static char text[65536];
    char *p = text;
    for (uint64_t i = 0; i < data->x.rows; i++) {
        p += sprintf(p, "%.9g", data->label[i]);
        if (data->weight)
            p += sprintf(p, "(%.9g)", data->weight[i]);
        *p++ = '|';
        for (uint64_t k = data->x.start[i]; k < data->x.start[i + 1]; k++)
            p += sprintf(p, "%s%u:%.9g", k > data->x.start[i] ? " " : "", data->x.index[k],
                         pl_value_at(data->x.values, k));
        *p++ = '\n';
    }
    *p = '\0';
    return text;
}

/* Names, each followed by a bar. */
static inline const char *names_of(const pl_names *names) {
    static char text[1 << 20];
    char *p = text;
    for (uint64_t i = 0; i < names->count; i++)
        p += sprintf(p, "%.*s|", (int)pl_names_at(names, i).bytes, pl_names_at(names, i).text);
    *p = '\0';
    return text;
}

/* A model with these names, to which columns of data are matched. */
static inline pl_names make_names(const char *joined) {
    pl_names names;
    parley_error error;
    uint64_t count = 0, at = 0, i = 0;
    for (const char *c = joined; *c; c++)
        count += *c == '|';
    assert_int_equal(pl_names_make(count, strlen(joined), &names, &error), PARLEY_OK);
    for (const char *c = joined; *c; c++)
        if (*c == '|')
            ((uint64_t *)names.start)[++i] = at;
        else
            ((char *)names.text)[at++] = *c;
    return names;
}

/* Parses with one thread, and checks that blocks and threads change nothing. */
static inline parley_data *parse_as(const char *text, size_t bytes, const pl_reading *reading) {
    static const uint64_t sizes[] = {1, 7, 64};
    parley_data *data, *again;
    parley_error error = {0};
    if (pl_data_parse_as(text, bytes, "t", reading, one, 0, &data, &error) != PARLEY_OK)
        fail_msg("%s", error.sentence);
    for (unsigned i = 0; i < 3; i++) {
        if (pl_data_parse_as(text, bytes, "t", reading, three, sizes[i], &again, &error) != PARLEY_OK)
            fail_msg("%s", error.sentence);
        assert_same_data(data, again);
        char *names = strdup(names_of(&data->names)), *classes = strdup(names_of(&data->classes));
        assert_string_equal(names, names_of(&again->names));
        assert_string_equal(classes, names_of(&again->classes));
        free(names);
        free(classes);
        parley_data_free(again);
    }
    return data;
}

static inline void assert_rows(const char *text, const pl_reading *reading, const char *rows) {
    parley_data *data = parse_as(text, strlen(text), reading);
    assert_string_equal(rows_of(data), rows);
    parley_data_free(data);
}

/* Checks that the text is rejected with this sentence, for any size of blocks. */
static inline void assert_fault(const char *text, size_t bytes, const pl_reading *reading, const char *sentence) {
    for (int parallel = 0; parallel < 2; parallel++) {
        parley_data *data;
        parley_error error = {0};
        parley_status status =
            pl_data_parse_as(text, bytes, "t", reading, parallel ? three : one, parallel ? 3 : 0, &data, &error);
        assert_string_equal(error.sentence, sentence);
        assert_true(status == PARLEY_BAD_INPUT || status == PARLEY_BAD_USAGE);
        assert_null(data);
    }
}

typedef struct fault {
    const char *text, *sentence;
} fault;

static inline void assert_faults(const fault *faults, size_t count, const pl_reading *reading) {
    for (size_t i = 0; i < count; i++)
        assert_fault(faults[i].text, strlen(faults[i].text), reading, faults[i].sentence);
}

/* Lets every allocation of reading this file fail once, whole and streamed. Reads that succeed give the same data. */
static inline void assert_survives(const char *path, const pl_reading *reading) {
    parley_data *whole, *data;
    parley_error error = {0};
    parley_status status = PARLEY_NO_MEMORY;
    assert_int_equal(pl_data_read_as(path, reading, one, &whole, &error), PARLEY_OK);
    for (int64_t n = 0; status != PARLEY_OK && n < 3000; n++) {
        pl_memory_fail_after(n);
        status = pl_data_read_blocks_as(path, reading, three, 100, &data, &error);
        pl_memory_fail_after(-1);
        if (status == PARLEY_OK) {
            assert_same_data(whole, data);
            parley_data_free(data);
        } else {
            assert_int_equal(status, PARLEY_NO_MEMORY);
            assert_null(data);
            assert_non_null(strstr(error.sentence, "out of memory"));
        }
    }
    assert_int_equal(status, PARLEY_OK);
    status = PARLEY_NO_MEMORY;
    for (int64_t n = 0; status != PARLEY_OK && n < 3000; n++) {
        pl_reader *reader;
        const parley_data *batch;
        pl_memory_fail_after(n);
        status = pl_reader_open_blocks_as(path, reading, three, 100, &reader, &error);
        do
            status = status == PARLEY_OK ? pl_reader_next(reader, &batch, &error) : status;
        while (status == PARLEY_OK && batch);
        pl_memory_fail_after(-1);
        assert_true(status == PARLEY_OK || status == PARLEY_NO_MEMORY);
        pl_reader_close(reader);
    }
    assert_int_equal(status, PARLEY_OK);
    parley_data_free(whole);
}

#endif
