/* watch_frames.c: what the messages of the watch mean, and who is told of a failure. */
#define _POSIX_C_SOURCE 200809L
#include "engine/watch_frames.h"

#include "base/stop.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* Frames are smaller than any socket's buffer. If one does not fit, the receiver is not reading. */
void pl_watch_send(const pl_peer *peer, const pl_frame *frame) {
    if (peer->socket >= 0 && send(peer->socket, frame, sizeof *frame, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        return;
}

void pl_watch_send_all(const pl_watch *watch, const pl_frame *frame) {
    for (unsigned r = 0; r < (pl_watch_is_first(watch) ? watch->ranks : 1); r++)
        pl_watch_send(&watch->peers[r], frame);
}

void pl_watch_set_cause(pl_watch *watch, const parley_error *cause, unsigned speaker) {
    if (atomic_load(&watch->failed))
        return;
    watch->cause = *cause;
    watch->speaker = speaker;
    atomic_store(&watch->failed, true);
    pthread_cond_broadcast(&watch->changed);
    pl_frame frame = {.kind = PL_FRAME_CAUSE, .status = (uint8_t)cause->status, .speaker = (uint16_t)speaker};
    snprintf(frame.text, sizeof frame.text, "%s", cause->sentence);
    pl_watch_send_all(watch, &frame); /* also to rank 0, which may wake up again */
}

void pl_watch_lose(pl_watch *watch, unsigned rank, const char *how) {
    parley_error cause;
    pl_fail(&cause, PARLEY_NO_PEER, "rank %u on %s %s", rank, watch->peers[rank].host, how);
    pl_watch_set_cause(watch, &cause, rank == 0 ? 1 : 0);
}

void pl_watch_lose_silent(pl_watch *watch, unsigned rank) {
    char how[128];
    snprintf(how, sizeof how, "was not heard of for %g seconds: it is stopped or cut off", watch->deadline);
    pl_watch_lose(watch, rank, how);
}

void pl_watch_lose_late(pl_watch *watch, unsigned rank) {
    char how[128];
    for (unsigned i = 0; i < watch->ranks; i++) {
        unsigned next = rank == watch->rank ? atomic_load(&watch->waits) : watch->peers[rank].waits;
        if (next == rank || next >= watch->ranks)
            break;
        rank = next;
    }
    snprintf(how, sizeof how, "kept others waiting for %g seconds; --deadline allows more", watch->deadline);
    pl_watch_lose(watch, rank, how);
}

static void read_frame(pl_watch *watch, unsigned from, const pl_frame *frame) {
    parley_error cause = {.status = PARLEY_BROKEN};
    if (frame->status > PARLEY_OK && frame->status <= PARLEY_STOPPED) /* else it would be no failure */
        cause.status = (parley_status)frame->status;
    memcpy(cause.sentence, frame->text, sizeof cause.sentence);
    cause.sentence[sizeof cause.sentence - 1] = '\0';
    switch (frame->kind) {
    case PL_FRAME_NAME:
        snprintf(watch->peers[from].host, PL_WATCH_HOST, "%.*s", PL_WATCH_HOST - 1, cause.sentence);
        break;
    case PL_FRAME_BEAT: watch->peers[from].waits = frame->rank; break;
    case PL_FRAME_FAILED: pl_watch_set_cause(watch, &cause, 0); break;
    case PL_FRAME_LATE:
        if (frame->rank < watch->ranks)
            pl_watch_lose_late(watch, frame->rank);
        break;
    case PL_FRAME_CAUSE: pl_watch_set_cause(watch, &cause, frame->speaker < watch->ranks ? frame->speaker : 0); break;
    case PL_FRAME_STOP: pl_stop_join(); break; /* rank 0 then tells all */
    case PL_FRAME_BYE:
        watch->peers[from].left = true;
        watch->parted = watch->parted || from == watch->speaker;
        pthread_cond_broadcast(&watch->changed);
        if (pl_watch_is_first(watch) && watch->parted)
            pl_watch_send_all(watch, frame); /* rank 0 reports it or forwards it */
        break;
    default: break;
    }
}

void *pl_watch_room(pl_watch *watch, unsigned from, uint64_t *bytes) {
    pl_peer *peer = &watch->peers[from];
    *bytes = sizeof peer->frame - peer->got;
    return (char *)&peer->frame + peer->got;
}

void pl_watch_take(pl_watch *watch, unsigned from, uint64_t count) {
    pl_peer *peer = &watch->peers[from];
    peer->got += count;
    if (peer->got < sizeof peer->frame)
        return;
    peer->got = 0;
    if (!watch->begun)
        pthread_cond_broadcast(&watch->changed);
    watch->begun = true;
    read_frame(watch, from, &peer->frame);
}
