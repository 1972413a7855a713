/* pmi.c: the protocol has lines of key=value words. A process puts what others need to reach it, waits at a barrier
 * until all have done so, and gets what the others put. Lines, values, keys and unsent answers are bounded. */
#define _GNU_SOURCE /* struct pollfd, SOCK_CLOEXEC */
#include "pmi.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"

#define LINE 2048
#define ANSWER (PMI_VALUE + 128) /* the longest answer */
#define OUT (2 * ANSWER)
#define KEY 256
#define MOST_KEYS 1024 /* of one rank; MPICH puts a few */
#define BUCKETS 4096
#define MAPPING_KEY "PMI_process_mapping"

typedef struct client {
    int socket;      /* -1 if there is none */
    bool waits;      /* waits at the barrier */
    bool skips;      /* the current line is too long and is ignored */
    unsigned got;    /* bytes of the current line */
    unsigned unsent; /* bytes of answers */
    unsigned keys;
    char line[LINE], out[OUT];
} client;

typedef struct pair {
    struct pair *next;
    char *key, *value;
} pair;

struct pmi {
    unsigned ranks;
    pl_listener *listener; /* NULL if all ranks are on this machine */
    pl_secret *secrets;
    client *client; /* one per rank */
    struct pollfd *polled;
    bool full; /* there was no memory for a pair, so the ranks cannot find each other */
    pair *pairs[BUCKETS];
};

/* Returns the value of `key` in a line of words, or NULL. `value` has room for a line. */
static const char *word_of(const char *line, const char *key, char value[LINE]) {
    size_t length = strlen(key);
    for (const char *at = line; *at; at += strcspn(at, " ")) {
        at += strspn(at, " ");
        if (strncmp(at, key, length) == 0 && at[length] == '=') {
            at += length + 1;
            snprintf(value, LINE, "%.*s", (int)strcspn(at, strcmp(key, "value") == 0 ? "" : " "), at);
            return value;
        }
    }
    return NULL;
}

static void send_answers(client *client) {
    ssize_t sent = client->unsent > 0 && client->socket >= 0
                       ? send(client->socket, client->out, client->unsent, MSG_DONTWAIT | MSG_NOSIGNAL)
                       : 0;
    if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        client->unsent = 0; /* nobody will read it */
    if (sent <= 0)
        return;
    client->unsent -= (unsigned)sent;
    memmove(client->out, client->out + sent, client->unsent);
}

/* There is room for an answer when a line is read, and for the end of a barrier. */
static void answer(client *client, const char *text) {
    size_t length = strlen(text);
    if (client->unsent + length > OUT)
        return;
    memcpy(client->out + client->unsent, text, length);
    client->unsent += (unsigned)length;
    send_answers(client);
}

static pair **bucket(pmi *pmi, const char *key) {
    unsigned hash = 5381;
    for (; *key; key++)
        hash = 33 * hash + (unsigned char)*key;
    return &pmi->pairs[hash % BUCKETS];
}

static const char *get(pmi *pmi, const char *key) {
    for (const pair *pair = *bucket(pmi, key); pair; pair = pair->next)
        if (strcmp(pair->key, key) == 0)
            return pair->value;
    return NULL;
}

static bool put(pmi *pmi, const char *key, const char *value) {
    if (strlen(key) > KEY || strlen(value) > PMI_VALUE || get(pmi, key))
        return false;
    pair *new = pl_alloc(1, sizeof *new), **at = bucket(pmi, key);
    if (new)
        *new = (pair){*at, pl_strdup(key), pl_strdup(value)};
    bool done = new &&new->key &&new->value;
    pmi->full = pmi->full || !done;
    if (done)
        *at = new;
    else if (new) {
        pl_free(new->key);
        pl_free(new->value);
        pl_free(new);
    }
    return done;
}

static bool put_of(pmi *pmi, client *client, const char *key, const char *value) {
    if (client->keys == MOST_KEYS || !put(pmi, key, value))
        return false;
    client->keys++;
    return true;
}

static void enter_barrier(pmi *pmi, client *client) {
    unsigned waiting = 0;
    client->waits = true;
    for (unsigned i = 0; i < pmi->ranks; i++)
        waiting += pmi->client[i].waits;
    if (waiting < pmi->ranks)
        return;
    for (unsigned i = 0; i < pmi->ranks; i++) {
        pmi->client[i].waits = false;
        answer(&pmi->client[i], "cmd=barrier_out rc=0\n");
    }
}

static void obey(pmi *pmi, client *client, const char *line) {
    char command[LINE], key[LINE], value[LINE], text[ANSWER];
    if (!word_of(line, "cmd", command))
        return;
    if (strcmp(command, "init") == 0)
        answer(client, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
    else if (strcmp(command, "get_maxes") == 0) {
        snprintf(text, sizeof text, "cmd=maxes kvsname_max=64 keylen_max=%d vallen_max=%d rc=0\n", KEY, PMI_VALUE);
        answer(client, text);
    } else if (strcmp(command, "get_appnum") == 0)
        answer(client, "cmd=appnum appnum=0 rc=0\n");
    else if (strcmp(command, "get_my_kvsname") == 0)
        answer(client, "cmd=my_kvsname kvsname=parley rc=0\n");
    else if (strcmp(command, "get_universe_size") == 0) {
        snprintf(text, sizeof text, "cmd=universe_size size=%u rc=0\n", pmi->ranks);
        answer(client, text);
    } else if (strcmp(command, "put") == 0) {
        bool done = word_of(line, "key", key) && word_of(line, "value", value) && put_of(pmi, client, key, value);
        if (!pmi->full) /* otherwise the rank is ended before it could complain too */
            answer(client, done ? "cmd=put_result rc=0 msg=success\n" : "cmd=put_result rc=-1 msg=failure\n");
    } else if (strcmp(command, "get") == 0) {
        const char *found = word_of(line, "key", key) ? get(pmi, key) : NULL;
        snprintf(text, sizeof text,
                 found ? "cmd=get_result rc=0 msg=success value=%s\n" : "cmd=get_result rc=-1 msg=not_found value=%s\n",
                 found ? found : "unknown");
        answer(client, text);
    } else if (strcmp(command, "barrier_in") == 0)
        enter_barrier(pmi, client);
    else if (strcmp(command, "finalize") == 0)
        answer(client, "cmd=finalize_ack rc=0\n");
    else if (strcmp(command, "abort") == 0)
        shutdown(client->socket, SHUT_RDWR); /* MPICH waits for its launcher to end it */
}

/* Obeys the lines that have arrived, while there is room for their answers. */
static void obey_lines(pmi *pmi, client *client) {
    for (char *end; client->unsent + ANSWER + 64 <= OUT && (end = memchr(client->line, '\n', client->got));) {
        unsigned length = (unsigned)(end + 1 - client->line);
        *end = '\0';
        if (!client->skips)
            obey(pmi, client, client->line);
        client->skips = false;
        client->got -= length;
        memmove(client->line, end + 1, client->got);
    }
    if (client->got == LINE && !memchr(client->line, '\n', LINE)) {
        client->skips = true; /* no valid line is this long */
        client->got = 0;
    }
}

static void read_client(pmi *pmi, client *client) {
    ssize_t got =
        client->got < LINE ? recv(client->socket, client->line + client->got, LINE - client->got, MSG_DONTWAIT) : -1;
    bool later = got < 0 && (client->got == LINE || errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
    if (got <= 0 && !later) {
        close(client->socket);
        client->socket = -1;
        client->waits = false;
    } else if (got > 0) {
        client->got += (unsigned)got;
        obey_lines(pmi, client);
    }
}

static void welcome(pmi *pmi) {
    unsigned rank;
    for (int socket; pmi->listener && (socket = pl_listener_accept(pmi->listener, &rank)) >= 0;)
        if (pmi->client[rank].socket < 0)
            pmi->client[rank].socket = socket;
        else
            close(socket); /* the rank is on this machine */
}

parley_status pmi_serve(pmi *pmi, int milliseconds, parley_error *error) {
    for (unsigned i = 0; i < pmi->ranks; i++) {
        const client *client = &pmi->client[i];
        short what = (short)((client->got < LINE ? POLLIN : 0) | (client->unsent > 0 ? POLLOUT : 0));
        pmi->polled[i] = (struct pollfd){client->socket, what, 0};
    }
    unsigned more = pmi->listener ? pl_listener_poll(pmi->listener, pmi->polled + pmi->ranks) : 0;
    if (poll(pmi->polled, pmi->ranks + more, milliseconds) < 0)
        return PARLEY_OK;
    for (unsigned i = 0; i < pmi->ranks; i++) {
        client *client = &pmi->client[i];
        if (pmi->polled[i].revents & POLLOUT) {
            send_answers(client);
            obey_lines(pmi, client);
        }
        if (pmi->polled[i].revents & ~POLLOUT)
            read_client(pmi, client);
    }
    welcome(pmi);
    return pmi->full ? pl_fail_memory(error, "the PMI server", PMI_VALUE) : PARLEY_OK;
}

parley_status pmi_connect(pmi *pmi, unsigned rank, int *end, parley_error *error) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return pl_fail(error, PARLEY_NO_MEMORY, "cannot start rank %u: %s", rank, strerror(errno));
    pmi->client[rank].socket = ends[0];
    *end = ends[1];
    return PARLEY_OK;
}

parley_status pmi_listen(pmi *pmi, parley_error *error) {
    parley_status status = PARLEY_OK;
    for (unsigned r = 0; r < pmi->ranks && status == PARLEY_OK; r++)
        status = pl_secret_make(&pmi->secrets[r], error);
    return status == PARLEY_OK ? pl_listener_open(&pmi->listener, pmi->ranks, false, pmi->secrets, pmi->ranks, error)
                               : status;
}

unsigned pmi_port(const pmi *pmi) { return pl_listener_port(pmi->listener); }

const pl_secret *pmi_secret(const pmi *pmi, unsigned rank) { return &pmi->secrets[rank]; }

void pmi_refuse(pmi *pmi) {
    pl_listener_close(pmi->listener);
    pmi->listener = NULL;
}

bool pmi_gone(const pmi *pmi, unsigned rank) { return !pmi->listener && pmi->client[rank].socket < 0; }

parley_status pmi_open(pmi **out, unsigned ranks, const char *mapping, parley_error *error) {
    pmi *new;
    *out = NULL;
    parley_status status = pl_take(&new, 1, sizeof *new, "the PMI server", error);
    if (status != PARLEY_OK)
        return status;
    new->ranks = ranks;
    status = pl_take(&new->client, ranks, sizeof *new->client, "the PMI server", error);
    for (unsigned r = 0; r < ranks && status == PARLEY_OK; r++)
        new->client[r].socket = -1;
    if (status == PARLEY_OK)
        status = pl_take(&new->secrets, ranks, sizeof *new->secrets, "the PMI server", error);
    if (status == PARLEY_OK)
        status = pl_take(&new->polled, ranks + PL_LISTENER_POLLED, sizeof *new->polled, "the PMI server", error);
    if (status == PARLEY_OK && *mapping && !put(new, MAPPING_KEY, mapping))
        status = pl_fail_memory(error, "the PMI server", PMI_VALUE);
    if (status != PARLEY_OK) {
        pmi_close(new);
        return status;
    }
    *out = new;
    return PARLEY_OK;
}

void pmi_close(pmi *pmi) {
    if (!pmi)
        return;
    pmi_refuse(pmi);
    for (unsigned r = 0; pmi->client && r < pmi->ranks; r++)
        if (pmi->client[r].socket >= 0)
            close(pmi->client[r].socket);
    for (unsigned b = 0; b < BUCKETS; b++)
        for (pair *next, *pair = pmi->pairs[b]; pair; pair = next) {
            next = pair->next;
            pl_free(pair->key);
            pl_free(pair->value);
            pl_free(pair);
        }
    pl_free(pmi->client);
    pl_free(pmi->secrets);
    pl_free(pmi->polled);
    pl_free(pmi);
}
