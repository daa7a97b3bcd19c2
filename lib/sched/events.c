/* The worker's side of the driver (D9).
 *
 * A worker that is about to sleep first tries to become the leader, which sleeps in the
 * event loop until the earliest timer; the others sleep on their park words, without
 * limit. If all workers are parked, one of them leads: whoever leaves the loop is awake,
 * and comes back here before it sleeps again.
 *
 * How long may events wait while the loop is empty? The former leader runs one event's
 * task and nobody else is woken for the loop: most polls are far shorter than a
 * hand-over, which costs two context switches. So with idle workers about, events and
 * timers wait at most for that poll and for the 500 us until the worker's next
 * maintenance; with more than one task the second worker is woken anyway, and leads when
 * it finds nothing. The same holds for a busy worker that polls while another goes to
 * sleep on its park word. Claims spare the leader (idle.h), so a new task alone does not
 * empty the loop. */
#include "base/clock.h"
#include "sched/sched.h"

/* At most one poll by anybody within this time: N busy workers share the system calls. */
#define DRIVER_POLL_NS 50000

void worker_sleep(struct worker *w, struct task_chain *chain)
{
    struct sched *s = w->sched;

    if (vat_u32_load(&s->stop, VAT_ACQ))
        return;
    if (s->driver && driver_try_enter(s->driver, true)) {
        if (park_begin(&w->park, PARK_DRIVER)) {
            counter_add(&w->count.parked, 1);
            vat_u32_store(&s->idle.leader, w->index + 1, VAT_RLX);
            driver_turn(s->driver, chain);
            vat_u32_store(&s->idle.leader, 0, VAT_RLX);
        }
        park_end(&w->park);
        driver_leave(s->driver);
        return;
    }
    if (park_begin(&w->park, PARK_FUTEX)) {
        counter_add(&w->count.parked, 1);
        park_sleep(&w->park);
    }
    park_end(&w->park);
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
