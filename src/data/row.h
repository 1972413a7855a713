/* row.h: counting rows in text, and putting the entries of a row in order. */
#ifndef PL_ROW_H
#define PL_ROW_H

#include <stdbool.h>
#include <stdint.h>

typedef struct pl_marks {
    uint64_t newlines, marks;
} pl_marks;

/* Counts newlines and three marks, which may be the same one. */
static inline pl_marks pl_count_marks(const char *text, const char *end, char a, char b, char c) {
    enum { CHUNK = 192 }; /* so that the counts of a chunk fit in a byte, and the compiler's vectors are full */
    pl_marks count = {0, 0};
    for (; end - text >= CHUNK; text += CHUNK) {
        uint8_t newlines = 0, marks = 0;
        for (int i = 0; i < CHUNK; i++) {
            newlines = (uint8_t)(newlines + (text[i] == '\n'));
            marks = (uint8_t)(marks + ((text[i] == a) | (text[i] == b) | (text[i] == c)));
        }
        count.newlines += newlines;
        count.marks += marks;
    }
    for (; text < end; text++) {
        count.newlines += *text == '\n';
        count.marks += *text == a || *text == b || *text == c;
    }
    return count;
}

/* Memory that sorting takes; zero-initialised it is empty. */
typedef struct pl_sorter {
    uint64_t *keys[2];
    float *values;
    uint64_t room;
} pl_sorter;

/* Sorts the entries of a row by column and adds up those of the same column, in the order in which they stood. Returns
 * how many are left, or UINT64_MAX: no memory. */
uint64_t pl_row_sort(pl_sorter *sorter, uint32_t *index, float *value, uint64_t count);
void pl_sorter_free(pl_sorter *sorter);

#endif
