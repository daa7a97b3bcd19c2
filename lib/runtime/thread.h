/* Threads of a runtime: named, with all signals blocked, so that the application's own
 * threads receive them. Each works for one runtime all its life, as a worker or in the
 * pool, for which the address of its pool stands. */
#ifndef VOLT_RUNTIME_THREAD_H
#define VOLT_RUNTIME_THREAD_H

#include <pthread.h>

struct pool;

/* 0 or a negative errno. */
int thread_start(pthread_t *ret, void *(*body)(void *), void *arg);
/* First of all in a new thread. Names it prefix + suffix, cut to the kernel's 15
 * characters. */
void thread_enter(const struct pool *owner, const char *prefix, const char *suffix);
/* The runtime that the calling thread works for; NULL: none. */
const struct pool *thread_owner(void);

#endif
