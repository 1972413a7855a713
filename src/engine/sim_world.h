/* sim_world.h: a world under a virtual clock, in which strands of execution (ranks and their tasks) take turns. One
 * strand runs at a time: the one whose clock, or whose message, is earliest. So a strand never gets a message later
 * than one that will still be sent, and a run with modelled costs repeats exactly. */
#ifndef PL_SIM_WORLD_H
#define PL_SIM_WORLD_H

#include <pthread.h>

#include "engine/engine.h"
#include "engine/network.h"

#define PL_ANY_RANK UINT32_MAX

typedef struct pl_mail {
    struct pl_mail *next;
    unsigned from, channel;
    double arrives;
    uint64_t bytes;
    char data[];
} pl_mail;

typedef struct pl_strand pl_strand;
typedef struct pl_world pl_world;

/* A simulated host, which is a rank. */
typedef struct pl_sim_host {
    pl_link link;
    double speed; /* of its processor */
    double *core; /* when each of its cores is free */
    unsigned cores;
    double cpu;         /* processor seconds that it used */
    pl_mail **box;      /* lists by channel and sender */
    pl_strand *waiting; /* its strands that wait for messages */
} pl_sim_host;

struct pl_world {
    pthread_mutex_t mutex;
    pl_network network;
    pl_network later; /* the network from `changes` on */
    double changes;   /* infinite: never */
    double *shared;   /* when each core that all hosts share is free; NULL: they have their own */
    double crowded;   /* with shared cores: how many times as long work takes while another core works */
    bool measured;    /* processor time is measured; otherwise only `spend` and messages take time */
    unsigned hosts;
    pl_sim_host *host;
    pl_strand **heap; /* strands that can go on, earliest first */
    unsigned ready, room;
    pl_strand *all;  /* strands that wait for messages or for others, for deadlocks */
    uint64_t number; /* of strands so far, which decides between equal clocks */
    bool failed;
    parley_error failure;
};

/* From `seconds` on, messages take `factor` times as long. */
void pl_world_change(pl_world *world, double seconds, double factor);
/* All hosts compute on the same cores, as containers of one machine do. Work takes `crowded` times as long while
 * another core works. */
parley_status pl_world_share_cores(pl_world *world, unsigned cores, double crowded, parley_error *error);
parley_status pl_world_open(pl_world *world, unsigned hosts, unsigned cores, const pl_network *network, bool measured,
                            parley_error *error);
void pl_world_close(pl_world *world);

/* Runs `body` as a strand of its own for each of `count` numbers, on a host each, beginning at the caller's clock or,
 * if it is no strand, at 0. Returns when all have ended; the caller's clock is then the latest of theirs. */
typedef void (*pl_strand_body)(void *context, unsigned number);
parley_status pl_world_run(pl_world *world, pl_strand_body body, void *context, unsigned count,
                           unsigned (*host)(void *context, unsigned number), parley_error *error);

/* For the strand that calls. */
double pl_strand_now(pl_world *world);
/* Computes for `seconds` of a processor of speed 1, on the first core of the host that is free. */
void pl_strand_compute(pl_world *world, double seconds);
void pl_strand_pause(pl_world *world, double seconds); /* lets time pass without computing */
/* Runs a number of tasks on the cores of the host. Their clocks begin at that of the strand. */
void pl_strand_tasks(pl_world *world, pl_task task, void *context, unsigned tasks);
parley_status pl_strand_post(pl_world *world, unsigned to, unsigned channel, const void *data, uint64_t bytes,
                             parley_error *error);
/* Waits for the earliest message on the channel, from one rank or any, for at most `deadline` seconds. The caller frees
 * it. NULL: the deadline has passed, or the world has failed. */
pl_mail *pl_strand_take(pl_world *world, unsigned from, unsigned channel, double deadline);
void pl_strand_sent(pl_world *world); /* waits until the system has taken over everything that its host sends */
void pl_world_fail(pl_world *world, parley_error *error);

#endif
