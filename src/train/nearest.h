/* nearest.h: remedies for rejected combinations of settings. */
#ifndef PL_NEAREST_H
#define PL_NEAREST_H

#include "method/problem.h"

/* Appends to an error the nearest combinations that would be accepted: "; use A, or B". `asked` holds the rejected
 * settings without the defaults of their preset. */
void pl_name_nearest(const parley_settings *asked, const pl_problem *problem, parley_error *error);

#endif
