/* The newest events of all jobs, by sequence number, in a ring of fixed size. Pure; the
 * manager's lock guards it. Readers keep their own place; one that falls behind by more
 * than the ring holds is told how many events it lost. */
#ifndef VOLTD_EXEC_EVENT_RING_H
#define VOLTD_EXEC_EVENT_RING_H

#include <stddef.h>
#include <stdint.h>
#include "daemon/exec/manager.h"

#define EVENT_RING_CAPACITY 16384 /* a power of two */

struct event_ring {
    uint64_t base; /* the number before the first event of all */
    uint64_t seq;  /* of the newest; base: none yet */
    struct job_news entries[EVENT_RING_CAPACITY];
};

/* Of zeroed memory: numbers begin behind base. */
static inline void event_ring_init(struct event_ring *r, uint64_t base)
{
    r->base = r->seq = base;
}

/* Numbers the event and stores it. */
void event_ring_push(struct event_ring *r, const struct job_news *ev);
/* Stores an event that has its number, which is greater than any before, or among those
 * that were skipped and are still in the ring. */
void event_ring_put(struct event_ring *r, const struct job_news *ev);

/* Copies events with seq > after (base or more) that uid may see (its own jobs; root:
 * all) to buf, at most max, looking at no more than `scan` entries. Returns their number;
 * *ret_next: read up to here; *ret_lost: overwritten before they could be read. */
size_t event_ring_read(const struct event_ring *r, uid_t uid, uint64_t after,
                       struct job_news *buf, size_t max, size_t scan, uint64_t *ret_next,
                       uint64_t *ret_lost);

#endif
