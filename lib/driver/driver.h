/* The driver: readiness (libevent) and timers of one runtime.
 *
 * One word says whether a worker is inside: one that is busy and polls, or the leader,
 * which sleeps there. Only the holder of the turn calls into libevent.
 * Registrations of other threads go through a queue that the holder drains.
 *
 * Used by lib/sched (worker loop, parking); implemented over libevent in driver.c, over a
 * table of stubs in the models. */
#ifndef VOLT_DRIVER_DRIVER_H
#define VOLT_DRIVER_DRIVER_H

#include "task/task.h"

struct driver;
struct registration;
struct volt_sleep;

/* Allocates a driver for a runtime of `workers` workers: one timer wheel each. 0,
 * -ENOMEM, or the errno of libevent's or eventfd's failure. */
int driver_new(unsigned workers, struct driver **ret);
void driver_free(struct driver *d); /* after shutdown; NULL allowed */

/* Before its first use: the runtime is watched (task/leaves.h). */
void driver_set_watched(struct driver *d);

/* Takes the turn if it is free. True: the caller must end it with driver_leave(). */
bool driver_try_enter(struct driver *d);
/* Holder only. Ends the turn. */
void driver_leave(struct driver *d);

/* Holder only. Collects events, and fires the overdue timers of all wheels: the tokens of
 * what became runnable are appended to chain. Nothing is submitted, no callback runs
 * under a lock. */
void driver_poll(struct driver *d, struct task_chain *chain);
/* Holder only, which is the leader then: the same after sleeping until an event,
 * driver_kick(), the earliest timer of any wheel, or until_usec (UINT64_MAX: no
 * limit). */
void driver_lead(struct driver *d, uint64_t until_usec, struct task_chain *chain);

/* Any thread. True: nobody holds the turn; *ret_generation: how many turns there were. */
bool driver_unattended(const struct driver *d, uint32_t *ret_generation);

/* Any thread: makes a sleeping leader return (eventfd). */
void driver_kick(struct driver *d);

/* Owner thread of wheel `index` only: fires its overdue timers. One compare
 * when none is. */
void driver_fire_own(struct driver *d, unsigned index, uint64_t now_usec,
                     struct task_chain *chain);
/* Any thread: earliest deadline of any wheel in usec, UINT64_MAX for none. */
uint64_t driver_next_deadline(const struct driver *d);
/* True when a descriptor is registered or waits to be: polling is worth a system call.
 * (Timers need none: driver_fire_own() and driver_next_deadline() are plain loads.) */
bool driver_has_interest(const struct driver *d);

/* Any thread. Arms s in wheel `wheel` for its deadline on behalf of `task`, and sees to
 * it that a sleeping leader learns of an earlier deadline. 0, or -ESHUTDOWN. Afterwards
 * wheel_fired() and wheel_cancel(). */
int driver_arm(struct driver *d, unsigned wheel, struct volt_sleep *s,
               struct volt_task *task, uint64_t now_usec);

/* Any thread. Registers fd, which must stay open until driver_unregister(). 0; -EEXIST:
 * it is registered; -ENOMEM, -ESHUTDOWN. */
int driver_register(struct driver *d, int fd, struct registration **ret);
/* Any thread. Takes r; forgets its waiters. */
void driver_unregister(struct registration *r);

/* Any thread, once. Marks everything shut down: each waiting task is woken and its leaf
 * answers -ESHUTDOWN (io) or READY (sleep). */
void driver_shutdown(struct driver *d, struct task_chain *chain);

/* What the leaf futures of lib/io ask of lib/runtime, which defines them. */
struct driver *runtime_driver(const struct volt_runtime *rt);
/* The wheel of this worker; any valid one for NULL (a thread that is no worker). */
unsigned worker_wheel(const struct worker *w);
/* A time not later than now (usec), for next to nothing: when the calling worker last
 * looked at the clock. 0 for NULL. */
uint64_t worker_clock_usec(const struct worker *w);

/* For statistics. */
uint64_t driver_timers(const struct driver *d);
uint64_t driver_io_handles(const struct driver *d);

#endif
