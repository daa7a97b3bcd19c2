#include "sched/owned.h"
#include "base/clock.h"
#include "base/futex.h"

#include <errno.h>
#include <stdlib.h>

int owned_init(struct owned *o, uint32_t workers)
{
    uint32_t lists = workers + OWNED_OUTSIDE;

    *o = (struct owned){.lists = lists};
    o->list = aligned_alloc(_Alignof(struct owned_list), lists * sizeof(*o->list));
    if (!o->list)
        return -ENOMEM;
    for (uint32_t i = 0; i < lists; i++)
        o->list[i] = (struct owned_list){.closed = false};
    vat_u32_init(&o->open, lists);
    vat_u32_init(&o->quiet, 0);
    return 0;
}

void owned_fini(struct owned *o)
{
    free(o->list);
    o->list = NULL;
}

/* The holder of a list's lock is the only writer of its counters. */
static void count(vat_u64 *c)
{
    vat_u64_store(c, vat_u64_load(c, VAT_RLX) + 1, VAT_RLX);
}

bool owned_add(struct owned *o, struct volt_task *t, uint32_t list)
{
    struct owned_list *l = &o->list[list];

    t->owner = list;
    vlock_lock(&l->lock);
    bool open = !l->closed;
    if (open) {
        t->owned_next = l->head;
        if (l->head)
            l->head->owned_prev = t;
        l->head = t;
        count(&l->spawned);
    }
    vlock_unlock(&l->lock);
    return open;
}

static void list_gone(struct owned *o)
{
    if (vat_u32_sub(&o->open, 1, VAT_AR) == 1) {
        vat_u32_store(&o->quiet, 1, VAT_REL);
        vfutex_wake(&o->quiet, UINT32_MAX >> 1);
    }
}

void owned_remove(struct owned *o, struct volt_task *t, bool cancelled)
{
    struct owned_list *l = &o->list[t->owner];

    vlock_lock(&l->lock);
    if (t->owned_prev)
        t->owned_prev->owned_next = t->owned_next;
    else
        l->head = t->owned_next;
    if (t->owned_next)
        t->owned_next->owned_prev = t->owned_prev;
    count(&l->completed);
    if (cancelled)
        count(&l->cancelled);
    bool gone = l->closed && !l->head;
    vlock_unlock(&l->lock);
    if (gone)
        list_gone(o);
}

static void close_list(struct owned *o, struct owned_list *l, struct task_chain *chain)
{
    vlock_lock(&l->lock);
    bool first = !l->closed;
    l->closed = true;
    /* What is in the list is alive: it leaves before its owner's reference is dropped. */
    for (struct volt_task *t = l->head; t; t = t->owned_next)
        if (task_cancel(t))
            task_chain_push(chain, t);
    bool gone = first && !l->head;
    vlock_unlock(&l->lock);
    if (gone)
        list_gone(o);
}

void owned_close(struct owned *o, struct task_chain *chain)
{
    for (uint32_t i = 0; i < o->lists; i++)
        close_list(o, &o->list[i], chain);
}

int owned_wait_quiet(struct owned *o, uint64_t timeout_ns)
{
    uint64_t start = clock_ns();

    while (!vat_u32_load(&o->quiet, VAT_ACQ)) {
        uint64_t gone = clock_ns() - start;

        if (timeout_ns != UINT64_MAX && gone >= timeout_ns)
            return -ETIMEDOUT;
        (void)vfutex_wait(&o->quiet, 0,
                          timeout_ns == UINT64_MAX ? UINT64_MAX : timeout_ns - gone);
    }
    return 0;
}
