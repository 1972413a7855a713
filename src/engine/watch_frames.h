/* watch_frames.h: shared by the files of the watch: its state and its messages. watch.c has the connections and the
 * thread, watch_frames.c says what a message means. */
#ifndef PL_WATCH_FRAMES_H
#define PL_WATCH_FRAMES_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/handshake.h"
#include "engine/watch.h"

typedef enum pl_frame_kind {
    PL_FRAME_NAME = 1,
    PL_FRAME_BEAT,
    PL_FRAME_FAILED,
    PL_FRAME_LATE,
    PL_FRAME_CAUSE,
    PL_FRAME_BYE,
    PL_FRAME_STOP
} pl_frame_kind;

/* A message of the watch. */
typedef struct pl_frame {
    uint8_t kind, status;
    uint16_t speaker;
    uint32_t rank; /* the rank that is late, or is waited for */
    char text[sizeof((parley_error *)0)->sentence];
} pl_frame;

/* The other end of a connection. */
typedef struct pl_peer {
    int socket; /* -1 if it is gone or was never there */
    unsigned waits;
    double heard;
    uint64_t got; /* bytes received of the current frame */
    bool left;    /* closed normally */
    char host[PL_WATCH_HOST];
    pl_frame frame;
} pl_peer;

struct pl_watch {
    unsigned rank, ranks;
    double deadline, beat;
    bool here; /* all ranks are on this machine */
    pl_secret secret;
    pl_listener *listener; /* until all ranks have joined */
    int wake[2];
    pl_peer *peers; /* rank 0 uses all, the others only that of rank 0 */
    char host[PL_WATCH_HOST];
    pthread_t thread;
    bool running;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool begun;           /* rank 0 has sent a frame, so all ranks are connected */
    bool closing, parted; /* this rank is ending; the speaker has reported */
    atomic_bool failed;
    atomic_uint waits;
    unsigned speaker;
    parley_error cause;
};

/* The mutex is held in those that change the watch. */
static inline bool pl_watch_is_first(const pl_watch *watch) { return watch->rank == 0; }
void pl_watch_send(const pl_peer *peer, const pl_frame *frame);
void pl_watch_send_all(const pl_watch *watch, const pl_frame *frame);
/* Takes this as the cause of the failure, unless there is one already, and tells it to the other ranks. */
void pl_watch_set_cause(pl_watch *watch, const parley_error *cause, unsigned speaker);
void pl_watch_lose(pl_watch *watch, unsigned rank, const char *how);
void pl_watch_lose_silent(pl_watch *watch, unsigned rank);
/* A rank that is late may itself be waiting for another one. The rank at the end of that chain is named. */
void pl_watch_lose_late(pl_watch *watch, unsigned rank);
/* Where the next bytes from a rank go, and how many there are at most. */
void *pl_watch_room(pl_watch *watch, unsigned from, uint64_t *bytes);
/* Takes `count` bytes that a rank sent and that are in that place. */
void pl_watch_take(pl_watch *watch, unsigned from, uint64_t count);

#endif
