/* pacing.h: chooses H, the local work between two exchanges, during training. It is a pure function of its inputs and
 * reads no clock. */
#ifndef PL_PACING_H
#define PL_PACING_H

#include <stdbool.h>
#include <stdint.h>

#define PL_PACING_ROUNDS 32   /* number of recent rounds from which costs are fitted */
#define PL_PACING_MOST 128.0  /* epochs in a round */
#define PL_PACING_WAIT 16     /* most blocks between two trials */
#define PL_PACING_FEWEST 1e-6 /* least reach, and the inverse of the largest */

/* Results of a block of rounds with the same H. */
typedef struct pl_pacing_block {
    uint64_t rounds, points; /* rounds since it began, and those with a known gap */
    double x, y, xx, xy, yy; /* sums over the points: round, logarithm of the gap */
} pl_pacing_block;

/* The decrease of the logarithm of the gap per round. */
typedef struct pl_fall {
    double mean, variance;
} pl_fall;

typedef struct pl_pacing {
    /* The decision. */
    double epochs;   /* H of the next round */
    const char *why; /* the reason for this H */
    double fall;     /* predicted decrease of the logarithm of the gap in the next round; NaN while unknown */
    /* What the decision is based on. */
    double epoch_seconds, round_seconds; /* a round takes round_seconds + H epoch_seconds */
    double fixed_seconds;                /* fixed local work per round, part of round_seconds; NaN if unknown */
    double reach;     /* epochs of local work after which a round has gained 1 - 1/e of its maximum */
    double most_fall; /* what a round of very large H would gain; NaN if unknown */
    double planned;   /* seconds of an epoch in the plan that `reach` comes from; 0: there is none */
    /* The state. */
    double least;            /* H of a single step */
    double base;             /* the current H, while another may be on trial */
    pl_fall before, tried;   /* at base and on trial; NaN if there is none */
    double trial;            /* the H of `tried` */
    int direction;           /* of the next trial: 1 longer, -1 shorter */
    unsigned wins;           /* successive trials that were better */
    unsigned failures, wait; /* trials that changed nothing; blocks until the next trial */
    bool on_trial, alone;
    uint64_t rounds;
    pl_pacing_block block;
    /* The latest rounds in a ring buffer: H, seconds of local work, seconds of the rest. */
    double work[PL_PACING_ROUNDS], local[PL_PACING_ROUNDS], rest[PL_PACING_ROUNDS];
} pl_pacing;

/* `least` is the H of a single step. With one worker H stays 1, since there is no communication. */
void pl_pacing_open(pl_pacing *pacing, unsigned workers, double least);
/* Begins at an H that a plan found best where an epoch and the rest of a round take these seconds. */
void pl_pacing_begin(pl_pacing *pacing, double epochs, double epoch, double round);
/* Takes a round of pacing->epochs into account and chooses the H of the next. It took `local` seconds of local work and
 * `rest` seconds of everything else except evaluation; known fixed local work per round counts as `rest`. `gap` is the
 * gap after it, or an estimate (NaN if unknown). */
void pl_pacing_note(pl_pacing *pacing, double local, double rest, double gap);
/* The H that gains most per second if the gain of a round is proportional to 1 - exp(-H / reach). */
double pl_pacing_best(double epoch_seconds, double round_seconds, double reach);

#endif
