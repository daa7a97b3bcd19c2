/* Timers: a leaf future that is ready at a time.
 *
 * Arming and cancelling are O(1) and allocate nothing: a timer is a node in a wheel of
 * its worker's, of slots of 64 us. It never fires early. It fires late by a slot at most,
 * or, where timers follow each other closely, by 0.3 ms, so that several are fired at a
 * time; beyond that only for as long as the system takes to wake a thread, or while every
 * worker is busy, until one looks at the timers: 0.5 ms, and the poll that it is in; its
 * task then comes behind those that can run. One worker in a long poll delays nobody
 * else's timers.
 *
 * All times are microseconds of the monotonic clock, volt_now_usec(), which does not
 * count suspension and is not set by anybody.
 *
 * lib/io/sleep.c, lib/driver/wheel.h. */
#ifndef VOLT_TIME_H
#define VOLT_TIME_H

#include <errno.h>
#include <stdint.h>
#include <volt/task.h>

VOLT_BEGIN_DECLS

/* Private but for deadline_usec, to be read. Zeroed: until time 0, which has passed; may
 * be finished. */
struct volt_sleep {
    uint64_t deadline_usec;
    struct volt_sleep *prev, *next;
    void *wheel;
    struct volt_task *task;
    uint32_t fired; /* atomic */
    uint32_t slot;
};

/* Monotonic time in microseconds. Any thread. */
VOLT_API uint64_t volt_now_usec(void);

/* For duration_usec from now on; a duration beyond the end of time is one without end. It
 * is armed by its first poll. After READY, or _fini, it can be initialised again; one
 * that waits must be finished first, as when another leaf of a VOLT_SELECT() was ready:
 * else the timer asserts, sooner or later. */
VOLT_API void volt_sleep_init(struct volt_sleep *s, uint64_t duration_usec);
/* Until deadline_usec; one that has passed is ready at once. */
VOLT_API void volt_sleep_init_at(struct volt_sleep *s, uint64_t deadline_usec);
/* READY: the time has come, or the runtime is shutting down. Stays the task's that polled
 * it first. */
VOLT_API enum volt_poll volt_sleep_poll(struct volt_cx *cx, struct volt_sleep *s);
/* Cancels. In every state; also after READY, where it does nothing. Any thread. */
VOLT_API void volt_sleep_fini(struct volt_sleep *s);

/* VOLT_AWAIT() for so long at most: `status`, an int in the state, becomes 0, or
 * -ETIMEDOUT; then the leaf still waits, and is awaited again, or ended. Not around
 * volt_scope_poll(): a scope must be awaited to its end. sleep is a pointer to a struct
 * volt_sleep in the state, which the drop ends.
 *
 *     VOLT_AWAIT_FOR(s->at, s->status, cx, &s->sleep, 5000000,
 *                    volt_io_read_poll(cx, &s->io, s->buf, sizeof(s->buf), &s->n));
 */
#define VOLT_AWAIT_FOR(at, status, cx, sleep, duration_usec, poll_expr)                  \
    do {                                                                                 \
        volt_sleep_init((sleep), (duration_usec));                                       \
        VOLT_AWAIT(at, VOLT_SELECT(status, poll_expr, volt_sleep_poll((cx), (sleep))));  \
        volt_sleep_fini(sleep);                                                          \
        (status) = (status) == 0 ? 0 : -ETIMEDOUT;                                       \
    } while (0)

/* Leaf: ready again and again, at equal times. Zeroed: may be finished. */
struct volt_interval {
    struct volt_sleep sleep; /* private */
    uint64_t next_usec;      /* the next tick, on the clock of volt_now_usec() */
    uint64_t period_usec;
    uint64_t missed; /* ticks that were left out before the last one, to be read */
};

/* The first tick is a period from now on; period_usec > 0, or it asserts. */
VOLT_API void volt_interval_init(struct volt_interval *i, uint64_t period_usec);
/* READY: a tick has come; polled again it waits for the next. Ticks are where they would
 * be if each had been seen at once: one that is seen late moves no other, and what it was
 * too late for is left out, and counted. While the runtime shuts down each poll is READY,
 * as that of a volt_sleep. */
VOLT_API enum volt_poll volt_interval_poll(struct volt_cx *cx, struct volt_interval *i);
/* In every state. */
VOLT_API void volt_interval_fini(struct volt_interval *i);

VOLT_END_DECLS

#endif
