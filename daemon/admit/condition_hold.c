/* The condition `hold`: waits for a release. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/admit/state.h"

struct held {
    struct condition condition;
    struct hold hold;
};

static void held_free(struct admission *a, struct condition *c)
{
    (void)a;
    free(c);
}

static int held_explain(const struct condition *c, const struct admission_times *now,
                        char *ret, size_t size)
{
    const struct held *h = (const struct held *)(const void *)c;

    (void)now;
    return snprintf(ret, size, "held by %s",
                    h->hold.by_admin ? "an admin, until an admin releases it"
                                     : "its user");
}

const struct condition_kind condition_hold = {
    .name = "hold",
    .wait = JOB_WAIT_HOLD,
    .free = held_free,
    .explain = held_explain,
};

static struct held *held_of(const struct waiter *w)
{
    return (struct held *)(void *)condition_find(w, &condition_hold);
}

int condition_hold_add(struct admission *a, struct waiter *w, const struct hold *hold)
{
    struct held *h = held_of(w);

    if (h) {
        if (!h->hold.by_admin)
            h->hold = *hold;
        return 0;
    }
    h = malloc(sizeof(*h));
    if (!h)
        return -ENOMEM;
    *h = (struct held){.condition.kind = &condition_hold, .hold = *hold};
    condition_add(a, w, &h->condition);
    return 0;
}

int condition_hold_release(struct admission *a, struct waiter *w, bool is_admin,
                           uint64_t now)
{
    struct held *h = held_of(w);

    if (!h)
        return -ENOENT;
    if (h->hold.by_admin && !is_admin)
        return -EPERM;
    condition_met(a, &h->condition, now);
    return 0;
}

void condition_hold_change(struct waiter *w, const struct hold *hold)
{
    held_of(w)->hold = *hold;
}

bool condition_hold_of(const struct waiter *w, struct hold *ret)
{
    const struct held *h = held_of(w);

    if (h)
        *ret = h->hold;
    return h;
}
