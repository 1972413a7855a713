/* pmi.h: the server side of PMI-1, with which the processes of an MPICH run find each other. A rank on this machine
 * inherits its connection. A rank on another machine connects by TCP and sends its secret first. Either connection
 * stays open until all processes of the rank have ended, which is how the launcher knows that they have. */
#ifndef PARLEY_PMI_H
#define PARLEY_PMI_H

#include <stdbool.h>

#include "engine/handshake.h"
#include "pmi_protocol.h"

typedef struct pmi pmi;

/* `mapping` tells which ranks share a machine, in PMI's format. If it is empty, MPI finds out by itself. */
parley_status pmi_open(pmi **out, unsigned ranks, const char *mapping, parley_error *error);
/* Makes the connection of a rank on this machine. The caller passes `*end` on to the rank and closes it. */
parley_status pmi_connect(pmi *pmi, unsigned rank, int *end, parley_error *error);
/* Listens for ranks that do not inherit a connection: only on this machine if all of them are `here`. */
parley_status pmi_listen(pmi *pmi, bool here, parley_error *error);
unsigned pmi_port(const pmi *pmi);
const pl_secret *pmi_secret(const pmi *pmi, unsigned rank);
/* Answers incoming requests, for at most `milliseconds`. Never waits for a rank that does not read. Fails if there was
 * no memory for what a rank put. The ranks must then be ended, because MPICH would wait for it forever. */
parley_status pmi_serve(pmi *pmi, int milliseconds, parley_error *error);
bool pmi_came(const pmi *pmi, unsigned rank); /* has the rank connected, perhaps long ago? */
void pmi_refuse(pmi *pmi);                    /* from now on no rank can connect */
/* Have all processes of the rank ended, or were never there? True only after pmi_refuse. */
bool pmi_gone(const pmi *pmi, unsigned rank);
void pmi_close(pmi *pmi);

#endif
