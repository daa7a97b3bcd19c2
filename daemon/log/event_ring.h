/* The newest events of all jobs, by sequence number, in a ring of fixed size. Pure; a
 * lock of its owner guards it. Readers keep their own place; one that falls behind by
 * more than the ring holds is told how many events it lost. */
#ifndef VOLTD_LOG_EVENT_RING_H
#define VOLTD_LOG_EVENT_RING_H

#include <stddef.h>
#include <stdint.h>
#include "base/atomic.h"
#include "daemon/job/news.h"
#include <sys/types.h>

struct asker;

#define EVENT_RING_CAPACITY 16384 /* a power of two */

struct event_ring {
    uint64_t base; /* the number before the first event of all */
    uint64_t seq;  /* of the newest; base: none yet */
    vat_u64 told;  /* the same as last told; for any thread, relaxed */
    struct job_news entries[EVENT_RING_CAPACITY];
};

/* From now on any thread knows the number of the newest. */
static inline void event_ring_tell(struct event_ring *r)
{
    vat_u64_store(&r->told, r->seq, VAT_RLX);
}

/* Any thread, without what guards the ring: the newest may have a greater number by
 * now. */
static inline uint64_t event_ring_newest(const struct event_ring *r)
{
    return vat_u64_load(&r->told, VAT_RLX);
}

/* The number before the oldest that is in the ring. */
static inline uint64_t event_ring_oldest(uint64_t base, uint64_t newest)
{
    return newest - base > EVENT_RING_CAPACITY ? newest - EVENT_RING_CAPACITY : base;
}

/* Of zeroed memory: numbers begin behind base. */
static inline void event_ring_init(struct event_ring *r, uint64_t base)
{
    r->base = r->seq = base;
    event_ring_tell(r);
}

/* Numbers the event, stores it and tells of it. */
void event_ring_push(struct event_ring *r, const struct job_news *ev);
/* Stores an event that has its number, which is greater than any before, or among those
 * that were skipped and are still in the ring. */
void event_ring_put(struct event_ring *r, const struct job_news *ev);

/* Copies events with seq > after (base or more) that the asker may see to buf, at most
 * max, looking at no more than `scan` entries. Returns their number; *ret_next: read up
 * to here; *ret_lost: overwritten before they could be read. */
size_t event_ring_read(const struct event_ring *r, const struct asker *asker,
                       uint64_t after, struct job_news *buf, size_t max, size_t scan,
                       uint64_t *ret_next, uint64_t *ret_lost);

#endif
