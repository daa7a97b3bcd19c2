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
#include "daemon/exec/notices.h"

#define BUCKETS         1024 /* power of two */
#define WAKES_PER_ROUND 32
#define EVENTS_PER_READ 64

struct follows {
    int inotify_fd;
    struct volt_notify arrived; /* somebody follows */
    vlock lock;                 /* protects what follows */
    size_t count;
    struct follow *bucket[2][BUCKETS];
};

/* --- tables. Lock held. ----------------------------------------------------------- */

static struct follow **bucket_of_job(struct follows *all, const struct job_key *key)
{
    uint64_t h = key->id * UINT64_C(0x9e3779b97f4a7c15);

    return &all->bucket[FOLLOW_JOB][(h >> 40) % BUCKETS];
}

static struct follow **bucket_of(struct follow *f, enum follow_by by)
{
    return by == FOLLOW_JOB ? bucket_of_job(f->all, &f->key)
                            : &f->all->bucket[by][(unsigned)f->wd % BUCKETS];
}

static void insert(struct follow *f, enum follow_by by)
{
    struct follow **head = bucket_of(f, by);

    f->by[by].prev = NULL;
    f->by[by].next = *head;
    if (*head)
        (*head)->by[by].prev = f;
    *head = f;
}

static void take_out(struct follow *f, enum follow_by by)
{
    if (f->by[by].prev)
        f->by[by].prev->by[by].next = f->by[by].next;
    else
        *bucket_of(f, by) = f->by[by].next;
    if (f->by[by].next)
        f->by[by].next->by[by].prev = f->by[by].prev;
}

/* --- telling ---------------------------------------------------------------------- */

/* What is told: a file; a job, or an array with all its elements; or all in the
 * bucket. */
struct news {
    int wd;                    /* -1: not by file */
    const struct job_key *key; /* NULL: not by job */
};

static bool is_meant(const struct follow *f, const struct news *n)
{
    if (f->told)
        return false;
    if (n->key)
        return f->key.id == n->key->id &&
               (n->key->index == JOB_NO_INDEX || f->key.index == n->key->index);
    return n->wd < 0 || f->wd == n->wd;
}

static void tell(struct follows *all, struct follow *const *bucket, enum follow_by by,
                 const struct news *news)
{
    unsigned n;

    do {
        struct volt_waker wakers[WAKES_PER_ROUND];

        n = 0;
        vlock_lock(&all->lock);
        for (struct follow *f = *bucket; f && n < WAKES_PER_ROUND; f = f->by[by].next) {
            if (!is_meant(f, news))
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
    const struct news news = {.wd = -1};

    for (size_t i = 0; i < BUCKETS; i++)
        tell(all, &all->bucket[FOLLOW_JOB][i], FOLLOW_JOB, &news);
}

static bool anybody(struct follows *all)
{
    vlock_lock(&all->lock);
    bool any = all->count > 0;
    vlock_unlock(&all->lock);
    return any;
}

/* --- following -------------------------------------------------------------------- */

void follow_arm(struct volt_cx *cx, struct follow *f, struct manager *m,
                const struct job_key *key)
{
    bool first = !f->registered;

    if (first) {
        *f = (struct follow){.all = m->follows, .key = *key, .wd = -1};
        f->waker = volt_waker_new(cx);
        f->registered = true;
    }
    vlock_lock(&f->all->lock);
    f->told = false;
    if (first) {
        f->all->count++;
        insert(f, FOLLOW_JOB);
    }
    vlock_unlock(&f->all->lock);
    if (first)
        volt_notify_all(&f->all->arrived);
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
    vlock_lock(&f->all->lock);
    bool told = f->told;
    vlock_unlock(&f->all->lock);
    return told ? VOLT_READY : VOLT_PENDING;
}

static bool is_followed(struct follows *all, int wd)
{
    struct follow *f = all->bucket[FOLLOW_FILE][(unsigned)wd % BUCKETS];

    while (f && f->wd != wd)
        f = f->by[FOLLOW_FILE].next;
    return f != NULL;
}

void follow_fini(struct follow *f)
{
    if (!f->registered)
        return;
    vlock_lock(&f->all->lock);
    f->all->count--;
    take_out(f, FOLLOW_JOB);
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
    ssize_t received;
    _Alignas(struct inotify_event) char events[4096];
};

static void tell_growth(struct follows *all, const struct inotify_event *e)
{
    const struct news news = {.wd = e->wd};

    if (e->mask & IN_Q_OVERFLOW)
        tell_everybody(all);
    else if (e->wd >= 0)
        tell(all, &all->bucket[FOLLOW_FILE][(unsigned)e->wd % BUCKETS], FOLLOW_FILE,
             &news);
}

static enum volt_poll growth_poll(struct volt_cx *cx, void *state)
{
    struct growth *g = state;

    for (;;) {
        if (notices_poll(cx, &g->notices, g->events, sizeof(g->events), &g->received) ==
            VOLT_PENDING)
            return VOLT_PENDING;
        if (g->received < 0)
            return VOLT_READY; /* the runtime is closing */
        if (g->received == 0)
            tell_everybody(g->all);
        for (ssize_t at = 0; at < g->received;) {
            const struct inotify_event *e = (const void *)(g->events + at);
            tell_growth(g->all, e);
            at += (ssize_t)(sizeof(*e) + e->len);
        }
    }
}

static void growth_drop(void *state)
{
    struct growth *g = state;

    notices_fini(&g->notices);
}

static const struct volt_task_type growth_type = {"output growth", sizeof(struct growth),
                                                  growth_poll, growth_drop, NULL};

/* --- changes: the task that reads the events of jobs ------------------------------- */

struct changes {
    struct manager *m;
    int at;
    uint64_t seq;
    struct volt_notified news;
};

static void tell_changes(struct changes *c)
{
    const struct job_owner root = {0};
    struct job_news events[EVENTS_PER_READ];
    uint64_t before, lost;

    do {
        size_t n = manager_events_read(c->m, &root, before = c->seq, events,
                                       EVENTS_PER_READ, &c->seq, &lost);

        if (lost)
            tell_everybody(c->m->follows);
        for (size_t i = 0; i < n; i++) {
            const struct news news = {.wd = -1, .key = &events[i].key};

            tell(c->m->follows, bucket_of_job(c->m->follows, news.key), FOLLOW_JOB,
                 &news);
        }
    } while (c->seq != before);
}

/* Until somebody follows, events of jobs wake nobody here. Who registers and looks before
 * the first seq is taken is told to look again. */
static enum volt_poll changes_poll(struct volt_cx *cx, void *state)
{
    struct changes *c = state;
    struct follows *all = c->m->follows;

    VOLT_BEGIN(c->at);
    for (;;) {
        volt_notified_init(&c->news, &all->arrived);
        while (!anybody(all)) {
            VOLT_AWAIT(c->at, volt_notified_poll(cx, &c->news));
            volt_notified_fini(&c->news);
            volt_notified_init(&c->news, &all->arrived);
        }
        c->seq = manager_event_seq(c->m);
        tell_everybody(all);
        while (anybody(all)) {
            volt_notified_fini(&c->news);
            volt_notified_init(&c->news, manager_events_notify(c->m));
            tell_changes(c);
            VOLT_AWAIT(c->at, volt_notified_poll(cx, &c->news));
        }
        volt_notified_fini(&c->news);
    }
    VOLT_END(c->at);
}

static void changes_drop(void *state)
{
    struct changes *c = state;

    volt_notified_fini(&c->news);
}

static const struct volt_task_type changes_type = {"job changes", sizeof(struct changes),
                                                   changes_poll, changes_drop, NULL};

/* --- life ------------------------------------------------------------------------- */

int follows_open(struct follows **ret)
{
    struct follows *all = calloc(1, sizeof(*all));

    if (!all)
        return -ENOMEM;
    volt_notify_init(&all->arrived);
    all->inotify_fd = notices_open("followed output");
    *ret = all;
    return 0;
}

int follows_start(struct follows *all, struct manager *m)
{
    struct growth *g = volt_task_new(m->rt, &growth_type);
    struct changes *c = volt_task_new(m->rt, &changes_type);
    int r = g && c ? 0 : -ENOMEM;

    if (r == 0) {
        g->all = all;
        c->m = m;
        r = notices_init(&g->notices, m->rt, all->inotify_fd);
    }
    if (r < 0) {
        volt_task_discard(g);
        volt_task_discard(c);
        return r;
    }
    r = volt_task_spawn(g, NULL);
    int other = volt_task_spawn(c, NULL);
    return r < 0 ? r : other;
}

void follows_free(struct follows *all)
{
    if (!all)
        return;
    if (all->inotify_fd >= 0)
        (void)close(all->inotify_fd);
    volt_notify_fini(&all->arrived);
    free(all);
}
