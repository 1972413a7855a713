/* choice.h: the form of what `auto` decides. A decision is a table of choices, each with the conditions under which it
 * holds and the reason that users see. The first choice that holds is taken; the last one has no conditions.
 *
 * Conditions compare numbers that describe the shape of a problem. Each wing has its own list of them (pl_shape_words),
 * and computes them all in one place. Facts that are true or false are 1 or 0. */
#ifndef PL_CHOICE_H
#define PL_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PL_SHAPE 56          /* most numbers of a shape */
#define PL_CONDITIONS 7      /* most conditions of a choice */
#define PL_CHOICE_ASKED_BY 3 /* most members that a decision belongs to */
#define PL_CONDITIONS_TEXT 400

typedef enum pl_comparison {
    PL_NO_CONDITION,
    PL_IS,
    PL_IS_NOT,
    PL_ABOVE,
    PL_BELOW,
    PL_AT_LEAST,
    PL_AT_MOST
} pl_comparison;

typedef struct pl_condition {
    unsigned number; /* in the shape */
    pl_comparison comparison;
    double limit;
} pl_condition;

/* A number of a shape in words, with # where its value stands: "# columns". A fact has words for both of its values. */
typedef struct pl_shape_words {
    const char *words, *otherwise;
} pl_shape_words;

typedef struct pl_choice {
    const char *name;                 /* unique in its table */
    const char *take;                 /* what is chosen; NULL: nothing can be */
    pl_condition when[PL_CONDITIONS]; /* all must hold */
    const char *reason;               /* completes "because" */
} pl_choice;

typedef struct pl_decision {
    const char *name, *help;
    const char *setting;                      /* that the decision fills in, unless the user did; NULL: none */
    const char *asked_by[PL_CHOICE_ASKED_BY]; /* local solvers and combines that follow it; none: the run does */
    bool placed;                              /* it needs to know the workers */
    const pl_choice *choices;
    const pl_shape_words *words;
} pl_decision;

const pl_choice *pl_decide(const pl_decision *decision, const double *shape);
/* Whether it takes what `take` names. */
bool pl_decides(const pl_decision *decision, const double *shape, const char *take);
/* The conditions of a choice in words: with their limits or, if `shape` is given, with its values. */
void pl_conditions_text(const pl_decision *decision, const pl_choice *choice, const double *shape, char *text,
                        size_t size);

#endif
