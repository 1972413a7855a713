/* test_student.c: Student's t distribution against scipy 1.17.1: 2 * scipy.stats.t.sf(t, n) and scipy.stats.t.isf(p /
 * 2, n). */
#include <math.h>

#include "math/student.h"
#include "support.h"

static void tails_are_those_of_the_tables(void **state) {
    (void)state;
    assert_close(pl_student_tails(0.0, 3.0), 1.0, 1e-15);
    assert_close(pl_student_tails(1.0, 1.0), 0.5, 1e-14);
    assert_close(pl_student_tails(-2.0, 5.0), 0.10193947882985835, 1e-14);
    assert_close(pl_student_tails(sqrt(2.0), 2.0), 1.0 - sqrt(0.5), 1e-14);
    assert_close(pl_student_tails(1.959963984540054, INFINITY), 0.05, 1e-14);
    assert_close(pl_student_tails(1.959963984540054, 1e7), 0.05, 1e-6);
    assert_true(pl_student_tails(INFINITY, 4.0) == 0.0 && isnan(pl_student_tails(NAN, 4.0)));
}

static void points_invert_tails(void **state) {
    (void)state;
    const double degrees[] = {0.5, 1.0, 2.0, 9.7, 431.0, 1e6, INFINITY}, tails[] = {0.9, 0.5, 0.05, 1e-6};
    for (unsigned d = 0; d < COUNT(degrees); d++)
        for (unsigned p = 0; p < COUNT(tails); p++)
            assert_close(pl_student_tails(pl_student_point(tails[p], degrees[d]), degrees[d]) / tails[p], 1.0, 1e-9);
    assert_close(pl_student_point(0.05, INFINITY), 1.959963984540054, 1e-13);
    assert_close(pl_student_point(0.05, 10.0), 2.2281388519862753, 1e-12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tails_are_those_of_the_tables),
        cmocka_unit_test(points_invert_tails),
    };
    return cmocka_run_group_tests_name("student", tests, NULL, NULL);
}
