/* Slot of event n: n modulo the capacity. */
#include "daemon/exec/event_ring.h"

void event_ring_push(struct event_ring *r, const struct manager_event *ev)
{
    struct manager_event *slot = &r->entries[++r->seq % EVENT_RING_CAPACITY];

    *slot = *ev;
    slot->seq = r->seq;
}

size_t event_ring_read(const struct event_ring *r, uid_t uid, uint64_t after,
                       struct manager_event *buf, size_t max, size_t scan,
                       uint64_t *ret_next, uint64_t *ret_lost)
{
    uint64_t oldest =
        r->seq - r->base > EVENT_RING_CAPACITY ? r->seq - EVENT_RING_CAPACITY : r->base;
    uint64_t at = after, lost = 0;
    size_t n = 0;

    if (at < oldest) {
        lost = oldest - at;
        at = oldest;
    }
    while (at < r->seq && n < max && scan-- > 0) {
        const struct manager_event *ev = &r->entries[++at % EVENT_RING_CAPACITY];

        if (uid == 0 || uid == ev->owner)
            buf[n++] = *ev;
    }
    *ret_next = at > r->seq ? r->seq : at;
    *ret_lost = lost;
    return n;
}
