/* Which job begins after which other: chain.h. */
#include <volt/time.h>

#include "daemon/core/jobs.h"
#include "daemon/core/phase.h"
#include "daemon/core/tx.h"
#include "daemon/core/waiting.h"
#include "daemon/core/work.h"
#include "daemon/dispatch/state.h"

static struct work *runner_of(struct list_node *n)
{
    return n ? list_thing(n, struct work, chain.node) : NULL;
}

static struct work *follower_of(struct list_node *n)
{
    return n ? list_thing(n, struct work, chain.follower) : NULL;
}

/* w follows x, or nothing any more: NULL. */
static void follow(struct core *core, struct work *w, struct work *x)
{
    struct chain *r = &parts_of(core)->dispatch->chain;

    if (w->chain.before)
        list_remove(&r->followers, &w->chain.follower);
    if (x)
        list_add_last(&r->followers, &w->chain.follower);
    r->nfollowers += (x != NULL) - (w->chain.before != NULL);
    w->chain.before = x;
}

static void remove_runner(struct chain *r, struct work *w)
{
    struct chain_place *p = &w->chain;

    if (!p->runs)
        return;
    list_remove(&r->runners, &p->node);
    p->runs = false;
}

void chain_enter(struct core *core, struct work *w, uint64_t start, struct tx *tx)
{
    struct chain *r = &parts_of(core)->dispatch->chain;
    struct chain_place *p = &w->chain;

    remove_runner(r, w);
    p->runs = true;
    p->start = start;
    p->since_usec = volt_now_usec();
    list_add_last(&r->runners, &p->node);
    early_stir(core, tx);
}

/* It has a slot, or follows a job that has one. */
static bool can_be_followed(const struct work *x)
{
    return !x->chain.behind && list_is_empty(&x->inside) &&
           (work_has_slot(x) || (x->chain.before && work_has_slot(x->chain.before))) &&
           jobs_status(x->job, x->offset)->state < JOB_STOPPING;
}

/* More run than there are slots. */
static bool is_crowded(const struct core *core)
{
    const struct admission_counts c = admission_count(parts_of(core)->admit);

    return c.used > c.slots;
}

/* Of those that have not run for long the oldest: it is likely to end first. While
 * something waits that has claims and may be next, the slot goes to that in its turn. */
bool chain_join(struct core *core, struct work *w)
{
    struct chain *r = &parts_of(core)->dispatch->chain;
    struct work *oldest;
    uint64_t now = volt_now_usec();

    /* Works ask in the order in which their STARTINGs become durable, which is not that
     * of the line. Only the first of the line joins. */
    if (w->adopted || phase_is_closed(core) || is_crowded(core) ||
        admission_has_claimant(parts_of(core)->admit) || w != grant_first_early(core))
        return false;
    while ((oldest = runner_of(r->runners.first)) &&
           oldest->chain.since_usec + CHAIN_WAIT < now)
        remove_runner(r, oldest);
    for (struct list_node *n = r->runners.first; n; n = n->next) {
        struct work *x = runner_of(n);

        if (!can_be_followed(x) || !admission_is_alike(&x->job->waiter, &w->job->waiter))
            continue;
        x->chain.behind = w;
        follow(core, w, x);
        w->chain.after = x->chain.start;
        w->chain.called_back = false;
        return true;
    }
    return false;
}

void chain_part(struct core *core, struct work *w)
{
    struct work *before = w->chain.before;

    if (!before)
        return;
    remove_runner(&parts_of(core)->dispatch->chain,
                  before); /* the keeper takes nobody after it any more */
    before->chain.behind = NULL;
    follow(core, w, NULL);
}

void chain_call_back(struct core *core, struct work *w, struct tx *tx)
{
    if (work_has_slot(w))
        chain_part(core, w);
    w->chain.called_back = true;
    jobs_wake(w, tx);
}

void chain_grant(struct core *core, struct work *w, struct tx *tx)
{
    grant_take(core, w);
    chain_call_back(core, w, tx);
}

bool chain_yield(struct core *core, struct tx *tx)
{
    struct list_node *n = parts_of(core)->dispatch->chain.followers.first;
    const struct class *class = NULL;
    bool passed = false;

    for (; n; n = n->next) {
        struct work *w = follower_of(n);
        const struct waiter *waiter = &w->job->waiter;

        if (w->chain.called_back)
            continue;
        if (waiter->class != class) /* the same for all of one class */
            passed = admission_is_passed(parts_of(core)->admit, waiter);
        class = waiter->class;
        if (!passed)
            continue;
        if (!tx_has_room(tx))
            return false;
        chain_call_back(core, w, tx);
    }
    return true;
}

void chain_call_back_all(struct core *core, struct tx *tx)
{
    for (struct list_node *n = parts_of(core)->dispatch->chain.followers.first; n;
         n = n->next)
        chain_call_back(core, follower_of(n), tx);
}

void chain_void(struct core *core, struct work *w)
{
    remove_runner(&parts_of(core)->dispatch->chain, w);
    chain_part(core, w);
    if (w->chain.behind)
        chain_part(core, w->chain.behind);
}

void chain_give_up(struct core *core, struct work *w)
{
    chain_void(core, w);
    if (work_has_slot(w) && (w->chain.called_back || w->assumed)) {
        grant_return(core, w);
        grant_set_early(core, w, true);
        w->spent |= w->assumed && w->job->claims;
    }
    w->chain.called_back = w->assumed = false;
}

void chain_leave(struct core *core, struct work *w, uint64_t ran_usec, struct tx *tx)
{
    struct work *before = w->chain.before, *behind = w->chain.behind;
    const bool had_slot = work_has_slot(w);

    chain_void(core, w);
    if (before && !had_slot && ran_usec != NEVER_RAN)
        admission_ran_beside(parts_of(core)->admit, &w->job->waiter, ran_usec,
                             waiting_now(core));
    grant_end(core, w, ran_usec);
    if (behind && before) { /* whose end is not seen yet */
        before->chain.behind = behind;
        follow(core, behind, before);
    } else if (behind && had_slot) {
        grant_take(core, behind);
        early_stir(core, tx);
    }
}
