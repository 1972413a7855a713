/* watch.c: a star of TCP connections around rank 0. Frames are short and rare: a heartbeat of each rank about every
 * second, a request to stop, and a sentence after a failure. Rank 0 receives every failure, takes the first one as the
 * cause and sends it to all. If rank 0 itself is lost, the others see their connections close. */
#define _GNU_SOURCE /* getifaddrs, pipe2 */
#include "engine/watch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/stop.h"
#include "engine/handshake.h"

#define MOST_BEAT 1.0 /* most seconds between two heartbeats */
#define STOP_MS 100   /* how often a rank looks whether it was asked to stop */
#define BEATS 8       /* least heartbeats in a deadline */
#define PART_SECONDS 2.0
#define CAUSE_SECONDS 2.0 /* how long rank 0 has to answer with the cause */
#define CONNECT_SECONDS 5.0
#define GATHER_SECONDS 3.5 /* beyond the deadline, so that a stopped rank has been named by then */

typedef enum kind { NAME = 1, BEAT, FAILED, LATE, CAUSE, BYE, STOP } kind;

/* A message of the watch. */
typedef struct frame {
    uint8_t kind, status;
    uint16_t speaker;
    uint32_t rank; /* the rank that is late, or is waited for */
    char text[sizeof((parley_error *)0)->sentence];
} frame;

/* The other end of a connection. */
typedef struct peer {
    int socket; /* -1 if it is gone or was never there */
    unsigned waits;
    double heard;
    uint64_t got; /* bytes received of the current frame */
    bool left;    /* closed normally */
    char host[PL_WATCH_HOST];
    frame frame;
} peer;

struct pl_watch {
    unsigned rank, ranks;
    double deadline, beat;
    bool here; /* all ranks are on this machine */
    pl_secret secret;
    pl_listener *listener; /* until all ranks have joined */
    int wake[2];
    peer *peers; /* rank 0 uses all, the others only that of rank 0 */
    char host[PL_WATCH_HOST];
    pthread_t thread;
    bool running;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool begun;           /* rank 0 has sent a frame, so all ranks are connected */
    bool closing, parted; /* this rank is ending; the speaker has reported */
    atomic_bool failed;
    atomic_uint waits;
    unsigned speaker;
    parley_error cause;
};

static bool is_first(const pl_watch *watch) { return watch->rank == 0; }

/* Frames are smaller than any socket's buffer. If one does not fit, the receiver is not reading. */
static void send_frame(const peer *peer, const frame *frame) {
    if (peer->socket >= 0 && send(peer->socket, frame, sizeof *frame, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        return;
}

static void send_all(const pl_watch *watch, const frame *frame) {
    for (unsigned r = 0; r < (is_first(watch) ? watch->ranks : 1); r++)
        send_frame(&watch->peers[r], frame);
}

/* The mutex is held. */
static void set_cause(pl_watch *watch, const parley_error *cause, unsigned speaker) {
    if (atomic_load(&watch->failed))
        return;
    watch->cause = *cause;
    watch->speaker = speaker;
    atomic_store(&watch->failed, true);
    pthread_cond_broadcast(&watch->changed);
    frame frame = {.kind = CAUSE, .status = (uint8_t)cause->status, .speaker = (uint16_t)speaker};
    snprintf(frame.text, sizeof frame.text, "%s", cause->sentence);
    send_all(watch, &frame); /* also to rank 0, which may wake up again */
}

/* The mutex is held. */
static void lose(pl_watch *watch, unsigned rank, const char *how) {
    parley_error cause;
    pl_fail(&cause, PARLEY_NO_PEER, "rank %u on %s %s", rank, watch->peers[rank].host, how);
    set_cause(watch, &cause, rank == 0 ? 1 : 0);
}

static void lose_silent(pl_watch *watch, unsigned rank) {
    char how[128];
    snprintf(how, sizeof how, "was not heard of for %g seconds: it is stopped or cut off", watch->deadline);
    lose(watch, rank, how);
}

/* A rank that is late may itself be waiting for another one. The rank at the end of that chain is named. */
static void lose_late(pl_watch *watch, unsigned rank) {
    char how[128];
    for (unsigned i = 0; i < watch->ranks; i++) {
        unsigned next = rank == watch->rank ? atomic_load(&watch->waits) : watch->peers[rank].waits;
        if (next == rank || next >= watch->ranks)
            break;
        rank = next;
    }
    snprintf(how, sizeof how, "kept others waiting for %g seconds; --deadline allows more", watch->deadline);
    lose(watch, rank, how);
}

static void read_frame(pl_watch *watch, unsigned from, const frame *frame) {
    parley_error cause = {.status = (parley_status)frame->status};
    memcpy(cause.sentence, frame->text, sizeof cause.sentence);
    cause.sentence[sizeof cause.sentence - 1] = '\0';
    switch (frame->kind) {
    case NAME: snprintf(watch->peers[from].host, PL_WATCH_HOST, "%.*s", PL_WATCH_HOST - 1, cause.sentence); break;
    case BEAT: watch->peers[from].waits = frame->rank; break;
    case FAILED: set_cause(watch, &cause, 0); break;
    case LATE:
        if (frame->rank < watch->ranks)
            lose_late(watch, frame->rank);
        break;
    case CAUSE: set_cause(watch, &cause, frame->speaker); break;
    case STOP: pl_stop_join(); break; /* rank 0 then tells all */
    case BYE:
        watch->peers[from].left = true;
        watch->parted = watch->parted || from == watch->speaker;
        pthread_cond_broadcast(&watch->changed);
        if (is_first(watch) && watch->parted)
            send_all(watch, frame); /* rank 0 reports it or forwards it */
        break;
    default: break;
    }
}

/* Reads the frames that have arrived. The mutex is held. */
static void read_socket(pl_watch *watch, unsigned from) {
    peer *peer = &watch->peers[from];
    for (;;) {
        ssize_t got =
            recv(peer->socket, (char *)&peer->frame + peer->got, sizeof peer->frame - peer->got, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
            return;
        if (got <= 0) {
            close(peer->socket);
            peer->socket = -1;
            if (!peer->left && !watch->closing)
                lose(watch, from, "was lost: its process ended");
            return;
        }
        peer->heard = pl_now();
        peer->got += (uint64_t)got;
        if (peer->got < sizeof peer->frame)
            continue;
        peer->got = 0;
        if (!watch->begun)
            pthread_cond_broadcast(&watch->changed);
        watch->begun = true;
        read_frame(watch, from, &peer->frame);
    }
}

static void beat_and_listen(pl_watch *watch, struct pollfd *polled, unsigned count) {
    double now = pl_now();
    pthread_mutex_lock(&watch->mutex);
    for (unsigned r = 0; r < count; r++)
        if (polled[r].fd >= 0 && polled[r].revents)
            read_socket(watch, r);
    for (unsigned r = 0; r < count; r++)
        if (watch->peers[r].socket >= 0 && !watch->peers[r].left && now - watch->peers[r].heard > watch->deadline)
            lose_silent(watch, r);
    pthread_mutex_unlock(&watch->mutex);
}

/* A signal may reach one rank only. The others then learn of it here, in the middle of their passes. */
static void pass_stop_on(const pl_watch *watch, bool *told) {
    if (!*told && pl_stop_asked())
        send_all(watch, &(frame){.kind = STOP});
    *told = pl_stop_asked();
}

static void *keep_watch(void *argument) {
    pl_watch *watch = argument;
    unsigned count = is_first(watch) ? watch->ranks : 1;
    struct pollfd *polled = pl_alloc(count + 1, sizeof *polled);
    double next = 0;
    bool closing = polled == NULL, told = false;
    while (!closing) {
        double now = pl_now();
        pass_stop_on(watch, &told);
        if (now >= next) {
            send_all(watch, &(frame){.kind = BEAT, .rank = atomic_load(&watch->waits)});
            next = now + watch->beat;
        }
        for (unsigned r = 0; r < count; r++)
            polled[r] = (struct pollfd){watch->peers[r].socket, POLLIN, 0};
        polled[count] = (struct pollfd){watch->wake[0], POLLIN, 0};
        int left = (int)(1e3 * (next - now)) + 1;
        if (poll(polled, count + 1, left < STOP_MS ? left : STOP_MS) < 0 && errno != EINTR)
            break;
        beat_and_listen(watch, polled, count);
        pthread_mutex_lock(&watch->mutex);
        closing = watch->closing;
        pthread_mutex_unlock(&watch->mutex);
    }
    pl_free(polled);
    return NULL;
}

static parley_status fail_network(parley_error *error, const char *what) {
    return pl_fail(error, PARLEY_NO_PEER, "cannot %s: %s", what, strerror(errno));
}

static parley_status start(pl_watch *watch, parley_error *error) {
    double now = pl_now() + (is_first(watch) ? 0 : GATHER_SECONDS); /* rank 0 may still wait for others */
    for (unsigned r = 0; r < watch->ranks; r++)
        watch->peers[r].heard = now;
    if (pipe2(watch->wake, O_CLOEXEC | O_NONBLOCK) != 0)
        return fail_network(error, "watch the other ranks");
    if (pthread_create(&watch->thread, NULL, keep_watch, watch) != 0)
        return pl_fail(error, PARLEY_NO_MEMORY, "cannot start a thread that watches the other ranks");
    watch->running = true;
    return PARLEY_OK;
}

static parley_status make(pl_watch **out, unsigned rank, unsigned ranks, double deadline, parley_error *error) {
    pl_watch *watch;
    parley_status status = pl_take(&watch, 1, sizeof *watch, "the watch", error);
    if (status != PARLEY_OK)
        return status;
    *watch = (pl_watch){.rank = rank, .ranks = ranks, .deadline = deadline, .wake = {-1, -1}};
    watch->beat = deadline / BEATS < MOST_BEAT ? deadline / BEATS : MOST_BEAT;
    atomic_store(&watch->waits, rank);
    status = pl_take(&watch->peers, ranks, sizeof *watch->peers, "the watch", error);
    if (status != PARLEY_OK) {
        pl_free(watch);
        return status;
    }
    pthread_mutex_init(&watch->mutex, NULL);
    pthread_cond_init(&watch->changed, NULL);
    if (gethostname(watch->host, sizeof watch->host - 1) != 0)
        snprintf(watch->host, sizeof watch->host, "unknown");
    for (unsigned r = 0; r < ranks; r++) {
        watch->peers[r].socket = -1;
        watch->peers[r].waits = r;
        snprintf(watch->peers[r].host, PL_WATCH_HOST, "%s", r == rank ? watch->host : "unknown");
    }
    *out = watch;
    return PARLEY_OK;
}

/* "host secret port address address ..." */
static void write_address(const pl_watch *watch, char address[PL_WATCH_ADDRESS]) {
    struct ifaddrs *list = NULL;
    char secret[PL_SECRET_TEXT];
    pl_secret_print(&watch->secret, secret);
    int used = snprintf(address, PL_WATCH_ADDRESS, "%s %s %u 127.0.0.1", watch->host, secret,
                        pl_listener_port(watch->listener));
    if (watch->here || getifaddrs(&list) != 0)
        return;
    for (struct ifaddrs *at = list; at && used + INET_ADDRSTRLEN + 2 < PL_WATCH_ADDRESS; at = at->ifa_next) {
        char text[INET_ADDRSTRLEN];
        if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET)
            continue;
        const struct sockaddr_in *of = (const struct sockaddr_in *)(const void *)at->ifa_addr;
        if (ntohl(of->sin_addr.s_addr) >> 24 == 127 || !inet_ntop(AF_INET, &of->sin_addr, text, sizeof text))
            continue;
        used += snprintf(address + used, PL_WATCH_ADDRESS - (size_t)used, " %s", text);
    }
    freeifaddrs(list);
}

parley_status pl_watch_listen(pl_watch **out, unsigned ranks, bool here, double deadline,
                              char address[PL_WATCH_ADDRESS], parley_error *error) {
    pl_watch *watch;
    *out = NULL;
    parley_status status = make(&watch, 0, ranks, deadline, error);
    if (status != PARLEY_OK)
        return status;
    watch->here = here;
    status = pl_secret_make(&watch->secret, error);
    if (status == PARLEY_OK)
        status = pl_listener_open(&watch->listener, ranks, here, &watch->secret, 1, error);
    if (status != PARLEY_OK) {
        pl_watch_close(watch);
        return status;
    }
    write_address(watch, address);
    *out = watch;
    return PARLEY_OK;
}

/* Takes in all ranks that have sent the secret; returns how many. */
static unsigned take_in(pl_watch *watch) {
    unsigned rank, count = 0;
    for (int socket; (socket = pl_listener_accept(watch->listener, &rank)) >= 0;)
        if (rank == 0 || watch->peers[rank].socket >= 0) {
            close(socket);
        } else {
            watch->peers[rank].socket = socket;
            count++;
        }
    return count;
}

parley_status pl_watch_gather(pl_watch *watch, parley_error *error) {
    double left, until = pl_now() + watch->deadline + GATHER_SECONDS;
    for (unsigned here = 1; here < watch->ranks && (left = until - pl_now()) > 0;) {
        struct pollfd polled[PL_LISTENER_POLLED];
        unsigned count = pl_listener_poll(watch->listener, polled);
        poll(polled, count, left < MOST_BEAT ? (int)(1e3 * left) + 1 : (int)(1e3 * MOST_BEAT));
        here += take_in(watch);
    }
    pl_listener_close(watch->listener);
    watch->listener = NULL;
    for (unsigned r = 1; r < watch->ranks; r++)
        if (watch->peers[r].socket < 0) {
            parley_error cause;
            pl_fail(&cause, PARLEY_NO_PEER, "rank %u did not connect within %g seconds", r, watch->deadline);
            set_cause(watch, &cause, 0);
            return pl_fail(error, cause.status, "%s", cause.sentence);
        }
    return start(watch, error);
}

/* Waits for `flag` or `other`, for at most `seconds`. The mutex is held. */
static void wait_for(pl_watch *watch, const bool *flag, const atomic_bool *other, double seconds) {
    struct timespec until = pl_after(seconds);
    while (!(flag && *flag) && !(other && atomic_load(other)))
        if (pthread_cond_timedwait(&watch->changed, &watch->mutex, &until) != 0)
            return;
}

/* Tries the addresses of rank 0 until one accepts this rank. */
static void connect_to_first(pl_watch *watch, char *addresses, unsigned port) {
    peer *first = &watch->peers[0];
    bool local = strcmp(first->host, watch->host) == 0;
    double seconds = watch->deadline < CONNECT_SECONDS ? watch->deadline : CONNECT_SECONDS;
    for (char *next = addresses, *word; first->socket < 0 && (word = strtok_r(next, " ", &next));) {
        if (strncmp(word, "127.", 4) == 0 && !local)
            continue;
        int socket = pl_handshake_connect(word, port, &watch->secret, watch->rank, pl_now() + seconds);
        if (socket >= 0 && pl_handshake_accepted(socket, pl_now() + watch->deadline + GATHER_SECONDS))
            first->socket = socket;
        else if (socket >= 0)
            close(socket); /* another program has this port */
    }
    frame name = {.kind = NAME};
    snprintf(name.text, sizeof name.text, "%s", watch->host);
    send_frame(first, &name);
}

/* Rank 0 sends nothing until all ranks are connected. If it is lost before that, only its guard reports it. */
static parley_status wait_for_all(pl_watch *watch, parley_error *error) {
    double seconds = watch->deadline + GATHER_SECONDS + 1;
    pthread_mutex_lock(&watch->mutex);
    wait_for(watch, &watch->begun, &watch->failed, seconds);
    bool begun = watch->begun;
    pthread_mutex_unlock(&watch->mutex);
    parley_error cause;
    if (begun)
        return PARLEY_OK;
    if (pl_watch_failed(watch, &cause))
        return pl_fail(error, cause.status, "%s", cause.sentence);
    return pl_fail(error, PARLEY_NO_PEER, "rank 0 on %s did not find all ranks within %g seconds", watch->peers[0].host,
                   seconds);
}

parley_status pl_watch_join(pl_watch **out, unsigned rank, unsigned ranks, double deadline, const char *address,
                            parley_error *error) {
    pl_watch *watch;
    char host[PL_WATCH_HOST], secret[PL_SECRET_TEXT], words[PL_WATCH_ADDRESS];
    pl_secret parsed;
    unsigned port;
    int used;
    *out = NULL;
    if (sscanf(address, "%63s %32s %u%n", host, secret, &port, &used) != 3 || !pl_secret_parse(secret, &parsed))
        return pl_fail(error, PARLEY_BROKEN, "rank 0 sent an invalid address");
    parley_status status = make(&watch, rank, ranks, deadline, error);
    if (status != PARLEY_OK)
        return status;
    watch->secret = parsed;
    peer *first = &watch->peers[0];
    snprintf(first->host, sizeof first->host, "%s", host);
    snprintf(words, sizeof words, "%s", address + used);
    connect_to_first(watch, words, port);
    status = first->socket >= 0 ? start(watch, error)
                                : pl_fail(error, PARLEY_NO_PEER,
                                          "rank %u on %s cannot connect to rank 0 on %s, port %u: is there a firewall?",
                                          rank, watch->host, host, port);
    if (status == PARLEY_OK)
        status = wait_for_all(watch, error);
    if (status != PARLEY_OK) {
        pl_watch_close(watch);
        return status;
    }
    *out = watch;
    return PARLEY_OK;
}

bool pl_watch_failed(pl_watch *watch, parley_error *error) {
    if (!atomic_load(&watch->failed))
        return false;
    pthread_mutex_lock(&watch->mutex);
    *error = watch->cause;
    pthread_mutex_unlock(&watch->mutex);
    return true;
}

void pl_watch_fail(pl_watch *watch, const parley_error *error) {
    pthread_mutex_lock(&watch->mutex);
    if (is_first(watch))
        set_cause(watch, error, 0);
    else if (!atomic_load(&watch->failed)) {
        frame frame = {.kind = FAILED, .status = (uint8_t)error->status};
        snprintf(frame.text, sizeof frame.text, "%s", error->sentence);
        send_frame(&watch->peers[0], &frame);
        wait_for(watch, NULL, &watch->failed, CAUSE_SECONDS);
        set_cause(watch, error, watch->rank); /* rank 0 does not answer */
    }
    pthread_mutex_unlock(&watch->mutex);
}

void pl_watch_late(pl_watch *watch, unsigned from) {
    pthread_mutex_lock(&watch->mutex);
    if (is_first(watch))
        lose_late(watch, from);
    else if (!atomic_load(&watch->failed)) {
        send_frame(&watch->peers[0], &(frame){.kind = LATE, .rank = from});
        wait_for(watch, NULL, &watch->failed, CAUSE_SECONDS);
        if (!atomic_load(&watch->failed))
            lose_silent(watch, 0);
    }
    pthread_mutex_unlock(&watch->mutex);
}

void pl_watch_waits(pl_watch *watch, unsigned from) { atomic_store(&watch->waits, from); }

unsigned pl_watch_speaker(pl_watch *watch) {
    pthread_mutex_lock(&watch->mutex);
    unsigned speaker = watch->speaker;
    pthread_mutex_unlock(&watch->mutex);
    return speaker;
}

void pl_watch_part(pl_watch *watch) {
    pthread_mutex_lock(&watch->mutex);
    if (watch->speaker == watch->rank)
        send_all(watch, &(frame){.kind = BYE});
    else
        wait_for(watch, &watch->parted, NULL, PART_SECONDS);
    pthread_mutex_unlock(&watch->mutex);
}

void pl_watch_close(pl_watch *watch) {
    if (!watch)
        return;
    if (watch->running) {
        pthread_mutex_lock(&watch->mutex);
        watch->closing = true;
        send_all(watch, &(frame){.kind = BYE});
        pthread_mutex_unlock(&watch->mutex);
        if (write(watch->wake[1], "", 1) < 0)
            watch->closing = true; /* its thread sees that at the next heartbeat */
        pthread_join(watch->thread, NULL);
    }
    for (unsigned r = 0; r < watch->ranks; r++)
        if (watch->peers[r].socket >= 0)
            close(watch->peers[r].socket);
    pl_listener_close(watch->listener);
    for (unsigned i = 0; i < 2; i++)
        if (watch->wake[i] >= 0)
            close(watch->wake[i]);
    pthread_cond_destroy(&watch->changed);
    pthread_mutex_destroy(&watch->mutex);
    pl_free(watch->peers);
    pl_free(watch);
}
