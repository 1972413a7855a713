/* packet.h: how a stretch of a table goes on its way: in chunks of PL_CHUNK entries, each as it is, or, where most of
 * its entries are 0, only the others with their places. Reading a packet gives the same bits either way. */
#ifndef PL_PACKET_H
#define PL_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#define PL_CHUNK 32768     /* entries; places in it have 16 bits */
#define PL_PACKET_SPARSE 4 /* a chunk is sparse where at most one in so many entries is not 0 */
#define PL_PACKET_ENTRY 10 /* bytes of an entry there: value and place */

/* Stretches of equal length, at equal distances, that are sent one after another: a slice of every column of a table.
 */
typedef struct pl_region {
    uint64_t begin, length, stretches, distance;
} pl_region;

/* Where one is in a region. */
typedef struct pl_cursor {
    pl_region region;
    uint64_t most; /* entries of a chunk; 0: PL_CHUNK */
    uint64_t stretch, at;
} pl_cursor;

/* Entries [bounds[rank], bounds[rank + 1]) of `width` columns of `size` entries; whole columns are one stretch. */
pl_region pl_region_of(uint64_t size, uint64_t width, const uint64_t *bounds, unsigned rank);
uint64_t pl_region_entries(pl_region region);
/* The next chunk: entries [begin, begin + count) of the table; false: there is none. */
bool pl_cursor_next(pl_cursor *cursor, uint64_t *begin, uint64_t *count);

/* A table that is sent: whole, or as entries of which the others are 0. */
typedef struct pl_addend {
    const double *values;  /* NULL: sparse */
    const uint32_t *index; /* rising */
    const double *value;
    uint64_t count;
    double share; /* that the values of a sparse one are multiplied by */
} pl_addend;

/* A packet, as it lies in memory; or, where all see that, the chunk of an addend itself. */
typedef struct pl_packet {
    uint64_t entries, filled; /* of the chunk; of those in the packet */
    const double *values;
    const uint16_t *place; /* in the chunk; NULL: all entries, unless there is an index */
    const uint32_t *index; /* in the table, where the chunk begins at `begin`; the values count `share` times */
    uint64_t begin;
    double share;
} pl_packet;

/* Bytes of a packet of `count` entries of which so many are in it. */
uint64_t pl_packet_bytes(uint64_t count, uint64_t filled);
/* The packet for a chunk of an addend: its own memory, or what is written to `room` (8 bytes per entry). */
const void *pl_packet_write(const pl_addend *addend, uint64_t begin, uint64_t count, void *room, uint64_t *bytes);
pl_packet pl_packet_of(const pl_addend *addend, uint64_t begin, uint64_t count);          /* without writing anything */
bool pl_packet_read(const void *data, uint64_t bytes, uint64_t count, pl_packet *packet); /* false: makes no sense */
/* Writes or adds the chunk of a packet. `plain`: no entry of `out` is -0, to which an absent 0 need not be added. */
void pl_packet_put(const pl_packet *packet, double *out, bool *plain);
void pl_packet_add(const pl_packet *packet, double *out, bool *plain);

#endif
