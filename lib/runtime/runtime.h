/* The runtime object: the scheduler, its threads, the pool, and the phases
 * of its life. */
#ifndef VOLT_RUNTIME_RUNTIME_H
#define VOLT_RUNTIME_RUNTIME_H

#include "runtime/pool.h"
#include "sched/sched.h"

struct volt_runtime {
    struct sched sched; /* first: sched_of() */
    struct pool pool;
    pthread_t *thread;
    unsigned threads;    /* started */
    bool closing, ended; /* the thread that shuts down: phases 2 and 3 of runtime.c */
    char name[12];
};
_Static_assert(offsetof(struct volt_runtime, sched) == 0, "sched_of()");

/* Between two looks of a sentinel, of runtimes that start from now on. Tests set it to 0,
 * so that nothing looks round, and a wake that is lost stays lost. */
extern uint64_t runtime_sentinel_usec;

#endif
