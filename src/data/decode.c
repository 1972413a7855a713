/* decode.c: an input buffer that is filled from the file and emptied by copying or decompressing. */
#define _POSIX_C_SOURCE 200809L
#include "data/decode.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/stop.h"
#include "data/codec.h"

#define INPUT_BYTES ((size_t)256 << 10)
#define SNIFF_BYTES 9            /* a cache is recognised by its 9th byte */
#define LONGEST_HEADER 100000000 /* of a cache; limit of the safetensors specification */
#define POLL_MILLISECONDS 50

struct pl_decoder {
    char *name;
    int file;
    bool regular, ended; /* ended: there is no more input */
    bool whole;          /* the compressed stream may end here */
    pl_content content;
    uint64_t size, taken; /* of the file; bytes consumed */
    unsigned char *input;
    size_t begin, end;     /* the content of the buffer */
    const pl_codec *codec; /* NULL: not compressed */
    void *state;           /* of the codec */
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

static pl_content recognise(pl_decoder *decoder) {
    const unsigned char *input = decoder->input;
    decoder->codec = pl_codec_find(input, decoder->end);
    if (decoder->codec)
        return PL_COMPRESSED;
    if (decoder->end < SNIFF_BYTES || input[8] != '{')
        return PL_PLAIN;
    uint64_t header = 0;
    for (int i = 7; i >= 0; i--)
        header = header << 8 | input[i];
    return header <= LONGEST_HEADER ? PL_CACHE : PL_PLAIN;
}

static parley_status start(pl_decoder *decoder, parley_error *error) {
    decoder->whole = true;
    if (decoder->codec && !decoder->codec->open(&decoder->state))
        return pl_fail_memory(error, "decompression", INPUT_BYTES);
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
    return pl_fail(error, PARLEY_BAD_INPUT, "%s: corrupt %s data: %s", decoder->name, decoder->codec->name, why);
}

/* Takes input from the buffer and writes up to `room` bytes. */
static parley_status step_packed(pl_decoder *decoder, char *out, uint64_t room, uint64_t *made, parley_error *error) {
    pl_codec_step step = {.in = decoder->input + decoder->begin,
                          .given = decoder->end - decoder->begin,
                          .out = out,
                          .room = (size_t)room};
    parley_error why;
    parley_status status = decoder->codec->step(decoder->state, &step, &why);
    decoder->begin += step.used;
    *made = step.made;
    decoder->whole = step.whole;
    if (status == PARLEY_NO_MEMORY)
        return pl_fail(error, status, "%s", why.sentence);
    if (status == PARLEY_BAD_USAGE)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: decompressing %s", decoder->name, why.sentence);
    return status == PARLEY_OK ? status : corrupt(decoder, why.sentence, error);
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
    parley_status status =
        decoder->codec ? step_packed(decoder, out, room, made, error) : step_plain(decoder, out, room, made);
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
    if (decoder->codec)
        decoder->codec->close(decoder->state);
    if (decoder->file >= 0)
        close(decoder->file);
    pl_free(decoder->input);
    pl_free(decoder->name);
    pl_free(decoder);
}
