/* pmi_protocol.h: the requests of PMI-1 and their answers, apart from the connections that carry them. */
#ifndef PARLEY_PMI_PROTOCOL_H
#define PARLEY_PMI_PROTOCOL_H

#include <stdbool.h>

#define PMI_VALUE 1024               /* most characters of a value */
#define PMI_KEY 256                  /* most characters of a key */
#define PMI_LINE 2048                /* bytes of a line */
#define PMI_ANSWER (PMI_VALUE + 128) /* bytes of the longest answer */
#define PMI_OUT (2 * PMI_ANSWER)
#define PMI_BUCKETS 4096

/* What a rank has sent, and answers that have not been sent to it yet. */
typedef struct pmi_client {
    bool waits;      /* waits at the barrier */
    bool skips;      /* the current line is too long and is ignored */
    bool aborts;     /* it asked to be ended */
    unsigned got;    /* bytes of the current line, or of several lines */
    unsigned unsent; /* bytes of answers */
    unsigned keys;
    char line[PMI_LINE], out[PMI_OUT];
} pmi_client;

typedef struct pmi_pair {
    struct pmi_pair *next, *before; /* in the bucket; among all pairs */
    char *key, *value;
} pmi_pair;

/* The pairs of a key and a value that all ranks have put. */
typedef struct pmi_space {
    unsigned ranks;
    pmi_client *client; /* by rank */
    pmi_pair *buckets[PMI_BUCKETS], *last;
    bool full; /* there was no memory for a pair, so the ranks cannot find each other */
} pmi_space;

/* Returns false if the key exists, is too long or has too long a value, or if memory runs out. */
bool pmi_space_put(pmi_space *space, const char *key, const char *value);
/* Obeys the lines in `line`, while there is room for their answers, which may be answers to other ranks. */
void pmi_space_obey(pmi_space *space, pmi_client *client);
/* Removes all pairs. */
void pmi_space_clear(pmi_space *space);

#endif
