/* nearest.h: what to do about a refusal. */
#ifndef PL_NEAREST_H
#define PL_NEAREST_H

#include "model/problem.h"

/* Ends the sentence of a refusal with the nearest combinations that would be accepted: "; use A, or B". `asked` is what
 * was refused, without the defaults of its preset. */
void pl_name_nearest(const parley_settings *asked, const pl_problem *problem, parley_error *error);

#endif
