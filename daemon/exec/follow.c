/* See follow.h. The lock guards the tables and `told`; wakes come after it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>
#include <volt/volt.h>

#include "base/lock.h"
#include "daemon/exec/follow.h"
#include "daemon/exec/jobs.h"
#include "daemon/link/notices.h"

#define BUCKETS         1024 /* power of two */
#define WAKES_PER_ROUND 32

struct follows {
    int inotify_fd;
    vlock lock; /* protects what follows */
    struct list everybody;
    struct list bucket[BUCKETS]; /* by file: the kernel's numbers, one after the other */
};

/* --- tables. Lock held. ----------------------------------------------------------- */

static struct list *bucket_of(struct follow *f, enum follow_by by)
{
    return by == FOLLOW_ANY ? &f->all->everybody
                            : &f->all->bucket[(unsigned)f->wd % BUCKETS];
}

static void insert(struct follow *f, enum follow_by by)
{
    list_add_first(bucket_of(f, by), &f->by[by]);
}

static void take_out(struct follow *f, enum follow_by by)
{
    list_remove(bucket_of(f, by), &f->by[by]);
}

static struct follow *follow_of(struct list_node *node, enum follow_by by)
{
    return list_thing(node - by, struct follow, by);
}

/* --- telling ---------------------------------------------------------------------- */

/* Those of a list that follow this file; -1: all. */
static void tell(struct follows *all, const struct list *list, enum follow_by by, int wd)
{
    unsigned n;

    do {
        struct volt_waker wakers[WAKES_PER_ROUND];

        n = 0;
        vlock_lock(&all->lock);
        for (struct list_node *at = list->first; at && n < WAKES_PER_ROUND;
             at = at->next) {
            struct follow *f = follow_of(at, by);

            if (f->told || (wd >= 0 && f->wd != wd))
                continue;
            f->told = true;
            wakers[n++] = volt_waker_ref(&f->waker);
        }
        vlock_unlock(&all->lock);
        for (unsigned i = 0; i < n; i++) {
            volt_waker_wake(&wakers[i]);
            volt_waker_fini(&wakers[i]);
        }
    } while (n == WAKES_PER_ROUND);
}

static void tell_everybody(struct follows *all)
{
    tell(all, &all->everybody, FOLLOW_ANY, -1);
}

/* --- following -------------------------------------------------------------------- */

void follow_arm(struct volt_cx *cx, struct follow *f, struct manager *m,
                const struct job_key *key)
{
    bool first = !f->registered;
    struct change change;

    if (first) {
        *f = (struct follow){.all = m->follows, .wd = -1, .registered = true};
        f->waker = volt_waker_new(cx);
        listener_init(cx, &f->listener, m, false);
        listener_add(&f->listener, &f->job, key);
    }
    (void)listener_next(&f->listener, &change);
    vlock_lock(&f->all->lock);
    f->told = false;
    if (first)
        insert(f, FOLLOW_ANY);
    vlock_unlock(&f->all->lock);
}

int follow_file(struct follow *f, int fd)
{
    char path[32];
    int r = 0;

    if (f->all->inotify_fd < 0)
        return 0; /* everybody is told to look, again and again */
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    vlock_lock(&f->all->lock);
    f->wd = inotify_add_watch(f->all->inotify_fd, path, IN_MODIFY);
    if (f->wd >= 0)
        insert(f, FOLLOW_FILE);
    else
        r = -errno;
    vlock_unlock(&f->all->lock);
    return r;
}

enum volt_poll follow_poll(struct follow *f)
{
    struct change change;
    bool changed = listener_next(&f->listener, &change) != NULL;

    vlock_lock(&f->all->lock);
    bool told = f->told |= changed;
    vlock_unlock(&f->all->lock);
    return told ? VOLT_READY : VOLT_PENDING;
}

static bool is_followed(struct follows *all, int wd)
{
    struct list_node *at = all->bucket[(unsigned)wd % BUCKETS].first;

    while (at && follow_of(at, FOLLOW_FILE)->wd != wd)
        at = at->next;
    return at != NULL;
}

void follow_fini(struct follow *f)
{
    if (!f->registered)
        return;
    listener_fini(&f->listener);
    vlock_lock(&f->all->lock);
    take_out(f, FOLLOW_ANY);
    if (f->wd >= 0) {
        take_out(f, FOLLOW_FILE);
        if (!is_followed(f->all, f->wd))
            (void)inotify_rm_watch(f->all->inotify_fd, f->wd);
    }
    vlock_unlock(&f->all->lock);
    volt_waker_fini(&f->waker);
    f->registered = false;
}

/* --- growth: the task that reads inotify's events --------------------------------- */

struct growth {
    struct follows *all;
    struct notices notices;
};

static void tell_growth(void *arg, const struct inotify_event *e)
{
    struct follows *all = arg;

    if (!e)
        tell_everybody(all);
    else if (e->wd >= 0)
        tell(all, &all->bucket[(unsigned)e->wd % BUCKETS], FOLLOW_FILE, e->wd);
}

static enum volt_poll growth_poll(struct volt_cx *cx, void *state)
{
    struct growth *g = state;

    return notices_poll(cx, &g->notices, tell_growth, g->all);
}

static void growth_drop(void *state)
{
    struct growth *g = state;

    notices_fini(&g->notices);
}

static const struct volt_task_type growth_type = {"output growth", sizeof(struct growth),
                                                  growth_poll, growth_drop, NULL};

/* --- life ------------------------------------------------------------------------- */

int follows_open(struct follows **ret)
{
    struct follows *all = calloc(1, sizeof(*all));

    if (!all)
        return -ENOMEM;
    all->inotify_fd = notices_open("followed output");
    *ret = all;
    return 0;
}

int follows_start(struct follows *all, struct manager *m)
{
    struct growth *g = volt_task_new(m->rt, &growth_type);
    int r = g ? notices_init(&g->notices, m->rt, all->inotify_fd) : -ENOMEM;

    if (r < 0) {
        volt_task_discard(g);
        return r;
    }
    g->all = all;
    return volt_task_spawn(g, NULL);
}

void follows_free(struct follows *all)
{
    if (!all)
        return;
    if (all->inotify_fd >= 0)
        (void)close(all->inotify_fd);
    free(all);
}
