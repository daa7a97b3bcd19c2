/* See output_meter.h. */
#include "daemon/output/output_meter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>
#include <volt/volt.h>

#include "daemon/link/inotify.h"

#define LISTS 1024 /* watches have consecutive numbers */

struct meters {
    int inotify_fd;
    vat_u64 looks;
    struct subscriptions *growth; /* by watch */
    int grown;                    /* number of a watch; -1: any file may have grown; only
                                   * the source's task uses it */
};

uint64_t meter_pause(uint64_t printed, uint64_t limit, bool slow)
{
    uint64_t pause = printed < limit ? (limit - printed) / METER_SPEED : 0;
    uint64_t least = slow ? METER_SLOW : METER_LEAST;

    return pause < least ? least : pause > METER_MOST ? METER_MOST : pause;
}

bool meter_is_slow(uint64_t before, uint64_t printed, uint64_t limit)
{
    return printed < limit && printed - before < (limit - printed) / METER_SLOW_PART;
}

uint64_t meters_looks(const struct meters *all)
{
    return vat_u64_load(&all->looks, VAT_RLX);
}

/* --- watches ------------------------------------------------------------------------ */

static uint32_t list_of(int wd)
{
    return (uint32_t)wd % LISTS;
}

/* Watches a file. A file that is watched already keeps its watch. */
static int watch(struct meter *m, struct meter_file *f, const char *path)
{
    int wd = inotify_add_watch(m->all->inotify_fd, path,
                               IN_MODIFY | IN_ONESHOT | IN_DONT_FOLLOW);

    if (wd < 0)
        return -errno;
    if (wd == f->wd)
        return 0;
    subscription_remove(&m->subscriber, &f->growth, list_of(f->wd));
    f->wd = wd;
    subscription_add(&m->subscriber, &f->growth, list_of(wd));
    return 0;
}

/* --- a meter ------------------------------------------------------------------------ */

static unsigned files_of(const struct meter *m)
{
    return m->split ? STORE_STREAMS : 1;
}

/* Watches the files. Returns false if not all can be watched. */
static bool watch_files(struct meter *m)
{
    int r = m->all->inotify_fd < 0 ? -ENOSYS : 0;

    (void)subscriber_arm(&m->subscriber);
    for (unsigned i = 0; r == 0 && i < files_of(m); i++) {
        struct output_path p;
        char path[sizeof(p.file) + 32];

        output_path_of(&m->key, (enum job_stream)i, &p);
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", m->outputs->dir_fd,
                       p.file);
        r = watch(m, &m->file[i], path);
    }
    return r == 0;
}

static void look_later(struct meter *m, uint64_t usec)
{
    m->by_time = true;
    m->pause_usec = usec;
    volt_sleep_fini(&m->pause);
    volt_sleep_init(&m->pause, usec);
}

/* Looks at the size. Returns whether the job has printed since the last look. */
static bool look(struct meter *m)
{
    uint64_t before = m->printed;

    m->printed = output_size(m->outputs, &m->key, m->split);
    /* Later output is for a later look, once this one is counted. */
    (void)vat_u64_add(&m->all->looks, 1, VAT_REL);
    return m->printed != before;
}

/* Takes a look that is due, and sets the next one. */
static void look_and_wait(struct meter *m)
{
    /* The time that output took is unknown at the first look after a quiet phase. */
    bool timed = m->by_time && m->pause_usec > 0;
    uint64_t before = m->printed;
    bool quiet = !look(m);

    m->by_time = false;
    if (quiet && !watch_files(m)) {
        uint64_t twice = m->pause_usec ? 2 * m->pause_usec : METER_LEAST;

        look_later(m, twice < METER_MOST ? twice : METER_MOST);
        return;
    }
    if (quiet) /* finds output that came before the watch */
        quiet = !look(m);
    if (!quiet)
        look_later(m, meter_pause(m->printed, m->limit,
                                  timed && meter_is_slow(before, m->printed, m->limit)));
}

static void begin(struct volt_cx *cx, struct meter *m)
{
    m->printed = 0;
    m->by_time = true; /* a look is due */
    volt_sleep_init(&m->pause, 0);
    subscriber_init(cx, &m->subscriber, m->all->growth);
    for (unsigned i = 0; i < STORE_STREAMS; i++)
        m->file[i].wd = -1;
}

enum volt_poll meter_poll(struct volt_cx *cx, struct meter *m, struct meters *all,
                          struct outputs *outputs, const struct job_key *key, bool split,
                          uint64_t limit)
{
    if (!m->all) {
        *m = (struct meter){
            .all = all, .outputs = outputs, .key = *key, .split = split, .limit = limit};
        begin(cx, m);
    }
    while (m->printed <= m->limit) {
        if (m->by_time ? volt_sleep_poll(cx, &m->pause) == VOLT_PENDING
                       : !subscriber_arm(&m->subscriber))
            return VOLT_PENDING;
        look_and_wait(m);
    }
    return VOLT_READY;
}

void meter_fini(struct meter *m)
{
    struct meters *all = m->all;

    if (!all)
        return;
    for (unsigned i = 0; i < STORE_STREAMS; i++) {
        subscription_remove(&m->subscriber, &m->file[i].growth, list_of(m->file[i].wd));
        if (m->file[i].wd >= 0) /* its event may have removed it */
            (void)inotify_rm_watch(all->inotify_fd, m->file[i].wd);
    }
    subscriber_fini(&m->subscriber);
    volt_sleep_fini(&m->pause);
    m->all = NULL;
}

/* --- growth ------------------------------------------------------------------------- */

static bool has_grown(const struct meters *all, struct subscription *s)
{
    return all->grown < 0 || list_thing(s, struct meter_file, growth)->wd == all->grown;
}

static void begin_event(void *arg, const struct inotify_event *e)
{
    struct meters *all = arg;

    all->grown = e ? e->wd : -1;
    if (!e)
        subscriptions_begin_all(all->growth);
    else if (e->mask & IN_MODIFY)
        subscriptions_begin(all->growth, list_of(e->wd));
}

static bool go_on(void *arg, size_t *looks)
{
    const struct meters *all = arg;
    struct subscriptions_round round;
    struct subscription *s;

    subscriptions_begin_round(&round, all->growth, looks);
    while ((s = subscriptions_next(&round)))
        if (has_grown(all, s))
            subscriptions_wake(&round, s);
    return round.more;
}

static const struct inotify_reader_ops inotify_reader_ops = {begin_event, go_on};

/* --- life --------------------------------------------------------------------------- */

int meters_open(struct meters **ret)
{
    struct meters *all = calloc(1, sizeof(*all));

    if (!all)
        return -ENOMEM;
    all->inotify_fd = inotify_reader_open("output with a limit");
    all->growth = subscriptions_new(LISTS);
    if (!all->growth) {
        meters_free(all);
        return -ENOMEM;
    }
    *ret = all;
    return 0;
}

int meters_start(struct meters *all, struct volt_runtime *rt)
{
    if (all->inotify_fd < 0)
        return 0; /* meters look by time */
    return inotify_reader_start(rt, all->inotify_fd, &inotify_reader_ops, all);
}

void meters_free(struct meters *all)
{
    if (!all)
        return;
    if (all->inotify_fd >= 0)
        (void)close(all->inotify_fd);
    subscriptions_free(all->growth);
    free(all);
}
