/* model.h: a trained model of any type, and the table of functions that a type provides. A new type is a file with such
 * a table, which its problem names. */
#ifndef PL_MODEL_H
#define PL_MODEL_H

#include "data/container.h"
#include "data/data.h"

#define PL_PATH_FORMAT "parley-path-1" /* many models in one file, which pl_model_load does not read */
#define PL_MODEL_METAS 96
#define PL_MODEL_TENSORS 64 /* the most that a type may write, without those of names */

typedef struct pl_model_type pl_model_type;

/* The struct of every type begins with this one. */
struct parley_model {
    const pl_model_type *type;
    uint64_t outputs, columns; /* numbers per row that it computes, columns of the data that it reads */
    pl_names names;            /* of columns, as in the data; may be empty */
    pl_names classes;          /* of labels 0, 1, ..., if they were words */
    bool label_sets;           /* a row has every label whose output is above 0 */
    unsigned metas;
    pl_pair meta[PL_MODEL_METAS]; /* the model owns both strings of each pair */
};

/* The contents of a model's file. */
typedef struct pl_model_parts {
    pl_tensor tensors[PL_MODEL_TENSORS + 4];
    pl_pair pairs[PL_MODEL_METAS + 8];
    unsigned tensor_count, pair_count;
    char text[128]; /* room for a value that the type formats */
} pl_model_parts;

/* A cell of a row, with one or more numbers. */
typedef struct pl_view_cell {
    const char *key;
    const double *numbers;
    uint64_t count, stride; /* number of values, and the distance between them */
    bool share;             /* between 0 and 1 */
    bool whole;             /* one whole number */
    bool json_only;         /* not printed as text, where it would repeat another cell */
    const pl_name *names;   /* words instead of numbers; NULL: numbers */
} pl_view_cell;

/* Receives what a model or a meter has to show, item by item in a fixed order. The command line has viewers that print
 * lines and one that makes JSON. */
typedef struct pl_viewer pl_viewer;
struct pl_viewer {
    void (*text)(pl_viewer *viewer, const char *key, const char *value);
    void (*count)(pl_viewer *viewer, const char *key, uint64_t count);
    void (*number)(pl_viewer *viewer, const char *key, double value); /* NaN: undefined */
    void (*numbers)(pl_viewer *viewer, const char *key, const double *values, uint64_t count);
    void (*labels)(pl_viewer *viewer, const char *key, const parley_model *model); /* all labels of a model */
    /* A square table with a row and a column for each label of the model. */
    void (*matrix)(pl_viewer *viewer, const char *key, const parley_model *model, const double *values);
    /* Begins a list, whose rows follow until `close`. Each row has a name and a number (`number_key` NULL: no number).
     * `name_key` NULL begins a group of items instead. Lists and groups do not nest. */
    void (*open)(pl_viewer *viewer, const char *key, const char *name_key, const char *number_key);
    void (*row)(pl_viewer *viewer, pl_name name, uint64_t number, const pl_view_cell *cells, unsigned count);
    void (*close)(pl_viewer *viewer);
};

/* Measures, batch by batch, how good a model is on labelled rows, weighted by the rows' weights. The struct of every
 * type begins with this one. */
typedef struct pl_meter {
    const parley_model *model;
    uint64_t rows;
} pl_meter;

/* One number that a meter computes. */
typedef struct pl_model_metric {
    const char *name;                            /* the value of --metric */
    const char *key;                             /* the key in eval; NULL: the name */
    bool larger;                                 /* larger values are better */
    bool (*reported)(const parley_model *model); /* whether eval reports it for this model */
    double (*value)(pl_meter *meter); /* NaN if it does not apply to the model, or is undefined for these rows */
    const char *help;
} pl_model_metric;

typedef struct pl_meter_type {
    /* `only` is the single metric that is needed; NULL means all that eval reports. */
    parley_status (*open)(const parley_model *model, const pl_model_metric *only, pl_meter **out, parley_error *error);
    /* Computes `width` numbers for each of rows [begin, end), which `add` gets instead of the model's outputs. Called
     * by many threads. NULL: `add` gets the outputs. */
    void (*apply)(const pl_meter *meter, const pl_matrix *x, uint64_t begin, uint64_t end, double *values);
    uint64_t width;
    /* `values` are the model's outputs for the rows of the batch. Fails on a label that the model does not know. */
    parley_status (*add)(pl_meter *meter, const parley_data *batch, const double *values, parley_error *error);
    /* Shows everything that eval reports: the metrics (pl_meter_show), and further results of the type. */
    void (*show)(pl_meter *meter, pl_viewer *viewer);
    void (*close)(pl_meter *meter); /* accepts NULL */
} pl_meter_type;

struct pl_model_type {
    const char *name;
    const char *format;     /* the value of `format` in its files */
    bool names_in_metadata; /* names of columns and classes are metadata, so that there are no tensors but its own */
    /* Keys of the pairs that `parts` adds; ends with NULL. Metadata with these keys are not written. */
    const char *const *keys;
    /* Makes a model from a file of its format. The caller adds metadata and names. Everything is copied, since the file
     * may change or disappear afterwards. `*out` is NULL on failure. */
    parley_status (*load)(const pl_container *container, const char *path, parley_model **out, parley_error *error);
    /* Adds its tensors, from wide types to narrow ones, and its own pairs. */
    void (*parts)(const parley_model *model, pl_model_parts *parts);
    /* Frees what the type added to the struct, but not the struct. */
    void (*free)(parley_model *model);
    /* Computes the raw outputs of rows [begin, end), `outputs` numbers per row, starting with row `begin`. Called by
     * many threads. */
    void (*apply)(const parley_model *model, const pl_matrix *x, uint64_t begin, uint64_t end, double *values);
    /* Fails with the reason why raw outputs of row `i` of the data are not finite; `number` is the row's number in the
     * file, from 1. NULL: they are what they are. */
    parley_status (*explain)(const parley_model *model, const parley_data *data, uint64_t i, uint64_t number,
                             parley_error *error);
    /* Turns a row's raw outputs into what --output asks for, in place: the probability of the upper of two labels, or
     * of each output. Fails if the model cannot give that. With `values` NULL it only checks. */
    parley_status (*finish)(const parley_model *model, pl_output kind, double *values, parley_error *error);
    pl_output output; /* what predict prints unless it is told */
    /* The label that a row's raw outputs predict. */
    double (*predict)(const parley_model *model, const double *values);
    /* Gives the labels that predictions can have, counting from 0, in increasing order; false after the last. A model
     * that predicts real numbers has none. */
    bool (*label)(const parley_model *model, uint64_t number, double *label);
    const pl_model_metric *metrics; /* in the order in which eval reports them; ends with a row without a name */
    const char *metric;             /* the name of the metric behind --metric auto */
    const pl_meter_type *meter;
    /* Shows what `info` prints about such a model, besides outputs, columns and metadata. */
    void (*show)(const parley_model *model, pl_viewer *viewer);
    /* Shows how certain the first `top` coefficients are (0: all). Fails if the model does not know. NULL: such models
     * never do. */
    parley_status (*inference)(const parley_model *model, uint64_t top, pl_viewer *viewer, parley_error *error);
    /* Shows what the model has learnt: the `top` most important parts (0: all). */
    parley_status (*dump)(const parley_model *model, uint64_t top, pl_viewer *viewer, parley_error *error);
};

parley_status pl_model_set_meta(parley_model *model, const char *key, const char *value, parley_error *error);
const char *pl_model_meta(const parley_model *model, const char *key); /* or NULL */
/* Whether the type sets this key in the model's file, so that metadata cannot. */
bool pl_model_sets(const parley_model *model, const char *key);
/* Copies the names of columns and classes of the training data, and how they were hashed. */
parley_status pl_model_name(parley_model *model, const parley_data *data, parley_error *error);
/* names_text.c: writes the names of columns and classes to the metadata of a model, and reads them from there. */
parley_status pl_names_to_metadata(parley_model *model, parley_error *error);
parley_status pl_names_from_metadata(parley_model *model, const char *path, parley_error *error);
/* Prepares to read data for this model, whose columns are matched with its names. */
void pl_model_reading(const parley_model *model, pl_reading *reading);
/* Returns the name of a column, or its number from 1 if it has none, formatted in `text`. */
pl_name pl_model_column(const parley_model *model, uint64_t column, char *text, size_t size);
/* Returns how many labels predictions can have; 0 if they are real numbers. */
uint64_t pl_model_labels(const parley_model *model);
/* Returns the name of a label's class, or the label itself if it has none, formatted in `text`. */
pl_name pl_model_label(const parley_model *model, double label, char *text, size_t size);

/* Returns the type's metric of this name, or its default for "auto"; NULL if there is none. */
const pl_model_metric *pl_metric_find(const pl_model_type *type, const char *name);
/* Lists the names of the type's metrics, such as "loss, auc". If `model` is not NULL, lists only those that apply to
 * it. */
void pl_metric_names(const pl_model_type *type, const parley_model *model, char *text, size_t size);

/* Shows the metrics that eval reports for the meter's model. */
void pl_meter_show(pl_meter *meter, pl_viewer *viewer);

/* Whether the file claims to hold a model. Loading checks whether it is valid. */
bool pl_model_claimed(const pl_container *container);
/* Loads a model from safetensors bytes in memory, for the fuzzer. */
parley_status pl_model_parse(const void *bytes, uint64_t size, const char *path, parley_model **out,
                             parley_error *error);
void pl_model_file(const parley_model *model, pl_model_parts *parts);

/* Whether a row's raw outputs are finite numbers; always true for models that do not explain others. */
bool pl_model_is_finite(const parley_model *model, const double *values);

/* Applies a model to all rows, as tasks for a pool or an engine. `values` has room for rows x outputs. */
typedef struct pl_applying {
    const parley_model *model;
    const pl_matrix *x;
    double *values;
    const pl_meter *meter; /* computes what the meter adds; NULL: the model's outputs */
} pl_applying;
/* The numbers per row that a meter of such a model adds. */
uint64_t pl_meter_width(const parley_model *model);
unsigned pl_apply_tasks(const pl_matrix *x);
void pl_apply_task(void *applying, unsigned task);

#endif
