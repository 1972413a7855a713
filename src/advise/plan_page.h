/* plan_page.h: a plan as one self-contained page: a table, and charts of predicted seconds by workers and of predicted
 * gaps by time. */
#ifndef PL_PLAN_PAGE_H
#define PL_PLAN_PAGE_H

#include "advise/plan.h"

parley_status pl_plan_page(const pl_plan *plan, const char *path, parley_error *error);

#endif
