/* fuzz_pmi.c: any bytes from two ranks that have connected to the PMI server. Byte 1 changes to the other rank. The
 * first byte of the input says how many bytes arrive at a time, and whether the ranks read their answers. Byte 2 is a
 * short form of 256 letters, so that short inputs have lines that are too long. */
#include <stdint.h>
#include <string.h>

#include "fuzz_check.h"
#include "pmi_protocol.h"

#define RANKS 2
#define OTHER_RANK 1
#define LETTERS 2
#define LETTERS_COUNT 256
#define MOST_AT_A_TIME 64
#define MOST_BYTES 8192

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static pmi_client clients[RANKS];
static pmi_space space = {.ranks = RANKS, .client = clients};

/* Answers are whole lines that a client can read. */
static void check_answers(pmi_client *client, bool reads) {
    check(client->unsent <= PMI_OUT && client->got <= PMI_LINE);
    for (unsigned at = 0; at < client->unsent;) {
        const char *line = client->out + at, *end = memchr(line, '\n', client->unsent - at);
        check(end && end - line >= 4 && memcmp(line, "cmd=", 4) == 0);
        at += (unsigned)(end + 1 - line);
        check(at <= client->unsent && (size_t)(end + 1 - line) <= PMI_ANSWER);
    }
    if (reads)
        client->unsent = 0;
}

static void clear(void) {
    pmi_space_clear(&space);
    for (unsigned r = 0; r < RANKS; r++) {
        pmi_client *client = &clients[r];
        client->waits = client->skips = client->aborts = false;
        client->got = client->unsent = client->keys = 0;
    }
}

/* Writes out the short forms. */
static size_t expand(const uint8_t *bytes, size_t count, char out[MOST_BYTES]) {
    size_t made = 0;
    for (size_t i = 0; i < count && made + LETTERS_COUNT <= MOST_BYTES; i++) {
        size_t times = bytes[i] == LETTERS ? LETTERS_COUNT : 1;
        memset(out + made, bytes[i] == LETTERS ? 'v' : bytes[i], times);
        made += times;
    }
    return made;
}

/* Returns how many bytes the rank has sent. */
static size_t send_some(pmi_client *client, const char *text, size_t count, unsigned step) {
    size_t sent = 0, room = PMI_LINE - client->got;
    while (sent < count && sent < step && sent < room && text[sent] != OTHER_RANK)
        sent++;
    memcpy(client->line + client->got, text, sent);
    client->got += (unsigned)sent;
    pmi_space_obey(&space, client);
    return sent;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    static char text[MOST_BYTES];
    unsigned rank = 0, step = count ? 1 + bytes[0] % MOST_AT_A_TIME : 1;
    bool reads = count && bytes[0] < 128;
    step = step == MOST_AT_A_TIME ? PMI_LINE : step;
    size_t total = count ? expand(bytes + 1, count - 1, text) : 0;
    for (size_t at = 0; at < total;) {
        size_t sent = send_some(&clients[rank], text + at, total - at, step);
        for (unsigned r = 0; r < RANKS; r++)
            check_answers(&clients[r], reads);
        if (sent == 0 && text[at] != OTHER_RANK && clients[rank].got == PMI_LINE && !reads)
            break; /* the server waits until the rank reads */
        at += sent;
        if (at < total && text[at] == OTHER_RANK) {
            rank ^= 1;
            at++;
        }
    }
    clear();
    return 0;
}
