/* process.h: what this process uses of its machine, from /proc. */
#ifndef PL_PROCESS_H
#define PL_PROCESS_H

#include <stdint.h>

typedef struct pl_process {
    double cpu;                        /* processor seconds of all its threads so far */
    uint64_t resident;                 /* bytes of memory; 0 if unknown */
    uint64_t wire_sent, wire_received; /* bytes that the machine's network interfaces, except the loopback, have
                                          counted so far */
} pl_process;

void pl_process_read(pl_process *out);

#endif
