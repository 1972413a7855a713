/* verdict.h: what a log tells about a run, in sentences: how it ended, where its time went, and what would help. */
#ifndef PL_VERDICT_H
#define PL_VERDICT_H

#include "trace/run_table.h"

typedef enum pl_sentence_kind {
    PL_GOOD,   /* how it ended, well */
    PL_POOR,   /* how it ended, otherwise */
    PL_TIME,   /* where the time went */
    PL_ADVICE, /* what would help */
} pl_sentence_kind;

#define PL_MOST_SENTENCES 8
typedef struct pl_verdict {
    unsigned count;
    struct {
        pl_sentence_kind kind;
        char text[400];
    } sentence[PL_MOST_SENTENCES];
} pl_verdict;

void pl_verdict_of(const pl_run_table *table, pl_verdict *out); /* the table is finished */
const char *pl_verdict_kind(pl_sentence_kind kind);             /* good, poor, time, advice */

#endif
