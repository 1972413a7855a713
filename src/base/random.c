/* random.c: xoshiro256** (Blackman and Vigna), one stream per (seed, worker, round). */
#include "base/random.h"

#include <math.h>

#include "base/sort_numbers.h"

static uint64_t splitmix(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

pl_stream pl_stream_make(uint64_t seed, uint64_t worker, uint64_t round) {
    uint64_t key = seed;
    key = splitmix(&key) ^ worker;
    key = splitmix(&key) ^ round;
    pl_stream stream;
    for (int i = 0; i < 4; i++)
        stream.s[i] = splitmix(&key);
    return stream;
}

uint64_t pl_random(pl_stream *stream) { return pl_random_inline(stream); }

uint64_t pl_random_below(pl_stream *stream, uint64_t bound) {
    if (bound <= UINT32_MAX) /* multiply-shift, with a bias below 2^-32 */
        return ((pl_random(stream) >> 32) * bound) >> 32;
    uint64_t limit = UINT64_MAX - UINT64_MAX % bound, draw;
    do
        draw = pl_random(stream);
    while (draw >= limit);
    return draw % bound;
}

double pl_random_unit(pl_stream *stream) { return (double)(pl_random(stream) >> 11) * 0x1p-53; }

double pl_random_normal(pl_stream *stream) {
    double u = 1.0 - pl_random_unit(stream), v = pl_random_unit(stream);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

void pl_shuffle(pl_stream *stream, uint64_t *items, uint64_t count) {
    for (uint64_t i = count; i > 1; i--) {
        uint64_t j = pl_random_below(stream, i);
        uint64_t item = items[i - 1];
        items[i - 1] = items[j];
        items[j] = item;
    }
}

void pl_draw(pl_stream *stream, uint64_t *order, uint64_t count, uint64_t part) {
    for (uint64_t i = 0; i < count; i++)
        order[i] = i;
    pl_shuffle(stream, order, count);
    pl_sort_wholes(order, part);
}
