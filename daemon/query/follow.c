/* See follow.h. A watch belongs to an inode: followers of one file share it, and the last
 * one removes it. So watches are added and looked up with the lock of the table. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>
#include <volt/volt.h>

#include "daemon/query/follow.h"
#include "daemon/core/jobs.h"
#include "daemon/core/parts.h"
#include "daemon/link/inotify.h"

#define LISTS 1024 /* watch numbers are consecutive */

struct follows {
    int inotify_fd;
    struct core *core;
    struct subscriptions *growth; /* by watch; -1: followers without a file */
    int grown;                    /* the watch being notified; -1: all. Of the source's
                                   * task */
};

static uint32_t list_of(int wd)
{
    return (uint32_t)wd % LISTS;
}

/* --- notifications ---------------------------------------------------------------- */

static bool is_of_watch(struct subscription *s, int wd)
{
    return wd < 0 || list_thing(s, struct follow, growth)->wd == wd;
}

/* Lock of the table held. Returns whether anything follows the file of this watch. */
static bool is_followed(const struct follows *all, int wd)
{
    struct subscription *s = subscriptions_first(all->growth, list_of(wd));

    while (s && !is_of_watch(s, wd))
        s = subscriptions_after(s);
    return s != NULL;
}

static void begin_event(void *arg, const struct inotify_event *e)
{
    struct follows *all = arg;

    all->grown = e ? e->wd : -1;
    if (!e)
        subscriptions_begin_all(all->growth);
    else if (e->wd >= 0)
        subscriptions_begin(all->growth, list_of(e->wd));
}

static bool go_on(void *arg, size_t *looks)
{
    struct follows *all = arg;
    struct subscriptions_round round;
    struct subscription *s;

    subscriptions_begin_round(&round, all->growth, looks);
    while ((s = subscriptions_next(&round)))
        if (is_of_watch(s, all->grown))
            subscriptions_wake(&round, s);
    jobs_note_visited(all->core, INOTIFY_LOOKS - *looks);
    return round.more;
}

static const struct inotify_reader_ops inotify_reader_ops = {begin_event, go_on};

/* --- following -------------------------------------------------------------------- */

static void begin(struct volt_cx *cx, struct follow *f, struct core *core,
                  const struct job_key *key)
{
    *f = (struct follow){.all = parts_of(core)->follows, .wd = -1};
    job_subscriber_init(cx, &f->job_subscriber, core, false, &f->job, sizeof(f->job));
    job_subscriber_add(&f->job_subscriber, key);
    subscriber_init(cx, &f->subscriber, f->all->growth);
    subscription_add(&f->subscriber, &f->growth, list_of(f->wd));
}

void follow_arm(struct volt_cx *cx, struct follow *f, struct core *core,
                const struct job_key *key)
{
    if (!f->all)
        begin(cx, f, core, key);
    (void)follow_poll(f);
}

int follow_file(struct follow *f, int fd)
{
    struct follows *all = f->all;
    char path[32];
    int r = 0;

    if (all->inotify_fd < 0)
        return 0; /* everybody is notified from time to time */
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    vlock_lock(&all->growth->lock);
    int wd = inotify_add_watch(all->inotify_fd, path, IN_MODIFY);
    if (wd < 0) {
        r = -errno;
    } else {
        subscription_remove_locked(all->growth, &f->growth, list_of(f->wd));
        f->wd = wd;
        subscription_add_locked(&f->subscriber, &f->growth, list_of(wd));
    }
    vlock_unlock(&all->growth->lock);
    return r;
}

enum volt_poll follow_poll(struct follow *f)
{
    struct change change;
    bool changed = job_subscriber_next(&f->job_subscriber, &change) != NULL;

    return subscriber_arm(&f->subscriber) || changed ? VOLT_READY : VOLT_PENDING;
}

void follow_fini(struct follow *f)
{
    struct follows *all = f->all;

    if (!all)
        return;
    job_subscriber_fini(&f->job_subscriber);
    vlock_lock(&all->growth->lock);
    subscription_remove_locked(all->growth, &f->growth, list_of(f->wd));
    if (f->wd >= 0 && !is_followed(all, f->wd))
        (void)inotify_rm_watch(all->inotify_fd, f->wd);
    vlock_unlock(&all->growth->lock);
    subscriber_fini(&f->subscriber);
    f->all = NULL;
}

/* --- life ------------------------------------------------------------------------- */

int follows_open(struct follows **ret)
{
    struct follows *all = calloc(1, sizeof(*all));

    if (!all)
        return -ENOMEM;
    all->inotify_fd = inotify_reader_open("followed output");
    all->growth = subscriptions_new(LISTS);
    if (!all->growth) {
        follows_free(all);
        return -ENOMEM;
    }
    *ret = all;
    return 0;
}

int follows_start(struct follows *all, struct core *core)
{
    all->core = core;
    return inotify_reader_start(parts_of(core)->rt, all->inotify_fd, &inotify_reader_ops,
                                all);
}

void follows_free(struct follows *all)
{
    if (!all)
        return;
    if (all->inotify_fd >= 0)
        (void)close(all->inotify_fd);
    subscriptions_free(all->growth);
    free(all);
}
