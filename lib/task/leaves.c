#include "task/leaves.h"
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void leaves_init(struct volt_task *t)
{
    struct leaves *l = leaves_of(t);

    memset(l, 0, sizeof(*l));
    l->made_ns = l->since_ns = clock_ns();
}

/* Lock held. Its place, or count. */
static uint32_t find(const struct leaves *l, const void *leaf)
{
    uint32_t i = 0;

    while (i < l->count && l->leaf[i].at != leaf)
        i++;
    return i;
}

static bool in_state(struct volt_task *t, const void *p)
{
    uintptr_t offset = (uintptr_t)p - (uintptr_t)task_state(t);

    return offset < t->type->size;
}

/* A handle in the state that is empty was given up: volt_join_fini() does not know the
 * task that waited, once what it waited for has ended. */
static bool is_given_up(struct volt_task *t, const struct leaf *leaf)
{
    return strcmp(leaf->name, "volt_join") == 0 && in_state(t, leaf->at) &&
           !((const struct volt_join *)leaf->at)->task;
}

/* Lock held, t's own thread: its state stands still. */
static void forget_given_up(struct volt_task *t, struct leaves *l)
{
    for (uint32_t i = l->count; i-- > 0;)
        if (is_given_up(t, &l->leaf[i]))
            l->leaf[i] = l->leaf[--l->count];
}

void leaves_add(struct volt_task *t, const char *name, const void *leaf)
{
    struct leaves *l = leaves_of(t);

    vlock_lock(&l->lock);
    forget_given_up(t, l);
    if (find(l, leaf) == l->count && l->count < LEAVES_MOST)
        l->leaf[l->count++] = (struct leaf){name, leaf};
    vlock_unlock(&l->lock);
}

void leaves_remove(struct volt_task *t, const void *leaf)
{
    struct leaves *l = leaves_of(t);

    vlock_lock(&l->lock);
    uint32_t i = find(l, leaf);
    if (i < l->count)
        l->leaf[i] = l->leaf[--l->count];
    vlock_unlock(&l->lock);
}

/* A handle that is elsewhere may be another's business. */
static bool is_mistake(struct volt_task *t, const struct leaf *leaf)
{
    return strcmp(leaf->name, "volt_join") != 0 || in_state(t, leaf->at);
}

#define WHERE_SIZE 48

static const char *where_is(struct volt_task *t, const void *at, char buf[WHERE_SIZE])
{
    if (!in_state(t, at))
        return "outside of its state";
    (void)snprintf(buf, WHERE_SIZE, "at byte %zu of its state",
                   (size_t)((const char *)at - (const char *)task_state(t)));
    return buf;
}

static void say_forgotten(struct volt_task *t, const struct leaf *leaf)
{
    int name = (int)strcspn(leaf->name, " ");
    char buf[WHERE_SIZE];
    const char *where = where_is(t, leaf->at, buf);

    (void)fprintf(stderr,
                  "libvolt: task \"%s\" has ended, but its %.*s %s still waits: its drop "
                  "must call %.*s_fini()\n",
                  t->type->name, name, leaf->name, where, name, leaf->name);
}

void leaves_check_end(struct volt_task *t)
{
    struct leaves *l = leaves_of(t);
    bool forgotten = false;

    vlock_lock(&l->lock);
    forget_given_up(t, l);
    for (uint32_t i = 0; i < l->count; i++)
        if (is_mistake(t, &l->leaf[i])) {
            say_forgotten(t, &l->leaf[i]);
            forgotten = true;
        }
    vlock_unlock(&l->lock);
    if (forgotten)
        abort();
}

void leaves_check_new(struct volt_task *t, const void *leaf)
{
    struct leaves *l = leaves_of(t);
    const char *name = NULL;
    char buf[WHERE_SIZE];

    vlock_lock(&l->lock);
    uint32_t i = find(l, leaf);
    if (i < l->count)
        name = l->leaf[i].name;
    vlock_unlock(&l->lock);
    if (!name)
        return;
    (void)fprintf(stderr,
                  "libvolt: task \"%s\" has initialised its %s %s while that waited: "
                  "%s_fini() must come first\n",
                  t->type->name, name, where_is(t, leaf, buf), name);
    abort();
}

/* A reference beside the owner's and the handle's is a waker's, or a joiner's. A scope's
 * child has no handle. */
static bool can_be_woken(const struct volt_task *t)
{
    uint64_t s = vat_u64_load(&t->state, VAT_RLX);
    bool handle = (s & TASK_JOIN_INTEREST) && !t->home->gone;

    return (s & (TASK_NOTIFIED | TASK_CANCELLED)) || TASK_REFS(s) > 1 + (unsigned)handle;
}

void leaves_check_pending(struct volt_task *t, bool woken, uint64_t now_ns)
{
    struct leaves *l = leaves_of(t);

    vlock_lock(&l->lock);
    l->since_ns = now_ns;
    forget_given_up(t, l);
    bool mute =
        l->count == 0 && !woken && !can_be_woken(t); /* so this is its last poll */
    vlock_unlock(&l->lock);
    if (mute)
        (void)fprintf(stderr,
                      "libvolt: task \"%s\" is pending, but nothing will wake it: no "
                      "leaf that it has polled waits, and nobody has a waker of it\n",
                      t->type->name);
}
