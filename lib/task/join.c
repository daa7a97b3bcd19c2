/* Join handles and wakers: the references on tasks that callers hold.
 *
 * A thread that waits puts a word on its stack and the word's address, tagged, where a
 * joining task would stand. The completer stores 1 and wakes the address; the thread may
 * be gone by then, which a futex wake does not mind. */
#include "base/futex.h"
#include "task/task.h"

#include <assert.h>
#include <errno.h>

#define JOINER_THREAD UINT64_C(1)

static void *thread_joiner(vat_u32 *word)
{
    return (void *)((uintptr_t)word | JOINER_THREAD);
}

static vat_u32 *joiner_thread(void *joiner)
{
    uintptr_t p = (uintptr_t)joiner;

    return p & JOINER_THREAD ? (vat_u32 *)(p & ~JOINER_THREAD) : NULL;
}

static void joiner_unref(void *joiner)
{
    if (joiner && !joiner_thread(joiner))
        task_unref(joiner);
}

void task_wake_joiner(void *joiner)
{
    vat_u32 *word = joiner_thread(joiner);

    if (word) {
        vat_u32_store(word, 1, VAT_REL);
        vfutex_wake(word, 1);
        return;
    }
    if (task_notify(joiner))
        sched_submit(joiner);
    task_unref(joiner);
}

static bool ended(const struct volt_join *join)
{
    return vat_u64_load(&join->task->state, VAT_ACQ) & TASK_COMPLETE;
}

enum volt_poll volt_join_poll(struct volt_cx *cx, struct volt_join *join)
{
    struct volt_task *t = join->task;

    assert(t && t != cx->task);
    if (cx_take(cx) == VOLT_PENDING)
        return VOLT_PENDING;
    if (ended(join))
        return VOLT_READY;
    /* Only this side stores joiners, so the field may be read while JOIN_WAKER stands. */
    if ((vat_u64_load(&t->state, VAT_RLX) & TASK_JOIN_WAKER) && t->joiner != cx->task)
        joiner_unref(task_join_take(t)); /* the handle has moved to another task */
    if (!(vat_u64_load(&t->state, VAT_RLX) & TASK_JOIN_WAKER)) {
        task_ref(cx->task);
        if (!task_join_store(t, cx->task)) {
            task_unref(cx->task);
            return VOLT_READY;
        }
    } else if (ended(join)) {
        return VOLT_READY;
    }
    cx_restore(cx);
    return VOLT_PENDING;
}

int volt_join_wait(struct volt_join *join)
{
    vat_u32 word;

    assert(join->task);
    vat_u32_init(&word, 0);
    joiner_unref(task_join_take(join->task));
    if (task_join_store(join->task, thread_joiner(&word)))
        while (vat_u32_load(&word, VAT_ACQ) == 0)
            (void)vfutex_wait(&word, 0, UINT64_MAX);
    return volt_join_status(join);
}

int volt_join_status(const struct volt_join *join)
{
    uint64_t s = vat_u64_load(&join->task->state, VAT_ACQ);

    if (!(s & TASK_COMPLETE))
        return -EINPROGRESS;
    return s & TASK_DROPPED ? -ECANCELED : 0;
}

void *volt_join_state(const struct volt_join *join)
{
    return task_state(join->task);
}

void volt_join_cancel(struct volt_join *join)
{
    if (join->task && task_cancel(join->task))
        sched_submit(join->task);
}

void volt_join_fini(struct volt_join *join)
{
    struct volt_task *t = join->task;
    void *joiner;

    if (!t)
        return;
    join->task = NULL;
    bool output = task_join_leave(t, &joiner);
    joiner_unref(joiner);
    if (output && t->type->drop_output)
        t->type->drop_output(task_state(t));
    task_unref(t);
}

struct volt_waker volt_waker_new(struct volt_cx *cx)
{
    task_ref(cx->task);
    return (struct volt_waker){cx->task};
}

struct volt_waker volt_waker_ref(const struct volt_waker *w)
{
    if (w->task)
        task_ref(w->task);
    return *w;
}

void volt_waker_wake(const struct volt_waker *w)
{
    if (w->task && task_notify(w->task))
        sched_submit(w->task);
}

void volt_waker_fini(struct volt_waker *w)
{
    task_unref(w->task);
    w->task = NULL;
}
