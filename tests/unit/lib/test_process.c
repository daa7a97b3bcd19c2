/* Children and signals as leaves. */
#include "tests/support/lone.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- child -------------------------------------------------------------------------- */

struct parent {
    struct volt_child child;
    int status;
    bool shielded, begun;
};

static enum volt_poll parent_poll(struct volt_cx *cx, void *state)
{
    struct parent *p = state;

    if (p->shielded && !p->begun)
        volt_shield_begin(cx);
    p->begun = true;
    return volt_child_poll(cx, &p->child, &p->status);
}

static void parent_drop(void *state)
{
    volt_child_fini(&((struct parent *)state)->child);
}

static const struct volt_task_type parent_type = {
    .name = "parent",
    .size = sizeof(struct parent),
    .poll = parent_poll,
    .drop = parent_drop,
};

/* A child that waits for the end of the pipe, and then ends in this way. */
static pid_t child(int fds[2], int code, int signal)
{
    char byte;

    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0) {
        close(fds[0]);
        return pid;
    }
    close(fds[1]);
    (void)read(fds[0], &byte, 1);
    if (signal)
        (void)raise(signal);
    _exit(code);
}

static struct volt_join wait_for(struct volt_runtime *rt, pid_t pid)
{
    struct parent *p = volt_task_new(rt, &parent_type);
    struct volt_join join;

    assert_non_null(p);
    assert_int_equal(volt_child_init(&p->child, rt, pid), 0);
    lone_spawn(p, &join);
    lone_settle(rt);
    return join;
}

static int status_of(struct volt_join *join)
{
    assert_int_equal(volt_join_wait(join), 0);
    int status = ((struct parent *)volt_join_state(join))->status;

    volt_join_fini(join);
    return status;
}

static void test_the_end_of_a_child(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct volt_join join;
    int fds[2];

    (void)state;
    join = wait_for(rt, child(fds, 7, 0));
    assert_int_equal(volt_join_status(&join), -EINPROGRESS);
    close(fds[1]);
    int status = status_of(&join);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);

    join = wait_for(rt, child(fds, 0, SIGKILL));
    close(fds[1]);
    status = status_of(&join);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    volt_runtime_free(rt);
}

static void test_a_child_is_killed(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct volt_join join;
    int fds[2];

    (void)state;
    join = wait_for(rt, child(fds, 0, 0));
    struct parent *p = volt_join_state(&join);
    assert_int_equal(volt_child_kill(&p->child, SIGTERM), 0);
    int status = status_of(&join);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    close(fds[1]);
    volt_runtime_free(rt);
}

/* Given up, the child goes on, and is somebody else's to reap. */
static void test_given_up_or_none(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct volt_join join;
    struct volt_child none = {0};
    int fds[2], status;
    pid_t pid = child(fds, 3, 0);

    (void)state;
    join = wait_for(rt, pid);
    volt_join_cancel(&join);
    assert_int_equal(lone_join(&join), -ECANCELED);
    close(fds[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    assert_true(volt_child_init(&none, rt, pid) < 0);
    volt_child_fini(&none);

    join = wait_for(rt, getpid());
    assert_int_equal(status_of(&join), -ECHILD);
    volt_runtime_free(rt);
}

static void test_without_descriptors_there_is_none(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct rlimit limit, none;
    struct volt_child c = {0};
    struct volt_signals s = {0};
    sigset_t set;
    int fds[2];
    pid_t pid = child(fds, 0, 0);

    (void)state;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int of_child = volt_child_init(&c, rt, pid);
    int of_signals = volt_signals_init(&s, rt, &set);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(of_child, -EMFILE);
    assert_int_equal(of_signals, -EMFILE);
    volt_child_fini(&c);
    volt_signals_fini(&s);
    close(fds[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    volt_runtime_free(rt);
}

/* One that is under a shield is told of the shutdown: it would wait for the child. */
static void test_shutdown_while_a_child_runs(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct parent *p = volt_task_new(rt, &parent_type);
    struct volt_join join;
    int fds[2], status;
    pid_t pid = child(fds, 3, 0);

    (void)state;
    assert_non_null(p);
    p->shielded = true;
    assert_int_equal(volt_child_init(&p->child, rt, pid), 0);
    lone_spawn(p, &join);
    lone_settle(rt);
    assert_int_equal(volt_runtime_shutdown(rt, UINT64_MAX), 0);
    assert_int_equal(status_of(&join), -ESHUTDOWN);
    volt_runtime_free(rt);
    close(fds[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

/* --- signals ------------------------------------------------------------------------ */

struct listener {
    int at, last, count;
    struct volt_signals signals;
};

static enum volt_poll listener_poll(struct volt_cx *cx, void *state)
{
    struct listener *l = state;

    VOLT_BEGIN(l->at);
    do {
        VOLT_AWAIT(l->at, volt_signals_poll(cx, &l->signals, &l->last));
        l->count++;
    } while (l->last == SIGUSR1);
    VOLT_END(l->at);
}

static void listener_drop(void *state)
{
    volt_signals_fini(&((struct listener *)state)->signals);
}

static const struct volt_task_type listener_type = {
    .name = "listener",
    .size = sizeof(struct listener),
    .poll = listener_poll,
    .drop = listener_drop,
};

static void test_signals(void **state)
{
    struct volt_runtime *rt = lone_runtime();
    struct listener *l = volt_task_new(rt, &listener_type);
    struct volt_join join;
    sigset_t set;

    (void)state;
    assert_non_null(l);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    assert_int_equal(sigprocmask(SIG_BLOCK, &set, NULL), 0);
    assert_int_equal(kill(getpid(), SIGUSR1), 0); /* before there is anybody to hear it */
    assert_int_equal(volt_signals_init(&l->signals, rt, &set), 0);
    lone_spawn(l, &join);
    lone_settle(rt);
    assert_int_equal(volt_join_status(&join), -EINPROGRESS);
    assert_int_equal(kill(getpid(), SIGUSR2), 0);
    assert_int_equal(volt_join_wait(&join), 0);
    l = volt_join_state(&join);
    assert_int_equal(l->last, SIGUSR2);
    assert_int_equal(l->count, 2);
    volt_join_fini(&join);
    volt_runtime_free(rt);
    /* Nobody takes it any more. */
    assert_int_equal(kill(getpid(), SIGUSR2), 0);
    assert_int_equal(sigwaitinfo(&set, NULL), SIGUSR2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_end_of_a_child),
        cmocka_unit_test(test_a_child_is_killed),
        cmocka_unit_test(test_given_up_or_none),
        cmocka_unit_test(test_without_descriptors_there_is_none),
        cmocka_unit_test(test_shutdown_while_a_child_runs),
        cmocka_unit_test(test_signals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
