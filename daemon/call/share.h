/* A user's share of the daemon: of its memory, and of its time.
 *
 * Memory that all connections of one user hold together, in three sums (an idle
 * connection counts for nothing: its buffers are at most SHARE_LITTLE):
 *
 *   short  bytes of short calls and of their replies until these are read, and of streams
 *          that send little at a time: a quarter of MaxBuffersPerUser=
 *   long   bytes of long calls, also while they arrive, of their replies, and of streams
 *          that send much: the rest of MaxBuffersPerUser=
 *   kept   bytes that streams keep while they wait, possibly for ever:
 *          MaxStreamMemoryPerUser=. More than that is refused at once.
 *
 * Below its part a sum limits nobody. Above it the connections of this user stand in a
 * line, first come, first served. A stream joins the line once for each reply, so that a
 * short call never waits behind what many streams or large calls hold. The first in the
 * long line may go on even without room: it has the pass, one connection at a time, until
 * it holds little again or has closed. Without the pass a few incomplete calls could hold
 * all the memory and wait for each other for ever.
 *
 * A connection is refused, with the name of the limit, when nothing moved in its line for
 * SHARE_PATIENCE: no memory was given back, and the connection with the pass did nothing.
 * The client gets an answer and not silence.
 *
 * Time: a connection does one turn (turn.h), then other connections of its user do
 * theirs. At most as many connections of one user are served at a time as there are
 * workers, and one less while several users are busy. Each turn lets runnable tasks go
 * first. The others wait here, in order, and not in the scheduler's queues: there a
 * thousand busy clients of one user would run before each step of another user's call.
 *
 * A connection whose latest turn was used up comes through a gate first, which lets as
 * many through as there are workers. So a short call has at most that many of them before
 * it, however many streams send. Connections reserved for admins have a queue of their
 * own. A user alone with SHARE_CROWD connections or fewer needs no queue: no more turns
 * than that precede another user's first step. */
#ifndef VOLTD_CALL_SHARE_H
#define VOLTD_CALL_SHARE_H

#include "base/atomic.h"
#include "base/list.h"
#include "base/lock.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <volt/sync.h>

#define SHARE_LITTLE   UINT64_C(32768)   /* bytes: what idle buffers keep */
#define SHARE_PATIENCE UINT64_C(5000000) /* us */
#define SHARE_CROWD    16                /* connections */

enum share_pool { SHARE_SHORT = 0, SHARE_LONG, SHARE_POOLS };

/* A user with connections. */
struct holder {
    struct list_node node; /* server's lock, with the next three members */
    uint64_t listed;       /* all connections */
    uint64_t connections;  /* without those that were evicted */
    uid_t uid;

    vlock lock; /* protects the next three */
    struct share_line {
        uint64_t held;
        uint64_t moved_usec; /* latest time at which memory was given back while a share
                              * stood here */
        struct list waiters; /* of shares, first in line first */
    } line[SHARE_POOLS];
    struct share *pass; /* has the pass of the long line; NULL: free */
    uint64_t kept;

    vat_u64 crowd; /* number of connections; any thread, relaxed: a hint */

    struct volt_sem served;   /* connections that may be served now */
    struct volt_sem gate;     /* connections whose latest turn was used up: in the queue
                               * or served */
    struct volt_sem reserved; /* in place of `served`, for admins */
    bool can_withhold;        /* there is more than one worker */
    /* 1: one unit of `served` is withheld because others are busy. share_leave() sets and
     * clears it; any thread, relaxed: a hint for how many units to give back. */
    vat_u32 withheld;
};

/* served: connections at a time, at least 1. NULL: no memory. */
struct holder *holder_new(uid_t uid, unsigned served);
void holder_free(struct holder *h); /* NULL is allowed */

/* A connection's part of its user's share. Owner only, except what the holder's lock
 * protects. Zero-initialised: of nobody, holds nothing. Must not move while it waits. */
struct share {
    struct holder *of;
    uint64_t held, kept;
    enum share_pool pool; /* of `held` */
    bool reserved;        /* waits in the queue for admins */
    bool heavy;           /* its latest turn was used up */
    bool gated;           /* came through the gate, or waits there */
    bool has_pass;
    bool asked; /* asked for room in this poll, so it stays in line; the owner clears
                 * it */
    bool waits; /* in the line `waits_for` */
    enum share_pool waits_for;
    uint64_t waits_since;
    struct volt_waker waker;
    struct list_node node; /* in the line; holder's lock */
    enum {
        SHARE_OUTSIDE = 0,
        SHARE_AT_GATE,
        SHARE_QUEUES,
        SHARE_ENTERS, /* gets served after the tasks that can run now */
    } at;
    struct volt_sem_acquire place; /* in the queue or at the gate */
};

/* READY: may be served until share_leave(), in the same poll of its task. others_busy:
 * connections of other users were served just now, too. */
enum volt_poll share_enter_poll(struct volt_cx *cx, struct share *s);
void share_leave(struct share *s, bool others_busy);

/* Sets the bytes that the connection holds. limit: MaxBuffersPerUser=. */
void share_hold(struct share *s, uint64_t bytes, uint64_t limit);
/* Returns whether it may hold more in this pool without standing in line. */
bool share_has_room(struct share *s, enum share_pool pool, uint64_t limit);
/* READY: it may hold more, by the pass if there is no room; its bytes move to this pool.
 * PENDING: it stands in line. */
enum volt_poll share_room_poll(struct volt_cx *cx, struct share *s, enum share_pool pool,
                               uint64_t limit);
/* Leaves the line. */
void share_wait_no_more(struct share *s, uint64_t limit);
/* Returns when the waiting connection is to be refused, on the clock of volt_now_usec();
 * UINT64_MAX: it does not wait. */
uint64_t share_patience(struct share *s);

/* Adds kept bytes. False: the user would keep more than limit. */
bool share_keep(struct share *s, uint64_t bytes, uint64_t limit);
void share_keep_none(struct share *s);

/* Leaves queue and line, and gives everything back. */
void share_fini(struct share *s, uint64_t limit);

#endif
