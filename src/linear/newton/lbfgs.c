/* lbfgs.c: the limited-memory quasi-Newton method (Nocedal 1980; Liu and Nocedal 1989), and with an L1 penalty its
 * orthant-wise form OWL-QN (Andrew and Gao 2007).
 *
 *     d = -H g          H from the last `history` pairs s = step, y = change of the gradient, by the two-loop recursion
 *
 * Owners keep their slice of the pairs, and dot products are summed over owners. Each vector operation is made in the
 * pass that sums the next dot product.
 *
 * If the intercept is free, the solver moves b to its optimum before every gradient, so that its entry of g, and of
 * every y, is 0. All dot products are then those of R(w) = min_b P(w, b), and the w part of d is that of L-BFGS on R.
 * The b part of d is the same combination of the past moves of b. See docs/mathematics.md.
 *
 * If columns differ much in scale, H before the pairs is not a multiple of I but of the inverse of a diagonal that
 * bounds the curvature of each column. For several classes and few columns it is the inverse of
 *
 *     M_c = k C + l2 I          C = covariance of the columns, k = bound of the loss's curvature
 *
 * for each class c, which bounds the curvature without that between classes. (With the curvature of each class at the
 * best constants instead of k, rare classes take too large steps: 1389 rounds instead of 171 on a table of 60 classes.)
 *
 * With l1 > 0 or coefficients that must not be negative, g is the pseudo-gradient of P (the subgradient of smallest
 * size), d keeps only entries that point against it, and a trial point is projected on the orthant of v - small x g, in
 * which P is smooth. */
#include <math.h>
#include <string.h>

#include "linear/newton/oracle.h"
#include "linear/newton/search.h"
#include "math/cholesky.h"

#define CURVED 1e-10       /* a pair is kept if s.y exceeds this part of |y|^2 / bound of the curvature */
#define HALVINGS 40        /* most trial steps on an orthant */
#define RETREATS 3         /* how often the history is dropped when rounds no longer help */
#define FEW_COLUMNS 200    /* up to which M is computed */
#define WHOLE_ENTRIES 4096 /* up to which one owner has all of v */
#define RIDGE 1e-10        /* of the diagonal of M, added to it */

typedef struct lbfgs {
    pl_combine base;
    const pl_problem *problem;
    uint64_t begin, count; /* the owner's slice */
    unsigned history, pairs, newest;
    unsigned retreats, trials;
    bool started;
    double rate;      /* rate of a first step, stable on most data */
    double *s, *y;    /* history x count */
    double *rho;      /* 1 / s.y of each pair */
    double *alpha;    /* of the recursion */
    double scale;     /* of H before the pairs: s.y / |y|^2 of the newest */
    double *diagonal; /* that H is a multiple of before the pairs; NULL: of I */
    double *factors;  /* the factors of every M_c, whose inverses replace the diagonal; NULL: none */
    double *entries;  /* room for the entries of a class */
    uint64_t columns, classes;
    double *v, *g;    /* the last v, and the gradient of P's smooth part there */
    double *pseudo;   /* the gradient from which d is computed */
    double *d;        /* l1 > 0: the direction before projection */
    double value;     /* P(v) */
    pl_search search; /* l1 = 0 */
} lbfgs;

/* Whether trial points are projected on an orthant, so that they are not on a line. */
static bool projects(const pl_problem *problem) { return problem->l1 > 0 || problem->non_negative > 0; }

/* Whether entry j has a kink or a bound at 0, which no step may cross. */
static bool projects_at(const lbfgs *self, uint64_t j) {
    return pl_l1_at(self->problem, j) > 0 || j < self->problem->non_negative;
}

static double *pair(const lbfgs *self, double *of, unsigned age) {
    return of + (uint64_t)((self->newest + self->history - age) % self->history) * self->count;
}

static uint64_t bytes(const pl_setup *setup) {
    return (setup->end - setup->begin) * (2 * pl_linear_settings_of(setup->settings)->history + 4) * sizeof(double);
}

static void close_lbfgs(pl_combine *combine) {
    lbfgs *self = (lbfgs *)combine;
    if (!self)
        return;
    void *owned[] = {self->s,      self->y, self->rho,      self->alpha,   self->v,      self->g,
                     self->pseudo, self->d, self->diagonal, self->factors, self->entries};
    for (unsigned i = 0; i < sizeof owned / sizeof *owned; i++)
        pl_free(owned[i]);
    pl_free(self);
}

/* The diagonal of 1 / (bound of the column's curvature), which takes the place of different rates by column. A column
 * without entries has only its penalty. */
static parley_status measure_columns(lbfgs *self, const pl_setup *setup, parley_error *error) {
    const pl_glm *glm = pl_glm_of(setup->problem);
    if (!glm || glm->scale || glm->centred.scales <= PL_UNEVEN)
        return PARLEY_OK;
    uint64_t columns = glm->base.data->x.columns;
    double curvature = glm->loss->log_link ? pl_loss_mean_curvature(glm->loss, glm->mean_label)
                                           : pl_loss_step_curvature(glm->loss),
           *squares;
    parley_status status = pl_take(&squares, columns, sizeof *squares, "lbfgs", error);
    if (status == PARLEY_OK)
        status = pl_take(&self->diagonal, self->count, sizeof *self->diagonal, "lbfgs", error);
    if (status == PARLEY_OK)
        status = pl_column_squares(glm, setup->team, squares, error);
    for (uint64_t i = 0; i < self->count && status == PARLEY_OK; i++) {
        uint64_t column = (self->begin + i) / glm->classes;
        double bound = column < columns ? curvature * squares[column] + pl_l2_at(&glm->base, self->begin + i) : 1.0;
        self->diagonal[i] = bound > 0 ? 1.0 / bound : 1.0;
    }
    double filled = (double)pl_all_nonzeros(glm->base.data) / (double)pl_all_rows(glm->base.data);
    self->rate = 1.0 / (1.0 + filled); /* the curvature by the diagonal is at most the number of columns of a row */
    pl_free(squares);
    return status;
}

/* Adds sum q x x' and, behind it, sum q x. */
static void add_products(const void *context, const pl_part *part, double *sums) {
    const pl_glm *glm = context;
    const pl_matrix *x = &glm->base.data->x;
    for (pl_walk rows = pl_walk_entries(glm->base.data); pl_walk_on(part, &rows);)
        for (uint64_t i = rows.begin; i < rows.end; i++)
            for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++) {
                double a = pl_share(glm, i) * pl_value_at(x->values, e);
                double *column = sums + x->index[e] * x->columns; /* the lower triangle */
                sums[x->columns * x->columns + x->index[e]] += a;
                for (uint64_t f = e; f < x->start[i + 1]; f++)
                    column[x->index[f]] += a * pl_value_at(x->values, f);
            }
}

/* Makes and factors every M_c from the sums of add_products. Returns false if one is not positive definite. */
static bool factor_classes(lbfgs *self, const pl_glm *glm, const double *sums) {
    uint64_t p = self->columns;
    const double *mean = sums + p * p;
    double k = pl_loss_step_curvature(glm->loss);
    for (uint64_t c = 0; c < self->classes; c++) {
        double *m = self->factors + c * p * p;
        for (uint64_t j = 0; j < p; j++) {
            for (uint64_t i = j; i < p; i++)
                m[j * p + i] = k * (sums[j * p + i] - (glm->intercept == PL_FREE ? mean[i] * mean[j] : 0.0));
            double *diagonal = &m[j * p + j];
            *diagonal = fmax(*diagonal, 0.0) + pl_l2_at(&glm->base, j * self->classes + c);
            *diagonal += *diagonal > 0 ? RIDGE * k * sums[j * p + j] : 1.0;
        }
        if (!pl_cholesky(m, p))
            return false;
    }
    return true;
}

/* For several classes, if all entries of v have one owner. Otherwise, and where M is singular, the diagonal remains. */
static parley_status measure_classes(lbfgs *self, const pl_setup *setup, parley_error *error) {
    const pl_glm *glm = pl_glm_of(setup->problem);
    if (!self->diagonal || glm->classes == 1 || projects(&glm->base) || glm->base.data->x.columns > FEW_COLUMNS ||
        glm->base.size > WHOLE_ENTRIES)
        return PARLEY_OK;
    double *sums;
    uint64_t p = self->columns = glm->base.data->x.columns, size = p * p + p;
    self->classes = glm->classes;
    parley_status status = pl_take(&sums, size, sizeof *sums, "lbfgs", error);
    if (status == PARLEY_OK)
        status = pl_sum_tables(setup->team, size, add_products, glm, sums, error);
    if (status == PARLEY_OK && self->count == glm->base.size) {
        status = pl_take(&self->factors, self->classes * p * p, sizeof *self->factors, "lbfgs", error);
        if (status == PARLEY_OK)
            status = pl_take(&self->entries, p, sizeof *self->entries, "lbfgs", error);
    }
    if (status == PARLEY_OK && self->factors && !factor_classes(self, glm, sums)) {
        pl_free(self->factors);
        self->factors = NULL;
    }
    if (self->factors)
        self->rate = 1.0;
    pl_free(sums);
    return status;
}

/* x <- the inverse of M x, by class. Entries of intercepts stay. */
static void precondition(const lbfgs *self, double *x) {
    uint64_t p = self->columns, classes = self->classes;
    for (uint64_t c = 0; c < classes; c++) {
        for (uint64_t j = 0; j < p; j++)
            self->entries[j] = x[j * classes + c];
        pl_cholesky_solve(self->factors + c * p * p, p, self->entries);
        for (uint64_t j = 0; j < p; j++)
            x[j * classes + c] = self->entries[j];
    }
}

static parley_status open_lbfgs(const pl_setup *setup, pl_combine **out, parley_error *error) {
    uint64_t count = setup->end - setup->begin, history = pl_linear_settings_of(setup->settings)->history;
    lbfgs *self;
    parley_status status = pl_take(&self, 1, sizeof *self, "lbfgs", error);
    if (status != PARLEY_OK)
        return status;
    *self = (lbfgs){.base = {.type = &pl_combine_lbfgs},
                    .problem = setup->problem,
                    .begin = setup->begin,
                    .count = count,
                    .history = (unsigned)history,
                    .rate = pl_glm_of(setup->problem) ? pl_safe_rate(pl_glm_of(setup->problem)) : 1.0};
    self->s = pl_alloc(history * count, sizeof *self->s);
    self->y = pl_alloc(history * count, sizeof *self->y);
    self->rho = pl_alloc(history, sizeof *self->rho);
    self->alpha = pl_alloc(history, sizeof *self->alpha);
    self->v = pl_alloc(count, sizeof *self->v);
    self->g = pl_alloc(count, sizeof *self->g);
    self->pseudo = pl_alloc(count, sizeof *self->pseudo);
    self->d = pl_alloc(count, sizeof *self->d);
    if (!self->s || !self->y || !self->rho || !self->alpha || !self->v || !self->g || !self->pseudo || !self->d) {
        close_lbfgs(&self->base);
        return pl_fail_memory(error, "the history of lbfgs; use a smaller --history", bytes(setup));
    }
    status = measure_columns(self, setup, error);
    if (status == PARLEY_OK)
        status = measure_classes(self, setup, error);
    if (status != PARLEY_OK)
        close_lbfgs(&self->base);
    else
        *out = &self->base;
    return status;
}

/* The subgradient of l1 |x| + f closest to 0, where g is the slope of f. */
static double pseudo_slope(double x, double g, double l1) {
    return x > 0 ? g + l1 : x < 0 ? g - l1 : g > l1 ? g - l1 : g < -l1 ? g + l1 : 0.0;
}

typedef struct pass {
    lbfgs *of;
    const pl_slice *slice;
    double *s, *y; /* of the new pair */
} pass;

enum { SUM_SY, SUM_YY, SUM_PENALTY };

/* Makes a pair from the current and the last v and gradient, and stores the current ones. */
static void make_pair(void *context, uint64_t begin, uint64_t end, double *sums) {
    const pass *pass = context;
    lbfgs *self = pass->of;
    const pl_problem *problem = self->problem;
    for (uint64_t j = begin; j < end; j++) {
        uint64_t i = j - self->begin;
        double v = pass->slice->v[j], l1 = pl_l1_at(problem, j), l2 = pl_l2_at(problem, j);
        double g = pass->slice->change[j] + l2 * v;
        pass->s[i] = v - self->v[i];
        pass->y[i] = g - self->g[i];
        sums[SUM_SY] += pass->s[i] * pass->y[i];
        sums[SUM_YY] += pass->y[i] * pass->y[i] * (self->diagonal ? self->diagonal[i] : 1.0);
        sums[SUM_PENALTY] += l1 * fabs(v) + 0.5 * l2 * v * v;
        self->v[i] = v;
        self->g[i] = g;
        self->pseudo[i] = l1 > 0 ? pseudo_slope(v, g, l1) : g;
        if (j < problem->non_negative && !(v > 0) && self->pseudo[i] > 0)
            self->pseudo[i] = 0.0; /* the bound holds it at 0 */
    }
    if (!self->factors)
        return;
    memcpy(self->d, pass->y, self->count * sizeof *self->d); /* it is free between rounds */
    precondition(self, self->d);
    sums[SUM_YY] = 0;
    for (uint64_t i = 0; i < self->count; i++)
        sums[SUM_YY] += pass->y[i] * self->d[i];
}

static parley_status remember(lbfgs *self, const pl_slice *slice, parley_error *error) {
    unsigned slot = (self->newest + 1) % self->history;
    pass pass = {self, slice, self->s + slot * self->count, self->y + slot * self->count};
    double sums[PL_OWN_SCALARS] = {0};
    parley_status status = pl_slice_sum(slice, make_pair, &pass, sums, error);
    if (status != PARLEY_OK)
        return status;
    self->value = slice->value + sums[SUM_PENALTY];
    /* 1 / rate bounds the curvature, so that s.y >= |y|^2 rate up to rounding. */
    if (self->started && sums[SUM_SY] > CURVED * self->rate * sums[SUM_YY]) {
        self->newest = slot;
        self->pairs = self->pairs < self->history ? self->pairs + 1 : self->history;
        self->rho[slot] = 1.0 / sums[SUM_SY];
        self->scale = sums[SUM_SY] / sums[SUM_YY];
    } else if (self->pairs == self->history)
        self->pairs--; /* its oldest pair was overwritten */
    self->started = true;
    return status;
}

/* x <- scale (x + a other); sums x.dot. */
typedef struct vector_step {
    uint64_t begin;
    double *x;           /* by entry of v; the others by entry of the slice */
    const double *minus; /* x begins as minus this; NULL: as it is */
    double scale, a;
    const double *other, *dot;
    const double *diagonal; /* multiplies x too; NULL: ones */
    const lbfgs *solves;    /* its M divides x too; NULL: none. The slice is then one block */
} vector_step;

static void vector_pass(void *context, uint64_t begin, uint64_t end, double *sums) {
    const vector_step *step = context;
    double *restrict x = step->x, sum = 0;
    for (uint64_t j = begin; j < end && step->minus; j++)
        x[j] = -step->minus[j - step->begin];
    for (uint64_t j = begin; j < end; j++) {
        uint64_t i = j - step->begin;
        x[j] = step->scale * (step->other ? x[j] + step->a * step->other[i] : x[j]);
        if (step->diagonal)
            x[j] *= step->diagonal[i];
    }
    if (step->solves)
        precondition(step->solves, x + begin);
    for (uint64_t j = begin; j < end; j++) {
        uint64_t i = j - step->begin;
        sum += x[j] * (step->dot ? step->dot[i] : 0.0);
    }
    sums[0] += sum;
}

/* Makes the step on all entries and returns the sum in `sum`. */
static parley_status make_step(vector_step *step, const pl_slice *slice, double *sum, parley_error *error) {
    double sums[PL_OWN_SCALARS] = {0};
    parley_status status = pl_slice_sum(slice, vector_pass, step, sums, error);
    step->minus = NULL;
    *sum = sums[0];
    return status;
}

/* direction = -H pseudo. The first loop goes from the newest pair to the oldest, the second one back. */
static parley_status two_loops(lbfgs *self, const pl_slice *slice, parley_error *error) {
    vector_step step = {.begin = self->begin, .x = slice->direction, .minus = self->pseudo, .scale = 1.0};
    double sum;
    parley_status status = PARLEY_OK;
    for (unsigned age = 0; age < self->pairs && status == PARLEY_OK; age++) {
        unsigned slot = (self->newest + self->history - age) % self->history;
        step.dot = pair(self, self->s, age);
        status = make_step(&step, slice, &sum, error);
        self->alpha[slot] = self->rho[slot] * sum;
        step.a = -self->alpha[slot];
        step.other = pair(self, self->y, age);
    }
    step.scale = self->pairs ? self->scale : self->rate;
    step.diagonal = self->factors ? NULL : self->diagonal;
    step.solves = self->factors ? self : NULL;
    for (unsigned age = self->pairs; age-- > 0 && status == PARLEY_OK;) {
        unsigned slot = (self->newest + self->history - age) % self->history;
        step.dot = pair(self, self->y, age);
        status = make_step(&step, slice, &sum, error);
        step.a = self->alpha[slot] - self->rho[slot] * sum;
        step.other = pair(self, self->s, age);
        step.scale = 1.0;
        step.diagonal = NULL;
        step.solves = NULL;
    }
    step.dot = NULL;
    return status == PARLEY_OK ? make_step(&step, slice, &sum, error) : status;
}

/* Drops entries of the direction that do not point against the pseudo-gradient, and sums the slope along the rest. */
static void align(void *context, uint64_t begin, uint64_t end, double *sums) {
    const pass *pass = context;
    lbfgs *self = pass->of;
    double *direction = pass->slice->direction;
    for (uint64_t j = begin; j < end; j++) {
        double pseudo = self->pseudo[j - self->begin];
        if (projects_at(self, j) && !(direction[j] * pseudo < 0))
            direction[j] = 0;
        self->d[j - self->begin] = direction[j];
        sums[0] += direction[j] * pseudo;
    }
}

static parley_status propose(pl_combine *combine, const pl_slice *slice, uint64_t round, parley_error *error) {
    lbfgs *self = (lbfgs *)combine;
    double sums[PL_OWN_SCALARS] = {0};
    pass pass = {.of = self, .slice = slice};
    (void)round;
    parley_status status = remember(self, slice, error);
    for (bool again = true; again && status == PARLEY_OK;) {
        memset(sums, 0, sizeof sums);
        status = two_loops(self, slice, error);
        if (status == PARLEY_OK)
            status = pl_slice_sum(slice, align, &pass, sums, error);
        again = self->pairs > 0 && !(sums[0] < 0); /* rounding spoilt the history; without it the slope is negative */
        if (again)
            self->pairs = 0;
    }
    self->search = pl_search_begin(self->value, sums[0]);
    self->trials = 0;
    return status;
}

/* Makes the direction the difference between v and v + gamma d, projected on the orthant of v or, for entries that are
 * 0, of the direction. */
static void project(const lbfgs *self, const pl_slice *slice, double gamma) {
    for (uint64_t j = slice->begin; j < slice->end; j++) {
        double v = slice->v[j], d = gamma * self->d[j - self->begin];
        bool leaves = projects_at(self, j) && v * (v + d) < 0;
        slice->direction[j] = leaves ? -v : d;
    }
}

static void measure(pl_combine *combine, const pl_slice *slice, double gamma, double *scalars) {
    const lbfgs *self = (lbfgs *)combine;
    const pl_problem *problem = self->problem;
    if (!projects(self->problem)) {
        pl_search_measure(problem, slice, gamma, scalars);
        return;
    }
    for (uint64_t j = slice->begin; j < slice->end; j++) {
        double x = slice->v[j] + slice->direction[j];
        if (j < problem->penalised)
            scalars[PL_OWN_PENALTY] += pl_l1_at(problem, j) * fabs(x) + 0.5 * pl_l2_at(problem, j) * x * x;
        scalars[PL_OWN_SLOPE] += self->pseudo[j - self->begin] * slice->direction[j];
    }
}

static bool judge(pl_combine *combine, const double *workers, const double *owners, double *gamma) {
    lbfgs *self = (lbfgs *)combine;
    double value = workers[PL_SUM_LOSS] + owners[PL_OWN_PENALTY];
    if (projects(self->problem)) {
        double promised = self->value + PL_DECREASE * owners[PL_OWN_SLOPE];
        bool enough = pl_search_below(value, promised, self->value);
        if (!enough && ++self->trials >= HALVINGS)
            self->pairs = 0;
        else if (!enough)
            *gamma *= 0.5;
        return enough || self->trials >= HALVINGS;
    }
    double slope = workers[PL_SUM_SLOPE] + owners[PL_OWN_SLOPE];
    bool accepted = !(self->search.slope < 0) || pl_search_judge(&self->search, value, slope, gamma);
    if (self->search.failed)
        self->pairs = 0;
    return accepted;
}

static bool stalled(pl_combine *combine) {
    lbfgs *self = (lbfgs *)combine;
    if (self->pairs == 0 || self->retreats == RETREATS)
        return false;
    self->retreats++;
    self->pairs = 0;
    return true;
}

static void state(pl_combine *combine, pl_state *state) {
    lbfgs *self = (lbfgs *)combine;
    PL_STATE_VALUES(state, "lbfgs", PL_WITHIN(self->pairs, 0, self->history),
                    PL_WITHIN(self->newest, 0, self->history - 1), PL_WITHIN(self->retreats, 0, RETREATS),
                    PL_VALUE(self->started), PL_VALUE(self->scale));
    pl_state_array(state, "rho", self->rho, PL_F64, self->history);
    pl_state_slice(state, "s", self->s, self->history);
    pl_state_slice(state, "y", self->y, self->history);
    pl_state_slice(state, "v", self->v, 1);
    pl_state_slice(state, "g", self->g, 1);
}

static const char *const reads[] = {"history", NULL};

static const pl_combine_trial trial = {measure, judge};

static parley_status next(pl_combine *combine, const pl_slice *slice, const double *scalars, pl_question *question,
                          parley_error *error) {
    const lbfgs *self = (lbfgs *)combine;
    parley_status status = scalars ? pl_search_next(combine, &trial, slice, scalars, question, error) : PARLEY_OK;
    if (projects(self->problem) && !question->accepted) {
        project(self, slice, question->gamma);
        question->projected = question->moved = true;
    }
    return status;
}

static const pl_oracle oracle = {0};
static const pl_combine_dialogue dialogue = {.next = next, .wants = &oracle};

const pl_combine_type pl_combine_lbfgs = {
    .name = "lbfgs",
    .help = "L-BFGS with a Wolfe line search, or OWL-QN with an L1 penalty",
    .problem = &pl_problem_linear,
    .needs = PL_FACT_SMOOTH,
    .takes = PL_GIVES_GRADIENTS,
    .all_rows = true,
    .settings = reads,
    .dialogue = &dialogue,
    .bytes = bytes,
    .open = open_lbfgs,
    .propose = propose,
    .stalled = stalled,
    .state = state,
    .close = close_lbfgs,
};
