/* hosts.c: reads the file of machines and places ranks on them. */
#define _GNU_SOURCE /* getaddrinfo */
#include "hosts.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"

#define MOST_SLOTS 65536
#define MOST_LINE 1024

static bool is_here(const char *name) {
    char own[MOST_HOST] = "";
    return strcmp(name, "localhost") == 0 || (gethostname(own, sizeof own - 1) == 0 && strcmp(name, own) == 0);
}

bool hosts_is_loopback(const char *address) {
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0 || strcmp(address, "localhost") == 0;
}

/* Parses a number of slots: digits only. Returns 0 if it is not a number from 1 to MOST_SLOTS. */
static unsigned read_slots(const char *text) {
    unsigned slots = 0;
    for (; *text >= '0' && *text <= '9' && slots <= MOST_SLOTS; text++)
        slots = 10 * slots + (unsigned)(*text - '0');
    return *text || slots > MOST_SLOTS ? 0 : slots;
}

/* Cuts ":4" off a name and returns the number, or NULL if there is none. An IPv6 address needs brackets for it:
 * [::1]:4.
 */
static const char *cut_slots(char **name) {
    char *colon = strrchr(*name, ':'), *bracket = strrchr(*name, ']');
    bool address = **name == '[' && bracket;
    if (!colon || (address && colon < bracket) || (!address && strchr(*name, ':') != colon))
        colon = NULL;
    if (colon)
        *colon = '\0';
    if (address) {
        *bracket = '\0';
        ++*name;
    }
    return colon ? colon + 1 : NULL;
}

/* Parses "name", "name:4" or "name slots=4". An empty line leaves the name empty. */
static parley_status read_host(char *line, host *host, parley_error *error) {
    char *rest, *name = strtok_r(line, " \t\r", &rest), *more = name ? strtok_r(NULL, " \t\r", &rest) : NULL;
    *host = (struct host){.slots = 1};
    if (!name)
        return PARLEY_OK;
    const char *slots = cut_slots(&name);
    if (more && strncmp(more, "slots=", 6) == 0 && !slots && !strtok_r(NULL, " \t\r", &rest))
        slots = more + 6;
    else if (more)
        return pl_fail(error, PARLEY_BAD_INPUT, "%.60s: a line must be name, name:4 or name slots=4", more);
    if (!*name || *name == '-' || strlen(name) >= sizeof host->name)
        return pl_fail(error, PARLEY_BAD_INPUT, "`%.60s` is not the name of a host", name);
    if (slots && !(host->slots = read_slots(slots)))
        return pl_fail(error, PARLEY_BAD_INPUT, "%.20s: slots must be a whole number from 1 to %d", slots, MOST_SLOTS);
    snprintf(host->name, sizeof host->name, "%s", name);
    host->here = is_here(name);
    return PARLEY_OK;
}

static parley_status read_line(host *hosts, unsigned *count, char *line, const char *path, unsigned number,
                               parley_error *error) {
    parley_error wrong;
    if (!strchr(line, '\n') && strlen(line) == MOST_LINE - 1)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s:%u: the line is too long", path, number);
    if (*count == MOST_HOSTS)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: more than %d hosts", path, MOST_HOSTS);
    line[strcspn(line, "#\n")] = '\0';
    parley_status status = read_host(line, &hosts[*count], &wrong);
    if (status != PARLEY_OK)
        return pl_fail(error, status, "%s:%u: %s", path, number, wrong.sentence);
    *count += *hosts[*count].name != '\0';
    return status;
}

parley_status hosts_read_lines(FILE *file, const char *path, host *hosts, unsigned *count, parley_error *error) {
    char line[MOST_LINE];
    parley_status status = PARLEY_OK;
    *count = 0;
    for (unsigned number = 1; status == PARLEY_OK && fgets(line, sizeof line, file); number++)
        status = read_line(hosts, count, line, path, number, error);
    if (status == PARLEY_OK && *count == 0)
        status = pl_fail(error, PARLEY_BAD_INPUT, "%s: the file names no host", path);
    return status;
}

parley_status hosts_read(host **out, unsigned *count, const char *path, parley_error *error) {
    FILE *file = fopen(path, "r");
    if (!file)
        return pl_fail_file(error, path, "open");
    parley_status status = pl_take(out, MOST_HOSTS, sizeof **out, "hosts", error);
    if (status == PARLEY_OK)
        status = hosts_read_lines(file, path, *out, count, error);
    fclose(file);
    return status;
}

unsigned hosts_place(host *hosts, unsigned count, unsigned ranks) {
    for (unsigned h = 0; h < count; h++) {
        hosts[h].ranks = hosts[h].slots < ranks ? hosts[h].slots : ranks;
        ranks -= hosts[h].ranks;
    }
    return ranks;
}

void hosts_own_address(const char *name, char address[MOST_HOST]) {
    struct addrinfo want = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM}, *found = NULL;
    struct sockaddr_storage from;
    socklen_t size = sizeof from;
    if (gethostname(address, MOST_HOST - 1) != 0 || getaddrinfo(name, "9", &want, &found) != 0)
        return;
    int probe = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (probe >= 0 && connect(probe, found->ai_addr, found->ai_addrlen) == 0 &&
        getsockname(probe, (struct sockaddr *)&from, &size) == 0)
        getnameinfo((struct sockaddr *)&from, size, address, MOST_HOST, NULL, 0, NI_NUMERICHOST);
    if (probe >= 0)
        close(probe);
    freeaddrinfo(found);
}
