/* A real keeper that ends the trees of its jobs, deep ones, and such as flee or hide. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "daemon/keeper/tree.h"
#include "tests/support/keeper_job.h"

static void test_shim_killed(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key = keeper_job_key();
    assert_int_equal(keeper_job_start_shell(
                         c, &key,
                         "(setsid sh -c 'echo $$ >far; exec sleep 60') & "
                         "sh -c 'echo $$ >near; exec sleep 60' & echo $$ >pid; wait")
                         .status,
                     0);
    pid_t job = keeper_job_read_pid(c, "pid"), near = keeper_job_read_pid(c, "near"),
          far = keeper_job_read_pid(c, "far");
    struct record r = keeper_client_wait_started(c, &key);
    kill((pid_t)r.started.shim_pid, SIGKILL);
    r = keeper_client_wait(c, &key);
    assert_int_equal(r.verdict, RECORD_SHIM_KILLED);
    assert_false(keeper_job_is_gone(job));
    struct keeper_reply k = keeper_client_signal(c, &key, SIGKILL, KEEPER_SCOPE_TREE);
    assert_int_equal(k.status, 0);
    assert_int_equal(k.survivors, 0);
    assert_true(keeper_job_is_gone(job) && keeper_job_is_gone(near) &&
                keeper_job_is_gone(far));
}

/* In kill mode `main`, and what it has left names it: it had not ended, so that nothing was
 * left on purpose. */
static void test_shim_of_a_main_process_killed(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key = keeper_job_key();
    char *argv[] = {(char[]){"sh"}, (char[]){"-c"},
                    (char[]){"(setsid sh -c 'echo $$ >left; exec sleep 60' &); "
                             "exec sleep 60"},
                    NULL};
    char id[64],
        *env[] = {(char[]){"PATH=/usr/bin:/bin"}, id, (char[]){"VOLT_ATTEMPT=1"}, NULL};
    struct launch l = {.cwd = c->dir, .argv = argv, .argc = 3, .env = env, .envc = 3};
    (void)snprintf(id, sizeof(id), "VOLT_JOB_ID=%llu", (unsigned long long)key.id);
    assert_int_equal(keeper_client_start(c, &key, &l, -1, KEEPER_KILL_MAIN).status, 0);
    pid_t left = keeper_job_read_pid(c, "left");
    struct record r = keeper_client_wait_started(c, &key);
    kill((pid_t)r.started.shim_pid, SIGKILL);
    keeper_job_wait_gone((pid_t)r.started.shim_pid);
    assert_false(keeper_job_is_gone(left));
    struct keeper_reply k = keeper_client_signal(c, &key, SIGKILL, KEEPER_SCOPE_TREE);
    assert_int_equal(k.status, 0);
    assert_int_equal(k.survivors, 0);
    assert_true(keeper_job_is_gone((pid_t)r.started.pid) && keeper_job_is_gone(left));
}

/* A job whose environment names it, and the number of what it has left to its shim. */
static pid_t start_named(struct keeper_client *c, const struct job_key *key,
                         const char *file)
{
    char script[96], id[64],
        *argv[] = {(char[]){"sh"}, (char[]){"-c"}, script, NULL},
        *env[] = {(char[]){"PATH=/usr/bin:/bin"}, id, (char[]){"VOLT_ATTEMPT=1"}, NULL};
    struct launch l = {.cwd = c->dir, .argv = argv, .argc = 3, .env = env, .envc = 3};
    (void)snprintf(id, sizeof(id), "VOLT_JOB_ID=%llu", (unsigned long long)key->id);
    (void)snprintf(script, sizeof(script),
                   "(setsid sh -c 'echo $$ >%s; exec sleep 60' &); exec sleep 60", file);
    assert_int_equal(keeper_client_start(c, key, &l, -1, KEEPER_KILL_TREE).status, 0);
    return keeper_job_read_pid(c, file);
}

/* Each kill takes what is its own. */
static void test_two_shims_killed(void **state)
{
    struct keeper_client *c = *state;
    const struct job_key key[2] = {keeper_job_key(), keeper_job_key()};
    const pid_t left[2] = {start_named(c, &key[0], "left0"),
                           start_named(c, &key[1], "left1")};
    struct record r[2];
    for (int i = 0; i < 2; i++)
        r[i] = keeper_client_wait_started(c, &key[i]);
    for (int i = 0; i < 2; i++) {
        kill((pid_t)r[i].started.shim_pid, SIGKILL);
        keeper_job_wait_gone((pid_t)r[i].started.shim_pid);
    }
    for (int i = 0; i < 2; i++) {
        struct keeper_reply k =
            keeper_client_signal(c, &key[i], SIGKILL, KEEPER_SCOPE_TREE);
        assert_int_equal(k.status, 0);
        assert_int_equal(k.survivors, 0);
        assert_true(keeper_job_is_gone(left[i]) &&
                    keeper_job_is_gone((pid_t)r[i].started.pid));
        assert_int_equal(keeper_job_is_gone(left[1]), i == 1);
        assert_int_equal(keeper_job_is_gone((pid_t)r[1].started.pid), i == 1);
    }
}

static void test_terminate_tree(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key = keeper_job_key();
    assert_int_equal(
        keeper_job_start_shell(c, &key,
                               "sh -c 'trap \"touch termed; exit 0\" TERM; echo $$ >pid; "
                               "while :; do sleep 0.01; done' & wait")
            .status,
        0);
    (void)keeper_job_read_pid(c, "pid");
    struct keeper_reply k = keeper_client_signal(c, &key, SIGTERM, KEEPER_SCOPE_TREE);
    assert_int_equal(k.status, 0);
    assert_true(k.reached >= 2);
    struct record r = keeper_client_wait(c, &key);
    keeper_job_assert_end(&r, RECORD_END_SIGNAL, SIGTERM);
    keeper_job_wait_file(c, "termed");
    assert_int_equal(r.exited.survivors, 0);
    assert_int_equal(keeper_client_signal(c, &key, 15, KEEPER_SCOPE_TREE).status, -ESRCH);
}

/* A plain tree, deep rather than wide, is reached to its leaves. */
static void test_terminate_deep(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key = keeper_job_key();
    /* waits in a builtin: a shell caught in vfork could not stop */
    assert_int_equal(mkfifoat(c->dir_fd, "gate", 0600), 0);
    assert_int_equal(
        keeper_job_start_shell(
            c, &key, "sh -c \"sh -c 'echo \\$\\$ >pid; read x <gate; :'; :\"; :")
            .status,
        0);
    pid_t leaf = keeper_job_read_pid(c, "pid");
    struct keeper_reply k = keeper_client_signal(c, &key, SIGSTOP, KEEPER_SCOPE_TREE);
    assert_int_equal(k.status, 0);
    assert_true(k.reached >= 3);
    struct proc p = {.stopped = false};
    while (!p.stopped) /* sent is not yet delivered */
        assert_int_equal(proc_read(leaf, &p), 0);
    assert_int_equal(keeper_client_signal(c, &key, 9, KEEPER_SCOPE_TREE).survivors, 0);
    assert_true(keeper_job_is_gone(leaf));
}

/* Forks away from its parents over and over, each in a session of its own. */
static int escape_main(const char *depth)
{
    for (int generation = 0; generation < atoi(depth); generation++) {
        if (fork() > 0)
            continue; /* stay, too */
        setsid();
        if (fork() > 0)
            _exit(0);
    }
    if (getppid() != 1)
        close(open("escaped", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    for (;;)
        pause();
}

/* In a session of its own, a child that takes a while to die. */
static int heavy_main(void)
{
    const size_t size = (size_t)256 << 20;
    if (fork() == 0) {
        setsid();
        char *p =
            mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED || madvise(p, size, MADV_NOHUGEPAGE) < 0)
            return 1;
        memset(p, 1, size);
        dprintf(openat(AT_FDCWD, "heavy", O_CREAT | O_WRONLY | O_CLOEXEC, 0600), "%d\n",
                (int)getpid());
    }
    for (;;)
        pause();
}

static void *wait_for_ever(void *arg)
{
    (void)arg;
    close(open("headless", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    while (pause() < 0)
        ;
    return NULL;
}

/* The first thread ends, and the process lives on in another one. */
static int headless_main(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0)
        return 1;
    pthread_exit(NULL);
}

/* Which the kernel shows as if it were dead. */
static void test_kill_headless(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key = keeper_job_key();
    const char *const words[] = {keeper_job_self(), "headless", NULL};
    assert_int_equal(keeper_job_start(c, &key, words, -1).status, 0);
    keeper_job_wait_file(c, "headless");
    struct record r = keeper_client_wait_started(c, &key);
    struct keeper_reply k = keeper_client_signal(c, &key, SIGKILL, KEEPER_SCOPE_TREE);
    assert_int_equal(k.status, 0);
    assert_int_equal(k.survivors, 0);
    assert_true(keeper_job_is_gone((pid_t)r.started.pid));
    r = keeper_client_wait(c, &key);
    keeper_job_assert_end(&r, RECORD_END_SIGNAL, SIGKILL);
}

/* With neither shim nor parent it could not be found again, once the parent is dead: it
 * stays known until it is dead itself. */
static void test_kill_without_shim_awaits_all(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key = keeper_job_key();
    const char *const words[] = {keeper_job_self(), "heavy", NULL};
    assert_int_equal(keeper_job_start(c, &key, words, -1).status, 0);
    pid_t heavy = keeper_job_read_pid(c, "heavy");
    struct record r = keeper_client_wait_started(c, &key);
    kill((pid_t)r.started.shim_pid, SIGKILL);
    r = keeper_client_wait(c, &key);
    struct keeper_reply k = keeper_client_signal(c, &key, SIGKILL, KEEPER_SCOPE_TREE);
    assert_int_equal(k.status, 0);
    assert_int_equal(k.survivors, 0);
    assert_true(keeper_job_is_gone(heavy));
}

static void test_kill_escapers(void **state)
{
    struct keeper_client *c = *state;
    struct job_key key = keeper_job_key();
    const char *const words[] = {keeper_job_self(), "escape", "5", NULL};
    assert_int_equal(keeper_job_start(c, &key, words, -1).status, 0);
    keeper_job_wait_file(c, "escaped");
    struct record r = keeper_client_wait_started(c, &key);
    struct keeper_reply k = keeper_client_signal(c, &key, SIGKILL, KEEPER_SCOPE_TREE);
    assert_int_equal(k.status, 0);
    assert_int_equal(k.survivors, 0);
    assert_true(k.reached > 2);
    assert_true(keeper_job_is_gone((pid_t)r.started.pid));
    r = keeper_client_wait(c, &key);
    keeper_job_assert_end(&r, RECORD_END_SIGNAL, SIGKILL);
    assert_int_equal(r.exited.survivors, 0);
}

static void test_leftovers(void **state)
{
    struct keeper_client *c = *state;
    char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"},
                    (char[]){"setsid sh -c 'sleep 60 & echo $$ >left; wait' & "
                             "while [ ! -s left ]; do sleep 0.01; done; exit 5"},
                    NULL};
    char *env[] = {(char[]){"PATH=/usr/bin:/bin"}, NULL};
    struct launch l = {.cwd = c->dir, .argv = argv, .argc = 3, .env = env, .envc = 1};
    for (int mode = KEEPER_KILL_TREE; mode <= KEEPER_KILL_MAIN; mode++) {
        struct job_key key = keeper_job_key();
        (void)unlinkat(c->dir_fd, "left", 0);
        assert_int_equal(keeper_client_start(c, &key, &l, -1, mode).status, 0);
        struct record r = keeper_client_wait(c, &key);
        keeper_job_assert_end(&r, RECORD_END_EXIT, 5);
        assert_int_equal(r.exited.left_killed, mode == KEEPER_KILL_TREE ? 2 : 0);
        pid_t left = keeper_job_read_pid(c, "left");
        assert_int_equal(keeper_job_is_gone(left), mode == KEEPER_KILL_TREE);
        if (mode == KEEPER_KILL_MAIN)
            kill(-left, SIGKILL);
        keeper_job_wait_gone(left);
    }
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "escape") == 0)
        return escape_main(argv[2]);
    if (argc > 1 && strcmp(argv[1], "headless") == 0)
        return headless_main();
    if (argc > 1 && strcmp(argv[1], "heavy") == 0)
        return heavy_main();
#define TEST(f)                                                                          \
    cmocka_unit_test_setup_teardown(f, keeper_client_setup, keeper_client_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_shim_killed),
        TEST(test_shim_of_a_main_process_killed),
        TEST(test_two_shims_killed),
        TEST(test_terminate_tree),
        TEST(test_terminate_deep),
        TEST(test_kill_without_shim_awaits_all),
        TEST(test_kill_escapers),
        TEST(test_kill_headless),
        TEST(test_leftovers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
