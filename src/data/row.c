/* row.c: sorts the entries of a row. Short rows are sorted by insertion. Longer rows, whose hashed columns are evenly
 * distributed, are distributed to buckets by their highest bits and then sorted by insertion. Long or uneven rows are
 * sorted by radix on a key of column and position, eight bits of the column per pass. All methods keep the order of
 * equal columns, so that their sum has the same bits. */
#include "data/row.h"

#include <string.h>

#include "base/memory.h"

#define SHORT_ROW 24
#define MIDDLE_ROW 1024
#define FULL_BUCKET 12 /* a row with more in one bucket is uneven */
#define DIGIT 256

static bool rises(const uint32_t *index, uint64_t count) {
    uint32_t falls = 0;
    for (uint64_t i = 1; i < count; i++)
        falls |= index[i] <= index[i - 1];
    return !falls;
}

static void insert(uint32_t *index, float *value, uint64_t count) {
    for (uint64_t i = 1; i < count; i++) {
        uint32_t column = index[i];
        float moved = value[i];
        uint64_t to = i;
        for (; to > 0 && index[to - 1] > column; to--) {
            index[to] = index[to - 1];
            value[to] = value[to - 1];
        }
        index[to] = column;
        value[to] = moved;
    }
}

static bool reserve(pl_sorter *sorter, uint64_t count) {
    if (count <= sorter->room)
        return true;
    pl_sorter_free(sorter);
    uint64_t room = count * 2;
    sorter->keys[0] = pl_alloc(room, sizeof *sorter->keys[0]);
    sorter->keys[1] = pl_alloc(room, sizeof *sorter->keys[1]);
    sorter->values = pl_alloc(room, sizeof(double));
    if (!sorter->keys[0] || !sorter->keys[1] || !sorter->values)
        return false;
    sorter->room = room;
    return true;
}

/* Sorts keys by eight bits of their lower half, from bit `shift` on. */
static void scatter(const uint64_t *from, uint64_t *to, uint64_t count, unsigned shift) {
    uint64_t at[DIGIT] = {0}, sum = 0;
    for (uint64_t i = 0; i < count; i++)
        at[from[i] >> shift & (DIGIT - 1)]++;
    for (unsigned i = 0; i < DIGIT; i++) {
        uint64_t here = at[i];
        at[i] = sum;
        sum += here;
    }
    for (uint64_t i = 0; i < count; i++)
        to[at[from[i] >> shift & (DIGIT - 1)]++] = from[i];
}

/* Distributes the entries to about as many buckets as entries, then sorts what is nearly in order. Returns false if
 * they are uneven or memory runs out. */
static bool bucket_sort(pl_sorter *sorter, uint32_t *index, float *value, uint64_t count) {
    uint16_t at[MIDDLE_ROW + 1] = {0};
    uint32_t all = 0, shift = 0, buckets = 32, sum = 0, fullest = 0;
    for (uint64_t i = 0; i < count; i++)
        all |= index[i];
    while (buckets < count)
        buckets *= 2;
    while (all >> shift >= buckets)
        shift++;
    for (uint64_t i = 0; i < count; i++)
        at[index[i] >> shift]++;
    for (uint32_t i = 0; i < buckets; i++) {
        uint32_t here = at[i];
        at[i] = (uint16_t)sum;
        sum += here;
        fullest = here > fullest ? here : fullest;
    }
    if (fullest > FULL_BUCKET || !reserve(sorter, count))
        return false;
    uint32_t *moved = (uint32_t *)sorter->keys[0];
    float *values = sorter->values;
    for (uint64_t i = 0; i < count; i++) {
        uint32_t to = at[index[i] >> shift]++;
        moved[to] = index[i];
        values[to] = value[i];
    }
    memcpy(index, moved, count * sizeof *index);
    memcpy(value, values, count * sizeof *value);
    insert(index, value, count);
    return true;
}

static bool radix_sort(pl_sorter *sorter, uint32_t *index, pl_value_room values, uint64_t count) {
    if (count > UINT32_MAX || !reserve(sorter, count))
        return false;
    uint32_t largest = 0;
    for (uint64_t i = 0; i < count; i++) {
        sorter->keys[0][i] = i << 32 | index[i];
        largest = index[i] > largest ? index[i] : largest;
    }
    if (values.wide)
        memcpy(sorter->values, values.wide, count * sizeof *values.wide);
    else
        memcpy(sorter->values, values.narrow, count * sizeof *values.narrow);
    unsigned turn = 0;
    for (unsigned shift = 0; shift < 32 && largest >> shift > 0; shift += 8, turn ^= 1)
        scatter(sorter->keys[turn], sorter->keys[turn ^ 1], count, shift);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t key = sorter->keys[turn][i];
        index[i] = (uint32_t)key;
        if (values.wide)
            values.wide[i] = ((const double *)sorter->values)[key >> 32];
        else
            values.narrow[i] = ((const float *)sorter->values)[key >> 32];
    }
    return true;
}

static uint64_t merge(uint32_t *index, pl_value_room values, uint64_t count) {
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; i++) {
        double value = pl_value_at(pl_values_of(values), i);
        if (kept > 0 && index[kept - 1] == index[i])
            pl_value_put(values, kept - 1, pl_value_at(pl_values_of(values), kept - 1) + value);
        else {
            index[kept] = index[i];
            pl_value_put(values, kept++, value);
        }
    }
    return kept;
}

uint64_t pl_row_sort(pl_sorter *sorter, uint32_t *index, pl_value_room values, uint64_t count) {
    if (rises(index, count))
        return count;
    if (values.narrow && count <= SHORT_ROW)
        insert(index, values.narrow, count);
    else if (!(values.narrow && count <= MIDDLE_ROW && bucket_sort(sorter, index, values.narrow, count)) &&
             !radix_sort(sorter, index, values, count))
        return UINT64_MAX;
    return merge(index, values, count);
}

void pl_sorter_free(pl_sorter *sorter) {
    pl_free(sorter->keys[0]);
    pl_free(sorter->keys[1]);
    pl_free(sorter->values);
    *sorter = (pl_sorter){0};
}
