/* saved_state.c: saves and restores lists of state. The state of all workers under one name is stored in one tensor,
 * and where each worker begins in another, so that the number of tensors does not depend on the number of workers. */
#include "shard/saved_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/collective.h"

static const unsigned type_bytes[] = {[PL_F64] = 8, [PL_U64] = 8, [PL_F32] = 4, [PL_U32] = 4, [PL_U8] = 1};

void pl_state_of(pl_state *state, const char *owner, unsigned worker) {
    state->owner = owner;
    state->worker = worker;
}

void pl_state_fail(pl_state *state, parley_status status, const char *why) {
    if (state->status == PARLEY_OK)
        state->status = pl_fail(&state->error, status, "%s", why);
}

static void fail_memory(pl_state *state, uint64_t bytes) {
    if (state->status == PARLEY_OK)
        state->status = pl_fail_memory(&state->error, "a checkpoint", bytes);
}

/* Finds the field of that name, or adds it. */
static pl_field *field_of(pl_state *state, const char *name, pl_field_kind kind, pl_dtype type) {
    char full[48];
    snprintf(full, sizeof full, "%s.%s", state->owner, name);
    for (unsigned f = 0; f < state->count; f++)
        if (strcmp(state->fields[f].name, full) == 0) {
            pl_field *field = &state->fields[f];
            if (field->pieces == 0) {
                field->kind = kind;
                field->type = type;
            }
            return field;
        }
    if (state->count == PL_STATE_FIELDS) {
        pl_state_fail(state, PARLEY_BROKEN, "a checkpoint has more tensors than PL_STATE_FIELDS");
        return NULL;
    }
    pl_field *field = &state->fields[state->count];
    field->start = pl_alloc((uint64_t)state->team->hosted + 2, sizeof *field->start);
    if (!field->start) {
        fail_memory(state, state->team->hosted * sizeof *field->start);
        return NULL;
    }
    state->count++;
    memcpy(field->name, full, sizeof full);
    snprintf(field->start_name, sizeof field->start_name, "%s.start", full);
    field->kind = kind;
    field->type = type;
    return field;
}

/* Returns memory for one more piece. The first piece of a worker reserves as much for all workers. */
static char *extend(pl_state *state, pl_field *field, uint64_t bytes) {
    uint64_t pieces = field->kind == PL_FIELD_WORKER && field->pieces == 0 ? state->team->hosted : 1;
    if (field->bytes + bytes > field->room || !field->data) {
        uint64_t room = field->bytes + field->bytes / 4 + bytes * pieces;
        char *data = pl_realloc(field->data, room, 1);
        if (!data) {
            fail_memory(state, room);
            return NULL;
        }
        field->data = data;
        field->room = room;
    }
    field->bytes += bytes;
    field->pieces++;
    return field->data + field->bytes - bytes;
}

static char *save_room(pl_state *state, const char *name, pl_dtype type, uint64_t count) {
    bool common = state->worker == PL_STATE_ALL;
    if (common && state->team->engine->rank != 0)
        return NULL;
    pl_field *field = field_of(state, name, common ? PL_FIELD_COMMON : PL_FIELD_WORKER, type);
    if (!field)
        return NULL;
    if (!common && field->pieces != state->worker) {
        pl_state_fail(state, PARLEY_BROKEN, "the state of a worker is missing from a checkpoint");
        return NULL;
    }
    char *room = extend(state, field, count * type_bytes[type]);
    if (!common)
        field->start[field->pieces] = field->bytes / type_bytes[type];
    return room;
}

void pl_part_path(char *path, size_t size, const char *folder, uint64_t round, unsigned rank) {
    snprintf(path, size, "%s/round-%" PRIu64 ".rank-%u.safetensors", folder, round, rank);
}

static const pl_container *part_of(pl_state *state, unsigned rank) {
    pl_parts *parts = state->parts;
    char path[PL_TEXT + 64];
    if (!parts->part[rank]) {
        pl_part_path(path, sizeof path, parts->folder, parts->round, rank);
        state->status = pl_container_open(path, &parts->part[rank], &state->error);
        if (state->status == PARLEY_OK)
            state->status = pl_container_keep(parts->part[rank], path, &state->error);
    }
    return parts->part[rank];
}

static const pl_tensor *tensor_of(pl_state *state, unsigned rank, const char *name, const char *suffix) {
    char full[64];
    const pl_container *part = part_of(state, rank);
    snprintf(full, sizeof full, "%s.%s%s", state->owner, name, suffix);
    const pl_tensor *tensor = part ? pl_container_tensor(part, full) : NULL;
    if (part && !tensor)
        state->status = pl_fail(&state->error, PARLEY_BAD_INPUT,
                                "the checkpoint in %s has no tensor %s: another version of Parley wrote it",
                                state->parts->folder, full);
    return tensor;
}

/* Finds the rank that hosted a worker when the state was saved, and the worker's number on that rank. */
static unsigned host_of(const pl_state *state, unsigned worker, unsigned *number) {
    unsigned workers = state->team->workers, hosts = state->parts->hosts;
    unsigned low = 0, high = hosts;
    while (high - low > 1) {
        unsigned middle = low + (high - low) / 2;
        if (pl_host_begin(workers, hosts, middle) <= worker)
            low = middle;
        else
            high = middle;
    }
    *number = worker - pl_host_begin(workers, hosts, low);
    return low;
}

/* The file that holds what is being restored: that of rank 0, or of the worker's host. */
static void name_file(const pl_state *state, char *path, size_t size) {
    unsigned number;
    unsigned rank = state->worker == PL_STATE_ALL ? 0 : host_of(state, state->team->first + state->worker, &number);
    pl_part_path(path, size, state->parts->folder, state->parts->round, rank);
}

void pl_state_refuse(pl_state *state, const char *name, const char *why) {
    char path[PL_TEXT + 64];
    if (state->status != PARLEY_OK)
        return;
    name_file(state, path, sizeof path);
    state->status =
        pl_fail(&state->error, PARLEY_BAD_INPUT, "%s: %s.%s %s: the file is damaged", path, state->owner, name, why);
}

static const char *stored_room(pl_state *state, const char *name, pl_dtype type, uint64_t count) {
    bool common = state->worker == PL_STATE_ALL;
    unsigned number = 0, rank = common ? 0 : host_of(state, state->team->first + state->worker, &number);
    const pl_tensor *tensor = tensor_of(state, rank, name, ""), *starts = NULL;
    if (tensor && !common)
        starts = tensor_of(state, rank, name, ".start");
    if (!tensor || (!common && !starts))
        return NULL;
    uint64_t begin = 0, end = tensor->shape[0];
    bool fits = tensor->type == type && tensor->dims == 1;
    if (fits && !common) {
        const uint64_t *start = starts->data;
        fits = starts->type == PL_U64 && starts->shape[0] > (uint64_t)number + 1 &&
               start[number] <= start[number + 1] && start[number + 1] <= end;
        begin = fits ? start[number] : 0;
        end = fits ? start[number + 1] : 0;
    }
    if (fits && end - begin == count)
        return (const char *)tensor->data + begin * type_bytes[type];
    state->status = pl_fail(&state->error, PARLEY_BAD_INPUT,
                            "the checkpoint in %s has %" PRIu64 " values in %s.%s instead of %" PRIu64
                            ": another version of Parley wrote it",
                            state->parts->folder, end - begin, state->owner, name, count);
    return NULL;
}

bool pl_state_has(pl_state *state, const char *name) {
    char full[64];
    unsigned number = 0;
    if (!state->restoring || state->status != PARLEY_OK)
        return true;
    bool common = state->worker == PL_STATE_ALL;
    const pl_container *part = part_of(state, common ? 0 : host_of(state, state->team->first + state->worker, &number));
    snprintf(full, sizeof full, "%s.%s", state->owner, name);
    return part && pl_container_tensor(part, full);
}

static char *room_of(pl_state *state, const char *name, pl_dtype type, uint64_t count) {
    if (state->status != PARLEY_OK)
        return NULL;
    return state->restoring ? (char *)(uintptr_t)stored_room(state, name, type, count)
                            : save_room(state, name, type, count);
}

void *pl_state_room(pl_state *state, const char *name, pl_dtype type, uint64_t count) {
    return room_of(state, name, type, count);
}

static bool are_finite(const void *values, pl_dtype type, uint64_t count) {
    const double *doubles = values;
    const float *floats = values;
    bool all = true;
    for (uint64_t i = 0; i < count && type == PL_F64; i++)
        all = all && isfinite(doubles[i]);
    for (uint64_t i = 0; i < count && type == PL_F32; i++)
        all = all && isfinite(floats[i]);
    return all;
}

/* The same for an array, whose numbers must be finite. */
static char *array_room(pl_state *state, const char *name, pl_dtype type, uint64_t count) {
    char *room = room_of(state, name, type, count);
    if (!room || !state->restoring || are_finite(room, type, count))
        return room;
    pl_state_refuse(state, name, "has a value that is not a finite number");
    return NULL;
}

/* Copies bytes to or from the saved state. Returns the position after them. */
static char *move(const pl_state *state, char *kept, void *own, uint64_t bytes) {
    if (bytes > 0)
        memcpy(state->restoring ? own : kept, state->restoring ? kept : own, bytes);
    return kept + bytes;
}

void pl_state_array(pl_state *state, const char *name, void *array, pl_dtype type, uint64_t count) {
    char *kept = array_room(state, name, type, count);
    if (kept)
        move(state, kept, array, count * type_bytes[type]);
}

double pl_value_get(const pl_value *value) {
    switch (value->kind) {
    case PL_OF_WHOLE: return (double)*(const uint64_t *)value->at;
    case PL_OF_UNSIGNED: return *(const unsigned *)value->at;
    case PL_OF_INT: return *(const int *)value->at;
    case PL_OF_FLAG: return *(const bool *)value->at;
    default: return *(const double *)value->at;
    }
}

void pl_value_set(const pl_value *value, double number) {
    switch (value->kind) {
    case PL_OF_WHOLE: *(uint64_t *)value->at = (uint64_t)number; break;
    case PL_OF_UNSIGNED: *(unsigned *)value->at = (unsigned)number; break;
    case PL_OF_INT: *(int *)value->at = (int)number; break;
    case PL_OF_FLAG: *(bool *)value->at = number != 0; break;
    default: *(double *)value->at = number;
    }
}

bool pl_value_fits(const pl_value *value, double number) {
    if (isnan(number))
        return value->unknown;
    return number >= value->least && number <= value->most && (value->kind == PL_OF_REAL || number == floor(number));
}

static void refuse_value(pl_state *state, const char *name, const pl_value *value, double number) {
    const char *member = strrchr(value->name, '>'), *part = strrchr(value->name, '.');
    char why[192];
    member = member ? member + 1 : value->name;
    member = part && part >= member ? part + 1 : member;
    snprintf(why, sizeof why, "has %s %.17g, but it must be %s from %.17g to %.17g", member, number,
             value->kind == PL_OF_REAL ? "a number" : "an integer", value->least, value->most);
    pl_state_refuse(state, name, why);
}

void pl_state_values(pl_state *state, const char *name, const pl_value *values, unsigned count) {
    double *kept = (double *)(void *)room_of(state, name, PL_F64, count);
    for (unsigned i = 0; kept && i < count && state->status == PARLEY_OK; i++)
        if (!state->restoring)
            kept[i] = pl_value_get(&values[i]);
        else if (pl_value_fits(&values[i], kept[i]))
            pl_value_set(&values[i], kept[i]);
        else
            refuse_value(state, name, &values[i], kept[i]);
}

void pl_state_length(pl_state *state, const char *name, uint64_t *length, uint64_t most) {
    uint64_t entries = *length;
    PL_STATE_VALUES(state, name, PL_WITHIN(entries, 0, most));
    *length = state->status == PARLEY_OK ? entries : *length;
}

void pl_state_check_order(pl_state *state, const char *name, const uint64_t *order, uint64_t count) {
    if (state->status != PARLEY_OK || !state->restoring || count == 0)
        return;
    uint8_t *seen = pl_alloc(count, 1);
    bool good = true;
    if (!seen) {
        fail_memory(state, count);
        return;
    }
    for (uint64_t i = 0; i < count && good; i++) {
        good = order[i] < count && !seen[order[i]];
        if (good)
            seen[order[i]] = 1;
    }
    pl_free(seen);
    if (!good)
        pl_state_refuse(state, name, "is not an order: a number is too large or occurs twice");
}

void pl_state_rows(pl_state *state, const pl_team *team, const char *name, void *array, pl_dtype type, uint64_t each) {
    unsigned k = state->worker, lanes = team->lanes;
    uint64_t bytes = each * type_bytes[type];
    char *kept = array_room(state, name, type, team->rows[k] * each);
    for (unsigned p = k * lanes; kept && p < (k + 1) * lanes; p++)
        for (uint64_t r = 0; r < team->parts[p].count; r++) {
            pl_range range = team->parts[p].ranges[r];
            kept = move(state, kept, (char *)array + range.begin * bytes, (range.end - range.begin) * bytes);
        }
}

void pl_state_items(pl_state *state, const char *name, void *first, pl_dtype type, uint64_t each, uint64_t stride,
                    const uint32_t *index, uint64_t count) {
    char *kept = array_room(state, name, type, count * each);
    for (uint64_t i = 0; kept && i < count; i++)
        kept = move(state, kept, (char *)first + (index ? index[i] : i) * stride, each * type_bytes[type]);
}

static void save_slice(pl_state *state, const char *name, double *array, uint64_t columns) {
    pl_field *field = field_of(state, name, PL_FIELD_SLICE, PL_F64);
    char *kept = field ? extend(state, field, columns * (state->end - state->begin) * sizeof(double)) : NULL;
    if (!kept)
        return;
    move(state, kept, array, field->bytes);
    field->start[0] = state->begin;
    field->start[1] = state->end;
}

static void refuse_slice(pl_state *state, const char *name, unsigned rank) {
    char path[PL_TEXT + 64];
    pl_part_path(path, sizeof path, state->parts->folder, state->parts->round, rank);
    state->status = pl_fail(&state->error, PARLEY_BAD_INPUT,
                            "%s: %s.%s does not have the size of its slice of v, or has a value that is not a finite "
                            "number: the file is damaged",
                            path, state->owner, name);
}

static void restore_slice(pl_state *state, const char *name, double *array, uint64_t columns) {
    const uint64_t *bounds = state->parts->bounds;
    for (unsigned r = 0; r < state->parts->ranks && state->status == PARLEY_OK; r++) {
        uint64_t begin = bounds[r] > state->begin ? bounds[r] : state->begin,
                 end = bounds[r + 1] < state->end ? bounds[r + 1] : state->end, length = bounds[r + 1] - bounds[r];
        if (begin >= end)
            continue;
        const pl_tensor *tensor = tensor_of(state, r, name, "");
        if (!tensor)
            return;
        if (tensor->type != PL_F64 || tensor->dims != 1 || tensor->shape[0] != columns * length ||
            !are_finite(tensor->data, PL_F64, columns * length)) {
            refuse_slice(state, name, r);
            return;
        }
        for (uint64_t c = 0; c < columns; c++)
            memcpy(array + c * (state->end - state->begin) + (begin - state->begin),
                   (const double *)tensor->data + c * length + (begin - bounds[r]), (end - begin) * sizeof *array);
    }
}

void pl_state_slice(pl_state *state, const char *name, double *array, uint64_t columns) {
    if (state->status != PARLEY_OK)
        return;
    (state->restoring ? restore_slice : save_slice)(state, name, array, columns);
}

parley_status pl_state_open(pl_state *state, parley_error *error) {
    *state = (pl_state){0};
    return pl_take(&state->fields, PL_STATE_FIELDS, sizeof *state->fields, "checkpoints", error);
}

void pl_state_begin(pl_state *state, const pl_team *team, uint64_t begin, uint64_t end) {
    for (unsigned f = 0; f < state->count; f++)
        state->fields[f].bytes = state->fields[f].pieces = 0;
    state->team = team;
    state->begin = begin;
    state->end = end;
    state->status = PARLEY_OK;
}

/* Containers require the tensors in order of decreasing type size. */
parley_status pl_state_write(const pl_state *state, const char *path, const pl_pair *metas, unsigned meta_count,
                             parley_error *error) {
    pl_tensor tensors[2 * PL_STATE_FIELDS];
    unsigned count = 0;
    for (pl_dtype type = PL_F64; type <= PL_U8; type++)
        for (unsigned f = 0; f < state->count; f++) {
            const pl_field *field = &state->fields[f];
            uint64_t starts = field->kind == PL_FIELD_SLICE ? 2 : (uint64_t)state->team->hosted + 1;
            if (field->pieces == 0)
                continue; /* no longer in use since the method changed */
            if (field->type == type)
                tensors[count++] = (pl_tensor){field->name, type, 1, {field->bytes / type_bytes[type]}, field->data};
            if (type == PL_U64 && field->kind != PL_FIELD_COMMON)
                tensors[count++] = (pl_tensor){field->start_name, type, 1, {starts}, field->start};
        }
    return pl_checked_write(path, tensors, count, metas, meta_count, error);
}

void pl_state_close(pl_state *state) {
    for (unsigned f = 0; f < state->count; f++) {
        pl_free(state->fields[f].data);
        pl_free(state->fields[f].start);
    }
    pl_free(state->fields);
    *state = (pl_state){0};
}

parley_status pl_parts_open(pl_parts *parts, const char *folder, uint64_t round, unsigned ranks, parley_error *error) {
    *parts = (pl_parts){.folder = folder, .round = round, .ranks = ranks, .hosts = ranks};
    parley_status status = pl_take(&parts->part, ranks, sizeof *parts->part, "a checkpoint's files", error);
    if (status == PARLEY_OK)
        status = pl_take(&parts->bounds, (uint64_t)ranks + 1, sizeof *parts->bounds, "a checkpoint's files", error);
    return status;
}

void pl_parts_close(pl_parts *parts) {
    for (unsigned r = 0; parts->part && r < parts->ranks; r++)
        pl_container_close(parts->part[r]);
    pl_free(parts->part);
    pl_free(parts->bounds);
    *parts = (pl_parts){0};
}
