/* See doom.h. */
#include <errno.h>
#include <stdlib.h>

#include "daemon/admit/state.h"

/* The deadline by which a waiter must start. */
struct deadline {
    struct hash_node hash; /* in admission.deadlines, by waiter */
    struct timed timed;    /* in admission.dates, unless it is doomed or rests */
    struct doom doom;
    bool is_doomed;
    bool rests; /* the waiter has started */
};

const struct doom *doom_first(const struct admission *a)
{
    const struct list_node *n = NULL;

    for (size_t i = 0; !n && i < DOOM_REASONS; i++)
        n = a->doomed[i].first;
    return n ? list_thing(n, struct doom, node) : NULL;
}

void doom_add(struct admission *a, struct doom *d)
{
    list_add_last(&a->doomed[d->reason], &d->node);
}

void doom_remove(struct admission *a, struct doom *d)
{
    list_remove(&a->doomed[d->reason], &d->node);
}

/* --- start-by ----------------------------------------------------------------------- */

static uint64_t hash_of(const struct admission *a, const struct waiter *w)
{
    return siphash64_number(&a->secret, (uintptr_t)w);
}

static struct deadline *find(const struct admission *a, const struct waiter *w)
{
    struct hash_node *n =
        w->start_by ? hash_table_first(&a->deadlines, hash_of(a, w)) : NULL;

    while (n && list_thing(n, struct deadline, hash)->doom.waiter != w)
        n = hash_node_next(n);
    return n ? list_thing(n, struct deadline, hash) : NULL;
}

static void is_over(struct admission *a, struct timed *t, uint64_t now)
{
    struct deadline *d = list_thing(t, struct deadline, timed);

    (void)now;
    d->is_doomed = true;
    doom_add(a, &d->doom);
}

int doom_start_by(struct admission *a, struct waiter *w, uint64_t at)
{
    doom_forget(a, w);
    struct deadline *d =
        hash_table_reserve(&a->deadlines) == 0 ? calloc(1, sizeof(*d)) : NULL;
    if (!d)
        return -ENOMEM;
    d->timed.due = is_over;
    d->doom.waiter = w;
    d->doom.reason = DOOM_EXPIRED;
    w->start_by = 1;
    hash_table_add(&a->deadlines, &d->hash, hash_of(a, w));
    timed_set(&a->dates, &d->timed, at);
    return 0;
}

/* Makes the deadline neither due nor doomed. */
static void stop(struct admission *a, struct deadline *d)
{
    timed_clear(&a->dates, &d->timed);
    if (d->is_doomed)
        doom_remove(a, &d->doom);
    d->is_doomed = false;
}

void doom_set(struct admission *a, const struct waiter *w, uint64_t at)
{
    struct deadline *d = find(a, w);

    stop(a, d);
    if (d->rests)
        d->timed.at = at;
    else
        timed_set(&a->dates, &d->timed, at);
}

uint64_t doom_start_by_of(const struct admission *a, const struct waiter *w)
{
    const struct deadline *d = find(a, w);

    return d && !d->rests ? d->timed.at : TIMED_NEVER;
}

void doom_rest(struct admission *a, struct waiter *w)
{
    struct deadline *d = find(a, w);

    if (!d)
        return;
    stop(a, d);
    d->rests = true;
}

void doom_resume(struct admission *a, struct waiter *w)
{
    struct deadline *d = find(a, w);

    if (!d || !d->rests)
        return;
    d->rests = false;
    timed_set(&a->dates, &d->timed, d->timed.at);
}

void doom_forget(struct admission *a, struct waiter *w)
{
    struct deadline *d = find(a, w);

    if (!d)
        return;
    stop(a, d);
    hash_table_remove(&a->deadlines, &d->hash);
    free(d);
    w->start_by = 0;
}

void doom_take(struct admission *a, struct waiter *w, struct waiter *other)
{
    struct deadline *d = find(a, other);

    doom_forget(a, w);
    if (!d)
        return;
    hash_table_remove(&a->deadlines, &d->hash);
    d->doom.waiter = w;
    hash_table_add(&a->deadlines, &d->hash, hash_of(a, w));
    other->start_by = 0;
    w->start_by = 1;
}

void doom_fini(struct admission *a)
{
    struct hash_cursor at = {0};

    for (struct hash_node *n; (n = hash_table_each(&a->deadlines, &at));)
        free(list_thing(n, struct deadline, hash));
    hash_table_fini(&a->deadlines);
}
