/* The driver: readiness (epoll) and timers of one runtime.
 *
 * The turn, one word, says whether a worker is inside: a busy one that polls, or the
 * leader, which sleeps there. Only the holder of the turn uses the loop. Other threads
 * queue their registrations, and the holder drains the queue.
 *
 * Used by lib/sched (worker loop, parking). driver.c implements it; the models use a
 * table of stubs. */
#ifndef VOLT_DRIVER_DRIVER_H
#define VOLT_DRIVER_DRIVER_H

#include "task/task.h"

struct driver;
struct registration;
struct volt_sleep;

/* Allocates a driver with a timer wheel for each of `workers` workers. Returns 0,
 * -ENOMEM, or the errno of epoll_create1, epoll_ctl, eventfd or timerfd_create. */
int driver_new(unsigned workers, struct driver **ret);
void driver_free(struct driver *d); /* after shutdown; NULL allowed */

/* Marks the runtime as watched (task/leaves.h). Call before the first use. */
void driver_set_watched(struct driver *d);

/* Takes the turn if it is free. Returns true if so: the caller must call
 * driver_leave(). */
bool driver_try_enter(struct driver *d);
/* Holder only. Ends the turn. */
void driver_leave(struct driver *d);

/* Holder only. Collects events and fires the overdue timers of all wheels. Appends the
 * tokens of tasks that became runnable to chain. Submits nothing; runs no callback under
 * a lock. */
void driver_poll(struct driver *d, struct task_chain *chain);
/* Leader only. Does the same after it has slept until an event, driver_kick(), the
 * earliest timer of any wheel, or until_usec (UINT64_MAX: no limit). */
void driver_lead(struct driver *d, uint64_t until_usec, struct task_chain *chain);

/* Any thread. Returns whether the turn is free. *ret_generation: number of turns so
 * far. */
bool driver_unattended(const struct driver *d, uint32_t *ret_generation);

/* Any thread. Makes a sleeping leader return (eventfd). */
void driver_kick(struct driver *d);

/* Owner thread of wheel `index` only. Fires its overdue timers; without any, one
 * compare. */
void driver_fire_own(struct driver *d, unsigned index, uint64_t now_usec,
                     struct task_chain *chain);
/* Any thread. Returns the earliest deadline of all wheels in usec, UINT64_MAX for
 * none. */
uint64_t driver_next_deadline(const struct driver *d);
/* Returns whether a descriptor is registered or queued, so that polling is worth a system
 * call. (Timers need no call: driver_fire_own() and driver_next_deadline() are plain
 * loads.) */
bool driver_has_interest(const struct driver *d);

/* Any thread. Arms s in wheel `wheel` for its deadline on behalf of `task`, and wakes a
 * sleeping leader for an earlier deadline. Returns 0 or -ESHUTDOWN. Then use
 * wheel_fired() and wheel_cancel(). */
int driver_arm(struct driver *d, unsigned wheel, struct volt_sleep *s,
               struct volt_task *task, uint64_t now_usec);

/* Any thread. Registers fd, which must stay open until driver_unregister(). Returns 0;
 * -EEXIST if it is registered already; -ENOMEM; -ESHUTDOWN. */
int driver_register(struct driver *d, int fd, struct registration **ret);
/* Any thread. Takes r and forgets its waiters. */
void driver_unregister(struct registration *r);

/* Any thread, once. Shuts all down: wakes each waiting task, whose leaf then answers
 * -ESHUTDOWN (io) or READY (sleep). */
void driver_shutdown(struct driver *d, struct task_chain *chain);

/* Defined by lib/runtime, for the leaf futures of lib/io. */
struct driver *runtime_driver(const struct volt_runtime *rt);
/* Returns the wheel of a worker; any valid one for NULL (the thread is no worker). */
unsigned worker_wheel(const struct worker *w);
/* Returns a time not later than now, in usec, at almost no cost: when the worker last
 * read the clock. 0 for NULL. */
uint64_t worker_clock_usec(const struct worker *w);

/* Statistics. */
uint64_t driver_timers(const struct driver *d);
uint64_t driver_io_handles(const struct driver *d);

#endif
