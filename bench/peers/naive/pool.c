/* See naive.h. */
#include "bench/peers/naive/naive.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static struct {
    pthread_mutex_t lock; /* protects all that follows */
    pthread_cond_t more;
    struct call *head, **tail;
    unsigned threads;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};

void put(struct call *c)
{
    c->next = NULL;
    pthread_mutex_lock(&pool.lock);
    *pool.tail = c;
    pool.tail = &c->next;
    pthread_cond_signal(&pool.more);
    pthread_mutex_unlock(&pool.lock);
}

void spawn(void (*run)(struct call *c), long n)
{
    struct call *c = malloc(sizeof(*c));

    if (!c)
        bench_die("out of memory");
    c->run = run;
    c->n = n;
    put(c);
}

/* Pool lock held; gives it up. */
static void run_one(void)
{
    struct call *c = pool.head;

    pool.head = c->next;
    if (!pool.head)
        pool.tail = &pool.head;
    pthread_mutex_unlock(&pool.lock);
    c->run(c);
}

static void *worker(void *arg)
{
    for (;;) {
        pthread_mutex_lock(&pool.lock);
        while (!pool.head)
            pthread_cond_wait(&pool.more, &pool.lock);
        run_one();
    }
    return arg;
}

void start_pool(unsigned threads)
{
    pthread_t thread;

    if (pool.threads == 0)
        pool.tail = &pool.head;
    if (pool.threads > threads)
        bench_die("one workload at a time");
    for (; pool.threads < threads; pool.threads++) {
        if (pthread_create(&thread, NULL, worker, NULL) != 0)
            bench_die("cannot start a thread");
    }
}

void start_default(void)
{
    start_pool(bench_workers());
}

static _Alignas(128) atomic_long left;

void expect(long n)
{
    atomic_store(&left, n);
}

void done(void)
{
    if (atomic_fetch_sub_explicit(&left, 1, memory_order_acq_rel) == 1)
        bench_gate_open();
}
