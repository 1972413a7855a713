/* packet.c: see packet.h. A sparse packet holds its values, then their positions in the chunk. */
#include "engine/packet.h"

#include <string.h>

#include "math/sparse.h"

pl_region pl_region_of(uint64_t size, uint64_t width, const uint64_t *bounds, unsigned rank) {
    uint64_t begin = bounds[rank], length = bounds[rank + 1] - begin;
    if (length == size)
        return (pl_region){0, size * width, 1, 0};
    return (pl_region){begin, length, length ? width : 0, size};
}

uint64_t pl_region_entries(pl_region region) { return region.length * region.stretches; }

bool pl_cursor_next(pl_cursor *cursor, uint64_t *begin, uint64_t *count) {
    const pl_region *region = &cursor->region;
    if (cursor->at == region->length) {
        cursor->at = 0;
        cursor->stretch++;
    }
    if (cursor->stretch >= region->stretches || region->length == 0)
        return false;
    uint64_t left = region->length - cursor->at, most = cursor->most ? cursor->most : PL_CHUNK;
    *begin = region->begin + cursor->stretch * region->distance + cursor->at;
    *count = left < most ? left : most;
    cursor->at += *count;
    return true;
}

#define STRETCH 1024 /* entries that are counted before checking whether there are too many */

static uint64_t bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static bool is_sparse(uint64_t count, uint64_t filled) { return filled * PL_PACKET_SPARSE <= count; }

/* Counts entries whose bits are not all 0, until there are too many for a sparse packet. */
static uint64_t count_filled(const double *values, uint64_t count) {
    uint64_t filled = 0;
    for (uint64_t i = 0; i < count && is_sparse(count, filled);) {
        uint64_t end = i + STRETCH < count ? i + STRETCH : count;
        for (; i < end; i++)
            filled += bits(values[i]) != 0;
    }
    return filled;
}

uint64_t pl_packet_bytes(uint64_t count, uint64_t filled) {
    return is_sparse(count, filled) ? filled * PL_PACKET_ENTRY : count * sizeof(double);
}

static const void *write_values(const double *values, uint64_t count, void *room, uint64_t *bytes) {
    uint64_t filled = count_filled(values, count), done = 0;
    *bytes = pl_packet_bytes(count, filled);
    if (!is_sparse(count, filled))
        return values;
    double *value = room;
    uint16_t *place = (uint16_t *)(value + filled);
    for (uint64_t i = 0; done < filled; i++) {
        value[done] = values[i];
        place[done] = (uint16_t)i;
        done += bits(values[i]) != 0;
    }
    return room;
}

/* Finds the entries of a sparse addend in [begin, begin + count): the first one, and how many. */
static uint64_t find_entries(const pl_addend *addend, uint64_t begin, uint64_t count, uint64_t *filled) {
    uint64_t first = pl_sparse_first(addend->index, 0, addend->count, begin);
    *filled = pl_sparse_first(addend->index, first, addend->count, begin + count) - first;
    return first;
}

pl_packet pl_packet_of(const pl_addend *addend, uint64_t begin, uint64_t count) {
    pl_packet packet = {.entries = count, .filled = count, .begin = begin, .share = addend->share};
    if (addend->values)
        packet.values = addend->values + begin;
    else {
        uint64_t first = find_entries(addend, begin, count, &packet.filled);
        packet.values = addend->value + first;
        packet.index = addend->index + first;
    }
    return packet;
}

const void *pl_packet_write(const pl_addend *addend, uint64_t begin, uint64_t count, void *room, uint64_t *bytes) {
    if (addend->values)
        return write_values(addend->values + begin, count, room, bytes);
    uint64_t filled, first = find_entries(addend, begin, count, &filled);
    const uint32_t *index = addend->index + first;
    const double *from = addend->value + first;
    double *value = room;
    uint16_t *place = (uint16_t *)(value + filled);
    *bytes = pl_packet_bytes(count, filled);
    if (!is_sparse(count, filled))
        memset(value, 0, count * sizeof *value);
    for (uint64_t i = 0; i < filled && !is_sparse(count, filled); i++)
        value[index[i] - begin] = addend->share * from[i];
    for (uint64_t i = 0; i < filled && is_sparse(count, filled); i++) {
        value[i] = addend->share * from[i];
        place[i] = (uint16_t)(index[i] - begin);
    }
    return room;
}

bool pl_packet_read(const void *data, uint64_t bytes, uint64_t count, pl_packet *packet) {
    uint64_t filled = bytes / PL_PACKET_ENTRY;
    *packet = (pl_packet){.entries = count, .filled = count, .values = data};
    if (bytes == count * sizeof *packet->values)
        return true;
    if (bytes % PL_PACKET_ENTRY || !is_sparse(count, filled))
        return false;
    packet->filled = filled;
    packet->place = (const uint16_t *)(packet->values + filled);
    bool rising = true;
    for (uint64_t i = 1; i < filled; i++)
        rising = rising && packet->place[i] > packet->place[i - 1];
    return rising && (filled == 0 || packet->place[filled - 1] < count);
}

void pl_packet_put(const pl_packet *packet, double *out, bool *plain) {
    uint64_t negative = 0; /* counts zeros with a sign */
    *plain = packet->place || packet->index;
    if (!*plain) {
        memcpy(out, packet->values, packet->entries * sizeof *out);
        return;
    }
    memset(out, 0, packet->entries * sizeof *out);
    for (uint64_t i = 0; i < packet->filled && packet->place; i++) {
        out[packet->place[i]] = packet->values[i];
        negative += bits(packet->values[i]) == bits(-0.0);
    }
    for (uint64_t i = 0; i < packet->filled && packet->index; i++) {
        double value = packet->share * packet->values[i];
        out[packet->index[i] - packet->begin] = value;
        negative += bits(value) == bits(-0.0);
    }
    *plain = negative == 0;
}

static void add_all(double *restrict out, const double *restrict values, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        out[i] += values[i];
}

static void add_filled(const pl_packet *packet, double *restrict out) {
    const double *restrict values = packet->values;
    for (uint64_t i = 0; i < packet->filled && packet->place; i++)
        out[packet->place[i]] += values[i];
    for (uint64_t i = 0; i < packet->filled && packet->index; i++)
        out[packet->index[i] - packet->begin] += packet->share * values[i];
}

/* Adds 0 to the entries between those in the packet, because one of them might be -0. */
static void add_zeros(const pl_packet *packet, double *out) {
    uint64_t at = 0;
    for (uint64_t i = 0; i < packet->filled; i++) {
        uint64_t next = packet->place ? packet->place[i] : packet->index[i] - packet->begin;
        for (; at < next; at++)
            out[at] += 0.0;
        at = next + 1;
    }
    for (; at < packet->entries; at++)
        out[at] += 0.0;
}

void pl_packet_add(const pl_packet *packet, double *out, bool *plain) {
    if (!packet->place && !packet->index) {
        add_all(out, packet->values, packet->entries);
        *plain = false;
        return;
    }
    add_filled(packet, out);
    if (!*plain)
        add_zeros(packet, out);
}
