/* exchange.h: who talks to whom. Moves updates to the owners of v, and the new v back. */
#ifndef PL_EXCHANGE_H
#define PL_EXCHANGE_H

#include "combine/combine.h"
#include "engine/packet.h"

typedef struct pl_exchange pl_exchange;

#define PL_BLOCK 4096 /* entries of v whose sums are added in order; blocks are added as a tree */

/* How a run with this exchange advances from one clock to the next; src/train has a function for each. */
typedef enum pl_clock { PL_SYNCHRONOUS, PL_CLOCKS } pl_clock;

/* What a method wants carried. */
enum {
    PL_CARRIES_UPDATES = 1, /* updates to the owners of v, and the new v to the workers */
    PL_CARRIES_DIRECTIONS =
        2, /* directions to all workers within a round, and their answers back: searches, products */
};

typedef struct pl_exchange_type {
    const char *name, *help;
    pl_clock clock;
    unsigned carries;            /* PL_CARRIES_* */
    unsigned needs;              /* PL_STEPS_IN_V and so on: traits that it needs of the local solver */
    bool one_owner;              /* rank 0 owns all of v */
    bool repeats;                /* the same run again gives the same bits */
    const char *const *settings; /* optional settings that it reads; NULL: none */
    uint64_t (*bytes)(const pl_setup *setup, bool whole); /* that open will allocate */
    /* `whole`: one owner, whatever the type says. */
    parley_status (*open)(const pl_setup *setup, bool whole, pl_exchange **out, parley_error *error);
    /* Lists what it holds between two clocks, as in local.h; NULL: nothing. */
    void (*state)(pl_exchange *exchange, pl_state *state);
    void (*close)(pl_exchange *exchange); /* takes NULL */
    /* Bytes that worker k of `workers` sends and receives in a round, were every worker on a machine of its own. */
    void (*traffic)(unsigned workers, unsigned worker, uint64_t update_bytes, uint64_t table_bytes, uint64_t *sent,
                    uint64_t *received);
} pl_exchange_type;

struct pl_exchange {
    const pl_exchange_type *type;
    const pl_team *team;
    uint64_t size, width; /* entries of v; columns of an update */
    uint64_t *bounds;     /* ranks + 1: rank r owns entries [bounds[r], bounds[r + 1]) */
    double *nodes;        /* more ranks than one: sums over this rank's maximal nodes of the tree */
    pl_addend *addends;   /* what is sent of each: those sums, or a lone worker's update */
    bool offered;         /* are they there already? */
    double *block_sums;   /* PL_OWN_SCALARS for each block of v */
    uint64_t *block_bounds;
    uint64_t sent, received; /* bytes of tables, to and from other ranks; the reader resets them */
};

extern const pl_exchange_type pl_exchange_allreduce, pl_exchange_driver, pl_exchange_shared;
extern const pl_exchange_type *const pl_exchanges[];
extern const unsigned pl_exchanges_count;

/* `bytes`, `open` and `close` of synchronous exchanges, which differ in who owns what. */
uint64_t pl_tables_bytes(const pl_setup *setup, bool whole);
parley_status pl_tables_open(const pl_exchange_type *type, const pl_setup *setup, bool whole, pl_exchange **out,
                             parley_error *error);
void pl_tables_close(pl_exchange *exchange);
/* Says what will be reduced next, before ranks come to a barrier for something else. */
void pl_exchange_offer(pl_exchange *exchange, const pl_update *update, const double *share);
/* Adds share[k] x update[k] over all workers, in tree order, into `change` (`width` columns of `size` entries) at the
 * owners. */
parley_status pl_exchange_reduce(pl_exchange *exchange, const pl_update *update, const double *share, double *change,
                                 parley_error *error);
/* The same for the first column alone. */
parley_status pl_exchange_reduce_first(pl_exchange *exchange, const pl_update *update, const double *share,
                                       double *change, parley_error *error);
/* Every owner's slice of `table` to all ranks. */
parley_status pl_exchange_spread(pl_exchange *exchange, double *table, parley_error *error);
/* Sums of f over all of v; blocks are added as a tree, the same
 * on every rank. */
parley_status pl_exchange_sum(pl_exchange *exchange, pl_entry_sum f, void *context, double *sums, parley_error *error);
/* The largest of what f leaves in sums[0] for each block. */
parley_status pl_exchange_largest(pl_exchange *exchange, pl_entry_sum f, void *context, double *largest,
                                  parley_error *error);
/* The slice of `size` entries that a rank would own. */
void pl_exchange_slice(const pl_exchange_type *type, bool whole, uint64_t size, unsigned rank, unsigned ranks,
                       uint64_t *begin, uint64_t *end);
uint64_t pl_exchange_begin(const pl_exchange *exchange); /* of this rank's slice */
uint64_t pl_exchange_end(const pl_exchange *exchange);
/* The sums over entries of v that problems and combines ask for. */
pl_entry_sums pl_exchange_sums(pl_exchange *exchange);

#endif
