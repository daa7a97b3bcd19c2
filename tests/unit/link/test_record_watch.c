/* Waiting for records that the test itself holds: every way in which an end can be
 * told. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>
#include <volt/runtime.h>
#include "daemon/link/record_watch.h"
#include "daemon/link/record_make.h"

struct rig {
    char path[64];
    int dir_fd;
    uint8_t boot[RECORD_ID_SIZE];
    struct volt_runtime *rt;
    struct record_watch *watch;
};

static const struct siphash_key secret = {1, 2};

static int remove_one(const struct job_key *key, void *arg)
{
    const struct rig *g = arg;
    return record_remove(g->dir_fd, NULL, key, g->boot);
}

static int setup(void **state)
{
    struct rig *g = calloc(1, sizeof(*g));
    strcpy(g->path, "/tmp/volt-watch-XXXXXX");
    assert_non_null(mkdtemp(g->path));
    g->dir_fd = open(g->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(g->dir_fd >= 0);
    assert_int_equal(record_boot_id(g->boot), 0);
    assert_int_equal(record_watch_open(g->dir_fd, g->boot, &secret, NULL, &g->watch), 0);
    assert_int_equal(volt_runtime_new(&(struct volt_options){.workers = 2}, &g->rt), 0);
    *state = g;
    return 0;
}

static int teardown(void **state)
{
    struct rig *g = *state;
    assert_int_equal(volt_runtime_shutdown(g->rt, UINT64_MAX), 0);
    record_watch_free(g->watch);
    volt_runtime_free(g->rt);
    assert_int_equal(record_scan(g->dir_fd, remove_one, g), 0);
    assert_int_equal(rmdir(g->path), 0);
    close(g->dir_fd);
    free(g);
    return 0;
}

struct waiting {
    struct record_wait wait;
    int polls; /* read by the test after the join only */
    struct record record;
};

static enum volt_poll waiting_poll(struct volt_cx *cx, void *state)
{
    struct waiting *w = state;
    w->polls++;
    if (record_wait_poll(cx, &w->wait) == VOLT_PENDING)
        return VOLT_PENDING;
    (void)record_wait_result(&w->wait, &w->record);
    return VOLT_READY;
}

static void waiting_drop(void *state)
{
    record_wait_fini(&((struct waiting *)state)->wait);
}

static const struct volt_task_type waiting_type = {
    .name = "test-wait",
    .size = sizeof(struct waiting),
    .poll = waiting_poll,
    .drop = waiting_drop,
};

static void spawn(struct rig *g, const struct job_key *key, struct volt_join *join)
{
    struct waiting *w = volt_task_new(g->rt, &waiting_type);
    assert_non_null(w);
    record_wait_init(&w->wait, g->watch, key);
    assert_int_equal(volt_task_spawn(w, join), 0);
}

static int hold(struct rig *g, const struct job_key *key, uint32_t *seed)
{
    int fd = record_create(g->dir_fd, NULL, key, g->boot, 0, seed);
    assert_true(fd >= 0);
    return fd;
}

/* Ends the attempt as its shim would. */
static void finish(int fd, uint32_t seed, int status)
{
    struct record_exited x = {.end = RECORD_END_EXIT, .status = status};
    assert_int_equal(record_write_exited(fd, seed, &x), 0);
    close(fd);
}

static void expect_exit(struct volt_join *join, int status)
{
    assert_int_equal(volt_join_wait(join), 0);
    const struct waiting *w = volt_join_state(join);
    assert_int_equal(w->record.verdict, RECORD_DONE);
    assert_int_equal(w->record.exited.status, status);
    volt_join_fini(join);
}

/* Until the tasks that were spawned have been polled and sleep. */
static void settle(struct rig *g, uint64_t polls)
{
    struct volt_stats s;
    do {
        volt_runtime_stats(g->rt, &s);
    } while (s.total.polled < polls);
}

static void test_already_over(void **state)
{
    struct rig *g = *state;
    const struct job_key key = {1, JOB_NO_INDEX, 1}, none = {2, 5, 1};
    struct volt_join join;
    uint32_t seed;
    int fd = hold(g, &key, &seed);
    finish(fd, seed, 3);
    spawn(g, &key, &join); /* without the watch's task: the first poll looks */
    expect_exit(&join, 3);
    spawn(g, &none, &join);
    assert_int_equal(volt_join_wait(&join), 0);
    const struct waiting *w = volt_join_state(&join);
    assert_int_equal(w->record.verdict, RECORD_ABSENT);
    volt_join_fini(&join);
}

static void test_event_wakes_its_own(void **state)
{
    enum { N = 50 };
    struct rig *g = *state;
    struct volt_join joins[N];
    uint32_t seeds[N];
    int fds[N];
    assert_int_equal(record_watch_start(g->watch, g->rt), 0);
    for (int i = 0; i < N; i++) {
        const struct job_key key = {7, i, 1};
        fds[i] = hold(g, &key, &seeds[i]);
        spawn(g, &key, &joins[i]);
    }
    settle(g, N + 1);
    for (int i = N - 1; i >= 0; i--) {
        finish(fds[i], seeds[i], i);
        expect_exit(&joins[i], i);
        if (i > 0)
            assert_int_equal(volt_join_status(&joins[i - 1]), -EINPROGRESS);
    }
}

/* Before there is a record: it is not looked for, and its end is an event. */
static enum volt_poll armed_poll(struct volt_cx *cx, void *state)
{
    struct waiting *w = state;
    if (w->polls == 0)
        record_wait_arm(cx, &w->wait);
    return waiting_poll(cx, state);
}

static const struct volt_task_type armed_type = {
    .name = "test-armed",
    .size = sizeof(struct waiting),
    .poll = armed_poll,
    .drop = waiting_drop,
};

static void test_armed_before(void **state)
{
    struct rig *g = *state;
    const struct job_key key = {1, JOB_NO_INDEX, 1};
    struct volt_join join;
    uint32_t seed;
    struct waiting *w = volt_task_new(g->rt, &armed_type);
    assert_non_null(w);
    assert_int_equal(record_watch_start(g->watch, g->rt), 0);
    record_wait_init(&w->wait, g->watch, &key);
    assert_int_equal(volt_task_spawn(w, &join), 0);
    settle(g, 2);
    assert_int_equal(volt_join_status(&join), -EINPROGRESS);
    int fd = hold(g, &key, &seed);
    finish(fd, seed, 3);
    expect_exit(&join, 3);
}

static void unlock(int fd)
{
    struct flock none = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &none), 0); /* which is no event */
}

static void expect_verdict(struct volt_join *join, enum record_verdict verdict)
{
    assert_int_equal(volt_join_wait(join), 0);
    const struct waiting *w = volt_join_state(join);
    assert_int_equal(w->record.verdict, verdict);
    volt_join_fini(join);
}

/* Closes another description of it: the event, the lock being held. */
static void make_event(int fd)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int other = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(other >= 0);
    close(other);
}

/* The kernel tells of a close before it drops the lock: an event with the lock still held
 * must not be the last look. */
static void test_lock_drops_after_event(void **state)
{
    struct rig *g = *state;
    const struct job_key key = {1, JOB_NO_INDEX, 1};
    struct volt_join join;
    uint32_t seed;
    assert_int_equal(record_watch_start(g->watch, g->rt), 0);
    int fd = hold(g, &key, &seed);
    spawn(g, &key, &join);
    settle(g, 2);
    make_event(fd);
    settle(g, 4); /* it has been seen */
    assert_int_equal(volt_join_status(&join), -EINPROGRESS);
    settle(g, 8); /* looked more than once since */
    unlock(fd);
    expect_verdict(&join, RECORD_NEVER_RAN);
    close(fd);
}

/* Nor must the first look be, which may come between the event and the drop. */
static void test_lock_drops_after_first_look(void **state)
{
    struct rig *g = *state;
    const struct job_key key = {1, JOB_NO_INDEX, 1};
    struct volt_join join;
    uint32_t seed;
    assert_int_equal(record_watch_start(g->watch, g->rt), 0);
    int fd = hold(g, &key, &seed);
    spawn(g, &key, &join);
    settle(g, 2);
    unlock(fd);
    expect_verdict(&join, RECORD_NEVER_RAN);
    close(fd);
}

/* The end is known when it is written, whoever still has the lock. */
static void test_over_while_locked(void **state)
{
    struct rig *g = *state;
    const struct job_key key = {1, JOB_NO_INDEX, 1};
    struct volt_join join;
    uint32_t seed;
    struct record_exited x = {.end = RECORD_END_EXIT, .status = 4};
    assert_int_equal(record_watch_start(g->watch, g->rt), 0);
    int fd = hold(g, &key, &seed);
    spawn(g, &key, &join);
    settle(g, 2);
    assert_int_equal(record_write_exited(fd, seed, &x), 0);
    make_event(fd);
    expect_exit(&join, 4);
    close(fd);
}

/* A look that was asked for, without an event. */
static enum volt_poll asking_poll(struct volt_cx *cx, void *state)
{
    struct waiting *w = state;
    record_wait_arm(cx, &w->wait); /* no look of its own */
    record_wait_look(&w->wait);
    return waiting_poll(cx, state);
}

static const struct volt_task_type asking_type = {
    .name = "test-ask",
    .size = sizeof(struct waiting),
    .poll = asking_poll,
    .drop = waiting_drop,
};

static void test_asked_to_look(void **state)
{
    struct rig *g = *state;
    const struct job_key key = {1, JOB_NO_INDEX, 1};
    struct volt_join join;
    uint32_t seed;
    struct record_exited x = {.end = RECORD_END_EXIT, .status = 6};
    int fd = hold(g, &key, &seed);
    assert_int_equal(record_write_exited(fd, seed, &x), 0);
    struct waiting *w = volt_task_new(g->rt, &asking_type);
    assert_non_null(w);
    record_wait_init(&w->wait, g->watch, &key);
    assert_int_equal(volt_task_spawn(w, &join), 0);
    expect_exit(&join, 6);
    close(fd);
}

/* Ends when something else than the timer of the first look has made it look again: each
 * event begins the retries anew, the timer only goes on with them. */
static enum volt_poll noticing_poll(struct volt_cx *cx, void *state)
{
    struct waiting *w = state;
    if (record_wait_poll(cx, &w->wait) == VOLT_READY)
        return VOLT_READY;
    if (w->polls == 0)
        w->polls = (int)w->wait.tries;
    return w->wait.tries > 0 && (int)w->wait.tries < w->polls ? VOLT_READY : VOLT_PENDING;
}

static const struct volt_task_type noticing_type = {
    .name = "test-notice",
    .size = sizeof(struct waiting),
    .poll = noticing_poll,
    .drop = waiting_drop,
};

/* The record is held all the time and has no event of its own. */
static void test_overflow(void **state)
{
    struct rig *g = *state;
    const struct job_key key = {1, JOB_NO_INDEX, 1};
    struct volt_join join;
    uint32_t seed;
    char limit[32] = "";
    int f = open("/proc/sys/fs/inotify/max_queued_events", O_RDONLY | O_CLOEXEC);
    assert_true(f >= 0 && read(f, limit, sizeof(limit) - 1) > 0);
    close(f);
    if (atol(limit) > 100000)
        skip();
    int fd = hold(g, &key, &seed);
    struct waiting *w = volt_task_new(g->rt, &noticing_type);
    assert_non_null(w);
    record_wait_init(&w->wait, g->watch, &key);
    assert_int_equal(volt_task_spawn(w, &join), 0);
    settle(g, 1);
    for (long i = 0; i <= atol(limit); i++) /* alternating, or they would be merged */
        close(openat(g->dir_fd, i % 2 ? "odd" : "even", O_CREAT | O_WRONLY | O_CLOEXEC,
                     0600));
    assert_int_equal(volt_join_status(&join), -EINPROGRESS);
    assert_int_equal(record_watch_start(g->watch, g->rt), 0);
    assert_int_equal(volt_join_wait(&join), 0); /* all are made to look */
    volt_join_fini(&join);
    finish(fd, seed, 6);
    assert_int_equal(unlinkat(g->dir_fd, "odd", 0), 0);
    assert_int_equal(unlinkat(g->dir_fd, "even", 0), 0);
}

static void test_given_up(void **state)
{
    struct rig *g = *state;
    const struct job_key key = {1, JOB_NO_INDEX, 1};
    struct volt_join join, second;
    uint32_t seed;
    assert_int_equal(record_watch_start(g->watch, g->rt), 0);
    int fd = hold(g, &key, &seed);
    spawn(g, &key, &join);
    spawn(g, &key, &second);
    settle(g, 3);
    volt_join_cancel(&join);
    assert_int_equal(volt_join_wait(&join), -ECANCELED);
    volt_join_fini(&join);
    finish(fd, seed, 8);
    expect_exit(&second, 8);
}

/* No instance is to be had when the watch opens: it looks by itself. */
static void test_no_inotify_instance(void **state)
{
    struct rig *g = *state;
    const struct job_key key = {1, JOB_NO_INDEX, 1};
    struct rlimit limit, none;
    struct volt_join join;
    uint32_t seed;
    record_watch_free(g->watch);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int r = record_watch_open(g->dir_fd, g->boot, &secret, NULL, &g->watch);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(r, 0);
    assert_int_equal(record_watch_start(g->watch, g->rt), 0);
    int fd = hold(g, &key, &seed);
    spawn(g, &key, &join);
    settle(g, 2);
    finish(fd, seed, 9);
    expect_exit(&join, 9);
}

/* Without a descriptor to be had nothing is known of the record: its job is not lost. */
static void test_an_error_of_the_moment(void **state)
{
    struct rig *g = *state;
    const struct job_key key = {1, JOB_NO_INDEX, 1};
    struct rlimit limit, none;
    struct volt_join join;
    uint32_t seed;
    int fd = hold(g, &key, &seed);
    finish(fd, seed, 3);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    spawn(g, &key, &join);
    settle(g, 1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    expect_exit(&join, 3);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_already_over),
        TEST(test_event_wakes_its_own),
        TEST(test_armed_before),
        TEST(test_lock_drops_after_event),
        TEST(test_lock_drops_after_first_look),
        TEST(test_over_while_locked),
        TEST(test_asked_to_look),
        TEST(test_overflow),
        TEST(test_given_up),
        TEST(test_no_inotify_instance),
        TEST(test_an_error_of_the_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
