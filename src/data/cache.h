/* cache.h: opening what pl_data_write_cache writes. */
#ifndef PL_CACHE_H
#define PL_CACHE_H

#include "data/data.h"

/* Maps a cache and checks all of it before it is trusted. */
parley_status pl_cache_open(const char *path, pl_pool *pool, parley_data **out, parley_error *error);
/* The same for bytes in memory, which must outlive the data. */
/* The same in two steps, for those who take a part of the rows: shapes are checked first, then rows [first, end). */
#define PL_UNCHECKED ((pl_pool *)0) /* in place of the pool */
parley_status pl_cache_check(const parley_data *data, uint64_t first, uint64_t end, pl_pool *pool, parley_error *error);
parley_status pl_cache_parse(const void *bytes, uint64_t size, const char *path, pl_pool *pool, parley_data **out,
                             parley_error *error);

#endif
