/* Submission: check, take ids, commit, enter, spawn.
 *
 * A batch may hold 200,000 specs, so every pass over it stops after SUBMIT_SLICE items
 * and goes on in the next poll; the pass that packs facts after a turn's worth. Nothing
 * is visible before the commit; the answer comes after. A single job that finds a free
 * slot takes it first: the same commit has its STARTING, its start is prepared during the
 * commit, and its START goes out right after. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crash.h"
#include "base/error.h"
#include "daemon/core/conditions.h"
#include "daemon/core/dependencies.h"
#include "daemon/core/index.h"
#include "daemon/core/phase.h"
#include "daemon/core/post.h"
#include "daemon/core/waiting.h"
#include "daemon/dispatch/grant.h"
#include "daemon/query/past_edges.h"
#include "daemon/query/query.h"
#include "daemon/run/work.h"
#include "daemon/store/fact.h"
#include "daemon/submit/ids.h"
#include "daemon/submit/submission.h"

void jobs_submit_init(struct jobs_submit *s, struct core *core,
                      const struct job_owner *owner, struct jobs_submit_item *items,
                      size_t count, bool atomic)
{
    *s = (struct jobs_submit){
        .core = core, .owner = *owner, .items = items, .count = count, .atomic = atomic};
}

/* --- --- the log may have jobs that are not in the table yet ------------------------ */

/* Lock held. */
static void begin_entering(struct jobs_submit *s)
{
    struct submission *p = s->pending;

    p->entering = true;
    phase_enter(s->core);
    p->ticket = core_before_log(s->core);
}

/* Lock held. */
static void end_entering(struct jobs_submit *s)
{
    struct submission *p = s->pending;

    p->entering = false;
    core_after_log(s->core, &p->ticket);
    phase_entered(s->core);
}

/* Ends the entering of a submission that stopped before its end. */
static void give_up_entering(struct jobs_submit *s)
{
    struct submission *p = s->pending;
    struct tx tx;

    if (!p->entering)
        return;
    core_begin(&tx, s->core);
    end_entering(s);
    dispatch_finish(&tx);
}

/* --- the passes --------------------------------------------------------------------- */

static void find_keys(struct jobs_submit *s, struct job_spec *spec)
{
    size_t i = 0;

    while (i < spec->nafter && (spec->after[i].job || !spec->after[i].key))
        i++;
    if (i == spec->nafter)
        return;
    core_lock(s->core);
    dependencies_find_keys(s->core, s->owner.uid, spec, !spec->key);
    core_did(s->core, spec->nafter, 0, 0);
    core_unlock(s->core);
}

/* 0, or the item is rejected. With a key, unknown antecedents are reported later. */
static int look_at_past(struct volt_cx *cx, struct jobs_submit *s,
                        struct jobs_submit_item *item)
{
    struct job_spec *spec = item->spec;
    size_t at = 0;
    int r;

    find_keys(s, spec);
    do {
        r = past_edges_look(cx, s->core, &s->owner, spec, &at, s->quota);
        if (r == -ENOENT && spec->key)
            spec->after[at++].unknown = true;
    } while (r == -ENOENT && spec->key);
    if (r == -ENOENT)
        submission_reject_unknown(item, &spec->after[at]);
    else if (r < 0)
        submission_reject(item, r, "after: how job %llu ended cannot be read",
                          (unsigned long long)spec->after[at].job);
    return r;
}

/* Returns NULL if the item is rejected. */
static struct job *make_job(struct volt_cx *cx, struct jobs_submit *s,
                            struct jobs_submit_item *item)
{
    struct core *core = s->core;
    const char *field = NULL;
    struct volt_error err;

    free(item->ret_text);
    item->ret_text = NULL;
    item->ret_id = 0;
    item->ret_error = item->not_new = 0;
    item->ret_existed = false;
    if (job_spec_validate(item->spec, &field, &err) < 0) {
        submission_reject(item, -EINVAL, "%s: %.200s", field, err.text);
        return NULL;
    }
    if (submission_check_keeper(s, item) < 0)
        return NULL;
    if (!submission_fits(s, item) || look_at_past(cx, s, item) < 0)
        return NULL;
    struct job *job =
        job_new(core, item->spec, &s->owner, store_durable(parts_of(core)->store));
    if (!job)
        submission_reject(item, -ENOMEM, "out of memory");
    return job;
}

/* Returns a task for the only job, if that may take a slot at once; otherwise NULL. Never
 * for a job with claims: without memory to enter it, it would durably hold them while
 * another job gets them. */
static struct work *work_at_once(const struct jobs_submit *s)
{
    const struct submission *p = s->pending;
    size_t i = 0;

    if (p->accepted != 1)
        return NULL;
    while (!p->jobs[i])
        i++;
    struct job *job = p->jobs[i];
    if (!job_waits_bare(job) || job->packed || s->items[i].spec->replaces ||
        conditions_any(job) || job->claims)
        return NULL;
    return work_new(s->core, job, NO_OFFSET);
}

/* Lock held. Marks the submission as soon durable; an only job takes a slot if none waits
 * (crowded: many do). Returns a task to be discarded without the lock, or NULL. */
static struct work *mark(struct jobs_submit *s, bool crowded)
{
    struct submission *p = s->pending;
    struct work *w = crowded ? NULL : work_at_once(s);

    p->granted = w && grant_try(s->core, w);
    begin_entering(s);
    if (!p->granted)
        return w;
    w->job->live = w;
    w->job->tasks = 1;
    return NULL;
}

/* Lock held. Books item i; returns like submission_book(). */
static int book_item(struct jobs_submit *s, size_t i)
{
    struct submission *p = s->pending;
    const struct job_spec *spec = s->items[i].spec;
    int r = submission_book(s, &s->items[i], p->jobs[i]);

    if (r < 0)
        return r;
    p->keyed |= spec->key != NULL;
    p->binds |= submission_binds(spec);
    p->accepted++;
    return 0;
}

struct booking {
    size_t from, at, end; /* items, at most JOBS_SLICE */
    bool crowded[JOBS_SLICE];
    struct job *refused;
    struct work *spare; /* of mark() */
};

/* Returns whether the only item is booked and has no key: it can be appended. */
static bool is_settled(const struct jobs_submit *s)
{
    const struct submission *p = s->pending;

    return s->count == 1 && p->accepted && !p->keyed && !s->only_checks;
}

/* Books in one hold of the lock. False: an antecedent of the item at b->at was purged
 * since it was looked at. */
static bool book_some(struct jobs_submit *s, struct booking *b)
{
    struct submission *p = s->pending;
    struct core *core = s->core;
    struct tx tx;
    int r = 0;

    core_begin(&tx, core);
    core_did(core, b->end - b->at, 0, 0);
    for (; b->at < b->end; b->at++) {
        struct job *job = p->jobs[b->at];

        b->crowded[b->at - b->from] = waiting_count(core) + p->accepted > JOBS_SLICE;
        r = job ? book_item(s, b->at) : 0;
        if (r == -EAGAIN)
            break;
        if (r == 0)
            continue;
        job->next = b->refused;
        b->refused = job;
        p->jobs[b->at] = NULL;
    }
    if (is_settled(s))
        b->spare = mark(s, b->crowded[0]);
    dispatch_finish(&tx);
    return r != -EAGAIN;
}

static void book_all(struct volt_cx *cx, struct jobs_submit *s, struct booking *b)
{
    struct submission *p = s->pending;

    while (!book_some(s, b))
        if (look_at_past(cx, s, &s->items[b->at]) < 0) {
            job_discard(p->jobs[b->at]);
            p->jobs[b->at] = NULL;
        }
    if (b->spare)
        volt_task_discard(b->spare);
    for (struct job *job = b->refused, *next; job; job = next) {
        next = job->next;
        job_discard(job);
    }
}

static void check_some(struct volt_cx *cx, struct jobs_submit *s, size_t end)
{
    struct submission *p = s->pending;
    struct booking b = {.from = p->at, .at = p->at, .end = end};

    for (size_t i = p->at; i < end; i++)
        p->jobs[i] = make_job(cx, s, &s->items[i]);
    book_all(cx, s, &b);
    for (; p->at < end; p->at++) {
        struct job *job = p->jobs[p->at];

        submission_note(s, p->at);
        if (job && b.crowded[p->at - b.from] && job_waits_bare(job) &&
            !submission_binds(job->spec))
            (void)job_slumber(s->core, job); /* without memory it stays unpacked */
    }
}

/* Returns the end of the items that one hold of the lock may book, at most `end`. */
static size_t slice_end(const struct jobs_submit *s, size_t end, size_t *edges)
{
    const struct submission *p = s->pending;
    size_t i = p->at;

    for (; i < end && i - p->at < JOBS_SLICE && *edges < SUBMIT_EDGES; i++)
        *edges += s->items[i].spec->nafter;
    return i;
}

/* Checks items, one slice per poll. READY: all are checked. */
static enum volt_poll check_poll(struct volt_cx *cx, struct jobs_submit *s)
{
    struct submission *p = s->pending;
    size_t end = p->at + submission_portion(s, s->count - p->at), edges = 0;

    while (p->at < end && edges < SUBMIT_EDGES)
        check_some(cx, s, slice_end(s, end, &edges));
    quota_charge(s->quota, edges, 0, 0);
    if (p->at == s->count)
        return VOLT_READY;
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

/* Prepares the start of the granted job while the store writes. */
static void prepare(struct volt_cx *cx, struct jobs_submit *s)
{
    struct submission *p = s->pending;
    const struct job_key key = {.id = p->first_id, .index = JOB_NO_INDEX, .attempt = 1};
    struct job *job = submission_granted(p);

    if (job && !job->live->attempt)
        work_prepare(cx, job->live, &key);
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

static int reserve_begin(struct jobs_submit *s)
{
    struct submission *p = s->pending;
    struct reserve *r = volt_task_new(parts_of(s->core)->rt, &reserve_type);

    if (!r)
        return -ENOMEM;
    r->ids = parts_of(s->core)->ids;
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

/* Takes ids. READY: p->first_id is set, or everything was discarded. The pool for
 * blocking calls writes the file of ids, once per IDS_BLOCK ids. */
static enum volt_poll ids_poll(struct volt_cx *cx, struct jobs_submit *s)
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
            if (ids_take(parts_of(s->core)->ids, p->accepted, &p->first_id))
                return VOLT_READY;
            r = reserve_begin(s);
        }
        if (r < 0) {
            char text[sizeof(why.text) + 32];
            (void)snprintf(text, sizeof(text), "cannot reserve job ids: %s", why.text);
            discard_beside(cx, s, 0, r, text);
            return VOLT_READY;
        }
    }
}

static struct job_event starting_of(uint64_t at_usec)
{
    return (struct job_event){.type = JOB_EV_STARTING, .at_usec = at_usec, .attempt = 1};
}

/* Packs the next facts, as many as the turn allows: a SUBMIT per job. Returns their
 * number. */
static size_t pack_some(struct jobs_submit *s, struct store_fact *facts)
{
    struct submission *p = s->pending;
    const size_t most = quota_facts_left(s->quota);
    size_t n = 0;

    for (; n < most && p->packed < s->count; p->packed++) {
        if (!p->jobs[p->packed])
            continue;
        facts[n++] = (struct store_fact){.type = STORE_SUBMIT,
                                         .submit = {.id = p->packed_id++,
                                                    .at_usec = p->at_usec,
                                                    .spec = s->items[p->packed].spec,
                                                    .uid = s->owner.uid,
                                                    .gid = s->owner.gid}};
    }
    quota_charge(s->quota, 0, 0, n);
    return n;
}

/* Marks a submission that check_poll() could not mark yet. */
static void mark_late(struct jobs_submit *s)
{
    const struct submission *p = s->pending;
    struct tx tx;

    if (p->entering)
        return;
    core_begin(&tx, s->core);
    struct work *spare = mark(s, false);
    dispatch_finish(&tx);
    if (spare)
        volt_task_discard(spare);
}

/* Appends the draft, if any, then n facts (with room for one more), then STARTING of the
 * granted job. */
static void append(struct jobs_submit *s, struct store_fact *facts, size_t n)
{
    struct submission *p = s->pending;
    const struct job_event starting = starting_of(p->at_usec);
    struct store_draft *draft = p->draft;

    p->draft = NULL;
    mark_late(s);
    if (p->granted)
        facts[n++] = (struct store_fact){
            .type = STORE_EVENT,
            .event = {.key = {.id = p->first_id, .index = JOB_NO_INDEX, .attempt = 1},
                      .event = &starting,
                      .after = {.owner = s->owner.uid, .state = JOB_STARTING}}};
    if (draft)
        store_draft_add(draft, facts, n);
    int r = draft ? store_draft_append(draft, &p->commit)
                  : store_append(parts_of(s->core)->store, facts, n, &p->commit);
    CRASH_POINT("submit-appended");
    if (r < 0)
        p->commit = (struct store_commit){.status = r};
    p->appended = r == 0;
}

/* READY: appended, or failed. */
static enum volt_poll append_poll(struct volt_cx *cx, struct jobs_submit *s)
{
    struct submission *p = s->pending;
    struct store_fact facts[QUOTA_FACTS + 1]; /* a STARTING */

    if (!p->packed) {
        p->at_usec = jobs_now_usec();
        p->packed_id = p->first_id;
    }
    size_t n = pack_some(s, facts);
    if (p->packed == s->count) {
        append(s, facts, n);
        return VOLT_READY;
    }
    if (!p->draft && !(p->draft = store_draft(parts_of(s->core)->store))) {
        p->commit = (struct store_commit){.status = -ENOMEM};
        return VOLT_READY;
    }
    store_draft_add(p->draft, facts, n);
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

static const char *why_not_kept(int error)
{
    const char *text = store_refusal_text(error);

    if (text)
        return text;
    return error == -ENOMEM ? "out of memory" : "the store did not take it";
}

/* READY: durable, or everything was discarded. */
static enum volt_poll commit_poll(struct volt_cx *cx, struct jobs_submit *s)
{
    struct submission *p = s->pending;

    if (p->commit.store && store_commit_poll(cx, &p->commit) == VOLT_PENDING) {
        prepare(cx, s);
        return VOLT_PENDING;
    }
    p->appended = false;
    if (p->commit.status < 0)
        discard_beside(cx, s, 0, p->commit.status, why_not_kept(p->commit.status));
    CRASH_POINT("submit-committed");
    p->committed = true;
    p->at = 0;
    return VOLT_READY;
}

/* Returns the next job to cancel; 0: none. */
static uint64_t next_to_cancel(const struct submission *p)
{
    if (p->nreplaced)
        return p->replaced[p->nreplaced - 1];
    return p->doomed < p->doomed_end ? p->doomed : 0;
}

static bool is_entered(const struct jobs_submit *s)
{
    const struct submission *p = s->pending;

    return p->at == s->count && !next_to_cancel(p);
}

/* Lock held. Starts the job, just entered, with the submission's slot. */
static void start_at_once(struct tx *tx, struct submission *p, struct job *job)
{
    const struct job_event starting = starting_of(p->at_usec);

    p->granted = false;
    job->live->begun = true;
    (void)core_settle(tx, job, NO_OFFSET, &starting); /* a queued job accepts it */
}

static void enter_slice(struct jobs_submit *s, size_t end)
{
    struct submission *p = s->pending;
    struct core *core = s->core;
    struct tx tx;
    struct work *spawn[JOBS_SLICE];
    struct job_spec *specs[JOBS_SLICE];
    size_t n = 0, nspecs = 0;

    core_begin(&tx, core);
    p->doomed = p->first_id;
    for (; p->at < end && n < JOBS_SLICE && nspecs < JOBS_SLICE &&
           p->nreplaced < SUBMIT_REPLACES;
         p->at++) {
        struct job *job = p->jobs[p->at];

        if (!job)
            continue;
        if (p->at + 1 < end && p->jobs[p->at + 1])
            index_prepare(core, p->jobs[p->at + 1]);
        const uint64_t id = p->first_id++; /* entered or not, as the store has it */
        core_did(core, 1, 0, 0);
        if (job->spec->replaces)
            p->replaced[p->nreplaced++] = job->spec->replaces;
        if (core_enter(&tx, job, id, p->at_usec) < 0) {
            if (!p->alone)
                submission_reject(&s->items[p->at], -ENOMEM, "out of memory");
            continue; /* discarded at the end of the submission */
        }
        core_wait_begins(core, job, job->spec);
        if (p->granted)
            start_at_once(&tx, p, job);
        claim_settle(core, job, id);
        job->claimed = false;
        s->items[p->at].ret_id = id;
        if (job->live)
            spawn[n++] = job->live;
        p->jobs[p->at] = NULL;
        p->entered++;
        if (job->packed) {
            specs[nspecs++] = job->spec;
            job->spec = NULL;
        }
    }
    p->doomed_end =
        phase_is_ending(core) ? p->first_id : p->doomed; /* the end of voltd has missed
                                                          * these */
    if (is_entered(s) && p->entering)
        end_entering(s);
    dispatch_finish(&tx);
    for (size_t i = 0; i < nspecs; i++)
        job_spec_unref(specs[i]);
    for (size_t i = 0; i < n; i++) {
        work_send_start(spawn[i]);             /* if prepared: first of all */
        (void)volt_task_spawn(spawn[i], NULL); /* a closing runtime drops it */
    }
    CRASH_POINT("replace-entered");
}

/* Cancels a portion: of a replaced array, each element. */
static void cancel_some(struct jobs_submit *s)
{
    struct submission *p = s->pending;
    const struct asker by = auth_user(s->owner.uid);
    uint64_t id;

    while ((id = next_to_cancel(p)) && !quota_is_over(s->quota)) {
        p->cancel.quota = s->quota;
        int r = steer_step(s->core, &by, id, JOB_NO_INDEX, &p->cancel);
        if (r == -EAGAIN)
            continue;
        if (r == -ENOMEM) /* its durable SUBMIT replaces the job: cancel later */
            steer_cancel_later(s->core, &by, id);
        p->cancel = (struct steer_at){.begun = false};
        if (p->nreplaced)
            p->nreplaced--;
        else
            p->doomed++;
    }
}

/* Enters jobs, after cancelling those that earlier entries replace. */
static void enter_some(struct jobs_submit *s, size_t end)
{
    struct submission *p = s->pending;

    while (p->at < end && !next_to_cancel(p))
        enter_slice(s, end);
    cancel_some(s);
}

/* Enters jobs. READY: all accepted jobs are in the table with their tasks, and what they
 * replace is cancelled. */
static enum volt_poll enter_poll(struct volt_cx *cx, struct jobs_submit *s)
{
    struct submission *p = s->pending;

    /* Cancelling, which comes first, may need all looks of this poll. */
    const size_t most = next_to_cancel(p) ? 0 : s->count - p->at;

    enter_some(s, p->at + submission_portion(s, most));
    if (is_entered(s))
        return VOLT_READY;
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

static bool begin(struct jobs_submit *s)
{
    struct submission *p = calloc(1, sizeof(*p));

    if (p)
        p->stop = s->count;
    if (p)
        p->jobs = calloc(s->count ? s->count : 1, sizeof(struct job *));
    s->pending = p;
    if (p && p->jobs)
        return true;
    for (size_t i = 0; i < s->count; i++)
        submission_reject(&s->items[i], -ENOMEM, "out of memory");
    return false;
}

enum volt_poll jobs_submit_poll(struct volt_cx *cx, struct jobs_submit *s)
{
    struct submission *p = s->pending;

    VOLT_BEGIN(s->at);
    s->ret_durable = store_durable(parts_of(s->core)->store);
    if (!begin(s))
        return VOLT_READY;
    VOLT_AWAIT(s->at, submission_keeper_poll(cx, s));
    VOLT_AWAIT(s->at, check_poll(cx, s));
    ((struct submission *)s->pending)->at = 0;
    VOLT_AWAIT(s->at, claim_poll(cx, s));
    p = s->pending;
    if (s->atomic && p->refused)
        discard_beside(cx, s, 0, -ECANCELED, "another spec of this batch was refused");
    discard_beside(cx, s, p->stop, -ECANCELED,
                   "an earlier spec of this batch met a limit");
    submission_stand(s);
    if (s->only_checks)
        discard_beside(cx, s, 0, 0, "");
    if (p->accepted)
        VOLT_AWAIT(s->at, ids_poll(cx, s));
    if (p->accepted && p->binds)
        VOLT_AWAIT(s->at, bind_poll(cx, s));
    if (p->bind_error < 0)
        discard_beside(cx, s, 0, p->bind_error, strerror(-p->bind_error));
    if (p->accepted) {
        VOLT_AWAIT(s->at, append_poll(cx, s));
        VOLT_AWAIT(s->at, commit_poll(cx, s));
    }
    if (p->accepted)
        VOLT_AWAIT(s->at, enter_poll(cx, s));
    CRASH_POINT("submit-entered");
    give_up_entering(s);
    ((struct submission *)s->pending)->through = 0;
    VOLT_AWAIT(s->at, claim_resolve_poll(cx, s));
    VOLT_END(s->at);
}

/* --- --- when the submitter disconnects ----------------------------------------- */

/* A submission without its submitter: what was appended becomes durable and is a job. It
 * goes on in a task of its own, with items that nobody reads. So does discarding many
 * jobs: a portion per poll. */
struct late {
    struct jobs_submit submit;
    struct jobs_submit_item *items;
    struct quota quota; /* of a poll */
};

static enum volt_poll late_poll(struct volt_cx *cx, void *state)
{
    struct late *l = state;
    const struct submission *p = l->submit.pending;

    l->quota = (struct quota){0};
    l->submit.quota = &l->quota;
    if (!p->abandoned)
        return jobs_submit_poll(cx, &l->submit);
    if (!discard_some(&l->submit, -ECANCELED, ""))
        return VOLT_READY;
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

static void late_drop(void *state)
{
    struct late *l = state;

    jobs_submit_fini(&l->submit);
    free(l->items);
}

static const struct volt_task_type late_type = {"late submission", sizeof(struct late),
                                                late_poll, late_drop, NULL};

/* Moves the submission to a task. False: no memory; the jobs appear at the next start. */
static bool go_on_alone(struct jobs_submit *s)
{
    struct late *l = volt_task_new(parts_of(s->core)->rt, &late_type);

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
    (void)volt_task_spawn(l, NULL); /* a closing runtime drops it; the jobs appear at the
                                     * next start */
    return true;
}

/* Returns whether more is left than may be done at once. */
static bool is_to_go_on(struct jobs_submit *s)
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

/* Stops whatever is in progress except the append. */
static void stop_waiting(struct submission *p)
{
    volt_sleep_fini(&p->rest);
    if (p->listening)
        volt_notified_fini(&p->news);
    if (p->joined)
        volt_join_fini(&p->reserving);
    p->listening = p->joined = false;
    store_draft_free(p->draft);
    p->draft = NULL;
}

void jobs_submit_fini(struct jobs_submit *s)
{
    struct submission *p = s->pending;

    if (!p)
        return;
    stop_waiting(p);
    if (is_to_go_on(s) && go_on_alone(s))
        return;
    store_commit_fini(&p->commit);
    s->quota = NULL;
    while (p->committed && p->accepted && !is_entered(s))
        enter_some(s, s->count); /* voltd ends, or there is no memory for a task */
    if (p->accepted > p->entered)
        discard(s, 0, -ECANCELED, "out of memory");
    give_up_entering(s);
    free(p->jobs);
    free(p->same);
    free(p->body);
    free(p->old_body);
    free(p->ids);
    free(p);
    s->pending = NULL;
}
