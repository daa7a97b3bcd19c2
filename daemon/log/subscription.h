/* How a task waits for something that many may wait for: events of jobs, exit records,
 * growth of files. One mechanism; what differs is the source: the task that knows what
 * has happened, and which subscriptions it concerns.
 *
 * A subscriber is a task that waits. Its subscriptions are in the lists of a table; which
 * list, the source chooses: by a hash of the job, by the number of an inotify watch, or
 * one list for all.
 *
 *   subscriber                          source
 *   1. subscription_add()               1. it happens
 *   2. subscriber_arm(): true: looks,   2. subscriptions_begin(), _begin_all()
 *      and 2 again                      3. a subscriptions_round, and others until it is
 *   3. false: pending; woken, to 2          through
 *
 * so that whatever the look does not see is notified after it.
 *
 * To wake a thousand tasks at once would put all of them in front of the job whose change
 * it is, and of its next change. So a source wakes some and gives other tasks a turn in
 * between; a task that is notified late finds more at once. The lock is held for
 * SUBSCRIPTIONS_LOOKS subscriptions at most.
 *
 * A notification goes through a list from its first to its last; new subscriptions come
 * before the first: they were added after it happened, and it passes none twice.
 *
 * Rejected: volt_notify, which wakes all of its waiters at once. A number for each
 * notification and in each subscription, by which it knows those that it has passed: one
 * pointer in the table does the same. */
#ifndef VOLTD_LOG_SUBSCRIPTION_H
#define VOLTD_LOG_SUBSCRIPTION_H

#include <volt/task.h>
#include "base/list.h"
#include "base/lock.h"

/* While the lock is held once. */
#define SUBSCRIPTIONS_LOOKS 64
#define SUBSCRIPTIONS_WAKES 32

struct subscriptions {      /* private, but for the lock */
    vlock lock;             /* protects what follows, and `armed` of the subscribers */
    size_t count;           /* in all lists */
    uint64_t happened;      /* what concerns all: subscriptions_happened() */
    struct list_node *next; /* that the notification comes to in the list before `at` */
    uint32_t at, end;       /* lists before it that it has yet to enter; the source's */
    uint32_t lists;
    struct list list[];
};

/* New and empty; NULL: no memory. */
struct subscriptions *subscriptions_new(uint32_t lists);
/* Nothing is left in it. NULL is allowed. */
void subscriptions_free(struct subscriptions *t);
/* Any thread. */
bool subscriptions_is_empty(struct subscriptions *t);
bool subscriptions_list_is_empty(struct subscriptions *t, uint32_t list);

/* --- subscribers -------------------------------------------------------------------- */

/* A task. Private; must not move while it has subscriptions. Zero-initialised it may be
 * finished. */
struct subscriber {
    struct subscriptions *table;
    struct volt_waker waker;
    bool armed;    /* the next notification wakes it */
    uint64_t seen; /* of `happened`, when it was armed */
};

/* In one list of the table. Private; must not move while it is there. Zero-initialised it
 * is in none. A call may have 40,000 of them: what has it knows its list, too. */
struct subscription {
    struct list_node node;
    struct subscriber *by; /* NULL: in no list */
};

/* The task is the one that polls here. */
void subscriber_init(struct volt_cx *cx, struct subscriber *s, struct subscriptions *t);
/* Has no subscription any more. */
void subscriber_fini(struct subscriber *s);
/* True: it has been notified since it was armed, or never was armed: it looks, and comes
 * again. False: it is woken when there is something. */
bool subscriber_arm(struct subscriber *s);
/* As if it had been notified. */
void subscriber_disarm(struct subscriber *s);

/* The subscription is in no list. */
void subscription_add(struct subscriber *by, struct subscription *s, uint32_t list);
/* It is in this list, or in none. */
void subscription_remove(struct subscriber *by, struct subscription *s, uint32_t list);
/* The same, with the lock of the table. */
void subscription_add_locked(struct subscriber *by, struct subscription *s,
                             uint32_t list);
void subscription_remove_locked(struct subscriptions *t, struct subscription *s,
                                uint32_t list);

/* --- the source: one task for each table -------------------------------------------- */

/* Something has happened that concerns all; the source may be late, and need not wake
 * those that have looked since: subscriber_is_behind(). Any thread. False: nothing is in
 * the table. */
bool subscriptions_happened(struct subscriptions *t);
/* Lock held. */
bool subscriber_is_behind(const struct subscriber *s);

/* What has happened concerns subscriptions of this list; of all lists. The notification
 * before it is through. */
void subscriptions_begin(struct subscriptions *t, uint32_t list);
void subscriptions_begin_all(struct subscriptions *t);
/* Of the first so many lists. */
void subscriptions_begin_first(struct subscriptions *t, uint32_t lists);

/* Goes on with the notification while there are looks left, one for each subscription and
 * each list, and counts them down:
 *
 *   subscriptions_begin_round(&r, t, &looks);
 *   while ((s = subscriptions_next(&r)))
 *       if (what has happened concerns s)
 *           subscriptions_wake(&r, s);
 *
 * Then r.more: it is not through, and others have a turn first. The lock is held where it
 * is decided about s, which may be noted with s; so the loop runs to its end, where the
 * lock is released. subscriptions_next() releases it now and then as well, and wakes. */
struct subscriptions_round {
    bool more;
    bool locked; /* private, with the rest */
    struct subscriptions *table;
    size_t *looks;
    size_t looked; /* since the lock was taken */
    unsigned wakes;
    struct volt_waker wakers[SUBSCRIPTIONS_WAKES];
};
void subscriptions_begin_round(struct subscriptions_round *r, struct subscriptions *t,
                               size_t *looks);
struct subscription *subscriptions_next(struct subscriptions_round *r);
/* The subscriber of this one, if it is armed. */
void subscriptions_wake(struct subscriptions_round *r, struct subscription *s);

/* Lock held. What is in a list: the first, and the one behind another; NULL: none. */
struct subscription *subscriptions_first(const struct subscriptions *t, uint32_t list);
struct subscription *subscriptions_after(const struct subscription *s);

#endif
