/* See away_links.h. */
#include "daemon/run/away_links.h"

#include <errno.h>
#include <volt/volt.h>

#include "daemon/dispatch/away.h"
#include "daemon/run/state.h"

#define AGAIN_USEC UINT64_C(100000) /* rest when memory for a link lacks */

int away_links_here(void *arg, uid_t uid, bool here)
{
    return away_set(arg, uid, !here);
}

bool away_links_awaits(void *arg, uid_t uid)
{
    return away_is_missed(arg, uid);
}

struct away_links {
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

static enum volt_poll away_links_poll(struct volt_cx *cx, void *state)
{
    struct away_links *t = state;

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

static void away_links_drop(void *state)
{
    struct away_links *t = state;

    volt_notified_fini(&t->missed);
    volt_sleep_fini(&t->again);
}

static const struct volt_task_type away_links_type = {
    "links of away users", sizeof(struct away_links), away_links_poll, away_links_drop,
    NULL};

int away_links_start(struct core *core)
{
    struct away_links *t = volt_task_new(parts_of(core)->rt, &away_links_type);

    if (!t)
        return -ENOMEM;
    t->core = core;
    return volt_task_spawn(t, NULL);
}
