/* handshake.c: the one who connects sends 32 bytes: 8 that name the protocol, the secret, its rank (little-endian) and
 * 4 zeros. The listener answers with one byte, or closes. It keeps a bounded number of unfinished connections, each for
 * a bounded time, and closes the oldest of them if there are too many. */
#define _GNU_SOURCE /* accept4 */
#include "engine/handshake.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"

#define PENDING (PL_LISTENER_POLLED - 1)
#define HELLO_SECONDS 2.0 /* time for a connection to send the secret */
#define ACCEPTED 'y'

static const unsigned char protocol[8] = {'p', 'a', 'r', 'l', 'e', 'y', ' ', '1'};

/* A connection that has not sent everything yet. */
typedef struct pending {
    int socket; /* -1 if this place is free */
    unsigned got;
    double since;
    unsigned char hello[PL_HELLO];
} pending;

struct pl_listener {
    int socket;
    unsigned port;
    pl_awaited awaited;
    pending pending[PENDING];
};

parley_status pl_secret_make(pl_secret *secret, parley_error *error) {
    if (getrandom(secret->bytes, sizeof secret->bytes, 0) != sizeof secret->bytes)
        return pl_fail(error, PARLEY_BROKEN, "the operating system gives no random numbers: %s", strerror(errno));
    return PARLEY_OK;
}

void pl_secret_print(const pl_secret *secret, char text[PL_SECRET_TEXT]) {
    for (unsigned i = 0; i < sizeof secret->bytes; i++)
        snprintf(text + 2 * (size_t)i, 3, "%02x", secret->bytes[i]);
}

bool pl_secret_parse(const char *text, pl_secret *secret) {
    static const char digits[] = "0123456789abcdef";
    if (strlen(text) != 2 * sizeof secret->bytes || strspn(text, digits) != 2 * sizeof secret->bytes)
        return false;
    for (unsigned i = 0; i < sizeof secret->bytes; i++)
        secret->bytes[i] =
            (unsigned char)(16 * (strchr(digits, text[2 * i]) - digits) + (strchr(digits, text[2 * i + 1]) - digits));
    return true;
}

void pl_hello_write(unsigned char hello[PL_HELLO], const pl_secret *secret, unsigned rank) {
    memset(hello, 0, PL_HELLO);
    memcpy(hello, protocol, sizeof protocol);
    memcpy(hello + 8, secret->bytes, sizeof secret->bytes);
    for (unsigned i = 0; i < 4; i++)
        hello[24 + i] = (unsigned char)(rank >> (8 * i));
}

/* Compares in the same time wherever the bytes differ, so that a secret cannot be guessed byte by byte. */
static bool same(const unsigned char *a, const unsigned char *b, unsigned bytes) {
    volatile unsigned char different = 0;
    for (unsigned i = 0; i < bytes; i++)
        different |= a[i] ^ b[i];
    return different == 0;
}

bool pl_hello_read(const unsigned char hello[PL_HELLO], const pl_awaited *awaited, unsigned *rank) {
    unsigned char expected[PL_HELLO];
    *rank = 0;
    for (unsigned i = 0; i < 4; i++)
        *rank |= (unsigned)hello[24 + i] << (8 * i);
    if (*rank >= awaited->ranks || awaited->taken[*rank])
        return false;
    pl_hello_write(expected, &awaited->secrets[*rank % awaited->secrets_count], *rank);
    return same(hello, expected, PL_HELLO);
}

static bool ready(int socket, short what, double until) {
    struct pollfd polled = {socket, what, 0};
    double left = until - pl_now();
    return left > 0 && poll(&polled, 1, (int)(1e3 * left) + 1) > 0;
}

parley_status pl_listener_open(pl_listener **out, unsigned ranks, bool here, const pl_secret *secrets, unsigned count,
                               parley_error *error) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(here ? INADDR_LOOPBACK : INADDR_ANY)};
    socklen_t size = sizeof at;
    pl_listener *new;
    *out = NULL;
    parley_status status = pl_take(&new, 1, sizeof *new, "a port", error);
    if (status != PARLEY_OK)
        return status;
    *new = (pl_listener){.socket = -1, .awaited = {.ranks = ranks, .secrets_count = count}};
    for (unsigned i = 0; i < PENDING; i++)
        new->pending[i].socket = -1;
    status = pl_take(&new->awaited.secrets, count, sizeof *secrets, "a port", error);
    if (status == PARLEY_OK)
        status = pl_take(&new->awaited.taken, ranks, sizeof *new->awaited.taken, "a port", error);
    if (status == PARLEY_OK)
        memcpy(new->awaited.secrets, secrets, count * sizeof *secrets);
    if (status == PARLEY_OK &&
        ((new->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) < 0 ||
         bind(new->socket, (struct sockaddr *)&at, sizeof at) != 0 || listen(new->socket, SOMAXCONN) != 0 ||
         getsockname(new->socket, (struct sockaddr *)&at, &size) != 0))
        status = pl_fail(error, PARLEY_NO_PEER, "cannot listen for the other ranks: %s", strerror(errno));
    if (status != PARLEY_OK) {
        pl_listener_close(new);
        return status;
    }
    new->port = ntohs(at.sin_port);
    *out = new;
    return PARLEY_OK;
}

unsigned pl_listener_port(const pl_listener *listener) { return listener->port; }

unsigned pl_listener_poll(const pl_listener *listener, struct pollfd polled[PL_LISTENER_POLLED]) {
    unsigned count = 0;
    polled[count++] = (struct pollfd){listener->socket, POLLIN, 0};
    for (unsigned i = 0; i < PENDING; i++)
        if (listener->pending[i].socket >= 0)
            polled[count++] = (struct pollfd){listener->pending[i].socket, POLLIN, 0};
    return count;
}

static void drop(pending *pending) {
    if (pending->socket >= 0)
        close(pending->socket);
    pending->socket = -1;
}

/* A free place, or that of the connection that has been unfinished for longest. */
static pending *find_place(pl_listener *listener) {
    pending *oldest = &listener->pending[0];
    for (unsigned i = 0; i < PENDING; i++) {
        pending *at = &listener->pending[i];
        if (at->socket < 0)
            return at;
        if (at->since < oldest->since)
            oldest = at;
    }
    drop(oldest);
    return oldest;
}

/* Reads what has arrived. Returns 1 if the rank is accepted, 0 if more must come, -1 if the connection is refused. */
static int read_hello(pl_listener *listener, pending *pending, unsigned *rank) {
    ssize_t got = recv(pending->socket, pending->hello + pending->got, PL_HELLO - pending->got, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return pl_now() - pending->since > HELLO_SECONDS ? -1 : 0;
    if (got <= 0)
        return -1;
    pending->got += (unsigned)got;
    if (pending->got < PL_HELLO)
        return 0;
    return pl_hello_read(pending->hello, &listener->awaited, rank) ? 1 : -1;
}

int pl_listener_accept(pl_listener *listener, unsigned *rank) {
    int yes = 1, made;
    for (unsigned i = 0; i < PENDING; i++) { /* no more at a time, so that others are heard during a flood */
        made = accept4(listener->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (made < 0)
            break;
        *find_place(listener) = (pending){.socket = made, .since = pl_now()};
    }
    for (unsigned i = 0; i < PENDING; i++) {
        pending *at = &listener->pending[i];
        int verdict = at->socket < 0 ? 0 : read_hello(listener, at, rank);
        if (verdict < 0)
            drop(at);
        if (verdict <= 0)
            continue;
        made = at->socket;
        at->socket = -1;
        if (send(made, (char[]){ACCEPTED}, 1, MSG_DONTWAIT | MSG_NOSIGNAL) != 1) {
            close(made);
            continue;
        }
        setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        listener->awaited.taken[*rank] = true;
        return made;
    }
    return -1;
}

void pl_listener_close(pl_listener *listener) {
    if (!listener)
        return;
    for (unsigned i = 0; i < PENDING; i++)
        drop(&listener->pending[i]);
    if (listener->socket >= 0)
        close(listener->socket);
    pl_free(listener->awaited.secrets);
    pl_free(listener->awaited.taken);
    pl_free(listener);
}

static int connect_within(const struct addrinfo *to, double until) {
    int failure = 0, made = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t size = sizeof failure;
    if (made < 0)
        return -1;
    if (connect(made, to->ai_addr, to->ai_addrlen) == 0 ||
        (errno == EINPROGRESS && ready(made, POLLOUT, until) &&
         getsockopt(made, SOL_SOCKET, SO_ERROR, &failure, &size) == 0 && failure == 0))
        return made;
    close(made);
    return -1;
}

int pl_handshake_connect(const char *host, unsigned port, const pl_secret *secret, unsigned rank, double until) {
    struct addrinfo want = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found = NULL;
    unsigned char hello[PL_HELLO];
    char service[16];
    int yes = 1, made = -1;
    snprintf(service, sizeof service, "%u", port);
    if (getaddrinfo(host, service, &want, &found) != 0)
        return -1;
    for (const struct addrinfo *at = found; at && made < 0; at = at->ai_next)
        made = connect_within(at, until);
    freeaddrinfo(found);
    pl_hello_write(hello, secret, rank);
    if (made >= 0 && send(made, hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello) {
        close(made);
        return -1;
    }
    if (made >= 0)
        setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return made;
}

bool pl_handshake_accepted(int socket, double until) {
    char answer;
    return ready(socket, POLLIN, until) && recv(socket, &answer, 1, MSG_DONTWAIT) == 1 && answer == ACCEPTED;
}
