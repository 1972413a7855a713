/* packet.h: how a stretch of a table is sent, in chunks of PL_CHUNK entries. A chunk is sent as it is or, if most of
 * its entries are 0, as the others with their positions. Both give the same bits. */
#ifndef PL_PACKET_H
#define PL_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#define PL_CHUNK 32768     /* entries; positions in a chunk have 16 bits */
#define PL_PACKET_SPARSE 4 /* a chunk is sparse if at most one in this many entries is not 0 */
#define PL_PACKET_ENTRY 10 /* bytes of an entry of a sparse packet: value and position */

/* Stretches of equal length at equal distances, which are sent one after another: a slice of every column of a table.
 */
typedef struct pl_region {
    uint64_t begin, length, stretches, distance;
} pl_region;

/* A position in a region. */
typedef struct pl_cursor {
    pl_region region;
    uint64_t most; /* entries of a chunk; 0: PL_CHUNK */
    uint64_t stretch, at;
} pl_cursor;

/* Entries [bounds[rank], bounds[rank + 1]) of `width` columns of `size` entries. Whole columns are one stretch. */
pl_region pl_region_of(uint64_t size, uint64_t width, const uint64_t *bounds, unsigned rank);
uint64_t pl_region_entries(pl_region region);
/* Moves to the next chunk, entries [begin, begin + count) of the table. Returns false if there is none. */
bool pl_cursor_next(pl_cursor *cursor, uint64_t *begin, uint64_t *count);

/* A table to send: dense, or as its non-zero entries. */
typedef struct pl_addend {
    const double *values;  /* NULL: sparse */
    const uint32_t *index; /* increasing */
    const double *value;
    uint64_t count;
    double share; /* factor of the values of a sparse addend */
} pl_addend;

/* A packet in memory or, if all ranks can read it, the chunk of an addend itself. */
typedef struct pl_packet {
    uint64_t entries, filled; /* entries of the chunk, and how many are in the packet */
    const double *values;
    const uint16_t *place; /* in the chunk; NULL: all entries, unless there is an index */
    const uint32_t *index; /* in the table, whose chunk begins at `begin`; the values are multiplied by `share` */
    uint64_t begin;
    double share;
} pl_packet;

/* Bytes of a packet with `filled` of `count` entries. */
uint64_t pl_packet_bytes(uint64_t count, uint64_t filled);
/* Makes the packet for a chunk of an addend, in its own memory or in `room` (8 bytes per entry). */
const void *pl_packet_write(const pl_addend *addend, uint64_t begin, uint64_t count, void *room, uint64_t *bytes);
pl_packet pl_packet_of(const pl_addend *addend, uint64_t begin, uint64_t count);          /* without copying */
bool pl_packet_read(const void *data, uint64_t bytes, uint64_t count, pl_packet *packet); /* false if it is invalid */
/* Writes or adds the chunk of a packet. `plain` means that no entry of `out` is -0, so that absent zeros need not be
 * added. */
void pl_packet_put(const pl_packet *packet, double *out, bool *plain);
void pl_packet_add(const pl_packet *packet, double *out, bool *plain);

#endif
