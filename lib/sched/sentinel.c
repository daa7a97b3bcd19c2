/* Sentinels: sleepers that look after the others.
 *
 * A poll may last. What then waits behind it, and is nobody else's: the event loop, when
 * the worker that ran the poll came from there; its timers; the task in its slot, which
 * no search takes from a busy pair in passing. So while anybody is awake, up to two
 * of those that sleep look round every 2 ms, whether they sleep in the event loop or on
 * their park words. Two, so that one may be called away and nobody need be woken in its
 * place. When all have slept for 100 ms the sentinels go to sleep as well: an idle
 * process does not wake (F-K5). A worker that comes out of a sleep and finds no sentinel
 * wakes one: once per burst of activity.
 *
 * A timer need not wait for two looks: one that sleeps on its park word looks at the next
 * deadline a millisecond after it, too, and leads if that has passed unattended.
 *
 *   last sentinel goes to sleep            a worker wakes
 *   1 counts itself off                    1 leaves the idle set
 *   2 barrier                              2 barrier
 *   3 somebody awake? it stays             3 no sentinel? wakes one
 *
 * Nothing else relies on them (INV-1 does not): what they find in a queue although
 * workers sleep would be a lost wake, and is counted as a rescue. */
#include "sched/sched.h"

#define MOST         2
#define OVERDUE_USEC 1000 /* a timer, and nobody is in the event loop */
#ifndef SENTINEL_LINGER
#define SENTINEL_LINGER 50 /* looks, with everybody asleep */
#endif

static bool all_asleep(const struct sched *s)
{
    return sched_parked(s) == s->workers;
}

void sentinel_begin(struct worker *w, uint64_t now_usec)
{
    struct sched *s = w->sched;
    uint32_t n = vat_u32_load(&s->sentinels, VAT_RLX);

    if (s->sentinel_usec == 0 || s->workers == 1)
        return;
    do {
        if (n >= MOST)
            return;
    } while (!vat_u32_cas(&s->sentinels, &n, n + 1, VAT_RLX, VAT_RLX));
    w->sentinel = true;
    w->quiet_looks = 0;
    /* An unexpired time is kept: the leader's timer need not be set again. */
    if (w->next_look <= now_usec)
        w->next_look = now_usec + s->sentinel_usec;
}

void sentinel_end(struct worker *w)
{
    if (w->sentinel)
        (void)vat_u32_sub(&w->sched->sentinels, 1, VAT_RLX);
    w->sentinel = false;
}

void sentinel_call(struct worker *w)
{
    struct sched *s = w->sched;

    if (s->sentinel_usec == 0 || s->workers == 1)
        return;
    vat_u32_fence(&s->sentinels);
    if (vat_u32_load(&s->sentinels, VAT_RLX) != 0)
        return;
    int i = sched_first_parked(s);
    if (i >= 0)
        sched_unpark(s, (uint32_t)i); /* no claim: it finds nothing, and sleeps again */
}

/* All sleep. */
static void rest(struct worker *w)
{
    struct sched *s = w->sched;

    if (++w->quiet_looks < SENTINEL_LINGER)
        return;
    sentinel_end(w);
    vat_u64_fence(&s->idle.word);
    if (!all_asleep(s))
        sentinel_begin(w, w->next_look);
}

/* Has nobody been in the event loop since the last look? */
static bool loop_unattended(struct worker *w)
{
    uint32_t generation;
    bool free = w->sched->driver && driver_unattended(w->sched->driver, &generation);
    bool act = free && generation == w->seen_generation;

    if (free)
        w->seen_generation = generation;
    return act;
}

uint64_t sentinel_next_timer(const struct worker *w, uint64_t now_usec)
{
    struct driver *d = w->sched->driver;
    uint64_t next = d ? driver_next_deadline(d) : UINT64_MAX;
    uint64_t soonest = now_usec + OVERDUE_USEC / 4; /* it is overdue, and attended */

    if (next > UINT64_MAX - OVERDUE_USEC)
        return UINT64_MAX;
    return next + OVERDUE_USEC > soonest ? next + OVERDUE_USEC : soonest;
}

bool sentinel_timer_waits(const struct worker *w, uint64_t now_usec)
{
    struct driver *d = w->sched->driver;
    uint64_t next = d ? driver_next_deadline(d) : UINT64_MAX;
    uint32_t generation;

    return next < now_usec && now_usec - next >= OVERDUE_USEC &&
           driver_unattended(d, &generation);
}

static bool global_visible(const struct sched *s)
{
    return inject_visible(&s->inject) || inject_visible(&s->spill);
}

/* Has v been in one poll since anybody's last look, with something behind it? While it
 * counts as a searcher nobody is woken for what comes from outside. */
static bool stuck(struct worker *v)
{
    uint32_t seq = vat_u32_load(&v->poll_seq, VAT_RLX);
    bool same = seq == vat_u32_load(&v->seen_seq, VAT_RLX);

    vat_u32_store(&v->seen_seq, seq, VAT_RLX);
    return same && (vat_ptr_load(&v->lifo, VAT_RLX) || ring_len(&v->ring) != 0 ||
                    forks_visible(&v->forks) ||
                    (vat_u32_load(&v->searches, VAT_RLX) && global_visible(v->sched)));
}

bool sentinel_look(struct worker *w, uint64_t now_usec)
{
    struct sched *s = w->sched;
    bool act;

    w->next_look = now_usec + s->sentinel_usec;
    if (all_asleep(s)) {
        rest(w);
        return false;
    }
    w->quiet_looks = 0;
    act = loop_unattended(w);
    for (uint32_t i = 0; i < s->workers; i++)
        if (i != w->index && stuck(&s->worker[i]))
            act = true;
    if (global_visible(s) && sched_searchers(s) == 0) {
        if (w->seen_global) /* at two looks: none was on its way */
            counter_add(&w->count.rescues, 1);
        act |= w->seen_global;
        w->seen_global = true;
    } else {
        w->seen_global = false;
    }
    return act;
}
