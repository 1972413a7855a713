/* test_lock.c: locks of files and folders within one process; tests/fault/test_outputs.py has two. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/memory.h"
#include "base/paths.h"
#include "support.h"

static char folder[PL_PATH], path[PL_PATH + 16], lock_path[PL_PATH + 32];

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/parley-lock-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/model", folder);
    snprintf(lock_path, sizeof lock_path, "%s.lock", path);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(path);
    unlink(lock_path);
    return rmdir(folder);
}

static void second_owner_is_refused_until_the_first_is_done(void **state) {
    (void)state;
    parley_error error;
    pl_lock *first, *second;
    char process[64];
    snprintf(process, sizeof process, "in use by process %ld on ", (long)getpid());
    assert_int_equal(pl_lock_take(path, "", 0, &first, &error), PARLEY_OK);
    assert_int_equal(access(lock_path, F_OK), 0);
    assert_int_equal(pl_lock_take(path, "", 0, &second, &error), PARLEY_NO_FILE);
    assert_null(second);
    assert_non_null(strstr(error.sentence, process));
    assert_int_equal(pl_lock_look(path, "", &error), PARLEY_NO_FILE);
    assert_non_null(strstr(error.sentence, process));
    pl_lock_free(first);
    assert_int_not_equal(access(lock_path, F_OK), 0);
    assert_int_equal(pl_lock_look(path, "", &error), PARLEY_OK);
    assert_int_equal(pl_lock_take(path, "", 0, &second, &error), PARLEY_OK);
    pl_lock_free(second);
}

static void links_lead_to_the_same_lock(void **state) {
    (void)state;
    parley_error error;
    pl_lock *first, *second;
    char link[PL_PATH + 16];
    snprintf(link, sizeof link, "%s/link", folder);
    assert_int_equal(symlink("model", link), 0);
    assert_int_equal(pl_lock_take(path, "", 0, &first, &error), PARLEY_OK);
    assert_int_equal(pl_lock_take(link, "", 0, &second, &error), PARLEY_NO_FILE);
    pl_lock_free(first);
    unlink(link);
}

static void later_attempt_waits_for_the_earlier_one(void **state) {
    (void)state;
    parley_error error;
    pl_lock *first, *second;
    assert_int_equal(pl_lock_take(path, "job/0", 0, &first, &error), PARLEY_OK);
    assert_int_equal(pl_lock_look(path, "job/1", &error), PARLEY_OK);
    assert_int_equal(pl_lock_take(path, "job/1", 0.3, &second, &error), PARLEY_NO_FILE); /* it does not end */
    assert_int_equal(pl_lock_look(path, "job/0", &error), PARLEY_NO_FILE);
    assert_int_equal(pl_lock_look(path, "jobs/1", &error), PARLEY_NO_FILE);
    pl_lock_free(first);
}

static void folders_have_their_lock_inside(void **state) {
    (void)state;
    parley_error error;
    pl_lock *lock;
    char inside[PL_PATH + 16];
    snprintf(inside, sizeof inside, "%s/parley.lock", folder);
    assert_int_equal(pl_lock_take(folder, "", 0, &lock, &error), PARLEY_OK);
    assert_int_equal(access(inside, F_OK), 0);
    pl_lock_free(lock);
    assert_int_not_equal(access(inside, F_OK), 0);
}

static void devices_and_streams_have_no_lock(void **state) {
    (void)state;
    static const char *const paths[] = {"", "-", "/dev/null"};
    parley_error error;
    pl_lock *lock;
    for (unsigned i = 0; i < sizeof paths / sizeof *paths; i++) {
        assert_int_equal(pl_lock_take(paths[i], "", 0, &lock, &error), PARLEY_OK);
        assert_null(lock);
        assert_int_equal(pl_lock_look(paths[i], "", &error), PARLEY_OK);
    }
    pl_lock_free(NULL);
}

static void failed_allocation_leaves_no_lock(void **state) {
    (void)state;
    parley_error error;
    pl_lock *lock;
    pl_memory_fail_after(0);
    assert_int_equal(pl_lock_take(path, "", 0, &lock, &error), PARLEY_NO_MEMORY);
    pl_memory_fail_after(-1);
    assert_null(lock);
    assert_int_not_equal(access(lock_path, F_OK), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(second_owner_is_refused_until_the_first_is_done),
        cmocka_unit_test(links_lead_to_the_same_lock),
        cmocka_unit_test(later_attempt_waits_for_the_earlier_one),
        cmocka_unit_test(folders_have_their_lock_inside),
        cmocka_unit_test(devices_and_streams_have_no_lock),
        cmocka_unit_test(failed_allocation_leaves_no_lock),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
