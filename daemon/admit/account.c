/* See account.h. */
#include <assert.h>
#include <stdlib.h>

#include "daemon/admit/account.h"
#include "daemon/admit/job_queue.h"

static struct account *account_of(const struct hash_node *n)
{
    return list_thing(n, struct account, hash);
}

static uint64_t hash_of(const struct accounts *all, const struct job_queue *q, uid_t uid)
{
    return siphash64_number(&all->secret, (uint64_t)q->number << 32 | uid);
}

struct account *account_find(const struct accounts *all, const struct job_queue *q,
                             uid_t uid)
{
    struct hash_node *n = hash_table_first(&all->table, hash_of(all, q, uid));

    while (n && (account_of(n)->uid != uid || account_of(n)->queue != q))
        n = hash_node_next(n);
    return n ? account_of(n) : NULL;
}

static struct account_user *user_of(const struct hash_node *n)
{
    return list_thing(n, struct account_user, hash);
}

struct account_user *account_user_get(struct accounts *all, uid_t uid)
{
    const uint64_t hash = siphash64_number(&all->secret, uid);
    struct hash_node *n = hash_table_first(&all->users, hash);
    struct account_user *u = NULL;

    while (n && user_of(n)->uid != uid)
        n = hash_node_next(n);
    if (n)
        return user_of(n);
    if (hash_table_reserve(&all->users) < 0 || !(u = calloc(1, sizeof(*u))))
        return NULL;
    u->uid = uid;
    u->away = all->begin_away;
    hash_table_add(&all->users, &u->hash, hash);
    return u;
}

struct account *account_get(struct accounts *all, struct job_queue *q, uid_t uid)
{
    struct account *a = account_find(all, q, uid);
    struct account_user *u = a ? a->user : account_user_get(all, uid);

    if (a || !u || hash_table_reserve(&all->table) < 0 || !(a = calloc(1, sizeof(*a))))
        return a;
    a->queue = q;
    a->user = u;
    a->uid = uid;
    a->expected_usec = ACCOUNT_EXPECTED;
    hash_table_add(&all->table, &a->hash, hash_of(all, q, uid));
    return a;
}

void accounts_fini(struct accounts *all)
{
    struct hash_cursor c = {0};

    for (struct hash_node *n; (n = hash_table_each(&all->table, &c));)
        free(account_of(n));
    hash_table_fini(&all->table);
    c = (struct hash_cursor){0};
    for (struct hash_node *n; (n = hash_table_each(&all->users, &c));)
        free(user_of(n));
    hash_table_fini(&all->users);
}

/* --- users that are away ------------------------------------------------------------ */

static void miss(struct accounts *all, struct account_user *u)
{
    if (!u->away || !u->waiting || u->is_missed)
        return;
    u->is_missed = true;
    list_add_last(&all->missed, &u->node);
}

void account_user_set_away(struct accounts *all, struct account_user *u, bool away)
{
    u->away = away;
    miss(all, u);
}

struct account_user *accounts_missed(struct accounts *all)
{
    struct list_node *n = list_take_first(&all->missed);
    struct account_user *u = n ? list_thing(n, struct account_user, node) : NULL;

    if (u)
        u->is_missed = false;
    return u;
}

/* --- those that are busy ------------------------------------------------------------ */

static bool is_before(const struct treap_node *x, const struct treap_node *y)
{
    const struct account *a = list_thing(x, struct account, node);
    const struct account *b = list_thing(y, struct account, node);

    return a->time.settled < b->time.settled ||
           (a->time.settled == b->time.settled && a->uid < b->uid);
}

static bool is_busy(const struct account *a)
{
    return a->waiting || a->time.running;
}

/* Marks the account busy, before the first thing that makes it so. */
static void wake(struct account *a)
{
    const struct treap_node *first = treap_first(&a->queue->busy);

    if (is_busy(a))
        return;
    if (first)
        virtual_wake(&a->time, list_thing(first, struct account, node)->time.settled);
    else
        queue_wake(a->queue);
    treap_add(&a->queue->busy, &a->node, is_before);
}

/* Marks the account idle, after the last thing that made it busy. */
static void rest(struct account *a)
{
    if (!is_busy(a))
        treap_remove(&a->queue->busy, &a->node, is_before);
}

void account_join(struct accounts *all, struct account *a, bool slotted)
{
    wake(a);
    a->waiting++;
    a->user->waiting += slotted;
    miss(all, a->user);
}

void account_leave(struct account *a, bool slotted)
{
    assert(a->waiting && a->user->waiting >= slotted);
    a->waiting--;
    a->user->waiting -= slotted;
    rest(a);
}

/* --- slots -------------------------------------------------------------------------- */

bool account_user_is_limited(const struct accounts *all, const struct account_user *u)
{
    return u->away || (all->user_most && u->slots >= all->user_most);
}

void account_add_slots(struct account *a, uint64_t n)
{
    a->slots += n;
    a->user->slots += n;
    queue_add_slots(a->queue, n);
}

void account_sub_slots(struct account *a, uint64_t n)
{
    assert(a->slots >= n && a->user->slots >= n);
    a->slots -= n;
    a->user->slots -= n;
    queue_sub_slots(a->queue, n);
}

/* --- starts and ends ---------------------------------------------------------------- */

uint64_t account_cost(const struct account *a, uint64_t amount, uint64_t capacity)
{
    return virtual_cost(a->expected_usec, amount, capacity);
}

void account_start(struct account *a, uint64_t amount, uint64_t capacity)
{
    const uint64_t cost = account_cost(a, amount, capacity);

    wake(a);
    virtual_start(&a->time, cost);
    virtual_start(&a->queue->time, cost / a->queue->policy.weight);
}

void account_undo(struct account *a)
{
    virtual_undo(&a->time);
    virtual_undo(&a->queue->time);
    rest(a);
}

void account_end(struct account *a, uint64_t amount, uint64_t capacity, uint64_t ran_usec)
{
    const uint64_t cost = virtual_cost(ran_usec, amount, capacity);

    treap_remove(&a->queue->busy, &a->node, is_before);
    virtual_end(&a->time, cost);
    treap_add(&a->queue->busy, &a->node, is_before);
    virtual_end(&a->queue->time, cost / a->queue->policy.weight);
    a->expected_usec = (7 * a->expected_usec + ran_usec) / 8;
    rest(a);
}
