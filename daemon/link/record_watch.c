/* Waits for the end of attempts: record_watch.h.
 *
 * The source only turns names of files into wakes. The woken job's own poll reads its
 * record. So records are read on all workers, and never for a wait that is being
 * finished. A wait is subscribed from its first poll to READY or _fini. */
#include "daemon/link/record_watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>
#include <volt/runtime.h>
#include "daemon/link/inotify.h"
#include "daemon/observe/log.h"

#define LISTS       4096
#define RETRIES_MAX 12 /* 1, 2, 4, ... ms: 4 s in all */
#define RETRY_LATE  8  /* begins with 128 ms */

struct record_watch {
    int inotify_fd, dir_fd;
    uint8_t boot_id[RECORD_ID_SIZE];
    struct siphash_key secret;
    struct subscriptions *waits; /* by a hash of the attempt */
    struct job_key closed;       /* id 0: any may be; source's task only */
    vat_u32 said_removed;
};

static uint32_t list_of(const struct record_watch *w, const struct job_key *key)
{
    const uint64_t words[] = {key->id, (uint64_t)key->index, key->attempt};

    return (uint32_t)(siphash64(&w->secret, words, sizeof(words)) % LISTS);
}

static bool is_closed(const struct record_watch *w, struct subscription *s)
{
    const struct record_wait *x = list_thing(s, struct record_wait, subscription);

    return !w->closed.id || job_key_equal(&x->key, &w->closed);
}

static void begin_event(void *arg, const struct inotify_event *e)
{
    struct record_watch *w = arg;

    w->closed = (struct job_key){.id = 0};
    if (!e)
        subscriptions_begin_all(w->waits);
    else if (e->len > 0 && job_key_parse(e->name, &w->closed) == 0)
        subscriptions_begin(w->waits, list_of(w, &w->closed));
}

static bool go_on(void *arg, size_t *looks)
{
    const struct record_watch *w = arg;
    struct subscriptions_round round;
    struct subscription *s;

    subscriptions_begin_round(&round, w->waits, looks);
    while ((s = subscriptions_next(&round)))
        if (is_closed(w, s))
            subscriptions_wake(&round, s);
    return round.more;
}

static const struct inotify_reader_ops inotify_reader_ops = {begin_event, go_on};

/* Logs it once: the directory's maker must make it again, and the keeper has it open. */
void record_watch_check(struct record_watch *w)
{
    struct stat st;
    if (fstat(w->dir_fd, &st) < 0 || st.st_nlink > 0)
        return;
    if (!vat_u32_xchg(&w->said_removed, 1, VAT_RLX))
        log_error("the directory of the exit records was removed: what runs will be "
                  "lost, and no job can be started until voltd is restarted");
}

/* --- waits -------------------------------------------------------------------------- */

void record_wait_init(struct record_wait *x, struct record_watch *watch,
                      const struct job_key *key)
{
    memset(x, 0, sizeof(*x));
    x->watch = watch;
    x->key = *key;
}

/* Arms the wait, before the record is read, so that a later end is an event. Returns
 * whether to read it now. */
static bool wait_take_look(struct volt_cx *cx, struct record_wait *x)
{
    if (!x->subscriber.table) {
        subscriber_init(cx, &x->subscriber, x->watch->waits);
        x->list = list_of(x->watch, &x->key);
        subscription_add(&x->subscriber, &x->subscription, x->list);
    }
    return subscriber_arm(&x->subscriber);
}

void record_wait_arm(struct volt_cx *cx, struct record_wait *x)
{
    (void)wait_take_look(cx, x);
}

void record_wait_look(struct record_wait *x)
{
    /* Otherwise the next poll reads it anyway, or the wait is over. */
    if (x->subscriber.table)
        subscriber_disarm(&x->subscriber);
}

static void wait_leave(struct record_wait *x)
{
    x->over = true;
    if (!x->subscriber.table)
        return;
    subscription_remove(&x->subscriber, &x->subscription, x->list);
    subscriber_fini(&x->subscriber);
    volt_sleep_fini(&x->retry);
}

/* Returns whether the error is of this process or temporary, and says nothing about the
 * record. */
static bool is_passing(int r)
{
    return r == -EMFILE || r == -ENFILE || r == -ENOMEM || r == -EIO || r == -EINTR ||
           r == -EAGAIN || r == -ENOLCK;
}

static void probe(void *arg)
{
    struct record_wait *x = arg;
    x->status = record_probe(x->watch->dir_fd, &x->key, x->watch->boot_id, &x->record);
}

/* Reads the record. Returns whether the wait is over. The record is mostly in memory, as
 * the shim has just written it. */
static bool wait_look(struct volt_cx *cx, struct record_wait *x)
{
    struct record_watch *w = x->watch;
    x->status = record_probe_cached(w->dir_fd, &x->key, w->boot_id, &x->record);
    if (x->status == -EAGAIN)
        volt_block_in_place(cx, probe, x);
    if (is_passing(x->status))
        return false;
    if (x->status < 0 || x->record.verdict != RECORD_RUNNING) {
        wait_leave(x);
        return true;
    }
    return false;
}

enum volt_poll record_wait_poll(struct volt_cx *cx, struct record_wait *x)
{
    if (x->over)
        return VOLT_READY;
    bool first = !x->subscriber.table;
    if (volt_coop_take(cx) == VOLT_PENDING)
        return VOLT_PENDING;
    if (wait_take_look(cx, x)) {
        if (wait_look(cx, x))
            return VOLT_READY;
        /* If the record was closed a moment ago, the lock is about to drop. A first look
         * may also have come between close and drop, after the event. Without inotify the
         * next look comes by itself. */
        x->tries = x->watch->inotify_fd < 0  ? 0
                   : first && x->status == 0 ? RETRY_LATE
                                             : 1;
        volt_sleep_fini(&x->retry);
        if (x->tries > 0)
            volt_sleep_init(&x->retry, UINT64_C(1000) << (x->tries - 1));
    }
    while (x->tries > 0 && volt_sleep_poll(cx, &x->retry) == VOLT_READY) {
        if (wait_look(cx, x))
            return VOLT_READY;
        volt_sleep_fini(&x->retry);
        if (x->tries < RETRIES_MAX)
            x->tries++;
        else if (x->status == 0)
            x->tries = 0;
        if (x->tries > 0)
            volt_sleep_init(&x->retry, UINT64_C(1000) << (x->tries - 1));
    }
    volt_coop_restore(cx);
    return VOLT_PENDING;
}

bool record_wait_started(const struct record_wait *x, struct record_started *ret)
{
    if (!x->record.has_started)
        return false;
    *ret = x->record.started;
    return true;
}

int record_wait_result(const struct record_wait *x, struct record *ret)
{
    if (x->status == 0)
        *ret = x->record;
    return x->status;
}

void record_wait_fini(struct record_wait *x)
{
    if (x->watch == NULL)
        return;
    if (!x->over)
        wait_leave(x);
    x->watch = NULL;
}

/* --- the watch ---------------------------------------------------------------------- */

static int watch_inotify(struct record_watch *w)
{
    char path[32];
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", w->dir_fd);
    w->inotify_fd = inotify_reader_open("exit records");
    if (w->inotify_fd < 0)
        return 0;
    return inotify_add_watch(w->inotify_fd, path, IN_CLOSE_WRITE | IN_ONLYDIR) < 0
               ? -errno
               : 0;
}

int record_watch_open(int dir_fd, const uint8_t boot_id[RECORD_ID_SIZE],
                      const struct siphash_key *secret, struct volt_error *err,
                      struct record_watch **ret)
{
    struct record_watch *w = calloc(1, sizeof(*w));
    int r = -ENOMEM;
    if (w != NULL) {
        w->dir_fd = dir_fd;
        w->secret = *secret;
        memcpy(w->boot_id, boot_id, RECORD_ID_SIZE);
        r = watch_inotify(w);
        w->waits = subscriptions_new(LISTS);
        if (!w->waits)
            r = -ENOMEM;
    }
    if (r < 0) {
        if (err != NULL)
            (void)snprintf(err->text, sizeof(err->text),
                           "cannot watch the exit records: %s", strerror(-r));
        record_watch_free(w);
        return r;
    }
    *ret = w;
    return 0;
}

void record_watch_free(struct record_watch *w)
{
    if (w == NULL)
        return;
    if (w->inotify_fd >= 0)
        (void)close(w->inotify_fd);
    subscriptions_free(w->waits);
    free(w);
}

int record_watch_start(struct record_watch *w, struct volt_runtime *rt)
{
    return inotify_reader_start(rt, w->inotify_fd, &inotify_reader_ops, w);
}
