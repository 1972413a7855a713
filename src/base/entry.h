/* entry.h: the name of a member and what it is, for lists. */
#ifndef PL_ENTRY_H
#define PL_ENTRY_H

#include <stdbool.h>

typedef struct pl_entry {
    const char *name, *help;
} pl_entry;

/* A list of one wing, such as losses. `at` gives member `number`, and returns false if there are fewer. */
typedef struct pl_own_list {
    const char *kind;
    bool (*at)(unsigned number, pl_entry *entry);
} pl_own_list;

#endif
