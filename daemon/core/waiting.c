/* See waiting.h. */
#include "daemon/core/waiting.h"

#include <errno.h>
#include <time.h>

#include "base/error.h"
#include "daemon/admit/explain.h"
#include "daemon/core/claims.h"
#include "daemon/core/each.h"
#include "daemon/core/state.h"

uint64_t waiting_now(struct core *core)
{
    struct timespec ts;

    if (!core->now_usec) {
        clock_gettime(CLOCK_BOOTTIME, &ts);
        core->now_usec = (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
    }
    return core->now_usec;
}

bool waiting_wants(const struct job *job)
{
    const struct work *w = job->live;

    if (job->waiter.state == WAITER_NONE || jobs_done(job))
        return false;
    if (job->array) /* a held array waits, even if nothing of it is left to start */
        return job->array->rest || job->elements->nwaiting || job->array->held;
    if (job->status.state == JOB_STARTING) /* starts early */
        return w && work_is_early(w);
    return job->status.state == JOB_QUEUED &&
           !(w && (work_has_slot(w) || w->place == PLACE_RESTS));
}

static bool is_in_line(const struct job *job)
{
    return job->waiter.state == WAITER_LINE;
}

static bool is_all_early(const struct job *job)
{
    if (!is_in_line(job))
        return false;
    if (job->array)
        return !each_rest(job) && job->elements->nearly == job->elements->nwaiting;
    return job->live && work_is_early(job->live);
}

void waiting_recount(struct core *core, struct job *job)
{
    if (job->array)
        each_settle(core, job, waiting_now(core));
    bool all = is_all_early(job);

    core->early_jobs += (uint64_t)all - job->all_early;
    job->all_early = all;
}

/* Returns the rank of the job, which an edit sets before the job waits. */
static uint64_t rank_of(const struct job *job)
{
    return job->waiter.rank ? job->waiter.rank : WAITING_RANK(job->id);
}

static int assign(struct core *core, struct job *job, bool fresh, struct volt_error *err)
{
    struct admission_ask ask = {.uid = job->owner.uid,
                                .priority = job->priority,
                                .slot = jobs_is_process(job),
                                .most = job->array ? (uint32_t)job->spec->at_once : 0};

    if (job->elsewhere) {
        const struct queue *q = queues_of(core, job);

        if (!q)
            return error_set(err, -ENOMEM, "out of memory");
        ask.queue = q->admitted;
    }
    if (job->claims)
        return claims_assign(core, job, &ask, rank_of(job), fresh, err);
    return admission_assign(core->parts.admit, &job->waiter, &ask, rank_of(job)) < 0
               ? error_set(err, -ENOMEM, "out of memory")
               : 0;
}

int waiting_assign(struct core *core, struct job *job, struct volt_error *err)
{
    return assign(core, job, true, err);
}

int waiting_assign_again(struct core *core, struct job *job)
{
    return assign(core, job, false, NULL);
}

void waiting_forget(struct core *core, struct job *job)
{
    const uint64_t rank = job->waiter.rank;

    admission_forget(core->parts.admit, &job->waiter);
    job->waiter.rank = rank; /* the job may be made to wait again */
    waiting_recount(core, job);
}

void waiting_enter(struct core *core, struct job *job)
{
    admission_enter(core->parts.admit, &job->waiter, waiting_now(core));
    waiting_recount(core, job);
}

void waiting_leave(struct core *core, struct job *job)
{
    admission_leave(core->parts.admit, &job->waiter);
    waiting_recount(core, job);
}

void waiting_update(struct core *core, struct job *job)
{
    bool wants = waiting_wants(job);

    if (wants && !admission_waits(&job->waiter))
        admission_enter(core->parts.admit, &job->waiter, waiting_now(core));
    else if (!wants)
        admission_leave(core->parts.admit, &job->waiter);
    waiting_recount(core, job);
}

uint64_t waiting_rest_left(struct core *core, const struct work *w)
{
    const uint64_t now = waiting_now(core), until = w->rests_until_usec;

    return w->place == PLACE_RESTS && until > now ? until - now : 0;
}

/* Returns 0 for an array as a whole: its elements back off while it is in the line. */
uint64_t waiting_rest_of(struct core *core, const struct job *job, int64_t offset)
{
    const bool whole = job->array && offset == NO_OFFSET;
    const struct work *w = whole ? NULL : jobs_live(job, offset);

    return w ? waiting_rest_left(core, w) : 0;
}

bool waiting_has_to(const struct job *job)
{
    return admission_waits(&job->waiter);
}

#define RESTS_LOOKED_AT 64

uint64_t waiting_first_rest(struct core *core, const struct job *array,
                            int64_t *ret_offset)
{
    const struct list_node *n = array->elements ? array->elements->resting.first : NULL;
    uint64_t least = UINT64_MAX;

    for (int i = 0; n && i < RESTS_LOOKED_AT; n = n->next, i++) {
        const struct work *w = list_thing(n, struct work, element);
        const uint64_t left = waiting_rest_left(core, w);

        if (left < least) {
            least = left;
            *ret_offset = w->offset;
        }
    }
    core_did(core, RESTS_LOOKED_AT, 0, 0);
    return least;
}

uint64_t waiting_count(const struct core *core)
{
    return admission_count(core->parts.admit).eligible;
}

bool waiting_crowds(const struct core *core)
{
    return !admission_is_idle(core->parts.admit) &&
           waiting_count(core) > core->early_jobs;
}

bool waiting_place(struct core *core, const struct job *job, uint64_t *ret_place,
                   struct explain_brief *ret)
{
    if (!is_in_line(job))
        return false;
    *ret_place = admission_position(&job->waiter);
    *ret = explain_brief(core->parts.admit, &job->waiter, waiting_now(core));
    return true;
}
