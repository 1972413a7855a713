/* pmi.h: the server's side of PMI-1, by which the processes of an MPICH run find each other. */
#ifndef PARLEY_PMI_H
#define PARLEY_PMI_H

#include <stdbool.h>

#include "base/status.h"

typedef struct pmi pmi;

/* Listens for `ranks` processes, of this machine alone if all are `here`. `mapping`: which of them share a machine, in
 * PMI's words. */
parley_status pmi_open(pmi **out, unsigned ranks, bool here, const char *mapping, parley_error *error);
unsigned pmi_port(const pmi *pmi);
/* Answers what has come, for at most so many milliseconds. */
void pmi_serve(pmi *pmi, int milliseconds);
void pmi_close(pmi *pmi);

#endif
