/* See watchdog.h. */
#include <errno.h>
#include <volt/volt.h>

#include "daemon/query/query.h"
#include "daemon/sysd/sysd.h"
#include "daemon/watchdog.h"

struct watchdog {
    struct core *core;
    uint64_t every_usec;
    uint64_t seen; /* by the look before: query_store_alive() */
    struct volt_sleep rest;
};

static enum volt_poll watchdog_poll(struct volt_cx *cx, void *state)
{
    struct watchdog *w = state;

    while (volt_sleep_poll(cx, &w->rest) == VOLT_READY) {
        if (w->rest.deadline_usec > volt_now_usec())
            return VOLT_READY; /* the runtime ends */
        if (query_store_alive(w->core, &w->seen))
            (void)sysd_notify_watchdog();
        volt_sleep_fini(&w->rest);
        volt_sleep_init(&w->rest, w->every_usec);
    }
    return VOLT_PENDING;
}

static void watchdog_drop(void *state)
{
    struct watchdog *w = state;

    volt_sleep_fini(&w->rest);
}

static const struct volt_task_type watchdog_type = {"watchdog", sizeof(struct watchdog),
                                                    watchdog_poll, watchdog_drop, NULL};

int watchdog_start(struct volt_runtime *rt, struct core *core)
{
    uint64_t period = sysd_watchdog_usec();
    struct watchdog *w;

    if (!period)
        return 0;
    w = volt_task_new(rt, &watchdog_type);
    if (!w)
        return -ENOMEM;
    w->core = core;
    w->every_usec = period / 2;
    w->seen = UINT64_MAX;
    volt_sleep_init(&w->rest, 0);
    return volt_task_spawn(w, NULL);
}
