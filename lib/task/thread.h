/* A thread that waits in the place of a task: a word on its stack, whose address, tagged
 * by its lowest bit, stands where a task would.
 *
 * The waker stores 1 and wakes the address. The thread may be gone by then, which a futex
 * wake does not mind.
 *
 * No worker waits so: what it waits for may be behind it in its own queue. */
#ifndef VOLT_TASK_THREAD_H
#define VOLT_TASK_THREAD_H

#include "base/futex.h"
#include "task/task.h"

#define THREAD_TAG UINT64_C(1)

struct waiting_thread {
    vat_u32 woken;
};

/* First of all in a call that may wait. */
static inline void thread_check(void)
{
    assert(!sched_is_worker() &&
           "a worker must not block: poll, or volt_block_in_place()");
}

/* What stands for the calling thread until thread_wait() returns. */
static inline void *thread_begin(struct waiting_thread *w)
{
    vat_u32_init(&w->woken, 0);
    return (void *)((uintptr_t)&w->woken | THREAD_TAG);
}

static inline void thread_wait(struct waiting_thread *w)
{
    while (vat_u32_load(&w->woken, VAT_ACQ) == 0)
        (void)vfutex_wait(&w->woken, 0, UINT64_MAX);
}

/* True: it stands for a thread. */
static inline bool is_thread(const void *waiting)
{
    return (uintptr_t)waiting & THREAD_TAG;
}

/* Any thread, without locks. Once. */
static inline void thread_wake(void *waiting)
{
    vat_u32 *woken = (vat_u32 *)((uintptr_t)waiting & ~THREAD_TAG);

    vat_u32_store(woken, 1, VAT_REL);
    vfutex_wake(woken, 1);
}

#endif
