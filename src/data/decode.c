/* decode.c: an input buffer that is filled from the file and emptied by copying, zlib or libzstd. */
#define _POSIX_C_SOURCE 200809L
#include "data/decode.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#define ZSTD_STATIC_LINKING_ONLY /* custom memory */
#include <zstd.h>
#include <zstd_errors.h>

#include "base/memory.h"
#include "base/stop.h"
#include "data/file.h"

#define INPUT_BYTES ((size_t)256 << 10)
#define SNIFF_BYTES 9            /* a cache is recognised by its 9th byte */
#define LONGEST_HEADER 100000000 /* of a cache; limit of the safetensors specification */
#define WINDOW_LOG 27            /* of zstd: 128 MiB, what zstd --long and -22 need; larger windows are refused */
#define POLL_MILLISECONDS 50

struct pl_decoder {
    char *name;
    int file;
    bool regular, ended; /* ended: there is no more input */
    bool whole;          /* the compressed stream may end here */
    pl_content content;
    uint64_t size, taken; /* of the file; bytes consumed */
    unsigned char *input;
    size_t begin, end; /* the content of the buffer */
    z_stream gzip;
    ZSTD_DStream *zstd;
};

static parley_status fill(pl_decoder *decoder, const atomic_bool *stop, parley_error *error) {
    if (decoder->begin == decoder->end)
        decoder->begin = decoder->end = 0;
    struct pollfd ready = {.fd = decoder->file, .events = POLLIN};
    for (;;) {
        if (stop && atomic_load(stop)) {
            decoder->ended = true;
            return PARLEY_OK;
        }
        if (pl_stop_asked())
            return pl_fail_stopped(error);
        if (!decoder->regular && poll(&ready, 1, POLL_MILLISECONDS) <= 0)
            continue; /* ask again, so that an idle pipe cannot delay the end of a run */
        ssize_t got = read(decoder->file, decoder->input + decoder->end, INPUT_BYTES - decoder->end);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got < 0)
            return pl_fail_file(error, decoder->name, "read");
        decoder->end += (size_t)got;
        decoder->ended = got == 0;
        return PARLEY_OK;
    }
}

static bool starts_with(const pl_decoder *decoder, const void *magic, size_t bytes) {
    return decoder->end - decoder->begin >= bytes && memcmp(decoder->input + decoder->begin, magic, bytes) == 0;
}

static pl_content recognise(const pl_decoder *decoder) {
    const unsigned char *input = decoder->input;
    if (starts_with(decoder, "\x1f\x8b", 2))
        return PL_GZIP;
    bool skippable = decoder->end >= 4 && (input[0] & 0xf0) == 0x50 && memcmp(input + 1, "\x2a\x4d\x18", 3) == 0;
    if (starts_with(decoder, "\x28\xb5\x2f\xfd", 4) || skippable)
        return PL_ZSTD;
    if (decoder->end < SNIFF_BYTES || input[8] != '{')
        return PL_PLAIN;
    uint64_t header = 0;
    for (int i = 7; i >= 0; i--)
        header = header << 8 | input[i];
    return header <= LONGEST_HEADER ? PL_CACHE : PL_PLAIN;
}

static parley_status start(pl_decoder *decoder, parley_error *error) {
    decoder->whole = true;
    if (decoder->content == PL_GZIP) {
        decoder->gzip.zalloc = pl_gzip_take;
        decoder->gzip.zfree = pl_packed_free;
        if (inflateInit2(&decoder->gzip, 15 + 16) != Z_OK) /* largest window, gzip header */
            return pl_fail_memory(error, "decompression", 1 << 15);
    }
    if (decoder->content == PL_ZSTD) {
        decoder->zstd = ZSTD_createDStream_advanced((ZSTD_customMem){pl_zstd_take, pl_packed_free, NULL});
        if (!decoder->zstd || ZSTD_isError(ZSTD_DCtx_setParameter(decoder->zstd, ZSTD_d_windowLogMax, WINDOW_LOG)))
            return pl_fail_memory(error, "decompression", ZSTD_DStreamInSize());
    }
    return PARLEY_OK;
}

static parley_status open_file(pl_decoder *decoder, const char *path, parley_error *error) {
    bool standard = strcmp(path, "-") == 0;
    decoder->name = pl_strdup(standard ? "standard input" : path);
    if (!decoder->name)
        return pl_fail_memory(error, "a file name", strlen(path));
    decoder->file = standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (decoder->file < 0)
        return pl_fail_file(error, decoder->name, "open");
    struct stat facts;
    if (fstat(decoder->file, &facts) != 0)
        return pl_fail_file(error, decoder->name, "read");
    decoder->regular = S_ISREG(facts.st_mode) && lseek(decoder->file, 0, SEEK_CUR) == 0;
    decoder->size = decoder->regular ? (uint64_t)facts.st_size : 0;
    return PARLEY_OK;
}

static parley_status begin(pl_decoder *decoder, const char *path, parley_error *error) {
    parley_status status = open_file(decoder, path, error);
    if (status == PARLEY_OK)
        status = pl_take(&decoder->input, INPUT_BYTES, 1, "reading", error);
    while (status == PARLEY_OK && !decoder->ended && decoder->end < SNIFF_BYTES)
        status = fill(decoder, NULL, error);
    if (status != PARLEY_OK)
        return status;
    decoder->content = recognise(decoder);
    return start(decoder, error);
}

parley_status pl_decoder_open(const char *path, pl_decoder **out, parley_error *error) {
    *out = NULL;
    pl_decoder *decoder;
    parley_status status = pl_take(&decoder, 1, sizeof *decoder, "reading", error);
    if (status != PARLEY_OK)
        return status;
    decoder->file = -1;
    status = begin(decoder, path, error);
    if (status == PARLEY_OK)
        *out = decoder;
    else
        pl_decoder_close(decoder);
    return status;
}

pl_content pl_decoder_content(const pl_decoder *decoder) { return decoder->content; }

int pl_decoder_file(const pl_decoder *decoder) {
    return decoder->regular && decoder->content == PL_PLAIN ? decoder->file : -1;
}

uint64_t pl_decoder_size(const pl_decoder *decoder) { return decoder->size; }

uint64_t pl_decoder_taken(const pl_decoder *decoder) { return decoder->taken; }

const char *pl_decoder_name(const pl_decoder *decoder) { return decoder->name; }

static parley_status corrupt(const pl_decoder *decoder, const char *why, parley_error *error) {
    return pl_fail(error, PARLEY_BAD_INPUT, "%s: corrupt %s data: %s", decoder->name,
                   decoder->content == PL_GZIP ? "gzip" : "zstd", why);
}

/* Takes input from the buffer and writes up to `room` bytes. */
static parley_status step_gzip(pl_decoder *decoder, char *out, uint64_t room, uint64_t *made, parley_error *error) {
    z_stream *gzip = &decoder->gzip;
    gzip->next_in = decoder->input + decoder->begin;
    gzip->avail_in = (unsigned)(decoder->end - decoder->begin);
    gzip->next_out = (unsigned char *)out;
    gzip->avail_out = room < INPUT_BYTES ? (unsigned)room : (unsigned)INPUT_BYTES;
    unsigned offered = gzip->avail_out;
    int result = inflate(gzip, Z_NO_FLUSH);
    decoder->begin = decoder->end - gzip->avail_in;
    *made = offered - gzip->avail_out;
    decoder->whole = result == Z_STREAM_END;
    if (result == Z_STREAM_END)
        inflateReset(gzip); /* another gzip member may follow */
    if (result == Z_MEM_ERROR)
        return pl_fail_memory(error, "decompression", 1 << 15);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
        return corrupt(decoder, gzip->msg ? gzip->msg : "cannot be decompressed", error);
    return PARLEY_OK;
}

static parley_status step_zstd(pl_decoder *decoder, char *out, uint64_t room, uint64_t *made, parley_error *error) {
    ZSTD_inBuffer from = {decoder->input, decoder->end, decoder->begin};
    ZSTD_outBuffer to = {out, (size_t)room, 0};
    size_t result = ZSTD_decompressStream(decoder->zstd, &to, &from);
    decoder->begin = from.pos;
    *made = to.pos;
    decoder->whole = result == 0;
    if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation)
        return pl_fail_memory(error, "decompression", ZSTD_DStreamInSize());
    if (ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge)
        return pl_fail(
            error, PARLEY_BAD_INPUT,
            "%s: decompressing it needs a window of more than %u MiB; compress it with zstd --long=%u or less",
            decoder->name, 1u << (WINDOW_LOG - 20), WINDOW_LOG);
    return ZSTD_isError(result) ? corrupt(decoder, ZSTD_getErrorName(result), error) : PARLEY_OK;
}

static parley_status step_plain(pl_decoder *decoder, char *out, uint64_t room, uint64_t *made) {
    size_t held = decoder->end - decoder->begin;
    size_t bytes = room < held ? (size_t)room : held;
    memcpy(out, decoder->input + decoder->begin, bytes);
    decoder->begin += bytes;
    *made = bytes;
    return PARLEY_OK;
}

static parley_status step(pl_decoder *decoder, char *out, uint64_t room, uint64_t *made, parley_error *error) {
    size_t before = decoder->begin;
    parley_status status = decoder->content == PL_GZIP   ? step_gzip(decoder, out, room, made, error)
                           : decoder->content == PL_ZSTD ? step_zstd(decoder, out, room, made, error)
                                                         : step_plain(decoder, out, room, made);
    decoder->taken += decoder->begin - before;
    return status;
}

parley_status pl_decode(pl_decoder *decoder, const atomic_bool *stop, char *out, uint64_t room, uint64_t *made,
                        parley_error *error) {
    parley_status status = PARLEY_OK;
    for (*made = 0; status == PARLEY_OK && *made == 0;) {
        bool dry = decoder->begin == decoder->end;
        /* the decompressor may still hold output for the input it has consumed */
        if (!dry || !decoder->whole)
            status = step(decoder, out, room, made, error);
        if (status != PARLEY_OK || *made > 0 || decoder->begin < decoder->end)
            continue;
        if (decoder->ended)
            return decoder->whole || (stop && atomic_load(stop)) ? PARLEY_OK : corrupt(decoder, "it is cut off", error);
        status = fill(decoder, stop, error);
    }
    return status;
}

void pl_decoder_close(pl_decoder *decoder) {
    if (!decoder)
        return;
    if (decoder->content == PL_GZIP)
        inflateEnd(&decoder->gzip);
    ZSTD_freeDStream(decoder->zstd);
    if (decoder->file >= 0)
        close(decoder->file);
    pl_free(decoder->input);
    pl_free(decoder->name);
    pl_free(decoder);
}
