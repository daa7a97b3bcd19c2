/* The park word of one worker: a sticky wake, by futex or through the event loop.
 *
 *   EMPTY     awake, no token                set by the worker only
 *   FUTEX     asleep on this word            set by the worker (from EMPTY)
 *   DRIVER    asleep in the event loop       set by the worker (from EMPTY)
 *   NOTIFIED  a token waits                  set by anybody
 *
 * The worker leaves every sleep by exchanging EMPTY in, never by a store: a store could
 * erase a token, and would not see what its sender wrote (F-H5): that exchange acquires,
 * whatever was read before. An unpark exchanges even when the word says NOTIFIED, to
 * publish the caller's writes. The other way nothing is published: a sleeper writes
 * nothing for its waker. Wakes without a cause are allowed: the idle set says what a wake
 * meant. */
#ifndef VOLT_SCHED_PARK_H
#define VOLT_SCHED_PARK_H

#include "base/atomic.h"

enum park_state { PARK_EMPTY, PARK_FUTEX, PARK_DRIVER, PARK_NOTIFIED };

struct park {
    _Alignas(VOLT_CACHE_LINE) vat_u32 word;
};

void park_init(struct park *p);

/* Owner thread only. Announces the sleep. False: a token waits; do not sleep. */
bool park_begin(struct park *p, enum park_state how) __attribute__((warn_unused_result));
/* Owner thread only, after park_begin(PARK_FUTEX). False: timeout_ns (UINT64_MAX: no
 * limit) has passed without a token. */
bool park_sleep(struct park *p, uint64_t timeout_ns);
/* Owner thread only. A token has come. */
bool park_notified(const struct park *p);
/* Owner thread only. Consumes the token, if any. */
void park_end(struct park *p);

/* Any thread. True: the worker sleeps in the event loop, and the caller must kick it. */
bool park_unpark(struct park *p) __attribute__((warn_unused_result));

#endif
