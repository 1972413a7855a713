/* resume.h: the checkpoint from which a run continues. */
#ifndef PL_RESUME_H
#define PL_RESUME_H

#include "train/checkpoint.h"

typedef struct pl_resume {
    char folder[PL_TEXT];
    uint64_t round;
    pl_container *manifest; /* NULL: the run starts from the beginning */
    bool exact;             /* same method and workers: continues bit for bit */
    pl_parts parts;
} pl_resume;

void pl_resume_close(pl_resume *resume);

#endif
