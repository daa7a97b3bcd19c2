#include "sched/ring.h"

void ring_init(struct ring *r)
{
    vat_u64_init(&r->head, 0);
    vat_u32_init(&r->tail, 0);
    r->moved = 0;
    for (uint32_t i = 0; i < RING_CAPACITY; i++)
        r->slot[i] = NULL;
}

bool ring_take_newer(struct ring *r, uint32_t from, struct task_chain *chain)
{
    uint64_t head = vat_u64_load(&r->head, VAT_ACQ); /* slots are written below */
    uint32_t tail = vat_u32_load(&r->tail, VAT_RLX), real = ring_real_of(head), i;

    if (ring_steal_of(head) != real)
        return false;
    from += r->moved; /* a position */
    if ((int32_t)(from - real) < 0)
        from = real; /* thieves or the owner have come so far */
    /* Claim all, then offer the older ones again, behind the new head; the new tail
     * publishes them. Copying upwards overwrites no slot that is still to be read: tail +
     * k lies behind real + k, by the capacity at most. */
    if (from == tail ||
        !vat_u64_cas(&r->head, &head, ring_pack(tail, tail), VAT_REL, VAT_RLX))
        return false;
    for (i = real; i != from; i++)
        ring_slot_set(r, tail + (i - real), ring_slot(r, i));
    vat_u32_store(&r->tail, tail + (from - real), VAT_REL);
    r->moved += tail - real;
    for (; i != tail; i++)
        task_chain_push(chain, ring_slot(r, i));
    return true;
}

bool ring_overflow(struct ring *r, struct volt_task *t, struct task_chain *chain)
{
    uint64_t head = vat_u64_load(&r->head, VAT_RLX);
    uint32_t real = ring_real_of(head);

    if (ring_steal_of(head) != real) { /* a thief makes room just now */
        task_chain_push(chain, t);
        return false;
    }
    if (vat_u32_load(&r->tail, VAT_RLX) - real < RING_CAPACITY ||
        !ring_take_newer(r, real - r->moved + RING_HALF, chain))
        return ring_push(r, t, chain); /* there is room by now */
    task_chain_push(chain, t);
    return false;
}

uint32_t ring_push_chain(struct ring *r, struct task_chain *chain)
{
    uint64_t head = vat_u64_load(&r->head, VAT_ACQ);
    uint32_t tail = vat_u32_load(&r->tail, VAT_RLX);
    uint32_t room = RING_CAPACITY - (tail - ring_steal_of(head)), n = 0;

    while (n < room && chain->head)
        ring_slot_set(r, tail + n++, task_chain_pop(chain));
    if (n)
        vat_u32_store(&r->tail, tail + n, VAT_REL);
    return n;
}

void ring_push_many(struct ring *r, struct volt_task **tasks, uint32_t n)
{
    uint32_t tail = vat_u32_load(&r->tail, VAT_RLX);

    for (uint32_t i = 0; i < n; i++) {
        __builtin_prefetch(tasks[i], 1);
        ring_slot_set(r, tail + i, tasks[i]);
    }
    vat_u32_store(&r->tail, tail + n, VAT_REL);
}

/* Claims n tasks from real on. *busy: another thief is there. Returns 0 for nothing. */
static uint32_t steal_claim(struct ring *src, uint32_t room, uint32_t *real, bool *busy)
{
    uint64_t head = vat_u64_load(&src->head, VAT_ACQ);

    for (;;) {
        *real = ring_real_of(head);
        if (ring_steal_of(head) != *real) {
            *busy = true;
            return 0;
        }
        /* After head: the tail we see is then at least as new (see pop). */
        uint32_t n = vat_u32_load(&src->tail, VAT_ACQ) - *real;
        if (n > RING_CAPACITY) { /* a stale pair: the owner has moved on */
            head = vat_u64_load(&src->head, VAT_ACQ);
            continue;
        }
        if (n == 0)
            return 0;
        n -= n / 2;
        if (n > room + 1) /* the first is not stored but returned */
            n = room + 1;
        if (vat_u64_cas(&src->head, &head, ring_pack(*real, *real + n), VAT_REL, VAT_ACQ))
            return n;
    }
}

enum ring_steal ring_steal(struct ring *src, struct ring *dst,
                           struct volt_task **ret_task, uint32_t *ret_count)
{
    uint32_t tail = vat_u32_load(&dst->tail, VAT_RLX);
    uint32_t room =
        RING_CAPACITY - (tail - ring_steal_of(vat_u64_load(&dst->head, VAT_ACQ)));
    uint32_t real;
    bool busy = false;
    uint32_t n = steal_claim(src, room, &real, &busy);

    if (n == 0)
        return busy ? RING_BUSY : RING_EMPTY;
    *ret_task = ring_slot(src, real);
    for (uint32_t i = 1; i < n; i++)
        ring_slot_set(dst, tail + i - 1, ring_slot(src, real + i));

    /* Finish: to the current real, because the owner may have popped meanwhile. Giving up
     * would leave the ring in theft for ever. */
    uint64_t head = vat_u64_load(&src->head, VAT_RLX);
    while (!vat_u64_cas(&src->head, &head,
                        ring_pack(ring_real_of(head), ring_real_of(head)), VAT_REL,
                        VAT_RLX))
        ;
    if (n > 1)
        vat_u32_store(&dst->tail, tail + n - 1, VAT_REL);
    *ret_count = n;
    return RING_STOLEN;
}

uint32_t ring_len(const struct ring *r)
{
    uint32_t real = ring_real_of(vat_u64_load(&r->head, VAT_ACQ));
    uint32_t n = vat_u32_load(&r->tail, VAT_RLX) - real;

    return n > RING_CAPACITY ? RING_CAPACITY : n; /* a stale pair is not empty */
}

uint32_t ring_room(const struct ring *r)
{
    uint64_t head = vat_u64_load(&r->head, VAT_ACQ);

    return RING_CAPACITY - (vat_u32_load(&r->tail, VAT_RLX) - ring_steal_of(head));
}
