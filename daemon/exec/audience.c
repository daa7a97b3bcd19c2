/* See audience.h. A hearer has heard all that was told when it entered the list, so that
 * the list is in the order of `heard`: when its head has heard everything, all have. */
#include <assert.h>
#include <errno.h>

#include "daemon/exec/audience.h"

#define WAKES_PER_POLL 32

void audience_init(struct audience *a)
{
    *a = (struct audience){.told = 0};
    volt_notify_init(&a->due);
}

void audience_fini(struct audience *a)
{
    assert(list_is_empty(&a->hearers));
    volt_notify_fini(&a->due);
}

void audience_tell(struct audience *a)
{
    vlock_lock(&a->lock);
    a->told++;
    bool anybody = !list_is_empty(&a->hearers);
    vlock_unlock(&a->lock);
    if (anybody)
        volt_notify_one(&a->due);
}

/* --- hearers ------------------------------------------------------------------------ */

/* Lock held. */
static void enter(struct audience *a, struct hearer *l)
{
    list_add_last(&a->hearers, &l->node);
    l->waits = true;
}

/* Lock held. */
static void leave(struct audience *a, struct hearer *l)
{
    list_remove(&a->hearers, &l->node);
    l->waits = false;
}

void hearer_init(struct hearer *l, struct audience *a)
{
    *l = (struct hearer){.audience = a};
    vlock_lock(&a->lock);
    l->heard = a->told;
    vlock_unlock(&a->lock);
}

enum volt_poll hearer_poll(struct volt_cx *cx, struct hearer *l)
{
    struct audience *a = l->audience;

    if (volt_coop_take(cx) == VOLT_PENDING)
        return VOLT_PENDING;
    if (!l->waker.task)
        l->waker = volt_waker_new(cx);
    vlock_lock(&a->lock);
    bool news = l->heard != a->told;
    if (news && l->waits)
        leave(a, l);
    else if (!news && !l->waits)
        enter(a, l);
    l->heard = a->told;
    vlock_unlock(&a->lock);
    if (news)
        return VOLT_READY;
    volt_coop_restore(cx);
    return VOLT_PENDING;
}

void hearer_fini(struct hearer *l)
{
    if (!l->audience)
        return;
    vlock_lock(&l->audience->lock);
    if (l->waits)
        leave(l->audience, l);
    vlock_unlock(&l->audience->lock);
    volt_waker_fini(&l->waker);
    l->audience = NULL;
}

/* --- the teller --------------------------------------------------------------------- */

struct teller {
    struct audience *audience;
    int at;
    struct volt_notified due;
    struct volt_yield turn; /* of the others */
};

/* False: all hearers have heard everything. */
static bool wake_some(struct audience *a)
{
    struct volt_waker wakers[WAKES_PER_POLL];
    unsigned n = 0;

    vlock_lock(&a->lock);
    while (!list_is_empty(&a->hearers) && n < WAKES_PER_POLL) {
        struct hearer *first = list_thing(a->hearers.first, struct hearer, node);

        if (first->heard == a->told)
            break;
        wakers[n++] = volt_waker_ref(&first->waker);
        leave(a, first);
    }
    vlock_unlock(&a->lock);
    for (unsigned i = 0; i < n; i++) {
        volt_waker_wake(&wakers[i]);
        volt_waker_fini(&wakers[i]);
    }
    return n == WAKES_PER_POLL;
}

static enum volt_poll teller_poll(struct volt_cx *cx, void *state)
{
    struct teller *t = state;

    VOLT_BEGIN(t->at);
    for (;;) {
        volt_notified_init(&t->due, &t->audience->due);
        VOLT_AWAIT(t->at, volt_notified_poll(cx, &t->due));
        volt_notified_fini(&t->due);
        while (wake_some(t->audience))
            VOLT_AWAIT(t->at, volt_yield_poll(cx, &t->turn));
    }
    VOLT_END(t->at);
}

static void teller_drop(void *state)
{
    struct teller *t = state;

    volt_notified_fini(&t->due);
}

static const struct volt_task_type teller_type = {"teller", sizeof(struct teller),
                                                  teller_poll, teller_drop, NULL};

int audience_start(struct audience *a, struct volt_runtime *rt)
{
    struct teller *t = volt_task_new(rt, &teller_type);

    if (!t)
        return -ENOMEM;
    t->audience = a;
    return volt_task_spawn(t, NULL);
}
