/* Subscriptions: how a task waits for things that many tasks may wait for, such as events
 * of jobs, exit records, growth of files. There is one mechanism and several sources. A
 * source is the task that knows what has happened, and which subscriptions it concerns.
 *
 * A subscriber is a task that waits. Its subscriptions are in lists of a table. The
 * source chooses the list: by a hash of the job, by the number of an inotify watch, or
 * one list for all.
 *
 *   subscriber                          source
 *   1. subscription_add()               1. something happens
 *   2. subscriber_arm(). true: looks,   2. subscriptions_begin(), _begin_all()
 *      and does 2 again                 3. rounds (subscriptions_round) until all
 *   3. false: pending; when woken, 2       lists are passed
 *
 * So whatever a look does not see is notified after it.
 *
 * Waking a thousand tasks at once would put all of them before the job that changed, and
 * before its next change. So a source wakes some and then lets other tasks run; a task
 * that is notified late finds more at once. The lock is held for at most
 * SUBSCRIPTIONS_LOOKS subscriptions.
 *
 * A notification passes through a list from first to last. New subscriptions are added
 * before the first: they come after the event, and the notification passes none twice.
 *
 * Rejected: volt_notify, which wakes all its waiters at once. A number for each
 * notification, stored in each subscription that it has passed: one pointer in the table
 * does the same. */
#ifndef VOLTD_LOG_SUBSCRIPTION_H
#define VOLTD_LOG_SUBSCRIPTION_H

#include <volt/task.h>
#include "base/list.h"
#include "base/lock.h"

/* At most so many in one hold of the lock. */
#define SUBSCRIPTIONS_LOOKS 64
#define SUBSCRIPTIONS_WAKES 32

struct subscriptions {      /* private, the lock excepted */
    vlock lock;             /* guards what follows, and `armed` of the subscribers */
    size_t count;           /* in all lists */
    uint64_t happened;      /* subscriptions_happened() calls so far */
    struct list_node *next; /* next subscription of the notification, in the list before
                             * `at` */
    uint32_t at, end;       /* lists still to be entered; the source's own */
    uint32_t lists;
    struct list list[];
};

/* Returns a new empty table. NULL: no memory. */
struct subscriptions *subscriptions_new(uint32_t lists);
/* Frees the table, which must be empty. NULL allowed. */
void subscriptions_free(struct subscriptions *t);
/* Any thread. */
bool subscriptions_is_empty(struct subscriptions *t);
bool subscriptions_list_is_empty(struct subscriptions *t, uint32_t list);

/* --- subscribers -------------------------------------------------------------------- */

/* A task. Private; must not move while it has subscriptions. If zero-initialised, may be
 * finished. */
struct subscriber {
    struct subscriptions *table;
    struct volt_waker waker;
    bool armed;    /* the next notification wakes the task */
    uint64_t seen; /* value of `happened` when it was armed */
};

/* A place in one list of the table. Private; must not move while it is there.
 * Zero-initialised: in no list. A call may have 40,000 of them, so the list is not
 * stored: the owner knows it. */
struct subscription {
    struct list_node node;
    struct subscriber *by; /* NULL: in no list */
};

/* Makes the task that polls here a subscriber. */
void subscriber_init(struct volt_cx *cx, struct subscriber *s, struct subscriptions *t);
/* Frees the subscriber, which has no subscriptions left. */
void subscriber_fini(struct subscriber *s);
/* Arms the subscriber. Returns true if it was notified since it was last armed, or never
 * armed: look, and call again. False: it will be woken. */
bool subscriber_arm(struct subscriber *s);
/* Disarms the subscriber, as if it had been notified. */
void subscriber_disarm(struct subscriber *s);

/* Adds a subscription that is in no list. */
void subscription_add(struct subscriber *by, struct subscription *s, uint32_t list);
/* Removes a subscription from this list; does nothing if it is in none. */
void subscription_remove(struct subscriber *by, struct subscription *s, uint32_t list);
/* Do the same under the table's lock. */
void subscription_add_locked(struct subscriber *by, struct subscription *s,
                             uint32_t list);
void subscription_remove_locked(struct subscriptions *t, struct subscription *s,
                                uint32_t list);

/* --- the source: one task for each table -------------------------------------------- */

/* Notes something that concerns all subscribers. Any thread. The source may come later,
 * and need not wake subscribers that have looked since (subscriber_is_behind()). Returns
 * false if the table is empty. */
bool subscriptions_happened(struct subscriptions *t);
/* Lock held. Returns whether something has happened since the subscriber was armed. */
bool subscriber_is_behind(const struct subscriber *s);

/* Begin a notification of this list, or of all lists. The one before must be complete. */
void subscriptions_begin(struct subscriptions *t, uint32_t list);
void subscriptions_begin_all(struct subscriptions *t);
/* Begins a notification of the first so many lists. */
void subscriptions_begin_first(struct subscriptions *t, uint32_t lists);

/* A round of a notification. Each subscription and each list takes one of *looks:
 *
 *   subscriptions_begin_round(&r, t, &looks);
 *   while ((s = subscriptions_next(&r)))
 *       if (what has happened concerns s)
 *           subscriptions_wake(&r, s);
 *
 * If r.more is true afterwards, let other tasks run, and begin another round. The table's
 * lock is held in the body of the loop, so data noted beside s may be read there. The
 * loop must run to its end, which releases the lock; subscriptions_next() also releases
 * it now and then, and wakes tasks. */
struct subscriptions_round {
    bool more;
    bool locked; /* private, as the rest */
    struct subscriptions *table;
    size_t *looks;
    size_t looked; /* in this hold of the lock */
    unsigned wakes;
    struct volt_waker wakers[SUBSCRIPTIONS_WAKES];
};
void subscriptions_begin_round(struct subscriptions_round *r, struct subscriptions *t,
                               size_t *looks);
struct subscription *subscriptions_next(struct subscriptions_round *r);
/* Wakes the subscriber of s, if it is armed. */
void subscriptions_wake(struct subscriptions_round *r, struct subscription *s);

/* Lock held. Return the first subscription of a list, and the one after s. NULL: none. */
struct subscription *subscriptions_first(const struct subscriptions *t, uint32_t list);
struct subscription *subscriptions_after(const struct subscription *s);

#endif
