/* See output_meter.h. The lock guards the table of watched files and `told`; wakes come
 * after it. */
#include "daemon/output/output_meter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>
#include <volt/volt.h>

#include "base/lock.h"
#include "daemon/link/notices.h"

#define BUCKETS 1024 /* power of two; watches are numbered one after the other */

struct meters {
    int inotify_fd;
    vat_u64 looks;
    bool telling; /* all meters, from the bucket `at` on; its task's */
    unsigned at;
    vlock lock; /* protects what follows */
    struct meter_file *bucket[BUCKETS];
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

/* --- watches. Lock held. ------------------------------------------------------------ */

static struct meter_file **bucket_of(struct meters *all, int wd)
{
    return &all->bucket[(unsigned)wd % BUCKETS];
}

static void take_out(struct meters *all, struct meter_file *f)
{
    if (f->wd < 0)
        return;
    *(f->prev ? &f->prev->next : bucket_of(all, f->wd)) = f->next;
    if (f->next)
        f->next->prev = f->prev;
    f->wd = -1;
}

/* A file that is watched already keeps its watch. */
static int watch(struct meters *all, struct meter_file *f, const char *path)
{
    int wd =
        inotify_add_watch(all->inotify_fd, path, IN_MODIFY | IN_ONESHOT | IN_DONT_FOLLOW);

    if (wd < 0)
        return -errno;
    if (wd == f->wd)
        return 0;
    take_out(all, f);
    f->wd = wd;
    f->prev = NULL;
    f->next = *bucket_of(all, wd);
    if (f->next)
        f->next->prev = f;
    *bucket_of(all, wd) = f;
    return 0;
}

/* --- a meter ------------------------------------------------------------------------ */

static unsigned files_of(const struct meter *m)
{
    return m->split ? STORE_STREAMS : 1;
}

/* False: not all of its files can be watched. */
static bool watch_files(struct meter *m)
{
    int r = m->all->inotify_fd < 0 ? -ENOSYS : 0;

    vlock_lock(&m->all->lock);
    m->told = false;
    for (unsigned i = 0; r == 0 && i < files_of(m); i++) {
        struct output_path p;
        char path[sizeof(p.file) + 32];

        output_path_of(&m->key, (enum job_stream)i, &p);
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", m->outputs->dir_fd,
                       p.file);
        r = watch(m->all, &m->file[i], path);
    }
    vlock_unlock(&m->all->lock);
    return r == 0;
}

static void look_later(struct meter *m, uint64_t usec)
{
    m->by_time = true;
    m->pause_usec = usec;
    volt_sleep_fini(&m->pause);
    volt_sleep_init(&m->pause, usec);
}

/* Whether it has printed since the last look. */
static bool look(struct meter *m)
{
    uint64_t before = m->printed;

    m->printed = output_size(m->outputs, &m->key, m->split);
    /* What is printed once a look is counted is for a later one to see. */
    (void)vat_u64_add(&m->all->looks, 1, VAT_REL);
    return m->printed != before;
}

/* A look that is due. */
static void look_and_wait(struct meter *m)
{
    /* What the first look after it was quiet finds was printed in no time that
     * is known. */
    bool timed = m->by_time && m->pause_usec > 0;
    uint64_t before = m->printed;
    bool quiet = !look(m);

    m->by_time = false;
    if (quiet && !watch_files(m)) {
        uint64_t twice = m->pause_usec ? 2 * m->pause_usec : METER_LEAST;

        look_later(m, twice < METER_MOST ? twice : METER_MOST);
        return;
    }
    if (quiet) /* what came before it was watched */
        quiet = !look(m);
    if (!quiet)
        look_later(m, meter_pause(m->printed, m->limit,
                                  timed && meter_is_slow(before, m->printed, m->limit)));
}

static bool is_told(struct meter *m)
{
    vlock_lock(&m->all->lock);
    bool told = m->told;
    vlock_unlock(&m->all->lock);
    return told;
}

static void begin(struct volt_cx *cx, struct meter *m)
{
    m->printed = 0;
    m->by_time = true; /* a look is due */
    volt_sleep_init(&m->pause, 0);
    m->waker = volt_waker_new(cx);
    for (unsigned i = 0; i < STORE_STREAMS; i++)
        m->file[i] = (struct meter_file){.meter = m, .wd = -1};
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
        if (m->by_time ? volt_sleep_poll(cx, &m->pause) == VOLT_PENDING : !is_told(m))
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
    vlock_lock(&all->lock);
    for (unsigned i = 0; i < STORE_STREAMS; i++) {
        int wd = m->file[i].wd;

        take_out(all, &m->file[i]);
        if (wd >= 0) /* if it has not gone with its event */
            (void)inotify_rm_watch(all->inotify_fd, wd);
    }
    vlock_unlock(&all->lock);
    volt_sleep_fini(&m->pause);
    volt_waker_fini(&m->waker);
    m->all = NULL;
}

/* --- growth ------------------------------------------------------------------------- */

/* The meter of a watch is told; wd -1: the first one from *at on that has not been.
 * False: there is none (any more). */
static bool tell(struct meters *all, int wd, unsigned *at)
{
    struct meter_file *f = NULL;
    struct volt_waker waker;

    vlock_lock(&all->lock);
    if (wd >= 0) {
        f = *bucket_of(all, wd);
        while (f && f->wd != wd)
            f = f->next;
    }
    for (; wd < 0 && !f && *at < BUCKETS; *at += !f) {
        f = all->bucket[*at];
        while (f && f->meter->told)
            f = f->next;
    }
    bool wakes = f && !f->meter->told;
    if (wakes) {
        f->meter->told = true;
        waker = volt_waker_ref(&f->meter->waker);
    }
    vlock_unlock(&all->lock);
    if (!wakes)
        return false;
    volt_waker_wake(&waker);
    volt_waker_fini(&waker);
    return true;
}

static void begin_event(void *arg, const struct inotify_event *e)
{
    struct meters *all = arg;

    if (e && e->mask & IN_MODIFY)
        (void)tell(all, e->wd, NULL);
    if (e)
        return;
    all->at = 0;
    all->telling = true;
}

/* Tells all meters, a portion at a time. */
static bool go_on(void *arg, size_t *looks)
{
    struct meters *all = arg;

    for (; all->telling && *looks > 0; (*looks)--)
        all->telling = tell(all, -1, &all->at);
    return all->telling;
}

static const struct notices_ops notices_ops = {begin_event, go_on};

/* --- life --------------------------------------------------------------------------- */

int meters_open(struct meters **ret)
{
    struct meters *all = calloc(1, sizeof(*all));

    if (!all)
        return -ENOMEM;
    all->inotify_fd = notices_open("output with a limit");
    *ret = all;
    return 0;
}

int meters_start(struct meters *all, struct volt_runtime *rt)
{
    if (all->inotify_fd < 0)
        return 0; /* meters look by time */
    return notices_start(rt, all->inotify_fd, &notices_ops, all);
}

void meters_free(struct meters *all)
{
    if (!all)
        return;
    if (all->inotify_fd >= 0)
        (void)close(all->inotify_fd);
    free(all);
}
