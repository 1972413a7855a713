/* decode.h: the bytes of a file, pipe or standard input, decompressed if they are compressed, which is found by content. */
#ifndef PL_DECODE_H
#define PL_DECODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef enum pl_content { PL_PLAIN, PL_COMPRESSED, PL_CACHE } pl_content;

typedef struct pl_decoder pl_decoder;

/* `path` "-" is standard input. */
parley_status pl_decoder_open(const char *path, pl_decoder **out, parley_error *error);
pl_content pl_decoder_content(const pl_decoder *decoder);
/* The descriptor of a regular file that is not compressed, else -1. */
int pl_decoder_file(const pl_decoder *decoder);
/* The size of a regular file, else 0; and the number of its bytes consumed so far. */
uint64_t pl_decoder_size(const pl_decoder *decoder);
uint64_t pl_decoder_taken(const pl_decoder *decoder);
/* For messages: the path, or "standard input". */
const char *pl_decoder_name(const pl_decoder *decoder);
/* Writes 1 to `room` bytes to `out`, or 0 at the end. Soon after `*stop` is set, it gives up as if at the end. */
parley_status pl_decode(pl_decoder *decoder, const atomic_bool *stop, char *out, uint64_t room, uint64_t *made,
                        parley_error *error);
void pl_decoder_close(pl_decoder *decoder);

#endif
