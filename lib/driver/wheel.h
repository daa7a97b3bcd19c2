/* A timer wheel: 6 levels of 64 slots, the finest of one tick, 64 us, so 50 days; longer
 * timers wait in the top level and are placed again.
 *
 * Slots are absolute (D10): an entry that is due at `when` (its deadline in ticks,
 * rounded up) lies in slot (when >> 6 * level) & 63 of the level that holds the highest
 * bit in which `when` differs from `elapsed`, the time up to which everything has fired.
 * Each slot knows the earliest `when` it was given. So the wheel jumps from one due slot
 * to the next, however long nobody looked, an entry whose time has come fires from any
 * level, and the published next deadline is exact, not a slot's start. Never early; late
 * by less than a tick plus the time until somebody looks.
 *
 * One wheel per worker, under its own lock; anybody may insert, cancel and fire.
 *
 * Who may touch an entry (struct volt_sleep): before it is armed, its owner. Armed: the
 * holder of the wheel's lock. Once `fired` is set: its owner again; that store is the
 * last touch of who fires. Firing is 1 unlink, 2 notify the task, 3 store fired; a poll
 * that would read fired between 2 and 3 without the lock could eat the notification and
 * go idle, so "not fired" is only decided under the lock. */
#ifndef VOLT_DRIVER_WHEEL_H
#define VOLT_DRIVER_WHEEL_H

#include "base/lock.h"
#include "task/task.h"
#include <volt/time.h>

#define WHEEL_SLOTS 64
#define WHEEL_NEVER UINT64_MAX
#ifndef WHEEL_LEVELS
#define WHEEL_LEVELS 6
#endif
#ifndef WHEEL_TICK_USEC
#define WHEEL_TICK_USEC 64
#endif

/* A list of entries, oldest first, and a lower bound of their due times. */
struct wheel_slot {
    struct volt_sleep *head, *tail;
    uint64_t earliest; /* tick; exact unless the earliest entry was cancelled */
};

struct wheel_level {
    uint64_t occupied; /* bit i: slot i is not empty */
    struct wheel_slot slot[WHEEL_SLOTS];
};

struct wheel {
    _Alignas(VOLT_CACHE_LINE) vlock lock; /* protects all but the two cells' readers */
    bool closed;
    uint8_t occupied;   /* bit i: level i is not empty */
    uint64_t elapsed;   /* tick: no entry is due at or before it */
    uint64_t next_tick; /* what `next` says */
    vat_u64 armed; /* number of entries; written under the lock, read by statistics */
    /* usec: no entry is due before it. Written under the lock, rel; read by the firing
     * worker and the leader, acq. wheel_insert's caller fences after it (see driver.c).
     */
    vat_u64 next;
    struct wheel_level level[WHEEL_LEVELS];
};

void wheel_init(struct wheel *w, uint64_t now_usec);

/* Any thread. Arms s for its deadline on behalf of `who`. -ESHUTDOWN: the wheel is
 * closed, s is untouched. Otherwise 0, or 1 when w->next became earlier: a sleeper that
 * read the older value must hear of it. */
int wheel_insert(struct wheel *w, struct volt_sleep *s, struct volt_task *who,
                 uint64_t now_usec);

/* The owner of an armed entry. True: it has fired, nobody else touches it any more. */
bool wheel_fired(struct volt_sleep *s);

/* The owner, any thread, any state: afterwards nobody else touches the entry. */
void wheel_cancel(struct volt_sleep *s);

/* Any thread. Fires everything due at now_usec. Without anything due, one load. */
void wheel_fire(struct wheel *w, uint64_t now_usec, struct task_chain *chain);

/* Any thread. Fires everything, and refuses from then on. */
void wheel_close(struct wheel *w, struct task_chain *chain);

static inline uint64_t wheel_next(const struct wheel *w)
{
    return vat_u64_load(&w->next, VAT_ACQ);
}

#endif
