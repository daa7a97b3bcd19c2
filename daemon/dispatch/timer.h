/* The timer: a task that gives admission the time when something there is due
 * (admission_tick()), a portion a poll. No clock is polled: the task waits for the
 * earliest time (clocks.h), and the dispatcher wakes it for an earlier one. */
#ifndef VOLTD_DISPATCH_TIMER_H
#define VOLTD_DISPATCH_TIMER_H

#include <volt/task.h>
#include "daemon/admit/admission.h"

struct core;

/* [L] */
struct timer {
    struct volt_waker waker;     /* of the task, while it waits ... */
    struct admission_times next; /* ... for these times */
};

/* Starts the task, which lives as long as the runtime. Returns 0 or -errno. */
int timer_start(struct core *core);

#endif
