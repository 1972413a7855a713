/* lda.c: topic models as a problem: what the corpus is, where topics begin, and how v becomes a model. The objective is
 * the negative log likelihood per word that svi and gibbs estimate while they visit documents. */
#include "topics/lda.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "shard/row_sums.h"
#include "topics/topic_kernel.h"

#define FIRST_STREAM 0x746f7069u /* apart from the streams of workers */
#define SPREAD 0.1               /* standard deviation of the first topics, relative to their mean */
#define WORDS_PER_TASK 256
#define LEAST_ETA 1e-5
#define LARGEST_COUNT 16777216.0F /* 2^24 */

const pl_lda *pl_lda_of(const pl_problem *problem) { return (const pl_lda *)problem; }

/* Rules */

static parley_status check(parley_settings *settings, parley_error *error) {
    const char *batch = settings->batch;
    char *end;
    if (!pl_setting_given(settings, "tolerance"))
        settings->tolerance = 0; /* the objective of a pass is noisy */
    if (strcmp(batch, "auto") == 0 || strcmp(batch, "all") == 0)
        return PARLEY_OK;
    uint64_t documents = strtoull(batch, &end, 10);
    if (*batch < '0' || *batch > '9' || *end || documents == 0)
        return pl_fail(error, PARLEY_BAD_USAGE, "--batch %.40s: give a number of documents, all or auto", batch);
    return PARLEY_OK;
}

static const pl_choice preset_choices[] = {
    {"usual", "ma-lda", {{0}}, "shards that learn on their own and are averaged need the fewest exchanges"},
};
static const pl_decision decisions[] = {
    {"preset", "which preset `auto` stands for", .setting = "preset", .choices = preset_choices},
    {0},
};

static unsigned facts(const pl_problem *problem, const parley_settings *settings) {
    (void)problem, (void)settings;
    return PL_FACT_NO_L1;
}

static void why(const pl_problem *problem, const parley_settings *settings, unsigned fact, char *text, size_t size) {
    (void)problem, (void)settings, (void)fact;
    snprintf(text, size, "topic models have none");
}

static const pl_problem_rules rules = {.check = check, .decisions = decisions, .facts = facts, .why = why};

/* The corpus */

/* Counts must be whole and positive, but programs may give weights of words instead. */
static parley_status check_counts(const parley_data *data, parley_error *error) {
    const pl_matrix *x = &data->x;
    pl_range all = {0, x->rows};
    pl_part part = {.ranges = &all, .count = 1};
    for (pl_walk rows = pl_walk_entries(data); !pl_are_ones(x->values) && pl_walk_on(&part, &rows);)
        for (uint64_t i = rows.begin; i < rows.end; i++)
            for (uint64_t e = x->start[i]; e < x->start[i + 1]; e++) {
                double count = pl_value_at(x->values, e);
                if (data->from_arrays ? count >= 0 : count > 0 && count == floor(count) && count < LARGEST_COUNT)
                    continue;
                return pl_fail(error, PARLEY_BAD_INPUT,
                               "%s: document %llu has word %llu %g times; counts must be whole and positive",
                               data->path, (unsigned long long)pl_whole_row(data, i) + 1,
                               (unsigned long long)x->index[e] + 1, count);
            }
    return PARLEY_OK;
}

static parley_status open_lda(pl_engine *engine, const parley_data *data, const parley_settings *settings,
                              pl_problem **out, parley_error *error) {
    pl_lda *lda;
    uint64_t words = data->x.columns, topics = pl_topic_settings_of(settings)->topics;
    (void)engine;
    *out = NULL;
    parley_status status = check_counts(data, error);
    if (status != PARLEY_OK)
        return status;
    if (topics > words && !data->from_arrays)
        return pl_fail(error, PARLEY_BAD_USAGE, "--topics %llu: the corpus has only %llu different words",
                       (unsigned long long)topics, (unsigned long long)words);
    status = pl_take(&lda, 1, sizeof *lda, "the problem", error);
    if (status != PARLEY_OK)
        return status;
    *lda = (pl_lda){.base = {.type = &pl_problem_lda,
                             .data = data,
                             .size = (words + PL_LDA_ROWS) * topics,
                             .row = topics,
                             .facts = PL_FACT_NO_L1},
                    .words = words,
                    .topics = topics,
                    .learns_alpha = isnan(pl_topic_settings_of(settings)->topic_alpha),
                    .learns_eta = isnan(pl_topic_settings_of(settings)->eta),
                    .variational = pl_topic_settings_of(settings)->topic_inference == PL_VARIATIONAL,
                    .corpus = pl_topic_settings_of(settings)->documents,
                    .seed = settings->seed};
    lda->alpha = lda->learns_alpha ? 0.1 : pl_topic_settings_of(settings)->topic_alpha;
    lda->eta = lda->learns_eta ? 0.01 : pl_topic_settings_of(settings)->eta;
    status = pl_narrow(data, &lda->counts, error);
    lda->base.data = pl_is_wide(data) ? &lda->counts.data : data;
    if (status == PARLEY_OK)
        *out = &lda->base;
    else
        pl_free(lda);
    return status;
}

static parley_status move(pl_problem *problem, const parley_data *data, parley_error *error) {
    (void)error;
    problem->data = data;
    return PARLEY_OK;
}

static double weight_of(const parley_data *data, uint64_t i) { return data->weight ? data->weight[i] : 1.0; }

static void count_row(const void *context, uint64_t i, double *sums) {
    const parley_data *data = context;
    double tokens = 0;
    for (uint64_t e = data->x.start[i]; e < data->x.start[i + 1]; e++)
        tokens += pl_value_at(data->x.values, e);
    sums[0] += weight_of(data, i);
    sums[1] += tokens * weight_of(data, i);
    sums[2] += 1.0;
}

static void count_words(const void *context, const pl_part *part, double *sums) {
    const parley_data *data = context;
    for (pl_walk rows = pl_walk_entries(data); pl_walk_on(part, &rows);)
        for (uint64_t i = rows.begin; i < rows.end; i++)
            for (uint64_t e = data->x.start[i]; e < data->x.start[i + 1]; e++)
                sums[data->x.index[e]] += weight_of(data, i) * pl_value_at(data->x.values, e);
}

static parley_status measure(pl_problem *problem, const pl_team *team, parley_error *error) {
    pl_lda *lda = (pl_lda *)problem;
    double sums[3];
    parley_status status = pl_total_entries(team, problem->data, count_row, problem->data, 3, sums, error);
    if (status != PARLEY_OK)
        return status;
    problem->total = sums[0];
    lda->tokens = sums[1];
    lda->documents = sums[2];
    lda->growth = isnan(lda->corpus) ? 1.0 : lda->corpus / lda->documents;
    if (!(lda->tokens > 0))
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: no document has a word%s", problem->data->path,
                       problem->data->weight ? " and a positive weight" : "");
    pl_free(lda->frequency);
    status = pl_take(&lda->frequency, lda->words, sizeof *lda->frequency, "the frequencies of words", error);
    if (status == PARLEY_OK)
        status = pl_sum_tables(team, lda->words, count_words, problem->data, lda->frequency, error);
    lda->entropy = 0;
    for (uint64_t w = 0; w < lda->words && status == PARLEY_OK; w++) {
        double share = lda->frequency[w] / lda->tokens;
        lda->entropy -= share > 0 ? share * log(share) : 0.0;
    }
    return status;
}

/* The first topics: each has a K-th of a word's tokens, with some noise. */

typedef struct filling {
    const pl_lda *lda;
    double *v;
} filling;

/* A number of mean 0 and variance 1: the sum of four 16-bit numbers. */
static double noise(uint64_t random) {
    double sum = 0;
    for (unsigned i = 0; i < 4; i++)
        sum += (double)(random >> 16 * i & 0xffff);
    return (sum - 131070.0) / 37837.0;
}

static void fill_words(void *context, unsigned task) {
    const filling *filling = context;
    const pl_lda *lda = filling->lda;
    uint64_t begin = (uint64_t)task * WORDS_PER_TASK, end = begin + WORDS_PER_TASK;
    pl_stream stream = pl_stream_make(lda->seed, FIRST_STREAM, task);
    for (uint64_t w = begin; w < end && w < lda->words; w++) {
        double mean = lda->growth * lda->frequency[w] / (double)lda->topics, *row = filling->v + w * lda->topics;
        for (uint64_t k = 0; k < lda->topics; k++)
            row[k] = mean * (1.0 + SPREAD * noise(pl_random(&stream)));
    }
}

typedef struct column_sums {
    const pl_lda *lda;
    const double *v;
    double *sums;
} column_sums;

#define COLUMN_BLOCKS 64 /* parts of the table, so that the order of addition is fixed */

static void sum_block(void *context, unsigned task) {
    const column_sums *all = context;
    uint64_t topics = all->lda->topics, words = all->lda->words;
    uint64_t begin = words * task / COLUMN_BLOCKS, end = words * (task + 1) / COLUMN_BLOCKS;
    double *sums = all->sums + (uint64_t)task * topics;
    for (uint64_t w = begin; w < end; w++)
        for (uint64_t k = 0; k < topics; k++)
            sums[k] += all->v[w * topics + k];
}

parley_status pl_lda_sum_columns(const pl_lda *lda, pl_engine *engine, double *v, parley_error *error) {
    double *sums, *totals = pl_lda_row(lda, v, PL_LDA_TOTALS);
    parley_status status = pl_take(&sums, COLUMN_BLOCKS * lda->topics, sizeof *sums, "sums of topics", error);
    if (status != PARLEY_OK)
        return status;
    engine->type->run(engine, sum_block, &(column_sums){lda, v, sums}, COLUMN_BLOCKS);
    for (uint64_t k = 0; k < lda->topics; k++) {
        totals[k] = 0;
        for (unsigned b = 0; b < COLUMN_BLOCKS; b++)
            totals[k] += sums[b * lda->topics + k];
    }
    pl_free(sums);
    return status;
}

/* eta by a step of Minka's fixed point, with sums over the table in fixed blocks. */
static void sum_psi(void *context, unsigned task) {
    const column_sums *all = context;
    uint64_t topics = all->lda->topics, words = all->lda->words;
    uint64_t begin = words * task / COLUMN_BLOCKS * topics, end = words * (task + 1) / COLUMN_BLOCKS * topics;
    double eta = all->v[(words + PL_LDA_ETA) * topics], psi = pl_psi(eta), sum = 0;
    for (uint64_t j = begin; j < end; j++)
        if (all->v[j] > 0)
            sum += pl_psi(all->v[j] + eta) - psi;
    all->sums[task] = sum;
}

static void learn_eta(const pl_lda *lda, pl_engine *engine, double *v) {
    double sums[COLUMN_BLOCKS], top = 0, bottom = 0, words = (double)lda->words;
    double *eta = pl_lda_row(lda, v, PL_LDA_ETA), *totals = pl_lda_row(lda, v, PL_LDA_TOTALS);
    engine->type->run(engine, sum_psi, &(column_sums){lda, v, sums}, COLUMN_BLOCKS);
    for (unsigned b = 0; b < COLUMN_BLOCKS; b++)
        top += sums[b];
    for (uint64_t k = 0; k < lda->topics; k++)
        bottom += words * (pl_psi(totals[k] + words * *eta) - pl_psi(words * *eta));
    if (top > 0 && bottom > 0)
        *eta = fmin(fmax(*eta * top / bottom, LEAST_ETA), 1.0 / LEAST_ETA);
}

parley_status pl_lda_renew(const pl_lda *lda, pl_engine *engine, double *v, bool learn, parley_error *error) {
    parley_status status = pl_lda_sum_columns(lda, engine, v, error);
    if (status == PARLEY_OK && lda->learns_eta && learn)
        learn_eta(lda, engine, v);
    return status;
}

static parley_status first(const pl_problem *problem, const pl_team *team, double *w, double *objective,
                           parley_error *error) {
    const pl_lda *lda = pl_lda_of(problem);
    pl_engine *engine = team->engine;
    engine->type->run(engine, fill_words, &(filling){lda, w},
                      (unsigned)((lda->words + WORDS_PER_TASK - 1) / WORDS_PER_TASK));
    for (uint64_t k = 0; k < lda->topics; k++)
        pl_lda_row(lda, w, PL_LDA_ALPHA)[k] = lda->alpha;
    pl_lda_row(lda, w, PL_LDA_ETA)[0] = lda->eta;
    *objective = lda->entropy;
    return pl_lda_sum_columns(lda, engine, w, error);
}

static parley_status bound(const pl_problem *problem, const pl_point_seen *point, pl_bound *out, parley_error *error) {
    (void)problem, (void)error;
    *out = (pl_bound){.objective = point->at->value, .dual = -INFINITY, .gradient = NAN};
    return PARLEY_OK;
}

/* Models */

static parley_status keep_model(const pl_problem *problem, const double *v, parley_model **out, parley_error *error) {
    const pl_lda *lda = pl_lda_of(problem);
    uint64_t topics = lda->topics, words = lda->words;
    pl_lda_model *model;
    *out = NULL;
    parley_status status = pl_lda_model_new(topics, words, &model, error);
    if (status != PARLEY_OK)
        return status;
    const double *rest = v + words * topics;
    model->eta = rest[PL_LDA_ETA * topics];
    model->variational = lda->variational;
    model->steps = rest[PL_LDA_STEPS * topics];
    for (uint64_t k = 0; k < topics; k++)
        model->alpha[k] = rest[PL_LDA_ALPHA * topics + k];
    for (uint64_t w = 0; w < words; w += PL_LDA_TILE)
        for (uint64_t k = 0; k < topics; k++)
            for (uint64_t i = w; i < w + PL_LDA_TILE && i < words; i++)
                model->lambda[k * words + i] = (float)(model->eta + v[i * topics + k]);
    pl_lda_model_sum(model);
    *out = &model->base;
    return status;
}

static parley_status accept(const pl_problem *problem, const parley_model *base, const char *name, double *v,
                            parley_error *error) {
    const pl_lda *lda = pl_lda_of(problem);
    const pl_lda_model *model = pl_lda_model_of(base);
    double *rest = v + lda->words * lda->topics;
    if (model->words != lda->words || model->topics != lda->topics)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s has %llu topics of %llu words, and this run has %llu of %llu", name,
                       (unsigned long long)model->topics, (unsigned long long)model->words,
                       (unsigned long long)lda->topics, (unsigned long long)lda->words);
    for (uint64_t w = 0; w < lda->words; w++)
        for (uint64_t k = 0; k < lda->topics; k++) {
            double count = (double)model->lambda[k * lda->words + w] - model->eta;
            v[w * lda->topics + k] = count > 0 ? count : 0.0;
        }
    for (uint64_t k = 0; k < lda->topics; k++) {
        rest[PL_LDA_ALPHA * lda->topics + k] = lda->learns_alpha ? model->alpha[k] : lda->alpha;
        double sum = 0;
        for (uint64_t w = 0; w < lda->words; w++)
            sum += v[w * lda->topics + k];
        rest[PL_LDA_TOTALS * lda->topics + k] = sum;
    }
    rest[PL_LDA_ETA * lda->topics] = lda->learns_eta ? model->eta : lda->eta;
    rest[PL_LDA_STEPS * lda->topics] = model->steps;
    return PARLEY_OK;
}

static bool reads(const char *setting) { return strcmp(setting, "passes") == 0; }

/* Settings of other problems' solvers. */
static bool applies(const pl_problem *problem, const char *setting) {
    static const char *const others[] = {"rate", "schedule", "batch_fraction"};
    (void)problem;
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(setting, others[i]) == 0)
            return false;
    return true;
}

static void describe(const pl_problem *problem, const parley_settings *settings, pl_description *out) {
    const pl_lda *lda = pl_lda_of(problem);
    char alpha[32] = "learnt", eta[32] = "learnt";
    if (!lda->learns_alpha)
        snprintf(alpha, sizeof alpha, "%g", lda->alpha);
    if (!lda->learns_eta)
        snprintf(eta, sizeof eta, "%g", lda->eta);
    pl_describe_count(out, "topics", (double)lda->topics);
    pl_describe_count(out, "documents", lda->documents);
    pl_describe_count(out, "words", (double)lda->words);
    pl_describe_count(out, "tokens", lda->tokens);
    pl_describe_line(out, "problem: %llu topics, alpha %s, eta %s, %.0f tokens, seed %llu",
                     (unsigned long long)lda->topics, alpha, eta, lda->tokens, (unsigned long long)settings->seed);
}

/* The likelihood of the last pass, estimated while documents were visited. */
static parley_status conclude(const pl_problem *problem, const pl_result *result, pl_description *out,
                              parley_error *error) {
    const parley_summary *summary = result->summary;
    (void)problem, (void)error;
    pl_describe_number(out, "passes", summary->epochs);
    pl_describe_number(out, "bound", -summary->objective);
    if (summary->metric && strcmp(summary->metric, "completion") == 0)
        pl_describe_number(out, "completion", summary->validation);
    return PARLEY_OK;
}

static void close_lda(pl_problem *problem) {
    pl_free(((pl_lda *)problem)->frequency);
    pl_span_free(&((pl_lda *)problem)->counts.values);
    pl_free(problem);
}

const pl_problem_type pl_problem_lda = {
    .name = "lda",
    .help = "topics of documents (latent Dirichlet allocation)",
    .command = "topics",
    .summary = "find the topics of documents",
    .details = "Finds the topics of the documents in DATA, whose rows are documents and whose values are counts of "
               "words. Labels are not used.",
    .commands = PL_FOR_CHANGE | PL_FOR_TOPICS,
    .by_change = true,
    .keeps_latest = true,
    .short_rounds = true,
    .reads = reads,
    .model_type = &pl_model_lda,
    .rules = &rules,
    .open = open_lda,
    .move = move,
    .measure = measure,
    .first = first,
    .bound = bound,
    .model = keep_model,
    .accept = accept,
    .applies = applies,
    .conclude = conclude,
    .describe = describe,
    .close = close_lda,
};
