/* fuzz_watch.c: any messages of the watch, in pieces of any length, to rank 0 or to another one of four ranks. A
 * failure has a status and a sentence, whatever the message said.
 *
 * A message has 1032 bytes, most of them zeros. In the input it is short: the sender, the 8 bytes before the text, the
 * length of the text, and the text. The first byte of the input says who reads and how long the pieces are. */
#include <stdint.h>
#include <string.h>

#include "engine/watch_frames.h"
#include "fuzz_check.h"

#define RANKS 4
#define SHORT 10 /* bytes before the text */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static pl_peer peers[RANKS];
static pl_watch watch = {.ranks = RANKS,
                         .deadline = 10,
                         .peers = peers,
                         .mutex = PTHREAD_MUTEX_INITIALIZER,
                         .changed = PTHREAD_COND_INITIALIZER};

static void clear(unsigned rank) {
    watch.rank = rank;
    atomic_store(&watch.waits, rank);
    atomic_store(&watch.failed, false);
    watch.begun = watch.closing = watch.parted = false;
    watch.speaker = 0;
    for (unsigned r = 0; r < RANKS; r++) {
        peers[r].socket = -1;
        peers[r].waits = r;
        peers[r].got = 0;
        peers[r].left = false;
        peers[r].host[0] = '\0';
    }
}

/* Gives the watch some bytes of a message at a time. */
static void send_pieces(unsigned from, const pl_frame *frame, unsigned step) {
    for (uint64_t at = 0, room; at < sizeof *frame;) {
        void *to = pl_watch_room(&watch, from, &room);
        check(room > 0 && room <= sizeof *frame);
        uint64_t part = sizeof *frame - at < room ? sizeof *frame - at : room;
        part = part < step ? part : step;
        memcpy(to, (const char *)frame + at, part);
        pl_watch_take(&watch, from, part);
        at += part;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    static pl_frame frame;
    unsigned rank = count ? bytes[0] % RANKS : 0, step = count && bytes[0] >= 128 ? 8 * (bytes[0] - 127u) : 2048;
    clear(rank);
    for (size_t at = 1; at + SHORT <= count;) {
        unsigned from = rank == 0 ? bytes[at] % RANKS : 0; /* only rank 0 has several connections */
        size_t length = bytes[at + SHORT - 1], left = count - at - SHORT;
        length = length < left ? length : left;
        memset(&frame, 0, sizeof frame);
        memcpy(&frame, bytes + at + 1, 8);
        memset(frame.text, length % 2 ? 'x' : '\0', sizeof frame.text); /* perhaps a text that does not end */
        memcpy(frame.text, bytes + at + SHORT, length);
        send_pieces(from, &frame, step);
        at += SHORT + length;
    }
    if (atomic_load(&watch.failed)) {
        check(watch.cause.status > PARLEY_OK && watch.cause.status <= PARLEY_STOPPED && watch.speaker < RANKS);
        check(memchr(watch.cause.sentence, '\0', sizeof watch.cause.sentence) != NULL);
    }
    for (unsigned r = 0; r < RANKS; r++)
        check(memchr(peers[r].host, '\0', sizeof peers[r].host) != NULL);
    return 0;
}
