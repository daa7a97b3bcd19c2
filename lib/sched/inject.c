#include "sched/inject.h"

/* Statistics are no part of the models. */
static void count(vat_u32 *c, uint32_t n)
{
#ifndef VOLT_MCX
    (void)vat_u32_add(c, n, VAT_RLX);
#else
    (void)c, (void)n;
#endif
}

void inject_init(struct inject *q)
{
    *q = (struct inject){.put = 0};
    vat_ptr_init(&q->in, NULL);
    vat_u32_init(&q->gate, 0);
    vat_u32_init(&q->in_len, 0);
    vat_u32_init(&q->out_len, 0);
}

/* Lock held. */
static uint32_t length_locked(const struct inject *q)
{
    return q->put - q->got;
}

/* Lock held. */
static void put_locked(struct inject *q, struct volt_task *t)
{
    uint32_t i = q->put++ % INJECT_LISTS;
    struct volt_task *tail = q->list[i].tail;

    VAT_WR(&t->next);
    t->next = NULL;
    if (tail) {
        VAT_WR(&tail->next);
        tail->next = t;
    } else {
        q->list[i].head = t;
    }
    q->list[i].tail = t;
}

/* Lock held; there is one. */
static struct volt_task *get_locked(struct inject *q)
{
    uint32_t i = q->got++ % INJECT_LISTS;
    struct volt_task *t = q->list[i].head;

    VAT_RD(&t->next);
    q->list[i].head = t->next;
    if (t->next)
        __builtin_prefetch(t->next, 1);
    else
        q->list[i].tail = NULL;
    return t;
}

/* Turns the list that starts at t around. */
static struct volt_task *reverse(struct volt_task *t)
{
    struct volt_task *r = NULL;

    while (t) {
        VAT_WR(&t->next);
        struct volt_task *next = t->next;
        t->next = r;
        r = t;
        t = next;
    }
    return r;
}

/* Lock held. Moves the stack to the end. */
static void refill_locked(struct inject *q)
{
    struct volt_task *t = reverse(vat_ptr_xchg(&q->in, NULL, VAT_ACQ));
    uint32_t before = length_locked(q);

    while (t) {
        struct volt_task *next = t->next;
        put_locked(q, t);
        t = next;
    }
    count(&q->in_len, before - length_locked(q));
}

static void push_stack(struct inject *q, struct task_chain *chain)
{
    struct volt_task *oldest = chain->head, *newest = reverse(chain->head);
    void *top = vat_ptr_load(&q->in, VAT_RLX);

    count(&q->in_len, chain->count);
    *chain = (struct task_chain){0};
    do {
        VAT_WR(&oldest->next);
        oldest->next = top;
    } while (!vat_ptr_cas(&q->in, &top, newest, VAT_REL, VAT_RLX));
}

void inject_push(struct inject *q, struct task_chain *chain)
{
    if (!vlock_try_lock(&q->lock)) {
        push_stack(q, chain);
        return;
    }
    VAT_WR(&q->list);
    if (vat_ptr_load(&q->in, VAT_RLX))
        refill_locked(q); /* older ones first */
    for (struct volt_task *t; (t = task_chain_pop(chain));)
        put_locked(q, t);
    vat_u32_store(&q->out_len, length_locked(q), VAT_RLX);
    vlock_unlock(&q->lock);
}

static uint32_t batch_size(enum inject_share share, uint32_t len, uint32_t workers)
{
    uint32_t n;

    if (share == INJECT_PERIODIC) {
        n = len / workers;
        if (n < INJECT_BATCH_MIN)
            n = INJECT_BATCH_MIN;
        if (n > INJECT_BATCH)
            n = INJECT_BATCH;
    } else {
        n = len / workers + 1;
        if (n < INJECT_BATCH_MIN)
            n = INJECT_BATCH_MIN;
        if (n > INJECT_BATCH_MAX)
            n = INJECT_BATCH_MAX;
    }
    return n < len ? n : len;
}

static bool try_lock(struct inject *q)
{
    for (int i = 0; i < INJECT_TRIES; i++) {
        if (vlock_try_lock(&q->lock))
            return true;
        vat_pause();
    }
    return false;
}

uint32_t inject_take(struct inject *q, enum inject_share share, uint32_t workers,
                     uint32_t max, struct volt_task **ret_tasks, bool *ret_more)
{
    *ret_more = false;
    if (max == 0 || !inject_visible(q) || !try_lock(q))
        return 0;
    VAT_WR(&q->list);
    if (length_locked(q) == 0)
        refill_locked(q);
    uint32_t n = batch_size(share, length_locked(q), workers);
    if (n > max)
        n = max;
    for (uint32_t i = 0; i < n; i++)
        ret_tasks[i] = get_locked(q);
    *ret_more = length_locked(q) != 0; /* or others have just taken all */
    vat_u32_store(&q->out_len, length_locked(q), VAT_RLX);
    vlock_unlock(&q->lock);
    return n;
}

bool inject_visible(const struct inject *q)
{
    return vat_ptr_load(&q->in, VAT_RLX) != NULL ||
           vat_u32_load(&q->out_len, VAT_RLX) != 0;
}

uint32_t inject_len(const struct inject *q)
{
    return vat_u32_load(&q->out_len, VAT_RLX) + vat_u32_load(&q->in_len, VAT_RLX);
}

void inject_enter(struct inject *q)
{
    /* Relaxed: the caller holds a token, which keeps the runtime; the push orders it
     * before anybody can run that task. */
    (void)vat_u32_add(&q->gate, 1, VAT_RLX);
}

void inject_leave(struct inject *q)
{
    (void)vat_u32_sub(&q->gate, 1, VAT_REL);
}

void inject_drain_users(struct inject *q)
{
    while (vat_u32_load(&q->gate, VAT_ACQ) != 0)
        vat_pause();
}
