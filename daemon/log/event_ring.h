/* The newest events of all jobs, by number, in a ring of fixed size. Pure; its owner's
 * lock guards it. Readers keep their own place. A reader that falls behind by more than
 * the ring holds gets the number of events it lost. */
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
    uint64_t base;     /* the number before the first event of all */
    uint64_t seq;      /* number of the newest event; base: none yet */
    vat_u64 published; /* copy of seq for any thread; relaxed */
    struct job_news entries[EVENT_RING_CAPACITY];
};

/* Publishes the number of the newest event to all threads. */
static inline void event_ring_publish(struct event_ring *r)
{
    vat_u64_store(&r->published, r->seq, VAT_RLX);
}

/* Returns the number of the newest event. Any thread, without the lock, so the ring may
 * be further by now. */
static inline uint64_t event_ring_newest(const struct event_ring *r)
{
    return vat_u64_load(&r->published, VAT_RLX);
}

/* Returns the number before the oldest event in the ring. */
static inline uint64_t event_ring_oldest(uint64_t base, uint64_t newest)
{
    return newest - base > EVENT_RING_CAPACITY ? newest - EVENT_RING_CAPACITY : base;
}

/* Initialises a ring in zeroed memory. Numbers begin after base. */
static inline void event_ring_init(struct event_ring *r, uint64_t base)
{
    r->base = r->seq = base;
    event_ring_publish(r);
}

/* Numbers, stores and publishes an event. */
void event_ring_push(struct event_ring *r, const struct job_news *ev);
/* Stores an event that has its number: greater than all before, or a skipped one that is
 * still in the ring. */
void event_ring_put(struct event_ring *r, const struct job_news *ev);

/* Copies at most max events with seq > after that the asker may see to buf; looks at no
 * more than `scan` entries. `after` is at least base. Returns their number. *ret_next:
 * read up to here; *ret_lost: overwritten before they were read. */
size_t event_ring_read(const struct event_ring *r, const struct asker *asker,
                       uint64_t after, struct job_news *buf, size_t max, size_t scan,
                       uint64_t *ret_next, uint64_t *ret_lost);

#endif
