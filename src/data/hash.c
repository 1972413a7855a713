/* hash.c: MurmurHash3 takes four bytes at a time, then up to three, then the length. The last steps mix every bit into
 * all others. */
#include "data/hash.h"

#define MULTIPLY_A 0xcc9e2d51u
#define MULTIPLY_B 0x1b873593u

static uint32_t rotate(uint32_t x, int bits) { return x << bits | x >> (32 - bits); }

static uint32_t scramble(uint32_t word) { return rotate(word * MULTIPLY_A, 15) * MULTIPLY_B; }

/* Loads four bytes, the first one lowest. Compilers turn this into one load. */
static uint32_t load_four(const char *p) {
    const unsigned char *b = (const unsigned char *)p;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

uint32_t pl_murmur(const char *text, uint64_t bytes, uint32_t seed) {
    const char *p = text, *end = text + bytes;
    uint32_t hash = seed, rest = 0;
    for (; end - p >= 4; p += 4)
        hash = rotate(hash ^ scramble(load_four(p)), 13) * 5 + 0xe6546b64u;
    for (unsigned shift = 0; p < end; p++, shift += 8)
        rest |= (uint32_t)(unsigned char)*p << shift;
    hash ^= scramble(rest);
    hash ^= (uint32_t)bytes;
    hash = (hash ^ hash >> 16) * 0x85ebca6bu;
    hash = (hash ^ hash >> 13) * 0xc2b2ae35u;
    return hash ^ hash >> 16;
}

uint64_t pl_hash_name(const char *name, uint64_t bytes, uint64_t seed) {
    uint64_t number = 0;
    for (uint64_t i = 0; i < bytes; i++) {
        unsigned digit = (unsigned)(unsigned char)name[i] - '0';
        if (digit > 9)
            return pl_murmur(name, bytes, (uint32_t)seed);
        number = number * 10 + digit; /* wraps, as in Vowpal Wabbit */
    }
    return number + seed;
}
