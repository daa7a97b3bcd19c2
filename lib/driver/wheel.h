/* A timer wheel: 7 levels of 64 slots. A slot of level l is 32^l ticks of 64 us long, so
 * the wheel reaches 50 days. Longer timers wait at its end and are placed again.
 *
 * Slots are absolute: an entry due at `when` (its deadline in ticks, rounded up) belongs
 * to slot when >> 5 * l of level l, stored at that number modulo 64. It goes to the
 * finest level on which its slot is at most 63 slots from that of `elapsed`, the time up
 * to which every entry has fired. A coarse slot is thus at least two slots away when an
 * entry goes there (64 finer slots are two coarse ones). So a near timer never waits in a
 * coarse slot, and a coarse slot is complete when the slot before it begins.
 *
 * A coarse slot of more than WHEEL_PORTION entries is emptied into finer levels while the
 * slot before it lasts, a portion at a time at equal intervals. Finer levels reach 64 of
 * their slots, which is the end of the slot that is emptied. When the slot begins, at
 * most a portion is left; the rest, like a slot that never held more, waits until its
 * earliest entry is due. So a coarse slot of few entries wakes no worker. The lock is
 * held for 32 entries at most, fired or moved. With a million timers each entry is in a
 * page of its own and takes about a microsecond to move: portions of 256 made other
 * timers late by a millisecond, as two wheels, whose slots begin alike, move two levels
 * each.
 *
 * A slot is `due` when its next portion is, or its earliest entry. The wheel jumps from
 * one due slot to the next, however late, and never past one: that keeps every entry
 * within 63 slots of `elapsed`. The published next deadline is the earliest due time. It
 * is that of the earliest entry, or of an earlier portion or cancelled entry. No timer
 * fires early; it is late by less than a tick plus the time until the next look.
 *
 * Rejected: levels by the highest bit in which `when` differs from `elapsed`. A timer of
 * a millisecond armed just before a boundary then lies in a coarse slot beside all timers
 * of the next 16 seconds, and waits until they have been moved.
 * Rejected: finding the next entry when the earliest of a coarse slot is cancelled. If
 * 200 connections renew limits of ten seconds in turn, the earliest goes each time: that
 * takes 3 us instead of 0.1, and each sleeper sets its timer anew. It would save at most
 * one look per slot, and in this case none: the slot is empty by then.
 *
 * One wheel per worker, under its own lock; any thread may insert, cancel and fire.
 *
 * Who may touch an entry (struct volt_sleep): before it is armed, its owner; armed, the
 * holder of the wheel's lock; once `fired` is set, its owner again. Firing is 1 unlink, 2
 * notify the task, 3 store fired, which is the last touch. A poll that read fired without
 * the lock between 2 and 3 could consume the notification and go idle, so "not fired" is
 * decided under the lock alone. An assertion catches an armed entry that its owner has
 * initialised or freed. */
#ifndef VOLT_DRIVER_WHEEL_H
#define VOLT_DRIVER_WHEEL_H

#include "base/lock.h"
#include "task/task.h"
#include <volt/time.h>

#define WHEEL_SLOTS 64
#define WHEEL_NEVER UINT64_MAX
#ifndef WHEEL_LEVELS
#define WHEEL_LEVELS 7
#endif
#ifndef WHEEL_PORTION
#define WHEEL_PORTION 32
#endif
#ifndef WHEEL_TICK_USEC
#define WHEEL_TICK_USEC 64
#endif

/* A list of entries, oldest first. */
struct wheel_slot {
    struct volt_sleep *head, *tail;
    uint64_t earliest; /* tick; no entry is due before it. Exact until the earliest entry
                        * is cancelled, or moved and due elsewhere. */
    uint32_t count;
};

struct wheel_level {
    uint64_t occupied; /* bit i: slot i is not empty */
    uint64_t portion;  /* tick of the next portion of the slot that is being emptied */
    struct wheel_slot slot[WHEEL_SLOTS];
};

struct wheel {
    _Alignas(VOLT_CACHE_LINE) vlock lock; /* protects all but reads of the two cells */
    bool closed;
    bool watched;       /* the runtime's tasks are watched: task/leaves.h */
    uint8_t occupied;   /* bit i: level i is not empty */
    uint64_t elapsed;   /* tick: no slot is due before it */
    uint64_t next_tick; /* tick that `next` publishes: the earliest at which a slot is
                         * due */
    uint32_t next_slot; /* level * WHEEL_SLOTS + index of that slot, unless NEVER */
    uint32_t held;      /* entries fired and moved since the lock was taken to fire */
    uint32_t longest;   /* greatest value of `held` so far */
    uint64_t moved;     /* number of entries placed again */
    vat_u64 armed; /* number of entries; written under the lock, read by statistics */
    /* usec: nothing is due before it. Written under the lock; read relaxed by the firing
     * worker and the leader, which read entries under the lock. The caller of
     * wheel_insert() fences after it (driver.c). */
    vat_u64 next;
    struct wheel_level level[WHEEL_LEVELS];
};

void wheel_init(struct wheel *w, uint64_t now_usec);

/* Any thread. Arms s for its deadline on behalf of `task`. Returns:
 *   0           armed
 *   1           armed, and w->next became earlier: notify a sleeper that read the old one
 *   -ESHUTDOWN  the wheel is closed, s is untouched */
int wheel_insert(struct wheel *w, struct volt_sleep *s, struct volt_task *task,
                 uint64_t now_usec);

/* For the owner of an armed entry. Returns whether it has fired; if so it is the
 * owner's. */
bool wheel_fired(struct volt_sleep *s);

/* For the owner, any thread, any state: afterwards the entry is the owner's alone. */
void wheel_cancel(struct volt_sleep *s);

/* Any thread. Fires every entry due at now_usec and moves the portions that are due. If
 * nothing is due, one load. */
void wheel_fire(struct wheel *w, uint64_t now_usec, struct task_chain *chain);

/* Any thread. Fires every entry and refuses later ones. */
void wheel_close(struct wheel *w, struct task_chain *chain);

static inline uint64_t wheel_next(const struct wheel *w)
{
    return vat_u64_load(&w->next, VAT_RLX);
}

#endif
