/* pmi.c: the connections of the PMI server. It never waits for a rank that does not read or write. */
#define _GNU_SOURCE /* struct pollfd, SOCK_CLOEXEC */
#include "pmi.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"

#define MAPPING_KEY "PMI_process_mapping"

struct pmi {
    unsigned ranks;
    pl_listener *listener; /* NULL if all ranks are on this machine */
    pl_secret *secrets;
    int *sockets; /* by rank; -1 if there is none */
    bool *came;   /* by rank: it has connected */
    struct pollfd *polled;
    pmi_space space;
};

static void send_answers(pmi *pmi, unsigned rank) {
    pmi_client *client = &pmi->space.client[rank];
    int socket = pmi->sockets[rank];
    ssize_t sent =
        client->unsent > 0 && socket >= 0 ? send(socket, client->out, client->unsent, MSG_DONTWAIT | MSG_NOSIGNAL) : 0;
    if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        client->unsent = 0; /* nobody will read it */
    if (sent <= 0)
        return;
    client->unsent -= (unsigned)sent;
    memmove(client->out, client->out + sent, client->unsent);
}

/* Obeys all lines of a rank for whose answers there is room, also after some have been sent. */
static void obey(pmi *pmi, unsigned rank) {
    pmi_client *client = &pmi->space.client[rank];
    unsigned before;
    do {
        before = client->got;
        pmi_space_obey(&pmi->space, client);
        for (unsigned i = 0; i < pmi->ranks; i++) /* a barrier may have ended */
            send_answers(pmi, i);
    } while (client->got != before);
    if (client->aborts && pmi->sockets[rank] >= 0)
        shutdown(pmi->sockets[rank], SHUT_RDWR);
}

static void read_client(pmi *pmi, unsigned rank) {
    pmi_client *client = &pmi->space.client[rank];
    unsigned room = PMI_LINE - client->got;
    ssize_t got = room > 0 ? recv(pmi->sockets[rank], client->line + client->got, room, MSG_DONTWAIT) : -1;
    bool later = got < 0 && (room == 0 || errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
    if (got <= 0 && !later) {
        close(pmi->sockets[rank]);
        pmi->sockets[rank] = -1;
        client->waits = false;
    } else if (got > 0) {
        client->got += (unsigned)got;
        obey(pmi, rank);
    }
}

static void welcome(pmi *pmi) {
    unsigned rank;
    for (int socket; pmi->listener && (socket = pl_listener_accept(pmi->listener, &rank)) >= 0;)
        if (pmi->sockets[rank] < 0) {
            pmi->sockets[rank] = socket;
            pmi->came[rank] = true;
        } else
            close(socket); /* the rank is on this machine */
}

parley_status pmi_serve(pmi *pmi, int milliseconds, parley_error *error) {
    for (unsigned i = 0; i < pmi->ranks; i++) {
        const pmi_client *client = &pmi->space.client[i];
        short what = (short)((client->got < PMI_LINE ? POLLIN : 0) | (client->unsent > 0 ? POLLOUT : 0));
        pmi->polled[i] = (struct pollfd){pmi->sockets[i], what, 0};
    }
    unsigned more = pmi->listener ? pl_listener_poll(pmi->listener, pmi->polled + pmi->ranks) : 0;
    if (poll(pmi->polled, pmi->ranks + more, milliseconds) < 0)
        return PARLEY_OK;
    for (unsigned i = 0; i < pmi->ranks; i++) {
        if (pmi->polled[i].revents & POLLOUT) {
            send_answers(pmi, i);
            obey(pmi, i);
        }
        if (pmi->polled[i].revents & ~POLLOUT)
            read_client(pmi, i);
    }
    welcome(pmi);
    return pmi->space.full ? pl_fail_memory(error, "the PMI server", PMI_VALUE) : PARLEY_OK;
}

parley_status pmi_connect(pmi *pmi, unsigned rank, int *end, parley_error *error) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return pl_fail(error, PARLEY_NO_MEMORY, "cannot start rank %u: %s", rank, strerror(errno));
    pmi->sockets[rank] = ends[0];
    *end = ends[1];
    pmi->came[rank] = true;
    return PARLEY_OK;
}

parley_status pmi_listen(pmi *pmi, bool here, parley_error *error) {
    parley_status status = PARLEY_OK;
    for (unsigned r = 0; r < pmi->ranks && status == PARLEY_OK; r++)
        status = pl_secret_make(&pmi->secrets[r], error);
    return status == PARLEY_OK ? pl_listener_open(&pmi->listener, pmi->ranks, here, pmi->secrets, pmi->ranks, error)
                               : status;
}

unsigned pmi_port(const pmi *pmi) { return pl_listener_port(pmi->listener); }

const pl_secret *pmi_secret(const pmi *pmi, unsigned rank) { return &pmi->secrets[rank]; }

void pmi_refuse(pmi *pmi) {
    pl_listener_close(pmi->listener);
    pmi->listener = NULL;
}

bool pmi_came(const pmi *pmi, unsigned rank) { return pmi->came[rank]; }

bool pmi_gone(const pmi *pmi, unsigned rank) { return !pmi->listener && pmi->sockets[rank] < 0; }

parley_status pmi_open(pmi **out, unsigned ranks, const char *mapping, parley_error *error) {
    pmi *new;
    *out = NULL;
    parley_status status = pl_take(&new, 1, sizeof *new, "the PMI server", error);
    if (status != PARLEY_OK)
        return status;
    new->ranks = new->space.ranks = ranks;
    status = pl_take(&new->space.client, ranks, sizeof *new->space.client, "the PMI server", error);
    if (status == PARLEY_OK)
        status = pl_take(&new->sockets, ranks, sizeof *new->sockets, "the PMI server", error);
    for (unsigned r = 0; r < ranks && status == PARLEY_OK; r++)
        new->sockets[r] = -1;
    if (status == PARLEY_OK)
        status = pl_take(&new->came, ranks, sizeof *new->came, "the PMI server", error);
    if (status == PARLEY_OK)
        status = pl_take(&new->secrets, ranks, sizeof *new->secrets, "the PMI server", error);
    if (status == PARLEY_OK)
        status = pl_take(&new->polled, ranks + PL_LISTENER_POLLED, sizeof *new->polled, "the PMI server", error);
    if (status == PARLEY_OK && *mapping && !pmi_space_put(&new->space, MAPPING_KEY, mapping))
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
    for (unsigned r = 0; pmi->sockets && r < pmi->ranks; r++)
        if (pmi->sockets[r] >= 0)
            close(pmi->sockets[r]);
    pmi_space_clear(&pmi->space);
    pl_free(pmi->space.client);
    pl_free(pmi->sockets);
    pl_free(pmi->came);
    pl_free(pmi->secrets);
    pl_free(pmi->polled);
    pl_free(pmi);
}
