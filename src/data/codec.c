/* codec.c: gzip by zlib, Zstandard by libzstd, bzip2 by libbz2, xz by liblzma. All allocate through base/memory.h. */
#include "data/codec.h"

#include <bzlib.h>
#include <lzma.h>
#include <string.h>
#include <zlib.h>
#define ZSTD_STATIC_LINKING_ONLY /* custom memory */
#include <zstd.h>
#include <zstd_errors.h>

#include "base/memory.h"
#include "data/file.h"

#define MOST_STEP ((size_t)1 << 30)           /* bytes of one step, which fit in an unsigned */
#define WINDOW_LOG 27                         /* of zstd: 128 MiB, what zstd --long and -22 need */
#define XZ_MEMORY ((uint64_t)(100 << 20) * 2) /* more than xz -9 needs; streams that need more are refused */

static unsigned at_most(size_t bytes) { return (unsigned)(bytes < MOST_STEP ? bytes : MOST_STEP); }

static parley_status corrupt(const char *why, parley_error *error) {
    return pl_fail(error, PARLEY_BAD_INPUT, "%s", why ? why : "cannot be decompressed");
}

/* gzip */

static bool starts_gzip(const unsigned char *bytes, size_t count) {
    return count >= 2 && memcmp(bytes, "\x1f\x8b", 2) == 0;
}

static bool open_gzip(void **state) {
    z_stream *stream = pl_alloc(1, sizeof *stream);
    *state = stream;
    if (!stream)
        return false;
    stream->zalloc = pl_gzip_take;
    stream->zfree = pl_packed_free;
    return inflateInit2(stream, 15 + 16) == Z_OK; /* largest window, gzip header */
}

static parley_status step_gzip(void *state, pl_codec_step *step, parley_error *error) {
    z_stream *stream = state;
    unsigned given = at_most(step->given), room = at_most(step->room);
    stream->next_in = (unsigned char *)step->in;
    stream->avail_in = given;
    stream->next_out = (unsigned char *)step->out;
    stream->avail_out = room;
    int result = inflate(stream, Z_NO_FLUSH);
    step->used = given - stream->avail_in;
    step->made = room - stream->avail_out;
    step->whole = result == Z_STREAM_END;
    if (result == Z_STREAM_END)
        inflateReset(stream);
    if (result == Z_MEM_ERROR)
        return pl_fail_memory(error, "decompression", 1 << 15);
    return result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR ? PARLEY_OK : corrupt(stream->msg, error);
}

static void close_gzip(void *state) {
    if (state)
        inflateEnd(state);
    pl_free(state);
}

/* Zstandard */

static bool starts_zstd(const unsigned char *bytes, size_t count) {
    bool skippable = count >= 4 && (bytes[0] & 0xf0) == 0x50 && memcmp(bytes + 1, "\x2a\x4d\x18", 3) == 0;
    return skippable || (count >= 4 && memcmp(bytes, "\x28\xb5\x2f\xfd", 4) == 0);
}

static bool open_zstd(void **state) {
    *state = ZSTD_createDStream_advanced((ZSTD_customMem){pl_zstd_take, pl_packed_free, NULL});
    return *state && !ZSTD_isError(ZSTD_DCtx_setParameter(*state, ZSTD_d_windowLogMax, WINDOW_LOG));
}

static parley_status step_zstd(void *state, pl_codec_step *step, parley_error *error) {
    ZSTD_inBuffer from = {step->in, step->given, 0};
    ZSTD_outBuffer to = {step->out, step->room, 0};
    size_t result = ZSTD_decompressStream(state, &to, &from);
    step->used = from.pos;
    step->made = to.pos;
    step->whole = result == 0;
    if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation)
        return pl_fail_memory(error, "decompression", ZSTD_DStreamInSize());
    if (ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge)
        return pl_fail(error, PARLEY_BAD_USAGE,
                       "it needs a window of more than %u MiB; compress it with zstd --long=%u or less",
                       1u << (WINDOW_LOG - 20), WINDOW_LOG);
    return ZSTD_isError(result) ? corrupt(ZSTD_getErrorName(result), error) : PARLEY_OK;
}

static void close_zstd(void *state) { ZSTD_freeDStream(state); }

/* bzip2 */

typedef struct bzip2 {
    bz_stream stream;
    bool open;
} bzip2;

static bool starts_bzip2(const unsigned char *bytes, size_t count) {
    return count >= 4 && memcmp(bytes, "BZh", 3) == 0 && bytes[3] >= '1' && bytes[3] <= '9';
}

static void *take_items(void *user, int items, int size) {
    (void)user;
    return pl_alloc((uint64_t)items, (uint64_t)size);
}

static bool restart_bzip2(bzip2 *self) {
    if (self->open)
        BZ2_bzDecompressEnd(&self->stream);
    self->stream = (bz_stream){.bzalloc = take_items, .bzfree = pl_packed_free};
    self->open = BZ2_bzDecompressInit(&self->stream, 0, 0) == BZ_OK;
    return self->open;
}

static bool open_bzip2(void **state) {
    *state = pl_alloc(1, sizeof(bzip2));
    return *state && restart_bzip2(*state);
}

static parley_status step_bzip2(void *state, pl_codec_step *step, parley_error *error) {
    bzip2 *self = state;
    unsigned given = at_most(step->given), room = at_most(step->room);
    self->stream.next_in = (char *)step->in;
    self->stream.avail_in = given;
    self->stream.next_out = step->out;
    self->stream.avail_out = room;
    int result = BZ2_bzDecompress(&self->stream);
    step->used = given - self->stream.avail_in;
    step->made = room - self->stream.avail_out;
    step->whole = result == BZ_STREAM_END;
    bool lost = result == BZ_MEM_ERROR || (result == BZ_STREAM_END && !restart_bzip2(self));
    if (lost)
        return pl_fail_memory(error, "decompression", 1 << 22);
    return result == BZ_OK || result == BZ_STREAM_END ? PARLEY_OK : corrupt(NULL, error);
}

static void close_bzip2(void *state) {
    bzip2 *self = state;
    if (self && self->open)
        BZ2_bzDecompressEnd(&self->stream);
    pl_free(self);
}

/* xz */

static bool starts_xz(const unsigned char *bytes, size_t count) {
    return count >= 6 && memcmp(bytes,
                                "\xfd"
                                "7zXZ\0",
                                6) == 0;
}

static void *take_more(void *user, size_t items, size_t size) {
    (void)user;
    return pl_alloc(items, size);
}

static const lzma_allocator through_memory = {take_more, pl_packed_free, NULL};

static bool restart_xz(lzma_stream *stream) {
    stream->allocator = &through_memory;
    return lzma_stream_decoder(stream, XZ_MEMORY, 0) == LZMA_OK;
}

static bool open_xz(void **state) {
    lzma_stream *stream = pl_alloc(1, sizeof *stream);
    *state = stream;
    if (!stream)
        return false;
    *stream = (lzma_stream)LZMA_STREAM_INIT;
    return restart_xz(stream);
}

static parley_status step_xz(void *state, pl_codec_step *step, parley_error *error) {
    lzma_stream *stream = state;
    stream->next_in = step->in;
    stream->avail_in = step->given;
    stream->next_out = (unsigned char *)step->out;
    stream->avail_out = step->room;
    lzma_ret result = lzma_code(stream, LZMA_RUN);
    step->used = step->given - stream->avail_in;
    step->made = step->room - stream->avail_out;
    step->whole = result == LZMA_STREAM_END;
    bool lost = result == LZMA_MEM_ERROR || (result == LZMA_STREAM_END && !restart_xz(stream));
    if (lost)
        return pl_fail_memory(error, "decompression", 1 << 22);
    if (result == LZMA_MEMLIMIT_ERROR)
        return pl_fail(error, PARLEY_BAD_USAGE, "it needs more than %u MiB of memory; compress it with xz -9 or less",
                       (unsigned)(XZ_MEMORY >> 20));
    return result == LZMA_OK || result == LZMA_STREAM_END || result == LZMA_BUF_ERROR ? PARLEY_OK
                                                                                      : corrupt(NULL, error);
}

static void close_xz(void *state) {
    if (state)
        lzma_end(state);
    pl_free(state);
}

static const pl_codec codecs[] = {
    {"gzip", starts_gzip, open_gzip, step_gzip, close_gzip},
    {"zstd", starts_zstd, open_zstd, step_zstd, close_zstd},
    {"bzip2", starts_bzip2, open_bzip2, step_bzip2, close_bzip2},
    {"xz", starts_xz, open_xz, step_xz, close_xz},
};

const pl_codec *pl_codec_find(const unsigned char *bytes, size_t count) {
    for (unsigned i = 0; i < sizeof codecs / sizeof *codecs; i++)
        if (codecs[i].starts(bytes, count))
            return &codecs[i];
    return NULL;
}
