/* See outside.h. */
#include "outside.h"

#include "_cgo_export.h"

#include <pthread.h>
#include <stdlib.h>

void nap(long ns)
{
    struct timespec t = {ns / 1000000000, ns % 1000000000};

    while (nanosleep(&t, &t) < 0)
        ;
}

static struct {
    int n;
    long pause_ns, *ret_ns;
} job;

static void *knocker(void *arg)
{
    for (int i = 0; i < job.n; i++) {
        long start;

        nap(job.pause_ns);
        start = now_ns();
        job.ret_ns[i] = onKnock() - start;
    }
    return arg;
}

void knock_often(int n, long pause_ns, long *ret_ns)
{
    pthread_t thread;

    job.n = n, job.pause_ns = pause_ns, job.ret_ns = ret_ns;
    if (pthread_create(&thread, NULL, knocker, NULL) != 0)
        abort();
    pthread_join(thread, NULL);
}
