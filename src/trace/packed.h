/* packed.h: writes columns of numbers into JSON: as bytes, compressed and in base64. */
#ifndef PL_PACKED_H
#define PL_PACKED_H

#include <stdint.h>
#include <stdio.h>

#include "base/status.h"

/* Writes {"type":..., "bytes":"..."} for `members` columns of `count` numbers, one after the other; a NULL column is
 * all NaN, and the columns are `stride` apart in the list. Type "ns" has whole nanoseconds in 4 bytes, where 2^32 - 1
 * is NaN; it is used if all numbers can be written so. Type "f8" has doubles. In each column first come all the first
 * bytes of its numbers, then the second ones, and so on, little end first, because that compresses better. The bytes
 * are compressed by zlib. */
parley_status pl_pack(FILE *file, const double *const *columns, unsigned members, uint64_t stride, uint64_t count,
                      parley_error *error);

#endif
