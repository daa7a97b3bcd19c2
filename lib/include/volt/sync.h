/* Synchronisation between tasks: semaphore, mutex, rwlock, notify, oneshot.
 *
 * Waiting allocates nothing: the waiter is embedded in the leaf future, which lives in the
 * task's state. Service is strictly first come, first served, with direct hand-over.
 * A leaf is initialised, polled until READY, and finished with _fini in the task's drop
 * (in every state: unpolled, waiting, granted but not yet seen, acquired). _fini of a leaf
 * that READY has answered does NOT release what was acquired: the owner does.
 * The primitive must outlive every call on it that has not returned, and every leaf.
 * Leaves are polled by tasks; the try_ and release/unlock calls work on any thread. */
#ifndef VOLT_SYNC_H
#define VOLT_SYNC_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <volt/task.h>

/* Private words, sized for the implementation; never touched by callers. */
struct volt_waiter {
    uint32_t granted; /* atomic */
    uint32_t state;
    uint64_t need, requested;
    void *who;
    struct volt_waiter *prev, *next;
    uint64_t invocation;
};

struct volt_sem {
    uint64_t permits; /* atomic: bit 0 waiters, bit 1 closed, count above */
    uint32_t lock, spin;
    uint64_t max;
    struct volt_waiter *head, *tail;
};

#define VOLT_SEM_MAX (UINT64_MAX >> 3)

VOLT_API void volt_sem_init(struct volt_sem *sem, uint64_t permits, uint64_t max);
/* No waiter may be left. */
VOLT_API void volt_sem_fini(struct volt_sem *sem);
VOLT_API bool volt_sem_try_acquire(struct volt_sem *sem, uint64_t n);
/* Returns n permits, oldest waiters first. -EOVERFLOW: with these there would be more than
 * max; those beyond it are discarded. Any thread. */
VOLT_API int volt_sem_release(struct volt_sem *sem, uint64_t n);
/* Wakes all waiters with -ECANCELED and refuses from then on. */
VOLT_API void volt_sem_close(struct volt_sem *sem);
VOLT_API uint64_t volt_sem_available(const struct volt_sem *sem);

/* 1 <= n <= max, or it asserts: nobody could ever grant it. */
struct volt_sem_acquire {
    struct volt_sem *sem;
    struct volt_waiter waiter;
};
static inline void volt_sem_acquire_init(struct volt_sem_acquire *a, struct volt_sem *sem,
                                         uint64_t n)
{
    assert(n >= 1 && n <= sem->max);
    a->sem = sem;
    a->waiter.granted = a->waiter.state = 0;
    a->waiter.requested = n; /* the rest is filled in by whoever queues it */
}
/* READY: acquired, or closed: see _status. */
VOLT_API enum volt_poll volt_sem_acquire_poll(struct volt_cx *cx,
                                              struct volt_sem_acquire *a);
VOLT_API int
volt_sem_acquire_status(const struct volt_sem_acquire *a); /* 0, -ECANCELED */
VOLT_API void volt_sem_acquire_fini(struct volt_sem_acquire *a);

struct volt_mutex {
    struct volt_sem sem;
};
struct volt_mutex_lock {
    struct volt_sem_acquire acquire;
};
VOLT_API void volt_mutex_init(struct volt_mutex *m);
VOLT_API void volt_mutex_fini(struct volt_mutex *m);
VOLT_API bool volt_mutex_try_lock(struct volt_mutex *m);
VOLT_API void volt_mutex_unlock(struct volt_mutex *m);
static inline void volt_mutex_lock_init(struct volt_mutex_lock *l, struct volt_mutex *m)
{
    volt_sem_acquire_init(&l->acquire, &m->sem, 1);
}
VOLT_API enum volt_poll volt_mutex_lock_poll(struct volt_cx *cx,
                                             struct volt_mutex_lock *l);
VOLT_API void volt_mutex_lock_fini(struct volt_mutex_lock *l);

/* Readers share, writers exclude; a queued writer blocks later readers. A task that holds a
 * read lock and asks for another while a writer waits deadlocks itself. */
#define VOLT_RWLOCK_MAX_READS ((UINT64_C(1) << 29) - 1)
struct volt_rwlock {
    struct volt_sem sem;
};
struct volt_rwlock_acquire {
    struct volt_sem_acquire acquire;
};
VOLT_API void volt_rwlock_init(struct volt_rwlock *l);
VOLT_API void volt_rwlock_fini(struct volt_rwlock *l);
VOLT_API bool volt_rwlock_try_read(struct volt_rwlock *l);
VOLT_API bool volt_rwlock_try_write(struct volt_rwlock *l);
static inline void volt_rwlock_read_init(struct volt_rwlock_acquire *a,
                                         struct volt_rwlock *l)
{
    volt_sem_acquire_init(&a->acquire, &l->sem, 1);
}
static inline void volt_rwlock_write_init(struct volt_rwlock_acquire *a,
                                          struct volt_rwlock *l)
{
    volt_sem_acquire_init(&a->acquire, &l->sem, VOLT_RWLOCK_MAX_READS);
}
VOLT_API enum volt_poll volt_rwlock_poll(struct volt_cx *cx,
                                         struct volt_rwlock_acquire *a);
VOLT_API void volt_rwlock_acquire_fini(struct volt_rwlock_acquire *a);
VOLT_API void volt_rwlock_read_unlock(struct volt_rwlock *l);
VOLT_API void volt_rwlock_write_unlock(struct volt_rwlock *l);

/* Who holds the lock and who waits, all at one moment, for diagnostics: a task that has
 * locked itself out stands among the waiting readers behind a writer, and `readers` does
 * not fall. Granted and not yet seen counts as held. Takes the lock's inner lock for as
 * long as the queue is. Any thread. */
struct volt_rwlock_info {
    uint32_t readers; /* read locks held */
    bool writer;      /* held by a writer (or by VOLT_RWLOCK_MAX_READS readers) */
    uint32_t readers_waiting, writers_waiting;
};
VOLT_API void volt_rwlock_inspect(struct volt_rwlock *l, struct volt_rwlock_info *ret);

/* Notify: a wake that is not lost. notify_one wakes the oldest waiter or leaves one permit
 * for the next; notify_all wakes those that wait now and leaves nothing. */
struct volt_notify {
    uint32_t state; /* atomic */
    uint32_t lock;
    struct volt_waiter *head, *tail;
    uint64_t generation;
};
struct volt_notified {
    struct volt_notify *notify;
    struct volt_waiter waiter;
    uint64_t generation;
};
VOLT_API void volt_notify_init(struct volt_notify *n);
VOLT_API void volt_notify_fini(struct volt_notify *n);
VOLT_API void volt_notify_one(struct volt_notify *n); /* any thread */
VOLT_API void volt_notify_all(struct volt_notify *n); /* any thread */
/* A notify_all between _init and the first poll is seen. */
VOLT_API void volt_notified_init(struct volt_notified *w, struct volt_notify *n);
VOLT_API enum volt_poll volt_notified_poll(struct volt_cx *cx, struct volt_notified *w);
/* A notify_one that was granted and never seen goes to the next waiter. */
VOLT_API void volt_notified_fini(struct volt_notified *w);

/* Oneshot: one value of `size` bytes from one sender to one receiver. One allocation shared
 * by both ends; each end is given up exactly once, in any order, on any thread. */
struct volt_oneshot;
VOLT_API struct volt_oneshot *volt_oneshot_new(size_t size); /* NULL: out of memory */
/* Copies the value, wakes the receiver, gives the sending end up. 0, or -EPIPE: the
 * receiver has gone (the value is discarded). */
VOLT_API int volt_oneshot_send(struct volt_oneshot *o, const void *value);
VOLT_API void
volt_oneshot_send_drop(struct volt_oneshot *o); /* gives up without a value */
/* READY: 0 in *ret_status and the value copied to ret_value; or -EPIPE. Only one of _poll
 * (one task) and _wait (a thread that is no worker) is used. */
VOLT_API enum volt_poll volt_oneshot_recv_poll(struct volt_cx *cx, struct volt_oneshot *o,
                                               void *ret_value, int *ret_status);
VOLT_API int volt_oneshot_recv_wait(struct volt_oneshot *o, void *ret_value); /* blocks */
VOLT_API void volt_oneshot_recv_drop(struct volt_oneshot *o);

#endif
