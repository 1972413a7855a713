/* non_negative.c: Lawson and Hanson's algorithm on the normal equations. A column enters the set of positive
 * coefficients while its gradient says that this helps; those that would become negative leave it on the way. Columns
 * are scaled to norm 1, and a tiny ridge keeps dependent columns solvable. */
#include "math/non_negative.h"

#include <math.h>
#include <string.h>

#include "math/cholesky.h"

#define MOST PL_NON_NEGATIVE_MOST
#define RIDGE 1e-11
#define ENOUGH 1e-10 /* gradient of a column of norm 1, relative to the norm of y */

typedef struct normal {
    unsigned columns;
    double a[MOST][MOST], b[MOST];
    double scale[MOST]; /* norm of each column */
    double norm;        /* of y */
} normal;

static bool open_normal(normal *self, const double *x, const double *y, const double *weight, unsigned rows,
                        unsigned columns) {
    memset(self, 0, sizeof *self);
    self->columns = columns;
    for (unsigned i = 0; i < rows; i++) {
        double s = weight ? weight[i] : 1.0;
        const double *row = x + (size_t)i * columns;
        for (unsigned j = 0; j < columns; j++) {
            self->b[j] += s * row[j] * y[i];
            for (unsigned k = 0; k <= j; k++)
                self->a[j][k] += s * row[j] * row[k];
        }
        self->norm += s * y[i] * y[i];
    }
    self->norm = sqrt(self->norm);
    bool finite = isfinite(self->norm);
    for (unsigned j = 0; j < columns; j++) {
        self->scale[j] = self->a[j][j] > 0 ? sqrt(self->a[j][j]) : 1.0;
        finite = finite && isfinite(self->scale[j]);
    }
    for (unsigned j = 0; j < columns; j++) {
        self->b[j] /= self->scale[j];
        for (unsigned k = 0; k <= j; k++)
            self->a[k][j] = self->a[j][k] /= self->scale[j] * self->scale[k];
    }
    return finite;
}

/* The unconstrained solution on the columns of the set; 0 elsewhere. */
static bool solve(const normal *self, const bool *in, double *out) {
    double a[MOST * MOST], b[MOST];
    unsigned at[MOST], size = 0;
    for (unsigned j = 0; j < self->columns; j++) {
        out[j] = 0;
        if (in[j])
            at[size++] = j;
    }
    for (unsigned j = 0; j < size; j++) {
        b[j] = self->b[at[j]];
        for (unsigned k = 0; k < size; k++)
            a[j * size + k] = self->a[at[k]][at[j]] + (j == k ? RIDGE : 0.0);
    }
    if (size && !pl_cholesky(a, size))
        return false;
    if (size)
        pl_cholesky_solve(a, size, b);
    for (unsigned j = 0; j < size; j++)
        out[at[j]] = b[j];
    return true;
}

/* The column outside of the set whose growth reduces the sum most, or `columns`. */
static unsigned next_column(const normal *self, const bool *in, const double *theta) {
    unsigned best = self->columns;
    double most = ENOUGH * self->norm;
    for (unsigned j = 0; j < self->columns; j++) {
        double gradient = self->b[j];
        for (unsigned k = 0; k < self->columns; k++)
            gradient -= self->a[j][k] * theta[k];
        if (!in[j] && self->a[j][j] > 0 && gradient > most) {
            most = gradient;
            best = j;
        }
    }
    return best;
}

/* Moves theta towards the solution on the set, and drops columns that reach 0, until the solution is positive. */
static bool settle(const normal *self, bool *in, double *theta) {
    double wanted[MOST];
    for (unsigned turn = 0; turn <= self->columns; turn++) {
        double step = 1.0;
        if (!solve(self, in, wanted))
            return false;
        for (unsigned j = 0; j < self->columns; j++)
            if (in[j] && wanted[j] <= 0)
                step = fmin(step, theta[j] / (theta[j] - wanted[j]));
        for (unsigned j = 0; j < self->columns; j++) {
            theta[j] += step * (wanted[j] - theta[j]);
            if (in[j] && step < 1.0 && (theta[j] <= 1e-14 || wanted[j] <= 0) && theta[j] <= 1e-12 * self->norm) {
                in[j] = false;
                theta[j] = 0;
            }
        }
        if (step >= 1.0)
            return true;
    }
    return true;
}

bool pl_non_negative(const double *x, const double *y, const double *weight, unsigned rows, unsigned columns,
                     double *theta) {
    normal normal;
    bool in[MOST] = {false};
    if (columns > MOST || !open_normal(&normal, x, y, weight, rows, columns))
        return false;
    memset(theta, 0, columns * sizeof *theta);
    for (unsigned turn = 0; turn < 3 * columns; turn++) {
        unsigned next = next_column(&normal, in, theta);
        if (next == columns)
            break;
        in[next] = true;
        if (!settle(&normal, in, theta))
            in[next] = false;
    }
    for (unsigned j = 0; j < columns; j++)
        theta[j] = fmax(0.0, theta[j]) / normal.scale[j];
    return true;
}
