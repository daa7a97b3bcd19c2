/* The line of works that wait for a slot, and which may join it: ahead.h. */
#include <volt/time.h>

#include "daemon/exec/jobs.h"
#include "daemon/exec/post.h"

#define AHEAD_MAX  16
#define AHEAD_SPAN UINT64_C(6000)
#define AHEAD_PACE UINT64_C(5000) /* of longer ones a commit takes a thirtieth or less */
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

struct work *ahead_first(const struct ahead *a, bool follows)
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

bool ahead_serve(struct manager *m, struct tx *tx)
{
    const struct queue_node *next = queue_first(&m->queue);
    struct work *w;

    while (m->queue.used < m->queue.slots && (w = ahead_first(&m->ahead, false)) &&
           !(next && queue_before(next, &w->job->node))) {
        if (!tx_has_room(tx))
            return false;
        ahead_grant(m, w);
        if (w->waker.task)
            jobs_wake(w, tx);
        else /* a slot is empty until its STARTING is kept */
            tx->kick = true;
    }
    return true;
}

void ahead_stir(struct manager *m, struct tx *tx)
{
    jobs_wake(ahead_first(&m->ahead, false), tx);
}

/* As many as will start within the span, and the next of each slot. */
static bool has_room(const struct manager *m)
{
    uint64_t pace = m->ahead.pace_usec + 1;

    return m->ahead.past == PACE_PAST && pace < AHEAD_PACE && m->ahead.n < AHEAD_MAX &&
           m->ahead.n < m->queue.slots * (AHEAD_SPAN + pace) / pace;
}

void ahead_fill(struct manager *m, struct tx *tx)
{
    struct queue_node *n;

    while (has_room(m) && tx_has_room(tx) && (n = queue_first(&m->queue))) {
        struct job *job = job_of_node(n);

        if (job->array)
            return;
        queue_remove(&m->queue, n);
        if (!jobs_give_task(tx, job)) { /* the next change tries again */
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

bool ahead_defer(struct tx *tx, struct work *w)
{
    struct manager *m = tx->m;
    struct job *job = w->job;
    struct job_event ev = {.type = JOB_EV_DEFERRED, .at_usec = jobs_now_usec()};

    if (!w->ahead || w->offset != NO_OFFSET || job->status.state != JOB_STARTING ||
        core_post(tx, job, w->offset, &ev) < 0)
        return false;
    ahead_leave(m, w);
    queue_put_back(&m->queue, &job->node);
    m->ahead.pace_usec = PACE_SLOW;
    return true;
}
