/* The task of a job: its turn, its stop, its end; and the kinds without a process.
 *
 * Kinds sleep and noop take no slot: slots bound processes. */
#include <errno.h>
#include <string.h>

#include "base/crash.h"
#include "daemon/exec/jobs.h"
#include "daemon/observe/log.h"

#define EXPAND_BATCH 32 /* elements an array starts in one poll */
#define EXPAND_AGAIN UINT64_C(100000)
#define KEEP_TRIES   100 /* to give an end to the store without memory, */
#define KEEP_AGAIN   UINT64_C(100000)

/* The steps of work_finish_poll(). */
enum { FINISH_KEEP, FINISH_KEPT, FINISH_COMMIT, FINISH_REST };

static const struct volt_task_type exec_type = {"job exec", sizeof(struct work),
                                                work_exec_poll, work_drop, NULL};
static const struct volt_task_type sleep_type = {"job sleep", sizeof(struct work),
                                                 work_sleep_poll, work_drop, NULL};
static const struct volt_task_type noop_type = {"job noop", sizeof(struct work),
                                                work_noop_poll, work_drop, NULL};
static const struct volt_task_type array_type = {"job array", sizeof(struct work),
                                                 work_array_poll, work_drop, NULL};

static const struct volt_task_type *type_of(const struct job *job, int64_t offset)
{
    if (job->array && offset == NO_OFFSET)
        return &array_type;
    switch ((enum job_kind)job->kind) {
    case JOB_KIND_SLEEP:
        return &sleep_type;
    case JOB_KIND_NOOP:
        return &noop_type;
    case JOB_KIND_EXEC:
        break;
    }
    return &exec_type;
}

struct work *work_new(struct manager *m, struct job *job, int64_t offset)
{
    struct work *w = volt_task_new(m->rt, type_of(job, offset));

    if (!w)
        return NULL;
    w->manager = m;
    w->job = job;
    w->offset = offset;
    return w;
}

void work_leaf_fini(struct work *w)
{
    if (w->leaf_is_commit)
        store_commit_fini(&w->leaf.commit);
    else
        volt_sleep_fini(&w->leaf.sleep);
    memset(&w->leaf, 0, sizeof(w->leaf));
    w->leaf_is_commit = false;
}

static void give_back_slots(struct manager *m, struct work *w, struct aftermath *after)
{
    struct elements *e = w->offset == NO_OFFSET ? w->job->elements : NULL;

    ahead_leave(m, w);
    relay_leave(m, w, after);
    if (w->granted)
        queue_release(&m->queue);
    w->granted = false;
    for (; e && e->granted; e->granted--)
        queue_release(&m->queue);
}

/* Before the attempt, which has them, is freed. */
static void forget_left(struct work *w)
{
    struct aftermath after = {0};

    if (!w->left)
        return;
    manager_lock(w->manager);
    w->left = NULL;
    manager_unlock(w->manager, &after);
}

void work_drop(void *state)
{
    struct work *w = state;
    struct manager *m = w->manager;
    struct aftermath after;

    aftermath_init(&after);
    work_leaf_fini(w);
    forget_left(w);
    attempt_free(w->attempt);
    manager_lock(m);
    if (w->offset == NO_OFFSET)
        queue_remove(&m->queue, &w->job->node);
    give_back_slots(m, w, &after);
    if (w->offset == NO_OFFSET)
        w->job->live = NULL;
    else
        elements_set(w->job->elements, w->offset, NULL);
    struct volt_waker waker = w->waker;
    w->waker = (struct volt_waker){0};
    if (--w->job->tasks == 0)
        job_retire(m, w->job, &after);
    manager_unlock(m, &after);
    volt_waker_fini(&waker);
}

/* Lock held. A waker, once made, always is of this task. */
static void wait_here(struct volt_cx *cx, struct work *w)
{
    if (!w->waker.task)
        w->waker = volt_waker_new(cx);
}

/* Lock held. The kinds without a process keep it with their end: they begin anew. */
static void keep_start(struct work *w, const struct job_event *starting,
                       struct aftermath *after)
{
    w->kept_starting = true; /* this is it: nothing is owed */
    w->leaf_is_commit = true;
    if (jobs_keep(w->manager, w->job, w->offset, starting, false, &w->leaf.commit,
                  after) < 0) /* the status of the commit says it too */
        w->kept_starting = false;
    CRASH_POINT("start-appended");
}

/* Lock held. As work_turn_poll(). */
static enum volt_poll take_turn(struct volt_cx *cx, struct work *w, uint64_t now,
                                struct aftermath *after)
{
    struct manager *m = w->manager;
    const struct job_status *st = jobs_status(w->job, w->offset);

    if (st->state != JOB_QUEUED)
        return VOLT_READY;
    if (m->closed || w->job->held || (!w->granted && !w->ahead && jobs_slotted(w->job))) {
        wait_here(cx, w);
        return VOLT_PENDING;
    }
    const struct job_event ev = {
        .type = JOB_EV_STARTING, .at_usec = now, .attempt = st->attempt + 1};
    (void)jobs_apply(m, w->job, w->offset, &ev);
    if (w->job->kind == JOB_KIND_EXEC)
        keep_start(w, &ev, after);
    return VOLT_READY;
}

enum volt_poll work_turn_poll(struct volt_cx *cx, struct work *w)
{
    struct aftermath after = {0};

    manager_lock(w->manager);
    enum volt_poll verdict = take_turn(cx, w, jobs_now_usec(), &after);
    manager_unlock(w->manager, &after);
    return verdict;
}

bool work_may_go(struct volt_cx *cx, struct work *w)
{
    struct manager *m = w->manager;
    struct aftermath after = {0};

    manager_lock(m);
    bool go = w->granted || w->relay.before ||
              jobs_status(w->job, w->offset)->state >= JOB_STOPPING || relay_join(m, w);
    if (!go)
        wait_here(cx, w);
    manager_unlock(m, &after);
    return go;
}

enum volt_poll work_stop_poll(struct volt_cx *cx, struct work *w)
{
    struct manager *m = w->manager;
    struct aftermath after = {0};

    manager_lock(m);
    bool stop = jobs_status(w->job, w->offset)->state >= JOB_STOPPING;
    if (!stop)
        wait_here(cx, w);
    manager_unlock(m, &after);
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
    struct aftermath after = {0};

    manager_lock(w->manager);
    struct job_status st = *jobs_status(w->job, w->offset);
    manager_unlock(w->manager, &after);
    return st;
}

bool work_ended(struct work *w)
{
    return status_of(w).state == JOB_DONE;
}

/* Lock held. 0; -EPROTO. */
static int apply(struct work *w, const struct job_event *ev, struct aftermath *after)
{
    struct manager *m = w->manager;
    int r = jobs_apply(m, w->job, w->offset, ev);

    if (r == 0 && (ev->type == JOB_EV_TIMEOUT || ev->type == JOB_EV_OUTPUT_LIMIT))
        (void)jobs_keep(m, w->job, w->offset, ev, false, NULL, after); /* no memory */
    else if (r == 0 && ev->type == JOB_EV_STARTED && w->job->kind != JOB_KIND_NOOP)
        jobs_keep_start(m, w->job, w->offset);
    if (jobs_status(w->job, w->offset)->state == JOB_DONE)
        give_back_slots(m, w, after);
    return r;
}

static void report(const struct work *w, const struct job_event *ev, int r)
{
    if (r < 0)
        log_error("job %llu: event %s is out of place", (unsigned long long)w->job->id,
                  job_event_name(ev->type));
}

void work_apply(struct work *w, const struct job_event *ev)
{
    struct aftermath after = {0};

    manager_lock(w->manager);
    int r = apply(w, ev, &after);
    manager_unlock(w->manager, &after);
    report(w, ev, r);
}

/* The end, of what has not ended by its cancel. */
static void apply_end(struct work *w, const struct job_event *exited)
{
    struct aftermath after;
    int r = 0;

    aftermath_init(&after);
    manager_lock(w->manager);
    if (jobs_status(w->job, w->offset)->state != JOB_DONE)
        r = apply(w, exited, &after);
    manager_unlock(w->manager, &after);
    report(w, exited, r);
}

enum volt_poll work_commit_poll(struct volt_cx *cx, struct work *w)
{
    if (!w->leaf.commit.store)
        return VOLT_READY; /* refused at once */
    return store_commit_poll(cx, &w->leaf.commit);
}

/* Lock held. The end goes into the store; of what has ended already only its CANCEL is
 * waited for. From here on it is too late to cancel, but for an end that leads to another
 * attempt: that one is applied at once, so that a cancel behind it is one of a queued
 * job. */
static void keep_end(struct work *w, const struct job_event *exited,
                     struct aftermath *after)
{
    struct manager *m = w->manager;
    const struct job_status *st = jobs_status(w->job, w->offset);
    bool ended = st->state == JOB_DONE;

    w->leaf_is_commit = true;
    w->again = !ended && job_goes_again(st, exited);
    w->ending = !w->again;
    int r = jobs_keep(m, w->job, w->offset, ended ? NULL : exited,
                      !w->job->array && !w->again, &w->leaf.commit,
                      after); /* the status says it too */
    if (r == 0 && w->again) {
        (void)jobs_apply(m, w->job, w->offset, exited);
        w->kept_started = false;
    }
    if (!w->again) { /* its process has gone: the next one's STARTING joins this commit */
        if (w->granted && st->started_usec)
            ahead_note_end(m, st->started_usec, exited->at_usec);
        give_back_slots(m, w, after);
    } else {
        relay_void(m, w);
    }
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
            struct aftermath after = {0};

            work_leaf_fini(w);
            manager_lock(w->manager);
            keep_end(w, exited, &after);
            manager_unlock(w->manager, &after);
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
        volt_sleep_init(&w->leaf.sleep, KEEP_AGAIN);
        w->step = FINISH_REST;
    }
    if (w->leaf.commit.status < 0)
        log_error("job %llu: its end could not be stored: %s",
                  (unsigned long long)w->job->id, strerror(-w->leaf.commit.status));
    CRASH_POINT("end-committed");
    if (!w->again)
        apply_end(w, exited);
    CRASH_POINT("end-applied");
    return VOLT_READY;
}

/* --- noop and sleep ----------------------------------------------------------------- */

static void note_start(struct work *w)
{
    struct job_event ev = {
        .type = JOB_EV_STARTED, .at_usec = jobs_now_usec(), .attempt = 1};

    if (!w->adopted) /* it was stopped or watched before the daemon ended */
        work_apply(w, &ev);
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
    struct job_event started = {
        .type = JOB_EV_STARTED, .at_usec = jobs_now_usec(), .attempt = 1};
    struct aftermath after;

    aftermath_init(&after);
    manager_lock(w->manager);
    enum volt_poll verdict = take_turn(cx, w, started.at_usec, &after);
    if (verdict == VOLT_READY) {
        if (!w->adopted && jobs_status(w->job, w->offset)->state != JOB_DONE)
            (void)apply(w, &started, &after); /* one that is starting takes it */
        w->end_usec = started.at_usec;
        const struct job_event end = note_end(w);
        keep_end(w, &end, &after);
        w->step = FINISH_KEPT;
    }
    manager_unlock(w->manager, &after);
    return verdict;
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

/* READY: the time is up (timed out: the shorter of the two), or it is to stop. */
static enum volt_poll slept_poll(struct volt_cx *cx, struct work *w)
{
    const struct job_spec *spec = w->job->spec;
    bool limited = spec->timeout_usec && spec->timeout_usec < spec->duration_usec;

    if (work_stop_poll(cx, w) == VOLT_READY)
        return VOLT_READY;
    if (work_time_poll(cx, &w->leaf.sleep) == VOLT_PENDING)
        return VOLT_PENDING;
    if (limited) {
        struct job_event ev = {.type = JOB_EV_TIMEOUT, .at_usec = jobs_now_usec()};
        work_apply(w, &ev);
    }
    return VOLT_READY;
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
static struct work *start_element(struct manager *m, struct job *job, bool *ret_again)
{
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
    (void)jobs_apply(m, job, offset, &submit); /* one of the rest takes it */
    job->tasks++;
    return w;
}

/* READY: every element has been started or cancelled. */
static enum volt_poll expand_poll(struct volt_cx *cx, struct work *w)
{
    struct manager *m = w->manager;
    struct work *started[EXPAND_BATCH];
    struct aftermath after = {0};
    bool again = false;
    size_t n = 0;

    manager_lock(m);
    while (n < EXPAND_BATCH && (started[n] = start_element(m, w->job, &again)))
        n++;
    bool all = array_next(w->job->array) == ARRAY_WHOLE;
    if (all) {
        queue_remove(&m->queue, &w->job->node);
        give_back_slots(m, w, &after);
    } else if (!again) {
        wait_here(cx, w);
    }
    manager_unlock(m, &after);

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
