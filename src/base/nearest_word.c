/* nearest_word.c: the word that somebody may have meant. */
#include <string.h>

#include "base/settings.h"

/* Edits (insert, delete, replace, swap of neighbours) from a to b, for words of under 40 letters. */
static unsigned edits(const char *a, const char *b) {
    unsigned table[3][41];
    unsigned n = (unsigned)strlen(b);
    for (unsigned j = 0; j <= n; j++)
        table[0][j] = j;
    for (unsigned i = 1; a[i - 1]; i++) {
        unsigned *row = table[i % 3], *above = table[(i + 2) % 3], *two_above = table[(i + 1) % 3];
        row[0] = i;
        for (unsigned j = 1; j <= n; j++) {
            unsigned best = above[j - 1] + (a[i - 1] != b[j - 1]);
            best = above[j] + 1 < best ? above[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && two_above[j - 2] + 1 < best)
                best = two_above[j - 2] + 1;
            row[j] = best;
        }
    }
    return table[strlen(a) % 3][n];
}

const char *pl_nearest(const char *word, const char *const *words, unsigned count) {
    const char *best = NULL;
    unsigned length = (unsigned)strlen(word), least = length / 3 + 2, begun = 0;
    for (unsigned i = 0; i < count && length > 2; i++)
        if (strncmp(words[i], word, length) == 0 && begun++ == 0)
            best = words[i];
    if (begun == 1)
        return best; /* it was cut short */
    best = NULL;
    for (unsigned i = 0; i < count && length <= 40; i++) {
        unsigned distance = strlen(words[i]) <= 40 ? edits(word, words[i]) : least;
        if (distance < least) {
            least = distance;
            best = words[i];
        }
    }
    return best;
}
