/* lda.h: latent Dirichlet allocation (Blei, Ng and Jordan 2003). A document has proportions theta ~ Dirichlet(alpha) of
 * K topics, a topic has proportions beta ~ Dirichlet(eta) of W words, and each word of a document comes from one of its
 * topics. Rows of the data are documents and their values are counts of words.
 *
 * The table v has a row of K entries for each word: T, the expected number of times that the word comes from the topic.
 * The parameters of the topics are lambda = eta + T. Four more rows follow: the column sums of T; alpha; and, in their
 * first entries, eta and the number of steps that were made. Updates of all of them are linear, so that every combine
 * and exchange carries them. */
#ifndef PL_LDA_H
#define PL_LDA_H

#include <pthread.h>
#include <stdatomic.h>

#include "method/problem.h"
#include "topics/topic_settings.h"

enum { PL_LDA_TOTALS, PL_LDA_ALPHA, PL_LDA_ETA, PL_LDA_STEPS, PL_LDA_ROWS }; /* rows of v after those of words */

#define PL_LDA_TILE 64          /* words that are transposed at a time */
#define PL_COMPLETION_TOKENS 10 /* documents with fewer are left out of completion */

typedef struct pl_lda {
    pl_problem base;
    pl_narrowed counts; /* if the values given are doubles */
    uint64_t words, topics;
    double alpha, eta; /* where learning them starts, or their values */
    bool learns_alpha, learns_eta, variational;
    uint64_t seed;
    double corpus;            /* documents of the corpus of which these are a part; NaN: these */
    double growth;            /* how many times larger it is */
    double documents, tokens; /* over all ranks */
    double *frequency;        /* by word: its tokens in the corpus */
    double entropy;           /* of words, per token: the objective of a single topic */
} pl_lda;

const pl_lda *pl_lda_of(const pl_problem *problem);
static inline double *pl_lda_row(const pl_lda *lda, double *v, unsigned row) {
    return v + (lda->words + row) * lda->topics;
}
/* Computes the column sums of T anew and, if it is learnt and `learn` says that the topics tell something, eta. */
parley_status pl_lda_renew(const pl_lda *lda, pl_engine *engine, double *v, bool learn, parley_error *error);
/* Computes the column sums of T anew. */
parley_status pl_lda_sum_columns(const pl_lda *lda, pl_engine *engine, double *v, parley_error *error);

/* A model: topics x words and alpha. The tables by word are made at their first use, by whichever thread needs them. */
typedef struct pl_lda_model {
    parley_model base;
    uint64_t topics, words;
    double eta, steps; /* steps: how many made it, after which rates go on */
    bool variational;  /* how `apply` infers proportions */
    float *lambda;     /* topics x words: parameters of the topics */
    double *alpha, alpha_sum;
    double *total; /* by topic: the sum of its lambda */
    pthread_mutex_t mutex;
    _Atomic(float *) beta;      /* words x topics: the mean topics, lambda / total */
    _Atomic(double *) expected; /* words x topics: exp E ln beta */
} pl_lda_model;

parley_status pl_lda_model_new(uint64_t topics, uint64_t words, pl_lda_model **out, parley_error *error);
/* Computes the sums by topic after lambda and alpha were filled in. */
void pl_lda_model_sum(pl_lda_model *model);
/* Makes a table by word, unless it exists; false: out of memory. */
bool pl_lda_model_ready(pl_lda_model *model, bool variational);
pl_lda_model *pl_lda_model_of(const parley_model *model);

/* lda_infer.c: proportions of documents in double precision, for predictions and scores. */
typedef struct pl_lda_document {
    const uint32_t *word;
    const double *count;
    uint64_t words;
    double tokens;
} pl_lda_document;
/* Room of one thread for documents of up to `words` different words. */
typedef struct pl_lda_room {
    double *gamma, *e, *sums; /* stride */
    double *rows;             /* words x stride: the table's rows of the document */
    double *count[2];
    uint32_t *word[2];
    uint64_t stride, words;
} pl_lda_room;
bool pl_lda_room_open(pl_lda_room *room, const pl_lda_model *model, uint64_t words); /* false: out of memory */
void pl_lda_room_close(pl_lda_room *room);
/* The words of a row that the model knows, in the first half of the room. */
pl_lda_document pl_lda_whole(const pl_matrix *x, uint64_t row, uint64_t words, pl_lda_room *room);
/* Splits a row's tokens in two halves by a hash of their words, so that the split does not depend on the row's place.
 */
void pl_lda_split(const pl_matrix *x, uint64_t row, uint64_t words, pl_lda_room *room, pl_lda_document halves[2]);
/* Finds gamma by variational or collapsed updates until it changes by at most `tolerance` of the tokens. Returns
 * sum c ln S, where S is sum_k e_k E_wk with e not normalised. */
double pl_lda_infer(const pl_lda_model *model, const pl_lda_document *document, bool variational, double tolerance,
                    pl_lda_room *room);
/* The document's part of the variational bound, given what pl_lda_infer found. */
double pl_lda_document_bound(const pl_lda_model *model, double log_sum, const pl_lda_room *room);
/* sum c ln sum_k theta_k beta_wk, with the gamma that was found. */
double pl_lda_predict(const pl_lda_model *model, const pl_lda_document *document, const pl_lda_room *room);
/* The part of the bound that is due to the topics. */
double pl_lda_topics_bound(const pl_lda_model *model);

extern const pl_model_type pl_model_lda;
extern const pl_problem_type pl_problem_lda;
extern const pl_meter_type pl_meter_lda;
extern const pl_model_metric pl_metrics_lda[];

#endif
