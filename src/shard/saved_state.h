/* saved_state.h: what the parts of a run hold between two rounds, as named tensors. Each part lists its state once; the
 * same list saves and restores it.
 *
 * There are three kinds: what is alike on all ranks, which rank 0 keeps; what a worker owns, kept by its rank; and what
 * belongs to entries of v, kept by their owner. So a state can be restored on another number of ranks, as long as there
 * are as many workers. Rows and columns are numbered as their worker has them, because ranks may hold their own only.
 */
#ifndef PL_SAVED_STATE_H
#define PL_SAVED_STATE_H

#include "data/container.h"
#include "shard/team.h"

#define PL_STATE_FIELDS 96
#define PL_STATE_ALL UINT32_MAX /* in the place of a worker: alike on all ranks */

typedef enum pl_value_kind { PL_OF_REAL, PL_OF_WHOLE, PL_OF_UNSIGNED, PL_OF_INT, PL_OF_FLAG } pl_value_kind;

/* A variable; whole numbers must be below 2^53. */
typedef struct pl_value {
    void *at;
    pl_value_kind kind;
} pl_value;

#define PL_VALUE(variable)                                                                                             \
    {                                                                                                                  \
        &(variable), _Generic((variable), double                                                                       \
                              : PL_OF_REAL, uint64_t                                                                   \
                              : PL_OF_WHOLE, unsigned                                                                  \
                              : PL_OF_UNSIGNED, int                                                                    \
                              : PL_OF_INT, bool                                                                        \
                              : PL_OF_FLAG)                                                                            \
    }

double pl_value_get(const pl_value *value);
void pl_value_set(const pl_value *value, double number);

typedef enum pl_field_kind { PL_FIELD_COMMON, PL_FIELD_WORKER, PL_FIELD_SLICE } pl_field_kind;

typedef struct pl_field {
    char name[48], start_name[56];
    pl_field_kind kind;
    pl_dtype type;
    char *data;
    uint64_t bytes, room;
    uint64_t *start; /* in values: of each hosted worker, and the end; of a slice: its begin and end in v */
    uint64_t pieces;
} pl_field;

/* A file of each rank that wrote the state, opened when something in it is asked for. */
typedef struct pl_parts {
    const char *folder;
    uint64_t round;
    unsigned ranks;
    uint64_t *bounds; /* ranks + 1: the slices of v that they owned */
    pl_container **part;
} pl_parts;

typedef struct pl_state {
    bool restoring;
    const pl_team *team;
    uint64_t begin, end; /* of this rank's slice of v */
    const char *owner;   /* the part whose list this is: names begin with it */
    unsigned worker;     /* hosted, whose list this is; or PL_STATE_ALL */
    parley_status status;
    parley_error error; /* the first failure; what is listed after it is left alone */
    pl_field *fields;   /* saving */
    unsigned count;
    pl_parts *parts; /* restoring */
} pl_state;

/* Who is listed next. */
void pl_state_of(pl_state *state, const char *owner, unsigned worker);
void pl_state_array(pl_state *state, const char *name, void *array, pl_dtype type, uint64_t count);
void pl_state_values(pl_state *state, const char *name, const pl_value *values, unsigned count);
#define PL_STATE_VALUES(state, name, ...)                                                                              \
    pl_state_values(state, name, (const pl_value[]){__VA_ARGS__},                                                      \
                    (unsigned)(sizeof(const pl_value[]){__VA_ARGS__} / sizeof(pl_value)))
/* How much of an array is in use; restoring fails if that is more than there is room for. */
void pl_state_length(pl_state *state, const char *name, uint64_t *length, uint64_t most);
/* Of an array with `each` values for each row of the data, or column, those that `team` gave to the worker. */
void pl_state_rows(pl_state *state, const pl_team *team, const char *name, void *array, pl_dtype type, uint64_t each);
/* `each` values at a time, `stride` bytes apart: items [0, count), or those that `index` lists. */
void pl_state_items(pl_state *state, const char *name, void *first, pl_dtype type, uint64_t each, uint64_t stride,
                    const uint32_t *index, uint64_t count);
/* `columns` columns of the owned entries of v, [begin, end) each. */
void pl_state_slice(pl_state *state, const char *name, double *array, uint64_t columns);
/* Where an array is kept, for those that are kept in another form: to be filled, or to be read. NULL: nowhere. */
void *pl_state_room(pl_state *state, const char *name, pl_dtype type, uint64_t count);
void pl_state_fail(pl_state *state, parley_status status, const char *why);

/* Saving: what is listed is copied, and written later. */
parley_status pl_state_open(pl_state *state, parley_error *error);
void pl_state_begin(pl_state *state, const pl_team *team, uint64_t begin, uint64_t end); /* forgets the last copy */
parley_status pl_state_write(const pl_state *state, const char *path, const pl_pair *metas, unsigned meta_count,
                             parley_error *error);
void pl_state_close(pl_state *state);

/* The file of a rank. */
void pl_part_path(char *path, size_t size, const char *folder, uint64_t round, unsigned rank);
parley_status pl_parts_open(pl_parts *parts, const char *folder, uint64_t round, unsigned ranks, parley_error *error);
void pl_parts_close(pl_parts *parts);

/* Writes a container with a checksum of everything in it; sees whether it is right. */
parley_status pl_checked_write(const char *path, const pl_tensor *tensors, unsigned count, const pl_pair *metas,
                               unsigned meta_count, parley_error *error);
parley_status pl_checked_open(const char *path, pl_container **out, parley_error *error);

#endif
