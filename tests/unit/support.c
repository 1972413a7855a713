/* support.c: see support.h. */
#define _POSIX_C_SOURCE 200809L /* open_memstream, strtok_r, mkdtemp */
#include "support.h"

#include "train/presets.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/random.h"
#include "data/read.h"
#include "engine/collective.h"
#include "linear/path/linear_path.h"

void check_close(double a, double b, double tolerance, const char *file, int line) {
    if (fabs(a - b) <= tolerance * (1.0 + fabs(b)))
        return;
    print_error("%.17g is not %.17g, within %g\n", a, b, tolerance);
    _fail(file, line);
}

void check_at_most(double a, double b, const char *file, int line) {
    if (a <= b)
        return;
    print_error("%.17g is not at most %.17g\n", a, b);
    _fail(file, line);
}

void check_done(parley_status status, const parley_error *error, const char *file, int line) {
    if (status == PARLEY_OK)
        return;
    print_error("%s: %s\n", parley_status_text(status), error->sentence);
    _fail(file, line);
}

parley_data *data_of(const char *text) {
    pl_pool *pool;
    parley_data *data;
    parley_error error = {0};
    assert_done(pl_pool_open(&pool, 1, &error), &error);
    assert_done(pl_data_parse(text, strlen(text), "sample", pool, 0, &data, &error), &error);
    pl_pool_close(pool);
    return data;
}

static void put_row(FILE *file, pl_stream *stream, const sample_plan *plan, const double *truth) {
    char features[1 << 15];
    size_t used = 0;
    double z = 0;
    features[0] = '\0';
    for (uint64_t j = 0; j < plan->columns; j++)
        if (pl_random_unit(stream) < plan->density) {
            double value = plan->ones ? 1.0 : pl_random_normal(stream);
            z += value * truth[j];
            assert_true(used + 40 < sizeof features);
            used += (size_t)snprintf(features + used, sizeof features - used, " %llu:%.9g", (unsigned long long)j + 1,
                                     value);
        }
    z += 0.5 * pl_random_normal(stream);
    fprintf(file, "%.9g%s\n",
            plan->counts  ? floor(exp(0.7 * z + 1.0))
            : plan->sizes ? exp(0.7 * z + 1.0)
            : plan->real  ? z
            : z > 0.2     ? 1.0
                          : -1.0,
            features);
}

parley_data *random_data(sample_plan plan) {
    char *text;
    size_t bytes;
    double *truth = calloc(plan.columns + 1, sizeof *truth);
    FILE *file = open_memstream(&text, &bytes);
    assert_true(file && truth);
    pl_stream stream = pl_stream_make(plan.seed, 77, 0);
    for (uint64_t j = 0; j < plan.columns; j++)
        truth[j] = pl_random_normal(&stream);
    for (uint64_t i = 0; i < plan.rows; i++)
        put_row(file, &stream, &plan, truth);
    assert_int_equal(fclose(file), 0);
    parley_data *data = data_of(text);
    free(text);
    free(truth);
    return data;
}

parley_data *table_data(unsigned classes) {
    enum { ROWS = 700, NUMBERS = 1 + TABLE_CITIES + TABLE_JOBS };
    char *text = malloc(ROWS * 128), *p = text;
    assert_non_null(text);
    for (unsigned i = 0; i < ROWS; i++) {
        pl_stream stream = pl_stream_make(9, i, 1);
        unsigned city = (unsigned)pl_random_below(&stream, TABLE_CITIES);
        unsigned job = (unsigned)pl_random_below(&stream, TABLE_JOBS);
        double x = pl_random_normal(&stream), y = pl_random_unit(&stream), z = pl_random_normal(&stream);
        double score = x + 2 * y + 0.3 * (city % 3) + 0.2 * (job % 4) + pl_random_normal(&stream);
        unsigned label = score < 0.6 ? 0 : score < 1.8 || classes == 2 ? 1 : 2;
        p += sprintf(p, "%u %u:1 %u:1 %u:%.6f %u:%.3f %u:%.9f\n", label, 1 + city, 1 + TABLE_CITIES + job, NUMBERS, x,
                     NUMBERS + 1, 30000 * y, NUMBERS + 2, 0.001 * z);
    }
    parley_data *data = data_of(text);
    free(text);
    return data;
}

void set_weights(parley_data *data, const double *weight) {
    pl_span *span = &data->spans[2];
    assert_true(pl_span_reserve(span, data->x.rows * sizeof *weight));
    memcpy(span->data, weight, data->x.rows * sizeof *weight);
    data->weight = span->data;
}

const double class_labels[CLASS_LABELS] = {-1.0, 2.0, 3.0, 7.0};

parley_data *class_data(sample_plan plan, bool weighted) {
    plan.real = true;
    parley_data *data = random_data(plan);
    double *label = (double *)data->label, *weight = calloc(plan.rows, sizeof *weight);
    assert_non_null(weight);
    for (uint64_t i = 0; i < plan.rows; i++) {
        label[i] = class_labels[label[i] < -0.8 ? 0 : label[i] < 0.3 ? 1 : label[i] < 1.0 ? 2 : 3];
        weight[i] = (double)(i % 4) * 0.5;
    }
    if (weighted)
        set_weights(data, weight);
    free(weight);
    return data;
}

team_problem open_problem_on(parley_data *data, const parley_settings *settings) {
    team_problem problem = {.data = data};
    parley_error error = {0};
    assert_done(pl_threads_open(&problem.engine, 1, 2, DEADLINE, &error), &error);
    assert_done(pl_glm_open(&problem.glm, problem.engine, data, settings, &error), &error);
    assert_done(pl_team_open(&problem.team, problem.engine, data, 3, 2, 1, &error), &error);
    assert_done(pl_glm_measure(&problem.glm, &problem.team, &error), &error);
    return problem;
}

void close_problem(team_problem *problem) {
    pl_team_close(&problem->team);
    pl_glm_close(&problem->glm);
    pl_engine_close(problem->engine);
    parley_data_free(problem->data);
}

double loss_of_classes(const pl_loss *loss, const double *z, unsigned y) {
    double sum = 0, most = z[0], slope, curvature;
    for (unsigned c = 1; c < CLASS_LABELS; c++)
        most = fmax(most, z[c]);
    for (unsigned c = 0; c < CLASS_LABELS; c++)
        sum += loss->together ? exp(z[c] - most) : loss->expand(loss, z[c], c == y ? 1.0 : -1.0, &slope, &curvature);
    return loss->together ? log(sum) + most - z[y] : sum;
}

static double target_of(const parley_data *data, const pl_loss *loss, uint64_t i) {
    double high = data->label[0];
    for (uint64_t k = 1; k < data->x.rows; k++)
        high = fmax(high, data->label[k]);
    return loss->labels == PL_LABELS_REAL ? data->label[i] : data->label[i] == high ? 1.0 : -1.0;
}

double objective_of(const parley_data *data, const parley_model *model, const pl_loss *loss, const parley_summary *at) {
    const double *coef = parley_model_coef(model), b = parley_model_intercept(model)[0];
    double sum = 0, total = 0,
           penalised = strcmp(parley_summary_fact(at, "intercept")->text, "penalised") == 0 ? b : 0.0, slope, curvature;
    for (uint64_t i = 0; i < data->x.rows; i++) {
        double weight = data->weight ? data->weight[i] : 1.0, z = b;
        for (uint64_t e = data->x.start[i]; e < data->x.start[i + 1]; e++)
            z += (pl_value_at(data->x.values, e)) * coef[data->x.index[e]];
        sum += weight * loss->expand(loss, z, target_of(data, loss, i), &slope, &curvature);
        total += weight;
    }
    double l1 = fabs(penalised), l2 = penalised * penalised;
    double lambda = parley_summary_fact(at, "lambda")->number, ratio = parley_summary_fact(at, "l1_ratio")->number;
    for (uint64_t j = 0; j < data->x.columns; j++) {
        l1 += fabs(coef[j]);
        l2 += coef[j] * coef[j];
    }
    return sum / total + lambda * (ratio * l1 + (1.0 - ratio) * 0.5 * l2);
}

/* Texts of settings that tests copy by value. They live as long as the program. */
typedef struct kept {
    struct kept *next;
    pl_texts *texts;
} kept;

static kept *kept_texts;
static pthread_mutex_t kept_mutex = PTHREAD_MUTEX_INITIALIZER;

void set_setting(parley_settings *settings, const char *name, const char *value) {
    parley_error error = {0};
    kept *added = malloc(sizeof *added);
    assert_non_null(added);
    assert_done(pl_setting_set(settings, 0, name, value, &error), &error);
    pthread_mutex_lock(&kept_mutex); /* ranks are threads */
    *added = (kept){kept_texts, settings->texts};
    kept_texts = added;
    pthread_mutex_unlock(&kept_mutex);
}

parley_settings settings_of(const char *words) {
    parley_settings settings;
    pl_settings_defaults(&settings);
    char copy[1024];
    snprintf(copy, sizeof copy, "%s", words);
    for (char *rest = copy, *word; (word = strtok_r(rest, " ", &rest));) {
        char *value = strchr(word, '=');
        assert_non_null(value);
        *value++ = '\0';
        set_setting(&settings, word, value);
    }
    return settings;
}

typedef struct rank_call {
    pl_body body;
    void *context;
    parley_status *status;
    parley_error *error;
} rank_call;

static parley_status call_body(pl_engine *engine, void *context, parley_error *error) {
    const rank_call *call = context;
    return call->body(engine, call->context, error);
}

static void note_end(pl_engine *engine, void *context, const parley_error *failure) {
    const rank_call *call = context;
    call->error[engine->rank] = failure ? *failure : (parley_error){0};
    call->status[engine->rank] = call->error[engine->rank].status;
}

bool ranks_share_memory;

void run_ranks(unsigned ranks, unsigned threads, double deadline, pl_body body, void *context, parley_status *status,
               parley_error *error) {
    parley_settings settings;
    pl_settings_defaults(&settings);
    settings.threads = threads;
    settings.deadline = deadline;
    settings.between_ranks = ranks_share_memory ? PL_BY_MEMORY : PL_BY_MESSAGES;
    rank_call call = {body, context, status, error};
    parley_error failure = {0};
    assert_true(ranks <= MOST_RANKS);
    for (unsigned r = 0; r < ranks; r++) {
        status[r] = PARLEY_BROKEN; /* until the rank has ended */
        error[r] = (parley_error){0};
    }
    parley_status ended = pl_threads_launch(&settings, ranks, &(pl_job){call_body, note_end, &call}, &failure);
    for (unsigned r = 0; r < ranks; r++)
        if (status[r] != error[r].status) /* it was never started */
            assert_done(ended, &failure);
}

const sample_plan small = {.seed = 5, .rows = 160, .columns = 12, .density = 0.3};
const sample_plan wide = {.seed = 6, .rows = 150, .columns = 9000, .density = 0.001};
const sample_plan real = {.seed = 7, .rows = 160, .columns = 12, .density = 0.3, .real = true};
const sample_plan counts = {.seed = 8, .rows = 160, .columns = 12, .density = 0.3, .counts = true};
const sample_plan sizes = {.seed = 8, .rows = 160, .columns = 12, .density = 0.3, .sizes = true};

static parley_status train_body(pl_engine *engine, void *context, parley_error *error) {
    outcome *outcome = context;
    unsigned r = engine->rank;
    return pl_train_rank(engine, outcome->data, outcome->settings, r + 1 == engine->ranks ? outcome->callback : NULL,
                         outcome->user, &outcome->model[r], &outcome->summary[r], error);
}

void train(outcome *outcome, unsigned ranks, unsigned threads) {
    memset(outcome->model, 0, sizeof outcome->model);
    run_ranks(ranks, threads, DEADLINE, train_body, outcome, outcome->status, outcome->error);
}

void free_models(outcome *outcome) {
    for (unsigned r = 0; r < MOST_RANKS; r++) {
        parley_model_free(outcome->model[r]);
        outcome->model[r] = NULL;
    }
}

outcome train_once(const parley_data *data, const char *words) {
    static parley_settings settings;
    settings = settings_of(words);
    outcome outcome = {.data = data, .settings = &settings};
    train(&outcome, 1, 1);
    if (outcome.status[0] != PARLEY_OK)
        print_error("%s:\n", words);
    assert_done(outcome.status[0], &outcome.error[0]);
    return outcome;
}

void assert_survives_lost_memory(const parley_data *data, const char *words) {
    parley_settings settings = settings_of(words);
    parley_status status = PARLEY_NO_MEMORY;
    int64_t n = 0;
    for (; status != PARLEY_OK && n < 2000; n += n < 20 ? 1 : SOME * SOME) {
        parley_error error = {0};
        parley_model *model = (parley_model *)&error;
        pl_memory_fail_after(n);
        status = parley_train(data, &settings, NULL, NULL, &model, NULL, &error);
        pl_memory_fail_after(-1);
        if (status == PARLEY_OK) {
            parley_model_free(model);
            continue;
        }
        assert_int_equal(status, PARLEY_NO_MEMORY);
        assert_int_equal(error.status, PARLEY_NO_MEMORY);
        assert_non_null(strstr(error.sentence, "out of memory: "));
        assert_null(model);
    }
    assert_int_equal(status, PARLEY_OK);
    assert_true(n > 30);
}

static unsigned nodes_of(unsigned workers, unsigned ranks, unsigned begin, unsigned end) {
    pl_node nodes[PL_TREE_NODES];
    return pl_tree_nodes(workers, pl_host_begin(workers, ranks, begin), pl_host_begin(workers, ranks, end), nodes);
}

uint64_t dense_bytes(const pl_exchange_type *exchange, unsigned workers, unsigned ranks, unsigned rank, uint64_t size) {
    uint64_t begin, end, others = ranks - 1;
    pl_exchange_slice(&(pl_owners_of_v){ranks, 0, exchange->one_owner}, size, rank, &begin, &end);
    if (!exchange->one_owner)
        return 8 * (nodes_of(workers, ranks, rank, rank + 1) * (size - (end - begin)) + others * (end - begin));
    unsigned children = 0, last = rank + 1; /* of the branch of the binomial tree */
    for (unsigned bit = 1; rank + bit < ranks && !(rank & bit); bit *= 2, children++)
        last = rank + 2 * bit < ranks ? rank + 2 * bit : ranks;
    return 8 * size * ((rank ? nodes_of(workers, ranks, rank, last) : 0) + children);
}

unsigned linear_presets(void) {
    unsigned count = 0;
    while (count < pl_presets_count && pl_fits(pl_presets[count].problem, &pl_problem_linear))
        count++;
    return count;
}

const char *loss_of_preset(const pl_preset *preset) {
    return preset->local && (preset->local->needs & PL_FACT_QUADRATIC) ? " loss=squared" : "";
}

void assert_same_on_ranks(const parley_data *data, const parley_settings *settings, unsigned most, assert_same same) {
    outcome one = {.data = data, .settings = settings};
    train(&one, 1, 1);
    assert_done(one.status[0], &one.error[0]);
    for (unsigned form = 1; form < 2 * most; form++) { /* several threads on one rank, then both ways to exchange */
        unsigned ranks = 1 + form / 2;
        ranks_share_memory = form % 2;
        outcome many = {.data = data, .settings = settings};
        train(&many, ranks, 1 + form % 2);
        for (unsigned r = 0; r < ranks; r++) {
            assert_done(many.status[r], &many.error[r]);
            same(many.model[r], one.model[0]);
            assert_true(many.summary[r].objective == one.summary[0].objective);
        }
        free_models(&many);
    }
    ranks_share_memory = false;
    free_models(&one);
}

void assert_resumes(const parley_data *data, const char *words, const char *folder, assert_same same) {
    char all[512];
    const char *rest_words = strchr(words, ' ');
    snprintf(all, sizeof all, "%s rounds=9", words);
    outcome whole = train_once(data, all);
    snprintf(all, sizeof all, "%s rounds=4 checkpoint=%s", words, folder);
    outcome part = train_once(data, all);
    snprintf(all, sizeof all, "%.*s rounds=9 resume=%s", (int)(rest_words - words), words, folder);
    outcome rest = train_once(data, all);
    same(rest.model[0], whole.model[0]);
    assert_int_equal(rest.summary[0].rounds, 9);
    assert_true(rest.summary[0].objective == whole.summary[0].objective);
    free_models(&whole);
    free_models(&part);
    free_models(&rest);
}

char test_folder[] = "/tmp/parley-test-XXXXXX", model_path[sizeof test_folder + 20];

int make_test_folder(void **state) {
    (void)state;
    if (!mkdtemp(test_folder))
        return -1;
    snprintf(model_path, sizeof model_path, "%s/model.safetensors", test_folder);
    return 0;
}

int remove_test_folder(void **state) {
    (void)state;
    unlink(model_path);
    return rmdir(test_folder);
}

void remove_checkpoint(const char *folder) {
    char command[160];
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

double *path_values(const parley_path_result *path) {
    uint64_t size = path->outputs * path->columns;
    double *values = calloc(path->count * size, sizeof *values);
    assert_non_null(values);
    for (uint64_t k = 0; k < path->count; k++)
        pl_kept_copy(&path->coef[k], 0, size, values + k * size);
    return values;
}
