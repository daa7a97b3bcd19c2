/* What is due, the hand-out of slots, and the task for the rest: dispatcher.h. */
#include "daemon/exec/dispatcher.h"

#include <errno.h>
#include <volt/time.h>

#include "daemon/exec/cancel.h"
#include "daemon/exec/jobs.h"
#include "daemon/exec/post.h"

/* --- the agenda --------------------------------------------------------------------- */

static void release(struct tx *tx, struct job *job)
{
    struct manager *m = tx->m;
    bool held = job->held;

    succession_end(m, job);
    if (!held) /* it was in the queue since the daemon began */
        return;
    if (jobs_slotted(job) && !jobs_done(job))
        queue_add(&m->queue, &job->node, job->priority);
    jobs_wake(job->live, tx);
}

_Static_assert(TX_STEP >= MANAGER_CANCEL_FACTS + 2, "a cancelled array wakes as many");

/* 0, or the job has ended; -EAGAIN: elements are left; -ENOMEM. */
static int cancel(struct tx *tx, struct job *job)
{
    int r = core_cancel(tx, job, NO_OFFSET);

    if (r == 0 && job->array)
        r = core_cancel_elements(tx, job, &job->elements->cancelled, MANAGER_WALK_LOOKS,
                                 MANAGER_CANCEL_FACTS);
    return r == -EAGAIN || r == -ENOMEM ? r : 0;
}

/* The first of the agenda; it leaves the agenda before it may leave the table. 0;
 * -EAGAIN: not all of it; -ENOMEM. */
static int act(struct tx *tx)
{
    struct manager *m = tx->m;
    struct job *job = m->agenda.first;
    uint8_t due = job->due;

    agenda_remove(m, job);
    if (due & DUE_RELEASE)
        release(tx, job);
    int r = due & DUE_CANCEL ? cancel(tx, job) : 0;
    if (r < 0)
        agenda_add(m, job, DUE_CANCEL);
    manager_did(m, 1, 0, 0);
    return r;
}

/* 0: it is empty; -EAGAIN: another hold of the lock is due; -ENOMEM. */
static int drain_agenda(struct tx *tx)
{
    struct manager *m = tx->m;
    int r = 0;

    for (int n = 0; m->agenda.first && r == 0; n++)
        r = n < JOBS_SLICE && tx_has_room(tx) && m->held.facts < MANAGER_CANCEL_FACTS
                ? act(tx)
                : -EAGAIN;
    return r;
}

/* --- slots -------------------------------------------------------------------------- */

/* A slot for the waiter. An array gets as many as there are: it keeps its place while it
 * has elements without one, so that it would get the next ones too. False: no memory. */
static bool grant(struct tx *tx, struct job *job)
{
    struct manager *m = tx->m;

    if (!job->array) {
        if (!jobs_give_task(tx, job))
            return false;
        job->live->granted = true;
        return true;
    }
    const uint64_t rest = job->array->rest, had = job->elements->granted + 1;
    job->elements->granted =
        had + queue_take_more(&m->queue, rest > had ? rest - had : 0);
    if (job->elements->granted < rest)
        queue_put_back(&m->queue, &job->node);
    jobs_wake(job->live, tx);
    return true;
}

/* As drain_agenda(). */
static int hand_out(struct tx *tx)
{
    struct manager *m = tx->m;
    struct queue_node *n;

    for (int given = 0; given < JOBS_SLICE && tx_has_room(tx); given++) {
        if (!ahead_serve(m, tx))
            return -EAGAIN;
        if (m->closed)
            return 0;
        n = queue_take(&m->queue);
        if (!n) {
            if (!relay_serve(m, tx))
                return -EAGAIN;
            ahead_fill(m, tx);
            return 0;
        }
        manager_did(m, 1, 0, 0);
        if (!grant(tx, job_of_node(n))) {
            queue_release(&m->queue);
            queue_put_back(&m->queue, n);
            return -ENOMEM;
        }
    }
    return -EAGAIN;
}

/* -EAGAIN: more is to be done; -ENOMEM: as much, and there is no memory for it now. */
static void leave_to_task(struct tx *tx, int r)
{
    struct dispatcher *d = &tx->m->dispatcher;

    *(r == -ENOMEM ? &d->starved : &d->more) = true;
    if (!d->waker.task)
        return;
    tx->wakers[tx->n++] = d->waker; /* it has a place of its own */
    d->waker = (struct volt_waker){0};
}

static void run(struct tx *tx)
{
    int r = job_leave_some(tx) ? -EAGAIN : 0;
    int agenda = drain_agenda(tx);

    if (agenda == 0)
        agenda = hand_out(tx);
    r = agenda < 0 ? agenda : r;
    if (r < 0)
        leave_to_task(tx, r);
}

static bool is_done(const struct manager *m)
{
    const struct queue *q = &m->queue;

    if (m->dispatcher.more || m->dispatcher.starved)
        return true;
    return !m->agenda.first && (m->closed || q->used >= q->slots ||
                                (!q->waiting && list_is_empty(&m->ahead.line)));
}

const struct dispatcher_ops dispatcher_ops = {run, is_done};

/* --- the task ----------------------------------------------------------------------- */

struct dispatching {
    struct manager *manager;
    struct volt_sleep rest;
    bool rests;
};

/* Whether there is anything to do; otherwise it is woken when there is. */
static bool is_needed(struct volt_cx *cx, struct dispatching *t)
{
    struct dispatcher *d = &t->manager->dispatcher;

    manager_lock(t->manager);
    t->rests = d->starved;
    bool needed = d->more || d->starved;
    if (!needed && !d->waker.task)
        d->waker = volt_waker_new(cx);
    manager_unlock(t->manager);
    if (t->rests)
        volt_sleep_init(&t->rest, POST_AGAIN);
    return needed;
}

static enum volt_poll dispatcher_poll(struct volt_cx *cx, void *state)
{
    struct dispatching *t = state;
    struct manager *m = t->manager;
    struct tx tx;

    if (!t->rests && !is_needed(cx, t))
        return VOLT_PENDING;
    if (t->rests && volt_sleep_poll(cx, &t->rest) == VOLT_PENDING)
        return VOLT_PENDING;
    volt_sleep_fini(&t->rest);
    t->rests = false;
    core_begin(&tx, m);
    m->dispatcher.more = m->dispatcher.starved = false;
    core_finish(&tx);
    volt_cx_wake(cx);
    return VOLT_PENDING;
}

static void dispatcher_drop(void *state)
{
    struct dispatching *t = state;
    struct manager *m = t->manager;

    volt_sleep_fini(&t->rest);
    manager_lock(m);
    struct volt_waker waker = m->dispatcher.waker;
    m->dispatcher.waker = (struct volt_waker){0};
    manager_unlock(m);
    volt_waker_fini(&waker);
}

static const struct volt_task_type dispatcher_type = {
    "dispatcher", sizeof(struct dispatching), dispatcher_poll, dispatcher_drop, NULL};

int dispatcher_start(struct manager *m)
{
    struct dispatching *t = volt_task_new(m->rt, &dispatcher_type);
    struct tx tx;

    if (!t)
        return -ENOMEM;
    t->manager = m;
    manager_lock(m);
    m->dispatcher.ops = &dispatcher_ops;
    tx_init(&tx, m);
    core_finish(&tx);
    (void)volt_task_spawn(t, NULL); /* closing: it is dropped */
    return 0;
}
