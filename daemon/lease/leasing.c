/* See leasing.h. */
#include "daemon/lease/leasing.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>
#include <volt/volt.h>

#include "base/error.h"
#include "daemon/core/jobs.h"
#include "daemon/core/parts.h"
#include "daemon/dispatch/dispatch.h"
#include "daemon/lease/lease_file.h"
#include "daemon/link/inotify.h"
#include "daemon/submit/ids.h"
#include "daemon/core/tx.h"

#define LOOKS_MOST 32 /* files that one poll checks */

struct leasing {
    struct core *core;
    int dir_fd, inotify_fd;
    size_t untold; /* of the inotify reader: leases to check because events were lost */
};

/* --- asking ------------------------------------------------------------------------- */

static void reserve(void *arg)
{
    struct lease_acquire *a = arg;

    a->ret = ids_reserve(parts_of(a->core)->ids, 1, &a->ret_err);
}

/* Returns 0, or -errno with the text in a->ret_err. */
static int take_id(struct volt_cx *cx, struct lease_acquire *a)
{
    while (!ids_take(parts_of(a->core)->ids, 1, &a->ask.id)) {
        volt_block_in_place(cx, reserve, a);
        if (a->ret < 0)
            return a->ret;
    }
    return 0;
}

/* Returns whether the place exists and no other call waits for it. a->lease stays NULL if
 * the lease has been handed over: the client has it by its descriptor. */
static bool resume(struct lease_acquire *a)
{
    core_lock(a->core);
    struct lease *l = leases_find(a->core, a->place);
    const bool there = l && l->uid == a->ask.uid && l->in;
    if (there && l->state != LEASE_HELD) {
        leases_attach(a->core, l);
        a->lease = l;
        a->ask.in_job = l->in_job;
        a->ask.in_lease = l->in_lease;
    }
    core_unlock(a->core);
    if (there)
        a->ask.id = a->place;
    return there;
}

/* Returns 0 or -errno. After 0 a->lease is NULL if the lease had been handed over
 * already. */
static int begin(struct volt_cx *cx, struct lease_acquire *a)
{
    struct tx tx;

    if (a->place && resume(a)) {
        a->file = LEASE_FILE_TAKEN;
        return 0;
    }
    int r = take_id(cx, a);
    if (r < 0)
        return r;
    a->ask.since_usec = jobs_now_usec();
    core_begin(&tx, a->core);
    core_charge(a->core, a->quota);
    r = leases_ask(&tx, &a->ask, a->waits, &a->lease, &a->ret_err);
    if (r == 0) { /* the job or lease that core has found around it */
        a->ask.in_job = a->lease->in_job;
        a->ask.in_lease = a->lease->in_lease;
    }
    dispatch_finish(&tx);
    return r;
}

/* Returns whether the lease is granted; otherwise the task is woken when it is. */
static bool is_given(struct volt_cx *cx, struct lease_acquire *a)
{
    struct lease *l = a->lease;

    core_lock(a->core);
    const bool given = l->state == LEASE_GIVEN;
    struct volt_waker before = l->waker;
    l->waker = given ? (struct volt_waker){0} : volt_waker_new(cx);
    a->ask.since_usec = l->since_usec;
    a->ask.claim.had = l->capacity;
    core_unlock(a->core);
    volt_waker_fini(&before);
    return given;
}

/* Makes the file of the lease; if there is one, writes into it that the lease is held. */
static void write_file(struct lease_acquire *a, bool waits)
{
    const int dir_fd = parts_of(a->core)->leasing->dir_fd;

    if (a->file) {
        a->ret = lease_file_give(dir_fd, a->ask.id, a->ask.since_usec, a->ask.claim.had);
        return;
    }
    a->ret = lease_file_make(dir_fd, &a->ask, waits, &a->fd);
    if (a->ret >= 0)
        a->file = LEASE_FILE_HERE;
}

static void make_place(void *arg)
{
    write_file(arg, true);
}

static void give_file(void *arg)
{
    write_file(arg, false);
}

static void remove_file(void *arg)
{
    const struct lease_acquire *a = arg;

    (void)lease_file_remove(parts_of(a->core)->leasing->dir_fd, a->ask.id);
}

void lease_acquire_leave(struct volt_cx *cx, struct lease_acquire *a)
{
    struct tx tx;

    if (a->lease && a->file) /* first: otherwise the next voltd may recover it */
        volt_block_in_place(cx, remove_file, a);
    if (!a->lease)
        return;
    core_begin(&tx, a->core);
    leases_end(&tx, a->lease);
    dispatch_finish(&tx);
    a->lease = NULL;
}

static int no_file(struct volt_cx *cx, struct lease_acquire *a)
{
    lease_acquire_leave(cx, a);
    return error_set(&a->ret_err, a->ret, "cannot write the file of the lease: %s",
                     strerror(-a->ret));
}

/* Makes the file of a waiting lease, if it has none. Returns 0 or -errno. */
static int keep_place(struct volt_cx *cx, struct lease_acquire *a)
{
    if (a->file)
        return 0;
    volt_block_in_place(cx, make_place, a);
    return a->ret < 0 ? no_file(cx, a) : 0;
}

/* Hands the lease over, then checks its file if it waited: the client may have closed the
 * file when no close was checked. */
static int hand_over(struct volt_cx *cx, struct lease_acquire *a)
{
    const bool waited = a->file;
    struct tx tx;

    volt_block_in_place(cx, give_file, a);
    if (a->ret < 0)
        return no_file(cx, a);
    core_begin(&tx, a->core);
    leases_hold(a->core, a->lease);
    if (waited)
        leases_note(&tx, a->lease->id);
    dispatch_finish(&tx);
    a->lease = NULL;
    return 0;
}

/* Returns READY when every change before the grant is durable or has failed. */
static enum volt_poll kept_poll(struct volt_cx *cx, struct lease_acquire *a)
{
    if (!a->keeps) {
        store_barrier(parts_of(a->core)->store, &a->kept);
        store_kick(parts_of(a->core)->store, false);
    }
    a->keeps = true;
    return store_commit_poll(cx, &a->kept);
}

enum volt_poll lease_acquire_poll(struct volt_cx *cx, struct lease_acquire *a)
{
    if (!a->lease)
        a->ret = begin(cx, a);
    if (!a->lease)
        return VOLT_READY;
    if (!is_given(cx, a)) {
        lending_begin(a->core, a->ask.uid, &a->ask.in_job, &a->lending);
        return keep_place(cx, a) < 0 ? VOLT_READY : VOLT_PENDING;
    }
    lending_end(a->core, &a->lending);
    if (kept_poll(cx, a) == VOLT_PENDING)
        return VOLT_PENDING;
    if (a->kept.status == 0) {
        a->ret = hand_over(cx, a);
        return VOLT_READY;
    }
    lease_acquire_leave(cx, a);
    a->ret = error_set(&a->ret_err, a->kept.status,
                       "the store does not take what has happened before");
    return VOLT_READY;
}

int lease_acquire_take_fd(struct lease_acquire *a)
{
    if (a->file != LEASE_FILE_HERE)
        return -1;
    a->file = LEASE_FILE_TAKEN;
    return a->fd;
}

void lease_acquire_fini(struct lease_acquire *a)
{
    const int fd = lease_acquire_take_fd(a);
    struct tx tx;

    lending_end(a->core, &a->lending);
    store_commit_fini(&a->kept);
    if (fd >= 0) /* the client never got it: the close ends the place */
        (void)close(fd);
    if (!a->lease)
        return;
    core_begin(&tx, a->core);
    if (a->file)
        leases_detach(&tx, a->lease);
    else
        leases_end(&tx, a->lease);
    dispatch_finish(&tx);
    a->lease = NULL;
}

/* --- looking ------------------------------------------------------------------------ */

static void begin_event(void *arg, const struct inotify_event *e)
{
    struct leasing *all = arg;
    struct tx tx;

    core_begin(&tx, all->core);
    if (!e)
        all->untold = parts_of(all->core)->leases->nlisted;
    else if (e->len > 0)
        leases_note(&tx, lease_file_id(e->name));
    dispatch_finish(&tx);
}

static bool tell_some(void *arg, size_t *looks)
{
    struct leasing *all = arg;
    const size_t n = all->untold < *looks ? all->untold : *looks;
    struct tx tx;

    if (!n)
        return false;
    core_begin(&tx, all->core);
    leases_note_some(&tx, n, all->inotify_fd < 0);
    dispatch_finish(&tx);
    all->untold -= n;
    *looks -= n;
    return all->untold > 0;
}

static const struct inotify_reader_ops reader_ops = {begin_event, tell_some};

/* The task that finds leases that have ended. */
struct looking {
    struct core *core;
    uint64_t id[LOOKS_MOST]; /* leases that this poll checks */
    bool held[LOOKS_MOST];
    size_t n;
    struct volt_sleep rest; /* until the next check is due */
};

static void look_at_files(void *arg)
{
    struct looking *t = arg;
    const int dir_fd = parts_of(t->core)->leasing->dir_fd;

    for (size_t i = 0; i < t->n; i++) {
        t->held[i] = lease_file_is_held(dir_fd, t->id[i]) != 0;
        if (!t->held[i])
            (void)lease_file_remove(dir_fd, t->id[i]); /* on failure the next start
                                                        * removes it */
    }
}

static void end_some(struct looking *t)
{
    const uint64_t now = volt_now_usec();
    struct tx tx;

    core_begin(&tx, t->core);
    for (size_t i = 0; i < t->n; i++) {
        struct lease *l = leases_find(t->core, t->id[i]);

        if (l && t->held[i])
            leases_look_again(t->core, l, now);
        else if (l && l->in) /* no call has taken the lease up since */
            leases_end(&tx, l);
    }
    dispatch_finish(&tx);
}

/* Takes the leases that are due. Without any, *ret_next is when one will be, and an
 * earlier one wakes the task. */
static void take_due(struct volt_cx *cx, struct looking *t, uint64_t *ret_next)
{
    struct core *core = t->core;
    struct volt_waker before = {0};
    struct lease *l;

    t->n = 0;
    core_lock(core);
    while (t->n < LOOKS_MOST && (l = leases_take_due(core, volt_now_usec(), ret_next)))
        t->id[t->n++] = l->id;
    if (!t->n) {
        before = parts_of(core)->leases->waker;
        parts_of(core)->leases->waker = volt_waker_new(cx);
    }
    core_unlock(core);
    volt_waker_fini(&before);
}

static enum volt_poll look_poll(struct volt_cx *cx, void *state)
{
    struct looking *t = state;
    uint64_t next;

    take_due(cx, t, &next);
    if (t->n) {
        volt_block_in_place(cx, look_at_files, t);
        end_some(t);
        volt_cx_wake(cx);
        return VOLT_PENDING;
    }
    volt_sleep_fini(&t->rest);
    if (next == UINT64_MAX)
        return VOLT_PENDING;
    volt_sleep_init_at(&t->rest, next);
    if (volt_sleep_poll(cx, &t->rest) == VOLT_READY)
        volt_cx_wake(cx);
    return VOLT_PENDING;
}

static void look_drop(void *state)
{
    struct looking *t = state;

    volt_sleep_fini(&t->rest);
    core_lock(t->core);
    struct volt_waker waker = parts_of(t->core)->leases->waker;
    parts_of(t->core)->leases->waker = (struct volt_waker){0};
    core_unlock(t->core);
    volt_waker_fini(&waker);
}

static const struct volt_task_type looking_type = {"leases", sizeof(struct looking),
                                                   look_poll, look_drop, NULL};

int leasing_start(struct core *core)
{
    struct looking *t = volt_task_new(parts_of(core)->rt, &looking_type);

    if (!t)
        return -ENOMEM;
    t->core = core;
    int r = volt_task_spawn(t, NULL);
    if (r < 0)
        return r;
    return inotify_reader_start(parts_of(core)->rt, parts_of(core)->leasing->inotify_fd,
                                &reader_ops, parts_of(core)->leasing);
}

/* --- given back by hand ------------------------------------------------------------- */

bool lease_is_left(pid_t pid)
{
    return pid > 0 && kill(pid, 0) < 0 && errno == ESRCH;
}

struct freeing {
    struct lease_free *f;
    uint64_t id[LOOKS_MOST];
    bool stays[LOOKS_MOST]; /* the file cannot be removed */
    size_t n;
};

/* Takes a portion of the leases to free, behind the latest that stays, so that no call
 * comes back to them. Returns whether there are more to look at. */
static bool find_left(struct freeing *b)
{
    struct lease_free *f = b->f;
    struct lease *l;

    core_lock(f->core);
    core_charge(f->core, f->quota);
    l = leases_next(f->core, f->uid, leases_find(f->core, f->through));
    for (int i = 0; l && i < LOOKS_MOST; l = leases_next(f->core, f->uid, l), i++) {
        core_did(f->core, 1, 0, 0);
        if (l->state == LEASE_WAITS || !l->in || strcmp(lease_name(l), f->name) != 0 ||
            !lease_is_left(l->pid)) {
            f->through = l->id;
            continue;
        }
        leases_attach(f->core, l);
        b->id[b->n++] = l->id;
    }
    core_unlock(f->core);
    return l;
}

/* Removes the files, so that the next voltd does not recover the leases. */
static void remove_files(void *arg)
{
    struct freeing *b = arg;

    for (size_t i = 0; i < b->n; i++)
        b->stays[i] =
            lease_file_remove(parts_of(b->f->core)->leasing->dir_fd, b->id[i]) < 0;
}

bool lease_free_step(struct volt_cx *cx, struct lease_free *f)
{
    struct freeing b = {.f = f};
    struct tx tx;

    const bool more = find_left(&b);
    if (!b.n)
        return more;
    volt_block_in_place(cx, remove_files, &b);
    core_begin(&tx, f->core);
    for (size_t i = 0; i < b.n; i++) {
        struct lease *l = leases_find(f->core, b.id[i]);

        if (b.stays[i]) {
            f->through = l->id > f->through ? l->id : f->through;
            leases_detach(&tx, l);
            continue;
        }
        leases_end(&tx, l);
        f->ret_count++;
    }
    dispatch_finish(&tx);
    return more;
}

/* --- life --------------------------------------------------------------------------- */

static int open_dir(struct leasing *all, int state_fd)
{
    char path[32];

    all->dir_fd = lease_dir_open(state_fd);
    if (all->dir_fd < 0)
        return all->dir_fd;
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", all->dir_fd);
    all->inotify_fd = inotify_reader_open("leases of locks");
    if (all->inotify_fd < 0)
        return 0;
    return inotify_add_watch(all->inotify_fd, path, IN_CLOSE_NOWRITE | IN_ONLYDIR) < 0
               ? -errno
               : 0;
}

/* Recovers a lease: a held one gets its claim back, a waiting one its place. */
static int take_up(struct leasing *all, uint64_t id)
{
    struct lease_file_contents contents;
    int r = lease_file_is_held(all->dir_fd, id);

    if (r == 0)
        return lease_file_remove(all->dir_fd, id);
    if (r > 0)
        r = lease_file_read(all->dir_fd, id, &contents);
    if (r < 0)
        return r;
    return leases_recover(all->core, &contents.ask, contents.waits);
}

static const char *why_not_taken_up(int r)
{
    return r == -EBADMSG           ? "it is held, and damaged"
           : r == -EPROTONOSUPPORT ? "it is held, and a newer voltd has made it"
                                   : strerror(-r);
}

struct scan {
    uint64_t *id;
    size_t n, room;
};

static int scanned(uint64_t id, void *arg)
{
    struct scan *s = arg;

    if (s->n == s->room) {
        const size_t room = s->room ? 2 * s->room : 64;
        uint64_t *more = reallocarray(s->id, room, sizeof(*more));
        if (!more)
            return -ENOMEM;
        s->id = more;
        s->room = room;
    }
    s->id[s->n++] = id;
    return 0;
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Recovers all leases in order of ids, as they were asked for. *ret_at: the id that
 * failed, or 0. */
static int take_up_all(struct leasing *all, const struct scan *s, uint64_t *ret_at)
{
    int r = 0;

    qsort(s->id, s->n, sizeof(*s->id), compare);
    for (size_t i = 0; i < s->n && r == 0; i++) {
        r = take_up(all, s->id[i]);
        *ret_at = r < 0 ? s->id[i] : 0;
    }
    return r;
}

int leasing_open(struct core *core, int state_fd, uint64_t *ret_max,
                 struct volt_error *err)
{
    struct leasing *all = calloc(1, sizeof(*all));
    struct scan s = {0};
    uint64_t at = 0;

    if (!all)
        return error_set(err, -ENOMEM, "out of memory");
    all->core = core;
    all->dir_fd = all->inotify_fd = -1;
    parts_to_set(core)->leasing = all;
    int r = open_dir(all, state_fd);
    if (r == 0)
        r = lease_dir_scan(all->dir_fd, scanned, &s);
    if (r == 0 && s.n)
        r = take_up_all(all, &s, &at);
    *ret_max = s.n ? s.id[s.n - 1] : 0;
    free(s.id);
    if (at)
        return error_set(err, r, "the file leases/%llu of the state: %s",
                         (unsigned long long)at, why_not_taken_up(r));
    return r < 0
               ? error_set(err, r, "the directory leases of the state: %s", strerror(-r))
               : 0;
}

void leasing_free(struct leasing *all)
{
    if (!all)
        return;
    if (all->inotify_fd >= 0)
        (void)close(all->inotify_fd);
    if (all->dir_fd >= 0)
        (void)close(all->dir_fd);
    free(all);
}
