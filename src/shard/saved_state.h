/* saved_state.h: the state of a run between two rounds, as named tensors. Each component lists its state once, and the
 * same list is used to save and to restore it.
 *
 * There are three kinds of state. State that is equal on all ranks is saved by rank 0, state of a worker by the rank
 * that hosts it, and state of an entry of v by the rank that owns the entry. A run can therefore resume with another
 * number of ranks, if the number of workers stays the same. Rows and columns are numbered within their worker, because
 * a rank may hold only its own. */
#ifndef PL_SAVED_STATE_H
#define PL_SAVED_STATE_H

#include <float.h>
#include <limits.h>
#include <math.h>

#include "data/container.h"
#include "shard/team.h"

#define PL_STATE_FIELDS 96
#define PL_STATE_ALL UINT32_MAX /* in place of a worker: the state is equal on all ranks */

typedef enum pl_value_kind { PL_OF_REAL, PL_OF_WHOLE, PL_OF_UNSIGNED, PL_OF_INT, PL_OF_FLAG } pl_value_kind;

/* A variable and the values that may be restored to it. Integers must be below 2^53, because they are saved as doubles.
 */
typedef struct pl_value {
    void *at;
    pl_value_kind kind;
    const char *name;   /* for messages */
    double least, most; /* what is outside is refused */
    bool unknown;       /* NaN is accepted as well */
} pl_value;

#define PL_VALUE_KIND(variable)                                                                                        \
    _Generic((variable), double                                                                                        \
             : PL_OF_REAL, uint64_t                                                                                    \
             : PL_OF_WHOLE, unsigned                                                                                   \
             : PL_OF_UNSIGNED, int                                                                                     \
             : PL_OF_INT, bool                                                                                         \
             : PL_OF_FLAG)
/* Anything that the variable can hold: a finite number, a count, or false and true. */
#define PL_VALUE(variable)                                                                                             \
    {                                                                                                                  \
        &(variable), PL_VALUE_KIND(variable), #variable,                                                               \
            _Generic((variable), double                                                                                \
                     : -DBL_MAX, int                                                                                   \
                     : (double)INT_MIN, default : 0.0),                                                                \
            _Generic((variable), double                                                                                \
                     : DBL_MAX, uint64_t                                                                               \
                     : PL_MOST_WHOLE, unsigned                                                                         \
                     : (double)UINT_MAX, int                                                                           \
                     : (double)INT_MAX, bool : 1.0),                                                                   \
            false                                                                                                      \
    }
#define PL_WITHIN(variable, least, most)                                                                               \
    { &(variable), PL_VALUE_KIND(variable), #variable, (double)(least), (double)(most), false }
/* A number that may be NaN or infinite because it is not known yet. It may decide, but not count or index. */
#define PL_UNSURE(variable)                                                                                            \
    { &(variable), _Generic((variable), double : PL_OF_REAL), #variable, -INFINITY, INFINITY, true }
#define PL_MOST_WHOLE 9007199254740992.0 /* 2^53 */

/* Whether a restored number is a value of the variable. */
bool pl_value_fits(const pl_value *value, double number);
double pl_value_get(const pl_value *value);
void pl_value_set(const pl_value *value, double number);

typedef enum pl_field_kind { PL_FIELD_COMMON, PL_FIELD_WORKER, PL_FIELD_SLICE } pl_field_kind;

typedef struct pl_field {
    char name[48], start_name[56];
    pl_field_kind kind;
    pl_dtype type;
    char *data;
    uint64_t bytes, room;
    uint64_t *start; /* in values: where each hosted worker begins, and the end; for a slice, its bounds in v */
    uint64_t pieces;
} pl_field;

/* The files of a checkpoint, one per rank that wrote it. Each is opened on first use. */
typedef struct pl_parts {
    const char *folder;
    uint64_t round;
    unsigned ranks, hosts; /* the latter had workers */
    uint64_t *bounds;      /* ranks + 1: the slices of v that those ranks owned */
    pl_container **part;
} pl_parts;

typedef struct pl_state {
    bool restoring;
    const pl_team *team;
    uint64_t begin, end; /* this rank's slice of v */
    const char *owner;   /* the component being listed, which is the prefix of the tensor names */
    unsigned worker;     /* number of the hosted worker being listed, or PL_STATE_ALL */
    parley_status status;
    parley_error error; /* the first failure; later calls do nothing */
    pl_field *fields;   /* when saving */
    unsigned count;
    pl_parts *parts; /* when restoring */
} pl_state;

/* Sets the component and the worker that the next calls list. */
void pl_state_of(pl_state *state, const char *owner, unsigned worker);
/* Whether the checkpoint has an array of this name, which older versions did not write. True when saving. */
bool pl_state_has(pl_state *state, const char *name);
/* Numbers of type PL_F64 and PL_F32 must be finite to be restored, here and below. */
void pl_state_array(pl_state *state, const char *name, void *array, pl_dtype type, uint64_t count);
void pl_state_values(pl_state *state, const char *name, const pl_value *values, unsigned count);
#define PL_STATE_VALUES(state, name, ...)                                                                              \
    pl_state_values(state, name, (const pl_value[]){__VA_ARGS__},                                                      \
                    (unsigned)(sizeof(const pl_value[]){__VA_ARGS__} / sizeof(pl_value)))
/* The used length of an array. Restoring fails if it exceeds `most`. */
void pl_state_length(pl_state *state, const char *name, uint64_t *length, uint64_t most);
/* The worker's part, as assigned by `team`, of an array with `each` values per row or column of the data. */
void pl_state_rows(pl_state *state, const pl_team *team, const char *name, void *array, pl_dtype type, uint64_t each);
/* Groups of `each` values, `stride` bytes apart: groups [0, count), or those listed in `index`. */
void pl_state_items(pl_state *state, const char *name, void *first, pl_dtype type, uint64_t each, uint64_t stride,
                    const uint32_t *index, uint64_t count);
/* `columns` columns of this rank's slice [begin, end) of v. */
void pl_state_slice(pl_state *state, const char *name, double *array, uint64_t columns);
/* Returns the saved copy of an array, for state that is not saved as it is in memory. The caller fills it when saving
 * and reads it when restoring. NULL: this rank does not save it, or an error occurred. */
void *pl_state_room(pl_state *state, const char *name, pl_dtype type, uint64_t count);
void pl_state_fail(pl_state *state, parley_status status, const char *why);
/* Refuses what was restored. The sentence names the file and the tensor: "FILE: NAME WHY: the file is damaged". */
void pl_state_refuse(pl_state *state, const char *name, const char *why);
/* Refuses `order` unless it has each of 0 to count - 1 once. */
void pl_state_check_order(pl_state *state, const char *name, const uint64_t *order, uint64_t count);

/* Saving copies the listed state; pl_state_write writes the copy later. */
parley_status pl_state_open(pl_state *state, parley_error *error);
void pl_state_begin(pl_state *state, const pl_team *team, uint64_t begin,
                    uint64_t end); /* discards the previous copy */
parley_status pl_state_write(const pl_state *state, const char *path, const pl_pair *metas, unsigned meta_count,
                             parley_error *error);
void pl_state_close(pl_state *state);

/* The path of a rank's checkpoint file. */
void pl_part_path(char *path, size_t size, const char *folder, uint64_t round, unsigned rank);
parley_status pl_parts_open(pl_parts *parts, const char *folder, uint64_t round, unsigned ranks, parley_error *error);
void pl_parts_close(pl_parts *parts);

/* Write and open a container with a checksum of its content. Opening fails if the checksum does not match. */
parley_status pl_checked_write(const char *path, const pl_tensor *tensors, unsigned count, const pl_pair *metas,
                               unsigned meta_count, parley_error *error);
parley_status pl_checked_open(const char *path, pl_container **out, parley_error *error);

#endif
