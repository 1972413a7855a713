/* text_labels.h: the labels at the beginning of lines of plain text, each followed by a tab. They are numbers if all
 * are, and otherwise the names of classes, numbered in the order of their bytes. */
#ifndef PL_TEXT_LABELS_H
#define PL_TEXT_LABELS_H

#include "data/parser.h"

typedef enum pl_labels_kind { PL_NO_LABELS, PL_LABELS_SKIPPED, PL_LABELS_READ } pl_labels_kind;

typedef struct pl_text_labels {
    pl_labels_kind kind;
    bool fixed; /* they are those of a model: its classes, or numbers if it has none */
    unsigned blocks;
    pl_dictionary known, *fresh; /* fresh: by block, labels that `known` lacks */
    pl_dictionary all;           /* of all ranks, if they read parts */
    bool parted;
    bool words; /* they are names even if all are numbers, as sets of labels are */
} pl_text_labels;

/* Decides by the head of the input and by what is read whether lines have labels. `trained` says whether the model's
 * training text had them. */
parley_status pl_text_labels_open(pl_text_labels *labels, const pl_parser *parser, const pl_reading *reading,
                                  bool trained, parley_error *error);
/* Takes the label of a line. Returns where its text begins, or NULL on a fault. */
const char *pl_text_label(const pl_text_labels *labels, pl_block *block, const char *p, const char *end);
/* The label of the current row is this word, which is not fixed. Returns false if memory runs out. */
bool pl_text_labels_add(const pl_text_labels *labels, pl_block *block, pl_name word);
bool pl_text_blank(const char *p, const char *end);
/* Numbers the new labels of a block. */
parley_status pl_text_labels_merge(pl_text_labels *labels, pl_block *block, parley_error *error);
/* Ranks exchange their labels: how many, then the bytes and text of each. */
uint64_t pl_text_labels_bytes(pl_text_labels *labels);
void pl_text_labels_pack(const pl_text_labels *labels, char *to);
parley_status pl_text_labels_unpack(pl_text_labels *labels, const char *packed, parley_error *error);
/* Gives rows their final labels, and the data the names of classes. */
parley_status pl_text_labels_finish(const pl_text_labels *labels, pl_parser *parser, parley_data *data,
                                    parley_error *error);
void pl_text_labels_close(pl_text_labels *labels);

#endif
