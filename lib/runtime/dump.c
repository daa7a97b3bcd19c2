/* The tasks that live, for diagnostics.
 *
 * There is no list of tasks: as closing does (live.h), this walks over the slots of the
 * heap. The walk holds the locks of stores, under which nothing may be called back, so it
 * takes a reference on each task that lives and looks at them afterwards. */
#include "base/clock.h"
#include "runtime/runtime.h"
#include "task/leaves.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct found {
    struct volt_task **task; /* referenced */
    size_t count, room, live;
};

static void take(struct volt_task *t, void *arg)
{
    struct found *f = arg;

    if (f->count == f->room) {
        uint64_t s = vat_u64_load(&t->state, VAT_RLX);

        f->live += TASK_REFS(s) != 0 && !(s & TASK_COMPLETE);
    } else if (task_ref_live(t)) {
        f->task[f->count++] = t;
    }
}

static void give_up(struct found *f)
{
    for (size_t i = 0; i < f->count; i++)
        task_unref(f->task[i]);
    free(f->task);
}

/* 0 or -ENOMEM. Tries again with more room until all had some. */
static int find(struct heap *h, struct found *f)
{
    size_t room = 256;

    for (;;) {
        *f = (struct found){.task = malloc(room * sizeof(*f->task)), .room = room};
        if (!f->task)
            return -ENOMEM;
        slab_each(h, take, f);
        if (f->live == 0)
            return 0;
        room = f->room + f->live + f->live / 8;
        give_up(f);
    }
}

static const char *state_name(uint64_t word)
{
    if (word & TASK_RUNNING)
        return "running";
    if (word & TASK_COMPLETE)
        return "ended";
    return word & TASK_NOTIFIED ? "queued" : "waiting";
}

/* Its waits_on lies in text. */
static void describe(struct volt_task *t, uint64_t now, char *text, size_t size,
                     struct volt_task_info *ret)
{
    uint64_t word = vat_u64_load(&t->state, VAT_RLX);
    struct leaves *l = leaves_of(t);
    size_t n = 0;

    text[0] = '\0';
    *ret = (struct volt_task_info){
        .type = t->type->name ? t->type->name : "",
        .state = state_name(word),
        .cancelled = word & TASK_CANCELLED,
        .waits_on = text,
    };
    if (!l)
        return;
    vlock_lock(&l->lock);
    for (uint32_t i = 0; i < l->count && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, "%s%s", i ? ", " : "", l->leaf[i].name);
    ret->age_usec = now > l->made_ns ? (now - l->made_ns) / 1000 : 0;
    if (!(word & (TASK_RUNNING | TASK_NOTIFIED)) && now > l->since_ns)
        ret->waiting_usec = (now - l->since_ns) / 1000;
    vlock_unlock(&l->lock);
}

int volt_runtime_tasks(struct volt_runtime *rt,
                       void (*each)(void *arg, const struct volt_task_info *info),
                       void *arg)
{
    struct found f;
    int n;

    if (find(rt->sched.heap, &f) < 0)
        return -ENOMEM;
    n = (int)f.count;
    uint64_t now = clock_ns();
    for (size_t i = 0; i < f.count; i++) {
        char text[LEAVES_MOST * 24];
        struct volt_task_info info;

        describe(f.task[i], now, text, sizeof(text), &info);
        each(arg, &info);
    }
    give_up(&f);
    return n;
}

static void write_line(void *arg, const struct volt_task_info *info)
{
    const int *fd = arg;
    char times[80] = "";

    if (info->age_usec > 0) /* it is known */
        (void)snprintf(times, sizeof(times),
                       ", age %" PRIu64 " us, waiting %" PRIu64 " us", info->age_usec,
                       info->waiting_usec);
    (void)dprintf(*fd, "%-24s %s%s%s%s%s\n", info->type, info->state,
                  info->waits_on[0] ? " on " : "", info->waits_on,
                  info->cancelled ? ", cancelled" : "", times);
}

int volt_runtime_dump(struct volt_runtime *rt, int fd)
{
    return volt_runtime_tasks(rt, write_line, &fd);
}
