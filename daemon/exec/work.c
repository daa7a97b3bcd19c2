/* The task of a job: its turn, its stop, its end; and the kinds without a process.
 *
 * Kinds sleep and noop take no slot: slots bound processes. */
#include <errno.h>
#include <string.h>

#include "base/crash.h"
#include "daemon/exec/jobs.h"
#include "daemon/exec/post.h"
#include "daemon/job/attempt.h"
#include "daemon/observe/log.h"

#define EXPAND_BATCH 32 /* elements an array starts in one poll */
#define EXPAND_AGAIN UINT64_C(100000)
#define KEEP_TRIES   100 /* to give an end to the store without memory */

/* The steps of work_finish_poll(). */
enum { FINISH_KEEP, FINISH_KEPT, FINISH_COMMIT, FINISH_REST };

void work_leaf_fini(struct work *w)
{
    if (w->leaf_is_commit)
        store_commit_fini(&w->leaf.commit);
    else
        volt_sleep_fini(&w->leaf.sleep);
    memset(&w->leaf, 0, sizeof(w->leaf));
    w->leaf_is_commit = false;
}

static void give_back_slots(struct manager *m, struct work *w, struct tx *tx)
{
    struct elements *e = w->offset == NO_OFFSET ? w->job->elements : NULL;

    ahead_leave(m, w);
    relay_leave(m, w, tx);
    if (w->granted)
        queue_release(&m->queue);
    w->granted = false;
    if (!e)
        return;
    queue_release_some(&m->queue, e->granted);
    e->granted = 0;
}

/* Before the attempt, which has them, is freed. */
static void forget_left(struct work *w)
{
    if (!w->left)
        return;
    manager_lock(w->manager);
    w->left = NULL;
    manager_unlock(w->manager);
}

void work_drop(void *state)
{
    struct work *w = state;
    struct manager *m = w->manager;
    struct tx tx;

    work_leaf_fini(w);
    forget_left(w);
    attempt_free(w->attempt);
    core_begin(&tx, m);
    if (w->offset == NO_OFFSET)
        queue_remove(&m->queue, &w->job->node);
    give_back_slots(m, w, &tx);
    if (w->offset == NO_OFFSET)
        w->job->live = NULL;
    else
        elements_set(w->job->elements, w->offset, NULL);
    struct volt_waker waker = w->waker;
    w->waker = (struct volt_waker){0};
    if (--w->job->tasks == 0)
        job_retire(&tx, w->job);
    core_finish(&tx);
    volt_waker_fini(&waker);
}

/* Lock held. A waker, once made, always is of this task. */
static void wait_here(struct volt_cx *cx, struct work *w)
{
    if (!w->waker.task)
        w->waker = volt_waker_new(cx);
}

/* Lock held. 1: it starts, or has ended before; 0: it waits; -ENOMEM: try again. */
static int take_turn(struct volt_cx *cx, struct work *w, uint64_t now, struct tx *tx)
{
    struct manager *m = w->manager;
    const struct job_status *st = jobs_status(w->job, w->offset);

    if (st->state != JOB_QUEUED)
        return 1;
    if (m->closed || w->job->held || (!w->granted && !w->ahead && jobs_slotted(w->job))) {
        wait_here(cx, w);
        return 0;
    }
    const struct job_event ev = {
        .type = JOB_EV_STARTING, .at_usec = now, .attempt = st->attempt + 1};
    int r = core_post(tx, w->job, w->offset, &ev);
    if (r == 0 && jobs_slotted(w->job))
        CRASH_POINT("start-appended");
    return r < 0 ? r : 1;
}

/* What a turn came to. Without memory it is taken after a rest. */
static enum volt_poll turn_taken(struct volt_cx *cx, struct work *w, int r)
{
    if (r >= 0)
        return r ? VOLT_READY : VOLT_PENDING;
    work_leaf_fini(w);
    volt_sleep_init(&w->leaf.sleep, POST_AGAIN);
    if (volt_sleep_poll(cx, &w->leaf.sleep) == VOLT_READY)
        volt_cx_wake(cx);
    return VOLT_PENDING;
}

enum volt_poll work_turn_poll(struct volt_cx *cx, struct work *w)
{
    struct tx tx;

    work_leaf_fini(w); /* of a rest */
    core_begin(&tx, w->manager);
    int r = take_turn(cx, w, jobs_now_usec(), &tx);
    core_finish(&tx);
    return turn_taken(cx, w, r);
}

int work_place(struct volt_cx *cx, struct work *w, uint64_t *ret_after)
{
    struct manager *m = w->manager;
    int place = -1;

    manager_lock(m);
    if (jobs_status(w->job, w->offset)->state >= JOB_STOPPING) {
        place = ON_STOP;
    } else if (w->granted) {
        place = ON_SLOT;
    } else if (w->relay.before || relay_join(m, w)) {
        place = ON_CHAIN;
        *ret_after = w->relay.after;
    } else {
        wait_here(cx, w);
    }
    manager_unlock(m);
    return place;
}

enum volt_poll work_stop_poll(struct volt_cx *cx, struct work *w)
{
    struct manager *m = w->manager;

    manager_lock(m);
    bool stop = jobs_status(w->job, w->offset)->state >= JOB_STOPPING;
    if (!stop)
        wait_here(cx, w);
    manager_unlock(m);
    return stop ? VOLT_READY : VOLT_PENDING;
}

enum volt_poll work_time_poll(struct volt_cx *cx, struct volt_sleep *s)
{
    if (volt_sleep_poll(cx, s) == VOLT_PENDING)
        return VOLT_PENDING;
    return s->deadline_usec > volt_now_usec() + 1000 ? VOLT_PENDING : VOLT_READY;
}

static struct job_status status_of(struct work *w)
{
    manager_lock(w->manager);
    struct job_status st = *jobs_status(w->job, w->offset);
    manager_unlock(w->manager);
    return st;
}

bool work_ended(struct work *w)
{
    return status_of(w).state == JOB_DONE;
}

static void report(const struct work *w, const struct job_event *ev)
{
    log_error("job %llu: event %s is out of place", (unsigned long long)w->job->id,
              job_event_name(ev->type));
}

int work_post(struct work *w, const struct job_event *ev)
{
    struct tx tx;

    core_begin(&tx, w->manager);
    int r = core_post(&tx, w->job, w->offset, ev);
    bool stops = jobs_status(w->job, w->offset)->state >= JOB_STOPPING;
    core_finish(&tx);
    if (r == -EPROTO && !stops) /* else a cancel came first */
        report(w, ev);
    return r;
}

/* The end, of what has not ended by its cancel. */
static void settle_end(struct work *w, const struct job_event *exited)
{
    struct tx tx;
    int r = 0;

    core_begin(&tx, w->manager);
    if (jobs_status(w->job, w->offset)->state != JOB_DONE)
        r = core_settle(&tx, w->job, w->offset, exited);
    core_finish(&tx);
    if (r < 0)
        report(w, exited);
}

enum volt_poll work_commit_poll(struct volt_cx *cx, struct work *w)
{
    if (!w->leaf.commit.store)
        return VOLT_READY; /* refused at once */
    return store_commit_poll(cx, &w->leaf.commit);
}

/* Lock held. The end goes into the store; of what has ended already only its CANCEL is
 * waited for. */
static void post_end(struct work *w, const struct job_event *exited, struct tx *tx)
{
    struct manager *m = w->manager;
    const struct job_status *st = jobs_status(w->job, w->offset);
    uint64_t started = st->started_usec;

    if (st->state == JOB_DONE)
        core_barrier(tx, w);
    else
        (void)core_post(tx, w->job, w->offset, exited); /* its commit says it too */
    if (w->again) {
        relay_void(m, w);
        return;
    }
    if (w->granted && started)
        ahead_note_end(m, started, exited->at_usec);
    give_back_slots(m, w, tx); /* the next one's STARTING joins this commit */
}

void work_begin_again(struct work *w)
{
    work_leaf_fini(w);
    forget_left(w);
    attempt_free(w->attempt);
    w->attempt = NULL;
    w->printed = NULL;
    w->adopted = w->again = false;
    w->step = FINISH_KEEP;
    w->keep_tries = 0;
    w->ahead_until_usec = 0;
}

enum volt_poll work_finish_poll(struct volt_cx *cx, struct work *w,
                                const struct job_event *exited)
{
    for (;;) {
        if (w->step == FINISH_REST) {
            if (volt_sleep_poll(cx, &w->leaf.sleep) == VOLT_PENDING)
                return VOLT_PENDING;
            w->step = FINISH_KEEP;
        }
        if (w->step == FINISH_KEEP) {
            struct tx tx;

            work_leaf_fini(w);
            core_begin(&tx, w->manager);
            post_end(w, exited, &tx);
            core_finish(&tx);
            w->step = FINISH_KEPT;
        }
        if (w->step == FINISH_KEPT) {
            CRASH_POINT("end-appended");
            w->step = FINISH_COMMIT;
        }
        if (work_commit_poll(cx, w) == VOLT_PENDING)
            return VOLT_PENDING;
        /* Another attempt must not begin before the store has the end of this one. */
        if (w->leaf.commit.status != -ENOMEM ||
            (!w->again && w->keep_tries++ == KEEP_TRIES))
            break;
        work_leaf_fini(w);
        volt_sleep_init(&w->leaf.sleep, POST_AGAIN);
        w->step = FINISH_REST;
    }
    if (w->leaf.commit.status < 0)
        log_error("job %llu: its end could not be stored: %s",
                  (unsigned long long)w->job->id, strerror(-w->leaf.commit.status));
    CRASH_POINT("end-committed");
    if (!w->again)
        settle_end(w, exited);
    CRASH_POINT("end-applied");
    return VOLT_READY;
}

/* --- noop and sleep ----------------------------------------------------------------- */

static void note_start(struct work *w)
{
    struct job_event ev = {
        .type = JOB_EV_STARTED, .at_usec = jobs_now_usec(), .attempt = 1};

    if (!w->adopted)             /* it was stopped or watched before the daemon ended */
        (void)work_post(w, &ev); /* one that is starting takes it */
}

static struct job_event note_end(struct work *w)
{
    if (!w->end_usec)
        w->end_usec = jobs_now_usec();
    return (struct job_event){
        .type = JOB_EV_EXITED, .at_usec = w->end_usec, .result = JOB_RESULT_SUCCESS};
}

/* There is nothing to wait for between its turn, its start and its end: all in one
 * section under the lock. READY: its end is on its way into the store. */
static enum volt_poll noop_turn_poll(struct volt_cx *cx, struct work *w)
{
    struct manager *m = w->manager;
    struct job_event started = {
        .type = JOB_EV_STARTED, .at_usec = jobs_now_usec(), .attempt = 1};
    struct tx tx;

    core_begin(&tx, m);
    int r = take_turn(cx, w, started.at_usec, &tx);
    if (r > 0) {
        if (!w->adopted && jobs_status(w->job, w->offset)->state != JOB_DONE)
            (void)core_post(&tx, w->job, w->offset, &started);
        w->end_usec = started.at_usec;
        const struct job_event end = note_end(w);
        post_end(w, &end, &tx);
        w->step = FINISH_KEPT;
    }
    core_finish(&tx);
    return turn_taken(cx, w, r);
}

enum volt_poll work_noop_poll(struct volt_cx *cx, void *state)
{
    struct work *w = state;
    struct job_event end;

    VOLT_BEGIN(w->at);
    VOLT_AWAIT(w->at, noop_turn_poll(cx, w));
    VOLT_AWAIT(w->at, (end = note_end(w), work_finish_poll(cx, w, &end)));
    VOLT_END(w->at);
}

/* READY: it was posted, or another event was first; otherwise `again` rings when it is to
 * be posted again. */
static enum volt_poll posted_poll(struct volt_cx *cx, struct volt_sleep *again, int r)
{
    if (r != -ENOMEM)
        return VOLT_READY;
    volt_sleep_fini(again);
    volt_sleep_init(again, POST_AGAIN);
    if (volt_sleep_poll(cx, again) == VOLT_READY)
        volt_cx_wake(cx);
    return VOLT_PENDING;
}

/* READY: the time is up (timed out: the shorter of the two), or it is to stop. */
static enum volt_poll slept_poll(struct volt_cx *cx, struct work *w)
{
    const struct job_spec *spec = w->job->spec;
    bool limited = spec->timeout_usec && spec->timeout_usec < spec->duration_usec;

    if (work_stop_poll(cx, w) == VOLT_READY)
        return VOLT_READY;
    if (work_time_poll(cx, &w->leaf.sleep) == VOLT_PENDING)
        return VOLT_PENDING;
    if (!limited)
        return VOLT_READY;
    const struct job_event ev = {.type = JOB_EV_TIMEOUT, .at_usec = jobs_now_usec()};
    return posted_poll(cx, &w->leaf.sleep, work_post(w, &ev));
}

enum volt_poll work_sleep_poll(struct volt_cx *cx, void *state)
{
    struct work *w = state;
    const struct job_spec *spec = w->job->spec;
    struct job_event end;

    VOLT_BEGIN(w->at);
    VOLT_AWAIT(w->at, work_turn_poll(cx, w));
    if (!work_ended(w)) {
        note_start(w);
        volt_sleep_init(&w->leaf.sleep,
                        spec->timeout_usec && spec->timeout_usec < spec->duration_usec
                            ? spec->timeout_usec
                            : spec->duration_usec);
        VOLT_AWAIT(w->at, slept_poll(cx, w));
    }
    VOLT_AWAIT(w->at, (end = note_end(w), work_finish_poll(cx, w, &end)));
    VOLT_END(w->at);
}

/* --- arrays ------------------------------------------------------------------------- */

/* Lock held. Returns a new task; NULL: no memory for all that the element needs. */
static struct work *new_element(struct manager *m, struct job *job, int64_t offset)
{
    if (array_reserve(job->array, offset) < 0 ||
        elements_reserve(job->elements, offset) < 0)
        return NULL;
    return work_new(m, job, offset);
}

/* Lock held. Enters the work of the next element. NULL: none may start, or no memory
 * (*ret_again). */
static struct work *start_element(struct tx *tx, struct job *job, bool *ret_again)
{
    struct manager *m = tx->m;
    const struct job_event submit = {.type = JOB_EV_SUBMIT};
    int64_t offset = array_next(job->array);
    struct work *w;

    if (offset == ARRAY_WHOLE || m->closed || job->held ||
        (jobs_slotted(job) && !job->elements->granted))
        return NULL;
    w = new_element(m, job, offset);
    if (!w) {
        *ret_again = true;
        return NULL;
    }
    if (jobs_slotted(job)) {
        job->elements->granted--;
        w->granted = true;
    }
    elements_set(job->elements, offset, w);
    (void)core_settle(tx, job, offset, &submit); /* one of the rest takes it */
    job->tasks++;
    return w;
}

/* READY: every element has been started or cancelled. */
static enum volt_poll expand_poll(struct volt_cx *cx, struct work *w)
{
    struct manager *m = w->manager;
    struct work *started[EXPAND_BATCH];
    struct tx tx;
    bool again = false;
    size_t n = 0;

    core_begin(&tx, m);
    while (n < EXPAND_BATCH && (started[n] = start_element(&tx, w->job, &again)))
        n++;
    bool all = array_next(w->job->array) == ARRAY_WHOLE;
    if (all) {
        queue_remove(&m->queue, &w->job->node);
        give_back_slots(m, w, &tx);
    } else if (!again) {
        wait_here(cx, w);
    }
    core_finish(&tx);

    for (size_t i = 0; i < n; i++)
        (void)volt_task_spawn(started[i], NULL); /* closing: it is dropped */
    if (n == EXPAND_BATCH && !all)
        volt_cx_wake(cx); /* the elements run first */
    if (again && n < EXPAND_BATCH) {
        volt_sleep_fini(&w->leaf.sleep);
        volt_sleep_init(&w->leaf.sleep, EXPAND_AGAIN);
        (void)volt_sleep_poll(cx, &w->leaf.sleep);
    }
    return all ? VOLT_READY : VOLT_PENDING;
}

/* The array's own task ends before its last elements do; their drops retire the job. */
enum volt_poll work_array_poll(struct volt_cx *cx, void *state)
{
    return expand_poll(cx, state);
}
