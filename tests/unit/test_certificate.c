/* test_certificate.c: certificates hold: every round's gap bounds the sub-optimality, methods agree on the optimum,
 * optima satisfy their conditions, and data of unusual shapes are fitted. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support.h"
#include "train/presets.h"
#include "train/train.h"

/* A watched run: in every round D is at most `best`, the P of a good model, and the gap bounds the sub-optimality. */
typedef struct watch {
    double best; /* smallest known P, by the definition */
    uint64_t rounds;
    unsigned broken;
    parley_progress first_broken;
    double last_gap;
} watch;

static int watch_round(void *user, const parley_progress *progress, const char *message) {
    watch *watch = user;
    if (message)
        return 0;
    double slack = 1e-10 * (1.0 + fabs(watch->best));
    bool holds = progress->dual <= watch->best + slack && progress->objective - watch->best <= progress->gap + slack &&
                 progress->gap >= 0.0 && progress->gap <= watch->last_gap;
    if (!holds && watch->broken++ == 0)
        watch->first_broken = *progress;
    watch->last_gap = progress->gap;
    watch->rounds++;
    return 0;
}

typedef struct certificate_case {
    const sample_plan *plan;
    const char *problem;  /* loss, penalty, intercept */
    const char *solution; /* how to get close to the optimum */
    const char *methods[9];
} certificate_case;

#define DUAL_METHODS                                                                                                   \
    "preset=cocoa+ workers=1", "preset=cocoa+ workers=5 lanes=2", "preset=cocoa workers=4",                            \
        "preset=cocoa+ workers=7 local_epochs=0.4", "preset=gd workers=3", "preset=minibatch-sgd workers=3"

#define SECOND_ORDER "preset=lbfgs workers=3", "preset=newton combine=truncated workers=2"

static const certificate_case certificate_cases[] = {
    {&small, "loss=logistic lambda=0.01", "preset=newton", {DUAL_METHODS, SECOND_ORDER}},
    {&small, "loss=logistic lambda=0.01 intercept=none", "preset=newton", {DUAL_METHODS, SECOND_ORDER}},
    {&small, "loss=logistic lambda=0.01 intercept=penalised", "preset=newton", {DUAL_METHODS}},
    {&small, "loss=logistic lambda=0.02 l1_ratio=0.5", "preset=cocoa+", {DUAL_METHODS}},
    {&small, "loss=logistic lambda=0.02 l1_ratio=0.5 intercept=penalised", "preset=cocoa+", {DUAL_METHODS}},
    {&small, "loss=hinge lambda=0.05", "preset=cocoa+", {DUAL_METHODS}},
    {&small, "loss=hinge lambda=0.05 intercept=none", "preset=cocoa+", {DUAL_METHODS}},
    {&small, "loss=hinge lambda=0.02 l1_ratio=0.3 intercept=penalised", "preset=cocoa+", {DUAL_METHODS}},
    {&small, "loss=squared-hinge lambda=0.01", "preset=newton", {DUAL_METHODS, SECOND_ORDER}},
    {&small, "loss=squared-hinge lambda=0.02 l1_ratio=0.5 intercept=none", "preset=cocoa+", {DUAL_METHODS}},
    {&real, "loss=squared lambda=0.1", "preset=newton", {DUAL_METHODS}},
    {&real, "loss=squared lambda=0.1 l1_ratio=0.7", "preset=cocoa+", {DUAL_METHODS}},
    {&real, "loss=squared lambda=0.1 intercept=penalised", "preset=newton", {DUAL_METHODS, SECOND_ORDER}},
    {&real, "loss=huber huber_width=0.5 lambda=0.1", "preset=newton", {DUAL_METHODS, SECOND_ORDER}},
    {&real, "loss=huber huber_width=2 lambda=0.1 l1_ratio=0.5 intercept=penalised", "preset=cocoa+", {DUAL_METHODS}},
    {&real, "loss=huber lambda=0.1 intercept=none", "preset=newton", {DUAL_METHODS}},
    {&real, "loss=epsilon-insensitive lambda=0.1", "preset=cocoa+", {DUAL_METHODS}},
    {&real, "loss=epsilon-insensitive lambda=0.1 epsilon=0.5 l1_ratio=0.5", "preset=cocoa+", {DUAL_METHODS}},
    {&real, "loss=epsilon-insensitive lambda=0.1 epsilon=0 intercept=penalised", "preset=cocoa+", {DUAL_METHODS}},
    {&real, "loss=squared-epsilon-insensitive lambda=0.1 epsilon=0.5", "preset=newton", {DUAL_METHODS, SECOND_ORDER}},
    {&real,
     "loss=squared-epsilon-insensitive lambda=0.1 intercept=penalised l1_ratio=0.5",
     "preset=cocoa+",
     {DUAL_METHODS}},
    {&real, "loss=quantile lambda=0.1", "preset=newton", {DUAL_METHODS}},
    {&real, "loss=quantile quantile=0.9 lambda=0.1 l1_ratio=0.5", "preset=cocoa+", {DUAL_METHODS}},
    {&real, "loss=quantile quantile=0.2 lambda=0.1 intercept=none", "preset=cocoa+", {DUAL_METHODS}},
    {&counts, "loss=poisson lambda=0.1", "preset=newton", {DUAL_METHODS, SECOND_ORDER}},
    {&counts, "loss=poisson lambda=0.1 l1_ratio=0.5", "preset=cocoa+", {DUAL_METHODS}},
    {&counts, "loss=poisson lambda=0.1 intercept=penalised", "preset=newton", {DUAL_METHODS}},
    {&counts, "loss=poisson lambda=0.1 l1_ratio=0.2 intercept=none", "preset=cocoa+", {DUAL_METHODS}},
    {&counts,
     "loss=poisson lambda=0.1 l1_ratio=1",
     "preset=gd rounds=20000",
     {"preset=gd workers=3", "preset=lbfgs workers=3"}},
    {&sizes, "loss=gamma lambda=0.1", "preset=newton", {DUAL_METHODS, SECOND_ORDER}},
    {&sizes, "loss=gamma lambda=0.1 l1_ratio=0.5 intercept=penalised", "preset=cocoa+", {DUAL_METHODS}},
    {&sizes, "loss=gamma lambda=0.1 intercept=none", "preset=newton", {DUAL_METHODS}},
    {&counts, "loss=tweedie lambda=0.1", "preset=newton", {DUAL_METHODS, SECOND_ORDER}},
    {&counts, "loss=tweedie power=1.9 lambda=0.1 l1_ratio=0.5", "preset=cocoa+", {DUAL_METHODS}},
    {&counts, "loss=tweedie power=1.1 lambda=0.1 intercept=none", "preset=newton", {DUAL_METHODS}},
    {&wide, "loss=logistic lambda=0.01", "preset=cocoa+", {DUAL_METHODS}},
    {&small, "loss=logistic lambda=0.02 l1_ratio=0.5", "preset=cocoa+", {"preset=lbfgs workers=4"}},
    {&small,
     "loss=logistic lambda=0.02 l1_ratio=1",
     "preset=gd rounds=20000",
     {"preset=gd workers=3", "preset=lbfgs workers=3"}},
    {&real, "loss=squared lambda=0.1 l1_ratio=1", "preset=gd rounds=20000", {"preset=gd workers=3"}},
};

static void watch_method(const parley_data *data, const char *problem, const char *method, double best) {
    static parley_settings settings;
    char words[512];
    snprintf(words, sizeof words, "%s %s rounds=60 gap=0 evaluate_every=1", problem, method);
    settings = settings_of(words);
    watch watch = {.best = best, .last_gap = INFINITY};
    outcome outcome = {.data = data, .settings = &settings, .callback = watch_round, .user = &watch};
    train(&outcome, 1, 1);
    assert_done(outcome.status[0], &outcome.error[0]);
    if (watch.broken)
        print_error("%s: round %llu: objective %.12g, dual %.12g, gap %.12g; the least known is %.12g\n", words,
                    (unsigned long long)watch.first_broken.round, watch.first_broken.objective, watch.first_broken.dual,
                    watch.first_broken.gap, best);
    assert_int_equal(watch.broken, 0);
    assert_true(watch.rounds > 1);
    const pl_loss *loss = pl_linear(outcome.model[0])->loss;
    assert_close(outcome.summary[0].objective, objective_of(data, outcome.model[0], loss, &outcome.summary[0]), 1e-12);
    free_models(&outcome);
}

static void every_rounds_gap_bounds_the_suboptimality(void **state) {
    (void)state;
    for (unsigned c = 0; c < COUNT(certificate_cases); c += SOME) {
        const certificate_case *now = &certificate_cases[c];
        char words[512];
        parley_data *data = random_data(*now->plan);
        snprintf(words, sizeof words, "%s %s gap=1e-8", now->problem, now->solution);
        outcome reference = train_once(data, words);
        const pl_loss *loss = pl_linear(reference.model[0])->loss;
        double best = objective_of(data, reference.model[0], loss, &reference.summary[0]);
        if (reference.summary[0].stop != PARLEY_CONVERGED)
            print_error("%s: %s at relative gap %g after %llu rounds\n", words,
                        parley_stop_text(reference.summary[0].stop), reference.summary[0].relative_gap,
                        (unsigned long long)reference.summary[0].rounds);
        assert_int_equal(reference.summary[0].stop, PARLEY_CONVERGED);
        free_models(&reference);
        for (unsigned m = 0; m < COUNT(now->methods) && now->methods[m]; m++)
            watch_method(data, now->problem, now->methods[m], best);
        parley_data_free(data);
    }
}

static void weighted_certificates_hold(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    double weight[160];
    for (unsigned i = 0; i < 160; i++)
        weight[i] = i % 7 == 0 ? 0.0 : 0.25 * (double)(i % 5 + 1);
    set_weights(data, weight);
    outcome reference = train_once(data, "loss=logistic lambda=0.01 preset=newton gap=1e-10");
    double best = objective_of(data, reference.model[0], &pl_loss_logistic, &reference.summary[0]);
    assert_close(best, reference.summary[0].objective, 1e-12);
    free_models(&reference);
    watch_method(data, "loss=logistic lambda=0.01", "preset=cocoa+ workers=4 lanes=2", best);
    watch_method(data, "loss=logistic lambda=0.01", "preset=gd workers=4", best);
    parley_data_free(data);
}

static void methods_agree_on_the_optimum(void **state) {
    (void)state;
    const char *const methods[] = {
        "preset=newton",          "preset=newton workers=5",         "preset=cocoa+",
        "preset=cocoa workers=2", "preset=cocoa+ workers=6 lanes=2", "preset=gd rounds=100000"};
    parley_data *data = random_data(small);
    double first = 0;
    for (unsigned m = 0; m < COUNT(methods); m++) {
        char words[256];
        snprintf(words, sizeof words, "loss=logistic lambda=0.05 gap=1e-7 %s", methods[m]);
        outcome outcome = train_once(data, words);
        assert_int_equal(outcome.summary[0].stop, PARLEY_CONVERGED);
        first = m == 0 ? outcome.summary[0].objective : first;
        assert_close(outcome.summary[0].objective, first, 2e-7);
        free_models(&outcome);
    }
    parley_data_free(data);
}

/* Slopes of the mean loss by every coefficient, and last by the intercept. */
static void plain_gradient(const parley_data *data, const parley_model *model, const pl_loss *loss, double *gradient) {
    const pl_matrix *x = &data->x;
    memset(gradient, 0, (x->columns + 1) * sizeof *gradient);
    for (uint64_t i = 0; i < x->rows; i++) {
        double slope, curvature, z, y = data->label[i];
        model->type->apply(model, x, i, i + 1, &z);
        loss->expand(loss, z, y, &slope, &curvature);
        slope /= (double)x->rows;
        for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++)
            gradient[x->index[e]] += slope * (pl_value_at(x->values, e));
        gradient[x->columns] += slope;
    }
}

static void without_a_penalty_the_gradient_vanishes(void **state) {
    (void)state;
    parley_data *data = random_data(real);
    const char *const methods[] = {"preset=newton workers=3", "preset=newton combine=truncated", "preset=auto",
                                   "preset=gd rounds=50000", "preset=lbfgs workers=2"};
    for (unsigned m = 0; m < COUNT(methods); m++) {
        char words[128];
        double gradient[64];
        snprintf(words, sizeof words, "loss=squared lambda=0 gap=1e-8 %s", methods[m]);
        outcome outcome = train_once(data, words);
        if (outcome.summary[0].stop != PARLEY_CONVERGED)
            print_error("%s: %s after %llu rounds\n", words, parley_stop_text(outcome.summary[0].stop),
                        (unsigned long long)outcome.summary[0].rounds);
        assert_int_equal(outcome.summary[0].stop, PARLEY_CONVERGED);
        assert_true(isnan(outcome.summary[0].gap) && isnan(outcome.summary[0].dual));
        plain_gradient(data, outcome.model[0], pl_loss_find("squared"), gradient);
        for (uint64_t j = 0; j <= data->x.columns; j++)
            assert_close(gradient[j], 0.0, 1e-6);
        free_models(&outcome);
    }
    parley_data_free(data);
}

static void elastic_nets_satisfy_their_conditions_and_have_zeros(void **state) {
    (void)state;
    parley_data *data = random_data(real);
    const char *const methods[] = {"preset=cocoa+ workers=3 l1_ratio=0.8", "preset=gd rounds=50000 l1_ratio=0.8",
                                   "preset=gd rounds=50000 l1_ratio=1", "preset=lbfgs workers=2 l1_ratio=0.8",
                                   "preset=lbfgs workers=2 l1_ratio=1"};
    for (unsigned m = 0; m < COUNT(methods); m++) {
        char words[128];
        double gradient[64];
        unsigned zeros = 0;
        snprintf(words, sizeof words, "loss=squared lambda=0.4 gap=1e-9 %s", methods[m]);
        outcome outcome = train_once(data, words);
        double ratio = parley_summary_fact(&outcome.summary[0], "l1_ratio")->number, l1 = 0.4 * ratio,
               l2 = 0.4 * (1 - ratio);
        plain_gradient(data, outcome.model[0], pl_loss_find("squared"), gradient);
        assert_close(gradient[data->x.columns], 0.0, 1e-4);
        for (uint64_t j = 0; j < data->x.columns; j++) {
            double w = parley_model_coef(outcome.model[0])[j];
            zeros += w == 0.0;
            if (w == 0.0)
                assert_at_most(fabs(gradient[j]), l1 + 1e-3);
            else
                assert_close(gradient[j] + l2 * w + copysign(l1, w), 0.0, 1e-3);
        }
        assert_true(zeros > 0 && zeros < data->x.columns);
        free_models(&outcome);
    }
    parley_data_free(data);
}

static void rows_of_weight_0_count_as_dropped_and_of_2_as_twice(void **state) {
    (void)state;
    const char *const methods[] = {"preset=newton loss=logistic", "preset=cocoa+ loss=logistic workers=3",
                                   "preset=cocoa+ loss=hinge", "preset=cocoa+ loss=squared-hinge workers=2",
                                   "preset=cocoa loss=squared workers=2"};
    parley_data *weighted = data_of("1 1:1 2:0.5\n-1 1:-1\n1 2:2\n-1 1:0.3 2:-1\n1 1:9 2:-9\n-1 2:0.1\n1\n-1 1:4\n");
    parley_data *repeated = data_of("1 1:1 2:0.5\n-1 1:-1\n-1 1:-1\n1 2:2\n-1 1:0.3 2:-1\n-1 2:0.1\n1\n");
    const double weight[] = {1, 2, 1, 1, 0, 1, 1, 0};
    set_weights(weighted, weight);
    for (unsigned m = 0; m < COUNT(methods); m++) {
        char words[128];
        snprintf(words, sizeof words, "lambda=0.1 gap=1e-10 %s", methods[m]);
        outcome a = train_once(weighted, words), b = train_once(repeated, words);
        assert_close(a.summary[0].objective, b.summary[0].objective, 1e-9);
        for (unsigned j = 0; j < 2; j++)
            assert_close(parley_model_coef(a.model[0])[j], parley_model_coef(b.model[0])[j], 1e-4);
        free_models(&a);
        free_models(&b);
    }
    parley_data_free(weighted);
    parley_data_free(repeated);
}

/* First-order methods would take too long for a test. */
static bool converges_fast(const pl_preset *preset) {
    return preset->local != &pl_local_sgd && preset->combine != &pl_combine_step &&
           strcmp(preset->name, "minibatch-cd") != 0;
}

/* Runs every preset on data of an unusual shape. The model is finite, and its certificate, if there is one, holds. */
static void train_all(const char *text, const char *words) {
    parley_data *data = data_of(text);
    for (unsigned p = 0; p < linear_presets(); p += SOME)
        for (unsigned i = 0; i < 3 && !pl_presets[p].stream; i++) {
            static const char *const intercepts[] = {"free", "penalised", "none"};
            char all[256];
            const char *loss = loss_of_preset(&pl_presets[p]);
            if (*loss && strstr(words, "loss="))
                continue;
            unsigned rounds = pl_presets[p].exchange->async ? 10 : 300; /* each has many clocks, with messages */
            snprintf(all, sizeof all, "preset=%s intercept=%s rounds=%u gap=1e-6 %s%s", pl_presets[p].name,
                     intercepts[i], rounds, words, loss);
            outcome outcome = train_once(data, all);
            const parley_summary *summary = &outcome.summary[0];
            const parley_model *model = outcome.model[0];
            for (uint64_t j = 0; j < model->columns; j++)
                assert_true(isfinite(parley_model_coef(model)[j]));
            assert_true(isfinite(parley_model_intercept(model)[0]));
            assert_close(summary->objective, objective_of(data, model, pl_linear(model)->loss, summary), 1e-9);
            assert_true(summary->gap >= 0.0 && summary->relative_gap >= 0.0);
            if (converges_fast(&pl_presets[p]) && summary->stop != PARLEY_CONVERGED)
                print_error("%s: %s, %s at relative gap %g\n", text, all, parley_stop_text(summary->stop),
                            summary->relative_gap);
            if (converges_fast(&pl_presets[p]))
                assert_int_equal(summary->stop, PARLEY_CONVERGED);
            free_models(&outcome);
        }
    parley_data_free(data);
}

static void one_row_can_be_fitted(void **state) {
    (void)state;
    train_all("2.5 1:1 3:-2\n", "loss=squared");
    train_all("2.5 1:1 3:-2\n", "loss=squared lambda=0.01");
    train_all("2.5 1:1 3:-2\n", "loss=huber huber_width=0.1");
    train_all("7 1:1 3:-2\n", "loss=poisson");
    train_all("7 1:1 3:-2\n", "loss=gamma");
    train_all("7 1:1 3:-2\n", "loss=tweedie");
}

static void one_column_can_be_fitted(void **state) {
    (void)state;
    train_all("1 1:1\n-1 1:-1\n1 1:2\n-1 1:0.5\n", "loss=logistic workers=2");
    train_all("1 1:1\n2 1:2\n2.5 1:3\n", "loss=squared workers=3");
}

static void no_columns_can_be_fitted(void **state) {
    (void)state;
    train_all("1\n-1\n1\n1\n", "loss=logistic");
    train_all("1\n-1\n1.5\n1\n", "loss=squared workers=2");
    train_all("1\n-1\n1.5\n1\n", "loss=huber workers=2");
    train_all("1\n0\n3\n1\n", "loss=poisson workers=2");
    train_all("1\n0\n3\n1\n", "loss=tweedie workers=2");
}

static void empty_rows_and_columns_can_be_fitted(void **state) {
    (void)state;
    const char *text = "1 2:1 9:2\n-1\n1\n-1 5:1\n-1 2:-1\n1 9:0.5\n1 5:-2\n-1\n";
    train_all(text, "loss=logistic workers=3");
    train_all(text, "loss=squared");
    train_all(text, "loss=huber huber_width=0.5");
    train_all("1 2:1 9:2\n0\n4\n0 5:1\n2 2:-1\n1 9:0.5\n1 5:-2\n9\n", "loss=poisson workers=3");
    train_all("1 2:1 9:2\n0\n4\n0 5:1\n2 2:-1\n1 9:0.5\n1 5:-2\n9\n", "loss=tweedie workers=3");
    train_all("1 2:1 9:2\n0.1\n4\n3 5:1\n2 2:-1\n1 9:0.5\n1 5:-2\n9\n", "loss=gamma workers=3");
    train_all(text, "loss=squared-hinge workers=8");
}

static void labels_that_are_all_equal_can_be_fitted_by_squares(void **state) {
    (void)state;
    train_all("3 1:1\n3 2:1\n3 1:2 2:-1\n", "loss=squared");
    train_all("0 1:1\n0 2:1\n0 1:2 2:-1\n", "loss=squared workers=2");
    train_all("3 1:1\n3 2:1\n3 1:2 2:-1\n", "loss=huber");
    train_all("3 1:1\n3 2:1\n3 1:2 2:-1\n", "loss=poisson");
}

static void separable_and_unscaled_data_can_be_fitted(void **state) {
    (void)state;
    train_all("1 1:1000 2:0.001\n-1 1:-1000 2:0.002\n1 1:900\n-1 1:-1100 2:-0.001\n", "loss=logistic");
    train_all("1 1:1\n-1 1:-1\n", "loss=logistic lambda=1e-6");
}

static void hinge_can_be_fitted_on_odd_data(void **state) {
    (void)state;
    const char *const texts[] = {"1 1:1\n-1 1:-1\n", "1 2:1 9:2\n-1\n1\n-1 5:1\n-1 2:-1\n1 9:0.5\n1 5:-2\n-1\n",
                                 "1\n-1\n1\n", "1 1:1\n-1 1:1\n"};
    for (unsigned i = 0; i < COUNT(texts); i++)
        for (unsigned kind = 0; kind < 3; kind++) {
            char words[128];
            snprintf(words, sizeof words, "loss=hinge gap=1e-5 intercept=%s",
                     kind == 0   ? "free"
                     : kind == 1 ? "penalised"
                                 : "none");
            parley_data *data = data_of(texts[i]);
            outcome outcome = train_once(data, words);
            if (outcome.summary[0].stop != PARLEY_CONVERGED)
                print_error("%s%s: %s at relative gap %g\n", texts[i], words, parley_stop_text(outcome.summary[0].stop),
                            outcome.summary[0].relative_gap);
            assert_int_equal(outcome.summary[0].stop, PARLEY_CONVERGED);
            free_models(&outcome);
            parley_data_free(data);
        }
}

static void kinked_regressions_can_be_fitted_on_odd_data(void **state) {
    (void)state;
    const char *const losses[] = {"epsilon-insensitive", "quantile", "quantile quantile=0.95"};
    const char *const texts[] = {"1 1:1\n-1 1:-1\n", "1 2:1 9:2\n-1\n1\n-1 5:1\n7 2:-1\n1 9:0.5\n1 5:-2\n-1\n",
                                 "1\n-1\n1\n", "3 1:1\n3 1:2\n", "100000 1:1\n-50000 1:2\n3 2:1\n70000 2:5\n"};
    const char *const kinds[] = {"free", "penalised", "none"};
    for (unsigned i = 0; i < COUNT(texts); i++)
        for (unsigned n = 0; n < COUNT(kinds) * COUNT(losses); n += SOME) {
            char words[128];
            snprintf(words, sizeof words, "loss=%s gap=1e-5 intercept=%s", losses[n / COUNT(kinds)],
                     kinds[n % COUNT(kinds)]);
            parley_data *data = data_of(texts[i]);
            outcome outcome = train_once(data, words);
            if (outcome.summary[0].stop != PARLEY_CONVERGED)
                print_error("%s%s: %s at relative gap %g\n", texts[i], words, parley_stop_text(outcome.summary[0].stop),
                            outcome.summary[0].relative_gap);
            assert_int_equal(outcome.summary[0].stop, PARLEY_CONVERGED);
            free_models(&outcome);
            parley_data_free(data);
        }
}

/* Labels that depend on small columns beside a large one, which dual ascent on hinge loss cannot cope with. */
static parley_data *stalling_data(void) {
    static char text[300 * 100];
    size_t used = 0;
    for (unsigned i = 0; i < 300; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%d 1:%u 2:%u 3:%u 4:0.0%u\n",
                                 (i * 31u % 7u + i % 2) % 3 ? 1 : -1, 1000 * ((i * 7919u + 13u) % 1009u), i % 2,
                                 i / 2 % 2, i * 31u % 7u);
    return data_of(text);
}

/* A run that stalls names a change that was tried, and one that a limit ends names one that the rules accept. */
static void runs_that_end_early_suggest_what_may_help(void **state) {
    (void)state;
    const struct {
        const char *words;
        parley_stop stop;
        const char *suggestion;
        bool tried;
    } cases[] = {{"loss=hinge preset=cocoa+", PARLEY_STALLED, "--preset auto", true},
                 {"loss=hinge", PARLEY_CONVERGED, NULL, false},
                 {"loss=logistic rounds=2 gap=1e-9", PARLEY_ROUNDS, "more --rounds", false},
                 {"loss=logistic preset=gd rounds=20", PARLEY_ROUNDS, "--preset auto", false},
                 {"loss=logistic preset=cocoa+ rounds=200", PARLEY_ROUNDS, "--preset auto", false},
                 {"loss=hinge l1_ratio=0.5 rounds=150", PARLEY_CONVERGED, NULL, false},
                 {"loss=hinge l1_ratio=0.5 local=sdca rounds=150", PARLEY_ROUNDS, "--standardise", false},
                 {"loss=logistic preset=gd lambda=0 rounds=120 gap=1e-12", PARLEY_ROUNDS,
                  "a small --lambda, such as 1e-6", false},
                 {"loss=logistic", PARLEY_CONVERGED, NULL, false},
                 {"loss=logistic rounds=2 gap=0", PARLEY_ROUNDS, NULL, false}};
    parley_data *data = stalling_data();
    for (unsigned c = 0; c < COUNT(cases); c += SOME) {
        outcome done = train_once(data, cases[c].words);
        const parley_summary *summary = &done.summary[0];
        const char *found = summary->suggestion;
        bool right =
            found && cases[c].suggestion ? strcmp(found, cases[c].suggestion) == 0 : found == cases[c].suggestion;
        if (!right || summary->stop != cases[c].stop || summary->suggestion_tried != cases[c].tried)
            fail_msg("%s: %s, suggestion %s, tried %d", cases[c].words, parley_stop_text(summary->stop),
                     found ? found : "none", summary->suggestion_tried);
        free_models(&done);
    }
    parley_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rounds_gap_bounds_the_suboptimality),
        cmocka_unit_test(weighted_certificates_hold),
        cmocka_unit_test(methods_agree_on_the_optimum),
        cmocka_unit_test(without_a_penalty_the_gradient_vanishes),
        cmocka_unit_test(elastic_nets_satisfy_their_conditions_and_have_zeros),
        cmocka_unit_test(rows_of_weight_0_count_as_dropped_and_of_2_as_twice),
        cmocka_unit_test(one_row_can_be_fitted),
        cmocka_unit_test(one_column_can_be_fitted),
        cmocka_unit_test(no_columns_can_be_fitted),
        cmocka_unit_test(empty_rows_and_columns_can_be_fitted),
        cmocka_unit_test(labels_that_are_all_equal_can_be_fitted_by_squares),
        cmocka_unit_test(separable_and_unscaled_data_can_be_fitted),
        cmocka_unit_test(hinge_can_be_fitted_on_odd_data),
        cmocka_unit_test(kinked_regressions_can_be_fitted_on_odd_data),
        cmocka_unit_test(runs_that_end_early_suggest_what_may_help),
    };
    return cmocka_run_group_tests_name("certificate", tests, NULL, NULL);
}
