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

void leaves_add(struct volt_task *t, const char *name, const void *leaf)
{
    struct leaves *l = leaves_of(t);

    vlock_lock(&l->lock);
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

static bool in_state(struct volt_task *t, const void *p)
{
    uintptr_t offset = (uintptr_t)p - (uintptr_t)task_state(t);

    return offset < t->type->size;
}

/* A handle that is elsewhere may be another's business, and one that is empty has been
 * given up: what it waits for had ended, and its joiner was forgotten. */
static bool is_mistake(struct volt_task *t, const struct leaf *leaf)
{
    if (strcmp(leaf->name, "volt_join") != 0)
        return true;
    return in_state(t, leaf->at) && ((const struct volt_join *)leaf->at)->task;
}

static void say_forgotten(struct volt_task *t, const struct leaf *leaf)
{
    int name = (int)strcspn(leaf->name, " ");
    char where[48] = "outside of its state";

    if (in_state(t, leaf->at))
        (void)snprintf(where, sizeof(where), "at byte %zu of its state",
                       (size_t)((const char *)leaf->at - (const char *)task_state(t)));
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
    for (uint32_t i = 0; i < l->count; i++)
        if (is_mistake(t, &l->leaf[i])) {
            say_forgotten(t, &l->leaf[i]);
            forgotten = true;
        }
    vlock_unlock(&l->lock);
    if (forgotten)
        abort();
}

/* A reference beside the owner's and the handle's is a waker's, or a joiner's. */
static bool can_be_woken(const struct volt_task *t)
{
    uint64_t s = vat_u64_load(&t->state, VAT_ACQ);

    return (s & (TASK_NOTIFIED | TASK_CANCELLED)) ||
           TASK_REFS(s) > 1 + (s & TASK_JOIN_INTEREST ? 1U : 0U);
}

void leaves_check_pending(struct volt_task *t, bool woken, uint64_t now_ns)
{
    struct leaves *l = leaves_of(t);

    vlock_lock(&l->lock);
    l->since_ns = now_ns;
    bool mute = l->count == 0 && !woken && !l->reported && !can_be_woken(t);
    l->reported |= mute;
    vlock_unlock(&l->lock);
    if (mute)
        (void)fprintf(stderr,
                      "libvolt: task \"%s\" is pending, but nothing will wake it: no "
                      "leaf that it has polled waits, and nobody has a waker of it\n",
                      t->type->name);
}
