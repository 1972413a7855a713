/* server.h: what the files of the exchange `server` share, and in part the exchange `peer`: a slice of v and its clock
 * at the owner (server_slice.c), the messages (server_messages.c), and the workers' side (server.c). */
#ifndef PL_SERVER_H
#define PL_SERVER_H

#include <pthread.h>

#include "method/exchange.h"

enum {
    PL_CHANNEL_SERVER = 64,
    PL_CHANNEL_PEER,
    PL_CHANNEL_VIEW,
    PL_CHANNEL_ANSWER = 1024
};                               /* an answer goes to the channel of its hosted worker */
#define PL_ASK_NOBODY UINT32_MAX /* in place of a worker, in a message of a rank to itself: serving ends */
#define PL_MOST_HOSTED 30000     /* workers of a rank: MPI may have no larger channels */

typedef enum pl_ask_kind {
    PL_ASK_SWAP,     /* takes an update, if there is one, and asks for v */
    PL_ASK_LEAVE,    /* the worker makes no more clocks before the park; there is no answer */
    PL_ASK_RECEIVED, /* between peers: an update has arrived */
    PL_ASK_END       /* to peers: workers make no more clocks before the park */
} pl_ask_kind;

/* The head of a request to an owner. */
typedef struct pl_ask {
    uint32_t worker, kind;
    uint32_t has_update, last;
    uint64_t clock; /* clocks that the worker had made before this update */
    uint64_t seen;  /* the owner's version of the slice that the worker read last */
    double shrink, share, fraction;
    uint64_t count; /* of values that follow, and then of their entries in v */
} pl_ask;

/* The head of an answer. */
typedef struct pl_answer {
    double gamma, scale; /* v is `scale` times the values */
    uint64_t clock;      /* clocks that the worker has made, or that it is to skip because it is late */
    uint64_t behind;     /* as in pl_turn */
    uint64_t version;
    uint64_t count;  /* of values that follow */
    uint64_t sparse; /* their places in the worker's list of entries come first; otherwise there are all of them */
} pl_answer;

/* An update as it arrives: entries of v in the slice, increasing, and values. */
typedef struct pl_arrived {
    const uint32_t *entry;
    const double *value;
    uint64_t count;
} pl_arrived;

/* What an owner knows of a worker. */
typedef struct pl_client {
    unsigned rank, number; /* where it is hosted, and as which worker */
    const uint32_t *entry; /* entries of the slice that it reads; NULL: all */
    uint32_t *owned;       /* those of another rank's worker */
    uint64_t count;        /* how many */
    uint64_t clock;        /* clocks that it has made, as far as the owner knows */
    bool left, waits, last;
    uint64_t seen, wants; /* while it waits: as in pl_ask; the clock that it waits for */
    double gamma;
} pl_client;

/* Updates that are kept until their clock closes. */
typedef struct pl_kept {
    bool there;
    uint64_t clock, count;
    double shrink, share, fraction;
    pl_span room; /* values, then entries */
} pl_kept;

/* A slice of v at its owner. */
typedef struct pl_owner {
    pthread_mutex_t mutex;
    pl_engine *engine;
    pl_combine *combine;
    pl_slice slice; /* v of the slice is `scale` times slice.v */
    double scale;
    uint64_t version;       /* updates that were taken so far */
    uint64_t all_changed;   /* the version at which all entries changed */
    uint32_t *stamp;        /* by entry of the slice: the version at which it changed */
    unsigned workers, left; /* of the latter, those that have left */
    pl_client *client;      /* by worker */
    uint64_t slowest;       /* the least clock of workers that have not left */
    unsigned at_slowest;    /* how many of them have that clock */
    uint64_t staleness;     /* clocks that a worker may be ahead of the slowest */
    unsigned backups;       /* workers that a clock does not wait for */
    bool gathers;           /* updates of a clock are taken together, when it closes */
    uint64_t closed;        /* then: clocks that are closed */
    pl_kept *kept;          /* and the updates of workers, until then */
    pl_update *update;      /* and room for closing a clock */
    double *share, *shrunk;
    pl_span room; /* an answer */
} pl_owner;

/* server_messages.c: `open` and `state` of both exchanges. `fill` opens what the type adds, of `bytes` bytes, in
 * exchange->own. */
typedef parley_status (*pl_fill)(pl_exchange *exchange, const pl_setup *setup, parley_error *error);
parley_status pl_open_with(const pl_exchange_type *type, const pl_setup *setup, bool whole, uint64_t bytes,
                           pl_fill fill, pl_exchange **out, parley_error *error);
void pl_clock_state(pl_exchange *exchange, pl_state *state);

/* server_slice.c. All but open and close are called with the mutex held. */
parley_status pl_owner_open(pl_owner *owner, const pl_setup *setup, uint64_t staleness, unsigned backups,
                            parley_error *error);
void pl_owner_close(pl_owner *owner);
void pl_owner_begin(pl_owner *owner, const pl_async_round *round);
/* Handles a request, and answers all that it makes ready. A worker of this rank asks by itself: if its request is ready
 * at once, `self` is filled in and no message is sent. Otherwise its answer is a head without values. `ended` is set if
 * this was the last worker to leave. */
parley_status pl_owner_handle(pl_owner *owner, const pl_ask *ask, const pl_arrived *update, pl_answer *self,
                              bool *ended, parley_error *error);
void pl_owner_fold(pl_owner *owner); /* makes slice.v the slice itself */
bool pl_owner_changed(const pl_owner *owner, uint64_t entry, uint64_t seen);

/* server_messages.c */
/* Lays out a request: the head, and the part of the update in slice [begin, end) without zeros. `reads` are the
 * worker's entries there; NULL: all. Returns the number of bytes, or 0 if memory runs out. */
uint64_t pl_ask_write(const pl_ask *head, const pl_update *update, const uint32_t *reads, uint64_t count,
                      uint64_t begin, uint64_t end, pl_span *room);
/* The update of a request of this process. */
pl_arrived pl_ask_update(const pl_ask *ask);
/* Ends the task of this rank that serves on a channel. */
parley_status pl_ask_end(pl_engine *engine, unsigned channel, parley_error *error);
parley_status pl_fail_damaged(unsigned from, parley_error *error);
/* The update of a request, whose entries must be in [begin, end); false if it is damaged. */
bool pl_ask_read(const void *data, uint64_t bytes, uint64_t begin, uint64_t end, pl_arrived *update);
/* Answers a worker of another rank, with the values that it reads: all, or those that changed since it last did. */
parley_status pl_answer_send(pl_owner *owner, const pl_client *client, pl_answer *head, parley_error *error);
/* Writes the values of an answer to the worker's copies of its `count` entries; false if it is damaged. */
bool pl_answer_read(const void *data, uint64_t bytes, uint64_t count, double *raw);

#endif
