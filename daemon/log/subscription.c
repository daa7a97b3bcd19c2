/* See subscription.h. */
#include "daemon/log/subscription.h"

#include <assert.h>
#include <stdlib.h>

struct subscriptions *subscriptions_new(uint32_t lists)
{
    struct subscriptions *t = calloc(1, sizeof(*t) + lists * sizeof(t->list[0]));

    if (t)
        t->lists = lists;
    return t;
}

void subscriptions_free(struct subscriptions *t)
{
    assert(!t || t->count == 0);
    free(t);
}

bool subscriptions_is_empty(struct subscriptions *t)
{
    vlock_lock(&t->lock);
    bool empty = t->count == 0;
    vlock_unlock(&t->lock);
    return empty;
}

bool subscriptions_list_is_empty(struct subscriptions *t, uint32_t list)
{
    vlock_lock(&t->lock);
    bool empty = list_is_empty(&t->list[list]);
    vlock_unlock(&t->lock);
    return empty;
}

static struct subscription *subscription_of(struct list_node *n)
{
    return n ? list_thing(n, struct subscription, node) : NULL;
}

struct subscription *subscriptions_first(const struct subscriptions *t, uint32_t list)
{
    return subscription_of(t->list[list].first);
}

struct subscription *subscriptions_after(const struct subscription *s)
{
    return subscription_of(s->node.next);
}

/* --- subscribers -------------------------------------------------------------------- */

void subscriber_init(struct volt_cx *cx, struct subscriber *s, struct subscriptions *t)
{
    *s = (struct subscriber){.table = t, .waker = volt_waker_new(cx)};
}

void subscriber_fini(struct subscriber *s)
{
    if (!s->table)
        return;
    volt_waker_fini(&s->waker);
    s->table = NULL;
}

bool subscriber_arm(struct subscriber *s)
{
    vlock_lock(&s->table->lock);
    bool looks = !s->armed || subscriber_is_behind(s);
    s->armed = true;
    s->seen = s->table->happened;
    vlock_unlock(&s->table->lock);
    return looks;
}

void subscriber_disarm(struct subscriber *s)
{
    vlock_lock(&s->table->lock);
    s->armed = false;
    vlock_unlock(&s->table->lock);
}

void subscription_add_locked(struct subscriber *by, struct subscription *s, uint32_t list)
{
    struct subscriptions *t = by->table;

    s->by = by;
    list_add_first(&t->list[list], &s->node);
    t->count++;
}

void subscription_remove_locked(struct subscriptions *t, struct subscription *s,
                                uint32_t list)
{
    if (!s->by)
        return;
    if (t->next == &s->node)
        t->next = s->node.next;
    list_remove(&t->list[list], &s->node);
    s->by = NULL;
    t->count--;
}

void subscription_add(struct subscriber *by, struct subscription *s, uint32_t list)
{
    vlock_lock(&by->table->lock);
    subscription_add_locked(by, s, list);
    vlock_unlock(&by->table->lock);
}

void subscription_remove(struct subscriber *by, struct subscription *s, uint32_t list)
{
    vlock_lock(&by->table->lock);
    subscription_remove_locked(by->table, s, list);
    vlock_unlock(&by->table->lock);
}

bool subscriptions_happened(struct subscriptions *t)
{
    vlock_lock(&t->lock);
    t->happened++;
    bool any = t->count > 0;
    vlock_unlock(&t->lock);
    return any;
}

bool subscriber_is_behind(const struct subscriber *s)
{
    return s->seen != s->table->happened;
}

/* --- notifications ------------------------------------------------------------------ */

void subscriptions_begin(struct subscriptions *t, uint32_t list)
{
    t->at = list;
    t->end = list + 1;
}

void subscriptions_begin_first(struct subscriptions *t, uint32_t lists)
{
    t->at = 0;
    t->end = subscriptions_is_empty(t) ? 0 : lists;
}

void subscriptions_begin_all(struct subscriptions *t)
{
    subscriptions_begin_first(t, t->lists);
}

/* Lock held. Returns whether the notification has passed all its lists. */
static bool is_through(const struct subscriptions *t)
{
    return !t->next && t->at == t->end;
}

/* Lock held. Returns the next subscription. NULL: entered the next list instead. */
static struct subscription *take_step(struct subscriptions *t)
{
    struct list_node *n = t->next;

    t->next = n ? n->next : t->list[t->at++].first;
    return subscription_of(n);
}

void subscriptions_begin_round(struct subscriptions_round *r, struct subscriptions *t,
                               size_t *looks)
{
    r->more = true;
    r->locked = false;
    r->table = t;
    r->looks = looks;
}

static void lock_round(struct subscriptions_round *r)
{
    if (r->locked)
        return;
    vlock_lock(&r->table->lock);
    r->locked = true;
    r->looked = 0;
    r->wakes = 0;
}

static void unlock_and_wake(struct subscriptions_round *r)
{
    r->more = !is_through(r->table);
    r->locked = false;
    vlock_unlock(&r->table->lock);
    for (unsigned i = 0; i < r->wakes; i++) {
        volt_waker_wake(&r->wakers[i]);
        volt_waker_fini(&r->wakers[i]);
    }
}

/* Lock held. Returns whether the round may look at another subscription before it
 * unlocks. */
static bool may_look(const struct subscriptions_round *r)
{
    return *r->looks > 0 && r->looked < SUBSCRIPTIONS_LOOKS &&
           r->wakes < SUBSCRIPTIONS_WAKES && !is_through(r->table);
}

struct subscription *subscriptions_next(struct subscriptions_round *r)
{
    while (r->locked || (r->more && *r->looks > 0)) {
        lock_round(r);
        while (may_look(r)) {
            struct subscription *s = take_step(r->table);

            --*r->looks;
            r->looked++;
            if (s)
                return s;
        }
        unlock_and_wake(r);
    }
    return NULL;
}

void subscriptions_wake(struct subscriptions_round *r, struct subscription *s)
{
    if (!s->by->armed)
        return;
    assert(r->wakes < SUBSCRIPTIONS_WAKES);
    s->by->armed = false;
    r->wakers[r->wakes++] = volt_waker_ref(&s->by->waker);
}
