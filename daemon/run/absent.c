/* See absent.h. */
#include "daemon/run/absent.h"

#include <errno.h>
#include <volt/volt.h>

#include "daemon/dispatch/away.h"
#include "daemon/run/state.h"

#define AGAIN_USEC UINT64_C(100000) /* rest when memory for a link lacks */

int absent_here(void *arg, uid_t uid, bool here)
{
    return away_set(arg, uid, !here);
}

bool absent_awaits(void *arg, uid_t uid)
{
    return away_is_missed(arg, uid);
}

struct absent {
    struct core *core;
    struct volt_notified missed;
    struct volt_sleep again;
    bool failed;
    int at;
};

/* Connects to the keepers of all missed users. Returns false for lack of memory. */
static bool want_all(struct core *core)
{
    uid_t uid;

    while (away_take(core, &uid)) {
        struct keeper_link *link = run_link(core, uid);

        if (!link) {
            (void)away_set(core, uid, true); /* makes the user missed again */
            return false;
        }
        keeper_link_want(link);
    }
    return true;
}

static enum volt_poll absent_poll(struct volt_cx *cx, void *state)
{
    struct absent *t = state;

    VOLT_BEGIN(t->at);
    for (;;) {
        volt_notified_init(&t->missed, parts_of(t->core)->missed);
        t->failed = !want_all(t->core);
        if (!t->failed)
            VOLT_AWAIT(t->at, volt_notified_poll(cx, &t->missed));
        volt_notified_fini(&t->missed);
        if (!t->failed)
            continue;
        volt_sleep_init(&t->again, AGAIN_USEC);
        VOLT_AWAIT(t->at, volt_sleep_poll(cx, &t->again));
        volt_sleep_fini(&t->again);
    }
    VOLT_END(t->at);
}

static void absent_drop(void *state)
{
    struct absent *t = state;

    volt_notified_fini(&t->missed);
    volt_sleep_fini(&t->again);
}

static const struct volt_task_type absent_type = {"absent users", sizeof(struct absent),
                                                  absent_poll, absent_drop, NULL};

int absent_start(struct core *core)
{
    struct absent *t = volt_task_new(parts_of(core)->rt, &absent_type);

    if (!t)
        return -ENOMEM;
    t->core = core;
    return volt_task_spawn(t, NULL);
}
