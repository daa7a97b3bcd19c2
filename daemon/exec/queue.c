/* Lists and a bitmap of those that are not empty. */
#include <assert.h>
#include <string.h>

#include "daemon/exec/queue.h"

/* Highest priority first, as the bitmap is read. */
static unsigned rank_of(int32_t priority)
{
    return (unsigned)(JOB_PRIORITY_MAX - priority);
}

void queue_init(struct queue *q, uint32_t slots)
{
    memset(q, 0, sizeof(*q));
    q->slots = slots;
}

void queue_set_slots(struct queue *q, uint32_t slots)
{
    q->slots = slots;
}

static struct queue_node *waiter_of(struct list_node *n)
{
    return n ? list_thing(n, struct queue_node, node) : NULL;
}

static struct queue_bucket *enter(struct queue *q, struct queue_node *n)
{
    unsigned rank = rank_of(n->priority);
    struct queue_bucket *b = &q->buckets[rank];

    assert(!n->queued);
    n->queued = true;
    q->map[rank / 64] |= UINT64_C(1) << rank % 64;
    q->waiting++;
    b->count++;
    return b;
}

void queue_place(struct queue *q, struct queue_node *n, int32_t priority)
{
    n->priority = priority;
    n->order = q->arrivals++;
}

void queue_add(struct queue *q, struct queue_node *n, int32_t priority)
{
    queue_place(q, n, priority);
    list_add_last(&enter(q, n)->waiters, &n->node);
}

void queue_put_back(struct queue *q, struct queue_node *n)
{
    struct list *waiters = &enter(q, n)->waiters;
    struct list_node *at = waiters->first;

    /* Only those that were put back as well can be there before it: few. */
    while (at && waiter_of(at)->order < n->order)
        at = at->next;
    list_add_before(waiters, &n->node, at);
}

void queue_remove(struct queue *q, struct queue_node *n)
{
    unsigned rank = rank_of(n->priority);
    struct queue_bucket *b = &q->buckets[rank];

    if (!n->queued)
        return;
    list_remove(&b->waiters, &n->node);
    if (--b->count == 0)
        q->map[rank / 64] &= ~(UINT64_C(1) << rank % 64);
    q->waiting--;
    n->queued = false;
}

struct queue_node *queue_first(const struct queue *q)
{
    for (unsigned i = 0; q->waiting && i < sizeof(q->map) / sizeof(q->map[0]); i++)
        if (q->map[i])
            return waiter_of(
                q->buckets[i * 64 + (unsigned)__builtin_ctzll(q->map[i])].waiters.first);
    return NULL;
}

bool queue_before(const struct queue_node *a, const struct queue_node *b)
{
    return a->priority > b->priority ||
           (a->priority == b->priority && a->order < b->order);
}

struct queue_node *queue_take(struct queue *q)
{
    struct queue_node *n = q->used < q->slots ? queue_first(q) : NULL;

    if (n) {
        queue_remove(q, n);
        q->used++;
    }
    return n;
}

bool queue_take_free(struct queue *q)
{
    if (q->waiting || q->used >= q->slots)
        return false;
    q->used++;
    return true;
}

void queue_occupy(struct queue *q)
{
    q->used++;
}

uint64_t queue_take_more(struct queue *q, uint64_t n)
{
    uint32_t free = q->used < q->slots ? q->slots - q->used : 0;
    uint32_t taken = n < free ? (uint32_t)n : free;

    q->used += taken;
    return taken;
}

void queue_release(struct queue *q)
{
    queue_release_some(q, 1);
}

void queue_release_some(struct queue *q, uint64_t n)
{
    assert(q->used >= n);
    q->used -= (uint32_t)n;
}

uint64_t queue_position(const struct queue *q, const struct queue_node *n)
{
    unsigned rank = rank_of(n->priority);
    uint64_t ahead = 0, near = 0;

    for (unsigned r = 0; r < rank; r++)
        ahead += q->buckets[r].count;
    for (const struct list_node *p = n->node.prev; p; p = p->prev)
        if (++near == QUEUE_EXACT_POSITION) {
            uint64_t bound = n->order - waiter_of(q->buckets[rank].waiters.first)->order;
            uint64_t others = q->buckets[rank].count - 1;
            near = bound < others ? bound : others;
            break;
        }
    return ahead + near;
}
