/* See resource.h. */
#include "daemon/admit/state.h"

void resource_init(struct resource *r, const struct resource_kind *kind, uint64_t n,
                   bool shared)
{
    *r = (struct resource){.kind = kind, .capacity = n};
    r->line.of = r;
    r->line.shared = shared;
}

bool resource_is_named(const struct resource *r)
{
    return r->kind->order == RESOURCE_LOCK || r->kind->order == RESOURCE_RATE;
}

bool resource_counts(const struct resource *r)
{
    return r->kind->counts;
}

bool resource_is_rate(const struct resource *r)
{
    return r->kind->order == RESOURCE_RATE;
}

static void leave_to_nobody(struct admission *a, struct resource *r)
{
    if (!r->left_to)
        return;
    list_remove(&r->left_to->holds_up, &r->left_by);
    list_remove(&r->left_to->queue->holds_up, &r->left_by_queue);
    r->left_to = NULL;
    if (r->is_disputed)
        list_remove(&a->disputed, &r->disputed);
    r->is_disputed = false;
    if (r->is_mixed)
        list_remove(&a->mixed, &r->mixed);
    r->is_mixed = false;
}

void resource_leave_to(struct admission *a, struct resource *r, struct account *account)
{
    leave_to_nobody(a, r);
    if (!account)
        return;
    r->left_to = account;
    list_add_last(&account->holds_up, &r->left_by);
    list_add_last(&account->queue->holds_up, &r->left_by_queue);
    r->is_disputed = line_has_queues(&r->line);
    if (r->is_disputed)
        list_add_last(&a->disputed, &r->disputed);
    r->is_mixed = line_is_mixed(&r->line);
    if (r->is_mixed)
        list_add_last(&a->mixed, &r->mixed);
}

void resource_due(struct admission *a, struct resource *r)
{
    if (r->is_due)
        return;
    r->is_due = true;
    list_add_last(&a->due, &r->due);
}

void resource_unlink(struct admission *a, struct resource *r)
{
    leave_to_nobody(a, r);
    timed_clear(&a->boottime, &r->timed);
    if (r->is_due)
        list_remove(&a->due, &r->due);
}
