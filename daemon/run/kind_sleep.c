/* Kind sleep: ends after its duration. Begins anew after a restart. */
#include <errno.h>

#include "daemon/core/post.h"
#include "daemon/run/kinds.h"
#include "daemon/run/work.h"

static void note_start(struct work *w)
{
    struct job_event ev = {
        .type = JOB_EV_STARTED, .at_usec = jobs_now_usec(), .attempt = 1};

    /* Otherwise it was stopped, or is running in the store of an earlier voltd. */
    if (work_look(NULL, w).state == JOB_STARTING)
        (void)work_post(w, &ev);
}

/* READY: posted, or another event came first. Otherwise `again` wakes the task for
 * another post. */
static enum volt_poll posted_poll(struct volt_cx *cx, struct volt_sleep *again, int r)
{
    if (r != -ENOMEM)
        return VOLT_READY;
    volt_sleep_fini(again);
    volt_sleep_init(again, POST_AGAIN);
    if (volt_sleep_poll(cx, again) == VOLT_READY)
        volt_cx_wake(cx);
    return VOLT_PENDING;
}

/* Returns whether the time limit ends it before its duration. */
static bool is_limited(const struct job_spec *spec)
{
    return job_spec_timeout(spec) && job_spec_timeout(spec) < spec->duration_usec;
}

/* Returns how long it sleeps: its duration or the time limit. Not before its turn, as its
 * spec may be edited until then. */
static uint64_t sleeps_usec(const struct job_spec *spec)
{
    return is_limited(spec) ? job_spec_timeout(spec) : spec->duration_usec;
}

/* READY: the time is up (with TIMEOUT if limited), or the work must stop. */
static enum volt_poll slept_poll(struct volt_cx *cx, struct work *w)
{
    if (work_stop_poll(cx, w) == VOLT_READY)
        return VOLT_READY;
    if (work_time_poll(cx, &w->leaf.sleep) == VOLT_PENDING)
        return VOLT_PENDING;
    if (!is_limited(w->job->spec))
        return VOLT_READY;
    const struct job_event ev = {.type = JOB_EV_TIMEOUT, .at_usec = jobs_now_usec()};
    return posted_poll(cx, &w->leaf.sleep, work_post(w, &ev));
}

static enum volt_poll sleep_poll(struct volt_cx *cx, void *state)
{
    struct work *w = state;
    struct job_event end;

    VOLT_BEGIN(w->at);
    VOLT_AWAIT(w->at, work_turn_poll(cx, w));
    VOLT_AWAIT(w->at, work_marked_poll(cx, w));
    if (!w->ended && !w->unmarked) {
        work_leaf_fini(w);
        note_start(w);
        volt_sleep_init(&w->leaf.sleep, sleeps_usec(w->job->spec));
        VOLT_AWAIT(w->at, slept_poll(cx, w));
    }
    VOLT_AWAIT(w->at, (end = work_success(w), work_finish_poll(cx, w, &end)));
    VOLT_END(w->at);
}

const struct volt_task_type kind_sleep_task = {"job sleep", sizeof(struct work),
                                               sleep_poll, work_drop, NULL};
