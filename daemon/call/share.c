/* See share.h. A share that gives memory back wakes the first in line. The woken share
 * checks again and, when it goes, wakes the next one, which may find room too. Decisions
 * are made with the holder's lock held; wakes follow after unlock. */
#include "daemon/call/share.h"

#include <stdlib.h>
#include <volt/time.h>

#define PAGE UINT64_C(4096) /* smaller changes are not counted */

struct holder *holder_new(uid_t uid, unsigned served)
{
    struct holder *h = calloc(1, sizeof(*h));

    if (!h)
        return NULL;
    h->uid = uid;
    volt_sem_init(&h->served, served ? served : 1, served ? served : 1);
    volt_sem_init(&h->gate, served ? served : 1, served ? served : 1);
    volt_sem_init(&h->reserved, 1, 1);
    h->can_withhold = served > 1;
    return h;
}

void holder_free(struct holder *h)
{
    if (!h)
        return;
    volt_sem_fini(&h->served);
    volt_sem_fini(&h->gate);
    volt_sem_fini(&h->reserved);
    free(h);
}

/* --- time --------------------------------------------------------------------------- */

static struct volt_sem *line_of(const struct share *s)
{
    return s->reserved ? &s->of->reserved : &s->of->served;
}

static void begin_to_queue(struct share *s)
{
    s->at = SHARE_QUEUES;
    volt_sem_acquire_init(&s->place, line_of(s), 1);
}

enum volt_poll share_enter_poll(struct volt_cx *cx, struct share *s)
{
    if (s->at == SHARE_ENTERS) {
        s->at = SHARE_OUTSIDE;
        return VOLT_READY;
    }
    if (s->at == SHARE_OUTSIDE && (s->gated = s->heavy && !s->reserved)) {
        s->at = SHARE_AT_GATE;
        volt_sem_acquire_init(&s->place, &s->of->gate, 1);
    }
    if (s->at == SHARE_AT_GATE && volt_sem_acquire_poll(cx, &s->place) == VOLT_PENDING)
        return VOLT_PENDING;
    if (s->at != SHARE_QUEUES)
        begin_to_queue(s);
    if (volt_sem_acquire_poll(cx, &s->place) == VOLT_READY) {
        s->at = SHARE_ENTERS;
        volt_cx_wake(cx);
    }
    return VOLT_PENDING;
}

/* Gives the place behind the gate back: whoever comes through next queues at the end. */
static void leave_gate(struct share *s)
{
    if (s->gated)
        (void)volt_sem_release(&s->of->gate, 1);
    s->gated = false;
}

void share_leave(struct share *s, bool others_busy)
{
    struct holder *h = s->of;
    uint32_t now = others_busy && h->can_withhold, before = !now;

    if (s->reserved)
        (void)volt_sem_release(&h->reserved, 1);
    else if (vat_u32_load(&h->withheld, VAT_RLX) == now ||
             !vat_u32_cas(&h->withheld, &before, now, VAT_RLX, VAT_RLX))
        (void)volt_sem_release(&h->served, 1);
    else if (!now)
        (void)volt_sem_release(&h->served, 2);
    leave_gate(s);
}

/* --- the lines. Lock held. ---------------------------------------------------------- */

static uint64_t part_of(enum share_pool pool, uint64_t limit)
{
    return pool == SHARE_SHORT ? limit / 4 : limit - limit / 4;
}

static bool fits(const struct holder *h, enum share_pool pool, uint64_t limit)
{
    return h->line[pool].held < part_of(pool, limit);
}

static bool may_go(const struct holder *h, enum share_pool pool, uint64_t limit)
{
    return fits(h, pool, limit) || (pool == SHARE_LONG && !h->pass);
}

static struct share *share_of(struct list_node *n)
{
    return n ? list_thing(n, struct share, node) : NULL;
}

/* Returns whether the first in line may go now; *ret is its waker, to be woken without
 * the lock. */
static bool wake_first(struct holder *h, enum share_pool pool, uint64_t limit,
                       struct volt_waker *ret)
{
    const struct share *first = share_of(h->line[pool].waiters.first);

    if (!first || !may_go(h, pool, limit))
        return false;
    *ret = volt_waker_ref(&first->waker);
    return true;
}

static void unlock_and_wake(struct holder *h, uint64_t limit)
{
    struct volt_waker wakers[SHARE_POOLS];
    unsigned n = 0;

    for (enum share_pool p = SHARE_SHORT; p < SHARE_POOLS; p++)
        n += wake_first(h, p, limit, &wakers[n]);
    vlock_unlock(&h->lock);
    while (n > 0) {
        volt_waker_wake(&wakers[--n]);
        volt_waker_fini(&wakers[n]);
    }
}

static void note_progress(struct holder *h, enum share_pool pool)
{
    if (!list_is_empty(&h->line[pool].waiters))
        h->line[pool].moved_usec = volt_now_usec();
}

static void give_pass_back(struct share *s)
{
    s->has_pass = false;
    s->of->pass = NULL;
    note_progress(s->of, SHARE_LONG);
}

/* Moves the held bytes to this pool. */
static void move_to(struct share *s, enum share_pool pool)
{
    s->of->line[s->pool].held -= s->held;
    s->pool = pool;
    s->of->line[pool].held += s->held;
}

/* --- memory ------------------------------------------------------------------------- */

void share_hold(struct share *s, uint64_t bytes, uint64_t limit)
{
    struct holder *h = s->of;
    uint64_t before = s->held, now = bytes - bytes % PAGE;

    if (now == before && !s->has_pass)
        return;
    vlock_lock(&h->lock);
    h->line[s->pool].held += now - before;
    s->held = now;
    if (now < before || s->has_pass) /* also when it takes more with the pass */
        note_progress(h, s->pool);
    if (now == 0)
        s->pool = SHARE_SHORT;
    if (s->has_pass && now <= SHARE_LITTLE)
        give_pass_back(s);
    unlock_and_wake(h, limit);
}

bool share_has_room(struct share *s, enum share_pool pool, uint64_t limit)
{
    struct holder *h = s->of;

    if (s->has_pass)
        return true;
    vlock_lock(&h->lock);
    bool yes = list_is_empty(&h->line[pool].waiters) && fits(h, pool, limit);
    vlock_unlock(&h->lock);
    return yes;
}

/* Lock held. Leaves its line. False: it stood in none. */
static bool leave_line(struct share *s)
{
    if (!s->waits)
        return false;
    list_remove(&s->of->line[s->waits_for].waiters, &s->node);
    s->waits = false;
    return true;
}

/* Lock held. Joins the end of the pool's line unless it stands there already. */
static void stand_in_line(struct volt_cx *cx, struct share *s, enum share_pool pool)
{
    if (s->waits && s->waits_for == pool)
        return;
    if (!leave_line(s))
        s->waker = volt_waker_new(cx);
    s->waits = true;
    s->waits_for = pool;
    s->waits_since = volt_now_usec();
    list_add_last(&s->of->line[pool].waiters, &s->node);
}

enum volt_poll share_room_poll(struct volt_cx *cx, struct share *s, enum share_pool pool,
                               uint64_t limit)
{
    struct holder *h = s->of;

    s->asked = true;
    vlock_lock(&h->lock);
    struct share_line *line = &h->line[pool];
    bool first = !line->waiters.first || line->waiters.first == &s->node;
    if (!s->has_pass && !(first && may_go(h, pool, limit))) {
        stand_in_line(cx, s, pool);
        vlock_unlock(&h->lock);
        return VOLT_PENDING;
    }
    bool waited = leave_line(s);
    if (!s->has_pass && !fits(h, pool, limit)) {
        h->pass = s;
        s->has_pass = true;
    }
    move_to(s, pool);
    unlock_and_wake(h, limit);
    if (waited)
        volt_waker_fini(&s->waker);
    return VOLT_READY;
}

void share_wait_no_more(struct share *s, uint64_t limit)
{
    if (!s->waits)
        return;
    vlock_lock(&s->of->lock);
    (void)leave_line(s);
    unlock_and_wake(s->of, limit);
    volt_waker_fini(&s->waker);
}

uint64_t share_patience(struct share *s)
{
    uint64_t since = s->waits_since;

    if (!s->waits)
        return UINT64_MAX;
    vlock_lock(&s->of->lock);
    uint64_t moved = s->of->line[s->waits_for].moved_usec;
    vlock_unlock(&s->of->lock);
    return (moved > since ? moved : since) + SHARE_PATIENCE;
}

/* --- what streams keep -------------------------------------------------------------- */

bool share_keep(struct share *s, uint64_t bytes, uint64_t limit)
{
    struct holder *h = s->of;

    vlock_lock(&h->lock);
    bool yes = h->kept <= limit && bytes <= limit - h->kept;
    if (yes) {
        h->kept += bytes;
        s->kept += bytes;
    }
    vlock_unlock(&h->lock);
    return yes;
}

void share_keep_none(struct share *s)
{
    if (s->kept == 0)
        return;
    vlock_lock(&s->of->lock);
    s->of->kept -= s->kept;
    vlock_unlock(&s->of->lock);
    s->kept = 0;
}

void share_fini(struct share *s, uint64_t limit)
{
    if (!s->of)
        return;
    share_wait_no_more(s, limit);
    if (s->at == SHARE_AT_GATE || s->at == SHARE_QUEUES)
        volt_sem_acquire_fini(&s->place);
    if (s->at == SHARE_QUEUES)
        leave_gate(s);
    if (s->at == SHARE_ENTERS)
        share_leave(s, false);
    share_hold(s, 0, limit);
    share_keep_none(s);
    *s = (struct share){.of = NULL};
}
