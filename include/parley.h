/* parley.h: the public interface of libparley, which trains, saves, loads and applies linear models.
 *
 * Every call that can fail returns a parley_status. Where `error` is not NULL, it also writes one sentence there that
 * says what went wrong and what to do. Outputs are NULL on failure. Every *_free accepts NULL. */
#ifndef PARLEY_H
#define PARLEY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PARLEY_API __attribute__((visibility("default")))

#define PARLEY_STATUSES(row)                                                                                           \
    row(PARLEY_OK, "done") row(PARLEY_BAD_USAGE, "bad usage") row(PARLEY_BAD_INPUT, "bad input")                       \
        row(PARLEY_NO_MEMORY, "out of memory") row(PARLEY_NO_FILE, "file error")                                       \
            row(PARLEY_NO_PEER, "a worker was lost") row(PARLEY_BROKEN, "internal error")                              \
                row(PARLEY_STOPPED, "interrupted")

typedef enum parley_status {
#define PARLEY_ROW(name, text) name,
    PARLEY_STATUSES(PARLEY_ROW)
#undef PARLEY_ROW
} parley_status;

typedef struct parley_error {
    parley_status status;
    char sentence[1024];
} parley_error;

typedef struct parley_settings parley_settings;
typedef struct parley_data parley_data;
typedef struct parley_model parley_model;

/* Why a run ended. */
typedef enum parley_stop {
    PARLEY_CONVERGED,   /* the requested gap was reached */
    PARLEY_ROUNDS,      /* the limit on rounds was reached */
    PARLEY_SECONDS,     /* the limit on seconds was reached */
    PARLEY_STALLED,     /* no further progress */
    PARLEY_INTERRUPTED, /* the progress callback or parley_interrupt asked to stop */
    PARLEY_PATIENCE,    /* the metric on validation rows stopped improving */
    PARLEY_PASSED,      /* all passes over the data are complete */
    PARLEY_VALIDATED, /* the requested gap was reached, but a model before that is better on the validation rows and is
                         returned */
    PARLEY_DIVERGED,  /* the objective became infinite; the best model before that is returned */
} parley_stop;

/* A fact about a problem: a name and its value, which is a text or a number. Linear models have `loss`, `lambda`,
 * `l1_ratio` and `intercept`, and a stream also has `progressive_loss`. Topic models have `topics`, `documents`,
 * `words`, `tokens`, `passes`, `bound` and, with validation rows, `completion`. */
#define PARLEY_FACTS 12
typedef struct parley_fact {
    const char *name; /* static */
    char text[40];    /* empty if the value is a number */
    double number;
    int whole; /* the number is a count */
} parley_fact;

/* A choice that `auto` made, and why. The decision is static: preset, newton, side and so on. */
#define PARLEY_CHOICES 12
typedef struct parley_choice {
    const char *decision;
    char choice[32];
    char reason[320];
} parley_choice;

/* The result of a run. Counts are totals over workers. `dual`, `gap` and `relative_gap` are NaN where there is no dual
 * problem, such as for linear models without a penalty. */
typedef struct parley_summary {
    parley_stop stop;
    const char *problem, *preset, *local, *combine, *exchange, *engine;
    parley_fact fact[PARLEY_FACTS];
    unsigned facts; /* number of entries in `fact` */
    uint64_t rows, columns, nonzeros;
    uint64_t workers, lanes, threads, ranks, seed;
    uint64_t rounds;
    double epochs;
    double objective, dual, gap, relative_gap;
    double setup_seconds, compute_seconds, exchange_seconds, wait_seconds, evaluate_seconds;
    uint64_t bytes_sent;       /* what the workers would send if each ran on its own machine */
    uint64_t rank_bytes_sent;  /* what the processes sent to each other in exchanges */
    const char *metric;        /* the metric on validation rows, or NULL if there are none */
    double validation;         /* the metric of the returned model */
    uint64_t validation_round; /* the number of rounds that made the returned model */
    const char *suggestion;    /* a change that may reach the requested gap, such as "--standardise", or NULL; static */
    int suggestion_tried;      /* whether the run was repeated with it and reached the gap */
    int is_virtual;            /* whether seconds are those of a simulated cluster */
    int repeatable;            /* 0 if the run is asynchronous, so that running it again may give another model */
    parley_choice choice[PARLEY_CHOICES]; /* what `auto` chose, with the setting `explain` only */
    unsigned choices;                     /* number of entries in `choice` */
} parley_summary;

/* Returns the fact of this name, or NULL. */
PARLEY_API const parley_fact *parley_summary_fact(const parley_summary *summary, const char *name);

/* The state of a run after a round. `objective`, `dual` and `gap` are from the latest evaluation. */
typedef struct parley_progress {
    uint64_t round;
    double epochs, seconds;
    double objective, dual, gap, relative_gap;
    double estimate;    /* of the relative gap, in rounds without evaluation; NaN if there is none */
    double target;      /* the requested relative gap */
    const char *metric; /* the metric on validation rows, or NULL if there are none */
    double validation;
    uint64_t part, parts; /* on a path: which of how many penalties is fitted, from 1; else 0 */
} parley_progress;

/* Progress of a run. parley_train calls it from its own thread after every round, and once before the first with round
 * 0; `message` is then NULL. It is also called with a sentence in `message` when there is something to report. A
 * non-zero return stops the run at that round. */
typedef int (*parley_callback)(void *user, const parley_progress *progress, const char *message);

/* Asks all calls that read, train or decide in this process to end within two seconds. Any thread and any signal
 * handler may call it. Training ends with the best model so far and the stop PARLEY_INTERRUPTED; a round that lasts
 * more than a second longer is dropped. All else, and training that has no model yet, ends with the status
 * PARLEY_STOPPED. Without such a call, nothing happens. */
PARLEY_API void parley_interrupt(void);
/* With `on`, Ctrl-C (SIGINT) calls parley_interrupt before the handler that the program has installed, until the call
 * with 0. For programs whose own handler only takes note of the signal, such as Python. Calls may be nested. */
PARLEY_API void parley_catch_interrupts(int on);

/* Returns the text of a status, such as "out of memory". */
PARLEY_API const char *parley_status_text(parley_status status);
/* Returns the text of a stop, such as "converged". */
PARLEY_API const char *parley_stop_text(parley_stop stop);
PARLEY_API const char *parley_version(void);

/* Settings have the names that `parley list settings` prints. Values are text, as on the command line. */
PARLEY_API parley_status parley_settings_new(parley_settings **out, parley_error *error);
PARLEY_API parley_status parley_settings_set(parley_settings *settings, const char *name, const char *value,
                                             parley_error *error);
PARLEY_API void parley_settings_free(parley_settings *settings);

/* A row of the settings table. */
typedef struct parley_setting {
    const char *name;
    const char *kind;    /* flag, whole, real, word or choice */
    const char *initial; /* the default value */
    const char *choices; /* for a choice: "free|penalised|none"; otherwise NULL */
    const char *list;    /* for a word: the kind that parley_list_at takes to list its values, or NULL */
    const char *group;   /* the heading under which it is listed */
    const char *help;
    double min, max;               /* for whole and real settings */
    int may_be_auto;               /* whether "auto" is a valid value */
    int trains, paths, cvs, reads; /* whether it is for training, paths, cross-validation, reading */
} parley_setting;
/* Fills in row `number` of the table, counting from 0, and returns 1; returns 0 after the last row. Strings are static.
 */
PARLEY_API int parley_setting_at(unsigned number, parley_setting *out);
/* Returns the name of a member of `kind`, which is problems, losses, presets, solvers, combines, exchanges, engines,
 * formats or metrics. Returns NULL after the last member and if there is no such kind. `help` may be NULL. */
PARLEY_API const char *parley_list_at(const char *kind, unsigned number, const char **help);

/* Reads LIBSVM text, CSV, VW text or IDX (plain, .gz, .zst, "-" for standard input), or a cache that Parley wrote. The
 * content decides which of them it is. `threads` 0 means all cores. */
PARLEY_API parley_status parley_data_read(const char *path, unsigned threads, parley_data **out, parley_error *error);
/* Reads data with the settings of the group Reading, such as `format` and `label_column`, and with `threads`. */
PARLEY_API parley_status parley_data_read_with(const char *path, const parley_settings *settings, parley_data **out,
                                               parley_error *error);

/* Receives a sentence about something that the caller should know, but that is no failure. */
typedef void (*parley_message)(void *user, const char *sentence);
/* Reads data to apply a model to: columns are matched by name, and the table is read as the training table was. Labels
 * are not needed, and those in the file are not read. `warn` (NULL: nobody) is told of columns that are missing or
 * unknown, and of categories that the model has never seen. */
PARLEY_API parley_status parley_data_read_for(const parley_model *model, const char *path,
                                              const parley_settings *settings, parley_message warn, void *user,
                                              parley_data **out, parley_error *error);

/* Element types of the caller's arrays. */
typedef enum parley_type { PARLEY_FLOAT32, PARLEY_FLOAT64, PARLEY_INT32, PARLEY_INT64 } parley_type;

/* Wraps the caller's arrays, which hold compressed sparse rows. Row i holds entries start[i] .. start[i + 1], and
 * start[0] is 0. Rows and columns count from 0.
 *
 * Arrays in the core's own form are not copied: float32 values, int32 indices that increase within each row, int64
 * offsets, labels and weights. They must stay unchanged until parley_data_free. Others are converted once, on `threads`
 * threads (0 means all cores). Rows whose indices do not increase are sorted in a copy, and entries of the same column
 * are added up.
 *
 * `value` NULL means that all entries are 1. `label` NULL means no labels, which is enough for parley_decide and for
 * problems without labels. `weight` NULL means that all weights are 1. The call fails with PARLEY_BAD_INPUT, and names
 * the row, if an index is negative or not below `columns`, if a value, label or weight is not finite (as a float32), if
 * a weight is negative or if offsets decrease. */
PARLEY_API parley_status parley_data_from_csr(uint64_t rows, uint64_t columns, const void *start,
                                              parley_type start_type, const void *index, parley_type index_type,
                                              const void *value, parley_type value_type, const double *label,
                                              const double *weight, unsigned threads, parley_data **out,
                                              parley_error *error);
/* Wraps a dense table in the same way. Element (i, j) is value[i * row_stride + j * column_stride]; strides count
 * elements. Zeros are not stored. Values of a row-major float32 table without zeros are not copied; labels and weights
 * are never copied. */
PARLEY_API parley_status parley_data_from_dense(uint64_t rows, uint64_t columns, const void *value, parley_type type,
                                                int64_t row_stride, int64_t column_stride, const double *label,
                                                const double *weight, unsigned threads, parley_data **out,
                                                parley_error *error);

/* Converts vectors from the bytes in which Spark stores them in memory, and checks them. Vector i is at bytes[ends[i]]
 * .. bytes[ends[i + 1]]. All must have `columns` elements. Zeros are dropped, and so are the columns marked in
 * `dropped` (NULL: none). `lengths` receives the entries of each vector, `index` and `value` their columns and values,
 * one vector after the other; both need room for (ends[rows] - ends[0]) / 8 entries, of which `*entries` are used.
 * Messages count rows from `first`. */
PARLEY_API parley_status parley_spark_vectors(const void *bytes, const int32_t *ends, uint64_t rows, uint64_t columns,
                                              const unsigned char *dropped, uint64_t first, int64_t *lengths,
                                              uint32_t *index, double *value, uint64_t *entries, parley_error *error);

/* The arrays of a data set: rows + 1 offsets, the column ids and values of the entries, and the labels and weights of
 * the rows. They stay valid until parley_data_free. */
typedef struct parley_arrays {
    const uint64_t *start;
    const uint32_t *index;
    const float *value;   /* NULL: every entry is 1, unless there are `wide` values */
    const double *label;  /* NULL: no labels */
    const double *weight; /* NULL: all 1 */
    const double *wide;   /* the values, if floats would lose digits of them; else NULL */
} parley_arrays;
PARLEY_API void parley_data_arrays(const parley_data *data, parley_arrays *out);
/* Return the name of a column, and the word that label 0, 1, ... stands for, with their lengths in bytes. The text is
 * not terminated by 0. The length is 0 if there is no name. */
PARLEY_API const char *parley_data_column_name(const parley_data *data, uint64_t column, uint64_t *bytes);
PARLEY_API const char *parley_data_class_name(const parley_data *data, uint64_t label, uint64_t *bytes);
/* Sets the words that labels 0, 1, ... of the rows stand for; there must be as many as labels. If all are sets of
 * numbers in increasing order, such as {1,3} and {}, rows have any number of labels. */
PARLEY_API parley_status parley_data_set_classes(parley_data *data, const char *const *names, uint64_t count,
                                                 parley_error *error);
PARLEY_API void parley_data_shape(const parley_data *data, uint64_t *rows, uint64_t *columns, uint64_t *nonzeros);
PARLEY_API void parley_data_free(parley_data *data);

/* Trains a model. `callback` and `summary` may be NULL. A run that stops before its target still gives a model;
 * `summary->stop` has the reason. */
PARLEY_API parley_status parley_train(const parley_data *data, const parley_settings *settings,
                                      parley_callback callback, void *user, parley_model **out, parley_summary *summary,
                                      parley_error *error);

/* Trains a model starting from `start`, which must have the same columns, outputs and labels, but may have another
 * lambda. `start` NULL uses the setting `start`. */
PARLEY_API parley_status parley_train_from(const parley_data *data, const parley_settings *settings,
                                           const parley_model *start, parley_callback callback, void *user,
                                           parley_model **out, parley_summary *summary, parley_error *error);

/* A dense table in the caller's memory. Element (i, j) is value[i * row_stride + j * column_stride]; strides count
 * elements. */
typedef struct parley_table {
    uint64_t rows, columns;
    const void *value;
    parley_type type; /* float32 or float64 */
    int64_t row_stride, column_stride;
    const double *label;
    const double *weight; /* NULL: all 1 */
} parley_table;

/* parley_train_from on a table. A method that can use the table as it is, such as the preset exact, reads it in its own
 * precision and without a copy. For other methods the table is converted, as by parley_data_from_dense; before, a free
 * intercept absorbs the means of columns that would lose digits. */
PARLEY_API parley_status parley_train_table(const parley_table *table, const parley_settings *settings,
                                            const parley_model *start, parley_callback callback, void *user,
                                            parley_model **out, parley_summary *summary, parley_error *error);

/* Learns from a file or standard input ("-") in one stream without keeping it, with the preset online. `objective`,
 * `dual` and `gap` of the summary are NaN; its fact `progressive_loss` is the mean loss of predictions made before
 * learning each row. */
PARLEY_API parley_status parley_train_stream(const char *path, const parley_settings *settings,
                                             parley_callback callback, void *user, parley_model **out,
                                             parley_summary *summary, parley_error *error);

/* Learns batch by batch, as the preset online does. Settings are those of that preset, which need not be named.
 * Learning rates, the number of steps behind the penalty, and the labels carry over from batch to batch. */
typedef struct parley_learner parley_learner;
/* `labels` are the two labels of a loss of two classes, in increasing order. NULL means 1 and either -1 or 0, as found
 * in the batches. */
PARLEY_API parley_status parley_learner_new(const parley_settings *settings, const double *labels, parley_learner **out,
                                            parley_error *error);
/* Makes one pass over the rows in their order. All batches have the same number of columns. On failure nothing of the
 * batch is learnt. */
PARLEY_API parley_status parley_learner_learn(parley_learner *learner, const parley_data *batch, parley_error *error);
/* Returns the model so far, and fails before the first batch. Learning may continue afterwards. */
PARLEY_API parley_status parley_learner_model(const parley_learner *learner, parley_model **out, parley_error *error);
/* Serialise a learner, with its settings, and restore it. The caller releases the bytes with parley_bytes_free. */
PARLEY_API parley_status parley_learner_to_bytes(const parley_learner *learner, void **bytes, uint64_t *count,
                                                 parley_error *error);
PARLEY_API parley_status parley_learner_from_bytes(const void *bytes, uint64_t count, parley_learner **out,
                                                   parley_error *error);
PARLEY_API void parley_learner_free(parley_learner *learner);

/* Descends a row at a time, in double precision, at rates that the caller chooses, for one binary problem or one
 * regression. Rates, averages and the end are those of scikit-learn's SGDClassifier and SGDRegressor. Rows are in
 * memory as they are: row i of a dense table begins at value[i * columns], and `start` and `index` are those of a CSR
 * matrix without duplicate entries. */
typedef struct parley_descent {
    uint64_t rows, columns;
    const void *value;
    parley_type type;              /* float32 or float64 */
    const int64_t *start;          /* rows + 1 offsets; NULL: dense */
    const int32_t *index;          /* the column of each entry; NULL: dense */
    const double *target;          /* -1 and 1, or numbers */
    const double *weight;          /* NULL: all 1 */
    const unsigned char *held_out; /* NULL, or nonzero for rows that are not learnt, whose score decides the end */
    const char *loss;              /* one of the core's, or modified-huber, or perceptron */
    const char *rate;              /* constant, optimal, invscaling, adaptive, pa1 or pa2 */
    double epsilon;                /* the parameter of the loss */
    double penalty, l1_ratio;  /* factors of (1 - l1_ratio) / 2 |w|^2 + l1_ratio |w|_1, and the second one's share */
    double alpha, eta0, power; /* parameters of the rate */
    double positive, negative; /* weights of targets above 0, and of others */
    double bias_rate;          /* factor of the steps of the intercept */
    double tolerance;          /* least improvement of the objective or score; -INFINITY: any */
    uint64_t patience;         /* passes without it, after which the descent ends */
    uint64_t most_passes;
    uint64_t average; /* the step from which on models are averaged; 0: none */
    uint32_t seed;    /* of the order of rows */
    int shuffle, intercept;
    int classes; /* whether the score is the accuracy of classes, or R2 of numbers */

    /* Where to begin, and the result. */
    double *coef, *mean; /* `columns` each; the second is NULL without an average */
    double bias, mean_bias;
    double steps; /* the number of the next step; 1 at first */

    /* The result. */
    uint64_t passes;
    double objective; /* mean loss and penalty, as seen in the last pass */
    int converged;
} parley_descent;
/* `callback` may be NULL. The model so far is in `descent` on failure too, if there was a pass. */
PARLEY_API parley_status parley_descend(parley_descent *descent, parley_callback callback, void *user,
                                        parley_error *error);

/* The result for one lambda of a path. */
typedef struct parley_point {
    double lambda;
    double objective, dual, gap, relative_gap;
    double explained; /* share of the deviance explained: 1 - loss / (loss at w = 0) */
    double metric;    /* on validation rows; NaN if there are none */
    uint64_t nonzeros, rounds;
    parley_stop stop;
} parley_point;

/* Trains models for decreasing lambdas, each starting from the one before. The settings are `lambdas`, `lambda_ratio`,
 * `lambda_list` and `full_path`. A path that is stopped early has fewer points. `summary` is that of the last model. */
typedef struct parley_path_result parley_path_result;
PARLEY_API parley_status parley_path(const parley_data *data, const parley_settings *settings, parley_callback callback,
                                     void *user, parley_path_result **out, parley_summary *summary,
                                     parley_error *error);
PARLEY_API const parley_point *parley_path_points(const parley_path_result *path, uint64_t *count);
/* Returns the model of one point, counting from 0. */
PARLEY_API parley_status parley_path_model(const parley_path_result *path, uint64_t point, parley_model **out,
                                           parley_error *error);
PARLEY_API parley_status parley_path_save(const parley_path_result *path, const char *file, parley_error *error);
/* Reads a path that parley_path_save wrote. Files of older releases do not have the relative gaps, rounds and stops of
 * their points. */
PARLEY_API parley_status parley_path_load(const char *file, parley_path_result **out, parley_error *error);
/* Returns 1 if the file claims to be a path, which parley_path_load reads, and 0 otherwise. */
PARLEY_API int parley_is_path(const char *file);
/* Finds the point of a lambda, which may differ by a factor of up to 1.05. `at` is a number, "first" for the largest
 * lambda, or "last". */
PARLEY_API parley_status parley_path_find(const parley_path_result *path, const char *at, uint64_t *point,
                                          parley_error *error);
/* Returns the model of a lambda. Between two lambdas of the path its coefficients are interpolated linearly, as
 * glmnet's predict(s =) does, and beyond the ends it is that of the nearest end. `at` is a number, "first" or "last".
 * `tell`, which may be NULL, is called with a sentence if the path has no such lambda. */
PARLEY_API parley_status parley_path_at(const parley_path_result *path, const char *at, parley_message tell, void *user,
                                        parley_model **out, parley_error *error);
PARLEY_API void parley_path_free(parley_path_result *path);

/* Where the best lambda of cross-validation is among those that were tried. */
typedef enum parley_cv_place {
    PARLEY_CV_INSIDE,   /* smaller and larger ones are worse */
    PARLEY_CV_LEVEL,    /* it is the smallest or the largest, but over the decade there the metric hardly changes */
    PARLEY_CV_SMALLEST, /* it is the smallest, and smaller ones may be better */
    PARLEY_CV_LARGEST,  /* it is the largest, and larger ones may be better */
    PARLEY_CV_EMPTY,    /* it is the largest, at which all coefficients are 0 */
    PARLEY_CV_SINGLE    /* there is only one */
} parley_cv_place;

/* The best result for one l1_ratio: its lambda, and the mean and standard error of the metric. */
typedef struct parley_cv_ratio {
    double l1_ratio, lambda, mean, error;
} parley_cv_ratio;

/* The result of cross-validation. All but `by_ratio` is that of the best l1_ratio. */
typedef struct parley_cv_result {
    uint64_t count; /* number of lambdas */
    unsigned folds;
    double *lambdas;       /* decreasing */
    double *value;         /* the metric, folds x count */
    double *mean, *error;  /* of the metric over folds, by lambda: its mean and the standard error of the mean */
    uint64_t best, one_se; /* indices of the lambda with the best mean, and of the largest within one standard error. Of
                            * lambdas of equal mean the largest is best whose model is not constant */
    uint64_t chosen;       /* whichever of the two the setting `choose` selects */
    const char *metric;
    parley_cv_place place;  /* of the best lambda */
    unsigned extensions;    /* how often lambdas were added because the best one was the smallest or the largest */
    const char *suggestion; /* if smaller lambdas were left out because they did not reach the gap: what may help */
    uint64_t ratios;        /* number of values of l1_ratio */
    uint64_t best_ratio;    /* index of the best one */
    parley_cv_ratio *by_ratio;
    double *explained; /* by lambda, how much of the objective at w = 0 the model of all rows explains, or about that */
    uint64_t ties;     /* other lambdas whose mean is that of the best one */
} parley_cv_result;

/* Cross-validates the lambdas of a path with the settings `folds`, `fold_file` and `metric`, then trains on all rows
 * with the chosen lambda, which gives `model` and `summary`. If the best lambda is the smallest or the largest, up to
 * three times lambdas are added there, unless `lambda_list` or `lambda_ratio` is given. The setting `l1_ratios` lists
 * several values of `l1_ratio` to choose from. The callback may be called from other threads, but by one
 * at a time. The call fails if the callback stops it before a lambda is chosen. */
PARLEY_API parley_status parley_cv(const parley_data *data, const parley_settings *settings, parley_callback callback,
                                   void *user, parley_cv_result **out, parley_model **model, parley_summary *summary,
                                   parley_error *error);
PARLEY_API void parley_cv_free(parley_cv_result *cv);

PARLEY_API parley_status parley_model_save(const parley_model *model, const char *path, parley_error *error);
PARLEY_API parley_status parley_model_load(const char *path, parley_model **out, parley_error *error);
/* Give the bytes that parley_model_save would write, to be released with parley_bytes_free, and load a model from such
 * bytes. */
PARLEY_API parley_status parley_model_to_bytes(const parley_model *model, void **bytes, uint64_t *count,
                                               parley_error *error);
PARLEY_API parley_status parley_model_from_bytes(const void *bytes, uint64_t count, parley_model **out,
                                                 parley_error *error);
PARLEY_API void parley_bytes_free(void *bytes);
/* Makes a linear model from coefficients (outputs x columns), intercepts (NULL: 0) and labels in increasing order. A
 * model of several outputs has one label for each. A model of one output has two labels if its loss is for two classes,
 * and NULL otherwise. If the loss has a parameter, it gets the default of its setting. */
PARLEY_API parley_status parley_model_new(const char *loss, uint64_t outputs, uint64_t columns, const double *coef,
                                          const double *intercept, const double *labels, parley_model **out,
                                          parley_error *error);
PARLEY_API void parley_model_shape(const parley_model *model, uint64_t *outputs, uint64_t *columns);
/* Return the coefficients (outputs x columns) and the intercepts (one per output) of a linear model, and NULL for
 * models of another type. */
PARLEY_API const double *parley_model_coef(const parley_model *model);
PARLEY_API const double *parley_model_intercept(const parley_model *model);

/* Facts of a loss of linear models: what its labels are, and how decision values z = x.w + b become predictions. */
typedef struct parley_loss {
    int classes;       /* labels are classes; 0: they are numbers */
    int least;         /* numbers may be any (0), must be 0 or more (1), or above 0 (2) */
    int log_link;      /* the prediction is exp(z); 0: z, or the class */
    int probabilities; /* it gives those of classes: 1 / (1 + exp(-z)) or, with `together`, softmax of all z */
    int together;      /* one loss for all classes; 0: each class against the rest */
} parley_loss;
/* Fills in the facts of the loss of this name. Returns 0 if there is none. */
PARLEY_API int parley_loss_facts(const char *name, parley_loss *out);

/* The sums over rows of weight x z z', columns x columns numbers, where z are the values of a row less their means if
 * the intercept is free. They are known only of a model that the preset exact just trained without a penalty, and are
 * not saved; otherwise NULL. */
PARLEY_API const double *parley_model_products(const parley_model *model);
/* How certain a coefficient is: its standard error, its ratio to it (t with `degrees` degrees of freedom, or z where
 * `degrees` is infinite), the probability of a larger one by chance, and a 95 % interval. */
typedef struct parley_certainty {
    double coefficient, standard_error, statistic, degrees, p, low_95, high_95;
} parley_certainty;
/* Fills in `out` for a column, or for the intercept if `column` is the number of columns. Fails unless the model is
 * linear and was trained with the setting `inference`. */
PARLEY_API parley_status parley_model_certainty(const parley_model *model, uint64_t column, parley_certainty *out,
                                                parley_error *error);
/* Returns the name of a column and its length in bytes, which is 0 if it has no name. */
PARLEY_API const char *parley_model_column_name(const parley_model *model, uint64_t column, uint64_t *bytes);
/* Returns the word that label 0, 1, ... stands for and its length in bytes, which is 0 if labels are numbers. */
PARLEY_API const char *parley_model_class_name(const parley_model *model, uint64_t label, uint64_t *bytes);
/* Sets the words that the labels of a model stand for. Its labels must be 0, 1, 2, ..., and there must be as many
 * words.
 */
PARLEY_API parley_status parley_model_set_classes(parley_model *model, const char *const *names, uint64_t count,
                                                  parley_error *error);
PARLEY_API void parley_model_free(parley_model *model);

/* Returns the labels of a linear model of several outputs, in increasing order; NULL if it has one output or is of
 * another type. */
PARLEY_API const double *parley_model_labels(const parley_model *model);
/* Gets the two labels of a linear model of one output and returns 1. A decision value above 0 means the second label.
 * Returns 0 for models without two labels and for models of another type. */
PARLEY_API int parley_model_two_labels(const parley_model *model, double labels[2]);
/* Returns the key of metadata entry `number`, counting from 0, and its text in `value`, which may be NULL. Returns NULL
 * after the last entry. The first entry of a linear model is `loss`. */
PARLEY_API const char *parley_model_meta(const parley_model *model, unsigned number, const char **value);
/* Writes the model's outputs for each row, those of a row side by side. For a linear model they are the decision values
 * x.w + b. */
PARLEY_API parley_status parley_decide(const parley_model *model, const parley_data *data, double *decisions,
                                       parley_error *error);

/* Computes one metric of a model on data (`parley list metrics`). threads 0: all cores. */
PARLEY_API parley_status parley_score(const parley_model *model, const parley_data *data, const char *metric,
                                      unsigned threads, double *value, parley_error *error);

/* Writes a page about runs to a file, from their logs: charts and a verdict, as `parley report --html` does. Fails if
 * the library was built without the page. */
PARLEY_API parley_status parley_report_page(const char *const *logs, uint64_t count, const char *page,
                                            parley_error *error);

/* A topic model: its topics x words parameters, its priors, the steps that it was trained for, and whether it finds
 * proportions by variational updates, or else by collapsed ones. The arrays belong to the model. */
typedef struct parley_topics {
    uint64_t topics, words;
    const float *lambda;
    const double *alpha; /* by topic */
    double eta;
    uint64_t steps; /* after which rates go on */
    int variational;
} parley_topics;
/* Gets the contents of a topic model and returns 1. Returns 0 for models of another type. */
PARLEY_API int parley_model_topics(const parley_model *model, parley_topics *out);
/* Makes a topic model from copies of the arrays. */
PARLEY_API parley_status parley_topics_new(const parley_topics *topics, parley_model **out, parley_error *error);

#define PARLEY_LAYERS 16
/* A network: layer l has width[l] inputs and width[l + 1] outputs, a weight by output and input, and a bias by output.
 * The arrays belong to the model. */
typedef struct parley_network {
    unsigned layers;
    uint64_t width[17]; /* PARLEY_LAYERS + 1 */
    const float *weight[PARLEY_LAYERS], *bias[PARLEY_LAYERS];
    const char *activation; /* "relu", "tanh", "logistic" or "identity" */
    const double *labels;   /* of the outputs of a softmax; NULL: the outputs are numbers */
    uint64_t targets;       /* how many of the data's last columns were targets, beside the label */
    /* What the optimiser remembers after `steps` steps: as many numbers each as there are weights and biases, in an
     * order of its own. Files do not have them. 0 steps: nothing, and a run that starts from the model begins anew. */
    uint64_t steps;
    const double *first, *second;
    unsigned optimiser; /* of which these are */
} parley_network;
/* Gets the contents of a network and returns 1. Returns 0 for models of another type. */
PARLEY_API int parley_model_network(const parley_model *model, parley_network *out);
/* Makes a network from copies of the arrays. */
PARLEY_API parley_status parley_network_new(const parley_network *network, parley_model **out, parley_error *error);

#ifdef __cplusplus
}
#endif
#endif
