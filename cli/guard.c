/* guard.c: MPI launchers end all processes as soon as one of them is killed, before any can report why. Therefore a
 * process that MPI started forks: the child does the work, and the parent stays to see how it ends. The peers of the
 * child detect its death themselves (engine/watch.h) and report it. The guard only makes sure that no process is left
 * over: it kills a child that is stopped, or does not end, when the deadline has passed. On another machine than
 * `parley launch` it also connects the child with the launcher (relay.h), and kills it when the launcher is gone. */
#define _GNU_SOURCE /* pipe2 */
#include "guard.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli.h"
#include "engine/launched.h"
#include "relay.h"

#define TICK_MS 20
#define FAREWELL_MS 5000 /* time for the launcher to answer; it would not survive if this process left earlier */
#define FAREWELL 0.2     /* seconds */
#define START_GRACE 4.0  /* seconds beyond the deadline that the start of MPI may take */
#define START_RANK 0.3   /* the same for each rank on this machine, if that is more */
#define START_TURN 3.0   /* seconds that a guard lets one of a lower rank report first; then the launcher ends all */
#define GRACE 1.0        /* seconds for peers to report the lost rank and for MPI to end */

/* A pipe from the child. 's': the ranks are connected; 'e' and a code: it is about to exit with this code. */
static int words[2] = {-1, -1};
static volatile sig_atomic_t forwarded;
static pid_t child;

static void forward(int number) {
    forwarded = number;
    if (child > 0)
        kill(child, number);
}

static void catch_signals(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    struct sigaction action = {.sa_handler = forward};
    sigemptyset(&action.sa_mask);
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, NULL);
}

typedef struct watched {
    double deadline, began, stopped, ending; /* times; negative: has not happened */
    bool started;
    bool left; /* the launcher is gone */
    int code;  /* the exit code announced by the child */
} watched;

/* Reads what the child says, and forwards messages between it and the launcher. */
static void listen_to(watched *self) {
    unsigned char word[2];
    int number = 0;
    struct pollfd polled[1 + RELAY_POLLED] = {{words[0], POLLIN, 0}};
    poll(polled, 1 + relay_poll(polled + 1), TICK_MS);
    self->left = !relay_forward(self->deadline, &number);
    if (number)
        forward(number);
    if (polled[0].revents == 0)
        return;
    if (read(words[0], word, sizeof word) != sizeof word) {
        close(words[0]); /* the child has ended, or is about to */
        words[0] = -1;
        return;
    }
    self->started = self->started || word[0] == 's';
    if (word[0] == 'e') {
        self->ending = pl_now();
        self->code = word[1];
    }
}

/* How long the start may take. It fails on all ranks at the same time, and one message is enough. */
static double start_seconds(const watched *self) {
    double ranks = START_RANK * pl_launched_here();
    int turn = pl_launched_rank() < 2 ? pl_launched_rank() : 2;
    return self->deadline + (ranks > START_GRACE ? ranks : START_GRACE) + START_TURN * turn;
}

/* Has the child exceeded its time? Before the ranks are connected, only the guard knows that the child is stopped, so
 * it must report this first. */
static bool overdue(const watched *self) {
    double now = pl_now();
    return (self->stopped >= 0 && now - self->stopped > self->deadline + (self->started ? GRACE : 0)) ||
           (self->ending >= 0 && now - self->ending > GRACE) ||
           (!self->started && self->ending < 0 && now - self->began > start_seconds(self));
}

/* MPICH's launcher treats a process that exits without a PMI-1 message as dead, and kills the others before they end.
 * Tell it that all is well, since the child may not have finalized MPI, or that the run is aborted. */
static int leave(const char *farewell, int code) {
    int starter = pl_launched_by_parley() ? -1 : pl_launched_starter();
    char answer[64];
    struct pollfd polled = {starter, POLLIN, 0};
    signal(SIGPIPE, SIG_IGN);
    if (starter < 0 && code == EXIT_LOST)
        pl_sleep(FAREWELL); /* gives Open MPI's launcher time to forward output */
    if (starter >= 0 && write(starter, farewell, strlen(farewell)) > 0 && poll(&polled, 1, FAREWELL_MS) > 0 &&
        read(starter, answer, sizeof answer) > 0)
        pl_sleep(FAREWELL); /* until all have said so: the first failure ends those that have not */
    return code;
}

/* Reports that this rank was lost. No other rank can, because the ranks are not connected yet. */
static int lose(const char *how) {
    char host[256] = "unknown";
    if (gethostname(host, sizeof host - 1) != 0)
        snprintf(host, sizeof host, "unknown");
    if (!forwarded) {
        fprintf(stderr, "parley: rank %d on %s %s before all ranks had started\n", pl_launched_rank(), host, how);
        pl_sleep(FAREWELL); /* gives the launcher time to forward the message */
    }
    return leave("cmd=abort exitcode=4\n", EXIT_LOST);
}

static int end_child(const watched *self) {
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    if (self->ending >= 0)
        return leave("cmd=finalize\n", self->code);
    if (!self->started)
        return lose(self->stopped >= 0 ? "was stopped" : "timed out");
    return leave("cmd=finalize\n", EXIT_LOST);
}

static int end_with(const watched *self, int status) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_DONE)
        return EXIT_DONE;
    if (WIFSIGNALED(status) && self->ending < 0 && !self->started)
        return lose("was lost: its process ended");
    if (WIFSIGNALED(status) && self->ending < 0)
        pl_sleep(GRACE); /* the peers report it; a process that ends earlier may get the others killed */
    return leave("cmd=finalize\n", WIFEXITED(status)   ? WEXITSTATUS(status)
                                   : self->ending >= 0 ? self->code
                                                       : EXIT_LOST);
}

static int keep_guard(double deadline) {
    watched self = {.deadline = deadline, .began = pl_now(), .stopped = -1, .ending = -1};
    self.started = pl_launched_ranks() == 1; /* it has nobody to find */
    int status;
    catch_signals();
    prctl(PR_SET_NAME, "parley-guard");
    for (;;) {
        pid_t changed = waitpid(child, &status, WNOHANG | WUNTRACED | WCONTINUED);
        if (changed == child && (WIFEXITED(status) || WIFSIGNALED(status)))
            return end_with(&self, status);
        if (changed == child)
            self.stopped = WIFSTOPPED(status) ? pl_now() : -1;
        if (self.left) {
            kill(child, SIGKILL);
            waitpid(child, NULL, 0);
            return EXIT_LOST;
        }
        if (overdue(&self))
            return end_child(&self);
        listen_to(&self);
    }
}

static void set_number(const char *name, int value) {
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    setenv(name, text, 1);
}

/* If all ranks are on this machine, no part of MPI needs to listen for others. What the user has set stays. */
static void keep_mpi_here(void) {
    static const char *const variables[][2] = {
        {"UCX_TLS", "sm,self"},
        {"UCX_NET_DEVICES", "lo"},
        {"FI_TCP_IFACE", "lo"},
        {"FI_SOCKETS_IFACE", "lo"},
        {"MPIR_CVAR_NEMESIS_TCP_NETWORK_IFACE", "lo"},
    };
    for (unsigned i = 0; i < sizeof variables / sizeof *variables; i++)
        setenv(variables[i][0], variables[i][1], 0);
}

/* Between hosts, UCX would ask before it sends a long message. Over TCP the answer waits behind messages in the other
 * direction, so that a link carries only one direction at a time. */
static void send_without_asking(void) { setenv("UCX_RNDV_THRESH", "1m", 0); }

/* Connects with the launcher, wherever it is. Its connection must stay open until both processes have ended, also when
 * MPI closes its own descriptor. A process that the launcher does not know must not run. */
static void connect_launcher(void) {
    parley_error error;
    const char *from = pl_launched_from();
    int rank = pl_launched_rank(), starter = pl_launched_starter();
    if (from && relay_open(from, (unsigned)rank, &error) != PARLEY_OK) {
        fprintf(stderr, "parley: rank %d: %s\n", rank, error.sentence);
        _exit(EXIT_LOST);
    }
    if (from)
        set_number("PMI_FD", relay_rank_end());
    else if (starter >= 0 && fcntl(starter, F_DUPFD_CLOEXEC, starter) < 0)
        _exit(EXIT_LOST);
}

/* A process that names its parent ends with it, also if that is already gone. */
static void tie_to_parent(void) {
    int parent = pl_launched_parent();
    if (parent <= 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_LOST);
}

void guard_start(double deadline) {
    bool remote = pl_launched_from() != NULL;
    if (pl_launched_by_parley() && (int)pl_launched_here() == pl_launched_ranks())
        keep_mpi_here();
    else if (pl_launched_here() > 0 && (int)pl_launched_here() < pl_launched_ranks())
        send_without_asking();
    if (!pl_launched_module() || (pl_launched_ranks() == 1 && !remote)) {
        tie_to_parent();
        return;
    }
    if (pl_launched_by_parley())
        connect_launcher();
    pid_t parent = getpid();
    child = pipe2(words, O_CLOEXEC) == 0 ? fork() : -1;
    if (child > 0) {
        close(words[1]);
        if (remote)
            close(relay_rank_end());
        _exit(keep_guard(deadline));
    }
    if (child < 0 && remote)
        _exit(EXIT_LOST);
    if (child < 0)
        return; /* run without a guard */
    close(words[0]);
    relay_close_in_rank();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    set_number("PARLEY_GUARD", words[1]);
    setpgid(0, 0); /* the guard forwards signals to the group, so that each arrives once */
    if (getppid() != parent)
        _exit(EXIT_LOST);
}

void guard_ending(int code) {
    char text[2] = {'e', (char)code};
    if (words[1] >= 0 && write(words[1], text, sizeof text) < 0)
        words[1] = -1;
}
