/* Sleeping: the leaf future over the driver's timer wheels. Armed at its first poll, in
 * the wheel of the worker that polls; it stays there wherever the task goes. */
#include "driver/driver.h"
#include "driver/wheel.h"

#include <volt/runtime.h>
#include <volt/time.h>

void volt_sleep_init(struct volt_sleep *s, uint64_t duration_usec)
{
    uint64_t now = volt_now_usec();

    volt_sleep_init_at(s, duration_usec < UINT64_MAX - now ? now + duration_usec
                                                           : UINT64_MAX);
}

void volt_sleep_init_at(struct volt_sleep *s, uint64_t deadline_usec)
{
    *s = (struct volt_sleep){.deadline_usec = deadline_usec};
}

enum volt_poll volt_sleep_poll(struct volt_cx *cx, struct volt_sleep *s)
{
    bool done;

    if (volt_coop_take(cx) == VOLT_PENDING)
        return VOLT_PENDING;
    if (s->wheel) {
        done = wheel_fired(s);
    } else {
        uint64_t now = volt_now_usec();

        done = s->deadline_usec <= now ||
               driver_arm(runtime_driver(cx->task->rt), worker_wheel(cx->worker), s,
                          cx->task, now) < 0;
    }
    if (done)
        return VOLT_READY;
    volt_coop_restore(cx);
    return VOLT_PENDING;
}

void volt_sleep_fini(struct volt_sleep *s)
{
    wheel_cancel(s);
}
