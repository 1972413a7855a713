/* loss.c: looks up losses, derives properties from their facts, and evaluates them for many rows. */
#include "linear/loss/loss.h"

#include <math.h>
#include <string.h>

#define FAR_OFF 1e150 /* beyond any width */
#define LOST 2e-15

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

int parley_loss_facts(const char *name, parley_loss *out) {
    const pl_loss *loss = pl_loss_find(name);
    *out = (parley_loss){0};
    if (loss)
        *out = (parley_loss){.classes = loss->labels != PL_LABELS_REAL,
                             .least = !loss->log_link            ? 0
                                      : pl_loss_takes(loss, 0.0) ? 1
                                                                 : 2,
                             .log_link = loss->log_link,
                             .probabilities = pl_loss_gives_probabilities(loss),
                             .together = loss->together != NULL};
    return loss != NULL;
}

static double power_of(const pl_loss *loss) { return loss->power > 0 ? loss->power : loss->parameter_value; }

bool pl_loss_takes(const pl_loss *loss, double label) {
    return !loss->log_link || label > 0 || (label == 0 && loss->power < 2.0);
}

const char *pl_loss_range(const pl_loss *loss) { return loss->power < 2.0 ? "of 0 or more" : "above 0"; }

double pl_loss_mean_curvature(const pl_loss *loss, double mean) { return pow(mean, 2.0 - power_of(loss)); }

double pl_loss_of_label(const pl_loss *loss, double label) {
    double p = power_of(loss);
    if (p == 1.0)
        return label > 0 ? label * log(label) : 0.0;
    return p == 2.0 ? -log(label) : -pow(label, 2.0 - p) / ((p - 1.0) * (2.0 - p));
}

/* log(1 + x), or minus infinity where 1 + x is only rounding error: the step is then too long to compute. */
static double log_unless_lost(double x) { return 1.0 + x < LOST ? -INFINITY : log1p(x); }

double pl_loss_centring_step(const pl_loss *loss, double ratio) {
    double p = power_of(loss);
    return loss->log_link ? log_unless_lost((p - 2.0) * ratio) - log_unless_lost((p - 1.0) * ratio) : -ratio;
}

bool pl_loss_at(unsigned number, pl_entry *entry) {
    if (number < pl_losses_count)
        *entry = (pl_entry){pl_losses[number]->name, pl_losses[number]->help};
    return number < pl_losses_count;
}

bool pl_loss_of_difference(const pl_loss *loss) { return loss->labels == PL_LABELS_REAL && !loss->log_link; }

bool pl_loss_bounded(const pl_loss *loss) { return loss->smooth && isfinite(loss->curvature_bound); }

bool pl_loss_gives_probabilities(const pl_loss *loss) { return loss->probability || loss->together; }

double pl_loss_step_curvature(const pl_loss *loss) {
    return isfinite(loss->curvature_bound) ? loss->curvature_bound : 1.0;
}

double pl_loss_steepest(const pl_loss *loss) {
    double above, below, curvature, y = loss->labels == PL_LABELS_BINARY;
    loss->expand(loss, FAR_OFF, y, &above, &curvature);
    loss->expand(loss, -FAR_OFF, y, &below, &curvature);
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

void pl_loss_conjugates(const pl_loss *loss, const double *t, const double *y, uint64_t count, double *value) {
    if (loss->conjugate_rows)
        loss->conjugate_rows(t, y, count, value);
    else
        for (uint64_t i = 0; i < count; i++)
            value[i] = loss->conjugate(loss, t[i], y[i]);
}
