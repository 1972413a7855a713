/* words.h: what ranks that read parts of one input tell each other: the words that each of them met. */
#ifndef PL_WORDS_H
#define PL_WORDS_H

#include "data/kept.h"

/* Packs the words, and the names that are kept, which are forgotten: they come back in the order of the input. */
parley_status pl_words_tell(const pl_dictionary *words, pl_kept *kept, pl_span *out, uint64_t *bytes,
                            parley_error *error);
/* Adds what some rank packed; to be called for all of them, in the order of what they read. */
parley_status pl_words_learn(pl_dictionary *words, pl_kept *kept, const char *packed, uint64_t bytes,
                             parley_error *error);

#endif
