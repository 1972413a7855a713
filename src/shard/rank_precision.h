/* rank_precision.h: judges whether floats blur the values of rows that several ranks hold. */
#ifndef PL_RANK_PRECISION_H
#define PL_RANK_PRECISION_H

#include "data/data.h"
#include "engine/engine.h"

/* A collective, as pl_precision_settle. Columns have their final numbers. */
parley_status pl_precision_of_ranks(pl_engine *engine, parley_data *data, bool *again, parley_error *error);

#endif
