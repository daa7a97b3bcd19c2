/* Timers: a leaf future that is ready at a time.
 *
 * Arming and cancelling are O(1) and allocate nothing: a timer is a node in a wheel of
 * its worker's, of slots of 64 us. It never fires early. It fires late by a slot at most,
 * or, where timers follow each other closely, by 0.3 ms, so that several are fired at a
 * time; beyond that only for as long as the system takes to wake a thread, or while every
 * worker is busy, until the first of them is done with the poll it is in. One worker in a
 * long poll delays nobody else's timers.
 *
 * All times are microseconds of the monotonic clock, volt_now_usec(), which does not
 * count suspension and is not set by anybody.
 *
 * lib/io/sleep.c, lib/driver/wheel.h. */
#ifndef VOLT_TIME_H
#define VOLT_TIME_H

#include <stdint.h>
#include <volt/task.h>

VOLT_BEGIN_DECLS

/* Private but for deadline_usec, to be read. Zeroed: not armed, and may be finished. */
struct volt_sleep {
    uint64_t deadline_usec;
    struct volt_sleep *prev, *next;
    void *wheel, *who;
    uint32_t fired; /* atomic */
    uint32_t slot;
};

/* Monotonic time in microseconds. Any thread. */
VOLT_API uint64_t volt_now_usec(void);

/* For duration_usec from now on; a duration beyond the end of time is one without end. It
 * is armed by its first poll. After READY, or _fini, it can be initialised again. */
VOLT_API void volt_sleep_init(struct volt_sleep *s, uint64_t duration_usec);
/* Until deadline_usec; one that has passed is ready at once. */
VOLT_API void volt_sleep_init_at(struct volt_sleep *s, uint64_t deadline_usec);
/* READY: the time has come, or the runtime is shutting down. Stays the task's that polled
 * it first. */
VOLT_API enum volt_poll volt_sleep_poll(struct volt_cx *cx, struct volt_sleep *s);
/* Cancels. In every state; also after READY, where it does nothing. Any thread. */
VOLT_API void volt_sleep_fini(struct volt_sleep *s);

VOLT_END_DECLS

#endif
