/* test_method.c: names, combinations and options that cannot work are rejected, each with its sentence. */
#include <stdio.h>
#include <string.h>

#include "support.h"
#include "train/presets.h"
#include "train/train.h"

/* An expected sentence that ends in ... is only the beginning. */
static void assert_sentence(const char *sentence, const char *expected) {
    size_t length = strlen(expected);
    char begin[512];
    if (length > 3 && strcmp(expected + length - 3, "...") == 0) {
        snprintf(begin, sizeof begin, "%.*s...", (int)length - 3, sentence);
        sentence = begin;
    }
    assert_string_equal(sentence, expected);
}

static const struct {
    const char *words, *sentence;
} refusals[] = {
    {"preset=nonsense", "--preset nonsense: unknown name; choose one of auto, cocoa, cocoa+, "
                        "cocoa-newton, cocoa-lbfgs, minibatch-cd, gd,..."},
    {"preset=cocoa*", "--preset cocoa*: unknown name; did you mean cocoa? (choose one of auto, cocoa, cocoa+,..."},
    {"loss=hing", "--loss hing: unknown name; did you mean hinge? (choose one of squared, logistic, hinge,..."},
    {"local=sdac", "--local sdac: unknown name; did you mean sdca? (choose one of sdca, scd, gradient..."},
    {"combine=ad", "--combine ad: unknown name; did you mean add? (choose one of add, average, step, newton..."},
    {"exchange=mail", "--exchange mail: unknown name; choose one of allreduce, driver..."},
    {"engine=diesel", "--engine diesel: unknown name; choose one of threads..."},
    {"preset=gd local=sdca", "combine step needs gradients, which local solver sdca does not compute; use --preset "
                             "cocoa+, or --local gradient"},
    {"preset=cocoa combine=newton", "combine newton needs gradients, which local solver sdca does not compute; use "
                                    "--preset newton, or --preset lbfgs"},
    {"preset=cocoa+ local=gradient", "combine add needs changes by coordinate steps, which local solver gradient does "
                                     "not compute; use --local sdca, or --preset newton"},
    {"preset=gd combine=average", "combine average needs changes by coordinate steps, which local solver gradient does "
                                  "not compute; use --local sdca, or --preset cocoa+"},
    {"preset=cocoa+ local=sdca l1_ratio=1",
     "local solver sdca needs an L2 penalty, and --l1-ratio 1 leaves none; use --l1-ratio 0.99, or --local scd"},
    {"preset=cocoa+ loss=hinge l1_ratio=1",
     "local solver sdca needs an L2 penalty, and --l1-ratio 1 leaves none; use --l1-ratio 0.99, or --preset gd"},
    {"preset=cocoa+ local=scd loss=hinge", "local solver scd needs a smooth loss of bounded curvature, and hinge is "
                                           "not; use --loss squared-hinge, or --local sdca"},
    {"preset=cocoa local=scd loss=hinge l1_ratio=1", "local solver scd needs a smooth loss of bounded curvature, and "
                                                     "hinge is not; use --loss squared-hinge, or --local sgd"},
    {"preset=cocoa+ local=scd lambda=0",
     "local solver scd needs a penalty, and --lambda 0 leaves none; use a small --lambda"},
    {"preset=gd local=scd",
     "combine step needs gradients, which local solver scd does not compute; use --preset cocoa+, or --local gradient"},
    {"preset=cocoa lambda=0",
     "local solver sdca needs an L2 penalty, and --lambda 0 leaves none; use a small --lambda, or --preset newton"},
    {"epsilon=0.5", "--epsilon has no effect with --loss auto; it is a parameter of --loss epsilon-insensitive"},
    {"loss=squared huber_width=2",
     "--huber-width has no effect with --loss squared; it is a parameter of --loss huber"},
    {"preset=gd loss=huber epsilon=2",
     "--epsilon has no effect with --loss huber; it is a parameter of --loss epsilon-insensitive"},
    {"preset=cocoa+ loss=poisson l1_ratio=1",
     "local solver sdca needs an L2 penalty, and --l1-ratio 1 leaves none; use --l1-ratio 0.99, or --preset newton"},
    {"preset=newton batch_fraction=0.5", "combine newton needs all rows in every round; leave out --batch-fraction; "
                                         "use --preset gd, or --batch-fraction 1"},
    {"preset=lbfgs loss=hinge",
     "combine lbfgs needs a smooth loss, and hinge is not; use --loss squared-hinge, or --preset cocoa+"},
    {"preset=newton combine=truncated l1_ratio=0.1", "combine truncated needs a problem without L1 penalty, and "
                                                     "--l1-ratio adds one; use --l1-ratio 0, or --combine step"},
    {"preset=hybrid combine=add",
     "combine add needs changes by coordinate steps, which local solver sgd does not compute; use --preset cocoa+"},
    {"preset=lbfgs loss=epsilon-insensitive",
     "combine lbfgs needs a smooth loss, and epsilon-insensitive is not; use --loss huber, or --preset newton"},
    {"preset=hybrid local=sgd",
     "preset hybrid consists of two methods, so that one --local or --combine cannot apply to both; leave them out"},
    {"preset=hybrid loss=hinge",
     "combine lbfgs needs a smooth loss, and hinge is not; use --preset cocoa+, or --preset gd"},
    {"preset=hybrid batch_fraction=0.5",
     "combine lbfgs needs all rows in every round; leave out --batch-fraction; use --preset gd"},
    {"preset=gd history=5", "--history has no effect with gradient x step; only --combine lbfgs reads it"},
    {"preset=gd local_epochs=2",
     "--local-epochs has no effect with gradient x step; only --local sdca or --local scd or --local sgd reads it"},
    {"preset=gd local_steps=2",
     "--local-steps has no effect with gradient x step; only --local sdca or --local scd or --local sgd reads it"},
    {"preset=cocoa+ rate=0.1",
     "--rate has no effect with sdca x add; only --local sgd or --combine step or --preset online reads it"},
    {"local=online", "--local online: unknown name; choose one of sdca, scd, gradient, products, sgd"},
    {"preset=online local=sgd", "--local has no effect with --preset online; leave it out"},
    {"preset=online loss=softmax", "--preset online supports at most two classes; use --preset gd"},
    {"preset=online checkpoint=state",
     "--checkpoint has no effect with --preset online, which has no rounds; its model can be continued with --start"},
    {"preset=gd lambda=0.1 C=1", "--lambda and --C both set the strength of the penalty; give only one of them"},
    {"preset=gd lambda=0 l1_ratio=0.5", "--l1-ratio has no effect with --lambda 0; leave one of them out"},
    {"preset=gd resume=state replay=run.jsonl",
     "--resume continues a run and --replay repeats one; leave one of them out"},
    {"preset=gd checkpoint_every=5r", "--checkpoint-every has no effect without --checkpoint"},
    {"preset=gd metric=auc", "--metric has no effect without --validation or --validation-fraction"},
    {"preset=online gap=0.1", "--gap has no effect with --preset online; leave it out"},
    {"preset=online workers=2", "--workers has no effect with --preset online; leave it out"},
    {"preset=online standardise=true",
     "--standardise needs a pass over all rows in advance, but a stream is read once; leave it out, since the rates of "
     "--preset online do not depend on the units of columns, or use --preset ma-sgd"},
    {"preset=online schedule=inverse", "--preset online supports only --schedule normalised or adagrad"},
    {"preset=gd schedule=adagrad",
     "combine step has one rate for all columns; use --schedule constant, inverse or inverse-sqrt, or --local sgd"},
    {"preset=ma-sgd average_iterates=true l1_ratio=0.5",
     "--average-iterates takes no L1 penalty; leave one of them out"},
    {"preset=ma-sgd average_iterates=true schedule=normalised",
     "--average-iterates takes no adaptive schedule; leave one of them out"},
    {"preset=splash schedule=adagrad", "--reweight takes no adaptive schedule; leave one of them out"},
    {"preset=hogwild schedule=adagrad",
     "exchange shared takes no adaptive schedule; use --schedule constant, or --preset ma-sgd"},
    {"preset=cocoa exchange=shared", "exchange shared needs workers that step in one shared model, which local solver "
                                     "sdca cannot do; use --exchange allreduce"},
    {"preset=newton schedule=inverse",
     "--schedule has no effect with gradient x newton; only --local sgd or --combine step or --preset online reads it"},
    {"preset=cocoa batch_fraction=0.5",
     "--batch-fraction has no effect with sdca x average; only --local gradient reads "
     "it"},
    {"preset=cocoa validation=a.svm validation_fraction=0.2",
     "--validation and --validation-fraction both choose the validation rows; give only one of them"},
    {"preset=cocoa workers=2 worker_per=core", "--worker-per has no effect with --workers; leave one of them out"},
    {"preset=gd evaluate_every=3",
     "--evaluate-every has no effect with gradient x step, which evaluates every round anyway"},
    {"preset=hogwild average_iterates=true",
     "--average-iterates takes no exchange shared, which has no iterates of one worker; leave one of them out"},
    {"preset=hogwild reweight=true",
     "--reweight takes no exchange shared, whose workers have no shards to weigh; leave one of them out"},
    {"preset=cocoa local_steps=2 local_epochs=2", "--local-steps and --local-epochs both set H; give only one of them"},
};

static void every_refused_combination_has_its_sentence(void **state) {
    (void)state;
    parley_data *data = random_data(small);
    for (unsigned i = 0; i < COUNT(refusals); i++) {
        parley_settings settings = settings_of(refusals[i].words);
        parley_error error = {0};
        parley_model *model = (parley_model *)&error;
        assert_int_equal(pl_train_check(&settings, &error), PARLEY_BAD_USAGE);
        assert_sentence(error.sentence, refusals[i].sentence);
        memset(&error, 0, sizeof error);
        assert_int_equal(parley_train(data, &settings, NULL, NULL, &model, NULL, &error), PARLEY_BAD_USAGE);
        assert_sentence(error.sentence, refusals[i].sentence);
        assert_null(model);
    }
    parley_data_free(data);
}

static void what_only_the_data_tell_is_refused_then(void **state) {
    (void)state;
    const struct {
        const char *words, *sentence;
        parley_status status;
    } cases[] = {
        {"workers=161", "--workers 161: there are only 160 rows to distribute", PARLEY_BAD_USAGE},
        {"rate=0.1",
         "--rate has no effect with gradient x newton (chosen by auto); only --local sgd or --combine step or --preset "
         "online reads it",
         PARLEY_BAD_USAGE},
    };
    parley_data *data = random_data(small);
    for (unsigned i = 0; i < COUNT(cases); i++) {
        parley_settings settings = settings_of(cases[i].words);
        parley_error error = {0};
        parley_model *model;
        assert_done(pl_train_check(&settings, &error), &error);
        for (unsigned ranks = 1; ranks <= 3; ranks++) {
            outcome outcome = {.data = data, .settings = &settings};
            train(&outcome, ranks, 1);
            for (unsigned r = 0; r < ranks; r++) {
                assert_int_equal(outcome.status[r], cases[i].status);
                assert_string_equal(outcome.error[r].sentence, cases[i].sentence);
                assert_null(outcome.model[r]);
            }
        }
        assert_int_equal(parley_train(data, &settings, NULL, NULL, &model, NULL, NULL), cases[i].status);
    }
    parley_data_free(data);
}

static void every_preset_passes_the_check_before_data_are_read(void **state) {
    (void)state;
    for (unsigned p = 0; p < linear_presets(); p++) {
        char words[64];
        parley_error error = {0};
        snprintf(words, sizeof words, "preset=%s", pl_presets[p].name);
        parley_settings settings = settings_of(words);
        assert_done(pl_train_check(&settings, &error), &error);
    }
}

/* Without a preset the members are combined with the exchange of the preset that is nearest to them. */
static void members_can_be_named_without_a_preset(void **state) {
    (void)state;
    const char *const good[] = {"gradient step",     "gradient newton", "gradient truncated",
                                "gradient proximal", "gradient lbfgs",  "sdca add",
                                "sdca average",      "scd add",         "scd average",
                                "sgd average",       "sgd sum",         "products exact"};
    parley_data *data = random_data(small);
    for (unsigned l = 0; l < pl_locals_count; l++)
        for (unsigned c = 0; c < pl_combines_count; c++) {
            char words[96], pair[64];
            bool fits = false;
            const char *local = pl_locals[l]->name, *combine = pl_combines[c]->name;
            if (pl_locals[l]->problem != &pl_problem_linear)
                continue;
            snprintf(pair, sizeof pair, "%s %s", local, combine);
            snprintf(words, sizeof words, "local=%s combine=%s rounds=2%s", local, combine,
                     pl_locals[l]->needs & PL_FACT_QUADRATIC ? " loss=squared" : "");
            for (unsigned i = 0; i < COUNT(good); i++)
                fits |= strcmp(good[i], pair) == 0;
            if (fits) {
                outcome run = train_once(data, words);
                assert_string_equal(run.summary[0].local, local);
                assert_string_equal(run.summary[0].combine, combine);
                free_models(&run);
                continue;
            }
            parley_settings settings = settings_of(words);
            parley_model *model;
            parley_error error = {0};
            assert_int_equal(parley_train(data, &settings, NULL, NULL, &model, NULL, &error), PARLEY_BAD_USAGE);
            snprintf(words, sizeof words, "combine %s needs ", combine);
            assert_non_null(strstr(error.sentence, words));
        }
    parley_data_free(data);
}

static void newton_takes_the_form_that_the_shape_asks_for(void **state) {
    (void)state;
    parley_data *few = random_data(small), *many = random_data(wide);
    outcome a = train_once(few, "preset=newton rounds=1"), b = train_once(many, "preset=newton rounds=1"),
            c = train_once(many, "combine=newton rounds=1"), d = train_once(few, "combine=truncated rounds=1"),
            e = train_once(few, "preset=newton l1_ratio=0.5 rounds=1"),
            f = train_once(few, "preset=newton loss=hinge l1_ratio=0.5 rounds=1"),
            g = train_once(few, "preset=newton loss=hinge l1_ratio=1 rounds=1");
    assert_string_equal(a.summary[0].combine, "newton");
    assert_string_equal(b.summary[0].combine, "truncated");
    assert_string_equal(c.summary[0].combine, "truncated");
    assert_string_equal(d.summary[0].combine, "truncated");
    assert_string_equal(e.summary[0].combine, "proximal");
    assert_string_equal(f.summary[0].combine, "proximal");
    assert_string_equal(g.summary[0].combine, "newton");
    free_models(&a);
    free_models(&b);
    free_models(&c);
    free_models(&d);
    free_models(&e);
    free_models(&f);
    free_models(&g);
    parley_data_free(few);
    parley_data_free(many);
}

static void lists_name_every_member(void **state) {
    (void)state;
    for (unsigned k = 0; pl_list_kinds[k]; k++) {
        pl_entry entries[PL_ENTRIES];
        unsigned count = pl_list(pl_list_kinds[k], entries);
        assert_true(count > 0 && count <= PL_ENTRIES);
        for (unsigned i = 0; i < count; i++)
            assert_true(entries[i].name && *entries[i].name && entries[i].help && *entries[i].help);
    }
    assert_int_equal(pl_list("colours", (pl_entry[PL_ENTRIES]){{0}}), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_refused_combination_has_its_sentence),
        cmocka_unit_test(what_only_the_data_tell_is_refused_then),
        cmocka_unit_test(every_preset_passes_the_check_before_data_are_read),
        cmocka_unit_test(members_can_be_named_without_a_preset),
        cmocka_unit_test(newton_takes_the_form_that_the_shape_asks_for),
        cmocka_unit_test(lists_name_every_member),
    };
    return cmocka_run_group_tests_name("method", tests, NULL, NULL);
}
