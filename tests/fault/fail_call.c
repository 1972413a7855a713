/* fail_call.c: runs a command and makes one of its system calls fail.
 *
 *     fail_call REPORT KIND ERROR N COMMAND...
 *
 * The N-th call of a kind (write, sync, rename, open, map, clone, lock) of the command and its children fails with the
 * error number ERROR; with "N+" all from the N-th on, except writes to standard streams. With 0 none fails. Calls count
 * from the moment at which `main` looks at its standard streams, so that the dynamic loader is not disturbed. Writes
 * "COUNT CODE SIGNAL" to the file REPORT: how many calls there were, and how the command ended.
 *
 * The kernel stops every such call and asks this process (seccomp's user notification), so calls inside the C library
 * are covered too, in all threads. Needs Linux 5.6, but no privileges. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_CALLS 6
#define UNSUPPORTED 77

typedef struct kind {
    const char *name;
    int calls[MOST_CALLS]; /* 0 ends the list, unless it is the first */
} kind;

#ifdef SYS_open
#define OPEN SYS_open
#define RENAME SYS_rename
#define FORK SYS_fork, SYS_vfork
#else
#define OPEN SYS_openat
#define RENAME SYS_renameat
#define FORK SYS_clone
#endif

static const kind kinds[] = {
    {"write", {SYS_write, SYS_pwrite64, SYS_writev}},
    {"sync", {SYS_fsync, SYS_fdatasync, SYS_ftruncate}},
    {"rename", {RENAME, SYS_renameat, SYS_renameat2}},
    {"open", {OPEN, SYS_openat}},
    {"map", {SYS_mmap}},
    {"clone", {SYS_clone, SYS_clone3, FORK}},
    {"lock", {SYS_flock}},
};

static const kind *find_kind(const char *name) {
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    return NULL;
}

/* Asks this process about the calls of a kind, and about fcntl(0, F_GETFD). */
static int install(const kind *kind) {
    struct sock_filter code[4 * MOST_CALLS + 16];
    unsigned short n = 0;
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned i = 0; i < MOST_CALLS && (i == 0 || kind->calls[i]); i++) {
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)kind->calls[i], 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    }
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 5);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0]));
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, STDIN_FILENO, 0, 3);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1]));
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_GETFD, 0, 1);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {n, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

typedef struct plan {
    uint64_t nth;
    bool from_then_on, begun;
    int error;
    uint64_t count;
} plan;

static bool fails(plan *plan, const struct seccomp_data *call, bool writes) {
    if (call->nr == SYS_fcntl) {
        plan->begun = true;
        return false;
    }
    if (!plan->begun)
        return false;
    plan->count++;
    if (!plan->nth || plan->count < plan->nth)
        return false;
    return plan->from_then_on ? !(writes && call->args[0] <= STDERR_FILENO) : plan->count == plan->nth;
}

/* Answers until all processes under the filter have ended. */
static void serve(int listener, plan *plan, bool writes) {
    struct seccomp_notif call;
    struct pollfd polled = {listener, POLLIN, 0};
    while (poll(&polled, 1, -1) > 0 || errno == EINTR) {
        if (!(polled.revents & POLLIN))
            return;
        memset(&call, 0, sizeof call);
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0)
            continue; /* the caller was killed meanwhile */
        struct seccomp_notif_resp answer = {.id = call.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
        if (fails(plan, &call.data, writes))
            answer = (struct seccomp_notif_resp){.id = call.id, .error = -plan->error};
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    }
}

/* The child tells the number of its listener in shared memory, because its writes may be stopped already. */
static int fetch_listener(pid_t child, atomic_int *number) {
    int status;
    while (atomic_load(number) == 0)
        if (waitpid(child, &status, WNOHANG) == child)
            return -1;
    int process = (int)syscall(SYS_pidfd_open, child, 0);
    int listener = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, atomic_load(number), 0);
    if (process >= 0)
        close(process);
    atomic_store(number, -1);
    return listener;
}

int main(int count, char **words) {
    const kind *kind = count > 5 ? find_kind(words[2]) : NULL;
    if (!kind) {
        fprintf(stderr, "usage: fail_call REPORT KIND ERROR N COMMAND...\n");
        return 2;
    }
    plan plan = {.error = atoi(words[3]), .nth = strtoull(words[4], NULL, 10), .from_then_on = strchr(words[4], '+')};
    atomic_int *number = mmap(NULL, sizeof *number, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (number == MAP_FAILED)
        return UNSUPPORTED;
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int listener = install(kind);
        if (listener < 0 || fcntl(listener, F_SETFD, FD_CLOEXEC) != 0)
            _exit(UNSUPPORTED);
        atomic_store(number, listener);
        while (atomic_load(number) > 0) /* until the parent has a copy */
            sched_yield();
        execvp(words[5], words + 5);
        _exit(127);
    }
    int listener = child > 0 ? fetch_listener(child, number) : -1, status = 0;
    if (listener < 0) {
        fprintf(stderr, "fail_call: this system does not let a process answer the system calls of another\n");
        return UNSUPPORTED;
    }
    serve(listener, &plan, strcmp(kind->name, "write") == 0);
    waitpid(child, &status, 0);
    FILE *report = fopen(words[1], "w");
    if (!report)
        return 2;
    fprintf(report, "%llu %d %d\n", (unsigned long long)plan.count, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    return fclose(report) == 0 ? 0 : 2;
}
