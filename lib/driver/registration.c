/* Readiness of one descriptor; registration.h has the design. No system calls here. */
#include "driver/registration.h"

#include <errno.h>

#define READY  UINT64_C(0x01)
#define TRY    UINT64_C(0x02)
#define FAILED UINT64_C(0x04)
#define ENDED  UINT64_C(0x08)
#define TICK   UINT64_C(0x100)

void registration_init(struct registration *r, struct driver *d, int fd)
{
    *r = (struct registration){.fd = fd, .driver = d};
    vat_u32_init(&r->state, REG_NEW);
    vat_u32_init(&r->error, 0);
    for (int i = 0; i < 2; i++)
        vat_u64_init(&r->dir[i].word, TRY);
}

static bool look(struct readiness *d, uint64_t mask)
{
    uint64_t word = vat_u64_load(&d->word, VAT_ACQ);

    if (!(word & mask))
        return false;
    d->seen = word;
    return true;
}

bool readiness_poll(struct registration *r, enum direction dir, struct volt_task *task,
                    bool tries)
{
    struct readiness *d = &r->dir[dir];
    uint64_t mask = READY | FAILED | (tries ? TRY : 0);
    bool ready;

    if (look(d, mask))
        return true;
    vlock_lock(&r->lock);
    ready = look(d, mask);
    if (!ready) { /* otherwise set_ready() has just taken the waiter */
        VAT_WR(&d->waiter);
        d->waiter = task;
    }
    vlock_unlock(&r->lock);
    return ready;
}

void readiness_clear(struct registration *r, enum direction dir)
{
    struct readiness *d = &r->dir[dir];
    uint64_t seen = d->seen;

    /* Fails if the tick has moved on, and the word rightly stays ready. Relaxed, because
     * no memory is published: the system has said EAGAIN. */
    (void)vat_u64_cas(&d->word, &seen, seen & ~(READY | TRY), VAT_RLX, VAT_RLX);
}

void readiness_clear_short(struct registration *r, enum direction dir)
{
    if (!(r->dir[dir].seen & ENDED))
        readiness_clear(r, dir);
}

void readiness_forget(struct registration *r, enum direction dir)
{
    vlock_lock(&r->lock);
    VAT_WR(&r->dir[dir].waiter);
    r->dir[dir].waiter = NULL;
    vlock_unlock(&r->lock);
}

int readiness_error(const struct registration *r)
{
    return -(int)vat_u32_load(&r->error, VAT_RLX);
}

/* Lock held. Sets the bits, moves the tick, and wakes the waiter. */
static void set_ready(struct readiness *d, uint64_t bits, struct task_chain *chain)
{
    uint64_t word = vat_u64_load(&d->word, VAT_RLX);
    struct volt_task *waiter;

    while (!vat_u64_cas(&d->word, &word, (word + TICK) | bits, VAT_REL, VAT_RLX))
        ;
    VAT_WR(&d->waiter);
    waiter = d->waiter;
    d->waiter = NULL;
    if (waiter && task_notify(waiter))
        task_chain_push(chain, waiter);
}

void registration_event(struct registration *r, unsigned what, struct task_chain *chain)
{
    uint64_t bits = what & EVENT_ENDED ? READY | ENDED : READY;

    vlock_lock(&r->lock);
    if (vat_u32_load(&r->state, VAT_RLX) != REG_GONE) {
        if (what & EVENT_READABLE)
            set_ready(&r->dir[DIR_READ], bits, chain);
        if (what & EVENT_WRITABLE)
            set_ready(&r->dir[DIR_WRITE], bits, chain);
    }
    vlock_unlock(&r->lock);
}

void registration_fail(struct registration *r, int error, struct task_chain *chain)
{
    vlock_lock(&r->lock);
    if (!vat_u32_load(&r->error, VAT_RLX))
        vat_u32_store(&r->error, (uint32_t)error, VAT_RLX); /* before FAILED */
    for (int i = 0; i < 2; i++)
        set_ready(&r->dir[i], READY | FAILED, chain);
    vlock_unlock(&r->lock);
}

bool registration_retire(struct registration *r)
{
    uint32_t was;

    vlock_lock(&r->lock);
    was = vat_u32_load(&r->state, VAT_RLX);
    vat_u32_store(&r->state, REG_GONE, VAT_RLX);
    for (int i = 0; i < 2; i++) {
        VAT_WR(&r->dir[i].waiter);
        r->dir[i].waiter = NULL;
    }
    vlock_unlock(&r->lock);
    return was != REG_NEW;
}
