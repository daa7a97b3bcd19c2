/* The broadcast: a ring of the last values, numbered from 0, and those that wait for the
 * next one. The watch is one with room for a single value.
 *
 * Everything happens under the lock, which is held for a copy: a sender may overwrite
 * what a receiver copies. A sender takes all that wait out of the list; each finds by its
 * number what there is for it, also when more has been sent since. */
#include "sync/waiter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <volt/broadcast.h>

struct volt_broadcast {
    vlock lock; /* protects the rest */
    bool closed;
    uint64_t next; /* number of the next value */
    size_t item_size, room;
    struct volt_waiter *head, *tail;
    _Alignas(16) unsigned char ring[];
};

struct volt_broadcast *volt_broadcast_new(size_t item_size, size_t room)
{
    struct volt_broadcast *b;
    size_t size;

    if (room == 0)
        room = 1;
    if (__builtin_mul_overflow(item_size, room, &size) || size > SIZE_MAX / 2)
        return NULL;
    b = calloc(1, sizeof(*b) + size);
    if (!b)
        return NULL;
    b->item_size = item_size;
    b->room = room;
    return b;
}

void volt_broadcast_free(struct volt_broadcast *b)
{
    assert((!b || !b->tail) && "somebody still waits");
    free(b);
}

/* Lock held. */
static void *place(struct volt_broadcast *b, uint64_t number)
{
    return b->ring + number % b->room * b->item_size;
}

/* Lock held. */
static void wake_all(struct volt_broadcast *b, struct task_chain *chain)
{
    while (b->tail) {
        struct volt_waiter *w = b->tail;

        waiter_unlink(&b->head, &b->tail, w);
        waiter_grant(w, GRANT_ALL, chain);
    }
}

int volt_broadcast_try_send(struct volt_broadcast *b, const void *item)
{
    struct task_chain chain = {0};
    bool closed;

    vlock_lock(&b->lock);
    closed = b->closed;
    if (!closed) {
        VAT_WR(b->ring);
        if (b->item_size > 0)
            memcpy(place(b, b->next), item, b->item_size);
        b->next++;
        wake_all(b, &chain);
    }
    vlock_unlock(&b->lock);
    sched_submit_chain(&chain);
    return closed ? -EPIPE : 0;
}

void volt_broadcast_close(struct volt_broadcast *b)
{
    struct task_chain chain = {0};

    vlock_lock(&b->lock);
    b->closed = true;
    wake_all(b, &chain);
    vlock_unlock(&b->lock);
    sched_submit_chain(&chain);
}

/* Lock held. */
static void copy_out(struct volt_broadcast *b, uint64_t number, void *ret_item)
{
    VAT_RD(b->ring);
    if (b->item_size > 0)
        memcpy(ret_item, place(b, number), b->item_size);
}

int volt_broadcast_last(struct volt_broadcast *b, void *ret_item)
{
    int r = -EAGAIN;

    vlock_lock(&b->lock);
    if (b->next > 0) {
        copy_out(b, b->next - 1, ret_item);
        r = 0;
    }
    vlock_unlock(&b->lock);
    return r;
}

void volt_broadcast_recv_init(struct volt_broadcast_recv *r, struct volt_broadcast *b,
                              void *ret_item)
{
    *r = (struct volt_broadcast_recv){.broadcast = b, .item = ret_item};
    vlock_lock(&b->lock);
    r->next = b->next;
    vlock_unlock(&b->lock);
}

/* Lock held; it is in no list. False: there is nothing for it. */
static bool take(struct volt_broadcast_recv *r)
{
    struct volt_broadcast *b = r->broadcast;

    if (r->next == b->next) {
        r->status = -EPIPE;
        return b->closed;
    }
    r->missed = b->next - r->next > b->room ? b->next - r->next - b->room : 0;
    r->next += r->missed;
    copy_out(b, r->next++, r->item);
    r->status = 0;
    return true;
}

/* Lock held. True: the leaf stands in the list. */
static bool is_queued(const struct volt_broadcast_recv *r)
{
    return r->waiter.state == WAITER_QUEUED &&
           vat_u32_load(waiter_grant_cell(&r->waiter), VAT_RLX) == GRANT_NONE;
}

enum volt_poll volt_broadcast_recv_poll(struct volt_cx *cx, struct volt_broadcast_recv *r)
{
    struct volt_broadcast *b = r->broadcast;
    bool done;

    if (cx_take(cx) == VOLT_PENDING)
        return VOLT_PENDING;
    vlock_lock(&b->lock);
    done = !is_queued(r) && take(r);
    if (!done && !is_queued(r))
        waiter_link(&b->head, &b->tail, &r->waiter, cx->task);
    vlock_unlock(&b->lock);
    if (!done) {
        leaf_waits(cx, "volt_broadcast_recv", r);
        cx_restore(cx);
        return VOLT_PENDING;
    }
    leaf_seen(cx, r);
    r->waiter.state = WAITER_NEW;
    return VOLT_READY;
}

int volt_broadcast_recv_status(const struct volt_broadcast_recv *r)
{
    return r->status;
}

void volt_broadcast_recv_fini(struct volt_broadcast_recv *r)
{
    struct volt_broadcast *b = r->broadcast;

    if (r->waiter.state != WAITER_QUEUED)
        return;
    leaf_left(r->waiter.task, r);
    vlock_lock(&b->lock);
    if (is_queued(r))
        waiter_unlink(&b->head, &b->tail, &r->waiter);
    vlock_unlock(&b->lock);
    r->waiter.state = WAITER_NEW;
}

/* --- watch -------------------------------------------------------------------------- */

static struct volt_broadcast *of_watch(struct volt_watch *w)
{
    return (struct volt_broadcast *)(void *)w;
}

struct volt_watch *volt_watch_new(size_t item_size, const void *item)
{
    struct volt_broadcast *b = volt_broadcast_new(item_size, 1);

    if (b)
        (void)volt_broadcast_try_send(b, item);
    return (struct volt_watch *)(void *)b;
}

void volt_watch_free(struct volt_watch *w)
{
    volt_broadcast_free(of_watch(w));
}

int volt_watch_try_send(struct volt_watch *w, const void *item)
{
    return volt_broadcast_try_send(of_watch(w), item);
}

void volt_watch_close(struct volt_watch *w)
{
    volt_broadcast_close(of_watch(w));
}

void volt_watch_get(struct volt_watch *w, void *ret_item)
{
    (void)volt_broadcast_last(of_watch(w), ret_item); /* it has one */
}

void volt_watch_recv_init(struct volt_watch_recv *r, struct volt_watch *w, void *ret_item)
{
    volt_broadcast_recv_init(&r->recv, of_watch(w), ret_item);
}

enum volt_poll volt_watch_recv_poll(struct volt_cx *cx, struct volt_watch_recv *r)
{
    return volt_broadcast_recv_poll(cx, &r->recv);
}

int volt_watch_recv_status(const struct volt_watch_recv *r)
{
    return volt_broadcast_recv_status(&r->recv);
}

void volt_watch_recv_fini(struct volt_watch_recv *r)
{
    volt_broadcast_recv_fini(&r->recv);
}
