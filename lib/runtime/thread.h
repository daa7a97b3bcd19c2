/* Threads of the runtime: named, with all signals blocked, so that the application's own
 * threads receive them. */
#ifndef VOLT_RUNTIME_THREAD_H
#define VOLT_RUNTIME_THREAD_H

#include <pthread.h>

/* 0 or a negative errno. */
int thread_start(pthread_t *ret, void *(*body)(void *), void *arg);
/* Names the calling thread prefix + suffix, cut to the kernel's 15 characters. */
void thread_set_name(const char *prefix, const char *suffix);

#endif
