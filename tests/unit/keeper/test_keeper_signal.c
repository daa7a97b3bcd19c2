/* Signals for records that say nothing yet, nothing that can be trusted, or nothing that is so
 * any more. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "daemon/keeper/tree.h"
#include "daemon/link/record_make.h"
#include "tests/support/keeper_job.h"

static const struct job_key key = {1, JOB_NO_INDEX, 1};

/* Shared with the keeper, which is a child of the test then. */
static struct {
    bool no_process; /* it gets none */
    bool no_kill;    /* SIGKILL is refused */
} * shared;

pid_t __real_fork(void);
pid_t __wrap_fork(void);

pid_t __wrap_fork(void)
{
    if (!shared->no_process)
        return __real_fork();
    errno = EAGAIN;
    return -1;
}

long __real_syscall(long n, ...);
long __wrap_syscall(long n, long a, long b, long c, long d);

long __wrap_syscall(long n, long a, long b, long c, long d)
{
    if (n != SYS_pidfd_send_signal || b != SIGKILL || !shared->no_kill)
        return __real_syscall(n, a, b, c, d);
    errno = EPERM;
    return -1;
}

/* Whose process it would be nobody knows. */
static void test_a_damaged_record(void **state)
{
    struct keeper_client *c = *state;
    char name[JOB_KEY_TEXT_MAX];
    (void)job_key_format(&key, name);
    int fd = openat(c->record_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "nobody wrote this", 17), 17);
    (void)close(fd);
    for (int scope = KEEPER_SCOPE_TREE; scope <= KEEPER_SCOPE_MAIN; scope++)
        assert_int_equal(
            keeper_client_signal(c, &key, SIGTERM, (enum keeper_scope)scope).status,
            -EIO);
}

/* Nor is something else one that comes in its place. */
static void test_no_record_at_all(void **state)
{
    struct keeper_client *c = *state;
    union keeper_message m = {.signal = {.head.op = KEEPER_SIGNAL,
                                         .key = keeper_key_pack(&key),
                                         .signal = SIGCONT,
                                         .scope = KEEPER_SCOPE_TREE}};
    uint64_t serial = keeper_client_send(c, &m, sizeof(m.signal), &c->dir_fd, 1);
    assert_int_equal(keeper_client_reply(c, serial).status, -EIO);
    serial = keeper_client_send(c, &m, sizeof(m.signal), NULL, 0);
    assert_int_equal(keeper_client_reply(c, serial).status, -ESRCH);
}

/* It was removed when the signal was on its way: also from one that waits for its start. */
static void test_a_record_that_has_gone(void **state)
{
    struct keeper_client *c = *state;
    uint32_t seed;
    int fd = record_create(c->record_fd, NULL, &key, c->boot_id, KEEPER_KILL_TREE, &seed);
    assert_true(fd >= 0);
    uint64_t serial = keeper_client_send_signal(c, &key, SIGKILL, KEEPER_SCOPE_TREE);
    assert_int_equal(record_discard(c->record_fd, &key), 0);
    assert_int_equal(keeper_client_reply(c, serial).status, -ESRCH);
    (void)close(fd);
}

/* A shim that has its record and does not come to start the job: not for ever. */
static void test_a_job_that_does_not_start(void **state)
{
    struct keeper_client *c = *state;
    uint32_t seed;
    int fd = record_create(c->record_fd, NULL, &key, c->boot_id, KEEPER_KILL_TREE, &seed);
    assert_true(fd >= 0);
    assert_int_equal(keeper_client_signal(c, &key, SIGTERM, KEEPER_SCOPE_TREE).status,
                     -EAGAIN);
    assert_int_equal(keeper_client_remove(c, &key), -EBUSY);
    (void)close(fd);
    assert_int_equal(keeper_client_signal(c, &key, SIGTERM, KEEPER_SCOPE_TREE).status,
                     -ESRCH);
    assert_int_equal(keeper_client_remove(c, &key), 0);
}

static pid_t child(void)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        for (;;)
            (void)pause();
    return pid;
}

/* Shim and main process of a job have gone, and its number is one of ours by now. */
static void test_a_number_that_is_anothers(void **state)
{
    struct keeper_client *c = *state;
    const pid_t ours = child(), shim = child();
    struct proc p;
    uint32_t seed;
    (void)kill(shim, SIGKILL);
    assert_int_equal(waitpid(shim, NULL, 0), shim);
    assert_int_equal(proc_read(ours, &p), 0);
    int fd = record_create(c->record_fd, NULL, &key, c->boot_id, KEEPER_KILL_MAIN, &seed);
    struct record_started s = {.pid = (uint32_t)ours,
                               .pid_start = p.start - 1,
                               .shim_pid = (uint32_t)shim,
                               .shim_start = p.start - 1};
    assert_int_equal(record_write_started(fd, seed, &s), 0);
    (void)close(fd);
    for (int scope = KEEPER_SCOPE_TREE; scope <= KEEPER_SCOPE_MAIN; scope++)
        assert_int_equal(
            keeper_client_signal(c, &key, SIGKILL, (enum keeper_scope)scope).status,
            -ESRCH);
    bool lives = proc_read(ours, &p) == 0 && !p.dead;
    (void)kill(ours, SIGKILL);
    assert_int_equal(waitpid(ours, NULL, 0), ours);
    assert_true(lives);
}

enum { SIGNALS = 40, PROCESSES = 32 };

/* Sends them at once, and BYE behind them. Returns how many were refused before that was
 * answered; *ret_waited: how many had waited for the job by then. */
static unsigned burst(struct keeper_client *c, unsigned *ret_waited)
{
    union keeper_message m = {.bye = {.head.op = KEEPER_BYE}};
    struct keeper_reply reply;
    unsigned refused = 0, waited = 0;
    uint64_t first = 0;
    for (int i = 0; i < SIGNALS; i++) {
        uint64_t serial = keeper_client_send_signal(c, &key, SIGTERM, KEEPER_SCOPE_TREE);
        first = i == 0 ? serial : first;
    }
    const uint64_t last = keeper_client_send(c, &m, sizeof(m.bye), NULL, 0);
    for (;;) {
        assert_int_equal(recv(c->fd, &reply, sizeof(reply), 0), sizeof(reply));
        if (reply.head.serial == last)
            break;
        assert_int_equal(reply.status, -EAGAIN);
        if (reply.head.serial >= first && reply.head.serial < first + PROCESSES)
            waited++;
        else if (reply.head.serial >= first)
            refused++;
    }
    *ret_waited = waited;
    return refused;
}

/* Each has a process that waits a second for the job to start; what comes after is read
 * meanwhile, and signals too many are refused. Where these processes are born so slowly
 * that the first have ended before the last is read, it is tried again. */
static void test_more_signals_than_processes(void **state)
{
    struct keeper_client *c = *state;
    unsigned refused, waited;
    uint32_t seed;
    int fd = record_create(c->record_fd, NULL, &key, c->boot_id, KEEPER_KILL_TREE, &seed);
    assert_true(fd >= 0);
    do
        refused = burst(c, &waited);
    while (refused == 0 || refused > SIGNALS - PROCESSES || waited > SIGNALS - PROCESSES);
    (void)close(fd);
}

/* A job that has taken all processes that the account may have can be ended. */
static void test_a_signal_without_a_process_to_send_it(void **state)
{
    static const char *const words[] = {"/bin/sleep", "600", NULL};
    struct keeper_client *c = *state;
    struct job_key job = keeper_job_key();
    struct record r;

    assert_int_equal(keeper_job_start(c, &job, words, -1).status, 0);
    (void)keeper_client_wait_started(c, &job);
    shared->no_process = true;
    assert_int_equal(keeper_client_signal(c, &job, SIGKILL, KEEPER_SCOPE_TREE).status, 0);
    shared->no_process = false;
    r = keeper_client_wait(c, &job);
    keeper_job_assert_end(&r, RECORD_END_SIGNAL, SIGKILL);
}

/* What a job has left says that it is of another one, of which nobody knows that it was
 * lost: that does not hide what lives on of it. */
static void test_a_survivor_under_another_name(void **state)
{
    struct keeper_client *c = *state;
    char *argv[] = {
        (char[]){"sh"}, (char[]){"-c"},
        (char[]){"(setsid sh -c 'echo $$ >left; exec sleep 60' &); exec sleep 60"}, NULL};
    char *env[] = {(char[]){"PATH=/usr/bin:/bin"}, (char[]){"VOLT_JOB_ID=4711"},
                   (char[]){"VOLT_ATTEMPT=1"}, NULL};
    const struct launch l = {
        .cwd = c->dir, .argv = argv, .argc = 3, .env = env, .envc = 3};
    struct job_key job = keeper_job_key();

    assert_int_equal(keeper_client_start(c, &job, &l, -1, KEEPER_KILL_TREE).status, 0);
    pid_t left = keeper_job_read_pid(c, "left");
    struct record r = keeper_client_wait_started(c, &job);
    (void)kill((pid_t)r.started.shim_pid, SIGKILL);
    keeper_job_wait_gone((pid_t)r.started.shim_pid);
    (void)kill((pid_t)r.started.pid, SIGKILL);
    keeper_job_wait_gone((pid_t)r.started.pid);
    shared->no_kill = true;
    const struct keeper_reply refused =
        keeper_client_signal(c, &job, SIGKILL, KEEPER_SCOPE_TREE);
    shared->no_kill = false;
    const struct keeper_reply k =
        keeper_client_signal(c, &job, SIGKILL, KEEPER_SCOPE_TREE);
    assert_int_equal(k.survivors, 0);
    assert_int_equal(refused.survivors, 1);
    assert_int_equal(refused.survivor[0], left);
    assert_true(keeper_job_is_gone(left));
}

int main(void)
{
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
#define TEST(f)                                                                          \
    cmocka_unit_test_setup_teardown(f, keeper_client_setup, keeper_client_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_a_damaged_record),
        TEST(test_no_record_at_all),
        TEST(test_a_record_that_has_gone),
        TEST(test_a_job_that_does_not_start),
        TEST(test_a_number_that_is_anothers),
        TEST(test_more_signals_than_processes),
        cmocka_unit_test_setup_teardown(test_a_signal_without_a_process_to_send_it,
                                        keeper_client_setup_patient,
                                        keeper_client_teardown),
        cmocka_unit_test_setup_teardown(test_a_survivor_under_another_name,
                                        keeper_client_setup_patient,
                                        keeper_client_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
