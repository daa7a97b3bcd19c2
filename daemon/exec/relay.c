/* Which job begins after which other: relay.h. */
#include <volt/time.h>

#include "daemon/exec/jobs.h"

static struct work *runner_of(struct list_node *n)
{
    return n ? list_thing(n, struct work, relay.node) : NULL;
}

static void remove_runner(struct relay *r, struct work *w)
{
    struct relay_place *p = &w->relay;

    if (!p->runs)
        return;
    list_remove(&r->runners, &p->node);
    p->runs = false;
}

void relay_enter(struct manager *m, struct work *w, uint64_t start, struct tx *tx)
{
    struct relay *r = &m->relay;
    struct relay_place *p = &w->relay;

    remove_runner(r, w);
    p->runs = true;
    p->start = start;
    p->since_usec = volt_now_usec();
    list_add_last(&r->runners, &p->node);
    ahead_stir(m, tx);
}

/* It has a slot, or follows a job that has one. */
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
    struct work *oldest;
    uint64_t now = volt_now_usec();

    if (w != ahead_first(&m->ahead, false) || w->adopted || m->closed ||
        m->queue.used > m->queue.slots)
        return false;
    while ((oldest = runner_of(r->runners.first)) &&
           oldest->relay.since_usec + RELAY_WAIT < now)
        remove_runner(r, oldest);
    for (struct list_node *n = r->runners.first; n; n = n->next) {
        struct work *x = runner_of(n);

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

void relay_call_back(struct manager *m, struct work *w, struct tx *tx)
{
    if (w->granted)
        relay_part(m, w);
    w->relay.called_back = true;
    jobs_wake(w, tx);
}

bool relay_serve(struct manager *m, struct tx *tx)
{
    struct work *w;

    while (m->queue.used < m->queue.slots && (w = ahead_first(&m->ahead, true))) {
        if (!tx_has_room(tx))
            return false;
        ahead_grant(m, w);
        relay_call_back(m, w, tx);
    }
    return true;
}

void relay_call_back_all(struct manager *m, struct tx *tx)
{
    for (struct list_node *n = m->ahead.line.first; n; n = n->next) {
        struct work *w = list_thing(n, struct work, ahead_node);

        if (w->relay.before)
            relay_call_back(m, w, tx);
    }
}

void relay_void(struct manager *m, struct work *w)
{
    remove_runner(&m->relay, w);
    relay_part(m, w);
    if (w->relay.behind)
        relay_part(m, w->relay.behind);
}

void relay_leave(struct manager *m, struct work *w, struct tx *tx)
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
    ahead_stir(m, tx);
}
