/* fuzz_compressed.c: any bytes as a file that may be gzip or Zstandard: the text is the same whether it is taken a byte
 * or much at a time, and a failure names the file. The bytes are in a memory file, because a decoder opens a path. */
#define _GNU_SOURCE /* memfd_create */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/decode.h"
#include "fuzz_check.h"

#define MOST 65536      /* bytes of text that are compared */
#define LARGE_WINDOW 10 /* exponent of a zstd window: 1 MiB; from TOO_LARGE on it is refused */
#define TOO_LARGE 18

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

/* Decodes up to MOST bytes, at most `step` at a time. */
static parley_status decode(const char *path, uint64_t step, char *text, uint64_t *held, parley_error *error) {
    pl_decoder *decoder;
    uint64_t made = 1;
    *held = 0;
    parley_status status = pl_decoder_open(path, &decoder, error);
    check(status == PARLEY_OK);
    while (status == PARLEY_OK && made > 0 && *held < MOST) {
        uint64_t room = MOST - *held < step ? MOST - *held : step;
        status = pl_decode(decoder, NULL, text + *held, room, &made, error);
        check(made <= room);
        *held += made;
    }
    pl_decoder_close(decoder);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    static char path[32], text[2][MOST];
    static int file = -1;
    uint64_t held[2];
    parley_error error[2] = {{0}, {0}};
    parley_status status[2];
    if (count > 5 && memcmp(bytes, "\x28\xb5\x2f\xfd", 4) == 0 && bytes[5] >> 3 > LARGE_WINDOW &&
        bytes[5] >> 3 < TOO_LARGE)
        return 0; /* allocating it would take all the time */
    if (file < 0) {
        file = memfd_create("fuzz", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    }
    check(ftruncate(file, 0) == 0 && pwrite(file, bytes, count, 0) == (ssize_t)count);
    for (unsigned i = 0; i < 2; i++)
        status[i] = decode(path, i ? MOST : 61, text[i], &held[i], &error[i]);
    uint64_t both = held[0] < held[1] ? held[0] : held[1];
    check(memcmp(text[0], text[1], both) == 0);
    if (status[0] == PARLEY_OK && status[1] == PARLEY_OK)
        check(held[0] == held[1]);
    for (unsigned i = 0; i < 2; i++)
        check(status[i] == PARLEY_OK || strncmp(error[i].sentence, path, strlen(path)) == 0);
    return 0;
}
