/* model.h: a trained model of any type: what all models have, and the table of functions behind which a type keeps what
 * is its own. A new type is a file with such a table, which its problem names. */
#ifndef PL_MODEL_H
#define PL_MODEL_H

#include "data/container.h"
#include "data/data.h"

#define PL_MODEL_METAS 64
#define PL_MODEL_TENSORS 64 /* the most that a type may write, besides those of names */

typedef struct pl_model_type pl_model_type;

/* Every type's struct begins with this one. */
struct parley_model {
    const pl_model_type *type;
    uint64_t outputs, columns; /* numbers per row that it gives; columns of the data that it reads */
    pl_names names;            /* of columns, as in the data; perhaps none */
    pl_names classes;          /* of labels 0, 1, ..., where they were words */
    unsigned metas;
    pl_pair meta[PL_MODEL_METAS]; /* both strings of a pair belong to the model */
};

/* What a model's file holds. */
typedef struct pl_model_parts {
    pl_tensor tensors[PL_MODEL_TENSORS + 4];
    pl_pair pairs[PL_MODEL_METAS + 8];
    unsigned tensor_count, pair_count;
    char text[128]; /* room for a value that the type has to write out */
} pl_model_parts;

/* A cell of a row: one number, or several. */
typedef struct pl_view_cell {
    const char *key;
    const double *numbers;
    uint64_t count, stride; /* how many, and how far apart */
    bool share;             /* between 0 and 1 */
    bool derived;           /* follows from the other cells: printed for people, left out of JSON */
} pl_view_cell;

/* Where a model or a meter shows what it holds, item by item in a fixed order. The command line has viewers that print
 * lines and one that makes JSON. */
typedef struct pl_viewer pl_viewer;
struct pl_viewer {
    void (*text)(pl_viewer *viewer, const char *key, const char *value);
    void (*count)(pl_viewer *viewer, const char *key, uint64_t count);
    void (*number)(pl_viewer *viewer, const char *key, double value); /* NaN: not defined */
    void (*numbers)(pl_viewer *viewer, const char *key, const double *values, uint64_t count);
    /* Up to `close` come the rows of a list, each with a name and perhaps a number (`number_key` NULL: without);
     * `name_key` NULL: items of a group. Neither lies within another. */
    void (*open)(pl_viewer *viewer, const char *key, const char *name_key, const char *number_key);
    void (*row)(pl_viewer *viewer, pl_name name, uint64_t number, const pl_view_cell *cells, unsigned count);
    void (*close)(pl_viewer *viewer);
};

/* Gathers, batch by batch, how good a model is on rows with labels; weighted by the rows' weights. Every type's struct
 * begins with this one. */
typedef struct pl_meter {
    const parley_model *model;
    uint64_t rows;
} pl_meter;

/* One figure that a meter gives. */
typedef struct pl_model_metric {
    const char *name;                            /* as --metric has it */
    const char *key;                             /* as eval has it; NULL: the name */
    bool larger;                                 /* is better */
    bool (*reported)(const parley_model *model); /* does eval report it of this model? */
    double (*value)(pl_meter *meter);            /* NaN: it does not apply to the model, or the rows leave it open */
    const char *help;
} pl_model_metric;

typedef struct pl_meter_type {
    /* `only` is the one metric that will be asked for; NULL: all that eval reports will be. */
    parley_status (*open)(const parley_model *model, const pl_model_metric *only, pl_meter **out, parley_error *error);
    /* `values` are what the model gives for the rows of the batch. Fails on a label that the model does not know. */
    parley_status (*add)(pl_meter *meter, const parley_data *batch, const double *values, parley_error *error);
    /* All that eval reports: the metrics (pl_meter_show), and what else the type has gathered. */
    void (*show)(pl_meter *meter, pl_viewer *viewer);
    void (*close)(pl_meter *meter); /* takes NULL */
} pl_meter_type;

struct pl_model_type {
    const char *name;
    const char *format; /* the value of `format` in its files, by which they are known */
    /* Keys of the pairs that `parts` adds, ending with NULL. Metadata under these keys are not written. */
    const char *const *keys;
    /* Makes a model from a file of its format; the caller adds metadata and names. Copied, so that the file may change
     * or go afterwards. `*out` is NULL on failure. */
    parley_status (*load)(const pl_container *container, const char *path, parley_model **out, parley_error *error);
    /* Adds its tensors, from wide types to narrow, and its own pairs. */
    void (*parts)(const parley_model *model, pl_model_parts *parts);
    /* Frees what the type added to the struct, not the struct. */
    void (*free)(parley_model *model);
    /* The raw numbers of rows [begin, end): `outputs` for each, those of row `begin` first. Called by many threads. */
    void (*apply)(const parley_model *model, const pl_matrix *x, uint64_t begin, uint64_t end, double *values);
    /* Turns a row's raw numbers into what --output asks for, in place: the probability of the upper of two labels, or
     * of each output. Fails, with a sentence, where the model cannot give that. `values` NULL: only says whether it
     * can. */
    parley_status (*finish)(const parley_model *model, pl_output kind, double *values, parley_error *error);
    /* The label that a row's raw numbers stand for. */
    double (*predict)(const parley_model *model, const double *values);
    /* The labels that predictions can have, by number from 0 on, rising; false from the last on. A model that predicts
     * any number has none. */
    bool (*label)(const parley_model *model, uint64_t number, double *label);
    const pl_model_metric *metrics; /* in the order in which eval reports them; ends with a row without a name */
    const char *metric;             /* the name of the one that --metric auto stands for */
    const pl_meter_type *meter;
    /* What info tells of such a model, besides outputs, columns and metadata. */
    void (*show)(const parley_model *model, pl_viewer *viewer);
    /* What the model has learnt, the `top` most important of it (0: all). */
    parley_status (*dump)(const parley_model *model, uint64_t top, pl_viewer *viewer, parley_error *error);
};

parley_status pl_model_set_meta(parley_model *model, const char *key, const char *value, parley_error *error);
const char *pl_model_meta(const parley_model *model, const char *key); /* or NULL */
/* Is the key one that the model's file gets from its type, whatever the metadata say? */
bool pl_model_sets(const parley_model *model, const char *key);
/* Copies the names of columns and classes from the data that the model was trained on, and how they were hashed. */
parley_status pl_model_name(parley_model *model, const parley_data *data, parley_error *error);
/* How data for this model are to be read: their columns are matched with its names. */
void pl_model_reading(const parley_model *model, pl_reading *reading);
/* The name of a column, or its number from 1 where it has none; in `text` if need be. */
pl_name pl_model_column(const parley_model *model, uint64_t column, char *text, size_t size);
/* The name of a label's class, or the label itself where it has none; in `text` if need be. */
pl_name pl_model_label(const parley_model *model, double label, char *text, size_t size);

/* The type's metric of this name, or the one that "auto" stands for; NULL: there is none. */
const pl_model_metric *pl_metric_find(const pl_model_type *type, const char *name);
/* "loss, auc": the names of the type's metrics, or only of those that fit `model`, where it is not NULL. */
void pl_metric_names(const pl_model_type *type, const parley_model *model, char *text, size_t size);

/* Shows the metrics that eval reports of the meter's model. */
void pl_meter_show(pl_meter *meter, pl_viewer *viewer);

/* Does the file say that it holds a model? Whether it is a right one is for loading to say. */
bool pl_model_claimed(const pl_container *container);
/* A model from safetensors bytes in memory; for the fuzzer. */
parley_status pl_model_parse(const void *bytes, uint64_t size, const char *path, parley_model **out,
                             parley_error *error);
void pl_model_file(const parley_model *model, pl_model_parts *parts);

/* Applying a model to all rows, as tasks for a pool or an engine: `values` has room for rows x outputs. */
typedef struct pl_applying {
    const parley_model *model;
    const pl_matrix *x;
    double *values;
} pl_applying;
unsigned pl_apply_tasks(const pl_matrix *x);
void pl_apply_task(void *applying, unsigned task);

#endif
