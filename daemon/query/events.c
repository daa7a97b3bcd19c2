/* Events as they happen and by the store's numbers; counters. */

#include "daemon/admit/admission.h"
#include "daemon/core/jobs.h"
#include "daemon/core/parts.h"
#include "daemon/core/phase.h"
#include "daemon/core/tx.h"
#include "daemon/dispatch/dispatch.h"
#include "daemon/log/event_log.h"
#include "daemon/log/event_ring.h"
#include "daemon/query/query.h"
#include "daemon/store/commit_log.h"
#include "daemon/store/reader.h"

uint64_t query_event_seq(const struct core *core)
{
    return event_ring_newest(parts_of(core)->ring);
}

size_t query_events_read(struct core *core, const struct asker *asker, uint64_t after,
                         struct job_news *buf, size_t max, uint64_t *ret_next,
                         uint64_t *ret_lost)
{
    size_t n = 0;

    *ret_next = after;
    *ret_lost = 0;
    do {
        uint64_t lost;

        n += core_events_read(core, asker, *ret_next, buf + n, max - n, ret_next, &lost);
        *ret_lost += lost;
    } while (n < max && *ret_next < query_event_seq(core));
    return n;
}

struct volt_notify *query_events_notify(struct core *core)
{
    return parts_of(core)->news;
}

/* Starts or ends watching. Returns the number up to which the log counts. */
static uint64_t watch(struct core *core, void (*change)(struct event_log *))
{
    struct tx tx;

    core_begin(&tx, core);
    tx.kick = true; /* also appends facts that were not urgent */
    change(parts_of(core)->log);
    uint64_t counted = event_log_counted(parts_of(core)->log);
    dispatch_finish(&tx);
    return counted;
}

uint64_t query_log_begin(struct core *core)
{
    return watch(core, event_log_watch);
}

void query_log_end(struct core *core)
{
    (void)watch(core, event_log_unwatch);
}

struct event_log *query_log(struct core *core)
{
    return parts_of(core)->log;
}

bool query_log_ahead(struct core *core)
{
    core_lock(core);
    bool ahead = phase_entering(core) > 0;
    core_unlock(core);
    return ahead;
}

bool query_durable(const struct core *core)
{
    return store_durable(parts_of(core)->store);
}

bool query_store_alive(struct core *core, uint64_t *seen)
{
    return store_alive(parts_of(core)->store, seen);
}

void query_counts(struct core *core, struct core_counts *ret)
{
    struct store_read_counts most;

    store_read_most(parts_of(core)->store, &most);
    core_lock(core);
    const struct admission_counts slots = admission_count(parts_of(core)->admit);
    *ret = *parts_of(core)->counts;
    ret->read_rows = most.rows;
    ret->read_bytes = most.bytes;
    ret->slots = slots.slots;
    ret->slots_used = slots.used;
    ret->visited = jobs_visited(core);
    core_unlock(core);
}
