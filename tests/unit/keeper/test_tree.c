/* Trees of processes: what /proc says, who belongs to a job, who is reached; also where a
 * signal does not reach, where the kernel does not list children, and where the shim is
 * gone. The linker redirects what the kernel is asked (Makefile). */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "daemon/keeper/tree.h"

static bool refuses_signals, lists_no_children;
static unsigned stops, kills, stops_before_kill; /* signals that were sent */

long __real_syscall(long n, ...);
long __wrap_syscall(long n, long a, long b, long c, long d);
int __wrap_access(const char *path, int mode);
int __real_access(const char *path, int mode);

long __wrap_syscall(long n, long a, long b, long c, long d)
{
    if (n == SYS_pidfd_send_signal && refuses_signals) {
        errno = EPERM;
        return -1;
    }
    if (n == SYS_pidfd_send_signal && b == SIGSTOP)
        stops++;
    if (n == SYS_pidfd_send_signal && b == SIGKILL && kills++ == 0)
        stops_before_kill = stops;
    return __real_syscall(n, a, b, c, d);
}

int __wrap_access(const char *path, int mode)
{
    if (!lists_no_children)
        return __real_access(path, mode);
    errno = ENOENT;
    return -1;
}

/* --- families ----------------------------------------------------------------------- */

enum { CHILDREN = 10, ALL = CHILDREN + 1 }; /* the last is the child of a child */

struct family {
    pid_t parent, member[ALL];
};

static void born(int to)
{
    pid_t me = getpid();

    if (write(to, &me, sizeof(me)) != (ssize_t)sizeof(me))
        _exit(1);
}

_Noreturn static void wait_for_ever(void)
{
    for (;;)
        (void)pause();
}

_Noreturn static void live(int to)
{
    born(to);
    wait_for_ever();
}

/* A parent in a session of its own, its children, and one of theirs. */
static struct family found_family(void)
{
    struct family f;
    int pipe_fd[2];

    assert_int_equal(pipe(pipe_fd), 0);
    f.parent = fork();
    if (f.parent == 0) {
        (void)setsid();
        for (int i = 0; i < CHILDREN; i++) {
            if (fork() != 0)
                continue;
            if (i == 0 && fork() == 0)
                live(pipe_fd[1]);
            live(pipe_fd[1]);
        }
        wait_for_ever();
    }
    assert_true(f.parent > 0);
    for (int i = 0; i < ALL; i++)
        assert_int_equal(read(pipe_fd[0], &f.member[i], sizeof(pid_t)), sizeof(pid_t));
    (void)close(pipe_fd[0]);
    (void)close(pipe_fd[1]);
    return f;
}

static bool lives(pid_t pid)
{
    struct proc p;
    return proc_read(pid, &p) == 0 && !p.dead;
}

static uint64_t start_of(pid_t pid)
{
    struct proc p;

    assert_int_equal(proc_read(pid, &p), 0);
    return p.start;
}

static void await_end(pid_t pid)
{
    while (lives(pid))
        (void)poll(NULL, 0, 1);
}

static void end_family(const struct family *f)
{
    (void)kill(f->parent, SIGKILL);
    (void)waitpid(f->parent, NULL, 0);
    for (int i = 0; i < ALL; i++)
        (void)kill(f->member[i], SIGKILL);
    for (int i = 0; i < 2 * ALL; i++) /* a child of one of them comes here after it */
        (void)waitpid(f->member[i % ALL], NULL, 0);
}

/* --- one process -------------------------------------------------------------------- */

static void a_process_is_pid_and_start(void **state)
{
    struct proc p;
    pid_t pid = fork();

    (void)state;
    if (pid == 0)
        wait_for_ever();
    uint64_t start = start_of(pid);
    assert_int_equal(proc_read(pid, &p), 0);
    assert_int_equal(p.parent, getpid());
    assert_int_equal(proc_signal(pid, start + 1, SIGKILL), -ESRCH);
    refuses_signals = true;
    assert_int_equal(proc_signal(pid, start, SIGKILL), -EPERM);
    refuses_signals = false;
    (void)kill(pid, SIGKILL);
    await_end(pid);
    assert_int_equal(proc_signal(pid, start, SIGKILL), -ESRCH); /* nobody reaped it yet */
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(proc_read(pid, &p), -ESRCH);
    assert_int_equal(proc_signal(pid, start, SIGKILL), -ESRCH);
}

static void *rest(void *arg)
{
    live(*(int *)arg);
}

/* It has ended, its other thread has not. */
static void without_its_first_thread_it_lives(void **state)
{
    struct proc p;
    pthread_t thread;
    int pipe_fd[2];
    pid_t pid;

    (void)state;
    assert_int_equal(pipe(pipe_fd), 0);
    pid = fork();
    if (pid == 0) {
        (void)pthread_create(&thread, NULL, rest, &pipe_fd[1]);
        (void)syscall(SYS_exit, 0);
    }
    pid_t said;
    assert_int_equal(read(pipe_fd[0], &said, sizeof(said)), sizeof(said));
    char path[64], text[512] = "";
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    for (bool ended = false; !ended;) {
        FILE *f = fopen(path, "re");
        assert_non_null(f);
        assert_non_null(fgets(text, sizeof(text), f));
        (void)fclose(f);
        ended = strstr(text, ") Z ") != NULL;
    }
    assert_int_equal(proc_read(pid, &p), 0);
    assert_false(p.dead);
    assert_int_equal(proc_signal(pid, p.start, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    (void)close(pipe_fd[0]);
    (void)close(pipe_fd[1]);
}

/* A process that runs with this environment, from when it returns. */
static pid_t run_with(char *env[])
{
    char *argv[] = {(char[]){"sleep"}, (char[]){"1000"}, NULL};
    int pipe_fd[2];
    char byte;

    assert_int_equal(pipe2(pipe_fd, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)execve("/bin/sleep", argv, env);
        _exit(1);
    }
    (void)close(pipe_fd[1]);
    assert_int_equal(read(pipe_fd[0], &byte, 1), 0); /* closed by its exec */
    (void)close(pipe_fd[0]);
    return pid;
}

/* The whole of it, or nothing. */
static void a_variable_is_there_as_a_whole(void **state)
{
    char *env[] = {(char[]){"XNAME=no"},
                   (char[]){"NAMES=no"},
                   (char[]){"NAM=no"},
                   (char[]){"NAME=1234567"},
                   (char[]){"EMPTY="},
                   (char[]){"LAST"},
                   NULL};
    pid_t pid = run_with(env);
    char value[17][16], empty[16] = "x", other[16];
    bool found[17], is_empty, is_there;

    (void)state;
    memset(value, 'x', sizeof(value));
    for (size_t size = 0; size <= 16; size++)
        found[size] = proc_variable(pid, "NAME", value[size], size);
    is_empty = proc_variable(pid, "EMPTY", empty, sizeof(empty));
    is_there = proc_variable(pid, "LAST", other, sizeof(other)) ||
               proc_variable(pid, "ANOTHER", other, sizeof(other));
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    for (size_t size = 0; size <= 16; size++) {
        assert_int_equal(found[size], size >= 8);
        assert_memory_equal(value[size], "1234567", size < 8 ? size : 8);
        for (size_t i = size; i < 16; i++)
            assert_int_equal(value[size][i], 'x');
    }
    assert_true(is_empty);
    assert_string_equal(empty, "");
    assert_false(is_there);
    assert_false(proc_variable(pid, "NAME", other, sizeof(other)));
}

/* --- trees -------------------------------------------------------------------------- */

static void all_below_the_shim_are_reached(void **state)
{
    (void)state;
    for (int listed = 0; listed < 2; listed++) {
        struct family f = found_family();
        struct tree_root root = {.shim = f.parent, .shim_start = start_of(f.parent)};
        struct tree_result r;

        lists_no_children = !listed;
        assert_int_equal(tree_signal(&root, SIGCONT), ALL);
        root.shim_start++; /* as if the number were somebody else's by now */
        assert_int_equal(tree_signal(&root, SIGCONT), 0);
        root.shim_start--;
        tree_kill(&root, 60000000, &r);
        lists_no_children = false;
        assert_true(r.reached >= ALL);
        assert_int_equal(r.survivors, 0);
        assert_true(lives(f.parent));
        end_family(&f);
    }
}

/* What forks on while its family is killed one by one leaves a child that nobody has seen. */
static void all_are_stopped_before_one_is_killed(void **state)
{
    struct family f = found_family();
    struct tree_root root = {.shim = f.parent, .shim_start = start_of(f.parent)};
    struct tree_result r;

    (void)state;
    stops = kills = 0;
    tree_kill(&root, 60000000, &r);
    end_family(&f);
    assert_in_range(stops_before_kill, ALL, UINT_MAX);
    assert_in_range(kills, ALL, UINT_MAX);
    assert_int_equal(r.survivors, 0);
}

/* A child forks as fast as it can, for a while. */
_Noreturn static void fork_on(int to)
{
    born(to);
    for (int i = 0; i < 100; i++)
        if (fork() == 0)
            wait_for_ever();
    wait_for_ever();
}

static bool is_stopped(pid_t pid)
{
    struct proc p;
    return proc_read(pid, &p) == 0 && p.stopped;
}

/* What is stopped stays as it is: nothing was forked behind the walk. */
static void what_forks_meanwhile_is_stopped(void **state)
{
    struct family f = found_family();
    struct tree_root root = {.shim = f.parent, .shim_start = start_of(f.parent)};
    int pipe_fd[2];
    pid_t forker;

    (void)state;
    assert_int_equal(tree_stop(&root, 60000000), ALL);
    for (int i = 0; i < ALL; i++)
        assert_true(is_stopped(f.member[i]));
    assert_false(is_stopped(f.parent));
    assert_int_equal(tree_signal(&root, SIGCONT), ALL);
    end_family(&f);

    assert_int_equal(pipe(pipe_fd), 0);
    f.parent = fork();
    if (f.parent == 0) {
        (void)setsid();
        if (fork() == 0)
            fork_on(pipe_fd[1]);
        wait_for_ever();
    }
    assert_int_equal(read(pipe_fd[0], &forker, sizeof(forker)), sizeof(forker));
    root = (struct tree_root){.shim = f.parent, .shim_start = start_of(f.parent)};
    const uint32_t n = tree_stop(&root, 60000000), later = tree_signal(&root, 0);
    const bool stands = is_stopped(forker);
    struct tree_result r;
    tree_kill(&root, 60000000, &r);
    (void)kill(f.parent, SIGKILL);
    (void)waitpid(f.parent, NULL, 0);
    (void)close(pipe_fd[0]);
    (void)close(pipe_fd[1]);
    assert_true(stands);
    assert_int_equal(later, n);
}

static void a_stop_that_is_refused_reaches_nobody(void **state)
{
    struct family f = found_family();
    const struct tree_root root = {.shim = f.parent, .shim_start = start_of(f.parent)};

    (void)state;
    refuses_signals = true;
    assert_int_equal(tree_stop(&root, 5000), 0);
    refuses_signals = false;
    end_family(&f);
}

/* Nothing is claimed: they are counted, and the first are named. */
static void who_cannot_be_reached_is_named(void **state)
{
    struct family f = found_family();
    const struct tree_root root = {.shim = f.parent, .shim_start = start_of(f.parent)};
    struct tree_result r;

    (void)state;
    refuses_signals = true;
    assert_int_equal(tree_signal(&root, SIGKILL), 0);
    tree_kill(&root, 5000, &r);
    refuses_signals = false;
    assert_int_equal(r.reached, 0);
    assert_int_equal(r.survivors, ALL);
    for (int i = 0; i < TREE_NAMED_MAX; i++)
        assert_true(lives((pid_t)r.named[i]));
    end_family(&f);
}

/* The machine may have stood still for all of the time. */
static void no_time_is_left_but_each_is_reached(void **state)
{
    struct family f = found_family();
    const struct tree_root root = {.shim = f.parent, .shim_start = start_of(f.parent)};
    struct tree_result r;

    (void)state;
    tree_kill(&root, 0, &r);
    assert_true(r.reached >= ALL);
    for (int i = 0; i < ALL; i++)
        await_end(f.member[i]);
    end_family(&f);
}

static void without_a_shim_it_is_the_session(void **state)
{
    struct family f = found_family();
    struct tree_root root = {.main = f.parent, .main_start = start_of(f.parent)};

    (void)state;
    assert_int_equal(tree_signal(&root, SIGCONT), ALL + 1);
    root.main_start++; /* as if the number were somebody else's by now */
    assert_int_equal(tree_signal(&root, SIGCONT), 0);
    root.main_start -= 2;
    assert_int_equal(tree_signal(&root, SIGCONT), 0);
    root.main_start++;
    (void)kill(f.parent, SIGKILL); /* and has been reaped: its session is still known */
    assert_int_equal(waitpid(f.parent, NULL, 0), f.parent);
    assert_int_equal(tree_signal(&root, SIGCONT), ALL);
    struct tree_result r;
    tree_kill(&root, 60000000, &r);
    assert_int_equal(r.survivors, 0);
    end_family(&f);
}

static bool is_it(pid_t pid, const void *arg)
{
    return pid == *(const pid_t *)arg;
}

/* How many a killer of that keeper reaches of the root, where *other is of others. */
static int reached_by_a_killer(struct tree_root root, const pid_t *other)
{
    int status;
    pid_t killer = fork();

    root.session = getsid(0);
    root.is_others = is_it;
    root.arg = other;
    if (killer == 0)
        _exit((int)tree_signal(&root, SIGCONT));
    assert_int_equal(waitpid(killer, &status, 0), killer);
    return WEXITSTATUS(status);
}

/* What a keeper has inherited is looked for by its children alone: by a number that is
 * another process's by now they would be somebody else's. */
static void orphans_are_those_of_a_keeper_that_lives(void **state)
{
    struct family f = found_family();
    struct tree_root root = {.main = 1, .main_start = UINT64_MAX, .keeper = f.parent};
    const pid_t other = f.member[0];

    (void)state;
    int strangers = reached_by_a_killer(root, &other);
    root.keeper = getpid();
    int orphans = reached_by_a_killer(root, &other);
    end_family(&f);
    assert_int_equal(strangers, 0);
    assert_int_equal(orphans, ALL + 1); /* the other is no orphan */
}

/* But for what says so of itself and is of the main process all the same. */
static void an_orphan_of_others_is_left_alone(void **state)
{
    struct family f = found_family();
    struct tree_root root = {.main = 1, .main_start = UINT64_MAX, .keeper = getpid()};

    (void)state;
    int others = reached_by_a_killer(root, &f.parent);
    root.main = f.parent;
    root.main_start = start_of(f.parent);
    int own = reached_by_a_killer(root, &f.parent);
    end_family(&f);
    assert_int_equal(others, 0);
    assert_int_equal(own, ALL + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_is_pid_and_start),
        cmocka_unit_test(without_its_first_thread_it_lives),
        cmocka_unit_test(a_variable_is_there_as_a_whole),
        cmocka_unit_test(all_below_the_shim_are_reached),
        cmocka_unit_test(all_are_stopped_before_one_is_killed),
        cmocka_unit_test(what_forks_meanwhile_is_stopped),
        cmocka_unit_test(a_stop_that_is_refused_reaches_nobody),
        cmocka_unit_test(who_cannot_be_reached_is_named),
        cmocka_unit_test(no_time_is_left_but_each_is_reached),
        cmocka_unit_test(without_a_shim_it_is_the_session),
        cmocka_unit_test(orphans_are_those_of_a_keeper_that_lives),
        cmocka_unit_test(an_orphan_of_others_is_left_alone),
    };

    (void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* who has lost its parent is reaped here */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
