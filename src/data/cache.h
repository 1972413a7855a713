/* cache.h: opens the files that pl_data_write_cache writes. */
#ifndef PL_CACHE_H
#define PL_CACHE_H

#include "data/data.h"

#define PL_UNCHECKED ((pl_pool *)0)
/* Maps a cache and checks its entire content. With PL_UNCHECKED in place of the pool, it checks only the shapes, and
 * the caller checks the rows that it uses with pl_cache_check. */
parley_status pl_cache_open(const char *path, pl_pool *pool, parley_data **out, parley_error *error);
/* Checks rows [first, end) of an unchecked cache. */
parley_status pl_cache_check(const parley_data *data, uint64_t first, uint64_t end, pl_pool *pool, parley_error *error);
/* Like pl_cache_open, for bytes in memory, which must outlive the data. */
parley_status pl_cache_parse(const void *bytes, uint64_t size, const char *path, pl_pool *pool, parley_data **out,
                             parley_error *error);

#endif
