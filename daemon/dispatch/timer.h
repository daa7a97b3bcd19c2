/* The timer: a task that tells admission what time it is when something there is due
 * (admission_tick()), a portion a poll. Nothing polls a clock: it waits for the first of
 * the times (clocks.h), and the dispatcher wakes it when an earlier one comes up. */
#ifndef VOLTD_DISPATCH_TIMER_H
#define VOLTD_DISPATCH_TIMER_H

#include <volt/task.h>
#include "daemon/admit/admission.h"

struct core;

/* [L] */
struct timer {
    struct volt_waker waker;     /* of its task, while that waits ... */
    struct admission_times next; /* ... for these times */
};

/* The task, which lives as long as the runtime. 0; -errno. */
int timer_start(struct core *core);

#endif
