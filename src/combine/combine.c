/* combine.c: every combine there is. */
#include "combine/combine.h"

const pl_combine_type *const pl_combines[] = {&pl_combine_add, &pl_combine_average, &pl_combine_step,
                                              &pl_combine_newton};
const unsigned pl_combines_count = sizeof pl_combines / sizeof *pl_combines;
