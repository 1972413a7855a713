/* network.h: a model of hosts and of the network between them, for the engine `sim`: what a message and what work cost.
 *
 * Every host has one link with a direction each way. A message of b bytes is b / bandwidth seconds of work for the
 * sender's direction and for the receiver's, and travels for `latency`. It has arrived when both have done the work
 * that they were given before, and this. So what several hosts send to one waits there (incast), and messages to
 * several hosts share the sender's direction, as connections do, instead of waiting for each other at busy receivers.
 * Either end spends `message` seconds of processor time on it. */
#ifndef PL_NETWORK_H
#define PL_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/settings.h"

#define PL_DUPLEX_SIZES 5
#define PL_DUPLEX_LEAST ((uint64_t)1 << 14) /* bytes of the first; the last has 256 times as many */

/* Seconds, and bytes per second. */
typedef struct pl_network {
    double latency, bandwidth, message;
    /* By the length of a message, a factor of four apart: the share of the bandwidth that a direction has while the
     * other one is in use, and 1 if all of it. Acknowledgements of short messages wait behind data in the other
     * direction. */
    double duplex[PL_DUPLEX_SIZES];
    double nonzero; /* of local work, per non-zero of a row that is visited */
    double entry;   /* of exchanging, per entry of v and pass over it */
} pl_network;

/* --network, which is a rate such as 1Gbit or a file that `parley probe` wrote, and --latency. */
parley_status pl_network_parse(const parley_settings *settings, pl_network *out, parley_error *error);
/* Bytes per second of a rate: 1Gbit, 100Mbit, 10Kbit, 5e8bit. NaN if it is none. */
double pl_rate_of(const char *word);
/* Seconds of a duration: 50us, 1ms, 0.1s, 20ns. NaN if it is none. */
double pl_duration_of(const char *word);

/* When the two directions of a host's link are free again. */
typedef struct pl_link {
    double up, down;
} pl_link;

/* Sends `bytes` from one host to another at time `now`, and returns when they have arrived. */
double pl_network_send(const pl_network *network, pl_link *from, pl_link *to, double bytes, double now);

#endif
