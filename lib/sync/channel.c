/* The channel: a ring of slots with a number each, after D. Vyukov's bounded queue, with
 * waiting on both sides.
 *
 * slot.seq      pos: free for the value number pos; pos + 1: holds it. The sender that
 *               took pos stores pos + 1 (rel), the receiver that has read it pos + room
 *               (rel).
 * tail          the next pos, shifted by 2, and two bits:
 *   WAITERS     senders are queued: nobody passes them. Set and cleared with the lock
 *               held
 *   CLOSED      set by closing, lock held; never cleared
 *               Without bits anybody advances it by CAS; with WAITERS the lock holder
 *               only.
 * head          the receiver's own
 *
 * Each side tells the other only when it waits, which is a word that otherwise nobody
 * writes:
 *
 *   a sender waits                      the receiver waits
 *   1 WAITERS, senders := 1             1 waiting := 1
 *   2 barrier                           2 barrier
 *   3 is the slot free now?             3 is the slot full now?
 *
 *   the receiver has read               a sender has written
 *   1 slot.seq := pos + room            1 slot.seq := pos + 1
 *   2 barrier                           2 barrier
 *   3 senders? put in their values      3 waiting? wake it
 *
 * Whichever barrier is first, the other side sees the store before it.
 *
 * A sender's value is put into the ring for it, and `granted` tells (waiter.h): so
 * service is first come, first served, and a woken sender has nothing left to compete
 * for. */
#include "sync/waiter.h"
#include "task/thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <volt/channel.h>

#define WAITERS UINT64_C(1)
#define CLOSED  UINT64_C(2)
#define SHIFT   2
#define ONE     (UINT64_C(1) << SHIFT)

#define AHEAD 8 /* slots: two lines of short values */

/* Where two cores send at once, the one that lost the race for a position leaves the
 * lines of tail and slots to the other, which sends many values in that time: all of it
 * is two and a half times as fast. */
#ifndef TAIL_BACKOFF
#define TAIL_BACKOFF 64 /* pauses: one to two microseconds */
#endif

struct slot {
    vat_u64 seq;
    unsigned char item[];
};

struct volt_channel {
    size_t item_size, stride;
    uint64_t mask; /* room - 1 */
    unsigned char *ring;

    _Alignas(VOLT_CACHE_LINE) vat_u64 tail;

    _Alignas(VOLT_CACHE_LINE) uint64_t head; /* the receiver's */

    _Alignas(VOLT_CACHE_LINE) vat_u32 senders; /* lock holder stores, receiver reads */
    vat_u32 waiting;                           /* lock holder stores, senders read */
    vlock lock;                                /* protects the rest */
    struct volt_waiter *first, *last;          /* senders, oldest last */
    void *receiver;                            /* a task, or a thread (task/thread.h) */
};

static struct slot *slot_at(const struct volt_channel *ch, uint64_t pos)
{
    return (struct slot *)(void *)(ch->ring + (pos & ch->mask) * ch->stride);
}

struct volt_channel *volt_channel_new(size_t item_size, size_t room)
{
    size_t size, stride;
    uint64_t n =
        2; /* with one slot, full for pos and free for pos + 1 would be the same */
    struct volt_channel *ch;

    if (item_size > SIZE_MAX / 4 || room > SIZE_MAX / 4)
        return NULL;
    while (n < room)
        n *= 2;
    stride = (sizeof(struct slot) + item_size + 7) / 8 * 8;
    if (__builtin_mul_overflow(stride, n, &size) || size > SIZE_MAX / 2)
        return NULL;
    ch = aligned_alloc(VOLT_CACHE_LINE, sizeof(*ch));
    if (!ch)
        return NULL;
    *ch = (struct volt_channel){
        .item_size = item_size, .stride = stride, .mask = n - 1, .ring = malloc(size)};
    if (!ch->ring) {
        free(ch);
        return NULL;
    }
    vat_u64_init(&ch->tail, 0);
    vat_u32_init(&ch->senders, 0);
    vat_u32_init(&ch->waiting, 0);
    for (uint64_t i = 0; i < n; i++)
        vat_u64_init(&slot_at(ch, i)->seq, i);
    return ch;
}

void volt_channel_free(struct volt_channel *ch)
{
    if (!ch)
        return;
    assert(!ch->last && !ch->receiver && "somebody still waits");
    free(ch->ring);
    free(ch);
}

/* Most values are one word: they are not worth a call. */
static inline void copy(const struct volt_channel *ch, void *to, const void *from)
{
    if (ch->item_size == sizeof(uint64_t))
        memcpy(to, from, sizeof(uint64_t));
    else if (ch->item_size > 0)
        memcpy(to, from, ch->item_size);
}

/* pos has been taken. */
static void fill(struct volt_channel *ch, uint64_t pos, const void *item)
{
    struct slot *slot = slot_at(ch, pos);

    /* The receiver's core has the line, but is done with it. */
    __builtin_prefetch(slot_at(ch, pos + AHEAD), 1);
    VAT_WR(&slot->item);
    copy(ch, slot->item, item);
    vat_u64_store(&slot->seq, pos + 1, VAT_REL);
}

/* The tail after another sender has moved it to t. */
static uint64_t wait_for_tail(struct volt_channel *ch, uint64_t t)
{
    if (TAIL_BACKOFF == 0)
        return t;
    for (int i = 0; i < TAIL_BACKOFF; i++)
        vat_pause();
    return vat_u64_load(&ch->tail, VAT_RLX);
}

enum push { SENT, FULL, GONE };

/* Lock held or not. FULL: no room, or others wait; *ret_tail is the word that says so. */
static enum push push(struct volt_channel *ch, const void *item, uint64_t *ret_tail)
{
    uint64_t t = vat_u64_load(&ch->tail, VAT_RLX);

    while (!(t & (WAITERS | CLOSED))) {
        uint64_t pos = t >> SHIFT, now;

        if (vat_u64_load(&slot_at(ch, pos)->seq, VAT_ACQ) == pos) {
            if (vat_u64_cas(&ch->tail, &t, t + ONE, VAT_RLX, VAT_RLX)) {
                fill(ch, pos, item);
                return SENT;
            }
            t = wait_for_tail(ch, t);
            continue;
        }
        now = vat_u64_load(&ch->tail, VAT_RLX);
        if (now == t)
            break;
        t = now;
    }
    *ret_tail = t;
    return t & CLOSED ? GONE : FULL;
}

/* Lock held. Returns the receiver if it is a thread, to be woken without the lock. */
static void *take_receiver(struct volt_channel *ch, struct task_chain *chain)
{
    void *receiver = ch->receiver;

    ch->receiver = NULL;
    vat_u32_store(&ch->waiting, 0, VAT_RLX);
    if (is_thread(receiver))
        return receiver;
    if (receiver && task_notify(receiver))
        task_chain_push(chain, receiver);
    return NULL;
}

/* What take_receiver() said. */
static void wake_receiver(void *thread, struct task_chain *chain)
{
    if (thread)
        thread_wake(thread);
    sched_submit_chain(chain);
}

/* A sender, after fill(). */
static void tell_receiver(struct volt_channel *ch)
{
    struct task_chain chain = {0};

    vat_u32_fence(&ch->waiting);
    if (!vat_u32_load(&ch->waiting, VAT_RLX))
        return;
    vlock_lock(&ch->lock);
    void *thread = take_receiver(ch, &chain);
    vlock_unlock(&ch->lock);
    wake_receiver(thread, &chain);
}

int volt_channel_try_send(struct volt_channel *ch, const void *item)
{
    uint64_t t;

    switch (push(ch, item, &t)) {
    case SENT:
        tell_receiver(ch);
        return 0;
    case FULL:
        return -EAGAIN;
    default:
        return -EPIPE;
    }
}

/* Lock held. */
static void no_sender_left(struct volt_channel *ch)
{
    if (ch->last)
        return;
    vat_u32_store(&ch->senders, 0, VAT_RLX);
    (void)vat_u64_and(&ch->tail, ~WAITERS, VAT_RLX);
}

/* Lock held, WAITERS set. Puts the value into the ring if there is room. */
static bool push_past(struct volt_channel *ch, const void *item)
{
    uint64_t pos = vat_u64_load(&ch->tail, VAT_RLX) >> SHIFT;

    if (vat_u64_load(&slot_at(ch, pos)->seq, VAT_ACQ) != pos)
        return false;
    (void)vat_u64_add(&ch->tail, ONE, VAT_RLX);
    fill(ch, pos, item);
    return true;
}

/* Lock held. The ring is full as far as push() can tell: queues, or finds room after
 * all. */
static enum push queue(struct volt_channel *ch, struct volt_channel_send *s, void *sender)
{
    uint64_t t;
    enum push r;

    do {
        r = push(ch, s->item, &t);
        if (r != FULL)
            return r;
    } while (!(t & WAITERS) &&
             !vat_u64_cas(&ch->tail, &t, t | WAITERS, VAT_RLX, VAT_RLX));
    if (!ch->last) {
        vat_u32_store(&ch->senders, 1, VAT_RLX);
        vat_u64_fence(&slot_at(ch, t >> SHIFT)->seq);
        if (push_past(ch, s->item)) {
            no_sender_left(ch);
            return SENT;
        }
    }
    waiter_link(&ch->first, &ch->last, &s->waiter, sender);
    return FULL;
}

/* The first poll, or a thread that waits (task/thread.h). False: queued. */
static bool send_or_queue(struct volt_channel_send *s, void *sender)
{
    struct volt_channel *ch = s->channel;
    enum push r;
    uint64_t t;

    r = push(ch, s->item, &t);
    if (r == FULL) {
        vlock_lock(&ch->lock);
        r = queue(ch, s, sender);
        vlock_unlock(&ch->lock);
    }
    if (r == SENT)
        tell_receiver(ch);
    else if (r == GONE)
        vat_u32_store(waiter_grant_cell(&s->waiter), GRANT_CLOSED, VAT_RLX);
    return r != FULL;
}

enum volt_poll volt_channel_send_poll(struct volt_cx *cx, struct volt_channel_send *s)
{
    bool done = true;

    if (cx_take(cx) == VOLT_PENDING)
        return VOLT_PENDING;
    if (s->waiter.state == WAITER_NEW) {
        done = send_or_queue(s, cx->task);
        if (!done)
            leaf_waits(cx, "volt_channel_send", s);
    } else if (s->waiter.state == WAITER_QUEUED) {
        done = waiter_seen(cx, &s->channel->lock, &s->waiter, s);
    }
    if (!done) {
        cx_restore(cx);
        return VOLT_PENDING;
    }
    s->waiter.state = WAITER_DONE;
    return VOLT_READY;
}

int volt_channel_send_wait(struct volt_channel_send *s)
{
    struct waiting_thread self;

    thread_check();
    assert(s->waiter.state == WAITER_NEW && "one value is sent once");
    if (!send_or_queue(s, thread_begin(&self)))
        thread_wait(&self);
    s->waiter.state = WAITER_DONE;
    return volt_channel_send_status(s);
}

int volt_channel_send_status(const struct volt_channel_send *s)
{
    return vat_u32_load(waiter_grant_cell(&s->waiter), VAT_RLX) == GRANT_CLOSED ? -EPIPE
                                                                                : 0;
}

void volt_channel_send_fini(struct volt_channel_send *s)
{
    struct volt_channel *ch = s->channel;

    if (s->waiter.state == WAITER_QUEUED) {
        leaf_left(s->waiter.task, s);
        vlock_lock(&ch->lock);
        if (vat_u32_load(waiter_grant_cell(&s->waiter), VAT_RLX) == GRANT_NONE) {
            waiter_unlink(&ch->first, &ch->last, &s->waiter);
            no_sender_left(ch);
        }
        vlock_unlock(&ch->lock);
    }
    s->waiter.state = WAITER_DONE;
}

/* Senders that were granted, to be woken without the lock. */
struct granted {
    struct task_chain tasks;
    struct volt_waiter *threads; /* linked by next: each stays until it is woken */
};

/* Lock held; w is unlinked. */
static void grant_sender(struct volt_waiter *w, enum waiter_grant grant,
                         struct granted *to)
{
    if (!is_thread(w->task)) {
        waiter_grant(w, grant, &to->tasks);
        return;
    }
    vat_u32_store(waiter_grant_cell(w), grant, VAT_RLX);
    w->next = to->threads;
    to->threads = w;
}

static void wake_threads(struct volt_waiter *w)
{
    for (struct volt_waiter *next; w; w = next) {
        next = w->next;
        thread_wake(w->task);
    }
}

/* The receiver, after it has freed a slot and seen that senders wait. */
static void put_in_values(struct volt_channel *ch)
{
    struct granted granted = {.threads = NULL};

    vlock_lock(&ch->lock);
    while (ch->last) {
        struct volt_waiter *w = ch->last;
        struct volt_channel_send *s = list_thing(w, struct volt_channel_send, waiter);

        if (!push_past(ch, s->item))
            break;
        waiter_unlink(&ch->first, &ch->last, w);
        grant_sender(w, GRANT_YES, &granted);
    }
    no_sender_left(ch);
    vlock_unlock(&ch->lock);
    wake_threads(granted.threads);
    sched_submit_chain(&granted.tasks);
}

/* The receiver. The next value is there. */
static bool has_value(const struct volt_channel *ch)
{
    return vat_u64_load(&slot_at(ch, ch->head)->seq, VAT_ACQ) == ch->head + 1;
}

/* The receiver. Closed, and every value that was sent has been received. */
static bool at_end(const struct volt_channel *ch)
{
    return vat_u64_load(&ch->tail, VAT_ACQ) == (ch->head << SHIFT | CLOSED);
}

int volt_channel_try_recv(struct volt_channel *ch, void *ret_item)
{
    struct slot *slot = slot_at(ch, ch->head);

    if (!has_value(ch))
        return at_end(ch) ? -EPIPE : -EAGAIN;
    VAT_RD(&slot->item);
    copy(ch, ret_item, slot->item);
    vat_u64_store(&slot->seq, ch->head + ch->mask + 1, VAT_REL);
    ch->head++;
    vat_u32_fence(&ch->senders);
    if (vat_u32_load(&ch->senders, VAT_RLX))
        put_in_values(ch);
    return 0;
}

/* Lock held. Where two wait, nobody would wake one of them. */
static void check_receiver(const struct volt_channel *ch, const void *receiver)
{
    assert((!ch->receiver || ch->receiver == receiver) && "one receives at a time");
    (void)ch;
    (void)receiver;
}

/* The receiver. Nobody will wake it. */
static void forget_receiver(struct volt_channel *ch, const void *receiver)
{
    vlock_lock(&ch->lock);
    check_receiver(ch, receiver);
    ch->receiver = NULL;
    vat_u32_store(&ch->waiting, 0, VAT_RLX);
    vlock_unlock(&ch->lock);
}

/* The receiver found nothing. True: it will be woken; false: there is something now. */
static bool register_receiver(struct volt_channel *ch, void *receiver)
{
    bool found;

    vlock_lock(&ch->lock);
    check_receiver(ch, receiver);
    vat_u32_store(&ch->waiting, 1, VAT_RLX);
    vat_u64_fence(&slot_at(ch, ch->head)->seq);
    found = has_value(ch) || at_end(ch);
    ch->receiver = found ? NULL : receiver;
    if (found)
        vat_u32_store(&ch->waiting, 0, VAT_RLX);
    vlock_unlock(&ch->lock);
    return !found;
}

enum volt_poll volt_channel_recv_poll(struct volt_cx *cx, struct volt_channel_recv *r)
{
    struct volt_channel *ch = r->channel;
    int status;

    if (cx_take(cx) == VOLT_PENDING)
        return VOLT_PENDING;
    if (r->task) { /* woken, or polled for another reason */
        leaf_seen(cx, r);
        forget_receiver(ch, r->task);
        r->task = NULL;
    }
    do {
        status = volt_channel_try_recv(ch, r->item);
    } while (status == -EAGAIN && !register_receiver(ch, cx->task));
    if (status == -EAGAIN) {
        r->task = cx->task;
        leaf_waits(cx, "volt_channel_recv", r);
        cx_restore(cx);
        return VOLT_PENDING;
    }
    r->status = status;
    return VOLT_READY;
}

int volt_channel_recv_status(const struct volt_channel_recv *r)
{
    return r->status;
}

void volt_channel_recv_fini(struct volt_channel_recv *r)
{
    if (!r->task)
        return;
    leaf_left(r->task, r);
    forget_receiver(r->channel, r->task);
    r->task = NULL;
}

int volt_channel_recv_wait(struct volt_channel_recv *r)
{
    thread_check();
    while ((r->status = volt_channel_try_recv(r->channel, r->item)) == -EAGAIN) {
        struct waiting_thread self;

        if (register_receiver(r->channel, thread_begin(&self)))
            thread_wait(&self);
    }
    return r->status;
}

void volt_channel_close(struct volt_channel *ch)
{
    struct granted granted = {.threads = NULL};

    vlock_lock(&ch->lock);
    (void)vat_u64_or(&ch->tail, CLOSED, VAT_REL);
    while (ch->last) {
        struct volt_waiter *w = ch->last;

        waiter_unlink(&ch->first, &ch->last, w);
        grant_sender(w, GRANT_CLOSED, &granted);
    }
    no_sender_left(ch);
    void *thread = take_receiver(ch, &granted.tasks);
    vlock_unlock(&ch->lock);
    wake_threads(granted.threads);
    wake_receiver(thread, &granted.tasks);
}
