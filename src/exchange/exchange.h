/* exchange.h: who talks to whom. Moves updates to the owners of v, and the new v back. */
#ifndef PL_EXCHANGE_H
#define PL_EXCHANGE_H

#include "combine/combine.h"
#include "engine/packet.h"

typedef struct pl_exchange pl_exchange;

#define PL_BLOCK 4096 /* entries of v whose sums are added in order; blocks are added as a tree */

/* Synchronous exchanges are only who owns what: reduce and spread, below, are the same for all. Asynchronous ones move
 * updates themselves: a task for each worker pulls, works and pushes, a task for each rank that owns a slice serves,
 * until all workers have reached the clock of the next park. */
typedef struct pl_exchange_type {
    const char *name, *help;
    bool one_owner; /* rank 0 owns all of v */
    bool in_place;  /* no exchange at all: the workers step in one v in memory */
    /* The worker's copy of v for its clock (from 1): waits until that is fresh enough. NULL: synchronous. */
    parley_status (*pull)(pl_exchange *exchange, unsigned worker, uint64_t clock, double *v, parley_error *error);
    /* Its update to the owners; `gamma` is the step with which they took it, 0: came too late. */
    parley_status (*push)(pl_exchange *exchange, unsigned worker, uint64_t clock, const pl_update *update,
                          double *gamma, parley_error *error);
    /* The owner's task: applies pushes by the combine and answers pulls, until all workers are past `clock`. */
    parley_status (*serve)(pl_exchange *exchange, pl_combine *combine, uint64_t clock, parley_error *error);
    /* When all tasks have ended: nothing is under way any more, and `v` is whole and alike on all ranks. */
    parley_status (*park)(pl_exchange *exchange, double *v, parley_error *error);
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
    uint64_t sent, received; /* bytes of tables, to and from other ranks; whoever reads them may set them to 0 */
};

extern const pl_exchange_type pl_exchange_allreduce, pl_exchange_driver, pl_exchange_shared;
extern const pl_exchange_type *const pl_exchanges[];
extern const unsigned pl_exchanges_count;

/* `whole`: one owner whatever the type says. */
parley_status pl_exchange_open(const pl_exchange_type *type, const pl_team *team, uint64_t size, uint64_t width,
                               bool whole, pl_exchange **out, parley_error *error);
/* Says what will be reduced next, before the ranks meet for something else. */
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
void pl_exchange_close(pl_exchange *exchange);

#endif
