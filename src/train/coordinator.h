/* coordinator.h: between parks, rank 0 measures its view of the model on the validation rows, while the workers go on.
 */
#ifndef PL_COORDINATOR_H
#define PL_COORDINATOR_H

#include "train/run.h"

/* Whether a task of this rank coordinates. */
bool pl_coordinates(const pl_run *run);
/* That task: looks at v until the workers have left, and lets them stop when patience has ended. */
parley_status pl_coordinate(pl_run *run, const pl_async_round *round, parley_error *error);
/* At a park: tells all ranks what the coordinator found. */
parley_status pl_coordinator_tell(pl_run *run, parley_error *error);
/* At the end of a run: computes the objective of the best model, if it was measured between parks. */
parley_status pl_coordinator_settle(pl_run *run, parley_error *error);

#endif
