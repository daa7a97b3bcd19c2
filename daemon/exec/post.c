/* Facts into the store, events into the status, and what counts them: post.h. */
#include "daemon/exec/post.h"

#include <assert.h>
#include <errno.h>

#include "daemon/exec/jobs.h"
#include "daemon/store/fact.h"

#define OWED_MAX  2              /* STARTING, STARTED */
#define FACTS_MAX (OWED_MAX + 3) /* the event, its output, that it is the last */

/* The task whose attempt the event is of. That of an array as a whole has none. */
static struct work *work_of(const struct job *job, int64_t item)
{
    return job->array && item == ARRAY_WHOLE ? NULL : jobs_live(job, item);
}

/* --- what it does here -------------------------------------------------------------- */

struct job_end core_end_told(enum job_event_type type, const struct job_status *st)
{
    if (type == JOB_EV_EXITED && st->state == JOB_QUEUED)
        return (struct job_end){.result = JOB_RESULT_LOST};
    return job_end_of(st);
}

static void tell(struct manager *m, struct job *job, int64_t item,
                 enum job_event_type type, uint64_t at, const struct job_status *st)
{
    struct job_news ev = {
        .at_usec = at,
        .key = jobs_key(job, item),
        .type = (uint8_t)type,
        .state = st->state,
        .end = core_end_told(type, st),
        .owner = job->owner.uid,
    };

    event_ring_push(&m->ring, &ev);
    m->news_due = true;
}

/* An event of the array as a whole. */
static void tell_array(struct manager *m, struct job *job, enum job_event_type type)
{
    struct job_status st = array_status(job->array);

    tell(m, job, ARRAY_WHOLE, type, jobs_now_usec(), &st);
}

/* Jobs or elements have gone from one state to another. */
static void count_moved(struct manager *m, struct job *job,
                        const struct array_effects *fx)
{
    m->counts.by_state[fx->from] -= fx->moved;
    m->counts.by_state[fx->to] += fx->moved;
    if (fx->to != JOB_DONE || !fx->moved)
        return;
    m->counts.ended += fx->moved;
    m->counts.by_result[fx->result] += fx->moved;
    users_sub(&m->users, users_find(&m->users, job->owner.uid), fx->moved,
              fx->over ? job->bytes : 0);
}

static int apply_to_array(struct manager *m, struct job *job, int64_t item,
                          const struct job_event *ev)
{
    struct array_effects fx;
    int r = array_update(job->array, item, ev, &fx);

    if (r < 0)
        return r;
    count_moved(m, job, &fx);
    if (item == ARRAY_WHOLE)
        tell_array(m, job, fx.over ? JOB_EV_EXITED : ev->type);
    else if (ev->type != JOB_EV_SUBMIT) /* it was submitted and told with its array */
        tell(m, job, item, ev->type, ev->at_usec, array_own(job->array, item));
    if (item != ARRAY_WHOLE && fx.over)
        tell_array(m, job, JOB_EV_EXITED);
    return 0;
}

static int apply_to_job(struct manager *m, struct job *job, const struct job_event *ev)
{
    struct job_status *st = &job->status;
    uint8_t from = st->state;
    int r = job_update(st, ev);

    if (r < 0)
        return r;
    if (ev->type != JOB_EV_SUBMIT)
        count_moved(m, job,
                    &(struct array_effects){.moved = 1,
                                            .from = from,
                                            .to = st->state,
                                            .result = st->result,
                                            .over = st->state == JOB_DONE});
    tell(m, job, ARRAY_WHOLE, ev->type, ev->at_usec, st);
    return 0;
}

/* An attempt that has led back to the queue owes nothing: its facts are in the store. */
static int apply(struct manager *m, struct job *job, int64_t item,
                 const struct job_event *ev)
{
    struct work *w = work_of(job, item);
    int r = job->array ? apply_to_array(m, job, item, ev) : apply_to_job(m, job, ev);

    if (r == 0 && w && jobs_status(job, item)->state == JOB_QUEUED)
        w->kept_starting = w->kept_started = false;
    if (r == 0)
        index_follow(m, job);
    return r;
}

/* --- its facts ---------------------------------------------------------------------- */

/* What the job will be. Of an array as a whole only CANCEL is posted, and what its
 * watchers are told is that it stops. 0; -EPROTO. */
static int foresee(const struct job *job, int64_t item, const struct job_event *ev,
                   struct job_status *ret)
{
    if (job->array && item == ARRAY_WHOLE) {
        struct array whole = *job->array; /* its elements are not touched */
        struct array_effects fx;

        *ret = (struct job_status){.state = JOB_STOPPING};
        return array_update(&whole, item, ev, &fx);
    }
    *ret = jobs_any_status(job, item);
    return job_update(ret, ev);
}

static struct store_fact fact_of(const struct job *job, int64_t item,
                                 const struct job_event *ev, const struct job_status *st)
{
    struct store_fact f = {.type = STORE_EVENT,
                           .event = {.key = jobs_key(job, item),
                                     .event = ev,
                                     .after = {.owner = job->owner.uid,
                                               .state = st->state,
                                               .end = core_end_told(ev->type, st)}}};

    if (ev->attempt) /* STARTING begins it */
        f.event.key.attempt = ev->attempt;
    return f;
}

/* Of the running attempt; then the job was in that state. */
static struct store_fact owed_fact(const struct job *job, int64_t item,
                                   enum job_event_type type, enum job_state state,
                                   struct job_event *ret)
{
    const struct job_status *st = jobs_status(job, item);
    const struct job_status then = {.state = (uint8_t)state};

    *ret = (struct job_event){.type = type,
                              .at_usec = st->started_usec,
                              .attempt = st->attempt,
                              .pid = st->pid};
    return fact_of(job, item, ret, &then);
}

/* What has happened to the running attempt and is not in the store yet. */
static size_t owed_facts(const struct job *job, int64_t item, const struct work *w,
                         struct job_event events[OWED_MAX],
                         struct store_fact facts[OWED_MAX])
{
    const struct job_status *st = w ? jobs_status(job, item) : NULL;
    size_t n = 0;

    if (!w || st->state == JOB_QUEUED)
        return 0;
    if (!w->kept_starting) {
        facts[n] = owed_fact(job, item, JOB_EV_STARTING, JOB_STARTING, &events[n]);
        n++;
    }
    if (!w->kept_started && st->started_usec) {
        bool stops = st->state == JOB_STOPPING;

        facts[n] = owed_fact(job, item, JOB_EV_STARTED,
                             stops ? JOB_STOPPING : JOB_RUNNING, &events[n]);
        n++;
    }
    return n;
}

/* What is owed is in the store, and STARTING itself if that is the event. */
static void note_kept(struct work *w, const struct job_status *st,
                      const struct job_event *ev)
{
    if (!w || (st->state == JOB_QUEUED && !(ev && ev->type == JOB_EV_STARTING)))
        return;
    w->kept_starting = true;
    w->kept_started |= st->started_usec != 0;
}

/* The facts of an event after which the job is *next; *copy is its own. */
static size_t event_facts(const struct job *job, int64_t item, const struct work *w,
                          struct job_event *copy, const struct job_status *next,
                          struct store_fact *facts)
{
    size_t n = 0;

    facts[n++] = fact_of(job, item, copy, next);
    if (copy->type == JOB_EV_EXITED && w && w->printed && !w->again)
        facts[n++] = (struct store_fact){
            .type = STORE_OUTPUT,
            .output = {.key = jobs_key(job, item), .piece = w->printed->piece}};
    else
        copy->kept = 0;
    if (next->state == JOB_DONE && !job->array)
        facts[n++] = (struct store_fact){
            .type = STORE_LAST, .last = {.id = job->id, .at_usec = copy->at_usec}};
    return n;
}

/* Appends what is owed, then ev, after which the job is *next. NULL: what is owed. */
static int append(struct manager *m, struct job *job, int64_t item,
                  const struct job_event *ev, const struct job_status *next,
                  struct store_commit *c)
{
    struct job_event owed[OWED_MAX], copy;
    struct store_fact facts[FACTS_MAX];
    struct work *w = work_of(job, item);
    size_t n = owed_facts(job, item, w, owed, facts);

    manager_did(m, 0, 0, n + (ev != NULL));
    if (ev) {
        copy = *ev;
        n += event_facts(job, item, w, &copy, next, facts + n);
    }
    int r = n || c ? store_append(m->store, facts, n, c) : 0;
    if (r == 0 && w)
        note_kept(w, jobs_status(job, item), ev);
    return r;
}

/* While jobs wait for slots, ends and starts ahead of a slot are committed several at a
 * time: each commit costs what a short job does, and no slot is empty for them. */
static bool is_patient(const struct manager *m, const struct work *w,
                       const struct job_event *ev)
{
    return m->queue.waiting > 0 &&
           (ev->type == JOB_EV_EXITED || (ev->type == JOB_EV_STARTING && w->ahead));
}

/* The work that waits for the commit of the event; NULL: none does. */
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
    bool patient = w && is_patient(tx->m, w, ev);
    int r = append(tx->m, job, item, ev, next, w ? &w->leaf.commit : NULL);

    *(patient ? &tx->nudge : &tx->kick) = true;
    if (r < 0)
        return refused(w, r);
    if (w) {
        w->leaf_is_commit = true;
        w->leaf.commit.patient = patient;
    }
    return 0;
}

/* A watcher is told of a start at once, not with the job's next event. That of a noop is
 * its end, in the same section. */
static void keep_owed(struct manager *m, struct job *job, int64_t item,
                      const struct job_event *ev)
{
    if (m->watchers && ev->type == JOB_EV_STARTED && job->kind != JOB_KIND_NOOP)
        (void)append(m, job, item, NULL, NULL, NULL); /* no memory: owed still */
}

/* --- posts -------------------------------------------------------------------------- */

/* It is applied and owes its fact: what the job will be need not be known beforehand. */
static int post_owed(struct manager *m, struct job *job, int64_t item,
                     const struct job_event *ev)
{
    int r = apply(m, job, item, ev);

    if (r < 0)
        return refused(waiter_of(job, item, ev), r);
    keep_owed(m, job, item, ev);
    return 0;
}

/* An end on its way into the store is too late to cancel, but one that leads to another
 * attempt: that counts at once, and a cancel behind it is one of a queued job. */
static void note_end(struct work *w, const struct job_status *next)
{
    w->again = next->state != JOB_DONE;
    w->ending = !w->again;
}

int core_post(struct tx *tx, struct job *job, int64_t item, const struct job_event *ev)
{
    const struct job_event_row *row = &job_event_rows[ev->type];
    struct job_status next;
    int r;

    if (row->when == JOB_EVENT_BEFORE)
        return -EPROTO; /* core_settle() is for it */
    if (row->when == JOB_EVENT_OWED || (row->owed_without_process && !jobs_slotted(job)))
        return post_owed(tx->m, job, item, ev);
    r = foresee(job, item, ev, &next);
    if (r < 0)
        return refused(waiter_of(job, item, ev), r);
    if (ev->type == JOB_EV_EXITED)
        note_end(work_of(job, item), &next);
    r = keep(tx, job, item, ev, &next);
    if (r < 0 || (row->when == JOB_EVENT_AT_COMMIT && next.state == JOB_DONE))
        return r;
    return apply(tx->m, job, item, ev);
}

int core_settle(struct tx *tx, struct job *job, int64_t item, const struct job_event *ev)
{
    int r = apply(tx->m, job, item, ev);

    if (r == 0 && ev->type == JOB_EV_STARTING)
        note_kept(work_of(job, item), jobs_status(job, item), ev);
    return r;
}

int core_enter(struct tx *tx, struct job *job, uint64_t id, uint64_t at_usec)
{
    struct manager *m = tx->m;
    struct job_event submit = job_spec_submission(job->spec, at_usec);
    uint64_t n = job_spec_count(job->spec);
    int r = table_put(&m->table, id, job);

    if (r < 0)
        return r;
    job->id = id;
    m->counts.submitted += n;
    m->counts.by_state[JOB_QUEUED] += n;
    if (job->array)
        job->status.submitted_usec = at_usec;
    (void)apply(m, job, ARRAY_WHOLE, &submit); /* what is fresh takes it */
    index_enter(m, job);
    if (jobs_slotted(job) && !job->held)
        queue_add(&m->queue, &job->node, job->priority);
    return 0;
}

void core_barrier(struct tx *tx, struct work *w)
{
    tx->kick = true;
    w->leaf_is_commit = true;
    (void)store_append(tx->m->store, NULL, 0, &w->leaf.commit); /* nothing to refuse */
}
