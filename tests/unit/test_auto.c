/* test_auto.c: what `auto` chooses by the shape of a problem, and that every row of its tables is taken by some shape.
 */
#include <math.h>
#include <string.h>

#include "linear/glm.h"
#include "math/dense_gram.h"
#include "support.h"

static const char *chosen(const parley_data *data, const char *words) {
    outcome found = train_once(data, words);
    const char *preset = found.summary[0].preset;
    free_models(&found);
    return preset;
}

/* 300 columns are too many for the matrix of second derivatives where dual ascent takes few passes. */
static void weak_penalties_on_hundreds_of_columns_go_to_newton(void **state) {
    (void)state;
    static const bool ones[] = {true, false};
    for (unsigned i = 0; i < COUNT(ones); i++) {
        parley_data *data =
            random_data((sample_plan){.seed = 3, .rows = 600, .columns = 300, .density = 0.05, .ones = ones[i]});
        assert_string_equal(chosen(data, "loss=logistic C=1"), "newton");
        assert_string_equal(chosen(data, "loss=logistic"), "newton"); /* lambda = 1/n is the same */
        assert_string_equal(chosen(data, "loss=logistic lambda=0.1"), "cocoa-newton");
        assert_string_equal(chosen(data, "loss=logistic C=1e-2"), "cocoa-newton");
        assert_string_equal(chosen(data, "loss=squared-hinge C=1"), "newton");
        parley_data_free(data);
    }
    parley_data *wide = random_data((sample_plan){.seed = 3, .rows = 600, .columns = 900, .density = 0.02});
    assert_string_equal(chosen(wide, "loss=logistic C=1"), "cocoa-newton");
    parley_data_free(wide);
}

/* With more than half as many columns as rows, or under a strong penalty, dual ascent takes few passes. */
static void weak_penalties_on_tall_data_go_to_newton(void **state) {
    (void)state;
    parley_data *tall = random_data((sample_plan){.seed = 3, .rows = 1400, .columns = 600, .density = 0.02}),
                *square = random_data((sample_plan){.seed = 3, .rows = 800, .columns = 600, .density = 0.02});
    assert_string_equal(chosen(tall, "loss=logistic C=10"), "newton");
    assert_string_equal(chosen(tall, "loss=squared alpha=0.1"), "newton");
    assert_string_equal(chosen(tall, "loss=logistic C=0.1"), "cocoa-newton");
    assert_string_equal(chosen(square, "loss=logistic C=10"), "cocoa-newton");
    parley_data_free(tall);
    parley_data_free(square);
}

/* With hinge loss, C x mean |x|^2 decides between 200 and 500 columns. */
static void strong_penalties_of_hinge_loss_begin_with_dual_ascent(void **state) {
    (void)state;
    parley_data *data =
        random_data((sample_plan){.seed = 3, .rows = 600, .columns = 300, .density = 0.05, .ones = true});
    assert_string_equal(chosen(data, "loss=hinge C=1"), "newton");
    assert_string_equal(chosen(data, "loss=hinge C=1e-2"), "cocoa-newton");
    parley_data_free(data);
    parley_data *few = random_data((sample_plan){.seed = 3, .rows = 600, .columns = 150, .density = 0.05});
    assert_string_equal(chosen(few, "loss=hinge C=1e-2"), "newton");
    parley_data_free(few);
}

static uint64_t lanes_of(const parley_data *data, const char *words) {
    parley_settings settings = settings_of(words);
    parley_model *model;
    parley_summary summary;
    parley_error error;
    assert_done(parley_train(data, &settings, NULL, NULL, &model, &summary, &error), &error);
    parley_model_free(model);
    return summary.lanes;
}

/* 250,000 non-zeros are enough for two lanes, unless most rows soon rest. */
static void kinked_losses_have_fewer_lanes(void **state) {
    (void)state;
    parley_data *data = random_data((sample_plan){.seed = 3, .rows = 5000, .columns = 2500, .density = 0.02});
    assert_int_equal(lanes_of(data, "loss=squared-hinge preset=cocoa+ threads=2 rounds=2"), 2);
    assert_int_equal(lanes_of(data, "loss=hinge preset=cocoa+ threads=2 rounds=2"), 1);
    assert_int_equal(lanes_of(data, "loss=hinge preset=cocoa+ threads=2 rounds=2 lanes=2"), 2);
    parley_data_free(data);
}

/* 150,000 non-zeros in 5,000 rows are enough work for two lanes only if a step costs as much as 30 more. */
static void expensive_steps_have_more_lanes(void **state) {
    (void)state;
    parley_data *data = random_data((sample_plan){.seed = 3, .rows = 5000, .columns = 2500, .density = 0.012});
    assert_int_equal(lanes_of(data, "loss=logistic preset=cocoa+ threads=2 rounds=2"), 2);
    assert_int_equal(lanes_of(data, "loss=squared-hinge preset=cocoa+ threads=2 rounds=2"), 1);
    parley_data_free(data);
}

static void strong_penalties_and_standardised_columns_go_to_lbfgs(void **state) {
    (void)state;
    parley_data *tall = random_data((sample_plan){.seed = 3, .rows = 1200, .columns = 900, .density = 0.02}),
                *wide = random_data((sample_plan){.seed = 3, .rows = 600, .columns = 900, .density = 0.02});
    assert_string_equal(chosen(tall, "loss=logistic standardise=true C=100 rounds=2"), "lbfgs");
    assert_string_equal(chosen(wide, "loss=logistic standardise=true C=100 rounds=2"), "cocoa-newton");
    assert_string_equal(chosen(tall, "loss=logistic C=100 rounds=2"), "cocoa-newton");
    assert_string_equal(chosen(tall, "loss=logistic C=1e-4 rounds=2"), "lbfgs");
    parley_data_free(tall);
    parley_data_free(wide);
}

/* The first method may be slow, and the second one does not form the curvature of all classes. */
static void sparse_classes_begin_with_dual_ascent_and_may_end_with_newton(void **state) {
    (void)state;
    parley_data *data =
        class_data((sample_plan){.seed = 5, .rows = 400, .columns = 700, .density = 0.02, .ones = true}, false);
    assert_string_equal(chosen(data, "loss=softmax"), "cocoa-newton");
    assert_string_equal(chosen(data, "loss=logistic"), "cocoa-newton");
    assert_string_equal(chosen(data, "loss=hinge"), "cocoa+");
    assert_string_equal(chosen(data, "loss=softmax l1_ratio=0.5 rounds=2"), "cocoa+");
    parley_data_free(data);
}

/* Many filled columns and classes: L-BFGS, unless columns have different scales. */
static void filled_classes_of_different_scales_go_to_newton(void **state) {
    (void)state;
    parley_data *data = class_data((sample_plan){.seed = 5, .rows = 300, .columns = 250, .density = 0.9}, false);
    assert_string_equal(chosen(data, "loss=softmax"), "lbfgs");
    for (uint64_t e = 0; e < data->x.start[data->x.rows]; e++)
        ((float *)data->x.values.narrow)[e] *= data->x.index[e] % 3 == 0 ? 30.0f : 1.0f;
    assert_string_equal(chosen(data, "loss=softmax"), "newton");
    assert_string_equal(chosen(data, "loss=logistic"), "newton");
    assert_string_equal(chosen(data, "loss=softmax standardise=true rounds=2"), "lbfgs");
    parley_data_free(data);
}

/* Filled data with more columns than rows: dual ascent, unless the curvature is constant. */
static void wide_filled_data_go_to_dual_ascent(void **state) {
    (void)state;
    parley_data *wide = random_data((sample_plan){.seed = 4, .rows = 100, .columns = 400, .density = 0.9});
    assert_string_equal(chosen(wide, "loss=logistic C=1"), "cocoa-newton");
    assert_string_equal(chosen(wide, "loss=squared-hinge C=1"), "cocoa-newton");
    assert_string_equal(chosen(wide, "loss=squared alpha=1"), "newton");
    parley_data_free(wide);
    parley_data *tall = random_data((sample_plan){.seed = 4, .rows = 600, .columns = 400, .density = 0.9});
    assert_string_equal(chosen(tall, "loss=logistic C=1"), "newton");
    parley_data_free(tall);
}

/* Raw counts, of which a few are far above the others: Newton's method, unless the penalty is strong. */
static void heavy_tailed_counts_go_to_newton(void **state) {
    (void)state;
    parley_data *even = random_data((sample_plan){.seed = 6, .rows = 300, .columns = 900, .density = 0.02});
    assert_string_equal(chosen(even, "loss=logistic C=10"), "cocoa-newton");
    parley_data *heavy = random_data((sample_plan){.seed = 6, .rows = 300, .columns = 900, .density = 0.02});
    for (uint64_t e = 0; e < heavy->x.start[heavy->x.rows]; e++)
        ((float *)heavy->x.values.narrow)[e] = e % 11 == 0 ? 20.0f : 1.0f;
    assert_string_equal(chosen(heavy, "loss=logistic C=10"), "newton");
    assert_string_equal(chosen(heavy, "loss=squared-hinge C=1"), "cocoa-newton");
    assert_string_equal(chosen(heavy, "loss=logistic C=1e-2"), "cocoa-newton");
    assert_string_equal(chosen(heavy, "loss=logistic C=10 standardise=true"), "cocoa-newton");
    assert_string_equal(chosen(heavy, "loss=logistic C=10 l1_ratio=0.5"), "cocoa+");
    parley_data_free(heavy);
    parley_data_free(even);
}

/* A shape of a problem, sparse and with an L2 penalty unless it says otherwise, and the row that it must take. */
typedef struct sample_shape {
    const char *row, *loss;
    uint64_t columns, rows; /* 900 x 1000 unless given */
    uint64_t classes;       /* 0: one output */
    double filled;          /* 0: 0.01 */
    double l1_ratio;
    double length;       /* mean |x|^2 / (lambda n); 0: 1 */
    double scales, tail; /* 0: 1 */
    bool no_penalty, non_negative, standardise, path, table;
} sample_shape;

static double or_else(double value, double usual) { return value > 0 ? value : usual; }

/* Makes a problem of this shape without entries, which no decision looks at. */
static const pl_choice *decide(unsigned decision, const sample_shape *as) {
    parley_settings settings = settings_of("");
    uint64_t columns = (uint64_t)or_else((double)as->columns, 900), rows = (uint64_t)or_else((double)as->rows, 1000);
    double entries = (double)columns * or_else(as->filled, 0.01), length = or_else(as->length, 1);
    parley_data data = {.x = {.rows = rows, .columns = columns, .nonzeros = (uint64_t)((double)rows * entries)}};
    pl_table cells = {.columns = columns};
    data.cells = as->table ? &cells : NULL;
    uint64_t classes = as->classes ? as->classes : 1;
    pl_glm glm = {.base = {.type = &pl_problem_linear,
                           .data = &data,
                           .size = columns * classes,
                           .row = classes,
                           .many = as->path},
                  .loss = pl_loss_find(as->loss),
                  .lambda = as->no_penalty ? 0 : NAN,
                  .l1_ratio = as->l1_ratio,
                  .c = NAN,
                  .alpha = NAN,
                  .intercept = PL_NO_INTERCEPT,
                  .standardise = as->standardise,
                  .non_negative = as->non_negative,
                  .least_factor = 1,
                  .classes = classes,
                  .workers = 1};
    glm.centred = (pl_centred){.usual = sqrt(length / entries / or_else(as->tail, 1)),
                               .scales = or_else(as->scales, 1),
                               .mean_square = length};
    pl_linear_settings_in(&settings)->lambda = glm.lambda;
    pl_linear_settings_in(&settings)->l1_ratio = glm.l1_ratio;
    double shape[PL_SHAPE];
    pl_linear_shape(&glm.base, &settings, shape);
    return pl_decide(&pl_linear_decisions[decision], shape);
}

/* Each shape takes its row, and every row has a shape. */
static void assert_rows(unsigned decision, const sample_shape *shapes, unsigned count) {
    const pl_choice *choices = pl_linear_decisions[decision].choices;
    for (unsigned i = 0; i < count; i++)
        assert_string_equal(decide(decision, &shapes[i])->name, shapes[i].row);
    for (bool last = false; !last; choices++) {
        unsigned i = 0;
        while (i < count && strcmp(shapes[i].row, choices->name) != 0)
            i++;
        assert_true(i < count);
        last = choices->when[0].comparison == PL_NO_CONDITION;
    }
}

static void every_row_chooses_a_preset(void **state) {
    (void)state;
    static const sample_shape shapes[] = {
        {"least-squares", "squared", .rows = 2000, .columns = 100, .filled = 0.9},
        {"least-squares-table", "squared", .rows = 2000, .columns = 400, .filled = 1, .table = true},
        {"plain-least-squares-table", "squared", .rows = 2000, .columns = 800, .filled = 1, .no_penalty = true,
         .table = true},
        {"limits-by-columns", "squared", .non_negative = true},
        {"l1-against-rest", "logistic", .classes = 3, .columns = 300, .l1_ratio = 0.5},
        {"l1-softmax", "softmax", .classes = 3, .columns = 40, .l1_ratio = 0.5},
        {"l1-softmax-uneven", "softmax", .classes = 3, .columns = 200, .l1_ratio = 0.5, .scales = 1000},
        {"pure-l1-softmax", "softmax", .classes = 3, .columns = 200, .l1_ratio = 1},
        {"l1-uneven", "squared", .columns = 1500, .l1_ratio = 0.5, .scales = 1000},
        {"l1", "squared", .columns = 300, .l1_ratio = 0.5, .path = true},
        {"l1-filled", "squared", .l1_ratio = 0.5, .filled = 0.5},
        {"limits", "poisson", .non_negative = true},
        {"linear-program-large", "hinge", .columns = 3000, .no_penalty = true},
        {"linear-program", "hinge", .no_penalty = true},
        {"linear-program", "quantile", .l1_ratio = 1},
        {"wide-filled", "logistic", .rows = 300, .filled = 0.5},
        {"against-rest-filled", "logistic", .classes = 3, .columns = 150, .filled = 0.5},
        {"against-rest-uneven", "logistic", .classes = 3, .columns = 150, .scales = 1000},
        {"few-classes", "softmax", .classes = 3, .columns = 50},
        {"softmax-filled", "softmax", .classes = 3, .columns = 150, .filled = 0.5},
        {"softmax-uneven", "softmax", .classes = 3, .columns = 150, .scales = 1000},
        {"many-classes-uneven", "softmax", .classes = 40, .columns = 30, .scales = 1000},
        {"matrix", "logistic", .columns = 100},
        {"filled", "logistic", .rows = 2000, .filled = 0.5},
        {"log-link", "poisson", .columns = 900},
        {"log-link-uneven", "poisson", .columns = 3000, .scales = 1000},
        {"sloping-against-rest", "logistic", .classes = 3, .scales = 1000},
        {"uneven-classes", "softmax", .classes = 3, .scales = 1000},
        {"sloping", "softmax", .classes = 3, .filled = 0.5, .scales = 30},
        {"filled-classes", "softmax", .classes = 3, .filled = 0.5},
        {"mild", "logistic", .length = 0.01},
        {"standardised", "logistic", .standardise = true},
        {"heavy-tails", "logistic", .length = 1000, .tail = 50},
        {"tall", "logistic", .rows = 3000, .length = 100},
        {"dual-newton", "logistic", .columns = 900},
        {"hinge-newton", "hinge", .columns = 900},
        {"dual", "quantile", .columns = 900},
        {"columns", "logistic", .l1_ratio = 1},
        {"columns", "logistic", .columns = 300, .l1_ratio = 1, .path = true},
        {"otherwise", "logistic", .no_penalty = true},
    };
    assert_rows(PL_AUTO_PRESET, shapes, COUNT(shapes));
}

static void every_row_chooses_a_form_of_newton(void **state) {
    (void)state;
    static const sample_shape matrices[] = {
        {"many-classes", "softmax", .classes = 40, .columns = 100},
        {"classes", "softmax", .classes = 3, .columns = 100},
        {"few-columns", "logistic", .columns = 100},
        {"stiff", "logistic", .columns = 300, .length = 100},
        {"hinge-path", "hinge", .columns = 300, .path = true},
        {"hinge-long-rows", "hinge", .columns = 300, .length = 10},
        {"kinks-uneven", "quantile", .columns = 1500, .scales = 1000},
        {"smoothed-filled", "quantile", .columns = 1500, .filled = 0.5},
        {"squared-filled", "squared", .columns = 400, .filled = 0.5, .length = 0.1},
        {"otherwise", "logistic", .columns = 900},
    };
    static const sample_shape forms[] = {
        {"l1", "squared", .l1_ratio = 0.5},        {"smoothed-l1", "quantile", .l1_ratio = 1},
        {"matrix", "logistic", .columns = 100},    {"kinks", "quantile", .columns = 900},
        {"otherwise", "logistic", .columns = 900},
    };
    assert_rows(PL_AUTO_MATRIX, matrices, COUNT(matrices));
    assert_rows(PL_AUTO_COMBINE, forms, COUNT(forms));
}

static void every_row_chooses_a_form_of_coordinate_steps(void **state) {
    (void)state;
    static const sample_shape sides[] = {
        {"limited", "squared", .non_negative = true},           {"mostly-l1", "squared", .l1_ratio = 0.75},
        {"wide", "squared", .rows = 100, .l1_ratio = 0.5},      {"filled", "squared", .filled = 0.5, .l1_ratio = 0.5},
        {"uneven", "squared", .scales = 1000, .l1_ratio = 0.5}, {"otherwise", "squared", .l1_ratio = 0.5},
    };
    static const sample_shape tables[] = {{"one-worker", "squared", .l1_ratio = 0.5},
                                          {"otherwise", "squared", .columns = 900}};
    static const sample_shape rows[] = {{"softmax", "softmax", .classes = 3}, {"otherwise", "logistic", .classes = 3}};
    assert_rows(PL_AUTO_LOCAL, sides, COUNT(sides));
    assert_rows(PL_AUTO_COVARIANCE, tables, COUNT(tables));
    assert_rows(PL_AUTO_PRECONDITIONER, rows, COUNT(rows));
}

/* The summary names each decision that the run followed, and no other. */
static void explanations_name_what_was_decided(void **state) {
    (void)state;
    static const struct {
        const char *words, *decisions[5];
    } runs[] = {
        {"explain=true", {"preset", "matrix", "combine", "lane work"}},
        {"explain=true preset=newton lanes=1", {"matrix", "combine"}},
        {"explain=true preset=newton combine=truncated lanes=1", {"preconditioner"}},
        {"explain=true preset=cocoa+ lanes=1 l1_ratio=0.9", {"local", "covariance"}},
        {"explain=true preset=cocoa+ local=sdca l1_ratio=0.9 lanes=1", {NULL}},
        {"preset=auto", {NULL}},
    };
    parley_data *data = random_data((sample_plan){.seed = 3, .rows = 60, .columns = 5, .density = 0.5});
    for (unsigned i = 0; i < COUNT(runs); i++) {
        outcome found = train_once(data, runs[i].words);
        const parley_summary *summary = &found.summary[0];
        for (unsigned j = 0; j < summary->choices; j++)
            assert_string_equal(summary->choice[j].decision, runs[i].decisions[j]);
        assert_null(runs[i].decisions[summary->choices]);
        free_models(&found);
    }
    outcome found = train_once(data, "explain=true");
    assert_string_equal(found.summary[0].choice[1].choice, "formed");
    assert_non_null(strstr(found.summary[0].choice[1].reason, "however the columns are scaled (5 columns)"));
    free_models(&found);
    parley_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weak_penalties_on_hundreds_of_columns_go_to_newton),
        cmocka_unit_test(weak_penalties_on_tall_data_go_to_newton),
        cmocka_unit_test(strong_penalties_of_hinge_loss_begin_with_dual_ascent),
        cmocka_unit_test(kinked_losses_have_fewer_lanes),
        cmocka_unit_test(expensive_steps_have_more_lanes),
        cmocka_unit_test(strong_penalties_and_standardised_columns_go_to_lbfgs),
        cmocka_unit_test(sparse_classes_begin_with_dual_ascent_and_may_end_with_newton),
        cmocka_unit_test(filled_classes_of_different_scales_go_to_newton),
        cmocka_unit_test(wide_filled_data_go_to_dual_ascent),
        cmocka_unit_test(heavy_tailed_counts_go_to_newton),
        cmocka_unit_test(every_row_chooses_a_preset),
        cmocka_unit_test(every_row_chooses_a_form_of_newton),
        cmocka_unit_test(every_row_chooses_a_form_of_coordinate_steps),
        cmocka_unit_test(explanations_name_what_was_decided),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
