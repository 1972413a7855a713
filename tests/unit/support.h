/* support.h: shared by the tests of the core: generated data, settings, ranks as threads, comparisons. */
#ifndef PL_SUPPORT_H
#define PL_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs these first */
#include <cmocka.h>

#include "linear/glm.h"
#include "linear/model/linear_model.h"
#include "method/exchange.h"
#include "train/presets.h"
#include "train/train.h"

#define MOST_RANKS 5

/* Steps through cases. Under the thread sanitizer, which is a hundred times slower, some of them are enough. */
#if defined __SANITIZE_THREAD__
#define SOME 3
#else
#define SOME 1
#endif
/* Divides the number of times that a test repeats the same code path, which a sanitizer need not see as often. */
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
#define SANITIZED 3
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define SANITIZED 3
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 1
#endif
#define DEADLINE 60.0 /* seconds; longer than any test takes */
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* |a - b| <= tolerance (1 + |b|). */
#define assert_close(a, b, tolerance) check_close(a, b, tolerance, __FILE__, __LINE__)
void check_close(double a, double b, double tolerance, const char *file, int line);
/* a <= b; prints both if not. */
#define assert_at_most(a, b) check_at_most(a, b, __FILE__, __LINE__)
void check_at_most(double a, double b, const char *file, int line);
/* The status is PARLEY_OK; prints the sentence if not. */
#define assert_done(status, error) check_done(status, error, __FILE__, __LINE__)
void check_done(parley_status status, const parley_error *error, const char *file, int line);

/* Data from LIBSVM text. */
parley_data *data_of(const char *text);
/* Random sparse data whose labels depend on the features: -1 and +1, or real. Row i holds each column with probability
 * `density`. */
typedef struct sample_plan {
    uint64_t seed, rows, columns;
    double density;
    bool real;   /* labels are real */
    bool counts; /* labels are whole and 0 or more */
    bool sizes;  /* labels are above 0 */
    bool ones;   /* every value is 1 */
} sample_plan;
parley_data *random_data(sample_plan plan);

/* A table of two columns of categories, then three of numbers of very different scale. Labels are 0 to classes - 1. */
#define TABLE_CITIES 300
#define TABLE_JOBS 20
parley_data *table_data(unsigned classes);
void set_weights(parley_data *data, const double *weight); /* copies them */
/* The same with the labels below, and on request with weights, some of which are 0. */
#define CLASS_LABELS 4
extern const double class_labels[CLASS_LABELS];
parley_data *class_data(sample_plan plan, bool weighted);
/* The loss of a row of class y with this many margins, by the definition. */
double loss_of_classes(const pl_loss *loss, const double *z, unsigned y);

/* P of a model by the definition, with plain sums. */
double objective_of(const parley_data *data, const parley_model *model, const pl_loss *loss, const parley_summary *at);

/* The number of presets for linear models, which come first. */
unsigned linear_presets(void);
/* " loss=squared" for a preset of squared loss only, otherwise "". */
const char *loss_of_preset(const pl_preset *preset);

/* Settings from "name=value" words separated by blanks. */
parley_settings settings_of(const char *words);
void set_setting(parley_settings *settings, const char *name, const char *value); /* and keeps its text */

/* A problem set up on these data, which it then owns, with a team of three workers of two lanes each. */
typedef struct team_problem {
    parley_data *data;
    pl_engine *engine;
    pl_team team;
    pl_glm glm;
} team_problem;
team_problem open_problem_on(parley_data *data, const parley_settings *settings);
void close_problem(team_problem *problem);

/* Runs `body` on `ranks` ranks. If there are several, each has its own thread, which may not assert. `status` and
 * `error` (`ranks` entries) receive the result: after a failure, the first cause on every rank that it reached. */
extern bool ranks_share_memory; /* exchange through shared memory (false at first: by messages) */
void run_ranks(unsigned ranks, unsigned threads, double deadline, pl_body body, void *context, parley_status *status,
               parley_error *error);

/* Data sets that many tests train on. */
extern const sample_plan small, wide, real, counts, sizes;

/* The results of one run, on all its ranks. */
typedef struct outcome {
    const parley_data *data;
    const parley_settings *settings;
    parley_callback callback; /* of the last rank only */
    void *user;
    parley_status status[MOST_RANKS];
    parley_error error[MOST_RANKS];
    parley_model *model[MOST_RANKS];
    parley_summary summary[MOST_RANKS];
} outcome;

/* Runs outcome->settings on outcome->data. */
void train(outcome *outcome, unsigned ranks, unsigned threads);
/* Trains on one rank and thread; the run must succeed. */
outcome train_once(const parley_data *data, const char *words);
void free_models(outcome *outcome);

/* Trains while one allocation after another fails, until none does. Each failure gives a sentence and no model. */
void assert_survives_lost_memory(const parley_data *data, const char *words);

/* Asserts that two models have the same parameters, bit for bit. */
typedef void (*assert_same)(const parley_model *a, const parley_model *b);
/* Trains on one rank, and on 1 to `most` ranks by messages and through shared memory; all must give the same model. */
void assert_same_on_ranks(const parley_data *data, const parley_settings *settings, unsigned most, assert_same same);
/* Trains in one go, and with a checkpoint in between, which is left in `folder`; both must give the same model. `words`
 * describe the problem and the method. */
void assert_resumes(const parley_data *data, const char *words, const char *folder, assert_same same);

/* A folder for the files of a test program: functions of cmocka's groups. The second removes model_path and fails if
 * anything else is left. */
extern char test_folder[], model_path[];
int make_test_folder(void **state);
int remove_test_folder(void **state);
void remove_checkpoint(const char *folder);

/* Bytes that a rank sends in a reduce and a spread of `size` dense entries, by the formula in docs/exchange.md. */
uint64_t dense_bytes(const pl_exchange_type *exchange, unsigned workers, unsigned ranks, unsigned rank, uint64_t size);

/* The coefficients of all models of a path, one after the other. The caller frees them. */
double *path_values(const parley_path_result *path);

#endif
