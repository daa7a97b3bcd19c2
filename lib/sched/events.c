/* The worker's side of the driver.
 *
 * A worker that is about to sleep first tries to become the leader, which sleeps in the
 * event loop until the earliest timer; the others sleep on their park words. If all
 * workers are parked, one of them leads: a worker that leaves the loop is awake, and
 * comes back here before it sleeps again.
 *
 * While nobody leads, events and timers wait for the polls of workers that are awake, and
 * for their maintenance. Nobody is woken for the loop when the leader leaves it: most
 * polls are far shorter than a hand-over, which costs two context switches. A long one is
 * noticed by a sentinel, which then leads (sentinel.c). Claims spare the leader while
 * another worker is parked (idle.h).
 *
 * Rejected: a worker that falls asleep leaves the loop to one that is awake, always or
 * while threads wait for processors. It makes 0.97 to 1.02 of the echoes over TCP. */
#include "base/clock.h"
#include "sched/sched.h"

/* At most one poll by anybody within this time: N busy workers share the system calls. */
#define DRIVER_POLL_NS 50000
#define TRIM_NS        1000000000
#define TRIM_TASKS     64 /* have ended on this worker since it last did */
/* A turn that is held by somebody awake ends soon. */
#define ENTER_TRIES 32

static bool enter_as_leader(struct worker *w)
{
    struct sched *s = w->sched;
    struct idle *group = group_of(s, w->index);

    for (int i = 0; i < ENTER_TRIES; i++) {
        if (driver_try_enter(s->driver))
            return true;
        if (vat_u32_load(&group->leader, VAT_RLX) != 0)
            return false;
        vat_pause();
    }
    return false;
}

/* A second from now, if much memory may be free. The burst is over then, or others of its
 * kind would find it and take it anew. */
static void plan_trim(struct worker *w)
{
    struct heap *h = w->sched->heap;

    if (w->trim_at || !h || slab_bytes(h) <= SLAB_SPARE)
        return;
    if (vat_u64_load(&w->count.completed, VAT_RLX) - w->trimmed >= TRIM_TASKS)
        w->trim_at = clock_ns() + TRIM_NS;
}

/* When this sleep ends at the latest, for the worker's own sake; usec. */
static uint64_t look_at(const struct worker *w)
{
    uint64_t look = w->sentinel ? w->next_look : UINT64_MAX;
    uint64_t trim = w->trim_at ? w->trim_at / 1000 + 1 : UINT64_MAX;

    return look < trim ? look : trim;
}

/* The time until then, on the park word. */
static uint64_t patience_ns(const struct worker *w)
{
    uint64_t look = look_at(w);

    if (look == UINT64_MAX)
        return look;
    uint64_t now = clock_ns() / 1000;
    uint64_t timer = w->sentinel ? sentinel_next_timer(w, now) : UINT64_MAX;
    if (timer < look)
        look = timer;
    return look > now ? (look - now) * 1000 : 0;
}

static bool trim_is_due(const struct worker *w, uint64_t now_usec)
{
    return w->trim_at && now_usec * 1000 >= w->trim_at;
}

/* Sleeps in the event loop, looking round as a sentinel if that is its part. */
static void lead(struct worker *w, struct task_chain *chain)
{
    struct sched *s = w->sched;
    struct idle *group = group_of(s, w->index);

    vat_u32_store(&group->leader, place_of(w->index) + 1, VAT_RLX);
    for (;;) {
        driver_lead(s->driver, look_at(w), chain);
        if (chain->head || park_notified(&w->park) || look_at(w) == UINT64_MAX)
            break;
        uint64_t now = clock_ns() / 1000;
        if (trim_is_due(w, now))
            break;
        if (w->sentinel && now >= w->next_look && sentinel_look(w, now))
            break;
    }
    vat_u32_store(&group->leader, 0, VAT_RLX);
}

static void doze(struct worker *w)
{
    while (!park_sleep(&w->park, patience_ns(w))) {
        uint64_t now = clock_ns() / 1000;

        if (trim_is_due(w, now))
            break;
        if (w->sentinel && now >= w->next_look && sentinel_look(w, now))
            break;
        if (w->sentinel && sentinel_timer_waits(w, now))
            break;
    }
}

void worker_sleep(struct worker *w, struct task_chain *chain)
{
    struct sched *s = w->sched;

    if (vat_u32_load(&s->stop, VAT_RLX))
        return;
    bool leads = s->driver && enter_as_leader(w);

    if (park_begin(&w->park, leads ? PARK_DRIVER : PARK_FUTEX)) {
        counter_add(&w->count.parked, 1);
        plan_trim(w);
        if (s->sentinel_usec)
            sentinel_begin(w, clock_ns() / 1000);
        if (leads)
            lead(w, chain);
        else
            doze(w);
        sentinel_end(w);
    }
    park_end(&w->park);
    if (leads)
        driver_leave(s->driver);
}

void worker_poll_events(struct worker *w, uint64_t now_ns)
{
    struct sched *s = w->sched;
    struct task_chain chain = {0};

    if (!s->driver)
        return;
    uint64_t now_usec = now_ns / 1000;
    bool poll = driver_has_interest(s->driver) &&
                now_ns - vat_u64_load(&s->last_driver_poll, VAT_RLX) >= DRIVER_POLL_NS;

    driver_fire_own(s->driver, w->index, now_usec, &chain);
    /* Overdue timers of others: their workers may be in a long poll. */
    if (poll || driver_next_deadline(s->driver) <= now_usec) {
        if (driver_try_enter(s->driver)) {
            vat_u64_store(&s->last_driver_poll, now_ns, VAT_RLX);
            driver_poll(s->driver, &chain);
            driver_leave(s->driver);
        }
    }
    if (chain.head)
        worker_push_chain(w, &chain);
}
