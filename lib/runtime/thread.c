#include "runtime/thread.h"

#include <signal.h>
#include <stdio.h>

int thread_start(pthread_t *ret, void *(*body)(void *), void *arg)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = pthread_create(ret, NULL, body, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -r;
}

void thread_set_name(const char *prefix, const char *suffix)
{
    char name[16];

    (void)snprintf(name, sizeof(name), "%.10s%s", prefix, suffix);
    (void)pthread_setname_np(pthread_self(), name);
}
