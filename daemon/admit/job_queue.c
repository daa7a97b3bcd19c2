/* See job_queue.h. */
#include <assert.h>
#include <stdlib.h>

#include "daemon/admit/state.h"

#define queue_of(n) list_thing(n, struct job_queue, node)

struct job_queue *queue_new(struct admission *a, const struct queue_policy *policy)
{
    struct job_queue *q = calloc(1, sizeof(*q));

    if (!q)
        return NULL;
    q->all = a;
    q->number = a->queue_numbers++;
    list_add_last(&a->queues, &q->node);
    queue_set(q, policy);
    return q;
}

void queues_fini(struct admission *a)
{
    for (struct list_node *n; (n = list_take_first(&a->queues));)
        free(queue_of(n));
}

void queue_wake(struct job_queue *q)
{
    uint64_t least = UINT64_MAX;

    for (struct list_node *n = q->all->queues.first; n; n = n->next)
        if (queue_of(n)->busy.root && queue_of(n)->time.settled < least)
            least = queue_of(n)->time.settled;
    if (least != UINT64_MAX)
        virtual_wake(&q->time, least);
    (void)queue_reorder(q); /* it has nothing in a line */
}

/* --- slots -------------------------------------------------------------------------- */

/* Returns the queue's own idle slots that others may not take. */
static uint64_t kept_for(const struct job_queue *q)
{
    const struct queue_policy *p = &q->policy;

    return p->lends || p->paused || q->slots >= p->nominal ? 0 : p->nominal - q->slots;
}

void queue_add_slots(struct job_queue *q, uint64_t n)
{
    q->all->kept -= kept_for(q);
    q->slots += n;
    q->all->kept += kept_for(q);
}

void queue_sub_slots(struct job_queue *q, uint64_t n)
{
    assert(q->slots >= n);
    q->all->kept -= kept_for(q);
    q->slots -= n;
    q->all->kept += kept_for(q);
}

void queue_set(struct job_queue *q, const struct queue_policy *policy)
{
    q->all->kept -= kept_for(q);
    q->policy = *policy;
    q->all->kept += kept_for(q);
}

enum queue_state queue_state(const struct job_queue *q)
{
    const struct resource *slots = &q->all->slots;
    const struct queue_policy *p = &q->policy;
    const uint64_t free =
        slots->used < slots->capacity ? slots->capacity - slots->used : 0;

    if (p->paused || (p->most && q->slots >= p->most))
        return QUEUE_IS_LIMITED;
    return free > (q->slots < p->nominal ? 0 : q->all->kept) ? QUEUE_IS_ABLE
                                                             : QUEUE_IS_FULL;
}

bool queue_is_before(const struct job_queue *a, const struct job_queue *b)
{
    const bool below = a->slots < a->policy.nominal;
    const uint64_t x = virtual_time(&a->time), y = virtual_time(&b->time);

    if (below != (b->slots < b->policy.nominal))
        return below;
    return x < y || (x == y && a->number < b->number);
}

bool queue_reorder(struct job_queue *q)
{
    struct list *all = &q->all->queues;
    struct list_node *const next = q->node.next;
    struct list_node *at;

    list_remove(all, &q->node);
    for (at = all->first; at && queue_is_before(queue_of(at), q);)
        at = at->next;
    list_add_before(all, &q->node, at);
    return at != next;
}
