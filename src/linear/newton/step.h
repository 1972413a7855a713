/* step.h: shared by the files of the combine `step`. */
#ifndef PL_STEP_H
#define PL_STEP_H

#include "linear/glm.h"
#include "method/combine.h"

/* step_rate.c: chooses a rate if none was given, and the factor of an intercept's rate, alike on all ranks. */
parley_status pl_step_rate(const pl_setup *setup, double *rate, double *ease, parley_error *error);

#endif
