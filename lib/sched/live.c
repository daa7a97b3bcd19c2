#include "sched/live.h"
#include "base/clock.h"
#include "base/futex.h"

#include <errno.h>

#define NOT_YET (UINT64_C(1) << 32) /* more than there can be tasks */

void live_init(struct live *l)
{
    vat_u32_init(&l->closing, 0);
    vat_u32_init(&l->quiet, 0);
    vat_u64_init(&l->left, NOT_YET);
}

static void less(struct live *l, uint64_t n)
{
    if (vat_u64_sub(&l->left, n, VAT_AR) == n) {
        vat_u32_store(&l->quiet, 1, VAT_REL);
        vfutex_wake(&l->quiet, UINT32_MAX >> 1);
    }
}

void live_less(struct live *l)
{
    less(l, 1);
}

struct closing {
    struct task_chain *chain;
    uint64_t listed;
};

static void close_one(struct volt_task *t, void *arg)
{
    struct closing *c = arg;

    switch (task_list(t)) {
    case TASK_DEAD:
        return;
    case TASK_LIVE_TOKEN:
        task_chain_push(c->chain, t);
        break;
    case TASK_LIVE:
        break;
    }
    c->listed++;
}

void live_close(struct live *l, struct heap *h, struct task_chain *chain)
{
    struct closing c = {.chain = chain};

    vat_u32_store(&l->closing, 1, VAT_RLX);
    slab_each(h, close_one, &c);
    less(l, NOT_YET - c.listed);
}

int live_wait_quiet(struct live *l, uint64_t timeout_ns)
{
    uint64_t start = clock_ns();

    while (!vat_u32_load(&l->quiet, VAT_ACQ)) {
        uint64_t gone = clock_ns() - start;

        if (timeout_ns != UINT64_MAX && gone >= timeout_ns)
            return -ETIMEDOUT;
        (void)vfutex_wait(&l->quiet, 0,
                          timeout_ns == UINT64_MAX ? UINT64_MAX : timeout_ns - gone);
    }
    return 0;
}
