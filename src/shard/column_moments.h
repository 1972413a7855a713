/* column_moments.h: the mean and the scale of every column, over the rows of all ranks. */
#ifndef PL_COLUMN_MOMENTS_H
#define PL_COLUMN_MOMENTS_H

#include "shard/team.h"

/* The mean of every column and 1 / its standard deviation, 0 if it is constant. `mean` has room for twice as many
 * numbers. */
parley_status pl_column_moments(const parley_data *data, const pl_team *team, double *mean, double *scale,
                                parley_error *error);

#endif
