/* server_slice.c: a slice of v at its owner, with the clocks of all workers.
 *
 * Updates are taken one by one as they arrive, and a worker that has made c clocks reads v only when every other has
 * made c - s of them (SSP; s = 0 is BSP, and without a bound it is ASP). Or updates are gathered: clock c closes when
 * all but b workers have sent theirs; these are added in the order of the canonical tree, as by synchronous exchanges,
 * and later ones are dropped (backup workers). */
#include <math.h>
#include <string.h>

#include "engine/collective.h"
#include "method/exchange/server.h"

#define LEAST_SCALE 1e-100 /* of the slice; below, it is folded in */

bool pl_owner_changed(const pl_owner *owner, uint64_t entry, uint64_t seen) {
    return owner->stamp[entry - owner->slice.begin] > seen;
}

static void change_all(pl_owner *owner, uint64_t begin) {
    if (begin <= owner->slice.begin)
        owner->all_changed = owner->version;
    for (uint64_t j = begin; begin > owner->slice.begin && j < owner->slice.end; j++)
        owner->stamp[j - owner->slice.begin] = (uint32_t)owner->version;
}

void pl_owner_fold(pl_owner *owner) {
    if (owner->scale == 1.0)
        return;
    for (uint64_t j = owner->slice.begin; j < owner->slice.end; j++)
        owner->slice.v[j] *= owner->scale;
    owner->scale = 1.0;
    change_all(owner, owner->slice.begin);
}

/* v becomes v + share ((shrink - 1) v + change). */
static void take_change(pl_owner *owner, const pl_ask *ask, const pl_arrived *update) {
    double factor = 1.0 + ask->share * (ask->shrink - 1.0);
    owner->scale *= factor;
    if (!(fabs(owner->scale) > LEAST_SCALE))
        pl_owner_fold(owner);
    double step = ask->share / owner->scale;
    for (uint64_t e = 0; e < update->count; e++)
        owner->slice.v[update->entry[e]] += step * update->value[e];
}

static void take_single(pl_owner *owner, const pl_ask *ask, const pl_arrived *update) {
    const pl_combine_type *combine = owner->combine->type;
    pl_single single = {&owner->slice, &owner->scale, update->entry, update->value,
                        update->count, ask->fraction, ask->clock + 1};
    owner->version++;
    if (combine->single) {
        change_all(owner, combine->single(owner->combine, &single));
        if (!(fabs(owner->scale) > LEAST_SCALE))
            pl_owner_fold(owner);
    } else
        take_change(owner, ask, update);
    for (uint64_t e = 0; e < update->count; e++)
        owner->stamp[update->entry[e] - owner->slice.begin] = (uint32_t)owner->version;
}

static parley_status keep(pl_owner *owner, const pl_ask *ask, const pl_arrived *update, parley_error *error) {
    pl_kept *kept = &owner->kept[ask->worker];
    uint64_t values = update->count * sizeof *update->value, entries = update->count * sizeof *update->entry;
    if (!pl_span_reserve(&kept->room, values + entries + 1))
        return pl_fail_memory(error, "an update", values + entries);
    memcpy(kept->room.data, update->value, values);
    memcpy((char *)kept->room.data + values, update->entry, entries);
    pl_span room = kept->room;
    *kept = (pl_kept){true, ask->clock, update->count, ask->shrink, ask->share, ask->fraction, room};
    return PARLEY_OK;
}

/* Prepares the kept updates of the clock that closes. If some workers are missing, the others stand for them. */
static void lay_out(pl_owner *owner) {
    double there = 0;
    bool all = true;
    for (unsigned k = 0; k < owner->workers; k++) {
        const pl_kept *kept = &owner->kept[k];
        bool is_in = kept->there && kept->clock == owner->closed;
        all = all && is_in;
        there += is_in ? kept->fraction : 0.0;
    }
    for (unsigned k = 0; k < owner->workers; k++) {
        pl_kept *kept = &owner->kept[k];
        bool is_in = kept->there && kept->clock == owner->closed;
        double *value = kept->room.data;
        owner->update[k] = (pl_update){.shrink = is_in ? kept->shrink : 1.0,
                                       .count = is_in ? kept->count : 0,
                                       .value = value,
                                       .index = is_in ? (uint32_t *)(void *)(value + kept->count) : owner->stamp};
        owner->share[k] = !is_in ? 0.0 : all ? kept->share : kept->share / there;
        owner->shrunk[k] = owner->share[k] * (owner->update[k].shrink - 1.0);
        owner->client[k].gamma = is_in ? 1.0 : owner->client[k].gamma;
        kept->there = kept->there && !is_in;
    }
    pl_tree_add(owner->shrunk, owner->workers, 1, 1);
}

/* One step of the combine, as in a synchronous round. */
static parley_status close_clock(pl_owner *owner, parley_error *error) {
    pl_slice *slice = &owner->slice;
    parley_status status = PARLEY_OK;
    lay_out(owner);
    slice->shrink = 1.0 + owner->shrunk[0];
    pl_exchange_add(owner->update, owner->share, owner->workers, slice->begin, slice->end,
                    slice->change + slice->begin);
    if (owner->combine->type->propose)
        status = owner->combine->type->propose(owner->combine, slice, owner->closed + 1, error);
    else
        for (uint64_t j = slice->begin; j < slice->end; j++)
            slice->direction[j] = (slice->shrink - 1.0) * slice->v[j] + slice->change[j];
    for (uint64_t j = slice->begin; j < slice->end && status == PARLEY_OK; j++)
        slice->v[j] += slice->direction[j];
    owner->version++;
    change_all(owner, slice->begin);
    owner->closed++;
    return status;
}

static unsigned kept_now(const pl_owner *owner) {
    unsigned count = 0;
    for (unsigned k = 0; k < owner->workers; k++)
        count += owner->kept[k].there && owner->kept[k].clock == owner->closed;
    return count;
}

/* Closes every clock for which there are enough updates, or for which no more can come. */
static parley_status close_clocks(pl_owner *owner, parley_error *error) {
    parley_status status = PARLEY_OK;
    for (unsigned there; status == PARLEY_OK && (there = kept_now(owner)) > 0;) {
        unsigned needed = owner->workers - owner->backups, remaining = owner->workers - owner->left;
        if (there < needed && (owner->left == 0 || there < remaining))
            break;
        status = close_clock(owner, error);
    }
    return status;
}

static void find_slowest(pl_owner *owner) {
    owner->slowest = PL_UNBOUNDED;
    owner->at_slowest = 0;
    for (unsigned k = 0; k < owner->workers; k++) {
        const pl_client *client = &owner->client[k];
        if (client->left)
            continue;
        if (client->clock < owner->slowest) {
            owner->slowest = client->clock;
            owner->at_slowest = 0;
        }
        owner->at_slowest += client->clock == owner->slowest;
    }
}

/* The worker has made `clock` clocks, or left. Returns whether that frees others. */
static bool move_clock(pl_owner *owner, pl_client *client, uint64_t clock, bool left) {
    bool was_slowest = !client->left && client->clock == owner->slowest;
    client->clock = clock > client->clock ? clock : client->clock;
    owner->left += left && !client->left;
    client->left = client->left || left;
    if (!was_slowest || (!client->left && client->clock == owner->slowest) || --owner->at_slowest > 0)
        return false;
    find_slowest(owner);
    return true;
}

static bool is_ready(const pl_owner *owner, const pl_client *client) {
    if (owner->left > 0 && owner->gathers && owner->left + 1 >= owner->workers)
        return true; /* nobody else is left to close a clock */
    if (owner->gathers)
        return client->wants <= owner->closed || owner->left > 0;
    return client->last || owner->staleness == PL_UNBOUNDED || client->wants <= owner->slowest ||
           client->wants - owner->slowest <= owner->staleness;
}

static pl_answer answer_to(const pl_owner *owner, const pl_client *client) {
    uint64_t now = owner->gathers ? owner->closed : owner->slowest;
    uint64_t clock = owner->gathers && owner->closed > client->wants ? owner->closed : client->wants;
    return (pl_answer){.gamma = client->gamma,
                       .scale = owner->scale,
                       .clock = clock,
                       .behind = clock > now ? clock - now : 0,
                       .version = owner->version};
}

/* Answers a worker that waited. One of this rank reads the slice by itself. */
static parley_status answer(pl_owner *owner, pl_client *client, parley_error *error) {
    pl_answer head = answer_to(owner, client);
    client->waits = false;
    if (client->rank != owner->engine->rank)
        return pl_answer_send(owner, client, &head, error);
    return owner->engine->type->post(owner->engine, client->rank, PL_CHANNEL_ANSWER + client->number, &head,
                                     sizeof head, error);
}

static parley_status answer_all(pl_owner *owner, const pl_client *except, parley_error *error) {
    parley_status status = PARLEY_OK;
    for (unsigned k = 0; k < owner->workers && status == PARLEY_OK; k++) {
        pl_client *client = &owner->client[k];
        if (client != except && client->waits && is_ready(owner, client))
            status = answer(owner, client, error);
    }
    return status;
}

/* Takes the update of a request. Returns in `freed` whether others may be ready now. */
static parley_status take_update(pl_owner *owner, pl_client *client, const pl_ask *ask, const pl_arrived *update,
                                 bool *freed, parley_error *error) {
    uint64_t closed = owner->closed;
    parley_status status = PARLEY_OK;
    client->gamma = 1.0;
    if (!owner->gathers)
        take_single(owner, ask, update);
    else if (ask->clock < owner->closed)
        client->gamma = 0.0; /* late */
    else
        status = keep(owner, ask, update, error);
    *freed = move_clock(owner, client, ask->clock + 1, false);
    if (status == PARLEY_OK && owner->gathers)
        status = close_clocks(owner, error);
    *freed = *freed || owner->closed > closed;
    return status;
}

parley_status pl_owner_handle(pl_owner *owner, const pl_ask *ask, const pl_arrived *update, pl_answer *self,
                              bool *ended, parley_error *error) {
    pl_client *client = &owner->client[ask->worker];
    bool freed = false;
    parley_status status = PARLEY_OK;
    if (ask->kind == PL_ASK_LEAVE) {
        move_clock(owner, client, client->clock, true);
        *ended = owner->left == owner->workers;
        status = owner->gathers ? close_clocks(owner, error) : PARLEY_OK;
        return status == PARLEY_OK ? answer_all(owner, NULL, error) : status;
    }
    client->waits = true;
    client->last = ask->last;
    client->seen = ask->seen;
    client->wants = ask->clock + (ask->has_update ? 1 : 0);
    if (ask->has_update)
        status = take_update(owner, client, ask, update, &freed, error);
    if (status == PARLEY_OK && self && is_ready(owner, client)) {
        *self = answer_to(owner, client);
        client->waits = false;
    } else if (status == PARLEY_OK && !self && is_ready(owner, client))
        status = answer(owner, client, error);
    return freed && status == PARLEY_OK ? answer_all(owner, client, error) : status;
}

void pl_owner_begin(pl_owner *owner, const pl_async_round *round) {
    owner->combine = round->combine;
    owner->slice = round->slice;
    owner->scale = 1.0;
    owner->version++;
    owner->all_changed = owner->version;
    owner->left = 0;
    owner->closed = round->from;
    for (unsigned k = 0; k < owner->workers; k++) {
        pl_client *client = &owner->client[k];
        client->clock = round->from;
        client->left = client->waits = false;
        owner->kept[k].there = false;
    }
    find_slowest(owner);
}

void pl_owner_close(pl_owner *owner) {
    for (unsigned k = 0; k < owner->workers && owner->client; k++)
        pl_free(owner->client[k].owned);
    for (unsigned k = 0; k < owner->workers && owner->kept; k++)
        pl_span_free(&owner->kept[k].room);
    pl_span_free(&owner->room);
    void *all[] = {owner->client, owner->kept, owner->update, owner->share, owner->shrunk, owner->stamp};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        pl_free(all[i]);
    pthread_mutex_destroy(&owner->mutex);
}

parley_status pl_owner_open(pl_owner *owner, const pl_setup *setup, uint64_t staleness, unsigned backups,
                            parley_error *error) {
    const pl_team *team = setup->team;
    unsigned workers = team->workers, hosts = pl_engine_hosts(team->engine);
    uint64_t length = setup->end - setup->begin;
    pthread_mutex_init(&owner->mutex, NULL);
    owner->engine = team->engine;
    owner->workers = workers;
    owner->staleness = staleness;
    owner->backups = backups;
    owner->gathers = staleness == 0;
    owner->scale = 1.0;
    owner->client = pl_alloc(workers, sizeof *owner->client);
    owner->kept = pl_alloc(workers, sizeof *owner->kept);
    owner->update = pl_alloc(workers, sizeof *owner->update);
    owner->share = pl_alloc(workers, sizeof *owner->share);
    owner->shrunk = pl_alloc(workers, sizeof *owner->shrunk);
    owner->stamp = pl_alloc(length, sizeof *owner->stamp);
    if (!owner->client || !owner->kept || !owner->update || !owner->share || !owner->shrunk || !owner->stamp)
        return pl_fail_memory(error, "a server", length * sizeof *owner->stamp);
    for (unsigned r = 0; r < hosts; r++)
        for (unsigned first = pl_host_begin(workers, hosts, r), k = first; k < pl_host_begin(workers, hosts, r + 1);
             k++) {
            owner->client[k].rank = r;
            owner->client[k].number = k - first;
        }
    return PARLEY_OK;
}
