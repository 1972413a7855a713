/* data_helpers.h: what the tests of the data layer share: a folder of their own, files in it, comparisons. */
#ifndef PL_DATA_HELPERS_H
#define PL_DATA_HELPERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "data/read.h"

static char folder[] = "/tmp/parley-test-XXXXXX";
static char path_text[256];

/* A path in the test's folder; the same buffer every time. */
static inline const char *in_folder(const char *name) {
    snprintf(path_text, sizeof path_text, "%s/%s", folder, name);
    return path_text;
}

static inline int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static inline int remove_folder(void **state) {
    (void)state;
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static inline void write_bytes(const char *path, const void *bytes, size_t count) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

/* The bytes of a file, to be freed. */
static inline char *read_bytes(const char *path, size_t *count) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *count = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*count + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *count, file), *count);
    bytes[*count] = '\0';
    fclose(file);
    return bytes;
}

static inline pl_pool *open_pool(unsigned threads) {
    pl_pool *pool;
    parley_error error;
    assert_int_equal(pl_pool_open(&pool, threads, &error), PARLEY_OK);
    return pool;
}

static inline void assert_same_data(const parley_data *a, const parley_data *b) {
    assert_int_equal(a->x.rows, b->x.rows);
    assert_int_equal(a->x.columns, b->x.columns);
    assert_int_equal(a->x.nonzeros, b->x.nonzeros);
    assert_memory_equal(a->x.start, b->x.start, (a->x.rows + 1) * sizeof *a->x.start);
    assert_memory_equal(a->label, b->label, a->x.rows * sizeof *a->label);
    assert_int_equal(!a->weight, !b->weight);
    if (a->weight)
        assert_memory_equal(a->weight, b->weight, a->x.rows * sizeof *a->weight);
    if (a->x.nonzeros > 0)
        assert_memory_equal(a->x.index, b->x.index, a->x.nonzeros * sizeof *a->x.index);
    assert_int_equal(!a->x.value, !b->x.value);
    if (a->x.value)
        assert_memory_equal(a->x.value, b->x.value, a->x.nonzeros * sizeof *a->x.value);
}

#endif
