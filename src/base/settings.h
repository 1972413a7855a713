/* settings.h: every setting of Parley, one row each. The row makes the default, the bounds, the flag, the help, the
 * documentation, the completion, the JSON key and the model's metadata key.
 *
 * Rows are in tables. Settings of no problem in particular are fields of parley_settings; those of a wing are fields of
 * a struct of its own, for which parley_settings has room. Texts are pointers to static text or into memory that the
 * settings own. */
#ifndef PL_SETTINGS_H
#define PL_SETTINGS_H

#include <stdbool.h>

#include "base/status.h"

#define PL_TEXT 4096
#define PL_MOST_SETTINGS 256
#define PL_WING_BYTES 1024 /* room for the settings of all wings */

typedef enum pl_schedule {
    PL_ANY,
    PL_CONSTANT,
    PL_INVERSE,
    PL_INVERSE_SQRT,
    PL_ADAGRAD,
    PL_NORMALISED,
    PL_STEPWISE,
    PL_COSINE
} pl_schedule;
typedef enum pl_worker_per { PL_PER_PROCESS, PL_PER_CORE } pl_worker_per;
typedef enum pl_between_ranks { PL_BY_MEMORY, PL_BY_MESSAGES } pl_between_ranks;
typedef enum pl_inputs_of { PL_INPUTS_SHARED, PL_INPUTS_OWN } pl_inputs_of;
typedef enum pl_row_order { PL_AS_GIVEN, PL_BY_CONTENT } pl_row_order;
typedef enum pl_compute { PL_MEASURED, PL_MODELLED } pl_compute;
typedef enum pl_updates { PL_IMMEDIATE, PL_DELAYED } pl_updates;
typedef enum pl_output { PL_LABEL, PL_DECISION, PL_PROBABILITY, PL_ALL_OUTPUTS } pl_output;
typedef enum pl_as { PL_AS_AUTO, PL_AS_TEXT, PL_AS_CSV, PL_AS_JSON } pl_as;

typedef enum pl_header { PL_HEADER_AUTO, PL_HEADER_THERE, PL_NO_HEADER } pl_header;
typedef enum pl_encoding { PL_UTF8, PL_LATIN1 } pl_encoding;
typedef enum pl_refusal { PL_REFUSED, PL_SKIPPED } pl_refusal;
enum { PL_ENUMERATED, PL_HASHED };
typedef enum pl_missing {
    PL_MISSING_AUTO,
    PL_MISSING_ZERO,
    PL_MISSING_MEAN,
    PL_MISSING_MEDIAN,
    PL_MISSING_INDICATOR,
    PL_MISSING_REFUSED
} pl_missing;

/* What the counts of words in a text become (data/terms.h). */
typedef enum pl_term_values { PL_TERMS_AUTO, PL_COUNTS, PL_PRESENCE, PL_TF_IDF, PL_LOG_TF_IDF } pl_term_values;

typedef struct pl_texts pl_texts;

/* Settings that may be "auto" hold NaN (reals), 0 (whole numbers) or "auto" (text) until they are resolved. */
struct parley_settings {
    /* the problem */
    const char *problem;
    bool standardise;
    bool inference;
    const char *weights;
    /* reading */
    const char *format;
    uint64_t header, categories, hash_bits, missing, min_count, encoding, missing_label, bad_rows; /* the enums above */
    const char *separator, *comment;
    uint64_t skip_lines;
    const char *label_column, *weight_column, *offset_column, *categorical, *labels;
    const char *columns, *ignore, *missing_words, *interactions;
    bool keep_names;
    const char *vocabulary, *spill, *stop_words;
    double min_documents, max_documents;
    uint64_t words, ngrams, term_values; /* term_values: pl_term_values */
    const char *text_column;
    const char *to;
    uint64_t top;
    /* launching */
    uint64_t ranks, restarts;
    const char *hosts, *shell, *address;
    /* the method */
    const char *preset, *local, *combine, *exchange, *engine;
    uint64_t workers, lanes, threads, seed;
    uint64_t memory;        /* in MB; 0: what there is */
    double block;           /* in MB; 0: rows are not visited by blocks; NaN: if the data are larger than memory */
    uint64_t worker_per;    /* pl_worker_per */
    uint64_t between_ranks; /* pl_between_ranks */
    uint64_t inputs;        /* pl_inputs_of */
    uint64_t row_order;     /* pl_row_order */
    double local_epochs;    /* NaN: by local_steps; and if that is 0, moved while training */
    uint64_t local_steps;   /* 0: by local_epochs */
    uint64_t updates;       /* pl_updates */
    double batch_fraction, rate;
    const char *batch;
    uint64_t schedule; /* pl_schedule */
    const char *staleness;
    uint64_t servers, backups, clocks; /* clocks 0: about a pass over the data */
    uint64_t view_every;               /* clocks; 0: auto */
    const char *straggler;
    uint64_t shared_cores; /* 0: every host has its own */
    const char *network, *latency, *host_speed, *network_change;
    uint64_t compute; /* pl_compute */
    const char *start;
    uint64_t passes;
    /* when to stop and to look */
    double gap, tolerance;
    uint64_t rounds;
    double seconds;
    uint64_t evaluate_every;
    double exchange_delay, deadline;
    const char *validation;
    double validation_fraction;
    const char *metric;
    uint64_t patience;
    /* files and printing */
    const char *model, *log, *trace, *replay;
    const char *checkpoint, *checkpoint_every, *resume;
    bool json, text, quiet, explain;
    const char *html;
    bool follow;
    uint64_t output, as; /* pl_output, pl_as */
    const char *id, *at;
    bool header_line;
    double threshold; /* NaN: the label with the larger decision value */
    /* generate */
    uint64_t rows;
    double nonzeros;
    uint64_t text_topics;
    /* split */
    double test;
    bool stratify;
    /* plan */
    double target, price;
    const char *target_of, *budget, *machines, *experiments, *presets;
    const char *sample;
    const char *plan;
    bool adapt;
    bool given[PL_MOST_SETTINGS]; /* which of them the user gave, by number */
    pl_texts *texts;              /* memory of texts that are not static */
    double wings[PL_WING_BYTES / sizeof(double)];
};

/* Commands that a setting belongs to. Those of PL_FOR_TRAIN are for training any problem; PL_FOR_ONE are for training
 * once, not for a path or cross-validation. */
enum {
    PL_FOR_TRAIN = 1,
    PL_FOR_PREDICT = 2,
    PL_FOR_EVAL = 4,
    PL_FOR_CONVERT = 8,
    PL_FOR_GENERATE = 16,
    PL_FOR_INFO = 32,
    PL_FOR_DUMP = 64,
    PL_FOR_ONE = 128,
    PL_FOR_PATH = 256,
    PL_FOR_CV = 512,
    PL_FOR_LAUNCH = 1024,
    PL_FOR_REPORT = 2048,
    PL_FOR_LINEAR = 4096,     /* training linear models */
    PL_FOR_LINEAR_ONE = 8192, /* likewise, once */
    PL_FOR_CHANGE = 16384,    /* training problems that have no dual: they stop by the objective's change */
    PL_FOR_TOPICS = 32768,    /* training topic models */
    PL_FOR_PROBE = 65536,
    PL_FOR_NETWORK = 131072, /* training networks */
    PL_FOR_PLAN = 262144,
    PL_FOR_COMMAND = 524288, /* the commands that train once, as programs; no log or checkpoint has it */
    PL_FOR_SPLIT = 1048576,
    PL_FOR_READING = PL_FOR_TRAIN | PL_FOR_PREDICT | PL_FOR_EVAL | PL_FOR_CONVERT | PL_FOR_INFO
};

typedef enum pl_kind { PL_FLAG, PL_WHOLE, PL_REAL, PL_WORD, PL_CHOICE } pl_kind;

typedef struct pl_setting {
    const char *name; /* JSON and metadata key; the flag has - for _ */
    pl_kind kind;
    unsigned commands;      /* PL_FOR_* */
    const char *initial;    /* the default, as text */
    double min, max;        /* bounds of numbers */
    const char *choices;    /* PL_CHOICE: "free|penalised|none", in the order of the enum */
    const char *list;       /* PL_WORD: the registry that names the values, as in `parley list NAME` */
    const char *value_name; /* in the help: N, X, FILE */
    char letter;            /* short for the name: -n; 0: there is none */
    const char *bare;       /* the flag that this option sets if no value follows; NULL: it needs a value */
    bool may_be_auto;
    bool optional; /* a member of the method must say that it reads this, else giving it is an error */
    bool in_model; /* decides the model: kept in its metadata */
    const char *help;
    size_t offset;
    const char *heading; /* on the first row of a group: its title */
    const char *option;  /* the name of the flag, if another setting has it in other commands; NULL: the name */
} pl_setting;

/* The settings of a wing, which are fields of a struct of this size. */
typedef struct pl_settings_wing {
    size_t size;
} pl_settings_wing;

/* Rows in the order in which they are shown. `wing` says whose struct their offsets are in; NULL: parley_settings. */
typedef struct pl_settings_table {
    const pl_setting *rows;
    unsigned count;
    const pl_settings_wing *wing;
} pl_settings_table;

extern const pl_settings_table pl_settings_data_and_method, pl_settings_plan, pl_settings_run;
/* members.c: all tables, and all wings. Both end with NULL. */
extern const pl_settings_table *const pl_settings_tables[];
extern const pl_settings_wing *const pl_settings_wings[];

/* The struct of a wing in the settings. */
void *pl_settings_room(parley_settings *settings, const pl_settings_wing *wing);

/* The rows of all tables are numbered. */
unsigned pl_settings_count(void);
const pl_setting *pl_setting_at(unsigned number); /* NULL: there are fewer */
unsigned pl_setting_number(const pl_setting *row);

void pl_settings_defaults(parley_settings *settings);
parley_status pl_settings_copy(const parley_settings *from, parley_settings **out, parley_error *error);
/* The same for settings that exist; parley_settings_free or pl_settings_clear releases their texts. */
parley_status pl_settings_assign(parley_settings *to, const parley_settings *from, parley_error *error);
void pl_settings_clear(parley_settings *settings); /* for settings that are part of another struct */
/* The row for `name` (either spelling, - or _), or NULL. */
const pl_setting *pl_setting_find(const char *name);
/* The row whose option of these commands has this name; otherwise as pl_setting_find. */
const pl_setting *pl_setting_option(unsigned commands, const char *name);
/* Sets one; says in `error` what is wrong with name or value. `command` 0: any. */
parley_status pl_setting_set(parley_settings *settings, unsigned command, const char *name, const char *value,
                             parley_error *error);
bool pl_setting_given(const parley_settings *settings, const char *name);
void pl_setting_forget(parley_settings *settings, const char *name); /* as if the user had not given its value */
/* The value of a row of kind PL_REAL. */
double pl_setting_real(const parley_settings *settings, const char *name);
/* The value as text, as it would be given; numbers in the shortest form that reads back the same. */
void pl_setting_text(const parley_settings *settings, const pl_setting *row, char *text, size_t size);
/* "batch_fraction" -> "--batch-fraction" */
void pl_setting_flag(const pl_setting *row, char *flag, size_t size);

/* Shortest decimal form of a double that reads back the same. */
void pl_number_text(double value, char *text, size_t size);
/* The word of `count` nearest to `word` in edits, or NULL when none is near. */
const char *pl_nearest(const char *word, const char *const *words, unsigned count);

#endif
