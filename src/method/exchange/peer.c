/* peer.c: every worker has its own copy of v. After each clock it adds its update to its copy, sends it to all others
 * without waiting for them, and adds what it has received meanwhile (Hogwild by messages). At a park the copies, which
 * then have the same updates in another order, are averaged; that mean is what is evaluated and validated.
 *
 * What is received and not yet added is kept as (scale, table): a copy u becomes scale (u + table). A rank gets each
 * update of another rank once, for all its workers. It confirms it, and a worker waits while too many updates to one
 * rank are not confirmed.
 *
 * If there are validation rows, rank 0 has one more copy, which no worker steps in: the coordinator's view, for looks
 * at v between parks. */
#include <math.h>
#include <string.h>

#include "engine/collective.h"
#include "method/exchange/server.h"

#define WINDOW 64 /* updates of a rank on their way to another one */
#define LEAST_SCALE 1e-100

/* A hosted worker. */
typedef struct copy {
    double *v, *table;
    double scale;
    bool fresh;            /* something was received */
    bool waits;            /* for confirmations */
    const uint32_t *entry; /* that its updates may change; NULL: all */
    uint64_t count;
    pl_span room, answer;
} copy;

typedef struct peer {
    pthread_mutex_t mutex;
    pl_engine *engine;
    unsigned workers, hosted, left; /* of all workers, those that have left */
    unsigned leaving;               /* of the hosted ones, those that have left or are about to */
    bool ended;                     /* workers are to leave after their current clock */
    copy *copy;
    copy *view;           /* NULL: nobody looks before the park */
    uint64_t wanted;      /* the clock that the coordinator waits for, while view->waits */
    uint64_t from;        /* clocks before this round */
    uint64_t *clock;      /* by worker: as far as this rank knows */
    unsigned *in_flight;  /* by rank: updates that it has not confirmed */
    unsigned unconfirmed; /* their sum */
    pl_slice slice;
    pl_update *update; /* room for the average */
    double *share;
} peer;

/* The mutex is held. A copy u becomes factor u + share change. */
static void receive(copy *copy, double factor, double share, const pl_arrived *update, uint64_t size) {
    copy->scale *= factor;
    copy->fresh = true;
    if (!(fabs(copy->scale) > LEAST_SCALE)) { /* the old values count for nothing */
        memset(copy->table, 0, size * sizeof *copy->table);
        memset(copy->v, 0, size * sizeof *copy->v);
        copy->scale = 1.0;
    }
    double step = share / copy->scale;
    for (uint64_t e = 0; e < update->count; e++)
        copy->table[update->entry[e]] += step * update->value[e];
}

/* The mutex is held. Adds what was received. */
static void add_received(copy *copy, uint64_t size) {
    if (!copy->fresh)
        return;
    for (uint64_t j = 0; j < size; j++) {
        copy->v[j] = copy->scale * (copy->v[j] + copy->table[j]);
        copy->table[j] = 0;
    }
    copy->scale = 1.0;
    copy->fresh = false;
}

/* The mutex is held. Gives the update of worker `from` to all hosted workers, itself included. */
static void share_out(pl_exchange *exchange, const pl_ask *ask, const pl_arrived *update) {
    peer *self = exchange->own;
    double factor = 1.0 + ask->share * (ask->shrink - 1.0);
    for (unsigned k = 0; k < self->hosted; k++)
        receive(&self->copy[k], factor, ask->share, update, exchange->size);
    if (self->view)
        receive(self->view, factor, ask->share, update, exchange->size);
    self->clock[ask->worker] = ask->clock + 1;
}

static uint64_t slowest(const peer *self) {
    uint64_t least = PL_UNBOUNDED;
    for (unsigned k = 0; k < self->workers; k++)
        least = self->clock[k] < least ? self->clock[k] : least;
    return least;
}

/* The mutex is held. The coordinator may look. */
static parley_status wake_view(peer *self, parley_error *error) {
    if (!self->view || !self->view->waits || (self->left < self->workers && slowest(self) < self->wanted))
        return PARLEY_OK;
    self->view->waits = false;
    return self->engine->type->post(self->engine, self->engine->rank, PL_CHANNEL_VIEW, "", 1, error);
}

/* The mutex is held. Whether everything is done; then the task that serves may end. */
static bool is_over(const peer *self) { return self->left == self->workers && self->unconfirmed == 0; }

/* Waits until updates may be sent to the rank. */
static parley_status wait_for_room(peer *self, unsigned k, unsigned rank, parley_error *error) {
    pl_engine *engine = self->engine;
    copy *copy = &self->copy[k];
    unsigned from;
    uint64_t bytes;
    for (;;) {
        pthread_mutex_lock(&self->mutex);
        bool room = self->in_flight[rank] < WINDOW;
        self->in_flight[rank] += room;
        self->unconfirmed += room;
        copy->waits = !room;
        pthread_mutex_unlock(&self->mutex);
        if (room)
            return PARLEY_OK;
        parley_status status =
            engine->type->take_any(engine, PL_CHANNEL_ANSWER + k, &from, &copy->answer, &bytes, error);
        if (status != PARLEY_OK)
            return pl_is_silence(error) ? pl_fail(error, PARLEY_NO_PEER, "rank %u received nothing for %g seconds",
                                                  rank, engine->deadline)
                                        : status;
    }
}

static parley_status send_update(pl_exchange *exchange, unsigned k, pl_turn *turn, parley_error *error) {
    peer *self = exchange->own;
    copy *copy = &self->copy[k];
    pl_engine *engine = self->engine;
    pl_ask head = {.worker = exchange->team->first + k,
                   .kind = PL_ASK_SWAP,
                   .has_update = true,
                   .clock = turn->clock,
                   .shrink = turn->update->shrink,
                   .share = turn->share};
    uint64_t bytes = pl_ask_write(&head, turn->update, copy->entry, copy->count, 0, exchange->size, &copy->room);
    if (!bytes)
        return pl_fail_memory(error, "a message", sizeof head);
    const pl_ask *ask = copy->room.data;
    pl_arrived update = pl_ask_update(ask);
    pthread_mutex_lock(&self->mutex);
    share_out(exchange, ask, &update);
    parley_status status = wake_view(self, error);
    pthread_mutex_unlock(&self->mutex);
    for (unsigned n = 1; n < engine->ranks && status == PARLEY_OK; n++) {
        unsigned rank = (engine->rank + n) % engine->ranks;
        status = wait_for_room(self, k, rank, error);
        if (status == PARLEY_OK)
            status = engine->type->post(engine, rank, PL_CHANNEL_PEER, ask, bytes, error);
    }
    turn->sent += bytes * (self->workers - 1);
    turn->messages += self->workers - 1;
    return status;
}

static parley_status swap(pl_exchange *exchange, unsigned worker, pl_turn *turn, parley_error *error) {
    peer *self = exchange->own;
    copy *copy = &self->copy[worker];
    parley_status status = turn->update ? send_update(exchange, worker, turn, error) : PARLEY_OK;
    if (status != PARLEY_OK)
        return status;
    turn->clock += turn->update ? 1 : 0;
    turn->gamma = 1.0;
    pthread_mutex_lock(&self->mutex);
    add_received(copy, exchange->size);
    uint64_t least = slowest(self);
    turn->ended = self->ended;
    pthread_mutex_unlock(&self->mutex);
    pl_engine_compute(self->engine, (double)exchange->size * self->engine->entry_seconds);
    turn->behind = turn->clock > least ? turn->clock - least : 0;
    turn->v = copy->v;
    return status;
}

static parley_status leave(pl_exchange *exchange, unsigned worker, parley_error *error) {
    peer *self = exchange->own;
    pl_engine *engine = self->engine;
    pl_ask ask = {.worker = exchange->team->first + worker, .kind = PL_ASK_LEAVE};
    parley_status status = PARLEY_OK;
    pthread_mutex_lock(&self->mutex);
    self->leaving++;
    pthread_mutex_unlock(&self->mutex);
    for (unsigned r = 0; r < engine->ranks && status == PARLEY_OK; r++)
        if (r != engine->rank)
            status = engine->type->post(engine, r, PL_CHANNEL_PEER, &ask, sizeof ask, error);
    pthread_mutex_lock(&self->mutex);
    self->left++;
    if (status == PARLEY_OK)
        status = wake_view(self, error);
    bool over = is_over(self);
    pthread_mutex_unlock(&self->mutex);
    return status == PARLEY_OK && over && engine->ranks > 1 ? pl_ask_end(engine, PL_CHANNEL_PEER, error) : status;
}

/* The mutex is held. A worker that waits may look again. */
static parley_status wake(peer *self, parley_error *error) {
    parley_status status = PARLEY_OK;
    for (unsigned k = 0; k < self->hosted && status == PARLEY_OK; k++)
        if (self->copy[k].waits) {
            self->copy[k].waits = false;
            status = self->engine->type->post(self->engine, self->engine->rank, PL_CHANNEL_ANSWER + k, "", 1, error);
        }
    return status;
}

/* Handles a message of another rank. */
static parley_status handle(pl_exchange *exchange, unsigned from, const pl_ask *ask, const pl_arrived *update,
                            bool *over, parley_error *error) {
    peer *self = exchange->own;
    parley_status status = PARLEY_OK;
    pthread_mutex_lock(&self->mutex);
    if (ask->kind == PL_ASK_LEAVE)
        self->left++;
    else if (ask->kind == PL_ASK_END)
        self->ended = self->ended || ask->clock == self->from;
    else if (ask->kind == PL_ASK_RECEIVED && self->in_flight[from] > 0) {
        self->in_flight[from]--;
        self->unconfirmed--;
        status = wake(self, error);
    } else
        share_out(exchange, ask, update);
    if (status == PARLEY_OK)
        status = wake_view(self, error);
    *over = is_over(self);
    pthread_mutex_unlock(&self->mutex);
    if (status != PARLEY_OK || ask->kind != PL_ASK_SWAP)
        return status;
    pl_ask received = {.worker = ask->worker, .kind = PL_ASK_RECEIVED};
    return self->engine->type->post(self->engine, from, PL_CHANNEL_PEER, &received, sizeof received, error);
}

static parley_status serve(pl_exchange *exchange, parley_error *error) {
    peer *self = exchange->own;
    pl_engine *engine = self->engine;
    pl_span room = {0};
    pl_arrived update;
    unsigned from;
    uint64_t bytes;
    parley_status status = PARLEY_OK;
    for (bool over = engine->ranks == 1; !over && status == PARLEY_OK;) {
        status = engine->type->take_any(engine, PL_CHANNEL_PEER, &from, &room, &bytes, error);
        if (status != PARLEY_OK)
            break;
        const pl_ask *ask = room.data;
        if (!pl_ask_read(ask, bytes, 0, exchange->size, &update) ||
            (ask->worker >= self->workers && ask->worker != PL_ASK_NOBODY))
            status = pl_fail_damaged(from, error);
        else if (ask->worker == PL_ASK_NOBODY)
            over = true;
        else
            status = handle(exchange, from, ask, &update, &over, error);
    }
    pl_span_free(&room);
    return status;
}

static parley_status see(pl_exchange *exchange, pl_view_request *look, parley_error *error) {
    peer *self = exchange->own;
    pl_engine *engine = self->engine;
    unsigned from;
    uint64_t bytes;
    for (;;) {
        pthread_mutex_lock(&self->mutex);
        bool over = self->left == self->workers;
        look->seen = over ? 0 : slowest(self);
        bool ready = over || look->seen >= look->wanted;
        if (ready && !over) {
            add_received(self->view, exchange->size);
            memcpy(look->v, self->view->v, exchange->size * sizeof *look->v);
        }
        self->wanted = look->wanted;
        self->view->waits = !ready;
        pthread_mutex_unlock(&self->mutex);
        if (ready)
            return PARLEY_OK;
        parley_status status =
            engine->type->take_any(engine, PL_CHANNEL_VIEW, &from, &self->view->answer, &bytes, error);
        if (status != PARLEY_OK && !pl_is_silence(error)) /* who is silent is found by those who need it */
            return status;
    }
}

/* A rank serves until it knows that all workers have left. So this must be on its way before the last worker of this
 * rank says that it leaves. */
static parley_status end(pl_exchange *exchange, parley_error *error) {
    peer *self = exchange->own;
    pl_engine *engine = self->engine;
    pl_ask ask = {.worker = exchange->team->first, .kind = PL_ASK_END, .clock = self->from};
    parley_status status = PARLEY_OK;
    pthread_mutex_lock(&self->mutex);
    self->ended = true;
    for (unsigned r = 0; r < engine->ranks && status == PARLEY_OK && self->leaving < self->hosted; r++)
        if (r != engine->rank)
            status = engine->type->post(engine, r, PL_CHANNEL_PEER, &ask, sizeof ask, error);
    pthread_mutex_unlock(&self->mutex);
    return status;
}

static parley_status look(pl_exchange *exchange, pl_view_request *look, parley_error *error) {
    return look->ends ? end(exchange, error) : see(exchange, look, error);
}

static void begin_copy(copy *copy, const double *v, uint64_t size) {
    memcpy(copy->v, v, size * sizeof *v);
    copy->scale = 1.0;
    copy->fresh = copy->waits = false;
}

static parley_status begin(pl_exchange *exchange, const pl_async_round *round, parley_error *error) {
    peer *self = exchange->own;
    self->slice = round->slice;
    self->left = self->leaving = 0;
    self->ended = false;
    self->from = round->from;
    for (unsigned k = 0; k < self->hosted; k++) {
        copy *copy = &self->copy[k];
        copy->entry = round->local->type->async->reads(round->local, k, &copy->count);
        begin_copy(copy, round->slice.v, exchange->size);
    }
    if (self->view)
        begin_copy(self->view, round->slice.v, exchange->size);
    for (unsigned k = 0; k < self->workers; k++)
        self->clock[k] = round->from;
    return self->engine->ranks > 1 ? pl_barrier(self->engine, error) : PARLEY_OK; /* before others send */
}

static parley_status park(pl_exchange *exchange, double *v, parley_error *error) {
    peer *self = exchange->own;
    const pl_slice *slice = &self->slice;
    for (unsigned k = 0; k < self->hosted; k++) {
        add_received(&self->copy[k], exchange->size);
        self->update[k] = (pl_update){.shrink = 1.0, .count = exchange->size, .value = self->copy[k].v};
        self->share[k] = 1.0 / self->workers;
    }
    if (self->view)
        add_received(self->view, exchange->size);
    parley_status status = pl_exchange_reduce(exchange, 1, self->update, self->share, slice->change, error);
    memcpy(v + slice->begin, slice->change + slice->begin, (slice->end - slice->begin) * sizeof *v);
    return status == PARLEY_OK ? pl_exchange_spread(exchange, v, error) : status;
}

/* Whether this rank has the coordinator's view. */
static bool has_view(const pl_setup *setup) {
    const parley_settings *settings = setup->settings;
    return setup->team->engine->rank == 0 && (*settings->validation || settings->validation_fraction > 0);
}

static uint64_t bytes(const pl_setup *setup, bool whole) {
    return pl_tables_bytes(setup, whole) +
           2 * (setup->team->hosted + has_view(setup)) * setup->entries * sizeof(double);
}

static void close_peer(pl_exchange *exchange) {
    peer *self = exchange ? exchange->own : NULL;
    for (unsigned k = 0; self && self->copy && k <= self->hosted; k++) {
        pl_free(self->copy[k].v);
        pl_free(self->copy[k].table);
        pl_span_free(&self->copy[k].room);
        pl_span_free(&self->copy[k].answer);
    }
    if (self) {
        void *all[] = {self->copy, self->clock, self->in_flight, self->update, self->share};
        for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
            pl_free(all[i]);
        pthread_mutex_destroy(&self->mutex);
    }
    pl_free(self);
    pl_tables_close(exchange);
}

static parley_status fill_peer(pl_exchange *exchange, const pl_setup *setup, parley_error *error) {
    peer *self = exchange->own;
    pthread_mutex_init(&self->mutex, NULL);
    self->engine = setup->team->engine;
    self->workers = setup->team->workers;
    self->hosted = setup->team->hosted;
    unsigned copies = self->hosted + has_view(setup);
    self->copy = pl_alloc(self->hosted + 1, sizeof *self->copy);
    self->clock = pl_alloc(self->workers, sizeof *self->clock);
    self->in_flight = pl_alloc(self->engine->ranks, sizeof *self->in_flight);
    self->update = pl_alloc(self->hosted, sizeof *self->update);
    self->share = pl_alloc(self->hosted, sizeof *self->share);
    if (!self->copy || !self->clock || !self->in_flight || !self->update || !self->share)
        return pl_fail_memory(error, "peers", self->workers * sizeof *self->clock);
    parley_status status = PARLEY_OK;
    self->view = has_view(setup) ? &self->copy[self->hosted] : NULL;
    for (unsigned k = 0; k < copies && status == PARLEY_OK; k++) {
        status = pl_take(&self->copy[k].v, setup->entries, sizeof(double), "a copy of the model", error);
        if (status == PARLEY_OK)
            status = pl_take(&self->copy[k].table, setup->entries, sizeof(double), "a copy of the model", error);
    }
    return status;
}

static parley_status open_peer(const pl_setup *setup, bool whole, pl_exchange **out, parley_error *error) {
    return pl_open_with(&pl_exchange_peer, setup, whole, sizeof(peer), fill_peer, out, error);
}

/* Every worker sends its update to all others. */
static void traffic(unsigned workers, unsigned worker, uint64_t update_bytes, uint64_t table_bytes, uint64_t *sent,
                    uint64_t *received) {
    (void)worker, (void)table_bytes;
    *sent = *received = (workers - 1) * update_bytes;
}

static const char *const reads[] = {"clocks", "view_every", NULL};

static parley_status check(const parley_settings *settings, parley_error *error) {
    if (!settings->view_every || *settings->validation || settings->validation_fraction > 0)
        return PARLEY_OK;
    return pl_fail(error, PARLEY_BAD_USAGE,
                   "--view-every needs rows to measure the model on; give --validation FILE or --validation-fraction");
}

static const pl_exchange_async async = {
    .begin = begin, .swap = swap, .leave = leave, .serve = serve, .park = park, .look = look};

const pl_exchange_type pl_exchange_peer = {
    .name = "peer",
    .help = "every worker has its own v and sends its updates to all others, without waiting; not repeatable",
    .clock = PL_ASYNCHRONOUS,
    .async = &async,
    .carries = PL_CARRIES_UPDATES,
    .needs = PL_GIVES_CHANGES,
    .settings = reads,
    .check = check,
    .bytes = bytes,
    .open = open_peer,
    .state = pl_clock_state,
    .close = close_peer,
    .traffic = traffic,
};
