/* See timer.h. */
#include "daemon/dispatch/timer.h"

#include <errno.h>

#include "daemon/core/jobs.h"
#include "daemon/dispatch/clocks.h"
#include "daemon/dispatch/dispatch.h"
#include "daemon/dispatch/state.h"
#include "daemon/core/tx.h"
#include "daemon/core/waiting.h"

struct timing {
    struct core *core;
    struct clocks clocks;
};

/* Handles what is due. Returns whether that was all; *ret_next: the times of what is due
 * next. */
static bool tick(struct volt_cx *cx, struct core *core, struct admission_times *ret_next)
{
    struct timer *t = &parts_of(core)->dispatch->timer;
    struct tx tx;

    core_begin(&tx, core);
    const struct admission_times now = {waiting_now(core), jobs_now_usec()};
    const bool all = admission_tick(parts_of(core)->admit, &now, JOBS_SLICE);
    core_did(core, JOBS_SLICE, 0, 0);
    t->next = *ret_next = admission_tick_at(parts_of(core)->admit);
    if (!t->waker.task)
        t->waker = volt_waker_new(cx);
    dispatch_finish(&tx);
    return all;
}

static enum volt_poll timer_poll(struct volt_cx *cx, void *state)
{
    struct timing *t = state;
    struct admission_times next;

    (void)clocks_poll(cx, &t->clocks); /* either clock may be due */
    if (tick(cx, t->core, &next)) {
        clocks_arm(&t->clocks, &next);
        if (clocks_poll(cx, &t->clocks) == VOLT_PENDING)
            return VOLT_PENDING;
    }
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

static void timer_drop(void *state)
{
    struct timing *t = state;
    struct timer *timer = &parts_of(t->core)->dispatch->timer;

    core_lock(t->core);
    struct volt_waker waker = timer->waker;
    timer->waker = (struct volt_waker){0};
    core_unlock(t->core);
    volt_waker_fini(&waker);
    clocks_fini(&t->clocks);
}

static const struct volt_task_type timer_type = {"timer", sizeof(struct timing),
                                                 timer_poll, timer_drop, NULL};

int timer_start(struct core *core)
{
    struct timing *t = volt_task_new(parts_of(core)->rt, &timer_type);

    if (!t)
        return -ENOMEM;
    t->core = core;
    int r = clocks_init(&t->clocks, parts_of(core)->rt);
    if (r < 0) {
        volt_task_discard(t);
        return r;
    }
    (void)volt_task_spawn(t, NULL); /* dropped if the runtime ends */
    return 0;
}
