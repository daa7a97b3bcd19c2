/* See admission.h: life, waiting, time, counts and limits. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "daemon/admit/state.h"

struct admission *admission_new(const struct siphash_key *secret, uint32_t slots)
{
    static const struct queue_policy all_alike = {.weight = 1, .name = "default"};
    struct admission *a = calloc(1, sizeof(*a));

    if (!a)
        return NULL;
    a->secret = a->accounts.secret = *secret;
    a->bypass = (struct admission_bypass){BYPASS_TIMES, BYPASS_USEC};
    a->ready.shared = a->blocked.shared = true;
    resource_init(&a->slots, &resource_slots, slots, true);
    a->first_queue = queue_new(a, &all_alike);
    if (a->first_queue)
        return a;
    free(a);
    return NULL;
}

void admission_free(struct admission *a)
{
    if (!a)
        return;
    classes_fini(a);
    named_fini(a);
    conditions_fini(a);
    condition_after_fini(a);
    doom_fini(a);
    accounts_fini(&a->accounts);
    queues_fini(a);
    free(a);
}

/* --- a waiter ----------------------------------------------------------------------- */

int admission_assign(struct admission *a, struct waiter *w,
                     const struct admission_ask *ask, uint64_t rank)
{
    struct class *c;

    assert(w->state == WAITER_NONE);
    int r = class_get(a, ask, &c);
    if (r < 0)
        return r;
    *w = (struct waiter){.class = c, .rank = rank, .state = WAITER_APART};
    return 0;
}

void admission_exchange(struct admission *a, struct waiter *w, struct waiter *other)
{
    struct class *had = w->class;
    const uint64_t rank = w->rank;
    const uint32_t passed = class_times_passed(w);

    assert(w->state != WAITER_NONE && other->state == WAITER_APART);
    if (w->state == WAITER_LINE)
        standing_remove(a, had, w);
    if (w->state == WAITER_UNMET)
        waiter_count_unmet(a, w, -1);
    w->class = other->class;
    w->rank = other->rank;
    w->passed = class_passed(w->class) - passed;
    other->class = had;
    other->rank = rank;
    if (w->state == WAITER_UNMET)
        waiter_count_unmet(a, w, 1);
    if (w->state == WAITER_LINE)
        standing_add(a, w->class, w);
}

void admission_forget(struct admission *a, struct waiter *w)
{
    if (w->state == WAITER_NONE)
        return;
    admission_leave(a, w);
    condition_free_all(a, w);
    doom_forget(a, w);
    class_put(a, w->class);
    *w = (struct waiter){.state = WAITER_NONE};
}

void admission_enter(struct admission *a, struct waiter *w, uint64_t now)
{
    assert(w->state == WAITER_APART);
    if (!w->conditions) {
        waiter_join(a, w, now);
        return;
    }
    w->state = WAITER_UNMET;
    waiter_count_unmet(a, w, 1);
}

void admission_leave(struct admission *a, struct waiter *w)
{
    if (!admission_waits(w))
        return;
    doom_forget(a, w);
    if (w->state == WAITER_LINE) {
        waiter_quit(a, w);
        return;
    }
    waiter_count_unmet(a, w, -1);
    condition_free_all(a, w);
    w->state = WAITER_APART;
}

bool admission_waits(const struct waiter *w)
{
    return w->state == WAITER_UNMET || w->state == WAITER_LINE;
}

/* --- users that are away ------------------------------------------------------------ */

void admission_begin_away(struct admission *a)
{
    a->accounts.begin_away = true;
}

int admission_set_away(struct admission *a, uid_t uid, bool away)
{
    struct account_user *u = account_user_get(&a->accounts, uid);

    if (!u)
        return -ENOMEM;
    account_user_set_away(&a->accounts, u, away);
    for (struct list_node *n = a->queues.first; n; n = n->next) {
        struct account *account =
            account_find(&a->accounts, list_thing(n, struct job_queue, node), uid);

        if (account) /* it has no right to locks any more, or has it again */
            standing_user(a, account);
    }
    return 0;
}

bool admission_has_waiters(struct admission *a, uid_t uid)
{
    const struct account_user *u = account_user_get(&a->accounts, uid);

    return u && u->waiting;
}

bool admission_misses_users(const struct admission *a)
{
    return a->accounts.missed.first;
}

bool admission_take_missed(struct admission *a, uid_t *ret_uid)
{
    const struct account_user *u = accounts_missed(&a->accounts);

    if (u)
        *ret_uid = u->uid;
    return u;
}

/* --- time --------------------------------------------------------------------------- */

struct admission_times admission_tick_at(const struct admission *a)
{
    return (struct admission_times){timed_next(&a->boottime), timed_next(&a->dates)};
}

bool admission_tick(struct admission *a, const struct admission_times *now,
                    unsigned budget)
{
    a->now = now->boottime;
    while (budget-- > 0)
        if (!timed_run(&a->boottime, a, now->boottime) &&
            !timed_run(&a->dates, a, now->realtime))
            return true;
    return timed_next(&a->boottime) > now->boottime &&
           timed_next(&a->dates) > now->realtime;
}

/* --- counts and limits -------------------------------------------------------------- */

struct admission_counts admission_count(const struct admission *a)
{
    return (struct admission_counts){(uint32_t)a->slots.capacity, (uint32_t)a->slots.used,
                                     a->eligible, a->unmet};
}

const struct claim *admission_claims(const struct waiter *w, size_t *ret_n)
{
    *ret_n = w->class->named;
    return class_named(w->class);
}

struct waiter *admission_ahead(struct admission *a, const struct waiter *w,
                               const struct resource *r, const struct waiter *from,
                               uint64_t now, unsigned *looks)
{
    struct class *c = standing_ahead(a, w, r, from ? from->class : NULL, now, looks);

    return c ? class_first(c) : NULL;
}

bool admission_is_idle(const struct admission *a)
{
    return !a->eligible;
}

void admission_resize(struct admission *a, uint32_t slots)
{
    a->slots.capacity = slots;
    standing_slots(a, NULL);
}

void admission_resize_named(struct admission *a, struct resource *r, uint64_t capacity,
                            uint64_t per_usec)
{
    r->capacity = capacity;
    r->per_usec = per_usec;
    r->recheck = r->nimpossible;
    resource_due(a, r);
}

void admission_set_user_most(struct admission *a, uint32_t most)
{
    struct hash_cursor c = {0};

    if (a->accounts.user_most == most)
        return;
    a->accounts.user_most = most;
    for (struct hash_node *n; (n = hash_table_each(&a->accounts.table, &c));)
        standing_user(a, list_thing(n, struct account, hash));
}

void admission_set_bypass(struct admission *a, const struct admission_bypass *bypass)
{
    a->bypass = *bypass;
}

struct job_queue *admission_default_queue(struct admission *a)
{
    return a->first_queue;
}

struct admission_queue_counts admission_count_queue(const struct job_queue *q)
{
    return (struct admission_queue_counts){q->slots, q->waiting, q->unmet, q->refs};
}

struct job_queue *admission_add_queue(struct admission *a,
                                      const struct queue_policy *policy)
{
    struct job_queue *q = queue_new(a, policy);

    if (q)
        standing_slots(a, NULL);
    return q;
}

void admission_set_queue(struct admission *a, struct job_queue *q,
                         const struct queue_policy *policy)
{
    queue_set(q, policy);
    standing_queue(a, q);
    standing_slots(a, NULL);
}
