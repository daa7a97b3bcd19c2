/* See hold.h. */
#include "sched/hold.h"

#include "base/clock.h"

static struct expectation *expectation_of(struct worker *w, const void *type)
{
    uintptr_t p = (uintptr_t)type;

    return &w->expect[(p >> 4 ^ p >> 8 ^ p >> 12) % HOLD_TYPES];
}

uint32_t hold_expect(struct worker *w, const struct volt_task_type *type)
{
    const struct expectation *e = expectation_of(w, type);

    if (e->type == type && e->ns < w->sched->hold_ns)
        return e->ns;
    w->apart |= WORKER_TIME_NEXT; /* unknown, or long so far */
    return HOLD_NEVER;
}

/* Rises fast and falls slowly. */
void hold_learn(struct worker *w, const struct volt_task_type *type, uint64_t ns)
{
    struct expectation *e = expectation_of(w, type);

    if (ns > w->sched->hold_ns)
        ns = w->sched->hold_ns; /* one that lasted does not count for more */
    if (e->type != type)
        *e = (struct expectation){type, (uint32_t)ns};
    else if (ns > e->ns)
        e->ns += ((uint32_t)ns - e->ns) / 4 + 1;
    else
        e->ns -= (e->ns - (uint32_t)ns) / 8;
}

bool hold_back(struct worker *w, uint32_t ns)
{
    struct sched *s = w->sched;
    const struct volt_task_type *running = vat_ptr_load(&w->count.running, VAT_RLX);

    if (ns >= s->hold_ns - w->held_ns || vat_u32_load(&s->sentinels, VAT_RLX) == 0 ||
        (running && (w->cx->depth > 0 || hold_expect(w, running) == HOLD_NEVER))) {
        w->held_ns = 0;
        w->apart &= ~WORKER_HOLDS;
        return false;
    }
    if (!(w->apart & WORKER_HOLDS)) {
        w->apart |= WORKER_HOLDS;
        w->held_since = clock_ns();
    }
    w->held_ns += ns;
    return true;
}

/* Nothing is there that others could take. */
static bool nothing_spare(const struct worker *w)
{
    return ring_empty(&w->ring) && !forks_visible(&w->forks);
}

void hold_release(struct worker *w)
{
    if (!(w->apart & WORKER_HOLDS))
        return;
    w->held_ns = 0;
    w->apart &= ~WORKER_HOLDS;
    if (!nothing_spare(w))
        sched_notify(w->sched, w);
}

void hold_before_poll(struct worker *w, const struct volt_task *t)
{
    uint64_t now = clock_ns();

    if (w->apart & WORKER_HOLDS &&
        (nothing_spare(w) || now - w->held_since >= w->sched->hold_ns ||
         hold_expect(w, t->type) == HOLD_NEVER))
        hold_release(w);
    w->apart = (w->apart & (WORKER_HOLDS | WORKER_SEARCHES)) | WORKER_TIMING;
    w->timed = t->type;
    w->timed_since = now;
}

void hold_after_poll(struct worker *w)
{
    hold_learn(w, w->timed, clock_ns() - w->timed_since);
    w->apart &= ~WORKER_TIMING;
}

void hold_leave(struct worker *w)
{
    hold_release(w);
    w->apart &= WORKER_OUT | WORKER_SEARCHES;
}
