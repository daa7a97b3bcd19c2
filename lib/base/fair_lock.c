/* The contended paths of struct fair_lock. */
#include "base/fair_lock.h"
#include "base/futex.h"

/* Most sections are short: before it sleeps a thread looks some times more, as one that
 * waits for a vlock does. */
#ifndef FAIR_LOOKS
#define FAIR_LOOKS 12
#endif

#ifndef FAIR_BACKOFF
#define FAIR_BACKOFF 64 /* pauses before each look */
#endif

#ifndef FAIR_PASSES
#define FAIR_PASSES 1 /* unlocks that wake the first in line, before the lock is given */
#endif

/* What a thread in line is told; 0: nothing yet. */
enum {
    WOKEN = 1, /* the lock was free a moment ago */
    GIVEN,     /* the lock is its own, and it stands in line no more */
};

/* One that unlocks while another waits:     One that waits:
 *
 * 1. takes the guard                        1. takes the guard, sets FAIR_WAITED, goes
 * 2. takes FAIR_HELD from the word; or         to the end of the line, lets go
 *    leaves it, and takes the first out     2. sleeps while it is told nothing
 *    of the line                            3. takes the guard. GIVEN: the lock is its
 * 3. tells that WOKEN or GIVEN, lets go        own. WOKEN: so it is if it is free, and
 * 4. wakes it, if it was told nothing          this one the first; else 2. again
 *
 * `told` is read and written with the guard, but in 2., where it only ends a sleep. */
struct waiter {
    struct list_node node;
    vat_u32 told;
};

static void back_off(void)
{
    for (int i = 0; i < FAIR_BACKOFF; i++)
        vat_pause();
}

/* Also past those in line. */
static bool take_free(struct fair_lock *l)
{
    uint32_t word = vat_u32_load(&l->word, VAT_RLX);

    return !(word & FAIR_HELD) &&
           vat_u32_cas(&l->word, &word, word | FAIR_HELD, VAT_ACQ, VAT_RLX);
}

/* Guard held. The word once the first has left the line and has the lock. */
static uint32_t held_by_first(const struct fair_lock *l)
{
    return FAIR_HELD | (l->line.first != l->line.last ? FAIR_WAITED : 0);
}

/* Guard held. */
static void leave_line(struct fair_lock *l, struct waiter *first)
{
    list_remove(&l->line, &first->node);
    l->passed = 0;
}

/* Guard held. Whether the lock is w's now, which has left the line. */
static bool enter(struct fair_lock *l, struct waiter *w)
{
    uint32_t word = vat_u32_load(&l->word, VAT_RLX);

    if (l->line.first != &w->node || word & FAIR_HELD ||
        !vat_u32_cas(&l->word, &word, held_by_first(l), VAT_ACQ, VAT_RLX))
        return false;
    leave_line(l, w);
    return true;
}

static void stand_in_line(struct fair_lock *l)
{
    struct waiter w = {0};

    vlock_lock(&l->guard);
    (void)vat_u32_or(&l->word, FAIR_WAITED, VAT_RLX);
    list_add_last(&l->line, &w.node);
    bool entered = enter(l, &w);
    vlock_unlock(&l->guard);
    while (!entered) {
        while (!vat_u32_load(&w.told, VAT_RLX))
            (void)vfutex_wait(&w.told, 0, UINT64_MAX);
        vlock_lock(&l->guard);
        entered = vat_u32_xchg(&w.told, 0, VAT_RLX) == GIVEN || enter(l, &w);
        vlock_unlock(&l->guard);
    }
}

void fair_lock_slow(struct fair_lock *l)
{
    for (int i = 0; i < FAIR_LOOKS; i++) {
        if (take_free(l))
            return;
        back_off();
    }
    stand_in_line(l);
}

/* Guard held; somebody waits. What the first is told. */
static uint32_t let_go(struct fair_lock *l, struct waiter *first)
{
    if (l->passed++ < FAIR_PASSES) {
        vat_u32_store(&l->word, FAIR_WAITED, VAT_REL);
        return WOKEN;
    }
    vat_u32_store(&l->word, held_by_first(l), VAT_RLX);
    leave_line(l, first);
    return GIVEN;
}

static void unlock_waited(struct fair_lock *l)
{
    vlock_lock(&l->guard);
    struct waiter *first = list_thing(l->line.first, struct waiter, node);
    const bool sleeps = !vat_u32_load(&first->told, VAT_RLX);
    vat_u32_store(&first->told, let_go(l, first), VAT_RLX);
    vlock_unlock(&l->guard);
    if (sleeps)
        vfutex_wake(&first->told, 1);
}

void fair_unlock(struct fair_lock *l)
{
    uint32_t held = FAIR_HELD;

    VLOCK_TELL(pre_unlock, l, 0);
    if (!vat_u32_cas(&l->word, &held, 0, VAT_REL, VAT_RLX))
        unlock_waited(l);
    VLOCK_TELL(post_unlock, l, 0);
}
