/* relay.h: the connection of a guard to `parley launch` on another machine. Standard input, which ssh forwards, brings
 * the secret of the rank, then a heartbeat every second and requests to stop; if it closes or is silent, the launcher
 * is gone. PMI's messages are forwarded between the rank and the launcher's port. */
#ifndef PARLEY_RELAY_H
#define PARLEY_RELAY_H

#include <poll.h>
#include <stdbool.h>

#include "base/status.h"

#define RELAY_POLLED 3
#define RELAY_BEAT '.'

/* Reads the secret, connects to `from` ("address:port") and takes standard input away from this process. */
parley_status relay_open(const char *from, unsigned rank, parley_error *error);
/* Makes the rank's end of PMI, for the child that becomes the rank; -1 if that is not possible. */
int relay_rank_end(void);
void relay_close_in_rank(void); /* closes, in the child, what belongs to the guard */
/* Fills in what to poll for; returns how many there are: 0 if there is no relay. */
unsigned relay_poll(struct pollfd polled[RELAY_POLLED]);
/* Forwards what has arrived. Returns false if the launcher is gone or has been silent for `deadline` seconds. `*number`
 * is set to the signal that it asks to send to the rank. */
bool relay_forward(double deadline, int *number);

#endif
