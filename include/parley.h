/* parley.h: the public interface of libparley. Train, save, load and apply linear models.
 *
 * Every call that can fail returns a parley_status and, where `error` is not NULL, leaves one sentence
 * in it that says what went wrong and what to do. Outputs are NULL on failure. Every *_free takes NULL. */
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
            row(PARLEY_NO_PEER, "a worker was lost") row(PARLEY_BROKEN, "internal error")

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

/* How a run ended. */
typedef enum parley_stop {
    PARLEY_CONVERGED,   /* the gap asked for was reached */
    PARLEY_ROUNDS,      /* the limit of rounds came first */
    PARLEY_SECONDS,     /* the limit of seconds came first */
    PARLEY_STALLED,     /* no further progress */
    PARLEY_INTERRUPTED, /* the progress callback asked to stop */
    PARLEY_PATIENCE,    /* the metric on validation rows stopped improving */
    PARLEY_PASSED,      /* all passes over the data were made */
} parley_stop;

/* What a problem says about itself: a name with a text, or with a number. For linear models these are `loss`, `lambda`,
 * `l1_ratio` and `intercept`, and for a stream `progressive_loss`. */
#define PARLEY_FACTS 12
typedef struct parley_fact {
    const char *name; /* static */
    char text[40];    /* "": it is a number */
    double number;
} parley_fact;

/* What a run did. Counts are totals over workers; `dual`, `gap` and `relative_gap` are NaN where there is no dual
 * problem (linear models without a penalty). */
typedef struct parley_summary {
    parley_stop stop;
    const char *problem, *preset, *local, *combine, *exchange, *engine;
    parley_fact fact[PARLEY_FACTS];
    unsigned facts; /* how many of them there are */
    uint64_t rows, columns, nonzeros;
    uint64_t workers, lanes, threads, ranks, seed;
    uint64_t rounds;
    double epochs;
    double objective, dual, gap, relative_gap;
    double setup_seconds, compute_seconds, exchange_seconds, wait_seconds, evaluate_seconds;
    uint64_t bytes_sent;       /* what workers would send, were each on a machine of its own */
    uint64_t rank_bytes_sent;  /* what processes really sent each other in exchanges */
    const char *metric;        /* on validation rows; NULL: there are none */
    double validation;         /* its value for the model returned */
    uint64_t validation_round; /* when that was */
    int repeatable;            /* 0: the same run again may give another model, because workers overtake each other */
} parley_summary;

/* The fact of that name; NULL: there is none. */
PARLEY_API const parley_fact *parley_summary_fact(const parley_summary *summary, const char *name);

/* State of a run after a round; objective, dual and gap are those of the latest evaluation. */
typedef struct parley_progress {
    uint64_t round;
    double epochs, seconds;
    double objective, dual, gap, relative_gap;
    double estimate;    /* of the relative gap, in rounds that were not evaluated; NaN: none */
    double target;      /* the relative gap asked for */
    const char *metric; /* on validation rows, and its latest value; NULL: there are none */
    double validation;
} parley_progress;

/* Called after every round, and with round 0 before the first, from the thread that called parley_train;
 * `message` is NULL then. Called with a sentence in `message` when there is something to tell.
 * A return other than 0 stops the run at that round. */
typedef int (*parley_callback)(void *user, const parley_progress *progress, const char *message);

/* The name of a status: "out of memory". */
PARLEY_API const char *parley_status_text(parley_status status);
/* The name of a stop: "converged". */
PARLEY_API const char *parley_stop_text(parley_stop stop);
PARLEY_API const char *parley_version(void);

/* Settings, by the names that `parley list settings` prints; values as text, as on the command line. */
PARLEY_API parley_status parley_settings_new(parley_settings **out, parley_error *error);
PARLEY_API parley_status parley_settings_set(parley_settings *settings, const char *name, const char *value,
                                             parley_error *error);
PARLEY_API void parley_settings_free(parley_settings *settings);

/* A row of the settings table. */
typedef struct parley_setting {
    const char *name;
    const char *kind;    /* flag, whole, real, word or choice */
    const char *initial; /* the value that it has until it is set */
    const char *choices; /* of a choice: "free|penalised|none"; else NULL */
    const char *list;    /* of a word: the kind of parley_list_at that names its values; NULL: none does */
    const char *group;   /* the heading that it stands under */
    const char *help;
    double min, max;               /* of whole and real ones */
    int may_be_auto;               /* "auto" is a value */
    int trains, paths, cvs, reads; /* is it for training once, for a path, for cross-validation, for reading? */
} parley_setting;
/* Row `number` of the table, from 0 on; 0: there are no more. Strings are static. */
PARLEY_API int parley_setting_at(unsigned number, parley_setting *out);
/* A member of losses, presets, solvers, combines, exchanges, engines, formats or metrics, by its number: its name, or
 * NULL from the last on and where there is no such kind. `help` may be NULL. */
PARLEY_API const char *parley_list_at(const char *kind, unsigned number, const char **help);

/* Data: LIBSVM text, CSV, VW text or IDX (plain, .gz, .zst, "-" for standard input), or a cache that parley wrote, told
 * apart by content. `threads` 0: all cores. */
PARLEY_API parley_status parley_data_read(const char *path, unsigned threads, parley_data **out, parley_error *error);
/* The same as the settings of the group Reading say, such as `format` and `label_column`; `threads` is one of them. */
PARLEY_API parley_status parley_data_read_with(const char *path, const parley_settings *settings, parley_data **out,
                                               parley_error *error);

/* Types of elements of the caller's arrays. */
typedef enum parley_type { PARLEY_FLOAT32, PARLEY_FLOAT64, PARLEY_INT32, PARLEY_INT64 } parley_type;

/* Data in the caller's arrays: compressed sparse rows. Row i holds entries start[i] .. start[i + 1], and start[0] is 0.
 * What has the form of the core is not copied: float32 values and int32 indices that rise in each row, int64 offsets,
 * labels and weights. Such arrays must stay as they are until parley_data_free. Others are converted once, on `threads`
 * threads (0: all cores). Rows whose indices do not rise are sorted in a copy, and entries of one column added up.
 * `value` NULL: all ones. `label` NULL: there are none, which is enough for parley_decide. `weight` NULL: all 1. An
 * index that is negative or not below `columns`, a value, label or weight that is not finite (as a float32), a negative
 * weight, offsets that fall: PARLEY_BAD_INPUT, and the sentence names the row. Rows and columns count from 0. */
PARLEY_API parley_status parley_data_from_csr(uint64_t rows, uint64_t columns, const void *start,
                                              parley_type start_type, const void *index, parley_type index_type,
                                              const void *value, parley_type value_type, const double *label,
                                              const double *weight, unsigned threads, parley_data **out,
                                              parley_error *error);
/* Likewise a dense table: element (i, j) is value[i * row_stride + j * column_stride]; strides count elements. Zeros
 * are left out. Values of a row-major float32 table without zeros are not copied, labels and weights never are. */
PARLEY_API parley_status parley_data_from_dense(uint64_t rows, uint64_t columns, const void *value, parley_type type,
                                                int64_t row_stride, int64_t column_stride, const double *label,
                                                const double *weight, unsigned threads, parley_data **out,
                                                parley_error *error);

/* All that least squares need to know of a dense table, in one pass over it: sums over rows of weight x z z', z being
 * the row's values, its label and 1, the first two less `shift` (columns + 1 numbers: choose it near the means). `sums`
 * gets (columns + 2)^2 numbers. Nothing is rounded to float32. At most 2048 columns. */
PARLEY_API parley_status parley_moments(uint64_t rows, uint64_t columns, const void *value, parley_type type,
                                        int64_t row_stride, int64_t column_stride, const double *label,
                                        const double *weight, const double *shift, unsigned threads, double *sums,
                                        parley_error *error);

/* What data hold: rows + 1 offsets, column ids and values of the entries, labels and weights of the rows. All stay
 * valid until parley_data_free. */
typedef struct parley_arrays {
    const uint64_t *start;
    const uint32_t *index;
    const float *value;   /* NULL: every entry is 1 */
    const double *label;  /* NULL: there are none */
    const double *weight; /* NULL: all 1 */
} parley_arrays;
PARLEY_API void parley_data_arrays(const parley_data *data, parley_arrays *out);
/* The name of a column, and the word that label 0, 1, ... stands for, with their lengths in bytes; length 0: there is
 * none. Not terminated by 0. */
PARLEY_API const char *parley_data_column_name(const parley_data *data, uint64_t column, uint64_t *bytes);
PARLEY_API const char *parley_data_class_name(const parley_data *data, uint64_t label, uint64_t *bytes);
PARLEY_API void parley_data_shape(const parley_data *data, uint64_t *rows, uint64_t *columns, uint64_t *nonzeros);
PARLEY_API void parley_data_free(parley_data *data);

/* `callback` and `summary` may be NULL. A run that stops before its target still gives a model; `summary->stop` tells.
 */
PARLEY_API parley_status parley_train(const parley_data *data, const parley_settings *settings,
                                      parley_callback callback, void *user, parley_model **out, parley_summary *summary,
                                      parley_error *error);

/* parley_train begun at a model, of any lambda: of the same columns, outputs and labels. `start` NULL: as the setting
 * `start` says. */
PARLEY_API parley_status parley_train_from(const parley_data *data, const parley_settings *settings,
                                           const parley_model *start, parley_callback callback, void *user,
                                           parley_model **out, parley_summary *summary, parley_error *error);

/* Learns from a file or standard input ("-") as it passes, without keeping it: preset online. `objective`, `dual` and
 * `gap` of the summary are NaN; its fact `progressive_loss` is the mean loss of predictions before rows were learnt. */
PARLEY_API parley_status parley_train_stream(const char *path, const parley_settings *settings,
                                             parley_callback callback, void *user, parley_model **out,
                                             parley_summary *summary, parley_error *error);

/* Learning batch by batch, as preset online does: settings are those of that preset, and it need not be named. Rates,
 * the penalty's clock and the labels go on from batch to batch. */
typedef struct parley_learner parley_learner;
/* `labels`: the two labels of a loss of two classes, rising; NULL: -1 or 0, and 1, as the batches have them. */
PARLEY_API parley_status parley_learner_new(const parley_settings *settings, const double *labels, parley_learner **out,
                                            parley_error *error);
/* One pass over the rows in their order. All batches have as many columns as the first; when it fails, nothing of the
 * batch was learnt. */
PARLEY_API parley_status parley_learner_learn(parley_learner *learner, const parley_data *batch, parley_error *error);
/* The model so far; there is none before the first batch. Learning may go on. */
PARLEY_API parley_status parley_learner_model(const parley_learner *learner, parley_model **out, parley_error *error);
/* All that it is, as bytes for parley_bytes_free, and back: settings are among them. */
PARLEY_API parley_status parley_learner_to_bytes(const parley_learner *learner, void **bytes, uint64_t *count,
                                                 parley_error *error);
PARLEY_API parley_status parley_learner_from_bytes(const void *bytes, uint64_t count, parley_learner **out,
                                                   parley_error *error);
PARLEY_API void parley_learner_free(parley_learner *learner);

/* One lambda of a path. */
typedef struct parley_point {
    double lambda;
    double objective, dual, gap, relative_gap;
    double explained; /* share of the deviance: 1 - loss / loss at w = 0 */
    double metric;    /* on validation rows; NaN: none */
    uint64_t nonzeros, rounds;
    parley_stop stop;
} parley_point;

/* Models for falling lambdas, each begun where the last one ended, as `lambdas`, `lambda_ratio`, `lambda_list` and
 * `full_path` of the settings say. Stopped early, it has fewer points; `summary` is that of the last. */
typedef struct parley_path_result parley_path_result;
PARLEY_API parley_status parley_path(const parley_data *data, const parley_settings *settings, parley_callback callback,
                                     void *user, parley_path_result **out, parley_summary *summary,
                                     parley_error *error);
PARLEY_API const parley_point *parley_path_points(const parley_path_result *path, uint64_t *count);
/* The model of one point, from 0 on. */
PARLEY_API parley_status parley_path_model(const parley_path_result *path, uint64_t point, parley_model **out,
                                           parley_error *error);
PARLEY_API parley_status parley_path_save(const parley_path_result *path, const char *file, parley_error *error);
PARLEY_API void parley_path_free(parley_path_result *path);

/* What cross-validation found, by lambda. */
typedef struct parley_cv_result {
    uint64_t count; /* of lambdas */
    unsigned folds;
    double *lambdas;       /* falling */
    double *value;         /* folds x count: the metric */
    double *mean, *error;  /* over folds, by lambda: mean and its standard error */
    uint64_t best, one_se; /* lambdas: of the best mean; the largest within one standard error of that */
    uint64_t chosen;       /* the one of them that the setting `choose` asks for */
    const char *metric;
} parley_cv_result;

/* Cross-validates the lambdas of a path as `folds`, `fold_file` and `metric` of the settings say, then trains with the
 * chosen one on all rows: `model` and `summary`. The callback may be called from other threads, one at a time; stopped
 * by it before lambda is chosen, the call fails. */
PARLEY_API parley_status parley_cv(const parley_data *data, const parley_settings *settings, parley_callback callback,
                                   void *user, parley_cv_result **out, parley_model **model, parley_summary *summary,
                                   parley_error *error);
PARLEY_API void parley_cv_free(parley_cv_result *cv);

PARLEY_API parley_status parley_model_save(const parley_model *model, const char *path, parley_error *error);
PARLEY_API parley_status parley_model_load(const char *path, parley_model **out, parley_error *error);
/* The bytes that parley_model_save would write, for parley_bytes_free; and a model from such bytes. */
PARLEY_API parley_status parley_model_to_bytes(const parley_model *model, void **bytes, uint64_t *count,
                                               parley_error *error);
PARLEY_API parley_status parley_model_from_bytes(const void *bytes, uint64_t count, parley_model **out,
                                                 parley_error *error);
PARLEY_API void parley_bytes_free(void *bytes);
/* A linear model from coefficients (outputs x columns), intercepts (NULL: 0) and labels: of several outputs one each,
 * rising; of one output and a loss of two classes the two; NULL for others. The width of a loss that has one is the
 * default of its setting. */
PARLEY_API parley_status parley_model_new(const char *loss, uint64_t outputs, uint64_t columns, const double *coef,
                                          const double *intercept, const double *labels, parley_model **out,
                                          parley_error *error);
PARLEY_API void parley_model_shape(const parley_model *model, uint64_t *outputs, uint64_t *columns);
/* Of linear models; NULL for models of another type: coefficients, outputs x columns, and intercepts, one per output.
 */
PARLEY_API const double *parley_model_coef(const parley_model *model);
PARLEY_API const double *parley_model_intercept(const parley_model *model);
/* The name of a column and its length in bytes; length 0: it has none. */
PARLEY_API const char *parley_model_column_name(const parley_model *model, uint64_t column, uint64_t *bytes);
PARLEY_API void parley_model_free(parley_model *model);

/* The labels of a linear model of several outputs, rising; NULL where there is one, and for models of another type. */
PARLEY_API const double *parley_model_labels(const parley_model *model);
/* The two labels that a linear model of one output tells apart, a decision value above 0 being the second; 0: it does
 * not, or the model is of another type. */
PARLEY_API int parley_model_two_labels(const parley_model *model, double labels[2]);
/* What the model says of itself, by number from 0 on: the key, and the text under it; NULL from the last on. The first
 * of a linear model is `loss`. `value` may be NULL. */
PARLEY_API const char *parley_model_meta(const parley_model *model, unsigned number, const char **value);
/* Writes what the model gives for each row and output, those of a row side by side: of a linear model the decision
 * values x.w + b. */
PARLEY_API parley_status parley_decide(const parley_model *model, const parley_data *data, double *decisions,
                                       parley_error *error);

#ifdef __cplusplus
}
#endif
#endif
