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
    struct manager *manager;
    struct telling {
        enum follow_by by; /* those of one list: everybody, or those of a file's bucket */
        int wd;            /* FOLLOW_FILE */
        uint64_t walk;     /* through it */
    } telling;             /* its task's */
    vlock lock;            /* protects what follows */
    uint64_t walk;         /* the latest: walks through a list have numbers */
    struct list everybody;
    struct list bucket[BUCKETS]; /* by file: the kernel's numbers, one after the other */
};

/* --- tables. Lock held. ----------------------------------------------------------- */

static struct list *list_of(struct follows *all, enum follow_by by, int wd)
{
    return by == FOLLOW_ANY ? &all->everybody : &all->bucket[(unsigned)wd % BUCKETS];
}

/* A walk that is under way has come by: what it is about was before. */
static void insert(struct follow *f, enum follow_by by)
{
    list_add_last(list_of(f->all, by, f->wd), &f->by[by]);
    f->walk[by] = f->all->walk;
}

static void take_out(struct follow *f, enum follow_by by)
{
    list_remove(list_of(f->all, by, f->wd), &f->by[by]);
}

static struct follow *follow_of(struct list_node *node, enum follow_by by)
{
    return list_thing(node - by, struct follow, by);
}

/* The next of the list that the walk has not come by; NULL: it has come by all. */
static struct follow *next_of(struct list *list, const struct telling *t)
{
    struct list_node *n = list->first;
    struct follow *f = n ? follow_of(n, t->by) : NULL;

    if (!f || f->walk[t->by] == t->walk)
        return NULL;
    f->walk[t->by] = t->walk;
    list_remove(list, n);
    list_add_last(list, n);
    return f;
}

/* --- telling ---------------------------------------------------------------------- */

static void begin(void *arg, const struct inotify_event *e)
{
    struct follows *all = arg;
    struct telling *t = &all->telling;

    if (e && e->wd < 0)
        return; /* of no file: the walk before is over */
    t->by = e ? FOLLOW_FILE : FOLLOW_ANY;
    t->wd = e ? e->wd : -1;
    vlock_lock(&all->lock);
    t->walk = ++all->walk;
    vlock_unlock(&all->lock);
}

/* As many as are woken at a time. True: there are more. */
static bool tell_some(struct follows *all, size_t *looks)
{
    const struct telling *t = &all->telling;
    struct list *list = list_of(all, t->by, t->wd);
    struct volt_waker wakers[WAKES_PER_ROUND];
    struct follow *f = NULL;
    unsigned n = 0;

    vlock_lock(&all->lock);
    for (unsigned i = 0; i<WAKES_PER_ROUND && * looks> 0 && (f = next_of(list, t)); i++) {
        (*looks)--;
        if (f->told || (t->by == FOLLOW_FILE && f->wd != t->wd))
            continue;
        f->told = true;
        wakers[n++] = volt_waker_ref(&f->waker);
    }
    vlock_unlock(&all->lock);
    for (unsigned i = 0; i < n; i++) {
        volt_waker_wake(&wakers[i]);
        volt_waker_fini(&wakers[i]);
    }
    return f != NULL;
}

static bool go_on(void *arg, size_t *looks)
{
    struct follows *all = arg;
    bool more = true;

    while (more && *looks > 0)
        more = tell_some(all, looks);
    jobs_note_told(all->manager, NOTICES_LOOKS - *looks);
    return more;
}

static const struct notices_ops notices_ops = {begin, go_on};

/* --- following -------------------------------------------------------------------- */

void follow_arm(struct volt_cx *cx, struct follow *f, struct manager *m,
                const struct job_key *key)
{
    bool first = !f->registered;
    struct change change;

    if (first) {
        *f = (struct follow){.all = m->follows, .wd = -1, .registered = true};
        f->waker = volt_waker_new(cx);
        listener_init(cx, &f->listener, m, false, &f->job, sizeof(f->job));
        listener_add(&f->listener, key);
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
    all->manager = m;
    return notices_start(m->rt, all->inotify_fd, &notices_ops, all);
}

void follows_free(struct follows *all)
{
    if (!all)
        return;
    if (all->inotify_fd >= 0)
        (void)close(all->inotify_fd);
    free(all);
}
