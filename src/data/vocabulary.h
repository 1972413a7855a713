/* vocabulary.h: lists of words in files. */
#ifndef PL_VOCABULARY_H
#define PL_VOCABULARY_H

#include "data/format.h"

/* Reads one word per line. With `columns`, empty lines and repeated words are errors; otherwise they are skipped. */
parley_status pl_words_read(const char *path, bool columns, pl_dictionary *words, parley_error *error);
/* The words as names, in order. */
parley_status pl_names_of_words(const pl_dictionary *words, pl_names *out, parley_error *error);
/* Names the columns of the data by the words in a file. */
parley_status pl_data_read_vocabulary(parley_data *data, const char *path, parley_error *error);

#endif
