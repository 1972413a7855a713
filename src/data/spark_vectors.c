/* spark_vectors.c: vectors as Spark stores them in memory. A vector is a row of four fields, in words of 8 bytes: null
 * bits, type (0: sparse), size, and references to the arrays of indices and of values. A reference has the offset from
 * the begin of the row in its upper half. An array is its length, null bits in whole words, and the elements. */
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/status.h"
#include "parley.h"

#define WORD ((uint64_t)8)
#define ROW_WORDS 5

typedef struct vector {
    bool sparse;
    uint64_t size, count;
    const unsigned char *index, *value; /* not aligned */
} vector;

static uint64_t word_at(const unsigned char *bytes, uint64_t offset) {
    uint64_t word;
    memcpy(&word, bytes + offset, sizeof word);
    return word;
}

/* Finds the elements of the array to which a word of the row refers. */
static bool find_array(const unsigned char *row, uint64_t bytes, unsigned word, uint64_t width, uint64_t *count,
                       const unsigned char **elements) {
    uint64_t offset = word_at(row, word * WORD) >> 32;
    if (offset > bytes || bytes - offset < WORD)
        return false;
    *count = word_at(row, offset);
    uint64_t head = WORD + (*count / 64 + (*count % 64 > 0)) * WORD, room = bytes - offset;
    if (*count > room / width || head > room || *count > (room - head) / width)
        return false;
    *elements = row + offset + head;
    return true;
}

static bool find_vector(const unsigned char *row, uint64_t bytes, vector *out) {
    uint64_t indices = 0;
    if (bytes < ROW_WORDS * WORD || !find_array(row, bytes, 4, sizeof(double), &out->count, &out->value))
        return false;
    out->sparse = (word_at(row, WORD) & 255) == 0;
    out->size = out->sparse ? word_at(row, 2 * WORD) & UINT32_MAX : out->count;
    return !out->sparse || (find_array(row, bytes, 3, sizeof(int32_t), &indices, &out->index) && indices == out->count);
}

/* Converts the values and the column ids. Returns how many of the values are 0, and sets *finite. */
static uint64_t convert(const vector *from, uint32_t *index, double *value, bool *finite) {
    const uint64_t infinite = (uint64_t)0x7ff << 52;
    uint64_t zeros = 0, wrong = 0;
    memcpy(value, from->value, from->count * sizeof *value);
    for (uint64_t i = 0; i < from->count; i++) {
        uint64_t bits;
        memcpy(&bits, &value[i], sizeof bits);
        zeros += value[i] == 0;
        wrong |= (bits & infinite) == infinite;
    }
    if (from->sparse)
        memcpy(index, from->index, from->count * sizeof *index);
    else
        for (uint64_t i = 0; i < from->count; i++)
            index[i] = (uint32_t)i;
    *finite = !wrong;
    return zeros;
}

/* Drops zeros and the columns that are marked; returns how many entries are left. */
static uint64_t drop(uint64_t count, const unsigned char *dropped, uint32_t *index, double *value) {
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; i++) {
        index[kept] = index[i];
        value[kept] = value[i];
        kept += value[i] != 0 && !(dropped && dropped[index[i]]);
    }
    return kept;
}

static bool below(const uint32_t *index, uint64_t count, uint64_t columns) {
    uint32_t wrong = 0;
    for (uint64_t i = 0; i < count; i++)
        wrong |= index[i] >= columns;
    return !wrong;
}

parley_status parley_spark_vectors(const void *bytes, const int32_t *ends, uint64_t rows, uint64_t columns,
                                   const unsigned char *dropped, uint64_t first, int64_t *lengths, uint32_t *index,
                                   double *value, uint64_t *entries, parley_error *error) {
    const unsigned char *data = bytes;
    *entries = 0;
    for (uint64_t row = 0; row < rows; row++) {
        vector one = {0};
        bool finite = true;
        unsigned long long number = (unsigned long long)(first + row + 1);
        if (ends[row] < 0 || ends[row + 1] < ends[row] ||
            !find_vector(data + ends[row], (uint64_t)(ends[row + 1] - ends[row]), &one))
            return pl_fail(error, PARLEY_BAD_INPUT, "row %llu of the partition: it is not a vector of Spark", number);
        if (one.size != columns)
            return pl_fail(error, PARLEY_BAD_INPUT,
                           "row %llu of the partition: its vector has %" PRIu64 " features, and others have %" PRIu64
                           "; all vectors must have the same size",
                           number, one.size, columns);
        uint64_t zeros = convert(&one, index + *entries, value + *entries, &finite), count = one.count;
        if (!finite)
            return pl_fail(error, PARLEY_BAD_INPUT,
                           "row %llu of the partition: a feature is NaN or infinite; drop such rows, or impute them",
                           number);
        if (!below(index + *entries, count, columns))
            return pl_fail(error, PARLEY_BAD_INPUT,
                           "row %llu of the partition: its vector has an index that is not below its size", number);
        if (zeros || dropped)
            count = drop(count, dropped, index + *entries, value + *entries);
        lengths[row] = (int64_t)count;
        *entries += count;
    }
    return PARLEY_OK;
}
