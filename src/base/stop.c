/* stop.c: the request to stop, and the handler of Ctrl-C that programs with their own handler can add. */
#define _POSIX_C_SOURCE 200809L /* sigaction */
#include "base/stop.h"

#include <pthread.h>
#include <signal.h>

#include "base/clock.h"

atomic_bool pl_stop_flag;
static atomic_bool own;      /* this process itself was asked */
static _Atomic double limit; /* when the round must end */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned calls, catching; /* under the lock */
static struct sigaction before;  /* the caller's handler of SIGINT */

void pl_stop_join(void) {
    if (atomic_load(&pl_stop_flag))
        return;
    atomic_store(&limit, pl_now() + PL_STOP_GRACE);
    atomic_store(&pl_stop_flag, true);
}

void pl_stop_ask(void) {
    bool again = atomic_exchange(&own, true);
    pl_stop_join();
    if (again)
        atomic_store(&limit, 0.0);
}

bool pl_stop_late(void) { return pl_now() >= atomic_load(&limit); }

parley_status pl_fail_stopped(parley_error *error) {
    return pl_fail(error, PARLEY_STOPPED, "interrupted before it was read to the end");
}

parley_status pl_fail_unfinished(parley_error *error) {
    return pl_fail(error, PARLEY_STOPPED, "interrupted before there was a result");
}

/* The lock is held. */
static void forget(void) {
    atomic_store(&pl_stop_flag, false);
    atomic_store(&own, false);
}

void pl_stop_enter(void) {
    pthread_mutex_lock(&lock);
    if (calls++ == 0)
        forget();
    pthread_mutex_unlock(&lock);
}

parley_status pl_stop_leave(parley_status status) {
    pthread_mutex_lock(&lock);
    if (--calls == 0)
        forget();
    pthread_mutex_unlock(&lock);
    return status;
}

void parley_interrupt(void) { pl_stop_ask(); }

static void on_interrupt(int number, siginfo_t *facts, void *context) {
    pl_stop_ask();
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(number, facts, context);
    else
        before.sa_handler(number);
}

void parley_catch_interrupts(int on) {
    struct sigaction action = {.sa_sigaction = on_interrupt}, now;
    pthread_mutex_lock(&lock);
    bool first = on && catching++ == 0, last = !on && catching > 0 && --catching == 0;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, NULL, &now);
    bool handled = (now.sa_flags & SA_SIGINFO) || (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN);
    bool ours = (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_interrupt;
    if (first && handled && !ours) {
        before = now;
        action.sa_flags = now.sa_flags | SA_SIGINFO;
        sigaction(SIGINT, &action, NULL);
    }
    if (last && ours)
        sigaction(SIGINT, &before, NULL);
    pthread_mutex_unlock(&lock);
}
