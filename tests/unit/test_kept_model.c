/* test_kept_model.c: models that are kept, with few and with many values that are not 0. */
#include <stdlib.h>
#include <string.h>

#include "linear/path/kept_model.h"
#include "support.h"

#define SIZE 60

static void every_part_is_as_it_was(void **state) {
    (void)state;
    static const unsigned steps[] = {1, 2, 3, 7, SIZE, 2 * SIZE};
    for (unsigned s = 0; s < COUNT(steps); s++) {
        double values[SIZE] = {0}, out[SIZE];
        pl_kept_model kept;
        for (unsigned j = steps[s] / 2; j < SIZE; j += steps[s])
            values[j] = j + 1.0;
        assert_int_equal(pl_kept_open(&kept, values, SIZE, NULL), PARLEY_OK);
        assert_int_equal(kept.index == NULL, steps[s] < 3); /* lists are for models with few values */
        for (unsigned begin = 0; begin <= SIZE; begin++)
            for (unsigned count = 0; begin + count <= SIZE; count += 5) {
                memset(out, 1, sizeof out);
                pl_kept_copy(&kept, begin, count, out);
                assert_memory_equal(out, values + begin, count * sizeof *out);
            }
        pl_kept_close(&kept);
    }
}

static void a_model_without_values_can_be_kept(void **state) {
    (void)state;
    pl_kept_model kept;
    assert_int_equal(pl_kept_open(&kept, NULL, 0, NULL), PARLEY_OK);
    pl_kept_copy(&kept, 0, 0, NULL);
    pl_kept_close(&kept);
}

static void lost_memory_has_its_sentence(void **state) {
    (void)state;
    double values[SIZE] = {[5] = 1};
    for (int64_t n = 0; n < 2; n++) {
        pl_kept_model kept;
        parley_error error = {0};
        pl_memory_fail_after(n);
        parley_status status = pl_kept_open(&kept, values, SIZE, &error);
        pl_memory_fail_after(-1);
        assert_int_equal(status, PARLEY_NO_MEMORY);
        assert_non_null(strstr(error.sentence, "out of memory: "));
        assert_null(kept.value);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_is_as_it_was),
        cmocka_unit_test(a_model_without_values_can_be_kept),
        cmocka_unit_test(lost_memory_has_its_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
