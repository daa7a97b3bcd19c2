/* See holder.h. */
#include "daemon/query/holder.h"

#include "daemon/admit/admission.h"
#include "daemon/admit/explain.h"
#include "daemon/admit/resource.h"
#include "daemon/core/jobs.h"
#include "daemon/core/lease_table.h"
#include "daemon/core/parts.h"
#include "daemon/core/users.h"
#include "daemon/core/work.h"

/* Sets a job of the user that holds the lock, among the first with any claims. */
static void add_holder(struct core *core, uid_t uid, uint64_t realtime, struct reason *r)
{
    const struct user *u = users_find(parts_of(core)->users, uid);
    const struct list_node *n = u ? u->holders.first : NULL;

    for (; n && r->looks < EXPLAIN_LOOKS + HOLDERS_LOOKED_AT && !r->holder.id;
         n = n->next) {
        const struct work *w = list_thing(n, struct work, held);
        const struct job_status *st = jobs_status(w->job, w->offset);
        size_t nclaims;
        const struct claim *claims = admission_claims(&w->job->waiter, &nclaims);

        r->looks++;
        for (size_t i = 0; i < nclaims && !r->holder.id; i++)
            if (claims[i].resource == r->resource) {
                r->holder = jobs_key(w->job, w->offset);
                r->is_left_behind = st->state == JOB_DONE;
                r->held_usec = st->started_usec && realtime > st->started_usec
                                   ? realtime - st->started_usec
                                   : 0;
            }
    }
}

/* Sets a lease of the user that holds the lock, among the first leases. */
static void add_lease(struct core *core, uid_t uid, uint64_t realtime, struct reason *r)
{
    const struct lease *l = leases_next(core, uid, NULL);

    for (; l && r->looks < EXPLAIN_LOOKS + 2 * HOLDERS_LOOKED_AT && !r->holder.id;
         l = leases_next(core, uid, l)) {
        r->looks++;
        if (l->state == LEASE_WAITS || !lease_claims(l, r->resource))
            continue;
        r->holder = (struct job_key){.id = l->id};
        r->is_lease = true;
        r->holder_pid = l->pid;
        r->held_usec = realtime > l->since_usec ? realtime - l->since_usec : 0;
    }
}

void holder_add(struct core *core, uid_t uid, uint64_t realtime, struct reason *r)
{
    add_holder(core, uid, realtime, r);
    add_lease(core, uid, realtime, r);
}
