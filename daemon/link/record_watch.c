/* Waiting for the end of attempts: what it promises is in record_watch.h.
 *
 * The task only turns names into wakes; the woken job's own poll looks at its record, so
 * that looking happens on all workers and never to a wait that is being finished.
 *
 * A wait is in its bucket from its first poll to READY or _fini; the lock guards buckets
 * and the `state` of the waits in them. */
#include "daemon/link/record_watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>
#include <volt/runtime.h>
#include "base/lock.h"
#include "daemon/link/notices.h"
#include "daemon/observe/log.h"

#define BUCKETS         4096 /* power of two */
#define WAKES_PER_ROUND 32
#define RETRIES_MAX     12 /* 1, 2, 4, ... ms: four seconds in all */
#define RETRY_LATE      8  /* begins with 128 ms */

enum wait_state { WAIT_NEW, WAIT_ARMED, WAIT_LOOK };

struct record_watch {
    int inotify_fd, dir_fd;
    uint8_t boot_id[RECORD_ID_SIZE];
    struct siphash_key secret;
    size_t rest; /* buckets whose waits are still to be woken; its task's */
    vlock lock;  /* protects what follows */
    struct list buckets[BUCKETS];
    bool said_removed;
};

static struct list *bucket_of(struct record_watch *w, const struct job_key *key)
{
    const uint64_t words[] = {key->id, (uint64_t)key->index, key->attempt};
    return &w->buckets[siphash64(&w->secret, words, sizeof(words)) % BUCKETS];
}

/* Wakes the waits of a bucket that key names (NULL: all), some at a time, none twice. How
 * many. */
static size_t bucket_wake(struct record_watch *w, const struct list *bucket,
                          const struct job_key *key)
{
    size_t all = 0;
    unsigned n;
    do {
        struct volt_waker wakers[WAKES_PER_ROUND];
        n = 0;
        vlock_lock(&w->lock);
        for (struct list_node *at = bucket->first; at != NULL && n < WAKES_PER_ROUND;
             at = at->next) {
            struct record_wait *x = list_thing(at, struct record_wait, node);
            if (x->state != WAIT_ARMED || (key != NULL && !job_key_equal(&x->key, key)))
                continue;
            x->state = WAIT_LOOK;
            wakers[n++] = volt_waker_ref(&x->waker);
        }
        vlock_unlock(&w->lock);
        for (unsigned i = 0; i < n; i++) {
            volt_waker_wake(&wakers[i]);
            volt_waker_fini(&wakers[i]);
        }
        all += n;
    } while (n == WAKES_PER_ROUND);
    return all;
}

static void begin_event(void *arg, const struct inotify_event *e)
{
    struct record_watch *w = arg;
    struct job_key key;

    if (!e)
        w->rest = BUCKETS;
    else if (e->len > 0 && job_key_parse(e->name, &key) == 0)
        (void)bucket_wake(w, bucket_of(w, &key), &key);
}

/* Wakes all waits, a portion at a time. */
static bool go_on(void *arg, size_t *looks)
{
    struct record_watch *w = arg;

    while (w->rest > 0 && *looks > 0) {
        size_t looked = 1 + bucket_wake(w, &w->buckets[--w->rest], NULL);
        *looks -= looked < *looks ? looked : *looks;
    }
    return w->rest > 0;
}

static const struct notices_ops notices_ops = {begin_event, go_on};

/* Said once: what made the directory has to make it again, and the keeper has it open. */
void record_watch_check(struct record_watch *w)
{
    struct stat st;
    if (fstat(w->dir_fd, &st) < 0 || st.st_nlink > 0)
        return;
    vlock_lock(&w->lock);
    bool said = w->said_removed;
    w->said_removed = true;
    vlock_unlock(&w->lock);
    if (!said)
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

/* Whether there is something to look at now; arms the wait before the look, so that an
 * end after it is an event. */
static bool wait_take_look(struct volt_cx *cx, struct record_wait *x)
{
    bool first = !x->known;
    if (first)
        x->waker = volt_waker_new(cx);
    x->known = 1;
    vlock_lock(&x->watch->lock);
    bool look = x->state != WAIT_ARMED;
    if (first)
        list_add_first(bucket_of(x->watch, &x->key), &x->node);
    x->state = WAIT_ARMED;
    vlock_unlock(&x->watch->lock);
    return look;
}

void record_wait_arm(struct volt_cx *cx, struct record_wait *x)
{
    (void)wait_take_look(cx, x);
}

void record_wait_look(struct record_wait *x)
{
    vlock_lock(&x->watch->lock);
    x->state = WAIT_LOOK;
    vlock_unlock(&x->watch->lock);
}

static void wait_leave(struct record_wait *x)
{
    x->over = 1;
    if (!x->known)
        return;
    vlock_lock(&x->watch->lock);
    list_remove(bucket_of(x->watch, &x->key), &x->node);
    vlock_unlock(&x->watch->lock);
    volt_sleep_fini(&x->retry);
    volt_waker_fini(&x->waker);
}

/* Errors of this process or of the moment: they say nothing about the record. */
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

/* Looks. True: the wait is over. Its shim has just written the record, so that it is in
 * memory, mostly. */
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
    bool first = !x->known;
    if (volt_coop_take(cx) == VOLT_PENDING)
        return VOLT_PENDING;
    if (wait_take_look(cx, x)) {
        if (wait_look(cx, x))
            return VOLT_READY;
        /* Closed a moment ago: the lock is about to drop. The first look may have come
         * between the two as well, too late for the event. Where there are no events,
         * the next look comes by itself. */
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
    w->inotify_fd = notices_open("exit records");
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
    free(w);
}

int record_watch_start(struct record_watch *w, struct volt_runtime *rt)
{
    return notices_start(rt, w->inotify_fd, &notices_ops, w);
}
