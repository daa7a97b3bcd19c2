/* Appends facts to the store, applies events to statuses, and counts: post.h. */
#include "daemon/core/post.h"

#include <errno.h>

#include "daemon/core/act.h"
#include "daemon/core/claims.h"
#include "daemon/core/each.h"
#include "daemon/core/state.h"
#include "daemon/store/fact.h"

#define OWED_MAX 2 /* STARTING, STARTED */
/* The event, its output, its last fact, its key; tokens spent by a start. */
#define FACTS_MAX (OWED_MAX + 4 + JOB_CLAIMS_MAX)

/* Returns the task whose attempt the event is about. NULL for an array as a whole. */
static struct work *work_of(const struct job *job, int64_t item)
{
    return job->array && item == ARRAY_WHOLE ? NULL : jobs_live(job, item);
}

/* --- applying an event -------------------------------------------------------------- */

struct job_status core_whole_reported(enum job_event_type type)
{
    return (struct job_status){.state = type == JOB_EV_CANCEL || type == JOB_EV_EXPIRED ||
                                                type == JOB_EV_DEPENDENCY
                                            ? JOB_STOPPING
                                            : JOB_QUEUED};
}

static void tell(struct core *core, struct job *job, int64_t item,
                 const struct job_event *ev, const struct job_status *st)
{
    struct job_news news = {
        .at_usec = ev->at_usec,
        .key = jobs_key(job, item),
        .type = (uint8_t)ev->type,
        .state = st->state,
        .end = job_end_notified(ev, st),
        .owner = job->owner.uid,
    };

    core_event_add(core, &news);
}

/* Reports an event of the array as a whole. */
static void tell_array(struct core *core, struct job *job, enum job_event_type type)
{
    const struct job_event ev = {.type = type, .at_usec = jobs_now_usec()};
    struct job_status st = array_status(job->array);

    tell(core, job, ARRAY_WHOLE, &ev, &st);
}

/* Counts jobs or elements that changed their state. */
static void count_moved(struct core *core, struct job *job,
                        const struct array_effects *fx)
{
    core->counts.by_state[fx->from] -= fx->moved;
    core->counts.by_state[fx->to] += fx->moved;
    if (fx->to != JOB_DONE || !fx->moved)
        return;
    core->counts.ended += fx->moved;
    core->counts.by_result[fx->result] += fx->moved;
    users_sub(&core->users, users_find(&core->users, job->owner.uid), fx->moved,
              fx->over ? job->bytes : 0);
}

static int apply_to_array(struct core *core, struct job *job, int64_t item,
                          const struct job_event *ev)
{
    struct array_effects fx;
    int r = array_update(job->array, item, ev, &fx);

    if (r < 0)
        return r;
    count_moved(core, job, &fx);
    if (item == ARRAY_WHOLE)
        tell_array(core, job, fx.over ? JOB_EV_EXITED : ev->type);
    else if (ev->type != JOB_EV_SUBMIT) /* reported with its array */
        tell(core, job, item, ev, array_own(job->array, item));
    if (item != ARRAY_WHOLE && fx.over)
        tell_array(core, job, JOB_EV_EXITED);
    return 0;
}

static int apply_to_job(struct core *core, struct job *job, const struct job_event *ev)
{
    struct job_status *st = &job->status;
    uint8_t from = st->state;
    int r = job_update(st, ev);

    if (r < 0)
        return r;
    if (ev->type != JOB_EV_SUBMIT)
        count_moved(core, job,
                    &(struct array_effects){.moved = 1,
                                            .from = from,
                                            .to = st->state,
                                            .result = st->result,
                                            .over = st->state == JOB_DONE});
    tell(core, job, ARRAY_WHOLE, ev, st);
    return 0;
}

/* Applies the event. An attempt that led back to the queue owes no facts. */
static int apply(struct core *core, struct job *job, int64_t item,
                 const struct job_event *ev)
{
    struct work *w = work_of(job, item);
    int r =
        job->array ? apply_to_array(core, job, item, ev) : apply_to_job(core, job, ev);

    if (r == 0 && w && jobs_status(job, item)->state == JOB_QUEUED)
        w->kept_starting = w->kept_started = false;
    if (r == 0) {
        index_follow(core, job);
        dependencies_follow(core, job);
        if (job->array)
            each_follow(core, job, item);
    }
    return r;
}

/* --- facts of an event -------------------------------------------------------------- */

/* Computes the job's status after the event. Returns 0 or -EPROTO. */
static int foresee(const struct job *job, int64_t item, const struct job_event *ev,
                   struct job_status *ret)
{
    if (job->array && item == ARRAY_WHOLE) {
        struct array whole = *job->array; /* shares the elements, unchanged */
        struct array_effects fx;

        *ret = core_whole_reported(ev->type);
        return array_update(&whole, item, ev, &fx);
    }
    *ret = jobs_any_status(job, item);
    return job_update(ret, ev);
}

static void put_fact(const struct job *job, int64_t item, const struct job_event *ev,
                     const struct job_status *st, struct store_fact *ret)
{
    ret->type = STORE_EVENT;
    ret->event.key = jobs_key(job, item);
    ret->event.event = ev;
    ret->event.after.owner = job->owner.uid;
    ret->event.after.state = st->state;
    ret->event.after.end = job_end_notified(ev, st);
    if (ev->attempt) /* STARTING begins this attempt */
        ret->event.key.attempt = ev->attempt;
}

/* Makes an owed fact of the running attempt, which put the job in `state`. A cancel may
 * come before STARTED: then STARTING is dated now, and there is no STARTED. */
static void put_owed(const struct job *job, int64_t item, enum job_event_type type,
                     enum job_state state, struct job_event *ev, struct store_fact *ret)
{
    const struct job_status *st = jobs_status(job, item);
    const struct job_status then = {.state = (uint8_t)state};

    *ev = (struct job_event){.type = type,
                             .at_usec =
                                 st->started_usec ? st->started_usec : jobs_now_usec(),
                             .attempt = st->attempt,
                             .pid = st->pid};
    put_fact(job, item, ev, &then, ret);
}

/* Collects the facts of the running attempt that the store lacks. Returns their
 * number. */
static size_t owed_facts(const struct job *job, int64_t item, const struct work *w,
                         struct job_event events[OWED_MAX],
                         struct store_fact facts[OWED_MAX])
{
    const struct job_status *st = w ? jobs_status(job, item) : NULL;
    size_t n = 0;

    if (!w || st->state == JOB_QUEUED)
        return 0;
    if (!w->kept_starting) {
        put_owed(job, item, JOB_EV_STARTING, JOB_STARTING, &events[n], &facts[n]);
        n++;
    }
    if (!w->kept_started && st->started_usec) {
        bool stops = st->state == JOB_STOPPING;

        put_owed(job, item, JOB_EV_STARTED, stops ? JOB_STOPPING : JOB_RUNNING,
                 &events[n], &facts[n]);
        n++;
    }
    return n;
}

/* Notes that the store has the owed facts, and STARTING if that is the event. */
static void note_kept(struct work *w, const struct job_status *st,
                      const struct job_event *ev)
{
    if (!w || (st->state == JOB_QUEUED && !(ev && ev->type == JOB_EV_STARTING)))
        return;
    w->kept_starting = true;
    w->kept_started |= st->started_usec != 0;
}

/* Collects the facts of an event after which the status is *next. *copy is the event that
 * the facts point to. Returns their number. */
static size_t event_facts(const struct core *core, const struct job *job, int64_t item,
                          const struct work *w, struct job_event *copy,
                          const struct job_status *next, struct store_fact *facts)
{
    size_t n = 0;

    put_fact(job, item, copy, next, &facts[n++]);
    if (copy->type == JOB_EV_EXITED && w && w->printed && !w->again)
        facts[n++] = (struct store_fact){
            .type = STORE_OUTPUT,
            .output = {.key = jobs_key(job, item), .piece = w->printed->piece}};
    else
        copy->kept = 0;
    if (next->state != JOB_DONE || job->array || jobs_left(job, next))
        return n;
    facts[n++] = job_last(job, copy->at_usec);
    return n + job_last_key(core, job, copy->at_usec, job_end_of(next), &facts[n]);
}

static bool has_start(const struct store_fact *facts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (facts[i].type == STORE_EVENT && facts[i].event.event->type == JOB_EV_STARTING)
            return true;
    return false;
}

/* Appends owed facts, and then ev (NULL: none), after which the status is *next. */
static int append(struct core *core, struct job *job, int64_t item,
                  const struct job_event *ev, const struct job_status *next,
                  struct store_commit *c)
{
    struct job_event owed[OWED_MAX], copy;
    struct store_fact facts[FACTS_MAX];
    struct work *w = work_of(job, item);
    size_t n = owed_facts(job, item, w, owed, facts);

    core_did(core, 0, 0, n + (ev != NULL));
    if (ev) {
        copy = *ev;
        n += event_facts(core, job, item, w, &copy, next, facts + n);
    }
    if (job->claims && has_start(facts, n))
        n += claims_spent(job, waiting_now(core), facts + n);
    int r = n || c ? store_append(core->parts.store, facts, n, c) : 0;
    if (r == 0 && w)
        note_kept(w, jobs_status(job, item), ev);
    return r;
}

/* Returns whether the commit may wait for more. While jobs wait for slots, ends and early
 * starts share commits: a commit costs as much as a short job, and all slots are in
 * use. */
static bool is_patient(const struct core *core, const struct work *w,
                       const struct job_event *ev)
{
    return waiting_crowds(core) && (ev->type == JOB_EV_EXITED ||
                                    (ev->type == JOB_EV_STARTING && work_is_early(w)));
}

/* Returns the work that waits for the commit of the event. NULL: none. */
static struct work *waiter_of(const struct job *job, int64_t item,
                              const struct job_event *ev)
{
    return job_event_rows[ev->type].awaited ? work_of(job, item) : NULL;
}

static int refused(struct work *waiter, int r)
{
    if (!waiter)
        return r;
    waiter->leaf_is_commit = true;
    waiter->leaf.commit = (struct store_commit){.status = r};
    return r;
}

static int keep(struct tx *tx, struct job *job, int64_t item, const struct job_event *ev,
                const struct job_status *next)
{
    struct work *w = waiter_of(job, item, ev);
    bool patient = w && is_patient(tx->core, w, ev);
    int r = append(tx->core, job, item, ev, next, w ? &w->leaf.commit : NULL);

    *(patient ? &tx->nudge : &tx->kick) = true;
    if (r < 0)
        return refused(w, r);
    if (w) {
        w->leaf_is_commit = true;
        w->leaf.commit.patient = patient;
    }
    return 0;
}

/* Appends STARTED at once while there is a watcher, not with the job's next fact; not if
 * its end is in the same section. */
static void keep_owed(struct core *core, struct job *job, int64_t item,
                      const struct job_event *ev)
{
    if (event_log_is_watched(core->parts.log) && ev->type == JOB_EV_STARTED &&
        !job_kinds[job->kind].ends_at_once)
        (void)append(core, job, item, NULL, NULL, NULL); /* no memory: it stays owed */
}

/* --- posts -------------------------------------------------------------------------- */

/* Applies an event that owes its fact; its outcome need not be computed first. */
static int post_owed(struct core *core, struct job *job, int64_t item,
                     const struct job_event *ev)
{
    int r = apply(core, job, item, ev);

    if (r < 0)
        return refused(waiter_of(job, item, ev), r);
    keep_owed(core, job, item, ev);
    return 0;
}

/* Marks the work as ending. From then on a cancel is too late. An end that leads to
 * another attempt counts at once, and a later cancel meets a queued job. */
static void note_end(struct work *w, const struct job_status *next)
{
    w->again = next->state != JOB_DONE;
    w->ending = !w->again;
    if (w->ending && !w->ticket)
        w->ticket = core_before_log(w->core);
}

/* Returns whether the job begins anew after a crash, whatever it has done. A holder of
 * claims must be durable as such before it begins, unless its end is stored with its
 * start. */
static bool is_to_begin_anew(const struct job *job)
{
    return !jobs_is_process(job) && (!job->claims || job_kinds[job->kind].ends_at_once);
}

int core_post(struct tx *tx, struct job *job, int64_t item, const struct job_event *ev)
{
    const struct job_event_row *row = &job_event_rows[ev->type];
    struct job_status next;
    int r;

    if (row->when == JOB_EVENT_BEFORE)
        return -EPROTO; /* use core_settle() */
    if (row->when == JOB_EVENT_OWED ||
        (row->owed_without_process && is_to_begin_anew(job)))
        return post_owed(tx->core, job, item, ev);
    r = foresee(job, item, ev, &next);
    if (r < 0)
        return refused(waiter_of(job, item, ev), r);
    if (ev->type == JOB_EV_EXITED)
        note_end(work_of(job, item), &next);
    r = keep(tx, job, item, ev, &next);
    if (r < 0 || (row->when == JOB_EVENT_AT_COMMIT && next.state == JOB_DONE))
        return r;
    return apply(tx->core, job, item, ev);
}

int core_settle(struct tx *tx, struct job *job, int64_t item, const struct job_event *ev)
{
    struct work *w = work_of(job, item);
    int r = apply(tx->core, job, item, ev);

    if (r == 0 && ev->type == JOB_EV_STARTING)
        note_kept(w, jobs_status(job, item), ev);
    if (w && ev->type == JOB_EV_EXITED)
        core_after_log(tx->core, &w->ticket);
    return r;
}

int core_enter(struct tx *tx, struct job *job, uint64_t id, uint64_t at_usec)
{
    struct core *core = tx->core;
    struct job_event submit = job_spec_submission(job->spec, at_usec);
    uint64_t n = job_spec_count(job->spec);
    int r = table_put(&core->table, id, job);

    if (r < 0)
        return r;
    job->id = id;
    core->counts.submitted += n;
    core->counts.by_state[JOB_QUEUED] += n;
    if (job->array)
        job->status.submitted_usec = at_usec;
    (void)apply(core, job, ARRAY_WHOLE, &submit); /* a fresh job always takes it */
    index_enter(core, job);
    job->waiter.rank = WAITING_RANK(id);
    return job_act(tx, job, ARRAY_WHOLE); /* cannot fail: the job has the task it needs */
}

void core_barrier(struct tx *tx, struct work *w)
{
    tx->kick = true;
    w->leaf_is_commit = true;
    store_barrier(tx->core->parts.store, &w->leaf.commit);
}
