/* launch.c: `parley launch`: starts the ranks of a run, here or by ssh on other machines, without an MPI starter:
 * MPICH's processes need nobody but a PMI-1 server (pmi.h) to find each other. Starts them again when one was lost. */
#define _GNU_SOURCE /* getaddrinfo, prctl */
#include <errno.h>
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
#define GRACE 2.5 /* seconds that the other ranks have to end when one has ended */
#define MOST_HOSTS 4096
#define MOST_HOST 256
#define MOST_COMMAND 65536

typedef struct host {
    char name[MOST_HOST];
    unsigned slots, ranks;
} host;

typedef struct launch {
    const arguments *arguments;
    const parley_settings *settings;
    host *hosts; /* NULL: all ranks are here */
    unsigned count, ranks;
    pid_t *pids; /* of each rank; 0: it has ended */
    int *codes;
    const char **words; /* what each rank is to do */
    unsigned words_count;
    char mapping[MOST_COMMAND];
    char program[4096];
} launch;

static volatile sig_atomic_t asked; /* the signal that asked us to stop */

static void on_signal(int number) { asked = number; }

/* "name", "name:4" or "name slots=4". */
static bool read_host(char *line, host *host) {
    char *name = strtok(line, " \t\r\n"), *more = name ? strtok(NULL, " \t\r\n") : NULL, *colon;
    if (!name)
        return false;
    host->slots = 1;
    if ((colon = strrchr(name, ':'))) {
        *colon = '\0';
        host->slots = (unsigned)atoi(colon + 1);
    }
    if (more && strncmp(more, "slots=", 6) == 0)
        host->slots = (unsigned)atoi(more + 6);
    snprintf(host->name, sizeof host->name, "%s", name);
    return true;
}

static parley_status read_hosts(launch *this, const char *path, parley_error *error) {
    char line[1024];
    FILE *file = fopen(path, "r");
    if (!file)
        return pl_fail_file(error, path, "open");
    parley_status status = pl_take(&this->hosts, MOST_HOSTS, sizeof *this->hosts, "hosts", error);
    for (unsigned number = 1; status == PARLEY_OK && fgets(line, sizeof line, file); number++) {
        line[strcspn(line, "#\n")] = '\0';
        if (this->count == MOST_HOSTS)
            status = pl_fail(error, PARLEY_BAD_INPUT, "%s: more than %d hosts", path, MOST_HOSTS);
        else if (read_host(line, &this->hosts[this->count])) {
            if (this->hosts[this->count].slots == 0)
                status = pl_fail(error, PARLEY_BAD_INPUT, "%s:%u: slots must be 1 or more", path, number);
            this->count++;
        }
    }
    fclose(file);
    if (status == PARLEY_OK && this->count == 0)
        status = pl_fail(error, PARLEY_BAD_INPUT, "%s: it names no host", path);
    return status;
}

/* Ranks fill the hosts in the order of the file; what PMI calls a mapping says so in its words. */
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
        return pl_fail(error, PARLEY_BAD_USAGE, "--ranks %u: %s has room for %u", this->ranks, this->settings->hosts,
                       slots);
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

/* This machine's address, as a host sees it: where a packet to it would start. */
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

/* Adds a word to a command for another machine's shell, between quotes. */
static void quote(char *command, const char *word) {
    size_t used = strlen(command);
    const char *end = command + MOST_COMMAND - 8;
    char *at = command + used;
    *at++ = ' ';
    *at++ = '\'';
    for (; *word && at < end; word++) {
        if (*word == '\'') {
            memcpy(at, "'\\''", 4);
            at += 4;
        } else
            *at++ = *word;
    }
    *at++ = '\'';
    *at = '\0';
}

/* In the child: becomes the rank. */
static void become(const launch *this, unsigned rank, const host *host, unsigned port) {
    char variables[4][MOST_HOST + 32], address[MOST_HOST] = "127.0.0.1", *command;
    bool here = !host || is_here(host->name);
    if (!here || *this->settings->address)
        own_address(this, host ? host->name : "localhost", address);
    snprintf(variables[0], sizeof *variables, "PMI_PORT=%s:%u", address, port);
    snprintf(variables[1], sizeof *variables, "PMI_ID=%u", rank);
    snprintf(variables[2], sizeof *variables, "PARLEY_RANKS=%u", this->ranks);
    snprintf(variables[3], sizeof *variables, "PARLEY_RANKS_HERE=%u", host ? host->ranks : this->ranks);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);
    if (here) {
        for (unsigned i = 0; i < 4; i++)
            putenv(variables[i]);
        execv(this->program, (char *const *)(uintptr_t)this->words);
    } else if ((command = pl_alloc(MOST_COMMAND, 1))) {
        snprintf(command, MOST_COMMAND, "exec env %s %s %s %s", variables[0], variables[1], variables[2], variables[3]);
        quote(command, this->program);
        for (unsigned i = 1; i < this->words_count; i++)
            quote(command, this->words[i]);
        execlp(this->settings->shell, this->settings->shell, host->name, command, (char *)NULL);
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

/* How ranks came to their end. */
typedef struct ends {
    double first; /* when; negative: all run */
    int killed;   /* the first that was; negative: none */
    bool told;    /* that a rank was lost: by one that ended because of it */
} ends;

/* Notes who has ended; returns how many have not. */
static unsigned reap(launch *this, ends *ends) {
    unsigned left = 0;
    for (unsigned r = 0; r < this->ranks; r++) {
        int status;
        if (this->pids[r] > 0 && waitpid(this->pids[r], &status, WNOHANG) == this->pids[r]) {
            this->codes[r] = WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_LOST;
            this->pids[r] = 0;
            ends->first = ends->first < 0 ? pl_now() : ends->first;
            ends->killed = WIFSIGNALED(status) && ends->killed < 0 ? (int)r : ends->killed;
            ends->told = ends->told || (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_LOST);
        }
        left += this->pids[r] > 0;
    }
    return left;
}

/* Ranks that are connected notice when one is killed, report it and end. Before that, and when their work is done, only
 * the launcher can report it. */
static void report_killed(ends *ends) {
    if (ends->killed >= 0 && !ends->told && !asked)
        fprintf(stderr, "parley: rank %d was lost: its process ended\n", ends->killed);
    ends->told = true;
}

static void serve(launch *this, pmi *pmi) {
    ends ends = {.first = -1, .killed = -1};
    int told = 0;
    while (reap(this, &ends) > 0) {
        if (ends.first >= 0 && pl_now() - ends.first > GRACE) {
            report_killed(&ends);
            signal_all(this, SIGKILL);
        }
        if (asked && !told) {
            told = asked;
            signal_all(this, told);
        }
        pmi_serve(pmi, TICK_MS);
    }
    report_killed(&ends);
}

/* One go: rank 0 speaks for all, unless it was killed. */
static int run_ranks(launch *this) {
    pmi *pmi = NULL;
    parley_error error;
    parley_status status = pmi_open(&pmi, this->ranks, !this->hosts, this->mapping, &error);
    if (status == PARLEY_OK)
        status = start_ranks(this, pmi, &error);
    if (status != PARLEY_OK) {
        signal_all(this, SIGKILL);
        for (ends ends = {.first = -1, .killed = -1}; reap(this, &ends) > 0;)
            pl_sleep(1e-3 * TICK_MS);
        pmi_close(pmi);
        return fail(this->arguments->command, &error);
    }
    serve(this, pmi);
    pmi_close(pmi);
    return this->codes[0];
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

/* What the ranks are to do from now on: as they were told, but from the last checkpoint if there is one. */
static bool resume(launch *this) {
    const arguments *arguments = this->arguments;
    const char *folder = value_after(arguments->rest, arguments->rest_count, "--checkpoint");
    uint64_t rounds[PL_RECENT];
    this->words_count = arguments->rest_count + 1;
    if (!folder || pl_checkpoint_list(folder, rounds) == 0)
        return false;
    if (value_after(arguments->rest, arguments->rest_count, "--resume"))
        return true; /* as it was told */
    this->words[this->words_count++] = "--resume";
    this->words[this->words_count++] = folder;
    return true;
}

static int run_again_and_again(launch *this) {
    int code = run_ranks(this);
    for (uint64_t i = 1; code == EXIT_LOST && i <= this->settings->restarts && !asked; i++) {
        bool resumed = resume(this);
        fprintf(stderr, "parley: starting again%s, %llu of %llu\n", resumed ? " from the last checkpoint" : "",
                (unsigned long long)i, (unsigned long long)this->settings->restarts);
        code = run_ranks(this);
    }
    return asked && code == EXIT_LOST ? EXIT_INTERRUPTED : code; /* before training a signal ends ranks at once */
}

static parley_status prepare(launch *this, parley_error *error) {
    const arguments *arguments = this->arguments;
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
