/* Submission: check, take ids, commit, enter, spawn.
 *
 * A batch may hold 200,000 specs, so every pass over it stops after SUBMIT_SLICE items
 * and goes on in the next poll. Nothing is visible before the commit; the answer comes
 * after. One job alone that finds a free slot takes it before: its STARTING is kept by
 * the same commit, it is made ready meanwhile, and its START is the first thing to go out
 * after it. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crash.h"
#include "daemon/exec/submission.h"

void manager_submit_init(struct manager_submit *s, struct manager *m,
                         const struct job_owner *owner, struct manager_submit_item *items,
                         size_t count, bool atomic)
{
    *s = (struct manager_submit){
        .manager = m, .owner = *owner, .items = items, .count = count, .atomic = atomic};
}

void submission_reject(struct manager_submit_item *item, int error, const char *format,
                       ...)
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

/* --- accounts: lock held ------------------------------------------------------------ */

/* Books n jobs and their spec on the user, or rejects the item. */
static int book(struct manager *m, struct manager_submit *s,
                struct manager_submit_item *item, uint64_t n, size_t bytes)
{
    struct user *u = users_get(&m->users, s->owner.uid);

    if (m->closed) {
        submission_reject(item, -ESHUTDOWN, "voltd is shutting down");
        return -ESHUTDOWN;
    }
    if (!u) {
        submission_reject(item, -ENOMEM, "out of memory");
        return -ENOMEM;
    }
    if (m->users.jobs + n > m->config.max_jobs)
        submission_reject(item, -EDQUOT,
                          "more than %llu jobs that have not ended (MaxJobs)",
                          (unsigned long long)m->config.max_jobs);
    else if (u->jobs + n > m->config.max_jobs_per_user)
        submission_reject(item, -EDQUOT,
                          "more than %llu jobs that have not ended (MaxJobsPerUser)",
                          (unsigned long long)m->config.max_jobs_per_user);
    else if (u->bytes + bytes > m->config.max_bytes_per_user)
        submission_reject(item, -EDQUOT,
                          "more than %llu bytes of specs (MaxBytesPerUser)",
                          (unsigned long long)m->config.max_bytes_per_user);
    else if (n > m->config.max_array)
        submission_reject(item, -EDQUOT, "more than %llu elements in an array (MaxArray)",
                          (unsigned long long)m->config.max_array);
    if (item->ret_error)
        return item->ret_error;
    users_add(&m->users, u, n, bytes);
    return 0;
}

static void unbook(struct manager *m, uid_t uid, uint64_t n, uint64_t bytes)
{
    struct aftermath after = {0};

    manager_lock(m);
    struct user *u = users_find(&m->users, uid);
    if (u) /* not if what is given back is nothing: it was never booked */
        users_sub(&m->users, u, n, bytes);
    manager_unlock(m, &after);
}

/* --- the passes --------------------------------------------------------------------- */

static void check_item(struct manager_submit *s, size_t i)
{
    struct manager_submit_item *item = &s->items[i];
    struct submission *p = s->pending;
    struct manager *m = s->manager;
    struct aftermath after;
    const char *field = NULL;
    struct volt_error err;
    struct job *job;

    free(item->ret_text);
    item->ret_text = NULL;
    item->ret_id = 0;
    item->ret_error = 0;
    item->ret_existed = false;
    if (job_spec_validate(item->spec, &field, &err) < 0) {
        submission_reject(item, -EINVAL, "%s: %.200s", field, err.text);
        return;
    }
    if (item->spec->kind == JOB_KIND_EXEC && !m->link) {
        submission_reject(item, -EOPNOTSUPP, "this daemon starts no processes");
        return;
    }
    job = job_new(m, item->spec, &s->owner, store_durable(m->store));
    if (!job) {
        submission_reject(item, -ENOMEM, "out of memory");
        return;
    }
    aftermath_init(&after);
    manager_lock(m);
    int r = book(m, s, item, job_spec_count(item->spec), job->bytes);
    bool crowded = m->queue.waiting + p->accepted > JOBS_SLICE;
    manager_unlock(m, &after);
    if (r < 0) {
        job_discard(job);
        return;
    }
    if (crowded && job_waits_bare(job))
        (void)job_slumber(m, job); /* without memory it stays awake */
    p->jobs[i] = job;
    p->keyed |= item->spec->key != NULL;
    p->accepted++;
    p->njobs += job_spec_count(item->spec);
    p->bytes += job->bytes;
}

/* READY: every item is checked. One slice per poll. */
static enum volt_poll check_poll(struct volt_cx *cx, struct manager_submit *s)
{
    struct submission *p = s->pending;
    size_t end = p->at + SUBMIT_SLICE < s->count ? p->at + SUBMIT_SLICE : s->count;

    while (p->at < end)
        check_item(s, p->at++);
    if (p->at == s->count)
        return VOLT_READY;
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

void submission_drop(struct manager_submit *s, size_t i)
{
    struct submission *p = s->pending;
    uint64_t n = job_spec_count(p->jobs[i]->spec), bytes = p->jobs[i]->bytes;

    job_discard(p->jobs[i]);
    p->jobs[i] = NULL;
    p->accepted--;
    p->njobs -= n;
    p->bytes -= bytes;
    unbook(s->manager, s->owner.uid, n, bytes);
}

/* A slot for a job that would be the only one to wait, and the task that needs it. */
static void grant(struct manager_submit *s)
{
    struct submission *p = s->pending;
    struct manager *m = s->manager;
    struct aftermath after = {0};
    size_t i = 0;

    if (p->accepted != 1)
        return;
    while (!p->jobs[i])
        i++;
    struct job *job = p->jobs[i];
    if (!job_waits_bare(job) || job->dormant || s->items[i].spec->replaces)
        return;
    job->live = work_new(m, job, NO_OFFSET);
    if (!job->live)
        return;
    manager_lock(m);
    p->granted =
        !m->closed && list_is_empty(&m->ahead.line) && queue_take_free(&m->queue);
    manager_unlock(m, &after);
    if (p->granted) {
        job->tasks = 1;
        return;
    }
    volt_task_discard(job->live);
    job->live = NULL;
}

/* The job that has been granted a slot; NULL: none. */
static struct job *granted_job(const struct submission *p)
{
    size_t i = 0;

    if (!p->granted)
        return NULL;
    while (!p->jobs[i])
        i++;
    return p->jobs[i];
}

/* While the store writes, all is made ready to start it. */
static void prepare(struct manager_submit *s)
{
    struct submission *p = s->pending;
    const struct job_key key = {.id = p->first_id, .index = JOB_NO_INDEX, .attempt = 1};
    struct job *job = granted_job(p);

    if (job && !job->live->attempt)
        work_prepare(job->live, &key);
}

static void take_slot_back(struct manager_submit *s)
{
    struct submission *p = s->pending;
    struct manager *m = s->manager;
    struct aftermath after = {0};
    struct job *job = granted_job(p);

    if (!job)
        return;
    p->granted = false;
    if (job->live->attempt && !p->committed) /* else it is a job at the next start */
        output_forget(&m->outputs, m->rt, p->first_id);
    attempt_free(job->live->attempt);
    job->live->attempt = NULL;
    manager_lock(m);
    queue_release(&m->queue);
    manager_unlock(m, &after);
}

/* All that was accepted is given up; the items say why unless they do already. */
static void give_up(struct manager_submit *s, int error, const char *text)
{
    struct submission *p = s->pending;

    claim_release(s);
    take_slot_back(s);
    for (size_t i = 0; i < s->count; i++) {
        if (!p->jobs[i])
            continue;
        job_discard(p->jobs[i]);
        p->jobs[i] = NULL;
        if (!s->items[i].ret_error)
            submission_reject(&s->items[i], error, "%s", text);
    }
    unbook(s->manager, s->owner.uid, p->njobs, p->bytes);
    p->accepted = 0;
    p->njobs = p->bytes = 0;
}

struct reserve {
    struct ids *ids;
    uint64_t count;
    int status;
};

static enum volt_poll reserve_poll(struct volt_cx *cx, void *state)
{
    struct reserve *r = state;

    (void)cx;
    r->status = ids_reserve(r->ids, r->count);
    return VOLT_READY;
}

static const struct volt_task_type reserve_type = {"reserve ids", sizeof(struct reserve),
                                                   reserve_poll, NULL, NULL};

static int reserve_begin(struct manager_submit *s)
{
    struct submission *p = s->pending;
    struct reserve *r = volt_task_new(s->manager->rt, &reserve_type);

    if (!r)
        return -ENOMEM;
    r->ids = &s->manager->ids;
    r->count = p->accepted;
    p->joined = true;
    return volt_task_spawn_blocking(r, &p->reserving);
}

static int reserve_end(struct submission *p)
{
    int status = volt_join_status(&p->reserving);

    if (status == 0)
        status = ((struct reserve *)volt_join_state(&p->reserving))->status;
    volt_join_fini(&p->reserving);
    p->joined = false;
    return status;
}

/* READY: p->first_id is set, or everything was given up. The file of ids is written on
 * the pool for blocking calls, once per IDS_BLOCK ids. */
static enum volt_poll ids_poll(struct volt_cx *cx, struct manager_submit *s)
{
    struct submission *p = s->pending;
    int r;

    for (;;) {
        if (p->joined) {
            if (volt_join_poll(cx, &p->reserving) == VOLT_PENDING)
                return VOLT_PENDING;
            r = reserve_end(p);
        } else {
            if (ids_take(&s->manager->ids, p->accepted, &p->first_id))
                return VOLT_READY;
            r = reserve_begin(s);
        }
        if (r < 0) {
            char text[128];
            (void)snprintf(text, sizeof(text), "cannot reserve job ids: %s",
                           strerror(-r));
            give_up(s, r, text);
            return VOLT_READY;
        }
    }
}

/* Whether watchers may be told of jobs that are not in the table yet. */
static void set_entering(struct manager_submit *s, bool yes)
{
    struct submission *p = s->pending;
    struct aftermath after = {0};

    if (p->entering == yes)
        return;
    p->entering = yes;
    manager_lock(s->manager);
    s->manager->entering += yes ? 1 : UINT32_MAX;
    s->manager->entered |= !yes;
    manager_unlock(s->manager, &after);
}

static struct job_event starting_of(uint64_t at_usec)
{
    return (struct job_event){.type = JOB_EV_STARTING, .at_usec = at_usec, .attempt = 1};
}

/* The facts of a submission, on their way into the store. */
struct filling {
    struct manager_submit *s;
    const struct job_event *submit, *starting;
    size_t at; /* item */
    uint64_t id;
    bool started; /* the last fact has been brought */
};

static size_t fill(void *arg, struct store_fact *facts, size_t max)
{
    struct filling *f = arg;
    struct submission *p = f->s->pending;
    size_t n = 0;

    for (; n < max && f->at < f->s->count; f->at++) {
        if (!p->jobs[f->at])
            continue;
        facts[n++] = (struct store_fact){.key = {.id = f->id++, .index = JOB_NO_INDEX},
                                         .event = f->submit,
                                         .spec = f->s->items[f->at].spec,
                                         .uid = f->s->owner.uid,
                                         .gid = f->s->owner.gid};
    }
    if (n < max && p->granted && !f->started) {
        facts[n++] = (struct store_fact){
            .key = {.id = p->first_id, .index = JOB_NO_INDEX, .attempt = 1},
            .event = f->starting,
            .uid = f->s->owner.uid,
            .state = JOB_STARTING};
        f->started = true;
    }
    return n;
}

static void append(struct manager_submit *s)
{
    struct submission *p = s->pending;
    struct job_event submit = {.type = JOB_EV_SUBMIT, .at_usec = jobs_now_usec()};
    struct job_event starting = starting_of(submit.at_usec);
    struct filling f = {
        .s = s, .submit = &submit, .starting = &starting, .id = p->first_id};

    grant(s);
    p->at_usec = submit.at_usec;
    set_entering(s, true);
    int r = store_append_filled(s->manager->store, fill, &f, &p->commit);
    CRASH_POINT("submit-appended");
    if (r < 0)
        p->commit = (struct store_commit){.status = r};
    p->appended = r == 0;
}

struct beside {
    struct manager_submit *s;
    int error;
    const char *text;
};

static void append_beside(void *arg)
{
    append(((struct beside *)arg)->s);
}

static void give_up_beside(void *arg)
{
    const struct beside *b = arg;

    give_up(b->s, b->error, b->text);
}

/* Of many jobs neither can be divided: no worker does it then. */
static void do_beside(struct volt_cx *cx, struct beside *b, void (*fn)(void *))
{
    struct submission *p = b->s->pending;

    if (p->accepted > JOBS_SLICE)
        volt_block_in_place(cx, fn, b);
    else
        fn(b);
}

static const char *why_not_kept(int error)
{
    switch (error) {
    case -ENOSPC:
        return "the disk of the store is full; the log of voltd says where";
    case -EIO:
        return "the store cannot be written; the log of voltd says why";
    case -ENOMEM:
        return "out of memory";
    default:
        return "the store did not take it";
    }
}

/* READY: kept, or everything was given up. */
static enum volt_poll commit_poll(struct volt_cx *cx, struct manager_submit *s)
{
    struct submission *p = s->pending;

    if (p->commit.store && store_commit_poll(cx, &p->commit) == VOLT_PENDING) {
        prepare(s);
        return VOLT_PENDING;
    }
    p->appended = false;
    if (p->commit.status < 0)
        do_beside(cx,
                  &(struct beside){s, p->commit.status, why_not_kept(p->commit.status)},
                  give_up_beside);
    CRASH_POINT("submit-committed");
    p->committed = true;
    p->at = 0;
    return VOLT_READY;
}

/* Lock held: the job, just entered, has the slot of the submission. */
static void start_at_once(struct manager *m, struct submission *p, struct job *job)
{
    const struct job_event starting = starting_of(p->at_usec);

    queue_remove(&m->queue, &job->node);
    job->live->granted = job->live->kept_starting = true;
    p->granted = false;
    (void)jobs_apply(m, job, NO_OFFSET, &starting); /* a queued job takes it */
}

static void enter_slice(struct manager_submit *s, size_t end)
{
    struct submission *p = s->pending;
    struct manager *m = s->manager;
    struct aftermath after = {0};
    struct work *spawn[JOBS_SLICE];
    struct job_spec *specs[JOBS_SLICE];
    uint64_t first_id = p->first_id, replaced[JOBS_SLICE];
    size_t n = 0, nspecs = 0, nreplaced = 0;

    manager_lock(m);
    bool ending = m->ending;
    for (; p->at < end && n < JOBS_SLICE && nspecs < JOBS_SLICE && nreplaced < JOBS_SLICE;
         p->at++) {
        struct job *job = p->jobs[p->at];

        if (!job)
            continue;
        const uint64_t id = p->first_id++; /* as it is kept, entered or not */
        manager_did(m, 1, 0, 0);
        if (job->spec->replaces) {
            replaced[nreplaced++] = job->spec->replaces;
            succession_begin(m, job->spec->replaces, job, id);
        }
        if (job_enter(m, job, id, p->at_usec) < 0) {
            submission_reject(&s->items[p->at], -ENOMEM, "out of memory");
            continue; /* given up when the submission is finished */
        }
        if (p->granted)
            start_at_once(m, p, job);
        claim_settle(m, job, id);
        job->claimed = false;
        s->items[p->at].ret_id = id;
        if (job->live)
            spawn[n++] = job->live;
        p->jobs[p->at] = NULL;
        p->njobs -= job_spec_count(job->spec);
        p->bytes -= job->bytes;
        if (job->dormant) {
            specs[nspecs++] = job->spec;
            job->spec = NULL;
        }
    }
    manager_unlock(m, &after);
    for (size_t i = 0; i < nspecs; i++)
        job_spec_unref(specs[i]);
    for (size_t i = 0; i < n; i++) {
        work_send_start(spawn[i]); /* if it is prepared: nothing else comes before */
        (void)volt_task_spawn(spawn[i], NULL); /* closing: it is dropped */
    }
    CRASH_POINT("replace-entered");
    for (size_t i = 0; i < nreplaced; i++)
        (void)manager_cancel(m, &s->owner, replaced[i], JOB_NO_INDEX);
    /* The end of all jobs has not seen these. */
    for (uint64_t id = first_id; ending && id < p->first_id; id++)
        (void)manager_cancel(m, &s->owner, id, JOB_NO_INDEX);
}

/* READY: every accepted job is in the table and has its task. */
static enum volt_poll enter_poll(struct volt_cx *cx, struct manager_submit *s)
{
    struct submission *p = s->pending;
    size_t end = p->at + SUBMIT_SLICE < s->count ? p->at + SUBMIT_SLICE : s->count;

    while (p->at < end)
        enter_slice(s, end);
    if (p->at == s->count)
        return VOLT_READY;
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

static bool begin(struct manager_submit *s)
{
    struct submission *p = calloc(1, sizeof(*p));

    if (p)
        p->jobs = calloc(s->count ? s->count : 1, sizeof(struct job *));
    s->pending = p;
    if (p && p->jobs)
        return true;
    for (size_t i = 0; i < s->count; i++)
        submission_reject(&s->items[i], -ENOMEM, "out of memory");
    return false;
}

static bool any_refused(const struct manager_submit *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->items[i].ret_error)
            return true;
    return false;
}

enum volt_poll manager_submit_poll(struct volt_cx *cx, struct manager_submit *s)
{
    struct submission *p = s->pending;

    VOLT_BEGIN(s->at);
    s->ret_durable = store_durable(s->manager->store);
    if (!begin(s))
        return VOLT_READY;
    VOLT_AWAIT(s->at, check_poll(cx, s));
    ((struct submission *)s->pending)->at = 0;
    VOLT_AWAIT(s->at, claim_poll(cx, s));
    p = s->pending;
    if (s->atomic && any_refused(s))
        do_beside(
            cx, &(struct beside){s, -ECANCELED, "another spec of this batch was refused"},
            give_up_beside);
    if (p->accepted)
        VOLT_AWAIT(s->at, ids_poll(cx, s));
    if (p->accepted) {
        do_beside(cx, &(struct beside){.s = s}, append_beside);
        VOLT_AWAIT(s->at, commit_poll(cx, s));
    }
    if (p->accepted)
        VOLT_AWAIT(s->at, enter_poll(cx, s));
    CRASH_POINT("submit-entered");
    set_entering(s, false);
    claim_resolve(s);
    VOLT_END(s->at);
}

/* --- when the submitter goes away in the middle --------------------------------- */

/* What was appended will be kept and is a job, though its submitter is gone: the
 * submission goes on in a task of its own, with items that nobody reads. */
struct late {
    struct manager_submit submit;
    struct manager_submit_item *items;
};

static enum volt_poll late_poll(struct volt_cx *cx, void *state)
{
    struct late *l = state;

    return manager_submit_poll(cx, &l->submit);
}

static void late_drop(void *state)
{
    struct late *l = state;

    manager_submit_fini(&l->submit);
    free(l->items);
}

static const struct volt_task_type late_type = {"late submission", sizeof(struct late),
                                                late_poll, late_drop, NULL};

/* False: no memory, and the jobs come to life at the next start only. */
static bool go_on_alone(struct manager_submit *s)
{
    struct late *l = volt_task_new(s->manager->rt, &late_type);

    if (!l)
        return false;
    l->items = calloc(s->count, sizeof(*l->items));
    if (!l->items) {
        volt_task_discard(l);
        return false;
    }
    l->submit = *s;
    l->submit.items = l->items;
    ((struct submission *)s->pending)->alone = true;
    s->pending = NULL;
    (void)volt_task_spawn(l, NULL); /* closing: dropped, and known at the next start */
    return true;
}

void manager_submit_fini(struct manager_submit *s)
{
    struct submission *p = s->pending;

    if (!p || (p->appended && !p->alone && go_on_alone(s)))
        return;
    if (p->listening)
        volt_notified_fini(&p->news);
    if (p->joined)
        volt_join_fini(&p->reserving);
    store_commit_fini(&p->commit);
    while (p->committed && p->at < s->count)
        enter_slice(s, s->count); /* the submitter went away; the jobs are in the store */
    if (p->jobs)
        give_up(s, -ECANCELED, "out of memory");
    set_entering(s, false);
    free(p->jobs);
    free(p->same);
    free(p->old_body);
    free(p);
    s->pending = NULL;
}
