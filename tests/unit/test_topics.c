/* test_topics.c: topic models in the core: bits, memory, resumed and warm runs, batch EM, learnt priors. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "support.h"
#include "topics/lda.h"
#include "topics/topic_kernel.h"

#define TOPICS 5
#define WORDS 60
#define DOCUMENTS 90

/* Documents of one or two topics, each of which has every TOPICS-th word. */
static parley_data *corpus(uint64_t seed, uint64_t documents) {
    static uint64_t start[1000];
    static uint32_t index[1000 * WORDS];
    static float value[1000 * WORDS];
    parley_data *data;
    parley_error error;
    pl_stream stream = pl_stream_make(seed, 0, 0);
    uint64_t entries = 0;
    for (uint64_t d = 0; d < documents; d++) {
        float count[WORDS] = {0};
        uint64_t topics[2] = {pl_random_below(&stream, TOPICS), pl_random_below(&stream, TOPICS)};
        uint64_t tokens = d % 30 == 29 ? 0 : 20 + pl_random_below(&stream, 40); /* some have no words */
        for (uint64_t i = 0; i < tokens; i++)
            count[pl_random_below(&stream, WORDS / TOPICS) * TOPICS + topics[pl_random_below(&stream, 2)]]++;
        start[d] = entries;
        for (uint32_t w = 0; w < WORDS; w++)
            if (count[w] > 0) {
                index[entries] = w;
                value[entries++] = count[w];
            }
    }
    start[documents] = entries;
    assert_done(parley_data_from_csr(documents, WORDS, start, PARLEY_INT64, index, PARLEY_INT32, value, PARLEY_FLOAT32,
                                     NULL, NULL, 1, &data, &error),
                &error);
    return data;
}

static const char *const methods[] = {
    "preset=ma-lda",
    "preset=mllib-ma-lda topic_inference=variational",
    "preset=angel-svi batch=20",
    "preset=mllib-lda batch=30 topic_alpha=auto",
    "preset=ma-lda batch=10 topic_alpha=auto eta=auto local_epochs=0.5",
    "preset=angel-svi batch=all topic_inference=variational",
    "preset=angel-lda burn_in=3",
    "preset=angel-lda sampler=sparse topic_alpha=auto eta=auto",
    "preset=angel-lda local_epochs=0.34 burn_in=2",
    "preset=angel-lda local_epochs=2 sampler=sparse",
};

static void assert_same_topics(const parley_model *a, const parley_model *b) {
    const pl_lda_model *x = pl_lda_model_of(a), *y = pl_lda_model_of(b);
    assert_memory_equal(x->lambda, y->lambda, x->topics * x->words * sizeof *x->lambda);
    assert_memory_equal(x->alpha, y->alpha, x->topics * sizeof *x->alpha);
    assert_true(x->eta == y->eta);
}

static void bits_do_not_depend_on_ranks_and_threads(void **state) {
    (void)state;
    parley_data *data = corpus(1, DOCUMENTS);
    for (unsigned m = 0; m < COUNT(methods); m += SOME)
        for (unsigned lanes = 1; lanes < 3; lanes++) {
            static parley_settings settings;
            char words[200];
            snprintf(words, sizeof words, "problem=lda topics=%d %s workers=4 lanes=%u rounds=7 seed=%u", TOPICS,
                     methods[m], lanes, m + 1);
            settings = settings_of(words);
            assert_same_on_ranks(data, &settings, 4, assert_same_topics);
        }
    parley_data_free(data);
}

/* Each topic of the generated documents is found: its words have nearly all of the weight of one topic. */
static void topics_of_generated_documents_are_found(void **state) {
    (void)state;
    parley_data *data = corpus(3, 400);
    for (unsigned m = 0; m < COUNT(methods); m++) {
        char words[200];
        snprintf(words, sizeof words, "problem=lda topics=%d %s passes=200 workers=1 seed=3", TOPICS, methods[m]);
        outcome outcome = train_once(data, words);
        const pl_lda_model *model = pl_lda_model_of(outcome.model[0]);
        double pure = 0;
        for (uint64_t k = 0; k < TOPICS; k++) {
            double weight[TOPICS] = {0}, most = 0;
            for (uint64_t w = 0; w < WORDS; w++)
                weight[w % TOPICS] += (double)model->lambda[k * WORDS + w];
            for (unsigned i = 0; i < TOPICS; i++)
                most = fmax(most, weight[i]);
            pure += most / model->total[k] / TOPICS;
        }
        assert_true(pure > 0.8);
        assert_true(outcome.summary[0].objective < log(WORDS / TOPICS * 2.0) + 0.3);
        free_models(&outcome);
    }
    parley_data_free(data);
}

static void a_resumed_run_ends_at_the_same_bits(void **state) {
    (void)state;
    parley_data *data = corpus(4, DOCUMENTS);
    for (unsigned m = 0; m < COUNT(methods); m++) {
        char words[512], checkpoint[64];
        snprintf(words, sizeof words, "problem=lda topics=%d %s workers=3", TOPICS, methods[m]);
        snprintf(checkpoint, sizeof checkpoint, "%s/%u", test_folder, m);
        assert_resumes(data, words, checkpoint, assert_same_topics);
        snprintf(words, sizeof words, "problem=lda rounds=2 workers=2 resume=%s", checkpoint);
        outcome other = train_once(data, words); /* with other workers it begins at the topics */
        assert_int_equal(other.summary[0].rounds, 2);
        free_models(&other);
        remove_checkpoint(checkpoint);
    }
    parley_data_free(data);
}

static void a_warm_start_goes_on_with_the_rates_of_its_model(void **state) {
    (void)state;
    parley_data *data = corpus(5, DOCUMENTS);
    parley_error error;
    char words[200];
    outcome first = train_once(data, "problem=lda topics=5 rounds=3"),
            whole = train_once(data, "problem=lda topics=5 rounds=5");
    assert_done(parley_model_save(first.model[0], model_path, &error), &error);
    snprintf(words, sizeof words, "problem=lda topics=5 start=%s rounds=2", model_path);
    outcome rest = train_once(data, words);
    const pl_lda_model *a = pl_lda_model_of(rest.model[0]), *b = pl_lda_model_of(whole.model[0]);
    assert_true(a->steps == b->steps);
    for (uint64_t i = 0; i < TOPICS * WORDS; i++) /* the file has single precision */
        assert_close((double)a->lambda[i], (double)b->lambda[i], 1e-3);
    free_models(&first);
    free_models(&whole);
    free_models(&rest);
    parley_data_free(data);
}

static void runs_without_a_limit_make_ten_passes(void **state) {
    (void)state;
    parley_data *data = corpus(6, DOCUMENTS);
    outcome outcome = train_once(data, "problem=lda topics=5");
    assert_int_equal(outcome.summary[0].stop, PARLEY_PASSED);
    assert_close(outcome.summary[0].epochs, 10.0, 1e-9);
    free_models(&outcome);
    outcome = train_once(data, "problem=lda topics=5 validation_fraction=0.3 patience=2 passes=200 kappa=0");
    assert_int_equal(outcome.summary[0].stop, PARLEY_PATIENCE);
    assert_string_equal(outcome.summary[0].metric, "completion");
    free_models(&outcome);
    parley_data_free(data);
}

/* Expected counts of all words, so that batch EM leaves each word's tokens where they are. */
static void batch_em_keeps_the_tokens(void **state) {
    (void)state;
    parley_data *data = corpus(7, DOCUMENTS);
    outcome outcome = train_once(data, "problem=lda topics=5 batch=all passes=3 topic_inference=variational");
    const pl_lda_model *model = pl_lda_model_of(outcome.model[0]);
    for (uint64_t w = 0; w < WORDS; w++) {
        double sum = 0, tokens = 0;
        for (uint64_t k = 0; k < TOPICS; k++)
            sum += (double)model->lambda[k * WORDS + w] - model->eta;
        for (uint64_t e = 0; e < data->x.nonzeros; e++)
            tokens += data->x.index[e] == w ? (double)data->x.values.narrow[e] : 0.0;
        assert_close(sum, tokens, 1e-3);
    }
    free_models(&outcome);
    parley_data_free(data);
}

static const char *const paces[] = {"staleness=0 clocks=2", "staleness=2", "staleness=async local_epochs=0.1",
                                    "staleness=3 local_epochs=0.5 sampler=sparse", "staleness=async clocks=3"};

/* Workers at their own pace lose no token: at every park the counts of a word are its tokens, and topics are found. */
static void workers_at_their_own_pace_keep_the_tokens(void **state) {
    (void)state;
    parley_data *data = corpus(10, 300);
    for (unsigned p = 0; p < COUNT(paces); p++)
        for (unsigned ranks = 1; ranks < 4; ranks += 2) {
            static parley_settings settings;
            char words[200];
            snprintf(words, sizeof words, "problem=lda topics=%d preset=angel-lda %s workers=3 lanes=%u passes=60",
                     TOPICS, paces[p], 1 + p % 2);
            settings = settings_of(words);
            pl_topic_settings_in(&settings)->burn_in = 60; /* the model is the last sample */
            outcome outcome = {.data = data, .settings = &settings};
            train(&outcome, ranks, 1 + ranks % 2);
            for (unsigned r = 0; r < ranks; r++)
                assert_done(outcome.status[r], &outcome.error[r]);
            const pl_lda_model *model = pl_lda_model_of(outcome.model[0]);
            for (uint64_t w = 0; w < WORDS; w++) {
                double sum = 0, tokens = 0;
                for (uint64_t k = 0; k < TOPICS; k++)
                    sum += (double)model->lambda[k * WORDS + w] - model->eta;
                for (uint64_t e = 0; e < data->x.nonzeros; e++)
                    tokens += data->x.index[e] == w ? (double)data->x.values.narrow[e] : 0.0;
                assert_close(sum, tokens, 1e-5);
            }
            assert_true(outcome.summary[0].objective < log(WORDS / TOPICS * 2.0) + 0.3);
            free_models(&outcome);
        }
    parley_data_free(data);
}

static void special_functions_are_right(void **state) {
    (void)state;
    /* scipy.special 1.17: digamma and polygamma(1, x) */
    static const double at[][3] = {{0.01, -100.56088545786867, 10001.621213528313},
                                   {0.5, -1.9635100260214235, 4.934802200544679},
                                   {1.0, -0.5772156649015329, 1.6449340668482264},
                                   {7.3, 1.917820335637986, 0.14679576813142703},
                                   {1000.0, 6.907255195648812, 0.0010005001666666333}};
    for (unsigned i = 0; i < COUNT(at); i++) {
        assert_close(pl_psi(at[i][0]), at[i][1], 1e-12);
        assert_close(pl_psi_slope(at[i][0]), at[i][2], 1e-12);
        double row = at[i][0];
        float factor[16] = {1}, out[16];
        pl_topic_row(&row, 1, 1.0, 0.0, true, factor, out);
        double expected = exp(fmax(at[i][1], -55.4)); /* smaller ones are raised to 2^-80 times the series */
        assert_true(at[i][0] < 0.02 ? out[0] > 0 : fabs((double)out[0] - expected) < 2e-6 * expected);
    }
}

/* The kernel, which drops topics, against plain iterations. */
static void the_kernel_finds_what_plain_iterations_find(void **state) {
    (void)state;
    enum { K = 37, W = 50, N = 23 };
    pl_stream stream = pl_stream_make(8, 0, 0);
    uint64_t stride = pl_topic_stride(K);
    static float table[W * 48], alpha[48], count[N], stats[W * 48];
    uint32_t word[N];
    for (unsigned psi = 0; psi < 2; psi++)
        for (unsigned round = 0; round < 50; round++) {
            double gamma[K], tokens = 0;
            pl_topic_room room;
            parley_error error;
            memset(stats, 0, sizeof stats);
            for (unsigned i = 0; i < W * stride; i++)
                table[i] = i % stride < K ? (float)pow(pl_random_unit(&stream), 8) + 1e-6F : 0.0F;
            for (unsigned k = 0; k < K; k++)
                alpha[k] = 0.1F;
            for (unsigned i = 0; i < N; i++) {
                word[i] = i * 2;
                count[i] = 1.0F + (float)pl_random_below(&stream, 5);
                tokens += (double)count[i];
            }
            pl_topic_rule rule = {K, stride, alpha, psi, 300, 1e-4F};
            pl_topic_document document = {word, count, 1.0F, N};
            assert_done(pl_topic_room_open(&room, K, N, &error), &error);
            pl_topic_infer(&rule, table, &document, &room);
            pl_topic_scatter(&rule, &document, &room, stats);
            for (unsigned k = 0; k < K; k++)
                gamma[k] = 0.1 + tokens / K;
            for (unsigned step = 0; step < 300; step++) {
                double e[K], sums[K] = {0};
                for (unsigned k = 0; k < K; k++)
                    e[k] = psi ? exp(pl_psi(gamma[k])) : gamma[k];
                for (unsigned i = 0; i < N; i++) {
                    double s = 0;
                    for (unsigned k = 0; k < K; k++)
                        s += e[k] * (double)table[word[i] * stride + k];
                    for (unsigned k = 0; k < K; k++)
                        sums[k] += (double)count[i] * (double)table[word[i] * stride + k] / s;
                }
                for (unsigned k = 0; k < K; k++)
                    gamma[k] = 0.1 + e[k] * sums[k];
            }
            double apart = 0, sum = 0;
            for (unsigned a = 0; a < room.active; a++) {
                apart += fabs((double)room.gamma[a] - gamma[room.topic[a]]);
                gamma[room.topic[a]] = 0.1;
            }
            for (unsigned k = 0; k < K; k++)
                apart += gamma[k] - 0.1;
            assert_at_most(apart, 0.05 * tokens);
            for (unsigned i = 0; i < W * stride; i++)
                sum += (double)stats[i];
            assert_close(sum, tokens, 1e-4);
            pl_topic_room_close(&room);
        }
}

static void every_failed_allocation_has_its_sentence(void **state) {
    (void)state;
    parley_data *data = corpus(9, 30);
    assert_survives_lost_memory(data, "problem=lda topics=5 workers=2 rounds=2 validation_fraction=0.2");
    assert_survives_lost_memory(data, "problem=lda topics=5 preset=angel-svi workers=2 rounds=2 topic_alpha=auto");
    assert_survives_lost_memory(data, "problem=lda topics=5 preset=angel-lda workers=2 rounds=3 burn_in=1");
    assert_survives_lost_memory(data, "problem=lda topics=5 preset=angel-lda staleness=1 workers=2 rounds=2");
    parley_data_free(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(special_functions_are_right),
        cmocka_unit_test(the_kernel_finds_what_plain_iterations_find),
        cmocka_unit_test(bits_do_not_depend_on_ranks_and_threads),
        cmocka_unit_test(topics_of_generated_documents_are_found),
        cmocka_unit_test(a_resumed_run_ends_at_the_same_bits),
        cmocka_unit_test(a_warm_start_goes_on_with_the_rates_of_its_model),
        cmocka_unit_test(runs_without_a_limit_make_ten_passes),
        cmocka_unit_test(batch_em_keeps_the_tokens),
        cmocka_unit_test(workers_at_their_own_pace_keep_the_tokens),
        cmocka_unit_test(every_failed_allocation_has_its_sentence),
    };
    return cmocka_run_group_tests_name("topics", tests, make_test_folder, remove_test_folder);
}
