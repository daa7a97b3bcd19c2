/* Submission: check, take ids, commit, enter, spawn.
 *
 * A batch may hold 200,000 specs, so every pass over it stops after SUBMIT_SLICE items
 * and goes on in the next poll. Nothing is visible before the commit; the answer comes
 * after. One job alone that finds a free slot takes it before: its STARTING is kept by
 * the same commit, it is made ready meanwhile, and its START is the first thing to go out
 * after it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crash.h"
#include "base/error.h"
#include "daemon/exec/post.h"
#include "daemon/exec/submission.h"
#include "daemon/store/fact.h"

void manager_submit_init(struct manager_submit *s, struct manager *m,
                         const struct job_owner *owner, struct manager_submit_item *items,
                         size_t count, bool atomic)
{
    *s = (struct manager_submit){
        .manager = m, .owner = *owner, .items = items, .count = count, .atomic = atomic};
}

/* --- the passes --------------------------------------------------------------------- */

static void check_item(struct manager_submit *s, size_t i)
{
    struct manager_submit_item *item = &s->items[i];
    struct submission *p = s->pending;
    struct manager *m = s->manager;
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
    manager_lock(m);
    int r = submission_book(s, item, job_spec_count(item->spec), job->bytes);
    bool crowded = m->queue.waiting + p->accepted > JOBS_SLICE;
    manager_unlock(m);
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
    size_t end = p->at + submission_portion(s, s->count - p->at);

    for (; p->at < end; p->at++) {
        check_item(s, p->at);
        p->refused |= s->items[p->at].ret_error != 0;
    }
    if (p->at == s->count)
        return VOLT_READY;
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

/* A slot for a job that would be the only one to wait, and the task that needs it. */
static void grant(struct manager_submit *s)
{
    struct submission *p = s->pending;
    struct manager *m = s->manager;
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
    manager_unlock(m);
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
static void prepare(struct volt_cx *cx, struct manager_submit *s)
{
    struct submission *p = s->pending;
    const struct job_key key = {.id = p->first_id, .index = JOB_NO_INDEX, .attempt = 1};
    struct job *job = granted_job(p);

    if (job && !job->live->attempt)
        work_prepare(cx, job->live, &key);
}

static void take_slot_back(struct manager_submit *s)
{
    struct submission *p = s->pending;
    struct manager *m = s->manager;
    struct tx tx;
    struct job *job = granted_job(p);

    if (!job)
        return;
    p->granted = false;
    if (job->live->attempt && !p->committed) /* else it is a job at the next start */
        output_forget_later(&m->outputs, m->rt, &p->first_id, 1);
    attempt_free(job->live->attempt);
    job->live->attempt = NULL;
    core_begin(&tx, m);
    queue_release(&m->queue);
    core_finish(&tx);
}

/* What was accepted of the next portion of the items is given up; they say why unless
 * they do already. False: that was all. */
static bool give_up_some(struct manager_submit *s, int error, const char *text)
{
    struct submission *p = s->pending;
    size_t from = p->through;

    p->through = s->count - from < SUBMIT_SLICE ? s->count : from + SUBMIT_SLICE;
    claim_release(s, from, p->through);
    for (size_t i = from; i < p->through; i++) {
        if (!p->jobs[i])
            continue;
        job_discard(p->jobs[i]);
        p->jobs[i] = NULL;
        if (!s->items[i].ret_error && !p->alone)
            submission_reject(&s->items[i], error, "%s", text);
    }
    return p->through < s->count;
}

static void end_giving_up(struct manager_submit *s)
{
    struct submission *p = s->pending;

    submission_unbook(s, p->njobs, p->bytes);
    p->accepted = p->entered = 0;
    p->njobs = p->bytes = 0;
}

static void give_up(struct manager_submit *s, int error, const char *text)
{
    struct submission *p = s->pending;

    take_slot_back(s);
    p->through = 0;
    while (give_up_some(s, error, text))
        ;
    end_giving_up(s);
}

struct beside {
    struct manager_submit *s;
    int error;
    const char *text;
};

static void give_up_beside(void *arg)
{
    const struct beside *b = arg;

    give_up(b->s, b->error, b->text);
}

/* Of many jobs neither can be divided: no worker does it then. */
static void do_beside(struct volt_cx *cx, struct beside *b, void (*fn)(void *))
{
    if (b->s->count > JOBS_SLICE)
        volt_block_in_place(cx, fn, b);
    else
        fn(b);
}

struct reserve {
    struct ids *ids;
    uint64_t count;
    int status;
    struct volt_error err;
};

static enum volt_poll reserve_poll(struct volt_cx *cx, void *state)
{
    struct reserve *r = state;

    (void)cx;
    r->status = ids_reserve(r->ids, r->count, &r->err);
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

static int reserve_end(struct submission *p, struct volt_error *err)
{
    int status = volt_join_status(&p->reserving);

    if (status < 0) {
        (void)error_set(err, status, "%s", strerror(-status));
    } else {
        const struct reserve *r = volt_join_state(&p->reserving);

        status = r->status;
        *err = r->err;
    }
    volt_join_fini(&p->reserving);
    p->joined = false;
    return status;
}

/* READY: p->first_id is set, or everything was given up. The file of ids is written on
 * the pool for blocking calls, once per IDS_BLOCK ids. */
static enum volt_poll ids_poll(struct volt_cx *cx, struct manager_submit *s)
{
    struct submission *p = s->pending;
    struct volt_error why = {.text = "out of memory"};
    int r;

    for (;;) {
        if (p->joined) {
            if (volt_join_poll(cx, &p->reserving) == VOLT_PENDING)
                return VOLT_PENDING;
            r = reserve_end(p, &why);
        } else {
            if (ids_take(&s->manager->ids, p->accepted, &p->first_id))
                return VOLT_READY;
            r = reserve_begin(s);
        }
        if (r < 0) {
            char text[sizeof(why.text) + 32];
            (void)snprintf(text, sizeof(text), "cannot reserve job ids: %s", why.text);
            do_beside(cx, &(struct beside){s, r, text}, give_up_beside);
            return VOLT_READY;
        }
    }
}

/* Whether watchers may be told of jobs that are not in the table yet. */
static void set_entering(struct manager_submit *s, bool yes)
{
    struct submission *p = s->pending;
    struct tx tx;

    if (p->entering == yes)
        return;
    p->entering = yes;
    core_begin(&tx, s->manager);
    s->manager->entering += yes ? 1 : UINT32_MAX;
    s->manager->entered |= !yes;
    core_finish(&tx);
}

static struct job_event starting_of(uint64_t at_usec)
{
    return (struct job_event){.type = JOB_EV_STARTING, .at_usec = at_usec, .attempt = 1};
}

/* The facts of a submission, on their way into the store. */
struct filling {
    struct manager_submit *s;
    const struct job_event *starting;
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
        facts[n++] = (struct store_fact){.type = STORE_SUBMIT,
                                         .submit = {.id = f->id++,
                                                    .at_usec = p->at_usec,
                                                    .spec = f->s->items[f->at].spec,
                                                    .uid = f->s->owner.uid,
                                                    .gid = f->s->owner.gid}};
    }
    if (n < max && p->granted && !f->started) {
        facts[n++] = (struct store_fact){
            .type = STORE_EVENT,
            .event = {.key = {.id = p->first_id, .index = JOB_NO_INDEX, .attempt = 1},
                      .event = f->starting,
                      .after = {.owner = f->s->owner.uid, .state = JOB_STARTING}}};
        f->started = true;
    }
    return n;
}

static void append(struct manager_submit *s)
{
    struct submission *p = s->pending;
    const uint64_t now = jobs_now_usec();
    const struct job_event starting = starting_of(now);
    struct filling f = {.s = s, .starting = &starting, .id = p->first_id};

    grant(s);
    p->at_usec = now;
    set_entering(s, true);
    int r = store_append_filled(s->manager->store, fill, &f, &p->commit);
    CRASH_POINT("submit-appended");
    if (r < 0)
        p->commit = (struct store_commit){.status = r};
    p->appended = r == 0;
}

static void append_beside(void *arg)
{
    append(((struct beside *)arg)->s);
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
        prepare(cx, s);
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
static void start_at_once(struct tx *tx, struct submission *p, struct job *job)
{
    const struct job_event starting = starting_of(p->at_usec);

    queue_remove(&tx->m->queue, &job->node);
    job->live->granted = true;
    p->granted = false;
    (void)core_settle(tx, job, NO_OFFSET, &starting); /* a queued job takes it */
}

static void enter_slice(struct manager_submit *s, size_t end)
{
    struct submission *p = s->pending;
    struct manager *m = s->manager;
    struct tx tx;
    struct work *spawn[JOBS_SLICE];
    struct job_spec *specs[JOBS_SLICE];
    size_t n = 0, nspecs = 0;

    core_begin(&tx, m);
    p->doomed = p->first_id;
    for (; p->at < end && n < JOBS_SLICE && nspecs < JOBS_SLICE &&
           p->nreplaced < SUBMIT_REPLACES;
         p->at++) {
        struct job *job = p->jobs[p->at];

        if (!job)
            continue;
        const uint64_t id = p->first_id++; /* as it is kept, entered or not */
        manager_did(m, 1, 0, 0);
        if (job->spec->replaces) {
            p->replaced[p->nreplaced++] = job->spec->replaces;
            succession_begin(m, job->spec->replaces, job, id);
        }
        if (core_enter(&tx, job, id, p->at_usec) < 0) {
            if (!p->alone)
                submission_reject(&s->items[p->at], -ENOMEM, "out of memory");
            continue; /* given up when the submission is finished */
        }
        if (p->granted)
            start_at_once(&tx, p, job);
        claim_settle(m, job, id);
        job->claimed = false;
        s->items[p->at].ret_id = id;
        if (job->live)
            spawn[n++] = job->live;
        p->jobs[p->at] = NULL;
        p->entered++;
        p->njobs -= job_spec_count(job->spec);
        p->bytes -= job->bytes;
        if (job->dormant) {
            specs[nspecs++] = job->spec;
            job->spec = NULL;
        }
    }
    p->doomed_end = m->ending ? p->first_id : p->doomed; /* its end has not seen these */
    core_finish(&tx);
    for (size_t i = 0; i < nspecs; i++)
        job_spec_unref(specs[i]);
    for (size_t i = 0; i < n; i++) {
        work_send_start(spawn[i]); /* if it is prepared: nothing else comes before */
        (void)volt_task_spawn(spawn[i], NULL); /* closing: it is dropped */
    }
    CRASH_POINT("replace-entered");
}

/* The next job that is to be cancelled; 0: none. */
static uint64_t next_to_cancel(const struct submission *p)
{
    if (p->nreplaced)
        return p->replaced[p->nreplaced - 1];
    return p->doomed < p->doomed_end ? p->doomed : 0;
}

/* A portion: of an array that is replaced each element is cancelled. */
static void cancel_some(struct manager_submit *s)
{
    struct submission *p = s->pending;
    const size_t looks = s->looks ? s->looks : MANAGER_WALK_LOOKS;
    const size_t facts = s->most_facts ? s->most_facts : MANAGER_CANCEL_FACTS;
    uint64_t id;

    while ((id = next_to_cancel(p)) && s->looked < looks && s->facts < facts) {
        p->cancel.most_facts = facts - s->facts;
        p->cancel.looks = looks - s->looked;
        int r = manager_cancel_step(s->manager, &s->owner, id, JOB_NO_INDEX, &p->cancel);
        s->looked += p->cancel.looked;
        s->facts += p->cancel.facts;
        if (r == -EAGAIN)
            continue;
        if (r == -ENOMEM) /* its SUBMIT says so: it is not left out */
            manager_cancel_later(s->manager, &s->owner, id);
        p->cancel = (struct manager_cancel_at){.begun = false};
        if (p->nreplaced)
            p->nreplaced--;
        else
            p->doomed++;
    }
}

/* Enters jobs, but first cancels what those before have made due. */
static void enter_some(struct manager_submit *s, size_t end)
{
    struct submission *p = s->pending;

    while (p->at < end && !next_to_cancel(p))
        enter_slice(s, end);
    cancel_some(s);
}

static bool is_entered(const struct manager_submit *s)
{
    const struct submission *p = s->pending;

    return p->at == s->count && !next_to_cancel(p);
}

/* READY: every accepted job is in the table and has its task, and what they replace is
 * cancelled. */
static enum volt_poll enter_poll(struct volt_cx *cx, struct manager_submit *s)
{
    struct submission *p = s->pending;

    enter_some(s, p->at + submission_portion(s, s->count - p->at));
    if (is_entered(s))
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

enum volt_poll manager_submit_poll(struct volt_cx *cx, struct manager_submit *s)
{
    struct submission *p = s->pending;

    s->looked = s->facts = 0;
    VOLT_BEGIN(s->at);
    s->ret_durable = store_durable(s->manager->store);
    if (!begin(s))
        return VOLT_READY;
    VOLT_AWAIT(s->at, check_poll(cx, s));
    ((struct submission *)s->pending)->at = 0;
    VOLT_AWAIT(s->at, claim_poll(cx, s));
    p = s->pending;
    if (s->atomic && p->refused)
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
    ((struct submission *)s->pending)->through = 0;
    VOLT_AWAIT(s->at, claim_resolve_poll(cx, s));
    VOLT_END(s->at);
}

/* --- when the submitter goes away in the middle --------------------------------- */

/* What was appended will be kept and is a job, though its submitter is gone: the
 * submission goes on in a task of its own, with items that nobody reads. So does one of
 * many jobs that is given up: a portion a poll. */
struct late {
    struct manager_submit submit;
    struct manager_submit_item *items;
};

static enum volt_poll late_poll(struct volt_cx *cx, void *state)
{
    struct late *l = state;
    const struct submission *p = l->submit.pending;

    if (!p->abandoned)
        return manager_submit_poll(cx, &l->submit);
    if (!give_up_some(&l->submit, -ECANCELED, ""))
        return VOLT_READY;
    volt_cx_wake(cx);
    return VOLT_PENDING;
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

/* There is more to do than may be done at once. */
static bool is_to_go_on(struct manager_submit *s)
{
    struct submission *p = s->pending;

    if (p->alone || !p->accepted)
        return false;
    if (p->appended || (p->committed && !is_entered(s)))
        return true;
    p->abandoned = !p->committed && s->count > SUBMIT_SLICE;
    p->through = 0;
    return p->abandoned;
}

static void stop_waiting(struct submission *p)
{
    if (p->listening)
        volt_notified_fini(&p->news);
    if (p->joined)
        volt_join_fini(&p->reserving);
    p->listening = p->joined = false;
}

void manager_submit_fini(struct manager_submit *s)
{
    struct submission *p = s->pending;

    if (!p)
        return;
    stop_waiting(p);
    if (is_to_go_on(s) && go_on_alone(s))
        return;
    store_commit_fini(&p->commit);
    while (p->committed && p->accepted && !is_entered(s))
        enter_some(s, s->count); /* voltd ends, or there is no memory for a task */
    if (p->accepted > p->entered)
        give_up(s, -ECANCELED, "out of memory");
    set_entering(s, false);
    free(p->jobs);
    free(p->same);
    free(p->old_body);
    free(p);
    s->pending = NULL;
}
