/* Channel: values from many senders to one receiver, through a ring of fixed size.
 *
 * Values of one sender arrive in the order in which they were sent. A sender that finds
 * the ring full waits, first come, first served; when there is room, the receiver puts
 * the value of the oldest into the ring for it. The receiver waits when the ring is
 * empty. Sending and receiving copy; waiting allocates nothing.
 *
 * Here, in a oneshot, a broadcast and a watch alike: _try_send acts at once, and says why
 * it cannot; _send and _recv are leaves, which wait.
 *
 * Ownership. _new returns new; _free ends it when nobody uses it any more. Senders and
 * the receiver only borrow it: to keep it alive is the program's business. Threads.
 * Sending and closing: tasks of any runtime, and any thread, with the calls that say
 * so. Receiving: one task, or one thread, at a time; where two wait, one asserts. Memory
 * order. The receiver of a value sees what was written before its send; one that is told
 * of the end sees what was written before closing.
 *
 * lib/sync/channel.c. */
#ifndef VOLT_CHANNEL_H
#define VOLT_CHANNEL_H

#include <stddef.h>
#include <volt/sync.h>

VOLT_BEGIN_DECLS

struct volt_channel;

/* Returns new: for values of item_size bytes (0 is allowed), with room for `room` of
 * them, rounded up to a power of two, and for 2 at least. NULL: out of memory, or too
 * large. */
VOLT_API struct volt_channel *volt_channel_new(size_t item_size, size_t room);
/* Asserts that nobody waits. Values that are still in it are lost. NULL is allowed. */
VOLT_API void volt_channel_free(struct volt_channel *ch);

/* Refuses values from now on. Senders that wait are answered -EPIPE; the receiver gets
 * what was sent before, then -EPIPE. Any thread; idempotent. */
VOLT_API void volt_channel_close(struct volt_channel *ch);

/* Copies the value. 0; -EAGAIN: there is no room, or others wait for it; -EPIPE: closed.
 * Never blocks. */
VOLT_API int volt_channel_try_send(struct volt_channel *ch, const void *item);
/* 0, the value is copied to ret_item; -EAGAIN: there is none; -EPIPE: closed, and there
 * is none. Never blocks. Receiver only. */
VOLT_API int volt_channel_try_recv(struct volt_channel *ch, void *ret_item);

/* Leaf: sends one value. All fields are private. */
struct volt_channel_send {
    struct volt_channel *channel;
    const void *item;
    struct volt_waiter waiter;
};

/* Borrows ch, and item until READY or _fini: it does not change while the leaf waits. */
static inline void volt_channel_send_init(struct volt_channel_send *s,
                                          struct volt_channel *ch, const void *item)
{
    s->channel = ch;
    s->item = item;
    s->waiter.granted = s->waiter.state = 0;
}

/* READY: sent, or closed; see _status. */
VOLT_API enum volt_poll volt_channel_send_poll(struct volt_cx *cx,
                                               struct volt_channel_send *s);
/* After READY: 0, or -EPIPE. */
VOLT_API int volt_channel_send_status(const struct volt_channel_send *s);
/* Instead of polling: blocks the calling thread, which is no worker's, until the value is
 * sent, in its turn among all that wait, or the channel closed. Returns that status. */
VOLT_API int volt_channel_send_wait(struct volt_channel_send *s);
/* In every state. The value of one that waits is not sent, unless it just has been. */
VOLT_API void volt_channel_send_fini(struct volt_channel_send *s);

/* Leaf: receives one value. All fields are private. */
struct volt_channel_recv {
    struct volt_channel *channel;
    void *item;
    struct volt_task *task; /* that waits, or NULL */
    int status;
};

/* Borrows ch, and ret_item until READY or _fini. */
static inline void volt_channel_recv_init(struct volt_channel_recv *r,
                                          struct volt_channel *ch, void *ret_item)
{
    r->channel = ch;
    r->item = ret_item;
    r->task = NULL;
}

/* READY: see _status; it may then be polled again, for the next value. Receiver only. */
VOLT_API enum volt_poll volt_channel_recv_poll(struct volt_cx *cx,
                                               struct volt_channel_recv *r);
/* After READY: 0, and the value has been copied to ret_item; or -EPIPE. */
VOLT_API int volt_channel_recv_status(const struct volt_channel_recv *r);
/* Instead of polling: blocks the calling thread, which is no worker's, until it is ready.
 * Returns that status; again for the next value. Receiver only. */
VOLT_API int volt_channel_recv_wait(struct volt_channel_recv *r);
/* In every state; a value that has come and was not seen stays in the channel. Another
 * task may receive then. */
VOLT_API void volt_channel_recv_fini(struct volt_channel_recv *r);

VOLT_END_DECLS

#endif
