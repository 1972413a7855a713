/* exchange.c: reduces updates to the owners of v and distributes the result. Exchanges differ in who owns what, and so
 * in who sends what to whom. All of them add in the order of the canonical tree. */
#include "method/exchange.h"

#include <math.h>
#include <string.h>

#include "engine/collective.h"
#include "engine/shared_memory.h"
#include "math/sparse.h"

#define MANY_ENTRIES (1u << 16)
#define STRIP 512     /* entries that one recursion adds at a time, so that its sums stay in the first-level cache */
#define TREE_DEPTH 18 /* for 65536 workers, plus one */

uint64_t pl_exchange_begin(const pl_exchange *exchange) { return exchange->bounds[exchange->team->engine->rank]; }
uint64_t pl_exchange_end(const pl_exchange *exchange) { return exchange->bounds[exchange->team->engine->rank + 1]; }

/* Runs a task for each block of `entries`, on this thread if all of them take less time than waking another one. */
static void run_blocks(pl_engine *engine, pl_task task, void *context, uint64_t entries, uint64_t cost) {
    unsigned blocks = (unsigned)((entries + PL_BLOCK - 1) / PL_BLOCK);
    double began = pl_engine_cpu(engine);
    if (entries * cost >= MANY_ENTRIES)
        engine->type->run(engine, task, context, blocks);
    else
        for (unsigned b = 0; b < blocks; b++)
            task(context, b);
    engine->adding += pl_engine_cpu(engine) - began;
}

/* Entries [begin, end) of one worker's update, times its share. */
static void leaf(const pl_update *update, double share, uint64_t begin, uint64_t end, double *out) {
    uint64_t width = update->row ? update->row : 1, rows = update->count / width;
    if (!update->index || update->wide) {
        for (uint64_t j = begin; j < end; j++)
            out[j - begin] = share * update->value[j];
        return;
    }
    memset(out, 0, (end - begin) * sizeof *out);
    for (uint64_t r = pl_sparse_first(update->index, 0, rows, begin / width);
         r < rows && update->index[r] * width < end; r++)
        for (uint64_t c = 0; c < width; c++) {
            uint64_t j = update->index[r] * width + c;
            if (j >= begin && j < end)
                out[j - begin] = share * update->value[r * width + c];
        }
}

typedef struct reduction {
    const pl_update *update;
    const double *share;
    unsigned first; /* the number of hosted worker 0 */
    pl_node node;
    uint64_t count;
    double *out;
} reduction;

/* Sums entries [begin, end) over the workers of a node. `scratch` has STRIP entries for each level below. */
static void sum_node(const reduction *reduction, pl_node node, uint64_t begin, uint64_t end, double *out,
                     double *scratch) {
    if (node.end - node.begin == 1) {
        unsigned k = node.begin - reduction->first;
        leaf(&reduction->update[k], reduction->share[k], begin, end, out);
        return;
    }
    unsigned split = pl_tree_split(node.begin, node.end);
    sum_node(reduction, (pl_node){node.begin, split}, begin, end, out, scratch);
    sum_node(reduction, (pl_node){split, node.end}, begin, end, scratch, scratch + STRIP);
    for (uint64_t j = 0; j < end - begin; j++)
        out[j] += scratch[j];
}

static void strip_task(void *context, unsigned task) {
    const reduction *reduction = context;
    double scratch[STRIP * TREE_DEPTH];
    uint64_t begin = (uint64_t)task * PL_BLOCK,
             end = begin + PL_BLOCK < reduction->count ? begin + PL_BLOCK : reduction->count;
    for (; begin < end; begin += STRIP)
        sum_node(reduction, reduction->node, begin, begin + STRIP < end ? begin + STRIP : end, reduction->out + begin,
                 scratch);
}

void pl_exchange_add(const pl_update *update, const double *share, unsigned workers, uint64_t begin, uint64_t end,
                     double *out) {
    reduction reduction = {update, share, 0, {0, workers}, 0, NULL};
    double scratch[STRIP * TREE_DEPTH];
    for (uint64_t at = begin; at < end; at += STRIP)
        sum_node(&reduction, reduction.node, at, at + STRIP < end ? at + STRIP : end, out + (at - begin), scratch);
}

/* Bytes that the engine has sent and received so far. */
typedef struct meter {
    uint64_t sent, received;
} meter;

static meter read_meter(const pl_engine *engine) { return (meter){engine->bytes_sent, engine->bytes_received}; }

static void count_bytes(pl_exchange *exchange, meter before) {
    const pl_engine *engine = exchange->team->engine;
    exchange->sent += engine->bytes_sent - before.sent;
    exchange->received += engine->bytes_received - before.received;
}

/* Whether the update is that of a single worker, which can be sent without a sum. */
static bool is_ready(const pl_update *update, double share, uint64_t columns, pl_addend *addend) {
    if ((!update->index || update->wide) && share == 1.0)
        *addend = (pl_addend){.values = update->value};
    else if (update->index && !update->wide && update->row <= 1 && columns == 1)
        *addend = (pl_addend){.index = update->index, .value = update->value, .count = update->count, .share = share};
    else
        return false;
    return true;
}

/* Sums the workers of each of this rank's nodes. */
static void add_nodes(pl_exchange *exchange, uint64_t columns, const pl_update *update, const double *share,
                      double *change) {
    const pl_team *team = exchange->team;
    pl_engine *engine = team->engine;
    uint64_t count = exchange->size * columns;
    pl_node nodes[PL_TREE_NODES];
    unsigned number = pl_tree_nodes(team->workers, team->first, team->first + team->hosted, nodes);
    for (unsigned n = 0; n < number; n++) {
        double *out = engine->ranks == 1 ? change : exchange->nodes + n * count;
        unsigned k = nodes[n].begin - team->first;
        if (engine->ranks > 1 && nodes[n].end - nodes[n].begin == 1 &&
            is_ready(&update[k], share[k], columns, &exchange->addends[n]))
            continue;
        if (engine->ranks > 1)
            exchange->addends[n] = (pl_addend){.values = out};
        reduction reduction = {update, share, team->first, nodes[n], count, out};
        run_blocks(engine, strip_task, &reduction, count, nodes[n].end - nodes[n].begin);
    }
}

void pl_exchange_offer(pl_exchange *exchange, const pl_update *update, const double *share) {
    const pl_team *team = exchange->team;
    if (team->engine->ranks == 1)
        return;
    meter meter = read_meter(team->engine);
    add_nodes(exchange, exchange->width, update, share, NULL);
    pl_reduce_offer(team->engine, team->workers, exchange->addends, exchange->size, exchange->width, exchange->bounds);
    exchange->offered = true;
    count_bytes(exchange, meter);
}

parley_status pl_exchange_reduce(pl_exchange *exchange, uint64_t columns, const pl_update *update, const double *share,
                                 double *change, parley_error *error) {
    const pl_team *team = exchange->team;
    pl_engine *engine = team->engine;
    bool offered = exchange->offered && columns == exchange->width;
    exchange->offered = false;
    parley_status status = offered ? PARLEY_OK : pl_shared_wait_read(engine, error);
    if (status == PARLEY_OK && !offered)
        add_nodes(exchange, columns, update, share, change);
    if (engine->ranks == 1 || status != PARLEY_OK)
        return status;
    meter meter = read_meter(engine);
    status = pl_reduce_scatter(engine, team->workers, exchange->addends, exchange->size, columns, exchange->bounds,
                               change, error);
    count_bytes(exchange, meter);
    return status;
}

parley_status pl_exchange_spread(pl_exchange *exchange, double *table, parley_error *error) {
    meter meter = read_meter(exchange->team->engine);
    parley_status status = pl_all_gather(exchange->team->engine, table, exchange->bounds, error);
    count_bytes(exchange, meter);
    return status;
}

typedef struct summation {
    const pl_exchange *exchange;
    pl_entry_sum f;
    void *context;
} summation;

static void block_task(void *context, unsigned task) {
    const summation *summation = context;
    const pl_exchange *exchange = summation->exchange;
    uint64_t begin = pl_exchange_begin(exchange) + (uint64_t)task * PL_BLOCK, end = begin + PL_BLOCK;
    double sums[PL_OWN_SCALARS] = {0};
    summation->f(summation->context, begin, end < pl_exchange_end(exchange) ? end : pl_exchange_end(exchange), sums);
    memcpy(exchange->block_sums + begin / PL_BLOCK * PL_OWN_SCALARS, sums, sizeof sums);
}

static parley_status gather_blocks(pl_exchange *exchange, pl_entry_sum f, void *context, parley_error *error) {
    pl_engine *engine = exchange->team->engine;
    summation summation = {exchange, f, context};
    uint64_t mine = pl_exchange_end(exchange) - pl_exchange_begin(exchange);
    run_blocks(engine, block_task, &summation, mine, 1);
    return pl_all_gather(engine, exchange->block_sums, exchange->block_bounds, error);
}

parley_status pl_exchange_sum(pl_exchange *exchange, pl_entry_sum f, void *context, double *sums, parley_error *error) {
    parley_status status = gather_blocks(exchange, f, context, error);
    if (status == PARLEY_OK) {
        pl_tree_add(exchange->block_sums, (exchange->size + PL_BLOCK - 1) / PL_BLOCK, PL_OWN_SCALARS, PL_OWN_SCALARS);
        memcpy(sums, exchange->block_sums, PL_OWN_SCALARS * sizeof *sums);
    }
    return status;
}

parley_status pl_exchange_largest(pl_exchange *exchange, pl_entry_sum f, void *context, double *largest,
                                  parley_error *error) {
    parley_status status = gather_blocks(exchange, f, context, error);
    *largest = 0;
    for (uint64_t b = 0; b < (exchange->size + PL_BLOCK - 1) / PL_BLOCK && status == PARLEY_OK; b++)
        *largest = fmax(*largest, exchange->block_sums[b * PL_OWN_SCALARS]);
    return status;
}

void pl_tables_close(pl_exchange *exchange) {
    if (!exchange)
        return;
    pl_free(exchange->bounds);
    pl_shared_free(exchange->team->engine, exchange->nodes);
    pl_free(exchange->addends);
    pl_free(exchange->block_sums);
    pl_free(exchange->block_bounds);
    pl_free(exchange);
}

static parley_status sum_entries(void *exchange, pl_entry_sum f, void *context, double *sums, parley_error *error) {
    return pl_exchange_sum(exchange, f, context, sums, error);
}

static parley_status largest_entry(void *exchange, pl_entry_sum f, void *context, double *largest,
                                   parley_error *error) {
    return pl_exchange_largest(exchange, f, context, largest, error);
}

pl_entry_sums pl_exchange_sums(pl_exchange *exchange) { return (pl_entry_sums){exchange, sum_entries, largest_entry}; }

/* Slices begin at multiples of PL_BLOCK, so that sums have the same blocks for any number of ranks. */
static uint64_t first_block(const pl_owners_of_v *owners, uint64_t size, unsigned rank) {
    uint64_t blocks = (size + PL_BLOCK - 1) / PL_BLOCK;
    unsigned first = owners->servers ? owners->ranks - owners->servers : 0;
    return rank <= first ? 0 : owners->one ? blocks : blocks * (rank - first) / (owners->ranks - first);
}

static uint64_t first_entry(const pl_owners_of_v *owners, uint64_t size, unsigned rank) {
    uint64_t entry = first_block(owners, size, rank) * PL_BLOCK;
    return entry < size ? entry : size;
}

void pl_exchange_slice(const pl_owners_of_v *owners, uint64_t size, unsigned rank, uint64_t *begin, uint64_t *end) {
    *begin = first_entry(owners, size, rank);
    *end = first_entry(owners, size, rank + 1);
}

pl_owners_of_v pl_exchange_owners(const pl_exchange_type *type, bool whole, const pl_engine *engine) {
    return (pl_owners_of_v){engine->ranks, engine->servers, whole || type->one_owner};
}

static void cut_slices(pl_exchange *exchange, const pl_owners_of_v *owners) {
    for (unsigned r = 0; r <= owners->ranks; r++) {
        exchange->bounds[r] = first_entry(owners, exchange->size, r);
        exchange->block_bounds[r] = first_block(owners, exchange->size, r) * PL_OWN_SCALARS;
    }
}

/* The maximal nodes of the tree that this rank sums before it sends them. */
static uint64_t own_nodes(const pl_team *team) {
    pl_node nodes[PL_TREE_NODES];
    return team->engine->ranks == 1 ? 0 : pl_tree_nodes(team->workers, team->first, team->first + team->hosted, nodes);
}

uint64_t pl_tables_bytes(const pl_setup *setup, bool whole) {
    (void)whole;
    return own_nodes(setup->team) * setup->entries * setup->width * sizeof(double);
}

parley_status pl_tables_open(const pl_exchange_type *type, const pl_setup *setup, bool whole, pl_exchange **out,
                             parley_error *error) {
    const pl_team *team = setup->team;
    unsigned ranks = team->engine->ranks;
    uint64_t size = setup->entries, width = setup->width, blocks = (size + PL_BLOCK - 1) / PL_BLOCK;
    pl_exchange *self;
    parley_status status = pl_take(&self, 1, sizeof *self, "an exchange", error);
    if (status != PARLEY_OK)
        return status;
    *self = (pl_exchange){.type = type, .team = team, .size = size, .width = width};
    uint64_t number = own_nodes(team);
    self->bounds = pl_alloc(ranks + 1, sizeof *self->bounds);
    self->block_bounds = pl_alloc(ranks + 1, sizeof *self->block_bounds);
    self->nodes = pl_shared_alloc(team->engine, number * size * width, sizeof *self->nodes);
    self->addends = pl_alloc(number, sizeof *self->addends);
    self->block_sums = pl_alloc((blocks + 1) * PL_OWN_SCALARS, sizeof *self->block_sums);
    if (!self->bounds || !self->block_bounds || !self->nodes || !self->addends || !self->block_sums) {
        pl_tables_close(self);
        return pl_fail_memory(error, "an exchange", (number * width + 1) * size * sizeof *self->nodes);
    }
    pl_owners_of_v owners = pl_exchange_owners(type, whole, team->engine);
    cut_slices(self, &owners);
    *out = self;
    return PARLEY_OK;
}
