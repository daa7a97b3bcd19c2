/* The worker's side of the driver (D9).
 *
 * A worker that is about to sleep first tries to become the leader, which sleeps in the
 * event loop until the earliest timer; the others sleep on their park words, without
 * limit. If all workers are parked, one of them leads: whoever leaves the loop is awake,
 * and comes back here before it sleeps again.
 *
 * How long may events wait while nobody leads? The former leader runs one event's task
 * and nobody else is woken for the loop: most polls are far shorter than a hand-over,
 * which costs two context switches. So, with idle workers about, events and timers wait
 * at most for that poll and for the 500 us until the worker's next maintenance; with more
 * than one task a second worker is woken anyway, and leads when it finds nothing. A
 * leader that is claimed for new work is another matter, because that work may be long.
 * Claims spare it while another worker is parked (idle.h); one that parked since then
 * found the loop taken, and is woken to lead in its place. Neither can miss the other:
 * the leader leaves the loop, then takes itself out of the idle set; the other enters the
 * set, then tries the loop. */
#include "base/clock.h"
#include "sched/sched.h"

/* At most one poll by anybody within this time: N busy workers share the system calls. */
#define DRIVER_POLL_NS 50000
/* A turn that is held by somebody awake ends soon. */
#define ENTER_TRIES 32

static bool enter_as_leader(struct sched *s)
{
    for (int i = 0; i < ENTER_TRIES; i++) {
        if (driver_try_enter(s->driver, true))
            return true;
        if (vat_u32_load(&s->idle.leader, VAT_RLX) != 0)
            return false;
        vat_pause();
    }
    return false;
}

bool worker_sleep(struct worker *w, struct task_chain *chain)
{
    struct sched *s = w->sched;

    if (vat_u32_load(&s->stop, VAT_ACQ))
        return false;
    if (s->driver && enter_as_leader(s)) {
        if (park_begin(&w->park, PARK_DRIVER)) {
            counter_add(&w->count.parked, 1);
            vat_u32_store(&s->idle.leader, w->index + 1, VAT_RLX);
            driver_turn(s->driver, chain);
            vat_u32_store(&s->idle.leader, 0, VAT_RLX);
        }
        park_end(&w->park);
        driver_leave(s->driver);
        return true;
    }
    if (park_begin(&w->park, PARK_FUTEX)) {
        counter_add(&w->count.parked, 1);
        park_sleep(&w->park);
    }
    park_end(&w->park);
    return false;
}

void worker_hand_over(struct worker *w)
{
    struct sched *s = w->sched;
    int i = idle_first_parked(&s->idle);

    if (i >= 0 && vat_u32_load(&s->idle.leader, VAT_RLX) == 0)
        sched_unpark(s, (uint32_t)i); /* no claim: it finds nothing, and leads */
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
        if (driver_try_enter(s->driver, false)) {
            vat_u64_store(&s->last_driver_poll, now_ns, VAT_RLX);
            driver_turn(s->driver, &chain);
            driver_leave(s->driver);
        }
    }
    if (chain.head)
        worker_push_chain(w, &chain);
}
