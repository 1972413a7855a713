/* bounded_json.h: parses JSON from files that may be damaged or hostile, in bounded memory. */
#ifndef PL_BOUNDED_JSON_H
#define PL_BOUNDED_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* Parses `bytes` of text, with flags of jansson. A value takes up to some 300 bytes of memory, however short its text
 * is, so that text with more than `most` of them is refused before it is parsed. The sentence of a failure is the
 * reason alone; its status is PARLEY_NO_MEMORY or PARLEY_BAD_INPUT. */
parley_status pl_json_parse(const char *text, uint64_t bytes, uint64_t most, size_t flags, json_t **out,
                            parley_error *why);

/* Reads a file of at most `most_bytes` and parses it. If it cannot be opened, fails with PARLEY_BAD_INPUT and a
 * sentence that names it, and `opened` is false; otherwise as pl_json_parse. */
parley_status pl_json_read(const char *path, uint64_t most_bytes, uint64_t most, json_t **out, bool *opened,
                           parley_error *why);

#endif
