/* Waits until voltd may end. */
#include "daemon/auth/auth.h"
#include "daemon/core/parts.h"
#include "daemon/core/phase.h"
#include "daemon/core/post.h"
#include "daemon/core/tx.h"
#include "daemon/core/users.h"
#include "daemon/life/life.h"

/* Counts as life_left() does. users->jobs counts a job from the check of its submission
 * until its end. */
static uint64_t left(const struct core *core, bool cancel)
{
    return cancel ? parts_of(core)->users->jobs
                  : parts_of(core)->counts->by_state[JOB_STARTING] + phase_entering(core);
}

uint64_t life_left(struct core *core, bool cancel)
{
    core_lock(core);
    uint64_t n = left(core, cancel);
    core_unlock(core);
    return n;
}

/* Returns whether nothing is left. Until voltd is closed, jobs may still arrive. */
static bool is_drained(const struct life_drain *d)
{
    core_lock(d->core);
    bool drained = phase_is_closed(d->core) && left(d->core, d->cancel) == 0;
    core_unlock(d->core);
    return drained;
}

enum { DRAIN_BEGIN = 0, DRAIN_CANCEL, DRAIN_REST, DRAIN_WAIT };

/* Begins to cancel all jobs: the filter names no user. Jobs in the table are cancelled in
 * portions; submit.c cancels a job that enters the table later (core.ending). */
static void end_all(struct life_drain *d)
{
    static const struct job_filter all = {0};

    core_lock(d->core);
    phase_end(d->core);
    core_unlock(d->core);
    d->all = (struct steer_all){.core = d->core, .asker = auth_voltd(), .filter = &all};
}

/* Returns READY when all jobs have been asked to end. Without memory it pauses and starts
 * over. */
static enum volt_poll end_all_poll(struct volt_cx *cx, struct life_drain *d)
{
    for (;;) {
        if (d->at == DRAIN_REST) {
            if (volt_sleep_poll(cx, &d->rest) == VOLT_PENDING)
                return VOLT_PENDING;
            volt_sleep_fini(&d->rest);
            d->at = DRAIN_BEGIN;
        }
        if (d->at == DRAIN_BEGIN) {
            end_all(d);
            d->at = DRAIN_CANCEL;
        }
        if (steer_all_poll(cx, &d->all) == VOLT_PENDING)
            return VOLT_PENDING;
        if (d->all.ret == 0)
            return VOLT_READY;
        steer_all_fini(&d->all);
        volt_sleep_init(&d->rest, POST_AGAIN);
        d->at = DRAIN_REST;
    }
}

enum volt_poll life_drain_poll(struct volt_cx *cx, struct life_drain *d)
{
    if (d->at != DRAIN_WAIT) {
        if (d->cancel && end_all_poll(cx, d) == VOLT_PENDING)
            return VOLT_PENDING;
        volt_notified_init(&d->news, parts_of(d->core)->news);
        d->at = DRAIN_WAIT;
    }
    while (!is_drained(d)) {
        if (volt_notified_poll(cx, &d->news) == VOLT_PENDING)
            return VOLT_PENDING;
        volt_notified_fini(&d->news);
        volt_notified_init(&d->news, parts_of(d->core)->news);
    }
    return VOLT_READY;
}

void life_drain_fini(struct life_drain *d)
{
    if (d->at == DRAIN_WAIT)
        volt_notified_fini(&d->news);
    if (d->at == DRAIN_REST)
        volt_sleep_fini(&d->rest);
    steer_all_fini(&d->all);
    d->at = DRAIN_BEGIN;
}
