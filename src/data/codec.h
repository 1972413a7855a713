/* codec.h: decompression. Each method is one row of pl_codecs, recognised by the first bytes of its streams. */
#ifndef PL_CODEC_H
#define PL_CODEC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* Input and output of one step. */
typedef struct pl_codec_step {
    const unsigned char *in;
    char *out;
    size_t given, used; /* bytes of input */
    size_t room, made;  /* bytes of output */
    bool whole;         /* the stream ends here; another may follow */
} pl_codec_step;

typedef struct pl_codec {
    const char *name;
    bool (*starts)(const unsigned char *bytes, size_t count); /* recognises a stream by its first bytes */
    /* Sets `*state`. Returns false if memory runs out. */
    bool (*open)(void **state);
    /* Takes input and writes output. Fails with PARLEY_NO_MEMORY, with PARLEY_BAD_INPUT and what is wrong with the
     * data, or with PARLEY_BAD_USAGE and a limit that they exceed. */
    parley_status (*step)(void *state, pl_codec_step *step, parley_error *error);
    void (*close)(void *state); /* accepts NULL */
} pl_codec;

/* Returns the method whose stream begins with these bytes, or NULL. */
const pl_codec *pl_codec_find(const unsigned char *bytes, size_t count);

#endif
