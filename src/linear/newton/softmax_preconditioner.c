/* softmax_preconditioner.c: if a few rows are far longer than the others, they have eigenvalues of the curvature of
 * their own, each of which costs a solve by conjugate gradients a few products. So the preconditioner takes over the
 * curvature of the strongest directions of rows as it is, and the diagonal of the rest:
 *
 *     M = D + A' S A          D = l2 + share (diag H - diag A' S A)
 *
 * A row of A is x_i (e_c - e_k)' for a row i of the data and two classes, and S has its curvature. The curvature of
 * softmax is the sum over pairs of classes of q p_c p_k (e_c - e_k)(e_c - e_k)', of which the pairs with the likeliest
 * class are candidates. The inverse is
 *
 *     M^-1 = D^-1 - D^-1 A' (S^-1 + A D^-1 A')^-1 A D^-1            (Woodbury)
 *
 * Intercepts have their diagonal only. */
#include "linear/newton/softmax_preconditioner.h"

#include <math.h>
#include <string.h>

#include "math/cholesky.h"

#define MOST 256           /* directions; factoring them takes as long as one or two products */
#define LONG 20.0          /* curvature of a direction over that of the penalty, from which it is a candidate */
#define WIDE_SHARE 0.1     /* of the diagonal, if there are more columns than rows, as in truncated.c */
#define MANY_ENTRIES 16384 /* from which on threads share a pass over a vector */
#define BLOCK 4096

/* x_i (e_plus - e_minus)' */
typedef struct direction {
    uint64_t row;
    uint32_t plus, minus;
    double weight; /* its entry of S */
    double score;  /* its curvature */
} direction;

struct pl_softmax_preconditioner {
    const pl_glm *glm;
    double share;
    uint64_t most, count;
    direction *direction; /* a heap while they are chosen, with the least score first */
    double *inverse;      /* of D, by entry of the model */
    double *factor;       /* of the small matrix */
    double *side;         /* of the small system */
    double *spread;       /* by column, 0 between uses */
    const double *y, *v;  /* of the pass under way */
    double *out;
};

bool pl_softmax_preconditioner_fit(const pl_problem *problem, const pl_team *team) {
    (void)team;
    return pl_linear_takes(PL_AUTO_PRECONDITIONER, "long rows", problem, NULL);
}

/* The small matrix must cost little against a product. */
static uint64_t most(const pl_glm *glm) {
    return (uint64_t)fmin(MOST, sqrt((double)glm->base.data->x.rows * (double)glm->classes));
}

uint64_t pl_softmax_preconditioner_bytes(const pl_glm *glm) {
    uint64_t count = most(glm);
    return (glm->base.data->x.columns + glm->base.size + count * (count + 1)) * sizeof(double) +
           count * sizeof(direction);
}

parley_status pl_softmax_preconditioner_open(const pl_glm *glm, pl_softmax_preconditioner **out, parley_error *error) {
    pl_softmax_preconditioner *self;
    parley_status status = pl_take(&self, 1, sizeof *self, "newton", error);
    if (status != PARLEY_OK)
        return status;
    const pl_matrix *x = &glm->base.data->x;
    self->glm = glm;
    self->share = x->columns > x->rows ? WIDE_SHARE : 1.0;
    self->most = most(glm);
    self->direction = pl_alloc(self->most, sizeof *self->direction);
    self->inverse = pl_alloc(glm->base.size, sizeof *self->inverse);
    self->factor = pl_alloc(self->most * self->most, sizeof *self->factor);
    self->side = pl_alloc(self->most, sizeof *self->side);
    self->spread = pl_alloc(x->columns, sizeof *self->spread);
    if (!self->direction || !self->inverse || !self->factor || !self->side || !self->spread) {
        pl_softmax_preconditioner_close(self);
        return pl_fail_memory(error, "newton's preconditioner", pl_softmax_preconditioner_bytes(glm));
    }
    *out = self;
    return PARLEY_OK;
}

void pl_softmax_preconditioner_close(pl_softmax_preconditioner *self) {
    if (!self)
        return;
    pl_free(self->direction);
    pl_free(self->inverse);
    pl_free(self->factor);
    pl_free(self->side);
    pl_free(self->spread);
    pl_free(self);
}

/* Restores the order of the heap from the entry `at` downwards. */
static void sink(pl_softmax_preconditioner *self, uint64_t at) {
    direction *heap = self->direction;
    for (uint64_t child; (child = 2 * at + 1) < self->count; at = child) {
        if (child + 1 < self->count && heap[child + 1].score < heap[child].score)
            child++;
        if (heap[at].score <= heap[child].score)
            return;
        direction held = heap[at];
        heap[at] = heap[child];
        heap[child] = held;
    }
}

/* Keeps a candidate if there is room, or in place of the least one. */
static void offer(pl_softmax_preconditioner *self, const direction *candidate) {
    if (self->count == self->most) {
        if (!(candidate->score > self->direction[0].score))
            return;
        self->direction[0] = *candidate;
        sink(self, 0);
        return;
    }
    self->direction[self->count++] = *candidate;
    for (uint64_t at = self->count / 2; self->count == self->most && at-- > 0;)
        sink(self, at);
}

static uint32_t likeliest(const double *p, uint64_t classes) {
    uint32_t best = 0;
    for (uint32_t c = 1; c < classes; c++)
        if (p[c] > p[best])
            best = c;
    return best;
}

/* Offers the directions of a row. */
static void offer_row(pl_softmax_preconditioner *self, uint64_t i, const double *bend) {
    const pl_glm *glm = self->glm;
    uint32_t top = likeliest(bend, glm->classes);
    double scale = pl_share(glm, i) * bend[top];
    for (uint32_t c = 0; c < glm->classes; c++) {
        double weight = scale * bend[c], score = 2.0 * weight * glm->norm2[i];
        if (c != top && score > LONG * glm->base.l2)
            offer(self, &(direction){i, c, top, weight, score});
    }
}

/* Entries of the row of a direction. */
typedef struct entries {
    const uint32_t *index;
    pl_values values;
    uint64_t count;
} entries;

static entries entries_of(const pl_softmax_preconditioner *self, const direction *at) {
    const pl_matrix *x = &self->glm->base.data->x;
    uint64_t begin = x->start[at->row];
    return (entries){x->index + begin, pl_values_from(x->values, begin), x->start[at->row + 1] - begin};
}

/* Subtracts the diagonal of a direction from that in `rest`. */
static void subtract(const pl_softmax_preconditioner *self, const direction *at, double *rest) {
    uint64_t classes = self->glm->classes;
    entries row = entries_of(self, at);
    for (uint64_t e = 0; e < row.count; e++) {
        double x = pl_value_at(row.values, e), part = at->weight * x * x, *entry = rest + row.index[e] * classes;
        entry[at->plus] -= part;
        entry[at->minus] -= part;
    }
}

static void invert_diagonal(pl_softmax_preconditioner *self, const double *diagonal) {
    const pl_glm *glm = self->glm;
    double *inverse = self->inverse;
    memcpy(inverse, diagonal, glm->base.size * sizeof *inverse);
    for (uint64_t a = 0; a < self->count; a++)
        subtract(self, &self->direction[a], inverse);
    for (uint64_t j = 0; j < glm->base.size; j++) {
        double l2 = pl_l2_at(&glm->base, j), rest = fmax(inverse[j], 0.0),
               whole = l2 > 0 ? l2 + self->share * rest : rest;
        inverse[j] = whole > 0 ? 1.0 / whole : 0.0;
    }
}

/* The sum over classes of e_a e_b / D, in one column of the data, whose entries of 1 / D are given. */
static double common(const direction *a, const direction *b, const double *inverse) {
    double sum = a->plus == b->plus ? inverse[a->plus] : 0.0;
    if (a->plus == b->minus)
        sum -= inverse[a->plus];
    if (a->minus == b->plus)
        sum -= inverse[b->plus];
    if (a->minus == b->minus)
        sum += inverse[a->minus];
    return sum;
}

static bool have_common(const direction *a, const direction *b) {
    return a->plus == b->plus || a->plus == b->minus || a->minus == b->plus || a->minus == b->minus;
}

/* The entry of A D^-1 A' for a direction a, whose row is spread, and b. */
static double meet(const pl_softmax_preconditioner *self, const direction *a, const direction *b) {
    uint64_t classes = self->glm->classes;
    entries row = entries_of(self, b);
    double sum = 0;
    for (uint64_t e = 0; e < row.count; e++) {
        double product = self->spread[row.index[e]] * pl_value_at(row.values, e);
        if (product != 0)
            sum += product * common(a, b, self->inverse + row.index[e] * classes);
    }
    return sum;
}

static void spread_row(pl_softmax_preconditioner *self, const direction *at, bool on) {
    entries row = entries_of(self, at);
    for (uint64_t e = 0; e < row.count; e++)
        self->spread[row.index[e]] = on ? pl_value_at(row.values, e) : 0.0;
}

/* Computes and factors S^-1 + A D^-1 A'. Without a factor, the diagonal remains. */
static void factor_small(pl_softmax_preconditioner *self) {
    uint64_t count = self->count;
    for (uint64_t j = 0; j < count; j++) {
        const direction *a = &self->direction[j];
        spread_row(self, a, true);
        for (uint64_t i = j; i < count; i++) {
            const direction *b = &self->direction[i];
            self->factor[j * count + i] = have_common(a, b) ? meet(self, a, b) : 0.0;
        }
        self->factor[j * count + j] += 1.0 / a->weight;
        spread_row(self, a, false);
    }
    if (!pl_cholesky(self->factor, count))
        self->count = 0;
}

void pl_softmax_preconditioner_factor(pl_softmax_preconditioner *self, const double *bend, const double *diagonal) {
    const pl_glm *glm = self->glm;
    self->count = 0;
    for (uint64_t i = 0; i < glm->base.data->x.rows; i++)
        offer_row(self, i, bend + i * glm->classes);
    invert_diagonal(self, diagonal);
    factor_small(self);
}

static void apply_block(void *context, unsigned block) {
    const pl_softmax_preconditioner *self = context;
    const pl_problem *problem = &self->glm->base;
    uint64_t begin = (uint64_t)block * BLOCK,
             end = begin + BLOCK < self->glm->base.size ? begin + BLOCK : self->glm->base.size;
    for (uint64_t j = begin; j < end; j++)
        self->out[j] = self->inverse[j] * (self->y[j] + (j < problem->penalised ? problem->l2 : 0.0) * self->v[j]);
}

/* The entry of A out for a direction. */
static double project(const pl_softmax_preconditioner *self, const direction *at) {
    uint64_t classes = self->glm->classes;
    entries row = entries_of(self, at);
    double sum = 0;
    for (uint64_t e = 0; e < row.count; e++) {
        const double *out = self->out + row.index[e] * classes;
        sum += pl_value_at(row.values, e) * (out[at->plus] - out[at->minus]);
    }
    return sum;
}

/* out -= D^-1 x_i (e_plus - e_minus)' c */
static void correct(pl_softmax_preconditioner *self, const direction *at, double c) {
    uint64_t classes = self->glm->classes;
    entries row = entries_of(self, at);
    for (uint64_t e = 0; e < row.count; e++) {
        uint64_t plus = row.index[e] * classes + at->plus, minus = row.index[e] * classes + at->minus;
        double step = c * pl_value_at(row.values, e);
        self->out[plus] -= step * self->inverse[plus];
        self->out[minus] += step * self->inverse[minus];
    }
}

void pl_softmax_preconditioner_apply(pl_softmax_preconditioner *self, const pl_team *team, const double *y,
                                     const double *v, double *out) {
    unsigned blocks = (unsigned)((self->glm->base.size + BLOCK - 1) / BLOCK);
    self->y = y;
    self->v = v;
    self->out = out;
    if (self->glm->base.size >= MANY_ENTRIES)
        team->engine->type->run(team->engine, apply_block, self, blocks);
    else
        for (unsigned block = 0; block < blocks; block++)
            apply_block(self, block);
    for (uint64_t a = 0; a < self->count; a++)
        self->side[a] = project(self, &self->direction[a]);
    pl_cholesky_solve(self->factor, self->count, self->side);
    for (uint64_t a = 0; a < self->count; a++)
        correct(self, &self->direction[a], self->side[a]);
}
