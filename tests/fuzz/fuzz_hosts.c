/* fuzz_hosts.c: any bytes as a file of hosts: refused with a sentence that names the file, or hosts on which ranks can
 * be placed. */
#define _POSIX_C_SOURCE 200809L /* fmemopen */
#include <stdint.h>
#include <string.h>

#include "fuzz_check.h"
#include "hosts.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
    static host hosts[MOST_HOSTS];
    unsigned found, slots = 0, placed = 0;
    parley_error error = {0};
    FILE *file = count ? fmemopen((void *)(uintptr_t)bytes, count, "r") : NULL;
    if (!file)
        return 0;
    parley_status status = hosts_read_lines(file, "fuzz", hosts, &found, &error);
    fclose(file);
    if (status != PARLEY_OK) {
        check(strncmp(error.sentence, "fuzz:", 5) == 0);
        return 0;
    }
    check(found > 0 && found <= MOST_HOSTS);
    for (unsigned h = 0; h < found; h++) {
        size_t length = strnlen(hosts[h].name, MOST_HOST);
        check(length > 0 && length < MOST_HOST && hosts[h].name[0] != '-');
        check(strcspn(hosts[h].name, " \t\r\n#") == length && hosts[h].slots > 0);
        slots += hosts[h].slots;
    }
    unsigned left = hosts_place(hosts, found, 100);
    for (unsigned h = 0; h < found; h++) {
        check(hosts[h].ranks <= hosts[h].slots);
        placed += hosts[h].ranks;
    }
    check(placed + left == 100 && (left == 0 || placed == slots));
    return 0;
}
