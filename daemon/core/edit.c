/* See edit.h. */
#include "daemon/core/edit.h"

#include <errno.h>

#include "base/error.h"
#include "daemon/core/circle.h"
#include "daemon/core/conditions.h"
#include "daemon/core/deadlock.h"
#include "daemon/core/each.h"
#include "daemon/core/post.h"
#include "daemon/core/state.h"
#include "daemon/job/spec_edit.h"

/* --- which jobs --------------------------------------------------------------------- */

static bool is_about_to_start(const struct work *w)
{
    return work_has_slot(w) || work_is_early(w);
}

static int may_edit_array(const struct job *job)
{
    const struct elements *e = job->elements;

    if (job->array->cancelled_usec || jobs_has_begun(job))
        return -EBUSY;
    /* A task that neither has a slot nor waits for one is about to take its turn. */
    return array_busy(job->array) || e->nearly ||
                   job->tasks != e->nwaiting + (job->live != NULL)
               ? -EINPROGRESS
               : 0;
}

/* Fields that a task uses. An attempt that was called back stays prepared with them, and
 * the task reads job.claims without the lock. */
static const uint64_t tags_of_task = SPEC_TAG(TAG_NAME) | SPEC_TAG(TAG_OUTPUT) |
                                     SPEC_TAG(TAG_CLAIMS) | SPEC_TAG(TAG_CGROUP);

/* Returns whether elements were called back from an early start: their edges are met. */
static bool is_past_edges(const struct job *job, uint64_t tags)
{
    return tags & SPEC_TAG(TAG_AFTER) && job->array && job->elements->nwaiting;
}

/* Returns whether the job may be edited. A job that is no waiter waits for nothing: its
 * task begins in a moment. */
static int may_edit(const struct job *job, uint64_t tags)
{
    const struct job_status *st = &job->status;
    int r = 0;

    if (jobs_done(job))
        return -EALREADY;
    if (job->array)
        r = may_edit_array(job);
    else if (st->attempt && st->state != JOB_STARTING)
        r = -EBUSY;
    else if (st->state != JOB_QUEUED || (job->live && is_about_to_start(job->live)))
        r = -EINPROGRESS;
    if (r == 0 && tags & tags_of_task && jobs_is_process(job) && job->tasks)
        r = -EINPROGRESS;
    if (r == 0 && is_past_edges(job, tags))
        r = -EINPROGRESS;
    return r == 0 && job->waiter.state == WAITER_NONE ? -EINPROGRESS : r;
}

/* --- the next spec ------------------------------------------------------------------ */

/* Makes a delay count from the edit on. */
static void lengthen_delay(const struct job *job, struct job_spec *spec)
{
    const uint64_t now = jobs_now_usec(), since = job->status.submitted_usec;

    if (spec->delay_usec && now > since)
        spec->delay_usec += now - since;
}

/* Returns whether the delay, from submission on, ends after the latest time to start. */
static bool starts_never(const struct job *job, const struct job_spec *spec)
{
    return spec->delay_usec && spec->start_by_usec &&
           job->status.submitted_usec + spec->delay_usec > spec->start_by_usec;
}

/* Copies the ends of elements of antecedents that only the store has: the packed spec of
 * the job does not include them. */
static int copy_past(struct job_spec *spec, const struct job_spec *changes)
{
    int r = 0;

    for (size_t i = 0; i < spec->nafter && r == 0; i++) {
        const struct past_elements *past = changes->after[i].past;

        if (past && !(spec->after[i].past = past_elements_copy(past)))
            r = -ENOMEM;
    }
    return r;
}

/* Checks that the new antecedents belong to the job's user and close no circle. */
static int check_after(struct core *core, const struct job *job, const struct job_edit *e,
                       const struct job *next, struct volt_error *err)
{
    if (job->owner.uid != e->uid)
        return error_set(err, -EINVAL, "after: it is the job of another user");
    int r = circle_check(core, job, next->spec, err);
    if (r == 0)
        r = each_check(core, next, next->spec, err);
    return r == 0 ? copy_past(next->spec, e->changes) : r;
}

/* Makes the new edges. Refuses one that cannot be met: an edit does not end a job. */
static int make_edges(struct core *core, struct job *next, struct volt_error *err)
{
    const int r = conditions_prepare_after(core, next, next->spec);
    const struct job_edge *vain = r == 0 ? dependencies_vain(next->spec) : NULL;

    if (vain)
        return error_set(err, -EINVAL,
                         "after: job %llu has ended as %s: it could never start",
                         (unsigned long long)vain->job, job_result_name(vain->result));
    return r == -EAGAIN ? -ESTALE : r;
}

static int limit_bytes(struct core *core, const struct job *job, const struct job *next,
                       struct volt_error *err)
{
    const struct user *u = users_find(&core->users, job->owner.uid);

    if (next->bytes <= job->bytes ||
        u->bytes - job->bytes + next->bytes <= core->limits.max_bytes_per_user)
        return 0;
    return error_set(err, -EINVAL, "more than %llu bytes of specs (MaxBytesPerUser)",
                     (unsigned long long)core->limits.max_bytes_per_user);
}

static int check(struct core *core, const struct job *job, const struct job_edit *e,
                 const struct job_owner *asker, struct job_spec *spec,
                 struct volt_error *err)
{
    int r = 0;

    if (e->tags & SPEC_TAG(TAG_DELAY))
        lengthen_delay(job, spec);
    if (e->tags & TAGS_OF_TIME && starts_never(job, spec))
        return error_set(err, -EINVAL,
                         "start_by_usec: is before the delay has passed: it could never "
                         "start");
    if (e->tags & SPEC_TAG(TAG_CLAIMS) && !jobs_is_process(job))
        return error_set(err, -EINVAL, "claims: those of a kind without a process stay");
    if (e->tags & SPEC_TAG(TAG_QUEUE))
        r = queues_take(core, asker, spec, err);
    else if (e->tags & SPEC_TAG(TAG_TIMEOUT))
        r = queues_limit_time(core, spec, err);
    return r < 0 ? -EINVAL : 0;
}

/* Makes the new spec. *ret: the edited fields that really change. */
static int make_spec(struct core *core, const struct job *job, const struct job_edit *e,
                     const struct job_owner *asker, struct job *next, uint64_t *ret,
                     struct volt_error *err)
{
    struct job_spec *spec = job_spec_of(job);
    struct volt_error why;
    const char *field;
    int r = spec ? job_spec_edit(spec, e, &next->spec, &field, &why) : -ENOMEM;

    if (r == -EINVAL)
        (void)error_set(err, r, "%s: %.200s", field, why.text);
    core_did(core, 0, job->packed ? 2 * job->bytes : job->bytes, 0);
    if (r == 0)
        r = check(core, job, e, asker, next->spec, err);
    if (r == 0)
        *ret = job_edit_differs(spec, next->spec, e->tags);
    job_spec_unref(spec);
    return r;
}

/* Makes the edited conditions; the others stay with the job. */
static int make_conditions(struct core *core, const struct job *job,
                           const struct job_edit *e, struct job *next,
                           struct volt_error *err)
{
    int r = 0;

    if (e->tags & TAGS_OF_TIME)
        r = conditions_prepare_times(core, next, next->spec);
    if (r == 0 && e->tags & SPEC_TAG(TAG_AFTER))
        r = check_after(core, job, e, next, err);
    if (r == 0 && e->tags & SPEC_TAG(TAG_AFTER))
        r = make_edges(core, next, err);
    return r;
}

bool core_edit_may_close_circle(const struct job_edit *edit)
{
    return edit->tags & (SPEC_TAG(TAG_AFTER) | SPEC_TAG(TAG_CLAIMS));
}

/* Fills in the job as it is to be: members from its spec, place in admission,
 * conditions. */
static int make_next(struct core *core, const struct job *job, const struct job_edit *e,
                     struct job *next, struct volt_error *err)
{
    job_describe(core, next, next->spec);
    next->claims = next->spec->nclaims > 0;
    int r = limit_bytes(core, job, next, err);
    if (r == 0)
        r = waiting_assign(core, next, err);
    if (r == 0)
        r = make_conditions(core, job, e, next, err);
    if (r == 0 && core_edit_may_close_circle(e) && deadlock_of_edit(core, next, err))
        r = -EINVAL;
    /* Packed late, as it includes what was learned of antecedents. */
    if (r == 0 && job->packed && !(next->packed = packed_new(&core->shares, next->spec)))
        r = -ENOMEM;
    return r;
}

static void drop_next(struct core *core, struct job *next)
{
    each_forget(core, next);
    admission_forget(core->parts.admit, &next->waiter);
    job_spec_unref(next->spec);
    packed_free(next->packed);
}

static int keep(struct tx *tx, struct job *job, const struct job_changes *c, uid_t by)
{
    const struct job_event ev = {
        .type = JOB_EV_EDIT, .at_usec = jobs_now_usec(), .by = by, .changes = *c};

    return core_post(tx, job, NO_OFFSET, &ev);
}

static bool is_first(const struct user *u, const struct job *job)
{
    return u->front && job->waiter.rank == WAITING_FRONT(u->front);
}

static bool has_edits_left(const struct job *job, struct volt_error *err)
{
    if ((job->array ? job->array->edits : job->status.edits) < JOB_EDITS_MAX)
        return true;
    (void)error_set(err, -EINVAL,
                    "it has been edited %d times, and is not once more: cancel it, and "
                    "submit what it is to be",
                    JOB_EDITS_MAX);
    return false;
}

/* Exchanges the job with `next`. */
static void become(struct core *core, struct job *job, struct job *next, uint64_t tags)
{
    struct user *u = users_find(&core->users, job->owner.uid);
    const struct job_spec *is = next->spec;
    struct job_spec *had = job->spec;
    struct packed *packed = job->packed;

    users_sub(&core->users, u, 0, job->bytes);
    users_add(&core->users, u, 0, next->bytes);
    if (tags & SPEC_TAG(TAG_NAME))
        index_leave(core, job);
    if (tags & SPEC_TAG(TAG_CLAIMS))
        job->claims = next->claims;
    job_describe(core, job, is);
    admission_exchange(core->parts.admit, &job->waiter, &next->waiter);
    if (tags & TAGS_OF_TIME)
        conditions_take_times(core, job, next, is);
    if (tags & SPEC_TAG(TAG_AFTER))
        conditions_take_after(core, job, next);
    job->packed = next->packed;
    next->packed = packed;
    if (had) {
        job->spec = next->spec;
        next->spec = had;
    }
    if (tags & SPEC_TAG(TAG_NAME))
        index_enter(core, job);
    waiting_recount(core, job);
}

/* Posts EDIT, and then gives the job its next form. */
static int take(struct tx *tx, struct job *job, struct job *next,
                const struct job_edit *e, struct job_changes c, uid_t by)
{
    uint8_t room[JOB_EDIT_ROOM];
    struct pack p = pack_in(room, sizeof(room));
    int r = -ENOMEM;

    job_edit_pack(next->spec, e->tags, &p);
    c.bytes = p.bytes;
    c.n = (uint32_t)p.n;
    if (!p.failed)
        r = keep(tx, job, &c, by);
    if (r == 0) {
        become(tx->core, job, next, e->tags);
        users_find(&tx->core->users, job->owner.uid)->front += e->first;
    }
    pack_fini(&p);
    return r;
}

/* Edits the job. Nothing is stored for fields that do not change, nor to put first what
 * is first. */
static int edit(struct tx *tx, struct job *job, const struct job_edit *asked,
                const struct job_owner *asker, bool only_checks, struct volt_error *err)
{
    struct core *core = tx->core;
    const struct user *u = users_find(&core->users, job->owner.uid);
    struct job_edit e = *asked;
    struct elements elements = {.cancelled = 0};
    struct job next = {.id = job->id,
                       .kind = job->kind,
                       .claims = job->claims,
                       .owner = job->owner,
                       .array = job->array,
                       .elements = job->array ? &elements : NULL,
                       .waiter = {.rank = job->waiter.rank}};
    struct job_changes c = {.front = 0};
    int r = make_spec(core, job, asked, asker, &next, &e.tags, err);

    e.first = asked->first && !is_first(u, job);
    if (e.first)
        next.waiter.rank = WAITING_FRONT(c.front = u->front + 1);
    if (r == 0 && (e.tags || e.first) && !has_edits_left(job, err))
        r = -EINVAL;
    if (r == 0 && (e.tags || e.first))
        r = make_next(core, job, &e, &next, err);
    if (r == 0 && (e.tags || e.first) && !only_checks)
        r = take(tx, job, &next, &e, c, asker->uid);
    drop_next(core, &next);
    return r;
}

static int check_and_edit(struct tx *tx, struct job *job, const struct job_edit *asked,
                          const struct job_owner *asker, bool only_checks,
                          struct volt_error *err)
{
    int r = may_edit(job, asked->tags);

    if (r == 0)
        r = core_refusal(tx->core);
    return r == 0 ? edit(tx, job, asked, asker, only_checks, err) : r;
}

int core_edit(struct tx *tx, struct job *job, const struct job_edit *asked,
              const struct job_owner *asker, struct volt_error *err)
{
    return check_and_edit(tx, job, asked, asker, false, err);
}

int core_edit_check(struct tx *tx, struct job *job, const struct job_edit *asked,
                    const struct job_owner *asker, struct volt_error *err)
{
    return check_and_edit(tx, job, asked, asker, true, err);
}

/* --- after a restart ---------------------------------------------------------------- */

int core_edit_again(struct core *core, struct job *job, const struct job_edits *all)
{
    struct job_spec *spec = job_spec_of(job), *edited = NULL;
    int r = spec ? job_edits_lay(all, spec, &edited) : -ENOMEM;

    job_spec_unref(spec);
    if (r < 0)
        return r;
    job_describe(core, job, edited);
    job->claims = edited->nclaims > 0;
    if (all->front)
        job->waiter.rank = WAITING_FRONT(all->front);
    if (job->packed) {
        packed_free(job->packed);
        job->packed = packed_new(&core->shares, edited);
        job_spec_unref(edited);
        return job->packed ? 0 : -ENOMEM;
    }
    job_spec_unref(job->spec);
    job->spec = edited;
    return 0;
}
