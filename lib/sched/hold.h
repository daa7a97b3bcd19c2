/* Holding a wake back. Owner thread only, all of it.
 *
 * Waking a sleeper costs the waker microseconds, the sleeper tens of them, and what was
 * queued is then torn from the cache of the worker that would have come to it sooner. So
 * a worker that queues a task while somebody sleeps compares: if all that it has queued
 * without a word is expected to be done in less than a wake costs, it keeps it.
 *
 * The rule: a published task is announced at once, or its owner is bound to look again
 * before any poll that it cannot bound. A wake is held back only while
 *   - the poll that queues, and every queued one, is of a type whose polls were short:
 *     the mean that this worker measured, per type; a type that it does not know is long,
 *     and so are polls inside a poll (scope.c);
 *   - together they are expected to take less than hold_ns;
 *   - a sentinel is there: a poll that was short a thousand times and lasts this time is
 *     found by it (sentinel.c), with what waits behind it.
 * And at each poll boundary it is decided anew: the wake goes out when the next poll's
 * type is long, or hold_ns have passed since the first task was kept.
 *
 * All this is asked only when somebody sleeps and nobody searches, that is where
 * otherwise a system call would follow. Polls are timed, by two looks at the clock, while
 * a wake is held back, and after a push whose type was not short. */
#ifndef VOLT_SCHED_HOLD_H
#define VOLT_SCHED_HOLD_H

#include "sched/sched.h"

#define HOLD_NEVER UINT32_MAX /* expectation: not to be held back */

/* How long a poll of this type takes, ns; HOLD_NEVER: unknown, or long. */
uint32_t hold_expect(struct worker *w, const struct volt_task_type *type);

/* Tasks whose expectations sum up to this have been published in the ring. True: the wake
 * is held back. False: it must go out now, for all. */
bool hold_back(struct worker *w, uint32_t ns);
/* What is held back is announced. */
void hold_release(struct worker *w);

/* A poll of this type took so long. */
void hold_learn(struct worker *w, const struct volt_task_type *type, uint64_t ns);

/* w->apart is not 0: t is about to be polled. w->apart has WORKER_TIMING: that poll has
 * ended. Any: the worker leaves its loop; whatever it holds is announced. */
void hold_before_poll(struct worker *w, const struct volt_task *t);
void hold_after_poll(struct worker *w);
void hold_leave(struct worker *w);

#endif
