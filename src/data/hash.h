/* hash.h: MurmurHash3 (Austin Appleby), 32 bits, for dictionaries and for columns hashed as in Vowpal Wabbit. */
#ifndef PL_HASH_H
#define PL_HASH_H

#include <stdint.h>

uint32_t pl_murmur(const char *text, uint64_t bytes, uint32_t seed);
/* Vowpal Wabbit's hash of a name. A name of digits is a number that is added to the seed; other names are hashed. */
uint64_t pl_hash_name(const char *name, uint64_t bytes, uint64_t seed);

#endif
