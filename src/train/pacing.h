/* pacing.h: H, the local work between two exchanges, chosen while training. A pure function of what it is told: no
 * clock is read here. */
#ifndef PL_PACING_H
#define PL_PACING_H

#include <stdbool.h>
#include <stdint.h>

#define PL_PACING_ROUNDS 32 /* the latest, that costs are taken from */

/* What a block of rounds of one H showed. */
typedef struct pl_pacing_block {
    uint64_t rounds, points; /* rounds since it began; those with a known gap */
    double x, y, xx, xy, yy; /* sums over the points: round, logarithm of the gap */
} pl_pacing_block;

/* Of the logarithm of the gap in a round, as a block shows it. */
typedef struct pl_fall {
    double mean, variance;
} pl_fall;

typedef struct pl_pacing {
    /* the decision */
    double epochs;   /* H of the next round */
    const char *why; /* it is that */
    double fall;     /* of the logarithm of the gap, predicted for the next round; NaN: nothing is known yet */
    /* what it rests on */
    double epoch_seconds, round_seconds; /* a round takes round_seconds + H epoch_seconds */
    double fixed_seconds;                /* of them, local work by the round; NaN: not known */
    double reach;                        /* epochs of local work after which a round has gained 1 - 1/e of its most */
    double most_fall;                    /* what a round of very large H would gain; NaN: not known */
    /* state */
    double least;            /* H of a single step */
    double base;             /* H that is held, while another may be on trial */
    pl_fall before, tried;   /* at base and on trial; NaN: none */
    double trial;            /* the H of `tried` */
    int direction;           /* of the next trial: 1 longer, -1 shorter */
    unsigned wins;           /* trials in turn that were better */
    unsigned failures, wait; /* trials that changed nothing; blocks until the next */
    bool on_trial, alone;
    uint64_t rounds;
    pl_pacing_block block;
    /* the latest rounds, in a ring: H, seconds of local work, seconds of the rest */
    double work[PL_PACING_ROUNDS], local[PL_PACING_ROUNDS], rest[PL_PACING_ROUNDS];
} pl_pacing;

/* `least` is the H of a single step. With one worker H stays 1: there is nobody to talk to. */
void pl_pacing_open(pl_pacing *pacing, unsigned workers, double least);
/* A round of pacing->epochs took `local` seconds of local work and `rest` seconds of everything else but evaluation,
 * such local work as is known to be by the round included, and left this gap or an estimate of it (NaN: not known).
 * Decides the next round's H. */
void pl_pacing_note(pl_pacing *pacing, double local, double rest, double gap);
/* The H that gains most per second, by the model: a round gains in proportion to 1 - exp(-H / reach). */
double pl_pacing_best(double epoch_seconds, double round_seconds, double reach);

#endif
