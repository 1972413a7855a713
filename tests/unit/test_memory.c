/* test_memory.c: memory is zeroed, checked for overflow, and can be made to fail. */
#include <string.h>
#include <sys/resource.h>

#include "base/available_memory.h"
#include "base/memory.h"
#include "support.h"

#define MANY ((uint64_t)1 << 62)

static void memory_is_zeroed(void **state) {
    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        unsigned char *bytes = pl_alloc(i, 7);
        assert_non_null(bytes);
        for (unsigned b = 0; b < 7 * i; b++)
            assert_int_equal(bytes[b], 0);
        memset(bytes, 0xff, 7 * i);
        pl_free(bytes);
    }
    pl_free(NULL);
}

static void sizes_that_overflow_are_refused(void **state) {
    (void)state;
    assert_null(pl_alloc(MANY, 8));
    assert_null(pl_alloc(UINT64_MAX, UINT64_MAX));
    assert_null(pl_alloc(UINT64_MAX, 1));
    assert_null(pl_realloc(NULL, MANY, 8));
    pl_span span = {0};
    assert_false(pl_span_reserve(&span, UINT64_MAX));
    assert_null(span.data);
}

static void realloc_keeps_what_was_there(void **state) {
    (void)state;
    int *numbers = pl_alloc(3, sizeof *numbers);
    for (int i = 0; i < 3; i++)
        numbers[i] = i + 1;
    numbers = pl_realloc(numbers, 1000, sizeof *numbers);
    assert_non_null(numbers);
    assert_true(numbers[0] == 1 && numbers[1] == 2 && numbers[2] == 3);
    pl_free(numbers);
}

static void strdup_copies(void **state) {
    (void)state;
    const char *text = "parley";
    char *copy = pl_strdup(text), *empty = pl_strdup("");
    assert_string_equal(copy, text);
    assert_ptr_not_equal(copy, text);
    assert_string_equal(empty, "");
    pl_free(copy);
    pl_free(empty);
}

static void take_names_what_there_was_no_memory_for(void **state) {
    (void)state;
    double *values = (double *)&state;
    parley_error error = {0};
    pl_memory_fail_after(0);
    assert_int_equal(pl_take(&values, 1000000, sizeof *values, "the model", &error), PARLEY_NO_MEMORY);
    assert_null(values);
    assert_string_equal(error.sentence, "out of memory: 8.0 MB for the model");
    assert_int_equal(pl_take(&values, 4, sizeof *values, "the model", NULL), PARLEY_OK);
    pl_memory_fail_after(-1);
    assert_non_null(values);
    pl_free(values);
}

static void the_chosen_allocation_fails_once(void **state) {
    (void)state;
    pl_memory_fail_after(2);
    void *first = pl_alloc(1, 1), *second = pl_alloc(1, 1), *third = pl_alloc(1, 1), *fourth = pl_alloc(1, 1);
    assert_true(first && second && !third && fourth);
    assert_int_equal(pl_memory_fail_after(-1), 4);
    pl_free(first);
    pl_free(second);
    pl_free(fourth);
    pl_span span = {0};
    pl_memory_fail_after(0);
    assert_false(pl_span_reserve(&span, 10));
    assert_true(pl_span_reserve(&span, 10));
    pl_memory_fail_after(0);
    assert_true(pl_span_reserve(&span, 10)); /* it is large enough, so nothing is allocated */
    assert_int_equal(pl_memory_fail_after(-1), 0);
    pl_span_free(&span);
}

static void spans_grow_and_shrink_and_keep_their_bytes(void **state) {
    (void)state;
    pl_span span = {0};
    for (uint64_t size = 1000; size < 40000000; size *= 7) {
        assert_true(pl_span_reserve(&span, size));
        assert_true(span.bytes >= size);
        ((char *)span.data)[size / 7] = 'x';
        ((char *)span.data)[size - 1] = 'y';
    }
    assert_int_equal(((char *)span.data)[1000 / 7], 'x');
    assert_int_equal(((char *)span.data)[999], 'y');
    pl_span_trim(&span, 1000);
    assert_int_equal(((char *)span.data)[999], 'y');
    assert_true(span.bytes >= 1000 && span.bytes <= 8192);
    pl_span_trim(&span, 100000);
    assert_true(span.bytes <= 8192);
    assert_true(pl_span_reserve(&span, 10000000));
    assert_int_equal(((char *)span.data)[999], 'y');
    pl_span_trim(&span, 0);
    assert_null(span.data);
    pl_span_free(&span);
    pl_span_free(&span);
}

static void peak_memory_is_known(void **state) {
    (void)state;
    pl_span span = {0};
    uint64_t bytes = (uint64_t)64 << 20;
    assert_true(pl_span_reserve(&span, bytes));
    memset(span.data, 1, bytes);
    assert_true(pl_peak_bytes() >= bytes);
    pl_span_free(&span);
}

static void large_requests_need_room(void **state) {
    (void)state;
    parley_error error;
    uint64_t all = pl_available_memory();
    assert_true(all > 0 && all < UINT64_MAX);
    assert_true(pl_memory_has_room(0, PL_LARGE_MEMORY - 1));
    assert_false(pl_memory_has_room(0, all + all / 2));
    assert_null(pl_alloc(all + all / 2, 1));
    pl_span span = {0};
    assert_false(pl_span_reserve(&span, all + all / 2));
    pl_memory_limit(PL_LARGE_MEMORY / 2);
    assert_true(pl_memory_has_room(0, 1000));
    assert_false(pl_memory_has_room(0, PL_LARGE_MEMORY));
    assert_null(pl_alloc(PL_LARGE_MEMORY, 1));
    assert_int_equal(pl_memory_check(PL_LARGE_MEMORY, "the test", "use less", &error), PARLEY_NO_MEMORY);
    assert_non_null(strstr(error.sentence, "out of memory: the test needs about 67 MB, but "));
    assert_non_null(strstr(error.sentence, "use less; or set --memory"));
    pl_memory_limit(0);
    void *memory = pl_alloc(PL_LARGE_MEMORY, 1);
    assert_non_null(memory);
    pl_free(memory);
}

/* The address sanitizer reserves terabytes of addresses, which a limit would take away. */
#if defined __has_feature
#if __has_feature(address_sanitizer)
#define RESERVES_ADDRESSES
#endif
#endif

static void limits_of_the_process_count(void **state) {
    (void)state;
#ifdef RESERVES_ADDRESSES
    skip();
#endif
    struct rlimit limit, before;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    limit = before;
    limit.rlim_cur = (uint64_t)1 << 20; /* less than it has already, so nothing is left */
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    uint64_t left = pl_available_memory();
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(left, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_zeroed),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(realloc_keeps_what_was_there),
        cmocka_unit_test(strdup_copies),
        cmocka_unit_test(take_names_what_there_was_no_memory_for),
        cmocka_unit_test(the_chosen_allocation_fails_once),
        cmocka_unit_test(spans_grow_and_shrink_and_keep_their_bytes),
        cmocka_unit_test(peak_memory_is_known),
        cmocka_unit_test(large_requests_need_room),
        cmocka_unit_test(limits_of_the_process_count),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
