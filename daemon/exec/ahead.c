/* The line of works that wait for a slot, and which may join it: ahead.h. */
#include <volt/time.h>

#include "daemon/exec/jobs.h"

#define AHEAD_MAX  16
#define AHEAD_SPAN UINT64_C(6000)
#define AHEAD_PACE UINT64_C(5000) /* of longer ones a commit takes a thirtieth or less */
#define AHEAD_WAIT UINT64_C(50000)
#define PACE_SLOW  UINT64_C(1000000) /* and what counts at most */
#define PACE_PAST  3

void ahead_init(struct ahead *a)
{
    *a = (struct ahead){0};
}

static struct work *work_of(struct list_node *n)
{
    return list_thing(n, struct work, ahead_node);
}

void ahead_join(struct manager *m, struct work *w)
{
    struct list_node *at = m->ahead.line.first;

    while (at && !queue_before(&w->job->node, &work_of(at)->job->node))
        at = at->next;
    list_add_before(&m->ahead.line, &w->ahead_node, at);
    w->ahead = true;
    m->ahead.n++;
}

void ahead_leave(struct manager *m, struct work *w)
{
    if (!w->ahead)
        return;
    list_remove(&m->ahead.line, &w->ahead_node);
    m->ahead.n--;
    w->ahead = false;
}

/* The first that follows another, or that follows none. */
static struct work *first(const struct ahead *a, bool follows)
{
    struct list_node *n = a->line.first;

    while (n && (work_of(n)->relay.before != NULL) != follows)
        n = n->next;
    return n ? work_of(n) : NULL;
}

void ahead_grant(struct manager *m, struct work *w)
{
    queue_occupy(&m->queue);
    ahead_leave(m, w);
    w->granted = true;
}

bool ahead_serve(struct manager *m, struct aftermath *after)
{
    const struct queue_node *next = queue_first(&m->queue);
    struct work *w;

    while (m->queue.used < m->queue.slots && (w = first(&m->ahead, false)) &&
           !(next && queue_before(next, &w->job->node))) {
        if (!aftermath_has_room(after))
            return false;
        ahead_grant(m, w);
        if (w->waker.task)
            jobs_wake(w, after);
        else /* a slot is empty until its STARTING is kept */
            after->kick = true;
    }
    return true;
}

bool ahead_serve_followers(struct manager *m, struct aftermath *after)
{
    struct work *w;

    while (m->queue.used < m->queue.slots && (w = first(&m->ahead, true))) {
        if (!aftermath_has_room(after))
            return false;
        ahead_grant(m, w);
        relay_call_back(m, w, after);
    }
    return true;
}

void ahead_call_back(struct manager *m, struct aftermath *after)
{
    for (struct list_node *n = m->ahead.line.first; n; n = n->next)
        if (work_of(n)->relay.before)
            relay_call_back(m, work_of(n), after);
}

const struct work *ahead_turn(const struct manager *m)
{
    return first(&m->ahead, false);
}

void ahead_stir(struct manager *m, struct aftermath *after)
{
    jobs_wake(first(&m->ahead, false), after);
}

/* As many as will start within the span, and the next of each slot. */
static bool has_room(const struct manager *m)
{
    uint64_t pace = m->ahead.pace_usec + 1;

    return m->ahead.past == PACE_PAST && pace < AHEAD_PACE && m->ahead.n < AHEAD_MAX &&
           m->ahead.n < m->queue.slots * (AHEAD_SPAN + pace) / pace;
}

void ahead_fill(struct manager *m, struct aftermath *after)
{
    struct queue_node *n;

    while (has_room(m) && aftermath_has_room(after) && (n = queue_first(&m->queue))) {
        struct job *job = job_of_node(n);

        if (job->array)
            return;
        queue_remove(&m->queue, n);
        if (!jobs_give_task(m, job, after)) { /* the next unlock tries again */
            queue_put_back(&m->queue, n);
            return;
        }
        ahead_join(m, job->live);
    }
}

void ahead_note_end(struct manager *m, uint64_t started_usec, uint64_t ended_usec)
{
    struct ahead *a = &m->ahead;
    uint64_t took = ended_usec > started_usec ? ended_usec - started_usec : 0;

    if (took > PACE_SLOW)
        took = PACE_SLOW;
    a->pace_usec = (a->past * a->pace_usec + took) / (a->past + 1);
    if (a->past < PACE_PAST)
        a->past++;
}

/* Back to its place in the queue, unless it has got its slot meanwhile or is to stop.
 * Elements, here only after a restart, wait on; so do those whose record has not been
 * removed: after another restart nobody would look for that of a job which is queued. */
static void defer(struct work *w)
{
    struct manager *m = w->manager;
    struct job *job = w->job;
    struct aftermath after = {0};
    struct job_event ev = {.type = JOB_EV_DEFERRED, .at_usec = jobs_now_usec()};

    manager_lock(m);
    if (w->ahead && w->offset == NO_OFFSET && !w->recorded &&
        job->status.state == JOB_STARTING &&
        jobs_keep(m, job, w->offset, &ev, false, NULL, &after) == 0) {
        (void)jobs_apply(m, job, w->offset, &ev); /* starting takes it */
        w->kept_starting = false;
        w->deferred = true;
        ahead_leave(m, w);
        queue_put_back(&m->queue, &job->node);
        m->ahead.pace_usec = PACE_SLOW;
    }
    manager_unlock(m, &after);
}

enum volt_poll ahead_poll(struct volt_cx *cx, struct work *w)
{
    while (!work_may_go(cx, w)) {
        if (!w->ahead_until_usec)
            w->ahead_until_usec = volt_now_usec() + AHEAD_WAIT;
        if (w->leaf_is_commit || !w->leaf.sleep.deadline_usec) {
            work_leaf_fini(w);
            volt_sleep_init_at(&w->leaf.sleep, w->ahead_until_usec);
        }
        if (volt_sleep_poll(cx, &w->leaf.sleep) == VOLT_PENDING)
            return VOLT_PENDING;
        defer(w);
        w->ahead_until_usec = 0;
        work_leaf_fini(w);
        if (w->deferred)
            break;
    }
    work_leaf_fini(w);
    return VOLT_READY;
}
