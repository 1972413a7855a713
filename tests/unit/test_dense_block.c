/* test_dense_block.c: the kernels on blocks of full rows against those on single rows. */
#include <string.h>

#include "base/random.h"
#include "math/dense_block.h"
#include "support.h"

#define ROWS 13
#define COLUMNS 41

typedef struct block {
    float narrow[ROWS * COLUMNS];
    double wide[ROWS * COLUMNS];
    double a[ROWS], w[COLUMNS + 1];
} block;

static void fill(block *block, unsigned columns) {
    pl_stream stream = pl_stream_make(6, columns, 0);
    for (unsigned e = 0; e < ROWS * COLUMNS; e++)
        block->narrow[e] = (float)(block->wide[e] = pl_random_normal(&stream));
    for (unsigned r = 0; r < ROWS; r++)
        block->a[r] = r % 5 ? pl_random_normal(&stream) : 0.0;
    for (unsigned j = 0; j <= COLUMNS; j++)
        block->w[j] = pl_random_normal(&stream);
}

static pl_values values_of(const block *block, unsigned type) {
    return type ? (pl_values){.wide = block->wide} : (pl_values){.narrow = block->narrow};
}

static void check_dots(unsigned type) {
    static block block;
    pl_values values = values_of(&block, type);
    for (unsigned columns = 0; columns <= COLUMNS; columns++)
        for (unsigned rows = 0; rows <= ROWS; rows++) {
            double z[ROWS + 1], alone;
            fill(&block, columns);
            z[rows] = 7.0;
            pl_dense_block_dot(values, rows, columns, block.w, z);
            assert_true(z[rows] == 7.0);
            for (unsigned r = 0; r < rows; r++) {
                double sum = 0;
                for (unsigned j = 0; j < columns; j++)
                    sum += pl_value_at(values, r * columns + j) * block.w[j];
                assert_close(z[r], sum, 1e-13);
                pl_dense_block_dot(pl_values_from(values, r * columns), 1, columns, block.w, &alone);
                assert_true(z[r] == alone); /* a row's neighbours do not change its bits */
            }
        }
}

static void dots_are_sums_of_products(void **state) {
    (void)state;
    check_dots(0);
    check_dots(1);
}

static void check_additions(unsigned type) {
    static block block;
    pl_values values = values_of(&block, type);
    for (unsigned columns = 0; columns <= COLUMNS; columns++)
        for (unsigned rows = 0; rows <= ROWS; rows++) {
            double sums[COLUMNS + 1];
            fill(&block, columns);
            memcpy(sums, block.w, sizeof sums);
            for (unsigned r = 0; r < rows; r++)
                for (unsigned j = 0; j < columns; j++)
                    sums[j] += block.a[r] * pl_value_at(values, r * columns + j);
            pl_dense_block_add(values, rows, columns, block.a, block.w);
            assert_memory_equal(block.w, sums, sizeof sums);
        }
}

static void additions_are_those_of_row_after_row(void **state) {
    (void)state;
    check_additions(0);
    check_additions(1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dots_are_sums_of_products),
        cmocka_unit_test(additions_are_those_of_row_after_row),
    };
    return cmocka_run_group_tests_name("full_block", tests, NULL, NULL);
}
