/* plan_json.h: a plan as JSON, which `parley train --plan` reads. */
#ifndef PL_PLAN_JSON_H
#define PL_PLAN_JSON_H

#include <jansson.h>

#include "advise/plan.h"

/* {"choice", "table", "experiments", "models"} and what was asked; NULL if memory runs out. */
json_t *pl_plan_json(const pl_plan *plan);
/* The choice alone, with its predicted course. */
json_t *pl_plan_choice_json(const pl_plan *plan);

#endif
