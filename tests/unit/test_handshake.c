/* test_handshake.c: a listener and what strangers do to it, on loopback. */
#include "engine/handshake.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "support.h"

#define RANKS 4
#define FLOOD 300

static pl_listener *open_listener(pl_secret secrets[RANKS]) {
    pl_listener *listener;
    parley_error error;
    for (unsigned r = 0; r < RANKS; r++)
        assert_done(pl_secret_make(&secrets[r], &error), &error);
    assert_done(pl_listener_open(&listener, RANKS, true, secrets, RANKS, &error), &error);
    return listener;
}

static int stranger(const pl_listener *listener, const void *data, size_t bytes) {
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)pl_listener_port(listener)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int made = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(made, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(send(made, data, bytes, MSG_NOSIGNAL), bytes);
    return made;
}

/* Serves the listener until a rank is accepted or the time is over. */
static int serve(pl_listener *listener, double seconds, unsigned *rank) {
    struct pollfd polled[PL_LISTENER_POLLED];
    int found = -1;
    for (double end = pl_now() + seconds; found < 0 && pl_now() < end;) {
        poll(polled, pl_listener_poll(listener, polled), 10);
        found = pl_listener_accept(listener, rank);
    }
    return found;
}

static int join(const pl_listener *listener, const pl_secret *secret, unsigned rank) {
    return pl_handshake_connect("127.0.0.1", pl_listener_port(listener), secret, rank, pl_now() + 5);
}

static void a_secret_survives_printing(void **state) {
    pl_secret secret, again;
    char text[PL_SECRET_TEXT];
    parley_error error;
    (void)state;
    assert_done(pl_secret_make(&secret, &error), &error);
    pl_secret_print(&secret, text);
    assert_true(pl_secret_parse(text, &again));
    assert_memory_equal(&secret, &again, sizeof secret);
    assert_false(pl_secret_parse("", &again));
    assert_false(pl_secret_parse("0011", &again));
    assert_false(pl_secret_parse("00112233445566778899aabbccddeefg", &again));
    assert_false(pl_secret_parse("00112233445566778899aabbccddeeff0", &again));
}

static void a_rank_with_its_secret_is_accepted_once(void **state) {
    pl_secret secrets[RANKS];
    pl_listener *listener = open_listener(secrets);
    unsigned rank = RANKS;
    (void)state;
    int first = join(listener, &secrets[2], 2), accepted = serve(listener, 5, &rank);
    assert_true(first >= 0 && accepted >= 0);
    assert_int_equal(rank, 2);
    assert_true(pl_handshake_accepted(first, pl_now() + 5));
    int second = join(listener, &secrets[2], 2);
    assert_int_equal(serve(listener, 0.3, &rank), -1);
    assert_false(pl_handshake_accepted(second, pl_now() + 5));
    int sockets[] = {first, accepted, second};
    for (unsigned i = 0; i < 3; i++)
        close(sockets[i]);
    pl_listener_close(listener);
}

static void wrong_secrets_and_ranks_are_refused(void **state) {
    pl_secret secrets[RANKS];
    pl_listener *listener = open_listener(secrets);
    char garbage[64];
    unsigned rank;
    (void)state;
    memset(garbage, 'x', sizeof garbage);
    int sockets[] = {join(listener, &secrets[1], 2), join(listener, &secrets[0], RANKS),
                     join(listener, &secrets[0], ~0u), stranger(listener, garbage, sizeof garbage)};
    assert_int_equal(serve(listener, 0.3, &rank), -1);
    for (unsigned i = 0; i < 4; i++) {
        assert_false(pl_handshake_accepted(sockets[i], pl_now() + 5));
        close(sockets[i]);
    }
    pl_listener_close(listener);
}

static void a_secret_may_arrive_in_parts(void **state) {
    pl_secret secrets[RANKS];
    pl_listener *listener = open_listener(secrets);
    unsigned char hello[32] = "parley 1";
    unsigned rank;
    (void)state;
    memcpy(hello + 8, &secrets[3], sizeof secrets[3]);
    hello[24] = 3;
    int slow = stranger(listener, hello, 10);
    assert_int_equal(serve(listener, 0.1, &rank), -1);
    assert_int_equal(send(slow, hello + 10, 22, MSG_NOSIGNAL), 22);
    int accepted = serve(listener, 5, &rank);
    assert_true(accepted >= 0);
    assert_int_equal(rank, 3);
    close(slow);
    close(accepted);
    pl_listener_close(listener);
}

/* A flood of silent connections neither delays a rank nor takes more than a bounded number of descriptors. */
static void strangers_that_say_nothing_cost_nothing(void **state) {
    pl_secret secrets[RANKS];
    pl_listener *listener = open_listener(secrets);
    struct pollfd polled[PL_LISTENER_POLLED];
    int strangers[FLOOD];
    unsigned rank;
    (void)state;
    for (unsigned i = 0; i < FLOOD; i++)
        strangers[i] = stranger(listener, "p", 1);
    double began = pl_now();
    int own = join(listener, &secrets[1], 1), accepted = serve(listener, 5, &rank);
    assert_true(accepted >= 0 && pl_now() - began < 2);
    assert_true(pl_listener_poll(listener, polled) <= PL_LISTENER_POLLED);
    assert_int_equal(serve(listener, 2.5, &rank), -1); /* the time of all strangers passes */
    assert_int_equal(pl_listener_poll(listener, polled), 1);
    for (unsigned i = 0; i < FLOOD; i++)
        close(strangers[i]);
    close(own);
    close(accepted);
    pl_listener_close(listener);
}

static void a_port_without_an_answer_is_given_up(void **state) {
    pl_secret secrets[RANKS];
    pl_listener *listener = open_listener(secrets);
    (void)state;
    int own = join(listener, &secrets[1], 1);
    double began = pl_now();
    assert_false(pl_handshake_accepted(own, began + 0.2));
    assert_true(pl_now() - began < 5);
    close(own);
    pl_listener_close(listener);
    assert_int_equal(pl_handshake_connect("127.0.0.1", 1, &secrets[1], 1, pl_now() + 1), -1);
    assert_int_equal(pl_handshake_connect("", 1, &secrets[1], 1, pl_now() + 1), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_secret_survives_printing),
        cmocka_unit_test(a_rank_with_its_secret_is_accepted_once),
        cmocka_unit_test(wrong_secrets_and_ranks_are_refused),
        cmocka_unit_test(a_secret_may_arrive_in_parts),
        cmocka_unit_test(strangers_that_say_nothing_cost_nothing),
        cmocka_unit_test(a_port_without_an_answer_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
