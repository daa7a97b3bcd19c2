/* Timers: leaf futures on a per-worker hierarchical wheel with 1 ms slots. Arming and
 * cancelling are O(1) and allocate nothing. A timer never fires early. */
#ifndef VOLT_TIME_H
#define VOLT_TIME_H

#include <stdint.h>
#include <volt/task.h>

/* Private but for deadline_usec. Zero-initialised is "not armed". */
struct volt_sleep {
    uint64_t deadline_usec; /* absolute, volt_now_usec() clock */
    struct volt_sleep *prev, *next;
    void *wheel, *who;
    uint32_t fired; /* atomic */
    uint32_t slot;
};

VOLT_API void volt_sleep_init(struct volt_sleep *s, uint64_t duration_usec);
VOLT_API void volt_sleep_init_at(struct volt_sleep *s, uint64_t deadline_usec);
VOLT_API enum volt_poll volt_sleep_poll(struct volt_cx *cx, struct volt_sleep *s);
VOLT_API void volt_sleep_fini(struct volt_sleep *s); /* cancels; any state */

#endif
