/* data_helpers.h: shared by the tests of the data layer: a folder of their own, files in it, comparisons. */
#ifndef PL_DATA_HELPERS_H
#define PL_DATA_HELPERS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/random.h"
#include "data/read.h"

static char folder[] = "/tmp/parley-test-XXXXXX";
static char path_text[256];

/* Returns a path in the test's folder, always in the same buffer. */
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

/* Returns the bytes of a file, to be freed. */
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

/* The values of rows from the first on, with their type. */
static inline void assert_same_values(const parley_data *a, const parley_data *b) {
    assert_int_equal(pl_value_bytes(a->x.values), pl_value_bytes(b->x.values));
    if (!pl_are_ones(a->x.values))
        assert_memory_equal(pl_value_memory(a->x.values), pl_value_memory(b->x.values),
                            b->x.nonzeros * pl_value_bytes(b->x.values));
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
    assert_same_values(a, b);
}

static pl_pool *one, *three;

static inline int open_pools(void **state) {
    one = open_pool(1);
    three = open_pool(3);
    return make_folder(state);
}

static inline int close_pools(void **state) {
    pl_pool_close(one);
    pl_pool_close(three);
    return remove_folder(state);
}

static inline parley_data *parse_text(const char *text) {
    parley_data *data;
    parley_error error = {0};
    if (pl_data_parse(text, strlen(text), "t.svm", one, 0, &data, &error) != PARLEY_OK)
        fail_msg("%s", error.sentence);
    return data;
}

/* Random rows with every feature that makes the estimates of block sizes inexact. */
static inline char *random_text(uint64_t seed, unsigned rows, bool ones) {
    pl_stream stream = pl_stream_make(seed, 0, 0);
    char *text = malloc((size_t)rows * 400 + 1), *p = text;
    assert_non_null(text);
    *p = '\0';
    for (unsigned i = 0; i < rows; i++) {
        unsigned kind = (unsigned)pl_random_below(&stream, 12), column = 0;
        if (kind == 0)
            p += sprintf(p, "# a: comment: %u\n", i);
        if (kind == 1)
            p += sprintf(p, " \t\n");
        p += sprintf(p, "%s%u", pl_random_below(&stream, 2) ? "-" : "", (unsigned)pl_random_below(&stream, 5));
        if (kind == 2)
            p += sprintf(p, " qid:%u", i);
        for (uint64_t k = pl_random_below(&stream, 12); k > 0; k--) {
            column += 1 + (unsigned)pl_random_below(&stream, 2000);
            p += sprintf(p, "%s%u:", kind == 3 ? "\t  " : " ", column);
            if (ones)
                p += sprintf(p, "1");
            else
                p += sprintf(p, "%.*g", 1 + (int)pl_random_below(&stream, 9), pl_random_normal(&stream));
        }
        p += sprintf(p, "%s%s\n", kind == 4 ? " # tail: 1:2" : "", kind == 5 ? "\r" : "");
    }
    return text;
}

/* A numeral of a random kind: short, long, with exponent, exactly between two floats, or next to that. */
static inline void random_numeral(pl_stream *stream, char *text, size_t size) {
    uint32_t bits = (uint32_t)pl_random(stream) & 0x7fffffff;
    bits = bits >= 0x7f000000 ? bits - 0x10000000 : bits;
    float low, high;
    memcpy(&low, &bits, sizeof low);
    bits++;
    memcpy(&high, &bits, sizeof high);
    double middle = ((double)low + (double)high) / 2;
    switch (pl_random_below(stream, 7)) {
    case 0: snprintf(text, size, "%.*f", (int)pl_random_below(stream, 9), pl_random_normal(stream) * 100); break;
    case 1: snprintf(text, size, "0.%06u", (unsigned)pl_random_below(stream, 1000000)); break;
    case 2: snprintf(text, size, "%.*e", (int)pl_random_below(stream, 30), (double)low); break;
    case 3: snprintf(text, size, "%.160e", middle); break;
    case 4: snprintf(text, size, "%.16e", middle); break;
    case 5:
        snprintf(text, size, "%llu.%llu", (unsigned long long)pl_random_below(stream, 1 << 25),
                 (unsigned long long)pl_random(stream));
        break;
    default:
        middle = ldexp(16777217.0 + 2 * (double)pl_random_below(stream, 1 << 22), -(int)pl_random_below(stream, 24));
        snprintf(text, size, "%.30f%s", middle, pl_random_below(stream, 2) ? "0000000000000001" : "");
    }
}

#endif
