/* Join handles and wakers: the references on tasks that callers hold. */
#include "task/join_set.h"
#include "task/leaves.h"
#include "task/thread.h"

#include <assert.h>
#include <errno.h>

/* What has waited for the handle waits no more. */
static void joiner_left(void *joiner, const struct volt_join *join)
{
    if (!joiner || is_thread(joiner))
        return;
    leaf_left(joiner, join);
    task_unref(joiner);
}

void task_wake_joiner(void *joiner)
{
    if (is_thread(joiner)) {
        thread_wake(joiner);
        return;
    }
    if (is_member(joiner)) {
        join_set_ended(joiner);
        return;
    }
    if (task_notify_unref(joiner))
        sched_submit(joiner);
}

static bool ended(const struct volt_join *join)
{
    return vat_u64_load(&join->task->state, VAT_ACQ) & TASK_COMPLETE;
}

enum volt_poll volt_join_poll(struct volt_cx *cx, struct volt_join *join)
{
    struct volt_task *t = join->task;

    assert(t && "the handle is empty");
    assert(t != cx->task && "a task cannot await its own end");
    if (cx_take(cx) == VOLT_PENDING)
        return VOLT_PENDING;
    if (ended(join)) {
        leaf_seen(cx, join);
        return VOLT_READY;
    }
    /* Only this side stores joiners, so the field may be read while JOIN_WAKER stands. */
    if ((vat_u64_load(&t->state, VAT_RLX) & TASK_JOIN_WAKER) && t->joiner != cx->task)
        joiner_left(task_join_take(t), join); /* the handle has moved to another task */
    if (!(vat_u64_load(&t->state, VAT_RLX) & TASK_JOIN_WAKER)) {
        task_ref(cx->task);
        if (!task_join_store(t, cx->task)) {
            task_unref(cx->task);
            return VOLT_READY;
        }
    } else if (ended(join)) {
        leaf_seen(cx, join);
        return VOLT_READY;
    }
    leaf_waits(cx, "volt_join", join);
    cx->awaits = true;
    cx_restore(cx);
    return VOLT_PENDING;
}

int volt_join_wait(struct volt_join *join)
{
    struct waiting_thread self;

    thread_check();
    assert(join->task && "the handle is empty");
    joiner_left(task_join_take(join->task), join);
    if (task_join_store(join->task, thread_begin(&self)))
        thread_wait(&self);
    return volt_join_status(join);
}

int volt_join_status(const struct volt_join *join)
{
    assert(join->task && "the handle is empty");
    uint64_t s = vat_u64_load(&join->task->state, VAT_ACQ);

    if (!(s & TASK_COMPLETE))
        return -EINPROGRESS;
    return s & TASK_DROPPED ? -ECANCELED : 0;
}

void *volt_join_state(const struct volt_join *join)
{
    assert(join->task && "the handle is empty");
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
    bool output;

    if (!t)
        return;
    join->task = NULL;
    if (task_join_is_last(t, &output)) {
        if (output && t->type->drop_output)
            t->type->drop_output(task_state(t));
        task_free(t);
        return;
    }
    output = task_join_leave(t, &joiner);
    joiner_left(joiner, join);
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
