/* gibbs.h: collapsed sampling for topic models. Every token has a topic, which is drawn anew in each pass from its
 * conditional distribution, given all others (topic_sampler.h). v holds the counts of words by topic. A worker knows
 * the topics of its own tokens, and offers the changes of the counts.
 *
 * The lanes of a worker divide its documents, and its words into as many ranges. A pass has as many parts as there are
 * lanes: in part s, lane l visits range l + s of its documents' words. So no two lanes touch the same document or the
 * same word, and only the sums over words are a part behind. */
#ifndef PL_GIBBS_H
#define PL_GIBBS_H

#include "local/local.h"
#include "math/topic_sampler.h"
#include "model/lda.h"

typedef struct pl_gibbs_lane {
    uint64_t documents, tokens;
    uint64_t *first;    /* by word: its first token; words + 1 */
    uint32_t *document; /* by token, in the order of words: the number of its document in the lane */
    uint32_t *topic;    /* by token; a part of the worker's */
    uint32_t *length;   /* tokens by document */
    pl_topic_sampler sampler;
} pl_gibbs_lane;

typedef struct pl_gibbs_worker {
    double *table; /* v, or a copy */
    pl_span copy;
    pl_span topics; /* of all tokens, by lane */
    uint64_t tokens;
    uint64_t *bounds; /* lanes + 1: ranges of words */
    double *before;   /* by topic: sums at the beginning of a part */
    double sums[2];   /* log likelihood and tokens since the last evaluation */
} pl_gibbs_worker;

typedef struct pl_gibbs {
    pl_local base;
    const pl_lda *lda;
    pl_team *team;
    pl_gibbs_worker *worker; /* hosted */
    pl_gibbs_lane *lane;     /* hosted x lanes */
    bool alone, begun;       /* begun: tokens have topics */
    bool dense;
    double burn_in;
    uint64_t averaged; /* the pass of the last sample in the average */
    double latest;
    double *sums_room;
    /* the current part of a pass */
    uint64_t pass;
    unsigned part;
    double *v;
} pl_gibbs;

/* gibbs_setup.c */
parley_status pl_gibbs_open(const pl_setup *setup, pl_local **out, parley_error *error);
uint64_t pl_gibbs_bytes(const pl_setup *setup);
void pl_gibbs_close(pl_local *local);
/* Counts the topics of a lane's documents anew. */
void pl_gibbs_count(pl_gibbs *this, unsigned task);

#endif
