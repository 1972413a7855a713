/* arrow_matrix.h: symmetric positive definite matrices in the shape of an arrow. The first entries, the core, meet all
 * others. The others come in groups that are apart: each meets only itself and the core. So the matrix consists of
 *
 *     core x core               the core's lower triangle by columns
 *     group x (group + core)    of each group apart, by entries: the lower triangle of its square, and the core's part
 *
 * If no group is apart, this is a plain lower triangle. */
#ifndef PL_ARROW_H
#define PL_ARROW_H

#include <stdbool.h>
#include <stdint.h>

typedef struct pl_arrow {
    uint64_t core;  /* entries */
    uint64_t apart; /* groups */
    uint64_t group; /* entries of a group */
} pl_arrow;

static inline uint64_t pl_arrow_rows(const pl_arrow *arrow) { return arrow->core + arrow->apart * arrow->group; }

/* The distance between the entries of a group apart. */
static inline uint64_t pl_arrow_stride(const pl_arrow *arrow) { return arrow->group + arrow->core; }

/* Where entry p of the matrix, which is apart, begins. */
static inline uint64_t pl_arrow_begin(const pl_arrow *arrow, uint64_t p) {
    return arrow->core * arrow->core + (p - arrow->core) * pl_arrow_stride(arrow);
}

static inline uint64_t pl_arrow_values(const pl_arrow *arrow) { return pl_arrow_begin(arrow, pl_arrow_rows(arrow)); }

/* Where the diagonal's entry p is. */
static inline uint64_t pl_arrow_diagonal(const pl_arrow *arrow, uint64_t p) {
    uint64_t core = arrow->core;
    return p < core ? p * (core + 1) : pl_arrow_begin(arrow, p) + (p - core) % arrow->group;
}

/* Replaces the matrix by its Cholesky factor. Returns false if it is not positive definite. */
bool pl_arrow_factor(const pl_arrow *arrow, double *matrix);
/* x <- the inverse of the factored matrix x */
void pl_arrow_solve(const pl_arrow *arrow, const double *factor, double *x);

#endif
