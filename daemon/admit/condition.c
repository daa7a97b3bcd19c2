/* See condition.h: the conditions of a waiter. */
#include <assert.h>

#include "daemon/admit/state.h"

/* Adds a condition to its waiter's list: conditions of the one kind with `many` are at
 * the end. */
static void list_in(struct waiter *w, struct condition *c)
{
    struct condition *prev = NULL, *next = w->conditions;

    while (c->kind->many && next && !next->kind->many) {
        prev = next;
        next = next->next;
    }
    c->prev = prev;
    c->next = next;
    *(prev ? &prev->next : &w->conditions) = c;
    if (next)
        next->prev = c;
}

void condition_add(struct admission *a, struct waiter *w, struct condition *c)
{
    assert(w->state != WAITER_NONE);
    if (w->state == WAITER_LINE) {
        waiter_quit(a, w);
        w->state = WAITER_UNMET;
        waiter_count_unmet(a, w, 1);
    }
    c->waiter = w;
    list_in(w, c);
    list_add_last(&a->conditions, &c->all);
}

static void condition_free(struct admission *a, struct condition *c)
{
    list_remove(&a->conditions, &c->all);
    c->kind->free(a, c);
}

/* Removes a condition from its waiter's list. */
static void list_out(struct condition *c)
{
    *(c->prev ? &c->prev->next : &c->waiter->conditions) = c->next;
    if (c->next)
        c->next->prev = c->prev;
}

static void leave(struct admission *a, struct condition *c)
{
    list_out(c);
    condition_free(a, c);
}

/* Moves the waiter to the line if no condition is unmet. */
static void look_again(struct admission *a, struct waiter *w, uint64_t now)
{
    if (w->conditions || w->state != WAITER_UNMET)
        return;
    w->state = WAITER_APART;
    waiter_count_unmet(a, w, -1);
    waiter_join(a, w, now);
}

void condition_met(struct admission *a, struct condition *c, uint64_t now)
{
    struct waiter *w = c->waiter;

    leave(a, c);
    look_again(a, w, now);
}

void condition_take_kind(struct admission *a, struct waiter *w, struct waiter *other,
                         const struct condition_kind *kind, uint64_t now)
{
    struct condition *next;

    for (struct condition *c = condition_first(w); c; c = next) {
        next = c->next;
        if (c->kind == kind)
            leave(a, c);
    }
    for (struct condition *c = condition_first(other); c; c = next) {
        next = c->next;
        if (c->kind != kind)
            continue;
        list_out(c);
        list_remove(&a->conditions, &c->all);
        condition_add(a, w, c);
    }
    look_again(a, w, now);
}

void condition_free_kind(struct admission *a, struct waiter *w,
                         const struct condition_kind *kind)
{
    assert(w->state == WAITER_APART);
    for (struct condition *c = w->conditions, *next; c; c = next) {
        next = c->next;
        if (c->kind == kind)
            leave(a, c);
    }
}

void condition_free_all(struct admission *a, struct waiter *w)
{
    while (w->conditions)
        leave(a, w->conditions);
}

void conditions_fini(struct admission *a)
{
    while (a->conditions.first)
        condition_free(a, list_thing(a->conditions.first, struct condition, all));
    hash_table_fini(&a->replaced);
}

struct condition *condition_first(const struct waiter *w)
{
    return w->state == WAITER_UNMET || w->state == WAITER_APART ? w->conditions : NULL;
}

bool condition_is(const struct condition *c, const struct condition_kind *kind)
{
    return c->kind == kind;
}

struct condition *condition_find(const struct waiter *w,
                                 const struct condition_kind *kind)
{
    struct condition *c = condition_first(w);

    while (c && c->kind != kind)
        c = c->kind->many ? NULL : c->next;
    return c;
}

/* In the order in which they are shown. */
static const struct condition_kind *const kinds[] = {
#define CONDITION(name) &condition_##name,
#include "daemon/admit/condition_kinds.def"
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

bool condition_asked(const struct job_spec *spec)
{
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i]->asked && kinds[i]->asked(spec))
            return true;
    return false;
}

int condition_begin_asked(struct admission *a, struct waiter *w,
                          const struct job_spec *spec, const struct admission_times *now)
{
    int r = 0;

    for (size_t i = 0; i < KINDS && r == 0; i++)
        if (kinds[i]->asked && kinds[i]->asked(spec))
            r = kinds[i]->begin(a, w, spec, now);
    return r;
}

enum job_wait condition_wait(const struct waiter *w)
{
    for (size_t i = 0; i < KINDS; i++)
        if (condition_find(w, kinds[i]))
            return kinds[i]->wait;
    return JOB_WAIT_NONE;
}
