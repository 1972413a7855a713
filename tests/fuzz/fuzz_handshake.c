/* fuzz_handshake.c: any 32 bytes as the first ones of a connection are accepted only if they name the protocol, the
 * secret and a rank that is awaited; what follows them is a printed secret. The first byte of the input chooses between
 * one secret for all ranks and one for each. */
#include <stdint.h>
#include <string.h>

#include "engine/handshake.h"
#include "fuzz_check.h"

#define RANKS 3

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static int is_right(const uint8_t hello[PL_HELLO], const pl_awaited *awaited, unsigned rank) {
    static const uint8_t zeros[7];
    return memcmp(hello, "parley 1", 8) == 0 && hello[24] == rank && memcmp(hello + 25, zeros, 7) == 0 &&
           rank < RANKS && !awaited->taken[rank] &&
           memcmp(hello + 8, awaited->secrets[awaited->secrets_count == 1 ? 0 : rank].bytes, 16) == 0;
}

static void try_secret(const uint8_t *bytes, size_t count) {
    char text[64], printed[PL_SECRET_TEXT];
    pl_secret secret;
    count = count < sizeof text ? count : sizeof text - 1;
    memcpy(text, bytes, count);
    text[count] = '\0';
    if (!pl_secret_parse(text, &secret))
        return;
    pl_secret_print(&secret, printed);
    check(strcmp(text, printed) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    static pl_secret secrets[RANKS] = {{"0123456789abcde"}, {"abcdefghijklmno"}, {"ABCDEFGHIJKLMNO"}};
    static bool taken[RANKS] = {false, true, false};
    uint8_t hello[PL_HELLO] = {0}, written[PL_HELLO];
    unsigned rank;
    if (count == 0)
        return 0;
    pl_awaited awaited = {RANKS, bytes[0] % 2 ? RANKS : 1, secrets, taken};
    size_t held = count - 1 < PL_HELLO ? count - 1 : PL_HELLO;
    memcpy(hello, bytes + 1, held);
    bool accepted = pl_hello_read(hello, &awaited, &rank);
    check(accepted == is_right(hello, &awaited, rank));
    if (accepted) {
        pl_hello_write(written, &secrets[rank % awaited.secrets_count], rank);
        check(memcmp(hello, written, PL_HELLO) == 0);
    }
    try_secret(bytes + 1 + held, count - 1 - held);
    return 0;
}
