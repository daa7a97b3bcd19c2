/* The pool for blocking calls: threads that run one task after the other, started on
 * demand up to a limit, gone after 10 s without work. Plain mutex and condition: a
 * hand-over here costs a context switch anyway. */
#ifndef VOLT_RUNTIME_POOL_H
#define VOLT_RUNTIME_POOL_H

#include "task/task.h"

#include <pthread.h>

struct pool {
    pthread_mutex_t lock; /* protects everything below it */
    pthread_cond_t work;  /* monotonic clock */
    struct task_chain queue;
    unsigned threads, idle; /* idle: waiting for a task */
    unsigned stand_ins;     /* of threads: play workers, and are not part of the limit */
    bool stop;
    bool has_last; /* `last` ended and is to be joined by the next that ends */
    pthread_t last;
    pthread_cond_t gone; /* threads == 0 */
    vat_u32 running;     /* = threads; written under the lock, read by anybody, relaxed */
    /* constant */
    unsigned max_threads;
    uint64_t idle_ns;
    char name[12];
};

#define POOL_IDLE_NS (UINT64_C(10) * 1000000000)

/* 0 or a negative errno. Starts no thread. */
int pool_init(struct pool *p, unsigned max_threads, const char *name);
/* Any thread. Queues an owned token. 0; -EAGAIN when there is no thread and none could be
 * started: the caller keeps the token. */
int pool_submit(struct pool *p, struct volt_task *t) __attribute__((warn_unused_result));
/* The same for a task that plays a worker until pool_stand_in_end(): beyond the limit,
 * and a thread begins with it at once. */
int pool_submit_stand_in(struct pool *p, struct volt_task *t)
    __attribute__((warn_unused_result));
void pool_stand_in_end(struct pool *p);
/* After the last task: ends and joins all threads. */
void pool_fini(struct pool *p);

#endif
