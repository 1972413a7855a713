/* gibbs.h: collapsed sampling for topic models. Every token has a topic, which is drawn anew in each pass from its
 * conditional distribution, given all others (topic_sampler.h). v holds the counts of words by topic. A worker knows
 * the topics of its own tokens, and offers the changes of the counts.
 *
 * A pass is divided into pieces, which are ranges of words: a round is one piece, one pass, or several passes. The
 * lanes of a worker divide its documents, and the words of each piece into as many ranges. A piece has as many parts as
 * there are lanes: in part s, lane l visits range l + s of its documents' words. So no two lanes touch the same
 * document or the same word, and only the sums over words are a part behind. */
#ifndef PL_GIBBS_H
#define PL_GIBBS_H

#include "topics/topic_sampler.h"
#include "topics/topic_solver.h"

typedef struct pl_gibbs_lane {
    uint64_t documents, tokens;
    uint64_t *first;    /* by word: its first token; words + 1 */
    uint32_t *document; /* by token, in the order of words: the number of its document in the lane */
    uint32_t *topic;    /* by token; a part of the worker's */
    uint32_t *length;   /* tokens by document */
    pl_span lists;      /* of the sampler */
    pl_topic_sampler sampler;
} pl_gibbs_lane;

typedef struct pl_gibbs_worker {
    double *table; /* v, or a copy */
    pl_span copy;
    pl_span topics; /* of all tokens, by lane */
    uint64_t tokens;
    uint64_t *bounds; /* pieces x lanes + 1: ranges of words */
    double *before;   /* by topic: sums at the beginning of a part */
    pl_span change;   /* the rows of the update, and */
    pl_span rows;     /* their numbers in v */
    uint64_t changed; /* rows */
    uint32_t *reads;  /* entries of v that the worker reads, if it works alone; NULL: all */
    uint64_t count;   /* of them */
    uint64_t piece;   /* the current one, counted from the beginning of the run */
    unsigned part;
} pl_gibbs_worker;

typedef struct pl_gibbs {
    pl_local base;
    const pl_lda *lda;
    pl_team *team;
    pl_gibbs_worker *worker; /* hosted */
    pl_gibbs_lane *lane;     /* hosted x lanes */
    bool owns_v, begun;      /* begun: tokens have topics */
    bool dense, listed;      /* listed: workers know which entries they read */
    double burn_in;
    float *sum;        /* words x topics: of the counts of samples; NULL: there will be none */
    double samples;    /* in the sum */
    uint64_t averaged; /* the pass of the last of them */
    uint64_t pieces;   /* of a pass */
    uint64_t passes;   /* of a round; 1 if a pass has several pieces */
    pl_topic_score score;
    double *v;
    const double *sample; /* that is being added to the sum */
} pl_gibbs;

/* gibbs_setup.c */
parley_status pl_gibbs_open(const pl_setup *setup, pl_local **out, parley_error *error);
uint64_t pl_gibbs_bytes(const pl_setup *setup);
void pl_gibbs_close(pl_local *local);
/* Counts the topics of a lane's documents anew. */
void pl_gibbs_count(pl_gibbs *self, unsigned task);
/* Lists the entries of v that a worker reads, unless it reads most of them. */
parley_status pl_gibbs_list(pl_gibbs *self, unsigned worker, parley_error *error);
/* Whether a worker has tokens of the word. */
bool pl_gibbs_has(const pl_gibbs *self, unsigned worker, uint64_t word);

#endif
