/* The end of all tasks: closing cancels every live task and refuses new ones, then
 * the last that ends makes the runtime quiet.
 *
 * There is no list of tasks: closing walks over the slots of the heap and changes each
 * state word by one RMW. So for each spawn either
 *   its exchange of the word came first: closing sees a live task, cancels and counts it;
 *   or it came later: it reads what closing wrote, hence sees `closing`, and refuses.
 * A task that is counted carries TASK_LISTED, and its end counts it off. */
#ifndef VOLT_SCHED_LIVE_H
#define VOLT_SCHED_LIVE_H

#include "task/slab.h"

struct live {
    vat_u32 closing; /* spawns are refused; rlx, ordered by the state words */
    vat_u32 quiet;   /* 1 when closing and nothing is left; slept on */
    vat_u64 left; /* listed tasks that have not ended; far from 0 before closing ends */
};

void live_init(struct live *l);

/* Any thread, after the exchange that begins t's life. True: must be refused. */
static inline bool live_closing(const struct live *l)
{
    return vat_u32_load(&l->closing, VAT_RLX) != 0;
}

/* Any thread. A listed task has ended. The runtime may be gone when this returns. */
void live_less(struct live *l);

/* One thread, once. Cancels all tasks of h; owned tokens go to chain. */
void live_close(struct live *l, struct heap *h, struct task_chain *chain);
/* Any thread. Waits until closing and nothing left. 0 or -ETIMEDOUT. */
int live_wait_quiet(struct live *l, uint64_t timeout_ns);

#endif
