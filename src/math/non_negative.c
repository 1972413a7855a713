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

static bool open_normal(normal *this, const double *x, const double *y, const double *weight, unsigned rows,
                        unsigned columns) {
    memset(this, 0, sizeof *this);
    this->columns = columns;
    for (unsigned i = 0; i < rows; i++) {
        double s = weight ? weight[i] : 1.0;
        const double *row = x + (size_t)i * columns;
        for (unsigned j = 0; j < columns; j++) {
            this->b[j] += s * row[j] * y[i];
            for (unsigned k = 0; k <= j; k++)
                this->a[j][k] += s * row[j] * row[k];
        }
        this->norm += s * y[i] * y[i];
    }
    this->norm = sqrt(this->norm);
    bool finite = isfinite(this->norm);
    for (unsigned j = 0; j < columns; j++) {
        this->scale[j] = this->a[j][j] > 0 ? sqrt(this->a[j][j]) : 1.0;
        finite = finite && isfinite(this->scale[j]);
    }
    for (unsigned j = 0; j < columns; j++) {
        this->b[j] /= this->scale[j];
        for (unsigned k = 0; k <= j; k++)
            this->a[k][j] = this->a[j][k] /= this->scale[j] * this->scale[k];
    }
    return finite;
}

/* The unconstrained solution on the columns of the set; 0 elsewhere. */
static bool solve(const normal *this, const bool *in, double *out) {
    double a[MOST * MOST], b[MOST];
    unsigned at[MOST], size = 0;
    for (unsigned j = 0; j < this->columns; j++) {
        out[j] = 0;
        if (in[j])
            at[size++] = j;
    }
    for (unsigned j = 0; j < size; j++) {
        b[j] = this->b[at[j]];
        for (unsigned k = 0; k < size; k++)
            a[j * size + k] = this->a[at[k]][at[j]] + (j == k ? RIDGE : 0.0);
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
static unsigned next_column(const normal *this, const bool *in, const double *theta) {
    unsigned best = this->columns;
    double most = ENOUGH * this->norm;
    for (unsigned j = 0; j < this->columns; j++) {
        double gradient = this->b[j];
        for (unsigned k = 0; k < this->columns; k++)
            gradient -= this->a[j][k] * theta[k];
        if (!in[j] && this->a[j][j] > 0 && gradient > most) {
            most = gradient;
            best = j;
        }
    }
    return best;
}

/* Moves theta towards the solution on the set, and drops columns that reach 0, until the solution is positive. */
static bool settle(const normal *this, bool *in, double *theta) {
    double wanted[MOST];
    for (unsigned turn = 0; turn <= this->columns; turn++) {
        double step = 1.0;
        if (!solve(this, in, wanted))
            return false;
        for (unsigned j = 0; j < this->columns; j++)
            if (in[j] && wanted[j] <= 0)
                step = fmin(step, theta[j] / (theta[j] - wanted[j]));
        for (unsigned j = 0; j < this->columns; j++) {
            theta[j] += step * (wanted[j] - theta[j]);
            if (in[j] && step < 1.0 && (theta[j] <= 1e-14 || wanted[j] <= 0) && theta[j] <= 1e-12 * this->norm) {
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
