/* softmax_kernel.c: with s = softmax(z), p the current point and p0 the previous point of the row, the step solves
 *
 *     ln p_c - z_c + h (p_c - p0_c) = nu for all c,    sum p = 1.
 *
 * Newton's method in a = ln p: r_c = a_c - z_c + h (p_c - p0_c), da_c = (nu - r_c) / (1 + h p_c) with nu such that sum
 * p da = 0; then p is computed from a again, so that it stays in the simplex. It starts at s if h is small, where no
 * logarithm is needed because a = z, else at p0 + (s - p0) / (1 + h). It usually takes two or three steps. If the
 * steps diverge, which happens only for large h far from the solution, nu is found by Newton's method from above, which
 * is monotone: with y = h p, ln y + y = L has the solution y = W(exp L), the Lambert function, and the sum of all p is
 * convex and increasing in nu.
 *
 * The objective is (1 + h)-strongly convex, so with d = p - p0 and g = sum d (ln p - z + h d), its slope along d, it
 * decreased if g <= (1 + h) |d|^2 / 2. This test accepts a step without computing the objective. The point
 * p0 + (s - p0) / (1 + h) always passes it, by Pinsker's inequality. */
#include "math/softmax_kernel.h"

#include <math.h>

#include "math/exponential.h"

#define SMALL_H 3.0
#define STEPS 4
#define SUM_STEPS 40
#define SUM_ENOUGH 1e-6 /* tolerance of the sum of p in the search for nu */
#define ENOUGH 0.05  /* share of (1 + h) |d|^2 that may remain in the slope; the next visit of the row does the rest */
#define SAFE 0.4     /* the same, after the last step */
#define NOTHING -1e4 /* a margin far below all others */

typedef struct step {
    uint64_t wides;
    double h;
    pl_wide z[PL_MOST_CLASSES / 4 + 1], a[PL_MOST_CLASSES / 4 + 1], p[PL_MOST_CLASSES / 4 + 1],
        p0[PL_MOST_CLASSES / 4 + 1], s[PL_MOST_CLASSES / 4 + 1];
} step;

PL_INLINE double sum_of(const pl_wide *wide) { return ((*wide)[0] + (*wide)[1]) + ((*wide)[2] + (*wide)[3]); }

PL_INLINE double largest(const pl_wide *x, uint64_t wides) {
    pl_wide most = x[0];
    for (uint64_t k = 1; k < wides; k++)
        most = PL_LARGER(x[k], most);
    double low = most[0] > most[1] ? most[0] : most[1], high = most[2] > most[3] ? most[2] : most[3];
    return low > high ? low : high;
}

/* p = exp(a) / sum exp(a). Returns the sum relative to exp(max a), and stores max a in `top`. */
PL_INLINE double normalise(const pl_wide *a, uint64_t wides, pl_wide *p, double *top) {
    pl_wide sum = PL_ALL(0.0);
    *top = largest(a, wides);
    for (uint64_t k = 0; k < wides; k++) {
        p[k] = a[k] - *top;
        pl_exponential(&p[k]);
        sum += p[k];
    }
    double total = sum_of(&sum), inverse = 1.0 / total;
    for (uint64_t k = 0; k < wides; k++)
        p[k] *= inverse;
    return total;
}

/* Both copy groups of four, because a call of memcpy would take longer than the rest of a step. */
PL_INLINE uint64_t spread(const double *from, uint64_t count, double rest, pl_wide *to) {
    uint64_t k = 0, left = count % 4;
    to[0] = PL_ALL(rest);
    for (; k < count / 4; k++)
        PL_LOAD(to[k], from + 4 * k);
    if (left > 0) {
        const double *last = from + 4 * k;
        to[k++] = (pl_wide){last[0], left > 1 ? last[1] : rest, left > 2 ? last[2] : rest, rest};
    }
    return k;
}

PL_INLINE void gather(const pl_wide *from, uint64_t count, double *to) {
    uint64_t k = 0;
    for (; k < count / 4; k++)
        PL_STORE(to + 4 * k, from[k]);
    for (uint64_t c = 4 * k; c < count; c++)
        to[c] = from[k][c % 4];
}

/* The starting point of Newton's method. */
PL_INLINE void begin(step *self) {
    double share = 1.0 / (1.0 + self->h);
    for (uint64_t k = 0; k < self->wides; k++) {
        self->a[k] = self->z[k];
        self->p[k] = self->s[k];
        if (self->h <= SMALL_H)
            continue;
        self->p[k] = self->p0[k] + (self->s[k] - self->p0[k]) * share;
        for (unsigned l = 0; l < 4; l++)
            self->a[k][l] = log(self->p[k][l] > 1e-300 ? self->p[k][l] : 1e-300);
    }
}

PL_INLINE void newton(step *self) {
    pl_wide top = PL_ALL(0.0), bottom = PL_ALL(0.0), r[PL_MOST_CLASSES / 4 + 1];
    double most;
    for (uint64_t k = 0; k < self->wides; k++) {
        pl_wide p = self->p[k], inverse = 1.0 / (1.0 + self->h * p);
        r[k] = self->a[k] - self->z[k] + self->h * (p - self->p0[k]);
        top += p * r[k] * inverse;
        bottom += p * inverse;
    }
    double nu = sum_of(&top) / sum_of(&bottom);
    for (uint64_t k = 0; k < self->wides; k++)
        self->a[k] += (nu - r[k]) / (1.0 + self->h * self->p[k]);
    normalise(self->a, self->wides, self->p, &most);
}

/* Returns the slope along d = p - p0, and stores |d|^2 in `square`. */
PL_INLINE double slope(const step *self, double *square) {
    pl_wide sum = PL_ALL(0.0), squares = PL_ALL(0.0);
    for (uint64_t k = 0; k < self->wides; k++) {
        pl_wide d = self->p[k] - self->p0[k];
        sum += d * (self->a[k] - self->z[k] + self->h * d);
        squares += d * d;
    }
    *square = sum_of(&squares);
    return sum_of(&sum);
}

/* sum p0 ln(p0 / s), to second order. */
PL_INLINE double distance(const step *self) {
    pl_wide sum = PL_ALL(0.0);
    for (uint64_t k = 0; k < self->wides; k++) {
        pl_wide d = self->p0[k] - self->s[k];
        sum += d * d / (self->p0[k] + self->s[k] + 1e-300);
    }
    return sum_of(&sum);
}

/* Returns y with ln y + y = l, by Newton's method from below, which keeps y > 0. */
static double lambert(double l) {
    if (l < -40.0)
        return exp(l);
    double x = l < 1.0 ? exp(l) : 0.0, y = l < 1.0 ? x / (1.0 + x) : l - log(l);
    for (unsigned i = 0; i < 3; i++)
        y *= (1.0 + l - log(y)) / (1.0 + y);
    return y;
}

static void solve(step *self, uint64_t classes) {
    double *z = (double *)self->z, *p0 = (double *)self->p0, *p = (double *)self->p, *a = (double *)self->a;
    double h = self->h, log_h = log(h), most = z[0] + h * p0[0], excess = 0;
    for (uint64_t c = 1; c < classes; c++)
        most = fmax(most, z[c] + h * p0[c]);
    double nu = h - most;
    for (unsigned i = 0; i < SUM_STEPS; i++) {
        double slope = 0;
        excess = -1.0;
        for (uint64_t c = 0; c < classes; c++) {
            double l = z[c] + h * p0[c] + nu, y = lambert(l + log_h);
            p[c] = y / h;
            a[c] = l - y;
            excess += p[c];
            slope += p[c] / (1.0 + y);
        }
        if (fabs(excess) <= SUM_ENOUGH)
            break;
        nu -= excess / slope;
    }
    for (uint64_t c = 0; c < classes; c++)
        p[c] /= 1.0 + excess;
}

PL_INLINE double move(const double *z, uint64_t classes, double h, double *p) {
    step self;
    double most, square, left = INFINITY;
    self.h = h;
    self.wides = spread(z, classes, NOTHING, self.z);
    spread(p, classes, 0.0, self.p0);
    most = largest(self.z, self.wides);
    for (uint64_t k = 0; k < self.wides; k++)
        self.z[k] -= most;
    normalise(self.z, self.wides, self.s, &most);
    begin(&self);
    for (unsigned i = 0; i < STEPS; i++) {
        newton(&self);
        left = slope(&self, &square);
        if (fabs(left) <= ENOUGH * (1.0 + h) * square)
            break;
    }
    if (!(fabs(left) <= SAFE * (1.0 + h) * square)) {
        solve(&self, classes);
        left = slope(&self, &square);
    }
    if (!(left <= SAFE * (1.0 + h) * square))
        for (uint64_t k = 0; k < self.wides; k++)
            self.p[k] = self.p0[k] + (self.s[k] - self.p0[k]) * (1.0 / (1.0 + h));
    gather(self.p, classes, p);
    return distance(&self);
}

PL_INLINE double probabilities(const double *z, uint64_t classes, double *p) {
    pl_wide a[PL_MOST_CLASSES / 4 + 1];
    double top = z[0];
    for (uint64_t c = 1; c < classes; c++)
        top = z[c] > top ? z[c] : top;
    uint64_t wides = spread(z, classes, top + NOTHING, a);
    double total = normalise(a, wides, a, &top);
    gather(a, classes, p);
    return top + log(total);
}

#define FEW 16 /* classes up to which a lane for each row is faster than lanes for classes */

/* The margins of class c, in a lane for each row. */
PL_INLINE void across(const double *const row[PL_SOFTMAX_ROWS], uint64_t c, pl_wide *out) {
    *out = (pl_wide){row[0][c], row[1][c], row[2][c], row[3][c]};
}

/* There are no sums within a vector, so that all rows are computed in the time that one takes to wait for its own. */
PL_INLINE void probabilities_rows(const double *z, uint64_t rows, uint64_t classes, double *p, double *sums) {
    const double *row[PL_SOFTMAX_ROWS];
    pl_wide a[FEW], top, x, total = PL_ALL(0.0);
    for (uint64_t r = 0; r < PL_SOFTMAX_ROWS; r++)
        row[r] = z + (r < rows ? r : 0) * classes;
    across(row, 0, &top);
    for (uint64_t c = 1; c < classes; c++) {
        across(row, c, &x);
        top = PL_LARGER(x, top);
    }
    for (uint64_t c = 0; c < classes; c++) {
        across(row, c, &x);
        a[c] = x - top;
        pl_exponential(&a[c]);
        total += a[c];
    }
    pl_wide inverse = 1.0 / total;
    for (uint64_t c = 0; c < classes; c++) {
        x = a[c] * inverse;
        for (uint64_t r = 0; r < rows; r++)
            p[r * classes + c] = x[r];
    }
    for (uint64_t r = 0; r < rows; r++)
        sums[r] = top[r] + log(total[r]);
}

PL_AVX2 static void rows_avx2(const double *z, uint64_t rows, uint64_t classes, double *p, double *sums) {
    if (rows == PL_SOFTMAX_ROWS)
        probabilities_rows(z, PL_SOFTMAX_ROWS, classes, p, sums);
    else
        probabilities_rows(z, rows, classes, p, sums);
}
static void rows_any(const double *z, uint64_t rows, uint64_t classes, double *p, double *sums) {
    probabilities_rows(z, rows, classes, p, sums);
}

PL_AVX2 static double move_avx2(const double *z, uint64_t classes, double h, double *p) {
    return move(z, classes, h, p);
}
static double move_any(const double *z, uint64_t classes, double h, double *p) { return move(z, classes, h, p); }
PL_AVX2 static double probabilities_avx2(const double *z, uint64_t classes, double *p) {
    return probabilities(z, classes, p);
}
static double probabilities_any(const double *z, uint64_t classes, double *p) { return probabilities(z, classes, p); }

double pl_softmax(const double *z, uint64_t classes, double *p) {
    return PL_HAS_AVX2 ? probabilities_avx2(z, classes, p) : probabilities_any(z, classes, p);
}

void pl_softmax_rows(const double *z, uint64_t rows, uint64_t classes, double *p, double *sums) {
    if (classes <= FEW)
        (PL_HAS_AVX2 ? rows_avx2 : rows_any)(z, rows, classes, p, sums);
    else
        for (uint64_t r = 0; r < rows; r++)
            sums[r] = pl_softmax(z + r * classes, classes, p + r * classes);
}

double pl_softmax_step(const double *z, uint64_t classes, double h, double *p) {
    return PL_HAS_AVX2 ? move_avx2(z, classes, h, p) : move_any(z, classes, h, p);
}
