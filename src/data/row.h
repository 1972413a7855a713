/* row.h: counts rows in text and sorts the entries of a row. */
#ifndef PL_ROW_H
#define PL_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "math/values.h"

typedef struct pl_byte_counts {
    uint64_t newlines, matches;
} pl_byte_counts;

/* Counts newlines and bytes equal to a, b or c, which may be equal. */
static inline pl_byte_counts pl_count_bytes(const char *text, const char *end, char a, char b, char c) {
    enum { CHUNK = 192 }; /* the counts of a chunk fit in a byte, and chunks fill vector registers */
    pl_byte_counts count = {0, 0};
    for (; end - text >= CHUNK; text += CHUNK) {
        uint8_t newlines = 0, matches = 0;
        for (int i = 0; i < CHUNK; i++) {
            newlines = (uint8_t)(newlines + (text[i] == '\n'));
            matches = (uint8_t)(matches + ((text[i] == a) | (text[i] == b) | (text[i] == c)));
        }
        count.newlines += newlines;
        count.matches += matches;
    }
    for (; text < end; text++) {
        count.newlines += *text == '\n';
        count.matches += *text == a || *text == b || *text == c;
    }
    return count;
}

/* Scratch memory for sorting. Zero-initialised, it is empty. */
typedef struct pl_sorter {
    uint64_t *keys[2];
    void *values;
    uint64_t room;
} pl_sorter;

/* Sorts the entries of a row by column and adds up those of the same column, in their original order. Returns how many
 * are left, or UINT64_MAX if memory runs out. */
uint64_t pl_row_sort(pl_sorter *sorter, uint32_t *index, pl_value_room values, uint64_t count);
void pl_sorter_free(pl_sorter *sorter);

#endif
