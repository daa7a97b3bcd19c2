/* The clocks of waiting jobs: one that goes on while the machine sleeps, for delays, and
 * the date, which can be set. Each is a kernel timer, so nothing runs while none is
 * due. */
#ifndef VOLTD_DISPATCH_CLOCKS_H
#define VOLTD_DISPATCH_CLOCKS_H

#include <volt/io.h>
#include "daemon/admit/admission.h"

struct clocks {
    struct volt_io boottime, dates; /* CLOCK_BOOTTIME, CLOCK_REALTIME */
};

/* Opens the timers. Returns 0 or -errno. clocks_fini() takes zeroed clocks too. */
int clocks_init(struct clocks *c, struct volt_runtime *rt);
void clocks_fini(struct clocks *c);
/* Sets the times, in place of earlier ones. TIMED_NEVER: none. */
void clocks_arm(struct clocks *c, const struct admission_times *at);
/* Returns VOLT_READY when a time has come, or the date was set. */
enum volt_poll clocks_poll(struct volt_cx *cx, struct clocks *c);

#endif
