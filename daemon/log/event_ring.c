/* Event n is in slot n modulo the capacity. If the slot has another number, n was
 * skipped. */
#include "daemon/log/event_ring.h"

#include "daemon/auth/auth.h"

void event_ring_push(struct event_ring *r, const struct job_news *ev)
{
    struct job_news *slot = &r->entries[++r->seq % EVENT_RING_CAPACITY];

    *slot = *ev;
    slot->seq = r->seq;
    event_ring_publish(r);
}

void event_ring_put(struct event_ring *r, const struct job_news *ev)
{
    r->entries[ev->seq % EVENT_RING_CAPACITY] = *ev;
    if (ev->seq > r->seq)
        r->seq = ev->seq;
}

size_t event_ring_read(const struct event_ring *r, const struct asker *asker,
                       uint64_t after, struct job_news *buf, size_t max, size_t scan,
                       uint64_t *ret_next, uint64_t *ret_lost)
{
    uint64_t oldest = event_ring_oldest(r->base, r->seq);
    uint64_t at = after, lost = 0;
    size_t n = 0;

    if (at < oldest) {
        lost = oldest - at;
        at = oldest;
    }
    while (at < r->seq && n < max && scan-- > 0) {
        const struct job_news *ev = &r->entries[++at % EVENT_RING_CAPACITY];

        if (ev->seq == at && auth_sees(asker, ev->owner))
            buf[n++] = *ev;
    }
    *ret_next = at > r->seq ? r->seq : at;
    *ret_lost = lost;
    return n;
}
