/* The join set: handles, and which of their tasks have ended.
 *
 * A member is where the handle's joiner points (MEMBER_TAG). The side that takes the
 * joiner out of the task's word has the member: the completer, which then moves it to the
 * list of the ended; or volt_join_set_free(), which takes it back. Where both are at it
 * at once, the completer has the joiner and has not come to the lock yet: the one that
 * comes to the lock second frees the member (`left`). Each member keeps the set, whose
 * memory goes with the last. */
#include "base/list.h"
#include "base/lock.h"
#include "task/join_set.h"
#include "task/leaves.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <volt/join_set.h>

struct volt_join_set {
    vlock lock; /* protects the rest */
    bool freed;
    uint64_t refs;              /* members, and 1 until it is freed */
    struct list running, ended; /* of members */
    struct volt_task *waiter;
};

struct member {
    struct list_node node;
    struct volt_join_set *set;
    struct volt_task *task; /* with the reference of its handle */
    bool left;              /* one of the two sides is done with it; under the lock */
};

struct volt_join_set *volt_join_set_new(void)
{
    struct volt_join_set *set = calloc(1, sizeof(*set));

    if (set)
        set->refs = 1;
    return set;
}

/* Lock held, which is given up. */
static void unref_unlock(struct volt_join_set *set)
{
    bool last = --set->refs == 0;

    vlock_unlock(&set->lock);
    if (last)
        free(set);
}

void join_set_ended(void *joiner)
{
    struct member *m = (struct member *)((uintptr_t)joiner & ~MEMBER_TAG);
    struct volt_join_set *set = m->set;
    struct task_chain chain = {0};

    vlock_lock(&set->lock);
    if (set->freed) {
        if (!m->left) {
            m->left = true;
            vlock_unlock(&set->lock);
            return;
        }
        free(m);
        unref_unlock(set);
        return;
    }
    list_remove(&set->running, &m->node);
    list_add_last(&set->ended, &m->node);
    if (set->waiter && task_notify(set->waiter))
        task_chain_push(&chain, set->waiter);
    set->waiter = NULL;
    vlock_unlock(&set->lock);
    sched_submit_chain(&chain);
}

int volt_join_set_add(struct volt_join_set *set, struct volt_join *join)
{
    assert(join->task && "the handle is empty");
    struct member *m = malloc(sizeof(*m));

    if (!m)
        return -ENOMEM;
    *m = (struct member){.set = set, .task = join->task};
    join->task = NULL;
    vlock_lock(&set->lock);
    set->refs++;
    list_add_last(&set->running, &m->node);
    vlock_unlock(&set->lock);
    void *joiner = task_join_take(m->task); /* a task that has polled it before */
    task_unref(joiner);
    joiner = (void *)((uintptr_t)m | MEMBER_TAG);
    if (!task_join_store(m->task, joiner))
        join_set_ended(joiner);
    return 0;
}

void volt_join_set_cancel(struct volt_join_set *set)
{
    struct task_chain chain = {0};

    vlock_lock(&set->lock);
    for (struct list_node *n = set->running.first; n; n = n->next) {
        struct volt_task *t = list_thing(n, struct member, node)->task;

        if (task_cancel(t))
            task_chain_push(&chain, t);
    }
    vlock_unlock(&set->lock);
    sched_submit_chain(&chain);
}

/* Gives the handle of a member up, which is in no list of a set that is not freed. */
static void give_up(struct member *m)
{
    struct volt_join_set *set = m->set;
    struct volt_task *t = m->task;
    void *joiner;
    bool output = task_join_leave(t, &joiner);

    vlock_lock(&set->lock);
    if (!joiner && !m->left) { /* the completer has it, and is still to come */
        m->left = true;
        vlock_unlock(&set->lock);
    } else {
        free(m);
        unref_unlock(set);
    }
    if (output && t->type->drop_output)
        t->type->drop_output(task_state(t));
    task_unref(t);
}

void volt_join_set_free(struct volt_join_set *set)
{
    struct list_node *n;

    if (!set)
        return;
    vlock_lock(&set->lock);
    assert(!set->waiter && "a task still awaits the set");
    set->freed = true;
    struct list running = set->running, ended = set->ended;
    vlock_unlock(&set->lock);
    while ((n = list_take_first(&ended))) {
        struct member *m = list_thing(n, struct member, node);

        m->left = true; /* its completer has come and gone */
        give_up(m);
    }
    while ((n = list_take_first(&running)))
        give_up(list_thing(n, struct member, node));
    vlock_lock(&set->lock);
    unref_unlock(set);
}

/* Lock held. A member whose task has ended, or NULL. */
static struct member *take(struct volt_join_set *set)
{
    struct list_node *n = list_take_first(&set->ended);

    if (!n)
        return NULL;
    set->refs--; /* its owner's is left */
    return list_thing(n, struct member, node);
}

enum volt_poll volt_join_set_next_poll(struct volt_cx *cx, struct volt_join_set_next *n)
{
    struct volt_join_set *set = n->set;
    struct member *m;
    bool done;

    if (cx_take(cx) == VOLT_PENDING)
        return VOLT_PENDING;
    volt_join_fini(&n->join);
    vlock_lock(&set->lock);
    m = take(set);
    done = m || !set->running.first;
    assert((!set->waiter || set->waiter == cx->task) &&
           "one task awaits a set at a time");
    set->waiter = done ? NULL : cx->task;
    vlock_unlock(&set->lock);
    n->task = done ? NULL : cx->task;
    if (m)
        n->join.task = m->task;
    free(m);
    if (done) {
        leaf_seen(cx, n);
        return VOLT_READY;
    }
    leaf_waits(cx, "volt_join_set_next", n);
    cx_restore(cx);
    return VOLT_PENDING;
}

void volt_join_set_next_fini(struct volt_join_set_next *n)
{
    volt_join_fini(&n->join);
    if (!n->task)
        return;
    leaf_left(n->task, n);
    vlock_lock(&n->set->lock);
    n->set->waiter = NULL;
    vlock_unlock(&n->set->lock);
    n->task = NULL;
}
