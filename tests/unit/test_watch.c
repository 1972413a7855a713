/* test_watch.c: the watch, with ranks of one process that each have their own watch, on loopback. */
#include "engine/watch.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "support.h"

#define MOST 4
#define STRANGERS 100

typedef struct circle {
    unsigned ranks;
    double deadline;
    char address[PL_WATCH_ADDRESS];
    pl_watch *watch[MOST];
} circle;

static void *gather(void *argument) {
    circle *circle = argument;
    parley_error error;
    assert_done(pl_watch_gather(circle->watch[0], &error), &error);
    return NULL;
}

typedef struct joining_rank {
    circle *circle;
    unsigned rank;
} joining_rank;

/* Returns when all have joined. */
static void *join_circle(void *argument) {
    const joining_rank *joining = argument;
    circle *circle = joining->circle;
    parley_error error;
    assert_done(pl_watch_join(&circle->watch[joining->rank], joining->rank, circle->ranks, circle->deadline,
                              circle->address, &error),
                &error);
    return NULL;
}

static void open_circle(circle *circle, unsigned ranks, double deadline) {
    parley_error error;
    pthread_t thread, threads[MOST];
    joining_rank joining[MOST];
    circle->ranks = ranks;
    circle->deadline = deadline;
    assert_done(pl_watch_listen(&circle->watch[0], ranks, true, deadline, circle->address, &error), &error);
    assert_int_equal(pthread_create(&thread, NULL, gather, circle), 0);
    for (unsigned r = 1; r < ranks; r++) {
        joining[r] = (joining_rank){circle, r};
        assert_int_equal(pthread_create(&threads[r], NULL, join_circle, &joining[r]), 0);
    }
    for (unsigned r = 1; r < ranks; r++)
        pthread_join(threads[r], NULL);
    pthread_join(thread, NULL);
}

static void close_circle(circle *circle) {
    for (unsigned r = 0; r < circle->ranks; r++)
        pl_watch_close(circle->watch[r]);
}

/* Waits for the cause that a rank receives. */
static void expect_cause(pl_watch *watch, const char *words, unsigned speaker) {
    parley_error cause = {0};
    for (double end = pl_now() + 20; pl_now() < end && !pl_watch_failed(watch, &cause);)
        pl_sleep(0.005);
    if (!strstr(cause.sentence, words))
        fail_msg("%s, not %s", cause.sentence, words);
    assert_int_equal(pl_watch_speaker(watch), speaker);
}

static void ranks_that_leave_in_good_order_are_not_missed(void **state) {
    circle circle = {0};
    parley_error error;
    (void)state;
    open_circle(&circle, 3, 0.5);
    pl_watch_close(circle.watch[2]);
    circle.watch[2] = NULL;
    pl_sleep(1.0); /* twice the deadline */
    assert_false(pl_watch_failed(circle.watch[0], &error));
    assert_false(pl_watch_failed(circle.watch[1], &error));
    close_circle(&circle);
}

static void the_first_failure_is_what_all_are_told(void **state) {
    circle circle = {0};
    parley_error first = {PARLEY_BAD_INPUT, "data.svm:7: no such label"}, second = {PARLEY_BROKEN, "something else"};
    (void)state;
    open_circle(&circle, 4, 30);
    pl_watch_fail(circle.watch[2], &first);
    pl_watch_fail(circle.watch[1], &second);
    for (unsigned r = 0; r < 4; r++)
        expect_cause(circle.watch[r], "data.svm:7: no such label", 0);
    close_circle(&circle);
}

/* 3 waits for 1, which waits for 2, which does not wait. */
static void who_keeps_all_waiting_is_named(void **state) {
    circle circle = {0};
    (void)state;
    open_circle(&circle, 4, 2);
    pl_watch_waits(circle.watch[3], 1);
    pl_watch_waits(circle.watch[1], 2);
    pl_sleep(0.6); /* longer than a heartbeat */
    pl_watch_late(circle.watch[3], 1);
    for (unsigned r = 0; r < 4; r++)
        expect_cause(circle.watch[r], "rank 2 on ", 0);
    close_circle(&circle);
}

static void strangers_are_turned_away(void **state) {
    circle circle = {.ranks = 2, .deadline = 30};
    char wrong[PL_WATCH_ADDRESS];
    parley_error error;
    pthread_t thread;
    pl_watch *stranger;
    (void)state;
    assert_done(pl_watch_listen(&circle.watch[0], 2, true, 30, circle.address, &error), &error);
    assert_int_equal(pthread_create(&thread, NULL, gather, &circle), 0);
    snprintf(wrong, sizeof wrong, "%s", circle.address);
    char *secret = strchr(wrong, ' ') + 1;
    *secret = *secret == '0' ? '1' : '0';
    assert_int_equal(pl_watch_join(&stranger, 1, 2, 30, wrong, &error), PARLEY_NO_PEER);
    assert_null(stranger);
    assert_non_null(strstr(error.sentence, "rank 0 on "));
    assert_done(pl_watch_join(&circle.watch[1], 1, 2, 30, circle.address, &error), &error);
    pthread_join(thread, NULL);
    close_circle(&circle);
}

/* Strangers that connect and say nothing are there before the ranks, which must not wait for them. */
static void silent_strangers_do_not_delay_the_ranks(void **state) {
    circle circle = {.ranks = 2, .deadline = 30};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char host[PL_WATCH_HOST], token[64];
    unsigned port;
    int strangers[STRANGERS];
    parley_error error;
    pthread_t thread;
    (void)state;
    assert_done(pl_watch_listen(&circle.watch[0], 2, true, 30, circle.address, &error), &error);
    assert_int_equal(sscanf(circle.address, "%63s %63s %u", host, token, &port), 3);
    at.sin_port = htons((uint16_t)port);
    for (unsigned i = 0; i < STRANGERS; i++) {
        strangers[i] = socket(AF_INET, SOCK_STREAM, 0);
        assert_int_equal(connect(strangers[i], (struct sockaddr *)&at, sizeof at), 0);
    }
    double began = pl_now();
    assert_int_equal(pthread_create(&thread, NULL, gather, &circle), 0);
    assert_done(pl_watch_join(&circle.watch[1], 1, 2, 30, circle.address, &error), &error);
    pthread_join(thread, NULL);
    assert_true(pl_now() - began < 5); /* one stranger after the other would take at least 200 s */
    for (unsigned i = 0; i < STRANGERS; i++)
        close(strangers[i]);
    close_circle(&circle);
}

static void an_address_that_makes_no_sense_is_refused(void **state) {
    pl_watch *watch;
    parley_error error;
    (void)state;
    assert_int_equal(pl_watch_join(&watch, 1, 2, 1, "nonsense", &error), PARLEY_BROKEN);
    assert_null(watch);
    assert_int_equal(pl_watch_join(&watch, 1, 2, 1, "elsewhere 00112233445566778899aabbccddeeff 1 127.0.0.1", &error),
                     PARLEY_NO_PEER);
    assert_non_null(strstr(error.sentence, "cannot connect to rank 0 on elsewhere"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_that_leave_in_good_order_are_not_missed),
        cmocka_unit_test(the_first_failure_is_what_all_are_told),
        cmocka_unit_test(who_keeps_all_waiting_is_named),
        cmocka_unit_test(strangers_are_turned_away),
        cmocka_unit_test(silent_strangers_do_not_delay_the_ranks),
        cmocka_unit_test(an_address_that_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
