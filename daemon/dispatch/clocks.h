/* The clocks by which jobs wait: one that goes on while the machine sleeps, for delays,
 * and that of dates, which somebody may set. Two timers of the kernel: while neither is
 * due nothing runs. */
#ifndef VOLTD_DISPATCH_CLOCKS_H
#define VOLTD_DISPATCH_CLOCKS_H

#include <volt/io.h>
#include "daemon/admit/admission.h"

struct clocks {
    struct volt_io boottime, dates; /* CLOCK_BOOTTIME, CLOCK_REALTIME */
};

/* 0; -errno. A clocks of zeroes may be finished. */
int clocks_init(struct clocks *c, struct volt_runtime *rt);
void clocks_fini(struct clocks *c);
/* From now on these times count, and no others; TIMED_NEVER: none. */
void clocks_arm(struct clocks *c, const struct admission_times *at);
/* READY: one of these times has come, or the dates have been set. */
enum volt_poll clocks_poll(struct volt_cx *cx, struct clocks *c);

#endif
