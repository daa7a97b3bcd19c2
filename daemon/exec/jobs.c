/* Events applied to jobs: counters, ring, ends; and the lock with its aftermath. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "daemon/exec/jobs.h"
#include "daemon/exec/trim.h"

uint64_t jobs_now_usec(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

void manager_lock(struct manager *m)
{
    pthread_mutex_lock(&m->lock);
}

void jobs_wake(struct work *w, struct aftermath *after)
{
    if (!w || !w->waker.task)
        return;
    assert(after->n < sizeof(after->wakers) / sizeof(after->wakers[0]));
    after->wakers[after->n++] = w->waker;
    w->waker = (struct volt_waker){0};
}

bool aftermath_has_room(const struct aftermath *after)
{
    return after->n < sizeof(after->wakers) / sizeof(after->wakers[0]) &&
           after->nspawn < sizeof(after->spawn) / sizeof(after->spawn[0]);
}

bool jobs_give_task(struct manager *m, struct job *job, struct aftermath *after)
{
    if (job->live) { /* it has been deferred */
        jobs_wake(job->live, after);
        return true;
    }
    if (job_awaken(job) < 0)
        return false;
    job->live = work_new(m, job, NO_OFFSET);
    if (!job->live)
        return false;
    job->tasks++;
    after->spawn[after->nspawn++] = job->live;
    return true;
}

/* A slot for the waiter. An array keeps its place while it has elements without one. */
static bool grant(struct manager *m, struct job *job, struct aftermath *after)
{
    if (!job->array) {
        if (!jobs_give_task(m, job, after))
            return false;
        job->live->granted = true;
        return true;
    }
    if (++job->elements->granted < job->array->rest)
        queue_put_back(&m->queue, &job->node);
    jobs_wake(job->live, after);
    return true;
}

/* True: stopped because `after` is full. */
static bool hand_over(struct manager *m, struct aftermath *after)
{
    struct queue_node *n;

    while (aftermath_has_room(after)) {
        if (!ahead_serve(m, after))
            return true;
        if (m->closed)
            return false;
        n = queue_take(&m->queue);
        if (!n) {
            if (!ahead_serve_followers(m, after))
                return true;
            ahead_fill(m, after);
            return false;
        }
        manager_did(m, 1, 0, 0);
        if (!grant(m, job_of_node(n), after)) { /* the next unlock tries again */
            queue_release(&m->queue);
            queue_put_back(&m->queue, n);
            return false;
        }
    }
    return true;
}

void aftermath_finish(struct manager *m, struct aftermath *after)
{
    for (size_t i = 0; i < after->n; i++) {
        volt_waker_wake(&after->wakers[i]);
        volt_waker_fini(&after->wakers[i]);
    }
    after->n = 0;
    for (size_t i = 0; i < after->nspawn; i++)
        (void)volt_task_spawn(after->spawn[i], NULL); /* closing: it is dropped */
    after->nspawn = 0;
    while (after->garbage) {
        struct job *job = after->garbage;
        after->garbage = job->next;
        if (jobs_slotted(job) && !store_durable(m->store)) /* no store tells when */
            output_forget(&m->outputs, m->rt, job->id);
        job_free(job);
    }
}

static void keep_largest(uint64_t *largest, uint64_t value)
{
    if (*largest < value)
        *largest = value;
}

/* Lock held, for the last time. */
static void count_held(struct manager *m)
{
    keep_largest(&m->counts.held.entries, m->held.entries);
    keep_largest(&m->counts.held.bytes, m->held.bytes);
    keep_largest(&m->counts.held.facts, m->held.facts);
    m->held = (struct manager_held){0};
}

static bool has_backlog(const struct manager *m)
{
    return m->queue.waiting > 0;
}

void manager_unlock(struct manager *m, struct aftermath *after)
{
    bool more;

    do {
        more = hand_over(m, after);
        bool news = m->news_due, entered = m->entered, trim = trim_due(m);
        if (news && m->watchers) /* the log shall have it soon, too */
            *(has_backlog(m) ? &after->nudge : &after->kick) = true;
        bool crowded = m->crowded && !m->leaving;
        m->leaving |= crowded;
        m->news_due = m->entered = false;
        count_held(m);
        pthread_mutex_unlock(&m->lock);
        if (after->kick || after->nudge)
            store_kick(m->store, !after->kick);
        after->kick = after->nudge = false;
        aftermath_finish(m, after);
        if (trim)
            trim_begin(m);
        if (crowded)
            job_leaving_begin(m);
        if (news)
            volt_notify_all(&m->news);
        if (entered)
            audience_tell(&m->log_audience);
        if (more)
            pthread_mutex_lock(&m->lock);
    } while (more);
}

bool jobs_visible(uid_t asker, uid_t owner)
{
    return asker == 0 || asker == owner;
}

bool jobs_slotted(const struct job *job)
{
    return job->kind == JOB_KIND_EXEC;
}

const struct job_status *jobs_status(const struct job *job, int64_t offset)
{
    return offset == NO_OFFSET ? &job->status : array_own(job->array, offset);
}

/* Also of an element without a status of its own. */
static struct job_status any_status(const struct job *job, int64_t offset)
{
    return offset == NO_OFFSET ? job->status : array_element(job->array, offset);
}

struct work *jobs_live(const struct job *job, int64_t offset)
{
    return offset == NO_OFFSET ? job->live : elements_work(job->elements, offset);
}

bool jobs_done(const struct job *job)
{
    return job->array ? array_done(job->array) : job->status.state == JOB_DONE;
}

struct job_key jobs_key(const struct job *job, int64_t offset)
{
    struct job_key key = {
        .id = job->id, .index = JOB_NO_INDEX, .attempt = job->status.attempt};
    const struct job_status *own;

    if (offset == NO_OFFSET)
        return key;
    own = array_own(job->array, offset);
    key.index = (int64_t)job->spec->array_first + offset;
    key.attempt = own ? own->attempt : 0;
    return key;
}

uint8_t jobs_result_told(enum job_event_type type, const struct job_status *st)
{
    return type == JOB_EV_EXITED && st->state == JOB_QUEUED ? JOB_RESULT_LOST
                                                            : st->result;
}

void jobs_log(void *manager, const struct job_news *news, size_t n)
{
    struct manager *m = manager;

    pthread_mutex_lock(&m->log_lock);
    for (size_t i = 0; i < n; i++)
        event_ring_put(&m->log, &news[i]);
    bool awaited = n == 0 && m->watchers > 0;
    pthread_mutex_unlock(&m->log_lock);
    if (awaited) /* a watcher that begins only now has seen them */
        audience_tell(&m->log_audience);
}

static void tell(struct manager *m, struct job *job, int64_t offset,
                 enum job_event_type type, uint64_t at, const struct job_status *st)
{
    struct job_news ev = {
        .at_usec = at,
        .key = jobs_key(job, offset),
        .type = (uint8_t)type,
        .state = st->state,
        .result = jobs_result_told(type, st),
        .code = st->code,
        .owner = job->owner.uid,
    };

    event_ring_push(&m->ring, &ev);
    m->news_due = true;
}

/* An event of the array as a whole. Its result is told at its end only. */
static void tell_array(struct manager *m, struct job *job, enum job_event_type type)
{
    struct job_status st = array_status(job->array);

    if (st.state != JOB_DONE)
        st.code = 0;
    tell(m, job, NO_OFFSET, type, jobs_now_usec(), &st);
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

static int apply_to_array(struct manager *m, struct job *job, int64_t offset,
                          const struct job_event *ev)
{
    struct array_effects fx;
    int r = array_update(job->array, offset, ev, &fx);

    if (r < 0)
        return r;
    count_moved(m, job, &fx);
    if (offset == NO_OFFSET)
        tell_array(m, job, fx.over ? JOB_EV_EXITED : ev->type);
    else if (ev->type != JOB_EV_SUBMIT) /* it was submitted and told with its array */
        tell(m, job, offset, ev->type, ev->at_usec, array_own(job->array, offset));
    if (offset != NO_OFFSET && fx.over)
        tell_array(m, job, JOB_EV_EXITED);
    return 0;
}

int jobs_apply(struct manager *m, struct job *job, int64_t offset,
               const struct job_event *ev)
{
    struct job_status *st = &job->status;
    uint8_t from = st->state;
    int r;

    if (job->array)
        return apply_to_array(m, job, offset, ev);
    r = job_update(st, ev);
    if (r < 0)
        return r;
    if (ev->type != JOB_EV_SUBMIT)
        count_moved(m, job,
                    &(struct array_effects){.moved = 1,
                                            .from = from,
                                            .to = st->state,
                                            .result = st->result,
                                            .over = st->state == JOB_DONE});
    tell(m, job, offset, ev->type, ev->at_usec, st);
    return 0;
}

/* What the job is after an event, which has been applied or will be now. */
static struct job_status after_event(struct job *job, int64_t offset,
                                     const struct job_event *ev)
{
    struct job_status st = {.state = JOB_STOPPING};
    bool array = job->array && offset == NO_OFFSET;

    switch (ev->type) {
    case JOB_EV_STARTING:
        st.state = JOB_STARTING;
        break;
    case JOB_EV_STARTED:
        st.state =
            jobs_status(job, offset)->state == JOB_STOPPING ? JOB_STOPPING : JOB_RUNNING;
        break;
    case JOB_EV_DEFERRED:
        st.state = JOB_QUEUED;
        break;
    case JOB_EV_CANCEL:
    case JOB_EV_EXITED:
        if (array)
            break;
        st = any_status(job, offset);
        (void)job_update(&st, ev);
        break;
    case JOB_EV_SUBMIT:
    case JOB_EV_TIMEOUT:
    case JOB_EV_OUTPUT_LIMIT:
    case JOB_EV_COUNT:
        break;
    }
    return st;
}

static struct store_fact fact_of(struct job *job, int64_t offset,
                                 const struct job_event *ev)
{
    const struct job_status st = after_event(job, offset, ev);

    return (struct store_fact){.key = jobs_key(job, offset),
                               .event = ev,
                               .uid = job->owner.uid,
                               .state = st.state,
                               .result = jobs_result_told(ev->type, &st),
                               .code = st.code};
}

/* What happened to the running attempt and is not kept yet. */
static size_t owed_events(struct job *job, int64_t offset, struct job_event out[2])
{
    struct work *w = job->array && offset == NO_OFFSET ? NULL : jobs_live(job, offset);
    const struct job_status *st = w ? jobs_status(job, offset) : NULL;
    size_t n = 0;

    if (!w || st->state == JOB_QUEUED) /* what an earlier attempt was, it has */
        return 0;
    if (!w->kept_starting)
        out[n++] = (struct job_event){
            .type = JOB_EV_STARTING, .at_usec = st->started_usec, .attempt = st->attempt};
    if (!w->kept_started && st->started_usec)
        out[n++] = (struct job_event){.type = JOB_EV_STARTED,
                                      .at_usec = st->started_usec,
                                      .attempt = st->attempt,
                                      .pid = st->pid};
    w->kept_starting = true;
    w->kept_started |= st->started_usec != 0;
    return n;
}

/* Appends what is owed, then ev. */
static int append(struct manager *m, struct job *job, int64_t offset,
                  const struct job_event *ev, bool last, struct store_commit *c)
{
    struct job_event events[3];
    struct store_fact facts[3];
    struct work *w = job->array && offset == NO_OFFSET ? NULL : jobs_live(job, offset);
    bool starting = w && w->kept_starting, started = w && w->kept_started;
    size_t n = owed_events(job, offset, events);

    if (ev)
        events[n++] = *ev;
    for (size_t i = 0; i < n; i++)
        facts[i] = fact_of(job, offset, &events[i]);
    if (n)
        facts[n - 1].last = last;
    if (ev && ev->type == JOB_EV_EXITED && w && w->printed && !w->again)
        facts[n - 1].output = w->printed->piece;
    else if (ev)
        events[n - 1].kept = 0;
    manager_did(m, 0, 0, n);
    int r = store_append(m->store, facts, n, c);
    if (r < 0 && w) { /* they are owed still */
        w->kept_starting = starting;
        w->kept_started = started;
    }
    return r;
}

/* While jobs wait for slots, ends and starts ahead of a slot are kept several at a time:
 * each commit costs what a short job does, and no slot is empty for them. */
static bool is_patient(const struct manager *m, const struct job *job, int64_t offset,
                       const struct job_event *ev)
{
    const struct work *w = jobs_live(job, offset);

    return has_backlog(m) && ev && w &&
           (ev->type == JOB_EV_EXITED || (ev->type == JOB_EV_STARTING && w->ahead));
}

int jobs_keep(struct manager *m, struct job *job, int64_t offset,
              const struct job_event *ev, bool last, struct store_commit *c,
              struct aftermath *after)
{
    bool patient = c && is_patient(m, job, offset, ev);

    *(patient ? &after->nudge : &after->kick) = true;
    int r = ev ? append(m, job, offset, ev, last, c) : store_append(m->store, NULL, 0, c);
    if (r < 0 && c)
        *c = (struct store_commit){.status = r};
    if (c)
        c->patient = patient;
    return r;
}

void jobs_keep_start(struct manager *m, struct job *job, int64_t offset)
{
    if (m->watchers)
        (void)append(m, job, offset, NULL, false, NULL); /* no memory: owed still */
}

static int cancel_array(struct manager *m, struct job *job, struct aftermath *after)
{
    if (jobs_done(job))
        return -EALREADY;
    if (job->array->cancelled_usec)
        return 0;
    struct job_event ev = {.type = JOB_EV_CANCEL, .at_usec = jobs_now_usec()};
    int r = jobs_keep(m, job, NO_OFFSET, &ev, false, NULL, after);
    if (r < 0)
        return r;
    (void)jobs_apply(m, job, NO_OFFSET, &ev); /* it was not cancelled before */
    queue_remove(&m->queue, &job->node);
    jobs_wake(job->live, after);
    return 0;
}

int jobs_cancel_one(struct manager *m, struct job *job, int64_t offset,
                    struct aftermath *after)
{
    struct job_event ev = {.type = JOB_EV_CANCEL, .at_usec = jobs_now_usec()};
    int r;

    if (job->array && offset == NO_OFFSET)
        return cancel_array(m, job, after);

    const struct job_status st = any_status(job, offset);
    struct work *live = jobs_live(job, offset);
    if (st.state == JOB_DONE)
        return -EALREADY;
    if (live && live->ending)
        return -EALREADY;
    if (st.cancel_asked)
        return 0;
    if (job->array && array_reserve(job->array, offset) < 0)
        return -ENOMEM;
    int kept = jobs_keep(m, job, offset, &ev, st.state == JOB_QUEUED && !job->array, NULL,
                         after);
    r = jobs_apply(m, job, offset, &ev); /* also without memory to keep it */
    if (!job->array)
        queue_remove(&m->queue, &job->node);
    jobs_wake(live ? live : job->live, after);
    if (!job->tasks)
        job_retire(m, job, after);
    return r < 0 ? r : kept;
}
