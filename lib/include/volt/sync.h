/* Synchronisation between tasks: semaphore, mutex, rwlock, notify, oneshot.
 *
 * Shape. Each primitive is a struct of the caller's, anywhere in memory: _init before
 * its first use, _fini after its last, neither allocates. Waiting is a leaf future, a
 * struct in the waiting task's state:
 *
 *     leaf_init(&leaf, &primitive)    once per wait; again for the next one
 *     leaf_poll(cx, &leaf)            by the task, until it answers VOLT_READY
 *     leaf_fini(&leaf)                in the task's drop, whatever state the leaf is in:
 *                                     never polled, waiting, granted and not yet seen,
 *                                     done
 *
 * leaf_status(&leaf), where there is more to say than READY, is 0 or a negative errno;
 * leaf_wait(&leaf), where there is one, blocks a thread instead of polling, and returns
 * that status; it asserts that the thread is no worker.
 *
 * _fini of a leaf that waits, or was granted unseen, leaves the queue or passes the grant
 * on; of one that READY has answered it does nothing: what was acquired its owner gives
 * back, in its drop, too, if it may be cancelled while it holds it. A zeroed leaf
 * may be finished. While a leaf waits it does not move, and stays its task's.
 *
 * Promises. Waiting allocates nothing and cannot fail. Service is strictly first come,
 * first served: what is given back goes to the oldest waiter directly, never past it. An
 * acquirer that finds nobody waiting may look for a moment whether the holder is about to
 * finish, and let other tasks run between two looks; from then on it is in the queue.
 * A task that queues again in the poll in which it was served yields its place if all
 * that wait are such tasks: with the next release they acquire as if nobody waited.
 *
 * Threads. Leaves are polled by tasks, of any runtime, and of several at one primitive.
 * The try_, release, unlock, close and notify calls are any thread's. A primitive
 * outlives its leaves and the calls on it. A release may not have returned although the
 * task to which it gave a permit goes on already: that task waits for its return before
 * it frees the primitive.
 *
 * Memory order. Taking a permit, a lock, a notification or a value is an acquire, giving
 * it is a release: what the giver wrote before, the taker sees.
 *
 * lib/sync, lib/README.md. */
#ifndef VOLT_SYNC_H
#define VOLT_SYNC_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <volt/task.h>

VOLT_BEGIN_DECLS

/* Part of every leaf here. All fields are private. */
struct volt_waiter {
    uint32_t granted; /* atomic */
    uint32_t state;
    uint64_t need, requested;
    struct volt_task *task; /* that waits */
    struct volt_waiter *prev, *next;
    uint32_t invocation, newcomer;
};

/* ---- semaphore --------------------------------------------------------------------- */

/* A count of permits, at most max. All fields are private. */
struct volt_sem {
    uint64_t permits; /* atomic: bit 0 waiters, bit 1 closed, count above */
    uint32_t lock, spin;
    uint64_t max;
    struct volt_waiter *head, *tail;
};

#define VOLT_SEM_MAX (UINT64_MAX >> 3)

/* Instead of _init, of what lives as long as the program:
 *     static struct volt_sem licences = VOLT_SEM_INIT(4, 4);
 * and likewise VOLT_MUTEX_INIT, VOLT_RWLOCK_INIT, VOLT_NOTIFY_INIT. */
#define VOLT_SEM_INIT(permits, max)                                                      \
    {                                                                                    \
        (uint64_t)(permits) << 2, 0, 256, (max), 0, 0                                    \
    }

/* 0 <= permits <= max <= VOLT_SEM_MAX, or it asserts. Not while anybody uses it. */
VOLT_API void volt_sem_init(struct volt_sem *sem, uint64_t permits, uint64_t max);
/* Asserts that nobody waits. Nothing to free: a semaphore may also just be forgotten. */
VOLT_API void volt_sem_fini(struct volt_sem *sem);

/* Takes n permits if they are there and nobody waits, else nothing. False also when
 * closed. Any thread; never blocks. */
VOLT_API bool volt_sem_try_acquire(struct volt_sem *sem, uint64_t n);
/* Gives n permits, to the oldest waiters first. 0; -EOVERFLOW: with these there would be
 * more than max; those beyond it are discarded. Any thread; without waiters one atomic
 * operation. */
VOLT_API int volt_sem_release(struct volt_sem *sem, uint64_t n);
/* Ends the waiting of all, whose leaves answer READY with status -EPIPE, and refuses
 * acquisitions for ever. Permits can still be given back. Any thread; idempotent. */
VOLT_API void volt_sem_close(struct volt_sem *sem);
/* Permits that are free at this moment; 0 while anybody waits. Any thread. */
VOLT_API uint64_t volt_sem_available(const struct volt_sem *sem);

/* Leaf: waits for n permits, which are got all at once; what comes in by parts is kept
 * for it, so a large request is not starved by small ones. */
struct volt_sem_acquire {
    struct volt_sem *sem;
    struct volt_waiter waiter;
};

/* 1 <= n <= max, or it asserts: nobody could ever grant it. Borrows sem. */
static inline void volt_sem_acquire_init(struct volt_sem_acquire *a, struct volt_sem *sem,
                                         uint64_t n)
{
    assert(n >= 1 && n <= sem->max && "nobody could grant that many");
    a->sem = sem;
    a->waiter.granted = a->waiter.state = 0;
    a->waiter.requested = n; /* the rest is filled in when it is queued */
}

/* READY: acquired, or closed; see _status. Takes one unit of the poll's budget. */
VOLT_API enum volt_poll volt_sem_acquire_poll(struct volt_cx *cx,
                                              struct volt_sem_acquire *a);
/* After READY: 0, the permits are the caller's; -EPIPE, closed. Never the latter for
 * a semaphore that nobody closes. */
VOLT_API int volt_sem_acquire_status(const struct volt_sem_acquire *a);
VOLT_API void volt_sem_acquire_fini(struct volt_sem_acquire *a);

/* ---- mutex ------------------------------------------------------------------------- */

/* For sections that hold across an await. One without awaits is as well served by a
 * pthread_mutex_t. Not recursive; no owner: any thread may unlock what another locked. */
struct volt_mutex {
    struct volt_sem sem; /* private */
};

#define VOLT_MUTEX_INIT                                                                  \
    {                                                                                    \
        VOLT_SEM_INIT(1, 1)                                                              \
    }

VOLT_API void volt_mutex_init(struct volt_mutex *m);
/* Asserts that nobody waits. */
VOLT_API void volt_mutex_fini(struct volt_mutex *m);

/* Locks it if it is free. Any thread; never blocks. */
VOLT_API bool volt_mutex_try_lock(struct volt_mutex *m);
/* Hands it to the oldest waiter, or frees it. Asserts that it was locked. Any thread. */
VOLT_API void volt_mutex_unlock(struct volt_mutex *m);

/* Leaf. READY: locked by the caller. */
struct volt_mutex_lock {
    struct volt_sem_acquire acquire; /* private */
};

static inline void volt_mutex_lock_init(struct volt_mutex_lock *l, struct volt_mutex *m)
{
    volt_sem_acquire_init(&l->acquire, &m->sem, 1);
}

VOLT_API enum volt_poll volt_mutex_lock_poll(struct volt_cx *cx,
                                             struct volt_mutex_lock *l);
VOLT_API void volt_mutex_lock_fini(struct volt_mutex_lock *l);

/* ---- rwlock ------------------------------------------------------------------------ */

/* Readers share, a writer is alone. A queued writer holds later readers back, so writers
 * are not starved; therefore a task that holds a read lock and asks for another while a
 * writer waits locks itself out for ever. Nothing detects that: read locks have no owner.
 * volt_rwlock_inspect() shows it. */
struct volt_rwlock {
    struct volt_sem sem; /* private */
};

#define VOLT_RWLOCK_MAX_READS ((UINT64_C(1) << 29) - 1) /* held at once */

#define VOLT_RWLOCK_INIT                                                                 \
    {                                                                                    \
        VOLT_SEM_INIT(VOLT_RWLOCK_MAX_READS, VOLT_RWLOCK_MAX_READS)                      \
    }

VOLT_API void volt_rwlock_init(struct volt_rwlock *l);
/* Asserts that nobody waits. */
VOLT_API void volt_rwlock_fini(struct volt_rwlock *l);

/* Lock if nobody is in the way, or waits. Any thread; never block. */
VOLT_API bool volt_rwlock_try_read(struct volt_rwlock *l);
VOLT_API bool volt_rwlock_try_write(struct volt_rwlock *l);
/* Give back what _read, _write or the try_ calls acquired. Assert that there was no lock
 * of that kind more than there could be. Any thread. */
VOLT_API void volt_rwlock_read_unlock(struct volt_rwlock *l);
VOLT_API void volt_rwlock_write_unlock(struct volt_rwlock *l);

/* Leaf, for either kind. READY: locked by the caller. */
struct volt_rwlock_acquire {
    struct volt_sem_acquire acquire; /* private */
};

static inline void volt_rwlock_acquire_init_read(struct volt_rwlock_acquire *a,
                                                 struct volt_rwlock *l)
{
    volt_sem_acquire_init(&a->acquire, &l->sem, 1);
}

static inline void volt_rwlock_acquire_init_write(struct volt_rwlock_acquire *a,
                                                  struct volt_rwlock *l)
{
    volt_sem_acquire_init(&a->acquire, &l->sem, VOLT_RWLOCK_MAX_READS);
}

VOLT_API enum volt_poll volt_rwlock_acquire_poll(struct volt_cx *cx,
                                                 struct volt_rwlock_acquire *a);
VOLT_API void volt_rwlock_acquire_fini(struct volt_rwlock_acquire *a);

/* What holds a lock and what waits for it, all at one moment; for diagnostics. A task
 * that has locked itself out is among the waiting readers behind a writer, and `readers`
 * does not fall. Granted and not yet seen counts as held. */
struct volt_rwlock_info {
    uint32_t readers;                          /* read locks held */
    bool writer;                               /* held by a writer, or by as many readers
                                                * as there may be */
    uint32_t readers_waiting, writers_waiting; /* queued */
};

/* Any thread. Keeps everybody else from queueing for as long as it counts the queue. */
VOLT_API void volt_rwlock_inspect(struct volt_rwlock *l, struct volt_rwlock_info *ret);

/* ---- notify ------------------------------------------------------------------------ */

/* A wake that is not lost: it finds a waiter, or waits for one. All fields are
 * private. */
struct volt_notify {
    uint32_t state; /* atomic */
    uint32_t lock;
    struct volt_waiter *head, *tail;
    uint64_t generation;
};

#define VOLT_NOTIFY_INIT                                                                 \
    {                                                                                    \
        0, 0, 0, 0, 0                                                                    \
    }

VOLT_API void volt_notify_init(struct volt_notify *n);
/* Asserts that nobody waits. */
VOLT_API void volt_notify_fini(struct volt_notify *n);

/* Wakes the oldest waiter, or leaves one permit for the next; a second permit is not
 * left. Any thread. */
VOLT_API void volt_notify_one(struct volt_notify *n);
/* Wakes all whose leaf has been initialised, polled or not, and leaves nothing. Any
 * thread. */
VOLT_API void volt_notify_all(struct volt_notify *n);

/* Leaf. To wait for a condition: initialise it, then look at the condition, then poll; a
 * notification after the look is not missed. */
struct volt_notified {
    struct volt_notify *notify;
    struct volt_waiter waiter;
    uint64_t generation;
};

VOLT_API void volt_notified_init(struct volt_notified *w, struct volt_notify *n);
VOLT_API enum volt_poll volt_notified_poll(struct volt_cx *cx, struct volt_notified *w);
/* A notify_one that was granted and never seen goes to the next waiter. */
VOLT_API void volt_notified_fini(struct volt_notified *w);

/* ---- oneshot ----------------------------------------------------------------------- */

/* One value from one sender to one receiver, in one allocation that both share. Each end
 * is given up exactly once, in any order, by any thread; the second frees. */
struct volt_oneshot;

/* Returns new, for a value of size bytes (0 is allowed); NULL: out of memory. */
VOLT_API struct volt_oneshot *volt_oneshot_new(size_t size);

/* The sender's end. Copies the value, wakes the receiver, gives the end up. 0; -EPIPE:
 * the receiver has gone, and the value is discarded. */
VOLT_API int volt_oneshot_try_send(struct volt_oneshot *o, const void *value);
/* Gives it up without a value: the receiver is answered -EPIPE. NULL is allowed: of a
 * sender that has sent, and keeps no pointer. */
VOLT_API void volt_oneshot_send_fini(struct volt_oneshot *o);

/* Leaf: the receiver's end. All fields are private. Zeroed it is none, and may be
 * finished. */
struct volt_oneshot_recv {
    struct volt_oneshot *oneshot;
    void *value;
    struct volt_task *task; /* that waits, or NULL */
    int status;
};

/* Takes the receiver's end of o; borrows ret_value until READY or _fini. */
static inline void volt_oneshot_recv_init(struct volt_oneshot_recv *r,
                                          struct volt_oneshot *o, void *ret_value)
{
    r->oneshot = o;
    r->value = ret_value;
    r->task = NULL;
}

/* READY: see _status. One task polls; or one thread that is no worker waits. */
VOLT_API enum volt_poll volt_oneshot_recv_poll(struct volt_cx *cx,
                                               struct volt_oneshot_recv *r);
/* After READY: 0, and the value has been copied to ret_value; or -EPIPE. */
VOLT_API int volt_oneshot_recv_status(const struct volt_oneshot_recv *r);
/* Instead of polling: blocks the calling thread, which is no worker's, until it is ready.
 * Returns that status. */
VOLT_API int volt_oneshot_recv_wait(struct volt_oneshot_recv *r);
/* Gives the end up, waiting or not, received or not. */
VOLT_API void volt_oneshot_recv_fini(struct volt_oneshot_recv *r);

VOLT_END_DECLS

#endif
