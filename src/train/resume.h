/* resume.h: the checkpoint that a run goes on from. */
#ifndef PL_RESUME_H
#define PL_RESUME_H

#include "train/checkpoint.h"

typedef struct pl_resume {
    char folder[PL_TEXT];
    uint64_t round;
    pl_container *manifest; /* NULL: the run begins at the beginning */
    bool exact;             /* the same method and workers: bit for bit */
    pl_parts parts;
} pl_resume;

void pl_resume_close(pl_resume *resume);

#endif
