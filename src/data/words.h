/* words.h: exchanges words between ranks that read parts of one input. */
#ifndef PL_WORDS_H
#define PL_WORDS_H

#include "data/hash_names.h"

/* Packs the words and the names of hashed columns. The latter are cleared, because pl_words_unpack adds them again in
 * the order of the input. */
parley_status pl_words_pack(const pl_dictionary *words, pl_hash_names *names, pl_span *out, uint64_t *bytes,
                            parley_error *error);
/* Adds the words that a rank packed. Must be called for all ranks, in the order of what they read. */
parley_status pl_words_unpack(pl_dictionary *words, pl_hash_names *names, const char *packed, uint64_t bytes,
                              parley_error *error);

#endif
