/* See waiter.h. */
#include <assert.h>

#include "daemon/admit/state.h"

void waiter_join(struct admission *a, struct waiter *w, uint64_t now)
{
    class_stamp(w, now);
    waiter_rejoin(a, w);
}

void waiter_rejoin(struct admission *a, struct waiter *w)
{
    assert(w->state == WAITER_APART && !w->conditions);
    w->state = WAITER_LINE;
    standing_add(a, w->class, w);
}

void waiter_count_unmet(struct admission *a, const struct waiter *w, int n)
{
    a->unmet += (uint64_t)(int64_t)n;
    w->class->account->queue->unmet += (uint64_t)(int64_t)n;
}

void waiter_quit(struct admission *a, struct waiter *w)
{
    standing_remove(a, w->class, w);
    w->state = WAITER_APART;
    w->conditions = NULL;
}
