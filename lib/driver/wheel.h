/* A timer wheel: 7 levels of 64 slots. A slot of level l is 32^l ticks of 64 us long, so
 * the wheel reaches 50 days; longer timers wait at its end and are placed again.
 *
 * Slots are absolute: an entry that is due at `when` (its deadline in ticks,
 * rounded up) belongs to slot when >> 5 * l of a level l, kept at that number modulo 64.
 * It goes to the finest level on which its slot is at most 63 slots away from the one
 * of `elapsed`, the time up to which everything has fired. A coarse slot is thus at least
 * two slots away when an entry goes there (64 finer slots are two coarse ones): a near
 * timer never waits in one, and what a slot has to hold is there when the slot before
 * it begins.
 *
 * A coarse slot of more than WHEEL_PORTION entries is emptied while the slot before it
 * lasts, a portion at a time at equal intervals, into finer levels, which reach 64 of
 * their slots: to the end of the slot that is emptied. What is left when it begins, a
 * portion at most, and a slot that never held more, waits until its earliest entry is
 * due. So nobody is woken for a coarse slot of few entries, and of many no more than
 * a portion is moved at a time: the lock is held for 32 entries at most, whether they
 * fire or move. Of a million timers each lies in a page of its own and takes about a
 * microsecond to move, so portions of 256 made others late by a millisecond: two wheels,
 * whose slots begin alike, move two levels each.
 *
 * A slot is `due` when its next portion is, or its earliest entry. The wheel jumps from
 * one due slot to the next, however long nobody looked, and never past one: that keeps
 * every entry within 63 slots of `elapsed`. The published next deadline is the earliest
 * due time: that of the earliest entry, unless a portion or an entry that was cancelled
 * comes before it. Never early; late by less than a tick plus the time until somebody
 * looks.
 *
 * Rejected: levels by the highest bit in which `when` differs from `elapsed`. A timer of
 * a millisecond that is armed just before a boundary then lies in a coarse slot beside
 * all that are due within 16 seconds, and waits until they have been moved.
 * Rejected: looking for the next entry when a coarse slot's earliest one is cancelled.
 * Where 200 connections renew limits of ten seconds in turn, the earliest goes each time:
 * that takes 3 us instead of 0.1, and each sleeper sets its timer anew. It would save
 * one look for each slot at most, and there none: by then the slot is empty.
 *
 * One wheel per worker, under its own lock; anybody may insert, cancel and fire.
 *
 * What may touch an entry (struct volt_sleep): before it is armed, its owner. Armed: the
 * holder of the wheel's lock. Once `fired` is set: its owner again; that store is the
 * last touch of the firing. Firing is 1 unlink, 2 notify the task, 3 store fired; a poll
 * that would read fired between 2 and 3 without the lock could eat the notification and
 * go idle, so "not fired" is only decided under the lock. An entry that its owner has
 * initialised or freed meanwhile is met in its list, and asserted. */
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
                          is cancelled, or moved, and then due elsewhere. */
    uint32_t count;
};

struct wheel_level {
    uint64_t occupied; /* bit i: slot i is not empty */
    uint64_t portion;  /* tick of the next portion of the slot that is being emptied */
    struct wheel_slot slot[WHEEL_SLOTS];
};

struct wheel {
    _Alignas(VOLT_CACHE_LINE) vlock lock; /* protects all but the two cells' readers */
    bool closed;
    bool watched;       /* its tasks are: task/leaves.h */
    uint8_t occupied;   /* bit i: level i is not empty */
    uint64_t elapsed;   /* tick: no slot is due before it */
    uint64_t next_tick; /* what `next` says: the earliest time at which a slot is due */
    uint32_t next_slot; /* level * WHEEL_SLOTS + index of that slot, unless NEVER */
    uint32_t held;      /* entries fired and moved since the lock was taken to fire */
    uint32_t longest;   /* most that `held` ever was */
    uint64_t moved;     /* entries placed again, in all */
    vat_u64 armed; /* number of entries; written under the lock, read by statistics */
    /* usec: nothing is due before it. Written under the lock, read by the firing worker
     * and the leader; relaxed, for entries are read under the lock. wheel_insert's caller
     * fences after it (see driver.c). */
    vat_u64 next;
    struct wheel_level level[WHEEL_LEVELS];
};

void wheel_init(struct wheel *w, uint64_t now_usec);

/* Any thread. Arms s for its deadline on behalf of `task`. -ESHUTDOWN: the wheel is
 * closed, s is untouched. Otherwise 0, or 1 when w->next became earlier: a sleeper that
 * read the older value must hear of it. */
int wheel_insert(struct wheel *w, struct volt_sleep *s, struct volt_task *task,
                 uint64_t now_usec);

/* The owner of an armed entry. True: it has fired, nobody else touches it any more. */
bool wheel_fired(struct volt_sleep *s);

/* The owner, any thread, any state: afterwards nobody else touches the entry. */
void wheel_cancel(struct volt_sleep *s);

/* Any thread. Fires everything due at now_usec, and moves the portions that are due.
 * Without anything due, one load. */
void wheel_fire(struct wheel *w, uint64_t now_usec, struct task_chain *chain);

/* Any thread. Fires everything, and refuses from then on. */
void wheel_close(struct wheel *w, struct task_chain *chain);

static inline uint64_t wheel_next(const struct wheel *w)
{
    return vat_u64_load(&w->next, VAT_RLX);
}

#endif
