/* Jobs that stop or trace what looks after them, and jobs that are stopped themselves: each
 * ends, with its exact status, as soon as it is asked to. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "daemon/keeper/tree.h"
#include "tests/support/keeper_job.h"

#define KILL_TREE_AND_WAKE (KEEPER_SCOPE_TREE | KEEPER_SCOPE_WAKE)

static bool is_stopped(pid_t pid)
{
    struct proc p;
    return proc_read(pid, &p) == 0 && p.stopped;
}

static void replace_keeper(struct keeper_client *c)
{
    kill(c->keeper, SIGKILL);
    assert_int_equal(waitpid(c->keeper, NULL, 0), c->keeper);
    keeper_client_spawn(c);
    assert_int_equal(keeper_client_hello(c).status, 0);
}

/* Nobody asks for anything: its keeper continues it. */
static void test_shim_is_continued(void **state)
{
    struct keeper_client *c = *state;
    struct record r = keeper_job_run(c, "kill -STOP $PPID; exit 7");
    keeper_job_assert_end(&r, RECORD_END_EXIT, 7);
}

/* By a keeper that has not started it, once the job has been killed: until then the job
 * stops it again. */
static void test_shim_of_another_keeper(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key = keeper_job_key();
    assert_int_equal(
        keeper_job_start_shell(c, &key,
                               "trap '' TERM; echo $$ >pid; while :; do kill -STOP "
                               "$PPID; done")
            .status,
        0);
    pid_t job = keeper_job_read_pid(c, "pid");
    struct record r = keeper_client_wait_started(c, &key);
    replace_keeper(c);
    keeper_job_wait_stopped((pid_t)r.started.shim_pid);
    assert_int_equal(keeper_client_signal(c, &key, SIGTERM, KILL_TREE_AND_WAKE).reached,
                     1);
    keeper_job_wait_stopped((pid_t)r.started.shim_pid);
    struct keeper_reply k = keeper_client_signal(c, &key, SIGKILL, KEEPER_SCOPE_TREE);
    assert_int_equal(k.status, 0);
    assert_int_equal(k.survivors, 0);
    r = keeper_client_wait(c, &key);
    keeper_job_assert_end(&r, RECORD_END_SIGNAL, SIGKILL);
    assert_true(keeper_job_is_gone(job));
}

/* The same of a job of kill mode `main`, whose main process alone is signalled. */
static void test_shim_of_a_main_process(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key = keeper_job_key();
    assert_int_equal(keeper_job_start_shell(c, &key, "exec sleep 60").status, 0);
    struct record r = keeper_client_wait_started(c, &key);
    replace_keeper(c);
    keeper_job_stop((pid_t)r.started.shim_pid);
    assert_int_equal(keeper_client_signal(c, &key, SIGKILL, KEEPER_SCOPE_MAIN).status, 0);
    r = keeper_client_wait(c, &key);
    keeper_job_assert_end(&r, RECORD_END_SIGNAL, SIGKILL);
}

/* A job that stops all children of its keeper, its killers among them, again and again. */
static void test_killer_is_continued(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key = keeper_job_key();
    assert_int_equal(
        keeper_job_start_shell(c, &key,
                               "keeper=$(cut -d' ' -f4 /proc/$PPID/stat); echo $$ >pid;"
                               "while :; do kill -STOP "
                               "$(cat /proc/$keeper/task/$keeper/children); done")
            .status,
        0);
    (void)keeper_job_read_pid(c, "pid");
    struct record r = keeper_client_wait_started(c, &key);
    while (r.verdict == RECORD_RUNNING) {
        (void)keeper_client_signal(c, &key, SIGKILL, KEEPER_SCOPE_TREE);
        assert_int_equal(record_probe(c->record_fd, &key, c->boot_id, &r), 0);
    }
    r = keeper_client_wait(c, &key);
    keeper_job_assert_end(&r, RECORD_END_SIGNAL, SIGKILL);
}

/* Each process of the tree that is stopped takes the signal. */
static void test_stopped_job(void **state)
{
    struct keeper_client *c = *state;
    const unsigned scope[] = {KILL_TREE_AND_WAKE, KEEPER_SCOPE_MAIN | KEEPER_SCOPE_WAKE};
    for (size_t i = 0; i < 2; i++) {
        struct job_key key = keeper_job_key();
        assert_int_equal(
            keeper_job_start_shell(c, &key,
                                   "sh -c 'echo $$ >pid; kill -STOP $$' & kill -STOP $$")
                .status,
            0);
        struct record r = keeper_client_wait_started(c, &key);
        pid_t child = keeper_job_read_pid(c, "pid");
        keeper_job_wait_stopped((pid_t)r.started.pid);
        keeper_job_wait_stopped(child);
        struct keeper_reply k = keeper_client_signal(c, &key, SIGTERM, scope[i]);
        assert_int_equal(k.status, 0);
        assert_int_equal(k.reached, i == 0 ? 2 : 1);
        r = keeper_client_wait(c, &key);
        keeper_job_assert_end(&r, RECORD_END_SIGNAL, SIGTERM);
        assert_int_equal(unlinkat(c->dir_fd, "pid", 0), 0);
    }
}

/* A signal that is no order to end leaves it stopped. */
static void test_signal_alone_does_not_wake(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key = keeper_job_key();
    assert_int_equal(keeper_job_start_shell(c, &key, "kill -STOP $$").status, 0);
    struct record r = keeper_client_wait_started(c, &key);
    keeper_job_wait_stopped((pid_t)r.started.pid);
    assert_int_equal(keeper_client_signal(c, &key, SIGTERM, KEEPER_SCOPE_TREE).reached,
                     1);
    assert_true(is_stopped((pid_t)r.started.pid));
    assert_int_equal(keeper_client_signal(c, &key, SIGCONT, KEEPER_SCOPE_TREE).reached,
                     1);
    r = keeper_client_wait(c, &key);
    keeper_job_assert_end(&r, RECORD_END_SIGNAL, SIGTERM);
}

/* Of the right to trace whatever is of the same user. False: there was none. */
static bool set_trace_right(bool on)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    const uint32_t bit = UINT32_C(1) << CAP_SYS_PTRACE;
    assert_int_equal(syscall(SYS_capget, &head, data), 0);
    if ((data[0].permitted & bit) == 0)
        return false;
    data[0].effective = on ? data[0].effective | bit : data[0].effective & ~bit;
    assert_int_equal(syscall(SYS_capset, &head, data), 0);
    return true;
}

static long trace(pid_t pid)
{
    return ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0 ? -errno : 0;
}

/* What a job may do to its equals it may not do to those that look after it. */
static void test_keeper_and_shim_cannot_be_traced(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key = keeper_job_key();
    assert_int_equal(keeper_job_start_shell(c, &key, "exec sleep 60").status, 0);
    struct record r = keeper_client_wait_started(c, &key);
    struct proc keeper;
    char path[32];
    struct stat st;
    (void)set_trace_right(false);
    assert_int_equal(trace(c->keeper), -EPERM);
    assert_int_equal(trace((pid_t)r.started.shim_pid), -EPERM);
    while (trace((pid_t)r.started.pid) < 0) /* not before its exec */
        (void)poll(NULL, 0, 1);
    (void)set_trace_right(true);
    /* and voltd still sees of them what it has to */
    assert_int_equal(proc_read(c->keeper, &keeper), 0);
    snprintf(path, sizeof(path), "/proc/%u/stat", r.started.shim_pid);
    assert_int_equal(stat(path, &st), 0);
    assert_true((st.st_mode & 0444) == 0444);
    assert_int_equal(keeper_client_signal(c, &key, SIGKILL, KEEPER_SCOPE_TREE).status, 0);
    while (waitpid((pid_t)r.started.pid, NULL, __WALL | WNOHANG) == 0)
        (void)poll(NULL, 0, 1);
    r = keeper_client_wait(c, &key);
    keeper_job_assert_end(&r, RECORD_END_SIGNAL, SIGKILL);
}

/* Stops a child of the keeper that is no shim. False: there is none. */
static bool stop_killer(const struct keeper_client *c, pid_t shim)
{
    char path[64], text[256] = "", *at = text;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)c->keeper,
             (int)c->keeper);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) >= 0);
    close(fd);
    for (long pid; (pid = strtol(at, &at, 10)) != 0;)
        if (pid != shim)
            return kill((pid_t)pid, SIGSTOP) == 0;
    return false;
}

/* By one with the right to: it is named, and goes on when it is let go. A killer waits for
 * that for a second, also when it is stopped meanwhile. */
static void test_traced_shim(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key = keeper_job_key();
    bool stopped = false;
    if (!set_trace_right(true))
        skip();
    assert_int_equal(keeper_job_start_shell(c, &key, "exec sleep 60").status, 0);
    struct record r = keeper_client_wait_started(c, &key);
    pid_t shim = (pid_t)r.started.shim_pid;
    assert_int_equal(trace(shim), 0);
    assert_int_equal(ptrace(PTRACE_INTERRUPT, shim, NULL, NULL), 0);
    keeper_job_wait_stopped(shim);
    while (!stopped) {
        uint64_t serial = keeper_client_send_signal(c, &key, SIGKILL, KEEPER_SCOPE_TREE);
        struct pollfd answer = {c->fd, POLLIN, 0};
        while (!stopped && poll(&answer, 1, 0) == 0)
            stopped = stop_killer(c, shim);
        struct keeper_reply k = keeper_client_reply(c, serial);
        assert_int_equal(k.status, 0);
        assert_int_equal(k.survivors, 1);
        assert_int_equal(k.survivor[0], shim);
    }
    assert_int_equal(waitpid(shim, NULL, __WALL), shim);
    assert_int_equal(ptrace(PTRACE_DETACH, shim, NULL, NULL), 0);
    r = keeper_client_wait(c, &key);
    keeper_job_assert_end(&r, RECORD_END_SIGNAL, SIGKILL);
}

int main(void)
{
#define TEST(f)                                                                          \
    cmocka_unit_test_setup_teardown(f, keeper_client_setup, keeper_client_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_shim_is_continued),
        TEST(test_shim_of_another_keeper),
        TEST(test_shim_of_a_main_process),
        TEST(test_killer_is_continued),
        TEST(test_stopped_job),
        TEST(test_signal_alone_does_not_wake),
        TEST(test_keeper_and_shim_cannot_be_traced),
        TEST(test_traced_shim),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
