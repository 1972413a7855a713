/* prediction_lines.h: how `parley predict` writes the prediction of a row: as text, CSV or JSON. */
#ifndef PARLEY_PREDICTION_LINES_H
#define PARLEY_PREDICTION_LINES_H

#include "cli.h"
#include "method/model.h"

typedef enum field_kind { FIELD_ID, FIELD_LABEL, FIELD_DECISION, FIELD_PROBABILITY } field_kind;

/* One value of a line, and the text around it. */
typedef struct line_field {
    field_kind kind;
    uint64_t number; /* of the output or class */
    char *name;      /* in the header line */
    char *before, *after;
} line_field;

typedef struct label_word {
    char *text;
    size_t bytes;
} label_word;

typedef struct prediction_lines {
    const parley_model *model;
    pl_as as;
    pl_output output;
    bool headed;  /* print the names of the columns first */
    bool decides; /* a threshold decides between two labels */
    bool of_probability;
    double threshold;
    double *labels;    /* that predictions can have, increasing; none if predictions are real numbers */
    label_word *words; /* how each is written */
    uint64_t label_count;
    line_field *fields;
    unsigned count;
    bool weighs;  /* some field is a probability */
    size_t width; /* most bytes of a line, without the text that identifies the row */
} prediction_lines;

/* `path` is the file of the model, for messages. */
parley_status lines_open(prediction_lines *lines, const parley_settings *settings, const char *path,
                         const parley_model *model, parley_error *error);
void lines_close(prediction_lines *lines);
/* Writes the header line, if one was asked for. `id_name` is the column that identifies rows, or NULL. */
parley_status lines_head(const prediction_lines *lines, const char *id_name, FILE *file, parley_error *error);
/* The most bytes that a text takes in a line. */
size_t lines_room(uint64_t bytes);
/* Writes the line of a row with raw outputs `values`, and returns its length. `scratch` has room for outputs + 1. */
size_t lines_put(const prediction_lines *lines, pl_name id, const double *values, double *scratch, char *line);

#endif
