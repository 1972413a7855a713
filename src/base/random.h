/* random.h: random streams. A stream is made from (seed, worker, round), so the numbers that a worker draws never
 * depend on threads, ranks or the order of workers. xoshiro256**, seeded by splitmix64. */
#ifndef PL_RANDOM_H
#define PL_RANDOM_H

#include <stdint.h>

typedef struct pl_stream {
    uint64_t s[4];
} pl_stream;

pl_stream pl_stream_make(uint64_t seed, uint64_t worker, uint64_t round);
/* 64 bits; inline for loops that draw little else. */
static inline uint64_t pl_random_inline(pl_stream *stream) {
    uint64_t *s = stream->s, product = s[1] * 5, result = (product << 7 | product >> 57) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = s[3] << 45 | s[3] >> 19;
    return result;
}
uint64_t pl_random(pl_stream *stream);                       /* 64 bits */
uint64_t pl_random_below(pl_stream *stream, uint64_t bound); /* uniform in [0, bound), bound > 0 */
double pl_random_unit(pl_stream *stream);                    /* uniform in [0, 1) */
double pl_random_normal(pl_stream *stream);                  /* mean 0, variance 1 */
void pl_shuffle(pl_stream *stream, uint64_t *items, uint64_t count);
/* Fills `order` with 0 to count - 1. The first `part` of them are drawn at random, and sorted. */
void pl_draw(pl_stream *stream, uint64_t *order, uint64_t count, uint64_t part);

#endif
