/* Directories of a daemon: defaults, what is refused, and the lock against a second
 * voltd. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "daemon/config/paths.h"
#include "tests/support/scratch.h"

static char base[SCRATCH_MAX];

static int setup(void **state)
{
    (void)state;
    return scratch_make(base) == 0 && chdir(base) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return chdir("/") == 0 ? scratch_remove(base) : -1;
}

static void test_defaults(void **state)
{
    (void)state;
    struct paths p;
    assert_int_equal(paths_init(&p, false, NULL, NULL, NULL), 0);
    assert_string_equal(p.socket.path, "/run/voltd/voltd.sock");
    assert_string_equal(p.control_socket.path, "/run/voltd/control.sock");
    assert_string_equal(p.state_dir, "/var/lib/voltd");
    assert_string_equal(p.record_dir, "/run/voltd-rec");

    assert_int_equal(setenv("XDG_RUNTIME_DIR", "/r", 1), 0);
    assert_int_equal(setenv("XDG_STATE_HOME", "/s", 1), 0);
    assert_int_equal(paths_init(&p, true, NULL, NULL, NULL), 0);
    assert_string_equal(p.socket.path, "/r/voltd/voltd.sock");
    assert_string_equal(p.state_dir, "/s/voltd");
    assert_string_equal(p.record_dir, "/s/voltd/rec");
    assert_string_equal(p.output_dir, "/s/voltd/output");

    assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
    assert_int_equal(setenv("XDG_STATE_HOME", "relative", 1), 0);
    assert_int_equal(setenv("HOME", "/h", 1), 0);
    assert_int_equal(paths_init(&p, true, NULL, NULL, NULL), 0);
    char expected[64];
    (void)snprintf(expected, sizeof(expected), "/tmp/voltd-%u", (unsigned)getuid());
    assert_string_equal(p.runtime_dir, expected);
    assert_string_equal(p.state_dir, "/h/.local/state/voltd");
}

static void test_given_directories_become_absolute(void **state)
{
    (void)state;
    struct paths p;
    char expected[128];
    assert_int_equal(paths_init(&p, false, "run", "state", NULL), 0);
    (void)snprintf(expected, sizeof(expected), "%s/run/control.sock", base);
    assert_string_equal(p.control_socket.path, expected);
    (void)snprintf(expected, sizeof(expected), "%s/state/rec", base);
    assert_string_equal(p.record_dir, expected);
}

static void test_too_long_for_a_socket(void **state)
{
    (void)state;
    struct paths p;
    struct volt_error err;
    char dir[128] = "/";
    memset(dir + 1, 'x', 94);
    assert_int_equal(paths_init(&p, true, dir, "state", &err), -ENAMETOOLONG);
    assert_non_null(strstr(err.text, "the kernel takes 107"));
    dir[107 - strlen("/control.sock")] = '\0'; /* just fits */
    assert_int_equal(paths_init(&p, true, dir, "state", &err), 0);
    assert_int_equal(strlen(p.control_socket.path), 107);
}

static void test_claim_creates_private_directories(void **state)
{
    (void)state;
    struct paths p;
    struct stat st;
    assert_int_equal(paths_init(&p, true, "a/b/run", "a/state", NULL), 0);
    assert_int_equal(paths_claim(&p, NULL), 0);
    const char *const dirs[] = {p.runtime_dir, p.state_dir, p.record_dir, p.output_dir};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(stat(dirs[i], &st), 0);
        assert_int_equal(st.st_mode & 07777, 0700);
    }
    paths_fini(&p);
    assert_int_equal(paths_claim(&p, NULL), 0); /* again, everything there */
    paths_fini(&p);
}

/* The second one is another process, as in life. Returns its exit code: the negated
 * status. */
static int claim_elsewhere(const char *run, const char *state_dir, struct volt_error *err)
{
    int pipefd[2], status;
    assert_int_equal(pipe(pipefd), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct paths p;
        struct volt_error e = {.text = ""};
        int r = paths_init(&p, true, run, state_dir, &e);
        r = r < 0 ? r : paths_claim(&p, &e);
        if (write(pipefd[1], &e, sizeof(e)) != sizeof(e))
            _exit(255);
        _exit(-r);
    }
    assert_int_equal(read(pipefd[0], err, sizeof(*err)), sizeof(*err));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    (void)close(pipefd[0]);
    (void)close(pipefd[1]);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_second_daemon_is_refused(void **state)
{
    (void)state;
    struct paths p;
    struct volt_error err;
    char pid[32];
    assert_int_equal(paths_init(&p, true, "run", "state", NULL), 0);
    assert_int_equal(paths_claim(&p, NULL), 0);
    (void)snprintf(pid, sizeof(pid), "(pid %d)", (int)getpid());

    assert_int_equal(claim_elsewhere("run", "state", &err), EBUSY);
    assert_non_null(strstr(err.text, pid));
    assert_int_equal(claim_elsewhere("run", "other", &err), EBUSY);
    assert_non_null(strstr(err.text, "/run"));
    assert_int_equal(claim_elsewhere("other-run", "state", &err), EBUSY);
    assert_non_null(strstr(err.text, "/state"));
    assert_int_equal(claim_elsewhere("other-run", "other", &err), 0);
    paths_fini(&p);
    assert_int_equal(claim_elsewhere("run", "state", &err), 0);
}

/* What a voltd that is killed while it starts its keeper leaves: a child that has all of
 * its descriptors until it executes the keeper. Returns the child's pid; *ret_dead: that
 * of the voltd. */
static pid_t killed_before_the_exec(int hold[2], pid_t *ret_dead)
{
    int told[2], status;
    pid_t child;
    assert_int_equal(pipe(told), 0);
    pid_t dead = fork();
    assert_true(dead >= 0);
    if (dead == 0) {
        struct paths p;
        char byte;
        if (paths_init(&p, true, "run", "state", NULL) < 0 || paths_claim(&p, NULL) < 0)
            _exit(1);
        child = fork();
        if (child == 0) {
            (void)close(hold[1]);
            _exit(read(hold[0], &byte, 1) != 0);
        }
        (void)!write(told[1], &child, sizeof(child));
        _exit(child < 0);
    }
    assert_int_equal(waitpid(dead, &status, 0), dead);
    assert_int_equal(status, 0);
    assert_int_equal(read(told[0], &child, sizeof(child)), sizeof(child));
    (void)close(told[0]);
    (void)close(told[1]);
    *ret_dead = dead;
    return child;
}

static void test_a_dead_daemon_is_no_other_one(void **state)
{
    (void)state;
    struct volt_error err = {{0}};
    struct paths p;
    int hold[2];
    pid_t dead;
    assert_int_equal(pipe(hold), 0);
    pid_t child = killed_before_the_exec(hold, &dead);
    int fd = open("state/lock", O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), -1); /* it has that lock */
    (void)close(fd);
    assert_int_equal(kill(child, 0), 0);
    assert_int_equal(paths_init(&p, true, "run", "state", NULL), 0);
    int r = paths_claim(&p, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(r, 0);
    assert_int_equal(claim_elsewhere("run", "state", &err), EBUSY); /* and it counts */
    paths_fini(&p);
    (void)close(hold[0]);
    (void)close(hold[1]);
}

/* One that knows flock() only; and whose pid the kernel knows, whatever the file says. */
static void test_daemons_of_earlier_versions_are_refused(void **state)
{
    (void)state;
    struct volt_error err = {{0}};
    struct paths p;
    char text[32], pid[32];
    assert_int_equal(mkdir("state", 0700), 0);
    int fd = open("state/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    int n = snprintf(text, sizeof(text), "%d\n", (int)getpid());
    (void)snprintf(pid, sizeof(pid), "(pid %d)", (int)getpid());
    assert_int_equal(pwrite(fd, text, (size_t)n, 0), n);
    assert_int_equal(claim_elsewhere("run", "state", &err), EBUSY);
    assert_non_null(strstr(err.text, pid));
    (void)close(fd);

    assert_int_equal(paths_init(&p, true, "run", "state", NULL), 0);
    assert_int_equal(paths_claim(&p, &err), 0);
    assert_int_equal(pwrite(p.state_lock, "1\n\n\n\n\n", 6, 0), 6);
    assert_int_equal(claim_elsewhere("run", "state", &err), EBUSY);
    assert_non_null(strstr(err.text, pid));
    assert_int_equal(flock(p.state_lock, LOCK_UN), 0); /* earlier ones look at this one */
    assert_int_equal(claim_elsewhere("run", "state", &err), EBUSY);
    paths_fini(&p);
}

static void test_unsafe_directories_are_refused(void **state)
{
    (void)state;
    struct paths p;
    struct volt_error err;
    assert_int_equal(mkdir("open", 0700), 0);
    assert_int_equal(chmod("open", 0777), 0);
    assert_int_equal(paths_init(&p, true, "run", "open", NULL), 0);
    assert_int_equal(paths_claim(&p, &err), -EPERM);
    assert_non_null(strstr(err.text, "written by others (mode 0777)"));
    assert_int_equal(paths_init(&p, true, "/dev/null/x", "state", NULL), 0);
    assert_int_equal(paths_claim(&p, &err), -ENOTDIR);
    if (getuid() == 0) {
        assert_int_equal(mkdir("theirs", 0700), 0);
        assert_int_equal(chown("theirs", 1, 1), 0);
        assert_int_equal(paths_init(&p, true, "theirs", "state", NULL), 0);
        assert_int_equal(paths_claim(&p, &err), -EPERM);
        assert_non_null(strstr(err.text, "belongs to user 1"));
    }
    assert_int_equal(p.state_lock, -1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_defaults),
        TEST(test_given_directories_become_absolute),
        TEST(test_too_long_for_a_socket),
        TEST(test_claim_creates_private_directories),
        TEST(test_second_daemon_is_refused),
        TEST(test_a_dead_daemon_is_no_other_one),
        TEST(test_daemons_of_earlier_versions_are_refused),
        TEST(test_unsafe_directories_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
