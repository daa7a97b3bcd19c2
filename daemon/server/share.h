/* A user's share of the daemon: of its memory, and of its time.
 *
 * Memory: the bytes of calls that are not complete or not answered, and of replies that
 * are not read, of all connections of one user together.
 * Below the limit nobody notices. From it on the connections of this user take turns: one
 * at a time may begin a call or take in a long one, and has the turn until it holds little
 * again or has gone; its deadlines see to that. So what they hold is the limit and what
 * one connection may; calls that fit one by one do not wait for each other for ever, as
 * they would for reservations; and other users notice nothing.
 *
 * Time: while several users are busy, only so many connections of one user are served at a
 * time, and each lets whoever can run go first. The rest wait here, in their order, and
 * not in the queues of the scheduler, where a thousand busy clients of one user would be
 * before each step of another's call. */
#ifndef VOLTD_SERVER_SHARE_H
#define VOLTD_SERVER_SHARE_H

#include "base/atomic.h"
#include <sys/types.h>
#include <volt/sync.h>

/* One user who is connected. */
struct holder {
    struct holder *next; /* whose list it is in: his lock, with the next two */
    uid_t uid;
    uint64_t connections;

    vat_u64 held;            /* bytes of all shares; added to and read by any thread */
    vat_u32 turn;            /* 1: somebody has it */
    struct volt_notify room; /* the turn is free, or less than the limit is held */
    struct volt_sem served;  /* connections that may be served now */
};

/* served: so many connections at a time. NULL: no memory. */
struct holder *holder_new(uid_t uid, unsigned served);
void holder_free(struct holder *h); /* NULL is allowed */

/* A connection's part in it. Owner only; zero-initialised: holds nothing, of nobody. */
struct share {
    struct holder *of;
    uint64_t held;
    bool has_turn, waits;
    struct volt_notified room;
    enum {
        SHARE_OUTSIDE = 0,
        SHARE_QUEUES,
        SHARE_ENTERS, /* is to be served, after the others that can run now */
    } at;
    struct volt_sem_acquire served;
};

/* READY: it may be served, until share_leave() in the same poll of its task. */
enum volt_poll share_enter_poll(struct volt_cx *cx, struct share *s);
void share_leave(struct share *s);

/* Now it holds so many bytes. */
void share_hold(struct share *s, uint64_t bytes, uint64_t limit);
/* May it hold more? */
bool share_has_room(const struct share *s, uint64_t limit);
/* READY: it may, with the turn if need be. */
enum volt_poll share_room_poll(struct volt_cx *cx, struct share *s, uint64_t limit);
/* Holds nothing any more. */
void share_fini(struct share *s, uint64_t limit);

#endif
