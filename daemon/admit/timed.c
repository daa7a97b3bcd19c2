/* See timed.h. */

#include "base/list.h"
#include "daemon/admit/timed.h"

#define timed_of(n) list_thing(n, struct timed, node)

static bool is_before(const struct treap_node *x, const struct treap_node *y)
{
    const struct timed *a = timed_of(x), *b = timed_of(y);

    return a->at < b->at || (a->at == b->at && (uintptr_t)a < (uintptr_t)b);
}

void timed_set(struct timed_queue *q, struct timed *t, uint64_t at)
{
    timed_clear(q, t);
    t->at = at;
    t->set = true;
    treap_add(&q->all, &t->node, is_before);
}

void timed_clear(struct timed_queue *q, struct timed *t)
{
    if (t->set)
        treap_remove(&q->all, &t->node, is_before);
    t->set = false;
}

uint64_t timed_next(const struct timed_queue *q)
{
    const struct treap_node *first = treap_first(&q->all);

    return first ? timed_of(first)->at : TIMED_NEVER;
}

bool timed_run(struct timed_queue *q, struct admission *a, uint64_t now)
{
    struct treap_node *first = treap_first(&q->all);

    if (!first || timed_of(first)->at > now)
        return false;
    struct timed *t = timed_of(first);
    timed_clear(q, t);
    t->due(a, t, now);
    return true;
}
