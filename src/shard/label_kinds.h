/* label_kinds.h: the distinct labels of the rows of all ranks. */
#ifndef PL_LABEL_KINDS_H
#define PL_LABEL_KINDS_H

#include "data/data.h"
#include "engine/engine.h"

/* With more distinct labels, labels are numbers rather than classes, unless the user says otherwise. */
#define PL_LABEL_KINDS 64

/* Finds the distinct labels of all ranks in increasing order, and their number. most + 1 means that there are more.
 * `kinds` has room for most + 1. */
parley_status pl_label_kinds(pl_engine *engine, const parley_data *data, unsigned most, double *kinds, unsigned *count,
                             parley_error *error);
/* The position of `label` among `count` increasing `kinds`, or where to insert it. */
unsigned pl_label_place(const double *kinds, unsigned count, double label);

#endif
