#include "runtime/thread.h"

#include <signal.h>
#include <stdio.h>

static _Thread_local const struct pool *works_for;

int thread_start(pthread_t *ret, void *(*body)(void *), void *arg)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = pthread_create(ret, NULL, body, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -r;
}

void thread_enter(const struct pool *owner, const char *prefix, const char *suffix)
{
    char name[16];

    works_for = owner;
    (void)snprintf(name, sizeof(name), "%.10s%s", prefix, suffix);
    (void)pthread_setname_np(pthread_self(), name);
}

const struct pool *thread_owner(void)
{
    return works_for;
}
