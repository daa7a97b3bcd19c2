/* See condition_time.h. */
#include "daemon/admit/condition_time.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/admit/state.h"
#include "wire/duration.h"

struct until {
    struct condition condition;
    struct timed timed; /* in the queue of its clock */
    enum clock clock;
};

static struct until *until_of(const struct condition *c)
{
    return (struct until *)(uintptr_t)c; /* `condition` is the first member */
}

static struct timed_queue *queue_of(struct admission *a, const struct until *u)
{
    return u->clock == CLOCK_OF_DATES ? &a->dates : &a->boottime;
}

void condition_time_free(struct admission *a, struct condition *c)
{
    struct until *u = until_of(c);

    timed_clear(queue_of(a, u), &u->timed);
    free(u);
}

static void is_time(struct admission *a, struct timed *t, uint64_t now)
{
    (void)now;
    condition_met(a, &list_thing(t, struct until, timed)->condition, a->now);
}

int condition_time_add(struct admission *a, struct waiter *w,
                       const struct condition_kind *kind, enum clock clock, uint64_t at)
{
    struct until *u = calloc(1, sizeof(*u));

    if (!u)
        return -ENOMEM;
    u->condition.kind = kind;
    u->clock = clock;
    u->timed.due = is_time;
    timed_set(queue_of(a, u), &u->timed, at);
    condition_add(a, w, &u->condition);
    return 0;
}

void condition_time_set(struct admission *a, struct condition *c, uint64_t at)
{
    struct until *u = until_of(c);

    timed_set(queue_of(a, u), &u->timed, at);
}

uint64_t condition_time_of(const struct condition *c, enum clock *ret_clock)
{
    *ret_clock = until_of(c)->clock;
    return until_of(c)->timed.at;
}

uint64_t condition_time_left(const struct condition *c, const struct admission_times *now)
{
    const struct until *u = until_of(c);
    const uint64_t at = u->clock == CLOCK_OF_DATES ? now->realtime : now->boottime;

    return u->timed.at > at ? u->timed.at - at : 0;
}

int condition_time_text(const char *before, uint64_t left, char *ret, size_t size)
{
    char span[32];

    duration_format(left, span, sizeof(span));
    return snprintf(ret, size, "%s in %s", before, span);
}

int condition_time_explain(const struct condition *c, const struct admission_times *now,
                           const char *before, char *ret, size_t size)
{
    return condition_time_text(before, condition_time_left(c, now), ret, size);
}
