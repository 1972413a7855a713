/* pmi.h: the server side of PMI-1, with which the processes of an MPICH run find each other. */
#ifndef PARLEY_PMI_H
#define PARLEY_PMI_H

#include <stdbool.h>

#include "base/status.h"

typedef struct pmi pmi;

/* Listens for `ranks` processes, of this machine only if all are `here`. `mapping` tells which of them share a machine,
 * in PMI's format. */
parley_status pmi_open(pmi **out, unsigned ranks, bool here, const char *mapping, parley_error *error);
unsigned pmi_port(const pmi *pmi);
/* Answers incoming requests, for at most `milliseconds`. */
void pmi_serve(pmi *pmi, int milliseconds);
void pmi_close(pmi *pmi);

#endif
