/* See locks.h. */
#include "daemon/query/locks.h"

#include <stdio.h>

#include "daemon/admit/named.h"
#include "daemon/core/claims.h"
#include "daemon/core/parts.h"
#include "daemon/core/jobs.h"
#include "daemon/core/tx.h"
#include "daemon/core/users.h"
#include "daemon/core/waiting.h"
#include "daemon/core/work.h"

static void view(const struct resource *r, uint64_t now, struct lock_view *ret)
{
    const bool is_rate = resource_is_rate(r);

    *ret = (struct lock_view){.kind = r->kind->name,
                              .exclusive = r->exclusive > 0,
                              .capacity = is_rate || resource_counts(r) ? r->capacity : 0,
                              .interval_usec = r->per_usec,
                              .used = r->used,
                              .waiting = r->waiting};
    if (is_rate)
        ret->used = ret->told = r->capacity - rate_tokens(r, now);
    (void)snprintf(ret->name, sizeof(ret->name), "%s", named_name(r));
}

/* Lists the names of the page, each with its place. */
static void list_names(struct core *core, uid_t uid, const char *behind,
                       struct lock_page *ret)
{
    struct resource *r = named_next(parts_of(core)->admit, uid, behind);

    for (; r && ret->n < LOCKS_PAGE;
         r = named_next(parts_of(core)->admit, uid, named_name(r))) {
        view(r, waiting_now(core), &ret->lock[ret->n]);
        r->page = (uint32_t)++ret->n;
    }
    ret->more = r;
}

static void forget_places(struct core *core, uid_t uid, const char *behind)
{
    struct resource *r = named_next(parts_of(core)->admit, uid, behind);

    for (; r && r->page; r = named_next(parts_of(core)->admit, uid, named_name(r)))
        r->page = 0;
}

static void add_holder(const struct work *w, const struct claim *of,
                       struct lock_page *ret)
{
    const struct job_status *st = jobs_status(w->job, w->offset);
    const uint64_t permits = resource_counts(of->resource) ? of->amount : 1;

    ret->lock[of->resource->page - 1].told += permits;
    ret->holder[ret->nholders++] =
        (struct lock_holder){.lock = of->resource->page - 1,
                             .key = jobs_key(w->job, w->offset),
                             .mode = claims_mode(of),
                             .permits = permits,
                             .since_usec = st->started_usec,
                             .left = st->state == JOB_DONE};
}

/* Adds the jobs that are looked at to *looks. */
static void list_holders(struct core *core, uid_t uid, size_t *looks,
                         struct lock_page *ret)
{
    const struct user *u = users_find(parts_of(core)->users, uid);
    const struct list_node *n = u ? u->holders.first : NULL;

    for (; n && *looks < LOCKS_HOLDERS; n = n->next, ++*looks) {
        const struct work *w = list_thing(n, struct work, held);
        size_t nclaims;
        const struct claim *claims = admission_claims(&w->job->waiter, &nclaims);

        for (size_t i = 0; i < nclaims && ret->nholders < LOCKS_HOLDERS; i++)
            if (claims[i].resource->page && !resource_is_rate(claims[i].resource))
                add_holder(w, &claims[i], ret);
    }
}

static void add_lease(const struct lease *l, struct lock_page *ret)
{
    size_t n;
    const struct claim *of = admission_claims(&l->waiter, &n);
    const uint32_t page = of->resource->page;
    struct lock_holder *h = &ret->holder[ret->nholders];

    if (!page)
        return;
    ret->nholders++;
    *h = (struct lock_holder){.lock = page - 1,
                              .key = {.id = l->id},
                              .mode = l->mode,
                              .permits = l->permits,
                              .since_usec = l->state == LEASE_GIVEN ? 0 : l->since_usec,
                              .lease = true,
                              .waits = l->state == LEASE_WAITS,
                              .pid = l->pid};
    (void)snprintf(h->command, sizeof(h->command), "%s", l->command);
    if (h->waits)
        ret->lock[h->lock].leases_waiting = true;
    else
        ret->lock[h->lock].told += of->amount;
}

/* Adds the leases that are looked at to *looks. */
static void list_leases(struct core *core, uid_t uid, size_t *looks,
                        struct lock_page *ret)
{
    const struct lease *l = leases_next(core, uid, NULL);

    for (; l && *looks < LOCKS_LOOKS && ret->nholders < LOCKS_HOLDERS;
         l = leases_next(core, uid, l), ++*looks)
        add_lease(l, ret);
}

void query_locks(struct core *core, uid_t uid, const char *behind, struct quota *quota,
                 struct lock_page *ret)
{
    size_t looks = 0;

    ret->n = ret->nholders = 0;
    core_lock(core);
    core_charge(core, quota);
    list_names(core, uid, behind, ret);
    list_holders(core, uid, &looks, ret);
    list_leases(core, uid, &looks, ret);
    forget_places(core, uid, behind);
    core_did(core, ret->n + looks, 0, 0);
    core_unlock(core);
}
