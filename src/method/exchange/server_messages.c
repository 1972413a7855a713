/* server_messages.c: requests to owners and their answers. Only what is needed travels: of an update the entries that
 * are not 0, and of a slice the entries that the worker reads or, if that is less, those that changed since it last
 * did. A decay of the whole slice is one number. */
#include <string.h>

#include "math/sparse.h"
#include "method/exchange/server.h"

#define ITEM (sizeof(double) + sizeof(uint32_t))

/* Where the entries that are not 0 go; only counted if `value` is NULL. */
typedef struct list {
    double *value;
    uint32_t *entry;
    uint64_t count;
} list;

static void put(list *list, uint64_t entry, double value) {
    if (value == 0)
        return;
    if (list->value) {
        list->value[list->count] = value;
        list->entry[list->count] = (uint32_t)entry;
    }
    list->count++;
}

/* The values of a table that has room for all entries. */
static void put_table(list *list, const double *value, const uint32_t *reads, uint64_t count, uint64_t begin,
                      uint64_t end) {
    for (uint64_t e = 0; reads && e < count; e++)
        put(list, reads[e], value[reads[e]]);
    for (uint64_t j = begin; !reads && j < end; j++)
        put(list, j, value[j]);
}

/* The values of an update that has room for its own rows only. */
static void put_rows(list *list, const pl_update *update, uint64_t begin, uint64_t end) {
    uint64_t width = update->row ? update->row : 1, rows = update->count / width;
    for (uint64_t r = pl_sparse_first(update->index, 0, rows, begin / width);
         r < rows && update->index[r] * width < end; r++)
        for (uint64_t c = 0; c < width; c++) {
            uint64_t j = update->index[r] * width + c;
            if (j >= begin && j < end)
                put(list, j, update->value[r * width + c]);
        }
}

static void list_entries(list *list, const pl_update *update, const uint32_t *reads, uint64_t count, uint64_t begin,
                         uint64_t end) {
    if (!update->index || update->wide)
        put_table(list, update->value, reads, count, begin, end);
    else
        put_rows(list, update, begin, end);
}

parley_status pl_fail_damaged(unsigned from, parley_error *error) {
    return pl_fail(error, PARLEY_BROKEN, "rank %u sent a damaged message", from);
}

parley_status pl_open_with(const pl_exchange_type *type, const pl_setup *setup, bool whole, uint64_t bytes,
                           pl_fill fill, pl_exchange **out, parley_error *error) {
    pl_exchange *exchange = NULL;
    if (setup->team->hosted > PL_MOST_HOSTED)
        return pl_fail(error, PARLEY_BAD_USAGE, "exchange %s takes at most %u workers per process; use fewer",
                       type->name, PL_MOST_HOSTED);
    parley_status status = pl_tables_open(type, setup, whole, &exchange, error);
    if (status != PARLEY_OK)
        return status;
    status = pl_take(&exchange->own, 1, bytes, "an exchange", error);
    if (status == PARLEY_OK)
        status = fill(exchange, setup, error);
    if (status != PARLEY_OK)
        type->close(exchange);
    else
        *out = exchange;
    return status;
}

void pl_clock_state(pl_exchange *exchange, pl_state *state) {
    PL_STATE_VALUES(state, "clock", PL_VALUE(exchange->clock));
}

pl_arrived pl_ask_update(const pl_ask *ask) {
    pl_arrived update = {.count = ask->count, .value = (const double *)(const void *)(ask + 1)};
    update.entry = (const uint32_t *)(const void *)(update.value + ask->count);
    return update;
}

parley_status pl_ask_end(pl_engine *engine, unsigned channel, parley_error *error) {
    pl_ask end = {.worker = PL_ASK_NOBODY};
    return engine->type->post(engine, engine->rank, channel, &end, sizeof end, error);
}

uint64_t pl_ask_write(const pl_ask *head, const pl_update *update, const uint32_t *reads, uint64_t count,
                      uint64_t begin, uint64_t end, pl_span *room) {
    list list = {0};
    pl_ask ask = *head;
    if (update)
        list_entries(&list, update, reads, count, begin, end);
    ask.count = list.count;
    uint64_t bytes = sizeof ask + ask.count * ITEM;
    if (!pl_span_reserve(room, bytes))
        return 0;
    char *at = room->data;
    memcpy(at, &ask, sizeof ask);
    list.value = (double *)(void *)(at + sizeof ask);
    list.entry = (uint32_t *)(void *)(list.value + ask.count);
    list.count = 0;
    if (update)
        list_entries(&list, update, reads, count, begin, end);
    return bytes;
}

bool pl_ask_read(const void *data, uint64_t bytes, uint64_t begin, uint64_t end, pl_arrived *update) {
    const pl_ask *ask = data;
    if (bytes < sizeof *ask || ask->count > (bytes - sizeof *ask) / ITEM || bytes != sizeof *ask + ask->count * ITEM)
        return false;
    *update = pl_ask_update(ask);
    for (uint64_t e = 0; e < update->count; e++)
        if (update->entry[e] < begin || update->entry[e] >= end || (e && update->entry[e] <= update->entry[e - 1]))
            return false;
    return true;
}

/* Copies the values that changed, and their places in the worker's list. Returns how many. */
static uint64_t copy_changed(const pl_owner *owner, const pl_client *client, double *value, uint32_t *place) {
    uint64_t count = 0;
    for (uint64_t e = 0; e < client->count; e++) {
        uint64_t j = client->entry ? client->entry[e] : owner->slice.begin + e;
        if (!pl_owner_changed(owner, j, client->seen))
            continue;
        value[count] = owner->slice.v[j];
        place[count++] = (uint32_t)e;
    }
    return count;
}

static void copy_all(const pl_owner *owner, const pl_client *client, double *value) {
    const double *v = owner->slice.v;
    if (!client->entry)
        memcpy(value, v + owner->slice.begin, client->count * sizeof *value);
    for (uint64_t e = 0; client->entry && e < client->count; e++)
        value[e] = v[client->entry[e]];
}

parley_status pl_answer_send(pl_owner *owner, const pl_client *client, pl_answer *head, parley_error *error) {
    uint64_t bytes = sizeof *head, count = client->last ? 0 : client->count;
    if (!pl_span_reserve(&owner->room, bytes + count * ITEM))
        return pl_fail_memory(error, "an answer", bytes + count * ITEM);
    double *value = (double *)(void *)((char *)owner->room.data + bytes);
    uint32_t *place = (uint32_t *)(void *)(value + count);
    head->count = count && client->seen >= owner->all_changed ? copy_changed(owner, client, value, place) : count;
    head->sparse = head->count * ITEM < count * sizeof *value;
    if (head->sparse) {
        memmove(value + head->count, place, head->count * sizeof *place);
        bytes += head->count * ITEM;
    } else {
        head->count = count;
        copy_all(owner, client, value);
        bytes += count * sizeof *value;
    }
    head->version = owner->version;
    memcpy(owner->room.data, head, sizeof *head);
    return owner->engine->type->post(owner->engine, client->rank, PL_CHANNEL_ANSWER + client->number, owner->room.data,
                                     bytes, error);
}

bool pl_answer_read(const void *data, uint64_t bytes, uint64_t count, double *raw) {
    const pl_answer *head = data;
    const double *value = (const double *)(const void *)(head + 1);
    const uint32_t *place = (const uint32_t *)(const void *)(value + head->count);
    uint64_t item = head->sparse ? ITEM : sizeof *value;
    if (bytes != sizeof *head + head->count * item || head->count > count)
        return false;
    if (!head->sparse)
        memcpy(raw, value, head->count * sizeof *raw);
    for (uint64_t e = 0; head->sparse && e < head->count; e++) {
        if (place[e] >= count)
            return false;
        raw[place[e]] = value[e];
    }
    return true;
}
