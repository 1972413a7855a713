/* loss.c: looks up losses, derives properties from their facts, and evaluates them for many rows. */
#include "loss/loss.h"

#include <math.h>
#include <string.h>

#define FAR_OFF 1e150 /* beyond any width */

const pl_loss *pl_loss_find(const char *name) {
    for (unsigned i = 0; i < pl_losses_count; i++)
        if (strcmp(pl_losses[i]->name, name) == 0)
            return pl_losses[i];
    return NULL;
}

const pl_loss *pl_loss_for(pl_labels labels) {
    unsigned i = 0;
    while (i + 1 < pl_losses_count && pl_losses[i]->labels != labels)
        i++;
    return pl_losses[i];
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

bool pl_loss_concerned(const pl_loss *loss, const char *setting) {
    return !pl_loss_of(setting) || pl_loss_reads(loss, setting);
}

const pl_loss *pl_loss_tuned(const pl_loss *loss, const parley_settings *settings, pl_loss *copy) {
    if (!loss->parameter)
        return loss;
    *copy = *loss;
    copy->parameter_value = pl_setting_real(settings, loss->parameter);
    return copy;
}

bool pl_loss_takes(const pl_loss *loss, double label) { return !loss->counts || label >= 0; }

bool pl_loss_bounded(const pl_loss *loss) { return loss->smooth && isfinite(loss->curvature_bound); }

bool pl_loss_curves(const pl_loss *loss, bool dual) { return loss->smooth || (loss->soften && dual); }

bool pl_loss_gives_probabilities(const pl_loss *loss) { return loss->probability || loss->together; }

double pl_loss_step_curvature(const pl_loss *loss) {
    return isfinite(loss->curvature_bound) ? loss->curvature_bound : 1.0;
}

double pl_loss_steepest(const pl_loss *loss) {
    double above, below, curvature;
    loss->expand(loss, FAR_OFF, 0, &above, &curvature);
    loss->expand(loss, -FAR_OFF, 0, &below, &curvature);
    return fmax(fabs(above), fabs(below));
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
