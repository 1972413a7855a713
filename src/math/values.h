/* values.h: the values of entries. They are 32-bit floats, or doubles where floats would lose something that matters,
 * or all 1. */
#ifndef PL_VALUES_H
#define PL_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* At most one of the two is set. Neither: every value is 1. */
typedef struct pl_values {
    const float *narrow;
    const double *wide;
} pl_values;

static inline bool pl_are_ones(pl_values values) { return !values.narrow && !values.wide; }

/* The values from entry `e` on. */
static inline pl_values pl_values_from(pl_values values, uint64_t e) {
    return (pl_values){values.narrow ? values.narrow + e : NULL, values.wide ? values.wide + e : NULL};
}

/* The values of which these are the ones from entry `e` on. */
static inline pl_values pl_values_before(pl_values values, uint64_t e) {
    return (pl_values){values.narrow ? values.narrow - e : NULL, values.wide ? values.wide - e : NULL};
}

static inline double pl_value_at(pl_values values, uint64_t e) {
    return values.narrow ? (double)values.narrow[e] : values.wide ? values.wide[e] : 1.0;
}

/* Where values are written. At most one of the two is set. */
typedef struct pl_value_room {
    float *narrow;
    double *wide;
} pl_value_room;

/* Makes room out of memory for values of one type. */
static inline pl_value_room pl_value_room_in(void *memory, bool wide) {
    return (pl_value_room){wide ? NULL : memory, wide ? memory : NULL};
}
static inline uint64_t pl_value_size(bool wide) { return wide ? sizeof(double) : sizeof(float); }

/* The values in memory of this type; NULL: all are 1. */
static inline pl_values pl_values_in(const void *memory, bool wide) {
    return (pl_values){wide ? NULL : memory, wide ? memory : NULL};
}

/* The room from entry `e` on. */
static inline pl_value_room pl_value_room_from(pl_value_room room, uint64_t e) {
    return (pl_value_room){room.narrow ? room.narrow + e : NULL, room.wide ? room.wide + e : NULL};
}

static inline pl_values pl_values_of(pl_value_room room) { return (pl_values){room.narrow, room.wide}; }

static inline void pl_value_put(pl_value_room room, uint64_t e, double value) {
    if (room.narrow)
        room.narrow[e] = (float)value;
    else if (room.wide)
        room.wide[e] = value;
}

/* Their memory; NULL if all are 1. */
static inline const void *pl_value_memory(pl_values values) {
    return values.wide ? (const void *)values.wide : values.narrow;
}

/* Bytes of one value in memory. */
static inline uint64_t pl_value_bytes(pl_values values) {
    return values.narrow ? sizeof(float) : values.wide ? sizeof(double) : 0;
}

#endif
