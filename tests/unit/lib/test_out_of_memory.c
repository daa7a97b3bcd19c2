/* Out of memory, out of threads, out of descriptors: one walk through all of the public
 * API that takes such, or stands on it, with its first allocation failing, its second,
 * and so on until none does; once with that one failing alone, once with all that follow.
 * Each call answers as documented, what was begun is ended, and nothing is left: no
 * memory, no descriptor. */
#include "tests/support/alloc_hook.h"
#include "tests/support/fn_task.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

/* What the walk needs of the system is there before anything fails. */
struct ground {
    int pair[2], listener, caller;
};

static void ground_init(struct ground *g)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    socklen_t len = sizeof(name);
    int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

    FN_CHECK(socketpair(AF_UNIX, type, 0, g->pair) == 0);
    g->listener = socket(AF_UNIX, type, 0);
    g->caller = socket(AF_UNIX, type, 0);
    FN_CHECK(g->listener >= 0 && g->caller >= 0);
    FN_CHECK(bind(g->listener, (struct sockaddr *)&name, sizeof(sa_family_t)) == 0);
    FN_CHECK(listen(g->listener, 1) == 0);
    FN_CHECK(getsockname(g->listener, (struct sockaddr *)&name, &len) == 0);
    FN_CHECK(connect(g->caller, (struct sockaddr *)&name, len) == 0);
}

static void ground_fini(struct ground *g)
{
    close(g->pair[0]);
    close(g->pair[1]);
    close(g->listener);
    close(g->caller);
}

static enum volt_poll walk_poll(struct volt_cx *cx, void *state)
{
    struct fn_task *f = state;

    return f->poll(cx, f);
}

static const struct volt_task_type walk_type = {
    .name = "walk",
    .size = sizeof(struct fn_task),
    .poll = walk_poll,
};

/* As fn_task_new(), but NULL without memory. */
static struct fn_task *
new_task(struct volt_runtime *rt,
         enum volt_poll (*poll)(struct volt_cx *, struct fn_task *), void *arg)
{
    struct fn_task *f = volt_task_new(rt, &walk_type);

    if (f) {
        f->poll = poll;
        f->arg = arg;
    }
    return f;
}

/* --- the tasks of the walk: each awaits one thing, and says what came of it in `value`. */

static struct volt_sem sem;
static struct volt_mutex mutex;
static struct volt_rwlock rwlock;
static struct volt_notify notify;
static struct volt_scope scope; /* the parent's, of which there is one at a time */

struct all {
    struct volt_sem_acquire sem;
    struct volt_mutex_lock mutex;
    struct volt_rwlock_acquire rwlock;
    struct volt_notified notified;
    struct volt_yield yield;
};

static enum volt_poll sync_poll(struct volt_cx *cx, struct fn_task *f)
{
    struct all *a = f->arg;

    VOLT_BEGIN(f->at);
    volt_shield_begin(cx);
    volt_sem_acquire_init(&a->sem, &sem, 1);
    VOLT_AWAIT(f->at, volt_sem_acquire_poll(cx, &a->sem));
    volt_mutex_lock_init(&a->mutex, &mutex);
    VOLT_AWAIT(f->at, volt_mutex_lock_poll(cx, &a->mutex));
    volt_rwlock_acquire_init_write(&a->rwlock, &rwlock);
    VOLT_AWAIT(f->at, volt_rwlock_acquire_poll(cx, &a->rwlock));
    VOLT_AWAIT(f->at, volt_yield_poll(cx, &a->yield));
    volt_notified_init(&a->notified, &notify);
    VOLT_AWAIT(f->at, volt_notified_poll(cx, &a->notified));
    volt_notify_one(&notify);
    volt_rwlock_write_unlock(&rwlock);
    volt_mutex_unlock(&mutex);
    FN_CHECK(volt_sem_release(&sem, 1) == 0);
    volt_sleep_init(&f->sleep, 1);
    VOLT_AWAIT(f->at, volt_sleep_poll(cx, &f->sleep));
    volt_sleep_fini(&f->sleep);
    volt_shield_end(cx);
    VOLT_END(f->at);
}

static enum volt_poll nothing_poll(struct volt_cx *cx, struct fn_task *f)
{
    (void)cx;
    (void)f;
    return VOLT_READY;
}

/* Spawned from a task: joined by it, or detached, or never spawned at all. */
static enum volt_poll parent_poll(struct volt_cx *cx, struct fn_task *f)
{
    struct volt_runtime *rt = volt_cx_runtime(cx);
    struct volt_waker waker;
    void *child;

    VOLT_BEGIN(f->at);
    volt_task_discard(new_task(rt, nothing_poll, NULL));
    waker = volt_waker_new(cx);
    volt_waker_wake(&waker);
    volt_waker_fini(&waker);
    for (f->value = 0; f->value < 20; f->value++) {
        child = new_task(rt, nothing_poll, NULL);
        if (child)
            FN_CHECK(volt_task_spawn(child, NULL) == 0);
    }
    child = new_task(rt, nothing_poll, NULL);
    if (child) {
        FN_CHECK(volt_task_spawn(child, &f->join) == 0);
        VOLT_AWAIT(f->at, volt_join_poll(cx, &f->join));
        FN_CHECK(volt_join_status(&f->join) == 0);
        volt_join_fini(&f->join);
    }
    if (volt_scope_init(cx, &scope, &walk_type, 20) == 0) {
        for (size_t i = 0; i < 20; i++)
            ((struct fn_task *)volt_scope_child(&scope, i))->poll = nothing_poll;
        VOLT_AWAIT(f->at, volt_scope_poll(cx, &scope));
        volt_scope_fini(&scope);
    }
    VOLT_END(f->at);
}

struct receiving {
    struct volt_oneshot_recv recv;
    int got;
};

static enum volt_poll recv_poll(struct volt_cx *cx, struct fn_task *f)
{
    struct receiving *r = f->arg;

    if (volt_oneshot_recv_poll(cx, &r->recv) == VOLT_PENDING)
        return VOLT_PENDING;
    int status = volt_oneshot_recv_status(&r->recv);
    FN_CHECK(status == -EPIPE || (status == 0 && r->got == 42));
    f->value = status;
    return VOLT_READY;
}

struct line {
    struct volt_io read, write;
    char byte;
    ssize_t n;
};

static bool io_error(ssize_t n)
{
    return n == -ENOMEM || n == -EMFILE || n == -ENFILE || n == -ESHUTDOWN;
}

static enum volt_poll line_poll(struct volt_cx *cx, struct fn_task *f)
{
    struct line *l = f->arg;

    VOLT_BEGIN(f->at);
    VOLT_AWAIT(f->at, volt_io_write_poll(cx, &l->write, "x", 1, &l->n));
    if (l->n == 1)
        VOLT_AWAIT(f->at, volt_io_read_poll(cx, &l->read, &l->byte, 1, &l->n));
    FN_CHECK(l->n == 1 ? l->byte == 'x' : io_error(l->n));
    VOLT_END(f->at);
}

static enum volt_poll accept_poll(struct volt_cx *cx, struct fn_task *f)
{
    struct line *l = f->arg;
    int fd;

    if (volt_io_accept_poll(cx, &l->read, &fd) == VOLT_PENDING)
        return VOLT_PENDING;
    FN_CHECK(fd >= 0 || io_error(fd));
    if (fd >= 0)
        close(fd);
    return VOLT_READY;
}

/* --- the walk ----------------------------------------------------------------------- */

/* Spawns and joins, when there is memory. */
static void run(struct volt_runtime *rt,
                enum volt_poll (*poll)(struct volt_cx *, struct fn_task *), void *arg)
{
    struct fn_task *f = new_task(rt, poll, arg);
    struct volt_join join;

    if (!f)
        return;
    FN_CHECK(volt_task_spawn(f, &join) == 0);
    FN_CHECK(volt_join_wait(&join) == 0);
    volt_join_fini(&join);
}

static void walk_sync(struct volt_runtime *rt)
{
    struct all a[3];
    struct volt_join join[3] = {{0}};

    volt_sem_init(&sem, 1, 1);
    volt_mutex_init(&mutex);
    volt_rwlock_init(&rwlock);
    volt_notify_init(&notify);
    volt_notify_one(&notify);
    for (int i = 0; i < 3; i++) {
        struct fn_task *f = new_task(rt, sync_poll, &a[i]);

        memset(&a[i], 0, sizeof(a[i]));
        if (f)
            FN_CHECK(volt_task_spawn(f, &join[i]) == 0);
    }
    for (int i = 0; i < 3; i++) {
        if (join[i].task)
            FN_CHECK(volt_join_wait(&join[i]) == 0);
        volt_join_fini(&join[i]);
    }
    FN_CHECK(volt_sem_available(&sem) == 1);
    volt_sem_fini(&sem);
    volt_mutex_fini(&mutex);
    volt_rwlock_fini(&rwlock);
    volt_notify_fini(&notify);
}

static void walk_oneshot(struct volt_runtime *rt)
{
    struct volt_oneshot *o = volt_oneshot_new(sizeof(int));
    struct receiving r;
    struct volt_join join = {0};
    struct fn_task *f;
    int value = 42;

    if (!o)
        return;
    volt_oneshot_recv_init(&r.recv, o, &r.got);
    f = new_task(rt, recv_poll, &r);
    if (f)
        FN_CHECK(volt_task_spawn(f, &join) == 0);
    FN_CHECK(volt_oneshot_try_send(o, &value) == 0);
    if (join.task)
        FN_CHECK(volt_join_wait(&join) == 0);
    volt_join_fini(&join);
    volt_oneshot_recv_fini(&r.recv);
}

static void walk_channel(void)
{
    struct volt_channel *ch = volt_channel_new(sizeof(int), 8);
    int value = 42, got = 0;

    if (!ch)
        return;
    FN_CHECK(volt_channel_try_send(ch, &value) == 0);
    FN_CHECK(volt_channel_try_recv(ch, &got) == 0 && got == 42);
    volt_channel_free(ch);
}

static void walk_watch(void)
{
    int value = 42, got = 0;
    struct volt_watch *w = volt_watch_new(sizeof(int), &value);

    if (!w)
        return;
    volt_watch_get(w, &got);
    FN_CHECK(got == 42);
    volt_watch_free(w);
}

static void nothing_seen(void *arg, const struct volt_task_info *info)
{
    (void)arg;
    (void)info;
}

/* What is refused a place in the set is still its caller's. */
static void walk_join_set(struct volt_runtime *rt)
{
    struct volt_join_set *set = volt_join_set_new();
    struct fn_task *f = new_task(rt, nothing_poll, NULL);
    struct volt_join join = {0};
    struct volt_stats stats;

    if (f)
        FN_CHECK(volt_task_spawn(f, &join) == 0);
    if (set && f && volt_join_set_add(set, &join) == -ENOMEM)
        FN_CHECK(join.task != NULL);
    FN_CHECK(volt_runtime_tasks(rt, nothing_seen, NULL) >= -ENOMEM);
    if (join.task)
        FN_CHECK(volt_join_wait(&join) == 0);
    volt_join_fini(&join);
    volt_join_set_free(set);
    do /* its task goes on without it */
        volt_runtime_stats(rt, &stats);
    while (stats.live > 0);
}

static void walk_blocking(struct volt_runtime *rt)
{
    struct fn_task *f = new_task(rt, nothing_poll, NULL);
    struct volt_join join;
    int r;

    if (!f)
        return;
    r = volt_task_spawn_blocking(f, &join);
    FN_CHECK(r == 0 || r == -EAGAIN);
    FN_CHECK(volt_join_wait(&join) == (r == 0 ? 0 : -ECANCELED));
    volt_join_fini(&join);
}

static void walk_io(struct volt_runtime *rt, struct ground *g)
{
    struct line l = {.n = 0};
    int r = volt_io_init(&l.read, rt, g->pair[0]);

    if (r == 0)
        r = volt_io_init(&l.write, rt, g->pair[1]);
    FN_CHECK(r == 0 || io_error(r));
    if (r == 0)
        run(rt, line_poll, &l);
    volt_io_fini(&l.read);
    volt_io_fini(&l.write);

    l = (struct line){.n = 0};
    r = volt_io_init(&l.read, rt, g->listener);
    FN_CHECK(r == 0 || io_error(r));
    if (r == 0)
        run(rt, accept_poll, &l);
    volt_io_fini(&l.read);
}

static void wait_for_detached(struct volt_runtime *rt)
{
    struct volt_stats stats;

    do {
        volt_runtime_stats(rt, &stats);
    } while (stats.live > 0);
}

static void walk(struct ground *g)
{
    struct volt_options opt = {.workers = 2};
    struct volt_runtime *rt = NULL;
    struct volt_stats stats;
    int r = volt_runtime_new(&opt, &rt);

    FN_CHECK(r == 0 || r == -ENOMEM || r == -EAGAIN || r == -EMFILE);
    FN_CHECK((r == 0) == (rt != NULL));
    if (r < 0)
        return;
    run(rt, nothing_poll, NULL);
    run(rt, parent_poll, NULL);
    wait_for_detached(rt);
    walk_sync(rt);
    walk_oneshot(rt);
    walk_channel();
    walk_watch();
    walk_join_set(rt);
    walk_blocking(rt);
    walk_io(rt, g);
    volt_runtime_stats(rt, &stats);
    FN_CHECK(stats.live == 0 && stats.timers == 0 && stats.io_handles == 0);
    FN_CHECK(volt_runtime_shutdown(rt, UINT64_MAX) == 0);
    volt_runtime_free(rt);
}

static unsigned open_descriptors(void)
{
    unsigned n = 0;

    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* Returns the number of calls that failed. */
static uint64_t sweep(bool for_good)
{
    for (uint64_t n = 1;; n++) {
        unsigned descriptors = open_descriptors();
        uint64_t live = vat_u64_load(&hook_live, VAT_RLX), calls;
        struct ground g;

        ground_init(&g);
        hook_arm(n, for_good);
        walk(&g);
        calls = hook_count();
        hook_arm(0, false);
        ground_fini(&g);
        if (vat_u64_load(&hook_live, VAT_RLX) != live ||
            open_descriptors() != descriptors)
            fail_msg("call %lu: %ld allocations and %d descriptors are left",
                     (unsigned long)n, (long)(vat_u64_load(&hook_live, VAT_RLX) - live),
                     (int)(open_descriptors() - descriptors));
        if (calls < n)
            return n - 1;
    }
}

static void test_each_allocation_fails_once(void **state)
{
    (void)state;
    assert_true(sweep(false) > 20);
}

static void test_each_allocation_fails_and_all_after_it(void **state)
{
    (void)state;
    assert_true(sweep(true) > 20);
}

static void test_too_few_descriptors(void **state)
{
    struct rlimit limit, low;
    struct ground g;
    unsigned first;
    int r = -1;

    (void)state;
    ground_init(&g);
    first = (unsigned)dup(g.caller); /* the lowest number that is free */
    close((int)first);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    for (unsigned n = 0; r < 0; n++) {
        struct volt_runtime *rt = NULL;

        assert_true(n < 32);
        low = (struct rlimit){.rlim_cur = first + n, .rlim_max = limit.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
        r = volt_runtime_new(NULL, &rt);
        volt_runtime_free(rt);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        assert_int_equal(r, r < 0 ? -EMFILE : 0);
    }
    ground_fini(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_too_few_descriptors),
        cmocka_unit_test(test_each_allocation_fails_once),
        cmocka_unit_test(test_each_allocation_fails_and_all_after_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
