/* What a poll function may do with its context. */
#include "task/task.h"

struct volt_runtime *volt_cx_runtime(const struct volt_cx *cx)
{
    return cx->task->rt;
}

void volt_cx_wake(struct volt_cx *cx)
{
    cx->woken = true; /* to the back of the ring when its poll ends (F-A7) */
}

enum volt_poll cx_take_slow(struct volt_cx *cx)
{
    if (cx->unbudgeted)
        return VOLT_READY;
    cx->exhausted = true;
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

enum volt_poll volt_coop_take(struct volt_cx *cx)
{
    return cx_take(cx);
}

void volt_coop_restore(struct volt_cx *cx)
{
    cx_restore(cx);
}

void volt_shield_begin(struct volt_cx *cx)
{
    task_shield_begin(cx->task);
}

void volt_shield_end(struct volt_cx *cx)
{
    task_shield_end(cx->task);
}

enum volt_poll volt_yield_poll(struct volt_cx *cx, struct volt_yield *y)
{
    if (y->yielded) {
        y->yielded = 0;
        return VOLT_READY;
    }
    y->yielded = 1;
    volt_cx_wake(cx);
    return VOLT_PENDING;
}
