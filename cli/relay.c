/* relay.c: the guard's side of the connection. No call waits once it is open. */
#define _GNU_SOURCE /* F_DUPFD_CLOEXEC */
#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/handshake.h"

#define OPEN_SECONDS 10.0
#define MOST_HOST 256

/* Bytes on the way in one direction. */
typedef struct direction {
    int from, to; /* -1: closed */
    unsigned held;
    char bytes[4096];
} direction;

static int line = -1;   /* what was standard input */
static int server = -1; /* the launcher's port; the rank keeps it open too, which shows that it lives */
static int rank_ends[2] = {-1, -1};
static direction to_server, to_rank;
static double heard;

/* Reads the first line of standard input: the secret. */
static bool read_secret(pl_secret *secret) {
    char text[PL_SECRET_TEXT];
    unsigned got = 0;
    for (double until = pl_now() + OPEN_SECONDS; pl_now() < until && got < sizeof text;) {
        struct pollfd polled = {line, POLLIN, 0};
        if (poll(&polled, 1, 100) > 0 && read(line, text + got, 1) != 1)
            return false;
        if (polled.revents && text[got++] == '\n') {
            text[got - 1] = '\0';
            return pl_secret_parse(text, secret);
        }
    }
    return false;
}

/* Moves standard input to `line`, so that the rank does not read it. */
static bool take_input(void) {
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    line = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    bool done = line >= 0 && nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0;
    if (nothing >= 0)
        close(nothing);
    return done;
}

parley_status relay_open(const char *from, unsigned rank, parley_error *error) {
    char host[MOST_HOST];
    pl_secret secret;
    const char *colon = strrchr(from, ':');
    int port = colon ? atoi(colon + 1) : 0;
    if (port <= 0 || colon - from >= MOST_HOST)
        return pl_fail(error, PARLEY_BAD_USAGE, "PARLEY_FROM=%.60s is not an address and a port", from);
    snprintf(host, sizeof host, "%.*s", (int)(colon - from), from);
    if (!take_input() || !read_secret(&secret))
        return pl_fail(error, PARLEY_NO_PEER, "parley launch did not send a secret on standard input");
    server = pl_handshake_connect(host, (unsigned)port, &secret, rank, pl_now() + OPEN_SECONDS);
    if (server < 0 || !pl_handshake_accepted(server, pl_now() + OPEN_SECONDS))
        return pl_fail(error, PARLEY_NO_PEER,
                       "cannot connect to parley launch at %s: is there a firewall? --address names another address",
                       from);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, rank_ends) != 0)
        return pl_fail_file(error, "a connection to the rank", "open");
    to_server = (direction){.from = rank_ends[0], .to = server};
    to_rank = (direction){.from = server, .to = rank_ends[0]};
    heard = pl_now();
    return PARLEY_OK;
}

int relay_rank_end(void) { return rank_ends[1]; }

void relay_close_in_rank(void) {
    if (line < 0)
        return;
    close(line);
    close(rank_ends[0]);
}

unsigned relay_poll(struct pollfd polled[RELAY_POLLED]) {
    if (line < 0)
        return 0;
    polled[0] = (struct pollfd){line, POLLIN, 0};
    polled[1] = (struct pollfd){
        to_server.from,
        (short)((to_server.held < sizeof to_server.bytes ? POLLIN : 0) | (to_rank.held > 0 ? POLLOUT : 0)), 0};
    polled[2] = (struct pollfd){
        to_rank.from, (short)((to_rank.held < sizeof to_rank.bytes ? POLLIN : 0) | (to_server.held > 0 ? POLLOUT : 0)),
        0};
    return RELAY_POLLED;
}

static bool would_wait(void) { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

/* Returns false if the sender has closed. */
static bool move(direction *self) {
    bool open = true;
    if (self->from >= 0 && self->held < sizeof self->bytes) {
        ssize_t got = recv(self->from, self->bytes + self->held, sizeof self->bytes - self->held, MSG_DONTWAIT);
        open = got > 0 || (got < 0 && would_wait());
        self->held += got > 0 ? (unsigned)got : 0;
    }
    ssize_t sent =
        self->held > 0 && self->to >= 0 ? send(self->to, self->bytes, self->held, MSG_DONTWAIT | MSG_NOSIGNAL) : 0;
    if (self->to < 0 || (sent < 0 && !would_wait()))
        sent = self->held; /* nobody will read it */
    if (sent > 0) {
        self->held -= (unsigned)sent;
        memmove(self->bytes, self->bytes + sent, self->held);
    }
    return open;
}

/* The line must not become non-blocking, because sshd may have connected standard output to the same socket. */
static bool read_line(double now, int *number) {
    char words[64];
    struct pollfd polled = {line, POLLIN, 0};
    if (poll(&polled, 1, 0) <= 0)
        return true;
    ssize_t got = read(line, words, sizeof words);
    if (got <= 0)
        return got < 0 && would_wait();
    heard = now;
    for (ssize_t i = 0; i < got; i++)
        switch (words[i]) {
        case 'I': *number = SIGINT; break;
        case 'T': *number = SIGTERM; break;
        case 'H': *number = SIGHUP; break;
        default: break;
        }
    return true;
}

bool relay_forward(double deadline, int *number) {
    double now = pl_now();
    if (line < 0)
        return true;
    if (!read_line(now, number) || !move(&to_rank) || now - heard > deadline)
        return false;
    if ((to_server.from >= 0 || to_server.held > 0) && !move(&to_server)) { /* the rank has left MPI */
        close(to_server.from);
        to_server.from = to_rank.to = -1;
    }
    return true;
}
