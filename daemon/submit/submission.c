/* See submission.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/core/conditions.h"
#include "daemon/core/dependencies.h"
#include "daemon/core/jobs.h"
#include "daemon/core/limit_defaults.h"
#include "daemon/core/phase.h"
#include "daemon/core/queues.h"
#include "daemon/core/tx.h"
#include "daemon/core/users.h"
#include "daemon/core/waiting.h"
#include "daemon/query/standing.h"
#include "daemon/run/run.h"
#include "daemon/submit/submission.h"

#define KEEPER_LOOKS 50
#define KEEPER_REST  UINT64_C(100000)

void submission_reject(struct jobs_submit_item *item, int error, const char *format, ...)
{
    va_list ap;

    item->ret_id = 0;
    item->ret_error = error;
    free(item->ret_text);
    va_start(ap, format);
    if (vasprintf(&item->ret_text, format, ap) < 0)
        item->ret_text = NULL;
    va_end(ap);
}

void submission_over(struct jobs_submit_item *item, uint64_t limit, const char *what)
{
    submission_reject(item, -EDQUOT, "more than %llu %s", (unsigned long long)limit,
                      what);
    item->ret_limit = limit;
}

bool jobs_may_be_limited(const struct core *core)
{
    return run_may_contain(core);
}

static bool is_for_keeper(const struct jobs_submit *s)
{
    size_t i = 0;

    while (i < s->count && !job_kinds[s->items[i].spec->kind].is_process)
        i++;
    return i < s->count;
}

enum volt_poll submission_keeper_poll(struct volt_cx *cx, struct jobs_submit *s)
{
    struct submission *p = s->pending;

    if (p->looks == 0 && !is_for_keeper(s))
        return VOLT_READY;
    for (; p->looks < KEEPER_LOOKS; p->looks++) {
        if (p->looks > 0 && volt_sleep_poll(cx, &p->rest) == VOLT_PENDING)
            return VOLT_PENDING;
        volt_sleep_fini(&p->rest);
        if (run_check_owner(s->core, s->owner.uid) != -ENOENT)
            break;
        volt_sleep_init(&p->rest, KEEPER_REST);
    }
    return VOLT_READY;
}

int submission_check_keeper(struct jobs_submit *s, struct jobs_submit_item *item)
{
    const unsigned uid = (unsigned)s->owner.uid;
    const int r = job_kinds[item->spec->kind].is_process
                      ? run_check_owner(s->core, s->owner.uid)
                      : 0;

    if (r == -EOPNOTSUPP)
        submission_reject(item, r, "this daemon starts no processes");
    else if (r == -EPERM)
        submission_reject(item, -EACCES,
                          "voltd runs no jobs as root: submit as the user they are for "
                          "(sudo -u USER volt-submit ...), or to a voltd of root's own "
                          "(volt-submit --user ...)");
    else if (r < 0)
        submission_reject(item, -EACCES,
                          "user %u may not run jobs here: voltd-keeper@%u.socket is not "
                          "active (an administrator: systemctl start voltd-users)",
                          uid, uid);
    return r;
}

const struct job_edge *submission_unknown(const struct job_spec *spec)
{
    for (size_t i = 0; i < spec->nafter; i++)
        if (spec->after[i].unknown)
            return &spec->after[i];
    return NULL;
}

void submission_reject_unknown(struct jobs_submit_item *item, const struct job_edge *edge)
{
    struct volt_error err;

    (void)dependencies_unknown(edge, &err);
    submission_reject(item, -ENOENT, "%.250s", err.text);
}

bool submission_fits(const struct jobs_submit *s, struct jobs_submit_item *item)
{
    const struct job_spec *spec = item->spec;

    for (size_t i = 0; i < spec->nafter; i++) {
        const struct job_edge *edge = &spec->after[i];
        const struct job_spec *of =
            edge->each && edge->item ? s->items[edge->item - 1].spec : spec;

        if (of->is_array == spec->is_array && job_spec_count(of) == job_spec_count(spec))
            continue;
        submission_reject(item, -EINVAL,
                          "after: \"local\" is of a job with %llu elements, and not %llu "
                          "as this one: element to element takes an array with as many",
                          (unsigned long long)(of->is_array ? job_spec_count(of) : 0),
                          (unsigned long long)job_spec_count(spec));
        return false;
    }
    return true;
}

bool submission_binds(const struct job_spec *spec)
{
    for (size_t i = 0; i < spec->nafter; i++)
        if (spec->after[i].item)
            return true;
    return false;
}

void submission_bind_known(struct jobs_submit *s, size_t i)
{
    const struct submission *p = s->pending;
    struct job_spec *spec = s->items[i].spec;

    for (size_t k = 0; p->same && k < spec->nafter; k++)
        if (spec->after[k].item)
            spec->after[k].job = p->same[spec->after[k].item - 1];
}

size_t submission_portion(struct jobs_submit *s, size_t left)
{
    size_t n = quota_entries_left(s->quota);

    n = n < SUBMIT_SLICE ? n : SUBMIT_SLICE;
    n = n < left ? n : left;
    quota_charge(s->quota, n, 0, 0);
    return n;
}

/* Returns the error of a rejected item. For an item with a key a rejection counts only if
 * the key is new: claim.c. */
static int reject_if_new(struct jobs_submit_item *item)
{
    const int r = item->ret_error;

    if (!item->spec->key)
        return r;
    item->not_new = r;
    item->ret_error = 0;
    return 0;
}

/* Lock held. Checks that the item's queue accepts it and its claims can be had. */
static int admit(struct jobs_submit *s, struct jobs_submit_item *item, struct job *job)
{
    struct volt_error err;
    int r = queues_take(s->core, &s->owner, item->spec, &err);

    limit_defaults_take(s->core, &s->owner, item->spec);
    if (r == 0)
        r = core_wait_for(s->core, job, &err);
    if (r == 0 || r == -EAGAIN)
        return r;
    submission_reject(item, r, "%.250s", err.text);
    return reject_if_new(item);
}

int submission_book(struct jobs_submit *s, struct jobs_submit_item *item, struct job *job)
{
    struct core *core = s->core;
    const uint64_t n = job_spec_count(item->spec), bytes = job->bytes;
    const struct job_limits *limits = parts_of(core)->limits;
    struct user *u = users_get(parts_of(core)->users, s->owner.uid);
    int r = 0;

    if (phase_is_closed(core)) {
        submission_reject(item, -ESHUTDOWN, "voltd is shutting down");
        return -ESHUTDOWN;
    }
    if (!u) {
        submission_reject(item, -ENOMEM, "out of memory");
        return -ENOMEM;
    }
    if (parts_of(core)->users->jobs + n > limits->max_jobs)
        submission_over(item, limits->max_jobs, "jobs that have not ended (MaxJobs)");
    else if (u->jobs + n > limits->max_jobs_per_user)
        submission_over(item, limits->max_jobs_per_user,
                        "jobs that have not ended (MaxJobsPerUser)");
    else if (u->bytes + bytes > limits->max_bytes_per_user)
        submission_over(item, limits->max_bytes_per_user,
                        "bytes of specs (MaxBytesPerUser)");
    else if (n > limits->max_array)
        submission_over(item, limits->max_array, "elements in an array (MaxArray)");
    else
        r = admit(s, item, job);
    if (item->ret_error)
        r = reject_if_new(item);
    if (r == 0 && !item->not_new)
        users_add(parts_of(core)->users, u, n, bytes);
    return r;
}

void submission_unbook(struct jobs_submit *s, uint64_t n, uint64_t bytes)
{
    struct core *core = s->core;
    struct tx tx;

    core_begin(&tx, core);
    struct user *u = users_find(parts_of(core)->users, s->owner.uid);
    if (u) /* NULL: nothing was booked, and nothing is given back */
        users_sub(parts_of(core)->users, u, n, bytes);
    phase_wake_drain(core);
    dispatch_finish(&tx);
}

void submission_stand(struct jobs_submit *s)
{
    const struct submission *p = s->pending;

    if (s->standing && p->accepted)
        query_standing(s->core, p->jobs[0], s->standing);
}

void submission_note(struct jobs_submit *s, size_t i)
{
    struct submission *p = s->pending;
    const int error = s->items[i].ret_error;

    p->refused |= error != 0;
    if (jobs_submit_is_temporary(error) && i + 1 < p->stop)
        p->stop = i + 1;
}

void submission_forget(struct jobs_submit *s, size_t from, size_t to)
{
    struct submission *p = s->pending;

    core_lock(s->core);
    core_did(s->core, to - from, 0, 0);
    for (size_t i = from; i < to; i++)
        if (p->jobs[i])
            conditions_forget(s->core, p->jobs[i]);
    core_unlock(s->core);
}

void submission_drop(struct jobs_submit *s, size_t i)
{
    struct submission *p = s->pending;
    uint64_t n = job_spec_count(p->jobs[i]->spec), bytes = p->jobs[i]->bytes;

    submission_forget(s, i, i + 1);
    job_discard(p->jobs[i]);
    p->jobs[i] = NULL;
    p->accepted--;
    if (!s->items[i].not_new)
        submission_unbook(s, n, bytes);
}
