/* See conditions.h. */
#include "daemon/core/conditions.h"

#include <errno.h>

#include "base/error.h"
#include "daemon/admit/doom.h"
#include "daemon/core/each.h"
#include "daemon/core/post.h"
#include "daemon/core/state.h"
#include "daemon/job/retry.h"

/* Gives the job a place in admission, which a job that takes nothing lacks. */
static int can_wait(struct core *core, struct job *job)
{
    return job->waiter.state == WAITER_NONE ? waiting_assign_again(core, job) : 0;
}

/* Returns whether the job is starting or has begun. */
static bool has_started(const struct job *job)
{
    if (job->array)
        return array_busy(job->array) || jobs_has_begun(job);
    return job->status.attempt > 0;
}

/* Returns whether `start_by` can still end the job. A starting job may prove not to have
 * begun, and wait again. */
static bool may_expire(const struct job *job)
{
    return jobs_takes(job) ? !jobs_has_begun(job) : !has_started(job);
}

/* Adds the conditions that depend only on the spec and the time. */
static int begin_asked(struct core *core, struct job *job, const struct job_spec *spec)
{
    const struct admission_times now = {waiting_now(core), jobs_now_usec()};
    int r = condition_asked(spec) ? can_wait(core, job) : 0;

    return r == 0 ? condition_begin_asked(core->parts.admit, &job->waiter, spec, &now)
                  : r;
}

/* Adds the conditions of time. A job that has started once begins its next attempt at
 * once. A starting job may wait again, so it keeps its date to start by. */
static int times_begin(struct core *core, struct job *job, struct job_spec *spec)
{
    int r = has_started(job) ? 0 : begin_asked(core, job, spec);

    if (r < 0 || !spec->start_by_usec || !may_expire(job))
        return r;
    r = can_wait(core, job);
    return r < 0 ? r : doom_start_by(core->parts.admit, &job->waiter, TIMED_NEVER);
}

static bool is_delay(const struct condition *c)
{
    enum clock clock;

    if (!condition_is(c, &condition_begin))
        return false;
    (void)condition_time_of(c, &clock);
    return clock == CLOCK_OF_DELAYS;
}

/* Returns the rest of the delay, at most all of it: the date may have been set back. */
static uint64_t delay_left(const struct job_spec *spec, uint64_t submitted_usec)
{
    const uint64_t now = jobs_now_usec(), at = submitted_usec + spec->delay_usec;

    if (at <= now)
        return 0;
    return at - now < spec->delay_usec ? at - now : spec->delay_usec;
}

/* Makes the times count. A delay runs by a clock that cannot be set; what passed before a
 * restart is computed from dates. Not done earlier, as a job outside the table has no id
 * to report when a time comes. */
static void times_enter(struct core *core, struct job *job, const struct job_spec *spec)
{
    struct condition *c = condition_first(&job->waiter);

    while (c && !is_delay(c))
        c = c->next;
    if (c)
        condition_time_set(core->parts.admit, c,
                           waiting_now(core) +
                               delay_left(spec, job->status.submitted_usec));
    if (job->waiter.start_by)
        doom_set(core->parts.admit, &job->waiter, spec->start_by_usec);
}

int conditions_prepare_times(struct core *core, struct job *next, struct job_spec *spec)
{
    return times_begin(core, next, spec);
}

void conditions_take_times(struct core *core, struct job *job, struct job *next,
                           const struct job_spec *spec)
{
    condition_take_kind(core->parts.admit, &job->waiter, &next->waiter, &condition_begin,
                        waiting_now(core));
    doom_take(core->parts.admit, &job->waiter, &next->waiter);
    times_enter(core, job, spec);
}

/* Holds the job: by its spec when it is fresh, by its facts after a restart. */
static int hold_begin(struct core *core, struct job *job, struct job_spec *spec)
{
    const enum job_held held =
        job->recovered ? conditions_held(job) : job_spec_submission(spec, 0).held;
    const struct hold by = {job->owner.uid, held == JOB_HELD_BY_ADMIN};
    int r = held ? can_wait(core, job) : 0;

    return r == 0 && held ? condition_hold_add(core->parts.admit, &job->waiter, &by) : r;
}

/* Adds the replace condition of a recovered job; a fresh job gets it with its key
 * (submit/claim.c). */
static int replace_begin(struct core *core, struct job *job, struct job_spec *spec)
{
    return job->recovered && spec->replaces
               ? replacement_add_again(core, job, spec->replaces)
               : 0;
}

/* Adds the edges of a job that has not started; a started job has had its antecedents. */
static int after_begin(struct core *core, struct job *job, struct job_spec *spec)
{
    return has_started(job) ? 0 : dependencies_begin(core, job, spec);
}

int conditions_prepare_after(struct core *core, struct job *next, struct job_spec *spec)
{
    int r = dependencies_begin(core, next, spec);

    return r == 0 && next->array ? each_begin(core, next, spec) : r;
}

void conditions_take_after(struct core *core, struct job *job, struct job *next)
{
    condition_take_kind(core->parts.admit, &job->waiter, &next->waiter, &condition_after,
                        waiting_now(core));
    condition_after_enter(core->parts.admit, &job->waiter);
    if (job->array)
        each_take(core, job, next, waiting_now(core));
}

static void after_enter(struct core *core, struct job *job, const struct job_spec *spec)
{
    (void)spec;
    condition_after_enter(core->parts.admit, &job->waiter);
}

/* Adds the edges of elements, also for an array that has started: its rest waits. */
static int elements_begin(struct core *core, struct job *job, struct job_spec *spec)
{
    return job->array && !jobs_done(job) ? each_begin(core, job, spec) : 0;
}

static void elements_enter(struct core *core, struct job *job,
                           const struct job_spec *spec)
{
    (void)spec;
    each_enter(core, job);
}

/* Adds the rest of a back-off, by the facts. Elements back off by themselves. */
static int backoff_begin(struct core *core, struct job *job, struct job_spec *spec)
{
    (void)spec;
    if (!job->recovered)
        return 0; /* no attempt has ended */
    const uint64_t left = job->array ? 0 : job_retry_left(&job->status, jobs_now_usec());
    int r = left ? can_wait(core, job) : 0;
    return r == 0 && left
               ? condition_time_add(core->parts.admit, &job->waiter, &condition_backoff,
                                    CLOCK_OF_DELAYS, waiting_now(core) + left)
               : r;
}

/* --- all conditions ----------------------------------------------------------------- */

/* A kind of condition. */
struct row {
    bool by_facts; /* also for a job whose spec does not ask for it */
    bool of_ended; /* also for a job that has ended */
    /* Adds the condition before the job waits. Returns 0, -ENOMEM, or -EAGAIN as
     * core_wait_for(). */
    int (*begin)(struct core *core, struct job *job, struct job_spec *spec);
    /* Called when the job is in the table. NULL: nothing to do. */
    void (*enter)(struct core *core, struct job *job, const struct job_spec *spec);
};

static const struct row rows[] = {
    {.begin = replace_begin, .of_ended = true},
    {.begin = hold_begin, .by_facts = true},
    {.begin = times_begin, .enter = times_enter},
    {.begin = after_begin, .enter = after_enter},
    {.begin = elements_begin, .enter = elements_enter},
    {.begin = backoff_begin, .by_facts = true},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

bool conditions_asked(const struct job_spec *spec)
{
    return condition_asked(spec) || spec->start_by_usec || spec->replaces || spec->nafter;
}

static bool is_of(const struct row *row, const struct job *job)
{
    return (row->by_facts || job->conditioned) && (row->of_ended || !jobs_done(job));
}

static int begin_all(struct core *core, struct job *job, struct job_spec *spec)
{
    int r = 0;

    for (size_t i = 0; i < ROWS && r == 0; i++)
        if (is_of(&rows[i], job))
            r = rows[i].begin(core, job, spec);
    return r;
}

/* Returns whether the job waits though it takes nothing, because its queue is paused. */
static bool is_kept_by_queue(struct core *core, const struct job *job)
{
    if (!core->queues.any_paused || has_started(job) || jobs_done(job))
        return false;
    const struct queue *q = queues_of(core, job);
    return q && q->hand.paused;
}

static int assign(struct core *core, struct job *job, struct volt_error *err)
{
    if (!jobs_may_take(job) && !is_kept_by_queue(core, job))
        return 0;
    return job->recovered ? waiting_assign_again(core, job)
                          : waiting_assign(core, job, err);
}

int core_wait_for(struct core *core, struct job *job, struct volt_error *err)
{
    struct job_spec *spec = job->conditioned || !job->recovered ? job_spec_of(job) : NULL;
    int r = spec || !job->conditioned ? assign(core, job, err) : -ENOMEM;

    if (r == 0 && spec && !job->recovered)
        r = each_check(core, job, spec, err);
    if (r == 0)
        r = begin_all(core, job, spec);
    if (r == 0 && job->recovered && !jobs_done(job))
        core_wait_begins(core, job, spec);
    job_spec_unref(spec);
    if (r < 0)
        conditions_forget(core, job);
    return r == -ENOMEM ? error_set(err, r, "out of memory") : r;
}

void conditions_forget(struct core *core, struct job *job)
{
    waiting_forget(core, job);
    each_forget(core, job);
}

void core_wait_begins(struct core *core, struct job *job, const struct job_spec *spec)
{
    for (size_t i = 0; i < ROWS && job->conditioned; i++)
        if (rows[i].enter)
            rows[i].enter(core, job, spec);
}

enum job_wait conditions_wait(const struct job *job)
{
    return condition_wait(&job->waiter);
}

uint64_t conditions_time_left(struct core *core, const struct job *job)
{
    const struct admission_times now = {waiting_now(core), jobs_now_usec()};
    uint64_t left = 0;

    for (const struct condition *c = condition_first(&job->waiter); c; c = c->next)
        if (c->kind->wait == JOB_WAIT_TIME && condition_time_left(c, &now) > left)
            left = condition_time_left(c, &now);
    return left;
}

bool conditions_any(const struct job *job)
{
    return condition_first(&job->waiter);
}

enum job_held conditions_held(const struct job *job)
{
    return (enum job_held)(job->array ? job->array->held : job->status.held);
}

bool conditions_is_held(const struct job *job)
{
    struct hold hold;

    return condition_hold_of(&job->waiter, &hold);
}

int conditions_hold(struct core *core, struct job *job, const struct hold *by)
{
    const bool fresh = job->waiter.state == WAITER_NONE;
    int r = can_wait(core, job);

    if (r == 0)
        r = condition_hold_add(core->parts.admit, &job->waiter, by);
    if (r < 0 && fresh)
        waiting_forget(core, job);
    else
        waiting_update(core, job);
    return r;
}

int conditions_keep_hold(struct tx *tx, struct job *job)
{
    struct job_event ev = {.type = JOB_EV_HOLD, .at_usec = jobs_now_usec()};
    struct hold hold;

    if (!condition_hold_of(&job->waiter, &hold))
        return 0;
    ev.held = hold.by_admin ? JOB_HELD_BY_ADMIN : JOB_HELD_BY_USER;
    ev.by = hold.by;
    if (conditions_held(job) >= ev.held)
        return 0;
    int r = core_post(tx, job, NO_OFFSET, &ev);
    if (r < 0 && conditions_held(job)) /* only the user's hold is durable */
        condition_hold_change(&job->waiter, &(struct hold){job->owner.uid, false});
    else if (r < 0)
        conditions_release(tx->core, job);
    return r;
}

void conditions_release(struct core *core, struct job *job)
{
    (void)condition_hold_release(core->parts.admit, &job->waiter, true,
                                 waiting_now(core));
    waiting_update(core, job);
}
