/* A user's share of the daemon: of its memory, and of its time.
 *
 * Memory: what all connections of one user hold together, in three sums. An idle
 * connection counts for nothing: its buffers are at most SHARE_LITTLE.
 *
 *   short  bytes of short calls and of their replies, until these are read; of streams
 *          that tell little at a time: a quarter of MaxBuffersPerUser=
 *   long   bytes of long calls, while they arrive too, of their replies, and of streams
 *          that tell much: the rest of it
 *   kept   bytes that streams keep while they wait for something, which may be for ever:
 *          MaxStreamMemoryPerUser=. What would be more is refused at once.
 *
 * Below its part nobody notices. From it on the connections of this user stand in a line,
 * first come, first served. A stream stands there once for each reply, so that a short
 * call is never behind what many streams or large calls hold. In the line of the long
 * ones the first may go on although there is no room: it has the pass, one at a time, and
 * until it holds little again or has gone. Without it a few calls, none of them complete,
 * could hold all there is and wait for each other for ever.
 *
 * Whatever stands in a line where nothing moves for SHARE_PATIENCE (nobody gives anything
 * back, and the connection with the pass does nothing) is refused with the name of the
 * limit: a client gets an answer and not silence.
 *
 * Time: a connection does a turn (turn.h), and then others of its user do theirs. Only so
 * many of one user are served at a time: as many as there are workers, and one less while
 * several users are busy. Each lets whatever can run go first. The rest wait here, in
 * their order, and not in the queues of the scheduler, where a thousand busy clients of
 * one user would be before each step of another's call.
 *
 * Those whose latest turn was used up come through a gate first, which as many can be
 * behind as there are workers: so a short call has at most so many of them before it,
 * however many streams tell. Connections that are reserved for admins have a queue
 * of their own, beside all this. A user alone with SHARE_CROWD connections or fewer
 * needs no queue: there are no more turns than that before another's first step. */
#ifndef VOLTD_CALL_SHARE_H
#define VOLTD_CALL_SHARE_H

#include "base/atomic.h"
#include "base/list.h"
#include "base/lock.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <volt/sync.h>

#define SHARE_LITTLE   UINT64_C(32768)   /* as much as idle buffers keep */
#define SHARE_PATIENCE UINT64_C(5000000) /* us */
#define SHARE_CROWD    16                /* connections */

enum share_pool { SHARE_SHORT = 0, SHARE_LONG, SHARE_POOLS };

/* A user with connections. */
struct holder {
    struct list_node node; /* server's lock, with the next three */
    uint64_t listed;       /* connections ... */
    uint64_t connections;  /* ... but for the evicted ones */
    uid_t uid;

    vlock lock; /* protects the next three */
    struct share_line {
        uint64_t held;
        uint64_t moved_usec; /* something was given back while somebody stood here */
        struct list waiters; /* of shares: the next one first */
    } line[SHARE_POOLS];
    struct share *pass; /* has that of the long ones; NULL: free */
    uint64_t kept;

    vat_u64 crowd; /* connections; for any thread, relaxed: a hint */

    struct volt_sem served;   /* connections that may be served now */
    struct volt_sem gate;     /* those that do much, on their way there and in it */
    struct volt_sem reserved; /* instead of `served`: those for admins */
    bool can_withhold;        /* there is more than one worker */
    /* 1: one of them may not be, as others are busy. The one that leaves sets and clears
     * it; any thread, relaxed: a hint how many it gives back */
    vat_u32 withheld;
};

/* served: so many connections at a time, at least 1. NULL: no memory. */
struct holder *holder_new(uid_t uid, unsigned served);
void holder_free(struct holder *h); /* NULL is allowed */

/* A connection's part in it. Owner only, but for what the holder's lock protects;
 * zero-initialised: holds nothing, of nobody. Must not move while it waits. */
struct share {
    struct holder *of;
    uint64_t held, kept;
    enum share_pool pool; /* that `held` is in */
    bool reserved;        /* waits in the queue for admins */
    bool heavy;           /* its latest turn was used up */
    bool gated;           /* came through the gate, or waits there */
    bool has_pass;
    bool asked; /* for room since its owner has cleared it: it goes on to stand in line */
    bool waits; /* stands in the line of: */
    enum share_pool waits_for;
    uint64_t waits_since;
    struct volt_waker waker;
    struct list_node node; /* in the line; holder's lock */
    enum {
        SHARE_OUTSIDE = 0,
        SHARE_AT_GATE,
        SHARE_QUEUES,
        SHARE_ENTERS, /* is to be served, after the others that can run now */
    } at;
    struct volt_sem_acquire place; /* in the queue */
};

/* READY: it may be served, until share_leave() in the same poll of its task.
 * others_busy: not only this user has been served just now. */
enum volt_poll share_enter_poll(struct volt_cx *cx, struct share *s);
void share_leave(struct share *s, bool others_busy);

/* Now it holds so many bytes; limit: MaxBuffersPerUser=. */
void share_hold(struct share *s, uint64_t bytes, uint64_t limit);
/* May it hold more in this pool, without standing in line? */
bool share_has_room(struct share *s, enum share_pool pool, uint64_t limit);
/* READY: it may, with the pass if need be; what it holds is in this pool from now on. */
enum volt_poll share_room_poll(struct volt_cx *cx, struct share *s, enum share_pool pool,
                               uint64_t limit);
/* Leaves the line. */
void share_wait_no_more(struct share *s, uint64_t limit);
/* When what waits is to be refused, on the volt_now_usec() clock; UINT64_MAX: it does not
 * wait. */
uint64_t share_patience(struct share *s);

/* Keeps so many bytes more, or gives all back. False: there would be more than limit. */
bool share_keep(struct share *s, uint64_t bytes, uint64_t limit);
void share_keep_none(struct share *s);

/* Holds nothing any more. */
void share_fini(struct share *s, uint64_t limit);

#endif
