/* Grants: finds the next waiter, takes its claims and gives them back. */
#include <assert.h>

#include "daemon/admit/state.h"

/* --- next --------------------------------------------------------------------------- */

/* Deducts a class and the lanes looked at, as a user may have a lane for each
 * priority. */
static void spend(unsigned *budget, uint64_t lanes)
{
    const uint64_t cost = 1 + lanes / ADMISSION_LANES;

    *budget -= cost < *budget ? (unsigned)cost : *budget;
}

struct waiter *admission_next(struct admission *a, uint64_t now, unsigned *budget)
{
    a->now = now;
    while (*budget > 0) {
        const uint64_t before = a->lanes_looked;

        if (!standing_offer(a, now)) {
            struct class *c = standing_first(a);
            struct claim *of = c ? standing_short(a, c, now) : NULL;
            if (!of)
                return c ? class_first(c) : NULL;
            standing_park(a, c, of);
        }
        spend(budget, a->lanes_looked - before);
    }
    return NULL;
}

uint64_t admission_lanes_looked(const struct admission *a)
{
    return a->lanes_looked;
}

bool admission_is_settled(const struct admission *a)
{
    return admission_is_idle(a) || (!a->due.first && !standing_first(a));
}

/* --- take and give back ------------------------------------------------------------- */

/* Updates the lines after slots and virtual time of the account changed. */
static void has_changed(struct admission *a, struct account *account)
{
    standing_reorder(a, account);
    standing_slots(a, account);
}

static void charge(struct class *c)
{
    const struct class_share share = class_share(c);

    account_start(c->account, share.amount, share.capacity);
    account_add_slots(c->account, share.amount);
}

static void take(struct class *c, uint64_t now)
{
    class_take(c, now);
    charge(c);
}

/* Ends the wait at a start. A waiter in the line may be put back later. */
static void start(struct admission *a, struct waiter *w)
{
    if (w->state == WAITER_LINE) {
        doom_rest(a, w);
        waiter_quit(a, w);
    } else {
        admission_leave(a, w);
    }
}

/* Charges the start before the waiter leaves the line, so the account is never idle in
 * between. */
void admission_take(struct admission *a, struct waiter *w, bool stays, uint64_t now)
{
    struct class *c = w->class;

    assert(w->state != WAITER_NONE);
    a->now = now;
    if (w->state == WAITER_LINE)
        standing_passes(a, c);
    take(c, now);
    if (!stays)
        start(a, w);
    has_changed(a, c->account);
}

void admission_recover(struct admission *a, struct waiter *w, uint64_t now)
{
    a->now = now;
    class_take_again(w->class, now);
    charge(w->class);
    has_changed(a, w->class->account);
}

void admission_recover_locks(struct admission *a, struct waiter *w, uint64_t now)
{
    a->now = now;
    class_take_locks(w->class, now);
}

bool admission_try(struct admission *a, struct waiter *w, uint64_t now)
{
    struct class *c = w->class;

    a->now = now;
    if (!admission_is_idle(a) || !lane_is_able(c->ready.lane) ||
        standing_short(a, c, now))
        return false;
    take(c, now);
    doom_rest(a, w);
    has_changed(a, c->account);
    return true;
}

bool admission_try_named(struct admission *a, struct waiter *w, uint64_t now)
{
    struct class *c = w->class;

    assert(!c->slotted);
    a->now = now;
    waiter_join(a, w, now);
    if (class_first(c) != w || !lane_is_able(c->ready.lane) ||
        standing_short(a, c, now)) {
        waiter_quit(a, w);
        return false;
    }
    admission_take(a, w, false, now);
    return true;
}

/* Releases slots and limits of n attempts that are over or were undone. */
static void give_slots(struct admission *a, struct class *c, uint64_t n)
{
    class_give(c, n);
    account_sub_slots(c->account, n * class_share(c).amount);
    if (c->place == CLASS_SHORT && c->short_of->resource == c->elements)
        standing_retry(a, c);
}

static void give_locks(struct admission *a, struct class *c, uint64_t n)
{
    class_give_locks(c, n);
    for (struct claim *of = class_named(c); of < class_named_end(c); of++)
        resource_due(a, of->resource);
}

void admission_refund(struct admission *a, struct waiter *w, uint64_t now)
{
    struct class *c = w->class;

    a->now = now;
    class_refund(c, 1);
    for (struct claim *of = class_named(c); of < class_named_end(c); of++)
        resource_due(a, of->resource);
}

void admission_undo(struct admission *a, struct waiter *w, uint64_t now)
{
    struct class *c = w->class;

    a->now = now;
    give_slots(a, c, 1);
    class_refund(c, 1);
    give_locks(a, c, 1);
    account_undo(c->account);
    has_changed(a, c->account);
}

/* Puts the waiter into the line before it undoes the start, so the account is never idle
 * in between. */
void admission_put_back(struct admission *a, struct waiter *w, uint64_t now)
{
    if (w->state == WAITER_APART) {
        waiter_rejoin(a, w);
        doom_resume(a, w);
    }
    admission_undo(a, w, now);
}

void admission_ended(struct admission *a, struct waiter *w, uint64_t n, uint64_t ran_usec,
                     uint64_t now)
{
    struct class *c = w->class;
    const struct class_share share = class_share(c);

    a->now = now;
    give_slots(a, c, n);
    for (uint64_t i = 0; i < n; i++)
        account_end(c->account, share.amount, share.capacity, ran_usec / n);
    has_changed(a, c->account);
}

void admission_lend(struct admission *a, struct waiter *w, uint64_t now)
{
    struct class *c = w->class;

    a->now = now;
    class_lend(c);
    account_sub_slots(c->account, class_share(c).amount);
    has_changed(a, c->account);
}

void admission_take_back(struct admission *a, struct waiter *w, uint64_t now)
{
    struct class *c = w->class;

    a->now = now;
    class_take_back(c, now);
    account_add_slots(c->account, class_share(c).amount);
    has_changed(a, c->account);
}

void admission_release_locks(struct admission *a, struct waiter *w, uint64_t n,
                             uint64_t now)
{
    a->now = now;
    give_locks(a, w->class, n);
}
