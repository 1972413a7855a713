/* terms.h: the terms of a text, which are its words and sequences of words, and the values that their counts become.
 *
 * A word is a run of letters, marks and digits of any script, in lower case. Words of a stop list are left out before
 * sequences are formed. The value of a term that a text has c times and d of n texts have at all is c, or 1, or
 *   tf-idf: c idf, idf = log((1 + n) / (1 + d)) + 1;  log-tf-idf: (1 + log c) idf,
 * and with either of the latter two the values of a text are divided by their Euclidean norm. */
#ifndef PL_TERMS_H
#define PL_TERMS_H

#include "base/settings.h"
#include "data/names.h"
#include "math/values.h"

#define PL_MOST_NGRAMS 8

/* How the terms of one column of text are found and weighted. */
typedef struct pl_terms {
    char *column;  /* of a table; "" for plain text */
    bool labelled; /* plain text: each line begins with a label and a tab */
    unsigned ngrams;
    pl_term_values values; /* not PL_TERMS_AUTO */
    pl_dictionary stop;
    uint64_t first, count; /* the columns of its terms */
    double rows;           /* texts from which the weights were made */
    double *documents;     /* by term: how many of them have it; NULL: not known yet */
    double *idf;           /* by term; NULL: values need no weights */
} pl_terms;

/* Receives a term. Returns false to stop. */
typedef bool (*pl_term_add)(void *to, const char *term, uint64_t bytes);

/* Finds the terms of a text. Returns its end, or the first byte that is not UTF-8, or NULL if `add` stopped. */
const char *pl_terms_scan(const pl_terms *terms, const char *text, const char *end, pl_term_add add, void *to);
/* Returns the end of the text, or the first byte that is not UTF-8. */
const char *pl_utf8_scan(const char *text, const char *end);

/* Takes the settings of text, and reads the stop list. `labelled` decides what `auto` values are. */
parley_status pl_terms_open(pl_terms *terms, const char *column, bool labelled, const parley_settings *settings,
                            parley_error *error);
/* Which of `count` terms are kept, by the share or number of texts that have them. */
void pl_terms_bounds(const parley_settings *settings, double rows, double *least, double *most);
/* A term that may be kept, with its number among all. */
typedef struct pl_candidate {
    double tokens;
    pl_name word;
    uint32_t number;
} pl_candidate;
/* Frequent terms first; terms of equal frequency by their bytes, so that the order of texts does not matter. */
void pl_candidates_sort(pl_candidate *list, uint64_t count);
/* Computes the weights from `documents`. */
parley_status pl_terms_weights(pl_terms *terms, parley_error *error);
/* Turns the counts of a row into values. Entries of other columns stay as they are. */
void pl_terms_weigh(const pl_terms *terms, const uint32_t *index, pl_value_room values, uint64_t entries);
/* Will values differ from the counts? */
bool pl_terms_change(const pl_terms *terms);
void pl_terms_free(pl_terms *terms);

/* terms_text.c: appends the terms to `*text`, the JSON description of a table, or makes one if it is NULL. */
parley_status pl_terms_write(const pl_terms *terms, unsigned count, const char *path, char **text, parley_error *error);
/* Reads the terms of a description; NULL has none. The caller frees each, and the array with pl_free. */
parley_status pl_terms_read(const char *text, const char *path, pl_terms **out, unsigned *count, parley_error *error);
/* Does the description belong to plain text? */
bool pl_terms_alone(const char *text);

#endif
