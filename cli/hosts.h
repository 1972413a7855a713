/* hosts.h: the machines on which `parley launch` starts ranks. */
#ifndef PARLEY_HOSTS_H
#define PARLEY_HOSTS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/status.h"

#define MOST_HOSTS 4096
#define MOST_HOST 256 /* bytes of a name or an address */

typedef struct host {
    char name[MOST_HOST];
    unsigned slots, ranks;
    bool here; /* it is this machine */
} host;

/* Reads a file with one host per line: "name", "name:4" or "name slots=4". */
parley_status hosts_read(host **out, unsigned *count, const char *path, parley_error *error);
/* The same from an open file, into an array with room for MOST_HOSTS. */
parley_status hosts_read_lines(FILE *file, const char *path, host *hosts, unsigned *count, parley_error *error);
/* Ranks fill the hosts in the order of the file. Returns how many ranks did not find a slot. */
unsigned hosts_place(host *hosts, unsigned count, unsigned ranks);
/* The address of this machine as seen from a host: the source address of a packet to it. */
void hosts_own_address(const char *name, char address[MOST_HOST]);
bool hosts_is_loopback(const char *address); /* is it one that only this machine reaches? */

#endif
