/* Oneshot: one value from one sender to one receiver, in one allocation.
 *
 * Everything happens under its lock, once per end: there is nothing to gain from a word
 * of bits here. Each end is given up under the lock; the end that finds the other one
 * gone frees. The unlock is therefore the last touch of the first to go (its futex wake,
 * if any, may fall on memory that is gone, which is harmless).
 *
 * The receiver is a task (notified under the lock, its token submitted after it: while it
 * waits it can only leave by taking the lock) or a blocked thread (futex on `ended`). */
#include "base/futex.h"
#include "base/lock.h"
#include "task/leaves.h"
#include "task/thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <volt/sync.h>

struct volt_oneshot {
    vlock lock;
    vat_u32 ended; /* 1: the sender is gone; under the lock, else only for the futex */
    bool has_value;
    bool receiver_gone;
    bool thread_waits;
    struct volt_task *receiver; /* waiting task or NULL */
    size_t size;
    _Alignas(16) unsigned char value[];
};

struct volt_oneshot *volt_oneshot_new(size_t size)
{
    struct volt_oneshot *o;

    if (size > SIZE_MAX - sizeof(*o))
        return NULL;
    o = calloc(1, sizeof(*o) + size);
    if (o)
        o->size = size;
    return o;
}

/* The sender's end. */
static int sender_ends(struct volt_oneshot *o, bool has_value, const void *value)
{
    struct task_chain chain = {0};
    bool gone, thread;

    vlock_lock(&o->lock);
    gone = o->receiver_gone;
    thread = o->thread_waits;
    o->has_value = has_value;
    if (has_value && o->size > 0) {
        VAT_WR(o->value);
        memcpy(o->value, value, o->size);
    }
    if (o->receiver && task_notify(o->receiver))
        task_chain_push(&chain, o->receiver);
    vat_u32_store(&o->ended, 1, VAT_RLX);
    vlock_unlock(&o->lock);
    if (gone)
        free(o);
    else if (thread)
        vfutex_wake(&o->ended, 1);
    sched_submit_chain(&chain);
    return gone ? -EPIPE : 0;
}

int volt_oneshot_try_send(struct volt_oneshot *o, const void *value)
{
    return sender_ends(o, true, value);
}

void volt_oneshot_send_fini(struct volt_oneshot *o)
{
    if (o)
        (void)sender_ends(o, false, NULL);
}

/* Lock held. False: the sender still is there. */
static bool take(struct volt_oneshot_recv *r)
{
    struct volt_oneshot *o = r->oneshot;

    if (!vat_u32_load(&o->ended, VAT_RLX))
        return false;
    r->status = o->has_value ? 0 : -EPIPE;
    if (o->has_value && o->size > 0) {
        VAT_RD(o->value);
        memcpy(r->value, o->value, o->size);
    }
    return true;
}

enum volt_poll volt_oneshot_recv_poll(struct volt_cx *cx, struct volt_oneshot_recv *r)
{
    struct volt_oneshot *o = r->oneshot;
    bool done;

    if (cx_take(cx) == VOLT_PENDING)
        return VOLT_PENDING;
    vlock_lock(&o->lock);
    done = take(r);
    o->receiver = done ? NULL : cx->task;
    vlock_unlock(&o->lock);
    if (done) {
        leaf_seen(cx, r);
        r->task = NULL;
        return VOLT_READY;
    }
    r->task = cx->task;
    leaf_waits(cx, "volt_oneshot_recv", r);
    cx_restore(cx);
    return VOLT_PENDING;
}

int volt_oneshot_recv_status(const struct volt_oneshot_recv *r)
{
    return r->status;
}

int volt_oneshot_recv_wait(struct volt_oneshot_recv *r)
{
    struct volt_oneshot *o = r->oneshot;

    thread_check();
    for (;;) {
        bool done;

        vlock_lock(&o->lock);
        done = take(r);
        o->thread_waits = !done;
        vlock_unlock(&o->lock);
        if (done)
            return r->status;
        (void)vfutex_wait(&o->ended, 0, UINT64_MAX);
    }
}

void volt_oneshot_recv_fini(struct volt_oneshot_recv *r)
{
    struct volt_oneshot *o = r->oneshot;
    bool last;

    if (!o)
        return;
    leaf_left(r->task, r);
    *r = (struct volt_oneshot_recv){0};
    vlock_lock(&o->lock);
    o->receiver = NULL;
    o->receiver_gone = true;
    last = vat_u32_load(&o->ended, VAT_RLX) != 0;
    vlock_unlock(&o->lock);
    if (last)
        free(o);
}
