/* handshake.h: TCP connections between the processes of a run. Whoever connects first sends the run's secret and its
 * rank. A listener hands out only connections that did, so that strangers cost it neither time nor memory. */
#ifndef PL_HANDSHAKE_H
#define PL_HANDSHAKE_H

#include <poll.h>
#include <stdbool.h>

#include "base/status.h"

#define PL_SECRET_TEXT 33 /* characters of a printed secret, with the final zero */

typedef struct pl_secret {
    unsigned char bytes[16];
} pl_secret;

parley_status pl_secret_make(pl_secret *secret, parley_error *error);
void pl_secret_print(const pl_secret *secret, char text[PL_SECRET_TEXT]);
bool pl_secret_parse(const char *text, pl_secret *secret); /* reads 32 hexadecimal digits */

/* The first bytes of a connection, which name the protocol, the secret and the rank. */
#define PL_HELLO 32

/* The ranks for which a listener waits. There is one secret for all of them, or one for each. */
typedef struct pl_awaited {
    unsigned ranks, secrets_count;
    pl_secret *secrets;
    bool *taken; /* by rank: it has been accepted */
} pl_awaited;

void pl_hello_write(unsigned char hello[PL_HELLO], const pl_secret *secret, unsigned rank);
/* Are these the bytes of a rank that is still awaited? */
bool pl_hello_read(const unsigned char hello[PL_HELLO], const pl_awaited *awaited, unsigned *rank);

typedef struct pl_listener pl_listener;

#define PL_LISTENER_POLLED 65 /* most descriptors of a listener */

/* Listens for one connection of each rank, from this machine only if all ranks are `here`. There is one secret for all
 * ranks, or one for each; they are copied. */
parley_status pl_listener_open(pl_listener **out, unsigned ranks, bool here, const pl_secret *secrets, unsigned count,
                               parley_error *error);
unsigned pl_listener_port(const pl_listener *listener);
/* Fills in what to poll for; returns how many there are. */
unsigned pl_listener_poll(const pl_listener *listener, struct pollfd polled[PL_LISTENER_POLLED]);
/* Returns the non-blocking socket of a rank that has sent its secret, or -1 if there is none at the moment. Never
 * waits. A rank is accepted once. */
int pl_listener_accept(pl_listener *listener, unsigned *rank);
void pl_listener_close(pl_listener *listener);

/* Connects to a listener and sends the secret. Returns a non-blocking socket, or -1 after `until`. */
int pl_handshake_connect(const char *host, unsigned port, const pl_secret *secret, unsigned rank, double until);
/* Waits until the listener has accepted this end; false if it refused or did not answer until then. */
bool pl_handshake_accepted(int socket, double until);

#endif
