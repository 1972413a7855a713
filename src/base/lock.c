/* lock.c: who may write a file. The kernel's lock (flock) tells whether the owner lives: it ends with the process, also
 * in another container of the same machine. Between machines many file systems do not pass it on, so there the words in
 * the lock file decide. */
#define _DEFAULT_SOURCE /* flock, gethostname */
#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/paths.h"

#define WORD 256
#define WORDS 2048
#define TICK 0.02  /* seconds between two attempts */
#define SETTLE 0.2 /* seconds for a run that takes the lock at the same moment to write its words */

struct pl_lock {
    char path[PL_PATH];
    int file;
};

/* The words of a lock file. */
typedef struct owner {
    long process;
    unsigned long long start; /* of the process, in clock ticks since the machine started */
    char host[WORD], boot[WORD], job[WORD], since[WORD], run[WORD];
} owner;

typedef enum verdict { IS_FREE, IS_TAKEN, IS_ELSEWHERE, IS_PREDECESSOR } verdict;

static size_t read_text(const char *path, char *text, size_t size) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, text, size - 1) : 0;
    if (file >= 0)
        close(file);
    text[length > 0 ? length : 0] = '\0';
    return length > 0 ? (size_t)length : 0;
}

/* When a process started; 0 if there is no such process, or if it has ended and nobody has waited for it. Its name, in
 * parentheses, may contain anything. */
static unsigned long long start_of(long process) {
    char path[64], text[1024], state = 0;
    unsigned long long start = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", process);
    read_text(path, text, sizeof text);
    const char *rest = strrchr(text, ')');
    if (rest)
        sscanf(rest, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &state,
               &start);
    return state == 'Z' || state == 'X' ? 0 : start;
}

/* The words stand in lines and in a message, so that they must be printable. */
static void clean(char *text) {
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = ' ';
}

static void describe_self(const char *job, owner *self) {
    *self = (owner){.process = (long)getpid(), .start = start_of((long)getpid())};
    time_t now = time(NULL);
    struct tm parts;
    if (gethostname(self->host, sizeof self->host - 1) != 0)
        snprintf(self->host, sizeof self->host, "unknown");
    read_text("/proc/sys/kernel/random/boot_id", self->boot, sizeof self->boot);
    self->boot[strcspn(self->boot, "\n")] = '\0';
    snprintf(self->job, sizeof self->job, "%s", job);
    if (gmtime_r(&now, &parts))
        strftime(self->since, sizeof self->since, "%Y-%m-%d %H:%M:%S UTC", &parts);
    size_t length = read_text("/proc/self/cmdline", self->run, sizeof self->run);
    for (size_t i = 0; i + 1 < length; i++)
        if (!self->run[i])
            self->run[i] = ' ';
    clean(self->run);
    clean(self->job);
    clean(self->host);
}

/* Reads one word, "KEY VALUE" in a line. */
static void find_word(const char *words, const char *key, char value[WORD]) {
    size_t length = strlen(key);
    *value = '\0';
    for (const char *line = words; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, key, length) == 0 && line[length] == ' ')
            snprintf(value, WORD, "%.*s", (int)strcspn(line + length + 1, "\n"), line + length + 1);
    clean(value);
}

static void read_owner(int file, owner *owner) {
    char words[WORDS], number[WORD];
    ssize_t length = pread(file, words, sizeof words - 1, 0);
    words[length > 0 ? length : 0] = '\0';
    *owner = (struct owner){0};
    find_word(words, "process", number);
    sscanf(number, "%ld", &owner->process);
    find_word(words, "start", number);
    sscanf(number, "%llu", &owner->start);
    find_word(words, "host", owner->host);
    find_word(words, "boot", owner->boot);
    find_word(words, "job", owner->job);
    find_word(words, "since", owner->since);
    find_word(words, "run", owner->run);
}

static parley_status write_owner(int file, const owner *self, const char *path, parley_error *error) {
    char words[WORDS];
    int length = snprintf(words, sizeof words, "host %s\nprocess %ld\nstart %llu\nboot %s\njob %s\nsince %s\nrun %s\n",
                          self->host, self->process, self->start, self->boot, self->job, self->since, self->run);
    bool written = ftruncate(file, 0) == 0 && pwrite(file, words, (size_t)length, 0) == length;
    return written ? PARLEY_OK : pl_fail_file(error, path, "write");
}

/* Is it an earlier attempt of the same job? */
static bool is_predecessor(const owner *theirs, const owner *self) {
    const char *slash = strrchr(self->job, '/');
    size_t length = slash ? (size_t)(slash - self->job) + 1 : 0;
    return length > 0 && strncmp(theirs->job, self->job, length) == 0 && strcmp(theirs->job, self->job) != 0;
}

/* Does the owner in the words live? `locked`: the kernel says that no process of this machine has the lock. */
static verdict judge(const owner *theirs, const owner *self, bool locked) {
    if (!theirs->process || is_predecessor(theirs, self))
        return IS_FREE;
    if (*theirs->boot && strcmp(theirs->boot, self->boot) == 0)
        return locked || start_of(theirs->process) != theirs->start ? IS_FREE : IS_TAKEN;
    return strcmp(theirs->host, self->host) == 0 ? IS_FREE : IS_ELSEWHERE; /* this machine has been started again */
}

/* Locks the open lock file and reads its words. If the file system has no locks, the words decide alone. */
static verdict ask(int file, const owner *self, owner *theirs) {
    bool locked = flock(file, LOCK_EX | LOCK_NB) == 0, held = !locked && errno == EWOULDBLOCK;
    read_owner(file, theirs);
    if (!held)
        return judge(theirs, self, locked);
    return is_predecessor(theirs, self) ? IS_PREDECESSOR : IS_TAKEN;
}

static parley_status refuse(const char *path, const char *lock_path, const owner *theirs, verdict verdict,
                            parley_error *error) {
    if (!theirs->process)
        return pl_fail(error, PARLEY_NO_FILE, "%s: in use by another run; wait until it ends, or choose another name",
                       path);
    return pl_fail(error, PARLEY_NO_FILE,
                   "%s: in use by process %ld on %s since %s (%s); wait until it ends, or choose another name%s%s",
                   path, theirs->process, theirs->host, theirs->since, theirs->run,
                   verdict == IS_ELSEWHERE ? "; if that process is gone, remove " : "",
                   verdict == IS_ELSEWHERE ? lock_path : "");
}

/* The name of the lock file; false if there is nothing to lock. */
static bool name_lock(const char *path, char lock_path[PL_PATH]) {
    char target[PL_PATH];
    struct stat facts;
    if (!*path || strcmp(path, "-") == 0 || !pl_follow_links(path, target))
        return false;
    bool exists = stat(path, &facts) == 0, folder = exists && S_ISDIR(facts.st_mode);
    if (exists && !folder && !S_ISREG(facts.st_mode))
        return false;
    return snprintf(lock_path, PL_PATH, "%s%s", target, folder ? "/parley.lock" : ".lock") < PL_PATH;
}

/* Does the name still lead to the open file? Its owner removes it when it ends. */
static bool is_current(int file, const char *path) {
    struct stat opened, named;
    return fstat(file, &opened) == 0 && stat(path, &named) == 0 && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
}

/* Opens the lock file. That of another user (`foreign`) can often only be read. */
static int open_lock(const char *path, bool *foreign) {
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    *foreign = file < 0 && errno == EACCES;
    return *foreign ? open(path, O_RDONLY | O_CLOEXEC) : file;
}

/* One attempt. Leaves `lock->file` negative if it has to be repeated, because the lock changed hands or belongs to an
 * attempt of the same job that is about to end. `waited`: seconds since the first attempt. */
static parley_status attempt(pl_lock *lock, const char *path, const owner *self, double waited, double patience,
                             parley_error *error) {
    owner theirs;
    bool foreign;
    int file = open_lock(lock->path, &foreign);
    if (file < 0)
        return pl_fail_file(error, lock->path, "write");
    parley_status status = PARLEY_OK;
    verdict verdict = ask(file, self, &theirs);
    if (verdict == IS_FREE && is_current(file, lock->path)) {
        if (!foreign)
            status = write_owner(file, self, lock->path, error);
        if (status == PARLEY_OK && !foreign) {
            lock->file = file;
            return PARLEY_OK;
        }
        if (unlink(lock->path) != 0 && foreign)
            status = pl_fail_file(error, lock->path, "remove");
    } else if (waited > (verdict == IS_PREDECESSOR ? patience : SETTLE))
        status = refuse(path, lock->path, &theirs, verdict, error);
    close(file);
    return status;
}

parley_status pl_lock_take(const char *path, const char *job, double patience, pl_lock **out, parley_error *error) {
    pl_lock *lock;
    owner self;
    *out = NULL;
    parley_status status = pl_take(&lock, 1, sizeof *lock, "a lock", error);
    if (status != PARLEY_OK)
        return status;
    lock->file = -1;
    char folder[PL_PATH];
    bool lockable = name_lock(path, lock->path) && pl_folder_of(lock->path, folder) && access(folder, W_OK) == 0;
    double began = pl_now();
    if (lockable)
        describe_self(job, &self);
    while (lockable && status == PARLEY_OK && lock->file < 0) {
        status = attempt(lock, path, &self, pl_now() - began, patience, error);
        if (status == PARLEY_OK && lock->file < 0)
            pl_sleep(TICK);
    }
    if (lock->file < 0) {
        pl_free(lock);
        return status;
    }
    *out = lock;
    return PARLEY_OK;
}

parley_status pl_lock_look(const char *path, const char *job, parley_error *error) {
    char lock_path[PL_PATH];
    owner self, theirs;
    int file = name_lock(path, lock_path) ? open(lock_path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return PARLEY_OK; /* free, or pl_lock_take will report what is wrong */
    describe_self(job, &self);
    read_owner(file, &theirs);
    close(file);
    verdict verdict = judge(&theirs, &self, false); /* to lock it, if only for a moment, could make another run fail */
    return verdict == IS_FREE ? PARLEY_OK : refuse(path, lock_path, &theirs, verdict, error);
}

void pl_lock_free(pl_lock *lock) {
    if (!lock)
        return;
    unlink(lock->path);
    close(lock->file);
    pl_free(lock);
}
