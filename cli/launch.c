/* launch.c: `parley launch`: starts the ranks of a run, on this machine or by ssh on others, without an MPI launcher.
 * MPICH's processes need only a PMI-1 server (pmi.h) to find each other. Restarts them if one is lost. A rank on
 * another machine has a guard there, to which ssh's standard input leads: it brings a secret, heartbeats and requests
 * to stop, and the guard ends the rank when it closes (relay.h). */
#define _GNU_SOURCE /* prctl, pipe2 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "cli.h"
#include "hosts.h"
#include "pmi.h"
#include "progress.h"
#include "relay.h"
#include "train/checkpoint.h"

#define TICK_MS 20
#define GRACE 2.5     /* seconds for the other ranks to end after one has ended */
#define SSH_GRACE 1.5 /* seconds for ssh to end after its standard input was closed */
#define BEAT 1.0      /* seconds between two heartbeats */
#define GONE 3.0      /* seconds beyond the deadline for ranks to end before a restart */
#define SOON 1.0      /* a process that is stopped again so soon after it was continued is killed */
#define SSH_FAILED 255
#define VARIABLES 6 /* that tell a rank on another machine how it was started */

/* A rank: its own process, or ssh. */
typedef struct rank {
    pid_t pid; /* 0 if it has ended */
    int code;
    const host *host; /* NULL: this machine */
    int line;         /* the standard input of ssh; -1 if it is closed, or the rank is on this machine */
    double closed;    /* when the line was closed */
    double continued; /* when the process was last continued; negative: it was never stopped */
} rank;

typedef struct launch {
    const arguments *arguments;
    const parley_settings *settings;
    host *hosts; /* NULL: all ranks run on this machine */
    unsigned count, ranks, here;
    rank *rank;
    const char **words; /* the command of each rank */
    unsigned words_count;
    char mapping[PMI_VALUE];
    char program[4096];
    char job[MOST_HOST + 32]; /* unique to this launcher, for locks (base/lock.h) */
    unsigned attempt;
} launch;

static volatile sig_atomic_t asked;   /* the signal that asked the ranks to stop */
static volatile sig_atomic_t hurried; /* another one asked to end at once */

/* When a terminal closes, SIGHUP may come twice. */
static void on_signal(int number) {
    if (asked && number != SIGHUP)
        hurried = 1;
    if (!asked)
        asked = number;
}

/* PMI's mapping has a block (first host, hosts, ranks on each) for neighbouring hosts with as many ranks. It stays
 * empty if it would be too long. */
static void write_mapping(launch *self) {
    unsigned used = (unsigned)snprintf(self->mapping, sizeof self->mapping, "(vector");
    if (self->count == 0)
        used += (unsigned)snprintf(self->mapping + used, sizeof self->mapping - used, ",(0,1,%u)", self->ranks);
    for (unsigned first = 0, h = 0; first < self->count && self->hosts[first].ranks > 0; first = h) {
        for (h = first; h < self->count && self->hosts[h].ranks == self->hosts[first].ranks; h++)
            ;
        if (used < sizeof self->mapping)
            used += (unsigned)snprintf(self->mapping + used, sizeof self->mapping - used, ",(%u,%u,%u)", first,
                                       h - first, self->hosts[first].ranks);
    }
    if (used < sizeof self->mapping)
        used += (unsigned)snprintf(self->mapping + used, sizeof self->mapping - used, ")");
    if (used >= sizeof self->mapping)
        *self->mapping = '\0';
}

static parley_status place(launch *self, parley_error *error) {
    unsigned slots = 0;
    for (unsigned h = 0; h < self->count; h++)
        slots += self->hosts[h].slots;
    self->ranks = self->settings->ranks ? (unsigned)self->settings->ranks : self->count ? slots : 1;
    self->here = self->count == 0 ? self->ranks : 0;
    if (self->count > 0 && hosts_place(self->hosts, self->count, self->ranks) > 0)
        return pl_fail(error, PARLEY_BAD_USAGE, "--ranks %u: %s has slots for only %u", self->ranks,
                       self->settings->hosts, slots);
    for (unsigned h = 0; h < self->count; h++)
        self->here += self->hosts[h].here ? self->hosts[h].ranks : 0;
    write_mapping(self);
    parley_status status = pl_take(&self->rank, self->ranks, sizeof *self->rank, "ranks", error);
    for (unsigned r = 0, h = 0, on_host = 0; r < self->ranks && status == PARLEY_OK; r++, on_host++) {
        if (self->hosts && on_host == self->hosts[h].ranks) {
            h++;
            on_host = 0;
        }
        self->rank[r] = (rank){.host = self->hosts && !self->hosts[h].here ? &self->hosts[h] : NULL, .line = -1};
    }
    return status;
}

/* Appends a quoted word to a command for the shell of another machine; returns where it ends. */
static char *quote(char *at, const char *word) {
    *at++ = ' ';
    *at++ = '\'';
    for (; *word; word++) {
        if (*word == '\'') {
            memcpy(at, "'\\''", 4);
            at += 4;
        } else
            *at++ = *word;
    }
    *at++ = '\'';
    *at = '\0';
    return at;
}

/* The command that starts this program on another machine, or NULL. A quoted word has at most four times its bytes. */
static char *remote_command(const launch *self, unsigned rank, unsigned port) {
    char variables[VARIABLES][MOST_HOST + 64], address[MOST_HOST] = "";
    const host *host = self->rank[rank].host;
    if (*self->settings->address)
        snprintf(address, sizeof address, "%.*s", MOST_HOST - 1, self->settings->address);
    else
        hosts_own_address(host->name, address);
    snprintf(variables[0], sizeof *variables, "PARLEY_FROM=%s:%u", address, port);
    snprintf(variables[1], sizeof *variables, "PMI_RANK=%u", rank);
    snprintf(variables[2], sizeof *variables, "PMI_SIZE=%u", self->ranks);
    snprintf(variables[3], sizeof *variables, "PARLEY_RANKS_HERE=%u", host->ranks);
    snprintf(variables[4], sizeof *variables, "PARLEY_LAUNCH=%s/%u", self->job, self->attempt);
    snprintf(variables[5], sizeof *variables, "%s=%s", PROGRESS_TERMINAL, isatty(STDERR_FILENO) ? "1" : "");
    uint64_t bytes = 4 * (sizeof variables + strlen(self->program)) + 32;
    for (unsigned i = 1; i < self->words_count; i++)
        bytes += 4 * strlen(self->words[i]) + 4;
    char *command = pl_alloc(bytes, 1);
    if (!command)
        return NULL;
    char *at = command + snprintf(command, bytes, "exec env");
    for (unsigned i = 0; i < VARIABLES; i++)
        at = quote(at, variables[i]);
    at = quote(at, self->program);
    for (unsigned i = 1; i < self->words_count; i++)
        at = quote(at, self->words[i]);
    return command;
}

/* Runs the command on a host. Standard input is a pipe, because ssh in the background would be stopped when it reads
 * the terminal. */
static void become_remote(const launch *self, unsigned rank, unsigned port, int input) {
    const char *shell = self->settings->shell, *name = self->rank[rank].host->name;
    char *command = remote_command(self, rank, port);
    if (!command || dup2(input, STDIN_FILENO) < 0)
        return;
    if (strcmp(shell, "ssh") == 0)
        execlp(shell, shell, "-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3",
               "--", name, command, (char *)NULL);
    else
        execlp(shell, shell, name, command, (char *)NULL);
}

static void set_number(const char *name, unsigned value) {
    char text[16];
    snprintf(text, sizeof text, "%u", value);
    setenv(name, text, 1);
}

static void become_local(const launch *self, unsigned rank, int pmi) {
    char job[sizeof self->job + 16];
    fcntl(pmi, F_SETFD, 0); /* survives exec */
    set_number("PMI_FD", (unsigned)pmi);
    set_number("PMI_RANK", rank);
    set_number("PMI_SIZE", self->ranks);
    set_number("PARLEY_RANKS_HERE", self->here);
    snprintf(job, sizeof job, "%s/%u", self->job, self->attempt);
    setenv("PARLEY_LAUNCH", job, 1);
    unsetenv("PMI_PORT"); /* of another launcher, in which this one runs */
    unsetenv("PMI_ID");
    execv(self->program, (char *const *)(uintptr_t)self->words);
}

/* Runs in the child process and becomes the rank. `end` is the connection of a local rank, or the input of ssh. */
static void become(const launch *self, unsigned rank, unsigned port, int end, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_LOST);
    setpgid(0, 0);
    signal(SIGPIPE, SIG_DFL);
    if (self->rank[rank].host)
        become_remote(self, rank, port, end);
    else
        become_local(self, rank, end);
    fprintf(stderr, "parley: cannot start rank %u: %s: %s\n", rank,
            self->rank[rank].host ? self->settings->shell : self->program, strerror(errno));
    _exit(self->rank[rank].host ? EXIT_LOST : EXIT_FAILED);
}

/* Opens the input of ssh and writes the secret, which is in no command line. */
static parley_status open_line(rank *rank, const pl_secret *secret, int *end, parley_error *error) {
    char text[PL_SECRET_TEXT + 1];
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return pl_fail(error, PARLEY_NO_MEMORY, "cannot start a rank: %s", strerror(errno));
    *end = ends[0];
    rank->line = ends[1];
    pl_secret_print(secret, text);
    text[PL_SECRET_TEXT - 1] = '\n';
    if (write(rank->line, text, PL_SECRET_TEXT) != PL_SECRET_TEXT || fcntl(rank->line, F_SETFL, O_NONBLOCK) != 0)
        return pl_fail(error, PARLEY_NO_MEMORY, "cannot start a rank: %s", strerror(errno));
    return PARLEY_OK;
}

static parley_status start_rank(launch *self, pmi *pmi, unsigned r, parley_error *error) {
    rank *rank = &self->rank[r];
    pid_t parent = getpid();
    unsigned port = rank->host ? pmi_port(pmi) : 0;
    int end = -1;
    parley_status status =
        rank->host ? open_line(rank, pmi_secret(pmi, r), &end, error) : pmi_connect(pmi, r, &end, error);
    fflush(NULL);
    pid_t pid = status == PARLEY_OK ? fork() : -1;
    if (pid == 0)
        become(self, r, port, end, parent);
    if (pid < 0 && status == PARLEY_OK)
        status = pl_fail(error, PARLEY_NO_MEMORY, "cannot start rank %u: %s", r, strerror(errno));
    if (end >= 0)
        close(end);
    rank->pid = pid > 0 ? pid : 0;
    rank->code = 0;
    rank->continued = -1;
    return status;
}

static parley_status start_ranks(launch *self, pmi *pmi, parley_error *error) {
    parley_status status =
        self->here < self->ranks ? pmi_listen(pmi, hosts_is_loopback(self->settings->address), error) : PARLEY_OK;
    for (unsigned r = 0; r < self->ranks && status == PARLEY_OK; r++)
        status = start_rank(self, pmi, r, error);
    return status;
}

static void close_line(rank *rank) {
    if (rank->line < 0)
        return;
    close(rank->line);
    rank->line = -1;
    rank->closed = pl_now();
}

/* Writes a byte to the guards on other machines. One that does not read for so long that the pipe is full is lost. */
static void tell_remote(const launch *self, char word) {
    for (unsigned r = 0; r < self->ranks; r++)
        if (self->rank[r].line >= 0 && write(self->rank[r].line, &word, 1) < 0 && errno == EAGAIN)
            continue;
}

static void ask_to_stop(const launch *self, int number) {
    for (unsigned r = 0; r < self->ranks; r++)
        if (self->rank[r].pid > 0 && !self->rank[r].host)
            kill(self->rank[r].pid, number);
    tell_remote(self, number == SIGTERM ? 'T' : number == SIGHUP ? 'H' : 'I');
}

/* Ends all ranks. On other machines their guards do it, and ssh ends after them. */
static void end_all(launch *self) {
    for (unsigned r = 0; r < self->ranks; r++) {
        rank *rank = &self->rank[r];
        close_line(rank);
        if (rank->pid > 0 && (!rank->host || pl_now() - rank->closed > SSH_GRACE))
            kill(rank->pid, SIGKILL);
    }
}

/* How ranks ended. */
typedef struct ends {
    double first; /* when the first one ended; negative while all run */
    int killed;   /* the first killed rank; negative if none was */
    int absent;   /* the first rank whose shell ended before the rank was there; negative if none did */
    int code;     /* the exit code of that shell */
    int failed;   /* the first rank that ended with another exit code than 0 and EXIT_LOST; negative if none did */
    bool told;    /* a rank that ended because of it has reported the lost rank */
} ends;

/* Nobody else would continue a process that was stopped, such as ssh by the terminal. */
static void continue_rank(rank *rank, unsigned r, int number) {
    double now = pl_now();
    bool again = rank->continued >= 0 && now - rank->continued < SOON;
    if (again)
        fprintf(stderr, "parley: the process of rank %u was stopped again (%s) and is ended\n", r, strsignal(number));
    else if (rank->continued < 0)
        fprintf(stderr, "parley: the process of rank %u was stopped (%s) and is continued\n", r, strsignal(number));
    rank->continued = now;
    kill(rank->pid, again ? SIGKILL : SIGCONT);
}

/* A rank that cannot connect says so itself and ends with EXIT_LOST. */
static bool shell_failed(const rank *rank, int code, bool came) {
    return rank->host && (code == SSH_FAILED || (!came && code != EXIT_LOST));
}

static void note_end(rank *rank, unsigned r, int status, bool came, ends *ends) {
    bool absent = !WIFSIGNALED(status) && shell_failed(rank, WEXITSTATUS(status), came);
    bool lost = WIFSIGNALED(status) || absent;
    rank->code = lost ? EXIT_LOST : WEXITSTATUS(status);
    rank->pid = 0;
    close_line(rank);
    ends->first = ends->first < 0 ? pl_now() : ends->first;
    ends->killed = lost && ends->killed < 0 ? (int)r : ends->killed;
    if (absent && ends->absent < 0) {
        ends->absent = (int)r;
        ends->code = WEXITSTATUS(status);
    }
    ends->told = ends->told || (!lost && rank->code == EXIT_LOST);
    ends->failed = rank->code != EXIT_DONE && ends->failed < 0 ? (int)r : ends->failed;
}

/* Notes which ranks have ended; returns how many have not. */
static unsigned reap(launch *self, const pmi *pmi, ends *ends) {
    unsigned left = 0;
    for (unsigned r = 0; r < self->ranks; r++) {
        rank *rank = &self->rank[r];
        int status;
        if (rank->pid > 0 && waitpid(rank->pid, &status, WNOHANG | WUNTRACED) == rank->pid) {
            if (WIFSTOPPED(status))
                continue_rank(rank, r, WSTOPSIG(status));
            else
                note_end(rank, r, status, pmi_came(pmi, r), ends);
        }
        left += rank->pid > 0;
    }
    return left;
}

/* Is it an exit code of Parley, and not of MPI or the dynamic loader? */
static bool is_own(int code) { return (code >= EXIT_DONE && code <= EXIT_LOST) || code == EXIT_INTERRUPTED; }

/* Connected ranks notice when one is lost, report it and end. Before they are connected, and after their work is done,
 * only the launcher can report it. A rank that fails in the meantime is silent unless it is rank 0, and MPI may end any
 * rank. */
static void report_lost(const launch *self, ends *ends) {
    int failed = ends->failed;
    if (ends->absent >= 0 && ends->absent == ends->killed && !ends->told && !asked)
        fprintf(stderr, "parley: rank %d was lost: %s to host %s ended with exit code %d%s\n", ends->absent,
                self->settings->shell, self->rank[ends->absent].host->name, ends->code,
                ends->code == SSH_FAILED
                    ? "; the host may not answer"
                    : " before the rank had started; it gets a host and a command, which it must run there");
    else if (ends->killed >= 0 && !ends->told && !asked)
        fprintf(stderr, "parley: rank %d was lost: its process ended\n", ends->killed);
    else if (failed >= 0 && (self->rank[0].pid > 0 || !is_own(self->rank[failed].code)) && !ends->told && !asked)
        fprintf(stderr, "parley: rank %d was lost: its process ended with exit code %d\n", failed,
                self->rank[failed].code);
    ends->told = true;
}

static parley_status serve(launch *self, pmi *pmi, parley_error *error) {
    ends ends = {.first = -1, .killed = -1, .absent = -1, .failed = -1};
    parley_status status = PARLEY_OK;
    double beat = 0;
    int told = 0;
    while (reap(self, pmi, &ends) > 0 && status == PARLEY_OK) {
        double now = pl_now();
        if (now >= beat) {
            tell_remote(self, RELAY_BEAT);
            beat = now + BEAT;
        }
        if (asked && !told) {
            told = asked;
            ask_to_stop(self, told);
        }
        if (ends.first >= 0 && now - ends.first > GRACE)
            report_lost(self, &ends);
        if (hurried || (ends.first >= 0 && now - ends.first > GRACE))
            end_all(self);
        status = pmi_serve(pmi, TICK_MS, error);
    }
    if (status == PARLEY_OK)
        report_lost(self, &ends);
    return status;
}

static const char *value_after(char *const *words, unsigned count, const char *name) {
    size_t length = strlen(name);
    for (unsigned i = 0; i < count; i++)
        if (strncmp(words[i], name, length) == 0 && words[i][length] == '=')
            return words[i] + length + 1;
        else if (strcmp(words[i], name) == 0 && i + 1 < count)
            return words[i + 1];
    return NULL;
}

/* Waits until all processes of all ranks have ended, also on other machines. Two runs must not write to one folder. */
static bool wait_gone(const launch *self, pmi *pmi) {
    const char *given = value_after(self->arguments->rest, self->arguments->rest_count, "--deadline");
    double began = pl_now(), seconds = GONE + (given ? strtod(given, NULL) : self->settings->deadline);
    pmi_refuse(pmi);
    for (unsigned r = 0; r < self->ranks; r++)
        while (!pmi_gone(pmi, r)) {
            if (asked)
                return false;
            if (pl_now() - began > seconds) {
                fprintf(
                    stderr,
                    "parley: rank %u on %s may still be running after %g seconds, so the run is not restarted; end it "
                    "there, and continue with --resume\n",
                    r, self->rank[r].host ? self->rank[r].host->name : "this machine", seconds);
                return false;
            }
            pmi_serve(pmi, TICK_MS, NULL); /* no rank is left that would need an answer */
        }
    return true;
}

/* Runs the ranks once. The exit code is that of rank 0, unless it was killed. `*again` says whether a restart is wanted
 * if a rank was lost, and then whether it is possible. */
static int run_ranks(launch *self, bool *again) {
    pmi *pmi = NULL;
    parley_error error;
    parley_status status = pmi_open(&pmi, self->ranks, self->mapping, &error);
    if (status == PARLEY_OK)
        status = start_ranks(self, pmi, &error);
    if (status == PARLEY_OK)
        status = serve(self, pmi, &error);
    if (status != PARLEY_OK) {
        for (ends ends = {.first = -1, .killed = -1, .failed = -1}; reap(self, pmi, &ends) > 0;) {
            end_all(self);
            pl_sleep(1e-3 * TICK_MS);
        }
        pmi_close(pmi);
        *again = false;
        return fail(self->arguments->command, &error);
    }
    int code = is_own(self->rank[0].code) ? self->rank[0].code : EXIT_LOST;
    *again = *again && code == EXIT_LOST && !asked && wait_gone(self, pmi);
    pmi_close(pmi);
    return code;
}

/* Prepares the command for a restart: the same, but from the last checkpoint if there is one. */
static bool resume(launch *self) {
    const arguments *arguments = self->arguments;
    const char *folder = value_after(arguments->rest, arguments->rest_count, "--checkpoint");
    uint64_t rounds[PL_RECENT];
    self->words_count = arguments->rest_count + 1;
    if (!folder || pl_checkpoint_list(folder, rounds) == 0)
        return false;
    if (value_after(arguments->rest, arguments->rest_count, "--resume"))
        return true; /* unchanged */
    self->words[self->words_count++] = "--resume";
    self->words[self->words_count++] = folder;
    return true;
}

static int run_again_and_again(launch *self) {
    uint64_t most = self->settings->restarts;
    bool again = most > 0;
    int code = run_ranks(self, &again);
    for (uint64_t i = 1; again; i++) {
        bool resumed = resume(self);
        self->attempt++;
        fprintf(stderr, "parley: restarting%s, %llu of %llu\n", resumed ? " from the last checkpoint" : "",
                (unsigned long long)i, (unsigned long long)most);
        again = i < most;
        code = run_ranks(self, &again);
    }
    /* Before training, a signal ends ranks at once. */
    return hurried || (asked && code == EXIT_LOST) ? EXIT_INTERRUPTED : code;
}

/* A host, a process and a time are unique. */
static void name_job(launch *self) {
    char own[MOST_HOST] = "";
    if (gethostname(own, sizeof own - 1) != 0)
        *own = '\0';
    own[strcspn(own, " '/")] = '\0';
    snprintf(self->job, sizeof self->job, "%.200s-%ld-%.0f", own, (long)getpid(), 1e3 * pl_now());
}

static parley_status prepare(launch *self, parley_error *error) {
    const arguments *arguments = self->arguments;
    name_job(self);
    parley_status status = PARLEY_OK;
    if (*self->settings->hosts)
        status = hosts_read(&self->hosts, &self->count, self->settings->hosts, error);
    if (status == PARLEY_OK)
        status = place(self, error);
    if (status == PARLEY_OK)
        status = pl_take(&self->words, arguments->rest_count + 4, sizeof *self->words, "a command", error);
    if (status != PARLEY_OK)
        return status;
    ssize_t length = readlink("/proc/self/exe", self->program, sizeof self->program - 1);
    if (length <= 0)
        return pl_fail_file(error, "/proc/self/exe", "read");
    self->words[0] = self->program;
    for (unsigned i = 0; i < arguments->rest_count; i++)
        self->words[i + 1] = arguments->rest[i];
    self->words_count = arguments->rest_count + 1;
    return PARLEY_OK;
}

static int launch_run(const arguments *arguments) {
    static launch launch;
    struct sigaction action = {.sa_handler = on_signal};
    parley_error error;
    launch.arguments = arguments;
    launch.settings = &arguments->settings;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN); /* ssh may end before its standard input is written */
    int code = prepare(&launch, &error) == PARLEY_OK ? run_again_and_again(&launch) : fail(arguments->command, &error);
    pl_free(launch.hosts);
    pl_free(launch.rank);
    pl_free(launch.words);
    return code;
}

const command launch_command = {
    .name = "launch",
    .operands = "-- COMMAND ...",
    .least = 1,
    .most = 1,
    .options = PL_FOR_LAUNCH,
    .summary = "run a command on many processes or machines",
    .details =
        "Starts the ranks of a run on this machine, or by ssh on the machines given with --hosts, and waits for them: "
        "parley "
        "launch -n 8 -- train DATA. This is like mpiexec -n 8 parley train DATA, but needs no MPI launcher. If a rank "
        "is "
        "lost, it restarts the run up to --restarts times, from the last checkpoint if the command has --checkpoint.",
    .run = launch_run,
};
