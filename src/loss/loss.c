/* loss.c: looking losses up, and evaluating them for many rows. */
#include "loss/loss.h"

#include <string.h>

const pl_loss *pl_loss_find(const char *name) {
    for (unsigned i = 0; i < pl_losses_count; i++)
        if (strcmp(pl_losses[i]->name, name) == 0)
            return pl_losses[i];
    return NULL;
}

bool pl_loss_reads(const pl_loss *loss, const char *parameter) {
    return loss->parameter && strcmp(loss->parameter, parameter) == 0;
}

const pl_loss *pl_loss_of(const char *parameter) {
    for (unsigned i = 0; i < pl_losses_count; i++)
        if (pl_loss_reads(pl_losses[i], parameter))
            return pl_losses[i];
    return NULL;
}

void pl_expand_rows(const pl_loss *loss, const double *z, const double *y, uint64_t count, double *value, double *slope,
                    double *curvature) {
    if (loss->expand_rows)
        loss->expand_rows(z, y, count, value, slope, curvature);
    else
        for (uint64_t i = 0; i < count; i++) {
            double here = loss->expand(loss, z[i], y[i], &slope[i], &curvature[i]);
            if (value)
                value[i] = here;
        }
}
