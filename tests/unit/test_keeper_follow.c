/* A real keeper whose jobs begin after one another. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "tests/support/keeper_job.h"

#define KEYS    512
#define UNKNOWN UINT64_MAX

static uint64_t starts[KEYS]; /* the latest START of each job */

static uint64_t start_of(const struct job_key *key)
{
    assert_true(key->id < KEYS);
    return starts[key->id] ? starts[key->id] : UNKNOWN;
}

/* After `after`, NULL: now. Returns the status. */
static int start(struct keeper_client *c, const struct job_key *key, const char *script,
                 const struct job_key *after, enum keeper_kill_mode mode)
{
    char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, (char *)(uintptr_t)script, NULL};
    char *env[] = {(char[]){"PATH=/usr/bin:/bin"}, NULL};
    struct launch l = {.cwd = c->dir, .argv = argv, .argc = 3, .env = env, .envc = 1};
    c->after = after ? start_of(after) : 0;
    int r = keeper_client_start(c, key, &l, -1, mode).status;
    if (r == 0)
        starts[key->id] = c->serial;
    return r;
}

static struct job_key next_key(void)
{
    static uint64_t id;
    return (struct job_key){++id, JOB_NO_INDEX, 1};
}

#define WAITS "until [ -e go ]; do sleep 0.01; done"

static void let_go(struct keeper_client *c)
{
    close(openat(c->dir_fd, "go", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

/* A job that waits for let_go(), n that follow one another behind it, and are not begun. */
static void start_row(struct keeper_client *c, struct job_key key[], unsigned n)
{
    key[0] = next_key();
    assert_int_equal(start(c, &key[0], WAITS, NULL, KEEPER_KILL_TREE), 0);
    (void)keeper_client_wait_started(c, &key[0]);
    for (unsigned i = 1; i <= n; i++) {
        struct record r;
        key[i] = next_key();
        assert_int_equal(start(c, &key[i], "exit 7", &key[i - 1], KEEPER_KILL_TREE), 0);
        assert_int_equal(record_probe(c->record_fd, &key[i], c->boot_id, &r), 0);
        assert_int_equal(r.verdict, RECORD_RUNNING);
        assert_false(r.has_started);
    }
}

static void assert_ended(struct keeper_client *c, const struct job_key *key, int status)
{
    struct record r = keeper_client_wait(c, key);
    assert_int_equal(r.verdict, RECORD_DONE);
    assert_int_equal(r.exited.end, RECORD_END_EXIT);
    assert_int_equal(r.exited.status, status);
}

static void assert_never_ran(struct keeper_client *c, const struct job_key *key)
{
    assert_int_equal(keeper_client_wait(c, key).verdict, RECORD_NEVER_RAN);
}

static void test_one_after_another(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key[3], late = next_key();
    struct record r[3];
    start_row(c, key, 2);
    assert_int_equal(start(c, &late, "exit 1", &key[2], KEEPER_KILL_TREE), -ESRCH);
    assert_int_equal(start(c, &late, "exit 1", &key[1], KEEPER_KILL_TREE), -ESRCH);
    let_go(c);
    assert_ended(c, &key[0], 0);
    assert_ended(c, &key[1], 7);
    assert_ended(c, &key[2], 7);
    for (unsigned i = 0; i < 3; i++)
        r[i] = keeper_client_wait(c, &key[i]);
    for (unsigned i = 1; i < 3; i++) {
        assert_int_equal(r[i].started.shim_pid, r[0].started.shim_pid);
        assert_true(r[i].started.mono_usec >= r[i - 1].exited.mono_usec);
    }
    /* what was refused has left nothing */
    assert_int_equal(keeper_client_wait(c, &late).verdict, RECORD_ABSENT);
}

/* Once it has ended, and its shim waits, the next begins at once. */
static void test_after_one_that_has_ended(void **state)
{
    struct keeper_client *c = *state;
    struct job_key first = next_key(), second = next_key(), third = next_key();
    assert_int_equal(start(c, &first, "exit 1", NULL, KEEPER_KILL_TREE), 0);
    assert_ended(c, &first, 1);
    assert_int_equal(start(c, &second, "exit 2", &first, KEEPER_KILL_TREE), 0);
    assert_ended(c, &second, 2);
    assert_int_equal(start(c, &third, "exit 3", &first, KEEPER_KILL_TREE), -ESRCH);
    assert_int_equal(start(c, &third, "exit 3", &second, KEEPER_KILL_TREE), 0);
    assert_ended(c, &third, 3);
}

/* What a job says it has left behind. */
static void kill_left(struct keeper_client *c)
{
    char buf[16] = "";
    int fd = openat(c->dir_fd, "left", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && read(fd, buf, sizeof(buf) - 1) > 1);
    close(fd);
    kill((pid_t)atoi(buf), SIGKILL);
}

static void test_after_nobody(void **state)
{
    struct keeper_client *c = *state;
    struct job_key unknown = next_key(), first = next_key(), second = next_key();
    assert_int_equal(start(c, &first, "exit 1", &unknown, KEEPER_KILL_TREE), -ESRCH);
    assert_int_equal(keeper_client_wait(c, &first).verdict, RECORD_ABSENT);
    /* its shim stays with what it has left behind */
    assert_int_equal(
        start(c, &first, "sleep 60 & echo $! >left; exit 4", NULL, KEEPER_KILL_MAIN), 0);
    assert_ended(c, &first, 4);
    kill_left(c);
    int r = start(c, &second, "exit 2", &first, KEEPER_KILL_TREE);
    if (r == 0) /* the keeper had not heard of its end */
        assert_never_ran(c, &second);
    else
        assert_int_equal(r, -ESRCH);
}

static void test_recall(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key[3], next = next_key();
    start_row(c, key, 2);
    assert_int_equal(keeper_client_recall(c, start_of(&next)).status, 0);
    assert_int_equal(keeper_client_recall(c, start_of(&key[1])).status, 0);
    assert_never_ran(c, &key[1]);
    assert_never_ran(c, &key[2]); /* nobody is left to begin after */
    assert_int_equal(start(c, &next, "exit 1", &key[0], KEEPER_KILL_TREE), -ESRCH);
    let_go(c);
    assert_ended(c, &key[0], 0);
    assert_int_equal(keeper_client_remove(c, &key[1]), 0);
    uint64_t former = start_of(&key[1]);
    assert_int_equal(start(c, &key[1], "exit 5", NULL, KEEPER_KILL_TREE), 0);
    starts[key[1].id] = former; /* which names nobody, though the job runs again */
    assert_int_equal(start(c, &next, "exit 1", &key[1], KEEPER_KILL_TREE), -ESRCH);
    assert_ended(c, &key[1], 5);
}

/* The state of a process, one letter. */
static char state_of(pid_t pid)
{
    char path[32], buf[256] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && read(fd, buf, sizeof(buf) - 1) > 0);
    close(fd);
    return strrchr(buf, ')')[2];
}

static void wait_state(pid_t pid, char state)
{
    while (state_of(pid) != state)
        (void)poll(NULL, 0, 1);
}

/* Its shim has not even received the first: what was called back does not begin in the
 * place of that. */
static void test_recall_before_anything_is_received(void **state)
{
    struct keeper_client *c = *state;
    struct job_key before = next_key(), key[3] = {next_key(), next_key(), next_key()};
    assert_int_equal(start(c, &before, "exit 0", NULL, KEEPER_KILL_TREE), 0);
    assert_ended(c, &before, 0);
    pid_t shim = (pid_t)keeper_client_wait(c, &before).started.shim_pid;
    wait_state(shim, 'S'); /* for its next order */
    keeper_job_stop(shim);
    assert_int_equal(start(c, &key[0], "exit 1", &before, KEEPER_KILL_TREE), 0);
    assert_int_equal(start(c, &key[1], "exit 1", &key[0], KEEPER_KILL_TREE), 0);
    assert_int_equal(start(c, &key[2], "exit 1", &key[1], KEEPER_KILL_TREE), 0);
    assert_int_equal(keeper_client_recall(c, start_of(&key[1])).status, 0);
    kill(shim, SIGCONT);
    assert_never_ran(c, &key[1]);
    assert_never_ran(c, &key[2]);
    assert_never_ran(c, &key[0]); /* nobody can tell what is in front of it */
    assert_int_equal(start(c, &key[0], "exit 1", &before, KEEPER_KILL_TREE), -ESRCH);
}

/* Whatever the shim and the keeper each got of a row: nobody begins after one that does
 * not. */
static void test_recall_at_any_moment(void **state)
{
    struct keeper_client *c = *state;
    unsigned kept = 0;
    for (unsigned i = 0; i < 60; i++) {
        struct job_key key[3] = {next_key(), next_key(), next_key()};
        assert_int_equal(start(c, &key[0], "exit 0", NULL, KEEPER_KILL_TREE), 0);
        for (unsigned k = 1; k < 3; k++)
            (void)start(c, &key[k], "exit 0", &key[k - 1], KEEPER_KILL_TREE);
        for (unsigned n = 0; n < i; n++) /* until about its end */
            assert_int_equal(keeper_client_recall(c, UNKNOWN).status, 0);
        assert_int_equal(keeper_client_recall(c, start_of(&key[2])).status, 0);
        bool ran = true;
        for (unsigned k = 0; k < 3; k++) {
            enum record_verdict v = keeper_client_wait(c, &key[k]).verdict;
            assert_true(v == RECORD_DONE ? ran : v == RECORD_NEVER_RAN || k > 0);
            ran = v == RECORD_DONE;
            kept += ran;
        }
    }
    print_message("%u of 180 had begun\n", kept);
}

/* One that has begun goes on. */
static void test_recall_too_late(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key[2];
    start_row(c, key, 1);
    assert_int_equal(keeper_client_recall(c, start_of(&key[0])).status, 0);
    assert_never_ran(c, &key[1]);
    let_go(c);
    assert_ended(c, &key[0], 0);
    assert_int_equal(keeper_client_recall(c, start_of(&key[0])).status, 0);
}

/* A signal to one must not reach who comes after it. */
static void test_signal(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key[2];
    start_row(c, key, 1);
    struct keeper_reply k = keeper_client_signal(c, &key[0], SIGKILL, KEEPER_SCOPE_TREE);
    assert_int_equal(k.status, 0);
    struct record r = keeper_client_wait(c, &key[0]);
    assert_int_equal(r.verdict, RECORD_DONE);
    assert_int_equal(r.exited.status, SIGKILL);
    assert_never_ran(c, &key[1]);
}

static void test_shim_killed(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key[3];
    start_row(c, key, 2);
    struct record r = keeper_client_wait_started(c, &key[0]);
    kill((pid_t)r.started.shim_pid, SIGKILL);
    assert_never_ran(c, &key[1]);
    assert_never_ran(c, &key[2]);
    assert_int_equal(keeper_client_wait(c, &key[0]).verdict, RECORD_SHIM_KILLED);
    (void)keeper_client_signal(c, &key[0], SIGKILL, KEEPER_SCOPE_TREE);
}

/* Nothing of an older connection begins any more. */
static void test_another_connection(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key[3];
    start_row(c, key, 2);
    close(c->fd);
    assert_int_equal(keeper_client_hello(c).status, 0);
    for (unsigned i = 1; i < 3; i++) {
        struct record r;
        assert_int_equal(record_probe(c->record_fd, &key[i], c->boot_id, &r), 0);
        assert_int_equal(r.verdict, RECORD_NEVER_RAN);
    }
    let_go(c);
    assert_ended(c, &key[0], 0);
}

/* The shims of a keeper that was killed end what they have, and begin nothing more. */
static void test_keeper_killed(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key[3];
    start_row(c, key, 2);
    kill(c->keeper, SIGKILL);
    assert_int_equal(waitpid(c->keeper, NULL, 0), c->keeper);
    c->keeper = 0;
    let_go(c);
    assert_ended(c, &key[0], 0);
    assert_never_ran(c, &key[1]);
    assert_never_ran(c, &key[2]);
}

#define TEST(f)                                                                          \
    cmocka_unit_test_setup_teardown(f, keeper_client_setup_patient,                      \
                                    keeper_client_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_one_after_another),
        TEST(test_after_one_that_has_ended),
        TEST(test_after_nobody),
        TEST(test_recall),
        TEST(test_recall_before_anything_is_received),
        TEST(test_recall_too_late),
        TEST(test_recall_at_any_moment),
        TEST(test_signal),
        TEST(test_shim_killed),
        TEST(test_another_connection),
        TEST(test_keeper_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
