/* train_arrays.c: a program that holds everything in memory: it trains on its own arrays, watches the run, keeps the
 * model as bytes, goes on from it under a weaker penalty, and learns new rows as they come.
 *
 *     cc arrays.c $(pkg-config --cflags --libs parley) -o arrays && ./arrays */
#include <parley.h>
#include <stdio.h>
#include <stdlib.h>

#define ROWS 2000
#define COLUMNS 30
#define FILLED 5 /* entries of a row */

/* Everything that is freed at the end; NULL: not made yet. */
typedef struct program {
    int64_t start[ROWS + 1];
    int32_t index[ROWS * FILLED];
    float value[ROWS * FILLED];
    double label[ROWS];
    parley_settings *settings;
    parley_data *data;
    parley_model *model, *next, *learnt;
    parley_learner *learner;
    void *bytes;
    parley_error error;
} program;

/* Rows whose label says whether their entries in odd columns outweigh those in even ones. */
static void make_rows(program *p) {
    unsigned long random = 12345;
    for (int i = 0; i < ROWS; i++) {
        double sum = 0.2;
        for (int k = 0; k < FILLED; k++) {
            int e = i * FILLED + k;
            random = (random * 1103515245 + 12345) % 2147483648UL;
            p->index[e] = (int32_t)(k * (COLUMNS / FILLED) + (int)(random >> 8) % (COLUMNS / FILLED)); /* they rise */
            p->value[e] = (float)(random >> 16) / 16384.0F - 1.0F;
            sum += p->index[e] % 2 ? p->value[e] : -p->value[e];
        }
        p->start[i + 1] = (int64_t)(i + 1) * FILLED;
        p->label[i] = sum > 0 ? 1 : -1;
    }
}

/* Called after every round, from this thread: a return other than 0 stops the run there. */
static int watch(void *user, const parley_progress *progress, const char *message) {
    unsigned *rounds = (unsigned *)user;
    if (message)
        return 0; /* a sentence on the data, the method, ... */
    *rounds = (unsigned)progress->round;
    return progress->seconds > 60;
}

/* Trains, and prints what came of it. */
static parley_status train(program *p, const char *lambda, const parley_model *start, parley_model **out) {
    parley_summary summary;
    unsigned rounds = 0;
    parley_status status = parley_settings_set(p->settings, "lambda", lambda, &p->error);
    if (status == PARLEY_OK)
        status = parley_train_from(p->data, p->settings, start, watch, &rounds, out, &summary, &p->error);
    if (status == PARLEY_OK)
        printf("lambda %s: %s after %u rounds by %s, relative gap at most 1e-6: %s\n", lambda,
               parley_stop_text(summary.stop), rounds, summary.preset, summary.relative_gap <= 1e-6 ? "yes" : "no");
    return status;
}

/* The share of rows whose decision value has the sign of their label. */
static parley_status judge(program *p, const char *name, const parley_model *model) {
    double decisions[ROWS];
    int right = 0;
    parley_status status = parley_decide(model, p->data, decisions, &p->error);
    for (int i = 0; i < ROWS && status == PARLEY_OK; i++)
        right += (decisions[i] > 0) == (p->label[i] > 0);
    if (status == PARLEY_OK)
        printf("%s: %s of the rows are right\n", name, right > ROWS * 9 / 10 ? "more than nine tenths" : "few");
    return status;
}

/* Two models: the second begins where the first ended, as it came back from bytes. */
static parley_status train_twice(program *p) {
    uint64_t count;
    parley_status status = parley_settings_set(p->settings, "loss", "logistic", &p->error);
    if (status == PARLEY_OK)
        status = parley_settings_set(p->settings, "gap", "1e-6", &p->error);
    if (status == PARLEY_OK)
        status = train(p, "0.01", NULL, &p->model);
    if (status == PARLEY_OK)
        status = parley_model_to_bytes(p->model, &p->bytes, &count, &p->error);
    parley_model_free(p->model);
    p->model = NULL;
    if (status == PARLEY_OK)
        status = parley_model_from_bytes(p->bytes, count, &p->model, &p->error);
    if (status == PARLEY_OK)
        status = train(p, "0.001", p->model, &p->next);
    return status == PARLEY_OK ? judge(p, "trained", p->next) : status;
}

/* One pass over the rows, in batches: no model is ever far from the best, and no row is kept. */
static parley_status learn(program *p) {
    const double labels[2] = {-1, 1}; /* a batch need not have both */
    parley_settings *settings = NULL;
    parley_status status = parley_settings_new(&settings, &p->error);
    if (status == PARLEY_OK)
        status = parley_settings_set(settings, "loss", "logistic", &p->error);
    if (status == PARLEY_OK)
        status = parley_learner_new(settings, labels, &p->learner, &p->error);
    for (int first = 0; first < ROWS && status == PARLEY_OK; first += 100) {
        int64_t start[101]; /* offsets of the batch's own entries */
        parley_data *batch = NULL;
        for (int i = 0; i <= 100; i++)
            start[i] = p->start[first + i] - p->start[first];
        status = parley_data_from_csr(100, COLUMNS, start, PARLEY_INT64, p->index + p->start[first], PARLEY_INT32,
                                      p->value + p->start[first], PARLEY_FLOAT32, p->label + first, NULL, 1, &batch,
                                      &p->error);
        if (status == PARLEY_OK)
            status = parley_learner_learn(p->learner, batch, &p->error);
        parley_data_free(batch);
    }
    if (status == PARLEY_OK)
        status = parley_learner_model(p->learner, &p->learnt, &p->error);
    parley_settings_free(settings);
    return status == PARLEY_OK ? judge(p, "learnt in batches", p->learnt) : status;
}

int main(void) {
    program *p = (program *)calloc(1, sizeof *p);
    if (!p)
        return 1;
    make_rows(p);
    /* nothing is copied: the arrays must stay as they are until parley_data_free */
    parley_status status = parley_data_from_csr(ROWS, COLUMNS, p->start, PARLEY_INT64, p->index, PARLEY_INT32, p->value,
                                                PARLEY_FLOAT32, p->label, NULL, 0, &p->data, &p->error);
    if (status == PARLEY_OK)
        status = parley_settings_new(&p->settings, &p->error);
    if (status == PARLEY_OK)
        status = train_twice(p);
    if (status == PARLEY_OK)
        status = learn(p);
    if (status != PARLEY_OK)
        fprintf(stderr, "%s: %s\n", parley_status_text(status), p->error.sentence);
    parley_learner_free(p->learner);
    parley_model_free(p->model);
    parley_model_free(p->next);
    parley_model_free(p->learnt);
    parley_data_free(p->data);
    parley_settings_free(p->settings);
    parley_bytes_free(p->bytes);
    free(p);
    return status != PARLEY_OK;
}
