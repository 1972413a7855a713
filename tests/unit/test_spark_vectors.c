/* test_spark_vectors.c: vectors in the form in which Spark stores them. tests/spark reads the same from Spark itself.
 */
#include <math.h>
#include <string.h>

#include "support.h"

#define MOST_WORDS 64

/* Rows of words, as Spark writes them. */
typedef struct rows {
    uint64_t word[MOST_WORDS];
    int32_t ends[8];
    uint64_t count;
} rows;

static void put(rows *rows, uint64_t word) {
    uint64_t at = (uint64_t)rows->ends[rows->count] / 8;
    assert_true(at < MOST_WORDS);
    rows->word[at] = word;
    rows->ends[rows->count] += 8;
}

/* Adds a vector. `index` NULL makes it dense. */
static void add(rows *rows, uint64_t size, uint64_t count, const int32_t *index, const double *value) {
    uint64_t halves = (count + 1) / 2, nulls = (count + 63) / 64, indices = index ? 1 + nulls + halves : 0;
    rows->ends[rows->count + 1] = rows->ends[rows->count];
    rows->count++;
    put(rows, index ? 0 : 6);
    put(rows, index ? 0 : 1);
    put(rows, index ? size : 0);
    put(rows, index ? (uint64_t)40 << 32 | indices * 8 : 0);
    put(rows, (40 + indices * 8) << 32 | (1 + nulls + count) * 8);
    if (index) {
        uint64_t words[MOST_WORDS] = {0};
        memcpy(words, index, count * sizeof *index);
        put(rows, count);
        for (uint64_t i = 0; i < nulls; i++)
            put(rows, 0);
        for (uint64_t i = 0; i < halves; i++)
            put(rows, words[i]);
    }
    put(rows, count);
    for (uint64_t i = 0; i < nulls; i++)
        put(rows, 0);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &value[i], sizeof bits);
        put(rows, bits);
    }
}

static const int32_t ids[] = {0, 2, 4};
static const double numbers[] = {1.5, 0.0, -2.25};
static const double table[] = {0.0, 3.0, 0.0, 0.5, 7.0};

static void entries_are_those_of_the_vectors(void **state) {
    (void)state;
    rows rows = {.count = 0};
    add(&rows, 5, 3, ids, numbers);
    add(&rows, 5, 5, NULL, table);
    add(&rows, 5, 0, ids, numbers);
    int64_t lengths[3];
    uint32_t index[MOST_WORDS];
    double value[MOST_WORDS];
    uint64_t entries;
    parley_error error;
    assert_done(parley_spark_vectors(rows.word, rows.ends, 3, 5, NULL, 0, lengths, index, value, &entries, &error),
                &error);
    static const uint32_t wanted[] = {0, 4, 1, 3, 4};
    static const double values[] = {1.5, -2.25, 3.0, 0.5, 7.0};
    assert_int_equal(entries, 5);
    assert_true(lengths[0] == 2 && lengths[1] == 3 && lengths[2] == 0);
    assert_memory_equal(index, wanted, sizeof wanted);
    assert_memory_equal(value, values, sizeof values);
    static const unsigned char dropped[] = {0, 0, 0, 0, 1};
    assert_done(parley_spark_vectors(rows.word, rows.ends, 3, 5, dropped, 0, lengths, index, value, &entries, &error),
                &error);
    assert_true(entries == 3 && lengths[0] == 1 && lengths[1] == 2 && index[0] == 0 && index[1] == 1 && index[2] == 3);
}

static void assert_fault(const rows *rows, const char *sentence) {
    int64_t lengths[8];
    uint32_t index[MOST_WORDS];
    double value[MOST_WORDS];
    uint64_t entries;
    parley_error error;
    assert_int_equal(
        parley_spark_vectors(rows->word, rows->ends, rows->count, 5, NULL, 10, lengths, index, value, &entries, &error),
        PARLEY_BAD_INPUT);
    assert_non_null(strstr(error.sentence, sentence));
}

static void faults_are_named_with_their_rows(void **state) {
    (void)state;
    static const int32_t high[] = {0, 2, 5};
    static const double wrong[][3] = {{1, NAN, 2}, {1, -INFINITY, 2}};
    rows rows = {.count = 0};
    add(&rows, 5, 3, ids, numbers);
    struct rows more = rows;
    add(&more, 6, 3, ids, numbers);
    assert_fault(&more, "row 12 of the partition: its vector has 6 features, and others have 5");
    for (unsigned i = 0; i < 2; i++) {
        more = rows;
        add(&more, 5, 3, ids, wrong[i]);
        assert_fault(&more, "row 12 of the partition: a feature is NaN or infinite");
    }
    more = rows;
    add(&more, 5, 3, high, numbers);
    assert_fault(&more, "row 12 of the partition: its vector has an index that is not below its size");
}

/* No byte beyond a row is read, whatever its words say. */
static void broken_rows_are_refused(void **state) {
    (void)state;
    rows whole = {.count = 0};
    add(&whole, 5, 3, ids, numbers);
    static const uint64_t bad[] = {(uint64_t)1 << 40, UINT64_MAX, UINT64_MAX - 7, (uint64_t)100 << 32};
    for (unsigned word = 3; word < 6; word++)
        for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
            rows rows = whole;
            rows.word[word] = bad[i];
            assert_fault(&rows, "row 11 of the partition: it is not a vector of Spark");
        }
    for (int32_t end = 0; end < whole.ends[1]; end += 8) {
        rows rows = whole;
        rows.ends[1] = end;
        assert_fault(&rows, "it is not a vector of Spark");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_those_of_the_vectors),
        cmocka_unit_test(faults_are_named_with_their_rows),
        cmocka_unit_test(broken_rows_are_refused),
    };
    return cmocka_run_group_tests_name("spark_vectors", tests, NULL, NULL);
}
