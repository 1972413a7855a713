/* svi.h: stochastic variational inference for topic models (Hoffman et al. 2013), with variational updates or the
 * collapsed ones of CVB0 (Foulds et al. 2013).
 *
 * A worker takes its documents in batches. Step t, with rate rho = (tau0 + t)^-kappa, makes
 *
 *     T <- (1 - rho) T + rho (documents / documents of the batch) sum c phi
 *
 * where phi are the shares of topics in each word of the batch (topic_kernel.h). Only the rows of the batch's words are
 * touched: the worker's table is kept as s T, with a factor s that decays. Every step has four phases, in which the
 * lanes of all workers work in parallel: words of the batch are numbered; their rows of E are made; each lane visits
 * its documents and adds up statistics of its own; the statistics are merged into the table in the order of lanes.
 *
 * A batch of all documents (variational EM) goes through these phases in slices, whose statistics are merged into a
 * second table, so that memory does not grow with the batch. Documents are shuffled by blocks and within them, so that
 * a corpus that is larger than memory is read block by block. */
#ifndef PL_SVI_H
#define PL_SVI_H

#include "shard/row_blocks.h"
#include "topics/topic_kernel.h"
#include "topics/topic_solver.h"

/* A lane of a worker. */
typedef struct pl_svi_lane {
    uint64_t *order; /* its rows, shuffled in each epoch */
    uint64_t rows;
    pl_row_block *block;                   /* in the order of its part */
    uint64_t *block_order;                 /* in the order of the epoch */
    uint64_t blocks, block_now, block_end; /* the current one in that order, and where it ends in `order` */
    uint64_t begin, end;                   /* of the slice, in `order` */
    uint64_t entries;                      /* of the slice in earlier lanes */
    pl_topic_room room;                    /* of a document */
    pl_span stats;                         /* words of the slice x stride */
    double *totals;                        /* by topic: sums of the statistics that this lane merged */
    double *log_theta; /* by topic: sum over documents of psi(gamma) - psi(alpha); NULL unless alpha is learnt */
    double documents, psi_sum, log_sum, tokens; /* sums over the batch; psi of the sum of gamma */
} pl_svi_lane;

/* A hosted worker. */
typedef struct pl_svi_worker {
    double *table;    /* T / s, and the rows after it: v itself, or a copy */
    pl_span copy;     /* of v */
    double scale;     /* s */
    double gain;      /* of the statistics of a step: rho x documents / documents of the batch */
    uint32_t *number; /* by word: 1 + its number in the batch, while numbers are given; otherwise 0 */
    pl_span words;    /* the words of the batch, by number */
    uint64_t count;   /* of them */
    pl_span entries;  /* by entry of the batch: the number of its word */
    pl_span expected; /* E: words x stride */
    float *factor;    /* by topic: 1 / total, or exp -psi(total) */
    float *alpha;     /* by topic */
    pl_span change;   /* joint rounds: rows of the update, and */
    pl_span rows;     /* their numbers in v */
    pl_span next;     /* --batch all: the table that replaces T */
} pl_svi_worker;

typedef struct pl_svi {
    pl_local base;
    const pl_lda *lda;
    pl_team *team;
    pl_svi_worker *worker; /* hosted */
    pl_svi_lane *lane;     /* hosted x lanes */
    pl_topic_rule rule;
    double tau0, kappa;
    bool all;         /* --batch all: the rate is 1 */
    bool owns_v;      /* the only worker steps in v */
    uint64_t slices;  /* of a batch */
    uint64_t batches; /* of an epoch */
    uint64_t epoch;   /* 1 + the number of the epoch whose order the lanes have; 0: none */
    pl_topic_score score;
    /* the current step */
    uint64_t step; /* t - 1 */
    double rho;
    bool joint;       /* workers offer their shares of one step */
    atomic_bool lost; /* memory ran out */
} pl_svi;

/* svi_setup.c */
parley_status pl_svi_open(const pl_setup *setup, pl_local **out, parley_error *error);
uint64_t pl_svi_bytes(const pl_setup *setup);
void pl_svi_close(pl_local *local);

#endif
