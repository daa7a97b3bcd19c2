/* Who begins after whom: relay.h. */
#include <volt/time.h>

#include "daemon/exec/jobs.h"

static void remove_runner(struct relay *r, struct work *w)
{
    struct relay_place *p = &w->relay;

    if (!p->runs)
        return;
    *(p->prev ? &p->prev->relay.next : &r->head) = p->next;
    *(p->next ? &p->next->relay.prev : &r->tail) = p->prev;
    p->prev = p->next = NULL;
    p->runs = false;
}

void relay_enter(struct manager *m, struct work *w, uint64_t start,
                 struct aftermath *after)
{
    struct relay *r = &m->relay;
    struct relay_place *p = &w->relay;

    remove_runner(r, w);
    p->runs = true;
    p->start = start;
    p->since_usec = volt_now_usec();
    p->prev = r->tail;
    *(r->tail ? &r->tail->relay.next : &r->head) = w;
    r->tail = w;
    ahead_stir(m, after);
}

/* It has a slot, or comes right after who has. */
static bool can_be_followed(const struct work *x)
{
    return !x->relay.behind &&
           (x->granted || (x->relay.before && x->relay.before->granted)) &&
           jobs_status(x->job, x->offset)->state < JOB_STOPPING;
}

/* Of those that have not run for long the oldest: it is likely to end first. */
bool relay_join(struct manager *m, struct work *w)
{
    struct relay *r = &m->relay;
    uint64_t now = volt_now_usec();

    if (w != ahead_turn(m) || w->adopted || m->closed || m->queue.used > m->queue.slots)
        return false;
    while (r->head && r->head->relay.since_usec + RELAY_WAIT < now)
        remove_runner(r, r->head);
    for (struct work *x = r->head; x; x = x->relay.next) {
        if (!can_be_followed(x))
            continue;
        x->relay.behind = w;
        w->relay.before = x;
        w->relay.after = x->relay.start;
        w->relay.called_back = false;
        return true;
    }
    return false;
}

void relay_part(struct manager *m, struct work *w)
{
    struct work *before = w->relay.before;

    if (!before)
        return;
    remove_runner(&m->relay, before); /* the keeper takes nobody after it any more */
    before->relay.behind = NULL;
    w->relay.before = NULL;
}

void relay_call_back(struct manager *m, struct work *w, struct aftermath *after)
{
    if (w->granted)
        relay_part(m, w);
    w->relay.called_back = true;
    jobs_wake(w, after);
}

void relay_void(struct manager *m, struct work *w)
{
    remove_runner(&m->relay, w);
    relay_part(m, w);
    if (w->relay.behind)
        relay_part(m, w->relay.behind);
}

void relay_leave(struct manager *m, struct work *w, struct aftermath *after)
{
    struct work *before = w->relay.before, *behind = w->relay.behind;

    relay_void(m, w);
    if (!behind || (!w->granted && !before))
        return;
    if (before) { /* whose end is not seen yet */
        before->relay.behind = behind;
        behind->relay.before = before;
        return;
    }
    ahead_leave(m, behind);
    behind->granted = true;
    w->granted = false;
    ahead_stir(m, after);
}
