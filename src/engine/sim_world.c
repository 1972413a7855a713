/* sim_world.c: see sim_world.h. Strands are threads that hand over to each other; the mutex is held by whoever looks at
 * or changes the order of turns. */
#define _GNU_SOURCE
#include "engine/sim_world.h"

#include <limits.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"

#define BUCKETS 64  /* lists of a mailbox, by sender */
#define CHANNELS 16 /* times lists, by channel */
#define STACK (1u << 20)
#define BUFFER 1e6 /* bytes that the system takes over from a sender before they are on the link */

struct pl_strand {
    pl_strand *next, *before; /* in world->all, while it waits */
    pl_strand *neighbour;     /* in host->waiting */
    pthread_cond_t turn;
    bool runs;
    unsigned place; /* 1 + its place in the heap; 0: it is not there */
    uint64_t number;
    unsigned host;
    double time;  /* its clock */
    double wakes; /* when it goes on, while it is in the heap */
    double mark;  /* processor time of its thread when it last was counted */
    bool in_task; /* a task of its own begins at the strand's clock and is not booked yet */
    double task_time;
    unsigned from, channel; /* what it waits for, */
    double late;            /* and until when */
    unsigned children;      /* strands that it waits for */
    pthread_t thread;
    pl_world *world;
    pl_strand *parent;
    pl_strand_body body;
    void *context;
    unsigned task;
};

static _Thread_local pl_strand *self;

static double thread_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The heap. */

static bool is_before(const pl_strand *a, const pl_strand *b) {
    return a->wakes < b->wakes || (a->wakes == b->wakes && a->number < b->number);
}

static void put_at(pl_world *world, pl_strand *strand, unsigned place) {
    world->heap[place] = strand;
    strand->place = place + 1;
}

static void sift_up(pl_world *world, unsigned place) {
    pl_strand *strand = world->heap[place];
    for (; place > 0 && is_before(strand, world->heap[(place - 1) / 2]); place = (place - 1) / 2)
        put_at(world, world->heap[(place - 1) / 2], place);
    put_at(world, strand, place);
}

static void sift_down(pl_world *world, unsigned place) {
    pl_strand *strand = world->heap[place];
    for (unsigned child; (child = 2 * place + 1) < world->ready; place = child) {
        if (child + 1 < world->ready && is_before(world->heap[child + 1], world->heap[child]))
            child++;
        if (!is_before(world->heap[child], strand))
            break;
        put_at(world, world->heap[child], place);
    }
    put_at(world, strand, place);
}

/* The strand can go on at `wakes`, or sooner than it was thought to. There is room for all strands. */
static void make_ready(pl_world *world, pl_strand *strand, double wakes) {
    if (strand->place && strand->wakes <= wakes)
        return;
    strand->wakes = wakes;
    if (!strand->place)
        put_at(world, strand, world->ready++);
    sift_up(world, strand->place - 1);
}

static pl_strand *take_first(pl_world *world) {
    pl_strand *first = world->heap[0], *last = world->heap[--world->ready];
    first->place = 0;
    if (last != first) {
        put_at(world, last, 0);
        sift_down(world, 0);
    }
    return first;
}

static void join_waiting(pl_world *world, pl_strand *strand) {
    strand->next = world->all;
    strand->before = NULL;
    if (world->all)
        world->all->before = strand;
    world->all = strand;
}

static void leave_waiting(pl_world *world, pl_strand *strand) {
    if (strand->before)
        strand->before->next = strand->next;
    else
        world->all = strand->next;
    if (strand->next)
        strand->next->before = strand->before;
}

/* Lets the next strand run. The mutex is held. */
static void pass_on(pl_world *world) {
    if (world->ready == 0)
        return; /* the last strand has ended */
    pl_strand *next = take_first(world);
    next->runs = true;
    pthread_cond_signal(&next->turn);
}

/* Waits for the strand's turn, and takes the time at which it comes as its clock. The mutex is held. */
static void wait_for_turn(pl_world *world, pl_strand *strand) {
    while (!strand->runs)
        pthread_cond_wait(&strand->turn, &world->mutex);
    strand->time = fmax(strand->time, strand->wakes);
}

/* Whether nobody can send anything to another host that would arrive before the strand's clock. The mutex is held. */
static bool is_first(const pl_world *world, const pl_strand *strand) {
    double least = fmin(world->network.latency, world->later.latency);
    return world->ready == 0 || world->heap[0]->wakes + least >= strand->time;
}

static const pl_network *network_at(const pl_world *world, double time) {
    return time < world->changes ? &world->network : &world->later;
}

/* Lets others run until the strand's own clock is the earliest. The mutex is held. */
static void take_turns(pl_world *world, pl_strand *strand) {
    strand->runs = false;
    pass_on(world);
    wait_for_turn(world, strand);
}

/* Lets strands run that are behind by more than the latency. The mutex is held. */
static void give_way(pl_world *world, pl_strand *strand) {
    if (is_first(world, strand))
        return;
    make_ready(world, strand, strand->time);
    take_turns(world, strand);
}

static void book(pl_world *world, pl_strand *strand, double seconds) {
    pl_sim_host *host = &world->host[strand->host];
    unsigned first = 0;
    bool meets = false;
    seconds /= host->speed;
    for (unsigned c = 1; c < host->cores; c++)
        first = host->core[c] < host->core[first] ? c : first;
    double begins = fmax(strand->time, host->core[first]);
    for (unsigned c = 0; c < host->cores; c++)
        meets = meets || (c != first && host->core[c] > begins);
    if (meets && world->shared)
        seconds *= world->crowded;
    strand->time = begins + seconds;
    host->core[first] = strand->time;
    host->cpu += seconds;
}

/* Counts the processor time since the last call. */
static void count(pl_world *world, pl_strand *strand) {
    if (!world->measured)
        return;
    double now = thread_seconds(), seconds = now - strand->mark;
    strand->mark = now;
    if (strand->in_task)
        strand->task_time += seconds;
    else
        book(world, strand, seconds);
}

double pl_strand_now(pl_world *world) {
    if (!self)
        return 0;
    pthread_mutex_lock(&world->mutex);
    count(world, self);
    pthread_mutex_unlock(&world->mutex);
    return self->time + (self->in_task ? self->task_time / world->host[self->host].speed : 0.0);
}

void pl_strand_compute(pl_world *world, double seconds) {
    pthread_mutex_lock(&world->mutex);
    count(world, self);
    if (self->in_task)
        self->task_time += seconds;
    else {
        book(world, self, seconds);
        give_way(world, self);
    }
    pthread_mutex_unlock(&world->mutex);
    self->mark = world->measured ? thread_seconds() : 0.0;
}

void pl_strand_pause(pl_world *world, double seconds) {
    pthread_mutex_lock(&world->mutex);
    count(world, self);
    if (self->in_task)
        self->task_time += seconds * world->host[self->host].speed;
    else {
        self->time += seconds;
        give_way(world, self);
    }
    pthread_mutex_unlock(&world->mutex);
    self->mark = world->measured ? thread_seconds() : 0.0;
}

/* Tasks run one after another and are booked on the cores as if they ran at the same time. */
void pl_strand_tasks(pl_world *world, pl_task task, void *context, unsigned tasks) {
    pl_strand *strand = self;
    if (strand->in_task) { /* a run inside a task */
        for (unsigned t = 0; t < tasks; t++)
            task(context, t);
        return;
    }
    pthread_mutex_lock(&world->mutex);
    count(world, strand);
    pthread_mutex_unlock(&world->mutex);
    double began = strand->time, ended = began;
    for (unsigned t = 0; t < tasks; t++) {
        strand->time = began;
        strand->task_time = 0;
        strand->in_task = true;
        task(context, t);
        pthread_mutex_lock(&world->mutex);
        count(world, strand);
        strand->in_task = false;
        book(world, strand, strand->task_time);
        pthread_mutex_unlock(&world->mutex);
        ended = fmax(ended, strand->time);
    }
    strand->time = ended;
    pthread_mutex_lock(&world->mutex);
    give_way(world, strand);
    pthread_mutex_unlock(&world->mutex);
    strand->mark = world->measured ? thread_seconds() : 0.0;
}

/* Mail. */

static pl_mail **list_of(pl_sim_host *host, unsigned from, unsigned channel) {
    return &host->box[channel % CHANNELS * BUCKETS + from % BUCKETS];
}

static bool fits(const pl_mail *mail, unsigned from, unsigned channel) {
    return mail->channel == channel && (from == PL_ANY_RANK || mail->from == from);
}

/* The link to the earliest message that fits, in the list; NULL if there is none. */
static pl_mail **find_in(pl_mail **list, unsigned from, unsigned channel) {
    pl_mail **best = NULL;
    for (; *list; list = &(*list)->next)
        if (fits(*list, from, channel) && (!best || (*list)->arrives < (*best)->arrives)) {
            best = list;
            if (from != PL_ANY_RANK)
                break; /* messages of one rank arrive in order */
        }
    return best;
}

static pl_mail **find(pl_sim_host *host, unsigned from, unsigned channel) {
    pl_mail **best = NULL;
    if (from != PL_ANY_RANK)
        return find_in(list_of(host, from, channel), from, channel);
    for (unsigned b = 0; b < BUCKETS; b++) {
        pl_mail **found = find_in(&host->box[channel % CHANNELS * BUCKETS + b], from, channel);
        if (found && (!best || (*found)->arrives < (*best)->arrives ||
                      ((*found)->arrives == (*best)->arrives && (*found)->from < (*best)->from)))
            best = found;
    }
    return best;
}

parley_status pl_strand_post(pl_world *world, unsigned to, unsigned channel, const void *data, uint64_t bytes,
                             parley_error *error) {
    pl_strand *strand = self;
    pl_mail *mail = pl_alloc(1, sizeof *mail + bytes);
    if (!mail)
        return pl_fail_memory(error, "a message", bytes);
    *mail = (pl_mail){.from = strand->host, .channel = channel, .bytes = bytes};
    memcpy(mail->data, data, bytes);
    pthread_mutex_lock(&world->mutex);
    pl_sim_host *host = &world->host[to];
    count(world, strand);
    mail->arrives = strand->time;
    if (to != strand->host) {
        book(world, strand, world->network.message);
        mail->arrives = pl_network_send(network_at(world, strand->time), &world->host[strand->host].link, &host->link,
                                        (double)bytes, strand->time);
    }
    pl_mail **last = list_of(host, strand->host, channel);
    while (*last)
        last = &(*last)->next;
    *last = mail;
    for (pl_strand *waiting = host->waiting; waiting; waiting = waiting->neighbour)
        if (fits(mail, waiting->from, waiting->channel) && mail->arrives <= waiting->late)
            make_ready(world, waiting, fmax(waiting->time, mail->arrives));
    pthread_mutex_unlock(&world->mutex);
    return PARLEY_OK;
}

/* Until `wakes`, or until something that fits arrives sooner. */
static void wait_for_mail(pl_world *world, pl_strand *strand, double wakes) {
    pl_sim_host *host = &world->host[strand->host];
    make_ready(world, strand, wakes);
    strand->neighbour = host->waiting;
    host->waiting = strand;
    join_waiting(world, strand);
    take_turns(world, strand);
    leave_waiting(world, strand);
    for (pl_strand **at = &host->waiting; *at; at = &(*at)->neighbour)
        if (*at == strand) {
            *at = strand->neighbour;
            break;
        }
}

pl_mail *pl_strand_take(pl_world *world, unsigned from, unsigned channel, double deadline) {
    pl_strand *strand = self;
    pl_mail *got = NULL;
    pthread_mutex_lock(&world->mutex);
    pl_sim_host *host = &world->host[strand->host];
    count(world, strand);
    strand->from = from;
    strand->channel = channel;
    strand->late = strand->time + deadline;
    double began = strand->time;
    while (!world->failed) {
        pl_mail **found = find(host, from, channel);
        bool there = found && (*found)->arrives <= strand->late;
        if (there && is_first(world, strand) && (*found)->arrives <= strand->time) {
            got = *found;
            *found = got->next;
            break;
        }
        if (!there && strand->time >= strand->late)
            break;
        wait_for_mail(world, strand, there ? fmax(strand->time, (*found)->arrives) : strand->late);
    }
    if (got && got->from != strand->host) {
        strand->time = began + pl_network_noticed(&world->network, strand->time - began);
        book(world, strand, world->network.message);
    }
    pthread_mutex_unlock(&world->mutex);
    strand->mark = world->measured ? thread_seconds() : 0.0;
    return got;
}

void pl_strand_sent(pl_world *world) {
    pthread_mutex_lock(&world->mutex);
    count(world, self);
    self->time = fmax(self->time, world->host[self->host].link.up - BUFFER / network_at(world, self->time)->bandwidth);
    pthread_mutex_unlock(&world->mutex);
}

void pl_world_fail(pl_world *world, parley_error *error) {
    pthread_mutex_lock(&world->mutex);
    if (!world->failed)
        world->failure = *error;
    *error = world->failure;
    world->failed = true;
    for (pl_strand *strand = world->all; strand; strand = strand->next)
        if (!strand->children)
            make_ready(world, strand, strand->time);
    pthread_mutex_unlock(&world->mutex);
}

/* Strands. */

static void *run_strand(void *argument) {
    pl_strand *strand = self = argument;
    pl_world *world = strand->world;
    pthread_mutex_lock(&world->mutex);
    wait_for_turn(world, strand);
    pthread_mutex_unlock(&world->mutex);
    strand->mark = world->measured ? thread_seconds() : 0.0;
    strand->body(strand->context, strand->task);
    pthread_mutex_lock(&world->mutex);
    count(world, strand);
    pl_strand *parent = strand->parent;
    if (--parent->children == 0)
        make_ready(world, parent, fmax(parent->late, strand->time));
    parent->late = fmax(parent->late, strand->time); /* the latest end of its children */
    pass_on(world);
    pthread_mutex_unlock(&world->mutex);
    return NULL;
}

static bool reserve_heap(pl_world *world, unsigned more) {
    unsigned room = world->room + more;
    pl_strand **heap = pl_realloc(world->heap, room, sizeof *heap);
    if (heap) {
        world->heap = heap;
        world->room = room;
    }
    return heap != NULL;
}

/* Starts the strands; they wait for their turns. Returns how many could be started. */
static unsigned start_strands(pl_world *world, pl_strand *strands, unsigned count) {
    pthread_attr_t attributes;
    unsigned started = 0;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    while (started < count &&
           pthread_create(&strands[started].thread, &attributes, run_strand, &strands[started]) == 0) {
        make_ready(world, &strands[started], strands[started].time);
        started++;
    }
    pthread_attr_destroy(&attributes);
    return started;
}

static void idle(void *context, unsigned number) { (void)context, (void)number; }

parley_status pl_world_run(pl_world *world, pl_strand_body body, void *context, unsigned count_,
                           unsigned (*host)(void *context, unsigned number), parley_error *error) {
    pl_strand outside = {.world = world}, *parent = self ? self : &outside;
    pl_strand *strands;
    parley_status status = pl_take(&strands, count_, sizeof *strands, "tasks", error);
    if (status != PARLEY_OK)
        return status;
    if (!self)
        pthread_cond_init(&outside.turn, NULL);
    pthread_mutex_lock(&world->mutex);
    if (self)
        count(world, self);
    if (!reserve_heap(world, count_ + 1))
        status = pl_fail_memory(error, "tasks", (count_ + 1) * sizeof *world->heap);
    for (unsigned i = 0; i < count_; i++) {
        strands[i] = (pl_strand){.world = world,
                                 .parent = parent,
                                 .body = body,
                                 .context = context,
                                 .task = i,
                                 .number = ++world->number,
                                 .time = parent->time,
                                 .late = INFINITY,
                                 .host = host ? host(context, i) : parent->host};
        pthread_cond_init(&strands[i].turn, NULL);
    }
    unsigned started = status == PARLEY_OK ? start_strands(world, strands, count_) : 0;
    if (status == PARLEY_OK && started < count_)
        status = pl_fail(error, PARLEY_NO_MEMORY, "cannot start thread %u of %u", started + 1, count_);
    for (unsigned i = 0; i < started && status != PARLEY_OK; i++)
        strands[i].body = idle;
    parent->children = started;
    parent->late = parent->time;
    if (started > 0) {
        join_waiting(world, parent);
        take_turns(world, parent);
        leave_waiting(world, parent);
    }
    world->room -= world->room >= count_ + 1 ? count_ + 1 : 0;
    pthread_mutex_unlock(&world->mutex);
    for (unsigned i = 0; i < started; i++)
        pthread_join(strands[i].thread, NULL);
    for (unsigned i = 0; i < count_; i++)
        pthread_cond_destroy(&strands[i].turn);
    if (!self)
        pthread_cond_destroy(&outside.turn);
    else
        self->mark = world->measured ? thread_seconds() : 0.0;
    pl_free(strands);
    return status;
}

void pl_world_change(pl_world *world, double seconds, double factor) {
    world->changes = seconds;
    world->later = world->network;
    world->later.latency *= factor;
    world->later.bandwidth /= factor;
}

parley_status pl_world_open(pl_world *world, unsigned hosts, unsigned cores, const pl_network *network, bool measured,
                            parley_error *error) {
    *world =
        (pl_world){.network = *network, .later = *network, .changes = INFINITY, .measured = measured, .hosts = hosts};
    pthread_mutex_init(&world->mutex, NULL);
    parley_status status = pl_take(&world->host, hosts, sizeof *world->host, "hosts", error);
    for (unsigned h = 0; h < hosts && status == PARLEY_OK; h++) {
        pl_sim_host *host = &world->host[h];
        host->cores = cores;
        host->speed = 1.0;
        status = pl_take(&host->core, cores, sizeof *host->core, "hosts", error);
        if (status == PARLEY_OK)
            status = pl_take(&host->box, BUCKETS * CHANNELS, sizeof *host->box, "mailboxes", error);
    }
    return status;
}

parley_status pl_world_share_cores(pl_world *world, unsigned cores, double crowded, parley_error *error) {
    world->crowded = crowded;
    parley_status status = pl_take(&world->shared, cores, sizeof *world->shared, "hosts", error);
    for (unsigned h = 0; h < world->hosts && status == PARLEY_OK; h++) {
        pl_free(world->host[h].core);
        world->host[h].core = world->shared;
        world->host[h].cores = cores;
    }
    return status;
}

void pl_world_close(pl_world *world) {
    for (unsigned h = 0; world->host && h < world->hosts; h++) {
        pl_sim_host *host = &world->host[h];
        for (unsigned b = 0; host->box && b < BUCKETS * CHANNELS; b++)
            for (pl_mail *next, *mail = host->box[b]; mail; mail = next) {
                next = mail->next;
                pl_free(mail);
            }
        pl_free(host->box);
        if (host->core != world->shared)
            pl_free(host->core);
    }
    pl_free(world->shared);
    pl_free(world->host);
    pl_free(world->heap);
    pthread_mutex_destroy(&world->mutex);
}
