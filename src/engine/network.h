/* network.h: a model of hosts and of the network between them, for the engine `sim`: what a message and what work cost.
 *
 * Every host has one link with a direction each way. A message of b bytes is b / bandwidth seconds of work for the
 * sender's direction and for the receiver's, and travels for `latency`. It has arrived when both have done the work
 * that they were given before, and this. So what several hosts send to one waits there (incast), and messages to
 * several hosts share the sender's direction, as connections do, instead of waiting for each other at busy receivers.
 * A direction that was idle lets `burst` bytes pass without work. Either end spends `message` seconds of processor time
 * on it. */
#ifndef PL_NETWORK_H
#define PL_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/settings.h"

/* A wait of the engine mpi spins, and then sleeps for longer and longer, in seconds. */
#define PL_EAGER_SECONDS 2e-4
#define PL_LEAST_NAP 2e-5
#define PL_MOST_NAP 5e-4
#define PL_NAP_GROWTH 1.5

#define PL_DUPLEX_SIZES 5
#define PL_DUPLEX_LEAST ((uint64_t)1 << 14) /* bytes of the first; the last has 256 times as many */

/* Seconds, and bytes per second. */
typedef struct pl_network {
    double latency, bandwidth, message;
    double burst; /* bytes that a direction which was idle lets pass at once, as token buckets do */
    /* By the length of a message, a factor of four apart: the share of the bandwidth that a direction has while the
     * other one is in use, and 1 if all of it. Acknowledgements wait behind data in the other direction, and
     * connections to several hosts do not share a link evenly. */
    double duplex[PL_DUPLEX_SIZES];
    double nonzero; /* of local work, per non-zero of a row that is visited */
    double entry;   /* of exchanging, per entry of v and pass over it */
    /* Hosts may share cores, caches and memory: how many times as long work takes when all `ranks` hosts that were
     * measured work at the same time. */
    double together;
    unsigned ranks; /* 0: nothing was measured */
    double wake;    /* how much longer a sleep takes than it should; 0: nobody sleeps while it waits */
} pl_network;

/* --network, which is a rate such as 1Gbit or a file that `parley probe` wrote, and --latency. */
parley_status pl_network_parse(const parley_settings *settings, pl_network *out, parley_error *error);
/* Bytes per second of a rate: 1Gbit, 100Mbit, 10Kbit, 5e8bit. NaN if it is none. */
double pl_rate_of(const char *word);
/* Seconds of a duration: 50us, 1ms, 0.1s, 20ns. NaN if it is none. */
double pl_duration_of(const char *word);

/* When an end of a message that arrives `waited` seconds after a wait began is noticed, by one that spins at first and
 * then sleeps (mpi.c). */
double pl_network_noticed(const pl_network *network, double waited);

/* When the two directions of a host's link are free again. */
typedef struct pl_link {
    double up, down;
} pl_link;

/* Sends `bytes` from one host to another at time `now`, and returns when they have arrived. */
double pl_network_send(const pl_network *network, pl_link *from, pl_link *to, double bytes, double now);

#endif
