/* test_agree.c: how ranks agree on a failure. */
#include <string.h>

#include "base/memory.h"
#include "engine/agree.h"
#include "support.h"

#define REMEDY "every rank must see the same files"

/* Which ranks fail, with which keys, and what they learnt. */
typedef struct agreement {
    bool fails[MOST_RANKS];
    double key[MOST_RANKS];
    const char *remedy;
    unsigned times;
    bool ends; /* whether the failure ends the job */
    parley_status agreed[MOST_RANKS];
    parley_error told[MOST_RANKS];
} agreement;

static parley_status agree_body(pl_engine *engine, void *context, parley_error *error) {
    agreement *self = context;
    unsigned r = engine->rank;
    parley_status status = PARLEY_OK;
    for (unsigned i = 0; i < self->times && status == PARLEY_OK; i++) {
        if (self->fails[r] && i + 1 == self->times)
            status = pl_fail(error, PARLEY_BAD_INPUT, "part %u is bad", r);
        status = pl_agree_status(engine, status, self->key[r], self->remedy, error);
    }
    self->agreed[r] = status;
    self->told[r] = status == PARLEY_OK ? (parley_error){0} : *error;
    return self->ends ? status : PARLEY_OK; /* if the job continues, only the agreement has told the ranks */
}

static void agree_on(agreement *self, unsigned ranks, bool share) {
    parley_status status[MOST_RANKS];
    parley_error error[MOST_RANKS];
    ranks_share_memory = share;
    self->times = 3;
    run_ranks(ranks, 1, DEADLINE, agree_body, self, status, error);
    for (unsigned r = 0; r < ranks; r++)
        assert_done(status[r], &error[r]);
}

static void ranks_without_a_failure_go_on(void **state) {
    (void)state;
    for (unsigned ranks = 1; ranks <= MOST_RANKS; ranks++) {
        agreement agreement = {.remedy = REMEDY};
        agree_on(&agreement, ranks, ranks % 2);
        for (unsigned r = 0; r < ranks; r++)
            assert_int_equal(agreement.agreed[r], PARLEY_OK);
    }
}

static void the_least_key_decides_and_then_the_lowest_rank(void **state) {
    (void)state;
    static const struct {
        unsigned failing; /* one bit per rank */
        double key[MOST_RANKS];
        const char *sentence;
    } cases[] = {{1, {7}, "part 0 is bad"},
                 {31, {5, 4, 3, 3, 6}, "part 2 is bad"},
                 {24, {0, 0, 0, 9, 9}, "part 3 is bad"},
                 {18, {0, 2, 0, 0, -1}, "part 4 is bad"}};
    for (unsigned c = 0; c < COUNT(cases); c++)
        for (unsigned share = 0; share < 2; share++) {
            agreement agreement = {0};
            for (unsigned r = 0; r < MOST_RANKS; r++) {
                agreement.fails[r] = cases[c].failing >> r & 1;
                agreement.key[r] = cases[c].key[r];
            }
            agree_on(&agreement, MOST_RANKS, share);
            for (unsigned r = 0; r < MOST_RANKS; r++) {
                assert_int_equal(agreement.agreed[r], PARLEY_BAD_INPUT);
                assert_int_equal(agreement.told[r].status, PARLEY_BAD_INPUT);
                assert_string_equal(agreement.told[r].sentence, cases[c].sentence);
            }
        }
}

static void a_failure_of_some_ranks_names_one_and_its_host(void **state) {
    (void)state;
    agreement some = {.fails = {false, true, true}, .remedy = REMEDY};
    agree_on(&some, 3, false);
    for (unsigned r = 0; r < 3; r++) {
        assert_ptr_equal(strstr(some.told[r].sentence, "part 1 is bad, on rank 1 ("), some.told[r].sentence);
        assert_non_null(strstr(some.told[r].sentence, ") only; " REMEDY));
    }
    agreement all = {.fails = {true, true, true}, .remedy = REMEDY};
    agree_on(&all, 3, false);
    assert_string_equal(all.told[2].sentence, "part 0 is bad");
}

static void a_rank_without_memory_ends_the_others(void **state) {
    (void)state;
    bool done = false;
    for (int64_t n = 20; !done; n++) { /* opening the engines makes the first allocations */
        parley_status status[3];
        parley_error error[3];
        agreement agreement = {.times = 2, .ends = true, .fails = {false, true, false}};
        assert_true(n < 200);
        pl_memory_fail_after(n);
        ranks_share_memory = false;
        run_ranks(3, 1, DEADLINE, agree_body, &agreement, status, error);
        pl_memory_fail_after(-1);
        for (unsigned r = 0; r < 3; r++)
            assert_true(status[r] == PARLEY_NO_MEMORY || status[r] == PARLEY_BAD_INPUT);
        done = agreement.agreed[0] == PARLEY_BAD_INPUT && agreement.agreed[1] == PARLEY_BAD_INPUT &&
               agreement.agreed[2] == PARLEY_BAD_INPUT;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_without_a_failure_go_on),
        cmocka_unit_test(the_least_key_decides_and_then_the_lowest_rank),
        cmocka_unit_test(a_failure_of_some_ranks_names_one_and_its_host),
        cmocka_unit_test(a_rank_without_memory_ends_the_others),
    };
    return cmocka_run_group_tests_name("agree", tests, NULL, NULL);
}
