/* step.h: what the files of the step combine share. */
#ifndef PL_STEP_H
#define PL_STEP_H

#include "combine/combine.h"
#include "model/glm.h"

/* step_rate.c: a rate where none was given, and what an intercept's is multiplied by; alike on all ranks. */
parley_status pl_step_rate(const pl_setup *setup, double *rate, double *ease, parley_error *error);

#endif
