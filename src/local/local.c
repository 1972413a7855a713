/* local.c: every local solver there is. */
#include "local/local.h"

const pl_local_type *const pl_locals[] = {&pl_local_sdca, &pl_local_scd, &pl_local_gradient, &pl_local_sgd,
                                          &pl_local_online};
const unsigned pl_locals_count = sizeof pl_locals / sizeof *pl_locals;
