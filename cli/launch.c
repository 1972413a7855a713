/* launch.c: `parley launch`: starts the ranks of a run, on this machine or by ssh on others, without an MPI launcher.
 * MPICH's processes need only a PMI-1 server (pmi.h) to find each other. Restarts them if one is lost. */
#define _GNU_SOURCE /* getaddrinfo, prctl */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "cli.h"
#include "pmi.h"
#include "train/checkpoint.h"

#define TICK_MS 20
#define GRACE 2.5 /* seconds for the other ranks to end after one has ended */
#define MOST_HOSTS 4096
#define MOST_HOST 256
#define MOST_SLOTS 65536
#define MOST_LINE 1024
#define MOST_MAPPING 65536
#define VARIABLES 5 /* that tell a rank how it was started */

typedef struct host {
    char name[MOST_HOST];
    unsigned slots, ranks;
} host;

typedef struct launch {
    const arguments *arguments;
    const parley_settings *settings;
    host *hosts; /* NULL: all ranks run on this machine */
    unsigned count, ranks;
    pid_t *pids; /* of each rank; 0 if it has ended */
    int *codes;
    const char **words; /* the command of each rank */
    unsigned words_count;
    char mapping[MOST_MAPPING];
    char program[4096];
    char job[MOST_HOST + 32]; /* unique to this launcher, for locks (base/lock.h) */
    unsigned attempt;
} launch;

static volatile sig_atomic_t asked; /* the signal that asked the launcher to stop */

static void on_signal(int number) { asked = number; }

/* Parses a number of slots: digits only. Returns 0 if it is not a number from 1 to MOST_SLOTS. */
static unsigned read_slots(const char *text) {
    unsigned slots = 0;
    for (; *text >= '0' && *text <= '9' && slots <= MOST_SLOTS; text++)
        slots = 10 * slots + (unsigned)(*text - '0');
    return *text || slots > MOST_SLOTS ? 0 : slots;
}

/* Cuts ":4" off a name and returns the number, or NULL if there is none. An IPv6 address needs brackets for it:
 * [::1]:4.
 */
static const char *cut_slots(char **name) {
    char *colon = strrchr(*name, ':'), *bracket = strrchr(*name, ']');
    bool address = **name == '[' && bracket;
    if (!colon || (address && colon < bracket) || (!address && strchr(*name, ':') != colon))
        colon = NULL;
    if (colon)
        *colon = '\0';
    if (address) {
        *bracket = '\0';
        ++*name;
    }
    return colon ? colon + 1 : NULL;
}

/* Parses "name", "name:4" or "name slots=4". An empty line leaves the name empty. */
static parley_status read_host(char *line, host *host, parley_error *error) {
    char *rest, *name = strtok_r(line, " \t\r", &rest), *more = name ? strtok_r(NULL, " \t\r", &rest) : NULL;
    *host = (struct host){.slots = 1};
    if (!name)
        return PARLEY_OK;
    const char *slots = cut_slots(&name);
    if (more && strncmp(more, "slots=", 6) == 0 && !slots && !strtok_r(NULL, " \t\r", &rest))
        slots = more + 6;
    else if (more)
        return pl_fail(error, PARLEY_BAD_INPUT, "%.60s: a line must be name, name:4 or name slots=4", more);
    if (!*name || *name == '-' || strlen(name) >= sizeof host->name)
        return pl_fail(error, PARLEY_BAD_INPUT, "`%.60s` is not the name of a host", name);
    if (slots && !(host->slots = read_slots(slots)))
        return pl_fail(error, PARLEY_BAD_INPUT, "%.20s: slots must be a whole number from 1 to %d", slots, MOST_SLOTS);
    snprintf(host->name, sizeof host->name, "%s", name);
    return PARLEY_OK;
}

static parley_status read_line(launch *this, char *line, const char *path, unsigned number, parley_error *error) {
    parley_error wrong;
    if (!strchr(line, '\n') && strlen(line) == MOST_LINE - 1)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s:%u: the line is too long", path, number);
    if (this->count == MOST_HOSTS)
        return pl_fail(error, PARLEY_BAD_INPUT, "%s: more than %d hosts", path, MOST_HOSTS);
    line[strcspn(line, "#\n")] = '\0';
    parley_status status = read_host(line, &this->hosts[this->count], &wrong);
    if (status != PARLEY_OK)
        return pl_fail(error, status, "%s:%u: %s", path, number, wrong.sentence);
    this->count += *this->hosts[this->count].name != '\0';
    return status;
}

static parley_status read_hosts(launch *this, const char *path, parley_error *error) {
    char line[MOST_LINE];
    FILE *file = fopen(path, "r");
    if (!file)
        return pl_fail_file(error, path, "open");
    parley_status status = pl_take(&this->hosts, MOST_HOSTS, sizeof *this->hosts, "hosts", error);
    for (unsigned number = 1; status == PARLEY_OK && fgets(line, sizeof line, file); number++)
        status = read_line(this, line, path, number, error);
    fclose(file);
    if (status == PARLEY_OK && this->count == 0)
        status = pl_fail(error, PARLEY_BAD_INPUT, "%s: the file names no host", path);
    return status;
}

/* Ranks fill the hosts in the order of the file. PMI's mapping describes this. */
static parley_status place(launch *this, parley_error *error) {
    unsigned slots = 0, used, left;
    for (unsigned h = 0; h < this->count; h++)
        slots += this->hosts[h].slots;
    this->ranks = this->settings->ranks ? (unsigned)this->settings->ranks : this->count ? slots : 1;
    if (this->count == 0) {
        snprintf(this->mapping, sizeof this->mapping, "(vector,(0,1,%u))", this->ranks);
        return PARLEY_OK;
    }
    if (this->ranks > slots)
        return pl_fail(error, PARLEY_BAD_USAGE, "--ranks %u: %s has slots for only %u", this->ranks,
                       this->settings->hosts, slots);
    used = (unsigned)snprintf(this->mapping, sizeof this->mapping, "(vector");
    left = this->ranks;
    for (unsigned h = 0; h < this->count && left > 0; h++) {
        host *host = &this->hosts[h];
        host->ranks = host->slots < left ? host->slots : left;
        left -= host->ranks;
        if (used < sizeof this->mapping - 64)
            used += (unsigned)snprintf(this->mapping + used, sizeof this->mapping - used, ",(%u,1,%u)", h, host->ranks);
    }
    snprintf(this->mapping + used, sizeof this->mapping - used, ")");
    return PARLEY_OK;
}

static bool is_here(const char *name) {
    char own[MOST_HOST] = "";
    return strcmp(name, "localhost") == 0 || (gethostname(own, sizeof own - 1) == 0 && strcmp(name, own) == 0);
}

/* The address of this machine as seen from a host: the source address of a packet to it. */
static void own_address(const launch *this, const char *name, char address[MOST_HOST]) {
    struct addrinfo want = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM}, *found = NULL;
    struct sockaddr_storage from;
    socklen_t size = sizeof from;
    if (*this->settings->address) {
        snprintf(address, MOST_HOST, "%.*s", MOST_HOST - 1, this->settings->address);
        return;
    }
    if (gethostname(address, MOST_HOST - 1) != 0 || getaddrinfo(name, "9", &want, &found) != 0)
        return;
    int probe = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (probe >= 0 && connect(probe, found->ai_addr, found->ai_addrlen) == 0 &&
        getsockname(probe, (struct sockaddr *)&from, &size) == 0)
        getnameinfo((struct sockaddr *)&from, size, address, MOST_HOST, NULL, 0, NI_NUMERICHOST);
    if (probe >= 0)
        close(probe);
    freeaddrinfo(found);
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
static char *remote_command(const launch *this, const char *environment) {
    uint64_t bytes = strlen(environment) + 4 * strlen(this->program) + 16;
    for (unsigned i = 1; i < this->words_count; i++)
        bytes += 4 * strlen(this->words[i]) + 4;
    char *command = pl_alloc(bytes, 1);
    if (!command)
        return NULL;
    char *at = command + snprintf(command, bytes, "exec env %s", environment);
    at = quote(at, this->program);
    for (unsigned i = 1; i < this->words_count; i++)
        at = quote(at, this->words[i]);
    return command;
}

/* Runs the command on a host. It gets no standard input, because ssh in the background would be stopped when it reads
 * the terminal. */
static void become_remote(const launch *this, const host *host, const char *environment) {
    const char *shell = this->settings->shell;
    char *command = remote_command(this, environment);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (!command || nothing < 0 || dup2(nothing, STDIN_FILENO) < 0)
        return;
    if (strcmp(shell, "ssh") == 0)
        execlp(shell, shell, "-o", "BatchMode=yes", "--", host->name, command, (char *)NULL);
    else
        execlp(shell, shell, host->name, command, (char *)NULL);
}

/* Runs in the child process and becomes the rank. */
static void become(const launch *this, unsigned rank, const host *host, unsigned port) {
    char variables[VARIABLES][MOST_HOST + 64], address[MOST_HOST] = "127.0.0.1";
    bool here = !host || is_here(host->name);
    if (!here || *this->settings->address)
        own_address(this, host ? host->name : "localhost", address);
    snprintf(variables[0], sizeof *variables, "PMI_PORT=%s:%u", address, port);
    snprintf(variables[1], sizeof *variables, "PMI_ID=%u", rank);
    snprintf(variables[2], sizeof *variables, "PARLEY_RANKS=%u", this->ranks);
    snprintf(variables[3], sizeof *variables, "PARLEY_RANKS_HERE=%u", host ? host->ranks : this->ranks);
    snprintf(variables[4], sizeof *variables, "PARLEY_LAUNCH=%s/%u", this->job, this->attempt);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);
    if (here) {
        for (unsigned i = 0; i < VARIABLES; i++)
            putenv(variables[i]);
        execv(this->program, (char *const *)(uintptr_t)this->words);
    } else {
        char environment[sizeof variables];
        snprintf(environment, sizeof environment, "%s %s %s %s %s", variables[0], variables[1], variables[2],
                 variables[3], variables[4]);
        become_remote(this, host, environment);
    }
    fprintf(stderr, "parley: cannot start rank %u: %s\n", rank, strerror(errno));
    _exit(EXIT_FAILED);
}

static parley_status start_ranks(launch *this, const pmi *pmi, parley_error *error) {
    unsigned h = 0, on_host = 0;
    for (unsigned rank = 0; rank < this->ranks; rank++, on_host++) {
        if (this->hosts && on_host == this->hosts[h].ranks) {
            h++;
            on_host = 0;
        }
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0)
            become(this, rank, this->hosts ? &this->hosts[h] : NULL, pmi_port(pmi));
        if (pid < 0)
            return pl_fail(error, PARLEY_NO_MEMORY, "cannot start rank %u: %s", rank, strerror(errno));
        this->pids[rank] = pid;
        this->codes[rank] = 0;
    }
    return PARLEY_OK;
}

static void signal_all(const launch *this, int number) {
    for (unsigned r = 0; r < this->ranks; r++)
        if (this->pids[r] > 0)
            kill(this->pids[r], number);
}

/* How ranks ended. */
typedef struct ends {
    double first; /* when the first one ended; negative while all run */
    int killed;   /* the first killed rank; negative if none was */
    int failed;   /* the first rank that ended with another exit code than 0 and EXIT_LOST; negative if none did */
    bool told;    /* a rank that ended because of it has reported the lost rank */
} ends;

/* Notes which ranks have ended; returns how many have not. */
static unsigned reap(launch *this, ends *ends) {
    unsigned left = 0;
    for (unsigned r = 0; r < this->ranks; r++) {
        int status;
        if (this->pids[r] > 0 && waitpid(this->pids[r], &status, WNOHANG) == this->pids[r]) {
            this->codes[r] = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_LOST;
            this->pids[r] = 0;
            ends->first = ends->first < 0 ? pl_now() : ends->first;
            ends->killed = WIFSIGNALED(status) && ends->killed < 0 ? (int)r : ends->killed;
            ends->told = ends->told || (WIFEXITED(status) && this->codes[r] == EXIT_LOST);
            ends->failed = this->codes[r] != EXIT_DONE && ends->failed < 0 ? (int)r : ends->failed;
        }
        left += this->pids[r] > 0;
    }
    return left;
}

/* Is it an exit code of Parley, and not of MPI or the dynamic loader? */
static bool is_own(int code) { return (code >= EXIT_DONE && code <= EXIT_LOST) || code == EXIT_INTERRUPTED; }

/* Connected ranks notice when one is lost, report it and end. Before they are connected, and after their work is done,
 * only the launcher can report it. A rank that fails in the meantime is silent unless it is rank 0, and MPI may end any
 * rank. */
static void report_lost(const launch *this, ends *ends) {
    int failed = ends->failed;
    if (ends->killed >= 0 && !ends->told && !asked)
        fprintf(stderr, "parley: rank %d was lost: its process ended\n", ends->killed);
    else if (failed >= 0 && (this->pids[0] > 0 || !is_own(this->codes[failed])) && !ends->told && !asked)
        fprintf(stderr, "parley: rank %d was lost: its process ended with exit code %d\n", failed, this->codes[failed]);
    ends->told = true;
}

static void serve(launch *this, pmi *pmi) {
    ends ends = {.first = -1, .killed = -1, .failed = -1};
    int told = 0;
    while (reap(this, &ends) > 0) {
        if (ends.first >= 0 && pl_now() - ends.first > GRACE) {
            report_lost(this, &ends);
            signal_all(this, SIGKILL);
        }
        if (asked && !told) {
            told = asked;
            signal_all(this, told);
        }
        pmi_serve(pmi, TICK_MS);
    }
    report_lost(this, &ends);
}

/* Runs the ranks once. The exit code is that of rank 0, unless it was lost. */
static int run_ranks(launch *this) {
    pmi *pmi = NULL;
    parley_error error;
    parley_status status = pmi_open(&pmi, this->ranks, !this->hosts, this->mapping, &error);
    if (status == PARLEY_OK)
        status = start_ranks(this, pmi, &error);
    if (status != PARLEY_OK) {
        signal_all(this, SIGKILL);
        for (ends ends = {.first = -1, .killed = -1, .failed = -1}; reap(this, &ends) > 0;)
            pl_sleep(1e-3 * TICK_MS);
        pmi_close(pmi);
        return fail(this->arguments->command, &error);
    }
    serve(this, pmi);
    pmi_close(pmi);
    return is_own(this->codes[0]) ? this->codes[0] : EXIT_LOST;
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

/* Prepares the command for a restart: the same, but from the last checkpoint if there is one. */
static bool resume(launch *this) {
    const arguments *arguments = this->arguments;
    const char *folder = value_after(arguments->rest, arguments->rest_count, "--checkpoint");
    uint64_t rounds[PL_RECENT];
    this->words_count = arguments->rest_count + 1;
    if (!folder || pl_checkpoint_list(folder, rounds) == 0)
        return false;
    if (value_after(arguments->rest, arguments->rest_count, "--resume"))
        return true; /* unchanged */
    this->words[this->words_count++] = "--resume";
    this->words[this->words_count++] = folder;
    return true;
}

static int run_again_and_again(launch *this) {
    int code = run_ranks(this);
    for (uint64_t i = 1; code == EXIT_LOST && i <= this->settings->restarts && !asked; i++) {
        bool resumed = resume(this);
        this->attempt++;
        fprintf(stderr, "parley: restarting%s, %llu of %llu\n", resumed ? " from the last checkpoint" : "",
                (unsigned long long)i, (unsigned long long)this->settings->restarts);
        code = run_ranks(this);
    }
    return asked && code == EXIT_LOST ? EXIT_INTERRUPTED : code; /* before training a signal ends ranks at once */
}

/* A host, a process and a time are unique. */
static void name_job(launch *this) {
    char own[MOST_HOST] = "";
    if (gethostname(own, sizeof own - 1) != 0)
        *own = '\0';
    own[strcspn(own, " '/")] = '\0';
    snprintf(this->job, sizeof this->job, "%.200s-%ld-%.0f", own, (long)getpid(), 1e3 * pl_now());
}

static parley_status prepare(launch *this, parley_error *error) {
    const arguments *arguments = this->arguments;
    name_job(this);
    parley_status status = PARLEY_OK;
    if (*this->settings->hosts)
        status = read_hosts(this, this->settings->hosts, error);
    if (status == PARLEY_OK)
        status = place(this, error);
    if (status == PARLEY_OK)
        status = pl_take(&this->pids, this->ranks, sizeof *this->pids, "ranks", error);
    if (status == PARLEY_OK)
        status = pl_take(&this->codes, this->ranks, sizeof *this->codes, "ranks", error);
    if (status == PARLEY_OK)
        status = pl_take(&this->words, arguments->rest_count + 4, sizeof *this->words, "a command", error);
    if (status != PARLEY_OK)
        return status;
    ssize_t length = readlink("/proc/self/exe", this->program, sizeof this->program - 1);
    if (length <= 0)
        return pl_fail_file(error, "/proc/self/exe", "read");
    this->words[0] = this->program;
    for (unsigned i = 0; i < arguments->rest_count; i++)
        this->words[i + 1] = arguments->rest[i];
    this->words_count = arguments->rest_count + 1;
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
    int code = prepare(&launch, &error) == PARLEY_OK ? run_again_and_again(&launch) : fail(arguments->command, &error);
    pl_free(launch.hosts);
    pl_free(launch.pids);
    pl_free(launch.codes);
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
