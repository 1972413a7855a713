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
    uint64_t from;        /* clocks before this stretch */
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
    peer *this = exchange->own;
    double factor = 1.0 + ask->share * (ask->shrink - 1.0);
    for (unsigned k = 0; k < this->hosted; k++)
        receive(&this->copy[k], factor, ask->share, update, exchange->size);
    if (this->view)
        receive(this->view, factor, ask->share, update, exchange->size);
    this->clock[ask->worker] = ask->clock + 1;
}

static uint64_t slowest(const peer *this) {
    uint64_t least = PL_UNBOUNDED;
    for (unsigned k = 0; k < this->workers; k++)
        least = this->clock[k] < least ? this->clock[k] : least;
    return least;
}

/* The mutex is held. The coordinator may look. */
static parley_status wake_view(peer *this, parley_error *error) {
    if (!this->view || !this->view->waits || (this->left < this->workers && slowest(this) < this->wanted))
        return PARLEY_OK;
    this->view->waits = false;
    return this->engine->type->post(this->engine, this->engine->rank, PL_CHANNEL_VIEW, "", 1, error);
}

/* The mutex is held. Whether everything is done; then the task that serves may end. */
static bool is_over(const peer *this) { return this->left == this->workers && this->unconfirmed == 0; }

/* Waits until updates may be sent to the rank. */
static parley_status wait_for_room(peer *this, unsigned k, unsigned rank, parley_error *error) {
    pl_engine *engine = this->engine;
    copy *copy = &this->copy[k];
    unsigned from;
    uint64_t bytes;
    for (;;) {
        pthread_mutex_lock(&this->mutex);
        bool room = this->in_flight[rank] < WINDOW;
        this->in_flight[rank] += room;
        this->unconfirmed += room;
        copy->waits = !room;
        pthread_mutex_unlock(&this->mutex);
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
    peer *this = exchange->own;
    copy *copy = &this->copy[k];
    pl_engine *engine = this->engine;
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
    pthread_mutex_lock(&this->mutex);
    share_out(exchange, ask, &update);
    parley_status status = wake_view(this, error);
    pthread_mutex_unlock(&this->mutex);
    for (unsigned n = 1; n < engine->ranks && status == PARLEY_OK; n++) {
        unsigned rank = (engine->rank + n) % engine->ranks;
        status = wait_for_room(this, k, rank, error);
        if (status == PARLEY_OK)
            status = engine->type->post(engine, rank, PL_CHANNEL_PEER, ask, bytes, error);
    }
    turn->sent += bytes * (this->workers - 1);
    turn->messages += this->workers - 1;
    return status;
}

static parley_status swap(pl_exchange *exchange, unsigned worker, pl_turn *turn, parley_error *error) {
    peer *this = exchange->own;
    copy *copy = &this->copy[worker];
    parley_status status = turn->update ? send_update(exchange, worker, turn, error) : PARLEY_OK;
    if (status != PARLEY_OK)
        return status;
    turn->clock += turn->update ? 1 : 0;
    turn->gamma = 1.0;
    pthread_mutex_lock(&this->mutex);
    add_received(copy, exchange->size);
    uint64_t least = slowest(this);
    turn->ended = this->ended;
    pthread_mutex_unlock(&this->mutex);
    pl_engine_compute(this->engine, (double)exchange->size * this->engine->entry_seconds);
    turn->behind = turn->clock > least ? turn->clock - least : 0;
    turn->v = copy->v;
    return status;
}

static parley_status leave(pl_exchange *exchange, unsigned worker, parley_error *error) {
    peer *this = exchange->own;
    pl_engine *engine = this->engine;
    pl_ask ask = {.worker = exchange->team->first + worker, .kind = PL_ASK_LEAVE};
    parley_status status = PARLEY_OK;
    pthread_mutex_lock(&this->mutex);
    this->leaving++;
    pthread_mutex_unlock(&this->mutex);
    for (unsigned r = 0; r < engine->ranks && status == PARLEY_OK; r++)
        if (r != engine->rank)
            status = engine->type->post(engine, r, PL_CHANNEL_PEER, &ask, sizeof ask, error);
    pthread_mutex_lock(&this->mutex);
    this->left++;
    if (status == PARLEY_OK)
        status = wake_view(this, error);
    bool over = is_over(this);
    pthread_mutex_unlock(&this->mutex);
    return status == PARLEY_OK && over && engine->ranks > 1 ? pl_ask_end(engine, PL_CHANNEL_PEER, error) : status;
}

/* The mutex is held. A worker that waits may look again. */
static parley_status wake(peer *this, parley_error *error) {
    parley_status status = PARLEY_OK;
    for (unsigned k = 0; k < this->hosted && status == PARLEY_OK; k++)
        if (this->copy[k].waits) {
            this->copy[k].waits = false;
            status = this->engine->type->post(this->engine, this->engine->rank, PL_CHANNEL_ANSWER + k, "", 1, error);
        }
    return status;
}

/* Handles a message of another rank. */
static parley_status handle(pl_exchange *exchange, unsigned from, const pl_ask *ask, const pl_arrived *update,
                            bool *over, parley_error *error) {
    peer *this = exchange->own;
    parley_status status = PARLEY_OK;
    pthread_mutex_lock(&this->mutex);
    if (ask->kind == PL_ASK_LEAVE)
        this->left++;
    else if (ask->kind == PL_ASK_END)
        this->ended = this->ended || ask->clock == this->from;
    else if (ask->kind == PL_ASK_RECEIVED && this->in_flight[from] > 0) {
        this->in_flight[from]--;
        this->unconfirmed--;
        status = wake(this, error);
    } else
        share_out(exchange, ask, update);
    if (status == PARLEY_OK)
        status = wake_view(this, error);
    *over = is_over(this);
    pthread_mutex_unlock(&this->mutex);
    if (status != PARLEY_OK || ask->kind != PL_ASK_SWAP)
        return status;
    pl_ask received = {.worker = ask->worker, .kind = PL_ASK_RECEIVED};
    return this->engine->type->post(this->engine, from, PL_CHANNEL_PEER, &received, sizeof received, error);
}

static parley_status serve(pl_exchange *exchange, parley_error *error) {
    peer *this = exchange->own;
    pl_engine *engine = this->engine;
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
            (ask->worker >= this->workers && ask->worker != PL_ASK_NOBODY))
            status = pl_fail_damaged(from, error);
        else if (ask->worker == PL_ASK_NOBODY)
            over = true;
        else
            status = handle(exchange, from, ask, &update, &over, error);
    }
    pl_span_free(&room);
    return status;
}

static parley_status look(pl_exchange *exchange, uint64_t clock, double *v, uint64_t *seen, parley_error *error) {
    peer *this = exchange->own;
    pl_engine *engine = this->engine;
    unsigned from;
    uint64_t bytes;
    for (;;) {
        pthread_mutex_lock(&this->mutex);
        bool over = this->left == this->workers;
        *seen = over ? 0 : slowest(this);
        bool ready = over || *seen >= clock;
        if (ready && !over) {
            add_received(this->view, exchange->size);
            memcpy(v, this->view->v, exchange->size * sizeof *v);
        }
        this->wanted = clock;
        this->view->waits = !ready;
        pthread_mutex_unlock(&this->mutex);
        if (ready)
            return PARLEY_OK;
        parley_status status =
            engine->type->take_any(engine, PL_CHANNEL_VIEW, &from, &this->view->answer, &bytes, error);
        if (status != PARLEY_OK && !pl_is_silence(error)) /* who is silent is found by those who need it */
            return status;
    }
}

/* A rank serves until it knows that all workers have left. So this must be on its way before the last worker of this
 * rank says that it leaves. */
static parley_status end(pl_exchange *exchange, parley_error *error) {
    peer *this = exchange->own;
    pl_engine *engine = this->engine;
    pl_ask ask = {.worker = exchange->team->first, .kind = PL_ASK_END, .clock = this->from};
    parley_status status = PARLEY_OK;
    pthread_mutex_lock(&this->mutex);
    this->ended = true;
    for (unsigned r = 0; r < engine->ranks && status == PARLEY_OK && this->leaving < this->hosted; r++)
        if (r != engine->rank)
            status = engine->type->post(engine, r, PL_CHANNEL_PEER, &ask, sizeof ask, error);
    pthread_mutex_unlock(&this->mutex);
    return status;
}

static void begin_copy(copy *copy, const double *v, uint64_t size) {
    memcpy(copy->v, v, size * sizeof *v);
    copy->scale = 1.0;
    copy->fresh = copy->waits = false;
}

static parley_status begin(pl_exchange *exchange, const pl_stretch *stretch, parley_error *error) {
    peer *this = exchange->own;
    this->slice = stretch->slice;
    this->left = this->leaving = 0;
    this->ended = false;
    this->from = stretch->from;
    for (unsigned k = 0; k < this->hosted; k++) {
        copy *copy = &this->copy[k];
        copy->entry = stretch->local->type->alone->reads(stretch->local, k, &copy->count);
        begin_copy(copy, stretch->slice.v, exchange->size);
    }
    if (this->view)
        begin_copy(this->view, stretch->slice.v, exchange->size);
    for (unsigned k = 0; k < this->workers; k++)
        this->clock[k] = stretch->from;
    return this->engine->ranks > 1 ? pl_barrier(this->engine, error) : PARLEY_OK; /* before others send */
}

static parley_status park(pl_exchange *exchange, double *v, parley_error *error) {
    peer *this = exchange->own;
    const pl_slice *slice = &this->slice;
    for (unsigned k = 0; k < this->hosted; k++) {
        add_received(&this->copy[k], exchange->size);
        this->update[k] = (pl_update){.shrink = 1.0, .count = exchange->size, .value = this->copy[k].v};
        this->share[k] = 1.0 / this->workers;
    }
    if (this->view)
        add_received(this->view, exchange->size);
    parley_status status = pl_exchange_reduce_first(exchange, this->update, this->share, slice->change, error);
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
    peer *this = exchange ? exchange->own : NULL;
    for (unsigned k = 0; this && this->copy && k <= this->hosted; k++) {
        pl_free(this->copy[k].v);
        pl_free(this->copy[k].table);
        pl_span_free(&this->copy[k].room);
        pl_span_free(&this->copy[k].answer);
    }
    if (this) {
        void *all[] = {this->copy, this->clock, this->in_flight, this->update, this->share};
        for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
            pl_free(all[i]);
        pthread_mutex_destroy(&this->mutex);
    }
    pl_free(this);
    pl_tables_close(exchange);
}

static parley_status fill_peer(pl_exchange *exchange, const pl_setup *setup, parley_error *error) {
    peer *this = exchange->own;
    pthread_mutex_init(&this->mutex, NULL);
    this->engine = setup->team->engine;
    this->workers = setup->team->workers;
    this->hosted = setup->team->hosted;
    unsigned copies = this->hosted + has_view(setup);
    this->copy = pl_alloc(this->hosted + 1, sizeof *this->copy);
    this->clock = pl_alloc(this->workers, sizeof *this->clock);
    this->in_flight = pl_alloc(this->engine->ranks, sizeof *this->in_flight);
    this->update = pl_alloc(this->hosted, sizeof *this->update);
    this->share = pl_alloc(this->hosted, sizeof *this->share);
    if (!this->copy || !this->clock || !this->in_flight || !this->update || !this->share)
        return pl_fail_memory(error, "peers", this->workers * sizeof *this->clock);
    parley_status status = PARLEY_OK;
    this->view = has_view(setup) ? &this->copy[this->hosted] : NULL;
    for (unsigned k = 0; k < copies && status == PARLEY_OK; k++) {
        status = pl_take(&this->copy[k].v, setup->entries, sizeof(double), "a copy of the model", error);
        if (status == PARLEY_OK)
            status = pl_take(&this->copy[k].table, setup->entries, sizeof(double), "a copy of the model", error);
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

static const pl_exchange_async async = {begin, swap, leave, serve, park};
static const pl_exchange_view view = {look, end};

const pl_exchange_type pl_exchange_peer = {
    .name = "peer",
    .help = "every worker has its own v and sends its updates to all others, without waiting; not repeatable",
    .clock = PL_ASYNCHRONOUS,
    .async = &async,
    .view = &view,
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
