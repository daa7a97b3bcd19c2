/* The cgroup of a job: in the hierarchy of this machine, where it has one that may be
 * written, and in folders with the files of one. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon/keeper/cgroup.h"
#include "daemon/keeper/cgroup_file.h"
#include "tests/support/scratch.h"

#define STACK_SIZE 65536
#define LIMIT      UINT64_C(600000000)
#define MOMENT     UINT64_C(10000)
#define PATH_SIZE  8192
#define JOB        "/jobs/17.2"

static const struct job_key key = {.id = 17, .index = JOB_NO_INDEX, .attempt = 2};
static const struct keeper_limits no_limits = KEEPER_NO_LIMITS;
static char mount[PATH_SIZE / 4], home[CGROUP_PATH_MAX], unit[PATH_SIZE / 2];

static const char *in(const char *dir, const char *file)
{
    static char path[PATH_SIZE];
    assert_true(snprintf(path, sizeof(path), "%s%s", dir, file) < (int)sizeof(path));
    return path;
}

static int put(const char *dir, const char *file, const char *text)
{
    int fd = open(in(dir, file), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return -1;
    ssize_t n = write(fd, text, strlen(text));
    (void)close(fd);
    return n == (ssize_t)strlen(text) ? 0 : -1;
}

static void assert_text(const char *dir, const char *file, const char *want)
{
    struct cgroup_text text;
    assert_true(cgroup_read(AT_FDCWD, in(dir, file), &text));
    assert_string_equal(text.s, want);
}

static void make_dir(const char *dir, const char *name)
{
    assert_int_equal(mkdir(in(dir, name), 0755), 0);
}

/* --- in the hierarchy of the machine ------------------------------------------------ */

/* Where it is mounted. */
static bool find_mount(void)
{
    char line[PATH_SIZE], at[PATH_SIZE], type[64];
    FILE *f = fopen("/proc/self/mounts", "re");
    bool found = false;
    while (f != NULL && !found && fgets(line, sizeof(line), f) != NULL)
        found = sscanf(line, "%*s %8191s %63s", at, type) == 2 &&
                strcmp(type, "cgroup2") == 0 && strlen(at) < sizeof(mount);
    if (f != NULL)
        (void)fclose(f);
    if (found)
        (void)strcpy(mount, at);
    return found;
}

/* The test is in keeper/ of a unit of its own, beside jobs/. */
static int setup(void **state)
{
    (void)state;
    unit[0] = '\0';
    if (!find_mount() || cgroup_own(home) < 0)
        return 0;
    if (strcmp(home, "/") == 0)
        home[0] = '\0';
    (void)snprintf(unit, sizeof(unit), "%s%s/volt-test-%d", mount, home, (int)getpid());
    if (mkdir(unit, 0755) < 0 || mkdir(in(unit, "/keeper"), 0755) < 0 ||
        mkdir(in(unit, "/jobs"), 0755) < 0 || put(unit, "/keeper/cgroup.procs", "0") < 0)
        unit[0] = '\0';
    cgroup_init(mount);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    if (unit[0] == '\0')
        return 0;
    char path[PATH_SIZE];
    (void)snprintf(path, sizeof(path), "%s%s", mount, home);
    if (put(path, "/cgroup.procs", "0") < 0)
        return -1;
    (void)rmdir(in(unit, "/jobs"));
    (void)rmdir(in(unit, "/keeper"));
    return rmdir(unit);
}

#define NEEDS_UNIT()                                                                     \
    do {                                                                                 \
        if (unit[0] == '\0')                                                             \
            skip();                                                                      \
    } while (0)

static int make(void)
{
    int fd;
    assert_int_equal(cgroup_make(&key, &no_limits, &fd), 0);
    return fd;
}

/* What a child does until it is killed. Returns where only the one that is told does. */
static int pauses(void *arg)
{
    const int *ends_with = arg;
    while (ends_with == NULL)
        (void)pause();
    return *ends_with;
}

static pid_t clone_in(int fd, int (*fn)(void *arg), void *arg)
{
    char *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    assert_true(stack != MAP_FAILED);
    pid_t pid = cgroup_clone(fd, fn, stack, STACK_SIZE, arg);
    assert_int_equal(munmap(stack, STACK_SIZE), 0);
    return pid;
}

/* A process that stays, in the cgroup with this descriptor. */
static pid_t fork_in(int fd)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (cgroup_enter(fd) == 0)
            (void)pauses(NULL);
        _exit(1);
    }
    assert_true(pid > 0);
    while (cgroup_members(fd, NULL, 0) == 0)
        (void)usleep(1000);
    return pid;
}

static void assert_killed(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void test_place(void **state)
{
    (void)state;
    NEEDS_UNIT();
    cgroup_init("/nowhere");
    assert_int_equal(make(), -1);
    assert_int_equal(cgroup_open(&key), -1);
    assert_true(cgroup_remove(&key));
    assert_int_equal(put(unit, "/jobs/cgroup.procs", "0"), 0); /* not keeper */
    cgroup_init(mount);
    assert_int_equal(make(), -1);
    assert_int_equal(put(unit, "/keeper/cgroup.procs", "0"), 0);
    cgroup_init(mount);
    int fd = make();
    assert_true(fd >= 0);
    (void)close(fd);
    assert_true(cgroup_remove(&key));
}

static void test_make_and_remove(void **state)
{
    (void)state;
    NEEDS_UNIT();
    assert_int_equal(cgroup_open(&key), -1);
    int fd = make(), again = make(), opened = cgroup_open(&key);
    assert_true(opened >= 0);
    assert_int_equal(access(in(unit, JOB), F_OK), 0);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    /* What a job has made there goes with it. */
    make_dir(unit, JOB "/a.b");
    make_dir(unit, JOB "/a.b/c");
    assert_true(cgroup_remove(&key));
    assert_int_equal(access(in(unit, JOB), F_OK), -1);
    assert_true(cgroup_remove(&key));
    assert_true(cgroup_await_empty(fd, LIMIT)); /* as it has gone */
    (void)close(fd);
    (void)close(again);
    (void)close(opened);
}

static void test_limits_need_their_controllers(void **state)
{
    (void)state;
    NEEDS_UNIT(); /* jobs/ has none */
    struct keeper_limits limits = KEEPER_NO_LIMITS;
    int fd;
    limits.memory_max = 1 << 20;
    assert_int_equal(cgroup_make(&key, &limits, &fd), -EOPNOTSUPP);
    assert_int_equal(fd, -1);
    assert_int_equal(access(in(unit, JOB), F_OK), -1);
    cgroup_init("/nowhere");
    assert_int_equal(cgroup_make(&key, &limits, &fd), -EOPNOTSUPP);
    cgroup_init(mount);
}

/* Where no more cgroups can be made, a job without limits runs without one. */
static void test_no_room(void **state)
{
    (void)state;
    NEEDS_UNIT();
    struct keeper_limits limits = KEEPER_NO_LIMITS;
    int fd;
    assert_int_equal(put(unit, "/cgroup.max.descendants", "2"), 0); /* keeper, jobs */
    limits.pids_max = 10;
    assert_int_equal(cgroup_make(&key, &limits, &fd), -EAGAIN);
    assert_int_equal(make(), -1);
    assert_int_equal(cgroup_open(&key), -1);
    assert_true(cgroup_remove(&key));
    assert_int_equal(put(unit, "/cgroup.max.descendants", "max"), 0);
}

static void test_clone(void **state)
{
    (void)state;
    NEEDS_UNIT();
    int fd = make(), seven = 7, status;
    pid_t pid = clone_in(fd, pauses, &seven); /* back when it has ended */
    if (pid == -ENOSYS)
        skip();
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    (void)close(fd);
    assert_true(cgroup_remove(&key));
}

static int is_born_there(void *arg)
{
    uint32_t named = 0;
    return cgroup_members(*(const int *)arg, &named, 1) == 1 &&
           named == (uint32_t)getpid();
}

static void test_the_child_is_born_there(void **state)
{
    (void)state;
    NEEDS_UNIT();
    int fd = make(), status;
    pid_t pid = clone_in(fd, is_born_there, &fd);
    if (pid == -ENOSYS)
        skip();
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    (void)close(fd);
    assert_true(cgroup_remove(&key));
}

static void test_members(void **state)
{
    uint32_t named[3] = {0};
    (void)state;
    NEEDS_UNIT();
    int fd = make();
    assert_int_equal(cgroup_members(-1, named, 3), 0);
    assert_int_equal(cgroup_members(fd, named, 3), 0);
    pid_t pid = fork_in(fd);
    make_dir(unit, JOB "/a.b");
    int below = open(in(unit, JOB "/a.b"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    pid_t other = fork_in(below);
    assert_int_equal(cgroup_members(fd, named, 3), 2);
    assert_int_equal(named[0], pid);
    assert_int_equal(named[1], other);
    assert_int_equal(named[2], 0);
    named[1] = 0;
    assert_int_equal(cgroup_members(fd, named, 1), 2);
    assert_int_equal(named[1], 0);
    assert_false(cgroup_await_empty(fd, MOMENT));
    assert_false(cgroup_remove(&key));
    assert_int_equal(access(in(unit, JOB "/a.b"), F_OK), 0);
    cgroup_kill(fd);
    assert_true(cgroup_await_empty(fd, LIMIT));
    assert_killed(pid);
    assert_killed(other);
    (void)close(below);
    (void)close(fd);
    assert_true(cgroup_remove(&key));
}

static void test_freeze(void **state)
{
    (void)state;
    NEEDS_UNIT();
    int fd = make();
    pid_t pid = fork_in(fd);
    assert_true(cgroup_freeze(fd, LIMIT));
    assert_true(cgroup_freeze(fd, 0)); /* it is */
    assert_text(unit, JOB "/cgroup.freeze", "1\n");
    cgroup_thaw(fd);
    assert_text(unit, JOB "/cgroup.freeze", "0\n");
    assert_true(cgroup_freeze(fd, LIMIT));
    cgroup_kill(fd);
    assert_killed(pid);
    (void)close(fd);
    assert_true(cgroup_remove(&key));
    assert_false(cgroup_freeze(-1, LIMIT));
    cgroup_thaw(-1);
    cgroup_kill(-1);
    assert_true(cgroup_await_empty(-1, LIMIT));
}

/* --- in folders --------------------------------------------------------------------- */

static const char *const files[] = {
    "/memory.max", "/memory.high", "/memory.swap.max", "/memory.oom.group",
    "/pids.max",   "/cpu.max",     "/cpu.weight",      "/io.weight",
};

static void test_limits(void **state)
{
    char dir[SCRATCH_MAX], own[CGROUP_PATH_MAX], job[PATH_SIZE];
    (void)state;
    NEEDS_UNIT();
    assert_int_equal(scratch_make(dir), 0);
    assert_int_equal(cgroup_own(own), 0);
    *strrchr(own, '/') = '\0';
    (void)snprintf(job, sizeof(job), "%s%s" JOB, dir, own);
    for (char *at = job + strlen(dir) + 1; at != NULL;) {
        at = strchr(at, '/');
        if (at != NULL)
            *at = '\0';
        assert_int_equal(mkdir(job, 0755), 0);
        if (at != NULL)
            *at++ = '/';
    }
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        assert_int_equal(put(job, files[i], ""), 0);
    cgroup_init(dir);
    int fd = make();
    assert_true(fd >= 0);
    (void)close(fd);
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        assert_text(job, files[i], "");
    const struct keeper_limits limits = {.memory_max = 1 << 30,
                                         .memory_high = 1 << 29,
                                         .swap_max = 0,
                                         .pids_max = 100,
                                         .cpu_max = 150,
                                         .cpu_weight = 50,
                                         .io_weight = 10000};
    assert_int_equal(cgroup_make(&key, &limits, &fd), 0);
    assert_true(fd >= 0);
    (void)close(fd);
    static const char *const want[] = {
        "1073741824", "536870912", "0", "1", "100", "150000 100000", "50", "10000",
    };
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
        assert_text(job, files[i], want[i]);
    assert_int_equal(scratch_remove(dir), 0);
    cgroup_init(mount);
}

static void test_account(void **state)
{
    char dir[SCRATCH_MAX];
    struct record_exited x = {.memory_peak = 1, .oom_kills = 2};
    (void)state;
    assert_int_equal(scratch_make(dir), 0);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    cgroup_account(fd, &x); /* without a file what is known stays */
    assert_int_equal(x.flags, RECORD_CONTAINED);
    assert_int_equal(x.memory_peak, 1);
    x.oom_kills = 0;
    (void)put(dir, "/memory.peak", "4096\n");
    (void)put(dir, "/memory.events", "low 0\noom 1\noom_kill 2\noom_group_kill 1\n");
    (void)put(dir, "/memory.events.local", "oom 0\noom_kill 0\n");
    cgroup_account(fd, &x);
    assert_int_equal(x.memory_peak, 4096);
    assert_int_equal(x.oom_kills, 2);
    assert_int_equal(x.flags, RECORD_CONTAINED);
    (void)put(dir, "/memory.events.local", "oom 1\noom_kill 2\n");
    cgroup_account(fd, &x);
    assert_int_equal(x.flags, RECORD_CONTAINED | RECORD_OOM_OWN);
    (void)close(fd);
    assert_int_equal(scratch_remove(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_place),
        cmocka_unit_test(test_make_and_remove),
        cmocka_unit_test(test_limits_need_their_controllers),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_clone),
        cmocka_unit_test(test_the_child_is_born_there),
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_freeze),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_account),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
