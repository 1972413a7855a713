/* label_sets.h: rows with any number of labels. Each set of labels is a class of the data, with a name such as {1,3};
 * {} has no label. */
#ifndef PL_LABEL_SETS_H
#define PL_LABEL_SETS_H

#include "data/data.h"

#define PL_MOST_LABEL_SETS 65535

typedef struct pl_label_sets {
    double *label; /* all labels of sets, increasing */
    uint64_t labels;
    /* Set s has labels member[start[s]] to member[start[s + 1] - 1], by their numbers, which increase. */
    uint64_t sets, *start;
    uint32_t *member;
} pl_label_sets;

/* Are the classes of the data sets of labels? */
bool pl_has_label_sets(const parley_data *data);
/* Fails because the data have rows with several labels, which the caller does not take. */
parley_status pl_fail_label_sets(const parley_data *data, parley_error *error);
parley_status pl_label_sets_read(const pl_names *classes, pl_label_sets *out, parley_error *error);
/* Removes the labels that are in none of the sets whose `rows` is positive. */
parley_status pl_label_sets_keep(pl_label_sets *sets, const double *rows, parley_error *error);
void pl_label_sets_free(pl_label_sets *sets);

#endif
