/* What the connections of one user hold together: bytes of calls that are not complete or
 * not answered, and of replies that are not read.
 *
 * Below the limit nobody notices. From it on the connections of this user take turns: one
 * at a time may begin a call or take in a long one, and has the turn until it holds little
 * again or has gone; its deadlines see to that. So what they hold is the limit and what
 * one connection may; calls that fit one by one do not wait for each other for ever, as
 * they would for reservations; and other users notice nothing. */
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
};

/* NULL: no memory. */
struct holder *holder_new(uid_t uid);
void holder_free(struct holder *h); /* NULL is allowed */

/* A connection's part in it. Owner only; zero-initialised: holds nothing, of nobody. */
struct share {
    struct holder *of;
    uint64_t held;
    bool has_turn, waits;
    struct volt_notified room;
};

/* Now it holds so many bytes. */
void share_hold(struct share *s, uint64_t bytes, uint64_t limit);
/* May it hold more? */
bool share_has_room(const struct share *s, uint64_t limit);
/* READY: it may, with the turn if need be. */
enum volt_poll share_room_poll(struct volt_cx *cx, struct share *s, uint64_t limit);
/* Holds nothing any more. */
void share_fini(struct share *s, uint64_t limit);

#endif
