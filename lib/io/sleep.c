/* Sleeping: the leaf future over the driver's timer wheels. The first poll arms the sleep
 * in the wheel of its worker; it stays there wherever the task goes. */
#include "driver/driver.h"
#include "driver/wheel.h"
#include "task/leaves.h"

#include <volt/runtime.h>
#include <volt/time.h>

#define NEAR_USEC 2000

static void init_at(struct volt_sleep *s, uint64_t deadline_usec)
{
    *s = (struct volt_sleep){.deadline_usec = deadline_usec};
}

void volt_sleep_init(struct volt_sleep *s, uint64_t duration_usec)
{
    uint64_t deadline;

    if (__builtin_add_overflow(volt_now_usec(), duration_usec, &deadline))
        deadline = UINT64_MAX;
    init_at(s, deadline);
}

void volt_sleep_init_at(struct volt_sleep *s, uint64_t deadline_usec)
{
    init_at(s, deadline_usec);
}

/* The first poll. Returns true if the time has come or the runtime ends. An old time is
 * good enough to arm a timer, which cannot fire early by it. Only a deadline so near that
 * it may have passed since is worth reading the clock. */
static bool come_or_armed(struct volt_cx *cx, struct volt_sleep *s)
{
    uint64_t now = worker_clock_usec(cx->worker);

    if (s->deadline_usec < now + NEAR_USEC || now == 0)
        now = volt_now_usec();
    return s->deadline_usec <= now ||
           driver_arm(runtime_driver(cx->task->rt), worker_wheel(cx->worker), s, cx->task,
                      now) < 0;
}

/* Removes the record of a watched task, which may have gone when the sleep is
 * finished. */
static void seen(struct volt_cx *cx, struct volt_sleep *s)
{
    leaves_remove(cx->task, s);
    s->task = NULL;
}

enum volt_poll volt_sleep_poll(struct volt_cx *cx, struct volt_sleep *s)
{
    if (cx_take(cx) == VOLT_PENDING)
        return VOLT_PENDING;
    if (__builtin_expect(cx->watched, 0) && !s->wheel)
        leaves_check_new(cx->task, s);
    if (s->wheel ? wheel_fired(s) : come_or_armed(cx, s)) {
        if (__builtin_expect(cx->watched, 0))
            seen(cx, s);
        return VOLT_READY;
    }
    leaf_waits(cx, "volt_sleep", s);
    cx_restore(cx);
    return VOLT_PENDING;
}

static __attribute__((noinline, cold)) void fini_watched(struct volt_sleep *s)
{
    leaf_left(s->task, s);
    wheel_cancel(s);
}

void volt_sleep_fini(struct volt_sleep *s)
{
    const struct wheel *w = s->wheel;

    if (!w)
        return;
    if (__builtin_expect(w->watched, 0))
        fini_watched(s);
    else
        wheel_cancel(s);
}
