/* packed.c: see packed.h. */
#include "trace/packed.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <zlib.h>

#include "base/memory.h"

#define CHUNK 49152 /* bytes of compressed data at a time; a multiple of 3, so that base64 needs no padding between */
#define LEVEL 6
#define NO_NANOSECONDS UINT32_MAX

typedef struct packer {
    FILE *file;
    z_stream stream;
    unsigned char packed[CHUNK], text[CHUNK / 3 * 4];
} packer;

static void write_base64(packer *packer, size_t bytes) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t used = 0;
    for (size_t i = 0; i < bytes; i += 3) {
        size_t left = bytes - i;
        uint32_t group = (uint32_t)packer->packed[i] << 16;
        group |= left > 1 ? (uint32_t)packer->packed[i + 1] << 8 : 0;
        group |= left > 2 ? packer->packed[i + 2] : 0;
        packer->text[used++] = (unsigned char)digits[group >> 18];
        packer->text[used++] = (unsigned char)digits[group >> 12 & 63];
        packer->text[used++] = (unsigned char)(left > 1 ? digits[group >> 6 & 63] : '=');
        packer->text[used++] = (unsigned char)(left > 2 ? digits[group & 63] : '=');
    }
    fwrite(packer->text, 1, used, packer->file);
}

/* Compresses what the stream has as input. Output is written whenever the chunk is full, and at the end. */
static void press(packer *packer, int flush) {
    do {
        int code = deflate(&packer->stream, flush);
        bool full = packer->stream.avail_out == 0;
        if (full || code == Z_STREAM_END) {
            write_base64(packer, CHUNK - packer->stream.avail_out);
            packer->stream.next_out = packer->packed;
            packer->stream.avail_out = CHUNK;
        }
        if (code == Z_STREAM_END || (!full && flush != Z_FINISH))
            return;
    } while (true);
}

static void press_bytes(packer *packer, unsigned char *bytes, uint64_t count) {
    while (count > 0) {
        uInt now = (uInt)(count < 1u << 30 ? count : 1u << 30);
        packer->stream.next_in = bytes;
        packer->stream.avail_in = now;
        press(packer, Z_NO_FLUSH);
        bytes += now;
        count -= now;
    }
}

static uint32_t nanoseconds(double value) {
    return isnan(value) ? NO_NANOSECONDS : value >= 0 && value < 4.294967 ? (uint32_t)(value * 1e9 + 0.5) : 0;
}

/* Seconds of the log have nine decimals, so that most columns of seconds are nanoseconds. */
static bool are_nanoseconds(const double *value, uint64_t count) {
    for (uint64_t i = 0; i < count && value; i++)
        if (!isnan(value[i]) && (double)nanoseconds(value[i]) / 1e9 != value[i])
            return false;
    return true;
}

static void shuffle(const double *value, uint64_t count, unsigned width, unsigned char *bytes) {
    for (uint64_t i = 0; i < count; i++) {
        double number = value ? value[i] : NAN;
        uint64_t bits = nanoseconds(number);
        if (width == sizeof number)
            memcpy(&bits, &number, sizeof bits);
        for (unsigned b = 0; b < width; b++)
            bytes[b * count + i] = (unsigned char)(bits >> 8 * b);
    }
}

parley_status pl_pack(FILE *file, const double *const *columns, unsigned members, uint64_t stride, uint64_t count,
                      parley_error *error) {
    packer *packer = pl_alloc(1, sizeof *packer);
    unsigned char *bytes = pl_alloc(count, sizeof(double));
    bool small = true, ready = packer && bytes && deflateInit(&packer->stream, LEVEL) == Z_OK;
    for (unsigned m = 0; m < members && small; m++)
        small = are_nanoseconds(columns[m * stride], count);
    unsigned width = small ? sizeof(uint32_t) : sizeof(double);
    if (ready) {
        packer->file = file;
        packer->stream.next_out = packer->packed;
        packer->stream.avail_out = CHUNK;
        fprintf(file, "{\"type\":\"%s\",\"bytes\":\"", small ? "ns" : "f8");
        for (unsigned m = 0; m < members; m++) {
            shuffle(columns[m * stride], count, width, bytes);
            press_bytes(packer, bytes, count * width);
        }
        press(packer, Z_FINISH);
        deflateEnd(&packer->stream);
        fputs("\"}", file);
    }
    pl_free(packer);
    pl_free(bytes);
    return ready ? PARLEY_OK : pl_fail_memory(error, "the columns of the page", count * sizeof(double));
}
