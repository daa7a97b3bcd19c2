/* Broadcast and watch: values from many senders to many receivers, each of which gets
 * every value, or the newest.
 *
 * A broadcast keeps the last values in a ring of fixed size. A receiver gets those that
 * are sent after its _init, in their order. Senders never wait: a receiver that is slower
 * than the ring is long misses the oldest, and is told how many they were.
 *
 * A watch has one value, the newest, which is there from its beginning. A receiver waits
 * until it is another one than it has seen. It is a broadcast with room for one.
 *
 * Values are copied, under a lock: they are meant to be small. Waiting allocates
 * nothing. Ownership. _new returns new; _free ends it when nobody uses it any more.
 * Threads. Sending, looking and closing: any thread. A receiver is one task's. Memory
 * order. The receiver of a value sees what was written before its send.
 *
 * lib/sync/broadcast.c. */
#ifndef VOLT_BROADCAST_H
#define VOLT_BROADCAST_H

#include <stddef.h>
#include <volt/sync.h>

VOLT_BEGIN_DECLS

/* ---- broadcast --------------------------------------------------------------------- */

struct volt_broadcast;

/* Returns new: for values of item_size bytes (0 is allowed), of which the last `room` are
 * kept, 1 at least. NULL: out of memory, or too large. */
VOLT_API struct volt_broadcast *volt_broadcast_new(size_t item_size, size_t room);
/* Asserts that nobody waits. NULL is allowed. */
VOLT_API void volt_broadcast_free(struct volt_broadcast *b);
/* Copies the value, and wakes all that wait. 0; -EPIPE: closed. */
VOLT_API int volt_broadcast_try_send(struct volt_broadcast *b, const void *item);
/* Refuses values from now on. Receivers get what was sent before, then -EPIPE. */
VOLT_API void volt_broadcast_close(struct volt_broadcast *b);
/* Copies the newest value. 0; -EAGAIN: none was ever sent. */
VOLT_API int volt_broadcast_last(struct volt_broadcast *b, void *ret_item);

/* Leaf: receives one value after another. Private but for missed, to be read. */
struct volt_broadcast_recv {
    struct volt_broadcast *broadcast;
    void *item;
    uint64_t next;   /* number of the next value */
    uint64_t missed; /* values that were lost before the one that has come last */
    int status;
    struct volt_waiter waiter;
};

/* From here on it misses nothing that the ring can hold. Borrows b; and ret_item, until
 * _fini: it changes in polls only. */
VOLT_API void volt_broadcast_recv_init(struct volt_broadcast_recv *r,
                                       struct volt_broadcast *b, void *ret_item);
/* READY: see _status; it may then be polled again, for the next value. */
VOLT_API enum volt_poll volt_broadcast_recv_poll(struct volt_cx *cx,
                                                 struct volt_broadcast_recv *r);
/* After READY: 0, and the value has been copied to ret_item; or -EPIPE. */
VOLT_API int volt_broadcast_recv_status(const struct volt_broadcast_recv *r);
/* In every state; a zeroed one, too. */
VOLT_API void volt_broadcast_recv_fini(struct volt_broadcast_recv *r);

/* ---- watch ------------------------------------------------------------------------- */

struct volt_watch;

/* Returns new, with this value of item_size bytes, which is copied; NULL: out of
 * memory. */
VOLT_API struct volt_watch *volt_watch_new(size_t item_size, const void *item);
/* As those of a broadcast. */
VOLT_API void volt_watch_free(struct volt_watch *w);
VOLT_API int volt_watch_try_send(struct volt_watch *w, const void *item);
VOLT_API void volt_watch_close(struct volt_watch *w);
/* Copies the value that it has now. */
VOLT_API void volt_watch_get(struct volt_watch *w, void *ret_item);

/* Leaf: waits for another value. All fields are private. */
struct volt_watch_recv {
    struct volt_broadcast_recv recv;
};

/* The value that it has now counts as seen. The rest as of a broadcast: READY: a newer
 * value has been copied to ret_item, or -EPIPE; polled again it waits for the next. */
VOLT_API void volt_watch_recv_init(struct volt_watch_recv *r, struct volt_watch *w,
                                   void *ret_item);
VOLT_API enum volt_poll volt_watch_recv_poll(struct volt_cx *cx,
                                             struct volt_watch_recv *r);
VOLT_API int volt_watch_recv_status(const struct volt_watch_recv *r);
VOLT_API void volt_watch_recv_fini(struct volt_watch_recv *r);

VOLT_END_DECLS

#endif
