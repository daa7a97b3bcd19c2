/* Views of jobs, and filters on them. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/admit/condition.h"
#include "daemon/admit/explain.h"
#include "daemon/admit/named.h"
#include "daemon/auth/auth.h"
#include "daemon/core/conditions.h"
#include "daemon/core/each.h"
#include "daemon/core/parts.h"
#include "daemon/core/table.h"
#include "daemon/core/waiting.h"
#include "daemon/core/work.h"
#include "daemon/job/queue.h"
#include "daemon/query/view.h"
#include "daemon/run/run.h"

void job_view_fini(struct job_view *v)
{
    job_spec_unref(v->spec);
    v->spec = NULL;
}

/* --- filters ------------------------------------------------------------------------ */

static bool has_label(const struct job_spec *spec, const struct job_label *want)
{
    for (size_t i = 0; i < spec->nlabels; i++)
        if (strcmp(spec->labels[i].name, want->name) == 0 &&
            (!want->value || strcmp(spec->labels[i].value, want->value) == 0))
            return true;
    return false;
}

bool job_filter_wants_spec(const struct job_spec *spec, const struct job_filter *f)
{
    if (f->name && (!spec || strcmp(job_spec_display_name(spec), f->name) != 0))
        return false;
    if (f->name_glob &&
        (!spec || fnmatch(f->name_glob, job_spec_display_name(spec), 0) != 0))
        return false;
    if (f->queue &&
        (!spec || strcmp(spec->queue ? spec->queue : QUEUE_DEFAULT, f->queue) != 0))
        return false;
    for (size_t i = 0; i < f->nlabels; i++)
        if (!spec || !has_label(spec, &f->labels[i]))
            return false;
    return true;
}

/* Returns whether the submission time matches. Orphans have none. */
static bool time_matches(const struct job_view *v, const struct job_filter *f)
{
    const uint64_t at = v->status.submitted_usec;

    return (!f->since_usec || at >= f->since_usec) &&
           (!f->until_usec || (at && at <= f->until_usec));
}

bool job_filter_wants_status(const struct job_status *st, const struct job_filter *f)
{
    return (!f->states || f->states & 1u << st->state) &&
           (!f->results || f->results & 1u << st->result);
}

/* The end of an array that was cancelled hides those of elements that failed before. */
static bool hides_failures(const struct job_view *v, const struct job_filter *f)
{
    return v->status.result == JOB_RESULT_CANCELLED && v->failed > 0 &&
           (!f->states || f->states & 1u << JOB_DONE) &&
           (f->results & JOB_FAILED_RESULTS) == JOB_FAILED_RESULTS;
}

static bool status_matches(const struct job_view *v, const struct job_filter *f)
{
    return f->orphans == v->orphan && (!f->of_user || f->uid == v->owner.uid) &&
           (job_filter_wants_status(&v->status, f) || hides_failures(v, f)) &&
           time_matches(v, f);
}

bool job_filter_wants_view(const struct job_view *v, const struct job_filter *f)
{
    return status_matches(v, f) && job_filter_wants_spec(v->spec, f);
}

/* --- views: lock held --------------------------------------------------------------- */

/* A century: later dates are not given. */
#define LONGEST UINT64_C(3155760000000000)
/* Longer than a keeper takes to kill a tree, or to be replaced. */
#define KEEPER_AWAY UINT64_C(2000000)

static bool misses_keeper(const struct core *core, const struct job *job,
                          const struct job_view *v)
{
    return jobs_is_process(job) && !v->has_counts &&
           (v->status.state == JOB_STARTING || v->status.state == JOB_STOPPING) &&
           run_keeper_away_usec(core, job->owner.uid) >= KEEPER_AWAY;
}

/* Returns whether it is held. An array is held for all its queued elements, also while
 * others run. */
static bool is_held(const struct job *job, const struct job_view *v)
{
    const bool waits = v->has_counts ? v->queued > 0 : v->status.state == JOB_QUEUED;

    return waits && (job->array ? job->array->held : v->status.held);
}

/* Returns whether the element, or each queued one of the array, waits for elements. */
static bool waits_for_elements(const struct job *job, int64_t offset)
{
    if (!job->array || !job->array->rest)
        return false;
    return offset == NO_OFFSET ? !jobs_takes(job) && !each_rest(job)
                               : each_unmet(job, (uint64_t)offset) != NULL;
}

/* Returns whether something is queued and nothing runs. */
static bool is_queued(const struct job_view *v)
{
    return v->has_counts ? v->queued && !v->running : v->status.state == JOB_QUEUED;
}

/* Returns the back-off left of an element, or of an array whose queued elements all back
 * off. */
static uint64_t rest_left(struct core *core, const struct job *job, int64_t offset,
                          const struct job_view *v)
{
    int64_t first;

    if (v->has_counts)
        return is_queued(v) && v->resting == v->queued
                   ? waiting_first_rest(core, job, &first)
                   : 0;
    return waiting_rest_of(core, job, offset);
}

/* Sets the wait of a waiter in the line. */
static void view_place(const struct explain_brief *brief, struct job_view *v)
{
    v->wait_group = explain_group(brief);
    v->wait = explain_wait(brief->kind, v->wait_position > 0);
    if (brief->resource)
        (void)snprintf(v->wait_lock, sizeof(v->wait_lock), "%s",
                       named_name(brief->resource));
}

/* Sets what jobs that wait for other jobs, or for a release, may have in common. */
static void view_condition(const struct job *job, struct job_view *v)
{
    enum job_after when = JOB_AFTER_OK;
    const uint64_t antecedent =
        v->wait == JOB_WAIT_DEPENDENCY ? condition_after_only(&job->waiter, &when) : 0;

    if (v->wait == JOB_WAIT_HOLD)
        v->held_by_admin = conditions_held(job) == JOB_HELD_BY_ADMIN;
    v->wait_group = v->held_by_admin;
    if (antecedent)
        v->wait_after = antecedent << 2 | (uint64_t)when;
}

static void view_wait(struct core *core, const struct job *job, int64_t offset,
                      struct job_view *v)
{
    const uint64_t rest = rest_left(core, job, offset, v);
    struct explain_brief brief;

    v->wait = JOB_WAIT_NONE;
    if (v->status.state != JOB_DONE && v->survivors)
        v->wait = JOB_WAIT_SURVIVORS;
    if (misses_keeper(core, job, v))
        v->wait = JOB_WAIT_KEEPER;
    if (is_held(job, v))
        v->wait = JOB_WAIT_HOLD;
    else if (is_queued(v) && conditions_wait(job))
        v->wait = conditions_wait(job);
    else if (rest)
        v->wait = JOB_WAIT_TIME;
    else if (is_queued(v) && waits_for_elements(job, offset))
        v->wait = JOB_WAIT_DEPENDENCY;
    view_condition(job, v);
    if (v->wait == JOB_WAIT_TIME) {
        v->wait_usec = rest ? rest : conditions_time_left(core, job);
        v->wait_ends_usec = v->wait_usec < LONGEST ? jobs_now_usec() + v->wait_usec : 0;
    }
    if (!rest && v->wait != JOB_WAIT_DEPENDENCY && is_queued(v) &&
        waiting_place(core, job, &v->wait_position, &brief))
        view_place(&brief, v);
}

void jobs_view_array(const struct array *a, struct job_view *v)
{
    v->status = array_status(a);
    v->has_counts = true;
    v->total = a->total;
    v->queued = a->by_state[JOB_QUEUED];
    v->running = array_busy(a);
    v->paused = a->by_state[JOB_PAUSED];
    v->done = a->by_state[JOB_DONE];
    v->failed = array_failed(a);
    v->cancelled = a->by_result[JOB_RESULT_CANCELLED];
    v->exit_code = a->exit_code;
}

static void view_work(const struct job *job, int64_t offset, struct job_view *v)
{
    const struct work *w = jobs_live(job, offset);

    v->lends = w && w->lends;
    v->survivors = v->status.survivors;
    if (v->status.named)
        v->named = *v->status.named;
    if (!w || !w->left || v->status.state == JOB_DONE)
        return;
    v->survivors = w->left->n;
    v->named = w->left->named;
}

void jobs_view_status(struct job *job, int64_t offset, struct job_view *ret)
{
    *ret = (struct job_view){.key = jobs_key(job, offset),
                             .owner = job->owner,
                             .durable = job->durable,
                             .name_tag = job->name_tag};
    if (job->array && offset == NO_OFFSET)
        jobs_view_array(job->array, ret);
    else if (job->array)
        ret->status = array_element(job->array, offset);
    else
        ret->status = job->status;
    if (!ret->has_counts)
        view_work(job, offset, ret);
    else if (job->elements)
        ret->resting = job->elements->nresting;
    if (!ret->has_counts && ret->status.state == JOB_DONE)
        ret->exit_code = job_exit_code(&ret->status);
}

static void view_spec(struct core *core, const struct job *job, struct job_view *ret)
{
    ret->unpacked = job->spec ? 0 : job->bytes;
    ret->spec = job_spec_of(job);
    core_did(core, 0, ret->unpacked, 0);
}

void jobs_view_state(struct core *core, struct job *job, int64_t offset,
                     struct job_view *ret)
{
    jobs_view_status(job, offset, ret);
    view_wait(core, job, offset, ret);
}

void jobs_view(struct core *core, struct job *job, int64_t offset, struct job_view *ret)
{
    jobs_view_state(core, job, offset, ret);
    view_spec(core, job, ret);
}

static bool asks_for_spec(const struct job_filter *f)
{
    return f->name || f->name_glob || f->queue || f->nlabels;
}

struct job_spec *jobs_brief_spec(struct core *core, const struct job *job,
                                 size_t *ret_unpacked)
{
    struct job_spec *spec;

    *ret_unpacked = 0;
    if (job->spec)
        return job_spec_ref(job->spec);
    int r = packed_peek(job->packed, &spec, ret_unpacked);
    core_did(core, 0, *ret_unpacked, 0);
    return r < 0 ? NULL : spec;
}

#define GLOB_STEP 4 /* bytes unpacked in the time of one step of fnmatch(), up to 4 ns */

/* fnmatch() backtracks only to the latest star: text between two stars is tried at each
 * byte of the name, text before the first star once. */
size_t job_filter_cost(const struct job_spec *spec, const struct job_filter *f)
{
    size_t longest = 0, n;

    if (!f->name_glob || !spec)
        return 0;
    for (const char *at = strchr(f->name_glob, '*'); at; at = strchr(at, '*')) {
        n = strcspn(++at, "*");
        longest = n > longest ? n : longest;
    }
    return GLOB_STEP *
           (strlen(f->name_glob) + longest * strlen(job_spec_display_name(spec)));
}

static bool spec_matches_in_slice(struct core *core, const struct job_spec *spec,
                                  const struct job_filter *f)
{
    core_did(core, 0, job_filter_cost(spec, f), 0);
    return job_filter_wants_spec(spec, f);
}

static bool job_matches(struct core *core, const struct job *job,
                        const struct job_filter *f)
{
    size_t unpacked;

    if (!asks_for_spec(f))
        return true;
    struct job_spec *spec = jobs_brief_spec(core, job, &unpacked);
    bool matches = spec && spec_matches_in_slice(core, spec, f);
    job_spec_unref(spec);
    return matches;
}

/* Fills in the spec if the filter wants it: unpacked once. */
static bool brief_matches(struct core *core, const struct job *job,
                          const struct job_filter *f, struct job_view *ret)
{
    ret->spec = jobs_brief_spec(core, job, &ret->unpacked);
    if (!asks_for_spec(f) || (ret->spec && spec_matches_in_slice(core, ret->spec, f)))
        return true;
    job_view_fini(ret);
    return false;
}

bool jobs_view_wanted(struct core *core, struct job *job, const struct job_filter *f,
                      enum query_specs specs, struct job_view *ret)
{
    jobs_view_status(job, NO_OFFSET, ret);
    if (!status_matches(ret, f))
        return false;
    if (specs == QUERY_SPECS_BRIEF ? !brief_matches(core, job, f, ret)
                                   : !job_matches(core, job, f))
        return false;
    if (specs == QUERY_SPECS_WHOLE)
        view_spec(core, job, ret);
    view_wait(core, job, NO_OFFSET, ret);
    return true;
}

bool jobs_view_element(struct core *core, struct job *array, int64_t offset,
                       const struct job_filter *f, struct job_view *ret)
{
    jobs_view_status(array, offset, ret);
    if (!job_filter_wants_status(&ret->status, f))
        return false;
    view_spec(core, array, ret);
    view_wait(core, array, offset, ret);
    return true;
}

bool jobs_wanted_of_event(struct core *core, struct job *job, const struct job_filter *f,
                          struct job_spec **ret_spec)
{
    struct job_view v;
    size_t unpacked;

    *ret_spec = NULL;
    jobs_view_status(job, NO_OFFSET, &v);
    if (f->orphans || (f->of_user && f->uid != v.owner.uid) || !time_matches(&v, f))
        return false;
    if (!asks_for_spec(f))
        return true;
    *ret_spec = jobs_brief_spec(core, job, &unpacked);
    return *ret_spec;
}

void jobs_view_end(uint64_t id, uid_t uid, uint64_t ended_usec, const struct job_end *end,
                   struct job_view *ret)
{
    *ret = (struct job_view){.key = {.id = id, .index = JOB_NO_INDEX},
                             .owner = {.uid = uid},
                             .status = {.state = JOB_DONE,
                                        .result = end->result,
                                        .code = end->code,
                                        .code_is = end->code_is,
                                        .ended_usec = ended_usec},
                             .exit_code = end->exit_code,
                             .forgotten = true};
}

void jobs_view_orphan(const struct orphan *o, struct job_view *ret)
{
    *ret = (struct job_view){.key = o->key,
                             .owner = {.uid = getuid(), .gid = getgid()},
                             .status = o->status,
                             .survivors = o->status.survivors,
                             .durable = true, /* the record is */
                             .orphan = true};
    if (o->status.named)
        ret->named = *o->status.named;
    if (ret->status.state == JOB_DONE)
        ret->exit_code = job_exit_code(&ret->status);
}

struct job *jobs_find(struct core *core, const struct asker *asker, uint64_t id,
                      int64_t index, int64_t *ret_offset)
{
    struct job *job = table_get(parts_of(core)->table, id);

    if (!job || !auth_sees(asker, job->owner.uid))
        return NULL;
    *ret_offset = NO_OFFSET;
    if (index < 0)
        return job;
    *ret_offset = job->array && !array_is_counts(job->array)
                      ? job_spec_offset(job->spec, index)
                      : -1;
    return *ret_offset < 0 ? NULL : job;
}
