/* server.c: slices of v live on servers, which are the ranks of the workers or, with --servers, others. A worker hands
 * its update to the owners of the entries that it changed, and reads the entries that it will need, at its own pace:
 *
 *     staleness 0      every clock of all workers closes before the next one begins (BSP)
 *     staleness s      a worker is at most s clocks ahead of the slowest one (SSP)
 *     staleness async  nobody waits (ASP)
 *     backups b        with staleness 0, a clock waits for all but b workers, and later updates are dropped
 *
 * The owner enforces the bound. A worker reaches the slice of its own rank through memory and the others by messages,
 * which a task of their owner answers. Staleness 0 without backups is the synchronous clock, unless --clocks asks for
 * several clocks between parks. */
#include "method/exchange/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/collective.h"

/* A hosted worker. */
typedef struct reader {
    double *v;             /* its copy, in which the entries that it reads are filled in */
    const uint32_t *entry; /* that it reads; NULL: all */
    uint64_t *first;       /* by rank: where the entries of its slice begin in the list; ranks + 1 */
    double *raw;           /* by entry of the list: the owner's value, before its scale */
    uint64_t *seen;        /* by rank: the owner's version that was read last */
    double *scale;         /* by rank */
    pl_span room, answer;
} reader;

typedef struct server {
    pl_owner owner;
    reader *reader;
    bool is_registered;
} server;

static bool owns(const pl_exchange *exchange, unsigned rank) {
    return exchange->bounds[rank + 1] > exchange->bounds[rank];
}

static uint64_t entries_of(const reader *reader, unsigned rank) {
    return reader->first[rank + 1] - reader->first[rank];
}

static const uint32_t *list_of(const reader *reader, unsigned rank) {
    return reader->entry ? reader->entry + reader->first[rank] : NULL;
}

uint64_t pl_staleness(const parley_settings *settings) {
    return strcmp(settings->staleness, "async") == 0 ? PL_UNBOUNDED : strtoull(settings->staleness, NULL, 10);
}

bool pl_waits(const parley_settings *settings) {
    return pl_staleness(settings) == 0 && !settings->backups && settings->clocks <= 1;
}

/* Lists of the entries that workers read. */

static void cut_list(const pl_exchange *exchange, reader *reader, uint64_t count) {
    unsigned ranks = exchange->team->engine->ranks;
    uint64_t e = 0;
    for (unsigned r = 0; r <= ranks; r++) {
        while (reader->entry && e < count && reader->entry[e] < exchange->bounds[r])
            e++;
        reader->first[r] = reader->entry ? e : exchange->bounds[r];
    }
}

static parley_status send_list(pl_exchange *exchange, unsigned k, unsigned to, parley_error *error) {
    server *self = exchange->own;
    reader *reader = &self->reader[k];
    pl_engine *engine = exchange->team->engine;
    uint64_t count = entries_of(reader, to), bytes = reader->entry ? count * sizeof *reader->entry : 0;
    pl_ask head = {.worker = exchange->team->first + k, .has_update = reader->entry != NULL, .count = count};
    if (!pl_span_reserve(&reader->room, sizeof head + bytes))
        return pl_fail_memory(error, "a message", bytes);
    memcpy(reader->room.data, &head, sizeof head);
    if (bytes)
        memcpy((char *)reader->room.data + sizeof head, list_of(reader, to), bytes);
    return engine->type->post(engine, to, PL_CHANNEL_SERVER, reader->room.data, sizeof head + bytes, error);
}

static parley_status take_list(pl_exchange *exchange, pl_span *room, parley_error *error) {
    server *self = exchange->own;
    pl_engine *engine = exchange->team->engine;
    unsigned from;
    uint64_t bytes;
    parley_status status = engine->type->take_any(engine, PL_CHANNEL_SERVER, &from, room, &bytes, error);
    if (status != PARLEY_OK)
        return status;
    const pl_ask *head = room->data;
    if (bytes < sizeof *head || head->worker >= self->owner.workers)
        return pl_fail_damaged(from, error);
    pl_client *client = &self->owner.client[head->worker];
    uint64_t list = head->has_update ? head->count * sizeof *client->owned : 0;
    if (client->rank != from || bytes != sizeof *head + list || client->owned)
        return pl_fail_damaged(from, error);
    client->count = head->count;
    if (!head->has_update)
        return PARLEY_OK;
    status = pl_take(&client->owned, client->count, sizeof *client->owned, "a list of entries", error);
    if (status == PARLEY_OK)
        memcpy(client->owned, head + 1, list);
    client->entry = client->owned;
    return status;
}

/* Tells every owner which of its entries each worker reads, once. */
static parley_status send_lists(pl_exchange *exchange, const pl_async_round *round, parley_error *error) {
    server *self = exchange->own;
    const pl_team *team = exchange->team;
    unsigned rank = team->engine->rank;
    parley_status status = PARLEY_OK;
    for (unsigned k = 0; k < team->hosted && status == PARLEY_OK; k++) {
        reader *reader = &self->reader[k];
        pl_client *client = &self->owner.client[team->first + k];
        uint64_t count;
        reader->entry = round->local->type->async->reads(round->local, k, &count);
        cut_list(exchange, reader, count);
        client->entry = list_of(reader, rank);
        client->count = entries_of(reader, rank);
        if (team->engine->ranks > 1)
            status = pl_take(&reader->raw, count, sizeof *reader->raw, "a copy of the model", error);
        for (unsigned r = 0; r < team->engine->ranks && status == PARLEY_OK; r++)
            if (r != rank && owns(exchange, r))
                status = send_list(exchange, k, r, error);
    }
    return status;
}

static parley_status register_lists(pl_exchange *exchange, const pl_async_round *round, parley_error *error) {
    server *self = exchange->own;
    const pl_team *team = exchange->team;
    pl_span room = {0};
    parley_status status = send_lists(exchange, round, error);
    for (unsigned n = team->hosted; n < team->workers && status == PARLEY_OK && owns(exchange, team->engine->rank); n++)
        status = take_list(exchange, &room, error);
    pl_span_free(&room);
    self->is_registered = status == PARLEY_OK;
    return status == PARLEY_OK ? pl_barrier(team->engine, error) : status; /* before requests on the same channel */
}

static parley_status begin(pl_exchange *exchange, const pl_async_round *round, parley_error *error) {
    server *self = exchange->own;
    parley_status status = self->is_registered ? PARLEY_OK : register_lists(exchange, round, error);
    if (status == PARLEY_OK)
        pl_owner_begin(&self->owner, round);
    /* A request of a rank that is ahead must find the owner ready. */
    return status == PARLEY_OK && exchange->team->engine->ranks > 1 ? pl_barrier(exchange->team->engine, error)
                                                                    : status;
}

/* If nobody sent anything, the worker for which all others wait is to blame. */
static parley_status blame(server *self, parley_status failure, parley_error *error) {
    pl_owner *owner = &self->owner;
    if (!pl_is_silence(error))
        return failure;
    pthread_mutex_lock(&owner->mutex);
    for (unsigned k = 0; k < owner->workers; k++)
        if (!owner->client[k].left && owner->client[k].clock == owner->slowest) {
            pl_fail(error, PARLEY_NO_PEER, "worker %u on rank %u has not made clock %llu for %g seconds", k,
                    owner->client[k].rank, (unsigned long long)owner->slowest + 1, owner->engine->deadline);
            break;
        }
    pthread_mutex_unlock(&owner->mutex);
    return failure;
}

/* What a turn still waits for, and what the answers say. */
typedef struct round_trip {
    pl_exchange *exchange;
    unsigned worker;
    pl_turn *turn;
    pl_ask head;
    unsigned open; /* answers that have not come */
    bool patient;  /* it has waited for a whole deadline */
    uint64_t clock;
    double gamma;
} round_trip;

static void note(round_trip *trip, const pl_answer *answer) {
    trip->clock = answer->clock > trip->clock ? answer->clock : trip->clock;
    trip->gamma = answer->gamma < trip->gamma ? answer->gamma : trip->gamma;
    trip->turn->behind = answer->behind > trip->turn->behind ? answer->behind : trip->turn->behind;
}

static parley_status ask_self(round_trip *trip, parley_error *error) {
    server *self = trip->exchange->own;
    pl_answer answer;
    const pl_ask *ask = self->reader[trip->worker].room.data;
    pl_arrived update = pl_ask_update(ask);
    bool ended;
    pthread_mutex_lock(&self->owner.mutex);
    parley_status status = pl_owner_handle(&self->owner, ask, &update, &answer, &ended, error);
    bool ready = !self->owner.client[ask->worker].waits;
    pthread_mutex_unlock(&self->owner.mutex);
    if (status == PARLEY_OK && ready)
        note(trip, &answer);
    trip->open += !ready;
    return status;
}

static parley_status ask_owner(round_trip *trip, unsigned rank, parley_error *error) {
    pl_exchange *exchange = trip->exchange;
    pl_engine *engine = exchange->team->engine;
    reader *reader = &((server *)exchange->own)->reader[trip->worker];
    trip->head.seen = reader->seen[rank];
    uint64_t bytes = pl_ask_write(&trip->head, trip->turn->update, list_of(reader, rank), entries_of(reader, rank),
                                  exchange->bounds[rank], exchange->bounds[rank + 1], &reader->room);
    if (!bytes)
        return pl_fail_memory(error, "a message", sizeof trip->head);
    trip->turn->sent += bytes;
    trip->turn->messages++;
    if (rank == engine->rank)
        return ask_self(trip, error);
    trip->open++;
    return engine->type->post(engine, rank, PL_CHANNEL_SERVER, reader->room.data, bytes, error);
}

static parley_status take_answer(round_trip *trip, parley_error *error) {
    pl_exchange *exchange = trip->exchange;
    pl_engine *engine = exchange->team->engine;
    reader *reader = &((server *)exchange->own)->reader[trip->worker];
    unsigned from;
    uint64_t bytes;
    parley_status status =
        engine->type->take_any(engine, PL_CHANNEL_ANSWER + trip->worker, &from, &reader->answer, &bytes, error);
    if (status != PARLEY_OK && pl_is_silence(error) && !owns(exchange, engine->rank) && !trip->patient) {
        trip->patient = true; /* an owner knows who is late, and says so first */
        return take_answer(trip, error);
    }
    if (status != PARLEY_OK)
        return owns(exchange, engine->rank) ? blame(exchange->own, status, error) : status;
    const pl_answer *answer = reader->answer.data;
    if (bytes < sizeof *answer)
        return pl_fail_damaged(from, error);
    note(trip, answer);
    trip->open--;
    trip->turn->messages++;
    if (from == engine->rank)
        return status;
    trip->turn->received += bytes;
    reader->scale[from] = answer->scale;
    if (trip->head.last)
        return status;
    reader->seen[from] = answer->version;
    return pl_answer_read(answer, bytes, entries_of(reader, from), reader->raw + reader->first[from])
               ? status
               : pl_fail_damaged(from, error);
}

/* Fills in the worker's copy: the slices of other ranks from its raw copies, that of its own rank from memory. */
static void fill_copy(pl_exchange *exchange, reader *reader, pl_turn *turn) {
    server *self = exchange->own;
    unsigned rank = exchange->team->engine->rank;
    for (unsigned r = 0; r < exchange->team->engine->ranks; r++) {
        bool mine = r == rank;
        if (mine)
            pthread_mutex_lock(&self->owner.mutex);
        double scale = mine ? self->owner.scale : reader->scale[r];
        for (uint64_t e = reader->first[r]; e < reader->first[r + 1]; e++) {
            uint64_t j = reader->entry ? reader->entry[e] : e;
            reader->v[j] = scale * (mine ? self->owner.slice.v[j] : reader->raw[e]);
        }
        if (mine)
            pthread_mutex_unlock(&self->owner.mutex);
    }
    turn->received += entries_of(reader, rank) * sizeof(double);
    turn->v = reader->v;
}

static parley_status swap(pl_exchange *exchange, unsigned worker, pl_turn *turn, parley_error *error) {
    const pl_team *team = exchange->team;
    reader *reader = &((server *)exchange->own)->reader[worker];
    uint64_t made = turn->update ? 1 : 0;
    round_trip trip = {.exchange = exchange,
                       .worker = worker,
                       .turn = turn,
                       .clock = turn->clock + made,
                       .gamma = 1.0,
                       .head = {.worker = team->first + worker,
                                .kind = PL_ASK_SWAP,
                                .has_update = turn->update != NULL,
                                .last = turn->last,
                                .clock = turn->clock,
                                .shrink = turn->update ? turn->update->shrink : 1.0,
                                .share = turn->share,
                                .fraction = turn->fraction}};
    parley_status status = PARLEY_OK;
    turn->behind = 0;
    for (unsigned n = 1; n <= team->engine->ranks && status == PARLEY_OK;
         n++) { /* the own slice last: others take longer */
        unsigned rank = (team->engine->rank + n) % team->engine->ranks;
        if (owns(exchange, rank))
            status = ask_owner(&trip, rank, error);
    }
    while (trip.open > 0 && status == PARLEY_OK)
        status = take_answer(&trip, error);
    turn->clock = trip.clock;
    turn->gamma = trip.gamma;
    if (status == PARLEY_OK && !turn->last)
        fill_copy(exchange, reader, turn);
    pl_engine_compute(team->engine, (double)reader->first[team->engine->ranks] * team->engine->entry_seconds);
    return status;
}

static parley_status leave_self(server *self, const pl_ask *ask, parley_error *error) {
    pl_engine *engine = self->owner.engine;
    bool ended = false;
    pthread_mutex_lock(&self->owner.mutex);
    parley_status status = pl_owner_handle(&self->owner, ask, NULL, NULL, &ended, error);
    pthread_mutex_unlock(&self->owner.mutex);
    return status == PARLEY_OK && ended && engine->ranks > 1 ? pl_ask_end(engine, PL_CHANNEL_SERVER, error) : status;
}

static parley_status leave(pl_exchange *exchange, unsigned worker, parley_error *error) {
    pl_engine *engine = exchange->team->engine;
    pl_ask ask = {.worker = exchange->team->first + worker, .kind = PL_ASK_LEAVE};
    parley_status status = PARLEY_OK;
    for (unsigned r = 0; r < engine->ranks && status == PARLEY_OK; r++)
        if (owns(exchange, r))
            status = r == engine->rank ? leave_self(exchange->own, &ask, error)
                                       : engine->type->post(engine, r, PL_CHANNEL_SERVER, &ask, sizeof ask, error);
    return status;
}

/* Handles one message of another rank. */
static parley_status serve_one(pl_exchange *exchange, pl_span *room, bool *ended, parley_error *error) {
    server *self = exchange->own;
    pl_owner *owner = &self->owner;
    pl_arrived update;
    unsigned from;
    uint64_t bytes;
    parley_status status = owner->engine->type->take_any(owner->engine, PL_CHANNEL_SERVER, &from, room, &bytes, error);
    if (status != PARLEY_OK)
        return blame(self, status, error);
    const pl_ask *ask = room->data;
    if (!pl_ask_read(ask, bytes, exchange->bounds[owner->engine->rank], exchange->bounds[owner->engine->rank + 1],
                     &update))
        return pl_fail_damaged(from, error);
    if (ask->worker == PL_ASK_NOBODY && from == owner->engine->rank) {
        *ended = true;
        return status;
    }
    if (ask->worker >= owner->workers || owner->client[ask->worker].rank != from)
        return pl_fail_damaged(from, error);
    pthread_mutex_lock(&owner->mutex);
    status = pl_owner_handle(owner, ask, &update, NULL, ended, error);
    uint64_t handled = update.count + (ask->last ? 0 : owner->client[ask->worker].count);
    pthread_mutex_unlock(&owner->mutex);
    pl_engine_compute(owner->engine, (double)handled * owner->engine->entry_seconds);
    return status;
}

static parley_status serve(pl_exchange *exchange, parley_error *error) {
    pl_engine *engine = exchange->team->engine;
    pl_span room = {0};
    parley_status status = PARLEY_OK;
    bool ended = engine->ranks == 1 || !owns(exchange, engine->rank);
    while (!ended && status == PARLEY_OK)
        status = serve_one(exchange, &room, &ended, error);
    pl_span_free(&room);
    return status;
}

static parley_status park(pl_exchange *exchange, double *v, parley_error *error) {
    pl_owner_fold(&((server *)exchange->own)->owner);
    return pl_exchange_spread(exchange, v, error);
}

static uint64_t bytes(const pl_setup *setup, bool whole) {
    uint64_t ranks = setup->team->engine->ranks, copies = ranks > 1 ? 2 : 1;
    return pl_tables_bytes(setup, whole) + setup->team->hosted * setup->entries * copies * sizeof(double) +
           (setup->end - setup->begin) * sizeof(uint32_t);
}

static void close_server(pl_exchange *exchange) {
    server *self = exchange ? exchange->own : NULL;
    for (unsigned k = 0; self && self->reader && k < exchange->team->hosted; k++) {
        reader *reader = &self->reader[k];
        pl_free(reader->v);
        pl_free(reader->first);
        pl_free(reader->raw);
        pl_free(reader->seen);
        pl_free(reader->scale);
        pl_span_free(&reader->room);
        pl_span_free(&reader->answer);
    }
    if (self) {
        pl_free(self->reader);
        pl_owner_close(&self->owner);
    }
    pl_free(self);
    pl_tables_close(exchange);
}

static parley_status open_readers(server *self, const pl_setup *setup, parley_error *error) {
    uint64_t ranks = setup->team->engine->ranks;
    parley_status status = pl_take(&self->reader, setup->team->hosted, sizeof *self->reader, "workers", error);
    for (unsigned k = 0; k < setup->team->hosted && status == PARLEY_OK; k++) {
        reader *reader = &self->reader[k];
        status = pl_take(&reader->v, setup->entries, sizeof *reader->v, "a copy of the model", error);
        if (status == PARLEY_OK)
            status = pl_take(&reader->first, ranks + 1, sizeof *reader->first, "workers", error);
        if (status == PARLEY_OK)
            status = pl_take(&reader->seen, ranks, sizeof *reader->seen, "workers", error);
        if (status == PARLEY_OK)
            status = pl_take(&reader->scale, ranks, sizeof *reader->scale, "workers", error);
    }
    return status;
}

static parley_status fill_server(pl_exchange *exchange, const pl_setup *setup, parley_error *error) {
    server *self = exchange->own;
    unsigned workers = setup->team->workers;
    uint64_t backups = setup->settings->backups;
    if (backups >= workers && !pl_setting_given(setup->settings, "backups"))
        backups = workers - 1;
    parley_status status = pl_owner_open(&self->owner, setup, pl_staleness(setup->settings), (unsigned)backups, error);
    if (status == PARLEY_OK && backups >= workers)
        status = pl_fail(error, PARLEY_BAD_USAGE, "--backups %llu leaves no worker of %u to wait for; use fewer",
                         (unsigned long long)backups, workers);
    return status == PARLEY_OK ? open_readers(self, setup, error) : status;
}

static parley_status open_server(const pl_setup *setup, bool whole, pl_exchange **out, parley_error *error) {
    if (setup->entries > UINT32_MAX)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "exchange server takes models of at most %llu entries at a pace of their own; use --staleness 0",
                       (unsigned long long)UINT32_MAX);
    return pl_open_with(&pl_exchange_server, setup, whole, sizeof(server), fill_server, out, error);
}

/* Every worker sends its update to the owners and reads the table from them, all but the part of its own machine. */
static void traffic(unsigned workers, unsigned worker, uint64_t update_bytes, uint64_t table_bytes, uint64_t *sent,
                    uint64_t *received) {
    (void)worker;
    uint64_t others = workers - 1, each = (update_bytes + table_bytes) / workers * others;
    *sent = *received = each;
}

static parley_status open_synchronous(const pl_setup *setup, bool whole, pl_exchange **out, parley_error *error) {
    return pl_tables_open(&pl_exchange_server, setup, whole, out, error);
}

static parley_status check(const parley_settings *settings, parley_error *error) {
    const char *word = settings->staleness;
    char *end;
    bool async = strcmp(word, "async") == 0;
    double number = async ? 0.0 : strtod(word, &end);
    if (!async && (end == word || *end || number < 0 || number > 1e9 || number != (double)(uint64_t)number))
        return pl_fail(error, PARLEY_BAD_USAGE, "--staleness %s: must be a whole number, or async", word);
    if (settings->backups && (async || number > 0))
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "--backups drops late updates of a clock, which --staleness %s has not; use --staleness 0",
                       word);
    return PARLEY_OK;
}

static const char *const reads[] = {"servers", "staleness", "backups", "clocks", NULL};

static const pl_exchange_async async = {.begin = begin, .swap = swap, .leave = leave, .serve = serve, .park = park};

static const pl_exchange_type synchronous = {
    .name = "server",
    .clock = PL_SYNCHRONOUS,
    .carries = PL_CARRIES_UPDATES | PL_CARRIES_DIRECTIONS,
    .repeats = true,
    .settings = reads,
    .bytes = pl_tables_bytes,
    .open = open_synchronous,
    .close = pl_tables_close,
    .traffic = traffic,
};

const pl_exchange_type pl_exchange_server = {
    .name = "server",
    .help = "owners of slices take updates and are read by each worker at its own pace (parameter servers)",
    .clock = PL_ASYNCHRONOUS,
    .async = &async,
    .carries = PL_CARRIES_UPDATES,
    .settings = reads,
    .in_step = &synchronous,
    .check = check,
    .bytes = bytes,
    .open = open_server,
    .state = pl_clock_state,
    .close = close_server,
    .traffic = traffic,
};
