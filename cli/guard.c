/* guard.c: MPI's starters end all processes at once when one of them is killed, before any can say why. So a process
 * that MPI started forks: the child does the work, and this one stays behind to see how it ends. The child's peers
 * notice its death themselves (engine/watch.h) and tell the user; the guard only makes sure that nobody is left over:
 * a child that is stopped, or does not come to an end, is killed when the deadline has passed. */
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

#define TICK_MS 20
#define FAREWELL_MS 5000 /* that the starter has to answer; it would not survive our going before that */
#define FAREWELL 0.2     /* seconds */
#define START_GRACE 4.0  /* seconds more than the deadline that MPI's start may take */
#define GRACE 1.0        /* seconds that peers have to report, and MPI to end */

/* From the child: 's': its peers know it; 'e' and a code: it is about to end with that. */
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
    double deadline, began, stopped, ending; /* when; negative: not */
    bool started;
    int code; /* that it is about to end with */
} watched;

static void listen_to(watched *this) {
    unsigned char word[2];
    struct pollfd polled = {words[0], POLLIN, 0};
    if (poll(&polled, 1, TICK_MS) <= 0 || read(words[0], word, sizeof word) != sizeof word) {
        if (polled.revents & POLLHUP)
            pl_sleep(1e-3 * TICK_MS);
        return;
    }
    this->started = this->started || word[0] == 's';
    if (word[0] == 'e') {
        this->ending = pl_now();
        this->code = word[1];
    }
}

/* Has the child had its time? Before the start is through, its guard alone knows that it is stopped, and says so first.
 */
static bool overdue(const watched *this) {
    double now = pl_now();
    return (this->stopped >= 0 && now - this->stopped > this->deadline + (this->started ? GRACE : 0)) ||
           (this->ending >= 0 && now - this->ending > GRACE) ||
           (!this->started && this->ending < 0 && now - this->began > this->deadline + START_GRACE);
}

/* MPICH's starter takes a process that ends without a farewell for one that died, and kills the others before they have
 * ended: so it is told in PMI-1's words that all is well, where MPI itself was left as it was; or that all is over. */
static int leave(const char *farewell, int code) {
    int starter = pl_launched_starter();
    char answer[64];
    struct pollfd polled = {starter, POLLIN, 0};
    signal(SIGPIPE, SIG_IGN);
    if (starter < 0 && code == EXIT_LOST)
        pl_sleep(FAREWELL); /* Open MPI's passes on what it was told, if it has the time */
    if (starter >= 0 && write(starter, farewell, strlen(farewell)) > 0 && poll(&polled, 1, FAREWELL_MS) > 0 &&
        read(starter, answer, sizeof answer) > 0)
        pl_sleep(FAREWELL); /* until all have said it: the first bad end ends those that have not */
    return code;
}

/* Nobody else can report that this rank was lost: the ranks are not connected yet. */
static int lose(const char *how) {
    char host[256] = "unknown";
    if (gethostname(host, sizeof host - 1) != 0)
        snprintf(host, sizeof host, "unknown");
    if (!forwarded) {
        fprintf(stderr, "parley: rank %d on %s %s before all ranks had started\n", pl_launched_rank(), host, how);
        pl_sleep(FAREWELL); /* the starter passes on what it was told before, if it has the time */
    }
    return leave("cmd=abort exitcode=4\n", EXIT_LOST);
}

static int end_child(const watched *this) {
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    if (this->ending >= 0)
        return leave("cmd=finalize\n", this->code);
    if (!this->started)
        return lose(this->stopped >= 0 ? "was stopped" : "waited in vain");
    return leave("cmd=finalize\n", EXIT_LOST);
}

static int end_with(const watched *this, int status) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_DONE)
        return EXIT_DONE;
    if (WIFSIGNALED(status) && this->ending < 0 && !this->started)
        return lose("was lost: its process ended");
    if (WIFSIGNALED(status) && this->ending < 0)
        pl_sleep(GRACE); /* its peers report, and the first process that ends may have the others killed */
    return leave("cmd=finalize\n", WIFEXITED(status)   ? WEXITSTATUS(status)
                                   : this->ending >= 0 ? this->code
                                                       : EXIT_LOST);
}

static int keep_guard(double deadline) {
    watched this = {.deadline = deadline, .began = pl_now(), .stopped = -1, .ending = -1};
    int status;
    catch_signals();
    prctl(PR_SET_NAME, "parley-guard");
    for (;;) {
        pid_t changed = waitpid(child, &status, WNOHANG | WUNTRACED | WCONTINUED);
        if (changed == child && (WIFEXITED(status) || WIFSIGNALED(status)))
            return end_with(&this, status);
        if (changed == child)
            this.stopped = WIFSTOPPED(status) ? pl_now() : -1;
        if (overdue(&this))
            return end_child(&this);
        listen_to(&this);
    }
}

void guard_start(double deadline) {
    const char *launched = pl_launched_module();
    if (!launched || pl_launched_ranks() == 1 || pipe2(words, O_CLOEXEC) != 0)
        return;
    pid_t parent = getpid();
    child = fork();
    if (child > 0) {
        close(words[1]);
        _exit(keep_guard(deadline));
    }
    if (child < 0)
        return; /* unguarded, then */
    close(words[0]);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    char descriptor[16];
    snprintf(descriptor, sizeof descriptor, "%d", words[1]);
    setenv("PARLEY_GUARD", descriptor, 1);
    setpgid(0, 0); /* a signal to the group comes by the guard, once */
    if (getppid() != parent)
        _exit(EXIT_LOST);
}

void guard_ending(int code) {
    char text[2] = {'e', (char)code};
    if (words[1] >= 0 && write(words[1], text, sizeof text) < 0)
        words[1] = -1;
}
