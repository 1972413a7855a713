/* exchange.h: who sends what to whom. Moves updates to the owners of v, and the new v back. */
#ifndef PL_EXCHANGE_H
#define PL_EXCHANGE_H

#include "engine/packet.h"
#include "method/combine.h"

typedef struct pl_exchange pl_exchange;

#define PL_BLOCK 4096 /* entries of v that are summed in order; the sums of blocks are added as a tree */

/* How a run with this exchange advances from one round to the next. src/train has one function for each. A synchronous
 * round is one clock of all workers. An asynchronous one is several clocks that each worker makes at its own pace,
 * and ends with a park, at which all workers have stopped and all ranks have v. */
typedef enum pl_clock { PL_SYNCHRONOUS, PL_ASYNCHRONOUS, PL_CLOCKS } pl_clock;

#define PL_UNBOUNDED UINT64_MAX /* staleness async */

/* What a method needs to have carried. */
enum {
    PL_CARRIES_UPDATES = 1,    /* updates to the owners of v, and the new v to the workers */
    PL_CARRIES_DIRECTIONS = 2, /* directions to all workers within a round, and their answers back */
};

/* An asynchronous round, as all ranks begin it. */
typedef struct pl_async_round {
    pl_local *local;
    pl_combine *combine;
    pl_slice slice;       /* of v, which all ranks have; with tables for its change and direction */
    uint64_t from, until; /* clocks that every worker has made, and that it is to make */
} pl_async_round;

/* A worker's turn: it hands over its update of the clock that it has just made, and gets v for the next one. */
typedef struct pl_turn {
    const pl_update *update;           /* NULL: it has not worked since the park */
    double share;                      /* the combine's share of its update */
    double fraction;                   /* its fraction of the weight of all rows */
    uint64_t clock;                    /* clocks that it has made; the exchange moves a late worker further */
    bool last;                         /* it needs no v */
    bool ended;                        /* out: it makes no more clocks before the park */
    double gamma;                      /* out: the step with which its update was taken */
    double *v;                         /* out: its copy of v */
    uint64_t behind;                   /* out: the clocks by which the slowest worker was behind when v was read */
    uint64_t sent, received, messages; /* added to: bytes, as if every owner were on another machine, and messages */
} pl_turn;

/* What the coordinator asks for, and what it is told. */
typedef struct pl_view_request {
    uint64_t wanted; /* clocks */
    bool ends;       /* it wants to see nothing more, and all workers stop after their current clock */
    double *v;       /* out: what this rank knows of v */
    uint64_t seen; /* out: clocks that all workers have made; 0: they have left, and nothing changes before the park */
} pl_view_request;

/* For exchanges with the clock PL_ASYNCHRONOUS. In a round one task per hosted worker calls `swap` after every clock
 * and `leave` at its end, and one task per rank calls `serve`. */
typedef struct pl_exchange_async {
    parley_status (*begin)(pl_exchange *exchange, const pl_async_round *round, parley_error *error);
    /* Hands over an update and reads v. Waits if the worker is too far ahead of others. */
    parley_status (*swap)(pl_exchange *exchange, unsigned worker, pl_turn *turn, parley_error *error);
    /* The worker makes no more clocks before the park. Nobody waits for it any longer. */
    parley_status (*leave)(pl_exchange *exchange, unsigned worker, parley_error *error);
    /* Answers other ranks until all workers have left. */
    parley_status (*serve)(pl_exchange *exchange, parley_error *error);
    /* Makes v on all ranks what the workers have made of it. */
    parley_status (*park)(pl_exchange *exchange, double *v, parley_error *error);
    /* One task of rank 0, the coordinator, looks at v while the workers go on. It waits until all of them have made
     * the clocks that it wants to see. NULL: v is known at parks only. */
    parley_status (*look)(pl_exchange *exchange, pl_view_request *look, parley_error *error);
} pl_exchange_async;

typedef struct pl_exchange_type {
    const char *name, *help;
    pl_clock clock;
    const pl_exchange_async *async;         /* NULL: synchronous */
    unsigned carries;                       /* PL_CARRIES_* */
    unsigned needs;                         /* PL_STEPS_IN_V and so on: traits that the local solver must have */
    bool one_owner;                         /* rank 0 owns all of v */
    bool repeats;                           /* the same run gives the same bits */
    const char *const *settings;            /* optional settings that it reads; NULL: none */
    const struct pl_exchange_type *in_step; /* its form for workers that wait for each other anyway; NULL: none */
    /* Rejects contradictory settings. NULL: there are none. */
    parley_status (*check)(const parley_settings *settings, parley_error *error);
    uint64_t (*bytes)(const pl_setup *setup, bool whole); /* memory that `open` will allocate */
    /* `whole` means one owner, whatever the type says. */
    parley_status (*open)(const pl_setup *setup, bool whole, pl_exchange **out, parley_error *error);
    /* Lists its state between two clock ticks, as in local.h. NULL: there is none. */
    void (*state)(pl_exchange *exchange, pl_state *state);
    void (*close)(pl_exchange *exchange); /* accepts NULL */
    /* Bytes that a worker sends and receives in a round if every worker runs on its own machine. */
    void (*traffic)(unsigned workers, unsigned worker, uint64_t update_bytes, uint64_t table_bytes, uint64_t *sent,
                    uint64_t *received);
} pl_exchange_type;

struct pl_exchange {
    const pl_exchange_type *type;
    const pl_team *team;
    uint64_t size, width; /* entries of v; columns of an update */
    uint64_t *bounds;     /* ranks + 1: rank r owns entries [bounds[r], bounds[r + 1]) */
    double *nodes;        /* several ranks: sums over this rank's maximal nodes of the tree */
    pl_addend *addends;   /* what is sent for each node: its sum, or the update of a single worker */
    bool offered;         /* the addends are laid out already */
    double *block_sums;   /* PL_OWN_SCALARS per block of v */
    uint64_t *block_bounds;
    uint64_t sent, received; /* bytes of tables, to and from other ranks; the reader resets them */
    uint64_t clock;          /* asynchronous: clocks that all workers have made */
    void *own;               /* what the type adds */
};

extern const pl_exchange_type pl_exchange_allreduce, pl_exchange_driver, pl_exchange_shared, pl_exchange_server,
    pl_exchange_peer;
extern const pl_exchange_type *const pl_exchanges[];
extern const unsigned pl_exchanges_count;

bool pl_waits(const parley_settings *settings);         /* workers wait for each other after every clock */
uint64_t pl_staleness(const parley_settings *settings); /* a whole number, or PL_UNBOUNDED */
/* `bytes`, `open` and `close` of synchronous exchanges, which differ only in ownership. */
uint64_t pl_tables_bytes(const pl_setup *setup, bool whole);
parley_status pl_tables_open(const pl_exchange_type *type, const pl_setup *setup, bool whole, pl_exchange **out,
                             parley_error *error);
void pl_tables_close(pl_exchange *exchange);
/* Lays out what will be reduced next, before a barrier that ranks need for something else. */
void pl_exchange_offer(pl_exchange *exchange, const pl_update *update, const double *share);
/* Adds the first `columns` columns, of `size` entries each, of share[k] x update[k] over all workers, in the order of
 * the tree, into `change` on the owners. */
parley_status pl_exchange_reduce(pl_exchange *exchange, uint64_t columns, const pl_update *update, const double *share,
                                 double *change, parley_error *error);
/* Adds share[k] x entries [begin, end) of update[k] over `workers` updates, in the order of the tree, into `out`. */
void pl_exchange_add(const pl_update *update, const double *share, unsigned workers, uint64_t begin, uint64_t end,
                     double *out);
/* Sends every owner's slice of `table` to all ranks. */
parley_status pl_exchange_spread(pl_exchange *exchange, double *table, parley_error *error);
/* Sums f over all of v. Blocks are added as a tree, and the result is the same on every rank. */
parley_status pl_exchange_sum(pl_exchange *exchange, pl_entry_sum f, void *context, double *sums, parley_error *error);
/* Computes the maximum over blocks of the value that f leaves in sums[0]. */
parley_status pl_exchange_largest(pl_exchange *exchange, pl_entry_sum f, void *context, double *largest,
                                  parley_error *error);
/* The ranks that own v: the last `servers`, or all if there are none; of these only the first if it is `one`. */
typedef struct pl_owners_of_v {
    unsigned ranks, servers;
    bool one;
} pl_owners_of_v;
pl_owners_of_v pl_exchange_owners(const pl_exchange_type *type, bool whole, const pl_engine *engine);
/* The slice of `size` entries that a rank would own. */
void pl_exchange_slice(const pl_owners_of_v *owners, uint64_t size, unsigned rank, uint64_t *begin, uint64_t *end);
uint64_t pl_exchange_begin(const pl_exchange *exchange); /* of this rank's slice */
uint64_t pl_exchange_end(const pl_exchange *exchange);
/* Sums over entries of v, for problems and combines. */
pl_entry_sums pl_exchange_sums(pl_exchange *exchange);

#endif
