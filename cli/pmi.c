/* pmi.c: the protocol has lines of key=value words. A process identifies itself (initack), puts what others need to
 * reach it, waits at a barrier until all have done so, and gets what the others put. */
#define _GNU_SOURCE /* accept4 */
#include "pmi.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"

#define LINE 4096
#define MAPPING_KEY "PMI_process_mapping"

typedef struct client {
    int socket; /* -1 if there is none */
    bool waits; /* waits at the barrier */
    unsigned got;
    char line[LINE];
} client;

typedef struct pair {
    struct pair *next;
    char *key, *value;
} pair;

struct pmi {
    unsigned ranks, port, clients;
    int listener;
    client *client; /* one per rank */
    pair *pairs;
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

static void answer(client *client, const char *text) {
    if (client->socket >= 0 && send(client->socket, text, strlen(text), MSG_NOSIGNAL) < 0) {
        close(client->socket);
        client->socket = -1;
    }
}

static bool put(pmi *pmi, const char *key, const char *value) {
    pair *new = pl_alloc(1, sizeof *new);
    if (!new)
        return false;
    *new = (pair){pmi->pairs, pl_strdup(key), pl_strdup(value)};
    pmi->pairs = new;
    return new->key &&new->value;
}

static const char *get(const pmi *pmi, const char *key) {
    for (const pair *pair = pmi->pairs; pair; pair = pair->next)
        if (pair->key && pair->value && strcmp(pair->key, key) == 0)
            return pair->value;
    return NULL;
}

static void enter_barrier(pmi *pmi, client *client) {
    unsigned waiting = 0;
    client->waits = true;
    for (unsigned i = 0; i < pmi->clients; i++)
        waiting += pmi->client[i].waits;
    if (waiting < pmi->ranks)
        return;
    for (unsigned i = 0; i < pmi->clients; i++) {
        pmi->client[i].waits = false;
        answer(&pmi->client[i], "cmd=barrier_out rc=0\n");
    }
}

static void obey(pmi *pmi, client *client, const char *line) {
    char command[LINE], key[LINE], value[LINE], text[LINE + 64];
    if (!word_of(line, "cmd", command))
        return;
    if (strcmp(command, "initack") == 0) {
        const char *number = word_of(line, "pmiid", value);
        snprintf(text, sizeof text, "cmd=initack rc=0\ncmd=set size=%u\ncmd=set rank=%s\ncmd=set debug=0\n", pmi->ranks,
                 number ? number : "0");
        answer(client, text);
    } else if (strcmp(command, "init") == 0)
        answer(client, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
    else if (strcmp(command, "get_maxes") == 0)
        answer(client, "cmd=maxes kvsname_max=64 keylen_max=256 vallen_max=1024 rc=0\n");
    else if (strcmp(command, "get_appnum") == 0)
        answer(client, "cmd=appnum appnum=0 rc=0\n");
    else if (strcmp(command, "get_my_kvsname") == 0)
        answer(client, "cmd=my_kvsname kvsname=parley rc=0\n");
    else if (strcmp(command, "get_universe_size") == 0) {
        snprintf(text, sizeof text, "cmd=universe_size size=%u rc=0\n", pmi->ranks);
        answer(client, text);
    } else if (strcmp(command, "put") == 0) {
        bool done = word_of(line, "key", key) && word_of(line, "value", value) && put(pmi, key, value);
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

static void read_client(pmi *pmi, client *client) {
    ssize_t got = recv(client->socket, client->line + client->got, LINE - 1 - client->got, MSG_DONTWAIT);
    if (got <= 0) {
        close(client->socket);
        client->socket = -1;
        return;
    }
    client->got += (unsigned)got;
    client->line[client->got] = '\0';
    for (char *end; (end = strchr(client->line, '\n'));) {
        *end = '\0';
        obey(pmi, client, client->line);
        client->got -= (unsigned)(end + 1 - client->line);
        memmove(client->line, end + 1, client->got + 1);
    }
    if (client->got == LINE - 1)
        client->got = 0; /* no valid line is this long */
}

static void welcome(pmi *pmi) {
    int socket = accept4(pmi->listener, NULL, NULL, SOCK_CLOEXEC);
    if (socket < 0)
        return;
    if (pmi->clients == pmi->ranks) {
        close(socket);
        return;
    }
    pmi->client[pmi->clients++].socket = socket;
}

void pmi_serve(pmi *pmi, int milliseconds) {
    struct pollfd *polled = pl_alloc(pmi->ranks + 1, sizeof *polled);
    if (!polled)
        return;
    unsigned clients = pmi->clients;
    for (unsigned i = 0; i < clients; i++)
        polled[i] = (struct pollfd){pmi->client[i].socket, POLLIN, 0};
    polled[clients] = (struct pollfd){pmi->listener, POLLIN, 0};
    if (poll(polled, clients + 1, milliseconds) > 0) {
        for (unsigned i = 0; i < clients; i++)
            if (polled[i].revents)
                read_client(pmi, &pmi->client[i]);
        if (polled[clients].revents)
            welcome(pmi);
    }
    pl_free(polled);
}

unsigned pmi_port(const pmi *pmi) { return pmi->port; }

parley_status pmi_open(pmi **out, unsigned ranks, bool here, const char *mapping, parley_error *error) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(here ? INADDR_LOOPBACK : INADDR_ANY)};
    socklen_t size = sizeof at;
    pmi *new;
    parley_status status = pl_take(&new, 1, sizeof *new, "the PMI server", error);
    if (status != PARLEY_OK)
        return status;
    *new = (pmi){.ranks = ranks, .listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    status = pl_take(&new->client, ranks, sizeof *new->client, "the PMI server", error);
    if (status == PARLEY_OK && !put(new, MAPPING_KEY, mapping))
        status = pl_fail_memory(error, "the PMI server", LINE);
    if (status == PARLEY_OK &&
        (new->listener < 0 || bind(new->listener, (struct sockaddr *)&at, sizeof at) != 0 ||
         listen(new->listener, (int)ranks) != 0 || getsockname(new->listener, (struct sockaddr *)&at, &size) != 0))
        status = pl_fail_file(error, "a port for the PMI server", "open");
    if (status != PARLEY_OK) {
        pmi_close(new);
        return status;
    }
    new->port = ntohs(at.sin_port);
    *out = new;
    return PARLEY_OK;
}

void pmi_close(pmi *pmi) {
    if (!pmi)
        return;
    for (unsigned i = 0; i < pmi->clients; i++)
        if (pmi->client[i].socket >= 0)
            close(pmi->client[i].socket);
    if (pmi->listener >= 0)
        close(pmi->listener);
    for (pair *next, *pair = pmi->pairs; pair; pair = next) {
        next = pair->next;
        pl_free(pair->key);
        pl_free(pair->value);
        pl_free(pair);
    }
    pl_free(pmi->client);
    pl_free(pmi);
}
