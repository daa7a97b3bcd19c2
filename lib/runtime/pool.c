#include "runtime/pool.h"
#include "base/clock.h"
#include "runtime/thread.h"
#include "sched/sched.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <time.h>

int pool_init(struct pool *p, unsigned max_threads, const char *name)
{
    pthread_condattr_t attr;

    *p = (struct pool){.max_threads = max_threads, .idle_ns = POOL_IDLE_NS};
    (void)snprintf(p->name, sizeof(p->name), "%s", name);
    int r = pthread_mutex_init(&p->lock, NULL);
    if (r)
        return -r;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&p->work, &attr);
    pthread_cond_init(&p->gone, &attr);
    pthread_condattr_destroy(&attr);
    return 0;
}

static void threads_add_locked(struct pool *p, int n)
{
    p->threads += (unsigned)n;
    vat_u32_store(&p->running, p->threads, VAT_RLX);
}

/* Lock held. Waits for a task; NULL: the thread is to end. */
static struct volt_task *wait_task_locked(struct pool *p)
{
    struct timespec until;
    uint64_t end = clock_ns() + p->idle_ns;

    until.tv_sec = (time_t)(end / 1000000000);
    until.tv_nsec = (long)(end % 1000000000);
    while (!p->queue.head && !p->stop) {
        p->idle++;
        int r = pthread_cond_timedwait(&p->work, &p->lock, &until);
        p->idle--;
        if (r == ETIMEDOUT)
            break;
    }
    return task_chain_pop(&p->queue);
}

static void *pool_thread(void *arg)
{
    struct pool *p = arg;
    struct volt_cx cx = {.unbudgeted = true};
    struct volt_task *t;

    thread_enter(p, p->name, "-pool");
    pthread_mutex_lock(&p->lock);
    while ((t = wait_task_locked(p))) {
        pthread_mutex_unlock(&p->lock);
        enum task_ran ran = task_run(&cx, t);
        assert(ran != TASK_RAN_AGAIN && "a blocking task must return VOLT_READY");
        (void)ran;
        pthread_mutex_lock(&p->lock);
        if (p->threads - p->stand_ins > p->max_threads)
            break; /* one that stood in for a worker: the others will do */
    }
    /* A thread that ends joins the one that ended before it; the last is left to
     * pool_fini(). */
    pthread_t before = p->last;
    bool join = p->has_last;
    p->last = pthread_self();
    p->has_last = true;
    threads_add_locked(p, -1);
    if (p->threads == 0)
        pthread_cond_signal(&p->gone);
    pthread_mutex_unlock(&p->lock);
    if (join)
        pthread_join(before, NULL);
    return NULL;
}

int pool_submit(struct pool *p, struct volt_task *t)
{
    pthread_t thread;
    int r = 0;

    pthread_mutex_lock(&p->lock);
    if (p->idle > p->queue.count) {
        pthread_cond_signal(&p->work);
    } else if (p->threads - p->stand_ins < p->max_threads) {
        r = thread_start(&thread, pool_thread, p);
        if (r == 0)
            threads_add_locked(p, 1);
        else if (p->threads > p->stand_ins)
            r = 0; /* one of them will come to it: stand-ins play workers, and do not */
    }
    if (r == 0) /* not before: what else is there may be a stand-in that has not begun */
        task_chain_push(&p->queue, t);
    pthread_mutex_unlock(&p->lock);
    return r;
}

int pool_submit_stand_in(struct pool *p, struct volt_task *t)
{
    pthread_t thread;
    int r = 0;

    pthread_mutex_lock(&p->lock);
    if (p->idle > p->queue.count) {
        pthread_cond_signal(&p->work);
    } else {
        r = thread_start(&thread, pool_thread, p);
        if (r == 0)
            threads_add_locked(p, 1);
    }
    if (r == 0) {
        p->stand_ins++;
        task_chain_push_front(&p->queue, t);
    }
    pthread_mutex_unlock(&p->lock);
    return r;
}

void pool_stand_in_end(struct pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->stand_ins--;
    pthread_mutex_unlock(&p->lock);
}

void pool_fini(struct pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_broadcast(&p->work);
    while (p->threads > 0)
        pthread_cond_wait(&p->gone, &p->lock);
    bool join = p->has_last;
    pthread_t last = p->last;
    pthread_mutex_unlock(&p->lock);
    if (join)
        pthread_join(last, NULL);
    pthread_cond_destroy(&p->work);
    pthread_cond_destroy(&p->gone);
    pthread_mutex_destroy(&p->lock);
}
